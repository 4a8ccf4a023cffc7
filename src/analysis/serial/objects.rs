//! What a program keeps at addresses: locks, semaphores, conditions.

use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::ops::Range;

pub struct Objects<T> {
    by_address: FxHashMap<u64, T>,
    /// For the question what lies in a piece of memory. Memory is allocated more often than objects are made.
    addresses: BTreeSet<u64>,
}

impl<T> Default for Objects<T> {
    fn default() -> Objects<T> {
        Objects { by_address: FxHashMap::default(), addresses: BTreeSet::new() }
    }
}

impl<T> Objects<T> {
    #[inline]
    pub fn get_mut(&mut self, address: u64) -> Option<&mut T> {
        self.by_address.get_mut(&address)
    }

    #[inline]
    pub fn get_or_make(&mut self, address: u64, make: impl FnOnce() -> T) -> &mut T {
        match self.by_address.entry(address) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                self.addresses.insert(address);
                place.insert(make())
            }
        }
    }

    pub fn take(&mut self, address: u64) -> Option<T> {
        self.addresses.remove(&address);
        self.by_address.remove(&address)
    }

    /// The objects in this memory that `is_over` says so of.
    pub fn take_in(&mut self, memory: &Range<u64>, is_over: impl Fn(&T) -> bool) -> Vec<T> {
        let is_gone = |address: &&u64| self.by_address.get(address).is_some_and(&is_over);
        let gone: Vec<u64> = self.addresses.range(memory.clone()).filter(is_gone).copied().collect();
        gone.into_iter().filter_map(|address| self.take(address)).collect()
    }

    pub fn take_all(&mut self) -> impl Iterator<Item = T> {
        self.addresses.clear();
        self.by_address.drain().map(|(_, object)| object)
    }
}
