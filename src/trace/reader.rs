//! Reads a recording.

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::meta::{Counts, End, Meta, ModuleSnapshot, Status};
use crate::event::{Event, ThreadId};

/// Something is missing; the text says what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// Why nothing can be read; the text says what to do.
#[derive(Debug)]
pub enum OpenError {
    NoTrace(PathBuf),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for OpenError {}

/// What is there of one thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadStream {
    pub thread: ThreadId,
    /// In its stream. `bytes` is the size of the file.
    pub counts: Counts,
    /// Chunks and events that only the shared mapping has.
    pub unwritten_chunks: u64,
    pub unwritten_events: u64,
}

/// A function that is open: an address inside it, and the return address in its caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    pub inside: u64,
    pub call: u64,
}

/// A chunk that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChunkInfo {
    pub serial: u32,
    /// How many events of the thread came before its first one.
    pub before: u64,
    pub dropped: super::meta::Dropped,
}

pub struct Stream<'a>(&'a Trace);

impl Stream<'_> {
    /// Replaces `events` with the next chunk's.
    pub fn next_chunk(&mut self, _events: &mut Vec<Event>) -> Option<ChunkInfo> {
        None
    }

    /// Goes to the chunk that holds the thread's event with this number, counted from 0: it comes next.
    pub fn seek(&mut self, _event: u64) {}

    /// The functions that were open where the last chunk begins, outermost first, and how many further out are not told.
    #[must_use]
    pub fn stack(&self) -> (u32, &[Frame]) {
        (0, &[])
    }

    /// What was found missing on the way.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &[]
    }
}

/// How reading in merged order went.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Merged {
    /// Events that were handed out.
    pub events: u64,
    pub order_gaps: u64,
    /// What was found missing on the way, beyond [`Trace::problems`].
    pub problems: Vec<Problem>,
}

pub type Sink<'a> = &'a mut dyn FnMut(ThreadId, &Event) -> ControlFlow<()>;
/// Is told now and then: bytes read so far, bytes in all.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

pub struct Trace {
    meta: Meta,
}

impl Trace {
    /// Opens the recording of a process: its directory, or the one above if it is the only one there.
    pub fn open(path: &Path) -> Result<Trace, OpenError> {
        Err(OpenError::NoTrace(path.to_owned()))
    }

    #[must_use]
    pub fn directory(&self) -> &Path {
        Path::new("")
    }

    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    #[must_use]
    pub fn end(&self) -> Option<&End> {
        None
    }

    #[must_use]
    pub fn status(&self) -> Option<&Status> {
        None
    }

    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &[]
    }

    #[must_use]
    pub fn threads(&self) -> &[ThreadStream] {
        &[]
    }

    pub fn modules(&self) -> impl Iterator<Item = ModuleSnapshot> {
        std::iter::empty()
    }

    #[must_use]
    pub fn stream(&self, _thread: ThreadId) -> Option<Stream<'_>> {
        None
    }

    /// All events, in one legal order.
    pub fn merged(&self, _sink: Sink, _progress: Progress) -> Merged {
        Merged::default()
    }

    /// What the live analysis saw, in the very order in which it saw it.
    pub fn monitored(&self, _sink: Sink, _progress: Progress) -> Merged {
        Merged::default()
    }
}
