//! What recording costs per event on one core, and how many bytes it takes. Prints; judges nothing.

#![allow(clippy::cast_precision_loss, reason = "figures for people")]

use crate::cpu_time::cpu_time;
use std::hint::black_box;
use std::time::Duration;

use avmon::event::Event;
use avmon::trace::codec::{Decoder, Encoder};
use avmon::trace::late::LateFrames;
use avmon::trace::thin::{Thinner, Thread};

/// So few that the memory is not what is measured: in a run, a chunk comes fresh out of another core.
const EVENTS: usize = 60_000;
const ROUNDS: usize = 200;

/// The best of several times, in nanoseconds per event.
fn best(events: usize, mut work: impl FnMut()) -> f64 {
    let time = |_| {
        let start = cpu_time();
        work();
        cpu_time().saturating_sub(start)
    };
    let best = (0..ROUNDS).map(time).min().unwrap_or(Duration::MAX);
    best.as_nanos() as f64 / events as f64
}

fn measure(name: &str, events: &[Event], chunk: usize) {
    let chunks: Vec<&[Event]> = events.chunks(chunk).collect();
    let mut encoder = Encoder::new();
    let mut bytes = Vec::new();
    let encode = best(events.len(), || {
        for chunk in &chunks {
            bytes.clear();
            encoder.encode(chunk, &mut bytes);
            black_box(&bytes);
        }
    });
    let encoded: Vec<Vec<u8>> = chunks
        .iter()
        .map(|chunk| {
            let mut bytes = Vec::new();
            encoder.encode(chunk, &mut bytes);
            bytes
        })
        .collect();
    let compress = best(events.len(), || {
        for bytes in &encoded {
            black_box(lz4_flex::block::compress(bytes));
        }
    });
    let plain: usize = encoded.iter().map(Vec::len).sum();
    let compressed: Vec<Vec<u8>> = encoded.iter().map(|bytes| lz4_flex::block::compress(bytes)).collect();
    let size: usize = compressed.iter().map(Vec::len).sum();
    let decompress = best(events.len(), || {
        for (compressed, bytes) in compressed.iter().zip(&encoded) {
            black_box(lz4_flex::block::decompress(compressed, bytes.len()).expect("it was just compressed"));
        }
    });
    let mut decoder = Decoder::new();
    let mut back = Vec::new();
    let decode = best(events.len(), || {
        for bytes in &encoded {
            back.clear();
            decoder.decode(bytes, chunk, &mut back).expect("it was just encoded");
            black_box(&back);
        }
    });
    let mut monitor = Vec::new();
    let split = best(events.len(), || {
        let mut late = LateFrames::new();
        for chunk in &chunks {
            monitor.clear();
            late.split(chunk, &mut monitor);
            black_box(&monitor);
        }
    });
    let mut thinner = Thinner::new(None);
    let mut kept = Vec::new();
    let mut left = 0;
    let thin = best(events.len(), || {
        let mut thread = Thread::default();
        left = 0;
        for chunk in &chunks {
            kept.clear();
            thinner.thin(&mut thread, chunk, &mut kept);
            left += kept.len();
            black_box(&kept);
        }
    });
    println!(
        "{name:<28} {chunk:>5}: encode {encode:5.2} + lz4 {compress:5.2} ns, lz4 {decompress:5.2} + decode {decode:5.2} ns, \
         split {split:5.2} ns, thin {thin:5.2} ns to {:3.0} %; {:5.2} bytes, {:5.2} compressed",
        left as f64 * 100.0 / events.len() as f64,
        plain as f64 / events.len() as f64,
        size as f64 / events.len() as f64,
    );
}

#[test]
#[ignore = "a measurement"]
fn throughput() {
    for (name, program) in crate::trace_streams::ALL {
        let events = program(EVENTS);
        for chunk in [680, 2728] {
            measure(name, &events, chunk);
        }
    }
}
