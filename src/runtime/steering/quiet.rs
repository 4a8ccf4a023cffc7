//! For how long something did not change.

use std::time::{Duration, Instant};

pub struct Quiet {
    seen: u64,
    since: Instant,
}

impl Quiet {
    pub fn new() -> Quiet {
        Quiet { seen: 0, since: Instant::now() }
    }

    /// So it is now. Nothing if it was different when somebody last asked.
    pub fn lasts(&mut self, now: u64) -> Duration {
        if now == self.seen {
            return self.since.elapsed();
        }
        (self.seen, self.since) = (now, Instant::now());
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_begins_anew() {
        let mut quiet = Quiet::new();
        std::thread::sleep(Duration::from_millis(1));
        assert!(quiet.lasts(0) > Duration::ZERO);
        assert_eq!(quiet.lasts(1), Duration::ZERO);
        std::thread::sleep(Duration::from_millis(1));
        assert!(quiet.lasts(1) > Duration::ZERO);
    }
}
