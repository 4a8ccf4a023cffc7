//! Plain memory accesses and coverage. The hooks are in `shim/access.c`: in a recording each access is an event. Volatile accesses
//! order threads, with or without one.

use super::super::export::exports;
use super::super::strings::{avmon_memmove, avmon_memset};
use crate::event::{Kind, access};

const _: () = assert!(
    Kind::Enter as u8 == 0 && Kind::Leave as u8 == 1 && Kind::Read as u8 == 17 && Kind::Write as u8 == 18,
    "mirrored in shim.h"
);
const _: () = assert!(
    access::VOLATILE == 1 && access::VPTR == 2 && access::UNALIGNED == 4 && access::RANGE == 8,
    "mirrored in shim/access.c"
);

macro_rules! hooks_in_c {
    ($($name:ident)*) => {
        unsafe extern "C" { $(fn $name();)* }
    };
}

hooks_in_c! {
    avmon_read1
    avmon_read2
    avmon_read4
    avmon_read8
    avmon_read16
    avmon_write1
    avmon_write2
    avmon_write4
    avmon_write8
    avmon_write16
    avmon_unaligned_read2
    avmon_unaligned_read4
    avmon_unaligned_read8
    avmon_unaligned_read16
    avmon_unaligned_write2
    avmon_unaligned_write4
    avmon_unaligned_write8
    avmon_unaligned_write16
    avmon_read_write1
    avmon_read_write2
    avmon_read_write4
    avmon_read_write8
    avmon_read_write16
    avmon_unaligned_read_write2
    avmon_unaligned_read_write4
    avmon_unaligned_read_write8
    avmon_unaligned_read_write16
    avmon_read1_pc
    avmon_read2_pc
    avmon_read4_pc
    avmon_read8_pc
    avmon_read16_pc
    avmon_write1_pc
    avmon_write2_pc
    avmon_write4_pc
    avmon_write8_pc
    avmon_write16_pc
    avmon_read_range
    avmon_write_range
    avmon_read_range_pc
    avmon_write_range_pc
    avmon_vptr_read
    avmon_vptr_update
    avmon_external_read
    avmon_external_write
    avmon_volatile_read1
    avmon_volatile_read2
    avmon_volatile_read4
    avmon_volatile_read8
    avmon_volatile_read16
    avmon_volatile_write1
    avmon_volatile_write2
    avmon_volatile_write4
    avmon_volatile_write8
    avmon_volatile_write16
    avmon_unaligned_volatile_read2
    avmon_unaligned_volatile_read4
    avmon_unaligned_volatile_read8
    avmon_unaligned_volatile_read16
    avmon_unaligned_volatile_write2
    avmon_unaligned_volatile_write4
    avmon_unaligned_volatile_write8
    avmon_unaligned_volatile_write16
    avmon_block_entered
}

exports! {
    pub const NAMES;
    __tsan_init => nothing;
    __tsan_read1 in a recording => avmon_read1;
    __tsan_read2 in a recording => avmon_read2;
    __tsan_read4 in a recording => avmon_read4;
    __tsan_read8 in a recording => avmon_read8;
    __tsan_read16 in a recording => avmon_read16;
    __tsan_write1 in a recording => avmon_write1;
    __tsan_write2 in a recording => avmon_write2;
    __tsan_write4 in a recording => avmon_write4;
    __tsan_write8 in a recording => avmon_write8;
    __tsan_write16 in a recording => avmon_write16;
    __tsan_unaligned_read2 in a recording => avmon_unaligned_read2;
    __tsan_unaligned_read4 in a recording => avmon_unaligned_read4;
    __tsan_unaligned_read8 in a recording => avmon_unaligned_read8;
    __tsan_unaligned_read16 in a recording => avmon_unaligned_read16;
    __tsan_unaligned_write2 in a recording => avmon_unaligned_write2;
    __tsan_unaligned_write4 in a recording => avmon_unaligned_write4;
    __tsan_unaligned_write8 in a recording => avmon_unaligned_write8;
    __tsan_unaligned_write16 in a recording => avmon_unaligned_write16;
    __tsan_read_write1 in a recording => avmon_read_write1;
    __tsan_read_write2 in a recording => avmon_read_write2;
    __tsan_read_write4 in a recording => avmon_read_write4;
    __tsan_read_write8 in a recording => avmon_read_write8;
    __tsan_read_write16 in a recording => avmon_read_write16;
    __tsan_unaligned_read_write2 in a recording => avmon_unaligned_read_write2;
    __tsan_unaligned_read_write4 in a recording => avmon_unaligned_read_write4;
    __tsan_unaligned_read_write8 in a recording => avmon_unaligned_read_write8;
    __tsan_unaligned_read_write16 in a recording => avmon_unaligned_read_write16;
    __tsan_read1_pc in a recording => avmon_read1_pc;
    __tsan_read2_pc in a recording => avmon_read2_pc;
    __tsan_read4_pc in a recording => avmon_read4_pc;
    __tsan_read8_pc in a recording => avmon_read8_pc;
    __tsan_read16_pc in a recording => avmon_read16_pc;
    __tsan_write1_pc in a recording => avmon_write1_pc;
    __tsan_write2_pc in a recording => avmon_write2_pc;
    __tsan_write4_pc in a recording => avmon_write4_pc;
    __tsan_write8_pc in a recording => avmon_write8_pc;
    __tsan_write16_pc in a recording => avmon_write16_pc;
    __tsan_read_range in a recording => avmon_read_range;
    __tsan_write_range in a recording => avmon_write_range;
    __tsan_read_range_pc in a recording => avmon_read_range_pc;
    __tsan_write_range_pc in a recording => avmon_write_range_pc;
    __tsan_vptr_read in a recording => avmon_vptr_read;
    __tsan_vptr_update in a recording => avmon_vptr_update;
    __tsan_external_read in a recording => avmon_external_read;
    __tsan_external_write in a recording => avmon_external_write;
    __tsan_volatile_read1 => avmon_volatile_read1;
    __tsan_volatile_read2 => avmon_volatile_read2;
    __tsan_volatile_read4 => avmon_volatile_read4;
    __tsan_volatile_read8 => avmon_volatile_read8;
    __tsan_volatile_read16 => avmon_volatile_read16;
    __tsan_volatile_write1 => avmon_volatile_write1;
    __tsan_volatile_write2 => avmon_volatile_write2;
    __tsan_volatile_write4 => avmon_volatile_write4;
    __tsan_volatile_write8 => avmon_volatile_write8;
    __tsan_volatile_write16 => avmon_volatile_write16;
    __tsan_unaligned_volatile_read2 => avmon_unaligned_volatile_read2;
    __tsan_unaligned_volatile_read4 => avmon_unaligned_volatile_read4;
    __tsan_unaligned_volatile_read8 => avmon_unaligned_volatile_read8;
    __tsan_unaligned_volatile_read16 => avmon_unaligned_volatile_read16;
    __tsan_unaligned_volatile_write2 => avmon_unaligned_volatile_write2;
    __tsan_unaligned_volatile_write4 => avmon_unaligned_volatile_write4;
    __tsan_unaligned_volatile_write8 => avmon_unaligned_volatile_write8;
    __tsan_unaligned_volatile_write16 => avmon_unaligned_volatile_write16;
    // Both copies alike: clang's instrumentation does not promise that a copied structure is not copied onto itself.
    __tsan_memcpy / 3 => avmon_memmove;
    __tsan_memmove / 3 => avmon_memmove;
    __tsan_memset / 3 => avmon_memset;
}

exports! {
    pub const COVERAGE;
    __sanitizer_cov_trace_pc in a recording => avmon_block_entered;
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
