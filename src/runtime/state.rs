//! The monitor's lifecycle in this process.
//!
//! ```text
//! Off ──constructor of the preloaded library──> Armed ──first thread created──> Running ──end of process──> Draining ──> Dead
//!                                                 ^                                │
//!                                                 └────────── child of a fork ─────┘   (or Dead, by option)
//! ```
//!
//! Off is also what the `avmon` binary stays in, which has the interposers linked in. Before the first thread is
//! created nobody can interfere with anybody, so nothing is recorded. When the process ends its other threads may still
//! run: in Draining they get no new chunks, so that what was recorded comes to an end and can be put in order
//! without holes. Dead never comes back to life.
//!
//! A process that is to be steered goes from Armed to Steered instead: nothing is recorded, and its threads take turns to its end.
//! If another process of the program is meant, it is Declined: nothing happens in it, but its children begin anew.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum State {
    Off = 0,
    Armed = 1,
    Running = 2,
    Draining = 3,
    Dead = 4,
    Steered = 5,
    Declined = 6,
}

static STATE: AtomicU8 = AtomicU8::new(State::Off as u8);

/// The process that was armed: a child of vfork shares our memory, and is told apart by its id.
pub static ARMED_PROCESS: AtomicU32 = AtomicU32::new(0);

/// Events that were made while a hook of the same thread was at work (by a signal handler), and so not recorded.
pub static UNSEEN: AtomicU64 = AtomicU64::new(0);

/// Hooks that a thread was torn out of, by a jump or a cancellation. Each may have left a hole in the order numbers.
pub static TORN: AtomicU32 = AtomicU32::new(0);

/// Events dropped because there was no room for them.
pub static LOST: AtomicU64 = AtomicU64::new(0);

#[inline(always)]
#[must_use]
pub fn state() -> State {
    match STATE.load(Ordering::Acquire) {
        0 => State::Off,
        1 => State::Armed,
        2 => State::Running,
        3 => State::Draining,
        5 => State::Steered,
        6 => State::Declined,
        _ => State::Dead,
    }
}

#[inline(always)]
#[must_use]
pub fn is_running() -> bool {
    STATE.load(Ordering::Relaxed) == State::Running as u8
}

pub fn set_state(state: State) {
    if state == State::Dead {
        // Nobody takes what the threads record, so they need not try.
        super::record::stop_recording();
    }
    STATE.store(state as u8, Ordering::Release);
}

/// Moves from one state to another, unless somebody else was faster.
pub fn change_state(from: State, to: State) -> bool {
    STATE.compare_exchange(from as u8, to as u8, Ordering::AcqRel, Ordering::Acquire).is_ok()
}

/// The id of this process, also where the program is told another one.
#[must_use]
pub fn process_id() -> u32 {
    // SAFETY: no preconditions.
    unsafe { libc::syscall(libc::SYS_getpid) as u32 }
}

/// Whether this is the armed process itself, and not a child: of vfork, on its memory, or of a fork that ran no fork
/// handlers (`_Fork`, a bare system call), with a copy of it, no worker, and locks that nobody will give back.
#[must_use]
pub fn is_armed_process() -> bool {
    process_id() == ARMED_PROCESS.load(Ordering::Relaxed)
}

/// Whether the monitor runs, and in this very process. For what takes a lock or waits for the worker.
#[must_use]
pub fn is_running_here() -> bool {
    is_running() && is_armed_process()
}
