//! Names for what lives at an address for a while: a number for each life, in the order of their begins.

use std::collections::BTreeMap;
use std::ops::Range;

/// The lives at the addresses of one kind of object.
#[derive(Default)]
pub struct Lives {
    by_address: BTreeMap<u64, u32>,
    begun: u32,
}

impl Lives {
    /// The life at `address`. It begins here if there is none.
    pub fn at(&mut self, address: u64) -> u32 {
        *self.by_address.entry(address).or_insert_with(|| {
            self.begun += 1;
            self.begun - 1
        })
    }

    /// The life at `address`, if there is one.
    pub fn known(&self, address: u64) -> Option<u32> {
        self.by_address.get(&address).copied()
    }

    /// Ends what lives at these addresses and tells what that was.
    pub fn end(&mut self, addresses: Range<u64>) -> Vec<u32> {
        if addresses.is_empty() {
            return Vec::new();
        }
        let ended: Vec<(u64, u32)> =
            self.by_address.range(addresses).map(|(&address, &life)| (address, life)).collect();
        for (address, _) in &ended {
            self.by_address.remove(address);
        }
        ended.into_iter().map(|(_, life)| life).collect()
    }
}
