//! `SideTrack` before the judge: whatever it reports about one run of a race-free scenario, some run of that scenario shows.
//!
//! `AVMON_SCENARIOS` sets the number of scenarios per family, for the long mode.

mod common;
mod scenarios;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

use avmon::analysis::sidetrack::{Config, SideTrack};
use avmon::analysis::{Analysis as _, ErrorKind, Transaction, Violation};
use avmon::scenario::events::place_of;
use avmon::scenario::explore::{Search, explore};
use avmon::scenario::facts::{Facts, SplitWindow};
use avmon::scenario::machine::Machine;
use avmon::scenario::program::{Place, Program};
use avmon::scenario::run::Run;
use common::{BLOCKS, PAPER};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use scenarios::{Case, Shape, cases};

/// Steps of the reduced search after which a scenario is left out.
const MOST_STEPS: u64 = 40_000;
/// Runs of each scenario that are analysed.
const RUNS: u64 = 3;
const CASES: u32 = 400;

fn case_count() -> u32 {
    std::env::var("AVMON_SCENARIOS").ok().and_then(|number| number.parse().ok()).unwrap_or(CASES)
}

fn analyse(machine: &Machine<'_>, run: &Run, config: Config) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut analysis = SideTrack::new(config);
    for (thread, event) in machine.events(run) {
        analysis.step(thread, &event, &mut |violation| found.push(violation));
    }
    found
}

/// The windows that a violation says can be split: one for each block that contains both acquires.
fn claims(violation: &Violation) -> Vec<SplitWindow> {
    let place = |pc| place_of(pc).expect("a place of the scenario");
    let [first, culprit, second] = [&violation.first, &violation.culprit, &violation.second].map(|site| place(site.pc));
    let blocks = violation.first.stack[..violation.common].iter().map(|frame| match frame {
        Transaction::Block { pc, .. } => place(*pc),
        other => panic!("{other:?} is no marked block"),
    });
    blocks.map(|block| SplitWindow { block, first, culprit, second }).collect()
}

#[derive(Default)]
struct Tally {
    scenarios: u64,
    too_large: u64,
    runs: u64,
    reports: u64,
    /// Before-errors that only another path of the block would show.
    conditional: u64,
    violable: u64,
    found: u64,
    paper_found: u64,
    paper_false: u64,
    paper_example: Option<String>,
}

fn judge(case: &Case, shape: Shape, tally: &mut Tally) -> Result<(), TestCaseError> {
    let program = Program::new(&case.scenario);
    let machine = Machine::new(&program);
    let mut truth = Facts::default();
    let explored = explore(&machine, Search::Reduced, MOST_STEPS, &mut |run| {
        truth.add(Facts::of(run, false));
        ControlFlow::Continue(())
    });
    if !explored.is_complete {
        tally.too_large += 1;
        return Ok(());
    }
    tally.scenarios += 1;
    for number in 0..RUNS {
        let run = machine.run_at_random(case.seed.wrapping_add(number));
        tally.runs += 1;
        tally.violable += truth.split.len() as u64;
        let blamed = |violations: &[Violation]| -> BTreeSet<Place> {
            violations
                .iter()
                .flat_map(claims)
                .map(|claim| claim.block)
                .filter(|block| truth.split.contains(block))
                .collect()
        };
        let reports = analyse(&machine, &run, BLOCKS);
        for report in &reports {
            tally.reports += 1;
            for claim in claims(report) {
                if truth.windows.contains(&claim) {
                    continue;
                }
                if report.kind == ErrorKind::Before && shape.branches {
                    tally.conditional += 1;
                    continue;
                }
                let order = &run.order;
                return Err(TestCaseError::fail(format!("false {:?}: {claim:?}\nrun {order:?}", report.kind)));
            }
        }
        tally.found += blamed(&reports).len() as u64;
        let paper = analyse(&machine, &run, PAPER);
        tally.paper_found += blamed(&paper).len() as u64;
        let alarms: Vec<_> = paper.iter().flat_map(claims).filter(|claim| !truth.windows.contains(claim)).collect();
        tally.paper_false += alarms.len() as u64;
        if !alarms.is_empty() {
            let example = format!("{alarms:?}\nrun {:?}\n{case:?}", run.order);
            if tally.paper_example.as_ref().is_none_or(|known| example.len() < known.len()) {
                tally.paper_example = Some(example);
            }
        }
    }
    Ok(())
}

fn family(name: &str, shape: Shape) {
    let tally = RefCell::new(Tally::default());
    let config = ProptestConfig { cases: case_count(), failure_persistence: None, ..ProptestConfig::default() };
    let result = TestRunner::new(config).run(&cases(shape), |case| judge(&case, shape, &mut tally.borrow_mut()));
    if let Err(failure) = result {
        panic!("{name}: {failure}");
    }
    let tally = tally.into_inner();
    let percent = |part: u64| part * 100 / tally.violable.max(1);
    println!(
        "{name}: {} scenarios ({} too large), {} runs, {} reports ({} conditional); violable blocks {}: default finds {} ({}%), \
         paper {} ({}%) with {} false alarms",
        tally.scenarios,
        tally.too_large,
        tally.runs,
        tally.reports,
        tally.conditional,
        tally.violable,
        tally.found,
        percent(tally.found),
        tally.paper_found,
        percent(tally.paper_found),
        tally.paper_false,
    );
    if std::env::var_os("AVMON_SHOW_PAPER").is_some()
        && let Some(example) = &tally.paper_example
    {
        println!("shortest false alarm of the paper's rules: {example}");
    }
    assert!(tally.scenarios > u64::from(case_count()) / 2, "{name}: most scenarios are too large to know the truth");
    assert!(tally.found * 5 > tally.violable, "{name}: so little is found that its truth means little");
}

macro_rules! families {
    ($($name:ident: $shape:expr;)*) => {
        $(#[test]
        fn $name() {
            family(stringify!($name), $shape);
        })*
    };
}

families! {
    two_threads: Shape::PLAIN;
    flat_sections: Shape { threads: (2, 3), nested: false, ..Shape::PLAIN };
    three_locks: Shape { threads: (2, 3), locks: 3, variables: 3, ..Shape::PLAIN };
    chains: Shape { threads: (2, 3), locks: 3, chains: true, ..Shape::PLAIN };
    shared: Shape { threads: (2, 3), shared: true, ..Shape::PLAIN };
    forks: Shape { threads: (2, 4), forks: true, ..Shape::PLAIN };
    branches: Shape { threads: (2, 3), branches: true, ordered: true, ..Shape::PLAIN };
    tries: Shape { threads: (2, 3), tries: true, branches: true, ordered: true, ..Shape::PLAIN };
    atomics: Shape { threads: (2, 3), atomics: true, ..Shape::PLAIN };
    atomic_branches: Shape { threads: (2, 3), atomics: true, branches: true, ordered: true, ..Shape::PLAIN };
    conditions: Shape { threads: (2, 3), conditions: true, ..Shape::PLAIN };
    semaphores: Shape { threads: (2, 3), semaphores: true, ..Shape::PLAIN };
    barriers: Shape { threads: (2, 3), barriers: true, ..Shape::PLAIN };
}
