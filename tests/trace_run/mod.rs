//! Simulated programs of several threads, and a simulated worker that records them.

#![allow(dead_code, reason = "each test crate uses its own part")]

use std::collections::HashMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use avmon::event::{Event, Kind, STRIPES, ThreadId};
use avmon::order::Merger;
use avmon::runtime::chunk::{BYTES, EVENTS};
use avmon::trace::late::LateFrames;
use avmon::trace::meta::{End, Meta};
use avmon::trace::reader::{Merged, Problem, Trace};
use avmon::trace::slots;
use avmon::trace::writer::{Limits, Rules, Writer};

pub const TRACE_ID: u64 = 0x0123_4567_89ab_cdef;

/// Splitmix: a fair choice at every step.
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    pub fn pick(&mut self, below: usize) -> usize {
        (self.next() >> 32) as usize % below
    }
}

const LOCKS: [u64; 4] = [0x5000, 0x5028, 0x7f00_1000, 0x7f00_2000];
const CODE: u64 = 0x40_0000;

#[derive(Default)]
struct Simulated {
    held: Vec<usize>,
    depth: u32,
    started: bool,
    ended: bool,
    joined: bool,
    stream: Vec<Event>,
}

struct Process {
    random: Random,
    threads: Vec<Simulated>,
    owner: [Option<usize>; LOCKS.len()],
    counters: Vec<u64>,
    most_threads: usize,
}

impl Process {
    fn ordered(&mut self, thread: usize, kind: Kind, object: u64) {
        let counter = &mut self.counters[Event::stripe(kind, object)];
        let event = Event::new(kind, 0, *counter, object, CODE + kind as u64);
        *counter += 1;
        self.threads[thread].stream.push(event);
    }

    fn push(&mut self, thread: usize, event: Event) {
        self.threads[thread].stream.push(event);
    }

    fn step(&mut self) {
        let t = self.random.pick(self.threads.len());
        if self.threads[t].ended {
            return;
        }
        if !self.threads[t].started {
            self.threads[t].started = true;
            return self.ordered(t, Kind::Start, t as u64);
        }
        let lock = self.random.pick(LOCKS.len());
        match self.random.pick(24) {
            0..=2 if self.owner[lock].is_none() => {
                self.owner[lock] = Some(t);
                self.threads[t].held.push(lock);
                self.ordered(t, Kind::Acquire, LOCKS[lock]);
            }
            3..=5 => {
                if let Some(lock) = self.threads[t].held.pop() {
                    self.owner[lock] = None;
                    self.ordered(t, Kind::Release, LOCKS[lock]);
                }
            }
            6 if self.threads.len() < self.most_threads => {
                let child = self.threads.len();
                self.ordered(t, Kind::Fork, child as u64);
                self.threads.push(Simulated::default());
            }
            7 if t != 0 && self.threads[t].held.is_empty() && self.random.pick(8) == 0 => {
                self.ordered(t, Kind::End, t as u64);
                self.threads[t].ended = true;
            }
            8 => {
                if let Some(child) = self.threads.iter().position(|child| child.ended && !child.joined) {
                    self.threads[child].joined = true;
                    self.ordered(t, Kind::Join, child as u64);
                }
            }
            9 | 10 => {
                let depth = self.threads[t].depth;
                self.threads[t].depth += 1;
                self.push(t, Event::enter(depth, 0x7fff_0000 - u64::from(depth) * 64, CODE + lock as u64, CODE + 7));
            }
            11 | 12 => {
                if let Some(depth) = self.threads[t].depth.checked_sub(1) {
                    self.threads[t].depth = depth;
                    self.push(t, Event::new(Kind::Leave, 0, u64::from(depth), 0, 0));
                }
            }
            13 => {
                self.push(t, Event::new(Kind::Extent, 0, 64, 0, 0));
                self.ordered(t, Kind::Allocate, 0x9000);
            }
            14 => self.push(t, Event::new(Kind::Interfere, 0, 0, 0, CODE)),
            place => {
                let kind = if place % 2 == 0 { Kind::Read } else { Kind::Write };
                let address = 0x10_0000 + self.random.pick(64) as u64 * 8;
                // Some are repeated.
                for _ in 0..=place / 23 * 3 {
                    self.push(t, Event::access(kind, 0, 8, 1, address, CODE + place as u64 * 16));
                }
            }
        }
    }
}

