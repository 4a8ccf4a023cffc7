//! The memory that chunks lie in: anonymous, or in a recording a file of the trace, which outlives a killed program.

use super::mapping;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Where new chunks come from.
#[derive(Default)]
pub struct Slabs {
    file: Option<SlabFile>,
}

struct SlabFile {
    path: CString,
    size: AtomicU64,
    /// It could not grow: what was mapped since would not outlive the program.
    is_short: AtomicBool,
}

/// A new stretch of zeroed memory, page-aligned, never unmapped.
pub type Slab = *mut libc::c_void;

impl Slabs {
    /// Slabs in the file at `path`, behind the `size` bytes that it has.
    #[must_use]
    pub fn in_file(path: &Path, size: u64) -> Slabs {
        let path = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
        Slabs { file: Some(SlabFile { path, size: AtomicU64::new(size), is_short: AtomicBool::new(false) }) }
    }

    /// Maps `bytes` more. A file that cannot grow makes way for anonymous memory: the recording goes on.
    pub fn map(&self, bytes: usize) -> Option<Slab> {
        let Some(file) = &self.file else { return map_anonymous(bytes) };
        if !file.is_short.load(Ordering::Relaxed) {
            let slab = file.map(bytes);
            if slab.is_some() {
                return slab;
            }
            file.is_short.store(true, Ordering::Relaxed);
        }
        map_anonymous(bytes)
    }

    /// Whether some chunks are not in the file although they should be.
    pub fn is_short(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.is_short.load(Ordering::Relaxed))
    }
}

impl SlabFile {
    fn map(&self, bytes: usize) -> Option<Slab> {
        let offset = self.size.fetch_add(bytes as u64, Ordering::Relaxed);
        // A file that grows beyond the limit would get the calling thread a deadly signal.
        if offset + bytes as u64 > file_size_limit() {
            return None;
        }
        // By bare system calls: the functions of the C library are points at which a cancelled thread ends, and `close` is one of
        // our own hooks.
        // SAFETY: a C string; the descriptor is ours until it is closed; the mapping is new, and its pages are allocated on the disk
        // before anybody can touch them.
        unsafe {
            let flags = libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW;
            let descriptor = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, self.path.as_ptr(), flags) as libc::c_int;
            if descriptor < 0 {
                return None;
            }
            let slab = if allocate(descriptor, offset, bytes) {
                let (access, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
                mapping::map(std::ptr::null_mut(), bytes, access, shared, descriptor, offset as libc::off_t)
            } else {
                libc::MAP_FAILED
            };
            libc::syscall(libc::SYS_close, descriptor);
            (slab != libc::MAP_FAILED).then_some(slab)
        }
    }
}

/// How large the kernel lets a file of this process become.
pub fn file_size_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: fills the struct.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    limit.rlim_cur
}

/// Gets blocks for a part of the file. Without them, a full disk would show as SIGBUS in the program's own thread.
fn allocate(descriptor: libc::c_int, offset: u64, bytes: usize) -> bool {
    // SAFETY: plain system calls on our descriptor; the buffer is as long as is said.
    unsafe {
        if libc::syscall(libc::SYS_fallocate, descriptor, 0, offset as libc::off_t, bytes as libc::off_t) == 0 {
            return true;
        }
        if *libc::__errno_location() != libc::EOPNOTSUPP {
            return false;
        }
        let zeroes = [0u8; 4096];
        (0..bytes).step_by(zeroes.len()).all(|done| {
            let at = (offset + done as u64) as libc::off_t;
            libc::syscall(libc::SYS_pwrite64, descriptor, zeroes.as_ptr(), zeroes.len(), at) == zeroes.len() as i64
        })
    }
}

fn map_anonymous(bytes: usize) -> Option<Slab> {
    let slab = mapping::map_anonymous(bytes);
    (!slab.is_null()).then_some(slab)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(slab: Slab, bytes: usize, value: u8) {
        // SAFETY: the slab is that long, and the test's own.
        unsafe { std::ptr::write_bytes(slab.cast::<u8>(), value, bytes) };
    }

    #[test]
    fn what_is_written_to_a_slab_is_in_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [9; 4096]).unwrap();
        let slabs = Slabs::in_file(file.path(), 4096);
        fill(slabs.map(8192).unwrap(), 8192, 1);
        fill(slabs.map(4096).unwrap(), 4096, 2);
        let bytes = std::fs::read(file.path()).unwrap();
        assert!(bytes[..4096].iter().all(|&byte| byte == 9));
        assert!(bytes[4096..12288].iter().all(|&byte| byte == 1));
        assert!(bytes[12288..].iter().all(|&byte| byte == 2));
        assert_eq!((bytes.len(), slabs.is_short()), (16384, false));
    }

    #[test]
    fn a_file_that_cannot_grow_makes_way_for_memory() {
        let slabs = Slabs::in_file(Path::new("/nonexistent/chunks"), 0);
        fill(slabs.map(4096).unwrap(), 4096, 1);
        assert!(slabs.is_short());
    }
}
