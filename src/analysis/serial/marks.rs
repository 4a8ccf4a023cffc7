//! Sets of marks: operations that do not conflict with each other, of each thread the last. The reads of a variable since its last write are
//! one. A mark whose transaction comes before that of another mark need not be kept, and mostly there is only one.

use super::graph::{Graph, Mark};
use super::step::Step;

const NO_TABLE: u32 = u32::MAX;

pub struct Marks {
    /// If there is only one.
    one: Mark,
    /// Else they are here.
    table: u32,
}

/// Places for several marks, by the slot of their thread. They are used again.
#[derive(Default)]
pub struct Tables {
    tables: Vec<Vec<Mark>>,
    unused: Vec<u32>,
}

impl Default for Marks {
    fn default() -> Marks {
        Marks { one: Mark::NONE, table: NO_TABLE }
    }
}

impl Marks {
    /// How many places for marks there are, some of them empty.
    #[inline]
    pub fn len(&self, tables: &Tables) -> usize {
        if self.table == NO_TABLE { 1 } else { tables.tables[self.table as usize].len() }
    }

    #[inline]
    pub fn get(&self, at: usize, tables: &Tables) -> Mark {
        if self.table == NO_TABLE { self.one } else { tables.tables[self.table as usize][at] }
    }

    /// Adds the operation of a step, after it was put after all that it must come after.
    #[inline]
    pub fn add(&mut self, step: &mut Step) {
        if self.table == NO_TABLE {
            if self.one.is_none() || step.graph.knows(step.slot, self.one) {
                self.one = step.mark_instead_of(self.one);
                return;
            }
            self.table = step.tables.take(step.graph.slots());
            let one = std::mem::replace(&mut self.one, Mark::NONE);
            step.tables.tables[self.table as usize][one.slot() as usize] = one;
        }
        let (table, slot) = (self.table as usize, step.slot as usize);
        if step.tables.tables[table].len() <= slot {
            step.tables.tables[table].resize(slot + 1, Mark::NONE);
        }
        step.tables.tables[table][slot] = step.mark_instead_of(step.tables.tables[table][slot]);
    }

    #[inline]
    pub fn clear(&mut self, graph: &mut Graph, tables: &mut Tables) {
        graph.release(std::mem::replace(&mut self.one, Mark::NONE));
        if self.table != NO_TABLE {
            tables.give_back(std::mem::replace(&mut self.table, NO_TABLE), graph);
        }
    }

    /// The same marks again.
    pub fn copy(&self, graph: &mut Graph, tables: &mut Tables) -> Marks {
        graph.keep(self.one);
        let mut table = NO_TABLE;
        if self.table != NO_TABLE {
            let marks = tables.tables[self.table as usize].clone();
            for &mark in &marks {
                graph.keep(mark);
            }
            table = tables.take(0);
            tables.tables[table as usize] = marks;
        }
        Marks { one: self.one, table }
    }
}

impl Tables {
    fn take(&mut self, slots: usize) -> u32 {
        let table = self.unused.pop().unwrap_or_else(|| {
            self.tables.push(Vec::new());
            self.tables.len() as u32 - 1
        });
        self.tables[table as usize].resize(slots, Mark::NONE);
        table
    }

    fn give_back(&mut self, table: u32, graph: &mut Graph) {
        self.tables[table as usize].drain(..).for_each(|mark| graph.release(mark));
        self.unused.push(table);
    }
}
