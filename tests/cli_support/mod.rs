//! Drives the real `avmon` command.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub const AVMON: &str = env!("CARGO_BIN_EXE_avmon");

/// The `avmon` command in an environment without avmon's own variables.
pub fn avmon(arguments: &[&str]) -> Command {
    clean(AVMON.as_ref(), arguments)
}

/// Any command in an environment without avmon's own variables.
pub fn clean(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env_remove("LD_PRELOAD").env_remove("NO_COLOR");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AVMON_")) {
        command.env_remove(name);
    }
    command
}

/// What a finished command left behind.
#[derive(Debug)]
pub struct Ending {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a command to its end.
pub fn end(command: &mut Command) -> Ending {
    let Output { status, stdout, stderr } = command.output().expect("the command starts");
    let text = |bytes| String::from_utf8(bytes).expect("plain text");
    Ending { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

/// Asserts that `avmon ARGUMENTS` refuses with this code and says each of these things.
#[track_caller]
pub fn refuses(command: &mut Command, code: i32, says: &[&str]) {
    let ending = end(command);
    assert_eq!(ending.code, Some(code), "{ending:?}");
    for text in says {
        assert!(ending.stderr.contains(text), "no {text:?} in {:?}", ending.stderr);
    }
    assert_eq!(ending.stdout, "", "errors belong on stderr");
}

/// Compiles C source with the plain system compiler.
pub fn compile(directory: &Path, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let (input, output) = (directory.join(format!("{name}.c")), directory.join(name));
    std::fs::write(&input, source).unwrap();
    let built = Command::new("gcc").args(flags).arg(&input).arg("-o").arg(&output).output().expect("gcc is installed");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    output
}

/// Writes a file with these permissions.
pub fn file(directory: &Path, name: &str, content: impl AsRef<[u8]>, mode: u32) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = directory.join(name);
    std::fs::write(&path, content).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path
}
