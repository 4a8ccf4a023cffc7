//! Events to bytes.

use super::column::{Column, VARINT};
use super::model::{Class, Location, Model, Position};
use super::{COLUMNS, SURPRISE, address, place, zigzag};
use crate::event::Event;

/// Encodes chunks, one after the other. Keeps nothing but its buffers between them.
#[derive(Debug, Default)]
pub struct Encoder {
    model: Model,
    index: Index,
    codes: Vec<u8>,
    addresses: Column,
    locations: Column,
    numbers: Column,
    /// The code location of the newest location: others are mostly near.
    newest: u64,
}

impl Encoder {
    #[must_use]
    pub fn new() -> Encoder {
        Encoder::default()
    }

    /// Appends the bytes of one chunk to `out`.
    pub fn encode(&mut self, events: &[Event], out: &mut Vec<u8>) {
        self.model.reset();
        self.index.reset(events.len());
        self.newest = 0;
        self.codes.clear();
        self.codes.resize(events.len(), 0);
        self.addresses.reset(events.len() * size_of::<u64>());
        self.locations.reset(events.len() * 2 * VARINT);
        self.numbers.reset(events.len() * 3 * VARINT);
        let mut codes = std::mem::take(&mut self.codes);
        let mut at = Position::default();
        for (event, code) in events.iter().zip(&mut codes) {
            let [head, object, pc] = event.words();
            (*code, at) = if event.is_plain_access() {
                self.access(at, head, object, pc)
            } else {
                self.other(at, head, object, pc)
            };
        }
        self.codes = codes;
        let [addresses, locations, numbers] = [&self.addresses, &self.locations, &self.numbers].map(Column::written);
        let columns: [&[u8]; COLUMNS] = [&self.codes, addresses, locations, numbers];
        let mut sizes = Column::default();
        sizes.reset(COLUMNS * VARINT);
        for column in columns {
            sizes.varint(column.len() as u64);
        }
        out.extend_from_slice(sizes.written());
        for column in columns {
            out.extend_from_slice(column);
        }
    }

    #[inline(always)]
    fn access(&mut self, at: Position, head: u64, object: u64, pc: u64) -> (u8, Position) {
        let (index, place) = self.place(at.here, pc, Class::Access.key(head));
        let location = self.model.location(index);
        let number = head >> Class::Access.shift();
        let surprise = number.wrapping_sub(location.number);
        let by = address(location, at.address, object, &mut self.addresses);
        location.learn(object, at.address);
        location.number = number;
        let code = place << place::SHIFT | by | self.surprise(surprise);
        (code, Position { here: index, address: object })
    }

    /// Anything but a plain access.
    #[inline(never)]
    fn other(&mut self, at: Position, head: u64, object: u64, pc: u64) -> (u8, Position) {
        match Class::of(head) {
            Class::Enter => self.known(Class::Enter, at, head, object, pc),
            Class::Leave => self.known(Class::Leave, at, head, object, pc),
            Class::Ordered => self.known(Class::Ordered, at, head, object, pc),
            Class::Access | Class::Counted => self.known(Class::Counted, at, head, object, pc),
            Class::Raw => self.raw(at, head, object, pc),
        }
    }

    /// An event of a class that has locations. Written out for each class, since they differ in every step.
    #[inline(always)]
    fn known(&mut self, class: Class, at: Position, head: u64, object: u64, pc: u64) -> (u8, Position) {
        let (index, place) = self.place(at.here, pc, class.key(head));
        let number = head >> class.shift();
        let surprise = number.wrapping_sub(self.model.number(class, index, object));
        let by = address(self.model.location(index), at.address, object, &mut self.addresses);
        let code = place << place::SHIFT | by | self.surprise(surprise);
        (code, self.model.learn(at.address, class, index, object, number))
    }

    /// Tells how far a number is from the expected one, if it is another.
    #[inline(always)]
    fn surprise(&mut self, surprise: u64) -> u8 {
        if surprise == 0 {
            return 0;
        }
        self.numbers.varint(zigzag(surprise));
        SURPRISE
    }

