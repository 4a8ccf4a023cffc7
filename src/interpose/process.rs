//! Ways to leave: those that do not go through `exit`, and signals, which may be one.
//!
//! `exit` itself needs no wrapper: an exit handler sees every way through it. Nor does `fork` (fork handlers) or
//! `vfork` (its child is recognised by its process id), nor `posix_spawn`: the environment decides whether a child is
//! monitored, see `runtime::environment`.

use super::real;
use crate::runtime::{fiber, process, signals};
use libc::c_int;

pub unsafe extern "C" fn exit_now(status: c_int) -> ! {
    let status = process::finish(status);
    // SAFETY: the program's own call.
    unsafe { real::_exit()(status) }
}

pub unsafe extern "C" fn quick_exit(status: c_int) -> ! {
    let status = process::finish(status);
    // SAFETY: the program's own call.
    unsafe { real::quick_exit()(status) }
}

pub unsafe extern "C" fn abort() -> ! {
    let _ = process::finish(0);
    // SAFETY: the program's own call.
    unsafe { real::abort()() }
}

/// A program that asks what a signal does is told of its own actions, not of ours.
pub unsafe extern "C" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    // SAFETY: the program's own call; a successful one filled `old` if that is not null.
    unsafe {
        let result = real::sigaction()(signal, new, old);
        if result == 0
            && let Some(old) = old.as_mut()
            && signals::is_ours(old.sa_sigaction)
        {
            *old = std::mem::zeroed();
            old.sa_sigaction = libc::SIG_DFL;
        }
        result
    }
}

pub unsafe extern "C" fn signal(number: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: the program's own call.
    let old = unsafe { real::signal()(number, handler) };
    if signals::is_ours(old) { libc::SIG_DFL } else { old }
}

/// The functions of each context are a stack of their own.
pub extern "C" fn before_makecontext(context: usize) {
    fiber::make_context(context);
}

pub extern "C" fn before_swapcontext(from: usize, to: usize) {
    fiber::swap_context(from, to);
}

pub extern "C" fn before_setcontext(to: usize) {
    fiber::swap_context(0, to);
}

/// A successful exec ends this program, and the worker with it.
pub extern "C" fn before_exec() {
    process::flush();
}
