//! How a hook records an event: into the thread's own chunk, with a number of the object's stripe.
//!
//! The fast path is a dozen instructions and one atomic addition. Everything else (a new chunk, function frames that
//! the analysis does not know yet, awaits that were put off) happens on the way to the next event.

use super::chunk::{BYTES, Chunk, EVENTS};
use super::recording::{has_values, is_recording, tell_end_of_stack, tell_stack, tell_time, tell_written};
use super::registry::{self, Record};
use super::signals::Blocked;
use super::state::{self, State, TORN, UNSEEN};
use super::tls::{BUSY, IGNORE_STEP, OURS, PENDING, Tls, no_chunk, stack_pointer, tls};
use super::{early, mapping, pipeline, stack, steering, stripes};
use crate::event::{Event, Kind, Mode, ThreadId, stripe_of};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU32, Ordering, compiler_fence};

pub use super::recording::{start_recording, stop_recording};

/// Records an event of the calling thread, if the monitor runs and the thread may be recorded now.
#[inline(always)]
pub fn record(kind: Kind, detail: u8, object: u64, pc: u64) {
    let t = tls();
    // SAFETY: a thread's own state is always there; between the two gates this is its only hook at work.
    unsafe {
        if !shut_gate(t) {
            return;
        }
        if Chunk::<EVENTS>::has_room((*t).chunk) && is_settled(t) {
            put_in_room(t, kind, detail, 0, object, pc);
        } else {
            record_slowly(t, kind, detail, object, pc);
        }
        open_gate(t);
    }
}

/// Something must be said first, or there is no room: the rare case, out of the way of the common one.
#[cold]
#[inline(never)]
unsafe extern "C" fn record_slowly(t: *mut Tls, kind: Kind, detail: u8, object: u64, pc: u64) {
    // SAFETY: the caller shut the gate.
    unsafe {
        if is_settled(t) || settle(t) {
            if is_recording() {
                tell_time(t);
            }
            put(t, kind, detail, 0, object, pc);
        } else {
            not_recorded(t, kind, object, pc);
        }
    }
}

/// Keeps the hooks of a signal handler out of what follows. False: this is such a handler, or not to be recorded.
#[inline(always)]
pub(super) unsafe fn shut_gate(t: *mut Tls) -> bool {
    // SAFETY: the calling thread's own state.
    unsafe {
        if (*t).gate != 0 {
            refuse((*t).gate);
            return false;
        }
        (*t).gate = stack_pointer();
    }
    // The handler runs on this thread, so the compiler is the only one that could reorder.
    compiler_fence(Ordering::SeqCst);
    true
}

#[inline(always)]
pub(super) unsafe fn open_gate(t: *mut Tls) {
    compiler_fence(Ordering::SeqCst);
    // A plain store: clearing one bit would be a byte store, and the next hook's four-byte load would stall on it.
    // SAFETY: the calling thread's own state.
    unsafe { (*t).gate = 0 };
}

/// Runs a hook's work behind a shut gate.
pub fn with_gate(work: impl FnOnce(*mut Tls)) {
    let t = tls();
    // SAFETY: a thread's own state is always there.
    unsafe {
        if shut_gate(t) {
            work(t);
            open_gate(t);
        }
    }
}

