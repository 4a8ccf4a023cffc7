//! `SideTrack`: atomicity violations predicted from the locks of one run, without false alarms.
//!
//! Two acquires of one lock inside one transaction make a *window*; another thread's acquire of that lock that can run
//! inside the window is its *culprit*. All comparisons at an acquire are made with the thread's clock before it is
//! joined with what the lock's last release published:
//!
//! - **After**: the window was formed earlier, by another thread, and is not known here. This acquire is the culprit.
//! - **Before**: at the first acquire of the window, another thread's last acquire of the lock was not known.
//! - **In**: at the second acquire, another thread's last release of the lock is not known.
//!
//! # Where the default mode corrects the paper
//!
//! The paper asks only whether the culprit's *acquire* is concurrent. Its section must also be able to *finish* inside
//! the window, or the predicted run is a deadlock: see the bottom of the paper's Figure 8, where the window's thread
//! holds a lock that the culprit needs inside its section.
//!
//! An after-error is therefore a candidate until the culprit has released the lock (a condition wait is such a release).
//! The predicted run is everything that happens before the window's second acquire `E`, everything that happens before
//! the culprit, then the culprit's section, then `E`. It exists if nothing in the section needs `E`:
//!
//! - What the section awaits or joins must not know `E`.
//! - A lock `k` that the section takes must not have been published by anyone who knows `E`; or else `k` must be free
//!   in that run all the same: not held by the window's thread at `E`, and no third thread ever published its clock while
//!   it held `k` (so that none can stand inside `k` there, see `Lock::free_of_others`).
//!
//! A before-error is the mirror image. Its predicted run lets the window's first section finish before the culprit's
//! acquire `X`, so nothing that this section awaits or joins may come from who knows `X`, and a lock that it takes from
//! who knows `X` must be free and given back within the section. It remains conditional on the block's taking the same
//! path when it runs first, which locks cannot show.
//!
//! `paper` mode drops these corrections and keeps a single window per lock.

mod lock;
mod site;
mod thread;
mod wrapper;

use rustc_hash::FxHashMap;

use self::lock::{Lock, Locks, NOBODY, Record, Window};
use self::site::{Blame, Findings, LockName, Pools, Site};
use self::thread::{Candidate, Thread, Threads};
use super::clock::{Clock, Epoch, Published, Slot};
use super::{Analysis, ErrorKind, Transaction, Violation};
use crate::event::{Event, Kind, Mode, ThreadId, atomic};

/// Places where signals are kept. Objects that share one only gain order.
const CHANNELS: usize = 1 << 14;

/// What the analysis takes for a transaction, and whose rules it follows.
#[allow(clippy::struct_excessive_bools, reason = "independent switches, each an option of its own")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The rules of the paper to the letter.
    pub paper: bool,
    /// Keep transactions open across waits for other threads.
    pub strict_waits: bool,
    /// Function invocations are transactions.
    pub functions: bool,
    /// Outermost critical sections are transactions.
    pub sections: bool,
    /// Also tell of a reader that can come between a block's section as a reader and its next one as a writer. Nothing conflicts, so it is no
    /// violation; but a reader that looks before the writer has changed anything may go on as the block does. For who can try it.
    pub rechecks: bool,
}

/// The online analysis.
pub struct SideTrack {
    config: Config,
    threads: Threads,
    locks: Locks,
    channels: Box<[Option<Box<Published>>]>,
    pools: Pools,
    findings: Findings,
    /// The thread of the last event and its slot: events come in bursts.
    current: (ThreadId, Slot),
}

/// How much the analysis remembers; for tests of its bounds and for the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Footprint {
    pub slots: usize,
    pub locks: usize,
    pub stack_nodes: usize,
    pub held_nodes: usize,
    pub section_nodes: usize,
    pub channels: usize,
}

