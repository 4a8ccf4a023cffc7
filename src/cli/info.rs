//! `avmon info`: what a trace holds.

mod census;
mod sharing;

use super::exit::{ExitCode, Failure};
use super::figures::{counted, duration, grouped, ratio, size};
use super::progress::Progress;
use super::recording::{self, DIRECTORY};
use crate::event::{Kind, ThreadId};
use crate::report::symbols::Symbols;
use crate::trace::reader::{Merged, Trace};
use crate::trace::thin::Dropped;
use census::{About, Census};
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  avmon info                        the trace in avmon.data
  avmon info avmon.data/1234        one of several processes
  avmon info --quick TRACE          without going through the events
  avmon info --json TRACE           for programs; the environment of the run too";

/// Tell what a trace holds: threads, events, locks, shared variables, what is missing
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Info {
    /// The trace: what 'avmon record' wrote, or one process of it
    #[arg(value_name = "TRACE", default_value = DIRECTORY)]
    trace: PathBuf,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Do not go through the events
    #[arg(long)]
    quick: bool,

    /// List so many threads
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    threads: usize,
}

/// All that is told, for programs and for people.
#[derive(Serialize)]
struct Facts {
    trace: String,
    program: String,
    arguments: Vec<String>,
    environment: Vec<String>,
    options: String,
    pid: u32,
    avmon: String,
    start_time_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_status: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    /// Whether the recording was brought to its end.
    complete: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<String>,
    bytes_on_disk: u64,
    events: u64,
    dropped: Dropped,
    /// Events that ring mode gave up.
    given_up: u64,
    lost: u64,
    unseen: u64,
    order_gaps: u64,
    /// Blocks of memory of before the first thread that the recording does not tell of.
    early_blocks_lost: u64,
    threads: Vec<ThreadFacts>,
    modules: Vec<Module>,
    problems: Vec<String>,
    /// What only the events tell.
    #[serde(flatten)]
    content: Option<Content>,
}

#[derive(Serialize)]
struct ThreadFacts {
    id: ThreadId,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<ThreadId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_routine: Option<String>,
    events: u64,
    bytes: u64,
    dropped: Dropped,
}

#[derive(Serialize)]
struct Module {
    path: String,
    build_id: String,
}

#[derive(Serialize)]
struct Content {
    kinds: BTreeMap<&'static str, u64>,
    /// Plain and atomic.
    accesses: u64,
    bytes_per_access: Option<f64>,
    locks: u64,
    allocations: u64,
    frees: u64,
    shared_variables: u64,
    /// The count of shared variables was made from one in so many pages of memory.
    shared_variables_from_one_in: u64,
}

impl Info {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let trace = recording::open(&self.trace)?;
        let mut census = Census::default();
        let merged = if self.quick {
            None
        } else {
            Some(recording::read(&trace, Progress::new(), |thread, event| {
                census.step(thread, event);
                ControlFlow::Continue(())
            }))
        };
        let facts = facts(&trace, &census, merged.as_ref());
        let text = if self.json {
            serde_json::to_string_pretty(&facts).map_err(|error| Failure::internal(error.to_string()))? + "\n"
        } else {
            text(&facts, self.threads)
        };
        super::print(text.as_bytes())
    }
}

