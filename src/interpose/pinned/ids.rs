//! The process's own id, wherever the program is told it, and wherever it gives it to the system.

#![allow(clippy::must_use_candidate, reason = "the program calls these, and does with the result what it likes")]

use super::is_pinned;
use crate::interpose::{io, real};
use crate::runtime::pins::{self, Pin};
use libc::{c_int, c_uint, id_t, idtype_t, pid_t, sigval};

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
    told(unsafe { real::getppid()() })
}

/// Whom the program means by an id, or by its negative: the pinned one is known to nobody else.
pub extern "C" fn meant(process: pid_t) -> pid_t {
    let Some(holder) = pins::holder().map(u32::cast_signed) else { return process };
    match process {
        PROCESS => holder,
        process if process == -PROCESS => -holder,
        other => other,
    }
}

/// What the program is told when the answer is an id.
fn told(process: pid_t) -> pid_t {
    if pins::holder() == Some(process as u32) { PROCESS } else { process }
}

pub unsafe extern "C" fn kill(process: pid_t, signal: c_int) -> c_int {
    io::before_kill(0, signal);
    // SAFETY: the program's own call.
    unsafe { real::kill()(meant(process), signal) }
}

pub unsafe extern "C" fn killpg(group: pid_t, signal: c_int) -> c_int {
    io::before_kill(0, signal);
    // SAFETY: the program's own call.
    unsafe { real::killpg()(meant(group), signal) }
}

pub unsafe extern "C" fn sigqueue(process: pid_t, signal: c_int, value: sigval) -> c_int {
    io::before_kill(0, signal);
    // SAFETY: the program's own call.
    unsafe { real::sigqueue()(meant(process), signal, value) }
}

pub unsafe extern "C" fn tgkill(process: pid_t, thread: pid_t, signal: c_int) -> c_int {
    // SAFETY: the program's own call.
    unsafe { real::tgkill()(meant(process), meant(thread), signal) }
}

pub unsafe extern "C" fn setpgid(process: pid_t, group: pid_t) -> c_int {
    // SAFETY: the program's own call.
    unsafe { real::setpgid()(meant(process), meant(group)) }
}

macro_rules! answered {
    ($($name:ident($($argument:ident: $type:ty => $given:expr)?);)*) => {
        $(pub unsafe extern "C" fn $name($($argument: $type)?) -> pid_t {
            // SAFETY: the program's own call.
            told(unsafe { real::$name()($($given)?) })
        })*
    };
}

answered! {
    // The thread that the process began with has the process's id.
    gettid();
    getpgrp();
    setsid();
    getpgid(process: pid_t => meant(process));
    getsid(process: pid_t => meant(process));
    tcgetpgrp(terminal: c_int => terminal);
    tcgetsid(terminal: c_int => terminal);
}

/// Whom a priority is of: an id of another kind is no process's.
pub extern "C" fn meant_by_priority(which: c_uint, who: id_t) -> id_t {
    if which == libc::PRIO_USER { who } else { meant(who.cast_signed()).cast_unsigned() }
}

pub extern "C" fn meant_by_wait(which: idtype_t, who: id_t) -> id_t {
    if matches!(which, libc::P_PID | libc::P_PGID) { meant(who.cast_signed()).cast_unsigned() } else { who }
}

pub extern "C" fn meant_by_terminal(_terminal: c_int, group: pid_t) -> pid_t {
    meant(group)
}
