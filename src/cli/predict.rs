//! `avmon predict`: what other orders of a recorded run would show.

mod filtered;
mod nondeterminism;
mod selection;

use super::exit::{ExitCode, Failure};
use super::figures::{counted, grouped};
use super::launch::OptionFlags;
use super::names::Names;
use super::progress::Progress;
use super::recording::{self, DIRECTORY, RecordedModules};
use super::tell;
use crate::monitor::Monitor;
use crate::options::Options;
use crate::predict::analyse::{self, Report, Watch};
use crate::predict::history::{self, Builder, History, Survey};
use crate::predict::prediction::{Prediction, Shape};
use crate::predict::search::Budget;
use crate::predict::witnesses;
use crate::report::finding::Analysis;
use crate::report::symbols::Symbols;
use crate::trace::reader::{Merged, Trace};
use parking_lot::Mutex;
use selection::SelectionFlags;
use std::io::{self, IsTerminal as _, Read as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  avmon predict                              what the recorded run implies
  avmon predict --analyses crossings         blocks that touch two variables, only
  avmon predict --analyses nondeterminism    reads that could see another write
  avmon predict --variable '^balance'        only what is about these variables
  avmon predict --function transfer --thread 2
  avmon predict --show-filtered              also what the reads on the way rule out, and why
  avmon predict --time 60 --memory 2000      at most so many seconds and MiB
  avmon predict --json | jq .sentence        for programs

The options of the recorded run hold, unless a flag or AVMON_OPTIONS says otherwise.";

/// Bytes that a step of a history takes, with all that belongs to it.
const STEP: u64 = 48;

/// Predict from a trace which violations other orders of its events would show
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Predict {
    /// What to look for
    #[arg(
        short = 'a',
        long,
        value_delimiter = ',',
        value_name = "LIST",
        value_parser = clap::builder::PossibleValuesParser::new(Analysis::NAMES),
        default_value = "windows,cut_points,crossings"
    )]
    analyses: Vec<String>,

    #[command(flatten)]
    selection: SelectionFlags,

    /// Also tell what the reads on the way rule out, and why
    #[arg(long)]
    show_filtered: bool,

    /// Stop the analysis after so many seconds, and tell what was found until then
    #[arg(long, value_name = "SECONDS")]
    time: Option<u64>,

    /// Take at most so much memory for the run, and leave out its end if that is not enough
    #[arg(long, value_name = "MIB")]
    memory: Option<u64>,

    /// Threads that work [default: as many as there are processors]
    #[arg(long, value_name = "COUNT")]
    jobs: Option<usize>,

    /// Write the violation log to this file
    #[arg(short = 'o', long = "log", value_name = "FILE")]
    log: Option<PathBuf>,

    /// Print the log instead of the report
    #[arg(long, conflicts_with_all = ["log", "show_filtered"])]
    json: bool,

    #[command(flatten)]
    flags: OptionFlags<false>,

    /// The trace: what 'avmon record' wrote, or one process of it
    #[arg(value_name = "TRACE", default_value = DIRECTORY)]
    trace: PathBuf,
}

