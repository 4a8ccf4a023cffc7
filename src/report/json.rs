//! The log: JSON Lines, one record per line, each with a `"type"`.
//!
//! [`RECORDS`] says which fields there are. The manual's tables and the validator come from it, and tests validate what
//! is really written, so the three cannot drift apart. Version 1; a field that changes its meaning or goes away makes
//! version 2, a new field does not.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::options;
use crate::replay::verdict::Verdict;
use crate::report::finding::{
    Action, Analysis, BlockKind, Data, DependencyKind, Finding, Kind, LockMode, Pattern, Rung, Strength,
};

/// The version of the log's schema.
pub const VERSION: u64 = 1;

/// First record of a process.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Start {
    pub version: u64,
    pub pid: u32,
    pub program: String,
    pub arguments: Vec<String>,
    pub options: String,
    pub time_ms: u64,
}

impl Start {
    /// Of this process. From `/proc`, since the environment may be changed by the program meanwhile.
    #[must_use]
    pub fn of_this_process() -> Start {
        let variable = format!("{}=", options::VARIABLE);
        let environment = strings("/proc/self/environ");
        Start {
            version: VERSION,
            pid: std::process::id(),
            program: std::fs::read_link("/proc/self/exe").map(|path| path.display().to_string()).unwrap_or_default(),
            arguments: strings("/proc/self/cmdline"),
            options: environment.iter().find_map(|entry| entry.strip_prefix(&variable)).unwrap_or_default().to_owned(),
            time_ms: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64,
        }
    }
}

/// The NUL-terminated strings that a file of `/proc` holds.
#[must_use]
pub fn strings(path: &str) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    text.strip_suffix('\0').map(|t| t.split('\0').map(str::to_owned).collect()).unwrap_or_default()
}

/// How often a finding was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Count {
    pub id: u64,
    pub count: u64,
}

/// Last record of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    pub strong: u64,
    pub conditional: u64,
    #[serde(rename = "loop")]
    pub loops: u64,
    pub base: u64,
    /// Those of which only an analysis of a trace knows.
    #[serde(default)]
    pub unrelated: u64,
    #[serde(default)]
    pub assumed: u64,
    pub suppressed: u64,
    pub not_transactions: u64,
    pub lost: u64,
    pub unseen: u64,
    pub order_gaps: u64,
    pub events: u64,
    pub threads: u64,
    pub locks: u64,
    pub duration_ms: u64,
}

impl Summary {
    /// The same with so many findings of each strength.
    #[must_use]
    pub fn having(self, count: impl Fn(Strength) -> u64) -> Summary {
        Summary {
            strong: count(Strength::Strong),
            conditional: count(Strength::Conditional),
            loops: count(Strength::Loop),
            base: count(Strength::Base),
            unrelated: count(Strength::Unrelated),
            assumed: count(Strength::Assumed),
            ..self
        }
    }
}

/// A line of the log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Record {
    Start(Start),
    Finding(Box<Finding>),
    Count(Count),
    Summary(Summary),
}

impl Record {
    /// The record as a line, with its line end.
    #[must_use]
    pub fn to_line(&self) -> String {
        // Strings, numbers, lists and structs: nothing in it can fail to be written as JSON.
        serde_json::to_string(self).map(|line| line + "\n").unwrap_or_default()
    }
}

/// The type of a field.
#[derive(Clone, Copy, Debug)]
pub enum Type {
    Text,
    Number,
    Flag,
    OneOf(&'static [&'static str]),
    SomeOf(&'static [&'static str]),
    Object(&'static Shape),
    Texts,
    Objects(&'static Shape),
}

/// One field of a record.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub name: &'static str,
    pub kind: Type,
    pub required: bool,
    pub meaning: &'static str,
}

/// A record, or an object inside one.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub name: &'static str,
    pub meaning: &'static str,
    pub fields: &'static [Field],
}

const fn field(name: &'static str, kind: Type, meaning: &'static str) -> Field {
    Field { name, kind, required: true, meaning }
}

const fn maybe(name: &'static str, kind: Type, meaning: &'static str) -> Field {
    Field { name, kind, required: false, meaning }
}

/// The records: every line has the type of one of them.
pub const RECORDS: &[&Shape] = &[&START, &FINDING, &COUNT, &SUMMARY];

