//! The plain text that the trace tools of the research community read: one `THREAD|OP|LOC` per line.
//!
//! OP is one of `r(V)`, `w(V)`, `acq(L)`, `rel(L)`, `fork(T)`, `join(T)`, `begin`, `end`; LOC is the number of a code location.
//! What this cannot say is said by what it can, so that neither order nor a race is added that was not there:
//!
//! - An access is one line for each variable that it touches; see [`crate::analysis::cuts`].
//! - A lock that is also taken by readers is several locks: one for each reading thread, and one for the lock itself. A reader takes
//!   its own, a writer takes all: readers exclude writers but not each other.
//! - A lock taken again by its owner is one section. Sections that overlap without nesting are split where one of them ends: the
//!   inner one ends and begins again there.
//! - Who goes on because of what another thread did (conditions, barriers, semaphores, atomics: see `handover`) joins a thread that
//!   the other one forked at that point and that does nothing. Unlike a lock this orders the two in one direction only, and in every
//!   execution.
//! - Atomic operations are order only, no accesses: they never race with each other.
//! - An attempt that failed says nothing. A declared interference point ends all blocks of its thread and begins them again.
//!
//! Which threads read a lock, where variables are cut and who waits for whom is known only at the end, so the trace is gone through
//! twice: once by [`Survey`], once by [`Translator`].

mod handover;
mod liveness;

use std::io::{self, Write};
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::cuts::Cuts;
use crate::analysis::lives::{Lives, Memory};
use crate::event::{Event, Kind, Mode, ThreadId};
use handover::{HandOvers, Point, Step};
use liveness::Liveness;

/// A lock, by the number of its life.
type Lock = u32;

/// What both passes follow in the same way.
#[derive(Default)]
struct World {
    liveness: Liveness,
    memory: Memory,
    locks: Lives,
    hand_overs: HandOvers,
}

/// What an event changed in the world.
#[derive(Default)]
struct Change {
    /// Locks whose life ended.
    ended: Vec<Lock>,
    /// Memory that begins a new life.
    renewed: Option<Range<u64>>,
    order: Step,
}

impl World {
    /// Takes the next event. `None` if it cannot be told.
    fn step(&mut self, thread: ThreadId, event: &Event) -> Option<Change> {
        if !self.liveness.allows(thread, event) {
            return None;
        }
        let mut change = Change { order: self.hand_overs.step(thread, event), ..Change::default() };
        if let Some(Kind::LockInit | Kind::LockDestroy) = event.kind() {
            change.ended = self.locks.end(event.object..event.object.saturating_add(1));
        }
        if let Some(addresses) = self.memory.step(thread, event) {
            change.ended = self.locks.end(addresses.clone());
            self.hand_overs.end(addresses.clone());
            change.renewed = Some(addresses);
        }
        Some(change)
    }
}

/// The first pass: what must be known before the first line is written.
#[derive(Default)]
pub struct Survey {
    world: World,
    cuts: Cuts,
    /// The threads that take a lock as readers.
    readers: FxHashMap<Lock, Vec<ThreadId>>,
    /// How many threads wait for a point.
    waiters: FxHashMap<Point, u32>,
    most_thread: ThreadId,
}

impl Survey {
    /// Takes the next event of the merged order.
    pub fn step(&mut self, thread: ThreadId, event: &Event) {
        self.most_thread = self.most_thread.max(thread);
        let Some(change) = self.world.step(thread, event) else { return };
        for point in change.order.after {
            *self.waiters.entry(point).or_default() += 1;
        }
        match event.kind() {
            Some(Kind::Read | Kind::Write) => self.cuts.add(event.object, event.size()),
            Some(Kind::Fork) => self.most_thread = self.most_thread.max(event.object as ThreadId),
            Some(Kind::Acquire) => {
                let lock = self.world.locks.at(event.object);
                if event.mode() == Mode::Shared {
                    let readers = self.readers.entry(lock).or_default();
                    if !readers.contains(&thread) {
                        readers.push(thread);
                    }
                }
            }
            _ => {}
        }
    }
}

