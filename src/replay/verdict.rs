//! What a run proves: from the gate's journal and the end of the program to a verdict.

use serde::{Deserialize, Serialize};

use super::journal::{Entry, Found, Waiting, Why, deadlock};
use super::looks::{Baseline, Failure, Looks};
use super::run::Exit;
use super::schedule::{Place, Role, Schedule, Step};
use crate::event::ThreadId;
use crate::report::modules::file_name;

macro_rules! verdicts {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $meaning:literal;)*) => {
        /// What came of a schedule.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Verdict { $($(#[$doc])* $variant,)* }

        impl Verdict {
            /// The one that proves most comes first.
            pub const ALL: &'static [Verdict] = &[$(Verdict::$variant),*];
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            #[must_use]
            pub const fn name(self) -> &'static str {
                Verdict::NAMES[self as usize]
            }

            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Verdict::$variant => $meaning,)* }
            }
        }
    };
}

verdicts! {
    Failing = "failing", "the steps ran in the violating order, and the program failed as it does not otherwise, or far less often";
    Deadlock = "deadlock", "in the violating order, every thread waits for another one";
    FailingEarly = "failing_early", "the culprit came after the first step, and the program failed as it does not otherwise, or far less often; the last step did not come as predicted";
    Confirmed = "confirmed", "the steps ran in the violating order; the program did not fail";
    AlreadyObserved = "already_observed", "the recorded run had the violating order already; the program did not fail";
    Infeasible = "infeasible", "a step of the schedule could not be taken";
    Diverged = "diverged", "the program did something else than in the recorded run, so the violation was not reached";
}

impl Verdict {
    /// Whether the violating order really happened.
    #[must_use]
    pub const fn is_reached(self) -> bool {
        matches!(self, Verdict::Failing | Verdict::Deadlock | Verdict::Confirmed | Verdict::AlreadyObserved)
    }

    /// Whether something went wrong then.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        matches!(self, Verdict::Failing | Verdict::Deadlock | Verdict::FailingEarly)
    }

    /// Whether it is a failure, and the violating order happened if it did with the other one.
    #[must_use]
    pub const fn fails_as_much_as(self, other: Verdict) -> bool {
        self.is_failure() && (self.is_reached() || !other.is_reached())
    }

    /// What is left of it if that was no failure.
    #[must_use]
    pub const fn without_failure(self, was_observed: bool) -> Verdict {
        match self {
            Verdict::Failing if was_observed => Verdict::AlreadyObserved,
            Verdict::Failing => Verdict::Confirmed,
            Verdict::Deadlock | Verdict::FailingEarly => Verdict::Diverged,
            other => other,
        }
    }
}

/// A verdict, and what there is to say of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Judgement {
    pub verdict: Verdict,
    /// How the program failed, which step could not be taken, what the program did instead. Empty if there is nothing to add.
    pub detail: String,
    /// It is a failure of which nothing but the output tells: whether that may be so, only people know.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_by_output: bool,
}

impl Judgement {
    #[must_use]
    pub fn new(verdict: Verdict, detail: impl Into<String>) -> Judgement {
        Judgement { verdict, detail: detail.into(), is_by_output: false }
    }
}

