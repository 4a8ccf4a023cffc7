//! The monitor's own thread: takes chunks, merges them to one order, runs the analysis, and reports.
//!
//! It is made with the real `pthread_create`, has every signal blocked (the program's signals are for the program's
//! threads), and is never recorded. If anything in here panics, the monitor says so and switches itself off; the
//! program goes on.

use super::chunk::Chunk;
use super::pipeline::{self, Pipeline};
use super::recorder::{self, Recorder};
use super::state::{self, State};
use super::sync::as_events;
use super::{descriptors, early, futex, options, process, record, registry, say, tasks, tls};
use crate::event::{Event, Kind, ThreadId};
use crate::interpose::real;
use crate::monitor::{Modules, Monitor};
use crate::order::Merger;
use crate::report::json::Start;
use crate::report::modules::{ModuleMap, map_of_this_process};
use crate::report::reporter::{Reporter, SetupError, Totals};
use crate::report::symbols::Symbols;
use crate::trace::meta::{self, End};
use crate::trace::writer::Writer;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
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
/// Chunks that the worker has taken: as long as it grows, the worker gets on.
pub static TAKEN: AtomicU32 = AtomicU32::new(0);

/// The worker's kernel id.
static WORKER: AtomicU32 = AtomicU32::new(0);

static STRONG: AtomicUsize = AtomicUsize::new(0);

/// Asks for something; it is done when `DONE` reaches the ticket.
pub fn request(request: Request) -> u32 {
    let ticket = TICKETS.fetch_add(1, Ordering::AcqRel) + 1;
    WANTED.fetch_max(request as u32, Ordering::AcqRel);
    ticket
}

