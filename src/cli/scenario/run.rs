//! `avmon scenario run`: all that can be known about a scenario.

use super::super::exit::{ExitCode, Failure};
use super::super::figures::{counted, grouped};
use super::super::progress::Progress;
use super::super::{print, tell};
use super::Source;
use super::order::OrderFlags;
use crate::analysis::sidetrack::{Config, SideTrack};
use crate::analysis::{Analysis as _, ErrorKind, Transaction};
use crate::report::finding::Strength;
use crate::scenario::diagram::draw;
use crate::scenario::events::place_of;
use crate::scenario::explore::{Search, count_runs};
use crate::scenario::facts::{Crossing, Facts, Triple};
use crate::scenario::graph::Graph;
use crate::scenario::machine::{Machine, Misuse};
use crate::scenario::program::{Operation, Place, Program};
use crate::scenario::run::{self as machine, MOST_STEPS};
use crate::scenario::survey::{Order, Sight, Survey};
use crate::scenario::tree::{Scenario, ThreadIndex};
use clap::Args;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  avmon scenario run lost-update.scn            what can happen, with a run that shows it
  avmon scenario run --json lost-update.scn     the same for programs
  avmon scenario run --plain lost-update.scn    look at every single interleaving
  avmon scenario run --order 't1*3 t2' FILE     one run: these steps first, the rest as written
  avmon scenario run --seed 7 FILE              one run, in an order that looks random";

/// Memory for counting interleavings.
const MOST_BYTES: usize = 256 << 20;

/// So many patterns are listed.
const MOST_PATTERNS: usize = 10;

/// Look at every run of a scenario: which blocks can be split, deadlocks, failed assertions
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[allow(clippy::struct_excessive_bools, reason = "flags of a command")]
pub struct Run {
    /// The scenario; '-' is stdin
    #[arg(value_name = "FILE")]
    scenario: PathBuf,

    #[command(flatten)]
    order: OrderFlags,

    /// Look at every interleaving, not at one of each kind
    #[arg(long, conflicts_with_all = ["order", "seed"])]
    plain: bool,

    /// Keep blocks whole across waits for other threads
    #[arg(long)]
    strict_waits: bool,

    /// List every pattern
    #[arg(long)]
    all: bool,

    /// Give up after so many steps
    #[arg(long, value_name = "STEPS", default_value_t = 10_000_000, conflicts_with_all = ["order", "seed"])]
    limit: u64,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A step in the text.
#[derive(Serialize, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    thread: String,
    line: u32,
    text: String,
}

#[derive(Serialize)]
struct Report {
    scenario: String,
    threads: usize,
    /// In decimal digits, since there may be very many; absent if they could not be counted.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_digits")]
    interleavings: Option<u128>,
    /// How many runs were looked at: one of each kind, unless all were asked for.
    runs: u64,
    unserialisable_runs: u64,
    /// Whether that was all.
    complete: bool,
    blocks: u64,
    split_blocks: u64,
    findings: Vec<Finding>,
    #[serde(flatten)]
    patterns: Patterns,
    reads_from: Vec<ReadFrom>,
    written_order: Observed,
}

/// What one run shows.
#[derive(Serialize)]
struct OneRun {
    scenario: String,
    #[serde(flatten)]
    observed: Observed,
    split_blocks: Vec<Step>,
    /// Transactions, each with its steps, that had to come one before the other and the last before the first.
    cycle: Vec<Vec<Step>>,
    stuck: Vec<Step>,
    failed_assertions: Vec<Step>,
    misuses: Vec<Step>,
    #[serde(flatten)]
    patterns: Patterns,
    reads_from: Vec<ReadFrom>,
    #[serde(skip)]
    diagram: String,
}

/// Accesses that no serial run shows in this order.
#[derive(Serialize)]
struct Patterns {
    #[serde(rename = "patterns")]
    one_variable: Vec<Shown<[Step; 3]>>,
    #[serde(rename = "crossings")]
    two_variables: Vec<Shown<[Step; 4]>>,
}

/// A read, and the write whose value it can see; none if that is the first value.
#[derive(Serialize)]
struct ReadFrom {
    read: Step,
    write: Option<Step>,
}

