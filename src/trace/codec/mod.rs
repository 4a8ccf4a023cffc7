//! The events of one chunk to bytes and back.
//!
//! A program is a loop around a few places in its code. The model remembers, for each such *location*, which location came
//! next the last time, how its address moved, and how it lay to the address before it; an event that comes as expected
//! is one code byte. What was not expected is spelt out. Nothing is carried over from one chunk to the next, so each can be
//! read without the others.
//!
//! ```text
//! sizes        of the four columns, as variable-length numbers; the first is also the number of events
//! codes        one byte per event: location (2 bits), number expected or not (1), how the address is told (5)
//! addresses    distances, 1 to 8 bytes each, as the code says
//! locations    of known ones the index, of new ones all that names them
//! numbers      distances from what was expected; what an event without prediction is made of
//! ```
//!
//! The columns lie apart because a general compressor, which follows, then finds what repeats in each of them.

mod column;
mod decode;
mod encode;
mod model;

pub use decode::{DecodeError, Decoder};
pub use encode::Encoder;

/// Columns of a chunk.
const COLUMNS: usize = 4;

/// How the code byte tells the location: the first or second that is expected, one by its index, or a new one.
mod place {
    pub const FIRST: u8 = 0;
    pub const SECOND: u8 = 1;
    pub const KNOWN: u8 = 2;
    pub const NEW: u8 = 3;
    pub const SHIFT: u32 = 6;
}

/// Flag of the code byte: the number is not the expected one.
const SURPRISE: u8 = 1 << 5;

/// How the code byte tells the address.
mod address {
    /// The location's last address and its stride.
    pub const STRIDE: u8 = 0;
    /// As far from the address of the event before as the last time.
    pub const OFFSET: u8 = 1;
    /// From here on: a distance, by what it starts from (the location's last address, the event before), by its unit
    /// (1 byte, 8 bytes), by its length.
    pub const DISTANCE: u8 = 2;
    pub const LENGTHS: [u8; 6] = [1, 2, 3, 4, 6, 8];
    pub const CODES: u8 = DISTANCE + 4 * LENGTHS.len() as u8;
    pub const MASK: u8 = 31;
    /// Bits that a distance in words lacks.
    pub const WORD: u32 = 3;

    /// By the bytes that a distance needs: the place of the length that holds it.
    pub const LENGTH_FOR: [u8; 9] = [0, 0, 1, 2, 3, 4, 4, 5, 5];
}

/// Small distances in either direction to small numbers.
#[inline(always)]
const fn zigzag(distance: u64) -> u64 {
    (distance << 1) ^ ((distance as i64 >> 63) as u64)
}

#[inline(always)]
const fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}
