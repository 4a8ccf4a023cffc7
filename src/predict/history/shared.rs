//! The first pass over a trace: where memory is cut into variables, and which of it threads share.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::analysis::cuts::Cuts;
use crate::analysis::lives::Memory;
use crate::event::{Event, Kind, ThreadId, access};

const PAGE_BITS: u32 = 12;
const WORD_BITS: u32 = 3;
const WORDS: usize = 1 << (PAGE_BITS - WORD_BITS);

const WRITTEN: u32 = 1 << 29;
const MANY: u32 = 1 << 30;
/// It was shared in a life that has ended.
const EVER: u32 = 1 << 31;
/// The first thread, counted from 1; 0 for memory that nobody touched.
const OWNER: u32 = WRITTEN - 1;

/// What must be known before the second pass.
#[derive(Default)]
pub struct Survey {
    pub(super) cuts: Cuts,
    pages: FxHashMap<u64, Box<[u32; WORDS]>>,
    memory: Memory,
    /// Events of each thread that may become steps.
    counts: FxHashMap<ThreadId, usize>,
}

impl Survey {
    /// Takes the next event of the merged order.
    pub fn step(&mut self, thread: ThreadId, event: &Event) {
        if is_order_only(event) {
            return;
        }
        let size = event.size();
        if size > 0 || event.kind().is_some_and(Kind::is_ordered) {
            *self.counts.entry(thread).or_default() += 1;
        }
        if size > 0 {
            self.cuts.add(event.object, size);
            let is_write = matches!(event.kind(), Some(Kind::Write | Kind::AtomicStore | Kind::AtomicUpdate));
            self.touch(thread, event.object..event.object.saturating_add(size), is_write);
        } else if let Some(renewed) = self.memory.step(thread, event) {
            self.renew(renewed);
        } else if event.kind() == Some(Kind::Free)
            && let Some(freed) = self.memory.freed(thread)
        {
            self.free(thread, freed);
        }
    }

    /// How many steps there are at most, unless memory is cut into pieces smaller than what is accessed.
    pub(super) fn most_steps(&self) -> usize {
        self.counts.values().sum()
    }

    pub(super) fn most_steps_of(&self, thread: ThreadId) -> usize {
        self.counts.get(&thread).copied().unwrap_or(0)
    }

    fn touch(&mut self, thread: ThreadId, addresses: Range<u64>, is_write: bool) {
        let owner = (thread + 1) & OWNER;
        for word in words(addresses) {
            let page = self.pages.entry(word / WORDS as u64).or_insert_with(|| Box::new([0; WORDS]));
            let known = &mut page[word as usize % WORDS];
            let first = if *known & OWNER == 0 { owner } else { 0 };
            let others = if first == 0 && *known & OWNER != owner { MANY } else { 0 };
            *known |= others | first | if is_write { WRITTEN } else { 0 };
        }
    }

    /// Memory that nobody touched stays so.
    fn free(&mut self, thread: ThreadId, addresses: Range<u64>) {
        let freed = words(addresses);
        if (freed.end - freed.start) / WORDS as u64 > self.pages.len() as u64 {
            return;
        }
        for word in freed {
            if self.pages.get(&(word / WORDS as u64)).is_some_and(|page| page[word as usize % WORDS] & OWNER != 0) {
                self.touch(thread, word << WORD_BITS..(word << WORD_BITS) + 1, true);
            }
        }
    }

    fn renew(&mut self, addresses: Range<u64>) {
        let renew = |known: &mut u32| {
            *known = if *known & (MANY | WRITTEN) == MANY | WRITTEN { EVER } else { *known & EVER };
        };
        let touched = words(addresses);
        if touched.end - touched.start > (self.pages.len() * WORDS) as u64 {
            for (page, known) in &mut self.pages {
                let first = page * WORDS as u64;
                for (word, known) in (first..).zip(known.iter_mut()) {
                    if touched.contains(&word) {
                        renew(known);
                    }
                }
            }
            return;
        }
        for word in touched {
            if let Some(page) = self.pages.get_mut(&(word / WORDS as u64)) {
                renew(&mut page[word as usize % WORDS]);
            }
        }
    }

    /// Whether threads may share the memory at an address, in one of its lives: at least two touch it and one writes.
    pub(super) fn is_shared(&self, address: u64) -> bool {
        let word = address >> WORD_BITS;
        self.pages.get(&(word / WORDS as u64)).is_some_and(|page| {
            let known = page[word as usize % WORDS];
            known & EVER != 0 || known & (MANY | WRITTEN) == MANY | WRITTEN
        })
    }
}

/// A volatile access has no place in the order of the run but by the signals and waits around it: those keep the order that it makes, and the access
/// itself tells nothing that can be relied on.
pub fn is_order_only(event: &Event) -> bool {
    event.is_plain_access() && event.detail() & access::VOLATILE != 0
}

/// The words of eight bytes that the addresses touch.
fn words(addresses: Range<u64>) -> Range<u64> {
    if addresses.is_empty() {
        return 0..0;
    }
    addresses.start >> WORD_BITS..((addresses.end - 1) >> WORD_BITS) + 1
}
