//! Causal dependencies: which values a program writes depend on which values it read, by data and by control.
//!
//! ```text
//! modules ─ program ─ points ─ facts ─┬─ versions ─┬─ graph ─ search
//!            (link)   (places)        └─ control ──┘         (paths, questions by line)
//! ```
//!
//! These are the rules of Pessanha, Dias and Lourenço ("Precise Detection of Atomicity Violations"), restated for LLVM IR as clang makes it
//! without optimisation, where locals are memory of their own.
//!
//! # What stands for what
//!
//! | the paper | here |
//! |---|---|
//! | local variable | an alloca, with its fields apart |
//! | global variable `(c, f)` | a [`places::Place`]: the global, the allocation or the local that it is in, and the fields that lead there; `(c, f)` alone where the object is not known. All elements of an array are one |
//! | version `(x, h)` | the instruction that writes `x`: [`graph::What::Instruction`]; `h` is its place in the function |
//! | version `(x, h?)` | [`graph::What::Unknown`], of a function and a variable |
//! | temporary | the instruction that makes it |
//! | `meth.p_i`, `meth.ret` | [`graph::What::Parameter`], [`graph::What::Return`] |
//! | `spec(meth)` | [`graph::What::Left`]: what a function leaves in a variable; at the call it is [`graph::What::Called`] |
//! | `IS` | [`graph::What::Control`] of each block, [`graph::What::Entry`] for what callers add |
//!
//! # Figure 4: data
//!
//! | rule | restated |
//! |---|---|
//! | SEQ | `versions` follows the instructions of a block, and the blocks, to a fixpoint |
//! | ASSIGN, HEAP READ | a load depends on the versions of what it loads that reach it; a computation on its operands. Indices count, pointers that lead to a field do not, as in the paper |
//! | HEAP WRITE | a store depends on the value and on indices, and is the new version of what it stores to; it replaces the others (`subs`) if it is all of one variable |
//! | ALLOCATION | what a function that allocates returns depends on nothing |
//! | METH CALL | arguments lead to parameters, what the caller has put into its locals to where the callee reads them by their addresses, the return to the call; versions that the callee leaves join those of the caller, and replace them if the callee writes whatever happens |
//! | CONDITIONAL, LOOP | states join where blocks meet; `h?` stays among them unless every way writes |
//! | RETURN | the returned value leads to `meth.ret` |
//! | SKIP | nothing |
//!
//! # Figure 5: control
//!
//! A block depends on the branches that decide whether it runs, by post-dominance ([`control`]); each store, call and return in it depends on
//! what those branches depend on. So a return in a branch also decides what comes after the branch, which the paper's structured
//! language leaves out. Ways that only end the program decide nothing.
//! As printed, the rule CONDITIONAL does not say where `IS'` comes from; it is `IS ∪ {b}`, as in LOOP and in the text.
//! The conditions of all callers are those of the callee.
//!
//! # Beyond the paper
//!
//! Paths are such that a run can take: what goes into a function by one call does not come out at another. An edge that goes through a function
//! (argument to result, argument to what is left behind) stands for the way inside of it, so that paths leave functions first and then
//! enter others.
//!
//! Ways that only end the program are left out altogether, also where it is a function further down that ends it (`endings`).

pub mod asked;
pub mod components;
pub mod control;
mod endings;
pub mod externals;
pub mod facts;
pub mod graph;
pub mod lines;
pub mod places;
pub mod points;
pub mod program;
pub mod search;
pub mod steering;
#[cfg(test)]
mod tests;
pub mod threads;
pub mod turns;
mod versions;

pub use graph::Graph;
pub use lines::Place;
pub use search::{Answer, Callers, Link};

use crate::ir::model::{Function, Module};

impl Graph {
    /// The dependencies of a program that these modules make up.
    #[must_use]
    pub fn of(modules: Vec<Module>) -> Graph {
        Graph::new(facts::Facts::new(program::Program::link(modules)))
    }
}

/// As a person calls a function.
#[must_use]
pub fn name_of(function: &Function) -> &str {
    function.source_name.as_deref().unwrap_or(&function.name)
}
