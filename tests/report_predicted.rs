//! Findings about data from end to end: events of a real program's places, a prediction, what is printed and logged.

mod report_common;

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use avmon::event::{Event, Kind, ThreadId, memory};
use avmon::monitor::{Modules, Monitor};
use avmon::options::Options;
use avmon::predict::decide::{self, Decision};
use avmon::predict::history::{At, Builder, Config, History, Survey};
use avmon::predict::pattern::Pattern;
use avmon::predict::prediction::{Prediction, Shape, Steps};
use avmon::predict::search::Budget;
use avmon::report::finding::{self, Analysis, Data, Finding, Rung, Strength};
use avmon::report::json::{self, Run, Start};
use avmon::report::reporter::{Reporter, Totals};
use avmon::report::sink::{LogFile, Sinks};
use report_common::{Told, Workshop, text};

/// Every operation is a mark of its name.
const PROGRAM: &str = r#"#include "marks.h"
#include <stdlib.h>
int lock, other_lock, balance, total, count;
__attribute__((noinline)) void transfer(void) {
    MARK("lock1");
    MARK("read");
    MARK("unlock1");
    MARK("lock2");
    MARK("write");
    MARK("unlock2");
}
__attribute__((noinline)) void show(void) {
    MARK("read total");
    MARK("read count");
}
__attribute__((noinline)) void update(void) {
    MARK("write total");
    MARK("write count");
}
__attribute__((noinline)) void *teller(void *p) { transfer(); MARK("after transfer"); return p; }
__attribute__((noinline)) void *reader(void *p) { show(); MARK("after show"); return p; }
__attribute__((noinline)) void *writer(void *p) { update(); MARK("after update"); return p; }
__attribute__((noinline)) void take(void) { MARK("take"); }
__attribute__((noinline)) void *make(void) { void *p = malloc(48); MARK("allocate"); return p; }
int main(void) {
    teller(0); reader(0); writer(0); take(); make();
    MARK("create");
    TELL("&transfer", transfer); TELL("&show", show); TELL("&update", update); TELL("&take", take);
    TELL("&teller", teller); TELL("&reader", reader); TELL("&writer", writer);
    TELL("lock", &lock); TELL("other_lock", &other_lock);
    TELL("balance", &balance); TELL("total", &total); TELL("count", &count);
    tell_modules();
    return 0;
}
"#;

/// A run that is made up, of a program that is not.
struct Scene {
    workshop: Workshop,
    told: Told,
    events: Vec<(ThreadId, Event)>,
}

impl Scene {
    /// With two threads, which start with these functions.
    fn new(routines: [&str; 2]) -> Scene {
        let workshop = Workshop::new();
        workshop.write("prog.c", PROGRAM);
        workshop.run("gcc -g -O1 -o prog prog.c");
        let told = workshop.tell("prog");
        let mut scene = Scene { workshop, told, events: Vec::new() };
        for thread in [1, 2] {
            scene.add(0, Event::new(Kind::Fork, 0, 0, thread, scene.at("create")));
        }
        for (thread, routine) in [1, 2].into_iter().zip(routines) {
            let start = scene.at(&format!("&{routine}"));
            scene.add(thread, Event::new(Kind::Start, 0, 0, u64::from(thread), start));
            scene.enter(thread, 0, routine, "");
        }
        scene
    }

    fn at(&self, name: &str) -> u64 {
        self.told.address(name)
    }

    fn add(&mut self, thread: ThreadId, event: Event) {
        self.events.push((thread, event));
    }

    fn enter(&mut self, thread: ThreadId, depth: u32, function: &str, call: &str) {
        let call = if call.is_empty() { 0 } else { self.at(call) };
        self.add(thread, Event::enter(depth, 0, self.at(&format!("&{function}")) + 4, call));
    }

    fn sync(&mut self, thread: ThreadId, kind: Kind, lock: &str, mark: &str) {
        self.add(thread, Event::new(kind, 0, 0, self.at(lock), self.at(mark)));
    }

    fn access(&mut self, thread: ThreadId, kind: Kind, address: u64, mark: &str) {
        self.add(thread, Event::access(kind, 0, 4, 0, address, self.at(mark)));
    }

