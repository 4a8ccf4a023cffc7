//! Acquires as the analysis remembers them, the shared lists behind them, and how they become a [`Violation`].

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use super::wrapper::{Place, Wrappers};
use crate::analysis::clock::Epoch;
use crate::analysis::stack::{List, Lists};
use crate::analysis::{AcquireSite, ErrorKind, Transaction, Violation};
use crate::event::{Mode, ThreadId};

/// One acquire. Whoever stores one owns a reference to each of its lists.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    pub at: Epoch,
    pub pc: u64,
    pub thread: ThreadId,
    /// The open functions and blocks.
    pub stack: List,
    /// The other locks held.
    pub held: List,
    /// The open critical section: at most one value.
    pub section: List,
    pub mode: Mode,
}

/// An open function or block.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub transaction: Transaction,
    /// Function frames up to and including this one, as the program's thread counts them.
    pub level: u32,
}

/// An outermost critical section. It lives beside the stack, since it may close below open frames.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    pub lock: u64,
    pub pc: u64,
    /// Depth of the stack when it opened.
    pub base: u32,
}

/// The lists that all sites share.
#[derive(Default)]
pub struct Pools {
    pub stacks: Lists<Frame>,
    pub held: Lists<u64>,
    pub sections: Lists<Section>,
}

/// Which transaction contains both acquires of a window, and where in it they happen.
#[derive(Clone, Copy)]
pub struct Blame {
    /// Stands for the block's code and the two locations: windows of one class are the same two places in one block.
    pub class: u64,
    /// Common transactions, and the one critical section among them if any with its position.
    common: usize,
    section: Option<(usize, Section)>,
}

/// The lock that a finding is about.
#[derive(Clone, Copy, Debug)]
pub struct LockName {
    pub address: u64,
    pub generation: u32,
    pub init: u64,
}

fn hash(words: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    words.hash(&mut hasher);
    hasher.finish()
}

fn code_of(transaction: &Transaction) -> u64 {
    match *transaction {
        Transaction::Function { inside, .. } => inside,
        Transaction::Block { pc, .. } | Transaction::Section { pc, .. } => pc,
    }
}

impl Section {
    fn transaction(self) -> Transaction {
        Transaction::Section { lock: self.lock, pc: self.pc }
    }
}

impl Pools {
    /// A copy with references of its own.
    #[inline]
    pub fn keep(&mut self, site: &Site) -> Site {
        self.stacks.keep(site.stack);
        self.held.keep(site.held);
        self.sections.keep(site.section);
        *site
    }

    #[inline]
    pub fn release(&mut self, site: &Site) {
        self.stacks.release(site.stack);
        self.held.release(site.held);
        self.sections.release(site.section);
    }

    /// The innermost transaction that contains both acquires, if there is one.
    #[inline]
    pub fn blame(&self, first: &Site, second: &Site) -> Option<Blame> {
        let meeting = self.stacks.meet(first.stack, second.stack);
        let section = if first.section == second.section { self.sections.top(first.section) } else { None };
        // A section whose opener has returned sits right above what is still common.
        let section = section.map(|section| (section.base.min(meeting.depth) as usize, section));
        let block = match section {
            Some((position, section)) if position == meeting.depth as usize => section.pc,
            _ => code_of(&meeting.last?.transaction),
        };
        let location = |above: Option<Frame>, site: &Site| above.map_or(site.pc, |frame| frame.transaction.opened_at());
        let locations = (location(meeting.above.0, first), location(meeting.above.1, second));
        let common = meeting.depth as usize + usize::from(section.is_some());
        Some(Blame { class: hash((block, locations)), common, section })
    }

    fn describe(&self, site: &Site, section: Option<(usize, Section)>) -> AcquireSite {
        let mut stack: Vec<Transaction> =
            self.stacks.to_vec(site.stack).iter().map(|frame| frame.transaction).collect();
        if let Some((position, section)) = section {
            stack.insert(position.min(stack.len()), section.transaction());
        }
        AcquireSite { thread: site.thread, pc: site.pc, mode: site.mode, stack, held: self.held.to_vec(site.held) }
    }
}

/// What was found so far: how often each finding was seen.
#[derive(Default)]
pub struct Findings {
    counts: FxHashMap<u64, u64>,
    /// Culprits are told apart by their places outside these.
    pub wrappers: Wrappers,
}

impl Findings {
    #[inline]
    pub fn key(kind: ErrorKind, class: u64, culprit: Place) -> u64 {
        hash((kind, class, culprit.pc))
    }

    /// Counts one more occurrence of a finding that was reported before. False if it never was.
    #[inline]
    pub fn repeated(&mut self, key: u64) -> bool {
        self.counts.get_mut(&key).map(|count| *count += 1).is_some()
    }

    pub fn counts(&self) -> &FxHashMap<u64, u64> {
        &self.counts
    }

    /// Counts an occurrence, and hands it over if it is the first.
    pub fn report(
        &mut self,
        pools: &Pools,
        kind: ErrorKind,
        lock: LockName,
        (first, second): (&Site, &Site),
        culprit: &Site,
        found: &mut dyn FnMut(Violation),
    ) {
        let Some(blame) = pools.blame(first, second) else { return };
        let place = self.wrappers.place(pools, culprit);
        let key = Findings::key(kind, blame.class, place);
        if self.repeated(key) {
            return;
        }
        self.counts.insert(key, 1);
        let culprit_section = pools.sections.top(culprit.section).map(|section| (section.base as usize, section));
        let own_frames = pools.stacks.depth(culprit.stack) as usize - place.wrappers;
        let section_is_own = culprit_section.is_some_and(|(position, _)| position <= own_frames);
        found(Violation {
            kind,
            key,
            lock: lock.address,
            generation: lock.generation,
            lock_init: lock.init,
            common: blame.common,
            first: pools.describe(first, blame.section),
            second: pools.describe(second, blame.section),
            culprit: pools.describe(culprit, culprit_section),
            culprit_frames: own_frames + usize::from(section_is_own),
        });
    }
}
