//! A run as the events that a recording of it would have: what the analyses take.
//!
//! Thread 0 is a `main` of which the scenario does not speak: it creates the threads that nobody forks, and joins those that nobody
//! joins. Every event carries the [`Place`] of its step as code location. Every access tells the decisions since the thread's access
//! before it, and every atomic one its values, as the recorder does.

use super::machine::{Effect, Machine, Taken};
use super::program::{Operation, Place, Update};
use super::run::Run;
use super::tree::{ObjectId, ThreadIndex};
use crate::event::{Event, Kind, Mode, RESUMED, STRIPES, ThreadId, atomic};

/// Memory of eight bytes, atomic operations in the strongest order.
const SIZE: u32 = 8;
const SEQ_CST: u8 = atomic::detail(5, SIZE.trailing_zeros() as u8);

/// The code location of a place.
#[must_use]
pub const fn pc_of(place: Place) -> u64 {
    (place.thread as u64 + 1) << 32 | (place.index as u64 + 1) << 4
}

/// The place of a code location; of `main` there is none.
#[must_use]
pub const fn place_of(pc: u64) -> Option<Place> {
    let (thread, index) = ((pc >> 32) as u32, (pc as u32) >> 4);
    if thread == 0 || index == 0 { None } else { Some(Place { thread: thread - 1, index: index - 1 }) }
}

/// The address of an object.
#[must_use]
pub const fn address_of(object: ObjectId) -> u64 {
    0x1000 + 64 * object as u64
}

/// The thread's id in the events.
#[must_use]
pub const fn id_of(thread: ThreadIndex) -> ThreadId {
    thread as ThreadId + 1
}

const MAIN: ThreadId = 0;

struct Recorder {
    events: Vec<(ThreadId, Event)>,
    numbers: Vec<u64>,
    /// For each thread, the decisions since its last access.
    branches: Vec<u32>,
    thread: ThreadId,
    pc: u64,
}

impl Recorder {
    fn add(&mut self, kind: Kind, detail: u8, object: u64) {
        let mut number = 0;
        if kind.is_ordered() {
            let next = &mut self.numbers[Event::stripe(kind, object)];
            number = *next;
            *next += 1;
        }
        self.events.push((self.thread, Event::new(kind, detail, number, object, self.pc)));
    }

    fn take_branches(&mut self) -> u32 {
        std::mem::take(&mut self.branches[self.thread as usize])
    }

    fn tell_branches(&mut self) {
        let branches = self.take_branches();
        if branches > 0 {
            self.events.push((self.thread, Event::new(Kind::Branches, 0, branches.into(), 0, 0)));
        }
    }

    fn access(&mut self, kind: Kind, variable: ObjectId) {
        let branches = u16::try_from(self.take_branches()).unwrap_or(u16::MAX);
        self.events.push((self.thread, Event::access(kind, 0, SIZE, branches, address_of(variable), self.pc)));
    }

    fn atomic(&mut self, kind: Kind, compared: bool, variable: ObjectId, [before, after]: [i64; 2]) {
        self.tell_branches();
        let mark = if compared { atomic::COMPARED } else { 0 };
        self.add(kind, SEQ_CST | mark, address_of(variable));
        let old = if kind == Kind::AtomicUpdate { before as u64 } else { 0 };
        self.events.push((self.thread, Event::new(Kind::Value, 0, 0, after as u64, old)));
    }

    fn fork(&mut self, child: ThreadIndex) {
        let child = id_of(child);
        self.add(Kind::Fork, 0, child.into());
        let parent = (std::mem::replace(&mut self.thread, child), std::mem::replace(&mut self.pc, 0));
        self.add(Kind::Start, 0, child.into());
        (self.thread, self.pc) = parent;
    }

    fn join(&mut self, child: ThreadIndex) {
        self.add(Kind::Interfere, 0, 0);
        self.add(Kind::Join, 0, id_of(child).into());
    }
}

