//! With the values of all accesses recorded, every read of a program without data races sees the last write before it in the merged order of its recording.
//!
//! The programs of `tests/recordings/values` have no data race; those of `tests/recordings/races` have one, or hide a write, so that
//! it shows that the check can fail.

mod support;

use libtest_mimic::{Arguments, Trial};
use std::path::Path;
use support::build::Variant;
use support::directives::Directives;
use support::recording::{self, avmon};
use support::run::{End, Outcome, run};

fn main() {
    let arguments = Arguments::from_args();
    let programs = support::root().join("tests/recordings");
    let mut trials = Vec::new();
    for (group, check) in [("values", all_saw_the_last_write as Check), ("races", a_wrong_read_is_told)] {
        for source in support::sources(&programs.join(group)) {
            for variant in [Variant::Instrumented, Variant::Clang] {
                let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let source = source.clone();
                let trial = move || Ok(check(&source, variant)?);
                trials.push(Trial::test(format!("{group}::{name}::{}", variant.name()), trial));
            }
        }
    }
    let atomics = programs.join("values/atomics_sequential.c");
    trials.push(Trial::test("atomics_always", move || Ok(atomics_always_have_values(&atomics)?)));
    libtest_mimic::run(&arguments, trials).exit();
}

type Check = fn(&Path, Variant) -> Result<(), String>;

fn all_saw_the_last_write(source: &Path, variant: Variant) -> Result<(), String> {
    let directives = Directives::read(source, &[])?;
    let (code, said) = check_values(source, variant, &directives)?;
    let compared = said.strip_prefix("all of ").and_then(|rest| rest.strip_suffix(" reads saw the last write\n"));
    let compared: Option<u64> = compared.and_then(|number| number.replace(',', "").parse().ok());
    match compared {
        Some(compared) if code == End::Exit(0) && directives.reads > 0 => {
            println!("{}: {compared} reads", source.display());
            let enough = compared >= directives.reads;
            enough.then_some(()).ok_or_else(|| format!("only {compared} of {} reads were compared", directives.reads))
        }
        _ => Err(format!("{code}: {said}")),
    }
}

fn a_wrong_read_is_told(source: &Path, variant: Variant) -> Result<(), String> {
    let (code, said) = check_values(source, variant, &Directives::read(source, &[])?)?;
    let is_told = said.contains("2 of 2 reads did not see the last write") && said.contains("of shared at hidden_");
    if code == End::Exit(66) && is_told { Ok(()) } else { Err(format!("{code}: {said}")) }
}

/// A recording without `--values` has those of atomic operations, and the check says that it has no others.
fn atomics_always_have_values(source: &Path) -> Result<(), String> {
    let checked = record_and_check(source, Variant::Instrumented, &Directives::read(source, &[])?, &[])?;
    let is_right = checked.end == End::Exit(0)
        && checked.stdout.ends_with(" atomic reads saw the last write\n")
        && checked.stderr.contains("only the values of atomic operations were recorded");
    if is_right { Ok(()) } else { Err(checked.to_string()) }
}

/// Records the program with values and checks them. How that ended, and what it said.
fn check_values(source: &Path, variant: Variant, directives: &Directives) -> Result<(End, String), String> {
    let checked = record_and_check(source, variant, directives, &["--values"])?;
    if checked.stderr.is_empty() { Ok((checked.end, checked.stdout)) } else { Err(format!("checking: {checked}")) }
}

fn record_and_check(
    source: &Path,
    variant: Variant,
    directives: &Directives,
    flags: &[&str],
) -> Result<Outcome, String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let [program, trace] = ["program", "trace"].map(|name| home.path().join(name).display().to_string());
    recording::compile(variant, source, Path::new(&program), directives, &[])?;
    let arguments = [&["record"], flags, &["-o", &trace, "--", &program]].concat();
    let mut record = avmon(&arguments);
    let recorded = run(record.env("AVMON_OPTIONS", "exitcode=0:report=0:summary=0"))?;
    if recorded.end != End::Exit(0) || recorded.stderr.contains("warning") {
        return Err(format!("recording: {recorded}"));
    }
    run(&mut avmon(&["check", "--values", &trace]))
}
