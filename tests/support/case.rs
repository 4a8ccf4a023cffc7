//! A program of `tests/programs`, compiled in one way, and how it is run.

use super::build::{self, Variant};
use super::directives::Directives;
use super::packages;
use super::run::{End, Outcome, run};
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A trial for every program of a directory and every way in which its head comment, or else `default_variants`, wants it compiled.
pub fn trials(
    group: &str,
    directory: &Path,
    default_variants: &[Variant],
    check: fn(&Case) -> Result<(), String>,
) -> Vec<Trial> {
    let mut trials = Vec::new();
    for source in super::sources(directory) {
        let directives = Directives::read(&source, default_variants).unwrap_or_else(|error| panic!("{error}"));
        for variant in directives.variants.clone() {
            let stem = source.file_stem().unwrap_or_default().to_string_lossy();
            let name = format!("{group}::{stem}::{}", variant.name());
            let (source, directives) = (source.clone(), directives.clone());
            trials.push(Trial::test(name, move || Ok(check(&Case::new(source, directives, variant)?)?)));
        }
    }
    trials
}

/// One program, compiled in one way, with a directory of its own.
pub struct Case {
    pub source: PathBuf,
    pub directives: Directives,
    pub variant: Variant,
    directory: tempfile::TempDir,
    program: PathBuf,
}

impl Case {
    pub fn new(source: PathBuf, directives: Directives, variant: Variant) -> Result<Case, String> {
        let needs: Vec<&str> = directives.needs.iter().map(String::as_str).collect();
        packages::ensure(&needs)?;
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let program = directory.path().join(source.file_stem().unwrap_or_default());
        let case = Case { source, directives, variant, directory, program };
        case.build()?;
        Ok(case)
    }

    /// Where it runs, and where its logs are.
    pub fn directory(&self) -> &Path {
        self.directory.path()
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

    pub fn run_alone(&self) -> Result<Outcome, String> {
        let preload = self.directives.preload.iter().map(|library| ("LD_PRELOAD", library.clone()));
        run(&mut self.command(&preload.collect::<Vec<_>>()))
    }

    /// Under the monitor, with more options than its own.
    pub fn run_monitored(&self, more: &str) -> Result<Outcome, String> {
        let mut preload = build::library().display().to_string();
        if let Some(library) = &self.directives.preload {
            preload = format!("{preload}:{library}");
        }
        run(&mut self.command(&[("LD_PRELOAD", preload), ("AVMON_OPTIONS", format!("{}:{more}", self.options()?))]))
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

    /// What the monitor changed of what can be seen from outside, beyond what it must.
    pub fn difference(&self, alone: &Outcome, monitored: &Outcome) -> Option<String> {
        let Directives { exit, .. } = &self.directives;
        if alone.end != *exit {
            return Some(format!("without the monitor it should end with {exit}"));
        }
        let changes_code = self.directives.changes_exit_code() && matches!(alone.end, End::Exit(_));
        let end = if changes_code { End::Exit(66) } else { alone.end };
        if monitored.end != end {
            return Some(format!("it should end with {end} under the monitor"));
        }
        if monitored.stdout != alone.stdout {
            return Some("stdout differs".to_owned());
        }
        let is_quiet = !self.directives.may_report();
        let differs = is_quiet && without_notices(&monitored.stderr) != without_notices(&alone.stderr);
        differs.then(|| "stderr differs".to_owned())
    }
}

/// The monitor's own lines, such as a count of events that it could not see, are no part of what the program says.
fn without_notices(stderr: &str) -> String {
    stderr.lines().filter(|line| !line.starts_with("avmon: ")).collect::<Vec<_>>().join("\n")
}
