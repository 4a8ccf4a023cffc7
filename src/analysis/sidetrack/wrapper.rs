//! Functions that take a lock for their caller: `std::mutex::lock`, the constructor of a guard, a library's own `lock()`.
//!
//! Such a wrapper is known by its deeds: it has returned when the lock that was acquired in it is released. Behind a
//! wrapper all acquires have the same code location; what tells them apart is where the wrapper was called.

use rustc_hash::FxHashSet;

use super::site::{Pools, Site};
use crate::analysis::Transaction;
use crate::analysis::stack::List;

/// Wrappers that are remembered. None is ever forgotten: a finding must keep its place.
const MOST_WRAPPERS: usize = 1 << 14;

/// The wrappers seen so far, each by the address inside the function that its invocations go by.
#[derive(Default)]
pub struct Wrappers {
    functions: FxHashSet<u64>,
}

/// Where an acquire is, seen from outside the wrappers around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub pc: u64,
    /// How many invocations of wrappers are on top of the stack.
    pub wrappers: usize,
}

impl Wrappers {
    /// A lock that was acquired with one stack is released with the other.
    #[inline]
    pub fn learn(&mut self, pools: &Pools, acquired: List, released: List) {
        if acquired != released {
            self.learn_returned(pools, acquired, released);
        }
    }

    #[inline(never)]
    fn learn_returned(&mut self, pools: &Pools, acquired: List, released: List) {
        let common = pools.stacks.meet(acquired, released).depth;
        // Nothing in common tells nothing: the thread left its base, or its stack was lost and is told anew.
        if common == 0 {
            return;
        }
        let returned = pools.stacks.depth(acquired) - common;
        for frame in pools.stacks.iter(acquired).take(returned as usize) {
            if let Transaction::Function { inside, .. } = frame.transaction
                && self.functions.len() < MOST_WRAPPERS
            {
                self.functions.insert(inside);
            }
        }
    }

    /// The place of an acquire: where its innermost function that is no wrapper acquires, or calls who does.
    #[inline]
    pub fn place(&self, pools: &Pools, site: &Site) -> Place {
        if self.functions.is_empty() { Place { pc: site.pc, wrappers: 0 } } else { self.place_outside(pools, site) }
    }

    #[inline(never)]
    fn place_outside(&self, pools: &Pools, site: &Site) -> Place {
        let mut place = Place { pc: site.pc, wrappers: 0 };
        for frame in pools.stacks.iter(site.stack) {
            match frame.transaction {
                // Without a known call the wrapper's own place is the best that there is.
                Transaction::Function { inside, call } if call != 0 && self.functions.contains(&inside) => {
                    place = Place { pc: call, wrappers: place.wrappers + 1 };
                }
                _ => break,
            }
        }
        place
    }
}
