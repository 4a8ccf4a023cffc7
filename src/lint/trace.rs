//! Where the value that a block reads goes: inside of the block, out of it, and into other blocks.

use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Seen;
use super::blocks::{BlockNumber, Site};
use super::calls::Kind as CallKind;
use super::sections::{Context, Section};
use crate::causal::Graph;
use crate::causal::graph::{Kind, Node, What};
use crate::ir::model::FunctionId;

/// Where on its way a value is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum At {
    /// Where it was read, and it never left.
    Start,
    Outside,
    Block(BlockNumber),
}

/// A step of a value's way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    pub node: Node,
    pub at: At,
    /// The call by which the path began to enter functions; it leaves none any more.
    pub went_in: Option<Site>,
    /// The caller of the function is in a block.
    context: Context,
    /// How the function was called.
    kind: CallKind,
}

/// All that a value reaches.
#[derive(Debug, Default)]
pub struct Reach {
    pub steps: Vec<Step>,
    /// The step that each one comes from; the first ones come from themselves.
    from: Vec<usize>,
    numbers: FxHashMap<Step, usize>,
    /// So many of the steps, the first ones, are reached without a new turn of a loop.
    forward: usize,
    pub is_cut: bool,
}

impl Reach {
    /// What is not followed at all.
    #[must_use]
    pub fn cut_off() -> Reach {
        Reach { is_cut: true, ..Reach::default() }
    }

    fn add(&mut self, step: Step, from: Option<usize>) {
        let next = self.steps.len();
        if let Entry::Vacant(entry) = self.numbers.entry(step) {
            entry.insert(next);
            self.steps.push(step);
            self.from.push(from.unwrap_or(next));
        }
    }

    /// What is reached without a new turn of a loop.
    #[must_use]
    pub fn forward(&self) -> &[Step] {
        &self.steps[..self.forward]
    }

    /// For each step the function in one call of which the way to there lies: the last one of its [`ascent`].
    #[must_use]
    pub fn tops(&self, graph: &Graph) -> Vec<FunctionId> {
        let mut tops: Vec<FunctionId> = Vec::with_capacity(self.steps.len());
        for (step, &from) in self.steps.iter().zip(&self.from) {
            let is_first = step.went_in.is_none() || from == tops.len();
            tops.push(if is_first { graph.function_of(step.node) } else { tops[from] });
        }
        tops
    }

    /// The way to a step.
    #[must_use]
    pub fn path(&self, to: Step) -> Vec<Step> {
        let mut path = vec![to];
        let mut at = self.numbers[&to];
        while self.from[at] != at {
            at = self.from[at];
            path.push(self.steps[at]);
        }
        path.reverse();
        path
    }
}

/// Functions that a way leads up to, innermost first: all of it happens in one call of the last one.
#[must_use]
pub fn ascent(graph: &Graph, path: &[Step]) -> Vec<FunctionId> {
    let mut functions: Vec<FunctionId> = Vec::new();
    for step in path.iter().take_while(|step| step.went_in.is_none()) {
        let function = graph.function_of(step.node);
        if functions.last() != Some(&function) {
            functions.push(function);
        }
    }
    functions
}

const NOWHERE: [Option<Step>; 2] = [None, None];

/// What is needed to follow values.
#[derive(Clone, Copy, Debug)]
pub struct Tracer<'l> {
    pub seen: Seen<'l>,
    /// Nodes to look at for one value.
    pub most: usize,
}

