//! What both sides remember of a chunk so far, and what they expect next. The encoder and the decoder make the same
//! steps, so they always expect the same.

use std::ops::{Index, IndexMut};

use super::Code;
use crate::event::{Event, Kind};

/// How the head of an event is taken apart, by its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Class {
    /// Kind, detail and size belong to the location; the number is the branch count.
    Access,
    /// All of it belongs to the location: a function that is called again from the same place mostly is as deep in the
    /// stack as before. There is no number.
    Frame,
    /// The number is one of a stripe.
    Ordered,
    /// The number is some count.
    Counted,
    /// Values, names and what nobody knows: not at a location.
    Raw,
}

static CLASSES: [Class; 256] = {
    let mut classes = [Class::Raw; 256];
    let mut code = 0;
    while code < Kind::ALL.len() {
        classes[code] = match Kind::ALL[code] {
            Kind::Read | Kind::Write => Class::Access,
            Kind::Enter | Kind::Leave => Class::Frame,
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

    /// The key of no location: one of a class that has none.
    pub const NONE: u64 = u64::MAX;

    /// How far up in the head the number is.
    #[inline(always)]
    pub const fn number_shift(self) -> u32 {
        if matches!(self, Class::Access) { 48 } else { 16 }
    }

    /// The part of the head that belongs to the location.
    #[inline(always)]
    pub const fn key_mask(self) -> u64 {
        match self {
            Class::Access => !(u64::MAX << 48),
            Class::Frame => u64::MAX,
            _ => !(u64::MAX << 16),
        }
    }
}

/// A place in the code that does one thing.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct Location {
    pub pc: u64,
    /// The head of its events but for the number.
    pub key: u64,
    /// Its last address.
    pub last: u64,
}

/// Stripes that are told apart. Fewer than there are: a collision is a surprise, not an error.
const STRIPES: usize = 1024;

#[derive(Clone, Copy, Debug, Default)]
struct Stripe {
    /// The chunk in which it was used last: others need not be cleared.
    chunk: u32,
    next: u64,
}

/// The numbers that are expected on stripes.
#[derive(Debug)]
pub struct Stripes {
    chunk: u32,
    stripes: Box<[Stripe; STRIPES]>,
}

impl Default for Stripes {
    fn default() -> Stripes {
        Stripes { chunk: 0, stripes: Box::new([Stripe::default(); STRIPES]) }
    }
}

impl Stripes {
    /// Forgets everything, for the next chunk.
    pub fn reset(&mut self) {
        self.chunk = self.chunk.wrapping_add(1);
        if self.chunk == 0 {
            self.stripes.fill(Stripe::default());
            self.chunk = 1;
        }
    }

    /// How far a number is from the expected one. The one after it is expected next.
    pub fn distance(&mut self, key: u64, object: u64, number: u64) -> u64 {
        let expected = self.expect_after(key, object);
        let distance = number.wrapping_sub(*expected) & Event::MAX_NUMBER;
        *expected = number.wrapping_add(1);
        distance
    }

    /// The number that is so far from the expected one.
    pub fn number(&mut self, key: u64, object: u64, distance: u64) -> u64 {
        let expected = self.expect_after(key, object);
        let number = expected.wrapping_add(distance) & Event::MAX_NUMBER;
        *expected = number.wrapping_add(1);
        number
    }

    fn expect_after(&mut self, key: u64, object: u64) -> &mut u64 {
        let stripe = &mut self.stripes[stripe_index(key, object)];
        if stripe.chunk != self.chunk {
            *stripe = Stripe { chunk: self.chunk, next: 0 };
        }
        &mut stripe.next
    }
}

#[inline(always)]
fn stripe_index(key: u64, object: u64) -> usize {
    Kind::from_code(key as u8).map_or(0, |kind| Event::stripe(kind, object) % STRIPES)
}

/// The locations of a chunk. The first is at 1; 0 is none.
#[derive(Debug, Default)]
pub struct Locations(Vec<Location>);

impl Locations {
    /// Forgets them.
    pub fn reset(&mut self) {
        self.0.clear();
        self.0.push(Location { pc: 0, key: Class::NONE, last: 0 });
    }

    /// Adds one, if there is a code left for it.
    pub fn add(&mut self, pc: u64, key: u64) -> Option<u16> {
        let location = self.0.len() as u16;
        (location <= Code::MOST_LOCATIONS).then(|| {
            self.0.push(Location { pc, key, last: 0 });
            location
        })
    }

    /// All of them, with the one that is none.
    #[inline(always)]
    pub fn all(&mut self) -> &mut [Location] {
        &mut self.0
    }
}

impl Index<u16> for Locations {
    type Output = Location;

    #[inline(always)]
    fn index(&self, index: u16) -> &Location {
        &self.0[index as usize]
    }
}

impl IndexMut<u16> for Locations {
    #[inline(always)]
    fn index_mut(&mut self, index: u16) -> &mut Location {
        &mut self.0[index as usize]
    }
}
