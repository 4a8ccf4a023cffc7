//! The merger against simulated programs: whatever the timing of the batches, the output is a legal and complete order.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use avmon::event::{Event, Kind, Mode, STRIPES, ThreadId, stripe_of};
use avmon::order::Merger;
use proptest::prelude::*;

/// A batch that counts how many of its kind are alive.
struct Batch {
    events: Vec<Event>,
    alive: Rc<Cell<usize>>,
}

impl Batch {
    fn new(events: &[Event], alive: &Rc<Cell<usize>>) -> Batch {
        alive.set(alive.get() + 1);
        Batch { events: events.to_vec(), alive: alive.clone() }
    }
}

impl AsRef<[Event]> for Batch {
    fn as_ref(&self) -> &[Event] {
        &self.events
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.alive.set(self.alive.get() - 1);
    }
}

const MAX_THREADS: usize = 6;
const LOCKS: [u64; 4] = [0x5000, 0x5028, 0x7f00_1000, 0x7f00_2000];

/// What a simulated thread is in the middle of: the hooks number an event near the real operation, not with it.
#[derive(Clone, Copy, PartialEq)]
enum Doing {
    Nothing,
    /// Has the lock, has not numbered the acquire.
    Acquired(usize),
    /// Has numbered the release, still has the lock.
    Releasing(usize),
}

struct Simulated {
    doing: Doing,
    held: Vec<usize>,
    started: bool,
    ended: bool,
    joined: bool,
    stream: Vec<Event>,
}

impl Simulated {
    fn new() -> Simulated {
        Simulated {
            doing: Doing::Nothing,
            held: Vec::new(),
            started: false,
            ended: false,
            joined: false,
            stream: Vec::new(),
        }
    }
}

/// Splitmix: a fair random choice at every step, so that no thread is left out for ever.
struct Random(u64);

impl Random {
    fn pick(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        ((mixed ^ mixed >> 27) >> 32) as usize % below
    }
}

/// A process in which one thread at a time takes one small step, chosen at random.
struct Process {
    random: Random,
    threads: Vec<Simulated>,
    owner: [Option<usize>; LOCKS.len()],
    counters: Vec<u64>,
}

impl Process {
    fn pick(&mut self, below: usize) -> usize {
        self.random.pick(below)
    }

    fn record(&mut self, thread: usize, kind: Kind, object: u64) {
        let counter = &mut self.counters[stripe_of(object)];
        let number = if kind.is_ordered() { *counter } else { 0 };
        *counter += u64::from(kind.is_ordered());
        self.threads[thread].stream.push(Event::new(kind, Mode::Exclusive as u8, number, object, 0));
    }

    fn step(&mut self) {
        let t = self.pick(self.threads.len());
        if self.threads[t].ended {
            return;
        }
        if !self.threads[t].started {
            self.threads[t].started = true;
            return self.record(t, Kind::Start, t as u64);
        }
        match self.threads[t].doing {
            Doing::Acquired(lock) => {
                self.threads[t].doing = Doing::Nothing;
                self.record(t, Kind::Acquire, LOCKS[lock]);
            }
            Doing::Releasing(lock) => {
                self.threads[t].doing = Doing::Nothing;
                self.owner[lock] = None;
            }
            Doing::Nothing => self.act(t),
        }
    }

    fn act(&mut self, t: usize) {
        let lock = self.pick(LOCKS.len());
        match self.pick(12) {
            0..=4 if self.owner[lock].is_none() => {
                self.owner[lock] = Some(t);
                self.threads[t].held.push(lock);
                self.threads[t].doing = Doing::Acquired(lock);
            }
            5..=8 => {
                if let Some(lock) = self.threads[t].held.pop() {
                    self.threads[t].doing = Doing::Releasing(lock);
                    self.record(t, Kind::Release, LOCKS[lock]);
                }
            }
            9 if self.threads.len() < MAX_THREADS => {
                let child = self.threads.len();
                self.record(t, Kind::Fork, child as u64);
                self.threads.push(Simulated::new());
            }
            10 if t != 0 && self.threads[t].held.is_empty() => {
                self.record(t, Kind::End, t as u64);
                self.threads[t].ended = true;
            }
            11 => {
                if let Some(child) = self.threads.iter().position(|child| child.ended && !child.joined) {
                    self.threads[child].joined = true;
                    self.record(t, Kind::Join, child as u64);
                }
            }
            _ => self.record(t, Kind::Enter, 0x40_0000),
        }
    }
}

fn simulate(seed: u64, steps: usize) -> Vec<Vec<Event>> {
    let mut process = Process {
        random: Random(seed),
        threads: vec![Simulated::new()],
        owner: [None; LOCKS.len()],
        counters: vec![0; STRIPES],
    };
    for _ in 0..steps {
        process.step();
    }
    process.threads.into_iter().map(|thread| thread.stream).collect()
}

