//! Who may go on now. Without threads and without time: the threads of the program tell what they are about to do and what they did, and are
//! told whether to go on or to wait; somebody with a clock tells when nothing moves any more.
//!
//! A thread *arrives* at a stop, goes on when the plan lets it, and is *done* with the step. In between it may turn out that it cannot do what it
//! wanted, because somebody has the lock: then it is blocked until that is given back, and tries again. Waits on conditions are done here
//! altogether, so that who wakes up, and when it takes its lock again, is up to the plan.
//!
//! The gate must never be why a program does not go on. Whatever a thread waits for here, [`Gate::stalled`] gives it up.

mod chance;
mod pace;
mod turns;

use std::collections::BTreeMap;

use super::journal::{Entry, Found, Waiting};
use super::schedule::{Act, Role, Schedule};
use crate::event::ThreadId;
pub use chance::Chance;
use pace::Pace;
use turns::Turns;

/// What a thread is about to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stop {
    pub act: Act,
    /// Its number in the schedule, if it is in there.
    pub place: Option<u32>,
    /// The lock, the thread, the first byte.
    pub object: u64,
    /// Bytes of an access.
    pub size: u64,
    /// The return address.
    pub code: u64,
    /// What it waits for here, if it has to, only threads of this process can give.
    pub is_private: bool,
}

/// What a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    /// On its way to a stop: just created, or just woken.
    Coming,
    Running,
    /// At a stop.
    Waiting,
    /// It cannot do its step as long as this is not given back.
    Blocked(u64),
    /// It waits to be signalled.
    Asleep(u64),
    /// In the hands of the kernel, for as long as it takes.
    Outside,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Thread {
    standing: Standing,
    /// Where it arrived, until it is done with that.
    stop: Option<Stop>,
    /// When it fell asleep, in the order of all who did.
    slept: u64,
}

impl Thread {
    /// It cannot go on with its step, or with something that is none. What is left of an earlier one does not count.
    fn wait(&mut self, stop: Stop) {
        let step = self.stop.filter(|step| step.place.is_some()).unwrap_or(stop);
        self.stop = Some(Stop { is_private: stop.is_private, ..step });
    }
}

/// Who decides.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Plan {
    Turns(Turns),
    Chance(Chance),
}

/// The gate of one process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gate {
    plan: Plan,
    threads: BTreeMap<ThreadId, Thread>,
    /// What is to be told; `code` in it is still an address of this process.
    news: Vec<News>,
    /// Who may go on and does not know it yet.
    woken: Vec<ThreadId>,
    pace: Pace,
    sleepers: u64,
    /// A deadlock was told, and nobody went on since: whether it was certain.
    told: Option<bool>,
}

/// Something for the journal. What has code locations is translated by those who know the modules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum News {
    Entry(Entry),
    Difference { thread: ThreadId, turn: u32, expected: Option<u32>, act: Act, code: u64 },
    Deadlock { threads: Vec<(ThreadId, Stop)>, is_certain: bool },
}

impl News {
    /// The line of the journal. `found` tells where an address lies.
    #[must_use]
    pub fn entry(self, found: impl Fn(Act, u64) -> Found) -> Entry {
        match self {
            News::Entry(entry) => entry,
            News::Difference { thread, turn, expected, act, code } => {
                Entry::Difference { thread, turn, expected, found: found(act, code) }
            }
            News::Deadlock { threads, is_certain } => {
                let waiting = |(thread, stop): (ThreadId, Stop)| Waiting {
                    thread,
                    at: found(stop.act, stop.code),
                    object: stop.object,
                };
                Entry::Deadlock { threads: threads.into_iter().map(waiting).collect(), is_certain }
            }
        }
    }
}

impl Gate {
    /// A gate that follows a schedule.
    #[must_use]
    pub fn of_schedule(schedule: &Schedule) -> Gate {
        Gate::new(Plan::Turns(Turns::new(schedule)))
    }

    /// A gate that lets threads go on by chance.
    #[must_use]
    pub fn of_chance(chance: Chance) -> Gate {
        Gate::new(Plan::Chance(chance))
    }

    fn new(plan: Plan) -> Gate {
        let threads = BTreeMap::new();
        Gate { plan, threads, news: Vec::new(), woken: Vec::new(), pace: Pace::default(), sleepers: 0, told: None }
    }

    /// A thread is about to be created.
    pub fn announce(&mut self, thread: ThreadId) {
        self.thread(thread).standing = Standing::Coming;
        self.moves(thread);
    }

