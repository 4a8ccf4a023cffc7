//! What a hunt has done so far, in a file: a line for each thing, written at once, so that an interruption loses nothing.

use crate::cli::exit::Failure;
use crate::cli::own_directory::cannot;
use crate::replay::looks::{Baseline, Looks};
use crate::replay::verdict::{Judgement, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

const NAME: &str = "hunt.jsonl";

/// Of the file. To be raised when the meaning of a line changes, or how a schedule's digest is made.
const VERSION: u32 = 1;

fn first_version() -> u32 {
    1
}

/// A part of all schedules: every `of`-th finding's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Shard {
    /// From 1.
    pub number: usize,
    pub of: usize,
}

impl Shard {
    pub fn has(self, index: usize) -> bool {
        index % self.of == self.number - 1
    }
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Shard { number, of }),
            _ => Err("write it as NUMBER/COUNT, from 1/4 to 4/4 for example".to_owned()),
        }
    }
}

/// What came of one schedule.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tried {
    /// Of its file.
    pub number: usize,
    /// Of the schedule's text as it was made, by which it is known.
    pub digest: u64,
    pub judgement: Judgement,
    /// Of the schedule that is kept.
    pub switches: u64,
    /// Runs of that, and how many ended so.
    pub runs: u64,
    pub alike: u64,
    /// Runs in which the same threads were held without the violation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<Looks>,
    /// Time or runs were over before it was looked at as closely as it should have been.
    #[serde(default)]
    pub is_unfinished: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    Hunt {
        /// Without one it is 1, from before there were versions.
        #[serde(default = "first_version")]
        version: u32,
        program: String,
        shard: Option<Shard>,
        #[serde(default)]
        pin: Vec<String>,
        #[serde(default)]
        shape: String,
    },
    Baseline {
        baseline: Baseline,
        longest_ms: u64,
    },
    /// The recording is whole.
    Recorded {
        #[serde(default)]
        traces: Vec<String>,
    },
    Schedules {
        digests: BTreeSet<u64>,
    },
    Tried(Tried),
    /// The hunt came to its end: what was not tried was not needed.
    Ended,
}

/// The columns of the summary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// A: all schedules.
    pub schedules: usize,
    pub of_verdict: [usize; Verdict::ALL.len()],
    /// Those of findings with which the program fails every time by another schedule.
    pub needless: usize,
}

impl Totals {
    pub fn add(&mut self, other: &Totals) {
        self.schedules += other.schedules;
        self.needless += other.needless;
        for (mine, more) in self.of_verdict.iter_mut().zip(other.of_verdict) {
            *mine += more;
        }
    }

    fn having(&self, wanted: fn(Verdict) -> bool) -> usize {
        Verdict::ALL.iter().filter(|verdict| wanted(**verdict)).map(|verdict| self.of_verdict[*verdict as usize]).sum()
    }

    /// N: those that led to their violation.
    pub fn reached(&self) -> usize {
        self.having(Verdict::is_reached)
    }

    /// F: those with which the program failed.
    pub fn failing(&self) -> usize {
        self.having(Verdict::is_failure)
    }

    pub fn run(&self) -> usize {
        self.having(|_| true)
    }

    /// Those that nobody ran.
    pub fn left(&self) -> usize {
        self.schedules.saturating_sub(self.run() + self.needless)
    }

    /// A line for people.
    pub fn text(&self) -> String {
        let mut text = format!(
            "avmon: schedules: {} made (A), {} reached their violation (N), {} failing (F)",
            self.schedules,
            self.reached(),
            self.failing()
        );
        for verdict in [Verdict::Infeasible, Verdict::Diverged] {
            let count = self.of_verdict[verdict as usize];
            if count > 0 {
                // Writing to a string cannot fail.
                let _ = write!(text, ", {count} {}", verdict.name());
            }
        }
        for (count, what) in [(self.needless, "not needed"), (self.left(), "not run")] {
            if count > 0 {
                let _ = write!(text, ", {count} {what}");
            }
        }
        text + "\n"
    }
}