impl Analysis for SideTrack {
    #[inline]
    fn step(&mut self, thread: ThreadId, event: &Event, found: &mut dyn FnMut(Violation)) {
        let slot = self.slot_of(thread);
        match event.kind() {
            Some(Kind::Acquire) => self.acquire(slot, event, found),
            Some(Kind::Release) => self.release(slot, event.object, found),
            Some(Kind::Enter) => self.enter(slot, event),
            Some(Kind::Leave) if self.config.functions => {
                self.threads[slot].cut(event.depth(), &mut self.pools);
            }
            Some(Kind::BlockBegin) => {
                let block = Transaction::Block { label: event.object, pc: event.pc };
                self.threads[slot].begin_block(block, &mut self.pools);
            }
            Some(Kind::BlockEnd) => self.threads[slot].end_block(&mut self.pools),
            Some(Kind::Refused) => self.refused(slot, event.object),
            Some(Kind::LockInit) => self.init(event.object, event.pc),
            Some(Kind::LockDestroy) => self.destroy(event.object),
            Some(Kind::Signal) => self.signal(slot, event.object),
            Some(Kind::Await) => self.receive_signal(slot, event.object),
            Some(Kind::Interfere) => self.interfere(slot),
            Some(Kind::Fork) => self.fork(slot, event.object as ThreadId),
            Some(Kind::End) => self.end(slot),
            Some(Kind::Join) => self.join(slot, event.object as ThreadId),
            Some(Kind::Lost) => self.lost(slot),
            Some(Kind::AtomicLoad | Kind::AtomicStore | Kind::AtomicUpdate) => self.atomic(slot, event),
            None
            | Some(
                Kind::Leave
                | Kind::Start
                | Kind::Read
                | Kind::Write
                | Kind::Fence
                | Kind::Allocate
                | Kind::Free
                | Kind::Extent
                | Kind::Value
                | Kind::Branches
                | Kind::Name
                | Kind::Time,
            ) => {}
        }
    }
}

impl SideTrack {
    #[must_use]
    pub fn new(config: Config) -> SideTrack {
        SideTrack {
            config,
            threads: Threads::default(),
            locks: Locks::default(),
            channels: (0..CHANNELS).map(|_| None).collect(),
            pools: Pools::default(),
            findings: Findings::default(),
            current: (ThreadId::MAX, NOBODY),
        }
    }

    /// How often each finding was seen, by [`Violation::key`]. Occurrences after the first are counted when they are
    /// predicted; whether their section can finish is not asked again.
    #[must_use]
    pub fn counts(&self) -> &FxHashMap<u64, u64> {
        self.findings.counts()
    }

    #[must_use]
    pub fn footprint(&self) -> Footprint {
        Footprint {
            slots: self.threads.slots(),
            locks: self.locks.len(),
            stack_nodes: self.pools.stacks.live(),
            held_nodes: self.pools.held.live(),
            section_nodes: self.pools.sections.live(),
            channels: self.channels.iter().flatten().count(),
        }
    }

    /// The clock of a thread.
    #[must_use]
    pub fn clock_of(&self, thread: ThreadId) -> Option<&Clock> {
        self.threads.find(thread).map(|slot| self.threads[slot].clock.clock())
    }

    /// What the releases of a lock published: the paper's R.
    #[must_use]
    pub fn release_of(&self, lock: u64) -> Option<&Clock> {
        self.locks.find(lock).map(|index| self.locks[index].released.clock())
    }

    /// The moments of the windows that a lock remembers, as thread and time: the paper's V.
    pub fn windows_of(&self, lock: u64) -> impl Iterator<Item = (ThreadId, u64)> {
        let windows = self.locks.find(lock).map(|index| &self.locks[index].windows);
        windows.into_iter().flatten().map(|window| (window.second.thread, window.second.at.time))
    }

    #[inline]
    fn slot_of(&mut self, thread: ThreadId) -> Slot {
        if self.current.0 != thread {
            let slot = self.threads.find(thread).unwrap_or_else(|| self.newcomer(thread));
            self.current = (thread, slot);
        }
        self.current.1
    }

