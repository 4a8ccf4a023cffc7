//! Which events of a thread can be told: none before it was created, none after it was joined.
//!
//! A whole trace has no others. After a loss the merged order is partly a guess, and such events are left out.

use rustc_hash::FxHashMap;

use crate::event::{Event, Kind, ThreadId};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    Known,
    Joined,
}

/// The threads that were heard of.
#[derive(Default)]
pub struct Liveness {
    threads: FxHashMap<ThreadId, Life>,
}

impl Liveness {
    /// Takes the next event and tells whether it can be told.
    pub fn allows(&mut self, thread: ThreadId, event: &Event) -> bool {
        if *self.threads.entry(thread).or_insert(Life::Known) == Life::Joined {
            return false;
        }
        let other = event.object as ThreadId;
        match event.kind() {
            Some(Kind::Fork) => self.threads.insert(other, Life::Known).is_none_or(|life| {
                self.threads.insert(other, life);
                false
            }),
            Some(Kind::Join) => {
                let is_alive = other != thread && self.threads.get(&other) == Some(&Life::Known);
                if is_alive {
                    self.threads.insert(other, Life::Joined);
                }
                is_alive
            }
            Some(_) => true,
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_lives_from_its_fork_to_its_join() {
        let mut liveness = Liveness::default();
        let mut step = |thread, kind, object| liveness.allows(thread, &Event::new(kind, 0, 0, object, 0));
        assert!(step(0, Kind::Fork, 1));
        assert!(!step(0, Kind::Fork, 1), "it was created already");
        assert!(step(1, Kind::Write, 8) && step(1, Kind::End, 1));
        assert!(!step(0, Kind::Join, 2), "nobody knows it");
        assert!(!step(1, Kind::Join, 1), "it cannot wait for itself");
        assert!(step(0, Kind::Join, 1));
        assert!(!step(1, Kind::Write, 8) && !step(0, Kind::Join, 1) && !step(0, Kind::Fork, 1));
        assert!(step(2, Kind::Write, 8), "the first events of this one were lost");
        assert!(!step(0, Kind::Fork, 2));
    }
}
