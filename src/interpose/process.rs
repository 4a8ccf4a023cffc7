//! Ways to leave: the processes' that do not go through `exit`, and those from one stack to another.
//!
//! `exit` itself needs no wrapper: an exit handler sees every way through it. Nor does `fork` (fork handlers), nor
//! `posix_spawn`: the environment decides whether a child is monitored, see `runtime::environment`.
//!
//! The other ways to make a child run no fork handlers. Such a child goes on with this thread's state and, where chunks are in a
//! shared mapping, with its very chunk: it must not record.

use super::real;
use crate::runtime::tls::Frame;
use crate::runtime::{self, fiber, process, record, steering};
use libc::{c_int, c_long, pid_t};
use std::sync::atomic::{AtomicPtr, Ordering};

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

/// What is recorded of a module has no names unless the worker sees it while it is there.
pub extern "C" fn before_dlclose() {
    if runtime::is_recording() {
        process::flush();
    }
    steering::unloading();
}

/// A successful exec ends this program, and the worker with it.
pub extern "C" fn before_exec() {
    process::flush();
}

#[must_use]
pub unsafe extern "C" fn fork_without_handlers() -> pid_t {
    // SAFETY: the program's own call.
    let child = unsafe { real::_Fork()() };
    if child == 0 {
        record::leave_parent();
    }
    child
}

/// The child of `vfork` runs on its parent's memory and stack, while the parent stands still. So it returns twice through one
/// frame, which the first return leaves to be overwritten: what the second one needs must be in registers, and the kernel keeps
/// rdi and rsi. Meanwhile nothing is recorded.
#[unsafe(naked)]
pub unsafe extern "C" fn vfork() {
    core::arch::naked_asm!(
        "sub rsp, 8",
        "call {before}",
        "add rsp, 8",
        "mov rsi, rax",
        "pop rdi",
        "mov eax, {number}",
        "syscall",
        "push rdi",
        "test eax, eax",
        "jz 2f",
        // In the parent, with a child or an error.
        "mov rdi, rsi",
        "mov esi, eax",
        "sub rsp, 8",
        "call {after}",
        "add rsp, 8",
        "2:",
        "ret",
        before = sym before_vfork, after = sym after_vfork, number = const libc::SYS_vfork,
    )
}

/// What the child changes of the function stack, the parent puts back.
extern "C" fn before_vfork() -> *mut Frame {
    record::ignore_sync(true);
    fiber::top()
}

extern "C" fn after_vfork(top: *mut Frame, answer: c_int) -> pid_t {
    fiber::back_to(top);
    record::ignore_sync(false);
    if answer < 0 {
        // SAFETY: always a valid thread-local address.
        unsafe { *libc::__errno_location() = -answer };
        return -1;
    }
    answer
}

/// The real `syscall`.
static SYSCALL: AtomicPtr<libc::c_void> = AtomicPtr::new(std::ptr::null_mut());

pub fn resolve_syscall() {
    SYSCALL.store(real::address_of(c"syscall"), Ordering::Relaxed);
}

/// A bare system call, which may be one that forks. All others go straight on.
#[unsafe(naked)]
pub unsafe extern "C" fn syscall() {
    core::arch::naked_asm!(
        "cmp qword ptr [rip + {slot}], 0",
        "jne 2f",
        "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
        "call {resolve}",
        "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
        "2:",
        "cmp rdi, {fork}",
        "je {by_system_call}",
        "cmp rdi, {clone}",
        "jne 3f",
        // Without a stack or memory of its own it returns here, as fork does.
        "test rdx, rdx",
        "jnz 3f",
        "test esi, {vm}",
        "jz {by_system_call}",
        "3:",
        "jmp qword ptr [rip + {slot}]",
        slot = sym SYSCALL, resolve = sym super::resolve_from_c, by_system_call = sym fork_by_system_call,
        fork = const libc::SYS_fork, clone = const libc::SYS_clone, vm = const libc::CLONE_VM,
    )
}

unsafe extern "C" fn fork_by_system_call(
    number: c_long,
    flags: c_long,
    stack: c_long,
    parent_id: c_long,
    child_id: c_long,
    thread_area: c_long,
) -> c_long {
    type Syscall = unsafe extern "C" fn(c_long, ...) -> c_long;
    // SAFETY: the real function, and the program's own call.
    let child = unsafe {
        let real: Syscall = std::mem::transmute(SYSCALL.load(Ordering::Relaxed));
        real(number, flags, stack, parent_id, child_id, thread_area)
    };
    if child == 0 {
        record::leave_parent();
    }
    child
}
