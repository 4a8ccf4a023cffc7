//! `avmon predict` over traces that are made here: what it says of usual and of unusual ones.

mod cli_support;
#[path = "cli_support/traces.rs"]
mod traces;

use avmon::event::{Event, Kind, ThreadId};
use cli_support::{Ending, avmon, end, refuses};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const LOCK: u64 = 0x6000;
const COUNTER: u64 = 0x7000;

fn event(kind: Kind, object: u64, pc: u64) -> Event {
    Event::new(kind, 0, 0, object, pc)
}

/// A thread that reads a counter in one section and writes it in another, in one call of a function.
fn adds(thread: ThreadId) -> Vec<(ThreadId, Event)> {
    let events = [
        event(Kind::Start, thread.into(), 0x1000),
        Event::enter(0, 0, 0x1000, 0x500),
        Event::enter(1, 0, 0x2000, 0x1010),
        event(Kind::Acquire, LOCK, 0x2011),
        Event::access(Kind::Read, 0, 8, 0, COUNTER, 0x2021),
        event(Kind::Release, LOCK, 0x2031),
        event(Kind::Acquire, LOCK, 0x2041),
        Event::access(Kind::Write, 0, 8, 0, COUNTER, 0x2051),
        event(Kind::Release, LOCK, 0x2061),
        Event::new(Kind::Leave, 0, 1, 0, 0),
        Event::new(Kind::Leave, 0, 0, 0, 0),
        event(Kind::End, thread.into(), 0),
    ];
    events.into_iter().map(|event| (thread, event)).collect()
}

/// Two such threads, one after the other, with nothing that orders them.
fn lost_update() -> Vec<(ThreadId, Event)> {
    let main = [event(Kind::Start, 0, 0), event(Kind::Fork, 1, 0x501), event(Kind::Fork, 2, 0x511)];
    let joins = [event(Kind::Join, 1, 0x521), event(Kind::Join, 2, 0x531)];
    let of_main = |events: &[Event]| events.iter().map(|&event| (0, event)).collect::<Vec<_>>();
    [of_main(&main), adds(1), adds(2), of_main(&joins)].concat()
}

struct Traces(tempfile::TempDir);

impl Traces {
    fn new() -> Traces {
        Traces(tempfile::tempdir().unwrap())
    }

    fn of(&self, events: &[(ThreadId, Event)]) -> PathBuf {
        let path = self.0.path().join("avmon.data");
        traces::write(&path.join("42"), events, 1000);
        path
    }
}

fn predict(arguments: &[&str], trace: &Path) -> Ending {
    end(avmon(&["predict"]).args(arguments).arg(trace))
}

/// It finds nothing, and says why that is so.
fn is_silent(events: &[(ThreadId, Event)], says: &[&str]) {
    let traces = Traces::new();
    let ending = predict(&[], &traces.of(events));
    assert_eq!(ending.code, Some(0), "{ending:?}");
    assert!(!ending.stdout.contains("WARNING"), "{ending:?}");
    for part in says {
        assert!(ending.stdout.contains(part) || ending.stderr.contains(part), "'{part}' is not in {ending:?}");
    }
}

#[test]
fn a_lost_update_is_predicted_with_the_order_that_shows_it() {
    let traces = Traces::new();
    let ending = predict(&[], &traces.of(&lost_update()));
    assert_eq!(ending.code, Some(66), "{ending:?}");
    for part in ["Conflict rww, found by windows, cut_points", "In this order:", "1 finding from 1 block (strong)"] {
        assert!(ending.stdout.contains(part), "'{part}' is not in {}", ending.stdout);
    }
    assert_eq!(ending.stderr, "");
}

#[test]
fn the_exit_code_is_the_one_that_is_asked_for() {
    let traces = Traces::new();
    let trace = traces.of(&lost_update());
    for code in [3, 0, 66] {
        assert_eq!(predict(&["--exitcode", &code.to_string()], &trace).code, Some(code));
    }
    let nothing = Traces::new();
    let nothing = nothing.of(&[(0, event(Kind::Start, 0, 0))]);
    assert_eq!(predict(&["--exitcode", "3"], &nothing).code, Some(0), "nothing is found");
}

#[test]
fn an_order_that_is_fixed_is_not_predicted_to_be_another() {
    let mut events = lost_update();
    // The second thread is created when the first one is over.
    let fork = events.remove(2);
    let end = events.iter().position(|(_, event)| event.kind() == Some(Kind::End)).unwrap();
    let join = events.iter().position(|(_, event)| event.kind() == Some(Kind::Join)).unwrap();
    let join = events.remove(join);
    events.splice(end + 1..=end, [join, fork]);
    is_silent(&events, &["no violation is predicted"]);
}

