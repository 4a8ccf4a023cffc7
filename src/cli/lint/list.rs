//! Lists of compilations as build systems write them, often for gcc.

use super::super::compiler::expand;
use super::super::exit::{ExitCode, Failure};
use super::super::figures::grouped;
use super::super::invocation::{Invocation, is_source};
use super::super::tell;
use super::sources::{Compilation, unreadable};
use serde::Deserialize;
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// What they are called.
pub const LIST: &str = "compile_commands.json";

#[derive(Deserialize)]
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    #[serde(default)]
    arguments: Vec<String>,
    #[serde(default)]
    command: String,
}

/// The compilations of C and C++ in a list, each file once.
pub fn compilations(list: &Path) -> Result<Vec<Compilation>, Failure> {
    let text = fs::read(list).map_err(|error| unreadable(list, &error))?;
    let entries: Vec<Entry> = serde_json::from_slice(&text).map_err(|error| {
        Failure::internal(format!("{}: no list of compilations as CMake and bear write it: {error}", list.display()))
    })?;
    let count = entries.len();
    let mut all: Vec<Compilation> = Vec::new();
    let mut known = HashSet::new();
    let mut again = 0;
    for entry in entries {
        let place = entry.place();
        let Some(compilation) = entry.compilation(&place) else { continue };
        if known.insert(place) {
            all.push(compilation);
        } else {
            again += 1;
        }
    }
    if all.is_empty() {
        let what = if count == 0 { "no compilation" } else { "no compilation of C or C++" };
        let text = format!("{}: {what} is listed; build the project again so that it is written anew", list.display());
        return Err(Failure::new(ExitCode::Usage, text));
    }
    let left_out = |count: usize, why: &str| {
        let entries = if count == 1 { "1 entry is".to_owned() } else { format!("{} entries are", grouped(count)) };
        if count > 0 {
            tell("warning", &format!("{}: {entries} left out: {why}", list.display()));
        }
    };
    left_out(again, "the same file is listed before, and is read with those flags");
    left_out(count - all.len() - again, "not C or C++");
    Ok(all)
}

impl Entry {
    /// Where its file is, in one spelling.
    fn place(&self) -> PathBuf {
        place(&self.directory, &self.file)
    }

    /// `None` if it is not C or C++.
    fn compilation(self, place_of_file: &Path) -> Option<Compilation> {
        let words = if self.arguments.is_empty() { words(&self.command) } else { self.arguments };
        let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        // Whatever is no flag is a compiler, who starts it, or a file.
        let Invocation { mut flags, sources, .. } = Invocation::of(&expand(&words, &self.directory));
        let own = sources.into_iter().find(|it| place(&self.directory, Path::new(&it.file)) == place_of_file);
        match own {
            Some(own) => flags.extend(own.language.into_iter().flat_map(|it| ["-x".into(), it])),
            None if is_source(&self.file) => {}
            None => return None,
        }
        Some(Compilation { file: self.file, directory: Some(self.directory), flags })
    }
}

fn place(directory: &Path, file: &Path) -> PathBuf {
    let file = directory.join(file);
    file.canonicalize().unwrap_or(file)
}

/// A command line as a shell splits it.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(letters.next()),
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (_, Some(end)) if letter == end => quote = None,
            (_, None) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_split_as_a_shell_does() {
        assert_eq!(words(r#"cc -DX="a b" 'c d' e\ f """#), ["cc", "-DX=a b", "c d", "e f", ""]);
        assert!(words("  ").is_empty());
    }

    #[test]
    fn only_flags_that_change_the_meaning_are_kept() {
        let flags = |file: &str, command: &str| {
            let (directory, file, command) = ("/nowhere".into(), file.into(), command.into());
            let entry = Entry { directory, file, arguments: Vec::new(), command };
            let place = entry.place();
            entry.compilation(&place).map(|it| it.flags)
        };
        let found = flags("src/a.c", "gcc -Iinclude -DN=1 -std=c11 -MD -MF a.d -c -o a.o src/a.c");
        assert_eq!(found.unwrap(), ["-Iinclude", "-DN=1", "-std=c11"]);
        let found = flags("/nowhere/a.c", "ccache /usr/bin/gcc -isystem x a.c b.c lib.a -lm -- c.c");
        assert_eq!(found.unwrap(), ["-isystem", "x"]);
        assert_eq!(flags("a.inc", "gcc -x c++ a.inc").unwrap(), ["-x", "c++"]);
        assert_eq!(flags("a.s", "as a.s"), None);
    }
}
