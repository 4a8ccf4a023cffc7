//! What runs at the same time: `main`, and what threads are started with.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::blocks::Site;
use super::loops::{in_loops, repeats};
use super::starts::Start;
use crate::causal::facts::Facts;
use crate::ir::model::FunctionId;

/// The code of some threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Process {
    /// Where they begin: one function, or, of a program without `main`, all that others may call.
    pub bases: Vec<FunctionId>,
    /// There may be more than one such thread at the same time.
    pub is_multiple: bool,
    /// The call that starts them; `main` has none.
    pub created_at: Option<Site>,
}

/// The processes of a program, `main` first.
#[must_use]
pub fn processes(facts: &Facts, starts: &[Start]) -> Vec<Process> {
    let mut sites: BTreeMap<FunctionId, BTreeSet<Site>> = BTreeMap::new();
    for start in starts {
        for &routine in &start.routines {
            sites.entry(routine).or_default().insert(start.site);
        }
    }
    let main = facts.program.named("main").filter(|&id| !facts.program.function(id).blocks.is_empty());
    let mut processes = match main {
        Some(main) => vec![Process { bases: vec![main], is_multiple: false, created_at: None }],
        None => library(facts, &sites),
    };
    for (routine, at) in sites {
        let is_multiple = at.len() > 1 || at.iter().any(|&(function, number)| repeats(facts, function, number));
        processes.push(Process { bases: vec![routine], is_multiple, created_at: at.first().copied() });
    }
    spread_multiplicity(facts, &mut processes);
    processes
}

/// Nobody knows who calls a library, so all may be called at the same time, but what it starts threads with itself.
fn library(facts: &Facts, started: &BTreeMap<FunctionId, BTreeSet<Site>>) -> Vec<Process> {
    let called: FxHashSet<FunctionId> = facts.callees.iter().flatten().copied().collect();
    let is_open = |&(id, function): &(FunctionId, _)| {
        let function: &crate::ir::model::Function = function;
        !function.is_internal && !called.contains(&id) && !started.contains_key(&id)
    };
    let bases: Vec<FunctionId> = facts.program.defined().filter(is_open).map(|(id, _)| id).collect();
    if bases.is_empty() { Vec::new() } else { vec![Process { bases, is_multiple: true, created_at: None }] }
}

/// What is started from a function that runs more than once runs more than once itself.
fn spread_multiplicity(facts: &Facts, processes: &mut [Process]) {
    let often = called_often(facts);
    let mut is_stable = false;
    while !is_stable {
        is_stable = true;
        let bases = processes.iter().filter(|it| it.is_multiple).flat_map(|it| it.bases.iter().copied());
        let repeated = with_callees(facts, often.iter().copied().chain(bases));
        for process in processes.iter_mut().filter(|it| !it.is_multiple) {
            if process.created_at.is_some_and(|(function, _)| repeated.contains(&function)) {
                process.is_multiple = true;
                is_stable = false;
            }
        }
    }
}

/// Functions that are called in a loop, by themselves, or in more than one place.
#[must_use]
pub fn called_often(facts: &Facts) -> FxHashSet<FunctionId> {
    let mut often: FxHashSet<FunctionId> = FxHashSet::default();
    let mut calls: FxHashMap<FunctionId, u32> = FxHashMap::default();
    for (id, function) in (0..).zip(&facts.functions) {
        let in_loops = in_loops(facts, id);
        for (&number, callees) in &function.calls {
            let in_loop = in_loops[function.block_of(number).0 as usize];
            for &callee in callees {
                *calls.entry(callee).or_default() += 1;
                if in_loop || callee == id {
                    often.insert(callee);
                }
            }
        }
    }
    often.extend(calls.iter().filter(|(_, count)| **count > 1).map(|(id, _)| *id));
    often
}

/// Some functions, all that they call, and so on.
#[must_use]
pub fn with_callees(facts: &Facts, functions: impl IntoIterator<Item = FunctionId>) -> FxHashSet<FunctionId> {
    let mut reached: FxHashSet<FunctionId> = functions.into_iter().collect();
    let mut waiting: Vec<FunctionId> = reached.iter().copied().collect();
    while let Some(id) = waiting.pop() {
        waiting.extend(facts.callees[id as usize].iter().copied().filter(|&callee| reached.insert(callee)));
    }
    reached
}