/// What some run does that it should not, and that run.
#[derive(Serialize)]
struct Finding {
    kind: &'static str,
    at: Vec<Step>,
    /// Who takes each step, as `--order` takes it.
    order: String,
    #[serde(skip)]
    title: String,
    #[serde(skip)]
    diagram: String,
}

#[derive(Serialize)]
struct Shown<Steps> {
    pattern: String,
    steps: Steps,
}

/// What is known from one run alone.
#[derive(Serialize)]
struct Observed {
    order: String,
    serialisable: bool,
    complete: bool,
    /// What the online rules predict from it.
    predicted: Vec<Predicted>,
}

#[derive(Serialize)]
struct Predicted {
    kind: &'static str,
    /// All but strong are weak: the monitor shows them only if asked.
    strength: &'static str,
    /// The innermost block that is split.
    block: Step,
    first: Step,
    culprit: Step,
    second: Step,
}

impl Run {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let source = Source::read(&self.scenario)?;
        let program = Program::new(&source.scenario);
        let machine = Machine::new(&program);
        let look = Look { scenario: &source.scenario, machine: &machine, strict_waits: self.strict_waits };
        let most_patterns = if self.all { usize::MAX } else { MOST_PATTERNS };
        let run = self.order.run(&source, &machine)?;
        if self.order.is_given() {
            let report = look.one(source.path.clone(), &run);
            self.print(&report, || report.text(most_patterns))?;
            return Ok(if report.is_fine() { ExitCode::Success } else { ExitCode::Findings });
        }
        let search = if self.plain { Search::Plain } else { Search::Reduced };
        let mut progress = Progress::new();
        let survey =
            Survey::of(&machine, &run, search, self.strict_waits, self.limit, &mut |runs| progress.count(runs, "run"));
        drop(progress);
        let report = look.all(source.path.clone(), &survey, &run, self.limit);
        self.print(&report, || report.text(most_patterns))?;
        if !report.complete {
            let reason = if survey.explored.steps >= self.limit {
                format!("stopped after {} steps; --limit allows more", grouped(self.limit))
            } else {
                format!("runs of more than {} steps were left out; let loops end earlier", grouped(MOST_STEPS as u64))
            };
            if report.findings.is_empty() {
                return Err(Failure::internal(format!("{reason}. Nothing was found, but there may be something")));
            }
            tell("warning", &format!("{reason}. All of the above is true, but there may be more"));
        }
        Ok(if report.findings.is_empty() { ExitCode::Success } else { ExitCode::Findings })
    }

    fn print(&self, report: &impl Serialize, text: impl FnOnce() -> String) -> Result<ExitCode, Failure> {
        if self.json {
            let text = serde_json::to_string_pretty(report).map_err(|error| Failure::internal(error.to_string()))?;
            return print((text + "\n").as_bytes());
        }
        print(text().as_bytes())
    }
}

/// The scenario, to be spoken of.
struct Look<'a> {
    scenario: &'a Scenario,
    machine: &'a Machine<'a>,
    strict_waits: bool,
}

