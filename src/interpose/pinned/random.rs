//! Random numbers: each thread has a row of its own, which is the same in every run.

#![allow(clippy::must_use_candidate, reason = "the program calls these, and does with the result what it likes")]

use super::is_pinned;
use crate::interpose::real;
use crate::random;
use crate::runtime::pins::{self, Pin};
use libc::{c_int, c_uint, c_void, size_t, ssize_t};

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
