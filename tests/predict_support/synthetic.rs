//! Runs of a given size, made up: for measurements.
//!
//! Threads work on records: each record has a lock and some variables. A visit reads some variables of a record and writes some, under its lock; one
//! in six visits another record meanwhile, with its lock, in one order of locks. Most reads are of what the thread itself or another one wrote lately,
//! because a thread likes to come back to the record of its last visit. Some variables are written by one thread and read by all, without
//! a lock. Some visits take no lock either. Threads wait for each other now and then: whoever has published something signals, and another one
//! that waits for it goes on. The first thread forks the others and joins them.

use std::collections::VecDeque;

use avmon::event::{Event, Kind, RESUMED, ThreadId};

#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub events: usize,
    pub threads: usize,
    pub variables: usize,
    pub locks: usize,
    /// Accesses of one visit, and function calls.
    pub accesses: usize,
    pub calls: usize,
    /// Of a hundred accesses of a record, how many are of its first variable.
    pub hot: usize,
    /// Of a hundred accesses, how many write.
    pub writes: usize,
    /// Of a hundred visits, how many go to the record of the last one.
    pub stays: usize,
    /// Of a hundred visits, how many go to the few records that everybody visits.
    pub busy: usize,
    /// Of a hundred accesses, how many come with a branch before them.
    pub branches: usize,
    /// Of a hundred steps, how many are followed by one of another thread.
    pub switches: usize,
    /// Of a hundred visits, how many take no lock.
    pub open: usize,
    /// Of a hundred reads, how many come right behind a write of their own thread.
    pub own: usize,
    pub seed: u64,
}

struct Random(u64);

impl Random {
    fn pick(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        ((self.0 >> 33) as usize * below) >> 31
    }

    fn percent(&mut self, chance: usize) -> bool {
        self.pick(100) < chance
    }
}

#[derive(Clone, Copy)]
enum Act {
    Do(Event),
    /// Falls asleep, unless what it waits for was signalled already.
    Sleep {
        record: usize,
    },
}

struct Maker {
    shape: Shape,
    random: Random,
    plans: Vec<VecDeque<Act>>,
    taken: Vec<bool>,
    last: Vec<usize>,
    /// Who sleeps on a record's condition.
    asleep: Vec<Option<usize>>,
    woken: Vec<bool>,
}

/// Records that everybody visits.
const BUSY: usize = 2;

pub fn lock(record: usize) -> u64 {
    0x6000_0000 + 64 * record as u64
}

fn condition(record: usize) -> u64 {
    0x6800_0000 + 64 * record as u64
}

/// The events of a run, in merged order.
pub fn events(shape: Shape) -> Vec<(ThreadId, Event)> {
    let mut maker = Maker {
        shape,
        random: Random(shape.seed),
        plans: vec![VecDeque::new(); shape.threads],
        taken: vec![false; shape.locks],
        last: (0..shape.threads).collect(),
        asleep: vec![None; shape.locks],
        woken: vec![false; shape.threads],
    };
    maker.make()
}

impl Maker {
    fn make(&mut self) -> Vec<(ThreadId, Event)> {
        let mut events = Vec::with_capacity(self.shape.events);
        let threads = self.shape.threads;
        for child in 1..threads {
            events.push((0, Event::new(Kind::Fork, 0, 0, child as u64, 0x40_0000)));
            events.push((child as ThreadId, Event::new(Kind::Start, 0, 0, child as u64, 0)));
        }
        let end = self.shape.events.saturating_sub(2 * threads);
        let mut thread = 0;
        while events.len() < end || self.plans.iter().any(|plan| !plan.is_empty()) {
            if self.random.percent(self.shape.switches) || self.is_blocked(thread) {
                thread = self.random.pick(threads);
            }
            if self.plans[thread].is_empty() {
                if events.len() >= end {
                    self.wake_all();
                    thread = self.random.pick(threads);
                    if self.plans[thread].is_empty() {
                        continue;
                    }
                } else {
                    self.plan(thread);
                }
            }
            if !self.is_blocked(thread) {
                self.step(thread, &mut events);
            }
        }
        for child in 1..threads {
            events.push((child as ThreadId, Event::new(Kind::End, 0, 0, child as u64, 0)));
            events.push((0, Event::new(Kind::Join, 0, 0, child as u64, 0x40_0010)));
        }
        events
    }

    fn record_of(address: u64) -> usize {
        ((address - lock(0)) / 64) as usize
    }

    /// Nobody is left asleep at the end.
    fn wake_all(&mut self) {
        for thread in 0..self.shape.threads {
            if matches!(self.plans[thread].front(), Some(Act::Sleep { .. })) {
                self.woken[thread] = true;
            }
        }
    }

    fn is_blocked(&self, thread: usize) -> bool {
        match self.plans[thread].front() {
            Some(Act::Do(event)) if event.kind() == Some(Kind::Acquire) => self.taken[Self::record_of(event.object)],
            Some(Act::Sleep { record }) => !self.woken[thread] || self.taken[*record],
            _ => false,
        }
    }

