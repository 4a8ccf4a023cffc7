//! The monitor's own heap. Inside somebody else's program we must not use theirs: its `malloc` may be what called
//! us, may be broken by the bug under test, and its figures are the user's.

use super::mapping;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// dlmalloc over our own mappings, behind a spin lock: few allocations, most of them by the worker.
pub struct Heap {
    locked: AtomicBool,
    inner: UnsafeCell<Dlmalloc>,
}

// SAFETY: `inner` is only touched between `lock` and `unlock`.
unsafe impl Sync for Heap {}

type Dlmalloc = dlmalloc::Dlmalloc<Mappings>;

/// Where the heap gets its memory. Not from the C library's functions: those have hooks, and the heap's lock is held here.
struct Mappings;

// SAFETY: mappings belong to the process, not to a thread; each function does what the trait says.
unsafe impl dlmalloc::Allocator for Mappings {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        (mapping::map_anonymous(size).cast(), size, 0)
    }

    fn remap(&self, address: *mut u8, old_size: usize, size: usize, can_move: bool) -> *mut u8 {
        let flags = if can_move { libc::MREMAP_MAYMOVE } else { 0 };
        // SAFETY: a mapping of `alloc`'s, which the heap wants changed.
        let moved = unsafe { mapping::remap(address.cast(), old_size, size, flags, std::ptr::null_mut()) };
        if moved == libc::MAP_FAILED { std::ptr::null_mut() } else { moved.cast() }
    }

    fn free_part(&self, address: *mut u8, old_size: usize, size: usize) -> bool {
        // SAFETY: the end of a mapping of `alloc`'s, which the heap does not use any more.
        unsafe { mapping::unmap(address.add(size).cast(), old_size - size) == 0 }
    }

    fn free(&self, address: *mut u8, size: usize) -> bool {
        // SAFETY: a mapping of `alloc`'s, which the heap does not use any more.
        unsafe { mapping::unmap(address.cast(), size) == 0 }
    }

    fn can_release_part(&self, _flags: u32) -> bool {
        true
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        4096
    }
}

/// What is left when memory is out (a limit on the address space, most often): enough for the program's threads to get out
/// of the hooks that they are in, while the monitor switches itself off. Rust would end the process.
struct Reserve {
    bytes: UnsafeCell<[u8; Reserve::SIZE]>,
    used: AtomicUsize,
}

// SAFETY: each byte is given out once.
unsafe impl Sync for Reserve {}

static RESERVE: Reserve = Reserve { bytes: UnsafeCell::new([0; Reserve::SIZE]), used: AtomicUsize::new(0) };

impl Reserve {
    const SIZE: usize = 1 << 20;

    fn take(&self, layout: Layout) -> *mut u8 {
        let room = layout.size() + layout.align();
        let start = self.used.fetch_add(room, Ordering::Relaxed);
        if start.saturating_add(room) > Reserve::SIZE {
            return std::ptr::null_mut();
        }
        // SAFETY: in range, as just seen; there is room for moving on to an aligned address.
        unsafe {
            let address = self.bytes.get().cast::<u8>().add(start);
            address.add(address.align_offset(layout.align()))
        }
    }

    fn owns(&self, pointer: *const u8) -> bool {
        (self.bytes.get().addr()..self.bytes.get().addr() + Reserve::SIZE).contains(&pointer.addr())
    }
}

/// How often a fork tries to get the heap's lock before it gives up on monitoring the child.
const FORK_TRIES: u32 = 100_000;

impl Heap {
    #[must_use]
    pub const fn new() -> Heap {
        Heap { locked: AtomicBool::new(false), inner: UnsafeCell::new(Dlmalloc::new_with_allocator(Mappings)) }
    }

    fn try_lock(&self) -> bool {
        self.locked.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn unlock(&self) {
        self.locked.store(false, Ordering::Release);
    }

    fn with<R>(&self, work: impl FnOnce(&mut Dlmalloc) -> R) -> R {
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

/// Memory is out. The worker does not come back from here; a thread of the program gets some of the reserve.
#[cold]
fn out_of_memory(layout: Layout) -> *mut u8 {
    if super::state::state() != super::state::State::Off {
        super::worker::give_up("avmon: out of memory; the monitor switched itself off, the program goes on\n");
    }
    RESERVE.take(layout)
}

// SAFETY: dlmalloc honours size and alignment, and so does the reserve; the lock serialises dlmalloc.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any size and alignment is allowed.
        let pointer = self.with(|heap| unsafe { heap.malloc(layout.size(), layout.align()) });
        if pointer.is_null() { out_of_memory(layout) } else { pointer }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let pointer = self.with(|heap| unsafe { heap.calloc(layout.size(), layout.align()) });
        // The reserve is zero, and nothing of it is used twice.
        if pointer.is_null() { out_of_memory(layout) } else { pointer }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if !RESERVE.owns(pointer) {
            // SAFETY: the caller got the pointer from us with this layout.
            self.with(|heap| unsafe { heap.free(pointer, layout.size(), layout.align()) });
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !RESERVE.owns(pointer) {
            // SAFETY: as above.
            let moved = self.with(|heap| unsafe { heap.realloc(pointer, layout.size(), layout.align(), size) });
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: the caller's layout was valid, and the new size fits it.
        unsafe {
            let moved = out_of_memory(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(pointer, layout.size().min(size));
                self.dealloc(pointer, layout);
            }
            moved
        }
    }
}
