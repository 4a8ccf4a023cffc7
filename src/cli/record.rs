//! `avmon record`: runs a program under the monitor and keeps what it does.

use super::exit::{ExitCode, Failure};
use super::figures::{counted, grouped, size};
use super::launch::{Launch, OptionFlags};
use super::own_directory::{Kind, cannot};
use super::recording::{self, DIRECTORY};
use super::{parent, tell};
use crate::event;
use crate::trace::exclude::Exclusions;
use crate::trace::meta::Status;
use crate::trace::reader::Trace;
use crate::trace::thin::Dropped;
use clap::Args;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{self, Path, PathBuf};
use std::process::ExitStatus;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  avmon record -- ./server --port 8080
  avmon record -o /tmp/server -- ./server        write the trace to the directory /tmp/server
  avmon record --max-size 1000 --ring -- ./server        keep the last 1000 MiB
  avmon record -x module:libcrypto -x 'function:^log_' -- ./server
  avmon info                                     what was recorded

Accesses are seen in code built with 'avmon cc' or 'avmon c++'.
A trace that is there already is moved to DIR.old, and an older one there is deleted.
Command line and environment are recorded: only you can read the directory.";

/// Run a program under the monitor and record what it does
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, override_usage = "avmon record [OPTIONS] [--] PROGRAM [ARGUMENT]...")]
pub struct Record {
    /// Directory of the trace
    #[arg(short = 'o', long = "output", value_name = "DIR", default_value = DIRECTORY)]
    output: PathBuf,

    /// Record everything: own stacks and repetitions too
    #[arg(long)]
    all: bool,

    /// Record what plain accesses read and write too, and everything. For debugging; slow
    #[arg(long)]
    values: bool,

    /// Do not record accesses of this code; the type is module, file or function
    #[arg(short = 'x', long, value_name = "TYPE:TEMPLATE", value_parser = exclusion, conflicts_with_all = ["all", "values"])]
    exclude: Vec<String>,

    /// Stop recording when a process has written that much, in MiB
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..))]
    max_size: Option<u32>,

    /// At that size, give up the oldest part of the trace instead of stopping
    #[arg(long, requires = "max_size")]
    ring: bool,

    #[command(flatten)]
    flags: OptionFlags<true>,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

