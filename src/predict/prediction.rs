//! What is predicted: an order of the run's steps that splits a block.

use super::history::{At, History};
use super::pattern::Pattern;
use super::search::{Goal, Order};
use crate::causal::Answer;

/// How a block is split.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Shape {
    /// Another thread's access lies between two accesses of the block to the same variable.
    One(Pattern),
    /// Two blocks each come before the other: by one variable this one, by another variable that one.
    Two,
    /// What a block of another thread accesses together, two blocks of a transaction access apart: see [`super::views`].
    View,
    /// What one block of a transaction read is written by another thread before a later block writes: see [`super::stale`].
    Stale,
}

/// The steps that a candidate or a prediction is about: two accesses of a block, and one or two of another thread. In the violating order `first` comes
/// before `culprit`, and `culprit_too` before `second`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Steps {
    pub first: At,
    /// The other thread's access of the variable of `first`.
    pub culprit: At,
    /// The other thread's access of the variable of `second`: the same step if the other thread accesses one variable.
    pub culprit_too: At,
    pub second: At,
}

impl Steps {
    /// Three accesses with one culprit.
    #[must_use]
    pub const fn of_one(first: At, culprit: At, second: At) -> Steps {
        Steps { first, culprit, culprit_too: culprit, second }
    }

    /// Whether there is one culprit.
    #[must_use]
    pub const fn have_one_culprit(&self) -> bool {
        self.culprit == self.culprit_too
    }

    /// Whether they are three accesses of one variable.
    #[must_use]
    pub fn are_of_one(&self, history: &History) -> bool {
        let object = |at: At| history.step(at).object;
        self.have_one_culprit() && object(self.first) == object(self.second)
    }

    #[must_use]
    pub const fn all(&self) -> [At; 4] {
        [self.first, self.culprit, self.culprit_too, self.second]
    }

    /// How far apart they are in the run: the nearer, the less has to change.
    #[must_use]
    pub fn distance(&self) -> At {
        let all = self.all();
        all.iter().max().unwrap_or(&0) - all.iter().min().unwrap_or(&0)
    }

    /// What an order has to show.
    #[must_use]
    pub fn goal(&self, history: &History) -> Goal {
        let Steps { first, culprit, culprit_too, second } = *self;
        let variables = vec![history.step(first).object, history.step(second).object];
        Goal { order: vec![(first, culprit), (culprit_too, second)], variables, ..Goal::default() }
    }
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
    /// Of a view, the variables that are accessed together, by [`super::views::Views::maximal`].
    pub view: Vec<u32>,
    /// What the two accesses have to do with each other, if that matters and was asked: see [`super::dependency`].
    pub dependency: Option<Answer>,
}
