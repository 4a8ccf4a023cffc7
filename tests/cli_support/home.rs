//! Programs to hunt in, each in a directory of its own.
#![allow(dead_code, reason = "each test file uses its own part")]

use crate::cli_support::{Ending, avmon, compile, end, file};
use crate::support::{build, root};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

/// A lock, and a value behind it that is read and written apart.
pub const VALUE: &str = "
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value;
static int get(void) {
    pthread_mutex_lock(&lock);
    int it = value;
    pthread_mutex_unlock(&lock);
    return it;
}
static void set(int it) {
    pthread_mutex_lock(&lock);
    value = it;
    pthread_mutex_unlock(&lock);
}
";

/// A directory with a program in it.
pub struct Home {
    pub directory: tempfile::TempDir,
}

impl Home {
    pub fn new() -> Home {
        Home { directory: tempfile::tempdir().unwrap() }
    }

    /// With one twin of an example, as `./app`.
    pub fn of_example(name: &str, twin: &str) -> Home {
        let home = Home::new();
        let sources = ["c", "cpp"].map(|kind| root().join("examples").join(name).join(twin).with_extension(kind));
        let source = sources.iter().find(|path| path.is_file()).expect("the example has such a twin");
        build::compile(build::Variant::Instrumented, source, &home.path("app"), &[]).unwrap();
        home
    }

    /// With a program of one's own, instrumented.
    pub fn of_source(source: &str) -> Home {
        Home::of_file("app.c", source)
    }

    pub fn of_file(name: &str, source: &str) -> Home {
        let home = Home::new();
        let input = file(home.directory.path(), name, source, 0o644);
        build::compile(build::Variant::Instrumented, &input, &home.path("app"), &[]).unwrap();
        std::fs::remove_file(input).unwrap();
        home
    }

    /// With a program, not instrumented, whose two threads run `work` with the numbers 0 and 1, and which ends with the `result`.
    pub fn of_two_workers(source: &str) -> Home {
        let main = "
int main(void) {
    pthread_t threads[2];
    int numbers[2] = {0, 1};
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, &numbers[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return result();
}
";
        let home = Home::new();
        compile(home.directory.path(), "app", &format!("#include <pthread.h>{source}{main}"), &["-pthread"]);
        home
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = avmon(arguments);
        command.current_dir(self.directory.path());
        command
    }

    pub fn avmon(&self, arguments: &[&str]) -> Ending {
        end(&mut self.command(arguments))
    }

    /// What is in the log of a hunt.
    pub fn findings(&self, hunt: &str) -> Vec<Value> {
        let log = std::fs::read_to_string(self.path(hunt).join("findings.1.jsonl")).unwrap_or_default();
        for line in log.lines() {
            avmon::report::json::validate_line(line).unwrap();
        }
        let records = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        records.filter(|record| record["type"] == "finding").collect()
    }
}

pub fn failing(findings: &[Value]) -> Vec<&Value> {
    findings.iter().filter(|finding| finding["rung"] == "failing").collect()
}

/// The arguments of the command that a report prints.
pub fn printed_command(stdout: &str) -> Vec<&str> {
    let command = stdout.lines().find_map(|line| line.trim().strip_prefix("To run it again: avmon ")).unwrap();
    command.split(' ').collect()
}

pub fn last_line(ending: &Ending) -> &str {
    ending.stdout.lines().last().unwrap_or_default()
}

/// Waits for a file that says something.
pub fn read_when_there(path: &Path) -> String {
    for _ in 0..2000 {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    panic!("{} never came", path.display());
}

pub fn is_gone(process: &str) -> bool {
    let path = format!("/proc/{process}/stat");
    (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        !std::fs::read_to_string(&path).is_ok_and(|stat| !stat.contains(") Z "))
    })
}

pub fn interrupt(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}
