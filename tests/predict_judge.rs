//! Prediction before the judge.
//!
//! What locks and waits allow is exact where nothing else decides: on scenarios without branches, the three accesses and the crossings that are
//! possible from one run are those that some run shows. What survives the reads is shown by some run even with branches.
//!
//! How to run many more: see `tests/scenarios/judge.rs`.

mod scenarios;

use std::collections::BTreeSet;

use avmon::predict::clocks::Clocks;
use avmon::predict::crossings::{self, Bounds};
use avmon::predict::cut_points::{self, Blocks, Candidates};
use avmon::predict::decide::{self, Decision};
use avmon::predict::history::{At, Builder, Config, History, Op, Survey};
use avmon::predict::search::{self, Budget, Goal, Order, Outcome};
use avmon::scenario::events::place_of;
use avmon::scenario::facts::{Crossing, Facts, Triple};
use avmon::scenario::machine::{Effect, Machine, Taken};
use avmon::scenario::program::Place;
use avmon::scenario::run::Run;
use scenarios::Shape;
use scenarios::judge::{Truth, is_usual, judge};

const CASES: u32 = 300;

fn history(machine: &Machine<'_>, run: &Run) -> History {
    let events = machine.events(run);
    let mut survey = Survey::default();
    events.iter().for_each(|(thread, event)| survey.step(*thread, event));
    let mut builder = Builder::new(&survey, Config::default());
    events.iter().for_each(|(thread, event)| builder.step(*thread, event));
    builder.finish()
}

fn place(history: &History, at: At) -> Place {
    place_of(history.pc(at)).expect("a place of the scenario")
}

/// The three accesses that are candidates, with what is claimed of them.
fn triples(history: &History) -> Vec<(Triple, cut_points::Triple)> {
    let clocks = Clocks::new(history);
    let mut candidates = Candidates::default();
    for variable in 0..history.variables.len() as u32 {
        cut_points::look_at(history, &clocks, variable, Blocks::Marked, &mut candidates);
    }
    let claims = candidates.classes.iter().flat_map(|(class, alike)| {
        alike.nearest.iter().map(|triple| {
            let [first, other, second] = [triple.first, triple.culprit, triple.second].map(|at| place(history, at));
            (Triple { pattern: class.pattern, first, other, second }, *triple)
        })
    });
    claims.collect()
}

fn crossings(history: &History) -> Vec<(Crossing, crossings::Crossing)> {
    let candidates = crossings::look_at(history, &Clocks::new(history), Blocks::Marked, Bounds::NONE);
    let claims = candidates.values().flatten().map(|crossing| {
        let pair = |before, after| (place(history, before), place(history, after));
        let there = pair(crossing.first, crossing.culprit);
        let back = pair(crossing.culprit_too, crossing.second);
        (Crossing { one: there.min(back), other: there.max(back) }, *crossing)
    });
    claims.collect()
}

/// Lets the interpreter take the steps of a predicted order, and returns what that run shows. A step that cannot be taken is told.
fn perform(machine: &Machine<'_>, history: &History, order: &Order) -> Result<Facts, String> {
    let mut log = Vec::new();
    let mut state = machine.start(&mut log);
    // How much of each thread's log is accounted for.
    let mut seen = vec![0; machine.program.threads.len()];
    for at in (0..order.from).chain(order.steps.iter().copied()) {
        // What `main` does is no step, and a sleeper wakes in the step in which it gets its lock back.
        let wakes = history.step(at).op == Op::Await
            && history.from(at).get(1).is_some_and(|&next| history.pc(next) == history.pc(at));
        let Some(place) = place_of(history.pc(at)).filter(|_| !wakes) else { continue };
        let thread = place.thread as usize;
        loop {
            let is_mine =
                |taken: &&Taken| taken.place.thread == place.thread && !matches!(taken.effect, Effect::Branched(_));
            let mine = log.iter().filter(is_mine);
            let found = mine.skip(seen[thread]).position(|taken| taken.place == place);
            if let Some(distance) = found {
                seen[thread] += distance + 1;
                break;
            }
            if !machine.can_step(&state, thread) {
                return Err(format!("the order asks for {place:?}, which does not come: {log:?}"));
            }
            machine.step(&mut state, thread, &mut log);
        }
    }
    let run = Run { order: Vec::new(), log, stuck: Vec::new() };
    Ok(Facts::of(machine.program, &run, false))
}

