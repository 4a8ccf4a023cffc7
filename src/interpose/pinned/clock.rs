//! The time of day: each thread has a clock of its own, which goes on when it asks, when it sleeps, and when a wait is over in vain.

#![allow(clippy::must_use_candidate, reason = "the program calls these, and does with the result what it likes")]

use super::is_pinned;
use crate::interpose::real;
use crate::runtime::pins::{self, Pin};
use libc::{c_int, c_void, clockid_t, time_t, timespec, timeval};

/// The beginning of 2026 in nanoseconds since 1970.
const BEGIN: i64 = 1_767_225_600 * SECOND;
pub(super) const SECOND: i64 = 1_000_000_000;
/// How much later it is each time that a thread asks.
const TICK: i64 = 1000;

pub(super) fn timespec_of(nanoseconds: i64) -> timespec {
    timespec { tv_sec: nanoseconds.div_euclid(SECOND), tv_nsec: nanoseconds.rem_euclid(SECOND) }
}

pub(super) fn nanoseconds_of(time: &timespec) -> i64 {
    time.tv_sec.saturating_mul(SECOND).saturating_add(time.tv_nsec)
}

pub(super) fn is_time_of_day(clock: clockid_t) -> bool {
    matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE)
}

/// The calling thread's time of day of a time that it would be told.
pub(super) fn since_begin(time: &timespec) -> i64 {
    nanoseconds_of(time).saturating_sub(BEGIN)
}

fn next_time() -> timespec {
    pins::pass(TICK);
    timespec_of(BEGIN.saturating_add(pins::now()))
}

pub unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    if is_time_of_day(clock) && !time.is_null() && is_pinned(Pin::TIME) {
        // SAFETY: the program's own place for it.
        unsafe { *time = next_time() };
        return 0;
    }
    // SAFETY: the program's own call.
    unsafe { real::clock_gettime()(clock, time) }
}

pub unsafe extern "C" fn gettimeofday(time: *mut timeval, zone: *mut c_void) -> c_int {
    if !time.is_null() && is_pinned(Pin::TIME) {
        let now = next_time();
        // SAFETY: the program's own place for it.
        unsafe { *time = timeval { tv_sec: now.tv_sec, tv_usec: now.tv_nsec / 1000 } };
        return 0;
    }
    // SAFETY: the program's own call.
    unsafe { real::gettimeofday()(time, zone) }
}

pub unsafe extern "C" fn time(place: *mut time_t) -> time_t {
    if is_pinned(Pin::TIME) {
        let now = next_time().tv_sec;
        if !place.is_null() {
            // SAFETY: the program's own place for it.
            unsafe { *place = now };
        }
        return now;
    }
    // SAFETY: the program's own call.
    unsafe { real::time()(place) }
}

pub unsafe extern "C" fn timespec_get(time: *mut timespec, base: c_int) -> c_int {
    /// `TIME_UTC` of <time.h>.
    const UTC: c_int = 1;
    if base == UTC && !time.is_null() && is_pinned(Pin::TIME) {
        // SAFETY: the program's own place for it.
        unsafe { *time = next_time() };
        return base;
    }
    // SAFETY: the program's own call.
    unsafe { real::timespec_get()(time, base) }
}