impl Look<'_> {
    fn name(&self, thread: ThreadIndex) -> String {
        self.scenario.threads[thread].name.clone()
    }

    /// `t1*3 t2`, as `--order` takes it.
    fn order_text(&self, order: &[ThreadIndex]) -> String {
        let turns = order.chunk_by(|one, next| one == next).map(|turn| match turn.len() {
            1 => self.name(turn[0]),
            steps => format!("{}*{steps}", self.name(turn[0])),
        });
        turns.collect::<Vec<_>>().join(" ")
    }

    fn step(&self, place: Place) -> Step {
        let instruction = self.machine.program.at(place);
        let thread = self.name(place.thread as usize);
        Step { thread, line: instruction.at.line, text: instruction.text.clone() }
    }

    fn all(&self, scenario: String, survey: &Survey, as_written: &machine::Run, most_steps: u64) -> Report {
        let Survey { facts, explored, .. } = survey;
        let instructions = self.machine.program.threads.iter().flat_map(|code| &code.instructions);
        Report {
            scenario,
            threads: self.scenario.threads.len(),
            interleavings: count_runs(self.machine, MOST_BYTES, most_steps).filter(|&count| count < u128::MAX),
            runs: explored.runs,
            unserialisable_runs: survey.unserialisable,
            complete: explored.is_complete,
            blocks: instructions.filter(|i| matches!(i.operation, Operation::Begin)).count() as u64,
            split_blocks: facts.split.len() as u64,
            findings: survey.sights.iter().map(|(sight, order)| self.finding(sight, order)).collect(),
            patterns: self.patterns(facts),
            reads_from: self.reads_from(facts),
            written_order: self.observed(as_written),
        }
    }

    /// One run.
    fn one(&self, scenario: String, run: &machine::Run) -> OneRun {
        let facts = Facts::of(self.machine.program, run, self.strict_waits);
        let graph = Graph::new(&run.log, self.strict_waits);
        let transaction =
            |operations: &Vec<usize>| operations.iter().map(|&at| self.step_of(graph.operations[at].place)).collect();
        OneRun {
            scenario,
            observed: self.observed(run),
            split_blocks: facts.split.iter().map(|&place| self.step(place)).collect(),
            cycle: graph.cycle().unwrap_or_default().iter().map(transaction).collect(),
            stuck: run.stuck.iter().map(|&place| self.step(place)).collect(),
            failed_assertions: facts.failed_assertions.iter().map(|&place| self.step(place)).collect(),
            misuses: facts.misuses.iter().map(|&(place, _)| self.step(place)).collect(),
            patterns: self.patterns(&facts),
            reads_from: self.reads_from(&facts),
            diagram: self.diagram(&run.order),
        }
    }

    fn patterns(&self, facts: &Facts) -> Patterns {
        Patterns {
            one_variable: facts.triples.iter().map(|triple| self.pattern(triple)).collect(),
            two_variables: facts.crossings.iter().map(|crossing| self.crossing(crossing)).collect(),
        }
    }

    fn reads_from(&self, facts: &Facts) -> Vec<ReadFrom> {
        let step = |place: Place| self.step(place);
        facts.reads_from.iter().map(|&(read, write)| ReadFrom { read: step(read), write: write.map(step) }).collect()
    }

    /// Also of the end of a thread, which is behind its last step.
    fn step_of(&self, place: Place) -> Step {
        let is_end = place.index as usize >= self.machine.program.threads[place.thread as usize].instructions.len();
        if is_end {
            return Step { thread: self.name(place.thread as usize), line: 0, text: "its end".to_owned() };
        }
        self.step(place)
    }

    fn finding(&self, sight: &Sight, order: &Order) -> Finding {
        let step = |place: Place| self.step(place);
        let (kind, at, title) = match sight {
            Sight::Split(block) => ("split", vec![step(*block)], format!("{} can be split", step(*block).block())),
            Sight::Tangled => (
                "tangled",
                Vec::new(),
                "Blocks can be entangled: each is whole in this run, and yet they cannot have run one after the other"
                    .to_owned(),
            ),
            Sight::Deadlock(places) => {
                let at: Vec<Step> = places.iter().copied().map(step).collect();
                let stands = |step: &Step| format!("{} at line {}, '{}'", step.thread, step.line, step.text);
                let standing: Vec<String> = at.iter().map(stands).collect();
                ("deadlock", at, format!("Deadlock: {}", standing.join("; ")))
            }
            Sight::FailedAssertion(place) => {
                ("assertion", vec![step(*place)], format!("{} can fail", step(*place).quoted()))
            }
            Sight::Misuse(place, misuse) => {
                let why = match misuse {
                    Misuse::NotHeld => "is not the thread's to give back",
                    Misuse::HeldAgain => "waits with a lock held more than once; a wait gives it back only once",
                    Misuse::Endless => "comes after a million steps that nobody else can notice",
                };
                ("misuse", vec![step(*place)], format!("{} {why}", step(*place).quoted()))
            }
        };
        Finding { kind, at, order: self.order_text(order), title, diagram: self.diagram(order) }
    }

    /// Draws the run, and marks the steps that split a block.
    fn diagram(&self, order: &Order) -> String {
        let Ok(run) = self.machine.run_in_order(order) else { return String::new() };
        let graph = Graph::new(&run.log, self.strict_waits);
        let splitters = graph.blocks.iter().filter_map(|block| graph.splitter(block));
        let between: Vec<_> = splitters.map(|at| (graph.operations[at].place, graph.occurrence(at))).collect();
        draw(self.scenario, self.machine, order, &|place, before| {
            if between.contains(&(place, before)) { "<-- comes between" } else { "" }
        })
    }

    fn pattern(&self, triple: &Triple) -> Shown<[Step; 3]> {
        let steps = [triple.first, triple.other, triple.second].map(|place| self.step(place));
        Shown { pattern: format!("{:?}", triple.pattern).to_uppercase(), steps }
    }

    fn crossing(&self, crossing: &Crossing) -> Shown<[Step; 4]> {
        let Crossing { one, other } = crossing;
        let steps = [one.0, one.1, other.0, other.1].map(|place| self.step(place));
        Shown { pattern: "two variables".to_owned(), steps }
    }

    fn observed(&self, run: &machine::Run) -> Observed {
        let serialisable = Graph::new(&run.log, self.strict_waits).cycle().is_none();
        let config = Config {
            paper: false,
            strict_waits: self.strict_waits,
            functions: false,
            sections: false,
            rechecks: false,
        };
        let mut analysis = SideTrack::new(config);
        let mut predicted = Vec::new();
        for (thread, event) in self.machine.events(run) {
            analysis.step(thread, &event, &mut |violation| {
                let block = violation.block().map(Transaction::opened_at);
                let places = [block.unwrap_or(0), violation.first.pc, violation.culprit.pc, violation.second.pc];
                if let [Some(block), Some(first), Some(culprit), Some(second)] = places.map(place_of) {
                    let [block, first, culprit, second] = [block, first, culprit, second].map(|place| self.step(place));
                    let kind = match violation.kind {
                        ErrorKind::Before => "before",
                        ErrorKind::In => "in",
                        ErrorKind::After => "after",
                    };
                    let (one, other) = violation.locations();
                    let strength = match violation.kind {
                        _ if one == other => Strength::Loop,
                        ErrorKind::Before => Strength::Conditional,
                        _ => Strength::Strong,
                    };
                    predicted.push(Predicted { kind, strength: strength.name(), block, first, culprit, second });
                }
            });
        }
        Observed { order: self.order_text(&run.order), serialisable, complete: run.is_complete(), predicted }
    }
}

