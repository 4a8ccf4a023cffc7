//! Memory that begins and ends. Without a recording a call is one jump away from the real function. In one, a block is told after it
//! was made and before it is given back, so that its life in the recording lies within its real one.
//!
//! These are the first functions of all that a process calls: the dynamic linker does before any constructor runs, and looking for
//! the real ones may itself need memory. Until they are known, `bootstrap` stands in for them.

use super::operator_new;
use super::real::{self, Object};
use crate::event::memory::{HEAP, MAPPING, RESIZED};
use crate::runtime::{self, mapping};
use libc::{c_int, c_void, off_t};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

macro_rules! memory {
    ($($name:ident / $count:tt: fn($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        /// The names that this family exports.
        pub const NAMES: &[&str] = &[$(stringify!($name)),*];

        /// Where a call goes when nothing is recorded.
        #[allow(non_upper_case_globals)]
        mod slots {
            use super::{AtomicPtr, c_void, first};
            $(pub static $name: AtomicPtr<c_void> = AtomicPtr::new(first::$name as *mut c_void);)*
        }

        /// Where the program would have called without us.
        #[allow(non_upper_case_globals)]
        mod reals {
            use super::{AtomicPtr, c_void, first};
            $(pub static $name: AtomicPtr<c_void> = AtomicPtr::new(first::$name as *mut c_void);)*
        }

        /// As in a recording, before there is one.
        mod early {
            use super::recorded;
            $(
                #[unsafe(naked)]
                pub unsafe extern "C" fn $name() {
                    core::arch::naked_asm!(memory!(@load $count), memory!(@jump $count), target = sym recorded::$name)
                }
            )*
        }

        /// The first call of all.
        mod first {
            $(
                #[unsafe(naked)]
                pub unsafe extern "C" fn $name() {
                    // Seven pushes keep the stack aligned for the call.
                    core::arch::naked_asm!(
                        "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                        "call {resolve}",
                        "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                        "jmp qword ptr [rip + {slot}]",
                        resolve = sym super::resolve_from_first_call, slot = sym super::slots::$name,
                    )
                }
            )*
        }

        /// The functions that the program would have called without us.
        mod next {
            use super::{Object, Ordering, c_int, off_t, reals};
            $(pub unsafe fn $name($($argument: $type),*) -> $result {
                let address = reals::$name.load(Ordering::Relaxed);
                // SAFETY: it holds functions of this signature only.
                unsafe { std::mem::transmute::<Object, unsafe extern "C" fn($($type),*) -> $result>(address)($($argument),*) }
            })*
        }

        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    "cmp dword ptr [rip + avmon_recording], 0",
                    "jne 2f",
                    "jmp qword ptr [rip + {slot}]",
                    "2:",
                    memory!(@load $count),
                    memory!(@jump $count),
                    slot = sym slots::$name, target = sym recorded::$name,
                )
            }
        )*

        fn use_bootstrap() {
            $(reals::$name.store(bootstrap::$name as *mut c_void, Ordering::Relaxed);)*
            ask_before_the_recording(false);
        }

        /// Whether the runtime is told of memory while nothing is recorded.
        pub fn ask_before_the_recording(asks: bool) {
            $({
                let real = reals::$name.load(Ordering::Relaxed);
                slots::$name.store(if asks { early::$name as *mut c_void } else { real }, Ordering::Release);
            })*
        }

        fn use_real() {
            $({
                let name = concat!(stringify!($name), "\0");
                let found = real::address_of(std::ffi::CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default());
                // What libc lacks, the program cannot call.
                if !found.is_null() {
                    reals::$name.store(found, Ordering::Release);
                }
            })*
        }
    };
    // With six arguments there is no register left for the caller's address: it goes on the stack, as a seventh.
    (@load 6) => { "push qword ptr [rsp]" };
    (@load 1) => { "mov rsi, rsp" };
    (@load 2) => { "mov rdx, rsp" };
    (@load 3) => { "mov rcx, rsp" };
    (@load 5) => { "mov r9, rsp" };
    (@jump 6) => { "call {target}\npop rcx\nret" };
    (@jump $count:tt) => { "jmp {target}" };
}

