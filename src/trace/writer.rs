//! Writes a recording: thins, encodes and compresses each chunk, and appends it to its thread's stream.
//!
//! A chunk is one write, so a killed process leaves at most one torn chunk, and that is still in its slot. Journal and index
//! are collected and written when they are worth it or the worker waits; what of them is lost in a kill, readers do without.
//! When the disk is full nothing more is written: what is there stays readable, and the program goes on.

use std::collections::VecDeque;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::codec::Encoder;
use super::format::{
    CHUNKS_AT, ChunkHeader, FileHeader, GivenUp, IndexEntry, MOST_EVENTS, MOST_PAYLOAD, STREAM_MAGIC, VERSION,
};
use super::index::{self, IndexWriter};
use super::meta::{Counts, End, Meta, SnapshotFile};
use super::order::{JournalWriter, Step};
use super::slots::SLOTS;
use super::stack::OpenFunctions;
use super::thin::{Dropped, Exclude, Thinner};
use super::{scan, thin};
use crate::event::{Event, Kind, ThreadId};

/// Name of the directory of the streams.
pub const STREAMS: &str = "streams";

/// Streams that are kept open at once. The others are opened again when their next chunk comes.
const MOST_OPEN: usize = 32;

/// What is left out.
#[derive(Default)]
pub struct Rules {
    /// Nothing.
    pub all: bool,
    /// Plain accesses at code locations for which this says so. Asked once per location.
    pub exclude: Option<Exclude>,
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
pub struct Stopped {
    pub reason: Reason,
    /// What was recorded until then.
    pub events: u64,
    pub bytes: u64,
}

#[derive(Debug)]
pub enum Reason {
    SizeLimit(u64),
    /// Ring mode, on a file system that cannot take back a part of a file.
    NoHoles(io::Error),
    WriteFailed(io::Error),
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MIB: f64 = 1024.0 * 1024.0;
        #[allow(clippy::cast_precision_loss, reason = "a size for people")]
        let mib = |bytes: u64| bytes as f64 / MIB;
        match &self.reason {
            Reason::SizeLimit(limit) => write!(
                f,
                "the recording reached its limit of {:.1} MiB and stopped (trace_size_mb sets it; with trace_ring=1 the newest part is kept \
                 instead of the oldest)",
                mib(*limit)
            )?,
            Reason::NoHoles(error) => write!(
                f,
                "the recording reached its limit and stopped: this file system cannot give up the oldest part of a file ({error}); record to \
                 another one, or without trace_ring"
            )?,
            Reason::WriteFailed(error) => {
                let advice = match error.kind() {
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                        "; make room, record to another disk, or set trace_size_mb"
                    }
                    io::ErrorKind::FileTooLarge => "; raise the limit on file sizes (ulimit -f), or set trace_size_mb",
                    _ => "",
                };
                write!(f, "the recording stopped, it cannot be written: {error}{advice}")?;
            }
        }
        write!(f, "; {} events ({:.1} MiB) are recorded, the program goes on", self.events, mib(self.bytes))
    }
}

impl std::error::Error for Stopped {}

impl From<io::Error> for Reason {
    fn from(error: io::Error) -> Reason {
        Reason::WriteFailed(error)
    }
}

/// What is remembered of a thread between its chunks.
#[derive(Default)]
struct Lane {
    /// Where its next chunk goes.
    end: u64,
    events: u64,
    stack: OpenFunctions,
    thinning: thin::Thread,
}

/// The streams that were written to last are open.
struct Files {
    directory: PathBuf,
    open: VecDeque<(ThreadId, File)>,
}

impl Files {
    fn path(&self, thread: ThreadId) -> PathBuf {
        self.directory.join(thread.to_string())
    }

    fn remember(&mut self, thread: ThreadId, file: File) -> &File {
        self.open.truncate(MOST_OPEN - 1);
        self.open.push_front((thread, file));
        &self.open[0].1
    }

