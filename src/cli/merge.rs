//! `avmon merge`: the parts of a hunt as one.

use super::confirm::{self, state};
use super::exit::{ExitCode, Failure};
use super::{style, tell};
use crate::report::finding::{Finding, Rung, Strength, Trial};
use crate::report::json;
use crate::report::text::{self, Look};
use clap::Args;
use rustc_hash::FxHashMap;
use state::{State, Totals};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  avmon merge part1 part2 part3 part4
  avmon merge --show-weak part*

The parts are directories of 'avmon confirm --shard NUMBER/COUNT'. The exit code is 66 if a strong finding was confirmed in one of them.";

/// Join what several shards of 'avmon confirm' found
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Merge {
    /// Also print weak findings
    #[arg(long)]
    show_weak: bool,

    /// Leave out this beginning of source paths
    #[arg(long, value_name = "PREFIX", default_value = "", hide_default_value = true)]
    strip_path_prefix: String,

    /// Directories that 'avmon confirm' wrote
    #[arg(required = true, value_name = "DIR")]
    parts: Vec<PathBuf>,
}

/// A finding, and the process that it is of.
struct Listed {
    finding: Finding,
    pid: u32,
}

impl Merge {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let mut totals = Totals::default();
        let mut listed: Vec<Listed> = Vec::new();
        let mut places = FxHashMap::default();
        let mut seen = Vec::new();
        for part in &self.parts {
            let state = State::read(part)?;
            totals.add(&state.totals());
            seen.push(state.shard);
            for log in confirm::logs(part) {
                let log = json::read_log(&log).map_err(|error| Failure::internal(error.to_string()))?;
                for run in log.runs {
                    let pid = run.start.as_ref().map_or(0, |start| start.pid);
                    for mut finding in run.findings {
                        move_to(part, &mut finding);
                        let place = *places.entry(finding.spot()).or_insert(listed.len());
                        match listed.get_mut(place) {
                            Some(known) if proof(&known.finding) <= proof(&finding) => {}
                            Some(known) => known.finding = finding,
                            None => listed.push(Listed { finding, pid }),
                        }
                    }
                }
            }
        }
        warn_of_missing(&seen);
        listed.sort_by_key(|it| (Reverse(it.finding.rung), it.finding.strength));
        let look = Look { color: style::is_wanted(), strip_path_prefix: self.strip_path_prefix.clone() };
        let mut output = String::new();
        for (id, it) in (1..).zip(&mut listed) {
            (it.finding.id, it.finding.same_as) = (id, None);
            if self.show_weak || it.finding.strength == Strength::Strong {
                output += &text::report(&it.finding, it.pid, &look);
            }
        }
        super::print((output + &totals.text()).as_bytes())?;
        let is_proven = |it: &Listed| it.finding.strength == Strength::Strong && it.finding.rung >= Rung::Confirmed;
        Ok(if listed.iter().any(is_proven) { ExitCode::Findings } else { ExitCode::Success })
    }
}

/// The parts may have been collected from elsewhere, with their schedules.
fn move_to(part: &Path, finding: &mut Finding) {
    if let Some(Trial { schedule, .. }) = &mut finding.trial
        && let Some(name) = Path::new(schedule.as_str()).file_name()
    {
        *schedule = part.join(name).display().to_string();
    }
}

/// What proves more is less.
fn proof(finding: &Finding) -> (Reverse<Rung>, usize) {
    (Reverse(finding.rung), finding.trial.as_ref().map_or(usize::MAX, |trial| trial.verdict as usize))
}

/// A part that is not there is easily forgotten.
fn warn_of_missing(seen: &[Option<state::Shard>]) {
    let of = seen.iter().flatten().map(|shard| shard.of).max().unwrap_or(0);
    let missing: Vec<String> = (1..=of)
        .filter(|number| !seen.iter().flatten().any(|shard| shard.number == *number && shard.of == of))
        .map(|number| format!("{number}/{of}"))
        .collect();
    if !missing.is_empty() {
        tell("warning", &format!("of the shards, {} are missing", missing.join(", ")));
    }
}
