//! Threads: created, joined, cancelled, named. The joins, which can be cancelled, and the cancelling
//! itself are in `shim/wait.c`.

use super::real::{self, Object};
use super::shim;
use crate::event::{Kind, ThreadId};
use crate::replay::schedule::Act;
use crate::runtime::registry::{self, Record};
use crate::runtime::stack::Given;
use crate::runtime::state;
use crate::runtime::{self, pins, process, record, steering, tls};
use libc::{c_char, c_int, pthread_attr_t, pthread_t};

/// `thrd_success` is 0 as well.
const SUCCESS: c_int = 0;

/// Announces a new thread, lets `create` make it, and says what became of it.
unsafe fn create(
    thread: *mut pthread_t,
    routine: Object,
    argument: Object,
    attributes: *const pthread_attr_t,
    pc: u64,
    create: impl FnOnce(Option<&'static Record>) -> c_int,
) -> c_int {
    process::start();
    // SAFETY: the thread's own state.
    let is_ours = unsafe { (*tls::tls()).gate & tls::OURS != 0 };
    if !(state::is_running_here() || steering::is_on()) || is_ours {
        return create(None);
    }
    // In a steered run the thread stops before its child has a number: whoever creates the next one is decided there.
    steering::before(Act::Fork, 0, pc);
    // SAFETY: the program's own attributes.
    let child = registry::create(routine, argument, unsafe { Given::by(attributes) });
    let id = child.id;
    if !steering::is_on() {
        record(Kind::Fork, 0, u64::from(id), pc);
    }
    steering::announce(id);
    let result = create(Some(child));
    if result == SUCCESS {
        // SAFETY: a successful create stored it.
        unsafe { registry::created(id, thread) };
    } else {
        record(Kind::Join, 0, u64::from(id), pc);
        registry::discard(id);
        steering::withdraw(id);
    }
    steering::after();
    result
}

pub unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    routine: Object,
    argument: Object,
    pc: u64,
) -> c_int {
    // SAFETY: the program's own call, with our trampoline in front of its routine.
    unsafe {
        create(thread, routine, argument, attributes, pc, |record| match record {
            None => real::pthread_create()(thread, attributes, routine, argument),
            Some(record) => {
                let trampoline = shim::avmon_trampoline as *mut libc::c_void;
                let record = std::ptr::from_ref(record).cast_mut().cast();
                real::pthread_create()(thread, attributes, trampoline, record)
            }
        })
    }
}

pub unsafe extern "C" fn thrd_create(thread: *mut pthread_t, routine: Object, argument: Object, pc: u64) -> c_int {
    // SAFETY: as above.
    unsafe {
        create(thread, routine, argument, std::ptr::null(), pc, |record| match record {
            None => real::thrd_create()(thread, routine, argument),
            Some(record) => {
                let trampoline = shim::avmon_trampoline_c11 as *mut libc::c_void;
                real::thrd_create()(thread, trampoline, std::ptr::from_ref(record).cast_mut().cast())
            }
        })
    }
}

/// Called by the trampoline, first thing in the new thread.
pub unsafe extern "C" fn begin(record: *const Record) {
    // SAFETY: `create` passed a record, which lives as long as this thread.
    let record = unsafe { &*record };
    registry::enter(record);
    process::watch_thread_end();
    crate::runtime::record::begin_thread(record.routine.addr() as u64);
}

/// No thread: the `pthread_t` is not one that we know.
const NOBODY: u64 = u64::MAX;

/// Called by the shim before a join, which may be one that comes back before the other thread has ended.
#[must_use]
pub extern "C" fn join_begin(pthread: pthread_t, is_endless: c_int, pc: u64) -> u64 {
    if !(state::is_running_here() || steering::is_on()) {
        return NOBODY;
    }
    let Some(id) = registry::find(pthread) else { return NOBODY };
    steering::join_begin(id, is_endless != 0, pc);
    u64::from(id)
}

/// Called by the shim after a successful join. Waiting for another thread is a declared interference point.
pub extern "C" fn join_end(id: u64, pc: u64) {
    if id != NOBODY {
        record(Kind::Interfere, 0, 0, pc);
        record(Kind::Join, 0, id, pc);
        pins::joined(id as ThreadId);
        registry::joined(id as ThreadId);
    }
}

pub unsafe extern "C" fn pthread_tryjoin_np(thread: pthread_t, value: *mut Object, pc: u64) -> c_int {
    let id = join_begin(thread, 0, pc);
    // SAFETY: the program's own call.
    let result = unsafe { real::pthread_tryjoin_np()(thread, value) };
    if result == 0 {
        join_end(id, pc);
    }
    result
}

/// Called by the shim before a thread is cancelled.
pub extern "C" fn cancel_begin(thread: pthread_t, pc: u64) {
    if (state::is_running_here() || steering::is_on())
        && let Some(target) = registry::find(thread)
    {
        crate::runtime::record::cancel(target, pc);
    }
}

pub(super) unsafe extern "C" fn pthread_setname_np(thread: pthread_t, name: *const c_char, _pc: u64) -> c_int {
    // SAFETY: the program's own call; a name that the real function accepted is a C string.
    unsafe {
        let result = real::pthread_setname_np()(thread, name);
        if result == 0
            && state::is_running_here()
            && let Some(target) = registry::find(thread)
        {
            runtime::record::name(target, std::ffi::CStr::from_ptr(name).to_bytes());
        }
        result
    }
}

/// In front of `prctl`, by which a thread can name itself too.
pub unsafe extern "C" fn before_prctl(option: c_int, name: *const c_char) {
    if option == libc::PR_SET_NAME && state::is_running_here() {
        // SAFETY: a name that the kernel is about to read too.
        unsafe { runtime::name_thread(name) };
    }
}
