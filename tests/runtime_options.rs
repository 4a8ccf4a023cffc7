//! The options that say how the monitor lives in a process, each with a program that shows what it changes.

mod toolbox;

use serde_json::Value;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use tempfile::TempDir;
use toolbox::{library, succeed};

/// Exit status of a monitored program in which something was found, and the program's own.
const FOUND: i32 = 66;
const OWN: i32 = 7;

fn program() -> &'static Path {
    static BUILT: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, program) = BUILT.get_or_init(|| {
        let home = tempfile::tempdir().unwrap();
        let program = home.path().join("modes");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runtime/modes.c");
        succeed(Command::new("gcc").args(["-O1", "-g", "-pthread", "-o"]).arg(&program).arg(source));
        (home, program)
    });
    program
}

/// A run of the program, with what it left behind.
struct Run {
    output: Output,
    home: TempDir,
}

impl Run {
    fn new(mode: &str, options: &str) -> Run {
        Run::preloaded(mode, options, &library().display().to_string())
    }

    fn preloaded(mode: &str, options: &str, preload: &str) -> Run {
        let home = tempfile::tempdir().unwrap();
        let mut command = Command::new(program());
        command.arg(mode).current_dir(home.path()).env_remove("LD_LIBRARY_PATH").env("LD_PRELOAD", preload);
        command.env("AVMON_OPTIONS", format!("log_path={}:{options}", home.path().join("log").display()));
        Run { output: command.output().unwrap(), home }
    }

    fn code(&self) -> Option<i32> {
        self.output.status.code()
    }

    fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// The process ids that have a log.
    fn logs(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.home.path()).unwrap().flatten();
        let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        names.filter_map(|name| name.strip_prefix("log.").map(str::to_owned)).collect()
    }

    /// The records of one type in all logs.
    fn records(&self, kind: &str) -> Vec<Value> {
        let texts =
            self.logs().into_iter().map(|id| std::fs::read_to_string(self.home.path().join(format!("log.{id}"))));
        let lines: Vec<Value> = texts
            .flat_map(|text| text.unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<_>>())
            .collect();
        lines.into_iter().filter(|record| record["type"] == kind).collect()
    }
}

#[test]
fn the_exit_code_tells_of_a_finding_unless_the_program_keeps_its_own() {
    let run = Run::new("violate", "");
    assert_eq!((run.code(), run.stdout().as_str()), (Some(FOUND), "done\n"), "{}", run.stderr());
    assert_eq!(Run::new("violate", "exitcode=3").code(), Some(3));
    let kept = Run::new("violate", "exitcode=0");
    assert_eq!(kept.code(), Some(OWN));
    assert!(kept.stderr().contains("WARNING"), "{}", kept.stderr());
}

#[test]
fn the_program_is_halted_at_the_first_finding() {
    let run = Run::new("long", "halt_on_error=1");
    assert_eq!((run.code(), run.stdout().as_str()), (Some(FOUND), ""), "{}", run.stderr());
    assert_eq!(run.records("finding").len(), 1);
    assert!(run.records("summary")[0]["events"].as_u64().unwrap() > 0);
    // Without a code of its own the halt still tells.
    assert_eq!(Run::new("long", "halt_on_error=1:exitcode=0").code(), Some(1));
}

#[test]
fn a_forked_child_has_a_log_of_its_own_or_is_left_alone() {
    let run = Run::new("fork", "");
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let text = run.stdout();
    let (child, code) = text.trim().split_once(' ').unwrap();
    assert_eq!(code, FOUND.to_string());
    assert!(run.logs().contains(&child.to_owned()), "{:?} without {child}", run.logs());
    let pids: Vec<String> = run.records("start").iter().map(|record| record["pid"].to_string()).collect();
    assert!(pids.contains(&child.to_owned()), "{pids:?}");
    assert_eq!(run.records("finding").len(), 1);

    let run = Run::new("fork", "follow_fork=0");
    let text = run.stdout();
    let (child, code) = text.trim().split_once(' ').unwrap();
    assert_eq!(code, OWN.to_string());
    assert!(!run.logs().contains(&child.to_owned()));
    assert!(run.records("finding").is_empty());
}

#[test]
fn programs_that_it_starts_are_monitored_or_not_however_they_are_started() {
    let ours = library().display().to_string();
    // Any other library will do; this one is already in the process.
    let other = "libm.so.6";
    let preload = format!("{ours}:{other}");
    assert_eq!(Run::preloaded("children", "", &preload).stdout(), format!("{preload}\n").repeat(3));
    assert_eq!(Run::preloaded("children", "follow_exec=0", &preload).stdout(), format!("{other}\n").repeat(3));
    assert_eq!(Run::new("children", "follow_exec=0").stdout(), "nothing\n".repeat(3));
}

#[test]
fn a_small_buffer_makes_the_program_wait_and_loses_nothing() {
    let run = Run::new("flood", "buffer_mb=1");
    assert_eq!((run.code(), run.stdout().as_str()), (Some(OWN), "done\n"), "{}", run.stderr());
    let [summary] = &run.records("summary")[..] else { panic!("one summary, not {:?}", run.records("summary")) };
    assert_eq!((&summary["lost"], &summary["order_gaps"]), (&Value::from(0), &Value::from(0)));
    // A random lock is seldom the one of before, so nearly all of 2.4 million pairs are recorded.
    assert!(summary["events"].as_u64().unwrap() > 4_000_000, "{summary}");
}

#[test]
fn in_lossy_mode_the_program_does_not_wait_and_the_loss_is_told() {
    let run = Run::new("flood", "buffer_mb=1:lossy=1");
    assert_eq!((run.code(), run.stdout().as_str()), (Some(OWN), "done\n"), "{}", run.stderr());
    assert!(run.records("finding").is_empty());
    let [summary] = &run.records("summary")[..] else { panic!("one summary, not {:?}", run.records("summary")) };
    let lost = summary["lost"].as_u64().unwrap();
    assert!(lost > 0, "{summary}");
    assert!(run.stderr().contains(&format!("{lost} lost events")), "{}", run.stderr());
    assert!(lost + summary["events"].as_u64().unwrap() > 4_000_000, "{summary}");
}

#[test]
fn a_signal_that_ends_the_program_ends_it_after_the_report() {
    let run = Run::new("killed", "");
    assert_eq!(run.output.status.signal(), Some(libc::SIGTERM));
    assert_eq!((run.records("finding").len(), run.records("summary").len()), (1, 1), "{}", run.stderr());
    let run = Run::new("killed", "handle_signals=0");
    assert_eq!(run.output.status.signal(), Some(libc::SIGTERM));
    assert!(run.records("summary").is_empty());
}

#[test]
fn the_end_of_the_program_does_not_wait_longer_than_allowed() {
    let run = Run::new("flood", "flush_timeout_ms=0");
    assert_eq!((run.code(), run.stdout().as_str()), (Some(OWN), "done\n"), "{}", run.stderr());
    assert!(run.records("finding").is_empty());
}

#[test]
fn a_talkative_monitor_says_when_it_starts_and_stops_and_what_it_did() {
    let texts = ["avmon: monitoring starts", "avmon: monitoring stops", "MiB of chunks"];
    for (verbosity, expected) in [(0, [false, false, false]), (1, [true, true, false]), (2, [true, true, true])] {
        let stderr = Run::new("violate", &format!("verbosity={verbosity}")).stderr();
        assert_eq!(texts.map(|text| stderr.contains(text)), expected, "{stderr}");
    }
}
