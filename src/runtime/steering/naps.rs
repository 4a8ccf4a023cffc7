//! Threads that just sleep: they will come back, so they are waited for longer. One that sleeps again and again only looks at something in between, and who
//! waits for that would wait in vain.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::runtime::tasks;

/// A thread that was seen to sleep so many times looks at something in between.
const MOST_NAPS: u32 = 4;

/// What was seen of threads since the schedule last went on.
#[derive(Default)]
pub struct Naps {
    /// For how long a thread had run when it was last seen asleep, and which of its naps that was.
    seen: BTreeMap<u32, (Duration, u32)>,
}

impl Naps {
    pub fn forget(&mut self) {
        self.seen.clear();
    }

    /// Whether one of these threads of this process sleeps until some time, and does not do so again and again.
    pub fn is_somebody_napping(&mut self, threads: &[u32]) -> bool {
        let napping = threads.iter().filter(|&&thread| tasks::is_napping(thread));
        // All of them are looked at, or the naps of the second would count only once the first has woken up.
        napping.filter(|&&thread| tasks::time_run(thread).is_some_and(|run| self.is_one_of_few(thread, run))).count()
            > 0
    }

    /// A thread that has run meanwhile sleeps anew.
    fn is_one_of_few(&mut self, thread: u32, run: Duration) -> bool {
        let (before, naps) = self.seen.entry(thread).or_insert((run, 0));
        if run != *before {
            *before = run;
            *naps += 1;
        }
        *naps < MOST_NAPS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_sleeps_again_and_again_is_not_waited_for() {
        let mut naps = Naps::default();
        assert!((0..100).all(|_| naps.is_one_of_few(1, Duration::from_millis(3))), "it is always the same one");
        let few = (0..100).take_while(|&run| naps.is_one_of_few(2, Duration::from_millis(run))).count();
        assert_eq!(few, MOST_NAPS as usize);
        naps.forget();
        assert!(naps.is_one_of_few(2, Duration::from_millis(100)));
    }
}