#[test]
fn traces_without_anything_to_find_get_a_sensible_answer() {
    is_silent(&[(0, event(Kind::Start, 0, 0))], &["only one thread"]);
    is_silent(&[], &["only one thread"]);
    let accesses = |event: &Event| event.size() > 0;
    let without: Vec<_> = lost_update().into_iter().filter(|(_, event)| !accesses(event)).collect();
    let traces = Traces::new();
    let ending = predict(&[], &traces.of(&without));
    assert_eq!(ending.code, Some(66), "the window of locks is there: {ending:?}");
    assert!(ending.stdout.contains("Lock level only: no access of shared memory was recorded"), "{ending:?}");
    assert!(ending.stderr.contains("build the program with 'avmon cc'"), "{ending:?}");
}

#[test]
fn a_trace_without_locks_is_judged_by_its_accesses() {
    let is_lock = |event: &Event| matches!(event.kind(), Some(Kind::Acquire | Kind::Release));
    let events: Vec<_> = lost_update().into_iter().filter(|(_, event)| !is_lock(event)).collect();
    let traces = Traces::new();
    let ending = predict(&[], &traces.of(&events));
    assert_eq!(ending.code, Some(66), "{ending:?}");
    assert!(ending.stdout.contains("found by cut_points"), "{ending:?}");
}

#[test]
fn a_damaged_trace_is_read_as_far_as_it_goes() {
    let traces = Traces::new();
    let trace = traces.of(&lost_update());
    let streams = trace.join("42/streams");
    let stream = std::fs::read_dir(&streams).unwrap().map(|entry| entry.unwrap().path()).max().unwrap();
    let bytes = std::fs::read(&stream).unwrap();
    std::fs::write(&stream, &bytes[..bytes.len() - 7]).unwrap();
    let ending = predict(&[], &trace);
    assert_eq!(ending.code, Some(0), "{ending:?}");
    assert!(ending.stderr.contains("warning"), "{ending:?}");
}

#[test]
fn what_is_lost_is_told_and_nothing_is_predicted_across_it() {
    let mut events = lost_update();
    let write = events.iter().position(|(thread, event)| *thread == 1 && event.kind() == Some(Kind::Write)).unwrap();
    events.insert(write, (1, Event::new(Kind::Lost, 0, 3, 0, 0)));
    let traces = Traces::new();
    let ending = predict(&["--json"], &traces.of(&events));
    assert!(ending.stderr.contains("3 events were lost"), "{ending:?}");
    let findings = findings(&ending.stdout);
    let split: Vec<_> = findings.iter().map(|finding| finding["first"]["thread"].as_u64().unwrap()).collect();
    assert!(findings.iter().all(|finding| finding["rung"] != "conflicting"), "{split:?}");
}

#[test]
fn a_module_that_has_changed_is_told_once() {
    let traces = Traces::new();
    let module = traces.0.path().join("module.so");
    let mut compiler = Command::new("gcc");
    compiler.args(["-shared", "-Wl,--build-id=0xab12cd34", "-x", "c", "/dev/null", "-o"]).arg(&module);
    assert_eq!(end(&mut compiler).code, Some(0), "{compiler:?}");
    let trace = traces.0.path().join("avmon.data");
    let maps = format!("1000-9000 r-xp 00000000 08:01 1 {}\n", module.display());
    traces::write_with_modules(&trace.join("42"), &maps, &lost_update(), 1000);
    std::fs::write(&module, "another").unwrap();
    for arguments in [&[][..], &["--show-filtered"], &["--json"]] {
        let ending = predict(&[arguments, &["-a", "windows,cut_points,nondeterminism"]].concat(), &trace);
        assert_eq!(ending.code, Some(66), "{ending:?}");
        assert_eq!(ending.stderr.matches("module.so is not what it was").count(), 1, "{ending:?}");
        assert!(ending.stdout.contains("module.so+0x1050"), "{ending:?}");
    }
}

fn findings(json: &str) -> Vec<Value> {
    let lines = json.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["type"] == "finding").collect()
}

