//! One operation of one thread: what it comes after, and the marks that it leaves.

use super::Split;
use super::graph::{Graph, Mark};
use super::splits::Splits;
use crate::analysis::clock::Slot;
use crate::event::Event;

pub struct Step<'a> {
    pub graph: &'a mut Graph,
    pub splits: &'a mut Splits,
    pub room: &'a mut Vec<Vec<Mark>>,
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
        self.after(marks.one);
        for &mark in &marks.many {
            self.after(mark);
        }
    }

    /// Leaves the operation's mark in the place of another.
    #[inline]
    pub fn replace(&mut self, mark: &mut Mark) {
        if !self.is_own(*mark) {
            let new = self.new_mark();
            self.graph.release(std::mem::replace(mark, new));
        }
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

    fn new_mark(&mut self) -> Mark {
        // Every event that leaves a mark has a kind, or nobody would have taken it for an operation.
        let kind = self.event.kind().unwrap_or(Mark::NONE.kind);
        self.graph.mark(self.slot, kind, self.event.pc)
    }
}

/// Operations that do not conflict with each other, of each thread the last: the reads of a variable since its last write.
/// One that another of them comes after need not be kept.
pub struct Marks {
    /// If there is only one.
    one: Mark,
    /// Else by slot.
    many: Vec<Mark>,
}

impl Default for Marks {
    fn default() -> Marks {
        Marks { one: Mark::NONE, many: Vec::new() }
    }
}

impl Marks {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.one.is_none() && self.many.is_empty()
    }

    /// Adds the operation of a step that comes after all that it must come after.
    #[inline]
    pub fn add(&mut self, step: &mut Step) {
        if !self.many.is_empty() {
            self.add_to_many(step);
        } else if self.one.is_none() || step.graph.knows(step.slot, self.one.node) {
            step.replace(&mut self.one);
        } else {
            self.many = step.room.pop().unwrap_or_default();
            let slot = step.graph.slot(self.one);
            self.many.resize(slot as usize + 1, Mark::NONE);
            self.many[slot as usize] = std::mem::replace(&mut self.one, Mark::NONE);
            self.add_to_many(step);
        }
    }

    fn add_to_many(&mut self, step: &mut Step) {
        let slot = step.slot as usize;
        if self.many.len() <= slot {
            self.many.resize(slot + 1, Mark::NONE);
        }
        step.replace(&mut self.many[slot]);
    }

    /// Forgets them all; `room` is for whoever needs it next.
    pub fn clear(&mut self, graph: &mut Graph, room: &mut Vec<Vec<Mark>>) {
        graph.release(std::mem::replace(&mut self.one, Mark::NONE));
        if !self.many.is_empty() {
            let mut many = std::mem::take(&mut self.many);
            many.drain(..).for_each(|mark| graph.release(mark));
            room.push(many);
        }
    }

    /// The same marks again.
    pub fn copy(&self, graph: &mut Graph) -> Marks {
        for &mark in [self.one].iter().chain(&self.many) {
            graph.keep(mark);
        }
        Marks { one: self.one, many: self.many.clone() }
    }
}
