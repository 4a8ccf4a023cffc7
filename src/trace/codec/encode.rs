//! Events to bytes.

use super::column::{Column, VARINT};
use super::model::{Class, Locations, Stripes};
use super::{COLUMNS, Code, FAR, NO_ROOM, zigzag};
use crate::event::{Event, Kind};

/// Encodes chunks, one after the other. Keeps nothing but its buffers between them.
#[derive(Debug, Default)]
pub struct Encoder {
    index: Index,
    stripes: Stripes,
    codes: Vec<u8>,
    tail: Tail,
}

/// The columns that not every event adds to.
#[derive(Debug, Default)]
struct Tail {
    numbers: Column,
    locations: Column,
    addresses: Column,
    /// The code location of the newest location: others are mostly near.
    newest: u64,
}

impl Encoder {
    #[must_use]
    pub fn new() -> Encoder {
        Encoder::default()
    }

    /// Appends the bytes of one chunk to `out`. Returns how many of them, at the end, are addresses: these repeat less than the
    /// rest.
    pub fn encode(&mut self, events: &[Event], out: &mut Vec<u8>) -> usize {
        self.index.reset();
        self.stripes.reset();
        self.tail.reset(events.len());
        self.codes.resize(events.len() * size_of::<u16>(), 0);
        if is_x86_feature_detected!("lzcnt") && is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2") {
            // SAFETY: the processor has just said that it can.
            unsafe { self.tell_all_quickly(events) };
        } else {
            self.tell_all(events);
        }
        let [numbers, locations, addresses] =
            [&self.tail.numbers, &self.tail.locations, &self.tail.addresses].map(Column::written);
        let columns: [&[u8]; COLUMNS] = [&self.codes, numbers, locations, addresses];
        let mut sizes = Column::default();
        sizes.reset(COLUMNS * VARINT);
        for column in columns {
            sizes.varint(column.len() as u64);
        }
        out.extend_from_slice(sizes.written());
        for column in columns {
            out.extend_from_slice(column);
        }
        addresses.len()
    }

    /// The same for processors that count leading zeros at once, as all of the last ten years do. A fifth less time.
    #[target_feature(enable = "lzcnt,bmi1,bmi2")]
    fn tell_all_quickly(&mut self, events: &[Event]) {
        self.tell_all(events);
    }

    #[inline(always)]
    fn tell_all(&mut self, events: &[Event]) {
        let (codes, _) = self.codes.as_chunks_mut();
        let mut done = 0;
        loop {
            done += usual(&events[done..], &mut codes[done..], &mut self.index, &mut self.tail.addresses);
            let Some(event) = events.get(done) else { break };
            codes[done] = unusual(event, &mut self.index, &mut self.stripes, &mut self.tail).to_bytes();
            done += 1;
        }
    }
}

/// Tells accesses and functions that are entered and left, as long as their locations are known and all of them fits into
/// codes and addresses. Returns how many. This is where the time goes, so there is nothing in it that not every event needs.
#[inline(always)]
fn usual(events: &[Event], codes: &mut [[u8; 2]], index: &mut Index, addresses: &mut Column) -> usize {
    let (newest, locations) = (&*index.newest, index.locations.all());
    let mut addresses = addresses.writer();
    let mut done = 0;
    for (event, code) in events.iter().zip(codes) {
        let [head, object, pc] = event.words();
        let mask = USUAL[head as u8 as usize];
        let key = head & mask;
        let location = newest[slot_of(pc, key)];
        let number = (head & !mask) >> 48;
        let Some(known) = locations.get_mut(location as usize) else { break };
        if mask == 0 || known.pc != pc || known.key != key || number >= NO_ROOM {
            break;
        }
        let distance = zigzag(object.wrapping_sub(known.last));
        if distance >= FAR {
            break;
        }
        known.last = object;
        let length = length_of(distance);
        addresses.low_bytes(distance, length);
        *code = Code { location, length, number: number as u8 }.to_bytes();
        done += 1;
    }
    addresses.finish();
    done
}

