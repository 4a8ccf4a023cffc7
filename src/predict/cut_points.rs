//! Three accesses of one variable, of which the other thread's could come between the two of a block: candidates for a search.
//!
//! Of a thread's accesses, consecutive pairs suffice: whatever comes between two accesses also comes between two neighbours among those in
//! between, and conflicts with both. A culprit that only reads is in the way of two writes alone, so for it the neighbours are writes.
//!
//! A culprit can come between only if there is a point between the two accesses at which the thread's locks and the culprit's are compatible:
//! see [`super::history::Holds::are_compatible`]. For two threads with nested locks and no other order that is exact; the search
//! decides what else there is. What fork, join and waits order for good is left out at once.
//!
//! A variable's accesses are gone through once. Of the pairs and culprits that agree in code location only the nearest are kept, so that the
//! work grows with the accesses, times the locations that touch the same variable.

use rustc_hash::FxHashMap;

use super::clocks::Clocks;
use super::history::{At, History, Holds, Lane, NONE, Op};
use super::pattern::Pattern;
use super::prediction::Steps;

/// Candidates of the same code locations that are kept.
pub const MOST_ALIKE: usize = 4;
/// Code locations that are told apart, of one variable. Others are counted as lost.
const MOST_PLACES: usize = 512;

/// Candidates that agree in their code locations and in what they do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Class {
    pub pattern: Pattern,
    /// Code locations: see [`super::history::Step::code`].
    pub first: u32,
    pub culprit: u32,
    pub second: u32,
    spot: Spot,
    /// Where the culprit's function was called.
    called_at: u64,
}

/// A block, and where in it two accesses happen: the same functions may be called from many.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
struct Spot {
    block: u64,
    first: u64,
    second: u64,
}

/// Candidates of one class.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Alike {
    /// Some of them, the nearest first.
    pub nearest: Vec<Steps>,
    pub count: u64,
    /// How far the last of them is, when no more are kept: most others are further, and need not look at the list.
    furthest: Option<At>,
}

impl Alike {
    /// Keeps one if it is among the nearest; it is not counted.
    pub fn add(&mut self, steps: Steps) {
        if self.furthest.is_some_and(|furthest| steps.distance() > furthest) {
            return;
        }
        let place = self.nearest.partition_point(|other| (other.distance(), *other) < (steps.distance(), steps));
        if place < MOST_ALIKE && self.nearest.get(place) != Some(&steps) {
            self.nearest.insert(place, steps);
            self.nearest.truncate(MOST_ALIKE);
            self.furthest = self.nearest.get(MOST_ALIKE - 1).map(Steps::distance);
        }
    }

    /// Takes over others of the class.
    pub fn merge(&mut self, other: Alike) {
        self.count += other.count;
        for steps in other.nearest {
            self.add(steps);
        }
    }
}

/// What was found.
#[derive(Default)]
pub struct Candidates {
    pub classes: FxHashMap<Class, Alike>,
    /// Code locations that were too many.
    pub left_out: u64,
}

impl Candidates {
    /// Takes over what was found of other variables.
    pub fn merge(&mut self, other: Candidates) {
        self.left_out += other.left_out;
        for (class, alike) in other.classes {
            self.classes.entry(class).or_default().merge(alike);
        }
    }
}

/// A code location of a variable, in one thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    lane: Lane,
    code: u32,
    op: Op,
    hold: u32,
    called_at: u64,
}

/// Two neighbouring accesses of a thread.
#[derive(Clone, Copy)]
struct Pair {
    first: At,
    second: At,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct PairPlace {
    first: Place,
    second: Place,
    spot: Spot,
    between: Between,
}

/// The locks that a thread holds between two accesses.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Between {
    /// At some point none.
    Open,
    /// Always these.
    Same(u32),
    Changing,
}

/// What is a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Blocks {
    /// Functions and marked blocks.
    All,
    /// Marked blocks only.
    Marked,
}

impl Blocks {
    /// The innermost block that contains two steps.
    #[must_use]
    pub fn around(self, history: &History, first: At, second: At) -> Option<u32> {
        let common = history.frames.common(history.step(first).frame, history.step(second).frame)?;
        match self {
            Blocks::All => Some(common),
            Blocks::Marked => history.frames.block(common),
        }
    }
}

