//! The fixed parts of the binary files. `docs/trace-format.md` describes all of them, byte by byte.
//!
//! **The bump rule.** [`VERSION`] is one number for the whole directory. It goes up with every change after which an older
//! reader would misread a recording, or fail in it without a word: a layout here, the meaning of a field, the codec, a kind of
//! event that gets another code or meaning, a leave-out rule that drops what readers rely on. A new field of a JSON file
//! or a new file that readers may ignore does not count. Readers refuse newer versions and say so. The size asserts below and the
//! sample recordings in `tests/trace_corpus` fail when a layout changes by accident.
//!
//! All numbers are little-endian. Every layout ends in a CRC-32 of the bytes before it.

use crate::event::ThreadId;

/// Version of the whole format.
pub const VERSION: u32 = 1;

/// First bytes of the files. The last byte of each is a newline, which a transfer as text would change.
pub const STREAM_MAGIC: [u8; 8] = *b"AVMSTRM\n";
pub const ORDER_MAGIC: [u8; 8] = *b"AVMORDR\n";
pub const INDEX_MAGIC: [u8; 8] = *b"AVMINDX\n";
pub const SLOTS_MAGIC: [u8; 8] = *b"AVMSLOT\n";
/// First bytes of a chunk in a stream. None of them is plain text or zero, so that a search stumbles over few others.
pub const CHUNK_MAGIC: [u8; 4] = [0xc1, 0xa7, 0x9d, 0xe3];

/// Limits of what a chunk may claim, so that damaged sizes cost nothing.
pub const MOST_EVENTS: u32 = 1 << 13;
pub const MOST_PAYLOAD: u32 = 1 << 18;

/// Reads a layout field by field.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    /// The next `N` bytes. The callers' arrays are as long as the layouts say.
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let (bytes, rest) = self.0.split_first_chunk().expect("a layout that is shorter than its fields");
        self.0 = rest;
        *bytes
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }
}

/// Writes one, and seals it.
struct Layout<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Layout<N> {
    fn new() -> Self {
        Layout { bytes: [0; N], len: 0 }
    }

    fn put(mut self, bytes: &[u8]) -> Self {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
        self
    }

    fn u32(self, number: u32) -> Self {
        self.put(&number.to_le_bytes())
    }

    fn u64(self, number: u64) -> Self {
        self.put(&number.to_le_bytes())
    }

    fn seal(mut self) -> [u8; N] {
        debug_assert_eq!(self.len + 4, N, "all but the checksum is written");
        let checksum = crc32fast::hash(&self.bytes[..N - 4]);
        self.bytes[N - 4..].copy_from_slice(&checksum.to_le_bytes());
        self.bytes
    }
}

fn is_sealed(bytes: &[u8]) -> bool {
    bytes
        .split_last_chunk()
        .is_some_and(|(content, &checksum)| crc32fast::hash(content) == u32::from_le_bytes(checksum))
}

/// What every binary file starts with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileHeader {
    pub magic: [u8; 8],
    pub version: u32,
    /// The thread of a stream, the size of a slot; 0 in the other files.
    pub about: u32,
    pub trace_id: u64,
}

impl FileHeader {
    pub const BYTES: usize = 8 + 4 + 4 + 8 + 4;

    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        Layout::new().put(&self.magic).u32(self.version).u32(self.about).u64(self.trace_id).seal()
    }

    #[must_use]
    pub fn decode(bytes: &[u8; Self::BYTES], magic: [u8; 8]) -> Option<FileHeader> {
        let mut fields = Fields(bytes);
        let header =
            FileHeader { magic: fields.bytes(), version: fields.u32(), about: fields.u32(), trace_id: fields.u64() };
        (header.magic == magic && is_sealed(bytes)).then_some(header)
    }
}

/// Follows the header of a stream: what ring mode has given up of it. The only part of a stream that is ever written again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GivenUp {
    pub chunks: u64,
    pub events: u64,
    /// Where in the file the first chunk begins that is still there; 0 if none was given up.
    pub until: u64,
}

impl GivenUp {
    pub const BYTES: usize = 3 * 8 + 4;
    pub const AT: u64 = FileHeader::BYTES as u64;

    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        Layout::new().u64(self.chunks).u64(self.events).u64(self.until).seal()
    }

    #[must_use]
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Option<GivenUp> {
        let mut fields = Fields(bytes);
        let given_up = GivenUp { chunks: fields.u64(), events: fields.u64(), until: fields.u64() };
        is_sealed(bytes).then_some(given_up)
    }
}

