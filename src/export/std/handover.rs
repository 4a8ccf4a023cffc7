//! Order that is not made of locks: who goes on because of what another thread did.
//!
//! Conditions, barriers, semaphores, pipes: a `Signal` comes before every later `Await` of the same object. Atomics: a store that
//! releases comes before every load that acquires and sees it, or sees an update that followed it; another store ends that.
//! Only what is new to the waiting thread is told, so a loop that polls adds nothing.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::event::{Event, Kind, ThreadId, atomic};

/// A point in the trace that others can be ordered after, by its number.
pub type Point = u64;

/// What waits at an object for whoever comes.
#[derive(Default)]
struct Object {
    /// The points that an await is ordered after, oldest first, with their threads.
    points: Vec<(Point, ThreadId)>,
    /// Points below this number are known to the thread.
    seen: FxHashMap<ThreadId, Point>,
}

impl Object {
    /// Points that `thread` does not know.
    fn news(&self, thread: ThreadId) -> impl Iterator<Item = Point> {
        let seen = self.seen.get(&thread).copied().unwrap_or(0);
        self.points.iter().filter(move |(point, by)| *by != thread && *point >= seen).map(|(point, _)| *point)
    }
}

/// The hand-overs of a trace, followed in merged order.
#[derive(Default)]
pub struct HandOvers {
    /// By address, since an allocation ends what was there.
    objects: BTreeMap<u64, Object>,
    /// What a thread saw by relaxed loads: a fence orders it after that.
    relaxed: FxHashMap<ThreadId, Vec<Point>>,
    points: Point,
}

/// What one event adds to the order.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Step {
    /// The event comes after these points.
    pub after: Vec<Point>,
    /// The event is this point.
    pub point: Option<Point>,
}

impl HandOvers {
    /// Takes the next event.
    pub fn step(&mut self, thread: ThreadId, event: &Event) -> Step {
        let detail = event.detail();
        let mut step = Step::default();
        match event.kind() {
            Some(Kind::Signal) => step.point = Some(self.signal(thread, event.object)),
            Some(Kind::Await) => step.after = self.wait(thread, event.object),
            Some(Kind::AtomicLoad) => step.after = self.load(thread, event.object, detail),
            Some(Kind::AtomicStore) => {
                // Who sees this store does not see what was there before.
                if let Some(object) = self.objects.get_mut(&event.object) {
                    object.points.clear();
                }
                step.point = atomic::releases(detail).then(|| self.signal(thread, event.object));
            }
            Some(Kind::AtomicUpdate) => {
                step.after = self.load(thread, event.object, detail);
                step.point = atomic::releases(detail).then(|| self.signal(thread, event.object));
            }
            Some(Kind::Fence) if atomic::acquires(detail) => {
                step.after = self.relaxed.remove(&thread).unwrap_or_default();
            }
            _ => {}
        }
        step
    }

    /// Forgets what is at these addresses: other objects live there from now on.
    pub fn end(&mut self, addresses: Range<u64>) {
        if !addresses.is_empty() {
            let ended: Vec<u64> = self.objects.range(addresses).map(|(&address, _)| address).collect();
            for address in ended {
                self.objects.remove(&address);
            }
        }
    }

    fn signal(&mut self, thread: ThreadId, address: u64) -> Point {
        let object = self.objects.entry(address).or_default();
        // What the thread did before, and what it knows, comes before this point anyway.
        let seen = object.seen.get(&thread).copied().unwrap_or(0);
        object.points.retain(|(point, by)| *by != thread && *point >= seen);
        object.points.push((self.points, thread));
        self.points += 1;
        self.points - 1
    }

    fn wait(&mut self, thread: ThreadId, address: u64) -> Vec<Point> {
        let Some(object) = self.objects.get_mut(&address) else { return Vec::new() };
        let news = object.news(thread).collect();
        object.seen.insert(thread, self.points);
        news
    }

