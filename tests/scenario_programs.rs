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
use avmon::scenario::machine::{Effect, Machine};
use avmon::scenario::program::Program;
use avmon::scenario::run::Run;
use avmon::scenario::tree::{ObjectKind, Operator, Scenario};
use avmon::scenario::wakings;
use avmon::scenario::{MOST_OPERATORS, parse};
use common::BLOCKS;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use scenarios::judge::can_only_end;
use scenarios::{Shape, cases};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use support::recording;
use support::recording::preloaded;
use support::run::{End, Outcome, run};

/// Random scenarios of each family.
const CASES: usize = 6;
/// Every so many programs are made by clang.
const CLANG: usize = 4;
/// Steps of the search after which nobody knows whether a scenario can hang.
const MOST_STEPS: u64 = 20_000;

/// Blocks are the only transactions, and all that is found goes to the log.
const OPTIONS: &str = "functions=0:sections=0:exitcode=0:report=0:summary=0";

fn case_count() -> usize {
    std::env::var("AVMON_SCENARIOS").ok().and_then(|number| number.parse().ok()).unwrap_or(CASES)
}

/// Something to build: a scenario as text, and the order to build it in.
#[derive(Debug)]
struct Task {
    name: String,
    text: String,
    order: Order,
    is_clang: bool,
}

#[derive(Debug)]
enum Order {
    Written,
    Seed(u64),
    Given(&'static str),
}

impl Order {
    fn run(&self, scenario: &Scenario, machine: &Machine<'_>) -> Run {
        match *self {
            Order::Written => machine.run_as_written(),
            Order::Seed(seed) => machine.run_at_random(seed),
            Order::Given(names) => {
                let index = |name: &str| scenario.threads.iter().position(|thread| thread.name == name);
                let order: Vec<usize> = names.split(' ').filter_map(index).collect();
                machine.run_in_order(&order).expect("an order that can be kept")
            }
        }
    }
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
    /// For each thread its events, as far as both have them.
    events: Vec<Vec<Told>>,
}

/// The kind of an event, whether it is a compare-exchange that succeeded, and of a value what it was.
type Told = (Kind, bool, [u64; 2]);

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
    let events = told(events, sees_accesses(&scenario.to_string()));
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

/// What steps can make of the events of each thread, in an order that does not depend on the numbers of the threads.
fn told(events: impl IntoIterator<Item = (ThreadId, Event)>, accesses: bool) -> Vec<Vec<Told>> {
    let mut threads: BTreeMap<ThreadId, Vec<Told>> = BTreeMap::new();
    let mut is_marks: BTreeMap<ThreadId, bool> = BTreeMap::new();
    for (thread, event) in events {
        // Of the marks of blocks, which look up the monitor once.
        let is_mark =
            matches!(event.kind(), Some(Kind::AtomicLoad | Kind::AtomicStore)) && atomic::order(event.detail()) == 0;
        let is_after_mark = is_marks.insert(thread, is_mark) == Some(true);
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
            Some(_) if is_mark => {}
            Some(Kind::Value) if is_after_mark => {}
            Some(kind) => {
                let value = if kind == Kind::Value { [event.object, event.pc] } else { [0; 2] };
                threads.entry(thread).or_default().push((kind, event.is_comparison(), value));
            }
        }
    }
    let mut told: Vec<_> = threads.into_values().collect();
    told.sort_by_key(|told| format!("{told:?}"));
    told
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
    match task.order {
        Order::Written => &mut command,
        Order::Seed(seed) => command.args(["--seed", &seed.to_string()]),
        Order::Given(names) => command.args(["--order", names]),
    };
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
    let ran = task.order.run(&scenario, &machine);
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
    let events = told(events, sees_accesses(&task.text));
    // At the end of a deadlock the program has no time for more.
    if events != expected.events && expected.status != 3 {
        return Err(format!("events {events:?}\nnot {:?}", expected.events));
    }
    let ends = can_only_end(&machine, MOST_STEPS);
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
                        let Task { name, text, order, is_clang } = task;
                        failures
                            .lock()
                            .unwrap()
                            .push(format!("{name}, {order:?}, clang {is_clang}: {failure}\n{text}"));
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
        order: Order::Written,
        is_clang: number % CLANG == 0,
    };
    let tasks: Vec<Task> = paths.iter().enumerate().map(task).collect();
    assert!(tasks.len() > 10);
    check_all("examples", &tasks);
}

