//! All runs of a scenario.
//!
//! The plain search takes every step that can be taken, in every state. The reduced one shows at least one run of every class of
//! runs that differ only in the order of steps that commute. Such runs have the same [`super::graph`], so they show the same
//! [`super::facts`]: what was read from where, what came between what, deadlocks, failed assertions, cycles.
//!
//! Why the reduction keeps every class:
//!
//! - In each state it takes the steps of a *persistent* set of threads only: whatever the others do, as long as these threads
//!   stand still, commutes with their next steps and does not make them possible or impossible. Any run on from here contains a
//!   step of the set (otherwise those steps could still be taken at its end), and the first such step can be moved to the front. The set
//!   is closed under "some later step of that thread, or of one that it may fork, touches what the next step here touches".
//! - A thread *sleeps* after one of its steps was taken and all runs from there were seen, until a step is taken that does not commute
//!   with it: what would follow was seen then, in another order.
//!
//! Every run ends, since loops are bounded; so no step is put off for ever.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::machine::{Machine, State, Taken};
use super::program::{Code, Operation, Program};
use super::run::{MOST_STEPS as LONGEST, Run};
use super::tree::ThreadIndex;

/// One bit per thread.
type Threads = u64;

fn each(mut threads: Threads) -> impl Iterator<Item = ThreadIndex> {
    std::iter::from_fn(move || {
        let first = (threads != 0).then(|| threads.trailing_zeros() as usize);
        threads &= threads.wrapping_sub(1);
        first
    })
}

/// Which runs are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Search {
    /// Every run.
    Plain,
    /// One of each class of runs that differ in the order of independent steps only, and perhaps a few more.
    Reduced,
}

/// How a search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Explored {
    pub runs: u64,
    pub steps: u64,
    /// Whether all runs were shown that should be.
    pub is_complete: bool,
}

/// A state on the way, and what is still to be tried there.
struct Frame {
    state: State,
    logged: usize,
    todo: Threads,
    /// Who need not be tried below: their steps were, from here or from above.
    asleep: Threads,
}

/// Shows the runs of a scenario to `visit`, until it breaks off or `most_steps` steps were taken. Runs of more than
/// [`LONGEST`](super::run::MOST_STEPS) steps are left out.
pub fn explore(
    machine: &Machine<'_>,
    search: Search,
    most_steps: u64,
    visit: &mut dyn FnMut(&Run) -> ControlFlow<()>,
) -> Explored {
    let futures = match search {
        Search::Plain => Futures::default(),
        Search::Reduced => Futures::new(machine.program),
    };
    let mut explored = Explored { is_complete: true, ..Explored::default() };
    let mut run = Run { order: Vec::new(), log: Vec::new(), stuck: Vec::new() };
    let state = machine.start(&mut run.log);
    let mut path = vec![open(machine, &futures, search, state, run.log.len(), 0)];
    if !show(machine, &path[0], &mut run, &mut explored, visit) {
        return Explored { is_complete: false, ..explored };
    }
    while let Some(frame) = path.last_mut() {
        run.log.truncate(frame.logged);
        run.order.truncate(path.len() - 1);
        let frame = &mut path[run.order.len()];
        let Some(thread) = each(frame.todo).next() else {
            path.pop();
            continue;
        };
        if explored.steps == most_steps {
            return Explored { is_complete: false, ..explored };
        }
        if run.order.len() == LONGEST {
            explored.is_complete = false;
            path.pop();
            continue;
        }
        explored.steps += 1;
        frame.todo &= !(1 << thread);
        let asleep = each(frame.asleep).filter(|&other| commute(machine, &frame.state, thread, other));
        let asleep = asleep.fold(0, |set, other| set | 1 << other);
        if search == Search::Reduced {
            frame.asleep |= 1 << thread;
        }
        let mut state = frame.state.clone();
        machine.step(&mut state, thread, &mut run.log);
        run.order.push(thread);
        path.push(open(machine, &futures, search, state, run.log.len(), asleep));
        if !show(machine, &path[run.order.len()], &mut run, &mut explored, visit) {
            return Explored { is_complete: false, ..explored };
        }
    }
    explored
}

/// Shows the run if it is at its end. False if nothing more is wanted.
fn show(
    machine: &Machine<'_>,
    frame: &Frame,
    run: &mut Run,
    explored: &mut Explored,
    visit: &mut dyn FnMut(&Run) -> ControlFlow<()>,
) -> bool {
    if able(machine, &frame.state) != 0 {
        return true;
    }
    run.stuck = machine.standing(&frame.state);
    explored.runs += 1;
    visit(run).is_continue()
}

fn able(machine: &Machine<'_>, state: &State) -> Threads {
    let threads = 0..machine.program.threads.len();
    threads.filter(|&thread| machine.can_step(state, thread)).fold(0, |set, thread| set | 1 << thread)
}

fn open(
    machine: &Machine<'_>,
    futures: &Futures,
    search: Search,
    state: State,
    logged: usize,
    asleep: Threads,
) -> Frame {
    let able = able(machine, &state);
    let todo = match search {
        Search::Plain => able,
        Search::Reduced => futures.persistent(machine, &state, able) & !asleep,
    };
    Frame { state, logged, todo, asleep }
}

fn next<'m>(machine: &'m Machine<'_>, state: &State, thread: ThreadIndex) -> Option<&'m Operation> {
    machine.next(state, thread).map(|place| &machine.program.at(place).operation)
}