memory! {
    malloc / 1: fn(size: usize) -> Object;
    calloc / 2: fn(count: usize, size: usize) -> Object;
    realloc / 2: fn(block: Object, size: usize) -> Object;
    reallocarray / 3: fn(block: Object, count: usize, size: usize) -> Object;
    free / 1: fn(block: Object) -> ();
    posix_memalign / 3: fn(block: *mut Object, alignment: usize, size: usize) -> c_int;
    aligned_alloc / 2: fn(alignment: usize, size: usize) -> Object;
    memalign / 2: fn(alignment: usize, size: usize) -> Object;
    valloc / 1: fn(size: usize) -> Object;
    pvalloc / 1: fn(size: usize) -> Object;
    mmap / 6: fn(at: Object, size: usize, protection: c_int, flags: c_int, file: c_int, offset: off_t) -> Object;
    mmap64 / 6: fn(at: Object, size: usize, protection: c_int, flags: c_int, file: c_int, offset: off_t) -> Object;
    munmap / 2: fn(at: Object, size: usize) -> c_int;
    mremap / 5: fn(at: Object, old_size: usize, size: usize, flags: c_int, to: Object) -> Object;
}

static RESOLVED: AtomicBool = AtomicBool::new(false);

/// Finds the real functions. Must be the first of all to be resolved: finding the others may need memory.
pub fn resolve() {
    if !RESOLVED.swap(true, Ordering::Relaxed) {
        use_bootstrap();
        use_real();
        bootstrap::keep_out_of_real();
        ask_before_the_recording(false);
    }
}

/// By the C ABI, as the callers are written for it.
extern "C" fn resolve_from_first_call() {
    resolve();
}

/// What the calls do in a recording. The last argument of each tells where the caller's address is on the stack, or the address itself if there are six
/// others.
mod recorded {
    use super::{HEAP, MAPPING, Object, RESIZED, c_int, next, off_t, operator_new, runtime};

    type Place = *const u64;

    fn caller(place: Place) -> u64 {
        // SAFETY: the hook of the program's call gave the top of its stack.
        unsafe { operator_new::caller(place) }
    }

    fn allocated(detail: u8, block: Object, size: usize, pc: u64) -> Object {
        if !block.is_null() {
            runtime::allocated(detail, block.addr() as u64, size as u64, pc);
        }
        block
    }

    fn freeing(block: Object, pc: u64) {
        if !block.is_null() {
            runtime::freeing(block.addr() as u64, None, pc);
        }
    }

    pub unsafe extern "C" fn malloc(size: usize, place: Place) -> Object {
        let pc = caller(place);
        // SAFETY: the program's own call; so are all below.
        allocated(HEAP, unsafe { next::malloc(size) }, size, pc)
    }

    pub unsafe extern "C" fn calloc(count: usize, size: usize, place: Place) -> Object {
        let pc = caller(place);
        // SAFETY: as above.
        allocated(HEAP, unsafe { next::calloc(count, size) }, count.saturating_mul(size), pc)
    }

    /// What became of a block that was to get a new size. If it could not, it is still there; of nothing, nothing is left.
    fn resized(old: Object, new: Object, size: usize, pc: u64) -> Object {
        if old.is_null() {
            allocated(HEAP, new, size, pc);
        } else if !new.is_null() {
            allocated(RESIZED, new, size, pc);
        } else if size != 0 {
            // SAFETY: a block of the heap.
            let usable = unsafe { libc::malloc_usable_size(old) };
            allocated(RESIZED, old, usable, pc);
        }
        new
    }

    pub unsafe extern "C" fn realloc(block: Object, size: usize, place: Place) -> Object {
        let pc = caller(place);
        freeing(block, pc);
        // SAFETY: as above.
        resized(block, unsafe { next::realloc(block, size) }, size, pc)
    }

    pub unsafe extern "C" fn reallocarray(block: Object, count: usize, size: usize, place: Place) -> Object {
        let pc = caller(place);
        freeing(block, pc);
        // SAFETY: as above.
        resized(block, unsafe { next::reallocarray(block, count, size) }, count.saturating_mul(size), pc)
    }

    pub unsafe extern "C" fn free(block: Object, place: Place) {
        let pc = caller(place);
        freeing(block, pc);
        // SAFETY: as above.
        unsafe { next::free(block) }
    }

    pub unsafe extern "C" fn posix_memalign(block: *mut Object, alignment: usize, size: usize, place: Place) -> c_int {
        let pc = caller(place);
        // SAFETY: as above; a successful call stored the block.
        unsafe {
            let result = next::posix_memalign(block, alignment, size);
            if result == 0 {
                allocated(HEAP, *block, size, pc);
            }
            result
        }
    }

