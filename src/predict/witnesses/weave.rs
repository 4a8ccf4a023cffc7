//! Makes an order for a witness near that of the run.
//!
//! Some of the witness' steps are put off: their threads stop in front of the sections in which they lie, and whoever depends on that stops too
//! ([`Rest`]). The others go on as in the run, to some point. Then the steps that were put off happen one after the other, each after what its thread
//! still does before it. A thread that has done its part goes on only to give back a lock that another one needs.

use super::super::history::{At, NONE, Op, Step};
use super::super::search::{Order, needs};
use super::Witness;
use super::clocks::Rest;
use super::index::Index;

/// Steps that are done at the end, at most: what needs more is left to the search.
const MOST_STEPS: usize = 512;
/// How often the others go on a little further, because the end cannot begin yet.
const MOST_POINTS: usize = 16;

/// What a thread saw that it did not see in the run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Astray {
    No,
    /// It goes on as long as there is no branch.
    UntilBranch,
    Lost,
}

struct Thread {
    lane: usize,
    /// The next step, as a place in the lane.
    next: usize,
    astray: Astray,
}

/// Why the end cannot go on.
enum Stop {
    /// It could if the others went on to this step.
    Until(At),
    Never,
}

/// Memory that is used again and again.
#[derive(Default)]
pub struct Weaver {
    /// By lane: where it stops.
    stops: Vec<At>,
    threads: Vec<Thread>,
    /// Locks that are held at the end: the acquires.
    held: Vec<At>,
    /// The last write of a variable at the end, and whether it left what it left in the run.
    written: Vec<(u32, At, bool)>,
    steps: Vec<At>,
}

/// Where and how an attempt is made.
struct Attempt<'a, 'b> {
    index: &'b Index<'a>,
    witness: Witness,
    /// What the others have done: all that they may, up to here.
    point: At,
    is_wild: bool,
    /// Threads that wait for another one to give back a lock.
    waiting: usize,
    memory: &'b mut Weaver,
}

/// Whether an order can be made.
pub fn weave(index: &Index<'_>, rest: &Rest, unknown: &[At], witness: Witness, memory: &mut Weaver) -> Option<At> {
    let Witness { writer, read, challenger, .. } = witness;
    let without = witness.without().unwrap_or(NONE);
    // What the run has in another order than the witness is put off; and then the challenger, too.
    let late = match witness.order() {
        [first, _, _] if first == writer && challenger > read => [read, NONE, NONE],
        [first, _, _] if first == writer => [read, challenger, NONE],
        _ => [read, writer, without],
    };
    for also in [NONE, challenger] {
        if also != NONE && late.contains(&also) {
            continue;
        }
        memory.stops.clear();
        memory.stops.extend_from_slice(unknown);
        for &step in late.iter().chain([&also]).filter(|&&step| step != NONE) {
            let row = rest.of(index.region[step as usize]);
            memory.stops.iter_mut().zip(row).for_each(|(stop, &bound)| *stop = (*stop).min(bound));
        }
        if let Some(point) = finish(index, witness, memory) {
            return Some(point);
        }
    }
    None
}

/// The order of the last success.
pub fn order(index: &Index<'_>, point: At, memory: &Weaver) -> Order {
    let from = memory.stops.iter().copied().min().unwrap_or(0).min(point + 1);
    let is_done = |&at: &At| at < memory.stops[index.lane(at)];
    let steps = (from..=point).filter(is_done).chain(memory.steps.iter().copied()).collect();
    Order { from, steps }
}

/// Finds a point from which the late steps can be done.
fn finish(index: &Index<'_>, witness: Witness, memory: &mut Weaver) -> Option<At> {
    let order = witness.order();
    let goals = || order.iter().copied().filter(|&goal| goal != NONE);
    let is_early = |memory: &Weaver, goal: At| goal < memory.stops[index.lane(goal)];
    // The early ones come first, as in the run.
    let early = goals().take_while(|&goal| is_early(memory, goal)).count();
    let is_late = goals().skip(early).all(|goal| !is_early(memory, goal));
    let ascends = goals().take(early).zip(goals().take(early).skip(1)).all(|(one, next)| one < next);
    if !is_late || !ascends {
        return None;
    }
    let mut point = goals().take(early).last().unwrap_or(0);
    for goal in goals().skip(early) {
        let stop = memory.stops[index.lane(goal)];
        let before = index.previous(stop).unwrap_or(0);
        point = point.max(before);
    }
    for _ in 0..MOST_POINTS {
        let mut attempt = Attempt { index, witness, point, is_wild: false, waiting: 0, memory };
        match attempt.run(goals().skip(early)) {
            Ok(()) => return Some(point),
            Err(Stop::Until(later)) if later > point => point = later,
            Err(_) => return None,
        }
    }
    None
}

impl Attempt<'_, '_> {
    fn run(&mut self, goals: impl Iterator<Item = At>) -> Result<(), Stop> {
        self.memory.threads.clear();
        self.memory.held.clear();
        self.memory.written.clear();
        self.memory.steps.clear();
        for goal in goals {
            let thread = self.thread(self.index.lane(goal));
            let place = self.index.place[goal as usize] as usize;
            // Another one made it go on too far.
            if self.memory.threads[thread].next > place {
                return Err(Stop::Never);
            }
            while self.memory.threads[thread].next <= place {
                self.step(thread, goal)?;
            }
        }
        Ok(())
    }

