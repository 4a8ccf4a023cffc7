//! All threads in one order.
//!
//! **With the journal.** Its steps are repeated on a [`Merger`] with the monitor's view of every thread, which gives the very
//! order of the live analysis. For the full order, the other events of a thread are handed out between those two of its view
//! that they lie between. That is all that is known of them: a plain access has no number.
//!
//! **By the numbers.** Where the journal ends, is damaged, or tells of events that are not there, the events' numbers alone give a
//! legal order: a thread of which nothing is held back gets its next chunk, until every thread waits for a number. Then that
//! number is missing.
//!
//! **Memory.** Of each thread that has begun and not ended there is one chunk, and what the merger holds back: with the
//! journal as much as in the live run, by the numbers one chunk. Of what is held back only the monitor's view stays in memory; the
//! full chunks are read again beyond [`MOST_HELD`].

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::late::LateFrames;
use super::order::Step;
use super::problem::Problem;
use super::reader::{Merged, Progress, Sink, Trace};
use super::stream::{Piece, Stream, Unpacker};
use crate::event::{Event, Kind, ThreadId};
use crate::order::Merger;

/// Events that stay in memory because others of their thread have to go first.
const MOST_HELD: usize = 1 << 20;
/// Events of the monitor's view that the journal may hold back; a live run loses patience far below.
const MOST_PENDING: usize = 1 << 24;
/// Threads that are read at the same time although nothing tells that they have begun.
const MOST_LANES: usize = 1024;
/// Chunks between two reports of progress.
const REPORT: u64 = 64;

/// What is handed out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Every event.
    Full,
    /// What the online rules need, with late frames.
    Monitor,
}

/// Whether the monitor's view has the very event. Frames in it are others than those of the stream.
#[inline(always)]
fn is_in_view(event: &Event) -> bool {
    match event.kind() {
        Some(Kind::Enter | Kind::Leave) | None => false,
        Some(kind) => kind.is_for_monitor(),
    }
}

/// Hands out the events of a recording.
pub fn replay(trace: &Trace, view: View, sink: Sink, progress: Progress) -> Merged {
    let mut replay = Replay {
        trace,
        lanes: FxHashMap::default(),
        opened: vec![false; trace.known.len()],
        output: Output { view, sink, is_stopped: false, events: 0, held: 0, dry: Vec::new(), forks: Vec::new() },
        merger: Merger::new(),
        unpacker: Rc::default(),
        order_gaps: 0,
        problems: Vec::new(),
        bytes: 0,
        chunks: 0,
        all_bytes: trace.threads().iter().map(|stream| stream.counts.bytes).sum(),
        progress,
    };
    let is_complete = replay.by_journal();
    replay.by_numbers(is_complete);
    replay.finish()
}

/// A chunk of which not everything was handed out.
enum Held {
    Events(Vec<Event>),
    /// To be read again.
    Piece(Piece),
}

/// A thread that is being read.
struct Lane<'a> {
    stream: Stream<'a>,
    late: LateFrames,
    /// Its view that was read and is not in the merger, from `pushed` on.
    view: Vec<Event>,
    pushed: usize,
    /// Events of its view that are in the merger.
    pending: usize,
    /// Full chunks, the oldest first; of that one, `handed_out` events are gone.
    held: VecDeque<Held>,
    handed_out: usize,
}

impl Lane<'_> {
    /// Events of its view that can go into the merger.
    fn ready(&self) -> usize {
        self.view.len() - self.pushed
    }

    /// The next `count` of them.
    fn take(&mut self, count: usize) -> Vec<Event> {
        let batch = self.view[self.pushed..self.pushed + count].to_vec();
        self.pushed += count;
        self.pending += count;
        batch
    }
}

/// Where events go.
struct Output<'s> {
    view: View,
    sink: Sink<'s>,
    is_stopped: bool,
    events: u64,
    /// Events in memory in all lanes.
    held: usize,
    /// Threads of which nothing is in the merger any more.
    dry: Vec<ThreadId>,
    /// Threads that were created.
    forks: Vec<ThreadId>,
}

