//! What the analysis keeps about each thread, and who sits in which slot.
//!
//! A thread takes a slot when it is forked and keeps it until it was joined; then the next thread continues that
//! slot's clock. The newcomer thus goes on after all that its predecessor did. That only adds order, so it can hide a
//! violation but never invent one. A thread that ended and is not joined (a detached one) gives up its slot too once
//! there are [`ROOMY`] of them; its clock is kept in one common grave for whoever joins it late.

use rustc_hash::FxHashMap;

use super::site::{Frame, LockName, Pools, Section, Site};
use crate::analysis::Transaction;
use crate::analysis::clock::{Clock, Epoch, Slot, ThreadClock};
use crate::analysis::stack::List;
use crate::event::{Mode, ThreadId};

/// Slots that are made before those of ended but unjoined threads are used again.
const ROOMY: usize = 64;

pub struct Thread {
    pub id: ThreadId,
    pub clock: ThreadClock,
    /// The open functions and blocks, and how many of them are blocks.
    pub stack: List,
    pub blocks: u32,
    /// The open critical section.
    pub section: List,
    /// Names the stretch between two interference points; never 0, never used twice.
    pub span: u64,
    pub held: Vec<Held>,
    /// After-errors whose culprit section, in this thread, has not finished.
    pub candidates: Vec<Candidate>,
    /// Locks in `held` that carry a pivot.
    pub pivots: usize,
    /// Where the last lock was found.
    pub last_lock: usize,
    /// Acquires so far: numbers the entries of `held`.
    acquires: u64,
    ended: bool,
}

/// A lock that a thread holds.
pub struct Held {
    pub address: u64,
    pub lock: usize,
    pub mode: Mode,
    pub depth: u32,
    /// The acquire's number and the thread's time at it.
    pub number: u64,
    pub since: u64,
    /// The acquire that must not come before this section, or the remembered before-error cannot happen.
    pub pivot: Option<Epoch>,
    /// Whether this section took another lock in an order that the predicted run turns round.
    pub reorders: bool,
    opens_section: bool,
    /// The locks up to this one; empty until somebody asks.
    list: List,
}

/// An after-error that holds if the culprit's section can finish before the window's second acquire.
pub struct Candidate {
    pub lock: LockName,
    pub first: Site,
    pub second: Site,
    pub culprit: Site,
    /// The number of the culprit acquire among those of its thread.
    pub number: u64,
}

impl Candidate {
    pub fn release(&self, pools: &mut Pools) {
        for site in [&self.first, &self.second, &self.culprit] {
            pools.release(site);
        }
    }
}

impl Thread {
    fn new(id: ThreadId, clock: ThreadClock, span: u64) -> Thread {
        Thread {
            id,
            clock,
            stack: List::EMPTY,
            blocks: 0,
            section: List::EMPTY,
            span,
            held: Vec::new(),
            candidates: Vec::new(),
            pivots: 0,
            last_lock: 0,
            acquires: 0,
            ended: false,
        }
    }

    /// Whether a join may spoil something that was remembered.
    #[inline]
    pub fn is_watched(&self) -> bool {
        self.pivots > 0 || !self.candidates.is_empty()
    }

    #[inline]
    pub fn in_transaction(&self) -> bool {
        !(self.stack.is_empty() && self.section.is_empty())
    }

    /// Opens a function whose caller has `level` frames.
    #[inline]
    pub fn enter(&mut self, level: u32, transaction: Transaction, pools: &mut Pools) {
        self.cut(level, pools);
        self.stack = pools.stacks.push(self.stack, Frame { transaction, level: level + 1 });
    }

    /// Closes all functions above `level`, and the blocks in them.
    #[inline]
    pub fn cut(&mut self, level: u32, pools: &mut Pools) {
        while let Some(frame) = pools.stacks.top(self.stack)
            && frame.level > level
        {
            self.close(&frame, pools);
        }
    }

    pub fn begin_block(&mut self, transaction: Transaction, pools: &mut Pools) {
        let level = pools.stacks.top(self.stack).map_or(0, |frame| frame.level);
        self.stack = pools.stacks.push(self.stack, Frame { transaction, level });
        self.blocks += 1;
    }

    /// Closes the innermost block, and the functions above it: whoever ends a block has left what it called.
    pub fn end_block(&mut self, pools: &mut Pools) {
        let Some(left) = self.blocks.checked_sub(1) else { return };
        while self.blocks > left
            && let Some(frame) = pools.stacks.top(self.stack)
        {
            self.close(&frame, pools);
        }
    }

    #[inline]
    fn close(&mut self, top: &Frame, pools: &mut Pools) {
        self.blocks -= u32::from(matches!(top.transaction, Transaction::Block { .. }));
        self.stack = pools.stacks.pop(self.stack);
    }

    /// This thread's next acquire. Its lists stay the thread's: whoever stores the site keeps them.
    #[inline]
    pub fn site(&mut self, pc: u64, mode: Mode, pools: &mut Pools) -> Site {
        let held = if self.held.is_empty() { List::EMPTY } else { self.held_list(pools) };
        let Thread { id: thread, stack, section, .. } = *self;
        Site { at: self.clock.now(), pc, thread, stack, held, section, mode }
    }

    fn held_list(&mut self, pools: &mut Pools) -> List {
        let mut below = List::EMPTY;
        for held in &mut self.held {
            if held.list.is_empty() {
                let below = pools.held.keep(below);
                held.list = pools.held.push(below, held.address);
            }
            below = held.list;
        }
        below
    }

