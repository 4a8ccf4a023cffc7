//! What the analysis keeps about each lock.
//!
//! One last acquire and one last release per lock are enough to see *whether* a stranger's is concurrent: exclusive
//! sections of one lock form a chain in which each acquire joins the release before it, so who knows the last knows
//! all earlier ones. For the same reason one newest window per class (block and two locations) is enough, whichever
//! thread made it. The sections of readers form no chain; they have a list of their own.

use rustc_hash::FxHashMap;

use super::site::{LockName, Pools, Site};
use crate::analysis::clock::{Clock, Epoch, Published, Slot};
use crate::event::Mode;

/// Classes of windows that a lock remembers. More than that in one lock replace each other in turn.
const WINDOWS: usize = 8;

/// Addresses for which the number of past locks is remembered. It is only shown to people, so it may start over.
const GENERATIONS: usize = 1 << 16;

pub const NOBODY: Slot = Slot::MAX;

pub struct Lock {
    pub name: LockName,
    /// Released by a thread that did not own it: a semaphore in disguise, which orders but protects nothing.
    pub handoff: bool,
    /// The exclusive owner.
    pub owner: Slot,
    /// The last exclusive acquire, and what exclusive releases published.
    pub acquired: Option<Site>,
    pub released: Published,
    pub readers: Option<Box<Readers>>,
    pub windows: Vec<Window>,
    /// Threads that were refused by a holder which the merged order has not shown yet.
    pub refused: Vec<Slot>,
    /// Which window is replaced when there are too many.
    replaced: usize,
    /// Slots of `records`, apart from them so that the search touches little memory.
    slots: Vec<Slot>,
    records: Vec<Record>,
}

/// Two acquires of a lock in one transaction.
pub struct Window {
    pub class: u64,
    pub first: Site,
    pub second: Site,
}

/// What one thread did with a lock.
#[derive(Default)]
pub struct Record {
    /// The thread's span of transactions at its last acquire; 0 if that was in no transaction.
    pub span: u64,
    pub last: Option<Site>,
    /// A stranger's acquire that was concurrent with `last`. The box stays when the culprit goes.
    pub culprit: Option<Box<Culprit>>,
    /// Whether the thread ever published its clock while it held the lock.
    pub published_inside: bool,
}

pub struct Culprit {
    pub site: Option<Site>,
}

/// The shared side of a reader-writer lock.
#[derive(Default)]
pub struct Readers {
    pub released: Published,
    /// The last section of each thread since the last exclusive acquire.
    pub sections: Vec<Reader>,
}

pub struct Reader {
    pub acquired: Site,
    /// 0 while the section is open.
    pub released: u64,
}

impl Lock {
    fn new(name: LockName) -> Lock {
        Lock {
            name,
            handoff: false,
            owner: NOBODY,
            acquired: None,
            released: Published::default(),
            readers: None,
            windows: Vec::new(),
            refused: Vec::new(),
            replaced: 0,
            slots: Vec::new(),
            records: Vec::new(),
        }
    }

    /// The record of a thread, made if absent.
    #[inline]
    pub fn record(&mut self, slot: Slot) -> &mut Record {
        let index = self.slots.iter().position(|&other| other == slot).unwrap_or_else(|| {
            self.slots.push(slot);
            self.records.push(Record::default());
            self.records.len() - 1
        });
        &mut self.records[index]
    }

    /// Who holds the lock: its owner, or those who read.
    pub fn holders(&self) -> impl Iterator<Item = Slot> {
        let readers = self.readers.iter().flat_map(|readers| &readers.sections);
        let reading = readers.filter(|reader| reader.released == 0).map(|reader| reader.acquired.at.slot);
        reading.chain((self.owner != NOBODY).then_some(self.owner))
    }

    /// Whether the lock cannot be acquired in `mode`.
    #[inline]
    pub fn is_taken(&self, mode: Mode) -> bool {
        self.owner != NOBODY || mode == Mode::Exclusive && self.readers.is_some() && self.holders().next().is_some()
    }

