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

/// Bytes of a chunk in the program.
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

    /// Whether one more event fits.
    ///
    /// # Safety
    /// The caller is the chunk's one writer. `chunk` may also point to a lone count that is at least `N`: of a
    /// chunk without room nothing else is touched.
    #[inline(always)]
    #[must_use]
    pub unsafe fn has_room(chunk: *const Self) -> bool {
        // SAFETY: the contract; the count is the first field. Only this thread stores it, so relaxed is enough.
        unsafe { (*(&raw const (*chunk).published)).load(Ordering::Relaxed) < N as u32 }
    }

    /// Appends an event and makes it visible.
    ///
    /// # Safety
    /// The caller is the chunk's one writer, and the chunk has room.
    #[inline(always)]
    pub unsafe fn put(&self, event: Event) {
        let index = self.published.load(Ordering::Relaxed);
        #[cfg(not(loom))]
        prefetch(self.slots.as_ptr().wrapping_add(index as usize + PREFETCH));
        // SAFETY: the contract says that the index is in range.
        set(unsafe { self.slots.get_unchecked(index as usize) }, event);
        self.published.store(index + 1, Ordering::Release);
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
    /// The last two events that the writer put here, the older one first.
    ///
    /// # Safety
    /// The caller is the chunk's one writer. `chunk` may be a lone count, as for `has_room`.
    #[inline(always)]
    pub unsafe fn last_two(chunk: *const Chunk) -> Option<(Event, Event)> {
        // SAFETY: the contract; a count below EVENTS belongs to a real chunk, and its slots below it are filled.
        unsafe {
            let count = (*(&raw const (*chunk).published)).load(Ordering::Relaxed) as usize;
            if !(2..EVENTS).contains(&count) {
                return None;
            }
            let slots = (&raw const (*chunk).slots).cast::<Event>();
            Some((slots.add(count - 2).read(), slots.add(count - 1).read()))
        }
    }

    /// The published events, in place.
    pub fn events(&self) -> &[Event] {
        // SAFETY: an UnsafeCell<Event> has the layout of an Event, and published slots are not written any more.
        unsafe { std::slice::from_raw_parts(self.slots.as_ptr().cast(), self.published()) }
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

/// How many slots ahead of the writer to ask for the memory.
#[cfg(not(loom))]
const PREFETCH: usize = 24;

/// Asks for a slot's cache line, for writing. The worker's processor read it last; without this the next atomic
/// operation of the program would wait for the line to come back. Never faults, whatever the address.
#[cfg(not(loom))]
#[inline(always)]
fn prefetch(slot: *const UnsafeCell<Event>) {
    // SAFETY: a hint without effect on memory.
    unsafe { core::arch::asm!("prefetchw [{0}]", in(reg) slot, options(nostack, preserves_flags, readonly)) };
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
