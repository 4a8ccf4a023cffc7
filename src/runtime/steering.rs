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

mod calls;
mod hooks;
mod journal;
mod meeting;
mod naps;
mod places;
mod quiet;
mod stuck;

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::recording::{self, STEERED};
use super::signals::Blocked;
use super::state::{self, State};
use super::{descriptors, futex, options, say, tasks};
use crate::event::ThreadId;
use crate::options::Options;
use crate::replay::gate::{Chance, Gate};
use crate::replay::journal::Entry;
use crate::replay::schedule::Schedule;
use journal::Journal;
use naps::Naps;
use places::{Places, is_chance};
use quiet::Quiet;
use stuck::Stuck;

pub use calls::{
    after, announce, before, end, fall_asleep, is_asleep, join_begin, outside, released, signalled, take, wake_up,
    withdraw,
};
pub use hooks::{access, after_atomic, before_atomic, freeing, passed_here, recorded, violation};
pub use places::unloading;

/// How often somebody who waits looks up.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// A thread that just sleeps will come back: it is waited for longer, up to this; by chance not so long, since a signal may have to end its sleep.
const LONGEST_NAP: Duration = Duration::from_secs(30);
const LONGEST_NAP_OF_CHANCE: Duration = Duration::from_millis(100);
/// How long everybody waits for somebody who cannot go on by itself.
const WHEN_NOBODY_RUNS: Duration = Duration::from_millis(60);

/// After which somebody before a debugger wants to know what all wait for.
const UNTIL_TOLD: Duration = Duration::from_secs(5);

/// By chance threads take turns, and whoever does not come back soon is in the hands of the kernel.
const PATIENCE_OF_CHANCE: Duration = Duration::from_millis(20);

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
    /// How long everybody waits for somebody; without it nobody is late: a debugger waits for the violation.
    patience: Option<Duration>,
    /// Since when the thread whose turn it is does not get on, ...
    turn: Quiet,
    /// ... and since when nothing happens at all.
    all: Quiet,
    naps: Naps,
    stuck: Stuck,
    is_awaited_told: bool,
    begun: Instant,
    /// Before which turn it is nobody's, and since when.
    pausing: Option<(u32, Instant)>,
}

/// Null if the run is not steered. A child of a fork leaves it behind, in whatever state it is.
static STEERING: AtomicPtr<Mutex<Steering>> = AtomicPtr::new(std::ptr::null_mut());
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
        return Ok(Some(Steering::new(Gate::of_chance(chance), journal, Some(PATIENCE_OF_CHANCE))));
    }
    let path = &options.replay_schedule;
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read the schedule {path}: {error}"))?;
    let schedule: Schedule = text.parse().map_err(|error| format!("{path}: {error}"))?;
    if !places::is_program(&schedule.program) {
        return Ok(None);
    }
    let Claim::Mine(journal) = claim(&options.replay_journal, Some(schedule.process))? else { return Ok(None) };
    let gate = Gate::of_schedule(&schedule);
    places::set_places(Places::new(Schedule { turns: Vec::new(), ..schedule }));
    let patience = patience(options);
    Ok(Some(Steering::new(gate, journal, patience)))
}

