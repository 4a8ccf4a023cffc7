//! The data of a finding: everything that a report says, with names instead of addresses, and nothing about its looks.

#[cfg(test)]
pub(crate) mod samples;
mod words;

use serde::{Deserialize, Serialize};

use crate::event::ThreadId;
use crate::replay::verdict::Verdict;
use crate::report::modules::file_name;
use crate::report::resolve::user_frame;
pub use words::{Action, Analysis, BlockKind, Data, DependencyKind, Kind, LockMode, Pattern, Rung, Strength};

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
    /// Offset from the beginning of the module, or the address outside all modules.
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

    /// The same, behind the name of its function.
    #[must_use]
    pub fn in_function(&self) -> String {
        match &self.function {
            Some(function) => format!("{function} {}", self.short()),
            None => self.short(),
        }
    }

    /// Module and offset; empty for a place that is known from the source only.
    #[must_use]
    pub fn place(&self) -> String {
        if self.module.is_empty() && self.offset == 0 && self.file.is_some() {
            String::new()
        } else if self.module.is_empty() {
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
    /// Its name in the source: the global that it is or lies in, and the member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Empty if it is known from the source only.
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
            (None, Some(Allocation { thread, allocated_at, .. })) if allocated_at.is_empty() => {
                format!("{} on the stack of T{thread}", self.address)
            }
            (None, Some(Allocation { offset, allocated_at, .. })) => {
                format!("offset {offset} of the memory allocated at {}", user_frame(allocated_at).short())
            }
            (None, None) => format!("the memory at {}", self.address),
        }
    }

    /// The same beside another one: two members of one name are of two objects.
    #[must_use]
    pub fn label_beside(&self, other: &Variable) -> String {
        let label = self.label();
        if self != other && label == other.label() { format!("{label} of another object") } else { label }
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

/// Why two accesses have to do with each other: how a value goes from one to the other, or from one place to both.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Dependency {
    pub kind: DependencyKind,
    /// The way of the value, in its order; empty if it is not proven.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<Link>,
}

impl Dependency {
    /// The one that stands in where the program's code is not known.
    #[must_use]
    pub const fn assumed() -> Dependency {
        Dependency { kind: DependencyKind::Assumed, chain: Vec::new() }
    }

    /// The one that stands in where the program's code does not tell.
    #[must_use]
    pub const fn open() -> Dependency {
        Dependency { kind: DependencyKind::Open, chain: Vec::new() }
    }

    #[must_use]
    pub const fn proven(chain: Vec<Link>) -> Dependency {
        Dependency { kind: DependencyKind::Proven, chain }
    }
}

/// One step on the way of a value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Link {
    /// What happens to it, without the place.
    pub what: String,
    pub at: Frame,
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

    /// What it is known by as long as no run was seen.
    #[must_use]
    pub fn role(&self) -> String {
        self.start_routine.as_ref().map_or_else(|| "of any caller".to_owned(), |routine| format!("'{routine}'"))
    }
}

/// What came of driving the real program through a finding's violating order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Trial {
    /// The best of all schedules that were tried.
    pub verdict: Verdict,
    /// How the program failed, or why the violation was not reached.
    pub detail: String,
    /// File of the schedule; empty if none could be made.
    pub schedule: String,
    /// How the program was steered: flags of 'avmon replay', with a space behind each.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub flags: String,
    /// The program's command line, quoted for a shell.
    pub program: String,
    /// How often another thread goes on than the one before.
    pub switches: u64,
    /// In so many runs of the schedule in all ...
    pub runs: u64,
    /// ... it ended so.
    pub alike: u64,
}

impl Trial {
    /// What does it again.
    #[must_use]
    pub fn command(&self) -> String {
        format!("avmon replay {}{} -- {}", self.flags, self.schedule, self.program)
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
    /// The maximal view that is split: what the culprit's block accesses together, and this block in two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub view: Vec<Variable>,
    /// So many more are in it than are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view_more: Option<u64>,
    /// What the two accesses of the block have to do with each other, if that matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependency: Option<Dependency>,
    /// The violating order, line by line: a column for each of the two threads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagram: Vec<String>,
    /// Why that order is believed to be possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// What came of it in the real program, if that was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
    /// The threads of the operations, by id.
    pub threads: Vec<Thread>,
    /// The line for a suppressions file that would hide this finding.
    pub suppression: String,
}

/// How many of all are not among the first few that are told.
#[must_use]
pub fn more_than(told: usize, all: usize) -> Option<u64> {
    (all > told).then(|| (all - told) as u64)
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

    /// Takes what came of it in the real program. A failure is the best proof there is, so that the finding is strong whatever it looked like.
    pub fn prove(&mut self, trial: Trial) {
        let verdict = trial.verdict;
        if verdict.is_failure() {
            self.strength = Strength::Strong;
        }
        if verdict.is_reached() {
            self.rung = if verdict.is_failure() { Rung::Failing } else { Rung::Confirmed };
        }
        self.trial = Some(trial);
    }

    /// Whether it is a reader between a block's sections as a reader and as a writer, which is only told if the program fails then: the locks
    /// tell of no conflict, but the reader may be about to do as the block does.
    #[must_use]
    pub fn is_only_worth_a_try(&self) -> bool {
        let modes = [&self.first, &self.culprit, &self.second].map(|operation| operation.mode);
        self.pattern.is_none() && modes == [LockMode::Shared, LockMode::Shared, LockMode::Exclusive].map(Some)
    }

    /// Whether the real program showed that something is wrong.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        self.strength == Strength::Strong && (self.rung >= Rung::Confirmed || self.has_failed())
    }

    /// Whether the real program failed with it.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.trial.as_ref().is_some_and(|trial| trial.verdict.is_failure())
    }

    /// The operations that the finding speaks of.
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        [&self.first, &self.culprit].into_iter().chain(&self.culprit_too).chain([&self.second])
    }

    /// The thread with this id as the report calls it.
    #[must_use]
    pub fn thread_label(&self, id: ThreadId) -> String {
        let Some(thread) = self.threads.iter().find(|thread| thread.id == id) else { return format!("T{id}") };
        if self.rung != Rung::Suspected {
            return thread.label();
        }
        let is_second =
            self.threads.iter().take_while(|it| it.id != id).any(|it| it.start_routine == thread.start_routine);
        if is_second { format!("{} (another one)", thread.role()) } else { thread.role() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
