//! `avmon cc` and `avmon c++`: the user's compiler, with what the monitor needs added.
//!
//! gcc's and clang's `-fsanitize=thread` calls a hook at every function entry and exit, atomic operation and access.
//! Only those calls are wanted, not the library behind them: the option goes to the compiler proper alone, and the
//! program is linked with our small library of hooks instead.

use super::kept_ir::{self, Kept};
use super::{parent, support, tell};
use crate::interpose::strings::builtins;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Which of the two compilers of a family to call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    C,
    Cxx,
}

impl Language {
    /// The language of a link's name, as in `CC=avmon-cc`.
    #[must_use]
    pub fn of_link(program: &OsStr) -> Option<Language> {
        let name = Path::new(program).file_name()?.to_str()?;
        [Language::C, Language::Cxx].into_iter().find(|language| language.link() == name)
    }

    fn link(self) -> &'static str {
        match self {
            Language::C => "avmon-cc",
            Language::Cxx => "avmon-c++",
        }
    }

    fn variable(self) -> &'static str {
        match self {
            Language::C => "AVMON_CC",
            Language::Cxx => "AVMON_CXX",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Family {
    Gcc,
    Clang,
}

/// The compiler to call: a program, and arguments that come before all others (`ccache gcc`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiler {
    words: Vec<String>,
    family: Family,
}

impl Compiler {
    /// What the user named, or gcc. A C compiler that was named also settles which C++ compiler is meant.
    pub fn choose(language: Language, named: Option<&str>) -> Result<Compiler, String> {
        let from = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
        let (text, of) = match (named, from(language.variable()), from(Language::C.variable())) {
            (Some(named), _, _) => (named.to_owned(), Language::C),
            (None, Some(own), _) => (own, language),
            (None, None, Some(c)) => (c, Language::C),
            (None, None, None) => ("gcc".to_owned(), Language::C),
        };
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let Some(program) = words.last_mut() else { return Err("--avmon-compiler= names no compiler".to_owned()) };
        if language == Language::Cxx && of == Language::C {
            *program = cxx_twin(program);
        }
        let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("avmon") {
            return Err(format!(
                "'{text}' is avmon itself; name the compiler that it shall call, such as gcc or clang"
            ));
        }
        let family = if name.contains("clang") { Family::Clang } else { Family::Gcc };
        Ok(Compiler { words, family })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        command
    }

    fn not_started(&self, language: Language, error: &std::io::Error) -> String {
        let program = &self.words[0];
        let variable = language.variable();
        if error.kind() == ErrorKind::NotFound {
            format!(
                "{program} was not found; install it (its package is usually called gcc, g++ or clang) or name another compiler in {variable}"
            )
        } else {
            format!("{program} cannot be started: {error}; {variable} can name another compiler")
        }
    }

    /// Whether volatile accesses can get hooks of their own. They have them since gcc 11 and clang 11; avmon
    /// works without, but does not see the order that volatile flags make.
    fn tells_volatile(&self) -> bool {
        if self.family == Family::Clang {
            return true;
        }
        let version = self.command().arg("-dumpversion").output().map(|output| output.stdout).unwrap_or_default();
        let major = String::from_utf8_lossy(&version).split('.').next().and_then(|major| major.trim().parse().ok());
        major.is_some_and(|major: u32| major >= 11)
    }

    /// What to add when something is compiled.
    #[must_use]
    pub fn compile_flags(&self, support: &Path) -> Vec<OsString> {
        let mut flags = strings(&[
            "-g",
            // A function is a transaction only if it is still called: hooks are placed after inlining.
            "-fno-inline",
            "-fno-optimize-sibling-calls",
        ]);
        match self.family {
            Family::Gcc => {
                // These two make one function of two, and two of one. Fences are supported here, unlike in the thread
                // sanitizer, whose warning would stop a build with -Werror.
                flags.extend(strings(&["-fno-ipa-icf", "-fno-partial-inlining", "-Wno-tsan"]));
                flags.push(joined("-specs=", &support.join(support::SPECS)));
                if self.tells_volatile() {
                    flags.push("--param=tsan-distinguish-volatile=1".into());
                }
            }
            Family::Clang => {
                flags.push(WHOLE_TYPES.into());
                flags.extend(strings(&["-Xclang", "-fsanitize=thread", "-mllvm", "-tsan-distinguish-volatile=1"]));
                // Without it a read that a write of the same variable follows gets no hook.
                flags.extend(strings(&["-mllvm", "-tsan-instrument-read-before-write=1"]));
                // As arguments of the driver these would link a runtime library.
                for option in ["-fsanitize-coverage-type=3", "-fsanitize-coverage-trace-pc"] {
                    flags.extend(strings(&["-Xclang", option]));
                }
                flags.extend(builtins().map(|name| format!("-fno-builtin-{name}").into()));
            }
        }
        flags.push("-idirafter".into());
        flags.push(support.into());
        flags
    }
}

