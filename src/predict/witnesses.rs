//! Reads that could see another write than they did: witnesses that a program is not deterministic.
//!
//! A read saw a write, and another write of the same variable, the challenger, could have made it see something else: see [`Way`]. Each such triple of
//! steps is a witness if some order of the run's steps shows it. Which orders count is told by [`super::search`]; the witness' read is
//! the one that may see what it likes, and its thread goes on from there only as long as there is no branch.
//!
//! A challenger is a write of the run. The paper also counts the first value of each variable as a write; that a read could come before all writes
//! of its variable is not told here.
//!
//! There are far too many triples to search for each. Most orders are refuted by what must come before what (`refute`), and most of the others are
//! made from the order of the run by putting off a few sections (`weave`). Both follow from bounds that are computed once (`clocks`). Only
//! what is left is searched for, and if that would cost too much the answer is that it is not known.
//!
//! With [`Config::paper`] the rules are those of the paper instead: see `paper`, which is for comparison
//! and slow.

mod clocks;
mod index;
mod paper;
mod refute;
mod weave;

use rustc_hash::FxHashMap;

use super::history::{At, History, NONE, Op};
use super::parallel::share;
use super::search::{self, Budget, Goal, Order, Outcome};
use clocks::{Past, Rest};
use index::Index;
use paper::Paper;
use weave::Weaver;

/// How a read can miss the write that it saw.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Way {
    /// Challenger, read, write: the read comes before the write.
    Early,
    /// Write, challenger, read: the challenger overwrites it.
    Overwritten,
    /// Challenger, read: the write does not happen.
    Without,
}

/// A read, the write that it saw, and another one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Witness {
    /// [`NONE`] if the read saw the first value; then the only way is [`Way::Overwritten`].
    pub writer: At,
    pub read: At,
    pub challenger: At,
    pub way: Way,
}

impl Witness {
    /// The order of its steps; there may be less than three.
    #[must_use]
    pub const fn order(&self) -> [At; 3] {
        match self.way {
            Way::Early => [self.challenger, self.read, self.writer],
            Way::Overwritten => [self.writer, self.challenger, self.read],
            Way::Without => [self.challenger, self.read, NONE],
        }
    }

    /// The step that does not happen.
    #[must_use]
    pub fn without(&self) -> Option<At> {
        (self.way == Way::Without).then_some(self.writer)
    }

    /// What an order has to show.
    #[must_use]
    pub fn goal(&self) -> Goal {
        let steps: Vec<At> = self.order().into_iter().filter(|&step| step != NONE).collect();
        let order = steps.windows(2).map(|pair| (pair[0], pair[1])).collect();
        Goal { order, without: self.without(), free: Some(self.read), ..Goal::default() }
    }
}

/// What is known of a witness.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Verdict {
    Feasible,
    Infeasible,
    /// It would have cost more than it may.
    Undecided,
}

/// How it was found out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Phase {
    /// The witness' order contradicts itself, or can be had as it is.
    Order,
    /// Sections of a lock had to be put into an order that nothing prescribes: so many orders were looked at.
    Choice(u64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The rules of the paper.
    pub paper: bool,
    /// Threads that work.
    pub jobs: usize,
    /// What each search may cost.
    pub budget: Budget,
}

impl Default for Config {
    fn default() -> Config {
        Config { paper: false, jobs: 1, budget: Budget { choices: 1_000, span: u32::MAX, window: 1 << 15 } }
    }
}

/// How many witnesses there are, as in the paper's table A1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Triples of a read, a write and a challenger, for each way.
    pub possible: u64,
    /// Infeasible without a choice.
    pub contradictory: u64,
    /// Feasible without a choice.
    pub direct: u64,
    /// Those for which orders of sections were chosen.
    pub chosen_feasible: u64,
    pub chosen_infeasible: u64,
    pub undecided: u64,
    /// Orders that were looked at for them.
    pub explored: u64,
    /// Nobody looked at these, because the time was over.
    pub left_out: u64,
}

impl Totals {
    #[must_use]
    pub const fn feasible(&self) -> u64 {
        self.direct + self.chosen_feasible
    }

    #[must_use]
    pub const fn infeasible(&self) -> u64 {
        self.contradictory + self.chosen_infeasible
    }

