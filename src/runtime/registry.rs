//! The program's threads: who they are, who made them, and which chunk each of them fills.

use super::chunk::Chunk;
use super::pins::Asked;
use super::signals::Blocked;
use super::stack::Given;
use super::tasks;
use super::tls::{Tls, tls};
use crate::event::ThreadId;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

/// One thread. The C trampoline reads the first two fields. The thread itself uses its record freely; all others only
/// under the registry's lock.
#[repr(C)]
pub struct Record {
    pub routine: *mut libc::c_void,
    pub argument: *mut libc::c_void,
    pub id: ThreadId,
    pthread: AtomicU64,
    /// The chunk that the thread writes now. Only the thread stores it.
    pub open_chunk: AtomicPtr<Chunk>,
    /// The thread's state, from its start to its end.
    pub tls: AtomicPtr<Tls>,
    serial: AtomicU32,
    pub stack: Given,
    pub asked: Asked,
}

// SAFETY: the two raw pointers are the program's, and only handed back to it in the new thread.
unsafe impl Sync for Record {}
// SAFETY: as above.
unsafe impl Send for Record {}

impl Record {
    /// Counts this thread's chunks.
    pub fn next_serial(&self) -> u32 {
        self.serial.fetch_add(1, Ordering::Relaxed)
    }
}

/// An ended thread may still be joined; but not all of them are remembered for ever.
const MOST_ENDED: usize = 1 << 14;

struct Registry {
    next: ThreadId,
    /// Threads that have begun and not ended.
    live: usize,
    threads: FxHashMap<ThreadId, &'static Record>,
    by_pthread: FxHashMap<u64, ThreadId>,
    ended: VecDeque<ThreadId>,
}

impl Registry {
    fn set_pthread(&mut self, record: &Record, pthread: u64) {
        record.pthread.store(pthread, Ordering::Relaxed);
        self.by_pthread.insert(pthread, record.id);
    }

    fn forget_pthread(&mut self, record: &Record) {
        let pthread = record.pthread.load(Ordering::Relaxed);
        if self.by_pthread.get(&pthread) == Some(&record.id) {
            self.by_pthread.remove(&pthread);
        }
    }

    fn free(&mut self, id: ThreadId) {
        if let Some(record) = self.threads.remove(&id) {
            self.forget_pthread(record);
            // SAFETY: leaked by `new_record`. Its own thread never was or uses it no more, and everybody else finds
            // it through this map and under its lock.
            drop(unsafe { Box::from_raw(std::ptr::from_ref(record).cast_mut()) });
        }
    }
}

static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);

/// The registry, locked.
struct Locked {
    // Dropped in this order.
    guard: MutexGuard<'static, Option<Registry>>,
    _blocked: Blocked,
}

impl std::ops::Deref for Locked {
    type Target = Option<Registry>;
    fn deref(&self) -> &Option<Registry> {
        &self.guard
    }
}

impl std::ops::DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut Option<Registry> {
        &mut self.guard
    }
}

fn registry() -> Locked {
    let blocked = Blocked::new();
    Locked { guard: REGISTRY.lock().unwrap_or_else(std::sync::PoisonError::into_inner), _blocked: blocked }
}

/// Forgets all threads without freeing anything, in the child of a fork: there they are gone, and whoever held the
/// lock is gone with them.
///
/// # Safety
/// No other thread exists.
pub unsafe fn forget_all() {
    // SAFETY: the contract; writing over the old value drops nothing.
    unsafe { (&raw const REGISTRY).cast_mut().write(Mutex::new(None)) };
}

fn new_record(
    id: Option<ThreadId>,
    routine: *mut libc::c_void,
    argument: *mut libc::c_void,
    stack: Given,
) -> &'static Record {
    let mut registry = registry();
    // 0 is the main thread's.
    let registry = registry.get_or_insert_with(|| Registry {
        next: 1,
        live: 0,
        threads: FxHashMap::default(),
        by_pthread: FxHashMap::default(),
        ended: VecDeque::new(),
    });
    let id = id.unwrap_or(registry.next);
    registry.next = registry.next.max(id + 1);
    let record: &'static Record = Box::leak(Box::new(Record {
        routine,
        argument,
        id,
        pthread: AtomicU64::new(0),
        open_chunk: AtomicPtr::default(),
        tls: AtomicPtr::default(),
        serial: AtomicU32::new(0),
        stack,
        asked: Asked::by_child(),
    }));
    registry.threads.insert(id, record);
    record
}

