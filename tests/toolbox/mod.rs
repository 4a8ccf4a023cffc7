//! What the tests of hooks and compilers share: the compilers, a place to build in, and how to run what was built.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The C and the C++ compiler of each family that is supported.
pub const FAMILIES: [(&str, &str); 2] = [("gcc", "g++"), ("clang", "clang++")];

pub fn avmon() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_avmon"))
}

/// The monitor's library, as it was built together with these tests: `cargo test` brings the one in `deps` up to date,
/// and not the copy beside the binary.
pub fn library() -> PathBuf {
    avmon().with_file_name("deps").join("libavmon.so")
}

pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hooks").join(name)
}

/// Runs a command as a user would: cargo's library path would let programs find what they must find by themselves.
#[track_caller]
fn output(command: &mut Command) -> Output {
    command.env_remove("LD_LIBRARY_PATH");
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; scripts/test installs what tests need"))
}

/// Runs a command that must succeed, and returns its standard output.
#[track_caller]
pub fn succeed(command: &mut Command) -> String {
    let output = output(command);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{stdout}\n{stderr}", output.status);
    stdout.into_owned()
}

/// Runs a command that must fail, and returns its standard error.
#[track_caller]
pub fn fail(command: &mut Command) -> String {
    let output = output(command);
    assert!(!output.status.success(), "{command:?} should have failed");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn is_cxx(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension == "cc")
}

/// `avmon cc` or `avmon c++` for a file of this name, calling `family`'s compiler.
pub fn avmon_compiler(family: &str, file: &str) -> Command {
    let mut command = Command::new(avmon());
    command.arg(if is_cxx(file) { "c++" } else { "cc" }).arg(format!("--avmon-compiler={family}"));
    command
}

/// A program under the monitor. It keeps its own exit status and a log goes beside it: what is found is no concern of
/// these tests.
pub fn monitored(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(program.parent().expect("a full path"));
    command.env("LD_PRELOAD", library()).env("AVMON_OPTIONS", "exitcode=0:report=0:summary=0");
    command
}

/// The names in the third column of `nm`, defined or not.
pub fn names(file: &Path, options: &[&str]) -> BTreeSet<String> {
    let text = succeed(Command::new("nm").args(options).arg(file));
    text.lines().filter_map(|line| line.split_whitespace().last()).map(unversioned).collect()
}

fn unversioned(name: &str) -> String {
    name.split('@').next().unwrap_or(name).to_owned()
}

/// The libraries that a program or library asks for.
pub fn needed(file: &Path) -> Vec<String> {
    let text = succeed(Command::new("readelf").arg("-dW").arg(file));
    let names = text.lines().filter(|line| line.contains("(NEEDED)"));
    names.filter_map(|line| Some(line.split('[').nth(1)?.split(']').next()?.to_owned())).collect()
}
