//! `avmon report`: choosing, sorting, merging and printing of logs.

mod cli_support;

use avmon::report::json::{Record, parse_log, validate_line};
use cli_support::{Ending, avmon, end, file, refuses};
use serde_json::{Value, json};
use std::path::PathBuf;
use tempfile::TempDir;

/// Logs in a directory that goes away with the test.
struct Logs(TempDir);

impl Logs {
    fn new() -> Logs {
        Logs(tempfile::tempdir().unwrap())
    }

    /// Writes the log of a process; each finding comes with how often it was seen.
    fn log(&self, pid: u32, findings: &[(Value, u64)]) -> PathBuf {
        let mut records = vec![json!({
            "type": "start", "version": 1, "pid": pid, "program": "/opt/app", "arguments": ["app"],
            "options": "", "time_ms": 0,
        })];
        for (id, (finding, _)) in (1..).zip(findings) {
            let mut finding = finding.clone();
            finding["id"] = json!(id);
            records.push(finding);
        }
        records.extend((1..).zip(findings).map(|(id, (_, count))| json!({"type": "count", "id": id, "count": count})));
        records.push(json!({
            "type": "summary", "strong": 1, "conditional": 0, "loop": 0, "base": 0, "suppressed": 2,
            "not_transactions": 0, "lost": 3, "unseen": 0, "order_gaps": 0, "events": 9, "threads": 2, "locks": 1,
            "duration_ms": 5,
        }));
        let lines: Vec<String> = records.iter().map(|record| format!("{record}\n")).collect();
        for line in &lines {
            validate_line(line).unwrap();
        }
        file(self.0.path(), &format!("log.{pid}"), lines.concat(), 0o644)
    }
}

fn frame(function: &str, source: &str, line: u32) -> Value {
    json!({"function": function, "file": source, "line": line, "inlined": false, "module": "/opt/app", "offset": 16})
}

fn finding(block: &str, kind: &str, strength: &str) -> Value {
    let source = format!("/src/{block}.c");
    let acquire = |thread: u32, function: &str, line| {
        json!({
            "thread": thread, "location": frame(function, &source, line), "stack": [frame(function, &source, line)],
            "held": [], "mode": "exclusive",
        })
    };
    let thread = |id: u32| json!({"id": id, "name": "", "created_at": []});
    json!({
        "type": "finding", "id": 0, "kind": kind, "rung": "predicted", "strength": strength,
        "sentence": format!("{block}() can be split"),
        "block": {"kind": "function", "name": block, "begin": frame(block, &source, 1)}, "also_split": [],
        "first": acquire(1, block, 2), "second": acquire(1, block, 3), "culprit": acquire(2, "intruder", 9),
        "lock": {"address": "0x10", "generation": 0, "initialised_at": []}, "threads": [thread(1), thread(2)],
        "suppression": format!("atomicity_top:^{block}$"),
    })
}

fn report(arguments: &[&str], logs: &[&PathBuf]) -> Ending {
    end(avmon(&["report"]).args(arguments).args(logs))
}

/// The blocks that the summary lists, with their counts, in its order.
fn listed(arguments: &[&str], logs: &[&PathBuf]) -> Vec<(u64, String)> {
    let ending = report(&[&["--summary"], arguments].concat(), logs);
    assert_eq!(ending.stderr, "");
    let rows = ending.stdout.lines().skip(1).take_while(|line| !line.starts_with("avmon:"));
    rows.map(|row| {
        let words: Vec<&str> = row.split_whitespace().collect();
        (words[0].parse().unwrap(), words[4].trim_end_matches("():").to_owned())
    })
    .collect()
}

fn pair(count: u64, name: &str) -> (u64, String) {
    (count, name.to_owned())
}

#[test]
fn strong_findings_are_printed_as_the_monitor_prints_them() {
    let logs = Logs::new();
    let log = logs.log(7, &[(finding("append", "after", "strong"), 3), (finding("turn", "after", "loop"), 1)]);
    let ending = report(&["--strip-path-prefix", "/src/"], &[&log]);
    assert_eq!(ending.code, Some(66));
    for text in [
        "WARNING: avmon: atomicity violation (pid=7)",
        "append() can be split",
        "#0 intruder append.c:9",
        "seen 3 times\n",
        "avmon: 1 finding, 1 not listed (--strength all lists the weak ones), 2 suppressed, 3 lost\n",
    ] {
        assert!(ending.stdout.contains(text), "no {text:?} in {}", ending.stdout);
    }
    assert!(!ending.stdout.contains("turn()"), "weak ones are not listed by default");
}

