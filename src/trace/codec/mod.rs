//! The events of one chunk to bytes and back.
//!
//! A program is a loop around a few places in its code. Each such *location* gets a number where it first comes up, and
//! its last address is remembered. An event is then a code of two bytes, and the distance of its address from that one. Almost
//! every event goes the same way, without a decision that depends on what the program does: a processor that guesses one of
//! these wrong loses more time than all the rest takes. Nothing is carried over from one chunk to the next, so each can be
//! read without the others.
//!
//! ```text
//! sizes        of the four columns, as variable-length numbers
//! codes        two bytes per event: location (10 bits), length of the distance (3), number (3)
//! numbers      those without room in the code; events that are spelt out
//! locations    all that names a location, where it is new
//! addresses    distances, 0 to 8 bytes each, as the code says
//! ```
//!
//! The lowest location that was not used yet is a new one. When all are used, and for what happens at no place in the code,
//! events are spelt out. The number of an event on a stripe is told as the distance from the one that is expected there.
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

/// The code of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Code {
    /// 1 to [`Code::MOST_LOCATIONS`], or that of [`Code::SPELT_OUT`].
    location: u16,
    /// Stands for the length of the address distance.
    length: u8,
    /// The number, or [`NO_ROOM`].
    number: u8,
}

/// Numbers from here on have no room in the code.
const NO_ROOM: u64 = 7;

/// Distances from here on take eight bytes. No two addresses of a program are so far apart.
const FAR: u64 = 1 << 48;

impl Code {
    const MOST_LOCATIONS: u16 = (1 << 10) - 2;
    /// All of the event is with the numbers.
    const SPELT_OUT: Code = Code { location: Code::MOST_LOCATIONS + 1, length: 0, number: 0 };
    /// The length of a distance that is [`FAR`].
    const FAR: u8 = 7;
    /// By the length as the code has it: how many bytes that are.
    const BYTES: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 8];

    #[inline(always)]
    const fn to_bytes(self) -> [u8; 2] {
        (self.location | (self.length as u16) << 10 | (self.number as u16) << 13).to_le_bytes()
    }

    #[inline(always)]
    const fn from_bytes(bytes: [u8; 2]) -> Code {
        let code = u16::from_le_bytes(bytes);
        Code { location: code & 0x3ff, length: (code >> 10 & 7) as u8, number: (code >> 13) as u8 }
    }
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
