//! One thread's events, chunk by chunk: first those of its stream file, then those that only the shared mapping has.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::codec::Decoder;
use super::copies;
use super::format::ChunkHeader;
use super::index::IndexReader;
use super::problem::Problem;
use super::scan::{Found, Gap, Scan, Tail};
use super::slots::{Slot, SlotReader};
use super::source::Source;
use super::stack::OpenFunctions;
use super::thin::Dropped;
use crate::event::{Event, ThreadId};

/// What is known of a thread's stream before it is read.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub thread: ThreadId,
    /// Its file, if there is one.
    pub path: Option<PathBuf>,
    /// How many chunks and events it should have, by the index.
    pub expected: Option<(u32, u64)>,
    /// Its slots in the shared mapping, by serial.
    pub slots: Vec<Slot>,
}

/// A chunk, in the file or in a slot.
#[derive(Clone, Copy, Debug)]
pub(super) enum Piece {
    File(Found),
    Slot { slot: Slot, from: u32, before: u64 },
}

impl Piece {
    pub fn serial(&self) -> u32 {
        match self {
            Piece::File(found) => found.header.serial,
            Piece::Slot { slot, .. } => slot.serial,
        }
    }

    /// Events of the thread before it, and in it.
    pub fn extent(&self) -> (u64, u64) {
        match self {
            Piece::File(found) => (found.header.before, u64::from(found.header.events)),
            Piece::Slot { slot, from, before } => (*before, u64::from(slot.published - from)),
        }
    }

    /// Bytes in the stream file.
    pub fn bytes(&self) -> u64 {
        match self {
            Piece::File(found) => found.header.length(),
            Piece::Slot { .. } => 0,
        }
    }

    pub fn dropped(&self) -> Dropped {
        match self {
            Piece::File(found) => {
                let [stack, repetition, excluded] = found.header.dropped.map(u64::from);
                Dropped { stack, repetition, excluded }
            }
            Piece::Slot { .. } => Dropped::default(),
        }
    }
}

/// A chunk that was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChunkInfo {
    pub serial: u32,
    /// How many events of the thread came before its first one.
    pub before: u64,
    /// What the leave-out rules dropped of it.
    pub dropped: Dropped,
    /// Events are missing right before it.
    pub follows_gap: bool,
    /// The program died before it was written: it is from the shared mapping.
    pub is_unwritten: bool,
}

/// Where the next chunk of a thread comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    File,
    Slots,
    End,
}

/// Reads one thread.
pub struct Stream<'a> {
    directory: &'a Path,
    trace_id: u64,
    known: &'a Known,
    verify: bool,
    scan: Option<Scan>,
    phase: Phase,
    /// Wrong with the end of the file, unless a slot has what is missing.
    tail: Option<Tail>,
    slots_done: usize,
    slots: Option<SlotReader>,
    next_serial: u32,
    next_before: u64,
    last_published: u32,
    /// Found by a seek, comes next.
    sought: Option<Piece>,
    last: Option<Piece>,
    follows_gap: bool,
    stack: OpenFunctions,
    problems: Vec<Problem>,
    unpacker: Rc<RefCell<Unpacker>>,
}

