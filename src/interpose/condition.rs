//! Condition variables, barriers and semaphores: who goes on because of whom. The waits themselves, in which a thread
//! can be cancelled, are in `shim/wait.c`.

use super::lock::unlock_will_fail;
use super::real::{self, Object};
use crate::event::{Kind, RESUMED};
use crate::runtime::record;
use libc::{EAGAIN, c_int};

macro_rules! signals {
    ($($name:ident;)*) => {
        $(pub unsafe extern "C" fn $name(object: Object, pc: u64) -> c_int {
            record(Kind::Signal, 0, object.addr() as u64, pc);
            // SAFETY: the program's own call.
            unsafe { real::$name()(object) }
        })*
    };
}

signals! {
    pthread_cond_signal;
    pthread_cond_broadcast;
    cnd_signal;
    cnd_broadcast;
    sem_post;
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

pub unsafe extern "C" fn pthread_barrier_wait(barrier: Object, pc: u64) -> c_int {
    record(Kind::Signal, 0, barrier.addr() as u64, pc);
    // SAFETY: the program's own call.
    let result = unsafe { real::pthread_barrier_wait()(barrier) };
    record(Kind::Interfere, 0, 0, pc);
    record(Kind::Await, 0, barrier.addr() as u64, pc);
    result
}

pub unsafe extern "C" fn sem_trywait(semaphore: Object, pc: u64) -> c_int {
    // SAFETY: the program's own call; errno is always there.
    let (result, code) = unsafe { (real::sem_trywait()(semaphore), *libc::__errno_location()) };
    if result == 0 {
        record(Kind::Await, 0, semaphore.addr() as u64, pc);
    } else if code == EAGAIN {
        record(Kind::Refused, 0, semaphore.addr() as u64, pc);
    }
    result
}
