//! The programs of examples/views: they are what they are said to be, and what avmon finds in them is compared with what they are known
//! to have. `scripts/views` prints the tables.

mod support;
mod views_support;

use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use support::build::{self, Variant};
use support::findings::{self, Finding};
use support::prediction::is_race_free;
use support::recording;
use support::run::{End, run};
use views_support::known::{Program, Violation, read_known};
use views_support::literature::{self, Figures};
use views_support::table::Table;
use views_support::tools::Tool;

fn main() {
    let arguments = Arguments::from_args();
    let shown = arguments.nocapture;
    let mut trials = vec![
        Trial::test("every_program_is_listed", || Ok(every_program_is_listed()?)),
        Trial::test("table_1", move || Ok(FIRST.hold(&Table::first()?, shown)?)),
        Trial::test("table_2", move || Ok(SECOND.hold(&Table::second()?, shown)?)),
    ];
    for row in literature::rows() {
        let program = Program::read(row.program).unwrap_or_else(|error| panic!("{error}"));
        let mut add = |what: &str, check: fn(&Program) -> Result<(), String>| {
            let program = program.clone();
            let test = move || check(&program).map_err(Failed::from);
            trials.push(Trial::test(format!("{}::{what}", row.program), test));
        };
        add("is_marked", is_marked);
        add("is_race_free", |program| is_race_free(&program.source));
        add("gives_no_warning", gives_no_warning);
        add("ends_well", ends_well);
        if literature::TABLE_1.iter().any(|small| small.program == row.program) {
            add("is_brought_about", is_brought_about);
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// What must hold of a table.
struct Bounds {
    /// Where source and run are read, nothing is missed, and no more than so much invented.
    invented: usize,
    /// What recorded runs show depends a little on the runs. What does not is pinned in `views_recall.rs`; here is what they missed and invented so far, and a
    /// little more.
    dynamic: Figures,
    with_code: Figures,
}

const FIRST: Bounds =
    Bounds { invented: 1, dynamic: Figures { missed: 12, invented: 2 }, with_code: Figures { missed: 8, invented: 2 } };
const SECOND: Bounds = Bounds {
    invented: 3,
    dynamic: Figures { missed: 17, invented: 3 },
    with_code: Figures { missed: 15, invented: 3 },
};

impl Bounds {
    fn hold(&self, table: &Table, shown: bool) -> Result<(), String> {
        if shown {
            println!("{table}");
        }
        let bounds = [
            (Tool::Lint, Figures { missed: 0, invented: 0 }),
            (Tool::Both, Figures { missed: 0, invented: self.invented }),
            (Tool::Dynamic, self.dynamic),
            (Tool::WithCode, self.with_code),
        ];
        for (tool, bound) in bounds {
            let total = table.total(tool);
            if total.missed > bound.missed || total.invented > bound.invented {
                return Err(format!("{}: {total}, which should be at most {bound}\n{table}", tool.name()));
            }
        }
        Ok(())
    }
}

/// Violations that do not follow from what a single run does: nobody removed what was in use.
const OF_OTHER_RUNS: &[(&str, usize)] = &[("arithmetic_database", 3)];

/// `avmon confirm --views` drives the program through what it is known to do wrong, and calls nothing a failure where nothing is wrong.
fn is_brought_about(program: &Program) -> Result<(), String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let [built, hunt, log] = ["program", "hunt", "log.1"].map(|name| home.path().join(name));
    build::compile(Variant::Clang, &program.source, &built, &[])?;
    let [app, output] = [&built, &hunt].map(|path| path.display().to_string());
    let outcome = recording::reads(&["confirm", "--views", "--json", "-o", &output, "--", &app], &[0, 66])?;
    std::fs::write(log, outcome.stdout).map_err(|error| error.to_string())?;
    let proven = findings::read(home.path())?;
    let is_failing = |it: &&Finding| it.rung() == "failing";
    if let Some(failing) = proven.iter().find(is_failing).filter(|_| program.violations.is_empty()) {
        return Err(format!("nothing is wrong with it, but it fails: {failing}"));
    }
    for Violation { number, function, .. } in &program.violations {
        let is_it = |it: &&Finding| it.block() == function && matches!(it.rung(), "confirmed" | "failing");
        if proven.iter().find(is_it).is_none() && !OF_OTHER_RUNS.contains(&(&program.name, *number)) {
            return Err(format!("violation {number} in {function} did not happen:\n{}", findings::show(&proven)));
        }
    }
    Ok(())
}

fn every_program_is_listed() -> Result<(), String> {
    let listed: BTreeSet<&str> = literature::rows().map(|row| row.program).collect();
    let sources = support::sources(&views_support::directory());
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let there: BTreeSet<String> = sources.iter().map(|path| stem(path)).collect();
    if !listed.iter().copied().eq(there.iter().map(String::as_str)) {
        return Err(format!("there are {there:?}, but the literature tells of {listed:?}"));
    }
    match read_known()?.into_iter().find(|known| !listed.contains(known.program.as_str())) {
        Some(known) => Err(format!("known.txt speaks of {}", known.program)),
        None => Ok(()),
    }
}

/// It has as many violations as the literature tells of, numbered from 1, and each has its marks and its function in the source.
fn is_marked(program: &Program) -> Result<(), String> {
    let known = literature::rows().find(|row| row.program == program.name).map_or(0, |row| row.known);
    let numbers: Vec<usize> = program.violations.iter().map(|violation| violation.number).collect();
    if numbers != (1..=known).collect::<Vec<usize>>() {
        return Err(format!("violations {numbers:?}, but {known} are known"));
    }
    let text = std::fs::read_to_string(&program.source).map_err(|error| error.to_string())?;
    if text.matches("/* violation ").count() != count_marks(program) {
        return Err("a mark of no violation, or twice in a line".to_owned());
    }
    for violation in &program.violations {
        if violation.first.is_empty() || violation.second.is_empty() || violation.other.is_empty() {
            return Err(format!("violation {} has not all of its marks", violation.number));
        }
        let variables = violation.variables.iter().flat_map(|variable| variable.split('.'));
        for name in variables.chain(violation.function.split("::")) {
            if !text.contains(name) {
                return Err(format!("violation {} speaks of {name}, which is not in the source", violation.number));
            }
        }
    }
    Ok(())
}

fn count_marks(program: &Program) -> usize {
    let of = |violation: &views_support::known::Violation| {
        violation.first.len() + violation.second.len() + violation.other.len()
    };
    program.violations.iter().map(of).sum()
}

fn gives_no_warning(program: &Program) -> Result<(), String> {
    let is_cpp = program.source.extension().is_some_and(|extension| extension == "cpp");
    let compilers = if is_cpp { ["g++", "clang++"] } else { ["gcc", "clang"] };
    for compiler in compilers {
        let mut command = Command::new(compiler);
        command.args(["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-O1", "-pthread"]);
        command.args(is_cpp.then_some("-std=c++20")).arg(&program.source);
        let outcome = run(&mut command)?;
        if outcome.end != End::Exit(0) {
            return Err(format!("{compiler}: {outcome}"));
        }
    }
    Ok(())
}

fn ends_well(program: &Program) -> Result<(), String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let built = home.path().join("program");
    build::compile(Variant::Plain, &program.source, &built, &[])?;
    let outcome = run(&mut Command::new(&built))?;
    if outcome.end == End::Exit(0) && outcome.stderr.is_empty() && !outcome.stdout.is_empty() {
        Ok(())
    } else {
        Err(outcome.to_string())
    }
}
