//! What a recording says about its run: small JSON files, each sealed with a checksum of its own text.
//!
//! A sealed text is `{"crc32": C, "content": ...}`, with C over the bytes of the content as they stand: a flipped byte in an
//! address of the module map would otherwise name wrong functions and nobody would know.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::format::VERSION;
use super::source::open_plain;
use super::thin::Dropped;

/// Names of the files, in the directory of a process.
pub const META: &str = "meta.json";
pub const END: &str = "end.json";
pub const STATUS: &str = "status.json";
pub const MODULES: &str = "modules.jsonl";

/// No text of ours is longer; what claims to be is not read into memory.
const MOST_TEXT: u64 = 64 << 20;

/// What is known when the recording begins.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// Of the whole format; see [`super::format`].
    pub version: u32,
    /// Random; every other file carries it too, so that files of two recordings are never mixed up.
    #[serde(with = "hexadecimal")]
    pub trace_id: u64,
    pub pid: u32,
    /// Path of the program's file.
    pub program: String,
    /// The program's name first.
    pub arguments: Vec<String>,
    /// `NAME=value`.
    pub environment: Vec<String>,
    /// The text of `AVMON_OPTIONS`.
    pub options: String,
    /// Milliseconds since 1970 UTC.
    pub start_time_ms: u64,
    /// Of the avmon that recorded.
    pub avmon: String,
    pub chunk_bytes: u32,
    pub chunk_events: u32,
    /// Locks that were initialised before the first thread: address and code location.
    pub early_locks: Vec<(u64, u64)>,
    /// Blocks of memory that were allocated before the first thread, and of which the recording does not tell for want of room.
    pub early_blocks_lost: u64,
}

impl Default for Meta {
    fn default() -> Meta {
        Meta {
            version: VERSION,
            trace_id: 0,
            pid: 0,
            program: String::new(),
            arguments: Vec::new(),
            environment: Vec::new(),
            options: String::new(),
            start_time_ms: 0,
            avmon: env!("CARGO_PKG_VERSION").to_owned(),
            chunk_bytes: crate::runtime::chunk::BYTES as u32,
            chunk_events: crate::runtime::chunk::EVENTS as u32,
            early_locks: Vec::new(),
            early_blocks_lost: 0,
        }
    }
}

/// What the recorded process knows when it ends. Its file is missing if the program was killed, and while it runs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct End {
    pub exit_status: Option<i32>,
    pub signal: Option<i32>,
    pub duration_ms: u64,
    /// What the monitor saw.
    pub totals: Totals,
    /// What was written. The writer fills it in.
    pub written: Counts,
    /// Why the recording stopped before the program did.
    pub stopped: Option<String>,
}

/// What the monitor saw in the whole run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    pub events: u64,
    pub lost: u64,
    pub unseen: u64,
    pub order_gaps: u64,
    pub threads: u64,
    pub locks: u64,
}

/// What a writer wrote, or what is in one stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    pub chunks: u64,
    /// Events that were kept.
    pub events: u64,
    pub dropped: Dropped,
    /// On disk, in streams, journal, index and module maps.
    pub bytes: u64,
    /// Chunks and events that ring mode gave up again. They are counted above as well.
    pub given_up_chunks: u64,
    pub given_up_events: u64,
}

/// How the program ended, as its parent saw it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    pub exit_status: Option<i32>,
    pub signal: Option<i32>,
    pub core_dumped: bool,
    pub duration_ms: u64,
}

/// Which files were mapped where, at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModuleSnapshot {
    /// How many events the monitor had merged when it was taken.
    pub after_events: u64,
    /// The text of `/proc/self/maps`.
    pub maps: String,
    /// Of every mapped ELF file that has one: path and build id in hexadecimal digits.
    pub build_ids: Vec<(String, String)>,
}

/// Why a file of the recording tells nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Unreadable {
    Missing,
    Failed(String),
    /// Not what was written.
    Damaged,
    /// Of another recording.
    Foreign,
    /// In a version of the format that is not known yet.
    Newer(u32),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Missing => f.write_str("is missing"),
            Unreadable::Failed(error) => write!(f, "cannot be read ({error})"),
            Unreadable::Damaged => f.write_str("is damaged"),
            Unreadable::Newer(version) => write!(f, "has the newer format {version}"),
            Unreadable::Foreign => f.write_str("belongs to another recording"),
        }
    }
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Unreadable {
        if error.kind() == io::ErrorKind::NotFound {
            Unreadable::Missing
        } else {
            Unreadable::Failed(error.to_string())
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Sealed<'a> {
    crc32: u32,
    #[serde(borrow)]
    content: &'a RawValue,
}

/// The sealed text of a value, with a newline.
pub(super) fn seal<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    let content = serde_json::value::to_raw_value(value)?;
    let sealed = Sealed { crc32: crc32fast::hash(content.get().as_bytes()), content: &content };
    let mut text = serde_json::to_vec(&sealed)?;
    text.push(b'\n');
    Ok(text)
}

