//! A chunk: the piece of memory that one thread fills with events and the worker reads.
//!
//! One writer, one reader, no lock. The writer fills slot `i`, then publishes `i + 1` with release order; the reader
//! loads the published count with acquire order and reads only below it, so it never sees a half-written event. The
//! reader may look into a chunk that is still being filled. A chunk changes hands (writer to reader when full, reader
//! to the next writer when consumed) over a channel, which orders everything before the sending.

#[cfg(loom)]
use loom::{cell::UnsafeCell, sync::atomic::AtomicU32};
#[cfg(not(loom))]
use std::{cell::UnsafeCell, sync::atomic::AtomicU32};

use crate::event::{Event, ThreadId};
use std::sync::atomic::Ordering;

/// Bytes of a chunk in the program. The header is found by rounding a slot's address down, so it is also its alignment.
pub const BYTES: usize = 16 * 1024;
/// Events that fit into one.
pub const EVENTS: usize = (BYTES - 64) / size_of::<Event>();

/// The head of a chunk, then its slots.
#[repr(C, align(64))]
pub struct Chunk<const N: usize = EVENTS> {
    published: AtomicU32,
    thread: UnsafeCell<ThreadId>,
    serial: UnsafeCell<u32>,
    slots: [UnsafeCell<Event>; N],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Chunk>() <= BYTES && std::mem::offset_of!(Chunk, slots) <= 64);

// SAFETY: the protocol in the module's comment: slots below `published` are never written again while they are
// readable, and the other fields change only while one side owns the whole chunk.
unsafe impl<const N: usize> Send for Chunk<N> {}
// SAFETY: as above.
unsafe impl<const N: usize> Sync for Chunk<N> {}

impl<const N: usize> Chunk<N> {
    /// Makes an empty chunk for `thread`; `serial` counts that thread's chunks. The caller owns the chunk.
    pub fn reset(&self, thread: ThreadId, serial: u32) {
        set(&self.thread, thread);
        set(&self.serial, serial);
        self.published.store(0, Ordering::Release);
    }

    /// Fills slot `index` and makes it visible.
    ///
    /// # Safety
    /// The caller is the chunk's one writer, `index` is the number of events published so far, and less than `N`.
    #[inline(always)]
    pub unsafe fn put(&self, index: usize, event: Event) {
        // SAFETY: the contract says that the index is in range.
        set(unsafe { self.slots.get_unchecked(index) }, event);
        self.published.store(index as u32 + 1, Ordering::Release);
    }

    /// How many events can be read.
    pub fn published(&self) -> usize {
        (self.published.load(Ordering::Acquire) as usize).min(N)
    }

    /// Whose events these are, and which of that thread's chunks this is.
    ///
    /// # Safety
    /// The caller got the chunk through a synchronisation that comes after its `reset`.
    pub unsafe fn owner(&self) -> (ThreadId, u32) {
        (get(&self.thread), get(&self.serial))
    }

    /// Copies the events that are published at and after `from`.
    pub fn copy_from(&self, from: usize, into: &mut Vec<Event>) {
        let until = self.published();
        into.extend(self.slots[..until].iter().skip(from).map(get));
    }
}

#[cfg(not(loom))]
impl Chunk {
    /// The published events, in place.
    pub fn events(&self) -> &[Event] {
        // SAFETY: an UnsafeCell<Event> has the layout of an Event, and published slots are not written any more.
        unsafe { std::slice::from_raw_parts(self.slots.as_ptr().cast(), self.published()) }
    }

    /// The first slot, and the end of the slots.
    pub fn bounds(&self) -> (*mut Event, *mut Event) {
        let first = self.slots.as_ptr().cast::<Event>().cast_mut();
        (first, first.wrapping_add(EVENTS))
    }

    /// The chunk that holds this slot, and the slot's index.
    ///
    /// # Safety
    /// `slot` lies in a chunk, at an address that is aligned as all chunks are, or is not its end.
    #[inline(always)]
    pub unsafe fn of_slot<'a>(slot: *mut Event) -> (&'a Chunk, usize) {
        let chunk = slot.map_addr(|address| address & !(BYTES - 1)).cast::<Chunk>();
        // SAFETY: the contract says that there is a chunk; chunks are never unmapped.
        let chunk = unsafe { &*chunk };
        let index = (slot.addr() - chunk.slots.as_ptr().addr()) / size_of::<Event>();
        (chunk, index)
    }
}

/// A chunk outside the program, for tests of the protocol.
#[cfg(any(loom, test))]
#[allow(dead_code)]
pub fn boxed<const N: usize>() -> Box<Chunk<N>> {
    let empty = || UnsafeCell::new(Event::new(crate::event::Kind::Leave, 0, 0, 0, 0));
    Box::new(Chunk {
        published: AtomicU32::new(0),
        thread: UnsafeCell::new(0),
        serial: UnsafeCell::new(0),
        slots: std::array::from_fn(|_| empty()),
    })
}

#[inline(always)]
fn set<T>(cell: &UnsafeCell<T>, value: T) {
    #[cfg(loom)]
    // SAFETY: loom checks that nobody else is in the cell.
    cell.with_mut(|place| unsafe { place.write(value) });
    #[cfg(not(loom))]
    // SAFETY: the chunk's protocol: only the writer is here, and the slot is not published yet.
    unsafe {
        cell.get().write(value);
    }
}

#[inline(always)]
fn get<T: Copy>(cell: &UnsafeCell<T>) -> T {
    #[cfg(loom)]
    // SAFETY: loom checks that no writer is in the cell.
    return cell.with(|place| unsafe { place.read() });
    #[cfg(not(loom))]
    // SAFETY: the chunk's protocol: what is published is not written any more.
    unsafe {
        cell.get().read()
    }
}
