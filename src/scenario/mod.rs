//! Scenarios: a language for small concurrent programs, and the truth about all their runs.

pub mod events;
pub mod explore;
pub mod facts;
pub mod graph;
pub mod machine;
pub mod program;
pub mod run;
pub mod tree;
