//! How long prediction takes on runs of the sizes that the papers report. `scripts/bench predict` runs it.

use std::ops::ControlFlow;
use std::time::Instant;

use avmon::event::{Event, Kind, Mode, STRIPES, ThreadId};
use avmon::predict::analyse::{Config, Watch, analyse};
use avmon::predict::history::{self, Builder, History, Survey};

/// A program that does much of the same: threads that call functions, which take a lock and touch what it protects, some in two sections.
#[derive(Clone, Copy)]
struct Workload {
    events: u64,
    threads: u32,
    locks: u64,
    variables: u64,
    functions: u64,
    /// Accesses in a section.
    accesses: u64,
    /// Of a hundred calls, those that go back to a variable in a second section.
    split: u64,
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: u64) -> u64 {
        (self.next() >> 11) % most
    }
}

struct Sink<'a> {
    numbers: Vec<u64>,
    events: u64,
    take: &'a mut dyn FnMut(ThreadId, &Event),
}

impl Sink<'_> {
    fn ordered(&mut self, thread: ThreadId, kind: Kind, object: u64, pc: u64) {
        let number = &mut self.numbers[Event::stripe(kind, object)];
        let event = Event::new(kind, Mode::Exclusive as u8, *number, object, pc);
        *number += 1;
        self.put(thread, &event);
    }

    fn put(&mut self, thread: ThreadId, event: &Event) {
        self.events += 1;
        (self.take)(thread, event);
    }
}

impl Workload {
    /// The same events each time.
    fn play(&self, take: &mut dyn FnMut(ThreadId, &Event)) -> u64 {
        let mut random = Random(0x1234_5678_9abc_def1);
        let mut sink = Sink { numbers: vec![0; STRIPES], events: 0, take };
        sink.ordered(0, Kind::Start, 0, 0);
        for thread in 1..=self.threads {
            sink.ordered(0, Kind::Fork, thread.into(), 1);
            sink.ordered(thread, Kind::Start, thread.into(), 0);
        }
        while sink.events < self.events {
            let thread = 1 + random.below(self.threads.into()) as ThreadId;
            self.call(thread, &mut random, &mut sink);
        }
        for thread in 1..=self.threads {
            sink.ordered(thread, Kind::End, thread.into(), 0);
            sink.ordered(0, Kind::Join, thread.into(), 2);
        }
        sink.events
    }

    fn call(&self, thread: ThreadId, random: &mut Random, sink: &mut Sink<'_>) {
        let function = random.below(self.functions);
        let pc = |place: u64| 0x40_0000 + function * 0x1000 + place * 16;
        sink.put(thread, &Event::enter(0, 0, pc(0), 0x40_0000 - 16));
        // A function works on a few variables, as functions do.
        let lock = function % self.locks;
        let sections = if random.below(100) < self.split { 2 } else { 1 };
        for section in 0..sections {
            sink.ordered(thread, Kind::Acquire, 0x10_0000 + lock * 64, pc(1 + section));
            for access in 0..self.accesses {
                let variable = (lock + self.locks * (random.below(self.variables / self.locks))) % self.variables;
                let kind = if random.below(3) == 0 { Kind::Write } else { Kind::Read };
                let place = 3 + 2 * (section * self.accesses + access) + u64::from(kind == Kind::Write);
                let branches = random.below(2) as u16;
                sink.put(thread, &Event::access(kind, 0, 8, branches, 0x1000_0000 + variable * 8, pc(place)));
            }
            sink.ordered(thread, Kind::Release, 0x10_0000 + lock * 64, pc(1 + section));
        }
        sink.put(thread, &Event::new(Kind::Leave, 0, 0, 0, 0));
    }

    fn history(&self) -> History {
        let mut survey = Survey::default();
        self.play(&mut |thread, event| survey.step(thread, event));
        let mut builder = Builder::new(&survey, history::Config::default());
        self.play(&mut |thread, event| builder.step(thread, event));
        builder.finish()
    }
}

fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn measure(name: &str, workload: Workload) {
    let begin = Instant::now();
    let generated = {
        let mut count = 0u64;
        workload.play(&mut |_, _| count += 1);
        begin.elapsed()
    };
    let begin = Instant::now();
    let history = workload.history();
    let indexed = begin.elapsed();
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let begin = Instant::now();
    let config = Config { jobs, ..Config::default() };
    let report = analyse(&history, &config, &Watch { stop: &|| false, progress: &|_, _| {} });
    println!(
        "| {name} | {:.2} s | {:.2} s | {} candidates, {} predicted, {} filtered, {} undecided | {} MiB |",
        (indexed.saturating_sub(2 * generated)).as_secs_f64(),
        begin.elapsed().as_secs_f64(),
        report.classes,
        report.predictions.len(),
        report.filtered.len(),
        report.undecided,
        peak_mib(),
    );
    assert!(report.classes > 0, "there is nothing to decide");
    let _ = ControlFlow::<()>::Continue(());
}

#[test]
#[ignore = "a measurement"]
fn elevator() {
    measure(
        "329 thousand events, 5 threads",
        Workload { events: 329_000, threads: 5, locks: 8, variables: 800, functions: 24, accesses: 6, split: 30 },
    );
}

#[test]
#[ignore = "a measurement"]
fn database() {
    measure(
        "3.27 million events",
        Workload { events: 3_270_000, threads: 8, locks: 64, variables: 20_000, functions: 64, accesses: 6, split: 10 },
    );
}

#[test]
#[ignore = "a measurement"]
fn hundred_million() {
    measure(
        "100 million events, 16 threads, 1 million variables",
        Workload {
            events: 100_000_000,
            threads: 16,
            locks: 256,
            variables: 1_000_000,
            functions: 256,
            accesses: 6,
            split: 5,
        },
    );
}
