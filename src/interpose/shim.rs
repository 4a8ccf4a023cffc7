//! The border to the C shim, both ways. `shim/shim.h` declares the same.

use super::pinned::deadline;
use super::{condition, io, thread};
use crate::event::Kind;
use crate::runtime::{self, fiber, record, steering};

/// What C calls in Rust. Hidden symbols: `#[no_mangle]` would export them from the library to the program.
macro_rules! callbacks {
    ($($name:literal => $target:path;)*) => {
        $(core::arch::global_asm!(
            concat!(".globl ", $name), concat!(".hidden ", $name), concat!(".type ", $name, ", @function"),
            concat!($name, ":"), "jmp {target}",
            target = sym $target
        );)*
    };
}

callbacks! {
    "avmon_stack_begin" => fiber::begin_stack;
    "avmon_hook_torn" => runtime::record::hook_torn;
    "avmon_get_ready" => runtime::get_ready;
    "avmon_access_slowly" => runtime::access_slowly;
    "avmon_access_refused" => runtime::access_refused;
    "avmon_volatile_read" => runtime::record::await_later_from_c;
    "avmon_volatile_write" => runtime::record::signal_once_from_c;
    "avmon_thread_begin" => thread::begin;
    "avmon_wait_begin" => condition::wait_begin;
    "avmon_wait_end" => condition::wait_end;
    "avmon_join_begin" => thread::join_begin;
    "avmon_join_end" => thread::join_end;
    "avmon_cancel_begin" => thread::cancel_begin;
    "avmon_signal" => signal;
    "avmon_await" => await_object;
    "avmon_refused" => refused;
    "avmon_after_read" => io::after_read;
    "avmon_after_signal_wait" => io::after_signal_wait;
    "avmon_resolve" => super::resolve_from_c;
    "avmon_deadline" => deadline::deadline;
    "avmon_deadline_passed" => deadline::deadline_passed;
    "avmon_before_sleep" => deadline::before_nanosleep;
    "avmon_steered_begin" => condition::steered_begin;
    "avmon_steered_is_asleep" => steering::is_asleep;
    "avmon_steered_end" => condition::steered_end;
    "avmon_steered_cancelled" => condition::steered_cancelled;
    "avmon_steered_semaphore" => condition::steered_semaphore;
}

extern "C" fn signal(object: u64, pc: u64) {
    record(Kind::Signal, 0, object, pc);
}

extern "C" fn await_object(object: u64, pc: u64) {
    record(Kind::Await, 0, object, pc);
}

extern "C" fn refused(object: u64, pc: u64) {
    record(Kind::Refused, 0, object, pc);
}

// What Rust calls, or exports, from C.
unsafe extern "C" {
    pub fn avmon_resolve_waits();
    pub fn avmon_func_entry();
    pub fn avmon_func_exit();
    pub fn avmon_record_entry();
    pub fn avmon_record_exit();
    pub fn avmon_before_longjmp();
    pub fn avmon_trampoline(record: *mut libc::c_void) -> *mut libc::c_void;
    pub fn avmon_trampoline_c11(record: *mut libc::c_void) -> libc::c_int;
    pub fn avmon_pthread_cond_wait();
    pub fn avmon_pthread_cond_timedwait();
    pub fn avmon_pthread_cond_clockwait();
    pub fn avmon_cnd_wait();
    pub fn avmon_cnd_timedwait();
    pub fn avmon_pthread_cancel();
    pub fn avmon_pthread_join();
    pub fn avmon_pthread_timedjoin_np();
    pub fn avmon_pthread_clockjoin_np();
    pub fn avmon_thrd_join();
    pub fn avmon_read();
    pub fn avmon_readv();
    pub fn avmon_recv();
    pub fn avmon_recvfrom();
    pub fn avmon_recvmsg();
    pub fn avmon_eventfd_read();
    pub fn avmon___read_chk();
    pub fn avmon___recv_chk();
    pub fn avmon_sigwait();
    pub fn avmon_sigwaitinfo();
    pub fn avmon_sigtimedwait();
    pub fn avmon_sem_wait();
    pub fn avmon_sem_timedwait();
    pub fn avmon_sem_clockwait();
    pub fn avmon_clock_nanosleep();
    pub fn avmon_pthread_once();
    pub fn avmon_call_once();
}
