//! `avmon check` on a trace finds what the monitor found in the very same run: the records of the log and the text of the reports,
//! byte for byte.

mod support;

use libtest_mimic::{Arguments, Trial};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use support::build::{self, Variant};
use support::case::{self, Case};
use support::recording::{self, preloaded};
use support::run::{End, run};

/// Options that change what is found, or how it is told.
const OPTIONS: [&str; 4] = ["", "show_weak=1", "paper=1:show_weak=1", "strict_waits=1:sections=0:show_weak=1"];

fn main() {
    let arguments = Arguments::from_args();
    let root = support::root();
    let programs = root.join("tests/programs/finds");
    let mut trials = case::trials("finds", &programs, &[Variant::Instrumented], check_case);
    for (source, is_found) in examples(&root.join("examples")) {
        for variant in [Variant::Instrumented, Variant::Clang] {
            let name = source.strip_prefix(root).unwrap_or(&source).with_extension("");
            let source = source.clone();
            let trial = move || Ok(check_example(&source, is_found, variant)?);
            trials.push(Trial::test(format!("{}::{}", name.display(), variant.name()), trial));
        }
    }
    trials.push(Trial::test("other_options_on_the_same_trace", || Ok(other_options_on_the_same_trace()?)));
    let conclusion = libtest_mimic::run(&arguments, trials);
    println!("{} findings were compared", FINDINGS.load(Ordering::Relaxed));
    conclusion.exit();
}

/// So that it shows that something was compared.
static FINDINGS: AtomicUsize = AtomicUsize::new(0);

/// The sources of the listed examples, and whether the monitor finds something: some show only in their data.
fn examples(directory: &Path) -> Vec<(PathBuf, bool)> {
    let list = fs::read_to_string(directory.join("expected.txt")).expect("the list of the examples");
    let rows = list.lines().filter(|line| !line.starts_with('#'));
    let sources = rows.flat_map(|row| {
        let mut words = row.split_whitespace();
        let (name, blamed) = (words.next().unwrap_or_default(), words.next());
        let is_found = blamed.is_some_and(|blamed| blamed != "-");
        let is_buggy = |source: &PathBuf| source.file_stem().is_some_and(|stem| stem == "buggy");
        support::sources(&directory.join(name))
            .into_iter()
            .map(move |source| (source.clone(), is_found && is_buggy(&source)))
    });
    sources.collect()
}

fn check_example(source: &Path, is_found: bool, variant: Variant) -> Result<(), String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let program = home.path().join("program");
    build::compile(variant, source, &program, &[])?;
    for (number, options) in OPTIONS.iter().enumerate() {
        let [log, traces] = ["log", "traces"].map(|name| home.path().join(format!("{name}{number}")));
        let all = format!("log_path={}:trace_path={}:{options}", log.display(), traces.display());
        let live = run(preloaded(&program, &all).current_dir(home.path()))?;
        let compared = compare(&log, &traces, &live.stderr)?;
        if is_found && compared == 0 {
            return Err(format!("nothing was found with {options:?}: {live}"));
        }
    }
    Ok(())
}

/// With the options, suppressions and specification of the program's head comment.
fn check_case(case: &Case) -> Result<(), String> {
    let traces = case.directory().join("traces");
    let live = case.run_monitored(&format!("trace_path={}", traces.display()))?;
    if matches!(live.end, End::Signal(libc::SIGKILL)) {
        return found_by_the_killed(case, &traces);
    }
    let compared = compare(&case.directory().join("log"), &traces, &live.stderr)?;
    let expected = case.directives.finds.len();
    if compared >= expected { Ok(()) } else { Err(format!("{compared} of {expected} findings: {live}")) }
}

