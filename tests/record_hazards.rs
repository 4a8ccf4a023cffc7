//! A recording changes nothing of what the hazards of `tests/programs` do, and can be read whatever they do.

mod support;

use libtest_mimic::Arguments;
use support::build::Variant;
use support::case::{self, Case};
use support::recording;

fn main() {
    let arguments = Arguments::from_args();
    let programs = support::root().join("tests/programs");
    let trials = case::trials("hazard", &programs, &[Variant::Instrumented], check);
    libtest_mimic::run(&arguments, trials).exit();
}

fn check(case: &Case) -> Result<(), String> {
    let traces = case.directory().join("traces");
    let alone = case.run_alone()?;
    let recorded = case.run_monitored(&format!("trace_path={}", traces.display()))?;
    let context = |what: &str| Err(format!("{what}\n=== alone: {alone}\n=== recorded: {recorded}"));
    if let Some(difference) = case.difference(&alone, &recorded) {
        return context(&difference);
    }
    // Whoever runs out of memory, descriptors or room for files is told so.
    let is_short = recorded.stderr.lines().any(|line| line.starts_with("avmon: ") && !line.contains(" findings from "));
    let is_cut_short = CUT_SHORT.iter().any(|name| case.source.ends_with(name));
    for path in recording::processes(&traces) {
        let trace = recording::open(&path)?;
        let mut events = 0;
        let problems = recording::read(&trace, |_, _| events += 1);
        if !is_short && !is_cut_short && (!problems.is_empty() || events == 0) {
            return context(&format!("{}: {events} events, {problems:?}", path.display()));
        }
    }
    Ok(())
}

/// In these a process is killed, or becomes another program: it cannot bring its recording to an end.
const CUT_SHORT: [&str; 2] = ["fork_child_killed.c", "exec_from_thread.c"];
