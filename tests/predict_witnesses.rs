//! Nondeterminism witnesses before the judge: what is reported about one run of a scenario is what all its runs show.
//!
//! How to run many more: see `tests/scenarios/judge.rs`.

mod predict_support;
mod scenarios;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::ControlFlow;

use avmon::event::{Event, ThreadId};
use avmon::predict::history::{At, History, NONE, Op};
use avmon::predict::search::{self, Budget, Outcome};
use avmon::predict::witnesses::{Config, Orders, Phase, Report, Verdict, Witness, analyse, verdicts};
use avmon::scenario::events::place_of;
use avmon::scenario::explore::{Search, explore};
use avmon::scenario::graph::{Graph, access_of};
use avmon::scenario::machine::Machine;
use avmon::scenario::parse;
use avmon::scenario::program::{Place, Program};
use avmon::scenario::run::Run;
use predict_support::legal::legal;
use predict_support::{synthetic, with_branches};
use scenarios::judge::{is_usual, try_cases};
use scenarios::{Case, Shape};

const CASES: u32 = 300;
/// Steps of the search after which a scenario is left out.
const MOST_STEPS: u64 = 20_000;
const RUNS: u64 = 2;
const BUDGET: Budget = Budget { choices: 200_000, span: u32::MAX, window: 1 << 16 };
const DEFAULT: Config = Config { paper: false, jobs: 1, budget: BUDGET };
const PAPER: Config = Config { paper: true, jobs: 1, budget: Budget { choices: 1 << 12, span: u32::MAX, window: 0 } };

/// A step of a program, whatever the run: a place, and how often the thread was there before.
type Name = (Place, usize);

/// A run as the oracle sees it.
struct Shown {
    graph: Graph,
    names: Vec<Name>,
    at: BTreeMap<Name, usize>,
}

impl Shown {
    fn new(run: &Run) -> Shown {
        let graph = Graph::new(&run.log, false);
        let names: Vec<Name> =
            (0..graph.operations.len()).map(|at| (graph.operations[at].place, graph.occurrence(at))).collect();
        let at = names.iter().copied().zip(0..).collect();
        Shown { graph, names, at }
    }

    /// The write that a read saw here.
    fn seen(&self, read: usize) -> Option<usize> {
        let access = |at: usize| access_of(self.graph.operations[at].effect);
        let (variable, ..) = access(read)?;
        (0..read).rev().find(|&at| access(at).is_some_and(|(other, _, writes)| writes && other == variable))
    }
}

/// The observed run.
struct Observed<'a> {
    history: &'a History,
    steps: BTreeSet<Name>,
    names: Vec<Option<Name>>,
    accesses: BTreeMap<Name, At>,
    branches: BTreeMap<Name, u8>,
}

