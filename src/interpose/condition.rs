//! Condition variables, barriers and semaphores: who goes on because of whom. The waits themselves, in which a thread
//! can be cancelled, are in `shim/wait.c`.

use super::lock::unlock_will_fail;
use super::real::{self, Object};
use crate::event::{Kind, RESUMED};
use crate::replay::schedule::Act;
use crate::runtime::{record, steering};
use libc::{EAGAIN, c_int};

macro_rules! signals {
    ($($name:ident, $steered:expr;)*) => {
        $(pub unsafe extern "C" fn $name(object: Object, pc: u64) -> c_int {
            record(Kind::Signal, 0, object.addr() as u64, pc);
            // SAFETY: the program's own call.
            let result = unsafe { real::$name()(object) };
            $steered(object.addr() as u64);
            result
        })*
    };
}

signals! {
    pthread_cond_signal, |condition| steering::signalled(condition, false);
    pthread_cond_broadcast, |condition| steering::signalled(condition, true);
    cnd_signal, |condition| steering::signalled(condition, false);
    cnd_broadcast, |condition| steering::signalled(condition, true);
    sem_post, steering::released;
}

/// Called by the shim before a wait: the lock is about to be given back. 0: the wait will be refused, since the caller
/// does not own the lock.
pub unsafe extern "C" fn wait_begin(lock: Object, pc: u64) -> c_int {
    // SAFETY: the program's own mutex.
    if unsafe { unlock_will_fail(lock) } {
        return 0;
    }
    record(Kind::Release, 0, lock.addr() as u64, pc);
    1
}

/// Called by the shim when a wait is over. `woken` is 0 after a timeout or a cancellation, `held` is 0 if the lock could
/// not be taken again. What the thread learns by waiting belongs to the transactions that begin after the interference.
pub extern "C" fn wait_end(condition: u64, lock: u64, woken: c_int, held: c_int, pc: u64) {
    record(Kind::Interfere, 0, 0, pc);
    if woken != 0 {
        record(Kind::Await, 0, condition, pc);
    }
    if held != 0 {
        record(Kind::Acquire, RESUMED, lock, pc);
    }
}

/// A wait in a steered run: gives the lock back and lies down. What the thread sleeps on, or null if it cannot wait here.
pub unsafe extern "C" fn steered_begin(condition: Object, lock: Object, is_endless: c_int, pc: u64) -> *const u32 {
    // SAFETY: the program's own mutex.
    if unsafe { unlock_will_fail(lock) } {
        return std::ptr::null();
    }
    let (condition, object) = (condition.addr() as u64, lock.addr() as u64);
    // SAFETY: the program's own mutex, which it holds.
    steering::fall_asleep(condition, object, is_endless != 0, pc, || unsafe {
        real::pthread_mutex_unlock()(lock);
    })
}

/// The wait is over: takes the lock again, when it is this thread's turn to.
pub unsafe extern "C" fn steered_end(condition: u64, lock: Object, woken: c_int, pc: u64) -> c_int {
    steering::wake_up();
    record(Kind::Interfere, 0, 0, pc);
    if woken != 0 {
        record(Kind::Await, 0, condition, pc);
    }
    // SAFETY: the program's own mutex.
    unsafe { super::lock::pthread_mutex_lock(lock, pc) }
}

/// The wait was cancelled: the program's cleanup handlers expect the lock to be held.
pub unsafe extern "C" fn steered_cancelled(lock: Object, pc: u64) {
    steering::wake_up();
    // SAFETY: the program's own mutex.
    unsafe { super::lock::pthread_mutex_lock(lock, pc) };
}

/// 1 if the semaphore was taken; otherwise the thread has to wait as it would have without us.
pub unsafe extern "C" fn steered_semaphore(semaphore: Object, pc: u64) -> c_int {
    /// The word that tells whether other processes use it too, part of glibc's ABI.
    const IS_SHARED: usize = 2;
    // SAFETY: the program's own semaphore, and a sem_t is larger than that.
    let is_private = unsafe { semaphore.cast::<c_int>().add(IS_SHARED).read_volatile() == 0 };
    // SAFETY: as above.
    let attempt = || unsafe { (real::sem_trywait()(semaphore) == 0).then_some(1) };
    steering::take(Act::Await, semaphore.addr() as u64, pc, is_private, attempt).unwrap_or(0)
}

pub unsafe extern "C" fn pthread_barrier_wait(barrier: Object, pc: u64) -> c_int {
    record(Kind::Signal, 0, barrier.addr() as u64, pc);
    steering::outside();
    // SAFETY: the program's own call.
    let result = unsafe { real::pthread_barrier_wait()(barrier) };
    record(Kind::Interfere, 0, 0, pc);
    record(Kind::Await, 0, barrier.addr() as u64, pc);
    result
}

pub unsafe extern "C" fn sem_trywait(semaphore: Object, pc: u64) -> c_int {
    steering::before(Act::Await, semaphore.addr() as u64, pc);
    // SAFETY: the program's own call; errno is always there.
    let (result, code) = unsafe { (real::sem_trywait()(semaphore), *libc::__errno_location()) };
    if result == 0 {
        record(Kind::Await, 0, semaphore.addr() as u64, pc);
    } else if code == EAGAIN {
        record(Kind::Refused, 0, semaphore.addr() as u64, pc);
    }
    result
}
