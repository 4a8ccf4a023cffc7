//! How many events per second go through the merger and the analysis on one core. Prints; judges nothing.

use crate::cpu_time::cpu_time;
use std::sync::Arc;
use std::time::Duration;

use crate::common::BLOCKS;
use avmon::analysis::Analysis;
use avmon::analysis::sidetrack::{Config, SideTrack};
use avmon::event::{Event, Kind, STRIPES, ThreadId, stripe_of};
use avmon::order::Merger;

const BATCH: usize = 1024;
const ROUNDS: usize = 5;

/// A batch that costs nothing to hand over, as a chunk of the live monitor.
#[derive(Clone)]
struct Batch(Arc<[Event]>);

impl AsRef<[Event]> for Batch {
    fn as_ref(&self) -> &[Event] {
        &self.0
    }
}

/// Records events of several threads as they happen, one after the other.
#[derive(Default)]
struct Recorder {
    counters: Vec<u64>,
    open: Vec<Vec<Event>>,
    batches: Vec<(ThreadId, Batch)>,
    events: usize,
}

impl Recorder {
    fn new(threads: usize) -> Recorder {
        Recorder { counters: vec![0; STRIPES], open: vec![Vec::new(); threads], ..Recorder::default() }
    }

    fn numbered(&mut self, thread: usize, kind: Kind, object: u64, pc: u64) {
        let counter = &mut self.counters[stripe_of(object)];
        let event = Event::new(kind, 0, *counter, object, pc);
        *counter += 1;
        self.push(thread, event);
    }

    fn push(&mut self, thread: usize, event: Event) {
        self.events += 1;
        self.open[thread].push(event);
        if self.open[thread].len() == BATCH {
            self.flush(thread);
        }
    }

    fn flush(&mut self, thread: usize) {
        let events = std::mem::take(&mut self.open[thread]);
        self.batches.push((thread as ThreadId, Batch(events.into())));
    }

    fn pair(&mut self, thread: usize, lock: u64) {
        self.numbered(thread, Kind::Acquire, lock, 0x40_1000 + lock);
        self.numbered(thread, Kind::Release, lock, 0x40_2000 + lock);
    }

    fn measure(mut self, name: &str, config: Config) {
        for thread in 0..self.open.len() {
            self.flush(thread);
        }
        let mut best = Duration::MAX;
        let mut findings = 0;
        for _ in 0..ROUNDS {
            let mut merger = Merger::new();
            let mut analysis = SideTrack::new(config);
            findings = 0;
            let start = cpu_time();
            for (thread, batch) in &self.batches {
                merger.push(*thread, batch.clone());
                merger.drain(&mut |thread, event| analysis.step(thread, event, &mut |_| findings += 1));
            }
            best = best.min(cpu_time().saturating_sub(start));
            assert_eq!(merger.pending(), 0);
        }
        let tenths = self.events as u128 * 10_000 / best.as_nanos();
        println!("{name:<60} {:4}.{} M events/s  {findings} findings", tenths / 10, tenths % 10);
    }
}

fn lock(i: usize) -> u64 {
    0x5555_0000_0000 + 40 * i as u64
}

#[test]
#[ignore = "a measurement"]
fn throughput() {
    let sections = Config { sections: true, ..BLOCKS };
    let functions = Config { functions: true, ..sections };

    let mut one = Recorder::new(1);
    for _ in 0..2_000_000 {
        one.pair(0, lock(0));
    }
    one.measure("one thread, one lock", sections);

    let mut many = Recorder::new(1);
    for i in 0..2_000_000 {
        many.pair(0, lock(i % 1000));
    }
    many.measure("one thread, 1,000 locks", sections);

    for (name, turn) in [("long turns", 500), ("short turns", 10), ("one pair per turn", 1)] {
        for (kind, config) in [("", sections), (", one function each", functions)] {
            let mut four = Recorder::new(4);
            for child in 1..4 {
                four.numbered(0, Kind::Fork, child, 0);
            }
            if config.functions {
                for thread in 0..4 {
                    four.push(thread, Event::new(Kind::Enter, 0, 0, 0x40_0000, 0x40_0100));
                }
            }
            for i in 0..500_000 / turn {
                for thread in 0..4 {
                    for j in 0..turn {
                        four.pair(thread, lock((i * 7 + j * 13 + thread * 31) % 100));
                    }
                }
            }
            four.measure(&format!("4 threads, 100 locks, {name}{kind}"), config);
        }
    }

    let mut calls = Recorder::new(1);
    for _ in 0..1_000_000 {
        calls.push(0, Event::new(Kind::Enter, 0, 1, 0x40_0000, 0x40_0100));
        calls.pair(0, lock(0));
    }
    calls.measure("one thread, one lock, a function per pair", functions);

    let mut windows = Recorder::new(1);
    for _ in 0..1_000_000 {
        windows.push(0, Event::new(Kind::Enter, 0, 1, 0x40_0000, 0x40_0100));
        windows.pair(0, lock(0));
        windows.pair(0, lock(0));
    }
    windows.measure("one thread, one lock, a window per function", functions);

    let mut nested = Recorder::new(1);
    for _ in 0..1_000_000 {
        nested.numbered(0, Kind::Acquire, lock(1), 0x40_1000);
        nested.pair(0, lock(0));
        nested.numbered(0, Kind::Release, lock(1), 0x40_2000);
    }
    nested.measure("one thread, nested locks", sections);

    let mut crowd = Recorder::new(64);
    for child in 1..64 {
        crowd.numbered(0, Kind::Fork, child, 0);
    }
    for i in 0..30_000 {
        for thread in 0..64 {
            crowd.pair(thread, lock(i % 4));
        }
    }
    crowd.measure("64 threads in turn on 4 locks", sections);
}
