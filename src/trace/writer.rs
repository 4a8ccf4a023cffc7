//! Writes a recording.

use std::fmt;
use std::io;
use std::path::Path;

use super::meta::{Counts, End, Meta};
use crate::event::{Event, ThreadId};

/// What is left out.
#[derive(Default)]
pub struct Rules {
    /// Nothing.
    pub all: bool,
    /// Plain accesses at code locations for which this says so. Asked once per location.
    pub exclude: Option<Box<dyn FnMut(u64) -> bool + Send>>,
}

/// How much is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// Bytes on disk; none: as much as there is room.
    pub size: Option<u64>,
    /// At that size the oldest chunks make room for new ones. Otherwise the recording stops there.
    pub ring: bool,
}

/// Why no more is recorded. The program goes on, and what was recorded can be read.
#[derive(Debug)]
pub enum Stopped {
    SizeLimit {
        limit: u64,
        events: u64,
        bytes: u64,
    },
    /// Ring mode, on a file system that cannot give back a part of a file.
    NoHoles {
        error: io::Error,
        limit: u64,
        events: u64,
        bytes: u64,
    },
    WriteFailed {
        error: io::Error,
        events: u64,
        bytes: u64,
    },
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Stopped {}

pub struct Writer;

impl Writer {
    /// Starts a recording in a directory that exists and is empty but for the chunks' mapping.
    pub fn create(_directory: &Path, _meta: &Meta, _rules: Rules, _limits: Limits) -> io::Result<Writer> {
        Ok(Writer)
    }

    /// Writes a chunk: a whole one, or at the end what was published of an open one. Its events were pushed before.
    /// Says once that it stopped; from then on every call does nothing.
    pub fn chunk(&mut self, _thread: ThreadId, _serial: u32, _events: &[Event]) -> Result<(), Stopped> {
        Ok(())
    }

    /// `count` events of the thread's monitor view went into the merger.
    pub fn pushed(&mut self, _thread: ThreadId, _count: usize) {}

    /// All that could leave the merger did.
    pub fn drained(&mut self) {}

    /// The merger gave up on numbers.
    pub fn skipped_gap(&mut self) {}

    /// The memory map after so many merged events. Written if it has changed.
    pub fn modules(&mut self, _after_events: u64, _maps: &str) {}

    /// Brings journal and index to their files. To be called before waiting.
    pub fn flush(&mut self) {}

    /// Ends the recording. `written` and `stopped` of the end are filled in here.
    pub fn finish(&mut self, _end: &End) -> io::Result<()> {
        Ok(())
    }

    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts::default()
    }
}
