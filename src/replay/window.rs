//! From a window, two critical sections of one block on one lock, to an order in which another thread's section lies between them.
//!
//! A window names code locations. The history may have many acquires there; those that lie nearest to each other are tried first: first so that
//! everything is read that was read in the run, and if that cannot be, whatever is read. A recording without accesses knows no more than the locks anyway.

use super::schedule::Role;
use super::synthesis::Target;
use crate::analysis::{AcquireSite, Transaction, Violation};
use crate::predict::history::{At, History, NONE, Op};
use crate::predict::search::{self, Budget, Goal, Outcome};

/// Instances of a window that are tried.
const MOST_TRIED: usize = 8;

/// Three acquires of one lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
struct Instance {
    /// Steps of the run between the first and the last of the three.
    span: At,
    first: At,
    culprit: At,
    second: At,
}

/// An order in which the window is split.
#[must_use]
pub fn target(history: &History, window: &Violation, budget: Budget) -> Option<Target> {
    let instances = instances(history, window);
    let find = |instance: &Instance, ignores_reads| {
        let goal = Goal { ignores_reads, ..goal(history, instance)? };
        match search::find(history, &goal, budget) {
            Outcome::Feasible(order) => {
                let Instance { first, culprit, second, .. } = *instance;
                let roles = vec![(first, Role::First), (culprit, Role::Culprit), (second, Role::Second)];
                Some(Target { roles, order, after: Vec::new() })
            }
            Outcome::Infeasible | Outcome::Undecided => None,
        }
    };
    [false, true].into_iter().find_map(|ignores_reads| instances.iter().find_map(|it| find(it, ignores_reads)))
}

/// The first section is over before the culprit's begins, and that one before the second begins.
fn goal(history: &History, instance: &Instance) -> Option<Goal> {
    let release = |acquire| Some(history.step(acquire).link).filter(|&release| release != NONE);
    let order = vec![(release(instance.first)?, instance.culprit), (release(instance.culprit)?, instance.second)];
    Some(Goal { order, ..Goal::default() })
}

/// The acquires of a thread at a code location, of locks at an address.
fn acquires<'h>(history: &'h History, site: &AcquireSite, lock: u64) -> impl Iterator<Item = At> + use<'h> {
    let code = history.codes().iter().position(|&pc| pc == site.pc);
    let lane = history.threads.iter().position(|&thread| thread == site.thread);
    let steps = lane.map_or(&[][..], |lane| &history.lanes[lane]);
    steps.iter().copied().filter(move |&at| {
        let step = history.step(at);
        code == Some(step.code as usize)
            && matches!(step.op, Op::Acquire | Op::AcquireShared)
            && history.locks[step.object as usize].address == lock
    })
}

/// Where a window is in the run, the nearest first.
fn instances(history: &History, window: &Violation) -> Vec<Instance> {
    let firsts: Vec<At> = acquires(history, &window.first, window.lock).collect();
    let culprits: Vec<At> = acquires(history, &window.culprit, window.lock).collect();
    let mut found = Vec::new();
    for second in acquires(history, &window.second, window.lock) {
        let before = firsts.partition_point(|&first| first < second);
        let Some(&first) = firsts[..before].last() else { continue };
        if !are_in_one_block(history, window, first, second) {
            continue;
        }
        let lock = history.step(first).object;
        let is_of_lock = |culprit: &&At| history.step(**culprit).object == lock;
        let (earlier, later) = culprits.split_at(culprits.partition_point(|&culprit| culprit < first));
        let near = [earlier.iter().rfind(is_of_lock), later.iter().find(is_of_lock)];
        found.extend(near.into_iter().flatten().map(|&culprit| {
            let span = second.max(culprit) - first.min(culprit);
            Instance { span, first, culprit, second }
        }));
    }
    found.sort_unstable();
    found.truncate(MOST_TRIED);
    found
}

/// Whether two acquires of a lock lie in one invocation of the block that the window is about.
fn are_in_one_block(history: &History, window: &Violation, first: At, second: At) -> bool {
    if history.step(first).object != history.step(second).object {
        return false;
    }
    let blocks = &window.first.stack[..window.common.min(window.first.stack.len())];
    let sections = blocks.iter().filter(|block| matches!(block, Transaction::Section { .. })).count();
    let frames = &history.frames;
    // Two passes through the same code have less in common than one.
    let common = frames.common(history.step(first).frame, history.step(second).frame);
    let depth = common.map_or(0, |frame| frames.stack(frame).len());
    let is_deep = depth >= blocks.len() - sections;
    let is_in_section = sections == 0 || history.last_open(first) == history.last_open(second);
    is_deep && is_in_section
}