    /// Takes the lock, itself or by calling a function that does so.
    fn acquire(&mut self, thread: ThreadId, mark: &str, by_wrapper: bool) {
        if by_wrapper {
            self.enter(thread, 2, "take", mark);
            self.sync(thread, Kind::Acquire, "lock", "take");
            self.add(thread, Event::new(Kind::Leave, 0, 2, 0, 0));
        } else {
            self.sync(thread, Kind::Acquire, "lock", mark);
        }
    }

    /// Reads and writes the balance, each under the lock.
    fn transfer(&mut self, thread: ThreadId, address: u64, by_wrapper: bool) {
        self.acquire(thread, "lock1", by_wrapper);
        self.access(thread, Kind::Read, address, "read");
        self.sync(thread, Kind::Release, "lock", "unlock1");
        self.acquire(thread, "lock2", by_wrapper);
        self.access(thread, Kind::Write, address, "write");
        self.sync(thread, Kind::Release, "lock", "unlock2");
        // Of memory of its own: it tells that there was no branch before the release.
        self.access(thread, Kind::Write, 0x100 * u64::from(thread), "after transfer");
    }

    /// Both threads call `transfer`, one after the other.
    fn transfers(by_wrapper: bool) -> Scene {
        let mut scene = Scene::new(["teller"; 2]);
        let balance = scene.at("balance");
        for thread in [1, 2] {
            scene.enter(thread, 1, "transfer", "after transfer");
            scene.transfer(thread, balance, by_wrapper);
            scene.add(thread, Event::new(Kind::Leave, 0, 1, 0, 0));
        }
        scene
    }

    fn history(&self) -> History {
        let mut survey = Survey::default();
        for (thread, event) in &self.events {
            survey.step(*thread, event);
        }
        let mut builder = Builder::new(&survey, Config::default());
        for (thread, event) in &self.events {
            builder.step(*thread, event);
        }
        builder.finish()
    }

    /// The step of a thread at a mark; if there are several, the one of this number.
    fn step(&self, history: &History, thread: ThreadId, mark: &str, number: usize) -> At {
        let is_it = |at: &At| history.thread(*at) == thread && history.pc(*at) == self.at(mark);
        (0..history.steps.len() as At).filter(is_it).nth(number).expect("there is such a step")
    }

    /// Thread 1 reads and writes, thread 2 writes in between.
    fn lost_update(&self, history: &History) -> Prediction {
        let [first, second] = ["read", "write"].map(|mark| self.step(history, 1, mark, 0));
        triple(history, Steps::of_one(first, self.step(history, 2, "write", 0), second), Pattern::Rww)
    }

    /// Thread 1 shows the pair that thread 2 updates.
    fn torn_pair(&self, history: &History) -> Prediction {
        let [first, second] = ["read total", "read count"].map(|mark| self.step(history, 1, mark, 0));
        let [culprit, culprit_too] = ["write total", "write count"].map(|mark| self.step(history, 2, mark, 0));
        let steps = Steps { first, culprit, culprit_too, second };
        let Decision::Predicted(order) = decide::decide(history, &steps, false, Budget::PATIENT) else {
            panic!("it is possible")
        };
        let block = history.frames.common(history.step(first).frame, history.step(second).frame).unwrap();
        Prediction { shape: Shape::Two, steps, block, order, alike: 1, view: Vec::new(), dependency: None }
    }

    /// What is told of the run if this is predicted.
    fn tell(
        &self,
        options: &Options,
        history: &History,
        predictions: &[(Analysis, Prediction)],
        is_complete: bool,
    ) -> Outcome {
        let log = self.workshop.path("log");
        let _ = std::fs::remove_file(&log);
        let printed = Printed::default();
        let sinks = Sinks { stderr: Box::new(printed.clone()), color: false, log: Some(LogFile::at(log.clone())) };
        let reporter =
            Reporter::new(options, sinks, Start::of_this_process(), self.workshop.symbols(&self.told)).unwrap();
        let mut monitor = Monitor::new(options, 4242, reporter.collecting(), &[]);
        for (thread, event) in &self.events {
            monitor.step(*thread, event, &mut NoModules);
        }
        assert_eq!(*printed.0.lock().unwrap(), b"", "nothing is told before all is known");
        let predictions = predictions.iter().map(|(analysis, prediction)| (*analysis, prediction));
        let entries = monitor.merged(predictions, history, is_complete);
        monitor.publish(entries);
        let strong = monitor.strong();
        monitor.finish(&Totals::default());
        let printed = String::from_utf8(printed.0.lock().unwrap().clone()).unwrap();
        Outcome { printed, run: read(&log), strong }
    }

