//! How far each thread has to go for a goal, and how far it may.

use super::super::history::{At, History, Holds, NONE, Op};
use super::must::Must;
use super::{Goal, is_before};

/// Steps that a thread may go on to give its locks back.
const MOST_EXTRA: usize = 4096;
/// Reads of a thread about which the code is asked, at each step after them. Of more it is not asked: they have to see what they saw.
const MOST_ASKED: usize = 64;

/// Bounds of the threads' steps, by lane. They are places in the lane: the first step that is *not* meant.
pub struct Limits {
    pub begin: Vec<usize>,
    /// What has to happen.
    pub need: Vec<usize>,
    /// What may happen: a thread may have to go on until it has given its locks back.
    pub limit: Vec<usize>,
    /// What must come before what.
    pub must: Must,
    /// A thread would have to go on for longer than it may.
    pub is_cut: bool,
}

/// Why there is no order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contradiction {
    /// Whatever comes before.
    Always,
    /// If what comes before happens as in the run.
    Here,
}

impl Limits {
    pub fn new(history: &History, goal: &Goal, from: At) -> Result<Limits, Contradiction> {
        let begin: Vec<usize> = history.lanes.iter().map(|lane| lane.partition_point(|&step| step < from)).collect();
        for &(first, second) in &goal.order {
            // What must come before came before in the run.
            if second < first
                && Closure::of(history, goal, from, &begin, &[first], Some(second)).contains(history, second)
            {
                return Err(Contradiction::Always);
            }
        }
        let steps: Vec<At> = goal.steps().collect();
        let closure = Closure::of(history, goal, from, &begin, &steps, None);
        if goal.without.is_some_and(|step| closure.contains(history, step)) {
            return Err(Contradiction::Always);
        }
        let Closure { need, pinned, .. } = closure;
        let must = |is_fixed| Must::new(history, goal, (&begin, &need), &pinned, is_fixed);
        let is_always = from == 0;
        let Some(must) = must(true) else {
            let contradicts = is_always || must(false).is_none();
            return Err(if contradicts { Contradiction::Always } else { Contradiction::Here });
        };
        let mut limits = Limits { limit: need.clone(), begin, need, must, is_cut: false };
        limits.extend(history, goal, from);
        Ok(limits)
    }

    /// Lets every thread go on until it holds no lock, and whoever is needed for that.
    fn extend(&mut self, history: &History, goal: &Goal, from: At) {
        let most: Vec<usize> = (0..history.lanes.len()).map(|lane| most(history, goal, lane)).collect();
        let mut looked_at = self.begin.clone();
        let mut is_settled = false;
        while !is_settled {
            is_settled = true;
            for (lane, steps) in history.lanes.iter().enumerate() {
                self.go_on(history, lane, most[lane]);
                let new = &steps[looked_at[lane]..self.limit[lane]];
                looked_at[lane] = self.limit[lane];
                let needed = new.iter().flat_map(|&at| wants(history, goal, at));
                for before in needed.filter(|&before| !is_before(before, from)) {
                    let other = history.step(before).lane as usize;
                    let bound = place(history, before) + 1;
                    if self.limit[other] < bound && bound <= most[other] {
                        self.limit[other] = bound;
                        is_settled = false;
                    }
                }
            }
        }
    }

    /// Lets a thread go on until it holds no lock.
    fn go_on(&mut self, history: &History, lane: usize, most: usize) {
        let holds_locks = |&at: &At| history.step(at).hold != Holds::NOTHING;
        let steps = &history.lanes[lane][..most];
        let furthest = most.min(self.need[lane] + MOST_EXTRA);
        let limit = &mut self.limit[lane];
        while *limit < furthest && holds_locks(&steps[*limit]) {
            *limit += 1;
        }
        self.is_cut |= *limit == furthest && steps.get(*limit).is_some_and(holds_locks);
    }
}

/// How far a thread may go at most: it stops in front of what must not happen.
fn most(history: &History, goal: &Goal, lane: usize) -> usize {
    let without = goal.without.filter(|&step| history.step(step).lane as usize == lane);
    without.map_or(history.lanes[lane].len(), |step| place(history, step))
}

pub(super) fn place(history: &History, at: At) -> usize {
    history.lanes[history.step(at).lane as usize].partition_point(|&other| other < at)
}

/// What must have happened before a step, of other threads.
pub(crate) fn needs(history: &History, at: At) -> impl Iterator<Item = At> {
    let step = history.step(at);
    let link = if matches!(step.op, Op::Start | Op::Join | Op::Release) { step.link } else { NONE };
    let after = history.after.get(&at).into_iter().flatten().copied();
    std::iter::once(link).filter(|&link| link != NONE).chain(after)
}

/// Who held the lock that a step was refused. Another thread's hold would do.
fn holder(history: &History, at: At) -> Option<At> {
    let step = history.step(at);
    (step.op == Op::Refused && step.link != NONE).then_some(step.link)
}

/// What a step had before it in the run, of other threads: most often it needs that again.
fn wants(history: &History, goal: &Goal, at: At) -> impl Iterator<Item = At> {
    needs(history, at).chain(seen_by(history, goal, at)).chain(holder(history, at))
}

