//! What the rules ask about a history all the time.

use rustc_hash::FxHashMap;

use super::super::history::{At, History, NONE, Op};

/// A section of a lock.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    pub acquire: At,
    /// None if the lock was never given back.
    pub release: At,
    /// The latest release of this section and those before it.
    pub latest: At,
}

pub struct Index<'a> {
    pub history: &'a History,
    /// The place of a step in its lane.
    pub place: Vec<u32>,
    /// The beginning of the outermost section in which a step lies; the step itself if it lies in none.
    pub region: Vec<At>,
    /// The next write of the variable, of an access.
    pub next_write: Vec<At>,
    /// The acquires whose locks are held before a step and after it, as numbers of `sets`.
    before: Vec<u32>,
    after: Vec<u32>,
    sets: Vec<Box<[At]>>,
    /// By lock, in the order of the acquires.
    pub sections: Vec<Vec<Section>>,
    /// The holds of a lock that a thread was refused.
    pub refusals: FxHashMap<At, Vec<At>>,
    /// By variable: where its memory is freed.
    pub freed: Vec<At>,
    /// By lane: the first step that no other order may contain, because nothing is known of what leads to it.
    pub unknown: Vec<At>,
}

impl<'a> Index<'a> {
    pub fn new(history: &'a History) -> Index<'a> {
        let steps = history.steps.len();
        let mut index = Index {
            history,
            place: vec![0; steps],
            region: vec![0; steps],
            next_write: vec![NONE; steps],
            before: vec![0; steps],
            after: vec![0; steps],
            sets: vec![Box::default()],
            sections: vec![Vec::new(); history.locks.len()],
            refusals: FxHashMap::default(),
            freed: vec![NONE; history.variables.len()],
            unknown: vec![NONE; history.lanes.len()],
        };
        index.follow_locks();
        index.follow_accesses();
        index
    }

    fn follow_locks(&mut self) {
        let history = self.history;
        let mut held: Vec<Vec<At>> = vec![Vec::new(); history.lanes.len()];
        let mut set = vec![0; history.lanes.len()];
        let mut region = vec![NONE; history.lanes.len()];
        let mut length = vec![0; history.lanes.len()];
        let mut refused = Vec::new();
        for (at, step) in history.steps.iter().enumerate() {
            let lane = step.lane as usize;
            (self.place[at], length[lane]) = (length[lane], length[lane] + 1);
            self.before[at] = set[lane];
            if held[lane].is_empty() {
                region[lane] = at as At;
            }
            self.region[at] = region[lane];
            let changed = match step.op {
                Op::Acquire | Op::AcquireShared => {
                    held[lane].push(at as At);
                    self.open_section(at as At);
                    Some(lane)
                }
                Op::Release if step.link != NONE => {
                    // A lock may be given back by another thread than the one that took it.
                    let holder = history.step(step.link).lane as usize;
                    held[holder].retain(|&acquire| acquire != step.link);
                    Some(holder)
                }
                Op::Refused => {
                    let holds = held.iter().flatten().copied();
                    let of_lock = holds.filter(|&acquire| history.step(acquire).object == step.object).collect();
                    refused.push(at as At);
                    self.refusals.insert(at as At, of_lock);
                    None
                }
                _ => None,
            };
            if let Some(lane) = changed {
                set[lane] = if held[lane].is_empty() { 0 } else { self.sets.len() as u32 };
                if set[lane] > 0 {
                    self.sets.push(held[lane].clone().into());
                }
            }
            self.after[at] = set[lane];
        }
        // Nobody knows who had it: a semaphore, for instance.
        for at in refused {
            if self.refusals[&at].is_empty() {
                self.not_known(at);
            }
        }
    }

    fn open_section(&mut self, acquire: At) {
        let step = self.history.step(acquire);
        let sections = &mut self.sections[step.object as usize];
        let latest = sections.last().map_or(0, |section| section.latest).max(step.link);
        sections.push(Section { acquire, release: step.link, latest });
    }

    fn follow_accesses(&mut self) {
        let history = self.history;
        for variable in 0..history.variables.len() {
            let mut next = NONE;
            for &at in history.accesses(variable as u32).iter().rev() {
                self.next_write[at as usize] = next;
                let step = history.step(at);
                if step.op.writes() {
                    next = at;
                }
                if step.op == Op::Free {
                    self.freed[variable] = at;
                }
                if step.link != NONE && history.step(step.link).op == Op::Free {
                    self.not_known(at);
                }
            }
        }
        for (at, _) in history.steps.iter().enumerate().filter(|(_, step)| step.op == Op::Gap) {
            self.not_known(at as At);
        }
    }

    fn not_known(&mut self, at: At) {
        let first = &mut self.unknown[self.history.step(at).lane as usize];
        *first = (*first).min(self.region[at as usize]);
    }

    pub fn lane(&self, at: At) -> usize {
        self.history.step(at).lane as usize
    }

    /// The acquires of the locks that are held when a step is taken.
    pub fn held_before(&self, at: At) -> &[At] {
        &self.sets[self.before[at as usize] as usize]
    }

    pub fn held_after(&self, at: At) -> &[At] {
        &self.sets[self.after[at as usize] as usize]
    }

    /// The steps of a lane, from one of them on.
    pub fn from(&self, at: At) -> &'a [At] {
        &self.history.lanes[self.lane(at)][self.place[at as usize] as usize..]
    }

    /// The steps of a lane between two of its steps: the first one is meant too, the second one not.
    pub fn between(&self, from: At, to: At) -> &'a [At] {
        let (begin, end) = (self.place[from as usize] as usize, self.place[to as usize] as usize);
        &self.history.lanes[self.lane(from)][begin.min(end)..end]
    }

    pub fn previous(&self, at: At) -> Option<At> {
        let place = self.place[at as usize] as usize;
        place.checked_sub(1).map(|before| self.history.lanes[self.lane(at)][before])
    }

    /// The write that a read must see in every order: its link, unless the recording tells values, and others may do.
    pub fn must_see(&self, read: At) -> Option<At> {
        let step = self.history.step(read);
        let is_exact = step.op.reads() && step.link != NONE && !self.history.values.contains_key(&read);
        is_exact.then_some(step.link)
    }

    /// Pairs of acquires whose sections exclude each other: one lies around a step, the other one around another thread's step.
    pub fn exclusions(&self, one: At, other: At) -> impl Iterator<Item = (At, At)> {
        let are_others = self.lane(one) != self.lane(other);
        let mine = self.held_before(one).iter().copied().filter(move |_| are_others);
        mine.flat_map(move |mine| {
            let yours = self.held_before(other).iter().copied();
            yours.filter(move |&yours| self.exclude(mine, yours)).map(move |yours| (mine, yours))
        })
    }

    /// Whether two acquires are of one lock and not both for reading.
    pub fn exclude(&self, one: At, other: At) -> bool {
        let (one, other) = (self.history.step(one), self.history.step(other));
        one.object == other.object && !(one.op == Op::AcquireShared && other.op == Op::AcquireShared)
    }

    pub fn lanes(&self) -> usize {
        self.history.lanes.len()
    }
}