/// The streams of a legal run.
pub fn simulate(seed: u64, steps: usize, most_threads: usize) -> Vec<Vec<Event>> {
    let mut process = Process {
        random: Random(seed),
        threads: vec![Simulated::default()],
        owner: [None; LOCKS.len()],
        counters: vec![0; STRIPES],
        most_threads,
    };
    for _ in 0..steps {
        process.step();
    }
    process.threads.into_iter().map(|thread| thread.stream).collect()
}

/// How to record.
#[derive(Clone, Copy)]
pub struct Recipe {
    /// Of the worker's timing.
    pub seed: u64,
    pub chunk: usize,
    pub all: bool,
    pub limits: Limits,
    /// The program is killed after so many steps of its threads and the worker.
    pub killed_after: Option<usize>,
}

pub const PLAIN: Recipe =
    Recipe { seed: 1, chunk: 50, all: true, limits: Limits { size: None, ring: false }, killed_after: None };

/// What the live monitor saw, and what was published.
pub struct Live {
    pub order: Vec<(ThreadId, Event)>,
    pub published: Vec<Vec<Event>>,
    pub stopped: Option<String>,
    pub writer: Option<Writer>,
}

pub fn meta() -> Meta {
    Meta { trace_id: TRACE_ID, pid: 7, program: "/bin/simulated".to_owned(), ..Meta::default() }
}

#[derive(Default)]
struct Lane {
    published: usize,
    /// Split and pushed.
    copied: usize,
    written: usize,
    late: LateFrames,
}

/// Records the streams as the worker would, with a timing of its own.
pub fn record(directory: &Path, streams: &[Vec<Event>], recipe: Recipe) -> Live {
    let rules = Rules { all: recipe.all, exclude: None };
    let mut writer = Writer::create(directory, &meta(), rules, recipe.limits).expect("a new recording");
    let mut random = Random(recipe.seed);
    let mut lanes: Vec<Lane> = streams.iter().map(|_| Lane::default()).collect();
    let mut merger = Merger::new();
    let mut order = Vec::new();
    let mut stopped = None;
    writer.modules(0, "1000-2000 r-xp 00000000 08:01 13 /nowhere/p.so\n");
    let mut steps = 0;
    let take = |thread: usize, lane: &mut Lane, until: usize, merger: &mut Merger<_>, writer: &mut Writer| {
        let mut view = Vec::new();
        lane.late.split(&streams[thread][lane.copied..until], &mut view);
        lane.copied = until;
        writer.pushed(thread as ThreadId, view.len());
        merger.push(thread as ThreadId, view);
    };
    while lanes.iter().zip(streams).any(|(lane, stream)| lane.written < stream.len() / recipe.chunk * recipe.chunk) {
        if recipe.killed_after.is_some_and(|most| steps >= most) {
            break;
        }
        steps += 1;
        let thread = random.pick(streams.len());
        let lane = &mut lanes[thread];
        match random.pick(4) {
            0 | 1 => lane.published = (lane.published + 1 + random.pick(recipe.chunk)).min(streams[thread].len()),
            2 => {
                while lane.published >= lane.written + recipe.chunk {
                    let end = lane.written + recipe.chunk;
                    take(thread, lane, end.max(lane.copied), &mut merger, &mut writer);
                    let serial = (lane.written / recipe.chunk) as u32;
                    let result = writer.chunk(thread as ThreadId, serial, &streams[thread][lane.written..end]);
                    stopped = stopped.or(result.err().map(|stopped| stopped.to_string()));
                    lane.written = end;
                }
                // An open chunk is looked into only when all before it were taken.
                if random.pick(2) == 0 {
                    take(thread, lane, lane.published, &mut merger, &mut writer);
                }
            }
            _ => {
                merger.drain(&mut |thread, event| order.push((thread, *event)));
                writer.drained();
                if random.pick(2) == 0 {
                    writer.flush();
                }
            }
        }
    }
    if recipe.killed_after.is_some() {
        let published = lanes.iter().zip(streams).map(|(lane, stream)| stream[..lane.published].to_vec()).collect();
        write_slots(directory, streams, &lanes, recipe.chunk);
        return Live { order, published, stopped, writer: Some(writer) };
    }
    for (thread, lane) in lanes.iter_mut().enumerate() {
        lane.published = streams[thread].len();
        take(thread, lane, lane.published, &mut merger, &mut writer);
        let serial = (lane.written / recipe.chunk) as u32;
        let result = writer.chunk(thread as ThreadId, serial, &streams[thread][lane.written..]);
        stopped = stopped.or(result.err().map(|stopped| stopped.to_string()));
    }
    loop {
        merger.drain(&mut |thread, event| order.push((thread, *event)));
        writer.drained();
        if merger.pending() == 0 || !merger.skip_gap() {
            break;
        }
        writer.skipped_gap();
    }
    writer.finish(&End { exit_status: Some(0), ..End::default() }).expect("room for the end");
    Live { order, published: streams.to_vec(), stopped, writer: None }
}

