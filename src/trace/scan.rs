//! The chunks of one stream file, around whatever is damaged.
//!
//! After a place that makes no sense the search goes on at every byte, until a header of this thread and this recording checks out. Chunks
//! tell their serial and how many events came before them, so what was passed over is known exactly.

use std::io;
use std::path::PathBuf;

use super::format::{CHUNK_MAGIC, CHUNKS_AT, ChunkHeader, FileHeader, GivenUp, STREAM_MAGIC};
use super::problem::Problem;
use super::source::Source;
use crate::event::ThreadId;

/// Goes through a stream.
#[derive(Debug)]
pub struct Scan {
    source: Source,
    thread: ThreadId,
    trace: u32,
    /// Whether payloads are checked. Those who only count do without.
    verify: bool,
    at: u64,
    /// What the next chunk should say.
    pub next_serial: u32,
    pub next_before: u64,
    /// Events of the last chunk before the leave-out rules.
    pub last_published: u32,
    pub given_up: GivenUp,
}

/// A chunk, and where it is.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub header: ChunkHeader,
    pub at: u64,
}

/// What comes after the last chunk: a place, and maybe the header of a chunk that is not whole.
#[derive(Clone, Copy, Debug)]
pub struct Tail {
    pub from: u64,
    pub torn: Option<ChunkHeader>,
}

/// The header of a stream file; `None` if it is damaged.
pub fn header_of(source: &mut Source) -> Option<FileHeader> {
    FileHeader::decode(source.array(0)?, STREAM_MAGIC)
}

/// Where a stream ends and how many events it holds.
pub fn extent(path: PathBuf, thread: ThreadId, trace_id: u64) -> io::Result<(u64, u64)> {
    let mut scan = Scan::new(Source::open(path)?, thread, trace_id, false);
    let mut end = scan.at;
    while let (Some(found), _) = scan.next() {
        end = found.at + found.header.length();
    }
    Ok((end, scan.next_before))
}

impl Scan {
    pub fn new(mut source: Source, thread: ThreadId, trace_id: u64, verify: bool) -> Scan {
        let given_up = source.array(GivenUp::AT).and_then(GivenUp::decode).unwrap_or_default();
        Scan {
            at: given_up.until.clamp(CHUNKS_AT, source.size().max(CHUNKS_AT)),
            source,
            thread,
            trace: trace_id as u32,
            verify,
            next_serial: u32::try_from(given_up.chunks).unwrap_or(u32::MAX),
            next_before: given_up.events,
            last_published: 0,
            given_up,
        }
    }

    pub fn size(&self) -> u64 {
        self.source.size()
    }

    /// Where it goes on.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Goes behind the chunks that the index knows; false, and nothing changes, if the file does not end there or go on
    /// with the next chunk.
    pub fn skip(&mut self, next_serial: u32, next_before: u64, end: u64, last_published: u32) -> bool {
        let next = self.source.array(end).and_then(ChunkHeader::decode);
        if end != self.size() && next.is_none_or(|next| (next.thread, next.serial) != (self.thread, next_serial)) {
            return false;
        }
        self.at = end;
        (self.next_serial, self.next_before, self.last_published) = (next_serial, next_before, last_published);
        true
    }

    /// The next chunk and what is wrong before it; or no chunk, and what is wrong with the end of the file.
    pub fn next(&mut self) -> (Option<Found>, Option<Gap>) {
        let from = self.at;
        let mut at = from;
        let mut torn = None;
        while at < self.size() {
            match self.chunk_at(at) {
                Ok(header) => {
                    let gap = self.gap_before(&header, (from, at)).map(Gap::Before);
                    self.go_behind(&Found { header, at });
                    return (Some(Found { header, at }), gap);
                }
                Err(header) => torn = torn.or(header),
            }
            at = self.search(at + 1);
        }
        self.at = at;
        (None, (from < self.size()).then_some(Gap::AtEnd(Tail { from, torn })))
    }

    /// Goes on behind a chunk.
    fn go_behind(&mut self, found: &Found) {
        let header = &found.header;
        self.at = found.at + header.length();
        self.next_serial = header.serial.saturating_add(1);
        self.next_before = header.before.saturating_add(u64::from(header.events));
        self.last_published = header.published;
    }

    /// Goes on at the chunk that the index says is at `at`; false, and nothing changes, if it is not there.
    pub fn jump(&mut self, at: u64, serial: u32, before: u64) -> bool {
        let Some(header) = self.source.array(at).and_then(ChunkHeader::decode) else { return false };
        if (header.thread, header.trace, header.serial, header.before) != (self.thread, self.trace, serial, before) {
            return false;
        }
        self.at = at;
        self.next_serial = serial;
        self.next_before = before;
        true
    }

    /// The stored payload of a chunk.
    pub fn payload(&mut self, found: &Found) -> &[u8] {
        self.source.bytes(found.at + ChunkHeader::BYTES as u64, found.header.stored as usize)
    }

    /// The chunk at a place. The error is its header, if at least that is right.
    fn chunk_at(&mut self, at: u64) -> Result<ChunkHeader, Option<ChunkHeader>> {
        let header = self.source.array(at).and_then(ChunkHeader::decode).ok_or(None)?;
        let is_ours = header.thread == self.thread && header.trace == self.trace;
        // A chunk that is there twice counts once.
        if !is_ours || header.serial < self.next_serial || header.before < self.next_before {
            return Err(None);
        }
        if header.length() > self.size() - at {
            return Err(Some(header));
        }
        if self.verify {
            let payload = self.payload(&Found { header, at });
            if payload.len() != header.stored as usize || crc32fast::hash(payload) != header.payload_checksum {
                return Err(Some(header));
            }
        }
        Ok(header)
    }

    /// The next place at or after `at` where a chunk may begin, or the end of the file.
    fn search(&mut self, mut at: u64) -> u64 {
        const STRIDE: usize = 4096;
        while at < self.size() {
            let bytes = self.source.bytes(at, STRIDE);
            if bytes.len() < CHUNK_MAGIC.len() {
                break;
            }
            if let Some(place) = bytes.windows(CHUNK_MAGIC.len()).position(|window| window == CHUNK_MAGIC) {
                return at + place as u64;
            }
            let is_hole = bytes.iter().all(|&byte| byte == 0);
            at += (bytes.len() - CHUNK_MAGIC.len() + 1) as u64;
            if is_hole {
                at = self.source.data_from(at);
            }
        }
        self.size()
    }

    fn gap_before(&self, header: &ChunkHeader, bytes: (u64, u64)) -> Option<Problem> {
        let thread = self.thread;
        let chunks = (header.serial > self.next_serial).then(|| (self.next_serial, header.serial - 1));
        let events = header.before - self.next_before;
        if chunks.is_some() || events > 0 {
            return Some(Problem::Missing { thread, chunks, events: Some(events), bytes: Some(bytes) });
        }
        (bytes.0 < bytes.1).then_some(Problem::Rubbish { thread, bytes })
    }
}

/// Something that is wrong with a stream.
#[derive(Clone, Debug)]
pub enum Gap {
    Before(Problem),
    AtEnd(Tail),
}
