//! Where the calling thread's stack is.
//!
//! The kernel is asked, not the C library: `pthread_getattr_np` takes memory from the program's heap, and a hook may be in the middle
//! of that.

use super::signals::Blocked;
use super::tls::stack_pointer;
use std::ops::Range;

/// What is known of a new thread's stack when it is created.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Given {
    /// 0: unknown.
    pub size: u64,
    /// Where the program put it; 0: nowhere in particular.
    pub address: u64,
}

impl Given {
    /// What the attributes of a thread say, or the defaults.
    ///
    /// # Safety
    /// `attributes` is null, or initialised.
    #[must_use]
    pub unsafe fn by(attributes: *const libc::pthread_attr_t) -> Given {
        // SAFETY: the contract; what is asked with are attributes that were initialised, and places for the answers.
        unsafe {
            let mut defaults: libc::pthread_attr_t = std::mem::zeroed();
            let (mut address, mut size) = (std::ptr::null_mut(), 0);
            if attributes.is_null() {
                libc::pthread_attr_init(&raw mut defaults);
                libc::pthread_attr_getstacksize(&raw const defaults, &raw mut size);
                libc::pthread_attr_destroy(&raw mut defaults);
            } else {
                libc::pthread_attr_getstack(attributes, &raw mut address, &raw mut size);
                libc::pthread_attr_getstacksize(attributes, &raw mut size);
            }
            // Without a stack of its own, the answer is where one of no address would begin: below 0.
            let address = address.addr() as u64;
            Given { size: size as u64, address: if address < 1 << 47 { address } else { 0 } }
        }
    }
}

/// The bounds of the stack that is in use, for a thread that was created like this. What is not surely its stack is left out: memory of
/// others may lie right beside it, in the same mapping. Uses the heap, hence the blocked signals.
pub fn bounds(given: Given, _: &Blocked) -> Option<Range<u64>> {
    let here = stack_pointer();
    if given.address != 0 {
        let range = given.address..given.address.saturating_add(given.size);
        return range.contains(&here).then_some(range);
    }
    let maps = maps()?;
    let (mapping, is_main) = maps.lines().find_map(|line| parse(line, here))?;
    if is_main {
        let below = maps.lines().filter_map(parse_range).map(|range| range.end).filter(|end| *end <= mapping.start);
        let lowest = mapping.end.saturating_sub(most_of_main()).max(below.max().unwrap_or(0));
        return Some(lowest..mapping.end);
    }
    // The C library keeps a thread's own data at the upper end of its stack, in less than a page.
    let own = thread_pointer();
    if given.size == 0 || !mapping.contains(&own) {
        return None;
    }
    let start = own.saturating_sub(given.size).saturating_add(4096).max(mapping.start);
    (start..own).contains(&here).then_some(start..own)
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
    parse_range(line).filter(|range| range.contains(&address)).map(|range| (range, line.ends_with("[stack]")))
}

fn parse_range(line: &str) -> Option<Range<u64>> {
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16));
    Some(start.ok()?..end.ok()?)
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
                let bounds = bounds(Given { size: 1 << 20, address: 0 }, &Blocked::new()).unwrap();
                assert!(bounds.contains(&here));
                let size = bounds.end - bounds.start;
                assert!((1 << 20) - (1 << 14) < size && size < 1 << 20, "{size}");
            })
            .unwrap()
            .join()
            .unwrap();
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        std::thread::spawn(|| assert_eq!(bounds(Given::default(), &Blocked::new()), None)).join().unwrap();
        let elsewhere = Given { size: 4096, address: 0x1000 };
        assert_eq!(bounds(elsewhere, &Blocked::new()), None);
    }

    #[test]
    fn attributes_tell_the_stack() {
        // SAFETY: null stands for the defaults; the attributes are initialised, and the memory is large and aligned enough.
        unsafe {
            let usual = Given::by(std::ptr::null());
            assert!(usual.size >= 1 << 16 && usual.address == 0, "{usual:?}");
            let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
            libc::pthread_attr_init(&raw mut attributes);
            libc::pthread_attr_setstacksize(&raw mut attributes, 1 << 17);
            assert_eq!(Given::by(&raw const attributes), Given { size: 1 << 17, address: 0 });
            let memory = std::ptr::without_provenance_mut(0x7000_0000);
            libc::pthread_attr_setstack(&raw mut attributes, memory, 1 << 18);
            assert_eq!(Given::by(&raw const attributes), Given { size: 1 << 18, address: 0x7000_0000 });
            libc::pthread_attr_destroy(&raw mut attributes);
        }
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