impl Step {
    fn quoted(&self) -> String {
        format!("Line {} of {}, '{}',", self.line, self.thread, self.text)
    }

    /// The block that begins here.
    fn block(&self) -> String {
        let label = self.text.strip_prefix("begin").map_or("", str::trim);
        let name = if label.is_empty() { "The block".to_owned() } else { format!("'{label}'") };
        format!("{name} of {} (line {})", self.thread, self.line)
    }
}

impl Report {
    fn text(&self, most_patterns: usize) -> String {
        let mut text = String::new();
        let interleavings = match self.interleavings {
            Some(number) => counted(number, "interleaving"),
            None => "more interleavings than could be counted".to_owned(),
        };
        let _ = writeln!(
            text,
            "{}: {}, {interleavings}; {} looked at, {} not serialisable",
            self.scenario,
            counted(self.threads as u64, "thread"),
            counted(self.runs, "run"),
            grouped(self.unserialisable_runs),
        );
        let least = if self.complete { "" } else { "at least " };
        let _ =
            writeln!(text, "{least}{} of {} can be split", grouped(self.split_blocks), counted(self.blocks, "block"));
        // What one run shows is told together.
        let mut told: Vec<&str> = Vec::new();
        for finding in &self.findings {
            if told.contains(&finding.order.as_str()) {
                continue;
            }
            told.push(&finding.order);
            let same = self.findings.iter().filter(|other| other.order == finding.order);
            let titles: Vec<&str> = same.map(|other| other.title.as_str()).collect();
            let _ = writeln!(text, "\n{}:\n", titles.join("\n"));
            for line in finding.diagram.lines() {
                let _ = writeln!(text, "  {line}");
            }
            if self.scenario != "-" {
                let _ = writeln!(text, "\n  avmon scenario build {} --order '{}'", self.scenario, finding.order);
            }
        }
        self.patterns.list(&mut text, most_patterns);
        let _ = write!(text, "\nIn the written order the run is ");
        self.written_order.tell(&mut text);
        text
    }
}

