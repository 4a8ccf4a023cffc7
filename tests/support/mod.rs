//! What the tests that run real programs share.

// Every test crate compiles this module for itself and uses another part of it.
#![allow(dead_code)]

pub mod build;
pub mod case;
pub mod compiled;
pub mod directives;
pub mod findings;
pub mod packages;
pub mod prediction;
pub mod recording;
pub mod run;
pub mod server;

use std::path::{Path, PathBuf};

/// The top of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The sources of C and C++ programs in a directory, sorted by name.
pub fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable directory").path())
        .filter(|path| matches!(path.extension().and_then(|e| e.to_str()), Some("c" | "cpp")))
        .collect();
    paths.sort();
    paths
}