    fn options(&self) -> Options {
        let directory = text(&self.workshop.path(""));
        Options { strip_path_prefix: format!("{}/", directory.trim_end_matches('/')), ..self.workshop.options() }
    }

    /// The finding that one prediction makes.
    fn finding(&self, history: &History, prediction: Prediction) -> Finding {
        let outcome = self.tell(&self.options(), history, &[(Analysis::CutPoints, prediction)], true);
        let is_data = |finding: &Finding| finding.rung == Rung::Conflicting;
        outcome.run.findings.into_iter().find(is_data).expect("it is in the log")
    }
}

fn triple(history: &History, steps: Steps, pattern: Pattern) -> Prediction {
    let Decision::Predicted(order) = decide::decide(history, &steps, false, Budget::PATIENT) else {
        panic!("it is possible")
    };
    let block = history.frames.common(history.step(steps.first).frame, history.step(steps.second).frame).unwrap();
    Prediction { shape: Shape::One(pattern), steps, block, order, alike: 5, view: Vec::new(), dependency: None }
}

struct Outcome {
    printed: String,
    run: Run,
    strong: usize,
}

struct NoModules;

impl Modules for NoModules {
    fn news(&mut self, _: u64, _: &mut dyn FnMut(&str)) {}
}

#[derive(Clone, Default)]
struct Printed(Arc<Mutex<Vec<u8>>>);

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The log, every line of it checked against the schema.
fn read(log: &Path) -> Run {
    for line in std::fs::read_to_string(log).unwrap().lines() {
        assert_eq!(json::validate_line(line), Ok(()), "{line}");
    }
    json::read_log(log).unwrap().runs.remove(0)
}

/// Offsets and addresses depend on the compiler and on the run.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split("0x");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        result.push_str("ADDRESS");
        result.push_str(part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    result
}

#[test]
fn the_whole_report() {
    let scene = Scene::transfers(false);
    let history = scene.history();
    let prediction = scene.lost_update(&history);
    let outcome = scene.tell(&scene.options(), &history, &[(Analysis::CutPoints, prediction)], true);
    let expected = "\
==================
WARNING: avmon: atomicity violation (pid=4242)
  transfer() is not atomic: it reads 'balance' at prog.c:6 and writes it at prog.c:9, and thread T2 can write it in between at prog.c:9.

  Block: function transfer prog.c:4 (prog+ADDRESS)

  Thread T1 reads 'balance':
    #0 transfer prog.c:6 (prog+ADDRESS)
    #1 teller prog.c:20 (prog+ADDRESS)
    while it holds 'lock' taken at prog.c:5

  Thread T2 writes it in between:
    #0 transfer prog.c:9 (prog+ADDRESS)
    #1 teller prog.c:20 (prog+ADDRESS)
    while it holds 'lock' taken at prog.c:8

  Thread T1 writes it:
    #0 transfer prog.c:9 (prog+ADDRESS)
    #1 teller prog.c:20 (prog+ADDRESS)
    while it holds 'lock' taken at prog.c:8

  Variable 'balance' is a global at ADDRESS.

  Lock 'lock' is a global.

  In this order:
    T1                          T2
    acquires 'lock' prog.c:5
    reads 'balance' prog.c:6
    releases 'lock' prog.c:7
                                acquires 'lock' prog.c:8
                                writes 'balance' prog.c:9
                                releases 'lock' prog.c:10
    acquires 'lock' prog.c:8
    writes 'balance' prog.c:9

  Why this can happen: T2 can run prog.c:5-10 there: T1 gives 'lock' back in between, nothing else orders the two, and every read before that sees what it saw in the recorded run, or no branch comes after it.

  Thread T1 (runs teller) created by thread T0 'main' at:
    #0 main prog.c:27 (prog+ADDRESS)

  Thread T2 (runs teller) created by thread T0 'main' at:
    #0 main prog.c:27 (prog+ADDRESS)

  Finding #1, after: not seen in this run, but nothing prevents it
  Conflict rww, found by windows, cut_points: the block writes over what the culprit wrote, by a value from before
  To hide it: atomicity_top:transfer
SUMMARY: avmon: atomicity violation prog.c:6 in transfer
==================
avmon: 1 finding from 1 block (strong), 0 suppressed, 0 lost events
";
    let printed = without_addresses(&outcome.printed);
    let printed = printed.split("avmon: the log").next().unwrap();
    assert_eq!(printed, expected);
    assert_eq!(outcome.strong, 1);
    let [conflict] = &outcome.run.findings[..] else { panic!("{:#?}", outcome.run.findings) };
    // Another window opens a section that only reads: it is no news.
    assert_eq!(
        (conflict.id, conflict.rung, outcome.run.count(1)),
        (1, Rung::Conflicting, 7),
        "5 orders and two windows"
    );
}

