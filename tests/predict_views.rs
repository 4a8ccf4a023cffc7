//! Views and stale values before the judge.
//!
//! The truth is made from the definitions alone, run by run: which accesses lie in one critical section or marked block, and which came before which.
//! What is predicted must be shown by some run, and by the very order that is predicted, whether the code is known or not; on scenarios without branches,
//! whatever some run shows must be possible.
//!
//! How to run many more: see `tests/scenarios/judge.rs`.

mod predict_support;
mod scenarios;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use avmon::predict::clocks::Clocks;
use avmon::predict::cut_points::Blocks;
use avmon::predict::decide::{self, Decision};
use avmon::predict::history::History;
use avmon::predict::prediction::Steps;
use avmon::predict::search::Budget;
use avmon::predict::stale;
use avmon::predict::views::{self, Views};
use avmon::scenario::explore::{Search, explore};
use avmon::scenario::graph::access_of;
use avmon::scenario::machine::{Effect, Machine, Taken};
use avmon::scenario::program::{Place, Program};
use avmon::scenario::run::Run;
use predict_support::code::Known;
use predict_support::history;
use predict_support::promise::{Promise, is_possible};
use predict_support::scenario::{performed, place};
use scenarios::Shape;
use scenarios::judge::{is_usual, try_cases};

const CASES: u32 = 200;
/// Steps of the search after which the truth about a scenario is not known.
const MOST_STEPS: u64 = 20_000;

/// An access of a run.
#[derive(Clone, Debug)]
struct Access {
    at: usize,
    place: Place,
    variable: usize,
    reads: bool,
    writes: bool,
    /// The atomic blocks that it lies in, by where they begin and which one of the thread it is.
    blocks: Vec<(Place, usize)>,
    /// The marked blocks around it.
    marks: Vec<usize>,
}

/// What a thread is in.
#[derive(Default)]
struct Within {
    /// Where its outermost critical section begins, and how many locks it holds.
    section: Option<(Place, usize)>,
    held: usize,
    marks: Vec<(Place, usize)>,
}

fn accesses(log: &[Taken]) -> Vec<Access> {
    let mut threads: BTreeMap<u32, Within> = BTreeMap::new();
    let mut found = Vec::new();
    for (at, taken) in log.iter().enumerate() {
        let thread = threads.entry(taken.place.thread).or_default();
        match taken.effect {
            Effect::Acquired { again: false, .. } | Effect::Resumed { .. } => {
                if thread.held == 0 {
                    thread.section = Some((taken.place, at));
                }
                thread.held += 1;
            }
            Effect::Released { again: false, .. } | Effect::Slept { .. } => {
                thread.held -= 1;
                if thread.held == 0 {
                    thread.section = None;
                }
            }
            Effect::Began => thread.marks.push((taken.place, at)),
            Effect::Ended => drop(thread.marks.pop()),
            effect => {
                let Some((variable, reads, writes)) = access_of(effect) else { continue };
                let blocks = thread.section.iter().chain(&thread.marks).copied().collect();
                let marks = thread.marks.iter().map(|(_, at)| *at).collect();
                found.push(Access { at, place: taken.place, variable, reads, writes, blocks, marks });
            }
        }
    }
    found
}

type Parts = (Place, Place, Place);

/// What runs show.
#[derive(Default, Debug)]
struct Truth {
    /// First, culprit, culprit too, second.
    torn: BTreeSet<[Place; 4]>,
    /// The two blocks and the culprit's, by where they begin, and the two variables.
    torn_blocks: BTreeSet<(Parts, [usize; 2])>,
    /// First, culprit, second.
    stale: BTreeSet<[Place; 3]>,
    /// The two blocks and the culprit, and the two variables: without those that are read again before.
    stale_blocks: BTreeSet<(Parts, [usize; 2])>,
}