/// The objects inside them.
pub const OBJECTS: &[&Shape] =
    &[&BLOCK, &OPERATION, &SECTION, &FRAME, &LOCK, &VARIABLE, &ALLOCATION, &DEPENDENCY, &LINK, &TRIAL, &THREAD];

const START: Shape = Shape {
    name: "start",
    meaning: "First record of a process. A program that replaces itself (exec) adds another one.",
    fields: &[
        field("version", Type::Number, "version of this schema"),
        field("pid", Type::Number, "process id"),
        field("program", Type::Text, "path of the program's file"),
        field("arguments", Type::Texts, "its arguments, the program's name first"),
        field("options", Type::Text, "the text of AVMON_OPTIONS"),
        field("time_ms", Type::Number, "when the monitor started, in milliseconds since 1970 UTC"),
    ],
};

const FINDING: Shape = Shape {
    name: "finding",
    meaning: "A block that another thread can split. Written when it is first seen.",
    fields: &[
        field("id", Type::Number, "number of the finding in its process, from 1"),
        maybe("same_as", Type::Number, "an earlier finding with the same block and locations, but another kind"),
        field("kind", Type::OneOf(Kind::NAMES), "where the culprit ran, relative to the block's two operations"),
        field("rung", Type::OneOf(Rung::NAMES), "how far it is proven"),
        field("strength", Type::OneOf(Strength::NAMES), "how likely it is a bug; all but strong are weak"),
        maybe("pattern", Type::OneOf(Pattern::NAMES), "how the accesses conflict; missing if it speaks of locks"),
        maybe("found_by", Type::SomeOf(Analysis::NAMES), "the analyses that found it; `windows` if missing"),
        maybe("data", Type::OneOf(Data::NAMES), "what a trace tells of data, if the finding speaks of locks only"),
        field("sentence", Type::Text, "what could happen"),
        field("block", Type::Object(&BLOCK), "what is not atomic"),
        field("also_split", Type::Texts, "callers of the block that are split with it, innermost first"),
        field("first", Type::Object(&OPERATION), "the block's first acquire or access"),
        field("culprit", Type::Object(&OPERATION), "that of the other thread, which can come in between"),
        maybe("culprit_too", Type::Object(&OPERATION), "of two variables, the other thread's access of the second"),
        field("second", Type::Object(&OPERATION), "the block's second acquire or access"),
        maybe("lock", Type::Object(&LOCK), "the lock of all three, which is not held throughout"),
        maybe("variables", Type::Objects(&VARIABLE), "what is accessed; of two, those of `first` and of `second`"),
        maybe("view", Type::Objects(&VARIABLE), "what the culprit's block accesses together, and this one in two"),
        maybe("view_more", Type::Number, "how many more variables are in the view"),
        maybe("dependency", Type::Object(&DEPENDENCY), "what the block's two accesses have to do with each other"),
        maybe("diagram", Type::Texts, "the violating order, as lines of text with a column for each thread"),
        maybe("because", Type::Text, "why that order is believed to be possible"),
        maybe("trial", Type::Object(&TRIAL), "what came of that order in the real program, if it was tried"),
        field("threads", Type::Objects(&THREAD), "the threads that take part, by id"),
        field("suppression", Type::Text, "line for a suppressions file that would hide the finding"),
    ],
};

const COUNT: Shape = Shape {
    name: "count",
    meaning: "How often a finding was seen in all. Written at the end, one for each finding.",
    fields: &[field("id", Type::Number, "the finding"), field("count", Type::Number, "how often it was seen")],
};

const SUMMARY: Shape = Shape {
    name: "summary",
    meaning: "Last record of a process. Missing if the process was killed.",
    fields: &[
        field("strong", Type::Number, "strong findings: distinct blocks and locations"),
        field("conditional", Type::Number, "conditional findings"),
        field("loop", Type::Number, "loop findings"),
        field("base", Type::Number, "base findings"),
        maybe("unrelated", Type::Number, "unrelated findings"),
        maybe("assumed", Type::Number, "assumed findings"),
        field("suppressed", Type::Number, "violations that a suppression hid"),
        field("not_transactions", Type::Number, "violations of blocks that the specification does not call atomic"),
        field("lost", Type::Number, "events that were dropped"),
        field("unseen", Type::Number, "events in signal handlers that interrupted the monitor"),
        field("order_gaps", Type::Number, "places where the order of events had to be guessed"),
        field("events", Type::Number, "events that were analysed"),
        field("threads", Type::Number, "threads that were seen"),
        field("locks", Type::Number, "locks that were seen"),
        field("duration_ms", Type::Number, "how long the process was monitored, in milliseconds"),
    ],
};

