//! `avmon confirm`: from a run of a program to violations that really happen in it.

mod cases;
mod hunt;
pub mod state;

use super::exit::{ExitCode, Failure};
use super::launch::OptionFlags;
use super::own_directory::{Kind, cannot};
use super::predict::effort::Deadline;
use super::stage::{Stage, SteeringFlags};
use super::{recording, replay, tell};
use crate::options::Options;
use crate::replay::run;
use crate::replay::verdict::{Baseline, Looks, Verdict};
use crate::report::finding::{Finding, Rung, Strength, Trial};
use cases::{Case, Cases, Process};
use clap::Args;
use hunt::{Budget, Hunt};
use state::{Shard, State, Tried};
use std::cmp::Reverse;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  avmon confirm -- ./test
  avmon confirm -o /tmp/hunt -- ./run-tests.sh      schedules and results go to /tmp/hunt
  avmon confirm --time 600 --runs 200 -- ./test     no longer, and no more runs
  avmon confirm --resume -- ./test                  go on after an interruption
  avmon confirm --pin time,random -- ./test         for a program that depends on them
  avmon record --all -o run -- ./test; avmon confirm --trace run --shard 2/4 -o part2 -- ./test
  avmon merge part1 part2 part3 part4               all parts of such a hunt as one

The program reads nothing from stdin, and its test is what it does: exit code, signal, output.
The exit code is 66 if a strong finding was confirmed, or the program failed.";

/// Where the results go if nothing else is said.
const DIRECTORY: &str = "avmon.confirm";

const HUNT: Kind = Kind {
    mark: "avmon-hunt",
    text: "Schedules and results of 'avmon confirm'. A new hunt may replace them.\n",
    what: "a hunt",
};

/// The recording in that directory.
const TRACE: &str = "trace";

/// The ordinary runs may take so long.
const PATIENCE: Duration = Duration::from_secs(300);
/// A steered run may take so many times as long as an ordinary one, ...
const SLOWER: u32 = 30;
/// ... and so much more.
const AT_LEAST: Duration = Duration::from_secs(5);

/// Make violations really happen: record, predict, drive the program through each predicted order, and judge
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, override_usage = "avmon confirm [OPTIONS] [--] PROGRAM [ARGUMENT]...")]
pub struct Confirm {
    /// Directory of schedules and results
    #[arg(short = 'o', long = "output", value_name = "DIR", default_value = DIRECTORY)]
    output: PathBuf,

    /// Use this recording, made by 'avmon record --all', instead of a new one
    #[arg(long, value_name = "DIR")]
    trace: Option<PathBuf>,

    /// Go on with the hunt in the directory
    #[arg(long, conflicts_with = "trace")]
    resume: bool,

    /// Try only a part: the findings of one of COUNT shards
    #[arg(long, value_name = "NUMBER/COUNT")]
    shard: Option<Shard>,

    /// Begin no new steered run after so many seconds
    #[arg(long, value_name = "SECONDS")]
    time: Option<u64>,

    /// Make at most so many steered runs
    #[arg(long, value_name = "COUNT")]
    runs: Option<usize>,

    /// Runs at the same time, for a program of which several may run beside each other
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    jobs: u32,

    /// Ordinary runs, to know how the program ends when nobody steers it
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    baseline: u32,

    /// What the program writes is no matter of its success
    #[arg(long)]
    ignore_output: bool,

    /// Kill a run after so many seconds [default: 5, and 30 times as long as the longest ordinary run]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,

    #[command(flatten)]
    steering: SteeringFlags,

    /// Print the log instead of the report
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    flags: OptionFlags<true>,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

impl Confirm {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        // The time of the whole command, not of one of its parts.
        let deadline = Deadline::after(self.time.map(Duration::from_secs));
        let mut stage = Stage::new(&self.program)?;
        let state = self.state(&stage)?;
        self.hunt(deadline, &mut stage, state).map_err(|failure| self.told_how_to_go_on(failure, &stage))
    }

