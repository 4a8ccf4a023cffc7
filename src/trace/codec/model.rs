//! What both sides remember of a chunk so far, and what they expect next. The encoder and the decoder make the same
//! steps, so they always expect the same.

use crate::event::{Event, Kind};

/// How the head of an event is taken apart, by its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Class {
    /// Kind, detail and size belong to the location; the number is the branch count.
    Access,
    /// The number is one of a stripe.
    Ordered,
    Enter,
    Leave,
    /// The number is some count, at a location.
    Counted,
    /// Values, names and what nobody knows: not at a location, and nothing is expected.
    Raw,
}

static CLASSES: [Class; 256] = {
    let mut classes = [Class::Raw; 256];
    let mut code = 0;
    while code < Kind::ALL.len() {
        classes[code] = match Kind::ALL[code] {
            Kind::Read | Kind::Write => Class::Access,
            Kind::Enter => Class::Enter,
            Kind::Leave => Class::Leave,
            Kind::Value | Kind::Name => Class::Raw,
            kind if kind.is_ordered() => Class::Ordered,
            _ => Class::Counted,
        };
        code += 1;
    }
    classes
};

impl Class {
    /// The class of the kind in the low byte of a head or key.
    #[inline(always)]
    pub fn of(head: u64) -> Class {
        CLASSES[head as u8 as usize]
    }

    /// How far above the key in the head the number lies.
    #[inline(always)]
    pub fn shift(self) -> u32 {
        if self == Class::Access { 48 } else { 16 }
    }

    /// The part of the head that belongs to the location.
    #[inline(always)]
    pub fn key(self, head: u64) -> u64 {
        head & !(u64::MAX << self.shift())
    }
}

/// A place in the code that does one thing, and what is expected of it.
#[derive(Clone, Copy, Debug)]
pub struct Location {
    pub pc: u64,
    /// Kind, detail, and the size of an access.
    pub key: u64,
    /// Its last address, how that moved, and what it moves by when it moves steadily.
    last: u64,
    moved: u64,
    stride: u64,
    /// How far its last address was from that of the event before.
    offset: u64,
    /// Its last number; of an `Enter`, how far its stack pointer was from the caller's.
    pub number: u64,
    /// The locations that came next the last two times, the latest first. 0: none.
    next: [u32; 2],
}

/// The key of a location at which nothing happens.
const NOTHING: u64 = u64::MAX;

impl Location {
    const fn new(pc: u64, key: u64) -> Location {
        Location { pc, key, last: 0, moved: 0, stride: 0, offset: 0, number: 0, next: [0; 2] }
    }

    #[inline(always)]
    pub const fn is_access(&self) -> bool {
        Event::from_words([self.key, 0, 0]).is_plain_access()
    }

    /// Whether nothing can happen there.
    pub const fn is_empty(&self) -> bool {
        self.key == NOTHING
    }

    #[inline(always)]
    pub const fn is(&self, pc: u64, key: u64) -> bool {
        self.pc == pc && self.key == key
    }

    /// Where its address is expected: by its stride, and by its offset from that of the event before.
    #[inline(always)]
    pub const fn addresses(&self, before: u64) -> [u64; 2] {
        [self.last.wrapping_add(self.stride), before.wrapping_add(self.offset)]
    }

    /// What a distance may start from: its last address, and that of the event before.
    #[inline(always)]
    pub const fn origins(&self, before: u64) -> [u64; 2] {
        [self.last, before]
    }

    /// Remembers an address.
    #[inline(always)]
    pub fn learn(&mut self, address: u64, before: u64) {
        let moved = address.wrapping_sub(self.last);
        // One step out of the row does not change the stride: loops within loops start over now and then.
        self.stride = if moved == self.moved { moved } else { self.stride };
        self.moved = moved;
        self.last = address;
        self.offset = address.wrapping_sub(before);
    }
}

/// Open functions that are remembered.
const FRAMES: usize = 64;
/// Stripes that are told apart. Fewer than there are: a collision is a surprise, not an error.
const STRIPES: usize = 1024;
/// Bits of an `Enter`'s number that are the depth; the rest is the stack pointer.
const DEPTH_BITS: u32 = 20;
const DEPTH: u64 = (1 << DEPTH_BITS) - 1;
const STACK_POINTER: u64 = (1 << 28) - 1;

#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    /// Where it was entered; 0: unknown.
    location: u32,
    stack_pointer: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Stripe {
    /// The chunk in which it was used last: others need not be cleared.
    chunk: u32,
    next: u64,
}

/// Where a thread is. Apart from the model, and small, so that it stays in registers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position {
    /// The location of the last event, or the place in a caller that it returned to.
    pub here: u32,
    /// The address of the last event that has one.
    pub address: u64,
}

