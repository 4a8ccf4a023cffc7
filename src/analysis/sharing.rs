//! Which memory threads share: pieces of eight bytes that at least two threads touch and at least one writes, in one life of the
//! memory.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::event::ThreadId;

pub const PAGE_BITS: u32 = 12;
const PIECE_BITS: u32 = 3;
const PIECES: usize = 1 << (PAGE_BITS - PIECE_BITS);

/// Who touched eight bytes.
#[derive(Clone, Copy, Default)]
struct Piece(u32);

impl Piece {
    const WRITTEN: u32 = 1 << 29;
    const MANY: u32 = 1 << 30;
    /// It was shared in a life that has ended.
    const EVER: u32 = 1 << 31;
    /// The first thread of this life, counted from 1; 0 if nobody touched it.
    const OWNER: u32 = Piece::WRITTEN - 1;

    fn is_touched(self) -> bool {
        self.0 & Piece::OWNER != 0
    }

    fn is_shared(self) -> bool {
        self.0 & (Piece::MANY | Piece::WRITTEN) == Piece::MANY | Piece::WRITTEN
    }

    fn was_ever_shared(self) -> bool {
        self.is_shared() || self.0 & Piece::EVER != 0
    }

    fn touch(&mut self, thread: ThreadId, is_write: bool) {
        let owner = (thread + 1) & Piece::OWNER;
        if !self.is_touched() {
            self.0 |= owner;
        } else if self.0 & Piece::OWNER != owner {
            self.0 |= Piece::MANY;
        }
        if is_write {
            self.0 |= Piece::WRITTEN;
        }
    }

    fn renew(&mut self) {
        self.0 = if self.was_ever_shared() { Piece::EVER } else { 0 };
    }
}

struct Page {
    pieces: [Piece; PIECES],
    /// Shared pieces of lives that have ended.
    ended: u64,
}

impl Page {
    fn renew(&mut self, pieces: Range<usize>) {
        for piece in &mut self.pieces[pieces] {
            self.ended += u64::from(piece.is_shared());
            piece.renew();
        }
    }

    fn shared(&self) -> u64 {
        self.ended + self.pieces.iter().filter(|piece| piece.is_shared()).count() as u64
    }
}

/// All memory that was touched.
#[derive(Default)]
pub struct Table {
    pages: FxHashMap<u64, Box<Page>>,
}

impl Table {
    /// Takes an access.
    pub fn touch(&mut self, thread: ThreadId, addresses: Range<u64>, is_write: bool) {
        for (page, addresses) in by_page(addresses) {
            let new = || Box::new(Page { pieces: [Piece::default(); PIECES], ended: 0 });
            let page = self.pages.entry(page).or_insert_with(new);
            page.pieces[pieces(&addresses)].iter_mut().for_each(|piece| piece.touch(thread, is_write));
        }
    }

    /// A thread gives memory back: it writes to all of it that anybody touched. Where that would have to be looked for in more pages than are known at
    /// all, it is left as it is.
    pub fn free(&mut self, thread: ThreadId, addresses: Range<u64>) {
        if whole_pages(&addresses) > self.pages.len() as u64 {
            return;
        }
        for (page, addresses) in by_page(addresses) {
            let Some(page) = self.pages.get_mut(&page) else { continue };
            let touched = page.pieces[pieces(&addresses)].iter_mut().filter(|piece| piece.is_touched());
            touched.for_each(|piece| piece.touch(thread, true));
        }
    }

    /// Memory begins a new life.
    pub fn renew(&mut self, addresses: Range<u64>) {
        if whole_pages(&addresses) > self.pages.len() as u64 {
            self.pages.iter_mut().for_each(|(&page, known)| known.renew(pieces(&within(page, &addresses))));
            return;
        }
        for (page, addresses) in by_page(addresses) {
            if let Some(page) = self.pages.get_mut(&page) {
                page.renew(pieces(&addresses));
            }
        }
    }

    /// Whether threads share the memory at an address, in one of its lives.
    #[must_use]
    pub fn was_ever_shared(&self, address: u64) -> bool {
        let piece = (address >> PIECE_BITS) as usize % PIECES;
        self.pages.get(&(address >> PAGE_BITS)).is_some_and(|page| page.pieces[piece].was_ever_shared())
    }

    /// How many pieces are shared, in each of their lives.
    #[must_use]
    pub fn shared(&self) -> u64 {
        self.pages.values().map(|page| page.shared()).sum()
    }

    /// How many pages are known; each of them takes two KiB.
    #[must_use]
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Forgets all other pages.
    pub fn keep(&mut self, is_kept: impl Fn(u64) -> bool) {
        self.pages.retain(|page, _| is_kept(*page));
    }
}

/// The addresses, page by page.
pub fn by_page(addresses: Range<u64>) -> impl Iterator<Item = (u64, Range<u64>)> {
    let first = addresses.start >> PAGE_BITS;
    let last = (!addresses.is_empty()).then(|| (addresses.end - 1) >> PAGE_BITS);
    let pages = last.into_iter().flat_map(move |last| first..=last);
    pages.map(move |page| (page, within(page, &addresses)))
}

/// Those of a page; empty if there are none.
fn within(page: u64, addresses: &Range<u64>) -> Range<u64> {
    let begin = page << PAGE_BITS;
    let end = begin.saturating_add(1 << PAGE_BITS);
    begin.max(addresses.start)..end.min(addresses.end)
}

/// The pieces that addresses of one page touch.
fn pieces(addresses: &Range<u64>) -> Range<usize> {
    if addresses.is_empty() {
        return 0..0;
    }
    let piece = |address: u64| (address >> PIECE_BITS) as usize % PIECES;
    piece(addresses.start)..piece(addresses.end - 1) + 1
}

/// How many pages could be filled with the pieces that the addresses touch.
fn whole_pages(addresses: &Range<u64>) -> u64 {
    let pieces = addresses.end.div_ceil(1 << PIECE_BITS).saturating_sub(addresses.start >> PIECE_BITS);
    pieces / PIECES as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_life_ends_sharing_but_it_is_remembered() {
        let mut table = Table::default();
        table.touch(0, 0x1000..0x1010, true);
        table.touch(1, 0x1000..0x1008, false);
        assert!(table.was_ever_shared(0x1007) && !table.was_ever_shared(0x1008));
        for addresses in [0x1000..0x1010, 0..u64::MAX] {
            table.renew(addresses);
            table.touch(2, 0x1000..0x1010, true);
            assert!(table.was_ever_shared(0x1000) && !table.was_ever_shared(0x1008));
            assert_eq!(table.shared(), 1);
        }
    }

    #[test]
    fn who_frees_writes_to_what_was_touched() {
        let mut table = Table::default();
        table.touch(0, 0x1000..0x1008, false);
        table.free(1, 0x1000..0x1800);
        table.touch(0, 0x1010..0x1018, false);
        assert!(table.was_ever_shared(0x1000) && !table.was_ever_shared(0x1010));
        assert_eq!((table.shared(), table.pages()), (1, 1));
    }

    #[test]
    fn the_end_of_memory_has_pages_too() {
        let mut table = Table::default();
        for thread in 0..2 {
            table.touch(thread, u64::MAX - 0x1000..u64::MAX, true);
        }
        assert_eq!((table.shared(), table.pages()), (0x1000 / 8 + 1, 2));
        table.touch(0, 0x9000..0x9000, true);
        assert_eq!(table.pages(), 2);
    }
}
