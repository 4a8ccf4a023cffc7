//! The journal of the merge: what the worker did with the [`Merger`](crate::order::Merger), step by step.
//!
//! The merger gives one of many legal orders; which one depends on when each batch came. A reader that repeats the steps
//! gets the very order that the live analysis saw. Steps are collected in frames with a checksum each: after a damaged
//! frame, or where the journal ends, the numbers of the events still give a legal order.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::format::{FileHeader, FrameHeader, ORDER_MAGIC, VERSION};
use super::meta::Unreadable;
use super::source::Source;
use super::varint;
use crate::event::ThreadId;

/// Name of its file.
pub const ORDER: &str = "order";

/// A frame is written when it has so many bytes.
const FRAME: usize = 4096;
/// No frame is larger than this.
const MOST_FRAME: u32 = 1 << 16;

/// One thing that was done with the merger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The next `count` events of the thread's monitor view went in.
    Push { thread: ThreadId, count: u64 },
    /// All that could come out did.
    Drain,
    /// It gave up on numbers.
    SkipGap,
}

/// A record is the step's code in the two lowest bits, and above them the thread of a push; its count follows.
mod code {
    pub const PUSH: u64 = 0;
    pub const DRAIN: u64 = 1;
    pub const SKIP_GAP: u64 = 2;
    pub const BITS: u32 = 2;
}

impl Step {
    fn encode(self, out: &mut Vec<u8>) {
        match self {
            Step::Push { thread, count } => {
                varint::put(out, u64::from(thread) << code::BITS | code::PUSH);
                varint::put(out, count);
            }
            Step::Drain => varint::put(out, code::DRAIN),
            Step::SkipGap => varint::put(out, code::SKIP_GAP),
        }
    }

    fn decode(bytes: &mut &[u8]) -> Option<Step> {
        let record = varint::take(bytes)?;
        match (record & ((1 << code::BITS) - 1), record >> code::BITS) {
            (code::PUSH, thread) => {
                Some(Step::Push { thread: ThreadId::try_from(thread).ok()?, count: varint::take(bytes)? })
            }
            (code::DRAIN, 0) => Some(Step::Drain),
            (code::SKIP_GAP, 0) => Some(Step::SkipGap),
            _ => None,
        }
    }
}

/// Writes the journal.
pub struct JournalWriter {
    file: File,
    frame: Vec<u8>,
    /// Nothing went in since the last drain: another one would do nothing.
    is_drained: bool,
    bytes: u64,
}

impl JournalWriter {
    pub fn create(directory: &Path, trace_id: u64) -> io::Result<JournalWriter> {
        let mut file = File::create_new(directory.join(ORDER))?;
        let header = FileHeader { magic: ORDER_MAGIC, version: VERSION, about: 0, trace_id }.encode();
        file.write_all(&header)?;
        Ok(JournalWriter { file, frame: Vec::new(), is_drained: true, bytes: header.len() as u64 })
    }

    pub fn step(&mut self, step: Step) -> io::Result<()> {
        if step == Step::Drain && self.is_drained {
            return Ok(());
        }
        self.is_drained = step == Step::Drain;
        step.encode(&mut self.frame);
        if self.frame.len() >= FRAME { self.flush() } else { Ok(()) }
    }

    /// Writes the frame that is being filled.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.frame.is_empty() {
            return Ok(());
        }
        let length = self.frame.len() as u32;
        let header = FrameHeader { length, records_checksum: crc32fast::hash(&self.frame) }.encode();
        // At its place: what a failed attempt left there is written over by the next one.
        self.file.write_all_at(&[&header, &self.frame[..]].concat(), self.bytes)?;
        self.bytes += header.len() as u64 + u64::from(length);
        self.frame.clear();
        Ok(())
    }

    /// Empties the journal: events that it tells of are given up, so nobody can repeat its steps.
    pub fn abandon(&mut self) -> io::Result<()> {
        self.frame.clear();
        self.bytes = FileHeader::BYTES as u64;
        self.file.set_len(self.bytes)
    }

    /// Size of its file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Reads it.
pub struct JournalReader {
    source: Source,
    at: u64,
    frame: Vec<u8>,
    /// How much of the frame was read.
    taken: usize,
    is_damaged: bool,
}

impl JournalReader {
    pub fn open(directory: &Path, trace_id: u64) -> Result<JournalReader, Unreadable> {
        let mut source = Source::open(directory.join(ORDER))?;
        let header = source.array(0).and_then(|bytes| FileHeader::decode(bytes, ORDER_MAGIC));
        match header {
            Some(header) if header.trace_id != trace_id => Err(Unreadable::Foreign),
            Some(header) if header.version == VERSION => Ok(JournalReader {
                source,
                at: FileHeader::BYTES as u64,
                frame: Vec::new(),
                taken: 0,
                is_damaged: false,
            }),
            _ => Err(Unreadable::Damaged),
        }
    }

    fn next_frame(&mut self) -> Option<()> {
        let header = FrameHeader::decode(self.source.array(self.at)?).filter(|header| header.length <= MOST_FRAME)?;
        let records = self.source.bytes(self.at + FrameHeader::BYTES as u64, header.length as usize);
        if records.len() != header.length as usize || crc32fast::hash(records) != header.records_checksum {
            return None;
        }
        self.frame.clear();
        self.frame.extend_from_slice(records);
        self.taken = 0;
        self.at += FrameHeader::BYTES as u64 + u64::from(header.length);
        Some(())
    }

    /// Where the journal stops to make sense, if it does so before its end: that byte, and the size of the file.
    #[must_use]
    pub fn damage(&self) -> Option<(u64, u64)> {
        self.is_damaged.then_some((self.at, self.source.size()))
    }
}

impl Iterator for JournalReader {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.is_damaged {
            return None;
        }
        while self.taken == self.frame.len() {
            if self.at == self.source.size() {
                return None;
            }
            if self.next_frame().is_none() {
                self.is_damaged = true;
                return None;
            }
        }
        let mut rest = &self.frame[self.taken..];
        let step = Step::decode(&mut rest);
        self.taken = self.frame.len() - rest.len();
        self.is_damaged = step.is_none();
        step
    }
}
