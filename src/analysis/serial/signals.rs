//! Who goes on because of whom: signals, and the waits that follow them.
//!
//! How a wait began tells which signals it can have been for. A wait for a condition begins with the release of a lock, and follows
//! the signals since then. A wait at a barrier begins with the thread's own signal, and follows those of its round, which is
//! over when the first one goes on: what signals later is of the next round. All other waits, for semaphores and by annotations, follow every earlier signal.

use super::graph::{Graph, Mark};
use super::objects::Objects;
use super::step::Step;
use crate::analysis::clock::Slot;
use crate::event::Kind;
use std::ops::Range;

#[derive(Default)]
pub struct Signals {
    objects: Objects<Object>,
    /// How many there were. Each one has its number, from 1.
    count: u64,
    /// Where each thread stands, by slot.
    stands: Vec<Stand>,
    /// Empty, to be used again.
    unused: Vec<Vec<Mark>>,
}

struct Object {
    /// Of each thread the last signal, unless another one that came after it is here.
    signals: Vec<Signal>,
    /// The number of the last signal whose round is over.
    over: u64,
    /// Rounds that are over, but in which somebody still waits.
    rounds: Vec<Round>,
}

struct Signal {
    mark: Mark,
    number: u64,
}

struct Round {
    numbers: Range<u64>,
    marks: Vec<Mark>,
}

/// The last events of a thread, as far as they can belong to a wait.
#[derive(Clone, Copy, Default)]
enum Stand {
    #[default]
    Elsewhere,
    /// A wait can have begun with the last event.
    Begun(Begin),
    /// And the thread has waited.
    Waited(Begin),
}

#[derive(Clone, Copy)]
enum Begin {
    /// Of a lock, after as many signals.
    Release(u64),
    Signal {
        object: u64,
        number: u64,
    },
}

impl Signals {
    /// From now on there is a thread at `slot`.
    pub fn make_room(&mut self, slot: Slot) {
        if self.stands.len() <= slot as usize {
            self.stands.resize(slot as usize + 1, Stand::Elsewhere);
        }
    }

    pub fn signal(&mut self, step: &mut Step) {
        let address = step.event.object;
        let over = self.count;
        self.count += 1;
        let object = self.objects.get_or_make(address, || Object { signals: Vec::new(), over, rounds: Vec::new() });
        object.signals.retain(|old| {
            let is_needed = !step.graph.knows(step.slot, old.mark);
            if !is_needed {
                step.graph.release(old.mark);
            }
            is_needed
        });
        object.signals.push(Signal { mark: step.mark_instead_of(Mark::NONE), number: self.count });
        self.stands[step.slot as usize] = Stand::Begun(Begin::Signal { object: address, number: self.count });
    }

    pub fn wait(&mut self, step: &mut Step) {
        let address = step.event.object;
        let stand = std::mem::take(&mut self.stands[step.slot as usize]);
        let Some(object) = self.objects.get_mut(address) else { return };
        match stand {
            Stand::Waited(Begin::Signal { object: own, number }) if own == address => {
                if number > object.over {
                    let marks = self.unused.pop().unwrap_or_default();
                    object.end_round(self.count, marks, step.graph);
                }
                if let Some(round) = object.rounds.iter().find(|round| round.numbers.contains(&number)) {
                    for &mark in &round.marks {
                        step.after(mark);
                    }
                }
                let is_awaited = |round: &Round| {
                    self.stands.iter().any(|stand| match *stand {
                        Stand::Begun(Begin::Signal { object, number })
                        | Stand::Waited(Begin::Signal { object, number }) => {
                            object == address && round.numbers.contains(&number)
                        }
                        _ => false,
                    })
                };
                for mut round in object.rounds.extract_if(.., |round| !is_awaited(round)) {
                    round.marks.drain(..).for_each(|mark| step.graph.release(mark));
                    self.unused.push(round.marks);
                }
            }
            Stand::Waited(Begin::Release(before)) => object.come_before(step, before),
            _ => object.come_before(step, 0),
        }
    }

    /// Notes where the thread stands after an event. Signals and waits have done so themselves.
    #[inline]
    pub fn note(&mut self, slot: Slot, kind: Kind) {
        let stand = &mut self.stands[slot as usize];
        match (kind, &stand) {
            (Kind::Release, _) => *stand = Stand::Begun(Begin::Release(self.count)),
            (Kind::Interfere, &&mut Stand::Begun(begin)) => *stand = Stand::Waited(begin),
            _ => *stand = Stand::Elsewhere,
        }
    }

    /// What lies in this memory is new.
    pub fn forget(&mut self, memory: &Range<u64>, graph: &mut Graph) {
        self.objects.take_in(memory, |_| true).into_iter().for_each(|object| object.release(graph));
    }

    /// All objects are new.
    pub fn forget_all(&mut self, graph: &mut Graph) {
        self.objects.take_all().for_each(|object| object.release(graph));
    }
}

impl Object {
    /// The step follows the signals after the one with this number.
    fn come_before(&self, step: &mut Step, number: u64) {
        self.signals.iter().filter(|signal| signal.number > number).for_each(|signal| step.after(signal.mark));
    }

    /// The first one goes on, after so many signals.
    fn end_round(&mut self, count: u64, mut marks: Vec<Mark>, graph: &mut Graph) {
        let over = std::mem::replace(&mut self.over, count);
        marks.extend(self.signals.iter().filter(|signal| signal.number > over).map(|signal| signal.mark));
        for &mark in &marks {
            graph.keep(mark);
        }
        self.rounds.push(Round { numbers: over + 1..count + 1, marks });
    }

    fn release(self, graph: &mut Graph) {
        let of_rounds = self.rounds.into_iter().flat_map(|round| round.marks);
        self.signals.into_iter().map(|signal| signal.mark).chain(of_rounds).for_each(|mark| graph.release(mark));
    }
}
