//! A steered run: the program's threads at the gate.
//!
//! Nothing is recorded. Where the monitor would record an event, the thread stops, is told by [`crate::replay::gate`] whether it may go on, and waits for that.
//! Acquires, joins and waits are recorded after the real call, so their hooks stop the thread in front of it; what is recorded
//! afterwards then ends the step. A plain access happens behind its hook: it is known to be done at the thread's next hook.
//!
//! A thread has its signals blocked while it is here: a handler would find the gate's lock held by the very code that it interrupted, and a thread that is
//! cancelled at once must not be unwound through these frames. What has to wait for long is therefore left to the real function.
//!
//! Threads wait by futex, each on a word of its own. Who waits looks up now and then, and gives up what nobody can wait for any longer.

mod journal;
mod meeting;
mod places;

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::recording::{self, STEERED};
use super::signals::Blocked;
use super::state::{self, State};
use super::tls::{BUSY, Tls, tls};
use super::{descriptors, futex, options, registry, say, tasks};
use crate::event::{Kind, ThreadId};
use crate::options::Options;
use crate::replay::gate::{Chance, Gate, Stop};
use crate::replay::journal::Entry;
use crate::replay::schedule::{Act, Schedule};
use journal::Journal;
use places::Places;

/// How often somebody who waits looks up.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// A thread that just sleeps will come back: it is waited for longer, up to this; by chance not so long, since a signal may have to end its sleep.
const LONGEST_NAP: Duration = Duration::from_secs(30);
const LONGEST_NAP_OF_CHANCE: Duration = Duration::from_millis(100);
/// How long everybody waits for somebody who cannot go on by itself.
const WHEN_NOBODY_RUNS: Duration = Duration::from_millis(60);

/// By chance threads take turns, and whoever does not come back soon is in the hands of the kernel.
const PATIENCE_OF_CHANCE: Duration = Duration::from_millis(20);
/// Nobody is late before the violation: a debugger waits for it.
const NEVER_LATE: u32 = u32::MAX;
/// How long a thread tries to get what it wants before it waits for it in the kernel: that may end in an error, a signal or a cancellation.
/// Longer than it takes to see a deadlock.
const MOST_ATTEMPTS: Duration = Duration::from_millis(300);

/// What a thread waits on. The C shim knows that the word is its first field.
#[repr(C)]
pub struct Seat {
    /// Changes when the thread may go on.
    word: AtomicU32,
    thread: ThreadId,
    os_thread_id: u32,
    /// It is in a step.
    is_in_step: AtomicBool,
    /// That step ends with its next hook, if nobody says so before.
    ends_at_hook: AtomicBool,
    /// It is in the hands of the kernel. When it comes to a hook, it is back.
    is_outside: AtomicBool,
    /// It waited for a short time only, when it did so last.
    waited_briefly: AtomicBool,
}

struct Steering {
    gate: Gate,
    seats: BTreeMap<ThreadId, &'static Seat>,
    journal: Option<Journal>,
    patience: Duration,
    /// The gate's progress when somebody last looked, and since when it is that.
    seen: u64,
    since: Instant,
}

/// Null if the run is not steered. A child of a fork leaves it behind, in whatever state it is.
static STEERING: AtomicPtr<Mutex<Steering>> = AtomicPtr::new(std::ptr::null_mut());
/// Where threads stop. Replaced, never freed.
static PLACES: AtomicPtr<Places> = AtomicPtr::new(std::ptr::null_mut());
/// A module was unloaded since somebody looked where they are.
static IS_UNLOADED: AtomicBool = AtomicBool::new(false);
/// Threads that wait for something to be given back.
static BLOCKED: AtomicU32 = AtomicU32::new(0);
/// All turns are over: nobody needs to stop.
static IS_FREE: AtomicBool = AtomicBool::new(false);
/// The violation is complete, and some threads have turns after it: the others stop at every hook, or they would be ahead.
static IS_AFTER: AtomicBool = AtomicBool::new(false);

/// Whether this process is steered.
#[inline(always)]
#[must_use]
pub fn is_on() -> bool {
    recording::recording() == STEERED
}

/// Whether the options ask for it, for this or another process.
#[must_use]
pub fn is_asked_for() -> bool {
    !options().replay_schedule.is_empty() || options().chaos_seed != 0
}

