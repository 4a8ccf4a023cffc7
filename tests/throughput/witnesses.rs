//! How long it takes to judge all witnesses of nondeterminism in runs of the sizes of the paper's largest ones. `scripts/bench predict` runs it. Judges
//! only that every witness was looked at.

use std::time::{Duration, Instant};

use crate::predict_support::history;
use crate::predict_support::synthetic::{Shape, events};
use crate::predict_support::table::print_row;
use avmon::predict::witnesses::{Config, Report, analyse};

/// The best of so many: noise only ever adds.
const ROUNDS: usize = 3;

fn measure(paper: &str, how: &str, shape: Shape) {
    let events = events(shape);
    let begin = Instant::now();
    let history = history(&events);
    let indexed = begin.elapsed();
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut best = Duration::MAX;
    let mut report = Report::default();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        report = analyse(&history, &Config { jobs, ..Config::default() }, &|| false);
        best = best.min(begin.elapsed());
    }
    let totals = &report.totals;
    let trace = format!(
        "{} events, {} threads, {} shared variables, {how}",
        events.len(),
        shape.threads,
        history.variables.len()
    );
    let found = format!(
        "{} witnesses in {} groups: {} feasible, {} infeasible, {} undecided; searched for {}",
        totals.possible,
        report.groups.len(),
        totals.feasible(),
        totals.infeasible(),
        totals.undecided,
        totals.explored,
    );
    print_row(&trace, paper, indexed, best, &found);
    assert_eq!(totals.left_out, 0, "nobody stopped it");
}

/// So many variables that about 519 are shared.
const THRIFT: Shape = Shape {
    events: 20_640,
    threads: 6,
    variables: 1_000,
    locks: 158,
    accesses: 9,
    calls: 5,
    hot: 50,
    writes: 45,
    stays: 20,
    busy: 20,
    branches: 30,
    switches: 30,
    open: 0,
    own: 0,
    seed: 1,
};

const DAISY: Shape =
    Shape { events: 2_998, threads: 3, variables: 45, locks: 10, calls: 1, busy: 80, stays: 0, ..THRIFT };

#[test]
#[ignore = "a measurement"]
fn thrift() {
    let paper = "ThriftTrace3, 479,142 witnesses: 243 s";
    measure(paper, "always locked", THRIFT);
    // Threads hardly read what others write, so that a sixth of the witnesses is feasible.
    let loose = Shape { busy: 11, branches: 0, switches: 3, open: 80, own: 100, ..THRIFT };
    measure(paper, "loosely coupled", loose);
}

#[test]
#[ignore = "a measurement"]
fn daisy() {
    let paper = "DaisyTest, 383,007 witnesses, 15,520 with choices: 244 s";
    measure(paper, "always locked", DAISY);
    measure(
        paper,
        "loosely coupled",
        Shape { writes: 50, busy: 55, branches: 0, switches: 1, open: 40, own: 100, ..DAISY },
    );
    // Sections and accesses without a lock in turn: thousands of witnesses have to be searched for.
    measure(paper, "half of it unlocked", Shape { branches: 0, open: 50, ..DAISY });
}