fn patience(options: &Options) -> Option<Duration> {
    let milliseconds = u64::from(options.replay_step_timeout_ms);
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
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
    fn new(gate: Gate, journal: Option<Journal>, patience: Option<Duration>) -> Steering {
        let (turn, all) = (Quiet::new(), Quiet::new());
        let begun = Instant::now();
        Steering {
            gate,
            seats: BTreeMap::new(),
            journal,
            patience,
            turn,
            all,
            naps: Naps::default(),
            stuck: Stuck::default(),
            is_awaited_told: false,
            begun,
            pausing: None,
        }
    }

    /// Tells what the gate decided. Those whom it concerns are to be woken when the gate is unlocked: they come to it at once.
    fn publish(&mut self) -> Vec<&'static Seat> {
        let modules = LazyCell::new(places::modules);
        for news in self.gate.news() {
            if let Some(journal) = &mut self.journal {
                let mut entry = news.entry(|act, code| places::found(&modules, act, code));
                if let Entry::Role { at_ms, .. } = &mut entry {
                    *at_ms = self.begun.elapsed().as_millis() as u64;
                }
                journal.write(&entry);
            }
        }
        let paused = self.gate.pause().map(|(turn, _)| turn);
        if paused != self.pausing.map(|(turn, _)| turn) {
            self.pausing = paused.map(|turn| (turn, Instant::now()));
        }
        IS_AFTER.store(self.gate.is_after(), Ordering::Release);
        if self.gate.is_over() {
            IS_FREE.store(true, Ordering::Release);
        }
        self.gate.woken().filter_map(|thread| self.seats.get(&thread).copied()).collect()
    }

    /// How much of a pause is still to come.
    fn rest_of_pause(&self) -> Option<Duration> {
        let (_, length) = self.gate.pause()?;
        let passed = self.pausing.map_or(Duration::ZERO, |(_, since)| since.elapsed());
        Some(Duration::from_millis(u64::from(length)).saturating_sub(passed))
    }

    /// Gives up what everybody waits for, if it did not get nearer for too long.
    fn look(&mut self) {
        if let Some(rest) = self.rest_of_pause() {
            if rest.is_zero() {
                self.gate.pause_is_over();
            }
            (self.turn, self.all) = (Quiet::new(), Quiet::new());
            return;
        }
        let quiet = self.all.lasts(self.gate.activity());
        let elapsed = self.turn.lasts(self.gate.progress());
        if elapsed == Duration::ZERO {
            self.naps.forget();
            self.stuck.forget();
        }
        let shortest = self.patience.map_or(WHEN_NOBODY_RUNS, |patience| patience.min(WHEN_NOBODY_RUNS));
        if elapsed < shortest {
            return;
        }
        if self.patience.is_none() && elapsed >= UNTIL_TOLD && !self.is_awaited_told {
            self.is_awaited_told = true;
            self.gate.awaited().into_iter().for_each(|entry| self.tell(&entry));
        }
        let is_closed = quiet >= shortest && !self.gate.is_somebody_running() && self.is_closed();
        let is_late =
            is_closed || self.patience.is_some_and(|patience| elapsed >= patience || self.is_everybody_stuck());
        let longest = if is_chance() { LONGEST_NAP_OF_CHANCE } else { LONGEST_NAP };
        if is_late && (elapsed >= longest || !self.is_somebody_napping()) {
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

    /// Whether those who seem to run wait for others, where the gate does not see it.
    fn is_everybody_stuck(&mut self) -> bool {
        let Steering { gate, seats, stuck, .. } = self;
        let is_stuck = |thread| seats.get(&thread).is_some_and(|seat| stuck.is_stuck(seat.os_thread_id));
        descriptors::aside(|| !gate.is_somebody_running_but(is_stuck))
    }

    fn is_somebody_napping(&mut self) -> bool {
        let running = self.seats.values().filter(|seat| self.gate.is_running(seat.thread));
        let running: Vec<u32> = running.map(|seat| seat.os_thread_id).collect();
        !running.is_empty() && descriptors::aside(|| self.naps.is_somebody_napping(&running))
    }

    /// Whether nobody but the threads at the gate could end their waiting: they all wait, there are no others, and no handler of a signal.
    fn is_closed(&self) -> bool {
        let known: Vec<u32> = self.seats.values().map(|seat| seat.os_thread_id).collect();
        let looking = tasks::me();
        descriptors::aside(|| tasks::are_known_and_wait(&known, looking) && !tasks::handles_signals())
    }

    /// How long a thread that waits may sleep before it looks up: one of them does so every now and then.
    fn between_looks(&self) -> Duration {
        let pause = BETWEEN_LOOKS.saturating_mul(self.seats.len().clamp(1, 100) as u32);
        self.rest_of_pause().map_or(pause, |rest| rest.min(pause))
    }

    /// What the debugger waited for has come: from now on the program is to get to its end. Whatever time it took does not count.
    fn go_on_after_violation(&mut self) {
        self.patience = self.patience.or_else(|| patience(&Options::default()));
        self.turn = Quiet::new();
    }

    /// A thread is here for the first time.
    fn sit_down(&mut self, seat: &'static Seat) {
        self.seats.insert(seat.thread, seat);
        if self.patience.is_none() {
            self.tell(&Entry::Thread { thread: seat.thread, kernel: seat.os_thread_id });
        }
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
    places::forget();
    BLOCKED.store(0, Ordering::Release);
    IS_FREE.store(false, Ordering::Release);
    IS_AFTER.store(false, Ordering::Release);
}