/// The same places as those of [`finding`], but about data.
fn conflict(block: &str, kind: &str) -> Value {
    let mut conflict = finding(block, kind, "strong");
    for (operation, action) in [("first", "read"), ("culprit", "write"), ("second", "write")] {
        conflict[operation]["action"] = json!(action);
        conflict[operation].as_object_mut().unwrap().remove("mode");
    }
    conflict["rung"] = json!("conflicting");
    conflict["pattern"] = json!("rww");
    conflict["found_by"] = json!(["windows", "cut_points"]);
    conflict["variables"] = json!([{"name": "balance", "address": "0x20"}]);
    conflict["diagram"] = json!(["T1   T2", "     writes 'balance'"]);
    conflict["because"] = json!("Nothing prevents it.");
    conflict.as_object_mut().unwrap().remove("lock");
    conflict
}

#[test]
fn findings_about_data_are_shown() {
    let logs = Logs::new();
    let log = logs.log(7, &[(conflict("transfer", "after"), 2)]);
    let text = report(&[], &[&log]).stdout;
    for line in [
        "  Thread T1 reads 'balance':\n",
        "  Thread T2 writes it in between:\n",
        "  Thread T1 writes it:\n",
        "  In this order:\n    T1   T2\n         writes 'balance'\n",
        "  Why this can happen: Nothing prevents it.\n",
        "  Conflict rww, found by windows, cut_points: ",
    ] {
        assert!(text.contains(line), "no {line:?} in {text}");
    }
    let summary = report(&["--summary"], &[&log]).stdout;
    assert!(summary.contains("after   strong       rww            transfer(): transfer.c:2 .. "), "{summary}");
}

#[test]
fn of_several_logs_the_one_that_knows_most_is_shown() {
    let logs = Logs::new();
    let monitored = logs.log(1, &[(finding("transfer", "after", "strong"), 3)]);
    let predicted = logs.log(2, &[(conflict("transfer", "after"), 1)]);
    for order in [[&monitored, &predicted], [&predicted, &monitored]] {
        let text = report(&[], &order).stdout;
        assert!(text.contains("Conflict rww") && text.contains("seen 4 times in 2 processes"), "{text}");
    }
}

#[test]
fn the_exit_code_tells_of_strong_findings_that_are_listed() {
    let logs = Logs::new();
    let strong = logs.log(1, &[(finding("append", "in", "strong"), 1)]);
    let weak = logs.log(2, &[(finding("turn", "after", "base"), 1)]);
    assert_eq!(report(&[], &[&strong]).code, Some(66));
    assert_eq!(report(&["--kind", "after"], &[&strong]).code, Some(0));
    assert_eq!(report(&["--strength", "all"], &[&weak]).code, Some(0));
    assert_eq!(report(&[], &[&logs.log(3, &[])]).code, Some(0));
}

#[test]
fn findings_are_chosen_by_strength_kind_function_and_file() {
    let logs = Logs::new();
    let log = logs.log(
        1,
        &[
            (finding("a", "in", "strong"), 1),
            (finding("b", "before", "conditional"), 1),
            (finding("c", "after", "loop"), 1),
            (finding("d", "after", "base"), 1),
        ],
    );
    let names = |arguments: &[&str]| listed(arguments, &[&log]).into_iter().map(|(_, name)| name).collect::<String>();
    assert_eq!(names(&[]), "a");
    assert_eq!(names(&["--strength", "all"]), "abcd");
    assert_eq!(names(&["--strength", "strong,base"]), "ad");
    assert_eq!(names(&["--strength", "all", "--kind", "before,in"]), "ab");
    assert_eq!(names(&["--strength", "all", "--function", "^c$"]), "c");
    assert_eq!(names(&["--strength", "all", "--function", "^intruder$"]), "abcd", "stacks count too");
    assert_eq!(names(&["--strength", "all", "--file", "/d.c$"]), "d");
}

