//! What counts as progress.
//!
//! The gate waits for the thread whose turn it is, and for no longer than it gets nearer to its next step. Somebody else who comes to stops all the time, to ask
//! whether it may end for example, must not make that wait endless; nor must the thread itself, if it does something else again and again.

use std::collections::BTreeMap;

use crate::event::ThreadId;

/// A thread that moves so often without getting to its next step does not get nearer to it.
const MOST_MOVES: u32 = 16;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pace {
    /// How much of the schedule was done when somebody last looked.
    reached: u64,
    /// How often threads moved since.
    moves: BTreeMap<ThreadId, u32>,
    progress: u64,
    activity: u64,
}

impl Pace {
    /// The plan goes on.
    pub fn goes_on(&mut self) {
        self.moves.clear();
        self.progress += 1;
        self.activity += 1;
    }

    /// So much of the schedule is done.
    pub fn reach(&mut self, reached: u64) {
        if reached != self.reached {
            self.reached = reached;
            self.goes_on();
        }
    }

    /// The thread whose turn it is does something.
    pub fn moves(&mut self, thread: ThreadId) {
        self.activity += 1;
        let moves = self.moves.entry(thread).or_default();
        if *moves < MOST_MOVES {
            *moves += 1;
            self.progress += 1;
        }
    }

    /// Somebody does something.
    pub fn stirs(&mut self) {
        self.activity += 1;
    }

    /// Changes as long as the plan goes on.
    pub fn progress(&self) -> u64 {
        self.progress
    }

    /// Changes as long as anything happens.
    pub fn activity(&self) -> u64 {
        self.activity
    }
}
