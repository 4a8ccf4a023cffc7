//! Who goes on because of whom: conditions, barriers, semaphores, pipes.
//!
//! Whoever awaits goes on after everything that was signalled before it in this run. That suffices for barriers, and for the units of
//! a semaphore: a wait that comes earlier than in this run finds at least the units that the latest wait before it found here.
//!
//! A signal for a condition is lost on a thread that does not sleep yet, and wakes another one if that sleeps already. So going to
//! sleep keeps its place among the signals of the condition: after those before it, and before those that came until the thread was
//! awake.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{At, Lane};

#[derive(Default)]
struct Awaited {
    /// Of each thread that signals, in the order of the run.
    signals: Vec<(Lane, Vec<At>)>,
}

#[derive(Default)]
pub struct Waits {
    objects: BTreeMap<u64, Awaited>,
}

impl Waits {
    pub fn signal(&mut self, object: u64, lane: Lane, at: At) {
        let signals = &mut self.objects.entry(object).or_default().signals;
        match signals.iter_mut().find(|(other, _)| *other == lane) {
            Some((_, list)) => list.push(at),
            None => signals.push((lane, vec![at])),
        }
    }

    /// The signals that a step at `at` comes after: the last one of each other thread.
    pub fn before(&self, object: u64, lane: Lane, at: At) -> Vec<At> {
        let signals = self.objects.get(&object).into_iter().flat_map(|awaited| &awaited.signals);
        let others = signals.filter(|(other, _)| *other != lane);
        others.filter_map(|(_, list)| list[..list.partition_point(|&signal| signal < at)].last().copied()).collect()
    }

    /// The signals between two steps.
    pub fn between(&self, object: u64, steps: Range<At>) -> Vec<At> {
        let signals = self.objects.get(&object).into_iter().flat_map(|awaited| &awaited.signals);
        let within = signals.flat_map(|(_, list)| {
            let from = list.partition_point(|&signal| signal < steps.start);
            list[from..].iter().take_while(|&&signal| signal < steps.end)
        });
        within.copied().collect()
    }

    pub fn renew(&mut self, addresses: Range<u64>) {
        if addresses.is_empty() {
            return;
        }
        let ended: Vec<u64> = self.objects.range(addresses).map(|(&object, _)| object).collect();
        for object in ended {
            self.objects.remove(&object);
        }
    }
}
