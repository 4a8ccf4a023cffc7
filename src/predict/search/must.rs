//! What must come before what in every order that reaches a goal, as far as one thing follows from another.
//!
//! Each thread does its steps in its order, nobody goes on before what it waited for, and the goal says more. Of a read that has to see a certain write, every other
//! write of the variable comes before that write or after the read. Of two sections of one lock, one is over before the other begins. Where one of the two
//! is already ruled out, the other one follows, and so on. If something had to come before itself there is no such order; else a search need
//! not try what contradicts this.

use rustc_hash::FxHashMap;

use super::super::history::{At, History, Op};
use super::Goal;
use super::limits::{needs, place};

/// Entries of all clocks together: beyond that nothing is concluded.
const MOST_ENTRIES: usize = 1 << 20;
/// Times that all is gone through again.
const MOST_ROUNDS: usize = 32;

/// A step by its lane and its place there.
type Spot = (usize, usize);

/// For each step that has to happen, how many steps of each thread must have happened before.
pub struct Must {
    begin: Vec<usize>,
    need: Vec<usize>,
    /// Where the steps of each lane begin among all.
    bases: Vec<usize>,
    clocks: Vec<u32>,
}

/// A critical section.
#[derive(Clone, Copy)]
struct Section {
    /// Nothing if it began before all others.
    acquire: Option<usize>,
    /// Nothing if it is not known to end.
    release: Option<usize>,
    is_shared: bool,
}

struct Builder<'a> {
    history: &'a History,
    must: Must,
    /// What comes before a step, of other threads.
    before: Vec<Vec<Spot>>,
    pinned: Vec<(Spot, Option<Spot>)>,
    /// Of each variable and lane, in order.
    writes: FxHashMap<u32, Vec<Vec<usize>>>,
    sections: FxHashMap<u32, Vec<Vec<Section>>>,
    is_changed: bool,
}

impl Must {
    /// Of the steps from `begin` up to `need` of each lane; `pinned` are reads that have to see what they saw. With `is_fixed`, all steps before happen before, as in
    /// the run. None if there is no order.
    pub fn new(
        history: &History,
        goal: &Goal,
        (begin, need): (&[usize], &[usize]),
        pinned: &[At],
        is_fixed: bool,
    ) -> Option<Must> {
        let lanes = begin.len();
        let mut bases = Vec::with_capacity(lanes);
        let mut count = 0;
        for (begin, need) in begin.iter().zip(need) {
            bases.push(count);
            count += need - begin;
        }
        let mut must = Must { begin: begin.to_vec(), need: need.to_vec(), bases, clocks: Vec::new() };
        if count * lanes > MOST_ENTRIES {
            return Some(must);
        }
        must.clocks = vec![0; count * lanes];
        let mut builder = Builder {
            history,
            must,
            before: vec![Vec::new(); count],
            pinned: Vec::new(),
            writes: FxHashMap::default(),
            sections: FxHashMap::default(),
            is_changed: false,
        };
        builder.collect(goal, pinned, is_fixed);
        for _ in 0..MOST_ROUNDS {
            if !builder.tick() {
                return None;
            }
            builder.is_changed = false;
            builder.conclude_from_reads(is_fixed);
            builder.conclude_from_sections();
            if !builder.is_changed {
                break;
            }
        }
        builder.tick().then_some(builder.must)
    }

    /// Whether a step of a lane may come next, when the threads are at these places.
    pub fn allows(&self, (lane, place): Spot, next: &[usize]) -> bool {
        let Some(clock) = self.clock((lane, place)) else { return true };
        clock.iter().zip(next).all(|(&before, &next)| before as usize <= next)
    }

    fn clock(&self, spot: Spot) -> Option<&[u32]> {
        let lanes = self.begin.len();
        let number = self.number(spot)?;
        self.clocks.get(number * lanes..(number + 1) * lanes)
    }

    fn number(&self, (lane, place): Spot) -> Option<usize> {
        (self.begin[lane]..self.need[lane]).contains(&place).then(|| self.bases[lane] + place - self.begin[lane])
    }

    /// Whether one step is known to come before another.
    fn is_before(&self, (lane, place): Spot, other: Spot) -> bool {
        self.clock(other).is_some_and(|clock| clock[lane] as usize > place)
    }
}

