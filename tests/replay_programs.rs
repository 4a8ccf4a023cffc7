//! Schedules before real programs: every one that is made from a recorded run of a scenario leads the compiled program to its violation, when its
//! threads run as they like otherwise.
//!
//! A run is recorded in an order that follows from the scenario's seed, so that the schedules are the same in every run of this test. How to run many
//! more: see `tests/scenarios/judge.rs`; `AVMON_SCENARIOS=200` makes thousands of schedules.
//!
//! Left out, and counted: a window that can only be split if something else is read on the way than in the recorded run, in a scenario that decides by
//! what it reads. Whether the program still comes to the window then, nobody can know. So is what is made of a recording that has two accesses that race in
//! another order than they happened in, which its values show. All others must be reached; of those that are left out, the gate must tell where
//! the program went another way. All families together follow at least a hundred schedules, and leave out few.

mod predict_support;
mod scenarios;
mod support;
mod trace_run;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use avmon::analysis::Analysis as _;
use avmon::analysis::sidetrack::{self, SideTrack};
use avmon::analysis::values::Values;
use avmon::options::Options;
use avmon::predict::analyse::{self, Watch, analyse};
use avmon::predict::history::{At, Config, History, NONE};
use avmon::predict::search::Budget;
use avmon::replay::continued::continued;
use avmon::replay::journal::{self, Entry, Figures};
use avmon::replay::looks::{Baseline, Looks};
use avmon::replay::run::{Ended, Exit, Manner, run};
use avmon::replay::schedule::Schedule;
use avmon::replay::synthesis::{Target, schedules};
use avmon::replay::verdict::{Judgement, judge};
use avmon::replay::window;
use avmon::report::modules::ModuleMap;
use avmon::report::symbols::Symbols;
use avmon::scenario::c;
use avmon::scenario::machine::Machine;
use avmon::scenario::parse;
use avmon::scenario::program::Program;
use avmon::scenario::run::Run;
use avmon::scenario::tree::Scenario;
use avmon::scenario::wakings;
use scenarios::judge::{can_only_end, is_usual, some_cases};
use scenarios::{Case, Shape};
use support::{build, recording};

/// Scenarios of each family.
const CASES: u32 = 4;
/// Schedules of each of them, unless it is the long mode, in which all are tried.
const MOST: usize = 3;
/// Runs of a scenario that are looked at for one that can be recorded.
const RUNS: u64 = 5;
/// Steps of the search after which nobody knows whether a scenario can hang.
const MOST_STEPS: u64 = 20_000;

/// Functions, sections and marked blocks, as in `avmon confirm`.
const BLOCKS: sidetrack::Config =
    sidetrack::Config { paper: false, strict_waits: false, functions: true, sections: true, rechecks: false };

/// Generous: only a program that hangs takes so long.
const MANNER: Manner = Manner { limit: Some(Duration::from_secs(60)), shows_output: false, random_addresses: false };

/// A scenario in the program of its family.
struct Part {
    text: String,
    /// It comes to its end in every order.
    ends: bool,
    /// What it reads decides what it does.
    decides: bool,
}

/// The scenarios of a family, as one program.
struct Family {
    home: tempfile::TempDir,
    program: PathBuf,
    parts: Vec<Part>,
}

/// A run that comes to its end, and whose order a real program can keep.
fn recordable(machine: &Machine<'_>, case: &Case) -> Option<Run> {
    let runs = (0..RUNS).map(|number| machine.run_at_random(case.seed.wrapping_add(number)));
    runs.into_iter().find(|run| run.is_complete() && wakings::first_held(machine, run).is_none())
}

/// A part, and its text in C.
fn part(case: &Case, number: usize) -> Option<(Part, String)> {
    let text = case.scenario.to_string();
    let scenario: Scenario = parse(&text).unwrap_or_else(|errors| panic!("{}", errors.render("case.scn", &text)));
    let program = Program::new(&scenario);
    let machine = Machine::new(&program);
    let run = recordable(&machine, case)?;
    let code = c::text_of(&scenario, &machine, &run, &format!("case{number}.scn"));
    let decides = ["if ", "while ", "try", "cas "].iter().any(|word| text.contains(word));
    Some((
        Part { ends: can_only_end(&machine, MOST_STEPS), decides, text },
        format!("#define main part_{number}\n{code}"),
    ))
}

