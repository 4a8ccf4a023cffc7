//! Stale values: what left one block, and is written, or decides about a write, in another.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::super::blocks::{BlockNumber, Blocks, Site, Way};
use super::super::order::Together;
use super::super::starts::{callers, parameter};
use super::super::trace::{At, Reach, Step, ascent};
use super::{By, ENOUGH, Lint, Reason, Split};
use crate::causal::facts::{Facts, Variable};
use crate::causal::graph::{Node, What};
use crate::ir::model::{FunctionId, Op, Operand};

/// A value that leaves a block, and where it goes.
struct Origin {
    block: BlockNumber,
    variable: Variable,
    reach: Rc<Reach>,
}

/// What was told of a value already.
#[derive(Default)]
struct Told {
    splits: FxHashSet<(BlockNumber, FunctionId)>,
    /// Functions in which the variable was written back.
    written_back_in: FxHashSet<FunctionId>,
}

impl Lint<'_> {
    /// Definitions 10 and 11.
    pub(super) fn stale_values(&mut self) -> Vec<Split> {
        let mut splits = Vec::new();
        let mut blocks: Vec<BlockNumber> = (0..self.seen.blocks.list.len()).collect();
        // If there is too much to look at, small blocks are told first.
        blocks.sort_by_key(|&block| self.seen.blocks.list[block].reads.len());
        for block in blocks {
            let taken = self.taken_out(block);
            for &variable in &self.seen.blocks.list[block].reads {
                if self.writer(variable, &self.runs[block], block).is_none() {
                    continue;
                }
                let reach = self.reach(block, variable);
                if reach.steps.is_empty() || !self.seen.paper && self.is_acted_on(block, variable, &reach, &taken) {
                    continue;
                }
                let from = Origin { block, variable, reach };
                let mut told = Told::default();
                let tops = from.reach.tops(self.seen.graph);
                let steps = from.reach.steps.iter().zip(tops);
                splits.extend(steps.filter_map(|(step, top)| self.stale_at(&from, step, top, &mut told)));
            }
        }
        splits
    }

    /// What is split if a step on the value's way is a write in a later block.
    fn stale_at(&mut self, from: &Origin, step: &Step, function_of_both: FunctionId, told: &mut Told) -> Option<Split> {
        let &Origin { block: first, variable, ref reach } = from;
        let At::Block(second) = step.at else { return None };
        let What::Instruction(function, number) = self.seen.graph.what(step.node) else { return None };
        let written = self.written_in(second, (function, number))?;
        if told.splits.contains(&(second, function_of_both)) {
            return None;
        }
        let is_update = written == variable;
        if !self.seen.paper
            && !is_update
            && self.told_of.get(&(function_of_both, variable)).is_some_and(|it| *it >= ENOUGH)
        {
            self.left_out.insert((second, variable));
            return None;
        }
        let path = reach.path(*step);
        let ascent = ascent(self.seen.graph, &path);
        let (_, below) = ascent.split_last()?;
        if !self.seen.paper {
            // What a function has done about it already is told of that function.
            let is_told = below.iter().any(|function| told.written_back_in.contains(function));
            if is_told || written == variable && self.is_only_set(variable) {
                return None;
            }
            let is_value = path.iter().all(|step| !self.decides(step));
            // Who writes the old value back has lost what was new, unless it knows that there is nothing new.
            let is_update = written == variable && is_value;
            if !is_update && self.is_looked_at_again(second, variable, step.node)
                || self.is_compared([first, second], [variable, written], step.node)
                || self.is_versioned([first, second], variable, step.node)
            {
                return None;
            }
        }
        told.splits.insert((second, function_of_both));
        *self.told_of.entry((function_of_both, variable)).or_default() += 1;
        let runs = self.runs[first].iter().copied();
        let runs: Vec<usize> = runs.filter(|&it| self.runs_both(it, second, function_of_both)).collect();
        let (process, other_process, other) = self.writer(variable, &runs, first)?;
        if written == variable {
            told.written_back_in.insert(function_of_both);
        }
        let What::Instruction(read_in, read_at) = self.seen.graph.what(path[0].node) else { return None };
        Some(Split {
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
            together: Together::InTurn,
        })
    }

    /// The shared variable that an instruction of a block writes. One block of a function that locks for several objects writes to one of them.
    fn written_in(&self, block: BlockNumber, (function, number): Site) -> Option<Variable> {
        let Blocks { is_shared, list, .. } = self.seen.blocks;
        let access = self.seen.graph.facts.functions[function as usize].accesses.get(&number)?;
        let is_meant = |it: &Variable| is_shared[*it as usize] && list[block].writes.contains(it);
        access.writes.iter().copied().find(is_meant)
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