    /// It was not created after all.
    pub fn withdraw(&mut self, thread: ThreadId) {
        self.threads.remove(&thread);
        self.settle();
    }

    /// A thread is about to do something. True: it may, now. Otherwise it waits until it is among the [`Gate::woken`].
    #[must_use]
    pub fn arrive(&mut self, thread: ThreadId, stop: Stop) -> bool {
        self.moves(thread);
        let known = self.thread(thread);
        known.standing = Standing::Waiting;
        known.stop = Some(stop);
        match &mut self.plan {
            Plan::Turns(turns) => {
                let is_news = turns.arrived(thread, &stop, &mut self.news);
                self.pace.reach(turns.reached());
                if is_news {
                    self.settle();
                } else if turns.may_go(thread) {
                    self.thread(thread).standing = Standing::Running;
                    return true;
                }
            }
            Plan::Chance(_) => self.settle(),
        }
        // Whoever is here need not be woken.
        let goes = self.goes_on(thread);
        self.woken.retain(|&other| other != thread);
        goes
    }

    /// Whether a thread that waited may go on.
    #[must_use]
    pub fn goes_on(&self, thread: ThreadId) -> bool {
        // On a busy machine a thread may be given up before it noticed that it may go on: it still may.
        let may = |known: &Thread| matches!(known.standing, Standing::Running | Standing::Coming | Standing::Outside);
        self.threads.get(&thread).is_none_or(may)
    }

    /// Whether somebody waits for the thread's step to be over, as soon as it is.
    #[must_use]
    pub fn ends_turn(&self, thread: ThreadId) -> bool {
        matches!(&self.plan, Plan::Turns(turns) if turns.ends_turn(thread))
    }

    /// The thread did what it arrived for.
    pub fn done(&mut self, thread: ThreadId) {
        self.stirs();
        let known = self.thread(thread);
        let Some(stop) = known.stop.take() else { return };
        known.standing = Standing::Running;
        if let Plan::Turns(turns) = &mut self.plan {
            let is_news = turns.done(thread, &stop, &mut self.news);
            self.pace.reach(turns.reached());
            if is_news {
                self.settle();
            }
        }
    }

    /// The thread cannot do this: somebody has the object.
    pub fn blocked(&mut self, thread: ThreadId, stop: Stop) {
        let known = self.thread(thread);
        known.standing = Standing::Blocked(stop.object);
        known.wait(stop);
        self.settle();
    }

    /// The thread waits for the end of another one.
    pub fn joins(&mut self, thread: ThreadId, other: ThreadId, stop: Stop) {
        if self.threads.contains_key(&other) {
            self.blocked(thread, stop);
        }
    }

    /// Somebody gave `object` back: whoever wanted it may try again.
    pub fn released(&mut self, object: u64) {
        self.stirs();
        let wanted = |thread| self.threads.get(&thread).is_some_and(|it| it.standing == Standing::Blocked(object));
        if let Some(thread) = self.whose_turn().filter(|&thread| wanted(thread)) {
            self.moves(thread);
        }
        self.retry(|_, standing| standing == Standing::Blocked(object));
    }

    /// The thread may try again, though nobody was seen giving anything back.
    pub fn try_again(&mut self, thread: ThreadId) {
        self.retry(|other, standing| other == thread && matches!(standing, Standing::Blocked(_)));
    }

    /// In a schedule it is still the same step, and it is their turn; by chance somebody else may come first.
    fn retry(&mut self, is_meant: impl Fn(ThreadId, Standing) -> bool) {
        let is_schedule = matches!(self.plan, Plan::Turns(_));
        for (&thread, known) in self.threads.iter_mut().filter(|(thread, known)| is_meant(**thread, known.standing)) {
            if is_schedule {
                known.standing = Standing::Running;
                self.woken.push(thread);
            } else {
                known.standing = Standing::Waiting;
            }
        }
        if !is_schedule {
            self.settle();
        }
    }

    /// The thread waits for a signal, for ever or until a time at which it will come back by itself.
    pub fn sleep(&mut self, thread: ThreadId, wait: Stop, is_endless: bool) {
        self.moves(thread);
        self.sleepers += 1;
        let number = self.sleepers;
        let known = self.thread(thread);
        known.standing = Standing::Asleep(wait.object);
        known.slept = number;
        known.stop = is_endless.then_some(wait);
        self.settle();
    }

    /// Whether the thread waits for a signal.
    #[must_use]
    pub fn is_asleep(&self, thread: ThreadId) -> bool {
        matches!(self.threads.get(&thread), Some(Thread { standing: Standing::Asleep(_), .. }))
    }

