//! Which transactions come before which: the graph of the run, as clocks.
//!
//! A *node* is a transaction, named by the slot of its thread and an index that grows with each node of the slot. What a node
//! *knows* are all nodes from which a path leads to it. An edge closes a cycle if its source knows its target.
//!
//! **Who can still learn.** A new edge ends in the transaction that its thread is in, so a node gains edges of its own only while it is
//! that one. Later it still learns what open nodes that it knows learn. Three rules keep all clocks true:
//!
//! - The row of a thread, that of its present node, is always complete: when an open block learns something, the rows of all
//!   threads that know the block learn it too. Most blocks are known to nobody while they are open.
//! - A node that its thread has left keeps the open blocks that it knew as its *sources*. What these know counts as known to it.
//! - When a source has been left too, its row and its own sources take its place, as soon as somebody asks. Until then the node keeps
//!   them. A chain of such sources has no two nodes of one thread, or it would be a part of a cycle: so it is short.
//!
//! **What one node may stand for.** Outside blocks every operation is a transaction of its own. One that learns nothing may share
//! the node before it: whatever leads to it leads to that node already. A node of which no operation has been left anywhere
//! can have no edge to others, so it may go on learning: whatever comes next, in a block or not, shares it.

use super::rows::{Row, Rows};
use super::{Block, Footprint};
use crate::analysis::clock::Slot;
use crate::event::{Kind, ThreadId};
use rustc_hash::FxHashMap;

/// A node that is named somewhere, by its place. Nodes that nobody names have none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeId(u32);

const NO_NODE: NodeId = NodeId(u32::MAX);

/// An operation that later ones may conflict with. Every copy is counted in its node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    node: NodeId,
    /// The slot, above a byte for the kind.
    origin: u32,
    /// Of the node. With the slot it tells who knows the operation, without a look at the node.
    index: u64,
    pub pc: u64,
}

const _: () = assert!(size_of::<Mark>() == 24, "there are two for each variable");

impl Mark {
    /// No operation.
    pub const NONE: Mark = Mark { node: NO_NODE, origin: 0, index: 0, pc: 0 };

    #[inline]
    pub fn is_none(&self) -> bool {
        self.node == NO_NODE
    }

    #[inline]
    pub fn slot(&self) -> Slot {
        self.origin >> 8
    }

    /// The mark of a later operation of the same node.
    #[inline]
    pub fn moved_to(self, kind: Kind, pc: u64) -> Mark {
        Mark { origin: self.slot() << 8 | kind as u32, pc, ..self }
    }

    pub fn kind(&self) -> Option<Kind> {
        Kind::from_code(self.origin as u8)
    }
}

pub struct Node {
    slot: Slot,
    index: u64,
    pub thread: ThreadId,
    pub block: Option<Block>,
    /// Its thread is in it: the thread's row is its row.
    present: bool,
    row: Row,
    /// Open blocks that it knew when its thread left it.
    sources: Vec<NodeId>,
}

pub struct Thread {
    pub id: ThreadId,
    row: Row,
    /// Of the present node. The row does not tell it.
    index: u64,
    /// The present node, as soon as somebody names it.
    node: NodeId,
    /// Another thread learned of the present node, which is a block.
    known: bool,
    /// The open blocks: the outermost, and how many.
    block: Option<Block>,
    depth: u32,
    /// The present node was told to be split.
    pub told: bool,
    ended: bool,
}

#[derive(Default)]
pub struct Graph {
    rows: Rows,
    nodes: Vec<Node>,
    /// Of each node: its marks, the nodes of which it is a source, and the thread that is in it. Apart from the nodes, since this is what
    /// changes all the time.
    refs: Vec<u32>,
    unused: Vec<NodeId>,
    threads: Vec<Thread>,
    by_id: FxHashMap<ThreadId, Slot>,
    /// Slots of open blocks that other threads know.
    known: Vec<Slot>,
    /// Room for the walks over nodes.
    path: Vec<NodeId>,
    doomed: Vec<NodeId>,
}

impl Graph {
    /// The slot of a thread. One whose creation was not seen knows nothing.
    pub fn slot_of(&mut self, thread: ThreadId) -> Slot {
        if let Some(&slot) = self.by_id.get(&thread) {
            return slot;
        }
        let slot = self.threads.len() as Slot;
        self.rows.make_room(slot);
        let row = self.rows.empty();
        self.threads.push(Thread::new(thread, row, 1));
        self.by_id.insert(thread, slot);
        slot
    }

