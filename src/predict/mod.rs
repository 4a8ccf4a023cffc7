//! What other orders of a recorded run would show.
//!
//! ```text
//! trace ─ history ─ candidates (cut points, crossings, witnesses) ─ search: is there an order, and which? ─ predictions
//! ```

pub mod history;
pub mod pattern;
pub mod prediction;
pub mod search;
pub mod witnesses;
