//! `--gdb`: the debugger stops where the story is.

use super::ctrl_c;
use crate::cli::exit::{ExitCode, Failure};
use crate::cli::launch::PRELOAD;
use crate::cli::stage::{Stage, SteeringFlags};
use crate::event::ThreadId;
use crate::options;
use crate::replay::journal::{self, Entry};
use crate::replay::schedule::{Place, Role, Schedule};
use crate::replay::staying::staying;
use crate::replay::verdict;
use serde_json::json;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const GDB: &str = "gdb";

/// What the library calls when the violating order is reached.
const STOP: &str = "avmon_violation";

/// Nobody is late before the debugger stops.
const NO_TIMEOUT: u32 = 0;

/// How often somebody looks whether a step is awaited in vain.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// Shows the program's own frames of all threads, where the debugger has Python.
const SHOW_OWN_FRAMES: &str = include_str!("stop.py");

const SHOW_ALL_FRAMES: &str = "info threads\nbacktrace\n";

pub fn start(stage: &Stage, schedule: &Schedule, flags: &SteeringFlags) -> Result<ExitCode, Failure> {
    let schedule = &staying(schedule);
    let steering = stage.steering(schedule, flags, NO_TIMEOUT)?;
    let launch = &steering.launch;
    if is_script(&launch.path) {
        return Err(Failure::internal(format!(
            "{} is a script, which gdb cannot debug: give --gdb the program itself, '{}', with the arguments that the script gives it",
            launch.path.display(),
            schedule.program.name
        )));
    }
    let show = if has_python().map_err(|error| not_started(&error))? {
        format!("python\n{}{SHOW_OWN_FRAMES}end\n", story(schedule, &steering.journal))
    } else {
        SHOW_ALL_FRAMES.to_owned()
    };
    let cannot = |error: io::Error| Failure::internal(format!("cannot write the debugger's commands: {error}"));
    let mut commands = tempfile::NamedTempFile::new().map_err(cannot)?;
    commands
        .write_all(script(schedule, &launch.preload.to_string_lossy(), &launch.options, &show).as_bytes())
        .map_err(cannot)?;
    let mut gdb = Command::new(GDB);
    gdb.args(["-q", "-x"]).arg(commands.path()).arg("--args").arg(&launch.path).args(launch.arguments());
    ctrl_c::leave_to(&mut gdb);
    let mut child = gdb.spawn().map_err(|error| not_started(&error))?;
    let is_over = AtomicBool::new(false);
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| tell_what_is_awaited(schedule, &steering.journal, &is_over));
        let ended = child.wait();
        is_over.store(true, Ordering::Release);
        ended
    });
    ended.map(|_| ExitCode::Success).map_err(|error| not_started(&error))
}

/// The debugger is silent as long as the program runs, and a step that does not come is not given up.
fn tell_what_is_awaited(schedule: &Schedule, journal: &Path, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Acquire) {
        let told = journal::read(&fs::read(journal).unwrap_or_default());
        let awaited = told.into_iter().find_map(|entry| match entry {
            Entry::Awaited { turn, thread, expected } => Some((turn, thread, expected)),
            _ => None,
        });
        if let Some((turn, thread, expected)) = awaited {
            let step = schedule.places.get(expected as usize).map(|place| verdict::step(thread, place));
            let step = step.unwrap_or_else(|| format!("T{thread}"));
            return super::say(&format!(
                "avmon: turn {turn} has not come for some seconds, which all wait for: {step}; press ctrl-C to look at the threads\n"
            ));
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// What the debugger's script has to know: who does what in the violation, and where the gate tells what was done.
fn story(schedule: &Schedule, journal: &Path) -> String {
    let step = |(role, thread, place): (Role, ThreadId, &Place)| json!([role.word(), thread, place.told()]);
    let steps: Vec<serde_json::Value> = schedule.roles().into_iter().map(step).collect();
    // Strings, numbers and lists are the same in Python.
    format!("STORY = {}\nJOURNAL = {}\n", json!(steps), json!(journal.to_string_lossy()))
}

/// What cannot be read was refused before.
fn is_script(program: &Path) -> bool {
    let mut begin = [0; 2];
    File::open(program).and_then(|mut file| file.read_exact(&mut begin)).is_ok() && begin == *b"#!"
}

/// An error in the debugger's commands ends them, so it is asked beforehand.
fn has_python() -> io::Result<bool> {
    let answer = Command::new(GDB)
        .args(["-q", "-nx", "-batch", "-ex", "python print('yes')"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()?;
    Ok(answer.stdout.starts_with(b"yes"))
}

fn not_started(error: &io::Error) -> Failure {
    Failure::internal(match error.kind() {
        io::ErrorKind::NotFound => "gdb was not found; install it, or leave out --gdb".to_owned(),
        _ => format!("gdb cannot be started: {error}"),
    })
}

fn script(schedule: &Schedule, preload: &str, options: &str, show: &str) -> String {
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
    text + "run\n" + show + "set pagination on\n"
}

fn escaped(line: &str) -> String {
    line.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%")
}
