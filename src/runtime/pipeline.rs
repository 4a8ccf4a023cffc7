//! From the threads to the worker: whole chunks over a channel, and empty ones back.

use super::chunk::{BYTES, Chunk};
use super::signals::Blocked;
use super::slabs::Slabs;
use super::trace_directory::Recording;
use super::{futex, state};
use crate::options::Options;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// The chunks that nobody uses.
#[derive(Default)]
struct Free {
    /// A stack: the chunk that was used last is the one most likely still in a cache. It has room for all chunks, so that
    /// the worker, who gives them back, never allocates under the lock; see [`super::heap`].
    stack: Vec<&'static Chunk>,
    mapped: usize,
}

/// The two channels and the memory between them.
pub struct Pipeline {
    to_worker: Sender<&'static Chunk>,
    from_threads: Receiver<&'static Chunk>,
    /// Advances whenever there is something for the worker to look at. It waits for this, and not in the channel: a
    /// channel that is waited for allocates from the program's heap, and cannot be woken from a signal handler.
    news: AtomicU32,
    worker_waits: AtomicBool,
    slabs: Slabs,
    free: Mutex<Free>,
    /// Chunks that were sent and not given back yet. Only these are bounded: a chunk that its thread still fills comes
    /// back when the program likes, so waiting for one could be waiting for ever.
    in_transit: AtomicU32,
    most_in_transit: u32,
    lossy: bool,
    recording: Option<Recording>,
    /// Advances whenever a chunk becomes free, for threads that wait for one.
    freed: AtomicU32,
    waiting: AtomicU32,
}

const _: () = assert!(size_of::<Chunk>() <= BYTES);

/// So many chunks are worth the worker's while.
const ENOUGH_TO_WAKE: usize = 4;

/// A thread that had to wait goes on when one in so many of the chunks in transit has come back: for each alone, it and the worker
/// would spend more time on waking each other than on the chunk.
const FRACTION_TO_GO_ON: u32 = 4;

/// Chunks are mapped this many at a time.
const SLAB: usize = 16;

static CURRENT: AtomicPtr<Pipeline> = AtomicPtr::new(std::ptr::null_mut());

/// The pipeline of this process, once the monitor runs. It is never freed.
#[must_use]
pub fn current() -> Option<&'static Pipeline> {
    // SAFETY: only `install` stores here, and what it stores is leaked.
    unsafe { CURRENT.load(Ordering::Acquire).as_ref() }
}

/// Makes `pipeline` the one of this process.
pub fn install(pipeline: Pipeline) {
    CURRENT.store(Box::into_raw(Box::new(pipeline)), Ordering::Release);
}

/// Leaves the parent's pipeline alone, in the child of a fork.
pub fn uninstall() {
    CURRENT.store(std::ptr::null_mut(), Ordering::Release);
}

impl Pipeline {
    #[must_use]
    pub fn new(options: &Options, recording: Option<Recording>, slabs: Slabs) -> Pipeline {
        let (to_worker, from_threads) = unbounded();
        let buffer = u64::from(options.buffer_mb.max(1)) << 20;
        let most_in_transit = (buffer / BYTES as u64).min(u64::from(u32::MAX)) as u32;
        Pipeline {
            to_worker,
            from_threads,
            news: AtomicU32::new(0),
            worker_waits: AtomicBool::new(false),
            slabs,
            free: Mutex::default(),
            in_transit: AtomicU32::new(0),
            most_in_transit,
            lossy: options.lossy,
            recording,
            freed: AtomicU32::new(0),
            waiting: AtomicU32::new(0),
        }
    }

