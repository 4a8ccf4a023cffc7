//! The question of the serial check, answered by its definition: the graph of all transactions, edge by edge, and a search for cycles.

use avmon::event::{Event, Kind, Mode, ThreadId, memory};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What an event does that others can conflict with.
#[derive(Clone, PartialEq, Debug)]
enum Operation {
    /// Bytes with the number of their life.
    Access {
        writes: bool,
        bytes: BTreeSet<(u64, u32)>,
    },
    /// Of a lock and its life.
    Lock {
        lock: (u64, u32),
        how: How,
    },
    /// Of an object and its life.
    Signal((u64, u32)),
    /// Follows the signals in these places of the run.
    Await((u64, u32), Range<usize>),
    Fork(ThreadId),
    Join(ThreadId),
    /// A thread's first or last event.
    Bound,
    Other,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum How {
    Exclusive,
    Shared,
    Refused,
}

struct Done {
    thread: ThreadId,
    operation: Operation,
    transaction: usize,
    pc: u64,
}

#[derive(Default)]
struct Open {
    depth: u32,
    /// The open block's transaction, once it has an operation.
    block: Option<usize>,
    pc: u64,
    last: Option<usize>,
    /// Its events that tell what it does: kind, object, and place in the run.
    events: Vec<(Kind, u64, usize)>,
}

#[derive(Default)]
pub struct Naive {
    strict_waits: bool,
    done: Vec<Done>,
    threads: BTreeMap<ThreadId, Open>,
    /// Holders of each lock: thread, mode and depth.
    held: BTreeMap<u64, Vec<(ThreadId, Mode, u32)>>,
    lock_lives: BTreeMap<u64, u32>,
    byte_lives: BTreeMap<u64, u32>,
    losses: u32,
    extents: BTreeMap<ThreadId, u64>,
    sizes: BTreeMap<u64, u64>,
    /// The rounds of each object that are over, as places in the run.
    rounds: BTreeMap<(u64, u32), Vec<Range<usize>>>,
    freed: BTreeMap<ThreadId, (u64, u64)>,
    /// Of each transaction, those right after it, and where its block begins.
    after: Vec<BTreeSet<usize>>,
    begins: Vec<Option<u64>>,
}

impl Naive {
    pub fn new(strict_waits: bool) -> Naive {
        Naive { strict_waits, ..Naive::default() }
    }

    /// Whether the event would close a cycle in a graph without one.
    pub fn closes(&self, thread: ThreadId, event: &Event) -> bool {
        let Some(block) = self.threads.get(&thread).and_then(|open| open.block) else { return false };
        let operation = self.operation(thread, event);
        let before = self.before(thread, &operation);
        before.iter().any(|&transaction| transaction != block && self.reaches(block, transaction))
    }

    pub fn step(&mut self, thread: ThreadId, event: &Event) {
        let operation = self.operation(thread, event);
        if operation != Operation::Other {
            let before = self.before(thread, &operation);
            if let (Operation::Await(object, time), Some(arrival)) = (&operation, self.arrival(thread, event.object)) {
                let rounds = self.rounds.entry(*object).or_default();
                if time.contains(&arrival) && !rounds.contains(time) {
                    rounds.push(time.clone());
                }
            }
            let transaction = self.transaction(thread);
            for other in before {
                if other != transaction {
                    self.after[other].insert(transaction);
                }
            }
            self.done.push(Done { thread, operation, transaction, pc: event.pc });
        }
        self.change(thread, event);
    }

    /// Where the blocks begin that lie on a cycle.
    pub fn split_blocks(&self) -> BTreeSet<u64> {
        let on_cycle = |transaction: &usize| {
            self.after[*transaction].iter().any(|&next| next == *transaction || self.reaches(next, *transaction))
        };
        (0..self.after.len()).filter(on_cycle).filter_map(|transaction| self.begins[transaction]).collect()
    }

    /// Where the block begins that the operation at a code location is in.
    pub fn block_at(&self, pc: u64) -> Option<u64> {
        self.done.iter().find(|done| done.pc == pc).and_then(|done| self.begins[done.transaction])
    }

