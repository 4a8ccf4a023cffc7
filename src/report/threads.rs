//! The threads of a process, as its own events tell of them.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::event::{Event, Kind, ThreadId};

/// What is known of a thread. Unknown addresses are 0, an unknown name is empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadInfo {
    pub name: String,
    pub parent: Option<ThreadId>,
    /// Return address of the call that created it.
    pub created_at: u64,
    /// Address of its start routine.
    pub start_routine: u64,
}

/// Ended threads are remembered for reports, but not all of them for ever.
const MOST_ENDED: usize = 1 << 14;

/// Every thread that was heard of.
#[derive(Default, Debug)]
pub struct Threads {
    known: FxHashMap<ThreadId, ThreadInfo>,
    ended: VecDeque<ThreadId>,
    /// One more than the largest id.
    count: u64,
}

impl Threads {
    /// Takes the next event of the merged order.
    pub fn step(&mut self, thread: ThreadId, event: &Event) {
        match event.kind() {
            Some(Kind::Fork) => {
                let child = self.heard_of(event.object as ThreadId);
                child.parent = Some(thread);
                child.created_at = event.pc;
            }
            Some(Kind::Start) => self.heard_of(thread).start_routine = event.pc,
            Some(Kind::Name) => self.heard_of(event.number() as ThreadId).name = event.text(),
            Some(Kind::End) => self.end(thread),
            _ => {}
        }
    }

    /// What is known of a thread.
    #[must_use]
    pub fn get(&self, id: ThreadId) -> ThreadInfo {
        self.known.get(&id).cloned().unwrap_or_default()
    }

    /// How many threads there have been.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    fn heard_of(&mut self, id: ThreadId) -> &mut ThreadInfo {
        self.count = self.count.max(u64::from(id) + 1);
        self.known.entry(id).or_default()
    }

    fn end(&mut self, id: ThreadId) {
        self.ended.push_back(id);
        if self.ended.len() > MOST_ENDED
            && let Some(oldest) = self.ended.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_what_its_events_say() {
        let mut threads = Threads::default();
        threads.step(0, &Event::new(Kind::Fork, 0, 0, 3, 0x10));
        threads.step(3, &Event::new(Kind::Start, 0, 1, 3, 0x20));
        threads.step(0, &Event::name(3, b"worker"));
        let expected = ThreadInfo { name: "worker".into(), parent: Some(0), created_at: 0x10, start_routine: 0x20 };
        assert_eq!(threads.get(3), expected);
        assert_eq!((threads.get(9), threads.count()), (ThreadInfo::default(), 4));
    }

    #[test]
    fn the_oldest_of_very_many_ended_threads_are_forgotten() {
        let mut threads = Threads::default();
        for id in 1..=MOST_ENDED as ThreadId + 1 {
            threads.step(0, &Event::new(Kind::Fork, 0, 0, u64::from(id), 0x10));
            threads.step(id, &Event::new(Kind::End, 0, 0, u64::from(id), 0));
        }
        assert_eq!((threads.get(1).parent, threads.get(2).parent), (None, Some(0)));
    }
}
