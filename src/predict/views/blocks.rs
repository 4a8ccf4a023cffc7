//! The atomic blocks of a run, and what each of them reads and writes.

use super::is_part;
use crate::predict::history::{At, History, Holds, Lane, NONE, Op};

/// What is done to a variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Access {
    Read,
    Write,
}

impl Access {
    pub const ALL: [Access; 2] = [Access::Read, Access::Write];

    #[must_use]
    pub const fn is_done_by(self, op: Op) -> bool {
        match self {
            Access::Read => op.reads(),
            Access::Write => op.writes(),
        }
    }

    #[must_use]
    pub const fn opposite(self) -> Access {
        match self {
            Access::Read => Access::Write,
            Access::Write => Access::Read,
        }
    }
}

/// A variable in a view, with the first and the last such access of the block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct Touch {
    pub variable: u32,
    pub first: At,
    pub last: At,
}

/// An atomic block of a thread that accesses something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Its first and last access.
    pub begin: At,
    pub end: At,
    /// Where its views lie among those of its thread: its reads are in front of its writes.
    reads: u32,
    writes: u32,
    behind: u32,
}

/// What comes next in a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    Begins(u32),
    Ends(u32),
}

/// Blocks of one thread.
#[derive(Default)]
struct OfLane {
    /// By their begin; of two that begin at the same access, the one that ends first.
    blocks: Vec<Block>,
    touches: Vec<Touch>,
}

/// The views of a run.
pub struct Views(Vec<OfLane>);

/// Blocks that are looked through for one of which a view is a part.
const MOST_LARGER: usize = 1 << 14;

impl Views {
    /// Goes through each thread once.
    #[must_use]
    pub fn of(history: &History) -> Views {
        Views((0..history.lanes.len()).map(|lane| OfLane::of(history, lane)).collect())
    }

    #[must_use]
    pub fn blocks(&self, lane: Lane) -> &[Block] {
        &self.0[lane as usize].blocks
    }

    /// Lets each block of a thread begin, by its number, after those that were over before have ended.
    pub fn go_through(&self, lane: Lane, mut take: impl FnMut(Turn)) {
        let blocks = self.blocks(lane);
        let mut by_end: Vec<u32> = (0..blocks.len() as u32).collect();
        by_end.sort_by_key(|&number| blocks[number as usize].end);
        let mut ended = by_end.into_iter().peekable();
        for (number, block) in (0..).zip(blocks) {
            while let Some(over) = ended.next_if(|&other| blocks[other as usize].end < block.begin) {
                take(Turn::Ends(over));
            }
            take(Turn::Begins(number));
        }
    }

    /// What a block reads or writes, by variable.
    #[must_use]
    pub fn view(&self, lane: Lane, block: &Block, access: Access) -> &[Touch] {
        let Block { reads, writes, behind, .. } = *block;
        let range = match access {
            Access::Read => reads as usize..writes as usize,
            Access::Write => writes as usize..behind as usize,
        };
        &self.0[lane as usize].touches[range]
    }

    /// The variables of a view.
    #[must_use]
    pub fn variables(&self, lane: Lane, block: &Block, access: Access) -> Vec<u32> {
        self.view(lane, block, access).iter().map(|touch| touch.variable).collect()
    }

    #[must_use]
    pub fn touch(&self, lane: Lane, block: &Block, access: Access, variable: u32) -> Option<Touch> {
        let view = self.view(lane, block, access);
        view.binary_search_by_key(&variable, |touch| touch.variable).ok().map(|place| view[place])
    }