    fn reaches(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.after.len()];
        let mut path = vec![from];
        while let Some(transaction) = path.pop() {
            if transaction == to {
                return true;
            }
            if !std::mem::replace(&mut seen[transaction], true) {
                path.extend(&self.after[transaction]);
            }
        }
        false
    }

    /// The transaction of the thread's next operation.
    fn transaction(&mut self, thread: ThreadId) -> usize {
        let open = self.threads.entry(thread).or_default();
        if let Some(block) = open.block {
            return block;
        }
        let new = self.after.len();
        self.after.push(BTreeSet::new());
        self.begins.push((open.depth > 0).then_some(open.pc));
        if let Some(last) = open.last.replace(new) {
            self.after[last].insert(new);
        }
        if open.depth > 0 {
            open.block = Some(new);
        }
        new
    }

    /// Transactions with an operation that must come before this one.
    fn before(&self, thread: ThreadId, operation: &Operation) -> BTreeSet<usize> {
        let must = |(at, done): &(usize, &Done)| done.thread != thread && comes_before(*at, done, thread, operation);
        self.done.iter().enumerate().filter(must).map(|(_, done)| done.transaction).collect()
    }

    fn operation(&self, thread: ThreadId, event: &Event) -> Operation {
        let object = event.object;
        let lock = |how| Operation::Lock { lock: (object, self.lock_life(object)), how };
        let holders = self.held.get(&object).map_or(&[][..], Vec::as_slice);
        let own = holders.iter().find(|(holder, ..)| *holder == thread);
        let of_mode = |mode| lock(if mode == Mode::Shared { How::Shared } else { How::Exclusive });
        match event.kind() {
            Some(Kind::Read | Kind::AtomicLoad) => self.access(event, false),
            Some(Kind::Write | Kind::AtomicStore | Kind::AtomicUpdate) => self.access(event, true),
            Some(Kind::Acquire) if own.is_none() => of_mode(event.mode()),
            Some(Kind::Release) => match own {
                Some((_, _, 2..)) => Operation::Other,
                Some((_, mode, _)) => of_mode(*mode),
                None => of_mode(event.mode()),
            },
            Some(Kind::Refused) if holders.iter().any(|(holder, ..)| *holder != thread) => lock(How::Refused),
            Some(Kind::Await) => Operation::Await(self.object(object), self.time(thread, object)),
            Some(Kind::Signal) => Operation::Signal(self.object(object)),
            Some(Kind::Fork) => Operation::Fork(object as ThreadId),
            Some(Kind::Join) => Operation::Join(object as ThreadId),
            Some(Kind::Start | Kind::End) => Operation::Bound,
            _ => Operation::Other,
        }
    }

    fn access(&self, event: &Event, writes: bool) -> Operation {
        let bytes = (event.object..event.object + event.size()).map(|byte| self.object(byte)).collect();
        Operation::Access { writes, bytes }
    }

    /// What is at an address, and its life.
    fn object(&self, address: u64) -> (u64, u32) {
        (address, self.byte_lives.get(&address).copied().unwrap_or(0) + self.losses)
    }

    /// The last event of the thread before the wait that ends now, if it waited.
    fn begin_of_wait(&self, thread: ThreadId) -> Option<(Kind, u64, usize)> {
        match self.threads.get(&thread)?.events.as_slice() {
            [.., begin, (Kind::Interfere, ..)] => Some(*begin),
            _ => None,
        }
    }

    /// Where in the run the thread arrived at the barrier that it waited at, if it is one.
    fn arrival(&self, thread: ThreadId, barrier: u64) -> Option<usize> {
        let begin = self.begin_of_wait(thread);
        begin.filter(|&(kind, object, _)| kind == Kind::Signal && object == barrier).map(|(.., at)| at)
    }

    /// Which places of the run an await looks at.
    fn time(&self, thread: ThreadId, object: u64) -> Range<usize> {
        let now = self.done.len();
        if let Some(arrival) = self.arrival(thread, object) {
            let object = self.object(object);
            if self.done[arrival].operation != Operation::Signal(object) {
                // What it arrived at is no more.
                return 0..0;
            }
            let rounds = self.rounds.get(&object).map_or(&[][..], Vec::as_slice);
            let own = rounds.iter().find(|round| round.contains(&arrival)).cloned();
            return own.unwrap_or(rounds.last().map_or(0, |last| last.end)..now);
        }
        match self.begin_of_wait(thread) {
            Some((Kind::Release, _, at)) => at..now,
            _ => 0..now,
        }
    }

