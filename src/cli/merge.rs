//! `avmon merge`: the parts of a hunt as one.

use super::confirm::{self, state};
use super::exit::{ExitCode, Failure};
use super::{replay, style, tell};
use crate::replay::schedule::Module;
use crate::report::finding::{Finding, Rung, Strength, Trial};
use crate::report::json::{self, Record, Run, Start, Summary};
use crate::report::text::{self, Look};
use clap::Args;
use rustc_hash::FxHashMap;
use state::{Shard, State, Totals};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  avmon merge part1 part2 part3 part4
  avmon merge --show-weak part*
  avmon merge --json part* > all.jsonl       a log, which 'avmon report' reads

The parts are directories of 'avmon confirm --shard NUMBER/COUNT'. The exit code is 66 if a strong finding was confirmed in one of them.";

/// Join what several shards of 'avmon confirm' found
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Merge {
    /// Also print weak findings
    #[arg(long)]
    show_weak: bool,

    /// Print one log of all parts instead of the report
    #[arg(long)]
    json: bool,

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
    process: usize,
}

/// What all parts found.
#[derive(Default)]
struct All {
    processes: Vec<Start>,
    /// Of each process: all parts have the same recording, and differ in their findings only.
    summaries: Vec<Summary>,
    listed: Vec<Listed>,
    /// Where the finding of a spot is listed.
    places: FxHashMap<String, usize>,
}

impl All {
    fn add(&mut self, part: &Path, run: Run) {
        let start = run.start.unwrap_or_default();
        let known = self.processes.iter().position(|known| (known.pid, known.time_ms) == (start.pid, start.time_ms));
        let process = known.unwrap_or_else(|| {
            self.processes.push(start);
            self.summaries.push(run.summary.unwrap_or_default());
            self.processes.len() - 1
        });
        for mut finding in run.findings {
            move_to(part, &mut finding);
            let place = *self.places.entry(finding.spot()).or_insert(self.listed.len());
            match self.listed.get_mut(place) {
                Some(known) if proof(&known.finding) <= proof(&finding) => {}
                Some(known) => known.finding = finding,
                None => self.listed.push(Listed { finding, process }),
            }
        }
    }

    /// What is proven first.
    fn sort(&mut self) {
        self.listed.sort_by_key(|it| (Reverse(it.finding.rung), it.finding.strength));
        for (id, it) in (1..).zip(&mut self.listed) {
            (it.finding.id, it.finding.same_as) = (id, None);
        }
    }

    /// What a process ends with: a finding may be proven, and so strong, in one part only.
    fn summary(&self, process: usize) -> Summary {
        self.summaries[process].having(|strength| {
            self.listed.iter().filter(|it| it.process == process && it.finding.strength == strength).count() as u64
        })
    }

    /// As a log, which `avmon report` reads.
    fn log(&self) -> String {
        let mut log = String::new();
        for (process, start) in self.processes.iter().enumerate() {
            log += &Record::Start(start.clone()).to_line();
            for it in self.listed.iter().filter(|it| it.process == process) {
                log += &Record::Finding(Box::new(it.finding.clone())).to_line();
            }
            log += &Record::Summary(self.summary(process)).to_line();
        }
        log
    }
}

impl Merge {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let mut totals = Totals::default();
        let mut all = All::default();
        let mut seen: Vec<Part> = Vec::new();
        for part in &self.parts {
            let new = Part::read(part)?;
            for known in &seen {
                known.check_joins(&new)?;
            }
            totals.add(&new.state.totals());
            seen.push(new);
            for log in confirm::logs(part) {
                let log = json::read_log(&log).map_err(|error| Failure::internal(error.to_string()))?;
                for run in log.runs {
                    all.add(part, run);
                }
            }
        }
        warn_of_missing(&seen);
        all.sort();
        if self.json {
            super::print(all.log().as_bytes())?;
        } else {
            let look = Look { color: style::is_wanted(), strip_path_prefix: self.strip_path_prefix.clone() };
            let is_shown = |it: &&Listed| self.show_weak || it.finding.strength == Strength::Strong;
            let reports = all.listed.iter().filter(is_shown);
            let reports = reports.map(|it| text::report(&it.finding, all.processes[it.process].pid, &look));
            super::print((reports.collect::<String>() + &totals.text()).as_bytes())?;
        }
        let is_proven = all.listed.iter().any(|it| it.finding.is_proven());
        Ok(if is_proven { ExitCode::Findings } else { ExitCode::Success })
    }
}

/// What one shard did.
struct Part<'a> {
    directory: &'a Path,
    state: State,
    /// What its schedules are for, if it made any.
    steered: Option<Module>,
}

impl Part<'_> {
    fn read(directory: &Path) -> Result<Part<'_>, Failure> {
        let state = State::read(directory)?;
        let schedules = state.tried.values().map(|tried| directory.join(format!("{}.schedule", tried.number)));
        let steered = schedules.filter_map(|path| replay::read(&path).ok()).map(|schedule| schedule.program).next();
        Ok(Part { directory, state, steered })
    }

    /// Counts of parts that overlap, or that are about different things, have no sum.
    fn check_joins(&self, other: &Part) -> Result<(), Failure> {
        let refuse = |why: &str| {
            let [one, two] = [self, other].map(|part| part.directory.display());
            Err(Failure::internal(format!("{one} and {two} cannot be merged: {why}")))
        };
        // A directory that is gone meanwhile is told of when it is read.
        let is_same = self.directory.canonicalize().ok() == other.directory.canonicalize().ok();
        let (mine, its) = (&self.state, &other.state);
        if is_same {
            return refuse("they are the same directory; name each part once");
        }
        if mine.program != its.program {
            return refuse(&format!(
                "one is of '{}', the other of '{}'; merge each by itself",
                mine.program, its.program
            ));
        }
        if let (Some(steered), Some(its_own)) = (&self.steered, &other.steered)
            && steered != its_own
        {
            return refuse(
                "they are of different programs or builds; run 'avmon confirm' for all parts with the same one",
            );
        }
        if let (Some(recording), Some(its_own)) = (&mine.recording, &its.recording)
            && recording != its_own
        {
            return refuse(
                "each has a recording of its own, so they number other findings; let all parts use one, with '--trace'",
            );
        }
        let both = mine.tried.values().find_map(|tried| Some((tried, its.of_file(tried.number)?)));
        match both {
            Some((tried, again)) if tried.digest == again.digest => refuse(&format!(
                "both tried schedule {}, which would count twice; give every part a '--shard' of its own",
                tried.number
            )),
            Some((tried, _)) => refuse(&format!(
                "schedule {} is not the same in both; let all parts use one recording, with '--trace'",
                tried.number
            )),
            None => Ok(()),
        }
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
fn warn_of_missing(seen: &[Part]) {
    let shards: Vec<Shard> = seen.iter().filter_map(|part| part.state.shard).collect();
    let of = shards.iter().map(|shard| shard.of).max().unwrap_or(0);
    let missing: Vec<String> = (1..=of)
        .filter(|number| !shards.iter().any(|shard| shard.number == *number && shard.of == of))
        .map(|number| format!("{number}/{of}"))
        .collect();
    if !missing.is_empty() {
        tell("warning", &format!("of the shards, {} are missing", missing.join(", ")));
    }
}