impl Truth {
    fn add(&mut self, log: &[Taken]) {
        let all = accesses(log);
        let in_block = |block: (Place, usize)| all.iter().filter(move |access| access.blocks.contains(&block));
        for first in &all {
            for second in all.iter().filter(|second| {
                second.at > first.at
                    && second.place.thread == first.place.thread
                    && second.marks.iter().any(|mark| first.marks.contains(mark))
            }) {
                for (&one, &other) in
                    first.blocks.iter().flat_map(|one| second.blocks.iter().map(move |other| (one, other)))
                {
                    let end = in_block(one).map(|access| access.at).max();
                    if end >= in_block(other).map(|access| access.at).min() {
                        continue;
                    }
                    self.add_torn(&all, [first, second], [one, other]);
                    self.add_stale(&all, [first, second], [one, other]);
                }
            }
        }
    }

    fn add_torn(&mut self, all: &[Access], [first, second]: [&Access; 2], [one, other]: [(Place, usize); 2]) {
        let kinds: [fn(&Access) -> bool; 2] = [|access| access.reads, |access| access.writes];
        for (mine, theirs) in [(kinds[0], kinds[1]), (kinds[1], kinds[0])] {
            let has = |block, variable| {
                all.iter().any(|it| it.blocks.contains(&block) && mine(it) && it.variable == variable)
            };
            let is_torn = mine(first)
                && mine(second)
                && first.variable != second.variable
                && !has(one, second.variable)
                && !has(other, first.variable);
            if !is_torn {
                continue;
            }
            let others = |variable| {
                all.iter()
                    .filter(move |it| it.place.thread != first.place.thread && theirs(it) && it.variable == variable)
            };
            for culprit in others(first.variable).filter(|culprit| culprit.at > first.at) {
                for too in others(second.variable).filter(|too| too.at < second.at) {
                    for block in culprit.blocks.iter().filter(|block| too.blocks.contains(block)) {
                        self.torn.insert([first.place, culprit.place, too.place, second.place]);
                        self.torn_blocks.insert(((one.0, other.0, block.0), [first.variable, second.variable]));
                    }
                }
            }
        }
    }

    fn add_stale(&mut self, all: &[Access], [first, second]: [&Access; 2], [one, other]: [(Place, usize); 2]) {
        // What only one thread accesses is no matter of another order, and not kept.
        let is_shared = all.iter().any(|it| it.variable == second.variable && it.place.thread != second.place.thread);
        if !first.reads || !second.writes || !is_shared {
            return;
        }
        let is_between = |it: &&Access| it.at > first.at && it.at < second.at && it.variable == first.variable;
        for culprit in all.iter().filter(is_between).filter(|it| it.place.thread != first.place.thread && it.writes) {
            self.stale.insert([first.place, culprit.place, second.place]);
            let is_again = |it: &Access| it.place.thread == first.place.thread && it.reads && !it.blocks.contains(&one);
            if !all.iter().filter(is_between).any(is_again) {
                self.stale_blocks.insert(((one.0, other.0, culprit.place), [first.variable, second.variable]));
            }
        }
    }
}

/// How many there are in all runs that are looked at: what some run shows, as blocks; and candidates that are possible by locks and waits, predicted, and predicted
/// when the code is known.
#[derive(Default, Debug, PartialEq, Eq, Clone, Copy)]
struct Figures {
    torn: usize,
    torn_possible: usize,
    torn_predicted: usize,
    torn_by_code: usize,
    stale: usize,
    stale_possible: usize,
    stale_predicted: usize,
    stale_by_code: usize,
    undecided: usize,
}

impl Figures {
    const fn of(figures: [usize; 9]) -> Figures {
        let [torn, torn_possible, torn_predicted, torn_by_code, ..] = figures;
        let [.., stale, stale_possible, stale_predicted, stale_by_code, undecided] = figures;
        Figures {
            torn,
            torn_possible,
            torn_predicted,
            torn_by_code,
            stale,
            stale_possible,
            stale_predicted,
            stale_by_code,
            undecided,
        }
    }
}