/// What was done before, and the file to which more is added.
pub struct State {
    path: PathBuf,
    pub program: String,
    pub shard: Option<Shard>,
    /// What is the same in all runs.
    pub pin: Vec<String>,
    /// The flags by which other schedules would be made, or judged otherwise.
    pub shape: String,
    pub baseline: Option<(Baseline, u64)>,
    /// The names of the recording's traces, once it is whole: what is numbered is the same only if these are.
    pub recording: Option<Vec<String>>,
    /// The digests of all that are to be tried.
    schedules: Option<BTreeSet<u64>>,
    /// By their digests.
    pub tried: BTreeMap<u64, Tried>,
    /// All that was needed was tried.
    has_ended: bool,
}

impl State {
    fn empty(path: PathBuf) -> State {
        State {
            path,
            program: String::new(),
            shard: None,
            pin: Vec::new(),
            shape: String::new(),
            baseline: None,
            recording: None,
            schedules: None,
            tried: BTreeMap::new(),
            has_ended: false,
        }
    }

    /// A hunt that begins.
    pub fn begin(
        directory: &Path,
        program: String,
        shard: Option<Shard>,
        pin: &[String],
        shape: String,
    ) -> Result<State, Failure> {
        let state = State { program, shard, pin: pin.to_owned(), shape, ..State::empty(directory.join(NAME)) };
        let State { program, pin, shape, .. } = &state;
        state.write(&Line::Hunt {
            version: VERSION,
            program: program.clone(),
            shard,
            pin: pin.clone(),
            shape: shape.clone(),
        })?;
        Ok(state)
    }

    /// A hunt that was there before.
    pub fn read(directory: &Path) -> Result<State, Failure> {
        State::with_length(directory).map(|(state, _)| state)
    }

    /// The same, to go on with. An interruption may have left half of the last line: that goes.
    pub fn go_on(directory: &Path) -> Result<State, Failure> {
        let (state, length) = State::with_length(directory)?;
        let file = fs::OpenOptions::new().write(true).open(&state.path);
        file.and_then(|file| file.set_len(length)).map_err(|error| cannot("write", &state.path, &error))?;
        Ok(state)
    }

    /// A hunt, and the bytes of the lines that tell of it.
    fn with_length(directory: &Path) -> Result<(State, u64), Failure> {
        let path = directory.join(NAME);
        let text = fs::read_to_string(&path).map_err(|error| {
            Failure::internal(format!(
                "{} holds no hunt of 'avmon confirm': {}: {error}",
                directory.display(),
                path.display()
            ))
        })?;
        let mut state = State::empty(path);
        let broken =
            |path: &Path, why: String| Failure::internal(format!("{}: {why}; begin a new hunt", path.display()));
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        for (number, line) in (1..).zip(whole.lines()) {
            let line = serde_json::from_str(line)
                .map_err(|error| broken(&state.path, format!("line {number} cannot be read: {error}")))?;
            match line {
                Line::Hunt { version, .. } if version != VERSION => {
                    let why = format!("it was written by another version of avmon ({version}, this one has {VERSION})");
                    return Err(broken(&state.path, why));
                }
                Line::Hunt { version: _, program, shard, pin, shape } => {
                    state = State { program, shard, pin, shape, ..state };
                }
                Line::Baseline { baseline, longest_ms } => state.baseline = Some((baseline, longest_ms)),
                Line::Recorded { traces } => state.recording = Some(traces),
                Line::Schedules { digests } => {
                    (state.schedules, state.has_ended) = (Some(digests), false);
                }
                Line::Ended => state.has_ended = true,
                Line::Tried(tried) => drop(state.tried.insert(tried.digest, tried)),
            }
        }
        Ok((state, whole.len() as u64))
    }

    pub fn add_baseline(&mut self, baseline: Baseline, longest_ms: u64) -> Result<(), Failure> {
        self.write(&Line::Baseline { baseline: baseline.clone(), longest_ms })?;
        self.baseline = Some((baseline, longest_ms));
        Ok(())
    }

    /// More ordinary runs than before.
    pub fn widen_baseline(&mut self, baseline: &Baseline) -> Result<(), Failure> {
        let longest_ms = self.baseline.as_ref().map_or(0, |(_, longest_ms)| *longest_ms);
        self.add_baseline(baseline.clone(), longest_ms)
    }

    pub fn add_recording(&mut self, traces: Vec<String>) -> Result<(), Failure> {
        self.write(&Line::Recorded { traces: traces.clone() })?;
        self.recording = Some(traces);
        Ok(())
    }

