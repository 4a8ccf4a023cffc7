//! What a run shows, gathered over many runs: the truth by which the analyses are judged.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{Graph, access_of};
use super::machine::{Effect, Misuse, Taken};
use super::program::{Operation, Place, Program};
use super::run::Run;
pub use crate::predict::pattern::Pattern;

/// Two accesses of a block, and one of another thread that came between them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Triple {
    pub pattern: Pattern,
    pub first: Place,
    pub other: Place,
    pub second: Place,
}

/// Two blocks and two variables, in a cycle: one had to go first because of one variable, the other because of the other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Crossing {
    /// The access of the one block, and the later one of the other block, of one variable.
    pub one: (Place, Place),
    /// The access of the other block, and the later one of the first block, of another variable.
    pub other: (Place, Place),
}

/// Two acquires of one lock, one after the other in one block, and another thread's that came between them and conflicts with both.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct SplitWindow {
    pub block: Place,
    pub first: Place,
    pub culprit: Place,
    pub second: Place,
}

/// What some run shows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// Blocks that were not serialisable by themselves, by the place where they begin.
    pub split: BTreeSet<Place>,
    /// Whether a run was not serialisable.
    pub unserialisable: bool,
    pub windows: BTreeSet<SplitWindow>,
    /// Windows that another thread came into, and then nobody could go on: the second acquire is waited for in vain.
    pub stalled: BTreeSet<SplitWindow>,
    pub triples: BTreeSet<Triple>,
    pub crossings: BTreeSet<Crossing>,
    /// A read, and the write whose value it saw; none if that was the first value.
    pub reads_from: BTreeSet<(Place, Option<Place>)>,
    pub failed_assertions: BTreeSet<Place>,
    pub deadlocks: BTreeSet<Vec<Place>>,
    pub misuses: BTreeSet<(Place, Misuse)>,
}

/// The lock that an operation acquired, and whether for reading.
const fn acquired(effect: Effect) -> Option<(usize, bool)> {
    match effect {
        Effect::Acquired { lock, shared, again: false } => Some((lock, shared)),
        Effect::Resumed { lock, .. } => Some((lock, false)),
        _ => None,
    }
}

impl Facts {
    /// Of one run of a program.
    #[must_use]
    pub fn of(program: &Program, run: &Run, strict_waits: bool) -> Facts {
        let graph = Graph::new(&run.log, strict_waits);
        let mut facts = Facts { unserialisable: graph.cycle().is_some(), ..Facts::default() };
        facts.split = graph.blocks.iter().filter(|b| graph.splitter(b).is_some()).map(|block| block.place).collect();
        facts.windows(&graph);
        facts.stalled(program, run, &graph);
        facts.triples(&graph);
        facts.crossings(&graph);
        facts.reads(&graph);
        for taken in &run.log {
            match taken.effect {
                Effect::AssertionFailed => drop(facts.failed_assertions.insert(taken.place)),
                Effect::Stopped(misuse) => drop(facts.misuses.insert((taken.place, misuse))),
                _ => {}
            }
        }
        if !run.stuck.is_empty() {
            facts.deadlocks.insert(run.stuck.clone());
        }
        facts
    }

    /// Adds what another run shows.
    pub fn add(&mut self, other: Facts) {
        self.unserialisable |= other.unserialisable;
        self.split.extend(other.split);
        self.windows.extend(other.windows);
        self.stalled.extend(other.stalled);
        self.triples.extend(other.triples);
        self.crossings.extend(other.crossings);
        self.reads_from.extend(other.reads_from);
        self.failed_assertions.extend(other.failed_assertions);
        self.deadlocks.extend(other.deadlocks);
        self.misuses.extend(other.misuses);
    }

    /// What a wait gives back is a section that began elsewhere: it goes by either place.
    fn windows(&mut self, graph: &Graph) {
        let acquired = |operation: usize| acquired(graph.operations[operation].effect);
        let places = |at: usize| {
            let Taken { place, effect, .. } = graph.operations[at];
            let is_begin = |other: &&Taken| {
                other.place.thread == place.thread
                    && matches!((other.effect, effect),
                        (Effect::Acquired { lock: begun, again: false, .. }, Effect::Resumed { lock, .. }) if begun == lock)
            };
            let begun = graph.operations[..at].iter().rfind(is_begin).map(|begun| begun.place);
            std::iter::once(place).chain(begun)
        };
        for block in &graph.blocks {
            let acquires: Vec<_> =
                block.operations.iter().filter_map(|&at| acquired(at).map(|lock| (at, lock))).collect();
            for (index, &(first, (lock, shared))) in acquires.iter().enumerate() {
                let next = acquires[index + 1..].iter().find(|(_, (other, _))| *other == lock);
                let Some(&(second, (_, also_shared))) = next else { continue };
                for other in first + 1..second {
                    if let Some((same, culprit_shared)) = acquired(other)
                        && same == lock
                        && graph.operations[other].place.thread != block.place.thread
                        && (!culprit_shared || !(shared || also_shared))
                    {
                        for first in places(first) {
                            for culprit in places(other) {
                                let window = |second| SplitWindow { block: block.place, first, culprit, second };
                                self.windows.extend(places(second).map(window));
                            }
                        }
                    }
                }
            }
        }
    }