fn facts(trace: &Trace, census: &Census, merged: Option<&Merged>) -> Facts {
    let meta = trace.meta().clone();
    let (end, status) = (trace.end(), trace.status());
    let mut symbols = recording::symbols(trace, true);
    let threads: Vec<ThreadFacts> = trace
        .threads()
        .iter()
        .map(|stream| {
            let about = census.threads.get(&stream.thread).cloned().unwrap_or_default();
            ThreadFacts {
                events: stream.counts.events + stream.unwritten_events,
                bytes: stream.counts.bytes,
                dropped: stream.counts.dropped,
                ..described(stream.thread, about, &mut symbols)
            }
        })
        .collect();
    let mut dropped = Dropped::default();
    for thread in &threads {
        dropped += thread.dropped;
    }
    let mut modules = BTreeMap::new();
    trace.modules().for_each(|snapshot| modules.extend(snapshot.build_ids));
    let problems = trace.problems().iter().chain(merged.map_or(&[][..], |merged| &merged.problems));
    let bytes_on_disk = bytes_on_disk(trace.directory());
    let totals = end.map(|end| end.totals).unwrap_or_default();
    Facts {
        trace: trace.directory().display().to_string(),
        program: meta.program,
        arguments: meta.arguments,
        environment: meta.environment,
        options: meta.options,
        pid: meta.pid,
        avmon: meta.avmon,
        start_time_ms: meta.start_time_ms,
        duration_ms: status.map(|status| status.duration_ms).or(end.map(|end| end.duration_ms)),
        exit_status: status.map_or(end.and_then(|end| end.exit_status), |status| status.exit_status),
        signal: status.map_or(end.and_then(|end| end.signal), |status| status.signal),
        complete: end.is_some(),
        stopped: end.and_then(|end| end.stopped.clone()),
        bytes_on_disk,
        events: threads.iter().map(|thread| thread.events).sum(),
        dropped,
        given_up: trace.threads().iter().map(|stream| stream.counts.given_up_events).sum(),
        lost: totals.lost.max(census.lost),
        unseen: totals.unseen,
        order_gaps: totals.order_gaps.max(merged.map_or(0, |merged| merged.order_gaps)),
        early_blocks_lost: trace.meta().early_blocks_lost,
        threads,
        modules: modules.into_iter().map(|(path, build_id)| Module { path, build_id }).collect(),
        problems: problems.map(ToString::to_string).collect(),
        content: merged.map(|_| content(census, bytes_on_disk)),
    }
}

fn content(census: &Census, bytes_on_disk: u64) -> Content {
    let accesses = census.count(&[Kind::Read, Kind::Write, Kind::AtomicLoad, Kind::AtomicStore, Kind::AtomicUpdate]);
    let (shared_variables, shared_variables_from_one_in) = census.sharing.count();
    Content {
        kinds: census.kinds().map(|(kind, count)| (kind.name(), count)).collect(),
        accesses,
        bytes_per_access: (accesses > 0).then(|| ratio(bytes_on_disk, accesses)),
        locks: census.locks(),
        allocations: census.count(&[Kind::Allocate]),
        frees: census.count(&[Kind::Free]),
        shared_variables,
        shared_variables_from_one_in,
    }
}

fn described(id: ThreadId, about: About, symbols: &mut Symbols) -> ThreadFacts {
    let created_at = (about.created_at != 0).then(|| symbols.call_frames(about.created_at)[0].short());
    let start_routine = (about.routine != 0).then(|| symbols.frames(about.routine)[0].name());
    ThreadFacts {
        id,
        name: about.name,
        parent: about.parent,
        created_at,
        start_routine,
        events: 0,
        bytes: 0,
        dropped: Dropped::default(),
    }
}

/// What the files of a trace occupy. They may have holes.
fn bytes_on_disk(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)))
        .map(|(path, data)| if data.is_dir() { bytes_on_disk(&path) } else { data.len().min(data.blocks() * 512) })
        .sum()
}

