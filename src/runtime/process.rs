//! The process's life: constructor, first thread, fork, and all the ways to end.

use super::pipeline::{self, Pipeline};
use super::recording::tell_early_blocks;
use super::state::{self, ARMED_PROCESS, State};
use super::tls::{Tls, tls};
use super::trace_directory::Recording;
use super::{HEAP, early_blocks, fiber, futex, pins, record, registry, signals, steering, stripes, tasks, worker};
use crate::interpose::{memory, operator_new};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering};
use std::time::{Duration, Instant};

unsafe extern "C" {
    fn on_exit(handler: extern "C" fn(libc::c_int, *mut libc::c_void), argument: *mut libc::c_void) -> libc::c_int;
}

/// Runs when the library is loaded. In the `avmon` binary, which contains it too, it does nothing.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = {
    extern "C" fn construct() {
        if is_preloaded() {
            arm();
        }
    }
    construct
};

/// Whether this code sits in a shared library and not in the main program.
fn is_preloaded() -> bool {
    // SAFETY: getauxval has no preconditions; dladdr fills `info` when it returns non-zero.
    unsafe {
        let headers = libc::getauxval(libc::AT_PHDR);
        let mut info: libc::Dl_info = std::mem::zeroed();
        // The program headers lie in the first page of the main program, right behind its ELF header.
        libc::dladdr(is_preloaded as *const libc::c_void, &raw mut info) != 0
            && info.dli_fbase.addr() as u64 != headers & !0xfff
    }
}

fn arm() {
    crate::interpose::resolve();
    ARMED_PROCESS.store(state::process_id(), Ordering::Relaxed);
    super::read_options();
    pins::set();
    if !super::options().follow_exec {
        super::environment::leave_preload();
    }
    // SAFETY: the handlers have the right types and live for ever; failure only means less monitoring.
    unsafe {
        // Registered before anything of the program's, so it runs after all of the program's. It covers every way
        // through exit(): a return from main, a call, err(), the end of the last thread.
        on_exit(at_exit, std::ptr::null_mut());
        libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork_in_child));
        make_end_key();
    }
    if remember_early_blocks() {
        operator_new::find_out();
    }
    state::set_state(State::Armed);
}

/// A recording will tell of memory that was allocated before it begins. Whether there will be one.
fn remember_early_blocks() -> bool {
    let is_to_be_recorded = !super::options().trace_path.is_empty() && !steering::is_asked_for();
    let begins = is_to_be_recorded && early_blocks::begin();
    if begins {
        memory::ask_before_the_recording(true);
    }
    begins
}

/// Whether a thread is in `start`, or was.
static STARTING: AtomicBool = AtomicBool::new(false);

/// Starts the worker, when the program creates its first thread.
pub fn start() {
    // Threads that nobody saw being created (a timer's, a resolver's) may come here together.
    if state::state() != State::Armed || !state::is_armed_process() || STARTING.swap(true, Ordering::Relaxed) {
        return;
    }
    // What we ask the system for meanwhile is not the program's: its pinned answers do not depend on that.
    record::ignore_sync(true);
    begin();
    record::ignore_sync(false);
    memory::ask_before_the_recording(false);
    tell_early_blocks();
}

fn begin() {
    if steering::is_asked_for() {
        return steering::start();
    }
    let _blocked = signals::Blocked::new();
    let options = super::options();
    let (recording, slabs) = Recording::begin().unzip();
    let is_recorded = recording.is_some();
    pipeline::install(Pipeline::new(options, recording, slabs.unwrap_or_default()));
    state::set_state(State::Running);
    if is_recorded {
        record::start_recording(options.trace_values);
    }
    if let Err(code) = worker::spawn() {
        state::set_state(State::Dead);
        let reason = std::io::Error::from_raw_os_error(code);
        super::say(&format!("avmon: cannot start the analysis thread ({reason}); the program runs unmonitored\n"));
        return;
    }
    if options.handle_signals {
        signals::install();
    }
}

// ---- the end of a thread ------------------------------------------------------------------------------------------

