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

#[cfg(test)]
mod tests {
    use super::super::history::made::{access, event, of};
    use super::*;
    use crate::event::{Event, Kind, ThreadId};

    const X: u64 = 0x1000;

    fn write(thread: ThreadId) -> (ThreadId, Event) {
        (thread, access(Kind::Write, X))
    }

    /// The pairs of writes of different threads of which the first must come first, by the places of their events.
    fn ordered(events: &[(ThreadId, Event)]) -> Vec<(u64, u64)> {
        let history = of(events);
        let clocks = Clocks::new(&history);
        let writes: Vec<At> = (0..history.steps.len() as At).filter(|&at| history.step(at).op.writes()).collect();
        let pairs = writes.iter().flat_map(|&one| writes.iter().map(move |&other| (one, other)));
        let across = pairs.filter(|&(one, other)| history.thread(one) != history.thread(other));
        let before = across.filter(|&(one, other)| clocks.precedes(&history, one, other));
        before.map(|(one, other)| (history.pc(one), history.pc(other))).collect()
    }

    #[test]
    fn creation_and_join() {
        let events = [
            write(1),
            (1, event(Kind::Fork, 2)),
            (2, event(Kind::Start, 2)),
            write(1),
            write(2),
            (2, event(Kind::End, 2)),
            (1, event(Kind::Join, 2)),
            write(1),
        ];
        assert_eq!(ordered(&events), [(1, 5), (5, 8)]);
    }

    #[test]
    fn waits_reach_through_other_threads() {
        let events = [
            write(1),
            (1, event(Kind::Signal, 0x40)),
            write(1),
            (2, event(Kind::Await, 0x40)),
            (2, event(Kind::Signal, 0x80)),
            write(2),
            (3, event(Kind::Await, 0x80)),
            write(3),
        ];
        assert_eq!(ordered(&events), [(1, 6), (1, 8)]);
    }

    #[test]
    fn locks_order_nothing() {
        let section =
            |thread| [(thread, event(Kind::Acquire, 0x40)), write(thread), (thread, event(Kind::Release, 0x40))];
        assert_eq!(ordered(&[section(1), section(2)].concat()), []);
    }

    #[test]
    fn a_step_does_not_come_before_itself() {
        let history = of(&[write(1), write(1), write(2)]);
        let clocks = Clocks::new(&history);
        assert_eq!([(0, 0), (0, 1), (1, 0)].map(|(a, b)| clocks.precedes(&history, a, b)), [false, true, false]);
    }
}
