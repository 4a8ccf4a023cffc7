//! Which writes of a variable a read may see: the current versions of the paper's rules, by a forward dataflow over blocks.

use rustc_hash::FxHashMap;

use super::control::successors;
use super::facts::{FunctionFacts, Variable};
use crate::ir::model::{BlockId, Function};

/// Where a variable got the version that it has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Origin {
    /// Before the function: the paper's `h?`.
    Unknown,
    /// By an instruction of the function.
    Written(u32),
    /// In a function that this instruction calls.
    Called(u32),
}

/// What the reads of a function see, and what the function leaves behind.
#[derive(Debug, Default)]
pub struct Versions {
    /// Instruction, variable, and its version there.
    pub seen: Vec<(u32, Variable, Origin)>,
    /// Versions at the end of the function.
    pub left: Vec<(Variable, Origin)>,
    /// Calls, what they were said to want, and its version there.
    pub given: Vec<(u32, Variable, Origin)>,
}

struct Definition {
    variable: usize,
    origin: Origin,
    /// Nothing older is left of the variable.
    is_whole: bool,
}

/// What a call does with a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    None,
    /// It may write it, ...
    Written,
    /// ... or does so whatever happens.
    Replaced,
}

/// The versions of the variables that `function` accesses itself, or that calls want. `called` tells what a call does with a variable.
#[must_use]
pub fn versions(
    function: &Function,
    facts: &FunctionFacts,
    wanted: &FxHashMap<u32, Vec<Variable>>,
    called: &dyn Fn(u32, Variable) -> Effect,
    is_own: &[bool],
) -> Versions {
    let mut ids: FxHashMap<Variable, usize> = FxHashMap::default();
    let mut tracked: Vec<Variable> = Vec::new();
    let mut accesses: Vec<u32> = facts.accesses.keys().copied().collect();
    accesses.sort_unstable();
    let mut calls: Vec<u32> = wanted.keys().copied().collect();
    calls.sort_unstable();
    let accessed = accesses.iter().flat_map(|number| {
        let access = &facts.accesses[number];
        access.reads.iter().chain(&access.writes)
    });
    for &variable in accessed.chain(calls.iter().flat_map(|number| &wanted[number])) {
        ids.entry(variable).or_insert_with(|| {
            tracked.push(variable);
            tracked.len() - 1
        });
    }
    // Definitions in the order of the program, with those from before the function first.
    let mut definitions: Vec<Definition> = Vec::new();
    for (id, &variable) in tracked.iter().enumerate() {
        if !is_own[variable as usize] {
            definitions.push(Definition { variable: id, origin: Origin::Unknown, is_whole: false });
        }
    }
    let from_before = definitions.len();
    let mut of_instruction: FxHashMap<u32, (usize, usize)> = FxHashMap::default();
    let mut number = 0;
    for block in &function.blocks {
        for _ in &block.instructions {
            let begin = definitions.len();
            if let Some(access) = facts.accesses.get(&number) {
                let written = |variable: &Variable| Definition {
                    variable: ids[variable],
                    origin: Origin::Written(number),
                    is_whole: access.is_whole,
                };
                definitions.extend(access.writes.iter().map(written));
            }
            if facts.calls.contains_key(&number) {
                let shared = (0..).zip(&tracked).filter(|(_, variable)| !is_own[**variable as usize]);
                definitions.extend(shared.filter_map(|(id, &variable)| {
                    let effect = called(number, variable);
                    let is_whole = effect == Effect::Replaced;
                    let definition = Definition { variable: id, origin: Origin::Called(number), is_whole };
                    (effect != Effect::None).then_some(definition)
                }));
            }
            if definitions.len() > begin {
                of_instruction.insert(number, (begin, definitions.len()));
            }
            number += 1;
        }
    }
    let mut of_variable: Vec<Vec<usize>> = vec![Vec::new(); tracked.len()];
    for (index, definition) in definitions.iter().enumerate() {
        of_variable[definition.variable].push(index);
    }

    let flow = Flow {
        function,
        facts,
        definitions: &definitions,
        of_instruction: &of_instruction,
        of_variable: &of_variable,
        words: definitions.len().div_ceil(64),
    };
    let entries = flow.solve(from_before);

    let mut versions = Versions::default();
    for (block, it) in (0..).zip(&function.blocks) {
        let Some(mut state) = entries[block as usize].clone() else { continue };
        for index in 0..it.instructions.len() {
            let number = facts.number(block, index);
            if let Some(access) = facts.accesses.get(&number) {
                for &variable in &access.reads {
                    let seen = of_variable[ids[&variable]].iter().filter(|&&definition| has(&state, definition));
                    versions.seen.extend(seen.map(|&definition| (number, variable, definitions[definition].origin)));
                }
            }
            for &variable in wanted.get(&number).into_iter().flatten() {
                let seen = of_variable[ids[&variable]].iter().filter(|&&definition| has(&state, definition));
                versions.given.extend(seen.map(|&definition| (number, variable, definitions[definition].origin)));
            }
            flow.step(&mut state, number);
        }
        if matches!(it.end, crate::ir::model::End::Return(_) | crate::ir::model::End::Resume) {
            let left = (0..definitions.len()).filter(|&definition| has(&state, definition));
            let left =
                left.map(|definition| (tracked[definitions[definition].variable], definitions[definition].origin));
            versions.left.extend(left.filter(|(variable, _)| !is_own[*variable as usize]));
        }
    }
    versions.left.sort_unstable();
    versions.left.dedup();
    versions
}

