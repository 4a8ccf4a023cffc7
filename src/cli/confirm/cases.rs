//! What is to be tried: the findings of a recording, each with its schedules, the most promising first.

use crate::cli::exit::Failure;
use crate::cli::names::Names;
use crate::cli::predict::dependencies::ViewFlags;
use crate::cli::predict::effort::{Deadline, Effort, warn_of_history, warn_of_report};
use crate::cli::progress::Progress;
use crate::cli::recording::{self, RecordedModules};
use crate::monitor::Monitor;
use crate::predict::history::History;
use crate::predict::prediction::{Prediction, Shape, Steps};
use crate::predict::search::{Budget, Order};
use crate::replay::continued::continued;
use crate::replay::instances;
use crate::replay::schedule::Schedule;
use crate::replay::synthesis::{self, Target};
use crate::replay::window;
use crate::report::finding::{Analysis, Finding, Kind, Pattern, Rung, Strength};
use crate::report::merge::Entry;
use crate::report::reporter::{Source, Totals};
use crate::trace::reader::{Problem, Trace};
use rustc_hash::FxHasher;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::hash::Hasher as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Schedules of a finding that are tried before those of the next one: other runs through the same places seldom tell more.
pub const AT_FIRST: usize = 4;
/// All schedules of a finding.
const MOST_OF_A_FINDING: usize = 12;

/// One process of a recording, and what was found in it.
pub struct Process {
    pub monitor: Monitor,
    pub entries: Vec<Entry>,
    pub totals: Totals,
}

/// A schedule that may show a violation.
pub struct Candidate {
    /// In all, from 1.
    pub number: usize,
    /// Of its text, by which it is known.
    pub digest: u64,
    pub schedule: Schedule,
}

/// A finding, and how it may be shown.
pub struct Case {
    /// Which process, and which of its entries.
    pub process: usize,
    pub entry: usize,
    /// To be tried in this order.
    pub candidates: Vec<Candidate>,
    /// Why there is none.
    pub obstacle: Option<String>,
    rank: Rank,
}

/// What is tried first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    strength: Strength,
    rung: Reverse<Rung>,
    pattern: Option<Pattern>,
    /// Steps of the run between the block's two.
    distance: u32,
    agreeing: Reverse<usize>,
}

/// What is looked for, and until when.
pub struct Wanted<'a> {
    pub views: &'a ViewFlags,
    pub deadline: &'a Deadline,
    /// We killed the recorded run, when its time was over: that it has no end is no news.
    pub was_killed: bool,
}

/// Everything that a recording gives to try.
pub struct Cases {
    pub processes: Vec<Process>,
    pub cases: Vec<Case>,
}

/// Where the log of a process is written.
pub fn log(directory: &Path, process: usize) -> PathBuf {
    directory.join(format!("findings.{}.jsonl", process + 1))
}

