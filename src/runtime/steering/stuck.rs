//! Threads that wait in the kernel where the gate does not see it: barriers, latches and waits of C++20 are calls of the kernel, and no function of ours is
//! between. Who waits there for ever cannot go on by itself.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::runtime::tasks;

/// Somebody who waits for a moment only, for a lock of the C library for example, is gone when so much time has passed.
const MOMENT: Duration = Duration::from_millis(20);

#[derive(Default)]
pub struct Stuck {
    /// For how long a thread had run when it was first seen to wait so, and when that was.
    seen: BTreeMap<u32, (Duration, Instant)>,
}

impl Stuck {
    pub fn forget(&mut self) {
        self.seen.clear();
    }

    /// Whether this thread of this process was seen to wait for another one, and has not run since.
    pub fn is_stuck(&mut self, thread: u32) -> bool {
        if let Some(run) = tasks::time_run(thread).filter(|_| tasks::waits_for_ever(thread)) {
            return self.lasts(thread, run, Instant::now());
        }
        self.seen.remove(&thread);
        false
    }

    fn lasts(&mut self, thread: u32, run: Duration, now: Instant) -> bool {
        let (before, since) = self.seen.entry(thread).or_insert((run, now));
        if *before != run {
            (*before, *since) = (run, now);
        }
        now.duration_since(*since) >= MOMENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_runs_in_between_is_not_stuck() {
        let mut stuck = Stuck::default();
        let (begin, run) = (Instant::now(), Duration::from_millis(3));
        assert!(!stuck.lasts(1, run, begin));
        assert!(!stuck.lasts(1, run, begin + MOMENT / 2));
        assert!(stuck.lasts(1, run, begin + MOMENT));
        assert!(!stuck.lasts(1, run * 2, begin + MOMENT * 2));
        assert!(stuck.lasts(1, run * 2, begin + MOMENT * 3));
    }
}
