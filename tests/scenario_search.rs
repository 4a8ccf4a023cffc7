//! The reduced search of the interpreter against the plain one: every fact that some run shows is shown by a run of either.

mod scenarios;

use std::ops::ControlFlow;

use avmon::scenario::explore::{Search, count_runs, explore};
use avmon::scenario::facts::Facts;
use avmon::scenario::machine::Machine;
use avmon::scenario::program::Program;
use proptest::prelude::*;
use scenarios::{Case, Shape, cases};

/// What all runs show, and how many there are; `None` if that takes too many steps.
fn facts(machine: &Machine<'_>, search: Search, most_steps: u64) -> Option<(Facts, u64)> {
    let mut facts = Facts::default();
    let explored = explore(machine, search, most_steps, &mut |run| {
        facts.add(Facts::of(run, false));
        ControlFlow::Continue(())
    });
    explored.is_complete.then_some((facts, explored.runs))
}

/// Everything at once, and races, too: the reduction must be right for all programs.
const EVERYTHING: Shape = Shape {
    threads: (2, 3),
    locks: 2,
    length: 2,
    race_free: false,
    chains: true,
    branches: true,
    shared: true,
    tries: true,
    forks: true,
    conditions: true,
    semaphores: true,
    barriers: true,
    atomics: true,
    ..Shape::PLAIN
};

fn agree(case: &Case) -> Result<(), TestCaseError> {
    let program = Program::new(&case.scenario);
    let machine = Machine::new(&program);
    let Some((all, runs)) = facts(&machine, Search::Plain, 6_000) else { return Ok(()) };
    let Some((reduced, fewer)) = facts(&machine, Search::Reduced, u64::MAX) else {
        return Err(TestCaseError::fail("the reduced search does not end"));
    };
    prop_assert_eq!(all, reduced);
    prop_assert!(fewer <= runs, "{} runs of {}", fewer, runs);
    prop_assert_eq!(count_runs(&machine, usize::MAX), Some(u128::from(runs)));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_searches_show_the_same(case in cases(EVERYTHING)) {
        agree(&case)?;
    }

    #[test]
    fn both_searches_show_the_same_of_straight_code(case in cases(Shape { length: 3, threads: (2, 3), ..Shape::PLAIN })) {
        agree(&case)?;
    }
}