impl<'a> Stream<'a> {
    /// Those who only count do not verify.
    pub(super) fn new(
        directory: &'a Path,
        trace_id: u64,
        known: &'a Known,
        verify: bool,
        unpacker: Rc<RefCell<Unpacker>>,
    ) -> Stream<'a> {
        let mut stream = Stream {
            directory,
            trace_id,
            known,
            verify,
            scan: None,
            phase: Phase::File,
            tail: None,
            slots_done: 0,
            slots: None,
            next_serial: 0,
            next_before: 0,
            last_published: 0,
            sought: None,
            last: None,
            follows_gap: false,
            stack: OpenFunctions::default(),
            problems: Vec::new(),
            unpacker,
        };
        stream.rewind();
        stream
    }

    fn rewind(&mut self) {
        let source = self.known.path.as_ref().and_then(|path| Source::open(path.clone()).ok());
        let scan = source.map(|source| Scan::new(source, self.known.thread, self.trace_id, self.verify));
        self.phase = if scan.is_some() { Phase::File } else { Phase::Slots };
        self.scan = scan;
        self.tail = None;
        self.slots_done = 0;
        (self.next_serial, self.next_before, self.last_published) = (0, 0, 0);
        self.sought = None;
        self.last = None;
        self.follows_gap = false;
        self.stack = OpenFunctions::default();
        self.problems.clear();
    }

    /// Replaces `events` with those of the next chunk.
    pub fn next_chunk(&mut self, events: &mut Vec<Event>) -> Option<ChunkInfo> {
        loop {
            let piece = self.sought.take().or_else(|| self.next_piece())?;
            if self.load(&piece, events) {
                self.last = Some(piece);
                return Some(ChunkInfo {
                    serial: piece.serial(),
                    before: piece.extent().0,
                    dropped: piece.dropped(),
                    follows_gap: std::mem::take(&mut self.follows_gap),
                    is_unwritten: matches!(piece, Piece::Slot { .. }),
                });
            }
        }
    }

    /// Goes to the chunk that has the thread's event with this number, counted from 0: it comes next. Behind the last event, none does.
    pub fn seek(&mut self, event: u64) {
        self.rewind();
        let holds = |before: u64, events: u64| event >= before && event - before < events;
        let index = IndexReader::open(self.directory, self.trace_id).ok();
        let entry = index.and_then(|mut index| {
            index.find(|entry| entry.thread == self.known.thread && holds(entry.before, u64::from(entry.events)))
        });
        if let (Some(scan), Some(entry)) = (&mut self.scan, entry) {
            // If the index is wrong, the search begins at the front.
            scan.jump(entry.offset, entry.serial, entry.before);
        }
        while let Some(piece) = self.next_piece() {
            let (before, events) = piece.extent();
            // What holds the event is missing if this begins behind it.
            if event < before || holds(before, events) {
                self.sought = Some(piece);
                break;
            }
            self.last = Some(piece);
        }
    }

    /// The functions that were open where the last chunk begins.
    #[must_use]
    pub fn stack(&self) -> &OpenFunctions {
        &self.stack
    }

    /// What was found missing on the way, since the last seek.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    /// The piece that was read last.
    pub(super) fn last_piece(&self) -> Option<Piece> {
        self.last
    }

    /// Whether the file has no more bytes, and no slot is left to look at.
    pub(super) fn is_at_last(&self) -> bool {
        self.slots_done == self.known.slots.len() && self.scan.as_ref().is_none_or(|scan| scan.at() >= scan.size())
    }

    /// Chunks and events that ring mode gave up, and where in the file the first chunk is.
    pub(super) fn given_up(&self) -> (u64, u64, u64) {
        self.scan.as_ref().map_or((0, 0, 0), |scan| (scan.given_up.chunks, scan.given_up.events, scan.at()))
    }

    pub(super) fn file_size(&self) -> u64 {
        self.scan.as_ref().map_or(0, Scan::size)
    }

    /// Goes behind the last chunk of the file that the index knows, without looking at what is before it; false if the file
    /// is not that long.
    pub(super) fn skip_file(&mut self, next_serial: u32, next_before: u64, end: u64, last_published: u32) -> bool {
        self.scan.as_mut().is_some_and(|scan| scan.skip(next_serial, next_before, end, last_published))
    }

    /// The next chunk, not read yet.
    pub(super) fn next_piece(&mut self) -> Option<Piece> {
        if self.phase == Phase::File
            && let Some(found) = self.next_in_file()
        {
            return Some(Piece::File(found));
        }
        while let Some(slot) = self.known.slots.get(self.slots_done) {
            self.slots_done += 1;
            if let Some(piece) = self.in_slot(*slot) {
                return Some(piece);
            }
        }
        if self.phase != Phase::End {
            self.phase = Phase::End;
            self.judge_end();
        }
        None
    }

    fn next_in_file(&mut self) -> Option<Found> {
        let (found, gap) = self.scan.as_mut()?.next();
        match gap {
            Some(Gap::Before(problem)) => {
                self.follows_gap |= matches!(problem, Problem::Missing { .. });
                self.problems.push(problem);
            }
            Some(Gap::AtEnd(tail)) => self.tail = Some(tail),
            None => {}
        }
        if found.is_none()
            && let Some(scan) = &self.scan
        {
            self.phase = Phase::Slots;
            (self.next_serial, self.next_before) = (scan.next_serial, scan.next_before);
            self.last_published = scan.last_published;
        }
        found
    }

    /// What a slot adds to all that came before.
    fn in_slot(&mut self, slot: Slot) -> Option<Piece> {
        let Slot { index, thread, serial, published } = slot;
        match serial.cmp(&self.next_serial) {
            Ordering::Less => {
                // The stream has this chunk. Only in the last one more may have been published after it was written.
                if serial + 1 < self.next_serial || published == self.last_published {
                    return None;
                }
                if published < self.last_published {
                    self.problems.push(Problem::SlotContradicts { index, thread, serial });
                    return None;
                }
            }
            // A writer that was killed in the middle of a chunk leaves it torn in the file and whole in its slot.
            Ordering::Equal => self.tail = None,
            Ordering::Greater => {
                let bytes = self.tail.take().map(|tail| (tail.from, u64::MAX));
                let chunks = Some((self.next_serial, serial - 1));
                self.problems.push(Problem::Missing { thread, chunks, events: None, bytes });
                self.follows_gap = true;
            }
        }
        let from = if serial < self.next_serial { self.last_published } else { 0 };
        let piece = Piece::Slot { slot, from, before: self.next_before };
        self.next_serial = serial.saturating_add(1);
        self.next_before = self.next_before.saturating_add(u64::from(published - from));
        self.last_published = published;
        Some(piece)
    }

    /// Whether the end of what is there is the end of what was written.
    fn judge_end(&mut self) {
        // That the whole file is missing was told.
        if self.known.path.is_none() {
            return;
        }
        let torn = self.tail.and_then(|tail| tail.torn);
        let torn = torn
            .map(|header| (header.serial.saturating_add(1), header.before.saturating_add(u64::from(header.events))));
        let expected = self.known.expected.into_iter().chain(torn).max();
        let missing = expected.filter(|&(serial, _)| serial > self.next_serial);
        let chunks = missing.map(|(serial, _)| (self.next_serial, serial - 1));
        let events = missing.map(|(_, events)| events.saturating_sub(self.next_before));
        let end = self.scan.as_ref().map_or(0, Scan::size);
        let bytes = self.tail.map_or(end, |tail| tail.from);
        if missing.is_some() || self.tail.is_some() {
            let thread = self.known.thread;
            self.problems.push(Problem::Missing { thread, chunks, events, bytes: Some((bytes, u64::MAX)) });
        }
    }

    /// Replaces `events` with those of a piece. False if it turns out to be damaged.
    pub(super) fn load(&mut self, piece: &Piece, events: &mut Vec<Event>) -> bool {
        if let Piece::Slot { .. } = piece {
            self.stack = self.stack_after_last(events);
        }
        let is_good = self.events_of(piece, events);
        copies::order(events);
        self.follows_gap |= !is_good;
        is_good
    }

    /// The events of a piece; of one in the file also the stack.
    fn events_of(&mut self, piece: &Piece, events: &mut Vec<Event>) -> bool {
        events.clear();
        match piece {
            Piece::File(found) => {
                let header = &found.header;
                let unpacker = &mut *self.unpacker.borrow_mut();
                let stored = self.scan.as_mut().map(|scan| scan.payload(found));
                let is_good =
                    stored.and_then(|stored| unpacker.unpack(header, stored, &mut self.stack, events)).is_some();
                if !is_good {
                    self.problems.push(Problem::Missing {
                        thread: header.thread,
                        chunks: Some((header.serial, header.serial)),
                        events: Some(u64::from(header.events)),
                        bytes: Some((found.at, found.at + header.length())),
                    });
                }
                is_good
            }
            Piece::Slot { slot, from, .. } => {
                if self.slots.is_none() {
                    self.slots = SlotReader::open(self.directory, self.trace_id).ok();
                }
                let wanted = slot.published - from;
                let missing = self.slots.as_mut().map_or(wanted, |slots| slots.events(slot, *from, events));
                if missing > 0 {
                    self.problems.push(Problem::SlotTorn { thread: slot.thread, serial: slot.serial, events: missing });
                }
                !events.is_empty()
            }
        }
    }

    /// The stack behind the last piece. Slots do not tell what is open where they begin; chunks of the file do.
    fn stack_after_last(&mut self, events: &mut Vec<Event>) -> OpenFunctions {
        let last = self.last.filter(|_| !self.follows_gap);
        if !last.is_some_and(|last| self.events_of(&last, events)) {
            return OpenFunctions::default();
        }
        let mut stack = std::mem::take(&mut self.stack);
        stack.apply(events);
        stack
    }
}

/// Payloads to events. Its tables are large, so streams that are read together share one.
#[derive(Default)]
pub(super) struct Unpacker {
    decoder: Decoder,
    payload: Vec<u8>,
}

impl Unpacker {
    fn unpack(
        &mut self,
        header: &ChunkHeader,
        stored: &[u8],
        stack: &mut OpenFunctions,
        events: &mut Vec<Event>,
    ) -> Option<()> {
        // The header was checked: no more than a chunk can have.
        self.payload.resize(header.unpacked as usize, 0);
        let unpacked = lz4_flex::block::decompress_into(stored, &mut self.payload).ok()?;
        let mut rest = self.payload.get(..unpacked).filter(|_| unpacked == header.unpacked as usize)?;
        stack.decode(&mut rest)?;
        self.decoder.decode(rest, header.events as usize, events).ok()?;
        (events.len() == header.events as usize).then_some(())
    }
}
