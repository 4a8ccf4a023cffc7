//! What is promised of what is predicted, and how a candidate is held against it.

use avmon::predict::history::History;
use avmon::predict::prediction::Steps;
use avmon::predict::search::{self, Budget, Goal, Outcome};

/// How much is promised of a family of scenarios.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promise {
    /// What locks and waits allow is what happens.
    Exact,
    /// What is predicted happens.
    Sound,
}

/// Whether locks and waits alone allow a candidate.
pub fn is_possible(history: &History, steps: &Steps) -> Option<bool> {
    let order = vec![(steps.first, steps.culprit), (steps.culprit_too, steps.second)];
    let goal = Goal { order, ignores_reads: true, ..Goal::default() };
    match search::find(history, &goal, Budget::PATIENT) {
        Outcome::Feasible(_) => Some(true),
        Outcome::Infeasible => Some(false),
        Outcome::Undecided => None,
    }
}