    /// The thread does not wait for its signal any more: the time is over.
    pub fn rise(&mut self, thread: ThreadId) {
        self.moves(thread);
        self.wake(thread);
    }

    fn wake(&mut self, thread: ThreadId) {
        let known = self.thread(thread);
        known.standing = Standing::Coming;
        known.stop = None;
    }

    /// Wakes one of those who sleep on `condition`, or all of them: the one whose turn comes first, else who slept longest.
    pub fn signal(&mut self, condition: u64, all: bool) {
        self.stirs();
        let asleep = self.threads.iter().filter(|(_, known)| known.standing == Standing::Asleep(condition));
        let mut asleep: Vec<(u32, u64, ThreadId)> = asleep
            .map(|(&thread, known)| {
                let turn = match &self.plan {
                    Plan::Turns(turns) => turns.next_turn(thread),
                    Plan::Chance(_) => 0,
                };
                (turn, known.slept, thread)
            })
            .collect();
        asleep.sort_unstable();
        for &(_, _, thread) in asleep.iter().take(if all { usize::MAX } else { 1 }) {
            self.moves(thread);
            self.wake(thread);
            self.woken.push(thread);
        }
    }

    /// The thread goes into the kernel and will come back some time: when it gets what it waited for here, if it did.
    pub fn goes_outside(&mut self, thread: ThreadId, wait: Option<Stop>) {
        let known = self.thread(thread);
        known.standing = Standing::Outside;
        match wait {
            Some(wait) => known.wait(wait),
            None => known.stop = None,
        }
        self.settle();
    }

    /// The thread is back.
    pub fn returned(&mut self, thread: ThreadId) {
        self.moves(thread);
        self.thread(thread).standing = Standing::Running;
    }

    /// A thread gets on, and not because of the clock.
    fn moves(&mut self, thread: ThreadId) {
        self.stirs();
        if self.whose_turn() == Some(thread) {
            self.pace.moves(thread);
        }
    }

    /// The thread that all wait for. By chance, and when all turns are over, none in particular.
    fn whose_turn(&self) -> Option<ThreadId> {
        match &self.plan {
            Plan::Turns(turns) => turns.whose(),
            Plan::Chance(_) => None,
        }
    }

    /// Something happens, and not because of the clock.
    fn stirs(&mut self) {
        if self.whose_turn().is_some() {
            self.pace.stirs();
        } else {
            self.pace.goes_on();
        }
        if self.told.take().is_some() {
            self.news.push(News::Entry(Entry::Resumed));
        }
    }

    /// The thread is no more.
    pub fn ended(&mut self, thread: ThreadId) {
        self.stirs();
        // Not kept: a program may have any number of threads in the course of time.
        self.threads.remove(&thread);
        if let Plan::Turns(turns) = &mut self.plan {
            turns.ended(thread, &mut self.news);
            self.pace.reach(turns.reached());
        }
        self.settle();
    }

    /// Whose turn it is, and which step is still to come in it, for those who wonder what all wait for.
    #[must_use]
    pub fn awaited(&self) -> Option<Entry> {
        match &self.plan {
            Plan::Turns(turns) => turns.awaited(),
            Plan::Chance(_) => None,
        }
    }

    /// Whether it is nobody's turn until some time has passed: before which turn, and how many milliseconds.
    #[must_use]
    pub fn pause(&self) -> Option<(u32, u32)> {
        match &self.plan {
            Plan::Turns(turns) => turns.pause(),
            Plan::Chance(_) => None,
        }
    }

    /// It has passed.
    pub fn pause_is_over(&mut self) {
        if let Plan::Turns(turns) = &mut self.plan {
            turns.pause_is_over(&mut self.news);
        }
        self.pace.goes_on();
        self.settle();
    }

    /// Changes as long as what all wait for may still come.
    #[must_use]
    pub fn progress(&self) -> u64 {
        self.pace.progress()
    }

    /// Changes as long as something happens.
    #[must_use]
    pub fn activity(&self) -> u64 {
        self.pace.activity()
    }

    /// Whether the thread does something that the gate does not know of.
    #[must_use]
    pub fn is_running(&self, thread: ThreadId) -> bool {
        self.threads.get(&thread).is_some_and(|known| known.standing == Standing::Running)
    }

    /// Whether some thread could still do something by itself: then it is worth waiting longer for it.
    #[must_use]
    pub fn is_somebody_running(&self) -> bool {
        self.is_somebody_running_but(|_| false)
    }

