//! What a recording leaves out: plain accesses without which every ordered pair of locations is still there. Everything else is kept.
//!
//! **Stack.** An access to the thread's own stack, if the function that owns the place was entered and left in this chunk,
//! and in between the thread did nothing but plain accesses and calls. The owner is the innermost open function whose stack
//! pointer at the entry lies above the place: what lies there was made after that entry, and is gone when that function
//! returns. So the whole life of the object is a stretch in which its thread told nothing to anybody: no lock was released, no
//! atomic stored, no thread created. Another thread has no way to the object, except through a plain access that races with one
//! of this stretch; and what a program with such a race does is not defined in the first place. An access that nobody
//! else can touch is never one of the two, three or four conflicting accesses of a finding. Where the owner is not known (its
//! entry was in an earlier chunk, or came without a stack pointer) the access is kept.
//!
//! **Repetition.** An *epoch* is a stretch of nothing but plain accesses in one chunk, and a *run* is a stretch of an epoch in which
//! no access but the first comes after a branch. Two accesses are *alike* if they agree in code location, kind, detail, size and
//! address. They are of one *class* if they are alike and, one by one, all accesses before them in their runs are alike. Kept are the
//! first and the last access of each class of an epoch, and all that is before the first one in its run.
//!
//! - *Order.* Take any two accesses `a` and `b` of the thread with `a` before `b`, in one epoch or in two. The first of `a`'s class
//!   is not after `a`, the last of `b`'s class is not before `b`, so these two are kept, are in the same order, and lie in the same
//!   epochs. The locks that are held, the transactions and functions that are open, and what is known of other threads change only
//!   between epochs: each ordered pair of locations is seen by every analysis in each transaction in which it was.
//! - *No branch between.* If no branch lies between `a` and `b`, there are two kept accesses like them, in the same order and epochs,
//!   with no branch between. In one epoch they are in one run. The first of `b`'s class has before it in its run an access like
//!   `a`, and both are kept. In two epochs `a` is in the last run of its epoch, which is kept because no other comes later in that
//!   epoch, and `b` is in the first run of its epoch, which is kept because no other comes earlier.
//!
//! **Excluded.** Accesses in code that the user does not want to hear about.
//!
//! The branches that a dropped access stood for are added to the thread's next access that is kept, so that the count between
//! two kept accesses stays true: where it was 0 it is 0, and nowhere else. Of larger counts between two locations the smallest may
//! be lost, if that was between accesses in the middle of a repetition.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::event::{Event, Kind, memory};

/// Slots of the table of repetitions: a few times the places that a chunk's loops touch, and small enough for the
/// processor's first cache.
const SLOTS: usize = 2048;

/// How many frames are looked at for the owner of a place on the stack. If it is further out, the access is kept.
const WALK: usize = 16;

/// Decides once per code location whether the user excludes it.
pub type Exclude = Box<dyn FnMut(u64) -> bool + Send>;

/// Accesses that were dropped, by rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Dropped {
    pub stack: u64,
    pub repetition: u64,
    pub excluded: u64,
}

impl Dropped {
    #[must_use]
    pub fn total(&self) -> u64 {
        self.stack + self.repetition + self.excluded
    }
}

impl std::ops::AddAssign for Dropped {
    fn add_assign(&mut self, other: Dropped) {
        self.stack += other.stack;
        self.repetition += other.repetition;
        self.excluded += other.excluded;
    }
}

/// What is known of a thread from one of its chunks to the next.
#[derive(Clone, Copy, Debug, Default)]
pub struct Thread {
    /// Its stack; no bytes until it is known.
    stack: u64,
    stack_size: u64,
    /// What the last event said about the next one.
    extent: Option<u64>,
    /// Branches of dropped accesses that wait for the next kept one.
    branches: u16,
}

/// Applies the rules to chunks of any threads.
pub struct Thinner {
    exclude: Option<Exclude>,
    judged: FxHashMap<u64, bool>,
    seen: Box<[Seen; SLOTS]>,
    epoch: u32,
    frames: Frames,
    /// Accesses to the stack whose owner is known, and the owner's entry.
    owned: Vec<(u32, u32)>,
    /// What each rule drops of the chunk.
    excluded: EventSet,
    private: EventSet,
    repeated: EventSet,
    /// What stays though it is neither the first nor the last of its class.
    models: EventSet,
}

/// A class of repetitions in an epoch. What is from another epoch counts as empty, and who finds somebody else in the way takes
/// the slot over: then some more is kept.
#[derive(Clone, Copy, Default)]
struct Seen {
    epoch: u32,
    /// Its first and its latest access, by their places in the chunk.
    first: u32,
    latest: u32,
    /// The first of the class of the access before it in the run, or `START`.
    before: u32,
}

