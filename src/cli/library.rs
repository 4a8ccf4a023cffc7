//! Where `libavmon.so` is, and how it is preloaded.

use super::{environment, exit::Failure};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

const NAME: &str = "libavmon.so";

/// Finds the library: named by the variable, else beside the command, else in `../lib`.
///
/// `cargo run` and `cargo test` leave it in `deps`, and only `cargo build` links it beside the command: there may be
/// none, or one of an earlier build. So `deps` comes first; an installed command has no such directory.
pub fn find() -> Result<PathBuf, Failure> {
    if let Some(path) = std::env::var_os(environment::LIBRARY) {
        let path = PathBuf::from(path);
        return if path.is_file() {
            absolute(&path)
        } else {
            Err(Failure::internal(format!("{} names {}, which is not a file", environment::LIBRARY, path.display())))
        };
    }
    let command = std::env::current_exe()
        .map_err(|error| Failure::internal(format!("cannot tell where the avmon command is: {error}")))?;
    let directory = command.parent().unwrap_or(Path::new("/"));
    let candidates = ["deps", ".", "../lib"].map(|place| directory.join(place).join(NAME));
    let found = candidates.iter().find(|path| path.is_file()).ok_or_else(|| {
        Failure::internal(format!(
            "{NAME} not found beside {} or in ../lib; build it with 'cargo build --release', or set {} to its path",
            command.display(),
            environment::LIBRARY,
        ))
    })?;
    absolute(found)
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize().map_err(|error| Failure::internal(format!("{}: {error}", path.display())))
}

/// The value of `LD_PRELOAD` with the library first and everything that was there after it.
///
/// First, because an allocator preloaded by the user must not see the program's locks before us; its own
/// symbols are others than ours, so both work.
pub fn preload(library: &Path, existing: Option<&OsStr>) -> Result<OsString, Failure> {
    let is_separator = |byte: &u8| matches!(byte, b':' | b' ' | b'\t' | b'\n');
    // The loader splits at these and expands `$ORIGIN`; there is no way to quote.
    if library.as_os_str().as_bytes().iter().any(|byte| is_separator(byte) || *byte == b'$') {
        return Err(Failure::internal(format!(
            "the loader cannot preload '{}': its path contains white space, ':' or '$'; \
             link the library somewhere else and set {} to that link",
            library.display(),
            environment::LIBRARY,
        )));
    }
    let mut value = library.as_os_str().to_owned();
    let others = existing.map_or(&[][..], OsStr::as_bytes).split(is_separator);
    for other in others.filter(|other| !other.is_empty() && *other != library.as_os_str().as_bytes()) {
        value.push(":");
        value.push(OsStr::from_bytes(other));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preloaded(existing: &str) -> String {
        preload(Path::new("/a/libavmon.so"), Some(OsStr::new(existing))).unwrap().into_string().unwrap()
    }

    #[test]
    fn what_was_preloaded_before_stays() {
        assert_eq!(preloaded(""), "/a/libavmon.so");
        assert_eq!(preloaded("libjemalloc.so.2 /x.so"), "/a/libavmon.so:libjemalloc.so.2:/x.so");
    }

    #[test]
    fn the_library_is_never_preloaded_twice() {
        assert_eq!(preloaded("/x.so:/a/libavmon.so"), "/a/libavmon.so:/x.so");
    }

    #[test]
    fn a_path_that_the_loader_would_split_is_refused() {
        let failure = preload(Path::new("/my code/libavmon.so"), None).unwrap_err();
        assert!(failure.text.contains("white space"), "{failure}");
    }
}
