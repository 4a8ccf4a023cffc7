//! Tables of file descriptors that are not the program's.
//!
//! The monitor opens files: the log, debug information, what the kernel tells of threads. In the program's table each of them would
//! take a number that the program may expect for its own next file; and a program that closes all descriptors it does not know (daemons
//! do) could get that number for a file of its own before the monitor closes it. So whoever opens files leaves the shared table
//! and has one of its own, with nothing of the program's in it but stderr.

use super::{futex, mapping, record, tasks};
use std::cell::Cell;
use std::ffi::c_void;
use std::os::linux::fs::MetadataExt as _;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

const CLOSE_RANGE_UNSHARE: libc::c_uint = 2;

static IS_OWN: AtomicBool = AtomicBool::new(false);

/// Gives the worker a table of its own with only stderr in it. Kernels before 5.9 cannot; then the table stays shared.
pub fn isolate() {
    if leave_table() {
        IS_OWN.store(true, Ordering::Relaxed);
    }
}

/// Gives the calling task a table of its own with only stderr in it. False where the kernel cannot.
fn leave_table() -> bool {
    // SAFETY: the kernel unshares the table before it closes anything, or fails and does neither.
    unsafe {
        let is_own = libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, CLOSE_RANGE_UNSHARE) == 0;
        if is_own {
            libc::syscall(libc::SYS_close, libc::STDIN_FILENO);
            libc::syscall(libc::SYS_close, libc::STDOUT_FILENO);
        }
        is_own
    }
}

/// Lets go of stderr if the program did: somebody may wait for the end of that pipe.
pub fn follow_stderr() {
    if !IS_OWN.load(Ordering::Relaxed) {
        return;
    }
    // The descriptors of the process are those of its first thread. When that has ended nothing can be seen, and
    // nothing is done.
    let theirs = std::fs::metadata("/proc/self/fd/2");
    let ours = std::fs::metadata("/proc/thread-self/fd/2");
    let is_gone = match (&theirs, &ours) {
        (Ok(theirs), Ok(ours)) => (theirs.st_dev(), theirs.st_ino()) != (ours.st_dev(), ours.st_ino()),
        (Err(error), Ok(_)) => error.kind() == std::io::ErrorKind::NotFound && tasks::is_running(std::process::id()),
        (_, Err(_)) => false,
    };
    if is_gone {
        // SAFETY: the worker's own descriptor.
        unsafe { libc::close(libc::STDERR_FILENO) };
    }
}

/// The stack of [`aside`], while nobody uses it: mapped once, so that the program's own mappings lie where they do in every run.
static STACK: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
const STACK_BYTES: usize = 1 << 20;

/// Does in a table of its own what opens files, for a thread of the program that has all its signals blocked.
///
/// It is done by a task that has all of the calling thread but its stack and that table: its memory, its thread-local state, its blocked signals. The
/// thread itself stands still meanwhile: what ends a cancelled thread must not be called. Where there can be no such task, the thread does it itself.
pub fn aside<R>(work: impl FnOnce() -> R) -> R {
    let mut stack = STACK.swap(null_mut(), Ordering::Acquire);
    if stack.is_null() {
        stack = mapping::map_anonymous(STACK_BYTES);
    }
    let call = Call { work: Cell::new(Some(work)), result: Cell::new(None) };
    if !stack.is_null() {
        // What is opened and closed there has numbers of its own.
        record::ignore_sync(true);
        // SAFETY: a stack that nobody uses, and a call that outlives the task.
        unsafe { run_task(stack, &call) };
        record::ignore_sync(false);
        if STACK.compare_exchange(null_mut(), stack, Ordering::Release, Ordering::Relaxed).is_err() {
            // SAFETY: mapped above or by an earlier call, and used by nobody any more.
            unsafe { mapping::unmap(stack, STACK_BYTES) };
        }
    }
    match (call.result.take(), call.work.take()) {
        (Some(result), _) => result,
        (None, Some(work)) => work(),
        (None, None) => unreachable!("work that was begun has a result"),
    }
}

struct Call<F, R> {
    work: Cell<Option<F>>,
    result: Cell<Option<R>>,
}

impl<F: FnOnce() -> R, R> Call<F, R> {
    extern "C" fn run(call: *mut c_void) -> libc::c_int {
        leave_table();
        // SAFETY: `aside` passed it, and does not touch it meanwhile.
        let call = unsafe { &*call.cast::<Self>() };
        call.result.set(call.work.take().map(|work| work()));
        0
    }
}

/// Makes a call in a new task, and waits for its end. Nothing happens if there can be none.
unsafe fn run_task<F: FnOnce() -> R, R>(stack: *mut c_void, call: &Call<F, R>) {
    let argument = std::ptr::from_ref(call).cast_mut().cast::<c_void>();
    let flags = libc::CLONE_VM
        | libc::CLONE_FS
        | libc::CLONE_FILES
        | libc::CLONE_SIGHAND
        | libc::CLONE_THREAD
        | libc::CLONE_SYSVSEM
        | libc::CLONE_CHILD_CLEARTID;
    // The kernel clears it when the task is gone.
    let is_there = AtomicU32::new(1);
    // SAFETY: the stack is that large; what the task uses outlives it, since its end is waited for.
    unsafe {
        let top = stack.byte_add(STACK_BYTES);
        if libc::clone(
            Call::<F, R>::run,
            top,
            flags,
            argument,
            null_mut::<c_void>(),
            null_mut::<c_void>(),
            is_there.as_ptr(),
        ) >= 0
        {
            futex::wait_for_task(&is_there);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::signals::Blocked;

    #[test]
    fn what_is_opened_aside_takes_no_number_of_the_process() {
        let _blocked = Blocked::new();
        let numbers = || {
            let file = std::fs::File::open("/dev/null").unwrap();
            std::os::fd::AsRawFd::as_raw_fd(&file)
        };
        // Two that stay open: in the task's own table the first numbers are free.
        let _held = [std::fs::File::open("/dev/null").unwrap(), std::fs::File::open("/dev/null").unwrap()];
        assert_eq!((aside(numbers), aside(numbers)), (0, 0));
        assert!(numbers() > 3);
        assert!(aside(|| tasks::is_running(std::process::id())));
    }
}
