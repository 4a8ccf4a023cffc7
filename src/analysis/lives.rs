//! Generations: what lives at an address for a while, and which addresses begin a new life at an allocation.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::event::{Event, Kind, ThreadId, memory};

/// Follows the allocations of a trace in merged order.
#[derive(Default)]
pub struct Memory {
    /// Size of each live block, by address.
    blocks: BTreeMap<u64, u64>,
    /// What a thread's `Extent` said about its next event.
    extents: FxHashMap<ThreadId, u64>,
    /// The block that a thread freed last.
    freed: FxHashMap<ThreadId, (u64, u64)>,
}

impl Memory {
    /// Takes the next event. If memory begins a new life with it, its addresses are returned.
    pub fn step(&mut self, thread: ThreadId, event: &Event) -> Option<Range<u64>> {
        match event.kind()? {
            Kind::Extent => {
                self.extents.insert(thread, event.number());
                None
            }
            Kind::Free => {
                let size = self.blocks.remove(&event.object)?;
                self.freed.insert(thread, (event.object, size));
                None
            }
            Kind::Allocate => {
                let size = self.extents.remove(&thread)?;
                let freed = self.freed.remove(&thread);
                self.blocks.insert(event.object, size);
                let kept = match freed {
                    // What is resized in place lives on, as far as it was there.
                    Some((address, old)) if address == event.object && event.detail() == memory::RESIZED => {
                        old.min(size)
                    }
                    _ => 0,
                };
                Some(event.object.saturating_add(kept)..event.object.saturating_add(size))
            }
            _ => None,
        }
    }

    /// The block that a thread freed with its last event.
    #[must_use]
    pub fn freed(&self, thread: ThreadId) -> Option<Range<u64>> {
        self.freed.get(&thread).map(|&(address, size)| address..address.saturating_add(size))
    }

    /// The size of the block that begins at an address.
    #[must_use]
    pub fn size(&self, address: u64) -> Option<u64> {
        self.blocks.get(&address).copied()
    }
}

/// The lives at the addresses of one kind of object.
#[derive(Default)]
pub struct Lives {
    by_address: BTreeMap<u64, u32>,
    begun: u32,
}

impl Lives {
    /// The life at `address`. It begins here if there is none.
    pub fn at(&mut self, address: u64) -> u32 {
        *self.by_address.entry(address).or_insert_with(|| {
            self.begun += 1;
            self.begun - 1
        })
    }

    /// The life at `address`, if there is one.
    #[must_use]
    pub fn known(&self, address: u64) -> Option<u32> {
        self.by_address.get(&address).copied()
    }

    /// Ends what lives at these addresses and tells what that was.
    pub fn end(&mut self, addresses: Range<u64>) -> Vec<u32> {
        if addresses.is_empty() {
            return Vec::new();
        }
        let ended: Vec<(u64, u32)> =
            self.by_address.range(addresses).map(|(&address, &life)| (address, life)).collect();
        for (address, _) in &ended {
            self.by_address.remove(address);
        }
        ended.into_iter().map(|(_, life)| life).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocated(memory: &mut Memory, thread: ThreadId, address: u64, size: u64, detail: u8) -> Option<Range<u64>> {
        assert_eq!(memory.step(thread, &Event::new(Kind::Extent, 0, size, 0, 0)), None);
        memory.step(thread, &Event::new(Kind::Allocate, detail, 0, address, 0))
    }

    fn freed(memory: &mut Memory, thread: ThreadId, address: u64) {
        assert_eq!(memory.step(thread, &Event::new(Kind::Free, 0, 0, address, 0)), None);
    }

    #[test]
    fn an_allocation_begins_a_new_life() {
        let mut memory = Memory::default();
        assert_eq!(allocated(&mut memory, 1, 100, 16, memory::HEAP), Some(100..116));
        freed(&mut memory, 1, 100);
        assert_eq!(allocated(&mut memory, 2, 100, 8, memory::HEAP), Some(100..108));
    }

    #[test]
    fn what_is_resized_in_place_lives_on() {
        let mut memory = Memory::default();
        allocated(&mut memory, 1, 100, 16, memory::HEAP);
        freed(&mut memory, 1, 100);
        assert_eq!(allocated(&mut memory, 1, 100, 24, memory::RESIZED), Some(116..124));
        freed(&mut memory, 1, 100);
        assert_eq!(allocated(&mut memory, 1, 100, 8, memory::RESIZED), Some(108..108));
        freed(&mut memory, 1, 100);
        assert_eq!(allocated(&mut memory, 1, 200, 8, memory::RESIZED), Some(200..208), "it moved");
    }

    #[test]
    fn an_allocation_without_its_size_is_let_be() {
        let mut memory = Memory::default();
        assert_eq!(memory.step(1, &Event::new(Kind::Allocate, 0, 0, 100, 0)), None);
        assert_eq!(allocated(&mut memory, 1, u64::MAX - 3, 16, memory::HEAP), Some(u64::MAX - 3..u64::MAX));
    }
}