    pub fn add_schedules(&mut self, digests: BTreeSet<u64>) -> Result<(), Failure> {
        self.write(&Line::Schedules { digests: digests.clone() })?;
        (self.schedules, self.has_ended) = (Some(digests), false);
        Ok(())
    }

    /// Nothing more is to be tried.
    pub fn end(&mut self) -> Result<(), Failure> {
        self.has_ended = true;
        self.write(&Line::Ended)
    }

    pub fn add(&mut self, tried: Tried) -> Result<(), Failure> {
        self.write(&Line::Tried(tried.clone()))?;
        self.tried.insert(tried.digest, tried);
        Ok(())
    }

    /// What was tried of the schedules that are to be.
    fn wanted(&self) -> impl Iterator<Item = &Tried> {
        let is_wanted = |digest| self.schedules.as_ref().is_none_or(|wanted| wanted.contains(digest));
        self.tried.values().filter(move |tried| is_wanted(&tried.digest))
    }

    pub fn totals(&self) -> Totals {
        let mut totals = Totals { schedules: self.schedules.as_ref().map_or(0, BTreeSet::len), ..Totals::default() };
        for tried in self.wanted() {
            totals.of_verdict[tried.judgement.verdict as usize] += 1;
        }
        if self.has_ended {
            totals.needless = totals.left();
        }
        totals
    }

    /// Whether there is something to go on with.
    pub fn is_unfinished(&self) -> bool {
        self.totals().left() > 0 || self.wanted().any(|tried| tried.is_unfinished)
    }

    /// A schedule's result, by the number of its file.
    pub fn of_file(&self, number: usize) -> Option<&Tried> {
        self.tried.values().find(|tried| tried.number == number)
    }

    /// The number of each schedule's file, if their digests and the numbers that they would have are these: what was tried keeps its file, and
    /// no other schedule is written there.
    pub fn numbers(&self, wanted: impl Iterator<Item = (u64, usize)> + Clone) -> Vec<usize> {
        let taken: BTreeSet<usize> = self.tried.values().map(|tried| tried.number).collect();
        let highest = wanted.clone().map(|(_, number)| number).chain(taken.iter().copied()).max().unwrap_or(0);
        let mut free = highest + 1..;
        let number = |(digest, number)| match self.tried.get(&digest) {
            Some(tried) => tried.number,
            None if taken.contains(&number) => free.next().unwrap_or(number),
            None => number,
        };
        wanted.map(number).collect()
    }

