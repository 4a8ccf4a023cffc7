//! The check of observed runs against the interpreter's own verdict: equal on every run, races and deadlocks included. Only of
//! a semaphore that was tried in vain the check knows less, since in a recording it cannot be told when that was.

mod scenarios;

use std::ops::ControlFlow;

use avmon::analysis::serial::{Config, Serial};
use avmon::scenario::events::place_of;
use avmon::scenario::explore::{Search, explore};
use avmon::scenario::graph::Graph;
use avmon::scenario::machine::{Effect, Machine};
use avmon::scenario::program::Program;
use avmon::scenario::run::Run;
use avmon::scenario::tree::ObjectKind;
use scenarios::judge::try_cases;
use scenarios::{Case, Shape};

/// Steps of the search after which no more runs of a scenario are looked at.
const MOST_STEPS: u64 = 4_000;

fn compare(machine: &Machine<'_>, run: &Run, strict_waits: bool) -> Result<(), String> {
    let mut split = Vec::new();
    let mut serial = Serial::new(Config { strict_waits });
    for (thread, event) in machine.events(run) {
        serial.step(thread, &event, &mut |it| split.push(it));
    }
    let graph = Graph::new(&run.log, strict_waits);
    let cycle = graph.cycle();
    let is_less_known = run.log.iter().any(|taken| match taken.effect {
        Effect::Refused(object) => matches!(machine.program.objects[object], ObjectKind::Semaphore(_)),
        _ => false,
    });
    if split.is_empty() != cycle.is_none() && !(is_less_known && split.is_empty()) {
        return Err(format!("the check says {split:?}, the interpreter {cycle:?}, of the run {:?}", run.order));
    }
    let is_block = |pc| graph.blocks.iter().any(|block| block.is_outermost && Some(block.place) == place_of(pc));
    match split.iter().find(|it| !is_block(it.block.pc)) {
        Some(strange) => Err(format!("{strange:?} is not about an outermost block of the run {:?}", run.order)),
        None => Ok(()),
    }
}

fn every_run(case: &Case) -> Result<(), String> {
    let program = Program::new(&case.scenario);
    let machine = Machine::new(&program);
    let mut verdict = Ok(());
    explore(&machine, Search::Reduced, MOST_STEPS, &mut |run| {
        verdict = [false, true].into_iter().try_for_each(|strict_waits| compare(&machine, run, strict_waits));
        if verdict.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    verdict
}

const EVERYTHING: Shape = Shape { threads: (2, 4), length: 3, odd: true, ..Shape::EVERYTHING };

#[test]
fn everything() {
    try_cases("everything", EVERYTHING, 300, every_run);
}

#[test]
fn race_free() {
    try_cases("race free", Shape { race_free: true, ..EVERYTHING }, 200, every_run);
}

#[test]
fn accesses_and_blocks() {
    try_cases(
        "accesses and blocks",
        Shape { threads: (2, 3), length: 4, race_free: false, ..Shape::PLAIN },
        200,
        every_run,
    );
}
