//! A number for each cell of memory. Neighbours lie together, as they do in the program.

use rustc_hash::FxHashMap;
use std::ops::RangeInclusive;

/// Of a cell that has none.
pub const NO_PIECE: u32 = u32::MAX;

/// Cells of a page.
const PAGE: u64 = 64;

type Page = [u32; PAGE as usize];

#[derive(Default)]
pub struct Pages {
    /// Where each page is, by address.
    places: FxHashMap<u64, u32>,
    content: Vec<Page>,
    /// The last one that was asked for.
    last: Option<(u64, u32)>,
}

impl Pages {
    #[inline]
    pub fn of(&mut self, cell: u64) -> &mut u32 {
        let number = cell / PAGE;
        let place = match self.last {
            Some((last, place)) if last == number => place,
            _ => self.place(number),
        };
        &mut self.content[place as usize][(cell % PAGE) as usize]
    }

    #[inline]
    fn place(&mut self, number: u64) -> u32 {
        let place = *self.places.entry(number).or_insert_with(|| {
            self.content.push([NO_PIECE; PAGE as usize]);
            self.content.len() as u32 - 1
        });
        self.last = Some((number, place));
        place
    }

    /// Those of these cells that have a number.
    pub fn among(&self, cells: RangeInclusive<u64>) -> Vec<u64> {
        let numbers = cells.start() / PAGE..=cells.end() / PAGE;
        let mut found = Vec::new();
        let mut look_into = |number: u64, place: u32| {
            let page = &self.content[place as usize];
            let used = (number * PAGE..).zip(page).filter(|(_, piece)| **piece != NO_PIECE);
            found.extend(used.map(|(cell, _)| cell).filter(|cell| cells.contains(cell)));
        };
        // A huge block may hold little that was accessed.
        if numbers.end() - numbers.start() > self.places.len() as u64 {
            let inside = self.places.iter().filter(|(number, _)| numbers.contains(number));
            inside.for_each(|(&number, &place)| look_into(number, place));
        } else {
            for number in numbers {
                if let Some(&place) = self.places.get(&number) {
                    look_into(number, place);
                }
            }
        }
        found
    }
}
