//! Records programs and predicts from the recordings; sees that a race detector has nothing to say about them.

use super::build::{self, Variant};
use super::findings::{self, Finding};
use super::recording::{avmon, reads};
use super::run::{End, Outcome, run};
use std::path::Path;
use std::process::Command;

/// What `avmon predict` made of one recorded run.
pub struct Prediction {
    pub outcome: Outcome,
    pub findings: Vec<Finding>,
}

impl Prediction {
    /// Compiles a program, records one run of it and predicts. `record_options` are for `avmon record`.
    pub fn of(source: &Path, variant: Variant, record_options: &[&str]) -> Result<Prediction, String> {
        Prediction::with(source, variant, record_options, &[])
    }

    /// The same with options for `avmon predict` too.
    pub fn with(
        source: &Path,
        variant: Variant,
        record_options: &[&str],
        predict_options: &[&str],
    ) -> Result<Prediction, String> {
        let home = tempfile::tempdir().map_err(|error| error.to_string())?;
        let [program, trace] = ["program", "trace"].map(|name| home.path().join(name));
        build::compile(variant, source, &program, &[])?;
        // What the monitor finds on the way does not matter here.
        let mut record = avmon(&["record", "--exitcode", "0", "--report=0", "--summary=0", "-o"]);
        record.arg(&trace).args(record_options).arg("--").arg(&program).current_dir(home.path());
        let recorded = run(&mut record)?;
        if recorded.end != End::Exit(0) {
            return Err(format!("recording: {recorded}"));
        }
        // Apart from the log that the monitor may have left in the other one.
        let logs = tempfile::tempdir().map_err(|error| error.to_string())?;
        let [log, trace] = [logs.path().join("log"), trace].map(|path| path.display().to_string());
        let arguments = [&["predict", "-o", &log][..], predict_options, &[&trace]].concat();
        let outcome = reads(&arguments, &[0, 66])?;
        Ok(Prediction { outcome, findings: findings::read(logs.path())? })
    }

    /// The strong findings for which the accesses to data conflict.
    pub fn conflicting(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.is_strong() && finding.rung() == "conflicting")
    }
}

impl std::fmt::Display for Prediction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\nfindings:\n{}", self.outcome, findings::show(&self.findings))
    }
}

/// Runs are not all alike.
const RUNS: usize = 5;

/// The programs are about atomicity: the race detector of gcc must have nothing to say about them.
pub fn is_race_free(source: &Path) -> Result<(), String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let program = home.path().join("program");
    build::compile(Variant::Plain, source, &program, &["-fsanitize=thread"])?;
    for _ in 0..RUNS {
        // Older versions of that library cannot stand a random address space.
        let outcome = run(Command::new("setarch").arg("-R").arg(&program))?;
        if outcome.end != End::Exit(0) || !outcome.stderr.is_empty() {
            return Err(outcome.to_string());
        }
    }
    Ok(())
}
