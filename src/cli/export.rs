//! `avmon export`: a trace for other tools.

use super::exit::{ExitCode, Failure};
use super::names::Names;
use super::progress::Progress;
use super::recording::{self, DIRECTORY};
use crate::event::{Kind, Mode};
use crate::export::chrome::{Span, Timeline, Track};
use crate::export::std::{self as std_format, Survey, Translator};
use crate::trace::reader::Trace;
use clap::{Args, ValueEnum};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  avmon export --format std -o run.std          lines of THREAD|OP|LOC, for predictive trace tools
  avmon export --format std --names run.names -o run.std TRACE
  avmon export --format chrome -o run.json      a timeline: open it in ui.perfetto.dev or chrome://tracing
  avmon export --format chrome --functions -o run.json TRACE

How a trace is said in 'std' is in docs/traces.md.";

/// Write a trace in the format of other tools
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Export {
    /// The trace: what 'avmon record' wrote, or one process of it
    #[arg(value_name = "TRACE", default_value = DIRECTORY)]
    trace: PathBuf,

    /// The format
    #[arg(long, value_enum)]
    format: Format,

    /// Write to this file instead of stdout
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Function calls too: as blocks, or as spans
    #[arg(long)]
    functions: bool,

    /// Of std: also write what the names of threads, variables, locks and locations stand for
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Format {
    Std,
    Chrome,
}

impl Export {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        if self.names.is_some() && self.format != Format::Std {
            return Err(Failure::new(ExitCode::Usage, "--names goes with --format std; others have names in them"));
        }
        let trace = recording::open(&self.trace)?;
        recording::warn(trace.problems());
        match &self.output {
            None => super::written(self.write(&trace, io::stdout().lock(), io::stdout().is_terminal())),
            Some(path) => {
                let result = File::create(path).and_then(|file| self.write(&trace, file, false));
                result.map_err(|error| cannot_write(path, &error))?;
                Ok(ExitCode::Success)
            }
        }
    }

    fn write(&self, trace: &Trace, out: impl Write, is_terminal: bool) -> io::Result<()> {
        let progress = Progress::beside_output(is_terminal);
        let names = Names::new(recording::symbols(trace, true), true);
        let out = BufWriter::with_capacity(1 << 16, out);
        match self.format {
            Format::Std => self.write_std(trace, out, progress, names),
            Format::Chrome => self.write_chrome(trace, out, progress, names),
        }
    }

    fn write_std(&self, trace: &Trace, out: impl Write, progress: Progress, mut names: Names) -> io::Result<()> {
        let mut survey = Survey::default();
        recording::read(trace, Progress::new(), |thread, event| {
            survey.step(thread, event);
            ControlFlow::Continue(())
        });
        let mut translator = Translator::new(survey, self.functions, out);
        let mut result = Ok(());
        let merged = recording::read(trace, progress, |thread, event| {
            result = translator.step(thread, event);
            if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        result?;
        let (_, given) = translator.finish()?;
        recording::warn(&merged.problems);
        let Some(path) = &self.names else { return Ok(()) };
        let written = File::create(path).and_then(|file| write_names(BufWriter::new(file), &given, &mut names));
        written.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    }

    fn write_chrome(&self, trace: &Trace, out: impl Write, mut progress: Progress, mut names: Names) -> io::Result<()> {
        let meta = trace.meta();
        let mut timeline = Timeline::new(out, meta.pid, &meta.program)?;
        for listed in trace.threads() {
            timeline.name_thread(listed.thread, &format!("T{}", listed.thread))?;
        }
        let all_bytes = trace.threads().iter().map(|listed| listed.counts.bytes).sum();
        let (mut bytes, mut count) = (0, 0);
        let mut given = Vec::new();
        let mut events = Vec::new();
        for listed in trace.threads() {
            let Some(mut stream) = trace.stream(listed.thread) else { continue };
            let mut name = |span| span_name(span, &mut names);
            let mut track = Track::new(&mut timeline, listed.thread, self.functions, &mut name);
            while stream.next_chunk(&mut events).is_some() {
                count += events.len() as u64;
                progress.update(count, bytes, all_bytes);
                for event in &events {
                    track.step(event)?;
                    if event.kind() == Some(Kind::Name) {
                        given.push((event.number() as u32, event.text()));
                    }
                }
            }
            track.finish()?;
            recording::warn(stream.problems());
            bytes += listed.counts.bytes;
        }
        // A thread may be named by another one.
        for (thread, name) in given {
            timeline.name_thread(thread, &format!("T{thread} {name}"))?;
        }
        timeline.finish()?;
        Ok(())
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::internal(format!("cannot write {}: {error}", path.display()))
}

fn span_name(span: Span, names: &mut Names) -> String {
    match span {
        Span::Function { inside, .. } => names.function(inside).to_string(),
        Span::Block { label: 0 } => "block".to_owned(),
        Span::Block { label } => names.label(label).to_string(),
        Span::Section { lock, mode: Mode::Exclusive } => names.object(lock).to_string(),
        Span::Section { lock, mode: Mode::Shared } => format!("{} (shared)", names.object(lock)),
        Span::Wait => "wait".to_owned(),
    }
}

/// A line for each name: the name, a tab, what it stands for.
fn write_names(mut out: impl Write, given: &std_format::Names, names: &mut Names) -> io::Result<()> {
    let first = u64::from(given.first_auxiliary_thread);
    for auxiliary in first..first + u64::from(given.auxiliary_threads) {
        writeln!(out, "T{auxiliary}\torder only")?;
    }
    for (number, address) in given.variables.iter().enumerate() {
        writeln!(out, "V{number}\t{}", names.object(*address))?;
    }
    for (number, (address, reader)) in given.locks.iter().enumerate() {
        let reader = reader.map_or(String::new(), |thread| format!(" as taken by reader T{thread}"));
        writeln!(out, "L{number}\t{}{reader}", names.object(*address))?;
    }
    for (number, pc) in given.locations.iter().enumerate() {
        writeln!(out, "{number}\t{}", names.place(*pc))?;
    }
    out.flush()
}