fn text(facts: &Facts, most_threads: usize) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<17} {value}");
    };
    row("trace", &facts.trace);
    row("program", &format!("{} (pid {})", facts.program, facts.pid));
    row("command line", &facts.arguments.join(" "));
    if !facts.options.is_empty() {
        row("options", &facts.options);
    }
    row("recorded", &format!("{} by avmon {}", date(facts.start_time_ms), facts.avmon));
    row("ended", &ending(facts));
    row("size", &sizes(facts));
    row("events", &grouped(facts.events));
    let Dropped { stack, repetition, excluded } = facts.dropped;
    let [stack, repetition, excluded] = [stack, repetition, excluded].map(grouped);
    row("left out", &format!("{stack} own stack, {repetition} repetitions, {excluded} excluded"));
    let (lost, unseen, gaps) = (grouped(facts.lost), grouped(facts.unseen), counted(facts.order_gaps, "gap"));
    row("missing", &format!("{lost} lost, {unseen} unseen, {gaps} in the order"));
    if facts.early_blocks_lost > 0 {
        let blocks = counted(facts.early_blocks_lost, "block");
        row("not known", &format!("where {blocks} of before the first thread were allocated"));
    }
    if facts.given_up > 0 {
        row("given up", &format!("{}, the oldest, to stay below the size limit", counted(facts.given_up, "event")));
    }
    if let Some(content) = &facts.content {
        row("locks", &grouped(content.locks));
        let estimate = match content.shared_variables_from_one_in {
            1 => String::new(),
            many => format!(" (estimated from one in {many} pages of memory)"),
        };
        row("shared variables", &format!("{}{estimate}", grouped(content.shared_variables)));
        let [allocations, frees] = [content.allocations, content.frees].map(grouped);
        row("allocations", &format!("{allocations}, and {frees} freed"));
    }
    if let Some(content) = &facts.content {
        text += "\nevents by kind\n";
        for (kind, count) in &content.kinds {
            let _ = writeln!(text, "{:>15}  {kind}", grouped(*count));
        }
    }
    text += "\nthreads\n";
    for thread in facts.threads.iter().take(most_threads) {
        let _ = writeln!(text, "{:>15}  {}", counted(thread.events, "event"), thread_text(thread));
    }
    if let Some(more @ 1..) = facts.threads.len().checked_sub(most_threads) {
        let _ = writeln!(text, "{:>15}  and {} more (--threads COUNT lists more)", "", grouped(more as u64));
    }
    text += "\nmodules\n";
    for Module { path, build_id } in &facts.modules {
        let _ = writeln!(text, "  {path} {build_id}");
    }
    if !facts.problems.is_empty() {
        text += "\nproblems\n";
        for problem in &facts.problems {
            let _ = writeln!(text, "  {problem}");
        }
    }
    text
}

fn thread_text(thread: &ThreadFacts) -> String {
    let mut text = format!("T{}", thread.id);
    if !thread.name.is_empty() {
        let _ = write!(text, " '{}'", thread.name);
    }
    if let Some(routine) = &thread.start_routine {
        let _ = write!(text, " runs {routine}");
    }
    if let (Some(parent), Some(place)) = (thread.parent, &thread.created_at) {
        let _ = write!(text, ", created by T{parent} at {place}");
    }
    text
}

fn ending(facts: &Facts) -> String {
    let after = facts.duration_ms.map_or(String::new(), |time| format!(" after {}", duration(time)));
    let how = match (facts.exit_status, facts.signal) {
        (_, Some(signal)) => format!("killed by signal {signal}"),
        (Some(status), None) => format!("with exit status {status}"),
        (None, None) if facts.complete => "normally".to_owned(),
        (None, None) => "it was killed, became another program (exec), or still runs".to_owned(),
    };
    let stopped = facts.stopped.as_ref().map_or(String::new(), |why| format!("; the recording before that: {why}"));
    format!("{how}{after}{stopped}")
}

fn sizes(facts: &Facts) -> String {
    let in_memory = facts.events.saturating_mul(size_of::<crate::event::Event>() as u64);
    let mut text = size(facts.bytes_on_disk);
    if in_memory > 0 {
        let percent = ratio(facts.bytes_on_disk, in_memory) * 100.0;
        let _ = write!(text, ", {percent:.1}% of what it is in memory");
    }
    if let Some(bytes) = facts.content.as_ref().and_then(|content| content.bytes_per_access) {
        let _ = write!(text, ", {bytes:.2} bytes per access");
    }
    text
}

/// `2026-01-31 12:00:00 UTC`.
fn date(milliseconds: u64) -> String {
    let seconds = (milliseconds / 1000) as libc::time_t;
    // SAFETY: zero bytes are a valid `tm`, and the call writes one to valid memory.
    let time = unsafe {
        let mut time: libc::tm = std::mem::zeroed();
        libc::gmtime_r(&raw const seconds, &raw mut time);
        time
    };
    let (year, month, day) = (i64::from(time.tm_year) + 1900, time.tm_mon + 1, time.tm_mday);
    format!("{year}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC", time.tm_hour, time.tm_min, time.tm_sec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_universal_time() {
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(1_709_210_096_789), "2024-02-29 12:34:56 UTC");
    }
}