/// By the code of a kind: the part of the head that belongs to the location, if the event can be a usual one.
static USUAL: [u64; 256] = {
    let mut masks = [0; 256];
    masks[Kind::Read as usize] = Class::Access.key_mask();
    masks[Kind::Write as usize] = Class::Access.key_mask();
    masks[Kind::Enter as usize] = Class::Frame.key_mask();
    masks[Kind::Leave as usize] = Class::Frame.key_mask();
    masks
};

/// Bytes of a distance that is not [`FAR`].
#[inline(always)]
fn length_of(distance: u64) -> u8 {
    (64 - distance.leading_zeros()).div_ceil(8) as u8
}

/// Tells any event.
#[inline(never)]
fn unusual(event: &Event, index: &mut Index, stripes: &mut Stripes, tail: &mut Tail) -> Code {
    let [head, object, pc] = event.words();
    let class = Class::of(head);
    let key = head & class.key_mask();
    let location = if class == Class::Raw { None } else { index.find(pc, key, tail) };
    let Some(location) = location else {
        tail.numbers.varint(head);
        tail.numbers.varint(object);
        tail.numbers.varint(zigzag(pc.wrapping_sub(tail.newest)));
        return Code::SPELT_OUT;
    };
    let last = std::mem::replace(&mut index.locations[location].last, object);
    let distance = zigzag(object.wrapping_sub(last));
    let length = if distance < FAR { length_of(distance) } else { Code::FAR };
    tail.addresses.low_bytes(distance, Code::BYTES[length as usize]);
    let mut number = (head & !class.key_mask()) >> class.number_shift();
    if class == Class::Ordered {
        number = stripes.distance(key, object, number);
    }
    if number >= NO_ROOM {
        tail.numbers.varint(number);
        number = NO_ROOM;
    }
    Code { location, length, number: number as u8 }
}

impl Tail {
    fn reset(&mut self, events: usize) {
        self.newest = 0;
        self.numbers.reset(events * 3 * VARINT);
        self.locations.reset(events * 2 * VARINT);
        self.addresses.reset(events * size_of::<u64>());
    }

    /// Tells what names a new location.
    fn introduce(&mut self, pc: u64, key: u64) {
        self.locations.varint(key);
        self.locations.varint(zigzag(pc.wrapping_sub(self.newest)));
        self.newest = pc;
    }
}

/// Finds locations by what names them.
#[derive(Debug)]
struct Index {
    locations: Locations,
    /// By the hash of what names it: the newest location with that hash; 0 if there is none.
    newest: Box<[u16; SLOTS]>,
    /// By location: the one with the same hash that came before it.
    older: Vec<u16>,
}

/// So many that two locations of a chunk rarely share one, and few enough to be cleared for every chunk.
const SLOTS: usize = 4096;

#[inline(always)]
fn slot_of(pc: u64, key: u64) -> usize {
    let mixed = (pc ^ key).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> (64 - SLOTS.trailing_zeros())) as usize
}

impl Default for Index {
    fn default() -> Index {
        Index { locations: Locations::default(), newest: Box::new([0; SLOTS]), older: Vec::new() }
    }
}

impl Index {
    fn reset(&mut self) {
        self.locations.reset();
        self.newest.fill(0);
        self.older.clear();
        self.older.push(0);
    }

    /// The location that has these names. A new one is told. `None` if it is new and there are no codes left.
    fn find(&mut self, pc: u64, key: u64, tail: &mut Tail) -> Option<u16> {
        let slot = slot_of(pc, key);
        let mut location = self.newest[slot];
        while location != 0 {
            let known = self.locations[location];
            if known.pc == pc && known.key == key {
                return Some(location);
            }
            location = self.older[location as usize];
        }
        let added = self.locations.add(pc, key)?;
        tail.introduce(pc, key);
        self.older.push(self.newest[slot]);
        self.newest[slot] = added;
        Some(added)
    }
}