#[test]
fn json_is_the_log() {
    let traces = Traces::new();
    let trace = traces.of(&lost_update());
    let ending = predict(&["--json", "--analyses", "cut_points,nondeterminism"], &trace);
    assert_eq!(ending.code, Some(66), "{ending:?}");
    let [finding] = &findings(&ending.stdout)[..] else { panic!("{}", ending.stdout) };
    assert_eq!((finding["rung"].as_str(), finding["pattern"].as_str()), (Some("conflicting"), Some("rww")));
    let kinds: Vec<Value> = ending.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| kinds.iter().filter(|line| line["type"] == kind).count();
    assert_eq!((of("start"), of("summary"), of("witnesses")), (1, 1, 1), "{}", ending.stdout);

    let log = traces.0.path().join("log");
    let ending = predict(&["-o", log.to_str().unwrap(), "--analyses", "cut_points"], &trace);
    assert_eq!(ending.code, Some(66), "{ending:?}");
    assert_eq!(findings(&std::fs::read_to_string(log).unwrap()).len(), 1);
}

#[test]
fn nondeterminism_is_counted_and_grouped_and_no_finding() {
    // Two threads that only write, and one that reads.
    let writes = |thread: ThreadId, pc| {
        [
            (thread, event(Kind::Start, thread.into(), 0x1000)),
            (thread, event(Kind::Acquire, LOCK, pc)),
            (thread, Event::access(Kind::Write, 0, 8, 0, COUNTER, pc + 0x10)),
            (thread, event(Kind::Release, LOCK, pc + 0x20)),
            (thread, event(Kind::End, thread.into(), 0)),
        ]
    };
    let mut reads = writes(3, 0x4001);
    reads[2].1 = Event::access(Kind::Read, 0, 8, 0, COUNTER, 0x4011);
    let forks = [1, 2, 3].map(|thread| (0, event(Kind::Fork, thread, 0x501)));
    let events =
        [&[(0, event(Kind::Start, 0, 0))][..], &forks, &writes(1, 0x2001), &writes(2, 0x3001), &reads].concat();
    let traces = Traces::new();
    let trace = traces.of(&events);
    let ending = predict(&["-a", "nondeterminism"], &trace);
    assert_eq!(ending.code, Some(0), "{ending:?}");
    for part in [
        "possible witnesses: 3 feasible",
        "the read at 0x4010 saw the write at 0x3010, and could see the one at 0x2010",
    ] {
        assert!(ending.stdout.contains(part), "'{part}' is not in {}", ending.stdout);
    }
    let ending = predict(&["-a", "nondeterminism", "--json"], &trace);
    let groups = ending.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut ways: Vec<String> =
        groups.filter(|it| it["type"] == "witness").map(|it| it["way"].as_str().unwrap().to_owned()).collect();
    ways.sort_unstable();
    assert_eq!(ways, ["early", "overwritten", "without"], "{ending:?}");
    let orders = ending.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let orders: Vec<Value> = orders.filter(|it| it["type"] == "witness").map(|it| it["order"].clone()).collect();
    let has = |order: &Value, step: &str| order.as_array().is_some_and(|steps| steps.iter().any(|it| it == step));
    assert!(orders.iter().all(|order| has(order, "T3 0x4010")), "{orders:?}");
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let traces = Traces::new();
    let trace = traces.of(&lost_update());
    let all = "cut_points,crossings,nondeterminism";
    let with = |jobs: &str| predict(&["--jobs", jobs, "--show-filtered", "-a", all], &trace).stdout;
    assert_eq!(with("1"), with("7"));
}

#[test]
fn a_selection_keeps_what_it_names_and_a_name_that_fits_nothing_is_an_error() {
    let traces = Traces::new();
    let trace = traces.of(&lost_update());
    assert_eq!(predict(&["--thread", "T1"], &trace).code, Some(66));
    let predict = |arguments: &[&str]| {
        let mut command = avmon(&["predict"]);
        command.args(arguments).arg(&trace);
        command
    };
    refuses(&mut predict(&["--thread", "9"]), 2, &["no thread", "avmon info"]);
    refuses(&mut predict(&["--variable", "balance"]), 2, &["'balance'", "avmon dump"]);
    refuses(&mut predict(&["--function", "transfer"]), 2, &["'transfer'"]);
    refuses(&mut predict(&["--analyses", "magic"]), 2, &["cut_points"]);
}

#[test]
fn what_the_budget_leaves_out_is_told() {
    let traces = Traces::new();
    let trace = traces.of(&lost_update());
    let ending = predict(&["--time", "0", "-a", "cut_points"], &trace);
    assert!(ending.stderr.contains("the time is over"), "{ending:?}");
    assert_eq!(ending.code, Some(0), "{ending:?}");
    let ending = predict(&["--memory", "0", "-a", "cut_points"], &trace);
    assert!(ending.stderr.contains("--memory"), "{ending:?}");
}
