//! Other passes of a run through the code of a violation: a prediction speaks of one, and the program may fail in another one only, of another thread,
//! object or argument.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;

use crate::predict::history::{At, History, Lane};
use crate::predict::prediction::{Prediction, Steps};
use crate::predict::search::{self, Budget, Order, Outcome};

/// Passes that are looked at.
const MOST_SEEN: usize = 1000;
/// Those of them for which an order is looked for.
const MOST_TRIED: usize = 32;

/// What tells passes from each other.
type Kind = (Lane, Lane, u32);

/// Other passes through the same code and the same block, as different ones as there are first, with an order that shows each. At most so many.
#[must_use]
pub fn others(history: &History, prediction: &Prediction, budget: Budget, most: usize) -> Vec<(Steps, Order)> {
    if !prediction.steps.are_of_one(history) {
        return Vec::new();
    }
    let find = |steps: Steps| match search::find(history, &steps.goal(history), budget) {
        Outcome::Feasible(order) => Some((steps, order)),
        Outcome::Infeasible | Outcome::Undecided => None,
    };
    let passes = spread(passes(history, prediction), history);
    passes.into_iter().filter(|steps| *steps != prediction.steps).take(MOST_TRIED).filter_map(find).take(most).collect()
}

/// Passes in which the accesses are at the same places, and the block's two in one invocation of the same code.
fn passes(history: &History, prediction: &Prediction) -> Vec<Steps> {
    let code = |at: At| history.step(at).code;
    let Steps { first, culprit, second, .. } = prediction.steps;
    let [first, culprit, second] = [first, culprit, second].map(code);
    let block = history.frames.code(prediction.block);
    let mut firsts: FxHashMap<(Lane, u32), At> = FxHashMap::default();
    let mut culprits: FxHashMap<u32, Vec<At>> = FxHashMap::default();
    let mut pairs = Vec::new();
    for at in 0..history.steps.len() as At {
        let step = history.step(at);
        if step.code == second && pairs.len() < MOST_SEEN {
            let before = firsts.get(&(step.lane, step.object)).copied();
            let around = |first: At| Some((first, history.frames.common(history.step(first).frame, step.frame)?));
            let pair = before.and_then(around).filter(|(_, common)| history.frames.code(*common) == block);
            pairs.extend(pair.map(|(first, _)| (first, at)));
        }
        if step.code == first {
            firsts.insert((step.lane, step.object), at);
        }
        if step.code == culprit {
            culprits.entry(step.object).or_default().push(at);
        }
    }
    let near = |(first, second): (At, At)| {
        let step = history.step(first);
        let others = culprits.get(&step.object).map_or(&[][..], |all| &all[..]);
        let is_other = |at: &&At| history.step(**at).lane != step.lane;
        let (before, after) = others.split_at(others.partition_point(|&at| at < first));
        let near = [before.iter().rfind(is_other), after.iter().find(is_other)];
        near.into_iter().flatten().map(move |&culprit| Steps::of_one(first, culprit, second))
    };
    pairs.into_iter().flat_map(near).collect()
}

/// The passes of each kind, the nearest of each kind first.
fn spread(mut passes: Vec<Steps>, history: &History) -> Vec<Steps> {
    let mut kinds: BTreeMap<Kind, VecDeque<Steps>> = BTreeMap::new();
    passes.sort_by_key(|steps| (steps.distance(), *steps));
    let kind = |steps: &Steps| {
        let [first, culprit] = [steps.first, steps.culprit].map(|at| history.step(at));
        (first.lane, culprit.lane, first.object)
    };
    for steps in passes {
        kinds.entry(kind(&steps)).or_default().push_back(steps);
    }
    let mut all = Vec::new();
    while !kinds.is_empty() {
        kinds.retain(|_, alike| {
            all.extend(alike.pop_front());
            !alike.is_empty()
        });
    }
    all
}
