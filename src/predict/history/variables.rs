//! The variables of a run: pieces of memory, each in one of its lives.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::shared::Survey;
use super::{At, NONE};
use crate::event::ThreadId;

/// A piece of memory that threads share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VariableInfo {
    pub address: u64,
    /// The allocation that it lies in.
    pub allocation: Option<Allocation>,
    /// What it held before its first write, where that is known.
    pub first_value: Option<u64>,
}

/// Where memory came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allocation {
    pub address: u64,
    pub size: u64,
    pub thread: ThreadId,
    pub pc: u64,
    /// The invocation that made it: see [`super::Frames`].
    pub frame: u32,
}

/// The variables that live now.
#[derive(Default)]
pub struct Variables {
    live: FxHashMap<u64, u32>,
    /// The last write of each variable.
    pub written: Vec<At>,
}

/// Pieces of a block that are followed to its end: what lies behind is not told as freed.
const MOST_FREED: usize = 256;

impl Variables {
    /// The variable that begins at an address.
    pub fn at(&mut self, address: u64, new: impl FnOnce() -> VariableInfo, all: &mut Vec<VariableInfo>) -> u32 {
        *self.live.entry(address).or_insert_with(|| {
            all.push(new());
            self.written.push(NONE);
            all.len() as u32 - 1
        })
    }

    /// The variables in a range, of each at most so many.
    pub fn within(&self, addresses: Range<u64>, survey: &Survey) -> Vec<u32> {
        let mut found = Vec::new();
        let size = addresses.end - addresses.start;
        let _ = survey.cuts.variables(addresses.start, size, |piece| {
            found.extend(self.live.get(&piece));
            if found.len() < MOST_FREED { Ok(()) } else { Err(()) }
        });
        found
    }

    /// Memory begins a new life.
    pub fn renew(&mut self, addresses: Range<u64>, survey: &Survey) {
        if self.live.is_empty() || addresses.is_empty() {
            return;
        }
        if (addresses.end - addresses.start) / 8 > self.live.len() as u64 {
            self.live.retain(|address, _| !addresses.contains(address));
            return;
        }
        let size = addresses.end - addresses.start;
        let _ = survey.cuts.variables::<()>(addresses.start, size, |piece| {
            self.live.remove(&piece);
            Ok(())
        });
    }
}
