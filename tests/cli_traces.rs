//! `avmon info`, `dump` and `export` over traces that are made here.

mod cli_support;
#[path = "cli_support/traces.rs"]
mod traces;

use avmon::event::{Event, Kind, Mode, ThreadId, access, atomic};
use cli_support::{Ending, avmon, end, refuses};
use std::path::{Path, PathBuf};
use std::process::Stdio;

fn event(kind: Kind, object: u64, pc: u64) -> Event {
    Event::new(kind, 0, 0, object, pc)
}

fn name(thread: u64, text: [u8; 8]) -> Event {
    Event::new(Kind::Name, 0, thread, u64::from_le_bytes(text), 0)
}

/// Two threads that count under a lock, read each other's variables, and wait for each other.
fn events() -> Vec<(ThreadId, Event)> {
    let reading = Event::new(Kind::Acquire, Mode::Shared as u8, 0, 0x6010, 0x1051);
    let atomic = Event::new(Kind::AtomicStore, atomic::detail(3, 2), 0, 0x6040, 0x1061);
    vec![
        (0, event(Kind::Start, 0, 0)),
        (0, Event::new(Kind::Time, 0, 1000, 0, 0)),
        (0, event(Kind::Fork, 1, 0x1001)),
        (0, Event::access(Kind::Write, access::VOLATILE, 8, 2, 0x7000, 0x1011)),
        (0, event(Kind::Acquire, 0x6000, 0x1021)),
        (0, Event::access(Kind::Write, 0, 4, 0, 0x7100, 0x1031)),
        (0, event(Kind::Release, 0x6000, 0x1041)),
        (0, event(Kind::Signal, 0x6020, 0x1045)),
        (0, Event::new(Kind::Time, 0, 5000, 0, 0)),
        (1, event(Kind::Start, 1, 0x2000)),
        (1, name(1, *b"worker\0\0")),
        (1, event(Kind::Await, 0x6020, 0x2045)),
        (1, event(Kind::BlockBegin, 0, 0x2001)),
        (1, event(Kind::Acquire, 0x6000, 0x2021)),
        (1, Event::access(Kind::Read, 0, 4, 0, 0x7100, 0x2031)),
        (1, event(Kind::Release, 0x6000, 0x2041)),
        (1, event(Kind::BlockEnd, 0, 0x2051)),
        (1, reading),
        (1, event(Kind::Release, 0x6010, 0x2061)),
        (1, atomic),
        (1, event(Kind::End, 1, 0)),
        (0, event(Kind::Join, 1, 0x1071)),
    ]
}

struct Traces(tempfile::TempDir);

impl Traces {
    fn new() -> Traces {
        Traces(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The usual trace, as `avmon record` would leave it.
    fn usual(&self) -> PathBuf {
        traces::write(&self.path("avmon.data/42"), &events(), 1000);
        self.path("avmon.data")
    }
}

fn run(command: &str, arguments: &[&str], trace: &Path) -> Ending {
    let ending = end(avmon(&[command]).args(arguments).arg(trace));
    assert_eq!(ending.code, Some(0), "{ending:?}");
    ending
}

// info

#[test]
fn info_tells_what_is_in_the_trace() {
    let traces = Traces::new();
    let text = run("info", &[], &traces.usual()).stdout;
    for line in [
        "program           /opt/prog (pid 42)",
        "command line      prog --fast",
        "recorded          1970-01-01 00:00:00 UTC by avmon 0.1.0",
        "ended             with exit status 7 after 1.500 s",
        "events            22",
        "left out          0 own stack, 0 repetitions, 0 excluded",
        "missing           0 lost, 0 unseen, 0 gaps in the order",
        "locks             2",
        "shared variables  1",
        "              3  acquire",
        "              1  atomic_store",
        "      10 events  T0",
        "      12 events  T1 'worker' runs 0x2000, created by T0 at 0x1000",
    ] {
        assert!(text.lines().any(|found| found == line), "no {line:?} in\n{text}");
    }
    assert!(!text.contains("problems") && !text.contains("SECRET"), "{text}");
}

#[test]
fn info_lists_some_threads_and_counts_the_others() {
    let traces = Traces::new();
    let text = run("info", &["--threads", "1"], &traces.usual()).stdout;
    assert!(text.contains("  T0\n") && !text.contains("  T1") && text.contains("and 1 more"), "{text}");
}

#[test]
fn quick_info_leaves_out_what_only_events_tell() {
    let traces = Traces::new();
    let text = run("info", &["--quick"], &traces.usual()).stdout;
    assert!(text.contains("events            22\n") && !text.contains("by kind") && !text.contains("shared"), "{text}");
}

#[test]
fn info_as_json_has_the_same_and_the_environment() {
    let traces = Traces::new();
    let text = run("info", &["--json"], &traces.usual()).stdout;
    let facts: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&facts["exit_status"], &facts["events"]), (&7.into(), &22.into()));
    assert_eq!((&facts["shared_variables"], &facts["accesses"]), (&1.into(), &4.into()));
    assert_eq!((&facts["kinds"]["fork"], &facts["threads"][1]["name"]), (&1.into(), &"worker".into()));
    assert_eq!(facts["environment"][0], "SECRET=1");
    assert!(facts["bytes_per_access"].as_f64().unwrap() > 1.0);
}