/// The record of a thread that the calling thread is about to create.
pub fn create(routine: *mut libc::c_void, argument: *mut libc::c_void, stack: Given) -> &'static Record {
    new_record(None, routine, argument, stack)
}

/// Ties a record to the calling thread.
pub fn enter(record: &'static Record) {
    let t = tls();
    // SAFETY: the thread's own state; the calls are always allowed.
    let pthread = unsafe {
        (*t).record = std::ptr::from_ref(record).cast_mut();
        (*t).os_thread_id = tasks::me();
        libc::pthread_self()
    };
    let mut registry = registry();
    record.tls.store(t, Ordering::Release);
    if let Some(registry) = registry.as_mut() {
        registry.live += 1;
        registry.set_pthread(record, pthread);
    }
}

/// Called by the creator of thread `id`, so that it can be joined before it has run for the first time.
///
/// # Safety
/// `pthread` is where `pthread_create` stored the new thread's `pthread_t`.
pub unsafe fn created(id: ThreadId, pthread: *const libc::pthread_t) {
    if let Some(registry) = registry().as_mut()
        && let Some(&record) = registry.threads.get(&id)
        && record.pthread.load(Ordering::Relaxed) == 0
    {
        // SAFETY: the contract. The place may be gone as soon as the new thread runs: some free what holds their own
        // id. But this one has not entered yet, and cannot while we hold the lock.
        registry.set_pthread(record, unsafe { *pthread });
    }
}

/// Makes a record for a thread that nobody announced: the main thread, or one made behind our back.
///
/// # Safety
/// `t` is the calling thread's state.
pub unsafe fn adopt(t: *mut Tls) {
    debug_assert!(std::ptr::eq(t, tls()));
    let is_main = super::state::process_id() == tasks::me();
    let record = new_record(is_main.then_some(0), std::ptr::null_mut(), std::ptr::null_mut(), Given::default());
    enter(record);
    super::process::watch_thread_end();
}

/// The id of the thread with this `pthread_t`.
#[must_use]
pub fn find(pthread: u64) -> Option<ThreadId> {
    registry().as_ref()?.by_pthread.get(&pthread).copied()
}

/// Looks at the thread with this id, if it is still remembered. `look` must not come back to the registry.
pub fn with<R>(id: ThreadId, look: impl FnOnce(&Record) -> R) -> Option<R> {
    registry().as_ref()?.threads.get(&id).map(|record| look(record))
}

/// Forgets a thread that could not be created.
pub fn discard(id: ThreadId) {
    if let Some(registry) = registry().as_mut() {
        registry.free(id);
    }
}

/// Notes that the thread's last event is on its way. The oldest ended threads are freed.
pub fn ended(record: &Record) {
    let mut registry = registry();
    record.tls.store(std::ptr::null_mut(), Ordering::Release);
    let Some(registry) = registry.as_mut() else { return };
    registry.live -= 1;
    registry.ended.push_back(record.id);
    if registry.ended.len() > MOST_ENDED
        && let Some(oldest) = registry.ended.pop_front()
    {
        registry.free(oldest);
    }
}

/// Every thread's open chunk. For the worker, which must not run out of memory under the lock; see `heap`.
#[must_use]
pub fn open_chunks() -> Vec<&'static Chunk> {
    let mut chunks = Vec::new();
    loop {
        let threads = registry().as_ref().map_or(0, |r| r.threads.len());
        chunks.reserve(threads);
        let registry = registry();
        let records = registry.iter().flat_map(|r| r.threads.values());
        if registry.as_ref().is_none_or(|r| r.threads.len() <= chunks.capacity()) {
            // SAFETY: chunks are never unmapped.
            chunks.extend(records.filter_map(|r| unsafe { r.open_chunk.load(Ordering::Acquire).as_ref() }));
            return chunks;
        }
    }
}

/// Whether all threads that we know have ended, the main thread too.
#[must_use]
pub fn is_empty() -> bool {
    registry().as_ref().is_some_and(|r| r.live == 0)
}

/// How many threads there have been.
#[must_use]
pub fn count() -> u64 {
    registry().as_ref().map_or(0, |r| u64::from(r.next))
}

/// Forgets the `pthread_t` of a joined thread: a new one may get the same.
pub fn joined(id: ThreadId) {
    if let Some(registry) = registry().as_mut()
        && let Some(&record) = registry.threads.get(&id)
    {
        registry.forget_pthread(record);
    }
}