/// Judges a run that was to follow a schedule.
#[must_use]
pub fn judge(schedule: &Schedule, journal: &[Entry], looks: &Looks, baseline: &Baseline) -> Judgement {
    let is_by_output = |failure: &Failure| matches!(failure, Failure::Output(_));
    let judgement = |verdict, detail: String| Judgement::new(verdict, detail);
    // As long as the gate holds threads, it is not the program that takes so long.
    let is_held = !journal.iter().any(|entry| matches!(entry, Entry::Free { .. }));
    let is_cut_short = is_held && looks.exit == Exit::Timeout && deadlock(journal).is_none();
    let failure = baseline.possible_failure_of(looks).filter(|_| !is_cut_short);
    let often = baseline.told_of_ordinary(looks.exit);
    let told = |failure: Failure| match failure {
        Failure::Message(_) | Failure::Output(_) => failure.to_string(),
        Failure::Timeout | Failure::Signal(_) | Failure::Code(_) => format!("{failure}{often}"),
    };
    let reached = Reached::in_journal(journal, matches!(failure, Some(Failure::Signal(_) | Failure::Code(_))));
    if let Some((threads, _)) = reached.is_cut().then(|| deadlock(journal)).flatten() {
        return judgement(Verdict::Deadlock, waiting(threads));
    }
    if reached.is_violation(schedule.has(Role::CulpritToo)) {
        return match failure {
            _ if is_cut_short => judgement(Verdict::Confirmed, CUT_SHORT.to_owned()),
            // Nobody knows whether it always ends so.
            failure if baseline.is_empty() => {
                judgement(Verdict::Confirmed, failure.unwrap_or_else(|| looks.exit.into()).to_string())
            }
            Some(failure) => {
                Judgement { is_by_output: is_by_output(&failure), ..judgement(Verdict::Failing, told(failure)) }
            }
            None if schedule.was_observed => judgement(Verdict::AlreadyObserved, baseline.told_of_usual(looks)),
            None => judgement(Verdict::Confirmed, baseline.told_of_usual(looks)),
        };
    }
    let obstacle = journal.iter().find_map(|entry| obstacle(entry, schedule));
    let is_steered = journal.iter().any(|entry| matches!(entry, Entry::Steered { .. }));
    let (verdict, mut detail) = obstacle.unwrap_or_else(|| {
        (Verdict::Diverged, if is_steered { reached.missing(schedule) } else { not_steered(schedule, journal) })
    });
    if is_cut_short {
        detail = if is_steered { format!("{detail}; {CUT_SHORT}") } else { NEVER_BEGAN.to_owned() };
    }
    match failure {
        // Whether the missing step would have mattered nobody knows; the program has not been here before.
        // As long as turns are left, it may be the gate for which a program waits that does not end.
        Some(failure) if reached.is_cut() && !baseline.is_empty() && failure != Failure::Timeout => {
            let is_by_output = is_by_output(&failure);
            Judgement { is_by_output, ..judgement(Verdict::FailingEarly, format!("{}; {detail}", told(failure))) }
        }
        Some(failure) if baseline.is_empty() => judgement(verdict, format!("{detail}; {failure}")),
        Some(failure) => judgement(verdict, format!("{detail}; {failure}, but not for this violation")),
        None => judgement(verdict, detail),
    }
}

/// Whether a run took all turns of its schedule, as far as it lived.
#[must_use]
pub fn is_followed(journal: &[Entry]) -> bool {
    let is_steered = journal.iter().any(|entry| matches!(entry, Entry::Steered { .. }));
    is_steered && !journal.iter().any(|entry| matches!(entry, Entry::Skipped { .. } | Entry::Unsought | Entry::Full))
}

/// What is said of a run that was not let go on.
const CUT_SHORT: &str = "the time of the run was over while threads were still held for others: give it more by --timeout, or those less by --step-timeout";

/// The same if it had not come so far.
const NEVER_BEGAN: &str = "its time was over before it created a thread: give it more by --timeout";

/// Why no process was steered.
fn not_steered(schedule: &Schedule, journal: &[Entry]) -> String {
    let name = &schedule.program.name;
    // Counted from 0.
    match journal.iter().filter(|entry| matches!(entry, Entry::Other { .. })).count() {
        0 => format!("no process of '{name}' with the build id of the schedule created a thread; was it rebuilt?"),
        1 => format!(
            "only one process of '{name}' created threads, and the schedule is of number {}",
            schedule.process + 1
        ),
        others => format!(
            "only {others} processes of '{name}' created threads, and the schedule is of number {}",
            schedule.process + 1
        ),
    }
}

/// Bytes of memory, or a lock.
#[derive(Clone, Copy)]
struct Object {
    address: u64,
    size: u64,
}

