//! `SideTrack` against an oracle that runs small programs in every possible order.
//!
//! A program is a few straight-line threads. The oracle finds every window (two consecutive acquires of a lock in one
//! transaction) that some run splits: another thread acquires the lock, in a mode that conflicts with both flanks, after
//! the first acquire and before the second, and the second still happens. Each report on a random complete run must
//! name such a window.

mod common;

use std::collections::{BTreeSet, HashSet};

use avmon::analysis::ErrorKind;
use avmon::analysis::sidetrack::Config;
use avmon::event::{Event, Kind, Mode};
use common::{BLOCKS, PAPER, Trace};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Op {
    Acquire(usize, Mode),
    Release(usize),
    Begin,
    End,
    Fork(usize),
    Join(usize),
    Signal(usize),
    Await(usize),
}
use Op::{Acquire, Await, Begin, End, Fork, Join, Release, Signal};

type Program = Vec<Vec<Op>>;

/// Where an operation stands: thread and index.
type Place = (usize, usize);

struct Random(u64);

impl Random {
    fn pick(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        ((mixed ^ mixed >> 27) >> 32) as usize % below
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.pick(100) < percent
    }
}

/// What random programs may contain.
#[derive(Clone, Copy)]
struct Shape {
    threads: usize,
    locks: usize,
    signals: bool,
    shared: bool,
    /// Locks may be released in another order than nested.
    chains: bool,
}

struct Generator {
    random: Random,
    shape: Shape,
}

impl Generator {
    /// A few statements; `held` are the locks around them.
    fn statements(&mut self, ops: &mut Vec<Op>, budget: usize, held: &mut Vec<usize>, in_block: bool) {
        let mut left = budget;
        while left > 0 {
            left -= 1;
            let lock = self.random.pick(self.shape.locks);
            let mode = if self.shape.shared && self.random.chance(40) { Mode::Shared } else { Mode::Exclusive };
            let inner = self.random.pick(left.min(2) + 1);
            match self.random.pick(10) {
                0..=5 if !held.contains(&lock) => {
                    ops.push(Acquire(lock, mode));
                    held.push(lock);
                    self.statements(ops, inner, held, in_block);
                    held.pop();
                    ops.push(Release(lock));
                    left -= inner;
                }
                6 if self.shape.chains && self.shape.locks > 1 => {
                    let next = (lock + 1) % self.shape.locks;
                    if !held.contains(&lock) && !held.contains(&next) {
                        ops.extend([Acquire(lock, mode), Acquire(next, Mode::Exclusive), Release(lock), Release(next)]);
                    }
                }
                7 if self.shape.signals => ops.push(Signal(self.random.pick(2))),
                8 if self.shape.signals && self.random.chance(50) => ops.push(Await(self.random.pick(2))),
                _ if !in_block => {
                    ops.push(Begin);
                    let length = 2 + self.random.pick(2);
                    self.statements(ops, length, held, true);
                    ops.push(End);
                    left -= inner;
                }
                _ => left += usize::from(self.random.chance(50)),
            }
        }
    }

    fn program(&mut self) -> Program {
        let mut program: Program = Vec::new();
        for _ in 0..self.shape.threads {
            let mut ops = Vec::new();
            let budget = 1 + self.random.pick(3);
            self.statements(&mut ops, budget, &mut Vec::new(), false);
            program.push(ops);
        }
        for child in 1..self.shape.threads {
            // Forks are mostly early, or nothing would be concurrent.
            let main = &mut program[0];
            let at = if self.random.chance(60) { 0 } else { self.random.pick(main.len() + 1) };
            main.insert(at, Fork(child));
            if self.random.chance(30) {
                let fork = main.iter().position(|&op| op == Fork(child)).unwrap();
                let at = fork + 1 + self.random.pick(main.len() - fork);
                main.insert(at, Join(child));
            }
        }
        program
    }
}

/// Two consecutive acquires of one lock by one thread in one transaction.
#[derive(Clone, Copy, Debug)]
struct Window {
    thread: usize,
    lock: usize,
    first: usize,
    second: usize,
    modes: (Mode, Mode),
}

fn windows_of(program: &Program) -> Vec<Window> {
    let mut windows = Vec::new();
    for (thread, ops) in program.iter().enumerate() {
        let mut open = Vec::new();
        let mut last: Vec<Option<(usize, Mode, Vec<usize>)>> = vec![None; 8];
        for (second, op) in ops.iter().enumerate() {
            match *op {
                Begin => open.push(second),
                End => drop(open.pop()),
                Acquire(lock, mode) => {
                    let previous = last[lock].replace((second, mode, open.clone()));
                    if let Some((first, first_mode, blocks)) = previous
                        && blocks.iter().any(|block| open.contains(block))
                    {
                        windows.push(Window { thread, lock, first, second, modes: (first_mode, mode) });
                    }
                }
                _ => {}
            }
        }
    }
    windows
}

