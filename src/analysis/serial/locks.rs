//! The locks of a program: who holds them, and which operations on them conflict.

use super::graph::{Graph, Mark};
use super::marks::{Marks, Tables};
use super::objects::Objects;
use super::step::Step;
use crate::event::{Mode, ThreadId};
use std::ops::Range;

struct Lock {
    holders: Vec<Holder>,
    /// The last exclusive acquire or release.
    exclusive: Mark,
    /// Shared ones since then.
    shared: Marks,
    /// Attempts that failed since then.
    refused: Marks,
}

struct Holder {
    thread: ThreadId,
    mode: Mode,
    depth: u32,
}

#[derive(Default)]
pub struct Locks(Objects<Lock>);

impl Locks {
    #[inline]
    pub fn acquire(&mut self, step: &mut Step, thread: ThreadId) {
        let lock = self.0.get_or_make(step.event.object, Lock::default);
        let mode = step.event.mode();
        if let Some(again) = lock.holders.iter_mut().find(|holder| holder.thread == thread) {
            again.depth += 1;
            return;
        }
        // Who would stand in the way has given it back unseen.
        lock.holders.retain(|holder| holder.mode == Mode::Shared && mode == Mode::Shared);
        lock.holders.push(Holder { thread, mode, depth: 1 });
        lock.operate(step, mode);
    }

    #[inline]
    pub fn release(&mut self, step: &mut Step, thread: ThreadId) {
        let lock = self.0.get_or_make(step.event.object, Lock::default);
        let mut mode = step.event.mode();
        if let Some(at) = lock.holders.iter().position(|holder| holder.thread == thread) {
            let holder = &mut lock.holders[at];
            holder.depth -= 1;
            if holder.depth > 0 {
                return;
            }
            mode = holder.mode;
            lock.holders.swap_remove(at);
        } else if mode == Mode::Exclusive {
            // One thread gives back what another one took.
            lock.holders.clear();
        }
        lock.operate(step, mode);
    }

    /// An attempt failed. If no other thread holds the lock, or it is a semaphore, it is not known when that was.
    pub fn refused(&mut self, step: &mut Step, thread: ThreadId) {
        let Some(lock) = self.0.get_mut(step.event.object) else { return };
        if lock.holders.iter().any(|holder| holder.thread != thread) {
            step.after(lock.exclusive);
            step.after_all(&lock.shared);
            lock.refused.add(step);
        }
    }

    /// The lock at this address is no more.
    pub fn forget(&mut self, address: u64, graph: &mut Graph, tables: &mut Tables) {
        if let Some(lock) = self.0.take(address) {
            lock.release(graph, tables);
        }
    }

    /// New locks begin in this memory. One that is held is older than the memory seems to be, and lives on.
    pub fn forget_in(&mut self, memory: &Range<u64>, graph: &mut Graph, tables: &mut Tables) {
        for lock in self.0.take_in(memory, |lock| lock.holders.is_empty()) {
            lock.release(graph, tables);
        }
    }

    /// All locks are new.
    pub fn forget_all(&mut self, graph: &mut Graph, tables: &mut Tables) {
        self.0.take_all().for_each(|lock| lock.release(graph, tables));
    }
}

impl Default for Lock {
    fn default() -> Lock {
        Lock { holders: Vec::new(), exclusive: Mark::NONE, shared: Marks::default(), refused: Marks::default() }
    }
}

impl Lock {
    /// An acquire or a release.
    #[inline]
    fn operate(&mut self, step: &mut Step, mode: Mode) {
        step.after(self.exclusive);
        step.after_all(&self.refused);
        match mode {
            Mode::Shared => self.shared.add(step),
            Mode::Exclusive => {
                step.after_all(&self.shared);
                self.shared.clear(step.graph, step.tables);
                self.refused.clear(step.graph, step.tables);
                self.exclusive = step.mark_instead_of(self.exclusive);
            }
        }
    }

    fn release(mut self, graph: &mut Graph, tables: &mut Tables) {
        graph.release(self.exclusive);
        self.shared.clear(graph, tables);
        self.refused.clear(graph, tables);
    }
}
