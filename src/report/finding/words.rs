//! The words that findings are described with: each is a name in the log, and has a meaning for people.

use serde::{Deserialize, Serialize};

use crate::analysis::ErrorKind;
use crate::event::Mode;
use crate::predict::history::Op;
use crate::predict::pattern;
use crate::predict::prediction::Shape;

/// Where the culprit stood in the observed run, relative to the block's two operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Before,
    In,
    After,
}

impl Kind {
    pub const NAMES: &'static [&'static str] = &["before", "in", "after"];

    #[must_use]
    pub const fn name(self) -> &'static str {
        Kind::NAMES[self as usize]
    }

    /// What the kind says about this run.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Kind::In => "seen in this run",
            Kind::Before | Kind::After => "not seen in this run, but nothing prevents it",
        }
    }
}

impl From<ErrorKind> for Kind {
    fn from(kind: ErrorKind) -> Kind {
        match kind {
            ErrorKind::Before => Kind::Before,
            ErrorKind::In => Kind::In,
            ErrorKind::After => Kind::After,
        }
    }
}

/// How likely a finding is a bug. Only strong ones count for the exit code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    Strong,
    Conditional,
    Loop,
    Base,
    Unrelated,
    Assumed,
}

impl Strength {
    pub const ALL: &'static [Strength] = &[
        Strength::Strong,
        Strength::Conditional,
        Strength::Loop,
        Strength::Base,
        Strength::Unrelated,
        Strength::Assumed,
    ];
    pub const NAMES: &'static [&'static str] = &["strong", "conditional", "loop", "base", "unrelated", "assumed"];

    #[must_use]
    pub const fn name(self) -> &'static str {
        Strength::NAMES[self as usize]
    }

    /// Why the finding is as strong as it is.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Strength::Strong => "two different places in one block",
            Strength::Conditional => "real only if the block takes the same path when it runs before the other thread",
            Strength::Loop => "two turns of a loop, which are seldom meant to be atomic together",
            Strength::Base => "the block is the whole work of a thread, which is seldom meant to be atomic",
            Strength::Unrelated => {
                "two variables that are not written or read together, or no lock guards both, so they may have nothing to do with each other"
            }
            Strength::Assumed => {
                "what ties the two places together is assumed, not known: that a value is of use later, or that neither write is a mere count"
            }
        }
    }
}

/// How far a finding has been proven. The source lets suspect, a run lets predict; replaying raises it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    Suspected,
    Predicted,
    Conflicting,
    Confirmed,
    Failing,
}

impl Rung {
    pub const ALL: &'static [Rung] =
        &[Rung::Suspected, Rung::Predicted, Rung::Conflicting, Rung::Confirmed, Rung::Failing];
    pub const NAMES: &'static [&'static str] = &["suspected", "predicted", "conflicting", "confirmed", "failing"];

    #[must_use]
    pub const fn name(self) -> &'static str {
        Rung::NAMES[self as usize]
    }

    /// What is proven.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Rung::Suspected => "found in the source; no run was seen",
            Rung::Predicted => "a possible interleaving is not serialisable, as far as locks tell",
            Rung::Conflicting => "the accesses conflict on data in a possible interleaving of a recorded run",
            Rung::Confirmed => "the program was driven through that interleaving",
            Rung::Failing => "in that interleaving a test of the program fails",
        }
    }
}

/// How the accesses of a finding conflict: the letters are the block's first access, the culprit's, and the block's second.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    Rww,
    Rwr,
    Wwr,
    Www,
    Wrw,
    View,
    TwoVariables,
    StaleValue,
}

impl Pattern {
    pub const ALL: &'static [Pattern] = &[
        Pattern::Rww,
        Pattern::Rwr,
        Pattern::Wwr,
        Pattern::Www,
        Pattern::Wrw,
        Pattern::View,
        Pattern::TwoVariables,
        Pattern::StaleValue,
    ];
    pub const NAMES: &'static [&'static str] =
        &["rww", "rwr", "wwr", "www", "wrw", "view", "two_variables", "stale_value"];

    #[must_use]
    pub const fn name(self) -> &'static str {
        Pattern::NAMES[self as usize]
    }

    /// What goes wrong.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Pattern::Rww => "the block writes over what the culprit wrote, by a value from before",
            Pattern::Rwr => "the block reads twice and sees two values",
            Pattern::Wwr => "the block does not read what it wrote",
            Pattern::Www => "the culprit's write comes between two that belong together, and is lost",
            Pattern::Wrw => "the culprit reads what the block has only half done",
            Pattern::TwoVariables => "by one variable the block comes before the culprit's, by the other one after it",
            Pattern::View => {
                "what the culprit accesses in one block, the block accesses in two, with the culprit between"
            }
            Pattern::StaleValue => "the block writes what follows from a value that the culprit has changed meanwhile",
        }
    }
}

