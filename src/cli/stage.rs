//! Where a program is run again and again: as it is, recorded, steered by a schedule, or by chance.

use super::exit::{ExitCode, Failure};
use super::launch::Launch;
use super::predict::effort::Deadline;
use super::tell;
use crate::options::Options;
use crate::replay::journal::{self, Entry};
use crate::replay::looks::{Baseline, Looks};
use crate::replay::run::{self, Ended, Exit, Manner, Unfinished};
use crate::replay::schedule::{Act, Schedule};
use crate::report::modules::{ModuleMap, Place};
use crate::report::symbols::Symbols;
use crate::runtime::pins::Pin;
use parking_lot::Mutex;
use std::cell::Cell;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The ordinary runs may take so long, if nothing else is said.
pub const PATIENCE: Duration = Duration::from_secs(300);
/// A steered run may take so many times as long as an ordinary one, ...
const SLOWER: u32 = 30;
/// ... and so much more.
const AT_LEAST: Duration = Duration::from_secs(5);

/// How long a steered run may take, by the longest ordinary one.
#[must_use]
pub fn limit_after(longest: Duration) -> Duration {
    longest * SLOWER + AT_LEAST
}

/// How a run is steered.
#[derive(clap::Args, Clone, Debug)]
pub struct SteeringFlags {
    /// How long all threads wait for the one whose turn it is, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = Options::default().replay_step_timeout_ms, value_parser = clap::value_parser!(u32).range(1..))]
    step_timeout: u32,

    /// What is to be the same in every run, if the program depends on it
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = clap::builder::PossibleValuesParser::new(Pin::NAMES.map(|(name, _)| name)))]
    pub pin: Vec<String>,
}

impl SteeringFlags {
    /// As they were given, for a command that does the same.
    pub fn words(&self) -> Vec<String> {
        let timeout = (self.step_timeout != Options::default().replay_step_timeout_ms)
            .then(|| format!("--step-timeout {}", self.step_timeout));
        let pin = (!self.pin.is_empty()).then(|| format!("--pin {}", self.pin.join(",")));
        timeout.into_iter().chain(pin).collect()
    }
}

/// What chance decides.
#[derive(Clone, Copy, Debug)]
pub struct Chance {
    pub seed: u32,
    pub changes: u32,
    pub length: u32,
}

/// A program and a private place for what its runs need.
pub struct Stage {
    launch: Launch,
    home: TempDir,
    limit: Option<Duration>,
    shows_output: bool,
    /// Runs that have begun: each has files of its own.
    runs: AtomicUsize,
    is_pin_tried: AtomicBool,
    is_input_told: AtomicBool,
    symbols: Mutex<Symbols>,
}

impl Stage {
    /// Checks the program. From here on, an interruption of this command ends the program first.
    pub fn new(words: &[OsString]) -> Result<Stage, Failure> {
        let home = tempfile::tempdir()
            .map_err(|error| Failure::internal(format!("cannot make a temporary directory: {error}")))?;
        let log = home.path().join("log").to_string_lossy().into_owned();
        // What the monitor finds on the way is no matter of these runs, and nothing of it may be seen by the program's test.
        let quiet = [
            ("report", "0"),
            ("summary", "0"),
            ("print_suppressions", "0"),
            ("verbosity", "0"),
            ("exitcode", "0"),
            ("halt_on_error", "0"),
            ("log_path", &*log),
            ("trace_path", ""),
        ];
        let launch = Launch::prepare(words, quiet.into_iter())?;
        run::kill_who_leaves();
        run::catch_interruptions()
            .map_err(|error| Failure::internal(format!("cannot prepare for an interruption: {error}")))?;
        Ok(Stage {
            launch,
            home,
            limit: None,
            shows_output: false,
            runs: AtomicUsize::new(0),
            is_pin_tried: AtomicBool::new(false),
            is_input_told: AtomicBool::new(false),
            symbols: Mutex::new(Symbols::new(&Options::default(), ModuleMap::default())),
        })
    }

    /// Kills runs that take longer.
    pub fn limit(&mut self, limit: Duration) {
        self.limit = Some(limit);
    }

