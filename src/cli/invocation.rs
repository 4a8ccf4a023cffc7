//! What a call of gcc or clang says about its sources: which they are, and what its flags mean for them. For a second run that makes their IR.

use super::compiler::{WITH_VALUE, without_thread_sanitizer};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Extensions of C and C++, after preprocessing too.
pub const SOURCES: &[&str] = &["c", "i", "C", "cc", "cp", "cxx", "cpp", "CPP", "c++", "ii"];

/// Calls with one of these make no object, or one that is not the user's code.
const NO_OBJECT: &[&str] = &[
    "-E",
    "-S",
    "-M",
    "-MM",
    "-fsyntax-only",
    "-emit-llvm",
    "-emit-ast",
    "--preprocess",
    "--assemble",
    "--precompile",
    "--analyze",
];

/// What a run for the IR must not do again: write files beside its result, link, instrument, stop at a warning.
const LEFT_OUT: &[&str] = &[
    "-M",
    "-Wl,",
    "-Werror",
    "-L",
    "-l",
    "-fsanitize",
    "-fprofile",
    "-fcoverage",
    "-ftest-coverage",
    "--coverage",
    "-coverage",
    "-save-temps",
    "--save-temps",
    "-ftime-trace",
    "-flto",
    "-gsplit-dwarf",
    "-frecord-",
    "--serialize-diagnostics",
    "-serialize-diagnostics",
    "-pg",
];

/// Options of [`LEFT_OUT`] whose value is the next argument.
const LEFT_OUT_WITH_VALUE: &[&str] =
    &["-MF", "-MT", "-MQ", "-MJ", "-L", "-l", "-serialize-diagnostics", "--serialize-diagnostics", "-Xlinker"];

/// The parts of a call.
#[derive(Debug)]
pub struct Invocation {
    /// Those about the language.
    pub flags: Vec<OsString>,
    /// Of C and C++.
    pub sources: Vec<Input>,
    pub output: Option<OsString>,
    pub compiles_only: bool,
    pub makes_object: bool,
}

#[derive(Debug)]
pub struct Input {
    pub file: OsString,
    /// As `-x` gave it.
    pub language: Option<OsString>,
}

/// Whether a file is C or C++ by its name.
pub fn is_source(file: &Path) -> bool {
    file.extension().and_then(OsStr::to_str).is_some_and(|extension| SOURCES.contains(&extension))
}

impl Invocation {
    /// From the arguments of the compiler.
    pub fn of(given: &[OsString]) -> Invocation {
        let mut call = Invocation {
            flags: Vec::new(),
            sources: Vec::new(),
            output: None,
            compiles_only: false,
            makes_object: true,
        };
        let mut language = None::<OsString>;
        let mut arguments = given.iter().filter_map(|argument| without_thread_sanitizer(argument));
        while let Some(argument) = arguments.next() {
            let text = argument.to_string_lossy().into_owned();
            match &*text {
                "-c" | "--compile" => call.compiles_only = true,
                "-o" | "--output" => call.output = arguments.next(),
                "-x" => language = arguments.next().filter(|language| language != "none"),
                // A probe, whose source nobody can look at later.
                "-" => call.makes_object = false,
                "--" => {}
                option if NO_OBJECT.contains(&option) => call.makes_object = false,
                option if LEFT_OUT_WITH_VALUE.contains(&option) => _ = arguments.next(),
                option if WITH_VALUE.contains(&option) => {
                    call.flags.push(argument);
                    call.flags.extend(arguments.next());
                }
                option if option.starts_with('-') => {
                    if let Some(path) = option.strip_prefix("-o").or_else(|| option.strip_prefix("--output=")) {
                        call.output = Some(path.into());
                    } else if let Some(name) = option.strip_prefix("-x") {
                        language = (name != "none").then(|| name.into());
                    } else if !LEFT_OUT.iter().any(|left_out| option.starts_with(left_out)) {
                        call.flags.push(argument);
                    }
                }
                _ => {
                    let is_source = match &language {
                        Some(language) => {
                            matches!(language.to_str(), Some("c" | "c++" | "cpp-output" | "c++-cpp-output"))
                        }
                        None => is_source(Path::new(&argument)),
                    };
                    if is_source {
                        call.sources.push(Input { file: argument, language: language.clone() });
                    }
                }
            }
        }
        call
    }
}