impl Object {
    fn overlaps(self, other: Object) -> bool {
        let end = |object: Object| object.address.saturating_add(object.size.max(1));
        self.address < end(other) && other.address < end(self)
    }
}

/// The steps with a role, as they came.
#[derive(Default)]
struct Reached(Vec<(Role, Object)>);

impl Reached {
    /// What is in a journal. Of a program that died the last step may be missing: it was about to be taken, and that was its end.
    fn in_journal(journal: &[Entry], has_died: bool) -> Reached {
        let role = |entry: &Entry| match *entry {
            Entry::Role { role, object, size, .. } => Some((role, Object { address: object, size })),
            Entry::Due { role, object, size, .. } if has_died => Some((role, Object { address: object, size })),
            _ => None,
        };
        Reached(journal.iter().filter_map(role).collect())
    }

    /// When a role was played, and on what.
    fn at(&self, role: Role) -> Option<(usize, Object)> {
        let (index, (_, object)) = self.0.iter().enumerate().find(|(_, (played, _))| *played == role)?;
        Some((index, *object))
    }

    /// Whether the culprit came after the first: from here on the program is in a state that it was not in before.
    fn is_cut(&self) -> bool {
        matches!((self.at(Role::First), self.at(Role::Culprit)), (Some((first, _)), Some((culprit, _))) if first < culprit)
    }

    fn is_violation(&self, has_two_variables: bool) -> bool {
        let (Some(first), Some(culprit)) = (self.at(Role::First), self.at(Role::Culprit)) else { return false };
        if let Some(used) = self.at(Role::Use) {
            return first.0 < culprit.0 && culprit.0 < used.0 && first.1.overlaps(culprit.1);
        }
        let Some(second) = self.at(Role::Second) else { return false };
        let too = if has_two_variables { self.at(Role::CulpritToo) } else { Some(culprit) };
        let Some(too) = too else { return false };
        // Of two variables, the culprit's two accesses need not both lie between the others: each pair has its order.
        first.0 < culprit.0 && too.0 < second.0 && first.1.overlaps(culprit.1) && too.1.overlaps(second.1)
    }

    /// Which step did not come, if no other reason is known.
    fn missing(&self, schedule: &Schedule) -> String {
        let all = schedule.roles();
        match all.iter().find(|(role, ..)| self.at(*role).is_none()) {
            Some((_, thread, place)) => format!("{} did not come before the program ended", step(*thread, place)),
            None => "the steps ran on other objects, or in another order".to_owned(),
        }
    }
}

impl Schedule {
    fn has(&self, role: Role) -> bool {
        self.turns.iter().flat_map(|turn| &turn.steps).any(|step| step.role == Some(role))
    }

    /// The steps that the violation is about, in its order.
    #[must_use]
    pub fn roles(&self) -> Vec<(Role, ThreadId, &Place)> {
        let in_turn = |step: &Step| Some((step.role?, self.places.get(step.place as usize)?));
        self.turns
            .iter()
            .flat_map(|turn| turn.steps.iter().filter_map(in_turn).map(|(role, place)| (role, turn.thread, place)))
            .collect()
    }

    fn told(&self, number: u32) -> String {
        self.places.get(number as usize).map_or_else(|| format!("place {number}"), Place::told)
    }
}

impl Place {
    /// For the middle of a sentence.
    #[must_use]
    pub fn told(&self) -> String {
        if self.name.is_empty() { self.act.word().to_owned() } else { format!("{} at {}", self.act.word(), self.name) }
    }
}

/// A step of a thread, for the middle of a sentence.
#[must_use]
pub fn step(thread: ThreadId, place: &Place) -> String {
    format!("T{thread}: {}", place.told())
}

fn found(found: &Found) -> String {
    let place = match (&found.name, &*found.module) {
        (Some(name), _) => name.clone(),
        (None, "") => format!("{:#x}", found.offset),
        (None, path) => format!("{}+{:#x}", file_name(path), found.offset),
    };
    format!("{} at {place}", found.act.word())
}