/// Compares the logs and reports of all processes of a run with what `avmon check` makes of their traces. The findings in them.
fn compare(log: &Path, traces: &Path, stderr: &str) -> Result<usize, String> {
    let mut findings = 0;
    // By process, since several write to one stderr.
    let mut live_reports = reports(stderr);
    let processes = recording::processes(traces);
    if processes.is_empty() {
        return Err(format!("nothing was recorded: {stderr}"));
    }
    for trace in processes {
        let pid = trace.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let live_log = fs::read_to_string(format!("{}.{pid}", log.display())).unwrap_or_default();
        let (text, log) = checked(&trace, &[])?;
        let (live, again) = (records(&live_log), records(&log));
        if live != again {
            return Err(format!("the logs differ:\n=== live\n{}\n=== check\n{}", live.join("\n"), again.join("\n")));
        }
        let (live, again) = (live_reports.remove(&pid), reports(&text).remove(&pid));
        if live != again {
            return Err(format!("the reports differ:\n=== live\n{live:?}\n=== check\n{again:?}"));
        }
        findings += again_count(&records(&log));
    }
    if let Some((pid, _)) = live_reports.into_iter().next() {
        return Err(format!("process {pid} has reports and no trace"));
    }
    FINDINGS.fetch_add(findings, Ordering::Relaxed);
    Ok(findings)
}

fn again_count(records: &[&str]) -> usize {
    records.iter().filter(|record| record.contains("\"type\":\"finding\"")).count()
}

/// The text and the log of `avmon check`.
fn checked(trace: &Path, flags: &[&str]) -> Result<(String, String), String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let [log, trace] = [&home.path().join("log"), trace].map(|path| path.display().to_string());
    let arguments = [&["check", "-o", &log], flags, &[&trace]].concat();
    let outcome = recording::reads(&arguments, &[0, 66])?;
    let log = fs::read_to_string(&log).map_err(|error| error.to_string())?;
    let is_found = log.contains("\"strength\":\"strong\"");
    if (outcome.end == End::Exit(66)) == is_found {
        Ok((outcome.stdout, log))
    } else {
        Err(format!("{outcome}\n{log}"))
    }
}

/// What a log says of findings: these records, and how often each was seen.
fn records(log: &str) -> Vec<&str> {
    let is_of_finding =
        |line: &&str| ["finding", "count"].iter().any(|kind| line.contains(&format!("\"type\":\"{kind}\"")));
    log.lines().filter(is_of_finding).collect()
}

/// The text of the reports, by process.
fn reports(text: &str) -> BTreeMap<String, String> {
    const SEPARATOR: &str = "==================\n";
    let mut reports = BTreeMap::new();
    // What stands between two separators is a report, or what stands between two reports.
    for part in text.split(SEPARATOR).filter(|part| part.starts_with("WARNING: avmon: ")) {
        let pid = part.split("(pid=").nth(1).and_then(|rest| rest.split(')').next()).unwrap_or_default();
        reports.entry(pid.to_owned()).or_insert_with(String::new).push_str(part);
    }
    reports
}

/// The log of a program that was killed has what was found until then; its trace may have more.
fn found_by_the_killed(case: &Case, traces: &Path) -> Result<(), String> {
    for trace in recording::processes(traces) {
        let pid = trace.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let log = case.directory().join(format!("log.{pid}"));
        let live = fs::read_to_string(log).unwrap_or_default();
        let (_, again) = checked(&trace, &[])?;
        let finding = |line: &&str| line.contains("\"type\":\"finding\"");
        let [live, again] = [&live, &again].map(|log| log.lines().filter(finding).collect::<Vec<_>>());
        if live.is_empty() || !again.starts_with(&live) {
            return Err(format!("=== live\n{}\n=== check\n{}", live.join("\n"), again.join("\n")));
        }
        FINDINGS.fetch_add(live.len(), Ordering::Relaxed);
    }
    Ok(())
}

/// The options of a check are its own where it has any: it finds in a trace what a run with these options finds.
fn other_options_on_the_same_trace() -> Result<(), String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let program = home.path().join("program");
    build::compile(Variant::Instrumented, &support::root().join("examples/bank/buggy.c"), &program, &[])?;
    let rule = home.path().join("rules");
    fs::write(&rule, "atomicity_top:transfer\n").map_err(|error| error.to_string())?;
    let traces = home.path().join("traces");
    let options = format!("exitcode=0:report=0:summary=0:trace_path={}", traces.display());
    run(preloaded(&program, &options).current_dir(home.path()))?;
    let trace = recording::processes(&traces).pop().ok_or("no trace")?;
    let strong = |flags: &[&str]| checked(&trace, flags).map(|(_, log)| log.matches("\"strength\":\"strong\"").count());
    let suppressions = format!("--suppressions={}", rule.display());
    let found = (strong(&[])?, strong(&[&suppressions])?);
    if found.0 > 0 && found.1 == 0 { Ok(()) } else { Err(format!("{found:?} strong findings")) }
}