fn assert_legal(streams: &[Vec<Event>], output: &[(ThreadId, Event)]) {
    for (t, stream) in streams.iter().enumerate() {
        let out: Vec<Event> = output.iter().filter(|(thread, _)| *thread as usize == t).map(|&(_, e)| e).collect();
        assert_eq!(&out, stream, "thread {t} does not come out complete and in program order");
    }
    let mut next = vec![0; STRIPES];
    let mut owner = HashMap::new();
    let mut seen = HashSet::new();
    for &(thread, event) in output {
        let kind = event.kind().unwrap();
        if kind.is_ordered() {
            assert_eq!(event.number(), next[stripe_of(event.object)], "{event:?} leaves its stripe's order");
            next[stripe_of(event.object)] += 1;
        }
        match kind {
            Kind::Acquire => assert_eq!(owner.insert(event.object, thread), None, "{event:?} while the lock is held"),
            Kind::Release => assert_eq!(owner.remove(&event.object), Some(thread), "{event:?} by a stranger"),
            Kind::Start if thread != 0 => {
                assert!(seen.contains(&(Kind::Fork, event.object)), "{event:?} before its fork");
            }
            Kind::Join => assert!(seen.contains(&(Kind::End, event.object)), "{event:?} before the end"),
            _ => {}
        }
        seen.insert((kind, event.object));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_batch_timing_gives_a_legal_complete_order(
        seed in any::<u64>(),
        timing in any::<u64>(),
        steps in 1..600_usize,
    ) {
        let streams = simulate(seed, steps);
        let mut timing = Random(timing);
        let mut sent = vec![0; streams.len()];
        let mut merger = Merger::new();
        let mut output = Vec::new();
        let alive = Rc::new(Cell::new(0));
        while sent.iter().zip(&streams).any(|(&sent, stream)| sent < stream.len()) {
            let thread = timing.pick(streams.len());
            let rest = &streams[thread][sent[thread]..];
            let len = timing.pick(40).min(rest.len());
            merger.push(thread as ThreadId, Batch::new(&rest[..len], &alive));
            sent[thread] += len;
            if timing.pick(3) == 0 {
                merger.drain(&mut |thread, event| output.push((thread, *event)));
                prop_assert_eq!(merger.pending() + output.len(), sent.iter().sum::<usize>());
            }
        }
        merger.drain(&mut |thread, event| output.push((thread, *event)));
        prop_assert_eq!(merger.pending(), 0);
        prop_assert_eq!(alive.get(), 0, "consumed batches must be dropped at once");
        let ended = streams.iter().filter(|s| s.last().is_some_and(|e| e.kind() == Some(Kind::End))).count();
        let silent = streams.iter().filter(|s| s.is_empty()).count();
        prop_assert_eq!(merger.threads(), streams.len() - ended - silent, "queues of ended threads must go");
        assert_legal(&streams, &output);
    }

    #[test]
    fn lost_numbers_hold_nothing_back_for_ever(
        seed in any::<u64>(),
        lost in any::<u64>(),
    ) {
        let mut dropped = Random(lost);
        let streams: Vec<Vec<Event>> =
            simulate(seed, 300).into_iter().map(|s| s.into_iter().filter(|_| dropped.pick(3) > 0).collect()).collect();
        let mut merger = Merger::new();
        for (thread, stream) in streams.iter().enumerate() {
            merger.push(thread as ThreadId, stream.clone());
        }
        let mut count = 0;
        loop {
            merger.drain(&mut |_, _| count += 1);
            if !merger.skip_gap() {
                break;
            }
        }
        prop_assert_eq!(merger.pending(), 0);
        prop_assert_eq!(count, streams.iter().map(Vec::len).sum::<usize>());
    }
}

fn acquire(object: u64, number: u64) -> Event {
    Event::new(Kind::Acquire, 0, number, object, 0)
}

#[test]
fn a_gap_is_skipped_where_the_fewest_numbers_are_missing() {
    let mut merger = Merger::new();
    merger.push(1, vec![acquire(LOCKS[0], 9)]);
    merger.push(2, vec![acquire(LOCKS[2], 3)]);
    let mut output = Vec::new();
    merger.drain(&mut |thread, _| output.push(thread));
    assert_eq!((output.len(), merger.pending()), (0, 2));
    assert!(merger.skip_gap());
    merger.drain(&mut |thread, _| output.push(thread));
    assert_eq!(output, [2]);
    assert!(merger.skip_gap());
    merger.drain(&mut |thread, _| output.push(thread));
    assert_eq!(output, [2, 1]);
    assert!(!merger.skip_gap());
}

#[test]
fn what_arrives_after_its_gap_was_skipped_goes_out_at_once() {
    let mut merger = Merger::new();
    merger.push(1, vec![acquire(LOCKS[0], 1)]);
    let mut output = Vec::new();
    merger.drain(&mut |_, event| output.push(event.number()));
    assert!(merger.skip_gap());
    merger.drain(&mut |_, event| output.push(event.number()));
    merger.push(2, vec![acquire(LOCKS[0], 0), acquire(LOCKS[0], 2)]);
    merger.drain(&mut |_, event| output.push(event.number()));
    assert_eq!(output, [1, 0, 2]);
    assert_eq!(merger.pending(), 0);
}
