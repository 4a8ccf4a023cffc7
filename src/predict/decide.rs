//! From candidates to predictions: which of them an order of the run shows, and why the others do not.

use super::crossings::Crossing;
use super::cut_points::Triple;
use super::filter::{self, Reason};
use super::history::History;
use super::search::{self, Budget, Goal, Order, Outcome};

/// What becomes of a candidate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// In this order it happens.
    Predicted(Order),
    /// Locks and waits would allow it, but not what is read on the way.
    Filtered(Reason),
    /// No order shows it.
    Impossible,
    Undecided,
}

/// Decides about three accesses. With `paper`, reads are judged by the published filter.
#[must_use]
pub fn triple(history: &History, triple: Triple, paper: bool, budget: Budget) -> Decision {
    let Triple { first, culprit, second } = triple;
    let goal = Goal {
        order: vec![(first, culprit), (culprit, second)],
        variables: vec![history.step(first).object],
        ignores_reads: paper,
        ..Goal::default()
    };
    let reason = || filter::paper(history, triple);
    if paper {
        return match search::find(history, &goal, budget) {
            Outcome::Feasible(order) => reason().map_or(Decision::Predicted(order), Decision::Filtered),
            Outcome::Infeasible => Decision::Impossible,
            Outcome::Undecided => Decision::Undecided,
        };
    }
    decide(history, goal, budget, || reason().unwrap_or(Reason::Other))
}

/// Decides about four accesses of two variables.
#[must_use]
pub fn crossing(history: &History, crossing: Crossing, budget: Budget) -> Decision {
    let Crossing { first, culprit, culprit_too, second } = crossing;
    let goal = Goal {
        order: vec![(first, culprit), (culprit_too, second)],
        variables: vec![history.step(first).object, history.step(second).object],
        ..Goal::default()
    };
    decide(history, goal, budget, || Reason::Other)
}

fn decide(history: &History, mut goal: Goal, budget: Budget, reason: impl FnOnce() -> Reason) -> Decision {
    match search::find(history, &goal, budget) {
        Outcome::Feasible(order) => Decision::Predicted(order),
        Outcome::Undecided => Decision::Undecided,
        Outcome::Infeasible => {
            goal.ignores_reads = true;
            match search::find(history, &goal, budget) {
                Outcome::Feasible(_) => Decision::Filtered(reason()),
                Outcome::Infeasible => Decision::Impossible,
                Outcome::Undecided => Decision::Undecided,
            }
        }
    }
}