/// Where the linker and the started program find the library: in the support directory, or beside the program when it
/// is copied to another machine.
#[must_use]
pub fn search_flags(support: &Path) -> Vec<OsString> {
    // -Wl would split a path at its commas.
    let mut flags = vec![joined("-L", support)];
    flags.extend(strings(&["-Xlinker", "-rpath", "-Xlinker"]));
    flags.push(support.as_os_str().to_owned());
    flags.push(joined("@", &support.join(support::BESIDE_PROGRAM)));
    flags
}

/// The library itself. Only what has hooks gets it, and a preceding `-Bstatic` does not reach it.
#[must_use]
pub fn library_flags(support: &Path) -> Vec<OsString> {
    let mut flags = vec![joined("@", &support.join(support::WRAPPED))];
    flags.extend(strings(&["-Wl,--push-state,-Bdynamic,--as-needed", "-lavmon_hooks", "-Wl,--pop-state"]));
    flags
}

/// Runs the compiler in place of this process, or as its only child where IR is kept. Comes back only with an error, or
/// when there was nothing to compile.
pub fn run(language: Language, mut arguments: Vec<OsString>) -> Result<(), String> {
    if let [option, directory] = &arguments[..]
        && option == "--install-links"
    {
        return install_links(Path::new(directory));
    }
    let mut named = None;
    if let Some(name) = arguments.first().and_then(|first| first.to_str()?.strip_prefix("--avmon-compiler=")) {
        named = Some(name.to_owned());
        arguments.remove(0);
    }
    let kept = Kept::of(&expand(&arguments, Path::new("")));
    let mut call = Call::new(language, named.as_deref(), arguments)?;
    match kept.filter(|_| call.compiler.family == Family::Clang) {
        Some(kept) if kept_ir::is_wanted()? => call.run_and_keep(&kept),
        _ => {
            let error = call.command.exec();
            Err(call.not_started(&error))
        }
    }
}

/// The compiler with all its arguments.
pub struct Call {
    compiler: Compiler,
    language: Language,
    pub command: Command,
}

impl Call {
    /// What the user gives the compiler, completed by what the monitor needs.
    pub fn new(language: Language, named: Option<&str>, arguments: Vec<OsString>) -> Result<Call, String> {
        let compiler = Compiler::choose(language, named)?;
        let mut command = compiler.command();
        command.args(complete(&compiler, arguments)?);
        Ok(Call { compiler, language, command })
    }

    /// Runs the compiler, then once more for the IR if all went well, and ends as the first run did.
    fn run_and_keep(mut self, kept: &Kept) -> Result<(), String> {
        self.command.args(kept.note());
        let mut child = parent::spawn(&mut self.command).map_err(|error| self.not_started(&error))?;
        let status = parent::wait(&mut child).map_err(|error| format!("the compiler was lost: {error}"))?;
        // The directory was there for the first run.
        if let (true, Ok(support)) = (status.success(), support::directory()) {
            for warning in kept.make(|| self.compiler.command(), &support) {
                tell("warning", &warning);
            }
        }
        parent::end_like(status)
    }

    /// What to tell the user if the command cannot be started.
    #[must_use]
    pub fn not_started(&self, error: &std::io::Error) -> String {
        self.compiler.not_started(self.language, error)
    }
}

/// Makes the links by which build systems can name the compilers in one word.
fn install_links(directory: &Path) -> Result<(), String> {
    let told = |error: std::io::Error| format!("the links cannot be made in {}: {error}", directory.display());
    let binary = env::current_exe().and_then(|path| path.canonicalize()).map_err(told)?;
    fs::create_dir_all(directory).map_err(told)?;
    for language in [Language::C, Language::Cxx] {
        let link = directory.join(language.link());
        // Only a link is replaced: a real file of that name is somebody's work.
        if link.is_symlink() {
            fs::remove_file(&link).map_err(told)?;
        }
        std::os::unix::fs::symlink(&binary, &link).map_err(told)?;
        println!("{}", link.display());
    }
    Ok(())
}

