//! The checks of a program before it is started: everything that would make the monitor silently absent.

use super::exit::{ExitCode, Failure};
use object::elf;
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::read::{ReadCache, ReadRef};
use object::{FileKind, Object as _, ObjectSymbol as _};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Why a file cannot be executed or monitored. The text tells the way out.
#[derive(Debug)]
pub enum Obstacle {
    Directory,
    NotExecutable,
    Unreadable(io::Error),
    NotAProgram,
    Malformed(object::read::Error),
    Bits32,
    OtherMachine,
    Static,
    OtherLibc(String),
    SetId,
    Capabilities,
    Sanitizer(&'static str),
    OldConditions,
    /// The interpreter of a script stands in the way.
    Interpreter(PathBuf, Box<Obstacle>),
    MissingInterpreter(PathBuf),
    EndlessScripts,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::OldConditions => write!(
                f,
                "uses the condition variables of glibc before 2.3.2, which have another layout; link it again with a newer glibc"
            ),
            Obstacle::Directory => write!(f, "is a directory, not a program"),
            Obstacle::NotExecutable => write!(f, "is not executable; make it so with 'chmod +x'"),
            Obstacle::Unreadable(error) => {
                write!(f, "cannot be read ({error}), so the monitor could not read it either")
            }
            Obstacle::NotAProgram => {
                write!(f, "is neither an ELF program nor a script that begins with '#!'; name its interpreter in front")
            }
            Obstacle::Malformed(error) => write!(f, "is a damaged ELF file: {error}"),
            Obstacle::Bits32 => {
                write!(f, "is a 32-bit program; avmon monitors 64-bit ones, so rebuild it without -m32")
            }
            Obstacle::OtherMachine => {
                write!(f, "is built for another processor; avmon monitors x86-64 programs, so rebuild it for x86-64")
            }
            Obstacle::Static => write!(
                f,
                "is statically linked, so no library can be preloaded into it; link it without -static and -static-pie"
            ),
            Obstacle::OtherLibc(loader) => {
                write!(f, "is loaded by {loader}; avmon needs glibc, so build it on a system with glibc")
            }
            Obstacle::SetId => write!(
                f,
                "is setuid or setgid, and the loader ignores preloaded libraries there; \
                 run a copy of it (a copy made by 'cp' has no such bit) as the user that it needs"
            ),
            Obstacle::Capabilities => write!(
                f,
                "has file capabilities, and the loader ignores preloaded libraries there; \
                 run a copy of it (a copy made by 'cp' has none) as a user who has these rights"
            ),
            Obstacle::Sanitizer(runtime) => write!(
                f,
                "is built with the {runtime} runtime, which takes the same hooks; rebuild it with 'avmon cc' or 'avmon c++'"
            ),
            Obstacle::Interpreter(interpreter, obstacle) => {
                write!(f, "is a script, and its interpreter {} {obstacle}", interpreter.display())
            }
            Obstacle::MissingInterpreter(interpreter) => {
                write!(
                    f,
                    "is a script, and its interpreter {} does not exist; correct its first line",
                    interpreter.display()
                )
            }
            Obstacle::EndlessScripts => write!(f, "is a script whose interpreters are scripts without an end"),
        }
    }
}