/// Stands in front of the first access of a run.
const START: u32 = u32::MAX;

impl Thinner {
    #[must_use]
    #[expect(clippy::large_stack_arrays, reason = "32 KiB, once, on the stack of a thread of ours")]
    pub fn new(exclude: Option<Exclude>) -> Thinner {
        Thinner {
            exclude,
            judged: FxHashMap::default(),
            seen: Box::new([Seen::default(); SLOTS]),
            epoch: 0,
            frames: Frames::default(),
            owned: Vec::new(),
            excluded: EventSet::default(),
            private: EventSet::default(),
            repeated: EventSet::default(),
            models: EventSet::default(),
        }
    }

    /// Appends what is kept of a thread's next chunk to `out`.
    pub fn thin(&mut self, thread: &mut Thread, events: &[Event], out: &mut Vec<Event>) -> Dropped {
        self.judge(thread, events);
        self.keep(thread, events, out)
    }

    fn judge(&mut self, thread: &mut Thread, events: &[Event]) {
        for set in [&mut self.excluded, &mut self.private, &mut self.repeated, &mut self.models] {
            set.reset(events.len());
        }
        self.owned.clear();
        self.frames.reset();
        let mut at = 0;
        while let Some(event) = events.get(at) {
            if event.is_plain_access() {
                at = self.accesses(thread, events, at);
            } else {
                self.other(thread, event);
                at += 1;
            }
        }
        for &(at, owner) in &self.owned {
            if self.frames.is_private(owner) {
                self.private.insert(at);
            }
        }
    }

    #[inline(never)]
    fn other(&mut self, thread: &mut Thread, event: &Event) {
        match event.kind() {
            Some(Kind::Branches) => {}
            Some(Kind::Enter) => self.frames.enter(event, thread),
            Some(Kind::Leave) => self.frames.cut(event.depth()),
            _ => {
                self.frames.disturb();
                thread.see(event);
            }
        }
    }

    /// Judges the epoch that begins at `start`; returns where it ends.
    fn accesses(&mut self, thread: &Thread, events: &[Event], start: usize) -> usize {
        self.begin_epoch();
        let Thinner { exclude, judged, seen, epoch, frames, owned, excluded, repeated, models, .. } = self;
        let (mut before, mut address_before) = (START, 0);
        // What of the run up to now is no model yet.
        let mut unkept = start as u32;
        for (at, event) in events.iter().enumerate().skip(start) {
            if !event.is_plain_access() {
                return at;
            }
            let at = at as u32;
            if event.branches() != 0 {
                (before, address_before, unkept) = (START, 0, at);
            }
            if let Some(exclude) = exclude
                && *judged.entry(event.pc).or_insert_with(|| exclude(event.pc))
            {
                excluded.insert(at);
                continue;
            }
            if event.object.wrapping_sub(thread.stack) < thread.stack_size {
                let owner = frames.owner(event, thread);
                if owner != UNKNOWN {
                    owned.push((at, owner));
                }
            }
            let slot = &mut seen[slot_of(event, address_before)];
            if slot.epoch == *epoch && slot.before == before && is_like(&events[slot.latest as usize], event) {
                if slot.latest != slot.first {
                    repeated.insert(slot.latest);
                }
                slot.latest = at;
            } else {
                *slot = Seen { epoch: *epoch, first: at, latest: at, before };
                (unkept..at).for_each(|model| models.insert(model));
                unkept = at + 1;
            }
            (before, address_before) = (slot.first, event.object);
        }
        events.len()
    }

    #[inline(always)]
    fn begin_epoch(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.seen.fill(Seen::default());
            self.epoch = 1;
        }
    }

    fn keep(&self, thread: &mut Thread, events: &[Event], out: &mut Vec<Event>) -> Dropped {
        let mut dropped = Dropped::default();
        let mut branches = thread.branches;
        for (word, events) in events.chunks(EventSet::WORD).enumerate() {
            let [excluded, private, repeated, models] =
                [&self.excluded, &self.private, &self.repeated, &self.models].map(|set| set.words[word]);
            let repeated = repeated & !models;
            dropped.excluded += u64::from(excluded.count_ones());
            dropped.stack += u64::from(private.count_ones());
            dropped.repetition += u64::from((repeated & !private).count_ones());
            let gone = excluded | private | repeated;
            if gone == 0 && branches == 0 {
                out.extend_from_slice(events);
                continue;
            }
            for (at, event) in events.iter().enumerate() {
                if gone >> at & 1 == 1 {
                    branches = branches.saturating_add(event.branches());
                } else if branches == 0 {
                    out.push(*event);
                } else {
                    out.push(with_branches(event, &mut branches));
                }
            }
        }
        thread.branches = branches;
        dropped
    }
}

