//! The serial check against the definition of what it decides, on random runs.

#[path = "serial_support/naive.rs"]
mod naive;

use avmon::analysis::serial::{Config, Operation, Serial};
use avmon::event::{Event, Kind, Mode, RESUMED, ThreadId, access, atomic, memory};
use naive::Naive;

struct Random(u64);

impl Random {
    fn pick(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ mixed >> 31) >> 32) as usize % below
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.pick(100) < percent
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.pick(all.len())]
    }
}

/// What random runs are like.
#[derive(Clone, Copy, Debug)]
struct Shape {
    threads: usize,
    events: usize,
    /// How many percent of the events that close a cycle are let through.
    tolerance: usize,
    /// How many percent of the accesses are of any size at any place.
    ragged: usize,
    /// Long blocks with many variables, so that blocks come after each other before they are over.
    calm: bool,
    /// Rare events: new lives, losses, locks given back by others.
    odd: bool,
}

type Run = Vec<(ThreadId, Event)>;

/// A thread of a random run.
#[derive(Clone, Default)]
struct Actor {
    depth: usize,
    /// Locks that it holds, as often as it took them.
    held: Vec<(u64, Mode)>,
    wait: Option<Wait>,
    forked: bool,
    ended: bool,
    joined: bool,
}

/// A wait that is not over.
#[derive(Clone, Copy)]
struct Wait {
    object: u64,
    /// Of a wait for a condition.
    lock: Option<u64>,
}

struct Generator {
    random: Random,
    shape: Shape,
    actors: Vec<Actor>,
    run: Run,
    naive: Naive,
}

const LOCKS: [u64; 3] = [0x100, 0x140, 0x180];
const OBJECTS: [u64; 2] = [0x200, 0x240];
const MEMORY: u64 = 0x1000;

impl Generator {
    fn new(seed: u64, shape: Shape, config: Config) -> Generator {
        let mut random = Random(seed);
        let mut actors = vec![Actor::default(); shape.threads];
        for actor in &mut actors[1..] {
            // The creation of the others is part of the run.
            actor.forked = random.chance(50);
        }
        actors[0].forked = true;
        Generator { random, shape, actors, run: Vec::new(), naive: Naive::new(config.strict_waits) }
    }

    fn run(mut self) -> Run {
        let mut tries = 0;
        while self.run.len() < self.shape.events && tries < self.shape.events * 20 {
            tries += 1;
            let actor = self.random.pick(self.actors.len());
            if self.actors[actor].forked && !self.actors[actor].ended {
                self.act(actor);
            }
        }
        self.run
    }

    /// Whether the event became part of the run.
    fn put(&mut self, actor: usize, event: Event) -> bool {
        // Every event has a code location of its own.
        let [head, object, _] = event.words();
        let event = Event::from_words([head, object, self.run.len() as u64 + 1]);
        let thread = actor as ThreadId;
        if self.naive.closes(thread, &event) && !self.random.chance(self.shape.tolerance) {
            return false;
        }
        self.naive.step(thread, &event);
        self.run.push((thread, event));
        true
    }

    fn simple(&mut self, actor: usize, kind: Kind, object: u64) -> bool {
        self.put(actor, Event::new(kind, 0, 0, object, 0))
    }

    fn act(&mut self, actor: usize) {
        if let Some(wait) = self.actors[actor].wait {
            return self.end_wait(actor, wait);
        }
        let what = self.random.pick(100);
        let is_calm = self.shape.calm && self.random.chance(60);
        match if is_calm { 0 } else { what } {
            0..40 => self.access(actor),
            40..52 => self.acquire(actor),
            52..66 => self.release(actor),
            66..68 => self.refused(actor),
            68..71 => drop(self.simple_on_object(actor, Kind::Signal)),
            71..73 => drop(self.simple_on_object(actor, Kind::Await)),
            73..76 => self.begin_wait(actor),
            76..84 if self.actors[actor].depth < 3 => {
                self.simple(actor, Kind::BlockBegin, 0);
                self.actors[actor].depth += 1;
            }
            84..92 if self.actors[actor].depth > 0 => {
                self.simple(actor, Kind::BlockEnd, 0);
                self.actors[actor].depth -= 1;
            }
            92..94 => drop(self.simple(actor, Kind::Interfere, 0)),
            94..97 => self.fork_or_join(actor),
            97 => self.end(actor),
            _ if self.shape.odd => self.odd(actor),
            _ => {}
        }
    }

    fn simple_on_object(&mut self, actor: usize, kind: Kind) -> bool {
        let object = self.random.of(&OBJECTS);
        self.simple(actor, kind, object)
    }

    fn begin_wait(&mut self, actor: usize) {
        let object = self.random.of(&OBJECTS);
        let lock = self.actors[actor].held.last().map(|(lock, _)| *lock).filter(|_| self.random.chance(50));
        match lock {
            Some(lock) => {
                if !self.simple(actor, Kind::Release, lock) {
                    return;
                }
                self.actors[actor].held.pop();
            }
            None => drop(self.simple(actor, Kind::Signal, object)),
        }
        self.actors[actor].wait = Some(Wait { object, lock });
    }