const FAMILIES: &[(&str, Shape)] = &[
    ("two_threads", Shape::PLAIN),
    ("three_locks", Shape { threads: (2, 3), locks: 3, variables: 3, chains: true, ..Shape::PLAIN }),
    ("shared", Shape::SHARED),
    ("forks", Shape::FORKS),
    ("branches", Shape { ordered: true, ..Shape::TRIES }),
    ("atomics", Shape { ordered: true, ..Shape::ATOMIC_BRANCHES }),
    ("conditions", Shape { threads: (3, 4), conditions: true, ..Shape::PLAIN }),
    ("semaphores", Shape::SEMAPHORES),
    ("barriers", Shape::BARRIERS),
    ("racy", Shape::RACY_BRANCHES),
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
            tasks.push(Task { name, text, order: Order::Seed(case.seed), is_clang: number % CLANG == 1 });
        }
    }
    check_all("random scenarios", &tasks);
}

/// Builds, with both compilers, what finds nothing.
#[track_caller]
fn check_by_both(text: &str, order: impl Fn() -> Order) {
    for is_clang in [false, true] {
        let task = Task { name: String::new(), text: text.to_owned(), order: order(), is_clang };
        let tally = Mutex::default();
        check(&task, &tally).unwrap_or_else(|failure| panic!("clang {is_clang}: {failure}"));
        assert_eq!(tally.into_inner().unwrap().programs, 1, "it was not run");
    }
}

#[test]
fn arithmetic() {
    const NUMBERS: [i64; 7] = [i64::MIN, -7, -1, 0, 1, 3, i64::MAX];
    let mut text = String::from("var ");
    let names: Vec<String> = (0..Operator::ALL.len()).map(|number| format!("x{number}")).collect();
    let _ = writeln!(text, "{}, y\nt1: a = 0", names.join(", "));
    for (name, operator) in names.iter().zip(Operator::ALL) {
        let _ = writeln!(text, "all = 0");
        for (left, right) in NUMBERS.into_iter().flat_map(|left| NUMBERS.map(|right| (left, right))) {
            // In registers, so that the compiler is not asked to do it.
            let _ = writeln!(text, "a = {left}\nb = {right}\nall = all * 31 + (a {} b)", operator.text());
        }
        let _ = writeln!(text, "wr {name} all");
    }
    for value in NUMBERS {
        let _ = writeln!(text, "a = {value}\nall = all * 31 + -a * 3 + !a - {value}");
    }
    let _ = writeln!(text, "wr y all\nassert all == 1\nassert -a < 0 && !!a\nassert a % 2 == 0");
    check_by_both(&text, || Order::Written);
}

#[test]
fn sleepers_go_on_in_any_order() {
    let text = "\
lock m
cond c
var turn, first, second, third

t1: acq m; wait c m; r = rd turn; wr turn r + 1; wr first r; rel m
t2: acq m; wait c m; r = rd turn; wr turn r + 1; wr second r; rel m
t3: acq m; wait c m; r = rd turn; wr turn r + 1; wr third r; rel m
waker: acq m; broadcast c; rel m; acq m; rd turn; rel m
other: signal c; signal c; signal c
";
    for order in [
        // All are woken at once, and others use the lock before the first goes on.
        "t1 t1 t2 t2 t3 t3 waker waker waker waker waker waker t3 t3 t3 t3 t3 t1 t1 t1 t1 t1 t2",
        "t1 t1 t2 t2 t3 t3 waker waker waker t2 t2 t2 t2 t2 waker waker waker t1 t1 t1 t1 t1 t3",
        // One after another, none of them asleep longest.
        "t3 t3 t2 t2 t1 t1 other other t2 t2 t2 t2 t2 other t1 t1 t1 t1 t1 t3 t3",
    ] {
        check_by_both(text, || Order::Given(order));
    }
}

#[test]
fn barriers_are_passed_again() {
    let text = "\
barrier b 2
var x, y

t1: wait b
    wr x 1
    wait b
    r = rd y
    wr x r + 10
    wait b
t2: wait b
    wr y 2
    wait b
    wait b
    r = rd x
    wr y r
";
    check_by_both(text, || Order::Written);
    for seed in 0..4 {
        check_by_both(text, || Order::Seed(seed));
    }
}

#[test]
fn reads_nest() {
    let text = "\
rwlock l
var x

t1: begin
    racq l
    racq l
    r = rd x
t2: racq l; rd x; rel l
t1: rel l
    q = rtry l
    rel l
    rel l
t3: acq l; wr x 5; rel l
t1: racq l
    assert r == 0 && q == 1
    rel l
    end
";
    check_by_both(text, || Order::Written);
    for seed in 0..4 {
        check_by_both(text, || Order::Seed(seed));
    }
}

