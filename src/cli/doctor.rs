//! `avmon doctor`: what works on this machine, found out by trying it.

use super::example::{self, BUGGY, Workshop};
use super::exit::{ExitCode, Failure};
use super::style::{self, paint};
use super::{library, program};
use crate::options;
use clap::Args;
use serde::Serialize;
use std::ffi::CStr;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

const EXAMPLES: &str = "\
Examples:
  avmon doctor
  avmon doctor --json | jq '.[] | select(.status != \"ok\")'";

/// Check what works on this machine, and say what to do about the rest
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Doctor {
    /// Print the checks as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    /// Something is missing that some users need.
    Warn,
    /// avmon does not work.
    Fail,
}

/// What one check found.
#[derive(Serialize, Debug)]
struct Check {
    name: &'static str,
    status: Status,
    detail: String,
    /// What to do; empty if there is nothing to do.
    advice: String,
}

impl Check {
    fn ok(name: &'static str, detail: impl Into<String>) -> Check {
        Check { name, status: Status::Ok, detail: detail.into(), advice: String::new() }
    }

    fn warn(name: &'static str, detail: impl Into<String>, advice: impl Into<String>) -> Check {
        Check { name, status: Status::Warn, detail: detail.into(), advice: advice.into() }
    }

    fn fail(name: &'static str, detail: impl Into<String>, advice: impl Into<String>) -> Check {
        Check { name, status: Status::Fail, detail: detail.into(), advice: advice.into() }
    }
}

impl Doctor {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let mut checks = vec![glibc(), library(), preload()];
        checks.extend(example::COMPILERS.map(compiler));
        checks.extend(example());
        checks.extend([debug_files(), address_space(), open_files(), ptrace(), core_pattern(), security_modules()]);
        let worst = checks.iter().any(|check| check.status == Status::Fail);
        super::print(render(&checks, self.json).as_bytes())?;
        Ok(if worst { ExitCode::Failed } else { ExitCode::Success })
    }
}

fn render(checks: &[Check], json: bool) -> String {
    if json {
        return serde_json::to_string_pretty(checks).expect("plain data") + "\n";
    }
    let mut text = String::new();
    for Check { name, status, detail, advice } in checks {
        let status = match status {
            Status::Ok => paint(style::GOOD, "ok  "),
            Status::Warn => paint(style::DOUBTFUL, "warn"),
            Status::Fail => paint(style::BAD, "fail"),
        };
        let _ = writeln!(text, "{status}  {name:<16} {detail}");
        if !advice.is_empty() {
            let _ = writeln!(text, "{:24}-> {advice}", "");
        }
    }
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let (warnings, failures) = (count(Status::Warn), count(Status::Fail));
    let _ = match (warnings, failures) {
        (0, 0) => writeln!(text, "everything works"),
        (_, 0) => writeln!(text, "avmon works; see the advice for what could work better"),
        _ => writeln!(text, "avmon does not work fully here: see the advice at each 'fail'"),
    };
    text
}

fn glibc() -> Check {
    // SAFETY: returns a pointer to a static, NUL-terminated string.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    Check::ok("glibc", version.to_string_lossy())
}

fn library() -> Check {
    match library::find() {
        Ok(path) => Check::ok("library", path.display().to_string()),
        Err(failure) => Check::fail("library", "not found", failure.text),
    }
}

/// A single-threaded program that prints the monitor's own option table proves that the library was loaded.
fn preload() -> Check {
    const NAME: &str = "preload";
    let preload = match library::find().and_then(|library| library::preload(&library, None)) {
        Ok(preload) => preload,
        Err(failure) => return Check::fail(NAME, "not tried", failure.text),
    };
    match Command::new("true").env("LD_PRELOAD", preload).env(options::VARIABLE, "help=1").output() {
        Ok(output) if output.status.success() && example::text_of(&output).contains(options::VARIABLE) => {
            Check::ok(NAME, "the library loads into a program and starts")
        }
        Ok(output) => Check::fail(
            NAME,
            format!("the library did not start inside 'true' ({})", output.status),
            first_line(&example::text_of(&output)).unwrap_or("build it again on this machine: 'cargo build --release'"),
        ),
        Err(error) => Check::warn(NAME, format!("'true' cannot be started: {error}"), "install coreutils"),
    }
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().find(|line| !line.trim().is_empty())
}

fn compiler(name: &'static str) -> Check {
    let advice = format!("install {name} to build with 'avmon cc'; one compiler is enough, and 'avmon run' needs none");
    if program::find(name.as_ref()).is_err() {
        return Check::warn(name, "not installed", advice);
    }
    let attempt =
        Command::new(name).args(["-fsanitize=thread", "-x", "c", "-c", "/dev/null", "-o", "/dev/null"]).output();
    match attempt {
        Ok(output) if output.status.success() => Check::ok(name, "accepts -fsanitize=thread"),
        Ok(output) => {
            let text = example::text_of(&output);
            Check::warn(name, first_line(&text).unwrap_or("does not accept -fsanitize=thread"), advice)
        }
        Err(error) => Check::warn(name, error.to_string(), advice),
    }
}

