//! Memory that was allocated before the first thread was created, and where.
//!
//! Nothing is recorded in that time, but most programs make their data in it, and a finding wants to say what was accessed. A recording begins with the
//! blocks that are left then.
//!
//! The hooks of `malloc` and `free` come here, also from signal handlers, so nothing is allocated and nobody waits. The table is a mapping of fixed
//! size, of which a program uses as much as it has blocks.

use super::mapping;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// A block of memory. One at address 0 is a free place of the table.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Block {
    pub address: u64,
    pub size: u64,
    pub pc: u64,
    pub detail: u8,
}

const PLACES: usize = 8;
/// So many addresses share a bucket: the heap has no more blocks there than half the places, so that what is far away may share it too.
const ADDRESSES: u64 = 128;
const BUCKETS: usize = 1 << 17;

type Bucket = [Block; PLACES];

/// The buckets; null if nothing is to be remembered.
static TABLE: AtomicPtr<Bucket> = AtomicPtr::new(std::ptr::null_mut());
/// Whether a hook uses the table.
static BUSY: AtomicBool = AtomicBool::new(false);
/// Blocks for which there was no room.
static LOST: AtomicU64 = AtomicU64::new(0);
/// Whether the end of a block was missed. What is at its address is not known then, and so nothing is told.
static MISSED: AtomicBool = AtomicBool::new(false);

/// From now on blocks are remembered. False if there is no memory for that.
#[must_use]
pub fn begin() -> bool {
    if TABLE.load(Ordering::Relaxed).is_null() {
        LOST.store(0, Ordering::Relaxed);
        MISSED.store(false, Ordering::Relaxed);
        BUSY.store(false, Ordering::Relaxed);
        TABLE.store(mapping::map_anonymous(size_of::<Bucket>() * BUCKETS).cast(), Ordering::Release);
    }
    !TABLE.load(Ordering::Relaxed).is_null()
}

/// Remembers a block that was allocated.
pub fn put(block: Block) {
    let is_put = with_bucket(block.address, |bucket| {
        let at = |address| bucket.iter().position(|place| place.address == address);
        let place = at(block.address).or_else(|| at(0));
        place.map(|place| bucket[place] = block).is_some()
    });
    if is_put != Some(true) {
        LOST.fetch_add(1, Ordering::Relaxed);
    }
}

/// Forgets the block at an address.
pub fn remove(address: u64) {
    let is_done = with_bucket(address, |bucket| {
        if let Some(place) = bucket.iter_mut().find(|place| place.address == address) {
            place.address = 0;
        }
    });
    if is_done.is_none() {
        MISSED.store(true, Ordering::Relaxed);
    }
}

/// How many blocks could not be remembered.
pub fn lost() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// Ends the remembering, and tells what is left.
pub fn take(mut tell: impl FnMut(&Block)) {
    let table = TABLE.swap(std::ptr::null_mut(), Ordering::AcqRel);
    if table.is_null() {
        return;
    }
    // A hook that was left in the middle holds the table for ever; then it is not known what is true of it.
    if !BUSY.swap(true, Ordering::Acquire) && !MISSED.load(Ordering::Relaxed) {
        for number in 0..BUCKETS {
            // SAFETY: inside the mapping, zeroed or written by us, and ours alone.
            let bucket = unsafe { &*table.add(number) };
            bucket.iter().filter(|block| block.address != 0).for_each(&mut tell);
        }
        // SAFETY: the mapping of `begin`, which nobody knows of any more.
        unsafe { mapping::unmap(table.cast(), size_of::<Bucket>() * BUCKETS) };
    }
}

/// Works on the bucket of an address. `None` if a hook that was interrupted, or another thread, is at it.
fn with_bucket<R>(address: u64, work: impl FnOnce(&mut Bucket) -> R) -> Option<R> {
    if BUSY.swap(true, Ordering::Acquire) {
        return None;
    }
    let table = TABLE.load(Ordering::Acquire);
    let number = (address / ADDRESSES) as usize % BUCKETS;
    // SAFETY: inside the mapping, and nobody else's as long as it is busy.
    let result = (!table.is_null()).then(|| work(unsafe { &mut *table.add(number) }));
    BUSY.store(false, Ordering::Release);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(address: u64, pc: u64) -> Block {
        Block { address, size: 16, pc, detail: 0 }
    }

    fn left() -> Vec<(u64, u64)> {
        let mut left = Vec::new();
        take(|block| left.push((block.address, block.pc)));
        left
    }

    /// One test, because there is one table.
    #[test]
    fn what_is_left_is_told_and_what_did_not_fit_is_counted() {
        assert!(left().is_empty(), "nothing is remembered before it begins");
        assert!(begin());
        put(block(0x1000, 1));
        put(block(0x2010, 2));
        put(block(0x2020, 3));
        remove(0x2010);
        remove(0x7000);
        put(block(0x1000, 4));
        assert_eq!((left(), lost()), (vec![(0x1000, 4), (0x2020, 3)], 0));
        assert!(left().is_empty(), "it is told once");

        assert!(begin());
        let apart = ADDRESSES * BUCKETS as u64;
        (1..=PLACES as u64 + 2).for_each(|n| put(block(n * apart, n)));
        assert_eq!((left().len(), lost()), (PLACES, 2));

        // A signal handler that comes in between: what is allocated is lost, but a block whose end is missed makes all the others doubtful.
        assert!(begin());
        put(block(0x1000, 1));
        with_bucket(0x1000, |_| put(block(0x3000, 2)));
        assert_eq!(lost(), 1);
        assert_eq!(left(), [(0x1000, 1)]);
        assert!(begin());
        put(block(0x1000, 1));
        with_bucket(0x3000, |_| remove(0x1000));
        assert!(left().is_empty());
    }
}