/// Takes the program in hand, if this is the process that is meant. When its first thread is about to be created.
pub fn start() {
    let _blocked = Blocked::new();
    let mut steering = match descriptors::aside(prepare) {
        Ok(Some(steering)) => steering,
        Ok(None) => return state::set_state(State::Declined),
        Err(reason) => {
            say(&format!("avmon: {reason}; the program runs unsteered\n"));
            return state::set_state(State::Dead);
        }
    };
    steering.tell(&Entry::Steered { pid: state::process_id() });
    STEERING.store(Box::leak(Box::new(Mutex::new(steering))), Ordering::Release);
    state::set_state(State::Steered);
    recording::start_steering();
}

fn prepare() -> Result<Option<Steering>, String> {
    let options = options();
    if options.chaos_seed != 0 {
        let chance = Chance::new(u64::from(options.chaos_seed), options.chaos_changes, options.chaos_length);
        let Claim::Mine(journal) = claim(&options.replay_journal, None)? else { return Ok(None) };
        places::learn_inner();
        return Ok(Some(Steering::new(Gate::of_chance(chance), journal, PATIENCE_OF_CHANCE)));
    }
    let path = &options.replay_schedule;
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read the schedule {path}: {error}"))?;
    let schedule: Schedule = text.parse().map_err(|error| format!("{path}: {error}"))?;
    if !places::is_program(&schedule.program) {
        return Ok(None);
    }
    let Claim::Mine(journal) = claim(&options.replay_journal, Some(schedule.process))? else { return Ok(None) };
    let gate = Gate::of_schedule(&schedule);
    set_places(Places::new(Schedule { turns: Vec::new(), ..schedule }));
    let patience = Duration::from_millis(u64::from(options.replay_step_timeout_ms));
    Ok(Some(Steering::new(gate, journal, patience)))
}

/// Whether this is the process that is wanted.
enum Claim {
    /// It is, and this is its journal, if one is asked for.
    Mine(Option<Journal>),
    Other,
}

/// Finds out which of the processes of its program this is, counted from 0, by making a file that is not there yet: its journal.
fn claim(path: &str, wanted: Option<u32>) -> Result<Claim, String> {
    if path.is_empty() {
        return Ok(Claim::Mine(None));
    }
    for number in 0..=wanted.unwrap_or(u32::MAX) {
        let mine = format!("{path}.{number}");
        match Journal::create(Path::new(&mine)) {
            Ok(journal) if wanted.is_none_or(|wanted| wanted == number) => return Ok(Claim::Mine(Some(journal))),
            Ok(mut journal) => {
                journal.write(&Entry::Other { process: number });
                return Ok(Claim::Other);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("cannot write the journal {mine}: {error}")),
        }
    }
    Ok(Claim::Other)
}

impl Steering {
    fn new(gate: Gate, journal: Option<Journal>, patience: Duration) -> Steering {
        Steering { gate, seats: BTreeMap::new(), journal, patience, seen: 0, since: Instant::now() }
    }

