//! Two blocks and two variables, where by one variable the one block comes first and by the other variable the other: candidates for a
//! search.
//!
//! Such blocks may take each of two locks once, so neither windows of locks nor three accesses of one variable show them: a pair that is read
//! half before and half after it is written, or a log in another order than its table. Any two accesses in a block could be such a pair; they are bounded
//! by nearness, and to a few of each two code locations.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::clocks::Clocks;
use super::cut_points::Blocks;
use super::history::{At, History, Holds, Lane, NONE};
use super::prediction::Steps;

/// How candidates are bounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Accesses of a thread between the two.
    pub apart: usize,
    /// Pairs of the same two code locations.
    pub alike: usize,
    /// Whether both blocks may make their two accesses in one critical section each. If they respect its lock, neither comes between.
    pub same_section: bool,
}

impl Bounds {
    /// What is near, and in two critical sections of at least one block.
    pub const NEAR: Bounds = Bounds { apart: 8, alike: 64, same_section: false };
    /// All of a small run.
    pub const NONE: Bounds = Bounds { apart: usize::MAX, alike: usize::MAX, same_section: true };
}

/// For each two code locations, by which threads and of which variables pairs are known: where the latest of them is, and how many there were.
type Alike = FxHashMap<(u32, u32), FxHashMap<(Lane, u32, u32), (usize, u64)>>;

#[derive(Default)]
struct Found {
    /// Of each two variables.
    pairs: FxHashMap<(u32, u32), Vec<Pair>>,
    left_out: u64,
}

/// What was found.
#[derive(Default)]
pub struct Candidates {
    /// Of each class, the nearest first.
    pub classes: FxHashMap<Class, Vec<Steps>>,
    /// Pairs of accesses that were too many of their kind.
    pub left_out: u64,
}

/// Two accesses of one block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Pair {
    lane: Lane,
    /// Of the variable with the smaller number, and of the other.
    low: At,
    high: At,
    /// Both lie in one critical section.
    is_one_section: bool,
}

/// Candidates that agree in their code locations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Class {
    pub codes: [u32; 4],
}

/// Goes through the run.
#[must_use]
pub fn look_at(history: &History, clocks: &Clocks, blocks: Blocks, bounds: Bounds) -> Candidates {
    let mut found = Found::default();
    let mut alike: Alike = FxHashMap::default();
    for lane in 0..history.lanes.len() {
        collect(history, lane, blocks, bounds, &mut alike, &mut found);
    }
    let mut classes: FxHashMap<Class, Vec<Steps>> = FxHashMap::default();
    for pairs in found.pairs.values() {
        for (index, one) in pairs.iter().enumerate() {
            for other in pairs[index + 1..].iter().filter(|other| other.lane != one.lane) {
                let is_kept = bounds.same_section || !(one.is_one_section && other.is_one_section);
                let do_conflict = conflict(history, one.low, other.low) && conflict(history, one.high, other.high);
                if !is_kept || !do_conflict {
                    continue;
                }
                for steps in [
                    Steps { first: one.low, culprit: other.low, culprit_too: other.high, second: one.high },
                    Steps { first: one.high, culprit: other.high, culprit_too: other.low, second: one.low },
                ] {
                    let steps = in_order(steps);
                    if clocks.precedes(history, steps.culprit, steps.first)
                        || clocks.precedes(history, steps.second, steps.culprit_too)
                    {
                        continue;
                    }
                    let class = Class { codes: steps.all().map(|at| history.step(at).code) };
                    classes.entry(class).or_default().push(steps);
                }
            }
        }
    }
    for candidates in classes.values_mut() {
        candidates.sort_unstable_by_key(|steps| (steps.distance(), *steps));
        candidates.dedup();
    }
    Candidates { classes, left_out: found.left_out }
}

/// Seen from the block that comes to its own `first` access before its `second` one, if there is such a block: that one is split.
fn in_order(steps: Steps) -> Steps {
    let Steps { first, culprit, culprit_too, second } = steps;
    let turned = Steps { first: culprit_too, culprit: second, culprit_too: first, second: culprit };
    match (first < second, culprit_too < culprit) {
        (true, false) => steps,
        (false, true) => turned,
        // Either view is right: the one that began first in the run.
        _ if first <= culprit_too => steps,
        _ => turned,
    }
}

fn conflict(history: &History, one: At, other: At) -> bool {
    history.step(one).op.writes() || history.step(other).op.writes()
}

struct Recent {
    at: At,
    /// The outermost acquire of the section that it lies in.
    section: At,
}

fn collect(history: &History, lane: usize, blocks: Blocks, bounds: Bounds, alike: &mut Alike, found: &mut Found) {
    let mut recent: VecDeque<Recent> = VecDeque::new();
    let mut section = NONE;
    for &at in &history.lanes[lane] {
        let step = history.step(at);
        if step.hold == Holds::NOTHING {
            section = if step.op.is_access() { NONE } else { at };
        }
        if !step.op.is_access() {
            continue;
        }
        let section = if step.hold == Holds::NOTHING { NONE } else { section };
        for before in recent.iter().rev() {
            let earlier = history.step(before.at);
            let is_one_section = section != NONE && before.section == section;
            if earlier.object == step.object {
                continue;
            }
            let Some(block) = blocks.around(history, before.at, at) else { break };
            if matches!(blocks, Blocks::All) && history.frames.is_base(block) {
                continue;
            }
            let (low, high) = if earlier.object < step.object { (before.at, at) } else { (at, before.at) };
            let variables = (history.step(low).object, history.step(high).object);
            let pair = Pair { lane: lane as Lane, low, high, is_one_section };
            let known = alike.entry((earlier.code, step.code)).or_default();
            let is_full = known.len() >= bounds.alike;
            match known.entry((lane as Lane, variables.0, variables.1)) {
                Entry::Vacant(_) if is_full => found.left_out += 1,
                Entry::Vacant(place) => {
                    let of_these = found.pairs.entry(variables).or_default();
                    place.insert((of_these.len(), 1));
                    of_these.push(pair);
                }
                Entry::Occupied(mut place) => {
                    let of_these = found.pairs.entry(variables).or_default();
                    let (latest, count) = place.get_mut();
                    // What comes first is often before there are other threads, so the latest is kept beside it.
                    if *count == 1 || bounds.alike == usize::MAX {
                        *latest = of_these.len();
                        of_these.push(pair);
                    } else {
                        of_these[*latest] = pair;
                    }
                    *count += 1;
                }
            }
        }
        recent.push_back(Recent { at, section });
        if recent.len() > bounds.apart {
            recent.pop_front();
        }
    }
}
