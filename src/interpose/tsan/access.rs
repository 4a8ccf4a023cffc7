//! Plain memory accesses and coverage: nothing is recorded of them. Volatile accesses order threads.

use super::super::export::exports;
use crate::runtime;
use std::ffi::{c_int, c_void};

exports! {
    pub const NAMES;
    __tsan_init => nothing;
    __tsan_read1 => nothing;
    __tsan_read2 => nothing;
    __tsan_read4 => nothing;
    __tsan_read8 => nothing;
    __tsan_read16 => nothing;
    __tsan_write1 => nothing;
    __tsan_write2 => nothing;
    __tsan_write4 => nothing;
    __tsan_write8 => nothing;
    __tsan_write16 => nothing;
    __tsan_unaligned_read2 => nothing;
    __tsan_unaligned_read4 => nothing;
    __tsan_unaligned_read8 => nothing;
    __tsan_unaligned_read16 => nothing;
    __tsan_unaligned_write2 => nothing;
    __tsan_unaligned_write4 => nothing;
    __tsan_unaligned_write8 => nothing;
    __tsan_unaligned_write16 => nothing;
    __tsan_read_write1 => nothing;
    __tsan_read_write2 => nothing;
    __tsan_read_write4 => nothing;
    __tsan_read_write8 => nothing;
    __tsan_read_write16 => nothing;
    __tsan_unaligned_read_write2 => nothing;
    __tsan_unaligned_read_write4 => nothing;
    __tsan_unaligned_read_write8 => nothing;
    __tsan_unaligned_read_write16 => nothing;
    __tsan_read1_pc => nothing;
    __tsan_read2_pc => nothing;
    __tsan_read4_pc => nothing;
    __tsan_read8_pc => nothing;
    __tsan_read16_pc => nothing;
    __tsan_write1_pc => nothing;
    __tsan_write2_pc => nothing;
    __tsan_write4_pc => nothing;
    __tsan_write8_pc => nothing;
    __tsan_write16_pc => nothing;
    __tsan_read_range => nothing;
    __tsan_write_range => nothing;
    __tsan_read_range_pc => nothing;
    __tsan_write_range_pc => nothing;
    __tsan_vptr_read => nothing;
    __tsan_vptr_update => nothing;
    __tsan_external_read => nothing;
    __tsan_external_write => nothing;
    __tsan_volatile_read1 => volatile_read;
    __tsan_volatile_read2 => volatile_read;
    __tsan_volatile_read4 => volatile_read;
    __tsan_volatile_read8 => volatile_read;
    __tsan_volatile_read16 => volatile_read;
    __tsan_volatile_write1 / 1 => volatile_write;
    __tsan_volatile_write2 / 1 => volatile_write;
    __tsan_volatile_write4 / 1 => volatile_write;
    __tsan_volatile_write8 / 1 => volatile_write;
    __tsan_volatile_write16 / 1 => volatile_write;
    __tsan_unaligned_volatile_read2 => volatile_read;
    __tsan_unaligned_volatile_read4 => volatile_read;
    __tsan_unaligned_volatile_read8 => volatile_read;
    __tsan_unaligned_volatile_read16 => volatile_read;
    __tsan_unaligned_volatile_write2 / 1 => volatile_write;
    __tsan_unaligned_volatile_write4 / 1 => volatile_write;
    __tsan_unaligned_volatile_write8 / 1 => volatile_write;
    __tsan_unaligned_volatile_write16 / 1 => volatile_write;
    __tsan_memcpy => copy;
    __tsan_memmove => copy;
    __tsan_memset => set;
}

exports! {
    pub const COVERAGE;
    __sanitizer_cov_trace_pc => nothing;
    __sanitizer_cov_trace_pc_indir => nothing;
    __sanitizer_cov_trace_pc_guard => nothing;
    __sanitizer_cov_trace_pc_guard_init => nothing;
    __sanitizer_cov_8bit_counters_init => nothing;
    __sanitizer_cov_bool_flag_init => nothing;
    __sanitizer_cov_pcs_init => nothing;
    __sanitizer_cov_trace_cmp => nothing;
    __sanitizer_cov_trace_cmp1 => nothing;
    __sanitizer_cov_trace_cmp2 => nothing;
    __sanitizer_cov_trace_cmp4 => nothing;
    __sanitizer_cov_trace_cmp8 => nothing;
    __sanitizer_cov_trace_const_cmp1 => nothing;
    __sanitizer_cov_trace_const_cmp2 => nothing;
    __sanitizer_cov_trace_const_cmp4 => nothing;
    __sanitizer_cov_trace_const_cmp8 => nothing;
    __sanitizer_cov_trace_cmpf => nothing;
    __sanitizer_cov_trace_cmpd => nothing;
    __sanitizer_cov_trace_switch => nothing;
    __sanitizer_cov_trace_div4 => nothing;
    __sanitizer_cov_trace_div8 => nothing;
    __sanitizer_cov_trace_gep => nothing;
    __sanitizer_cov_load1 => nothing;
    __sanitizer_cov_load2 => nothing;
    __sanitizer_cov_load4 => nothing;
    __sanitizer_cov_load8 => nothing;
    __sanitizer_cov_load16 => nothing;
    __sanitizer_cov_store1 => nothing;
    __sanitizer_cov_store2 => nothing;
    __sanitizer_cov_store4 => nothing;
    __sanitizer_cov_store8 => nothing;
    __sanitizer_cov_store16 => nothing;
}

unsafe extern "C" fn nothing() {}

/// A volatile flag is how older code tells another thread that something is ready, so a read of it awaits the
/// writes. The hook comes before the read; the await takes its number only before this thread's next event, which
/// is after the read, so it follows the signal of whatever write the read saw.
unsafe extern "C" fn volatile_read(address: u64) {
    runtime::await_later(address);
}

/// The hook comes before the write, as a signal must.
unsafe extern "C" fn volatile_write(address: u64, pc: u64) {
    runtime::signal_once(address, pc);
}

/// Both copies: clang's instrumentation does not promise that a copied structure is not copied onto itself.
unsafe extern "C" fn copy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
    // SAFETY: the program's own call, with its own promises.
    unsafe { libc::memmove(to, from, size) }
}

unsafe extern "C" fn set(to: *mut c_void, byte: c_int, size: usize) -> *mut c_void {
    // SAFETY: the program's own call, with its own promises.
    unsafe { libc::memset(to, byte, size) }
}
