//! `avmon scenario`: small concurrent programs in a language of their own.

mod build;
mod order;
mod run;

use super::exit::{ExitCode, Failure};
use crate::scenario::parse;
use crate::scenario::tree::{Position, Scenario, ThreadIndex};
use clap::Subcommand;
use std::io::Read as _;
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  avmon scenario run bank.scn            what can happen, each with a run that shows it
  avmon scenario build bank.scn          makes ./bank, a real program that runs in the written order
  avmon help scenario build              all about one command";

/// Write down a concurrent program in a few lines, and see all that it can do
#[derive(clap::Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true, after_help = EXAMPLES)]
pub struct ScenarioCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Run(run::Run),
    Build(build::Build),
}

impl ScenarioCommand {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Run(command) => command.execute(),
            Command::Build(command) => command.execute(),
        }
    }
}

/// A scenario and where it comes from.
struct Source {
    /// As the user gave it.
    path: String,
    scenario: Scenario,
}

impl Source {
    /// From a file; `-` is stdin.
    fn read(path: &Path) -> Result<Source, Failure> {
        let shown = path.display().to_string();
        let unreadable = |error: String| Failure::internal(format!("{shown} cannot be read: {error}"));
        let mut bytes = Vec::new();
        let read = match shown.as_str() {
            "-" => std::io::stdin().read_to_end(&mut bytes),
            _ => std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)),
        };
        read.map_err(|error| unreadable(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| unreadable("it is no text in UTF-8".to_owned()))?;
        match parse(&text) {
            Ok(scenario) => Ok(Source { path: shown, scenario }),
            Err(errors) => {
                let told = errors.render(&shown, &text);
                Err(Failure::internal(format!("{shown} is no scenario:\n{}", told.trim_end())))
            }
        }
    }

    fn name(&self, thread: ThreadIndex) -> &str {
        &self.scenario.threads[thread].name
    }

    /// A place in the text, for the beginning of a message.
    fn place(&self, at: Position) -> String {
        format!("{}:{}:{}", self.path, at.line, at.column)
    }
}
