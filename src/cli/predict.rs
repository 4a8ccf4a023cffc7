//! `avmon predict`: what other orders of a recorded run would show.

pub mod dependencies;
pub mod effort;
mod filtered;
mod nondeterminism;
mod selection;

use super::exit::{ExitCode, Failure};
use super::figures::{counted, grouped};
use super::launch::OptionFlags;
use super::names::Names;
use super::progress::Progress;
use super::recording::{self, DIRECTORY, RecordedModules};
use crate::monitor::Monitor;
use crate::predict::analyse::Report;
use crate::predict::history::History;
use crate::predict::prediction::{Prediction, Shape};
use crate::predict::witnesses;
use crate::report::finding::Analysis;
use effort::{Effort, warn_of_history, warn_of_report};
use std::io::{self, IsTerminal as _, Read as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  avmon predict                              what the recorded run implies
  avmon predict --analyses crossings         blocks that touch two variables, only
  avmon predict --analyses nondeterminism    reads that could see another write
  avmon predict --views                      also what critical sections access together, and what grows stale
  avmon predict --variable '^balance'        only what is about these variables
  avmon predict --function transfer --thread 2
  avmon predict --show-filtered              also what the reads on the way rule out, and why
  avmon predict --time 60 --memory 2000      at most so many seconds and MiB
  avmon predict --json | jq .sentence        for programs

The options of the recorded run hold, unless a flag or AVMON_OPTIONS says otherwise.";

/// Predict from a trace which violations other orders of its events would show
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Predict {
    #[command(flatten)]
    effort: Effort,

    /// Also tell what the reads on the way rule out, and why
    #[arg(long)]
    show_filtered: bool,

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

    /// Predicts from the trace of one process.
    fn predict(&self, path: &Path) -> Result<ExitCode, Failure> {
        let trace = recording::open(path)?;
        recording::warn(trace.problems());
        // Whether the monitor was to print is no matter of this command's.
        let settings = [("report", "1"), ("summary", "1")].into_iter().chain(self.flags.settings());
        let options = recording::options(trace.meta(), settings)?;
        let mut symbols = recording::symbols_by(&trace, &options);
        let (mut history, merged) = self.effort.history(&trace, &options, &mut symbols, &|| self.progress());
        recording::warn(&merged.problems);
        warn_of_history(&history);

        let mut names = Names::new(symbols, true);
        let watch = self.effort.deadline();
        let report = self.effort.analyse(&trace, &mut history, &options, &mut names, &watch, self.progress())?;
        let witnesses = self.effort.wants(Analysis::Nondeterminism).then(|| {
            let config =
                witnesses::Config { paper: options.paper, jobs: self.effort.jobs(), ..witnesses::Config::default() };
            witnesses::analyse(&history, &config, &|| watch.is_over())
        });
        let is_complete = self.effort.is_complete(&report, &history);
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
        let with_windows = self.effort.wants(Analysis::Windows);
        recording::read_monitored(&trace, self.progress(), |thread, event| {
            if with_windows {
                monitor.step(thread, event, &mut modules);
            } else {
                // Where each thread began tells whole threads from blocks, whoever found them.
                monitor.meet(thread, event);
            }
            ControlFlow::Continue(())
        });
        monitor.look_at_modules(&mut modules);
        let groups = witnesses.as_ref().map_or(&[][..], |report| &report.groups);
        let entries = monitor.merged(found(&report, &history, groups), &history, is_complete);
        monitor.publish(entries);
        monitor.finish(&monitor.totals(recording::totals(&trace, &merged)));

        if let Some(mut file) = json {
            let mut text = Vec::new();
            // What was written by path is read by the file that has been open all the time.
            file.read_to_end(&mut text).map_err(|error| Failure::internal(format!("cannot read the log: {error}")))?;
            super::print(&text)?;
        }
        super::print(after_findings.as_bytes())?;
        let predicting = [Analysis::CutPoints, Analysis::Crossings, Analysis::Views, Analysis::StaleValues];
        let predicts = predicting.into_iter().any(|analysis| self.effort.wants(analysis));
        if monitor.strong() == 0 && predicts && !self.json {
            super::print(nothing(&report, &history).as_bytes())?;
        }
        recording::exit_code(monitor.strong() > 0, self.flags.settings())
    }

    fn progress(&self) -> Progress {
        Progress::beside_output(io::stdout().is_terminal() && self.json)
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
}

/// What was predicted, and who found it. A group of witnesses at the same three places found it too.
fn found<'a>(
    report: &'a Report,
    history: &'a History,
    groups: &'a [witnesses::Group],
) -> impl Iterator<Item = (Analysis, &'a Prediction)> {
    report.predictions.iter().flat_map(move |prediction| {
        let analysis = Analysis::from(prediction.shape);
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