impl Output<'_> {
    #[inline(always)]
    fn put(&mut self, thread: ThreadId, event: &Event) {
        if !self.is_stopped {
            self.events += 1;
            self.is_stopped = (self.sink)(thread, event).is_break();
        }
    }

    /// The merger released an event of a thread's view.
    fn release(&mut self, thread: ThreadId, event: &Event, lane: &mut Lane) {
        lane.pending -= 1;
        if lane.pending == 0 {
            self.dry.push(thread);
        }
        if event.kind() == Some(Kind::Fork) {
            self.forks.push(event.object as ThreadId);
        }
        match self.view {
            View::Monitor => self.put(thread, event),
            View::Full if is_in_view(event) => self.hand_out(thread, lane, true),
            View::Full => {}
        }
    }

    /// Keeps a chunk until its events may go out. Those up to the next event of the view may at once.
    fn hold(&mut self, thread: ThreadId, lane: &mut Lane, events: Vec<Event>) {
        match lane.stream.last_piece() {
            Some(piece) if self.held > MOST_HELD && !lane.held.is_empty() => lane.held.push_back(Held::Piece(piece)),
            _ => {
                self.held += events.len();
                lane.held.push_back(Held::Events(events));
            }
        }
        self.hand_out(thread, lane, false);
    }

    /// Hands out what is held of a thread up to the next event of its view. If that event `is_due`, up to the one after it.
    fn hand_out(&mut self, thread: ThreadId, lane: &mut Lane, mut is_due: bool) {
        while let Some(front) = lane.held.front_mut() {
            let events = match front {
                Held::Events(events) => events,
                Held::Piece(piece) => {
                    let mut events = Vec::new();
                    if !lane.stream.load(piece, &mut events) {
                        events.clear();
                    }
                    self.held += events.len();
                    *front = Held::Events(events);
                    continue;
                }
            };
            while let Some(event) = events.get(lane.handed_out) {
                if is_in_view(event) && !std::mem::take(&mut is_due) {
                    return;
                }
                lane.handed_out += 1;
                self.put(thread, event);
            }
            self.held -= events.len();
            lane.handed_out = 0;
            lane.held.pop_front();
        }
    }
}

struct Replay<'a, 's> {
    trace: &'a Trace,
    lanes: FxHashMap<ThreadId, Lane<'a>>,
    /// By the place of a thread in the recording: whether it has a lane, or had one.
    opened: Vec<bool>,
    output: Output<'s>,
    merger: Merger<Vec<Event>>,
    unpacker: Rc<RefCell<Unpacker>>,
    order_gaps: u64,
    problems: Vec<Problem>,
    bytes: u64,
    chunks: u64,
    all_bytes: u64,
    progress: Progress<'s>,
}

/// What reading a thread's next chunk gave.
#[derive(PartialEq, Eq)]
enum Read {
    Chunk,
    /// A chunk, before which events are missing.
    AfterGap,
    Nothing,
}

impl Replay<'_, '_> {
    /// Makes a lane for a thread that has none and never had one. False if the recording has no such thread.
    fn open(&mut self, thread: ThreadId) -> bool {
        let trace = self.trace;
        let Ok(place) = trace.known.binary_search_by_key(&thread, |known| known.thread) else { return false };
        if std::mem::replace(&mut self.opened[place], true) {
            return false;
        }
        let lane = Lane {
            stream: Stream::new(
                &trace.directory,
                trace.meta.trace_id,
                &trace.known[place],
                true,
                Rc::clone(&self.unpacker),
            ),
            late: LateFrames::new(),
            view: Vec::new(),
            pushed: 0,
            pending: 0,
            held: VecDeque::new(),
            handed_out: 0,
        };
        self.lanes.insert(thread, lane);
        true
    }

    /// Reads the next chunk of a thread that has a lane.
    fn read(&mut self, thread: ThreadId) -> Read {
        let Some(lane) = self.lanes.get_mut(&thread) else { return Read::Nothing };
        let mut events = Vec::new();
        let Some(info) = lane.stream.next_chunk(&mut events) else { return Read::Nothing };
        lane.view.drain(..std::mem::take(&mut lane.pushed));
        if info.follows_gap {
            // What was open before the gap may have been left in it.
            lane.late = LateFrames::new();
            lane.view.push(Event::new(Kind::Leave, 0, 0, 0, 0));
            let open: Vec<Event> = lane.stream.stack().enters().collect();
            lane.late.split(&open, &mut lane.view);
        }
        lane.late.split(&events, &mut lane.view);
        self.bytes += lane.stream.last_piece().map_or(0, |piece| piece.bytes());
        self.chunks += 1;
        if self.chunks.is_multiple_of(REPORT) {
            (self.progress)(self.bytes, self.all_bytes);
        }
        if self.output.view == View::Full {
            self.output.hold(thread, lane, events);
        }
        if info.follows_gap { Read::AfterGap } else { Read::Chunk }
    }

    /// Moves `count` events of a thread's view into the merger.
    fn push(&mut self, thread: ThreadId, count: usize) {
        if let Some(lane) = self.lanes.get_mut(&thread) {
            self.merger.push(thread, lane.take(count));
        }
    }

    fn drain(&mut self) {
        let Replay { merger, lanes, output, .. } = self;
        merger.drain(&mut |thread, event| {
            if let Some(lane) = lanes.get_mut(&thread) {
                output.release(thread, event, lane);
            }
        });
    }

