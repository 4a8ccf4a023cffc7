//! What was found: blocks that were not serialisable.

use super::graph::{Graph, Mark};
use super::{Block, Operation, Split};
use crate::analysis::clock::Slot;
use crate::event::Event;
use rustc_hash::FxHashMap;

#[derive(Default)]
pub struct Splits {
    /// How often each block was split.
    pub counts: FxHashMap<Block, u64>,
}

impl Splits {
    /// An operation closes a cycle. Each run of a block counts once, and each block is told once.
    pub fn add(&mut self, graph: &mut Graph, slot: Slot, event: &Event, before: Mark, found: &mut dyn FnMut(Split)) {
        let thread = graph.thread(slot);
        let id = thread.id;
        let is_news = !std::mem::replace(&mut thread.told, true);
        // Only a block can have edges to others before its last edge from others.
        let (Some(block), true) = (graph.block(slot), is_news) else { return };
        let (Some(kind), Some(before_kind)) = (event.kind(), before.kind()) else { return };
        let count = self.counts.entry(block).or_default();
        *count += 1;
        if *count == 1 {
            let node = graph.node(before);
            found(Split {
                block,
                object: event.object,
                operation: Operation { thread: id, kind, pc: event.pc, block: Some(block) },
                before: Operation { thread: node.thread, kind: before_kind, pc: before.pc, block: node.block },
            });
        }
    }
}
