//! Where the hooks come in.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use super::places::{is_chance, is_inner, may_stop, place};
use super::{IS_AFTER, IS_FREE, Seat, Steering, at_gate, meeting};
use crate::event::Kind;
use crate::replay::gate::{Gate, Stop};
use crate::replay::schedule::Act;
use crate::runtime::signals::Blocked;
use crate::runtime::tls::{self, BUSY, Tls, tls};
use crate::runtime::{futex, registry, tasks};

/// The calling thread's seat.
pub(super) fn seat(t: *mut Tls) -> &'static Seat {
    // SAFETY: the thread's own state; a seat is never freed.
    unsafe {
        if let Some(seat) = (*t).seat.as_ref() {
            return seat;
        }
        if (*t).record.is_null() {
            registry::adopt(t);
        }
        let thread = (*(*t).record).id;
        let seat: &'static Seat = Box::leak(Box::new(Seat {
            word: AtomicU32::new(0),
            thread,
            os_thread_id: tasks::me(),
            is_in_step: AtomicBool::new(false),
            ends_at_hook: AtomicBool::new(false),
            is_outside: AtomicBool::new(false),
            waited_briefly: AtomicBool::new(false),
        }));
        (*t).seat = std::ptr::from_ref(seat).cast_mut();
        at_gate(|steering| steering.sit_down(seat));
        seat
    }
}

// These sit in the middle of the program's own code, in frames that a cancellation must be able to pass: so they are calls by the C ABI, and nothing of
// theirs is inlined there. See `record::make_room`.

/// What the monitor would record: the thread stops, or a step of it is over. The hook's gate is shut.
///
/// # Safety
/// `t` is the calling thread's state.
#[cold]
#[inline(never)]
pub unsafe extern "C" fn recorded(t: *mut Tls, kind: Kind, object: u64, pc: u64) {
    let event = crate::event::Event::new(kind, 0, 0, object, pc);
    let Some(act) = Act::of(&event) else { return };
    if !is_worth_stopping(t, act, pc) {
        return;
    }
    undisturbed(|| recorded_act(seat(t), act, object, pc));
}

/// Whether anything is to be done here: most places of most programs are none of ours.
fn is_worth_stopping(t: *mut Tls, act: Act, pc: u64) -> bool {
    // SAFETY: the thread's own state; a seat is never freed.
    let seat = unsafe { (*t).seat.as_ref() };
    let has_news =
        seat.is_some_and(|it| it.is_in_step.load(Ordering::Relaxed) || it.is_outside.load(Ordering::Relaxed));
    let is_stop = || is_chance() || place(act, pc).is_some() || IS_AFTER.load(Ordering::Relaxed);
    has_news || !IS_FREE.load(Ordering::Acquire) && is_stop()
}

fn recorded_act(seat: &'static Seat, act: Act, object: u64, pc: u64) {
    // A step that ends with its next hook is another one: who runs a routine once signals, and then waits like all others.
    passed(seat);
    if matches!(act, Act::Lock | Act::Join | Act::Await) && seat.is_in_step.load(Ordering::Relaxed) {
        finish(seat);
    } else {
        stop(seat, act, object, 0, pc);
        match act {
            // Nothing of it is still to come.
            Act::Lock | Act::Join | Act::Await | Act::Start => finish(seat),
            _ => seat.ends_at_hook.store(true, Ordering::Release),
        }
    }
}

/// A plain access is about to happen. The hook's gate is shut.
///
/// # Safety
/// `t` is the calling thread's state.
#[inline(never)]
pub unsafe extern "C" fn access(t: *mut Tls, kind: Kind, address: u64, size: u64, pc: u64) {
    let act = if kind == Kind::Read { Act::Read } else { Act::Write };
    if !may_stop(pc) {
        return passed_here();
    }
    undisturbed(|| {
        let seat = seat(t);
        stop(seat, act, address, size, pc);
        if seat.is_in_step.load(Ordering::Relaxed) {
            let ends_turn = at_gate(|steering| steering.gate.ends_turn(seat.thread)).unwrap_or(false);
            if ends_turn {
                seat.ends_at_hook.store(true, Ordering::Release);
            } else {
                finish(seat);
            }
        }
    });
}

/// Stops in front of an atomic operation. The hook's gate is shut.
///
/// # Safety
/// `t` is the calling thread's state.
#[cold]
#[inline(never)]
pub unsafe extern "C" fn before_atomic(t: *mut Tls, address: u64, pc: u64) {
    if is_worth_stopping(t, Act::Atomic, pc) {
        undisturbed(|| stop(seat(t), Act::Atomic, address, 1, pc));
    }
}

/// The operation is over.
///
/// # Safety
/// `t` is the calling thread's state.
#[cold]
#[inline(never)]
pub unsafe extern "C" fn after_atomic(t: *mut Tls) {
    // SAFETY: the thread's own state; a seat is never freed.
    let seat = unsafe { (*t).seat.as_ref() };
    if let Some(seat) = seat.filter(|seat| seat.is_in_step.load(Ordering::Relaxed)) {
        undisturbed(|| finish(seat));
    }
}