    pub fn slots(&self) -> usize {
        self.threads.len()
    }

    pub fn footprint(&self) -> Footprint {
        let nodes = self.nodes.len() - self.unused.len();
        Footprint { slots: self.slots(), nodes, rows: self.rows.alive() }
    }

    /// Whether a mark names the present node of a thread.
    #[inline]
    pub fn is_present(&self, slot: Slot, mark: Mark) -> bool {
        mark.node == self.threads[slot as usize].node && !mark.is_none()
    }

    /// Whether the present node of a thread knows that of a mark, or is it.
    #[inline]
    pub fn knows(&self, slot: Slot, mark: Mark) -> bool {
        self.has_seen(slot, mark.slot(), mark.index)
    }

    #[inline]
    fn has_seen(&self, slot: Slot, other: Slot, index: u64) -> bool {
        other == slot || self.rows.get(self.threads[slot as usize].row, other) >= index
    }

    pub fn node(&self, mark: Mark) -> &Node {
        &self.nodes[mark.node.0 as usize]
    }

    pub fn thread(&mut self, slot: Slot) -> &mut Thread {
        &mut self.threads[slot as usize]
    }

    /// The outermost open block of a thread.
    pub fn block(&self, slot: Slot) -> Option<Block> {
        self.threads[slot as usize].block
    }

    /// Names the present node of a thread in a mark.
    #[inline]
    pub fn mark(&mut self, slot: Slot, kind: Kind, pc: u64) -> Mark {
        let node = self.name(slot);
        self.refs[node.0 as usize] += 1;
        self.mark_of(node, slot, kind, pc)
    }

    #[inline]
    fn mark_of(&self, node: NodeId, slot: Slot, kind: Kind, pc: u64) -> Mark {
        Mark { node, origin: slot << 8 | kind as u32, index: self.threads[slot as usize].index, pc }
    }

    /// A mark is copied.
    pub fn keep(&mut self, mark: Mark) {
        if !mark.is_none() {
            self.refs[mark.node.0 as usize] += 1;
        }
    }

    /// A mark is forgotten.
    #[inline]
    pub fn release(&mut self, mark: Mark) {
        if !mark.is_none() && self.let_go(mark.node) {
            self.forget(mark.node);
        }
    }

    /// Puts an operation before the one that a thread does now. False if that closes a cycle: then it is not done.
    #[inline]
    pub fn order(&mut self, before: Mark, slot: Slot) -> bool {
        before.is_none() || self.knows(slot, before) || self.learn(slot, before.node)
    }

    /// Whether this is an outermost one.
    pub fn begin_block(&mut self, slot: Slot, block: Block) -> bool {
        let is_outermost = self.threads[slot as usize].depth == 0;
        if is_outermost {
            self.leave(slot);
            self.threads[slot as usize].block = Some(block);
        }
        self.threads[slot as usize].depth += 1;
        is_outermost
    }

    pub fn end_block(&mut self, slot: Slot) {
        match self.threads[slot as usize].depth {
            0 => {}
            1 => self.end_blocks(slot),
            _ => self.threads[slot as usize].depth -= 1,
        }
    }

    pub fn end_blocks(&mut self, slot: Slot) {
        self.leave(slot);
        let thread = &mut self.threads[slot as usize];
        (thread.depth, thread.block) = (0, None);
    }

    /// The thread's transaction ends, and if it is a block goes on as the next one.
    pub fn leave(&mut self, slot: Slot) {
        let thread = &mut self.threads[slot as usize];
        let left = thread.node;
        if left == NO_NODE {
            return;
        }
        (thread.node, thread.told) = (NO_NODE, false);
        thread.index += 1;
        if std::mem::take(&mut thread.known) {
            self.known.retain(|&other| other != slot);
        }
        let row = thread.row;
        if self.let_go(left) {
            return self.unused.push(left);
        }
        let node = &mut self.nodes[left.0 as usize];
        (node.present, node.row) = (false, self.rows.share(row));
        for at in 0..self.known.len() {
            let open = self.known[at];
            let Thread { node, index, .. } = self.threads[open as usize];
            if self.has_seen(slot, open, index) {
                self.refs[node.0 as usize] += 1;
                self.nodes[left.0 as usize].sources.push(node);
            }
        }
    }

