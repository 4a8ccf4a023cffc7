//! What this process was given by its parent and the program must get unchanged.
//!
//! Rust's runtime opens `/dev/null` in place of closed standard files and ignores SIGPIPE before `main` runs. Both would
//! be visible in the program that this process becomes.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];
static IGNORES_PIPE: AtomicBool = AtomicBool::new(false);

/// Notes the state. To be called before the runtime starts.
pub extern "C" fn record() {
    for (file, closed) in (0..).zip(&CLOSED) {
        // SAFETY: only asks for the flags of a file descriptor, open or not.
        closed.store(unsafe { libc::fcntl(file, libc::F_GETFD) } == -1, Ordering::Relaxed);
    }
    // SAFETY: a null pointer for the new action changes nothing, and the old one is written to valid memory, whose
    // zero bytes are a valid action.
    let action = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut action);
        action
    };
    IGNORES_PIPE.store(action.sa_sigaction == libc::SIG_IGN, Ordering::Relaxed);
}

/// Makes the state what it was. To be called right before the process becomes the program.
pub fn restore() -> io::Result<()> {
    for (file, closed) in (0..).zip(&CLOSED) {
        if closed.load(Ordering::Relaxed) {
            // SAFETY: the file was opened by the runtime in place of a closed one, and nothing is printed any more.
            unsafe { libc::close(file) };
        }
    }
    if IGNORES_PIPE.load(Ordering::Relaxed) {
        // SAFETY: no handler of ours is involved.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    }
    Ok(())
}
