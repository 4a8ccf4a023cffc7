//! Scenarios as real programs: what the monitor finds in them is what the analysis finds in the interpreter's run of the same order, and
//! values and assertions come out the same.
//!
//! `AVMON_SCENARIOS` sets the number of random scenarios per family, for the long mode.

mod common;
mod scenarios;
mod support;

use avmon::analysis::sidetrack::SideTrack;
use avmon::analysis::{Analysis as _, Transaction, Violation};
use avmon::event::{Event, Kind, ThreadId, atomic};
use avmon::report::finding;
use avmon::report::json::Record;
use avmon::scenario::events::place_of;
use avmon::scenario::explore::{Search, explore};
use avmon::scenario::machine::{Effect, Machine};
use avmon::scenario::parse;
use avmon::scenario::program::Program;
use avmon::scenario::run::Run;
use avmon::scenario::tree::{ObjectKind, Scenario};
use avmon::scenario::wakings;
use common::BLOCKS;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use scenarios::{Shape, cases};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use support::recording;
use support::recording::preloaded;
use support::run::{End, Outcome, run};

/// Random scenarios of each family.
const CASES: usize = 6;
/// Every so many programs are also made by clang, and are also run without an order.
const CLANG: usize = 4;
/// Steps of the search after which nobody knows whether a scenario can hang.
const MOST_STEPS: u64 = 20_000;

/// Blocks are the only transactions, and all that is found goes to the log.
const OPTIONS: &str = "functions=0:sections=0:exitcode=0:report=0:summary=0";

fn case_count() -> usize {
    std::env::var("AVMON_SCENARIOS").ok().and_then(|number| number.parse().ok()).unwrap_or(CASES)
}

/// Something to build: a scenario as text, and the order to build it in.
struct Task {
    name: String,
    text: String,
    seed: Option<u64>,
    is_clang: bool,
}

/// The kind of a finding, and the lines of its block, both acquires and the culprit.
type Found = (String, [u32; 4]);

/// What the interpreter says about a run.
struct Expected {
    findings: BTreeSet<Found>,
    values: String,
    assertions: Vec<u32>,
    status: i32,
    /// Whether the real order of events is the one of the interpreter: see [`is_exact`].
    is_exact: bool,
    /// For each thread the kinds of its events.
    events: Vec<Vec<Kind>>,
}

/// Whether the accesses in a recording are those of the steps alone: a `cas` has the value that it expects in memory.
fn sees_accesses(text: &str) -> bool {
    !text.contains("cas ")
}

fn expect(scenario: &Scenario, machine: &Machine<'_>, run: &Run) -> Expected {
    let line = |pc| place_of(pc).map_or(0, |place| machine.program.at(place).at.line);
    let found = |violation: &Violation| {
        let Some(Transaction::Block { pc: block, .. }) = violation.block() else { panic!("no block: {violation:?}") };
        let (first, second) = violation.locations();
        let kind = finding::Kind::from(violation.kind).name().to_owned();
        (kind, [*block, first, second, violation.culprit_location()].map(line))
    };
    let mut findings = BTreeSet::new();
    let mut analysis = SideTrack::new(BLOCKS);
    let events = machine.events(run);
    for (thread, event) in &events {
        analysis.step(*thread, event, &mut |violation| {
            findings.insert(found(&violation));
        });
    }
    let mut state = machine.start(&mut Vec::new());
    for &thread in &run.order {
        machine.step(&mut state, thread, &mut Vec::new());
    }
    let mut values = String::new();
    for (id, object) in scenario.objects.iter().enumerate() {
        if matches!(object.kind, ObjectKind::Variable(_) | ObjectKind::Atomic(_)) {
            let _ = writeln!(values, "{} = {}", object.name, machine.value(&state, id));
        }
    }
    let failed = run.log.iter().filter(|taken| taken.effect == Effect::AssertionFailed);
    let mut assertions: Vec<u32> = failed.map(|taken| machine.program.at(taken.place).at.line).collect();
    assertions.sort_unstable();
    let status = match (run.stuck.is_empty(), assertions.is_empty()) {
        (false, _) => 3,
        (true, false) => 1,
        (true, true) => 0,
    };
    let events = kinds(events, sees_accesses(&scenario.to_string()));
    Expected { findings, values, assertions, status, is_exact: is_exact(machine, run), events }
}

/// Whether nobody arrives at a barrier before all of the last round have gone on. The monitor sees a thread go on when its call comes
/// back, which may be before its step; whom it goes on after is then another question.
fn is_exact(machine: &Machine<'_>, run: &Run) -> bool {
    let mut present: BTreeMap<usize, (u32, u32)> = BTreeMap::new();
    for taken in &run.log {
        match taken.effect {
            Effect::Arrived(barrier) => {
                let ObjectKind::Barrier(most) = machine.program.objects[barrier] else { continue };
                let (arrived, leaving) = present.entry(barrier).or_default();
                if *leaving > 0 {
                    return false;
                }
                *arrived += 1;
                if *arrived == most {
                    (*arrived, *leaving) = (0, most);
                }
            }
            Effect::Passed(barrier) => present.entry(barrier).or_default().1 -= 1,
            _ => {}
        }
    }
    true
}