    /// Tells what the gate decided. Those whom it concerns are to be woken when the gate is unlocked: they come to it at once.
    fn publish(&mut self) -> Vec<&'static Seat> {
        let modules = LazyCell::new(places::modules);
        for news in self.gate.news() {
            if let Some(journal) = &mut self.journal {
                journal.write(&news.entry(|act, code| places::found(&modules, act, code)));
            }
        }
        IS_AFTER.store(self.gate.is_after(), Ordering::Release);
        if self.gate.is_over() {
            IS_FREE.store(true, Ordering::Release);
        }
        self.gate.woken().filter_map(|thread| self.seats.get(&thread).copied()).collect()
    }

    /// Gives up what everybody waits for, if nothing has happened for too long.
    fn look(&mut self) {
        let progress = self.gate.progress();
        if progress != self.seen {
            (self.seen, self.since) = (progress, Instant::now());
            return;
        }
        let elapsed = self.since.elapsed();
        if elapsed < WHEN_NOBODY_RUNS.min(self.patience) {
            return;
        }
        let is_closed = !self.gate.is_somebody_running() && self.is_closed();
        let limit = if is_closed { Duration::ZERO } else { self.patience };
        let longest = if is_chance() { LONGEST_NAP_OF_CHANCE } else { LONGEST_NAP };
        if elapsed >= limit && (elapsed >= longest || !self.is_somebody_napping()) {
            // An access that ends a turn and is followed by no hook is over by now.
            let ended: Vec<&Seat> =
                self.seats.values().copied().filter(|seat| seat.ends_at_hook.swap(false, Ordering::AcqRel)).collect();
            for seat in &ended {
                self.gate.done(seat.thread);
            }
            if ended.is_empty() {
                self.gate.stalled(is_closed);
            }
        }
    }

    fn is_somebody_napping(&self) -> bool {
        let running = self.seats.values().filter(|seat| self.gate.is_running(seat.thread));
        let running: Vec<u32> = running.map(|seat| seat.os_thread_id).collect();
        !running.is_empty() && descriptors::aside(|| running.into_iter().any(tasks::is_napping))
    }

    /// Whether nobody but the threads at the gate could end their waiting: they all wait, there are no others, and no handler of a signal.
    fn is_closed(&self) -> bool {
        let known: Vec<u32> = self.seats.values().map(|seat| seat.os_thread_id).collect();
        // SAFETY: no preconditions.
        let looking = unsafe { libc::gettid() } as u32;
        descriptors::aside(|| tasks::are_known_and_wait(&known, looking) && !tasks::handles_signals())
    }

    /// How long a thread that waits may sleep before it looks up: one of them does so every now and then.
    fn between_looks(&self) -> Duration {
        BETWEEN_LOOKS.saturating_mul(self.seats.len().clamp(1, 100) as u32)
    }

    /// What the debugger waited for has come: from now on the program is to get to its end. Whatever time it took does not count.
    fn go_on_after_violation(&mut self) {
        if self.patience == Duration::from_millis(u64::from(NEVER_LATE)) {
            self.patience = Duration::from_millis(u64::from(Options::default().replay_step_timeout_ms));
        }
        self.since = Instant::now();
    }

    /// Tells of a step that makes the violation complete. True if this is one.
    fn tell_due(&mut self, thread: ThreadId, object: u64, size: u64) -> bool {
        let due = self.gate.due(thread);
        if let Some(role) = due {
            self.tell(&Entry::Due { role, thread, object, size });
        }
        due.is_some()
    }

    fn tell(&mut self, entry: &Entry) {
        if let Some(journal) = &mut self.journal {
            journal.write(entry);
        }
    }
}

/// Does something at the gate.
fn at_gate<R>(work: impl FnOnce(&mut Steering) -> R) -> Option<R> {
    // SAFETY: null or leaked.
    let steering = unsafe { STEERING.load(Ordering::Acquire).as_ref() }?;
    let mut steering = steering.lock().unwrap_or_else(PoisonError::into_inner);
    let result = work(&mut steering);
    let woken = steering.publish();
    drop(steering);
    for seat in woken {
        futex::advance(&seat.word);
    }
    Some(result)
}

/// The program was forked: the child begins anew.
pub fn leave() {
    STEERING.store(std::ptr::null_mut(), Ordering::Release);
    PLACES.store(std::ptr::null_mut(), Ordering::Release);
    BLOCKED.store(0, Ordering::Release);
    IS_FREE.store(false, Ordering::Release);
    IS_AFTER.store(false, Ordering::Release);
}

// ---- where the hooks come in --------------------------------------------------------------------------------------

/// The calling thread's seat.
fn seat(t: *mut Tls) -> &'static Seat {
    // SAFETY: the thread's own state; a seat is never freed.
    unsafe {
        if let Some(seat) = (*t).seat.as_ref() {
            return seat;
        }
        if (*t).record.is_null() {
            registry::adopt(t);
        }
        let thread = (*(*t).record).id;
        let seat: &'static Seat = Box::leak(Box::new(Seat {
            word: AtomicU32::new(0),
            thread,
            os_thread_id: libc::gettid() as u32,
            is_in_step: AtomicBool::new(false),
            ends_at_hook: AtomicBool::new(false),
            is_outside: AtomicBool::new(false),
            waited_briefly: AtomicBool::new(false),
        }));
        (*t).seat = std::ptr::from_ref(seat).cast_mut();
        at_gate(|steering| steering.seats.insert(thread, seat));
        seat
    }
}

// These sit in the middle of the program's own code, in frames that a cancellation must be able to pass: so they are calls by the C ABI, and nothing of
// theirs is inlined there. See `record::make_room`.

