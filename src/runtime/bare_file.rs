//! Reading files by bare system calls. The functions of the C library are points at which a cancelled thread ends, they allocate for directories, and
//! `close` is one of our own hooks: none of that may happen in the middle of what the program does.

use std::ffi::CString;

/// A file or a directory that is open.
pub struct BareFile(libc::c_int);

impl BareFile {
    pub fn open(path: &str) -> Option<BareFile> {
        let path = CString::new(path).ok()?;
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        // SAFETY: a C string.
        let file = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags) };
        i32::try_from(file).ok().filter(|file| *file >= 0).map(BareFile)
    }

    /// Reads on by `call`: what is there of a file, or entries of a directory. Nothing at its end.
    pub fn next<'a>(&self, call: libc::c_long, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
        // SAFETY: our own file, and a buffer of that length.
        let got = unsafe { libc::syscall(call, self.0, buffer.as_mut_ptr(), buffer.len()) };
        buffer.get(..usize::try_from(got).ok()?)
    }
}

impl Drop for BareFile {
    fn drop(&mut self) {
        // SAFETY: our own file.
        unsafe { libc::syscall(libc::SYS_close, self.0) };
    }
}

/// The text of a file. What is no UTF-8 in it, a path for example, does not hide the rest.
#[must_use]
pub fn read(path: &str) -> Option<String> {
    let file = BareFile::open(path)?;
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        match file.next(libc::SYS_read, &mut buffer)? {
            [] => return Some(String::from_utf8_lossy(&bytes).into_owned()),
            more => bytes.extend_from_slice(more),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_to_its_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "word ".repeat(3000)).unwrap();
        assert_eq!(read(file.path().to_str().unwrap()).unwrap().len(), 15_000);
        assert_eq!((read("/nonexistent"), read("/tmp")), (None, None));
    }
}
