//! Builds of one program by gcc and by clang make the same events, up to addresses.
//!
//! Compared is what each thread did, as `avmon dump` tells it: kind, details and place of every event, and which object it is about, by
//! its name or, without one, by the order in which objects are first used. Left out are branch counts, the time, memory that
//! is allocated and freed (compilers' own needs differ), and a thread's own stack (compilers keep what they like there). Of virtual
//! functions, two things are not compared: clang has no hook for reads of their tables, which never change, and gcc does not mark the
//! read of a pointer to one. Bit fields are no part of the programs: a write to one is told by clang as what it is, a read and a
//! write of all the bits around it, by gcc as the write alone.

mod support;

use libtest_mimic::{Arguments, Trial};
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use support::build::Variant;
use support::directives::Directives;
use support::recording::{self, avmon, reads};
use support::run::{End, run};

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for source in support::sources(&support::root().join("tests/recordings/compilers")) {
        for level in ["-O0", "-O1"] {
            let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let source = source.clone();
            let trial = move || Ok(check(&source, level)?);
            trials.push(Trial::test(format!("{name}::{level}"), trial));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn check(source: &Path, level: &str) -> Result<(), String> {
    let gcc = events(source, level, Variant::Instrumented)?;
    let clang = events(source, level, Variant::Clang)?;
    let threads: Vec<&String> = gcc.keys().collect();
    if gcc.len() < 3 || gcc.len() != clang.len() {
        return Err(format!("gcc has {threads:?}, clang {:?}", clang.keys()));
    }
    for thread in threads {
        let [gcc, clang] = [&gcc, &clang].map(|events| events.get(thread).map_or(&[][..], Vec::as_slice));
        if let Some(at) = (0..gcc.len().max(clang.len())).find(|at| gcc.get(*at) != clang.get(*at)) {
            let around = |events: &[String]| events[at.saturating_sub(4)..events.len().min(at + 4)].join("\n  ");
            return Err(format!("{thread}, event {at}:\ngcc:\n  {}\nclang:\n  {}", around(gcc), around(clang)));
        }
        println!("{} {level} {thread}: {} events", source.display(), gcc.len());
    }
    Ok(())
}

/// What each thread does, one line per event.
fn events(source: &Path, level: &str, variant: Variant) -> Result<HashMap<String, Vec<String>>, String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let [program, trace] = ["program", "trace"].map(|name| home.path().join(name).display().to_string());
    recording::compile(variant, source, Path::new(&program), &Directives::read(source, &[])?, &[level])?;
    let recorded = run(&mut avmon(&["record", "--all", "-o", &trace, "--", &program]))?;
    if recorded.end != End::Exit(0) || recorded.stdout != "done\n" || recorded.stderr.contains("warning") {
        return Err(format!("recording: {recorded}"));
    }
    let dump = reads(&["dump", "--per-thread", &trace], &[0])?;
    let mut threads: HashMap<String, Thread> = HashMap::new();
    for line in dump.stdout.lines() {
        let mut words = line.split_whitespace().skip(1);
        let (Some(thread), Some(kind)) = (words.next(), words.next()) else { return Err(format!("no event: {line}")) };
        threads.entry(thread.to_owned()).or_default().add(kind, &words.collect::<Vec<_>>());
    }
    let in_order = |(name, thread): (String, Thread)| (name, awaits_in_order(thread.events));
    Ok(threads.into_iter().map(in_order).collect())
}

/// What a fence awaits it awaits all at once, in an order that depends on addresses.
fn awaits_in_order(mut events: Vec<String>) -> Vec<String> {
    let is_await = |event: &String| event.starts_with("await ");
    events.chunk_by_mut(|a, b| is_await(a) && is_await(b)).for_each(<[String]>::sort);
    events
}

/// What is known of a thread while its events are read.
#[derive(Default)]
struct Thread {
    events: Vec<String>,
    /// Objects without a name, in the order of their first use.
    unnamed: HashMap<String, usize>,
    /// Of the memory that is allocated next.
    bytes: u64,
    stack: Range<u64>,
}

/// The events are not compared.
const OTHERS: [&str; 7] = ["extent", "allocate", "free", "time", "branches", "name", "value"];

impl Thread {
    fn add(&mut self, kind: &str, words: &[&str]) {
        let (subject, details, place) = columns(words);
        let address = subject.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        match (kind, address) {
            ("extent", _) => self.bytes = details.trim_start_matches("bytes=").parse().unwrap_or(0),
            ("allocate", Some(start)) if details == "stack" => self.stack = start..start + self.bytes,
            _ => {}
        }
        let is_own = address.is_some_and(|address| self.stack.contains(&address));
        if OTHERS.contains(&kind) || is_own || subject.starts_with("{vtable(") {
            return;
        }
        let details = if kind == "read" { details.replace(" vptr", "") } else { details };
        // Constants of the program have no names either.
        let object = if address.is_some() || subject.starts_with("program+") {
            let next = self.unnamed.len();
            format!("object {}", self.unnamed.entry(subject).or_insert(next))
        } else {
            subject
        };
        self.events.push(format!("{kind} {object} {details} {place}"));
    }
}

/// What an event is about, its details without the branch count, and the function that it is in.
fn columns(words: &[&str]) -> (String, String, String) {
    let size = words.iter().position(|word| word.starts_with("size=")).unwrap_or(1);
    let is_detail = |word: &&&str| !word.contains(['(', ':']) && DETAILS.iter().any(|detail| word.starts_with(detail));
    let end = size + 1 + words[size + 1..].iter().take_while(is_detail).count();
    let details: Vec<&str> = words[size..end].iter().copied().filter(|word| !word.starts_with("branches=")).collect();
    // Behind the function is the line, which compilers may see otherwise.
    let place = words[end..].split_last().map_or(&[][..], |(_, function)| function);
    (words[..size].join(" "), details.join(" "), place.join(" "))
}

/// Words that may follow the size of an access.
const DETAILS: [&str; 12] = [
    "volatile",
    "vptr",
    "unaligned",
    "range",
    "branches=",
    "fenced",
    "relaxed",
    "consume",
    "acquire",
    "release",
    "acq_rel",
    "seq_cst",
];
