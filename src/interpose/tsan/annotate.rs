//! What source code says about itself for the thread sanitizer: custom locks, order, fibers, thread names.
//!
//! The functions of a custom lock come in pairs around its implementation. In between, this thread's events are
//! ignored: a lock made of a pthread mutex and a condition variable is one lock, not three objects.

use super::super::export::exports;
use crate::event::{Kind, Mode};
use crate::runtime;
use crate::runtime::fiber::{self, Fiber};
use std::ffi::{c_char, c_int, c_uint};

exports! {
    pub const NAMES;
    __tsan_acquire / 1 => acquire;
    __tsan_release / 1 => release;
    __tsan_mutex_create / 2 => mutex_create;
    __tsan_mutex_destroy / 2 => mutex_destroy;
    __tsan_mutex_pre_lock => enter_implementation;
    __tsan_mutex_post_lock / 3 => mutex_post_lock;
    __tsan_mutex_pre_unlock / 2 => mutex_pre_unlock;
    __tsan_mutex_post_unlock => leave_implementation;
    __tsan_mutex_pre_signal => enter_implementation;
    __tsan_mutex_post_signal => leave_implementation;
    // A lock that must call back into ordinary code from inside its implementation says so with these.
    __tsan_mutex_pre_divert => leave_implementation;
    __tsan_mutex_post_divert => enter_implementation;
    // These two would hide order; without it there would be false alarms.
    __tsan_ignore_thread_begin => nothing;
    __tsan_ignore_thread_end => nothing;
    __tsan_get_current_fiber => current_fiber;
    __tsan_create_fiber => create_fiber;
    __tsan_destroy_fiber => destroy_fiber;
    __tsan_switch_to_fiber / 2 => switch_to_fiber;
    __tsan_set_fiber_name => nothing;
    __tsan_java_init => nothing;
    __tsan_java_fini => nothing;
    __tsan_java_alloc => nothing;
    __tsan_java_free => nothing;
    __tsan_java_move => nothing;
    __tsan_java_find => nothing;
    __tsan_java_finalize => nothing;
    __tsan_java_acquire / 1 => acquire;
    __tsan_java_release / 1 => release;
    __tsan_java_release_store / 1 => release;
    __tsan_java_mutex_lock / 1 => acquire;
    __tsan_java_mutex_unlock / 1 => release;
    __tsan_java_mutex_read_lock / 1 => acquire;
    __tsan_java_mutex_read_unlock / 1 => release;
    __tsan_java_mutex_lock_rec / 1 => acquire;
    __tsan_java_mutex_unlock_rec / 1 => java_mutex_unlock_rec;
}

// The first two arguments of each are the source file and line of the annotation.
exports! {
    pub const DYNAMIC;
    AnnotateHappensBefore / 3 => happens_before;
    AnnotateHappensAfter / 3 => happens_after;
    WTFAnnotateHappensBefore / 3 => happens_before;
    WTFAnnotateHappensAfter / 3 => happens_after;
    AnnotateCondVarSignal / 3 => happens_before;
    AnnotateCondVarSignalAll / 3 => happens_before;
    AnnotateCondVarWait / 3 => condition_waited;
    AnnotatePCQPut / 3 => happens_before;
    AnnotatePCQGet / 3 => happens_after;
    AnnotatePCQCreate => nothing;
    AnnotatePCQDestroy => nothing;
    AnnotateRWLockCreate / 3 => lock_created;
    AnnotateRWLockCreateStatic => nothing;
    AnnotateRWLockDestroy / 3 => lock_destroyed;
    AnnotateRWLockAcquired / 4 => lock_acquired;
    AnnotateRWLockReleased / 4 => lock_released;
    AnnotateThreadName => name_thread;
    AnnotateMutexIsNotPHB => nothing;
    AnnotateMutexIsUsedAsCondVar => nothing;
    AnnotateBenignRace => nothing;
    AnnotateBenignRaceSized => nothing;
    WTFAnnotateBenignRaceSized => nothing;
    AnnotateEnableRaceDetection => nothing;
    AnnotateExpectRace => nothing;
    AnnotateFlushExpectedRaces => nothing;
    AnnotateFlushState => nothing;
    AnnotateIgnoreReadsBegin => nothing;
    AnnotateIgnoreReadsEnd => nothing;
    AnnotateIgnoreWritesBegin => nothing;
    AnnotateIgnoreWritesEnd => nothing;
    // Ignoring order would make false alarms.
    AnnotateIgnoreSyncBegin => nothing;
    AnnotateIgnoreSyncEnd => nothing;
    AnnotateMemoryIsInitialized => nothing;
    AnnotateMemoryIsUninitialized => nothing;
    AnnotateNewMemory => nothing;
    AnnotateNoOp => nothing;
    AnnotatePublishMemoryRange => nothing;
    AnnotateUnpublishMemoryRange => nothing;
    AnnotateTraceMemory => nothing;
}

/// Some callers read an answer, and zero is right for all of them.
unsafe extern "C" fn nothing() -> u64 {
    0
}

unsafe extern "C" fn acquire(address: u64, pc: u64) {
    runtime::record(Kind::Await, 0, address, pc);
}