    /// A view of a thread that is no part of another one of it, and that this view is a part of. Of very many blocks the first are looked at.
    #[must_use]
    pub fn maximal(&self, lane: Lane, block: &Block, access: Access) -> Vec<u32> {
        let mut largest = self.variables(lane, block, access);
        let larger = |at_least: usize| move |other: &&Block| self.view(lane, other, access).len() > at_least;
        // A view that contains what was found before would have been taken before, so that one pass is enough.
        for other in self.blocks(lane).iter().filter(larger(largest.len())).take(MOST_LARGER) {
            let variables = self.variables(lane, other, access);
            if variables.len() > largest.len() && is_part(&largest, &variables) {
                largest = variables;
            }
        }
        largest
    }

    /// The smallest block around an access that accesses both variables so.
    #[must_use]
    pub fn around(&self, lane: Lane, at: At, access: Access, variables: [u32; 2]) -> Option<&Block> {
        let blocks = self.blocks(lane);
        let begun = &blocks[..blocks.partition_point(|block| block.begin <= at)];
        let has_both = |block: &&Block| {
            block.end >= at && variables.iter().all(|&variable| self.touch(lane, block, access, variable).is_some())
        };
        begun.iter().rev().find(has_both)
    }
}

/// A block that is not over yet.
#[derive(Default)]
struct Open(Vec<(u32, At, Op)>);

impl OfLane {
    fn of(history: &History, lane: usize) -> OfLane {
        let mut found = OfLane::default();
        let mut section = Open::default();
        // The marked blocks that are open, outermost first, as of the frame of the step before.
        let mut marked: Vec<(u32, Open)> = Vec::new();
        let mut frame = NONE;
        for &at in &history.lanes[lane] {
            let step = history.step(at);
            if step.hold == Holds::NOTHING || step.op == Op::Gap {
                found.close(&mut section);
            }
            if step.frame != frame {
                found.change(&mut marked, &marks(history, step.frame));
                frame = step.frame;
            }
            if step.op == Op::Gap {
                for (_, open) in &mut marked {
                    found.close(open);
                }
            }
            if !step.op.is_access() {
                continue;
            }
            let access = (step.object, at, step.op);
            if step.hold != Holds::NOTHING {
                section.0.push(access);
            }
            for (_, open) in &mut marked {
                open.0.push(access);
            }
        }
        found.close(&mut section);
        found.change(&mut marked, &[]);
        found.blocks.sort_by_key(|block| (block.begin, block.end));
        found
    }

    /// Ends the marked blocks that are not open any more, and begins those that are now.
    fn change(&mut self, marked: &mut Vec<(u32, Open)>, open: &[u32]) {
        let same = marked.iter().zip(open).take_while(|((mark, _), other)| mark == *other).count();
        for (_, mut over) in marked.drain(same..) {
            self.close(&mut over);
        }
        marked.extend(open[same..].iter().map(|&mark| (mark, Open::default())));
    }

    fn close(&mut self, open: &mut Open) {
        let (Some(&(_, begin, _)), Some(&(_, end, _))) = (open.0.first(), open.0.last()) else { return };
        open.0.sort_unstable_by_key(|&(variable, at, _)| (variable, at));
        let reads = self.touches.len() as u32;
        self.push(&open.0, Access::Read);
        let writes = self.touches.len() as u32;
        self.push(&open.0, Access::Write);
        self.blocks.push(Block { begin, end, reads, writes, behind: self.touches.len() as u32 });
        open.0.clear();
    }

    fn push(&mut self, accesses: &[(u32, At, Op)], access: Access) {
        let from = self.touches.len();
        for &(variable, at, _) in accesses.iter().filter(|(_, _, op)| access.is_done_by(*op)) {
            match self.touches[from..].last_mut() {
                Some(touch) if touch.variable == variable => touch.last = at,
                _ => self.touches.push(Touch { variable, first: at, last: at }),
            }
        }
    }
}

/// The marked blocks around a frame, outermost first.
fn marks(history: &History, frame: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut next = history.frames.block(frame);
    while let Some(mark) = next {
        found.push(mark);
        let parent = history.frames.get(mark).parent;
        next = if parent == NONE { None } else { history.frames.block(parent) };
    }
    found.reverse();
    found
}
