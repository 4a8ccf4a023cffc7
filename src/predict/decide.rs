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
    /// No order shows it.
    Impossible,
    Undecided,
}

impl From<Outcome> for Decision {
    fn from(outcome: Outcome) -> Decision {
        match outcome {
            Outcome::Feasible(order) => Decision::Predicted(order),
            Outcome::Infeasible => Decision::Impossible,
            Outcome::Undecided => Decision::Undecided,
        }
    }
}

/// Decides about three accesses. With `paper`, reads are judged by the published filter.
#[must_use]
pub fn triple(history: &History, triple: Triple, paper: bool, budget: Budget) -> Decision {
    if paper && filter::paper(history, triple).is_some() {
        return Decision::Impossible;
    }
    search::find(history, &goal_of_triple(history, triple, paper), budget).into()
}

/// Decides about four accesses of two variables.
#[must_use]
pub fn crossing(history: &History, crossing: Crossing, budget: Budget) -> Decision {
    search::find(history, &goal_of_crossing(history, crossing, false), budget).into()
}

/// Why three accesses that were found impossible are so, if locks and waits would allow them.
#[must_use]
pub fn why_not_triple(history: &History, triple: Triple, budget: Budget) -> Option<Reason> {
    let outcome = search::find(history, &goal_of_triple(history, triple, true), budget);
    matches!(outcome, Outcome::Feasible(_)).then(|| filter::paper(history, triple).unwrap_or(Reason::Other))
}

/// The same for four.
#[must_use]
pub fn why_not_crossing(history: &History, crossing: Crossing, budget: Budget) -> Option<Reason> {
    let outcome = search::find(history, &goal_of_crossing(history, crossing, true), budget);
    matches!(outcome, Outcome::Feasible(_)).then_some(Reason::Other)
}

fn goal_of_triple(history: &History, triple: Triple, ignores_reads: bool) -> Goal {
    let Triple { first, culprit, second } = triple;
    let variables = vec![history.step(first).object];
    Goal { order: vec![(first, culprit), (culprit, second)], variables, ignores_reads, ..Goal::default() }
}

fn goal_of_crossing(history: &History, crossing: Crossing, ignores_reads: bool) -> Goal {
    let Crossing { first, culprit, culprit_too, second } = crossing;
    let variables = vec![history.step(first).object, history.step(second).object];
    Goal { order: vec![(first, culprit), (culprit_too, second)], variables, ignores_reads, ..Goal::default() }
}
