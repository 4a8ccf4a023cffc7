//! Records programs and reads what was recorded.

use super::build;
use super::directives::Directives;
use super::run::{Outcome, run};
use avmon::event::{Event, ThreadId};
use avmon::trace::reader::Trace;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The `avmon` command of this build, in an environment without options for it.
pub fn avmon(arguments: &[&str]) -> Command {
    let mut command = build::avmon();
    command.args(arguments).env_remove("LD_PRELOAD").env_remove("AVMON_OPTIONS");
    command
}

/// A program under the monitor, without a command of ours around it: so its process id is that of the child. However busy the machine is, what it records is whole.
pub fn preloaded(program: &Path, options: &str) -> Command {
    let mut command = Command::new(program);
    command.env("LD_PRELOAD", build::library()).env("AVMON_OPTIONS", format!("flush_timeout_ms=60000:{options}"));
    command
}

/// Compiles a program as its head comment asks for.
pub fn compile(
    variant: build::Variant,
    source: &Path,
    output: &Path,
    directives: &Directives,
    more: &[&str],
) -> Result<(), String> {
    let [flags, libs] = [&directives.flags, &directives.libs].map(|list| list.iter().map(String::as_str));
    build::compile(variant, source, output, &flags.chain(more.iter().copied()).chain(libs).collect::<Vec<_>>())
}

/// The traces in a directory of `avmon record`.
pub fn processes(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

pub fn open(path: &Path) -> Result<Trace, String> {
    Trace::open(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// All events in merged order, and what the reader found missing.
pub fn read(trace: &Trace, mut take: impl FnMut(ThreadId, &Event)) -> Vec<String> {
    let mut sink = |thread, event: &Event| {
        take(thread, event);
        ControlFlow::Continue(())
    };
    let merged = trace.merged(&mut sink, &mut |_, _| {});
    trace.problems().iter().chain(&merged.problems).map(ToString::to_string).collect()
}

/// Runs a command of ours that reads a trace. It must end by itself, with one of these codes, and without a panic.
pub fn reads(arguments: &[&str], codes: &[i32]) -> Result<Outcome, String> {
    let outcome = run(&mut avmon(arguments))?;
    let ended_well = codes.iter().any(|code| outcome.end == super::run::End::Exit(*code));
    if !ended_well || outcome.stderr.contains("panicked") {
        return Err(format!("avmon {arguments:?}: {}\n{}", outcome.end, outcome.stderr));
    }
    Ok(outcome)
}
