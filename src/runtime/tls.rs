//! The hot state of a thread, mirrored from `shim/shim.h`, and the way to it.

use super::chunk::Chunk;

/// One function invocation on a shadow stack.
#[repr(C)]
pub struct Frame {
    pub inside: u64,
    pub call: u64,
    pub sp: u64,
}

/// How many addresses a thread can owe an Await for.
pub const PENDING: usize = 8;

/// The thread's own state. Only the thread itself uses it, except for `cancelled`
/// and `owes`, which the thread that cancels it sets.
#[repr(C, align(64))]
pub struct Tls {
    pub top: *mut Frame,
    pub low: *mut Frame,
    pub end: *mut Frame,
    pub base: *mut Frame,
    pub published: *mut Frame,
    pub chunk: *const Chunk,
    pub gate: u64,
    pub owes: u32,
    pub branches: u16,
    pub overflow: u64,
    pub fenced: u32,
    pub pending_count: u32,
    pub cancelled: u32,
    pub lost: u32,
    pub pending: [u64; PENDING],
    pub deferred_lock: u64,
    pub deferred_pc: u64,
    pub deferred_number: u64,
    pub record: *mut super::registry::Record,
    pub os_thread_id: u32,
    pub written_size: u32,
    pub written: u64,
    pub stack: u64,
    pub told_time: u64,
    pub fiber: *mut super::fiber::Fiber,
    pub seat: *mut super::steering::Seat,
}

const _: () = assert!(size_of::<Frame>() == 24, "mirrors shim.h");
const _: () = assert!(size_of::<Tls>() == 256, "mirrors shim.h");

const _: () = assert!(std::mem::offset_of!(Chunk, slots) == 16, "mirrors shim.h");

/// Gate bit: this thread is the monitor's own, or has ended, and is never recorded.
pub const OURS: u64 = 1;
/// Gate bits: a hook of this thread is at work, with this stack pointer. A signal handler that interrupts it must not
/// record; one that jumps to a frame above it ends it.
pub const BUSY: u64 = (1 << 48) - 8;
/// Gate step: the thread is inside an annotated lock, whose inner synchronisation is not to be seen.
pub const IGNORE_STEP: u64 = 1 << 48;

unsafe extern "C" {
    static avmon_full_chunk: u32;
}

/// What a thread without a chunk has in its place. Only its first word, the count of events, may be looked at.
#[must_use]
pub fn no_chunk() -> *const Chunk {
    (&raw const avmon_full_chunk).cast()
}

/// The calling thread's state.
#[inline(always)]
#[must_use]
pub fn tls() -> *mut Tls {
    let address: *mut Tls;
    // SAFETY: reads the thread pointer and the constant offset of a variable in the static TLS block. The
    // initial-exec model is right for a library that is loaded at start, and this one is only ever preloaded.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr fs:[0]",
            "add {0}, qword ptr [rip + avmon_tls@GOTTPOFF]",
            out(reg) address,
            options(pure, nomem, nostack),
        );
    }
    address
}

/// Where the calling code stands on its stack; never 0, and within `BUSY`.
#[inline(always)]
#[must_use]
pub fn stack_pointer() -> u64 {
    let address: u64;
    // SAFETY: reads a register.
    unsafe { core::arch::asm!("mov {0}, rsp", out(reg) address, options(nomem, nostack, preserves_flags)) };
    address
}
