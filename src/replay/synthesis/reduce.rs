//! The steps that a target needs, in an equivalent order with few switches between threads.
//!
//! **What is needed.** The steps with a role, and before each step that is needed all that it depends on: so every read sees what it saw in the given order, and
//! every lock is free when it is taken. What nothing depends on comes later, when all run freely.
//!
//! **Few switches.** A thread goes on as long as its next step depends on nothing that is still to come. Then the thread goes on to which the first
//! step belongs that is left of the given order: that one can. So each turn does at least what is left of one turn of the given
//! order, and there are no more turns than there.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Target;
use super::dependence::{Conflicts, Objects};
use crate::predict::history::{At, History};
use crate::predict::search::needs;

/// The steps that lead to a target, in an order that its own implies.
#[must_use]
pub fn reduce(history: &History, target: &Target) -> Vec<At> {
    let objects = Objects::new(history, target);
    let (needed, awaited) = needed(history, &objects, target);
    let waits = Waits::new(history, &objects, &needed, &awaited);
    in_few_turns(history, &needed, waits)
}

const TOUCHED: u8 = 1;
const CHANGED: u8 = 2;

/// What the target needs, in the given order, and those of it for which a step waits by its kind.
fn needed(history: &History, objects: &Objects<'_>, target: &Target) -> (Vec<At>, FxHashSet<At>) {
    let mut wanted: FxHashSet<At> =
        target.roles.iter().map(|&(at, _)| at).chain(target.after.iter().copied()).collect();
    let mut touched = vec![0; objects.count()];
    let mut has_more = vec![false; history.lanes.len()];
    let mut needed = Vec::new();
    let order = (0..target.order.from).chain(target.order.steps.iter().copied());
    for at in order.rev() {
        let touch = objects.touch(at);
        let is_in_conflict = touch
            .is_some_and(|touch| touched[touch.object as usize] & if touch.changes { TOUCHED } else { CHANGED } != 0);
        let more = &mut has_more[history.step(at).lane as usize];
        if !(*more || is_in_conflict || wanted.contains(&at)) {
            continue;
        }
        *more = true;
        if let Some(touch) = touch {
            touched[touch.object as usize] |= TOUCHED | if touch.changes { CHANGED } else { 0 };
        }
        wanted.extend(needs(history, at));
        needed.push(at);
    }
    needed.reverse();
    (needed, wanted)
}

/// For each step, by its place in an order, how many others it still waits for, and who waits for it.
struct Waits {
    counts: Vec<u32>,
    /// Those who wait for step `s` are between `offsets[s]` and `offsets[s + 1]`.
    waiting: Vec<u32>,
    offsets: Vec<u32>,
}

impl Waits {
    fn new(history: &History, objects: &Objects<'_>, order: &[At], awaited: &FxHashSet<At>) -> Waits {
        let mut conflicts = Conflicts::default();
        let mut places: FxHashMap<At, u32> = FxHashMap::default();
        let mut counts = vec![0; order.len()];
        let mut offsets = vec![0; order.len() + 1];
        let mut edges = Vec::new();
        for (place, &at) in (0..).zip(order) {
            let mut after = |before: u32| {
                counts[place as usize] += 1;
                offsets[before as usize + 1] += 1;
                edges.push((before, place));
            };
            let lane = history.step(at).lane;
            if let Some(touch) = objects.touch(at) {
                conflicts.step(touch, lane, place, &mut after);
            }
            needs(history, at)
                .filter(|&before| history.step(before).lane != lane)
                .filter_map(|before| places.get(&before).copied())
                .for_each(after);
            if awaited.contains(&at) {
                places.insert(at, place);
            }
        }
        for place in 1..offsets.len() {
            offsets[place] += offsets[place - 1];
        }
        let mut next = offsets.clone();
        let mut waiting = vec![0; edges.len()];
        for (before, place) in edges {
            let slot = &mut next[before as usize];
            waiting[*slot as usize] = place;
            *slot += 1;
        }
        Waits { counts, waiting, offsets }
    }

    fn is_ready(&self, place: u32) -> bool {
        self.counts[place as usize] == 0
    }

    fn done(&mut self, place: u32) {
        let range = self.offsets[place as usize] as usize..self.offsets[place as usize + 1] as usize;
        for &other in &self.waiting[range] {
            self.counts[other as usize] -= 1;
        }
    }
}

fn in_few_turns(history: &History, order: &[At], mut waits: Waits) -> Vec<At> {
    let mut lanes: Vec<VecDeque<u32>> = vec![VecDeque::new(); history.lanes.len()];
    for (place, &at) in (0..).zip(order) {
        lanes[history.step(at).lane as usize].push_back(place);
    }
    let mut reduced = Vec::with_capacity(order.len());
    let mut is_done = vec![false; order.len()];
    let mut first = 0;
    while let Some(&at) = order.get(first) {
        if is_done[first] {
            first += 1;
            continue;
        }
        let lane = &mut lanes[history.step(at).lane as usize];
        while let Some(&place) = lane.front().filter(|&&place| waits.is_ready(place)) {
            lane.pop_front();
            waits.done(place);
            is_done[place as usize] = true;
            reduced.push(order[place as usize]);
        }
    }
    reduced
}
