//! `avmon check --serial`, on programs and on traces that are made here.

mod cli_support;
#[path = "cli_support/traces.rs"]
mod traces;

use avmon::event::{Event, Kind, ThreadId};
use cli_support::{Ending, avmon, end, file, refuses};
use std::path::Path;

/// Two variables that change together. The block reads each in a section of its own, or with an argument both in one, while another thread
/// writes them as soon as the first section is over.
const PROGRAM: &str = r#"
#include "avmon.h"
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int x, y;
int turn, torn = 1;

/* By instructions of the machine, which nobody sees: a wait that is seen would end the block. */
static void wait_for_turn(int wanted)
{
    int seen;
    do {
        __asm__ volatile("pause\n\tmovl %1, %0" : "=r"(seen) : "m"(turn) : "memory");
    } while (seen != wanted);
}

static void give_turn(int next)
{
    __asm__ volatile("movl %1, %0" : "=m"(turn) : "r"(next) : "memory");
}

static void *snapshot(void *unused)
{
    int seen_x, seen_y;
    AVMON_ATOMIC_BEGIN("snapshot");
    pthread_mutex_lock(&lock);
    seen_x = x;
    if (torn) {
        pthread_mutex_unlock(&lock);
        give_turn(1);
        wait_for_turn(2);
        pthread_mutex_lock(&lock); /* again */
    }
    seen_y = y;
    pthread_mutex_unlock(&lock);
    if (!torn) {
        give_turn(1);
        wait_for_turn(2);
    }
    AVMON_ATOMIC_END();
    printf("%d %d\n", seen_x, seen_y);
    return unused;
}

