//! The reduced search of the interpreter against the plain one: every fact that some run shows is shown by a run of either.

mod scenarios;

use std::cell::Cell;
use std::ops::ControlFlow;

use avmon::scenario::explore::{Search, count_runs, explore};
use avmon::scenario::facts::Facts;
use avmon::scenario::machine::Machine;
use avmon::scenario::program::Program;
use scenarios::Shape;
use scenarios::judge::try_cases;

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

/// Compares the two searches on scenarios of a shape.
fn agree(name: &str, shape: Shape, cases: u32) {
    let (compared, too_large) = (Cell::new(0), Cell::new(0));
    let (failures, misuses, deadlocks) = (Cell::new(0), Cell::new(0), Cell::new(0));
    try_cases(name, shape, cases, |case| {
        let program = Program::new(&case.scenario);
        let machine = Machine::new(&program);
        let Some((all, runs)) = facts(&machine, Search::Plain, MOST_STEPS) else {
            too_large.set(too_large.get() + 1);
            return Ok(());
        };
        let (reduced, fewer) =
            facts(&machine, Search::Reduced, MOST_STEPS).ok_or("the reduced search takes more steps")?;
        if all != reduced || fewer > runs {
            return Err(format!("{runs} runs show {all:?}\n{fewer} of them {reduced:?}"));
        }
        compared.set(compared.get() + 1);
        failures.set(failures.get() + all.failed_assertions.len());
        misuses.set(misuses.get() + all.misuses.len());
        deadlocks.set(deadlocks.get() + all.deadlocks.len());
        let counted = count_runs(&machine, usize::MAX, u64::MAX);
        if counted == Some(runs.into()) { Ok(()) } else { Err(format!("{runs} runs, counted as {counted:?}")) }
    });
    let (compared, too_large) = (compared.get(), too_large.get());
    println!("{name}: {compared} compared, {too_large} too large");
    assert!(compared > too_large, "{name}: {compared} compared, {too_large} too large");
    let shown = [failures.get(), misuses.get(), deadlocks.get()];
    assert!(!shape.odd || shown.iter().all(|&count| count > 20), "{name}: too little of what was compared: {shown:?}");
}

const ODD: Shape = Shape { odd: true, ..Shape::EVERYTHING };

#[test]
fn both_searches_show_the_same() {
    agree("everything", Shape::EVERYTHING, 900);
}

#[test]
fn both_searches_show_the_same_of_what_nobody_should_do() {
    agree("odd", ODD, 700);
    agree("odd, nothing to take", Shape { units: 0, parties: 3, ..ODD }, 300);
    agree("odd, much to take", Shape { units: 2, parties: 1, ..ODD }, 300);
}

#[test]
fn both_searches_show_the_same_of_straight_code() {
    agree("straight code", Shape { length: 3, ..Shape::PLAIN }, 400);
}
