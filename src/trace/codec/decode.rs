//! Bytes to events. The bytes may be anything.

use std::fmt;

use super::column::Rest;
use super::model::{Class, Locations, Stripes};
use super::{COLUMNS, Code, NO_ROOM, unzigzag};
use crate::event::Event;

/// Decodes chunks, one after the other. Keeps nothing but its buffers between them.
#[derive(Debug, Default)]
pub struct Decoder {
    locations: Locations,
    stripes: Stripes,
}

/// Why bytes are not those of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeError {
    /// They say that there are more events than the caller allows.
    TooMany { events: u64 },
    /// A column ends before its last event.
    Truncated,
    /// Something is left over behind the last event.
    Leftover,
    /// They name a location that was never introduced.
    UnknownLocation,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::TooMany { events } => {
                write!(f, "says that it has {events} events, more than a chunk can hold")
            }
            DecodeError::Truncated => f.write_str("ends too early"),
            DecodeError::Leftover => f.write_str("goes on behind its last event"),
            DecodeError::UnknownLocation => f.write_str("names a code location that it never introduced"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Bytes of a code.
const CODE: u64 = 2;

/// The columns that not every event takes from.
struct Tail<'a> {
    numbers: Rest<'a>,
    locations: Rest<'a>,
    addresses: Rest<'a>,
    /// The code location of the newest location.
    newest: u64,
}

impl Decoder {
    #[must_use]
    pub fn new() -> Decoder {
        Decoder::default()
    }

    /// Appends the events of one chunk to `out`, at most `most`. If there is an error, those before it are appended.
    pub fn decode(&mut self, bytes: &[u8], most: usize, out: &mut Vec<Event>) -> Result<(), DecodeError> {
        let mut rest = Rest(bytes);
        let mut sizes = [0; COLUMNS];
        for size in &mut sizes {
            *size = rest.varint().ok_or(DecodeError::Truncated)?;
        }
        if sizes[0] / CODE > most as u64 {
            return Err(DecodeError::TooMany { events: sizes[0] / CODE });
        }
        let mut column = |size: u64| usize::try_from(size).ok().and_then(|size| rest.take(size));
        let [Some(codes), Some(numbers), Some(locations), Some(addresses)] = sizes.map(&mut column) else {
            return Err(DecodeError::Truncated);
        };
        let mut tail = Tail { numbers, locations, addresses, newest: 0 };
        self.locations.reset();
        self.stripes.reset();
        let (codes, half_code) = codes.0.as_chunks();
        out.reserve(codes.len());
        for &code in codes {
            out.push(self.event(Code::from_bytes(code), &mut tail)?);
        }
        let ends = [rest, tail.numbers, tail.locations, tail.addresses, Rest(half_code)];
        if ends.iter().all(Rest::is_empty) { Ok(()) } else { Err(DecodeError::Leftover) }
    }

    #[inline(always)]
    fn event(&mut self, code: Code, tail: &mut Tail) -> Result<Event, DecodeError> {
        let Some(location) = self.locations.all().get_mut(code.location as usize) else {
            return self.unknown(code, tail);
        };
        let distance = tail.addresses.low_bytes(Code::BYTES[code.length as usize]).ok_or(DecodeError::Truncated)?;
        let object = location.last.wrapping_add(unzigzag(distance));
        location.last = object;
        let mut number = u64::from(code.number);
        if number == NO_ROOM {
            number = tail.numbers.varint().ok_or(DecodeError::Truncated)?;
        }
        let (pc, key) = (location.pc, location.key);
        let class = Class::of(key);
        match class {
            Class::Access | Class::Counted => {}
            // What is not zero is damaged.
            Class::Frame => number = 0,
            Class::Ordered => number = self.stripes.number(key, object, number),
            Class::Raw => return Err(DecodeError::UnknownLocation),
        }
        Ok(Event::from_words([key | number << class.number_shift(), object, pc]))
    }

    /// An event at a new location, or at none.
    #[cold]
    fn unknown(&mut self, code: Code, tail: &mut Tail) -> Result<Event, DecodeError> {
        if code == Code::SPELT_OUT {
            return tail.spelt_out().ok_or(DecodeError::Truncated);
        }
        if code.location as usize != self.locations.all().len() {
            return Err(DecodeError::UnknownLocation);
        }
        let (pc, key) = tail.introduce().ok_or(DecodeError::Truncated)?;
        self.locations.add(pc, key).ok_or(DecodeError::UnknownLocation)?;
        self.event(code, tail)
    }
}

impl Tail<'_> {
    /// What names a new location.
    fn introduce(&mut self) -> Option<(u64, u64)> {
        let key = self.locations.varint()?;
        self.newest = self.newest.wrapping_add(unzigzag(self.locations.varint()?));
        Some((self.newest, key & Class::of(key).key_mask()))
    }

    fn spelt_out(&mut self) -> Option<Event> {
        let [head, object] = [self.numbers.varint()?, self.numbers.varint()?];
        let pc = self.newest.wrapping_add(unzigzag(self.numbers.varint()?));
        Some(Event::from_words([head, object, pc]))
    }
}
