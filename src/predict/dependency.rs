//! What two accesses have to do with each other, by the program's code: whether a value that is read is of use in a write, or two values in the same one,
//! or decides what its thread does next.
//!
//! A run tells where values are read and written, but not what becomes of them in between. Where the code is not known, nothing is known, and a finding
//! says that a dependency is assumed.

use super::analyse::{Filtered, Report};
use super::filter::Reason;
use super::history::{At, History};
use super::prediction::{Prediction, Shape, Steps};
use super::views::{Access, Block, Views};
use crate::causal::Answer;

/// Who knows the program's code: see [`History::code`].
pub trait Dependencies: Send + Sync {
    /// Whether what is read may be of use in what is written.
    fn direct(&self, history: &History, read: At, write: At) -> Answer;
    /// Whether both that are read may be of use in one write.
    fn common(&self, history: &History, one: At, other: At) -> Answer;
    /// Whether both that are read are put together in one value. That one decides whether the other is of use does not count.
    fn put_together(&self, history: &History, one: At, other: At) -> Answer;
    /// The same in the function around both, or in what that gives both to.
    fn come_together(&self, history: &History, one: At, other: At) -> Answer;
    /// Whether what is read may decide whether its thread comes to a later step, what that is about, or what else the thread does on the way.
    fn steers(&self, history: &History, read: At, step: At) -> bool;
    /// Whether the function around both gets from the one to the other only in a new turn of a loop.
    fn goes_back(&self, history: &History, one: At, other: At) -> bool;
}

/// Holds what was predicted against the code: what is independent is filtered, and what depends says how.
pub fn judge(report: &mut Report, history: &History, views: Option<&Views>) {
    let mut kept = Vec::new();
    for mut prediction in report.predictions.drain(..) {
        let Prediction { shape, steps, .. } = prediction;
        let mut drop = |reason| report.filtered.push(Filtered { shape, steps, reason });
        let counts = || views.filter(|_| shape == Shape::View).and_then(|views| counts(history, views, &steps));
        match answer(&prediction, history).or_else(counts) {
            Some(Answer::Independent) if history.step(steps.first).op.writes() => drop(Reason::CountedOn),
            Some(Answer::Independent) => drop(Reason::Independent),
            _ if shape == Shape::Stale && views.is_some_and(|views| is_acted_on(history, views, &steps)) => {
                drop(Reason::ActedOn);
            }
            answer => {
                prediction.dependency = answer;
                kept.push(prediction);
            }
        }
    }
    report.predictions = kept;
}

/// Whether the block that reads a value also acts on it, as in the rules of `lint`: it changes the variable, or writes another one because of it. A
/// count of such reads is nothing that anybody acts on.
fn is_acted_on(history: &History, views: &Views, &Steps { first: read, second, .. }: &Steps) -> bool {
    let step = history.step(read);
    let lane = step.lane;
    let direct = |write| history.code.as_ref().map_or(Answer::Unknown, |code| code.direct(history, read, write));
    let is_around = |block: &&Block| block.begin <= read && read <= block.end && block.end < second;
    views.blocks(lane).iter().filter(is_around).any(|block| {
        views.view(lane, block, Access::Write).iter().any(|write| {
            if write.last < read {
                // Then it reads its own.
                return write.variable == step.object;
            }
            let is_counted = || {
                let old = views.touch(lane, block, Access::Read, write.variable);
                old.is_some_and(|old| old.first < write.last)
            };
            match direct(write.last) {
                Answer::Independent => false,
                Answer::Unknown => write.variable == step.object,
                Answer::Depends(_) => write.variable == step.object || !is_counted(),
            }
        })
    })
}

/// What two writes have to do with each other for who reads both. If one of them makes the new value of its variable from the old one, it fits
/// whatever was there, and if who reads both makes nothing from them either, they are independent, as in the rules of `lint`. Without the code it may be so
/// if the block reads the old value. Nothing where neither is a question.
fn counts(history: &History, views: &Views, steps: &Steps) -> Option<Answer> {
    let &Steps { first, culprit, culprit_too, second } = steps;
    if ![first, second].iter().all(|&at| history.step(at).op.writes()) {
        return None;
    }
    let mut counts =
        [first, second].into_iter().flat_map(|write| old_values(history, views, write).map(move |old| (old, write)));
    let Some(code) = history.code.as_ref() else { return counts.next().map(|_| Answer::Unknown) };
    let is_count = counts.any(|(old, write)| matches!(code.direct(history, old, write), Answer::Depends(_)));
    let is_independent = is_count && code.put_together(history, culprit, culprit_too) == Answer::Independent;
    is_independent.then_some(Answer::Independent)
}

/// Where the blocks around a write read what it writes over.
fn old_values(history: &History, views: &Views, write: At) -> impl Iterator<Item = At> {
    let step = history.step(write);
    let around = move |block: &&Block| block.begin <= write && write <= block.end;
    views.blocks(step.lane).iter().filter(around).filter_map(move |block| {
        let old = views.touch(step.lane, block, Access::Read, step.object)?;
        (old.first <= write).then_some(old.first)
    })
}

/// Nothing where no dependency is needed: what is written in parts is torn for whoever reads it all.
fn answer(prediction: &Prediction, history: &History) -> Option<Answer> {
    let Steps { first, second, .. } = prediction.steps;
    let reads = |at| history.step(at).op.reads();
    let ask = |question: fn(&dyn Dependencies, &History, At, At) -> Answer| {
        Some(history.code.as_ref().map_or(Answer::Unknown, |code| question(code.as_ref(), history, first, second)))
    };
    match prediction.shape {
        Shape::Stale => ask(|code, history, read, write| code.direct(history, read, write)),
        Shape::View if reads(first) && reads(second) => {
            ask(|code, history, one, other| code.common(history, one, other))
        }
        _ => None,
    }
}
