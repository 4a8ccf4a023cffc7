//! Which steps have to keep their order: those that touch the same thing, unless both only look at it.

use rustc_hash::FxHashMap;

use super::Target;
use crate::predict::history::{At, History, Lane, NONE, Op};

/// What a step touches, and whether it changes that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    pub object: u32,
    pub changes: bool,
}

/// The things that steps touch, numbered: variables, then locks, then two that stand for many.
pub struct Objects<'h> {
    history: &'h History,
    locks: u32,
    /// Threads are known by the order in which they are created.
    forks: u32,
    /// A refusal of what nobody holds, as of a semaphore, depends on how often it was signalled and awaited before.
    units: u32,
    /// Steps of the violation, which come in its order also where nothing else asks for that: readers of a lock.
    ordered: Vec<At>,
}

impl<'h> Objects<'h> {
    pub fn new(history: &'h History, target: &Target) -> Objects<'h> {
        let locks = history.variables.len() as u32;
        let forks = locks + history.locks.len() as u32;
        let ordered = target.roles.iter().map(|&(at, _)| at).collect();
        Objects { history, locks, forks, units: forks + 1, ordered }
    }

    pub const fn count(&self) -> usize {
        self.units as usize + 1
    }

    pub fn touch(&self, at: At) -> Option<Touch> {
        let step = self.history.step(at);
        let lock = |changes| Touch { object: self.locks + step.object, changes };
        let touch = match step.op {
            op if op.is_access() => Touch { object: step.object, changes: op.writes() },
            Op::Refused if step.link == NONE => Touch { object: self.units, changes: true },
            Op::Acquire | Op::Refused => lock(true),
            // Readers are not in each other's way.
            Op::AcquireShared => lock(self.ordered.contains(&at)),
            Op::Release => lock(step.link == NONE || self.history.step(step.link).op != Op::AcquireShared),
            // What a wait comes after is told by the history.
            Op::Signal | Op::Await => Touch { object: self.units, changes: false },
            Op::Fork => Touch { object: self.forks, changes: true },
            _ => return None,
        };
        Some(touch)
    }
}

/// Who touched a thing last: places in an order.
struct Last {
    change: Option<(Lane, u32)>,
    /// Of each thread, since the last change.
    looks: Vec<(Lane, u32)>,
}

/// Goes through an order and finds, for each step, the last ones of other threads that it depends on.
#[derive(Default)]
pub struct Conflicts {
    last: FxHashMap<u32, Last>,
}

impl Conflicts {
    /// Takes the next step of the order, and hands out the places of those that it must come after.
    pub fn step(&mut self, touch: Touch, lane: Lane, place: u32, mut after: impl FnMut(u32)) {
        let last = self.last.entry(touch.object).or_insert_with(|| Last { change: None, looks: Vec::new() });
        if let Some((other, change)) = last.change
            && other != lane
        {
            after(change);
        }
        if touch.changes {
            for &(other, look) in &last.looks {
                if other != lane {
                    after(look);
                }
            }
            last.looks.clear();
            last.change = Some((lane, place));
        } else {
            match last.looks.iter_mut().find(|(other, _)| *other == lane) {
                Some((_, look)) => *look = place,
                None => last.looks.push((lane, place)),
            }
        }
    }
}