static END_KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// Keys' destructors run in rounds, at most this many. Ours counts down and acts in the last one, so that the
/// program's own destructors, which may lock, are still seen.
const ROUNDS: usize = 4;

unsafe extern "C" fn at_thread_end(round: *mut libc::c_void) {
    let key = END_KEY.load(Ordering::Relaxed);
    let left = round.addr() - 1;
    if left > 0 {
        // SAFETY: the key exists; the value is a number, not an address.
        unsafe { libc::pthread_setspecific(key, std::ptr::without_provenance(left)) };
        return;
    }
    record::end_thread();
    fiber::end_stack();
    if registry::is_empty() && state::is_running_here() {
        end_with_last_thread();
    }
}

/// When its last thread ends, libc ends a process with status 0. It counts the worker as one of the program's, so
/// this falls to us. Threads that ended just before may need a moment to be gone; if others stay, they are ones that we
/// do not know, and the worker waits for them.
fn end_with_last_thread() {
    for _ in 0..100 {
        if tasks::are_gone_but_for(worker::os_thread_id()) {
            // SAFETY: what libc would have called, in this thread.
            unsafe { libc::exit(0) }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn make_end_key() {
    let mut key = 0;
    // SAFETY: `key` is written when the call returns 0.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(at_thread_end)) } == 0 {
        END_KEY.store(key, Ordering::Relaxed);
    }
}

/// Makes sure that the end of the calling thread is seen.
pub fn watch_thread_end() {
    let key = END_KEY.load(Ordering::Relaxed);
    if key != u32::MAX {
        // SAFETY: the key exists. It is one of the first 32 of the process, so setting it allocates nothing.
        unsafe { libc::pthread_setspecific(key, std::ptr::without_provenance(ROUNDS)) };
    }
}

// ---- fork ---------------------------------------------------------------------------------------------------------

/// Whose fork holds the heap's lock: the address of the forking thread's state, which is the same in the child.
static HEAP_LOCKED_BY: AtomicPtr<Tls> = AtomicPtr::new(std::ptr::null_mut());

/// The only lock taken over a fork is the heap's: it is never held while waiting for anything. Until it is given back
/// this thread is not recorded: libraries that were loaded before us run their fork handlers meanwhile, and lock.
unsafe extern "C" fn before_fork() {
    record::ignore_sync(true);
    if HEAP.lock_for_fork() {
        HEAP_LOCKED_BY.store(tls(), Ordering::Relaxed);
    }
}

unsafe extern "C" fn after_fork_in_parent() {
    unlock_heap();
    record::ignore_sync(false);
}

/// Whether this thread's fork had the lock, and not another one that goes on at the same time.
fn unlock_heap() -> bool {
    let null = std::ptr::null_mut();
    let locked = HEAP_LOCKED_BY.compare_exchange(tls(), null, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    if locked {
        HEAP.unlock_after_fork();
    }
    locked
}

/// The child has one thread, no worker, and memory in which other threads stopped in the middle of anything. All
/// that they could have been using is left behind, not freed.
unsafe extern "C" fn after_fork_in_child() {
    let sound = unlock_heap();
    // Before this thread may be recorded again: its chunk may be shared with the parent.
    let forgotten = record::forget_thread();
    record::stop_recording();
    steering::leave();
    pins::leave_parent();
    record::ignore_sync(false);
    let was = state::state();
    if was == State::Off {
        return;
    }
    ARMED_PROCESS.store(state::process_id(), Ordering::Relaxed);
    STARTING.store(false, Ordering::Relaxed);
    ENDING.store(UNKNOWN, Ordering::Relaxed);
    pipeline::uninstall();
    // SAFETY: a forked child has one thread.
    unsafe { registry::forget_all() };
    stripes::reset();
    worker::forget();
    let monitored = forgotten && sound && was != State::Dead && super::options().follow_fork;
    if monitored {
        remember_early_blocks();
    }
    state::set_state(if monitored { State::Armed } else { State::Dead });
}

// ---- the end of the process ---------------------------------------------------------------------------------------

extern "C" fn at_exit(status: libc::c_int, _argument: *mut libc::c_void) {
    let wanted = finish(status);
    if wanted & 0xff != status & 0xff {
        // glibc goes on with the handlers that are left, flushes stdio, and ends with the new status: nothing of
        // the program's own end is skipped, as it would be by _exit.
        // SAFETY: called from an exit handler, in the way just described.
        unsafe { libc::exit(wanted) }
    }
}

/// How the process ends, as far as it is known: an exit status, or `SIGNALLED` plus the number of a signal.
static ENDING: AtomicI32 = AtomicI32::new(UNKNOWN);
const UNKNOWN: i32 = -1;
const SIGNALLED: i32 = 256;

/// The exit status, or the signal that ends the process, for its trace.
#[must_use]
pub fn ending() -> (Option<i32>, Option<i32>) {
    match ENDING.load(Ordering::Relaxed) {
        UNKNOWN => (None, None),
        signal @ SIGNALLED.. => (None, Some(signal - SIGNALLED)),
        status => (Some(status), None),
    }
}

/// The first one counts. Not that of a child of vfork, which has our memory and an end of its own.
fn set_ending(ending: i32) {
    if !state::is_armed_process() {
        return;
    }
    let _ = ENDING.compare_exchange(UNKNOWN, ending, Ordering::Relaxed, Ordering::Relaxed);
}

/// Lets the worker finish, because the process aborts.
pub fn finish_before_abort() {
    set_ending(SIGNALLED + libc::SIGABRT);
    let _ = finish(0);
}

/// Lets the worker finish, and tells which status the process should end with.
#[must_use]
pub fn finish(status: libc::c_int) -> libc::c_int {
    set_ending(status & 0xff);
    // Two threads may end the process at the same time: the second one must not take the worker away from the first.
    if !state::is_armed_process() || !(drain() || state::state() == State::Draining) {
        return status;
    }
    ask(worker::Request::Finish);
    state::set_state(State::Dead);
    let code = super::options().exitcode;
    if code != 0 && worker::strong_findings() > 0 { libc::c_int::from(code) } else { status }
}

/// Stops the recording. False if it did not go on.
fn drain() -> bool {
    let drains = state::change_state(State::Running, State::Draining);
    if drains && let Some(pipeline) = pipeline::current() {
        pipeline.release_waiters();
    }
    drains
}

/// Lets the worker report what it can know by now; the process may go on.
pub fn flush() {
    if state::is_running_here() {
        ask(worker::Request::Flush);
    }
}

/// Hands the worker a request and waits until it is done, dead, or stands still for too long. Safe in signal handlers.
fn ask(request: worker::Request) {
    let errno = record::Errno::save();
    let patience = Duration::from_millis(u64::from(super::options().flush_timeout_ms));
    let ticket = worker::request(request);
    if let Some(pipeline) = pipeline::current() {
        pipeline.wake_worker();
    }
    wait_for(ticket, patience);
    errno.restore();
}

/// What waits for the worker is bounded, so that one which moves comes to its end, however slow the machine is.
fn wait_for(ticket: u32, patience: Duration) {
    const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
    let mut moved = worker::TAKEN.load(Ordering::Relaxed);
    let mut deadline = Instant::now() + patience;
    loop {
        let done = worker::DONE.load(Ordering::Acquire);
        let taken = worker::TAKEN.load(Ordering::Relaxed);
        if taken != moved {
            (moved, deadline) = (taken, Instant::now() + patience);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if done >= ticket || left.is_zero() || state::state() == State::Dead {
            return;
        }
        futex::wait(&worker::DONE, done, left.min(BETWEEN_LOOKS));
    }
}

/// Lets the worker finish because a signal ends the process. A second signal does not wait for the first.
pub fn finish_in_signal_handler(signal: libc::c_int) {
    set_ending(SIGNALLED + signal);
    if state::is_armed_process() && drain() {
        ask(worker::Request::Finish);
    }
}
