//! Vector clocks that are shared until they grow.
//!
//! A row has a component for each slot. What a thread knows changes far less often than it moves on to another transaction, so
//! rows are counted and copied only when one of several owners writes. All rows lie in one place and are used again.

use crate::analysis::clock::Slot;

/// A row by its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row(u32);

#[derive(Default)]
pub struct Rows {
    components: Vec<u64>,
    /// Distance between rows. At least `slots`.
    width: usize,
    /// Components that are in use, in all rows.
    slots: usize,
    /// Owners of each row.
    owners: Vec<u32>,
    unused: Vec<Row>,
}

impl Rows {
    /// A row of zeros with one owner.
    pub fn empty(&mut self) -> Row {
        let row = self.take();
        let start = self.start(row);
        self.components[start..start + self.width].fill(0);
        row
    }

    /// From now on every row has a component for `slot`.
    pub fn make_room(&mut self, slot: Slot) {
        self.slots = self.slots.max(slot as usize + 1);
        if self.slots <= self.width {
            return;
        }
        let wider = self.slots.next_power_of_two();
        let mut components = vec![0; wider * self.owners.len()];
        if self.width > 0 {
            for (new, old) in components.chunks_exact_mut(wider).zip(self.components.chunks_exact(self.width)) {
                new[..self.width].copy_from_slice(old);
            }
        }
        (self.components, self.width) = (components, wider);
    }

    /// One more owner.
    pub fn share(&mut self, row: Row) -> Row {
        self.owners[row.0 as usize] += 1;
        row
    }

    /// One owner less.
    pub fn release(&mut self, row: Row) {
        let owners = &mut self.owners[row.0 as usize];
        *owners -= 1;
        if *owners == 0 {
            self.unused.push(row);
        }
    }

    /// Gives an owner a row that it may write: the same one if it is the only owner, else a copy.
    #[inline]
    pub fn own(&mut self, row: &mut Row) {
        if self.owners[row.0 as usize] == 1 {
            return;
        }
        self.owners[row.0 as usize] -= 1;
        let copy = self.take();
        let (from, to) = (self.start(*row), self.start(copy));
        self.components.copy_within(from..from + self.slots, to);
        *row = copy;
    }

    #[inline]
    pub fn get(&self, row: Row, slot: Slot) -> u64 {
        self.components[self.start(row) + slot as usize]
    }

    /// Raises one component of a row with one owner.
    #[inline]
    pub fn raise(&mut self, row: Row, slot: Slot, index: u64) {
        let at = self.start(row) + slot as usize;
        self.components[at] = self.components[at].max(index);
    }

    /// Raises all components of a row with one owner to those of another.
    #[inline]
    pub fn join(&mut self, into: Row, from: Row) {
        let (into, from) = (self.start(into), self.start(from));
        // They are the same row only if there is nothing to learn.
        if let Ok([into, from]) = self.components.get_disjoint_mut([into..into + self.slots, from..from + self.slots]) {
            for (mine, theirs) in into.iter_mut().zip(from) {
                *mine = (*mine).max(*theirs);
            }
        }
    }

    /// Rows that have an owner.
    pub fn alive(&self) -> usize {
        self.owners.len() - self.unused.len()
    }

    #[inline]
    fn start(&self, row: Row) -> usize {
        row.0 as usize * self.width
    }

    fn take(&mut self) -> Row {
        if let Some(row) = self.unused.pop() {
            self.owners[row.0 as usize] = 1;
            return row;
        }
        self.owners.push(1);
        self.components.resize(self.width * self.owners.len(), 0);
        Row(self.owners.len() as u32 - 1)
    }
}