impl OneRun {
    fn is_fine(&self) -> bool {
        self.observed.serialisable && self.observed.complete && self.failed_assertions.is_empty()
    }

    fn text(&self, most_patterns: usize) -> String {
        let mut text = format!("{}:\n\n", self.scenario);
        for line in self.diagram.lines() {
            let _ = writeln!(text, "  {line}");
        }
        let _ = writeln!(text);
        let mut say = |steps: &[Step], what: &str| {
            for step in steps {
                let _ = writeln!(text, "{} {what}", step.quoted());
            }
        };
        say(&self.failed_assertions, "fails");
        say(&self.stuck, "is where the thread stands for ever");
        say(&self.misuses, "is not allowed there: the thread stops");
        for block in &self.split_blocks {
            let _ = writeln!(text, "{} is split", block.block());
        }
        if !self.cycle.is_empty() {
            let transactions: Vec<String> = self.cycle.iter().map(|steps| transaction(steps)).collect();
            let _ = writeln!(
                text,
                "Each had to come before the next, and the last before the first: {}",
                transactions.join("; ")
            );
        }
        self.patterns.list(&mut text, most_patterns);
        let _ = write!(text, "{}The run is ", if text.ends_with("\n\n") { "" } else { "\n" });
        self.observed.tell(&mut text);
        text
    }
}

/// A transaction by its thread and lines.
fn transaction(steps: &[Step]) -> String {
    let mut lines: Vec<String> = steps.iter().filter(|step| step.line > 0).map(|step| step.line.to_string()).collect();
    lines.dedup();
    let thread = steps.first().map_or("", |step| &step.thread);
    match lines.as_slice() {
        [] => format!("the end of {thread}"),
        [line] => format!("{thread} line {line}"),
        [first, .., last] => format!("{thread} lines {first} to {last}"),
    }
}

impl Patterns {
    fn list(&self, text: &mut String, most: usize) {
        if !self.one_variable.is_empty() {
            let _ = writeln!(text, "\nAccesses of one variable between two of a block (first, other, second):");
        }
        for Shown { pattern, steps: [first, other, second] } in self.one_variable.iter().take(most) {
            let _ = writeln!(
                text,
                "  {pattern}  {} line {}, {} line {}, {} line {}",
                first.thread, first.line, other.thread, other.line, second.thread, second.line
            );
        }
        more(text, self.one_variable.len(), most);
        if !self.two_variables.is_empty() {
            let _ = writeln!(text, "\nTwo variables, each seen by the two blocks in another order:");
        }
        for Shown { steps: [one, then, other, back], .. } in self.two_variables.iter().take(most) {
            let _ = writeln!(
                text,
                "  {} line {} before {} line {}, {} line {} before {} line {}",
                one.thread, one.line, then.thread, then.line, other.thread, other.line, back.thread, back.line
            );
        }
        more(text, self.two_variables.len(), most);
    }
}

impl Observed {
    /// Goes on after "the run is ".
    fn tell(&self, text: &mut String) {
        let is = if self.serialisable { "serialisable" } else { "not serialisable" };
        let end = if self.complete { "" } else { ", and does not come to its end" };
        let find = if self.predicted.is_empty() { " nothing" } else { ":" };
        let _ = writeln!(text, "{is}{end}; from it alone the online rules find{find}");
        for Predicted { kind, strength, block, first, culprit, second } in &self.predicted {
            let _ = writeln!(
                text,
                "  {kind} ({strength}): {} between lines {} and {}, by {} line {}",
                block.block(),
                first.line,
                second.line,
                culprit.thread,
                culprit.line,
            );
        }
    }
}

#[expect(clippy::ref_option, reason = "serde wants it so")]
fn as_digits<S: serde::Serializer>(number: &Option<u128>, to: S) -> Result<S::Ok, S::Error> {
    number.map(|number| number.to_string()).serialize(to)
}

fn more(text: &mut String, all: usize, most: usize) {
    if all > most {
        let _ = writeln!(text, "  and {} more; --all lists them", all - most);
    }
}