    /// Finds the location of an event, and says how that is told.
    #[inline(always)]
    fn place(&mut self, here: u32, pc: u64, key: u64) -> (u32, u8) {
        let [first, second] = self.model.expected(here);
        if self.model.location(first).is(pc, key) {
            return (first, place::FIRST);
        }
        let (index, place) =
            if self.model.location(second).is(pc, key) { (second, place::SECOND) } else { self.look_up(pc, key) };
        self.model.expect(here, index);
        (index, place)
    }

    #[inline(never)]
    fn look_up(&mut self, pc: u64, key: u64) -> (u32, u8) {
        let slot = match self.index.find(pc, key, &mut self.model) {
            Ok(index) => {
                self.locations.varint(u64::from(index));
                return (index, place::KNOWN);
            }
            Err(slot) => slot,
        };
        self.locations.varint(key);
        self.locations.varint(zigzag(pc.wrapping_sub(self.newest)));
        self.newest = pc;
        let index = self.model.add(pc, key);
        self.index.put(slot, index);
        (index, place::NEW)
    }

    /// An event without a location: all of it goes with the numbers.
    #[cold]
    fn raw(&mut self, at: Position, head: u64, object: u64, pc: u64) -> (u8, Position) {
        let (index, place) = self.place(at.here, 0, Class::Raw.key(head));
        for word in [head >> Class::Raw.shift(), object, pc] {
            self.numbers.varint(word);
        }
        (place << place::SHIFT, self.model.learn(at.address, Class::Raw, index, 0, 0))
    }
}

/// Tells an address, and returns how.
#[inline(always)]
fn address(location: &Location, before: u64, object: u64, column: &mut Column) -> u8 {
    let [by_stride, by_offset] = location.addresses(before);
    if object == by_stride {
        return address::STRIDE;
    }
    if object == by_offset {
        return address::OFFSET;
    }
    let [last, before] = location.origins(before);
    let [from_last, from_before] = [last, before].map(|origin| zigzag(object.wrapping_sub(origin)));
    // Only if it is much nearer: the way from one object to the next repeats more often than that from turn to turn.
    let is_nearer = from_last < from_before >> NEARER;
    let distance = object.wrapping_sub(if is_nearer { last } else { before });
    let in_words = distance.trailing_zeros() >= address::WORD;
    let value = zigzag(distance) >> if in_words { address::WORD } else { 0 };
    let bytes = (64 - value.leading_zeros()).div_ceil(8);
    let length = address::LENGTH_FOR[bytes as usize];
    column.low_bytes(value, address::LENGTHS[length as usize]);
    let form = u8::from(!is_nearer) * 2 + u8::from(in_words);
    address::DISTANCE + form * address::LENGTHS.len() as u8 + length
}

/// A distance is so many bits shorter before it is worth a change of its origin.
const NEARER: u32 = 6;

/// Finds locations by what names them: open addressing, cleared by counting chunks.
#[derive(Debug, Default)]
struct Index {
    slots: Vec<Slot>,
    chunk: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    chunk: u32,
    location: u32,
}

impl Index {
    /// Forgets all locations; there is room for more than `locations`.
    fn reset(&mut self, locations: usize) {
        let needed = (2 * locations).next_power_of_two().max(2);
        self.chunk = self.chunk.wrapping_add(1);
        if self.slots.len() < needed || self.chunk == 0 {
            self.slots = vec![Slot::default(); needed.max(self.slots.len())];
            self.chunk = 1;
        }
    }

    /// The location, or the slot that it would take.
    fn find(&self, pc: u64, key: u64, model: &mut Model) -> Result<u32, usize> {
        let hash = (pc ^ key.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mask = self.slots.len() - 1;
        let mut at = (hash >> 32) as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.chunk != self.chunk {
                return Err(at);
            }
            if model.location(slot.location).is(pc, key) {
                return Ok(slot.location);
            }
            at = (at + 1) & mask;
        }
    }

    fn put(&mut self, slot: usize, location: u32) {
        self.slots[slot] = Slot { chunk: self.chunk, location };
    }
}
