//! `avmon chaos`: lets threads take turns by chance until the program fails.

use super::exit::{ExitCode, Failure};
use super::figures::counted;
use super::predict::effort::Deadline;
use super::progress::Progress;
use super::stage::{Chance, PATIENCE, Stage, limit_after};
use super::tell;
use crate::options::Options;
use crate::replay::looks::{self, Looks};
use crate::replay::verdict;
use clap::Args;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  avmon chaos -- ./test
  avmon chaos --runs 1000 -- ./test
  avmon chaos --seed 17 --runs 1 -- ./test     once more, by the priorities of seed 17
  avmon chaos --changes 5 --length 200 -- ./test

'avmon confirm' knows where to look; this does not. The exit code is 66 if the program failed as it never does otherwise.";

/// Run a program with its threads in random orders until it fails
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, override_usage = "avmon chaos [OPTIONS] [--] PROGRAM [ARGUMENT]...")]
pub struct Chaos {
    /// The first seed; each run takes the next one
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    seed: u32,

    /// Runs at most
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,

    /// How often the turn is taken from the thread that should have it
    #[arg(long, value_name = "COUNT", default_value_t = Options::default().chaos_changes)]
    changes: u32,

    /// In how many steps these changes happen
    #[arg(long, value_name = "STEPS", default_value_t = Options::default().chaos_length, value_parser = clap::value_parser!(u32).range(1..))]
    length: u32,

    /// Ordinary runs, to know how the program ends when nobody steers it
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    baseline: u32,

    /// What the program writes is no matter of its success
    #[arg(long)]
    ignore_output: bool,

    /// Kill a run after so many seconds [default: 5, and 30 times as long as the longest ordinary run]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

impl Chaos {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let mut stage = Stage::new(&self.program)?;
        let told = self.timeout.map(Duration::from_secs);
        stage.limit(told.unwrap_or(PATIENCE));
        let ordinary = |stage: &Stage| stage.baseline(self.baseline, self.ignore_output, &[], &Deadline::after(None));
        let (mut baseline, longest) = ordinary(&stage)?;
        stage.limit(told.unwrap_or(limit_after(longest)));
        for remark in baseline.remarks() {
            tell("warning", &remark);
        }
        let mut progress = Progress::new();
        for run in 0..self.runs {
            let seed = self.seed.saturating_add(run);
            let (ended, journal) = stage.chance(Chance { seed, changes: self.changes, length: self.length })?;
            let looks = Looks::from(&ended);
            if baseline.failure_of(&looks).is_some() {
                // The program may do so by itself by now.
                baseline.runs.extend(ordinary(&stage)?.0.runs);
            }
            if let Some(failure) = baseline.failure_of(&looks) {
                drop(progress);
                let deadlock = verdict::told_deadlock(&journal).filter(|_| failure == looks::Failure::Timeout);
                let advice = match failure {
                    looks::Failure::Output(_) => {
                        "Only the output tells; if that may depend on the order of the threads, say --ignore-output\n"
                    }
                    _ => "",
                };
                let failure = deadlock.unwrap_or_else(|| failure.to_string());
                let runs = counted(run + 1, "run");
                let again = self.again(seed, &stage.launch().line());
                super::print(
                    format!(
                        "avmon: failed with seed {seed}, after {runs}: {failure}\n{advice}To run it again: {again}\n"
                    )
                    .as_bytes(),
                )?;
                return Ok(ExitCode::Findings);
            }
            progress.part(run as usize + 1, self.runs as usize, "run");
        }
        drop(progress);
        super::print(format!("avmon: no failure in {}\n", counted(self.runs, "run")).as_bytes())
    }

    /// The command that does the same run.
    fn again(&self, seed: u32, line: &str) -> String {
        let defaults = Options::default();
        let mut flags = format!("--seed {seed} --runs 1");
        for (flag, value, usual) in
            [("changes", self.changes, defaults.chaos_changes), ("length", self.length, defaults.chaos_length)]
        {
            if value != usual {
                // Writing to a string cannot fail.
                let _ = write!(flags, " --{flag} {value}");
            }
        }
        format!("avmon chaos {flags} -- {line}")
    }
}
