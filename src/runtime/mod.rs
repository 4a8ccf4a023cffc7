//! Inside the program: what records, what carries the records away, and the worker that analyses them.
//!
//! Runs on the program's threads except for `worker`. Nothing here allocates from the program's heap, panics, or
//! blocks for anything but room in the buffer.

mod bare_file;
pub mod chunk;
mod descriptors;
mod early;
mod early_blocks;
mod environment;
pub mod fiber;
mod futex;
mod heap;
pub mod mapping;
pub mod pins;
mod pipeline;
pub mod process;
pub mod record;
mod recorder;
mod recording;
pub mod registry;
pub mod signals;
mod slabs;
pub mod stack;
pub mod state;
pub mod steering;
pub mod stripes;
mod sync;
pub mod tasks;
pub mod tls;
mod trace_directory;
mod worker;

pub use record::{await_later, fence_release, has_release_fence, ignore_sync, record, signal_once};
pub use recording::{
    Operation, access, access_refused, access_slowly, allocated, atomic, freeing, get_ready, is_recording, recording,
};

use crate::options::Options;
use crate::report::sink::{GuardedStderr, Sinks};
use once_cell::sync::OnceCell;
use std::io::Write as _;
use std::path::{Path, PathBuf};

#[global_allocator]
static HEAP: heap::Heap = heap::Heap::new();

static OPTIONS: OnceCell<Options> = OnceCell::new();

/// The options of this process; the defaults until they were read.
pub fn options() -> &'static Options {
    static DEFAULTS: OnceCell<Options> = OnceCell::new();
    OPTIONS.get().unwrap_or_else(|| DEFAULTS.get_or_init(Options::default))
}

/// How the process started: stderr as it was then, and the directory.
static START: OnceCell<(GuardedStderr, PathBuf)> = OnceCell::new();

/// The directory in which the process started.
fn start_directory() -> &'static Path {
    START.get().map_or(Path::new(""), |(_, directory)| directory)
}

/// Where reports go.
fn sinks() -> Sinks {
    let (stderr, directory) = START.get().map_or_else(Default::default, |(s, d)| (*s, d.clone()));
    Sinks::of_process(options(), stderr, &directory)
}

/// Reads the environment, and says what is wrong with it.
fn read_options() {
    let _ = START.set((GuardedStderr::new(), std::env::current_dir().unwrap_or_default()));
    let (options, problems) = Options::from_env();
    for problem in problems {
        say(&format!("avmon: {}: {problem}\n", crate::options::VARIABLE));
    }
    if options.help {
        say(&crate::options::help());
    }
    let _ = OPTIONS.set(options);
}

/// Says something on stderr, if that is still the one of the start.
fn say(text: &str) {
    if let Some((stderr, _)) = START.get() {
        let mut stderr = *stderr;
        // A pipe that nobody reads any more must not end the program because of us.
        let _guard = signals::NoBrokenPipe::new();
        let _ = stderr.write_all(text.as_bytes());
    }
}

/// Names the calling thread for reports.
///
/// # Safety
/// `name` is null or a C string.
pub unsafe fn name_thread(name: *const libc::c_char) {
    // SAFETY: the thread's own state; a record lives as long as its thread; the contract for `name`.
    unsafe {
        if let (Some(record), false) = ((*tls::tls()).record.as_ref(), name.is_null()) {
            record::name(record.id, std::ffi::CStr::from_ptr(name).to_bytes());
        }
    }
}
