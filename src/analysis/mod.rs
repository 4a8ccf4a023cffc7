//! The analyses: pure state machines over the merged event stream.
//!
//! No I/O, no threads, no symbols: the same code runs live, over a trace, and over a scenario.

pub mod clock;
pub mod cuts;
pub mod lives;
pub mod serial;
pub mod sharing;
pub mod sidetrack;
pub mod stack;
pub mod values;

use crate::event::{Event, Mode, ThreadId};

/// An analysis eats the merged stream, one event at a time, and hands over what it finds.
pub trait Analysis {
    /// Takes the next event of the merged order.
    fn step(&mut self, thread: ThreadId, event: &Event, found: &mut dyn FnMut(Violation));
}

/// Where the culprit acquire stood, in the observed run, relative to the window that it can split.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum ErrorKind {
    /// Before the window. Real only if the block takes the same path when it runs first.
    Before,
    /// Inside the window: this run was not serialisable.
    In,
    /// After the window, and nothing kept it from running inside.
    After,
}

/// One open transaction on a thread's stack.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Transaction {
    /// A function invocation: an address inside the function, and the return address in its caller.
    Function { inside: u64, call: u64 },
    /// A block marked in the source: the address of its label (0: none), and where it begins.
    Block { label: u64, pc: u64 },
    /// The outermost critical section: its lock and where that was acquired. It is listed only where it matters: in the
    /// culprit's stack, and in the stacks of a window of which it contains both acquires.
    Section { lock: u64, pc: u64 },
}

impl Transaction {
    /// The code location in the *enclosing* transaction at which this one was opened.
    #[must_use]
    pub const fn opened_at(&self) -> u64 {
        match *self {
            Transaction::Function { call, .. } => call,
            Transaction::Block { pc, .. } | Transaction::Section { pc, .. } => pc,
        }
    }
}

/// One acquire that a violation speaks of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AcquireSite {
    pub thread: ThreadId,
    /// Return address of the acquiring call.
    pub pc: u64,
    pub mode: Mode,
    /// Open transactions at that moment, outermost first.
    pub stack: Vec<Transaction>,
    /// The other locks that the thread held, in the order in which it took them.
    pub held: Vec<u64>,
}

/// A block that another thread can split: two acquires of one lock in one transaction, and a third between them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Identifies repeats.
    pub key: u64,
    pub kind: ErrorKind,
    /// Address of the lock, and how many locks lived at that address before it.
    pub lock: u64,
    pub generation: u32,
    /// Where the lock was initialised (0: unknown or static).
    pub lock_init: u64,
    /// How many transactions of `first.stack` and `second.stack` are common: all of them are split, the last is blamed.
    pub common: usize,
    pub first: AcquireSite,
    pub second: AcquireSite,
    pub culprit: AcquireSite,
    /// How many transactions of `culprit.stack` are the culprit's own. Those above only take the lock for it.
    pub culprit_frames: usize,
}

impl Violation {
    /// The innermost transaction that contains both acquires.
    #[must_use]
    pub fn block(&self) -> Option<&Transaction> {
        self.common.checked_sub(1).and_then(|i| self.first.stack.get(i))
    }

    /// Where in the blamed block each of its two acquires happens: the call made there that led to the acquire.
    #[must_use]
    pub fn locations(&self) -> (u64, u64) {
        let in_block = |site: &AcquireSite| site.stack.get(self.common).map_or(site.pc, Transaction::opened_at);
        (in_block(&self.first), in_block(&self.second))
    }

    /// Where the culprit's own code acquires: the call made there, if it takes the lock through another function.
    #[must_use]
    pub fn culprit_location(&self) -> u64 {
        self.culprit.stack.get(self.culprit_frames).map_or(self.culprit.pc, Transaction::opened_at)
    }
}
