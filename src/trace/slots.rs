//! The shared mapping: the chunks that threads fill and the worker has not written yet.
//!
//! The runtime maps this file and its threads write their events right into it, so the kernel has them whatever happens to the
//! process. It is deleted at a clean end. After any other end, the slots hold the newest events of every thread.
//!
//! ```text
//! 0      head: file header, its `about` is the size of a slot
//! 4096   slot 0: published u32, thread u32, serial u32, unused u32, then events of 24 bytes
//! ...    slot 1
//! ```

use std::path::Path;

use super::format::{FileHeader, SLOTS_MAGIC, VERSION};
use super::meta::Unreadable;
use super::source::Source;
use crate::event::{Event, ThreadId};
use crate::runtime::chunk::{BYTES, Chunk, EVENTS};

/// Name of its file.
pub const SLOTS: &str = "chunks";

/// Where the first slot begins: mappings start at pages.
pub const SLOTS_AT: usize = 4096;
/// Where the events of a slot begin.
pub const EVENTS_AT: usize = 16;

const _: () = assert!(size_of::<Chunk>() == EVENTS_AT + EVENTS * size_of::<Event>(), "slots are chunks as they are");
const _: () = assert!(size_of::<Chunk>() <= BYTES && BYTES.is_multiple_of(4096));

/// What the runtime writes at the beginning of the file.
#[must_use]
pub fn head(trace_id: u64) -> [u8; FileHeader::BYTES] {
    FileHeader { magic: SLOTS_MAGIC, version: VERSION, about: BYTES as u32, trace_id }.encode()
}

/// The recording that the file in this directory is of, if there is one.
#[must_use]
pub fn id(directory: &Path) -> Option<u64> {
    let mut source = Source::open(directory.join(SLOTS)).ok()?;
    FileHeader::decode(source.array(0)?, SLOTS_MAGIC).map(|header| header.trace_id)
}

/// A slot that holds events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Its place in the file, counted from 0.
    pub index: u64,
    pub thread: ThreadId,
    pub serial: u32,
    pub published: u32,
}

/// Reads the slots.
#[derive(Debug)]
pub struct SlotReader {
    source: Source,
    /// Bytes of a slot: another avmon may have had chunks of another size.
    size: u64,
}

/// Slots are whole pages, and none was ever larger.
const MOST_SIZE: u32 = 1 << 20;

impl SlotReader {
    pub fn open(directory: &Path, trace_id: u64) -> Result<SlotReader, Unreadable> {
        let mut source = Source::open(directory.join(SLOTS))?;
        match source.array(0).and_then(|bytes| FileHeader::decode(bytes, SLOTS_MAGIC)) {
            Some(header) if header.trace_id != trace_id => Err(Unreadable::Foreign),
            Some(FileHeader { version: VERSION, about: size @ 4096..=MOST_SIZE, .. }) if size % 4096 == 0 => {
                Ok(SlotReader { source, size: u64::from(size) })
            }
            _ => Err(Unreadable::Damaged),
        }
    }

    /// The slots that hold events, by thread and serial. What claims more events than fit is left out, and its place told.
    pub fn used(&mut self) -> (Vec<Slot>, Vec<u64>) {
        let (mut used, mut broken) = (Vec::new(), Vec::new());
        let most_events = (self.size - EVENTS_AT as u64) / size_of::<Event>() as u64;
        let mut at = SLOTS_AT as u64;
        while let Some(head) = self.source.array::<EVENTS_AT>(at) {
            let index = (at - SLOTS_AT as u64) / self.size;
            let (words, _) = head.as_chunks();
            let [published, thread, serial] = [0, 1, 2].map(|word| u32::from_le_bytes(words[word]));
            if u64::from(published) > most_events {
                broken.push(index);
            } else if published > 0 {
                used.push(Slot { index, thread, serial, published });
            }
            // Slots that were never used are holes.
            let next = at + self.size;
            let data = if published == 0 { self.source.data_from(next) } else { next };
            at = next + (data - next) / self.size * self.size;
        }
        used.sort_unstable_by_key(|slot| (slot.thread, slot.serial, slot.published));
        (used, broken)
    }

    /// Appends the events of a slot, from its event `from` on. An event that is all zeros or of no kind was never written, and nothing
    /// after it is trusted; how many were left out for that. When the machine stops, not only the program, a page of an older
    /// chunk may be left in a slot, and cannot be told from a newer one.
    pub fn events(&mut self, slot: &Slot, from: u32, out: &mut Vec<Event>) -> u32 {
        let first = SLOTS_AT + EVENTS_AT + from as usize * size_of::<Event>();
        let at = slot.index.saturating_mul(self.size).saturating_add(first as u64);
        let wanted = slot.published.saturating_sub(from);
        let (events, _) = self.source.bytes(at, wanted as usize * size_of::<Event>()).as_chunks();
        let before = out.len();
        out.extend(events.iter().map_while(event_of));
        wanted - (out.len() - before) as u32
    }
}

/// The event in a slot.
fn event_of(bytes: &[u8; size_of::<Event>()]) -> Option<Event> {
    if bytes.iter().all(|&byte| byte == 0) {
        return None;
    }
    let (words, _) = bytes.as_chunks();
    let [head, object, pc] = [0, 1, 2].map(|word| u64::from_le_bytes(words[word]));
    let event = Event::from_words([head, object, pc]);
    event.kind().is_some().then_some(event)
}