/// Where the chunks of a stream begin.
pub const CHUNKS_AT: u64 = (FileHeader::BYTES + GivenUp::BYTES) as u64;

/// What is in front of a chunk in a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChunkHeader {
    pub thread: ThreadId,
    /// Counts the thread's chunks from 0.
    pub serial: u32,
    /// Events in it.
    pub events: u32,
    /// Events before the leave-out rules.
    pub published: u32,
    /// By rule: stack, repetition, excluded.
    pub dropped: [u32; 3],
    /// Events of this thread in all chunks before it: tells how many are missing where chunks are.
    pub before: u64,
    /// Bytes of the payload, unpacked and as stored.
    pub unpacked: u32,
    pub stored: u32,
    pub payload_checksum: u32,
    /// The low half of the trace id.
    pub trace: u32,
}

impl ChunkHeader {
    pub const BYTES: usize = 4 + 7 * 4 + 8 + 4 * 4 + 4;

    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let [stack, repetition, excluded] = self.dropped;
        Layout::new()
            .put(&CHUNK_MAGIC)
            .u32(self.thread)
            .u32(self.serial)
            .u32(self.events)
            .u32(self.published)
            .u32(stack)
            .u32(repetition)
            .u32(excluded)
            .u64(self.before)
            .u32(self.unpacked)
            .u32(self.stored)
            .u32(self.payload_checksum)
            .u32(self.trace)
            .seal()
    }

    /// `None` unless the bytes are a whole header whose sizes are within the limits.
    #[must_use]
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Option<ChunkHeader> {
        let mut fields = Fields(bytes);
        let magic = fields.bytes();
        let header = ChunkHeader {
            thread: fields.u32(),
            serial: fields.u32(),
            events: fields.u32(),
            published: fields.u32(),
            dropped: [fields.u32(), fields.u32(), fields.u32()],
            before: fields.u64(),
            unpacked: fields.u32(),
            stored: fields.u32(),
            payload_checksum: fields.u32(),
            trace: fields.u32(),
        };
        let is_possible =
            header.events <= MOST_EVENTS && header.unpacked <= MOST_PAYLOAD && header.stored <= MOST_PAYLOAD;
        (magic == CHUNK_MAGIC && is_possible && is_sealed(bytes)).then_some(header)
    }

    /// Bytes of the whole chunk in the file.
    #[must_use]
    pub fn length(&self) -> u64 {
        Self::BYTES as u64 + u64::from(self.stored)
    }
}

/// One chunk in the index.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IndexEntry {
    pub thread: ThreadId,
    pub serial: u32,
    /// In the thread's stream.
    pub offset: u64,
    pub length: u32,
    pub events: u32,
    pub dropped: [u32; 3],
    pub before: u64,
}

impl IndexEntry {
    pub const BYTES: usize = 4 + 4 + 8 + 4 + 4 + 3 * 4 + 8 + 4;

    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let [stack, repetition, excluded] = self.dropped;
        Layout::new()
            .u32(self.thread)
            .u32(self.serial)
            .u64(self.offset)
            .u32(self.length)
            .u32(self.events)
            .u32(stack)
            .u32(repetition)
            .u32(excluded)
            .u64(self.before)
            .seal()
    }

    #[must_use]
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Option<IndexEntry> {
        let mut fields = Fields(bytes);
        let entry = IndexEntry {
            thread: fields.u32(),
            serial: fields.u32(),
            offset: fields.u64(),
            length: fields.u32(),
            events: fields.u32(),
            dropped: [fields.u32(), fields.u32(), fields.u32()],
            before: fields.u64(),
        };
        is_sealed(bytes).then_some(entry)
    }
}

/// In front of some records of the journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameHeader {
    /// Bytes of the records.
    pub length: u32,
    pub records_checksum: u32,
}

impl FrameHeader {
    pub const BYTES: usize = 4 + 4 + 4;

    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        Layout::new().u32(self.length).u32(self.records_checksum).seal()
    }

    #[must_use]
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Option<FrameHeader> {
        let mut fields = Fields(bytes);
        let header = FrameHeader { length: fields.u32(), records_checksum: fields.u32() };
        is_sealed(bytes).then_some(header)
    }
}

const _: () = assert!(FileHeader::BYTES == 28 && GivenUp::BYTES == 28 && CHUNKS_AT == 56);
const _: () = assert!(ChunkHeader::BYTES == 60 && IndexEntry::BYTES == 48 && FrameHeader::BYTES == 12);
