//! Is there an order of a run's steps in which some of them happen in a given order, and which?
//!
//! **What may change.** Each thread does its steps in its own order, up to some point. Locks exclude each other, nobody goes on
//! before what it waited for, and a thread that was refused a lock finds it held. And every read sees the write that it saw in the run, or
//! one of which the recording tells that it left the same value: then every thread does what it did. Two kinds of read may see something
//! else. After the *last* step of a thread nothing depends on what it saw. And a read of a variable that the goal is about may do so as
//! long as its thread comes to no branch: the goal is about exactly such reads, and the address of what follows, which
//! is that variable again, does not come from it. It may give back its locks and take them again, but do nothing with any other object, which might come
//! from what it saw. Where the program's code is known ([`History::code`]), any read may see something else as long as neither a branch, nor which memory
//! or lock is meant, depends on it. What such a thread writes is not what it wrote in the run; if it writes to anything but
//! the goal's variables, nobody knows where, and no read can be relied on any more. A compare-exchange always has to see what it
//! saw.
//!
//! **Where it begins.** All steps before some place happen as in the run. That place is tried near the goal first, and then further back; only if
//! nothing is fixed and every possibility was tried is the answer that there is no such order, unless the goal
//! contradicts what must come before its own steps.
//!
//! **What follows** from the goal and from what each read has to see, one after the other, is found first (`must`): often that is a contradiction, and else it leaves
//! little to choose.
//!
//! **The search** goes through the threads' positions depth first. What can only help is done at once: releases, signals, reads that see what
//! they must, writes that nobody else reads. What is left to choose is who takes a lock next, and when a write happens that others read. The
//! order of the run is tried first, except that a thread whose next step of the goal is not due yet waits in front of the section that leads to it.

mod limits;
mod must;
mod state;

use rustc_hash::FxHashSet;

use super::history::{At, History, NONE};
pub(crate) use limits::needs;
use limits::{Contradiction, Limits};
use state::{Move, State};

/// What an order is searched for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Goal {
    /// Pairs of steps: all of them happen, the first of each pair before the second.
    pub order: Vec<(At, At)>,
    /// A step that does not happen.
    pub without: Option<At>,
    /// Variables whose reads may see other values before code without branches.
    pub variables: Vec<u32>,
    /// One read that may do so, alone.
    pub free: Option<At>,
    /// Asks about locks and waits only, whatever is read.
    pub ignores_reads: bool,
}

impl Goal {
    /// Whether a read may see another value before code without branches.
    fn frees(&self, history: &History, read: At) -> bool {
        self.free == Some(read) || self.variables.contains(&history.step(read).object)
    }

    /// Whether a thread that saw another value is known to write to this variable, and not to any other.
    fn is_about(&self, history: &History, variable: u32) -> bool {
        self.variables.contains(&variable) || self.free.is_some_and(|read| history.step(read).object == variable)
    }

    /// All its steps.
    pub fn steps(&self) -> impl Iterator<Item = At> {
        self.order.iter().flat_map(|&(first, second)| [first, second])
    }
}

/// An order that was found: all steps before `from` as in the run, then these.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    pub from: At,
    pub steps: Vec<At>,
}

/// The answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    Feasible(Order),
    Infeasible,
    /// It would have cost more than it may.
    Undecided,
}

/// What a search may cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Choices that are looked at.
    pub choices: u32,
    /// Steps of the run between the steps of the goal.
    pub span: u32,
    /// Steps between the beginning of the search and the last of the goal, when a nearer start shows nothing.
    pub window: u32,
}

impl Budget {
    /// For many questions about a long run.
    pub const BRIEF: Budget = Budget { choices: 400, span: 1 << 14, window: 512 };
    /// For few, or about a short one.
    pub const PATIENT: Budget = Budget { choices: 20_000, span: u32::MAX, window: 1 << 16 };

    /// What a search may cost in a run of so many steps.
    #[must_use]
    pub const fn in_run_of(steps: usize) -> Budget {
        if steps <= 1 << 12 { Budget::PATIENT } else { Budget::BRIEF }
    }
}

/// Looks for an order.
#[must_use]
pub fn find(history: &History, goal: &Goal, budget: Budget) -> Outcome {
    let Some(last) = goal.steps().max() else { return Outcome::Infeasible };
    let regions = regions(history, goal);
    // What must not happen is not among what happens as in the run.
    let fixed = goal.steps().chain(goal.without);
    let mut from = fixed.map(|step| history.last_open(step)).min().unwrap_or(0);
    if last - from > budget.span {
        return Outcome::Undecided;
    }
    let mut choices = budget.choices;
    loop {
        match attempt(history, goal, &regions, from, &mut choices) {
            Attempt::Found(steps) => return Outcome::Feasible(Order { from, steps }),
            Attempt::Contradiction => return Outcome::Infeasible,
            Attempt::Exhausted if from == 0 => return Outcome::Infeasible,
            Attempt::Exhausted => {}
            Attempt::TooMuch => return Outcome::Undecided,
        }
        let length = (last - from).max(32);
        if length >= budget.window {
            return Outcome::Undecided;
        }
        from = last.saturating_sub(length.saturating_mul(4));
    }
}

enum Attempt {
    Found(Vec<At>),
    /// The goal contradicts what must come before it.
    Contradiction,
    Exhausted,
    TooMuch,
}

/// For each step of the goal, where its thread waits until it is due.
fn regions(history: &History, goal: &Goal) -> Vec<(At, At)> {
    let mut regions: Vec<(At, At)> = goal.steps().map(|step| (step, history.last_open(step))).collect();
    regions.sort_unstable();
    regions.dedup();
    regions
}

fn attempt(history: &History, goal: &Goal, regions: &[(At, At)], from: At, choices: &mut u32) -> Attempt {
    let limits = match Limits::new(history, goal, from) {
        Ok(limits) => limits,
        Err(Contradiction::Always) => return Attempt::Contradiction,
        Err(Contradiction::Here) => return Attempt::Exhausted,
    };
    let mut state = State::new(history, goal, from, &limits);
    let mut seen = FxHashSet::default();
    // What is left to try at each choice, and how many moves came before it.
    let mut open: Vec<(usize, Vec<Move>)> = Vec::new();
    loop {
        state.do_what_helps();
        if state.is_done() {
            return Attempt::Found(state.order);
        }
        if seen.insert(state.fingerprint) {
            if *choices == 0 {
                return Attempt::TooMuch;
            }
            *choices -= 1;
            let mut moves = state.moves();
            // The best one last: it is taken off the end.
            moves.sort_unstable_by_key(|next| std::cmp::Reverse(state.rank(next, regions)));
            open.push((state.order.len(), moves));
        }
        loop {
            let Some((length, moves)) = open.last_mut() else {
                return if limits.is_cut { Attempt::TooMuch } else { Attempt::Exhausted };
            };
            state.undo(*length);
            if let Some(next) = moves.pop() {
                state.take(next);
                break;
            }
            open.pop();
        }
    }
}

/// Whether the step needs none of the others: nothing before it in the run.
const fn is_before(step: At, from: At) -> bool {
    step == NONE || step < from
}
