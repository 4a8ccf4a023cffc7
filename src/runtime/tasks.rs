//! The process's threads as the kernel sees them.

use super::bare_file::{self, BareFile};

/// All threads of the process.
fn ids() -> Option<Vec<u32>> {
    /// Where the kernel's description of an entry has its length, and its name.
    const LENGTH: usize = 16;
    const NAME: usize = 19;
    let directory = BareFile::open("/proc/self/task")?;
    let (mut ids, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let mut entries = directory.next(libc::SYS_getdents64, &mut buffer)?;
        if entries.is_empty() {
            return Some(ids);
        }
        while !entries.is_empty() {
            let length = u16::from_ne_bytes(entries.get(LENGTH..LENGTH + 2)?.try_into().ok()?);
            let (entry, rest) = entries.split_at_checked(usize::from(length.max(1)))?;
            let name = entry.get(NAME..)?.split(|&byte| byte == 0).next()?;
            ids.extend(std::str::from_utf8(name).ok().and_then(|name| name.parse::<u32>().ok()));
            entries = rest;
        }
    }
}

/// Whether this thread of the process has not ended. The main thread stays as a zombie when it ends first.
#[must_use]
pub fn is_running(thread: u32) -> bool {
    let stat = bare_file::read(&format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
    // The state follows the name, which is in parentheses and may contain anything. No stat: it left just now.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Whether every thread of the process has ended but the calling one and `other`.
#[must_use]
pub fn are_gone_but_for(other: u32) -> bool {
    // SAFETY: no preconditions.
    let me = unsafe { libc::gettid() } as u32;
    let Some(ids) = ids() else { return false };
    ids.into_iter().filter(|&id| id != me && id != other).all(|id| !is_running(id))
}

/// The system call that a thread of this process is in. None where the kernel does not tell, or if it is in none.
fn call_of(thread: u32) -> Option<i64> {
    let call = bare_file::read(&format!("/proc/self/task/{thread}/syscall"))?;
    call.split(' ').next()?.parse().ok()
}

/// Whether a thread of this process sleeps until some time, and for nothing else. False where the kernel does not tell.
#[must_use]
pub fn is_napping(thread: u32) -> bool {
    matches!(call_of(thread), Some(libc::SYS_nanosleep | libc::SYS_clock_nanosleep))
}

/// Whether all threads of the process but the calling one and `looking` are known, and wait for each other. False where the kernel does not tell.
#[must_use]
pub fn are_known_and_wait(known: &[u32], looking: u32) -> bool {
    // SAFETY: no preconditions.
    let me = unsafe { libc::gettid() } as u32;
    let Some(ids) = ids() else { return false };
    let waits = |id: &u32| if known.contains(id) { call_of(*id) == Some(libc::SYS_futex) } else { !is_running(*id) };
    ids.iter().filter(|&&id| id != me && id != looking).all(waits)
}

/// Whether the program handles a signal that may come at any time. True where the kernel does not tell.
#[must_use]
pub fn handles_signals() -> bool {
    // Those that a thread causes itself, and the two that the C library keeps for itself.
    const NEVER_FROM_OUTSIDE: [libc::c_int; 9] =
        [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT, libc::SIGSYS, 32, 33];
    let status = bare_file::read("/proc/self/status").unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(u64::MAX);
    let harmless = NEVER_FROM_OUTSIDE.iter().fold(0, |mask, signal| mask | 1u64 << (signal - 1));
    caught & !harmless != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_runs_until_it_has_ended() {
        let (tell, told) = std::sync::mpsc::channel();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            // SAFETY: no preconditions.
            tell.send(unsafe { libc::gettid() } as u32).unwrap();
            let _ = stopped.recv();
        });
        let id = told.recv().unwrap();
        assert!(is_running(id) && ids().unwrap().contains(&id));
        assert!(!are_gone_but_for(0));
        drop(stop);
        thread.join().unwrap();
        while is_running(id) {
            std::thread::yield_now();
        }
    }
}
