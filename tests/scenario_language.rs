//! The language of scenarios: what is read, what is printed, what is told about mistakes.

use avmon::scenario::error::ErrorKind;
use avmon::scenario::tree::{Action, Object, ObjectKind, Operator, Position, Scenario, Step, Thread, Value};
use avmon::scenario::words::{Declares, Does};
use avmon::scenario::{MOST_LEVELS, MOST_OBJECTS, MOST_OPERATORS, MOST_STEPS, MOST_THREADS, parse};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const EXAMPLE: &str = "\
# Two sections of one lock in a block that is meant to be atomic
lock m
var balance = 10, log

t1: begin withdraw
    acq m
    r = rd balance
    rel m
t2: acq m; wr balance 0; rel m
t1: if r >= 10 {
      acq m
      wr balance r - 10
      rel m
    }
    end
";

#[track_caller]
fn read(text: &str) -> Scenario {
    parse(text).unwrap_or_else(|errors| panic!("{}", errors.render("scenario", text)))
}

/// The same, as it would be if it had been read from text: without positions, and with turns numbered from 0 in their order.
fn plain(scenario: &Scenario) -> Scenario {
    fn each(steps: &mut [Step], change: &mut impl FnMut(&mut Step)) {
        for step in steps {
            change(step);
            match &mut step.action {
                Action::If { then, otherwise, .. } => {
                    each(then, change);
                    each(otherwise, change);
                }
                Action::While { body, .. } => each(body, change),
                _ => {}
            }
        }
    }
    let mut scenario = scenario.clone();
    let mut turns = BTreeSet::new();
    for (index, thread) in scenario.threads.iter_mut().enumerate() {
        each(&mut thread.steps, &mut |step| {
            turns.insert((step.turn, index));
        });
    }
    for (index, thread) in scenario.threads.iter_mut().enumerate() {
        each(&mut thread.steps, &mut |step| {
            step.at = Position::default();
            step.turn = turns.range(..(step.turn, index)).count();
        });
    }
    scenario
}

#[track_caller]
fn survives_printing(scenario: &Scenario) {
    let text = scenario.to_string();
    let again = read(&text);
    assert_eq!(plain(&again), plain(scenario), "{text}");
    assert_eq!(again.to_string(), text);
}

#[test]
fn the_example_is_read() {
    let scenario = read(EXAMPLE);
    let step = |action, line, column, turn| Step { action, at: Position { line, column }, turn };
    let object = |name: &str, kind| Object { name: name.into(), kind };
    let objects = vec![
        object("m", ObjectKind::Lock),
        object("balance", ObjectKind::Variable(10)),
        object("log", ObjectKind::Variable(0)),
    ];
    let r = || Box::new(Value::Register(0));
    let ten = || Box::new(Value::Number(10));
    let then = vec![
        step(Action::Acquire(0), 11, 7, 2),
        step(Action::Write { variable: 1, value: Value::Binary(Operator::Minus, r(), ten()) }, 12, 7, 2),
        step(Action::Release(0), 13, 7, 2),
    ];
    let condition = Value::Binary(Operator::AtLeast, r(), ten());
    let first = vec![
        step(Action::Begin(Some("withdraw".into())), 5, 5, 0),
        step(Action::Acquire(0), 6, 5, 0),
        step(Action::Read { into: Some(0), variable: 1 }, 7, 5, 0),
        step(Action::Release(0), 8, 5, 0),
        step(Action::If { condition, then, otherwise: vec![] }, 10, 5, 2),
        step(Action::End, 15, 5, 2),
    ];
    let second = vec![
        step(Action::Acquire(0), 9, 5, 1),
        step(Action::Write { variable: 1, value: Value::Number(0) }, 9, 12, 1),
        step(Action::Release(0), 9, 26, 1),
    ];
    let threads = vec![
        Thread { name: "t1".into(), registers: vec!["r".into()], steps: first },
        Thread { name: "t2".into(), registers: vec![], steps: second },
    ];
    assert_eq!(scenario, Scenario { objects, threads });
}

#[test]
fn the_example_is_printed_as_it_is_written() {
    let canonical: String = EXAMPLE
        .replace("acq m; wr balance 0; rel m", "acq m\n    wr balance 0\n    rel m")
        .split_inclusive('\n')
        .skip(1)
        .collect();
    assert_eq!(read(EXAMPLE).to_string(), canonical);
}
