//! `SideTrack` before the judge: whatever it reports about one run of a race-free scenario, some run of that scenario shows.
//!
//! How to run many more: see `tests/scenarios/judge.rs`.

mod common;
mod manual;
mod scenarios;

use std::collections::BTreeSet;

use avmon::analysis::{ErrorKind, Violation};
use avmon::scenario::program::Place;
use common::{BLOCKS, PAPER};
use scenarios::Shape;
use scenarios::judge::{Truth, analyse, claims, is_usual, judge};

/// Scenarios of each family: more than 3,000 in all.
const CASES: u32 = 300;

#[derive(Default)]
struct Tally {
    reports: u64,
    /// Before-errors that only another path of the block would show.
    conditional: u64,
    /// Windows that nobody can leave once they are split.
    stalled: u64,
    violable: u64,
    found: u64,
    paper_found: u64,
    paper_false: u64,
    paper_example: Option<String>,
}

impl Tally {
    fn add(&mut self, truth: &Truth<'_>, shape: Shape) -> Result<(), String> {
        let facts = &truth.facts;
        let blamed = |violations: &[Violation]| -> usize {
            let blocks = violations.iter().flat_map(claims).map(|claim| claim.block);
            blocks.filter(|block| facts.split.contains(block)).collect::<BTreeSet<Place>>().len()
        };
        for run in truth.runs() {
            let reports = analyse(truth.machine, &run, BLOCKS);
            for report in &reports {
                for claim in claims(report).into_iter().filter(|claim| !facts.windows.contains(claim)) {
                    // A section is taken to come to its end. If it does not, the run that was predicted is there, and is stuck.
                    if facts.stalled.contains(&claim) {
                        self.stalled += 1;
                        continue;
                    }
                    // Whoever goes first sees other values, and may take another path: the report says that it is conditional.
                    if report.kind == ErrorKind::Before && (shape.branches || shape.conditions) {
                        self.conditional += 1;
                    } else {
                        return Err(format!("false {:?} {claim:?} in the run {:?}", report.kind, run.order));
                    }
                }
            }
            let paper = analyse(truth.machine, &run, PAPER);
            let alarms: Vec<_> = paper.iter().flat_map(claims).filter(|claim| !facts.windows.contains(claim)).collect();
            self.reports += reports.len() as u64;
            self.violable += facts.split.len() as u64;
            self.found += blamed(&reports) as u64;
            self.paper_found += blamed(&paper) as u64;
            self.paper_false += alarms.len() as u64;
            if !alarms.is_empty() {
                let example = format!("{alarms:?}\nrun {:?}\n{:?}", run.order, truth.case);
                if self.paper_example.as_ref().is_none_or(|known| example.len() < known.len()) {
                    self.paper_example = Some(example);
                }
            }
        }
        Ok(())
    }
}

fn family(name: &str, shape: Shape, expected: Figures) {
    let mut tally = Tally::default();
    let judged = judge(name, shape, CASES, |truth| tally.add(truth, shape));
    let Tally { reports, conditional, stalled, violable, found, paper_found, paper_false, .. } = tally;
    let percent = |part: u64| part * 100 / violable.max(1);
    println!(
        "{name}: {} scenarios ({} too large to judge), {violable} violable blocks in their runs; default rules: {reports} reports, \
         {found} blocks ({}%), 0 false alarms, {conditional} conditional, {stalled} that deadlock; paper's rules: {paper_found} blocks ({}%), {paper_false} \
         false alarms",
        judged.scenarios,
        judged.too_large,
        percent(found),
        percent(paper_found),
    );
    if let Some(example) = &tally.paper_example {
        println!("{name}, the shortest false alarm of the paper's rules: {example}");
    }
    let figures = Figures { violable, reports, found, conditional, stalled, paper_found, paper_false };
    assert!(
        !is_usual() || figures == expected,
        "{name}: now {figures:?}; a rule that finds less, or other things, must be meant so"
    );
}

/// What a family shows with the usual scenarios. Truth alone does not see that a rule finds nothing any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Figures {
    violable: u64,
    reports: u64,
    found: u64,
    conditional: u64,
    stalled: u64,
    paper_found: u64,
    paper_false: u64,
}

macro_rules! families {
    ($($name:ident: $shape:expr, $figures:expr;)*) => {
        $(#[test]
        fn $name() {
            family(stringify!($name), $shape, Figures::of($figures));
        })*

        #[test]
        fn the_manual_tells_what_is_found() {
            let rows = [$((stringify!($name), Figures::of($figures))),*];
            let rows = rows.map(|(name, it): (&str, Figures)| {
                let part = |part: u64| format!("{part} ({}%)", part * 100 / it.violable);
                [
                    name.replace('_', " "),
                    it.violable.to_string(),
                    part(it.found),
                    it.conditional.to_string(),
                    it.stalled.to_string(),
                    part(it.paper_found),
                    it.paper_false.to_string(),
                ]
            });
            let head = ["scenarios with", "violable", "found", "only on another path", "that deadlock", "found by the paper's rules", "their false alarms"];
            manual::is_up_to_date("docs/judging.md", "recall", &manual::table(head, rows.into_iter()), str::to_owned);
        }
    };
}

impl Figures {
    const fn of([violable, reports, found, conditional, stalled, paper_found, paper_false]: [u64; 7]) -> Figures {
        Figures { violable, reports, found, conditional, stalled, paper_found, paper_false }
    }
}

families! {
    two_threads: Shape::PLAIN, [1002, 698, 583, 0, 0, 583, 7];
    flat_sections: Shape { threads: (2, 3), nested: false, ..Shape::PLAIN }, [921, 920, 653, 0, 0, 648, 0];
    three_locks: Shape::THREE_LOCKS, [963, 636, 481, 0, 0, 484, 2];
    chains: Shape::CHAINS, [975, 867, 590, 0, 0, 578, 5];
    shared: Shape::SHARED, [873, 716, 513, 0, 0, 519, 4];
    forks: Shape::FORKS, [981, 638, 471, 0, 0, 463, 4];
    branches: Shape { ordered: true, ..Shape::BRANCHES }, [807, 753, 506, 1, 0, 501, 1];
    tries: Shape { ordered: true, ..Shape::TRIES }, [654, 568, 389, 3, 0, 383, 2];
    atomics: Shape::ATOMICS, [939, 496, 388, 0, 0, 389, 1];
    atomic_branches: Shape { ordered: true, ..Shape::ATOMIC_BRANCHES }, [459, 309, 215, 2, 0, 213, 2];
    conditions: Shape::CONDITIONS, [843, 594, 407, 9, 0, 406, 37];
    semaphores: Shape::SEMAPHORES, [849, 623, 456, 0, 0, 455, 6];
    everything: Shape { race_free: true, ..Shape::EVERYTHING }, [174, 64, 54, 3, 0, 55, 5];
    unordered_branches: Shape { threads: (2, 3), branches: true, tries: true, chains: true, ..Shape::PLAIN }, [687, 613, 416, 2, 0, 424, 10];
    barriers: Shape::BARRIERS, [855, 687, 494, 0, 0, 490, 11];
}
