//! Signals: kept out while a lock of ours is held, and caught where they would end the program.
//!
//! A signal whose default action ends the program would take the worker with it. Where the program has not said
//! otherwise, we let the worker finish first, and then let the signal do what it would have done.

use super::{process, state, tasks};
use crate::interpose::real;

/// Signals that end a process by default and can be caught.
const FATAL: [libc::c_int; 16] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGILL,
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGSEGV,
    libc::SIGPIPE,
    libc::SIGALRM,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGXCPU,
    libc::SIGXFSZ,
    libc::SIGSYS,
];

/// No signal handler runs on the calling thread while this lives.
///
/// Every lock of ours that a program thread takes, the heap's among them, is taken under this. A handler may do anything:
/// leave by `siglongjmp` or `_exit`, fork, or fill the thread's chunk; it must never find a lock held by the very
/// code that it interrupted.
pub struct Blocked(u64);

impl Blocked {
    #[must_use]
    pub fn new() -> Blocked {
        Blocked(set_mask(u64::MAX))
    }

    /// Lets signals through while `work` runs, for a wait in which no lock is held. Not the one that cancels a thread at
    /// once: it would be unwound through frames that do not allow it.
    pub fn lifted<R>(&self, work: impl FnOnce() -> R) -> R {
        const CANCEL: u64 = 1 << (32 - 1);
        set_mask(self.0 | CANCEL);
        let result = work();
        set_mask(u64::MAX);
        result
    }
}

impl Default for Blocked {
    fn default() -> Blocked {
        Blocked::new()
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        set_mask(self.0);
    }
}

/// Blocks signals, and swallows the SIGPIPE that writing causes meanwhile.
pub struct NoBrokenPipe {
    _blocked: Blocked,
    was_pending: bool,
}

impl NoBrokenPipe {
    #[must_use]
    pub fn new() -> NoBrokenPipe {
        NoBrokenPipe { _blocked: Blocked::new(), was_pending: is_pipe_pending() }
    }
}

impl Default for NoBrokenPipe {
    fn default() -> NoBrokenPipe {
        NoBrokenPipe::new()
    }
}

impl Drop for NoBrokenPipe {
    fn drop(&mut self) {
        if !self.was_pending && is_pipe_pending() {
            let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: an initialised set and time; the information is not asked for.
            unsafe { libc::sigtimedwait(&pipe_set(), std::ptr::null_mut(), &raw const now) };
        }
    }
}

fn pipe_set() -> libc::sigset_t {
    // SAFETY: the set is emptied before it is used.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGPIPE);
        set
    }
}

fn is_pipe_pending() -> bool {
    // SAFETY: the set is written by the first call.
    unsafe {
        let mut pending: libc::sigset_t = std::mem::zeroed();
        libc::sigpending(&raw mut pending) == 0 && libc::sigismember(&raw const pending, libc::SIGPIPE) == 1
    }
}

/// Sets the calling thread's mask and returns the old one. The raw call: libc's keeps its own signals, by which threads
/// are cancelled asynchronously, out of every mask.
fn set_mask(mask: u64) -> u64 {
    let mut old = 0u64;
    // SAFETY: both masks are of the size that is given, the kernel's.
    unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const mask, &raw mut old, size_of::<u64>());
    }
    old
}

/// Catches the fatal signals that still have their default action.
pub fn install() {
    for signal in FATAL {
        // SAFETY: valid signal numbers and an initialised action.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            if real::sigaction()(signal, std::ptr::null(), &raw mut old) == 0 && old.sa_sigaction == libc::SIG_DFL {
                real::sigaction()(signal, &action(at_signal as *const () as usize), std::ptr::null_mut());
            }
        }
    }
}

/// What the program is told instead of a handler: ours stands where it has the default action.
#[must_use]
pub fn as_seen_by_program(handler: libc::sighandler_t) -> libc::sighandler_t {
    if handler == at_signal as *const () as usize { libc::SIG_DFL } else { handler }
}

/// What to do instead, when the program sets this handler. A handler of its own that has done its work often sets the
/// default again to let the signal end the process.
#[must_use]
pub fn instead_of(handler: libc::sighandler_t, signal: libc::c_int) -> Option<libc::sigaction> {
    let is_wanted = handler == libc::SIG_DFL
        && FATAL.contains(&signal)
        && state::is_running_here()
        && super::options().handle_signals;
    is_wanted.then(|| action(at_signal as *const () as usize))
}

fn action(handler: libc::sighandler_t) -> libc::sigaction {
    // SAFETY: all zeroes is an action without flags and with an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    // On the alternate stack if the program has one: the fault may be a stack overflow.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    action
}

extern "C" fn at_signal(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: only async-signal-safe calls; the kernel gave us `info`.
    unsafe {
        process::finish_in_signal_handler(signal);
        real::sigaction()(signal, &action(libc::SIG_DFL), std::ptr::null_mut());
        // A fault repeats by itself when the handler returns, with its own details for a core dump. What was sent
        // must be sent again; it is delivered when the handler returns and the signal is unblocked.
        let is_fault =
            (*info).si_code > 0 && matches!(signal, libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL);
        if !is_fault {
            libc::syscall(libc::SYS_tgkill, state::process_id(), tasks::me(), signal);
        }
    }
}
