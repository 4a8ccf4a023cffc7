//! Function stacks, and fibers: several of them that take turns on one thread.

use super::record::{record, with_gate};
use super::signals::Blocked;
use super::state::{self, State};
use super::tls::{Frame, OURS, Tls, tls};
use crate::event::Kind;

/// Deeper calls are counted, not kept.
const FRAMES: usize = 1 << 14;
const BYTES: usize = FRAMES * size_of::<Frame>();

/// A function stack that is not running. The program only sees its address.
pub struct Fiber {
    top: *mut Frame,
    end: *mut Frame,
    base: *mut Frame,
    overflow: u64,
}

fn map_stack() -> Option<*mut Frame> {
    // SAFETY: a new anonymous mapping; pages that are never touched cost nothing.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    (address != libc::MAP_FAILED).then_some(address.cast())
}

fn unmap_stack(base: *mut Frame) {
    if !base.is_null() {
        // SAFETY: mapped by `map_stack`, and no pointer into it is left.
        unsafe { libc::munmap(base.cast(), BYTES) };
    }
}

/// Finds a stack for the calling thread's functions. Called by the shim at the thread's first entry hook.
pub extern "C" fn begin_stack() -> libc::c_int {
    let errno = super::record::Errno::save();
    let t = tls();
    // SAFETY: the thread's own state.
    let begun = unsafe {
        let wanted = matches!(state::state(), State::Armed | State::Running) && super::options().functions;
        match (wanted && (*t).gate & OURS == 0).then(map_stack).flatten() {
            Some(base) => {
                (*t).top = base;
                (*t).low = base;
                (*t).base = base;
                (*t).published = base;
                (*t).end = base.add(FRAMES);
                true
            }
            None => false,
        }
    };
    errno.restore();
    libc::c_int::from(begun)
}

/// Gives the calling thread's stack back, at its end.
pub fn end_stack() {
    let t = tls();
    // SAFETY: the thread's own state; without a base no pointer is used.
    unsafe {
        unmap_stack((*t).base);
        forget_stack(t);
    }
}

unsafe fn forget_stack(t: *mut Tls) {
    // SAFETY: the caller owns the state.
    unsafe {
        (*t).top = std::ptr::null_mut();
        (*t).low = std::ptr::null_mut();
        (*t).end = std::ptr::null_mut();
        (*t).base = std::ptr::null_mut();
        (*t).published = std::ptr::null_mut();
        (*t).overflow = 0;
    }
}

/// A new fiber, with an empty stack.
#[must_use]
pub fn create() -> *mut Fiber {
    let _blocked = Blocked::new();
    let null = std::ptr::null_mut;
    Box::into_raw(Box::new(Fiber { top: null(), end: null(), base: null(), overflow: 0 }))
}

/// The fiber that runs on this thread; a thread is one too.
#[must_use]
pub fn current() -> *mut Fiber {
    let t = tls();
    // SAFETY: the thread's own state.
    unsafe {
        if (*t).fiber.is_null() {
            (*t).fiber = create();
        }
        (*t).fiber
    }
}

/// Ends a fiber that is not running.
///
/// # Safety
/// `fiber` came from [`create`] and is not used any more.
pub unsafe fn destroy(fiber: *mut Fiber) {
    if !fiber.is_null() {
        let _blocked = Blocked::new();
        // SAFETY: the contract.
        let fiber = unsafe { Box::from_raw(fiber) };
        unmap_stack(fiber.base);
    }
}

/// Lets the functions of another fiber run on this thread. No transaction spans the switch: the analysis hears that
/// the old stack is gone, and of the new one as if it had just been entered.
///
/// # Safety
/// `fiber` came from [`create`] or [`current`] and runs on no other thread.
pub unsafe fn switch(fiber: *mut Fiber) {
    let running = current();
    if fiber.is_null() || fiber == running {
        return;
    }
    record(Kind::Interfere, 0, 0, 0);
    with_gate(|t| {
        // SAFETY: the gate is ours; the contract for `fiber`; `running` is this thread's.
        unsafe {
            *running = Fiber { top: (*t).top, end: (*t).end, base: (*t).base, overflow: (*t).overflow };
            (*t).top = (*fiber).top;
            (*t).end = (*fiber).end;
            (*t).base = (*fiber).base;
            (*t).overflow = (*fiber).overflow;
            // Its stack belongs to the thread now, which may end in it.
            (*fiber).base = std::ptr::null_mut();
            (*t).low = (*t).base;
            (*t).published = (*t).base;
            (*t).fiber = fiber;
        }
    });
    super::record::forget_published_stack();
}