    fn count(&mut self, verdict: Verdict, phase: Phase) {
        let counter = match (verdict, phase) {
            (Verdict::Feasible, Phase::Order) => &mut self.direct,
            (Verdict::Infeasible, Phase::Order) => &mut self.contradictory,
            (Verdict::Feasible, Phase::Choice(_)) => &mut self.chosen_feasible,
            (Verdict::Infeasible, Phase::Choice(_)) => &mut self.chosen_infeasible,
            (Verdict::Undecided, _) => &mut self.undecided,
        };
        *counter += 1;
        if let Phase::Choice(orders) = phase {
            self.explored += orders;
        }
    }

    fn add(&mut self, other: &Totals) {
        self.possible += other.possible;
        self.contradictory += other.contradictory;
        self.direct += other.direct;
        self.chosen_feasible += other.chosen_feasible;
        self.chosen_infeasible += other.chosen_infeasible;
        self.undecided += other.undecided;
        self.explored += other.explored;
        self.left_out += other.left_out;
    }
}

/// Where in the code: the return addresses of the witness' steps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Location {
    /// None if the read saw the first value.
    pub writer: Option<u64>,
    pub read: u64,
    pub challenger: u64,
    pub way: Way,
}

/// Witnesses of one location that are feasible, or may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    pub location: Location,
    pub feasible: u64,
    pub undecided: u64,
    /// The first one; a feasible one if there is any.
    pub example: Witness,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    pub totals: Totals,
    /// Sorted by location.
    pub groups: Vec<Group>,
}

/// Looks at all witnesses of a run, until `stop` says that it is enough.
#[must_use]
pub fn analyse(history: &History, config: &Config, stop: &(dyn Fn() -> bool + Sync)) -> Report {
    let reads: Vec<At> = reads(history).collect();
    let possible = Possible::new(history);
    if is_too_large(history, config) {
        let left_out = reads.iter().map(|&read| possible.of(history, read)).sum();
        let totals = Totals { possible: left_out, left_out, ..Totals::default() };
        return Report { totals, groups: Vec::new() };
    }
    let judge = Judge::new(history, config);
    let batches: Vec<&[At]> = reads.chunks(READS_AT_ONCE).collect();
    // When the time is over the rest is counted all the same, so nobody stops.
    let found = share(config.jobs, batches.len(), &|| false, |batch, (tally, memory): &mut (Tally, Weaver)| {
        for &read in batches[batch] {
            if stop() {
                tally.leave_out(possible.of(history, read));
            } else {
                tally.look_at(&judge, read, memory);
            }
        }
    });
    let mut all = Tally::default();
    for (tally, _) in found {
        all.add(tally);
    }
    all.report(history)
}

/// All witnesses of a run, each with its verdict: for those who want to see every single one.
#[must_use]
pub fn verdicts(history: &History, config: &Config) -> Vec<(Witness, Verdict, Phase)> {
    let judge = Judge::new(history, config);
    let mut memory = Weaver::default();
    let all = reads(history).flat_map(|read| witnesses(history, read).collect::<Vec<_>>());
    all.map(|witness| {
        let (verdict, phase) = judge.judge(witness, &mut memory);
        (witness, verdict, phase)
    })
    .collect()
}

/// Orders that show witnesses, by the default rules.
pub struct Orders<'a>(Rules<'a>);

