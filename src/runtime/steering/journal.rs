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
/// For the last line, which tells that there was no room for more.
const RESERVED: usize = 64;

pub struct Journal {
    text: *mut u8,
    length: usize,
    is_full: bool,
}

// SAFETY: the memory is never unmapped, and is this journal's alone.
unsafe impl Send for Journal {}

impl Journal {
    /// Makes the file, which must not be there yet.
    pub fn create(path: &Path) -> io::Result<Journal> {
        std::fs::OpenOptions::new().write(true).create_new(true).open(path)?;
        let file = Slabs::in_file(path, 0);
        match file.map(BYTES).filter(|_| !file.is_short()) {
            Some(slab) => Ok(Journal { text: slab.cast(), length: 0, is_full: false }),
            None => Err(ErrorKind::StorageFull.into()),
        }
    }

    /// Adds a line. If there is no room for it, it and all that come after are left out, and that is told. The file outlives a killed program; who
    /// reads it leaves out half a line.
    pub fn write(&mut self, entry: &Entry) {
        if !self.is_full && !self.append(entry, BYTES - RESERVED) {
            self.is_full = true;
            self.append(&Entry::Full, BYTES);
        }
    }

    /// Adds a line, if it ends before `end`.
    fn append(&mut self, entry: &Entry, end: usize) -> bool {
        let Ok(mut line) = serde_json::to_vec(entry) else { return true };
        line.push(b'\n');
        let has_room = self.length + line.len() <= end.min(BYTES);
        if has_room {
            // SAFETY: there is room in the mapping, which nobody else of this process knows.
            unsafe { self.text.add(self.length).copy_from_nonoverlapping(line.as_ptr(), line.len()) };
            self.length += line.len();
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_journal_says_so() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("journal");
        let mut journal = Journal::create(&path).unwrap();
        for process in 0..20_000 {
            journal.write(&Entry::Other { process });
        }
        let told = crate::replay::journal::read(&std::fs::read(&path).unwrap());
        let (last, others) = told.split_last().unwrap();
        assert_eq!(*last, Entry::Full);
        assert!((0..).map(|process| Entry::Other { process }).zip(others).all(|(one, other)| one == *other));
    }
}
