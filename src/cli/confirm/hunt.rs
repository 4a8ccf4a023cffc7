//! Runs schedule after schedule, as far as time and patience go.

use super::cases::{AT_FIRST, Candidate, Case};
use super::state::{State, Tried};
use crate::cli::exit::Failure;
use crate::cli::figures::counted;
use crate::cli::own_directory::cannot;
use crate::cli::predict::effort::Deadline;
use crate::cli::progress::Progress;
use crate::cli::stage::{Stage, SteeringFlags};
use crate::replay::control::{Control, controls};
use crate::replay::journal::held_ms;
use crate::replay::looks::{Baseline, Looks};
use crate::replay::minimal::minimal;
use crate::replay::run::Exit;
use crate::replay::schedule::Schedule;
use crate::replay::verdict::{self, Judgement, Verdict};
use parking_lot::Mutex;
use std::fs;
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
/// The program may fail so by itself, or since something else is not as it was before: so many ordinary runs after the first failure tell, ...
const ORDINARY_AT_ONCE: u32 = 1;
/// ... so many after all others, ...
const ORDINARY_AFTER: u32 = 3;
/// ... and so many if it fails in some of its runs only, or ordinary runs sometimes fail too.
const ORDINARY_OF_SOME: u32 = 10;
/// A failure in fewer of its runs may be there by chance, even if no run that it is compared with has it.
const FEWEST_OF_SOME: u64 = 3;

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
    /// For so long the block was open.
    held_ms: u64,
}

impl Judged {
    /// Whether the program failed as badly as in another run of the violation: what only its output tells is not the crash that another one ended in.
    fn is_as_bad_as(&self, other: &Judged) -> bool {
        let (mine, its) = (&self.judgement, &other.judgement);
        mine.verdict.fails_as_much_as(its.verdict) && (its.is_by_output || !mine.is_by_output)
    }
}

/// What a schedule proves, and in how many of its runs.
#[derive(Clone)]
struct Proof {
    schedule: Schedule,
    judged: Judged,
    runs: u64,
    alike: u64,
    /// Each run in which the program failed.
    failures: Vec<Judged>,
    is_unfinished: bool,
}

impl Proof {
    fn new(schedule: &Schedule, judged: Judged, runs: u64, alike: u64) -> Proof {
        Proof { schedule: schedule.clone(), judged, runs, alike, failures: Vec::new(), is_unfinished: false }
    }

    /// Counts one more run.
    fn add(&mut self, judged: Judged) {
        self.runs += 1;
        if judged.is_as_bad_as(&self.judged) {
            self.failures.push(judged);
            self.count();
        }
    }

    /// Takes back the failures that are none after all.
    fn keep(&mut self, counts: impl Fn(&Looks) -> bool) {
        self.failures.retain(|failed| counts(&failed.looks));
        self.count();
    }

    fn count(&mut self) {
        self.alike = self.failures.len() as u64;
        if let Some(first) = self.failures.first() {
            self.judged = first.clone();
        }
    }

    /// The same run, if the failure is none.
    fn without_failure(mut self, detail: String) -> Proof {
        let judgement = &mut self.judged.judgement;
        *judgement = Judgement::new(judgement.verdict.without_failure(self.schedule.was_observed), detail);
        self
    }

    /// The same, if there was no time or no run to know more.
    fn unfinished(mut self, why: &str) -> Proof {
        let detail = &mut self.judged.judgement.detail;
        *detail = format!("{detail}; it was not run more often, since {why}");
        self.is_unfinished = true;
        self
    }
}

