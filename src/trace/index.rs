//! The index: where every chunk is, in the order in which they were written.
//!
//! Readers do not need it to read on, only to find a place at once, and to know what should be there. In ring mode the
//! writer itself reads it, to find the oldest chunk; what is given up becomes a hole of zeros at its front.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::format::{FileHeader, INDEX_MAGIC, IndexEntry, VERSION};
use super::meta::Unreadable;
use super::source::Source;

/// Name of its file.
pub const INDEX: &str = "index";

/// Bytes that are collected before they are written.
const BUFFER: usize = 64 * IndexEntry::BYTES;
/// Entries that ring mode reads at once.
const OLDEST: usize = 64;
/// File systems give back whole blocks of at least this size.
const HOLE: u64 = 4096;

/// Writes the index.
pub struct IndexWriter {
    file: File,
    buffer: Vec<u8>,
    /// Size of the file.
    end: u64,
    /// Where the oldest entry is whose chunk is still there.
    oldest: u64,
    /// Some entries from there on.
    oldest_entries: Vec<IndexEntry>,
    /// How far the front was given back.
    hole: u64,
}

impl IndexWriter {
    pub fn create(directory: &Path, trace_id: u64) -> io::Result<IndexWriter> {
        let mut file = File::options().read(true).write(true).create_new(true).open(directory.join(INDEX))?;
        let header = FileHeader { magic: INDEX_MAGIC, version: VERSION, about: 0, trace_id }.encode();
        file.write_all(&header)?;
        let first = header.len() as u64;
        Ok(IndexWriter { file, buffer: Vec::new(), end: first, oldest: first, oldest_entries: Vec::new(), hole: first })
    }

    pub fn add(&mut self, entry: &IndexEntry) -> io::Result<()> {
        self.buffer.extend_from_slice(&entry.encode());
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    pub fn flush(&mut self) -> io::Result<()> {
        // At its place: what a failed attempt left there is written over by the next one.
        self.file.write_all_at(&self.buffer, self.end)?;
        self.end += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.end - (self.hole - FileHeader::BYTES as u64) + self.buffer.len() as u64
    }

    /// Forgets the oldest chunk and says which it was; `None` if there is none.
    pub fn give_up_oldest(&mut self) -> io::Result<Option<IndexEntry>> {
        if self.oldest_entries.is_empty() {
            self.read_oldest()?;
        }
        let Some(entry) = self.oldest_entries.pop() else { return Ok(None) };
        self.oldest += IndexEntry::BYTES as u64;
        if self.oldest - self.hole >= HOLE {
            let from = (self.hole / HOLE * HOLE).max(FileHeader::BYTES as u64);
            punch(&self.file, from, self.oldest)?;
            self.hole = self.oldest;
        }
        Ok(Some(entry))
    }

    fn read_oldest(&mut self) -> io::Result<()> {
        self.flush()?;
        let count = ((self.end - self.oldest) as usize / IndexEntry::BYTES).min(OLDEST);
        let mut bytes = vec![0; count * IndexEntry::BYTES];
        self.file.read_exact_at(&mut bytes, self.oldest)?;
        let (entries, _) = bytes.as_chunks();
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "somebody else wrote to the index");
        self.oldest_entries =
            entries.iter().rev().map(IndexEntry::decode).collect::<Option<_>>().ok_or_else(damaged)?;
        Ok(())
    }
}

/// Gives the bytes of a file back to the file system; they read as zeros from then on.
pub fn punch(file: &File, from: u64, to: u64) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: plain numbers about a descriptor that is open.
    let result = unsafe { libc::fallocate(file.as_raw_fd(), mode, from as i64, (to - from) as i64) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads the entries.
pub struct IndexReader {
    source: Source,
    at: u64,
    damaged: u64,
}

impl IndexReader {
    pub fn open(directory: &Path, trace_id: u64) -> Result<IndexReader, Unreadable> {
        let mut source = Source::open(directory.join(INDEX))?;
        match source.array(0).and_then(|bytes| FileHeader::decode(bytes, INDEX_MAGIC)) {
            Some(header) if header.trace_id != trace_id => Err(Unreadable::Foreign),
            Some(header) if header.version == VERSION => {
                Ok(IndexReader { source, at: FileHeader::BYTES as u64, damaged: 0 })
            }
            _ => Err(Unreadable::Damaged),
        }
    }

    /// Entries that could not be read so far. A torn one at the end counts.
    #[must_use]
    pub fn damaged(&self) -> u64 {
        self.damaged
    }
}

impl Iterator for IndexReader {
    type Item = IndexEntry;

    fn next(&mut self) -> Option<IndexEntry> {
        loop {
            let bytes = self.source.bytes(self.at, IndexEntry::BYTES);
            if bytes.is_empty() {
                return None;
            }
            let is_hole = bytes.iter().all(|&byte| byte == 0);
            let entry = bytes.first_chunk().and_then(IndexEntry::decode);
            self.at += IndexEntry::BYTES as u64;
            if is_hole {
                // All entries have the same size, so the one that the data begins in is known.
                let gone = self.source.data_from(self.at).saturating_sub(self.at) / IndexEntry::BYTES as u64;
                self.at += gone * IndexEntry::BYTES as u64;
                continue;
            }
            if entry.is_some() {
                return entry;
            }
            self.damaged += 1;
        }
    }
}