/// The kinds of the events of each thread that steps can make, in an order that does not depend on the numbers of the threads.
fn kinds(events: impl IntoIterator<Item = (ThreadId, Event)>, accesses: bool) -> Vec<Vec<Kind>> {
    let mut threads: BTreeMap<ThreadId, Vec<Kind>> = BTreeMap::new();
    for (thread, event) in events {
        match event.kind() {
            // Of functions, of the memory and lives of threads, and of what main prepares.
            None
            | Some(
                Kind::Enter
                | Kind::Leave
                | Kind::Branches
                | Kind::Time
                | Kind::Extent
                | Kind::Allocate
                | Kind::Free
                | Kind::Start
                | Kind::LockInit,
            ) => {}
            Some(Kind::Read | Kind::Write) if !accesses => {}
            // Of the marks of blocks, which look up the monitor once.
            Some(Kind::AtomicLoad | Kind::AtomicStore) if atomic::order(event.detail()) == 0 => {}
            Some(kind) => threads.entry(thread).or_default().push(kind),
        }
    }
    let mut kinds: Vec<_> = threads.into_values().collect();
    kinds.sort_by_key(|kinds| format!("{kinds:?}"));
    kinds
}

/// Builds the program of a task in a directory of its own, as a user would.
fn make(task: &Task, home: &Path) -> Result<PathBuf, String> {
    let [text, program] = ["case.scn", "case"].map(|name| home.join(name));
    std::fs::write(&text, &task.text).map_err(|error| error.to_string())?;
    let mut command = recording::avmon(&["scenario", "build", "case.scn", "-o", "case"]);
    command.current_dir(home).env_remove("AVMON_CC");
    if task.is_clang {
        command.args(["--compiler", "clang"]);
    }
    if let Some(seed) = task.seed {
        command.args(["--seed", &seed.to_string()]);
    }
    let built = run(&mut command)?;
    if built.end == End::Exit(0) && built.stderr.is_empty() { Ok(program) } else { Err(built.to_string()) }
}

fn check_ending(outcome: &Outcome, expected: &Expected) -> Result<(), String> {
    let is_failure = |line: &&str| line.contains(": assertion failed: ");
    let line = |text: &str| text.split(':').nth(1).and_then(|line| line.parse().ok()).unwrap_or(0);
    let mut assertions: Vec<u32> = outcome.stderr.lines().filter(is_failure).map(line).collect();
    assertions.sort_unstable();
    let deadlocks = outcome.stderr.contains("these threads can never go on");
    let is_right = outcome.end == End::Exit(expected.status)
        && outcome.stdout == expected.values
        && assertions == expected.assertions
        && deadlocks == (expected.status == 3);
    let Expected { values, assertions, status, .. } = expected;
    if is_right { Ok(()) } else { Err(format!("{outcome}\nnot {status}, {assertions:?},\n{values}")) }
}

fn findings(log: &Path) -> Result<BTreeSet<Found>, String> {
    let text = std::fs::read_to_string(log).map_err(|error| format!("{}: {error}", log.display()))?;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        let record: Record = serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
        if let Record::Finding(finding) = record {
            let frames =
                [&finding.block.begin, &finding.first.location, &finding.second.location, &finding.culprit.location];
            if let Some(other) =
                frames.iter().find(|frame| frame.file.as_ref().is_none_or(|file| !file.ends_with("case.scn")))
            {
                return Err(format!("{other:?} is not in the scenario"));
            }
            found.insert((finding.kind.name().to_owned(), frames.map(|frame| frame.line.unwrap_or(0))));
        }
    }
    Ok(found)
}

/// How many findings were equal, so that it shows that something was compared.
#[derive(Default)]
struct Tally {
    programs: usize,
    deadlocks: usize,
    findings: usize,
    free: usize,
    inexact: usize,
    unkept: usize,
}