unsafe extern "C" fn release(address: u64, pc: u64) {
    runtime::record(Kind::Signal, 0, address, pc);
}

/// What a custom lock says of one operation: the bits of `sanitizer/tsan_interface.h` that matter here.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Flags(c_uint);

impl Flags {
    const LINKER_INIT: c_uint = 1 << 0;
    const READ_LOCK: c_uint = 1 << 3;
    const TRY_LOCK_FAILED: c_uint = 1 << 5;

    fn has(self, bit: c_uint) -> bool {
        self.0 & bit != 0
    }

    fn mode(self) -> u8 {
        let mode = if self.has(Flags::READ_LOCK) { Mode::Shared } else { Mode::Exclusive };
        mode as u8
    }
}

/// A lock that the linker initialised can be used before its constructor and after its destructor: those say nothing
/// about its life.
unsafe extern "C" fn mutex_create(address: u64, flags: Flags, pc: u64) {
    if !flags.has(Flags::LINKER_INIT) {
        runtime::record(Kind::LockInit, 0, address, pc);
    }
}

unsafe extern "C" fn mutex_destroy(address: u64, flags: Flags, pc: u64) {
    if !flags.has(Flags::LINKER_INIT) {
        runtime::record(Kind::LockDestroy, 0, address, pc);
    }
}

unsafe extern "C" fn enter_implementation() {
    runtime::ignore_sync(true);
}

unsafe extern "C" fn leave_implementation() {
    runtime::ignore_sync(false);
}

unsafe extern "C" fn mutex_post_lock(address: u64, flags: Flags, _recursion: c_int, pc: u64) {
    runtime::ignore_sync(false);
    let kind = if flags.has(Flags::TRY_LOCK_FAILED) { Kind::Refused } else { Kind::Acquire };
    runtime::record(kind, flags.mode(), address, pc);
}

/// Returns how many levels of a re-entrant lock were released. The analysis counts them; here it is always one.
unsafe extern "C" fn mutex_pre_unlock(address: u64, flags: Flags, pc: u64) -> c_int {
    runtime::record(Kind::Release, flags.mode(), address, pc);
    runtime::ignore_sync(true);
    1
}

/// Java monitors are shown as order, not as locks: a wait gives up all levels of one at once.
unsafe extern "C" fn java_mutex_unlock_rec(address: u64, pc: u64) -> c_int {
    runtime::record(Kind::Signal, 0, address, pc);
    1
}

unsafe extern "C" fn happens_before(_file: *const c_char, _line: c_int, address: u64, pc: u64) {
    runtime::record(Kind::Signal, 0, address, pc);
}

unsafe extern "C" fn happens_after(_file: *const c_char, _line: c_int, address: u64, pc: u64) {
    runtime::record(Kind::Await, 0, address, pc);
}

unsafe extern "C" fn condition_waited(_file: *const c_char, _line: c_int, address: u64, pc: u64) {
    runtime::record(Kind::Interfere, 0, address, pc);
    runtime::record(Kind::Await, 0, address, pc);
}

unsafe extern "C" fn lock_created(_file: *const c_char, _line: c_int, address: u64, pc: u64) {
    runtime::record(Kind::LockInit, 0, address, pc);
}

unsafe extern "C" fn lock_destroyed(_file: *const c_char, _line: c_int, address: u64, pc: u64) {
    runtime::record(Kind::LockDestroy, 0, address, pc);
}

/// The mode of an annotated reader-writer lock.
fn mode_of(is_write: c_int) -> u8 {
    let mode = if is_write == 0 { Mode::Shared } else { Mode::Exclusive };
    mode as u8
}

unsafe extern "C" fn lock_acquired(_file: *const c_char, _line: c_int, address: u64, is_write: c_int, pc: u64) {
    runtime::record(Kind::Acquire, mode_of(is_write), address, pc);
}

unsafe extern "C" fn lock_released(_file: *const c_char, _line: c_int, address: u64, is_write: c_int, pc: u64) {
    runtime::record(Kind::Release, mode_of(is_write), address, pc);
}

unsafe extern "C" fn name_thread(_file: *const c_char, _line: c_int, name: *const c_char) {
    // SAFETY: the annotation promises a NUL-terminated name.
    unsafe { runtime::name_thread(name) };
}

unsafe extern "C" fn create_fiber(_flags: c_uint) -> *mut Fiber {
    fiber::create()
}

unsafe extern "C" fn destroy_fiber(fiber: *mut Fiber) {
    // SAFETY: the program passes back what it got, for the last time.
    unsafe { fiber::destroy(fiber) };
}

unsafe extern "C" fn current_fiber() -> *mut Fiber {
    fiber::current()
}

/// A fiber goes on only after it was left, on whatever thread that was.
unsafe extern "C" fn switch_to_fiber(fiber: *mut Fiber, _flags: c_uint, pc: u64) {
    runtime::record(Kind::Signal, 0, fiber::current().addr() as u64, pc);
    // SAFETY: the program passes back what it got, and runs a fiber on one thread at a time.
    unsafe { fiber::switch(fiber) };
    runtime::record(Kind::Await, 0, fiber.addr() as u64, pc);
}
