//! Where the threads are, who holds what, and what was written last: a point of the search.

use std::hash::{Hash, Hasher as _};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::super::history::{At, History, Holds, Lane, NONE, Op, Step};
use super::limits::{Limits, needs};
use super::{Goal, is_before};

/// What a thread saw that it did not see in the run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Astray {
    No,
    /// It goes on as long as nothing depends on that: there is no branch, or none that the code says to depend on it.
    Somewhat,
    /// Nothing is known of what it does next.
    Lost,
}

/// Whether a thread comes to its next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comes {
    /// It does the same to the same object.
    Surely,
    /// No branch leads away from it, but what it is about may come from what the thread saw.
    Blindly,
    Not,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Lock {
    owner: Option<Lane>,
    readers: u32,
}

/// The next step of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    lane: usize,
    at: At,
    /// It does not have to happen.
    is_extra: bool,
}

/// A write, and whether it left what it left in the run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Written {
    at: At,
    is_same: bool,
}

/// What a step changed, to take it back.
struct Trail {
    lane: usize,
    lock: Option<(u32, Lock)>,
    written: Option<(u32, Option<Written>)>,
    astray: Astray,
    /// It saw something else than in the run.
    is_stray: bool,
    is_wild: bool,
    fingerprint: u64,
}

pub struct State<'a> {
    history: &'a History,
    goal: &'a Goal,
    from: At,
    limits: &'a Limits,
    /// The next step of each thread.
    next: Vec<usize>,
    astray: Vec<Astray>,
    /// The locks that a thread held when it first saw something else.
    strayed: Vec<u32>,
    /// Where each thread saw something else.
    strays: Vec<Vec<At>>,
    locks: FxHashMap<u32, Lock>,
    /// The last write of a variable since the beginning.
    written: FxHashMap<u32, Written>,
    /// A thread that saw something else wrote, who knows where: no read of another thread can be relied on any more.
    is_wild: bool,
    /// Variables that one thread writes and another reads.
    contended: FxHashSet<u32>,
    /// Locks that a thread is refused: giving them back early may be wrong.
    refused: FxHashSet<u32>,
    pub order: Vec<At>,
    trail: Vec<Trail>,
    /// Two points with the same one have the same future.
    pub fingerprint: u64,
}

