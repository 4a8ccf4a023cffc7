//! What other orders of a recorded run would show.
//!
//! ```text
//! trace ─ history ─ candidates (cut points, crossings, views, stale values, witnesses) ─ search: is there an order, and which? ─ predictions
//! ```

pub mod analyse;
pub mod clocks;
pub mod crossings;
pub mod cut_points;
pub mod decide;
pub mod dependency;
pub mod filter;
pub mod history;
pub mod parallel;
pub mod pattern;
pub mod prediction;
pub mod search;
pub mod stale;
pub mod views;
pub mod witnesses;