    fn lock_life(&self, lock: u64) -> u32 {
        self.lock_lives.get(&lock).copied().unwrap_or(0) + self.losses
    }

    /// What the event changes for those after it.
    fn change(&mut self, thread: ThreadId, event: &Event) {
        let object = event.object;
        let open = self.threads.entry(thread).or_default();
        match event.kind() {
            None | Some(Kind::Fence | Kind::Start) => {}
            // The place of the signal itself.
            Some(Kind::Signal) => open.events.push((Kind::Signal, object, self.done.len() - 1)),
            Some(kind) => open.events.push((kind, object, self.done.len())),
        }
        match event.kind() {
            Some(Kind::BlockBegin) => {
                if open.depth == 0 {
                    open.pc = event.pc;
                }
                open.depth += 1;
            }
            Some(Kind::BlockEnd) => {
                open.depth = open.depth.saturating_sub(1);
                if open.depth == 0 {
                    open.block = None;
                }
            }
            Some(Kind::Interfere) if !self.strict_waits => open.block = None,
            Some(Kind::Acquire) => {
                let holders = self.held.entry(object).or_default();
                if let Some((.., depth)) = holders.iter_mut().find(|(holder, ..)| *holder == thread) {
                    *depth += 1;
                } else {
                    holders.retain(|&(_, mode, _)| mode == Mode::Shared && event.mode() == Mode::Shared);
                    holders.push((thread, event.mode(), 1));
                }
            }
            Some(Kind::Release) => {
                let holders = self.held.entry(object).or_default();
                if let Some((.., depth)) = holders.iter_mut().find(|(holder, ..)| *holder == thread) {
                    *depth -= 1;
                } else if event.mode() == Mode::Exclusive {
                    holders.clear();
                }
                holders.retain(|&(.., depth)| depth > 0);
            }
            Some(Kind::LockInit | Kind::LockDestroy) => {
                self.held.remove(&object);
                *self.lock_lives.entry(object).or_default() += 1;
            }
            Some(Kind::Extent) => drop(self.extents.insert(thread, event.number())),
            Some(Kind::Free) => {
                if let Some(size) = self.sizes.remove(&object) {
                    self.freed.insert(thread, (object, size));
                }
            }
            Some(Kind::Allocate) => {
                let Some(size) = self.extents.remove(&thread) else { return };
                let kept = match self.freed.remove(&thread) {
                    Some((address, old)) if address == object && event.detail() == memory::RESIZED => old.min(size),
                    _ => 0,
                };
                self.sizes.insert(object, size);
                for byte in object + kept..object + size {
                    *self.byte_lives.entry(byte).or_default() += 1;
                    if self.held.get(&byte).is_none_or(Vec::is_empty) {
                        *self.lock_lives.entry(byte).or_default() += 1;
                    }
                }
            }
            Some(Kind::Lost) => {
                (open.depth, open.block) = (0, None);
                self.held.clear();
                // More than any life so far.
                self.losses += 1 << 16;
            }
            Some(Kind::End) => (open.depth, open.block) = (0, None),
            _ => {}
        }
    }
}

fn comes_before(at: usize, done: &Done, thread: ThreadId, operation: &Operation) -> bool {
    match (&done.operation, operation) {
        (Operation::Fork(child), _) if *child == thread => true,
        (_, Operation::Join(child)) if *child == done.thread => true,
        (Operation::Access { writes, bytes }, Operation::Access { writes: too, bytes: others }) => {
            (*writes || *too) && !bytes.is_disjoint(others)
        }
        (Operation::Lock { lock, how }, Operation::Lock { lock: other, how: too }) => {
            let conflict = how != too || *how == How::Exclusive;
            conflict && lock == other
        }
        (Operation::Signal(object), Operation::Await(other, time)) => object == other && time.contains(&at),
        _ => false,
    }
}
