//! How fast recordings are written and read on one core, and how large they are. Prints; judges nothing.

use crate::cpu_time::cpu_time;
use std::ops::ControlFlow;
use std::time::Duration;

use avmon::event::{Event, Kind, STRIPES};
use avmon::order::Merger;
use avmon::runtime::chunk::EVENTS;
use avmon::trace::late::LateFrames;
use avmon::trace::meta::{End, Meta};
use avmon::trace::reader::Trace;
use avmon::trace::writer::{Limits, Rules, Writer};

const THREADS: usize = 4;
const ACCESSES: u64 = 4_000_000;

fn numbered(counters: &mut [u64], stream: &mut Vec<Event>, kind: Kind, object: u64) {
    let counter = &mut counters[Event::stripe(kind, object)];
    stream.push(Event::new(kind, 0, *counter, object, 0x40_0000 + kind as u64));
    *counter += 1;
}

/// Threads that compute: a sum over an array with a call per row, a table with scattered addresses, and a lock now and then.
fn streams(accesses_per_lock: u64) -> Vec<Vec<Event>> {
    let mut counters = vec![0; STRIPES];
    let mut streams = vec![Vec::new(); THREADS];
    for child in 1..THREADS as u64 {
        numbered(&mut counters, &mut streams[0], Kind::Fork, child);
    }
    for turn in 0..ACCESSES / accesses_per_lock {
        for (thread, stream) in streams.iter_mut().enumerate() {
            let lock = 0x7000 + (turn * 7 + thread as u64) % 100 * 40;
            numbered(&mut counters, stream, Kind::Acquire, lock);
            stream.push(Event::enter(1, 0x7fff_0000, 0x40_1000, 0x40_0100));
            for i in 0..accesses_per_lock / 4 {
                let place = turn * accesses_per_lock + i;
                let scattered = place.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44;
                stream.push(Event::access(Kind::Read, 0, 8, 1, 0x10_0000 + place * 8, 0x40_1010));
                stream.push(Event::access(Kind::Read, 0, 4, 0, 0x90_0000 + scattered * 4, 0x40_1020));
                stream.push(Event::access(Kind::Write, 0, 4, 1, 0x90_0000 + scattered * 4, 0x40_1030));
                stream.push(Event::access(Kind::Write, 0, 8, 0, 0x50_0000 + thread as u64 * 4096, 0x40_1040));
            }
            stream.push(Event::new(Kind::Leave, 0, 1, 0, 0));
            numbered(&mut counters, stream, Kind::Release, lock);
        }
    }
    streams
}

fn rate(events: u64, time: Duration) -> String {
    let tenths = u128::from(events) * 10_000 / time.as_nanos().max(1);
    format!("{}.{} M events/s", tenths / 10, tenths % 10)
}

#[test]
#[ignore = "a measurement"]
fn throughput() {
    for accesses_per_lock in [4000, 200, 20] {
        for all in [true, false] {
            measure(accesses_per_lock, all);
        }
    }
}

fn measure(accesses_per_lock: u64, all: bool) {
    let streams = streams(accesses_per_lock);
    let directory = tempfile::tempdir().unwrap();
    let meta = Meta { trace_id: 1, ..Meta::default() };
    let mut writer = Writer::create(directory.path(), &meta, Rules { all, exclude: None }, Limits::default()).unwrap();
    let mut late = vec![LateFrames::new(); THREADS];
    let mut merger = Merger::new();
    let mut seen = 0;
    let published: u64 = streams.iter().map(|stream| stream.len() as u64).sum();
    let mut writing = Duration::ZERO;
    for chunk in 0..streams[0].len().div_ceil(EVENTS) {
        for (thread, stream) in streams.iter().enumerate() {
            let Some(events) = stream.chunks(EVENTS).nth(chunk) else { continue };
            let start = cpu_time();
            let mut view = Vec::new();
            late[thread].split(events, &mut view);
            writer.pushed(thread as u32, view.len());
            merger.push(thread as u32, view);
            writer.chunk(thread as u32, chunk as u32, events).unwrap();
            merger.drain(&mut |_, _| seen += 1);
            writer.drained();
            writing += cpu_time().saturating_sub(start);
        }
    }
    writer.finish(&End::default()).unwrap();
    let counts = writer.counts();
    let trace = Trace::open(directory.path()).unwrap();
    let (mut full, mut view) = (Duration::MAX, Duration::MAX);
    for _ in 0..3 {
        let mut sum = 0_u64;
        let start = cpu_time();
        let result = trace.merged(
            &mut |thread, event| {
                sum = sum.wrapping_add(event.object ^ u64::from(thread));
                ControlFlow::Continue(())
            },
            &mut |_, _| {},
        );
        full = full.min(cpu_time().saturating_sub(start));
        assert_eq!((result.events, result.problems.len()), (counts.events, 0));
        std::hint::black_box(sum);
        let start = cpu_time();
        let result = trace.monitored(&mut |_, _| ControlFlow::Continue(()), &mut |_, _| {});
        view = view.min(cpu_time().saturating_sub(start));
        assert_eq!(result.events, seen);
    }
    let hundredths = counts.bytes * 100 / published;
    println!(
        "{} accesses per lock, {}: {}.{:02} bytes per event, written {} ({} ns each), merged {} (of recorded ones {}), monitor's view of {}",
        accesses_per_lock,
        if all { "all kept" } else { "thinned" },
        hundredths / 100,
        hundredths % 100,
        rate(published, writing),
        writing.as_nanos() / u128::from(published),
        rate(published, full),
        rate(counts.events, full),
        rate(published, view),
    );
}
