//! Views: what one block accesses together, and another process in two blocks.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::blocks::{BlockNumber, View, Way};
use super::super::order::{Above, Pair, Together};
use super::super::trace::{Reach, Step, ascent};
use super::{By, ENOUGH, Lint, Reason, Split, TRIED, view};
use crate::causal::Graph;
use crate::causal::control::dependences;
use crate::causal::facts::Variable;
use crate::causal::graph::{Node, What};
use crate::ir::model::FunctionId;

/// Where two values meet.
struct Meeting {
    /// In one call of this function it happens.
    function: FunctionId,
    together: Together,
    /// The way of each.
    paths: [Vec<Step>; 2],
}

/// Why two blocks should be one.
struct Met {
    function: FunctionId,
    variables: [Variable; 2],
    chains: Vec<Vec<Node>>,
    by: By,
    together: Together,
}

impl<'l> Lint<'l> {
    /// Definitions 5 and 6: the views of a process that are in no other of its views, each with its block.
    pub(in crate::lint) fn maximal(&self, process: usize, way: Way) -> Vec<(BlockNumber, &'l View)> {
        let own = &self.seen.blocks.of_process[process];
        let mut views: Vec<(BlockNumber, &View)> =
            own.iter().map(|&block| (block, view(self.seen.blocks, block, way))).collect();
        // One variable cannot be split.
        views.retain(|(_, view)| view.len() > 1 && !self.is_wide(view));
        views.sort_by_key(|(_, view)| std::cmp::Reverse(view.len()));
        let mut maximal: Vec<(BlockNumber, &View)> = Vec::new();
        for (block, view) in views {
            if !maximal.iter().any(|(_, other)| view.is_subset(other)) {
                maximal.push((block, view));
            }
        }
        maximal
    }

    /// Definitions 7 to 9.
    pub(super) fn views(&mut self) -> Vec<Split> {
        let mut splits = Vec::new();
        let mut seen: FxHashSet<(BlockNumber, BlockNumber, FunctionId)> = FxHashSet::default();
        for way in [Way::Read, Way::Write] {
            let against = if way == Way::Read { Way::Write } else { Way::Read };
            for block in 0..self.seen.blocks.list.len() {
                let view = view(self.seen.blocks, block, against);
                if self.is_wide(view) {
                    self.left_out.extend(view.iter().map(|&variable| (block, variable)));
                }
            }
            for other_process in self.main_last() {
                for (other, maximal) in self.maximal(other_process, against) {
                    for process in self.main_last() {
                        if !self.is_beside(process, other_process) {
                            continue;
                        }
                        self.incompatible(way, process, (other_process, other, maximal), &mut seen, &mut splits);
                    }
                }
            }
        }
        splits
    }

