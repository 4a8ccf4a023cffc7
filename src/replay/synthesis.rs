//! From orders of a run's steps to schedules for the program itself.
//!
//! ```text
//! order ─ reduce (what the target needs, in few turns) ─ stops (where that has to be enforced) ─ pass (every event there) ─ schedule
//! ```
//!
//! What is not needed is left out, and comes when all turns are over: see [`reduce()`].

mod dependence;
mod pass;
mod places;
mod reduce;
mod stops;

use std::fmt;

use rustc_hash::{FxHashMap, FxHashSet};

use super::schedule::{Act, Role, Schedule, Turn};
use crate::event::ThreadId;
use crate::predict::history::{At, History, NONE, Op};
use crate::predict::prediction::{Prediction, Shape, Steps};
use crate::predict::search::Order;
use crate::report::symbols::Symbols;
use crate::trace::reader::Trace;
use pass::{Part, Sheet};
use places::Places;
pub use reduce::reduce;
use stops::Stops;

/// What a schedule is to lead to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    pub roles: Vec<(At, Role)>,
    /// In this order they show the violation.
    pub order: Order,
    /// Steps at the end of the order that are wanted too, though the violation needs none of them.
    pub after: Vec<At>,
}

impl Target {
    #[must_use]
    pub fn of_prediction(prediction: &Prediction) -> Target {
        Target::of_steps(&prediction.steps, prediction.shape, prediction.order.clone())
    }

    #[must_use]
    pub fn of_steps(steps: &Steps, shape: Shape, order: Order) -> Target {
        let second = if shape == Shape::Stale { Role::Use } else { Role::Second };
        let mut roles = vec![(steps.first, Role::First), (steps.culprit, Role::Culprit), (steps.second, second)];
        if !steps.have_one_culprit() {
            roles.push((steps.culprit_too, Role::CulpritToo));
        }
        Target { roles, order, after: Vec::new() }
    }
}

/// Why there is no schedule for a target.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unschedulable {
    /// The recording lost events on the way.
    Lost,
    /// The events of the trace are not those that the history was made of.
    Incomplete,
    /// This code lies in no file.
    NoFile(u64),
    /// A step of the violation cannot be stopped at.
    NoStop(Role),
}

impl fmt::Display for Unschedulable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unschedulable::Lost => {
                f.write_str("events on the way were lost while the program was recorded; record it again")
            }
            Unschedulable::Incomplete => {
                f.write_str("not all of the trace can be read any more; record the program again")
            }
            Unschedulable::NoFile(pc) => {
                write!(f, "the code at {pc:#x} on the way is in no file, so it cannot be found in another run")
            }
            Unschedulable::NoStop(role) => {
                write!(
                    f,
                    "threads cannot be stopped at the {} step: where in the code it was is not known",
                    role.word()
                )
            }
        }
    }
}

impl std::error::Error for Unschedulable {}

/// Makes the schedules of all targets. The history must have been made with numbers: see [`crate::predict::history::Config`].
pub fn schedules(
    trace: &Trace,
    history: &History,
    targets: &[Target],
    symbols: &mut Symbols,
) -> Vec<Result<Schedule, Unschedulable>> {
    let places = Places::of(trace);
    let mut sheets = Vec::new();
    let begun: Vec<Result<(usize, Schedule), Unschedulable>> = targets
        .iter()
        .map(|target| {
            let (schedule, sheet) = begin(history, target, &places, symbols)?;
            sheets.push(sheet);
            Ok((sheets.len() - 1, schedule))
        })
        .collect();
    pass::fill(trace, &mut sheets);
    let finish = |begun: Result<(usize, Schedule), Unschedulable>| {
        let (index, mut schedule) = begun?;
        let sheet: &mut Sheet = &mut sheets[index];
        for &place in &sheet.volatile {
            schedule.places[place as usize].act = Act::Write;
        }
        match sheet.problem {
            Some(problem) => Err(problem),
            None => Ok(Schedule { turns: sheet.filled(), ..schedule }),
        }
    };
    begun.into_iter().map(finish).collect()
}

/// The number that each thread has when a program does these steps. Threads count as they are created, and that may be another order than that of
/// the recorded run.
#[must_use]
pub fn numbers(history: &History, order: &[At]) -> Vec<ThreadId> {
    let mut numbers = history.threads.clone();
    let fork = |steps: &Vec<At>| steps.first().map_or(NONE, |&start| history.step(start).link);
    let forks: FxHashMap<At, usize> = history.lanes.iter().map(fork).zip(0..).filter(|(at, _)| *at != NONE).collect();
    let mut given: Vec<ThreadId> = forks.values().map(|&lane| history.threads[lane]).collect();
    given.sort_unstable();
    for (&lane, number) in order.iter().filter_map(|at| forks.get(at)).zip(given) {
        numbers[lane] = number;
    }
    numbers
}

/// Finds out what has to be in a schedule.
fn begin(
    history: &History,
    target: &Target,
    places: &Places,
    symbols: &mut Symbols,
) -> Result<(Schedule, Sheet), Unschedulable> {
    let order = reduce(history, target);
    if order.iter().any(|&at| history.step(at).op == Op::Gap) {
        return Err(Unschedulable::Lost);
    }
    if let Some(&(_, role)) = target.roles.iter().find(|&&(at, _)| stops::act(history, at).is_none()) {
        return Err(Unschedulable::NoStop(role));
    }
    let Stops { turns, barriers } = Stops::new(history, target, &order);
    let all = turns.iter().flat_map(|turn| &turn.stops).chain(&barriers);
    let keys = all.filter_map(|&at| stops::act(history, at).map(|act| pass::key(history.pc(at), act)));
    let (schedule, keys) = places.list(keys, symbols)?;
    let mut parts: FxHashMap<_, Part> = FxHashMap::default();
    for (number, turn) in (0..).zip(&turns) {
        let part = parts.entry(history.threads[turn.lane as usize]).or_default();
        let last = turn.stops.last().and_then(|&at| history.number(at)).ok_or(Unschedulable::Incomplete)?;
        // An access of several variables is several steps, and one event: it belongs to the turn of the first.
        if part.turns.last().is_none_or(|&(_, before)| before < last) {
            part.turns.push((number, last));
        }
    }
    for &(at, role) in &target.roles {
        let number = history.number(at).ok_or(Unschedulable::Incomplete)?;
        parts.entry(history.thread(at)).or_default().roles.push((number, role));
    }
    let numbers = numbers(history, &order);
    let has_turn = |lane| turns.iter().any(|turn| turn.lane == lane);
    let idle = barriers.iter().map(|&at| history.step(at).lane).filter(|&lane| !has_turn(lane));
    let idle = idle.map(|lane| numbers[lane as usize]).collect();
    let turns = turns.iter().map(|turn| Turn::new(numbers[turn.lane as usize], Vec::new()));
    let sheet =
        Sheet { places: keys, parts, turns: turns.collect(), idle, volatile: FxHashSet::default(), problem: None };
    Ok((schedule, sheet))
}
