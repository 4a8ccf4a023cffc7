//! What the monitor calls: takes violations, decides which are findings, prints and logs them. The predictor has them collected
//! instead, to be merged with what else the same run tells.

use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::{AcquireSite, Transaction, Violation};
use crate::event::ThreadId;
use crate::options::Options;
use crate::predict::history::History;
use crate::predict::prediction::Prediction;
use crate::report::finding::{Analysis, Data, Finding, Kind, Rung, Strength};
use crate::report::json::{Count, Record, Start, Summary};
use crate::report::merge::{Entry, merge};
use crate::report::predicted;
use crate::report::resolve::{resolve, transaction_name};
use crate::report::rules::RulesError;
use crate::report::sink::Sinks;
use crate::report::specification::Specification;
use crate::report::suppressions::Suppressions;
use crate::report::symbols::Symbols;
use crate::report::text::{self, Closing, Look};
use crate::report::threads::ThreadInfo;

/// The process that violations come from.
pub trait Process {
    fn thread(&self, id: ThreadId) -> ThreadInfo;
    fn pid(&self) -> u32;
}

/// What the pipeline counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    pub events: u64,
    pub lost: u64,
    /// Events in signal handlers that interrupted a hook.
    pub unseen: u64,
    pub order_gaps: u64,
    pub threads: u64,
    pub locks: u64,
    pub duration: Duration,
}

/// What became of a violation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    New {
        strong: bool,
    },
    Repeat,
    Suppressed,
    /// The specification calls none of its blocks atomic.
    NotATransaction,
}

/// Why a reporter cannot start.
#[derive(Debug)]
pub enum SetupError {
    Rules(RulesError),
    Log { path: String, error: std::io::Error },
}

impl std::fmt::Display for SetupError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SetupError::Rules(error) => error.fmt(f),
            SetupError::Log { path, error } => {
                write!(f, "cannot write the log {path}: {error}; give a path in a writable directory with log_path=")
            }
        }
    }
}

impl std::error::Error for SetupError {}

impl From<RulesError> for SetupError {
    fn from(error: RulesError) -> SetupError {
        SetupError::Rules(error)
    }
}

/// A block with its locations: findings that differ in nothing but their kind share one.
#[derive(Debug)]
struct Spot {
    /// The finding that was first, and the one that was printed in full.
    first: u64,
    printed: Option<u64>,
    /// The strongest so far.
    strength: Strength,
    /// Whether a kind that needs no condition was seen.
    unconditional: bool,
    block: String,
}

/// Where the repeats of a violation are counted.
#[derive(Clone, Copy, Debug)]
enum Tally {
    Finding(u64),
    Suppression(usize),
}

/// What a finding was made from.
#[derive(Clone, Debug)]
pub enum Source {
    Window(Box<Violation>),
    /// Its place in the list of predictions.
    Prediction(usize),
}

/// Takes violations, prints and logs what is new.
pub struct Reporter {
    options: Options,
    look: Look,
    sinks: Sinks,
    symbols: Symbols,
    specification: Specification,
    suppressions: Suppressions,
    /// The log's first record, until something else is to be written.
    start: Option<Start>,
    spots: FxHashMap<String, Spot>,
    ids: FxHashMap<(String, Kind), u64>,
    /// Findings that wait for what else is found.
    collected: Option<Vec<Finding>>,
    /// What those were made from, by their ids.
    sources: FxHashMap<u64, Source>,
    /// How often each finding was seen, by its id.
    counts: Vec<u64>,
    tallies: FxHashMap<u64, Tally>,
    suppressed: u64,
    not_transactions: u64,
}

impl Reporter {
    /// A reporter for the process that `start` and `symbols` are of. Reads the suppressions and the specification, and sees
    /// that a log that was asked for can be written.
    pub fn new(options: &Options, sinks: Sinks, start: Start, symbols: Symbols) -> Result<Reporter, SetupError> {
        let mut reporter = Reporter {
            look: Look { color: sinks.color, strip_path_prefix: options.strip_path_prefix.clone() },
            options: options.clone(),
            symbols,
            specification: Specification::read(options)?,
            suppressions: Suppressions::read(options)?,
            start: Some(start),
            sinks,
            spots: FxHashMap::default(),
            ids: FxHashMap::default(),
            collected: None,
            sources: FxHashMap::default(),
            counts: Vec::new(),
            tallies: FxHashMap::default(),
            suppressed: 0,
            not_transactions: 0,
        };
        if let Some(log) = reporter.sinks.log.as_ref().filter(|log| log.is_asked_for()) {
            let unwritable = |error| SetupError::Log { path: log.path().display().to_string(), error };
            log.check_writable().map_err(unwritable)?;
            reporter.log("");
        }
        Ok(reporter)
    }

    /// Takes a newer memory map of the process. A module that is in none of them has no name later.
    pub fn replace_modules(&mut self, map: &str) {
        self.symbols.replace_modules(map);
    }

