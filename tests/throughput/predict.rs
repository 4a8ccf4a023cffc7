//! How long prediction takes on runs of the sizes that the papers report. `scripts/bench predict` runs it.

use std::time::Instant;

use crate::predict_support::table::print_row;
use avmon::event::{Event, Kind, Mode, STRIPES, ThreadId};
use avmon::predict::analyse::{Config, Watch, analyse};
use avmon::predict::history::{self, At, Builder, History, Survey};
use avmon::predict::views;
use avmon::replay::synthesis::{Target, reduce};

/// Fields of an object.
const FIELDS: u64 = 8;

/// A program of functions that take the lock of an object and touch some of its fields, always the same ones, some of them in two sections.
#[derive(Clone, Copy)]
struct Workload {
    events: u64,
    threads: u32,
    objects: u64,
    /// Locks: an object has one of them.
    locks: u64,
    functions: u64,
    /// Functions that work on the same objects: a kind.
    kinds: u64,
    /// Of a hundred functions, those that go back to the object in a second section.
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
        let kind = function % self.kinds;
        // Threads work on the same objects at the same time, and on others later.
        let of_this_kind = self.objects / self.kinds;
        let object = kind + self.kinds * ((sink.events * of_this_kind / self.events + random.below(4)) % of_this_kind);
        let lock = 0x10_0000 + object % self.locks * 64;
        let pc = |place: u64| 0x40_0000 + function * 0x1000 + place * 16;
        sink.put(thread, &Event::enter(0, 0, 0x30_0000, 0));
        sink.put(thread, &Event::enter(1, 0, pc(0), 0x30_0010));
        // What a function does depends on nothing but the function.
        let mut code = Random(function.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let sections = if code.below(100) < self.split { 2 } else { 1 };
        let mut place = 1;
        for _ in 0..sections {
            sink.ordered(thread, Kind::Acquire, lock, pc(place));
            for _ in 0..6 {
                place += 1;
                let field = code.below(FIELDS);
                let kind = if code.below(3) == 0 { Kind::Write } else { Kind::Read };
                let branches = code.below(2) as u16;
                let address = 0x1000_0000 + (object * FIELDS + field) * 8;
                sink.put(thread, &Event::access(kind, 0, 8, branches, address, pc(place)));
            }
            place += 1;
            sink.ordered(thread, Kind::Release, lock, pc(place));
        }
        sink.put(thread, &Event::new(Kind::Leave, 0, 1, 0, 0));
    }

    fn history(&self) -> History {
        let mut survey = Survey::default();
        self.play(&mut |thread, event| survey.step(thread, event));
        let mut builder = Builder::new(&survey, history::Config::default());
        self.play(&mut |thread, event| builder.step(thread, event));
        builder.finish()
    }
}

fn measure(paper: &str, workload: Workload) {
    measure_with(paper, workload, Config::default());
}

fn measure_with(paper: &str, workload: Workload, config: Config) {
    let begin = Instant::now();
    let mut events = 0u64;
    workload.play(&mut |_, _| events += 1);
    let generated = begin.elapsed();
    let begin = Instant::now();
    let history = workload.history();
    // The events are made anew for each of the two passes, which is no part of them.
    let indexed = begin.elapsed().saturating_sub(2 * generated);
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let begin = Instant::now();
    let config = Config { jobs, ..config };
    let report = analyse(&history, &config, &Watch { stop: &|| false, progress: &|_, _| {} });
    let analysed = begin.elapsed();
    let trace = format!("{events} events, {} threads, {} shared variables", workload.threads, history.variables.len());
    let found = format!(
        "{} candidates: {} predicted, {} filtered, {} undecided",
        report.classes,
        report.predictions.len(),
        report.filtered.len(),
        report.undecided
    );
    print_row(&trace, paper, indexed, analysed, &found);
    assert!(report.classes > 0, "there is nothing to decide");
}

const ELEVATOR: Workload =
    Workload { events: 329_000, threads: 5, objects: 64, locks: 16, functions: 24, kinds: 6, split: 30 };
const DATABASE: Workload =
    Workload { events: 3_270_000, threads: 8, objects: 4_096, locks: 256, functions: 96, kinds: 16, split: 30 };

#[test]
#[ignore = "a measurement"]
fn elevator() {
    measure("Penelope, elevator data3: 408 s", ELEVATOR);
}

#[test]
#[ignore = "a measurement"]
fn database() {
    measure("AVFilter, MySQL, 5,202 candidates: 4,322 s", DATABASE);
}

/// Ten million events, with nothing but views and stale values.
#[test]
#[ignore = "a measurement"]
fn views_of_a_long_run() {
    let config = Config {
        cut_points: false,
        crossings: false,
        views: Some(views::Bounds::NEAR),
        stale_values: Some(views::Bounds::NEAR),
        ..Config::default()
    };
    measure_with("goal: 10 s", Workload { events: 10_000_000, ..DATABASE }, config);
}

/// How long it takes to find an order with few switches for what was predicted, and how few there are.
fn reduce_orders(workload: Workload) {
    const MOST: usize = 50;
    let history = workload.history();
    let report = analyse(&history, &Config::default(), &Watch { stop: &|| false, progress: &|_, _| {} });
    let switches = |order: &mut dyn Iterator<Item = At>| {
        let mut last = None;
        order.filter(|&at| last.replace(history.step(at).lane) != Some(history.step(at).lane)).count()
    };
    let targets: Vec<Target> = report.predictions.iter().take(MOST).map(Target::of_prediction).collect();
    let begin = Instant::now();
    let reduced: Vec<Vec<At>> = targets.iter().map(|target| reduce(&history, target)).collect();
    let time = begin.elapsed() / targets.len().max(1) as u32;
    let given = targets.iter().map(|Target { order, .. }| {
        let steps = order.from as usize + order.steps.len();
        (steps, switches(&mut (0..order.from).chain(order.steps.iter().copied())))
    });
    let (steps, before) = given.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    let after: usize = reduced.iter().map(|order| switches(&mut order.iter().copied())).sum();
    let kept: usize = reduced.iter().map(Vec::len).sum();
    println!(
        "{} events, {} targets: {steps} steps and {before} turns become {kept} and {after}, {time:.2?} each",
        workload.events,
        targets.len()
    );
    assert!(after < before, "nothing is gained");
}

#[test]
#[ignore = "a measurement"]
fn fewer_switches() {
    reduce_orders(ELEVATOR);
    reduce_orders(DATABASE);
}

/// A long run, of which a quarter and a half show how the cost grows.
const HUGE: Workload =
    Workload { events: 100_000_000, threads: 16, objects: 125_000, locks: 1_024, functions: 240, kinds: 24, split: 30 };

#[test]
#[ignore = "a measurement"]
fn hundred_million() {
    measure("not possible", HUGE);
}

#[test]
#[ignore = "a measurement"]
fn half() {
    measure("not possible", Workload { events: HUGE.events / 2, ..HUGE });
}

#[test]
#[ignore = "a measurement"]
fn quarter() {
    measure("not possible", Workload { events: HUGE.events / 4, ..HUGE });
}