#[cold]
pub(super) fn refuse(gate: u64) {
    if gate & BUSY != 0 && gate & OURS == 0 && state::is_running() {
        UNSEEN.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether nothing must be said before the next event. In a recording it is not worth looking: there may be the time to tell.
#[inline(always)]
unsafe fn is_settled(t: *mut Tls) -> bool {
    // SAFETY: the caller owns the state; `cancelled` is read through an atomic view since another thread sets it.
    unsafe {
        (*t).top == (*t).published
            && (*t).low == (*t).published
            && (*t).deferred_lock == 0
            && (*t).pending_count == 0
            && cancelled(t).load(Ordering::Relaxed) == 0
            && !is_recording()
    }
}

/// What another thread sets to make this one settle before its next access.
#[inline(always)]
unsafe fn owes<'a>(t: *mut Tls) -> &'a AtomicU32 {
    // SAFETY: aligned, and alive as long as the thread.
    unsafe { AtomicU32::from_ptr(&raw mut (*t).owes) }
}

#[inline(always)]
unsafe fn cancelled<'a>(t: *mut Tls) -> &'a AtomicU32 {
    // SAFETY: aligned, and alive as long as the thread.
    unsafe { AtomicU32::from_ptr(&raw mut (*t).cancelled) }
}

/// Says what the analysis must know before the thread's next event. False: nothing can be recorded now.
#[cold]
#[inline(never)]
pub(super) unsafe extern "C" fn settle(t: *mut Tls) -> bool {
    // SAFETY: the caller owns the state; frame pointers stay inside the thread's shadow stack.
    unsafe {
        if !Chunk::<EVENTS>::has_room((*t).chunk) && !make_room(t) {
            return false;
        }
        if is_recording() {
            // With values there may always be one to read back. Cleared first: whoever cancels this thread sets it last.
            owes(t).store(u32::from(has_values()), Ordering::Relaxed);
            tell_written(t);
        }
        if cancelled(t).swap(0, Ordering::AcqRel) != 0 {
            put(t, Kind::Await, 0, 0, (*t).record.addr() as u64, 0);
        }
        flush_pending(t);
        if (*t).deferred_lock != 0 {
            // Still held, so the number that it gets now lies between the real acquire and the real release.
            let lock = std::mem::take(&mut (*t).deferred_lock);
            put(t, Kind::Acquire, Mode::Exclusive as u8, 0, lock, (*t).deferred_pc);
        }
        let top = (*t).top;
        // After an overflow `low` stands above all frames, and what was popped before it is unknown.
        let low = if (*t).low > top { (*t).base } else { (*t).low };
        let base = (*t).base;
        let depth = |frame: *mut super::tls::Frame| frame.offset_from_unsigned(base) as u64;
        if !base.is_null() && (low != (*t).published || top != low) {
            // Before they are said: if some of that is lost, all of it must be said again, and `exchange_chunk` notes
            // that here.
            (*t).published = top;
            (*t).low = top;
            if low == top {
                put(t, Kind::Leave, 0, depth(low), 0, 0);
            }
            let mut frame = low;
            while frame < top {
                put(t, Kind::Enter, 0, depth(frame), (*frame).inside, (*frame).call);
                frame = frame.add(1);
            }
        }
        true
    }
}

unsafe fn flush_pending(t: *mut Tls) {
    // SAFETY: the caller owns the state; the count is at most the array's length.
    unsafe {
        let count = ((*t).pending_count as usize).min(PENDING);
        (*t).pending_count = 0;
        let pending = (*t).pending;
        for &object in pending.iter().take(count) {
            put(t, Kind::Await, 0, 0, object, 0);
        }
    }
}

/// Writes one event, if there is room or can be made. `number` is used by kinds that take none from a stripe.
pub(super) unsafe fn put(t: *mut Tls, kind: Kind, detail: u8, number: u64, object: u64, pc: u64) -> bool {
    // SAFETY: the caller shut the gate.
    unsafe {
        let room = Chunk::<EVENTS>::has_room((*t).chunk) || make_room(t);
        if room {
            put_in_room(t, kind, detail, number, object, pc);
        } else {
            not_recorded(t, kind, object, pc);
        }
        room
    }
}

#[inline(always)]
unsafe fn put_in_room(t: *mut Tls, kind: Kind, detail: u8, number: u64, object: u64, pc: u64) {
    // SAFETY: the caller shut the gate, and saw that the thread's chunk has room.
    unsafe {
        let number = if kind.is_ordered() { stripes::take(Event::stripe(kind, object)) } else { number };
        (*(*t).chunk).put(Event::new(kind, detail, number, object, pc));
    }
}

#[cold]
#[inline(never)]
pub(super) unsafe extern "C" fn not_recorded(t: *mut Tls, kind: Kind, object: u64, pc: u64) {
    match state::state() {
        State::Armed => early::remember(kind, object, pc),
        // SAFETY: the caller owns the state.
        State::Running => unsafe {
            (*t).lost = (*t).lost.saturating_add(1);
            state::LOST.fetch_add(1, Ordering::Relaxed);
        },
        // SAFETY: the caller owns the state.
        State::Steered => unsafe { steering::recorded(t, kind, object, pc) },
        State::Off | State::Draining | State::Declined | State::Dead => {}
    }
}

/// Gives the thread a chunk with room: the slow path of every hook. Keeps `errno`.
///
/// A thread whose cancellation is asynchronous may be unwound out of any hook that is made of nothing but instructions.
/// Frames with something to drop do not allow that, so they exist only while signals are blocked; and the calls to
/// them are by the C ABI, which tells the compiler that nothing comes back by unwinding.
#[cold]
#[inline(never)]
pub(super) unsafe extern "C" fn make_room(t: *mut Tls) -> bool {
    if !state::is_running_here() {
        return false;
    }
    let errno = Errno::save();
    let mut blocked = ManuallyDrop::new(Blocked::new());
    // SAFETY: the caller owns the state. The guard is not used again.
    unsafe {
        let room = exchange_chunk(t, &blocked);
        ManuallyDrop::drop(&mut blocked);
        errno.restore();
        room
    }
}

#[inline(never)]
unsafe extern "C" fn exchange_chunk(t: *mut Tls, blocked: &Blocked) -> bool {
    // SAFETY: the caller owns the state; the record lives as long as its thread.
    unsafe {
        let adopted = (*t).record.is_null();
        if adopted {
            registry::adopt(t);
        }
        let record = &*(*t).record;
        hand_over(t, record, blocked);
        let Some(chunk) = pipeline::current().and_then(|pipeline| pipeline.fresh_chunk(blocked)) else {
            return false;
        };
        chunk.reset(record.id, record.next_serial());
        (*t).chunk = chunk;
        record.open_chunk.store(std::ptr::from_ref(chunk).cast_mut(), Ordering::Release);
        if adopted {
            put(t, Kind::Start, 0, 0, u64::from(record.id), 0);
            if is_recording() {
                tell_stack(t, stack::bounds(record.stack, blocked));
            }
        }
        if (*t).lost != 0 {
            put(t, Kind::Lost, 0, u64::from(std::mem::take(&mut (*t).lost)), 0, 0);
            // What was said about the stack may have been among the lost: say all of it again.
            put(t, Kind::Leave, 0, 0, 0, 0);
            (*t).published = (*t).base;
            (*t).low = (*t).base;
            (*t).owes = 1;
        }
        true
    }
}

/// Sends the thread's chunk to the worker, full or not.
unsafe fn hand_over(t: *mut Tls, record: &Record, blocked: &Blocked) {
    // SAFETY: the caller owns the state; the open chunk is null or a real one.
    unsafe {
        (*t).chunk = no_chunk();
        let chunk = record.open_chunk.swap(std::ptr::null_mut(), Ordering::AcqRel);
        if let (Some(chunk), Some(pipeline)) = (chunk.as_ref(), pipeline::current()) {
            pipeline.send_chunk(chunk, blocked);
        }
    }
}

/// First event of a thread that the program created: `registry` gave it its record.
pub fn begin_thread(start_routine: u64) {
    with_gate(|t| {
        // SAFETY: the gate is ours.
        unsafe {
            put(t, Kind::Start, 0, 0, u64::from((*(*t).record).id), start_routine);
            if is_recording() {
                tell_stack(t, stack::bounds((*(*t).record).stack, &Blocked::new()));
            }
        }
    });
}

/// Tells what a thread is called from now on.
pub fn name(thread: ThreadId, name: &[u8]) {
    let named = Event::name(thread, name);
    with_gate(|t| {
        // SAFETY: the gate is ours.
        unsafe {
            if is_settled(t) || settle(t) {
                put(t, Kind::Name, 0, named.number(), named.object, named.pc);
            }
        }
    });
}

/// Called when a thread left a hook of its own in the middle.
pub extern "C" fn hook_torn() {
    TORN.fetch_add(1, Ordering::Relaxed);
}

/// Last event of a thread. From now on it is not recorded any more.
pub fn end_thread() {
    let t = tls();
    // SAFETY: the thread's own state. No hook is at work any more, even if the gate is still shut: an asynchronous
    // cancellation tore the thread out of one, or an annotated stretch was never left.
    unsafe {
        if (*t).gate & OURS != 0 {
            return;
        }
        if (*t).gate & BUSY != 0 {
            hook_torn();
        }
        (*t).gate = OURS;
        if steering::is_on() && state::is_armed_process() {
            return steering::end(t);
        }
        if (*t).record.is_null() || !state::is_running_here() {
            return;
        }
        let record = &*(*t).record;
        if is_settled(t) || settle(t) {
            tell_end_of_stack(t);
            put(t, Kind::End, 0, 0, u64::from(record.id), 0);
        }
        hand_over(t, record, &Blocked::new());
        (*t).record = std::ptr::null_mut();
        registry::ended(record);
    }
}

/// Says that no function is open on this thread; those that are will be said again as if they were just entered.
pub fn forget_published_stack() {
    with_gate(|t| {
        // SAFETY: the gate is ours.
        unsafe { put(t, Kind::Leave, 0, 0, 0, 0) };
    });
}

/// Makes the calling thread a new one to the monitor, in the child of a fork. Its function stack stays.
/// False: a signal handler forked in the middle of a hook, which will go on with what it has and cannot start anew.
#[must_use]
pub fn forget_thread() -> bool {
    let t = tls();
    // SAFETY: the thread's own state.
    unsafe {
        if (*t).gate & BUSY != 0 {
            leave_chunk(t);
            return false;
        }
        (*t).record = std::ptr::null_mut();
        (*t).chunk = no_chunk();
        (*t).pending_count = 0;
        (*t).deferred_lock = 0;
        (*t).lost = 0;
        (*t).owes = 1;
        (*t).branches = 0;
        (*t).written_size = 0;
        (*t).told_time = 0;
        (*t).stack = 0;
        (*t).seat = std::ptr::null_mut();
        (*t).published = (*t).base;
        if (*t).overflow == 0 {
            (*t).low = (*t).base;
        }
    }
    true
}

/// Stops recording in the child of a fork that ran no fork handlers.
pub fn leave_parent() {
    let t = tls();
    // SAFETY: the thread's own state.
    unsafe {
        (*t).gate = OURS;
        leave_chunk(t);
        (*t).chunk = no_chunk();
    }
    stop_recording();
}

/// Puts new memory in the place of the thread's chunk, in the child of a fork. A recording has its chunks in a mapping that the
/// child shares, and a signal handler may have forked in the middle of a hook, which then goes on and writes there.
unsafe fn leave_chunk(t: *mut Tls) {
    // SAFETY: the thread's own state; a chunk that is not the lone count of `no_chunk` is made of whole pages, which nobody else
    // in this process uses.
    unsafe {
        let chunk = (*t).chunk;
        if is_recording() && chunk != no_chunk() {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            mapping::map(chunk.cast_mut().cast(), BYTES, access, flags, -1, 0);
        }
    }
}

/// Records that a mutex was acquired, unless this looks like a repetition.
///
/// A thread that takes and gives back one mutex again and again at one place, with no other event in between and
/// without anybody else having taken it, says nothing new from the third time on: the first two make the window of a
/// loop, and nobody saw the state between the others, so no clock and no window that they would make differs from
/// those in any comparison (`tests/runtime_repetitions.rs`). Such an acquire is put off; if the release is the next event,
/// both are dropped, and if anything else comes, the acquire is recorded first. Function frames must not have
/// changed: the same place called by another function is another window. A recording is of everything.
#[inline(always)]
pub fn acquire_mutex(lock: u64, pc: u64) {
    let t = tls();
    // SAFETY: the thread's own state, and its own chunk.
    unsafe {
        if let Some((acquire, release)) = Chunk::<EVENTS>::last_two((*t).chunk)
            && release.object == lock
            && acquire.object == lock
            && acquire.pc == pc
            && is_repetition(t, release)
        {
            if acquire.is_repeated_acquire() {
                (*t).deferred_pc = pc;
                (*t).deferred_number = release.number() + 1;
                compiler_fence(Ordering::SeqCst);
                (*t).deferred_lock = lock;
            } else {
                let repeated = if acquire.kind() == Some(Kind::Acquire) { Event::REPEATED } else { 0 };
                record(Kind::Acquire, Mode::Exclusive as u8 | repeated, lock, pc);
            }
        } else {
            record(Kind::Acquire, Mode::Exclusive as u8, lock, pc);
        }
    }
}

#[inline(always)]
unsafe fn is_repetition(t: *mut Tls, release: Event) -> bool {
    // SAFETY: the thread's own state.
    unsafe {
        release.kind() == Some(Kind::Release)
            && stripes::next(stripe_of(release.object)) == release.number() + 1
            && (*t).gate == 0
            && is_settled(t)
    }
}

/// Before a mutex is released: drops its acquire, if that was put off and nothing came since. False: the release must be
/// recorded. Whoever tried to take the mutex meanwhile and was refused has seen that it was held, and must find out by whom.
#[inline(always)]
#[must_use]
pub fn drop_acquire(lock: u64) -> bool {
    let t = tls();
    // SAFETY: the thread's own state. Behind the gate no signal handler can record the acquire between look and drop.
    unsafe {
        if (*t).deferred_lock != lock || (*t).gate != 0 || stripes::next(stripe_of(lock)) != (*t).deferred_number {
            return false;
        }
        (*t).gate = stack_pointer();
        compiler_fence(Ordering::SeqCst);
        let dropped = (*t).deferred_lock == lock;
        if dropped {
            (*t).deferred_lock = 0;
        }
        open_gate(t);
        dropped
    }
}

/// A release that may repeat: a second signal on one object right after the first says nothing new.
#[inline(always)]
pub fn signal_once(object: u64, pc: u64) {
    if may_record() || steering::is_on() {
        signal_once_now(object, pc);
    }
}

/// Whether a hook that sits in the middle of the program's own code should go on. Such a hook looks first and only then
/// calls a function that cannot unwind: so it has no frame that an asynchronous cancellation could not pass.
#[inline(always)]
pub(super) fn may_record() -> bool {
    // SAFETY: the thread's own state.
    state::is_running() && unsafe { (*tls()).gate } == 0
}

/// A volatile write, which older code tells another thread with that something is ready. The hook comes before the write, as a
/// signal must.
pub extern "C" fn signal_once_from_c(address: u64, pc: u64) {
    signal_once(address, pc);
}

#[inline(never)]
extern "C" fn signal_once_now(object: u64, pc: u64) {
    let t = tls();
    // SAFETY: the thread's own state, and its own chunk.
    let repeated = unsafe {
        is_settled(t)
            && Chunk::<EVENTS>::last_two((*t).chunk)
                .is_some_and(|(_, last)| last.kind() == Some(Kind::Signal) && last.object == object)
    };
    if !repeated {
        record(Kind::Signal, 0, object, pc);
    }
}

/// An acquire that may be said later: it is emitted, numbered, before the thread's next event. It only matters to
/// what the thread does next, and a later number can only add order; so a thread that spins emits one, not millions.
#[inline(always)]
pub fn await_later(object: u64) {
    if may_record() {
        await_later_now(object);
    }
}

/// A volatile read awaits the writes. The hook comes before the read; the await takes its number only before this thread's next
/// event, which is after the read, so it follows the signal of whatever write the read saw.
pub extern "C" fn await_later_from_c(address: u64) {
    await_later(address);
}

#[inline(never)]
extern "C" fn await_later_now(object: u64) {
    with_gate(|t| {
        // SAFETY: the gate is ours; the count is at most the array's length.
        unsafe {
            let count = (*t).pending_count as usize;
            let pending = (*t).pending;
            if pending.iter().take(count).any(|&p| p == object) {
                return;
            }
            if count == PENDING && settle(t) {
                (*t).pending_count = 0;
            }
            let count = (*t).pending_count as usize;
            if let Some(slot) = (*t).pending.get_mut(count) {
                *slot = object;
                (*t).pending_count = count as u32 + 1;
                (*t).owes = 1;
            }
        }
    });
}

/// From now on this thread's relaxed stores are ordered like releases.
pub fn fence_release() {
    // SAFETY: the thread's own state.
    unsafe { (*tls()).fenced = 1 };
}

/// Whether this thread executed a release fence.
#[must_use]
pub fn has_release_fence() -> bool {
    // SAFETY: the thread's own state.
    unsafe { (*tls()).fenced != 0 }
}

/// Enters (`true`) or leaves a stretch in which synchronisation is an implementation detail of an annotated lock.
pub fn ignore_sync(enter: bool) {
    let t = tls();
    // SAFETY: the thread's own state.
    unsafe {
        (*t).gate = if enter {
            (*t).gate.saturating_add(IGNORE_STEP)
        } else if (*t).gate >= IGNORE_STEP {
            (*t).gate - IGNORE_STEP
        } else {
            (*t).gate
        };
    }
}

/// Thread `target` is being cancelled: what it does next, it does because of the canceller.
pub fn cancel(target: ThreadId, pc: u64) {
    if let Some(object) = registry::with(target, |record| std::ptr::from_ref(record).addr() as u64) {
        record(Kind::Signal, 0, object, pc);
    }
    registry::with(target, |record| {
        if let Some(state) = std::ptr::NonNull::new(record.tls.load(Ordering::Acquire)) {
            // SAFETY: a thread takes its state out of the registry before it ends, which it cannot do under our lock.
            unsafe {
                cancelled(state.as_ptr()).store(1, Ordering::Release);
                owes(state.as_ptr()).store(1, Ordering::Release);
            }
        }
    });
}

/// Keeps the program's `errno` over a slow path that makes system calls.
pub struct Errno(i32);

impl Errno {
    #[must_use]
    pub fn save() -> Errno {
        // SAFETY: always a valid thread-local address.
        Errno(unsafe { *libc::__errno_location() })
    }

    pub fn restore(self) {
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = self.0 }
    }
}
