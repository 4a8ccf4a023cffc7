//! The gate before a program that waits for everything that threads can wait for: whatever it is told to do, the program ends by itself, and as
//! always.
//!
//! The schedule of a whole recorded run is spoiled in many ways, each of which follows from a seed; and threads take turns by chance.
//! `AVMON_SEEDS` sets how many seeds there are for each, for the long mode.

mod predict_support;
mod support;
mod trace_run;

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use avmon::options::Options;
use avmon::predict::history::{At, Config};
use avmon::predict::parallel::in_parallel;
use avmon::predict::search::Order;
use avmon::replay::journal::{self, Entry};
use avmon::replay::schedule::{Schedule, Turn};
use avmon::replay::synthesis::{Target, schedules};
use avmon::report::modules::ModuleMap;
use avmon::report::symbols::Symbols;
use support::build::{self, Variant};
use support::recording;
use support::run::{End, Outcome, run};
use trace_run::Random;

const SEEDS: u64 = 6;
/// For a turn that is waited for in vain, which should not take long here, ...
const BRIEF: u32 = 200;
/// ... and for one that comes, however busy the machine is.
const PATIENT: u32 = 60_000;

fn seeds() -> std::ops::Range<u64> {
    0..std::env::var("AVMON_SEEDS").ok().and_then(|number| number.parse().ok()).unwrap_or(SEEDS)
}

/// The program, how it ended when it was recorded, and the schedule of that run, with all that was done in it.
struct Stage {
    home: tempfile::TempDir,
    program: PathBuf,
    usual: Outcome,
    schedule: Schedule,
}

