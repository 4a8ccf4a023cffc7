//! Whom ctrl-C is for: while a debugger runs, it is what stops the program, and must not end this command, on which the debugger's files depend.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// From now on this process ignores ctrl-C. The command does with it what it always does.
pub fn leave_to(command: &mut Command) {
    // SAFETY: a plain system call; what the action was is all that is asked.
    let before = unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
    // What the user wants ignored stays so.
    let action = if before == libc::SIG_IGN { libc::SIG_IGN } else { libc::SIG_DFL };
    let restore = move || {
        // SAFETY: a plain system call, which is allowed in a child just forked; no handler is involved.
        unsafe { libc::signal(libc::SIGINT, action) };
        Ok(())
    };
    // SAFETY: it does what a child just forked may do, and nothing else.
    unsafe { command.pre_exec(restore) };
}