/// The bytes of a slot.
pub fn slot(thread: u32, serial: u32, events: &[Event]) -> Vec<u8> {
    let mut bytes: Vec<u8> =
        [events.len() as u32, thread, serial, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(events.iter().flat_map(Event::words).flat_map(u64::to_le_bytes));
    bytes.resize(BYTES, 0);
    bytes
}

/// The file of the shared mapping with these slots.
pub fn slots_file(slots: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = slots::head(TRACE_ID).to_vec();
    bytes.resize(slots::SLOTS_AT, 0);
    for slot in slots {
        bytes.extend_from_slice(slot);
    }
    bytes
}

/// What the mapping holds when the program dies: chunks that were not written, one that was, and an unused one.
fn write_slots(directory: &Path, streams: &[Vec<Event>], lanes: &[Lane], chunk: usize) {
    assert!(chunk <= EVENTS);
    let mut all = vec![vec![0; BYTES]];
    for (thread, lane) in lanes.iter().enumerate() {
        let first = lane.written.saturating_sub(chunk);
        for from in (first..lane.published).step_by(chunk) {
            let to = (from + chunk).min(lane.published);
            all.push(slot(thread as u32, (from / chunk) as u32, &streams[thread][from..to]));
        }
    }
    fs::write(directory.join(slots::SLOTS), slots_file(&all)).expect("a file of slots");
}

/// All that a reader hands out.
pub fn collect(
    read: impl FnOnce(&mut dyn FnMut(ThreadId, &Event) -> ControlFlow<()>) -> Merged,
) -> (Vec<(ThreadId, Event)>, Merged) {
    let mut output = Vec::new();
    let merged = read(&mut |thread, event| {
        output.push((thread, *event));
        ControlFlow::Continue(())
    });
    assert_eq!(merged.events, output.len() as u64);
    (output, merged)
}

pub fn merged(trace: &Trace) -> (Vec<(ThreadId, Event)>, Merged) {
    collect(|sink| trace.merged(sink, &mut |done, all| assert!(done <= all)))
}

pub fn monitored(trace: &Trace) -> (Vec<(ThreadId, Event)>, Merged) {
    collect(|sink| trace.monitored(sink, &mut |_, _| {}))
}

/// The events of one thread, read alone.
pub fn alone(trace: &Trace, thread: ThreadId) -> Vec<Event> {
    let mut all = Vec::new();
    let mut events = Vec::new();
    let mut stream = trace.stream(thread).expect("a thread of the recording");
    while let Some(info) = stream.next_chunk(&mut events) {
        assert!(info.before >= all.len() as u64);
        all.extend_from_slice(&events);
    }
    all
}

pub fn by_thread(output: &[(ThreadId, Event)], thread: usize) -> Vec<Event> {
    output.iter().filter(|(of, _)| *of as usize == thread).map(|&(_, event)| event).collect()
}

/// Every thread comes out complete and in program order, every stripe in the order of its numbers, every lock with one owner.
pub fn assert_legal(streams: &[Vec<Event>], output: &[(ThreadId, Event)]) {
    for (thread, stream) in streams.iter().enumerate() {
        assert_eq!(&by_thread(output, thread), stream, "thread {thread}");
    }
    let mut next = vec![0; STRIPES];
    let mut owner = HashMap::new();
    for &(thread, event) in output {
        let kind = event.kind().expect("a kind of this version");
        if kind.is_ordered() {
            let stripe = Event::stripe(kind, event.object);
            assert_eq!(event.number(), next[stripe], "{event:?} leaves its stripe's order");
            next[stripe] += 1;
        }
        match kind {
            Kind::Acquire => assert_eq!(owner.insert(event.object, thread), None, "{event:?} while the lock is held"),
            Kind::Release => assert_eq!(owner.remove(&event.object), Some(thread), "{event:?} by a stranger"),
            _ => {}
        }
    }
}

pub fn texts(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

/// Copies a recording.
pub fn copy(from: &Path, to: &Path) -> PathBuf {
    fs::create_dir_all(to.join("streams")).expect("a new directory");
    for directory in ["", "streams"] {
        for entry in fs::read_dir(from.join(directory)).expect("a recording").flatten() {
            if entry.path().is_file() {
                fs::copy(entry.path(), to.join(directory).join(entry.file_name())).expect("a copy");
            }
        }
    }
    to.to_owned()
}
