//! The data of a finding: everything that a report says, with names instead of addresses, and nothing about its looks.

use serde::{Deserialize, Serialize};

use crate::analysis::ErrorKind;
use crate::event::{Mode, ThreadId};
use crate::predict::history::Op;
use crate::predict::pattern;
use crate::predict::prediction::Shape;
use crate::report::modules::file_name;

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
    LockLevel,
}

impl Strength {
    pub const ALL: &'static [Strength] = &[
        Strength::Strong,
        Strength::Conditional,
        Strength::Loop,
        Strength::Base,
        Strength::Unrelated,
        Strength::LockLevel,
    ];
    pub const NAMES: &'static [&'static str] = &["strong", "conditional", "loop", "base", "unrelated", "lock_level"];

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
                "two variables that are not written or read together, so they may have nothing to do with each other"
            }
            Strength::LockLevel => "the accesses that were recorded under the lock do not conflict",
        }
    }
}

/// How far a finding has been proven. The monitor only predicts; replaying raises it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    Predicted,
    Conflicting,
    Confirmed,
    Failing,
}

impl Rung {
    pub const NAMES: &'static [&'static str] = &["predicted", "conflicting", "confirmed", "failing"];
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
    TwoVariables,
}

impl Pattern {
    pub const ALL: &'static [Pattern] =
        &[Pattern::Rww, Pattern::Rwr, Pattern::Wwr, Pattern::Www, Pattern::Wrw, Pattern::TwoVariables];
    pub const NAMES: &'static [&'static str] = &["rww", "rwr", "wwr", "www", "wrw", "two_variables"];

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
}

impl Analysis {
    pub const ALL: &'static [Analysis] =
        &[Analysis::Windows, Analysis::CutPoints, Analysis::Crossings, Analysis::Nondeterminism];
    pub const NAMES: &'static [&'static str] = &["windows", "cut_points", "crossings", "nondeterminism"];

    #[must_use]
    pub const fn name(self) -> &'static str {
        Analysis::NAMES[self as usize]
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
        }
    }

    /// The monitor's, of which logs did not always say that it is there.
    fn only_windows() -> Vec<Analysis> {
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
            Op::Load => Some(Action::AtomicRead),
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

/// A function at a code address. What is not known is missing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Frame {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Whether the function was inlined into the next frame's.
    pub inlined: bool,
    /// Path of the module; empty outside all modules.
    pub module: String,
    /// Offset from the begin of the module, or the address outside all modules.
    pub offset: u64,
}

impl Frame {
    /// File name and line; without debug information module and offset; for the middle of a sentence.
    #[must_use]
    pub fn short(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{}:{line}", file_name(file)),
            (Some(file), None) => file_name(file).to_owned(),
            (None, _) => self.place(),
        }
    }

    /// Module and offset.
    #[must_use]
    pub fn place(&self) -> String {
        if self.module.is_empty() {
            format!("{:#x}", self.offset)
        } else {
            format!("{}+{:#x}", file_name(&self.module), self.offset)
        }
    }

    /// The function's name, or where it is.
    #[must_use]
    pub fn name(&self) -> String {
        self.function.clone().unwrap_or_else(|| self.place())
    }

    /// What tells two code locations apart: their source, or without debug information their place.
    #[must_use]
    pub fn identity(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => {
                format!("{} {file}:{line}:{}", self.function.as_deref().unwrap_or(""), self.column.unwrap_or(0))
            }
            _ => format!("{}+{:#x}", self.module, self.offset),
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

/// The block that is not atomic.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Block {
    pub kind: BlockKind,
    /// The function (of a section the one that it is in), or the marked block's label.
    pub name: String,
    /// Where the block begins.
    pub begin: Frame,
}

impl Block {
    /// What tells two blocks apart.
    #[must_use]
    pub fn identity(&self) -> String {
        [self.kind.name(), &self.name, &self.begin.identity()].join("\n")
    }