/// The claims of an analysis about one run: where the four steps are, and whether that is possible and predicted.
struct Claims {
    possible: Vec<[Place; 4]>,
    /// Without the code, and with it.
    predicted: [usize; 2],
    undecided: usize,
}

impl Claims {
    fn of(
        machine: &Machine<'_>,
        [history, with_code]: [&History; 2],
        candidates: impl Iterator<Item = Steps>,
        promise: Promise,
        is_true: impl Fn(&Truth, [Place; 4]) -> bool,
        truth: &Truth,
    ) -> Result<Claims, String> {
        let mut claims = Claims { possible: Vec::new(), predicted: [0; 2], undecided: 0 };
        for steps in candidates {
            let places = steps.all().map(|at| place(history, at));
            match is_possible(history, &steps) {
                Some(true) if promise == Promise::Exact && !is_true(truth, places) => {
                    return Err(format!("invented: {places:?}"));
                }
                Some(true) => claims.possible.push(places),
                Some(false) => {}
                None => claims.undecided += 1,
            }
            for (history, predicted) in [history, with_code].into_iter().zip(&mut claims.predicted) {
                let decision = decide::decide(history, &steps, false, Budget::PATIENT);
                let Decision::Predicted(order) = decision else { continue };
                if !is_true(truth, places) {
                    return Err(format!("falsely predicted: {places:?}"));
                }
                let run = performed(machine, history, &order).map_err(|error| format!("{places:?}: {error}"))?;
                if !shows(&run.log, places) {
                    return Err(format!("not shown by the order that was predicted: {places:?}"));
                }
                *predicted += 1;
            }
        }
        Ok(claims)
    }
}

/// Whether the accesses come in the violating order. The run may break off in the middle of the last block.
fn shows(log: &[Taken], [first, culprit, too, second]: [Place; 4]) -> bool {
    let at = |place: Place| log.iter().position(|taken| taken.place == place && access_of(taken.effect).is_some());
    match [first, culprit, too, second].map(at) {
        [Some(first), Some(culprit), Some(too), Some(second)] => first < culprit && too < second,
        _ => false,
    }
}

impl Figures {
    fn add(&mut self, machine: &Machine<'_>, truth: &Truth, run: &Run, promise: Promise) -> Result<(), String> {
        let events = machine.events(run);
        let mut with_code = history(&events);
        with_code.code = Some(Box::new(Known(machine.program.clone())));
        let history = history(&events);
        let clocks = Clocks::new(&history);
        let all = Views::of(&history);
        let seen = accesses(&run.log);
        let blocks_of = |place: Place| {
            let here = seen.iter().filter(move |access| access.place == place);
            here.flat_map(|access| access.blocks.iter().map(|block| block.0)).collect::<Vec<Place>>()
        };
        let variable_of = |place: Place| seen.iter().find(|access| access.place == place).map(|access| access.variable);

        let torn = views::look_at(&history, &clocks, &all, Blocks::Marked, views::Bounds::NONE, 1, &|| false);
        let candidates = torn.classes.values().flat_map(|alike| alike.nearest.iter().copied());
        let is_true = |truth: &Truth, places: [Place; 4]| truth.torn.contains(&places);
        let claims = Claims::of(machine, [&history, &with_code], candidates, promise, is_true, truth)?;
        self.torn += truth.torn_blocks.len();
        self.torn_possible += claims.possible.len();
        self.torn_predicted += claims.predicted[0];
        self.torn_by_code += claims.predicted[1];
        self.undecided += claims.undecided;
        let is_covered = |&&((one, other, culprit), variables): &&(Parts, [usize; 2])| {
            claims.possible.iter().any(|&[first, theirs, too, second]| {
                blocks_of(first).contains(&one)
                    && blocks_of(second).contains(&other)
                    && blocks_of(theirs).contains(&culprit)
                    && blocks_of(too).contains(&culprit)
                    && [first, second].map(variable_of) == variables.map(Some)
            })
        };
        if promise == Promise::Exact
            && let Some(missed) = truth.torn_blocks.iter().find(|it| !is_covered(it))
        {
            return Err(format!("missed: torn {missed:?}"));
        }

        let stale = stale::look_at(&history, &clocks, &all, Blocks::Marked, views::Bounds::NONE, 1, &|| false);
        let candidates = stale.classes.values().flat_map(|alike| alike.nearest.iter().copied());
        let is_true =
            |truth: &Truth, [first, culprit, _, second]: [Place; 4]| truth.stale.contains(&[first, culprit, second]);
        let claims = Claims::of(machine, [&history, &with_code], candidates, promise, is_true, truth)?;
        self.stale += truth.stale_blocks.len();
        self.stale_possible += claims.possible.len();
        self.stale_predicted += claims.predicted[0];
        self.stale_by_code += claims.predicted[1];
        self.undecided += claims.undecided;
        let is_covered = |&&((one, other, culprit), variables): &&(Parts, [usize; 2])| {
            claims.possible.iter().any(|&[first, theirs, _, second]| {
                blocks_of(first).contains(&one)
                    && blocks_of(second).contains(&other)
                    && theirs == culprit
                    && [first, second].map(variable_of) == variables.map(Some)
            })
        };
        if promise == Promise::Exact
            && let Some(missed) = truth.stale_blocks.iter().find(|it| !is_covered(it))
        {
            return Err(format!("missed: stale {missed:?}"));
        }
        Ok(())
    }
}

