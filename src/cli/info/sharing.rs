//! How many variables threads share: pieces of eight bytes that at least two threads touch and at least one writes, counted anew for
//! each life of the memory.
//!
//! Memory is bounded: when too many pages were touched, only every second one is looked at, then every fourth, and so on. The count
//! is then an estimate.

use crate::analysis::sharing::{Table, by_page};
use crate::event::ThreadId;
use std::ops::Range;

/// Of two KiB each.
const MOST_PAGES: usize = 1 << 15;

/// Counts shared variables.
#[derive(Default)]
pub struct Sharing {
    table: Table,
    /// One in `1 << skipped` pages is looked at.
    skipped: u32,
}

impl Sharing {
    /// Takes an access.
    pub fn touch(&mut self, thread: ThreadId, address: u64, size: u64, is_write: bool) {
        for (page, addresses) in by_page(address..address.saturating_add(size)) {
            if is_chosen(page, self.skipped) {
                self.table.touch(thread, addresses, is_write);
            }
        }
        while self.table.pages() > MOST_PAGES {
            self.skipped += 1;
            self.table.keep(|page| is_chosen(page, self.skipped));
        }
    }

    /// Memory begins a new life.
    pub fn renew(&mut self, addresses: Range<u64>) {
        self.table.renew(addresses);
    }

    /// How many there are, and in how many pages one was looked at for that.
    pub fn count(&self) -> (u64, u64) {
        (self.table.shared() << self.skipped, 1 << self.skipped)
    }
}

fn is_chosen(page: u64, skipped: u32) -> bool {
    // The high bits of the product depend on all bits of the number.
    skipped == 0 || page.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - skipped) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::sharing::PAGE_BITS;

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
        assert!(one_in >= 4 && sharing.table.pages() <= MOST_PAGES);
        assert!((pages * 9 / 10..pages * 11 / 10).contains(&count), "{count} of {pages}");
    }
}