impl Family {
    /// Each scenario is a file with a main function of another name: the first argument says which one is called.
    fn new(shape: Shape) -> Family {
        let home = tempfile::tempdir().expect("a directory");
        let (mut parts, mut files) = (Vec::new(), Vec::new());
        for case in some_cases(shape, CASES) {
            if let Some((part, code)) = part(&case, parts.len()) {
                let file = format!("part_{}.c", parts.len());
                fs::write(home.path().join(&file), code).expect("a file");
                parts.push(part);
                files.push(file);
            }
        }
        let names: Vec<String> = (0..parts.len()).map(|number| format!("part_{number}")).collect();
        let mut main = String::from("#include <stdlib.h>\n");
        for name in &names {
            let _ = writeln!(main, "int {name}(int count, char **arguments);");
        }
        let _ = writeln!(
            main,
            "int main(int count, char **arguments) {{\n    int (*const parts[])(int, char **) = {{{}}};\n    \
             return parts[atoi(arguments[1])](count - 1, arguments + 1);\n}}",
            names.join(", ")
        );
        fs::write(home.path().join("main.c"), main).expect("a file");
        let mut compiler = build::avmon();
        compiler.args(["cc", "-g", "-O1", "-pthread", "-o", "program", "main.c"]).args(files);
        let built = compiler.env("AVMON_CC", "gcc").current_dir(home.path()).output().expect("a compiler");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Family { program: home.path().join("program"), home, parts }
    }

    /// The schedules of a recording of one part.
    fn record(&self, part: usize) -> Vec<Planned> {
        let traces = tempfile::tempdir_in(self.home.path()).expect("a directory");
        let options = format!("trace_values=1:trace_path={}", traces.path().display());
        let recorded = self.run(part, &[], &options, &|| false);
        assert_eq!(recorded.exit, Exit::Code(0), "{}", self.parts[part].text);
        plans(traces.path())
    }

    /// A run of one part.
    fn run(&self, part: usize, more: &[&str], options: &str, is_stuck: &dyn Fn() -> bool) -> Ended {
        let mut command = recording::preloaded(&self.program, &format!("report=0:summary=0:exitcode=0:{options}"));
        command.arg(part.to_string()).args(more).current_dir(self.home.path());
        run(command, MANNER, is_stuck).expect("a run")
    }
}

/// What each read sees.
fn seen(history: &History, order: impl Iterator<Item = At>) -> BTreeMap<At, At> {
    let mut written = BTreeMap::new();
    let mut seen = BTreeMap::new();
    for at in order {
        let step = history.step(at);
        if step.op.reads() {
            seen.insert(at, written.get(&step.object).copied().unwrap_or(NONE));
        }
        if step.op.writes() {
            written.insert(step.object, at);
        }
    }
    seen
}

/// A schedule, and whether everything is read in it that was read in the recorded run.
struct Planned {
    schedule: Schedule,
    reads_the_same: bool,
}

/// All schedules that are made of a recording.
fn plans(directory: &Path) -> Vec<Planned> {
    let path = recording::processes(directory).pop().expect("a recording");
    let trace = recording::open(&path).unwrap_or_else(|error| panic!("{error}"));
    let mut events = Vec::new();
    let problems = recording::read(&trace, |thread, event| events.push((thread, *event)));
    assert!(problems.is_empty(), "{problems:?}");
    let mut values = Values::default();
    let is_as_it_was = events.iter().all(|(thread, event)| values.step(*thread, event).is_none());
    let history = predict_support::history_with(&events, Config { numbers: true, ..Config::default() });
    let config = analyse::Config { budget: Budget::PATIENT, ..analyse::Config::default() };
    let watch = Watch { stop: &|| false, progress: &|_, _| {} };
    let mut targets: Vec<Target> =
        analyse(&history, &config, &watch).predictions.iter().map(Target::of_prediction).collect();
    let mut analysis = SideTrack::new(BLOCKS);
    let mut windows = Vec::new();
    for (thread, event) in &events {
        analysis.step(*thread, event, &mut |violation| windows.push(violation));
    }
    targets.extend(windows.iter().filter_map(|window| window::target(&history, window, Budget::PATIENT)));
    let more: Vec<Target> = targets.iter().filter_map(|target| continued(target, &history)).collect();
    targets.extend(more);

    let mut symbols = Symbols::new(&Options::default(), ModuleMap::default());
    for snapshot in trace.modules() {
        symbols.replace_modules(&snapshot.maps);
    }
    let before = seen(&history, 0..history.steps.len() as At);
    let mut known = BTreeSet::new();
    let mut plans = Vec::new();
    for (target, schedule) in targets.iter().zip(schedules(&trace, &history, &targets, &mut symbols)) {
        let schedule = schedule.unwrap_or_else(|error| panic!("{error}: {target:?}"));
        if known.insert(schedule.to_string()) {
            let order = (0..target.order.from).chain(target.order.steps.iter().copied());
            let reads_the_same =
                is_as_it_was && seen(&history, order).iter().all(|(read, write)| before[read] == *write);
            plans.push(Planned { schedule, reads_the_same });
        }
    }
    plans
}

/// What the gate told so far.
fn entries(journal: &Path) -> Vec<Entry> {
    journal::read(&fs::read(format!("{}.0", journal.display())).unwrap_or_default())
}