/// A lock that a thread holds.
struct Held {
    lock: Lock,
    /// How often it was taken and not given back.
    depth: u32,
    /// The names of it that the thread took, in this order.
    names: Vec<u32>,
}

#[derive(Default)]
struct Thread {
    /// In the order in which they were taken.
    held: Vec<Held>,
    /// For each open function whether it is a block.
    functions: Vec<bool>,
    marks: usize,
}

impl Thread {
    fn open_blocks(&self) -> usize {
        self.marks + self.functions.iter().filter(|is_block| **is_block).count()
    }
}

/// What the names in the text stand for.
#[derive(Default)]
pub struct Names {
    /// Address of each variable, by its number.
    pub variables: Vec<u64>,
    /// Address of each lock, and the reader whose lock it is.
    pub locks: Vec<(u64, Option<ThreadId>)>,
    /// Code address of each location.
    pub locations: Vec<u64>,
    /// Threads from this number on only stand for order.
    pub first_auxiliary_thread: ThreadId,
    pub auxiliary_threads: u32,
}

/// The second pass: writes the text.
pub struct Translator<W> {
    out: W,
    with_functions: bool,
    survey: Survey,
    world: World,
    variables: Lives,
    threads: FxHashMap<ThreadId, Thread>,
    /// The threads that the text speaks of.
    told: FxHashSet<ThreadId>,
    /// Who holds a lock now.
    holders: FxHashMap<Lock, Vec<ThreadId>>,
    lock_names: FxHashMap<(Lock, Option<ThreadId>), u32>,
    /// Threads that were forked at a point and wait to be joined.
    forked: FxHashMap<Point, Vec<ThreadId>>,
    locations: FxHashMap<u64, u32>,
    names: Names,
}

/// The location of the event that is told.
type Location = u32;

impl<W: Write> Translator<W> {
    /// `with_functions`: function calls are blocks too, but for the outermost of a thread, which would make one block of its whole
    /// life.
    pub fn new(survey: Survey, with_functions: bool, out: W) -> Translator<W> {
        let names = Names { first_auxiliary_thread: survey.most_thread + 1, ..Names::default() };
        Translator {
            out,
            with_functions,
            survey,
            world: World::default(),
            variables: Lives::default(),
            threads: FxHashMap::default(),
            told: FxHashSet::default(),
            holders: FxHashMap::default(),
            lock_names: FxHashMap::default(),
            forked: FxHashMap::default(),
            locations: FxHashMap::default(),
            names,
        }
    }

    /// Takes the next event of the merged order: the same that the survey took.
    pub fn step(&mut self, thread: ThreadId, event: &Event) -> io::Result<()> {
        let Some(Change { ended, renewed, order }) = self.world.step(thread, event) else { return Ok(()) };
        let Some(kind) = event.kind() else { return Ok(()) };
        // Most events without a line of their own need no location.
        let at = if is_told(kind) { self.location(event.pc) } else { 0 };
        for lock in ended {
            self.release_by_all(lock, at)?;
        }
        if let Some(addresses) = renewed {
            self.variables.end(addresses);
        }
        for point in order.after {
            if let Some(waiting) = self.forked.get_mut(&point).and_then(Vec::pop) {
                self.line(thread, format_args!("join(T{waiting})"), at)?;
            }
        }
        if let Some(point) = order.point {
            self.fork_for_waiters(thread, point, at)?;
        }
        match kind {
            Kind::Read => self.access(thread, 'r', event, at),
            Kind::Write => self.access(thread, 'w', event, at),
            Kind::Acquire => {
                let lock = self.world.locks.at(event.object);
                self.acquire(thread, lock, event, at)
            }
            Kind::Release => match self.world.locks.known(event.object) {
                Some(lock) => self.release(thread, lock, event.object, at),
                None => Ok(()),
            },
            Kind::Fork => {
                self.told.insert(event.object as ThreadId);
                self.line(thread, format_args!("fork(T{})", event.object as ThreadId), at)
            }
            Kind::Join => {
                let other = event.object as ThreadId;
                self.finish_thread(other, at)?;
                // If its creation was lost and it did nothing, nobody has heard of it.
                if self.told.contains(&other) { self.line(thread, format_args!("join(T{other})"), at) } else { Ok(()) }
            }
            Kind::End => self.finish_thread(thread, at),
            Kind::Enter if self.with_functions => self.enter(thread, event.depth(), at),
            Kind::Leave if self.with_functions => self.cut_functions(thread, event.depth(), at),
            Kind::BlockBegin => {
                self.thread(thread).marks += 1;
                self.line(thread, format_args!("begin"), at)
            }
            Kind::BlockEnd if self.thread(thread).marks > 0 => {
                self.thread(thread).marks -= 1;
                self.line(thread, format_args!("end"), at)
            }
            Kind::Interfere => {
                let open = self.thread(thread).open_blocks();
                self.repeat(thread, "end", open, at)?;
                self.repeat(thread, "begin", open, at)
            }
            _ => Ok(()),
        }
    }