    /// Repeats the steps of the journal as far as they can be repeated. True if that was all of them.
    fn by_journal(&mut self) -> bool {
        let given_up = self.trace.threads().iter().any(|stream| stream.counts.given_up_chunks > 0);
        let Some(mut journal) = self.trace.journal().filter(|_| !given_up) else { return false };
        for step in &mut journal {
            if self.output.is_stopped {
                return true;
            }
            let done = match step {
                Step::Push { thread, count } => self.repeat_push(thread, count),
                Step::Drain => {
                    self.drain();
                    self.close_ended();
                    Ok(())
                }
                Step::SkipGap => {
                    self.order_gaps += u64::from(self.merger.skip_gap());
                    Ok(())
                }
            };
            if let Err(problem) = done {
                self.problems.extend(problem);
                return false;
            }
        }
        let damage = journal.damage();
        self.problems.extend(damage.map(|(at, size)| Problem::Order { at, size }));
        damage.is_none()
    }

    /// The error is a problem if what is missing is not known otherwise.
    fn repeat_push(&mut self, thread: ThreadId, count: u64) -> Result<(), Option<Problem>> {
        let room = (MOST_PENDING - self.merger.pending()) as u64;
        if count > room {
            return Err(Some(Problem::OrderHoldsBack { events: MOST_PENDING as u64 }));
        }
        self.open(thread);
        while self.lanes.get(&thread).is_none_or(|lane| (lane.ready() as u64) < count) {
            match self.read(thread) {
                Read::Chunk => {}
                Read::AfterGap => return Err(None),
                // The step was noted, then the disk was full.
                Read::Nothing if self.has_stopped_early() => return Err(None),
                Read::Nothing => return Err(Some(Problem::OrderDisagrees { thread })),
            }
        }
        self.push(thread, count as usize);
        Ok(())
    }

    fn has_stopped_early(&self) -> bool {
        self.trace.end().is_some_and(|end| end.stopped.is_some())
    }

    /// Lets go of threads of which nothing more can come, while the journal is repeated.
    fn close_ended(&mut self) {
        for thread in std::mem::take(&mut self.output.dry) {
            let is_used_up = |lane: &Lane| lane.pending == 0 && lane.ready() == 0 && lane.stream.is_at_last();
            if self.lanes.get(&thread).is_some_and(is_used_up) && self.read(thread) == Read::Nothing {
                self.close(thread);
            }
        }
        self.output.forks.clear();
    }

    fn close(&mut self, thread: ThreadId) {
        if let Some(mut lane) = self.lanes.remove(&thread) {
            self.output.hand_out(thread, &mut lane, false);
            self.problems.extend(lane.stream.into_problems());
        }
    }

    /// Hands out the rest in the order of the numbers. After a journal that was repeated to its end, there should be none.
    fn by_numbers(&mut self, is_journal_complete: bool) {
        let mut pushed = 0;
        self.output.dry = self.lanes.keys().copied().collect();
        self.output.dry.sort_unstable();
        let mut unopened = 0;
        while !self.output.is_stopped {
            self.drain();
            for fork in std::mem::take(&mut self.output.forks) {
                if self.open(fork) {
                    self.output.dry.push(fork);
                }
            }
            let dry = std::mem::take(&mut self.output.dry);
            if !dry.is_empty() {
                pushed += dry.into_iter().map(|thread| self.feed(thread)).sum::<usize>();
                continue;
            }
            // Stuck, or at the end. Of some thread, the creation may not have been seen.
            let is_full = self.merger.pending() > 0 && self.lanes.len() >= MOST_LANES;
            if let Some(known) = self.trace.known.get(unopened).filter(|_| !is_full) {
                unopened += 1;
                if self.open(known.thread) {
                    self.output.dry.push(known.thread);
                }
            } else if self.merger.pending() > 0 && self.merger.skip_gap() {
                self.order_gaps += 1;
            } else {
                break;
            }
        }
        let was_clean = self.trace.end().is_some() && !self.has_stopped_early();
        if is_journal_complete && was_clean && pushed > 0 && !self.output.is_stopped {
            self.problems.push(Problem::OrderEnds);
        }
    }

    /// Gives the merger more of a thread. How many events that was; at the end of the thread, its lane is closed.
    fn feed(&mut self, thread: ThreadId) -> usize {
        loop {
            let Some(lane) = self.lanes.get(&thread) else { return 0 };
            let (ready, pending) = (lane.ready(), lane.pending);
            if ready > 0 {
                self.push(thread, ready);
                return ready;
            }
            // A lane may be named twice.
            if pending > 0 || self.output.is_stopped {
                return 0;
            }
            if self.read(thread) == Read::Nothing {
                self.close(thread);
                return 0;
            }
        }
    }

    fn finish(mut self) -> Merged {
        let mut rest: Vec<ThreadId> = self.lanes.keys().copied().collect();
        rest.sort_unstable();
        for thread in rest {
            self.close(thread);
        }
        (self.progress)(self.bytes, self.all_bytes);
        let told: FxHashSet<&Problem> = self.trace.problems().iter().collect();
        let mut problems = self.problems;
        problems.retain(|problem| !told.contains(problem));
        Merged { events: self.output.events, order_gaps: self.order_gaps, problems }
    }
}