    /// The block as the subject of a sentence.
    #[must_use]
    pub fn subject(&self) -> String {
        match self.kind {
            BlockKind::Function => called(&self.name),
            BlockKind::Block => format!("block '{}'", self.name),
            // Without symbols the function is known by the same place.
            BlockKind::Section if self.begin.function.is_none() => format!("the section at {}", self.begin.short()),
            BlockKind::Section => format!("the section at {} in {}", self.begin.short(), called(&self.name)),
        }
    }
}

/// `append` is shown as `append()`; a C++ name has its parameters already.
#[must_use]
pub fn called(name: &str) -> String {
    if name.contains('(') || name.contains("+0x") { name.to_owned() } else { format!("{name}()") }
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

/// One of the operations that a finding speaks of: an acquire, or an access of a variable.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Operation {
    /// Logs did not always say it, when all were acquires.
    #[serde(default)]
    pub action: Action,
    pub thread: ThreadId,
    /// The place that the sentence names: for the block's own operations the one in the block, for the culprit the
    /// innermost one outside the language's library and outside functions that take locks for their callers.
    pub location: Frame,
    /// Innermost first.
    pub stack: Vec<Frame>,
    /// The other locks that the thread held.
    pub held: Vec<String>,
    /// Of an acquire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<LockMode>,
    /// Of an access: the critical sections that it lies in, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<Section>,
}

/// A critical section around an access.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Section {
    pub lock: Lock,
    /// Where the lock was taken: the place that a finding about that lock would name.
    pub taken_at: Frame,
}

/// A variable that the accesses of a finding conflict on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Variable {
    /// The global that it is or lies in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub address: String,
    /// The block of memory that it lies in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocation: Option<Allocation>,
}

/// Memory that was allocated.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Allocation {
    /// Where in it the variable is.
    pub offset: u64,
    pub size: u64,
    pub thread: ThreadId,
    /// Innermost first; empty for the stack of that thread.
    pub allocated_at: Vec<Frame>,
}

impl Variable {
    /// The best name that is known, for the middle of a sentence.
    #[must_use]
    pub fn label(&self) -> String {
        match (&self.name, &self.allocation) {
            (Some(name), _) => format!("'{name}'"),
            (None, Some(Allocation { offset, thread, allocated_at, .. })) => match allocated_at.first() {
                Some(frame) => format!("offset {offset} of the memory allocated at {}", frame.short()),
                None => format!("{} on the stack of T{thread}", self.address),
            },
            (None, None) => format!("the memory at {}", self.address),
        }
    }

    /// A name for where there is little room.
    #[must_use]
    pub fn brief(&self) -> String {
        match (&self.name, &self.allocation) {
            (None, Some(Allocation { offset, allocated_at, .. })) if !allocated_at.is_empty() => {
                format!("offset {offset}")
            }
            (None, _) => self.address.clone(),
            (Some(name), _) => format!("'{name}'"),
        }
    }
}

/// The lock that does not protect the whole block.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Lock {
    /// The global that it is or lies in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub address: String,
    /// How many locks lived at that address before.
    pub generation: u32,
    /// Where it was initialised, innermost first; empty if that was not seen.
    pub initialised_at: Vec<Frame>,
}

impl Lock {
    /// The best name that is known. An address only if nothing else is.
    #[must_use]
    pub fn label(&self) -> String {
        match (&self.name, self.initialised_at.first()) {
            (Some(name), _) => format!("'{name}'"),
            (None, Some(frame)) => format!("the lock initialised at {}", frame.short()),
            (None, None) => format!("lock {}", self.address),
        }
    }
}

/// A thread that takes part.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Thread {
    pub id: ThreadId,
    /// Empty if the program gave it none.
    pub name: String,
    /// The thread that created it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<ThreadId>,
    /// Where it was created, innermost first; empty for the first thread.
    pub created_at: Vec<Frame>,
    /// Name of its start routine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_routine: Option<String>,
}

