//! The first pass over a trace: where memory is cut into variables, and which of it threads share.

use rustc_hash::FxHashMap;

use crate::analysis::cuts::Cuts;
use crate::analysis::lives::Memory;
use crate::analysis::sharing::Table;
use crate::event::{Event, Kind, ThreadId, access};

/// What must be known before the second pass.
#[derive(Default)]
pub struct Survey {
    pub(super) cuts: Cuts,
    sharing: Table,
    memory: Memory,
    /// Events of each thread that may become steps.
    counts: FxHashMap<ThreadId, usize>,
}

impl Survey {
    /// Takes the next event of the merged order.
    pub fn step(&mut self, thread: ThreadId, event: &Event) {
        if is_order_only(event) {
            return;
        }
        let size = event.size();
        if size > 0 || event.kind().is_some_and(Kind::is_ordered) {
            *self.counts.entry(thread).or_default() += 1;
        }
        if size > 0 {
            self.cuts.add(event.object, size);
            let is_write = matches!(event.kind(), Some(Kind::Write | Kind::AtomicStore | Kind::AtomicUpdate));
            self.sharing.touch(thread, event.object..event.object.saturating_add(size), is_write);
        } else if let Some(renewed) = self.memory.step(thread, event) {
            self.sharing.renew(renewed);
        } else if event.kind() == Some(Kind::Free)
            && let Some(freed) = self.memory.freed(thread)
        {
            self.sharing.free(thread, freed);
        }
    }

    /// How many steps there are at most, unless memory is cut into pieces smaller than what is accessed.
    pub(super) fn most_steps(&self) -> usize {
        self.counts.values().sum()
    }

    pub(super) fn most_steps_of(&self, thread: ThreadId) -> usize {
        self.counts.get(&thread).copied().unwrap_or(0)
    }

    /// Whether threads may share the memory at an address, in one of its lives.
    pub(super) fn is_shared(&self, address: u64) -> bool {
        self.sharing.was_ever_shared(address)
    }
}

/// A volatile access has no place in the order of the run but by the signals and waits around it: those keep the order that it makes, and the access
/// itself tells nothing that can be relied on.
pub fn is_order_only(event: &Event) -> bool {
    event.is_plain_access() && event.detail() & access::VOLATILE != 0
}
