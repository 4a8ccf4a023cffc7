//! Findings of real programs from end to end: the printed report, the log, what is suppressed and what is counted.

mod report_common;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use avmon::analysis::{AcquireSite, ErrorKind, Transaction, Violation};
use avmon::event::{Mode, ThreadId};
use avmon::options::Options;
use avmon::report::finding::{BlockKind, Frame, Kind, Strength};
use avmon::report::json::{self, Run, Start};
use avmon::report::modules::ModuleMap;
use avmon::report::reporter::{Process, Reporter, SetupError, Totals, Verdict};
use avmon::report::sink::{LogFile, Sinks};
use avmon::report::symbols::Symbols;
use avmon::report::threads::ThreadInfo;
use report_common::{Told, Workshop, text};

/// Every acquire is a mark. `outer` calls `append`, whose two acquires `update` can split.
const PROGRAM: &str = r#"#include "marks.h"
int lock, outer_lock;
static inline __attribute__((always_inline)) void take(const char *name) { MARK(name); }
__attribute__((noinline)) void append(void) {
    MARK("first");
    MARK("second");
}
__attribute__((noinline)) void helped(void) {
    take("help1");
    take("help2");
}
__attribute__((noinline)) void outer(void) { append(); MARK("after append"); helped(); MARK("after helped"); }
__attribute__((noinline)) void *worker(void *p) { outer(); MARK("after outer"); return p; }
__attribute__((noinline)) void *update(void *p) { MARK("culprit"); MARK("culprit2"); return p; }
int main(void) {
    TELL("below main", __builtin_return_address(0));
    worker(0);
    MARK("after worker");
    update(0);
    MARK("create");
    MARK("init");
    TELL("&append", append); TELL("&helped", helped); TELL("&outer", outer); TELL("&worker", worker);
    TELL("&update", update); TELL("&main", main);
    TELL("lock", &lock); TELL("outer_lock", &outer_lock); TELL("label", "the transfer");
    tell_modules();
    return 0;
}
"#;

struct Scene {
    workshop: Workshop,
    told: Told,
}

impl Scene {
    fn new() -> Scene {
        Scene::built("-g -O1")
    }

    fn built(flags: &str) -> Scene {
        let workshop = Workshop::new();
        workshop.write("prog.c", PROGRAM);
        workshop.run(&format!("gcc {flags} -o prog prog.c"));
        let told = workshop.tell("prog");
        Scene { workshop, told }
    }

    fn at(&self, name: &str) -> u64 {
        self.told.address(name)
    }

    /// An invocation of a function, called at a mark (or from where nobody knows).
    fn call(&self, function: &str, from: &str) -> Transaction {
        let call = if from.is_empty() { 0 } else { self.at(from) };
        Transaction::Function { inside: self.at(&format!("&{function}")) + 4, call }
    }

    fn site(&self, thread: ThreadId, mark: &str, stack: &[Transaction]) -> AcquireSite {
        AcquireSite { thread, pc: self.at(mark), mode: Mode::Exclusive, stack: stack.to_vec(), held: vec![] }
    }

    /// `append`, called by `outer`, called by the start routine `worker`, is split by `update`.
    fn violation(&self, kind: ErrorKind) -> Violation {
        // The marks stand right behind the calls, so they are in the callers' lines.
        let stack = [self.call("worker", ""), self.call("outer", "after outer"), self.call("append", "after append")];
        self.between(kind, "first", "second", &stack)
    }

    fn between(&self, kind: ErrorKind, first: &str, second: &str, stack: &[Transaction]) -> Violation {
        Violation {
            key: 1,
            kind,
            lock: self.at("lock"),
            generation: 0,
            lock_init: self.at("init"),
            common: stack.len(),
            first: AcquireSite { held: vec![self.at("outer_lock")], ..self.site(1, first, stack) },
            second: self.site(1, second, stack),
            culprit: self.site(2, "culprit", &[self.call("update", "")]),
            culprit_frames: 1,
        }
    }

    fn options(&self) -> Options {
        let log_path = text(&self.workshop.path("log"));
        Options { log_path, strip_path_prefix: format!("{}/", self.dir()), ..self.workshop.options() }
    }

    fn dir(&self) -> String {
        text(&self.workshop.path("")).trim_end_matches('/').to_owned()
    }

