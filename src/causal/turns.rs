//! Which dependencies come about only in a new turn of a loop.

use super::control::forward_order;
use super::facts::Facts;
use super::graph::{Graph, Node, What};

/// For each function the places of its blocks in an order in which only loops lead back.
#[derive(Debug)]
pub struct Turns(Vec<Vec<u32>>);

impl Turns {
    #[must_use]
    pub fn of(facts: &Facts) -> Turns {
        Turns(facts.program.module.functions.iter().map(forward_order).collect())
    }
}

impl Graph {
    /// Where in its function a node is: the place of its block, and that in the block. Nothing if it is everywhere.
    #[must_use]
    pub fn position(&self, node: Node) -> Option<(u32, u32)> {
        let place = |function: u32, block: u32| self.turns.0[function as usize][block as usize];
        match self.what(node) {
            What::Instruction(function, number) | What::Called(function, number, _) => {
                let (block, index) = self.facts.functions[function as usize].block_of(number);
                Some((place(function, block), index as u32 + 1))
            }
            What::Condition(function, block) => Some((place(function, block), u32::MAX)),
            What::Control(function, block) => Some((place(function, block), 0)),
            What::Parameter(..) | What::Entry(_) | What::Return(_) | What::Unknown(..) | What::Left(..) => None,
        }
    }
}