#[derive(Debug)]
pub struct Model {
    /// The first stands for "nowhere": before the first event, and where no location is expected.
    locations: Vec<Location>,
    depth: u64,
    frames: [Frame; FRAMES],
    chunk: u32,
    stripes: Box<[Stripe]>,
}

impl Default for Model {
    fn default() -> Model {
        Model {
            locations: Vec::new(),
            depth: 0,
            frames: [Frame::default(); FRAMES],
            chunk: 0,
            stripes: vec![Stripe::default(); STRIPES].into_boxed_slice(),
        }
    }
}

impl Model {
    /// Forgets everything, for the next chunk.
    pub fn reset(&mut self) {
        self.locations.clear();
        self.locations.push(Location::new(0, NOTHING));
        self.depth = 0;
        self.frames = [Frame::default(); FRAMES];
        self.chunk = self.chunk.wrapping_add(1);
        if self.chunk == 0 {
            self.stripes.fill(Stripe::default());
            self.chunk = 1;
        }
    }

    /// The two locations that are expected next.
    #[inline(always)]
    pub fn expected(&self, here: u32) -> [u32; 2] {
        self.locations[here as usize].next
    }

    #[inline(always)]
    pub fn location(&mut self, index: u32) -> &mut Location {
        &mut self.locations[index as usize]
    }

    /// The location with this index, if there is one: bytes that name it need not be right.
    #[inline(always)]
    pub fn find(&mut self, index: u32) -> Option<&mut Location> {
        self.locations.get_mut(index as usize)
    }

    pub fn add(&mut self, pc: u64, key: u64) -> u32 {
        let index = self.locations.len() as u32;
        self.locations.push(Location::new(pc, key));
        if Class::of(key) == Class::Enter {
            // The way back: what follows the return of this call. Nothing happens there.
            self.locations.push(Location::new(pc, NOTHING));
        }
        index
    }

    /// What was expected first did not come next: the next time it is this one.
    #[inline(always)]
    pub fn expect(&mut self, here: u32, index: u32) {
        let next = &mut self.locations[here as usize].next;
        *next = [index, next[0]];
    }

    /// The number that is expected at a location, of any class but accesses: these have it at hand.
    #[inline(always)]
    pub fn number(&self, class: Class, index: u32, object: u64) -> u64 {
        let location = &self.locations[index as usize];
        match class {
            Class::Access | Class::Counted => location.number,
            Class::Ordered => self.stripe_number(location.key, object),
            Class::Enter => {
                let caller = self.frame(self.depth.wrapping_sub(1)).stack_pointer;
                self.depth | (caller.wrapping_add(location.number) & STACK_POINTER) << DEPTH_BITS
            }
            Class::Leave => self.depth.wrapping_sub(1) & DEPTH,
            Class::Raw => 0,
        }
    }

    fn stripe_number(&self, key: u64, object: u64) -> u64 {
        let stripe = self.stripes[stripe_index(key, object)];
        if stripe.chunk == self.chunk { stripe.next } else { 0 }
    }

    fn frame(&self, depth: u64) -> Frame {
        self.frames[depth as usize % FRAMES]
    }

    /// Remembers what happened at a location. Returns where the thread is then.
    #[inline(always)]
    pub fn learn(&mut self, before: u64, class: Class, index: u32, object: u64, number: u64) -> Position {
        let location = &mut self.locations[index as usize];
        location.learn(object, before);
        // Code and counts are far from all data.
        let mut position = Position { here: index, address: before };
        match class {
            Class::Access | Class::Counted => location.number = number,
            Class::Ordered => {
                let next = number.wrapping_add(1);
                self.stripes[stripe_index(location.key, object)] = Stripe { chunk: self.chunk, next };
                position.address = object;
            }
            Class::Enter => self.enter(index, number),
            Class::Leave => position.here = self.leave(number).unwrap_or(index),
            Class::Raw => {}
        }
        position
    }

    fn enter(&mut self, index: u32, number: u64) {
        let depth = number & DEPTH;
        let stack_pointer = number >> DEPTH_BITS;
        let caller = self.frame(depth.wrapping_sub(1)).stack_pointer;
        self.locations[index as usize].number = stack_pointer.wrapping_sub(caller);
        self.frames[depth as usize % FRAMES] = Frame { location: index, stack_pointer };
        self.depth = depth + 1;
    }

    /// After a return the thread is in the caller, not at some place that all returns share.
    fn leave(&mut self, number: u64) -> Option<u32> {
        self.depth = number & DEPTH;
        let left = self.frame(self.depth);
        (left.location != 0).then(|| left.location + 1)
    }
}

#[inline(always)]
fn stripe_index(key: u64, object: u64) -> usize {
    Kind::from_code(key as u8).map_or(0, |kind| Event::stripe(kind, object) % STRIPES)
}
