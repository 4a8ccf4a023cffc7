//! Runs schedule after schedule, as far as time and patience go.

use super::cases::{Candidate, Case};
use super::state::{State, Tried};
use crate::cli::exit::Failure;
use crate::cli::figures::counted;
use crate::cli::own_directory::cannot;
use crate::cli::predict::effort::Deadline;
use crate::cli::progress::Progress;
use crate::cli::stage::{Stage, SteeringFlags};
use crate::replay::minimal::minimal;
use crate::replay::run::Exit;
use crate::replay::schedule::Schedule;
use crate::replay::verdict::{self, Baseline, Judgement, Looks, Verdict};
use parking_lot::Mutex;
use rustc_hash::FxHasher;
use std::fs;
use std::hash::Hasher as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Runs in which a failing schedule may be made shorter.
const MOST_TO_SHORTEN: usize = 40;
/// How long that may take.
const TIME_TO_SHORTEN: Duration = Duration::from_secs(60);
/// The same for a program that does not end: each such run takes all of its time.
const MOST_OF_SLOW: usize = 4;
/// A failing schedule is run so often again.
const AGAIN: u64 = 10;
/// If it fails in some of these only, the program may do so by itself: so many ordinary runs more tell.
const MORE_ORDINARY: u32 = 10;

/// How much a hunt may cost.
pub struct Budget {
    pub deadline: Deadline,
    /// Steered runs, of whatever use.
    pub runs: Option<usize>,
    pub jobs: usize,
}

impl Budget {
    /// Why there may be no more runs, after so many.
    fn over(&self, runs: usize) -> Option<&'static str> {
        if self.deadline.is_over() {
            return Some("the time was over");
        }
        self.runs.is_some_and(|most| runs >= most).then_some("all runs were used up")
    }
}

/// A verdict, and the run that it is of.
#[derive(Clone)]
struct Judged {
    judgement: Judgement,
    looks: Looks,
}

/// What a schedule proves, and in how many of its runs.
#[derive(Clone)]
struct Proof {
    schedule: Schedule,
    judged: Judged,
    runs: u64,
    alike: u64,
}

pub struct Hunt<'a> {
    pub stage: &'a Stage,
    pub steering: &'a SteeringFlags,
    /// It grows when a failure may be an ordinary one.
    baseline: Mutex<Baseline>,
    pub directory: &'a Path,
    pub budget: Budget,
    pub state: Mutex<State>,
    progress: Mutex<Progress>,
    begun: AtomicUsize,
}

/// Where a schedule is kept.
pub fn file(directory: &Path, number: usize) -> PathBuf {
    directory.join(format!("{number}.schedule"))
}