/// Whether the next steps of two threads commute.
fn commute(machine: &Machine<'_>, state: &State, one: ThreadIndex, other: ThreadIndex) -> bool {
    let (Some(one), Some(other)) = (next(machine, state, one), next(machine, state, other)) else { return true };
    Machine::touches(one).all(|one| {
        Machine::touches(other).all(|other| one.object != other.object || !(one.exclusive || other.exclusive))
    })
}

/// What a thread may still do.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Future {
    /// Objects that it may touch, and those that it may touch exclusively.
    touched: Objects,
    changed: Objects,
    /// Threads that it may fork.
    forked: Threads,
}

/// One bit per object; see the limit on objects.
type Objects = [u64; 4];

fn contains(set: &Objects, object: usize) -> bool {
    set.get(object / 64).is_none_or(|word| word >> (object % 64) & 1 == 1)
}

fn insert(set: &mut Objects, object: usize) {
    if let Some(word) = set.get_mut(object / 64) {
        *word |= 1 << (object % 64);
    }
}

impl Future {
    fn add(&mut self, other: &Future) {
        for (set, more) in [(&mut self.touched, &other.touched), (&mut self.changed, &other.changed)] {
            set.iter_mut().zip(more).for_each(|(word, more)| *word |= more);
        }
        self.forked |= other.forked;
    }
}

/// For each instruction of each thread, what may come from there on.
#[derive(Default)]
struct Futures(Vec<Vec<Future>>);

impl Futures {
    fn new(program: &Program) -> Futures {
        let empty = |code: &Code| vec![Future::default(); code.instructions.len() + 1];
        let mut futures = Futures(program.threads.iter().map(empty).collect());
        // Until nothing changes: a fork adds the future of the whole child, a loop leads back.
        while (0..program.threads.len()).any(|thread| futures.refine(program, thread)) {}
        futures
    }

    fn refine(&mut self, program: &Program, thread: ThreadIndex) -> bool {
        let mut changed = false;
        for (index, instruction) in program.threads[thread].instructions.iter().enumerate().rev() {
            let mut future = self.0[thread][index];
            for touch in Machine::touches(&instruction.operation) {
                insert(&mut future.touched, touch.object);
                if touch.exclusive {
                    insert(&mut future.changed, touch.object);
                }
            }
            if let Operation::Fork(child) = instruction.operation {
                future.forked |= 1 << child;
                future.add(&self.0[child][0]);
            }
            for next in instruction.operation.successors(index as u32) {
                future.add(&self.0[thread][next as usize]);
            }
            changed |= std::mem::replace(&mut self.0[thread][index], future) != future;
        }
        changed
    }

    /// The smallest persistent set that the closure gives, of those who can take a step.
    fn persistent(&self, machine: &Machine<'_>, state: &State, able: Threads) -> Threads {
        let sets = each(able).map(|seed| self.closure(machine, state, seed) & able);
        sets.min_by_key(|set| set.count_ones()).unwrap_or(0)
    }

    fn closure(&self, machine: &Machine<'_>, state: &State, seed: ThreadIndex) -> Threads {
        let mut set: Threads = 1 << seed;
        let mut looked: Threads = 0;
        while let Some(thread) = each(set & !looked).next() {
            looked |= 1 << thread;
            let Some(operation) = next(machine, state, thread) else { continue };
            for (other, code) in self.0.iter().enumerate() {
                let Some(place) = machine.next(state, other) else { continue };
                let future = &code[place.index as usize];
                let meets = Machine::touches(operation).any(|touch| {
                    let objects = if touch.exclusive { &future.touched } else { &future.changed };
                    contains(objects, touch.object)
                });
                // Who is waited for, or may still fork it.
                let is_awaited = matches!(*operation, Operation::Join(child)
                    if child == other || machine.next(state, child).is_none() && future.forked >> child & 1 == 1);
                if meets || is_awaited {
                    set |= 1 << other;
                }
            }
        }
        set
    }
}

/// How many runs there are, told apart by the order of all their steps; the count stops at the largest number that there is. `None`
/// if counting takes more memory or more steps than that.
#[must_use]
pub fn count_runs(machine: &Machine<'_>, most_bytes: usize, most_steps: u64) -> Option<u128> {
    let mut log: Vec<Taken> = Vec::new();
    let first = machine.start(&mut log);
    // Twice: a map has room to spare.
    let most_states = most_bytes / (2 * (size_of_val(first.words()) + size_of::<(State, u128)>()));
    let mut counts: HashMap<State, u128> = HashMap::new();
    // A state, who is still to be tried from there, and what was counted so far.
    let mut path = vec![(first.clone(), able(machine, &first), u128::from(able(machine, &first) == 0))];
    let mut steps = 0;
    loop {
        if steps > most_steps || path.len() + counts.len() > most_states {
            return None;
        }
        let (state, todo, _) = path.last_mut()?;
        if let Some(thread) = each(*todo).next() {
            steps += 1;
            *todo &= !(1 << thread);
            let mut after = state.clone();
            log.clear();
            machine.step(&mut after, thread, &mut log);
            let able = able(machine, &after);
            path.push(match counts.get(&after) {
                Some(&count) => (after, 0, count),
                None => (after, able, u128::from(able == 0)),
            });
            continue;
        }
        let (state, _, count) = path.pop()?;
        counts.insert(state, count);
        match path.last_mut() {
            None => return Some(count),
            Some((_, _, sum)) => *sum = sum.saturating_add(count),
        }
    }
}