impl Machine<'_> {
    /// The events of a run, in its order.
    #[must_use]
    pub fn events(&self, run: &Run) -> Vec<(ThreadId, Event)> {
        let mut recorder = Recorder {
            events: Vec::new(),
            numbers: vec![0; STRIPES],
            branches: vec![0; self.program.threads.len() + 1],
            thread: MAIN,
            pc: 0,
        };
        let threads = 0..self.program.threads.len();
        for thread in threads.clone().filter(|&thread| self.program.parents[thread].is_none()) {
            recorder.fork(thread);
        }
        for taken in &run.log {
            self.record(taken, &mut recorder);
        }
        (recorder.thread, recorder.pc) = (MAIN, 0);
        let finished = |&thread: &usize| {
            run.log.iter().any(|taken| taken.effect == Effect::Finished && taken.place.thread as usize == thread)
        };
        for thread in threads.filter(|&thread| !self.program.is_joined[thread]).filter(finished) {
            recorder.join(thread);
        }
        recorder.events
    }

    fn compares(&self, taken: &Taken) -> bool {
        matches!(self.program.at(taken.place).operation, Operation::Update { update: Update::Exchange(..), .. })
    }

    fn record(&self, taken: &Taken, to: &mut Recorder) {
        to.thread = id_of(taken.place.thread as usize);
        to.pc = pc_of(taken.place);
        let mode = |shared| if shared { Mode::Shared as u8 } else { Mode::Exclusive as u8 };
        let is_plain = |variable| self.program.is_plain(variable);
        match taken.effect {
            Effect::Acquired { lock, shared, .. } => to.add(Kind::Acquire, mode(shared), address_of(lock)),
            Effect::Released { lock, shared, .. } => to.add(Kind::Release, mode(shared), address_of(lock)),
            Effect::Refused(object) => to.add(Kind::Refused, 0, address_of(object)),
            Effect::Read(variable) if is_plain(variable) => to.access(Kind::Read, variable),
            Effect::Wrote(variable) if is_plain(variable) => to.access(Kind::Write, variable),
            Effect::Read(variable) => to.atomic(Kind::AtomicLoad, self.compares(taken), variable, taken.values),
            Effect::Wrote(variable) => to.atomic(Kind::AtomicStore, false, variable, taken.values),
            Effect::Updated(variable) => to.atomic(Kind::AtomicUpdate, self.compares(taken), variable, taken.values),
            Effect::Branched(times) => to.branches[to.thread as usize] += times,
            Effect::Forked(child) => to.fork(child),
            Effect::Joined(child) => to.join(child),
            Effect::Slept { lock, .. } => to.add(Kind::Release, mode(false), address_of(lock)),
            Effect::Resumed { condition, lock } => {
                to.add(Kind::Interfere, 0, 0);
                to.add(Kind::Await, 0, address_of(condition));
                to.add(Kind::Acquire, RESUMED, address_of(lock));
            }
            Effect::Signalled(object) | Effect::Arrived(object) | Effect::Posted(object) => {
                to.add(Kind::Signal, 0, address_of(object));
            }
            Effect::Passed(barrier) => {
                to.add(Kind::Interfere, 0, 0);
                to.add(Kind::Await, 0, address_of(barrier));
            }
            Effect::TookUnit(semaphore) => to.add(Kind::Await, 0, address_of(semaphore)),
            Effect::Began => to.add(Kind::BlockBegin, 0, 0),
            Effect::Ended => to.add(Kind::BlockEnd, 0, 0),
            Effect::Finished => {
                to.tell_branches();
                to.add(Kind::End, 0, to.thread.into());
            }
            Effect::AssertionFailed | Effect::Stopped(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse;
    use crate::scenario::program::Program;

    #[test]
    fn accesses_tell_the_decisions_before_them_and_atomics_their_values() {
        let text = "\
var x
atomic a = 5
lock m
t1: r = cas a 5 7
    if r {
        wr x 1
    }
    while r < 3 max 9 {
        r = r + 1
    }
    acq m
    rel m
    f = cas a 5 8
    assert f == 0
    store a -1
    if f {
        wr x 2
    }
    if f {
        wr x 3
    }
    rd x
    o = add a 2
";
        let scenario = parse(text).unwrap_or_else(|errors| panic!("{}", errors.render("text", text)));
        let program = Program::new(&scenario);
        let machine = Machine::new(&program);
        let events = machine.events(&machine.run_as_written());
        let told: Vec<_> = events
            .iter()
            .filter(|(thread, _)| *thread == id_of(0))
            .map(|(_, event)| match event.kind().unwrap() {
                kind @ (Kind::Read | Kind::Write) => (kind, u64::from(event.branches()), 0),
                kind @ Kind::Branches => (kind, event.number(), 0),
                kind @ Kind::Value => (kind, event.object, event.pc),
                kind => (kind, u64::from(event.is_comparison()), 0),
            })
            .collect();
        assert_eq!(
            told,
            [
                (Kind::Start, 0, 0),
                (Kind::AtomicUpdate, 1, 0),
                (Kind::Value, 7, 5),
                (Kind::Write, 1, 0),
                // The loop was looked at three times. The lock says nothing about it.
                (Kind::Acquire, 0, 0),
                (Kind::Release, 0, 0),
                (Kind::Branches, 3, 0),
                (Kind::AtomicLoad, 1, 0),
                (Kind::Value, 7, 0),
                (Kind::AtomicStore, 0, 0),
                (Kind::Value, u64::MAX, 0),
                (Kind::Read, 2, 0),
                (Kind::AtomicUpdate, 0, 0),
                (Kind::Value, 1, u64::MAX),
                (Kind::End, 0, 0),
            ]
        );
    }
}
