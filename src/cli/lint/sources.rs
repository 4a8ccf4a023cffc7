//! What is to be linted: from sources, lists of compilations and IR to modules.

use super::super::compiler::{WHOLE_TYPES, WITH_VALUE};
use super::super::exit::{ExitCode, Failure};
use super::super::invocation::is_source;
use super::super::tell;
use super::list::{self, LIST};
use crate::ir;
use crate::ir::model::Module;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// One file, and how it becomes IR.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Source {
    Ir(PathBuf),
    /// With the directory that it is compiled in, and the flags.
    Compiled(Compilation),
}

/// How a file is compiled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compilation {
    pub file: PathBuf,
    /// Where, if not here.
    pub directory: Option<PathBuf>,
    pub flags: Vec<OsString>,
}

/// All files.
#[derive(Debug)]
pub struct Sources(Vec<Source>);

/// What became of them.
#[derive(Default, Debug)]
pub struct Read {
    pub modules: Vec<Module>,
    /// Why the others are none.
    pub failures: Vec<String>,
    /// Flags that this clang does not know.
    pub unknown: BTreeSet<String>,
}

/// A module, and which flags it was compiled without.
type Compiled = (Module, Vec<String>);

impl Sources {
    /// What the command line names.
    pub fn find(files: &[PathBuf], flags: &[OsString]) -> Result<Sources, Failure> {
        let mut sources = Vec::new();
        let listed = |list: &Path| {
            let all = list::compilations(list)?.into_iter();
            Ok(all.map(|mut it| {
                it.flags.extend_from_slice(flags);
                Source::Compiled(it)
            }))
        };
        for file in files {
            let kind = file.extension().and_then(OsStr::to_str).unwrap_or_default();
            let list = file.join(LIST);
            if file.is_dir() && list.is_file() {
                sources.extend(listed(&list)?);
            } else if file.is_dir() {
                let found = ir::files_in(file).map_err(|error| unreadable(file, &error))?;
                if found.is_empty() {
                    let text = format!("{}: no {LIST}, .ll or .bc file in this directory", file.display());
                    return Err(Failure::new(ExitCode::Usage, text));
                }
                sources.extend(found.into_iter().map(Source::Ir));
            } else if kind == "json" {
                sources.extend(listed(file)?);
            } else if is_source(file) {
                let flags = flags.to_owned();
                sources.push(Source::Compiled(Compilation { file: file.clone(), directory: None, flags }));
            } else if ir::is_ir(file) {
                sources.push(Source::Ir(file.clone()));
            } else {
                sources.extend(kept(file)?);
            }
        }
        let sources = Sources(sources);
        if !flags.is_empty() && !sources.are_compiled() {
            tell("warning", "the flags after '--' are not used: LLVM IR is read as it is, and nothing else was named");
        }
        Ok(sources)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    fn are_compiled(&self) -> bool {
        self.0.iter().any(|source| matches!(source, Source::Compiled(_)))
    }

    /// Compiles and reads all, `jobs` at once. What cannot be read is told, and the rest goes on.
    pub fn read(&self, clang: &OsStr, jobs: usize, done: &mut dyn FnMut(usize)) -> Result<Read, Failure> {
        if self.are_compiled() {
            check(clang)?;
        }
        let directory = tempfile::tempdir();
        let directory =
            directory.map_err(|error| Failure::internal(format!("cannot make a temporary directory: {error}")))?;
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel();
        let mut results: Vec<Option<Result<Compiled, String>>> = self.0.iter().map(|_| None).collect();
        std::thread::scope(|scope| {
            for _ in 0..jobs.min(self.0.len()) {
                let (sender, next, directory) = (sender.clone(), &next, directory.path());
                scope.spawn(move || {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let Some(source) = self.0.get(number) else { break };
                        let result = source.module(clang, &directory.join(format!("{number}.ll")));
                        if sender.send((number, result)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            for (count, (number, result)) in receiver.iter().enumerate() {
                results[number] = Some(result);
                done(count + 1);
            }
        });
        let mut read = Read::default();
        for result in results.into_iter().flatten() {
            match result {
                Ok((module, without)) => {
                    read.modules.push(module);
                    read.unknown.extend(without);
                }
                Err(message) => read.failures.push(message),
            }
        }
        Ok(read)
    }
}

impl Source {
    fn module(&self, clang: &OsStr, output: &Path) -> Result<Compiled, String> {
        match self {
            Source::Ir(path) => Ok((ir::read(path).map_err(|error| error.to_string())?, Vec::new())),
            Source::Compiled(compilation) => compilation.module(clang, output),
        }
    }
}

impl Compilation {
    fn module(&self, clang: &OsStr, output: &Path) -> Result<Compiled, String> {
        let file = self.file.display();
        if let Some(directory) = self.directory.as_ref().filter(|it| !it.is_dir()) {
            return Err(format!(
                "{file} was not compiled: its directory {} is gone; build the project again",
                directory.display()
            ));
        }
        let mut flags = self.flags.clone();
        let mut without = Vec::new();
        while let Err(said) = self.compile(clang, &flags, output).map_err(|error| format!("{file}: {error}"))? {
            // The list is often one for gcc.
            let unknown = take_out_unknown(&mut flags, &said);
            if unknown.is_empty() {
                let error = said.lines().find(|line| line.contains("error")).unwrap_or("no error was told");
                return Err(format!("{file} was not compiled: {error}"));
            }
            without.extend(unknown);
        }
        let module = ir::read(output).map_err(|error| format!("{file}: {error}"));
        // The next ones need the room.
        let _ = fs::remove_file(output);
        Ok((module?, without))
    }

    /// What the compiler says if it fails.
    fn compile(&self, clang: &OsStr, flags: &[OsString], output: &Path) -> io::Result<Result<(), String>> {
        let mut command = Command::new(clang);
        // Marks are functions that would be put into their callers, where nobody knows them.
        command.args(["-Xclang", "-disable-llvm-passes"]);
        // What the warnings say is for who builds the program. Behind the flags: the last one of a kind wins.
        command
            .args(flags)
            .args(["-O0", "-g", WHOLE_TYPES, "-w", "-S", "-emit-llvm", "-Qunused-arguments", "-o"])
            .arg(output)
            .arg(&self.file);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        let compiled = command.output()?;
        let said = || String::from_utf8_lossy(&compiled.stderr).into_owned();
        Ok(if compiled.status.success() { Ok(()) } else { Err(said()) })
    }
}

/// Takes out the flags that clang says it does not know, each with its value.
fn take_out_unknown(flags: &mut Vec<OsString>, said: &str) -> Vec<String> {
    let complaints = ["unknown argument", "unsupported option", "unsupported argument"];
    let lines = said.lines().filter(|line| complaints.iter().any(|it| line.contains(it)));
    let quoted: Vec<&str> = lines.flat_map(|line| line.split('\'').skip(1).step_by(2)).collect();
    // Of '-mtune=' and its value both are quoted.
    let is_unknown = |flag: &str| quoted.iter().any(|it| *it == flag || it.ends_with('=') && flag.starts_with(it));
    let mut taken = Vec::new();
    let mut kept = Vec::new();
    let mut all = std::mem::take(flags).into_iter();
    while let Some(flag) = all.next() {
        let text = flag.to_string_lossy().into_owned();
        let value = if WITH_VALUE.contains(&&*text) { all.next() } else { None };
        if is_unknown(&text) {
            taken.push(text);
        } else {
            kept.push(flag);
            kept.extend(value);
        }
    }
    *flags = kept;
    taken
}

pub fn unreadable(file: &Path, error: &io::Error) -> Failure {
    Failure::internal(format!("{}: {error}", file.display()))
}

/// The IR that 'avmon cc' kept of a program or object.
fn kept(file: &Path) -> Result<Vec<Source>, Failure> {
    let located = ir::locate(file).map_err(|error| Failure::internal(error.to_string()))?;
    for path in &located.missing {
        tell("warning", &format!("{}: its IR {} is gone; build it again", file.display(), path.display()));
    }
    if located.found.is_empty() {
        let text = format!(
            "{}: no IR is known of it; build it by 'avmon cc --avmon-compiler=clang', or name its sources or compile_commands.json",
            file.display()
        );
        return Err(Failure::new(ExitCode::Usage, text));
    }
    Ok(located.found.into_iter().map(Source::Ir).collect())
}

/// Sees that there is a clang before anything is compiled.
fn check(clang: &OsStr) -> Result<(), Failure> {
    let Err(error) = Command::new(clang).arg("--version").output() else { return Ok(()) };
    let text = format!(
        "{} does not run: {error}; lint needs clang to read C and C++ sources: install it (Debian, Ubuntu: apt install clang), or name \
         one with --clang",
        clang.to_string_lossy()
    );
    Err(Failure::new(ExitCode::NotFound, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_that_are_unknown_are_taken_out() {
        let mut flags: Vec<OsString> =
            ["-DX=1", "-fodd", "-aux-info", "file", "-mtune=odd", "-I", "-fodd"].map(OsString::from).to_vec();
        let said = "clang: error: unknown argument: '-fodd'\n\
                    clang: error: unknown argument '-aux-info'; did you mean '-Iaux'?\n\
                    clang: error: unsupported argument 'odd' to option '-mtune='\n\
                    a.c:1:1: error: use of undeclared identifier '-DX=1'\n";
        assert_eq!(take_out_unknown(&mut flags, said), ["-fodd", "-aux-info", "-mtune=odd"]);
        assert_eq!(flags, ["-DX=1", "-I", "-fodd"]);
        assert!(take_out_unknown(&mut flags, "a.c:1:1: error: unknown type name '-DX=1'\n").is_empty());
    }
}
