//! A recorded run, indexed for questions about other orders of its steps.
//!
//! Only what another order could change is kept: synchronisation, and accesses of memory that threads share. A step is known by its
//! place [`At`] in the order of the run, which also orders the steps of each thread.

mod build;
mod frames;
mod locks;
#[cfg(test)]
pub(super) mod made;
mod shared;
#[cfg(test)]
mod tests;
mod variables;
mod waits;

use rustc_hash::FxHashMap;

use super::dependency::Dependencies;
use crate::analysis::Transaction;
use crate::event::ThreadId;
pub use build::{Builder, Config};
pub use frames::{Frame, Frames};
pub use locks::{Hold, Holds, LockInfo};
pub use shared::Survey;
pub use variables::{Allocation, VariableInfo};

/// A step, by its place in the order of the run.
pub type At = u32;
/// No step, no object, no frame.
pub const NONE: u32 = u32::MAX;
/// A thread, by its place in [`History::lanes`].
pub type Lane = u16;

/// What a step does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum Op {
    /// Plain accesses.
    Read,
    Write,
    /// Atomic operations.
    Load,
    Store,
    /// Reads and writes in one.
    Update,
    /// A compare-exchange that succeeded: an update, because it read what it expected.
    Exchange,
    /// One that failed: only a load, because it did not.
    Attempt,
    /// The memory of the variable is freed.
    Free,
    Acquire,
    AcquireShared,
    Release,
    /// An attempt on a lock that another thread held.
    Refused,
    Signal,
    Await,
    Fork,
    Start,
    End,
    Join,
    /// Events of this thread are missing here: nothing is known of what it does without them.
    Gap,
}

impl Op {
    #[must_use]
    pub const fn is_access(self) -> bool {
        self as u8 <= Op::Free as u8
    }

    #[must_use]
    pub const fn is_atomic(self) -> bool {
        matches!(self, Op::Load | Op::Store | Op::Update | Op::Exchange | Op::Attempt)
    }

    #[must_use]
    pub const fn reads(self) -> bool {
        matches!(self, Op::Read | Op::Load | Op::Update | Op::Exchange | Op::Attempt)
    }

    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Op::Write | Op::Store | Op::Update | Op::Exchange | Op::Free)
    }

    /// Whether it is what it is only because of what it read.
    #[must_use]
    pub const fn compares(self) -> bool {
        matches!(self, Op::Exchange | Op::Attempt)
    }
}

/// One step of one thread.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// A variable, a lock, or what is awaited.
    pub object: u32,
    /// Of an access: the write before it, whose value it sees if it reads. Of an acquire its release and of a release its acquire. Of a
    /// start the fork, of a join the end of the thread, of a refusal the acquire of who holds the lock.
    pub link: At,
    /// The innermost open transaction: see [`Frames`].
    pub frame: u32,
    /// The locks that are held: see [`Holds`].
    pub hold: u32,
    /// Code location: see [`History::pc`].
    pub code: u32,
    pub lane: Lane,
    pub op: Op,
    /// Branches since the thread's previous access, of an access; 255 for more.
    pub branches: u8,
}

const _: () = assert!(size_of::<Step>() == 24, "a hundred million of them have to fit into memory");

/// What an access saw and what it left, where that was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Values {
    pub seen: u64,
    pub left: u64,
}

/// A run.
#[derive(Default)]
pub struct History {
    pub steps: Vec<Step>,
    /// The steps of each thread.
    pub lanes: Vec<Vec<At>>,
    pub threads: Vec<ThreadId>,
    /// What must have happened before a step, beside what its link says.
    pub after: FxHashMap<At, Vec<At>>,
    pub frames: Frames,
    pub holds: Holds,
    pub locks: Vec<LockInfo>,
    pub variables: Vec<VariableInfo>,
    /// Accesses of each variable, in the order of the run: those of variable `v` are between `offsets[v]` and `offsets[v + 1]`.
    accesses: Vec<At>,
    offsets: Vec<u32>,
    pub values: FxHashMap<At, Values>,
    /// Of each thread, the steps from which on it holds other locks than before, and which.
    holding: Vec<Vec<(At, u32)>>,
    codes: Vec<u64>,
    /// Which event of its thread each step was, if that was asked for.
    numbers: Vec<u32>,
    /// Steps that did not fit any more, because the history is limited.
    pub left_out: u64,
    /// Events that the recording lost.
    pub lost: u64,
    /// There are accesses of memory, shared or not.
    pub has_accesses: bool,
    /// Who knows the program's code, if somebody does.
    pub code: Option<Box<dyn Dependencies>>,
}

impl History {
    #[must_use]
    pub fn step(&self, at: At) -> &Step {
        &self.steps[at as usize]
    }

    /// The return address that a step's code location stands for.
    #[must_use]
    pub fn pc(&self, at: At) -> u64 {
        self.codes[self.step(at).code as usize]
    }

    /// Which event of its thread a step was, counted from 0. None if that was not kept.
    #[must_use]
    pub fn number(&self, at: At) -> Option<u32> {
        self.numbers.get(at as usize).copied()
    }

