//! Which locks a step's thread holds, and which it took since it took those: locksets and acquisition histories.

use rustc_hash::FxHashMap;

/// A lock of the run: one life at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LockInfo {
    pub address: u64,
    /// How many locks lived at that address before.
    pub generation: u32,
    /// Where it was initialised; 0 if that was not seen.
    pub initialised: u64,
}

/// A lock that is held.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Hold {
    pub lock: u32,
    pub is_shared: bool,
    /// Locks that the thread took, and perhaps gave back, while it held this one: sorted, each once, and whether one of those times
    /// was for writing.
    pub since: Vec<(u32, bool)>,
}

/// The ways in which locks are held in a run, each once.
pub struct Holds {
    known: FxHashMap<Vec<Hold>, u32>,
    all: Vec<Vec<Hold>>,
}

impl Default for Holds {
    fn default() -> Holds {
        Holds { known: std::iter::once((Vec::new(), Holds::NOTHING)).collect(), all: vec![Vec::new()] }
    }
}

impl Holds {
    /// No lock.
    pub const NOTHING: u32 = 0;

    #[must_use]
    pub fn of(&self, hold: u32) -> &[Hold] {
        &self.all[hold as usize]
    }

    fn number(&mut self, held: &[Hold]) -> u32 {
        if let Some(&number) = self.known.get(held) {
            return number;
        }
        let number = self.all.len() as u32;
        self.known.insert(held.to_vec(), number);
        self.all.push(held.to_vec());
        number
    }

    /// Whether what is done under such locks may have to do with each other: somebody holds one of the one and one of the other together, or one side
    /// has none.
    #[must_use]
    pub fn are_related(&self, one: u32, other: u32) -> bool {
        let [one, other] = [one, other].map(|hold| self.of(hold));
        let holds = |held: &[Hold], of: &[Hold]| of.iter().any(|it| held.iter().any(|own| own.lock == it.lock));
        one.is_empty() || other.is_empty() || self.all.iter().any(|held| holds(held, one) && holds(held, other))
    }

    /// Whether two threads can be at two such points at the same time, as far as their locks tell: they hold no lock together unless both for
    /// reading, and it is not so that each of them, after a lock of its own, took one that the other still holds.
    #[must_use]
    pub fn are_compatible(&self, one: u32, other: u32) -> bool {
        let (one, other) = (self.of(one), self.of(other));
        one.iter().all(|mine| {
            other.iter().all(|yours| {
                if mine.lock == yours.lock {
                    return mine.is_shared && yours.is_shared;
                }
                !(took(mine, yours) && took(yours, mine))
            })
        })
    }
}

/// Whether a thread that holds `mine` took the lock `yours` since, in a way that the other's hold of it excludes.
fn took(mine: &Hold, yours: &Hold) -> bool {
    mine.since
        .binary_search_by_key(&yours.lock, |&(lock, _)| lock)
        .is_ok_and(|place| mine.since[place].1 || !yours.is_shared)
}

/// What a thread holds now.
#[derive(Default)]
pub struct Holding {
    held: Vec<Hold>,
    number: Option<u32>,
}

impl Holding {
    pub fn acquire(&mut self, lock: u32, is_shared: bool) {
        for hold in &mut self.held {
            match hold.since.binary_search_by_key(&lock, |&(other, _)| other) {
                Ok(place) => hold.since[place].1 |= !is_shared,
                Err(place) => hold.since.insert(place, (lock, !is_shared)),
            }
        }
        self.held.push(Hold { lock, is_shared, since: Vec::new() });
        self.number = None;
    }

    pub fn release(&mut self, lock: u32) {
        if let Some(place) = self.held.iter().rposition(|hold| hold.lock == lock) {
            self.held.remove(place);
            self.number = None;
        }
    }

    pub fn number(&mut self, holds: &mut Holds) -> u32 {
        *self.number.get_or_insert_with(|| holds.number(&self.held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The locks of a thread that took and gave back: `+m` for writing, `~m` for reading, `-m` back.
    fn hold(holds: &mut Holds, story: &str) -> u32 {
        let mut holding = Holding::default();
        for word in story.split_whitespace() {
            let (what, lock) = word.split_at(1);
            let lock = u32::from(lock.as_bytes()[0]);
            match what {
                "-" => holding.release(lock),
                _ => holding.acquire(lock, what == "~"),
            }
        }
        holding.number(holds)
    }

    #[test]
    fn threads_at_the_same_time() {
        let table = [
            ("", "", true),
            ("+m", "", true),
            ("+m", "+n", true),
            ("+m", "+m", false),
            ("+m -m", "+m", true),
            ("~m", "~m", true),
            ("~m", "+m", false),
            ("+k ~m", "~m +n", true),
            ("+k ~m", "~m +k", false),
            // Each took what the other holds, after what the other took.
            ("+m +n -n", "+n", true),
            ("+m +n -n", "+n +m -m", false),
            ("+m +n -n -m +m", "+n +m -m", true),
            ("+k +m +n -n", "+n +k -k", false),
            ("~m +n -n", "+n +m -m", false),
            // Readers are not in each other's way.
            ("~m +n -n", "+n ~m -m", true),
            ("+m ~n -n", "~n +m -m", true),
            ("+m ~n -n", "+n +m -m", false),
            ("+m ~n -n +n -n", "~n +m -m", false),
            // Not nested.
            ("+m +n -m", "+m +n -n", true),
            ("+m +n -m +k", "+k +n -k", false),
            ("+m +n -m +k -k", "+k +n -n", false),
        ];
        let mut holds = Holds::default();
        for (one, other, expected) in table {
            let [a, b] = [one, other].map(|story| hold(&mut holds, story));
            let found = [holds.are_compatible(a, b), holds.are_compatible(b, a)];
            assert_eq!(found, [expected; 2], "{one:?} and {other:?}");
        }
    }

    #[test]
    fn locks_are_related_if_somebody_holds_them_together() {
        let mut holds = Holds::default();
        let [m, n, k, none] = ["+m", "+n", "+k", ""].map(|story| hold(&mut holds, story));
        hold(&mut holds, "+m ~n");
        assert!(holds.are_related(m, m) && holds.are_related(m, n) && holds.are_related(n, m));
        assert!(!holds.are_related(m, k) && !holds.are_related(k, n));
        assert!(holds.are_related(none, k) && holds.are_related(k, none));
    }

    #[test]
    fn the_same_locks_have_the_same_number() {
        let mut holds = Holds::default();
        assert_eq!(hold(&mut holds, "+m -m"), Holds::NOTHING);
        let stories = ["+m", "+m +n -n", "+m +n -n +n -n", "+n -n +m", "~m"];
        let numbers = stories.map(|story| hold(&mut holds, story));
        assert_eq!(numbers, [1, 2, 2, 1, 3]);
    }
}