#[test]
fn a_lock_that_a_function_takes_for_its_caller_is_taken_where_that_is_called() {
    let scene = Scene::transfers(true);
    let history = scene.history();
    let predictions = [(Analysis::CutPoints, scene.lost_update(&history))];
    let outcome = scene.tell(&scene.options(), &history, &predictions, true);
    let conflict = &outcome.run.findings[0];
    assert_eq!(conflict.found_by, [Analysis::Windows, Analysis::CutPoints]);
    let taken_at = [&conflict.first, &conflict.culprit, &conflict.second].map(|o| o.sections[0].taken_at.line);
    assert_eq!(taken_at, [Some(5), Some(8), Some(8)]);
}

#[test]
fn windows_are_left_as_they_are_where_data_tells_nothing() {
    let scene = Scene::transfers(false);
    let history = scene.history();
    let partial = scene.tell(&scene.options(), &history, &[], false);
    let strengths: Vec<_> = partial.run.findings.iter().map(|window| (window.strength, window.data)).collect();
    assert_eq!(strengths, [(Strength::Strong, None), (Strength::Conditional, None)]);
    assert_eq!(partial.strong, 1);
    let mut unseen = Scene::transfers(false);
    unseen.events.retain(|(_, event)| event.size() == 0);
    let outcome = unseen.tell(&unseen.options(), &unseen.history(), &[], true);
    assert!(outcome.run.findings.iter().all(|window| window.data == Some(Data::NotSeen)));
    assert!(
        outcome.printed.contains("Lock level only: no access of shared memory was recorded"),
        "{}",
        outcome.printed
    );
    assert_eq!(outcome.strong, 1);
}

#[test]
fn suppressions_and_the_specification_hold_for_predictions() {
    let scene = Scene::transfers(false);
    let history = scene.history();
    let predictions = [(Analysis::CutPoints, scene.lost_update(&history))];
    for (line, hidden, left) in [
        ("variable:^balance$", 1, 2),
        ("lock:^lock$", 3, 0),
        ("atomicity_top:^transfer$", 3, 0),
        ("variable:total", 0, 1),
    ] {
        scene.workshop.write("known", line);
        let options = Options { suppressions: text(&scene.workshop.path("known")), ..scene.options() };
        let outcome = scene.tell(&options, &history, &predictions, true);
        assert_eq!((outcome.run.summary.unwrap().suppressed, outcome.run.findings.len()), (hidden, left), "{line}");
        if hidden > 0 {
            assert!(outcome.printed.contains(&format!(" {line}\n")), "{}", outcome.printed);
        }
    }
    scene.workshop.write("spec", "nonatomic:^transfer$\nnonatomic:^teller$");
    let options = Options { specification: text(&scene.workshop.path("spec")), ..scene.options() };
    let outcome = scene.tell(&options, &history, &predictions, true);
    assert_eq!((outcome.run.findings.len(), outcome.strong), (0, 0));
    assert!(outcome.run.summary.unwrap().not_transactions > 0);
}

