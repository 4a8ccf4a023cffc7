//! The IR of a program, found again through what its objects say.

use super::error::Error;
use object::{Object as _, ObjectSection as _};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// What stands before the path in an object, among the command lines of compilers.
pub const NOTE: &str = "avmon-ir=";

const SECTION: &str = ".GCC.command.line";

/// Where a program's IR is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Located {
    pub found: Vec<PathBuf>,
    /// Paths that the program names, but where nothing is any more.
    pub missing: Vec<PathBuf>,
}

/// Whether this is the name of a file of IR.
#[must_use]
pub fn is_ir(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "ll" || it == "bc")
}

/// The files of IR in a directory, and in those in it.
pub fn files_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    entries.sort();
    let mut files = Vec::new();
    for path in entries {
        if path.is_dir() && !path.is_symlink() {
            files.extend(files_in(&path)?);
        } else if is_ir(&path) {
            files.push(path);
        }
    }
    Ok(files)
}

/// The IR of a program, library or object that `avmon cc` made with clang; nothing for others.
pub fn locate(elf: &Path) -> Result<Located, Error> {
    let broken = |message: String| Error::whole(elf.to_string_lossy(), message);
    let bytes = std::fs::read(elf).map_err(|error| broken(format!("cannot be read: {error}")))?;
    let file = object::File::parse(&*bytes).map_err(|error| broken(format!("is no program or library: {error}")))?;
    let mut paths: Vec<PathBuf> = Vec::new();
    for section in file.sections().filter(|section| section.name() == Ok(SECTION)) {
        let data = section.uncompressed_data().map_err(|error| broken(format!("{SECTION} cannot be read: {error}")))?;
        let lines = data.split(|byte| matches!(byte, 0 | b'\n'));
        paths.extend(lines.filter_map(|line| Some(OsStr::from_bytes(line.strip_prefix(NOTE.as_bytes())?).into())));
    }
    paths.sort();
    paths.dedup();
    let (found, missing) = paths.into_iter().partition(|path| path.is_file());
    Ok(Located { found, missing })
}
