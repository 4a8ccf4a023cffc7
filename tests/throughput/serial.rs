//! How many events per second the serial check takes on one core, and how much memory it needs. Prints; judges only that the runs are
//! serialisable.
//!
//! The runs are random, with another thread at almost every event. Half of what happens outside of critical sections and all that happens inside is
//! in blocks. Variables belong to a lock, to a thread, or are only read. Every block goes on after it has given back a lock, so that others depend on it while it is open;
//! one in four goes hand over hand from one lock to the next, so that it learns of others meanwhile. No run has a cycle: whoever holds the first lock
//! of two transactions first also holds all later ones first.

use crate::cpu_time::cpu_time;
use avmon::analysis::serial::{Config, Serial};
use avmon::event::{Event, Kind, ThreadId};
use std::collections::VecDeque;
use std::time::Duration;

/// Events that are made before the time is taken for them.
const BATCH: usize = 1 << 16;

/// The best of so many: noise only ever adds.
const ROUNDS: usize = 3;

const MILLION: u64 = 1_000_000;

#[derive(Clone, Copy)]
struct Shape {
    events: u64,
    threads: usize,
    locks: usize,
    variables: usize,
}

struct Random(u64);

impl Random {
    fn pick(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        ((self.0 >> 33) as usize * below) >> 31
    }
}

/// Makes a run event by event.
struct Run {
    shape: Shape,
    random: Random,
    /// What each thread does next.
    plans: Vec<VecDeque<Event>>,
    taken: Vec<bool>,
}

impl Run {
    fn new(shape: Shape) -> Run {
        let mut plans = vec![VecDeque::new(); shape.threads];
        plans[0].extend((1..shape.threads).map(|child| Event::new(Kind::Fork, 0, 0, child as u64, 0x40_0000)));
        Run { shape, random: Random(1), plans, taken: vec![false; shape.locks] }
    }

    fn fill(&mut self, events: &mut Vec<(ThreadId, Event)>, number: usize) {
        while events.len() < number {
            // The first thread has to create the others first.
            let created = self.plans[0].front().is_none_or(|event| event.kind() != Some(Kind::Fork));
            let thread = if created { self.random.pick(self.shape.threads) } else { 0 };
            if self.plans[thread].is_empty() {
                self.plan(thread);
            }
            let Some(&event) = self.plans[thread].front() else { continue };
            let lock = (event.object.wrapping_sub(lock_address(0)) / 64) as usize;
            match event.kind() {
                Some(Kind::Acquire) if self.taken[lock] => continue,
                Some(Kind::Acquire) => self.taken[lock] = true,
                Some(Kind::Release) => self.taken[lock] = false,
                _ => {}
            }
            self.plans[thread].pop_front();
            events.push((thread as ThreadId, event));
        }
    }

    fn plan(&mut self, thread: usize) {
        let lock = self.random.pick(self.shape.locks);
        let kind = self.random.pick(8);
        let in_block = kind > 0;
        if in_block {
            self.put(thread, Kind::BlockBegin, 0);
        }
        if kind == 1 {
            self.put(thread, Kind::BlockBegin, 0);
        }
        self.put(thread, Kind::Acquire, lock_address(lock));
        self.use_lock(thread, lock);
        if in_block && kind < 3 && lock + 1 < self.shape.locks {
            self.put(thread, Kind::Acquire, lock_address(lock + 1));
            self.put(thread, Kind::Release, lock_address(lock));
            self.use_lock(thread, lock + 1);
            self.put(thread, Kind::Release, lock_address(lock + 1));
        } else {
            self.put(thread, Kind::Release, lock_address(lock));
        }
        if kind == 1 {
            self.put(thread, Kind::BlockEnd, 0);
        }
        if in_block {
            self.use_others(thread);
            self.put(thread, Kind::BlockEnd, 0);
        }
        self.use_others(thread);
    }

