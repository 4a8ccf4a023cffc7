//! What `shim/avmon.h` finds at run time: marked blocks, custom locks and custom order under our own names.

use super::export::exports;
use crate::event::{Kind, Mode};
use crate::runtime;
use std::ffi::c_int;

exports! {
    pub const NAMES;
    avmon_block_begin / 1 => block_begin;
    avmon_block_end / 0 => block_end;
    avmon_lock_created / 1 => lock_created;
    avmon_lock_destroyed / 1 => lock_destroyed;
    avmon_lock_code_begin => lock_code_begin;
    avmon_lock_code_end => lock_code_end;
    avmon_lock_acquired / 2 => lock_acquired;
    avmon_lock_releasing / 2 => lock_releasing;
    avmon_order_signal / 1 => order_signal;
    avmon_order_await / 1 => order_await;
    avmon_interference / 0 => interference;
}

unsafe extern "C" fn block_begin(label: u64, pc: u64) {
    runtime::record(Kind::BlockBegin, 0, label, pc);
}

unsafe extern "C" fn block_end(pc: u64) {
    runtime::record(Kind::BlockEnd, 0, 0, pc);
}

unsafe extern "C" fn lock_created(address: u64, pc: u64) {
    runtime::record(Kind::LockInit, 0, address, pc);
}

unsafe extern "C" fn lock_destroyed(address: u64, pc: u64) {
    runtime::record(Kind::LockDestroy, 0, address, pc);
}

/// What a custom lock is made of is not to be seen beside the lock itself.
unsafe extern "C" fn lock_code_begin() {
    runtime::ignore_sync(true);
}

unsafe extern "C" fn lock_code_end() {
    runtime::ignore_sync(false);
}

fn mode_of(shared: c_int) -> u8 {
    let mode = if shared == 0 { Mode::Exclusive } else { Mode::Shared };
    mode as u8
}

unsafe extern "C" fn lock_acquired(address: u64, shared: c_int, pc: u64) {
    runtime::record(Kind::Acquire, mode_of(shared), address, pc);
}

unsafe extern "C" fn lock_releasing(address: u64, shared: c_int, pc: u64) {
    runtime::record(Kind::Release, mode_of(shared), address, pc);
}

unsafe extern "C" fn order_signal(address: u64, pc: u64) {
    runtime::record(Kind::Signal, 0, address, pc);
}

unsafe extern "C" fn order_await(address: u64, pc: u64) {
    runtime::record(Kind::Await, 0, address, pc);
}

unsafe extern "C" fn interference(pc: u64) {
    runtime::record(Kind::Interfere, 0, 0, pc);
}
