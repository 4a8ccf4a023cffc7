//! The process's own id.

#![allow(clippy::must_use_candidate, reason = "the program calls these, and does with the result what it likes")]

use super::is_pinned;
use crate::interpose::{io, real};
use crate::runtime::pins::{self, Pin};
use libc::{c_int, pid_t, sigval};

/// No process has this id: the kernel's are below.
const PROCESS: pid_t = 4_200_000;

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
