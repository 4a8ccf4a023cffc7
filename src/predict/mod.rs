//! What other orders of a recorded run would show.
//!
//! ```text
//! trace ─ history ─ candidates (cut points, crossings, witnesses) ─ search: is there an order, and which? ─ predictions
//! ```

pub mod analyse;
pub mod clocks;
pub mod crossings;
pub mod cut_points;
pub mod decide;
pub mod filter;
pub mod history;
mod parallel;
pub mod pattern;
pub mod prediction;
pub mod search;
pub mod witnesses;
