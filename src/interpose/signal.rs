//! Signal actions: the monitor catches signals that would end the program, and the program must not notice.

use super::real;
use crate::runtime::signals::{as_seen_by_program, instead_of};
use libc::{c_int, sighandler_t};

pub unsafe extern "C" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    // SAFETY: the program's own call; both pointers may be null.
    unsafe {
        let instead = new.as_ref().and_then(|new| instead_of(new.sa_sigaction, signal));
        let result = real::sigaction()(signal, instead.as_ref().map_or(new, |action| &raw const *action), old);
        if result == 0
            && let Some(old) = old.as_mut()
            && as_seen_by_program(old.sa_sigaction) != old.sa_sigaction
        {
            *old = std::mem::zeroed();
        }
        result
    }
}

macro_rules! handlers {
    ($($name:ident;)*) => {
        $(pub unsafe extern "C" fn $name(signal: c_int, handler: sighandler_t) -> sighandler_t {
            // SAFETY: the program's own call.
            let old = unsafe { real::$name()(signal, handler) };
            if let (Some(action), true) = (instead_of(handler, signal), old != libc::SIG_ERR) {
                // SAFETY: an initialised action for a signal that the call before accepted.
                unsafe { real::sigaction()(signal, &raw const action, std::ptr::null_mut()) };
            }
            as_seen_by_program(old)
        })*
    };
}

handlers! {
    signal;
    bsd_signal;
    ssignal;
    sysv_signal;
    __sysv_signal;
}
