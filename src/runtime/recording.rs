//! What a recording adds to the monitor's events: every access, exact function frames, the time, values of atomics and, if asked
//! for, of all accesses.
//!
//! The switch is a variable of the shim, so that the hooks in C look at it with one load. Accesses and frames are appended there
//! (`shim/access.c`, `shim/thread.c`); what follows is for those that cannot simply be appended. A thread's `owes` tells them
//! apart: it is 0 only when the recording has been told everything up to now, frames, awaits and values.

use super::chunk::{Chunk, EVENTS};
use super::record::{Errno, make_room, may_record, not_recorded, open_gate, put, refuse, settle, shut_gate, with_gate};
use super::state::{self, State};
use super::tls::{Tls, tls};
use super::{early_blocks, steering, stripes};
use crate::event::{Event, Kind, memory};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Values of the switch.
const OFF: u32 = 0;
const ON: u32 = 1;
const WITH_VALUES: u32 = 2;
/// Nothing is recorded, but every hook is asked: see [`steering`].
pub(super) const STEERED: u32 = 3;

unsafe extern "C" {
    static avmon_recording: AtomicU32;
}

/// Whether everything is recorded: 0 for no, 1 for yes, 2 with the values of plain accesses.
#[inline(always)]
#[must_use]
pub fn recording() -> u32 {
    // SAFETY: a variable of the shim that only this module writes, atomically.
    unsafe { avmon_recording.load(Ordering::Relaxed) }
}

#[inline(always)]
#[must_use]
pub fn is_recording() -> bool {
    recording() != OFF
}

#[inline(always)]
pub(super) fn has_values() -> bool {
    recording() == WITH_VALUES
}

/// From now on everything that the program's threads do is recorded. To be called when the monitor starts to run.
pub fn start_recording(values: bool) {
    ORIGIN.store(monotonic_ns(), Ordering::Relaxed);
    // SAFETY: as above.
    unsafe { avmon_recording.store(if values { WITH_VALUES } else { ON }, Ordering::Release) };
}

/// From now on the hooks hold the program's threads.
pub(super) fn start_steering() {
    // SAFETY: as above.
    unsafe { avmon_recording.store(STEERED, Ordering::Release) };
}

/// From now on only what the monitor needs is recorded.
pub fn stop_recording() {
    // SAFETY: as above.
    unsafe { avmon_recording.store(OFF, Ordering::Release) };
}

/// Called by the shim, behind the shut gate, when an event cannot simply be appended. False: it cannot at all.
#[must_use]
pub extern "C" fn get_ready() -> libc::c_int {
    if steering::is_on() {
        steering::passed_here();
        return 0;
    }
    // SAFETY: the shim shut the gate.
    libc::c_int::from(unsafe { settle(tls()) })
}

/// An access that cannot simply be appended. The shim shut the gate and leaves it to us to open it.
pub extern "C" fn access_slowly(head: u64, address: u64, pc: u64) {
    let t = tls();
    let (kind, detail, number) = (Kind::from_code(head as u8), (head >> 8) as u8, head >> 16);
    // SAFETY: the gate is ours.
    unsafe {
        if let (true, Some(kind)) = (steering::is_on(), kind) {
            steering::access(t, kind, address, Event::new(kind, detail, number, address, pc).size(), pc);
            return open_gate(t);
        }
        if kind == Some(Kind::Read) {
            forget_write_of_copy(t, Event::new(Kind::Read, detail, number, address, pc));
        }
        if let (true, Some(kind)) = (settle(t), kind) {
            put(t, kind, detail, number, address, pc);
            if has_values() {
                after_access(t, Event::new(kind, detail, number, address, pc));
            }
        } else {
            not_recorded(t, Kind::Read, address, pc);
        }
        open_gate(t);
    }
}

/// A plain access that a hook is about to make for the program. Not inlined, for the reason that `record::make_room` gives.
#[inline(never)]
pub extern "C" fn access(kind: Kind, size: u32, address: u64, pc: u64) {
    let t = tls();
    // SAFETY: the thread's own state; the gate is opened again behind the event.
    unsafe {
        if shut_gate(t) {
            let branches = std::mem::take(&mut (*t).branches);
            let [head, ..] = Event::access(kind, 0, size, branches, address, pc).words();
            access_slowly(head, address, pc);
        }
    }
}

/// An access by a signal handler that interrupted a hook, or that is not to be recorded.
pub extern "C" fn access_refused() {
    // SAFETY: the thread's own state.
    refuse(unsafe { (*tls()).gate });
}

// ---- atomic operations --------------------------------------------------------------------------------------------

/// What an atomic operation did.
#[repr(C)]
pub struct Operation {
    /// One of the three `Kind::Atomic*`.
    pub kind: Kind,
    /// As [`crate::event::atomic`] has it.
    pub detail: u8,
    /// What was there before, and what is there now; the same for a load, and a store does not know the first.
    pub old: u128,
    pub new: u128,
}