impl<'a> Orders<'a> {
    #[must_use]
    pub fn new(history: &'a History) -> Orders<'a> {
        Orders(Rules::new(history))
    }

    /// An order that shows a witness, if there is one and it can be found for this price.
    #[must_use]
    pub fn find(&self, witness: Witness, budget: Budget) -> Option<Order> {
        let Rules { index, past, rest, unknown } = &self.0;
        if refute::is_contradiction(index, past, witness) {
            return None;
        }
        let mut memory = Weaver::default();
        if let Some(point) = weave::weave(index, rest, unknown, witness, &mut memory) {
            return Some(weave::order(index, point, &memory));
        }
        match search::find(index.history, &witness.goal(), budget) {
            Outcome::Feasible(order) => Some(order),
            Outcome::Infeasible | Outcome::Undecided => None,
        }
    }
}

/// Reads that a thread takes from the pile at once.
const READS_AT_ONCE: usize = 16;

/// Bounds of steps by others, one for each step and thread: there are two such tables, of four bytes each.
const MOST_BOUNDS: usize = 1 << 28;

/// Steps of a run that the rules of the paper are tried on: they look at all pairs of sections.
const MOST_PAPER_STEPS: usize = 1 << 14;

/// Whether a run has more steps than fit into memory: then none of its witnesses is looked at.
fn is_too_large(history: &History, config: &Config) -> bool {
    let steps = history.steps.len();
    let most = if config.paper { MOST_PAPER_STEPS } else { MOST_BOUNDS / history.lanes.len().max(1) };
    steps > most
}

/// How many witnesses there are, without a look at each.
struct Possible {
    /// Of each variable.
    writes: Vec<u64>,
}

impl Possible {
    fn new(history: &History) -> Possible {
        let writes = |variable| history.accesses(variable).iter().filter(|&&at| challenges(history, at)).count() as u64;
        Possible { writes: (0..history.variables.len() as u32).map(writes).collect() }
    }

    fn of(&self, history: &History, read: At) -> u64 {
        let step = history.step(read);
        let others = self.writes[step.object as usize] - u64::from(step.op.writes()) - u64::from(step.link != NONE);
        others * ways(history, read).len() as u64
    }
}

/// Whether an access may be a challenger.
fn challenges(history: &History, at: At) -> bool {
    let op = history.step(at).op;
    op.writes() && op != Op::Free
}

/// The ways in which a read could have missed what it saw.
fn ways(history: &History, read: At) -> &'static [Way] {
    let saw_first_value = history.step(read).link == NONE;
    if saw_first_value { &[Way::Overwritten] } else { &[Way::Overwritten, Way::Without, Way::Early] }
}

/// The reads of a run that may have witnesses, variable by variable.
fn reads(history: &History) -> impl Iterator<Item = At> {
    let variables = 0..history.variables.len() as u32;
    variables.flat_map(|variable| {
        let accesses = history.accesses(variable).iter().copied();
        accesses.filter(|&at| {
            let step = history.step(at);
            step.op.reads() && (step.link == NONE || history.step(step.link).op != Op::Free)
        })
    })
}

/// The possible witnesses of a read.
fn witnesses(history: &History, read: At) -> impl Iterator<Item = Witness> {
    let step = history.step(read);
    let writer = step.link;
    let accesses = history.accesses(step.object).iter().copied();
    let challengers = accesses.filter(move |&at| challenges(history, at) && at != writer && at != read);
    challengers.flat_map(move |challenger| {
        ways(history, read).iter().map(move |&way| Witness { writer, read, challenger, way })
    })
}

/// What the default rules know of a run.
struct Rules<'a> {
    index: Index<'a>,
    past: Past,
    rest: Rest,
    /// What can happen at all: see [`Index::unknown`].
    unknown: Vec<At>,
}