type Bits = Vec<u64>;

fn has(bits: &Bits, index: usize) -> bool {
    bits[index / 64] & (1 << (index % 64)) != 0
}

struct Flow<'f> {
    function: &'f Function,
    facts: &'f FunctionFacts,
    definitions: &'f [Definition],
    of_instruction: &'f FxHashMap<u32, (usize, usize)>,
    of_variable: &'f [Vec<usize>],
    words: usize,
}

impl Flow<'_> {
    /// The state at the beginning of each block; nothing for those that are never reached.
    fn solve(&self, from_before: usize) -> Vec<Option<Bits>> {
        let mut entries: Vec<Option<Bits>> = vec![None; self.function.blocks.len()];
        let mut first = vec![0; self.words];
        (0..from_before).for_each(|index| first[index / 64] |= 1 << (index % 64));
        let Some(entry) = entries.first_mut() else { return entries };
        *entry = Some(first);
        let mut waiting: std::collections::BTreeSet<BlockId> = [0].into();
        while let Some(block) = waiting.pop_first() {
            let Some(mut state) = entries[block as usize].clone() else { continue };
            for index in 0..self.function.blocks[block as usize].instructions.len() {
                self.step(&mut state, self.facts.number(block, index));
            }
            for &to in successors(self.function, block) {
                let is_new = match &mut entries[to as usize] {
                    Some(entry) => {
                        let mut grows = false;
                        for (word, new) in entry.iter_mut().zip(&state) {
                            grows |= *word | new != *word;
                            *word |= new;
                        }
                        grows
                    }
                    entry => {
                        *entry = Some(state.clone());
                        true
                    }
                };
                if is_new {
                    waiting.insert(to);
                }
            }
        }
        entries
    }

    /// The paper's `subs`: a version replaces the others of its variable, if it is all of that variable.
    fn step(&self, state: &mut Bits, number: u32) {
        let Some(&(begin, end)) = self.of_instruction.get(&number) else { return };
        for index in begin..end {
            let definition = &self.definitions[index];
            if definition.is_whole {
                for &other in &self.of_variable[definition.variable] {
                    state[other / 64] &= !(1 << (other % 64));
                }
            }
            state[index / 64] |= 1 << (index % 64);
        }
    }
}