    /// The same, if threads that seem to run are known to wait somewhere else: those that are `stuck`.
    #[must_use]
    pub fn is_somebody_running_but(&self, mut is_stuck: impl FnMut(ThreadId) -> bool) -> bool {
        let mut runs = |(&thread, known): (&ThreadId, &Thread)| match known.standing {
            Standing::Running => !is_stuck(thread),
            Standing::Coming | Standing::Outside => true,
            // With a time limit.
            Standing::Asleep(_) => known.stop.is_none(),
            // Another process may end that.
            Standing::Blocked(_) => known.stop.is_some_and(|stop| !stop.is_private),
            Standing::Waiting => false,
        };
        // All are asked: who is stuck shows only after some time.
        self.threads.iter().filter(|it| runs(*it)).count() > 0
    }

    /// Nothing has happened for as long as one may wait. Gives up what everybody waits for. `is_closed`: nobody but the threads that are known here could
    /// end their waiting.
    pub fn stalled(&mut self, is_closed: bool) {
        self.tell_deadlock(is_closed);
        match &mut self.plan {
            Plan::Turns(turns) => {
                let threads = &self.threads;
                turns.stalled(|thread| threads.get(&thread).map(|known| known.standing), &mut self.news);
            }
            Plan::Chance(_) => {
                for known in self.threads.values_mut() {
                    if matches!(known.standing, Standing::Running | Standing::Coming) {
                        known.standing = Standing::Outside;
                    }
                }
            }
        }
        self.pace.goes_on();
        self.settle();
    }

    /// Whether there is nothing left to decide.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(&self.plan, Plan::Turns(turns) if turns.is_over())
    }

    /// The last step of the violation, if all others are done and this thread is about to do it.
    #[must_use]
    pub fn due(&self, thread: ThreadId) -> Option<Role> {
        match &self.plan {
            Plan::Turns(turns) => turns.due(thread),
            Plan::Chance(_) => None,
        }
    }

    /// Whether the violation is complete, and there are turns after it: from now on, who has none waits wherever it is.
    #[must_use]
    pub fn is_after(&self) -> bool {
        matches!(&self.plan, Plan::Turns(turns) if turns.goes_on())
    }

    /// Whether this thread is such a one.
    #[must_use]
    pub fn is_through(&self, thread: ThreadId) -> bool {
        matches!(&self.plan, Plan::Turns(turns) if turns.goes_on() && turns.is_through(thread))
    }

    /// Those who may go on since the last call.
    pub fn woken(&mut self) -> impl Iterator<Item = ThreadId> {
        self.woken.drain(..)
    }

    /// What happened since the last call.
    pub fn news(&mut self) -> impl Iterator<Item = News> {
        self.news.drain(..)
    }

    fn thread(&mut self, thread: ThreadId) -> &mut Thread {
        self.threads.entry(thread).or_insert(Thread { standing: Standing::Running, stop: None, slept: 0 })
    }

    /// Lets everybody go on who may.
    fn settle(&mut self) {
        let waiting = self.threads.iter().filter(|(_, known)| known.standing == Standing::Waiting);
        let mut go: Vec<ThreadId> = waiting.map(|(&thread, _)| thread).collect();
        match &mut self.plan {
            Plan::Turns(turns) => go.retain(|&thread| turns.may_go(thread)),
            Plan::Chance(chance) => {
                let is_busy = |known: &Thread| matches!(known.standing, Standing::Running | Standing::Coming);
                let is_free = !self.threads.values().any(is_busy);
                go = if is_free { chance.choose(&go).into_iter().collect() } else { Vec::new() };
            }
        }
        for thread in go {
            self.thread(thread).standing = Standing::Running;
            self.woken.push(thread);
        }
    }

    /// Everybody waits for somebody. It is certain that nobody can end that, or nobody did so far.
    fn tell_deadlock(&mut self, is_closed: bool) {
        let waits = |known: &Thread| match known.standing {
            Standing::Blocked(_) | Standing::Asleep(_) | Standing::Outside => known.stop.is_some(),
            Standing::Coming | Standing::Running | Standing::Waiting => false,
        };
        if self.threads.is_empty() || !self.threads.values().all(waits) {
            return;
        }
        let is_certain = is_closed && !self.is_somebody_running();
        if self.told.is_none_or(|was_certain| is_certain && !was_certain) {
            let threads = self.threads.iter().filter_map(|(&thread, known)| Some((thread, known.stop?))).collect();
            self.news.push(News::Deadlock { threads, is_certain });
            self.told = Some(is_certain);
        }
    }
}

#[cfg(test)]
mod tests;
