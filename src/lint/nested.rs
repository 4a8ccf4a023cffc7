//! Critical sections inside of one of another lock.
//!
//! A section of lock A in which lock B is taken twice is one atomic block for all who take A. For who takes B only, it is
//! two. So a program with such sections is looked at once more, as if their outer locks were not taken, and what is found counts
//! if nobody who takes part needs the outer lock.

use std::collections::BTreeSet;

use super::blocks::{BlockNumber, Blocks, Site};
use super::rules::Split;
use super::sections::{Context, Section, Sections};
use crate::causal::facts::Facts;
use crate::causal::places::PlaceId;
use crate::ir::model::FunctionId;
use rustc_hash::FxHashSet;

/// A block in which another lock is taken.
#[derive(Debug)]
pub struct Outer {
    /// Where it begins.
    pub site: Site,
    locks: FxHashSet<PlaceId>,
    tree: FxHashSet<FunctionId>,
}

fn is_apart(one: &FxHashSet<PlaceId>, other: &FxHashSet<PlaceId>) -> bool {
    !one.is_empty() && !other.is_empty() && one.is_disjoint(other)
}

/// The blocks in which another lock is taken than the one that they begin with.
#[must_use]
pub fn outer_blocks(facts: &Facts, blocks: &Blocks) -> Vec<Outer> {
    let mut outer = Vec::new();
    let of_acquire = |site: Site| blocks.locks.guards.of_acquire(facts, site);
    for block in &blocks.list {
        let site = (block.function, block.begin);
        let Some(taken) = of_acquire(site) else { continue };
        let functions = block.tree.iter().chain([&block.function]);
        let takes_another = |&function: &FunctionId| {
            let calls = facts.functions[function as usize].calls.keys();
            let mut inner = calls.map(|&number| (function, number)).filter(|&it| it != site);
            inner.any(|it| of_acquire(it).is_some_and(|inner| is_apart(&taken, &inner)))
        };
        if functions.into_iter().any(takes_another) {
            outer.push(Outer { site, locks: taken, tree: block.tree.clone() });
        }
    }
    outer
}

/// Whether two blocks lie in the same outer ones. Where a lock is taken around only one of them, that one is no block of its own. `outermost` are
/// the sections with, `inner` those without the outer locks.
#[must_use]
pub fn are_beside(split: &Split, outermost: &Sections, inner: (&Sections, &Blocks), outer: &[Outer]) -> bool {
    let around = |block: BlockNumber| -> BTreeSet<Site> {
        let way = inner.1.way_down(split.function, block);
        let is_around = |site: &Site| {
            way.iter().any(|&(function, at)| {
                let sections = outermost.at(function, Context::Free, at);
                function == site.0 && at != site.1 && sections.contains(&Section::Own(site.1))
            })
        };
        outer.iter().map(|it| it.site).filter(is_around).collect()
    };
    around(split.first) == around(split.second)
}

/// Whether another thread can come between two blocks that lie in an outer one.
#[must_use]
pub fn is_possible(facts: &Facts, split: &Split, blocks: &Blocks, outer: &[Outer]) -> bool {
    let around = |block: BlockNumber| {
        let function = blocks.list[block].function;
        outer.iter().filter(move |it| it.site.0 == function || it.tree.contains(&function))
    };
    let is_around_both = |it: &&Outer| around(split.second).any(|other| other.site == it.site);
    let held: Vec<&Outer> = around(split.first).filter(is_around_both).collect();
    let other = &blocks.list[split.other];
    let needed = blocks.locks.guards.of_acquire(facts, (other.function, other.begin)).unwrap_or_default();
    let is_free = |it: &&Outer| {
        is_apart(&it.locks, &needed) && around(split.other).all(|other| is_apart(&it.locks, &other.locks))
    };
    !held.is_empty() && held.iter().all(is_free)
}
