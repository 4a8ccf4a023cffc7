//! From a prediction to a fact: the schedule that the real program is driven through, the gate that drives it, and what came of it.
//!
//! ```text
//! trace ─ predict ─ order ─ synthesis ─ schedule ─ gate (in the program) ─ journal ─ verdict
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`window`] | an order that splits a block of two critical sections |
//! | [`continued`] | an order that goes on after the violation |
//! | [`instances`] | other passes through the code of a violation |
//! | [`synthesis`] | from an order of a run's steps to a schedule |
//! | [`schedule`] | who does what in which turn, as a text |
//! | [`gate`] | who may go on now: pure, without threads or time |
//! | [`journal`] | what the gate tells about a run |
//! | [`run`] | one run of a program, with nothing left of it |
//! | [`looks`] | how a run ended, and whether ordinary runs end so too |
//! | [`verdict`] | what a run proves |
//! | [`minimal`] | the same with fewer switches |
//! | [`staying`] | the same with the culprit where a debugger can look at it |
//! | [`control`] | the same without the violation |

pub mod continued;
pub mod control;
pub mod gate;
pub mod instances;
pub mod journal;
pub mod looks;
pub mod minimal;
pub mod run;
pub mod schedule;
pub mod staying;
pub mod synthesis;
pub mod verdict;
pub mod window;
