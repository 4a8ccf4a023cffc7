//! Mutexes, reader-writer locks, spin locks and C11 mutexes: acquires are recorded after the real call, releases
//! before it. What the program gets back is always the real function's own answer.

use super::pinned::deadline::{Deadline, deadline, deadline_passed};
use super::real::{self, Object};
use crate::event::{Kind, Mode};
use crate::replay::schedule::Act;
use crate::runtime::record::{acquire_mutex, drop_acquire};
use crate::runtime::{record, steering, tasks, tls};
use libc::{CLOCK_REALTIME, EBUSY, EOWNERDEAD, ETIMEDOUT, c_int, clockid_t, timespec};

/// What an acquiring call's answer means. C11 functions have codes of their own.
#[derive(Clone, Copy)]
enum Codes {
    Posix,
    C11,
}

impl Codes {
    fn timed_out(self) -> c_int {
        match self {
            Codes::Posix => ETIMEDOUT,
            Codes::C11 => THRD_TIMEDOUT,
        }
    }
}

/// `thrd_busy` and `thrd_timedout` of glibc's <threads.h>.
const THRD_BUSY: c_int = 1;
const THRD_TIMEDOUT: c_int = 4;

#[inline(always)]
fn acquired(result: c_int, codes: Codes, lock: Object, mode: Mode, pc: u64) -> c_int {
    if result == 0 {
        record(Kind::Acquire, mode as u8, lock.addr() as u64, pc);
    } else {
        not_simply_acquired(result, codes, lock, mode, pc);
    }
    result
}

#[cold]
#[inline(never)]
fn not_simply_acquired(result: c_int, codes: Codes, lock: Object, mode: Mode, pc: u64) {
    let kind = match (codes, result) {
        // The owner of a robust mutex died: the caller holds it all the same.
        (Codes::Posix, EOWNERDEAD) => Kind::Acquire,
        (Codes::Posix, EBUSY | ETIMEDOUT) | (Codes::C11, THRD_BUSY | THRD_TIMEDOUT) => Kind::Refused,
        _ => return,
    };
    record(kind, mode as u8, lock.addr() as u64, pc);
}

macro_rules! acquires {
    ($($name:ident, $mode:ident, $codes:ident;)*) => {
        $(pub unsafe extern "C" fn $name(lock: Object, pc: u64) -> c_int {
            steering::before(Act::Lock, lock.addr() as u64, pc);
            // SAFETY: the program's own call.
            let result = unsafe { real::$name()(lock) };
            acquired(result, Codes::$codes, lock, Mode::$mode, pc)
        })*
    };
}

type Take = unsafe extern "C" fn(Object) -> c_int;
/// Asked for only when it is needed.
type InTime = Option<fn() -> unsafe extern "C" fn(Object, *const timespec) -> c_int>;

/// How a kind of lock is taken.
struct Way {
    take: Take,
    attempt: Take,
    in_time: InTime,
    codes: Codes,
    /// Whether no other process can have it.
    is_private: unsafe fn(Object) -> bool,
}

/// Takes a lock that may have to be waited for. In a steered run it is tried, so that the waiting is done at the gate.
#[inline(always)]
unsafe fn taken(lock: Object, pc: u64, way: &Way) -> c_int {
    if steering::is_on() {
        // SAFETY: as the caller promises.
        return unsafe { taken_in_turn(lock, pc, way) };
    }
    // SAFETY: the program's own call.
    unsafe { (way.take)(lock) }
}

#[cold]
#[inline(never)]
unsafe fn taken_in_turn(lock: Object, pc: u64, way: &Way) -> c_int {
    let &Way { take, attempt, in_time, codes, is_private } = way;
    let busy = match codes {
        Codes::Posix => EBUSY,
        Codes::C11 => THRD_BUSY,
    };
    let attempt = || {
        // SAFETY: the program's own lock.
        let result = unsafe { attempt(lock) };
        // An attempt is not refused for being the owner's own, as the program's call may be; one whose time is over is.
        let result = match in_time.filter(|_| result == busy) {
            // SAFETY: as above.
            Some(in_time) => match unsafe { in_time()(lock, &timespec { tv_sec: 0, tv_nsec: 0 }) } {
                ETIMEDOUT => busy,
                other => other,
            },
            None => result,
        };
        (result != busy).then_some(result)
    };
    // SAFETY: the program's own lock, and its own call.
    unsafe {
        let is_private = is_private(lock);
        steering::take(Act::Lock, lock.addr() as u64, pc, is_private, attempt).unwrap_or_else(|| take(lock))
    }
}

