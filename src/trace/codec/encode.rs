//! Events to bytes.

use super::column::{Column, VARINT};
use super::model::{Class, Model};
use super::{COLUMNS, SURPRISE, address, place, zigzag};
use crate::event::Event;

/// Encodes chunks, one after the other. Keeps nothing but its buffers between them.
#[derive(Debug, Default)]
pub struct Encoder {
    model: Model,
    index: Index,
    codes: Column,
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
        self.codes.reset(events.len());
        self.addresses.reset(events.len() * size_of::<u64>());
        self.locations.reset(events.len() * 2 * VARINT);
        self.numbers.reset(events.len() * 3 * VARINT);
        for event in events {
            self.event(event);
        }
        let columns: [&Column; COLUMNS] = [&self.codes, &self.addresses, &self.locations, &self.numbers];
        let mut sizes = Column::default();
        sizes.reset(COLUMNS * VARINT);
        for column in columns {
            sizes.varint(column.written().len() as u64);
        }
        out.extend_from_slice(sizes.written());
        for column in columns {
            out.extend_from_slice(column.written());
        }
    }

    #[inline(always)]
    fn event(&mut self, event: &Event) {
        let [head, object, pc] = event.words();
        let class = Class::of(head);
        let key = class.key(head);
        let number = head >> class.shift();
        if class == Class::Raw {
            return self.raw(key, number, object, pc);
        }
        let (index, place) = self.place(pc, key);
        let location = self.model.location(index);
        let expected = self.model.number(class, location, object);
        let surprise = if number == expected { 0 } else { SURPRISE };
        let by = self.address(index, object);
        if surprise != 0 {
            self.numbers.varint(zigzag(number.wrapping_sub(expected)));
        }
        self.codes.byte(place << place::SHIFT | surprise | by);
        self.model.learn(class, index, object, number);
    }

    /// Goes to the location of an event, and says how that was told.
    #[inline(always)]
    fn place(&mut self, pc: u64, key: u64) -> (u32, u8) {
        let expected = self.model.expected();
        let is = |index: u32| {
            let location = self.model.location(index);
            location.pc == pc && location.key == key
        };
        if is(expected[0]) {
            self.model.go_on(expected[0]);
            return (expected[0], place::FIRST);
        }
        let (index, place) = if is(expected[1]) { (expected[1], place::SECOND) } else { self.look_up(pc, key) };
        self.model.turn_off(index);
        (index, place)
    }

    fn look_up(&mut self, pc: u64, key: u64) -> (u32, u8) {
        let slot = match self.index.find(pc, key, &self.model) {
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

    #[inline(always)]
    fn address(&mut self, index: u32, object: u64) -> u8 {
        let location = self.model.location(index);
        let [by_stride, by_offset] = self.model.addresses(location);
        if object == by_stride {
            return address::STRIDE;
        }
        if object == by_offset {
            return address::OFFSET;
        }
        let [from_last, from_before] = self.model.origins(location).map(|origin| distance(object.wrapping_sub(origin)));
        let (origin, (unit, length, distance)) =
            if from_last.1 < from_before.1 { (0, from_last) } else { (1, from_before) };
        self.addresses.low_bytes(distance, address::LENGTHS[length as usize]);
        address::DISTANCE + (origin * 2 + unit) * address::LENGTHS.len() as u8 + length
    }

    /// An event without a location: all of it goes with the numbers.
    #[cold]
    fn raw(&mut self, key: u64, number: u64, object: u64, pc: u64) {
        let (index, place) = self.place(0, key);
        self.codes.byte(place << place::SHIFT);
        for word in [number, object, pc] {
            self.numbers.varint(word);
        }
        self.model.learn(Class::Raw, index, 0, 0);
    }
}

/// The unit of a distance, the place of its length, and its value. Most distances are multiples of a word.
#[inline(always)]
fn distance(distance: u64) -> (u8, u8, u64) {
    let unit = u8::from(distance & 7 == 0);
    let value = zigzag((distance as i64 >> (3 * unit)) as u64);
    let bytes = (64 - value.leading_zeros()).div_ceil(8);
    (unit, address::LENGTH_FOR[bytes as usize], value)
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
    fn find(&self, pc: u64, key: u64, model: &Model) -> Result<u32, usize> {
        let hash = (pc ^ key.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mask = self.slots.len() - 1;
        let mut at = (hash >> 32) as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.chunk != self.chunk {
                return Err(at);
            }
            let location = model.location(slot.location);
            if location.pc == pc && location.key == key {
                return Ok(slot.location);
            }
            at = (at + 1) & mask;
        }
    }

    fn put(&mut self, slot: usize, location: u32) {
        self.slots[slot] = Slot { chunk: self.chunk, location };
    }
}
