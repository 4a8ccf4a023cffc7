//! How a run ended and what it wrote, and whether ordinary runs do so too.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::run::{Ended, Exit, Written};

/// How a program failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    Timeout,
    Signal(i32),
    Code(i32),
    /// A line on stderr.
    Message(String),
    /// Its output is none of those that it has otherwise; a line that is new, if there is one.
    Output(Option<String>),
}

impl From<Exit> for Failure {
    fn from(exit: Exit) -> Failure {
        match exit {
            Exit::Timeout => Failure::Timeout,
            Exit::Signal(signal) => Failure::Signal(signal),
            Exit::Code(code) => Failure::Code(code),
        }
    }
}

impl Failure {
    /// Whether a failure of one run is one of another run too.
    fn is_of_both(&self, one: &Looks, other: &Looks) -> bool {
        match self {
            Failure::Timeout | Failure::Signal(_) | Failure::Code(_) => one.exit == other.exit,
            Failure::Message(_) => other.message.is_some(),
            Failure::Output(_) => (one.stdout, one.stderr) == (other.stdout, other.stderr),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Timeout => write!(f, "it did not end in time"),
            Failure::Signal(signal) => write!(f, "it was killed by {}", signal_name(*signal)),
            Failure::Code(code) => write!(f, "it ended with exit code {code}"),
            Failure::Message(line) => write!(f, "it said: {line}"),
            Failure::Output(None) => write!(f, "its output differs from that of every ordinary run"),
            Failure::Output(Some(line)) => write!(f, "its output has a line that no ordinary run has: {line}"),
        }
    }
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGABRT => " (SIGABRT)",
        libc::SIGSEGV => " (SIGSEGV)",
        libc::SIGBUS => " (SIGBUS)",
        libc::SIGFPE => " (SIGFPE)",
        libc::SIGILL => " (SIGILL)",
        libc::SIGTRAP => " (SIGTRAP)",
        libc::SIGKILL => " (SIGKILL)",
        libc::SIGTERM => " (SIGTERM)",
        libc::SIGHUP => " (SIGHUP)",
        libc::SIGINT => " (SIGINT)",
        libc::SIGPIPE => " (SIGPIPE)",
        libc::SIGALRM => " (SIGALRM)",
        libc::SIGSYS => " (SIGSYS)",
        _ => "",
    };
    format!("signal {signal}{name}")
}

/// What sanitizers, assertions and the C library say when something is wrong. Not all of them end the program.
const MESSAGES: &[&str] = &[
    "ERROR: AddressSanitizer",
    "ERROR: LeakSanitizer",
    "WARNING: MemorySanitizer",
    "WARNING: ThreadSanitizer",
    "runtime error: ",
    "Assertion `",
    "assertion failed",
    "terminate called ",
    "double free or corruption",
    "free(): invalid",
    "malloc(): ",
    "corrupted size vs. prev_size",
    "*** stack smashing detected ***",
];

/// What counts of a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Looks {
    pub exit: Exit,
    pub message: Option<String>,
    /// Of what it wrote.
    pub stdout: u64,
    pub stderr: u64,
    /// The lines of both, if there are few: to tell which is new.
    #[serde(default)]
    pub lines: [Option<Vec<String>>; 2],
}

/// Lines of an output that are kept for people, ...
const MOST_LINES: usize = 100;
/// ... and characters of each.
const LONGEST_LINE: usize = 200;

/// The lines of an output, if there are few.
fn lines(written: &Written) -> Option<Vec<String>> {
    let text = String::from_utf8_lossy(&written.kept);
    let visible = |line: &str| line.chars().filter(|c| !c.is_control()).take(LONGEST_LINE).collect();
    let lines: Vec<String> = text.lines().take(MOST_LINES + 1).map(visible).collect();
    (written.more == 0 && lines.len() <= MOST_LINES).then_some(lines)
}

impl From<&Ended> for Looks {
    fn from(ended: &Ended) -> Looks {
        let errors = String::from_utf8_lossy(&ended.stderr.kept);
        let is_message = |line: &&str| MESSAGES.iter().any(|message| line.contains(message));
        Looks {
            exit: ended.exit,
            message: errors.lines().find(is_message).map(|line| line.trim().to_owned()),
            stdout: ended.stdout.digest(),
            stderr: ended.stderr.digest(),
            lines: [lines(&ended.stdout), lines(&ended.stderr)],
        }
    }
}