const BLOCK: Shape = Shape {
    name: "block",
    meaning: "The block that is not atomic.",
    fields: &[
        field("kind", Type::OneOf(BlockKind::NAMES), "a call of a function, a marked block, a critical section"),
        field("name", Type::Text, "the function (of a section the one that it is in), or the marked block's label"),
        field("begin", Type::Object(&FRAME), "where it begins"),
    ],
};

const OPERATION: Shape = Shape {
    name: "operation",
    meaning: "One of the acquires or accesses.",
    fields: &[
        maybe("action", Type::OneOf(Action::NAMES), "what it does; `acquire` if missing"),
        field("thread", Type::Number, "id of the thread"),
        field("location", Type::Object(&FRAME), "the place in the block, or in the culprit's own code"),
        field("stack", Type::Objects(&FRAME), "call stack, innermost first"),
        field("held", Type::Texts, "the other locks that the thread held"),
        maybe("mode", Type::OneOf(LockMode::NAMES), "how the lock was taken; of an acquire"),
        maybe("sections", Type::Objects(&SECTION), "the critical sections around an access, outermost first"),
    ],
};

const SECTION: Shape = Shape {
    name: "section",
    meaning: "A critical section around an access.",
    fields: &[
        field("lock", Type::Object(&LOCK), "its lock"),
        field("taken_at", Type::Object(&FRAME), "where the lock was taken, in the block or in the culprit's own code"),
    ],
};

const FRAME: Shape = Shape {
    name: "frame",
    meaning: "A function at a code address. What is not known is missing.",
    fields: &[
        maybe("function", Type::Text, "its name, demangled"),
        maybe("file", Type::Text, "path of the source file"),
        maybe("line", Type::Number, "line in it"),
        maybe("column", Type::Number, "column in it"),
        field("inlined", Type::Flag, "whether it was inlined into the next frame's function"),
        field("module", Type::Text, "path of the program or library; empty outside all of them"),
        field("offset", Type::Number, "offset from the module's begin; the address outside all modules"),
    ],
};

const LOCK: Shape = Shape {
    name: "lock",
    meaning: "The lock that does not protect the whole block.",
    fields: &[
        maybe("name", Type::Text, "the global that it is or lies in"),
        field("address", Type::Text, "its address, in hexadecimal"),
        field("generation", Type::Number, "how many locks lived at that address before"),
        field("initialised_at", Type::Objects(&FRAME), "where it was initialised; empty if that was not seen"),
    ],
};

const VARIABLE: Shape = Shape {
    name: "variable",
    meaning: "A piece of memory that several threads access.",
    fields: &[
        maybe(
            "name",
            Type::Text,
            "the global that it is or lies in, and its member; or the member of what was allocated",
        ),
        field("address", Type::Text, "its address, in hexadecimal; empty if it is known from the source only"),
        maybe("allocation", Type::Object(&ALLOCATION), "the allocated memory that it lies in"),
    ],
};

const ALLOCATION: Shape = Shape {
    name: "allocation",
    meaning: "Allocated memory that a variable lies in.",
    fields: &[
        field("offset", Type::Number, "where in it the variable is"),
        field("size", Type::Number, "its size in bytes"),
        field("thread", Type::Number, "the thread that allocated it"),
        field("allocated_at", Type::Objects(&FRAME), "where it was allocated; empty for the stack of the thread"),
    ],
};

const DEPENDENCY: Shape = Shape {
    name: "dependency",
    meaning: "What two accesses of a block have to do with each other.",
    fields: &[
        field(
            "kind",
            Type::OneOf(DependencyKind::NAMES),
            "whether it follows from the program's code: `assumed` if that is not known, `open` if it does not tell",
        ),
        maybe("chain", Type::Objects(&LINK), "the way of the value, in its order"),
    ],
};

const LINK: Shape = Shape {
    name: "link",
    meaning: "One step on the way of a value.",
    fields: &[field("what", Type::Text, "what happens to the value"), field("at", Type::Object(&FRAME), "where")],
};