/// What the monitor would record: the thread stops, or a step of it is over. The hook's gate is shut.
///
/// # Safety
/// `t` is the calling thread's state.
#[cold]
#[inline(never)]
pub unsafe extern "C" fn recorded(t: *mut Tls, kind: Kind, object: u64, pc: u64) {
    let event = crate::event::Event::new(kind, 0, 0, object, pc);
    let Some(act) = Act::of(&event) else { return };
    if !is_worth_stopping(t, act, pc) {
        return;
    }
    undisturbed(|| recorded_act(seat(t), act, object, pc));
}

/// Whether anything is to be done here: most places of most programs are none of ours.
fn is_worth_stopping(t: *mut Tls, act: Act, pc: u64) -> bool {
    // SAFETY: the thread's own state; a seat is never freed.
    let seat = unsafe { (*t).seat.as_ref() };
    let has_news =
        seat.is_some_and(|it| it.is_in_step.load(Ordering::Relaxed) || it.is_outside.load(Ordering::Relaxed));
    let is_stop = || is_chance() || place(act, pc).is_some() || IS_AFTER.load(Ordering::Relaxed);
    has_news || !IS_FREE.load(Ordering::Acquire) && is_stop()
}

fn recorded_act(seat: &'static Seat, act: Act, object: u64, pc: u64) {
    // A step that ends with its next hook is another one: who runs a routine once signals, and then waits like all others.
    passed(seat);
    if matches!(act, Act::Lock | Act::Join | Act::Await) && seat.is_in_step.load(Ordering::Relaxed) {
        finish(seat);
    } else {
        stop(seat, act, object, 0, pc);
        match act {
            // Nothing of it is still to come.
            Act::Lock | Act::Join | Act::Await | Act::Start => finish(seat),
            _ => seat.ends_at_hook.store(true, Ordering::Release),
        }
    }
}

/// A plain access is about to happen. The hook's gate is shut.
///
/// # Safety
/// `t` is the calling thread's state.
#[inline(never)]
pub unsafe extern "C" fn access(t: *mut Tls, kind: Kind, address: u64, size: u64, pc: u64) {
    let act = if kind == Kind::Read { Act::Read } else { Act::Write };
    if !may_stop(pc) {
        return passed_here();
    }
    undisturbed(|| {
        let seat = seat(t);
        stop(seat, act, address, size, pc);
        if seat.is_in_step.load(Ordering::Relaxed) {
            let ends_turn = at_gate(|steering| steering.gate.ends_turn(seat.thread)).unwrap_or(false);
            if ends_turn {
                seat.ends_at_hook.store(true, Ordering::Release);
            } else {
                finish(seat);
            }
        }
    });
}

/// Stops in front of an atomic operation. The hook's gate is shut.
///
/// # Safety
/// `t` is the calling thread's state.
#[cold]
#[inline(never)]
pub unsafe extern "C" fn before_atomic(t: *mut Tls, address: u64, pc: u64) {
    if is_worth_stopping(t, Act::Atomic, pc) {
        undisturbed(|| stop(seat(t), Act::Atomic, address, 1, pc));
    }
}

/// The operation is over.
///
/// # Safety
/// `t` is the calling thread's state.
#[cold]
#[inline(never)]
pub unsafe extern "C" fn after_atomic(t: *mut Tls) {
    // SAFETY: the thread's own state; a seat is never freed.
    let seat = unsafe { (*t).seat.as_ref() };
    if let Some(seat) = seat.filter(|seat| seat.is_in_step.load(Ordering::Relaxed)) {
        undisturbed(|| finish(seat));
    }
}

/// Memory is about to be freed: a block of the heap, or so many bytes.
pub fn freeing(address: u64, bytes: Option<u64>, pc: u64) {
    if may_stop_here() && (may_stop(pc) || is_chance() && !places::is_inner(pc)) {
        with_hook(|t| {
            // SAFETY: the program is about to free it, so it is a block of its heap.
            let usable = || unsafe { libc::malloc_usable_size(std::ptr::without_provenance_mut(address as usize)) };
            let seat = seat(t);
            stop(seat, Act::Free, address, bytes.unwrap_or_else(|| usable() as u64), pc);
            seat.ends_at_hook.store(true, Ordering::Release);
        });
    }
}

/// The thread comes to a hook: what ends there is over.
fn passed(seat: &'static Seat) {
    if seat.is_outside.load(Ordering::Relaxed) {
        seat.is_outside.store(false, Ordering::Relaxed);
        at_gate(|steering| steering.gate.returned(seat.thread));
    }
    if seat.ends_at_hook.load(Ordering::Relaxed) && seat.ends_at_hook.swap(false, Ordering::AcqRel) {
        finish(seat);
    }
}

