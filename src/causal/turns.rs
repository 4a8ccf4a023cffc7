//! Which dependencies come about only in a new turn of a loop.

use super::control::forward_order;
use super::facts::Facts;
use super::graph::{Edge, Graph, Kind, Node, What};
use super::lines::Place;
use crate::ir::model::{FunctionId, Location};

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
    /// Whether something depends on a node only in a new turn of a loop.
    #[must_use]
    pub fn is_new_turn(&self, from: Node, edge: &Edge) -> bool {
        let positions = || self.position(edge.to).zip(self.position(from));
        edge.kind == Kind::Inside && positions().is_some_and(|(to, from)| to < from)
    }

    /// Whether a function can get from one place to another one only in a new turn of a loop.
    #[must_use]
    pub fn goes_back(&self, function: FunctionId, from: &Place, to: &Place) -> bool {
        let last = self.positions(function, to).max();
        last.zip(self.positions(function, from).min()).is_some_and(|(to, from)| to < from)
    }

    /// Where a function has instructions of one line and column.
    fn positions(&self, function: FunctionId, place: &Place) -> impl Iterator<Item = (u32, u32)> {
        let is_there = |at: &Location| at.line == place.line && Some(at.column) == place.column;
        let order = &self.turns.0[function as usize];
        let blocks = order.iter().zip(&self.facts.program.function(function).blocks);
        blocks.flat_map(move |(&block, it)| {
            let instructions = (1..).zip(&it.instructions);
            let there = instructions.filter(move |(_, it)| it.at.as_ref().is_some_and(is_there));
            there.map(move |(index, _)| (block, index))
        })
    }

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
