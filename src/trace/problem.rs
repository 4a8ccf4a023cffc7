//! What can be missing of a recording, in words.

use std::fmt;
use std::path::PathBuf;

use super::format::VERSION;
use super::meta::Unreadable;
use crate::event::ThreadId;

/// Something is missing or damaged; the text says what exactly. The rest was read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Problem {
    /// A whole file tells nothing.
    File {
        name: &'static str,
        why: Unreadable,
        consequence: &'static str,
    },
    /// There is no `end.json`.
    NoEnd,
    /// Lines of `modules.jsonl`, the first of them counted from 1.
    Modules {
        first: u64,
        damaged: u64,
    },
    /// Entries of the index.
    Index {
        damaged: u64,
    },
    /// The journal makes no sense from byte `at` on.
    Order {
        at: u64,
        size: u64,
    },
    /// The journal ends before the events do.
    OrderEnds,
    /// The journal tells of events of this thread that are not there.
    OrderDisagrees {
        thread: ThreadId,
    },
    /// Repeating the journal would take more memory than the live run can have taken.
    OrderHoldsBack {
        events: u64,
    },
    /// The index knows a stream that is not there.
    NoStream {
        thread: ThreadId,
        chunks: u64,
        events: u64,
    },
    StreamHeader {
        file: ThreadId,
    },
    /// A stream under the name of another thread.
    Misnamed {
        file: ThreadId,
        thread: ThreadId,
    },
    /// A second stream of a thread, or one of another recording.
    Foreign {
        file: ThreadId,
    },
    /// Chunks of a thread: the first and the last of them and their events, as far as that is known; between which bytes of the
    /// stream they should be.
    Missing {
        thread: ThreadId,
        chunks: Option<(u32, u32)>,
        events: Option<u64>,
        bytes: Option<(u64, u64)>,
    },
    /// Bytes between two chunks that belong together.
    Rubbish {
        thread: ThreadId,
        bytes: (u64, u64),
    },
    /// Slots of the shared mapping that claim what cannot be.
    Slot {
        index: u64,
    },
    /// A slot that says otherwise than the stream, or than another slot.
    SlotContradicts {
        index: u64,
        thread: ThreadId,
        serial: u32,
    },
    /// Events of a slot that never reached the disk.
    SlotTorn {
        thread: ThreadId,
        serial: u32,
        events: u32,
    },
    /// What `end.json` says was written is not all there.
    Fewer {
        missing: u64,
        written: u64,
    },
}

/// "1 event", "2 events".
struct Number<'a>(u64, &'a str);