    fn create(&mut self, thread: ThreadId, trace_id: u64) -> io::Result<&File> {
        let file = File::options().read(true).write(true).create_new(true).open(self.path(thread))?;
        let header = FileHeader { magic: STREAM_MAGIC, version: VERSION, about: thread, trace_id };
        let mut bytes = header.encode().to_vec();
        bytes.extend_from_slice(&GivenUp::default().encode());
        if let Err(error) = file.write_all_at(&bytes, 0) {
            // A reader would take it for a damaged stream, and there is nothing in it.
            let _ = fs::remove_file(self.path(thread));
            return Err(error);
        }
        Ok(self.remember(thread, file))
    }

    fn get(&mut self, thread: ThreadId) -> io::Result<&File> {
        match self.open.iter().position(|(of, _)| *of == thread) {
            Some(0) => Ok(&self.open[0].1),
            Some(place) => {
                self.open.swap(0, place);
                Ok(&self.open[0].1)
            }
            None => {
                let file = File::options().read(true).write(true).open(self.path(thread))?;
                Ok(self.remember(thread, file))
            }
        }
    }

    fn close(&mut self, thread: ThreadId) {
        self.open.retain(|(of, _)| *of != thread);
    }
}

/// Turns events into the bytes of a chunk. Its buffers are used again and again.
struct Packer {
    /// `None`: nothing is left out.
    thinner: Option<Thinner>,
    encoder: Encoder,
    kept: Vec<Event>,
    payload: Vec<u8>,
    chunk: Vec<u8>,
}

impl Packer {
    /// Makes `chunk` the bytes of this chunk. Fails for more events than a chunk can have.
    fn pack(&mut self, lane: &mut Lane, mut header: ChunkHeader, events: &[Event]) -> io::Result<ChunkHeader> {
        let kept = match &mut self.thinner {
            None => events,
            Some(thinner) => {
                self.kept.clear();
                let Dropped { stack, repetition, excluded } = thinner.thin(&mut lane.thinning, events, &mut self.kept);
                header.dropped = [stack as u32, repetition as u32, excluded as u32];
                &self.kept
            }
        };
        self.payload.clear();
        lane.stack.encode(&mut self.payload);
        self.encoder.encode(kept, &mut self.payload);
        lane.stack.apply(events);
        let room = lz4_flex::block::get_maximum_output_size(self.payload.len());
        self.chunk.resize(ChunkHeader::BYTES + room, 0);
        let stored = lz4_flex::block::compress_into(&self.payload, &mut self.chunk[ChunkHeader::BYTES..])
            .map_err(io::Error::other)?;
        self.chunk.truncate(ChunkHeader::BYTES + stored);
        if kept.len() > MOST_EVENTS as usize || self.payload.len().max(stored) > MOST_PAYLOAD as usize {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("a chunk of {} events", events.len())));
        }
        header.events = kept.len() as u32;
        header.published = events.len() as u32;
        header.before = lane.events;
        header.unpacked = self.payload.len() as u32;
        header.stored = stored as u32;
        header.payload_checksum = crc32fast::hash(&self.chunk[ChunkHeader::BYTES..]);
        self.chunk[..ChunkHeader::BYTES].copy_from_slice(&header.encode());
        Ok(header)
    }
}

/// Writes one recording.
pub struct Writer {
    directory: PathBuf,
    trace_id: u64,
    limits: Limits,
    packer: Packer,
    lanes: FxHashMap<ThreadId, Lane>,
    files: Files,
    journal: JournalWriter,
    /// The journal is empty for good: ring mode has given up events that it told of.
    is_journal_abandoned: bool,
    index: IndexWriter,
    modules: SnapshotFile,
    /// `bytes` is of the streams and module maps only.
    counts: Counts,
    stopped: Option<String>,
}

