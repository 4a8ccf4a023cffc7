//! Where the calling thread's stack is.

use super::tls::stack_pointer;
use std::ops::Range;

/// For a thread that was just made: what the C library knows. It asks for memory of the program's heap, so a hook that may be in the
/// middle of that heap must not call this.
pub fn of_created_thread() -> Option<Range<u64>> {
    // SAFETY: the attributes are initialised by the first call and destroyed by the last.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return None;
        }
        let (mut start, mut size) = (std::ptr::null_mut(), 0);
        let code = libc::pthread_attr_getstack(&raw const attributes, &raw mut start, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        let start = start.addr() as u64;
        (code == 0).then(|| start..start + size as u64)
    }
}

/// For any thread: what the kernel knows.
pub fn of_any_thread() -> Option<Range<u64>> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let (mapping, name) = find(&maps, stack_pointer())?;
    let is_main = name == "[stack]";
    Some(if is_main { mapping.end.saturating_sub(most_of_main())..mapping.end } else { mapping })
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

/// The mapping that contains this address, and its name.
fn find(maps: &str, address: u64) -> Option<(Range<u64>, &str)> {
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16));
        let range = start.ok()?..end.ok()?;
        range.contains(&address).then(|| (range, rest.rsplit(' ').next().unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_lead_to_the_stack_that_is_in_use() {
        std::thread::spawn(|| {
            let local = 0u8;
            let here = (&raw const local).addr() as u64;
            let (created, any) = (of_created_thread().unwrap(), of_any_thread().unwrap());
            assert!(created.contains(&here) && any.contains(&here));
            assert!(any.end >= created.end, "{any:x?} {created:x?}");
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_mapping_is_found_with_its_name() {
        let maps = "1000-3000 r-xp 00000000 00:00 0 /bin/some file\n7000-9000 rw-p 00000000 00:00 0 [stack]\n";
        assert_eq!(find(maps, 0x8000), Some((0x7000..0x9000, "[stack]")));
        assert_eq!(find(maps, 0x3000), None);
    }
}