/// The user's arguments with ours. Those of a call that neither compiles nor links stay as they are, so that build
/// systems recognise the compiler by its own answers.
fn complete(compiler: &Compiler, arguments: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let seen = expand(&arguments, Path::new(""));
    let job = Job::of(&seen);
    job.check()?;
    if !job.compiles() && !job.links() {
        return Ok(arguments);
    }
    let support = support::directory()?;
    let mut all = Vec::new();
    // Ours come first, so that the user's own flags have the last word.
    if job.compiles() && !job.uninstrumented {
        all.extend(compiler.compile_flags(&support));
    }
    if job.asks_for_thread_sanitizer {
        all.extend(seen.iter().filter_map(|argument| without_thread_sanitizer(argument)));
    } else {
        all.extend(arguments);
    }
    if job.link_time_optimisation {
        // It would compile again at link time, without hooks and with inlining.
        all.push("-fno-lto".into());
    }
    if job.links() {
        all.extend(search_flags(&support));
        all.extend(library_flags(&support));
    }
    Ok(all)
}

/// What a compiler call does, as far as it matters here.
#[derive(Default, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is one independent fact of a command line")]
struct Job {
    sources: bool,
    headers: bool,
    /// Objects, libraries, or options for the linker.
    linker_inputs: bool,
    stops_before_linking: bool,
    partial_link: bool,
    is_static: bool,
    other_width: Option<String>,
    other_sanitizer: Option<String>,
    asks_for_thread_sanitizer: bool,
    uninstrumented: bool,
    link_time_optimisation: bool,
}

/// Extensions of what gcc and clang compile. Anything else is for the linker.
const SOURCES: &[&str] = &[
    "c", "i", "C", "cc", "cp", "cxx", "cpp", "CPP", "c++", "ii", "m", "mi", "mm", "M", "mii", "S", "sx", "f", "F",
    "for", "f90", "F90", "f95", "F95", "f03", "F03", "f08", "F08", "d", "ll", "bc", "cppm", "ixx",
];
const HEADERS: &[&str] = &["h", "H", "hh", "hp", "hxx", "hpp", "HPP", "h++", "tcc"];

/// Lets clang tell the members of a class also where the class is only used, and the file with its first virtual function would tell them.
pub(super) const WHOLE_TYPES: &str = "-fstandalone-debug";

/// Options whose value is the next argument, which is then no input file.
pub(super) const WITH_VALUE: &[&str] = &[
    "-o",
    "-I",
    "-L",
    "-l",
    "-D",
    "-U",
    "-A",
    "-B",
    "-F",
    "-G",
    "-T",
    "-e",
    "-u",
    "-z",
    "-h",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-include",
    "-include-pch",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-imultilib",
    "-Xpreprocessor",
    "-Xassembler",
    "-Xclang",
    "-mllvm",
    "-target",
    "-arch",
    "--param",
    "--sysroot",
    "--include",
    "--define-macro",
    "--undefine-macro",
    "--include-directory",
    "--output",
    "-aux-info",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "-wrapper",
    "-specs",
    "--specs",
    "-gcc-toolchain",
    "-serialize-diagnostics",
];

/// Whether files of a language named with `-x` are compiled. `none` goes back to judging them by their names.
fn is_compiled(language: &str) -> bool {
    !matches!(language, "none" | "assembler")
}

/// Sanitizers that cannot share a program with these hooks.
const INCOMPATIBLE: &[&str] =
    &["address", "hwaddress", "kernel-address", "kernel-hwaddress", "leak", "memory", "dataflow"];

