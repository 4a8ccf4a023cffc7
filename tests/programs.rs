//! Runs every program of `tests/programs` alone and under the monitor, and compares all that can be seen from outside.
//!
//! The programs at the top are hazards: the monitor must not change what they do. Those in `finds` show what the
//! monitor finds, and what it must not find. `tests/support/directives.rs` says what their head comments mean.

mod support;

use libtest_mimic::{Arguments, Trial};
use support::build::Variant;
use support::case::{self, Case};
use support::findings;
use support::run::End;

/// What the names of those programs hold whose waiting the gate does for them. The others, storms of signals and threads among them,
/// take minutes there: `AVMON_ALL_BY_CHANCE=1` runs all.
const WAITS: [&str; 9] = ["cancel_in", "cond", "mutex", "rwlock", "sem_", "c11", "once", "join", "barrier"];

fn main() {
    let arguments = Arguments::from_args();
    let programs = support::root().join("tests/programs");
    let mut trials = case::trials("hazard", &programs, &[Variant::Plain, Variant::Instrumented], check);
    trials.extend(case::trials("finds", &programs.join("finds"), &[Variant::Instrumented, Variant::Clang], check));
    let by_chance = case::trials("by_chance", &programs, &[Variant::Instrumented], check_by_chance);
    let is_everything = std::env::var_os("AVMON_ALL_BY_CHANCE").is_some();
    let waits = |trial: &Trial| WAITS.iter().any(|name| trial.name().contains(name));
    trials.extend(by_chance.into_iter().filter(|trial| is_everything || waits(trial)));
    libtest_mimic::run(&arguments, trials).exit();
}

/// The same programs with their threads at the gate: it must not change what they do either.
fn check_by_chance(case: &Case) -> Result<(), String> {
    let alone = case.run_alone()?;
    let steered = case.run_monitored("chaos_seed=20")?;
    // Nothing is looked for, so nothing is found.
    let is_same = (steered.end, &steered.stdout) == (alone.end, &alone.stdout);
    if is_same { Ok(()) } else { Err(format!("=== alone: {alone}\n=== steered: {steered}")) }
}

fn check(case: &Case) -> Result<(), String> {
    let Case { directives, source, variant, .. } = case;
    let alone = case.run_alone()?;
    let monitored = case.run_monitored("")?;
    let found = findings::read(case.directory())?;
    let context = |what: &str| {
        let list = findings::show(&found);
        Err(format!("{what}\n=== alone: {alone}\n=== monitored: {monitored}\n=== findings:\n{list}"))
    };

    if let Some(difference) = case.difference(&alone, &monitored) {
        return context(&difference);
    }
    for expected in &directives.finds {
        let Some(finding) = found.iter().find(|finding| finding.matches(expected)) else {
            return context(&format!("not found: {expected:?}"));
        };
        // Without hooks there is no stack that would lead from the lock to the block.
        if *variant != Variant::Plain {
            findings::check_marks(finding, source)?;
        }
        let is_reported = finding.is_strong() && matches!(monitored.end, End::Exit(_));
        if is_reported && !monitored.stderr.contains(&expected.block) {
            return context("the report on stderr does not name the block");
        }
    }
    let surprise = |finding: &&findings::Finding| {
        finding.is_strong() && !directives.finds.iter().any(|expected| finding.matches(expected))
    };
    match found.iter().find(surprise) {
        Some(finding) if !directives.any_findings => context(&format!("not expected: {finding}")),
        _ => Ok(()),
    }
}