/// A sanitizer's runtime: its name, the shared library that holds it, the symbol that a static copy of it defines.
struct Runtime(&'static str, &'static [&'static str], &'static str);

const RUNTIMES: &[Runtime] = &[
    Runtime("TSan", &["libtsan.so", "libclang_rt.tsan"], "__tsan_init"),
    Runtime("ASan", &["libasan.so", "libclang_rt.asan"], "__asan_init"),
    Runtime("MSan", &["libclang_rt.msan"], "__msan_init"),
];

/// Finds the program as a shell would, and makes sure that the monitor can get into it.
pub fn find(name: &OsStr) -> Result<PathBuf, Failure> {
    let path = if name.as_bytes().contains(&b'/') { existing(name) } else { search(name) }?;
    match check(&path) {
        Ok(()) => Ok(path),
        Err(obstacle) => Err(Failure::new(ExitCode::CannotRun, format!("{} {obstacle}", path.display()))),
    }
}

fn existing(name: &OsStr) -> Result<PathBuf, Failure> {
    let path = PathBuf::from(name);
    match path.metadata() {
        Ok(_) => Ok(path),
        Err(error) => Err(Failure::new(
            ExitCode::NotFound,
            format!("{} not found: {error}; check the path, and that the program is built", path.display()),
        )),
    }
}

fn search(name: &OsStr) -> Result<PathBuf, Failure> {
    // What the C library searches when there is no PATH.
    let directories = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let mut found: Vec<PathBuf> = std::env::split_paths(&directories)
        .map(|directory| directory.join(name))
        .filter(|path| path.is_file() && !name.is_empty())
        .collect();
    // As in a shell: a file without the right to execute it does not hide a later one that has it.
    if let Some(best) = found.iter().position(|path| is_executable(path)) {
        found.swap(0, best);
    }
    found.into_iter().next().ok_or_else(|| {
        let name = name.display();
        let advice = if Path::new(&name.to_string()).exists() {
            format!("; for the one in this directory write './{name}'")
        } else {
            "; check its name, and that it is installed".to_owned()
        };
        Failure::new(ExitCode::NotFound, format!("{name} not found in PATH{advice}"))
    })
}

fn is_executable(path: &Path) -> bool {
    let Ok(name) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: `name` is a NUL-terminated string that outlives the call.
    unsafe { libc::access(name.as_ptr(), libc::X_OK) == 0 }
}

fn check(path: &Path) -> Result<(), Obstacle> {
    // As many interpreters as the kernel follows.
    const MOST_INTERPRETERS: u32 = 4;
    check_nested(path, MOST_INTERPRETERS)
}

fn check_nested(path: &Path, interpreters_left: u32) -> Result<(), Obstacle> {
    let metadata = path.metadata().map_err(Obstacle::Unreadable)?;
    if metadata.is_dir() {
        return Err(Obstacle::Directory);
    }
    if !is_executable(path) {
        return Err(Obstacle::NotExecutable);
    }
    let mut file = File::open(path).map_err(Obstacle::Unreadable)?;
    if let Some(interpreter) = interpreter(&mut file).map_err(Obstacle::Unreadable)? {
        if interpreters_left == 0 {
            return Err(Obstacle::EndlessScripts);
        }
        if !interpreter.exists() {
            return Err(Obstacle::MissingInterpreter(interpreter));
        }
        return check_nested(&interpreter, interpreters_left - 1)
            .map_err(|obstacle| Obstacle::Interpreter(interpreter, Box::new(obstacle)));
    }
    check_elf(&ReadCache::new(file))?;
    check_privileges(path, &metadata)
}

/// The interpreter that the first line of a script names.
fn interpreter(file: &mut File) -> io::Result<Option<PathBuf>> {
    let mut head = Vec::new();
    // The kernel reads this much to find the interpreter.
    file.take(256).read_to_end(&mut head)?;
    let Some(line) = head.strip_prefix(b"#!") else { return Ok(None) };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    let name = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    Ok(Some(OsString::from_vec(name.to_vec()).into()))
}

fn check_elf<'data, R: ReadRef<'data>>(data: R) -> Result<(), Obstacle> {
    match FileKind::parse(data) {
        Ok(FileKind::Elf64) => {}
        Ok(FileKind::Elf32) => return Err(Obstacle::Bits32),
        _ => return Err(Obstacle::NotAProgram),
    }
    let header = elf::FileHeader64::<object::Endianness>::parse(data).map_err(Obstacle::Malformed)?;
    let endian = header.endian().map_err(Obstacle::Malformed)?;
    if header.e_machine(endian) != elf::EM_X86_64 {
        return Err(Obstacle::OtherMachine);
    }
    let program = object::read::elf::ElfFile64::<object::Endianness, R>::parse(data).map_err(Obstacle::Malformed)?;
    let mut loader = None;
    for segment in program.elf_program_headers() {
        loader = loader.or(segment.interpreter(endian, data).map_err(Obstacle::Malformed)?);
    }
    let loader = String::from_utf8_lossy(loader.ok_or(Obstacle::Static)?).into_owned();
    if !loader.contains("ld-linux") {
        return Err(Obstacle::OtherLibc(loader));
    }
    if has_old_conditions(&program, data).map_err(Obstacle::Malformed)? {
        return Err(Obstacle::OldConditions);
    }
    match RUNTIMES.iter().find(|runtime| uses(&program, runtime)) {
        Some(runtime) => Err(Obstacle::Sanitizer(runtime.0)),
        None => Ok(()),
    }
}

/// The library stands in front of both versions of these functions, and cannot tell which one a caller meant.
fn has_old_conditions<'data, R: ReadRef<'data>>(program: &Program<'data, R>, data: R) -> object::read::Result<bool> {
    let endian = program.endian();
    let Some(versions) = program.elf_section_table().versions(endian, data)? else { return Ok(false) };
    for symbol in program.dynamic_symbols() {
        if symbol.name_bytes()?.starts_with(b"pthread_cond_") {
            let index = versions.version_index(endian, symbol.index());
            if versions.version(index.index())?.is_some_and(|version| version.name() == b"GLIBC_2.2.5") {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

type Program<'data, R> = object::read::elf::ElfFile64<'data, object::Endianness, R>;

fn uses<'data, R: ReadRef<'data>>(program: &Program<'data, R>, runtime: &Runtime) -> bool {
    let Runtime(_, libraries, symbol) = runtime;
    // A program built by `avmon cc` refers to the symbol too; only one that defines it has the runtime inside.
    let mut symbols = program.dynamic_symbols().chain(program.symbols());
    needed(program).iter().any(|name| libraries.iter().any(|library| name.starts_with(library.as_bytes())))
        || symbols.any(|found| found.is_definition() && found.name_bytes() == Ok(symbol.as_bytes()))
}

/// The libraries that the program asks the loader for.
fn needed<'data, R: ReadRef<'data>>(program: &Program<'data, R>) -> Vec<&'data [u8]> {
    let Ok(table) = program.elf_dynamic_table() else { return Vec::new() };
    table.iter().filter(|entry| entry.tag == elf::DT_NEEDED).filter_map(|entry| table.string(entry).ok()).collect()
}

fn check_privileges(path: &Path, metadata: &Metadata) -> Result<(), Obstacle> {
    const SET_ID: u32 = libc::S_ISUID | libc::S_ISGID;
    if metadata.permissions().mode() & SET_ID != 0 {
        return Err(Obstacle::SetId);
    }
    if has_capabilities(path) { Err(Obstacle::Capabilities) } else { Ok(()) }
}

fn has_capabilities(path: &Path) -> bool {
    let Ok(name) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: both names are NUL-terminated, and a size of 0 asks only for the length: nothing is written.
    unsafe { libc::getxattr(name.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0) > 0 }
}