    fn reporter(&self, options: &Options) -> Bench {
        let printed = Printed::default();
        let sinks = Sinks {
            stderr: Box::new(printed.clone()),
            color: false,
            log: Some(LogFile::new(Path::new("/"), &options.log_path, 4242)),
        };
        let log = sinks.log.as_ref().unwrap().path().to_owned();
        let symbols = self.workshop.symbols(&self.told);
        Bench { reporter: Reporter::new(options, sinks, Start::of_this_process(), symbols).unwrap(), printed, log }
    }
}

impl Process for Scene {
    fn thread(&self, id: ThreadId) -> ThreadInfo {
        let start = if id == 1 { "&worker" } else { "&update" };
        ThreadInfo {
            name: if id == 2 { "updater".to_owned() } else { String::new() },
            parent: (id != 0).then_some(0),
            created_at: if id == 0 { 0 } else { self.at("create") },
            start_routine: if id == 0 { 0 } else { self.at(start) },
        }
    }

    fn pid(&self) -> u32 {
        4242
    }
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

struct Bench {
    reporter: Reporter,
    printed: Printed,
    log: PathBuf,
}

impl Bench {
    fn take(&mut self, scene: &Scene, violation: &Violation) -> Verdict {
        self.reporter.violation(violation, scene)
    }

    fn finish(&mut self, counts: &[(u64, u64)]) {
        let totals =
            Totals { events: 100, threads: 3, locks: 2, duration: Duration::from_millis(5), ..Totals::default() };
        self.reporter.finish(&totals, &mut counts.iter().copied());
    }

    /// What was printed since the last time.
    fn printed(&self) -> String {
        String::from_utf8(std::mem::take(&mut self.printed.0.lock().unwrap())).unwrap()
    }