fn exclusion(text: &str) -> Result<String, String> {
    match Exclusions::parse("rule", text) {
        Ok(_) if !text.contains('\n') => Ok(text.to_owned()),
        Ok(_) => Err("one rule has one line; give -x several times".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

impl Record {
    pub fn execute(mut self) -> Result<ExitCode, Failure> {
        // Without a slash at the end, which would be in the way of the old recording's name.
        self.output = self.output.components().collect();
        let output = self.output.to_string_lossy();
        let size = self.max_size.map(|size| size.to_string());
        let mut own = vec![("trace_path", &*output)];
        let switches = [("trace_all", self.all), ("trace_values", self.values), ("trace_ring", self.ring)];
        own.extend(switches.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| (name, "1")));
        own.extend(size.as_deref().map(|size| ("trace_size_mb", size)));
        let mut launch = Launch::prepare(&self.program, self.flags.settings().chain(own))?;
        RECORDING.make(&self.output)?;
        if !self.exclude.is_empty() {
            let file = self.output.join("exclude.txt");
            let written = fs::write(&file, self.exclude.join("\n") + "\n").and_then(|()| path::absolute(&file));
            let file = written.map_err(|error| cannot("write", &file, &error))?;
            launch.set("trace_exclude", &file.to_string_lossy())?;
        }
        let begin = Instant::now();
        let mut child = parent::spawn(&mut launch.command()).map_err(|error| launch.failure(&error))?;
        let status = parent::wait(&mut child)
            .map_err(|error| Failure::internal(format!("cannot wait for the program: {error}")))?;
        let processes = recording::processes(&self.output);
        let own = processes.iter().rfind(|path| is_of(path, child.id()));
        if let Some(directory) = own {
            let told = told(status, begin.elapsed().as_millis() as u64);
            if let Err(error) = told.write(directory) {
                tell("warning", &cannot("write to", directory, &error).text);
            }
        }
        self.tell_result(&processes, own);
        parent::end_like(status)
    }

    fn tell_result(&self, processes: &[PathBuf], own: Option<&PathBuf>) {
        let output = self.output.display();
        let mut traces = Vec::new();
        for path in processes {
            match Trace::open(path) {
                Ok(trace) => traces.push(trace),
                Err(error) => tell("warning", &error.to_string()),
            }
        }
        if traces.is_empty() {
            if processes.is_empty() {
                tell("warning", "nothing was recorded, since the program created no thread");
            }
            return;
        }
        let (mut threads, mut events, mut bytes, mut dropped) = (0_u64, 0, 0, Dropped::default());
        for stream in traces.iter().flat_map(Trace::threads) {
            threads += 1;
            events += stream.counts.events + stream.unwritten_events;
            bytes += stream.counts.bytes;
            dropped += stream.counts.dropped;
        }
        let (processes, threads) = (counted_processes(traces.len()), counted(threads, "thread"));
        let (events, bytes) = (counted(events, "event"), size(bytes));
        say(&format!("the trace is {output}: {processes}, {threads}, {events} in {bytes}{}", left_out(dropped)));
        for trace in &traces {
            for warning in warnings(trace) {
                tell("warning", &warning);
            }
        }
        let next = if traces.len() == 1 { &self.output } else { own.unwrap_or(&self.output) };
        say(&format!("'avmon info {}' tells more", next.display()));
    }
}

fn say(text: &str) {
    // The program's status is what counts, also when nobody reads this.
    let _ = writeln!(io::stderr(), "avmon: {text}");
}

fn counted_processes(count: usize) -> String {
    if count == 1 { "1 process".to_owned() } else { format!("{count} processes") }
}

/// What the rules left out, for the end of a sentence.
fn left_out(dropped: Dropped) -> String {
    let Dropped { stack, repetition, excluded } = dropped;
    let parts = [(stack, "own stack"), (repetition, "repetitions"), (excluded, "excluded")];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", grouped(*count)))
        .collect();
    if parts.is_empty() { String::new() } else { format!("; left out: {}", parts.join(", ")) }
}

/// What the user should know at once about the trace of a process.
fn warnings(trace: &Trace) -> Vec<String> {
    let mut warnings: Vec<String> = trace.problems().iter().map(ToString::to_string).collect();
    if let Some(end) = trace.end() {
        warnings.extend(end.stopped.clone());
        if end.totals.lost > 0 {
            warnings.push(format!("{} lost; without --lossy none are", counted(end.totals.lost, "event")));
        }
    }
    if !has_accesses(trace) {
        warnings.push(format!(
            "{} is not instrumented, so only its synchronisation was recorded; build it with 'avmon cc' or 'avmon c++'",
            trace.meta().program
        ));
    }
    warnings
}

/// Whether a plain access is near the beginning of a stream.
fn has_accesses(trace: &Trace) -> bool {
    const MOST_THREADS: usize = 16;
    const MOST_CHUNKS: usize = 4;
    let mut events = Vec::new();
    trace.threads().iter().take(MOST_THREADS).filter_map(|stream| trace.stream(stream.thread)).any(|mut stream| {
        (0..MOST_CHUNKS).any(|_| {
            stream.next_chunk(&mut events).is_some()
                && events.iter().any(|event| matches!(event.kind(), Some(event::Kind::Read | event::Kind::Write)))
        })
    })
}

/// Whether a trace is of this process; a process that replaced its program has several.
fn is_of(path: &Path, pid: u32) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next() == Some(&pid.to_string())
}

fn told(status: ExitStatus, duration_ms: u64) -> Status {
    Status { exit_status: status.code(), signal: status.signal(), core_dumped: status.core_dumped(), duration_ms }
}

/// Tells that a directory was made by this command, and may be moved or replaced by it.
const RECORDING: Kind = Kind {
    mark: "avmon-recording",
    text: "A recording made by 'avmon record'; 'avmon info' tells about it. A new one may replace it.\n",
    what: "a recording",
};
