//! What the commands that read traces share.

use super::exit::{ExitCode, Failure};
use super::progress::Progress;
use super::{launch, tell};
use crate::event::{Event, ThreadId};
use crate::monitor::Modules;
use crate::options::Options;
use crate::report::image;
use crate::report::json::{Start, VERSION};
use crate::report::modules::ModuleMap;
use crate::report::reporter::{Reporter, Totals};
use crate::report::sink::{LogFile, Sinks, wants_color};
use crate::report::symbols::Symbols;
use crate::trace::meta::{Meta, ModuleSnapshot};
use crate::trace::reader::{self, Merged, Problem, Trace};
use crate::trace::{meta, slots, writer};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::iter::Peekable;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where `avmon record` writes, and the other commands read, if nothing else is said.
pub const DIRECTORY: &str = "avmon.data";

/// Opens the trace of a process.
pub fn open(path: &Path) -> Result<Trace, Failure> {
    Trace::open(path).map_err(|error| Failure::internal(error.to_string()))
}

/// The traces in a directory of `avmon record`, one for each process, oldest process id first.
pub fn processes(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| is_trace(path)).collect();
    found.sort_by_key(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (pid, time) = name.split_once('.').unwrap_or((&name, "0"));
        (pid.parse().unwrap_or(u64::MAX), time.parse().unwrap_or(u64::MAX))
    });
    found
}

/// Does the work of a command for each process of a recording, or for the one whose trace this is. Where there are several, `with_names` says which one
/// is next. Findings in any of them are findings.
pub fn each_process(
    path: &Path,
    with_names: bool,
    work: impl Fn(&Path) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    let several = processes(path);
    if several.len() < 2 {
        return work(path);
    }
    let mut worst = ExitCode::Success;
    for process in &several {
        if with_names {
            super::print(format!("{}:\n", process.display()).as_bytes())?;
        }
        let code = work(process)?;
        if code != ExitCode::Success {
            worst = code;
        }
    }
    Ok(worst)
}

/// A program that was killed at once may have left any of these.
fn is_trace(path: &Path) -> bool {
    [meta::META, slots::SLOTS, writer::STREAMS].iter().any(|name| path.join(name).exists())
}

/// Names for the addresses of a trace, by the options of the recorded run. Where two modules lay at one address in turn, the later one is named.
pub fn symbols(trace: &Trace, symbolize: bool) -> Symbols {
    let (options, _) = Options::parse(&trace.meta().options);
    symbols_by(trace, &Options { symbolize, ..options })
}

/// The same, by the options of a command.
pub fn symbols_by(trace: &Trace, options: &Options) -> Symbols {
    let mut symbols = unplaced_symbols(trace, options);
    for snapshot in trace.modules() {
        symbols.replace_modules(&snapshot.maps);
    }
    symbols
}

/// Names from the files that were recorded, before anybody says where they lay in memory. Says which have changed since.
pub fn unplaced_symbols(trace: &Trace, options: &Options) -> Symbols {
    let mut symbols = Symbols::new(options, ModuleMap::default());
    let recorded: BTreeMap<String, String> = trace.modules().flat_map(|snapshot| snapshot.build_ids).collect();
    for (path, id) in recorded {
        if image::build_id(Path::new(&path)).as_ref() != Some(&id) {
            tell("warning", &format!("{path} is not what it was when it was recorded; its code has no names here"));
        }
        symbols.expect(&path, &id);
    }
    symbols
}

/// Goes through all events in merged order.
pub fn read(trace: &Trace, progress: Progress, sink: impl FnMut(ThreadId, &Event) -> ControlFlow<()>) -> Merged {
    with_progress(progress, sink, |sink, progress| trace.merged(sink, progress))
}

/// Goes through the events that the monitor saw, in the order in which it saw them.
pub fn read_monitored(
    trace: &Trace,
    progress: Progress,
    sink: impl FnMut(ThreadId, &Event) -> ControlFlow<()>,
) -> Merged {
    with_progress(progress, sink, |sink, progress| trace.monitored(sink, progress))
}

fn with_progress(
    mut progress: Progress,
    mut sink: impl FnMut(ThreadId, &Event) -> ControlFlow<()>,
    read: impl FnOnce(reader::Sink, reader::Progress) -> Merged,
) -> Merged {
    let events = Cell::new(0);
    let mut counting = |thread, event: &Event| {
        events.set(events.get() + 1);
        sink(thread, event)
    };
    read(&mut counting, &mut |bytes, all_bytes| progress.update(events.get(), bytes, all_bytes))
}

/// Says on stderr what is missing from a trace.
pub fn warn<'a>(problems: impl IntoIterator<Item = &'a Problem>) {
    for problem in problems {
        tell("warning", &problem.to_string());
    }
}

/// The options of a recorded run, then those of this command's environment and flags.
pub fn options<'a>(meta: &Meta, settings: impl Iterator<Item = (&'static str, &'a str)>) -> Result<Options, Failure> {
    let items = vec![meta.options.clone(), launch::inherited_options()];
    launch::options_after(items, settings).map(|(_, options)| options)
}

/// How a command ends that found something or not. What the program's exit code was to be is no matter of its own.
pub fn exit_code<'a>(
    found: bool,
    settings: impl Iterator<Item = (&'static str, &'a str)>,
) -> Result<ExitCode, Failure> {
    let (_, own) = launch::options_after(vec![launch::inherited_options()], settings)?;
    Ok(if found { ExitCode(own.exitcode) } else { ExitCode::Success })
}

/// A reporter for what is found in a trace. Its symbols are to be unplaced: it gets each memory map when the live monitor had it.
pub fn reporter(
    trace: &Trace,
    options: &Options,
    symbols: Symbols,
    output: Box<dyn io::Write + Send>,
    log: Option<PathBuf>,
) -> Result<Reporter, Failure> {
    let meta = trace.meta();
    let start = Start {
        version: VERSION,
        pid: meta.pid,
        program: meta.program.clone(),
        arguments: meta.arguments.clone(),
        options: meta.options.clone(),
        time_ms: meta.start_time_ms,
    };
    let sinks = Sinks {
        stderr: output,
        color: wants_color(options.color, io::stdout().is_terminal(), std::env::var_os("NO_COLOR")),
        log: log.map(LogFile::at),
    };
    let reporter = Reporter::new(options, sinks, start, symbols);
    reporter.map_err(|error| Failure::internal(error.to_string()))
}

/// What the recording itself counted.
pub fn totals(trace: &Trace, merged: &Merged) -> Totals {
    let (meta::Totals { lost, unseen, .. }, duration_ms) =
        trace.end().map(|end| (end.totals, end.duration_ms)).unwrap_or_default();
    let duration = Duration::from_millis(duration_ms);
    Totals { lost, unseen, order_gaps: merged.order_gaps, duration, ..Totals::default() }
}

/// The memory maps of a recorded process, handed over when the live monitor had them.
pub struct RecordedModules(Peekable<Box<dyn Iterator<Item = ModuleSnapshot>>>);

impl RecordedModules {
    pub fn of(trace: &Trace) -> RecordedModules {
        let all: Box<dyn Iterator<Item = ModuleSnapshot>> = Box::new(trace.modules());
        RecordedModules(all.peekable())
    }
}

impl Modules for RecordedModules {
    fn news(&mut self, events: u64, take: &mut dyn FnMut(&str)) {
        while let Some(snapshot) = self.0.next_if(|snapshot| snapshot.after_events <= events) {
            take(&snapshot.maps);
        }
    }
}
