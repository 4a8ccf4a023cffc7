//! The order numbers: one counter per stripe, and a lock beside it for operations that must happen together with the taking of
//! their number.
//!
//! Such an operation is a single instruction of the program's, so the lock is held for nanoseconds, unless its holder loses the
//! processor or is torn out of the hook. Nobody waits for one that is gone, nor for ever: who has waited for `LONGEST_WAIT` takes the
//! lock over. What may be lost by that is the right order of two operations, never the program's progress.

use super::record::Errno;
use super::signals::Blocked;
use crate::event::STRIPES;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Alone on its cache line.
#[repr(align(64))]
struct Stripe {
    next: AtomicU64,
    /// Who holds the lock: the kernel's id of the thread, or 0.
    holder: AtomicU32,
}

static STRIPE: [Stripe; STRIPES] = [const { Stripe { next: AtomicU64::new(0), holder: AtomicU32::new(0) } }; STRIPES];

static TAKEN_OVER: AtomicU64 = AtomicU64::new(0);

/// A thread that is there but does not get its turn for so long is not likely to be in a hook at all. On a busy machine turns
/// are tens of milliseconds apart.
const LONGEST_WAIT: Duration = Duration::from_secs(2);
const SPINS: u32 = 64;
const YIELDS: u32 = 64;
const PAUSE: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 50_000 };

#[inline(always)]
fn at(stripe: usize) -> &'static Stripe {
    &STRIPE[stripe % STRIPES]
}

/// The number that will be taken next.
#[inline(always)]
#[must_use]
pub fn next(stripe: usize) -> u64 {
    at(stripe).next.load(Ordering::Relaxed)
}

/// Takes a number. The real operation's own order carries this one: an acquire is numbered after it, a release before.
#[inline(always)]
#[must_use]
pub fn take(stripe: usize) -> u64 {
    at(stripe).next.fetch_add(1, Ordering::AcqRel)
}

/// Does something and takes its number, with nobody else doing so on this stripe in between. `me` is the kernel's id of this thread.
#[inline(always)]
pub fn take_with<R>(stripe: usize, me: u32, work: impl FnOnce() -> R) -> (R, u64) {
    let holder = &at(stripe).holder;
    if holder.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_err() {
        wait_for(holder, me);
    }
    let result = work();
    let number = take(stripe);
    // Not if somebody lost patience with us.
    if holder.load(Ordering::Relaxed) == me {
        holder.store(0, Ordering::Release);
    }
    (result, number)
}

/// By the C ABI, which tells the compiler that nothing comes back by unwinding; see `record::make_room`.
#[cold]
#[inline(never)]
extern "C" fn wait_for(holder: &AtomicU32, me: u32) {
    for _ in 0..SPINS {
        if is_taken(holder, me) {
            return;
        }
        std::hint::spin_loop();
    }
    // What follows is more than instructions, and must not be torn by an asynchronous cancellation.
    let mut blocked = ManuallyDrop::new(Blocked::new());
    wait_undisturbed(holder, me);
    // SAFETY: not used again.
    unsafe { ManuallyDrop::drop(&mut blocked) };
}

/// Takes the lock if nobody has it.
#[inline(always)]
fn is_taken(holder: &AtomicU32, me: u32) -> bool {
    holder.load(Ordering::Relaxed) == 0
        && holder.compare_exchange_weak(0, me, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

fn wait_undisturbed(holder: &AtomicU32, me: u32) {
    let mut since = None;
    for round in 0.. {
        if is_taken(holder, me) {
            return;
        }
        let seen = holder.load(Ordering::Relaxed);
        if seen == 0 || round < YIELDS {
            std::thread::yield_now();
        } else if since.get_or_insert_with(Instant::now).elapsed() < LONGEST_WAIT && seen != me && is_alive(seen) {
            pause();
        } else if holder.compare_exchange(seen, me, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            TAKEN_OVER.fetch_add(1, Ordering::Relaxed);
            return;
        }
    }
}

/// By a bare system call: the C library's is a point at which a cancelled thread ends, and an atomic operation is none.
fn pause() {
    let errno = Errno::save();
    // SAFETY: an initialised time; what would be left of it is not asked for.
    unsafe { libc::syscall(libc::SYS_nanosleep, &PAUSE, std::ptr::null_mut::<libc::timespec>()) };
    errno.restore();
}

/// Whether there is a thread with this kernel id in this process.
fn is_alive(thread: u32) -> bool {
    let errno = Errno::save();
    // SAFETY: signal 0 is none: only whether it could be sent is looked at.
    let code = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, 0) };
    errno.restore();
    code == 0
}

/// How often a lock was taken over from a holder that did not give it back.
#[must_use]
pub fn taken_over() -> u64 {
    TAKEN_OVER.load(Ordering::Relaxed)
}

/// Starts again, in the child of a fork: the holders are gone.
pub fn reset() {
    for stripe in &STRIPE {
        stripe.next.store(0, Ordering::Relaxed);
        stripe.holder.store(0, Ordering::Relaxed);
    }
    TAKEN_OVER.store(0, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_with_a_number_is_done_in_its_order() {
        const STRIPE: usize = 17;
        const TURNS: u64 = 20_000;
        let done = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let done = &done;
                scope.spawn(move || {
                    // The real id: a lock is taken over from a holder that is not there.
                    // SAFETY: asks for nothing but a number.
                    let me = unsafe { libc::gettid() } as u32;
                    for _ in 0..TURNS {
                        // Two steps: another thread in between would show.
                        let (seen, number) = take_with(STRIPE, me, || {
                            let seen = done.load(Ordering::Relaxed);
                            done.store(seen + 1, Ordering::Relaxed);
                            seen
                        });
                        assert_eq!(seen, number);
                    }
                });
            }
        });
        assert_eq!(next(STRIPE), 4 * TURNS);
    }

    #[test]
    fn a_lock_that_is_never_given_back_is_taken_over() {
        const STRIPE: usize = 18;
        // Larger than any id that the kernel gives.
        const NOBODY: u32 = i32::MAX as u32;
        at(STRIPE).holder.store(NOBODY, Ordering::Relaxed);
        assert_eq!(take_with(STRIPE, 1, || "done"), ("done", 0));
        assert_eq!(taken_over(), 1);
        assert_eq!(at(STRIPE).holder.load(Ordering::Relaxed), 0);
    }
}
