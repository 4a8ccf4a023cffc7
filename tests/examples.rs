//! Builds and runs every example: the buggy twin is found out, by the monitor or by the prediction over data, the fixed one is
//! clean, and neither behaves otherwise than without the monitor.

mod support;

use libtest_mimic::{Arguments, Trial};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::build::{self, Variant};
use support::directives::Expected;
use support::findings::{self, Finding};
use support::prediction::{Prediction, is_race_free};
use support::run::{End, Outcome, run};

fn main() {
    let arguments = Arguments::from_args();
    let examples = read_expected().unwrap_or_else(|error| panic!("{error}"));
    let mut trials = vec![Trial::test("every_example_is_listed", || Ok(every_example_is_listed()?))];
    for example in examples {
        for variant in [Variant::Instrumented, Variant::Clang] {
            let mut add = |what: &str, check: fn(&Example, Variant) -> Result<(), String>| {
                let name = format!("{}::{what}::{}", example.name, variant.name());
                let example = example.clone();
                trials.push(Trial::test(name, move || Ok(check(&example, variant)?)));
            };
            add("buggy", Example::is_found);
            add("fixed", |example, variant| example.is_clean("fixed", variant));
            add("buggy::predicted", Example::is_predicted);
            add("fixed::predicted", Example::is_predicted_clean);
        }
        for twin in ["buggy", "fixed"] {
            let source = example.source(twin);
            let name = format!("{}::{twin}::race_free", example.name);
            trials.push(Trial::test(name, move || Ok(is_race_free(&source)?)));
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
    /// By the monitor; `None` if it cannot see it.
    blamed: Option<String>,
    /// Over data; one of these, if there are any.
    blamed_over_data: Vec<String>,
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
    // Not programs with a buggy and a fixed twin; tests/scenario_language.rs and tests/views_table.rs look after them.
    let is_program =
        |path: &PathBuf| path.is_dir() && !["scenarios", "views"].iter().any(|other| path.ends_with(other));
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
        let name = words.next()?;
        let mut functions = || {
            let list = words.next()?;
            Some(list.split(',').filter(|function| *function != "-").map(str::to_owned).collect::<Vec<_>>())
        };
        let (blamed, blamed_over_data) = (functions()?.pop(), functions()?);
        Some(Example { name, blamed, blamed_over_data, file: words.next()? })
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
        let Some(blamed) = &self.blamed else { return self.is_clean("buggy", variant) };
        let (monitored, found) = self.run_both("buggy", variant)?;
        let failed = |what: &str| Err(format!("{what}\n{monitored}\nfindings:\n{}", findings::show(&found)));
        if monitored.end != End::Exit(66) {
            return failed("it should end with 66");
        }
        let wanted = Expected {
            block: blamed.clone(),
            strength: "strong".to_owned(),
            kind: None,
            also: Vec::new(),
            culprit: None,
        };
        let Some(finding) = found.iter().find(|finding| finding.matches(&wanted)) else {
            return failed(&format!("{blamed} is not blamed"));
        };
        if let Some(other) = found.iter().find(|finding| finding.is_strong() && !finding.matches(&wanted)) {
            return failed(&format!("{other} is blamed too"));
        }
        findings::check_marks(finding, &self.source("buggy"))?;
        if monitored.stderr.contains(blamed) { Ok(()) } else { failed("the report does not name the block") }
    }

    fn is_clean(&self, twin: &str, variant: Variant) -> Result<(), String> {
        let (monitored, found) = self.run_both(twin, variant)?;
        if monitored.end == End::Exit(0) && found.is_empty() && monitored.stderr.is_empty() {
            return Ok(());
        }
        Err(format!("the {twin} twin is not clean\n{monitored}\nfindings:\n{}", findings::show(&found)))
    }

    fn is_predicted(&self, variant: Variant) -> Result<(), String> {
        let source = self.source("buggy");
        let prediction = Prediction::of(&source, variant, &[])?;
        let failed = |what: &str| Err(format!("{what}\n{prediction}"));
        let is_expected = |finding: &&Finding| self.blamed_over_data.iter().any(|function| function == finding.block());
        if let Some(other) = prediction.conflicting().find(|finding| !is_expected(finding)) {
            return failed(&format!("{other} is blamed"));
        }
        if self.blamed_over_data.is_empty() {
            return Ok(());
        }
        if prediction.outcome.end != End::Exit(66) {
            return failed("it should end with 66");
        }
        if prediction.conflicting().next().is_none() {
            return failed(&format!("none of {:?} is blamed", self.blamed_over_data));
        }
        // Where the monitor finds it too, the culprit's marks are at its acquires.
        let marks = if self.blamed.is_some() { &["first", "second"][..] } else { &["first", "second", "culprit"] };
        prediction.conflicting().try_for_each(|finding| findings::check_marks_of(marks, finding, &source))
    }

    fn is_predicted_clean(&self, variant: Variant) -> Result<(), String> {
        let prediction = Prediction::of(&self.source("fixed"), variant, &[])?;
        let is_clean = prediction.outcome.end == End::Exit(0) && !prediction.findings.iter().any(Finding::is_strong);
        if is_clean { Ok(()) } else { Err(format!("the fixed twin is not clean\n{prediction}")) }
    }
}
