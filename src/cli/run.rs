//! `avmon run`: checks everything that can be checked, then becomes the program with the monitor inside.

use super::exit::{ExitCode, Failure};
use super::launch::{Launch, OptionFlags};
use clap::Args;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;

const EXAMPLES: &str = "\
Examples:
  avmon run -- ./server --port 8080
  avmon run -o /tmp/server -- ./server       write the log to /tmp/server.PID
  avmon run --show-weak -- ./test            also show weak findings
  avmon run --exitcode 0 -- make check       keep the exit codes of what is tested
  avmon run --suppressions known.txt -- ./server

Every option can also be set in AVMON_OPTIONS; a flag wins over it.";

/// Run a program under the monitor
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, override_usage = "avmon run [OPTIONS] [--] PROGRAM [ARGUMENT]...")]
pub struct Run {
    /// Write the violation log to PATH.PID; short for --log-path
    #[arg(short = 'o', long = "log", value_name = "PATH")]
    log: Option<String>,

    #[command(flatten)]
    flags: OptionFlags<false>,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

impl Run {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let log = self.log.iter().map(|path| ("log_path", path.as_str()));
        let launch = Launch::prepare(&self.program, self.flags.settings().chain(log))?;
        let error = launch.command().exec();
        Err(launch.failure(&error))
    }
}
