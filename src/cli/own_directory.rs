//! Directories that commands write their results to: what is there from the last time is kept, once, and nothing else is touched.

use super::exit::Failure;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// A kind of directory, told by a file in it: it was made by avmon, and may be moved or replaced.
pub struct Kind {
    pub mark: &'static str,
    pub text: &'static str,
    /// For the sentence that it is not one.
    pub what: &'static str,
}

impl Kind {
    /// Makes the directory. What is there from the last time is moved to `PATH.old`.
    pub fn make(&self, path: &Path) -> Result<(), Failure> {
        // As 'mktemp -d' makes it.
        let is_empty = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        if !is_empty && self.is_there(path)? {
            let old = PathBuf::from(format!("{}.old", path.display()));
            if self.is_there(&old)? {
                fs::remove_dir_all(&old).map_err(|error| cannot("delete", &old, &error))?;
            }
            fs::rename(path, &old).map_err(|error| cannot("move", path, &error))?;
        }
        // Command line and environment may hold secrets.
        let made = if is_empty { Ok(()) } else { fs::DirBuilder::new().mode(0o700).create(path) };
        made.and_then(|()| fs::write(path.join(self.mark), self.text)).map_err(|error| cannot("make", path, &error))
    }

    /// Whether there is one. Anything else is not ours to move or delete.
    pub fn is_there(&self, path: &Path) -> Result<bool, Failure> {
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(cannot("look at", path, &error)),
            Ok(_) if path.join(self.mark).is_file() => Ok(true),
            Ok(_) => Err(Failure::internal(format!(
                "{} is there and is not {} of avmon, so it is left alone; choose another directory with -o",
                path.display(),
                self.what
            ))),
        }
    }
}

pub fn cannot(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::internal(format!("cannot {what} {}: {error}; choose another directory with -o", path.display()))
}
