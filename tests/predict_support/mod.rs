//! What the tests of the predictions share.

#![allow(dead_code, reason = "every test takes what it needs")]

pub mod code;
pub mod legal;
pub mod promise;
pub mod scenario;
pub mod synthetic;
pub mod table;

use avmon::event::{Event, Kind, ThreadId};
use avmon::predict::history::{Builder, Config, History, Survey};

/// The history of some events.
pub fn history(events: &[(ThreadId, Event)]) -> History {
    history_with(events, Config::default())
}

pub fn history_with(events: &[(ThreadId, Event)], config: Config) -> History {
    let mut survey = Survey::default();
    for (thread, event) in events {
        survey.step(*thread, event);
    }
    let mut builder = Builder::new(&survey, config);
    for (thread, event) in events {
        builder.step(*thread, event);
    }
    builder.finish()
}

/// The same events with a branch in front of every access: the interpreter of scenarios does not tell where they are.
pub fn with_branches(events: &[(ThreadId, Event)]) -> Vec<(ThreadId, Event)> {
    let branch = Event::new(Kind::Branches, 0, 1, 0, 0);
    events.iter().flat_map(|&(thread, event)| [(thread, branch), (thread, event)]).collect()
}