#[test]
fn several_logs_are_one_and_equal_findings_are_listed_once() {
    let logs = Logs::new();
    let first = logs.log(1, &[(finding("b", "after", "strong"), 2), (finding("c", "after", "strong"), 1)]);
    let second = logs.log(2, &[(finding("c", "after", "strong"), 4), (finding("a", "after", "strong"), 1)]);
    let both = [&first, &second];
    assert_eq!(listed(&[], &both), [pair(2, "b"), pair(5, "c"), pair(1, "a")]);
    assert_eq!(listed(&["--sort", "count"], &both), [pair(5, "c"), pair(2, "b"), pair(1, "a")]);
    assert_eq!(listed(&["--sort", "block"], &both), [pair(1, "a"), pair(2, "b"), pair(5, "c")]);
    let text = report(&[], &both).stdout;
    assert!(text.contains("seen 5 times in 2 processes"), "{text}");
    assert!(text.contains("avmon: 3 findings, 4 suppressed, 6 lost"), "{text}");
}

#[test]
fn one_place_with_two_kinds_is_told_in_a_note() {
    let logs = Logs::new();
    let log = logs.log(1, &[(finding("a", "after", "strong"), 1), (finding("a", "in", "strong"), 1)]);
    let text = report(&[], &[&log]).stdout;
    assert_eq!(text.matches("WARNING: avmon").count(), 1, "{text}");
    assert!(text.contains("avmon: #2, also IN") && text.contains("same block and locations as #1"), "{text}");
}

#[test]
fn json_is_a_log_again() {
    let logs = Logs::new();
    let first = logs.log(1, &[(finding("b", "after", "strong"), 2), (finding("x", "after", "loop"), 1)]);
    let second = logs.log(2, &[(finding("a", "after", "strong"), 1), (finding("b", "after", "strong"), 3)]);
    let ending = report(&["--format", "json", "--sort", "block"], &[&first, &second]);
    assert_eq!(ending.code, Some(66));
    ending.stdout.lines().for_each(|line| validate_line(line).unwrap());
    let log = parse_log("merged", &ending.stdout).unwrap();
    let run = &log.runs[0];
    let found: Vec<_> = run.findings.iter().map(|f| (f.id, f.block.name.as_str(), run.count(f.id))).collect();
    assert_eq!(found, [(1, "a", 1), (2, "b", 5)]);
    let again = file(logs.0.path(), "merged", &ending.stdout, 0o644);
    assert_eq!(report(&["--format", "json"], &[&again]).stdout, ending.stdout);
    let count = |record: &Record| matches!(record, Record::Count(_));
    let records = ending.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
    assert_eq!(records.filter(count).count(), 2);
}

#[test]
fn the_log_of_a_killed_process_is_read_as_far_as_it_goes() {
    let logs = Logs::new();
    let log = logs.log(1, &[(finding("a", "after", "strong"), 1)]);
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, &text[..text.len() - 20]).unwrap();
    let ending = report(&[], &[&log]);
    assert_eq!(ending.code, Some(66));
    assert!(ending.stderr.contains("the process was killed"), "{}", ending.stderr);
    assert!(ending.stdout.contains("a() can be split"));
}

#[test]
fn bad_input_is_told() {
    let logs = Logs::new();
    let log = logs.log(1, &[]);
    let name = log.to_str().unwrap();
    refuses(&mut avmon(&["report", "/no/such/log"]), 125, &["/no/such/log", "ends in the process id"]);
    let other = file(logs.0.path(), "other", "{}\nhello\n", 0o644);
    let other = other.to_str().unwrap();
    refuses(&mut avmon(&["report", other]), 125, &[&format!("{other}:1:"), "is this a log of avmon?"]);
    refuses(&mut avmon(&["report", "--strength", "storng", name]), 2, &["storng", "strong"]);
    refuses(&mut avmon(&["report", "--kind", "between", name]), 2, &["between", "before, in, after"]);
    refuses(&mut avmon(&["report", "--function", "a$b", name]), 2, &["text after '$'", "column 2"]);
    refuses(&mut avmon(&["report"]), 2, &["<LOG>"]);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let logs = Logs::new();
    let log = logs.log(1, &[(finding("a", "after", "strong"), 1)]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ending = avmon(&["report"]).arg(&log).stdout(writer).output().unwrap();
    assert_eq!((ending.status.code(), String::from_utf8(ending.stderr).unwrap()), (Some(66), String::new()));
}