const TRIAL: Shape = Shape {
    name: "trial",
    meaning: "What came of driving the real program through a violating order.",
    fields: &[
        field("verdict", Type::OneOf(Verdict::NAMES), "what the best of the tried schedules proves"),
        field("detail", Type::Text, "how the program failed, or why the violation was not reached; may be empty"),
        field("schedule", Type::Text, "file of that schedule; empty if none could be made"),
        maybe("flags", Type::Text, "how the program was steered: flags of 'avmon replay', if any were given"),
        field("program", Type::Text, "the program's command line, quoted for a shell"),
        field("switches", Type::Number, "how often another thread goes on than the one before"),
        field("runs", Type::Number, "runs of that schedule"),
        field("alike", Type::Number, "how many of them ended with that verdict"),
    ],
};

const THREAD: Shape = Shape {
    name: "thread",
    meaning: "A thread that takes part.",
    fields: &[
        field("id", Type::Number, "its number, in the order of creation; 0 ran main"),
        field("name", Type::Text, "its name; empty if it has none"),
        maybe("parent", Type::Number, "the thread that created it"),
        field("created_at", Type::Objects(&FRAME), "where it was created; empty if that was not seen"),
        maybe("start_routine", Type::Text, "name of the function that it runs"),
    ],
};

impl Type {
    fn describe(self) -> String {
        match self {
            Type::Text => "text".into(),
            Type::Number => "number".into(),
            Type::Flag => "true or false".into(),
            Type::OneOf(names) => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
            Type::SomeOf(names) => format!("list of {}", Type::OneOf(names).describe()),
            Type::Object(shape) => shape.name.into(),
            Type::Texts => "list of texts".into(),
            Type::Objects(shape) => format!("list of {}s", shape.name),
        }
    }

    fn check(self, value: &Value, at: &str) -> Result<(), String> {
        let fits = match (self, value) {
            (Type::SomeOf(names), Value::Array(items)) => {
                return items.iter().try_for_each(|item| Type::OneOf(names).check(item, at));
            }
            (Type::Text, Value::String(_)) | (Type::Flag, Value::Bool(_)) => true,
            (Type::Number, Value::Number(number)) => number.is_u64(),
            (Type::OneOf(names), Value::String(text)) => names.contains(&text.as_str()),
            (Type::Texts, Value::Array(items)) => items.iter().all(Value::is_string),
            (Type::Object(shape), Value::Object(_)) => return shape.check(value, at),
            (Type::Objects(shape), Value::Array(items)) => {
                return items.iter().enumerate().try_for_each(|(i, item)| shape.check(item, &format!("{at}[{i}]")));
            }
            _ => false,
        };
        if fits { Ok(()) } else { Err(format!("{at}: {value} is not {}", self.describe())) }
    }
}

impl Shape {
    fn check(&self, value: &Value, at: &str) -> Result<(), String> {
        let Value::Object(map) = value else { return Err(format!("{at}: {value} is not {}", self.name)) };
        for field in self.fields {
            match map.get(field.name) {
                Some(value) => field.kind.check(value, &format!("{at}.{}", field.name))?,
                None if field.required => return Err(format!("{at}: field '{}' is missing", field.name)),
                None => {}
            }
        }
        let is_known = |name: &str| self.fields.iter().any(|field| field.name == name);
        match map.keys().find(|name| !is_known(name)) {
            Some(name) => Err(format!("{at}: unknown field '{name}'")),
            None => Ok(()),
        }
    }

    fn markdown(&self, text: &mut String) {
        let _ = writeln!(text, "### `{}`\n\n{}\n\n| field | type | meaning |\n|---|---|---|", self.name, self.meaning);
        for Field { name, kind, required, meaning } in self.fields {
            let optional = if *required { "" } else { ", may be missing" };
            let _ = writeln!(text, "| `{name}` | {}{optional} | {meaning} |", kind.describe());
        }
        text.push('\n');
    }
}

/// Checks a line of a log against the schema: required fields, types, no unknown fields.
pub fn validate_line(line: &str) -> Result<(), String> {
    let mut value: Value = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
    let kind = value.as_object_mut().and_then(|map| map.remove("type")).ok_or("no record: it has no 'type'")?;
    let shape = RECORDS.iter().find(|shape| kind == shape.name).ok_or_else(|| format!("unknown type {kind}"))?;
    shape.check(&value, shape.name)
}

