//! The rules: which pairs of blocks split what belongs together.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Seen;
use super::blocks::{BlockNumber, Blocks, Site, View, Way};
use super::starts::{callers, parameter};
use super::trace::{At, Reach, Step, Tracer, ascent};
use crate::causal::Graph;
use crate::causal::control::{dependences, successors};
use crate::causal::facts::{Facts, Variable};
use crate::causal::graph::{Node, What};
use crate::ir::model::{BlockId, Function, FunctionId, Op, Operand};

/// Why two blocks of a process should be one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Definition 9: the other process accesses these together, the block in two. With the way: what the two blocks do.
    View { way: Way, view: View },
    /// Definition 11.
    StaleValue,
}

/// Two blocks that another process can come between.
#[derive(Clone, Debug)]
pub struct Split {
    pub reason: Reason,
    /// In one call of this function they follow each other.
    pub function: FunctionId,
    pub first: BlockNumber,
    pub second: BlockNumber,
    /// What each of them accesses.
    pub variables: [Variable; 2],
    pub accesses: [Site; 2],
    pub process: usize,
    pub other_process: usize,
    pub other: BlockNumber,
    /// Ways of values from the first block to the second, or from both to where they meet.
    pub chains: Vec<Vec<Node>>,
    /// If they meet: what comes of that.
    pub by: By,
}

/// What two values have to do with each other where they meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// Something is made from both.
    Both,
    /// One of them decides whether the block that reads the other does its work, ...
    Check,
    /// ... which is only to read.
    Look,
}

/// Where two values meet: the function in one call of which that happens, and the way of each.
type Meeting = (FunctionId, [Vec<Step>; 2]);

/// Why two blocks should be one.
struct Met {
    function: FunctionId,
    variables: [Variable; 2],
    chains: Vec<Vec<Node>>,
    by: By,
}

/// What a block's reads of a variable reach inside of it, and of that what by way of a condition.
type Inside = (FxHashSet<Node>, FxHashSet<Node>);

/// What the rules look at.
#[derive(Debug)]
pub struct Lint<'l> {
    seen: Seen<'l>,
    /// For each block the processes that run it.
    runs: Vec<Vec<usize>>,
    /// For each variable the blocks that write it.
    writers: FxHashMap<Variable, Vec<BlockNumber>>,
    reached: FxHashMap<(BlockNumber, Variable), Rc<Reach>>,
    inside: FxHashMap<(BlockNumber, Variable), Rc<Inside>>,
    /// Which branches decide about the blocks of functions.
    decided_by: FxHashMap<FunctionId, Vec<Vec<BlockId>>>,
    looked_at: usize,
    /// Values whose ways were too many to follow.
    cut: usize,
    /// Variables of blocks that were not looked at, because there were too many.
    left_out: FxHashSet<(BlockNumber, Variable)>,
}

/// Nodes to look at for one value; who needs more reaches everything.
const MOST: usize = 5_000;
/// Nodes to look at in all.
const MOST_IN_ALL: usize = 20_000_000;
/// A block that accesses more variables than this says nothing about what belongs together.
const WIDEST: usize = 200;
/// Values whose ways are kept.
const REMEMBERED: usize = 1_000;
/// Variables of a view to try, of each of the two blocks.
const TRIED: usize = 6;

impl<'l> Lint<'l> {
    #[must_use]
    pub fn new(seen: Seen<'l>) -> Lint<'l> {
        let blocks = seen.blocks;
        let mut runs = vec![Vec::new(); blocks.list.len()];
        for (process, own) in blocks.of_process.iter().enumerate() {
            for &block in own {
                runs[block].push(process);
            }
        }
        let mut writers: FxHashMap<Variable, Vec<BlockNumber>> = FxHashMap::default();
        for (block, it) in blocks.list.iter().enumerate() {
            for &variable in &it.writes {
                writers.entry(variable).or_default().push(block);
            }
        }
        Lint {
            seen,
            runs,
            writers,
            reached: FxHashMap::default(),
            inside: FxHashMap::default(),
            decided_by: FxHashMap::default(),
            looked_at: 0,
            cut: 0,
            left_out: FxHashSet::default(),
        }
    }

    /// All splits, by both rules.
    pub fn splits(&mut self) -> Vec<Split> {
        let mut splits = self.views();
        splits.extend(self.stale_values());
        splits
    }

    /// How many values were not followed to their ends.
    #[must_use]
    pub fn cut(&self) -> usize {
        self.cut + self.left_out.len()
    }

    fn tracer(&self) -> Tracer<'l> {
        Tracer { seen: self.seen, most: MOST }
    }

