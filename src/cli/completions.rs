//! `avmon completions`: a completion script for a shell.

use super::exit::{ExitCode, Failure};
use clap::{Args, ValueEnum};
use clap_complete::Shell;

const EXAMPLES: &str = "\
Examples:
  avmon completions bash > ~/.local/share/bash-completion/completions/avmon
  avmon completions zsh > ~/.zfunc/_avmon
  avmon completions fish > ~/.config/fish/completions/avmon.fish";

/// Print a completion script for a shell
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Completions {
    /// The shell that will read the script
    shell: KnownShell,
}

#[derive(Clone, Copy, ValueEnum, Debug)]
enum KnownShell {
    Bash,
    Zsh,
    Fish,
}

impl Completions {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let shell = match self.shell {
            KnownShell::Bash => Shell::Bash,
            KnownShell::Zsh => Shell::Zsh,
            KnownShell::Fish => Shell::Fish,
        };
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut super::command(), "avmon", &mut script);
        super::print(&script)
    }
}