    pub unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize, place: Place) -> Object {
        let pc = caller(place);
        // SAFETY: as above.
        allocated(HEAP, unsafe { next::aligned_alloc(alignment, size) }, size, pc)
    }

    pub unsafe extern "C" fn memalign(alignment: usize, size: usize, place: Place) -> Object {
        let pc = caller(place);
        // SAFETY: as above.
        allocated(HEAP, unsafe { next::memalign(alignment, size) }, size, pc)
    }

    pub unsafe extern "C" fn valloc(size: usize, place: Place) -> Object {
        let pc = caller(place);
        // SAFETY: as above.
        allocated(HEAP, unsafe { next::valloc(size) }, size, pc)
    }

    pub unsafe extern "C" fn pvalloc(size: usize, place: Place) -> Object {
        let pc = caller(place);
        // SAFETY: as above.
        allocated(HEAP, unsafe { next::pvalloc(size) }, size, pc)
    }

    fn mapped(detail: u8, at: Object, size: usize, pc: u64) -> Object {
        if at == libc::MAP_FAILED { at } else { allocated(detail, at, size, pc) }
    }

    pub unsafe extern "C" fn mmap(
        at: Object,
        size: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: off_t,
        pc: u64,
    ) -> Object {
        // SAFETY: as above.
        mapped(MAPPING, unsafe { next::mmap(at, size, protection, flags, file, offset) }, size, pc)
    }

    pub unsafe extern "C" fn mmap64(
        at: Object,
        size: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: off_t,
        pc: u64,
    ) -> Object {
        // SAFETY: as above.
        mapped(MAPPING, unsafe { next::mmap64(at, size, protection, flags, file, offset) }, size, pc)
    }

    pub unsafe extern "C" fn munmap(at: Object, size: usize, place: Place) -> c_int {
        let pc = caller(place);
        runtime::freeing(at.addr() as u64, Some(size as u64), pc);
        // SAFETY: as above.
        let result = unsafe { next::munmap(at, size) };
        if result != 0 {
            allocated(RESIZED, at, size, pc);
        }
        result
    }

    pub unsafe extern "C" fn mremap(
        at: Object,
        old_size: usize,
        size: usize,
        flags: c_int,
        to: Object,
        place: Place,
    ) -> Object {
        let pc = caller(place);
        runtime::freeing(at.addr() as u64, Some(old_size as u64), pc);
        // SAFETY: as above.
        let moved = unsafe { next::mremap(at, old_size, size, flags, to) };
        if moved == libc::MAP_FAILED {
            allocated(RESIZED, at, old_size, pc);
        } else {
            allocated(RESIZED, moved, size, pc);
        }
        moved
    }
}

/// Memory for those who need some while the real functions are being looked for. It is never used twice.
mod bootstrap {
    use super::{AtomicPtr, AtomicUsize, Object, Ordering, c_int, c_void, mapping, off_t, reals};
    use std::cell::UnsafeCell;

    const SIZE: usize = 1 << 16;
    const ALIGNMENT: usize = 16;

    #[repr(align(4096))]
    struct Pool(UnsafeCell<[u8; SIZE]>);

    // SAFETY: each byte is given out once.
    unsafe impl Sync for Pool {}

    static POOL: Pool = Pool(UnsafeCell::new([0; SIZE]));
    static USED: AtomicUsize = AtomicUsize::new(0);

    /// The real functions that get blocks back, behind those that look whether the block is one of ours.
    static FREE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    static REALLOC: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    static REALLOCARRAY: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

    fn owns(block: Object) -> bool {
        (POOL.0.get().addr()..POOL.0.get().addr() + SIZE).contains(&block.addr())
    }

    /// A block with its size in front of it; null if the pool is used up.
    fn take(size: usize, alignment: usize) -> Object {
        let alignment = alignment.max(ALIGNMENT);
        let room = size.saturating_add(ALIGNMENT).saturating_add(alignment);
        let start = USED.fetch_add(room, Ordering::Relaxed);
        if start.saturating_add(room) > SIZE {
            return std::ptr::null_mut();
        }
        // SAFETY: in range, as just seen, with room to move on to an aligned address.
        unsafe {
            let block = POOL.0.get().cast::<u8>().add(start + ALIGNMENT);
            let block = block.add(block.align_offset(alignment));
            block.sub(size_of::<usize>()).cast::<usize>().write_unaligned(size);
            block.cast()
        }
    }

    /// The block in a new place. The old one may be null.
    unsafe fn moved(old: Object, new: Object, size: usize) -> Object {
        if !old.is_null() && !new.is_null() {
            // SAFETY: a block of the pool has its size in front of it; the new one is of the size given.
            unsafe {
                let had = old.cast::<u8>().sub(size_of::<usize>()).cast::<usize>().read_unaligned();
                new.cast::<u8>().copy_from_nonoverlapping(old.cast(), had.min(size));
            }
        }
        new
    }