    fn end_wait(&mut self, actor: usize, Wait { object, lock }: Wait) {
        let is_held = |lock: u64| self.actors.iter().any(|actor| actor.held.iter().any(|(held, _)| *held == lock));
        if self.random.chance(60) || lock.is_some_and(is_held) {
            return;
        }
        self.actors[actor].wait = None;
        if self.random.chance(90) {
            self.simple(actor, Kind::Interfere, 0);
        }
        self.simple(actor, Kind::Await, object);
        if let Some(lock) = lock
            && self.put(actor, Event::new(Kind::Acquire, RESUMED, 0, lock, 0))
        {
            self.actors[actor].held.push((lock, Mode::Exclusive));
        }
    }

    fn access(&mut self, actor: usize) {
        let ragged = self.random.chance(self.shape.ragged);
        let variables = if self.shape.calm { 15 } else { 5 };
        let address =
            MEMORY + if ragged { self.random.pick(32) as u64 } else { 8 * self.random.pick(variables) as u64 };
        let kinds = [Kind::Read, Kind::Read, Kind::Write, Kind::AtomicLoad, Kind::AtomicStore, Kind::AtomicUpdate];
        let kind = self.random.of(&kinds);
        let event = if matches!(kind, Kind::Read | Kind::Write) {
            let size = if ragged { self.random.of(&[0, 1, 2, 4, 8, 16, 3, 20]) } else { 8 };
            Event::access(kind, access::RANGE, size, 0, address, 0)
        } else {
            let log_size = if ragged { self.random.of(&[0, 1, 2, 3, 4]) } else { 3 };
            Event::new(kind, atomic::detail(5, log_size), 0, address, 0)
        };
        self.put(actor, event);
    }

    fn acquire(&mut self, actor: usize) {
        let lock = self.random.of(&LOCKS);
        let shared = self.random.chance(30);
        let mode = if shared { Mode::Shared } else { Mode::Exclusive };
        let others = self.actors.iter().enumerate().filter(|(other, _)| *other != actor);
        let mut held = others.flat_map(|(_, other)| &other.held).filter(|(held, _)| *held == lock);
        let is_free = held.all(|(_, held)| shared && *held == Mode::Shared);
        let again = self.actors[actor].held.iter().any(|(held, _)| *held == lock);
        if (is_free || again) && self.put(actor, Event::new(Kind::Acquire, mode as u8, 0, lock, 0)) {
            self.actors[actor].held.push((lock, mode));
        }
    }

    fn release(&mut self, actor: usize) {
        if self.actors[actor].held.is_empty() {
            return;
        }
        let at = self.random.pick(self.actors[actor].held.len());
        let (lock, mode) = self.actors[actor].held[at];
        if self.put(actor, Event::new(Kind::Release, mode as u8, 0, lock, 0)) {
            self.actors[actor].held.remove(at);
        }
    }

    fn refused(&mut self, actor: usize) {
        let lock = self.random.of(&[LOCKS[0], LOCKS[1], LOCKS[2], OBJECTS[0]]);
        self.simple(actor, Kind::Refused, lock);
    }

    fn fork_or_join(&mut self, actor: usize) {
        let other = self.random.pick(self.actors.len());
        let Actor { forked, ended, joined, .. } = self.actors[other];
        if !forked && self.simple(actor, Kind::Fork, other as u64) {
            self.actors[other].forked = true;
        } else if ended && !joined && other != actor && self.simple(actor, Kind::Join, other as u64) {
            self.actors[other].joined = true;
            // Somebody new, to sit where the joined one sat.
            self.actors.push(Actor::default());
        }
    }

    fn end(&mut self, actor: usize) {
        let running = self.actors.iter().filter(|actor| actor.forked && !actor.ended).count();
        if running > 2 && self.actors[actor].held.is_empty() && self.simple(actor, Kind::End, actor as u64) {
            self.actors[actor].ended = true;
        }
    }

    fn odd(&mut self, actor: usize) {
        match self.random.pick(10) {
            0..5 => {
                let place = MEMORY + 8 * self.random.pick(4) as u64;
                let address = self.random.of(&[place, place, LOCKS[0], LOCKS[1], OBJECTS[0], OBJECTS[1]]);
                let resized = self.random.chance(50);
                if resized || self.random.chance(50) {
                    self.simple(actor, Kind::Free, address);
                }
                let size = self.random.of(&[3, 8, 13, 16]);
                self.put(actor, Event::new(Kind::Extent, 0, size, 0, 0));
                let detail = if resized { memory::RESIZED } else { memory::HEAP };
                self.put(actor, Event::new(Kind::Allocate, detail, 0, address, 0));
            }
            5..8 => {
                let lock = self.random.of(&LOCKS);
                let is_held = self.actors.iter().any(|actor| actor.held.iter().any(|(held, _)| *held == lock));
                if !is_held {
                    let kind = self.random.of(&[Kind::LockInit, Kind::LockDestroy]);
                    self.simple(actor, kind, lock);
                }
            }
            8 => {
                // A lock is given back by who does not hold it.
                let lock = self.random.of(&LOCKS);
                let holds = self.actors[actor].held.iter().any(|(held, _)| *held == lock);
                if !holds && self.simple(actor, Kind::Release, lock) {
                    self.actors.iter_mut().for_each(|actor| actor.held.retain(|(held, _)| *held != lock));
                }
            }
            _ => {
                self.put(actor, Event::new(Kind::Lost, 0, 3, 0, 0));
                self.actors[actor].depth = 0;
            }
        }
    }
}

