//! Waiting and waking by raw futex calls: they neither allocate nor touch thread-local destructors, so a hook may use
//! them in any thread of the program.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Waits until `word` no longer holds `seen`, is woken, or `timeout` has passed. May return early.
pub fn wait(word: &AtomicU32, seen: u32, timeout: Duration) {
    let until = libc::timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
    // SAFETY: the word outlives the call, and FUTEX_WAIT only reads it.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            seen,
            &raw const until,
        );
    }
}

/// Wakes everybody who waits on `word`.
pub fn wake(word: &AtomicU32) {
    // SAFETY: FUTEX_WAKE uses the address only as a key.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, i32::MAX);
    }
}

/// Changes `word` and wakes those who wait for it to change.
pub fn advance(word: &AtomicU32) {
    word.fetch_add(1, Ordering::Release);
    wake(word);
}

/// Waits until the kernel clears `word`, as it does at the end of a task that was created so.
pub fn wait_for_task(word: &AtomicU32) {
    loop {
        let seen = word.load(Ordering::Acquire);
        if seen == 0 {
            return;
        }
        // Not private: the kernel does not wake like that.
        // SAFETY: the word outlives the call, and FUTEX_WAIT only reads it.
        unsafe {
            libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, std::ptr::null::<libc::timespec>())
        };
    }
}