    /// All that `child` does comes after what the thread did so far.
    pub fn fork(&mut self, slot: Slot, child: ThreadId) {
        if self.by_id.contains_key(&child) {
            return;
        }
        let node = self.name(slot);
        self.publish(node);
        let Thread { row: known, index, .. } = self.threads[slot as usize];
        let mut row = self.rows.share(known);
        let seat = self.vacant(slot);
        self.rows.make_room(seat);
        self.rows.own(&mut row);
        self.rows.raise(row, slot, index);
        if let Some(last) = self.threads.get(seat as usize) {
            let (id, first) = (last.id, last.index + 1);
            self.leave(seat);
            self.rows.release(self.threads[seat as usize].row);
            self.by_id.remove(&id);
            self.threads[seat as usize] = Thread::new(child, row, first);
        } else {
            self.threads.push(Thread::new(child, row, 1));
        }
        self.by_id.insert(child, seat);
    }

    /// What the thread does now comes after all that `child` did. The mark, if that closes a cycle.
    pub fn join(&mut self, slot: Slot, child: ThreadId) -> Option<Mark> {
        let other = *self.by_id.get(&child)?;
        let node = self.name(other);
        let last = self.mark_of(node, other, Kind::End, 0);
        (!self.order(last, slot)).then_some(last)
    }

    /// The thread's last event.
    pub fn end(&mut self, slot: Slot) {
        self.end_blocks(slot);
        self.threads[slot as usize].ended = true;
    }

    /// A slot for a thread that this one creates: that of a thread all of which it comes after, or a new one. So two threads that share
    /// a slot really ran one after the other.
    fn vacant(&self, slot: Slot) -> Slot {
        let row = self.threads[slot as usize].row;
        let is_over = |(other, thread): (usize, &Thread)| {
            thread.ended && other != slot as usize && self.rows.get(row, other as Slot) >= thread.index
        };
        self.threads.iter().enumerate().position(is_over).unwrap_or(self.threads.len()) as Slot
    }

    /// The place of the present node.
    #[inline]
    fn name(&mut self, slot: Slot) -> NodeId {
        let node = self.threads[slot as usize].node;
        if node == NO_NODE { self.name_first(slot) } else { node }
    }

    fn name_first(&mut self, slot: Slot) -> NodeId {
        let thread = &mut self.threads[slot as usize];
        let (present, index, row) = (true, thread.index, thread.row);
        let (thread_id, block) = (thread.id, thread.block);
        let node = Node { slot, index, thread: thread_id, block, present, row, sources: Vec::new() };
        let id = if let Some(id) = self.unused.pop() {
            let place = &mut self.nodes[id.0 as usize];
            // It is empty, and its room is used again.
            let sources = std::mem::take(&mut place.sources);
            *place = Node { sources, ..node };
            self.refs[id.0 as usize] = 1;
            id
        } else {
            self.nodes.push(node);
            self.refs.push(1);
            NodeId(self.nodes.len() as u32 - 1)
        };
        thread.node = id;
        id
    }

    /// Somebody learns of a node.
    fn publish(&mut self, node: NodeId) {
        let Node { present, slot, .. } = self.nodes[node.0 as usize];
        let thread = &mut self.threads[slot as usize];
        if present && thread.depth > 0 && !std::mem::replace(&mut thread.known, true) {
            self.known.push(slot);
        }
    }

    fn row_of(&self, node: NodeId) -> Row {
        let node = &self.nodes[node.0 as usize];
        if node.present { self.threads[node.slot as usize].row } else { node.row }
    }