fn unseal<T: DeserializeOwned>(text: &[u8]) -> Option<T> {
    let sealed: Sealed = serde_json::from_slice(text).ok()?;
    let content = sealed.content.get();
    if crc32fast::hash(content.as_bytes()) != sealed.crc32 {
        return None;
    }
    serde_json::from_str(content).ok()
}

fn read_sealed<T: DeserializeOwned>(path: &Path) -> Result<T, Unreadable> {
    let mut text = Vec::new();
    open_plain(path)?.take(MOST_TEXT).read_to_end(&mut text)?;
    unseal(&text).ok_or(Unreadable::Damaged)
}

/// Writes under another name first, so that the file is complete or not there.
fn write_sealed<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    let unfinished = path.with_extension("tmp");
    let result = fs::write(&unfinished, seal(value)?).and_then(|()| fs::rename(&unfinished, path));
    if result.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    result
}

impl Meta {
    /// The one in the directory of a process.
    pub fn read(directory: &Path) -> Result<Meta, Unreadable> {
        // What a newer version says beside its number may have any form.
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let path = directory.join(META);
        match read_sealed(&path)? {
            Version { version } if version > VERSION => Err(Unreadable::Newer(version)),
            Version { .. } => read_sealed(&path),
        }
    }

    pub fn write(&self, directory: &Path) -> io::Result<()> {
        write_sealed(&directory.join(META), self)
    }

    /// A number for [`Meta::trace_id`].
    #[must_use]
    pub fn random_id() -> u64 {
        // Every `RandomState` of a process starts from the system's random numbers, and no two are the same.
        std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), std::process::id())
    }
}

impl End {
    pub fn read(directory: &Path) -> Result<End, Unreadable> {
        read_sealed(&directory.join(END))
    }

    pub fn write(&self, directory: &Path) -> io::Result<()> {
        write_sealed(&directory.join(END), self)
    }
}

impl Status {
    pub fn read(directory: &Path) -> Result<Status, Unreadable> {
        read_sealed(&directory.join(STATUS))
    }

    pub fn write(&self, directory: &Path) -> io::Result<()> {
        write_sealed(&directory.join(STATUS), self)
    }
}

impl ModuleSnapshot {
    /// Takes the build ids of the files that `maps` names.
    #[must_use]
    pub fn new(after_events: u64, maps: &str) -> ModuleSnapshot {
        // Only what has code: other files are the program's data.
        let code = maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|access| access.contains('x')));
        let mut paths: Vec<&str> = code.filter_map(|line| line.find('/').map(|at| &line[at..])).collect();
        paths.sort_unstable();
        paths.dedup();
        let with_id = |path: &str| Some((path.to_owned(), crate::report::image::build_id(Path::new(path))?));
        let build_ids = paths.into_iter().filter_map(with_id).collect();
        ModuleSnapshot { after_events, maps: maps.to_owned(), build_ids }
    }
}

/// The snapshots of a recording, in the order in which they were taken. A damaged one is `None`.
#[derive(Debug)]
pub struct Snapshots {
    lines: Option<BufReader<File>>,
}

impl Snapshots {
    pub fn open(directory: &Path) -> Result<Snapshots, Unreadable> {
        let file = open_plain(&directory.join(MODULES))?;
        Ok(Snapshots { lines: Some(BufReader::new(file)) })
    }
}

impl Iterator for Snapshots {
    type Item = Option<ModuleSnapshot>;

    fn next(&mut self) -> Option<Option<ModuleSnapshot>> {
        let mut line = Vec::new();
        let read = self.lines.as_mut()?.by_ref().take(MOST_TEXT).read_until(b'\n', &mut line);
        match read {
            Ok(0) => None,
            Ok(_) => Some(unseal(&line)),
            Err(_) => {
                self.lines = None;
                Some(None)
            }
        }
    }
}

/// Appends snapshots.
pub(super) struct SnapshotFile {
    path: PathBuf,
    last: String,
}

impl SnapshotFile {
    pub(super) fn create(directory: &Path) -> io::Result<SnapshotFile> {
        let path = directory.join(MODULES);
        File::create(&path)?;
        Ok(SnapshotFile { path, last: String::new() })
    }

    /// Writes the map unless it is the last one again. The bytes that were added.
    pub(super) fn add(&mut self, after_events: u64, maps: &str) -> io::Result<u64> {
        if self.last == maps {
            return Ok(0);
        }
        let line = seal(&ModuleSnapshot::new(after_events, maps))?;
        // Rare, so it is not worth a descriptor.
        File::options().append(true).open(&self.path)?.write_all(&line)?;
        maps.clone_into(&mut self.last);
        Ok(line.len() as u64)
    }
}

/// Numbers as JSON text in hexadecimal: many readers of JSON keep only 53 bits of a number.
mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serializer};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{number:016x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        u64::from_str_radix(&text, 16).map_err(serde::de::Error::custom)
    }
}