    /// A thread whose fork was not seen. It was created by somebody, some time before now: taking that for everybody and
    /// now only adds order.
    fn newcomer(&mut self, thread: ThreadId) -> Slot {
        let slot = self.seat(thread);
        if self.threads.slots() > 1 {
            self.threads.meet_all();
        }
        slot
    }

    fn seat(&mut self, thread: ThreadId) -> Slot {
        if let Some(slot) = self.threads.overdue() {
            self.let_go(slot);
            self.threads.bury(slot);
            self.current = (ThreadId::MAX, NOBODY);
        }
        self.threads.seat(thread)
    }

    fn enter(&mut self, slot: Slot, event: &Event) {
        if self.config.functions {
            let function = Transaction::Function { inside: event.object, call: event.pc };
            self.threads[slot].enter(event.depth(), function, &mut self.pools);
        }
    }

    #[inline]
    fn acquire(&mut self, slot: Slot, event: &Event, found: &mut dyn FnMut(Violation)) {
        let index = self.locks.find_or_add(event.object, &mut self.threads[slot].last_lock);
        if let Some(position) = self.threads[slot].position(event.object) {
            self.threads[slot].held[position].depth += 1;
            return;
        }
        if self.locks[index].is_taken(event.mode()) {
            self.take_away(index);
        }
        if self.threads[slot].is_watched() {
            self.spoil_by_lock(slot, index, event.mode());
        }
        let lock = &mut self.locks[index];
        let me = &mut self.threads[slot];
        if lock.handoff {
            me.clock.receive(&lock.released);
            return;
        }
        let mut site = me.site(event.pc, event.mode(), &mut self.pools);
        // What a wait gives back is the section that began elsewhere: as a place in the program it is that one. Else
        // every loop with a wait in it would look like two different places. With strict waits it is the wait itself
        // that splits the block.
        if event.is_resumption()
            && !self.config.strict_waits
            && let Some(begun) = &lock.record(slot).last
        {
            (site.pc, site.stack) = (begun.pc, begun.stack);
        }
        let disturbed = !lock.undisturbed(slot);
        if disturbed {
            Self::find_after(self.config, lock, me, &site, &mut self.pools, &mut self.findings, found);
        }
        let pivot = if me.in_transaction() { self.pair_up(slot, index, &site, disturbed, found) } else { None };
        self.take(slot, index, &site, disturbed, pivot);
    }

    /// The transaction's side of an acquire: makes a window with the thread's previous acquire of the lock, if one
    /// transaction contains both, and looks for its culprits. Returns the culprit of the next window, if there is one: a
    /// concurrent acquire that must not come before the section that begins now.
    #[inline]
    fn pair_up(
        &mut self,
        slot: Slot,
        index: usize,
        site: &Site,
        disturbed: bool,
        found: &mut dyn FnMut(Violation),
    ) -> Option<Epoch> {
        let SideTrack { config, pools, findings, .. } = self;
        let me = &self.threads[slot];
        let lock = &mut self.locks[index];
        let name = lock.name;
        let record = lock.record(slot);
        let blame = match &record.last {
            Some(first) if record.span == me.span => pools.blame(first, site),
            _ => None,
        };
        if let Some(blame) = &blame {
            Self::find_before(name, record, site, blame, pools, findings, found);
        }
        let first = record.last.replace(pools.keep(site));
        record.span = me.span;
        // The paper's set of interfering locks is fixed at the transaction's first acquire.
        let fixed = config.paper && blame.is_some();
        if !fixed {
            record.acquit(pools);
        }
        if let (Some(first), Some(blame)) = (&first, &blame)
            && disturbed
        {
            Self::find_in(lock, me, (first, site), blame, pools, findings, found);
        }
        let mut pivot = None;
        if disturbed
            && !fixed
            && let Some(culprit) = lock.concurrent_acquire(slot, me.clock.clock(), site.mode)
            // A shared culprit waits for no other readers, so one of them may be inside until it has come.
            && (config.paper || culprit.mode == Mode::Exclusive || lock.free_of_others(slot, culprit.at.slot))
        {
            pivot = (!config.paper).then_some(culprit.at);
            let culprit = pools.keep(culprit);
            lock.record(slot).accuse(culprit);
        }
        match (first, blame) {
            (Some(first), Some(blame)) => {
                let window = Window { class: blame.class, first, second: pools.keep(site) };
                lock.remember(window, config.paper, pools);
            }
            (Some(first), None) => pools.release(&first),
            (None, _) => {}
        }
        pivot
    }

