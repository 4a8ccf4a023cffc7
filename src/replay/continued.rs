//! What happens after a violation, in one order and not in any: a program that fails only if the culprit's thread goes on first fails every time then.

use rustc_hash::FxHashSet;

use super::schedule::Role;
use super::synthesis::Target;
use crate::predict::history::{At, History, NONE};
use crate::predict::search::needs;

/// Steps of the culprit's thread that are looked at.
const MOST: usize = 256;

/// The same violation, after which the block's thread leaves the critical sections that it is in, and the culprit's thread goes on as far as it did
/// in the run. Nothing if there is nothing to go on with.
#[must_use]
pub fn continued(target: &Target, history: &History) -> Option<Target> {
    let at = |wanted| target.roles.iter().find(|(_, role)| *role == wanted).map(|(at, _)| *at);
    let (second, culprit) = (at(Role::Second).or_else(|| at(Role::Use))?, at(Role::Culprit)?);
    let mut done: FxHashSet<At> = target.order.steps.iter().copied().collect();
    let from = target.order.from;
    let rest = |lane: u16, done: &FxHashSet<At>| -> Vec<At> {
        let steps = &history.lanes[lane as usize];
        let left = steps[steps.partition_point(|&step| step < from)..].iter();
        left.copied().filter(|step| !done.contains(step)).collect()
    };
    let mut target = target.clone();
    let mut go_on = |steps: &mut dyn Iterator<Item = At>, done: &mut FxHashSet<At>| {
        for step in steps {
            if needs(history, step).any(|other| other >= from && !done.contains(&other)) {
                break;
            }
            done.insert(step);
            target.order.steps.push(step);
            target.after.push(step);
        }
    };
    let given_back = history.held(second).into_iter().map(|acquire| history.step(acquire).link);
    let last = given_back.filter(|&release| release != NONE).max().unwrap_or(0);
    let block = rest(history.step(second).lane, &done);
    go_on(&mut block.into_iter().take_while(|&step| step <= last), &mut done);
    let before = done.len();
    let culprit = rest(history.step(culprit).lane, &done);
    go_on(&mut culprit.into_iter().take(MOST), &mut done);
    (done.len() > before).then_some(target)
}
