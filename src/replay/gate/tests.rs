//! Small programs at the gate: every interleaving of what their threads do there, or many at random.

use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;

use super::*;
use crate::replay::journal::Why;
use crate::replay::schedule::{Role, Step, Turn};

/// What a thread of a program does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Do {
    Lock(u64),
    Unlock(u64),
    Access(u32),
    /// Waits on this condition, without a lock: the gate knows nothing of locks.
    Wait(u64),
    Signal(u64),
    /// Waits for the end of another thread of the program.
    Join(usize),
    /// Goes into the kernel, and comes back.
    Outside,
    /// Creates this thread; or tries to, and is refused.
    Create(usize),
    CreateInVain(usize),
    /// Asks for something, again and again: it never gets to what comes after.
    Poll(u32),
}

impl Do {
    fn stop(self) -> Stop {
        let (act, object) = match self {
            Do::Lock(lock) => (Act::Lock, lock),
            Do::Unlock(lock) => (Act::Unlock, lock),
            Do::Access(place) => (Act::Read, u64::from(place)),
            Do::Wait(condition) => (Act::Await, condition),
            Do::Signal(condition) => (Act::Signal, condition),
            Do::Join(thread) => (Act::Join, thread as u64),
            Do::Outside => (Act::Lock, 9),
            Do::Create(thread) | Do::CreateInVain(thread) => (Act::Fork, thread as u64),
            Do::Poll(place) => (Act::Atomic, u64::from(place)),
        };
        // The same thing is always done at the same place.
        let place = act as u32 * 10 + object as u32;
        Stop { act, place: Some(place), object, size: 4, code: u64::from(place), is_private: true }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Doing {
    /// On its way to the next stop.
    Nothing,
    /// Told to wait.
    Held,
    /// In its step, which it may or may not be able to do.
    Step,
    Refused,
    Asleep,
    Outside,
    /// Another thread creates it.
    Unborn,
    Done,
}

/// A program that runs at a gate.
#[derive(Clone, PartialEq, Eq, Debug)]
struct World {
    gate: Gate,
    programs: Vec<Vec<Do>>,
    at: Vec<usize>,
    doing: Vec<Doing>,
    owners: BTreeMap<u64, usize>,
    /// Who did what, in this order.
    did: Vec<(usize, Do)>,
    news: Vec<News>,
    stalls: usize,
    /// How often the clock may be ahead of threads that could move: the machine is busy.
    too_early: usize,
}

impl World {
    fn new(gate: Gate, programs: &[Vec<Do>]) -> World {
        let count = programs.len();
        let is_created = |thread: usize| programs.iter().flatten().any(|step| *step == Do::Create(thread));
        let begin = |thread| if is_created(thread) { Doing::Unborn } else { Doing::Nothing };
        World {
            gate,
            programs: programs.to_vec(),
            at: vec![0; count],
            doing: (0..count).map(begin).collect(),
            owners: BTreeMap::new(),
            did: Vec::new(),
            news: Vec::new(),
            stalls: 0,
            too_early: 0,
        }
    }

    fn on_a_busy_machine(self) -> World {
        World { too_early: 2, ..self }
    }

    fn can_move(&self, thread: usize) -> bool {
        let id = thread as ThreadId;
        match self.doing[thread] {
            Doing::Nothing | Doing::Step | Doing::Outside => true,
            Doing::Held | Doing::Refused => self.gate.goes_on(id),
            Doing::Asleep => !self.gate.is_asleep(id),
            Doing::Unborn | Doing::Done => false,
        }
    }

    /// All threads have ended that ever do.
    fn is_done(&self) -> bool {
        let polls = |thread: usize| matches!(self.programs[thread].last(), Some(Do::Poll(_)));
        (0..self.doing.len()).all(|thread| self.doing[thread] == Doing::Done || polls(thread))
    }

    /// One move of a thread that can make one.
    fn advance(&mut self, thread: usize) {
        let id = thread as ThreadId;
        let next = self.programs[thread].get(self.at[thread]).copied();
        self.doing[thread] = match (self.doing[thread], next) {
            (Doing::Nothing, None) => {
                self.gate.ended(id);
                self.gate.released(end_of(thread));
                Doing::Done
            }
            (Doing::Nothing, Some(step)) => {
                if self.gate.arrive(id, step.stop()) {
                    Doing::Step
                } else {
                    Doing::Held
                }
            }
            (Doing::Held | Doing::Refused, _) => Doing::Step,
            (Doing::Step, Some(step)) => self.attempt(thread, step),
            (Doing::Asleep, _) => Doing::Nothing,
            (Doing::Outside, _) => {
                self.gate.returned(id);
                Doing::Nothing
            }
            (Doing::Step, None) | (Doing::Unborn | Doing::Done, _) => unreachable!("it has nothing to do"),
        };
        let _ = self.gate.woken().count();
        self.news.extend(self.gate.news());
    }

    fn attempt(&mut self, thread: usize, step: Do) -> Doing {
        let id = thread as ThreadId;
        match step {
            Do::Lock(lock) if self.owners.contains_key(&lock) => {
                self.gate.blocked(id, step.stop());
                return Doing::Refused;
            }
            Do::Lock(lock) => {
                self.owners.insert(lock, thread);
            }
            Do::Unlock(lock) => {
                self.owners.remove(&lock);
                self.gate.released(lock);
            }
            Do::Signal(condition) => self.gate.signal(condition, true),
            Do::Join(other) if self.doing[other] != Doing::Done => {
                self.gate.joins(id, other as ThreadId, Stop { object: end_of(other), ..step.stop() });
                return Doing::Refused;
            }
            Do::Create(other) => {
                self.gate.announce(other as ThreadId);
                self.doing[other] = Doing::Nothing;
            }
            Do::CreateInVain(other) => {
                self.gate.announce(other as ThreadId);
                self.gate.withdraw(other as ThreadId);
            }
            Do::Poll(_) => {
                self.gate.done(id);
                return Doing::Nothing;
            }
            Do::Access(_) | Do::Wait(_) | Do::Join(_) | Do::Outside => {}
        }
        self.did.push((thread, step));
        self.at[thread] += 1;
        self.gate.done(id);
        if let Do::Wait(_) = step {
            self.gate.sleep(id, step.stop(), true);
            return Doing::Asleep;
        }
        if step == Do::Outside {
            self.gate.goes_outside(id, None);
            return Doing::Outside;
        }
        Doing::Nothing
    }

    /// Time passes, and nothing happens in it.
    fn stall(&mut self) {
        if self.gate.pause().is_some() {
            self.gate.pause_is_over();
        } else {
            self.stalls += 1;
            self.gate.stalled(true);
        }
        for (thread, doing) in self.doing.iter().enumerate() {
            // A thread that was refused looks for itself now and then.
            if *doing == Doing::Refused {
                self.gate.try_again(thread as ThreadId);
            }
        }
        let _ = self.gate.woken().count();
        self.news.extend(self.gate.news());
    }

    /// Runs with moves chosen by `choose`, as long as that helps.
    fn run(mut self, mut choose: impl FnMut(usize) -> usize) -> World {
        // More turns than can be given up, plus all of a retry each.
        let mut patience = 40;
        // As long as it takes until time is over in which nobody brings the turn on.
        let mut seen = (self.gate.progress(), 0);
        while !self.is_done() && patience > 0 {
            let able: Vec<usize> = (0..self.programs.len()).filter(|&thread| self.can_move(thread)).collect();
            seen = if seen.0 == self.gate.progress() { (seen.0, seen.1 + 1) } else { (self.gate.progress(), 0) };
            if able.is_empty() || seen.1 > LONG {
                self.stall();
                patience -= 1;
            } else {
                let chosen = able[choose(able.len()) % able.len()];
                self.advance(chosen);
            }
        }
        self
    }

    fn entries(&self) -> Vec<Entry> {
        let found = |act, code| Found { act, module: String::new(), offset: code, name: None };
        self.news.iter().cloned().map(|news| news.entry(found)).collect()
    }
}

/// Moves of all threads in which each of them could have made some.
const LONG: usize = 1000;

/// The object of those who wait for a thread's end.
fn end_of(thread: usize) -> u64 {
    1000 + thread as u64
}

/// The schedule in which the programs do their steps in this order of threads.
fn schedule(programs: &[Vec<Do>], order: &[usize]) -> Schedule {
    let mut at = vec![0; programs.len()];
    let mut schedule = Schedule::default();
    for &thread in order {
        let Some(step) = programs[thread].get(at[thread]) else { continue };
        at[thread] += 1;
        let place = step.stop().place.unwrap_or(0);
        match schedule.turns.last_mut() {
            Some(turn) if turn.thread == thread as ThreadId => turn.push(place, None),
            _ => {
                let steps = vec![Step { place, times: 1, role: None }];
                schedule.turns.push(Turn::new(thread as ThreadId, steps));
            }
        }
    }
    schedule
}

/// An order in which the programs can run: at each point one of those who can go on.
fn legal_order(programs: &[Vec<Do>], mut choose: impl FnMut(usize) -> usize) -> Vec<usize> {
    let mut at = vec![0; programs.len()];
    let mut owners: HashSet<u64> = HashSet::new();
    let mut order = Vec::new();
    loop {
        let can = |thread: &usize| match programs[*thread].get(at[*thread]) {
            Some(Do::Lock(lock)) => !owners.contains(lock),
            Some(_) => true,
            None => false,
        };
        let able: Vec<usize> = (0..programs.len()).filter(can).collect();
        if able.is_empty() {
            return order;
        }
        let thread = able[choose(able.len()) % able.len()];
        match programs[thread][at[thread]] {
            Do::Lock(lock) => {
                owners.insert(lock);
            }
            Do::Unlock(lock) => {
                owners.remove(&lock);
            }
            _ => {}
        }
        at[thread] += 1;
        order.push(thread);
    }
}

fn section(lock: u64, place: u32) -> Vec<Do> {
    vec![Do::Lock(lock), Do::Access(place), Do::Unlock(lock)]
}

/// Every order of moves, each state once.
fn every_run(world: World, check: &mut impl FnMut(&World)) {
    let mut seen = HashSet::new();
    let mut open = vec![world];
    while let Some(world) = open.pop() {
        if !seen.insert(format!("{world:?}")) {
            continue;
        }
        let able: Vec<usize> = (0..world.programs.len()).filter(|&thread| world.can_move(thread)).collect();
        for &thread in &able {
            let mut next = world.clone();
            next.advance(thread);
            open.push(next);
        }
        if world.too_early > 0 {
            let mut next = World { too_early: world.too_early - 1, ..world.clone() };
            next.stall();
            open.push(next);
        }
        if able.is_empty() {
            if world.is_done() || world.stalls > 40 {
                check(&world);
            } else {
                let mut next = world.clone();
                next.stall();
                open.push(next);
            }
        }
    }
    assert!(seen.len() > 8, "there is nothing to interleave");
}

/// Whatever the threads do first, they follow the schedule to the letter, and nobody has to give anything up.
#[test]
fn a_schedule_is_followed_in_every_interleaving() {
    let programs = [section(1, 1), [section(1, 2), section(2, 3)].concat(), section(2, 4)];
    for seed in 0..6 {
        let mut numbers = (seed..).step_by(3);
        let order = legal_order(&programs, |_| numbers.next().unwrap_or(0));
        let gate = Gate::of_schedule(&schedule(&programs, &order));
        every_run(World::new(gate, &programs), &mut |world| {
            assert!(world.is_done());
            let threads: Vec<usize> = world.did.iter().map(|&(thread, _)| thread).collect();
            assert_eq!((threads, world.stalls), (order.clone(), 0));
            let Some(Entry::Free { figures, .. }) = world.entries().pop() else { panic!("it is not over") };
            assert_eq!((figures.extra, figures.missing, figures.skipped_turns), (0, 0, 0));
        });
    }
}

/// A schedule that wants a lock twice, a thread that is not there, a step that never comes: the program ends all the same.
#[test]
fn the_gate_is_no_reason_to_stop_in_any_interleaving() {
    let programs = [section(1, 1), section(1, 2)];
    let lock = Do::Lock(1).stop().place.unwrap_or(0);
    let turn = |thread, places: &[u32]| {
        Turn::new(thread, places.iter().map(|&place| Step { place, times: 1, role: None }).collect())
    };
    let schedules = [
        vec![turn(0, &[lock]), turn(1, &[lock]), turn(0, &[11])],
        vec![turn(7, &[lock]), turn(1, &[99, 98]), turn(0, &[lock, lock, lock])],
        vec![turn(1, &[lock, 99]), turn(0, &[99]), turn(1, &[lock])],
    ];
    for turns in schedules {
        let gate = Gate::of_schedule(&Schedule { turns, ..Schedule::default() });
        let world = World::new(gate, &programs).on_a_busy_machine();
        every_run(world, &mut |world| assert!(world.is_done(), "{world:#?}"));
    }
}

/// Threads come, are waited for, are not created after all, and are in the kernel.
#[test]
fn the_course_of_threads_is_no_reason_to_stop_in_any_interleaving() {
    let programs = [
        vec![Do::Create(1), Do::CreateInVain(7), Do::Create(2), Do::Join(1), Do::Access(1)],
        vec![Do::Outside, Do::Access(2)],
        vec![Do::Lock(1), Do::Unlock(1)],
    ];
    let orders: [&[usize]; 4] =
        [&[0, 0, 0, 1, 1, 2, 2, 0, 0], &[0, 0, 0, 2, 1, 2, 1, 0, 0], &[0, 0, 0, 0, 0, 1, 1], &[1]];
    for (number, order) in orders.into_iter().enumerate() {
        let gate = Gate::of_schedule(&schedule(&programs, order));
        every_run(World::new(gate, &programs), &mut |world| {
            assert!(world.is_done(), "{world:#?}");
            let threads: Vec<usize> = world.did.iter().map(|&(thread, _)| thread).collect();
            assert!(number > 1 || (threads, world.stalls) == (order.to_vec(), 0), "{world:#?}");
        });
    }
}

/// A step that never comes, while other threads come to stops all the time: one that has no turn, the one whose turn it is.
#[test]
fn who_asks_again_and_again_keeps_no_turn_from_being_given_up() {
    let poll = Do::Poll(5).stop().place.unwrap_or(0);
    let access = Do::Access(1).stop().place.unwrap_or(0);
    let turn = |thread, places: &[u32]| {
        Turn::new(thread, places.iter().map(|&place| Step { place, times: 1, role: None }).collect())
    };
    let programs = [vec![Do::Access(1), Do::Access(2)], vec![Do::Poll(5)]];
    let schedules = [
        vec![turn(7, &[99]), turn(0, &[access])],
        vec![turn(1, &[poll, poll, 99]), turn(0, &[access])],
        vec![turn(1, &[99]), turn(0, &[access])],
    ];
    for turns in schedules {
        let gate = Gate::of_schedule(&Schedule { turns, ..Schedule::default() });
        let mut threads = 0..;
        let world = World::new(gate, &programs).run(|_| threads.next().unwrap_or(0));
        assert!(world.is_done() && world.stalls > 0, "{world:#?}");
    }
}

/// Who was told to go on and did not get to it before it was given up, too.
#[test]
fn chance_is_no_reason_to_stop_in_any_interleaving() {
    let programs = [section(1, 1), section(1, 2), vec![Do::Access(3)]];
    for seed in 0..4 {
        let mut gate = Gate::of_chance(Chance::new(seed, 2, 8));
        for thread in 0..programs.len() {
            gate.announce(thread as ThreadId);
        }
        let world = World::new(gate, &programs).on_a_busy_machine();
        every_run(world, &mut |world| assert!(world.is_done(), "{world:#?}"));
    }
}

/// Nobody goes on in a pause, and it is no reason to give anything up, whoever comes first.
#[test]
fn a_pause_is_followed_in_every_interleaving() {
    let programs = [section(1, 1), section(1, 2)];
    let mut schedule = schedule(&programs, &[0, 0, 0, 1, 1, 1]);
    schedule.turns[1].pause = 5;
    schedule.turns[0].pause = 7;
    every_run(World::new(Gate::of_schedule(&schedule), &programs), &mut |world| {
        assert!(world.is_done(), "{world:#?}");
        let threads: Vec<usize> = world.did.iter().map(|&(thread, _)| thread).collect();
        assert_eq!((threads, world.stalls), (vec![0, 0, 0, 1, 1, 1], 0));
    });
    let mut gate = Gate::of_schedule(&schedule);
    assert_eq!(gate.pause(), Some((0, 7)));
    assert!(!gate.arrive(0, programs[0][0].stop()));
    gate.pause_is_over();
    assert!(gate.goes_on(0) && gate.pause().is_none());
}

#[test]
fn what_cannot_be_done_is_told() {
    let programs = [section(1, 1), section(1, 2)];
    let lock = Do::Lock(1).stop().place.unwrap_or(0);
    let one = |thread| Turn::new(thread, vec![Step { place: lock, times: 1, role: None }]);
    let gate = Gate::of_schedule(&Schedule { turns: vec![one(0), one(1)], ..Schedule::default() });
    let world = World::new(gate, &programs).run(|_| 0);
    let skipped = world.entries().into_iter().find(|entry| matches!(entry, Entry::Skipped { .. }));
    assert_eq!(skipped, Some(Entry::Skipped { turn: 1, thread: 1, expected: lock, why: Why::Blocked }));
}

#[test]
fn who_has_nothing_to_do_may_help_one_that_is_late() {
    let step = |place| vec![Step { place, times: 1, role: None }];
    let (access, other) = (Do::Access(1).stop(), Do::Access(2).stop());
    let turns = vec![
        Turn::new(1, Vec::new()),
        Turn::new(0, step(access.place.unwrap_or(0))),
        Turn::new(2, step(other.place.unwrap_or(0))),
    ];
    let mut gate = Gate::of_schedule(&Schedule { turns, ..Schedule::default() });
    let is_skipped = |gate: &mut Gate| gate.news().any(|news| matches!(news, News::Entry(Entry::Skipped { .. })));
    assert!(!gate.arrive(1, other), "it would be ahead");
    assert!(!gate.arrive(2, other));
    gate.stalled(false);
    assert!(gate.goes_on(1), "nobody knows what the first one waits for");
    assert!(!gate.goes_on(2), "its turn is still to come");
    assert!(!is_skipped(&mut gate));
    gate.stalled(false);
    assert!(is_skipped(&mut gate), "it did not help");
    assert!(gate.goes_on(2));
}

#[test]
fn a_deadlock_of_the_program_is_told_as_one() {
    let programs = [vec![Do::Lock(1), Do::Lock(2)], vec![Do::Lock(2), Do::Lock(1)]];
    let gate = Gate::of_schedule(&schedule(&programs, &[0, 1]));
    let world = World::new(gate, &programs).run(|_| 0);
    let deadlocks: Vec<Entry> =
        world.entries().into_iter().filter(|entry| matches!(entry, Entry::Deadlock { .. })).collect();
    let [Entry::Deadlock { threads, is_certain: true }] = &deadlocks[..] else { panic!("{deadlocks:?}") };
    assert_eq!(threads.iter().map(|it| (it.thread, it.object)).collect::<Vec<_>>(), [(0, 2), (1, 1)]);
}

/// What is told of deadlocks, in short.
fn deadlocks(gate: &mut Gate) -> Vec<Option<bool>> {
    let told = gate.news().filter_map(|news| match news {
        News::Deadlock { is_certain, .. } => Some(Some(is_certain)),
        News::Entry(Entry::Resumed) => Some(None),
        _ => None,
    });
    told.collect()
}

#[test]
fn a_deadlock_is_certain_only_if_nobody_else_could_end_it() {
    let wait = Stop { place: None, ..Do::Lock(1).stop() };
    let at_gate = |stop: Stop, is_closed: bool| {
        let mut gate = Gate::of_schedule(&Schedule::default());
        gate.blocked(0, stop);
        gate.stalled(is_closed);
        let told = deadlocks(&mut gate);
        (gate, told)
    };
    assert_eq!(at_gate(wait, true).1, [Some(true)]);
    assert_eq!(at_gate(Stop { is_private: false, ..wait }, true).1, [Some(false)]);
    let (mut gate, told) = at_gate(wait, false);
    assert_eq!(told, [Some(false)]);
    gate.stalled(false);
    assert_eq!(deadlocks(&mut gate), [], "it is known");
    gate.goes_outside(0, Some(wait));
    gate.stalled(false);
    assert_eq!(deadlocks(&mut gate), [], "it is still the same");
    gate.returned(0);
    gate.stalled(true);
    assert_eq!(deadlocks(&mut gate), [None], "it was none");
    gate.goes_outside(0, None);
    gate.stalled(true);
    assert_eq!(deadlocks(&mut gate), [], "the kernel may do anything");
}

#[test]
fn a_signal_wakes_who_is_next() {
    let programs = [vec![Do::Wait(5), Do::Access(1)], vec![Do::Wait(5), Do::Access(2)], vec![Do::Signal(5)]];
    let mut world = World::new(Gate::of_schedule(&schedule(&programs, &[0, 1, 2, 1, 0])), &programs);
    for thread in [0, 1, 2] {
        world.advance(thread);
        world.advance(thread);
    }
    let both = world.clone().run(|_| 0);
    assert_eq!(both.did[3..], [(1, Do::Access(2)), (0, Do::Access(1))]);
    assert_eq!(both.stalls, 0);
}

#[test]
fn roles_are_told_when_they_are_played() {
    let programs = [vec![Do::Access(1), Do::Access(1)], vec![Do::Access(1)]];
    let mut schedule = schedule(&programs, &[0, 1, 0]);
    for (turn, role) in schedule.turns.iter_mut().zip([Role::First, Role::Culprit, Role::Second]) {
        turn.steps[0].role = Some(role);
    }
    every_run(World::new(Gate::of_schedule(&schedule), &programs), &mut |world| {
        let roles = world.entries().into_iter().filter_map(|entry| match entry {
            Entry::Role { role, thread, .. } => Some((role, thread)),
            _ => None,
        });
        assert_eq!(roles.collect::<Vec<_>>(), [(Role::First, 0), (Role::Culprit, 1), (Role::Second, 0)]);
    });
}

/// A program, as often as wanted in another mix of sections.
fn programs() -> impl Strategy<Value = Vec<Vec<Do>>> {
    let part = prop_oneof![
        (1..4_u64, 1..6_u32).prop_map(|(lock, place)| section(lock, place)),
        (1..6_u32).prop_map(|place| vec![Do::Access(place)]),
        (1..6_u32).prop_map(|place| { [vec![Do::Lock(1)], section(2, place), vec![Do::Unlock(1)]].concat() }),
        Just(vec![Do::CreateInVain(50)]),
    ];
    let thread = prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat());
    prop::collection::vec(thread, 1..5)
}

/// The same, with calls of the kernel, which come back when they like.
fn programs_with_calls() -> impl Strategy<Value = Vec<Vec<Do>>> {
    let outside = |mut programs: Vec<Vec<Do>>, at: Vec<(usize, usize)>| {
        for (thread, step) in at {
            let count = programs.len();
            let program = &mut programs[thread % count];
            let step = step % (program.len() + 1);
            program.insert(step, Do::Outside);
        }
        programs
    };
    (programs(), prop::collection::vec(any::<(usize, usize)>(), 0..4))
        .prop_map(move |(programs, at)| outside(programs, at))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_legal_order_is_followed(programs in programs_with_calls(), order in any::<Vec<usize>>(), moves in any::<Vec<usize>>()) {
        let from = |numbers: Vec<usize>| {
            let mut numbers = numbers.into_iter().cycle();
            move |_| numbers.next().unwrap_or(0)
        };
        let order = legal_order(&programs, from(order));
        let world = World::new(Gate::of_schedule(&schedule(&programs, &order)), &programs).run(from(moves));
        prop_assert!(world.is_done());
        prop_assert_eq!(world.did.iter().map(|&(thread, _)| thread).collect::<Vec<_>>(), order);
        prop_assert_eq!(world.stalls, 0);
    }

    /// The schedule is of another program, which has more, fewer and other steps.
    #[test]
    fn no_schedule_stops_a_program(
        programs in programs_with_calls(), other in programs_with_calls(), order in any::<Vec<usize>>(), moves in any::<Vec<usize>>(),
    ) {
        let mut orders = order.into_iter().cycle();
        let order = legal_order(&other, |_| orders.next().unwrap_or(0));
        let mut moves = moves.into_iter().cycle();
        let gate = Gate::of_schedule(&schedule(&other, &order));
        let world = World::new(gate, &programs).run(|_| moves.next().unwrap_or(0));
        prop_assert!(world.is_done(), "{:#?}", world);
    }

    /// The same beside a thread that never ends, and never does anything new.
    #[test]
    fn no_schedule_stops_a_program_beside_one_that_polls(
        programs in programs_with_calls(), other in programs_with_calls(), order in any::<Vec<usize>>(), is_in_schedule in any::<bool>(),
    ) {
        let mut orders = order.into_iter().cycle();
        let order = legal_order(&other, |_| orders.next().unwrap_or(0));
        let mut schedule = schedule(&other, &order);
        if is_in_schedule {
            let step = Step { place: Do::Poll(5).stop().place.unwrap_or(0), times: 3, role: None };
            schedule.turns.push(Turn::new(programs.len() as ThreadId, vec![step]));
        }
        let with_poller = [programs, vec![vec![Do::Poll(5)]]].concat();
        let mut threads = 0..;
        let world = World::new(Gate::of_schedule(&schedule), &with_poller).run(|_| threads.next().unwrap_or(0));
        prop_assert!(world.is_done(), "{:#?}", world);
    }

    /// Threads that take turns by chance: only one runs, all come to their end, and a seed stands for one run.
    #[test]
    fn a_seed_stands_for_one_run(programs in programs(), seed in any::<u64>(), moves in any::<[Vec<usize>; 2]>()) {
        let [first, second] = moves.map(|moves| {
            let mut moves = moves.into_iter().cycle();
            let mut gate = Gate::of_chance(Chance::new(seed, 3, 20));
            for thread in 0..programs.len() {
                gate.announce(thread as ThreadId);
            }
            World::new(gate, &programs).run(|_| moves.next().unwrap_or(0))
        });
        prop_assert!(first.is_done());
        prop_assert_eq!(first.stalls, 0);
        prop_assert_eq!(first.did, second.did);
    }
}