/// The analysis that makes predictions of a shape.
impl From<Shape> for Analysis {
    fn from(shape: Shape) -> Analysis {
        match shape {
            Shape::One(_) => Analysis::CutPoints,
            Shape::Two => Analysis::Crossings,
            Shape::View => Analysis::Views,
            Shape::Stale => Analysis::StaleValues,
        }
    }
}

impl From<Shape> for Pattern {
    fn from(shape: Shape) -> Pattern {
        match shape {
            Shape::One(pattern::Pattern::Rwr) => Pattern::Rwr,
            Shape::One(pattern::Pattern::Rww) => Pattern::Rww,
            Shape::One(pattern::Pattern::Wwr) => Pattern::Wwr,
            Shape::One(pattern::Pattern::Www) => Pattern::Www,
            Shape::One(pattern::Pattern::Wrw) => Pattern::Wrw,
            Shape::Two => Pattern::TwoVariables,
            Shape::View => Pattern::View,
            Shape::Stale => Pattern::StaleValue,
        }
    }
}

/// Who found it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Analysis {
    Windows,
    CutPoints,
    Crossings,
    Nondeterminism,
    Views,
    StaleValues,
    Lint,
}

impl Analysis {
    pub const ALL: &'static [Analysis] = &[
        Analysis::Windows,
        Analysis::CutPoints,
        Analysis::Crossings,
        Analysis::Nondeterminism,
        Analysis::Views,
        Analysis::StaleValues,
        Analysis::Lint,
    ];
    pub const NAMES: &'static [&'static str] =
        &["windows", "cut_points", "crossings", "nondeterminism", "views", "stale_values", "lint"];

    #[must_use]
    pub const fn name(self) -> &'static str {
        Analysis::NAMES[self as usize]
    }

    /// Those that look at a recorded run.
    pub fn of_traces() -> impl Iterator<Item = Analysis> {
        Analysis::ALL.iter().copied().filter(|&analysis| analysis != Analysis::Lint)
    }

    /// What it looks at.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Analysis::Windows => {
                "two acquires of one lock in a block, and a third one that can come between them: the monitor's rules"
            }
            Analysis::CutPoints => {
                "two accesses of one variable in a block, and a third one that can come between them"
            }
            Analysis::Crossings => {
                "two blocks that access the same two variables, each of which can come before the other"
            }
            Analysis::Nondeterminism => "reads that can see the write of another thread than the one that they saw",
            Analysis::Views => {
                "two critical sections or marked blocks of a thread that touch parts of what one of another thread touches together"
            }
            Analysis::StaleValues => {
                "a value read in one critical section or marked block, and written or acted on in a later one"
            }
            Analysis::Lint => "views and stale values in the source: no run is needed",
        }
    }

    /// The monitor's, of which logs did not always say that it is there.
    pub(super) fn only_windows() -> Vec<Analysis> {
        vec![Analysis::Windows]
    }
}

/// What the accesses of a recorded run say about a finding that speaks of locks only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Data {
    NotSeen,
    NotConflicting,
}

impl Data {
    pub const ALL: &'static [Data] = &[Data::NotSeen, Data::NotConflicting];
    pub const NAMES: &'static [&'static str] = &["not_seen", "not_conflicting"];

    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Data::NotSeen => "no access of shared memory was recorded there, so locks are all that is known",
            Data::NotConflicting => "in no order of the recorded accesses do three of them conflict there",
        }
    }
}

/// What is known of a value's way from where it is read to what is written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DependencyKind {
    /// The program's code is not known.
    Assumed,
    /// It is, but does not tell.
    Open,
    Proven,
}

impl DependencyKind {
    pub const NAMES: &'static [&'static str] = &["assumed", "open", "proven"];
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    #[default]
    Acquire,
    Read,
    Write,
    AtomicRead,
    AtomicWrite,
    AtomicUpdate,
    Free,
}

