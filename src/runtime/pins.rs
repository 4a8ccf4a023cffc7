//! What differs from run to run, and is pinned in this process: `interpose::pinned` gives the answers.

use std::sync::atomic::{AtomicU8, Ordering};

use super::{options, say};

/// Something that can be pinned.
#[derive(Clone, Copy)]
pub struct Pin(u8);

impl Pin {
    pub const TIME: Pin = Pin(1);
    pub const RANDOM: Pin = Pin(2);
    pub const PIDS: Pin = Pin(4);
    pub const NAMES: [(&str, Pin); 3] = [("time", Pin::TIME), ("random", Pin::RANDOM), ("pids", Pin::PIDS)];
}

/// What is pinned, as bits.
static PINNED: AtomicU8 = AtomicU8::new(0);

/// Pins what the options ask for, when the process begins: an answer that changes later would be worse than one that differs from run to run. A run from which
/// schedules are made, and those that are compared with, get the answers that the steered ones get.
pub fn set() {
    match read(&options().replay_pin) {
        Ok(pins) => PINNED.store(pins, Ordering::Relaxed),
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