impl Predict {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        recording::each_process(&self.trace, !self.json, |process| self.predict(process))
    }

    fn wants(&self, analysis: Analysis) -> bool {
        self.analyses.iter().any(|name| name == analysis.name())
    }

    /// Predicts from the trace of one process.
    fn predict(&self, path: &Path) -> Result<ExitCode, Failure> {
        let trace = recording::open(path)?;
        recording::warn(trace.problems());
        // Whether the monitor was to print is no matter of this command's.
        let settings = [("report", "1"), ("summary", "1")].into_iter().chain(self.flags.settings());
        let options = recording::options(trace.meta(), settings)?;
        let mut symbols = recording::symbols_by(&trace, &options);
        let (history, merged) = self.history(&trace, &options, &mut symbols);
        recording::warn(&merged.problems);
        warn_of_history(&history);

        let mut names = Names::new(symbols, true);
        let watch = Deadline::after(self.time);
        let report = self.analyse(&history, &options, &mut names, &watch)?;
        let witnesses = self.wants(Analysis::Nondeterminism).then(|| {
            let config = witnesses::Config { paper: options.paper, jobs: self.jobs(), ..witnesses::Config::default() };
            witnesses::analyse(&history, &config, &|| watch.is_over())
        });
        let is_complete = self.is_complete(&report, &history);
        warn_of_report(&report);
        let after_findings = self.after_findings(&report, witnesses.as_ref(), &history, &mut names);

        let json = self.json.then(tempfile::NamedTempFile::new).transpose();
        let json = json.map_err(|error| Failure::internal(format!("cannot make a temporary file: {error}")))?;
        let log = json.as_ref().map(|file| file.path().to_owned()).or_else(|| self.log.clone());
        let output: Box<dyn io::Write + Send> = if self.json { Box::new(io::sink()) } else { Box::new(io::stdout()) };
        let symbols = names.into_symbols().without_modules();
        let reporter = recording::reporter(&trace, &options, symbols, output, log)?.collecting();
        let mut monitor = Monitor::new(&options, trace.meta().pid, reporter, &trace.meta().early_locks);
        let mut modules = RecordedModules::of(&trace);
        if self.wants(Analysis::Windows) {
            recording::read_monitored(&trace, self.progress(), |thread, event| {
                monitor.step(thread, event, &mut modules);
                ControlFlow::Continue(())
            });
        }
        monitor.look_at_modules(&mut modules);
        let groups = witnesses.as_ref().map_or(&[][..], |report| &report.groups);
        monitor.predictions(found(&report, &history, groups), &history, is_complete);
        monitor.finish(&monitor.totals(recording::totals(&trace, &merged)));

        if let Some(mut file) = json {
            let mut text = Vec::new();
            // What was written by path is read by the file that has been open all the time.
            file.read_to_end(&mut text).map_err(|error| Failure::internal(format!("cannot read the log: {error}")))?;
            super::print(&text)?;
        }
        super::print(after_findings.as_bytes())?;
        let predicts = self.wants(Analysis::CutPoints) || self.wants(Analysis::Crossings);
        if monitor.strong() == 0 && predicts && !self.json {
            super::print(nothing(&report, &history).as_bytes())?;
        }
        recording::exit_code(monitor.strong() > 0, self.flags.settings())
    }

    fn progress(&self) -> Progress {
        Progress::beside_output(io::stdout().is_terminal() && self.json)
    }

    fn jobs(&self) -> usize {
        self.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }

    fn history(&self, trace: &Trace, options: &Options, symbols: &mut Symbols) -> (History, Merged) {
        let mut survey = Survey::default();
        recording::read(trace, self.progress(), |thread, event| {
            survey.step(thread, event);
            ControlFlow::Continue(())
        });
        let most_steps =
            self.memory.map(|mib| (mib.saturating_mul(1 << 20) / STEP).min(u64::from(u32::MAX - 1)) as u32);
        let config = history::Config { strict_waits: options.strict_waits, ..history::Config::default() };
        let config = history::Config { most_steps: most_steps.unwrap_or(config.most_steps), ..config };
        let mut is_direct = |pc| symbols.is_direct_call(pc);
        let mut builder = Builder::new(&survey, config).asking_of_calls(&mut is_direct);
        let merged = recording::read(trace, self.progress(), |thread, event| {
            builder.step(thread, event);
            ControlFlow::Continue(())
        });
        (builder.finish(), merged)
    }

    fn analyse(
        &self,
        history: &History,
        options: &Options,
        names: &mut Names,
        watch: &Deadline,
    ) -> Result<Report, Failure> {
        let config = analyse::Config {
            cut_points: self.wants(Analysis::CutPoints),
            crossings: self.wants(Analysis::Crossings),
            paper: options.paper,
            budget: Budget::in_run_of(history.steps.len()),
            jobs: self.jobs(),
            selection: self.selection.resolve(history, names)?,
            ..analyse::Config::default()
        };
        let progress = Mutex::new(self.progress());
        Ok(analyse::analyse(
            history,
            &config,
            &Watch { stop: &|| watch.is_over(), progress: &|done, all| progress.lock().part(done, all, "candidate") },
        ))
    }

    /// What is told beside the findings, and printed after them.
    fn after_findings(
        &self,
        report: &Report,
        witnesses: Option<&witnesses::Report>,
        history: &History,
        names: &mut Names,
    ) -> String {
        if self.json {
            return witnesses.map(|report| nondeterminism::json(report, history, names)).unwrap_or_default();
        }
        let filtered = self.show_filtered.then(|| filtered::text(&report.filtered, history, names));
        let witnesses = witnesses.map(|report| nondeterminism::text(report, names));
        filtered.into_iter().chain(witnesses).collect()
    }

    /// Whether a window without a conflict among the predictions has none.
    fn is_complete(&self, report: &Report, history: &History) -> bool {
        let both = self.wants(Analysis::CutPoints) && self.wants(Analysis::Crossings);
        let is_whole = history.left_out + history.lost + report.left_out == 0;
        both && is_whole
            && self.selection.is_empty()
            && report.undecided + report.unexamined == 0
            && !report.is_broken_off
    }
}

