//! Events to bytes.

use super::column::{Column, VARINT};
use super::model::{Class, Location, Model};
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
        for (event, code) in events.iter().zip(&mut codes) {
            let [head, object, pc] = event.words();
            *code = if Class::is_access(head) { self.access(head, object, pc) } else { self.other(head, object, pc) };
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
    fn access(&mut self, head: u64, object: u64, pc: u64) -> u8 {
        let (index, place) = self.place(pc, Class::Access.key(head));
        let before = self.model.address;
        let location = self.model.location(index);
        let number = head >> Class::Access.shift();
        let surprise = number.wrapping_sub(location.number);
        let by = address(location, before, object);
        self.addresses.low_bytes(by.distance, by.length);
        self.model.learn_access(index, object, number);
        place << place::SHIFT | self.surprise(surprise) | by.code
    }

    #[inline(never)]
    fn other(&mut self, head: u64, object: u64, pc: u64) -> u8 {
        let class = Class::of(head);
        let key = class.key(head);
        let number = head >> class.shift();
        if class == Class::Raw {
            return self.raw(key, number, object, pc);
        }
        let (index, place) = self.place(pc, key);
        let surprise = number.wrapping_sub(self.model.number(class, index, object));
        let before = self.model.address;
        let by = address(self.model.location(index), before, object);
        self.addresses.low_bytes(by.distance, by.length);
        self.model.learn(class, index, object, number);
        place << place::SHIFT | self.surprise(surprise) | by.code
    }

    /// Tells how far a number is from the expected one, if it is another.
    #[inline(always)]
    fn surprise(&mut self, surprise: u64) -> u8 {
        let number = zigzag(surprise);
        if number < 0x80 {
            // No branch: whether a branch count is the expected one is often as good as random.
            self.numbers.low_bytes(number, u8::from(number != 0));
        } else {
            self.numbers.varint(number);
        }
        u8::from(number != 0) << SURPRISE.trailing_zeros()
    }

    /// Goes to the location of an event, and says how that was told.
    #[inline(always)]
    fn place(&mut self, pc: u64, key: u64) -> (u32, u8) {
        let [first, second] = self.model.expected();
        if self.model.location(first).is(pc, key) {
            self.model.go_on(first);
            return (first, place::FIRST);
        }
        let (index, place) =
            if self.model.location(second).is(pc, key) { (second, place::SECOND) } else { self.look_up(pc, key) };
        self.model.turn_off(index);
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
    fn raw(&mut self, key: u64, number: u64, object: u64, pc: u64) -> u8 {
        let (index, place) = self.place(0, key);
        for word in [number, object, pc] {
            self.numbers.varint(word);
        }
        self.model.learn(Class::Raw, index, 0, 0);
        place << place::SHIFT
    }
}

/// How an address is told: its part of the code byte, and the bytes of a distance.
struct By {
    code: u8,
    distance: u64,
    length: u8,
}

#[inline(always)]
fn address(location: &Location, before: u64, object: u64) -> By {
    let [by_stride, by_offset] = location.addresses(before);
    if object == by_stride {
        return By { code: address::STRIDE, distance: 0, length: 0 };
    }
    if object == by_offset {
        return By { code: address::OFFSET, distance: 0, length: 0 };
    }
    let [from_last, from_before] = location.origins(before).map(|origin| Distance::new(object.wrapping_sub(origin)));
    let (origin, Distance { unit, length, value }) =
        if from_last.length < from_before.length { (0, from_last) } else { (1, from_before) };
    let code = address::DISTANCE + (origin * 2 + unit) * address::LENGTHS.len() as u8 + length;
    By { code, distance: value, length: address::LENGTHS[length as usize] }
}

#[derive(Clone, Copy)]
struct Distance {
    /// 1 if it counts words: most distances are multiples of a word.
    unit: u8,
    /// Which of the lengths it needs.
    length: u8,
    value: u64,
}

impl Distance {
    #[inline(always)]
    fn new(distance: u64) -> Distance {
        let unit = u8::from(distance & 7 == 0);
        let value = zigzag((distance as i64 >> (3 * unit)) as u64);
        let bytes = (64 - value.leading_zeros()).div_ceil(8);
        Distance { unit, length: address::LENGTH_FOR[bytes as usize], value }
    }
}

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
