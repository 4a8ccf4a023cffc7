//! Why a witness cannot be: its order contradicts what must come before what.
//!
//! Everything here follows from the witness, so no choice is made. If a step comes before another one and both lie in sections of one lock, the whole
//! section of the first comes before the whole section of the second. And if a write comes before a read that must see another write, it also
//! comes before that one.

use super::super::history::{At, NONE};
use super::super::search::needs;
use super::clocks::Past;
use super::index::Index;
use super::{Way, Witness};

/// How far it is followed that a write comes before an earlier one, and so on: at first, and for the few that are left.
const FEW: usize = 8;
const MANY: usize = 256;

/// A quick look.
pub fn is_contradiction(index: &Index<'_>, past: &Past, witness: Witness) -> bool {
    contradicts(index, past, witness, FEW)
}

/// A closer look.
pub fn is_deep_contradiction(index: &Index<'_>, past: &Past, witness: Witness) -> bool {
    contradicts(index, past, witness, MANY) || is_overwritten_on_the_way(index, past, witness)
}

/// Whether the writer's section writes what is read between the challenger and the read.
fn is_overwritten_on_the_way(index: &Index<'_>, past: &Past, witness: Witness) -> bool {
    let Witness { writer, read, challenger, way } = witness;
    if way != Way::Overwritten || writer == NONE {
        return false;
    }
    let history = index.history;
    let section = index.exclusions(writer, challenger).next().map(|(acquire, _)| (acquire, history.step(acquire).link));
    let writes = match section {
        Some((acquire, release)) if release != NONE => index.between(acquire, release),
        _ => &index.from(writer)[..1],
    };
    let rule = Rule { index, past, read };
    let mut reads = Vec::new();
    for &write in writes.iter().filter(|&&write| history.step(write).op.writes()) {
        let on_the_way =
            history.accesses(history.step(write).object).iter().copied().filter(|&at| {
                rule.is_kept(at) && past.contains(index, challenger, at) && past.contains(index, at, read)
            });
        reads.extend(on_the_way.map(|at| (at, at)));
    }
    rule.is_overwritten(writes, reads, MANY)
}

fn contradicts(index: &Index<'_>, past: &Past, witness: Witness, most: usize) -> bool {
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
                    || index.previous(other).is_some_and(|last| {
                        rule.is_overwritten(index.between(first, release), vec![(second, last)], most)
                    })
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

    /// Whether some writes cannot all come before some reads, which saw others. `reads` are pieces of threads, from a step to another one.
    ///
    /// A write that comes before a read comes before the write that was seen, too; and if these two lie in sections of one lock, before all that that
    /// section reads.
    fn is_overwritten(&self, writes: &[At], mut reads: Vec<(At, At)>, most: usize) -> bool {
        let Rule { index, past, .. } = *self;
        let history = index.history;
        let mut looked_at = 0;
        while looked_at < reads.len().min(most) {
            let (from, to) = reads[looked_at];
            looked_at += 1;
            let kept = index.from(from).iter().copied().take_while(|&at| at <= to).filter(|&at| self.is_kept(at));
            for read in kept {
                let step = history.step(read);
                let seen = step.link;
                for &write in writes {
                    let here = history.step(write);
                    if !here.op.writes() || here.object != step.object || write == seen {
                        continue;
                    }
                    // What comes before a write after the free read is not told by its past: that has the write which the read saw.
                    let is_after_read = index.lane(write) == index.lane(self.read) && write > self.read;
                    let known = if is_after_read { self.read } else { write };
                    if seen == NONE || past.contains(index, seen, known) {
                        return true;
                    }
                    let mut begin = seen;
                    for (_, acquire) in index.exclusions(write, seen) {
                        if past.contains(index, acquire, known) {
                            return true;
                        }
                        begin = begin.min(acquire);
                    }
                    if !reads.contains(&(begin, seen)) {
                        reads.push((begin, seen));
                    }
                }
            }
        }
        false
    }

    fn is_kept(&self, at: At) -> bool {
        let is_read = self.index.history.step(at).op.reads();
        is_read && at != self.read && !self.index.history.values.contains_key(&at)
    }
}
