//! Questions that a program can ask the runtime library about its reports and its heap. There are none to tell of:
//! each answers nothing, which every caller must expect.

use super::super::export::exports;

exports! {
    pub const NAMES;
    __tsan_get_current_report => none;
    __tsan_get_report_data => none;
    __tsan_get_report_tag => none;
    __tsan_get_report_stack => none;
    __tsan_get_report_mop => none;
    __tsan_get_report_loc => none;
    __tsan_get_report_loc_object_type => none;
    __tsan_get_report_mutex => none;
    __tsan_get_report_thread => none;
    __tsan_get_report_unique_tid => none;
    __tsan_describe_mop => none;
    __tsan_describe_loc => none;
    __tsan_describe_mutex => none;
    __tsan_describe_thread => none;
    __tsan_locate_address => none;
    __tsan_get_alloc_stack => none;
    __tsan_flush_memory => none;
    __tsan_on_thread_idle => none;
    __tsan_external_register_tag => tag;
    __tsan_external_register_header => none;
    __tsan_external_assign_tag => none;
}

unsafe extern "C" fn none() -> u64 {
    0
}

/// A tag stands for a type of object; the address of its name is as good an identity as any.
unsafe extern "C" fn tag(name: u64) -> u64 {
    name
}
