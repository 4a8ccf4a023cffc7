//! The process's threads as the kernel sees them.

use super::bare_file::{self, BareFile};
use std::time::Duration;

/// The kernel's id of the calling thread. The program may be told another one.
#[must_use]
pub fn me() -> u32 {
    // SAFETY: no preconditions.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

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

/// The letter by which the kernel calls the state of a thread of this process. None if it has left.
fn state_of(thread: u32) -> Option<char> {
    let stat = bare_file::read(&format!("/proc/self/task/{thread}/stat"))?;
    // The state follows the name, which is in parentheses and may contain anything.
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
}

/// Whether this thread of the process has not ended. The main thread stays as a zombie when it ends first.
#[must_use]
pub fn is_running(thread: u32) -> bool {
    state_of(thread).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Whether a thread is in the middle of its instructions: it runs, would run if it had a processor, waits for a page, or was stopped.
#[must_use]
pub fn is_held_up(thread: u32) -> bool {
    state_of(thread).is_some_and(|state| matches!(state, 'R' | 'D' | 'T' | 't'))
}

/// For how long a thread of this process had a processor. None if it has left.
#[must_use]
pub fn time_run(thread: u32) -> Option<Duration> {
    /// What the kernel makes of a thread's id to have the number of its clock: the time that it was scheduled, and of one thread only.
    const SCHEDULED_OF_THREAD: libc::clockid_t = 6;
    let clock = !(thread as libc::clockid_t) << 3 | SCHEDULED_OF_THREAD;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for a time.
    let code = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &raw mut time) };
    (code == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// Whether every thread of the process has ended but the calling one and `other`.
#[must_use]
pub fn are_gone_but_for(other: u32) -> bool {
    let me = me();
    let Some(ids) = ids() else { return false };
    ids.into_iter().filter(|&id| id != me && id != other).all(|id| !is_running(id))
}

/// The system call that a thread of this process is in. None where the kernel does not tell, or if it is in none.
fn call_of(thread: u32) -> Option<i64> {
    let call = bare_file::read(&format!("/proc/self/task/{thread}/syscall"))?;
    call.split(' ').next()?.parse().ok()
}

/// Whether a thread of this process waits until another one wakes it, with no limit of time. False where the kernel does not tell.
#[must_use]
pub fn waits_for_ever(thread: u32) -> bool {
    bare_file::read(&format!("/proc/self/task/{thread}/syscall")).is_some_and(|call| is_endless_wait(&call))
}

/// By the number of a call and what it was given: the word, what is to be done with it, the value, and until when.
fn is_endless_wait(call: &str) -> bool {
    const WAITS: [i64; 2] = [libc::FUTEX_WAIT as i64, libc::FUTEX_WAIT_BITSET as i64];
    const OPTIONS: i64 = (libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) as i64;
    let mut words = call.split(' ');
    let is_wait = words.next().and_then(|word| word.parse().ok()) == Some(libc::SYS_futex);
    let mut given = words.map(|word| i64::from_str_radix(word.trim_start_matches("0x"), 16).ok());
    let what = given.nth(1).flatten();
    is_wait && what.is_some_and(|what| WAITS.contains(&(what & !OPTIONS))) && given.nth(1) == Some(Some(0))
}

/// Whether a thread of this process sleeps until some time, and for nothing else. False where the kernel does not tell.
#[must_use]
pub fn is_napping(thread: u32) -> bool {
    matches!(call_of(thread), Some(libc::SYS_nanosleep | libc::SYS_clock_nanosleep))
}

/// Whether all threads of the process but the calling one and `looking` are known, and wait for each other. False where the kernel does not tell.
#[must_use]
pub fn are_known_and_wait(known: &[u32], looking: u32) -> bool {
    let me = me();
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
    use std::time::Instant;

    #[test]
    fn a_thread_runs_until_it_has_ended() {
        let (tell, told) = std::sync::mpsc::channel();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(me()).unwrap();
            let _ = stopped.recv();
        });
        let id = told.recv().unwrap();
        assert!(is_running(id) && ids().unwrap().contains(&id));
        assert!(time_run(id).is_some());
        assert!(!are_gone_but_for(0));
        drop(stop);
        thread.join().unwrap();
        while is_running(id) {
            std::thread::yield_now();
        }
        assert_eq!(time_run(id), None);
    }

    #[test]
    fn a_wait_with_a_limit_is_not_endless() {
        assert!(is_endless_wait("202 0x7ffff7f79b00 0x80 0x0 0x0 0x0 0x0 0x7ffff72db9a8 0x7ffff751f829"));
        assert!(is_endless_wait("202 0x7ffff7f79b00 0x189 0x0 0x0 0x0 0xffffffff 0x7ffff72db9a8 0x7ffff751f829"));
        assert!(!is_endless_wait("202 0x7ffff7f79b00 0x80 0x0 0x7ffff72db9d8 0x0 0x0 0x7ffff72db9a8 0x7ffff751f829"));
        assert!(!is_endless_wait("202 0x7ffff7f79b00 0x81 0x1 0x0 0x0 0x0 0x7ffff72db9a8 0x7ffff751f829"));
        assert!(!is_endless_wait("0 0x3 0x0 0x1 0x0 0x0 0x0 0x7fffffffdee0 0x7ffff75162ec"));
        assert!(!is_endless_wait("running"));
    }

    #[test]
    fn a_thread_that_sleeps_is_not_held_up() {
        let own = me();
        let before = time_run(own).unwrap();
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(5) {}
        assert!(is_held_up(own) && time_run(own).unwrap() > before);
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let (tell, told) = std::sync::mpsc::channel();
            scope.spawn(move || {
                tell.send(me()).unwrap();
                let _ = stopped.recv();
            });
            let id = told.recv().unwrap();
            while is_held_up(id) {
                std::thread::yield_now();
            }
            assert!(is_running(id));
            drop(stop);
        });
    }
}
