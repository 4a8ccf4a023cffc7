//! One pass over a trace, in which the turns of all targets are filled with the events at their places.
//!
//! A gate counts what threads do at a place, whatever it is done to. So every event there belongs to a turn, also those that are no steps of the history: to
//! the turn whose last stop comes next.
//!
//! A volatile write is recorded as a signal, unless the thread has just given the same one, and as a write. The gate sees the write.

use std::ops::ControlFlow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Unschedulable;
use crate::event::{Event, Kind, ThreadId, access};
use crate::replay::schedule::{Act, Role, Turn};
use crate::trace::reader::Trace;

/// A code location and what is done there. The end of a thread has no location.
pub type Key = (u64, Act);

pub const fn key(pc: u64, act: Act) -> Key {
    (if matches!(act, Act::End) { 0 } else { pc }, act)
}

/// The part of a thread in one schedule.
#[derive(Default)]
pub struct Part {
    /// Its turns, and the number of the last event of each among the thread's own, counted from 0.
    pub turns: Vec<(u32, u32)>,
    pub roles: Vec<(u32, Role)>,
    /// How many of its turns are over.
    over: usize,
    /// The number of its last event that was counted.
    counted: Option<u32>,
}

/// A schedule to be filled.
pub struct Sheet {
    /// The numbers of its places.
    pub places: FxHashMap<Key, u32>,
    pub parts: FxHashMap<ThreadId, Part>,
    pub turns: Vec<Turn>,
    /// Threads that begin, and have no turn.
    pub idle: Vec<ThreadId>,
    /// Places of signals that are volatile writes.
    pub volatile: FxHashSet<u32>,
    pub problem: Option<Unschedulable>,
}

impl Sheet {
    /// Takes an event of a thread. True if that was the last one of the thread's part.
    fn take(&mut self, thread: ThreadId, number: u32, event: &Event, key: Option<Key>) -> bool {
        let Some(part) = self.parts.get_mut(&thread) else { return false };
        let Some(&(turn, last)) = part.turns.get(part.over) else { return false };
        if event.kind() == Some(Kind::Lost) {
            self.problem = Some(Unschedulable::Lost);
        }
        let signal = key.filter(|_| is_volatile_write(event)).and_then(|(pc, _)| self.places.get(&(pc, Act::Signal)));
        if let Some(&place) = signal {
            self.volatile.insert(place);
        }
        let is_counted = signal.is_some() && number.checked_sub(1) == part.counted;
        let place = signal.or_else(|| self.places.get(&key?));
        if let Some(&place) = place.filter(|_| !is_counted) {
            part.counted = Some(number);
            let role = part.roles.iter().find(|(other, _)| *other == number).map(|&(_, role)| role);
            self.turns[turn as usize].push(place, role);
        }
        part.over += usize::from(number == last);
        part.over == part.turns.len()
    }
}

fn is_volatile_write(event: &Event) -> bool {
    event.kind() == Some(Kind::Write) && event.detail() & access::VOLATILE != 0
}

impl Sheet {
    /// The turns in which something happens. Only who is named in a schedule waits for its end: so the idle have a turn in which nothing does.
    pub fn filled(&mut self) -> Vec<Turn> {
        let mut filled: Vec<Turn> = self.idle.drain(..).map(|thread| Turn::new(thread, Vec::new())).collect();
        for turn in self.turns.drain(..).filter(|turn| !turn.steps.is_empty()) {
            match filled.last_mut().filter(|last| last.thread == turn.thread) {
                Some(last) => last.steps.extend(turn.steps),
                None => filled.push(turn),
            }
        }
        filled
    }
}

/// Fills the sheets.
pub fn fill(trace: &Trace, sheets: &mut [Sheet]) {
    let mut numbers: FxHashMap<ThreadId, u32> = FxHashMap::default();
    // Which sheets a thread has a part in.
    let mut concerned: FxHashMap<ThreadId, Vec<usize>> = FxHashMap::default();
    for (index, sheet) in sheets.iter().enumerate() {
        for &thread in sheet.parts.keys() {
            concerned.entry(thread).or_default().push(index);
        }
    }
    let mut take = |thread: ThreadId, event: &Event| {
        // The history counts no others either.
        if event.kind().is_none() {
            return ControlFlow::Continue(());
        }
        let next = numbers.entry(thread).or_default();
        let number = *next;
        *next = next.saturating_add(1);
        let Some(indices) = concerned.get_mut(&thread) else { return ControlFlow::Continue(()) };
        let key = Act::of(event).map(|act| key(event.pc, act));
        indices.retain(|&index| !sheets[index].take(thread, number, event, key));
        if indices.is_empty() {
            concerned.remove(&thread);
        }
        if concerned.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    trace.merged(&mut take, &mut |_, _| {});
    for sheet in sheets {
        if sheet.problem.is_none() && sheet.parts.values().any(|part| part.over < part.turns.len()) {
            sheet.problem = Some(Unschedulable::Incomplete);
        }
    }
}