    /// Whether only this thread has used the lock since its own last exclusive acquire. Then it knows everything that
    /// others did here before: nothing is concurrent, and there is nothing to join.
    #[inline]
    pub fn undisturbed(&self, slot: Slot) -> bool {
        let last = self.acquired.as_ref();
        self.readers.is_none() && self.released.by().slot == slot && last.is_some_and(|last| last.at.slot == slot)
    }

    /// An acquire by another thread, in a mode that conflicts with `mode`, which `clock` does not know.
    pub fn concurrent_acquire(&self, slot: Slot, clock: &Clock, mode: Mode) -> Option<&Site> {
        let unknown = |site: &&Site| site.at.slot != slot && !clock.knows(site.at);
        let readers = self.readers.iter().flat_map(|readers| &readers.sections).map(|reader| &reader.acquired);
        self.acquired.iter().chain(readers.filter(|_| mode == Mode::Exclusive)).find(unknown)
    }

    /// The acquire of a section by another thread, in a mode that conflicts with `mode`, whose release `clock` does not
    /// know.
    pub fn concurrent_release(&self, slot: Slot, clock: &Clock, mode: Mode) -> Option<&Site> {
        let by = self.released.by();
        if let Some(site) = &self.acquired
            && by.slot != slot
            && by.slot == site.at.slot
            && !clock.knows(by)
        {
            return Some(site);
        }
        let readers = self.readers.iter().flat_map(|readers| &readers.sections);
        let unknown = |reader: &&Reader| {
            let slot_of_reader = reader.acquired.at.slot;
            slot_of_reader != slot && !clock.knows(Epoch { slot: slot_of_reader, time: reader.released })
        };
        readers.filter(|_| mode == Mode::Exclusive).find(unknown).map(|reader| &reader.acquired)
    }

    /// Whether what an acquirer in `mode` joins here knows the moment.
    pub fn passes_on(&self, moment: Epoch, mode: Mode) -> bool {
        let from_readers = |readers: &Readers| mode == Mode::Exclusive && readers.released.knows(moment);
        self.released.knows(moment) || self.readers.as_deref().is_some_and(from_readers)
    }

    /// Whether no thread but these two ever published its clock while it held this lock.
    ///
    /// In the least prefix of a run that leads to given events of two threads, every other thread stands at one of
    /// its publications. So none of them stands inside a section of this lock.
    pub fn free_of_others(&self, one: Slot, two: Slot) -> bool {
        let others = self.slots.iter().zip(&self.records).filter(|&(&slot, _)| slot != one && slot != two);
        !others.into_iter().any(|(_, record)| record.published_inside)
    }

    /// Remembers the newest window of its class. With `only_one`, forgets all others.
    #[inline]
    pub fn remember(&mut self, window: Window, only_one: bool, pools: &mut Pools) {
        let capacity = if only_one { 1 } else { WINDOWS };
        let same = self.windows.iter().position(|other| other.class == window.class);
        let index = match same {
            Some(index) => index,
            None if self.windows.len() < capacity => return self.windows.push(window),
            None => {
                self.replaced = (self.replaced + 1) % capacity;
                self.replaced
            }
        };
        let old = std::mem::replace(&mut self.windows[index], window);
        pools.release(&old.first);
        pools.release(&old.second);
    }

    /// Forgets every acquire and window.
    pub fn purge(&mut self, pools: &mut Pools) {
        if let Some(site) = self.acquired.take() {
            pools.release(&site);
        }
        for window in self.windows.drain(..) {
            pools.release(&window.first);
            pools.release(&window.second);
        }
        for mut record in self.records.drain(..) {
            record.forget(pools);
        }
        self.slots.clear();
        if let Some(mut readers) = self.readers.take() {
            readers.purge(pools);
        }
    }
}

