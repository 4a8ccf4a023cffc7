//! `avmon lint`: what the source of a program lets suspect, without a run.

mod flags;
mod list;
mod programs;
mod sources;

use super::exit::{ExitCode, Failure};
use super::figures::counted;
use super::launch;
use super::progress::Progress;
use super::{recording, tell};
use crate::lint::{self, Report};
use crate::report::json::Start;
use crate::report::modules::ModuleMap;
use crate::report::reporter::{Reporter, Totals};
use crate::report::sink::{LogFile, Sinks, wants_color};
use crate::report::symbols::Symbols;
use flags::Flags;
use sources::{Read, Sources};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Read as _};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  avmon lint app.c queue.c                   C and C++ sources, compiled by clang
  avmon lint app.c -- -Iinclude -DFAST       with flags for the compiler
  avmon lint build/compile_commands.json     a whole project, each file with its own flags
  avmon lint build/*.ll lib.bc               LLVM IR, as clang -O0 -g -emit-llvm makes it
  avmon lint app.c --show-weak               also what is seldom meant
  avmon lint app.c --json | jq .sentence     for programs";

/// Find split views and stale values in the source of a program, without running it
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Lint {
    /// Print the log instead of the report
    #[arg(long, conflicts_with = "log")]
    json: bool,

    /// Write the violation log to this file
    #[arg(short = 'o', long = "log", value_name = "FILE")]
    log: Option<PathBuf>,

    /// Compile and read so many files at once
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// The clang to compile sources with
    #[arg(long, value_name = "NAME", default_value = "clang")]
    clang: OsString,

    #[command(flatten)]
    flags: Flags,

    /// Sources, `compile_commands.json`, LLVM IR (.ll, .bc), directories of IR
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Flags for the compiler
    #[arg(last = true, value_name = "FLAG")]
    compiler_flags: Vec<OsString>,
}

impl Lint {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let settings = [("report", "1"), ("summary", "1")].into_iter().chain(self.flags.settings());
        let (_, options) = launch::options_after(vec![launch::inherited_options()], settings)?;
        let sources = Sources::find(&self.files, &self.compiler_flags)?;
        let all = sources.len();
        let Read { modules, failures, unknown } = {
            let mut progress = Progress::new();
            let jobs =
                self.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
            sources.read(&self.clang, jobs, &mut |done| progress.part(done, all, "file"))?
        };
        for failure in &failures {
            tell("warning", failure);
        }
        if !unknown.is_empty() {
            let flags: Vec<&str> = unknown.iter().map(String::as_str).collect();
            let text =
                format!("this clang does not know {}; what is compiled with that is read without it", flags.join(", "));
            tell("warning", &text);
        }
        if modules.is_empty() {
            return Err(Failure::internal("nothing could be read; the messages above say why"));
        }
        let (count, programs) = programs::programs(modules);
        let mut told = BTreeSet::new();
        let mut report = Report::default();
        for program in programs {
            for warning in programs::warnings(&program) {
                if !told.contains(&warning) {
                    tell("warning", &warning);
                    told.insert(warning);
                }
            }
            report = report.and(lint::lint(program, options.paper));
        }
        if report.blocks == 0 && report.processes > count {
            tell("warning", "threads are started, but no atomic block was found; see the limits in docs/linting.md");
        }
        if report.is_partial() {
            tell(
                "warning",
                "a large part of the program was looked at only as far as its locks could be followed: that little is found there \
                 does not mean that little is wrong; see the limits in docs/linting.md",
            );
        }

        let json = self.json.then(tempfile::NamedTempFile::new).transpose();
        let json = json.map_err(|error| Failure::internal(format!("cannot make a temporary file: {error}")))?;
        let log = json.as_ref().map(|file| file.path().to_owned()).or_else(|| self.log.clone());
        let output: Box<dyn io::Write + Send> = if self.json { Box::new(io::sink()) } else { Box::new(io::stdout()) };
        let sinks = Sinks {
            stderr: output,
            color: wants_color(options.color, io::stdout().is_terminal(), std::env::var_os("NO_COLOR")),
            log: log.map(LogFile::at),
        };
        let symbols = Symbols::new(&options, ModuleMap::default());
        let reporter = Reporter::new(&options, sinks, Start::of_this_process(), symbols);
        let mut reporter = reporter.map_err(|error| Failure::internal(error.to_string()))?;
        let closing = closing(&report, count, failures.len());
        let processes = report.processes;
        for finding in report.findings {
            reporter.suspected(finding);
        }
        reporter.finish(&Totals { threads: processes as u64, ..Totals::default() }, &mut std::iter::empty());
        match json {
            Some(mut file) => {
                let mut text = Vec::new();
                file.read_to_end(&mut text)
                    .map_err(|error| Failure::internal(format!("cannot read the log: {error}")))?;
                super::print(&text)?;
            }
            None if options.summary => {
                super::print(closing.as_bytes())?;
            }
            None => {}
        }
        let code = recording::exit_code(reporter.strong() > 0, self.flags.settings())?;
        Ok(if failures.is_empty() { code } else { code_of_part(code) })
    }
}

/// How the command ends if only a part could be read: nothing found there does not mean that nothing is wrong.
fn code_of_part(code: ExitCode) -> ExitCode {
    if code == ExitCode::Success { ExitCode::Failed } else { code }
}

/// What was looked at.
fn closing(report: &Report, programs: usize, failures: usize) -> String {
    let number = |count: usize, noun: &str| counted(count as u64, noun);
    let mut text = format!(
        "avmon: looked at {}, {}, {}",
        number(report.functions, "function"),
        number(report.blocks, "atomic block"),
        match report.processes {
            1 => "1 process".to_owned(),
            count => format!("{count} processes"),
        },
    );
    if programs > 1 {
        let _ = write!(text, " of {}", number(programs, "program"));
    }
    let skipped: u64 = report.skipped.values().sum();
    if skipped > 0 {
        let opcodes: Vec<String> = report.skipped.iter().map(|(opcode, count)| format!("{count} {opcode}")).collect();
        let _ = write!(text, ", {} skipped ({})", counted(skipped, "instruction"), opcodes.join(", "));
    }
    if report.cut > 0 {
        let _ = write!(text, ", {} not followed to the end", number(report.cut, "value"));
    }
    if report.endless > 0 {
        let _ = write!(text, ", {} without an end not looked at", number(report.endless, "block"));
    }
    if report.unsure > 0 {
        let _ = write!(text, ", {} with more locks than are followed", number(report.unsure, "function"));
    }
    if failures > 0 {
        let _ = write!(text, ", {} not read", number(failures, "file"));
    }
    text + "\n"
}