impl Builder<'_> {
    fn spot(&self, at: At) -> Option<Spot> {
        let spot = (self.history.step(at).lane as usize, place(self.history, at));
        self.must.number(spot).map(|_| spot)
    }

    fn edge(&mut self, from: Spot, to: Spot) {
        if !self.must.is_before(from, to)
            && let Some(number) = self.must.number(to)
        {
            self.before[number].push(from);
            self.is_changed = true;
        }
    }

    fn collect(&mut self, goal: &Goal, pinned: &[At], is_fixed: bool) {
        let history = self.history;
        let lanes = self.must.begin.len();
        for (lane, steps) in history.lanes.iter().enumerate() {
            let range = self.must.begin[lane]..self.must.need[lane];
            for (place, &at) in range.clone().zip(&steps[range]) {
                let step = history.step(at);
                if step.op.is_access() {
                    if step.op.writes() {
                        let writes = self.writes.entry(step.object).or_insert_with(|| vec![Vec::new(); lanes]);
                        writes[lane].push(place);
                    }
                    continue;
                }
                for before in needs(history, at).filter_map(|before| self.spot(before)).collect::<Vec<Spot>>() {
                    self.edge(before, (lane, place));
                }
                self.section(step.op, step.object, (lane, place), is_fixed);
            }
        }
        for &(first, second) in &goal.order {
            if let (Some(first), Some(second)) = (self.spot(first), self.spot(second)) {
                self.edge(first, second);
            }
        }
        for &read in pinned {
            let write = self.history.step(read).link;
            let known = (write != super::NONE).then(|| self.spot(write)).flatten();
            let Some(spot) = self.spot(read) else { continue };
            if known.is_some() || is_fixed {
                self.pinned.push((spot, known));
            }
            if let Some(write) = known {
                self.edge(write, spot);
            }
        }
    }

    fn section(&mut self, op: Op, lock: u32, (lane, place): Spot, is_fixed: bool) {
        let lanes = self.must.begin.len();
        let is_shared = match op {
            Op::Acquire => false,
            Op::AcquireShared => true,
            Op::Release => {
                let acquire = self.history.step(self.history.lanes[lane][place]).link;
                acquire != super::NONE && self.history.step(acquire).op == Op::AcquireShared
            }
            _ => return,
        };
        let of_lane = &mut self.sections.entry(lock).or_insert_with(|| vec![Vec::new(); lanes])[lane];
        if op != Op::Release {
            of_lane.push(Section { acquire: Some(place), release: None, is_shared });
        } else if let Some(open) = of_lane.last_mut().filter(|it| it.release.is_none()) {
            open.release = Some(place);
        } else if is_fixed && of_lane.is_empty() {
            of_lane.push(Section { acquire: None, release: Some(place), is_shared });
        }
    }

    /// Sets the clocks; false if something would have to come before itself.
    fn tick(&mut self) -> bool {
        let lanes = self.must.begin.len();
        let mut next = self.must.begin.clone();
        let mut clock = vec![0; lanes];
        loop {
            let mut moved = false;
            for lane in 0..lanes {
                while next[lane] < self.must.need[lane] {
                    let number = self.must.bases[lane] + next[lane] - self.must.begin[lane];
                    if !self.before[number].iter().all(|&(other, place)| next[other] > place) {
                        break;
                    }
                    clock.fill(0);
                    if next[lane] > self.must.begin[lane] {
                        clock.copy_from_slice(&self.must.clocks[(number - 1) * lanes..number * lanes]);
                        clock[lane] = next[lane] as u32;
                    }
                    for &(other, place) in &self.before[number] {
                        let before = self.must.clock((other, place)).unwrap_or_default();
                        clock.iter_mut().zip(before).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
                        clock[other] = clock[other].max(place as u32 + 1);
                    }
                    self.must.clocks[number * lanes..(number + 1) * lanes].copy_from_slice(&clock);
                    next[lane] += 1;
                    moved = true;
                }
            }
            if !moved {
                return next == self.must.need;
            }
        }
    }

    fn conclude_from_reads(&mut self, is_fixed: bool) {
        for (read, write) in self.pinned.clone() {
            let variable = self.history.step(self.history.lanes[read.0][read.1]).object;
            let Some(writes) = self.writes.remove(&variable) else { continue };
            for (lane, places) in writes.iter().enumerate() {
                let is_other = |place: usize| (lane, place) != read && Some((lane, place)) != write;
                let Some(write) = write else {
                    // It saw what was there before.
                    if is_fixed && let Some(&place) = places.iter().find(|&&place| is_other(place)) {
                        self.edge(read, (lane, place));
                    }
                    continue;
                };
                let known = self.must.clock(read).map_or(0, |clock| clock[lane] as usize);
                let before = &places[..places.partition_point(|&place| place < known)];
                if let Some(&place) = before.last().filter(|&&place| is_other(place)) {
                    self.edge((lane, place), write);
                }
                let behind = places.partition_point(|&place| !self.must.is_before(write, (lane, place)));
                if let Some(&place) = places[behind..].iter().find(|&&place| is_other(place)) {
                    self.edge(read, (lane, place));
                }
            }
            self.writes.insert(variable, writes);
        }
    }

    fn conclude_from_sections(&mut self) {
        let all = std::mem::take(&mut self.sections);
        for of_lock in all.values() {
            for (lane, sections) in of_lock.iter().enumerate() {
                for section in sections {
                    let (Some(acquire), Some(release)) = (section.acquire, section.release) else { continue };
                    for (other, theirs) in of_lock.iter().enumerate().filter(|(other, _)| *other != lane) {
                        let known = self.must.clock((lane, release)).map_or(0, |clock| clock[other] as usize);
                        let begun = theirs.partition_point(|it| it.acquire.is_none_or(|acquire| acquire < known));
                        let conflicts = |it: &&Section| !(it.is_shared && section.is_shared);
                        if let Some(last) = theirs[..begun].iter().rev().find(conflicts)
                            && let Some(over) = last.release
                        {
                            self.edge((other, over), (lane, acquire));
                        }
                    }
                }
            }
        }
        self.sections = all;
    }
}