    /// The log so far, every line of it checked against the schema.
    fn run(&self) -> Run {
        let text = std::fs::read_to_string(&self.log).unwrap();
        for line in text.lines() {
            assert_eq!(json::validate_line(line), Ok(()), "{line}");
        }
        let mut log = json::read_log(&self.log).unwrap();
        assert!(!log.truncated);
        assert_eq!(log.runs.len(), 1);
        log.runs.remove(0)
    }
}

/// Offsets depend on the compiler.
fn without_offsets(text: &str) -> String {
    let mut parts = text.split("+0x");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        result.push_str("+OFFSET");
        result.push_str(part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    result
}

#[test]
fn the_whole_report() {
    let scene = Scene::new();
    let mut bench = scene.reporter(&scene.options());
    assert_eq!(bench.take(&scene, &scene.violation(ErrorKind::After)), Verdict::New { strong: true });
    let expected = "\
==================
WARNING: avmon: atomicity violation (pid=4242)
  append() is not atomic: between its two acquires of 'lock' (prog.c:5 and prog.c:6), thread T2 'updater' can run the section at prog.c:14.

  Block: function append prog.c:4 (prog+OFFSET)

  Thread T1 acquires 'lock':
    #0 append prog.c:5 (prog+OFFSET)
    #1 outer prog.c:12 (prog+OFFSET)
    #2 worker prog.c:13 (prog+OFFSET)
    while it holds 'outer_lock'

  Thread T2 'updater' acquires it in between:
    #0 update prog.c:14 (prog+OFFSET)

  Thread T1 acquires it again:
    #0 append prog.c:6 (prog+OFFSET)
    #1 outer prog.c:12 (prog+OFFSET)
    #2 worker prog.c:13 (prog+OFFSET)

  Also split: outer

  Lock 'lock' is a global, initialised at:
    #0 main prog.c:21 (prog+OFFSET)

  Thread T1 (runs worker) created by thread T0 'main' at:
    #0 main prog.c:20 (prog+OFFSET)

  Thread T2 'updater' (runs update) created by thread T0 'main' at:
    #0 main prog.c:20 (prog+OFFSET)

  Finding #1, after: not seen in this run, but nothing prevents it
  To hide it: atomicity_top:append
SUMMARY: avmon: atomicity violation prog.c:5 in append
==================
";
    assert_eq!(without_offsets(&bench.printed()), expected);
}

#[test]
fn the_log_holds_the_finding_with_all_its_parts() {
    let scene = Scene::new();
    let mut bench = scene.reporter(&scene.options());
    assert_eq!(bench.run().findings, [], "a log that was asked for exists from the start");
    bench.take(&scene, &scene.violation(ErrorKind::In));
    bench.finish(&[(1, 7)]);
    let run = bench.run();
    let finding = &run.findings[0];
    assert_eq!((finding.id, finding.kind, finding.strength), (1, Kind::In, Strength::Strong));
    assert_eq!((finding.block.kind, finding.block.name.as_str()), (BlockKind::Function, "append"));
    assert!(finding.sentence.contains("thread T2 'updater' ran the section"), "{}", finding.sentence);
    assert_eq!(finding.first.held, ["'outer_lock'"]);
    assert_eq!(finding.lock.as_ref().unwrap().name.as_deref(), Some("lock"));
    assert_eq!(finding.first.stack[0].file, Some(text(&scene.workshop.path("prog.c"))), "the log keeps whole paths");
    assert_eq!(run.count(1), 7);
    let summary = run.summary.unwrap();
    assert_eq!((summary.strong, summary.events, summary.threads, summary.duration_ms), (1, 100, 3, 5));
    assert_eq!(run.start.unwrap().pid, std::process::id());
}

#[test]
fn the_same_finding_is_reported_once() {
    let scene = Scene::new();
    let mut bench = scene.reporter(&scene.options());
    bench.take(&scene, &scene.violation(ErrorKind::In));
    bench.printed();
    let again = Violation { key: 2, lock: scene.at("lock"), ..scene.violation(ErrorKind::In) };
    assert_eq!(bench.take(&scene, &again), Verdict::Repeat);
    assert_eq!(bench.printed(), "");
    let mut elsewhere = Violation { key: 3, ..scene.violation(ErrorKind::In) };
    elsewhere.culprit.pc = scene.at("first");
    assert_eq!(bench.take(&scene, &elsewhere), Verdict::New { strong: true });
    bench.finish(&[(1, 10), (2, 5), (3, 1)]);
    assert_eq!((bench.run().count(1), bench.run().count(2)), (15, 1));
    assert_eq!(bench.reporter.strong(), 2);
    let closing = bench.printed();
    assert!(
        closing.ends_with(&format!(
            "avmon: 2 findings from 1 block (strong), 0 suppressed, 0 lost events\navmon: the log is {}\n",
            bench.log.display()
        )),
        "{closing}"
    );
}

#[test]
fn another_kind_of_the_same_finding_is_a_note() {
    let scene = Scene::new();
    let mut bench = scene.reporter(&scene.options());
    bench.take(&scene, &scene.violation(ErrorKind::After));
    bench.printed();
    for kind in [ErrorKind::In, ErrorKind::Before] {
        assert_eq!(bench.take(&scene, &scene.violation(kind)), Verdict::New { strong: true }, "{kind:?}");
    }
    let expected = "\
avmon: #2, also IN: append() is not atomic: between its two acquires of 'lock' (prog.c:5 and prog.c:6), thread T2 'updater' ran the section at prog.c:14.
       same block and locations as #1
avmon: #3, also BEFORE: append() is not atomic: between its two acquires of 'lock' (prog.c:5 and prog.c:6), thread T2 'updater' can run the section at prog.c:14.
       same block and locations as #1
";
    assert_eq!(bench.printed(), expected);
    let findings = bench.run().findings;
    assert_eq!(findings.iter().map(|f| f.same_as).collect::<Vec<_>>(), [None, Some(1), Some(1)]);
    assert_eq!(bench.reporter.strong(), 1);
}

#[test]
fn a_before_alone_is_conditional_until_another_kind_is_seen() {
    let scene = Scene::new();
    let mut bench = scene.reporter(&scene.options());
    assert_eq!(bench.take(&scene, &scene.violation(ErrorKind::Before)), Verdict::New { strong: false });
    assert_eq!((bench.printed().as_str(), bench.reporter.strong()), ("", 0));
    assert_eq!(bench.take(&scene, &scene.violation(ErrorKind::In)), Verdict::New { strong: true });
    assert!(bench.printed().starts_with("==================\nWARNING"), "the first that is printed is printed in full");
    let findings = bench.run().findings;
    assert_eq!(findings[0].strength, Strength::Conditional);
    assert_eq!((findings[1].strength, findings[1].same_as), (Strength::Strong, Some(1)));
    bench.finish(&[]);
    assert!(bench.printed().starts_with("avmon: 1 finding from 1 block (strong), 0 suppressed"));
}

#[test]
fn weak_findings_are_counted_and_shown_on_demand() {
    let scene = Scene::new();
    let looping = scene.between(ErrorKind::In, "first", "first", &[scene.call("append", "after append")]);
    let mut bench = scene.reporter(&scene.options());
    assert_eq!(bench.take(&scene, &looping), Verdict::New { strong: false });
    assert_eq!(bench.printed(), "");
    bench.finish(&[]);
    assert!(bench.printed().starts_with(
        "avmon: 0 findings from 0 blocks (strong), 1 weak not shown (show_weak=1 shows them), 0 suppressed"
    ));
    assert_eq!(bench.run().summary.unwrap().loops, 1);

    let mut bench = scene.reporter(&Options { show_weak: true, ..scene.options() });
    bench.take(&scene, &looping);
    let report = bench.printed();
    assert!(report.contains("between its two acquires of 'lock' at prog.c:5, thread"), "{report}");
    assert!(
        report.contains("  Weak, loop: two turns of a loop, which are seldom meant to be atomic together\n"),
        "{report}"
    );
    bench.finish(&[]);
    assert!(bench.printed().contains("(strong), 1 weak, 0 suppressed"));
}

#[test]
fn a_way_back_in_the_source_is_a_turn_of_a_loop() {
    let scene = Scene::new();
    let back = scene.between(ErrorKind::In, "second", "first", &[scene.call("append", "after append")]);
    assert_eq!(strength(&scene, &back), Strength::Loop);
    let forth = scene.between(ErrorKind::In, "first", "second", &[scene.call("append", "after append")]);
    assert_eq!(strength(&scene, &forth), Strength::Strong);
}

fn strength(scene: &Scene, violation: &Violation) -> Strength {
    let options = Options { log_path: format!("{}/strength", scene.dir()), ..scene.options() };
    let mut bench = scene.reporter(&options);
    bench.take(scene, violation);
    let strength = bench.run().findings[0].strength;
    std::fs::remove_file(&bench.log).unwrap();
    strength
}

#[test]
fn the_base_of_a_thread_is_weak() {
    let scene = Scene::new();
    let in_worker = scene.between(ErrorKind::In, "first", "second", &[scene.call("worker", "")]);
    assert_eq!(strength(&scene, &in_worker), Strength::Base);
    let mut in_main = scene.between(ErrorKind::In, "first", "second", &[scene.call("main", "")]);
    in_main.first.thread = 0;
    in_main.second.thread = 0;
    assert_eq!(strength(&scene, &in_main), Strength::Base);
    let in_callee = scene.between(ErrorKind::In, "first", "second", &[scene.call("outer", "")]);
    assert_eq!(strength(&scene, &in_callee), Strength::Strong, "outermost, but not where the thread started");
}

#[test]
fn the_base_of_a_cpp_thread_includes_the_callable_of_the_user() {
    let source = r#"#include "marks.h"
#include <thread>
void transfer() { MARK("first"); MARK("second"); }
int main() {
    std::thread([] { transfer(); MARK("after transfer"); }).join();
    MARK("init"); MARK("create"); MARK("culprit");
    static int lock, outer_lock;
    TELL("lock", &lock); TELL("outer_lock", &outer_lock);
    TELL("&main", main); TELL("&transfer", transfer); TELL("&worker", main); TELL("&update", main);
    tell_modules();
}
"#;
    let workshop = Workshop::new();
    workshop.write("prog.cc", source);
    workshop.run("g++ -g -O0 -pthread -o prog prog.cc");
    let scene = Scene { told: workshop.tell("prog"), workshop };
    // What the monitor would see of the thread: the library's templates are instrumented with the program.
    let listing = scene.workshop.run("nm -C prog");
    let value = |has: &str| {
        let line = listing.lines().find(|line| line.contains(has)).unwrap_or_else(|| panic!("no {has}"));
        u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap()
    };
    let bias = scene.at("&main") - value(" T main");
    let call = |has| Transaction::Function { inside: value(has) + bias + 4, call: 0 };
    let lambda = call(" t main::{lambda()#1}::operator()() const");
    let base = [call("::_M_run()"), call(" std::__invoke_result<"), lambda];
    let in_lambda = scene.between(ErrorKind::In, "first", "second", &base);
    assert_eq!(strength(&scene, &in_lambda), Strength::Base);
    let in_library = scene.between(ErrorKind::In, "first", "second", &base[..2]);
    assert_eq!(strength(&scene, &in_library), Strength::Base);
    let above = [base[0], base[1], lambda, scene.call("transfer", "after transfer")];
    let in_transfer = scene.between(ErrorKind::In, "first", "second", &above);
    assert_eq!(strength(&scene, &in_transfer), Strength::Strong);
}

#[test]
fn without_symbols_the_start_routine_is_still_known() {
    let scene = Scene::built("-O1 -s");
    let in_worker = scene.between(ErrorKind::In, "first", "second", &[scene.call("worker", "")]);
    assert_eq!(strength(&scene, &in_worker), Strength::Base);
    let mut bench = scene.reporter(&scene.options());
    bench.take(&scene, &scene.violation(ErrorKind::In));
    let report = without_offsets(&bench.printed());
    assert!(report.contains("prog+OFFSET is not atomic: between its two acquires of 'prog+OFFSET'"), "{report}");
    assert!(report.contains("    #0 <unknown> (prog+OFFSET)\n"), "{report}");
    assert!(report.contains("  To hide it: atomicity_top:prog\n"), "{report}");
}

#[test]
fn helpers_that_were_inlined_are_told_apart_by_their_callers() {
    let scene = Scene::new();
    let violation = scene.between(ErrorKind::In, "help1", "help2", &[scene.call("helped", "after helped")]);
    assert_eq!(strength(&scene, &violation), Strength::Strong);
    let mut bench = scene.reporter(&scene.options());
    bench.take(&scene, &violation);
    let report = bench.printed();
    assert!(report.contains("(prog.c:9 and prog.c:10)"), "{report}");
    assert!(report.contains("    #0 take prog.c:3 ("), "{report}");
    assert!(report.contains(" [inlined]\n    #1 helped prog.c:9 ("), "{report}");
}

#[test]
fn sections_and_marked_blocks_are_blocks_too() {
    let scene = Scene::new();
    let section = Transaction::Section { lock: scene.at("outer_lock"), pc: scene.at("after outer") };
    let mut bench = scene.reporter(&scene.options());
    assert_eq!(
        bench.take(&scene, &scene.between(ErrorKind::In, "first", "second", &[section])),
        Verdict::New { strong: true }
    );
    let report = bench.printed();
    assert!(report.contains("  the section at prog.c:13 in worker() is not atomic: between"), "{report}");
    assert!(report.contains("  To hide it: atomicity_top:worker\n"), "{report}");

    let marked = Transaction::Block { label: scene.at("label"), pc: scene.at("first") };
    bench.take(&scene, &scene.between(ErrorKind::In, "first", "second", &[marked]));
    let report = bench.printed();
    assert!(report.contains("  block 'the transfer' is not atomic: between"), "{report}");
    assert!(report.contains("  To hide it: atomicity_top:the transfer\n"), "{report}");
}

#[test]
fn a_section_is_one_finding_whichever_object_is_locked() {
    let scene = Scene::new();
    let mut bench = scene.reporter(&scene.options());
    let mut take = |lock| {
        let section = Transaction::Section { lock, pc: scene.at("after outer") };
        let violation = scene.between(ErrorKind::In, "first", "second", &[section]);
        bench.take(&scene, &Violation { lock: lock + 8, ..violation })
    };
    assert_eq!(take(0x7f00_0000_0000), Verdict::New { strong: true });
    assert_eq!(take(0x7f00_0000_1000), Verdict::Repeat);
}

#[test]
fn a_function_between_that_has_no_hooks_does_not_hide_its_caller() {
    let scene = Scene::new();
    // `append` was not instrumented: the stack knows `outer` only, and the acquire is in `append`.
    let violation = scene.between(ErrorKind::In, "first", "second", &[scene.call("outer", "after outer")]);
    let mut bench = scene.reporter(&scene.options());
    bench.take(&scene, &violation);
    let names: Vec<_> = bench.run().findings[0].first.stack.iter().map(Frame::name).collect();
    assert_eq!(names, ["append", "outer", "worker"]);
}

#[test]
fn the_c_library_below_main_is_not_shown() {
    let scene = Scene::new();
    let stack = [scene.call("main", "below main"), scene.call("append", "after append")];
    let mut bench = scene.reporter(&scene.options());
    bench.take(&scene, &scene.between(ErrorKind::In, "first", "second", &stack));
    let names: Vec<_> = bench.run().findings[0].first.stack.iter().map(Frame::name).collect();
    assert_eq!(names, ["append", "outer", "main"]);
}

#[test]
fn deep_recursion_makes_no_endless_report() {
    let scene = Scene::new();
    let mut stack = vec![scene.call("outer", "after outer"); 5000];
    stack.push(scene.call("append", "after append"));
    let mut bench = scene.reporter(&scene.options());
    bench.take(&scene, &scene.between(ErrorKind::In, "first", "second", &stack));
    let finding = &bench.run().findings[0];
    assert!((100..110).contains(&finding.first.stack.len()), "{}", finding.first.stack.len());
    assert_eq!(finding.first.stack[0].name(), "append", "the innermost frames are kept");
    assert_eq!(finding.also_split, ["outer"]);
}

#[test]
fn a_suppression_hides_and_is_counted() {
    let scene = Scene::new();
    scene.workshop.write("supp", "# known\natomicity_top:^append$\n");
    let options = Options { suppressions: text(&scene.workshop.path("supp")), ..scene.options() };
    let mut bench = scene.reporter(&options);
    assert_eq!(bench.take(&scene, &scene.violation(ErrorKind::In)), Verdict::Suppressed);
    bench.finish(&[(1, 12)]);
    let printed = bench.printed();
    let expected = "\
avmon: 0 findings from 0 blocks (strong), 1 suppressed, 0 lost events
avmon: the log is ";
    assert!(printed.starts_with(expected), "{printed}");
    assert!(printed.ends_with("avmon: suppressions that matched:\n       12 atomicity_top:^append$\n"), "{printed}");
    assert_eq!((bench.run().findings.len(), bench.run().summary.unwrap().suppressed), (0, 1));
}

#[test]
fn every_suppression_that_a_report_offers_hides_that_report() {
    let scene = Scene::new();
    let stripped = Scene::built("-O1 -s");
    let section = Transaction::Section { lock: scene.at("outer_lock"), pc: scene.at("after outer") };
    let marked = Transaction::Block { label: scene.at("label"), pc: scene.at("first") };
    let cases = [
        (&scene, scene.violation(ErrorKind::In)),
        (&scene, scene.between(ErrorKind::In, "first", "second", &[section])),
        (&scene, scene.between(ErrorKind::In, "first", "second", &[marked])),
        (&stripped, stripped.violation(ErrorKind::In)),
    ];
    for (scene, violation) in cases {
        let mut bench = scene.reporter(&Options { log_path: format!("{}/a", scene.dir()), ..scene.options() });
        bench.take(scene, &violation);
        let line = bench.run().findings[0].suppression.clone();
        std::fs::remove_file(&bench.log).unwrap();
        scene.workshop.write("supp", &line);
        let options = Options { suppressions: text(&scene.workshop.path("supp")), ..scene.options() };
        assert_eq!(scene.reporter(&options).take(scene, &violation), Verdict::Suppressed, "{line}");
    }
}

#[test]
fn a_specification_moves_the_blame_or_takes_it_away() {
    let scene = Scene::new();
    let verdict_and_block = |specification: &str| {
        scene.workshop.write("spec", specification);
        let specification = text(&scene.workshop.path("spec"));
        let mut bench = scene.reporter(&Options { specification, ..scene.options() });
        let verdict = bench.take(&scene, &scene.violation(ErrorKind::In));
        let block = bench.run().findings.first().map(|f| (f.block.name.clone(), f.also_split.clone()));
        std::fs::remove_file(&bench.log).unwrap();
        (verdict, block)
    };
    let strong = Verdict::New { strong: true };
    assert_eq!(verdict_and_block("nonatomic:^append$"), (strong, Some(("outer".into(), vec![]))));
    assert_eq!(verdict_and_block("nonatomic:^outer$\n"), (strong, Some(("append".into(), vec![]))));
    assert_eq!(verdict_and_block("atomic:o\n"), (Verdict::New { strong: true }, Some(("outer".into(), vec![]))));
    assert_eq!(verdict_and_block("atomic:deposit"), (Verdict::NotATransaction, None));
}

#[test]
fn files_that_are_wrong_stop_the_setup_with_the_place() {
    let scene = Scene::new();
    scene.workshop.write("bad", "\natomicity_top:\n");
    let path = text(&scene.workshop.path("bad"));
    let error = |options: Options| -> SetupError {
        let log = LogFile::new(Path::new("/"), &options.log_path, 1);
        Reporter::new(
            &options,
            Sinks { stderr: Box::new(Printed::default()), color: false, log: Some(log) },
            Start::of_this_process(),
            Symbols::new(&options, ModuleMap::default()),
        )
        .err()
        .unwrap()
    };
    let suppressions = error(Options { suppressions: path.clone(), ..Options::default() });
    assert_eq!(suppressions.to_string(), format!("{path}:2:15: empty template; write part of a name"));
    let specification = error(Options { specification: path.clone(), ..Options::default() });
    assert_eq!(
        specification.to_string(),
        format!("{path}:2:1: unknown type 'atomicity_top'; write atomic or nonatomic")
    );
    let log = error(Options { log_path: "/nonexistent/avm".into(), ..Options::default() });
    assert_eq!(
        log.to_string(),
        "cannot write the log /nonexistent/avm.1: No such file or directory (os error 2); \
         give a path in a writable directory with log_path="
    );
}

#[test]
fn a_log_that_nobody_asked_for_comes_with_the_first_finding() {
    let scene = Scene::new();
    let options = Options { log_path: String::new(), ..scene.options() };
    let printed = Printed::default();
    let log = LogFile::new(&scene.workshop.path(""), "", 4242);
    let sinks = Sinks { stderr: Box::new(printed.clone()), color: false, log: Some(log) };
    let reporter =
        Reporter::new(&options, sinks, Start::of_this_process(), scene.workshop.symbols(&scene.told)).unwrap();
    let mut bench = Bench { reporter, printed, log: scene.workshop.path("avmon.log.4242") };
    bench.finish(&[]);
    assert!(!bench.log.exists());
    assert_eq!(bench.printed(), "", "nothing to tell");
    bench.take(&scene, &scene.violation(ErrorKind::In));
    assert_eq!(bench.run().findings.len(), 1);
}

#[test]
fn a_log_that_fails_later_is_told_once() {
    let scene = Scene::new();
    let mut bench = scene.reporter(&Options { report: false, ..scene.options() });
    std::fs::remove_file(&bench.log).unwrap();
    std::fs::create_dir(&bench.log).unwrap();
    bench.take(&scene, &scene.violation(ErrorKind::In));
    bench.take(&scene, &scene.violation(ErrorKind::After));
    let told = bench.printed();
    assert_eq!(told.matches("cannot write the log").count(), 1, "{told}");
    assert!(told.contains("Is a directory"), "{told}");
    bench.finish(&[]);
    assert!(!bench.printed().contains("the log is"), "a log that is not whole is not offered");
}

#[test]
fn loss_is_never_silent() {
    let scene = Scene::new();
    let mut bench = scene.reporter(&scene.options());
    bench.reporter.finish(&Totals { lost: 2, unseen: 1, ..Totals::default() }, &mut std::iter::empty());
    let printed = bench.printed();
    assert!(printed.contains("0 suppressed, 2 lost events, 1 unseen event\n"), "{printed}");
}

#[test]
fn colour_changes_nothing_but_colour() {
    let scene = Scene::new();
    let report = |color| {
        let options = Options { log_path: format!("{}/log{color}", scene.dir()), ..scene.options() };
        let printed = Printed::default();
        let sinks = Sinks {
            stderr: Box::new(printed.clone()),
            color,
            log: Some(LogFile::new(Path::new("/"), &options.log_path, 1)),
        };
        let symbols = scene.workshop.symbols(&scene.told);
        Reporter::new(&options, sinks, Start::of_this_process(), symbols)
            .unwrap()
            .violation(&scene.violation(ErrorKind::In), &scene);
        String::from_utf8(std::mem::take(&mut printed.0.lock().unwrap())).unwrap()
    };
    let (plain, coloured) = (report(false), report(true));
    assert!(!plain.contains('\x1b') && coloured.contains("\x1b["));
    let mut pieces = coloured.split('\x1b');
    let mut stripped = pieces.next().unwrap().to_owned();
    stripped.extend(pieces.map(|piece| piece.split_once('m').unwrap().1));
    assert_eq!(stripped, plain);
}
