//! How long it takes to judge all witnesses of nondeterminism in runs of the sizes of the paper's largest ones. Prints; judges only that every
//! witness was looked at.
//!
//! `cargo test --release --test predict_witnesses_throughput -- --ignored --nocapture`

mod predict_support;

use std::time::Instant;

use avmon::event::Kind;
use avmon::predict::witnesses::{Config, Report, analyse};
use predict_support::history;
use predict_support::synthetic::{Shape, events};

/// The best of so many: noise only ever adds.
const ROUNDS: usize = 3;

fn measure(name: &str, shape: Shape) {
    let events = events(shape);
    let count = |kinds: &[Kind]| events.iter().filter(|(_, event)| kinds.contains(&event.kind().unwrap())).count();
    let history = history(&events);
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut best = f64::MAX;
    let mut report = Report::default();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        report = analyse(&history, &Config { jobs, ..Config::default() }, &|| false);
        best = best.min(start.elapsed().as_secs_f64());
    }
    let totals = &report.totals;
    println!(
        "{name}: {} events, {} threads, {} variables, {} lock events, {} accesses, {} waits; {} witnesses, {} groups, {best:.3} s on {jobs} cores",
        events.len(),
        shape.threads,
        history.variables.len(),
        count(&[Kind::Acquire, Kind::Release]),
        count(&[Kind::Read, Kind::Write]),
        count(&[Kind::Await, Kind::Signal]),
        totals.possible,
        report.groups.len(),
    );
    println!("  feasible {}, infeasible {}: {totals:?}", totals.feasible(), totals.infeasible());
    assert_eq!(totals.left_out, 0, "nobody stopped it");
}

#[test]
#[ignore = "a measurement"]
fn throughput() {
    // So many variables that about 519 are shared.
    let thrift = Shape {
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
    if let Ok(v) = std::env::var("TUNE") {
        let n: Vec<usize> = v.split(',').map(|x| x.parse().unwrap()).collect();
        let s = Shape {
            events: n[0],
            threads: n[1],
            variables: n[2],
            locks: n[3],
            accesses: n[4],
            calls: n[5],
            hot: n[6],
            writes: n[7],
            stays: n[8],
            busy: n[9],
            branches: n[10],
            switches: n[11],
            open: n[12],
            own: n[13],
            seed: 1,
        };
        return measure("tune", s);
    }
    measure("like ThriftTrace3", thrift);
    let daisy = Shape { events: 2_998, threads: 3, variables: 45, locks: 10, calls: 1, busy: 80, stays: 0, ..thrift };
    measure("like DaisyTest", daisy);
    // Hardly anything reads what it may not see changed: most witnesses are feasible.
    measure("like DaisyTest, many writes", Shape { writes: 80, branches: 0, ..daisy });
}
