//! A chunk: the piece of memory that one thread fills with events and the worker reads.
//!
//! One writer, one reader, no lock. The writer fills slot `i`, then publishes `i + 1` with release order; the reader
//! loads the published count with acquire order and reads only below it, so it never sees a half-written event. The
//! reader may look into a chunk that is still being filled. A chunk changes hands (writer to reader when full, reader
//! to the next writer when consumed) over a channel, which orders everything before the sending.

use super::sync::{AtomicU32, Cell, prefetch};
use crate::event::{Event, ThreadId};
use std::sync::atomic::Ordering;

/// Bytes of a chunk in the program.
pub const BYTES: usize = 64 * 1024;
/// Events that fit into one.
pub const EVENTS: usize = (BYTES - 64) / size_of::<Event>();

/// How many slots ahead of the writer to ask for the memory.
const PREFETCH: usize = 24;

/// The head of a chunk, then its slots. All zeroes is an empty one.
#[repr(C)]
pub struct Chunk<const N: usize = EVENTS> {
    pub(super) published: AtomicU32,
    pub(super) thread: Cell<ThreadId>,
    pub(super) serial: Cell<u32>,
    pub(super) slots: [Cell<Event>; N],
}

const _: () = assert!(EVENTS == 2728 && PREFETCH == 24, "mirrored in shim.h");

// SAFETY: the protocol in the module's comment: slots below `published` are never written again while they are
// readable, and the other fields change only while one side owns the whole chunk.
unsafe impl<const N: usize> Send for Chunk<N> {}
// SAFETY: as above.
unsafe impl<const N: usize> Sync for Chunk<N> {}

impl<const N: usize> Chunk<N> {
    /// Makes this an empty chunk for `thread`; `serial` counts that thread's chunks.
    ///
    /// # Safety
    /// The caller owns the chunk: nobody else has it.
    pub unsafe fn reset(&self, thread: ThreadId, serial: u32) {
        // SAFETY: the contract.
        unsafe {
            self.thread.set(thread);
            self.serial.set(serial);
        }
        self.published.store(0, Ordering::Release);
    }

    /// Says that its events were written elsewhere. A reader of the trace takes those of all other chunks from here.
    ///
    /// # Safety
    /// The caller owns the chunk.
    pub unsafe fn retire(&self) {
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
        unsafe { (*chunk).published.load(Ordering::Relaxed) < N as u32 }
    }

    /// Whether there is room for exactly one more event.
    ///
    /// # Safety
    /// As for `has_room`.
    #[must_use]
    pub unsafe fn is_almost_full(chunk: *const Self) -> bool {
        // SAFETY: as for `has_room`.
        unsafe { (*chunk).published.load(Ordering::Relaxed) == N as u32 - 1 }
    }

    /// Appends an event and makes it visible.
    ///
    /// # Safety
    /// The caller is the chunk's one writer, and the chunk has room.
    #[inline(always)]
    pub unsafe fn put(&self, event: Event) {
        let index = self.published.load(Ordering::Relaxed);
        prefetch(self.slots.as_ptr().wrapping_add(index as usize + PREFETCH));
        // SAFETY: the contract says that the index is in range; the slot is not published yet.
        unsafe { self.slots.get_unchecked(index as usize).set(event) };
        self.published.store(index + 1, Ordering::Release);
    }

    /// The last two events that the writer put here, the older one first.
    ///
    /// # Safety
    /// The caller is the chunk's one writer. `chunk` may be a lone count, as for `has_room`.
    #[inline(always)]
    pub unsafe fn last_two(chunk: *const Self) -> Option<(Event, Event)> {
        // SAFETY: the contract; a count below N belongs to a real chunk, and its slots below it are filled.
        unsafe {
            let count = (*chunk).published.load(Ordering::Relaxed) as usize;
            if !(2..N).contains(&count) {
                return None;
            }
            let slots = &(*chunk).slots;
            Some((slots.get_unchecked(count - 2).get(), slots.get_unchecked(count - 1).get()))
        }
    }

    /// The slots that can be read.
    pub fn published(&self) -> &[Cell<Event>] {
        let count = self.published.load(Ordering::Acquire) as usize;
        &self.slots[..count.min(N)]
    }

    /// Whose events these are, and which of that thread's chunks this is.
    ///
    /// # Safety
    /// The caller got the chunk through a synchronisation that comes after its `reset`.
    pub unsafe fn owner(&self) -> (ThreadId, u32) {
        // SAFETY: the contract.
        unsafe { (self.thread.get(), self.serial.get()) }
    }

    /// Copies the events that are published at and after `from`.
    pub fn copy_from(&self, from: usize, into: &mut Vec<Event>) {
        // SAFETY: published slots are written, and not written again while the reader has the chunk.
        into.extend(self.published().iter().skip(from).map(|slot| unsafe { slot.get() }));
    }
}
