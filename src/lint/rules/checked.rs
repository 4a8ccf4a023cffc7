//! Checks by which a later block knows whether what an earlier one read still holds.

use rustc_hash::FxHashSet;

use super::super::blocks::BlockNumber;
use super::{Inside, Lint};
use crate::causal::control::successors;
use crate::causal::facts::Variable;
use crate::causal::graph::{Node, What};
use crate::ir::model::{BlockId, Function, Op, Operand};

impl Lint<'_> {
    /// Whether a block decides by a new look at the variable whether it writes.
    pub(super) fn is_looked_at_again(&mut self, block: BlockNumber, variable: Variable, write: Node) -> bool {
        let again = self.inside(block, variable);
        self.is_decided(&again, write)
    }

    /// Whether the second block compares another variable with what the first one read in it, before it writes, and whoever writes the
    /// variable in question writes that one too: a version.
    pub(super) fn is_versioned(&mut self, [first, second]: [BlockNumber; 2], variable: Variable, write: Node) -> bool {
        let list = &self.seen.blocks.list;
        let Some(writers) = self.writers.get(&variable) else { return false };
        let is_version = |it: &Variable| *it != variable && writers.iter().all(|&by| list[by].writes.contains(it));
        let versions: Vec<Variable> =
            list[first].reads.intersection(&list[second].reads).copied().filter(is_version).collect();
        versions.into_iter().any(|version| self.is_compared([first, second], [version, version], write))
    }

    /// Whether the second block compares what it reads in one variable with what the first one read in another, before it writes.
    pub(super) fn is_compared(
        &mut self,
        [first, second]: [BlockNumber; 2],
        [old, new]: [Variable; 2],
        write: Node,
    ) -> bool {
        let (again, before) = (self.inside(second, new), self.reach(first, old));
        if again.0.is_empty() {
            return false;
        }
        let older = self.tracer().values(&before);
        let is_compared = again.0.iter().any(|&node| self.compares(node, &again.0, &older));
        is_compared && self.is_decided(&again, write)
    }

    /// Whether an instruction makes a condition of something new and something old.
    fn compares(&self, node: Node, new: &FxHashSet<Node>, old: &FxHashSet<Node>) -> bool {
        let graph = self.seen.graph;
        let What::Instruction(function, number) = graph.what(node) else { return false };
        let Op::Compute(operands) = &graph.facts.instruction(function, number).op else { return false };
        let made = |operand: &Operand| {
            let Operand::Value(value) = operand else { return None };
            let (block, index) = graph.facts.program.made_by_number(function, *value)?;
            Some(graph.instruction(function, graph.facts.functions[function as usize].number(block, index as usize)))
        };
        let [one, other] = &operands[..] else { return false };
        let (Some(one), Some(other)) = (made(one), made(other)) else { return false };
        let fits = |one: Node, other: Node| new.contains(&one) && old.contains(&other) && !new.contains(&other);
        (fits(one, other) || fits(other, one)) && self.comes_to_decide(node, new)
    }

    /// Whether what follows from an instruction decides something, also by way of a variable, as far as that is inside.
    fn comes_to_decide(&self, node: Node, inside: &FxHashSet<Node>) -> bool {
        let graph = self.seen.graph;
        let mut seen: FxHashSet<Node> = [node].into_iter().collect();
        let mut waiting = vec![node];
        while let Some(node) = waiting.pop() {
            for edge in graph.edges(node) {
                if matches!(graph.what(edge.to), What::Condition(..)) {
                    return true;
                }
                if inside.contains(&edge.to) && seen.insert(edge.to) {
                    waiting.push(edge.to);
                }
            }
        }
        false
    }

    /// Whether what a block reads decides if it writes: also if the other side only comes back to ask again, so that the write is sure to
    /// come, but not in this turn.
    fn is_decided(&self, (reached, decided): &Inside, write: Node) -> bool {
        let graph = self.seen.graph;
        let What::Instruction(function, number) = graph.what(write) else { return false };
        let body = graph.facts.program.function(function);
        let block = graph.facts.functions[function as usize].block_of(number).0;
        let guards = |&node: &Node| {
            let What::Condition(owner, condition) = graph.what(node) else { return false };
            if owner != function {
                return false;
            }
            if graph.edges(node).iter().any(|edge| graph.what(edge.to) == What::Control(function, block)) {
                return true;
            }
            let [one, other] = *successors(body, condition) else { return false };
            let leads = |to: BlockId| reaches(body, to, condition, |it| it == block);
            let ends = |to: BlockId| {
                let is_end = |it: BlockId| successors(body, it).is_empty();
                reaches(body, to, condition, is_end)
            };
            leads(one) && !ends(other) || leads(other) && !ends(one)
        };
        decided.contains(&write) || reached.iter().any(guards)
    }
}

/// Whether there is a way from a block to one of some that does not come by another one.
fn reaches(function: &Function, from: BlockId, without: BlockId, is_one: impl Fn(BlockId) -> bool) -> bool {
    let mut seen: FxHashSet<BlockId> = FxHashSet::default();
    let mut waiting = vec![from];
    while let Some(block) = waiting.pop() {
        if block == without || !seen.insert(block) {
            continue;
        }
        if is_one(block) {
            return true;
        }
        waiting.extend(successors(function, block));
    }
    false
}
