//! Loops of a function.

use std::collections::BTreeSet;

use crate::causal::components::components;
use crate::causal::control::successors;
use crate::causal::facts::Facts;
use crate::ir::model::{BlockId, FunctionId};

/// For each block of a function whether it lies in a loop.
#[must_use]
pub fn in_loops(facts: &Facts, function: FunctionId) -> Vec<bool> {
    let body = facts.program.function(function);
    let mut in_loop = vec![false; body.blocks.len()];
    for round in rounds(facts, function, &(0..body.blocks.len() as BlockId).collect()) {
        for block in round {
            in_loop[block as usize] = true;
        }
    }
    in_loop
}

/// Whether an instruction lies in a loop of its function.
#[must_use]
pub fn repeats(facts: &Facts, function: FunctionId, number: u32) -> bool {
    innermost(facts, function, facts.functions[function as usize].block_of(number).0).is_some()
}

/// The smallest loop around a block.
#[must_use]
pub fn innermost(facts: &Facts, function: FunctionId, block: BlockId) -> Option<BTreeSet<BlockId>> {
    around(facts, function, [block, block]).map(|it| it.blocks)
}

/// A loop, and where it begins.
#[derive(Debug)]
pub struct Loop {
    pub blocks: BTreeSet<BlockId>,
    pub begins: BTreeSet<BlockId>,
}

/// The smallest loop around two blocks.
#[must_use]
pub fn around(facts: &Facts, function: FunctionId, both: [BlockId; 2]) -> Option<Loop> {
    let body = facts.program.function(function);
    let mut inside: BTreeSet<BlockId> = (0..body.blocks.len() as BlockId).collect();
    let mut found = None;
    let is_around = |round: &BTreeSet<BlockId>| both.iter().all(|block| round.contains(block));
    while let Some(blocks) = rounds(facts, function, &inside).into_iter().find(is_around) {
        let outside = (0..body.blocks.len() as BlockId).filter(|from| !blocks.contains(from));
        let mut begins: BTreeSet<BlockId> = outside.flat_map(|from| successors(body, from).iter().copied()).collect();
        begins.insert(0);
        begins.retain(|it| blocks.contains(it));
        // Who cannot come back to where the loop begins is in a smaller one, or in none.
        inside = blocks.difference(&begins).copied().collect();
        found = Some(Loop { blocks, begins });
    }
    found
}

/// The largest loops of some blocks.
fn rounds(facts: &Facts, function: FunctionId, inside: &BTreeSet<BlockId>) -> Vec<BTreeSet<BlockId>> {
    let body = facts.program.function(function);
    let leads: Vec<Vec<BlockId>> = (0..body.blocks.len() as BlockId)
        .map(|block| {
            let targets = successors(body, block).iter().copied();
            targets.filter(|to| inside.contains(&block) && inside.contains(to)).collect()
        })
        .collect();
    let is_loop = |group: &Vec<BlockId>| group.len() > 1 || leads[group[0] as usize].contains(&group[0]);
    components(&leads).into_iter().filter(is_loop).map(|group| group.into_iter().collect()).collect()
}
