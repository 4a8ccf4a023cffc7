//! Programs of this repository that are compiled already: many tests run the same ones, and compilers take most of their time.

use super::root;
use rustc_hash::FxHasher;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::SystemTime;

/// What programs are made of, apart from the command line: if any of it is newer, all are compiled anew.
const MADE_OF: [&str; 3] = ["tests", "examples", "shim"];

/// Where compiled programs are, if there is such a place. One directory for each state of the sources and of `avmon cc`.
static STORE: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let avmon = Path::new(env!("CARGO_BIN_EXE_avmon"));
    let mut hasher = FxHasher::default();
    written(avmon)?.hash(&mut hasher);
    for directory in MADE_OF {
        newest(&root().join(directory))?.hash(&mut hasher);
    }
    // Tests of the debug and of the release build may run at the same time.
    let profile = avmon.parent()?.file_name()?;
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs").join(profile);
    let store = all.join(format!("{:016x}", hasher.finish()));
    if !store.is_dir() {
        let _ = fs::remove_dir_all(&all);
        fs::create_dir_all(&store).ok()?;
    }
    Some(store)
});

fn written(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// When anything below a directory was written last. Files that came or went change their directory.
fn newest(directory: &Path) -> Option<SystemTime> {
    let mut newest = written(directory)?;
    for entry in fs::read_dir(directory).ok()?.flatten() {
        let path = entry.path();
        newest = newest.max(if path.is_dir() { self::newest(&path)? } else { written(&path)? });
    }
    Some(newest)
}

/// Has a program compiled by `compile`, which is told where to, or takes the one that was compiled before. `identity` is all that the
/// command line depends on; a source that lies elsewhere, or a flag that is a path, is of this test alone.
pub fn once(
    source: &Path,
    identity: &[&str],
    output: &Path,
    compile: impl Fn(&Path) -> Result<(), String>,
) -> Result<(), String> {
    let is_of_all = source.starts_with(root()) && !identity.iter().any(|word| word.contains('/'));
    let Some(store) = STORE.as_ref().filter(|_| is_of_all) else { return compile(output) };
    let mut hasher = FxHasher::default();
    (source, identity).hash(&mut hasher);
    let kept = store.join(format!("{:016x}", hasher.finish()));
    if !kept.is_file() {
        // It stays: the program says that the IR beside it is there.
        let home = tempfile::tempdir_in(store).map_err(|error| error.to_string())?.keep();
        let made = home.join(output.file_name().unwrap_or_default());
        compile(&made)?;
        match fs::hard_link(made, &kept) {
            // Another test was faster.
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error.to_string()),
            _ => {}
        }
    }
    // By another process: while this one has it open for writing, a child that another test starts has so too, and then it cannot be run.
    let copied = Command::new("cp").arg(&kept).arg(output).status().map_err(|error| error.to_string())?;
    if copied.success() { Ok(()) } else { Err(format!("{} was not copied", kept.display())) }
}
