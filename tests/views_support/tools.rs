//! The columns of the table: what a tool reports about a program.

use super::known::Program;
use super::score::Score;
use crate::support::build::Variant;
use crate::support::findings::{self, Finding};
use crate::support::prediction::Prediction;
use crate::support::recording::reads;
use std::time::{Duration, Instant};

/// A way to look for violations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tool {
    /// `avmon lint`: the source alone.
    Lint,
    /// Recorded runs of a program built by gcc: nothing is known of the way of values.
    Dynamic,
    /// The same runs, and what is only assumed counts too.
    Assumed,
    /// Recorded runs of a program built by clang, so that its code is known.
    WithCode,
    /// The source, and the recorded runs with the code.
    Both,
}

/// What all tools made of one program.
#[derive(Clone, Debug)]
pub struct Scores {
    pub lint: Score,
    pub dynamic: Score,
    pub assumed: Score,
    pub with_code: Score,
    pub both: Score,
    pub lint_time: Duration,
}

impl Scores {
    pub fn of(program: &Program) -> Result<Scores, String> {
        let begin = Instant::now();
        let linted = lint(program)?;
        let lint_time = begin.elapsed();
        let blind = predict(program, Variant::Instrumented)?;
        let seeing = predict(program, Variant::Clang)?;
        let score = |findings: &[Finding], strengths: &[&str]| {
            let counts = |finding: &&Finding| strengths.contains(&finding.strength()) && is_of_views(finding);
            Score::of(program, findings.iter().filter(counts))
        };
        let [lint, dynamic, with_code] = [&linted, &blind, &seeing].map(|findings| score(findings, &["strong"]));
        let assumed = score(&blind, &["strong", "assumed"]);
        let both = lint.together(&with_code);
        Ok(Scores { lint, dynamic, assumed, with_code, both, lint_time })
    }

    pub fn by(&self, tool: Tool) -> &Score {
        match tool {
            Tool::Lint => &self.lint,
            Tool::Dynamic => &self.dynamic,
            Tool::Assumed => &self.assumed,
            Tool::WithCode => &self.with_code,
            Tool::Both => &self.both,
        }
    }
}

impl Tool {
    pub const ALL: [Tool; 5] = [Tool::Lint, Tool::Dynamic, Tool::Assumed, Tool::WithCode, Tool::Both];

    pub fn name(self) -> &'static str {
        match self {
            Tool::Lint => "lint",
            Tool::Dynamic => "dynamic",
            Tool::Assumed => "with assumed",
            Tool::WithCode => "with code",
            Tool::Both => "both",
        }
    }
}

/// What the other analyses of a trace find is no part of the comparison.
fn is_of_views(finding: &Finding) -> bool {
    matches!(finding.pattern(), "view" | "stale_value")
}

fn lint(program: &Program) -> Result<Vec<Finding>, String> {
    let logs = tempfile::tempdir().map_err(|error| error.to_string())?;
    let [log, source] = [&logs.path().join("log"), &program.source].map(|path| path.display().to_string());
    reads(&["lint", "-o", &log, &source], &[0, 66])?;
    findings::read(logs.path())
}

/// Runs of a program that are recorded: a thread that comes late in one of them may do nothing of what it does in another.
const RECORDINGS: usize = 2;

/// What all recorded runs show. With their values, a read of one write can stand for that of another one that left the same.
fn predict(program: &Program, variant: Variant) -> Result<Vec<Finding>, String> {
    let mut found = Vec::new();
    for _ in 0..RECORDINGS {
        let analyses = ["--analyses", "views,stale_values"];
        found.extend(Prediction::with(&program.source, variant, &["--values"], &analyses)?.findings);
    }
    Ok(found)
}
