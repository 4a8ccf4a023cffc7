//! Whether the observed run itself was serialisable: exact, online, and in linear time.
//!
//! The outermost marked block that a thread is in is a transaction; every operation outside blocks is one of its own. Transactions are ordered as
//! their operations are:
//!
//! - by their thread, by the creation and the join of a thread, and from a signal to the waits that follow it (see `signals.rs`);
//! - if they conflict: accesses that share a byte, unless both read; acquires and releases of one lock, unless both are shared; an
//!   attempt on a lock that failed, with all acquires and releases of that lock by others.
//!
//! The run had the same outcome as one in which all transactions run one after the other if this order has no cycle. The operation that closes a cycle
//! is in a block, and tells that block to be split, at once: nothing is left to be told at the end of the run. Its edge is
//! then left out of the graph, so that the rest of the run is judged by itself.
//!
//! A wait for other threads ends the transaction and begins the next one, unless `strict_waits`. Acquires of a lock that the thread holds, and their
//! releases, are no operations. Memory that is allocated holds new variables and new objects, unless they are locks that somebody holds, and a lock that is
//! initialised is a new one.
//!
//! **What cannot be known adds no order**, since more order could only accuse. An attempt that failed although nobody holds the lock was numbered
//! a moment early or late, and conflicts with nothing; so was every one on a semaphore, since nobody holds those. When events were lost, memory may have
//! been freed among them and blocks ended: the thread's blocks end, and all variables and objects are new.
//!
//! **What it costs.** A variable or lock names the transactions of its last operations (see `graph.rs`), so an operation whose
//! thread knows these costs a comparison for each; another one a join of two clocks. Clocks have a component for each thread that is not known to be over when another
//! one is created.

mod cells;
mod graph;
mod locks;
mod marks;
mod objects;
mod pages;
mod rows;
mod signals;
mod splits;
mod step;

use self::cells::{Access, Cells};
use self::graph::Graph;
use self::locks::Locks;
use self::marks::Tables;
use self::signals::Signals;
use self::splits::Splits;
use self::step::Step;
use super::clock::Slot;
use super::lives::Memory;
use crate::event::{Event, Kind, ThreadId};
use rustc_hash::FxHashMap;

/// What the analysis takes for a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Config {
    /// Keep transactions open across waits for other threads.
    pub strict_waits: bool,
}

/// A block marked in the source: the address of its label (0: none), and where it begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Block {
    pub label: u64,
    pub pc: u64,
}

/// One operation of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    pub thread: ThreadId,
    pub kind: Kind,
    /// 0 for the end of a thread.
    pub pc: u64,
    /// The outermost block that it is in.
    pub block: Option<Block>,
}

/// A block that was not serialisable: others came after a part of it, and a part of it came after them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Split {
    pub block: Block,
    /// What the operations are about: a lock, memory, a thread.
    pub object: u64,
    /// The operation in the block that came after one of another transaction, which had come after the block.
    pub operation: Operation,
    /// That one.
    pub before: Operation,
}

/// How much the analysis remembers; for tests of its bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Footprint {
    /// Components of a clock.
    pub slots: usize,
    /// Transactions that are remembered, and their clocks.
    pub nodes: usize,
    pub rows: usize,
}

/// The online analysis.
pub struct Serial {
    config: Config,
    graph: Graph,
    cells: Cells,
    locks: Locks,
    signals: Signals,
    memory: Memory,
    splits: Splits,
    tables: Tables,
    /// The thread of the last event and its slot: events come in bursts.
    current: Option<(ThreadId, Slot)>,
    blocks: u64,
    lost: u64,
}

impl Serial {
    #[must_use]
    pub fn new(config: Config) -> Serial {
        Serial {
            config,
            graph: Graph::default(),
            cells: Cells::default(),
            locks: Locks::default(),
            signals: Signals::default(),
            memory: Memory::default(),
            splits: Splits::default(),
            tables: Tables::default(),
            current: None,
            blocks: 0,
            lost: 0,
        }
    }

    /// How often each block was split, in runs of the block.
    #[must_use]
    pub fn counts(&self) -> &FxHashMap<Block, u64> {
        &self.splits.counts
    }

    /// Runs of outermost blocks.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Events that were lost. If there are any, a block that was split may not have been found.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    #[must_use]
    pub fn footprint(&self) -> Footprint {
        self.graph.footprint()
    }

    /// Takes the next event of the merged order. A block is told when it is split for the first time.
    #[inline]
    pub fn step(&mut self, thread: ThreadId, event: &Event, found: &mut dyn FnMut(Split)) {
        let Some(kind) = event.kind() else { return };
        let slot = match self.current {
            Some((current, slot)) if current == thread => slot,
            _ => self.turn_to(thread),
        };
        let Serial { graph, tables, splits, .. } = self;
        let mut step = Step { graph, tables, splits, slot, event, found };
        match kind {
            Kind::Read | Kind::AtomicLoad => self.cells.access(&mut step, event.object, event.size(), Access::Read),
            Kind::Write | Kind::AtomicStore | Kind::AtomicUpdate => {
                self.cells.access(&mut step, event.object, event.size(), Access::Write);
            }
            Kind::Acquire => self.locks.acquire(&mut step, thread),
            Kind::Release => self.locks.release(&mut step, thread),
            Kind::Refused => self.locks.refused(&mut step, thread),
            Kind::LockInit | Kind::LockDestroy => self.locks.forget(event.object, &mut self.graph, &mut self.tables),
            Kind::Signal => return self.signals.signal(&mut step),
            Kind::Await => return self.signals.wait(&mut step),
            Kind::BlockBegin => {
                let block = Block { label: event.object, pc: event.pc };
                self.blocks += u64::from(self.graph.begin_block(slot, block));
            }
            Kind::BlockEnd => self.graph.end_block(slot),
            Kind::Interfere => {
                if !self.config.strict_waits {
                    self.graph.leave(slot);
                }
            }
            Kind::Fork => self.graph.fork(slot, event.object as ThreadId),
            Kind::Join => {
                if let Some(last) = step.graph.join(slot, event.object as ThreadId) {
                    step.split_by(last);
                }
            }
            Kind::End => self.graph.end(slot),
            Kind::Allocate | Kind::Free | Kind::Extent => {
                if let Some(new) = self.memory.step(thread, event) {
                    self.cells.forget(&new, &mut self.graph, &mut self.tables);
                    self.locks.forget_in(&new, &mut self.graph, &mut self.tables);
                    self.signals.forget(&new, &mut self.graph);
                }
            }
            Kind::Lost => self.lose(slot, event.number()),
            Kind::Enter
            | Kind::Leave
            | Kind::Start
            | Kind::Fence
            | Kind::Value
            | Kind::Branches
            | Kind::Name
            | Kind::Time => return,
        }
        self.signals.note(slot, kind);
    }

    fn turn_to(&mut self, thread: ThreadId) -> Slot {
        let slot = self.graph.slot_of(thread);
        self.signals.make_room(slot);
        self.current = Some((thread, slot));
        slot
    }

    #[cold]
    fn lose(&mut self, slot: Slot, events: u64) {
        self.lost += events;
        self.graph.end_blocks(slot);
        self.cells.forget_all(&mut self.graph, &mut self.tables);
        self.locks.forget_all(&mut self.graph, &mut self.tables);
        self.signals.forget_all(&mut self.graph);
    }
}
