//! What is predicted: an order of the run's steps that splits a block.

use super::history::At;
use super::pattern::Pattern;
use super::search::Order;

/// How a block is split.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Shape {
    /// Another thread's access lies between two accesses of the block to the same variable.
    One(Pattern),
    /// Two blocks each come before the other: by one variable this one, by another variable that one.
    Two,
}

/// The steps that a prediction is about. In the predicted order they happen as listed, but for the two of the culprit, of which only that is said
/// that its first one comes after `first`, and its last one before `second`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Steps {
    pub first: At,
    /// The other thread's access of the variable of `first`.
    pub culprit: At,
    /// The other thread's access of the variable of `second`: the same step unless there are two variables.
    pub culprit_too: At,
    pub second: At,
}

/// A violation in an order that the program can take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prediction {
    pub shape: Shape,
    pub steps: Steps,
    /// The innermost invocation that contains `first` and `second`: see [`super::history::Frames`].
    pub block: u32,
    /// The violating order.
    pub order: Order,
    /// Candidates of the same code locations, this one included.
    pub alike: u64,
}
