//! Schedules before the interpreter: the order that they are made of is what was predicted, with no more switches, and a run that is stopped where they
//! say comes to the violation whatever its threads do elsewhere.
//!
//! How to run many more: see `tests/scenarios/judge.rs`.

mod predict_support;
mod replay_support;
mod scenarios;
mod trace_run;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use avmon::analysis::{Violation, sidetrack};
use avmon::event::{Event, Kind, STRIPES, ThreadId, access};
use avmon::options::Options;
use avmon::predict::analyse::{self, Watch, analyse};
use avmon::predict::cut_points::Blocks;
use avmon::predict::history::{At, Config, History, NONE, Op};
use avmon::predict::prediction::{Prediction, Shape as Split};
use avmon::predict::search::{Budget, Order};
use avmon::replay::schedule::{Act, Role, Schedule};
use avmon::replay::synthesis::{Target, Unschedulable, numbers, reduce, schedules};
use avmon::replay::window;
use avmon::report::modules::ModuleMap;
use avmon::report::symbols::Symbols;
use avmon::scenario::facts::{Crossing, Facts, Triple};
use avmon::scenario::machine::Machine;
use avmon::scenario::program::Program;
use avmon::scenario::run::Run;
use avmon::trace::reader::Trace;
use predict_support::scenario::{perform, place};
use scenarios::judge::{self, Truth, try_cases};
use scenarios::{Case, Shape};

const CASES: u32 = 150;
const RUNS: u64 = 3;

/// A map in which all code of scenarios lies in one file, which begins at address 0.
const MAP: &str = "00000000-fffffffff000 r-xp 00000000 08:01 11 /bin/simulated\n";

/// Blocks are the marked ones.
const MARKED: sidetrack::Config =
    sidetrack::Config { paper: false, strict_waits: false, functions: false, sections: false, rechecks: false };

fn predictions(history: &History) -> Vec<Prediction> {
    let config = analyse::Config { blocks: Blocks::Marked, budget: Budget::PATIENT, ..analyse::Config::default() };
    analyse(history, &config, &Watch { stop: &|| false, progress: &|_, _| {} }).predictions
}

/// Whether a run shows what was predicted.
fn is_shown(history: &History, prediction: &Prediction, facts: &Facts) -> bool {
    let steps = &prediction.steps;
    let [first, culprit, culprit_too, second] = steps.all().map(|at| place(history, at));
    match prediction.shape {
        Split::One(pattern) => facts.triples.contains(&Triple { pattern, first, other: culprit, second }),
        Split::Two => {
            let (there, back) = ((first, culprit), (culprit_too, second));
            facts.crossings.contains(&Crossing { one: there.min(back), other: there.max(back) })
        }
        Split::View | Split::Stale => unreachable!("nobody asked for them"),
    }
}

fn switches(history: &History, order: &[At]) -> usize {
    order.windows(2).filter(|pair| history.step(pair[0]).lane != history.step(pair[1]).lane).count()
}

/// What each read sees.
fn seen(history: &History, order: &[At]) -> BTreeMap<At, At> {
    let mut written = BTreeMap::new();
    let mut seen = BTreeMap::new();
    for &at in order {
        let step = history.step(at);
        if step.op.reads() {
            seen.insert(at, written.get(&step.object).copied().unwrap_or(NONE));
        }
        if step.op.writes() {
            written.insert(step.object, at);
        }
    }
    seen
}

/// The reduced order of a target, if it is a part of the given one in which nothing that matters has changed.
fn reduced(history: &History, target: &Target) -> Result<Vec<At>, String> {
    let given: Vec<At> = (0..target.order.from).chain(target.order.steps.iter().copied()).collect();
    let order = reduce(history, target);
    let wrong = |what: &str| Err(format!("{what}: {order:?} of {given:?}"));
    let before = seen(history, &given);
    if seen(history, &order).iter().any(|(read, write)| before[read] != *write) {
        return wrong("a read sees something else");
    }
    for lane in &history.lanes {
        let mine: Vec<At> = order.iter().copied().filter(|at| lane.contains(at)).collect();
        if !lane.starts_with(&mine) {
            return wrong("not the steps of a thread, one by one");
        }
    }
    if switches(history, &order) > switches(history, &given) {
        return wrong("more switches");
    }
    let position = |role| {
        let (at, _) = target.roles.iter().find(|(_, other)| *other == role)?;
        order.iter().position(|step| step == at)
    };
    let too = position(Role::CulpritToo).or(position(Role::Culprit));
    let in_order = |one: Option<usize>, other: Option<usize>| one.is_some() && other.is_some() && one < other;
    if !in_order(position(Role::First), position(Role::Culprit)) || !in_order(too, position(Role::Second)) {
        return wrong("not in the violating order");
    }
    Ok(order)
}

