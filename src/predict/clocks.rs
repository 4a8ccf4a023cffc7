//! What must come before what, whatever the order: by the threads themselves, creation, join, and waits.

use super::history::{At, History, Lane};
use super::search::needs;

/// For each thread, what it knows of the others from some step on.
pub struct Clocks {
    lanes: Vec<Vec<Known>>,
}

struct Known {
    from: At,
    /// Of each thread, the steps before this one.
    until: Box<[At]>,
}

impl Clocks {
    /// Goes through the run once.
    #[must_use]
    pub fn new(history: &History) -> Clocks {
        let mut clocks = Clocks { lanes: history.lanes.iter().map(|_| Vec::new()).collect() };
        for at in 0..history.steps.len() as At {
            if !history.step(at).op.is_access() {
                clocks.take(history, at);
            }
        }
        clocks
    }

    fn take(&mut self, history: &History, at: At) {
        let lane = history.step(at).lane;
        let mut known: Option<Box<[At]>> = None;
        for before in needs(history, at) {
            let other = history.step(before).lane;
            if other == lane || self.knows(lane, at, other) > before {
                continue;
            }
            let known = known.get_or_insert_with(|| {
                let last = self.lanes[lane as usize].last();
                last.map_or_else(|| vec![0; self.lanes.len()].into(), |last| last.until.clone())
            });
            known[other as usize] = known[other as usize].max(before + 1);
            for (mine, theirs) in known.iter_mut().zip(self.at(other, before).into_iter().flat_map(|it| &it.until)) {
                *mine = (*mine).max(*theirs);
            }
        }
        if let Some(until) = known {
            self.lanes[lane as usize].push(Known { from: at, until });
        }
    }

    fn at(&self, lane: Lane, at: At) -> Option<&Known> {
        let known = &self.lanes[lane as usize];
        known[..known.partition_point(|known| known.from <= at)].last()
    }

    /// How far a thread knows another one at a step: of its steps, those before this one must have come before.
    #[must_use]
    pub fn knows(&self, lane: Lane, at: At, other: Lane) -> At {
        self.at(lane, at).map_or(0, |known| known.until[other as usize])
    }

    /// Whether one step must come before another.
    #[must_use]
    pub fn precedes(&self, history: &History, before: At, after: At) -> bool {
        let (one, other) = (history.step(before).lane, history.step(after).lane);
        if one == other { before < after } else { self.knows(other, after, one) > before }
    }
}