/// Runs of each scenario that are looked at.
const RUNS: u64 = 3;

fn family(name: &str, shape: Shape, promise: Promise, expected: Figures) {
    let state = RefCell::new((Figures::default(), [0_usize; 2]));
    try_cases(name, shape, CASES, |case| {
        let program = Program::new(&case.scenario);
        let machine = Machine::new(&program);
        let mut truth = Truth::default();
        // Whether a culprit comes before a write of another variable is no matter of conflicts, so that all orders are looked at.
        let explored = explore(&machine, Search::Plain, MOST_STEPS, &mut |run| {
            truth.add(&run.log);
            ControlFlow::Continue(())
        });
        let (figures, [judged, too_large]) = &mut *state.borrow_mut();
        if !explored.is_complete {
            *too_large += 1;
            return Ok(());
        }
        *judged += 1;
        for number in 0..RUNS {
            let run = machine.run_at_random(case.seed.wrapping_add(number));
            if run.is_complete() {
                figures
                    .add(&machine, &truth, &run, promise)
                    .map_err(|error| format!("{error} in the run {:?}", run.order))?;
            }
        }
        Ok(())
    });
    let (figures, [judged, too_large]) = state.into_inner();
    println!("{name}: {judged} scenarios ({too_large} too large to judge): {figures:?}");
    assert!(judged > too_large, "most scenarios are too large to know the truth");
    assert!(
        !is_usual() || figures == expected,
        "{name}: now {figures:?}; a rule that finds less, or other things, must be meant so"
    );
}

macro_rules! families {
    ($($name:ident: $promise:ident, $shape:expr, $figures:expr;)*) => {
        $(#[test]
        fn $name() {
            family(stringify!($name), $shape, Promise::$promise, Figures::of($figures));
        })*
    };
}

families! {
    pairs: Exact, Shape::PAIRS, [63, 63, 63, 63, 408, 327, 319, 327, 0];
    parts_of_three: Exact, Shape::PARTS_OF_THREE, [90, 87, 81, 87, 171, 117, 112, 117, 0];
    shared_pairs: Exact, Shape::SHARED_PAIRS, [18, 18, 18, 18, 153, 138, 138, 138, 0];
    racy_pairs: Exact, Shape::RACY_PAIRS, [0, 0, 0, 0, 6, 9, 7, 9, 0];
    pairs_with_two_locks: Exact, Shape::PLAIN, [30, 30, 12, 30, 33, 33, 27, 33, 0];
    branching_pairs: Sound, Shape::BRANCHING_PAIRS, [72, 52, 45, 45, 198, 142, 117, 117, 0];
}
