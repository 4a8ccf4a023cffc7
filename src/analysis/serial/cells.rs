//! The variables of a program: memory in cells of eight bytes, each cut into as many *pieces* as its accesses tell apart.

use super::graph::{Graph, Mark};
use super::step::{Marks, Step};
use rustc_hash::FxHashMap;
use std::ops::Range;

const CELL: u64 = 8;
const NO_PIECE: u32 = u32::MAX;

/// Bytes of one cell that were always accessed together.
struct Piece {
    /// A bit for each byte.
    bytes: u8,
    /// Another piece of the cell.
    next: u32,
    written: Mark,
    /// Reads since then.
    read: Marks,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

#[derive(Default)]
pub struct Cells {
    /// The first piece of each cell, by address.
    first: FxHashMap<u64, u32>,
    pieces: Vec<Piece>,
    unused: Vec<u32>,
}

impl Cells {
    /// The step reads or writes `size` bytes.
    #[inline]
    pub fn access(&mut self, step: &mut Step, address: u64, size: u64, access: Access) {
        let Some(last) = size.checked_sub(1).map(|more| address.saturating_add(more)) else { return };
        let cells = address / CELL..=last / CELL;
        if cells.start() == cells.end() {
            let first = self.cut(step.graph, *cells.start(), bytes_of(*cells.start(), address, last));
            if self.pieces[first as usize].next == NO_PIECE {
                let piece = &mut self.pieces[first as usize];
                piece.come_after(step, access);
                return piece.leave_mark(step, access);
            }
        }
        // The operation is one: it comes after all that it conflicts with before it leaves its first mark.
        for cell in cells.clone() {
            let bytes = bytes_of(cell, address, last);
            let first = self.cut(step.graph, cell, bytes);
            self.each(first, bytes, |piece| piece.come_after(step, access));
        }
        for cell in cells {
            let first = self.first[&cell];
            self.each(first, bytes_of(cell, address, last), |piece| piece.leave_mark(step, access));
        }
    }

    /// New variables begin in this memory.
    pub fn forget(&mut self, memory: &Range<u64>, graph: &mut Graph, room: &mut Vec<Vec<Mark>>) {
        if memory.is_empty() {
            return;
        }
        let cells = memory.start / CELL..=(memory.end - 1) / CELL;
        // A huge block may hold little that was accessed.
        if cells.end() - cells.start() > self.first.len() as u64 {
            let inside: Vec<u64> = self.first.keys().copied().filter(|cell| cells.contains(cell)).collect();
            inside.into_iter().for_each(|cell| self.forget_in(cell, memory, graph, room));
        } else {
            cells.for_each(|cell| self.forget_in(cell, memory, graph, room));
        }
    }

    fn forget_in(&mut self, cell: u64, memory: &Range<u64>, graph: &mut Graph, room: &mut Vec<Vec<Mark>>) {
        let Some(&first) = self.first.get(&cell) else { return };
        let gone = bytes_of(cell, memory.start, memory.end - 1);
        let (mut at, mut kept) = (first, NO_PIECE);
        while at != NO_PIECE {
            let piece = &mut self.pieces[at as usize];
            let next = piece.next;
            piece.bytes &= !gone;
            if piece.bytes == 0 {
                graph.release(std::mem::replace(&mut piece.written, Mark::NONE));
                piece.read.clear(graph, room);
                self.unused.push(at);
            } else {
                piece.next = kept;
                kept = at;
            }
            at = next;
        }
        if kept == NO_PIECE {
            self.first.remove(&cell);
        } else {
            self.first.insert(cell, kept);
        }
    }

    /// All variables are new.
    pub fn forget_all(&mut self, graph: &mut Graph, room: &mut Vec<Vec<Mark>>) {
        self.first.clear();
        self.unused.clear();
        for mut piece in self.pieces.drain(..) {
            graph.release(piece.written);
            piece.read.clear(graph, room);
        }
    }

    /// Makes sure that some pieces of a cell are these bytes and no others. The first piece of the cell.
    #[inline]
    fn cut(&mut self, graph: &mut Graph, cell: u64, bytes: u8) -> u32 {
        let Some(&first) = self.first.get(&cell) else {
            let piece = Piece { bytes, next: NO_PIECE, written: Mark::NONE, read: Marks::default() };
            let first = self.add(piece);
            self.first.insert(cell, first);
            return first;
        };
        let Piece { bytes: all, next, .. } = self.pieces[first as usize];
        if all != bytes || next != NO_PIECE {
            self.cut_pieces(graph, first, bytes);
        }
        first
    }

    fn cut_pieces(&mut self, graph: &mut Graph, first: u32, bytes: u8) {
        let mut new = bytes;
        let mut at = first;
        while at != NO_PIECE {
            let piece = &mut self.pieces[at as usize];
            let (inside, outside, next) = (piece.bytes & bytes, piece.bytes & !bytes, piece.next);
            new &= !inside;
            if inside != 0 && outside != 0 {
                piece.bytes = inside;
                graph.keep(piece.written);
                let rest = Piece { bytes: outside, next, written: piece.written, read: piece.read.copy(graph) };
                let rest = self.add(rest);
                self.pieces[at as usize].next = rest;
            }
            at = next;
        }
        if new != 0 {
            let next = self.pieces[first as usize].next;
            let piece = Piece { bytes: new, next, written: Mark::NONE, read: Marks::default() };
            self.pieces[first as usize].next = self.add(piece);
        }
    }

    /// The pieces from `first` on that lie in these bytes.
    #[inline]
    fn each(&mut self, first: u32, bytes: u8, mut visit: impl FnMut(&mut Piece)) {
        let mut at = first;
        while at != NO_PIECE {
            let piece = &mut self.pieces[at as usize];
            if piece.bytes & bytes != 0 {
                visit(piece);
            }
            at = piece.next;
        }
    }

    fn add(&mut self, piece: Piece) -> u32 {
        if let Some(at) = self.unused.pop() {
            self.pieces[at as usize] = piece;
            return at;
        }
        self.pieces.push(piece);
        self.pieces.len() as u32 - 1
    }
}

impl Piece {
    #[inline]
    fn come_after(&self, step: &mut Step, access: Access) {
        step.after(self.written);
        if access == Access::Write {
            step.after_all(&self.read);
        }
    }

    #[inline]
    fn leave_mark(&mut self, step: &mut Step, access: Access) {
        match access {
            // Whoever comes after the transaction's write comes after its reads.
            Access::Read if step.is_own(self.written) => {}
            Access::Read => self.read.add(step),
            Access::Write => {
                if !self.read.is_empty() {
                    self.read.clear(step.graph, step.room);
                }
                step.replace(&mut self.written);
            }
        }
    }
}

/// Which bytes of a cell lie between two addresses, the last one included.
#[inline]
fn bytes_of(cell: u64, first: u64, last: u64) -> u8 {
    let start = cell * CELL;
    let from = first.saturating_sub(start).min(CELL - 1);
    let to = (last - start).min(CELL - 1);
    0xff << from & 0xff >> (CELL - 1 - to)
}