/// The interpreter: a state is where each thread stands.
struct Machine<'a> {
    program: &'a Program,
}

impl Machine<'_> {
    /// Who holds a lock, with the mode.
    fn holders(&self, at: &[usize], lock: usize) -> impl Iterator<Item = (usize, Mode)> {
        at.iter().enumerate().filter_map(move |(thread, &done)| {
            let op = self.program[thread][..done]
                .iter()
                .rev()
                .find(|op| matches!(op, Acquire(l, _) | Release(l) if *l == lock));
            if let Some(Acquire(_, mode)) = op { Some((thread, *mode)) } else { None }
        })
    }

    fn executed(&self, at: &[usize], wanted: Op) -> bool {
        at.iter().zip(self.program).any(|(&done, ops)| ops[..done].contains(&wanted))
    }

    /// Whether the next operation of a thread can be taken.
    fn can_step(&self, at: &[usize], thread: usize) -> bool {
        let Some(&op) = self.program[thread].get(at[thread]) else { return false };
        if thread != 0 && !self.executed(at, Fork(thread)) {
            return false;
        }
        match op {
            Acquire(lock, mode) => {
                self.holders(at, lock).all(|(_, other)| (mode, other) == (Mode::Shared, Mode::Shared))
            }
            Join(child) => at[child] == self.program[child].len(),
            Await(object) => self.executed(at, Signal(object)),
            _ => true,
        }
    }

    /// All windows that some run splits, by the place of their second acquire.
    fn violable(&self, windows: &[Window]) -> BTreeSet<Place> {
        let mut found = BTreeSet::new();
        let mut seen = HashSet::new();
        let mut todo = vec![(vec![0; self.program.len()], 0_u32)];
        while let Some((at, split)) = todo.pop() {
            for thread in 0..self.program.len() {
                if !self.can_step(&at, thread) {
                    continue;
                }
                let op = self.program[thread][at[thread]];
                let mut split = split;
                for (index, window) in windows.iter().enumerate() {
                    if (window.thread, window.second) == (thread, at[thread]) {
                        if split & 1 << index != 0 {
                            found.insert((thread, at[thread]));
                        }
                        split &= !(1 << index);
                    }
                    let inside = at[window.thread] > window.first && at[window.thread] <= window.second;
                    if let Acquire(lock, mode) = op
                        && lock == window.lock
                        && thread != window.thread
                        && inside
                        && (mode == Mode::Exclusive || window.modes == (Mode::Exclusive, Mode::Exclusive))
                    {
                        split |= 1 << index;
                    }
                }
                let mut next = at.clone();
                next[thread] += 1;
                if seen.insert((next.clone(), split)) {
                    todo.push((next, split));
                }
            }
        }
        found
    }

    /// A random run, if it does not end in a deadlock.
    fn run(&self, random: &mut Random) -> Option<Vec<Place>> {
        let mut at = vec![0; self.program.len()];
        let mut run = Vec::new();
        let mut burst = 0;
        loop {
            let able: Vec<usize> = (0..at.len()).filter(|&thread| self.can_step(&at, thread)).collect();
            if able.is_empty() {
                break;
            }
            // Long turns make windows that others come before or after; short ones make them come in.
            let thread = if able.contains(&burst) && random.chance(70) { burst } else { able[random.pick(able.len())] };
            burst = thread;
            run.push((thread, at[thread]));
            at[thread] += 1;
        }
        let complete = at.iter().zip(self.program).all(|(&done, ops)| done == ops.len());
        complete.then_some(run)
    }
}

const fn pc_of((thread, index): Place) -> u64 {
    (thread * 100 + index + 1) as u64
}

const fn place_of(pc: u64) -> Place {
    ((pc as usize - 1) / 100, (pc as usize - 1) % 100)
}

