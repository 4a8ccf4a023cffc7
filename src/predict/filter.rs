//! Why three accesses cannot happen in the violating order although locks and waits would allow it: some read on the way would not see the write
//! that it saw in the run, and nothing is known of what its thread does then.
//!
//! These are the five cases of the read-after-write filter by Zeng, Sun, Liu and He ("A Method for Improving the Precision and Coverage of Atomicity
//! Violation Predictions"), by name. The filter itself, [`paper`], drops a candidate as soon as one of them applies. That is too much and
//! too little. Too much: of the ten scenarios that it is meant to predict, its Table 1, it drops two, rows 8 and 10, in which the block's first access
//! is a read that saw the culprit; if no branch follows, what it sees does not matter. Too little: it asks of each read whether its write could still come
//! first, but not whether the locks allow that, too; if the culprit was in front of the block it does not ask what the culprit's own thread reads; and it knows of two
//! threads only. The scenarios `avfilter-counterexample-*` show all of that. So the default asks the search, and the cases only say why
//! it found nothing.

use super::history::{At, History, Step};
use super::prediction::Steps;

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident, $text:literal, $meaning:literal;)*) => {
        /// Why a candidate was dropped.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        pub enum Reason { $($(#[$doc])* $name,)* }

        impl Reason {
            pub const ALL: &'static [Reason] = &[$(Reason::$name),*];

            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Reason::$name => $text,)* }
            }

            /// What would have to change, as a sentence.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Reason::$name => $meaning,)* }
            }
        }
    };
}

reasons! {
    /// The run had the culprit behind the block, and it reads what the block's thread wrote behind the block.
    CulpritNeedsWhatFollows, "culprit-needs-what-follows", "before its access, the other thread read what the block's thread wrote after its second access";
    /// The same, and the other thread accessed the variable before.
    CulpritNeedsTheBlock, "culprit-needs-the-block", "before its access, the other thread read what the block's thread wrote in the block";
    BlockBranchesOnOverwritten, "block-branches-on-overwritten", "the block's thread branches on something that it read and that the other thread would have overwritten before";
    /// The run had the culprit in front of the block.
    BlockNeedsCulprit, "block-needs-culprit", "the block's thread read what the other thread wrote, with its access or after it";
    BlockBranchesOnLater, "block-branches-on-later", "the block's thread branches on something that the other thread wrote after its access";
    /// Of the two accesses of a view or a stale value, by the program's code.
    Independent, "independent", "by the program's code, what is read is of no use in what is written";
    /// Of a stale value.
    ActedOn, "acted-on", "the block that reads the value also acts on it, so that what leaves the block is the outcome, such as an item that was taken out";
    /// Of a view that is written in parts, by the program's code.
    CountedOn, "counted-on", "one of the writes makes the new value from the old one, which fits whatever was there, and the reader makes nothing from both";
    Other, "reads", "in every order that the locks allow, some read would not see the write that it saw in the run, and its thread might do something else then";
}

/// The filter as it was published: why it drops a candidate, if it does. It drops none of two variables.
#[must_use]
pub fn paper(history: &History, steps: &Steps) -> Option<Reason> {
    let &Steps { first, culprit, second, .. } = steps;
    let query = Query { history, first, culprit, second };
    match (steps.are_of_one(history), culprit > first) {
        (false, _) => None,
        (true, true) => query.culprit_was_after(),
        (true, false) => query.culprit_was_before(),
    }
}

struct Query<'a> {
    history: &'a History,
    first: At,
    culprit: At,
    second: At,
}

impl Query<'_> {
    fn step(&self, at: At) -> &Step {
        self.history.step(at)
    }

    fn is_mine(&self, at: At) -> bool {
        self.step(at).lane == self.step(self.first).lane
    }

    fn is_culprits(&self, at: At) -> bool {
        self.step(at).lane == self.step(self.culprit).lane
    }

    /// The reads of one step's thread from `from` to `to`, both included, with what they saw.
    fn reads(&self, of: At, from: At, to: At) -> impl Iterator<Item = (At, At)> {
        let lane = &self.history.lanes[self.step(of).lane as usize];
        let begin = lane.partition_point(|&at| at < from);
        let steps = lane[begin..].iter().take_while(move |&&at| at <= to);
        steps.filter(|&&at| self.step(at).op.reads()).map(|&at| (at, self.step(at).link))
    }

    fn accesses(&self) -> &[At] {
        self.history.accesses(self.step(self.culprit).object)
    }

    /// Whether the block's thread comes to a branch between a step and its second access. The printed algorithm leaves out one right before that access;
    /// but it is what the lemma and the figure behind the algorithm are about.
    fn branches_after(&self, at: At) -> bool {
        let steps = &self.history.from(at)[1..];
        steps.iter().take_while(|&&next| next <= self.second).any(|&next| self.step(next).branches > 0)
    }

    fn culprit_was_after(&self) -> Option<Reason> {
        let saw =
            |(_, write): (At, At), after: At| write != super::history::NONE && write > after && self.is_mine(write);
        let accesses = self.accesses();
        let before = &accesses[..accesses.partition_point(|&at| at < self.culprit)];
        let previous = before.iter().rev().copied().find(|&at| self.is_culprits(at));
        if let Some(previous) = previous
            && self.reads(self.culprit, self.first + 1, previous).any(|read| saw(read, self.first))
        {
            return Some(Reason::CulpritNeedsTheBlock);
        }
        if self.reads(self.culprit, self.second + 1, self.culprit.saturating_sub(1)).any(|read| saw(read, self.second))
        {
            return Some(Reason::CulpritNeedsWhatFollows);
        }
        let previous = previous?;
        let overwritten = |(at, _): (At, At)| {
            let accesses = self.history.accesses(self.step(at).object);
            let behind = &accesses[accesses.partition_point(|&other| other <= at)..];
            let write = behind.iter().copied().find(|&other| self.is_culprits(other) && self.step(other).op.writes());
            write.is_some_and(|write| write <= previous) && self.branches_after(at)
        };
        let broken = self.reads(self.first, self.first, self.second.saturating_sub(1)).any(overwritten);
        broken.then_some(Reason::BlockBranchesOnOverwritten)
    }

    fn culprit_was_before(&self) -> Option<Reason> {
        let saw = |write: At| write != super::history::NONE && self.is_culprits(write);
        let needs = |(_, write): (At, At)| saw(write) && write >= self.culprit;
        if self.reads(self.first, self.culprit + 1, self.first).any(needs) {
            return Some(Reason::BlockNeedsCulprit);
        }
        let accesses = self.accesses();
        let behind = &accesses[accesses.partition_point(|&at| at <= self.culprit)..];
        let next = behind.iter().copied().find(|&at| self.is_culprits(at))?;
        let later = |(at, _): (At, At)| {
            let accesses = self.history.accesses(self.step(at).object);
            let before = &accesses[..accesses.partition_point(|&other| other < at)];
            let write =
                before.iter().rev().copied().find(|&other| self.is_culprits(other) && self.step(other).op.writes());
            write.is_some_and(|write| write > next) && self.branches_after(at)
        };
        let broken = self.reads(self.first, self.first + 1, self.second.saturating_sub(1)).any(later);
        broken.then_some(Reason::BlockBranchesOnLater)
    }
}