    fn step(&mut self, thread: usize, events: &mut Vec<(ThreadId, Event)>) {
        let id = thread as ThreadId;
        match self.plans[thread].pop_front() {
            Some(Act::Do(event)) => {
                match event.kind() {
                    Some(Kind::Acquire) => self.taken[Self::record_of(event.object)] = true,
                    Some(Kind::Release) => self.taken[Self::record_of(event.object)] = false,
                    Some(Kind::Signal) => {
                        let record = ((event.object - condition(0)) / 64) as usize;
                        if let Some(sleeper) = self.asleep[record].take() {
                            self.woken[sleeper] = true;
                        }
                    }
                    _ => {}
                }
                events.push((id, event));
            }
            Some(Act::Sleep { record }) => {
                self.woken[thread] = false;
                self.taken[record] = true;
                if self.asleep[record] == Some(thread) {
                    self.asleep[record] = None;
                }
                events.push((id, Event::new(Kind::Await, 0, 0, condition(record), 0x40_0020)));
                events.push((id, Event::new(Kind::Acquire, RESUMED, 0, lock(record), 0x40_0024)));
            }
            None => {}
        }
    }

    fn put(&mut self, thread: usize, kind: Kind, object: u64, pc: u64) {
        self.plans[thread].push_back(Act::Do(Event::new(kind, 0, 0, object, pc)));
    }

    fn plan(&mut self, thread: usize) {
        let Shape { locks, stays, busy, .. } = self.shape;
        let record = if self.random.percent(stays) {
            self.last[thread]
        } else if self.random.percent(busy) {
            self.random.pick(BUSY.min(locks))
        } else {
            self.random.pick(locks)
        };
        self.last[thread] = record;
        if self.shape.open > 0 && self.random.percent(self.shape.open) {
            self.visit(thread, record);
            return;
        }
        self.put(thread, Kind::Acquire, lock(record), 0x40_1000);
        self.visit(thread, record);
        match self.random.pick(24) {
            0..4 if record + 1 < locks => {
                let other = record + 1 + self.random.pick(locks - record - 1);
                self.put(thread, Kind::Acquire, lock(other), 0x40_1010);
                self.visit(thread, other);
                self.put(thread, Kind::Release, lock(other), 0x40_1014);
            }
            4..8 => self.put(thread, Kind::Signal, condition(record), 0x40_1018),
            // One that sleeps keeps others from it, so there is one at most, and somebody is left to signal.
            8..11 if self.asleep[record].is_none() && self.asleep.iter().flatten().count() + 2 < self.shape.threads => {
                self.asleep[record] = Some(thread);
                self.put(thread, Kind::Release, lock(record), 0x40_1020);
                self.plans[thread].push_back(Act::Sleep { record });
                self.visit(thread, record);
            }
            _ => {}
        }
        self.put(thread, Kind::Release, lock(record), 0x40_1030);
        self.publish(thread);
    }

    fn visit(&mut self, thread: usize, record: usize) {
        let Shape { variables, locks, accesses, writes, hot, calls, .. } = self.shape;
        let all = variables * 7 / 8;
        let of_record = (all / locks).max(1);
        for call in 0..calls {
            self.plans[thread].push_back(Act::Do(Event::enter(2, 0, 0x40_3000, 0x40_3000 + 16 * call as u64)));
            self.plans[thread].push_back(Act::Do(Event::new(Kind::Leave, 0, 2, 0, 0)));
        }
        for _ in 0..accesses {
            let other = if self.random.percent(hot) { 0 } else { self.random.pick(of_record) };
            let variable = (record * of_record + other) % all.max(1);
            let kind = if self.random.percent(writes) { Kind::Write } else { Kind::Read };
            self.access(thread, kind, variable);
        }
    }

    /// What everybody may look at without a lock, and one thread writes.
    fn publish(&mut self, thread: usize) {
        let Shape { variables, threads, .. } = self.shape;
        let first = variables * 7 / 8;
        let number = variables - first;
        let of_thread = (number / threads).max(1);
        let mine = first + (thread * of_thread + self.random.pick(of_thread)) % number;
        if self.random.percent(15) {
            self.access(thread, Kind::Write, mine);
        }
        if self.random.percent(30) {
            let variable = first + self.random.pick(number);
            self.access(thread, Kind::Read, variable);
        }
    }

    fn access(&mut self, thread: usize, kind: Kind, variable: usize) {
        if kind == Kind::Read && self.shape.own > 0 && self.random.percent(self.shape.own) {
            self.access(thread, Kind::Write, variable);
        }
        let address = 0x7000_0000 + 8 * variable as u64;
        let branches = u16::from(self.random.percent(self.shape.branches));
        let pc = 0x40_2000 + 4 * (2 * (variable as u64 % 16) + u64::from(kind == Kind::Write));
        self.plans[thread].push_back(Act::Do(Event::access(kind, 0, 8, branches, address, pc)));
    }
}