    /// Adds an edge from a node that the thread does not know. False if that closes a cycle: then it is not added.
    #[inline(never)]
    fn learn(&mut self, slot: Slot, from: NodeId) -> bool {
        self.settle(from);
        let (depth, known) = (self.threads[slot as usize].depth, self.threads[slot as usize].known);
        if depth == 0 {
            self.leave(slot);
        }
        let sources = std::mem::take(&mut self.nodes[from.0 as usize].sources);
        let serial = !(known && self.is_known_to(slot, from, &sources));
        if serial {
            self.rows.own(&mut self.threads[slot as usize].row);
            // Before those of the node itself, which tell that its sources are known.
            for &source in &sources {
                let Node { slot: other, index, .. } = self.nodes[source.0 as usize];
                if !self.has_seen(slot, other, index) {
                    self.take_over(slot, source);
                }
            }
            self.take_over(slot, from);
            self.publish(from);
            if known {
                self.pass_on(slot);
            }
        }
        self.nodes[from.0 as usize].sources = sources;
        serial
    }

    /// Whether the present node of a thread is known to a node with these sources.
    fn is_known_to(&self, slot: Slot, node: NodeId, sources: &[NodeId]) -> bool {
        let index = self.threads[slot as usize].index;
        [node].iter().chain(sources).any(|&node| self.rows.get(self.row_of(node), slot) >= index)
    }

    fn take_over(&mut self, slot: Slot, from: NodeId) {
        let row = self.threads[slot as usize].row;
        let Node { slot: other, index, .. } = self.nodes[from.0 as usize];
        self.rows.join(row, self.row_of(from));
        self.rows.raise(row, other, index);
    }

    /// Tells the threads that know the present node of this one what it knows.
    fn pass_on(&mut self, slot: Slot) {
        let Thread { row, index, .. } = self.threads[slot as usize];
        for (other, thread) in self.threads.iter_mut().enumerate() {
            if other != slot as usize && self.rows.get(thread.row, slot) >= index {
                self.rows.own(&mut thread.row);
                self.rows.join(thread.row, row);
            }
        }
    }

    #[inline]
    fn is_settled(&self, node: NodeId) -> bool {
        self.nodes[node.0 as usize].sources.iter().all(|source| self.nodes[source.0 as usize].present)
    }

    /// Puts what they knew in the place of sources that have been left.
    fn settle(&mut self, node: NodeId) {
        if self.is_settled(node) {
            return;
        }
        let mut path = std::mem::take(&mut self.path);
        path.push(node);
        while let Some(&last) = path.last() {
            let sources = &self.nodes[last.0 as usize].sources;
            if let Some(&source) = sources.iter().find(|&&source| !self.is_settled(source)) {
                path.push(source);
            } else {
                self.replace_sources(last);
                path.pop();
            }
        }
        self.path = path;
    }

    /// The same for a node whose sources are settled.
    fn replace_sources(&mut self, node: NodeId) {
        let mut sources = std::mem::take(&mut self.nodes[node.0 as usize].sources);
        let mut row = self.nodes[node.0 as usize].row;
        let mut at = 0;
        while let Some(&source) = sources.get(at) {
            if self.nodes[source.0 as usize].present {
                at += 1;
                continue;
            }
            self.rows.own(&mut row);
            self.rows.join(row, self.nodes[source.0 as usize].row);
            for next in 0..self.nodes[source.0 as usize].sources.len() {
                let next = self.nodes[source.0 as usize].sources[next];
                if !sources.contains(&next) {
                    self.refs[next.0 as usize] += 1;
                    sources.push(next);
                }
            }
            sources.swap_remove(at);
            if self.let_go(source) {
                self.forget(source);
            }
        }
        self.nodes[node.0 as usize].sources = sources;
        self.nodes[node.0 as usize].row = row;
    }

    /// One reference less. Whether that was the last.
    #[inline]
    fn let_go(&mut self, node: NodeId) -> bool {
        self.refs[node.0 as usize] -= 1;
        self.refs[node.0 as usize] == 0
    }

    fn forget(&mut self, node: NodeId) {
        let mut doomed = std::mem::take(&mut self.doomed);
        doomed.push(node);
        while let Some(node) = doomed.pop() {
            self.rows.release(self.nodes[node.0 as usize].row);
            self.unused.push(node);
            while let Some(source) = self.nodes[node.0 as usize].sources.pop() {
                if self.let_go(source) {
                    doomed.push(source);
                }
            }
        }
        self.doomed = doomed;
    }
}

impl Thread {
    fn new(id: ThreadId, row: Row, index: u64) -> Thread {
        Thread { id, row, index, node: NO_NODE, known: false, block: None, depth: 0, told: false, ended: false }
    }
}