/// The kernel's id of the worker.
pub fn os_thread_id() -> u32 {
    WORKER.load(Ordering::Relaxed)
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
        WORKER.store(tasks::me(), Ordering::Relaxed);
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
    while tasks::me() == WORKER.load(Ordering::Relaxed) {
        // SAFETY: no preconditions.
        unsafe { libc::pause() };
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
    monitor: Monitor,
    modules: LiveModules,
    recorder: Option<Recorder>,
    order_gaps: u64,
    started: Instant,
    /// Since when nothing could go out although something waits.
    stuck_since: Option<Instant>,
    /// Torn hooks that are known to have left no hole in the order, or one that was skipped.
    torn_without_hole: u32,
}

/// The memory map of this process.
#[derive(Default)]
struct LiveModules {
    last: String,
    /// In a recording, what the trace has not been told yet.
    untold: Option<Vec<(u64, String)>>,
}

impl Modules for LiveModules {
    fn news(&mut self, events: u64, take: &mut dyn FnMut(&str)) {
        if let Some(map) = map_of_this_process().filter(|map| *map != self.last) {
            take(&map);
            if let Some(untold) = &mut self.untold {
                untold.push((events, map.clone()));
            }
            self.last = map;
        }
    }
}

const SHORTEST_POLL: Duration = Duration::from_millis(20);
const LONGEST_POLL: Duration = Duration::from_millis(320);
/// A number that does not arrive for this long never will: its thread was torn out of a hook, or ended in one. When that
/// is known to have happened there is no need to be patient.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same while the program waits for room. Then few threads run, and one that is in a hook gets its turn soon.
const PATIENCE_UNDER_PRESSURE: Duration = Duration::from_millis(200);
/// So many events that are held back are pressure too: in a recording their chunks are free again.
const MOST_PENDING: usize = 1 << 21;
/// At the end there is no time for that; but every thread that is in a hook needs its turn to leave it.
const FINAL_TRIES: u32 = 100;
/// Chunks taken before the worker looks at its requests again.
const BURST: usize = 64;

impl Worker {
    fn new(pipeline: &'static Pipeline) -> Result<Worker, SetupError> {
        let options = options();
        let start = Start::of_this_process();
        let pid = start.pid;
        let symbols = Symbols::new(options, ModuleMap::default());
        let reporter = Reporter::new(options, super::sinks(), start, symbols)?;
        let recorder = Worker::begin_recording(pipeline);
        let early_locks = pipeline.recording().map_or_else(early::take, |recording| recording.meta.early_locks.clone());
        let untold = recorder.is_some().then(Vec::new);
        let mut worker = Worker {
            pipeline,
            progress: FxHashMap::default(),
            merger: Merger::new(),
            monitor: Monitor::new(options, pid, reporter, &early_locks),
            modules: LiveModules { untold, ..LiveModules::default() },
            recorder,
            order_gaps: 0,
            started: Instant::now(),
            stuck_since: None,
            torn_without_hole: 0,
        };
        worker.look_at_modules();
        Ok(worker)
    }

    /// Opens the trace. What stands in its way is told, and stands in nobody else's.
    fn begin_recording(pipeline: &Pipeline) -> Option<Recorder> {
        let recording = pipeline.recording()?;
        let begun = recorder::rules().map_err(|error| error.to_string()).and_then(|rules| {
            Writer::create(&recording.directory, &recording.meta, rules, recorder::limits())
                .map_err(|error| format!("cannot write the trace in {}: {error}", recording.directory.display()))
        });
        match begun {
            Ok(writer) => Some(Recorder::new(writer)),
            Err(problem) => {
                record::stop_recording();
                say(&format!("avmon: {problem}; the program runs monitored but not recorded\n"));
                None
            }
        }
    }

    fn work(&mut self) {
        if options().verbosity > 0 {
            say("avmon: monitoring starts with the first thread\n");
        }
        let mut poll = SHORTEST_POLL;
        let mut news = 0;
        loop {
            self.pipeline.wait_for_news(&mut news, poll);
            let mut busy = self.take_sent_chunks(BURST);
            let mut progress = self.analyse();
            // What the others wait for may be the last event of a thread that has been quiet since.
            if !busy || self.merger.pending() > 0 {
                busy |= self.take_open_chunks();
                progress |= self.analyse();
            }
            self.watch_for_gap(progress);
            busy |= progress || self.pipeline.is_short();
            if !busy {
                descriptors::follow_stderr();
            }
            self.keep_trace_up_to_date();
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
        TAKEN.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the chunk came over the channel.
        let (thread, serial) = unsafe { chunk.owner() };
        let progress = self.progress.entry(thread).or_default();
        debug_assert_eq!(progress.serial, serial);
        let from = std::mem::take(&mut progress.copied);
        progress.serial = serial + 1;
        // SAFETY: the chunk came over the channel: its thread writes it no more, and it is given back only below.
        let events = unsafe { as_events(chunk.published()) };
        let ends = events.last().is_some_and(|event| event.kind() == Some(Kind::End));
        let batch = if let Some(recorder) = &mut self.recorder {
            let view = recorder.view(thread, events.get(from..).unwrap_or(&[]));
            recorder.write(thread, serial, events);
            // SAFETY: still ours.
            unsafe { chunk.retire() };
            self.pipeline.recycle(chunk);
            Batch::Copy(view)
        } else {
            Batch::Chunk { chunk, from, pipeline: self.pipeline }
        };
        self.push(thread, batch);
        if ends {
            self.progress.remove(&thread);
            if let Some(recorder) = &mut self.recorder {
                recorder.forget(thread);
            }
        }
    }

    fn push(&mut self, thread: ThreadId, batch: Batch) {
        let count = batch.as_ref().len();
        if let Some(recorder) = &mut self.recorder {
            recorder.pushed(thread, count);
        }
        self.merger.push(thread, batch);
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
                if let Some(recorder) = &mut self.recorder {
                    events = recorder.view(thread, &events);
                }
                self.push(thread, Batch::Copy(events));
            }
        }
        found
    }

    /// Runs the analysis over all that can be ordered. True if there was anything.
    fn analyse(&mut self) -> bool {
        let before = self.monitor.events();
        if let Some(recorder) = &mut self.recorder {
            recorder.drained();
        }
        let Worker { merger, monitor, modules, .. } = self;
        let mut halts = false;
        merger.drain(&mut |thread, event: &Event| {
            let strong = !halts && monitor.step(thread, event, modules);
            if strong {
                STRONG.store(monitor.strong(), Ordering::Release);
                halts = options().halt_on_error;
            }
        });
        self.tell_modules();
        if halts {
            self.halt();
        }
        self.monitor.events() != before
    }

    /// Ends the program at its first strong finding, because the user asked for that.
    fn halt(&mut self) -> ! {
        self.end_recording();
        self.monitor.finish(&self.totals());
        let code = options().exitcode;
        // SAFETY: ends the process.
        unsafe { real::_exit()(if code == 0 { 1 } else { i32::from(code) }) }
    }

    /// Notes which modules the process has now.
    fn look_at_modules(&mut self) {
        self.monitor.look_at_modules(&mut self.modules);
        self.tell_modules();
    }

    fn tell_modules(&mut self) {
        if let (Some(recorder), Some(untold)) = (&mut self.recorder, &mut self.modules.untold) {
            for (events, map) in untold.drain(..) {
                recorder.modules(events, &map);
            }
        }
    }

    fn keep_trace_up_to_date(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.flush(self.pipeline);
            if recorder.wants_modules() {
                self.look_at_modules();
            }
        }
    }

    /// Writes what is published of the chunks that threads still fill: just what the analysis has seen of them.
    fn end_recording(&mut self) {
        self.look_at_modules();
        let totals = self.totals();
        let Some(recorder) = &mut self.recorder else { return };
        for chunk in registry::open_chunks() {
            // SAFETY: the thread stored the chunk after it was reset, with release order.
            let (thread, serial) = unsafe { chunk.owner() };
            let Some(progress) = self.progress.get(&thread).filter(|progress| progress.serial == serial) else {
                continue;
            };
            let mut events = Vec::new();
            chunk.copy_from(0, &mut events);
            events.truncate(progress.copied);
            recorder.write(thread, serial, &events);
        }
        let (exit_status, signal) = process::ending();
        let Totals { events, lost, unseen, order_gaps, threads, locks, duration } = totals;
        recorder.finish(&End {
            exit_status,
            signal,
            duration_ms: duration.as_millis() as u64,
            totals: meta::Totals { events, lost, unseen, order_gaps, threads, locks },
            ..End::default()
        });
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
        } else if self.pipeline.is_short() || self.merger.pending() > MOST_PENDING {
            PATIENCE_UNDER_PRESSURE
        } else {
            PATIENCE
        };
        if self.stuck_since.get_or_insert_with(Instant::now).elapsed() > patience {
            self.skip_gap();
            self.stuck_since = None;
        }
    }

    fn skip_gap(&mut self) -> bool {
        let skipped = self.merger.skip_gap();
        if skipped {
            self.order_gaps += 1;
            if let Some(recorder) = &mut self.recorder {
                recorder.skipped_gap();
            }
            self.analyse();
        }
        skipped
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
            self.look_at_modules();
            self.take_all();
            // The process may be about to become another program, and this thread to end with it.
            self.keep_trace_up_to_date();
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
        while self.merger.pending() > 0 && self.skip_gap() {}
        self.end_recording();
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
        let totals = self.totals();
        if options().verbosity > 1 {
            let Totals { events, lost, unseen, order_gaps, threads, locks, .. } = totals;
            say(&format!(
                "avmon: {events} events of {threads} threads on {locks} locks; {lost} lost, {unseen} unseen, \
                 {order_gaps} order gaps; {} MiB of chunks\n",
                self.pipeline.mapped_bytes() >> 20,
            ));
        }
        self.monitor.finish(&totals);
        if options().verbosity > 0 {
            say("avmon: monitoring stops\n");
        }
    }

    fn totals(&self) -> Totals {
        self.monitor.totals(Totals {
            order_gaps: self.order_gaps,
            lost: state::LOST.load(Ordering::Relaxed),
            unseen: state::UNSEEN.load(Ordering::Relaxed),
            duration: self.started.elapsed(),
            ..Totals::default()
        })
    }
}