/// Feeds a run to the analysis; returns the reported windows by their second acquire.
fn analyse(program: &Program, run: &[Place], config: Config) -> Vec<(ErrorKind, Place)> {
    let mut trace = Trace::new(config, 0);
    for &(thread, index) in run {
        let lock = |lock: usize| 0x1000 * (lock as u64 + 1);
        let (kind, mode, object) = match program[thread][index] {
            Acquire(l, mode) => (Kind::Acquire, mode, lock(l)),
            Release(l) => (Kind::Release, Mode::Exclusive, lock(l)),
            Begin => (Kind::BlockBegin, Mode::Exclusive, 0),
            End => (Kind::BlockEnd, Mode::Exclusive, 0),
            Fork(child) => (Kind::Fork, Mode::Exclusive, child as u64),
            Join(child) => (Kind::Join, Mode::Exclusive, child as u64),
            Signal(object) => (Kind::Signal, Mode::Exclusive, 0x10_0000 + object as u64),
            Await(object) => (Kind::Await, Mode::Exclusive, 0x10_0000 + object as u64),
        };
        if kind == Kind::Join {
            trace.t(object as u32).exit();
        }
        trace.event(thread as u32, Event::new(kind, mode as u8, 0, object, pc_of((thread, index))));
    }
    trace.found.iter().map(|violation| (violation.kind, place_of(violation.second.pc))).collect()
}

/// What one family of programs showed.
#[derive(Default)]
struct Tally {
    runs: usize,
    violable: usize,
    found: usize,
    paper_found: usize,
    paper_false: usize,
    /// The shortest program on which paper mode raised a false alarm.
    paper_example: Option<String>,
}

fn judge(name: &str, shape: Shape, programs: u64) -> Tally {
    let mut tally = Tally::default();
    for seed in 0..programs {
        let mut generator = Generator { random: Random(seed.wrapping_mul(0xD134_2543_DE82_EF95)), shape };
        let program = generator.program();
        let windows = windows_of(&program);
        if windows.is_empty() || windows.len() > 12 {
            continue;
        }
        let machine = Machine { program: &program };
        let violable = machine.violable(&windows);
        for _ in 0..3 {
            let Some(run) = machine.run(&mut generator.random) else { continue };
            let reports = analyse(&program, &run, BLOCKS);
            for (kind, place) in &reports {
                assert!(
                    violable.contains(place),
                    "{name}, seed {seed}: false {kind:?} at {place:?}\nprogram {program:#?}\nrun {run:?}"
                );
            }
            let places = |reports: &[(ErrorKind, Place)]| reports.iter().map(|r| r.1).collect::<BTreeSet<_>>();
            let paper = places(&analyse(&program, &run, PAPER));
            tally.runs += 1;
            tally.violable += violable.len();
            tally.found += places(&reports).len();
            tally.paper_found += paper.intersection(&violable).count();
            let alarms: Vec<_> = paper.difference(&violable).collect();
            tally.paper_false += alarms.len();
            if !alarms.is_empty() {
                let example = format!("{alarms:?}\n{program:?}\n{run:?}");
                if tally.paper_example.as_ref().is_none_or(|known| example.len() < known.len()) {
                    tally.paper_example = Some(example);
                }
            }
        }
    }
    println!(
        "{name}: {} runs, {} violable windows; default finds {} ({}%), paper mode {} ({}%) and {} false alarms",
        tally.runs,
        tally.violable,
        tally.found,
        tally.found * 100 / tally.violable.max(1),
        tally.paper_found,
        tally.paper_found * 100 / tally.violable.max(1),
        tally.paper_false,
    );
    if let Some(example) = &tally.paper_example {
        println!("  shortest false alarm of paper mode: {example}");
    }
    assert!(tally.found * 4 > tally.violable, "{name}: the analysis finds too little for the comparison to mean much");
    tally
}

/// The same, on many more programs: for changes to the rules.
#[test]
#[ignore = "takes minutes"]
fn many_more_programs() {
    for threads in 2..=3 {
        for bits in 0..8 {
            let [signals, shared, chains] = [1, 2, 4].map(|bit| bits & bit != 0);
            judge("many", Shape { threads, locks: 3, signals, shared, chains }, 30_000);
            judge("many", Shape { threads, locks: 2, signals, shared, chains }, 30_000);
        }
    }
}

const PLAIN: Shape = Shape { threads: 2, locks: 2, signals: false, shared: false, chains: false };

#[test]
fn two_threads_two_locks() {
    judge("two threads", PLAIN, 2000);
}

#[test]
fn three_threads_three_locks() {
    judge("three threads", Shape { threads: 3, locks: 3, ..PLAIN }, 1000);
}

#[test]
fn chained_sections() {
    judge("chains", Shape { threads: 3, locks: 3, chains: true, ..PLAIN }, 1000);
}

#[test]
fn signals() {
    judge("signals", Shape { threads: 3, locks: 2, signals: true, chains: true, ..PLAIN }, 1500);
}

#[test]
fn reader_writer_locks() {
    judge("shared modes", Shape { threads: 3, locks: 2, shared: true, signals: true, ..PLAIN }, 1500);
}