/// The same, at a hook that is no stop.
#[inline(never)]
pub extern "C" fn passed_here() {
    // SAFETY: the thread's own state; a seat is never freed.
    let seat = unsafe { (*tls()).seat.as_ref() };
    let has_news = |seat: &&Seat| seat.ends_at_hook.load(Ordering::Relaxed) || seat.is_outside.load(Ordering::Relaxed);
    if let Some(seat) = seat.filter(has_news) {
        undisturbed(|| passed(seat));
    }
}

/// Stops in front of what is about to happen, until the thread may go on.
fn stop(seat: &'static Seat, act: Act, object: u64, size: u64, code: u64) {
    passed(seat);
    // A step that was never told to be over: the call failed.
    finish(seat);
    if IS_FREE.load(Ordering::Acquire) {
        return;
    }
    let place = place(act, code);
    if place.is_none() && !is_chance() && !is_through(seat) {
        return;
    }
    let stop = Stop { act, place, object, size, code, is_private: true };
    let thread = seat.thread;
    // Who need not wait takes the gate's lock once.
    let arrived =
        at_gate(|steering| steering.gate.arrive(thread, stop).then(|| steering.tell_due(thread, object, size)));
    let is_due = arrived.flatten().or_else(|| {
        wait(seat, |gate| gate.goes_on(thread));
        at_gate(|steering| steering.tell_due(thread, object, size))
    });
    seat.is_in_step.store(true, Ordering::Relaxed);
    if is_due == Some(true) {
        // SAFETY: does nothing.
        unsafe { avmon_violation() };
        at_gate(Steering::go_on_after_violation);
    }
}

/// Whether the thread waits for those who have turns after the violation.
fn is_through(seat: &'static Seat) -> bool {
    IS_AFTER.load(Ordering::Acquire) && at_gate(|steering| steering.gate.is_through(seat.thread)) == Some(true)
}

/// Waits until the gate says so.
fn wait(seat: &'static Seat, is_over: impl Fn(&Gate) -> bool) {
    let since = Instant::now();
    let bound = seat.waited_briefly.load(Ordering::Relaxed).then(meeting::bind).flatten();
    wait_here(seat, is_over);
    if let Some(bound) = bound {
        bound.release();
    }
    seat.waited_briefly.store(since.elapsed() < meeting::SHORT, Ordering::Relaxed);
}

fn wait_here(seat: &'static Seat, is_over: impl Fn(&Gate) -> bool) {
    loop {
        let seen = seat.word.load(Ordering::Acquire);
        let looked = at_gate(|steering| {
            steering.look();
            (is_over(&steering.gate), steering.between_looks())
        });
        let Some((false, pause)) = looked else { return };
        futex::wait(&seat.word, seen, pause);
    }
}

/// The step is over.
fn finish(seat: &'static Seat) {
    if seat.is_in_step.load(Ordering::Relaxed) {
        seat.is_in_step.store(false, Ordering::Relaxed);
        seat.ends_at_hook.store(false, Ordering::Relaxed);
        at_gate(|steering| steering.gate.done(seat.thread));
    }
}

unsafe extern "C" {
    fn avmon_violation();
}

/// Where a debugger can stop the program, under its exported name: the next thing that this thread does makes the violation complete.
pub extern "C" fn violation() {}

/// Chance has no places: every synchronisation counts, and what the program frees.
fn is_chance() -> bool {
    PLACES.load(Ordering::Acquire).is_null()
}

fn set_places(places: Places) {
    PLACES.store(Box::leak(Box::new(places)), Ordering::Release);
}

fn places() -> Option<&'static Places> {
    // SAFETY: null or leaked.
    unsafe { PLACES.load(Ordering::Acquire).as_ref() }
}

/// The places, as they lie when this code runs.
#[inline]
fn places_at(code: u64) -> Option<&'static Places> {
    let known = places()?;
    if known.is_news(code) || IS_UNLOADED.load(Ordering::Relaxed) {
        look_for_modules(known);
    }
    places()
}

/// How often places are found anew: a program may load and unload without end, and what it had stays.
const MOST_LOOKS: u32 = 1000;

