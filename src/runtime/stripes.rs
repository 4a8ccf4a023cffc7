//! The order numbers: one counter per stripe, and a lock beside it for operations that must happen together with the taking of
//! their number.
//!
//! Such an operation is a single instruction of the program's, so the lock is held for nanoseconds, unless its holder loses the
//! processor or is torn out of the hook. Nobody waits for one that is gone, nor for ever: who has waited for `PATIENCE` for a holder
//! that had its turn meanwhile, or sleeps, takes the lock over. What may be lost by that is the right order of two operations, never
//! the program's progress.

use super::record::Errno;
use super::signals::Blocked;
use super::{descriptors, tasks};
use crate::event::STRIPES;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Alone on its cache line.
#[repr(align(64))]
struct Stripe {
    next: AtomicU64,
    /// Who holds the lock, as a [`Holding`], or 0.
    holder: AtomicU64,
}

static STRIPE: [Stripe; STRIPES] = [const { Stripe { next: AtomicU64::new(0), holder: AtomicU64::new(0) } }; STRIPES];

/// One time that a thread holds a lock: the kernel's id of the thread, and above it the number that was next. A thread that holds the lock again has
/// taken a number since, so that who waits can tell that the lock was given back in between.
type Holding = u64;

fn thread_of(holding: Holding) -> u32 {
    holding as u32
}

static TAKEN_OVER: AtomicU64 = AtomicU64::new(0);

/// On a busy machine turns are tens of milliseconds apart.
const PATIENCE: Duration = Duration::from_secs(2);
/// A thread that ran for so long would have given the lock back, if it were in a hook at all.
const TURN: Duration = Duration::from_millis(1);
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
    let holding = u64::from(me) | next(stripe) << u32::BITS;
    if holder.compare_exchange(0, holding, Ordering::Acquire, Ordering::Relaxed).is_err() {
        wait_for(holder, holding);
    }
    let result = work();
    let number = take(stripe);
    // Not if somebody lost patience with us.
    if holder.load(Ordering::Relaxed) == holding {
        holder.store(0, Ordering::Release);
    }
    (result, number)
}

/// By the C ABI, which tells the compiler that nothing comes back by unwinding; see `record::make_room`.
#[cold]
#[inline(never)]
extern "C" fn wait_for(holder: &AtomicU64, ours: Holding) {
    for _ in 0..SPINS {
        if is_taken(holder, ours) {
            return;
        }
        std::hint::spin_loop();
    }
    // What follows is more than instructions, and must not be torn by an asynchronous cancellation.
    let errno = Errno::save();
    let mut blocked = ManuallyDrop::new(Blocked::new());
    wait_undisturbed(holder, ours);
    // SAFETY: not used again.
    unsafe { ManuallyDrop::drop(&mut blocked) };
    errno.restore();
}

/// Takes the lock if nobody has it.
#[inline(always)]
fn is_taken(holder: &AtomicU64, ours: Holding) -> bool {
    holder.load(Ordering::Relaxed) == 0
        && holder.compare_exchange_weak(0, ours, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// By the C ABI for the same reason: it may panic, and the frame above must not have anything to do then.
#[inline(never)]
extern "C" fn wait_undisturbed(holder: &AtomicU64, ours: Holding) {
    let mut wait = None;
    for round in 0.. {
        if is_taken(holder, ours) {
            return;
        }
        let seen = holder.load(Ordering::Relaxed);
        if seen == 0 || round < YIELDS {
            std::thread::yield_now();
            continue;
        }
        let wait = wait.get_or_insert_with(|| Wait::begin(seen));
        if wait.holding != seen {
            *wait = Wait::begin(seen);
        }
        if wait.is_worth_it(ours) {
            pause();
        } else if holder.compare_exchange(seen, ours, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            TAKEN_OVER.fetch_add(1, Ordering::Relaxed);
            return;
        }
    }
}

/// A wait for the end of one holding.
struct Wait {
    holding: Holding,
    since: Instant,
    /// How long the holder had run by then.
    had_run: Option<Duration>,
}

impl Wait {
    fn begin(holding: Holding) -> Wait {
        Wait { holding, since: Instant::now(), had_run: tasks::time_run(thread_of(holding)) }
    }

    /// Whether the holder is likely to give the lock back.
    fn is_worth_it(&mut self, ours: Holding) -> bool {
        let thread = thread_of(self.holding);
        if thread == thread_of(ours) {
            return false;
        }
        let (Some(before), Some(now)) = (self.had_run, tasks::time_run(thread)) else { return false };
        if self.since.elapsed() < PATIENCE {
            return true;
        }
        let has_had_no_turn = now.saturating_sub(before) < TURN && descriptors::aside(|| tasks::is_held_up(thread));
        if has_had_no_turn {
            self.since = Instant::now();
        }
        has_had_no_turn
    }
}

/// By a bare system call: the C library's is a point at which a cancelled thread ends, and an atomic operation is none.
fn pause() {
    // SAFETY: an initialised time; what would be left of it is not asked for.
    unsafe { libc::syscall(libc::SYS_nanosleep, &PAUSE, std::ptr::null_mut::<libc::timespec>()) };
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
    use std::sync::mpsc;

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
                    let me = tasks::me();
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

    /// Runs `work` with the kernel's id of a thread that does `body` until it is told to end.
    fn beside(body: impl Fn(&mpsc::Receiver<()>) + Send, work: impl FnOnce(u32)) {
        let (tell, told) = mpsc::channel();
        let (stop, stopped) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                tell.send(tasks::me()).unwrap();
                body(&stopped);
            });
            work(told.recv().unwrap());
            drop(stop);
        });
    }

    fn sleeps(stopped: &mpsc::Receiver<()>) {
        let _ = stopped.recv();
    }

    fn runs(stopped: &mpsc::Receiver<()>) {
        while stopped.try_recv() == Err(mpsc::TryRecvError::Empty) {}
    }

    #[test]
    fn a_lock_that_is_never_given_back_is_taken_over() {
        // Larger than any id that the kernel gives.
        const NOBODY: u32 = i32::MAX as u32;
        let is_taken_over = |stripe, thread: u32| {
            at(stripe).holder.store(u64::from(thread), Ordering::Relaxed);
            let before = taken_over();
            assert_eq!(take_with(stripe, 1, || "done"), ("done", 0));
            assert_eq!(at(stripe).holder.load(Ordering::Relaxed), 0);
            taken_over() > before
        };
        assert!(is_taken_over(18, NOBODY));
        beside(sleeps, |thread| assert!(is_taken_over(19, thread)));
        beside(runs, |thread| assert!(is_taken_over(20, thread)));
    }

    #[test]
    fn a_holder_that_has_had_no_turn_is_waited_for() {
        let after_long = |thread: u32, had_run| {
            let since = Instant::now().checked_sub(PATIENCE).unwrap();
            Wait { holding: u64::from(thread), since, had_run: Some(had_run) }.is_worth_it(1)
        };
        beside(runs, |thread| {
            while tasks::time_run(thread).unwrap() < 2 * TURN {
                std::thread::yield_now();
            }
            assert!(!after_long(thread, Duration::ZERO), "it ran, and did not give the lock back");
            assert!(after_long(thread, Duration::MAX), "it would have run, but could not");
        });
        beside(sleeps, |thread| {
            while tasks::is_held_up(thread) {
                std::thread::yield_now();
            }
            assert!(!after_long(thread, Duration::MAX), "it sleeps, and not in a hook");
        });
    }
}