/// How the program runs when nobody steers it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Baseline {
    /// Without any, it is expected to end with 0, and its output says nothing.
    pub runs: Vec<Looks>,
    /// What a program writes is no matter of its success.
    pub ignores_output: bool,
    /// The recorded run, and such that were steered, but not to the violation: see [`super::control`]. A serial order may have an output of its own,
    /// so these need not agree with the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<Looks>,
}

impl Baseline {
    /// Whether nothing is known of ordinary runs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// How a run failed as no run of the baseline did. A program that always fails, and once does not, did not fail.
    #[must_use]
    pub fn failure_of(&self, looks: &Looks) -> Option<Failure> {
        self.unlike_controls(looks, self.new_of(looks))
    }

    /// The same, or how a run ended as ordinary runs sometimes do, but less than half of them: by chance they may come upon the same violation.
    /// Whether it is the violation that such a failure comes of, only many runs tell.
    #[must_use]
    pub fn possible_failure_of(&self, looks: &Looks) -> Option<Failure> {
        let is_rare = looks.exit != Exit::Code(0) && self.ended_so(looks.exit) * 2 < self.runs.len();
        self.unlike_controls(looks, if is_rare { Some(looks.exit.into()) } else { self.new_of(looks) })
    }

    fn unlike_controls(&self, looks: &Looks, failure: Option<Failure>) -> Option<Failure> {
        failure.filter(|failure| !self.controls.iter().any(|control| failure.is_of_both(looks, control)))
    }

    /// How many ordinary runs ended so.
    fn ended_so(&self, exit: Exit) -> usize {
        self.runs.iter().filter(|run| run.exit == exit).count()
    }

    /// How often ordinary runs end so too, for the end of a sentence; nothing if they never do.
    #[must_use]
    pub fn told_of_ordinary(&self, exit: Exit) -> String {
        match self.ended_so(exit) {
            0 => String::new(),
            some => format!(", as in {some} of {} ordinary runs", self.runs.len()),
        }
    }

    /// The failure that an end is, with how often ordinary runs end so; nothing if none does.
    #[must_use]
    pub fn rate_of(&self, exit: Exit) -> Option<String> {
        let is_rated = exit != Exit::Code(0) && self.ended_so(exit) > 0;
        is_rated.then(|| format!("{}{}", Failure::from(exit), self.told_of_ordinary(exit)))
    }

    /// What is to be said of a run that ended badly, though that is no failure.
    pub(super) fn told_of_usual(&self, looks: &Looks) -> String {
        match (looks.exit, self.rate_of(looks.exit)) {
            (Exit::Code(0), _) => String::new(),
            (_, Some(rate)) => format!("except as it does in ordinary runs too: {rate}"),
            (exit, None) => {
                format!("except as it does too if its threads only wait for each other: {}", Failure::from(exit))
            }
        }
    }

    fn new_of(&self, looks: &Looks) -> Option<Failure> {
        if looks.exit != Exit::Code(0) && self.ended_so(looks.exit) == 0 {
            return Some(looks.exit.into());
        }
        // The rest of such a line may hold addresses and numbers.
        if let Some(message) = looks.message.as_ref().filter(|_| self.runs.iter().all(|run| run.message.is_none())) {
            return Some(Failure::Message(message.clone()));
        }
        let differs = |of: fn(&Looks) -> u64| {
            self.steady(of).is_some_and(|usual| of(looks) != usual)
                && self.runs.iter().any(|run| run.exit == looks.exit)
        };
        let outputs = [differs(|run| run.stdout), differs(|run| run.stderr)];
        let output = outputs.iter().position(|differs| *differs)?;
        Some(Failure::Output(self.new_line(looks, output)))
    }

    /// The first line that no run has, if all lines are known.
    fn new_line(&self, looks: &Looks, output: usize) -> Option<String> {
        let known: Vec<&Vec<String>> = self.runs.iter().map(|run| run.lines[output].as_ref()).collect::<Option<_>>()?;
        let is_new = |line: &&String| !known.iter().any(|lines| lines.contains(line));
        looks.lines[output].iter().flatten().find(is_new).cloned()
    }