impl Cases {
    /// Predicts from all processes of a recording. `settings` are for what is reported, `output` makes where that is printed.
    pub fn of<'a>(
        recording: &Path,
        directory: &Path,
        settings: &(impl Iterator<Item = (&'static str, &'a str)> + Clone),
        wanted: &Wanted<'_>,
        output: impl Fn() -> Box<dyn std::io::Write + Send>,
    ) -> Result<Cases, Failure> {
        let mut cases = Cases { processes: Vec::new(), cases: Vec::new() };
        for (trace, number) in traces(recording)? {
            let log = log(directory, cases.processes.len());
            cases.add(&trace, number, settings.clone(), wanted, output(), log)?;
        }
        cases.cases.sort_by(|one, other| one.rank.cmp(&other.rank));
        // As they are tried.
        let (mut first, mut later) = (Vec::new(), Vec::new());
        for case in &mut cases.cases {
            for (index, candidate) in case.candidates.iter_mut().enumerate() {
                if index < AT_FIRST { &mut first } else { &mut later }.push(candidate);
            }
        }
        for (number, candidate) in (1..).zip(first.into_iter().chain(later)) {
            candidate.number = number;
        }
        Ok(cases)
    }

    fn add<'a>(
        &mut self,
        trace: &Trace,
        number: u32,
        settings: impl Iterator<Item = (&'static str, &'a str)>,
        wanted: &Wanted<'_>,
        output: Box<dyn std::io::Write + Send>,
        log: PathBuf,
    ) -> Result<(), Failure> {
        recording::warn(trace.problems().iter().filter(|it| !(wanted.was_killed && **it == Problem::NoEnd)));
        let settings = [("report", "1"), ("summary", "1"), ("print_suppressions", "1")].into_iter().chain(settings);
        let options = recording::options(trace.meta(), settings)?;
        let effort = Effort::for_schedules(wanted.views.clone());
        let mut symbols = recording::symbols_by(trace, &options);
        let (mut history, merged) = effort.history(trace, &options, &mut symbols, &Progress::new);
        recording::warn(&merged.problems);
        warn_of_history(&history);
        let mut names = Names::new(symbols, true);
        let report = effort.analyse(trace, &mut history, &options, &mut names, wanted.deadline, Progress::new())?;
        warn_of_report(&report);

        let symbols = names.into_symbols().without_modules();
        let reporter = recording::reporter(trace, &options, symbols, output, Some(log))?.collecting();
        let mut monitor = Monitor::for_trials(&options, trace.meta().pid, reporter, &trace.meta().early_locks);
        let mut modules = RecordedModules::of(trace);
        recording::read_monitored(trace, Progress::new(), |thread, event| {
            monitor.step(thread, event, &mut modules);
            ControlFlow::Continue(())
        });
        monitor.look_at_modules(&mut modules);
        let found = report.predictions.iter().map(|prediction| (Analysis::from(prediction.shape), prediction));
        let entries = monitor.merged(found, &history, effort.is_complete(&report, &history));

        let mut wanted = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let ways = ways(entry, &mut monitor, &report.predictions, &history);
            wanted.extend(ways.into_iter().take(MOST_OF_A_FINDING).map(|way| (index, way)));
        }
        let targets: Vec<Target> = wanted.iter().map(|(_, way)| way.target.clone()).collect();
        let made = synthesis::schedules(trace, &history, &targets, monitor.reporter().symbols());
        let process = self.processes.len();
        let mut cases: BTreeMap<usize, Case> = BTreeMap::new();
        for ((index, way), made) in wanted.into_iter().zip(made) {
            let finding = &entries[index].finding;
            let case = cases.entry(index).or_insert_with(|| Case {
                process,
                entry: index,
                candidates: Vec::new(),
                obstacle: None,
                rank: rank(finding, way.distance),
            });
            match made {
                Ok(schedule) => {
                    let was_observed = way.was_observed;
                    let schedule = Schedule { head: head(finding), process: number, was_observed, ..schedule };
                    let is_new = case.candidates.iter().all(|other| other.schedule != schedule);
                    if is_new {
                        case.candidates.push(Candidate { number: 0, digest: digest(&schedule), schedule });
                    }
                }
                Err(obstacle) => case.obstacle = Some(obstacle.to_string()),
            }
        }
        self.cases.extend(cases.into_values());
        let totals = monitor.totals(recording::totals(trace, &merged));
        self.processes.push(Process { monitor, entries, totals });
        Ok(())
    }
}

/// The traces of a recording, and which process of its program each is, counted from 0.
fn traces(recording: &Path) -> Result<Vec<(Trace, u32)>, Failure> {
    let mut paths = recording::processes(recording);
    if paths.is_empty() {
        paths.push(recording.to_owned());
    }
    let mut traces = paths.iter().map(|path| recording::open(path)).collect::<Result<Vec<Trace>, Failure>>()?;
    traces.sort_by_key(|trace| (trace.meta().start_time_ms, trace.meta().pid));
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let numbered = traces.into_iter().map(|trace| {
        let next = seen.entry(trace.meta().program.clone()).or_default();
        let number = *next;
        *next += 1;
        (trace, number)
    });
    Ok(numbered.collect())
}

/// What tells one recording from another: the names that its traces were given at random.
pub fn identity(recording: &Path) -> Result<Vec<String>, Failure> {
    Ok(traces(recording)?.iter().map(|(trace, _)| format!("{:016x}", trace.meta().trace_id)).collect())
}

/// One way to a violation.
struct Way {
    target: Target,
    distance: u32,
    was_observed: bool,
}