    /// Whether threads of two processes run at the same time.
    fn is_beside(&self, one: usize, other: usize) -> bool {
        one != other || self.seen.processes[one].is_multiple
    }

    /// All processes. What `main` does is often before or after the others, so it comes last.
    fn main_last(&self) -> impl Iterator<Item = usize> + use<> {
        let count = self.seen.processes.len();
        (1..count).chain(0..count.min(1))
    }

    fn accesses(&self, block: BlockNumber, variable: Variable, way: Way) -> Vec<Site> {
        self.seen.blocks.accesses(&self.seen.graph.facts, self.seen.sections, block, variable, way)
    }

    fn reach(&mut self, block: BlockNumber, variable: Variable) -> Rc<Reach> {
        if let Some(known) = self.reached.get(&(block, variable)) {
            return known.clone();
        }
        let reach = if self.looked_at > MOST_IN_ALL {
            Reach::cut_off()
        } else {
            self.tracer().follow(block, &self.accesses(block, variable, Way::Read))
        };
        self.looked_at += reach.steps.len();
        self.cut += usize::from(reach.is_cut);
        let reach = Rc::new(reach);
        // They are large, and who needs one again does so soon.
        if self.reached.len() >= REMEMBERED {
            self.reached.clear();
        }
        self.reached.insert((block, variable), reach.clone());
        reach
    }

    fn inside(&mut self, block: BlockNumber, variable: Variable) -> Rc<Inside> {
        if let Some(known) = self.inside.get(&(block, variable)) {
            return known.clone();
        }
        let reads = self.accesses(block, variable, Way::Read);
        let inside = if reads.is_empty() { Rc::default() } else { Rc::new(self.tracer().within(block, &reads)) };
        if self.inside.len() >= REMEMBERED {
            self.inside.clear();
        }
        self.inside.insert((block, variable), inside.clone());
        inside
    }

    fn is_wide(&self, view: &View) -> bool {
        !self.seen.paper && view.len() > WIDEST
    }

