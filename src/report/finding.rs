//! The data of a finding: everything that a report says, with names instead of addresses, and nothing about its looks.

use serde::{Deserialize, Serialize};

use crate::analysis::ErrorKind;
use crate::event::{Mode, ThreadId};
use crate::report::modules::file_name;

/// Where the culprit stood in the observed run, relative to the block's two acquires.
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

/// How likely a finding is a bug, as far as locks alone can tell. Only strong ones count for the exit code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    Strong,
    Conditional,
    Loop,
    Base,
}

impl Strength {
    pub const ALL: &'static [Strength] = &[Strength::Strong, Strength::Conditional, Strength::Loop, Strength::Base];
    pub const NAMES: &'static [&'static str] = &["strong", "conditional", "loop", "base"];

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

/// One of the three acquires.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Acquire {
    pub thread: ThreadId,
    /// The place that the sentence names: for the block's own acquires the one in the block, for the culprit the
    /// innermost one outside the language's library and outside functions that take locks for their callers.
    pub location: Frame,
    /// Innermost first.
    pub stack: Vec<Frame>,
    /// The other locks that the thread held.
    pub held: Vec<String>,
    pub mode: LockMode,
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
    /// What could happen, in one sentence.
    pub sentence: String,
    pub block: Block,
    /// Callers of the block that are split with it, innermost first.
    pub also_split: Vec<String>,
    pub first: Acquire,
    pub culprit: Acquire,
    pub second: Acquire,
    pub lock: Lock,
    /// The threads of the three acquires, by id.
    pub threads: Vec<Thread>,
    /// The line for a suppressions file that would hide this finding.
    pub suppression: String,
}

impl Finding {
    /// What makes two violations the same finding, apart from their kind: the block and the three locations.
    #[must_use]
    pub fn spot(&self) -> String {
        let parts = [
            self.block.kind.name().to_owned(),
            self.block.name.clone(),
            self.block.begin.identity(),
            self.first.location.identity(),
            self.second.location.identity(),
            self.culprit.location.identity(),
        ];
        parts.join("\n")
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

    /// `append` in a program, split by `update` of a library.
    pub fn append() -> Finding {
        let acquire = |thread, stack: Vec<Frame>, held: &[&str]| Acquire {
            thread,
            location: stack[0].clone(),
            stack,
            held: held.iter().map(|&h| h.to_owned()).collect(),
            mode: LockMode::Exclusive,
        };
        let worker = || frame("worker", "a.c", 50, "/opt/prog", 0x1300);
        let thread = |id, name: &str, line| Thread {
            id,
            name: name.into(),
            parent: Some(0),
            created_at: vec![frame("main", "a.c", line, "/opt/prog", 0x1400)],
            start_routine: Some("worker".into()),
        };
        Finding {
            id: 1,
            same_as: None,
            kind: Kind::After,
            rung: Rung::Predicted,
            strength: Strength::Strong,
            sentence: "append() is not atomic: it could happen.".into(),
            block: Block {
                kind: BlockKind::Function,
                name: "append".into(),
                begin: frame("append", "a.c", 10, "/opt/prog", 0x1180),
            },
            also_split: vec!["append_all".into(), "flush".into()],
            first: acquire(1, vec![frame("append", "a.c", 12, "/opt/prog", 0x1200), worker()], &["'outer'"]),
            culprit: acquire(2, vec![frame("update", "b.c", 40, "/opt/libb.so", 0x500)], &[]),
            second: acquire(1, vec![frame("append", "a.c", 19, "/opt/prog", 0x1240), worker()], &[]),
            lock: Lock {
                name: Some("lock".into()),
                address: "0x5000".into(),
                generation: 0,
                initialised_at: vec![frame("main", "a.c", 55, "/opt/prog", 0x1380)],
            },
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
}
