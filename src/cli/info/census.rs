//! What the events of a trace add up to.

use super::sharing::Sharing;
use crate::analysis::lives::Memory;
use crate::event::{Event, Kind, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

/// What events say about a thread.
#[derive(Default, Clone)]
pub struct About {
    pub name: String,
    pub parent: Option<ThreadId>,
    /// Where it was created, and where it starts: code addresses, 0 if that is not known.
    pub created_at: u64,
    pub routine: u64,
}

/// Takes the events of a trace in merged order.
#[derive(Default)]
pub struct Census {
    kinds: [u64; Kind::ALL.len()],
    pub threads: FxHashMap<ThreadId, About>,
    pub sharing: Sharing,
    /// Addresses of locks that live, and how many have ended.
    live_locks: FxHashSet<u64>,
    ended_locks: u64,
    pub lost: u64,
    memory: Memory,
}

impl Census {
    pub fn step(&mut self, thread: ThreadId, event: &Event) {
        let Some(kind) = event.kind() else { return };
        self.kinds[kind as usize] += 1;
        if let Some(addresses) = self.memory.step(thread, event) {
            self.sharing.renew(addresses);
        }
        match kind {
            Kind::Read | Kind::AtomicLoad => self.sharing.touch(thread, event.object, event.size(), false),
            Kind::Write | Kind::AtomicStore | Kind::AtomicUpdate => {
                self.sharing.touch(thread, event.object, event.size(), true);
            }
            Kind::Acquire => {
                self.live_locks.insert(event.object);
            }
            Kind::LockInit | Kind::LockDestroy => {
                self.ended_locks += u64::from(self.live_locks.remove(&event.object));
            }
            Kind::Fork => {
                let about = self.threads.entry(event.object as ThreadId).or_default();
                (about.parent, about.created_at) = (Some(thread), event.pc);
            }
            Kind::Start => self.threads.entry(thread).or_default().routine = event.pc,
            Kind::Name => self.threads.entry(event.number() as ThreadId).or_default().name = event.text(),
            Kind::Lost => self.lost += event.number(),
            _ => {}
        }
    }

    /// The kinds that occur, with their counts.
    pub fn kinds(&self) -> impl Iterator<Item = (Kind, u64)> {
        Kind::ALL.iter().map(|kind| (*kind, self.kinds[*kind as usize])).filter(|(_, count)| *count > 0)
    }

    pub fn count(&self, kinds: &[Kind]) -> u64 {
        kinds.iter().map(|kind| self.kinds[*kind as usize]).sum()
    }

    /// Locks that were taken, each life of an address for itself.
    pub fn locks(&self) -> u64 {
        self.ended_locks + self.live_locks.len() as u64
    }
}
