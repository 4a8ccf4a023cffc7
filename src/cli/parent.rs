//! Being the parent of a program without being noticed: signals reach it, and its end is this command's end.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};

static CHILD: AtomicI32 = AtomicI32::new(0);
/// A signal that came before there was a child.
static EARLY: AtomicI32 = AtomicI32::new(0);

/// Signals that are sent to one process. The program must get them.
const SENT: [i32; 4] = [libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];
/// Signals that a terminal sends to the program as well. What they mean is for the program to say.
const TYPED: [i32; 2] = [libc::SIGINT, libc::SIGQUIT];

extern "C" fn pass_on(signal: i32) {
    let child = CHILD.load(Ordering::Acquire);
    if child > 0 {
        // SAFETY: both calls may be made in a signal handler; the interrupted code must find its error number unchanged.
        unsafe {
            let error = *libc::__errno_location();
            libc::kill(child, signal);
            *libc::__errno_location() = error;
        }
    } else {
        EARLY.store(signal, Ordering::Release);
    }
}

extern "C" fn let_be(_signal: i32) {}

/// Handles a signal, unless the user had it ignored (`nohup`): the program must inherit that. Handlers are not inherited.
fn handle(signal: i32, handler: extern "C" fn(i32)) {
    // SAFETY: zero bytes are a valid action; both pointers are to valid memory, and the handlers do what handlers may.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut old);
        if old.sa_sigaction != libc::SIG_IGN {
            let mut new: libc::sigaction = std::mem::zeroed();
            new.sa_sigaction = handler as usize;
            new.sa_flags = libc::SA_RESTART;
            libc::sigaction(signal, &raw const new, std::ptr::null_mut());
        }
    }
}

/// Starts the program.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    for signal in SENT {
        handle(signal, pass_on);
    }
    for signal in TYPED {
        handle(signal, let_be);
    }
    let child = command.spawn()?;
    CHILD.store(child.id() as i32, Ordering::Release);
    let early = EARLY.swap(0, Ordering::AcqRel);
    if early != 0 {
        pass_on(early);
    }
    Ok(child)
}

/// Waits for its end.
pub fn wait(child: &mut Child) -> io::Result<ExitStatus> {
    let status = child.wait();
    // The process id may soon be somebody else's.
    CHILD.store(0, Ordering::Release);
    status
}

/// Ends this process as the program ended.
pub fn end_like(status: ExitStatus) -> ! {
    if let Some(signal) = status.signal() {
        // SAFETY: plain calls. One core dump, the program's own, is enough.
        unsafe {
            libc::prctl(libc::PR_SET_DUMPABLE, 0);
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        // Only a signal that is blocked lets us come here.
        std::process::exit(128 + signal);
    }
    std::process::exit(status.code().unwrap_or(super::ExitCode::Failed.0.into()))
}
