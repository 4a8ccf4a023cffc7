//! The scenarios of `examples/scenarios`, each with the truth about it and what the online rules make of its written order.

mod common;
mod scenarios;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use avmon::analysis::Violation;
use avmon::analysis::sidetrack::Config;
use avmon::scenario::events::place_of;
use avmon::scenario::explore::Search;
use avmon::scenario::graph::Graph;
use avmon::scenario::machine::Machine;
use avmon::scenario::parse;
use avmon::scenario::program::{Place, Program};
use avmon::scenario::run::Run;
use avmon::scenario::survey::{Sight, Survey};
use common::{BLOCKS, PAPER};
use scenarios::judge::{analyse, claims};

/// File; lines of the blocks that can be split, of failing assertions, of stuck threads; patterns on one variable, and how many on
/// two; whether the written order is serialisable; what the default and the paper's rules report on it.
const TRUTH: &str = "\
avfilter-counterexample-compare: split []
avfilter-counterexample-moved-back: split [13], patterns [wrw 15 8 18], finds [before 13: 14 7 17]
avfilter-counterexample-one-section: split []
avfilter-counterexample-third-thread: split []
avfilter-figure-2: split []
avfilter-figure-3: split []
avfilter-figure-4: split [6], patterns [rwr 7 13 9; rwr 7 14 9]
avfilter-figure-5: split [6], patterns [rwr 7 14 10; rwr 7 15 10]
avfilter-figure-6-initially-1: split [6], patterns [rww 7 5 9]
avfilter-figure-6: split []
avfilter-table-1-row-1: split [5], patterns [rwr 6 9 7]
avfilter-table-1-row-10: split [6], patterns [rww 7 5 8]
avfilter-table-1-row-2: split [5], patterns [rww 6 9 7]
avfilter-table-1-row-3: split [5], patterns [www 6 9 7]
avfilter-table-1-row-4: split [6], patterns [wrw 7 5 8]
avfilter-table-1-row-5: split [6], patterns [www 7 5 8]
avfilter-table-1-row-6: split [5], patterns [wwr 6 9 7]
avfilter-table-1-row-7: split [5], patterns [wrw 6 9 7]
avfilter-table-1-row-8: split [6], patterns [rwr 7 5 8]
avfilter-table-1-row-9: split [6], patterns [wwr 7 5 8]
bank-transfer-fixed: split []
bank-transfer: split [5], fails [20], two variables [1], finds [after 5: 6 16 10]
check-then-act-fixed: split []
check-then-act: split [5 12], fails [9 16], patterns [rwr 6 15 8; rwr 13 8 15; rww 6 15 8; rww 13 8 15]
condition-if: split [], fails [23]
condition-while: split []
lazy-init-fixed: split [7 20], patterns [rwr 8 28 11; rwr 21 15 24]
lazy-init: split [7 17], fails [30], patterns [rww 8 23 13; rww 18 13 23], two variables [6]
lost-update-fixed: split []
lost-update: split [8 16], fails [29], patterns [rww 10 21 13; rww 18 13 21], finds [after 8: 9 17 12; before 16: 17 12 20]
moth-figure-1a: split [6], fails [23], two variables [1], written [not serialisable], finds [in 6: 8 13 19]
moth-figure-1b: split [6], patterns [rww 9 15 20], written [not serialisable], finds [in 6: 8 14 19]
nondeterminism-counterexample-first-value: split []
nondeterminism-counterexample-overwritten: split []
nondeterminism-counterexample-read-later: split []
nondeterminism-figure-1a: split []
nondeterminism-figure-1c: split []
nondeterminism-figure-4: split []
nondeterminism-figure-5: split []
penelope-counterexample-deadlock: split [], stuck [9 19; 12 19], paper [after 7: 9 17 12]
penelope-counterexample-not-nested: split [], stuck [9 20; 11 18]
penelope-counterexample-third-thread: split []
penelope-figure-1-addall: split [6], fails [18], patterns [rwr 10 25 15], finds [after 6: 9 24 14]
penelope-other-field: split [6], written [not serialisable], finds [in 6: 7 10 13]
penelope-pattern-rwr: split [5], patterns [rwr 6 7 8], written [not serialisable]
penelope-pattern-rww: split [5], patterns [rww 6 7 8], written [not serialisable]
penelope-pattern-wrw: split [5], patterns [wrw 6 7 8], written [not serialisable]
penelope-pattern-wwr: split [5], patterns [wwr 6 7 8], written [not serialisable]
penelope-pattern-www: split [5], patterns [www 6 7 8], written [not serialisable]
rwlock-upgrade-fixed: split [6 21], patterns [rwr 8 31 12; rwr 23 16 27]
rwlock-upgrade: split [6 18], fails [35], patterns [rww 8 26 14; rww 20 14 26], two variables [6]
sidetrack-counterexample-after-barrier: split [], stuck [7 11; 8 11], paper [after 6: 7 10 8]
sidetrack-counterexample-after-join: split [], stuck [12 7; 12 8], paper [after 6: 7 11 8]
sidetrack-counterexample-before-chain: split [], stuck [12 8], paper [before 6: 10 8 14]
sidetrack-counterexample-before-path: split [], finds [before 7: 8 6 12]
sidetrack-figure-1: split [5], finds [after 5: 6 9 7]
sidetrack-figure-2: split [5], written [not serialisable], finds [in 5: 6 7 8]
sidetrack-figure-3a-before: split [6], finds [before 6: 7 5 8]
sidetrack-figure-3b-in: split [4], written [not serialisable], finds [in 4: 5 6 7]
sidetrack-figure-3c-after: split [5], finds [after 5: 6 9 7]
sidetrack-figure-4: split []
sidetrack-figure-5a: split []
sidetrack-figure-5b: split []
sidetrack-figure-7: split [16], finds [after 16: 17 20 18]
sidetrack-figure-8-bottom: split [], stuck [7 12; 8 12], paper [after 5: 7 11 8]
sidetrack-figure-8-top: split [], stuck [6 10; 6 11]
sidetrack-figure-9: split [5 6], finds [after 5 6: 8 17 12]
torn-pair-fixed: split []
torn-pair: split [6 14], fails [21], two variables [2]
";

