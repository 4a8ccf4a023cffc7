//! All that can be told about a scenario: the facts, and for each a run that shows it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::explore::{Explored, Search, explore};
use super::facts::Facts;
use super::machine::{Effect, Machine, Misuse, Taken};
use super::program::Place;
use super::run::Run;
use super::tree::ThreadIndex;

/// What a user wants to see a run of.
#[derive(Clone, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Sight {
    /// The block that begins there is not serialisable by itself.
    Split(Place),
    /// The run is not serialisable, though each of its blocks is by itself.
    Tangled,
    /// These threads stand still for ever.
    Deadlock(Vec<Place>),
    FailedAssertion(Place),
    Misuse(Place, Misuse),
}

/// The order in which the threads take their steps in one run.
pub type Order = Vec<ThreadIndex>;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Survey {
    pub facts: Facts,
    pub explored: Explored,
    /// How many of the runs that were looked at are not serialisable.
    pub unserialisable: u64,
    pub sights: BTreeMap<Sight, Order>,
}

impl Survey {
    /// Looks at this run and at all others, or as many as `most_steps` allows; `progress` hears of each.
    #[must_use]
    pub fn of(
        machine: &Machine<'_>,
        known: &Run,
        search: Search,
        strict_waits: bool,
        most_steps: u64,
        progress: &mut dyn FnMut(u64),
    ) -> Survey {
        let mut facts = Facts::default();
        let mut sights: BTreeMap<Sight, Run> = BTreeMap::new();
        let mut look = |run: &Run| {
            let shown = Facts::of(machine.program, run, strict_waits);
            let unserialisable = shown.unserialisable;
            for sight in Sight::all_of(&shown) {
                let best = sights.entry(sight).or_insert_with(|| run.clone());
                if simplicity(&run.order) < simplicity(&best.order) {
                    best.clone_from(run);
                }
            }
            facts.add(shown);
            unserialisable
        };
        // The search may come to its end before it comes to this one.
        look(known);
        let (mut seen, mut unserialisable) = (0, 0);
        let explored = explore(machine, search, most_steps, &mut |run| {
            unserialisable += u64::from(look(run));
            seen += 1;
            progress(seen);
            ControlFlow::Continue(())
        });
        let sights = sights.into_iter().map(|(sight, run)| (sight, tidy(machine, &run))).collect();
        Survey { facts, explored, unserialisable, sights }
    }
}

impl Sight {
    fn all_of(facts: &Facts) -> impl Iterator<Item = Sight> {
        let split = facts.split.iter().copied().map(Sight::Split);
        let tangled = (facts.unserialisable && facts.split.is_empty()).then_some(Sight::Tangled);
        let deadlocks = facts.deadlocks.iter().cloned().map(Sight::Deadlock);
        let assertions = facts.failed_assertions.iter().copied().map(Sight::FailedAssertion);
        let misuses = facts.misuses.iter().map(|&(place, misuse)| Sight::Misuse(place, misuse));
        split.chain(tangled).chain(deadlocks).chain(assertions).chain(misuses)
    }
}

fn switches(order: &[ThreadIndex]) -> usize {
    order.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// The less, the easier a run is to follow.
fn simplicity(order: &[ThreadIndex]) -> (usize, usize) {
    (switches(order), order.len())
}

/// The order of a run in which only independent steps have changed places, with fewer switches between threads where that was easy:
/// a thread goes on as long as nothing that its next step needs is missing.
fn tidy(machine: &Machine<'_>, run: &Run) -> Order {
    let is_step = |taken: &&Taken| {
        !matches!(
            taken.effect,
            Effect::Began | Effect::Ended | Effect::AssertionFailed | Effect::Branched(_) | Effect::Finished
        )
    };
    let steps: Vec<&Taken> = run.log.iter().filter(is_step).collect();
    let needs: Vec<Vec<usize>> = (0..steps.len())
        .map(|after| (0..after).filter(|&before| is_needed(machine, steps[before], steps[after])).collect())
        .collect();
    let rearranged = (0..machine.program.threads.len()).filter_map(|first| {
        let mut done = vec![false; steps.len()];
        let mut order = Vec::new();
        let mut last = first;
        while order.len() < steps.len() {
            let is_ready = |&step: &usize| !done[step] && needs[step].iter().all(|&need| done[need]);
            let ready: Vec<usize> = (0..steps.len()).filter(is_ready).collect();
            let thread = |step: usize| steps[step].place.thread as usize;
            let next = ready.iter().copied().find(|&step| thread(step) == last).or(ready.first().copied())?;
            done[next] = true;
            last = thread(next);
            order.push(last);
        }
        Some(order)
    });
    rearranged.chain([run.order.clone()]).min_by_key(|order| simplicity(order)).unwrap_or_default()
}

/// Whether `before` must stay before `after`.
fn is_needed(machine: &Machine<'_>, before: &Taken, after: &Taken) -> bool {
    let touches = |taken: &Taken| Machine::touches(&machine.program.at(taken.place).operation);
    before.place.thread == after.place.thread
        || before.effect == Effect::Forked(after.place.thread as usize)
        || after.effect == Effect::Joined(before.place.thread as usize)
        || touches(before)
            .any(|one| touches(after).any(|other| one.object == other.object && (one.exclusive || other.exclusive)))
}