#[test]
fn a_damaged_trace_is_told_and_read_as_far_as_it_goes() {
    let traces = Traces::new();
    let trace = traces.usual();
    let stream = trace.join("42/streams/1");
    let bytes = std::fs::read(&stream).unwrap();
    std::fs::write(&stream, &bytes[..bytes.len() - 5]).unwrap();
    let text = run("info", &[], &trace).stdout;
    let problems = text.split("\nproblems\n").nth(1).expect("problems are listed");
    assert!(problems.lines().count() >= 1 && text.contains("10 events  T0"), "{text}");
    let ending = run("dump", &[], &trace);
    assert!(ending.stderr.contains("avmon: warning: ") && ending.stdout.contains("fork"), "{ending:?}");
}

#[test]
fn what_is_no_trace_is_told() {
    let traces = Traces::new();
    for command in [&["info"][..], &["dump"], &["export", "--format", "std"]] {
        refuses(avmon(command).arg("/no/such/trace"), 125, &["/no/such/trace"]);
        refuses(avmon(command).current_dir(traces.0.path()), 125, &["avmon.data"]);
    }
}

#[test]
fn several_processes_are_listed() {
    let traces = Traces::new();
    let trace = traces.usual();
    traces::write(&trace.join("43"), &events(), 1000);
    refuses(avmon(&["info"]).arg(&trace), 125, &["42", "43"]);
    run("info", &[], &trace.join("43"));
}

// dump

#[test]
fn dump_has_a_line_for_each_event_in_merged_order() {
    let traces = Traces::new();
    let ending = run("dump", &[], &traces.usual());
    assert_eq!(ending.stderr, "", "nothing is wrong, and a pipe gets no progress");
    let lines: Vec<&str> = ending.stdout.lines().collect();
    assert_eq!(lines.len(), 22);
    for line in [
        "         3  T0    write         0x7000                   size=8 volatile branches=2 0x1010",
        "         4  T0    acquire       0x6000                   exclusive                0x1020",
        "        10  T1    name          T1                       'worker'                 -",
        "        17  T1    acquire       0x6010                   shared                   0x1050",
        "        19  T1    atomic_store  0x6040                   size=4 release           0x1060",
        "        21  T0    join          T1                       -                        0x1070",
    ] {
        assert!(lines.contains(&line), "no {line:?} in\n{}", ending.stdout);
    }
}

#[test]
fn dump_filters() {
    let traces = Traces::new();
    let trace = traces.usual();
    let numbers = |arguments: &[&str]| -> Vec<u32> {
        let text = run("dump", arguments, &trace).stdout;
        text.lines().map(|line| line.split_whitespace().next().unwrap().parse().unwrap()).collect()
    };
    assert_eq!(numbers(&["--thread", "T1", "--kind", "acquire,release"]), [13, 15, 17, 18]);
    assert_eq!(numbers(&["--thread", "0", "--thread", "1"]).len(), 22);
    assert_eq!(numbers(&["--object", "0x6000"]), [4, 6, 13, 15]);
    assert_eq!(numbers(&["--object", "^T1$"]), [2, 9, 10, 20, 21]);
    assert_eq!(numbers(&["--events", "3..6"]), [3, 4, 5]);
    assert_eq!(numbers(&["--address", "0x7004..0x7101"]), [3, 5, 14]);
    assert_eq!(numbers(&["--function", "nothing"]), [0; 0]);
    refuses(avmon(&["dump", "--kind", "aquire"]).arg(&trace), 2, &["aquire", "acquire"]);
    refuses(avmon(&["dump", "--events", "7"]).arg(&trace), 2, &["write 10..20"]);
}