/// Does an atomic operation of the program's and takes its number with it. By the C ABI and not inlined, for the reason that
/// `record::make_room` gives.
#[inline(never)]
pub extern "C" fn atomic(address: u64, pc: u64, operate: impl FnOnce() -> Operation) -> Operation {
    let t = tls();
    // SAFETY: the thread's own state; between the two gates this is its only hook at work.
    unsafe {
        if !shut_gate(t) {
            return operate();
        }
        if steering::is_on() {
            steering::before_atomic(t, address, pc);
            let operation = operate();
            steering::after_atomic(t);
            open_gate(t);
            return operation;
        }
        // Room is made first: nobody waits for a chunk with a lock in hand.
        let operation = if settle(t) && tell_time(t) && tell_branches(t) && has_or_makes_room(t) {
            let stripe = Event::stripe(Kind::AtomicLoad, address);
            let (operation, number) = stripes::take_with(stripe, (*t).os_thread_id, operate);
            (*(*t).chunk).put(Event::new(operation.kind, operation.detail, number, address, pc));
            tell_operation(t, &operation);
            operation
        } else {
            not_recorded(t, Kind::AtomicLoad, address, pc);
            operate()
        };
        open_gate(t);
        operation
    }
}

/// Room for an operation, and in the same chunk for its value: between two chunks of one thread, other threads' operations may be
/// handed out.
unsafe fn has_or_makes_room(t: *mut Tls) -> bool {
    // SAFETY: the caller shut the gate.
    unsafe {
        if Chunk::<EVENTS>::is_almost_full((*t).chunk) {
            put(t, Kind::Branches, 0, 0, 0, 0);
        }
        Chunk::<EVENTS>::has_room((*t).chunk) || make_room(t)
    }
}

/// An atomic operation has no room for the basic blocks before it.
unsafe fn tell_branches(t: *mut Tls) -> bool {
    // SAFETY: the caller shut the gate.
    unsafe {
        let branches = std::mem::take(&mut (*t).branches);
        branches == 0 || put(t, Kind::Branches, 0, u64::from(branches), 0, 0)
    }
}

/// The values of an operation are at hand, and those who look at the trace later need them: whether a compare-exchange would still
/// succeed.
unsafe fn tell_operation(t: *mut Tls, operation: &Operation) {
    let halves = |value: u128| (value as u64, (value >> 64) as u64);
    let is_wide = crate::event::atomic::size(operation.detail) > 8;
    let (object, pc) = match operation.kind {
        Kind::AtomicUpdate if is_wide => return,
        Kind::AtomicUpdate => (operation.new as u64, operation.old as u64),
        _ => halves(operation.new),
    };
    // SAFETY: the caller shut the gate.
    unsafe { put(t, Kind::Value, 0, 0, object, pc) };
}

// ---- memory -------------------------------------------------------------------------------------------------------

/// Memory begins a new life. Called after the real function made it. Without a word if the gate is shut: it is then our own.
pub fn allocated(detail: u8, address: u64, bytes: u64, pc: u64) {
    if may_record() {
        with_gate(|t| {
            // SAFETY: the gate is ours.
            unsafe { tell_allocation(t, detail, address, bytes, pc) };
        });
    } else if state::state() == State::Armed {
        early_blocks::put(early_blocks::Block { address, size: bytes, pc, detail });
    }
}

/// Memory is about to end: a whole block of the heap, or so many bytes.
pub fn freeing(address: u64, bytes: Option<u64>, pc: u64) {
    if steering::is_on() {
        steering::freeing(address, bytes, pc);
    }
    if may_record() {
        with_gate(|t| {
            // SAFETY: the gate is ours.
            unsafe {
                if settle(t) && tell_time(t) && bytes.is_none_or(|bytes| tell_extent(t, bytes)) {
                    put(t, Kind::Free, 0, 0, address, pc);
                }
            }
        });
    } else if state::state() == State::Armed {
        early_blocks::remove(address);
    }
}

/// Tells which memory was there before the recording began.
pub(super) fn tell_early_blocks() {
    with_gate(|t| {
        early_blocks::take(|block| {
            if is_recording() {
                // What became of a block before is nobody's concern: this is the first that is told of it.
                let detail = if block.detail == memory::RESIZED { memory::HEAP } else { block.detail };
                // SAFETY: the gate is ours.
                unsafe { tell_allocation(t, detail, block.address, block.size, block.pc) };
            }
        });
    });
}

unsafe fn tell_allocation(t: *mut Tls, detail: u8, address: u64, bytes: u64, pc: u64) {
    // SAFETY: the caller shut the gate.
    unsafe {
        if settle(t) && tell_time(t) && tell_extent(t, bytes) {
            put(t, Kind::Allocate, detail, 0, address, pc);
        }
    }
}