impl Record {
    /// Forgets the last acquire and its culprit.
    pub fn forget(&mut self, pools: &mut Pools) {
        self.span = 0;
        if let Some(site) = self.last.take() {
            pools.release(&site);
        }
        self.acquit(pools);
    }

    /// The culprit that is remembered.
    #[inline]
    pub fn culprit(&self) -> Option<&Site> {
        self.culprit.as_deref().and_then(|culprit| culprit.site.as_ref())
    }

    /// Remembers a culprit; the caller hands over a reference to its lists.
    pub fn accuse(&mut self, site: Site) {
        match &mut self.culprit {
            Some(culprit) => culprit.site = Some(site),
            None => self.culprit = Some(Box::new(Culprit { site: Some(site) })),
        }
    }

    /// Forgets the culprit.
    #[inline]
    pub fn acquit(&mut self, pools: &mut Pools) {
        if let Some(culprit) = &mut self.culprit
            && let Some(site) = culprit.site.take()
        {
            pools.release(&site);
        }
    }
}

impl Readers {
    /// The thread's section.
    pub fn section(&mut self, slot: Slot) -> Option<&mut Reader> {
        self.sections.iter_mut().find(|reader| reader.acquired.at.slot == slot)
    }

    /// Opens a section; the caller hands over a reference to the lists of `site`.
    pub fn open(&mut self, site: Site, pools: &mut Pools) {
        let section = Reader { acquired: site, released: 0 };
        match self.section(site.at.slot) {
            Some(old) => pools.release(&std::mem::replace(old, section).acquired),
            None => self.sections.push(section),
        }
    }

    pub fn purge(&mut self, pools: &mut Pools) {
        for reader in self.sections.drain(..) {
            pools.release(&reader.acquired);
        }
    }
}

/// All locks, by address.
#[derive(Default)]
pub struct Locks {
    entries: Vec<Lock>,
    unused: Vec<usize>,
    by_address: FxHashMap<u64, usize>,
    /// How many locks lived at an address before.
    generations: FxHashMap<u64, u32>,
}

impl Locks {
    /// The lock at an address. `guess` is tried first and remembers the answer.
    #[inline]
    pub fn find_or_add(&mut self, address: u64, guess: &mut usize) -> usize {
        if self.entries.get(*guess).is_none_or(|lock| lock.name.address != address) {
            *guess = match self.by_address.get(&address) {
                Some(&index) => index,
                None => self.add(address, 0),
            };
        }
        *guess
    }

    pub fn find(&self, address: u64) -> Option<usize> {
        self.by_address.get(&address).copied()
    }

    /// A new lock at an address at which none is known.
    pub fn add(&mut self, address: u64, init: u64) -> usize {
        let generation = self.generations.get(&address).copied().unwrap_or(0);
        let lock = Lock::new(LockName { address, generation, init });
        let index = if let Some(index) = self.unused.pop() {
            self.entries[index] = lock;
            index
        } else {
            self.entries.push(lock);
            self.entries.len() - 1
        };
        self.by_address.insert(address, index);
        index
    }

    /// Ends the lock. Nobody may hold it any more.
    pub fn remove(&mut self, index: usize, pools: &mut Pools) {
        let lock = &mut self.entries[index];
        lock.purge(pools);
        let LockName { address, generation, .. } = lock.name;
        // No lock is at address 0, so that a stale guess never fits an unused entry.
        *lock = Lock::new(LockName { address: 0, generation: 0, init: 0 });
        self.by_address.remove(&address);
        self.unused.push(index);
        if self.generations.len() >= GENERATIONS {
            self.generations.clear();
        }
        self.generations.insert(address, generation + 1);
    }

    pub fn len(&self) -> usize {
        self.by_address.len()
    }
}

impl std::ops::Index<usize> for Locks {
    type Output = Lock;
    #[inline]
    fn index(&self, index: usize) -> &Lock {
        &self.entries[index]
    }
}

impl std::ops::IndexMut<usize> for Locks {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut Lock {
        &mut self.entries[index]
    }
}
