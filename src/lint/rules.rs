//! The rules: which pairs of blocks split what belongs together.

mod checked;
mod stale;
mod views;

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Seen;
use super::blocks::{BlockNumber, Blocks, Site, View, Way};
use super::order::{Above, Together};
use super::trace::{Reach, Tracer};
use crate::causal::facts::Variable;
use crate::causal::graph::Node;
use crate::ir::model::{BlockId, FunctionId};

/// Why two blocks of a process should be one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Definition 9: the other process accesses these together, the block in two. With the way: what the two blocks do.
    View { way: Way, view: View },
    /// Definition 11.
    StaleValue,
}

/// Two blocks that another process can come between.
#[derive(Clone, Debug)]
pub struct Split {
    pub reason: Reason,
    /// In one call of this function they follow each other.
    pub function: FunctionId,
    pub first: BlockNumber,
    pub second: BlockNumber,
    /// What each of them accesses.
    pub variables: [Variable; 2],
    pub accesses: [Site; 2],
    pub process: usize,
    pub other_process: usize,
    pub other: BlockNumber,
    /// Ways of values from the first block to the second, or from both to where they meet.
    pub chains: Vec<Vec<Node>>,
    /// If they meet: what comes of that.
    pub by: By,
    pub together: Together,
}

/// What two values have to do with each other where they meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// Something is made from both.
    Both,
    /// One of them decides whether the block that reads the other does its work, ...
    Check,
    /// ... which is only to read.
    Look,
}

/// What a block's reads of a variable reach inside of it, and of that what by way of a condition.
type Inside = (FxHashSet<Node>, FxHashSet<Node>);

/// What the rules look at.
#[derive(Debug)]
pub struct Lint<'l> {
    seen: Seen<'l>,
    /// For each block the processes that run it.
    runs: Vec<Vec<usize>>,
    /// For each variable the blocks that write it.
    writers: FxHashMap<Variable, Vec<BlockNumber>>,
    reached: FxHashMap<(BlockNumber, Variable), Rc<Reach>>,
    inside: FxHashMap<(BlockNumber, Variable), Rc<Inside>>,
    /// Which branches decide about the blocks of functions.
    decided_by: FxHashMap<FunctionId, Vec<Vec<BlockId>>>,
    above: FxHashMap<BlockNumber, Rc<Above>>,
    /// Of how many others a block was told apart.
    told_apart: FxHashMap<BlockNumber, usize>,
    /// How often a variable was told as stale in a function.
    told_of: FxHashMap<(FunctionId, Variable), usize>,
    looked_at: usize,
    /// Values whose ways were too many to follow.
    cut: usize,
    /// Variables of blocks that were not looked at, because there were too many.
    left_out: FxHashSet<(BlockNumber, Variable)>,
}

/// Nodes to look at for one value; who needs more reaches everything.
const MOST: usize = 5_000;
/// Nodes to look at in all.
const MOST_IN_ALL: usize = 20_000_000;
/// A block that accesses more variables than this says nothing about what belongs together.
const WIDEST: usize = 200;
/// Values whose ways are kept.
const REMEMBERED: usize = 1_000;
/// Variables of a view to try, of each of the two blocks.
const TRIED: usize = 6;
/// Who has read so much about one variable in one function knows enough; nearest blocks come first.
const ENOUGH: usize = 8;

impl<'l> Lint<'l> {
    #[must_use]
    pub fn new(seen: Seen<'l>) -> Lint<'l> {
        let blocks = seen.blocks;
        let mut runs = vec![Vec::new(); blocks.list.len()];
        for (process, own) in blocks.of_process.iter().enumerate() {
            for &block in own {
                runs[block].push(process);
            }
        }
        let mut writers: FxHashMap<Variable, Vec<BlockNumber>> = FxHashMap::default();
        for (block, it) in blocks.list.iter().enumerate() {
            for &variable in &it.writes {
                writers.entry(variable).or_default().push(block);
            }
        }
        Lint {
            seen,
            runs,
            writers,
            reached: FxHashMap::default(),
            inside: FxHashMap::default(),
            decided_by: FxHashMap::default(),
            above: FxHashMap::default(),
            told_apart: FxHashMap::default(),
            told_of: FxHashMap::default(),
            looked_at: 0,
            cut: 0,
            left_out: FxHashSet::default(),
        }
    }

    /// All splits, by both rules.
    pub fn splits(&mut self) -> Vec<Split> {
        let mut splits = self.views();
        splits.extend(self.stale_values());
        splits
    }

    /// How many values were not followed to their ends.
    #[must_use]
    pub fn cut(&self) -> usize {
        self.cut + self.left_out.len()
    }

    fn tracer(&self) -> Tracer<'l> {
        Tracer { seen: self.seen, most: MOST }
    }

    /// Whether threads of two processes run at the same time.
    fn is_beside(&self, one: usize, other: usize) -> bool {
        one != other || self.seen.processes[one].is_multiple
    }

    /// All processes. What `main` does is often before or after the others, so it comes last.
    fn main_last(&self) -> impl Iterator<Item = usize> + use<> {
        let count = self.seen.processes.len();
        (1..count).chain(0..count.min(1))
    }

    fn accesses(&self, block: BlockNumber, variable: Variable, way: Way) -> Vec<Site> {
        self.seen.blocks.accesses(&self.seen.graph.facts, self.seen.sections, block, variable, way)
    }

    fn reach(&mut self, block: BlockNumber, variable: Variable) -> Rc<Reach> {
        if let Some(known) = self.reached.get(&(block, variable)) {
            return known.clone();
        }
        let reach = if self.looked_at > MOST_IN_ALL {
            Reach::cut_off()
        } else {
            self.tracer().follow(block, &self.accesses(block, variable, Way::Read))
        };
        self.looked_at += reach.steps.len();
        self.cut += usize::from(reach.is_cut);
        let reach = Rc::new(reach);
        // They are large, and who needs one again does so soon.
        if self.reached.len() >= REMEMBERED {
            self.reached.clear();
        }
        self.reached.insert((block, variable), reach.clone());
        reach
    }

    fn inside(&mut self, block: BlockNumber, variable: Variable) -> Rc<Inside> {
        if let Some(known) = self.inside.get(&(block, variable)) {
            return known.clone();
        }
        let reads = self.accesses(block, variable, Way::Read);
        let inside = if reads.is_empty() { Rc::default() } else { Rc::new(self.tracer().within(block, &reads)) };
        if self.inside.len() >= REMEMBERED {
            self.inside.clear();
        }
        self.inside.insert((block, variable), inside.clone());
        inside
    }

    fn is_wide(&self, view: &View) -> bool {
        !self.seen.paper && view.len() > WIDEST
    }
}

fn view(blocks: &Blocks, block: BlockNumber, way: Way) -> &View {
    match way {
        Way::Read => &blocks.list[block].reads,
        Way::Write => &blocks.list[block].writes,
    }
}