impl Action {
    pub const ALL: &'static [Action] = &[
        Action::Acquire,
        Action::Read,
        Action::Write,
        Action::AtomicRead,
        Action::AtomicWrite,
        Action::AtomicUpdate,
        Action::Free,
    ];
    pub const NAMES: &'static [&'static str] =
        &["acquire", "read", "write", "atomic_read", "atomic_write", "atomic_update", "free"];

    /// What a step that is an access does.
    #[must_use]
    pub const fn of_access(op: Op) -> Option<Action> {
        match op {
            Op::Read => Some(Action::Read),
            Op::Write => Some(Action::Write),
            // One that did not find what it expected leaves all as it was.
            Op::Load | Op::Attempt => Some(Action::AtomicRead),
            Op::Store => Some(Action::AtomicWrite),
            Op::Update | Op::Exchange => Some(Action::AtomicUpdate),
            Op::Free => Some(Action::Free),
            _ => None,
        }
    }

    #[must_use]
    pub const fn reads(self) -> bool {
        matches!(self, Action::Read | Action::AtomicRead | Action::AtomicUpdate)
    }

    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Action::Write | Action::AtomicWrite | Action::AtomicUpdate | Action::Free)
    }

    /// What a thread does.
    #[must_use]
    pub const fn does(self) -> &'static str {
        match self {
            Action::Acquire => "acquires",
            Action::Read => "reads",
            Action::Write => "writes",
            Action::AtomicRead => "atomically reads",
            Action::AtomicWrite => "atomically writes",
            Action::AtomicUpdate => "atomically updates",
            Action::Free => "frees",
        }
    }

    /// What it can do.
    #[must_use]
    pub const fn can(self) -> &'static str {
        match self {
            Action::Acquire => "acquire",
            Action::Read => "read",
            Action::Write => "write",
            Action::AtomicRead => "atomically read",
            Action::AtomicWrite => "atomically write",
            Action::AtomicUpdate => "atomically update",
            Action::Free => "free",
        }
    }

    /// What it did.
    #[must_use]
    pub const fn did(self) -> &'static str {
        match self {
            Action::Acquire => "acquired",
            Action::Read => "read",
            Action::Write => "wrote",
            Action::AtomicRead => "atomically read",
            Action::AtomicWrite => "atomically wrote",
            Action::AtomicUpdate => "atomically updated",
            Action::Free => "freed",
        }
    }
}

/// What makes the block a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// One call of a function.
    Function,
    /// A block that is marked in the source.
    Block,
    /// An outermost critical section.
    Section,
}

impl BlockKind {
    pub const NAMES: &'static [&'static str] = &["function", "block", "section"];

    #[must_use]
    pub const fn name(self) -> &'static str {
        BlockKind::NAMES[self as usize]
    }
}

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockMode {
    Exclusive,
    Shared,
}

impl LockMode {
    pub const NAMES: &'static [&'static str] = &["exclusive", "shared"];
}

impl From<Mode> for LockMode {
    fn from(mode: Mode) -> LockMode {
        match mode {
            Mode::Exclusive => LockMode::Exclusive,
            Mode::Shared => LockMode::Shared,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_access_is_called_something() {
        let accesses =
            [Op::Read, Op::Write, Op::Load, Op::Store, Op::Update, Op::Exchange, Op::Attempt, Op::Free, Op::Acquire];
        assert!(accesses.into_iter().all(|op| op.is_access() == Action::of_access(op).is_some()));
    }

    #[test]
    fn names_in_the_log_are_the_ones_of_the_tables() {
        fn written(value: impl Serialize) -> String {
            serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
        }
        let kinds = [Kind::Before, Kind::In, Kind::After];
        assert!(kinds.iter().map(written).eq(Kind::NAMES.iter().copied()));
        assert!(Strength::ALL.iter().map(written).eq(Strength::NAMES.iter().copied()));
        assert!(Rung::ALL.iter().map(written).eq(Rung::NAMES.iter().copied()));
        let kinds = [DependencyKind::Assumed, DependencyKind::Open, DependencyKind::Proven];
        assert!(kinds.iter().map(written).eq(DependencyKind::NAMES.iter().copied()));
        let blocks = [BlockKind::Function, BlockKind::Block, BlockKind::Section];
        assert!(blocks.iter().map(written).eq(BlockKind::NAMES.iter().copied()));
        assert!(Pattern::ALL.iter().map(written).eq(Pattern::NAMES.iter().copied()));
        assert!(Analysis::ALL.iter().map(written).eq(Analysis::NAMES.iter().copied()));
        assert!(Data::ALL.iter().map(written).eq(Data::NAMES.iter().copied()));
        assert!(Action::ALL.iter().map(written).eq(Action::NAMES.iter().copied()));
        let modes = [LockMode::Exclusive, LockMode::Shared];
        assert!(modes.iter().map(written).eq(LockMode::NAMES.iter().copied()));
    }
}
