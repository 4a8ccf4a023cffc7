//! The bundled example, and how commands build and run it: through the same `avmon` that the user has.

use super::exit::Failure;
use super::program;
use crate::options;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A bundled C program.
pub struct Source {
    pub file: &'static str,
    pub text: &'static str,
}

/// Its block can be split.
pub const BUGGY: Source = Source { file: "append.c", text: include_str!("demo/append.c") };
/// The same program with the block in one critical section.
pub const FIXED: Source = Source { file: "fixed.c", text: include_str!("demo/fixed.c") };

impl Source {
    /// The name of the program that is built from it.
    pub fn program(&self) -> &'static str {
        self.file.trim_end_matches(".c")
    }

    /// The text of one function, from its first line to its closing brace.
    pub fn function(&self, signature: &str) -> &'static str {
        let rest = &self.text[self.text.find(signature).unwrap_or(0)..];
        &rest[..rest.find("\n}\n").map_or(rest.len(), |end| end + 2)]
    }
}

/// A directory in which examples are built and run.
pub struct Workshop {
    pub directory: PathBuf,
    avmon: PathBuf,
}

impl Workshop {
    pub fn new(directory: &Path) -> Result<Workshop, Failure> {
        let avmon = std::env::current_exe()
            .map_err(|error| Failure::internal(format!("cannot tell where the avmon command is: {error}")))?;
        Ok(Workshop { directory: directory.to_owned(), avmon })
    }

    /// Puts a source file into the directory.
    pub fn write(&self, source: &Source) -> Result<(), Failure> {
        let path = self.directory.join(source.file);
        fs::write(&path, source.text)
            .map_err(|error| Failure::internal(format!("{} cannot be written: {error}", path.display())))
    }

    /// Runs a command line in the directory. A first word `avmon` is this very command.
    ///
    /// The user's own options, preloads and compiler stay out: the example shows what avmon does by itself.
    pub fn run(&self, line: &str) -> Result<Output, Failure> {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default();
        let mut command = Command::new(if name == "avmon" { self.avmon.as_os_str() } else { name.as_ref() });
        command.args(words).current_dir(&self.directory);
        for variable in ["LD_PRELOAD", options::VARIABLE, "AVMON_CC"] {
            command.env_remove(variable);
        }
        command.output().map_err(|error| Failure::internal(format!("'{line}' cannot be started: {error}")))
    }
}

/// The compilers that can instrument, in the order in which they are tried. The first is what `avmon cc` calls.
pub const COMPILERS: [&str; 2] = ["gcc", "clang"];

/// The first compiler that is installed.
pub fn compiler() -> Result<&'static str, Failure> {
    COMPILERS.into_iter().find(|name| program::find(name.as_ref()).is_ok()).ok_or_else(|| {
        Failure::internal("no C compiler found; install gcc or clang (on Debian and Ubuntu: 'apt-get install gcc')")
    })
}

/// The command line that builds a source for the monitor.
pub fn build_line(compiler: &str, source: &Source) -> String {
    let choice = if compiler == COMPILERS[0] { String::new() } else { format!("--avmon-compiler={compiler} ") };
    format!("avmon cc {choice}-O1 -pthread {} -o {}", source.file, source.program())
}

/// What a finished command wrote, for people.
pub fn text_of(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}