#[test]
fn allocated_memory_is_known_by_its_allocation() {
    let mut scene = Scene::new(["teller"; 2]);
    scene.add(0, Event::new(Kind::Extent, 0, 48, 0, 0));
    scene.add(0, Event::new(Kind::Allocate, memory::HEAP, 0, 0x7000_0000, scene.at("allocate")));
    for thread in [1, 2] {
        scene.enter(thread, 1, "transfer", "after transfer");
        scene.transfer(thread, 0x7000_0010, false);
    }
    let history = scene.history();
    let finding = scene.finding(&history, scene.lost_update(&history));
    assert!(
        finding.sentence.contains("it reads offset 16 of the memory allocated at prog.c:24"),
        "{}",
        finding.sentence
    );
    let allocation = finding.variables[0].allocation.as_ref().unwrap();
    assert_eq!((allocation.offset, allocation.size, allocation.thread), (16, 48, 0));
    assert_eq!(allocation.allocated_at[0].name(), "make");
    assert!(finding.diagram.iter().any(|line| line.contains("reads offset 16 prog.c:6")), "{:#?}", finding.diagram);
}

/// The work of a thread is strong only if it writes back what it read.
#[test]
fn a_lost_update_is_strong_even_at_the_base_of_a_thread() {
    let at_base = |kinds: [Kind; 2]| {
        let mut scene = Scene::new(["transfer"; 2]);
        for thread in [1, 2] {
            let balance = scene.at("balance");
            scene.access(thread, kinds[0], balance, "read");
            scene.access(thread, kinds[1], balance, "write");
        }
        let history = scene.history();
        scene.finding(&history, scene.lost_update(&history))
    };
    assert_eq!(at_base([Kind::Read, Kind::Write]).strength, Strength::Strong);
    assert_eq!(at_base([Kind::Write, Kind::Write]).strength, Strength::Base);
}

#[test]
fn two_turns_of_a_loop_stay_weak() {
    let mut scene = Scene::new(["teller"; 2]);
    for thread in [1, 2] {
        scene.enter(thread, 1, "transfer", "after transfer");
        for _ in 0..2 {
            scene.access(thread, Kind::Write, scene.at("balance"), "write");
        }
    }
    let history = scene.history();
    let [first, second] = [0, 1].map(|number| scene.step(&history, 1, "write", number));
    let culprit = scene.step(&history, 2, "write", 0);
    let finding = scene.finding(&history, triple(&history, Steps::of_one(first, culprit, second), Pattern::Www));
    assert_eq!(finding.strength, Strength::Loop);
    let because = finding.because.unwrap();
    assert!(because.contains("T1 holds no lock all the way from its first access to its second"), "{because}");
}

#[test]
fn a_torn_pair_is_strong_if_both_blocks_mean_it() {
    let torn = |routines: [&str; 2], nested: bool, kinds: [Kind; 4]| {
        let mut scene = Scene::new(routines);
        if nested {
            scene.enter(1, 1, "show", "after show");
            scene.enter(2, 1, "update", "after update");
        }
        let [total, count] = ["total", "count"].map(|name| scene.at(name));
        scene.access(1, kinds[0], total, "read total");
        scene.access(1, kinds[1], count, "read count");
        scene.access(2, kinds[2], total, "write total");
        scene.access(2, kinds[3], count, "write count");
        let history = scene.history();
        scene.finding(&history, scene.torn_pair(&history))
    };
    let (read, write) = (Kind::Read, Kind::Write);
    let finding = torn(["reader", "writer"], true, [read, read, write, write]);
    assert_eq!((finding.strength, finding.pattern), (Strength::Strong, Some(finding::Pattern::TwoVariables)));
    assert_eq!(
        finding.sentence,
        "show() is not atomic: it reads 'total' at prog.c:13 and 'count' at prog.c:14, and thread T2 can write both \
         (prog.c:17 and prog.c:18): it can see 'total' as it was before and 'count' as it is after."
    );
    assert_eq!(
        finding.diagram,
        [
            "T1                        T2",
            "reads 'total' prog.c:13",
            "                          writes 'total' prog.c:17",
            "                          writes 'count' prog.c:18",
            "reads 'count' prog.c:14",
        ]
    );
    assert_eq!(torn(["reader", "writer"], true, [write, write, write, write]).strength, Strength::Strong);
    assert_eq!(torn(["reader", "writer"], true, [read, write, write, write]).strength, Strength::Unrelated);
    assert_eq!(torn(["show", "update"], false, [read, read, write, write]).strength, Strength::Base);
}