#[derive(Default, Debug)]
struct Figures {
    targets: usize,
    steps: usize,
    steps_before: usize,
    switches: usize,
    switches_before: usize,
}

impl Figures {
    fn look_at(&mut self, machine: &Machine<'_>, run: &Run) -> Result<(), String> {
        let history = predict_support::history(&machine.events(run));
        for prediction in predictions(&history) {
            let target = Target::of_prediction(&prediction);
            let order = reduced(&history, &target)?;
            let given: Vec<At> = (0..target.order.from).chain(target.order.steps.iter().copied()).collect();
            self.targets += 1;
            self.steps += order.len();
            self.steps_before += given.len();
            self.switches += switches(&history, &order);
            self.switches_before += switches(&history, &given);
            let facts = perform(machine, &history, &Order { from: 0, steps: order.clone() })?;
            if !is_shown(&history, &prediction, &facts) {
                return Err(format!("{prediction:?} is not shown by {order:?}"));
            }
        }
        Ok(())
    }
}

fn each_run(name: &str, shape: Shape, cases: u32, mut check: impl FnMut(&Machine<'_>, &Run) -> Result<(), String>) {
    let check = std::cell::RefCell::new(&mut check);
    try_cases(name, shape, cases, |case: &Case| {
        let program = Program::new(&case.scenario);
        let machine = Machine::new(&program);
        for run in (0..RUNS).map(|number| machine.run_at_random(case.seed.wrapping_add(number))) {
            if run.is_complete() {
                check.borrow_mut()(&machine, &run).map_err(|error| format!("{error}, in the run {:?}", run.order))?;
            }
        }
        Ok(())
    });
}

/// A recording of a run, and the history of what is read back.
fn recorded(directory: &std::path::Path, events: &[(ThreadId, Event)]) -> (Trace, History) {
    let threads = events.iter().map(|(thread, _)| *thread).max().map_or(0, |last| last as usize + 1);
    let mut streams = vec![Vec::new(); threads];
    for &(thread, event) in events {
        streams[thread as usize].push(event);
    }
    trace_run::record(directory, &streams, trace_run::PLAIN);
    let trace = Trace::open(directory).expect("a recording");
    let (merged, _) = trace_run::merged(&trace);
    let history = predict_support::history_with(&merged, Config { numbers: true, ..Config::default() });
    (trace, history)
}

/// The interpreter's threads have the same numbers in every run.
fn in_recorded_numbers(history: &History, target: &Target, mut schedule: Schedule) -> Schedule {
    let order = reduce(history, target);
    let numbers = numbers(history, &order);
    for turn in &mut schedule.turns {
        let lane_of = |at: &&At| numbers[history.step(**at).lane as usize] == turn.thread;
        turn.thread = order.iter().find(lane_of).map_or(turn.thread, |&at| history.thread(at));
    }
    schedule
}

/// Each thread's events at the places of a schedule, as far as its part goes, are what the schedule has of it.
fn has_every_event(trace: &Trace, schedule: &Schedule) -> Result<(), String> {
    let places = replay_support::places(schedule);
    let mut there: BTreeMap<ThreadId, Vec<u32>> = BTreeMap::new();
    let mut note = |thread: ThreadId, event: &Event| {
        let key = Act::of(event).map(|act| (if act == Act::End { 0 } else { event.pc }, act));
        there.entry(thread).or_default().extend(key.and_then(|key| places.get(&key)));
        ControlFlow::Continue(())
    };
    trace.merged(&mut note, &mut |_, _| {});
    let mut asked: BTreeMap<ThreadId, Vec<u32>> = BTreeMap::new();
    for step in replay_support::asked(schedule) {
        asked.entry(step.thread).or_default().push(step.place);
    }
    for (thread, steps) in asked {
        if !there[&thread].starts_with(&steps) {
            return Err(format!("T{thread} does {:?}, and the schedule has {steps:?}", there[&thread]));
        }
    }
    Ok(())
}

fn is_in_violating_order(roles: &[Role]) -> bool {
    let position = |role| roles.iter().position(|&other| other == role);
    let too = position(Role::CulpritToo).or(position(Role::Culprit));
    position(Role::First) < position(Role::Culprit) && too < position(Role::Second) && position(Role::First).is_some()
}

/// A run that is stopped as a schedule says shows what was predicted.
fn schedules_work(machine: &Machine<'_>, run: &Run, made: &mut usize) -> Result<(), String> {
    let directory = tempfile::tempdir().expect("a directory");
    let (trace, history) = recorded(directory.path(), &machine.events(run));
    let predictions = predictions(&history);
    let targets: Vec<Target> = predictions.iter().map(Target::of_prediction).collect();
    let mut symbols = Symbols::new(&Options::default(), ModuleMap::parse(MAP));
    let made_of = predictions.iter().zip(&targets);
    for ((prediction, target), schedule) in made_of.zip(schedules(&trace, &history, &targets, &mut symbols)) {
        let schedule = schedule.map_err(|error| format!("{prediction:?}: {error}"))?;
        let schedule = in_recorded_numbers(&history, target, schedule);
        *made += 1;
        has_every_event(&trace, &schedule)?;
        let again: Schedule = schedule.to_string().parse().map_err(|error| format!("{error} in\n{schedule}"))?;
        assert_eq!(again, schedule);
        for seed in 0..4 {
            let fail = |error: String| format!("{prediction:?}: {error}, by\n{schedule}");
            let (roles, run) = replay_support::steer(machine, &schedule, seed).map_err(fail)?;
            if !is_in_violating_order(&roles) {
                return Err(fail(format!("the steps came as {roles:?}")));
            }
            if !is_shown(&history, prediction, &Facts::of(machine.program, &run, false)) {
                return Err(fail(format!("not shown by {:?}", run.log)));
            }
        }
    }
    Ok(())
}

/// What becomes of the windows of a run.
#[derive(Default, Debug)]
struct Windows {
    targets: usize,
    /// Windows that no run splits, and for which there is no order.
    impossible: usize,
    /// Windows that some run splits, and for which there is none either.
    missed: usize,
}

impl Windows {
    /// Without the accesses all orders are a matter of locks: as of programs that are not instrumented.
    fn look_at(&mut self, truth: &Truth<'_>, with_accesses: bool) -> Result<(), String> {
        for run in truth.runs().filter(Run::is_complete) {
            let mut events = truth.machine.events(&run);
            events.retain(|(_, event)| with_accesses || event.size() == 0);
            let directory = tempfile::tempdir().expect("a directory");
            let (trace, history) = recorded(directory.path(), &events);
            let mut found: Vec<(Violation, Target)> = Vec::new();
            for violation in judge::analyse(truth.machine, &run, MARKED) {
                match window::target(&history, &violation, Budget::PATIENT) {
                    Some(target) => found.push((violation, target)),
                    None if judge::claims(&violation).iter().any(|claim| truth.facts.windows.contains(claim)) => {
                        self.missed += 1;
                    }
                    None => self.impossible += 1,
                }
            }
            self.targets += found.len();
            let targets: Vec<Target> = found.iter().map(|(_, target)| target.clone()).collect();
            let mut symbols = Symbols::new(&Options::default(), ModuleMap::parse(MAP));
            for ((violation, target), schedule) in found.iter().zip(schedules(&trace, &history, &targets, &mut symbols))
            {
                let fail = |error: String| format!("{violation:?}: {error}, in the run {:?}", run.order);
                reduced(&history, target).map_err(fail)?;
                let schedule = schedule.map_err(|error| fail(error.to_string()))?;
                let schedule = in_recorded_numbers(&history, target, schedule);
                has_every_event(&trace, &schedule).map_err(fail)?;
                for seed in 0..4 {
                    let steered = replay_support::steer(truth.machine, &schedule, seed);
                    let (roles, run) = steered.map_err(|error| fail(format!("{error}, by\n{schedule}")))?;
                    let facts = Facts::of(truth.machine.program, &run, false);
                    let is_split = judge::claims(violation).iter().any(|claim| facts.windows.contains(claim));
                    if !is_in_violating_order(&roles) || !is_split {
                        return Err(fail(format!("not split by {:?}, by\n{schedule}", run.log)));
                    }
                }
            }
        }
        Ok(())
    }
}

mod windows {
    use super::*;

    fn family(name: &str, shape: Shape) {
        for with_accesses in [true, false] {
            let mut windows = Windows::default();
            judge::judge(name, shape, CASES, |truth| windows.look_at(truth, with_accesses));
            println!("{name}: {windows:?}");
            assert!(windows.targets > 0 && windows.missed == 0, "{name}: {windows:?}");
        }
    }

    macro_rules! families {
        ($($name:ident: $shape:expr;)*) => {
            $(#[test]
            fn $name() {
                family(stringify!($name), $shape);
            })*
        };
    }

    // Without branches: what is read on the way may then be something else.
    families! {
        two_threads: Shape::PLAIN;
        three_locks: Shape::THREE_LOCKS;
        chains: Shape::CHAINS;
        shared: Shape::SHARED;
        forks: Shape::FORKS;
        barriers: Shape::BARRIERS;
    }
}

macro_rules! families {
    ($($name:ident: $shape:expr;)*) => {
        mod orders {
            use super::*;
            $(#[test]
            fn $name() {
                let mut figures = Figures::default();
                each_run(stringify!($name), $shape, CASES, |machine, run| figures.look_at(machine, run));
                println!("{}: {figures:?}", stringify!($name));
                assert!(figures.targets > 0 && figures.switches < figures.switches_before);
            })*
        }

        mod steered {
            use super::*;
            $(#[test]
            fn $name() {
                let mut made = 0;
                each_run(stringify!($name), $shape, CASES, |machine, run| schedules_work(machine, run, &mut made));
                println!("{}: {made} schedules", stringify!($name));
                assert!(made > 0);
            })*
        }
    };
}

families! {
    two_threads: Shape::PLAIN;
    races: Shape::RACES;
    three_locks: Shape::THREE_LOCKS;
    chains: Shape::CHAINS;
    shared: Shape::SHARED;
    forks: Shape::FORKS;
    atomics: Shape::ATOMICS;
    branches: Shape::BRANCHES;
    tries: Shape::TRIES;
    atomic_branches: Shape::ATOMIC_BRANCHES;
    conditions: Shape::CONDITIONS;
    semaphores: Shape::SEMAPHORES;
    barriers: Shape::BARRIERS;
    everything: Shape::EVERYTHING;
}

/// Runs of a few events.
mod by_hand {
    use super::*;

    const LOCK: u64 = 0x9000;
    const FLAG: u64 = 0x9100;

    fn event(kind: Kind, object: u64, pc: u64) -> Event {
        Event::new(kind, 0, 0, object, pc)
    }

    fn flag_is_set(pc: u64) -> Event {
        Event::access(Kind::Write, access::VOLATILE, 4, 0, FLAG, pc)
    }

    /// T0 takes the lock twice, at 0x140 and 0x160, and T1 once, at 0x220.
    fn run(between: &[Event]) -> Vec<(ThreadId, Event)> {
        let section =
            |thread, pc| [(thread, event(Kind::Acquire, LOCK, pc)), (thread, event(Kind::Release, LOCK, pc + 0x10))];
        let mut events = vec![(0, event(Kind::Fork, 1, 0x100)), (1, event(Kind::Start, 1, 0x200))];
        events.extend(between.iter().map(|&event| (0, event)));
        events.extend(section(0, 0x140));
        events.extend(section(0, 0x160));
        events.extend(section(1, 0x220));
        let mut numbers = vec![0; STRIPES];
        for (_, event) in &mut events {
            let Some(kind) = event.kind().filter(|kind| kind.is_ordered()) else { continue };
            let number = &mut numbers[Event::stripe(kind, event.object)];
            *event = Event::new(kind, event.detail(), *number, event.object, event.pc);
            *number += 1;
        }
        events
    }

    /// A schedule that lets T1 in between the two.
    fn schedule(between: &[Event], map: &str) -> Result<Schedule, Unschedulable> {
        let directory = tempfile::tempdir().expect("a directory");
        let (trace, history) = recorded(directory.path(), &run(between));
        let acquires: Vec<At> =
            (0..history.steps.len() as At).filter(|&at| history.step(at).op == Op::Acquire).collect();
        let &[first, second, culprit] = &acquires[..] else { panic!("{acquires:?}") };
        let until = |last: At| {
            let lane = &history.lanes[history.step(last).lane as usize];
            lane.iter().copied().take_while(move |&at| at <= last)
        };
        let [left, back] = [first, culprit].map(|acquire| history.step(acquire).link);
        let steps = until(left).chain(until(back)).chain([second]).collect();
        let roles = vec![(first, Role::First), (culprit, Role::Culprit), (second, Role::Second)];
        let target = Target { roles, order: Order { from: 0, steps }, after: Vec::new() };
        let mut symbols = Symbols::new(&Options::default(), ModuleMap::parse(map));
        schedules(&trace, &history, &[target], &mut symbols).remove(0)
    }

    #[test]
    fn a_section_between_two() {
        let schedule = schedule(&[], MAP).expect("a schedule");
        assert_eq!(
            schedule.to_string(),
            "\
avmon schedule 1
program simulated - 0
module 0 simulated -
place 0 0+100 fork simulated+0xff
place 1 0+140 lock simulated+0x13f
place 2 0+150 unlock simulated+0x14f
place 3 0+160 lock simulated+0x15f
place 4 0+170 unlock simulated+0x16f
place 5 0+200 start simulated+0x200
place 6 0+220 lock simulated+0x21f
place 7 0+230 unlock simulated+0x22f
turn 0 0 1!first 2
turn 1 5 6!culprit 7
turn 0 3!second
"
        );
    }

    #[test]
    fn a_volatile_write_is_stopped_at_as_a_write() {
        let signal = event(Kind::Signal, FLAG, 0x110);
        let schedule = schedule(&[signal, flag_is_set(0x110), flag_is_set(0x110)], MAP).expect("a schedule");
        let place = schedule.places.iter().position(|place| place.code == Some((0, 0x110))).expect("its place");
        assert_eq!(schedule.places[place].act, Act::Write);
        let steps = replay_support::asked(&schedule).into_iter().filter(|step| step.place as usize == place);
        assert_eq!(steps.count(), 2, "{schedule}");
    }

    #[test]
    fn a_lock_that_its_owner_takes_again_is_counted() {
        let again = [
            event(Kind::Acquire, LOCK + 64, 0x140),
            event(Kind::Acquire, LOCK + 64, 0x140),
            event(Kind::Release, LOCK + 64, 0x150),
            event(Kind::Release, LOCK + 64, 0x150),
        ];
        let directory = tempfile::tempdir().expect("a directory");
        let (trace, history) = recorded(directory.path(), &run(&again));
        let at = |pc, skip| {
            let all = 0..history.steps.len() as At;
            all.filter(|&at| history.pc(at) == pc && history.step(at).op == Op::Acquire).nth(skip).expect("an acquire")
        };
        let roles = vec![(at(0x140, 1), Role::First), (at(0x220, 0), Role::Culprit), (at(0x160, 0), Role::Second)];
        let order = Order { from: history.steps.len() as At, steps: Vec::new() };
        let mut symbols = Symbols::new(&Options::default(), ModuleMap::parse(MAP));
        let schedule =
            schedules(&trace, &history, &[Target { roles, order, after: Vec::new() }], &mut symbols).remove(0);
        let schedule = schedule.expect("a schedule");
        has_every_event(&trace, &schedule).expect("every event");
        let place = schedule.places.iter().position(|place| place.code == Some((0, 0x140))).expect("its place");
        let taken: u32 =
            replay_support::asked(&schedule).iter().map(|step| u32::from(step.place as usize == place)).sum();
        assert_eq!(taken, 3, "{schedule}");
    }

    #[test]
    fn what_cannot_be_scheduled_is_told() {
        let lost = Event::new(Kind::Lost, 0, 5, 0, 0);
        assert_eq!(schedule(&[lost], MAP), Err(Unschedulable::Lost));
        let elsewhere = "00000000-00000200 r-xp 00000000 08:01 11 /bin/simulated\n";
        assert_eq!(schedule(&[], elsewhere), Err(Unschedulable::NoFile(0x200)));
        let directory = tempfile::tempdir().expect("a directory");
        let (trace, _) = recorded(directory.path(), &run(&[]));
        let history = predict_support::history(&trace_run::merged(&trace).0);
        let first = (0..history.steps.len() as At).find(|&at| history.step(at).op == Op::Acquire).expect("an acquire");
        let order = Order { from: first + 1, steps: Vec::new() };
        let mut symbols = Symbols::new(&Options::default(), ModuleMap::parse(MAP));
        let unnumbered = Target { roles: vec![(first, Role::First)], order, after: Vec::new() };
        let found = schedules(&trace, &history, &[unnumbered], &mut symbols);
        assert_eq!(found, [Err(Unschedulable::Incomplete)]);
    }
}
