//! Bytes to events. The bytes may be anything.

use std::fmt;

use super::column::Rest;
use super::model::{Class, Location, Model, Position};
use super::{COLUMNS, SURPRISE, address, place, unzigzag};
use crate::event::Event;

/// Decodes chunks, one after the other. Keeps nothing but its buffers between them.
#[derive(Debug, Default)]
pub struct Decoder {
    model: Model,
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
    /// They use a code that has no meaning.
    UnknownCode,
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
            DecodeError::UnknownCode => f.write_str("uses a code without a meaning"),
        }
    }
}

impl std::error::Error for DecodeError {}

struct Columns<'a> {
    addresses: Rest<'a>,
    locations: Rest<'a>,
    numbers: Rest<'a>,
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
        if sizes[0] > most as u64 {
            return Err(DecodeError::TooMany { events: sizes[0] });
        }
        let mut column = |size: u64| usize::try_from(size).ok().and_then(|size| rest.take(size));
        let [Some(codes), Some(addresses), Some(locations), Some(numbers)] = sizes.map(&mut column) else {
            return Err(DecodeError::Truncated);
        };
        let mut columns = Columns { addresses, locations, numbers, newest: 0 };
        self.model.reset();
        out.reserve(codes.0.len());
        let mut at = Position::default();
        for &code in codes.0 {
            at = self.event(at, code, &mut columns, out)?;
        }
        let ends = [rest, columns.addresses, columns.locations, columns.numbers];
        if ends.iter().all(Rest::is_empty) { Ok(()) } else { Err(DecodeError::Leftover) }
    }

    /// Appends the next event; returns where the thread is then.
    #[inline(always)]
    fn event(
        &mut self,
        at: Position,
        code: u8,
        columns: &mut Columns,
        out: &mut Vec<Event>,
    ) -> Result<Position, DecodeError> {
        let index = self.place(at.here, code >> place::SHIFT, columns)?;
        let location = self.model.find(index).ok_or(DecodeError::UnknownLocation)?;
        if !location.is_access() {
            return self.other(at, code, index, columns, out);
        }
        let object = address(code & address::MASK, location, at.address, columns)?;
        if code & SURPRISE != 0 {
            location.number = surprise(location.number, Class::Access, columns)?;
        }
        location.learn(object, at.address);
        let head = location.key | location.number << Class::Access.shift();
        out.push(Event::from_words([head, object, location.pc]));
        Ok(Position { here: index, address: object })
    }

    /// Anything but a plain access.
    #[inline(never)]
    fn other(
        &mut self,
        at: Position,
        code: u8,
        index: u32,
        columns: &mut Columns,
        out: &mut Vec<Event>,
    ) -> Result<Position, DecodeError> {
        let location = self.model.location(index);
        if location.is_empty() {
            return Err(DecodeError::UnknownLocation);
        }
        let (pc, key) = (location.pc, location.key);
        let class = Class::of(key);
        if class == Class::Raw {
            return self.raw(at, index, columns, out);
        }
        let object = address(code & address::MASK, location, at.address, columns)?;
        let mut number = self.model.number(class, index, object);
        if code & SURPRISE != 0 {
            number = surprise(number, class, columns)?;
        }
        out.push(Event::from_words([key | number << class.shift(), object, pc]));
        Ok(self.model.learn(at.address, class, index, object, number))
    }

    #[inline(always)]
    fn place(&mut self, here: u32, place: u8, columns: &mut Columns) -> Result<u32, DecodeError> {
        let [first, second] = self.model.expected(here);
        let index = match place {
            place::FIRST => first,
            place::SECOND => second,
            place::KNOWN => {
                let index = columns.locations.varint().ok_or(DecodeError::Truncated)?;
                u32::try_from(index).map_err(|_| DecodeError::UnknownLocation)?
            }
            _ => self.introduce(columns).ok_or(DecodeError::Truncated)?,
        };
        if place != place::FIRST {
            self.model.expect(here, index);
        }
        Ok(index)
    }

    #[inline(never)]
    fn introduce(&mut self, columns: &mut Columns) -> Option<u32> {
        let key = columns.locations.varint()?;
        let key = Class::of(key).key(key);
        columns.newest = columns.newest.wrapping_add(unzigzag(columns.locations.varint()?));
        Some(self.model.add(columns.newest, key))
    }

    #[cold]
    fn raw(
        &mut self,
        at: Position,
        index: u32,
        columns: &mut Columns,
        out: &mut Vec<Event>,
    ) -> Result<Position, DecodeError> {
        let key = self.model.location(index).key;
        let mut word = || columns.numbers.varint().ok_or(DecodeError::Truncated);
        let (number, object, pc) = (word()?, word()?, word()?);
        out.push(Event::from_words([key | number << Class::Raw.shift(), object, pc]));
        Ok(self.model.learn(at.address, Class::Raw, index, 0, 0))
    }
}

#[inline(always)]
fn address(by: u8, location: &Location, before: u64, columns: &mut Columns) -> Result<u64, DecodeError> {
    let [by_stride, by_offset] = location.addresses(before);
    match by {
        address::STRIDE => Ok(by_stride),
        address::OFFSET => Ok(by_offset),
        address::DISTANCE..address::CODES => {
            let code = by - address::DISTANCE;
            let lengths = address::LENGTHS.len() as u8;
            let (form, length) = (code / lengths, code % lengths);
            let value = columns.addresses.low_bytes(address::LENGTHS[length as usize]);
            let distance =
                unzigzag(value.ok_or(DecodeError::Truncated)?) << if form & 1 == 1 { address::WORD } else { 0 };
            Ok(location.origins(before)[form as usize / 2].wrapping_add(distance))
        }
        _ => Err(DecodeError::UnknownCode),
    }
}

/// A number that is not the expected one.
#[inline(always)]
fn surprise(expected: u64, class: Class, columns: &mut Columns) -> Result<u64, DecodeError> {
    let distance = columns.numbers.varint().ok_or(DecodeError::Truncated)?;
    // Only damaged bytes make a number that is too large for its place.
    Ok(expected.wrapping_add(unzigzag(distance)) & (u64::MAX >> class.shift()))
}