    /// Hands the program's output on.
    pub fn show_output(&mut self) {
        self.shows_output = true;
    }

    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// How the program runs when nobody steers it. What is pinned in steered runs is so in these, or their output could not be compared.
    /// Fewer runs than wanted if the time is over before.
    pub fn baseline(
        &self,
        runs: u32,
        ignores_output: bool,
        pin: &[String],
        deadline: &Deadline,
    ) -> Result<(Baseline, Duration), Failure> {
        let mut launch = self.launch.clone();
        launch.set("replay_pin", &pin.join("+"))?;
        let mut baseline = Baseline { ignores_output, ..Baseline::default() };
        let mut longest = Duration::ZERO;
        for _ in 0..runs {
            if deadline.is_over() {
                break;
            }
            let command = if pin.is_empty() { launch.plain_command() } else { launch.command() };
            // Output that depends on addresses must be seen to differ.
            let ended = self.run_until(command, true, &|| false)?;
            longest = longest.max(ended.duration);
            baseline.runs.push(Looks::from(&ended));
        }
        let has_failed = baseline.runs.iter().any(|run| run.exit != Exit::Code(0));
        if has_failed && !pin.is_empty() && !self.is_pin_tried.swap(true, Ordering::Relaxed) {
            self.try_without_pin(pin)?;
        }
        if run::has_lost_input() && !self.is_input_told.swap(true, Ordering::Relaxed) {
            tell(
                "warning",
                "the program reads nothing of what comes through a pipe: it runs many times; put that into a file, and say '< FILE'",
            );
        }
        Ok((baseline, longest))
    }

    /// Whether the program fails because it is lied to: not all that it may ask for can be pinned.
    fn try_without_pin(&self, pin: &[String]) -> Result<(), Failure> {
        if self.run_until(self.launch.plain_command(), true, &|| false)?.exit == Exit::Code(0) {
            let pin = pin.join(",");
            tell(
                "warning",
                &format!("without --pin the program ended well, so it may fail because of --pin {pin}: leave that out"),
            );
        }
        Ok(())
    }

    /// Records a run, with everything that the program does.
    pub fn record(&self, directory: &Path, flags: &SteeringFlags) -> Result<Ended, Failure> {
        let mut launch = self.launch.clone();
        launch.set("replay_pin", &flags.pin.join("+"))?;
        launch.set("trace_all", "1")?;
        launch.set("trace_path", &absolute(directory)?.to_string_lossy())?;
        if let Some(limit) = self.limit {
            // On a busy machine too, the recording is to be whole.
            launch.set("flush_timeout_ms", &limit.as_millis().min(u128::from(u32::MAX)).to_string())?;
        }
        self.run_until(launch.command(), false, &|| false)
    }

    /// Drives the program through a schedule, and reads what the gate told.
    pub fn steer(&self, schedule: &Schedule, flags: &SteeringFlags) -> Result<(Ended, Vec<Entry>), Failure> {
        let steering = self.steering(schedule, flags, flags.step_timeout)?;
        let watch = Watch::new(self.limit);
        let ended =
            self.run_until(steering.launch.command(), false, &|| watch.is_stuck(&[entries(&steering.journal)]))?;
        let mut told = entries(&steering.journal);
        watch.settle(&mut told);
        self.name(&mut told);
        // Those that came before the one that is meant.
        let others = (0..schedule.process).map(|process| numbered(&steering.journals, process));
        for path in others.chain([steering.journal]) {
            told.extend(entries(&path).into_iter().filter(|entry| matches!(entry, Entry::Other { .. })));
            forget(&path);
        }
        forget(&steering.text);
        Ok((ended, told))
    }

    /// What makes the program follow a schedule.
    pub fn steering(&self, schedule: &Schedule, flags: &SteeringFlags, step_timeout: u32) -> Result<Steering, Failure> {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let [text, journal] = ["schedule", "journal"].map(|name| self.home.path().join(format!("{number}.{name}")));
        fs::write(&text, schedule.to_string())
            .map_err(|error| Failure::internal(format!("cannot write {}: {error}", text.display())))?;
        let mut launch = self.launch.clone();
        launch.set("replay_schedule", &text.to_string_lossy())?;
        launch.set("replay_journal", &journal.to_string_lossy())?;
        launch.set("replay_step_timeout_ms", &step_timeout.to_string())?;
        launch.set("replay_pin", &flags.pin.join("+"))?;
        Ok(Steering { launch, text, journal: numbered(&journal, schedule.process), journals: journal })
    }