impl Way {
    fn new(steps: &Steps, shape: Shape, order: Order) -> Way {
        Way {
            target: Target::of_steps(steps, shape, order),
            distance: steps.second.abs_diff(steps.first),
            was_observed: steps.culprit > steps.first && steps.culprit_too < steps.second,
        }
    }
}

/// The ways of a finding: of its data before locks, the shortest first, and other passes through the same code between them.
fn ways(entry: &Entry, monitor: &mut Monitor, predictions: &[Prediction], history: &History) -> Vec<Way> {
    let budget = Budget::in_run_of(history.steps.len());
    let (mut of_data, mut of_locks) = (Vec::new(), Vec::new());
    for &member in &entry.members {
        match monitor.reporter().source(member) {
            Some(Source::Prediction(index)) => of_data.extend(predictions.get(*index)),
            Some(Source::Window(violation)) => {
                let was_observed = Kind::from(violation.kind) == Kind::In;
                let target = window::target(history, violation, budget);
                of_locks.extend(target.map(|target| Way { target, distance: u32::MAX, was_observed }));
            }
            None => {}
        }
    }
    of_data.sort_by_key(|prediction| prediction.steps.second.abs_diff(prediction.steps.first));
    let others = of_data.first().map_or_else(Vec::new, |prediction| {
        let others = instances::others(history, prediction, budget, MOST_OF_A_FINDING);
        others.into_iter().map(|(steps, order)| Way::new(&steps, prediction.shape, order)).collect()
    });
    let told = of_data.iter().map(|it| Way::new(&it.steps, it.shape, it.order.clone())).chain(of_locks);
    let mut told: VecDeque<Way> = told.collect();
    let best = told.pop_front();
    // The best one goes on in one order at first: what comes of it then is the same every time, and no matter of who is faster.
    let steady = best.as_ref().and_then(|best| Some(Way { target: continued(&best.target, history)?, ..*best }));
    let mut ways: Vec<Way> = steady.into_iter().chain(best).collect();
    let mut others = VecDeque::from(others);
    while !told.is_empty() || !others.is_empty() {
        ways.extend(others.pop_front());
        ways.extend(told.pop_front());
    }
    ways
}

fn digest(schedule: &Schedule) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(schedule.to_string().as_bytes());
    hasher.finish()
}

fn rank(finding: &Finding, distance: u32) -> Rank {
    Rank {
        strength: finding.strength,
        rung: Reverse(finding.rung),
        pattern: finding.pattern,
        distance,
        agreeing: Reverse(finding.found_by.len()),
    }
}

/// What a schedule says to people.
fn head(finding: &Finding) -> Vec<String> {
    let mut head = vec![finding.sentence.clone()];
    for operation in finding.operations() {
        let place = &operation.location;
        head.push(format!(
            "{} {} at {} in {}",
            finding.thread_label(operation.thread),
            operation.action.does(),
            place.short(),
            place.name()
        ));
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::finding::samples;

    fn told(strength: Strength, rung: Rung, pattern: Option<Pattern>, analyses: usize) -> Finding {
        let found_by = Analysis::ALL.iter().copied().take(analyses).collect();
        Finding { rung, strength, pattern, found_by, ..samples::append() }
    }

    #[test]
    fn what_is_most_likely_to_fail_is_tried_first() {
        let (strong, weak) = (Strength::Strong, Strength::Loop);
        let in_order = [
            (told(strong, Rung::Conflicting, Some(Pattern::Rww), 2), 3),
            (told(strong, Rung::Conflicting, Some(Pattern::Rww), 1), 3),
            (told(strong, Rung::Conflicting, Some(Pattern::Rww), 2), 40),
            (told(strong, Rung::Conflicting, Some(Pattern::Rwr), 2), 3),
            (told(strong, Rung::Predicted, None, 2), u32::MAX),
            (told(weak, Rung::Conflicting, Some(Pattern::Rww), 2), 3),
            (told(weak, Rung::Predicted, None, 2), u32::MAX),
        ];
        let ranks = in_order.map(|(finding, distance)| rank(&finding, distance));
        assert!(ranks.is_sorted_by(|one, other| one < other));
    }
}