impl fmt::Display for Number<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Number(number, thing) = self;
        write!(f, "{number} {thing}{}", if *number == 1 { "" } else { "s" })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::File { name, why, consequence } => write!(f, "{name} {why}: {consequence}"),
            Problem::NoEnd => f.write_str("end.json is missing: the program was killed, became another one (exec), or still runs"),
            Problem::Modules { first, damaged } => write!(
                f,
                "modules.jsonl: {} damaged, the first is line {first}: code that was loaded then may have no names",
                if *damaged == 1 { "1 line is".to_owned() } else { format!("{damaged} lines are") }
            ),
            Problem::Index { damaged } => {
                let entries = if *damaged == 1 { "1 entry is".to_owned() } else { format!("{damaged} entries are") };
                write!(f, "index: {entries} damaged; the streams were searched instead")
            }
            Problem::Order { at, size } => write!(
                f,
                "order is damaged from byte {at} of {size} on: the events after that are in a legal order, but maybe not in that of the \
                 live analysis"
            ),
            Problem::OrderEnds => f.write_str(
                "order ends before the events do: the rest is in a legal order, but maybe not in that of the live analysis",
            ),
            Problem::OrderDisagrees { thread } => write!(
                f,
                "order tells of events of thread {thread} that are not there: what follows is in a legal order, but maybe not in that of \
                 the live analysis"
            ),
            Problem::OrderHoldsBack { events } => write!(
                f,
                "order holds back more than {events} events: what follows is in a legal order, but maybe not in that of the live analysis"
            ),
            Problem::NoStream { thread, chunks, events } => write!(
                f,
                "thread {thread}: streams/{thread} is missing, with {} and {}",
                Number(*chunks, "chunk"),
                Number(*events, "event")
            ),
            Problem::StreamHeader { file } => {
                write!(f, "streams/{file}: its header is damaged; its chunks were read all the same")
            }
            Problem::Misnamed { file, thread } => {
                write!(f, "streams/{file} is the stream of thread {thread}, and was read as such")
            }
            Problem::Foreign { file } => {
                write!(f, "streams/{file} does not belong here: it is of another recording, or a second one of its thread")
            }
            Problem::Missing { thread, chunks, events, bytes } => {
                write!(f, "thread {thread}: ")?;
                match chunks {
                    Some((first, last)) if first == last => write!(f, "chunk {first}")?,
                    Some((first, last)) => write!(f, "chunks {first} to {last}")?,
                    None => f.write_str("some of its events")?,
                }
                if let Some(events) = events {
                    write!(f, " ({})", Number(*events, "event"))?;
                }
                f.write_str(if matches!(chunks, Some((first, last)) if first == last) { " is missing" } else { " are missing" })?;
                match bytes {
                    Some((from, u64::MAX)) => write!(f, ": its stream is cut off or damaged from byte {from} on"),
                    Some((from, to)) if from < to => write!(f, ": its stream is damaged from byte {from} to byte {to}"),
                    Some((at, _)) => write!(f, ": its stream has lost them at byte {at}"),
                    None => f.write_str(": they were published, but neither a stream nor a slot has them"),
                }
            }
            Problem::Rubbish { thread, bytes: (from, to) } => {
                write!(f, "thread {thread}: its stream has no chunk from byte {from} to byte {to}; nothing is missing there")
            }
            Problem::Slot { index } => {
                write!(f, "chunks: slot {index} is damaged; the events that were published in it are missing")
            }
            Problem::SlotContradicts { index, thread, serial } => write!(
                f,
                "chunks: slot {index} has fewer events of chunk {serial} of thread {thread} than are known from elsewhere, and was ignored"
            ),
            Problem::SlotTorn { thread, serial, events } => write!(
                f,
                "thread {thread}: the last {} of chunk {serial} are missing: they were published but did not reach the disk",
                Number(u64::from(*events), "event")
            ),
            Problem::Fewer { missing, written } => {
                write!(f, "{missing} of the {} that end.json tells of are missing", Number(*written, "event"))
            }
        }
    }
}

/// Why nothing can be read; the text says what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OpenError {
    NotThere(PathBuf),
    /// There is such a place, but no recording in it.
    NoTrace(PathBuf),
    /// Several processes: their directories and programs.
    Several(PathBuf, Vec<(PathBuf, String)>),
    /// The version of its format.
    Newer(PathBuf, u32),
    Failed(PathBuf, String),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::NotThere(path) => {
                write!(f, "{}: no such directory; 'avmon record -- PROGRAM' makes one", path.display())
            }
            OpenError::NoTrace(path) => write!(
                f,
                "{}: no recording (neither meta.json nor events); name the directory that 'avmon record' wrote, or one of a \
                 process in it",
                path.display()
            ),
            OpenError::Several(path, processes) => {
                write!(f, "{}: several processes were recorded; name one of them:", path.display())?;
                for (directory, program) in processes {
                    write!(f, "\n  {}  {program}", directory.display())?;
                }
                Ok(())
            }
            OpenError::Newer(path, version) => write!(
                f,
                "{}: recorded by a newer avmon (format {version}, this one reads {VERSION}); read it with that one",
                path.display()
            ),
            OpenError::Failed(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for OpenError {}