impl Thread {
    /// `T2 'worker'`, or `T2` without a name.
    #[must_use]
    pub fn label(&self) -> String {
        if self.name.is_empty() { format!("T{}", self.id) } else { format!("T{} '{}'", self.id, self.name) }
    }
}

/// A block that another thread can split.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// Counts from 1 in each process.
    pub id: u64,
    /// An earlier finding with the same block and locations, but another kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_as: Option<u64>,
    pub kind: Kind,
    pub rung: Rung,
    pub strength: Strength,
    /// How the accesses conflict; nothing if the finding speaks of locks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    #[serde(default = "Analysis::only_windows")]
    pub found_by: Vec<Analysis>,
    /// What is known of data, if the finding speaks of locks only and somebody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
    /// What could happen, in one sentence.
    pub sentence: String,
    pub block: Block,
    /// Callers of the block that are split with it, innermost first.
    pub also_split: Vec<String>,
    pub first: Operation,
    pub culprit: Operation,
    /// If there are two variables, the culprit's access of the second one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub culprit_too: Option<Operation>,
    pub second: Operation,
    /// The lock that all of them hold, but not from the first to the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<Lock>,
    /// The variable of all accesses; if there are two, that of the first and that of the second access.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<Variable>,
    /// The violating order, line by line: a column for each of the two threads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagram: Vec<String>,
    /// Why that order is believed to be possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The threads of the operations, by id.
    pub threads: Vec<Thread>,
    /// The line for a suppressions file that would hide this finding.
    pub suppression: String,
}

impl Finding {
    /// What makes two violations the same finding, apart from their kind: the block and the locations.
    #[must_use]
    pub fn spot(&self) -> String {
        let mut parts = vec![self.block.identity()];
        parts.extend([&self.first, &self.second, &self.culprit].map(|operation| operation.location.identity()));
        parts.extend(self.culprit_too.iter().map(|operation| operation.location.identity()));
        parts.join("\n")
    }

    /// The operations that the finding speaks of.
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        [&self.first, &self.culprit].into_iter().chain(&self.culprit_too).chain([&self.second])
    }

    /// The thread with this id as the report calls it.
    #[must_use]
    pub fn thread_label(&self, id: ThreadId) -> String {
        self.threads.iter().find(|t| t.id == id).map_or_else(|| format!("T{id}"), Thread::label)
    }
}

#[cfg(test)]
pub(crate) mod samples {
    use super::*;

    pub fn frame(function: &str, file: &str, line: u32, module: &str, offset: u64) -> Frame {
        Frame {
            function: Some(function.into()),
            file: Some(format!("/src/{file}")),
            line: Some(line),
            column: None,
            inlined: false,
            module: module.into(),
            offset,
        }
    }

    pub fn operation(action: Action, thread: ThreadId, stack: Vec<Frame>) -> Operation {
        let location = stack[0].clone();
        Operation { action, thread, location, stack, held: vec![], mode: None, sections: vec![] }
    }

    fn thread(id: ThreadId, name: &str, line: u32) -> Thread {
        Thread {
            id,
            name: name.into(),
            parent: Some(0),
            created_at: vec![frame("main", "a.c", line, "/opt/prog", 0x1400)],
            start_routine: Some("worker".into()),
        }
    }

    fn lock() -> Lock {
        Lock {
            name: Some("lock".into()),
            address: "0x5000".into(),
            generation: 0,
            initialised_at: vec![frame("main", "a.c", 55, "/opt/prog", 0x1380)],
        }
    }

    fn global(name: &str, address: &str) -> Variable {
        Variable { name: Some(name.into()), address: address.into(), allocation: None }
    }

