//! One operation of one thread: what it comes after, and the marks that it leaves.

use super::Split;
use super::graph::{Graph, Mark};
use super::marks::{Marks, Tables};
use super::splits::Splits;
use crate::analysis::clock::Slot;
use crate::event::Event;

pub struct Step<'a> {
    pub graph: &'a mut Graph,
    pub tables: &'a mut Tables,
    pub splits: &'a mut Splits,
    pub slot: Slot,
    pub event: &'a Event,
    pub found: &'a mut dyn FnMut(Split),
}

impl Step<'_> {
    /// The operation comes after one that left this mark.
    #[inline]
    pub fn after(&mut self, mark: Mark) {
        if !self.graph.order(mark, self.slot) {
            self.split_by(mark);
        }
    }

    #[inline]
    pub fn after_all(&mut self, marks: &Marks) {
        for at in 0..marks.len(self.tables) {
            self.after(marks.get(at, self.tables));
        }
    }

    /// The operation's mark, to be put in the place of another one.
    #[inline]
    #[must_use]
    pub fn mark_instead_of(&mut self, old: Mark) -> Mark {
        // Every event that leaves a mark has a kind, or nobody would have taken it for an operation.
        let Some(kind) = self.event.kind() else { return old };
        if self.is_own(old) {
            return old.moved_to(kind, self.event.pc);
        }
        let new = self.graph.mark(self.slot, kind, self.event.pc);
        self.graph.release(old);
        new
    }

    /// Whether the mark is of the thread's present transaction.
    #[inline]
    pub fn is_own(&self, mark: Mark) -> bool {
        self.graph.is_present(self.slot, mark)
    }

    #[cold]
    pub fn split_by(&mut self, mark: Mark) {
        self.splits.add(self.graph, self.slot, self.event, mark, self.found);
    }
}
