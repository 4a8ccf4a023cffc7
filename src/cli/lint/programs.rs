//! Which modules make up one program, and what is told of them before they are looked at.

use std::collections::BTreeMap;

use crate::ir::model::{Function, Location, Module};

fn defined(module: &Module) -> impl Iterator<Item = &Function> {
    module.functions.iter().filter(|function| !function.blocks.is_empty())
}

fn has_main(module: &Module) -> bool {
    defined(module).any(|function| function.name == "main")
}

/// One program for each `main`, with all modules that have none, and how many there are. Each is made when it is asked for: all at once would be large.
pub fn programs(modules: Vec<Module>) -> (usize, impl Iterator<Item = Vec<Module>>) {
    let (mains, mut shared) = if modules.iter().filter(|module| has_main(module)).count() < 2 {
        (vec![None], modules)
    } else {
        let (mains, shared): (Vec<Module>, Vec<Module>) = modules.into_iter().partition(has_main);
        (mains.into_iter().map(Some).collect(), shared)
    };
    let count = mains.len();
    let of_main = move |(number, main): (usize, Option<Module>)| {
        let others = if number + 1 == count { std::mem::take(&mut shared) } else { shared.clone() };
        main.into_iter().chain(others).collect()
    };
    (count, mains.into_iter().enumerate().map(of_main))
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