    /// Definitions 5 and 6: the views of a process that are in no other of its views, each with its block.
    pub(super) fn maximal(&self, process: usize, way: Way) -> Vec<(BlockNumber, &'l View)> {
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
    fn views(&mut self) -> Vec<Split> {
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
                if !self.seen.paper && !self.seen.blocks.locks.have_one_in_common(&[*first, *second, other]) {
                    continue;
                }
                let found = match way {
                    Way::Read => self.common(process, blocks, &only_one, &only_two),
                    Way::Write => self.written_apart(process, other, blocks, &only_one, &only_two),
                };
                let Some(Met { function, variables, chains, by }) = found else { continue };
                if !seen.insert((*first, *second, function)) {
                    continue;
                }
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
                let found =
                    |met: Meeting, by: By| Met { function: met.0, variables: [x, y], chains: nodes(&met.1), by };
                if self.seen.paper {
                    return Some(found(met, By::Both));
                }
                // What decides whether the other one is read at all has a part in all that comes of that, but nothing is made from both.
                let [of_x, of_y] = met.1.each_ref().map(|path| self.guards(path));
                let is_by = |path: &[Step], guards: &FxHashSet<Node>| path.iter().any(|it| guards.contains(&it.node));
                let decided = [is_by(&met.1[1], &of_x), is_by(&met.1[0], &of_y)];
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
    fn meeting(&self, process: usize, blocks: [BlockNumber; 2], [of_x, of_y]: [&Reach; 2]) -> Option<Meeting> {
        let steps = |reach: &'_ Reach| if self.seen.paper { reach.steps.clone() } else { reach.forward().to_vec() };
        let mut by_node: FxHashMap<Node, Vec<Step>> = FxHashMap::default();
        for step in steps(of_y) {
            by_node.entry(step.node).or_default().push(step);
        }
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
            let function = ascents[0].iter().find(is_of_both).copied();
            let Some(function) = function.or(self.seen.paper.then_some(ascents[0][0])) else { continue };
            return Some((function, paths));
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
        let function = self.meeting_point(process, blocks)?;
        Some(Met { function, variables, chains: Vec::new(), by: By::Both })
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
                if made.any(|&node| is_written(self.seen.graph, node)) {
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

    /// The innermost function of a process that leads to both blocks.
    fn meeting_point(&self, process: usize, [one, other]: [BlockNumber; 2]) -> Option<FunctionId> {
        let (mut above, beside) = (self.above(one), self.above(other));
        if self.are_of_two_calls([one, other]) {
            above.remove(&self.seen.blocks.list[one].function);
        }
        let reached = above.iter().filter(|(id, _)| self.seen.blocks.reached[process].contains(id));
        let both = reached.filter_map(|(id, far)| Some((far + beside.get(id)?, *id)));
        both.min().map(|(_, id)| id)
    }

    /// Functions that lead to a block, with how many calls away they are.
    fn above(&self, block: BlockNumber) -> FxHashMap<FunctionId, u32> {
        let mut far = FxHashMap::default();
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
        far
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
        self.seen
            .blocks
            .way_down(&self.seen.graph.facts, self.seen.sections, function, block)
            .last()
            .map_or(u32::MAX, |site| site.1)
    }

    /// Definitions 10 and 11.
    fn stale_values(&mut self) -> Vec<Split> {
        let mut splits = Vec::new();
        let mut blocks: Vec<BlockNumber> = (0..self.seen.blocks.list.len()).collect();
        // If there is too much to look at, small blocks are told first.
        blocks.sort_by_key(|&block| self.seen.blocks.list[block].reads.len());
        for first in blocks {
            let taken = self.taken_out(first);
            for &variable in &self.seen.blocks.list[first].reads {
                if self.writer(variable, &self.runs[first], first).is_none() {
                    continue;
                }
                let reach = self.reach(first, variable);
                if reach.steps.is_empty() {
                    continue;
                }
                if !self.seen.paper && self.is_acted_on(first, variable, &reach, &taken) {
                    continue;
                }
                let mut seen: FxHashSet<(BlockNumber, FunctionId)> = FxHashSet::default();
                let mut written_back_in: FxHashSet<FunctionId> = FxHashSet::default();
                for step in &reach.steps {
                    let At::Block(second) = step.at else { continue };
                    let What::Instruction(function, number) = self.seen.graph.what(step.node) else { continue };
                    let access = self.seen.graph.facts.functions[function as usize].accesses.get(&number);
                    // One that locks for several objects writes to one of them in each of its blocks.
                    let Blocks { is_shared, list, .. } = &self.seen.blocks;
                    let is_meant = |it: &&Variable| is_shared[**it as usize] && list[second].writes.contains(*it);
                    let written = access.and_then(|it| it.writes.iter().find(is_meant));
                    let Some(&written) = written else { continue };
                    let path = reach.path(*step);
                    let ascent = ascent(self.seen.graph, &path);
                    let Some((&function_of_both, below)) = ascent.split_last() else { continue };
                    // What a function has done about it already is told of that function.
                    if !self.seen.paper && below.iter().any(|function| written_back_in.contains(function)) {
                        continue;
                    }
                    if !self.seen.paper && written == variable && self.is_only_set(variable) {
                        continue;
                    }
                    let pair = (second, function_of_both);
                    let is_checked = |it: &mut Self| {
                        let is_value = || path.iter().all(|step| !it.decides(step));
                        // Who writes the old value back has lost what was new, unless it knows that there is nothing new.
                        let is_update = written == variable && is_value();
                        !is_update && it.is_looked_at_again(second, variable, step.node)
                            || it.is_compared([first, second], [variable, written], step.node)
                            || it.is_versioned([first, second], variable, step.node)
                    };
                    if seen.contains(&pair) || !self.seen.paper && is_checked(self) {
                        continue;
                    }
                    seen.insert(pair);
                    let runs = self.runs[first].iter().copied();
                    let runs: Vec<usize> = runs.filter(|&it| self.runs_both(it, second, function_of_both)).collect();
                    let Some((process, other_process, other)) = self.writer(variable, &runs, first) else { continue };
                    if written == variable {
                        written_back_in.insert(function_of_both);
                    }
                    let What::Instruction(read_in, read_at) = self.seen.graph.what(path[0].node) else { continue };
                    splits.push(Split {
                        reason: Reason::StaleValue,
                        function: function_of_both,
                        first,
                        second,
                        variables: [variable, written],
                        accesses: [(read_in, read_at), (function, number)],
                        process,
                        other_process,
                        other,
                        chains: vec![path.iter().map(|step| step.node).collect()],
                        by: By::Both,
                    });
                }
            }
        }
        splits
    }

    /// Whether all that blocks ever write to a variable is one number: whoever does so twice changes nothing.
    fn is_only_set(&self, variable: Variable) -> bool {
        let writers = self.writers.get(&variable).map_or(&[][..], Vec::as_slice);
        let sites = writers.iter().flat_map(|&block| self.accesses(block, variable, Way::Write));
        let facts = &self.seen.graph.facts;
        let mut values = sites.flat_map(|(function, number)| match &facts.instruction(function, number).op {
            Op::Store { value, .. } => numbers(facts, function, value),
            _ => vec![None],
        });
        match values.next() {
            Some(Some(first)) => values.all(|value| value == Some(first)),
            _ => false,
        }
    }

    fn decides(&self, step: &Step) -> bool {
        matches!(self.seen.graph.what(step.node), What::Condition(..))
    }

    /// Whether a process comes to a block by way of a function.
    fn runs_both(&self, process: usize, block: BlockNumber, function: FunctionId) -> bool {
        self.seen.blocks.reached[process].contains(&function) && self.runs[block].contains(&process)
    }

    /// One of some processes that run a block, and another one that writes the variable in a block.
    fn writer(
        &self,
        variable: Variable,
        processes: &[usize],
        block: BlockNumber,
    ) -> Option<(usize, usize, BlockNumber)> {
        let writers = self.writers.get(&variable)?;
        for &process in processes {
            for other in self.main_last().filter(|&other| self.is_beside(process, other)) {
                let is_run = |it: &&BlockNumber| self.runs[**it].contains(&other);
                // Another place than the block itself tells more.
                let found = writers.iter().filter(is_run).min_by_key(|it| **it == block);
                if let Some(&writer) = found {
                    return Some((process, other, writer));
                }
            }
        }
        None
    }

    /// What follows, inside of a block, from variables that the block itself changes: an element that is taken out.
    fn taken_out(&self, block: BlockNumber) -> FxHashSet<Node> {
        let it = &self.seen.blocks.list[block];
        let is_changed = |variable: &&Variable| {
            let writes = self.accesses(block, **variable, Way::Write);
            let reads = self.accesses(block, **variable, Way::Read);
            writes.into_iter().any(|write| self.tracer().is_with(block, write, &reads))
        };
        let changed = it.reads.intersection(&it.writes).filter(is_changed);
        let reads: Vec<Site> = changed.flat_map(|&variable| self.accesses(block, variable, Way::Read)).collect();
        if reads.is_empty() { FxHashSet::default() } else { self.tracer().within(block, &reads).0 }
    }

    /// Whether an instruction only counts something that the program always has, as how often a block found what it looked for.
    fn is_statistics(&self, block: BlockNumber, variable: Variable, (function, number): Site) -> bool {
        let facts = &self.seen.graph.facts;
        let Op::Store { value: Operand::Value(value), to, .. } = &facts.instruction(function, number).op else {
            return false;
        };
        let reads = |operand: &Operand| {
            let Operand::Value(value) = operand else { return None };
            let (block, index) = facts.program.made_by_number(function, *value)?;
            let own = &facts.functions[function as usize];
            own.accesses.get(&own.number(block, index as usize)).map(|access| &access.reads)
        };
        let own = &facts.functions[function as usize].accesses[&number].writes;
        let Some(Op::Compute(operands)) = facts.program.made_by(function, *value).map(|it| &it.op) else {
            return false;
        };
        let is_count = operands.iter().all(|it| it.is_constant() || reads(it) == Some(own));
        let is_owner = function == self.seen.blocks.list[block].function;
        is_count && !own.contains(&variable) && is_fixed(facts, function, to, is_owner)
    }

    /// Whether the block itself acts on what it reads: what leaves it then is the outcome, not a copy that others can make stale.
    fn is_acted_on(&self, block: BlockNumber, variable: Variable, reach: &Reach, taken: &FxHashSet<Node>) -> bool {
        let reads = self.accesses(block, variable, Way::Read);
        let writes = |step: &&Step| {
            let What::Instruction(function, number) = self.seen.graph.what(step.node) else { return false };
            let access = self.seen.graph.facts.functions[function as usize].accesses.get(&number);
            access.is_some_and(|it| it.writes.iter().any(|it| self.seen.blocks.is_shared[*it as usize]))
                && self.tracer().is_with(block, (function, number), &reads)
                && !self.is_statistics(block, variable, (function, number))
        };
        let mut sites = reads.iter().copied();
        reach.steps.iter().filter(|step| step.at == At::Start).any(|step| writes(&step))
            || sites.any(|(function, number)| taken.contains(&self.seen.graph.instruction(function, number)))
    }

    /// Whether a block decides by a new look at the variable whether it writes.
    fn is_looked_at_again(&mut self, block: BlockNumber, variable: Variable, write: Node) -> bool {
        let again = self.inside(block, variable);
        self.is_decided(&again, write)
    }
}

impl Lint<'_> {
    /// Whether the second block compares another variable with what the first one read in it, before it writes, and whoever writes the
    /// variable in question writes that one too: a version.
    fn is_versioned(&mut self, [first, second]: [BlockNumber; 2], variable: Variable, write: Node) -> bool {
        let list = &self.seen.blocks.list;
        let Some(writers) = self.writers.get(&variable) else { return false };
        let is_version = |it: &Variable| *it != variable && writers.iter().all(|&by| list[by].writes.contains(it));
        let versions: Vec<Variable> =
            list[first].reads.intersection(&list[second].reads).copied().filter(is_version).collect();
        versions.into_iter().any(|version| self.is_compared([first, second], [version, version], write))
    }

    /// Whether the second block compares what it reads in one variable with what the first one read in another, before it writes.
    fn is_compared(&mut self, [first, second]: [BlockNumber; 2], [old, new]: [Variable; 2], write: Node) -> bool {
        let (again, before) = (self.inside(second, new), self.reach(first, old));
        if again.0.is_empty() {
            return false;
        }
        let older = self.tracer().values(&before);
        let is_compared = again.0.iter().any(|&node| self.compares(node, &again.0, &older));
        is_compared && self.is_decided(&again, write)
    }

    /// Whether an instruction makes a condition of something new and something old.
    fn compares(&self, node: Node, new: &FxHashSet<Node>, old: &FxHashSet<Node>) -> bool {
        let graph = self.seen.graph;
        let What::Instruction(function, number) = graph.what(node) else { return false };
        let Op::Compute(operands) = &graph.facts.instruction(function, number).op else { return false };
        let made = |operand: &Operand| {
            let Operand::Value(value) = operand else { return None };
            let (block, index) = graph.facts.program.made_by_number(function, *value)?;
            Some(graph.instruction(function, graph.facts.functions[function as usize].number(block, index as usize)))
        };
        let [one, other] = &operands[..] else { return false };
        let (Some(one), Some(other)) = (made(one), made(other)) else { return false };
        let fits = |one: Node, other: Node| new.contains(&one) && old.contains(&other) && !new.contains(&other);
        (fits(one, other) || fits(other, one)) && self.comes_to_decide(node, new)
    }

    /// Whether what follows from an instruction decides something, also by way of a variable, as far as that is inside.
    fn comes_to_decide(&self, node: Node, inside: &FxHashSet<Node>) -> bool {
        let graph = self.seen.graph;
        let mut seen: FxHashSet<Node> = [node].into_iter().collect();
        let mut waiting = vec![node];
        while let Some(node) = waiting.pop() {
            for edge in graph.edges(node) {
                if matches!(graph.what(edge.to), What::Condition(..)) {
                    return true;
                }
                if inside.contains(&edge.to) && seen.insert(edge.to) {
                    waiting.push(edge.to);
                }
            }
        }
        false
    }

    /// Whether what a block reads decides if it writes: also if the other side only comes back to ask again, so that the write is sure to
    /// come, but not in this turn.
    fn is_decided(&self, (reached, decided): &Inside, write: Node) -> bool {
        let graph = self.seen.graph;
        let What::Instruction(function, number) = graph.what(write) else { return false };
        let body = graph.facts.program.function(function);
        let block = graph.facts.functions[function as usize].block_of(number).0;
        let guards = |&node: &Node| {
            let What::Condition(owner, condition) = graph.what(node) else { return false };
            if owner != function {
                return false;
            }
            if graph.edges(node).iter().any(|edge| graph.what(edge.to) == What::Control(function, block)) {
                return true;
            }
            let [one, other] = *successors(body, condition) else { return false };
            let leads = |to: BlockId| reaches(body, to, condition, |it| it == block);
            let ends = |to: BlockId| {
                let is_end = |it: BlockId| successors(body, it).is_empty();
                reaches(body, to, condition, is_end)
            };
            leads(one) && !ends(other) || leads(other) && !ends(one)
        };
        decided.contains(&write) || reached.iter().any(guards)
    }
}

/// Whether there is a way from a block to one of some that does not come by another one.
fn reaches(function: &Function, from: BlockId, without: BlockId, is_one: impl Fn(BlockId) -> bool) -> bool {
    let mut seen: FxHashSet<BlockId> = FxHashSet::default();
    let mut waiting = vec![from];
    while let Some(block) = waiting.pop() {
        if block == without || !seen.insert(block) {
            continue;
        }
        if is_one(block) {
            return true;
        }
        waiting.extend(successors(function, block));
    }
    false
}

/// The numbers that an operand may be, if it is one, or a parameter that the callers give one; nothing among them if it may be anything.
fn numbers(facts: &Facts, function: FunctionId, operand: &Operand) -> Vec<Option<i64>> {
    if let Operand::Number(number) = operand {
        return vec![Some(*number)];
    }
    let Some(index) = parameter(facts, function, operand) else { return vec![None] };
    let given = |(caller, call): Site| match &facts.instruction(caller, call).op {
        Op::Call { arguments, .. } => match arguments.get(index) {
            Some(Operand::Number(number)) => Some(*number),
            _ => None,
        },
        _ => None,
    };
    callers(facts, function).into_iter().map(given).collect()
}

/// Whether an address is that of a global, or by way of a parameter if those count.
fn is_fixed(facts: &Facts, function: FunctionId, address: &Operand, parameters_count: bool) -> bool {
    match address {
        Operand::Global(_) => true,
        Operand::Inside(base, _) => is_fixed(facts, function, base, parameters_count),
        Operand::Value(value) => match facts.program.made_by(function, *value).map(|it| &it.op) {
            Some(Op::Address { base, .. } | Op::Cast(base)) => is_fixed(facts, function, base, parameters_count),
            _ => parameters_count && parameter(facts, function, address).is_some(),
        },
        _ => false,
    }
}

fn nodes(paths: &[Vec<Step>; 2]) -> Vec<Vec<Node>> {
    paths.iter().map(|path| path.iter().map(|step| step.node).collect()).collect()
}

fn view(blocks: &Blocks, block: BlockNumber, way: Way) -> &View {
    match way {
        Way::Read => &blocks.list[block].reads,
        Way::Write => &blocks.list[block].writes,
    }
}

fn is_written(graph: &Graph, node: Node) -> bool {
    matches!(
        graph.what(node),
        What::Instruction(..) | What::Return(_) | What::Parameter(..) | What::Called(..) | What::Left(..)
    )
}