impl<'a> Observed<'a> {
    fn new(history: &'a History, run: &Run) -> Observed<'a> {
        let mut times: BTreeMap<(u64, bool), usize> = BTreeMap::new();
        let mut names = Vec::new();
        let mut accesses = BTreeMap::new();
        let mut branches: BTreeMap<Name, u8> = BTreeMap::new();
        for (at, step) in (0..).zip(&history.steps) {
            let is_access = step.op.is_access();
            let time = times.entry((history.pc(at), is_access)).or_default();
            let name = place_of(history.pc(at)).map(|place| (place, *time));
            *time += 1;
            names.push(name.filter(|_| is_access));
            if let Some(name) = name {
                let most = branches.entry(name).or_default();
                *most = (*most).max(step.branches);
                if is_access {
                    accesses.insert(name, at);
                }
            }
        }
        Observed { history, steps: Shown::new(run).names.into_iter().collect(), names, accesses, branches }
    }

    fn name(&self, at: At) -> Name {
        self.names[at as usize].expect("an access of the scenario")
    }

    /// The witness' steps in another run, in the order of the witness, if they are there in that order.
    fn places(&self, witness: &Witness, shown: &Shown) -> Option<Vec<usize>> {
        let steps = witness.order().into_iter().filter(|&step| step != NONE);
        let places: Vec<usize> = steps.map(|step| shown.at.get(&self.name(step)).copied()).collect::<Option<_>>()?;
        // The steps of a witness write, or read, as they did.
        let acts = witness.order().into_iter().filter(|&step| step != NONE).zip(&places).all(|(step, &place)| {
            let op = self.history.step(step).op;
            access_of(shown.graph.operations[place].effect)
                .is_some_and(|(_, reads, writes)| if step == witness.read { reads } else { writes == op.writes() })
        });
        let last = *places.iter().max()?;
        let is_absent =
            witness.without().is_none_or(|writer| shown.at.get(&self.name(writer)).is_none_or(|&place| place > last));
        (acts && places.is_sorted() && is_absent).then_some(places)
    }

    /// Whether a run shows a witness, and everything that had to come before it is as it was.
    fn is_shown(&self, witness: &Witness, shown: &Shown) -> bool {
        let Some(goals) = self.places(witness, shown) else { return false };
        let history = self.history;
        let graph = &shown.graph;
        let is_past = |at: usize| goals.iter().any(|&goal| graph.comes_before(at, goal));
        let past: Vec<usize> = (0..graph.operations.len()).filter(|&at| is_past(at)).collect();
        let thread = |at: usize| graph.operations[at].place.thread;
        let read = shown.at[&self.name(witness.read)];
        let has_successor = |at: usize| past.iter().any(|&later| later > at && thread(later) == thread(at));
        let is_after_read = |at: usize| at > read && thread(at) == thread(read);
        let step_of = |at: usize| self.accesses.get(&shown.names[at]).map(|&step| (step, history.step(step)));
        let is_unbroken = |at: usize, step: At| {
            let link = history.step(step).link;
            shown.seen(at).map(|seen| shown.names[seen]) == (link != NONE).then(|| self.name(link))
        };
        // Writes that leave something else, and those of them that nobody knows where they go.
        let is_strange = |at: usize| {
            at == read
                || is_after_read(at)
                || step_of(at).is_some_and(|(step, here)| here.op.reads() && !is_unbroken(at, step))
        };
        let variable = history.step(witness.read).object;
        let wild: Vec<usize> = past
            .iter()
            .copied()
            .filter(|&at| step_of(at).is_some_and(|(_, here)| here.op.writes() && here.object != variable))
            .filter(|&at| is_strange(at))
            .collect();
        past.iter().all(|&at| {
            let name = shown.names[at];
            if !self.steps.contains(&name) || is_after_read(at) && self.branches.get(&name).is_some_and(|&b| b > 0) {
                return false;
            }
            let Some((step, here)) = step_of(at).filter(|(_, here)| here.op.reads()) else { return true };
            if !here.op.compares() && (at == read || !has_successor(at)) {
                return true;
            }
            is_unbroken(at, step)
                && shown.seen(at).is_none_or(|seen| !is_strange(seen))
                && !wild.iter().any(|&write| write != at && graph.comes_before(write, at))
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Figures {
    witnesses: u64,
    feasible: u64,
    /// Decided by a search.
    searched: u64,
    /// Some run shows the order, but not one that is like the observed one up to it.
    missed: u64,
    paper_false: u64,
    paper_missed: u64,
}

#[derive(Default)]
struct Tally {
    figures: Figures,
    scenarios: u64,
    too_large: u64,
    examples: BTreeMap<&'static str, String>,
}

impl Tally {
    fn example(&mut self, what: &'static str, text: String) {
        let known = self.examples.entry(what).or_insert_with(|| text.clone());
        if text.len() < known.len() {
            *known = text;
        }
    }

    fn judge(&mut self, case: &Case, is_exact: bool) -> Result<(), String> {
        let program = Program::new(&case.scenario);
        let machine = Machine::new(&program);
        let mut all = Vec::new();
        let explored = explore(&machine, Search::Reduced, MOST_STEPS, &mut |run| {
            all.push(Shown::new(run));
            ControlFlow::Continue(())
        });
        if !explored.is_complete {
            self.too_large += 1;
            return Ok(());
        }
        self.scenarios += 1;
        for number in 0..RUNS {
            let run = machine.run_at_random(case.seed.wrapping_add(number));
            let events = machine.events(&run);
            let history = if is_exact { history(&events) } else { history(&with_branches(&events)) };
            self.compare(case, &run, &history, &all, is_exact)?;
        }
        Ok(())
    }

    fn compare(
        &mut self,
        case: &Case,
        run: &Run,
        history: &History,
        all: &[Shown],
        is_exact: bool,
    ) -> Result<(), String> {
        let observed = Observed::new(history, run);
        let orders = Orders::new(history);
        let papers: BTreeMap<Witness, (Verdict, Phase)> = verdicts(history, &PAPER)
            .into_iter()
            .map(|(witness, verdict, phase)| (witness, (verdict, phase)))
            .collect();
        for (witness, verdict, phase) in verdicts(history, &DEFAULT) {
            let text = || {
                let [w, r, c] = [witness.writer, witness.read, witness.challenger]
                    .map(|at| if at == NONE { None } else { Some(observed.name(at).0) });
                format!("{:?} w {w:?} r {r:?} c {c:?} in {:?}\n{case:?}", witness.way, run.order)
            };
            self.figures.witnesses += 1;
            self.figures.searched += u64::from(phase != Phase::Order);
            let searched = search::find(history, &witness.goal(), BUDGET);
            let expected = match &searched {
                Outcome::Feasible(_) => Verdict::Feasible,
                Outcome::Infeasible => Verdict::Infeasible,
                Outcome::Undecided => Verdict::Undecided,
            };
            // What the search does not know of refused locks is not claimed.
            let is_known = expected == Verdict::Feasible || !history.steps.iter().any(|step| step.op == Op::Refused);
            if verdict != expected && (is_known || verdict == Verdict::Infeasible && phase != Phase::Order) {
                return Err(format!("{verdict:?} by {phase:?}, but the search says {searched:?}: {}", text()));
            }
            let found = orders.find(witness, BUDGET);
            if found.is_some() != (verdict == Verdict::Feasible) {
                return Err(format!("{verdict:?}, but the order is {found:?}: {}", text()));
            }
            if let Some(found) = found {
                legal(history, &witness, &found).map_err(|wrong| format!("{wrong}\n{found:?}: {}", text()))?;
            }
            let is_shown = all.iter().any(|shown| observed.is_shown(&witness, shown));
            let is_seen = is_shown || all.iter().any(|shown| observed.places(&witness, shown).is_some());
            let is_feasible = verdict == Verdict::Feasible;
            self.figures.feasible += u64::from(is_feasible);
            let is_wrong = if is_exact { is_feasible != is_shown } else { is_feasible && !is_seen };
            if is_wrong {
                return Err(format!("{verdict:?} by {phase:?}, shown {is_shown}: {}", text()));
            }
            self.figures.missed += u64::from(is_seen && !is_feasible);
            if let (Verdict::Infeasible, Phase::Choice(_)) = papers[&witness] {
                self.example("refuted by all choices", text());
            }
            match papers[&witness].0 {
                Verdict::Feasible if !is_shown => {
                    self.figures.paper_false += 1;
                    self.example(if is_seen { "kept by the paper" } else { "false in the paper" }, text());
                }
                Verdict::Infeasible if is_shown => {
                    self.figures.paper_missed += 1;
                    self.example("missed by the paper", text());
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn family(name: &str, shape: Shape, is_exact: bool, expected: Figures) {
    let tally = std::cell::RefCell::new(Tally::default());
    try_cases(name, shape, CASES, |case| tally.borrow_mut().judge(case, is_exact));
    let Tally { figures, scenarios, too_large, examples } = tally.into_inner();
    println!("{name}: {scenarios} scenarios ({too_large} too large to judge): {figures:?}");
    for (what, example) in examples {
        println!("{name}, {what}: {example}");
    }
    assert!(scenarios > too_large, "{name}: most scenarios are too large to know the truth");
    assert!(!is_usual() || figures == expected, "{name}: now {figures:?}");
}

macro_rules! families {
    ($($name:ident: $is_exact:expr, $shape:expr, $figures:expr;)*) => {
        $(#[test]
        fn $name() {
            let [witnesses, feasible, searched, missed, paper_false, paper_missed] = $figures;
            let expected = Figures { witnesses, feasible, searched, missed, paper_false, paper_missed };
            family(stringify!($name), $shape, $is_exact, expected);
        })*
    };
}

const EXACT: bool = true;
/// What is reported is true, but there may be more.
const SOUND: bool = false;

families! {
    locks: EXACT, Shape { threads: (2, 3), ..Shape::PLAIN }, [4076, 1184, 51, 267, 51, 10];
    races: EXACT, Shape::RACES, [5931, 2042, 106, 454, 39, 5];
    one_variable: EXACT, Shape { threads: (2, 3), variables: 1, race_free: false, length: 4, ..Shape::PLAIN }, [13528, 3113, 254, 1019, 113, 12];
    chains: EXACT, Shape::CHAINS, [5052, 1410, 140, 357, 70, 5];
    shared: EXACT, Shape::SHARED, [3234, 984, 56, 215, 55, 14];
    forks: EXACT, Shape::FORKS, [3765, 1005, 43, 186, 21, 6];
    atomics: EXACT, Shape::ATOMICS, [2503, 846, 46, 289, 91, 37];
    branches: SOUND, Shape::BRANCHES, [5142, 1178, 48, 681, 228, 16];
    tries: SOUND, Shape::TRIES, [4411, 1077, 57, 579, 228, 9];
    conditions: SOUND, Shape::CONDITIONS, [2499, 667, 26, 347, 149, 83];
    semaphores: SOUND, Shape::SEMAPHORES, [1936, 550, 42, 179, 85, 10];
    barriers: SOUND, Shape::BARRIERS, [2583, 707, 23, 288, 178, 22];
    everything: SOUND, Shape { race_free: true, ..Shape::EVERYTHING }, [586, 225, 7, 88, 48, 25];
}

/// File; lines of the write that the read saw, of the read, of the challenger; what the default rules and those of the paper say, and whether some run
/// shows the order.
const FIGURES: &str = "\
figure-1c: Overwritten - 7 10: Feasible by Order, paper Feasible by Order, shown
figure-4: Overwritten 8 15 7: Infeasible by Order, paper Infeasible by Order, never shown
figure-4: Without 8 15 7: Infeasible by Order, paper Infeasible by Order, never shown
figure-4: Early 8 15 7: Infeasible by Order, paper Infeasible by Order, never shown
figure-5: Overwritten - 16 42: Infeasible by Choice(1), paper Infeasible by Choice(4), never shown
counterexample-first-value: Overwritten - 7 9: Infeasible by Order, paper Infeasible by Order, never shown
counterexample-first-value: Overwritten - 7 13: Feasible by Order, paper Feasible by Order, shown
counterexample-first-value: Overwritten 13 15 9: Infeasible by Order, paper Feasible by Order, never shown
counterexample-first-value: Without 13 15 9: Feasible by Order, paper Feasible by Order, shown
counterexample-first-value: Early 13 15 9: Feasible by Order, paper Feasible by Order, shown
counterexample-overwritten: Overwritten 6 8 16: Feasible by Order, paper Feasible by Order, shown
counterexample-overwritten: Without 6 8 16: Infeasible by Order, paper Infeasible by Order, never shown
counterexample-overwritten: Early 6 8 16: Infeasible by Order, paper Infeasible by Order, never shown
counterexample-overwritten: Overwritten - 11 17: Infeasible by Order, paper Feasible by Order, never shown
counterexample-read-later: Overwritten 7 10 14: Feasible by Order, paper Feasible by Order, shown
counterexample-read-later: Without 7 10 14: Feasible by Order, paper Infeasible by Order, shown
counterexample-read-later: Early 7 10 14: Infeasible by Order, paper Infeasible by Order, shown
counterexample-read-later: Overwritten 7 11 14: Infeasible by Choice(1), paper Feasible by Order, shown
counterexample-read-later: Without 7 11 14: Infeasible by Order, paper Infeasible by Order, shown
counterexample-read-later: Early 7 11 14: Infeasible by Order, paper Infeasible by Order, shown
";

#[test]
fn the_figures_and_the_counterexamples() {
    let mut table = String::new();
    for name in [
        "figure-1c",
        "figure-4",
        "figure-5",
        "counterexample-first-value",
        "counterexample-overwritten",
        "counterexample-read-later",
    ] {
        let file = format!("{}/examples/scenarios/nondeterminism-{name}.scn", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(file).unwrap();
        let scenario = parse(&text).unwrap_or_else(|errors| panic!("{}", errors.render(name, &text)));
        let program = Program::new(&scenario);
        let machine = Machine::new(&program);
        let run = machine.run_as_written();
        let history = history(&with_branches(&machine.events(&run)));
        let observed = Observed::new(&history, &run);
        let mut all = Vec::new();
        let _ = explore(&machine, Search::Reduced, u64::MAX, &mut |run| {
            all.push(Shown::new(run));
            ControlFlow::Continue(())
        });
        let papers = verdicts(&history, &PAPER);
        for ((witness, verdict, phase), (_, of_paper, how)) in verdicts(&history, &DEFAULT).into_iter().zip(papers) {
            let line = |at: At| program.at(observed.name(at).0).at.line;
            let lines: Vec<String> = [witness.writer, witness.read, witness.challenger]
                .map(|at| if at == NONE { "-".to_owned() } else { line(at).to_string() })
                .into();
            let is_seen = all.iter().any(|shown| observed.places(&witness, shown).is_some());
            let _ = writeln!(
                table,
                "{name}: {:?} {}: {verdict:?} by {phase:?}, paper {of_paper:?} by {how:?}, {}",
                witness.way,
                lines.join(" "),
                if is_seen { "shown" } else { "never shown" }
            );
        }
    }
    assert!(table == FIGURES, "now:\n{table}");
}

/// The report is that of the single verdicts, however many threads make it.
#[test]
fn the_report_adds_up() {
    let shape = Shape { threads: (3, 3), race_free: false, variables: 1, length: 5, ..Shape::PLAIN };
    try_cases("the report adds up", shape, 40, |case| {
        let program = Program::new(&case.scenario);
        let machine = Machine::new(&program);
        let history = history(&machine.events(&machine.run_at_random(case.seed)));
        let all = verdicts(&history, &DEFAULT);
        let Report { totals, groups } = analyse(&history, &DEFAULT, &|| false);
        let count = |wanted: Verdict| all.iter().filter(|(_, verdict, _)| *verdict == wanted).count() as u64;
        let expected =
            [all.len() as u64, count(Verdict::Feasible), count(Verdict::Infeasible), count(Verdict::Undecided), 0];
        let figures = [totals.possible, totals.feasible(), totals.infeasible(), totals.undecided, totals.left_out];
        if figures != expected || groups.iter().map(|group| group.feasible).sum::<u64>() != totals.feasible() {
            return Err(format!("{totals:?} {groups:?}, but {expected:?}"));
        }
        for group in &groups {
            let (_, verdict, _) =
                all.iter().find(|(witness, ..)| *witness == group.example).ok_or("no such witness")?;
            if (*verdict == Verdict::Feasible) != (group.feasible > 0)
                || history.pc(group.example.read) != group.location.read
            {
                return Err(format!("{group:?} is {verdict:?}"));
            }
        }
        let by_three = analyse(&history, &Config { jobs: 3, ..DEFAULT }, &|| false);
        if by_three != (Report { totals, groups }) {
            return Err(format!("three threads report {by_three:?}"));
        }
        Ok(())
    });
}

/// A run of some hundred events, with waits and branches.
fn made_up(seed: u64) -> History {
    history(&synthetic::events(synthetic::Shape {
        events: 400,
        threads: 3,
        variables: 9,
        locks: 3,
        accesses: 4,
        calls: 0,
        hot: 20,
        writes: 40,
        stays: 20,
        busy: 20,
        branches: 20,
        switches: 30,
        open: 0,
        own: 0,
        seed,
    }))
}

/// Longer runs than scenarios have: whatever is decided without a search is what a search finds, and every order is one.
#[test]
fn longer_runs() {
    let mut decided = [0; 2];
    for seed in 1..=3 {
        let history = made_up(seed);
        let orders = Orders::new(&history);
        for (witness, verdict, phase) in verdicts(&history, &Config::default()) {
            let searched =
                search::find(&history, &witness.goal(), Budget { choices: 300, span: u32::MAX, window: 1 << 16 });
            match (verdict, &searched) {
                (Verdict::Feasible, Outcome::Infeasible) | (Verdict::Infeasible, Outcome::Feasible(_)) => {
                    panic!("{seed}: {witness:?} is {verdict:?} by {phase:?}, but the search says {searched:?}")
                }
                (Verdict::Feasible, _) => {
                    let found = orders.find(witness, Config::default().budget).expect("it is feasible");
                    legal(&history, &witness, &found).unwrap_or_else(|wrong| panic!("{seed}: {witness:?}: {wrong}"));
                    decided[0] += 1;
                }
                (Verdict::Infeasible, _) => decided[1] += 1,
                _ => {}
            }
        }
    }
    assert!(decided.iter().all(|&number| number > 300), "{decided:?}");
}

/// Who is stopped says what is missing.
#[test]
fn a_partial_result_says_so() {
    let history = made_up(1);
    let all = analyse(&history, &Config::default(), &|| false).totals;
    let polled = std::sync::atomic::AtomicU32::new(0);
    let some =
        analyse(&history, &Config::default(), &|| polled.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= 20);
    let some = some.totals;
    assert!(all.left_out == 0 && some.left_out > 0 && some.left_out < some.possible, "{all:?} {some:?}");
    assert_eq!(all.possible, some.possible);
    assert_eq!(some.feasible() + some.infeasible() + some.undecided + some.left_out, some.possible);
}

/// The run without values: what is judged here is which write a read sees, and not what that left.
fn history(events: &[(ThreadId, Event)]) -> History {
    let mut history = predict_support::history(events);
    history.values.clear();
    history
}
