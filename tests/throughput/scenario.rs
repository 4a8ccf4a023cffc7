//! How much of a scenario can be looked at in a second. Prints; judges nothing.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use avmon::scenario::explore::{Explored, Search, explore};
use avmon::scenario::facts::Facts;
use avmon::scenario::machine::Machine;
use avmon::scenario::parse;
use avmon::scenario::program::Program;
use avmon::scenario::tree::Scenario;

/// Threads that do nothing but contend: no two steps commute.
fn contending(threads: usize, steps: usize) -> Scenario {
    let mut text = "atomic a\n".to_owned();
    for thread in 0..threads {
        let _ = writeln!(text, "t{thread}:");
        (0..steps).for_each(|_| text.push_str("add a 1\n"));
    }
    parse(&text).expect("a scenario")
}

/// Threads that run blocks of two sections, each with its read or write: eight steps that others can notice.
fn sections(threads: usize, blocks: usize) -> Scenario {
    let mut text = "lock m, n\nvar x, y\n".to_owned();
    for thread in 0..threads {
        let _ = writeln!(text, "t{thread}:");
        for block in 0..blocks {
            let (lock, variable) = if (thread + block) % 2 == 0 { ("m", "x") } else { ("n", "y") };
            let _ = writeln!(text, "begin\nacq {lock}; r = rd {variable}; rel {lock}");
            let _ = writeln!(text, "acq {lock}; wr {variable} r + 1; rel {lock}\nend");
        }
    }
    parse(&text).expect("a scenario")
}

/// Looks at all runs, for no longer than a few seconds.
fn look(scenario: &Scenario, search: Search, with_facts: bool) -> (Explored, Duration) {
    let program = Program::new(scenario);
    let machine = Machine::new(&program);
    let start = Instant::now();
    let mut facts = Facts::default();
    let explored = explore(&machine, search, u64::MAX, &mut |run| {
        if with_facts {
            facts.add(Facts::of(machine.program, run, false));
        }
        if start.elapsed() > Duration::from_secs(3) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    (explored, start.elapsed())
}

#[test]
#[ignore = "prints figures, judges nothing"]
#[expect(clippy::cast_precision_loss, reason = "nobody sees so many digits")]
fn interleavings_per_second() {
    println!("| scenario | search | runs | seconds | runs/s | steps/s |\n|---|---|---|---|---|---|");
    let scenarios = [
        ("2 threads x 12 contending steps", contending(2, 12)),
        ("3 threads x 6 contending steps", contending(3, 6)),
        ("2 threads x 2 blocks of sections", sections(2, 2)),
        ("3 threads x 2 blocks of sections", sections(3, 2)),
    ];
    for (name, scenario) in &scenarios {
        for (how, search, with_facts) in [
            ("every run", Search::Plain, false),
            ("every run, with its facts", Search::Plain, true),
            ("one of each kind, with its facts", Search::Reduced, true),
        ] {
            let (explored, time) = look(scenario, search, with_facts);
            let per_second = |count: u64| count as f64 / time.as_secs_f64() / 1e6;
            println!(
                "| {name} | {how}{} | {} | {:.2} | {:.2} million | {:.2} million |",
                if explored.is_complete { "" } else { " (broken off)" },
                explored.runs,
                time.as_secs_f64(),
                per_second(explored.runs),
                per_second(explored.steps),
            );
        }
    }
}

#[test]
#[ignore = "prints figures, judges nothing"]
fn size_in_one_second() {
    println!(
        "| threads | contending steps each, every run | blocks of sections each (6 steps), every run | one run of each kind, with facts |\n|---|---|---|---|"
    );
    for threads in 2..=5 {
        let largest = |scenario: &dyn Fn(usize) -> Scenario, search, with_facts| {
            (1..100)
                .take_while(|&size| {
                    let (explored, time) = look(&scenario(size), search, with_facts);
                    explored.is_complete && time < Duration::from_secs(1)
                })
                .last()
                .unwrap_or(0)
        };
        println!(
            "| {threads} | {} | {} | {} |",
            largest(&|steps| contending(threads, steps), Search::Plain, false),
            largest(&|blocks| sections(threads, blocks), Search::Plain, false),
            largest(&|blocks| sections(threads, blocks), Search::Reduced, true),
        );
    }
}
