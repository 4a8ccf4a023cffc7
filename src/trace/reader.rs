//! Reads a recording, whatever happened to it: what is damaged or missing is told, the rest is read.
//!
//! Nothing here holds more of the recording in memory than it hands out next, and no size that a file claims is believed
//! before it was compared with the file.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::meta::{Counts, End, Meta, ModuleSnapshot, Snapshots, Status};
use super::order::JournalReader;
pub use super::problem::{OpenError, Problem};
use super::stream::Known;
pub use super::stream::{ChunkInfo, Stream};
use super::{merged, open};
use crate::event::{Event, ThreadId};

/// What is there of one thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadStream {
    pub thread: ThreadId,
    /// In its stream file, which has `bytes`.
    pub counts: Counts,
    /// Chunks and events that only the shared mapping has.
    pub unwritten_chunks: u64,
    pub unwritten_events: u64,
}

/// How reading in merged order went.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Merged {
    /// Events that were handed out.
    pub events: u64,
    /// Where numbers were missing: see [`crate::order::Merger::skip_gap`].
    pub order_gaps: u64,
    /// What was found missing on the way, beyond [`Trace::problems`].
    pub problems: Vec<Problem>,
}

/// Takes the events; breaks off the reading if it likes.
pub type Sink<'a> = &'a mut dyn FnMut(ThreadId, &Event) -> ControlFlow<()>;
/// Is told now and then: bytes of streams that were read, bytes of streams in all.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// A recording of one process.
#[derive(Debug)]
pub struct Trace {
    pub(super) directory: PathBuf,
    pub(super) meta: Meta,
    pub(super) end: Option<End>,
    pub(super) status: Option<Status>,
    pub(super) problems: Vec<Problem>,
    pub(super) threads: Vec<ThreadStream>,
    /// In the order of `threads`.
    pub(super) known: Vec<Known>,
}

impl Trace {
    /// Opens the recording of a process: its directory, or the one above if it is the only one there.
    pub fn open(path: &Path) -> Result<Trace, OpenError> {
        open::open(&open::process_directory(path)?)
    }

    /// Where it is: the directory of the process.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// How it began. All but the trace id is empty if that is not known.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// How it ended, if the program was not killed.
    #[must_use]
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// How it ended, as the parent saw it.
    #[must_use]
    pub fn status(&self) -> Option<&Status> {
        self.status.as_ref()
    }

    /// What is known to be missing. More may turn up while reading.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The threads, by id.
    #[must_use]
    pub fn threads(&self) -> &[ThreadStream] {
        &self.threads
    }

    /// The module maps that can be read, in the order in which they were taken.
    pub fn modules(&self) -> impl Iterator<Item = ModuleSnapshot> + use<> {
        Snapshots::open(&self.directory).ok().into_iter().flatten().flatten()
    }

    /// The events of one thread.
    #[must_use]
    pub fn stream(&self, thread: ThreadId) -> Option<Stream<'_>> {
        let place = self.known.binary_search_by_key(&thread, |known| known.thread).ok()?;
        Some(Stream::new(&self.directory, self.meta.trace_id, &self.known[place], true, Rc::default()))
    }

    /// Hands out all events in one legal order: that of the live analysis, with every thread's other events in between.
    pub fn merged(&self, sink: Sink, progress: Progress) -> Merged {
        merged::replay(self, merged::View::Full, sink, progress)
    }

    /// Hands out what the live analysis saw, in the very order in which it saw it.
    pub fn monitored(&self, sink: Sink, progress: Progress) -> Merged {
        merged::replay(self, merged::View::Monitor, sink, progress)
    }

    /// The journal of the live merge. The error was told as a problem.
    pub(super) fn journal(&self) -> Option<JournalReader> {
        JournalReader::open(&self.directory, self.meta.trace_id).ok()
    }
}
