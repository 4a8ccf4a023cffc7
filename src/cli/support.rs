//! The files that compilers and linkers must find on disk. The binary carries them and writes them where needed.

use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};

/// The library of hooks without effect that instrumented programs are linked with.
pub const LIBRARY: &str = "libavmon_hooks.so";
/// Makes gcc instrument what it compiles without linking the thread sanitizer's library.
pub const SPECS: &str = "avmon.specs";

/// Lets the program find the library beside itself. A file for the compiler to read, because nothing else that holds a
/// dollar sign comes through both `$(avmon flags)`, which removes no quotes, and a line of make, which does.
pub const BESIDE_PROGRAM: &str = "beside-program";

/// Lets the program call functions on bytes and strings through the library.
pub const WRAPPED: &str = "wrapped.flags";

const FILES: [(&str, &[u8]); 5] = [
    (LIBRARY, include_bytes!(concat!(env!("OUT_DIR"), "/libavmon_hooks.so"))),
    (SPECS, include_bytes!("../../shim/avmon.specs")),
    (BESIDE_PROGRAM, b"-Xlinker -rpath -Xlinker $ORIGIN\n"),
    (WRAPPED, include_bytes!("../../shim/wrapped.flags")),
    ("avmon.h", include_bytes!("../../shim/avmon.h")),
];

/// The directory that holds the support files of this version, written if need be.
///
/// Beside the binary if that can be: programs find the library there for as long as avmon is installed. Else in the
/// user's cache, under a name that no other version shares.
pub fn directory() -> Result<PathBuf, String> {
    let beside = beside_binary();
    let mut refusals = Vec::new();
    for candidate in [beside, cache(&|name| env::var_os(name))].into_iter().flatten() {
        match fill(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(error) => refusals.push(format!("{}: {error}", candidate.display())),
        }
    }
    Err(format!(
        "no place for the support files; make one of these writable, or set XDG_CACHE_HOME: {}",
        refusals.join("; ")
    ))
}

fn beside_binary() -> Option<PathBuf> {
    let binary = env::current_exe().ok()?.canonicalize().ok()?;
    Some(binary.parent()?.join("avmon-support"))
}

fn cache(variable: &dyn Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    // The specification of XDG_CACHE_HOME says that a relative path counts as unset.
    let base = variable("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")))?;
    let mut hasher = DefaultHasher::new();
    FILES.hash(&mut hasher);
    Some(base.join("avmon").join(format!("{}-{:016x}", env!("CARGO_PKG_VERSION"), hasher.finish())))
}

/// Makes `directory` hold the files as they are in this binary.
fn fill(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for (name, content) in FILES {
        let path = directory.join(name);
        if fs::read(&path).is_ok_and(|present| present == content) {
            continue;
        }
        replace(&path, content)?;
    }
    Ok(())
}

/// Writes a file so that whoever reads it meanwhile, and every other writer, sees it complete: a parallel build starts
/// many compilers at once.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    static TURN: AtomicU32 = AtomicU32::new(0);
    let name = path.file_name().unwrap_or(OsStr::new("file")).to_string_lossy();
    let turn = TURN.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_file_name(format!(".{name}.{}.{turn}", process::id()));
    let written = fs::File::create(&temporary)
        .and_then(|mut file| file.write_all(content))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // What went wrong first is what the user must know.
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    fn check(directory: &Path) {
        for (name, content) in FILES {
            assert_eq!(fs::read(directory.join(name)).unwrap(), content, "{name}");
        }
    }

    #[test]
    fn many_writers_at_once_leave_complete_files_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("a/b");
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    fill(&directory).unwrap();
                    check(&directory);
                });
            }
        });
        assert_eq!(fs::read_dir(&directory).unwrap().count(), FILES.len());
    }

    #[test]
    fn a_damaged_file_is_replaced_and_a_good_one_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        fill(home.path()).unwrap();
        let inode = |name: &str| fs::metadata(home.path().join(name)).unwrap().ino();
        let (library, specs) = (inode(LIBRARY), inode(SPECS));
        fs::write(home.path().join(SPECS), "other").unwrap();
        let other = home.path().join("keep");
        fs::hard_link(home.path().join(SPECS), other).unwrap();
        fill(home.path()).unwrap();
        check(home.path());
        assert_eq!(inode(LIBRARY), library);
        assert_ne!(inode(SPECS), specs);
    }

    #[test]
    fn the_cache_follows_the_desktop_convention() {
        let with = |pairs: &'static [(&str, &str)]| {
            cache(&move |name| pairs.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into()))
        };
        assert!(with(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")]).unwrap().starts_with("/x/avmon"));
        assert!(with(&[("XDG_CACHE_HOME", "x"), ("HOME", "/h")]).unwrap().starts_with("/h/.cache/avmon"));
        assert_eq!(with(&[]), None);
    }
}
