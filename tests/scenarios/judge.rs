//! The judge: random scenarios of a family, with the truth about each, before any analysis.
//!
//! The scenarios are the same in every run. `AVMON_SCENARIOS` sets how many there are in each family, for the long mode, and
//! `AVMON_SCENARIO_SEED` chooses others. A failure is shrunk, and shown as a scenario.

use std::ops::ControlFlow;

use avmon::analysis::sidetrack::{self, SideTrack};
use avmon::analysis::{Analysis as _, Transaction, Violation};
use avmon::scenario::events::place_of;
use avmon::scenario::explore::{Search, explore};
use avmon::scenario::facts::{Facts, SplitWindow};
use avmon::scenario::machine::Machine;
use avmon::scenario::program::Program;
use avmon::scenario::run::Run;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use super::{Case, Shape, cases};

/// Steps of the reduced search after which a scenario is left out: the truth about it is not known.
const MOST_STEPS: u64 = 40_000;

/// Runs of each scenario that are looked at.
const RUNS: u64 = 3;

/// What is known about one scenario.
pub struct Truth<'a> {
    pub case: &'a Case,
    pub machine: &'a Machine<'a>,
    /// What some run shows.
    pub facts: Facts,
}

impl Truth<'_> {
    /// Some runs, which the analyses may observe.
    pub fn runs(&self) -> impl Iterator<Item = Run> {
        (0..RUNS).map(|number| self.machine.run_at_random(self.case.seed.wrapping_add(number)))
    }
}

/// How many scenarios of a family were judged.
#[derive(Clone, Copy, Default, Debug)]
pub struct Judged {
    pub scenarios: u64,
    /// Left out.
    pub too_large: u64,
}

/// What `SideTrack` reports on a run.
pub fn analyse(machine: &Machine<'_>, run: &Run, config: sidetrack::Config) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut analysis = SideTrack::new(config);
    for (thread, event) in machine.events(run) {
        analysis.step(thread, &event, &mut |violation| found.push(violation));
    }
    found
}

/// The windows that a violation says can be split: one for each block that contains both acquires.
pub fn claims(violation: &Violation) -> Vec<SplitWindow> {
    let place = |pc| place_of(pc).expect("a place of the scenario");
    let [first, culprit, second] = [&violation.first, &violation.culprit, &violation.second].map(|site| place(site.pc));
    let blocks = violation.first.stack[..violation.common].iter().map(|frame| match frame {
        Transaction::Block { pc, .. } => place(*pc),
        other => panic!("{other:?} is no marked block"),
    });
    blocks.map(|block| SplitWindow { block, first, culprit, second }).collect()
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|number| number.parse().ok())
}

/// Whether the scenarios are those of every run.
pub fn is_usual() -> bool {
    number("AVMON_SCENARIOS").is_none() && number("AVMON_SCENARIO_SEED").is_none()
}

/// Whether every run comes to an end. False if nobody knows, after so many steps of the search.
pub fn can_only_end(machine: &Machine<'_>, most_steps: u64) -> bool {
    let mut all_end = true;
    let explored = explore(machine, Search::Reduced, most_steps, &mut |run| {
        all_end &= run.is_complete();
        if all_end { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    all_end && explored.is_complete
}

/// A proptest runner whose cases depend on the seed only.
fn runner(cases: u32) -> TestRunner {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number("AVMON_SCENARIO_SEED").unwrap_or(0).to_le_bytes());
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
}

/// Scenarios of a shape, as many as the environment says or `usually`.
pub fn some_cases(shape: Shape, usually: u32) -> Vec<Case> {
    let count = number("AVMON_SCENARIOS").map_or(usually, |number| number as u32);
    let mut runner = runner(count);
    let strategy = cases(shape);
    (0..count).map(|_| strategy.new_tree(&mut runner).expect("a scenario").current()).collect()
}

/// Tries scenarios of a shape, as many as the environment says or `usually`.
pub fn try_cases(name: &str, shape: Shape, usually: u32, check: impl Fn(&Case) -> Result<(), String>) {
    let cases_wanted = number("AVMON_SCENARIOS").map_or(usually, |number| number as u32);
    let result = runner(cases_wanted).run(&cases(shape), |case| check(&case).map_err(TestCaseError::fail));
    if let Err(failure) = result {
        panic!("{name}: {failure}");
    }
}

/// Lets `check` compare an analysis with the truth, scenario by scenario.
pub fn judge(
    name: &str,
    shape: Shape,
    usually: u32,
    mut check: impl FnMut(&Truth<'_>) -> Result<(), String>,
) -> Judged {
    let mut judged = Judged::default();
    let state = std::cell::RefCell::new((&mut judged, &mut check));
    try_cases(name, shape, usually, |case| {
        let (judged, check) = &mut *state.borrow_mut();
        let program = Program::new(&case.scenario);
        let machine = Machine::new(&program);
        let mut facts = Facts::default();
        let explored = explore(&machine, Search::Reduced, MOST_STEPS, &mut |run| {
            facts.add(Facts::of(machine.program, run, false));
            ControlFlow::Continue(())
        });
        if !explored.is_complete {
            judged.too_large += 1;
            return Ok(());
        }
        judged.scenarios += 1;
        check(&Truth { case, machine: &machine, facts })
    });
    assert!(judged.scenarios > judged.too_large, "{name}: most scenarios are too large to know the truth: {judged:?}");
    judged
}