/// The one that programs call most.
pub unsafe extern "C" fn pthread_mutex_lock(lock: Object, pc: u64) -> c_int {
    // A robust mutex must not be tried: glibc leaves one that is lost for all in a state in which the next call finds it busy.
    // SAFETY: the program's own mutex, and its own call.
    let result = unsafe {
        if steering::is_on() && is_robust(lock) {
            steering::before(Act::Lock, lock.addr() as u64, pc);
            real::pthread_mutex_lock()(lock)
        } else {
            let way = Way {
                take: real::pthread_mutex_lock(),
                attempt: real::pthread_mutex_trylock(),
                in_time: Some(real::pthread_mutex_timedlock),
                codes: Codes::Posix,
                is_private: is_private_mutex,
            };
            taken(lock, pc, &way)
        }
    };
    if result == 0 {
        acquire_mutex(lock.addr() as u64, pc);
    } else {
        not_simply_acquired(result, Codes::Posix, lock, Mode::Exclusive, pc);
    }
    result
}

macro_rules! waits {
    ($($name:ident by $attempt:ident $(or $in_time:ident)?, $mode:ident, $codes:ident, $is_private:expr;)*) => {
        $(pub unsafe extern "C" fn $name(lock: Object, pc: u64) -> c_int {
            let way = Way {
                take: real::$name(),
                attempt: real::$attempt(),
                in_time: [$(real::$in_time as _)?].into_iter().next(),
                codes: Codes::$codes,
                is_private: $is_private,
            };
            // SAFETY: the program's own call.
            let result = unsafe { taken(lock, pc, &way) };
            acquired(result, Codes::$codes, lock, Mode::$mode, pc)
        })*
    };
}

waits! {
    pthread_rwlock_rdlock by pthread_rwlock_tryrdlock or pthread_rwlock_timedrdlock, Shared, Posix, is_private_rwlock;
    pthread_rwlock_wrlock by pthread_rwlock_trywrlock or pthread_rwlock_timedwrlock, Exclusive, Posix, is_private_rwlock;
    // It does not tell, and may lie in memory that others have too.
    pthread_spin_lock by pthread_spin_trylock, Exclusive, Posix, |_| false;
    mtx_lock by mtx_trylock, Exclusive, C11, |_| true;
}

acquires! {
    pthread_mutex_trylock, Exclusive, Posix;
    pthread_rwlock_tryrdlock, Shared, Posix;
    pthread_rwlock_trywrlock, Exclusive, Posix;
    pthread_spin_trylock, Exclusive, Posix;
    mtx_trylock, Exclusive, C11;
}

macro_rules! timed_waits {
    ($($name:ident($($clock:ident: $type:ty)?) by $known:expr, $mode:ident, $codes:ident;)*) => {
        $(pub unsafe extern "C" fn $name(lock: Object, $($clock: $type,)? until: *const timespec, pc: u64) -> c_int {
            steering::before(Act::Lock, lock.addr() as u64, pc);
            let mut end = Deadline::NONE;
            // SAFETY: the program's own call.
            let result = unsafe { real::$name()(lock, $($clock,)? deadline($known, until, &mut end)) };
            if result == Codes::$codes.timed_out() {
                deadline_passed(&end);
            }
            acquired(result, Codes::$codes, lock, Mode::$mode, pc)
        })*
    };
}

timed_waits! {
    pthread_mutex_timedlock() by CLOCK_REALTIME, Exclusive, Posix;
    pthread_mutex_clocklock(clock: clockid_t) by clock, Exclusive, Posix;
    pthread_rwlock_timedrdlock() by CLOCK_REALTIME, Shared, Posix;
    pthread_rwlock_timedwrlock() by CLOCK_REALTIME, Exclusive, Posix;
    pthread_rwlock_clockrdlock(clock: clockid_t) by clock, Shared, Posix;
    pthread_rwlock_clockwrlock(clock: clockid_t) by clock, Exclusive, Posix;
    mtx_timedlock() by CLOCK_REALTIME, Exclusive, C11;
}

macro_rules! releases {
    ($($name:ident;)*) => {
        $(pub unsafe extern "C" fn $name(lock: Object, pc: u64) -> c_int {
            record(Kind::Release, 0, lock.addr() as u64, pc);
            // SAFETY: the program's own call.
            let result = unsafe { real::$name()(lock) };
            steering::released(lock.addr() as u64);
            result
        })*
    };
}

releases! {
    pthread_rwlock_unlock;
    pthread_spin_unlock;
}

/// The other one. The dropped repetition has a way of its own, on which no register need be saved.
pub unsafe extern "C" fn pthread_mutex_unlock(lock: Object, pc: u64) -> c_int {
    if drop_acquire(lock.addr() as u64) {
        // SAFETY: the program's own call.
        return unsafe { real::pthread_mutex_unlock()(lock) };
    }
    // SAFETY: as above.
    unsafe { unlock_and_record(lock, pc) }
}