#[cold]
#[inline(never)]
extern "C" fn look_for_modules(known: &Places) {
    static LOOKS: AtomicU32 = AtomicU32::new(0);
    let mut blocked = ManuallyDrop::new(Blocked::new());
    IS_UNLOADED.store(false, Ordering::Release);
    match LOOKS.fetch_add(1, Ordering::Relaxed) {
        0..MOST_LOOKS => set_places(known.renewed()),
        MOST_LOOKS => {
            at_gate(|steering| steering.tell(&Entry::Unsought));
        }
        _ => {}
    }
    // SAFETY: the guard is not used again.
    unsafe { ManuallyDrop::drop(&mut blocked) };
}

fn place(act: Act, code: u64) -> Option<u32> {
    places_at(code).and_then(|places| places.find(act, code))
}

/// Whether an access at this place can be a stop: asked of every access.
#[inline]
fn may_stop(code: u64) -> bool {
    !IS_FREE.load(Ordering::Relaxed)
        && (places_at(code).is_some_and(|places| places.may_have(code)) || IS_AFTER.load(Ordering::Relaxed))
}

// ---- what the interposers call ------------------------------------------------------------------------------------

/// Whether a hook of the calling thread may stop it: not in a signal handler that interrupted another one.
fn may_stop_here() -> bool {
    // SAFETY: the thread's own state.
    unsafe { (*tls()).gate == 0 }
}

/// Takes a lock: stops in front of it, tries, and waits at the gate as long as somebody else has it: then `attempt` tells `None`. So does this, if
/// the caller has to wait for it as the program would have without us. `is_private`: no other process has it.
pub fn take<R>(act: Act, object: u64, pc: u64, is_private: bool, attempt: impl Fn() -> Option<R>) -> Option<R> {
    if !may_stop_here() {
        return None;
    }
    with_hook(|t| {
        let seat = seat(t);
        stop(seat, act, object, 0, pc);
        let wait = Stop { act, place: None, object, size: 0, code: pc, is_private };
        let mut first_refused = None;
        loop {
            let result = attempt();
            if result.is_some() {
                return result;
            }
            if first_refused.get_or_insert_with(Instant::now).elapsed() > MOST_ATTEMPTS {
                go_outside(seat, Some(wait));
                return None;
            }
            block(seat, wait);
        }
    })
}

/// Stops in front of a call whose result is recorded.
#[inline]
pub fn before(act: Act, object: u64, pc: u64) {
    if is_on() && may_stop_here() {
        with_hook(|t| stop(seat(t), act, object, 0, pc));
    }
}

/// Waits until `object` is given back, or it is time to see for oneself.
fn block(seat: &'static Seat, stop: Stop) {
    BLOCKED.fetch_add(1, Ordering::SeqCst);
    let seen = seat.word.load(Ordering::Acquire);
    let pause = at_gate(|steering| {
        steering.gate.blocked(seat.thread, stop);
        steering.between_looks()
    });
    futex::wait(&seat.word, seen, pause.unwrap_or(BETWEEN_LOOKS));
    at_gate(|steering| {
        steering.look();
        steering.gate.try_again(seat.thread);
    });
    wait(seat, |gate| gate.goes_on(seat.thread));
    BLOCKED.fetch_sub(1, Ordering::SeqCst);
}

/// Runs a hook's work behind a shut gate.
fn with_hook<R>(work: impl FnOnce(*mut Tls) -> R) -> R {
    let t = tls();
    // SAFETY: the thread's own state; the caller saw that its gate is open.
    unsafe {
        (*t).gate = super::tls::stack_pointer();
        undisturbed(|| work(t))
    }
}

/// Runs a hook's work with all signals blocked, and opens its gate. Not by a guard that is dropped: see `record::make_room`.
fn undisturbed<R>(work: impl FnOnce() -> R) -> R {
    let mut blocked = ManuallyDrop::new(Blocked::new());
    let result = work();
    let t = tls();
    // SAFETY: the thread's own state; the guard is not used again.
    unsafe {
        // Before the signals that came meanwhile are handled: their handlers take turns too.
        (*t).gate &= !BUSY;
        ManuallyDrop::drop(&mut blocked);
    }
    result
}

/// The real call behind a stop is over: an unlock, a signal, a creation.
#[inline]
pub fn after() {
    if is_on() && may_stop_here() {
        with_hook(|t| finish(seat(t)));
    }
}

