//! The worker's side of a recording: each chunk goes into the trace, and what the online rules need goes on to them.

use super::pipeline::Pipeline;
use super::{options, record, say, stripes};
use crate::event::{Event, ThreadId};
use crate::report::modules::{ModuleMap, map_of_this_process};
use crate::report::symbols::Symbols;
use crate::trace::exclude::Exclusions;
use crate::trace::late::LateFrames;
use crate::trace::meta::End;
use crate::trace::writer::{Limits, Rules, Writer};
use rustc_hash::FxHashMap;
use std::time::{Duration, Instant};

/// Modules are looked at this often. One that comes and goes in between has no name in the trace.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

pub struct Recorder {
    writer: Writer,
    views: FxHashMap<ThreadId, LateFrames>,
    /// Since the merger was drained.
    has_pushed: bool,
    looked: Instant,
    is_fleeting: bool,
}

impl Recorder {
    pub fn new(writer: Writer) -> Recorder {
        Recorder { writer, views: FxHashMap::default(), has_pushed: false, looked: Instant::now(), is_fleeting: false }
    }

    /// The part of a thread's next events that the online rules need.
    pub fn view(&mut self, thread: ThreadId, events: &[Event]) -> Vec<Event> {
        let mut view = Vec::new();
        self.views.entry(thread).or_default().split(events, &mut view);
        view
    }

    /// Nothing more comes from this thread.
    pub fn forget(&mut self, thread: ThreadId) {
        self.views.remove(&thread);
    }

    /// Writes a chunk. When that fails the recording ends; the monitor and the program go on.
    pub fn write(&mut self, thread: ThreadId, serial: u32, events: &[Event]) {
        if let Err(stopped) = self.writer.chunk(thread, serial, events) {
            record::stop_recording();
            say(&format!("avmon: {stopped}\n"));
        }
    }

    /// Notes what is done with the merger, so that a reader of the trace can do the same.
    pub fn pushed(&mut self, thread: ThreadId, count: usize) {
        if count > 0 {
            self.writer.pushed(thread, count);
            self.has_pushed = true;
        }
    }

    /// All that could go out of the merger is about to.
    pub fn drained(&mut self) {
        if std::mem::take(&mut self.has_pushed) {
            self.writer.drained();
        }
    }

    /// The merger was told to go on without what is missing.
    pub fn skipped_gap(&mut self) {
        self.writer.skipped_gap();
        self.has_pushed = true;
    }

    /// The process has these modules, after so many events.
    pub fn modules(&mut self, events: u64, map: &str) {
        self.writer.modules(events, map);
    }

    /// Whether it is time to look which modules the process has.
    pub fn wants_modules(&mut self) -> bool {
        let wants = self.looked.elapsed() > BETWEEN_LOOKS;
        if wants {
            self.looked = Instant::now();
        }
        wants
    }

    /// Brings the files up to date before the worker waits.
    pub fn flush(&mut self, pipeline: &Pipeline) {
        self.writer.flush();
        if pipeline.has_fleeting_chunks() && !std::mem::replace(&mut self.is_fleeting, true) {
            say(
                "avmon: the trace's file of chunks cannot grow (disk full, a limit on file sizes, or it is out of reach); if the program is killed, its last events will be missing\n",
            );
        }
    }

    pub fn finish(&mut self, end: &End) {
        let unsure = stripes::taken_over();
        if unsure > 0 {
            say(&format!(
                "avmon: {unsure} atomic operations may be recorded in another order than they happened in: a thread was stopped in one\n"
            ));
        }
        if let Err(error) = self.writer.finish(end) {
            say(&format!("avmon: the trace could not be completed: {error}; what was written can be read\n"));
        }
    }
}

/// What is left out of this recording.
pub fn rules() -> Result<Rules, crate::report::rules::RulesError> {
    let options = options();
    let all = options.trace_all || options.trace_values;
    let exclusions = Exclusions::read(options)?;
    let exclude = (!all && !exclusions.is_empty()).then(|| {
        let mut symbols = Symbols::new(options, ModuleMap::of_this_process());
        let exclude = move |pc: u64| {
            if symbols.place(pc).is_none()
                && let Some(map) = map_of_this_process()
            {
                symbols.replace_modules(&map);
            }
            exclusions.excludes(&symbols.call_frames(pc))
        };
        Box::new(exclude) as Box<dyn FnMut(u64) -> bool + Send>
    });
    Ok(Rules { all, exclude })
}

/// How large the trace may become.
pub fn limits() -> Limits {
    let options = options();
    let size = (options.trace_size_mb != 0).then(|| u64::from(options.trace_size_mb) << 20);
    Limits { size, ring: options.trace_ring }
}