    /// The lock's side of an acquire: the thread goes on after what was released there, and holds it.
    #[inline]
    fn take(&mut self, slot: Slot, index: usize, site: &Site, disturbed: bool, pivot: Option<Epoch>) {
        let me = &mut self.threads[slot];
        let lock = &mut self.locks[index];
        let kept = self.pools.keep(site);
        match site.mode {
            Mode::Exclusive => {
                lock.owner = slot;
                if let Some(old) = lock.acquired.replace(kept) {
                    self.pools.release(&old);
                }
                if disturbed {
                    me.clock.receive(&lock.released);
                    if let Some(readers) = &mut lock.readers {
                        me.clock.receive(&readers.released);
                        readers.purge(&mut self.pools);
                    }
                }
            }
            Mode::Shared => {
                me.clock.receive(&lock.released);
                lock.readers.get_or_insert_with(Box::default).open(kept, &mut self.pools);
            }
        }
        me.take(index, lock.name.address, site, pivot, self.config.sections, &mut self.pools);
        if !lock.refused.is_empty() {
            for refused in std::mem::take(&mut lock.refused) {
                self.join_with(refused, slot);
            }
        }
    }

    /// Windows of others into which this acquire could have come.
    fn find_after(
        config: Config,
        lock: &Lock,
        me: &mut Thread,
        culprit: &Site,
        pools: &mut Pools,
        findings: &mut Findings,
        found: &mut dyn FnMut(Violation),
    ) {
        if lock.windows.is_empty() {
            return;
        }
        // A wrapper that is not known yet will be at the release, where the report asks for the place again. Only `paper`
        // mode, which reports at once, may tell of one culprit twice: first inside its wrapper.
        let place = findings.wrappers.place(pools, culprit);
        for window in &lock.windows {
            let Window { class, first, second } = window;
            let is_split_by_readers = match (first.mode, second.mode) {
                (Mode::Exclusive, Mode::Exclusive) => true,
                (Mode::Shared, Mode::Exclusive) => config.rechecks,
                (_, Mode::Shared) => false,
            };
            if me.clock.knows(second.at) || culprit.mode == Mode::Shared && !is_split_by_readers {
                continue;
            }
            if findings.repeated(Findings::key(ErrorKind::After, *class, place)) {
                continue;
            }
            if config.paper {
                findings.report(pools, ErrorKind::After, lock.name, (first, second), culprit, found);
                continue;
            }
            // A shared second acquire waits for no other readers, so one of them may still be inside.
            if second.mode == Mode::Shared && !lock.free_of_others(second.at.slot, culprit.at.slot) {
                continue;
            }
            me.candidates.push(Candidate {
                lock: lock.name,
                first: pools.keep(first),
                second: pools.keep(second),
                culprit: pools.keep(culprit),
                number: me.next_acquire(),
            });
        }
    }

    /// Whether the culprit that the window's first acquire met could have come between its two acquires.
    #[inline]
    fn find_before(
        lock: LockName,
        record: &Record,
        second: &Site,
        blame: &Blame,
        pools: &Pools,
        findings: &mut Findings,
        found: &mut dyn FnMut(Violation),
    ) {
        if let (Some(first), Some(culprit)) = (&record.last, record.culprit())
            // A shared culprit conflicts only with two exclusive flanks.
            && (culprit.mode == Mode::Exclusive || first.mode.max(second.mode) == Mode::Exclusive)
            && !findings.repeated(Findings::key(ErrorKind::Before, blame.class, findings.wrappers.place(pools, culprit)))
        {
            findings.report(pools, ErrorKind::Before, lock, (first, second), culprit, found);
        }
    }