    fn incompatible(
        &mut self,
        way: Way,
        process: usize,
        (other_process, other, maximal): (usize, BlockNumber, &'l View),
        seen: &mut FxHashSet<(BlockNumber, BlockNumber, FunctionId)>,
        splits: &mut Vec<Split>,
    ) {
        let overlaps: Vec<(BlockNumber, View)> = self.seen.blocks.of_process[process]
            .iter()
            .map(|&block| (block, view(self.seen.blocks, block, way) & maximal))
            .filter(|(_, overlap)| !overlap.is_empty())
            .collect();
        for (index, (first, one)) in overlaps.iter().enumerate() {
            for (second, two) in &overlaps[index + 1..] {
                let (only_one, only_two) = (one - two, two - one);
                if only_one.is_empty() || only_two.is_empty() {
                    continue;
                }
                let blocks = [*first, *second];
                if !self.seen.paper && self.told_apart.get(first).is_some_and(|it| *it >= ENOUGH) {
                    self.left_out.extend(only_two.iter().map(|&variable| (*second, variable)));
                    continue;
                }
                if !self.seen.paper && !self.seen.blocks.locks.have_one_in_common(&[*first, *second, other]) {
                    continue;
                }
                let found = match way {
                    Way::Read => self.common(process, blocks, &only_one, &only_two),
                    Way::Write => self.written_apart(process, other, blocks, &only_one, &only_two),
                };
                let Some(Met { function, variables, chains, by, together }) = found else { continue };
                if !seen.insert((*first, *second, function)) {
                    continue;
                }
                *self.told_apart.entry(*first).or_default() += 1;
                let accesses = [(*first, variables[0]), (*second, variables[1])]
                    .map(|(block, variable)| self.accesses(block, variable, way)[0]);
                let reason = Reason::View { way, view: maximal.clone() };
                let mut split = Split {
                    reason,
                    function,
                    first: *first,
                    second: *second,
                    variables,
                    accesses,
                    process,
                    other_process,
                    other,
                    chains,
                    by,
                    together,
                };
                self.put_in_order(&mut split);
                splits.push(split);
            }
        }
    }

    /// Definition 2, for what two blocks read: where the values meet, and in which function both blocks are.
    fn common(&mut self, process: usize, blocks: [BlockNumber; 2], one: &View, two: &View) -> Option<Met> {
        let mut only_decided = None;
        for &x in one.iter().take(TRIED) {
            for &y in two.iter().take(TRIED) {
                let reaches = [self.reach(blocks[0], x), self.reach(blocks[1], y)];
                let Some(met) = self.meeting(process, blocks, [&reaches[0], &reaches[1]]) else { continue };
                let found = |met: Meeting, by: By| {
                    let Meeting { function, together, paths } = met;
                    Met { function, variables: [x, y], chains: nodes(&paths), by, together }
                };
                if self.seen.paper {
                    return Some(found(met, By::Both));
                }
                // What decides whether the other one is read at all has a part in all that comes of that, but nothing is made from both.
                let [of_x, of_y] = met.paths.each_ref().map(|path| self.guards(path));
                let is_by = |path: &[Step], guards: &FxHashSet<Node>| path.iter().any(|it| guards.contains(&it.node));
                let decided = [is_by(&met.paths[1], &of_x), is_by(&met.paths[0], &of_y)];
                let met = if decided.contains(&true) {
                    let follow = |it: &Self, block: BlockNumber, variable: Variable, without: &FxHashSet<Node>| {
                        it.tracer().follow_without(block, &it.accesses(block, variable, Way::Read), without)
                    };
                    let reaches = [follow(self, blocks[0], x, &of_y), follow(self, blocks[1], y, &of_x)];
                    self.looked_at += reaches[0].steps.len() + reaches[1].steps.len();
                    let Some(again) = self.meeting(process, blocks, [&reaches[0], &reaches[1]]) else {
                        // Unless more is done than to read.
                        let acts = |(block, is_decided): (&BlockNumber, bool)| {
                            is_decided && !self.seen.blocks.list[*block].writes.is_empty()
                        };
                        let by = if blocks.iter().zip(decided).any(acts) { By::Check } else { By::Look };
                        if by == By::Check {
                            return Some(found(met, by));
                        }
                        only_decided.get_or_insert_with(|| found(met, by));
                        continue;
                    };
                    again
                } else {
                    met
                };
                return Some(found(met, By::Both));
            }
        }
        self.leave_out(blocks, one, two);
        only_decided
    }

    /// The first place where two values meet, by the ways to there, and the function in one call of which all that happens.
    fn meeting(&mut self, process: usize, blocks: [BlockNumber; 2], [of_x, of_y]: [&Reach; 2]) -> Option<Meeting> {
        let steps = |reach: &'_ Reach| if self.seen.paper { reach.steps.clone() } else { reach.forward().to_vec() };
        let mut by_node: FxHashMap<Node, Vec<Step>> = FxHashMap::default();
        for step in steps(of_y) {
            by_node.entry(step.node).or_default().push(step);
        }
        let mut known: FxHashMap<FunctionId, Option<Together>> = FxHashMap::default();
        let is_read = |node: Node, reach: &Reach| reach.steps.first().is_some_and(|step| step.node == node);
        for step in steps(of_x) {
            // By different calls they come to the same code, but not to the same value.
            let is_one_call = |it: &&Step| it.went_in == step.went_in || it.went_in.is_none() || step.went_in.is_none();
            let met = by_node.get(&step.node).and_then(|steps| steps.iter().find(is_one_call));
            let Some(&met) = met else { continue };
            if !is_written(self.seen.graph, step.node) || is_read(step.node, of_x) || is_read(step.node, of_y) {
                continue;
            }
            let paths = [of_x.path(step), of_y.path(met)];
            let mut ascents = paths.each_ref().map(|path| ascent(self.seen.graph, path));
            if self.are_of_two_calls(blocks) {
                // One call of the function has nothing to do with the other before both have returned.
                for ascent in &mut ascents {
                    ascent.remove(0);
                }
                if ascents.iter().any(Vec::is_empty) {
                    continue;
                }
            }
            let is_of_both =
                |it: &&FunctionId| ascents[1].contains(it) && self.seen.blocks.reached[process].contains(it);
            let functions: Vec<FunctionId> = ascents[0].iter().filter(is_of_both).copied().collect();
            if self.seen.paper {
                let function = functions.first().copied().unwrap_or(ascents[0][0]);
                return Some(Meeting { function, together: Together::InTurn, paths });
            }
            for (index, &function) in functions.iter().enumerate() {
                // Two calls of a function that runs only one of the blocks may run one each, if something is made of what both return.
                if index > 0 && !self.is_made_in(function, step.node) {
                    continue;
                }
                let together = *known.entry(function).or_insert_with(|| self.together(blocks, function));
                if let Some(together) = together {
                    return Some(Meeting { function, together, paths });
                }
            }
        }
        None
    }

    /// The conditions that decide whether what a way begins with is read: in its function, and where that is called.
    fn guards(&mut self, path: &[Step]) -> FxHashSet<Node> {
        let graph = self.seen.graph;
        let mut guards = FxHashSet::default();
        let mut last = None;
        for step in path.iter().take_while(|step| step.went_in.is_none()) {
            let (What::Instruction(function, number) | What::Called(function, number, _)) = graph.what(step.node)
            else {
                continue;
            };
            if last.replace(function) == Some(function) {
                continue;
            }
            guards.insert(graph.entry(function));
            let mut seen = FxHashSet::default();
            let body = graph.facts.program.function(function);
            let decided_by = self.decided_by.entry(function).or_insert_with(|| dependences(body));
            let mut waiting = vec![graph.facts.functions[function as usize].block_of(number).0];
            while let Some(block) = waiting.pop() {
                for &branch in &decided_by[block as usize] {
                    if seen.insert(branch) {
                        guards.insert(graph.condition(function, branch));
                        waiting.push(branch);
                    }
                }
            }
        }
        guards
    }

    /// What two blocks write apart that another one reads together.
    fn written_apart(
        &mut self,
        process: usize,
        other: BlockNumber,
        blocks: [BlockNumber; 2],
        one: &View,
        two: &View,
    ) -> Option<Met> {
        let mut set = |block: BlockNumber, view: &View| {
            view.iter().copied().find(|&variable| self.seen.paper || !self.is_counted_on(block, variable))
        };
        let variables = match (set(blocks[0], one), set(blocks[1], two)) {
            (Some(one), Some(two)) => [one, two],
            // A count fits whatever was there, but not to another one that it is put together with.
            _ => self.put_together(other, blocks, one, two)?,
        };
        let (function, together) = self.meeting_point(process, blocks)?;
        Some(Met { function, variables, chains: Vec::new(), by: By::Both, together })
    }

    /// Two variables from whose values a block makes another one.
    fn put_together(
        &mut self,
        other: BlockNumber,
        blocks: [BlockNumber; 2],
        one: &View,
        two: &View,
    ) -> Option<[Variable; 2]> {
        for &x in one.iter().take(TRIED) {
            for &y in two.iter().take(TRIED) {
                let (of_x, of_y) = (self.inside(other, x), self.inside(other, y));
                // What one of them only decides is not made from both.
                let mut made = of_x.0.difference(&of_x.1).filter(|it| of_y.0.contains(it) && !of_y.1.contains(it));
                // Who copies a struct reads both at once, and has made nothing of them yet.
                let reads = [x, y].map(|variable| self.accesses(other, variable, Way::Read));
                let is_read = |node: Node| {
                    let mut reads = reads.iter().flatten().map(|&(id, number)| self.seen.graph.instruction(id, number));
                    reads.any(|read| read == node)
                };
                if made.any(|&node| is_written(self.seen.graph, node) && !is_read(node)) {
                    return Some([x, y]);
                }
            }
        }
        self.leave_out(blocks, one, two);
        None
    }

    /// Notes what was not tried.
    fn leave_out(&mut self, blocks: [BlockNumber; 2], one: &View, two: &View) {
        for (block, view) in blocks.into_iter().zip([one, two]) {
            self.left_out.extend(view.iter().skip(TRIED).map(|&variable| (block, variable)));
        }
    }

    /// Whether a block makes the new value of a variable from its old one, so that it fits whatever was there.
    fn is_counted_on(&mut self, block: BlockNumber, variable: Variable) -> bool {
        let inside = self.inside(block, variable);
        let writes = self.accesses(block, variable, Way::Write);
        writes.iter().all(|&(function, number)| inside.0.contains(&self.seen.graph.instruction(function, number)))
    }

    /// Whether two blocks are those of different calls of one function.
    fn are_of_two_calls(&self, blocks: [BlockNumber; 2]) -> bool {
        let [one, other] = blocks.map(|block| &self.seen.blocks.list[block]);
        one.function == other.function && one.kind != other.kind
    }

    /// The innermost function of a process one call of which runs both blocks.
    fn meeting_point(&mut self, process: usize, blocks: [BlockNumber; 2]) -> Option<(FunctionId, Together)> {
        let [above, beside] = blocks.map(|block| self.above(block));
        let is_between = self.are_of_two_calls(blocks);
        let is_meant = |id: &FunctionId| {
            self.seen.blocks.reached[process].contains(id)
                && !(is_between && *id == self.seen.blocks.list[blocks[0]].function)
        };
        let reached = above.iter().filter(|(id, _)| is_meant(id));
        let mut both: Vec<(u32, FunctionId)> =
            reached.filter_map(|(id, far)| Some((far + beside.get(id)?, *id))).collect();
        both.sort_unstable();
        if self.seen.paper {
            return both.first().map(|&(_, id)| (id, Together::InTurn));
        }
        both.into_iter().find_map(|(_, id)| Some((id, self.together(blocks, id)?)))
    }

    /// How one call of a function runs two blocks.
    fn together(&mut self, blocks: [BlockNumber; 2], function: FunctionId) -> Option<Together> {
        let above = blocks.map(|block| self.above(block));
        Pair { seen: self.seen, blocks, above: [&above[0], &above[1]] }.together(function)
    }

    /// Whether a function itself makes something there, more than what a call of it gives back.
    fn is_made_in(&self, function: FunctionId, node: Node) -> bool {
        let What::Instruction(owner, number) = self.seen.graph.what(node) else { return false };
        owner == function && !self.seen.graph.facts.functions[function as usize].calls.contains_key(&number)
    }

    /// Functions that lead to a block.
    fn above(&mut self, block: BlockNumber) -> Rc<Above> {
        if let Some(known) = self.above.get(&block) {
            return known.clone();
        }
        let mut far = Above::default();
        let mut waiting = std::collections::VecDeque::from([(self.seen.blocks.list[block].function, 0)]);
        while let Some((id, distance)) = waiting.pop_front() {
            if far.contains_key(&id) || distance > 8 {
                continue;
            }
            far.insert(id, distance);
            let alike = self.seen.blocks.calls.alike(id, self.seen.blocks.list[block].kind).filter(|_| distance == 0);
            let calls = |caller: &FunctionId| alike.is_none_or(|it| it.calls.iter().any(|call| call.0 == *caller));
            let callers = self.seen.graph.callers(id).iter().copied().filter(calls);
            waiting.extend(callers.map(|caller| (caller, distance + 1)));
        }
        self.above.entry(block).or_insert_with(|| Rc::new(far)).clone()
    }

    /// The block that comes first in the function is the first one.
    fn put_in_order(&self, split: &mut Split) {
        let at = |block: BlockNumber| self.line_in(split.function, block);
        if at(split.second) < at(split.first) {
            std::mem::swap(&mut split.first, &mut split.second);
            split.variables.reverse();
            split.accesses.reverse();
            split.chains.reverse();
        }
    }

    fn line_in(&self, function: FunctionId, block: BlockNumber) -> u32 {
        self.seen.blocks.way_down(function, block).last().map_or(u32::MAX, |site| site.1)
    }
}

fn nodes(paths: &[Vec<Step>; 2]) -> Vec<Vec<Node>> {
    paths.iter().map(|path| path.iter().map(|step| step.node).collect()).collect()
}

fn is_written(graph: &Graph, node: Node) -> bool {
    matches!(
        graph.what(node),
        What::Instruction(..) | What::Return(_) | What::Parameter(..) | What::Called(..) | What::Left(..)
    )
}