    /// All code locations: what [`Step::code`] counts.
    #[must_use]
    pub fn codes(&self) -> &[u64] {
        &self.codes
    }

    #[must_use]
    pub fn thread(&self, at: At) -> ThreadId {
        self.threads[self.step(at).lane as usize]
    }

    /// The accesses of a variable, in the order of the run.
    #[must_use]
    pub fn accesses(&self, variable: u32) -> &[At] {
        let range = self.offsets[variable as usize] as usize..self.offsets[variable as usize + 1] as usize;
        &self.accesses[range]
    }

    /// The steps of a step's thread from that one on.
    #[must_use]
    pub fn from(&self, at: At) -> &[At] {
        let lane = &self.lanes[self.step(at).lane as usize];
        &lane[lane.partition_point(|&other| other < at)..]
    }

    /// The open transactions at a step, outermost first.
    #[must_use]
    pub fn stack(&self, at: At) -> Vec<Transaction> {
        self.frames.stack(self.step(at).frame)
    }

    /// The calls that led to an allocation, innermost first, by their return addresses.
    #[must_use]
    pub fn calls(&self, allocation: &Allocation) -> Vec<u64> {
        let around = self.frames.stack(allocation.frame).into_iter().rev();
        let call = |transaction| match transaction {
            Transaction::Function { call, .. } => Some(call),
            Transaction::Block { .. } | Transaction::Section { .. } => None,
        };
        std::iter::once(allocation.pc).chain(around.filter_map(call)).collect()
    }

    /// The acquires of the locks that are held at a step, in the order in which they were taken.
    #[must_use]
    pub fn held(&self, at: At) -> Vec<At> {
        let step = self.step(at);
        let lane = &self.lanes[step.lane as usize];
        let mut wanted: Vec<u32> = self.holds.of(step.hold).iter().map(|hold| hold.lock).collect();
        let mut found = Vec::new();
        for &earlier in lane[..lane.partition_point(|&other| other < at)].iter().rev() {
            if wanted.is_empty() {
                break;
            }
            let before = self.step(earlier);
            if matches!(before.op, Op::Acquire | Op::AcquireShared)
                && let Some(index) = wanted.iter().position(|&lock| lock == before.object)
            {
                wanted.swap_remove(index);
                found.push(earlier);
            }
        }
        found.reverse();
        found
    }

    /// Whether what a thread reads may decide how it comes to a later step, or what that is about. So it is if nobody knows the code.
    #[must_use]
    pub fn is_steered(&self, read: At, step: At) -> bool {
        self.code.as_ref().is_none_or(|code| code.steers(self, read, step))
    }

    /// The locks at the points behind one step of a thread up to another one, each stretch once. Those at a point are told by the step after
    /// it.
    pub fn holds_between(&self, first: At, second: At) -> impl Iterator<Item = u32> {
        let changes = &self.holding[self.step(first).lane as usize];
        let next = self.from(first).get(1).copied().unwrap_or(second);
        let begin = changes.partition_point(|&(at, _)| at <= next).saturating_sub(1);
        changes[begin..].iter().take_while(move |&&(at, _)| at <= second).map(|&(_, hold)| hold)
    }

    /// The last step of a thread up to this one before which it held no lock: the acquire that opened the outermost section around it, or the step itself
    /// if there is none.
    #[must_use]
    pub fn last_open(&self, at: At) -> At {
        let lane = self.step(at).lane as usize;
        let changes = &self.holding[lane];
        let before = &changes[..changes.partition_point(|&(change, _)| change <= at)];
        let Some(open) = before.iter().rposition(|&(_, hold)| hold == Holds::NOTHING) else {
            return self.lanes[lane][0];
        };
        let Some(&(closed, _)) = before.get(open + 1) else { return at };
        let steps = &self.lanes[lane];
        steps[steps.partition_point(|&step| step < closed).saturating_sub(1)]
    }

    /// Notes where threads hold other locks than before.
    fn note_holds(&mut self) {
        let changes = |lane: &Vec<At>| {
            let mut last = NONE;
            let mut changes = Vec::new();
            for &at in lane {
                let hold = self.step(at).hold;
                if hold != last {
                    changes.push((at, hold));
                    last = hold;
                }
            }
            changes
        };
        self.holding = self.lanes.iter().map(changes).collect();
    }

    /// Sorts the accesses by variable.
    fn sort_accesses(&mut self) {
        let mut offsets = vec![0u32; self.variables.len() + 1];
        let accesses = || self.steps.iter().enumerate().filter(|(_, step)| step.op.is_access());
        for (_, step) in accesses() {
            offsets[step.object as usize + 1] += 1;
        }
        for variable in 1..offsets.len() {
            offsets[variable] += offsets[variable - 1];
        }
        let mut next = offsets.clone();
        let mut sorted = vec![0; offsets.last().map_or(0, |&all| all as usize)];
        for (at, step) in accesses() {
            let place = &mut next[step.object as usize];
            sorted[*place as usize] = at as At;
            *place += 1;
        }
        (self.accesses, self.offsets) = (sorted, offsets);
    }
}