/// What ordinary runs say of a failure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Compared {
    /// None has it.
    New,
    /// Less than half of them have it.
    Rare,
    Ordinary,
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

    /// Tries all cases, several at a time: some schedules of each, and more of those with which nothing failed. What was done until a failure
    /// is in the state.
    pub fn run(&self, cases: &[&Case]) -> Result<(), Failure> {
        let split = |case: &Case| AT_FIRST.min(case.candidates.len());
        self.run_parts(cases, |case| &case.candidates[..split(case)])?;
        self.run_parts(cases, |case| if self.has_failed(case) { &[] } else { &case.candidates[split(case)..] })
    }

    fn run_parts<'c>(
        &self,
        cases: &[&'c Case],
        part: impl Fn(&'c Case) -> &'c [Candidate] + Sync,
    ) -> Result<(), Failure> {
        let next = AtomicUsize::new(0);
        let failure = Mutex::new(None);
        let work = || {
            while failure.lock().is_none() {
                let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                if let Err(error) = self.try_candidates(part(case)) {
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

    fn has_failed(&self, case: &Case) -> bool {
        let state = self.state.lock();
        let tried = case.candidates.iter().filter_map(|candidate| state.tried.get(&candidate.digest));
        tried.into_iter().any(|tried| tried.judgement.verdict.is_failure())
    }

    /// What was done.
    pub fn finish(self) -> State {
        self.state.into_inner()
    }

    /// Tries schedules of a finding until the program fails with one every time.
    fn try_candidates(&self, candidates: &[Candidate]) -> Result<(), Failure> {
        for candidate in candidates {
            let known = self.state.lock().tried.get(&candidate.digest).cloned();
            let tried = match known.filter(|tried| !tried.is_unfinished) {
                Some(tried) => tried,
                None if !self.may_run() => return Ok(()),
                None => self.try_candidate(candidate)?,
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
    fn try_candidate(&self, candidate: &Candidate) -> Result<Tried, Failure> {
        let &Candidate { number, digest, ref schedule } = candidate;
        let judged = self.judge(schedule, &[])?;
        let mut proof = Proof::new(schedule, judged, 1, 1);
        let mut controls = Vec::new();
        if proof.judged.judgement.verdict.is_failure() {
            proof = self.looked_at(proof, number, &mut controls)?;
        }
        self.keep(number, &proof.schedule)?;
        let Proof { schedule, judged: Judged { judgement, .. }, runs, alike, is_unfinished, failures: _ } = proof;
        let switches = schedule.switches() as u64;
        let tried = Tried { number, digest, judgement, switches, runs, alike, controls, is_unfinished };
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

    /// Runs a schedule, and judges it by all that is known.
    fn judge(&self, schedule: &Schedule, controls: &[Looks]) -> Result<Judged, Failure> {
        let (ended, journal) = self.stage.steer(schedule, self.steering)?;
        let looks = Looks::from(&ended);
        let judgement = verdict::judge(schedule, &journal, &looks, &self.known(controls));
        Ok(Judged { judgement, looks, held_ms: held_ms(&journal, ended.duration) })
    }

    /// Everything that a failure is compared with: ordinary runs, the recorded one, and those in which the threads were held without the violation.
    fn known(&self, controls: &[Looks]) -> Baseline {
        let mut known = self.baseline.lock().clone();
        known.controls.extend(controls.iter().cloned());
        known
    }

    /// What is left of a failure once it was looked at more closely. Adds the runs that it was compared with: a failure of one of those counts nowhere.
    fn looked_at(&self, once: Proof, number: usize, controls: &mut Vec<Looks>) -> Result<Proof, Failure> {
        if self.budget.deadline.is_over() {
            let failure = &once.judged.judgement.detail;
            let told = format!("except that, in the only run, {failure}; nobody looked whether it does so by itself");
            return Ok(once.without_failure(told).unfinished("the time was over"));
        }
        if self.compare(&once.judged.looks, ORDINARY_AT_ONCE)? == Compared::Ordinary {
            return Ok(self.ordinary(once));
        }
        controls.extend(self.controls(&once, 1)?);
        if self.known(controls).possible_failure_of(&once.judged.looks).is_none() {
            return Ok(held(once));
        }
        let mut best = self.repeated(&once, number, controls)?;
        if let Some(why) = self.over().filter(|_| best.runs < AGAIN) {
            return Ok(if best.alike == 0 { once } else { best }.unfinished(why));
        }
        if best.alike == 0 {
            let told = format!("except in one run, and not again in {AGAIN}: {}", once.judged.judgement.detail);
            return Ok(once.without_failure(told));
        }
        let is_sure = best.alike == AGAIN;
        let mut seen = self.compare(&best.judged.looks, if is_sure { ORDINARY_AFTER } else { ORDINARY_OF_SOME })?;
        if is_sure && seen == Compared::Rare {
            seen = self.compare(&best.judged.looks, ORDINARY_OF_SOME)?;
        }
        if seen == Compared::Ordinary || !is_sure && seen == Compared::Rare {
            return Ok(self.ordinary(best));
        }
        if !is_sure || best.schedule != once.schedule {
            controls.extend(self.controls(&best, if is_sure { 1 } else { AGAIN })?);
        }
        let known = self.known(controls);
        best.keep(|looks| known.possible_failure_of(looks).is_some());
        if best.alike < AGAIN {
            best.keep(|looks| known.failure_of(looks).is_some());
        }
        Ok(match best.alike {
            0 => held(best),
            alike @ 1..FEWEST_OF_SOME => {
                let failure = &best.judged.judgement.detail;
                let told = format!("except in {alike} of {AGAIN} runs, too few to know why: {failure}");
                best.without_failure(told)
            }
            _ => Proof { judged: self.with_rate(best.judged), ..best },
        })
    }

    /// A failure that ordinary runs have too is none.
    fn ordinary(&self, proof: Proof) -> Proof {
        let failure = self.with_rate(proof.judged.clone()).judgement.detail;
        proof.without_failure(format!("except as it sometimes does in ordinary runs too: {failure}"))
    }

    /// The same, with what is known of ordinary runs by now.
    fn with_rate(&self, mut judged: Judged) -> Judged {
        let Judged { judgement, looks, .. } = &mut judged;
        if judgement.verdict == Verdict::Failing
            && let Some(failure) = self.baseline.lock().rate_of(looks.exit)
        {
            judgement.detail = failure;
        }
        judged
    }

    /// The failure with fewer switches, if it comes as often then, and how often that is.
    fn repeated(&self, once: &Proof, number: usize, controls: &[Looks]) -> Result<Proof, Failure> {
        let shorter = self.shortened(once, number, controls)?;
        let best = self.again(&shorter, &once.judged, number, controls)?;
        // The same schedule is not given a second chance.
        if best.alike == best.runs || shorter == once.schedule {
            return Ok(best);
        }
        let whole = self.again(&once.schedule, &once.judged, number, controls)?;
        Ok(if whole.alike > best.alike { whole } else { best })
    }

    /// Whether the program ends so by itself too, if it is only run often enough. What is learned of it is kept.
    fn compare(&self, looks: &Looks, runs: u32) -> Result<Compared, Failure> {
        let before = self.compared(looks);
        self.run_ordinarily(runs)?;
        // A few runs tell little of what comes by chance.
        if before != Compared::Ordinary && self.compared(looks) == Compared::Ordinary && runs < ORDINARY_OF_SOME {
            self.run_ordinarily(ORDINARY_OF_SOME)?;
        }
        Ok(self.compared(looks))
    }

    fn run_ordinarily(&self, runs: u32) -> Result<(), Failure> {
        self.show("; ordinary runs");
        let (more, _) = self.stage.baseline(runs, false, &self.steering.pin, &self.budget.deadline)?;
        let mut baseline = self.baseline.lock();
        baseline.runs.extend(more.runs);
        self.state.lock().widen_baseline(&baseline)
    }

    fn compared(&self, looks: &Looks) -> Compared {
        let baseline = self.baseline.lock();
        match (baseline.failure_of(looks), baseline.possible_failure_of(looks)) {
            (Some(_), _) => Compared::New,
            (None, Some(_)) => Compared::Rare,
            (None, None) => Compared::Ordinary,
        }
    }

    /// How the program runs when its threads are held without the violation, as far as it can be held so, each way so often. These runs are
    /// not taken from the budget: without them nobody knows what the failure is.
    fn controls(&self, proof: &Proof, times: u64) -> Result<Vec<Looks>, Failure> {
        let mut all = Vec::new();
        for Control { whole, part } in controls(&proof.schedule, proof.judged.held_ms) {
            for schedule in whole.iter().chain([&part]) {
                let followed = self.held(schedule, times)?;
                if !followed.is_empty() {
                    all.extend(followed);
                    break;
                }
            }
        }
        Ok(all)
    }

    /// Runs that took all turns of a schedule: none if the first one did not.
    fn held(&self, schedule: &Schedule, times: u64) -> Result<Vec<Looks>, Failure> {
        let mut followed = Vec::new();
        for _ in 0..times {
            self.show("; comparing");
            let (ended, journal) = self.stage.steer(schedule, self.steering)?;
            if verdict::is_followed(&journal) {
                followed.push(Looks::from(&ended));
            } else if followed.is_empty() {
                break;
            }
        }
        Ok(followed)
    }

    /// The same failure with fewer switches.
    fn shortened(&self, proof: &Proof, number: usize, controls: &[Looks]) -> Result<Schedule, Failure> {
        let deadline = Deadline::after(Some(TIME_TO_SHORTEN));
        let Judged { judgement, looks, .. } = &proof.judged;
        let is_slow = looks.exit == Exit::Timeout && judgement.verdict != Verdict::Deadlock;
        let mut failed = None;
        let most = if is_slow { MOST_OF_SLOW } else { MOST_TO_SHORTEN };
        let shorter = minimal(&proof.schedule, most, |candidate| {
            if failed.is_some() || deadline.is_over() || !self.may_run() {
                return false;
            }
            self.show(&format!("; shortening {number}"));
            match self.judge(candidate, controls) {
                Ok(judged) => judged.is_as_bad_as(&proof.judged),
                Err(failure) => {
                    failed = Some(failure);
                    false
                }
            }
        });
        failed.map_or(Ok(shorter), Err)
    }

    /// How often the program fails with it, and how, as far as the budget goes.
    fn again(&self, schedule: &Schedule, once: &Judged, number: usize, controls: &[Looks]) -> Result<Proof, Failure> {
        let mut proof = Proof::new(schedule, once.clone(), 0, 0);
        while proof.runs < AGAIN && self.may_run() {
            self.show(&format!("; repeating {number}, {} of {AGAIN}", proof.runs + 1));
            proof.add(self.judge(schedule, controls)?);
        }
        Ok(proof)
    }

    fn keep(&self, number: usize, schedule: &Schedule) -> Result<(), Failure> {
        let path = file(self.directory, number);
        fs::write(&path, schedule.to_string()).map_err(|error| cannot("write", &path, &error))
    }
}

/// A failure that comes too if the threads are held without the violation is none.
fn held(proof: Proof) -> Proof {
    let failure = &proof.judged.judgement.detail;
    let told = format!(
        "except as it does too if its threads wait, and the culprit comes after the block or before it: {failure}"
    );
    proof.without_failure(told)
}