impl<'a> Rules<'a> {
    fn new(history: &'a History) -> Rules<'a> {
        let index = Index::new(history);
        let past = Past::new(&index);
        let rest = Rest::new(&index);
        let mut unknown = vec![NONE; index.lanes()];
        for &first in index.unknown.iter().filter(|&&first| first != NONE) {
            unknown.iter_mut().zip(rest.of(first)).for_each(|(stop, &bound)| *stop = (*stop).min(bound));
        }
        Rules { index, past, rest, unknown }
    }

    fn judge(&self, witness: Witness, budget: Budget, memory: &mut Weaver) -> (Verdict, Phase) {
        let history = self.index.history;
        // A compare-exchange that succeeded has seen what it expected.
        let is_fixed = history.step(witness.read).op.compares() && !history.values.contains_key(&witness.read);
        if is_fixed || refute::is_contradiction(&self.index, &self.past, witness) {
            return (Verdict::Infeasible, Phase::Order);
        }
        if weave::weave(&self.index, &self.rest, &self.unknown, witness, memory).is_some() {
            return (Verdict::Feasible, Phase::Order);
        }
        if refute::is_deep_contradiction(&self.index, &self.past, witness) {
            return (Verdict::Infeasible, Phase::Order);
        }
        let verdict = match search::find(history, &witness.goal(), budget) {
            Outcome::Feasible(_) => Verdict::Feasible,
            // The search does not ask who else could have held a lock that was refused.
            Outcome::Infeasible if self.index.refusals.is_empty() => Verdict::Infeasible,
            Outcome::Infeasible | Outcome::Undecided => Verdict::Undecided,
        };
        (verdict, Phase::Choice(1))
    }
}

/// Either set of rules.
enum Judge<'a> {
    Default(Box<Rules<'a>>, Budget),
    Paper(Paper<'a>),
}

impl<'a> Judge<'a> {
    fn new(history: &'a History, config: &Config) -> Judge<'a> {
        if config.paper {
            Judge::Paper(Paper::new(history, config.budget))
        } else {
            Judge::Default(Box::new(Rules::new(history)), config.budget)
        }
    }

    fn history(&self) -> &'a History {
        match self {
            Judge::Default(rules, _) => rules.index.history,
            Judge::Paper(paper) => paper.history,
        }
    }

    fn judge(&self, witness: Witness, memory: &mut Weaver) -> (Verdict, Phase) {
        match self {
            Judge::Default(rules, budget) => rules.judge(witness, *budget, memory),
            Judge::Paper(paper) => paper.judge(witness),
        }
    }
}

/// What one worker found.
#[derive(Default)]
struct Tally {
    totals: Totals,
    groups: FxHashMap<(u32, u32, u32, Way), Found>,
}

#[derive(Clone, Copy)]
struct Found {
    feasible: u64,
    undecided: u64,
    /// The order of these is that in which the examples are preferred.
    example: (Verdict, Witness),
}

impl Tally {
    fn leave_out(&mut self, witnesses: u64) {
        self.totals.possible += witnesses;
        self.totals.left_out += witnesses;
    }

    fn look_at(&mut self, judge: &Judge<'_>, read: At, memory: &mut Weaver) {
        let history = judge.history();
        // Whoever cannot do without the write cannot have it late.
        let mut before = None;
        for witness in witnesses(history, read) {
            let known = before.filter(|_| witness.way == Way::Early && matches!(judge, Judge::Default(..)));
            let (verdict, phase) = known.unwrap_or_else(|| judge.judge(witness, memory));
            let rules_out = witness.way == Way::Without && verdict == Verdict::Infeasible;
            before = rules_out.then_some((verdict, Phase::Order));
            self.totals.possible += 1;
            self.totals.count(verdict, phase);
            if verdict != Verdict::Infeasible {
                self.found(history, witness, verdict);
            }
        }
    }

    fn found(&mut self, history: &History, witness: Witness, verdict: Verdict) {
        let code = |at: At| if at == NONE { NONE } else { history.step(at).code };
        let key = (code(witness.writer), code(witness.read), code(witness.challenger), witness.way);
        let one = |wanted: Verdict| u64::from(verdict == wanted);
        let (feasible, undecided) = (one(Verdict::Feasible), one(Verdict::Undecided));
        self.merge(key, Found { feasible, undecided, example: (verdict, witness) });
    }

    fn merge(&mut self, key: (u32, u32, u32, Way), new: Found) {
        self.groups
            .entry(key)
            .and_modify(|found| {
                found.feasible += new.feasible;
                found.undecided += new.undecided;
                found.example = found.example.min(new.example);
            })
            .or_insert(new);
    }

    fn add(&mut self, other: Tally) {
        self.totals.add(&other.totals);
        for (key, found) in other.groups {
            self.merge(key, found);
        }
    }

    fn report(self, history: &History) -> Report {
        let pc = |at: At| history.pc(at);
        let group = |Found { feasible, undecided, example: (_, example) }| {
            let Witness { writer, read, challenger, way } = example;
            let writer = (writer != NONE).then(|| pc(writer));
            let location = Location { writer, read: pc(read), challenger: pc(challenger), way };
            Group { location, feasible, undecided, example }
        };
        let mut groups: Vec<Group> = self.groups.into_values().map(group).collect();
        groups.sort_unstable_by_key(|group| group.location);
        Report { totals: self.totals, groups }
    }
}