    /// The text is complete.
    pub fn finish(mut self) -> io::Result<(W, Names)> {
        self.out.flush()?;
        Ok((self.out, self.names))
    }

    fn thread(&mut self, thread: ThreadId) -> &mut Thread {
        self.threads.entry(thread).or_default()
    }

    fn line(&mut self, thread: ThreadId, operation: std::fmt::Arguments, at: Location) -> io::Result<()> {
        self.told.insert(thread);
        writeln!(self.out, "T{thread}|{operation}|{at}")
    }

    fn repeat(&mut self, thread: ThreadId, operation: &str, times: usize, at: Location) -> io::Result<()> {
        (0..times).try_for_each(|_| self.line(thread, format_args!("{operation}"), at))
    }

    fn location(&mut self, pc: u64) -> Location {
        let known = &mut self.names.locations;
        *self.locations.entry(pc).or_insert_with(|| {
            known.push(pc);
            known.len() as u32 - 1
        })
    }

    fn access(&mut self, thread: ThreadId, operation: char, event: &Event, at: Location) -> io::Result<()> {
        let Translator { survey, variables, names, out, told, .. } = self;
        survey.cuts.variables(event.object, event.size(), |address| {
            told.insert(thread);
            let variable = variables.at(address);
            if variable as usize == names.variables.len() {
                names.variables.push(address);
            }
            writeln!(out, "T{thread}|{operation}(V{variable})|{at}")
        })
    }

    fn fork_for_waiters(&mut self, thread: ThreadId, point: Point, at: Location) -> io::Result<()> {
        for _ in 0..self.survey.waiters.get(&point).copied().unwrap_or(0) {
            let auxiliary = self.names.first_auxiliary_thread.wrapping_add(self.names.auxiliary_threads);
            self.names.auxiliary_threads += 1;
            self.forked.entry(point).or_default().push(auxiliary);
            self.line(thread, format_args!("fork(T{auxiliary})"), at)?;
        }
        Ok(())
    }

    fn acquire(&mut self, thread: ThreadId, lock: Lock, event: &Event, at: Location) -> io::Result<()> {
        if let Some(held) = self.thread(thread).held.iter_mut().find(|held| held.lock == lock) {
            held.depth += 1;
            return Ok(());
        }
        let is_reader = event.mode() == Mode::Shared;
        let readers = self.survey.readers.get(&lock).cloned().unwrap_or_default();
        if !is_reader || self.is_held_by_writer(lock) {
            // Who is still said to hold it gave it back unseen.
            self.release_by_all(lock, at)?;
        }
        let parts: Vec<Option<ThreadId>> = if is_reader {
            vec![Some(thread)]
        } else {
            std::iter::once(None).chain(readers.into_iter().map(Some)).collect()
        };
        let names: Vec<u32> = parts.into_iter().map(|part| self.lock_name(lock, part, event.object)).collect();
        self.take(thread, &names, at)?;
        self.thread(thread).held.push(Held { lock, depth: 1, names });
        self.holders.entry(lock).or_default().push(thread);
        Ok(())
    }

