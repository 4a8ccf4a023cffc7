//! `avmon check`: the online rules over the trace of a run. The same findings as live, byte for byte.

use super::exit::{ExitCode, Failure};
use super::monitor_flags::OptionFlags;
use super::progress::Progress;
use super::tell;
use crate::event::{Event, ThreadId};
use crate::monitor::{Modules, Monitor};
use crate::options::{self, Options};
use crate::report::json::{Start, VERSION};
use crate::report::modules::ModuleMap;
use crate::report::reporter::{Reporter, Totals};
use crate::report::sink::{LogFile, Sinks, wants_color};
use crate::report::symbols::Symbols;
use crate::trace::meta::ModuleSnapshot;
use crate::trace::reader::Trace;
use std::collections::VecDeque;
use std::io::IsTerminal as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  avmon check avmon.data                     what the monitor found, or would have found, in the recorded run
  avmon check --show-weak avmon.data         also its weak findings
  avmon check --paper avmon.data             by the rules of the paper
  avmon check -o again.jsonl avmon.data      with a log

The options of the recorded run hold, unless a flag or AVMON_OPTIONS says otherwise.";

/// Run the monitor's rules over a trace
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Check {
    /// Write the violation log to this file
    #[arg(short = 'o', long = "log", value_name = "FILE")]
    log: Option<PathBuf>,

    #[command(flatten)]
    flags: OptionFlags,

    /// The trace: a directory made by 'avmon record'
    trace: PathBuf,
}
