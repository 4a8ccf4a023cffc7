//! Where threads that take turns in quick succession are woken: all on one processor.
//!
//! To wake a thread on an idle processor takes tens of microseconds, on a virtual machine more, and then the one that woke it goes to sleep. On the same
//! processor the second simply takes over from the first. So a thread whose last wait at the gate was a short one is bound to one processor for as long as it
//! waits again. While it runs the program's code it may run wherever it might before: it never sees the difference, nor does what it starts.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Who waited longer does not take turns quickly.
pub const SHORT: Duration = Duration::from_millis(1);

/// Processors, a bit for each, as the kernel has them. Where there are more, nobody is bound.
type Processors = [u64; 16];

/// The processor, once somebody was there.
static PROCESSOR: AtomicU32 = AtomicU32::new(NOWHERE);
const NOWHERE: u32 = u32::MAX;

/// The calling thread, bound to the processor. It is to be released before it leaves the gate.
pub struct Bound {
    to: Processors,
    before: Processors,
}

/// Binds the calling thread. `None` if it may not run there, or the kernel does not tell.
pub fn bind() -> Option<Bound> {
    let before = allowed()?;
    let to = only(processor()?)?;
    let may_run_there = before.iter().zip(to).any(|(before, to)| before & to != 0);
    (may_run_there && allow(&to)).then_some(Bound { to, before })
}

impl Bound {
    /// Lets the thread run where it might before, unless somebody has said otherwise meanwhile.
    pub fn release(self) {
        if allowed() == Some(self.to) {
            allow(&self.before);
        }
    }
}

fn processor() -> Option<u32> {
    let known = PROCESSOR.load(Ordering::Relaxed);
    if known != NOWHERE {
        return Some(known);
    }
    // SAFETY: no preconditions.
    let here = u32::try_from(unsafe { libc::sched_getcpu() }).ok()?;
    let other = PROCESSOR.compare_exchange(NOWHERE, here, Ordering::Relaxed, Ordering::Relaxed);
    Some(other.err().unwrap_or(here))
}

fn only(processor: u32) -> Option<Processors> {
    let mut set = Processors::default();
    *set.get_mut(processor as usize / 64)? = 1 << (processor % 64);
    Some(set)
}

// By bare system calls: the functions of these names may be somebody else's.

fn allowed() -> Option<Processors> {
    let mut set = Processors::default();
    // SAFETY: the kernel writes no more than this.
    let written = unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, size_of_val(&set), set.as_mut_ptr()) };
    (written > 0).then_some(set)
}

fn allow(set: &Processors) -> bool {
    // SAFETY: the kernel reads as much.
    unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(set), set.as_ptr()) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_released_may_run_where_it_might_before() {
        let before = allowed().unwrap();
        let bound = bind().unwrap();
        assert_eq!(allowed().unwrap().iter().map(|word| word.count_ones()).sum::<u32>(), 1);
        bound.release();
        assert_eq!(allowed().unwrap(), before);
    }

    #[test]
    fn what_somebody_else_said_meanwhile_holds() {
        let before = allowed().unwrap();
        let mut bound = bind().unwrap();
        // As if it had been bound elsewhere.
        bound.to = only(1023).unwrap();
        bound.before = Processors::default();
        bound.release();
        assert_eq!(allowed().unwrap().iter().map(|word| word.count_ones()).sum::<u32>(), 1);
        assert!(allow(&before));
    }

    #[test]
    fn beyond_the_last_bit_nobody_is_bound() {
        assert!(only(1023).is_some());
        assert!(only(1024).is_none());
    }
}
