//! Vector clocks over *slots*, and the two places where clocks meet: a thread's own and a published one.
//!
//! A slot is a reusable seat in the clocks; a thread sits in one while it lives. Its *time* is its own component.
//! A thread ticks after every publication of its clock, so each time of a slot is published at most once. Hence:
//!
//! - To know time `e` of a slot is to know all that was published with it: whoever has component `>= e` got it from
//!   the publication made at `e` or from a later, larger one.
//! - "event at time `e` of slot `s` is not before clock `C`" is the one comparison `e > C[s]`.

/// A seat in the clocks.
pub type Slot = u32;

/// One moment of one slot. `time` 0 is before everything, and so known to all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Epoch {
    pub slot: Slot,
    pub time: u64,
}

/// A dense vector clock. Components beyond the end are 0.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Clock(Vec<u64>);

impl Clock {
    /// The component of `slot`.
    #[inline]
    #[must_use]
    pub fn get(&self, slot: Slot) -> u64 {
        self.0.get(slot as usize).copied().unwrap_or(0)
    }

    /// Sets the component of `slot`.
    #[inline]
    pub fn set(&mut self, slot: Slot, time: u64) {
        if self.0.len() <= slot as usize {
            self.0.resize(slot as usize + 1, 0);
        }
        self.0[slot as usize] = time;
    }

    /// Whether the moment is before or at this clock.
    #[inline]
    #[must_use]
    pub fn knows(&self, moment: Epoch) -> bool {
        moment.time <= self.get(moment.slot)
    }

    /// Joins with `other`. Tells whether this clock grew, and whether it was below `other` before.
    pub fn join(&mut self, other: &Clock) -> Joined {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut joined = Joined { grew: false, was_below: self.0[other.0.len()..].iter().all(|&time| time == 0) };
        for (mine, &theirs) in self.0.iter_mut().zip(&other.0) {
            joined.grew |= *mine < theirs;
            joined.was_below &= *mine <= theirs;
            *mine = theirs.max(*mine);
        }
        joined
    }

    /// Becomes a copy of `other`, in place.
    pub fn copy_from(&mut self, other: &Clock) {
        self.0.clone_from(&other.0);
    }

    /// The components, for display and tests.
    #[must_use]
    pub fn components(&self) -> &[u64] {
        &self.0
    }
}

/// What a join did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Joined {
    pub grew: bool,
    pub was_below: bool,
}

/// The clock of the thread in one slot.
#[derive(Clone, Debug)]
pub struct ThreadClock {
    slot: Slot,
    clock: Clock,
    /// Changes whenever a component other than the thread's own does.
    foreign: u64,
}

impl ThreadClock {
    /// A clock that knows nothing but its own first time.
    #[must_use]
    pub fn new(slot: Slot) -> ThreadClock {
        let mut clock = Clock::default();
        clock.set(slot, 1);
        ThreadClock { slot, clock, foreign: 1 }
    }

    /// The present moment of this thread.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Epoch {
        Epoch { slot: self.slot, time: self.clock.0[self.slot as usize] }
    }

    /// All components.
    #[inline]
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// To be called after every publication of this clock.
    #[inline]
    pub fn tick(&mut self) {
        self.clock.0[self.slot as usize] += 1;
    }

    /// Whether the moment is before the present of this thread.
    #[inline]
    #[must_use]
    pub fn knows(&self, moment: Epoch) -> bool {
        self.clock.knows(moment)
    }

    /// Goes on after everything that `other` knows.
    pub fn join(&mut self, other: &Clock) {
        self.foreign += u64::from(self.clock.join(other).grew);
    }

    /// Goes on after everything that was published there.
    #[inline]
    pub fn receive(&mut self, published: &Published) {
        if !(published.exact && self.knows(published.by)) {
            self.join(&published.clock);
        }
    }
}

/// What threads have published at one place: the last release of a lock, the signals of a condition.
#[derive(Clone, Debug)]
pub struct Published {
    clock: Clock,
    /// The last publication, and the publisher's count of foreign changes at that moment.
    by: Epoch,
    foreign: u64,
    /// Whether `clock` is exactly what `by` published: then who knows `by` knows all of it, and the same thread
    /// with unchanged foreign components publishes again by moving its own component.
    exact: bool,
}

impl Default for Published {
    fn default() -> Published {
        Published { clock: Clock::default(), by: Epoch::default(), foreign: 0, exact: true }
    }
}

impl Published {
    /// Adds the thread's clock. The caller ticks the thread.
    #[inline]
    pub fn publish(&mut self, from: &ThreadClock) {
        let now = from.now();
        if self.exact && self.by.slot == now.slot && self.foreign == from.foreign {
            self.clock.0[now.slot as usize] = now.time;
            self.by.time = now.time;
            return;
        }
        if self.exact && from.knows(self.by) {
            self.clock.copy_from(&from.clock);
        } else {
            self.exact = self.clock.join(&from.clock).was_below;
        }
        self.by = now;
        self.foreign = from.foreign;
    }

    /// The last publication.
    #[inline]
    #[must_use]
    pub fn by(&self) -> Epoch {
        self.by
    }

    /// Whether the moment is before what was published.
    #[inline]
    #[must_use]
    pub fn knows(&self, moment: Epoch) -> bool {
        self.clock.knows(moment)
    }

    /// All that was published.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_join_tells_what_it_did() {
        let mut clock = Clock(vec![1, 5]);
        assert_eq!(clock.join(&Clock(vec![3])), Joined { grew: true, was_below: false });
        assert_eq!(clock, Clock(vec![3, 5]));
        assert_eq!(clock.join(&Clock(vec![3, 5, 0])), Joined { grew: false, was_below: true });
        assert_eq!(clock.join(&Clock(vec![3, 5, 1])), Joined { grew: true, was_below: true });
    }

    proptest! {
        /// The short cuts of `Published` against plain joins, on random publications and receptions.
        #[test]
        fn short_cuts_equal_plain_joins(steps in proptest::collection::vec((0..4_u32, 0..3_usize, any::<bool>()), 1..200)) {
            let mut threads: Vec<ThreadClock> = (0..4).map(ThreadClock::new).collect();
            let mut places = vec![Published::default(); 3];
            let mut plain_threads: Vec<Clock> = threads.iter().map(|t| t.clock.clone()).collect();
            let mut plain_places = vec![Clock::default(); 3];
            for (t, p, publish) in steps {
                let i = t as usize;
                if publish {
                    places[p].publish(&threads[i]);
                    threads[i].tick();
                    plain_places[p].join(&plain_threads[i]);
                    let time = plain_threads[i].get(t);
                    plain_threads[i].set(t, time + 1);
                } else {
                    threads[i].receive(&places[p]);
                    plain_threads[i].join(&plain_places[p]);
                }
                for slot in 0..4 {
                    prop_assert_eq!(threads[i].clock.get(slot), plain_threads[i].get(slot));
                    prop_assert_eq!(places[p].clock.get(slot), plain_places[p].get(slot));
                }
            }
        }
    }
}