    fn load(&mut self, thread: ThreadId, address: u64, detail: u8) -> Vec<Point> {
        if atomic::acquires(detail) {
            return self.wait(thread, address);
        }
        if let Some(object) = self.objects.get(&address) {
            let relaxed = self.relaxed.entry(thread).or_default();
            let news: Vec<Point> = object.news(thread).filter(|point| !relaxed.contains(point)).collect();
            relaxed.extend(news);
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELAXED: u8 = 0;
    const ACQUIRE: u8 = 2;
    const RELEASE: u8 = 3;
    const BOTH: u8 = 4;

    struct Story(HandOvers);

    impl Story {
        fn tell(&mut self, thread: ThreadId, kind: Kind, detail: u8) -> (Vec<Point>, Option<Point>) {
            let Step { after, point } = self.0.step(thread, &Event::new(kind, detail, 0, 0x100, 0));
            (after, point)
        }

        fn after(&mut self, thread: ThreadId, kind: Kind, detail: u8) -> Vec<Point> {
            self.tell(thread, kind, detail).0
        }
    }

    fn story() -> Story {
        Story(HandOvers::default())
    }

    #[test]
    fn an_await_comes_after_every_signal_but_is_told_once() {
        let mut story = story();
        assert_eq!(story.tell(1, Kind::Signal, 0), (vec![], Some(0)));
        assert_eq!(story.tell(2, Kind::Signal, 0), (vec![], Some(1)));
        assert_eq!(story.after(3, Kind::Await, 0), [0, 1]);
        assert_eq!(story.after(3, Kind::Await, 0), [0; 0]);
        assert_eq!(story.after(1, Kind::Await, 0), [1], "its own signal is nothing new");
        assert_eq!(story.tell(1, Kind::Signal, 0).1, Some(2));
        assert_eq!(story.after(4, Kind::Await, 0), [2], "the last signal comes after the others");
    }

    #[test]
    fn a_barrier_needs_each_pair_once_per_round() {
        let mut story = story();
        for round in 0..3 {
            (0..4).for_each(|thread| drop(story.tell(thread, Kind::Signal, 0)));
            for thread in 0..4 {
                assert_eq!(story.after(thread, Kind::Await, 0).len(), 3, "round {round}");
            }
        }
    }

    #[test]
    fn a_load_comes_after_the_store_that_it_sees() {
        let mut story = story();
        story.tell(1, Kind::AtomicStore, RELEASE);
        story.tell(2, Kind::AtomicStore, RELEASE);
        assert_eq!(story.after(3, Kind::AtomicLoad, ACQUIRE), [1]);
        story.tell(2, Kind::AtomicStore, RELAXED);
        assert_eq!(story.after(4, Kind::AtomicLoad, ACQUIRE), [0; 0], "a relaxed store hands nothing over");
    }

    #[test]
    fn updates_keep_what_was_released_before_them() {
        let mut story = story();
        story.tell(1, Kind::AtomicStore, RELEASE);
        assert_eq!(story.tell(2, Kind::AtomicUpdate, RELAXED), (vec![], None));
        assert_eq!(story.tell(3, Kind::AtomicUpdate, BOTH), (vec![0], Some(1)));
        assert_eq!(story.after(4, Kind::AtomicLoad, ACQUIRE), [1], "the update comes after the store");
    }

    #[test]
    fn a_fence_makes_up_for_relaxed_loads() {
        let mut story = story();
        story.tell(1, Kind::AtomicStore, RELAXED | atomic::FENCED);
        assert_eq!(story.after(2, Kind::AtomicLoad, RELAXED), [0; 0]);
        assert_eq!(story.after(2, Kind::Fence, RELEASE), [0; 0]);
        assert_eq!(story.after(2, Kind::Fence, ACQUIRE), [0]);
        assert_eq!(story.after(2, Kind::Fence, ACQUIRE), [0; 0]);
    }

    #[test]
    fn an_allocation_ends_what_was_there() {
        let mut story = story();
        story.tell(1, Kind::Signal, 0);
        story.0.end(0x100..0x108);
        assert_eq!(story.after(2, Kind::Await, 0), [0; 0]);
    }
}
