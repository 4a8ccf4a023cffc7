//! What the gate tells about a run: a line of JSON for each thing that happens, written at once, so that a crash loses none.

use serde::{Deserialize, Serialize};

use super::schedule::{Act, Role};
use crate::event::ThreadId;

/// One line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Entry {
    /// This process is steered.
    Steered { pid: u32 },
    /// A step with a role happened, on so many bytes of memory or on this lock.
    Role { role: Role, thread: ThreadId, object: u64, size: u64, turn: u32 },
    /// All steps with a role but this one are done, and its thread goes on to do that: the program may not survive it.
    Due { role: Role, thread: ThreadId, object: u64, size: u64 },
    /// A thread did something else than it should have: the first time.
    Difference { thread: ThreadId, turn: u32, expected: Option<u32>, found: Found },
    /// A turn was given up: its thread did not come, or could not go on.
    Skipped { turn: u32, thread: ThreadId, expected: u32, why: Why },
    /// The turns are over, or were given up; from here on all threads run freely.
    Free { turn: u32, figures: Figures },
    /// Every thread waits for another one.
    Deadlock { threads: Vec<Waiting> },
}

/// What a thread did.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Found {
    pub act: Act,
    /// The last part of the file's path; empty if the code lies in none.
    pub module: String,
    pub offset: u64,
}

/// Why a turn was given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The thread did not come to its next step.
    Late,
    /// It waits for a lock or for another thread that is not its turn.
    Blocked,
    /// It ended before.
    Ended,
    /// It was never created.
    Unborn,
}

/// A thread that cannot go on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Waiting {
    pub thread: ThreadId,
    pub at: Found,
    pub object: u64,
}

/// How far the run followed its schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Figures {
    pub steps: u64,
    /// Steps that the schedule does not have.
    pub extra: u64,
    /// Steps of the schedule that did not come.
    pub missing: u64,
    pub skipped_turns: u64,
}
