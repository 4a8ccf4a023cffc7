//! The loads that an acquire fence may turn into acquires.
//!
//! A fence orders this thread after whatever its earlier loads saw, even relaxed ones. So each thread remembers the
//! addresses of its loads that were no acquires, in a small table with one place per hash; the fence awaits them all.
//! A load that loses its place is awaited at once, but only in a process that executes acquire fences at all: in
//! others the table costs one store per load, and nothing is recorded.

use crate::event::stripe_of;
use crate::runtime;
use std::sync::atomic::{AtomicBool, Ordering};

const PLACES: usize = 16;

/// Whether any thread of the process executed an acquire fence.
static IN_USE: AtomicBool = AtomicBool::new(false);

// A thread's table, zero at its start. As with the rest of the thread state it must be in the static TLS block, which Rust's
// own thread-local variables in a shared library are not.
core::arch::global_asm!(
    ".pushsection .tbss, \"awT\", @nobits",
    ".balign 8",
    ".hidden avmon_loads",
    ".globl avmon_loads",
    ".type avmon_loads, @tls_object",
    "avmon_loads:",
    ".zero {bytes}",
    ".size avmon_loads, {bytes}",
    ".popsection",
    bytes = const PLACES * size_of::<u64>(),
);

fn table() -> *mut [u64; PLACES] {
    let address;
    // SAFETY: the thread pointer plus the constant offset of the variable above.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr fs:[0]",
            "add {0}, qword ptr [rip + avmon_loads@GOTTPOFF]",
            out(reg) address,
            options(pure, nomem, nostack),
        );
    }
    address
}

/// A load from `address`, which was no acquire, just happened.
pub fn remember(address: u64) {
    let place = stripe_of(address) % PLACES;
    // SAFETY: the calling thread's own table. A signal handler in between costs at most one remembered address.
    let lost = unsafe { std::mem::replace(&mut (*table())[place], address) };
    if lost != 0 && lost != address && IN_USE.load(Ordering::Relaxed) {
        runtime::await_later(lost);
    }
}

/// An acquire fence was just executed.
pub fn acquire() {
    IN_USE.store(true, Ordering::Relaxed);
    // SAFETY: the calling thread's own table.
    let loads = unsafe { std::mem::take(&mut *table()) };
    for address in loads.into_iter().filter(|&address| address != 0) {
        runtime::await_later(address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_stays_in_its_own_threads_table_until_a_fence() {
        let held = || {
            // SAFETY: this thread's table.
            let table = unsafe { *table() };
            table.into_iter().filter(|&address| address != 0).collect::<Vec<_>>()
        };
        assert!(held().is_empty());
        remember(0x1000);
        remember(0x1000);
        assert_eq!(held(), [0x1000]);
        std::thread::spawn(move || assert!(held().is_empty())).join().unwrap();
        acquire();
        assert!(held().is_empty());
    }
}
