//! `avmon predict`: what other orders of a recorded run would show.

use super::exit::{ExitCode, Failure};
use super::names::Names;
use super::progress::Progress;
use super::recording::{self, DIRECTORY};
use crate::predict::analyse::{Config, Watch, analyse};
use crate::predict::history::{self, At, Builder, History, Survey};
use crate::trace::reader::Trace;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Predict violations from a trace
#[derive(clap::Args, Debug)]
pub struct Predict {
    /// The trace: what 'avmon record' wrote, or one process of it
    #[arg(value_name = "TRACE", default_value = DIRECTORY)]
    trace: PathBuf,
}

impl Predict {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let trace = recording::open(&self.trace)?;
        let start = std::time::Instant::now();
        let history = history(&trace);
        eprintln!(
            "history: {} steps, {} variables, {} locks, {} lanes, {:?}",
            history.steps.len(),
            history.variables.len(),
            history.locks.len(),
            history.lanes.len(),
            start.elapsed()
        );
        let config = Config { jobs: 2, ..Config::default() };
        let report = analyse(&history, &config, &Watch { stop: &|| false, progress: &|_, _| {} });
        eprintln!(
            "{} classes, {} predictions, {} filtered, {} undecided {:?}",
            report.classes,
            report.predictions.len(),
            report.filtered.len(),
            report.undecided,
            start.elapsed()
        );
        let mut names = Names::new(recording::symbols(&trace, true), true);
        let mut line = |at: At| {
            let step = history.step(at);
            format!(
                "T{} {:?} {} at {}",
                history.thread(at),
                step.op,
                names.object(history.variables[step.object as usize].address),
                names.place(history.pc(at))
            )
        };
        for p in &report.predictions {
            println!(
                "{:?}: {} | {} | {} | {}",
                p.shape,
                line(p.steps.first),
                line(p.steps.culprit),
                line(p.steps.culprit_too),
                line(p.steps.second)
            );
        }
        for p in &report.filtered {
            println!(
                "filtered {:?} {:?}: {} | {} | {}",
                p.reason,
                p.shape,
                line(p.steps.first),
                line(p.steps.culprit),
                line(p.steps.second)
            );
        }
        Ok(ExitCode::Success)
    }
}

fn history(trace: &Trace) -> History {
    let mut survey = Survey::default();
    recording::read(trace, Progress::new(), |thread, event| {
        survey.step(thread, event);
        ControlFlow::Continue(())
    });
    let mut builder = Builder::new(&survey, history::Config::default());
    recording::read(trace, Progress::new(), |thread, event| {
        builder.step(thread, event);
        ControlFlow::Continue(())
    });
    builder.finish()
}
