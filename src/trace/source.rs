//! Reads files that may be damaged, huge, or change under the reader.
//!
//! Plain reads, no mapping: a file that shrinks under a mapping raises SIGBUS. And no open descriptor between two reads: a
//! recording may have more threads than a process may have open files, and to open a file again takes a
//! microsecond or two per block.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes that are read at once.
const BLOCK: usize = 16 * 1024;

/// Opens a plain file. To open a pipe would wait for its writer, and a device has no end.
pub fn open_plain(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file"));
    }
    File::open(path)
}

/// A file, as long as it was when it was first looked at.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    size: u64,
    block: Vec<u8>,
    /// Where in the file the block begins.
    block_at: u64,
}

impl Source {
    pub fn open(path: PathBuf) -> io::Result<Source> {
        let size = open_plain(&path)?.metadata()?.len();
        Ok(Source { path, size, block: Vec::new(), block_at: 0 })
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// `length` bytes at `at`; fewer where the file ends or cannot be read.
    pub fn bytes(&mut self, at: u64, length: usize) -> &[u8] {
        let wanted = (length as u64).min(self.size.saturating_sub(at)) as usize;
        if wanted == 0 {
            return &[];
        }
        let has = |source: &Source| {
            let from = at.checked_sub(source.block_at)?;
            let from = usize::try_from(from).ok().filter(|&from| from <= source.block.len())?;
            Some((from, source.block.len() - from))
        };
        if has(self).is_none_or(|(_, length)| length < wanted) {
            self.load(at, wanted);
        }
        let (from, length) = has(self).unwrap_or_default();
        &self.block[from..from + length.min(wanted)]
    }

    /// `N` bytes at `at`, if there are so many.
    pub fn array<const N: usize>(&mut self, at: u64) -> Option<&[u8; N]> {
        self.bytes(at, N).first_chunk()
    }

    fn load(&mut self, at: u64, wanted: usize) {
        let length = (wanted.max(BLOCK) as u64).min(self.size - at) as usize;
        self.block.resize(length, 0);
        self.block_at = at;
        let mut filled = 0;
        if let Ok(file) = open_plain(&self.path) {
            while filled < length {
                match file.read_at(&mut self.block[filled..], at + filled as u64) {
                    Ok(0) => break,
                    Ok(read) => filled += read,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
        }
        self.block.truncate(filled);
    }

    /// The first place at or after `at` that is not in a hole of the file. Where that is unknown, `at`.
    pub fn data_from(&self, at: u64) -> u64 {
        let Ok(file) = open_plain(&self.path) else { return at };
        // SAFETY: a question about a descriptor that is open.
        let found = unsafe { libc::lseek(file.as_raw_fd(), at as i64, libc::SEEK_DATA) };
        let after_the_last = found == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::ENXIO);
        if after_the_last { self.size.max(at) } else { u64::try_from(found).unwrap_or(at).max(at) }
    }
}
