//! Split views and stale values in the source of a program: the analysis of Pessanha, Dias and Lourenço ("Precise Detection of Atomicity
//! Violations") for LLVM IR.
//!
//! ```text
//! causal graph ─┬─ starts ─ processes ─ alone ─┬─ blocks ─ rules ─ findings
//!               └─ sections ───────────────────┘   (views)  └ trace
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | [`sync`] | which calls lock, unlock and wait |
//! | [`sections`] | which atomic block an instruction is in |
//! | [`mod@starts`] | which calls start threads and wait for their ends |
//! | [`mod@processes`] | what runs at the same time |
//! | [`mod@alone`] | what `main` does while no other thread runs |
//! | [`calls`] | which calls of a function that locks give it the same |
//! | [`blocks`] | the atomic blocks of each process, and their views (Definition 5) |
//! | [`trace`] | where a value goes: out of its block, into others (Definition 10) |
//! | [`rules`] | Definitions 6 to 9 and 11, and what is no violation after all |
//! | `loops` | loops of a function |
//! | [`locks`] | which locks a block takes |
//! | `nested` | sections inside of one of another lock |
//! | [`mod@order`] | which blocks one call of a function runs one after the other |
//! | [`findings`] | what is told of it |

pub mod alone;
pub mod blocks;
pub mod calls;
pub mod findings;
pub mod locks;
mod loops;
mod nested;
pub mod order;
pub mod processes;
pub mod rules;
pub mod sections;
pub mod starts;
pub mod sync;
#[cfg(test)]
mod tests;
pub mod trace;

use std::collections::{BTreeMap, HashSet};

use rustc_hash::FxHashSet;

use crate::causal::Graph;
use crate::ir::model::Module;
use crate::report::finding::{Finding, Strength};
use alone::{Alone, alone};
use blocks::{Blocks, Site};
use findings::Maker;
use processes::{Process, processes};
use rules::{Lint, Split};
use sections::Sections;
use starts::starts;

/// The text of `__attribute__((annotate("...")))` that makes a function atomic.
pub const ANNOTATION: &str = "avmon_atomic";

/// So many functions that are not followed, and one in so many, make the whole doubtful.
const MANY: usize = 10;

/// What was found in a program.
#[derive(Debug, Default)]
pub struct Report {
    /// Strong ones first.
    pub findings: Vec<Finding>,
    pub functions: usize,
    pub blocks: usize,
    pub processes: usize,
    /// Instructions that are not understood, by their opcode.
    pub skipped: BTreeMap<String, u64>,
    /// Values that were too many, or whose ways were, to follow to their ends.
    pub cut: usize,
    /// Atomic blocks that are not looked at, because they have no end.
    pub endless: usize,
    /// Functions with more ways to be in blocks than are told apart.
    pub unsure: usize,
}

impl Report {
    /// Whether so much was not followed that a program without findings need not be one without violations.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.unsure >= MANY && self.unsure * MANY > self.functions
    }

    /// The same, with what was found in another program. What they share is told once.
    #[must_use]
    pub fn and(mut self, other: Report) -> Report {
        let Report { findings, functions, blocks, processes, skipped, cut, endless, unsure } = other;
        let mut seen: HashSet<_> = self.findings.iter().map(|finding| (finding.pattern, finding.spot())).collect();
        let new = findings.into_iter().filter(|finding| seen.insert((finding.pattern, finding.spot())));
        self.findings.extend(new);
        self.findings.sort_by_key(|finding| finding.strength);
        for (opcode, count) in skipped {
            *self.skipped.entry(opcode).or_default() += count;
        }
        Report {
            functions: self.functions + functions,
            blocks: self.blocks + blocks,
            processes: self.processes + processes,
            cut: self.cut + cut,
            endless: self.endless + endless,
            unsure: self.unsure + unsure,
            ..self
        }
    }
}

