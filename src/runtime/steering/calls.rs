//! What the interposers call, around calls that wait, wake and give back.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::hooks::{finish, may_stop_here, seat, stop, undisturbed, wait, with_hook};
use super::{BETWEEN_LOOKS, BLOCKED, Seat, at_gate, is_on};
use crate::event::ThreadId;
use crate::replay::gate::Stop;
use crate::replay::schedule::Act;
use crate::runtime::futex;
use crate::runtime::tls::Tls;

/// How long a thread tries to get what it wants before it waits for it in the kernel: that may end in an error, a signal or a cancellation.
/// Longer than it takes to see a deadlock.
const MOST_ATTEMPTS: Duration = Duration::from_millis(300);

/// Takes a lock: stops in front of it, tries, and waits at the gate as long as somebody else has it: then `attempt` tells `None`. So does this, if
/// the caller has to wait for it as the program would have without us. `is_private`: no other process has it.
pub fn take<R>(act: Act, object: u64, pc: u64, is_private: bool, attempt: impl Fn() -> Option<R>) -> Option<R> {
    if !may_stop_here() {
        return None;
    }
    with_hook(|t| {
        let seat = seat(t);
        stop(seat, act, object, 0, pc);
        let wait = Stop { act, place: None, object, size: 0, code: pc, is_private };
        let mut first_refused = None;
        loop {
            let result = attempt();
            if result.is_some() {
                return result;
            }
            if first_refused.get_or_insert_with(Instant::now).elapsed() > MOST_ATTEMPTS {
                go_outside(seat, Some(wait));
                return None;
            }
            block(seat, wait);
        }
    })
}

/// Stops in front of a call whose result is recorded.
#[inline]
pub fn before(act: Act, object: u64, pc: u64) {
    if is_on() && may_stop_here() {
        with_hook(|t| stop(seat(t), act, object, 0, pc));
    }
}

/// Waits until `object` is given back, or it is time to see for oneself.
fn block(seat: &'static Seat, stop: Stop) {
    BLOCKED.fetch_add(1, Ordering::SeqCst);
    let seen = seat.word.load(Ordering::Acquire);
    let pause = at_gate(|steering| {
        steering.gate.blocked(seat.thread, stop);
        steering.between_looks()
    });
    futex::wait(&seat.word, seen, pause.unwrap_or(BETWEEN_LOOKS));
    at_gate(|steering| {
        steering.look();
        steering.gate.try_again(seat.thread);
    });
    wait(seat, |gate| gate.goes_on(seat.thread));
    BLOCKED.fetch_sub(1, Ordering::SeqCst);
}

/// The real call behind a stop is over: an unlock, a signal, a creation.
#[inline]
pub fn after() {
    if is_on() && may_stop_here() {
        with_hook(|t| finish(seat(t)));
    }
}

/// `object` was given back: those who wait for it may try again.
#[inline]
pub fn released(object: u64) {
    if is_on() && may_stop_here() {
        with_hook(|t| {
            if BLOCKED.load(Ordering::SeqCst) > 0 {
                at_gate(|steering| steering.gate.released(object));
            }
            finish(seat(t));
        });
    }
}

/// Somebody signalled a condition: who sleeps on it here wakes up.
pub fn signalled(condition: u64, all: bool) {
    if is_on() && may_stop_here() {
        with_hook(|t| {
            at_gate(|steering| steering.gate.signal(condition, all));
            finish(seat(t));
        });
    }
}

/// Gives back a lock to wait for a condition, and lies down. What the thread sleeps on; null if it cannot stop here.
pub fn fall_asleep(condition: u64, lock: u64, is_endless: bool, pc: u64, give_back: impl FnOnce()) -> *const u32 {
    if !is_on() || !may_stop_here() {
        return std::ptr::null();
    }
    with_hook(|t| {
        let seat = seat(t);
        stop(seat, Act::Unlock, lock, 0, pc);
        let is_in_step = seat.is_in_step.swap(false, Ordering::Relaxed);
        let wait = Stop { act: Act::Await, place: None, object: condition, size: 0, code: pc, is_private: true };
        at_gate(|steering| {
            // Here, so that nobody can signal before this thread is asleep: signals come this way too.
            give_back();
            if is_in_step {
                steering.gate.done(seat.thread);
            }
            steering.gate.sleep(seat.thread, wait, is_endless);
            if BLOCKED.load(Ordering::SeqCst) > 0 {
                steering.gate.released(lock);
            }
        });
        seat.word.as_ptr().cast_const()
    })
}

/// Whether the calling thread still waits to be signalled.
#[must_use]
pub extern "C" fn is_asleep() -> libc::c_int {
    let is_asleep = with_hook(|t| {
        let thread = seat(t).thread;
        at_gate(|steering| {
            steering.look();
            steering.gate.is_asleep(thread)
        })
    });
    libc::c_int::from(is_asleep == Some(true))
}

/// The calling thread goes on, signalled or not.
pub fn wake_up() {
    if may_stop_here() {
        with_hook(|t| {
            let thread = seat(t).thread;
            at_gate(|steering| steering.gate.rise(thread));
        });
    }
}

/// A thread is about to be created.
pub fn announce(child: ThreadId) {
    if is_on() {
        undisturbed(|| at_gate(|steering| steering.gate.announce(child)));
    }
}

/// It could not be created.
pub fn withdraw(child: ThreadId) {
    if is_on() {
        undisturbed(|| at_gate(|steering| steering.gate.withdraw(child)));
    }
}

/// Objects of those who wait for a thread's end.
fn end_of(thread: ThreadId) -> u64 {
    1 << 60 | u64::from(thread)
}

/// Stops in front of a join. One that is not endless comes back by itself.
pub fn join_begin(thread: ThreadId, is_endless: bool, pc: u64) {
    if is_on() && may_stop_here() {
        with_hook(|t| {
            let seat = seat(t);
            stop(seat, Act::Join, u64::from(thread), 0, pc);
            let stop =
                Stop { act: Act::Join, place: None, object: end_of(thread), size: 0, code: pc, is_private: true };
            if is_endless {
                at_gate(|steering| steering.gate.joins(seat.thread, thread, stop));
            }
        });
    }
}

/// The calling thread is about to go into the kernel for as long as it takes.
pub fn outside() {
    if is_on() && may_stop_here() {
        with_hook(|t| {
            let seat = seat(t);
            finish(seat);
            go_outside(seat, None);
        });
    }
}

fn go_outside(seat: &'static Seat, wait: Option<Stop>) {
    at_gate(|steering| steering.gate.goes_outside(seat.thread, wait));
    seat.is_outside.store(true, Ordering::Relaxed);
}

/// The calling thread ends.
///
/// # Safety
/// `t` is the calling thread's state.
pub unsafe fn end(t: *mut Tls) {
    undisturbed(|| {
        let seat = seat(t);
        stop(seat, Act::End, u64::from(seat.thread), 0, 0);
        finish(seat);
        at_gate(|steering| {
            steering.gate.ended(seat.thread);
            steering.gate.released(end_of(seat.thread));
            steering.seats.remove(&seat.thread);
        });
    });
}