#[test]
fn dump_of_threads_seeks() {
    let traces = Traces::new();
    let many: Vec<(ThreadId, Event)> = (0..2500)
        .map(|index| (index % 2, Event::access(Kind::Write, 0, 4, 0, 0x7000 + u64::from(index), 0x11)))
        .collect();
    traces::write(&traces.path("many"), &many, 100);
    let lines = |arguments: &[&str]| -> Vec<String> {
        let text = run("dump", &[&["--per-thread"], arguments].concat(), &traces.path("many")).stdout;
        text.lines().map(|line| line.split_whitespace().take(4).collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(lines(&["--thread", "1", "--events", "1000..1002"]), ["1000 T1 write 0x77d1", "1001 T1 write 0x77d3"]);
    assert_eq!(lines(&["--events", "1249.."]), ["1249 T0 write 0x79c2", "1249 T1 write 0x79c3"]);
    assert_eq!(lines(&[]).len(), 2500);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let traces = Traces::new();
    let trace = traces.usual();
    for command in [&["info"][..], &["dump"], &["export", "--format", "std"], &["export", "--format", "chrome"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ending = avmon(command).arg(&trace).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!((ending.status.code(), ending.stderr.as_slice()), (Some(0), &b""[..]), "{command:?}");
    }
}

// export

#[test]
fn export_writes_std_and_what_its_names_stand_for() {
    let traces = Traces::new();
    let (output, names) = (traces.path("run.std"), traces.path("run.names"));
    let arguments = ["--format", "std", "-o", output.to_str().unwrap(), "--names", names.to_str().unwrap()];
    assert_eq!(run("export", &arguments, &traces.usual()).stdout, "");
    let text = std::fs::read_to_string(output).unwrap();
    let operations: Vec<&str> = text.lines().map(|line| line.rsplit_once('|').unwrap().0).collect();
    let expected = [
        "T0|fork(T1)",
        "T0|w(V0)",
        "T0|acq(L0)",
        "T0|w(V1)",
        "T0|rel(L0)",
        "T0|fork(T2)",
        "T1|join(T2)",
        "T1|begin",
        "T1|acq(L0)",
        "T1|r(V1)",
        "T1|rel(L0)",
        "T1|end",
        "T1|acq(L1)",
        "T1|rel(L1)",
        "T0|join(T1)",
    ];
    assert_eq!(operations, expected);
    let names = std::fs::read_to_string(names).unwrap();
    for line in ["T2\torder only", "V1\t0x7100", "L0\t0x6000", "L1\t0x6010 as taken by reader T1", "0\t0x1000"] {
        assert!(names.lines().any(|found| found == line), "no {line:?} in\n{names}");
    }
}

#[test]
fn export_writes_a_timeline() {
    let traces = Traces::new();
    let text = run("export", &["--format", "chrome"], &traces.usual()).stdout;
    let records: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let named = |name: &str| records.iter().filter(|record| record["name"] == name).count();
    assert_eq!((named("process_name"), named("0x6000"), named("block"), named("0x6010 (shared)")), (1, 2, 1, 1));
    let worker = |record: &&serde_json::Value| record["args"]["name"] == "T1 worker" && record["tid"] == 2;
    assert_eq!(records.iter().filter(worker).count(), 1);
    // Of each thread: time goes on, and all that begins ends.
    for thread in [1, 2] {
        let (mut open, mut last) = (0, -1.0);
        for record in records.iter().filter(|record| record["tid"] == thread && record["ph"] != "M") {
            let time = record["ts"].as_f64().unwrap();
            assert!(time > last, "{text}");
            last = time;
            open += if record["ph"] == "B" { 1 } else { -1 };
            assert!(open >= 0, "{text}");
        }
        assert_eq!(open, 0, "{text}");
    }
}

#[test]
fn export_says_what_is_wrong() {
    let traces = Traces::new();
    let trace = traces.usual();
    refuses(avmon(&["export"]).arg(&trace), 2, &["--format"]);
    refuses(avmon(&["export", "--format", "xml"]).arg(&trace), 2, &["std", "chrome"]);
    refuses(avmon(&["export", "--format", "chrome", "--names", "x"]).arg(&trace), 2, &["--names goes with"]);
    refuses(avmon(&["export", "--format", "std", "-o", "/no/such/file"]).arg(&trace), 125, &["/no/such/file"]);
}
