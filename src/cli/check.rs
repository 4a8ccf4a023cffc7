//! `avmon check`: the online rules over the trace of a run. The same findings as live, byte for byte.

mod serial;

use super::exit::{ExitCode, Failure};
use super::figures::counted;
use super::launch::OptionFlags;
use super::progress::Progress;
use super::recording::{self, DIRECTORY, RecordedModules};
use super::tell;
use crate::analysis::values::{Mismatch, Values};
use crate::monitor::Monitor;
use crate::options::Options;
use crate::report::finding::Frame;
use crate::report::symbols::Symbols;
use crate::trace::reader::Trace;
use std::io::{self, IsTerminal as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  avmon check                        what the monitor found in the recorded run
  avmon check --show-weak            its weak findings too
  avmon check --paper                by the rules of the paper, to the letter
  avmon check -o again.log           with a log
  avmon check --values               whether every read saw the last write (best recorded with --values)
  avmon check --serial               whether the run was the same as one with its marked blocks one by one

The options of the recorded run hold, unless a flag or AVMON_OPTIONS says otherwise.";

/// Run the monitor's rules over a trace
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Check {
    /// Write the violation log to this file
    #[arg(short = 'o', long = "log", value_name = "FILE")]
    log: Option<PathBuf>,

    /// Check the recorded values instead: in a program without data races every read sees the last write before it
    #[arg(long)]
    values: bool,

    /// Check this very run instead: whether its marked blocks could have run one after the other with the same outcome
    #[arg(long, conflicts_with_all = ["values", "log"])]
    serial: bool,

    #[command(flatten)]
    flags: OptionFlags<false>,

    /// The trace: what 'avmon record' wrote, or one process of it
    #[arg(value_name = "TRACE", default_value = DIRECTORY)]
    trace: PathBuf,
}

impl Check {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        recording::each_process(&self.trace, true, |process| self.check(process))
    }

    /// Checks the trace of one process.
    fn check(&self, path: &Path) -> Result<ExitCode, Failure> {
        let trace = recording::open(path)?;
        recording::warn(trace.problems());
        let options = recording::options(trace.meta(), self.flags.settings())?;
        let found = if self.values {
            check_values(&trace)?
        } else if self.serial {
            serial::check(&trace, options.strict_waits)?
        } else {
            self.check_rules(&trace, &options)?
        };
        recording::exit_code(found, self.flags.settings())
    }

    fn check_rules(&self, trace: &Trace, options: &Options) -> Result<bool, Failure> {
        let meta = trace.meta();
        let symbols = recording::unplaced_symbols(trace, options);
        let reporter = recording::reporter(trace, options, symbols, Box::new(io::stdout()), self.log.clone())?;
        let mut monitor = Monitor::new(options, meta.pid, reporter, &meta.early_locks);
        let mut modules = RecordedModules::of(trace);
        let progress = Progress::beside_output(io::stdout().is_terminal());
        let merged = recording::read_monitored(trace, progress, |thread, event| {
            let strong = monitor.step(thread, event, &mut modules);
            if strong && options.halt_on_error { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        recording::warn(&merged.problems);
        let totals = recording::totals(trace, &merged);
        monitor.finish(&monitor.totals(totals));
        Ok(monitor.strong() > 0)
    }
}

/// So many wrong reads are told one by one.
const MOST_TOLD: u64 = 20;

/// True if a read did not see the last write.
fn check_values(trace: &Trace) -> Result<bool, Failure> {
    let mut symbols = recording::symbols(trace, true);
    let mut values = Values::default();
    let mut wrong = 0;
    let mut failed = None;
    let merged = recording::read(trace, Progress::beside_output(io::stdout().is_terminal()), |thread, event| {
        if let Some(mismatch) = values.step(thread, event) {
            wrong += 1;
            if wrong <= MOST_TOLD {
                let line = describe(&mismatch, &mut symbols) + "\n";
                if let Err(failure) = super::print(line.as_bytes()) {
                    failed = Some(failure);
                    return ControlFlow::Break(());
                }
            }
        }
        ControlFlow::Continue(())
    });
    if let Some(failure) = failed {
        return Err(failure);
    }
    recording::warn(&merged.problems);
    if wrong > MOST_TOLD {
        super::print(format!("and {} more\n", wrong - MOST_TOLD).as_bytes())?;
    }
    let reads = counted(values.compared(), if values.has_plain() { "read" } else { "atomic read" });
    if !values.has_plain() {
        tell(
            "warning",
            "only the values of atomic operations were recorded; for all, record with 'avmon record --values'",
        );
    }
    match (values.compared(), wrong) {
        (0, _) => drop(super::print(b"no read was compared with a write\n")?),
        (_, 0) => drop(super::print(format!("all of {reads} saw the last write\n").as_bytes())?),
        _ => drop(super::print(
            format!("{wrong} of {reads} did not see the last write: there is a data race, or code that is not instrumented wrote\n")
                .as_bytes(),
        )?),
    }
    Ok(wrong > 0)
}

fn describe(mismatch: &Mismatch, symbols: &mut Symbols) -> String {
    let Mismatch { thread, address, size, pc, seen, expected, writer, written_at, only_seen } = *mismatch;
    let variable = symbols.variable(address).unwrap_or_else(|| format!("{address:#x}"));
    let mut place = |pc| symbols.call_frames(pc).first().map(Frame::short).unwrap_or_default();
    let had = if only_seen { "read" } else { "written" };
    format!(
        "thread T{thread} read {} of {variable} at {}: {seen:#x}; thread T{writer} had {had} {expected:#x} at {}",
        counted(size, "byte"),
        place(pc),
        place(written_at),
    )
}
