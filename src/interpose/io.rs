//! Order made by pipes, event descriptors, socket pairs and signals inside one process: a thread that was woken through one
//! of them goes on because of the thread that wrote. Without this a hand-over by a pipe would look like no order at all.
//!
//! Only descriptors that this process made as a channel to itself are marked, so ordinary files and connections to
//! others cost one look into a table. Copies made by `fcntl`, and data that goes through stdio or another process,
//! are not seen.

#![allow(clippy::must_use_candidate, reason = "the program calls these, and does with the result what it likes")]

use super::real;
use crate::event::Kind;
use crate::runtime::{record, tls};
use libc::{c_int, c_uint};
use std::sync::atomic::{AtomicU32, Ordering};

/// Descriptors above this are not marked.
const MOST: usize = 1 << 16;

/// The channel behind each descriptor, or 0. A mark that outlives its descriptor only adds order.
static CHANNELS: [AtomicU32; MOST] = [const { AtomicU32::new(0) }; MOST];

static LAST_CHANNEL: AtomicU32 = AtomicU32::new(0);

/// Objects of these events are no addresses; no address has these bits.
const CHANNEL: u64 = 1 << 62;
const SIGNAL: u64 = 1 << 61;

fn channel_of(descriptor: c_int) -> Option<&'static AtomicU32> {
    usize::try_from(descriptor).ok().and_then(|index| CHANNELS.get(index))
}

/// The object to signal or await, if the descriptor is a channel.
fn object_of(descriptor: c_int) -> Option<u64> {
    let channel = channel_of(descriptor)?.load(Ordering::Relaxed);
    (channel != 0).then(|| CHANNEL | u64::from(channel))
}

/// Marks the ends of a new channel.
fn mark(ends: &[c_int]) {
    let channel = LAST_CHANNEL.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(1);
    for end in ends {
        if let Some(place) = channel_of(*end) {
            place.store(channel, Ordering::Relaxed);
        }
    }
}

/// Marks a copy as its original is marked.
fn copy_mark(from: c_int, to: c_int) {
    if let (Some(from), Some(to)) = (channel_of(from), channel_of(to)) {
        to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Marks both ends that a call stored.
unsafe fn marked_pair(result: c_int, ends: *const c_int) -> c_int {
    if result == 0 {
        // SAFETY: a successful call stored two descriptors.
        mark(&unsafe { [*ends, *ends.add(1)] });
    }
    result
}

pub unsafe extern "C" fn pipe(ends: *mut c_int) -> c_int {
    // SAFETY: the program's own call.
    unsafe { marked_pair(real::pipe()(ends), ends) }
}

pub unsafe extern "C" fn pipe2(ends: *mut c_int, flags: c_int) -> c_int {
    // SAFETY: the program's own call.
    unsafe { marked_pair(real::pipe2()(ends, flags), ends) }
}

pub unsafe extern "C" fn socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int {
    // SAFETY: the program's own call.
    unsafe { marked_pair(real::socketpair()(domain, kind, protocol, ends), ends) }
}

pub unsafe extern "C" fn eventfd(count: c_uint, flags: c_int) -> c_int {
    // SAFETY: the program's own call.
    let descriptor = unsafe { real::eventfd()(count, flags) };
    mark(&[descriptor]);
    descriptor
}

pub unsafe extern "C" fn dup(old: c_int) -> c_int {
    // SAFETY: the program's own call.
    let new = unsafe { real::dup()(old) };
    copy_mark(old, new);
    new
}

pub unsafe extern "C" fn dup2(old: c_int, new: c_int) -> c_int {
    before_write(new);
    // SAFETY: the program's own call.
    let result = unsafe { real::dup2()(old, new) };
    copy_mark(old, result);
    result
}

pub unsafe extern "C" fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int {
    before_write(new);
    // SAFETY: the program's own call.
    let result = unsafe { real::dup3()(old, new, flags) };
    copy_mark(old, result);
    result
}

/// In front of everything that writes to a descriptor.
pub extern "C" fn before_write(descriptor: c_int) {
    if let Some(object) = object_of(descriptor) {
        record(Kind::Signal, 0, object, 0);
    }
}

/// Closing the writing end wakes a reader too. What the monitor closes for itself may have the number of a channel, in another table.
pub extern "C" fn before_close(descriptor: c_int) {
    // SAFETY: the thread's own state.
    if unsafe { (*tls::tls()).gate } != 0 {
        return;
    }
    before_write(descriptor);
    if let Some(channel) = channel_of(descriptor) {
        channel.store(0, Ordering::Relaxed);
    }
}

/// Called by the shim after something was read, or the end was.
pub extern "C" fn after_read(descriptor: c_int) {
    if let Some(object) = object_of(descriptor) {
        record(Kind::Await, 0, object, 0);
    }
}

/// In front of `kill`, `pthread_kill` and their kin, whose second argument is the signal.
pub extern "C" fn before_kill(_receiver: u64, signal: c_int) {
    record(Kind::Signal, 0, SIGNAL | u64::from(signal as u32), 0);
}

/// Called by the shim when a thread accepted a signal that it waited for.
pub extern "C" fn after_signal_wait(signal: c_int) {
    record(Kind::Await, 0, SIGNAL | u64::from(signal as u32), 0);
}
