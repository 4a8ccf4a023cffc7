//! The process's threads as the kernel sees them.

/// Whether this thread of the process has not ended. The main thread stays as a zombie when it ends first.
#[must_use]
pub fn is_running(thread: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
    // The state follows the name, which is in parentheses and may contain anything. No stat: it left just now.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Whether every thread of the process has ended but the calling one and `other`.
#[must_use]
pub fn are_gone_but_for(other: u32) -> bool {
    // SAFETY: no preconditions.
    let me = unsafe { libc::gettid() } as u32;
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return false };
    let ids = tasks.flatten().filter_map(|task| task.file_name().to_str()?.parse().ok());
    ids.filter(|&id| id != me && id != other).all(|id| !is_running(id))
}

/// Whether a thread of this process sleeps until some time, and for nothing else. False where the kernel does not tell.
pub fn is_napping(thread: u32) -> bool {
    let call = std::fs::read_to_string(format!("/proc/self/task/{thread}/syscall")).unwrap_or_default();
    let number = call.split(' ').next().and_then(|number| number.parse::<i64>().ok());
    matches!(number, Some(libc::SYS_nanosleep | libc::SYS_clock_nanosleep))
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
        assert!(is_running(id));
        assert!(!are_gone_but_for(0));
        drop(stop);
        thread.join().unwrap();
        while is_running(id) {
            std::thread::yield_now();
        }
    }
}