    /// The trace that is recorded, if one is.
    pub fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }

    /// The chunks that were sent.
    pub fn sent_chunks(&self) -> &Receiver<&'static Chunk> {
        &self.from_threads
    }

    /// Sends a chunk that its thread will not write to any more. Sending may allocate, hence the blocked signals.
    pub fn send_chunk(&self, chunk: &'static Chunk, _: &Blocked) {
        self.in_transit.fetch_add(1, Ordering::Relaxed);
        // Cannot fail: this pipeline holds the receiver.
        let _ = self.to_worker.send(chunk);
        // To wake somebody takes as long as to record hundreds of events; the worker looks by itself before long.
        if self.from_threads.len() >= ENOUGH_TO_WAKE || self.is_short() {
            self.wake_worker();
        }
    }

    /// Lets the worker look at its requests and chunks now. Safe in signal handlers.
    pub fn wake_worker(&self) {
        self.news.fetch_add(1, Ordering::SeqCst);
        if self.worker_waits.load(Ordering::SeqCst) {
            futex::wake(&self.news);
        }
    }

    /// Waits for news, if there were none since the last time.
    pub fn wait_for_news(&self, seen: &mut u32, timeout: Duration) {
        self.worker_waits.store(true, Ordering::SeqCst);
        if self.from_threads.is_empty() {
            futex::wait(&self.news, *seen, timeout);
        }
        self.worker_waits.store(false, Ordering::SeqCst);
        *seen = self.news.load(Ordering::SeqCst);
    }

    /// An empty chunk. When there is none the thread waits for the worker, or in lossy mode gets `None`.
    /// `None` also when memory is out, or the monitor ends while waiting.
    pub fn fresh_chunk(&self, blocked: &Blocked) -> Option<&'static Chunk> {
        loop {
            let chunk = self.free_chunks().stack.pop();
            if chunk.is_some() {
                return chunk;
            }
            let seen = self.freed.load(Ordering::Acquire);
            let in_transit = self.in_transit.load(Ordering::Relaxed);
            if in_transit < self.most_in_transit {
                if self.map_slab() {
                    continue;
                }
                // Out of memory: go on with what comes back, if anything does.
                if in_transit == 0 {
                    return None;
                }
            }
            if self.lossy || !state::is_running() {
                return None;
            }
            self.waiting.fetch_add(1, Ordering::SeqCst);
            if self.free_chunks().stack.is_empty() {
                blocked.lifted(|| futex::wait(&self.freed, seen, Duration::from_millis(50)));
            }
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Whether a thread of the program that needs a chunk has to wait.
    pub fn is_short(&self) -> bool {
        self.in_transit.load(Ordering::Relaxed) >= self.most_in_transit
    }

    /// Gives a consumed chunk back.
    pub fn recycle(&self, chunk: &'static Chunk) {
        self.free_chunks().stack.push(chunk);
        let in_transit = self.in_transit.fetch_sub(1, Ordering::Relaxed).saturating_sub(1);
        self.freed.fetch_add(1, Ordering::SeqCst);
        let is_enough = in_transit <= self.most_in_transit - self.most_in_transit / FRACTION_TO_GO_ON;
        if is_enough && self.waiting.load(Ordering::SeqCst) != 0 {
            futex::wake(&self.freed);
        }
    }

    /// Lets go of all threads that wait for room: the monitor ended.
    pub fn release_waiters(&self) {
        futex::advance(&self.freed);
    }

    fn map_slab(&self) -> bool {
        let Some(slab) = self.slabs.map(SLAB * BYTES) else { return false };
        let mut free = self.free_chunks();
        free.mapped += SLAB;
        let missing = free.mapped - free.stack.len();
        free.stack.reserve(missing);
        // SAFETY: inside the mapping, aligned, zeroed (a valid empty chunk), and never unmapped.
        free.stack.extend((0..SLAB).map(|i| unsafe { &*slab.byte_add(i * BYTES).cast::<Chunk>() }));
        true
    }

    /// Whether chunks of a recording had to be taken from where a killed program loses them.
    pub fn has_fleeting_chunks(&self) -> bool {
        self.slabs.is_short()
    }

    /// Memory that chunks took.
    pub fn mapped_bytes(&self) -> usize {
        self.free_chunks().mapped * BYTES
    }

    fn free_chunks(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
