//! The monitor's own thread: takes chunks, merges them to one order, runs the analysis, and reports.
//!
//! It is made with the real `pthread_create`, has every signal blocked (the program's signals are for the program's
//! threads), and is never recorded. If anything in here panics, the monitor says so and switches itself off; the
//! program goes on.

use super::chunk::Chunk;
use super::pipeline::{self, Pipeline};
use super::state::{self, State};
use super::sync::as_events;
use super::{descriptors, early, futex, options, registry, say, tasks, tls};
use crate::analysis::Analysis;
use crate::analysis::sidetrack::{Config, SideTrack};
use crate::event::{Event, Kind, ThreadId};
use crate::interpose::real;
use crate::order::Merger;
use crate::report::reporter::{Process, Reporter, ThreadInfo, Totals, Verdict};
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What a thread of the program may ask of the worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Request {
    /// Report everything that can be known now, and go on.
    Flush = 1,
    /// Report everything, write the summary, and stop.
    Finish = 2,
}

/// Tickets given out; the strongest request since the last answer; tickets answered.
static TICKETS: AtomicU32 = AtomicU32::new(0);
static WANTED: AtomicU32 = AtomicU32::new(0);
pub static DONE: AtomicU32 = AtomicU32::new(0);

/// The worker's kernel id.
static WORKER: AtomicI32 = AtomicI32::new(0);

static STRONG: AtomicUsize = AtomicUsize::new(0);

/// Asks for something; it is done when `DONE` reaches the ticket.
pub fn request(request: Request) -> u32 {
    let ticket = TICKETS.fetch_add(1, Ordering::AcqRel) + 1;
    WANTED.fetch_max(request as u32, Ordering::AcqRel);
    ticket
}

/// The kernel's id of the worker.
pub fn os_thread_id() -> u32 {
    WORKER.load(Ordering::Relaxed) as u32
}

/// Findings that count for the exit code.
pub fn strong_findings() -> usize {
    STRONG.load(Ordering::Acquire)
}

/// Starts all counters again, in the child of a fork.
pub fn forget() {
    TICKETS.store(0, Ordering::Relaxed);
    WANTED.store(0, Ordering::Relaxed);
    DONE.store(0, Ordering::Relaxed);
    STRONG.store(0, Ordering::Relaxed);
    WORKER.store(0, Ordering::Relaxed);
    state::UNSEEN.store(0, Ordering::Relaxed);
    state::LOST.store(0, Ordering::Relaxed);
    state::TORN.store(0, Ordering::Relaxed);
}

/// Symbolising large programs nests deeply; the rest needs little.
const STACK: usize = 1 << 20;

/// Starts the worker. The error is the real function's code.
pub fn spawn() -> Result<(), i32> {
    // SAFETY: the attributes and masks are initialised before use; the routine never unwinds.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        libc::pthread_attr_init(&raw mut attributes);
        libc::pthread_attr_setdetachstate(&raw mut attributes, libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_attr_setstacksize(&raw mut attributes, STACK);
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut old: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
        let mut thread = 0;
        let routine = run as *mut libc::c_void;
        let code = real::pthread_create()(&raw mut thread, &raw const attributes, routine, std::ptr::null_mut());
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, std::ptr::null_mut());
        libc::pthread_attr_destroy(&raw mut attributes);
        if code == 0 { Ok(()) } else { Err(code) }
    }
}

extern "C" fn run(_argument: *mut libc::c_void) -> *mut libc::c_void {
    // SAFETY: this thread's own state; a C string for the name.
    unsafe {
        (*tls::tls()).gate = tls::OURS;
        WORKER.store(libc::gettid(), Ordering::Relaxed);
        libc::prctl(libc::PR_SET_NAME, c"avmon".as_ptr());
    }
    descriptors::isolate();
    let result = std::panic::catch_unwind(|| {
        // Readers of debug information may panic on broken files, and are caught; the default hook would print that.
        std::panic::set_hook(Box::new(|_| {}));
        if let Some(pipeline) = pipeline::current() {
            match Worker::new(pipeline) {
                Ok(mut worker) => worker.work(),
                Err(problem) => say(&format!("avmon: {problem}\navmon: the program runs unmonitored\n")),
            }
        }
    });
    if let Err(panic) = result {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
        say(&format!("avmon: internal error: {text}; the monitor switched itself off, the program goes on\n"));
    }
    stop();
    std::ptr::null_mut()
}