/// Names that C, its library and the program's own fixed part know, values that say nothing, and one that is as long as it may be.
fn odd_text() -> String {
    let deep = |open: &str, close: &str| open.repeat(MOST_OPERATORS / 2) + "r" + &close.repeat(MOST_OPERATORS / 2);
    format!(
        "\
lock int, errno, unused_lock
recursive again
rwlock printf
cond NULL
barrier plan 1, arrived 2
semaphore sem_wait 1
var order, linux, scenario = -9223372036854775808
atomic atomic_load = 9223372036854775807

main: r = 1
    r = r
    if r == r {{ wr linux r && 5 }}
    assert (r == 1) == 5
    assert !r == 0
    wr order {}
    wr order {}
    acq int; acq errno; rel errno; rel int
    begin return; begin; end; end
    t = try again; t = try sem_wait; t = rtry printf
    r = add atomic_load 1
    r = cas atomic_load 5 -1
    wait plan
    fork 1
    fork never
1: r = rd scenario
    while 1 max 2 {{ while r max 3 {{ r = r / -1; rd order }} }}
    if r > 5 {{ join never }}
never:
",
        deep("(0 - ", ")"),
        deep("(r || ", ")"),
    )
}

#[test]
fn the_text_alone_compiles_anywhere_without_warnings() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("odd.scn"), odd_text()).unwrap();
    let built =
        run(recording::avmon(&["scenario", "build", "odd.scn", "-o", "odd.c"]).current_dir(home.path())).unwrap();
    assert_eq!(built.end, End::Exit(0), "{built}");
    assert_eq!(built.stdout, "odd.c: compile it with:\n  avmon cc -O1 -pthread odd.c -o PROGRAM\n");
    for compiler in ["gcc", "clang"] {
        for level in ["-O0", "-O2"] {
            let flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", level, "-pthread", "odd.c", "-o", "odd"];
            let compiled = run(Command::new(compiler).args(flags).current_dir(home.path())).unwrap();
            assert_eq!(compiled.end, End::Exit(0), "{compiler} {level}: {compiled}");
        }
    }
    check_by_both(&odd_text(), || Order::Written);
}

/// Builds and runs, and returns what was said in both.
fn both(home: &Path, text: &str, flags: &[&str], arguments: &[&str]) -> (Outcome, Outcome) {
    std::fs::write(home.join("case.scn"), text).unwrap();
    let arguments_of_build = [&["scenario", "build", "case.scn"], flags].concat();
    let built = run(recording::avmon(&arguments_of_build).current_dir(home)).unwrap();
    let ran = run(Command::new(home.join("case")).args(arguments).current_dir(home)).unwrap();
    (built, ran)
}

const DEADLOCK: &str = "lock m, n\nvar x\n\nt1: acq m\n    wr x 7\nt2: acq n\nt1: acq n\nt2: acq m\n";

#[test]
fn a_deadlock_is_told_twice() {
    let home = tempfile::tempdir().unwrap();
    let (built, ran) = both(home.path(), DEADLOCK, &[], &["values"]);
    let stuck = "t1 at case.scn:7, t2 at case.scn:8";
    let told = format!(
        "case: run it with:\n  avmon run -- ./case\nor without its order:\n  ./case free\n\
         the order ends in a deadlock: {stuck}; the program says so and ends there, and may hang without its order\n"
    );
    assert_eq!((built.end, built.stdout.as_str()), (End::Exit(0), told.as_str()));
    let told = format!("scenario: all steps of the order are done; these threads can never go on: {stuck}\n");
    assert_eq!((ran.end, ran.stdout.as_str(), ran.stderr.as_str()), (End::Exit(3), "x = 7\n", told.as_str()));
}

#[test]
fn another_argument_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let (_, ran) = both(home.path(), DEADLOCK, &["--seed", "1"], &["fre"]);
    assert_eq!(ran.end, End::Exit(2));
    assert!(ran.stderr.contains("[free] [values]"), "{ran}");
}