impl Job {
    fn of(arguments: &[OsString]) -> Job {
        let mut job = Job::default();
        let mut language_is_given = false;
        let mut arguments = arguments.iter().map(|argument| argument.to_string_lossy());
        while let Some(argument) = arguments.next() {
            match &*argument {
                "-c" | "-S" | "-E" | "-M" | "-MM" | "-fsyntax-only" | "--compile" | "--assemble" | "--preprocess"
                | "--precompile" => job.stops_before_linking = true,
                "-r" | "-Wl,-r" | "-Wl,--relocatable" => job.partial_link = true,
                "-static" | "--static" | "-static-pie" => job.is_static = true,
                "-m32" | "-m16" | "-mx32" => job.other_width = Some(argument.into_owned()),
                "-fno-sanitize=thread" | "-fno-sanitize=all" => job.uninstrumented = true,
                "-x" => language_is_given = arguments.next().is_some_and(|language| is_compiled(&language)),
                "-Xlinker" => {
                    job.linker_inputs = true;
                    arguments.next();
                }
                option if WITH_VALUE.contains(&option) => {
                    job.linker_inputs |= option == "-l";
                    arguments.next();
                }
                option if option.starts_with('-') && option != "-" => {
                    if let Some(language) = option.strip_prefix("-x") {
                        language_is_given = is_compiled(language);
                    } else if let Some(list) = option.strip_prefix("-fsanitize=") {
                        job.asks_for_thread_sanitizer |= list.split(',').any(|name| name == "thread");
                        let other = list.split(',').find(|name| INCOMPATIBLE.contains(name));
                        job.other_sanitizer = other.map(str::to_owned).or(job.other_sanitizer);
                    } else if option == "-flto" || option.starts_with("-flto=") {
                        job.link_time_optimisation = true;
                    } else if option.starts_with("-l") || option.starts_with("-Wl,") {
                        job.linker_inputs = true;
                    }
                }
                file => {
                    let extension = Path::new(file).extension().unwrap_or_default().to_string_lossy();
                    if language_is_given || SOURCES.contains(&&*extension) {
                        job.sources = true;
                    } else if HEADERS.contains(&&*extension) {
                        job.headers = true;
                    } else {
                        job.linker_inputs = true;
                    }
                }
            }
        }
        job
    }

    fn compiles(&self) -> bool {
        self.sources || self.headers
    }

    /// A header alone is precompiled, and a partial link is not where libraries go.
    fn links(&self) -> bool {
        (self.sources || self.linker_inputs) && !self.stops_before_linking && !self.partial_link
    }

    fn check(&self) -> Result<(), String> {
        if let Some(option) = &self.other_width {
            return Err(format!("avmon monitors 64-bit x86 programs only; leave out {option}"));
        }
        if let Some(name) = &self.other_sanitizer {
            return Err(format!(
                "-fsanitize={name} cannot share a program with avmon's hooks; make a build of its own for it"
            ));
        }
        if self.is_static && self.links() {
            return Err(
                "avmon needs a dynamically linked program, as its library is loaded into it; leave out -static".into(),
            );
        }
        Ok(())
    }
}

/// The argument without the thread sanitizer, whose library must not be linked; `None` if nothing remains.
pub(super) fn without_thread_sanitizer(argument: &OsStr) -> Option<OsString> {
    let Some(list) = argument.to_str().and_then(|text| text.strip_prefix("-fsanitize=")) else {
        return Some(argument.to_owned());
    };
    let others: Vec<&str> = list.split(',').filter(|name| *name != "thread").collect();
    (!others.is_empty()).then(|| format!("-fsanitize={}", others.join(",")).into())
}

/// The arguments with those of response files (`@file`) in their place. As in the compilers, a file that cannot be read
/// is an argument like any other, and files may name files. Paths are seen from a directory; the empty one is here.
pub(super) fn expand(arguments: &[OsString], directory: &Path) -> Vec<OsString> {
    // Deeper nesting is a file that names itself; the compiler will say so.
    fn into(all: &mut Vec<OsString>, arguments: &[OsString], directory: &Path, depth: u32) {
        for argument in arguments {
            let content = argument
                .as_bytes()
                .strip_prefix(b"@")
                .filter(|_| depth < 16)
                .and_then(|path| fs::read(directory.join(OsStr::from_bytes(path))).ok());
            match content {
                Some(content) => into(all, &split_response(&content), directory, depth + 1),
                None => all.push(argument.clone()),
            }
        }
    }
    let mut all = Vec::new();
    into(&mut all, arguments, directory, 0);
    all
}

/// Splits at white space, with quotes of both kinds and backslashes as in a response file.
fn split_response(content: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = content.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => word.get_or_insert_default().extend(bytes.next()),
            (b'\'' | b'"', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (_, Some(open)) if byte == open => quote = None,
            (_, None) if byte.is_ascii_whitespace() => words.extend(word.take().map(OsString::from_vec)),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word.map(OsString::from_vec));
    words
}

/// The C++ compiler that belongs to a C compiler: `clang-14` to `clang++-14`, `x86_64-linux-gnu-gcc` to `…-g++`.
fn cxx_twin(program: &str) -> String {
    let start = program.rfind('/').map_or(0, |slash| slash + 1);
    let (directory, name) = program.split_at(start);
    let twin = if name.contains("++") {
        name.to_owned()
    } else if name.contains("clang") {
        name.replacen("clang", "clang++", 1)
    } else {
        name.replacen("gcc", "g++", 1)
    };
    format!("{directory}{twin}")
}

