//! `--gdb`: the debugger stops where the story is.

use crate::cli::exit::{ExitCode, Failure};
use crate::cli::launch::PRELOAD;
use crate::cli::stage::{Stage, SteeringFlags};
use crate::options;
use crate::replay::schedule::Schedule;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::Command;

/// What the library calls when the violating order is reached.
const STOP: &str = "avmon_violation";

/// Nobody is late while a person looks.
const NO_TIMEOUT: u32 = u32::MAX;

pub fn start(stage: &Stage, schedule: &Schedule, flags: &SteeringFlags) -> Result<ExitCode, Failure> {
    let steering = stage.steering(schedule, flags, NO_TIMEOUT)?;
    let launch = &steering.launch;
    let cannot = |error: io::Error| Failure::internal(format!("cannot write the debugger's commands: {error}"));
    let mut commands = tempfile::NamedTempFile::new().map_err(cannot)?;
    commands
        .write_all(script(schedule, &launch.preload.to_string_lossy(), &launch.options).as_bytes())
        .map_err(cannot)?;
    let mut gdb = Command::new("gdb");
    gdb.args(["-q", "-x"]).arg(commands.path()).arg("--args").arg(&launch.path).args(launch.arguments());
    match gdb.status() {
        Ok(_) => Ok(ExitCode::Success),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Failure::internal("gdb was not found; install it, or leave out --gdb"))
        }
        Err(error) => Err(Failure::internal(format!("gdb cannot be started: {error}"))),
    }
}

fn script(schedule: &Schedule, preload: &str, options: &str) -> String {
    // The debugger itself and the shell that it might use are not to be steered.
    let mut text = format!(
        "set startup-with-shell off
set disable-randomization on
set breakpoint pending on
set pagination off
set environment {PRELOAD} {preload}
set environment {} {options}
break {STOP}
",
        options::VARIABLE
    );
    for line in super::steps(schedule).lines() {
        // The text of these is a format.
        let _ = writeln!(text, "printf \"avmon: {}\\n\"", escaped(line));
    }
    text.push_str("run\ninfo threads\nbacktrace\nset pagination on\n");
    text
}

fn escaped(line: &str) -> String {
    line.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%")
}
