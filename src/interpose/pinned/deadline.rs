//! Waits in pinned time. A deadline that the program computed from what it was told must be turned back into a real one. And a program that waits
//! until some time looks whether it has come: so a thread's clock is as late as what it waited for.

use super::clock::{SECOND, is_time_of_day, nanoseconds_of, since_begin, timespec_of};
use super::is_pinned;
use crate::interpose::real;
use crate::runtime::pins::{self, Pin};
use libc::{c_uint, clockid_t, timespec};

const MICROSECOND: i64 = 1000;
const MILLISECOND: i64 = 1_000_000;

/// The end of a wait. Mirrored in the C shim.
#[repr(C)]
pub struct Deadline {
    /// When it is in truth, if the program means another time.
    until: timespec,
    /// How late it is then for the thread.
    passed: i64,
}

impl Deadline {
    pub const NONE: Deadline = Deadline { until: timespec { tv_sec: 0, tv_nsec: 0 }, passed: 0 };
}

/// A time that the real functions accept.
fn is_valid(time: &timespec) -> bool {
    (0..SECOND).contains(&time.tv_nsec)
}

/// A program's own numbers have no odd nanoseconds, nor have differences of pinned times: a wait that has some was computed from a clock that is
/// not pinned, and would be another one in each run.
fn rounded(wait: i64) -> i64 {
    if wait % MICROSECOND == 0 { wait } else { wait.saturating_add(MILLISECOND - wait.rem_euclid(MILLISECOND)) }
}

/// The real time at which a deadline passes that the program computed from what it takes for the time.
///
/// # Safety
/// `until` is null or a time.
pub unsafe extern "C" fn deadline(clock: clockid_t, until: *const timespec, place: &mut Deadline) -> *const timespec {
    *place = Deadline::NONE;
    // SAFETY: the contract.
    let Some(wanted) = (unsafe { until.as_ref() }).filter(|wanted| is_valid(wanted)) else { return until };
    let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the time; a clock that does not exist is refused.
    if !is_pinned(Pin::TIME) || unsafe { real::clock_gettime()(clock, &raw mut now) } != 0 {
        return until;
    }
    let now = nanoseconds_of(&now);
    if !is_time_of_day(clock) {
        let left = nanoseconds_of(wanted).saturating_sub(now).max(0);
        place.passed = pins::now().saturating_add(rounded(left));
        return until;
    }
    place.passed = since_begin(wanted);
    place.until = timespec_of(now.saturating_add(place.passed.saturating_sub(pins::now())));
    &raw const place.until
}

/// The calling thread waited until then.
pub extern "C" fn deadline_passed(deadline: &Deadline) {
    pins::not_before(deadline.passed);
}

fn sleeps(wait: i64) {
    if is_pinned(Pin::TIME) {
        pins::pass(rounded(wait));
    }
}

// Before they sleep: afterwards there is nobody to say so, as the real functions do not come back here. One that a signal interrupts says twice what is left.

/// # Safety
/// `wait` is null or a time.
pub unsafe extern "C" fn before_nanosleep(wait: *const timespec) {
    // SAFETY: the contract.
    if let Some(wait) = unsafe { wait.as_ref() }.filter(|wait| is_valid(wait) && wait.tv_sec >= 0) {
        sleeps(nanoseconds_of(wait));
    }
}

pub extern "C" fn before_usleep(microseconds: c_uint) {
    sleeps(i64::from(microseconds) * MICROSECOND);
}

pub extern "C" fn before_sleep(seconds: c_uint) {
    sleeps(i64::from(seconds) * SECOND);
}
