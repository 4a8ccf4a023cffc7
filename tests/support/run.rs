//! Runs a program to its end, whatever the end is, within a time limit.

use std::fmt::{self, Write as _};
use std::io::Read;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// Generous: only a program that hangs reaches it.
pub const LIMIT: Duration = Duration::from_secs(60);

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Exit(i32),
    Signal(i32),
}

/// The signals that tests speak of.
const SIGNALS: &[(&str, i32)] = &[
    ("SIGABRT", libc::SIGABRT),
    ("SIGFPE", libc::SIGFPE),
    ("SIGHUP", libc::SIGHUP),
    ("SIGINT", libc::SIGINT),
    ("SIGKILL", libc::SIGKILL),
    ("SIGPIPE", libc::SIGPIPE),
    ("SIGSEGV", libc::SIGSEGV),
    ("SIGTERM", libc::SIGTERM),
    ("SIGXFSZ", libc::SIGXFSZ),
];

impl End {
    /// Reads `3` or `SIGTERM`.
    pub fn parse(text: &str) -> Option<End> {
        let signal = SIGNALS.iter().find(|(name, _)| *name == text).map(|(_, number)| End::Signal(*number));
        signal.or_else(|| text.parse().ok().map(End::Exit))
    }
}

impl From<ExitStatus> for End {
    fn from(status: ExitStatus) -> End {
        match (status.code(), status.signal()) {
            (Some(code), _) => End::Exit(code),
            (None, signal) => End::Signal(signal.unwrap_or(0)),
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Exit(code) => write!(f, "exit status {code}"),
            End::Signal(number) => match SIGNALS.iter().find(|(_, n)| n == number) {
                Some((name, _)) => write!(f, "{name}"),
                None => write!(f, "signal {number}"),
            },
        }
    }
}

/// All that can be seen of a run from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    pub end: End,
    pub stdout: String,
    pub stderr: String,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n--- stdout\n{}\n--- stderr\n{}\n---", self.end, self.stdout, self.stderr)
    }
}

/// Runs the command in a process group of its own. A group that is not done in time is killed, and the error says
/// where its threads were.
pub fn run(command: &mut Command) -> Result<Outcome, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|error| format!("{command:?} cannot be started: {error}"))?;
    let deadline = Instant::now() + LIMIT;
    let stdout = drain(child.stdout.take().expect("a pipe was asked for"));
    let stderr = drain(child.stderr.take().expect("a pipe was asked for"));
    let end = wait(&mut child, deadline);
    // The pipes are at their end only when the last process that inherited them is gone.
    let outputs = end.and_then(|end| Some((end, rest(&stdout, deadline)?, rest(&stderr, deadline)?)));
    let Some((end, stdout, stderr)) = outputs else {
        let where_it_hangs = backtraces(child.id());
        kill_group(child.id());
        let _ = child.wait();
        let after = Instant::now() + Duration::from_secs(5);
        let [stdout, stderr] = [&stdout, &stderr].map(|pipe| rest(pipe, after).unwrap_or_default());
        return Err(format!(
            "{command:?} was not done after {} s\n--- stdout\n{stdout}\n--- stderr\n{stderr}\n--- threads\n{where_it_hangs}",
            LIMIT.as_secs()
        ));
    };
    Ok(Outcome { end, stdout, stderr })
}

fn wait(child: &mut Child, deadline: Instant) -> Option<End> {
    loop {
        if let Some(status) = child.try_wait().expect("our own child can be waited for") {
            return Some(End::from(status));
        }
        if Instant::now() > deadline {
            return None;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Reads to the end on a thread, so that a program is never blocked by a full pipe.
fn drain(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}

fn rest(pipe: &Receiver<Vec<u8>>, deadline: Instant) -> Option<String> {
    let left = deadline.saturating_duration_since(Instant::now());
    pipe.recv_timeout(left).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Ends every process of a group that a test started.
pub fn kill_group(leader: u32) {
    // SAFETY: kill takes no pointers; the group was made for our own child, which is not reaped yet or just was.
    unsafe { libc::kill(-(leader as i32), libc::SIGKILL) };
}

/// What all threads of a group are doing, if there is a debugger to ask.
fn backtraces(leader: u32) -> String {
    let mut text = String::new();
    for pid in members(leader) {
        let output = Command::new("timeout")
            .args(["-s", "KILL", "20", "gdb", "-q", "-batch", "-ex", "thread apply all bt 12", "-p", &pid.to_string()])
            .stdin(Stdio::null())
            .output();
        match output {
            Ok(output) => text += &String::from_utf8_lossy(&output.stdout),
            Err(error) => {
                let _ = writeln!(text, "(gdb was not there to show process {pid}: {error})");
            }
        }
    }
    text
}

fn members(group: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| group_of(*pid) == Some(group)).collect()
}

fn group_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the name in parentheses: state, parent, group.
    stat.rsplit_once(") ")?.1.split(' ').nth(2)?.parse().ok()
}