    fn hunt(&self, deadline: Deadline, stage: &mut Stage, mut state: State) -> Result<ExitCode, Failure> {
        let (baseline, limit) = self.baseline(stage, &mut state)?;
        stage.limit(limit);
        let Some(recording) = self.recording(stage, &mut state, &baseline)? else {
            return super::print(b"avmon: the program created no thread, so there is nothing to confirm\n");
        };
        let output =
            || if self.json { Box::new(io::sink()) as Box<dyn io::Write + Send> } else { Box::new(io::stdout()) };
        let settings: Vec<(&'static str, &str)> = self.flags.settings().collect();
        let Cases { mut processes, cases } =
            Cases::of(&recording, &self.output, &settings.iter().copied(), &deadline, output)?;

        if run::interruption().is_some() {
            return Err(Failure::new(ExitCode::Interrupted, "interrupted"));
        }
        // The recording may be older than the program: one that is given, or one of a hunt that goes on.
        for candidate in cases.iter().flat_map(|case| &case.candidates) {
            replay::check_build(&candidate.schedule, &stage.launch().path)?;
        }
        let mut untried = without_schedule(&processes, &cases);
        let chosen = |index| self.shard.or(state.shard).is_none_or(|shard: Shard| shard.has(index));
        let cases: Vec<&Case> = (0..).zip(&cases).filter(|(index, _)| chosen(*index)).map(|(_, case)| case).collect();
        state.add_schedules(cases.iter().map(|case| case.candidates.len()).sum())?;
        let budget = Budget { deadline, runs: self.runs, jobs: self.jobs as usize };
        let hunt = Hunt::new(stage, &self.steering, baseline, &self.output, budget, state);
        hunt.run(&cases)?;
        let over = hunt.over();
        let state = hunt.finish();
        let has_nothing = processes.iter().all(|process| process.entries.is_empty());

        for case in cases {
            let tried = case.candidates.iter().filter_map(|candidate| state.tried.get(&candidate.number));
            if let Some(trial) = self.trial(case, tried, stage) {
                processes[case.process].entries[case.entry].finding.prove(trial);
            } else if let Some(why) = over {
                untried += &untried_line(&processes[case.process].entries[case.entry].finding, why);
            }
        }
        let mut is_proven = false;
        for mut process in processes {
            process.entries.sort_by_key(|entry| Reverse(entry.finding.rung));
            let strong = process.entries.iter().filter(|entry| entry.finding.strength == Strength::Strong);
            is_proven |= strong.map(|entry| entry.finding.rung).any(|rung| rung >= Rung::Confirmed);
            process.monitor.publish(process.entries);
            process.monitor.finish(&process.totals);
        }
        if self.json {
            for log in logs(&self.output) {
                super::print(&fs::read(&log).map_err(|error| cannot("read", &log, &error))?)?;
            }
        } else {
            if has_nothing {
                untried += "avmon: nothing was predicted from this run\n";
            }
            super::print((untried + &state.totals().text()).as_bytes())?;
        }
        recording::exit_code(is_proven, self.flags.settings())
    }

    /// What was done before, if anything; and a directory for what is done now.
    fn state(&self, stage: &Stage) -> Result<State, Failure> {
        let line = stage.launch().line();
        if !self.resume {
            HUNT.make(&self.output)?;
            return State::begin(&self.output, &line, self.shard, &self.steering.pin);
        }
        let state = State::read(&self.output)?;
        let usage = |text: String| Err(Failure::new(ExitCode::Usage, text));
        if state.program != line {
            return usage(format!("the hunt in {} is of '{}'; go on with that", self.output.display(), state.program));
        }
        if self.shard.is_some_and(|shard| state.shard != Some(shard)) {
            return usage(format!("the hunt in {} is of another shard; leave out --shard", self.output.display()));
        }
        if self.steering.pin != state.pin {
            let pin = if state.pin.is_empty() { "nothing".to_owned() } else { state.pin.join(",") };
            return usage(format!("the hunt in {} has {pin} pinned; give the same --pin", self.output.display()));
        }
        // They are written anew at the end.
        for log in logs(&self.output) {
            fs::remove_file(&log).map_err(|error| cannot("replace", &log, &error))?;
        }
        Ok(state)
    }

    /// How the program runs by itself, and how long a steered run may take.
    fn baseline(&self, stage: &mut Stage, state: &mut State) -> Result<(Baseline, Duration), Failure> {
        if state.baseline.is_none() {
            stage.limit(self.timeout.map_or(PATIENCE, Duration::from_secs));
            let (baseline, longest) = stage.baseline(self.baseline, self.ignore_output, &self.steering.pin)?;
            state.add_baseline(baseline, longest.as_millis() as u64)?;
        }
        let (baseline, longest_ms) = state.baseline.clone().unwrap_or_default();
        for remark in baseline.remarks() {
            tell("warning", &remark);
        }
        Ok((baseline, self.timeout.map_or(Duration::from_millis(longest_ms) * SLOWER + AT_LEAST, Duration::from_secs)))
    }

    /// The recording from which is predicted. None if there is nothing in it.
    fn recording(&self, stage: &Stage, state: &mut State, baseline: &Baseline) -> Result<Option<PathBuf>, Failure> {
        let directory = self.output.join(TRACE);
        if state.is_recorded {
            return Ok(Some(directory));
        }
        if directory.exists() {
            // Only the begin of a recording, which was interrupted.
            fs::remove_dir_all(&directory).map_err(|error| cannot("replace", &directory, &error))?;
        }
        if let Some(trace) = &self.trace {
            check_is_whole(trace)?;
            link(trace, &directory)?;
        } else {
            fs::create_dir(&directory).map_err(|error| cannot("make", &directory, &error))?;
            let ended = stage.record(&directory, &self.steering)?;
            if let Some(failure) = baseline.failure_of(&Looks::from(&ended)) {
                tell("warning", &format!("the recorded run failed as no ordinary one did: {failure}"));
            }
            if recording::processes(&directory).is_empty() {
                return Ok(None);
            }
        }
        state.add_recording()?;
        Ok(Some(directory))
    }

    /// The best that is known of a finding.
    fn trial<'t>(&self, case: &Case, tried: impl Iterator<Item = &'t Tried>, stage: &Stage) -> Option<Trial> {
        let program = stage.launch().line();
        match tried.min_by_key(|tried| (tried.judgement.verdict, Reverse(tried.alike))) {
            Some(tried) => Some(Trial {
                verdict: tried.judgement.verdict,
                detail: tried.judgement.detail.clone(),
                schedule: hunt::file(&self.output, tried.number).display().to_string(),
                flags: self.steering.text(),
                program,
                switches: tried.switches,
                runs: tried.runs,
                alike: tried.alike,
            }),
            None => case.obstacle.clone().filter(|_| case.candidates.is_empty()).map(|detail| Trial {
                verdict: Verdict::Infeasible,
                detail,
                schedule: String::new(),
                flags: String::new(),
                program,
                switches: 0,
                runs: 0,
                alike: 0,
            }),
        }
    }

