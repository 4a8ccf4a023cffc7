//! Threads that take turns at random: one at a time, the one with the highest priority, which a few steps of the run, chosen at random before
//! it, put to the end of the line. A bug that needs `d` such changes is met with a known probability, however long the run is.

use std::collections::BTreeMap;

use crate::event::ThreadId;
use crate::random;

/// After so many steps in a row a thread is taken to wait for another one, and put to the end of the line: it would spin for ever.
const MOST_IN_A_ROW: u32 = 1000;

/// Priorities, and when they change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chance {
    seed: u64,
    /// Those who were put to the end of the line.
    demoted: BTreeMap<ThreadId, i64>,
    /// The priority of who is put to the end next.
    lowest: i64,
    /// Numbers of the steps that change priorities.
    changes: Vec<u64>,
    steps: u64,
    last: Option<ThreadId>,
    in_a_row: u32,
}

impl Chance {
    /// All of it follows from the seed. There are so many changes, none after `length` steps.
    #[must_use]
    pub fn new(seed: u64, changes: u32, length: u32) -> Chance {
        let length = u64::from(length.max(1));
        Chance {
            seed,
            demoted: BTreeMap::new(),
            lowest: -1,
            changes: (0..u64::from(changes)).map(|index| step(random::number(seed, index), length)).collect(),
            steps: 0,
            last: None,
            in_a_row: 0,
        }
    }

    /// Who of these goes on. Counted here and not when they arrive: threads that were just created arrive in any order.
    pub fn choose(&mut self, waiting: &[ThreadId]) -> Option<ThreadId> {
        let best = |chance: &Chance| waiting.iter().copied().max_by_key(|&thread| chance.priority(thread));
        let first = best(self)?;
        self.steps += 1;
        self.in_a_row = if self.last == Some(first) { self.in_a_row + 1 } else { 0 };
        if self.changes.contains(&self.steps) || self.in_a_row >= MOST_IN_A_ROW {
            self.demoted.insert(first, self.lowest);
            self.lowest -= 1;
            self.in_a_row = 0;
        }
        self.last = best(self);
        self.last
    }

    fn priority(&self, thread: ThreadId) -> i64 {
        // Not among the numbers that the changes are made of.
        let own = || (random::number(self.seed, u64::from(thread) | 1 << 32) >> 1) as i64;
        self.demoted.get(&thread).copied().unwrap_or_else(own)
    }
}

/// One of the steps up to `length`. How long the run will be is not known: each doubling of it has the same part of the changes, so
/// that a run of ten steps meets some too, and one of `n` steps about as many at each of its steps as if `n` were known, but for a logarithm.
fn step(random: u64, length: u64) -> u64 {
    let doubling = random % (u64::from(length.ilog2()) + 1);
    (1 << doubling | (random >> 32) & ((1 << doubling) - 1)).min(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_runs_and_long_ones_are_changed() {
        const SEEDS: usize = 1000;
        let steps: Vec<u64> = (1..=SEEDS as u64).flat_map(|seed| Chance::new(seed, 1, 1000).changes).collect();
        assert!(steps.iter().all(|step| (1..=1000).contains(step)));
        for part in [1_u64..32, 32..1001] {
            let met = steps.iter().filter(|step| part.contains(*step)).count();
            assert!(met > SEEDS / 3, "{met} of {SEEDS} changes are in {part:?}");
        }
    }

    #[test]
    fn one_step_is_enough_for_changes() {
        assert_eq!(Chance::new(7, 2, 0).changes, [1, 1]);
    }
}