/// What was predicted, and who found it. A group of witnesses at the same three places found it too.
fn found<'a>(
    report: &'a Report,
    history: &'a History,
    groups: &'a [witnesses::Group],
) -> impl Iterator<Item = (Analysis, &'a Prediction)> {
    report.predictions.iter().flat_map(move |prediction| {
        let analysis = match prediction.shape {
            Shape::One(_) => Analysis::CutPoints,
            Shape::Two => Analysis::Crossings,
        };
        let pc = |at| history.pc(at);
        let [first, culprit, second] =
            [prediction.steps.first, prediction.steps.culprit, prediction.steps.second].map(pc);
        let is_same = |group: &&witnesses::Group| {
            let at = group.location;
            let is_one = matches!(prediction.shape, Shape::One(_)) && group.feasible > 0;
            is_one && at.writer == Some(first) && at.challenger == culprit && at.read == second
        };
        let witnessed = groups.iter().find(is_same).map(|_| (Analysis::Nondeterminism, prediction));
        std::iter::once((analysis, prediction)).chain(witnessed)
    })
}

fn warn_of_report(report: &Report) {
    let left = grouped(report.unexamined);
    let left = match (report.is_broken_off, report.unexamined) {
        (true, _) => Some("not all candidates were even listed".to_owned()),
        (false, 0) => None,
        (false, _) => Some(format!("{left} of {} candidates were not looked at", grouped(report.classes))),
    };
    if let Some(left) = left {
        tell("warning", &format!("the time is over: {left}; give more with --time"));
    }
    if report.undecided > 0 {
        let undecided = counted(report.undecided as u64, "candidate");
        tell(
            "warning",
            &format!("{undecided} would have cost too much to decide; what they are about may still be violable"),
        );
    }
    if report.left_out > 0 {
        tell(
            "warning",
            &format!(
                "{} more accesses of the same places than can be told apart were left out",
                grouped(report.left_out)
            ),
        );
    }
}

/// When the work is to stop.
struct Deadline(Option<Instant>);

impl Deadline {
    fn after(seconds: Option<u64>) -> Deadline {
        Deadline(seconds.and_then(|seconds| Instant::now().checked_add(Duration::from_secs(seconds))))
    }

    fn is_over(&self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }
}

fn warn_of_history(history: &History) {
    if history.left_out > 0 {
        let left_out = counted(history.left_out, "event");
        tell(
            "warning",
            &format!(
                "the run is larger than the memory for it: {left_out} at its end are left out; give more with --memory"
            ),
        );
    }
    if history.lost > 0 {
        let lost = counted(history.lost, "event");
        tell("warning", &format!("{lost} were lost while the program ran; nothing is predicted across those places"));
    }
    if history.lanes.len() < 2 {
        tell("warning", "there is only one thread in the trace, so nobody can come between");
    } else if !history.has_accesses {
        tell(
            "warning",
            "no access to memory is in the trace: build the program with 'avmon cc' or 'avmon c++', and record it again",
        );
    }
}

/// What to say when nothing strong was found.
fn nothing(report: &Report, history: &History) -> String {
    format!(
        "avmon: {}: {}, {}, {} ruled out by what is read on the way\n",
        if report.is_broken_off || report.unexamined > 0 { "none found so far" } else { "no violation is predicted" },
        counted(history.steps.len() as u64, "step"),
        counted(report.classes as u64, "candidate"),
        grouped(report.filtered.len()),
    )
}