    /// The same, but it tells nothing before it gets the predictions of the run.
    #[must_use]
    pub fn collecting(self) -> Reporter {
        Reporter { collected: Some(Vec::new()), ..self }
    }

    /// Takes a violation. The analysis hands over each [`Violation::key`] once and counts the repeats itself.
    pub fn violation(&mut self, violation: &Violation, process: &dyn Process) -> Verdict {
        let Reporter { symbols, specification, .. } = self;
        let common = violation.first.stack.get(..violation.common).unwrap_or_default();
        let Some(blamed) = specification.blame(common, &mut |t| transaction_name(symbols, t)) else {
            self.not_transactions += 1;
            return Verdict::NotATransaction;
        };
        let mut finding = resolve(violation, blamed, symbols, specification, process);
        if let Some(index) = self.suppress(&finding, 1) {
            self.tallies.insert(violation.key, Tally::Suppression(index));
            return Verdict::Suppressed;
        }
        let identity = (finding.spot(), finding.kind);
        if let Some(&id) = self.ids.get(&identity) {
            self.tallies.insert(violation.key, Tally::Finding(id));
            self.count(id, 1);
            return Verdict::Repeat;
        }
        let id = self.new_id(1);
        self.tallies.insert(violation.key, Tally::Finding(id));
        self.ids.insert(identity, id);
        finding.id = id;
        let strong = match &mut self.collected {
            Some(collected) => {
                finding.data = (!is_instrumented(violation)).then_some(Data::NotSeen);
                let strong = finding.strength == Strength::Strong;
                collected.push(finding);
                self.sources.insert(id, Source::Window(Box::new(violation.clone())));
                strong
            }
            None => self.add(finding, process.pid()),
        };
        Verdict::New { strong }
    }

    /// Takes what was predicted for the run whose violations were collected, and merges all. `is_complete` says that every
    /// conflict of the run is among the predictions: nothing was left out by choice, nor for lack of time.
    pub fn merged<'p>(
        &mut self,
        predictions: impl IntoIterator<Item = (Analysis, &'p Prediction)>,
        history: &History,
        is_complete: bool,
        process: &dyn Process,
    ) -> Vec<Entry> {
        let mut findings = self.collected.take().unwrap_or_default();
        if history.variables.is_empty() {
            for window in &mut findings {
                window.data = Some(Data::NotSeen);
            }
        }
        for (index, (found_by, prediction)) in predictions.into_iter().enumerate() {
            let Reporter { symbols, specification, .. } = self;
            let finding = predicted::finding(prediction, found_by, history, symbols, specification, process);
            let Some(finding) = finding else {
                self.not_transactions += 1;
                continue;
            };
            let times = prediction.alike;
            if self.suppress(&finding, times).is_none() {
                let id = self.new_id(times);
                self.sources.insert(id, Source::Prediction(index));
                findings.push(Finding { id, ..finding });
            }
        }
        merge(findings, is_complete)
    }

    /// Takes a finding that the source alone tells.
    pub fn suspected(&mut self, finding: Finding) {
        if !self.specification.allows_named(&finding.block.name) {
            self.not_transactions += 1;
        } else if self.suppress(&finding, 1).is_none() {
            let id = self.new_id(1);
            self.add(Finding { id, ..finding }, 0);
        }
    }

    /// What a member of an entry was made from.
    #[must_use]
    pub fn source(&self, member: u64) -> Option<&Source> {
        self.sources.get(&member)
    }

    /// Prints and logs what was merged, in this order.
    pub fn publish(&mut self, entries: Vec<Entry>, process: &dyn Process) {
        self.renumber(&entries);
        for (id, entry) in (1..).zip(entries) {
            self.add(Finding { id, ..entry.finding }, process.pid());
        }
    }

    /// Names for the addresses of the process.
    pub fn symbols(&mut self) -> &mut Symbols {
        &mut self.symbols
    }

    /// Distinct blocks and locations that are strong.
    #[must_use]
    pub fn strong(&self) -> usize {
        self.having(Strength::Strong)
    }

    /// Ends the log and prints the summary. `counts` has for each key how often its violation was seen in all.
    pub fn finish(&mut self, totals: &Totals, counts: &mut dyn Iterator<Item = (u64, u64)>) {
        for (key, seen) in counts {
            let repeats = seen.saturating_sub(1);
            match self.tallies.get(&key) {
                Some(Tally::Finding(id)) => self.count(*id, repeats),
                Some(Tally::Suppression(index)) => self.suppressions.hit(*index, repeats),
                None => {}
            }
        }
        // A log that nobody asked for exists only if there is a finding.
        if self.start.is_none() {
            let counts = (1..).zip(&self.counts).map(|(id, &count)| Record::Count(Count { id, count }).to_line());
            let lines: String = counts.chain([Record::Summary(self.summary(totals)).to_line()]).collect();
            self.log(&lines);
        }
        let has_news = !self.spots.is_empty() || self.suppressed + totals.lost + totals.unseen + totals.order_gaps > 0;
        if self.options.summary && has_news {
            let text = text::closing(&self.closing(totals));
            self.print(&text);
        }
    }