fn strings(flags: &[&str]) -> Vec<OsString> {
    flags.iter().map(OsString::from).collect()
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut text = OsString::from(option);
    text.push(path);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(line: &str) -> Job {
        Job::of(&split_response(line.as_bytes()))
    }

    #[test]
    fn a_call_is_told_by_what_it_does() {
        for (line, compiles, links) in [
            ("a.c", true, true),
            ("-c a.c -o a.o", true, false),
            ("a.o b.o -o app", false, true),
            ("-shared -o liba.so a.o", false, true),
            ("-r a.o b.o -o ab.o", false, false),
            ("-E a.c", true, false),
            ("-MM a.c", true, false),
            ("-MD -MF a.d a.c -o a", true, true),
            ("-x c - -o a", true, true),
            ("-xc++ strange.name -c", true, false),
            ("-x c -x none a.o", false, true),
            ("-x assembler - -c", false, false),
            ("-x assembler code -o a", false, true),
            ("header.hpp -o header.hpp.gch", true, false),
            ("-o a.c", false, false),
            ("-include a.h", false, false),
            ("-Xlinker a.c", false, true),
            ("-v", false, false),
            ("--version", false, false),
            ("-dumpmachine", false, false),
            ("-print-file-name=libc.so", false, false),
            ("-l m", false, true),
            ("code.s", false, true),
            ("code.S -c", true, false),
        ] {
            let job = job(line);
            assert_eq!((job.compiles(), job.links()), (compiles, links), "{line}");
        }
    }

    #[test]
    fn what_cannot_work_is_refused_with_the_way_out() {
        for (line, part) in [
            ("-static a.c", "dynamically linked"),
            ("-static-pie a.o", "dynamically linked"),
            ("-m32 -c a.c", "leave out -m32"),
            ("-fsanitize=undefined,address a.c", "-fsanitize=address cannot"),
        ] {
            let error = job(line).check().unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        }
        for line in ["-static -c a.c", "-fsanitize=undefined a.c", "-static-libgcc a.c"] {
            assert_eq!(job(line).check(), Ok(()), "{line}");
        }
    }

    #[test]
    fn only_the_thread_sanitizer_is_taken_out() {
        let left = |text: &str| without_thread_sanitizer(OsStr::new(text));
        assert_eq!(left("-fsanitize=thread"), None);
        assert_eq!(left("-fsanitize=undefined,thread,bounds"), Some("-fsanitize=undefined,bounds".into()));
        assert_eq!(left("-O2"), Some("-O2".into()));
    }

    #[test]
    fn response_files_are_split_as_compilers_do() {
        let words = split_response(b"  a 'b c'\t\"d \\\" e\"f\n\\  '' g\\h");
        assert_eq!(words, ["a", "b c", "d \" ef", " ", "", "gh"]);
    }

    #[test]
    fn response_files_are_read_and_missing_ones_left() {
        let home = tempfile::tempdir().unwrap();
        let (outer, inner) = (home.path().join("outer"), home.path().join("inner"));
        fs::write(&inner, "-c a.c").unwrap();
        fs::write(&outer, format!("-O2 @{}", inner.display())).unwrap();
        let arguments = [joined("@", &outer), "@missing".into()];
        assert_eq!(expand(&arguments, Path::new("")), ["-O2", "-c", "a.c", "@missing"]);
        fs::write(&inner, format!("@{}", inner.display())).unwrap();
        assert_eq!(expand(&[joined("@", &inner)], Path::new("")), [joined("@", &inner)]);
    }

    #[test]
    fn each_c_compiler_has_its_cxx_twin() {
        for (c, cxx) in [
            ("gcc", "g++"),
            ("clang", "clang++"),
            ("clang-14", "clang++-14"),
            ("/opt/gcc-9/bin/gcc-13", "/opt/gcc-9/bin/g++-13"),
            ("x86_64-linux-gnu-gcc", "x86_64-linux-gnu-g++"),
            ("g++", "g++"),
        ] {
            assert_eq!(cxx_twin(c), cxx);
        }
    }

    #[test]
    fn a_named_compiler_keeps_its_wrapper_and_avmon_does_not_call_itself() {
        let compiler = Compiler::choose(Language::Cxx, Some("ccache clang")).unwrap();
        assert_eq!((compiler.words, compiler.family), (vec!["ccache".into(), "clang++".into()], Family::Clang));
        assert!(Compiler::choose(Language::C, Some("/usr/bin/avmon-cc")).unwrap_err().contains("avmon itself"));
        assert!(Compiler::choose(Language::C, Some("")).is_err());
    }
}
