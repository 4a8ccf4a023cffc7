//! How one call of a function comes to run two blocks: those of two branches do not follow each other.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Seen;
use super::blocks::BlockNumber;
use super::loops::around;
use crate::causal::control::successors;
use crate::ir::model::{BlockId, FunctionId};

/// Calls to look at; who makes more is sure to make some that follow each other.
const MOST: usize = 64;

/// What leads from one block to the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Together {
    /// The code as it is written.
    InTurn,
    /// Only a new turn of a loop.
    InTurns,
}

/// Functions that lead to a block, with how many calls away they are.
pub type Above = FxHashMap<FunctionId, u32>;

/// Two blocks, and what leads to each.
#[derive(Debug)]
pub struct Pair<'a> {
    pub seen: Seen<'a>,
    pub blocks: [BlockNumber; 2],
    pub above: [&'a Above; 2],
}

impl Pair<'_> {
    /// How one call of a function runs both blocks. Nothing if it runs only one of them.
    #[must_use]
    pub fn together(&self, function: FunctionId) -> Option<Together> {
        self.below(function, &mut FxHashSet::default())
    }

    fn below(&self, function: FunctionId, seen: &mut FxHashSet<FunctionId>) -> Option<Together> {
        if !seen.insert(function) {
            return None;
        }
        let [ones, others] = [0, 1].map(|which| self.sites(function, which));
        // Where it is too far to the blocks, they may be anywhere.
        if ones.is_empty() || others.is_empty() {
            return Some(Together::InTurn);
        }
        let mut found = None;
        for (from, to) in [(&ones, &others), (&others, &ones)] {
            let pairs = from.iter().flat_map(|one| to.iter().map(move |other| (*one, *other)));
            for (one, other) in pairs.filter(|(one, other)| one != other).take(MOST) {
                match self.lead(function, one, other) {
                    Some(Together::InTurn) => return Some(Together::InTurn),
                    turns => found = found.or(turns),
                }
            }
        }
        // One call that leads to both.
        for site in ones.iter().filter(|site| others.contains(site)) {
            let callees = self.seen.graph.facts.functions[function as usize].calls.get(site);
            let is_of_both = |callee: &&FunctionId| self.above.iter().all(|above| above.contains_key(callee));
            let callees: Vec<FunctionId> = callees.into_iter().flatten().filter(is_of_both).copied().collect();
            let mut turns = callees.iter().map(|&callee| self.below(callee, seen));
            match turns.find(|it| *it == Some(Together::InTurn)) {
                Some(turn) => return turn,
                // What is called is one thing in one turn, and another one in the next.
                None if callees.is_empty() => found = found.or(self.lead(function, *site, *site)),
                None => {}
            }
        }
        let is_all = ones.len() * others.len() <= MOST;
        found.or((!is_all).then_some(Together::InTurn))
    }

    /// The instructions of a function that begin a block, or call what leads to it.
    fn sites(&self, function: FunctionId, which: usize) -> Vec<u32> {
        let Seen { graph, blocks, .. } = self.seen;
        let block = &blocks.list[self.blocks[which]];
        if function == block.function {
            return vec![block.begin];
        }
        let leads = |&(number, callees): &(&u32, &Vec<FunctionId>)| {
            callees.iter().any(|callee| {
                let is_meant = *callee != block.function || blocks.is_by(block, (function, *number));
                self.above[which].contains_key(callee) && is_meant
            })
        };
        let mut sites: Vec<u32> =
            graph.facts.functions[function as usize].calls.iter().filter(leads).map(|(&number, _)| number).collect();
        sites.sort_unstable();
        sites
    }

    /// What leads from an instruction to another one, or back to itself.
    fn lead(&self, function: FunctionId, from: u32, to: u32) -> Option<Together> {
        let facts = &self.seen.graph.facts;
        let [own, other] = [from, to].map(|number| facts.functions[function as usize].block_of(number).0);
        if own == other && from < to {
            return Some(Together::InTurn);
        }
        let leads = |without: &BTreeSet<BlockId>| {
            let next = |block: BlockId| successors(facts.program.function(function), block).iter().copied();
            let mut seen: FxHashSet<BlockId> = FxHashSet::default();
            let mut waiting: Vec<BlockId> = next(own).collect();
            while let Some(block) = waiting.pop() {
                if !without.contains(&block) && seen.insert(block) {
                    waiting.extend(next(block));
                }
            }
            seen.contains(&other)
        };
        if !leads(&BTreeSet::new()) {
            return None;
        }
        let is_one_turn = around(facts, function, [own, other]).is_none_or(|it| leads(&it.begins));
        Some(if is_one_turn { Together::InTurn } else { Together::InTurns })
    }
}
