//! What is found from one run that is always the same: the violations of programs like those of `examples/views`, as scenarios in their written order.
//! There the blocks come one after the other, so that each has to be moved to be seen.
//!
//! A recorded run of a real program is a little different each time, so that what it shows cannot be held to a figure; this can.

mod predict_support;

use avmon::event::{Event, ThreadId};
use avmon::predict::analyse::{Config, Watch, analyse};
use avmon::predict::cut_points::Blocks;
use avmon::predict::history::History;
use avmon::predict::prediction::Shape;
use avmon::predict::search::Budget;
use avmon::predict::views::Bounds;
use avmon::scenario::machine::Machine;
use avmon::scenario::parse;
use avmon::scenario::program::Program;
use predict_support::code::Known;
use predict_support::{history, with_branches};

/// What is found: nothing is known of the branches, or they are those of the scenario, or there are more and the code tells what they depend on.
#[derive(PartialEq, Eq, Debug)]
struct Found {
    /// Every access comes after a branch, as where a lock is an object with code of its own.
    among_branches: Vec<Shape>,
    alone: Vec<Shape>,
    with_code: Vec<Shape>,
}

fn shapes(history: &History) -> Vec<Shape> {
    let config = Config {
        cut_points: false,
        crossings: false,
        views: Some(Bounds::NEAR),
        stale_values: Some(Bounds::NEAR),
        blocks: Blocks::Marked,
        budget: Budget::PATIENT,
        ..Config::default()
    };
    let report = analyse(history, &config, &Watch { stop: &|| false, progress: &|_, _| {} });
    assert_eq!((report.undecided, report.unexamined, report.left_out), (0, 0, 0));
    let mut shapes: Vec<Shape> = report.predictions.iter().map(|prediction| prediction.shape).collect();
    shapes.sort_unstable();
    shapes.dedup();
    shapes
}

fn found(text: &str) -> Found {
    let scenario = parse(text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let program = Program::new(&scenario);
    let machine = Machine::new(&program);
    let run = machine.run_as_written();
    assert!(run.is_complete(), "{run:?}");
    let events: Vec<(ThreadId, Event)> = machine.events(&run);
    let among_branches = history(&with_branches(&events));
    let mut with_code = history(&with_branches(&events));
    with_code.code = Some(Box::new(Known(program.clone())));
    Found { among_branches: shapes(&among_branches), alone: shapes(&history(&events)), with_code: shapes(&with_code) }
}

fn finds(text: &str, among_branches: &[Shape], alone: &[Shape], with_code: &[Shape]) {
    let expected =
        Found { among_branches: among_branches.to_vec(), alone: alone.to_vec(), with_code: with_code.to_vec() };
    assert_eq!(found(text), expected, "{text}");
}

/// Two tellers read a balance and write what they made of it: who comes second read what the first one wrote.
#[test]
fn a_lost_update() {
    let account = "var balance = 100\nlock m\n\
        one: begin; acq m; r = rd balance; rel m; acq m; wr balance r + 20; rel m; end\n\
        two: begin; acq m; r = rd balance; rel m; acq m; wr balance r - 10; rel m; end\n";
    finds(account, &[], &[Shape::Stale], &[Shape::Stale]);
}

/// A pair is read in two blocks, and written in one.
#[test]
fn a_pair_that_is_read_apart() {
    let pair = |order: &str| format!("var x\nvar y\nvar sum\nlock m\n{order}");
    let reader = "one: begin; acq m; r = rd x; rel m; acq m; q = rd y; rel m; end\n";
    let writer = "two: acq m; wr x 1; wr y 1; rel m\n";
    finds(&pair(&[reader, writer].concat()), &[Shape::View], &[Shape::View], &[Shape::View]);
    finds(&pair(&[writer, reader].concat()), &[], &[Shape::View], &[Shape::View]);
}

/// A pair is written in two blocks; who reads it counts what is wrong with it, and the writer is told.
#[test]
fn a_pair_that_is_written_apart() {
    let reset = "var x = 1\nvar y = 1\nlock m\n\
        one: begin; acq m; wr x 0; rel m; acq m; wr y 0; rel m; end\n\
        two: acq m; r = rd x; q = rd y; wr x q; wr y r; rel m\n";
    finds(reset, &[], &[Shape::View], &[Shape::View]);
}

/// What is checked first is used later; who changes it looks at it before, and found what was made of it.
#[test]
fn a_check_before_the_act() {
    let connection = |checks: &str| {
        format!(
            "var socket = 1\nvar sent\nvar closed\nlock m\n\
             one: begin; acq m; r = rd socket; rel m; {checks}; acq m; n = rd sent; wr sent n + 1; rel m; end\n\
             two: acq m; n = rd sent; wr closed n; wr socket 0; rel m\n"
        )
    };
    // The other thread saw the count of what was sent, and does the same whatever it is.
    finds(&connection("q = r"), &[], &[Shape::Stale], &[Shape::Stale]);
    finds(&connection("assert r == 1"), &[], &[Shape::Stale], &[Shape::Stale]);
}

/// Who branches on what it would see otherwise might do something else.
#[test]
fn what_decides_is_not_guessed() {
    let trips = "var left = 100\nlock m\n\
        one: begin; acq m; r = rd left; rel m; if r > 0 {\n acq m; wr left r - 1; rel m\n }\n end\n\
        two: begin; acq m; r = rd left; rel m; if r > 0 {\n acq m; wr left r - 1; rel m\n }\n end\n";
    finds(trips, &[], &[], &[]);
}
