//! A small language for traces: `trace.t(1).begin().acq(M).rel(M).end()`.
//!
//! The code location of each event is the place in the test where it was written.

#![allow(dead_code, reason = "each test crate uses its own part")]

use std::collections::HashMap;
use std::panic::Location;

use avmon::analysis::sidetrack::{Config, SideTrack};
use avmon::analysis::{Analysis, ErrorKind, Violation};
use avmon::event::{Event, Kind, Mode, ThreadId};

/// Marked blocks are the only transactions.
pub const BLOCKS: Config =
    Config { paper: false, strict_waits: false, functions: false, sections: false, rechecks: false };
pub const PAPER: Config = Config { paper: true, ..BLOCKS };
pub const FUNCTIONS: Config = Config { functions: true, ..BLOCKS };
pub const SECTIONS: Config = Config { sections: true, ..BLOCKS };

pub const M: u64 = 0x1000;
pub const N: u64 = 0x2000;
pub const K: u64 = 0x3000;

/// An analysis under test, what it was told and what it found.
pub struct Trace {
    pub analysis: SideTrack,
    pub found: Vec<Violation>,
    levels: HashMap<ThreadId, u64>,
}

impl Trace {
    /// Thread 0 has forked threads 1 to `threads`.
    pub fn new(config: Config, threads: ThreadId) -> Trace {
        let mut trace = Trace { analysis: SideTrack::new(config), found: Vec::new(), levels: HashMap::new() };
        for child in 1..=threads {
            trace.t(0).fork(child);
        }
        trace
    }

    /// What thread `id` does next.
    pub fn t(&mut self, id: ThreadId) -> Thread<'_> {
        Thread { trace: self, id }
    }

    /// The kinds found so far, in order.
    pub fn kinds(&self) -> Vec<ErrorKind> {
        self.found.iter().map(|violation| violation.kind).collect()
    }

    /// The components of a thread's clock.
    pub fn clock(&self, thread: ThreadId) -> Vec<u64> {
        self.analysis.clock_of(thread).expect("a known thread").components().to_vec()
    }

    pub fn event(&mut self, thread: ThreadId, event: Event) {
        self.analysis.step(thread, &event, &mut |violation| self.found.push(violation));
    }
}

/// Events of one thread. The order numbers are left 0: no merger is involved.
pub struct Thread<'a> {
    trace: &'a mut Trace,
    id: ThreadId,
}

/// Where the caller stands in the test's source, as a code location.
#[track_caller]
fn here() -> u64 {
    let place = Location::caller();
    u64::from(place.line()) * 1000 + u64::from(place.column())
}

impl Thread<'_> {
    #[track_caller]
    pub fn tell(self, kind: Kind, mode: Mode, number: u64, object: u64) -> Self {
        self.trace.event(self.id, Event::new(kind, mode as u8, number, object, here()));
        self
    }

    #[track_caller]
    fn plain(self, kind: Kind, object: u64) -> Self {
        self.tell(kind, Mode::Exclusive, 0, object)
    }

    #[track_caller]
    pub fn acq(self, lock: u64) -> Self {
        self.plain(Kind::Acquire, lock)
    }

    #[track_caller]
    pub fn acq_in(self, lock: u64, mode: Mode) -> Self {
        self.tell(Kind::Acquire, mode, 0, lock)
    }

    #[track_caller]
    pub fn rel(self, lock: u64) -> Self {
        self.plain(Kind::Release, lock)
    }

    /// `sync(lock) {}`
    #[track_caller]
    pub fn sync(self, lock: u64) -> Self {
        self.acq(lock).rel(lock)
    }

    #[track_caller]
    pub fn sync_in(self, lock: u64, mode: Mode) -> Self {
        self.acq_in(lock, mode).rel(lock)
    }

    #[track_caller]
    pub fn begin(self) -> Self {
        self.plain(Kind::BlockBegin, 0)
    }

    #[track_caller]
    pub fn end(self) -> Self {
        self.plain(Kind::BlockEnd, 0)
    }

    /// Calls a function, which is known by an address inside it.
    #[track_caller]
    pub fn call(self, function: u64) -> Self {
        let level = self.trace.levels.entry(self.id).or_default();
        *level += 1;
        let kept = *level - 1;
        self.tell(Kind::Enter, Mode::Exclusive, kept, function)
    }

    /// Returns from the innermost function.
    #[track_caller]
    pub fn ret(self) -> Self {
        let level = self.trace.levels.entry(self.id).or_default();
        *level -= 1;
        let kept = *level;
        self.tell(Kind::Leave, Mode::Exclusive, kept, 0)
    }

    #[track_caller]
    pub fn fork(self, child: ThreadId) -> Self {
        self.plain(Kind::Fork, u64::from(child))
    }

    #[track_caller]
    pub fn exit(self) -> Self {
        let id = u64::from(self.id);
        self.plain(Kind::End, id)
    }

    #[track_caller]
    pub fn join(self, child: ThreadId) -> Self {
        self.plain(Kind::Join, u64::from(child))
    }

    #[track_caller]
    pub fn signal(self, object: u64) -> Self {
        self.plain(Kind::Signal, object)
    }

    #[track_caller]
    pub fn wait(self, object: u64) -> Self {
        self.plain(Kind::Await, object)
    }

    #[track_caller]
    pub fn interfere(self) -> Self {
        self.plain(Kind::Interfere, 0)
    }

    #[track_caller]
    pub fn refused(self, object: u64) -> Self {
        self.plain(Kind::Refused, object)
    }

    #[track_caller]
    pub fn init(self, lock: u64) -> Self {
        self.plain(Kind::LockInit, lock)
    }

    #[track_caller]
    pub fn destroy(self, lock: u64) -> Self {
        self.plain(Kind::LockDestroy, lock)
    }

    #[track_caller]
    pub fn lost(self, count: u64) -> Self {
        self.tell(Kind::Lost, Mode::Exclusive, count, 0)
    }
}
