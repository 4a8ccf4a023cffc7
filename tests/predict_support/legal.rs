//! Whether an order of a run's steps shows a witness: by the definition, step by step, and slowly.

use std::collections::{BTreeMap, BTreeSet};

use avmon::predict::history::{At, History, NONE, Op};
use avmon::predict::search::Order;
use avmon::predict::witnesses::Witness;

/// # Errors
/// Tells what is wrong.
pub fn legal(history: &History, witness: &Witness, order: &Order) -> Result<(), String> {
    let all: Vec<At> = (0..order.from).chain(order.steps.iter().copied()).collect();
    let wrong = |at: At, what: &str| Err(format!("step {at}: {what}, in {all:?}"));
    let happened = |steps: &[At], at: At| steps.contains(&at);
    let mut last_of: BTreeMap<u16, At> = BTreeMap::new();
    last_of.extend(all.iter().map(|&at| (history.step(at).lane, at)));
    let mut next: BTreeMap<u16, usize> = BTreeMap::new();
    let mut holders: BTreeMap<u32, BTreeMap<At, bool>> = BTreeMap::new();
    let mut written: BTreeMap<u32, At> = BTreeMap::new();
    // Writes that did not leave what they left in the run.
    let mut strange: BTreeSet<At> = BTreeSet::new();
    let mut is_wild = false;
    let mut is_astray = false;
    for (number, &at) in all.iter().enumerate() {
        let step = history.step(at);
        let place = next.entry(step.lane).or_default();
        if history.lanes[step.lane as usize].get(*place) != Some(&at) {
            return wrong(at, "not the next one of its thread");
        }
        *place += 1;
        let of_reader = step.lane == history.step(witness.read).lane && is_astray;
        if of_reader && step.branches > 0 {
            return wrong(at, "behind a branch");
        }
        let link = matches!(step.op, Op::Start | Op::Join | Op::Release).then_some(step.link);
        let after = history.after.get(&at).into_iter().flatten().copied();
        if after.chain(link).any(|before| before != NONE && !happened(&all[..number], before)) {
            return wrong(at, "too early");
        }
        let holders = holders.entry(step.object).or_default();
        match step.op {
            Op::Acquire if !holders.is_empty() => return wrong(at, "taken"),
            Op::AcquireShared if holders.values().any(|&is_shared| !is_shared) => return wrong(at, "taken"),
            Op::Acquire | Op::AcquireShared => {
                holders.insert(at, step.op == Op::AcquireShared);
            }
            Op::Release => {
                holders.remove(&step.link);
            }
            // Before that all is as in the run, and it may have been a semaphore, which nobody holds.
            Op::Refused if holders.is_empty() && at >= order.from => return wrong(at, "not refused"),
            Op::Gap => return wrong(at, "unknown"),
            _ => {}
        }
        if !step.op.is_access() {
            continue;
        }
        let last = written.get(&step.object).copied().unwrap_or(NONE);
        if last != NONE && history.step(last).op == Op::Free {
            return wrong(at, "freed");
        }
        let sees_the_same = last == step.link && !strange.contains(&last) && !is_wild;
        let is_last = last_of[&step.lane] == at;
        let may_differ = at == witness.read || is_last;
        if step.op.reads() && !sees_the_same && (!may_differ || step.op.compares()) {
            return wrong(at, "sees something else");
        }
        if at == witness.read {
            is_astray = true;
        }
        if step.op.writes() {
            written.insert(step.object, at);
            if of_reader || at == witness.read || step.op.reads() && !sees_the_same {
                strange.insert(at);
                is_wild |= step.object != history.step(witness.read).object;
            }
        }
    }
    let place = |at: At| all.iter().position(|&other| other == at);
    let places: Vec<Option<usize>> = witness.order().into_iter().filter(|&step| step != NONE).map(place).collect();
    if places.contains(&None) || !places.is_sorted() {
        return Err(format!("not in the order of {witness:?}: {all:?}"));
    }
    if let Some(without) = witness.without().filter(|&step| happened(&all, step)) {
        return wrong(without, "happens");
    }
    Ok(())
}