/// Some of a chunk's events, by their place in it.
#[derive(Default)]
struct EventSet {
    words: Vec<u64>,
}

impl EventSet {
    /// Events in a word.
    const WORD: usize = 64;

    fn reset(&mut self, events: usize) {
        self.words.clear();
        self.words.resize(events.div_ceil(Self::WORD), 0);
    }

    #[inline(always)]
    fn insert(&mut self, at: u32) {
        self.words[at as usize / Self::WORD] |= 1 << (at as usize % Self::WORD);
    }
}

/// What makes two accesses alike beside the address and the code location: all of the head but the branch count.
const LIKE: u64 = u64::MAX >> 16;

#[inline(always)]
fn is_like(one: &Event, other: &Event) -> bool {
    let ([head, ..], [other_head, ..]) = (one.words(), other.words());
    one.object == other.object && one.pc == other.pc && (head ^ other_head) & LIKE == 0
}

#[inline(always)]
fn slot_of(event: &Event, address_before: u64) -> usize {
    // By the address before it and not by the class: nothing has to wait for the slot of the access before.
    let mixed = event.object ^ event.pc.rotate_left(24) ^ address_before.rotate_left(40);
    let mixed = mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> (64 - SLOTS.trailing_zeros())) as usize
}

impl Thread {
    /// Learns where the thread's stack is.
    fn see(&mut self, event: &Event) {
        let extent = self.extent.take();
        match event.kind() {
            Some(Kind::Extent) => self.extent = Some(event.number()),
            Some(Kind::Allocate) if event.detail() == memory::STACK => {
                self.stack = event.object;
                // Stack pointers are told by their low 32 bits.
                self.stack_size = extent.filter(|&size| u32::try_from(size).is_ok()).unwrap_or(0);
            }
            _ => {}
        }
    }
}

/// The event with the branches that wait, if it counts branches.
fn with_branches(event: &Event, waiting: &mut u16) -> Event {
    let [head, object, pc] = event.words();
    match event.kind() {
        Some(Kind::Read | Kind::Write) => {
            let branches = event.branches().saturating_add(std::mem::take(waiting));
            Event::from_words([head & LIKE | u64::from(branches) << 48, object, pc])
        }
        Some(Kind::Branches) => {
            let branches = event.number() + u64::from(std::mem::take(waiting));
            Event::new(Kind::Branches, event.detail(), branches.min(Event::MAX_NUMBER), object, pc)
        }
        _ => *event,
    }
}

/// Stands for a function that is not known.
const UNKNOWN: u32 = 0;

/// The functions that were entered in a chunk.
#[derive(Default)]
struct Frames {
    /// In the order of entry. The first is the unknown one.
    entered: Vec<Entered>,
    /// Those that are open, outermost first, by their place in `entered`.
    open: Vec<u32>,
    /// How many had been entered when the thread last did more than access and call.
    disturbed: usize,
}

#[derive(Clone, Copy)]
struct Entered {
    depth: u32,
    /// How high in the stack it begins; 0: not known.
    top: u64,
    /// Left, and undisturbed until then.
    private: bool,
}

impl Frames {
    fn reset(&mut self) {
        self.entered.clear();
        self.entered.push(Entered { depth: 0, top: 0, private: false });
        self.open.clear();
        self.disturbed = 0;
    }

    fn enter(&mut self, event: &Event, thread: &Thread) {
        self.cut(event.depth());
        let height = u64::from((event.stack_pointer() as u32).wrapping_sub(thread.stack as u32));
        let caller = self.open.last().map_or(thread.stack_size, |&at| self.entered[at as usize].top);
        // Inner functions lie lower. What does not is on another stack, or cannot be told from its caller.
        let known = event.stack_pointer() != 0 && height < caller;
        self.open.push(self.entered.len() as u32);
        let top = if known { height } else { 0 };
        self.entered.push(Entered { depth: event.depth(), top, private: false });
    }

    fn cut(&mut self, depth: u32) {
        while let Some(&at) = self.open.last()
            && self.entered[at as usize].depth >= depth
        {
            self.entered[at as usize].private = at as usize >= self.disturbed;
            self.open.pop();
        }
    }

    fn disturb(&mut self) {
        self.disturbed = self.entered.len();
    }

    /// The owner of the place that an access touches, or of its highest byte: the functions that own the others are inside
    /// that one.
    fn owner(&self, event: &Event, thread: &Thread) -> u32 {
        let last_byte = event.object - thread.stack + event.size().saturating_sub(1);
        for &at in self.open.iter().rev().take(WALK) {
            match self.entered[at as usize].top {
                0 => break,
                top if last_byte < top => return at,
                _ => {}
            }
        }
        UNKNOWN
    }

    #[inline(always)]
    fn is_private(&self, owner: u32) -> bool {
        self.entered[owner as usize].private
    }
}