/// Nothing is recorded or analysed from now on; lets go of everybody who waits for it.
fn stop() {
    state::set_state(State::Dead);
    if let Some(pipeline) = pipeline::current() {
        pipeline.release_waiters();
    }
    futex::advance(&DONE);
}

/// Switches the monitor off for a reason from which there is no way back, and says so once. Does not allocate. The worker
/// stays in here: it must hold no lock that a thread of the program could want.
pub fn give_up(reason: &str) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        say(reason);
    }
    stop();
    // SAFETY: no preconditions.
    unsafe {
        while libc::gettid() == WORKER.load(Ordering::Relaxed) {
            libc::pause();
        }
    }
}

/// Some events of one thread.
enum Batch {
    /// What is left of a chunk; the chunk goes back to the threads when this is dropped.
    Chunk { chunk: &'static Chunk, from: usize, pipeline: &'static Pipeline },
    /// Copied out of a chunk that its thread still fills.
    Copy(Vec<Event>),
}

impl AsRef<[Event]> for Batch {
    fn as_ref(&self) -> &[Event] {
        match self {
            // SAFETY: the chunk came over the channel: its thread writes it no more, and it is given back only by our drop.
            Batch::Chunk { chunk, from, .. } => unsafe { as_events(chunk.published().get(*from..).unwrap_or(&[])) },
            Batch::Copy(events) => events,
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if let Batch::Chunk { chunk, pipeline, .. } = self {
            pipeline.recycle(chunk);
        }
    }
}

/// How far the worker has read a thread's stream.
#[derive(Default)]
struct Progress {
    /// The chunk that comes next.
    serial: u32,
    /// Events of it that were copied out already.
    copied: usize,
}

struct Worker {
    pipeline: &'static Pipeline,
    progress: FxHashMap<ThreadId, Progress>,
    merger: Merger<Batch>,
    analysis: SideTrack,
    reporter: Reporter,
    events: u64,
    order_gaps: u64,
    started: Instant,
    /// Since when nothing could go out although something waits.
    stuck_since: Option<Instant>,
    /// Torn hooks that are known to have left no hole in the order, or one that was skipped.
    torn_without_hole: u32,
}

const SHORTEST_POLL: Duration = Duration::from_millis(20);
const LONGEST_POLL: Duration = Duration::from_millis(320);
/// A number that does not arrive for this long never will: its thread was torn out of a hook, or ended in one. When that
/// is known to have happened there is no need to be patient.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same while the program waits for room. Then few threads run, and one that is in a hook gets its turn soon.
const PATIENCE_UNDER_PRESSURE: Duration = Duration::from_millis(200);
/// At the end there is no time for that; but every thread that is in a hook needs its turn to leave it.
const FINAL_TRIES: u32 = 100;
/// Chunks taken before the worker looks at its requests again.
const BURST: usize = 64;

impl Worker {
    fn new(pipeline: &'static Pipeline) -> Result<Worker, crate::report::reporter::SetupError> {
        let options = options();
        let mut analysis = SideTrack::new(Config {
            paper: options.paper,
            strict_waits: options.strict_waits,
            functions: options.functions,
            sections: options.sections,
        });
        for (lock, pc) in early::take() {
            analysis.step(0, &Event::new(Kind::LockInit, 0, 0, lock, pc), &mut |_| {});
        }
        Ok(Worker {
            pipeline,
            progress: FxHashMap::default(),
            merger: Merger::new(),
            analysis,
            reporter: Reporter::new(options, super::sinks())?,
            events: 0,
            order_gaps: 0,
            started: Instant::now(),
            stuck_since: None,
            torn_without_hole: 0,
        })
    }