#[inline(never)]
unsafe extern "C" fn unlock_and_record(lock: Object, pc: u64) -> c_int {
    // SAFETY: the program's own mutex, and its own call.
    unsafe {
        if !unlock_will_fail(lock) {
            record(Kind::Release, 0, lock.addr() as u64, pc);
        }
        let result = real::pthread_mutex_unlock()(lock);
        steering::released(lock.addr() as u64);
        result
    }
}

/// A `mtx_t` is a `pthread_mutex_t`, and a recursive one checks its owner too.
pub unsafe extern "C" fn mtx_unlock(lock: Object, pc: u64) -> c_int {
    // SAFETY: the program's own mutex, and its own call.
    unsafe {
        if !unlock_will_fail(lock) {
            record(Kind::Release, 0, lock.addr() as u64, pc);
        }
        let result = real::mtx_unlock()(lock);
        steering::released(lock.addr() as u64);
        result
    }
}

/// Recursive, error-checking and robust mutexes refuse to be unlocked by a thread that does not own them. The release
/// must be recorded before we can know, so we look where glibc does: owner and kind are part of its ABI (static
/// initialisers write them).
///
/// # Safety
/// `mutex` is a mutex of the program.
#[inline(always)]
pub unsafe fn unlock_will_fail(mutex: Object) -> bool {
    const OWNER: usize = 2;
    /// The owner of a robust mutex whose last owner died and that was not made consistent yet. It can be unlocked, by
    /// the one who got it, and is then lost for all.
    const INCONSISTENT: c_int = c_int::MAX;
    const RECURSIVE_OR_CHECKING: c_int = 3;
    const ADAPTIVE: c_int = 3;
    let words = mutex.cast::<c_int>();
    // SAFETY: a pthread_mutex_t is larger than these words.
    unsafe {
        let kind = words.add(KIND).read_volatile();
        let checks = kind & ROBUST != 0 || !matches!(kind & RECURSIVE_OR_CHECKING, 0 | ADAPTIVE);
        let owner = words.add(OWNER).read_volatile();
        checks && owner != INCONSISTENT && owner as u32 != os_thread_id()
    }
}

/// The word of a mutex that tells its kind, and the bit of those that survive their owner.
const KIND: usize = 4;
const ROBUST: c_int = 16;

/// The bit of those that other processes use too.
const SHARED: c_int = 128;

unsafe fn is_private_mutex(mutex: Object) -> bool {
    // SAFETY: a pthread_mutex_t is larger than that.
    unsafe { mutex.cast::<c_int>().add(KIND).read_volatile() & SHARED == 0 }
}

unsafe fn is_private_rwlock(lock: Object) -> bool {
    /// The word that tells it, part of glibc's ABI like those of a mutex.
    const IS_SHARED: usize = 7;
    // SAFETY: a pthread_rwlock_t is larger than that.
    unsafe { lock.cast::<c_int>().add(IS_SHARED).read_volatile() == 0 }
}

unsafe fn is_robust(mutex: Object) -> bool {
    // SAFETY: a pthread_mutex_t is larger than that.
    unsafe { mutex.cast::<c_int>().add(KIND).read_volatile() & ROBUST != 0 }
}

unsafe fn os_thread_id() -> u32 {
    let t = tls::tls();
    // SAFETY: the thread's own state.
    unsafe {
        if (*t).os_thread_id == 0 {
            (*t).os_thread_id = tasks::me();
        }
        (*t).os_thread_id
    }
}

macro_rules! inits {
    ($($name:ident($argument:ident: $type:ty);)*) => {
        $(pub unsafe extern "C" fn $name(lock: Object, $argument: $type, pc: u64) -> c_int {
            // SAFETY: the program's own call.
            let result = unsafe { real::$name()(lock, $argument) };
            if result == 0 {
                record(Kind::LockInit, 0, lock.addr() as u64, pc);
            }
            result
        })*
    };
}

inits! {
    pthread_mutex_init(attributes: Object);
    pthread_rwlock_init(attributes: Object);
    pthread_spin_init(shared: c_int);
    mtx_init(kind: c_int);
}

macro_rules! destroys {
    ($($name:ident $(-> $result:ty)?;)*) => {
        $(pub unsafe extern "C" fn $name(lock: Object, pc: u64) $(-> $result)? {
            // A destroy that fails (the lock is in use) forgets what was known of the lock; that loses, not invents.
            record(Kind::LockDestroy, 0, lock.addr() as u64, pc);
            // SAFETY: the program's own call.
            unsafe { real::$name()(lock) }
        })*
    };
}

destroys! {
    pthread_mutex_destroy -> c_int;
    pthread_rwlock_destroy -> c_int;
    pthread_spin_destroy -> c_int;
    mtx_destroy;
}