/// What cannot happen to a program that was built for its order, and would not be noticed otherwise.
#[test]
fn an_order_that_is_not_kept_is_told() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("case.scn"), "lock m\n\nt1: acq m\nt1: rel m\nt2: acq m\nt2: rel m\n").unwrap();
    let built =
        run(recording::avmon(&["scenario", "build", "case.scn", "-o", "case.c"]).current_dir(home.path())).unwrap();
    assert_eq!(built.end, End::Exit(0), "{built}");
    let text = std::fs::read_to_string(home.path().join("case.c")).unwrap();
    let order = "{0, 3}, {0, 4}, {1, 5}, {1, 6},";
    assert!(text.contains(order), "{text}");
    let text = text.replace(order, "{0, 3}, {1, 5}, {0, 4}, {1, 6},").replace("MOST_SECONDS = 10", "MOST_SECONDS = 1");
    std::fs::write(home.path().join("case.c"), text).unwrap();
    let compiled =
        run(Command::new("gcc").args(["-pthread", "case.c", "-o", "case"]).current_dir(home.path())).unwrap();
    assert_eq!(compiled.end, End::Exit(0), "{compiled}");
    let ran = run(Command::new(home.path().join("case")).current_dir(home.path())).unwrap();
    let told =
        "scenario: t1 waits at case.scn:4 for step 2 of the order, which does not come to its end: t2 at case.scn:5\n";
    assert_eq!((ran.end, ran.stderr.as_str()), (End::Exit(4), told));
}

/// Asserts that nothing is built, and why.
#[track_caller]
fn refuses(text: &str, flags: &[&str], code: i32, says: &str) {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("case.scn"), text).unwrap();
    let arguments = [&["scenario", "build", "case.scn"], flags].concat();
    let built = run(recording::avmon(&arguments).current_dir(home.path()).env_remove("AVMON_CC")).unwrap();
    assert_eq!(built.end, End::Exit(code), "{built}");
    assert!(built.stderr.starts_with("avmon: error: ") && built.stderr.contains(says), "no {says:?} in {built}");
    assert!(!home.path().join("case").exists());
}

#[test]
fn mistakes_are_told() {
    let cannot = "--order: step 3 cannot be taken: ";
    refuses(
        "lok m\n",
        &[],
        125,
        "case.scn is no scenario:\ncase.scn:1:1: 'lok' declares nothing; did you mean 'lock'?\n    lok m\n    ^~~\n",
    );
    refuses("lock m\nt1: rel m\n", &[], 125, "case.scn:2:5: in this order the lock is not held here");
    refuses(
        "recursive m\ncond c\nt1: acq m; acq m; wait c m\n",
        &[],
        125,
        "case.scn:3:19: in this order the lock is held more than once here, and a wait gives it back only once",
    );
    refuses(
        "t1: while 1 max 1000 { while 1 max 1000 { } }\n",
        &[],
        125,
        "case.scn:1:24: from here on the thread does nothing",
    );
    let long = "var x\nt1: while 1 max 1000 { while 1 max 1000 { wr x } }\n";
    refuses(long, &[], 125, "case.scn takes more than 20000 steps in this order; let its loops end earlier");
    refuses(DEADLOCK, &["--order", "t1*2 t3"], 2, "--order: there is no thread 't3'; did you mean 't1'?");
    refuses(DEADLOCK, &["--order", "somebody"], 2, "--order: there is no thread 'somebody'; the threads are t1, t2");
    for count in ["", "x", "0", "1000001", "99999999999999999999", "-1"] {
        let word = format!("t1*{count}");
        refuses(
            DEADLOCK,
            &["--order", &word],
            2,
            &format!("--order: '{word}' has no count of steps from 1 to 20000; write 't1' or 't1*3'"),
        );
    }
    refuses(
        DEADLOCK,
        &["--order", "t1*2 t2 t1"],
        2,
        "--order: step 4 cannot be taken: t1 stands at case.scn:7:5, and n is held by t2",
    );
    refuses("t1: r = 1\n", &["--order", "t1"], 2, "--order: step 1 cannot be taken: t1 has no step left");
    refuses(
        "var x\nt1: wr x; wr x; fork t2\nt2: wr x\n",
        &["--order", "t1*2 t2"],
        2,
        &format!("{cannot}t2 has not been forked yet"),
    );
    refuses(
        "var x\nt1: wr x; wr x; join t2\nt2: wr x\n",
        &["--order", "t1*3"],
        2,
        &format!("{cannot}t1 stands at case.scn:2:17, and t2 is not at its end"),
    );
    refuses(
        "semaphore s\nt1: post s; wait s; wait s\n",
        &["--order", "t1*3"],
        2,
        &format!("{cannot}t1 stands at case.scn:2:21, and s has no unit"),
    );
    refuses(
        "barrier b 2\nvar x\nt1: wr x; wait b\n",
        &["--order", "t1*3"],
        2,
        &format!("{cannot}t1 stands at case.scn:3:11, and others have to arrive at b first"),
    );
    refuses(
        "lock m\ncond c\nt1: acq m; wait c m\n",
        &["--order", "t1*3"],
        2,
        &format!("{cannot}t1 stands at case.scn:3:12, and nobody has signalled c since it fell asleep"),
    );
    refuses(
        "rwlock l\nt1: racq l\nt2: racq l\nt3: acq l\n",
        &["--order", "t1 t2 t3"],
        2,
        &format!("{cannot}t3 stands at case.scn:4:5, and l is held by t1, t2"),
    );
    refuses(
        "lock m\nvar x\nt1: rel m; wr x\nt2: wr x; wr x\n",
        &["--order", "t1 t2 t1"],
        2,
        &format!("{cannot}t1 has stopped for good"),
    );
    let two = "lock m\ncond c\na: acq m; wait c m; rel m\nb: acq m; wait c m; rel m\ns: signal c; signal c\n";
    refuses(
        two,
        &["--order", "a a s b b s"],
        125,
        "case.scn:5:14: real threads cannot keep this order: a thread that was woken before has to go on first",
    );
    refuses(DEADLOCK, &["--compiler", "no-such-compiler"], 125, "no-such-compiler was not found");
    refuses(DEADLOCK, &["--compiler", "avmon"], 125, "'avmon' is avmon itself");
    let itself = "is the scenario itself, which would be lost; name another file with -o\n";
    refuses(DEADLOCK, &["-o", "case.scn"], 2, &format!("case.scn {itself}"));
    refuses(DEADLOCK, &["-o", "./case.scn"], 2, &format!("./case.scn {itself}"));
    refuses(DEADLOCK, &["-o", "no/such/case.c"], 125, "no/such/case.c cannot be written: ");
}

