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
use crate::replay::schedule::Schedule;
use crate::replay::verdict::{self, Baseline, Judgement, Looks};
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
/// A failing schedule is run so often again.
const AGAIN: u64 = 10;

/// How much a hunt may cost.
pub struct Budget {
    pub deadline: Deadline,
    /// Runs of schedules; what makes a failing one shorter is not counted.
    pub runs: Option<usize>,
    pub jobs: usize,
}

pub struct Hunt<'a> {
    pub stage: &'a Stage,
    pub steering: &'a SteeringFlags,
    pub baseline: &'a Baseline,
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
        baseline: &'a Baseline,
        directory: &'a Path,
        budget: Budget,
        state: State,
    ) -> Hunt<'a> {
        let (state, progress) = (Mutex::new(state), Mutex::new(Progress::new()));
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
                None if self.is_over() => return Ok(()),
                None => self.try_candidate(candidate, digest)?,
            };
            if tried.judgement.verdict.is_failure() && tried.alike == tried.runs {
                break;
            }
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        let is_enough = self.budget.runs.is_some_and(|most| self.begun.fetch_add(1, Ordering::Relaxed) >= most);
        is_enough || self.budget.deadline.is_over()
    }

    fn try_candidate(&self, candidate: &Candidate, digest: u64) -> Result<Tried, Failure> {
        let Candidate { number, schedule, was_observed } = candidate;
        let mut judgement = self.judge(schedule, *was_observed)?;
        let (mut kept, mut runs, mut alike) = (schedule.clone(), 1, 1);
        if judgement.verdict.is_failure() {
            // The shorter one is better, if it works as well.
            for shorter in [self.shortened(schedule)?, schedule.clone()] {
                let (failing, again) = self.again(&shorter)?;
                if runs == 1 || failing > alike {
                    (kept, runs, alike) = (shorter, AGAIN, failing);
                    judgement = again.unwrap_or(judgement);
                }
                if failing == AGAIN {
                    break;
                }
            }
        }
        self.keep(*number, &kept)?;
        let tried = Tried { number: *number, digest, judgement, switches: kept.switches() as u64, runs, alike };
        let mut state = self.state.lock();
        state.add(tried.clone())?;
        let totals = state.totals();
        drop(state);
        self.progress.lock().line(|| {
            let all = counted(totals.schedules as u64, "schedule");
            format!("{} of {all}: {} reached, {} failing", totals.run(), totals.reached(), totals.failing())
        });
        Ok(tried)
    }

    fn judge(&self, schedule: &Schedule, was_observed: bool) -> Result<Judgement, Failure> {
        let (ended, journal) = self.stage.steer(schedule, self.steering)?;
        Ok(verdict::judge(schedule, &journal, &Looks::from(&ended), self.baseline, was_observed))
    }

    /// The same failure with fewer switches.
    fn shortened(&self, schedule: &Schedule) -> Result<Schedule, Failure> {
        let deadline = Deadline::after(Some(TIME_TO_SHORTEN));
        let mut failed = None;
        let shorter = minimal(schedule, MOST_TO_SHORTEN, |candidate| {
            if failed.is_some() || deadline.is_over() {
                return false;
            }
            match self.judge(candidate, false) {
                Ok(judgement) => judgement.verdict.is_failure(),
                Err(failure) => {
                    failed = Some(failure);
                    false
                }
            }
        });
        failed.map_or(Ok(shorter), Err)
    }

    /// How often the program fails with it, and how.
    fn again(&self, schedule: &Schedule) -> Result<(u64, Option<Judgement>), Failure> {
        let mut failing = 0;
        let mut how = None;
        for _ in 0..AGAIN {
            let judgement = self.judge(schedule, false)?;
            if judgement.verdict.is_failure() {
                failing += 1;
                how.get_or_insert(judgement);
            }
        }
        Ok((failing, how))
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
