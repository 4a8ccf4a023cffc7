//! `avmon dump`: the events of a trace as text.

pub mod filter;
mod line;

use super::exit::{ExitCode, Failure};
use super::names::Names;
use super::progress::Progress;
use super::recording::{self, DIRECTORY};
use crate::event::{Event, ThreadId};
use crate::trace::reader::Trace;
use clap::Args;
use filter::Filter;
use std::io::{self, BufWriter, IsTerminal as _};
use std::ops::ControlFlow;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  avmon dump | less
  avmon dump --thread 1 --kind acquire,release TRACE
  avmon dump --object counter TRACE            what touches a global variable or a lock
  avmon dump --address 0x7f0010..0x7f0020 TRACE
  avmon dump --function '^append$' --events 1000..2000 TRACE
  avmon dump --per-thread --thread 1 --events 5000.. TRACE

A line is: number of the event, thread, kind, what it is about, details, code location.
A pattern is a part of a name; * stands for anything, ^ for its begin and $ for its end.";

/// Print the events of a trace, one per line
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Dump {
    /// The trace: what 'avmon record' wrote, or one process of it
    #[arg(value_name = "TRACE", default_value = DIRECTORY)]
    trace: PathBuf,

    #[command(flatten)]
    filter: Filter,

    /// One thread after the other, each in its program order and with its own numbers
    #[arg(long)]
    per_thread: bool,

    /// Print addresses as they are
    #[arg(long)]
    no_symbols: bool,
}

impl Dump {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let trace = recording::open(&self.trace)?;
        recording::warn(trace.problems());
        let symbolize = !self.no_symbols;
        let stdout = io::stdout();
        let printer = Printer {
            names: Names::new(recording::symbols(&trace, symbolize), symbolize),
            progress: Progress::beside_output(stdout.is_terminal()),
            filter: self.filter,
            out: BufWriter::with_capacity(1 << 16, stdout.lock()),
            result: Ok(()),
        };
        super::written(if self.per_thread { printer.threads(&trace) } else { printer.merged(&trace) })
    }
}

struct Printer<W: io::Write> {
    names: Names,
    progress: Progress,
    filter: Filter,
    out: W,
    result: io::Result<()>,
}

impl<W: io::Write> Printer<W> {
    /// Prints an event if it is wanted. Breaks when no later one can be, or nobody reads on.
    fn step(&mut self, number: u64, thread: ThreadId, event: &Event) -> ControlFlow<()> {
        if self.filter.is_behind(number) {
            return ControlFlow::Break(());
        }
        if self.filter.wants(number, thread, event, &mut self.names) {
            self.result = line::write(&mut self.out, number, thread, event, &mut self.names);
        }
        if self.result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn merged(mut self, trace: &Trace) -> io::Result<()> {
        let progress = std::mem::replace(&mut self.progress, Progress::beside_output(true));
        let mut number = 0;
        let merged = recording::read(trace, progress, |thread, event| {
            number += 1;
            self.step(number - 1, thread, event)
        });
        self.result?;
        self.out.flush()?;
        recording::warn(&merged.problems);
        Ok(())
    }

    fn threads(mut self, trace: &Trace) -> io::Result<()> {
        let all_bytes = trace.threads().iter().map(|stream| stream.counts.bytes).sum();
        let (mut bytes, mut count) = (0, 0);
        let mut events = Vec::new();
        for listed in trace.threads() {
            if let Some(mut stream) = trace.stream(listed.thread).filter(|_| self.filter.wants_thread(listed.thread)) {
                stream.seek(self.filter.first_event());
                'thread: while let Some(chunk) = stream.next_chunk(&mut events) {
                    count += events.len() as u64;
                    self.progress.update(count, bytes, all_bytes);
                    for (number, event) in (chunk.before..).zip(&events) {
                        if self.step(number, listed.thread, event).is_break() {
                            break 'thread;
                        }
                    }
                }
                std::mem::replace(&mut self.result, Ok(()))?;
                self.out.flush()?;
                recording::warn(stream.problems());
            }
            bytes += listed.counts.bytes;
        }
        Ok(())
    }
}
