//! `avmon report`: reads logs again, as one.

use super::exit::{ExitCode, Failure};
use super::{style, tell};
use crate::report::finding::{Finding, Frame, Kind, Pattern, Strength};
use crate::report::json::{self, Count, Log, Record, Start};
use crate::report::template::Template;
use crate::report::text::{self, Look};
use clap::{Args, ValueEnum};
use rustc_hash::FxHashMap;
use std::fmt::Write as _;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  avmon report avmon.log.1234
  avmon report avmon.log.*                         several processes as one
  avmon report --strength all --sort count LOG     weak findings too, the most frequent first
  avmon report --function '^append$' LOG           with this function in a block or a stack
  avmon report --summary LOG                       one line per finding
  avmon report --format json LOG > chosen          a log again, of what was chosen

A pattern is a part of a name; * stands for anything, ^ for its begin and $ for its end.
The exit code is 66 if a strong finding is listed.";

/// Read violation logs again: choose, sort, print
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Report {
    /// Logs that the monitor wrote, one per process
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,

    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Which strengths to list
    #[arg(long, value_delimiter = ',', default_value = "strong", value_name = "LIST", value_parser = strengths())]
    strength: Vec<String>,

    /// Only findings with a function like this, in the block or a call stack
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    function: Option<Template>,

    /// Only findings with a source file like this, in the block or a call stack
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    file: Option<Template>,

    /// Only findings of these kinds
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = kinds())]
    kind: Vec<String>,

    /// What comes first: by name of the block, most frequent, or as found
    #[arg(long, value_enum, default_value_t = Sorting::Order)]
    sort: Sorting,

    /// One line per finding instead of the whole report
    #[arg(long)]
    summary: bool,

    /// Leave out this beginning of source paths
    #[arg(long, value_name = "PREFIX", default_value = "", hide_default_value = true)]
    strip_path_prefix: String,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Format {
    Text,
    Json,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Sorting {
    Block,
    Count,
    Order,
}

const ALL: &str = "all";

fn strengths() -> Vec<&'static str> {
    Strength::NAMES.iter().copied().chain([ALL]).collect()
}

fn kinds() -> Vec<&'static str> {
    Kind::NAMES.to_vec()
}

pub fn pattern(text: &str) -> Result<Template, String> {
    Template::parse(text).map_err(|error| format!("{} (column {})", error.message, error.column))
}

/// A finding, and how often all processes together saw it.
struct Listed {
    finding: Finding,
    /// Of the first process that saw it.
    pid: u32,
    count: u64,
    processes: u64,
}

/// What all logs say together.
#[derive(Default)]
struct Merged {
    /// The first process: its header makes a log of the JSON output.
    start: Option<Start>,
    findings: Vec<Listed>,
    suppressed: u64,
    lost: u64,
}

impl Report {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let mut merged = Merged::default();
        // The same finding in several processes, or in several runs of one, is listed once.
        let mut places = FxHashMap::default();
        for path in &self.logs {
            let log = json::read_log(path).map_err(|error| Failure::internal(error.to_string()))?;
            if log.truncated || log.runs.last().is_some_and(|run| run.summary.is_none()) {
                tell("warning", &format!("{}: the process was killed; the log is whole up to then", path.display()));
            }
            merged.add(log, &mut places);
        }
        let total = merged.findings.len();
        let mut listed: Vec<Listed> =
            merged.findings.into_iter().filter(|listed| self.wants(&listed.finding)).collect();
        self.sort(&mut listed);
        number(&mut listed);
        let has_strong = listed.iter().any(|listed| listed.finding.strength == Strength::Strong);
        let output = match self.format {
            Format::Json => as_log(merged.start, listed),
            Format::Text => {
                let body = if self.summary { lines(&listed) } else { self.reports(&listed) };
                body + &closing(&listed, total, merged.suppressed, merged.lost)
            }
        };
        super::print(output.as_bytes())?;
        Ok(if has_strong { ExitCode::Findings } else { ExitCode::Success })
    }

    fn wants(&self, finding: &Finding) -> bool {
        let has_strength = self.strength.iter().any(|name| name == ALL || name == finding.strength.name());
        let has_kind = self.kind.is_empty() || self.kind.iter().any(|name| name == finding.kind.name());
        let functions = frames(finding).filter_map(|frame| frame.function.as_ref()).chain([&finding.block.name]);
        let files = frames(finding).filter_map(|frame| frame.file.as_ref());
        has_strength && has_kind && fits(self.function.as_ref(), functions) && fits(self.file.as_ref(), files)
    }

    fn sort(&self, listed: &mut [Listed]) {
        // Each sort is stable: findings that are equal in it stay in the order in which they were found.
        match self.sort {
            Sorting::Order => {}
            Sorting::Block => listed.sort_by(|a, b| a.finding.block.name.cmp(&b.finding.block.name)),
            Sorting::Count => listed.sort_by_key(|listed| std::cmp::Reverse(listed.count)),
        }
    }

    fn reports(&self, listed: &[Listed]) -> String {
        let look = Look { color: style::is_wanted(), strip_path_prefix: self.strip_path_prefix.clone() };
        let mut output = String::new();
        for Listed { finding, pid, count, processes } in listed {
            match finding.same_as {
                Some(other) => output += &text::note(finding, other),
                None => output += &text::report(finding, *pid, &look),
            }
            if *processes > 1 {
                let _ = writeln!(output, "seen {count} times in {processes} processes");
            } else if *count > 1 {
                let _ = writeln!(output, "seen {count} times");
            }
        }
        output
    }
}