    /// The data under the lock of [`append`]: it reads and writes `length`, which `update` writes.
    pub fn length() -> Finding {
        let of_lines = |action, acquired: &Operation, line: u32| {
            let mut stack = acquired.stack.clone();
            stack[0].line = Some(line);
            stack[0].offset += 0x10;
            let section = Section { lock: lock(), taken_at: acquired.location.clone() };
            Operation {
                held: vec!["'lock'".into()],
                sections: vec![section],
                ..operation(action, acquired.thread, stack)
            }
        };
        let window = append();
        let lines = [
            "T1                          T2",
            "reads 'length' a.c:13",
            "                            writes 'length' b.c:41",
        ];
        Finding {
            rung: Rung::Conflicting,
            pattern: Some(Pattern::Rww),
            found_by: vec![Analysis::CutPoints],
            first: of_lines(Action::Read, &window.first, 13),
            culprit: of_lines(Action::Write, &window.culprit, 41),
            second: of_lines(Action::Write, &window.second, 20),
            variables: vec![global("length", "0x6000")],
            diagram: lines.map(str::to_owned).to_vec(),
            because: Some("Nothing prevents it.".into()),
            ..window
        }
    }

    /// `show` reads two variables, which `update` writes both.
    pub fn pair() -> Finding {
        let shown = |line| vec![frame("show", "a.c", line, "/opt/prog", 0x1600 + u64::from(line))];
        let updated = |line| vec![frame("update", "b.c", line, "/opt/libb.so", 0x500 + u64::from(line))];
        Finding {
            rung: Rung::Conflicting,
            pattern: Some(Pattern::TwoVariables),
            found_by: vec![Analysis::Crossings],
            block: Block {
                kind: BlockKind::Function,
                name: "show".into(),
                begin: frame("show", "a.c", 70, "/opt/prog", 0x1600),
            },
            also_split: vec![],
            first: operation(Action::Read, 1, shown(72)),
            culprit: operation(Action::Write, 2, updated(40)),
            culprit_too: Some(operation(Action::AtomicUpdate, 2, updated(44))),
            second: operation(Action::Read, 1, shown(75)),
            lock: None,
            variables: vec![
                global("total", "0x6000"),
                Variable {
                    name: None,
                    address: "0x7010".into(),
                    allocation: Some(Allocation {
                        offset: 16,
                        size: 48,
                        thread: 0,
                        allocated_at: vec![frame("make", "a.c", 30, "/opt/prog", 0x1700)],
                    }),
                },
            ],
            diagram: vec!["T1   T2".into()],
            because: Some("Nothing prevents it.".into()),
            suppression: "atomicity_top:show".into(),
            ..append()
        }
    }

