//! How many variables threads share: pieces of eight bytes that at least two threads touch and at least one writes, counted anew for
//! each life of the memory.
//!
//! Memory is bounded: when too many pages were touched, only every second one is looked at, then every fourth, and so on. The count
//! is then an estimate.

use crate::event::ThreadId;
use rustc_hash::FxHashMap;
use std::ops::Range;

const PAGE_BITS: u32 = 12;
const GRANULE_BITS: u32 = 3;
const GRANULES: usize = 1 << (PAGE_BITS - GRANULE_BITS);
/// Of two KiB each.
const MOST_PAGES: usize = 1 << 15;

const WRITTEN: u32 = 1 << 30;
const MANY: u32 = 1 << 31;
/// The first thread, counted from 1; 0 for a piece that nobody touched.
const OWNER: u32 = WRITTEN - 1;

struct Page {
    granules: [u32; GRANULES],
    /// Shared pieces of lives that have ended.
    ended: u64,
}

/// Counts shared variables.
#[derive(Default)]
pub struct Sharing {
    pages: FxHashMap<u64, Box<Page>>,
    /// One in `1 << skipped` pages is looked at.
    skipped: u32,
}

impl Sharing {
    /// Takes an access.
    pub fn touch(&mut self, thread: ThreadId, address: u64, size: u64, is_write: bool) {
        let owner = (thread + 1) & OWNER;
        for (page, granules) in pieces(address..address.saturating_add(size)) {
            if !self.is_looked_at(page) {
                continue;
            }
            let page = self.pages.entry(page).or_insert_with(|| Box::new(Page { granules: [0; GRANULES], ended: 0 }));
            for granule in &mut page.granules[granules] {
                let others = if matches!(*granule & OWNER, 0) || *granule & OWNER == owner { 0 } else { MANY };
                let first = if *granule & OWNER == 0 { owner } else { 0 };
                *granule |= others | first | if is_write { WRITTEN } else { 0 };
            }
        }
        while self.pages.len() > MOST_PAGES {
            self.skipped += 1;
            let skipped = self.skipped;
            self.pages.retain(|page, _| is_chosen(*page, skipped));
        }
    }

    /// Memory begins a new life.
    pub fn renew(&mut self, addresses: Range<u64>) {
        let pages = (addresses.end >> PAGE_BITS) - (addresses.start >> PAGE_BITS);
        if pages as usize > self.pages.len() {
            let known: Vec<u64> = self.pages.keys().copied().collect();
            for page in known {
                let begin = page << PAGE_BITS;
                let end = begin.saturating_add(1 << PAGE_BITS);
                self.renew_pieces(begin.max(addresses.start)..end.min(addresses.end));
            }
        } else {
            self.renew_pieces(addresses);
        }
    }

    fn renew_pieces(&mut self, addresses: Range<u64>) {
        for (page, granules) in pieces(addresses) {
            if let Some(page) = self.pages.get_mut(&page) {
                page.ended +=
                    page.granules[granules.clone()].iter().filter(|granule| is_shared(**granule)).count() as u64;
                page.granules[granules].fill(0);
            }
        }
    }

    /// How many there are, and in how many pages one was looked at for that.
    pub fn count(&self) -> (u64, u64) {
        let shared =
            |page: &Page| page.ended + page.granules.iter().filter(|granule| is_shared(**granule)).count() as u64;
        let seen: u64 = self.pages.values().map(|page| shared(page)).sum();
        (seen << self.skipped, 1 << self.skipped)
    }

    fn is_looked_at(&self, page: u64) -> bool {
        is_chosen(page, self.skipped)
    }
}

fn is_shared(granule: u32) -> bool {
    granule & (MANY | WRITTEN) == MANY | WRITTEN
}

fn is_chosen(page: u64, skipped: u32) -> bool {
    // The high bits of the product depend on all bits of the number.
    skipped == 0 || page.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - skipped) == 0
}

/// The pieces of eight bytes that the addresses touch, page by page.
fn pieces(addresses: Range<u64>) -> impl Iterator<Item = (u64, Range<usize>)> {
    let first = addresses.start >> GRANULE_BITS;
    let last = if addresses.is_empty() { None } else { Some((addresses.end - 1) >> GRANULE_BITS) };
    let page_of = |granule: u64| granule / GRANULES as u64;
    let pages = last.into_iter().flat_map(move |last| page_of(first)..=page_of(last));
    pages.map(move |page| {
        let begin = page * GRANULES as u64;
        let end = begin + GRANULES as u64;
        let last = last.unwrap_or(first) + 1;
        (page, (first.max(begin) - begin) as usize..(last.min(end) - begin) as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_and_a_write_make_a_shared_variable() {
        let mut sharing = Sharing::default();
        sharing.touch(0, 0x1000, 8, true);
        sharing.touch(0, 0x1000, 8, true);
        assert_eq!(sharing.count(), (0, 1), "one thread");
        sharing.touch(0, 0x2000, 8, false);
        sharing.touch(1, 0x2000, 8, false);
        assert_eq!(sharing.count(), (0, 1), "nobody writes");
        sharing.touch(1, 0x1004, 1, false);
        assert_eq!(sharing.count(), (1, 1));
        sharing.touch(2, 0x2000, 4, true);
        assert_eq!(sharing.count(), (2, 1));
    }

    #[test]
    fn a_range_over_pages_is_many_variables() {
        let mut sharing = Sharing::default();
        sharing.touch(0, 0x1ff4, 0x1018, true);
        sharing.touch(1, 0x1ff4, 0x1018, true);
        assert_eq!(sharing.count(), (0x1018 / 8 + 1, 1));
        sharing.touch(1, 0x9000, 0, true);
    }

    #[test]
    fn a_new_life_counts_anew() {
        let mut sharing = Sharing::default();
        for _ in 0..3 {
            sharing.touch(0, 0x1000, 8, true);
            sharing.touch(1, 0x1000, 8, true);
            sharing.renew(0x1000..0x1010);
        }
        sharing.touch(1, 0x1000, 8, true);
        assert_eq!(sharing.count(), (3, 1));
        sharing.renew(0..u64::MAX);
        sharing.touch(0, 0x1000, 8, true);
        assert_eq!(sharing.count(), (3, 1));
    }

    #[test]
    fn too_many_pages_make_an_estimate() {
        let mut sharing = Sharing::default();
        let pages = MOST_PAGES as u64 * 3;
        for thread in 0..2 {
            (0..pages).for_each(|page| sharing.touch(thread, page << PAGE_BITS, 8, true));
        }
        let (count, one_in) = sharing.count();
        assert!(one_in >= 4 && sharing.pages.len() <= MOST_PAGES);
        assert!((pages * 9 / 10..pages * 11 / 10).contains(&count), "{count} of {pages}");
    }
}
