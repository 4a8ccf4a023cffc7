//! `avmon replay`: drives a program through a schedule.

mod ctrl_c;
mod debugger;

use super::confirm::state::State;
use super::exit::{ExitCode, Failure};
use super::figures::counted;
use super::predict::effort::Deadline;
use super::stage::{PATIENCE, Stage, SteeringFlags, limit_after};
use super::tell;
use crate::event::ThreadId;
use crate::replay::journal::{Entry, Figures};
use crate::replay::looks::{Baseline, Looks};
use crate::replay::run::Ended;
use crate::replay::schedule::{Place, Role, Schedule};
use crate::replay::verdict::{self, Judgement, Verdict};
use crate::report::image;
use clap::Args;
use serde_json::json;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  avmon replay avmon.confirm/1.schedule -- ./app           as the report of 'avmon confirm' says
  avmon replay --times 10 avmon.confirm/1.schedule -- ./app
  avmon replay --baseline 3 1.schedule -- ./app            compare it with ordinary runs of now
  avmon replay --gdb avmon.confirm/1.schedule -- ./app     stop in the debugger at the violating access
  avmon replay --pin time,random 1.schedule -- ./app       for a program that depends on them
  avmon replay --json 1.schedule -- ./app | jq .verdict

The program reads nothing from stdin. The exit code is 66 if the violating order was reached, or the program failed on the way.";

/// Drive a program through a schedule, so that a violation happens again
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, override_usage = "avmon replay [OPTIONS] SCHEDULE [--] PROGRAM [ARGUMENT]...")]
pub struct Replay {
    /// How often
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    times: u32,

    /// Ordinary runs first, to tell what a failure is [default: those of the hunt that made the schedule]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    baseline: Option<u32>,

    /// Kill the program after so many seconds [default: as 'avmon confirm' would, if ordinary runs are known; else 60]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,

    #[command(flatten)]
    steering: SteeringFlags,

    /// Start the debugger, and stop at the second access when the violating order is reached
    #[arg(long, conflicts_with_all = ["times", "json", "baseline", "timeout", "step_timeout"])]
    gdb: bool,

    /// Print a line of JSON for each run instead of the verdict and the program's output
    #[arg(long)]
    json: bool,

    /// What 'avmon confirm' wrote
    #[arg(value_name = "SCHEDULE")]
    schedule: PathBuf,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// So long a run may take if nobody knows how long an ordinary one does.
const NOTHING_KNOWN: Duration = Duration::from_secs(60);

impl Replay {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let schedule = read(&self.schedule)?;
        let mut stage = Stage::new(&self.program)?;
        check_build(&schedule, &stage.launch().path)?;
        if self.gdb {
            return debugger::start(&stage, &schedule, &self.steering);
        }
        let baseline = self.baseline(&mut stage)?;
        for remark in baseline.remarks() {
            tell("warning", &remark);
        }
        if !self.json {
            stage.show_output();
        }
        let mut judged = Vec::new();
        for run in 1..=self.times {
            let (ended, journal) = stage.steer(&schedule, &self.steering)?;
            let judgement = verdict::judge(&schedule, &journal, &Looks::from(&ended), &baseline);
            if self.json {
                super::print(line(run, &schedule, &judgement, &ended, &journal).as_bytes())?;
            } else {
                say(&text(&schedule, &judgement, &journal, &baseline));
            }
            judged.push(judgement);
        }
        let count = |wanted: fn(Verdict) -> bool| judged.iter().filter(|it| wanted(it.verdict)).count();
        let (reached, failed) = (count(Verdict::is_reached), count(Verdict::is_failure));
        if self.times > 1 && !self.json {
            let failed = if baseline.is_empty() { String::new() } else { format!(", {failed} failed") };
            say(&format!("avmon: {}: {reached} reached the violating order{failed}\n", counted(self.times, "run")));
        }
        Ok(if reached + failed > 0 { ExitCode::Findings } else { ExitCode::NotReached })
    }