/// Why a run did not come to its violation, as far as this entry knows.
fn obstacle(entry: &Entry, schedule: &Schedule) -> Option<(Verdict, String)> {
    match entry {
        Entry::Difference { thread, turn, expected, found: did } => {
            let expected = expected.map_or_else(|| "nothing more".to_owned(), |place| schedule.told(place));
            Some((Verdict::Diverged, format!("turn {turn}, T{thread}: expected {expected}, found {}", found(did))))
        }
        Entry::Skipped { turn, thread, expected, why } => {
            let (verdict, why) = match why {
                Why::Blocked => (Verdict::Infeasible, "it waits for a lock or for another thread"),
                Why::Late => (Verdict::Infeasible, "it did not come there in time"),
                Why::Ended => (Verdict::Diverged, "it ended before"),
                Why::Unborn => (Verdict::Diverged, "it was never created"),
            };
            Some((verdict, format!("turn {turn}, T{thread}: {} could not be: {why}", schedule.told(*expected))))
        }
        Entry::Deadlock { threads, .. } => Some((Verdict::Infeasible, waiting(threads))),
        Entry::Unsought => Some((
            Verdict::Diverged,
            "the program loaded and unloaded libraries so often that their places were not looked for any more"
                .to_owned(),
        )),
        Entry::Full => {
            Some((Verdict::Diverged, "so much happened that avmon had no room to tell of the later steps".to_owned()))
        }
        Entry::Resumed
        | Entry::Other { .. }
        | Entry::Steered { .. }
        | Entry::Thread { .. }
        | Entry::Awaited { .. }
        | Entry::Role { .. }
        | Entry::Due { .. }
        | Entry::Free { .. } => None,
    }
}

/// Who waits in a deadlock, if the gate told one.
#[must_use]
pub fn told_deadlock(journal: &[Entry]) -> Option<String> {
    deadlock(journal).map(|(threads, _)| format!("deadlock: {}", waiting(threads)))
}

