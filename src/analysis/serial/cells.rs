//! The variables of a program: memory in cells of eight bytes, each cut into as many *pieces* as its accesses tell apart.

use super::graph::{Graph, Mark};
use super::marks::{Marks, Tables};
use super::pages::{NO_PIECE, Pages};
use super::step::Step;
use std::ops::Range;

const CELL: u64 = 8;

/// Bytes of one cell that were always accessed together.
#[repr(align(64))]
struct Piece {
    written: Mark,
    /// Reads since then.
    read: Marks,
    /// Another piece of the cell.
    next: u32,
    /// A bit for each byte.
    bytes: u8,
}

const _: () = assert!(size_of::<Piece>() == 64, "a look at a variable is one look at memory");

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

#[derive(Default)]
pub struct Cells {
    /// The first piece of each cell.
    first: Pages,
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
            let first = self.cut(step, *cells.start(), bytes_of(*cells.start(), address, last));
            if self.pieces[first as usize].next == NO_PIECE {
                let piece = &mut self.pieces[first as usize];
                piece.come_after(step, access);
                return piece.leave_mark(step, access);
            }
        }
        // The operation is one: it comes after all that it conflicts with before it leaves its first mark.
        for cell in cells.clone() {
            let bytes = bytes_of(cell, address, last);
            let first = self.cut(step, cell, bytes);
            self.each(first, bytes, |piece| piece.come_after(step, access));
        }
        for cell in cells {
            let first = *self.first.of(cell);
            self.each(first, bytes_of(cell, address, last), |piece| piece.leave_mark(step, access));
        }
    }

    /// New variables begin in this memory.
    pub fn forget(&mut self, memory: &Range<u64>, graph: &mut Graph, tables: &mut Tables) {
        if memory.is_empty() {
            return;
        }
        let cells = memory.start / CELL..=(memory.end - 1) / CELL;
        for cell in self.first.among(cells) {
            self.forget_in(cell, memory, graph, tables);
        }
    }

    fn forget_in(&mut self, cell: u64, memory: &Range<u64>, graph: &mut Graph, tables: &mut Tables) {
        let gone = bytes_of(cell, memory.start, memory.end - 1);
        let (mut at, mut kept) = (*self.first.of(cell), NO_PIECE);
        while at != NO_PIECE {
            let piece = &mut self.pieces[at as usize];
            let next = piece.next;
            piece.bytes &= !gone;
            if piece.bytes == 0 {
                graph.release(std::mem::replace(&mut piece.written, Mark::NONE));
                piece.read.clear(graph, tables);
                self.unused.push(at);
            } else {
                piece.next = kept;
                kept = at;
            }
            at = next;
        }
        *self.first.of(cell) = kept;
    }

    /// All variables are new.
    pub fn forget_all(&mut self, graph: &mut Graph, tables: &mut Tables) {
        self.first = Pages::default();
        self.unused.clear();
        for mut piece in self.pieces.drain(..) {
            graph.release(piece.written);
            piece.read.clear(graph, tables);
        }
    }

    /// Makes sure that some pieces of a cell are these bytes and no others. The first piece of the cell.
    #[inline]
    fn cut(&mut self, step: &mut Step, cell: u64, bytes: u8) -> u32 {
        let first = *self.first.of(cell);
        if first == NO_PIECE {
            let piece = Piece { bytes, next: NO_PIECE, written: Mark::NONE, read: Marks::default() };
            let first = self.add(piece);
            *self.first.of(cell) = first;
            return first;
        }
        let Piece { bytes: all, next, .. } = self.pieces[first as usize];
        if all != bytes || next != NO_PIECE {
            self.cut_pieces(step, first, bytes);
        }
        first
    }

    fn cut_pieces(&mut self, step: &mut Step, first: u32, bytes: u8) {
        let mut new = bytes;
        let mut at = first;
        while at != NO_PIECE {
            let piece = &mut self.pieces[at as usize];
            let (inside, outside, next) = (piece.bytes & bytes, piece.bytes & !bytes, piece.next);
            new &= !inside;
            if inside != 0 && outside != 0 {
                piece.bytes = inside;
                step.graph.keep(piece.written);
                let rest = Piece {
                    bytes: outside,
                    next,
                    written: piece.written,
                    read: piece.read.copy(step.graph, step.tables),
                };
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
                self.read.clear(step.graph, step.tables);
                self.written = step.mark_instead_of(self.written);
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
