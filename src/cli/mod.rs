//! The `avmon` command, one file per subcommand.

mod completions;
mod demo;
mod doctor;
mod environment;
mod example;
pub mod exit;
mod library;
mod options;
mod program;
mod run;
mod style;

pub use environment::VARIABLES;
pub use exit::{ExitCode, Failure};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Write as _};

#[derive(Parser, Debug)]
#[command(
    name = "avmon",
    version,
    about = "Finds atomicity violations in native programs that use pthreads",
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Run(run::Run),
    Demo(demo::Demo),
    Doctor(doctor::Doctor),
    Options(options::OptionList),
    Completions(completions::Completions),
}

const EXAMPLES: &str = "\
Examples:
  avmon demo                     see a violation found and explained
  avmon run -- ./server -p 80    monitor any dynamically linked program
  avmon cc -g -pthread app.c     compile so that functions are seen as blocks
  avmon report avmon.log.1234    read a log again";

/// The whole command line, with the parts of the help that come from tables.
fn command() -> clap::Command {
    let mut after = format!("{EXAMPLES}\n\nEnvironment:\n");
    for (name, help) in environment::VARIABLES {
        let _ = writeln!(after, "  {name:<14} {help}");
    }
    let _ = write!(after, "\n{}", exit::help());
    Cli::command().after_help(after)
}

/// Runs the command line and tells how it ended. `avmon run` does not come back: it becomes the program.
#[must_use]
pub fn main(arguments: &[OsString]) -> ExitCode {
    let matches = match command().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => return refuse(&error, arguments),
    };
    let result = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli.command.execute(),
        Err(error) => return refuse(&error, arguments),
    };
    result.unwrap_or_else(|failure| {
        tell("error", &failure.text);
        failure.code
    })
}

impl Command {
    fn execute(self) -> Result<ExitCode, Failure> {
        match self {
            Command::Run(command) => command.execute(),
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
    eprintln!("avmon: {level}: {text}");
}

/// Prints the result of a command. A reader who closed the pipe has seen enough.
fn print(bytes: &[u8]) -> Result<ExitCode, Failure> {
    match io::stdout().write_all(bytes) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::internal(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(ExitCode::Success),
    }
}
