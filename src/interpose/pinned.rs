//! What a program asks the system for and gets another answer to in every run: the time of day, random numbers, its process id. A steered run
//! can have the same answers each time. Otherwise these are the real functions.
//!
//! Only the time of day is pinned: clocks that count from some event drive timeouts, which must pass. A deadline that the program computed
//! from its pinned time is turned back into a real one. `/dev/urandom`, the processor's own random numbers and the time of files are not pinned.

#![allow(clippy::must_use_candidate, reason = "the program calls these, and does with the result what it likes")]

use super::{io, real};
use crate::random;
use crate::runtime::pins::{self, Pin};
use crate::runtime::tls;
use libc::{c_int, c_uint, c_void, clockid_t, pid_t, sigval, size_t, ssize_t, time_t, timespec, timeval};

/// The beginning of 2026 in nanoseconds since 1970.
const BEGIN: i64 = 1_767_225_600 * SECOND;
const SECOND: i64 = 1_000_000_000;
/// How much later it is each time that a thread asks.
const TICK: i64 = 1000;
/// No process has this id: the kernel's are below.
const PROCESS: pid_t = 4_200_000;

/// Whether the program, and not a hook of ours at work for it, gets pinned answers.
fn is_pinned(what: Pin) -> bool {
    // SAFETY: the thread's own state.
    pins::has(what) && unsafe { (*tls::tls()).gate == 0 }
}

fn timespec_of(nanoseconds: i64) -> timespec {
    timespec { tv_sec: nanoseconds.div_euclid(SECOND), tv_nsec: nanoseconds.rem_euclid(SECOND) }
}

fn nanoseconds_of(time: &timespec) -> i64 {
    time.tv_sec.saturating_mul(SECOND).saturating_add(time.tv_nsec)
}

fn is_time_of_day(clock: clockid_t) -> bool {
    matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE)
}

fn next_time() -> timespec {
    timespec_of(BEGIN + TICK * pins::next_tick())
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

/// The real time at which a deadline passes that the program computed from what it takes for the time.
///
/// # Safety
/// `until` is null or a time.
pub unsafe extern "C" fn deadline(clock: clockid_t, until: *const timespec, place: &mut timespec) -> *const timespec {
    // SAFETY: the contract.
    let Some(wanted) = (unsafe { until.as_ref() }) else { return until };
    if !is_time_of_day(clock) || !is_pinned(Pin::TIME) {
        return until;
    }
    let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a clock that every kernel has, and a place for its time.
    unsafe { real::clock_gettime()(clock, &raw mut now) };
    let left = nanoseconds_of(wanted).saturating_sub(BEGIN + TICK * pins::ticks());
    *place = timespec_of(nanoseconds_of(&now).saturating_add(left));
    place
}

/// Fills memory with numbers that are the same in every run.
unsafe fn fill(buffer: *mut c_void, length: size_t) {
    for index in 0..length {
        let (thread, number) = pins::next_number();
        let number = random::number(u64::from(thread), number);
        // SAFETY: the program's own buffer of that length.
        unsafe { buffer.cast::<u8>().add(index).write(number as u8) };
    }
}

pub unsafe extern "C" fn getrandom(buffer: *mut c_void, length: size_t, flags: c_uint) -> ssize_t {
    if is_pinned(Pin::RANDOM) {
        // SAFETY: the program's own buffer.
        unsafe { fill(buffer, length) };
        return length.cast_signed();
    }
    // SAFETY: the program's own call.
    unsafe { real::getrandom()(buffer, length, flags) }
}

pub unsafe extern "C" fn getentropy(buffer: *mut c_void, length: size_t) -> c_int {
    const MOST: size_t = 256;
    if length <= MOST && is_pinned(Pin::RANDOM) {
        // SAFETY: the program's own buffer.
        unsafe { fill(buffer, length) };
        return 0;
    }
    // SAFETY: the program's own call.
    unsafe { real::getentropy()(buffer, length) }
}

pub unsafe extern "C" fn arc4random_buf(buffer: *mut c_void, length: size_t) {
    if is_pinned(Pin::RANDOM) {
        // SAFETY: the program's own buffer.
        unsafe { fill(buffer, length) };
    } else {
        // SAFETY: the program's own call.
        unsafe { real::arc4random_buf()(buffer, length) };
    }
}

fn pinned_number() -> u32 {
    let mut number = [0; 4];
    // SAFETY: a buffer of that length.
    unsafe { fill(number.as_mut_ptr().cast(), number.len()) };
    u32::from_le_bytes(number)
}

pub unsafe extern "C" fn arc4random() -> u32 {
    if is_pinned(Pin::RANDOM) {
        return pinned_number();
    }
    // SAFETY: the program's own call.
    unsafe { real::arc4random()() }
}

pub unsafe extern "C" fn arc4random_uniform(bound: u32) -> u32 {
    if is_pinned(Pin::RANDOM) {
        return pinned_number() % bound.max(1);
    }
    // SAFETY: the program's own call.
    unsafe { real::arc4random_uniform()(bound) }
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

pub unsafe extern "C" fn getpid() -> pid_t {
    if is_pinned(Pin::PIDS) {
        return PROCESS;
    }
    // SAFETY: the program's own call.
    unsafe { real::getpid()() }
}

/// A child of the process that has the pinned id knows its parent by that.
pub unsafe extern "C" fn getppid() -> pid_t {
    // SAFETY: the program's own call.
    let parent = unsafe { real::getppid()() };
    if pins::holder() == Some(parent as u32) { PROCESS } else { parent }
}

/// Whom the program means by an id: the pinned one is known to nobody else.
fn meant(process: pid_t) -> pid_t {
    if process == PROCESS { pins::holder().map_or(process, u32::cast_signed) } else { process }
}

pub unsafe extern "C" fn kill(process: pid_t, signal: c_int) -> c_int {
    io::before_kill(0, signal);
    // SAFETY: the program's own call.
    unsafe { real::kill()(meant(process), signal) }
}

pub unsafe extern "C" fn sigqueue(process: pid_t, signal: c_int, value: sigval) -> c_int {
    io::before_kill(0, signal);
    // SAFETY: the program's own call.
    unsafe { real::sigqueue()(meant(process), signal, value) }
}

pub unsafe extern "C" fn tgkill(process: pid_t, thread: pid_t, signal: c_int) -> c_int {
    // SAFETY: the program's own call.
    unsafe { real::tgkill()(meant(process), thread, signal) }
}

pub unsafe extern "C" fn getpgid(process: pid_t) -> pid_t {
    // SAFETY: the program's own call.
    unsafe { real::getpgid()(meant(process)) }
}

pub unsafe extern "C" fn setpgid(process: pid_t, group: pid_t) -> c_int {
    // SAFETY: the program's own call.
    unsafe { real::setpgid()(meant(process), meant(group)) }
}

pub unsafe extern "C" fn getsid(process: pid_t) -> pid_t {
    // SAFETY: the program's own call.
    unsafe { real::getsid()(meant(process)) }
}
