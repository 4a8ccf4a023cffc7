//! `avmon scenario`: small concurrent programs of which everything can be known.

mod run;

use super::exit::{ExitCode, Failure};
use crate::scenario::parse;
use crate::scenario::tree::Scenario;
use clap::{Args, Subcommand};
use std::fs;
use std::path::{Path, PathBuf};

/// Write down a concurrent program in a few lines, and see all that it can do
#[derive(Args, Debug)]
pub struct ScenarioCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Run(run::Run),
}

impl ScenarioCommand {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Run(command) => command.execute(),
        }
    }
}

/// The scenario in a file; `-` is stdin.
fn read(path: &Path) -> Result<Scenario, Failure> {
    let name = path.display();
    let text =
        if path == Path::new("-") { std::io::read_to_string(std::io::stdin()) } else { fs::read_to_string(path) };
    let text = text.map_err(|error| Failure::new(ExitCode::Usage, format!("{name}: {error}")))?;
    parse(&text).map_err(|errors| {
        let rendered = errors.render(&name.to_string(), &text);
        Failure::new(ExitCode::Usage, format!("this is no scenario (see docs/scenarios.md):\n{}", rendered.trim_end()))
    })
}

/// The file that a scenario is in.
#[derive(Args, Debug)]
struct Source {
    /// The scenario's file; '-' is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
}