impl Merged {
    fn add(&mut self, log: Log, places: &mut FxHashMap<(Kind, String), usize>) {
        for run in log.runs {
            let pid = run.start.as_ref().map_or(0, |start| start.pid);
            for finding in &run.findings {
                let count = run.count(finding.id);
                let place = *places.entry((finding.kind, finding.spot())).or_insert_with(|| {
                    self.findings.push(Listed { finding: finding.clone(), pid, count: 0, processes: 0 });
                    self.findings.len() - 1
                });
                let listed = &mut self.findings[place];
                listed.count += count;
                listed.processes += 1;
                // A log of predictions may tell more of what the monitor found.
                if finding.rung > listed.finding.rung {
                    listed.finding = finding.clone();
                }
            }
            self.suppressed += run.summary.map_or(0, |summary| summary.suppressed);
            self.lost += run.summary.map_or(0, |summary| summary.lost);
            self.start = self.start.take().or(run.start);
        }
    }
}

/// Whether one of the names is like the pattern. No pattern asks for nothing.
fn fits<'a>(pattern: Option<&Template>, mut names: impl Iterator<Item = &'a String>) -> bool {
    pattern.is_none_or(|pattern| names.any(|name| pattern.matches(name)))
}

/// Every frame that the finding speaks of.
fn frames(finding: &Finding) -> impl Iterator<Item = &Frame> {
    let stacks = finding.operations().flat_map(|operation| &operation.stack);
    stacks.chain([&finding.block.begin])
}

/// Numbers are per process in the logs; here they count what is listed, and so do the references to them.
fn number(listed: &mut [Listed]) {
    let mut seen = FxHashMap::default();
    for (id, Listed { finding, .. }) in (1..).zip(listed) {
        finding.id = id;
        let first = *seen.entry(finding.spot()).or_insert(id);
        finding.same_as = (first != id).then_some(first);
    }
}

/// A log of the listed findings, in the schema that the monitor writes.
fn as_log(start: Option<Start>, listed: Vec<Listed>) -> String {
    let counts: Vec<_> = listed.iter().map(|listed| Count { id: listed.finding.id, count: listed.count }).collect();
    let findings = listed.into_iter().map(|listed| Record::Finding(Box::new(listed.finding)));
    let records = start.map(Record::Start).into_iter().chain(findings).chain(counts.into_iter().map(Record::Count));
    records.map(|record| record.to_line()).collect()
}

/// A line for each finding.
fn lines(listed: &[Listed]) -> String {
    let mut output = format!("{:>8}  {:<6}  {:<11}  {:<13}  block\n", "count", "kind", "strength", "pattern");
    for Listed { finding, count, .. } in listed {
        let Finding { kind, strength, pattern, block, .. } = finding;
        let places: Vec<String> = finding.operations().map(|operation| operation.location.short()).collect();
        let (kind, strength, block) = (kind.name(), strength.name(), block.subject());
        let pattern = pattern.map_or("locks", Pattern::name);
        let places = places.join(" .. ");
        let _ = writeln!(output, "{count:>8}  {kind:<6}  {strength:<11}  {pattern:<13}  {block}: {places}");
    }
    output
}

fn closing(listed: &[Listed], total: usize, suppressed: u64, lost: u64) -> String {
    let left_out = match total - listed.len() {
        0 => String::new(),
        count => format!(", {count} not listed (--strength all lists the weak ones)"),
    };
    let plural = if listed.len() == 1 { "" } else { "s" };
    format!("avmon: {} finding{plural}{left_out}, {suppressed} suppressed, {lost} lost\n", listed.len())
}
