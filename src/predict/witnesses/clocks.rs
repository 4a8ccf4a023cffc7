//! What must happen before a step, and what cannot happen without it: one bound per thread, for every step.

use super::super::history::{At, NONE};
use super::super::search::needs;
use super::index::Index;

/// A row of bounds for each step.
struct Rows {
    lanes: usize,
    bounds: Vec<At>,
}

impl Rows {
    fn new(index: &Index<'_>, bound: At) -> Rows {
        Rows { lanes: index.lanes(), bounds: vec![bound; index.lanes() * index.history.steps.len()] }
    }

    fn row(&self, at: At) -> &[At] {
        &self.bounds[at as usize * self.lanes..][..self.lanes]
    }

    /// Changes the row of one step by that of another, bound by bound. Whether anything changed.
    fn join(&mut self, at: At, other: At, choose: impl Fn(At, At) -> At) -> bool {
        let mut changed = false;
        for lane in 0..self.lanes {
            let with = self.bounds[other as usize * self.lanes + lane];
            let bound = &mut self.bounds[at as usize * self.lanes + lane];
            let chosen = choose(*bound, with);
            changed |= chosen != *bound;
            *bound = chosen;
        }
        changed
    }
}

/// For each step what must happen before it, if every read before it in its thread sees what it saw: the steps of each lane below a bound.
///
/// That is: earlier steps of the thread, what they waited for, the writes that they saw; and where two sections of one lock are in question,
/// the whole section that has to come first.
pub struct Past(Rows);

impl Past {
    pub fn new(index: &Index<'_>) -> Past {
        let history = index.history;
        let mut past = Past(Rows::new(index, 0));
        for at in 0..history.steps.len() as At {
            if let Some(before) = index.previous(at) {
                past.0.join(at, before, At::max);
                past.add(index, at, before);
                past.add_all(index, at, index.must_see(before).into_iter());
            }
            let mut joined = past.add_all(index, at, needs(history, at));
            if history.step(at).op.compares() {
                joined |= past.add_all(index, at, index.must_see(at).into_iter());
            }
            let saw = index.previous(at).is_some_and(|before| index.must_see(before).is_some());
            if (joined || saw) && !index.held_before(at).is_empty() {
                while past.finish_sections(index, at) {}
            }
        }
        past
    }

    /// Whether the first step must happen before the second.
    pub fn contains(&self, index: &Index<'_>, before: At, at: At) -> bool {
        before < self.0.row(at)[index.lane(before)]
    }

    fn add(&mut self, index: &Index<'_>, at: At, before: At) {
        let bound = &mut self.0.bounds[at as usize * self.0.lanes + index.lane(before)];
        *bound = (*bound).max(before + 1);
    }

    fn add_all(&mut self, index: &Index<'_>, at: At, all: impl Iterator<Item = At>) -> bool {
        let mut any = false;
        for before in all.filter(|&before| before < at) {
            self.0.join(at, before, At::max);
            self.add(index, at, before);
            any = true;
        }
        any
    }

    /// Sections that have begun before a step in another section of the same lock are over before that one. Whether that says anything new.
    fn finish_sections(&mut self, index: &Index<'_>, at: At) -> bool {
        for lane in (0..index.lanes()).filter(|&lane| lane != index.lane(at)) {
            let bound = self.0.row(at)[lane];
            let steps = &index.history.lanes[lane];
            let Some(last) = steps.partition_point(|&step| step < bound).checked_sub(1) else { continue };
            for &open in index.held_after(steps[last]) {
                let release = index.history.step(open).link;
                let is_before = index.held_before(at).iter().any(|&mine| index.exclude(mine, open));
                // It is over before this one began, in the run too.
                if is_before && release < at {
                    self.0.join(at, release, At::max);
                    self.add(index, at, release);
                    return true;
                }
            }
        }
        false
    }
}

/// For each step what can still happen as in the run if its thread stops in front of it: the steps of each lane below a bound.
///
/// Whoever depends on what does not happen stops too, in front of its outermost section: so no lock stays taken. What is left keeps the
/// order of the run, and every read in it sees what it saw.
pub struct Rest(Rows);

impl Rest {
    pub fn new(index: &Index<'_>) -> Rest {
        let history = index.history;
        let mut dependents: Vec<(At, At)> = Vec::new();
        for (at, step) in (0..).zip(&history.steps) {
            let saw = if step.op.reads() { step.link } else { NONE };
            let refused = index.refusals.get(&at).into_iter().flatten().copied();
            let all = needs(history, at).chain(std::iter::once(saw)).chain(refused);
            let others = all.filter(|&before| before != NONE && index.lane(before) != step.lane as usize);
            dependents.extend(others.map(|before| (before, index.region[at as usize])));
        }
        // A lock that another thread gives back: nobody takes it earlier than in the run.
        for sections in &index.sections {
            for pair in sections.windows(2) {
                let is_foreign = |release: At| release != NONE && index.lane(release) != index.lane(pair[0].acquire);
                if is_foreign(pair[0].release) {
                    dependents.push((pair[0].release, index.region[pair[1].acquire as usize]));
                }
            }
        }
        dependents.sort_unstable();
        dependents.dedup();
        let mut rest = Rest(Rows::new(index, NONE));
        for at in 0..history.steps.len() as At {
            rest.0.bounds[at as usize * rest.0.lanes + index.lane(at)] = at;
        }
        while rest.spread(index, &dependents) {}
        rest
    }

    fn spread(&mut self, index: &Index<'_>, dependents: &[(At, At)]) -> bool {
        let mut changed = false;
        let mut left = dependents.len();
        for at in (0..index.history.steps.len() as At).rev() {
            if let Some(&next) = index.from(at).get(1) {
                changed |= self.0.join(at, next, At::min);
            }
            while left > 0 && dependents[left - 1].0 == at {
                left -= 1;
                changed |= self.0.join(at, dependents[left].1, At::min);
            }
        }
        changed
    }

    pub fn of(&self, at: At) -> &[At] {
        self.0.row(at)
    }
}