impl<'a> Hunt<'a> {
    pub fn new(
        stage: &'a Stage,
        steering: &'a SteeringFlags,
        baseline: Baseline,
        directory: &'a Path,
        budget: Budget,
        state: State,
    ) -> Hunt<'a> {
        let (state, baseline, progress) = (Mutex::new(state), Mutex::new(baseline), Mutex::new(Progress::new()));
        Hunt { stage, steering, baseline, directory, budget, state, progress, begun: AtomicUsize::new(0) }
    }

    /// Tries all cases, several at a time. What was done until a failure is in the state.
    pub fn run(&self, cases: &[&Case]) -> Result<(), Failure> {
        let next = AtomicUsize::new(0);
        let failure = Mutex::new(None);
        let work = || {
            while failure.lock().is_none() {
                let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                if let Err(error) = self.try_case(case) {
                    failure.lock().get_or_insert(error);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.budget.jobs {
                scope.spawn(work);
            }
            work();
        });
        failure.into_inner().map_or(Ok(()), Err)
    }

    /// What was done.
    pub fn finish(self) -> State {
        self.state.into_inner()
    }

    /// Tries the schedules of a finding until the program fails with one every time.
    fn try_case(&self, case: &Case) -> Result<(), Failure> {
        for candidate in &case.candidates {
            let digest = digest(&candidate.schedule);
            let known = self.state.lock().tried.get(&candidate.number).cloned();
            let tried = match known.filter(|tried| tried.digest == digest) {
                Some(tried) => tried,
                None if !self.may_run() => return Ok(()),
                None => self.try_candidate(candidate, digest)?,
            };
            if tried.judgement.verdict.is_failure() && tried.alike == tried.runs {
                break;
            }
        }
        Ok(())
    }

    /// Why there may be no more runs.
    pub fn over(&self) -> Option<&'static str> {
        self.budget.over(self.begun.load(Ordering::Relaxed))
    }

    /// Takes a run from the budget, if there is one left.
    fn may_run(&self) -> bool {
        self.budget.over(self.begun.fetch_add(1, Ordering::Relaxed)).is_none()
    }

    /// Runs a schedule for which a run was taken.
    fn try_candidate(&self, candidate: &Candidate, digest: u64) -> Result<Tried, Failure> {
        let Candidate { number, schedule, was_observed } = candidate;
        let judged = self.judge(schedule, *was_observed)?;
        let mut proof = Proof { schedule: schedule.clone(), judged, runs: 1, alike: 1 };
        if proof.judged.judgement.verdict.is_failure() {
            proof = self.repeated(proof, candidate)?;
        }
        self.keep(*number, &proof.schedule)?;
        let Proof { schedule, judged: Judged { judgement, .. }, runs, alike } = proof;
        let tried = Tried { number: *number, digest, judgement, switches: schedule.switches() as u64, runs, alike };
        self.state.lock().add(tried.clone())?;
        self.show("");
        Ok(tried)
    }

    fn show(&self, phase: &str) {
        self.progress.lock().line(|| {
            let totals = self.state.lock().totals();
            let all = counted(totals.schedules as u64, "schedule");
            format!("{} of {all}: {} reached, {} failing{phase}", totals.run(), totals.reached(), totals.failing())
        });
    }

    fn judge(&self, schedule: &Schedule, was_observed: bool) -> Result<Judged, Failure> {
        let (ended, journal) = self.stage.steer(schedule, self.steering)?;
        let looks = Looks::from(&ended);
        let judgement = verdict::judge(schedule, &journal, &looks, &self.baseline.lock(), was_observed);
        Ok(Judged { judgement, looks })
    }

    /// What is left of a failure once it was looked at more closely.
    fn repeated(&self, once: Proof, candidate: &Candidate) -> Result<Proof, Failure> {
        let shorter = self.shortened(&once, candidate.number)?;
        let mut best = Proof { runs: 0, alike: 0, ..once.clone() };
        // The shorter one is better, if it works as well.
        for schedule in [shorter, once.schedule.clone()] {
            let proof = self.again(&schedule, &once.judged, candidate.number)?;
            if best.runs == 0 || proof.alike > best.alike {
                best = proof;
            }
            if best.alike == best.runs && best.alike > 0 {
                break;
            }
        }
        let over = self.over();
        let failure = &once.judged.judgement.detail;
        let not_failing = |detail: String| {
            let verdict = if candidate.was_observed { Verdict::AlreadyObserved } else { Verdict::Confirmed };
            let judgement = Judgement { verdict, detail };
            Proof { judged: Judged { judgement, ..once.judged.clone() }, ..once.clone() }
        };
        match (best.alike, over) {
            (AGAIN, _) => Ok(best),
            (0, _) if best.runs == AGAIN => {
                Ok(not_failing(format!("except in one run, and not again in {AGAIN}: {failure}")))
            }
            (alike, Some(why)) => {
                let mut best = if alike == 0 { once } else { best };
                let detail = &mut best.judged.judgement.detail;
                *detail = format!("{detail}; it was not run more often, since {why}");
                Ok(best)
            }
            (_, None) if self.is_ordinary(&best.judged.looks)? => {
                Ok(not_failing(format!("except as it sometimes does in ordinary runs too: {failure}")))
            }
            (_, None) => Ok(best),
        }
    }

    /// Whether the program ends so by itself too, if it is only run often enough. What is learned of it is kept.
    fn is_ordinary(&self, looks: &Looks) -> Result<bool, Failure> {
        self.show("; ordinary runs");
        let (more, _) = self.stage.baseline(MORE_ORDINARY, false, &self.steering.pin)?;
        let mut baseline = self.baseline.lock();
        baseline.runs.extend(more.runs);
        self.state.lock().widen_baseline(&baseline)?;
        Ok(baseline.failure_of(looks).is_none())
    }

    /// The same failure with fewer switches.
    fn shortened(&self, proof: &Proof, number: usize) -> Result<Schedule, Failure> {
        let deadline = Deadline::after(Some(TIME_TO_SHORTEN));
        let Judged { judgement, looks } = &proof.judged;
        let is_slow = looks.exit == Exit::Timeout && judgement.verdict != Verdict::Deadlock;
        let mut failed = None;
        let most = if is_slow { MOST_OF_SLOW } else { MOST_TO_SHORTEN };
        let shorter = minimal(&proof.schedule, most, |candidate| {
            if failed.is_some() || deadline.is_over() || !self.may_run() {
                return false;
            }
            self.show(&format!("; shortening {number}"));
            match self.judge(candidate, false) {
                Ok(judged) => judged.judgement.verdict.is_failure(),
                Err(failure) => {
                    failed = Some(failure);
                    false
                }
            }
        });
        failed.map_or(Ok(shorter), Err)
    }

    /// How often the program fails with it, and how, as far as the budget goes.
    fn again(&self, schedule: &Schedule, once: &Judged, number: usize) -> Result<Proof, Failure> {
        let mut proof = Proof { schedule: schedule.clone(), judged: once.clone(), runs: 0, alike: 0 };
        while proof.runs < AGAIN && self.may_run() {
            self.show(&format!("; repeating {number}, {} of {AGAIN}", proof.runs + 1));
            proof.runs += 1;
            let judged = self.judge(schedule, false)?;
            if judged.judgement.verdict.is_failure() {
                proof.alike += 1;
                if proof.alike == 1 {
                    proof.judged = judged;
                }
            }
        }
        Ok(proof)
    }

    fn keep(&self, number: usize, schedule: &Schedule) -> Result<(), Failure> {
        let path = file(self.directory, number);
        fs::write(&path, schedule.to_string()).map_err(|error| cannot("write", &path, &error))
    }
}

fn digest(schedule: &Schedule) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(schedule.to_string().as_bytes());
    hasher.finish()
}
