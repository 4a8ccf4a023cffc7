//! What the chunk protocol is built of. The model check of `tests/loom_chunk.rs` builds it of loom's twins instead.

pub use std::sync::atomic::AtomicU32;

use crate::event::Event;
use std::cell::UnsafeCell;

/// A place that one side writes while the other does not read. The protocol around it sees to that.
#[repr(transparent)]
pub struct Cell<T>(UnsafeCell<T>);

impl<T: Copy> Cell<T> {
    /// # Safety
    /// Nobody else uses the cell now.
    #[inline(always)]
    pub unsafe fn set(&self, value: T) {
        // SAFETY: the contract.
        unsafe { self.0.get().write(value) };
    }

    /// # Safety
    /// Nobody writes to the cell now, and it was written before.
    #[inline(always)]
    pub unsafe fn get(&self) -> T {
        // SAFETY: the contract.
        unsafe { self.0.get().read() }
    }
}

/// Cells that will not be written any more, as what they hold.
///
/// # Safety
/// Nobody writes to the cells as long as the result lives.
pub unsafe fn as_events(cells: &[Cell<Event>]) -> &[Event] {
    // SAFETY: a cell has the layout of what it holds; the contract.
    unsafe { std::slice::from_raw_parts(cells.as_ptr().cast(), cells.len()) }
}

/// Asks for a cell's cache line, for writing. The worker's processor read it last; without this the next atomic
/// operation of the program would wait for the line to come back. Never faults, whatever the address.
#[inline(always)]
pub fn prefetch(cell: *const Cell<Event>) {
    // SAFETY: a hint without effect on memory.
    unsafe { core::arch::asm!("prefetchw [{0}]", in(reg) cell, options(nostack, preserves_flags, readonly)) };
}