    /// `append` in a program, split by `update` of a library.
    pub fn append() -> Finding {
        let acquire = |thread, stack: Vec<Frame>, held: &[&str]| Operation {
            held: held.iter().map(|&h| h.to_owned()).collect(),
            mode: Some(LockMode::Exclusive),
            ..operation(Action::Acquire, thread, stack)
        };
        let worker = || frame("worker", "a.c", 50, "/opt/prog", 0x1300);
        Finding {
            id: 1,
            same_as: None,
            kind: Kind::After,
            rung: Rung::Predicted,
            strength: Strength::Strong,
            pattern: None,
            found_by: vec![Analysis::Windows],
            data: None,
            sentence: "append() is not atomic: it could happen.".into(),
            block: Block {
                kind: BlockKind::Function,
                name: "append".into(),
                begin: frame("append", "a.c", 10, "/opt/prog", 0x1180),
            },
            also_split: vec!["append_all".into(), "flush".into()],
            first: acquire(1, vec![frame("append", "a.c", 12, "/opt/prog", 0x1200), worker()], &["'outer'"]),
            culprit: acquire(2, vec![frame("update", "b.c", 40, "/opt/libb.so", 0x500)], &[]),
            culprit_too: None,
            second: acquire(1, vec![frame("append", "a.c", 19, "/opt/prog", 0x1240), worker()], &[]),
            lock: Some(lock()),
            variables: vec![],
            diagram: vec![],
            because: None,
            threads: vec![thread(1, "", 60), thread(2, "updater", 61)],
            suppression: "atomicity_top:append".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_log_are_the_ones_of_the_tables() {
        fn written(value: impl Serialize) -> String {
            serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
        }
        let kinds = [Kind::Before, Kind::In, Kind::After];
        assert!(kinds.iter().map(written).eq(Kind::NAMES.iter().copied()));
        assert!(Strength::ALL.iter().map(written).eq(Strength::NAMES.iter().copied()));
        let rungs = [Rung::Predicted, Rung::Conflicting, Rung::Confirmed, Rung::Failing];
        assert!(rungs.iter().map(written).eq(Rung::NAMES.iter().copied()));
        let blocks = [BlockKind::Function, BlockKind::Block, BlockKind::Section];
        assert!(blocks.iter().map(written).eq(BlockKind::NAMES.iter().copied()));
        assert!(Pattern::ALL.iter().map(written).eq(Pattern::NAMES.iter().copied()));
        assert!(Analysis::ALL.iter().map(written).eq(Analysis::NAMES.iter().copied()));
        assert!(Data::ALL.iter().map(written).eq(Data::NAMES.iter().copied()));
        assert!(Action::ALL.iter().map(written).eq(Action::NAMES.iter().copied()));
        let modes = [LockMode::Exclusive, LockMode::Shared];
        assert!(modes.iter().map(written).eq(LockMode::NAMES.iter().copied()));
    }

    #[test]
    fn a_frame_is_named_by_the_best_that_is_known() {
        let full = Frame {
            function: Some("f".into()),
            file: Some("/src/a.c".into()),
            line: Some(3),
            module: "/bin/prog".into(),
            offset: 0x10,
            ..Frame::default()
        };
        assert_eq!((full.short(), full.name()), ("a.c:3".into(), "f".into()));
        let bare = Frame { module: "/bin/prog".into(), offset: 0x10, ..Frame::default() };
        assert_eq!((bare.short(), bare.name()), ("prog+0x10".into(), "prog+0x10".into()));
        let lost = Frame { offset: 0x10, ..Frame::default() };
        assert_eq!(lost.short(), "0x10");
        assert_ne!(full.identity(), Frame { line: Some(4), ..full.clone() }.identity());
        assert_eq!(full.identity(), Frame { offset: 0x20, ..full.clone() }.identity());
    }

    #[test]
    fn a_section_without_symbols_is_named_once() {
        let begin = Frame { module: "/bin/prog".into(), offset: 0x10, ..Frame::default() };
        let mut section = Block { kind: BlockKind::Section, name: begin.name(), begin };
        assert_eq!(section.subject(), "the section at prog+0x10");
        section.begin.function = Some("f".into());
        section.name = "f".into();
        assert_eq!(section.subject(), "the section at prog+0x10 in f()");
    }

    #[test]
    fn a_lock_without_a_name_is_known_by_its_initialisation() {
        let frame = Frame { file: Some("a.c".into()), line: Some(3), ..Frame::default() };
        let mut lock = Lock { name: None, address: "0x10".into(), generation: 0, initialised_at: vec![frame] };
        assert_eq!(lock.label(), "the lock initialised at a.c:3");
        lock.initialised_at.clear();
        assert_eq!(lock.label(), "lock 0x10");
        lock.name = Some("table+0x28".into());
        assert_eq!(lock.label(), "'table+0x28'");
    }

    #[test]
    fn a_variable_without_a_name_is_known_by_its_allocation() {
        let mut variable = samples::pair().variables.remove(1);
        assert_eq!(variable.label(), "offset 16 of the memory allocated at a.c:30");
        assert_eq!(variable.brief(), "offset 16");
        variable.allocation.as_mut().unwrap().allocated_at.clear();
        assert_eq!((variable.label(), variable.brief()), ("0x7010 on the stack of T0".into(), "0x7010".into()));
        variable.allocation = None;
        assert_eq!(variable.label(), "the memory at 0x7010");
    }
}