/// Builds the bundled threaded program and runs it without and with the monitor.
fn example() -> Vec<Check> {
    const BUILD: &str = "avmon cc";
    let Ok(compiler) = example::compiler() else { return Vec::new() };
    let attempt = || {
        let directory = tempfile::tempdir()
            .map_err(|error| Failure::internal(format!("no temporary directory: {error}; set TMPDIR")))?;
        let workshop = Workshop::new(directory.path())?;
        workshop.write(&BUGGY)?;
        let built = workshop.run(&example::build_line(compiler, &BUGGY))?;
        if !built.status.success() {
            let text = example::text_of(&built);
            return Ok(vec![Check::fail(BUILD, "cannot build", first_line(&text).unwrap_or("no message"))]);
        }
        let native = workshop.run(&format!("./{}", BUGGY.program()))?;
        let monitored = workshop.run(&format!("avmon run -- ./{}", BUGGY.program()))?;
        let mut checks = vec![
            Check::ok(BUILD, format!("builds a threaded program with {compiler}")),
            outcome("without avmon", "that program runs by itself", native.status, ExitCode::Success),
            outcome("monitor", "its violation is found", monitored.status, ExitCode::Findings),
        ];
        // Without a report there is nothing to judge the names by.
        if checks.iter().all(|check| check.status == Status::Ok) {
            checks.push(symbols(&example::text_of(&monitored)));
        }
        Ok(checks)
    };
    attempt().unwrap_or_else(|failure: Failure| vec![Check::fail(BUILD, "not tried", failure.text)])
}

fn outcome(name: &'static str, meaning: &str, status: std::process::ExitStatus, wanted: ExitCode) -> Check {
    if status.code() == Some(i32::from(wanted.0)) {
        return Check::ok(name, meaning);
    }
    let detail = format!("expected exit code {} but saw {status}", wanted.0);
    Check::fail(name, detail, "run 'avmon demo' to see what it says")
}

fn symbols(report: &str) -> Check {
    let location = format!("{}:", BUGGY.file);
    if report.contains(&location) {
        Check::ok("symbols", "addresses become functions, files and lines")
    } else {
        Check::fail("symbols", "the report names no source line", "compile with -g; see 'avmon demo'")
    }
}

fn debug_files() -> Check {
    let (options, _) = options::Options::from_env();
    let directory = options.debug_path;
    if Path::new(&directory).is_dir() {
        Check::ok("debug files", directory)
    } else {
        let advice = "install the -dbg or -dbgsym packages of the libraries whose names you want to see";
        Check::warn("debug files", format!("no {directory}: stripped libraries show as module+offset"), advice)
    }
}

/// The soft limit on a resource; `None` is no limit.
fn limit(resource: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` is valid for writing.
    unsafe { libc::getrlimit(resource, &raw mut limit) };
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

fn address_space() -> Check {
    const NAME: &str = "address space";
    const ENOUGH: u64 = 1 << 30;
    match limit(libc::RLIMIT_AS) {
        None => Check::ok(NAME, "unlimited"),
        Some(bytes) if bytes >= ENOUGH => Check::ok(NAME, format!("{} MiB", bytes >> 20)),
        Some(bytes) => Check::warn(
            NAME,
            format!("only {} MiB", bytes >> 20),
            "'ulimit -v unlimited', or make the monitor smaller with the option buffer_mb",
        ),
    }
}

fn open_files() -> Check {
    const NAME: &str = "open files";
    const ENOUGH: u64 = 64;
    match limit(libc::RLIMIT_NOFILE) {
        Some(count) if count < ENOUGH => Check::warn(NAME, format!("only {count}"), "'ulimit -n 1024'"),
        Some(count) => Check::ok(NAME, count.to_string()),
        None => Check::ok(NAME, "unlimited"),
    }
}

/// The trimmed content of a file of the kernel, if it exists.
fn kernel(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn ptrace() -> Check {
    let scope = kernel("/proc/sys/kernel/yama/ptrace_scope");
    Check::ok(
        "ptrace",
        match scope.as_deref() {
            None | Some("0") => "a debugger may attach to a monitored program; avmon itself needs no ptrace",
            Some("1") => "a debugger must start the program itself (ptrace_scope 1); avmon needs no ptrace",
            Some(_) => "only root may attach a debugger (ptrace_scope 2 or 3); avmon needs no ptrace",
        },
    )
}

fn core_pattern() -> Check {
    let pattern = kernel("/proc/sys/kernel/core_pattern").unwrap_or_default();
    let limit = limit(libc::RLIMIT_CORE);
    // A pattern that begins with a pipe ignores the limit.
    Check::ok(
        "core dumps",
        if limit == Some(0) && !pattern.starts_with('|') {
            "off ('ulimit -c unlimited' turns them on)".to_owned()
        } else {
            format!("a crash leaves its core in '{pattern}'")
        },
    )
}

fn security_modules() -> Check {
    const NAME: &str = "confinement";
    if kernel("/sys/fs/selinux/enforce").as_deref() == Some("1") {
        let advice = "label libavmon.so as a library: 'chcon -t lib_t libavmon.so'";
        return Check::warn(NAME, "SELinux enforces: a confined program may not load the library", advice);
    }
    if kernel("/sys/module/apparmor/parameters/enabled").as_deref() == Some("Y") {
        return Check::ok(NAME, "AppArmor is on: the profile of a confined program must let it read the library");
    }
    Check::ok(NAME, "no SELinux or AppArmor")
}
