//! Scenarios: a language for small concurrent programs, and the truth about all their runs.
//!
//! ```text
//! text ─ parser ─ tree ─ program ─ machine ─ run, explore ─┬─ graph, facts: the truth
//!                                                         └─ events: what the analyses take
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`tree`] | a scenario as it is written; [`parse`] makes it, `Display` prints it |
//! | [`words`], [`error`] | the tables of steps, and of what can be wrong with a text |
//! | [`program`] | flat code with jumps |
//! | [`machine`] | a state, who can take a step in it, and what that does |
//! | [`run`] | one run: as written, in a given order, at random |
//! | [`explore`] | all runs, or one of each kind |
//! | [`graph`], [`facts`] | what had to come before what, and so what a run shows |
//! | [`survey`], [`diagram`] | all that can be told about a scenario, and runs that show it |
//! | [`events`] | a run as the monitor would see it |
//! | [`c`] | a real program that runs in a given order |

pub mod c;
mod check;
pub mod diagram;
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
pub mod survey;
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
