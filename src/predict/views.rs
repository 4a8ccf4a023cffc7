//! What atomic blocks access together, and where another thread's two blocks access it apart: candidates for a search.
//!
//! An atomic block is an outermost critical section or a marked block. Its *view* is the set of variables that it reads, or the set of those that it
//! writes: the two are kept apart. A view of a thread that is no part of another one of it is *maximal*: those variables belong together. What another
//! thread's blocks have in common with it, its *overlaps*, should form a chain: of two overlaps one contains the other. Where two blocks of one
//! transaction have overlaps that form none, each of them has a variable that the other one lacks, and the transaction sees, or shows, a part from before
//! and a part from after. Reads are torn by a block that writes both, and writes for a block that reads both. These are views and their
//! compatibility as in "Precise Detection of Atomicity Violations" by Pessanha, Dias and Lourenço, of one run: who comes between which blocks is
//! decided on the very memory that was accessed.
//!
//! If the overlaps with a view form no chain, then neither do those with a larger one, so any block that has both variables stands for its maximal view.

mod blocks;
mod candidates;
mod torn;

pub use blocks::{Access, Block, Touch, Turn, Views};
pub use candidates::{Bounds, Candidates, Class};
pub(super) use candidates::{is_one_work, spot};
pub use torn::look_at;

/// Whether a view is a part of another one, or the same. Both are sorted.
#[must_use]
pub fn is_part(one: &[u32], other: &[u32]) -> bool {
    one.iter().all(|variable| other.binary_search(variable).is_ok())
}

#[cfg(test)]
mod tests;