static void *change(void *unused)
{
    wait_for_turn(1);
    AVMON_ATOMIC_BEGIN("change");
    pthread_mutex_lock(&lock);
    x = y = 1;
    pthread_mutex_unlock(&lock); /* other */
    AVMON_ATOMIC_END();
    give_turn(2);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t one, other;
    (void)argv;
    torn = argc == 1;
    pthread_create(&one, NULL, snapshot, NULL);
    pthread_create(&other, NULL, change, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
"#;

/// Builds and records the program. What it printed.
fn record(place: &Path, arguments: &[&str]) -> String {
    let source = file(place, "pair.c", PROGRAM, 0o644);
    let headers = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/shim");
    let program = place.join("pair");
    let built = end(avmon(&["cc", "-g", "-O1", "-pthread", headers, "-o"]).arg(&program).arg(source));
    assert_eq!(built.code, Some(0), "{built:?}");
    let mut record = avmon(&["record", "--report=0", "--summary=0", "--exitcode", "0", "--"]);
    let recorded = end(record.arg(program).args(arguments).current_dir(place));
    assert_eq!(recorded.code, Some(0), "{recorded:?}");
    recorded.stdout
}

fn line_of(text: &str) -> String {
    let line = PROGRAM.lines().position(|line| line.contains(text)).expect("it is there") + 1;
    format!("pair.c:{line}")
}

fn check(place: &Path) -> Ending {
    end(avmon(&["check", "--serial"]).current_dir(place))
}

#[test]
fn a_block_that_was_split_is_told_with_both_operations() {
    let place = tempfile::tempdir().unwrap();
    assert_eq!(record(place.path(), &[]), "0 1\n");
    let Ending { code, stdout, stderr } = check(place.path());
    assert_eq!((code, stderr.as_str()), (Some(66), ""), "{stdout}");
    let expected = format!(
        "block 'snapshot' at snapshot {} was split once, first in thread T1:\n  \
           thread T1 acquired lock at snapshot {}\n  \
           after thread T2 released lock at change {} in block 'change' at change {}\n  \
           which came after a part of the block\n\
         the recorded run was not serialisable: 1 of 2 blocks, ",
        line_of("(\"snapshot\")"),
        line_of("/* again */"),
        line_of("/* other */"),
        line_of("(\"change\")"),
    );
    assert!(stdout.starts_with(&expected), "{stdout}\ninstead of\n{expected}");
}

#[test]
fn a_run_in_which_blocks_could_have_come_one_after_the_other_is_serialisable() {
    let place = tempfile::tempdir().unwrap();
    assert_eq!(record(place.path(), &["whole"]), "0 0\n");
    let Ending { code, stdout, stderr } = check(place.path());
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(stdout.starts_with("the recorded run was serialisable: 2 blocks, "), "{stdout}");
}

fn event(kind: Kind, object: u64) -> Event {
    Event::new(kind, 0, 0, object, 0x1001)
}

/// A block of thread 1 that takes a lock twice, and thread 2 in between, which it joins before it ends.
fn split(runs: usize) -> Vec<(ThreadId, Event)> {
    let mut events = vec![(0, event(Kind::Fork, 1)), (0, event(Kind::Fork, 2))];
    for _ in 0..runs {
        events.push((1, event(Kind::BlockBegin, 0)));
        for thread in [1, 2, 1] {
            events.extend([(thread, event(Kind::Acquire, 0x6000)), (thread, event(Kind::Release, 0x6000))]);
        }
        events.push((1, event(Kind::BlockEnd, 0)));
    }
    events
}

fn check_events(events: &[(ThreadId, Event)], arguments: &[&str]) -> Ending {
    let place = tempfile::tempdir().unwrap();
    traces::write(&place.path().join("avmon.data/42"), events, 1000);
    end(avmon(&["check", "--serial"]).args(arguments).current_dir(place.path()))
}

#[test]
fn runs_of_a_block_are_counted_and_the_block_is_told_once() {
    let Ending { code, stdout, .. } = check_events(&split(3), &[]);
    assert_eq!(code, Some(66));
    assert!(stdout.starts_with("the block at 0x1000 was split 3 times, first in thread T1:\n"), "{stdout}");
    assert!(stdout.ends_with("the recorded run was not serialisable: 3 of 3 blocks, 26 events\n"), "{stdout}");
    assert_eq!(stdout.lines().count(), 5, "{stdout}");
}

#[test]
fn the_exit_code_can_be_kept_and_waits_can_be_strict() {
    assert_eq!(check_events(&split(1), &["--exitcode", "0"]).code, Some(0));
    assert_eq!(check_events(&split(1), &["--exitcode", "7"]).code, Some(7));
    let mut waits = split(1);
    waits.insert(5, (1, event(Kind::Interfere, 0)));
    assert_eq!(check_events(&waits, &[]).code, Some(0));
    assert_eq!(check_events(&waits, &["--strict-waits"]).code, Some(66));
}

#[test]
fn a_verdict_on_less_than_the_run_says_so() {
    let unmarked = check_events(&[(0, event(Kind::Acquire, 0x6000)), (0, event(Kind::Release, 0x6000))], &[]);
    assert_eq!(unmarked.stdout, "the recorded run was serialisable: 0 blocks, 2 events\n");
    assert!(unmarked.stderr.contains("no block is marked"), "{unmarked:?}");
    assert!(unmarked.stderr.contains("docs/annotations.md"), "{unmarked:?}");
    let mut lossy = split(1);
    lossy.insert(5, (1, Event::new(Kind::Lost, 0, 7, 0, 0)));
    let lossy = check_events(&lossy, &[]);
    assert_eq!(lossy.code, Some(0), "the block may have ended there: {lossy:?}");
    assert!(lossy.stderr.contains("7 events were lost"), "{lossy:?}");
}

#[test]
fn accesses_that_were_excluded_are_missed() {
    let place = tempfile::tempdir().unwrap();
    record(place.path(), &["whole"]);
    let mut record = avmon(&["record", "--report=0", "--summary=0", "-x", "function:snapshot", "--"]);
    assert_eq!(end(record.arg(place.path().join("pair")).arg("whole").current_dir(place.path())).code, Some(0));
    let checked = check(place.path());
    assert!(checked.stderr.contains("record without -x"), "{checked:?}");
}

#[test]
fn a_trace_that_is_damaged_is_judged_with_a_warning() {
    let place = tempfile::tempdir().unwrap();
    record(place.path(), &["whole"]);
    let entries = std::fs::read_dir(place.path().join("avmon.data")).unwrap();
    let process = entries.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    std::fs::remove_file(process.join("end.json")).unwrap();
    let checked = check(place.path());
    assert!(checked.stderr.contains("record the run again"), "{checked:?}");
}

#[test]
fn only_one_question_at_a_time() {
    refuses(&mut avmon(&["check", "--serial", "--values"]), 2, &["cannot be used with"]);
}