fn table() -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/scenarios");
    let mut files: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut table = String::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "scn")) {
        let text = fs::read_to_string(file).unwrap();
        let name = file.file_stem().unwrap().to_string_lossy();
        let scenario = parse(&text).unwrap_or_else(|errors| panic!("{}", errors.render(&name, &text)));
        let program = Program::new(&scenario);
        let _ = writeln!(table, "{name}: {}", truth(&Machine::new(&program)));
    }
    table
}

fn truth(machine: &Machine<'_>) -> String {
    let line = |place: &Place| machine.program.at(*place).at.line.to_string();
    let lines = |places: &mut dyn Iterator<Item = &Place>| places.map(line).collect::<Vec<_>>().join(" ");
    let run = machine.run_as_written();
    let survey = Survey::of(machine, &run, Search::Reduced, false, u64::MAX, &mut |_| {});
    // Each sight comes with a run that really shows it.
    for (sight, order) in &survey.sights {
        let run = machine.run_in_order(order).expect("an order that can be kept");
        let graph = Graph::new(&run.log, false);
        let is_shown = match sight {
            Sight::Split(block) => graph.blocks.iter().any(|it| it.place == *block && graph.splitter(it).is_some()),
            Sight::Tangled => graph.cycle().is_some(),
            Sight::Deadlock(places) => run.stuck == *places,
            Sight::FailedAssertion(_) | Sight::Misuse(..) => run.log.iter().any(|taken| shows(sight, taken)),
        };
        assert!(is_shown, "{sight:?} is not in its run {order:?}");
    }
    let facts = &survey.facts;
    let mut text = format!("split [{}]", lines(&mut facts.split.iter()));
    let mut add = |name: &str, lines: &str| {
        if !lines.is_empty() {
            let _ = write!(text, ", {name} [{lines}]");
        }
    };
    add("fails", &lines(&mut facts.failed_assertions.iter()));
    let deadlocks: Vec<String> = facts.deadlocks.iter().map(|stuck| lines(&mut stuck.iter())).collect();
    add("stuck", &deadlocks.join("; "));
    let patterns = facts.triples.iter().map(|triple| {
        format!("{:?} {}", triple.pattern, lines(&mut [triple.first, triple.other, triple.second].iter()))
            .to_lowercase()
    });
    add("patterns", &patterns.collect::<Vec<_>>().join("; "));
    if !facts.crossings.is_empty() {
        add("two variables", &facts.crossings.len().to_string());
    }
    add("written", if Graph::new(&run.log, false).cycle().is_some() { "not serialisable" } else { "" });
    let [default, paper] = [BLOCKS, PAPER].map(|config| reports(machine, &run, config));
    for report in &default {
        // A before-error may be conditional on the path of the block.
        let is_true = claims(&report.0).iter().all(|claim| facts.windows.contains(claim));
        assert!(is_true || report.1.starts_with("before"), "{}", report.1);
    }
    let texts = |reports: &[(Violation, String)]| reports.iter().map(|r| r.1.clone()).collect::<BTreeSet<_>>();
    let (default, paper) = (texts(&default), texts(&paper));
    let joined = |texts: &BTreeSet<String>| texts.iter().cloned().collect::<Vec<_>>().join("; ");
    add("finds", &joined(&default));
    if default != paper {
        add("paper", &joined(&paper));
    }
    text
}

fn shows(sight: &Sight, taken: &avmon::scenario::machine::Taken) -> bool {
    use avmon::scenario::machine::Effect;
    match (sight, taken.effect) {
        (Sight::FailedAssertion(place), Effect::AssertionFailed) => *place == taken.place,
        (Sight::Misuse(place, misuse), Effect::Stopped(stopped)) => *place == taken.place && *misuse == stopped,
        _ => false,
    }
}

/// Violations with their kind and the lines of block, window and culprit.
fn reports(machine: &Machine<'_>, run: &Run, config: Config) -> Vec<(Violation, String)> {
    let line = |pc: u64| place_of(pc).map_or(0, |place| machine.program.at(place).at.line);
    let found = analyse(machine, run, config);
    let text = |it: &Violation| {
        let blocks: Vec<_> =
            it.first.stack[..it.common].iter().map(|frame| line(frame.opened_at()).to_string()).collect();
        let kind = format!("{:?}", it.kind).to_lowercase();
        format!("{kind} {}: {} {} {}", blocks.join(" "), line(it.first.pc), line(it.culprit.pc), line(it.second.pc))
    };
    found
        .into_iter()
        .map(|violation| {
            let text = text(&violation);
            (violation, text)
        })
        .collect()
}

#[test]
fn the_truth_about_every_scenario() {
    let table = table();
    assert!(table == TRUTH, "the truth is now:\n{table}");
}