    fn work(&mut self) {
        if options().verbosity > 0 {
            say("avmon: monitoring starts with the first thread\n");
        }
        let mut poll = SHORTEST_POLL;
        let mut news = 0;
        loop {
            self.pipeline.wait_for_news(&mut news, poll);
            let mut busy = self.take_sent_chunks(BURST) || self.take_open_chunks();
            let progress = self.analyse();
            self.watch_for_gap(progress);
            busy |= progress || self.pipeline.is_short();
            if !busy {
                descriptors::follow_stderr();
            }
            poll = if busy { SHORTEST_POLL } else { (poll * 2).min(LONGEST_POLL) };
            if self.answer_request() {
                return;
            }
            if registry::is_empty() && tasks::are_gone_but_for(os_thread_id()) {
                self.end_process();
            }
        }
    }

    /// The last thread that we knew ended the process, unless one was left that we did not know; now that has ended too.
    fn end_process(&mut self) -> ! {
        self.finish();
        state::set_state(State::Dead);
        let code = if strong_findings() > 0 { options().exitcode } else { 0 };
        // SAFETY: what libc would have called, in the thread that is left.
        unsafe { libc::exit(i32::from(code)) }
    }

    /// Takes at most so many chunks that were sent. False if there was none.
    fn take_sent_chunks(&mut self, most: usize) -> bool {
        let chunks = self.pipeline.sent_chunks().try_iter().take(most);
        chunks.map(|chunk| self.take(chunk)).count() > 0
    }

    fn take(&mut self, chunk: &'static Chunk) {
        // SAFETY: the chunk came over the channel.
        let (thread, serial) = unsafe { chunk.owner() };
        let progress = self.progress.entry(thread).or_default();
        debug_assert_eq!(progress.serial, serial);
        let from = std::mem::take(&mut progress.copied);
        progress.serial = serial + 1;
        let batch = Batch::Chunk { chunk, from, pipeline: self.pipeline };
        let ends = batch.as_ref().last().is_some_and(|event| event.kind() == Some(Kind::End));
        self.merger.push(thread, batch);
        if ends {
            self.progress.remove(&thread);
        }
    }

    /// Looks into the chunks that threads are still filling, so that a quiet thread does not hide its last events.
    fn take_open_chunks(&mut self) -> bool {
        let mut found = false;
        for chunk in registry::open_chunks() {
            // SAFETY: the thread stored the chunk after it was reset, with release order.
            let (thread, serial) = unsafe { chunk.owner() };
            let progress = self.progress.entry(thread).or_default();
            // An earlier chunk is still in the channel: its events come first.
            if serial != progress.serial {
                continue;
            }
            let mut events = Vec::new();
            chunk.copy_from(progress.copied, &mut events);
            if !events.is_empty() {
                found = true;
                progress.copied += events.len();
                self.merger.push(thread, Batch::Copy(events));
            }
        }
        found
    }

    /// Runs the analysis over all that can be ordered. True if there was anything.
    fn analyse(&mut self) -> bool {
        let before = self.events;
        let Worker { merger, analysis, reporter, events, order_gaps, started, .. } = self;
        merger.drain(&mut |thread, event: &Event| {
            *events += 1;
            analysis.step(thread, event, &mut |violation| {
                if let Verdict::New { strong: true } = reporter.violation(&violation, &Registered) {
                    STRONG.store(reporter.strong(), Ordering::Release);
                    if options().halt_on_error {
                        halt(reporter, &totals(*events, *order_gaps, *started));
                    }
                }
            });
        });
        self.events != before
    }