#[test]
fn the_program_comes_into_the_current_directory() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("my cases")).unwrap();
    std::fs::write(home.path().join("my cases/a b.scn"), "var x\nt1: wr x\n").unwrap();
    let built = run(recording::avmon(&["scenario", "build", "my cases/a b.scn"]).current_dir(home.path())).unwrap();
    let told = "a b: run it with:\n  avmon run -- './a b'\nor without its order:\n  './a b' free\n";
    assert_eq!((built.end, built.stdout.as_str()), (End::Exit(0), told), "{built}");
    let ran = run(Command::new(home.path().join("a b")).current_dir(home.path())).unwrap();
    assert_eq!(ran.end, End::Exit(0), "{ran}");
}

/// What `main` does is in no step; it has the line of the thread that it is done for.
#[test]
fn all_that_is_told_of_a_program_is_in_the_scenario() {
    let home = tempfile::tempdir().unwrap();
    let text = "lock m\n\nt1: begin\n    acq m; rel m\n    acq m; rel m\n    end\nt2: acq m; rel m\n";
    std::fs::write(home.path().join("case.scn"), text).unwrap();
    let built = run(recording::avmon(&["scenario", "build", "case.scn"]).current_dir(home.path())).unwrap();
    assert_eq!(built.end, End::Exit(0), "{built}");
    let ran = run(recording::avmon(&["run", "--", "./case"]).current_dir(home.path())).unwrap();
    let frames = || ran.stderr.lines().filter(|line| line.trim_start().starts_with('#'));
    assert!(frames().count() >= 5 && frames().all(|frame| frame.contains("/case.scn:")), "{ran}");
    for line in [3, 7] {
        assert!(
            frames().any(|frame| frame.contains("#0 main ") && frame.contains(&format!("/case.scn:{line} "))),
            "{ran}"
        );
    }
}

#[test]
fn files_that_cannot_be_built_are_told() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("bytes.scn"), b"lock \xff\n").unwrap();
    std::fs::write(home.path().join("bare"), "t1: r = 1\n").unwrap();
    for (arguments, code, says) in [
        (["missing.scn"].as_slice(), 125, "avmon: error: missing.scn cannot be read: No such file or directory"),
        (&["bytes.scn"], 125, "avmon: error: bytes.scn cannot be read: it is no text in UTF-8\n"),
        (&["bare"], 2, "avmon: error: bare has no end that could be left out; name the program with -o\n"),
        (&["bare", "-o", "no/such/program"], 125, "avmon: error: the compiler failed: exit status: 1\n"),
        (&["bare", "--order", "t1", "--seed", "1"], 2, "cannot be used with"),
    ] {
        let arguments = [&["scenario", "build"], arguments].concat();
        let built = run(recording::avmon(&arguments).current_dir(home.path()).env_remove("AVMON_CC")).unwrap();
        assert!(built.end == End::Exit(code) && built.stderr.contains(says), "{arguments:?}: no {says:?} in {built}");
    }
}