    /// Whether another thread came between the window's two acquires.
    fn find_in(
        lock: &Lock,
        me: &Thread,
        (first, second): (&Site, &Site),
        blame: &Blame,
        pools: &Pools,
        findings: &mut Findings,
        found: &mut dyn FnMut(Violation),
    ) {
        let weakest = first.mode.max(second.mode);
        if let Some(culprit) = lock.concurrent_release(second.at.slot, me.clock.clock(), weakest)
            && !findings.repeated(Findings::key(ErrorKind::In, blame.class, findings.wrappers.place(pools, culprit)))
        {
            findings.report(pools, ErrorKind::In, lock.name, (first, second), culprit, found);
        }
    }

    #[inline]
    fn release(&mut self, slot: Slot, address: u64, found: &mut dyn FnMut(Violation)) {
        let me = &mut self.threads[slot];
        let Some(position) = me.position(address) else { return self.release_unheld(slot, address) };
        let held = &mut me.held[position];
        held.depth -= 1;
        if held.depth > 0 {
            return;
        }
        let held = me.drop_held(position, &mut self.pools);
        let lock = &mut self.locks[held.lock];
        let now = me.clock.now();
        match held.mode {
            Mode::Exclusive => {
                lock.owner = NOBODY;
                lock.released.publish(&me.clock);
                if let Some(acquired) = &lock.acquired {
                    self.findings.wrappers.learn(&self.pools, acquired.stack, me.stack);
                }
            }
            Mode::Shared => {
                let readers = lock.readers.get_or_insert_with(Box::default);
                readers.released.publish(&me.clock);
                if let Some(reader) = readers.section(slot) {
                    reader.released = now.time;
                    self.findings.wrappers.learn(&self.pools, reader.acquired.stack, me.stack);
                }
            }
        }
        if held.since != now.time {
            lock.record(slot).published_inside = true;
        }
        // The culprit may need what this thread still holds of what it took out of turn.
        if held.reorders && me.held.last().is_some_and(|last| last.number > held.number) {
            lock.record(slot).acquit(&mut self.pools);
        }
        me.clock.tick();
        if !me.candidates.is_empty() {
            self.resolve(slot, held.number, found);
        }
    }

    /// Reports the candidates of the section that began with the acquire of that number and is over now.
    fn resolve(&mut self, slot: Slot, number: u64, found: &mut dyn FnMut(Violation)) {
        let (pools, findings) = (&mut self.pools, &mut self.findings);
        self.threads[slot].candidates.retain(|candidate| {
            let over = candidate.number == number;
            if over {
                let Candidate { lock, first, second, culprit, .. } = candidate;
                findings.report(pools, ErrorKind::After, *lock, (first, second), culprit, found);
                candidate.release(pools);
            }
            !over
        });
    }

    /// A release by a thread that does not hold the lock. If somebody else does, the lock passes a turn on, as a
    /// semaphore would. If nobody does, the acquire was not seen.
    #[cold]
    fn release_unheld(&mut self, slot: Slot, address: u64) {
        let index = self.locks.find_or_add(address, &mut self.threads[slot].last_lock);
        let owner = std::mem::replace(&mut self.locks[index].owner, NOBODY);
        if owner != NOBODY {
            self.locks[index].handoff = true;
            self.locks[index].purge(&mut self.pools);
            self.disown(owner, address);
        }
        let me = &mut self.threads[slot];
        self.locks[index].released.publish(&me.clock);
        me.clock.tick();
    }

