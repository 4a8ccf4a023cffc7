//! Stand-in for the runtime: the hooks compile against these names.

use crate::event::Kind;
use std::ffi::{c_char, c_void};

pub fn record(_kind: Kind, _detail: u8, _object: u64, _pc: u64) {}
pub fn signal_once(_address: u64, _pc: u64) {}
pub fn await_later(_address: u64) {}
pub fn await_at_fence(_address: u64) {}
pub fn fence_acquire() {}
pub fn fence_release() {}
#[must_use]
pub fn has_release_fence() -> bool {
    false
}
pub fn ignore_sync(_change: i32) {}
pub unsafe fn name_thread(_name: *const c_char) {}
pub fn switch_fiber(_fiber: *mut c_void) {}
#[must_use]
pub fn current_fiber() -> *mut c_void {
    std::ptr::null_mut()
}