/// Memory is about to be freed: a block of the heap, or so many bytes.
pub fn freeing(address: u64, bytes: Option<u64>, pc: u64) {
    if may_stop_here() && (may_stop(pc) || is_chance() && !is_inner(pc)) {
        with_hook(|t| {
            // SAFETY: the program is about to free it, so it is a block of its heap.
            let usable = || unsafe { libc::malloc_usable_size(std::ptr::without_provenance_mut(address as usize)) };
            let seat = seat(t);
            stop(seat, Act::Free, address, bytes.unwrap_or_else(|| usable() as u64), pc);
            seat.ends_at_hook.store(true, Ordering::Release);
        });
    }
}

/// The thread comes to a hook: what ends there is over.
fn passed(seat: &'static Seat) {
    if seat.is_outside.load(Ordering::Relaxed) {
        seat.is_outside.store(false, Ordering::Relaxed);
        at_gate(|steering| steering.gate.returned(seat.thread));
    }
    if seat.ends_at_hook.load(Ordering::Relaxed) && seat.ends_at_hook.swap(false, Ordering::AcqRel) {
        finish(seat);
    }
}

/// The same, at a hook that is no stop.
#[inline(never)]
pub extern "C" fn passed_here() {
    // SAFETY: the thread's own state; a seat is never freed.
    let seat = unsafe { (*tls()).seat.as_ref() };
    let has_news = |seat: &&Seat| seat.ends_at_hook.load(Ordering::Relaxed) || seat.is_outside.load(Ordering::Relaxed);
    if let Some(seat) = seat.filter(has_news) {
        undisturbed(|| passed(seat));
    }
}

/// Stops in front of what is about to happen, until the thread may go on.
pub(super) fn stop(seat: &'static Seat, act: Act, object: u64, size: u64, code: u64) {
    passed(seat);
    // A step that was never told to be over: the call failed.
    finish(seat);
    if IS_FREE.load(Ordering::Acquire) {
        return;
    }
    let place = place(act, code);
    if place.is_none() && !is_chance() && !is_through(seat) {
        return;
    }
    let stop = Stop { act, place, object, size, code, is_private: true };
    let thread = seat.thread;
    // Who need not wait takes the gate's lock once.
    let arrived =
        at_gate(|steering| steering.gate.arrive(thread, stop).then(|| steering.tell_due(thread, object, size)));
    let is_due = arrived.flatten().or_else(|| {
        wait(seat, |gate| gate.goes_on(thread));
        at_gate(|steering| steering.tell_due(thread, object, size))
    });
    seat.is_in_step.store(true, Ordering::Relaxed);
    if is_due == Some(true) {
        // SAFETY: does nothing.
        unsafe { avmon_violation() };
        at_gate(Steering::go_on_after_violation);
    }
}

/// Whether the thread waits for those who have turns after the violation.
fn is_through(seat: &'static Seat) -> bool {
    IS_AFTER.load(Ordering::Acquire) && at_gate(|steering| steering.gate.is_through(seat.thread)) == Some(true)
}

/// Waits until the gate says so.
pub(super) fn wait(seat: &'static Seat, is_over: impl Fn(&Gate) -> bool) {
    let since = Instant::now();
    let bound = seat.waited_briefly.load(Ordering::Relaxed).then(meeting::bind).flatten();
    wait_here(seat, is_over);
    if let Some(bound) = bound {
        bound.release();
    }
    seat.waited_briefly.store(since.elapsed() < meeting::SHORT, Ordering::Relaxed);
}

fn wait_here(seat: &'static Seat, is_over: impl Fn(&Gate) -> bool) {
    loop {
        let seen = seat.word.load(Ordering::Acquire);
        let looked = at_gate(|steering| {
            steering.look();
            (is_over(&steering.gate), steering.between_looks())
        });
        let Some((false, pause)) = looked else { return };
        futex::wait(&seat.word, seen, pause);
    }
}

/// The step is over.
pub(super) fn finish(seat: &'static Seat) {
    if seat.is_in_step.load(Ordering::Relaxed) {
        seat.is_in_step.store(false, Ordering::Relaxed);
        seat.ends_at_hook.store(false, Ordering::Relaxed);
        at_gate(|steering| steering.gate.done(seat.thread));
    }
}

unsafe extern "C" {
    fn avmon_violation();
}

/// Where a debugger can stop the program, under its exported name: the next thing that this thread does makes the violation complete.
pub extern "C" fn violation() {}

/// Whether a hook of the calling thread may stop it: not in a signal handler that interrupted another one.
pub(super) fn may_stop_here() -> bool {
    // SAFETY: the thread's own state.
    unsafe { (*tls()).gate == 0 }
}

/// Runs a hook's work behind a shut gate.
pub(super) fn with_hook<R>(work: impl FnOnce(*mut Tls) -> R) -> R {
    let t = tls();
    // SAFETY: the thread's own state; the caller saw that its gate is open.
    unsafe {
        (*t).gate = tls::stack_pointer();
        undisturbed(|| work(t))
    }
}

/// Runs a hook's work with all signals blocked, and opens its gate. Not by a guard that is dropped: see `record::make_room`.
pub(super) fn undisturbed<R>(work: impl FnOnce() -> R) -> R {
    let mut blocked = ManuallyDrop::new(Blocked::new());
    let result = work();
    let t = tls();
    // SAFETY: the thread's own state; the guard is not used again.
    unsafe {
        // Before the signals that came meanwhile are handled: their handlers take turns too.
        (*t).gate &= !BUSY;
        ManuallyDrop::drop(&mut blocked);
    }
    result
}
