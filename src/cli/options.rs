//! `avmon options`: the option table of the monitor.

use super::exit::{ExitCode, Failure};
use clap::Args;

const EXAMPLES: &str = "\
Examples:
  avmon options
  AVMON_OPTIONS=\"log_path=/tmp/app:exitcode=0\" LD_PRELOAD=libavmon.so ./app
  avmon run --log-path /tmp/app --exitcode 0 -- ./app    the same, with flags";

/// List the options of the monitor
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct OptionList {}

impl OptionList {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let OptionList {} = self;
        super::print(crate::options::help().as_bytes())
    }
}