/// The schema for the manual.
#[must_use]
pub fn schema_markdown() -> String {
    let mut text =
        format!("## Records (schema version {VERSION})\n\nEach line is an object whose `type` names the record.\n\n");
    for shape in RECORDS {
        shape.markdown(&mut text);
    }
    text.push_str("## Objects in records\n\n");
    for shape in OBJECTS {
        shape.markdown(&mut text);
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// What one process wrote.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Run {
    pub start: Option<Start>,
    pub findings: Vec<Finding>,
    pub counts: Vec<Count>,
    /// Missing if the process was killed.
    pub summary: Option<Summary>,
}

impl Run {
    /// How often a finding was seen, as far as the log tells.
    #[must_use]
    pub fn count(&self, id: u64) -> u64 {
        self.counts.iter().find(|count| count.id == id).map_or(1, |count| count.count)
    }
}

/// A log as read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Log {
    /// Usually one; a program that replaces itself (exec) keeps its process id and adds another.
    pub runs: Vec<Run>,
    /// The last line was cut short, as by a kill or a full disk. It is left out.
    pub truncated: bool,
}

/// Why a log cannot be read.
#[derive(Debug)]
pub enum LogError {
    Unreadable {
        path: String,
        error: std::io::Error,
    },
    /// A line is no record. Lines count from 1.
    Line {
        path: String,
        line: usize,
        message: String,
    },
}

impl std::fmt::Display for LogError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LogError::Unreadable { path, error } => {
                write!(f, "cannot read the log '{path}': {error}; a log's name ends in the process id")
            }
            LogError::Line { path, line, message } => {
                write!(f, "{path}:{line}: {message}; is this a log of avmon?")
            }
        }
    }
}

impl std::error::Error for LogError {}

/// Reads a log.
pub fn read_log(path: &Path) -> Result<Log, LogError> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| LogError::Unreadable { path: name.clone(), error })?;
    parse_log(&name, &String::from_utf8_lossy(&bytes))
}

/// Parses the text of a log; `path` is for the errors.
pub fn parse_log(path: &str, text: &str) -> Result<Log, LogError> {
    let mut log = Log::default();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let record = match serde_json::from_str(line) {
            Ok(record) => record,
            Err(_) if !line.ends_with('\n') => {
                log.truncated = true;
                break;
            }
            Err(error) => {
                let message = validate_line(line).err().unwrap_or_else(|| error.to_string());
                return Err(LogError::Line { path: path.to_owned(), line: index + 1, message });
            }
        };
        log.push(record).map_err(|message| LogError::Line { path: path.to_owned(), line: index + 1, message })?;
    }
    Ok(log)
}