impl Writer {
    /// Starts a recording in a directory that exists and is empty but for the chunks' mapping.
    pub fn create(directory: &Path, meta: &Meta, rules: Rules, limits: Limits) -> io::Result<Writer> {
        let streams = directory.join(STREAMS);
        fs::create_dir(&streams)?;
        let writer = Writer {
            directory: directory.to_owned(),
            trace_id: meta.trace_id,
            limits,
            packer: Packer {
                thinner: (!rules.all).then(|| Thinner::new(rules.exclude)),
                encoder: Encoder::new(),
                kept: Vec::new(),
                payload: Vec::new(),
                chunk: Vec::new(),
            },
            lanes: FxHashMap::default(),
            files: Files { directory: streams, open: VecDeque::new() },
            journal: JournalWriter::create(directory, meta.trace_id)?,
            is_journal_abandoned: false,
            index: IndexWriter::create(directory, meta.trace_id)?,
            modules: SnapshotFile::create(directory)?,
            counts: Counts::default(),
            stopped: None,
        };
        // Last: a directory with this file has all the others.
        meta.write(directory)?;
        Ok(writer)
    }

    /// Writes a chunk: a whole one, or at the end what was published of an open one. Says once that it stopped; from then
    /// on every call does nothing.
    pub fn chunk(&mut self, thread: ThreadId, serial: u32, events: &[Event]) -> Result<(), Stopped> {
        if self.stopped.is_some() || events.is_empty() {
            return Ok(());
        }
        self.append(thread, serial, events).map_err(|reason| self.stop(reason))
    }

    /// `count` events of the thread's monitor view went into the merger.
    pub fn pushed(&mut self, thread: ThreadId, count: usize) {
        if count > 0 {
            self.step(Step::Push { thread, count: count as u64 });
        }
    }

    /// All that could leave the merger did.
    pub fn drained(&mut self) {
        self.step(Step::Drain);
    }

    /// The merger gave up on numbers.
    pub fn skipped_gap(&mut self) {
        self.step(Step::SkipGap);
    }

    /// The memory map after so many merged events. Written if it has changed.
    pub fn modules(&mut self, after_events: u64, maps: &str) {
        if self.stopped.is_none() {
            // Without it, addresses stay addresses; no reason to stop. If the disk is full the next chunk will say so.
            self.counts.bytes += self.modules.add(after_events, maps).unwrap_or(0);
        }
    }

    /// Brings journal and index to their files. To be called before waiting.
    pub fn flush(&mut self) {
        if self.stopped.is_none() {
            self.write_collected();
        }
    }

