//! Which locks are taken in an atomic block. What no lock guards together is not meant to change together.

use rustc_hash::{FxHashMap, FxHashSet};

use super::blocks::{Block, BlockNumber, Site};
use super::sections::{Section, Sections};
use super::sync::{self, Sync};
use crate::causal::facts::Facts;
use crate::causal::places::PlaceId;
use crate::ir::model::FunctionId;

/// Where locks may be; nothing if that is not known, or if the block is not one of locks.
type Taken = Option<FxHashSet<PlaceId>>;

/// The locks of each block.
#[derive(Debug, Default)]
pub struct Locks {
    taken: Vec<Taken>,
    /// Those that the blocks begin with, and hold to their ends.
    held: Vec<Taken>,
    pub guards: Guards,
}

impl Locks {
    #[must_use]
    pub fn find(facts: &Facts, sections: &Sections, blocks: &[Block]) -> Locks {
        let by_function = vec![Some(FxHashSet::default()); facts.functions.len()];
        let mut calls = Calls { facts, sections, guards: Guards::find(facts), by_function };
        for group in &facts.groups {
            let sites =
                group.iter().flat_map(|&id| facts.functions[id as usize].calls.keys().map(move |&number| (id, number)));
            let taken = calls.taken(sites);
            for &id in group {
                calls.by_function[id as usize].clone_from(&taken);
            }
        }
        Locks {
            taken: blocks.iter().map(|block| calls.in_block(block)).collect(),
            held: blocks.iter().map(|block| calls.at((block.function, block.begin))).collect(),
            guards: calls.guards,
        }
    }

    /// Whether two blocks may have to do with each other: they may take one lock, or somebody takes a lock of one while it holds one of the
    /// other. Who takes them one after the other does not mean them to be one.
    #[must_use]
    pub fn are_related(&self, one: BlockNumber, other: BlockNumber) -> bool {
        let shares = |block: BlockNumber, taken: &Taken| match (&self.taken[block], taken) {
            (Some(own), Some(taken)) => !own.is_disjoint(taken),
            _ => false,
        };
        let mut all = self.held.iter().zip(&self.taken);
        let are_held_together = |(held, taken): (&Taken, &Taken)| {
            shares(one, held) && shares(other, taken) || shares(other, held) && shares(one, taken)
        };
        self.have_one_in_common(&[one, other]) || all.any(are_held_together)
    }

    /// Whether some blocks may take one and the same lock.
    #[must_use]
    pub fn have_one_in_common(&self, blocks: &[BlockNumber]) -> bool {
        let mut known = blocks.iter().filter_map(|&block| self.taken[block].as_ref());
        let Some(first) = known.next() else { return true };
        let others: Vec<_> = known.collect();
        first.iter().any(|lock| others.iter().all(|taken| taken.contains(lock)))
    }
}

struct Calls<'l> {
    facts: &'l Facts,
    sections: &'l Sections,
    guards: Guards,
    /// What each function takes, itself or by what it calls.
    by_function: Vec<Taken>,
}

impl Calls<'_> {
    fn taken(&self, sites: impl Iterator<Item = Site>) -> Taken {
        let mut all = FxHashSet::default();
        for site in sites {
            all.extend(self.at(site)?);
        }
        Some(all)
    }

    fn in_block(&self, block: &Block) -> Taken {
        let is_inside = |number: &u32| {
            self.sections.at(block.function, block.context, *number).contains(&Section::Own(block.begin))
        };
        let calls = self.facts.functions[block.function as usize].calls.keys().copied();
        self.taken(calls.filter(is_inside).map(|number| (block.function, number)))
    }

    fn at(&self, (function, number): Site) -> Taken {
        let own = &self.facts.functions[function as usize];
        let mut all = FxHashSet::default();
        for &callee in &own.calls[&number] {
            let name = &self.facts.program.function(callee).name;
            match sync::of(name) {
                Some(Sync::Acquire(_) | Sync::Try(_)) => {
                    all.extend(self.guards.locks(name, &own.addresses[&number])?);
                }
                Some(Sync::BlockBegin) => return None,
                Some(_) => {}
                None if self.sections.atomic.contains(&callee) => return None,
                None => {
                    let taken = self.by_function[callee as usize].as_ref()?;
                    let given: FxHashSet<PlaceId> = own.addresses[&number].iter().flatten().copied().collect();
                    // Who locks for others, does so for what it is given.
                    let is_for_caller = self.sections.locks_for_others(callee) && !given.is_disjoint(taken);
                    all.extend(taken.iter().filter(|lock| !is_for_caller || given.contains(lock)));
                }
            }
        }
        Some(all)
    }
}

/// The locks that guards were made for, by where the guards are. A guard that takes its lock again is given only itself.
#[derive(Debug, Default)]
pub struct Guards(FxHashMap<PlaceId, FxHashSet<PlaceId>>);

impl Guards {
    #[must_use]
    pub fn find(facts: &Facts) -> Guards {
        let mut guards = Guards::default();
        for own in &facts.functions {
            for (number, callees) in &own.calls {
                let makes = |callee: &FunctionId| sync::makes_guard(&facts.program.function(*callee).name);
                let [made, locks, ..] = &own.addresses[number][..] else { continue };
                if callees.iter().any(makes) {
                    for &guard in made {
                        guards.0.entry(guard).or_default().extend(locks);
                    }
                }
            }
        }
        guards
    }

    /// Where the lock may be that a function of this name takes; nothing if that is not known.
    fn locks(&self, name: &str, addresses: &[Vec<PlaceId>]) -> Taken {
        let given = addresses.get(sync::lock_argument(name)).filter(|places| !places.is_empty())?;
        if !sync::takes_again(name) {
            return Some(given.iter().copied().collect());
        }
        let mut all = FxHashSet::default();
        for guard in given {
            all.extend(self.0.get(guard)?);
        }
        Some(all)
    }

    /// What an acquire takes.
    #[must_use]
    pub fn of_acquire(&self, facts: &Facts, (function, number): Site) -> Taken {
        let own = &facts.functions[function as usize];
        let name = |callee: &FunctionId| &facts.program.function(*callee).name;
        let callee = own.calls.get(&number)?.iter().find(|it| matches!(sync::of(name(it)), Some(Sync::Acquire(_))))?;
        self.locks(name(callee), &own.addresses[&number])
    }
}