    /// A lock is acquired while the merged order still shows it taken: a release was not seen. Everything its holders did
    /// so far goes before.
    #[cold]
    fn take_away(&mut self, index: usize) {
        for holder in self.locks[index].holders().collect::<Vec<_>>() {
            let lock = &mut self.locks[index];
            lock.owner = NOBODY;
            lock.released.publish(&self.threads[holder].clock);
            let address = lock.name.address;
            self.threads[holder].clock.tick();
            self.disown(holder, address);
        }
    }

    fn disown(&mut self, slot: Slot, address: u64) {
        let thread = &mut self.threads[slot];
        if let Some(position) = thread.position(address) {
            let gone = thread.drop_held(position, &mut self.pools);
            let pools = &mut self.pools;
            thread.candidates.retain(|candidate| {
                let gone = candidate.number == gone.number;
                if gone {
                    candidate.release(pools);
                }
                !gone
            });
        }
    }

    /// The thread goes on after `source`: drops what that makes infeasible.
    fn spoil(thread: &mut Thread, locks: &mut Locks, pools: &mut Pools, source: &Clock) {
        if !thread.is_watched() {
            return;
        }
        thread.candidates.retain(|candidate| {
            let spoilt = source.knows(candidate.second.at);
            if spoilt {
                candidate.release(pools);
            }
            !spoilt
        });
        let slot = thread.clock.now().slot;
        for held in &mut thread.held {
            if held.pivot.is_some_and(|pivot| source.knows(pivot)) {
                held.pivot = None;
                thread.pivots -= 1;
                locks[held.lock].record(slot).acquit(pools);
            }
        }
    }

    /// The thread is about to take a lock: drops what that makes infeasible.
    #[cold]
    fn spoil_by_lock(&mut self, slot: Slot, index: usize, mode: Mode) {
        let lock = &self.locks[index];
        // What the thread itself released last was judged when it took it.
        if lock.readers.is_none() && lock.released.by().slot == slot {
            return;
        }
        let thread = &mut self.threads[slot];
        let pools = &mut self.pools;
        thread.candidates.retain(|candidate| {
            let pivot = candidate.second.at;
            let free = lock.free_of_others(slot, pivot.slot)
                && !pools.held.iter(candidate.second.held).any(|address| address == lock.name.address);
            let spoilt = lock.passes_on(pivot, mode) && !free;
            if spoilt {
                candidate.release(pools);
            }
            !spoilt
        });
        let mut acquitted = Vec::new();
        let free = lock.free_of_others(slot, slot);
        for held in &mut thread.held {
            if held.pivot.is_some_and(|pivot| lock.passes_on(pivot, mode)) {
                if free {
                    held.reorders = true;
                    continue;
                }
                held.pivot = None;
                thread.pivots -= 1;
                acquitted.push(held.lock);
            }
        }
        for other in acquitted {
            self.locks[other].record(slot).acquit(&mut self.pools);
        }
    }

    /// `slot` goes on after what `other` did so far.
    fn join_with(&mut self, slot: Slot, other: Slot) {
        if let Some((thread, other)) = self.threads.both(slot, other) {
            Self::spoil(thread, &mut self.locks, &mut self.pools, other.clock.clock());
            thread.clock.join(other.clock.clock());
            other.clock.tick();
        }
    }

    /// A failed attempt depends on the acquire of whoever holds the lock.
    #[cold]
    fn refused(&mut self, slot: Slot, object: u64) {
        let known = self.locks.find(object);
        if known.is_none() && self.channels[channel_of(object)].is_some() {
            return self.receive_signal(slot, object);
        }
        let index = known.unwrap_or_else(|| self.locks.add(object, 0));
        if self.locks[index].handoff {
            self.spoil_by_lock(slot, index, Mode::Exclusive);
            return self.threads[slot].clock.receive(&self.locks[index].released);
        }
        let lock = &mut self.locks[index];
        let holders: Vec<Slot> = lock.holders().collect();
        if holders.is_empty() {
            // The holder has not numbered its acquire yet: its next event on the lock will show it.
            if !lock.refused.contains(&slot) {
                lock.refused.push(slot);
            }
            return;
        }
        for holder in holders {
            self.join_with(slot, holder);
        }
    }

