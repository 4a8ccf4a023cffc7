//! The IR of a program, found again through what its objects say.

use super::error::Error;
use object::{Object as _, ObjectSection as _};
use std::ffi::OsStr;
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
