//! Scenarios: a language for small concurrent programs, and the truth about all their runs.

pub mod c;
mod check;
pub mod error;
pub mod events;
pub mod explore;
pub mod facts;
pub mod graph;
mod lexer;
pub mod machine;
mod outline;
mod parser;
mod printer;
pub mod program;
pub mod run;
pub mod tree;
pub mod wakings;
pub mod words;

pub use error::Errors;
pub use parser::parse;

/// Limits of a scenario. They keep names of threads and objects within a byte and every recursion within the stack.
pub const MOST_THREADS: usize = 60;
pub const MOST_OBJECTS: usize = 250;
pub const MOST_STEPS: usize = 10_000;
pub const MOST_REPETITIONS: u32 = 1000;
/// Braces within braces, each `else if` being one more.
pub const MOST_LEVELS: usize = 100;
/// Operators and parentheses in one value.
pub const MOST_OPERATORS: usize = 250;
