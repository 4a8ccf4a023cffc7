//! Where the calling thread's stack is.
//!
//! The kernel is asked, not the C library: `pthread_getattr_np` takes memory from the program's heap, and a hook may be in the middle
//! of that.

use super::signals::Blocked;
use super::tls::stack_pointer;
use std::ops::Range;

/// The bounds of the stack that is in use. Uses the heap, hence the blocked signals.
pub fn bounds(_: &Blocked) -> Option<Range<u64>> {
    let maps = maps()?;
    let here = stack_pointer();
    let (mapping, is_main) = maps.lines().find_map(|line| parse(line, here))?;
    if is_main {
        return Some(mapping.end.saturating_sub(most_of_main())..mapping.end);
    }
    // The kernel shows neighbours as one mapping; but a thread's own data is at the upper end of its stack.
    let own = thread_pointer();
    let end = if mapping.contains(&own) { own } else { mapping.end };
    Some(mapping.start..end)
}

/// The memory map of this process. By bare system calls: the functions of the C library are points at which a thread that somebody
/// cancels ends, and with signals blocked it would not even do that, but wait for ever.
fn maps() -> Option<String> {
    let mut text = Vec::new();
    let mut piece = [0u8; 4096];
    // SAFETY: a C string; the descriptor is ours until it is closed; the buffer is as long as is said.
    unsafe {
        let path = c"/proc/self/maps".as_ptr();
        let file = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        loop {
            let read = libc::syscall(libc::SYS_read, file, piece.as_mut_ptr(), piece.len());
            match piece.get(..read.max(0) as usize) {
                None | Some([]) => break,
                Some(bytes) => text.extend_from_slice(bytes),
            }
        }
        libc::syscall(libc::SYS_close, file);
    }
    // Names of files are any bytes.
    Some(String::from_utf8_lossy(&text).into_owned())
}

fn thread_pointer() -> u64 {
    let address;
    // SAFETY: on this platform the first word at the thread pointer is its own address.
    unsafe {
        core::arch::asm!("mov {0}, qword ptr fs:[0]", out(reg) address, options(pure, readonly, nostack, preserves_flags));
    }
    address
}

/// The stack of the main thread grows up to this size.
fn most_of_main() -> u64 {
    /// Where there is no limit, what most systems have as one.
    const USUAL: u64 = 8 << 20;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a resource that every kernel has, and a place for its limit.
    let code = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) };
    if code == 0 && limit.rlim_cur != libc::RLIM_INFINITY { limit.rlim_cur } else { USUAL }
}

/// The mapping of this line, if it contains the address, and whether it is the main thread's stack.
fn parse(line: &str, address: u64) -> Option<(Range<u64>, bool)> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16));
    let range = start.ok()?..end.ok()?;
    range.contains(&address).then(|| (range, rest.ends_with("[stack]")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_finds_its_own_stack() {
        std::thread::Builder::new()
            .stack_size(1 << 20)
            .spawn(|| {
                let local = 0u8;
                let here = (&raw const local).addr() as u64;
                let bounds = bounds(&Blocked::new()).unwrap();
                assert!(bounds.contains(&here));
                let size = bounds.end - bounds.start;
                assert!((1 << 20) - (1 << 14) < size && size < 2 << 20, "{size}");
            })
            .unwrap()
            .join()
            .unwrap();
    }

    #[test]
    fn a_line_is_a_mapping_that_contains_the_address_or_not() {
        let line = "7000-9000 rw-p 00000000 00:00 0                  [stack]";
        assert_eq!(parse(line, 0x8000), Some((0x7000..0x9000, true)));
        assert_eq!(parse(line, 0x9000), None);
        assert_eq!(parse("1000-3000 r-xp 00000000 00:00 0 /bin/some file", 0x1000), Some((0x1000..0x3000, false)));
        assert_eq!(parse("no mapping", 0), None);
    }
}
