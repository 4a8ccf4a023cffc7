//! What differs from run to run, and is pinned in this process: `interpose::pinned` gives the answers.

use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::{options, registry, say, state, tls};
use crate::event::ThreadId;

/// Something that can be pinned.
#[derive(Clone, Copy)]
pub struct Pin(u8);

impl Pin {
    pub const TIME: Pin = Pin(1);
    pub const RANDOM: Pin = Pin(2);
    pub const PIDS: Pin = Pin(4);
    pub const NAMES: [(&str, Pin); 3] = [("time", Pin::TIME), ("random", Pin::RANDOM), ("pids", Pin::PIDS)];
}

/// How often a thread asked. Each has answers of its own, or they would depend on who asks first.
#[derive(Default)]
pub struct Asked {
    /// Its time of day, in nanoseconds since the beginning.
    time: AtomicI64,
    numbers: AtomicU64,
}

impl Asked {
    /// What a new thread begins with: it is not earlier there than where it comes from.
    #[must_use]
    pub fn by_child() -> Asked {
        Asked { time: AtomicI64::new(now()), numbers: AtomicU64::new(0) }
    }
}

/// What the main thread asked, which has no record before there are others.
static BY_MAIN: Asked = Asked { time: AtomicI64::new(0), numbers: AtomicU64::new(0) };

/// The calling thread's number, and what it asked.
fn asked() -> (ThreadId, &'static Asked) {
    // SAFETY: the thread's own state, and its record, which lives as long as it does.
    match unsafe { (*tls::tls()).record.as_ref() } {
        Some(record) if record.id != 0 => (record.id, &record.asked),
        _ => (0, &BY_MAIN),
    }
}

/// The calling thread's time of day.
#[must_use]
pub fn now() -> i64 {
    asked().1.time.load(Ordering::Relaxed)
}

/// It becomes so many nanoseconds later for the calling thread. A sleep of any length may be asked for.
pub fn pass(nanoseconds: i64) {
    asked().1.time.store(now().saturating_add(nanoseconds), Ordering::Relaxed);
}

/// It is not earlier than that for the calling thread.
pub fn not_before(time: i64) {
    asked().1.time.fetch_max(time, Ordering::Relaxed);
}

/// The thread's next number: whose, and which one, counted from 0.
#[must_use]
pub fn next_number() -> (ThreadId, u64) {
    let (thread, asked) = asked();
    (thread, asked.numbers.fetch_add(1, Ordering::Relaxed))
}

/// The calling thread waited for the end of another one: it is not earlier there now.
pub fn joined(thread: ThreadId) {
    if has(Pin::TIME)
        && let Some(time) = registry::with(thread, |record| record.asked.time.load(Ordering::Relaxed))
    {
        not_before(time);
    }
}

/// What is pinned, as bits.
static PINNED: AtomicU8 = AtomicU8::new(0);

/// Who has the pinned process id, as the kernel knows it; 0 if nobody. A child of a fork has its own, and this is still its parent.
static HOLDER: AtomicU32 = AtomicU32::new(0);

/// Whom the pinned process id stands for, if it was given to anybody.
#[must_use]
pub fn holder() -> Option<u32> {
    Some(HOLDER.load(Ordering::Relaxed)).filter(|&process| process != 0)
}

/// Pins what the options ask for, when the process begins: an answer that changes later would be worse than one that differs from run to run. A run from which
/// schedules are made, and those that are compared with, get the answers that the steered ones get.
pub fn set() {
    match read(&options().replay_pin) {
        Ok(pins) => {
            PINNED.store(pins, Ordering::Relaxed);
            if has(Pin::PIDS) {
                HOLDER.store(state::process_id(), Ordering::Relaxed);
            }
        }
        Err(reason) => say(&format!("avmon: {reason}; nothing is pinned\n")),
    }
}

fn read(names: &str) -> Result<u8, String> {
    let mut pins = 0;
    for name in names.split('+').filter(|name| !name.is_empty()) {
        let known = Pin::NAMES.iter().find(|(known, _)| *known == name);
        let (_, pin) = known.ok_or_else(|| format!("replay_pin: '{name}' is none of time, random, pids"))?;
        pins |= pin.0;
    }
    Ok(pins)
}

/// Whether this process has it pinned.
#[inline]
#[must_use]
pub fn has(pin: Pin) -> bool {
    PINNED.load(Ordering::Relaxed) & pin.0 != 0
}

/// A child of a fork is another process than its parent, and has another id.
pub fn leave_parent() {
    PINNED.fetch_and(!Pin::PIDS.0, Ordering::Relaxed);
}