/// Looks for split views and stale values in a program. `paper` leaves out every rule that the paper does not have.
#[must_use]
pub fn lint(modules: Vec<Module>, paper: bool) -> Report {
    let graph = Graph::of(modules);
    let starts = starts(&graph.facts);
    let processes = processes(&graph.facts, &starts);
    let alone = match &processes[..] {
        [Process { bases, is_multiple: false, created_at: None }, ..] if !paper => {
            alone(&graph.facts, bases[0], &starts)
        }
        _ => Alone::default(),
    };
    let program = Looked { graph: &graph, processes: &processes, alone: &alone, paper };

    let outermost = program.pass(FxHashSet::default());
    let mut splits = outermost.splits.clone();
    one_for_each(&mut splits, &outermost.blocks);
    let mut findings = program.findings(&outermost, &splits);
    let mut cut = outermost.cut;

    let outer = if paper { Vec::new() } else { nested::outer_blocks(&graph.facts, &outermost.blocks) };
    if !outer.is_empty() {
        let inner = program.pass(outer.iter().map(|block| block.site).collect());
        let mut splits = inner.splits.clone();
        splits.retain(|split| {
            nested::is_possible(&graph.facts, split, &inner.blocks, &outer)
                && nested::are_beside(split, &outermost.sections, (&inner.sections, &inner.blocks), &outer)
        });
        one_for_each(&mut splits, &inner.blocks);
        findings.extend(program.findings(&inner, &splits));
        cut += inner.cut;
    }
    if paper {
        for finding in &mut findings {
            finding.strength = Strength::Strong;
        }
    }
    findings.sort_by_cached_key(|finding| (finding.strength, finding.first.location.identity(), finding.spot()));
    Report {
        findings,
        functions: graph.facts.program.defined().count(),
        blocks: outermost.blocks.begins(),
        processes: processes.len(),
        skipped: graph.facts.program.module.skipped.clone(),
        cut,
        endless: outermost.sections.endless(&graph.facts, &processes),
        unsure: outermost.sections.unsure.len(),
    }
}

/// All that is known of a program when its blocks are known.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'l> {
    pub graph: &'l Graph,
    pub sections: &'l Sections,
    pub blocks: &'l Blocks,
    pub processes: &'l [Process],
    pub paper: bool,
}

/// A program that is looked at.
struct Looked<'l> {
    graph: &'l Graph,
    processes: &'l [Process],
    alone: &'l Alone,
    paper: bool,
}

/// What is found by one way to see its blocks.
struct Pass {
    sections: Sections,
    blocks: Blocks,
    splits: Vec<Split>,
    cut: usize,
}

impl Looked<'_> {
    fn pass(&self, ignored: FxHashSet<Site>) -> Pass {
        let facts = &self.graph.facts;
        let sections = Sections::find(facts, ANNOTATION, ignored);
        let blocks = Blocks::find(facts, &sections, self.processes, self.alone, self.paper);
        let mut lint = Lint::new(self.seen(&sections, &blocks));
        let (splits, cut) = (lint.splits(), lint.cut());
        Pass { sections, blocks, splits, cut }
    }

    fn seen<'s>(&'s self, sections: &'s Sections, blocks: &'s Blocks) -> Seen<'s> {
        Seen { graph: self.graph, sections, blocks, processes: self.processes, paper: self.paper }
    }

    fn findings(&self, pass: &Pass, splits: &[Split]) -> Vec<Finding> {
        let maker = Maker::new(self.seen(&pass.sections, &pass.blocks));
        splits.iter().map(|split| maker.finding(split)).collect()
    }
}

/// Two blocks are one finding, whatever and however much is wrong with them. Views tell more, and come first.
fn one_for_each(splits: &mut Vec<Split>, blocks: &Blocks) {
    let mut seen = FxHashSet::default();
    splits.retain(|split| {
        let [one, other] = [split.first, split.second].map(|it| (blocks.list[it].function, blocks.list[it].begin));
        seen.insert((split.function, one.min(other), one.max(other)))
    });
}