/// Builds one program and runs it alone, under the monitor, in a recording, and without its order.
fn check(task: &Task, tally: &Mutex<Tally>) -> Result<(), String> {
    let scenario = parse(&task.text).map_err(|errors| errors.render("case.scn", &task.text))?;
    let program = Program::new(&scenario);
    let machine = Machine::new(&program);
    let ran = match task.seed {
        Some(seed) => machine.run_at_random(seed),
        None => machine.run_as_written(),
    };
    if wakings::first_held(&machine, &ran).is_some() {
        tally.lock().unwrap().unkept += 1;
        return Ok(());
    }
    let expected = expect(&scenario, &machine, &ran);
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let program = make(task, home.path())?;
    let in_home = |command: &mut Command| run(command.current_dir(home.path()));
    check_ending(&in_home(Command::new(&program).arg("values"))?, &expected)?;

    let log = home.path().join("log");
    let traces = home.path().join("traces");
    let options = format!("{OPTIONS}:log_path={}:trace_path={}:trace_all=1", log.display(), traces.display());
    for options in [format!("{OPTIONS}:log_path={}", log.display()), options] {
        check_ending(&in_home(preloaded(&program, &options).arg("values"))?, &expected)?;
        let mut logs =
            std::fs::read_dir(home.path()).map_err(|error| error.to_string())?.flatten().map(|entry| entry.path());
        let log = logs.find(|path| path.file_stem().is_some_and(|stem| stem == "log")).ok_or("no log")?;
        let found = findings(&log)?;
        if found != expected.findings && expected.is_exact {
            return Err(format!("found {found:?}\nnot {:?}\nin the order {:?}", expected.findings, ran.order));
        }
        std::fs::remove_file(&log).map_err(|error| error.to_string())?;
    }
    let trace = recording::processes(&traces).pop().ok_or("no trace")?;
    let mut events = Vec::new();
    recording::read(&recording::open(&trace)?, |thread, event| events.push((thread, *event)));
    let events = kinds(events, sees_accesses(&task.text));
    // At the end of a deadlock the program has no time for more.
    if events != expected.events && expected.status != 3 {
        return Err(format!("events {events:?}\nnot {:?}", expected.events));
    }
    let ends = can_only_end(&machine);
    if ends {
        let free = in_home(Command::new(&program).arg("free"))?;
        if !matches!(free.end, End::Exit(0 | 1)) {
            return Err(format!("without its order: {free}"));
        }
    }
    let mut tally = tally.lock().unwrap();
    tally.programs += 1;
    tally.findings += expected.findings.len();
    tally.deadlocks += usize::from(expected.status == 3);
    tally.free += usize::from(ends);
    tally.inexact += usize::from(!expected.is_exact);
    Ok(())
}

/// Whether every run comes to an end.
fn can_only_end(machine: &Machine<'_>) -> bool {
    let mut all_end = true;
    let explored = explore(machine, Search::Reduced, MOST_STEPS, &mut |run| {
        all_end &= run.is_complete();
        if all_end { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    all_end && explored.is_complete
}

/// Checks all, on as many threads as there are processors, and tells about every one that fails.
fn check_all(name: &str, tasks: &[Task]) {
    let (tally, failures) = (Mutex::default(), Mutex::new(Vec::new()));
    let queue = Mutex::new(tasks.iter());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let Some(task) = queue.lock().unwrap().next() else { return };
                    if let Err(failure) = check(task, &tally) {
                        let Task { name, text, seed, is_clang } = task;
                        failures
                            .lock()
                            .unwrap()
                            .push(format!("{name}, seed {seed:?}, clang {is_clang}: {failure}\n{text}"));
                    }
                }
            });
        }
    });
    let Tally { programs, deadlocks, findings, free, inexact, unkept } = tally.into_inner().unwrap();
    println!(
        "{name}: {programs} programs, {findings} findings, {deadlocks} deadlocks, {free} also without an order; {inexact} inexact, {unkept} cannot be kept"
    );
    let failures: Vec<String> = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {} failed:\n{}", failures.len(), tasks.len(), failures.join("\n\n"));
    assert!(findings > 0 && free > 0);
}

#[test]
fn examples() {
    let directory = support::root().join("examples/scenarios");
    let entries = std::fs::read_dir(&directory).expect("the examples").flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "scn")).collect();
    paths.sort();
    let task = |(number, path): (usize, &PathBuf)| Task {
        name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        text: std::fs::read_to_string(path).expect("a readable example"),
        seed: None,
        is_clang: number % CLANG == 0,
    };
    let tasks: Vec<Task> = paths.iter().enumerate().map(task).collect();
    assert!(tasks.len() > 10);
    check_all("examples", &tasks);
}

const FAMILIES: &[(&str, Shape)] = &[
    ("two_threads", Shape::PLAIN),
    ("three_locks", Shape { threads: (2, 3), locks: 3, variables: 3, chains: true, ..Shape::PLAIN }),
    ("shared", Shape { threads: (2, 3), shared: true, ..Shape::PLAIN }),
    ("forks", Shape { threads: (2, 4), forks: true, ..Shape::PLAIN }),
    ("branches", Shape { threads: (2, 3), branches: true, tries: true, ordered: true, ..Shape::PLAIN }),
    ("atomics", Shape { threads: (2, 3), atomics: true, branches: true, ordered: true, ..Shape::PLAIN }),
    ("conditions", Shape { threads: (3, 4), conditions: true, ..Shape::PLAIN }),
    ("semaphores", Shape { threads: (2, 3), semaphores: true, ..Shape::PLAIN }),
    ("barriers", Shape { threads: (2, 3), barriers: true, ..Shape::PLAIN }),
    ("racy", Shape { threads: (2, 3), race_free: false, branches: true, ..Shape::PLAIN }),
];

#[test]
fn random_scenarios() {
    let mut tasks = Vec::new();
    for (name, shape) in FAMILIES {
        let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut runner = TestRunner::new_with_rng(Config::default(), random);
        for number in 0..case_count() {
            let case = cases(*shape).new_tree(&mut runner).expect("a scenario").current();
            let (name, text) = (format!("{name} {number}"), case.scenario.to_string());
            tasks.push(Task { name, text, seed: Some(case.seed), is_clang: number % CLANG == 1 });
        }
    }
    check_all("random scenarios", &tasks);
}