    fn write(&self, line: &Line) -> Result<(), Failure> {
        let text = serde_json::to_string(line).unwrap_or_default() + "\n";
        let file = fs::OpenOptions::new().append(true).create(true).open(&self.path);
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| cannot("write", &self.path, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(number: usize, verdict: Verdict) -> Tried {
        let judgement = Judgement::new(verdict, "so");
        let digest = 100 + number as u64;
        Tried { number, digest, judgement, switches: 3, runs: 10, alike: 9, controls: Vec::new(), is_unfinished: false }
    }

    fn begun(directory: &Path, shard: Option<Shard>) -> State {
        State::begin(directory, "./app 'a b'".into(), shard, &["time".to_owned()], "--views".into()).unwrap()
    }

    #[test]
    fn what_was_done_is_read_again_also_after_half_a_line() {
        let directory = tempfile::tempdir().unwrap();
        let shard = Some(Shard { number: 2, of: 3 });
        let mut state = begun(directory.path(), shard);
        state.add_baseline(Baseline::default(), 12).unwrap();
        state.add_schedules((101..106).collect()).unwrap();
        state.add(tried(1, Verdict::Confirmed)).unwrap();
        state.add(tried(4, Verdict::Failing)).unwrap();
        let mut file = fs::OpenOptions::new().append(true).open(directory.path().join(NAME)).unwrap();
        file.write_all(b"{\"type\":\"tri").unwrap();
        let again = State::read(directory.path()).unwrap();
        assert_eq!((&*again.program, again.shard, again.tried.len()), ("./app 'a b'", shard, 2));
        assert_eq!((&again.pin[..], &*again.shape), (&["time".to_owned()][..], "--views"));
        assert_eq!((again.of_file(4), again.of_file(5)), (Some(&tried(4, Verdict::Failing)), None));
        assert_eq!(
            again.totals().text(),
            "avmon: schedules: 5 made (A), 2 reached their violation (N), 1 failing (F), 3 not run\n"
        );
        assert!(State::read(&directory.path().join("none")).is_err_and(|failure| failure.text.contains("no hunt")));
    }

    #[test]
    fn a_hunt_goes_on_behind_its_last_whole_line() {
        let directory = tempfile::tempdir().unwrap();
        begun(directory.path(), None).add(tried(1, Verdict::Confirmed)).unwrap();
        let path = directory.path().join(NAME);
        let add = |text: &str| {
            let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        add("{\"type\":\"tri");
        State::go_on(directory.path()).unwrap().add(tried(2, Verdict::Failing)).unwrap();
        assert_eq!(State::read(directory.path()).unwrap().tried.len(), 2);
        add("{\"type\":\"tri\n");
        let refused = |why: &str| State::read(directory.path()).is_err_and(|failure| failure.text.contains(why));
        assert!(refused("line 4 cannot be read") && refused("begin a new hunt"));
        fs::write(&path, "{\"type\":\"hunt\",\"version\":99,\"program\":\"true\",\"shard\":null}\n").unwrap();
        assert!(refused("another version of avmon (99"));
    }

    #[test]
    fn what_was_tried_is_known_by_what_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let mut state = begun(directory.path(), None);
        state.add(tried(1, Verdict::Failing)).unwrap();
        state.add(tried(2, Verdict::Confirmed)).unwrap();
        // One that is new comes first, and the first of those that were tried is not made any more.
        let wanted = [(900, 1), (102, 2), (901, 3)];
        assert_eq!(state.numbers(wanted.into_iter()), [4, 2, 3]);
        state.add_schedules(wanted.iter().map(|(digest, _)| *digest).collect()).unwrap();
        let told = "avmon: schedules: 3 made (A), 1 reached their violation (N), 0 failing (F), 2 not run\n";
        assert_eq!((state.totals().text(), state.is_unfinished()), (told.to_owned(), true));
    }

    #[test]
    fn what_was_not_tried_at_the_end_was_not_needed() {
        let directory = tempfile::tempdir().unwrap();
        let mut state = begun(directory.path(), None);
        state.add_schedules((101..104).collect()).unwrap();
        state.add(tried(1, Verdict::Failing)).unwrap();
        assert!(state.is_unfinished() && state.totals().text().ends_with(", 2 not run\n"));
        state.end().unwrap();
        let mut again = State::read(directory.path()).unwrap();
        assert!(!again.is_unfinished() && again.totals().text().ends_with(", 2 not needed\n"));
        again.add_schedules((101..105).collect()).unwrap();
        assert!(again.is_unfinished(), "others are wanted now");
    }

    #[test]
    fn what_was_cut_short_is_not_finished() {
        let directory = tempfile::tempdir().unwrap();
        let mut state = begun(directory.path(), None);
        state.add_schedules([101].into()).unwrap();
        state.add(Tried { is_unfinished: true, ..tried(1, Verdict::Failing) }).unwrap();
        assert!(state.is_unfinished());
        state.add(tried(1, Verdict::Failing)).unwrap();
        assert!(!state.is_unfinished());
    }

    #[test]
    fn totals_of_parts_are_those_of_the_whole() {
        let mut of_verdict = [0; Verdict::ALL.len()];
        of_verdict[Verdict::Diverged as usize] = 2;
        let mut totals = Totals { schedules: 3, of_verdict, needless: 0 };
        totals.add(&totals.clone());
        assert_eq!(
            totals.text(),
            "avmon: schedules: 6 made (A), 0 reached their violation (N), 0 failing (F), 4 diverged, 2 not run\n"
        );
    }

    #[test]
    fn shards_are_written_as_parts_of_a_whole() {
        let shards: Vec<Shard> = ["1/3", "2/3", "3/3"].iter().map(|text| text.parse().unwrap()).collect();
        for index in 0..10 {
            assert_eq!(shards.iter().filter(|shard| shard.has(index)).count(), 1);
        }
        for wrong in ["0/3", "4/3", "1", "a/b", "1/0"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
