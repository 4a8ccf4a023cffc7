//! Histories of a few events, for tests. Every event has its place among them, counted from 1, as its code location.

use super::{At, Builder, Config, History, Survey};
use crate::event::{Event, Kind, ThreadId};

pub fn of(events: &[(ThreadId, Event)]) -> History {
    with(events, Config::default())
}

pub fn with(events: &[(ThreadId, Event)], config: Config) -> History {
    let events = (1..).zip(events).map(|(place, &(thread, mut event))| {
        // The location of a value is a value.
        if event.kind() != Some(Kind::Value) {
            event.pc = place;
        }
        (thread, event)
    });
    let mut survey = Survey::default();
    events.clone().for_each(|(thread, event)| survey.step(thread, &event));
    let mut builder = Builder::new(&survey, config);
    events.for_each(|(thread, event)| builder.step(thread, &event));
    builder.finish()
}

pub const fn event(kind: Kind, object: u64) -> Event {
    Event::new(kind, 0, 0, object, 0)
}

/// An event that counts something.
pub const fn count(kind: Kind, number: u64) -> Event {
    Event::new(kind, 0, number, 0, 0)
}

/// An access of eight bytes.
pub const fn access(kind: Kind, address: u64) -> Event {
    after_branches(kind, address, 0)
}

pub const fn after_branches(kind: Kind, address: u64, branches: u16) -> Event {
    Event::access(kind, 0, 8, branches, address, 0)
}

impl History {
    /// The step that an event became.
    #[must_use]
    pub fn made_by(&self, place: u64) -> At {
        (0..self.steps.len() as At).find(|&at| self.pc(at) == place).expect("an event that became a step")
    }
}
