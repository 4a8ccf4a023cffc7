//! Why a witness cannot be: its order contradicts what must come before what.
//!
//! Everything here follows from the witness, so no choice is made. If a step comes before another one and both lie in sections of one lock, the whole
//! section of the first comes before the whole section of the second. And if a write comes before a read that must see another write, it also
//! comes before that one.

use super::super::history::{At, NONE};
use super::super::search::needs;
use super::Witness;
use super::clocks::Past;
use super::index::Index;

/// How far it is followed that a write comes before an earlier one, and so on.
const LONGEST: usize = 256;

pub fn is_contradiction(index: &Index<'_>, past: &Past, witness: Witness) -> bool {
    let order = witness.order();
    let goals = || order.iter().copied().filter(|&goal| goal != NONE);
    let must_precede = |before: At, at: At| past.contains(index, before, at);
    // What must not have happened before a step of the witness: the later ones, and what does not happen at all.
    let later = |number: usize| goals().skip(number + 1).chain(witness.without());
    goals().enumerate().any(|(number, goal)| later(number).any(|later| must_precede(later, goal)))
        || goals().zip(goals().skip(1)).enumerate().any(|(number, (one, other))| {
            index.exclusions(one, other).any(|(first, second)| {
                let release = index.history.step(first).link;
                let rule = Rule { index, past, read: witness.read };
                release == NONE
                    || rule.ends_after(one, release, second)
                    || later(number).any(|later| rule.ends_after(one, release, later))
                    || rule.is_overwritten(first, release, second, other)
            })
        })
}

struct Rule<'a, 'b> {
    index: &'b Index<'a>,
    past: &'b Past,
    read: At,
}

impl Rule<'_, '_> {
    /// Whether a section in which a step of the witness lies cannot be over before another step. After the read its thread goes on whatever that has seen.
    fn ends_after(&self, step: At, release: At, other: At) -> bool {
        let Rule { index, past, read } = *self;
        if step != read {
            return past.contains(index, other, release);
        }
        let is_before = |before: At| before == other || past.contains(index, other, before);
        let after = index.from(read).iter().skip(1).take_while(|&&at| at <= release);
        let mut after = after.map(|&at| (at, index.history.step(at)));
        past.contains(index, other, read)
            || index.lane(release) != index.lane(read)
            || after.any(|(at, here)| {
                here.branches > 0
                    || needs(index.history, at).filter(|&before| index.lane(before) != index.lane(read)).any(is_before)
                    || at < release && index.must_see(at).is_some_and(is_before)
            })
    }

    /// Whether a section that comes first writes what a read in the second one must not see.
    fn is_overwritten(&self, first: At, release: At, second: At, until: At) -> bool {
        let history = self.index.history;
        let mut reads = self.index.between(second, until).iter().copied().filter(|&at| self.is_kept(at));
        reads.any(|read| {
            let mut writes = self.index.between(first, release).iter().copied().filter(|&at| {
                let step = history.step(at);
                step.op.writes() && step.object == history.step(read).object
            });
            writes.any(|write| self.is_too_late(write, read))
        })
    }

    fn is_kept(&self, at: At) -> bool {
        let is_read = self.index.history.step(at).op.reads();
        is_read && at != self.read && !self.index.history.values.contains_key(&at)
    }

    /// Whether a write cannot come before a read that saw another one.
    fn is_too_late(&self, write: At, mut read: At) -> bool {
        let Rule { index, past, .. } = *self;
        let history = index.history;
        // What comes before a write after the free read is not told by its past: that has the write which the read saw.
        let is_after_read = index.lane(write) == index.lane(self.read) && write > self.read;
        let known = if is_after_read { self.read } else { write };
        for _ in 0..LONGEST {
            let seen = history.step(read).link;
            if seen == NONE || past.contains(index, seen, known) {
                return true;
            }
            if seen == write {
                return false;
            }
            // It comes before what was seen, and before all of the section in which that was written.
            if self.is_kept(seen) {
                read = seen;
                continue;
            }
            let earlier = index.exclusions(write, seen).find_map(|(_, acquire)| {
                let object = history.step(read).object;
                let reads = index.between(acquire, seen).iter().copied();
                reads.into_iter().find(|&at| self.is_kept(at) && history.step(at).object == object)
            });
            let Some(earlier) = earlier else { return false };
            read = earlier;
        }
        false
    }
}
