//! What the gate tells about a run: a line of JSON for each thing that happens, written at once, so that a crash loses none.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::schedule::{Act, Role};
use crate::event::ThreadId;

/// One line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Entry {
    /// This process is steered.
    Steered { pid: u32 },
    /// This process of the program is not the one that is meant.
    Other { process: u32 },
    /// A thread of the program came to the gate. Told for a debugger, which knows threads by the kernel's number.
    Thread { thread: ThreadId, kernel: u32 },
    /// Nobody comes to this turn, and nobody gives it up: a debugger waits.
    Awaited { turn: u32, thread: ThreadId, expected: u32 },
    /// A step with a role happened, on so many bytes of memory or on this lock.
    /// So many milliseconds after the begin of steering.
    Role {
        role: Role,
        thread: ThreadId,
        object: u64,
        size: u64,
        turn: u32,
        #[serde(default)]
        at_ms: u64,
    },
    /// All steps with a role but this one are done, and its thread goes on to do that: the program may not survive it.
    Due { role: Role, thread: ThreadId, object: u64, size: u64 },
    /// A thread did something else than it should have: the first time.
    Difference { thread: ThreadId, turn: u32, expected: Option<u32>, found: Found },
    /// A turn was given up: its thread did not come, or could not go on.
    Skipped { turn: u32, thread: ThreadId, expected: u32, why: Why },
    /// The turns are over, or were given up; from here on all threads run freely.
    Free { turn: u32, figures: Figures },
    /// Every thread waits for another one. If it is not certain, somebody may come whom the gate does not know: a timer, a handler, another process.
    Deadlock { threads: Vec<Waiting>, is_certain: bool },
    /// Somebody did: the threads go on.
    Resumed,
    /// Libraries were loaded and unloaded so often that nobody looks any more where they are: places in them are not found from here on.
    Unsought,
    /// There was no room for what came after.
    Full,
}

/// What is told in the bytes of a journal so far. What is not written yet is zero, and a program that was killed may have left half a line.
#[must_use]
pub fn read(journal: &[u8]) -> Vec<Entry> {
    let written = journal.split(|&byte| byte == 0).next().unwrap_or_default();
    written.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// For how many milliseconds the block was open: from its first step to its last, or to the end of the run, which took so long.
#[must_use]
pub fn held_ms(journal: &[Entry], run: Duration) -> u64 {
    let at = |is_wanted: fn(Role) -> bool| {
        journal.iter().find_map(|entry| match entry {
            Entry::Role { role, at_ms, .. } if is_wanted(*role) => Some(*at_ms),
            _ => None,
        })
    };
    let end = at(Role::is_second).unwrap_or(run.as_millis() as u64);
    at(|role| role == Role::First).map_or(0, |begin| end.saturating_sub(begin))
}

/// Who waits in the deadlock that was told last, if nobody went on since as far as is known, and whether it is certain.
#[must_use]
pub fn deadlock(journal: &[Entry]) -> Option<(&[Waiting], bool)> {
    let told =
        journal.iter().rev().find(|entry| matches!(entry, Entry::Deadlock { .. } | Entry::Resumed | Entry::Full))?;
    match told {
        Entry::Deadlock { threads, is_certain } => Some((threads, *is_certain)),
        _ => None,
    }
}

/// What a thread did.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Found {
    pub act: Act,
    /// The file's path; empty if the code lies in none.
    pub module: String,
    pub offset: u64,
    /// What people call the place. Whoever reads the journal finds it out.
    #[serde(skip)]
    pub name: Option<String>,
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