impl Log {
    fn push(&mut self, record: Record) -> Result<(), String> {
        if let Record::Start(start) = record {
            if start.version != VERSION {
                return Err(format!("the log has version {}, this avmon reads version {VERSION}", start.version));
            }
            self.runs.push(Run { start: Some(start), ..Run::default() });
            return Ok(());
        }
        let run = self.runs.last_mut().ok_or("the first record is not 'start'")?;
        match record {
            Record::Start(_) => {}
            Record::Finding(finding) => run.findings.push(*finding),
            Record::Count(count) => run.counts.push(count),
            Record::Summary(summary) => run.summary = Some(summary),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::finding::samples;

    fn start() -> Start {
        Start {
            version: VERSION,
            pid: 7,
            program: "/opt/prog".into(),
            arguments: vec!["prog".into(), "-x".into()],
            options: "exitcode=0".into(),
            time_ms: 1,
        }
    }

    fn records() -> Vec<Record> {
        vec![
            Record::Start(start()),
            Record::Finding(Box::new(samples::append())),
            Record::Count(Count { id: 1, count: 9 }),
            Record::Summary(Summary { strong: 1, ..Summary::default() }),
        ]
    }

    fn text() -> String {
        records().iter().map(Record::to_line).collect()
    }

    #[test]
    fn every_record_fits_the_schema() {
        for (record, shape) in records().iter().zip(RECORDS) {
            let line = record.to_line();
            assert_eq!(validate_line(&line), Ok(()), "{line}");
            assert!(line.starts_with(&format!("{{\"type\":\"{}\"", shape.name)), "{line}");
            assert_eq!(line.matches('\n').count(), 1);
        }
    }

    #[test]
    fn findings_of_every_shape_fit_the_schema_and_read_back() {
        for finding in [samples::append(), samples::length(), samples::pair(), samples::view(), samples::stale()] {
            let record = Record::Finding(Box::new(finding));
            assert_eq!(validate_line(&record.to_line()), Ok(()));
            assert_eq!(serde_json::from_str::<Record>(&record.to_line()).unwrap(), record);
        }
    }

    #[test]
    fn a_log_from_before_there_were_findings_about_data_is_read() {
        let line = Record::Finding(Box::new(samples::append())).to_line();
        let older = line.replace("\"action\":\"acquire\",", "").replace("\"found_by\":[\"windows\"],", "");
        assert!(older.len() < line.len());
        assert_eq!(serde_json::from_str::<Record>(&older).unwrap().to_line(), line);
    }

    #[test]
    fn the_validator_tells_what_is_wrong_and_where() {
        let line = Record::Count(Count { id: 1, count: 9 }).to_line();
        let broken = |from: &str, to: &str| validate_line(&line.replace(from, to)).unwrap_err();
        assert_eq!(broken("\"id\":1,", ""), "count: field 'id' is missing");
        assert_eq!(broken("9", "\"9\""), "count.count: \"9\" is not number");
        assert_eq!(broken("\"id\"", "\"more\":1,\"id\""), "count: unknown field 'more'");
        assert_eq!(broken("\"count\",", "\"cont\","), "unknown type \"cont\"");
        assert!(broken("}", "").starts_with("not JSON"));
        assert_eq!(validate_line("[]").unwrap_err(), "no record: it has no 'type'");
        let finding = Record::Finding(Box::new(samples::append())).to_line();
        assert_eq!(
            validate_line(&finding.replace("\"inlined\":false", "\"inlined\":0")).unwrap_err(),
            "finding.block.begin.inlined: 0 is not true or false"
        );
        assert_eq!(
            validate_line(&finding.replace("\"after\"", "\"later\"")).unwrap_err(),
            "finding.kind: \"later\" is not `before`, `in`, `after`"
        );
        assert!(
            validate_line(&finding.replace("[\"windows\"]", "[\"doors\"]"))
                .unwrap_err()
                .starts_with("finding.found_by")
        );
    }

    #[test]
    fn the_manual_has_every_field() {
        let manual = schema_markdown();
        for shape in RECORDS.iter().chain(OBJECTS) {
            assert!(manual.contains(&format!("### `{}`\n", shape.name)));
            for field in shape.fields {
                assert!(manual.contains(&format!("| `{}` |", field.name)), "{}", field.name);
            }
        }
    }

    #[test]
    fn a_log_reads_back_as_it_was_written() {
        let log = parse_log("log", &text()).unwrap();
        assert!(!log.truncated);
        assert_eq!(log.runs.len(), 1);
        let run = &log.runs[0];
        assert_eq!(run.start, Some(start()));
        assert_eq!(run.findings, [samples::append()]);
        assert_eq!((run.count(1), run.count(2)), (9, 1));
        assert_eq!(run.summary.unwrap().strong, 1);
    }

    #[test]
    fn a_cut_last_line_is_left_out_and_told() {
        let whole = text();
        for cut in 1..40 {
            let log = parse_log("log", &whole[..whole.len() - 1 - cut]).unwrap();
            assert!(log.truncated);
            assert_eq!((log.runs[0].counts.len(), log.runs[0].summary), (1, None));
        }
        let log = parse_log("log", whole.trim_end()).unwrap();
        assert!(!log.truncated && log.runs[0].summary.is_some(), "only the line end is missing");
    }

    #[test]
    fn a_program_that_replaces_itself_makes_two_runs() {
        let log = parse_log("log", &(text() + &text())).unwrap();
        assert_eq!(log.runs.len(), 2);
        assert_eq!(log.runs[0], log.runs[1]);
    }

    #[test]
    fn errors_name_file_and_line() {
        let error = |text: &str| parse_log("avm.7", text).unwrap_err().to_string();
        assert_eq!(
            error(&(text() + "{\"type\":\"count\",\"id\":1}\n")),
            "avm.7:5: count: field 'count' is missing; is this a log of avmon?"
        );
        assert_eq!(
            error("{\"type\":\"count\",\"id\":1,\"count\":2}\n"),
            "avm.7:1: the first record is not 'start'; is this a log of avmon?"
        );
        let newer = Record::Start(Start { version: 2, ..start() }).to_line();
        assert!(error(&newer).starts_with("avm.7:1: the log has version 2, this avmon reads version 1"));
        let missing = read_log(Path::new("/nonexistent/avm.7")).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read the log '/nonexistent/avm.7': No such file"), "{missing}");
    }
}