    /// The number that the next acquire will have.
    #[inline]
    pub fn next_acquire(&self) -> u64 {
        self.acquires + 1
    }

    /// The thread now holds a lock. The first one opens a critical section if `sections` says so.
    #[inline]
    pub fn take(
        &mut self,
        lock: usize,
        address: u64,
        site: &Site,
        pivot: Option<Epoch>,
        sections: bool,
        pools: &mut Pools,
    ) {
        let opens_section = sections && self.held.is_empty();
        if opens_section {
            let base = pools.stacks.depth(self.stack);
            self.section = pools.sections.push(List::EMPTY, Section { lock: address, pc: site.pc, base });
        }
        self.acquires += 1;
        self.pivots += usize::from(pivot.is_some());
        self.held.push(Held {
            address,
            lock,
            mode: site.mode,
            depth: 1,
            number: self.acquires,
            since: site.at.time,
            pivot,
            reorders: false,
            opens_section,
            list: List::EMPTY,
        });
    }

    /// Where in `held` the lock is.
    #[inline]
    pub fn position(&self, address: u64) -> Option<usize> {
        self.held.iter().rposition(|held| held.address == address)
    }

    /// The thread no longer holds the lock at a position of `held`.
    #[inline]
    pub fn drop_held(&mut self, position: usize, pools: &mut Pools) -> Held {
        let gone = self.held.remove(position);
        pools.held.release(gone.list);
        for above in &mut self.held[position..] {
            pools.held.release(std::mem::take(&mut above.list));
        }
        if gone.opens_section {
            pools.sections.release(std::mem::take(&mut self.section));
        }
        self.pivots -= usize::from(gone.pivot.is_some());
        gone
    }

    /// Forgets the open transactions and candidates.
    pub fn forget(&mut self, pools: &mut Pools) {
        pools.stacks.release(std::mem::take(&mut self.stack));
        self.blocks = 0;
        for candidate in self.candidates.drain(..) {
            candidate.release(pools);
        }
    }
}

/// All slots and the threads in them.
#[derive(Default)]
pub struct Threads {
    seats: Vec<Thread>,
    by_id: FxHashMap<ThreadId, Slot>,
    /// Slots of joined threads.
    free: Vec<Slot>,
    /// Slots of threads that ended and were not joined, oldest first.
    ended: Vec<Slot>,
    /// What unjoined threads knew whose slots are used again.
    grave: Clock,
    spans: u64,
}

impl Threads {
    pub fn find(&self, id: ThreadId) -> Option<Slot> {
        self.by_id.get(&id).copied()
    }

    /// A span that was never used.
    pub fn new_span(&mut self) -> u64 {
        self.spans += 1;
        self.spans
    }

    /// The slot to vacate before the next thread comes, if room is scarce: that of a thread which ended and was not
    /// joined.
    pub fn overdue(&self) -> Option<Slot> {
        if self.seats.len() >= ROOMY && self.free.is_empty() { self.ended.first().copied() } else { None }
    }

    /// Frees the slot of a thread that may be joined later.
    pub fn bury(&mut self, slot: Slot) {
        self.grave.join(self.seats[slot as usize].clock.clock());
        self.leave(slot);
    }

    /// Gives a thread a slot. It knows what the slot's previous thread knew.
    pub fn seat(&mut self, id: ThreadId) -> Slot {
        let span = self.new_span();
        let slot = if let Some(slot) = self.free.pop() {
            let seat = &mut self.seats[slot as usize];
            let mut clock = seat.clock.clone();
            clock.tick();
            *seat = Thread::new(id, clock, span);
            slot
        } else {
            let slot = self.seats.len() as Slot;
            self.seats.push(Thread::new(id, ThreadClock::new(slot), span));
            slot
        };
        self.by_id.insert(id, slot);
        slot
    }

    /// The thread in a slot has ended.
    pub fn end(&mut self, slot: Slot) {
        if !std::mem::replace(&mut self[slot].ended, true) {
            self.ended.push(slot);
        }
    }

    /// Frees the slot of a thread that was joined.
    pub fn leave(&mut self, slot: Slot) {
        self.ended.retain(|&other| other != slot);
        self.by_id.remove(&self.seats[slot as usize].id);
        self.free.push(slot);
    }

    /// What all threads know of which nothing else is left.
    pub fn grave(&self) -> &Clock {
        &self.grave
    }

    /// Orders everything so far, by any thread, before everything from now on: adds order only.
    pub fn meet_all(&mut self) {
        let mut all = self.grave.clone();
        for thread in &self.seats {
            all.join(thread.clock.clock());
        }
        for thread in &mut self.seats {
            thread.clock.join(&all);
            thread.clock.tick();
        }
    }

    /// Two different threads at once.
    pub fn both(&mut self, one: Slot, other: Slot) -> Option<(&mut Thread, &mut Thread)> {
        let [one, other] = self.seats.get_disjoint_mut([one as usize, other as usize]).ok()?;
        Some((one, other))
    }

    pub fn slots(&self) -> usize {
        self.seats.len()
    }
}

impl std::ops::Index<Slot> for Threads {
    type Output = Thread;
    #[inline]
    fn index(&self, slot: Slot) -> &Thread {
        &self.seats[slot as usize]
    }
}

impl std::ops::IndexMut<Slot> for Threads {
    #[inline]
    fn index_mut(&mut self, slot: Slot) -> &mut Thread {
        &mut self.seats[slot as usize]
    }
}
