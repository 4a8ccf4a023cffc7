//! How fast things are, one file for each. They print and judge next to nothing; `scripts/bench` runs them, one by one:
//!
//! `cargo test --release --test throughput -- --ignored --nocapture --exact sidetrack::throughput`

mod cpu_time;
mod ir;
mod predict;
mod scenario;
mod serial;
mod sidetrack;
mod trace_codec;
mod trace_store;
mod witnesses;

#[path = "../common/mod.rs"]
mod common;
#[path = "../predict_support/mod.rs"]
mod predict_support;
#[path = "../trace_streams/mod.rs"]
mod trace_streams;
