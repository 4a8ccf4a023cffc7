//! Function stacks, and fibers: several of them that take turns on one thread.

use super::mapping;
use super::record::{record, with_gate};
use super::signals::Blocked;
use super::state::{self, State};
use super::tls::{Frame, OURS, Tls, tls};
use crate::event::Kind;
use rustc_hash::FxHashMap;
use std::sync::Mutex;

/// Deeper calls are counted, not kept.
const FRAMES: usize = 1 << 14;
const BYTES: usize = FRAMES * size_of::<Frame>();

/// A function stack that is not running. The program only sees its address.
pub struct Fiber {
    top: *mut Frame,
    end: *mut Frame,
    base: *mut Frame,
    overflow: u64,
    running: bool,
    /// How many contexts lead here.
    contexts: u32,
}

fn map_stack() -> Option<*mut Frame> {
    // Pages that are never touched cost nothing.
    let address = mapping::map_anonymous(BYTES);
    (!address.is_null()).then_some(address.cast())
}

fn unmap_stack(base: *mut Frame) {
    if !base.is_null() {
        // SAFETY: mapped by `map_stack`, and no pointer into it is left.
        unsafe { mapping::unmap(base.cast(), BYTES) };
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
                (*t).owes = 1;
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
    // SAFETY: the thread's own state; without a base no pointer is used. A signal handler that comes in between must
    // not find a stack that is gone, so the pointers go first.
    unsafe {
        let base = (*t).base;
        forget_stack(t);
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
        unmap_stack(base);
    }
}

unsafe fn forget_stack(t: *mut Tls) {
    // SAFETY: the caller owns the state.
    unsafe {
        // First what the entry hook looks at: with no room it takes the slow way, and that finds the thread ended.
        (*t).end = (*t).top;
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
        (*t).top = std::ptr::null_mut();
        (*t).low = std::ptr::null_mut();
        (*t).end = std::ptr::null_mut();
        (*t).base = std::ptr::null_mut();
        (*t).published = std::ptr::null_mut();
        (*t).overflow = 0;
    }
}

/// How deep the calling thread is in its functions.
#[must_use]
pub fn top() -> *mut Frame {
    // SAFETY: the thread's own state.
    unsafe { (*tls()).top }
}

/// Leaves the functions above `top`, which was the answer of [`top`] in a function that is still open.
pub fn back_to(top: *mut Frame) {
    let t = tls();
    // SAFETY: the thread's own state.
    unsafe {
        if !top.is_null() && (*t).overflow == 0 {
            (*t).top = top;
            (*t).low = (*t).low.min(top);
            (*t).owes = 1;
        }
    }
}

/// A new fiber, with an empty stack.
#[must_use]
pub fn create() -> *mut Fiber {
    let _blocked = Blocked::new();
    let null = std::ptr::null_mut;
    let fiber = Fiber { top: null(), end: null(), base: null(), overflow: 0, running: false, contexts: 0 };
    Box::into_raw(Box::new(fiber))
}

/// The fiber that runs on this thread; a thread is one too.
#[must_use]
pub fn current() -> *mut Fiber {
    let t = tls();
    // SAFETY: the thread's own state.
    unsafe {
        if (*t).fiber.is_null() {
            (*t).fiber = create();
            (*(*t).fiber).running = true;
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

/// The fibers of the contexts that the program switches between with `swapcontext`, by the address of the context.
static CONTEXTS: Mutex<Option<FxHashMap<usize, Handle>>> = Mutex::new(None);

/// A context's part in a fiber. One fiber can be found at several contexts: it was left there at different times.
struct Handle(*mut Fiber);

// SAFETY: an address; only the thread that runs the context, or has the map locked, looks behind it.
unsafe impl Send for Handle {}

impl Handle {
    fn new(fiber: *mut Fiber) -> Handle {
        // SAFETY: a live fiber, and the map is locked.
        unsafe { (*fiber).contexts += 1 };
        Handle(fiber)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: a live fiber, and the map is locked. What no context leads to and no thread runs is over.
        unsafe {
            (*self.0).contexts -= 1;
            if (*self.0).contexts == 0 && !(*self.0).running {
                destroy(self.0);
            }
        }
    }
}

/// A program that makes new contexts for ever and never reuses an address makes us forget them all now and then; their
/// functions are then taken for newly entered ones.
const MOST_CONTEXTS: usize = 1 << 12;

fn with_contexts<R>(work: impl FnOnce(&mut FxHashMap<usize, Handle>) -> R) -> R {
    let _blocked = Blocked::new();
    let mut contexts = CONTEXTS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let contexts = contexts.get_or_insert_default();
    if contexts.len() > MOST_CONTEXTS {
        contexts.clear();
    }
    work(contexts)
}

/// The program begins a new life for a context: it has entered no function yet.
pub fn make_context(context: usize) {
    with_contexts(|contexts| contexts.remove(&context));
}

/// The program leaves the context that runs, to be found again at `from` (0: not at all), and goes on with `to`.
pub fn swap_context(from: usize, to: usize) {
    if !matches!(state::state(), State::Armed | State::Running) {
        return;
    }
    let running = current();
    let next = with_contexts(|contexts| {
        let next = contexts.entry(to).or_insert_with(|| Handle::new(create())).0;
        if from != 0 {
            contexts.insert(from, Handle::new(running));
        }
        next
    });
    // SAFETY: made by `create`; a context runs on one thread at a time, and its handle keeps the fiber.
    unsafe { switch(next) };
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
            (*running).top = (*t).top;
            (*running).end = (*t).end;
            (*running).base = (*t).base;
            (*running).overflow = (*t).overflow;
            (*running).running = false;
            (*fiber).running = true;
            (*t).top = (*fiber).top;
            (*t).end = (*fiber).end;
            (*t).base = (*fiber).base;
            (*t).overflow = (*fiber).overflow;
            // Its stack belongs to the thread now, which may end in it.
            (*fiber).base = std::ptr::null_mut();
            (*t).low = (*t).base;
            (*t).published = (*t).base;
            (*t).owes = 1;
            (*t).fiber = fiber;
        }
    });
    super::record::forget_published_stack();
}
