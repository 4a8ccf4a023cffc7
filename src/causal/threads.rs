//! Calls that start threads.

use rustc_hash::FxHashMap;

use super::program::Program;
use crate::ir::model::FunctionId;

/// Which arguments of a call are the start routine and what it gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    pub routine: usize,
    pub argument: usize,
}

/// What a function starts, if it starts a thread.
#[must_use]
pub fn start_of(function: &str) -> Option<Start> {
    match function {
        "pthread_create" => Some(Start { routine: 2, argument: 3 }),
        "thrd_create" => Some(Start { routine: 1, argument: 2 }),
        _ => None,
    }
}

/// What the C++ library calls in a new thread is a member of a class that it made for the callable.
const STATE: &str = "_ZNSt6thread11_State_implI";
const RUN: &str = "6_M_runEv";

/// Whether this is what a `std::thread` runs.
#[must_use]
pub fn is_state_run(function: &str) -> bool {
    function.starts_with(STATE) && function.ends_with(RUN)
}

/// Constructors of such classes, each with what runs of it.
#[must_use]
pub fn states(program: &Program) -> Vec<(FunctionId, FunctionId)> {
    let runs: FxHashMap<&str, FunctionId> = program
        .defined()
        .filter(|(_, it)| is_state_run(&it.name))
        .map(|(id, it)| (it.name.strip_suffix(RUN).unwrap_or_default(), id))
        .collect();
    let constructors = program.defined().filter(|(_, it)| !runs.is_empty() && it.name.starts_with(STATE));
    let constructed = constructors.filter_map(|(id, it)| {
        let at = ["C2", "C1"].iter().find_map(|kind| {
            it.name.match_indices(kind).map(|(at, _)| at).find(|&at| runs.contains_key(&it.name[..at]))
        })?;
        Some((id, runs[&it.name[..at]]))
    });
    constructed.collect()
}
