//! `avmon confirm`: from a run of a program to violations that really happen in it.

mod cases;
mod hunt;
pub mod state;

use super::exit::{ExitCode, Failure};
use super::figures::counted;
use super::flags::quoted;
use super::launch::OptionFlags;
use super::own_directory::{Kind, cannot};
use super::predict::dependencies::ViewFlags;
use super::predict::effort::Deadline;
use super::progress::Waiting;
use super::stage::{PATIENCE, Stage, SteeringFlags, limit_after};
use super::{recording, replay, tell};
use crate::options::Options;
use crate::replay::looks::{Baseline, Looks};
use crate::replay::run::{self, Exit};
use crate::replay::verdict::{Judgement, Verdict};
use crate::report::finding::{Finding, Strength, Trial};
use cases::{Case, Cases, Process, Wanted};
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
  avmon confirm --views -- ./test                   also what critical sections access together
  avmon confirm --pin time,random -- ./test         for a program that depends on them
  avmon record --all -o run -- ./test; avmon confirm --trace run --shard 2/4 -o part2 -- ./test
  avmon merge part1 part2 part3 part4               all parts of such a hunt as one

The program reads a file from stdin in every run, or nothing, and its test is what it does: exit code, signal, output.
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

/// Ordinary runs if nothing else is said.
const BASELINE: u32 = 3;
/// Runs that are recorded until one does not fail.
const RECORDINGS: u32 = 3;

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

    /// Begin no new run after so many seconds
    #[arg(long, value_name = "SECONDS")]
    time: Option<u64>,

    /// Make at most so many steered runs, beside those with which a failure is compared
    #[arg(long, value_name = "COUNT")]
    runs: Option<usize>,

    /// Runs at the same time, for a program of which several may run beside each other
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    jobs: u32,

    /// Ordinary runs, to know how the program ends when nobody steers it
    #[arg(long, value_name = "COUNT", default_value_t = BASELINE, value_parser = clap::value_parser!(u32).range(1..))]
    baseline: u32,

    /// What the program writes is no matter of its success
    #[arg(long)]
    ignore_output: bool,

    /// Kill a run after so many seconds [default: 5, and 30 times as long as the longest ordinary run]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,

    #[command(flatten)]
    views: ViewFlags,

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
        let (mut baseline, limit) = self.baseline(&deadline, stage, &mut state)?;
        stage.limit(limit);
        let Some(recording) = self.recording(&deadline, stage, &mut state, &mut baseline)? else {
            return super::print(b"avmon: the program created no thread, so there is nothing to confirm\n");
        };
        let output =
            || if self.json { Box::new(io::sink()) as Box<dyn io::Write + Send> } else { Box::new(io::stdout()) };
        let settings: Vec<(&'static str, &str)> = self.flags.settings().collect();
        // As much time is left for the runs.
        let was_killed = baseline.controls.first().is_some_and(|recorded| recorded.exit == Exit::Timeout);
        let wanted = Wanted { views: &self.views, deadline: &deadline.half(), was_killed };
        let Cases { mut processes, mut cases } =
            Cases::of(&recording, &self.output, &settings.iter().copied(), &wanted, output)?;

        if run::interruption().is_some() {
            return Err(interrupted());
        }
        // The recording may be older than the program: one that is given, or one of a hunt that goes on.
        for candidate in cases.iter().flat_map(|case| &case.candidates) {
            replay::check_build(&candidate.schedule, &stage.launch().path)?;
        }
        let candidates = || cases.iter().flat_map(|case| &case.candidates);
        let numbers = state.numbers(candidates().map(|candidate| (candidate.digest, candidate.number)));
        for (candidate, number) in cases.iter_mut().flat_map(|case| &mut case.candidates).zip(numbers) {
            candidate.number = number;
        }
        let mut untried = without_schedule(&processes, &cases);
        let chosen = |index| self.shard.or(state.shard).is_none_or(|shard: Shard| shard.has(index));
        let cases: Vec<&Case> = (0..).zip(&cases).filter(|(index, _)| chosen(*index)).map(|(_, case)| case).collect();
        state.add_schedules(
            cases.iter().flat_map(|case| &case.candidates).map(|candidate| candidate.digest).collect(),
        )?;
        let budget = Budget { deadline, runs: self.runs, jobs: self.jobs as usize };
        let hunt = Hunt::new(stage, &self.steering, baseline, &self.output, budget, state);
        hunt.run(&cases)?;
        if run::interruption().is_some() {
            return Err(interrupted());
        }
        let over = hunt.over();
        let mut state = hunt.finish();
        if over.is_none() {
            state.end()?;
        }

        let mut by_output = 0;
        for case in cases {
            let tried = case.candidates.iter().filter_map(|candidate| state.tried.get(&candidate.digest));
            let best = tried.min_by_key(|tried| (tried.judgement.verdict, Reverse(tried.alike)));
            by_output += u64::from(best.is_some_and(|best| best.judgement.is_by_output));
            if let Some(trial) = self.trial(case, best, stage) {
                processes[case.process].entries[case.entry].finding.prove(trial);
            } else if let Some(why) = over {
                untried += &untried_line(&processes[case.process].entries[case.entry].finding, why);
            }
        }
        for process in &mut processes {
            process.entries.retain(|entry| entry.finding.has_failed() || !entry.finding.is_only_worth_a_try());
        }
        let has_nothing = processes.iter().all(|process| process.entries.is_empty());
        let mut is_proven = false;
        for mut process in processes {
            process.entries.sort_by_key(|entry| Reverse(entry.finding.rung));
            is_proven |= process.entries.iter().any(|entry| entry.finding.is_proven());
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
            let totals = state.totals();
            let goes_on = match over.filter(|_| state.is_unfinished()) {
                Some(why) => {
                    format!("avmon: not all were run, since {why}; go on with '{}'\n", self.resuming(stage))
                }
                None => String::new(),
            };
            let is_all = goes_on.is_empty() && state.shard.is_none();
            // It may be for the recorded run.
            let advice = if is_all && totals.failing() == 0 {
                format!("avmon: nothing failed; 'avmon chaos -- {}' does without a prediction\n", state.program)
            } else if by_output > 0 {
                format!(
                    "avmon: of {}, only the output tells; if that may depend on the order of the threads, say --ignore-output\n",
                    counted(by_output, "failing finding")
                )
            } else {
                String::new()
            };
            super::print((untried + &advice + &totals.text() + &goes_on).as_bytes())?;
            warn_if_none_reached(&state);
        }
        recording::exit_code(is_proven, self.flags.settings())
    }

    /// What was done before, if anything; and a directory for what is done now.
    fn state(&self, stage: &Stage) -> Result<State, Failure> {
        let line = stage.launch().line();
        if !self.resume {
            self.check_shard(&line)?;
            if let Some(trace) = &self.trace {
                check_is_whole(trace)?;
            }
            HUNT.make(&self.output)?;
            let mut state = State::begin(&self.output, line, self.shard, &self.steering.pin, self.shape())?;
            if let Some(trace) = &self.trace {
                let directory = self.output.join(TRACE);
                link(trace, &directory)?;
                state.add_recording(cases::identity(&directory)?)?;
            }
            return Ok(state);
        }
        let state = State::go_on(&self.output)?;
        let usage = |text: String| Err(Failure::new(ExitCode::Usage, text));
        if state.program != line {
            return usage(format!("the hunt in {} is of '{}'; go on with that", self.output.display(), state.program));
        }
        if self.shard.is_some_and(|shard| state.shard != Some(shard)) {
            return usage(format!("the hunt in {} is of another shard; leave out --shard", self.output.display()));
        }
        if self.shape() != state.shape {
            return usage(format!(
                "the hunt in {} was begun with '{}', and from '{}' other schedules may follow; go on with '{}'",
                self.output.display(),
                state.shape,
                self.shape(),
                self.resuming_with(stage, &state.shape)
            ));
        }
        // They are written anew at the end.
        for log in logs(&self.output) {
            fs::remove_file(&log).map_err(|error| cannot("replace", &log, &error))?;
        }
        Ok(state)
    }

    /// Parts that record for themselves number other findings, so that some would be tried twice, and others never.
    fn check_shard(&self, program: &str) -> Result<(), Failure> {
        match self.shard {
            Some(shard) if self.trace.is_none() => Err(Failure::new(
                ExitCode::Usage,
                format!(
                    "all shards must use one recording: make it with 'avmon record --all -o run -- {program}', \
                     and give each '--trace run --shard NUMBER/{}'",
                    shard.of
                ),
            )),
            _ => Ok(()),
        }
    }

    /// How the program runs by itself, and how long a steered run may take.
    fn baseline(
        &self,
        deadline: &Deadline,
        stage: &mut Stage,
        state: &mut State,
    ) -> Result<(Baseline, Duration), Failure> {
        if state.baseline.is_none() {
            stage.limit(self.timeout.map_or(PATIENCE, Duration::from_secs));
            let mut baseline = Baseline { ignores_output: self.ignore_output, ..Baseline::default() };
            let mut longest = Duration::ZERO;
            while baseline.runs.len() < self.baseline as usize && !deadline.is_over() {
                let _told = Waiting::begin(format!("ordinary run {} of {}", baseline.runs.len() + 1, self.baseline));
                let (more, took) = stage.baseline(1, self.ignore_output, &self.steering.pin, deadline)?;
                if self.timeout.is_none() && more.runs.iter().any(|run| run.exit == Exit::Timeout) {
                    return Err(endless());
                }
                longest = longest.max(took);
                baseline.runs.extend(more.runs);
            }
            let made = baseline.runs.len();
            if made < self.baseline as usize {
                return Err(too_late(&format!("after {made} of {} ordinary runs", self.baseline)));
            }
            state.add_baseline(baseline, longest.as_millis() as u64)?;
        }
        let (baseline, longest_ms) = state.baseline.clone().unwrap_or_default();
        for remark in baseline.remarks() {
            tell("warning", &remark);
        }
        Ok((baseline, self.timeout.map_or(limit_after(Duration::from_millis(longest_ms)), Duration::from_secs)))
    }

    /// The recording from which is predicted. None if there is nothing in it. How the program ran then is part of the baseline.
    fn recording(
        &self,
        deadline: &Deadline,
        stage: &Stage,
        state: &mut State,
        baseline: &mut Baseline,
    ) -> Result<Option<PathBuf>, Failure> {
        let directory = self.output.join(TRACE);
        if state.recording.is_some() {
            return Ok(Some(directory));
        }
        if directory.exists() {
            // Only the beginning of a recording, which was interrupted.
            fs::remove_dir_all(&directory).map_err(|error| cannot("replace", &directory, &error))?;
        }
        if deadline.is_over() {
            return Err(too_late("before a run was recorded"));
        }
        let looks = self.recorded(deadline, stage, &directory, baseline)?;
        if let Some(failure) = baseline.failure_of(&looks) {
            let told = format!("the recorded run failed as no ordinary one did, so that does not count: {failure}");
            tell("warning", &told);
        }
        // Recording may change a program more than running it does, so that it need not agree with the ordinary runs.
        baseline.controls.push(looks);
        state.widen_baseline(baseline)?;
        if recording::processes(&directory).is_empty() {
            return Ok(None);
        }
        state.add_recording(cases::identity(&directory)?)?;
        Ok(Some(directory))
    }

    /// Records a run. One that fails is either what is hunted for, and another one goes well, or it is the recording's own doing.
    fn recorded(
        &self,
        deadline: &Deadline,
        stage: &Stage,
        directory: &Path,
        baseline: &Baseline,
    ) -> Result<Looks, Failure> {
        let mut tries = 0;
        loop {
            fs::create_dir(directory).map_err(|error| cannot("make", directory, &error))?;
            let _told = Waiting::begin("recording".to_owned());
            let looks = Looks::from(&stage.record(directory, &self.steering)?);
            tries += 1;
            if baseline.failure_of(&looks).is_none() || tries == RECORDINGS || deadline.is_over() {
                return Ok(looks);
            }
            fs::remove_dir_all(directory).map_err(|error| cannot("replace", directory, &error))?;
        }
    }

    /// The best that is known of a finding.
    fn trial(&self, case: &Case, best: Option<&Tried>, stage: &Stage) -> Option<Trial> {
        let program = stage.launch().line();
        match best {
            Some(tried) => Some(Trial {
                verdict: tried.judgement.verdict,
                detail: tried.judgement.detail.clone(),
                schedule: hunt::file(&self.output, tried.number).display().to_string(),
                flags: self.replay_words().iter().flat_map(|word| [word, " "]).collect(),
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

    /// What a replay must be told to do the same.
    fn replay_words(&self) -> Vec<String> {
        let mut words = self.steering.words();
        words.extend(self.timeout.map(|seconds| format!("--timeout {seconds}")));
        words
    }

    fn told_how_to_go_on(&self, failure: Failure, stage: &Stage) -> Failure {
        if failure.code != ExitCode::Interrupted {
            return failure;
        }
        Failure { text: format!("interrupted; go on with '{}'", self.resuming(stage)), ..failure }
    }

    /// The command that goes on with the hunt.
    fn resuming(&self, stage: &Stage) -> String {
        self.resuming_with(stage, &self.shape())
    }

    fn resuming_with(&self, stage: &Stage, shape: &str) -> String {
        let mut words = vec!["avmon confirm --resume".to_owned()];
        if self.output != Path::new(DIRECTORY) {
            words.push(format!("-o {}", quoted(&self.output.to_string_lossy())));
        }
        words.extend((!shape.is_empty()).then(|| shape.to_owned()));
        words.extend((self.baseline != BASELINE).then(|| format!("--baseline {}", self.baseline)));
        words.extend(self.timeout.map(|seconds| format!("--timeout {seconds}")));
        words.extend((self.jobs != 1).then(|| format!("--jobs {}", self.jobs)));
        words.extend(self.json.then(|| "--json".to_owned()));
        words.extend(self.settings(|name| !shapes(name)));
        words.push(format!("-- {}", stage.launch().line()));
        words.join(" ")
    }

    /// The flags by which schedules are made and judged.
    fn shape(&self) -> String {
        let mut words = self.views.words();
        words.extend(self.steering.words());
        words.extend(self.ignore_output.then(|| "--ignore-output".to_owned()));
        words.extend(self.settings(shapes));
        words.join(" ")
    }

    /// Options of the monitor, as flags.
    fn settings(&self, wanted: fn(&str) -> bool) -> impl Iterator<Item = String> {
        let settings = self.flags.settings().filter(move |(name, _)| wanted(name));
        settings.map(|(name, value)| format!("--{}={}", name.replace('_', "-"), quoted(value)))
    }
}

/// Whether other findings, or other names in them, may follow from an option of the monitor.
fn shapes(option: &str) -> bool {
    let is_of_looks = ["verbosity", "report", "summary", "color", "exitcode", "print_suppressions", "show_weak"];
    !is_of_looks.contains(&option)
}

fn interrupted() -> Failure {
    Failure::new(ExitCode::Interrupted, "interrupted")
}

/// A program that nobody steers and that does not end needs somebody to end it.
fn endless() -> Failure {
    Failure::internal(format!(
        "the program did not end in {} seconds, though nobody steered it; let a script end it, or say by --timeout after how many seconds each run is to be killed",
        PATIENCE.as_secs()
    ))
}

/// Without all of these runs nobody could judge the others. An interruption ends the time too.
fn too_late(when: &str) -> Failure {
    match run::interruption() {
        Some(_) => interrupted(),
        None => Failure::internal(format!("the time was over {when}, so nothing was tried; give more with --time")),
    }
}

/// If no schedule led anywhere, it may be another program, or one that does something else each time.
fn warn_if_none_reached(state: &State) {
    let first = state.tried.values().min_by_key(|tried| tried.number);
    if let Some(first) = first.filter(|_| state.totals().reached() + state.totals().failing() == 0) {
        let Judgement { verdict, detail, .. } = &first.judgement;
        tell("warning", &format!("no schedule led to its violation; the first one was {}: {detail}", verdict.name()));
    }
}

/// What there is to say of findings from which no schedule follows.
fn without_schedule(processes: &[Process], cases: &[Case]) -> String {
    let mut text = String::new();
    for (process, Process { entries, .. }) in processes.iter().enumerate() {
        for (index, entry) in entries.iter().enumerate() {
            if !cases.iter().any(|case| (case.process, case.entry) == (process, index)) {
                text += &untried_line(&entry.finding, "no order of the recorded steps was found that leads to it");
            }
        }
    }
    text
}

/// Of a strong finding only: the weak ones are not even shown, if nobody asks.
fn untried_line(finding: &Finding, why: &str) -> String {
    match finding.strength {
        Strength::Strong if !finding.is_only_worth_a_try() => {
            format!("avmon: not tried, since {why}: {}\n", finding.sentence)
        }
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