/// Tells where the thread's own stack is.
pub(super) unsafe fn tell_stack(t: *mut Tls, bounds: Option<Range<u64>>) {
    let Some(bounds) = bounds else { return };
    // SAFETY: the caller shut the gate.
    unsafe {
        if tell_extent(t, bounds.end - bounds.start) && put(t, Kind::Allocate, memory::STACK, 0, bounds.start, 0) {
            (*t).stack = bounds.start;
        }
    }
}

/// The stack ends with its thread. No access comes any more that could tell the last branches.
pub(super) unsafe fn tell_end_of_stack(t: *mut Tls) {
    // SAFETY: the caller shut the gate.
    unsafe {
        tell_branches(t);
        let stack = std::mem::take(&mut (*t).stack);
        if stack != 0 {
            put(t, Kind::Free, 0, 0, stack, 0);
        }
    }
}

unsafe fn tell_extent(t: *mut Tls, bytes: u64) -> bool {
    // SAFETY: the caller shut the gate.
    unsafe { put(t, Kind::Extent, 0, bytes.min(Event::MAX_NUMBER), 0, 0) }
}

// ---- values -------------------------------------------------------------------------------------------------------

/// An event has room for this many bytes of a value.
const VALUE: usize = 16;

/// The hook of an access comes before it: what will be read is there already, what will be written is told before the thread's
/// next event.
unsafe fn after_access(t: *mut Tls, access: Event) {
    let size = access.size() as usize;
    if size > VALUE {
        return;
    }
    // SAFETY: the caller shut the gate.
    unsafe {
        if access.kind() == Some(Kind::Write) {
            (*t).written = access.object;
            (*t).written_size = size as u32;
        } else {
            tell_value(t, access.object, size);
        }
    }
}

/// When gcc copies a structure it calls the hook of the write first, then that of the read, and then copies: what was written cannot
/// be told at the next event then, so it is not told. That an access of the same size follows the hook so closely is the sign.
unsafe fn forget_write_of_copy(t: *mut Tls, next: Event) {
    const NEAR: u64 = 24;
    // SAFETY: the caller shut the gate.
    unsafe {
        // Where the write is at the end of a full chunk, its place is not worth the search.
        let is_near = |(_, write): (Event, Event)| (1..=NEAR).contains(&next.pc.wrapping_sub(write.pc));
        if u64::from((*t).written_size) == next.size() && Chunk::<EVENTS>::last_two((*t).chunk).is_none_or(is_near) {
            (*t).written_size = 0;
        }
    }
}

/// Tells the value of the last write, if that is still to be done.
pub(super) unsafe fn tell_written(t: *mut Tls) {
    // SAFETY: the caller shut the gate.
    unsafe {
        let size = std::mem::take(&mut (*t).written_size) as usize;
        if size != 0 {
            tell_value(t, (*t).written, size);
        }
    }
}

unsafe fn tell_value(t: *mut Tls, address: u64, size: usize) {
    let mut bytes = [0u8; VALUE];
    let into = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: size.min(VALUE) };
    let from = libc::iovec { iov_base: std::ptr::without_provenance_mut(address as usize), iov_len: into.iov_len };
    let errno = Errno::save();
    // By the kernel, for which memory that is gone meanwhile is an error like any other.
    // SAFETY: one initialised vector on either side; the target is large enough.
    let read =
        unsafe { libc::process_vm_readv(state::process_id().cast_signed(), &raw const into, 1, &raw const from, 1, 0) };
    errno.restore();
    if read == into.iov_len as isize {
        let [low, high] = [0, 8].map(|i| u64::from_le_bytes(std::array::from_fn(|j| bytes[i + j])));
        // SAFETY: the caller shut the gate.
        unsafe { put(t, Kind::Value, 0, 0, low, high) };
    }
}

// ---- time ---------------------------------------------------------------------------------------------------------

/// When the recording began.
static ORIGIN: AtomicU64 = AtomicU64::new(0);

/// Ticks of the processor's clock between two times that one thread tells: about five microseconds.
const TICKS: u64 = 1 << 14;

fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a clock that every kernel has, and a place for its time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Tells the time, if that was not done just now. False: it should have been told, and could not.
pub(super) unsafe fn tell_time(t: *mut Tls) -> bool {
    // SAFETY: the instruction is part of x86-64; the caller shut the gate.
    unsafe {
        let ticks = core::arch::x86_64::_rdtsc();
        if ticks.wrapping_sub((*t).told_time) < TICKS {
            return true;
        }
        (*t).told_time = ticks;
        let now = monotonic_ns().saturating_sub(ORIGIN.load(Ordering::Relaxed));
        put(t, Kind::Time, 0, now & Event::MAX_NUMBER, 0, 0)
    }
}