static STAGE: LazyLock<Stage> = LazyLock::new(|| {
    let home = tempfile::tempdir().expect("a directory");
    let [program, traces] = ["program", "traces"].map(|name| home.path().join(name));
    let source = support::root().join("tests/programs/wait_for_everything.c");
    build::compile(Variant::Instrumented, &source, &program, &["-D_GNU_SOURCE"])
        .unwrap_or_else(|error| panic!("{error}"));
    let options = format!("report=0:summary=0:exitcode=0:trace_all=1:trace_path={}", traces.display());
    let usual = run(&mut recording::preloaded(&program, &options)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(usual.end, End::Exit(0), "{usual}");
    let schedule = schedule_of(&recording::processes(&traces).pop().expect("a recording"));
    Stage { home, program, usual, schedule }
});

fn schedule_of(path: &Path) -> Schedule {
    let trace = recording::open(path).unwrap_or_else(|error| panic!("{error}"));
    let mut events = Vec::new();
    recording::read(&trace, |thread, event| events.push((thread, *event)));
    let history = predict_support::history_with(&events, Config { numbers: true, ..Config::default() });
    let mut symbols = Symbols::new(&Options::default(), ModuleMap::default());
    for snapshot in trace.modules() {
        symbols.replace_modules(&snapshot.maps);
    }
    let all = history.steps.len() as At;
    let order = Order { from: all, steps: Vec::new() };
    let target = Target { roles: Vec::new(), order, after: (0..all).collect() };
    schedules(&trace, &history, &[target], &mut symbols).remove(0).expect("a schedule")
}

/// Runs the program, which must not notice.
fn ends_as_usual(name: &str, timeout: u32, options: &str) -> Result<(), String> {
    let Stage { program, usual, .. } = &*STAGE;
    let options = format!("report=0:summary=0:exitcode=0:replay_step_timeout_ms={timeout}:{options}");
    let outcome = run(Command::new(program).env("LD_PRELOAD", build::library()).env("AVMON_OPTIONS", options));
    match outcome {
        Ok(outcome) if outcome == *usual => Ok(()),
        Ok(outcome) => Err(format!("{name}: {outcome}")),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

/// Lets the program follow a schedule, and returns what the gate told.
fn steer(name: &str, timeout: u32, schedule: &Schedule) -> Result<Vec<Entry>, String> {
    let home = STAGE.home.path();
    let [file, journal] = ["schedule", "journal"].map(|kind| home.join(format!("{name}.{kind}")));
    fs::write(&file, schedule.to_string()).map_err(|error| error.to_string())?;
    let options = format!("replay_schedule={}:replay_journal={}", file.display(), journal.display());
    let ended = ends_as_usual(name, timeout, &options);
    let told = journal::read(&fs::read(format!("{}.0", journal.display())).unwrap_or_default());
    ended.map_err(|error| format!("{error}\n{schedule}\n{told:?}"))?;
    Ok(told)
}

/// Nobody has this number.
const NOBODY: u32 = 99;

fn swap(turns: &mut [Turn], times: usize, near: usize, random: &mut Random) {
    for _ in 0..times {
        let one = random.pick(turns.len());
        let other = (one + random.pick(near)).min(turns.len() - 1);
        turns.swap(one, other);
    }
}

/// A way to spoil a schedule.
type Spoil = fn(&mut Schedule, &mut Random);

const WAYS: &[(&str, Spoil)] = &[
    ("shuffled", |schedule, random| {
        let count = schedule.turns.len();
        swap(&mut schedule.turns, count, count, random);
    }),
    ("a_little_shuffled", |schedule, random| {
        let count = schedule.turns.len();
        swap(&mut schedule.turns, count / 8 + 1, 4, random);
    }),
    ("with_gaps", |schedule, random| schedule.turns.retain(|_| random.pick(4) != 0)),
    ("cut", |schedule, random| {
        let count = schedule.turns.len();
        schedule.turns.truncate(1 + random.pick(count));
    }),
    ("without_a_begin", |schedule, random| {
        let count = schedule.turns.len();
        schedule.turns.drain(..random.pick(count));
    }),
    ("doubled", |schedule, random| {
        let turns = schedule.turns.drain(..).collect::<Vec<_>>();
        schedule.turns =
            turns.into_iter().flat_map(|turn| vec![turn; if random.pick(6) == 0 { 2 } else { 1 }]).collect();
    }),
    ("of_wrong_threads", |schedule, random| {
        for turn in &mut schedule.turns {
            turn.thread = match random.pick(20) {
                0 => NOBODY,
                1 => (turn.thread + 1) % 6,
                _ => turn.thread,
            };
        }
    }),
    ("at_wrong_places", |schedule, random| {
        let places = schedule.places.len();
        for step in schedule.turns.iter_mut().flat_map(|turn| &mut turn.steps) {
            match random.pick(20) {
                0 => step.place = random.pick(places) as u32,
                1 => step.times += 1 + random.pick(3) as u32,
                _ => {}
            }
        }
    }),
];

#[test]
fn the_recorded_order_is_kept() {
    let journal = steer("recorded", PATIENT, &STAGE.schedule).unwrap_or_else(|error| panic!("{error}"));
    let skipped = journal.iter().filter(|entry| matches!(entry, Entry::Skipped { .. })).count();
    assert!(STAGE.schedule.turns.len() > 50 && skipped == 0, "{journal:?} by\n{}", STAGE.schedule);
}

/// Runs that go on at the same time: what they do most is to wait.
const AT_ONCE: usize = 8;

/// None of these runs, each by its number, tells of a failure.
#[track_caller]
fn none_fails(count: usize, failure: impl Fn(usize) -> Option<String> + Sync) {
    let failures: Vec<String> =
        in_parallel(AT_ONCE, count, &|| false, failure).into_iter().flatten().flatten().collect();
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn spoiled_schedules_hold_nobody_up() {
    let seeds = seeds().end as usize;
    none_fails(WAYS.len() * seeds, |number| {
        let ((way, spoil), seed) = (WAYS[number / seeds], number % seeds);
        let mut schedule = STAGE.schedule.clone();
        spoil(&mut schedule, &mut Random(seed as u64));
        match steer(&format!("{way}_{seed}"), BRIEF, &schedule) {
            Ok(journal) if journal.is_empty() => Some(format!("{way}, {seed}: not steered")),
            Ok(_) => None,
            Err(error) => Some(error),
        }
    });
}

/// Runs a program to its end: the processor time that it used, and what it said.
#[expect(clippy::zombie_processes, reason = "it is waited for, by the call that tells what it used")]
fn processor_time(command: &mut Command) -> (Duration, String) {
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the program");
    let mut said = String::new();
    child.stdout.take().expect("its stdout").read_to_string(&mut said).expect("what it says");
    let mut status = 0;
    // SAFETY: all zeros are a value of this plain struct.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the child is ours and nobody else waits for it; both places live until the call returns.
    let waited = unsafe { libc::wait4(child.id() as libc::pid_t, &raw mut status, 0, &raw mut used) };
    assert_eq!((waited, status), (child.id() as libc::pid_t, 0), "{said}");
    let of = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    (of(used.ru_utime) + of(used.ru_stime), said)
}

#[test]
fn who_waits_for_a_turn_leaves_the_processor_alone() {
    let home = tempfile::tempdir().expect("a directory");
    let [program, traces, file] = ["program", "traces", "schedule"].map(|name| home.path().join(name));
    let source = support::root().join("tests/programs/steered/late.c");
    build::compile(Variant::Instrumented, &source, &program, &[]).unwrap_or_else(|error| panic!("{error}"));
    let recorded = format!("report=0:summary=0:exitcode=0:trace_all=1:trace_path={}", traces.display());
    let (ordinary, last) = processor_time(recording::preloaded(&program, &recorded).args(["0", "2000"]));
    assert_eq!(last, "2\n", "the thread was too late even for this recording");
    let schedule = schedule_of(&recording::processes(&traces).pop().expect("a recording"));
    fs::write(&file, schedule.to_string()).expect("a schedule");

    let steered =
        format!("report=0:summary=0:exitcode=0:replay_step_timeout_ms=60000:replay_schedule={}", file.display());
    let (used, last) = processor_time(recording::preloaded(&program, &steered).args(["3000", "0"]));
    assert_eq!(last, "2\n", "main did not wait for its turn");
    // Asking again and again for those three seconds would take about as much.
    assert!(used < ordinary + Duration::from_secs(1), "{used:?} of the processor; {ordinary:?} when nobody waited");
}

#[test]
fn chance_holds_nobody_up() {
    none_fails(seeds().end as usize, |number| {
        let seed = number + 1;
        let options = format!("chaos_seed={seed}:chaos_changes=5:chaos_length=500");
        ends_as_usual(&format!("chance {seed}"), BRIEF, &options).err()
    });
}

/// A program of tests/programs/steered, and what it prints.
struct Asker(tempfile::TempDir);

impl Asker {
    fn new(name: &str) -> Asker {
        let home = tempfile::tempdir().expect("a directory");
        let source = support::root().join("tests/programs/steered").join(name);
        build::compile(Variant::Plain, &source, &home.path().join("program"), &[])
            .unwrap_or_else(|error| panic!("{error}"));
        Asker(home)
    }

    fn answers(&self, options: &str) -> String {
        let program = self.0.path().join("program");
        let outcome = run(&mut recording::preloaded(&program, options)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(outcome.end, End::Exit(0), "{outcome}");
        outcome.stdout
    }

    /// What it says when recorded, which it says again in every steered run.
    fn same_answers(&self, pins: &str) -> String {
        let trace = format!("{pins}:trace_path={}", self.0.path().join("traces").display());
        let recorded = self.answers(&trace);
        assert_eq!(self.answers(&format!("{pins}:chaos_seed=5")), recorded);
        assert_eq!(self.answers(&format!("{pins}:chaos_seed=6")), recorded);
        recorded
    }
}

/// Recorded or steered, before the first thread and after it; and time passes all the same.
#[test]
fn pinned_answers_are_the_same_in_every_run() {
    let program = Asker::new("asks_the_system.c");
    let recorded = program.same_answers("replay_pin=time+random+pids");
    let lines: Vec<&str> = recorded.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|line| line.starts_with("1767225600 ") && line.ends_with(" 4200000")), "{recorded}");
    assert_ne!(program.answers("chaos_seed=5"), recorded);
    assert_ne!(program.answers("chaos_seed=5"), program.answers("chaos_seed=5"));
}

#[test]
fn pinned_time_passes_for_those_who_wait_until_a_time() {
    let program = Asker::new("waits_until_a_time.c");
    let recorded = program.same_answers("replay_pin=time");
    assert!(recorded.lines().all(|line| line.contains(" 17672256")), "{recorded}");
    assert_ne!(program.answers("chaos_seed=5"), recorded);
}

/// The recorder ends with the program, and then sends the signal again.
#[test]
fn a_signal_ends_a_program_whose_process_id_is_pinned() {
    let home = tempfile::tempdir().expect("a directory");
    let [source, program] = ["program.c", "program"].map(|name| home.path().join(name));
    let text = r"
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static void *work(void *unused) { return unused; }
int main(void) {
    pthread_t id;
    pthread_create(&id, 0, work, 0);
    pthread_join(id, 0);
    kill(getpid(), SIGTERM);
    return 1;
}
";
    std::fs::write(&source, text).expect("a program");
    build::compile(Variant::Plain, &source, &program, &[]).unwrap_or_else(|error| panic!("{error}"));
    let options = format!("replay_pin=pids:trace_path={}", home.path().join("traces").display());
    let outcome = run(&mut recording::preloaded(&program, &options)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.end, End::Signal(libc::SIGTERM), "{outcome}");
}