/// `object` was given back: those who wait for it may try again.
#[inline]
pub fn released(object: u64) {
    if is_on() && may_stop_here() {
        with_hook(|t| {
            if BLOCKED.load(Ordering::SeqCst) > 0 {
                at_gate(|steering| steering.gate.released(object));
            }
            finish(seat(t));
        });
    }
}

/// Somebody signalled a condition: who sleeps on it here wakes up.
pub fn signalled(condition: u64, all: bool) {
    if is_on() && may_stop_here() {
        with_hook(|t| {
            at_gate(|steering| steering.gate.signal(condition, all));
            finish(seat(t));
        });
    }
}

/// Gives back a lock to wait for a condition, and lies down. What the thread sleeps on; null if it cannot stop here.
pub fn fall_asleep(condition: u64, lock: u64, is_endless: bool, pc: u64, give_back: impl FnOnce()) -> *const u32 {
    if !is_on() || !may_stop_here() {
        return std::ptr::null();
    }
    with_hook(|t| {
        let seat = seat(t);
        stop(seat, Act::Unlock, lock, 0, pc);
        let is_in_step = seat.is_in_step.swap(false, Ordering::Relaxed);
        let wait = Stop { act: Act::Await, place: None, object: condition, size: 0, code: pc, is_private: true };
        at_gate(|steering| {
            // Here, so that nobody can signal before this thread is asleep: signals come this way too.
            give_back();
            if is_in_step {
                steering.gate.done(seat.thread);
            }
            steering.gate.sleep(seat.thread, wait, is_endless);
            if BLOCKED.load(Ordering::SeqCst) > 0 {
                steering.gate.released(lock);
            }
        });
        seat.word.as_ptr().cast_const()
    })
}

/// Whether the calling thread still waits to be signalled.
#[must_use]
pub extern "C" fn is_asleep() -> libc::c_int {
    let is_asleep = with_hook(|t| {
        let thread = seat(t).thread;
        at_gate(|steering| {
            steering.look();
            steering.gate.is_asleep(thread)
        })
    });
    libc::c_int::from(is_asleep == Some(true))
}

/// The calling thread goes on, signalled or not.
pub fn wake_up() {
    if may_stop_here() {
        with_hook(|t| {
            let thread = seat(t).thread;
            at_gate(|steering| steering.gate.rise(thread));
        });
    }
}

/// A thread is about to be created.
pub fn announce(child: ThreadId) {
    if is_on() {
        undisturbed(|| at_gate(|steering| steering.gate.announce(child)));
    }
}

/// A module is about to be unloaded. It may come back elsewhere.
pub fn unloading() {
    IS_UNLOADED.store(true, Ordering::Release);
}

/// It could not be created.
pub fn withdraw(child: ThreadId) {
    if is_on() {
        undisturbed(|| at_gate(|steering| steering.gate.withdraw(child)));
    }
}

/// Objects of those who wait for a thread's end.
fn end_of(thread: ThreadId) -> u64 {
    1 << 60 | u64::from(thread)
}

/// Stops in front of a join. One that is not endless comes back by itself.
pub fn join_begin(thread: ThreadId, is_endless: bool, pc: u64) {
    if is_on() && may_stop_here() {
        with_hook(|t| {
            let seat = seat(t);
            stop(seat, Act::Join, u64::from(thread), 0, pc);
            let stop =
                Stop { act: Act::Join, place: None, object: end_of(thread), size: 0, code: pc, is_private: true };
            if is_endless {
                at_gate(|steering| steering.gate.joins(seat.thread, thread, stop));
            }
        });
    }
}

/// The calling thread is about to go into the kernel for as long as it takes.
pub fn outside() {
    if is_on() && may_stop_here() {
        with_hook(|t| {
            let seat = seat(t);
            finish(seat);
            go_outside(seat, None);
        });
    }
}

fn go_outside(seat: &'static Seat, wait: Option<Stop>) {
    at_gate(|steering| steering.gate.goes_outside(seat.thread, wait));
    seat.is_outside.store(true, Ordering::Relaxed);
}

/// The calling thread ends.
///
/// # Safety
/// `t` is the calling thread's state.
pub unsafe fn end(t: *mut Tls) {
    undisturbed(|| {
        let seat = seat(t);
        stop(seat, Act::End, u64::from(seat.thread), 0, 0);
        finish(seat);
        at_gate(|steering| {
            steering.gate.ended(seat.thread);
            steering.gate.released(end_of(seat.thread));
            steering.seats.remove(&seat.thread);
        });
    });
}
