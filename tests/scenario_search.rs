//! The reduced search of the interpreter against the plain one: every fact that some run shows is shown by a run of either.

mod scenarios;

use std::ops::ControlFlow;

use avmon::scenario::explore::{Search, count_runs, explore};
use avmon::scenario::facts::Facts;
use avmon::scenario::machine::Machine;
use avmon::scenario::program::Program;
use scenarios::judge::try_cases;
use scenarios::{Case, Shape};

/// Scenarios of which the plain search takes more steps are left out.
const MOST_STEPS: u64 = 6_000;

/// What all runs show, and how many there are; `None` if that takes too many steps.
fn facts(machine: &Machine<'_>, search: Search, most_steps: u64) -> Option<(Facts, u64)> {
    let mut facts = Facts::default();
    let explored = explore(machine, search, most_steps, &mut |run| {
        facts.add(Facts::of(machine.program, run, false));
        ControlFlow::Continue(())
    });
    explored.is_complete.then_some((facts, explored.runs))
}

fn agree(case: &Case) -> Result<(), String> {
    let program = Program::new(&case.scenario);
    let machine = Machine::new(&program);
    let Some((all, runs)) = facts(&machine, Search::Plain, MOST_STEPS) else { return Ok(()) };
    let (reduced, fewer) = facts(&machine, Search::Reduced, MOST_STEPS).ok_or("the reduced search takes more steps")?;
    if all != reduced || fewer > runs {
        return Err(format!("{runs} runs show {all:?}\n{fewer} of them {reduced:?}"));
    }
    let counted = count_runs(&machine, usize::MAX);
    if counted == Some(runs.into()) { Ok(()) } else { Err(format!("{runs} runs, counted as {counted:?}")) }
}

#[test]
fn both_searches_show_the_same() {
    try_cases("everything", Shape::EVERYTHING, 1500, agree);
}

#[test]
fn both_searches_show_the_same_of_straight_code() {
    try_cases("straight code", Shape { length: 3, threads: (2, 3), ..Shape::PLAIN }, 700, agree);
}
