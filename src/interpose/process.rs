//! Ways to leave: the processes' that do not go through `exit`, and those from one stack to another.
//!
//! `exit` itself needs no wrapper: an exit handler sees every way through it. Nor does `fork` (fork handlers) or
//! `vfork` (its child is recognised by its process id), nor `posix_spawn`: the environment decides whether a child is
//! monitored, see `runtime::environment`.

use super::real;
use crate::runtime::{fiber, process};
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
    process::finish_before_abort();
    // SAFETY: the program's own call.
    unsafe { real::abort()() }
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
