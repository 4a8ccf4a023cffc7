//! What the commands that read traces share.

use super::exit::Failure;
use super::progress::Progress;
use super::tell;
use crate::event::{Event, ThreadId};
use crate::options::Options;
use crate::report::modules::ModuleMap;
use crate::report::symbols::Symbols;
use crate::trace::meta;
use crate::trace::reader::{Merged, Problem, Trace};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Where `avmon record` writes, and the other commands read, if nothing else is said.
pub const DIRECTORY: &str = "avmon.data";

/// Opens the trace of a process.
pub fn open(path: &Path) -> Result<Trace, Failure> {
    Trace::open(path).map_err(|error| Failure::internal(error.to_string()))
}

/// The traces in a directory of `avmon record`, one for each process, oldest process id first.
pub fn processes(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.join(meta::META).is_file()).collect();
    found.sort_by_key(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (pid, time) = name.split_once('.').unwrap_or((&name, "0"));
        (pid.parse().unwrap_or(u64::MAX), time.parse().unwrap_or(u64::MAX))
    });
    found
}

/// Names for the addresses of a trace. Where two modules lay at one address in turn, the later one is named.
pub fn symbols(trace: &Trace, symbolize: bool) -> Symbols {
    let mut map = ModuleMap::parse("");
    for snapshot in trace.modules() {
        map.replace(&snapshot.maps);
    }
    let (options, _) = Options::parse(&trace.meta().options);
    Symbols::with_modules(&Options { symbolize, ..options }, map)
}

/// Goes through all events in merged order.
pub fn read(
    trace: &Trace,
    mut progress: Progress,
    mut sink: impl FnMut(ThreadId, &Event) -> ControlFlow<()>,
) -> Merged {
    let events = Cell::new(0);
    let mut counting = |thread, event: &Event| {
        events.set(events.get() + 1);
        sink(thread, event)
    };
    trace.merged(&mut counting, &mut |bytes, all_bytes| progress.update(events.get(), bytes, all_bytes))
}

/// Says on stderr what is missing from a trace.
pub fn warn<'a>(problems: impl IntoIterator<Item = &'a Problem>) {
    for problem in problems {
        tell("warning", &problem.to_string());
    }
}

/// What the 16 bytes of a `Name` event spell.
pub fn spelt(event: &Event) -> String {
    let bytes = [event.object.to_le_bytes(), event.pc.to_le_bytes()].concat();
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
