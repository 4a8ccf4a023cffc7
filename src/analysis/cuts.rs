//! Memory cut into variables: the finest pieces such that every access of the trace touches whole ones.
//!
//! Accesses that overlap then name a common variable, and accesses that do not never do.

use rustc_hash::FxHashMap;

const PAGE_BITS: u32 = 12;
const WORDS: usize = (1 << PAGE_BITS) / 64;

/// The places at which an access begins or ends: for each page a bit for each byte that does not belong to the one before it.
#[derive(Default)]
pub struct Cuts {
    pages: FxHashMap<u64, Box<[u64; WORDS]>>,
}

impl Cuts {
    /// Notes an access.
    pub fn add(&mut self, address: u64, size: u64) {
        self.cut(address);
        self.cut(address.saturating_add(size));
    }

    fn cut(&mut self, address: u64) {
        let page = self.pages.entry(address >> PAGE_BITS).or_insert_with(|| Box::new([0; WORDS]));
        page[word_of(address)] |= 1 << (address & 63);
    }

    /// Calls `each` with the first address of every variable of a noted access.
    pub fn variables<E>(&self, address: u64, size: u64, mut each: impl FnMut(u64) -> Result<(), E>) -> Result<(), E> {
        let end = address.saturating_add(size);
        let mut at = address;
        while at < end {
            each(at)?;
            at = self.next_cut(at, end);
        }
        Ok(())
    }

    /// The first cut behind `address`, at most `end`.
    fn next_cut(&self, address: u64, end: u64) -> u64 {
        let mut at = address + 1;
        while at < end {
            let Some(page) = self.pages.get(&(at >> PAGE_BITS)) else {
                at = (at | ((1 << PAGE_BITS) - 1)).saturating_add(1);
                continue;
            };
            let rest = page[word_of(at)] >> (at & 63);
            if rest != 0 {
                return (at + u64::from(rest.trailing_zeros())).min(end);
            }
            at = (at | 63).saturating_add(1);
        }
        end
    }
}

fn word_of(address: u64) -> usize {
    (address >> 6) as usize % WORDS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(cuts: &Cuts, address: u64, size: u64) -> Vec<u64> {
        let mut all = Vec::new();
        let done: Result<(), ()> = cuts.variables(address, size, |variable| {
            all.push(variable);
            Ok(())
        });
        assert_eq!(done, Ok(()));
        all
    }

    #[test]
    fn accesses_that_overlap_share_variables_and_neighbours_do_not() {
        let mut cuts = Cuts::default();
        for (address, size) in [(0x1000, 8), (0x1002, 2), (0x1008, 1), (0x1009, 1), (0x2000, 4)] {
            cuts.add(address, size);
        }
        assert_eq!(variables(&cuts, 0x1000, 8), [0x1000, 0x1002, 0x1004]);
        assert_eq!(variables(&cuts, 0x1002, 2), [0x1002]);
        assert_eq!(variables(&cuts, 0x1009, 1), [0x1009]);
        assert_eq!(variables(&cuts, 0x2000, 4), [0x2000]);
    }

    #[test]
    fn a_range_over_many_pages_is_one_variable_unless_it_is_cut() {
        let mut cuts = Cuts::default();
        cuts.add(0x10_0ff8, 0x10_0000);
        assert_eq!(variables(&cuts, 0x10_0ff8, 0x10_0000), [0x10_0ff8]);
        cuts.add(0x18_0000, 0x40);
        assert_eq!(variables(&cuts, 0x10_0ff8, 0x10_0000), [0x10_0ff8, 0x18_0000, 0x18_0040]);
    }

    #[test]
    fn the_end_of_the_address_space_is_an_end() {
        let mut cuts = Cuts::default();
        cuts.add(u64::MAX - 2, 100);
        assert_eq!(variables(&cuts, u64::MAX - 2, 100), [u64::MAX - 2]);
    }
}