fn figures(journal: &[Entry]) -> Option<Figures> {
    journal.iter().find_map(|entry| match entry {
        Entry::Free { figures, .. } => Some(*figures),
        _ => None,
    })
}

/// What became of the schedules of a family.
#[derive(Default, Debug)]
struct Tally {
    schedules: usize,
    /// The program did all of the schedule, and nothing else on the way.
    followed: usize,
    /// Not reached, because something else was read.
    left_out: usize,
    /// Families that are done.
    families: usize,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.schedules += other.schedules;
        self.followed += other.followed;
        self.left_out += other.left_out;
        self.families += other.families;
    }
}

/// Of all families: each is a test of its own, and the last one that is done looks at the sum.
static ALL: Mutex<Tally> = Mutex::new(Tally { schedules: 0, followed: 0, left_out: 0, families: 0 });
/// Schedules that all families together follow at least.
const LEAST_FOLLOWED: usize = 100;
/// Of so many schedules, one may be left out.
const LEFT_OUT_OF: usize = 10;

/// Whether the gate told where the program did something else than the schedule says.
fn went_astray(journal: &[Entry]) -> bool {
    journal.iter().any(|entry| matches!(entry, Entry::Difference { .. } | Entry::Skipped { .. }))
}

impl Family {
    /// Drives the program through a schedule. Tells how it was, if that is not how it should be.
    fn try_plan(&self, part: usize, planned: &Planned, tally: &mut Tally) -> Result<(), String> {
        let Planned { schedule, reads_the_same } = planned;
        let Part { text, ends, decides } = &self.parts[part];
        let home = tempfile::tempdir().expect("a directory");
        let [file, journal] = ["schedule", "journal"].map(|name| home.path().join(name));
        fs::write(&file, schedule.to_string()).expect("a file");
        let options = format!("replay_schedule={}:replay_journal={}", file.display(), journal.display());
        // What can hang may do so, when its threads run freely again.
        let is_stuck = || !ends && figures(&entries(&journal)).is_some();
        let ended = self.run(part, &["free"], &options, &is_stuck);
        let entries = entries(&journal);
        let Judgement { verdict, detail, .. } = judge(schedule, &entries, &Looks::from(&ended), &Baseline::default());
        let is_followed = figures(&entries).is_some_and(|it| it.extra + it.missing + it.skipped_turns == 0);
        tally.schedules += 1;
        tally.followed += usize::from(is_followed);
        let is_left_out = !verdict.is_reached() && !reads_the_same && *decides && went_astray(&entries);
        tally.left_out += usize::from(is_left_out);
        if (verdict.is_reached() || is_left_out) && (!ends || ended.exit == Exit::Code(0)) {
            return Ok(());
        }
        Err(format!(
            "{}: {detail}; {:?}, reads the same: {reads_the_same}, ends: {ends}\n{text}\n{schedule}\n{entries:?}\n{}",
            verdict.name(),
            ended.exit,
            String::from_utf8_lossy(&ended.stderr.kept)
        ))
    }
}

fn family(name: &str, shape: Shape) {
    let family = Family::new(shape);
    let mut tally = Tally::default();
    let mut failures = Vec::new();
    for part in 0..family.parts.len() {
        let plans = family.record(part);
        let step = if is_usual() { plans.len().div_ceil(MOST).max(1) } else { 1 };
        for planned in plans.iter().step_by(step) {
            failures.extend(family.try_plan(part, planned, &mut tally).err());
        }
    }
    tally.families = 1;
    println!("{name}: {} scenarios, {tally:?}", family.parts.len());
    assert!(failures.is_empty(), "{name}: {} of {tally:?} not reached:\n{}", failures.len(), failures.join("\n\n"));
    assert!(tally.followed > tally.left_out, "{name}: {tally:?}");
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.add(&tally);
    if all.families == FAMILIES {
        println!("all: {all:?}");
        assert!(all.followed >= LEAST_FOLLOWED, "{all:?}");
        assert!(all.left_out * LEFT_OUT_OF <= all.schedules, "{all:?}");
    }
}

macro_rules! families {
    ($($name:ident: $shape:expr;)*) => {
        const FAMILIES: usize = [$(stringify!($name)),*].len();

        $(#[test]
        fn $name() {
            family(stringify!($name), $shape);
        })*
    };
}

families! {
    two_threads: Shape::PLAIN;
    races: Shape::RACES;
    three_locks: Shape::THREE_LOCKS;
    chains: Shape::CHAINS;
    shared: Shape::SHARED;
    forks: Shape::FORKS;
    atomics: Shape::ATOMICS;
    branches: Shape::BRANCHES;
    racy_branches: Shape::RACY_BRANCHES;
    tries: Shape::TRIES;
    atomic_branches: Shape::ATOMIC_BRANCHES;
    conditions: Shape::CONDITIONS;
    semaphores: Shape::SEMAPHORES;
    barriers: Shape::BARRIERS;
    everything: Shape::EVERYTHING;
}
