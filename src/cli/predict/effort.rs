//! What is looked for in a trace, and how much that may cost.

use super::dependencies::ViewFlags;
use super::selection::SelectionFlags;
use crate::cli::exit::Failure;
use crate::cli::figures::{counted, grouped};
use crate::cli::names::Names;
use crate::cli::progress::Progress;
use crate::cli::{recording, tell};
use crate::options::Options;
use crate::predict::analyse::{self, Report, Watch};
use crate::predict::history::{self, Builder, History, Survey};
use crate::predict::search::Budget;
use crate::predict::views::Bounds;
use crate::replay::run;
use crate::report::finding::Analysis;
use crate::report::symbols::Symbols;
use crate::trace::reader::{Merged, Trace};
use parking_lot::Mutex;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Bytes that a step of a history takes, with all that belongs to it.
const STEP: u64 = 48;

/// What is looked for if nothing else is said.
const DEFAULT: &str = "windows,cut_points,crossings";

/// What is looked for, and how much that may cost.
#[derive(clap::Args, Debug)]
pub struct Effort {
    /// What to look for
    #[arg(
        short = 'a',
        long,
        value_delimiter = ',',
        value_name = "LIST",
        value_parser = clap::builder::PossibleValuesParser::new(Analysis::of_traces().map(Analysis::name)),
        default_value = DEFAULT
    )]
    analyses: Vec<String>,

    #[command(flatten)]
    views: ViewFlags,

    #[command(flatten)]
    selection: SelectionFlags,

    /// Stop the analysis after so many seconds, and tell what was found until then
    #[arg(long, value_name = "SECONDS")]
    time: Option<u64>,

    /// Take at most so much memory for the run, and leave out its end if that is not enough
    #[arg(long, value_name = "MIB")]
    memory: Option<u64>,

    /// Threads that work [default: as many as there are processors]
    #[arg(long, value_name = "COUNT")]
    jobs: Option<usize>,

    /// Keeps which event each step was.
    #[arg(skip)]
    numbers: bool,
}

impl Effort {
    /// All that findings come from, whatever it costs, with what schedules are made from.
    pub fn for_schedules(views: ViewFlags) -> Effort {
        let analyses = DEFAULT.split(',');
        Effort {
            analyses: analyses.map(str::to_owned).collect(),
            views,
            selection: SelectionFlags::default(),
            time: None,
            memory: None,
            jobs: None,
            numbers: true,
        }
    }

    pub fn wants(&self, analysis: Analysis) -> bool {
        self.views.want(analysis) || self.analyses.iter().any(|name| name == analysis.name())
    }

    pub fn jobs(&self) -> usize {
        self.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }

    pub fn deadline(&self) -> Deadline {
        Deadline::after(self.time.map(Duration::from_secs))
    }

    pub fn history(
        &self,
        trace: &Trace,
        options: &Options,
        symbols: &mut Symbols,
        progress: &dyn Fn() -> Progress,
    ) -> (History, Merged) {
        let mut survey = Survey::default();
        recording::read(trace, progress(), |thread, event| {
            survey.step(thread, event);
            ControlFlow::Continue(())
        });
        let most_steps =
            self.memory.map(|mib| (mib.saturating_mul(1 << 20) / STEP).min(u64::from(u32::MAX - 1)) as u32);
        let config =
            history::Config { strict_waits: options.strict_waits, numbers: self.numbers, ..history::Config::default() };
        let config = history::Config { most_steps: most_steps.unwrap_or(config.most_steps), ..config };
        let mut is_direct = |pc| symbols.is_direct_call(pc);
        let mut builder = Builder::new(&survey, config).asking_of_calls(&mut is_direct);
        let merged = recording::read(trace, progress(), |thread, event| {
            builder.step(thread, event);
            ControlFlow::Continue(())
        });
        (builder.finish(), merged)
    }

    /// Predicts, by the program's code where that is known.
    pub fn analyse(
        &self,
        trace: &Trace,
        history: &mut History,
        options: &Options,
        names: &mut Names,
        watch: &Deadline,
        progress: Progress,
    ) -> Result<Report, Failure> {
        if self.wants(Analysis::Views) || self.wants(Analysis::StaleValues) {
            history.code = self.views.code(trace, history, names)?;
        }
        let config = analyse::Config {
            cut_points: self.wants(Analysis::CutPoints),
            crossings: self.wants(Analysis::Crossings),
            views: self.wants(Analysis::Views).then_some(Bounds::NEAR),
            stale_values: self.wants(Analysis::StaleValues).then_some(Bounds::NEAR),
            paper: options.paper,
            budget: Budget::in_run_of(history.steps.len()),
            jobs: self.jobs(),
            selection: self.selection.resolve(history, names)?,
            ..analyse::Config::default()
        };
        let progress = Mutex::new(progress);
        Ok(analyse::analyse(
            history,
            &config,
            &Watch { stop: &|| watch.is_over(), progress: &|done, all| progress.lock().part(done, all, "candidate") },
        ))
    }

    /// Whether a window without a conflict among the predictions has none.
    pub fn is_complete(&self, report: &Report, history: &History) -> bool {
        let both = self.wants(Analysis::CutPoints) && self.wants(Analysis::Crossings);
        let is_whole = history.left_out + history.lost + report.left_out == 0;
        both && is_whole
            && self.selection.is_empty()
            && report.undecided + report.unexamined == 0
            && !report.is_broken_off
    }
}

pub fn warn_of_report(report: &Report) {
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
    if report.forgotten > 0 {
        let forgotten = counted(report.forgotten, "block").replace("block", "earlier block");
        let lie = if report.forgotten == 1 { "lies" } else { "lie" };
        tell(
            "warning",
            &format!(
                "{forgotten} {lie} further back than views and stale values look: what goes from there to later ones is not seen"
            ),
        );
    }
}

/// When the work is to stop: at that time, or when the user wants it.
pub struct Deadline(Option<Instant>);

impl Deadline {
    pub fn after(time: Option<Duration>) -> Deadline {
        Deadline(time.and_then(|time| Instant::now().checked_add(time)))
    }

    /// The one in the middle between now and this.
    pub fn half(&self) -> Deadline {
        let now = Instant::now();
        Deadline(self.0.map(|end| now + end.saturating_duration_since(now) / 2))
    }

    pub fn is_over(&self) -> bool {
        run::interruption().is_some() || self.0.is_some_and(|end| Instant::now() >= end)
    }
}

pub fn warn_of_history(history: &History) {
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
