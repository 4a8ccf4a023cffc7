//! Runs every program of `tests/programs` alone and under the monitor, and compares all that can be seen from outside.
//!
//! The programs at the top are hazards: the monitor must not change what they do. Those in `finds` show what the
//! monitor finds, and what it must not find. `tests/support/directives.rs` says what their head comments mean.

mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::build::{self, Variant};
use support::directives::Directives;
use support::run::{End, Outcome, run};
use support::{findings, packages};

fn main() {
    let arguments = Arguments::from_args();
    let programs = support::root().join("tests/programs");
    let mut trials = Vec::new();
    add(&mut trials, "hazard", &programs, &[Variant::Plain, Variant::Instrumented]);
    add(&mut trials, "finds", &programs.join("finds"), &[Variant::Instrumented, Variant::Clang]);
    libtest_mimic::run(&arguments, trials).exit();
}

fn add(trials: &mut Vec<Trial>, group: &str, directory: &Path, default_variants: &[Variant]) {
    for source in support::sources(directory) {
        let directives = Directives::read(&source, default_variants).unwrap_or_else(|error| panic!("{error}"));
        for variant in directives.variants.clone() {
            let name = format!("{group}::{}::{}", stem(&source), variant.name());
            let (source, directives) = (source.clone(), directives.clone());
            trials.push(Trial::test(name, move || Ok(Case::new(source, directives, variant)?.check()?)));
        }
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// One program, compiled in one way, with a directory of its own.
struct Case {
    source: PathBuf,
    directives: Directives,
    variant: Variant,
    directory: tempfile::TempDir,
    program: PathBuf,
}

impl Case {
    fn new(source: PathBuf, directives: Directives, variant: Variant) -> Result<Case, Failed> {
        let needs: Vec<&str> = directives.needs.iter().map(String::as_str).collect();
        packages::ensure(&needs)?;
        let directory = tempfile::tempdir()?;
        let program = directory.path().join(stem(&source));
        let case = Case { source, directives, variant, directory, program };
        case.build()?;
        Ok(case)
    }

    fn shared(&self) -> PathBuf {
        self.directory.path().join("libshared.so")
    }

    fn build(&self) -> Result<(), String> {
        let Directives { flags, libs, shared, .. } = &self.directives;
        let [flags, libs] = [flags, libs].map(|list| list.iter().map(String::as_str).collect::<Vec<_>>());
        let library = self.shared();
        let library_text = library.display().to_string();
        let mut more = flags.clone();
        if shared.is_some() {
            build::compile(
                self.variant,
                &self.source,
                &library,
                &[flags.as_slice(), &["-shared", "-fPIC", "-DSHARED"]].concat(),
            )?;
        }
        if shared.as_deref() == Some("linked") {
            // The path that the program is linked with is the one at which it finds the library.
            more.push(&library_text);
        }
        more.extend(libs);
        build::compile(self.variant, &self.source, &self.program, &more)
    }

    /// The program's command, with these variables for it alone: a shell around it must not be monitored.
    fn command(&self, variables: &[(&str, String)]) -> Command {
        let shared = self.shared().display().to_string();
        let arguments = self.directives.args.iter().map(|argument| argument.replace("{shared}", &shared));
        let mut command = Command::new(if self.directives.shell.is_some() { Path::new("sh") } else { &self.program });
        command.env_remove("LD_PRELOAD").env_remove("AVMON_OPTIONS").current_dir(self.directory.path());
        if let Some(shell) = &self.directives.shell {
            let settings = variables.iter().map(|(name, value)| format!("{name}='{value}' "));
            let program = self.program.display().to_string();
            let words = [program].into_iter().chain(arguments).collect::<Vec<_>>().join(" ");
            let line = format!("env {}{words}", settings.collect::<String>());
            command.arg("-c").arg(shell.replace("{run}", &line));
        } else {
            command.args(arguments).envs(variables.iter().map(|(name, value)| (name, value)));
        }
        command
    }

    fn run_alone(&self) -> Result<Outcome, String> {
        let preload = self.directives.preload.iter().map(|library| ("LD_PRELOAD", library.clone()));
        run(&mut self.command(&preload.collect::<Vec<_>>()))
    }

    fn run_monitored(&self) -> Result<Outcome, String> {
        let mut preload = build::library().display().to_string();
        if let Some(library) = &self.directives.preload {
            preload = format!("{preload}:{library}");
        }
        run(&mut self.command(&[("LD_PRELOAD", preload), ("AVMON_OPTIONS", self.options()?)]))
    }

    fn options(&self) -> Result<String, String> {
        let path = |name: &str| self.directory.path().join(name).display().to_string();
        let mut options = vec![format!("log_path={}", path("log"))];
        if self.directives.any_findings {
            options.push("exitcode=0:report=0:summary=0".to_owned());
        }
        let Directives { suppressions, specification, .. } = &self.directives;
        for (name, lines) in [("suppressions", suppressions), ("specification", specification)] {
            if !lines.is_empty() {
                std::fs::write(path(name), lines.join("\n")).map_err(|error| error.to_string())?;
                options.push(format!("{name}={}", path(name)));
            }
        }
        options.extend(self.directives.options.clone());
        Ok(options.join(":"))
    }

    fn check(&self) -> Result<(), String> {
        let alone = self.run_alone()?;
        if alone.end != self.directives.exit {
            return Err(format!("without the monitor it should end with {}, but: {alone}", self.directives.exit));
        }
        let monitored = self.run_monitored()?;
        let found = findings::read(self.directory.path())?;
        let context = |what: &str| {
            let list = findings::show(&found);
            Err(format!("{what}\n=== alone: {alone}\n=== monitored: {monitored}\n=== findings:\n{list}"))
        };

        let changes_code = self.directives.changes_exit_code() && matches!(alone.end, End::Exit(_));
        let end = if changes_code { End::Exit(66) } else { alone.end };
        if monitored.end != end {
            return context(&format!("it should end with {end} under the monitor"));
        }
        if monitored.stdout != alone.stdout {
            return context("stdout differs");
        }
        if !self.directives.may_report() && without_notices(&monitored.stderr) != without_notices(&alone.stderr) {
            return context("stderr differs");
        }
        for expected in &self.directives.finds {
            let Some(finding) = found.iter().find(|finding| finding.matches(expected)) else {
                return context(&format!("not found: {expected:?}"));
            };
            // Without hooks there is no stack that would lead from the lock to the block.
            if self.variant != Variant::Plain {
                findings::check_marks(finding, &self.source)?;
            }
            if finding.is_strong() && matches!(end, End::Exit(_)) && !monitored.stderr.contains(&expected.block) {
                return context("the report on stderr does not name the block");
            }
        }
        let surprise = |finding: &&findings::Finding| {
            finding.is_strong() && !self.directives.finds.iter().any(|expected| finding.matches(expected))
        };
        match found.iter().find(surprise) {
            Some(finding) if !self.directives.any_findings => context(&format!("not expected: {finding}")),
            _ => Ok(()),
        }
    }
}

/// The monitor's own lines, such as a count of events that it could not see, are no part of what the program says.
fn without_notices(stderr: &str) -> String {
    stderr.lines().filter(|line| !line.starts_with("avmon: ")).collect::<Vec<_>>().join("\n")
}
