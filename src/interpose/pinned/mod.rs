//! What a program asks the system for and gets another answer to in every run: the time of day, random numbers, its process id. A steered run
//! can have the same answers each time. Otherwise these are the real functions.
//!
//! Only the time of day is pinned: clocks that count from some event drive timeouts, which must pass. `/dev/urandom`, the processor's own random numbers and the time of files are not pinned.

pub mod clock;
pub mod deadline;
pub mod ids;
pub mod random;

use crate::runtime::pins::{self, Pin};
use crate::runtime::tls;

/// Whether the program, and not a hook of ours at work for it, gets pinned answers.
fn is_pinned(what: Pin) -> bool {
    // SAFETY: the thread's own state.
    pins::has(what) && unsafe { (*tls::tls()).gate == 0 }
}
