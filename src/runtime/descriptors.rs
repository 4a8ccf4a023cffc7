//! The worker's own table of file descriptors.
//!
//! The worker opens files: the log, debug information. In the program's table each of them would take a number that
//! the program may expect for its own next file; and a program that closes all descriptors it does not know (daemons
//! do) could get that number for a file of its own before the worker closes it. So the worker leaves the shared table
//! and keeps one of its own, with nothing of the program's in it but stderr.

use super::tasks;
use std::os::linux::fs::MetadataExt as _;
use std::sync::atomic::{AtomicBool, Ordering};

const CLOSE_RANGE_UNSHARE: libc::c_uint = 2;

static IS_OWN: AtomicBool = AtomicBool::new(false);

/// Gives the calling thread a table of its own with only stderr in it. Kernels before 5.9 cannot; then the table stays
/// shared.
pub fn isolate() {
    // SAFETY: the kernel unshares the table before it closes anything, or fails and does neither.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, CLOSE_RANGE_UNSHARE) == 0 {
            libc::close(libc::STDIN_FILENO);
            libc::close(libc::STDOUT_FILENO);
            IS_OWN.store(true, Ordering::Relaxed);
        }
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