    /// Ends the recording; says in the end what was written and why it stopped, if it did. The mapping is no longer needed.
    pub fn finish(&mut self, end: &End) -> io::Result<()> {
        self.flush();
        let end = End { written: self.counts(), stopped: self.stopped.clone().or(end.stopped.clone()), ..end.clone() };
        self.stopped.get_or_insert_default();
        let mut written = end.write(&self.directory);
        let _ = fs::remove_file(self.directory.join(SLOTS));
        if written.is_err() {
            // On a full disk, the mapping has just made room.
            written = end.write(&self.directory);
        }
        written
    }

    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts { bytes: self.bytes(), ..self.counts }
    }

    /// All that is on disk, or will be.
    fn bytes(&self) -> u64 {
        self.counts.bytes + self.journal.bytes() + self.index.bytes()
    }

    fn step(&mut self, step: Step) {
        if self.stopped.is_none() && !self.is_journal_abandoned {
            // Readers do without what is lost of it. If the disk is full the next chunk will say so.
            let _ = self.journal.step(step);
        }
    }

    fn write_collected(&mut self) {
        let _ = self.journal.flush();
        let _ = self.index.flush();
    }

    fn stop(&mut self, reason: Reason) -> Stopped {
        self.write_collected();
        self.files.open.clear();
        self.lanes.clear();
        let stopped = Stopped { reason, events: self.counts.events, bytes: self.bytes() };
        self.stopped = Some(stopped.to_string());
        stopped
    }

    fn append(&mut self, thread: ThreadId, serial: u32, events: &[Event]) -> Result<(), Reason> {
        if !self.lanes.contains_key(&thread) {
            let lane = self.begin(thread)?;
            self.lanes.insert(thread, lane);
        }
        let Some(lane) = self.lanes.get_mut(&thread) else { return Ok(()) };
        let header = ChunkHeader { thread, serial, trace: self.trace_id as u32, ..ChunkHeader::default() };
        let header = self.packer.pack(lane, header, events)?;
        self.make_room(header.length() + IndexEntry::BYTES as u64)?;
        let Some(lane) = self.lanes.get_mut(&thread) else { return Ok(()) };
        let file = self.files.get(thread)?;
        if let Err(error) = file.write_all_at(&self.packer.chunk, lane.end) {
            // Readers would recognise half a chunk, too; but so there is nothing to explain.
            let _ = file.set_len(lane.end);
            return Err(error.into());
        }
        let entry = IndexEntry {
            thread,
            serial,
            offset: lane.end,
            length: header.length() as u32,
            events: header.events,
            dropped: header.dropped,
            before: header.before,
        };
        lane.end += header.length();
        lane.events += u64::from(header.events);
        self.counts.chunks += 1;
        self.counts.events += u64::from(header.events);
        let [stack, repetition, excluded] = header.dropped.map(u64::from);
        self.counts.dropped += Dropped { stack, repetition, excluded };
        self.counts.bytes += header.length();
        if events.last().is_some_and(|event| event.kind() == Some(Kind::End)) {
            self.lanes.remove(&thread);
            self.files.close(thread);
        }
        self.index.add(&entry)?;
        Ok(())
    }

    /// The lane of a thread that has none: a new thread, or one of which more comes after its end.
    fn begin(&mut self, thread: ThreadId) -> io::Result<Lane> {
        match self.files.create(thread, self.trace_id) {
            Ok(_) => {
                self.counts.bytes += CHUNKS_AT;
                Ok(Lane { end: CHUNKS_AT, ..Lane::default() })
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let (end, events) = scan::extent(self.files.path(thread), thread, self.trace_id)?;
                Ok(Lane { end, events, ..Lane::default() })
            }
            Err(error) => Err(error),
        }
    }

    /// Keeps the recording within its limit when so many bytes come.
    fn make_room(&mut self, coming: u64) -> Result<(), Reason> {
        let Some(limit) = self.limits.size else { return Ok(()) };
        while self.bytes() + coming > limit {
            if !self.limits.ring || !self.give_up_oldest()? {
                return Err(Reason::SizeLimit(limit));
            }
        }
        Ok(())
    }

    /// Gives the oldest chunk back to the file system. False if there is none.
    fn give_up_oldest(&mut self) -> Result<bool, Reason> {
        /// Blocks that file systems give back are at least of this size.
        const BLOCK: u64 = 4096;
        let Some(oldest) = self.index.give_up_oldest()? else { return Ok(false) };
        let file = self.files.get(oldest.thread)?;
        let mut bytes = [0; GivenUp::BYTES];
        file.read_exact_at(&mut bytes, GivenUp::AT)?;
        let mut given_up = GivenUp::decode(&bytes).unwrap_or_default();
        let until = oldest.offset + u64::from(oldest.length);
        // Only whole blocks are given back: the one that the chunk before ended in goes together with this one.
        let from = (oldest.offset / BLOCK * BLOCK).max(CHUNKS_AT);
        index::punch(file, from, until).map_err(Reason::NoHoles)?;
        given_up.chunks += 1;
        given_up.events += u64::from(oldest.events);
        given_up.until = until;
        file.write_all_at(&given_up.encode(), GivenUp::AT)?;
        self.counts.given_up_chunks += 1;
        self.counts.given_up_events += u64::from(oldest.events);
        self.counts.bytes -= u64::from(oldest.length);
        if !self.is_journal_abandoned {
            self.is_journal_abandoned = true;
            self.journal.abandon()?;
        }
        Ok(true)
    }
}
