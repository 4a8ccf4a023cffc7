//! The `avmon` command, one file per subcommand.

mod chaos;
mod check;
pub mod compiler;
mod completions;
mod confirm;
mod demo;
mod doctor;
mod dump;
mod environment;
mod example;
pub mod exit;
mod export;
mod figures;
pub mod flags;
mod info;
pub mod inherited;
mod invocation;
mod kept_ir;
mod launch;
mod library;
mod lint;
mod merge;
mod names;
mod options;
mod own_directory;
mod parent;
mod predict;
mod program;
mod progress;
mod record;
mod recording;
mod replay;
mod report;
mod run;
mod scenario;
mod stage;
mod style;
pub mod support;

pub use environment::VARIABLES;
pub use exit::{ExitCode, Failure};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use compiler::Language;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Write as _};

#[derive(Parser, Debug)]
#[command(
    name = "avmon",
    version,
    about = "Finds atomicity violations in native programs that use pthreads",
    subcommand_required = true,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Run(run::Run),
    Record(record::Record),
    Info(info::Info),
    Check(check::Check),
    Predict(predict::Predict),
    Lint(lint::Lint),
    Confirm(confirm::Confirm),
    Replay(replay::Replay),
    Merge(merge::Merge),
    Chaos(chaos::Chaos),
    Dump(dump::Dump),
    Export(export::Export),
    Report(report::Report),
    /// Compile and link C for the monitor: gcc or clang, with the flags that are needed
    #[command(after_help = COMPILER_EXAMPLES, disable_help_flag = true)]
    Cc(CompilerArguments),
    /// Compile and link C++ for the monitor
    #[command(name = "c++", after_help = COMPILER_EXAMPLES, disable_help_flag = true)]
    Cxx(CompilerArguments),
    Scenario(scenario::ScenarioCommand),
    Flags(flags::Flags),
    Demo(demo::Demo),
    Doctor(doctor::Doctor),
    Options(options::OptionList),
    Completions(completions::Completions),
}

/// Everything belongs to the compiler, `--help` and `--version` too: build systems ask it for both.
#[derive(clap::Args, Debug)]
struct CompilerArguments {
    /// What the compiler is given; a first --avmon-compiler=NAME chooses another one than gcc
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

const COMPILER_EXAMPLES: &str = "\
Examples:
  avmon cc -O1 -pthread app.c -o app
  avmon cc --avmon-compiler=clang -c app.c
  make CC='avmon cc' CXX='avmon c++'
  avmon cc --install-links ~/bin         makes avmon-cc and avmon-c++, for those who want one word
  CC=avmon-cc CXX=avmon-c++ ./configure
  CC=avmon-cc CXX=avmon-c++ cmake -B build";

const EXAMPLES: &str = "\
Examples:
  avmon demo                             see a violation found and explained
  avmon run -- ./server -p 80            monitor any dynamically linked program
  avmon record -- ./server -p 80         the same, and record all that it does
  avmon confirm -- ./test                record, predict, and make what is predicted happen
  avmon cc -O1 -pthread app.c -o app     compile so that functions are seen as blocks
  avmon report avmon.log.1234            read a log again
  avmon help run                         all about one command";

/// The whole command line, with the parts of the help that come from tables.
fn command() -> clap::Command {
    let mut after = format!("{EXAMPLES}\n\nEnvironment:\n");
    for (name, help) in environment::VARIABLES {
        let _ = writeln!(after, "  {name:<14} {help}");
    }
    let _ = write!(after, "\n{}", exit::help());
    Cli::command().after_help(after)
}

/// Runs the command line and tells how it ended. `avmon run` and `avmon cc` do not come back: they become the program. Nor does
/// `avmon record`, which ends as the program ended.
#[must_use]
pub fn main(mut arguments: Vec<OsString>) -> ExitCode {
    // A link named after a compiler stands for the subcommand: many build systems want one word.
    if let Some(language) = arguments.first().and_then(|name| Language::of_link(name)) {
        let name = match language {
            Language::C => "cc",
            Language::Cxx => "c++",
        };
        arguments.insert(1, name.into());
    }
    let parsed = command().try_get_matches_from(&arguments).and_then(|matches| Cli::from_arg_matches(&matches));
    match parsed {
        Ok(cli) => cli.command.execute(arguments).unwrap_or_else(|failure| {
            tell("error", &failure.text);
            failure.code
        }),
        Err(error) => refuse(&error, &arguments),
    }
}

impl Command {
    fn execute(self, arguments: Vec<OsString>) -> Result<ExitCode, Failure> {
        // The parser takes a `--` away, so the compiler gets the arguments as they came.
        let compile = |language| {
            compiler::run(language, arguments.into_iter().skip(2).collect())
                .map_or_else(|text| Err(Failure::internal(text)), |()| Ok(ExitCode::Success))
        };
        match self {
            Command::Run(command) => command.execute(),
            Command::Record(command) => command.execute(),
            Command::Info(command) => command.execute(),
            Command::Check(command) => command.execute(),
            Command::Predict(command) => command.execute(),
            Command::Lint(command) => command.execute(),
            Command::Confirm(command) => command.execute(),
            Command::Replay(command) => command.execute(),
            Command::Merge(command) => command.execute(),
            Command::Chaos(command) => command.execute(),
            Command::Dump(command) => command.execute(),
            Command::Export(command) => command.execute(),
            Command::Report(command) => command.execute(),
            Command::Cc(_) => compile(Language::C),
            Command::Cxx(_) => compile(Language::Cxx),
            Command::Flags(command) => print((command.line().map_err(Failure::internal)? + "\n").as_bytes()),
            Command::Scenario(command) => command.execute(),
            Command::Demo(command) => command.execute(),
            Command::Doctor(command) => command.execute(),
            Command::Options(command) => command.execute(),
            Command::Completions(command) => command.execute(),
        }
    }
}

/// Says what is wrong with the command line. Help and version come this way too, and are no errors.
fn refuse(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    if let Some(advice) = forgotten_run(error, arguments) {
        tell("error", &advice);
        return ExitCode::Usage;
    }
    // Nowhere to tell that the terminal is gone.
    let _ = error.print();
    if error.use_stderr() { ExitCode::Usage } else { ExitCode::Success }
}

/// `avmon ./prog` instead of `avmon run -- ./prog`: the unknown subcommand is a program, and resembles no subcommand.
fn forgotten_run(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let resembles_one = error.get(ContextKind::SuggestedSubcommand).is_some();
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let is_program = name.contains('/') || (!resembles_one && program::find(name.as_ref()).is_ok());
    if error.kind() != ErrorKind::InvalidSubcommand || !is_program {
        return None;
    }
    let line: Vec<_> = arguments.iter().skip(1).map(|argument| argument.to_string_lossy()).collect();
    Some(format!("'{name}' is no subcommand; to monitor a program write 'avmon run -- {}'", line.join(" ")))
}

/// One line on stderr, in the form that all messages of avmon have.
fn tell(level: &str, text: &str) {
    // Nowhere to tell that stderr is gone.
    let _ = writeln!(io::stderr(), "avmon: {level}: {text}");
}

/// Prints the result of a command.
fn print(bytes: &[u8]) -> Result<ExitCode, Failure> {
    written(io::stdout().write_all(bytes))
}

/// What it means that a result was written to stdout, or not. A reader who closed the pipe has seen enough.
fn written(result: io::Result<()>) -> Result<ExitCode, Failure> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::internal(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(ExitCode::Success),
    }
}