impl<'a> State<'a> {
    pub fn new(history: &'a History, goal: &'a Goal, from: At, limits: &'a Limits) -> State<'a> {
        let mut state = State {
            history,
            goal,
            from,
            limits,
            next: limits.begin.clone(),
            astray: vec![Astray::No; history.lanes.len()],
            strayed: vec![Holds::NOTHING; history.lanes.len()],
            strays: vec![Vec::new(); history.lanes.len()],
            locks: FxHashMap::default(),
            written: FxHashMap::default(),
            is_wild: false,
            contended: FxHashSet::default(),
            refused: FxHashSet::default(),
            order: Vec::new(),
            trail: Vec::new(),
            fingerprint: 0,
        };
        state.take_locks_of_begin();
        state.look_around();
        state
    }

    /// Who holds what when the search begins.
    fn take_locks_of_begin(&mut self) {
        for (lane, steps) in self.history.lanes.iter().enumerate() {
            if let Some(&at) = steps.get(self.next[lane]) {
                for hold in self.history.holds.of(self.history.step(at).hold) {
                    let lock = self.locks.entry(hold.lock).or_default();
                    if hold.is_shared {
                        lock.readers += 1;
                    } else {
                        lock.owner = Some(lane as Lane);
                    }
                }
            }
        }
    }

    fn look_around(&mut self) {
        /// No thread yet, and more than one.
        const NOBODY: usize = usize::MAX;
        const MANY: usize = usize::MAX - 1;
        // Of each variable, who reads and who writes it.
        let mut touched: FxHashMap<u32, [usize; 2]> = FxHashMap::default();
        for lane in 0..self.history.lanes.len() {
            for &at in &self.history.lanes[lane][self.limits.begin[lane]..self.limits.limit[lane]] {
                let Step { op, object, .. } = *self.history.step(at);
                if op == Op::Refused {
                    self.refused.insert(object);
                }
                if !op.is_access() {
                    continue;
                }
                let by = touched.entry(object).or_insert([NOBODY; 2]);
                for (who, touches) in by.iter_mut().zip([op.reads(), op.writes()]) {
                    if touches {
                        *who = if *who == NOBODY || *who == lane { lane } else { MANY };
                    }
                }
            }
        }
        let is_contended =
            |[reader, writer]: [usize; 2]| reader != NOBODY && writer != NOBODY && (reader != writer || reader == MANY);
        self.contended =
            touched.into_iter().filter(|&(_, by)| is_contended(by)).map(|(variable, _)| variable).collect();
    }

    /// Whether all steps of the goal have happened.
    pub fn is_done(&self) -> bool {
        self.goal.steps().all(|step| self.has_happened(step))
    }

    fn has_happened(&self, step: At) -> bool {
        if is_before(step, self.from) {
            return true;
        }
        let lane = self.history.step(step).lane as usize;
        self.history.lanes[lane].get(self.next[lane]).is_none_or(|&next| next > step)
    }

    fn next_of(&self, lane: usize) -> Option<(At, bool)> {
        let next = self.next[lane];
        (next < self.limits.limit[lane]).then(|| (self.history.lanes[lane][next], next >= self.limits.need[lane]))
    }

    /// Whether the goal lets a step happen now.
    fn is_due(&self, at: At) -> bool {
        self.goal.order.iter().all(|&(first, second)| second != at || self.has_happened(first))
    }

    fn is_of_goal(&self, at: At) -> bool {
        self.goal.steps().any(|step| step == at)
    }

    /// Whether a step can happen now, and what becomes of its thread.
    fn allows(&self, lane: usize, at: At) -> Option<Astray> {
        let step = self.history.step(at);
        let astray = self.astray[lane];
        let comes = self.comes(lane, at);
        if comes == Comes::Not || !self.limits.must.allows((lane, self.next[lane]), &self.next) {
            return None;
        }
        let lock = |lock: u32| self.locks.get(&lock).copied().unwrap_or_default();
        let is_possible = match step.op {
            Op::Acquire => lock(step.object) == Lock::default(),
            Op::AcquireShared => lock(step.object).owner.is_none(),
            Op::Refused => {
                let Lock { owner, .. } = lock(step.object);
                // Whether the attempt was for reading is not told; then readers would not have been in its way.
                owner.is_some_and(|owner| owner as usize != lane)
            }
            Op::Gap => false,
            _ => true,
        };
        let is_ready = || needs(self.history, at).all(|before| self.has_happened(before));
        let is_possible = is_possible && self.is_due(at) && (step.op.is_access() || is_ready());
        if !is_possible {
            return None;
        }
        if !step.op.is_access() {
            return (comes == Comes::Surely || self.is_sure(lane, step)).then_some(astray);
        }
        let last = self.written.get(&step.object).copied();
        if last.is_some_and(|last| self.history.step(last.at).op == Op::Free) {
            return self.is_of_goal(at).then_some(Astray::Lost);
        }
        if !step.op.reads() || self.goal.ignores_reads || self.sees_the_same(at, step, last) {
            return Some(astray);
        }
        match step.op {
            op if op.compares() => None,
            _ if self.goal.frees(self.history, at) || self.may_stray(lane, at) => Some(Astray::Somewhat),
            _ => self.is_of_goal(at).then_some(Astray::Lost),
        }
    }

    /// Whether a thread comes to a step, which is its next one.
    fn comes(&self, lane: usize, at: At) -> Comes {
        match self.astray[lane] {
            Astray::No => Comes::Surely,
            Astray::Lost => Comes::Not,
            Astray::Somewhat => {
                let mut strays = self.strays[lane].iter();
                if strays.clone().all(|&read| !self.history.is_steered(read, at)) {
                    Comes::Surely
                } else if self.history.step(at).branches == 0 && strays.all(|&read| self.goal.frees(self.history, read))
                {
                    Comes::Blindly
                } else {
                    Comes::Not
                }
            }
        }
    }

    /// Whether a read of any variable may see something else, because by the code its thread does all that it has to nevertheless.
    fn may_stray(&self, lane: usize, at: At) -> bool {
        let needed = &self.history.lanes[lane][..self.limits.need[lane]];
        self.history.code.is_some()
            && needed.last().is_some_and(|&last| last > at && !self.history.is_steered(at, last))
    }

    /// Whether a thread that saw something else does a step nevertheless, on the same object: it gives back what it holds, takes again what
    /// it held when it saw that, or ends. Any other object may come from what it saw. Witnesses of nondeterminism take the paper's word that
    /// without a branch nothing changes.
    fn is_sure(&self, lane: usize, step: &Step) -> bool {
        if self.goal.free.is_some() {
            return true;
        }
        let held_then = || self.history.holds.of(self.strayed[lane]).iter().any(|hold| hold.lock == step.object);
        match step.op {
            Op::Release | Op::End => true,
            Op::Acquire | Op::AcquireShared => held_then(),
            _ => false,
        }
    }

    /// Whether a read sees what it saw in the run, if `last` is the last write since the beginning.
    fn sees_the_same(&self, at: At, step: &Step, last: Option<Written>) -> bool {
        if self.is_wild || last.is_some_and(|last| !last.is_same) {
            return false;
        }
        if last.map_or(is_before(step.link, self.from), |last| last.at == step.link) {
            return true;
        }
        let Some(wanted) = self.history.values.get(&at).map(|values| values.seen) else { return false };
        let last = last.map(|last| last.at).or_else(|| {
            let accesses = self.history.accesses(step.object);
            let before = &accesses[..accesses.partition_point(|&access| access < self.from)];
            before.iter().rev().copied().find(|&access| self.history.step(access).op.writes())
        });
        let left = match last {
            Some(write) => self.history.values.get(&write).map(|values| values.left),
            None => self.history.variables[step.object as usize].first_value,
        };
        left == Some(wanted)
    }

    /// Whether a step that can happen now can only help.
    fn helps(&self, step: &Step, becomes: Astray, lane: usize) -> bool {
        if becomes != self.astray[lane] {
            return false;
        }
        match step.op {
            Op::Acquire | Op::AcquireShared | Op::Refused => false,
            Op::Release => !self.refused.contains(&step.object),
            op if op.writes() => op != Op::Free && (self.goal.ignores_reads || !self.contended.contains(&step.object)),
            _ => true,
        }
    }

    /// Does all that can only help.
    pub fn do_what_helps(&mut self) {
        loop {
            let mut changed = false;
            for lane in 0..self.next.len() {
                while let Some((at, false)) = self.next_of(lane)
                    && let Some(becomes) = self.allows(lane, at)
                    && self.helps(self.history.step(at), becomes, lane)
                {
                    self.perform(lane, at, becomes);
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// What can happen next, where it matters.
    pub fn moves(&self) -> Vec<Move> {
        let next = |lane| {
            let (at, is_extra) = self.next_of(lane)?;
            self.allows(lane, at)?;
            Some(Move { lane, at, is_extra })
        };
        (0..self.next.len()).filter_map(next).collect()
    }

    /// The lower, the sooner a move is tried.
    pub fn rank(&self, next: &Move, regions: &[(At, At)]) -> (bool, bool, At) {
        // Its thread's next step of the goal, if that is not due, and the move leads into the section before it.
        let waits = regions.iter().any(|&(step, begin)| {
            self.history.step(step).lane as usize == next.lane
                && step >= next.at
                && begin <= next.at
                && !self.has_happened(step)
                && !self.is_due(step)
        });
        (next.is_extra, waits, next.at)
    }

    pub fn take(&mut self, next: Move) {
        if let Some(becomes) = self.allows(next.lane, next.at) {
            self.perform(next.lane, next.at, becomes);
        }
    }

    fn perform(&mut self, lane: usize, at: At, becomes: Astray) {
        let step = *self.history.step(at);
        let is_wild = self.is_wild;
        let fingerprint = self.fingerprint;
        let is_stray = becomes == Astray::Somewhat
            && step.op.reads()
            && !self.sees_the_same(at, &step, self.written.get(&step.object).copied());
        let is_sure = self.goal.is_about(self.history, step.object) || self.comes(lane, at) == Comes::Surely;
        let astray = self.astray[lane];
        let mut trail = Trail { lane, lock: None, written: None, astray, is_stray, is_wild, fingerprint };
        match step.op {
            Op::Acquire | Op::AcquireShared | Op::Release => {
                let lock = self.locks.entry(step.object).or_default();
                trail.lock = Some((step.object, *lock));
                let is_shared = match step.op {
                    Op::Release => step.link != NONE && self.history.step(step.link).op == Op::AcquireShared,
                    op => op == Op::AcquireShared,
                };
                match (step.op == Op::Release, is_shared) {
                    (true, true) => lock.readers = lock.readers.saturating_sub(1),
                    (true, false) => lock.owner = None,
                    (false, true) => lock.readers += 1,
                    (false, false) => lock.owner = Some(lane as Lane),
                }
            }
            op if op.writes() => {
                let is_same = becomes == Astray::No;
                self.is_wild |= !is_same && !is_sure;
                let write = Written { at, is_same };
                let was = self.written.insert(step.object, write);
                trail.written = Some((step.object, was));
                if self.contended.contains(&step.object) {
                    self.fingerprint ^= hash(&(step.object, was)) ^ hash(&(step.object, Some(write)));
                }
            }
            _ => {}
        }
        let next = self.next[lane];
        self.fingerprint ^= hash(&(lane, next, self.astray[lane])) ^ hash(&(lane, next + 1, becomes));
        self.fingerprint ^= hash(&is_wild) ^ hash(&self.is_wild);
        if self.astray[lane] == Astray::No && becomes != Astray::No {
            self.strayed[lane] = step.hold;
        }
        if is_stray {
            self.strays[lane].push(at);
            self.fingerprint ^= hash(&(lane, at));
        }
        self.astray[lane] = becomes;
        self.next[lane] += 1;
        self.order.push(at);
        self.trail.push(trail);
    }

    /// Takes steps back until so many are left.
    pub fn undo(&mut self, length: usize) {
        while self.order.len() > length {
            self.order.pop();
            let Some(Trail { lane, lock, written, astray, is_stray, is_wild, fingerprint }) = self.trail.pop() else {
                return;
            };
            if is_stray {
                self.strays[lane].pop();
            }
            self.next[lane] -= 1;
            self.astray[lane] = astray;
            self.is_wild = is_wild;
            self.fingerprint = fingerprint;
            if let Some((lock, was)) = lock {
                self.locks.insert(lock, was);
            }
            if let Some((variable, was)) = written {
                match was {
                    Some(write) => drop(self.written.insert(variable, write)),
                    None => drop(self.written.remove(&variable)),
                }
            }
        }
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}
