//! What the gate tells, in a file that lies in this process's memory.
//!
//! A file that is written to needs a descriptor. In the program's table that would take a number that the program may expect for its own next file; and a
//! program that closes all descriptors it does not know gets that number for a file of its own, which would then be written to.

use std::io::{self, ErrorKind};
use std::path::Path;

use crate::replay::journal::Entry;
use crate::runtime::slabs::Slabs;

/// Some thousand lines. The longest tells of all threads in a deadlock.
const BYTES: usize = 1 << 18;

pub struct Journal {
    text: *mut u8,
    length: usize,
}

// SAFETY: the memory is never unmapped, and is this journal's alone.
unsafe impl Send for Journal {}

impl Journal {
    /// Makes the file, which must not be there yet.
    pub fn create(path: &Path) -> io::Result<Journal> {
        std::fs::OpenOptions::new().write(true).create_new(true).open(path)?;
        let file = Slabs::in_file(path, 0);
        match file.map(BYTES).filter(|_| !file.is_short()) {
            Some(slab) => Ok(Journal { text: slab.cast(), length: 0 }),
            None => Err(ErrorKind::StorageFull.into()),
        }
    }

    /// Adds a line, unless there is no room for it. The file outlives a killed program; who reads it leaves out half a line.
    pub fn write(&mut self, entry: &Entry) {
        let Ok(mut line) = serde_json::to_vec(entry) else { return };
        line.push(b'\n');
        if line.len() <= BYTES - self.length {
            // SAFETY: there is room in the mapping, which nobody else of this process knows.
            unsafe { self.text.add(self.length).copy_from_nonoverlapping(line.as_ptr(), line.len()) };
            self.length += line.len();
        }
    }
}
