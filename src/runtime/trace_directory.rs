//! The beginning of a recording: its directory, made by the thread that creates the program's first thread.

use super::slabs::{Slabs, file_size_limit};
use super::{early, early_blocks, options, say, start_directory};
use crate::report::json::{Start, strings};
use crate::trace::meta::{META, Meta};
use crate::trace::slots;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// The trace that this process records.
pub struct Recording {
    pub directory: PathBuf,
    pub meta: Meta,
}

impl Recording {
    /// Makes the trace's directory and the file of its chunks, if a trace was asked for.
    pub fn begin() -> Option<(Recording, Slabs)> {
        let path = &options().trace_path;
        if path.is_empty() {
            return None;
        }
        let above = start_directory().join(path);
        match Recording::make(&above) {
            Ok(begun) => Some(begun),
            Err(error) => {
                let above = above.display();
                say(&format!(
                    "avmon: no trace can be made in {above}: {error}; the program runs monitored but not recorded\n"
                ));
                None
            }
        }
    }

    fn make(above: &Path) -> io::Result<(Recording, Slabs)> {
        let directory = make_directory(above)?;
        let start = Start::of_this_process();
        let meta = Meta {
            trace_id: Meta::random_id(),
            pid: start.pid,
            program: start.program,
            arguments: start.arguments,
            environment: strings("/proc/self/environ"),
            options: start.options,
            start_time_ms: start.time_ms,
            early_locks: early::take(),
            early_blocks_lost: early_blocks::lost(),
            ..Meta::default()
        };
        // Before anything is recorded, so that whatever is has a name, however soon the program is killed.
        let made = check_size_limit(&meta).and_then(|()| meta.write(&directory));
        match made.and_then(|()| make_chunks(&directory.join(slots::SLOTS), meta.trace_id)) {
            Ok(slabs) => Ok((Recording { directory, meta }, slabs)),
            Err(error) => {
                // One by one, which takes no descriptor: there may be none left.
                let _ = fs::remove_file(directory.join(slots::SLOTS));
                let _ = fs::remove_file(directory.join(META));
                let _ = fs::remove_dir(&directory);
                Err(error)
            }
        }
    }
}

/// Writing beyond the limit on file sizes would get the program a deadly signal.
fn check_size_limit(meta: &Meta) -> io::Result<()> {
    let words = meta.arguments.iter().chain(&meta.environment).map(String::len).sum::<usize>();
    // Every character may be escaped, every lock is two numbers.
    let most = slots::SLOTS_AT + 6 * (words + meta.options.len() + meta.program.len()) + 64 * meta.early_locks.len();
    if file_size_limit() < most as u64 { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(()) }
}

fn make_chunks(path: &Path, trace_id: u64) -> io::Result<Slabs> {
    let mut head = slots::head(trace_id).to_vec();
    head.resize(slots::SLOTS_AT, 0);
    fs::write(path, &head)?;
    Ok(Slabs::in_file(path, head.len() as u64))
}

/// A new directory named after the process. A process that becomes another program keeps its id, so the name may be taken.
/// What is recorded, the environment above all, is for the user alone.
fn make_directory(above: &Path) -> io::Result<PathBuf> {
    let mut private = DirBuilder::new();
    private.mode(0o700);
    private.recursive(true).create(above)?;
    private.recursive(false);
    let pid = super::state::process_id();
    let names = std::iter::once(pid.to_string()).chain((1..).map(|again| format!("{pid}.{again}")));
    for directory in names.map(|name| above.join(name)) {
        match private.create(&directory) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => return result.map(|()| directory),
        }
    }
    unreachable!("the names never end")
}