    /// Accesses to variables of a lock.
    fn use_lock(&mut self, thread: usize, lock: usize) {
        let of_lock = self.shape.variables / 2 / self.shape.locks;
        for _ in 0..3 {
            let variable = lock * of_lock + self.random.pick(of_lock);
            let kind = if self.random.pick(3) == 0 { Kind::Write } else { Kind::Read };
            self.access(thread, kind, variable);
        }
    }

    /// Accesses to variables of the thread, and to those that are only read.
    fn use_others(&mut self, thread: usize) {
        let quarter = self.shape.variables / 4;
        let own = quarter / self.shape.threads;
        for _ in 0..2 {
            let variable = 2 * quarter + thread * own + self.random.pick(own);
            self.access(thread, Kind::Write, variable);
            let variable = 3 * quarter + self.random.pick(quarter);
            self.access(thread, Kind::Read, variable);
        }
    }

    fn access(&mut self, thread: usize, kind: Kind, variable: usize) {
        let address = 0x7000_0000 + 8 * variable as u64;
        self.plans[thread].push_back(Event::access(kind, 0, 8, 0, address, 0x40_1000));
    }

    fn put(&mut self, thread: usize, kind: Kind, object: u64) {
        self.plans[thread].push_back(Event::new(kind, 0, 0, object, 0x40_1000));
    }
}

fn lock_address(lock: usize) -> u64 {
    0x6000_0000 + 64 * lock as u64
}

/// Memory of this process, in KiB: a line of its status.
fn memory(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = status.lines().find_map(|text| text.strip_prefix(line));
    value.and_then(|value| value.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The largest resident memory is counted anew from here on. What is resident now.
fn forget_peak() -> u64 {
    // SAFETY: gives back memory that nobody uses, as it may at any time.
    unsafe { libc::malloc_trim(0) };
    // If the kernel does not let us, the peak is that of an earlier row, and the figure too large.
    drop(std::fs::write("/proc/self/clear_refs", "5"));
    memory("VmRSS:")
}

/// Seconds for the run, and how much memory grew in KiB.
fn measure_once(shape: Shape) -> (Duration, u64) {
    let mut events = Vec::with_capacity(BATCH);
    let mut time = Duration::ZERO;
    let mut done = 0;
    let mut run = Run::new(shape);
    run.fill(&mut events, BATCH);
    let before = forget_peak();
    let mut serial = Serial::new(Config::default());
    while done < shape.events {
        let start = cpu_time();
        for (thread, event) in &events {
            serial.step(*thread, event, &mut |split| panic!("{split:?}"));
        }
        time += cpu_time().saturating_sub(start);
        done += events.len() as u64;
        events.clear();
        run.fill(&mut events, BATCH.min((shape.events - done) as usize));
    }
    (time, memory("VmHWM:").saturating_sub(before))
}

#[expect(clippy::cast_precision_loss, reason = "nobody sees so many digits")]
fn measure(shape: Shape) {
    let rounds: Vec<(Duration, u64)> = (0..ROUNDS).map(|_| measure_once(shape)).collect();
    let time = rounds.iter().map(|round| round.0).min().unwrap_or_default();
    let memory = rounds.iter().map(|round| round.1).max().unwrap_or_default();
    let Shape { events, threads, locks, variables } = shape;
    println!(
        "{:>2} M events, {threads:>3} threads, {locks:>4} locks, {variables:>6} variables: {:5.1} M events/s {:6.2} s {:7.1} MiB",
        events / MILLION,
        events as f64 / 1e6 / time.as_secs_f64(),
        time.as_secs_f64(),
        memory as f64 / 1024.0
    );
}

#[test]
#[ignore = "a measurement"]
fn throughput() {
    let narrow = Shape { events: 10 * MILLION, threads: 16, locks: 64, variables: 4096 };
    measure(Shape { events: 5 * MILLION, threads: 8, ..narrow });
    for (threads, millions) in [(2, 10), (16, 10), (16, 20), (16, 40), (128, 10)] {
        measure(Shape { events: millions * MILLION, threads, ..narrow });
    }
    // So many variables, at random, that each access waits for memory.
    for threads in [2, 16, 128] {
        measure(Shape { threads, locks: 1000, variables: 100_000, ..narrow });
    }
}
