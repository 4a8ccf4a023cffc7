//! Builds and runs every example: the buggy twin is found out, the fixed one is clean, and neither behaves otherwise than
//! without the monitor.

mod support;

use libtest_mimic::{Arguments, Trial};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::build::{self, Variant};
use support::directives::Expected;
use support::findings::{self, Finding};
use support::run::{End, Outcome, run};

fn main() {
    let arguments = Arguments::from_args();
    let examples = read_expected().unwrap_or_else(|error| panic!("{error}"));
    let mut trials = vec![Trial::test("every_example_is_listed", || Ok(every_example_is_listed()?))];
    for example in examples {
        for variant in [Variant::Instrumented, Variant::Clang] {
            let (buggy, fixed) = (example.clone(), example.clone());
            let name = |twin: &str| format!("{}::{twin}::{}", example.name, variant.name());
            trials.push(Trial::test(name("buggy"), move || Ok(buggy.is_found(variant)?)));
            trials.push(Trial::test(name("fixed"), move || Ok(fixed.is_clean(variant)?)));
        }
        for twin in ["buggy", "fixed"] {
            let example = example.clone();
            let name = format!("{}::{twin}::race_free", example.name);
            trials.push(Trial::test(name, move || Ok(example.is_race_free(twin)?)));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn directory() -> PathBuf {
    support::root().join("examples")
}

/// A line of `expected.txt`.
#[derive(Clone, Debug)]
struct Example {
    name: String,
    blamed: String,
    file: String,
}

fn read_expected() -> Result<Vec<Example>, String> {
    let path = directory().join("expected.txt");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| Example::parse(line).ok_or_else(|| format!("{}: '{line}'", path.display()))).collect()
}

fn every_example_is_listed() -> Result<(), String> {
    let listed: Vec<String> = read_expected()?.into_iter().map(|example| example.name).collect();
    let entries = std::fs::read_dir(directory()).map_err(|error| error.to_string())?;
    let mut count = 0;
    // The scenarios are no programs; tests/scenario_language.rs looks after them.
    let is_program = |path: &PathBuf| path.is_dir() && !path.ends_with("scenarios");
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_program) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !listed.contains(&name) {
            return Err(format!("expected.txt does not list {name}"));
        }
        if !path.join("README.md").is_file() {
            return Err(format!("{name} has no README.md"));
        }
        count += 1;
    }
    if count == listed.len() { Ok(()) } else { Err(format!("expected.txt lists {listed:?}, but there are {count}")) }
}

impl Example {
    fn parse(line: &str) -> Option<Example> {
        let mut words = line.split_whitespace().map(str::to_owned);
        Some(Example { name: words.next()?, blamed: words.next()?, file: words.next()? })
    }

    /// The source of one of the twins; both are in one language.
    fn source(&self, twin: &str) -> PathBuf {
        let extension = Path::new(&self.file).extension().unwrap_or_default();
        directory().join(&self.name).join(twin).with_extension(extension)
    }

    /// Compiles a twin, runs it alone and under `avmon run`, and checks that it says the same.
    fn run_both(&self, twin: &str, variant: Variant) -> Result<(Outcome, Vec<Finding>), String> {
        let temporary = tempfile::tempdir().map_err(|error| error.to_string())?;
        let program = temporary.path().join(twin);
        build::compile(variant, &self.source(twin), &program, &[])?;
        let alone = run(Command::new(&program).current_dir(temporary.path()))?;
        if alone.end != End::Exit(0) {
            return Err(format!("{twin} fails without the monitor: {alone}"));
        }
        let log = temporary.path().join("log");
        let mut command = build::avmon();
        command.arg("run").arg("--log").arg(log).arg("--").arg(&program).current_dir(temporary.path());
        let monitored = run(&mut command)?;
        if monitored.stdout != alone.stdout {
            return Err(format!("stdout differs\n=== alone: {alone}\n=== monitored: {monitored}"));
        }
        Ok((monitored, findings::read(temporary.path())?))
    }

    fn is_found(&self, variant: Variant) -> Result<(), String> {
        let (monitored, found) = self.run_both("buggy", variant)?;
        let failed = |what: &str| Err(format!("{what}\n{monitored}\nfindings:\n{}", findings::show(&found)));
        if monitored.end != End::Exit(66) {
            return failed("it should end with 66");
        }
        let wanted = Expected {
            block: self.blamed.clone(),
            strength: "strong".to_owned(),
            kind: None,
            also: Vec::new(),
            culprit: None,
        };
        let Some(finding) = found.iter().find(|finding| finding.matches(&wanted)) else {
            return failed(&format!("{} is not blamed", self.blamed));
        };
        if let Some(other) = found.iter().find(|finding| finding.is_strong() && !finding.matches(&wanted)) {
            return failed(&format!("{other} is blamed too"));
        }
        findings::check_marks(finding, &self.source("buggy"))?;
        if monitored.stderr.contains(&self.blamed) { Ok(()) } else { failed("the report does not name the block") }
    }

    fn is_clean(&self, variant: Variant) -> Result<(), String> {
        let (monitored, found) = self.run_both("fixed", variant)?;
        if monitored.end == End::Exit(0) && found.is_empty() && monitored.stderr.is_empty() {
            return Ok(());
        }
        Err(format!("the fixed twin is not clean\n{monitored}\nfindings:\n{}", findings::show(&found)))
    }

    /// The examples are about atomicity: the race detector of gcc has nothing to say about them.
    fn is_race_free(&self, twin: &str) -> Result<(), String> {
        let temporary = tempfile::tempdir().map_err(|error| error.to_string())?;
        let program = temporary.path().join(twin);
        build::compile(Variant::Plain, &self.source(twin), &program, &["-fsanitize=thread"])?;
        // Older versions of that library cannot stand a random address space.
        let outcome = run(Command::new("setarch").arg("-R").arg(&program))?;
        if outcome.end == End::Exit(0) && outcome.stderr.is_empty() { Ok(()) } else { Err(outcome.to_string()) }
    }
}