    /// Lets the threads take turns by chance, in all processes, and reads what their gates told.
    pub fn chance(&self, chance: Chance) -> Result<(Ended, Vec<Entry>), Failure> {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let journal = self.home.path().join(format!("{number}.journal"));
        let journals = || (0..).map(|process| numbered(&journal, process)).take_while(|it| it.exists());
        let entries = || journals().map(|journal| entries(&journal)).collect::<Vec<Vec<Entry>>>();
        let mut launch = self.launch.clone();
        launch.set("replay_journal", &journal.to_string_lossy())?;
        launch.set("chaos_seed", &chance.seed.to_string())?;
        launch.set("chaos_changes", &chance.changes.to_string())?;
        launch.set("chaos_length", &chance.length.to_string())?;
        let watch = Watch::new(self.limit);
        let ended = self.run_until(launch.command(), false, &|| watch.is_stuck(&entries()))?;
        let mut told = entries();
        for told in &mut told {
            watch.settle(told);
            self.name(told);
        }
        let told = told.into_iter().flatten().collect();
        for journal in journals().collect::<Vec<PathBuf>>() {
            forget(&journal);
        }
        Ok((ended, told))
    }

    /// Finds out what people call the places that a journal tells of.
    fn name(&self, journal: &mut [Entry]) {
        let found = journal.iter_mut().flat_map(|entry| match entry {
            Entry::Difference { found, .. } => vec![found],
            Entry::Deadlock { threads, .. } => threads.iter_mut().map(|waiting| &mut waiting.at).collect(),
            _ => Vec::new(),
        });
        for found in found.filter(|found| !found.module.is_empty() && found.act != Act::End) {
            // The call is the instruction before the one that it returns to.
            let place =
                Place { module: found.module.as_str().into(), inode: 0, offset: found.offset.saturating_sub(1) };
            found.name = Some(self.symbols.lock().frames_at(&place)[0].in_function());
        }
    }

    fn run_until(
        &self,
        command: Command,
        random_addresses: bool,
        is_stuck: &dyn Fn() -> bool,
    ) -> Result<Ended, Failure> {
        let manner = Manner { limit: self.limit, shows_output: self.shows_output, random_addresses };
        run::run(command, manner, is_stuck).map_err(|unfinished| match unfinished {
            Unfinished::CannotStart(error) => self.launch.failure(&error),
            Unfinished::Interrupted => Failure::new(ExitCode::Interrupted, "interrupted"),
            Unfinished::Failed(error) => Failure::internal(format!("cannot follow the program: {error}")),
        })
    }
}

/// A program that follows a schedule, and the files of that.
pub struct Steering {
    pub launch: Launch,
    text: PathBuf,
    /// Of the process that is meant.
    pub journal: PathBuf,
    /// What all of them begin with.
    journals: PathBuf,
}

/// The journal of one process of the program.
fn numbered(journals: &Path, process: u32) -> PathBuf {
    PathBuf::from(format!("{}.{process}", journals.display()))
}

/// What a gate told so far.
fn entries(path: &Path) -> Vec<Entry> {
    journal::read(&fs::read(path).unwrap_or_default())
}

/// Looks whether a run will never end. What is certain ends it at once. If somebody might still come whom the gate does not know, half of the run's time
/// must pass in which nobody does.
struct Watch {
    patience: Duration,
    /// How much was told when it last changed, and when that was.
    last: Cell<(usize, Instant)>,
    has_lasted: Cell<bool>,
}

impl Watch {
    /// A run that has little time is not stuck before that.
    const LEAST: Duration = Duration::from_secs(2);

    fn new(limit: Option<Duration>) -> Watch {
        let patience = limit.map_or(Watch::LEAST, |limit| limit / 2).max(Watch::LEAST);
        Watch { patience, last: Cell::new((0, Instant::now())), has_lasted: Cell::new(false) }
    }

    /// By what the gates of a run told so far.
    fn is_stuck(&self, journals: &[Vec<Entry>]) -> bool {
        let told = journals.iter().map(Vec::len).sum();
        let (before, since) = self.last.get();
        if told != before {
            self.last.set((told, Instant::now()));
        }
        self.has_lasted.set(told == before && since.elapsed() >= self.patience);
        journals.iter().any(|told| self.accepts(told))
    }

    fn accepts(&self, told: &[Entry]) -> bool {
        journal::deadlock(told).is_some_and(|(_, is_certain)| is_certain || self.has_lasted.get())
    }

    /// Forgets the deadlocks that were none.
    fn settle(&self, told: &mut Vec<Entry>) {
        let is_deadlock = |entry: &Entry| matches!(entry, Entry::Deadlock { .. });
        let accepted = told.iter().rposition(is_deadlock).filter(|_| self.accepts(told));
        let mut index = 0..;
        told.retain(|entry| {
            let is_accepted = index.next() == accepted;
            is_accepted || !is_deadlock(entry) && *entry != Entry::Resumed
        });
    }
}

/// A long hunt would fill the disk.
fn forget(path: &Path) {
    // What stays goes away with the directory.
    let _ = fs::remove_file(path);
}

/// A program may change its directory.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::internal(format!("{}: {error}", path.display())))
}
