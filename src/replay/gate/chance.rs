//! Threads that take turns at random: one at a time, the one with the highest priority, which a few steps of the run, chosen at random before
//! it, put to the end of the line. A bug that needs `d` such changes is met with a known probability, however long the run is.

use std::collections::BTreeMap;

use crate::event::ThreadId;

/// After so many steps in a row a thread is taken to wait for another one, and put to the end of the line: it would spin for ever.
const MOST_IN_A_ROW: u32 = 1000;

/// Priorities, and when they change.
pub struct Chance {
    state: u64,
    priorities: BTreeMap<ThreadId, i64>,
    /// The priority of who is put to the end next.
    lowest: i64,
    /// Numbers of the steps that change priorities.
    changes: Vec<u64>,
    steps: u64,
    last: Option<ThreadId>,
    in_a_row: u32,
}

impl Chance {
    /// All of it follows from the seed. There are so many changes within the first `length` steps.
    #[must_use]
    pub fn new(seed: u64, changes: u32, length: u32) -> Chance {
        let mut chance = Chance {
            state: seed,
            priorities: BTreeMap::new(),
            lowest: -1,
            changes: Vec::new(),
            steps: 0,
            last: None,
            in_a_row: 0,
        };
        chance.changes = (0..changes).map(|_| chance.random() % u64::from(length.max(1)) + 1).collect();
        chance
    }

    /// `SplitMix64`: any seed will do.
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    pub fn arrived(&mut self, thread: ThreadId) {
        self.steps += 1;
        if !self.priorities.contains_key(&thread) {
            let priority = (self.random() >> 1) as i64;
            self.priorities.insert(thread, priority);
        }
        self.in_a_row = if self.last == Some(thread) { self.in_a_row + 1 } else { 0 };
        self.last = Some(thread);
        if self.changes.contains(&self.steps) || self.in_a_row >= MOST_IN_A_ROW {
            self.in_a_row = 0;
            self.priorities.insert(thread, self.lowest);
            self.lowest -= 1;
        }
    }

    /// Who of these goes on.
    pub fn best(&self, waiting: impl Iterator<Item = ThreadId>) -> Option<ThreadId> {
        waiting.max_by_key(|thread| self.priorities.get(thread).copied().unwrap_or(i64::MAX))
    }
}