    /// The number of the suppression that hides a finding which was seen so often, if there is one.
    fn suppress(&mut self, finding: &Finding, times: u64) -> Option<usize> {
        let index = self.suppressions.find(finding)?;
        self.suppressions.hit(index, times);
        self.suppressed += 1;
        Some(index)
    }

    fn new_id(&mut self, times: u64) -> u64 {
        self.counts.push(times);
        self.counts.len() as u64
    }

    /// Gives findings the numbers of the entries that they are in now.
    fn renumber(&mut self, entries: &[Entry]) {
        let mut counts = Vec::new();
        let mut entry_of = FxHashMap::default();
        for (id, entry) in (1..).zip(entries) {
            counts.push(entry.members.iter().map(|&member| self.counts[member as usize - 1]).sum());
            entry_of.extend(entry.members.iter().map(|&member| (member, id)));
        }
        self.counts = counts;
        self.tallies.retain(|_, tally| match tally {
            Tally::Finding(id) => entry_of.get(id).map(|&entry| *id = entry).is_some(),
            Tally::Suppression(_) => true,
        });
    }

    /// Prints and logs a new finding.
    fn add(&mut self, mut finding: Finding, pid: u32) -> bool {
        // What conflicts was shown to take that path.
        let unconditional = finding.kind != Kind::Before || finding.rung != Rung::Predicted;
        let spot = self.spots.entry(finding.spot()).or_insert_with(|| Spot {
            first: finding.id,
            printed: None,
            strength: Strength::Assumed,
            unconditional,
            block: finding.block.begin.identity(),
        });
        spot.unconditional |= unconditional;
        if finding.strength == Strength::Strong && !spot.unconditional {
            finding.strength = Strength::Conditional;
        }
        finding.same_as = (spot.first != finding.id).then_some(spot.first);
        spot.strength = spot.strength.min(finding.strength);

        let strong = finding.strength == Strength::Strong;
        let text = match spot.printed {
            _ if !self.options.report || !(strong || self.options.show_weak) => None,
            Some(other) => Some(text::note(&finding, other)),
            None => {
                spot.printed = Some(finding.id);
                Some(text::report(&finding, pid, &self.look))
            }
        };
        if let Some(text) = text {
            self.print(&text);
        }
        self.log(&Record::Finding(Box::new(finding)).to_line());
        strong
    }

    fn count(&mut self, id: u64, times: u64) {
        self.counts[id as usize - 1] += times;
    }

    fn having(&self, strength: Strength) -> usize {
        self.spots.values().filter(|spot| spot.strength == strength).count()
    }

    fn summary(&self, totals: &Totals) -> Summary {
        let summary = Summary {
            suppressed: self.suppressed,
            not_transactions: self.not_transactions,
            lost: totals.lost,
            unseen: totals.unseen,
            order_gaps: totals.order_gaps,
            events: totals.events,
            threads: totals.threads,
            locks: totals.locks,
            duration_ms: totals.duration.as_millis() as u64,
            ..Summary::default()
        };
        summary.having(|strength| self.having(strength) as u64)
    }

    fn closing(&self, totals: &Totals) -> Closing {
        let strong = self.spots.values().filter(|spot| spot.strength == Strength::Strong);
        let log = self.sinks.log.as_ref().filter(|log| self.start.is_none() && log.failures() == 0);
        Closing {
            findings: self.strong(),
            blocks: strong.map(|spot| &spot.block).collect::<FxHashSet<_>>().len(),
            weak: self.spots.len() - self.strong(),
            weak_shown: self.options.show_weak,
            suppressed: self.suppressed,
            lost: totals.lost,
            unseen: totals.unseen,
            order_gaps: totals.order_gaps,
            log: log.map(|log| log.path().display().to_string()),
            suppressions: if self.options.print_suppressions { self.suppressions.used().collect() } else { Vec::new() },
        }
    }

    /// Appends to the log, whose first record goes along with the first line.
    fn log(&mut self, lines: &str) {
        let Some(log) = &mut self.sinks.log else { return };
        let start = self.start.take().map(|start| Record::Start(start).to_line()).unwrap_or_default();
        if let Err(message) = log.write(&(start + lines)) {
            self.print(&message);
        }
    }

    /// Whole reports in one write, so that the program's own output does not get between their lines.
    fn print(&mut self, text: &str) {
        // Nobody can be told that stderr does not work.
        let _ = self.sinks.stderr.write_all(text.as_bytes());
    }
}

/// Whether all three acquires are in code whose accesses are recorded.
fn is_instrumented(violation: &Violation) -> bool {
    let is_function = |transaction: &Transaction| matches!(transaction, Transaction::Function { .. });
    let has_hooks = |site: &AcquireSite| site.stack.iter().any(is_function);
    [&violation.first, &violation.culprit, &violation.second].into_iter().all(has_hooks)
}

// It is made where the monitor starts and used on its worker.
const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<Reporter>();
};
