//! Traces made from events, without a program.
#![allow(dead_code, reason = "each test file uses its own part")]

use avmon::event::{Event, ThreadId};
use avmon::trace::late::LateFrames;
use avmon::trace::meta::{End, Meta};
use avmon::trace::writer::{Limits, Rules, Writer};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Writes the trace of a process whose events came in this order, `chunk` of a thread at a time. They are numbered here.
pub fn write(directory: &Path, events: &[(ThreadId, Event)], chunk: usize) {
    write_with_modules(directory, "", events, chunk);
}

/// The same, with the memory map of the process.
pub fn write_with_modules(directory: &Path, maps: &str, events: &[(ThreadId, Event)], chunk: usize) {
    std::fs::create_dir_all(directory).unwrap();
    let meta = Meta {
        trace_id: 0x1234,
        pid: 42,
        program: "/opt/prog".into(),
        arguments: vec!["prog".into(), "--fast".into()],
        environment: vec!["SECRET=1".into()],
        ..Meta::default()
    };
    let mut writer = Writer::create(directory, &meta, Rules { all: true, exclude: None }, Limits::default()).unwrap();
    writer.modules(0, maps);
    for (thread, events) in streams(events) {
        let mut late = LateFrames::new();
        for (serial, events) in (0..).zip(events.chunks(chunk)) {
            let mut monitored = Vec::new();
            late.split(events, &mut monitored);
            writer.pushed(thread, monitored.len());
            writer.chunk(thread, serial, events).unwrap();
            writer.drained();
        }
    }
    let end = End { exit_status: Some(7), duration_ms: 1500, ..End::default() };
    writer.finish(&end).unwrap();
}

/// The stream of each thread, with the numbers that the monitor would have given.
fn streams(events: &[(ThreadId, Event)]) -> BTreeMap<ThreadId, Vec<Event>> {
    let mut numbers: HashMap<usize, u64> = HashMap::new();
    let mut streams: BTreeMap<ThreadId, Vec<Event>> = BTreeMap::new();
    for (thread, event) in events {
        let mut event = *event;
        if let Some(kind) = event.kind().filter(|kind| kind.is_ordered()) {
            let number = numbers.entry(Event::stripe(kind, event.object)).or_default();
            event = Event::new(kind, event.detail(), *number, event.object, event.pc);
            *number += 1;
        }
        streams.entry(*thread).or_default().push(event);
    }
    streams
}