/// Whether locks and waits alone allow an order.
fn is_possible(history: &History, order: Vec<(At, At)>) -> Option<bool> {
    let goal = Goal { order, ignores_reads: true, ..Goal::default() };
    match search::find(history, &goal, Budget::PATIENT) {
        Outcome::Feasible(_) => Some(true),
        Outcome::Infeasible => Some(false),
        Outcome::Undecided => None,
    }
}

#[derive(Default, Debug, PartialEq, Eq, Clone, Copy)]
struct Figures {
    /// Triples that some run shows, and crossings; how many of them are possible by locks and waits; how many survive the reads.
    true_triples: usize,
    triples: usize,
    surviving: usize,
    true_crossings: usize,
    crossings: usize,
    crossings_surviving: usize,
    undecided: usize,
}

/// How much is promised of a family.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Promise {
    /// What locks and waits allow is what happens.
    Exact,
    /// What is predicted happens.
    Sound,
}

impl Figures {
    fn add(&mut self, truth: &Truth<'_>, promise: Promise) -> Result<(), String> {
        let facts: &Facts = &truth.facts;
        // A compare-exchange is a branch.
        let compares = truth.case.scenario.to_string().contains("cas ");
        let promise = if compares { Promise::Sound } else { promise };
        for run in truth.runs().filter(Run::is_complete) {
            let history = history(truth.machine, &run);
            let wrong =
                |what: &str, claim: &dyn std::fmt::Debug| Err(format!("{what}: {claim:?} in the run {:?}", run.order));

            let mut possible = BTreeSet::new();
            for (claim, triple) in triples(&history) {
                let is_true = facts.triples.contains(&claim);
                match is_possible(&history, vec![(triple.first, triple.culprit), (triple.culprit, triple.second)]) {
                    Some(true) if promise == Promise::Exact && !is_true => return wrong("invented", &claim),
                    Some(true) => drop(possible.insert(claim)),
                    Some(false) => {}
                    None => self.undecided += 1,
                }
                match decide::triple(&history, triple, false, Budget::PATIENT) {
                    Decision::Predicted(_) if !is_true => return wrong("falsely predicted", &claim),
                    Decision::Predicted(order) => {
                        let shown = perform(truth.machine, &history, &order)
                            .map_err(|error| format!("{claim:?}: {error}, in the run {:?}", run.order))?;
                        if !shown.triples.contains(&claim) {
                            return wrong("not shown by the order that was predicted", &claim);
                        }
                        self.surviving += 1;
                    }
                    _ => {}
                }
            }
            self.true_triples += facts.triples.len();
            self.triples += possible.len();
            // A pair of the block's accesses is covered by neighbours among what lies between them.
            let is_covered = |missing: &&Triple| {
                possible.iter().any(|claim| {
                    claim.other == missing.other
                        && claim.first.thread == missing.first.thread
                        && (missing.first.index..=missing.second.index).contains(&claim.first.index)
                        && (missing.first.index..=missing.second.index).contains(&claim.second.index)
                })
            };
            if promise == Promise::Exact
                && let Some(missed) = facts.triples.iter().find(|triple| !is_covered(triple))
            {
                return wrong("missed", missed);
            }

            let mut possible = BTreeSet::new();
            for (claim, crossing) in crossings(&history) {
                let is_true = facts.crossings.contains(&claim);
                let order = vec![(crossing.first, crossing.culprit), (crossing.culprit_too, crossing.second)];
                match is_possible(&history, order) {
                    Some(true) if promise == Promise::Exact && !is_true => return wrong("invented", &claim),
                    Some(true) => drop(possible.insert(claim)),
                    Some(false) => {}
                    None => self.undecided += 1,
                }
                match decide::crossing(&history, crossing, Budget::PATIENT) {
                    Decision::Predicted(_) if !is_true => return wrong("falsely predicted", &claim),
                    Decision::Predicted(order) => {
                        let shown = perform(truth.machine, &history, &order)
                            .map_err(|error| format!("{claim:?}: {error}, in the run {:?}", run.order))?;
                        if !shown.crossings.contains(&claim) {
                            return wrong("not shown by the order that was predicted", &claim);
                        }
                        self.crossings_surviving += 1;
                    }
                    _ => {}
                }
            }
            self.true_crossings += facts.crossings.len();
            self.crossings += possible.len();
            if promise == Promise::Exact
                && let Some(missed) = facts.crossings.iter().find(|crossing| !possible.contains(crossing))
            {
                return wrong("missed", missed);
            }
        }
        Ok(())
    }
}