    /// The thread of a lane, which stands where it stopped.
    fn thread(&mut self, lane: usize) -> usize {
        let known = self.memory.threads.iter().position(|thread| thread.lane == lane);
        known.unwrap_or_else(|| {
            let stop = self.memory.stops[lane];
            let next = self.index.place[stop as usize] as usize;
            self.memory.threads.push(Thread { lane, next, astray: Astray::No });
            self.memory.threads.len() - 1
        })
    }

    fn step(&mut self, thread: usize, goal: At) -> Result<(), Stop> {
        let Thread { lane, next, astray } = self.memory.threads[thread];
        let history = self.index.history;
        let Some(&at) = history.lanes[lane].get(next) else { return Err(Stop::Never) };
        let step = history.step(at);
        let is_stuck = astray == Astray::Lost || astray == Astray::UntilBranch && step.branches > 0;
        if is_stuck || self.memory.steps.len() == MOST_STEPS || self.witness.without() == Some(at) {
            return Err(Stop::Never);
        }
        for before in needs(history, at) {
            self.has_happened(before)?;
        }
        let mut becomes = astray;
        match step.op {
            Op::Acquire | Op::AcquireShared => self.acquire(thread, at, step)?,
            Op::Release => self.memory.held.retain(|&acquire| acquire != step.link),
            Op::Refused | Op::Gap => return Err(Stop::Never),
            _ if step.op.is_access() => becomes = self.access(at, step, astray, at == goal)?,
            _ => {}
        }
        let thread = &mut self.memory.threads[thread];
        thread.next += 1;
        thread.astray = becomes;
        self.memory.steps.push(at);
        Ok(())
    }

    /// Whether the others have done a step by now.
    fn is_done(&self, at: At) -> bool {
        at <= self.point && self.is_early(at)
    }

    fn is_early(&self, at: At) -> bool {
        at < self.memory.stops[self.index.lane(at)]
    }

    fn has_happened(&self, before: At) -> Result<(), Stop> {
        let lane = self.index.lane(before);
        let is_of_end =
            |thread: &Thread| thread.lane == lane && (self.index.place[before as usize] as usize) < thread.next;
        if self.is_done(before) || self.memory.threads.iter().any(is_of_end) {
            Ok(())
        } else if self.is_early(before) {
            Err(Stop::Until(before))
        } else {
            Err(Stop::Never)
        }
    }

    fn acquire(&mut self, thread: usize, at: At, step: &Step) -> Result<(), Stop> {
        let index = self.index;
        // Of those that still go on as in the run.
        let sections = &index.sections[step.object as usize];
        let begun = sections.partition_point(|section| section.acquire <= self.point);
        for section in sections[..begun].iter().rev().take_while(|section| section.latest > self.point) {
            let is_open = section.release > self.point && self.is_early(section.acquire);
            if is_open && index.exclude(section.acquire, at) {
                let is_over = section.release != NONE && self.is_early(section.release);
                return Err(if is_over { Stop::Until(section.release) } else { Stop::Never });
            }
        }
        while let Some(&other) = self.memory.held.iter().find(|&&other| index.exclude(other, at)) {
            let holder = self.thread(index.lane(other));
            // They may also wait for each other.
            if holder == thread || self.waiting > self.memory.threads.len() {
                return Err(Stop::Never);
            }
            self.waiting += 1;
            self.step(holder, NONE)?;
            self.waiting -= 1;
        }
        self.memory.held.push(at);
        Ok(())
    }

    fn access(&mut self, at: At, step: &Step, astray: Astray, is_goal: bool) -> Result<Astray, Stop> {
        let freed = self.index.freed[step.object as usize];
        if freed != NONE && self.is_done(freed) {
            return Err(Stop::Never);
        }
        let mut becomes = astray;
        if at == self.witness.read {
            becomes = Astray::UntilBranch;
        } else if step.op.reads() && !self.sees_the_same(step)? {
            if !is_goal {
                return Err(Stop::Never);
            }
            becomes = Astray::Lost;
        }
        if step.op.compares() && becomes != astray {
            return Err(Stop::Never);
        }
        if step.op.writes() {
            let is_same = becomes == Astray::No;
            self.is_wild |= !is_same && step.object != self.index.history.step(self.witness.read).object;
            self.memory.written.retain(|&(variable, ..)| variable != step.object);
            self.memory.written.push((step.object, at, is_same));
        }
        Ok(becomes)
    }

    /// Whether a read sees what it saw in the run.
    fn sees_the_same(&self, step: &Step) -> Result<bool, Stop> {
        if self.is_wild {
            return Ok(false);
        }
        if let Some(&(_, at, is_same)) = self.memory.written.iter().find(|(variable, ..)| *variable == step.object) {
            return Ok(at == step.link && is_same);
        }
        let mut next = if step.link == NONE {
            let accesses = self.index.history.accesses(step.object);
            accesses.iter().copied().find(|&access| self.index.history.step(access).op.writes()).unwrap_or(NONE)
        } else {
            if !self.is_done(step.link) {
                return if self.is_early(step.link) { Err(Stop::Until(step.link)) } else { Ok(false) };
            }
            self.index.next_write[step.link as usize]
        };
        while next <= self.point {
            if self.is_early(next) {
                return Ok(false);
            }
            next = self.index.next_write[next as usize];
        }
        Ok(true)
    }
}
