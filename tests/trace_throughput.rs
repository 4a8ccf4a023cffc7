//! What recording costs per event on one core, and how many bytes it takes. Prints; judges nothing.
//!
//! `cargo test --release --test trace_throughput -- --ignored --nocapture`

mod trace_streams;

use std::hint::black_box;
use std::time::{Duration, Instant};

use avmon::event::Event;
use avmon::trace::codec::{Decoder, Encoder};
use avmon::trace::late::LateFrames;

const EVENTS: usize = 2_000_000;
const ROUNDS: usize = 5;

/// The best of several times, in nanoseconds per event.
fn best(events: usize, mut work: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed()
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
    println!(
        "{name:<28} {chunk:>5}: encode {encode:5.2} + lz4 {compress:5.2} ns, lz4 {decompress:5.2} + decode {decode:5.2} ns, \
         split {split:5.2} ns; {:5.2} bytes, {:5.2} compressed",
        plain as f64 / events.len() as f64,
        size as f64 / events.len() as f64,
    );
}

#[test]
#[ignore = "a measurement"]
fn throughput() {
    for (name, program) in trace_streams::ALL {
        let events = program(EVENTS);
        for chunk in [680, 2728] {
            measure(name, &events, chunk);
        }
    }
}