    /// What all runs have, if they agree.
    fn steady(&self, of: fn(&Looks) -> u64) -> Option<u64> {
        let first = self.runs.first().filter(|_| !self.ignores_output).map(of)?;
        self.runs.iter().all(|run| of(run) == first).then_some(first)
    }

    /// What the user should know of it.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let usual = Baseline { ignores_output: true, ..Baseline::default() };
        let failures: Vec<Failure> = self.runs.iter().filter_map(|run| usual.failure_of(run)).collect();
        if let Some(failure) = failures.first() {
            let (failed, all) = (failures.len(), self.runs.len());
            let counts = if failed * 2 < all {
                "it counts only where a schedule brings it about every time"
            } else {
                "only another failure counts"
            };
            remarks.push(format!(
                "the program fails when nobody steers it, in {failed} of {all} ordinary runs ({failure}); {counts}"
            ));
        }
        for (output, of) in [("stdout", (|run| run.stdout) as fn(&Looks) -> u64), ("stderr", |run| run.stderr)] {
            if !self.ignores_output && !self.runs.is_empty() && self.steady(of).is_none() {
                remarks.push(format!("{output} differs from run to run, so what it says does not count"));
            }
        }
        remarks
    }
}

#[cfg(test)]
pub(super) mod samples {
    use super::*;

    pub const PASSED: Exit = Exit::Code(0);

    pub fn looks(exit: Exit) -> Looks {
        Looks { exit, message: None, stdout: 1, stderr: 2, lines: [None, None] }
    }

    pub fn baseline() -> Baseline {
        Baseline { runs: vec![looks(PASSED); 3], ..Baseline::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::samples::{PASSED, baseline, looks};
    use super::*;

    #[test]
    fn what_happens_without_the_violation_too_does_not_count() {
        let with = |control| Baseline { controls: vec![control], ..baseline() };
        assert_eq!(with(looks(Exit::Code(3))).failure_of(&looks(Exit::Code(3))), None);
        assert_eq!(with(looks(Exit::Code(3))).failure_of(&looks(Exit::Code(4))), Some(Failure::Code(4)));
        let saying = |stdout| Looks { stdout, ..looks(PASSED) };
        assert_eq!(with(saying(9)).failure_of(&saying(9)), None);
        assert_eq!(with(saying(9)).failure_of(&saying(8)), Some(Failure::Output(None)), "a serial order has its own");
    }

    #[test]
    fn an_output_that_differs_by_itself_does_not_count() {
        let mut baseline = baseline();
        baseline.runs[1].stdout = 7;
        let other = Looks { stdout: 9, ..looks(PASSED) };
        assert_eq!(baseline.failure_of(&other), None);
        assert_eq!(baseline.remarks(), ["stdout differs from run to run, so what it says does not count"]);
        assert_eq!(baseline.failure_of(&Looks { stderr: 9, ..other.clone() }), Some(Failure::Output(None)));
        let ignoring = Baseline { ignores_output: true, ..samples::baseline() };
        assert_eq!((ignoring.failure_of(&other), ignoring.remarks().len()), (None, 0));
    }

    #[test]
    fn the_line_that_no_ordinary_run_has_is_told() {
        let saying = |stdout, lines: &[&str]| {
            let lines = lines.iter().map(|line| (*line).to_owned()).collect();
            Looks { stdout, lines: [Some(lines), None], ..looks(PASSED) }
        };
        let baseline = Baseline { runs: vec![saying(1, &["begin", "total 2"]); 3], ..Baseline::default() };
        let told = baseline.failure_of(&saying(5, &["total 1", "begin"])).unwrap().to_string();
        assert_eq!(told, "its output has a line that no ordinary run has: total 1");
        assert_eq!(baseline.failure_of(&saying(5, &["begin"])), Some(Failure::Output(None)));
    }

    #[test]
    fn without_a_baseline_a_program_is_expected_to_pass() {
        let none = Baseline::default();
        assert_eq!(none.failure_of(&looks(PASSED)), None);
        assert_eq!(none.failure_of(&looks(Exit::Code(1))), Some(Failure::Code(1)));
        assert!(none.remarks().is_empty());
    }
}