fn waiting(threads: &[Waiting]) -> String {
    let one = |waiting: &Waiting| format!("T{} waits: {}", waiting.thread, found(&waiting.at));
    threads.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::looks::samples::{PASSED, baseline, looks};
    use super::*;
    use crate::replay::journal::Figures;
    use crate::replay::schedule::Act;

    fn schedule() -> Schedule {
        "avmon schedule 1
program teller - 0
module 0 teller -
place 0 0+10 lock balance teller.c:15
place 1 0+20 write balance teller.c:17
turn 1 0!first
turn 2 0!culprit
turn 1 1 0!second
"
        .parse()
        .unwrap()
    }

    fn role(role: Role, object: u64) -> Entry {
        Entry::Role { role, thread: 1, object, size: 4, turn: 0, at_ms: 0 }
    }

    fn reached() -> Vec<Entry> {
        vec![
            Entry::Steered { pid: 1 },
            role(Role::First, 100),
            role(Role::Culprit, 102),
            role(Role::Second, 100),
            Entry::Free { turn: 3, figures: Figures::default() },
        ]
    }

    #[test]
    fn a_run_that_was_held_to_its_end_did_not_fail() {
        let mut journal = reached();
        let free = judged(&journal, Exit::Timeout);
        assert_eq!(free.verdict, Verdict::Failing, "it was let go on: {}", free.detail);
        journal.pop();
        let held = judged(&journal, Exit::Timeout);
        assert_eq!(held.verdict, Verdict::Confirmed, "{}", held.detail);
        assert!(held.detail.contains("--timeout"), "{}", held.detail);
        let before = judged(&journal[..2], Exit::Timeout);
        assert_eq!(before.verdict, Verdict::Diverged, "{}", before.detail);
        assert!(!before.detail.contains("in time"), "{}", before.detail);
    }

    #[test]
    fn a_process_that_never_came_is_told_from_a_rebuilt_program() {
        let of_second = Schedule { process: 1, ..schedule() };
        let detail = |journal: &[Entry]| judge(&of_second, journal, &looks(PASSED), &Baseline::default()).detail;
        assert!(detail(&[]).contains("rebuilt"), "{}", detail(&[]));
        let other = detail(&[Entry::Other { process: 0 }]);
        assert!(other.contains("only one process") && other.contains("number 2"), "{other}");
    }

    fn judged(journal: &[Entry], exit: Exit) -> Judgement {
        judge(&schedule(), journal, &looks(exit), &baseline())
    }

    #[test]
    fn the_steps_in_their_order_confirm() {
        assert_eq!(judged(&reached(), PASSED), Judgement::new(Verdict::Confirmed, String::new()));
        let observed = Schedule { was_observed: true, ..schedule() };
        let seen = judge(&observed, &reached(), &looks(PASSED), &baseline());
        assert_eq!(seen.verdict, Verdict::AlreadyObserved);
    }

    #[test]
    fn a_failure_that_the_baseline_has_not_makes_it_failing() {
        let failed = |exit| judged(&reached(), exit).detail;
        assert_eq!(failed(Exit::Code(3)), "it ended with exit code 3");
        assert_eq!(failed(Exit::Signal(libc::SIGABRT)), "it was killed by signal 6 (SIGABRT)");
        assert_eq!(failed(Exit::Timeout), "it did not end in time");
        let other = Looks { stdout: 9, ..looks(PASSED) };
        let judged = judge(&schedule(), &reached(), &other, &baseline());
        assert_eq!(
            (judged.verdict, &*judged.detail),
            (Verdict::Failing, "its output differs from that of every ordinary run")
        );
        let other = Looks { message: Some("a.c:1: Assertion `x' failed".into()), ..looks(PASSED) };
        assert!(judge(&schedule(), &reached(), &other, &baseline()).detail.contains("Assertion `x'"));
    }

    #[test]
    fn only_another_failure_counts_where_the_program_fails_by_itself() {
        let baseline = Baseline { runs: vec![looks(Exit::Code(1)), looks(PASSED)], ..Baseline::default() };
        assert_eq!(baseline.failure_of(&looks(Exit::Code(1))), None);
        assert_eq!(baseline.failure_of(&looks(Exit::Code(2))), Some(Failure::Code(2)));
        assert_eq!(
            baseline.remarks(),
            [
                "the program fails when nobody steers it, in 1 of 2 ordinary runs (it ended with exit code 1); only another failure counts"
            ]
        );
        let usual = judge(&schedule(), &reached(), &looks(Exit::Code(1)), &baseline);
        let told = "except as it does in ordinary runs too: it ended with exit code 1, as in 1 of 2 ordinary runs";
        assert_eq!(usual, Judgement::new(Verdict::Confirmed, told));
        let always = Baseline { runs: vec![looks(Exit::Signal(11)); 3], ..Baseline::default() };
        assert_eq!(always.failure_of(&looks(PASSED)), None, "it passed for once");
    }

    #[test]
    fn what_ordinary_runs_do_seldom_may_be_a_failure() {
        let mut seldom = baseline();
        seldom.runs[1] = looks(Exit::Code(4));
        assert_eq!(seldom.failure_of(&looks(Exit::Code(4))), None);
        assert_eq!(seldom.possible_failure_of(&looks(Exit::Code(4))), Some(Failure::Code(4)));
        assert!(seldom.remarks()[0].contains("where a schedule brings it about every time"), "{:?}", seldom.remarks());
        let judged = judge(&schedule(), &reached(), &looks(Exit::Code(4)), &seldom);
        let told = "it ended with exit code 4, as in 1 of 3 ordinary runs";
        assert_eq!(judged, Judgement::new(Verdict::Failing, told));
        seldom.controls.push(looks(Exit::Code(4)));
        assert_eq!(seldom.possible_failure_of(&looks(Exit::Code(4))), None, "threads that wait bring it about");
    }

    #[test]
    fn without_a_baseline_nobody_knows_what_a_failure_is() {
        let judged = |exit| judge(&schedule(), &reached(), &looks(exit), &Baseline::default());
        for (exit, detail) in [(PASSED, "it ended with exit code 0"), (Exit::Code(3), "it ended with exit code 3")] {
            assert_eq!(judged(exit), Judgement::new(Verdict::Confirmed, detail));
        }
    }

    #[test]
    fn other_orders_and_other_objects_confirm_nothing() {
        let mut swapped = reached();
        swapped.swap(2, 3);
        assert_eq!(judged(&swapped, PASSED).verdict, Verdict::Diverged);
        let mut elsewhere = reached();
        elsewhere[2] = role(Role::Culprit, 104);
        assert_eq!(judged(&elsewhere, PASSED).verdict, Verdict::Diverged);
        let judged = judged(&elsewhere, Exit::Code(1));
        assert_eq!(judged.verdict, Verdict::FailingEarly);
        assert_eq!(judged.detail, "it ended with exit code 1; the steps ran on other objects, or in another order");
    }

    #[test]
    fn a_failure_before_the_culprit_came_is_of_something_else() {
        let mut journal = reached();
        journal.truncate(2);
        let judged = judged(&journal, Exit::Code(1));
        assert_eq!(judged.verdict, Verdict::Diverged);
        assert!(judged.detail.ends_with("it ended with exit code 1, but not for this violation"), "{judged:?}");
        let unknown = judge(&schedule(), &journal, &looks(Exit::Code(1)), &Baseline::default());
        assert!(unknown.detail.ends_with("; it ended with exit code 1"), "{unknown:?}");
        journal.push(role(Role::Culprit, 102));
        let judged = judge(&schedule(), &journal, &looks(Exit::Code(1)), &Baseline::default());
        assert_eq!(judged.verdict, Verdict::Diverged, "without a baseline nobody knows what a failure is: {judged:?}");
    }

    #[test]
    fn of_two_variables_both_accesses_of_the_culprit_are_asked_for() {
        let text = schedule().to_string().replace("turn 2 0!culprit", "turn 2 0!culprit_too 0!culprit");
        let two: Schedule = text.parse().unwrap();
        let verdict = |journal: &[Entry]| judge(&two, journal, &looks(PASSED), &baseline()).verdict;
        assert_eq!(verdict(&reached()), Verdict::Diverged);
        let mut both = reached();
        both[3] = role(Role::Second, 200);
        both.insert(2, role(Role::CulpritToo, 200));
        assert_eq!(verdict(&both), Verdict::Confirmed);
        // The culprit's first access may come first of all, and its last one last.
        both.swap(1, 2);
        both.swap(3, 4);
        assert_eq!(verdict(&both), Verdict::Confirmed);
        both.swap(1, 4);
        assert_eq!(verdict(&both), Verdict::Diverged, "the culprit came before the first");
    }

    #[test]
    fn what_is_used_later_may_be_another_object() {
        let mut journal = reached();
        journal[3] = role(Role::Use, 200);
        assert_eq!(judged(&journal, PASSED).verdict, Verdict::Confirmed);
        journal[2] = role(Role::Culprit, 104);
        assert_eq!(judged(&journal, PASSED).verdict, Verdict::Diverged, "the culprit wrote something else");
        journal[2] = role(Role::Culprit, 100);
        journal.swap(2, 3);
        assert_eq!(judged(&journal, PASSED).verdict, Verdict::Diverged, "it was used before");
    }

    #[test]
    fn a_step_that_cannot_be_taken_is_named() {
        let skipped = |why| vec![Entry::Steered { pid: 1 }, Entry::Skipped { turn: 1, thread: 2, expected: 0, why }];
        let judged = self::judged(&skipped(Why::Blocked), PASSED);
        assert_eq!(judged.verdict, Verdict::Infeasible);
        assert_eq!(
            judged.detail,
            "turn 1, T2: lock at balance teller.c:15 could not be: it waits for a lock or for another thread"
        );
        assert_eq!(self::judged(&skipped(Why::Ended), PASSED).verdict, Verdict::Diverged);
    }

    #[test]
    fn the_first_difference_is_told_with_what_was_expected() {
        let did = Found { act: Act::Read, module: "/bin/teller".into(), offset: 0x44, name: None };
        let mut journal = reached();
        journal.insert(1, Entry::Difference { thread: 2, turn: 0, expected: Some(1), found: did });
        assert_eq!(judged(&journal, PASSED).verdict, Verdict::Confirmed, "it found its way back");
        journal.truncate(3);
        assert_eq!(
            judged(&journal, PASSED).detail,
            "turn 0, T2: expected write at balance teller.c:17, found read at teller+0x44"
        );
    }

    #[test]
    fn what_was_not_told_is_not_judged() {
        let mut journal = reached();
        journal.truncate(3);
        journal.push(Entry::Full);
        let judged = self::judged(&journal, PASSED);
        assert_eq!(judged.verdict, Verdict::Diverged);
        assert!(judged.detail.contains("no room"), "{}", judged.detail);
        let stuck = Entry::Deadlock { threads: Vec::new(), is_certain: true };
        assert!(deadlock(std::slice::from_ref(&stuck)).is_some());
        assert!(deadlock(&[stuck, Entry::Full]).is_none(), "the threads may have gone on");
        let unsought = self::judged(&[Entry::Steered { pid: 1 }, Entry::Unsought], PASSED);
        assert!(unsought.detail.contains("libraries"), "{}", unsought.detail);
    }

    #[test]
    fn a_deadlock_counts_once_the_culprit_is_in() {
        let name = Some("balance teller.c:15".to_owned());
        let at = Found { act: Act::Lock, module: "/bin/teller".into(), offset: 0x10, name };
        let stuck = Entry::Deadlock { threads: vec![Waiting { thread: 1, at, object: 5 }], is_certain: true };
        let mut journal = reached();
        journal.truncate(3);
        journal.push(stuck.clone());
        let judged = self::judged(&journal, Exit::Timeout);
        assert_eq!((judged.verdict, &*judged.detail), (Verdict::Deadlock, "T1 waits: lock at balance teller.c:15"));
        assert_eq!(self::judged(&[stuck], PASSED).verdict, Verdict::Infeasible);
    }

    #[test]
    fn a_program_that_dies_of_the_second_step_has_taken_it() {
        let mut journal = reached();
        journal.truncate(3);
        journal.push(Entry::Due { role: Role::Second, thread: 1, object: 100, size: 4 });
        assert_eq!(judged(&journal, Exit::Signal(libc::SIGSEGV)).verdict, Verdict::Failing);
        assert_eq!(judged(&journal, PASSED).verdict, Verdict::Diverged);
    }

    #[test]
    fn a_program_that_is_not_steered_is_said_to() {
        let judged = self::judged(&[], PASSED);
        assert_eq!(judged.verdict, Verdict::Diverged);
        assert!(judged.detail.contains("no process of 'teller'"), "{judged:?}");
        let judged = self::judged(&[], Exit::Timeout);
        assert_eq!((judged.verdict, &*judged.detail), (Verdict::Diverged, NEVER_BEGAN), "it may come yet");
        let judged = self::judged(&[Entry::Steered { pid: 1 }], PASSED);
        assert_eq!(judged.detail, "T1: lock at balance teller.c:15 did not come before the program ended");
    }

    #[test]
    fn names_in_files_are_the_ones_of_the_table() {
        let written = |verdict| serde_json::to_value(verdict).unwrap().as_str().unwrap().to_owned();
        assert!(Verdict::ALL.iter().map(written).eq(Verdict::NAMES.iter().copied()));
    }
}
