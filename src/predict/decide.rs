//! From candidates to predictions: which of them an order of the run shows, and why the others do not.

use super::filter::{self, Reason};
use super::history::History;
use super::prediction::Steps;
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

/// Decides about a candidate. With `paper`, reads are judged by the published filter, which is about one variable only.
#[must_use]
pub fn decide(history: &History, steps: &Steps, paper: bool, budget: Budget) -> Decision {
    let ignores_reads = paper && steps.are_of_one(history);
    if ignores_reads && filter::paper(history, steps).is_some() {
        return Decision::Impossible;
    }
    search::find(history, &Goal { ignores_reads, ..steps.goal(history) }, budget).into()
}

/// Why a candidate that was found impossible is so, if locks and waits would allow it.
#[must_use]
pub fn why_not(history: &History, steps: &Steps, budget: Budget) -> Option<Reason> {
    let outcome = search::find(history, &Goal { ignores_reads: true, ..steps.goal(history) }, budget);
    matches!(outcome, Outcome::Feasible(_)).then(|| filter::paper(history, steps).unwrap_or(Reason::Other))
}