    /// Once blocks of the pool are in the program's hands, the real functions must not get them back.
    pub fn keep_out_of_real() {
        if USED.load(Ordering::Relaxed) == 0 {
            return;
        }
        for (called, real, instead) in [
            (&reals::free, &FREE, guarded_free as *mut c_void),
            (&reals::realloc, &REALLOC, guarded_realloc as *mut c_void),
            (&reals::reallocarray, &REALLOCARRAY, guarded_reallocarray as *mut c_void),
        ] {
            real.store(called.load(Ordering::Relaxed), Ordering::Relaxed);
            called.store(instead, Ordering::Release);
        }
    }

    unsafe extern "C" fn guarded_free(block: Object) {
        if !owns(block) {
            // SAFETY: the real function, stored before this one was reachable; the program's own call.
            unsafe {
                let real: unsafe extern "C" fn(Object) = std::mem::transmute(FREE.load(Ordering::Relaxed));
                real(block);
            }
        }
    }

    unsafe extern "C" fn guarded_realloc(block: Object, size: usize) -> Object {
        // SAFETY: as above.
        unsafe {
            if owns(block) {
                return moved(block, super::next::malloc(size), size);
            }
            let real: unsafe extern "C" fn(Object, usize) -> Object =
                std::mem::transmute(REALLOC.load(Ordering::Relaxed));
            real(block, size)
        }
    }

    unsafe extern "C" fn guarded_reallocarray(block: Object, count: usize, size: usize) -> Object {
        // SAFETY: as above.
        unsafe {
            if owns(block) {
                return moved(block, super::next::calloc(count, size), count.saturating_mul(size));
            }
            let real: unsafe extern "C" fn(Object, usize, usize) -> Object =
                std::mem::transmute(REALLOCARRAY.load(Ordering::Relaxed));
            real(block, count, size)
        }
    }

    pub unsafe extern "C" fn malloc(size: usize) -> Object {
        take(size, ALIGNMENT)
    }

    pub unsafe extern "C" fn calloc(count: usize, size: usize) -> Object {
        take(count.saturating_mul(size), ALIGNMENT)
    }

    pub unsafe extern "C" fn realloc(block: Object, size: usize) -> Object {
        // SAFETY: while these stand in, all blocks are of the pool.
        unsafe { moved(block, take(size, ALIGNMENT), size) }
    }

    pub unsafe extern "C" fn reallocarray(block: Object, count: usize, size: usize) -> Object {
        // SAFETY: as above.
        unsafe { realloc(block, count.saturating_mul(size)) }
    }

    pub unsafe extern "C" fn free(_block: Object) {}

    pub unsafe extern "C" fn posix_memalign(block: *mut Object, alignment: usize, size: usize) -> c_int {
        let taken = take(size, alignment);
        if taken.is_null() {
            return libc::ENOMEM;
        }
        // SAFETY: the caller's place for the answer.
        unsafe { *block = taken };
        0
    }

    pub unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> Object {
        take(size, alignment)
    }

    pub unsafe extern "C" fn memalign(alignment: usize, size: usize) -> Object {
        take(size, alignment)
    }

    pub unsafe extern "C" fn valloc(size: usize) -> Object {
        take(size, 4096)
    }

    pub unsafe extern "C" fn pvalloc(size: usize) -> Object {
        take(size.next_multiple_of(4096), 4096)
    }

    pub unsafe extern "C" fn mmap(
        at: Object,
        size: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: off_t,
    ) -> Object {
        // SAFETY: the program's own call; so are those below.
        unsafe { mapping::map(at, size, protection, flags, file, offset) }
    }

    pub use mmap as mmap64;

    pub unsafe extern "C" fn munmap(at: Object, size: usize) -> c_int {
        // SAFETY: as above.
        unsafe { mapping::unmap(at, size) }
    }

    pub unsafe extern "C" fn mremap(at: Object, old_size: usize, size: usize, flags: c_int, to: Object) -> Object {
        // SAFETY: as above.
        unsafe { mapping::remap(at, old_size, size, flags, to) }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn blocks_are_aligned_apart_and_recognised() {
            let [one, two] = [take(5, 16), take(100, 256)];
            assert!(owns(one) && owns(two) && !owns((&raw const USED).cast_mut().cast()));
            assert!(two.addr() % 256 == 0 && one.addr() % 16 == 0 && two.addr() >= one.addr() + 5);
            // SAFETY: blocks of the pool, within their sizes.
            unsafe {
                one.cast::<u8>().write_bytes(9, 5);
                let larger = realloc(one, 40).cast::<u8>();
                assert_eq!((larger.add(4).read(), larger.add(39).read()), (9, 0));
            }
            assert!(take(SIZE, 16).is_null());
        }
    }
}