    /// How the program runs by itself, as far as somebody looked.
    fn baseline(&self, stage: &mut Stage) -> Result<Baseline, Failure> {
        let told = self.timeout.map(Duration::from_secs);
        let ordinary = |stage: &Stage, runs| stage.baseline(runs, false, &self.steering.pin, &Deadline::after(None));
        if let Some(runs) = self.baseline {
            stage.limit(told.unwrap_or(PATIENCE));
            let (baseline, longest) = ordinary(stage, runs)?;
            stage.limit(told.unwrap_or(limit_after(longest)));
            return Ok(baseline);
        }
        // A schedule may lie anywhere. The runs of another command line, or with other things pinned, tell nothing of this one's.
        let hunt = self.schedule.parent().and_then(|directory| State::read(directory).ok());
        let hunt = hunt.filter(|hunt| hunt.program == stage.launch().line() && hunt.pin == self.steering.pin);
        let Some((hunt, (mut baseline, longest_ms))) =
            hunt.and_then(|mut hunt| hunt.baseline.take().map(|it| (hunt, it)))
        else {
            stage.limit(told.unwrap_or(NOTHING_KNOWN));
            return Ok(Baseline::default());
        };
        stage.limit(told.unwrap_or(limit_after(Duration::from_millis(longest_ms))));
        let number = self.schedule.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        let tried = number.and_then(|number| hunt.of_file(number));
        baseline.controls.extend(tried.iter().flat_map(|it| it.controls.iter().cloned()));
        // What an ordinary run does may not be what it did then.
        baseline.runs.extend(ordinary(stage, 1)?.0.runs);
        Ok(baseline)
    }
}

/// Reads a schedule.
pub fn read(path: &Path) -> Result<Schedule, Failure> {
    let bytes = fs::read(path).map_err(|error| {
        Failure::internal(format!("cannot read {}: {error}; 'avmon confirm' makes schedules", path.display()))
    })?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::internal(format!("{} is not a schedule; 'avmon confirm' makes schedules", path.display()))
    })?;
    text.parse().map_err(|error| Failure::internal(format!("{}: {error}", path.display())))
}

/// Other code has other places. What a script starts is for the library to look at.
pub fn check_build(schedule: &Schedule, program: &Path) -> Result<(), Failure> {
    let expected = &schedule.program;
    let is_it = program.file_name().is_some_and(|name| name.to_string_lossy() == expected.name.as_str());
    let has_changed = || image::build_id(program).unwrap_or_default() != expected.build_id;
    if is_it && !expected.build_id.is_empty() && has_changed() {
        return Err(Failure::internal(format!(
            "the program was rebuilt since {} was recorded: make the schedule anew with 'avmon confirm'",
            expected.name
        )));
    }
    Ok(())
}

/// The steps of the violation, a line for each.
fn steps(schedule: &Schedule) -> String {
    let mut text = String::new();
    for (role, thread, place) in schedule.roles() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {:<12}{}", role.word(), verdict::step(thread, place));
    }
    text
}

fn text(schedule: &Schedule, judgement: &Judgement, journal: &[Entry], baseline: &Baseline) -> String {
    let Judgement { verdict, detail, .. } = judgement;
    let meaning = match verdict {
        Verdict::Confirmed if baseline.is_empty() => {
            "the steps ran in the violating order; to know whether that is a failure, give --baseline"
        }
        _ => verdict.meaning(),
    };
    let mut text = format!("avmon: {}: {meaning}\n", verdict.name());
    if !detail.is_empty() {
        let _ = writeln!(text, "  {detail}");
    }
    if !verdict.is_reached() {
        text += "  the violation would be\n";
    }
    text += &steps(schedule);
    if let Some(Figures { extra, missing, skipped_turns, .. }) = figures(journal).filter(differs) {
        let _ = writeln!(
            text,
            "  on the way: {} more than in the schedule, {missing} missing, {skipped_turns} turns given up",
            counted(extra, "step")
        );
    }
    text
}

fn differs(figures: &Figures) -> bool {
    figures.extra + figures.missing + figures.skipped_turns > 0
}

fn figures(journal: &[Entry]) -> Option<Figures> {
    journal.iter().find_map(|entry| match entry {
        Entry::Free { figures, .. } => Some(*figures),
        _ => None,
    })
}

fn line(run: u32, schedule: &Schedule, judgement: &Judgement, ended: &Ended, journal: &[Entry]) -> String {
    let step = |(role, thread, place): (Role, ThreadId, &Place)| json!({ "role": role.word(), "thread": thread, "act": place.act.word(), "place": place.name });
    let line = json!({
        "type": "replay",
        "run": run,
        "verdict": judgement.verdict.name(),
        "reached": judgement.verdict.is_reached(),
        "detail": judgement.detail,
        "exit": ended.exit,
        "duration_ms": ended.duration.as_millis() as u64,
        "steps": schedule.roles().into_iter().map(step).collect::<Vec<_>>(),
        "followed": figures(journal),
    });
    format!("{line}\n")
}

/// Beside the output of the program.
fn say(text: &str) {
    // The exit code tells it too.
    let _ = io::stderr().write_all(text.as_bytes());
}