    fn stalled(&mut self, program: &Program, run: &Run, graph: &Graph) {
        for &second in &run.stuck {
            let Operation::Acquire { lock, shared: second_shared } = program.at(second).operation else { continue };
            let mode_of = |at: usize| acquired(graph.operations[at].effect).filter(|(other, _)| *other == lock);
            let is_mine = |at: usize| graph.operations[at].place.thread == second.thread;
            let open = graph.blocks.iter().filter(|block| block.place.thread == second.thread && block.is_open);
            for block in open {
                let last = block.operations.iter().rev().find_map(|&at| mode_of(at).map(|(_, shared)| (at, shared)));
                let Some((first, first_shared)) = last else { continue };
                let conflicts =
                    |at: usize| mode_of(at).is_some_and(|(_, shared)| !shared || !(first_shared || second_shared));
                let culprits = (first + 1..graph.operations.len()).filter(|&at| !is_mine(at) && conflicts(at));
                let place = |at: usize| graph.operations[at].place;
                let window = |at| SplitWindow { block: block.place, first: place(first), culprit: place(at), second };
                self.stalled.extend(culprits.map(window));
            }
        }
    }

    fn triples(&mut self, graph: &Graph) {
        let access = |at: usize| access_of(graph.operations[at].effect);
        for block in graph.blocks.iter().filter(|block| block.is_outermost) {
            for (index, &first) in block.operations.iter().enumerate() {
                let Some((variable, reads, writes)) = access(first) else { continue };
                for &second in &block.operations[index + 1..] {
                    let Some((same, then_reads, then_writes)) = access(second) else { continue };
                    if same != variable {
                        continue;
                    }
                    for other in first + 1..second {
                        let Some((third, other_reads, other_writes)) = access(other) else { continue };
                        if third != variable || graph.operations[other].place.thread == block.place.thread {
                            continue;
                        }
                        let place = |at: usize| graph.operations[at].place;
                        let shown =
                            Pattern::of((reads, writes), (other_reads, other_writes), (then_reads, then_writes));
                        self.triples.extend(shown.map(|pattern| Triple {
                            pattern,
                            first: place(first),
                            other: place(other),
                            second: place(second),
                        }));
                    }
                }
            }
        }
    }

    fn crossings(&mut self, graph: &Graph) {
        let access = |at: usize| access_of(graph.operations[at].effect);
        // Pairs of conflicting accesses, from the first block to the second, with their variable.
        let pairs = |from: &[usize], to: &[usize]| {
            let mut pairs = Vec::new();
            for &before in from {
                let Some((variable, _, wrote)) = access(before) else { continue };
                for &after in to.iter().filter(|&&after| after > before) {
                    if let Some((same, _, writes)) = access(after)
                        && same == variable
                        && (wrote || writes)
                    {
                        pairs.push((variable, (graph.operations[before].place, graph.operations[after].place)));
                    }
                }
            }
            pairs
        };
        let outermost: Vec<_> = graph.blocks.iter().filter(|block| block.is_outermost).collect();
        for one in &outermost {
            for other in outermost.iter().filter(|other| other.place.thread != one.place.thread) {
                let back = pairs(&other.operations, &one.operations);
                if back.is_empty() {
                    continue;
                }
                for (variable, there) in pairs(&one.operations, &other.operations) {
                    for &(_, back) in back.iter().filter(|(other, _)| *other != variable) {
                        // Seen from either block it is the same.
                        self.crossings.insert(Crossing { one: there.min(back), other: there.max(back) });
                    }
                }
            }
        }
    }

    fn reads(&mut self, graph: &Graph) {
        let mut last: BTreeMap<usize, Place> = BTreeMap::new();
        for taken in &graph.operations {
            let Some((variable, reads, writes)) = access_of(taken.effect) else { continue };
            if reads {
                self.reads_from.insert((taken.place, last.get(&variable).copied()));
            }
            if writes {
                last.insert(variable, taken.place);
            }
        }
    }
}