impl Tracer<'_> {
    /// Follows what is read at some instructions of a block.
    #[must_use]
    pub fn follow(&self, block: BlockNumber, reads: &[Site]) -> Reach {
        self.follow_without(block, reads, &FxHashSet::default())
    }

    /// The same without the ways that come by some nodes.
    #[must_use]
    pub fn follow_without(&self, block: BlockNumber, reads: &[Site], without: &FxHashSet<Node>) -> Reach {
        let owner = &self.seen.blocks.list[block];
        let mut reach = Reach::default();
        for &(function, number) in reads {
            let is_own = function == owner.function;
            let (context, kind) = if is_own { (owner.context, owner.kind) } else { (Context::Held, 0) };
            let node = self.seen.graph.instruction(function, number);
            reach.add(Step { node, at: At::Start, went_in: None, context, kind }, None);
        }
        let mut next = 0;
        // What is reached only by a new turn of a loop has to wait for the rest.
        let mut in_new_turns: Option<Vec<(Step, usize)>> = Some(Vec::new());
        loop {
            if next == reach.steps.len() {
                let Some(waiting) = in_new_turns.take() else { break };
                reach.forward = next;
                for (step, from) in waiting {
                    reach.add(step, Some(from));
                }
                continue;
            }
            let (number, step) = (next, reach.steps[next]);
            next += 1;
            if reach.steps.len() > self.most {
                reach.is_cut = true;
                reach.steps.truncate(next);
                break;
            }
            for edge in self.seen.graph.edges(step.node) {
                if !without.is_empty() && without.contains(&edge.to) {
                    continue;
                }
                let next = match edge.kind {
                    Kind::Inside => self.inside(block, step, edge.to),
                    Kind::Into(call) => self.into(block, step, edge.to, call),
                    Kind::OutOf(_) if step.went_in.is_some() => NOWHERE,
                    Kind::OutOf(call) => [self.out_of(block, step, edge.to, call), None],
                };
                let is_back = || self.seen.graph.is_new_turn(step.node, edge);
                for to in next.into_iter().flatten() {
                    match &mut in_new_turns {
                        Some(waiting) if is_back() => waiting.push((to, number)),
                        _ => reach.add(to, Some(number)),
                    }
                }
            }
        }
        if in_new_turns.is_some() {
            reach.forward = reach.steps.len();
        }
        reach
    }

    /// What some steps reach by way of values alone, and not because they decide.
    #[must_use]
    pub fn values(&self, reach: &Reach) -> FxHashSet<Node> {
        let mut is_value = vec![true; reach.steps.len()];
        let mut values = FxHashSet::default();
        for (index, (step, &from)) in reach.steps.iter().zip(&reach.from).enumerate() {
            is_value[index] = is_value[from] && !matches!(self.seen.graph.what(step.node), What::Condition(..));
            if is_value[index] {
                values.insert(step.node);
            }
        }
        values
    }

    /// What is reached without leaving the block, and of that what is reached by way of a condition.
    #[must_use]
    pub fn within(&self, block: BlockNumber, reads: &[Site]) -> (FxHashSet<Node>, FxHashSet<Node>) {
        let reach = self.follow(block, reads);
        let mut reached = FxHashSet::default();
        let mut decided = FxHashSet::default();
        for (step, &from) in reach.steps.iter().zip(&reach.from).filter(|(step, _)| step.at == At::Start) {
            reached.insert(step.node);
            let from = reach.steps[from].node;
            if decided.contains(&from) || matches!(self.seen.graph.what(from), What::Condition(..)) {
                decided.insert(step.node);
            }
        }
        (reached, decided)
    }

    fn number_of(&self, node: Node) -> Option<u32> {
        match self.seen.graph.what(node) {
            What::Instruction(_, number) | What::Called(_, number, _) => Some(number),
            What::Condition(function, block) => {
                let facts = &self.seen.graph.facts;
                let count = facts.program.function(function).blocks[block as usize].instructions.len();
                (count > 0).then(|| facts.functions[function as usize].number(block, count - 1))
            }
            What::Control(function, block) => {
                let facts = &self.seen.graph.facts;
                let is_empty = facts.program.function(function).blocks[block as usize].instructions.is_empty();
                (!is_empty).then(|| facts.functions[function as usize].number(block, 0))
            }
            _ => None,
        }
    }

    /// The blocks of its function that an instruction may be in, for who comes there like this step.
    fn own_blocks(&self, step: Step, function: FunctionId, number: u32) -> impl Iterator<Item = BlockNumber> + '_ {
        let sections = self.seen.sections.at(function, step.context, number);
        let own = sections.iter().filter_map(|it| if let Section::Own(begin) = it { Some(*begin) } else { None });
        own.filter_map(move |begin| self.seen.blocks.at(function, begin, step.kind))
    }

    /// Where an instruction is, for who comes from this step. If the lock was given back and taken again on some of the ways there, both is
    /// possible: that it still is the block where the value was read, and that it is another one.
    fn places(&self, start: BlockNumber, from: Step, function: FunctionId, number: u32) -> [Option<At>; 2] {
        let sections = self.seen.sections.at(function, from.context, number);
        if !sections.iter().any(|it| matches!(it, Section::Own(_))) {
            let is_inherited = sections.contains(&Section::Inherited);
            return [Some(if is_inherited { from.at } else { At::Outside }), None];
        }
        let blocks = || self.own_blocks(from, function, number);
        match from.at {
            At::Start if blocks().any(|it| it == start) => {
                let here = self.number_of(from.node).filter(|_| self.seen.graph.function_of(from.node) == function);
                // Who may have been in the other block already has not come there on the way from here.
                let was_in = |block: BlockNumber| {
                    here.is_none_or(|here| self.own_blocks(from, function, here).any(|it| it == block))
                };
                [Some(At::Start), blocks().find(|&it| it != start && !was_in(it)).map(At::Block)]
            }
            At::Block(block) if blocks().any(|it| it == block) => [Some(from.at), None],
            _ => [Some(blocks().next().map_or(At::Outside, At::Block)), None],
        }
    }

    /// Whether a write of a block is in the same one as one of some reads of it, whichever way led there: there is no other one that the write alone
    /// may be in.
    #[must_use]
    pub fn is_with(&self, block: BlockNumber, write: Site, reads: &[Site]) -> bool {
        let it = &self.seen.blocks.list[block];
        let others = |(function, number): Site| {
            let sections = self.seen.sections.at(function, it.context, number).iter();
            sections.filter(move |section| {
                function == it.function && matches!(section, Section::Own(begin) if *begin != it.begin)
            })
        };
        reads.iter().any(|&read| others(write).all(|other| others(read).any(|it| it == other)))
    }

    fn inside(&self, start: BlockNumber, from: Step, to: Node) -> [Option<Step>; 2] {
        let function = self.seen.graph.function_of(to);
        let places = match self.number_of(to) {
            Some(number) => self.places(start, from, function, number),
            None => [Some(from.at), None],
        };
        places.map(|at| Some(Step { node: to, at: at?, ..from }))
    }

    fn into(&self, start: BlockNumber, from: Step, to: Node, call: u32) -> [Option<Step>; 2] {
        let callee = self.seen.graph.function_of(to);
        if !self.seen.sections.is_followed(callee) {
            return NOWHERE;
        }
        let function = self.seen.graph.function_of(from.node);
        self.places(start, from, function, call).map(|at| {
            let at = at?;
            let context = if at == At::Outside { Context::Free } else { Context::Held };
            let kind = if context == Context::Free { self.seen.blocks.calls.kind(callee, (function, call)) } else { 0 };
            Some(Step { node: to, at, went_in: from.went_in.or(Some((function, call))), context, kind })
        })
    }

    fn out_of(&self, start: BlockNumber, from: Step, to: Node, call: u32) -> Option<Step> {
        let caller = self.seen.graph.function_of(to);
        let block = &self.seen.blocks.list[start];
        let callee = self.seen.graph.function_of(from.node);
        let kind = if caller == block.function { block.kind } else { 0 };
        let step = |at, context| Some(Step { node: to, at, went_in: None, context, kind });
        if from.kind != 0 && self.seen.blocks.calls.kind(callee, (caller, call)) != from.kind {
            return None;
        }
        if callee != block.function && from.context == Context::Held {
            if from.at != At::Start {
                return None;
            }
            let has = |context, section| self.seen.sections.at(caller, context, call).contains(&section);
            if caller == block.function && has(block.context, Section::Own(block.begin)) {
                return step(At::Start, block.context);
            }
            if block.tree.contains(&caller) && has(Context::Held, Section::Inherited) {
                return step(At::Start, Context::Held);
            }
            return None;
        }
        let is_free = self.seen.sections.at(caller, Context::Free, call).contains(&Section::None);
        if is_free { step(At::Outside, Context::Free) } else { None }
    }
}
