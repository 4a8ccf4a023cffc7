//! Scenarios: a language for small concurrent programs, and the truth about all their runs.

pub mod tree;
