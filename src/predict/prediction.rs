//! What is predicted: an order of the run's steps that splits a block.

use super::history::{At, History};
use super::pattern::Pattern;
use super::search::{Goal, Order};

/// How a block is split.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Shape {
    /// Another thread's access lies between two accesses of the block to the same variable.
    One(Pattern),
    /// Two blocks each come before the other: by one variable this one, by another variable that one.
    Two,
}

/// The steps that a candidate or a prediction is about: two accesses of a block, and one or two of another thread. In the violating order `first` comes
/// before `culprit`, and `culprit_too` before `second`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Steps {
    pub first: At,
    /// The other thread's access of the variable of `first`.
    pub culprit: At,
    /// The other thread's access of the variable of `second`: the same step unless there are two variables.
    pub culprit_too: At,
    pub second: At,
}

impl Steps {
    /// Three accesses of one variable.
    #[must_use]
    pub const fn of_one(first: At, culprit: At, second: At) -> Steps {
        Steps { first, culprit, culprit_too: culprit, second }
    }

    #[must_use]
    pub const fn are_of_one(&self) -> bool {
        self.culprit == self.culprit_too
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
}
