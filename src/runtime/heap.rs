//! The monitor's own heap. Inside somebody else's program we must not use theirs: its `malloc` may be what called
//! us, may be broken by the bug under test, and its figures are the user's.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// dlmalloc over our own mappings, behind a spin lock: few allocations, most of them by the worker.
pub struct Heap {
    locked: AtomicBool,
    inner: UnsafeCell<dlmalloc::Dlmalloc>,
}

// SAFETY: `inner` is only touched between `lock` and `unlock`.
unsafe impl Sync for Heap {}

/// How often a fork tries to get the heap's lock before it gives up on monitoring the child.
const FORK_TRIES: u32 = 100_000;

impl Heap {
    #[must_use]
    pub const fn new() -> Heap {
        Heap { locked: AtomicBool::new(false), inner: UnsafeCell::new(dlmalloc::Dlmalloc::new()) }
    }

    fn try_lock(&self) -> bool {
        self.locked.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn unlock(&self) {
        self.locked.store(false, Ordering::Release);
    }

    fn with<R>(&self, work: impl FnOnce(&mut dlmalloc::Dlmalloc) -> R) -> R {
        let mut tries = 0u32;
        while !self.try_lock() {
            tries += 1;
            if tries.is_multiple_of(64) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        // SAFETY: the lock is held, so this is the only reference.
        let result = work(unsafe { &mut *self.inner.get() });
        self.unlock();
        result
    }

    /// Takes the lock for the time of a fork, so that the child inherits a sound heap. Bounded: the forking code may
    /// be a signal handler that interrupted this very thread inside the heap.
    pub fn lock_for_fork(&self) -> bool {
        (0..FORK_TRIES).any(|_| {
            self.try_lock() || {
                std::thread::yield_now();
                false
            }
        })
    }

    /// Ends what `lock_for_fork` began, in the parent and in the child.
    pub fn unlock_after_fork(&self) {
        self.unlock();
    }
}

impl Default for Heap {
    fn default() -> Heap {
        Heap::new()
    }
}

// SAFETY: dlmalloc honours size and alignment; the lock serialises it.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any size and alignment is allowed.
        self.with(|heap| unsafe { heap.malloc(layout.size(), layout.align()) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        self.with(|heap| unsafe { heap.calloc(layout.size(), layout.align()) })
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller got the pointer from us with this layout.
        self.with(|heap| unsafe { heap.free(pointer, layout.size(), layout.align()) });
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        self.with(|heap| unsafe { heap.realloc(pointer, layout.size(), layout.align(), size) })
    }
}