/// Goes through the accesses of a variable.
pub fn look_at(history: &History, clocks: &Clocks, variable: u32, blocks: Blocks, into: &mut Candidates) {
    let accesses = history.accesses(variable);
    let is_shared = || {
        let lane = |at: &At| history.step(*at).lane;
        accesses.iter().any(|at| lane(at) != lane(&accesses[0]))
            && accesses.iter().any(|&at| history.step(at).op.writes())
    };
    if accesses.is_empty() || !is_shared() {
        return;
    }
    let mut walk = Walk { history, clocks, blocks, written: Seen::default(), read: Seen::default(), into };
    let mut last: FxHashMap<Lane, (At, At)> = FxHashMap::default();
    for &at in accesses {
        let step = history.step(at);
        let (access, write) = last.get(&step.lane).copied().unwrap_or((NONE, NONE));
        walk.single(at, step.op);
        walk.pair(access, at, Culprit::Writes);
        if step.op.writes() {
            walk.pair(write, at, Culprit::Reads);
        }
        last.insert(step.lane, (at, if step.op.writes() { at } else { write }));
    }
}

/// The latest of each kind.
struct Latest<K, T> {
    places: FxHashMap<K, usize>,
    all: Vec<(K, T)>,
}

impl<K, T> Default for Latest<K, T> {
    fn default() -> Latest<K, T> {
        Latest { places: FxHashMap::default(), all: Vec::new() }
    }
}

impl<K: Copy + Eq + std::hash::Hash, T> Latest<K, T> {
    /// False if there are too many kinds.
    fn set(&mut self, key: K, value: T) -> bool {
        if let Some(&place) = self.places.get(&key) {
            self.all[place].1 = value;
        } else if self.all.len() < MOST_PLACES {
            self.places.insert(key, self.all.len());
            self.all.push((key, value));
        } else {
            return false;
        }
        true
    }
}

/// What a culprit does. Of an update both parts count, each by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Culprit {
    Reads,
    Writes,
}

/// Culprits of one sort, and the pairs that they may come between.
#[derive(Default)]
struct Seen {
    culprits: Latest<Place, At>,
    pairs: Latest<PairPlace, Pair>,
}

struct Walk<'a> {
    history: &'a History,
    clocks: &'a Clocks,
    blocks: Blocks,
    /// With culprits that write: pairs of any accesses.
    written: Seen,
    /// With culprits that read: pairs of writes.
    read: Seen,
    into: &'a mut Candidates,
}

