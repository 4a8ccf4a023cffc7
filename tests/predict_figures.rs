//! The scenarios of the papers on prediction, each with every candidate of its written order: what the default rules and those of the
//! papers make of it, and whether some run shows it.

mod manual;
mod predict_support;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use avmon::predict::analyse::{Config, Report, Selection, Watch, analyse};
use avmon::predict::clocks::Clocks;
use avmon::predict::crossings::Bounds;
use avmon::predict::cut_points::{self, Blocks, Candidates};
use avmon::predict::history::{At, History};
use avmon::predict::pattern::Pattern;
use avmon::predict::prediction::{Shape, Steps};
use avmon::predict::search::Budget;
use avmon::scenario::explore::Search;
use avmon::scenario::facts::Triple;
use avmon::scenario::machine::Machine;
use avmon::scenario::parse;
use avmon::scenario::program::{Place, Program};
use avmon::scenario::survey::Survey;
use predict_support::history;
use predict_support::scenario::{perform, place};

/// File; pattern and lines of the block's first access, of the culprit and of the block's second access; what the default rules say and
/// what those of the paper say; whether some run shows it.
const FIGURES: &str = "\
avfilter-counterexample-compare: rww 5 8 6: reads, paper predicted, never shown
avfilter-counterexample-moved-back: www 15 10 18: reads, paper predicted, never shown
avfilter-counterexample-moved-back: wrw 15 8 18: reads, paper predicted, shown
avfilter-counterexample-one-section: rwr 7 17 10: reads, paper predicted, never shown
avfilter-counterexample-third-thread: www 11 5 13: reads, paper predicted, never shown
avfilter-counterexample-third-thread: wrw 11 6 13: block-needs-culprit, paper block-needs-culprit, never shown
avfilter-figure-2: rww 9 28 10: culprit-needs-what-follows, paper culprit-needs-what-follows, never shown
avfilter-figure-3: rwr 7 13 8: culprit-needs-what-follows, paper culprit-needs-what-follows, never shown
avfilter-figure-4: rwr 7 13 9: predicted, paper predicted, shown
avfilter-figure-4: rwr 7 14 9: predicted, paper culprit-needs-the-block, shown
avfilter-figure-5: rwr 7 14 10: predicted, paper predicted, shown
avfilter-figure-5: rwr 7 15 10: predicted, paper block-branches-on-overwritten, shown
avfilter-figure-6-initially-1: rww 7 5 9: block-needs-culprit, paper block-needs-culprit, shown
avfilter-figure-6: rww 7 5 9: block-needs-culprit, paper block-needs-culprit, never shown
avfilter-table-1-row-1: rwr 6 9 7: predicted, paper predicted, shown
avfilter-table-1-row-10: rww 7 5 8: predicted, paper block-needs-culprit, shown
avfilter-table-1-row-2: rww 6 9 7: predicted, paper predicted, shown
avfilter-table-1-row-3: www 6 9 7: predicted, paper predicted, shown
avfilter-table-1-row-4: wrw 7 5 8: predicted, paper predicted, shown
avfilter-table-1-row-5: www 7 5 8: predicted, paper predicted, shown
avfilter-table-1-row-6: wwr 6 9 7: predicted, paper predicted, shown
avfilter-table-1-row-7: wrw 6 9 7: predicted, paper predicted, shown
avfilter-table-1-row-8: rwr 7 5 8: predicted, paper block-needs-culprit, shown
avfilter-table-1-row-9: wwr 7 5 8: predicted, paper predicted, shown
penelope-counterexample-deadlock: rwr 10 18 13: impossible, paper impossible, never shown
penelope-counterexample-not-nested: rwr 13 22 14: impossible, paper impossible, never shown
penelope-counterexample-third-thread: rwr 7 15 9: impossible, paper impossible, never shown
penelope-figure-1-addall: rwr 10 25 15: predicted, paper predicted, shown
penelope-other-field: no candidate
penelope-pattern-rwr: rwr 6 7 8: predicted, paper predicted, shown
penelope-pattern-rww: rww 6 7 8: predicted, paper predicted, shown
penelope-pattern-wrw: wrw 6 7 8: predicted, paper predicted, shown
penelope-pattern-wwr: wwr 6 7 8: predicted, paper predicted, shown
penelope-pattern-www: www 6 7 8: predicted, paper predicted, shown
";

const CONFIG: Config = Config {
    cut_points: true,
    crossings: false,
    views: None,
    stale_values: None,
    blocks: Blocks::Marked,
    bounds: Bounds::NONE,
    paper: false,
    budget: Budget::PATIENT,
    jobs: 1,
    selection: Selection { variables: None, lanes: None, codes: None },
};

