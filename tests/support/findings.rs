//! Reads violation logs, and compares findings with the marks in a program's source.

use super::directives::Expected;
use serde_json::Value;
use std::path::Path;

/// A function of the program and a line in it.
#[derive(Clone, Debug)]
pub struct Place {
    pub function: String,
    pub line: u64,
}

/// One finding of a log.
#[derive(Clone, Debug)]
pub struct Finding(Value);

impl Finding {
    fn text(&self, pointer: &str) -> &str {
        self.0.pointer(pointer).and_then(Value::as_str).unwrap_or("")
    }

    pub fn strength(&self) -> &str {
        self.text("/strength")
    }

    pub fn kind(&self) -> &str {
        self.text("/kind")
    }

    pub fn rung(&self) -> &str {
        self.text("/rung")
    }

    /// The addresses of the variables that a finding over data is about.
    pub fn variables(&self) -> Vec<&str> {
        let variables = self.0.pointer("/variables").and_then(Value::as_array).into_iter().flatten();
        variables.filter_map(|variable| variable["address"].as_str()).collect()
    }

    /// The names of these variables, as far as they have one.
    pub fn variable_names(&self) -> Vec<&str> {
        let variables = self.0.pointer("/variables").and_then(Value::as_array).into_iter().flatten();
        variables.filter_map(|variable| variable["name"].as_str()).collect()
    }

    /// How the accesses conflict; empty if it speaks of locks.
    pub fn pattern(&self) -> &str {
        self.text("/pattern")
    }

    /// The function or label of the block, without parameters.
    pub fn block(&self) -> &str {
        without_parameters(self.text("/block/name"))
    }

    /// The function in which the culprit acquires, without parameters.
    pub fn culprit(&self) -> &str {
        without_parameters(self.text("/culprit/location/function"))
    }

    pub fn is_strong(&self) -> bool {
        self.strength() == "strong"
    }

    pub fn matches(&self, expected: &Expected) -> bool {
        let kind_fits = expected.kind.as_ref().is_none_or(|kind| kind == self.kind());
        let callers_fit = expected.also.iter().all(|caller| self.also_split().any(|name| name == caller));
        let culprit_fits = expected.culprit.as_ref().is_none_or(|function| function == self.culprit());
        let block_fits = self.block() == expected.block && self.strength() == expected.strength;
        block_fits && kind_fits && callers_fit && culprit_fits
    }

    /// The callers that are split with the block, without parameters.
    fn also_split(&self) -> impl Iterator<Item = &str> {
        let names = self.0.pointer("/also_split").and_then(Value::as_array).into_iter().flatten();
        names.filter_map(|name| name.as_str()?.split('(').next())
    }

    /// The lines in `file` that the stack of `first`, `second` or `culprit` goes through.
    fn lines(&self, acquire: &str, file: &str) -> Vec<u64> {
        self.places(acquire, file).iter().map(|place| place.line).collect()
    }

    /// The same with their functions, innermost first.
    pub fn places(&self, operation: &str, file: &str) -> Vec<Place> {
        let frames = self.0.pointer(&format!("/{operation}/stack")).and_then(Value::as_array);
        let in_file = |frame: &&Value| frame["file"].as_str().is_some_and(|path| path.ends_with(file));
        let place = |frame: &Value| {
            let function = without_parameters(frame["function"].as_str().unwrap_or("")).to_owned();
            Some(Place { function, line: frame["line"].as_u64()? })
        };
        frames.into_iter().flatten().filter(in_file).filter_map(place).collect()
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}: {}", self.block(), self.strength(), self.kind(), self.text("/sentence"))
    }
}

fn without_parameters(name: &str) -> &str {
    name.split('(').next().unwrap_or(name)
}

/// All findings in the logs `log.PID` of a directory. Every line of every log must be JSON.
pub fn read(directory: &Path) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.file_stem().is_none_or(|stem| stem != "log") {
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        for line in text.lines() {
            let record: Value = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}: {line}"))?;
            if record["type"] == "finding" {
                findings.push(Finding(record));
            }
        }
    }
    Ok(findings)
}

/// Lists findings, one per line.
pub fn show(findings: &[Finding]) -> String {
    findings.iter().map(|finding| format!("  {finding}")).collect::<Vec<_>>().join("\n")
}

/// Checks that the acquires of `finding` are at the lines that the source marks with `/* first */`, `/* second */` and
/// `/* culprit */`. A source without marks makes no statement.
pub fn check_marks(finding: &Finding, source: &Path) -> Result<(), String> {
    check_marks_of(&["first", "second", "culprit"], finding, source)
}

/// The same for some of the three.
pub fn check_marks_of(three: &[&str], finding: &Finding, source: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(source).map_err(|error| error.to_string())?;
    let file = source.file_name().and_then(|name| name.to_str()).unwrap_or("");
    for acquire in three {
        let mark = format!("/* {acquire} */");
        let marked: Vec<u64> = (1..).zip(text.lines()).filter(|(_, l)| l.contains(&mark)).map(|(n, _)| n).collect();
        let seen = finding.lines(acquire, file);
        if !marked.is_empty() && !seen.iter().any(|line| marked.contains(line)) {
            return Err(format!("{acquire} of '{finding}' is at lines {seen:?} of {file}, not at one of {marked:?}"));
        }
    }
    Ok(())
}
