//! What the program calls: one family per file, and the table of exported symbols.

pub mod blocks;
mod export;
pub mod tsan;

pub(crate) use export::exports;