    #[cold]
    fn init(&mut self, address: u64, pc: u64) {
        self.destroy(address);
        self.locks.add(address, pc);
    }

    #[cold]
    fn destroy(&mut self, address: u64) {
        let Some(index) = self.locks.find(address) else { return };
        for holder in self.locks[index].holders().collect::<Vec<_>>() {
            self.disown(holder, address);
        }
        self.locks.remove(index, &mut self.pools);
    }

    /// A read-modify-write sees what was stored before it stores itself.
    fn atomic(&mut self, slot: Slot, event: &Event) {
        let (loads, stores) = (event.kind() != Some(Kind::AtomicStore), event.kind() != Some(Kind::AtomicLoad));
        if loads && atomic::acquires(event.detail()) {
            self.receive_signal(slot, event.object);
        }
        if stores && atomic::releases(event.detail()) {
            self.signal(slot, event.object);
        }
    }

    #[inline]
    fn signal(&mut self, slot: Slot, object: u64) {
        let me = &mut self.threads[slot];
        self.channels[channel_of(object)].get_or_insert_with(Box::default).publish(&me.clock);
        me.clock.tick();
    }

    #[inline]
    fn receive_signal(&mut self, slot: Slot, object: u64) {
        if let Some(channel) = &self.channels[channel_of(object)] {
            let me = &mut self.threads[slot];
            Self::spoil(me, &mut self.locks, &mut self.pools, channel.clock());
            me.clock.receive(channel);
        }
    }

    fn interfere(&mut self, slot: Slot) {
        if !self.config.strict_waits {
            self.threads[slot].span = self.threads.new_span();
        }
    }

    #[cold]
    fn fork(&mut self, slot: Slot, child: ThreadId) {
        let child = self.threads.find(child).unwrap_or_else(|| self.seat(child));
        self.join_with(child, slot);
    }

    /// A thread ends. Locks that it still holds count as released: a robust mutex passes on to the next.
    #[cold]
    fn end(&mut self, slot: Slot) {
        self.let_go(slot);
        self.threads[slot].clock.tick();
        self.threads.end(slot);
    }

    #[cold]
    fn join(&mut self, slot: Slot, child: ThreadId) {
        let Some(other) = self.threads.find(child) else {
            let grave = self.threads.grave().clone();
            Self::spoil(&mut self.threads[slot], &mut self.locks, &mut self.pools, &grave);
            return self.threads[slot].clock.join(&grave);
        };
        if other == slot {
            return;
        }
        self.let_go(other);
        self.join_with(slot, other);
        self.threads.leave(other);
        self.current = (ThreadId::MAX, NOBODY);
    }

    #[cold]
    fn lost(&mut self, slot: Slot) {
        self.let_go(slot);
        self.threads[slot].span = self.threads.new_span();
        self.threads.meet_all();
    }

    /// Publishes the thread's clock at all that it holds, and forgets what it had open.
    fn let_go(&mut self, slot: Slot) {
        while let Some(position) = self.threads[slot].held.len().checked_sub(1) {
            let me = &mut self.threads[slot];
            let held = me.drop_held(position, &mut self.pools);
            let lock = &mut self.locks[held.lock];
            lock.released.publish(&me.clock);
            lock.owner = NOBODY;
            if let Some(reader) = lock.readers.as_deref_mut().and_then(|readers| readers.section(slot)) {
                reader.released = me.clock.now().time;
            }
            // The end of the section is not known, so the lock does not count as free.
            lock.record(slot).published_inside = true;
            me.clock.tick();
        }
        self.threads[slot].forget(&mut self.pools);
    }
}

#[inline]
fn channel_of(object: u64) -> usize {
    (object.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - CHANNELS.trailing_zeros())) as usize
}