    fn told_how_to_go_on(&self, failure: Failure, stage: &Stage) -> Failure {
        if failure.code != ExitCode::Interrupted {
            return failure;
        }
        let output =
            if self.output == Path::new(DIRECTORY) { String::new() } else { format!(" -o {}", self.output.display()) };
        let text = format!(
            "interrupted; go on with 'avmon confirm --resume{output} {}-- {}'",
            self.steering.text(),
            stage.launch().line()
        );
        Failure { text, ..failure }
    }
}

/// What there is to say of findings from which no schedule follows.
fn without_schedule(processes: &[Process], cases: &[Case]) -> String {
    let mut text = String::new();
    for (process, Process { entries, .. }) in processes.iter().enumerate() {
        for (index, entry) in entries.iter().enumerate() {
            if !cases.iter().any(|case| (case.process, case.entry) == (process, index)) {
                text += &untried_line(&entry.finding, "there is no schedule for it");
            }
        }
    }
    text
}

/// Of a strong finding only: the weak ones are not even shown, if nobody asks.
fn untried_line(finding: &Finding, why: &str) -> String {
    match finding.strength {
        Strength::Strong => format!("avmon: not tried, since {why}: {}\n", finding.sentence),
        _ => String::new(),
    }
}

/// A recording that leaves something out does not tell how often a thread comes to a place.
fn check_is_whole(trace: &Path) -> Result<(), Failure> {
    let mut processes = recording::processes(trace);
    if processes.is_empty() {
        processes.push(trace.to_owned());
    }
    for process in processes {
        let (options, _) = Options::parse(&recording::open(&process)?.meta().options);
        if !options.trace_all && !options.trace_values {
            return Err(Failure::internal(format!(
                "{} does not tell everything; record it with 'avmon record --all'",
                process.display()
            )));
        }
    }
    Ok(())
}

/// A hunt that is resumed finds its recording where it always is.
fn link(trace: &Path, directory: &Path) -> Result<(), Failure> {
    let made = std::path::absolute(trace).and_then(|trace| std::os::unix::fs::symlink(trace, directory));
    made.map_err(|error| cannot("make", directory, &error))
}

/// The logs in the directory of a hunt, by process.
pub fn logs(directory: &Path) -> impl Iterator<Item = PathBuf> {
    (0..).map(move |process| cases::log(directory, process)).take_while(|path| path.is_file())
}