impl Walk<'_> {
    fn place(&self, at: At) -> Place {
        let step = self.history.step(at);
        let called_at = self.history.frames.get(step.frame).transaction.map_or(0, |frame| frame.opened_at());
        Place { lane: step.lane, code: step.code, op: step.op, hold: step.hold, called_at }
    }

    fn spot(&self, block: u32, first: At, second: At) -> Spot {
        let frames = &self.history.frames;
        let location = |at: At| frames.location(self.history.step(at).frame, block, self.history.pc(at));
        Spot { block: frames.code(block), first: location(first), second: location(second) }
    }

    fn between(&self, pair: Pair) -> Between {
        let [first, second] = [pair.first, pair.second].map(|at| self.history.step(at).hold);
        if first == Holds::NOTHING || second == Holds::NOTHING {
            return Between::Open;
        }
        let mut between = Between::Same(second);
        for hold in self.history.holds_between(pair.first, pair.second) {
            if hold == Holds::NOTHING {
                return Between::Open;
            }
            if hold != second {
                between = Between::Changing;
            }
        }
        between
    }

    fn seen(&mut self, culprit: Culprit) -> &mut Seen {
        match culprit {
            Culprit::Reads => &mut self.read,
            Culprit::Writes => &mut self.written,
        }
    }

    /// An access as the culprit of the pairs before it.
    fn single(&mut self, at: At, op: Op) {
        let place = self.place(at);
        for (culprit, does) in [(Culprit::Writes, op.writes()), (Culprit::Reads, op.reads())] {
            if !does {
                continue;
            }
            for index in 0..self.seen(culprit).pairs.all.len() {
                let (of, pair) = self.seen(culprit).pairs.all[index];
                self.candidate(&of, pair, &place, at, culprit);
            }
            let is_kept = self.seen(culprit).culprits.set(place, at);
            self.into.left_out += u64::from(!is_kept);
        }
    }

    /// Two accesses, and the culprits before the second.
    fn pair(&mut self, first: At, second: At, culprit: Culprit) {
        if first == NONE {
            return;
        }
        let Some(block) = self.blocks.around(self.history, first, second) else { return };
        let pair = Pair { first, second };
        let of = PairPlace {
            first: self.place(first),
            second: self.place(second),
            spot: self.spot(block, first, second),
            between: self.between(pair),
        };
        for index in 0..self.seen(culprit).culprits.all.len() {
            let (place, at) = self.seen(culprit).culprits.all[index];
            self.candidate(&of, pair, &place, at, culprit);
        }
        let is_kept = self.seen(culprit).pairs.set(of, pair);
        self.into.left_out += u64::from(!is_kept);
    }

    fn candidate(&mut self, of: &PairPlace, pair: Pair, place: &Place, at: At, culprit: Culprit) {
        if place.lane == of.first.lane
            || !self.can_come_between(of, pair, place)
            || self.is_ordered(of, pair, place, at)
        {
            return;
        }
        let touches = |op: Op| (op.reads(), op.writes());
        let does = (culprit == Culprit::Reads, culprit == Culprit::Writes);
        for pattern in Pattern::of(touches(of.first.op), does, touches(of.second.op)) {
            let class = Class {
                pattern,
                first: of.first.code,
                culprit: place.code,
                second: of.second.code,
                spot: of.spot,
                called_at: place.called_at,
            };
            let alike = self.into.classes.entry(class).or_default();
            alike.count += 1;
            alike.add(Steps::of_one(pair.first, at, pair.second));
        }
    }

    /// Whether the culprit always comes before or behind both.
    fn is_ordered(&self, of: &PairPlace, pair: Pair, place: &Place, culprit: At) -> bool {
        let (mine, others) = (of.first.lane, place.lane);
        // What must come before came before in the run.
        culprit < pair.first && self.clocks.knows(mine, pair.first, others) > culprit
            || culprit > pair.second && self.clocks.knows(others, culprit, mine) > pair.second
    }

    fn can_come_between(&self, of: &PairPlace, pair: Pair, culprit: &Place) -> bool {
        let is_compatible = |hold| self.history.holds.are_compatible(hold, culprit.hold);
        culprit.hold == Holds::NOTHING
            || match of.between {
                Between::Open => true,
                Between::Same(hold) => is_compatible(hold),
                Between::Changing => self.history.holds_between(pair.first, pair.second).any(is_compatible),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(triples: &[(u32, [At; 3])]) -> Candidates {
        let mut candidates = Candidates { left_out: 1, ..Candidates::default() };
        for &(code, [first, culprit, second]) in triples {
            let spot = Spot { block: 0, first: 0, second: 0 };
            let class = Class { pattern: Pattern::Rww, first: code, culprit: code, second: code, spot, called_at: 0 };
            let alike = candidates.classes.entry(class).or_default();
            alike.count += 1;
            alike.add(Steps::of_one(first, culprit, second));
        }
        candidates
    }

    /// Whoever is ready first is merged first, and the report must not depend on that.
    #[test]
    fn the_order_of_merging_does_not_matter() {
        let parts = || {
            [
                // Of the same distance, and more than are kept.
                found(&[(1, [10, 15, 20]), (1, [30, 35, 40]), (1, [50, 51, 60]), (2, [1, 9, 2])]),
                found(&[(1, [11, 16, 21]), (1, [10, 12, 20]), (1, [70, 79, 80])]),
                found(&[(1, [0, 99, 1]), (1, [5, 4, 6]), (3, [7, 8, 9])]),
            ]
        };
        let merged = |order: [usize; 3]| {
            let mut parts = parts().map(Some);
            let mut all = Candidates::default();
            order.into_iter().filter_map(|part| parts[part].take()).for_each(|part| all.merge(part));
            assert_eq!(all.left_out, 3);
            all.classes
        };
        let expected = merged([0, 1, 2]);
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            assert_eq!(merged(order), expected, "{order:?}");
        }
        let (_, alike) = expected.iter().find(|(class, _)| class.first == 1).expect("the first class");
        let nearest: Vec<[At; 3]> = alike.nearest.iter().map(|it| [it.first, it.culprit, it.second]).collect();
        assert_eq!((alike.count, nearest), (8, vec![[5, 4, 6], [10, 12, 20], [10, 15, 20], [11, 16, 21]]));
    }
}