/// The three steps of a candidate, by place.
type Key = (Pattern, [Place; 3]);

fn key(history: &History, pattern: Pattern, [first, culprit, second]: [At; 3]) -> Key {
    (pattern, [first, culprit, second].map(|at| place(history, at)))
}

/// What locksets, acquisition histories and clocks allow: the rule of Penelope.
fn candidates(history: &History) -> BTreeSet<Key> {
    let clocks = Clocks::new(history);
    let mut found = Candidates::default();
    for variable in 0..history.variables.len() as u32 {
        cut_points::look_at(history, &clocks, variable, Blocks::Marked, &mut found);
    }
    let keys = found.classes.iter().flat_map(|(class, alike)| {
        alike.nearest.iter().map(|it| key(history, class.pattern, [it.first, it.culprit, it.second]))
    });
    keys.collect()
}

/// What becomes of the candidates; those of which nothing is said are impossible.
fn verdicts(machine: &Machine<'_>, history: &History, paper: bool) -> BTreeMap<Key, String> {
    let watch = Watch { stop: &|| false, progress: &|_, _| {} };
    let Report { predictions, filtered, undecided, unexamined, left_out, .. } =
        analyse(history, &Config { paper, ..CONFIG }, &watch);
    assert_eq!((undecided, unexamined, left_out), (0, 0, 0));
    let of = |shape: Shape, steps: Steps| match shape {
        Shape::One(pattern) => key(history, pattern, [steps.first, steps.culprit, steps.second]),
        _ => unreachable!("nobody asked for more"),
    };
    let mut verdicts = BTreeMap::new();
    for prediction in predictions {
        let key = of(prediction.shape, prediction.steps);
        if !paper {
            let shown = perform(machine, history, &prediction.order).unwrap_or_else(|error| panic!("{key:?}: {error}"));
            assert!(shown.triples.contains(&triple(key)), "{key:?} is not in its order");
        }
        verdicts.insert(key, "predicted".to_owned());
    }
    for dropped in filtered {
        verdicts.insert(of(dropped.shape, dropped.steps), dropped.reason.name().to_owned());
    }
    verdicts
}

fn triple((pattern, [first, other, second]): Key) -> Triple {
    Triple { pattern, first, other, second }
}

fn table() -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/scenarios");
    let mut files: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut table = String::new();
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy();
        if !name.starts_with("avfilter-") && !name.starts_with("penelope-") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let scenario = parse(&text).unwrap_or_else(|errors| panic!("{}", errors.render(&name, &text)));
        let program = Program::new(&scenario);
        let machine = Machine::new(&program);
        let run = machine.run_as_written();
        let facts = Survey::of(&machine, &run, Search::Reduced, false, u64::MAX, &mut |_| {}).facts;
        let history = history(&machine.events(&run));
        let candidates = candidates(&history);
        if candidates.is_empty() {
            let _ = writeln!(table, "{name}: no candidate");
        }
        let [default, paper] = [false, true].map(|paper| verdicts(&machine, &history, paper));
        for candidate in candidates {
            let (pattern, places) = candidate;
            let lines = places.map(|place| program.at(place).at.line.to_string()).join(" ");
            let verdict =
                |of: &BTreeMap<Key, String>| of.get(&candidate).map_or("impossible", String::as_str).to_owned();
            let (default, paper) = (verdict(&default), verdict(&paper));
            let shown = if facts.triples.contains(&triple(candidate)) { "shown" } else { "never shown" };
            let pattern = format!("{pattern:?}").to_lowercase();
            let _ = writeln!(table, "{name}: {pattern} {lines}: {default}, paper {paper}, {shown}");
        }
    }
    table
}

#[test]
fn the_figures_and_the_counterexamples() {
    let table = table();
    assert!(table == FIGURES, "now:\n{table}");
}

#[test]
fn the_manual_tells_the_figures() {
    let rows = FIGURES.lines().map(|line| {
        let mut parts = line.split(": ");
        let [file, candidate, verdicts] = [(); 3].map(|()| parts.next().unwrap_or_default());
        let mut verdicts = verdicts.split(", ");
        let [default, paper, shown] = [(); 3].map(|()| verdicts.next().unwrap_or_default());
        let link = format!("[{file}](../examples/scenarios/{file}.scn)");
        [&link, candidate, default, paper.trim_start_matches("paper "), shown].map(str::to_owned)
    });
    let head = ["scenario", "candidate", "default rules", "published filter", "in some run"];
    manual::is_up_to_date("docs/judging.md", "figures", &manual::table(head, rows), str::to_owned);
}
