//! Finds what the build made, and compiles test programs.

use super::{compiled, root};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The `avmon` command of this build.
pub fn avmon() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_avmon"));
    command.env("AVMON_LIBRARY", library());
    command
}

/// The `libavmon.so` of this build.
pub fn library() -> PathBuf {
    let directory = Path::new(env!("CARGO_BIN_EXE_avmon")).parent().expect("a file is in a directory");
    // `cargo test` links the library into `deps` and copies it up only if it was asked for by name.
    let candidates = [directory.join("deps/libavmon.so"), directory.join("libavmon.so")];
    let found = candidates.iter().find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("there is no {}", candidates[1].display())).clone()
}

/// How a program is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// By gcc alone.
    Plain,
    /// By `avmon cc` with gcc.
    Instrumented,
    /// By `avmon cc` with clang.
    Clang,
}

impl Variant {
    pub const ALL: [Variant; 3] = [Variant::Plain, Variant::Instrumented, Variant::Clang];

    pub fn name(self) -> &'static str {
        match self {
            Variant::Plain => "plain",
            Variant::Instrumented => "instrumented",
            Variant::Clang => "clang",
        }
    }

    fn compiler(self, is_cpp: bool) -> Command {
        if self == Variant::Plain {
            return Command::new(if is_cpp { "g++" } else { "gcc" });
        }
        let mut command = avmon();
        command.arg(if is_cpp { "c++" } else { "cc" });
        command.env("AVMON_CC", if self == Variant::Clang { "clang" } else { "gcc" });
        command
    }
}

/// Compiles and links one source file. `more` holds flags and libraries, in the order of the command line.
pub fn compile(variant: Variant, source: &Path, output: &Path, more: &[&str]) -> Result<(), String> {
    let identity = [&[variant.name()], more].concat();
    compiled::once(source, &identity, output, |output| compile_anew(variant, source, output, more))
}

fn compile_anew(variant: Variant, source: &Path, output: &Path, more: &[&str]) -> Result<(), String> {
    let is_cpp = source.extension().is_some_and(|extension| extension == "cpp");
    let mut command = variant.compiler(is_cpp);
    if is_cpp {
        command.arg("-std=c++20");
    }
    command.args(["-g", "-O1", "-pthread", "-I"]).arg(root().join("shim")).arg("-o").arg(output).arg(source).args(more);
    let result = command.output().map_err(|error| format!("{command:?} cannot be started: {error}"))?;
    if result.status.success() {
        Ok(())
    } else {
        Err(format!("{command:?} failed:\n{}", String::from_utf8_lossy(&result.stderr)))
    }
}