/// The write that a step saw.
fn seen_by(history: &History, goal: &Goal, at: At) -> Option<At> {
    let step = history.step(at);
    (step.op.reads() && !goal.ignores_reads && step.link != NONE).then_some(step.link)
}

/// What must have happened once some steps have: as far as can be said without a choice.
struct Closure<'a> {
    begin: &'a [usize],
    need: Vec<usize>,
    /// Reads that have to see what they saw.
    pinned: Vec<At>,
}

/// How far a thread was looked at, and its reads that may still see what they like.
#[derive(Clone, Default)]
struct Looked {
    until: usize,
    free: Vec<At>,
}

impl<'a> Closure<'a> {
    /// If it is only asked whether it contains some step, it is not followed any further than to that.
    fn of(
        history: &History,
        goal: &Goal,
        from: At,
        begin: &'a [usize],
        steps: &[At],
        asked: Option<At>,
    ) -> Closure<'a> {
        let mut looked: Vec<Looked> = begin.iter().map(|&until| Looked { until, free: Vec::new() }).collect();
        let mut closure = Closure { need: begin.to_vec(), begin, pinned: Vec::new() };
        let mut work: Vec<At> = steps.to_vec();
        loop {
            while let Some(step) = work.pop() {
                closure.add(history, goal, from, step, &mut looked, &mut work);
                if asked.is_some_and(|asked| closure.contains(history, asked)) {
                    return closure;
                }
            }
            if let &[step] = steps {
                closure.complete_sections(history, step, &mut work);
            }
            if work.is_empty() {
                return closure;
            }
        }
    }

    fn add(&mut self, history: &History, goal: &Goal, from: At, step: At, looked: &mut [Looked], work: &mut Vec<At>) {
        if is_before(step, from) || self.contains(history, step) {
            return;
        }
        let lane = history.step(step).lane as usize;
        let Looked { until, free } = &mut looked[lane];
        while let Some(&at) = history.lanes[lane].get(*until).filter(|&&at| at <= step) {
            let here = history.step(at);
            if !here.op.is_access() {
                work.extend(needs(history, at));
            }
            // Now the reads before it have a successor.
            let is_quiet = here.branches == 0;
            let is_asked = free.len() <= MOST_ASKED;
            free.retain(|&read| {
                let stays = is_quiet && goal.frees(history, read) || is_asked && !history.is_steered(read, at);
                if !stays {
                    self.pinned.extend(is_pinned(history, goal, read).then_some(read));
                    work.extend(must_see(history, goal, read));
                }
                stays
            });
            if here.op.compares() {
                self.pinned.extend(is_pinned(history, goal, at).then_some(at));
                work.extend(must_see(history, goal, at));
            } else if here.op.reads() {
                free.push(at);
            }
            *until += 1;
        }
        self.need[lane] = *until;
    }

    /// A thread that holds a lock at `step` took it after all other sections of it that have begun by then: they are over.
    fn complete_sections(&self, history: &History, step: At, work: &mut Vec<At>) {
        let mine = history.step(step);
        for hold in history.holds.of(mine.hold) {
            for (lane, steps) in history.lanes.iter().enumerate().filter(|(lane, _)| *lane != mine.lane as usize) {
                let next = self.need[lane];
                let Some(&at) = steps.get(next).filter(|_| next > self.begin[lane]) else { continue };
                let theirs = history.holds.of(history.step(at).hold).iter().find(|theirs| theirs.lock == hold.lock);
                if theirs.is_some_and(|theirs| !(theirs.is_shared && hold.is_shared)) {
                    let gives_back = |at: &&At| {
                        let step = history.step(**at);
                        step.op == Op::Release && step.object == hold.lock
                    };
                    work.extend(steps[next..].iter().find(gives_back));
                }
            }
        }
    }

    fn contains(&self, history: &History, step: At) -> bool {
        let lane = history.step(step).lane as usize;
        let meant = &history.lanes[lane][self.begin[lane]..self.need[lane]];
        meant.first().is_some_and(|&first| first <= step) && meant.last().is_some_and(|&last| step <= last)
    }
}

/// Accesses of a variable that are looked through for another write that would do.
const MOST_WRITES: usize = 256;

/// Whether a read has to see the very write that it saw. Where values are known, another write may do that left the same one.
fn is_pinned(history: &History, goal: &Goal, read: At) -> bool {
    let Some(values) = history.values.get(&read) else { return !goal.ignores_reads };
    let step = history.step(read);
    let accesses = history.accesses(step.object);
    let others = || accesses.iter().filter(|&&at| at != step.link && history.step(at).op.writes());
    let leaves_other = |at: &At| history.values.get(at).is_some_and(|other| other.left != values.seen);
    let first = history.variables[step.object as usize].first_value;
    let is_first_other = step.link == NONE || first.is_some_and(|first| first != values.seen);
    !goal.ignores_reads && accesses.len() <= MOST_WRITES && is_first_other && others().all(leaves_other)
}

/// The write that a read has to see.
fn must_see(history: &History, goal: &Goal, read: At) -> Option<At> {
    seen_by(history, goal, read).filter(|_| is_pinned(history, goal, read))
}