fn family(name: &str, shape: Shape, promise: Promise, expected: Figures) {
    let mut figures = Figures::default();
    let judged = judge(name, shape, CASES, |truth| figures.add(truth, promise));
    println!("{name}: {} scenarios ({} too large to judge): {figures:?}", judged.scenarios, judged.too_large);
    assert!(
        !is_usual() || figures == expected,
        "{name}: now {figures:?}; a rule that finds less, or other things, must be meant so"
    );
}

macro_rules! families {
    ($($name:ident: $promise:ident, $shape:expr, [$($figure:literal),*];)*) => {
        $(#[test]
        fn $name() {
            let [true_triples, triples, surviving, true_crossings, crossings, crossings_surviving, undecided] = [$($figure),*];
            let expected = Figures { true_triples, triples, surviving, true_crossings, crossings, crossings_surviving, undecided };
            family(stringify!($name), $shape, Promise::$promise, expected);
        })*
    };
}

families! {
    two_threads: Exact, Shape::PLAIN, [1326, 1040, 923, 476, 476, 476, 0];
    races: Exact, Shape { threads: (2, 3), race_free: false, ..Shape::PLAIN }, [2394, 1875, 1793, 603, 603, 603, 0];
    three_locks: Exact, Shape { threads: (2, 3), locks: 3, variables: 3, ..Shape::PLAIN }, [877, 759, 704, 369, 369, 362, 0];
    chains: Exact, Shape { threads: (2, 3), locks: 3, chains: true, ..Shape::PLAIN }, [2265, 1684, 1598, 424, 424, 424, 0];
    shared: Exact, Shape { threads: (2, 3), shared: true, ..Shape::PLAIN }, [1383, 1059, 982, 317, 317, 317, 0];
    forks: Exact, Shape { threads: (2, 4), forks: true, ..Shape::PLAIN }, [889, 760, 726, 360, 360, 360, 0];
    atomics: Exact, Shape { threads: (2, 3), atomics: true, ..Shape::PLAIN }, [713, 665, 546, 335, 331, 291, 0];
    branches: Sound, Shape { threads: (2, 3), branches: true, ..Shape::PLAIN }, [1563, 1045, 788, 354, 285, 272, 0];
    racy_branches: Sound, Shape { threads: (2, 3), branches: true, race_free: false, ..Shape::PLAIN }, [2205, 1438, 1167, 504, 398, 355, 0];
    tries: Sound, Shape { threads: (2, 3), tries: true, branches: true, ..Shape::PLAIN }, [1249, 849, 694, 310, 263, 242, 0];
    atomic_branches: Sound, Shape { threads: (2, 3), atomics: true, branches: true, ..Shape::PLAIN }, [441, 351, 247, 103, 102, 81, 0];
    conditions: Sound, Shape { threads: (2, 3), conditions: true, ..Shape::PLAIN }, [756, 599, 534, 388, 366, 303, 0];
    semaphores: Sound, Shape { threads: (2, 3), semaphores: true, ..Shape::PLAIN }, [768, 630, 617, 83, 79, 79, 0];
    barriers: Sound, Shape { threads: (2, 3), barriers: true, ..Shape::PLAIN }, [525, 417, 390, 171, 171, 171, 0];
    everything: Sound, Shape::EVERYTHING, [96, 49, 36, 12, 14, 12, 0];
}