    fn watch_for_gap(&mut self, progress: bool) {
        let torn = state::TORN.load(Ordering::Relaxed);
        if self.merger.pending() == 0 {
            self.torn_without_hole = torn;
        }
        if progress || self.merger.pending() == 0 {
            self.stuck_since = None;
            return;
        }
        let patience = if torn != self.torn_without_hole {
            SHORTEST_POLL
        } else if self.pipeline.is_short() {
            PATIENCE_UNDER_PRESSURE
        } else {
            PATIENCE
        };
        if self.stuck_since.get_or_insert_with(Instant::now).elapsed() > patience {
            self.skip_gap();
            self.stuck_since = None;
        }
    }

    fn skip_gap(&mut self) {
        if self.merger.skip_gap() {
            self.order_gaps += 1;
            self.analyse();
        }
    }

    /// Does what was asked for. True if the worker is to stop.
    fn answer_request(&mut self) -> bool {
        if WANTED.load(Ordering::Acquire) == 0 {
            return false;
        }
        let tickets = TICKETS.load(Ordering::Acquire);
        let wanted = WANTED.swap(0, Ordering::AcqRel);
        if wanted == Request::Finish as u32 {
            self.finish();
        } else {
            self.take_all();
        }
        DONE.store(tickets, Ordering::Release);
        futex::wake(&DONE);
        wanted == Request::Finish as u32
    }

    fn finish(&mut self) {
        self.take_all();
        for _ in 0..FINAL_TRIES {
            if self.merger.pending() == 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
            self.take_all();
        }
        while self.merger.pending() > 0 && self.merger.skip_gap() {
            self.order_gaps += 1;
            self.analyse();
        }
        self.summarise();
    }

    /// Takes what every thread has published by now.
    fn take_all(&mut self) {
        // A chunk that is sent between the two steps makes its successor wait for the next round.
        for _ in 0..2 {
            self.take_sent_chunks(usize::MAX);
            self.analyse();
            self.take_open_chunks();
            self.analyse();
        }
    }

    fn summarise(&mut self) {
        let locks = self.analysis.footprint().locks as u64;
        let totals = Totals { locks, ..totals(self.events, self.order_gaps, self.started) };
        if options().verbosity > 1 {
            let Totals { events, lost, unseen, order_gaps, threads, .. } = totals;
            say(&format!(
                "avmon: {events} events of {threads} threads on {locks} locks; {lost} lost, {unseen} unseen, \
                 {order_gaps} order gaps; {} MiB of chunks\n",
                self.pipeline.mapped_bytes() >> 20,
            ));
        }
        self.reporter.finish(&totals, &mut self.analysis.counts().iter().map(|(&key, &count)| (key, count)));
        if options().verbosity > 0 {
            say("avmon: monitoring stops\n");
        }
    }
}

/// What is known of a run while the analysis is at work.
fn totals(events: u64, order_gaps: u64, started: Instant) -> Totals {
    Totals {
        events,
        order_gaps,
        lost: state::LOST.load(Ordering::Relaxed),
        unseen: state::UNSEEN.load(Ordering::Relaxed),
        threads: registry::count(),
        duration: started.elapsed(),
        ..Totals::default()
    }
}

/// Ends the program at its first strong finding, because the user asked for that.
fn halt(reporter: &mut Reporter, totals: &Totals) -> ! {
    reporter.finish(totals, &mut std::iter::empty());
    let code = options().exitcode;
    // SAFETY: ends the process.
    unsafe { real::_exit()(if code == 0 { 1 } else { i32::from(code) }) }
}

/// The threads of this process, for reports.
struct Registered;

impl Process for Registered {
    fn thread(&self, id: ThreadId) -> ThreadInfo {
        let describe = |record: &registry::Record| ThreadInfo {
            name: record.name(),
            parent: record.parent,
            created_at: record.created_at,
            start_routine: record.routine.addr() as u64,
        };
        registry::with(id, describe).unwrap_or_default()
    }

    fn pid(&self) -> u32 {
        std::process::id()
    }
}