/// The first event at which the run is no longer serialisable, by definition.
fn first_cycle(run: &Run, config: Config) -> Option<usize> {
    let mut naive = Naive::new(config.strict_waits);
    for (at, (thread, event)) in run.iter().enumerate() {
        if naive.closes(*thread, event) {
            return Some(at);
        }
        naive.step(*thread, event);
    }
    assert_eq!(naive.split_blocks().len(), 0);
    None
}

/// Compares the verdicts on one run. Since an event closes a cycle or does not, equal first events are equal verdicts on each prefix.
fn compare(run: &Run, config: Config) -> Result<bool, String> {
    let mut serial = Serial::new(config);
    let mut naive = Naive::new(config.strict_waits);
    let mut first = None;
    let mut blamed = Vec::new();
    for (at, (thread, event)) in run.iter().enumerate() {
        naive.step(*thread, event);
        serial.step(*thread, event, &mut |split| {
            first.get_or_insert(at);
            blamed.push(split);
        });
    }
    let expected = first_cycle(run, config);
    if first != expected {
        return Err(format!("told at {first:?}, but the first cycle is closed at {expected:?}"));
    }
    let split = naive.split_blocks();
    for told in &blamed {
        if !split.contains(&told.block.pc) {
            return Err(format!("{told:?} is on no cycle"));
        }
        let is = |operation: &Operation| {
            let event = run.get((operation.pc as usize).wrapping_sub(1));
            let names_it = event.is_some_and(|(thread, event)| {
                (*thread, event.kind()) == (operation.thread, Some(operation.kind))
                    && naive.block_at(operation.pc) == operation.block.map(|block| block.pc)
            });
            names_it || operation.kind == Kind::End
        };
        if !is(&told.operation) || !is(&told.before) || told.before.thread == told.operation.thread {
            return Err(format!("{told:?} names what was not there"));
        }
    }
    Ok(first.is_some())
}

fn shrink(run: &Run, config: Config) -> Run {
    let mut run = run.clone();
    let mut at = run.len();
    while at > 0 {
        at -= 1;
        let mut shorter = run.clone();
        // Without its end a thread would not be over at its join.
        if run[at].1.kind() == Some(Kind::End) {
            continue;
        }
        // Code locations are places in the run.
        shorter[at].1 = Event::new(Kind::Fence, 0, 0, 0, 0);
        if shorter[at] != run[at] && compare(&shorter, config).is_err() {
            run = shorter;
            at = run.len();
        }
    }
    run
}

/// Checks that the verdicts agree, and that there are enough of each.
fn check(shape: Shape, cases: u64) {
    let mut violations = 0;
    for case in 0..cases {
        let config = Config { strict_waits: case % 3 == 0 };
        let shape = Shape { threads: 2 + usize::from(shape.calm) + (case % 4) as usize, ..shape };
        let run = Generator::new(case * 0x1_0001, shape, config).run();
        violations += u64::from(compare(&run, config).unwrap_or_else(|_| {
            let run = shrink(&run, config);
            let error = compare(&run, config);
            let text: Vec<String> = run
                .iter()
                .filter(|(_, event)| event.kind() != Some(Kind::Fence))
                .map(|(thread, event)| format!("T{thread} {event:?} {} size {}", event.detail(), event.size()))
                .collect();
            panic!("case {case} of {shape:?}, {config:?}: {error:?}\n{}", text.join("\n"));
        }));
    }
    println!("{violations} of {cases} runs of {shape:?} are not serialisable");
    assert!(violations > cases / 10 && violations < cases * 9 / 10, "{violations} of {cases} are not serialisable");
}

const SHORT: Shape = Shape { threads: 0, events: 30, tolerance: 100, ragged: 0, calm: false, odd: false };
const LONG: Shape = Shape { threads: 0, events: 150, tolerance: 5, ragged: 0, calm: false, odd: false };

#[test]
fn short_runs() {
    check(SHORT, 3000);
}

#[test]
fn short_runs_with_overlaps_and_new_lives() {
    check(Shape { ragged: 60, odd: true, ..SHORT }, 3000);
}

#[test]
fn long_runs() {
    check(LONG, 600);
}

#[test]
fn long_runs_with_overlaps_and_new_lives() {
    check(Shape { ragged: 40, odd: true, ..LONG }, 600);
}

#[test]
fn long_blocks() {
    check(Shape { calm: true, ..LONG }, 600);
}
