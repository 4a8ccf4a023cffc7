//! Which modules make up one program, and what is told of them before they are looked at.

use std::collections::{BTreeMap, HashSet};

use crate::ir::model::{Function, Location, Module};
use crate::lint::Report;

fn defined(module: &Module) -> impl Iterator<Item = &Function> {
    module.functions.iter().filter(|function| !function.blocks.is_empty())
}

fn has_main(module: &Module) -> bool {
    defined(module).any(|function| function.name == "main")
}

/// One program for each `main`, with all modules that have none.
pub fn programs(modules: Vec<Module>) -> Vec<Vec<Module>> {
    if modules.iter().filter(|module| has_main(module)).count() < 2 {
        return vec![modules];
    }
    let (mains, shared): (Vec<Module>, Vec<Module>) = modules.into_iter().partition(has_main);
    mains.into_iter().map(|main| std::iter::once(main).chain(shared.iter().cloned()).collect()).collect()
}

/// What was found in several programs. What they share is told once.
pub fn together(reports: Vec<Report>) -> Report {
    let mut all = Report::default();
    for report in reports {
        all.findings.extend(report.findings);
        all.functions += report.functions;
        all.blocks += report.blocks;
        all.processes += report.processes;
        all.cut += report.cut;
        all.endless += report.endless;
        all.unsure += report.unsure;
        for (opcode, count) in report.skipped {
            *all.skipped.entry(opcode).or_default() += count;
        }
    }
    let mut seen = HashSet::new();
    all.findings.retain(|finding| seen.insert((finding.pattern, finding.spot())));
    all.findings.sort_by_key(|finding| finding.strength);
    all
}

/// What of a program is not looked at, or not told well.
pub fn warnings(program: &[Module]) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut known: BTreeMap<&str, (&Location, &str)> = BTreeMap::new();
    for module in program {
        for function in defined(module).filter(|function| !function.is_internal) {
            let Some(at) = &function.at else { continue };
            let (first, source) = *known.entry(&function.name).or_insert((at, &module.source));
            // A function of a header is the same one in each module.
            if (&first.file, first.line) != (&at.file, at.line) {
                warnings.push(format!(
                    "'{}' is defined in {source} and {}; only the first is looked at; lint them one by one",
                    function.source_name.as_ref().unwrap_or(&function.name),
                    module.source
                ));
            }
        }
    }
    let bare = program.iter().filter(|module| {
        let mut functions = defined(module).peekable();
        functions.peek().is_some() && functions.all(|function| function.at.is_none())
    });
    let bare: Vec<&str> = bare.map(|module| module.source.as_str()).collect();
    if let Some(first) = bare.first() {
        let others = if bare.len() > 1 { format!(" and {} more", bare.len() - 1) } else { String::new() };
        warnings.push(format!(
            "the IR of {first}{others} has no debug information, so that lines and variables have no names; make it with -g"
        ));
    }
    warnings
}
