//! `avmon flags`: what `avmon cc` adds, for build files that do not want a wrapper.

use super::compiler::{self, Compiler, Language};
use super::support;
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  gcc $(avmon flags --cflags) -c app.c
  gcc app.o $(avmon flags --libs) -o app
  make CFLAGS=\"-O2 $(avmon flags --cflags)\" LDLIBS=\"$(avmon flags --libs)\"";

/// Print the flags that `avmon cc` adds, on one line and quoted for the shell
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
#[allow(clippy::struct_excessive_bools, reason = "each is one switch of the command")]
pub struct Flags {
    /// What the compiler needs
    #[arg(long, required_unless_present_any = ["ldflags", "libs"])]
    cflags: bool,

    /// Where the linker and the program find the library of hooks
    #[arg(long)]
    ldflags: bool,

    /// The library of hooks, and where it is found
    #[arg(long)]
    libs: bool,

    /// The compiler that they are for, if not gcc or what `AVMON_CC` says
    #[arg(long, value_name = "NAME")]
    compiler: Option<String>,

    /// For the C++ compiler
    #[arg(long = "c++")]
    cxx: bool,
}

impl Flags {
    /// The line to print.
    pub fn line(&self) -> Result<String, String> {
        let language = if self.cxx { Language::Cxx } else { Language::C };
        let chosen = Compiler::choose(language, self.compiler.as_deref())?;
        let support = support::directory()?;
        let mut flags: Vec<OsString> = Vec::new();
        if self.cflags {
            flags.extend(chosen.compile_flags(&support));
        }
        if self.ldflags || self.libs {
            flags.extend(compiler::search_flags(&support));
        }
        if self.libs {
            flags.extend(compiler::library_flags(&support));
        }
        let words: Vec<String> = flags.iter().map(|flag| quoted(&flag.to_string_lossy())).collect();
        Ok(words.join(" "))
    }
}

/// The word as a shell reads it back.
#[must_use]
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=+,./:@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn only_what_the_shell_would_change_is_quoted() {
        assert_eq!(quoted("-L/usr/lib"), "-L/usr/lib");
        assert_eq!(quoted("-I/a b"), "'-I/a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
