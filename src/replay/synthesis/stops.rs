//! At which steps of an order threads have to stop, so that the order comes about.
//!
//! They stop at all synchronisation and atomic operations that lead to the target, and at the steps with a role. Of plain accesses those are left that race: the
//! order of two is certain if the first one's thread comes to a stop, or the access is one, in an earlier turn than the last stop of
//! the other one's thread before its access. Otherwise both are stops.
//!
//! A thread that has done its part waits at the next stop that it comes to. There must be one before it does anything that those who still have turns
//! would notice: a barrier.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Target;
use super::dependence::{Conflicts, Objects};
use crate::predict::history::{At, History, Lane, NONE, Op};
use crate::replay::schedule::Act;

/// What a thread does in a turn: those steps of it that are stops. None of it is empty.
pub struct Turn {
    pub lane: Lane,
    pub stops: Vec<At>,
}

/// Where threads stop.
pub struct Stops {
    pub turns: Vec<Turn>,
    /// Steps that nobody comes to before the turns are over.
    pub barriers: Vec<At>,
}

/// What the gate sees of a step, if it does.
pub fn act(history: &History, at: At) -> Option<Act> {
    let act = match history.step(at).op {
        Op::Acquire | Op::AcquireShared | Op::Refused => Act::Lock,
        Op::Release => Act::Unlock,
        Op::Signal => Act::Signal,
        Op::Await if is_inner(history, at) => return None,
        Op::Await => Act::Await,
        Op::Fork => Act::Fork,
        Op::Start => Act::Start,
        Op::End => return Some(Act::End),
        Op::Join => Act::Join,
        Op::Load | Op::Store | Op::Update | Op::Exchange | Op::Attempt => Act::Atomic,
        Op::Read => Act::Read,
        Op::Write => Act::Write,
        Op::Free => Act::Free,
        Op::Gap => return None,
    };
    (history.pc(at) != 0).then_some(act)
}

/// Whether a wait is a part of an operation that tells others something first, as of a condition or a barrier. A thread that stops in the middle of it has not
/// told them, and they would never go on.
fn is_inner(history: &History, at: At) -> bool {
    let steps = &history.lanes[history.step(at).lane as usize];
    let place = steps.partition_point(|&step| step < at);
    let is_same = |other: Option<&At>, ops: &[Op]| {
        other.is_some_and(|&other| history.pc(other) == history.pc(at) && ops.contains(&history.step(other).op))
    };
    is_same(place.checked_sub(1).and_then(|before| steps.get(before)), &[Op::Signal, Op::Release])
        || is_same(steps.get(place + 1), &[Op::Acquire])
}

const fn is_plain(op: Op) -> bool {
    matches!(op, Op::Read | Op::Write | Op::Free)
}

impl Stops {
    pub fn new(history: &History, target: &Target, order: &[At]) -> Stops {
        let roles: FxHashSet<At> = target.roles.iter().map(|&(at, _)| at).collect();
        let is_stop = |at: &At| (!is_plain(history.step(*at).op) || roles.contains(at)) && act(history, *at).is_some();
        let mut is_stop: Vec<bool> = order.iter().map(is_stop).collect();
        stop_at_races(history, target, order, &mut is_stop);
        Stops { turns: turns(history, order, &is_stop), barriers: barriers(history, order) }
    }
}

/// The number of each step's turn.
fn numbers_of_turns(history: &History, order: &[At]) -> Vec<u32> {
    let mut turn = 0;
    let mut last = None;
    let number = |&at: &At| {
        let lane = history.step(at).lane;
        turn += u32::from(last.replace(lane).is_some_and(|last| last != lane));
        turn
    };
    order.iter().map(number).collect()
}

fn stop_at_races(history: &History, target: &Target, order: &[At], is_stop: &mut [bool]) {
    let turns = numbers_of_turns(history, order);
    let lane_of = |place: usize| history.step(order[place]).lane as usize;
    // The turn of the next stop of the step's thread, and of the last one, the step itself included.
    let mut next = vec![u32::MAX; order.len()];
    let mut nearest = vec![u32::MAX; history.lanes.len()];
    for place in (0..order.len()).rev() {
        let nearest = &mut nearest[lane_of(place)];
        if is_stop[place] {
            *nearest = turns[place];
        }
        next[place] = *nearest;
    }
    let objects = Objects::new(history, target);
    let mut conflicts = Conflicts::default();
    let mut nearest = vec![None; history.lanes.len()];
    let mut races = Vec::new();
    for (place, &at) in order.iter().enumerate() {
        let lane = lane_of(place);
        if is_stop[place] {
            nearest[lane] = Some(turns[place]);
        }
        let last: Option<u32> = nearest[lane];
        let touch = objects.touch(at).filter(|_| history.step(at).op.is_access());
        let Some(touch) = touch else { continue };
        conflicts.step(touch, lane as Lane, place as u32, |before| {
            let is_certain = last.is_some_and(|last| next[before as usize] < last);
            if !is_certain {
                races.extend([before as usize, place]);
            }
        });
    }
    for place in races {
        is_stop[place] = act(history, order[place]).is_some();
    }
}

fn turns(history: &History, order: &[At], is_stop: &[bool]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for (&at, _) in order.iter().zip(is_stop).filter(|(_, is_stop)| **is_stop) {
        let lane = history.step(at).lane;
        match turns.last_mut().filter(|turn| turn.lane == lane) {
            Some(turn) => turn.stops.push(at),
            None => turns.push(Turn { lane, stops: vec![at] }),
        }
    }
    turns
}

/// Of each thread that has begun, the first step behind its part that the others would notice.
fn barriers(history: &History, order: &[At]) -> Vec<At> {
    let mut done = vec![0; history.lanes.len()];
    let mut forks = FxHashSet::default();
    // Of each variable, one thread that touches it, or none if there are several.
    let mut touched: FxHashMap<u32, Option<Lane>> = FxHashMap::default();
    for &at in order {
        let step = history.step(at);
        done[step.lane as usize] += 1;
        if step.op == Op::Fork {
            forks.insert(at);
        }
        if step.op.is_access() {
            touched
                .entry(step.object)
                .and_modify(|lane| *lane = lane.filter(|&lane| lane == step.lane))
                .or_insert(Some(step.lane));
        }
    }
    let is_noticed = |&at: &At| {
        let step = history.step(at);
        let is_among_others = || touched.get(&step.object).is_some_and(|&lane| lane != Some(step.lane));
        act(history, at).is_some() && (!is_plain(step.op) || step.op.writes() && is_among_others())
    };
    let lanes = history.lanes.iter().zip(done).filter_map(|(lane, done)| {
        // A fork that is a stop, and not among these steps, waits with the others.
        let fork = lane.first().map_or(NONE, |&start| history.step(start).link);
        let is_unborn = done == 0 && fork != NONE && !forks.contains(&fork) && act(history, fork).is_some();
        if is_unborn {
            return None;
        }
        lane[done..].iter().copied().find(is_noticed)
    });
    lanes.collect()
}