    /// Whether somebody holds the lock itself, not only a reader's part of it.
    fn is_held_by_writer(&self, lock: Lock) -> bool {
        let Some(&name) = self.lock_names.get(&(lock, None)) else { return false };
        let holders = self.holders.get(&lock).map_or(&[][..], Vec::as_slice);
        holders
            .iter()
            .filter_map(|holder| self.threads.get(holder))
            .any(|thread| thread.held.iter().any(|held| held.lock == lock && held.names.contains(&name)))
    }

    fn release(&mut self, thread: ThreadId, lock: Lock, address: u64, at: Location) -> io::Result<()> {
        if let Some(held) = self.thread(thread).held.iter_mut().find(|held| held.lock == lock) {
            held.depth -= 1;
            return if held.depth == 0 { self.give_back(thread, lock, at) } else { Ok(()) };
        }
        if !self.is_held_by_writer(lock) {
            return Ok(());
        }
        // Somebody else's lock: it was handed over, so what this thread did comes before the next section too.
        self.release_by_all(lock, at)?;
        let name = self.lock_name(lock, None, address);
        self.take(thread, &[name], at)?;
        self.line(thread, format_args!("rel(L{name})"), at)
    }

    fn lock_name(&mut self, lock: Lock, reader: Option<ThreadId>, address: u64) -> u32 {
        let known = &mut self.names.locks;
        *self.lock_names.entry((lock, reader)).or_insert_with(|| {
            known.push((address, reader));
            known.len() as u32 - 1
        })
    }

    fn take(&mut self, thread: ThreadId, names: &[u32], at: Location) -> io::Result<()> {
        names.iter().try_for_each(|name| self.line(thread, format_args!("acq(L{name})"), at))
    }

    /// Ends a section, and for a moment those that were opened in it.
    fn give_back(&mut self, thread: ThreadId, lock: Lock, at: Location) -> io::Result<()> {
        if let Some(holders) = self.holders.get_mut(&lock) {
            holders.retain(|holder| *holder != thread);
            if holders.is_empty() {
                self.holders.remove(&lock);
            }
        }
        let held = &mut self.thread(thread).held;
        let Some(index) = held.iter().position(|held| held.lock == lock) else { return Ok(()) };
        let inner: Vec<u32> = held[index + 1..].iter().flat_map(|held| held.names.iter().copied()).collect();
        let names = held.remove(index).names;
        for name in names.iter().chain(&inner).rev() {
            self.line(thread, format_args!("rel(L{name})"), at)?;
        }
        self.take(thread, &inner, at)
    }

    fn release_by_all(&mut self, lock: Lock, at: Location) -> io::Result<()> {
        let holders = self.holders.get(&lock).cloned().unwrap_or_default();
        holders.into_iter().try_for_each(|holder| self.give_back(holder, lock, at))
    }

    /// Ends what a thread left open.
    fn finish_thread(&mut self, thread: ThreadId, at: Location) -> io::Result<()> {
        while let Some(lock) = self.thread(thread).held.last().map(|held| held.lock) {
            self.give_back(thread, lock, at)?;
        }
        let open = self.thread(thread).open_blocks();
        self.threads.remove(&thread);
        self.repeat(thread, "end", open, at)
    }

    fn enter(&mut self, thread: ThreadId, depth: u32, at: Location) -> io::Result<()> {
        self.cut_functions(thread, depth, at)?;
        let functions = &mut self.thread(thread).functions;
        let is_block = !functions.is_empty();
        functions.push(is_block);
        self.repeat(thread, "begin", usize::from(is_block), at)
    }

    fn cut_functions(&mut self, thread: ThreadId, depth: u32, at: Location) -> io::Result<()> {
        let functions = &mut self.thread(thread).functions;
        let left = functions.drain(functions.len().min(depth as usize)..).filter(|is_block| *is_block).count();
        // Functions whose entry was lost are open, but no blocks.
        functions.resize(depth as usize, false);
        self.repeat(thread, "end", left, at)
    }
}

/// Whether events of this kind can be lines.
fn is_told(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Refused
            | Kind::Start
            | Kind::Lost
            | Kind::Extent
            | Kind::Value
            | Kind::Branches
            | Kind::Name
            | Kind::Time
    )
}
