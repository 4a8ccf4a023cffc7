//! From a run to violations that really happen: `avmon confirm`, `replay`, `merge`, `chaos`.

mod cli_support;
#[path = "cli_support/home.rs"]
mod home;
mod support;

use cli_support::{clean, end, file, refuses};
use home::{Home, VALUE, failing, interrupt, is_gone, last_line, printed_command, read_when_there};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use support::{build, root};

fn examples() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("examples/expected.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// What is wrong with a hunt for the bug of an example.
fn hunt_buggy(example: &str) -> Option<String> {
    let home = Home::of_example(example, "buggy");
    let ending = home.avmon(&["confirm", "--", "./app"]);
    let findings = home.findings("avmon.confirm");
    let found = failing(&findings);
    let best = found.iter().max_by_key(|finding| finding["trial"]["alike"].as_u64());
    let told = |what: &str| Some(format!("{example}: {what}\n{}\n{}", ending.stdout, ending.stderr));
    let Some(trial) = best.map(|finding| &finding["trial"]) else { return told("nothing fails") };
    if ending.code != Some(66) {
        return told("the exit code is not 66");
    }
    if (trial["runs"].as_u64(), trial["alike"].as_u64()) != (Some(10), Some(10)) {
        return told("it does not fail in 10 of 10 runs");
    }
    let schedule = trial["schedule"].as_str().unwrap_or_default();
    let replayed = home.avmon(&["replay", "--json", "--times", "10", "--baseline", "3", schedule, "--", "./app"]);
    let is_failure = |line: &str| line.contains("\"verdict\":\"failing\"") || line.contains("\"verdict\":\"deadlock\"");
    let fails = replayed.stdout.lines().filter(|line| is_failure(line)).count();
    if fails == 10 { None } else { told(&format!("replayed, it fails in {fails} of 10 runs: {}", replayed.stdout)) }
}

#[test]
fn the_printed_command_says_what_the_report_says() {
    let home = Home::of_example("bank", "buggy");
    let hunted = home.avmon(&["confirm", "--", "./app"]);
    assert!(hunted.stdout.contains("Tried, failing: "), "{hunted:?}");
    let command = printed_command(&hunted.stdout);
    let again = home.avmon(&command);
    assert!(again.stderr.contains("avmon: failing: "), "{again:?}");
    std::fs::rename(home.path(command[1]), home.path("it.schedule")).unwrap();
    let elsewhere = home.avmon(&["replay", "--times", "2", "it.schedule", "--", "./app"]);
    assert_eq!(elsewhere.code, Some(66), "{elsewhere:?}");
    assert!(elsewhere.stderr.contains("give --baseline\n  it ended with exit code "), "{elsewhere:?}");
    assert!(elsewhere.stderr.ends_with("2 runs: 2 reached the violating order\n"), "{elsewhere:?}");
}

#[test]
fn every_buggy_example_fails_in_ten_of_ten_runs() {
    let wrong: Vec<String> = examples().iter().filter_map(|example| hunt_buggy(example)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn no_fixed_example_fails() {
    for example in examples() {
        let home = Home::of_example(&example, "fixed");
        let ending = home.avmon(&["confirm", "--", "./app"]);
        assert_eq!(ending.code, Some(0), "{example}: {ending:?}");
        assert!(failing(&home.findings("avmon.confirm")).is_empty(), "{example}: {ending:?}");
        assert!(ending.stdout.contains("0 failing (F)"), "{example}: {ending:?}");
    }
}

/// Findings and what came of them, without the names of directories.
fn results(reports: &str) -> BTreeSet<String> {
    let mut results: Vec<String> = Vec::new();
    for line in reports.lines().map(str::trim) {
        if line.starts_with("Tried, ") {
            let finding = results.last_mut().expect("what was tried");
            assert!(!finding.contains("Tried, "), "tried twice: {finding}");
            *finding += line;
        } else if line.contains("is not atomic") {
            results.push(line.to_owned());
        }
    }
    results.into_iter().collect()
}

#[test]
fn four_shards_are_the_whole() {
    let home = Home::of_example("ledger", "buggy");
    let recorded = home.avmon(&["record", "--all", "--exitcode", "0", "--report=0", "-o", "run", "--", "./app"]);
    assert_eq!(recorded.code, Some(0), "{recorded:?}");
    let whole = home.avmon(&["confirm", "--show-weak", "--trace", "run", "-o", "whole", "--", "./app"]);
    assert_eq!(whole.code, Some(66), "{whole:?}");
    let parts = ["part1", "part2", "part3", "part4"];
    for (number, part) in (1..).zip(parts) {
        let shard = format!("{number}/4");
        let ending = home.avmon(&["confirm", "--trace", "run", "--shard", &shard, "-o", part, "--", "./app"]);
        assert!(matches!(ending.code, Some(0 | 66)), "{ending:?}");
    }
    let merged = home.avmon(&["merge", "--show-weak", "part1", "part2", "part3", "part4"]);
    assert_eq!((merged.code, merged.stderr.as_str()), (Some(66), ""), "{merged:?}");
    assert_eq!(last_line(&merged), last_line(&whole));
    assert!(results(&whole.stdout).iter().any(|result| result.contains("failing")));
    assert_eq!(results(&merged.stdout), results(&whole.stdout));
    let log = home.avmon(&["merge", "--json", "part1", "part2", "part3", "part4"]);
    assert_eq!((log.code, log.stderr.as_str()), (Some(66), ""), "{log:?}");
    file(home.directory.path(), "all.jsonl", &log.stdout, 0o644);
    let told = |arguments: &[&str]| results(&home.avmon(arguments).stdout);
    assert_eq!(told(&["report", "--strength", "all", "all.jsonl"]), results(&whole.stdout));
    let records: Vec<Value> = log.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids = records.iter().filter_map(|record| record["id"].as_u64());
    assert!(ids.eq(1..=results(&whole.stdout).len() as u64), "{log:?}");
    let summary = records.last().unwrap();
    let strong = records.iter().filter(|record| record["strength"] == "strong").count();
    assert_eq!(
        (summary["type"].as_str(), summary["strong"].as_u64()),
        (Some("summary"), Some(strong as u64)),
        "{log:?}"
    );
    let command = printed_command(&merged.stdout);
    assert!(command[1].starts_with("part"), "{command:?}");
    let again = home.avmon(&command);
    assert_eq!(again.code, Some(66), "{again:?}");
    let some = home.avmon(&["merge", "part1", "part3"]);
    assert!(some.stderr.contains("2/4, 4/4 are missing"), "{some:?}");
    let refused = |other: &str, why: &str| refuses(&mut home.command(&["merge", "part1", other]), 125, &[other, why]);
    refused("./part1", "the same directory");
    refused("whole", "would count twice");
}

#[test]
fn hunts_of_different_programs_are_not_merged() {
    let home = Home::new();
    let hunt = |name: &str, program: &str, build: &str, number: u32, digest: u32| {
        let directory = home.path(name);
        std::fs::create_dir(&directory).unwrap();
        let lines = format!(
            r#"{{"type":"hunt","program":"{program}","shard":null}}
{{"type":"tried","number":{number},"digest":{digest},"judgement":{{"verdict":"confirmed","detail":""}},"switches":1,"runs":1,"alike":1}}
"#
        );
        file(&directory, "hunt.jsonl", lines, 0o644);
        let schedule = SCHEDULE.replace("program true -", &format!("program true {build}"));
        file(&directory, &format!("{number}.schedule"), schedule, 0o644);
    };
    hunt("one", "./app", "0123abcd", 1, 7);
    hunt("two", "./app", "0123abcd", 2, 8);
    hunt("arguments", "./app 2", "0123abcd", 3, 9);
    hunt("rebuilt", "./app", "4567abcd", 3, 9);
    hunt("recording", "./app", "0123abcd", 1, 9);
    hunt("another", "./app", "0123abcd", 4, 9);
    for (name, trace) in [("one", "11"), ("two", "11"), ("another", "12")] {
        let path = home.path(name).join("hunt.jsonl");
        let lines = std::fs::read_to_string(&path).unwrap() + r#"{"type":"recorded","traces":[""# + trace + "\"]}\n";
        std::fs::write(path, lines).unwrap();
    }
    assert_eq!(home.avmon(&["merge", "one", "two"]).code, Some(0));
    let refused = |other: &str, why: &str| refuses(&mut home.command(&["merge", "one", other]), 125, &[other, why]);
    refused("arguments", "the other of './app 2'");
    refused("rebuilt", "different programs or builds");
    refused("recording", "one recording, with '--trace'");
    refused("another", "each has a recording of its own");
}

#[test]
fn a_shard_that_would_record_for_itself_is_told_how_to_go_on() {
    let home = Home::new();
    let mut shard = home.command(&["confirm", "--shard", "2/3", "--", "true", "it"]);
    refuses(&mut shard, 2, &["'avmon record --all -o run -- true it'", "'--trace run --shard NUMBER/3'"]);
    assert!(!home.path("avmon.confirm").exists());
}

#[test]
fn ordinary_runs_are_part_of_the_time() {
    let home = Home::new();
    file(home.directory.path(), "test.sh", "#!/bin/sh\necho run >> runs\nsleep 1.1\n", 0o755);
    let mut hunt = home.command(&["confirm", "--time", "1", "--baseline", "9", "--", "./test.sh"]);
    refuses(&mut hunt, 125, &["of 9 ordinary runs, so nothing was tried; give more with --time"]);
    let runs = std::fs::read_to_string(home.path("runs")).unwrap_or_default();
    assert!(runs.lines().count() <= 1, "{runs}");
}

/// Two threads, one far behind the other, each of which adds 1 to what it has read before. Every second run that loses one of the two fails: `lost` counts them.
const SOMETIMES: &str = r#"
static void add(void) { set(get() + 1); }
static void *work(void *late) {
    if (late) usleep(50000);
    add();
    return 0;
}
int main(void) {
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    if (value == 2) return 0;
    int count = 0;
    FILE *file = fopen("lost", "r");
    if (file) {
        if (fscanf(file, "%d", &count) != 1) return 9;
        fclose(file);
    }
    file = fopen("lost", "w");
    if (!file) return 9;
    fprintf(file, "%d\n", count + 1);
    fclose(file);
    return count % 2 == 0 ? 3 : 0;
}
"#;

#[test]
fn a_failure_that_comes_only_sometimes_is_reported_with_its_rate() {
    let home = Home::of_source(&[VALUE, SOMETIMES].concat());
    let ending = home.avmon(&["confirm", "--", "./app"]);
    assert_eq!(ending.code, Some(66), "{ending:?}");
    assert!(ending.stdout.contains("it ended with exit code 3"), "{ending:?}");
    assert!(ending.stdout.contains("5 of 10 runs"), "{ending:?}");
    let findings = home.findings("avmon.confirm");
    let trial = &failing(&findings)[0]["trial"];
    assert_eq!((trial["runs"].as_u64(), trial["alike"].as_u64()), (Some(10), Some(5)), "{ending:?}");
}

/// A pool of two workers, which take a task each and wait for one another before they take the next ones. Both tasks are to add the same key, once.
const POOL: &str = r#"
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t map_lock = PTHREAD_MUTEX_INITIALIZER;
static int keys[8], entries;
static bool has(int key) {
    pthread_mutex_lock(&map_lock);
    bool found = false;
    for (int i = 0; i < entries; i++) found |= keys[i] == key;
    pthread_mutex_unlock(&map_lock);
    return found;
}
static void put(int key) {
    pthread_mutex_lock(&map_lock);
    keys[entries++] = key;
    pthread_mutex_unlock(&map_lock);
}
static void put_if_absent(int key) { if (!has(key)) put(key); }

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static int tasks[2], first, last;
static void submit(int task) {
    pthread_mutex_lock(&lock);
    tasks[last++] = task;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
}
static void *worker(void *unused) {
    pthread_mutex_lock(&lock);
    while (first == last) pthread_cond_wait(&filled, &lock);
    int task = tasks[first++];
    pthread_mutex_unlock(&lock);
    put_if_absent(task);
    pthread_barrier_wait(&both);
    return unused;
}
int main(void) {
    pthread_t threads[2];
    pthread_barrier_init(&both, 0, 2);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, worker, 0);
    for (int i = 0; i < 2; i++) {
        submit(7);
        usleep(50000);
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    printf("%d entries\n", entries);
    return 0;
}
"#;

/// The same by what the C++ library has for tasks.
const TASKS: &str = r#"
#include <chrono>
#include <cstdio>
#include <future>
#include <map>
#include <mutex>
#include <thread>
static std::mutex lock;
static std::map<int, int> entries;
static int made;
static bool has(int key) { std::lock_guard hold(lock); return entries.count(key) != 0; }
static void put(int key) { std::lock_guard hold(lock); made++; entries[key] = 1; }
static void put_if_absent(int delay_ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    if (!has(7)) put(7);
}
int main(int count, char **) {
    if (count == 1) {
        auto one = std::async(std::launch::async, put_if_absent, 0);
        auto two = std::async(std::launch::async, put_if_absent, 50);
        one.get(), two.get();
    } else {
        std::packaged_task<void(int)> one(put_if_absent), two(put_if_absent);
        auto one_done = one.get_future(), two_done = two.get_future();
        std::thread first(std::move(one), 0), second(std::move(two), 50);
        one_done.get(), two_done.get();
        first.join(), second.join();
    }
    std::printf("made %d time(s)\n", made);
}
"#;

#[test]
fn tasks_of_a_pool_are_confirmed_like_threads() {
    for (name, source, program) in
        [("app.c", POOL, &["./app"][..]), ("app.cpp", TASKS, &["./app"]), ("app.cpp", TASKS, &["./app", "packaged"])]
    {
        let home = Home::of_file(name, source);
        let ending = home.avmon(&[&["confirm", "--"], program].concat());
        assert_eq!(ending.code, Some(66), "{program:?}: {ending:?}");
        let findings = home.findings("avmon.confirm");
        let blamed = failing(&findings).iter().any(|it| it["sentence"].as_str().unwrap().starts_with("put_if_absent("));
        assert!(blamed, "{program:?}: {ending:?}");
    }
}

/// Who needs the table looks for it as a reader and makes it as a writer. The late one finds it in ordinary runs, so it writes nothing there.
const CHECKED_AS_READER: &str = r"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int *table, made;
static int *get(void) {
    pthread_rwlock_rdlock(&lock);
    int *found = table;
    pthread_rwlock_unlock(&lock);
    if (found) return found;
    pthread_rwlock_wrlock(&lock);
    if (!LOOKS_AGAIN || !table) {
        table = calloc(1, sizeof *table);
        made++;
    }
    found = table;
    pthread_rwlock_unlock(&lock);
    return found;
}
static void *worker(void *late) {
    if (late) usleep(50000);
    get();
    return NULL;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, worker, i ? threads : NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return made != 1;
}
";

/// A reader conflicts with no other one, so nothing is predicted. It is tried nevertheless, and told only if the program fails.
#[test]
fn a_check_as_a_reader_and_a_change_as_a_writer_are_tried_with_another_reader_between() {
    let home = Home::of_source(&format!("#define LOOKS_AGAIN 0{CHECKED_AS_READER}"));
    let ending = home.avmon(&["confirm", "--", "./app"]);
    assert_eq!(ending.code, Some(66), "{ending:?}");
    let findings = home.findings("avmon.confirm");
    assert_eq!(failing(&findings).len(), 1, "{ending:?}");
    assert_eq!(findings.len(), 1, "{ending:?}");
    assert!(ending.stdout.contains("get() is not atomic") && ending.stdout.contains("10 of 10 runs"), "{ending:?}");

    let home = Home::of_source(&format!("#define LOOKS_AGAIN 1{CHECKED_AS_READER}"));
    let ending = home.avmon(&["confirm", "--", "./app"]);
    assert_eq!(ending.code, Some(0), "{ending:?}");
    assert!(!ending.stdout.contains("WARNING"), "{ending:?}");
    assert!(ending.stdout.contains("nothing was predicted from this run"), "{ending:?}");
    let advice = "nothing failed; 'avmon chaos -- ./app' does without a prediction";
    assert!(ending.stdout.contains(advice), "{ending:?}");
    assert!(!ending.stdout.contains("schedules: 0 made (A)"), "the reader was tried: {ending:?}");
}

#[test]
fn a_hunt_is_resumed_where_it_was() {
    let home = Home::of_example("ledger", "buggy");
    let one = home.avmon(&["confirm", "--runs", "1", "--", "./app"]);
    let goes_on = "avmon: not all were run, since all runs were used up; go on with 'avmon confirm --resume -- ./app'";
    assert_eq!(last_line(&one), goes_on, "{one:?}");
    assert!(one.stdout.contains("; it was not run more often, since all runs were used up"), "{one:?}");
    let rest = home.avmon(&["confirm", "--resume", "--", "./app"]);
    assert_eq!(rest.code, Some(66), "{rest:?}");
    assert!(failing(&home.findings("avmon.confirm")).len() > 1, "{rest:?}");
    let state = std::fs::read_to_string(home.path("avmon.confirm/hunt.jsonl")).unwrap();
    let lines: Vec<Value> = state.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &'static str| lines.iter().filter(move |line| line["type"] == kind);
    let whole: Vec<&Value> = of("tried").filter(|tried| tried["is_unfinished"] == false).collect();
    let numbers: BTreeSet<u64> = whole.iter().map(|tried| tried["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers.len(), whole.len(), "none is tried twice");
    assert_eq!(of("tried").count(), whole.len() + 1, "but for the one that was cut short, which is finished now");
    assert!(failing(&home.findings("avmon.confirm")).iter().any(|it| it["trial"]["runs"] == 10), "{rest:?}");
    assert_eq!(of("recorded").count(), 1);
    let count = |line: &Value, of: &str| line["baseline"][of].as_array().map_or(0, Vec::len);
    let runs: Vec<usize> = of("baseline").map(|line| count(line, "runs")).collect();
    assert_eq!(runs[0], 3);
    assert!(runs.is_sorted(), "none is made anew: {runs:?}");
    let controls: Vec<usize> = of("baseline").map(|line| count(line, "controls")).collect();
    assert_eq!(controls[..2], [0, 1], "the recorded run comes after the ordinary ones");
    refuses(
        &mut home.command(&["confirm", "--resume", "--", "./app", "-x"]),
        2,
        &["the hunt in avmon.confirm is of './app'"],
    );
}

#[test]
fn a_hunt_of_a_rebuilt_program_is_not_resumed() {
    let home = Home::of_example("ledger", "buggy");
    let one = home.avmon(&["confirm", "--runs", "1", "--", "./app"]);
    assert!(one.stdout.contains("not run"), "{one:?}");
    build::compile(build::Variant::Instrumented, &root().join("examples/ledger/fixed.c"), &home.path("app"), &[])
        .unwrap();
    let resumed = home.avmon(&["confirm", "--resume", "--", "./app"]);
    assert_eq!(resumed.code, Some(125), "{resumed:?}");
    assert!(resumed.stderr.contains("was rebuilt since app was recorded"), "{resumed:?}");
}

#[test]
fn nothing_is_written_but_the_results() {
    let home = Home::of_example("append", "buggy");
    assert_eq!(home.avmon(&["confirm", "--", "./app"]).code, Some(66));
    let names = std::fs::read_dir(home.directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let names: BTreeSet<_> = names.map(|name| name.into_string().unwrap()).collect();
    assert_eq!(names, ["app", "avmon.confirm"].map(str::to_owned).into());
}

#[test]
fn a_script_that_starts_the_program_is_a_test_too() {
    // Whoever comes first, the output is the same, if only nobody comes between: what the script does not like is the violation.
    let home = Home::of_example("map", "buggy");
    file(home.directory.path(), "test.sh", "#!/bin/sh\n./app > out1\n./app > out2\ncmp -s out1 out2\n", 0o755);
    let ending = home.avmon(&["confirm", "--", "./test.sh"]);
    assert_eq!(ending.code, Some(66), "{ending:?}");
    let second = std::fs::read_to_string(home.path("avmon.confirm/findings.2.jsonl")).unwrap();
    assert!(second.contains("\"verdict\":\"failing\"") && second.contains("it ended with exit code 1"), "{second}");
}

/// Where the block is depends on a `number`: there are so many places that no two runs take the same.
const BY_A_NUMBER: &str = r"
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value;
#define A(n) case n: { \
    pthread_mutex_lock(&lock); int it = value; pthread_mutex_unlock(&lock); \
    pthread_mutex_lock(&lock); value = it + n; pthread_mutex_unlock(&lock); break; }
#define B(n) A(n) A(n + 1) A(n + 2) A(n + 3) A(n + 4) A(n + 5) A(n + 6) A(n + 7)
#define C(n) B(n) B(n + 8) B(n + 16) B(n + 24) B(n + 32) B(n + 40) B(n + 48) B(n + 56)
#define D(n) C(n) C(n + 64) C(n + 128) C(n + 192) C(n + 256) C(n + 320) C(n + 384) C(n + 448)
static void change(void) {
    switch (number() % 2048) { D(0) D(512) D(1024) D(1536) }
}
static void *work(void *unused) {
    change();
    return unused;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
";

const OF_THE_CLOCK: &str = r"
#include <time.h>
static unsigned number(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_nsec / 1000;
}
";

const AT_RANDOM: &str = r"
#include <sys/random.h>
static unsigned number(void) {
    unsigned it = 0;
    return getrandom(&it, sizeof it, 0) == sizeof it ? it : 0;
}
";

/// The port that the system chose.
const OF_A_SOCKET: &str = r"
#include <netinet/in.h>
#include <sys/socket.h>
static unsigned number(void) {
    struct sockaddr_in name = {.sin_family = AF_INET};
    socklen_t size = sizeof name;
    int it = socket(AF_INET, SOCK_DGRAM, 0);
    bind(it, (struct sockaddr *)&name, size);
    getsockname(it, (struct sockaddr *)&name, &size);
    return ntohs(name.sin_port);
}
";

#[test]
fn a_program_that_goes_by_what_is_never_the_same_diverges_politely() {
    for (number, pin) in [(OF_THE_CLOCK, Some("time")), (AT_RANDOM, Some("random")), (OF_A_SOCKET, None)] {
        let home = Home::of_source(&format!("{number}{BY_A_NUMBER}"));
        let ending = home.avmon(&["confirm", "--show-weak", "--", "./app"]);
        assert_eq!(ending.code, Some(0), "{ending:?}");
        assert!(last_line(&ending).contains(" diverged"), "{ending:?}");
        assert!(ending.stdout.contains("Tried, diverged: "), "{ending:?}");
        let Some(pin) = pin else { continue };
        let pinned = home.avmon(&["confirm", "--show-weak", "--pin", pin, "--", "./app"]);
        let last = last_line(&pinned);
        assert!(last.contains(" reached") && !last.contains(" 0 reached"), "{pinned:?}");
        let command = printed_command(&pinned.stdout);
        assert_eq!(command[..3], ["replay", "--pin", pin], "{command:?}");
        refuses(
            &mut home.command(&["confirm", "--resume", "--", "./app"]),
            2,
            &[&format!("was begun with '--pin {pin}'")],
        );
    }
}

/// A block is a critical section of `outer` here; without the accesses to memory, schedules are made of lock operations alone.
#[test]
fn a_program_that_is_not_instrumented_is_steered_at_its_locks() {
    let source = "
#include <unistd.h>
static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static int value;
static int get(void) {
    pthread_mutex_lock(&inner);
    int it = value;
    pthread_mutex_unlock(&inner);
    return it;
}
static void set(int it) {
    pthread_mutex_lock(&inner);
    value = it;
    pthread_mutex_unlock(&inner);
}
static void *work(void *number) {
    if (*(int *)number == 1) {
        usleep(50000);
        set(10);
        return 0;
    }
    pthread_mutex_lock(&outer);
    set(get() + 1);
    pthread_mutex_unlock(&outer);
    return 0;
}
static int result(void) { return value == 10 || value == 11 ? 0 : 3; }
";
    let home = Home::of_two_workers(source);
    let ending = home.avmon(&["confirm", "--", "./app"]);
    assert_eq!(ending.code, Some(66), "{ending:?}");
    let findings = home.findings("avmon.confirm");
    let trial = &failing(&findings)[0]["trial"];
    assert_eq!((trial["runs"].as_u64(), trial["alike"].as_u64()), (Some(10), Some(10)), "{ending:?}");
    let schedule = std::fs::read_to_string(home.path(trial["schedule"].as_str().unwrap())).unwrap();
    let acts = schedule.lines().filter(|line| line.starts_with("place ")).filter_map(|line| line.split(' ').nth(3));
    let acts: BTreeSet<&str> = acts.collect();
    assert!(acts.contains("lock") && !acts.contains("read") && !acts.contains("write"), "{schedule}");
}

#[test]
fn several_runs_at_a_time_find_the_same() {
    let home = Home::of_example("ledger", "buggy");
    // Of one recording: others may lead to other schedules.
    let recorded = home.avmon(&["record", "--all", "--exitcode", "0", "--report=0", "-o", "run", "--", "./app"]);
    assert_eq!(recorded.code, Some(0), "{recorded:?}");
    let hunt = |jobs: &str| {
        let ending =
            home.avmon(&["confirm", "--trace", "run", "-o", jobs, "--show-weak", "--jobs", jobs, "--", "./app"]);
        assert_eq!(ending.code, Some(66), "{ending:?}");
        results(&ending.stdout)
    };
    assert_eq!(hunt("3"), hunt("1"));
}

#[test]
fn a_program_that_crashes_by_itself_is_said_to() {
    let source = "
#include <pthread.h>
#include <stdlib.h>
static void *work(void *unused) { return unused; }
int main(void) { pthread_t thread; pthread_create(&thread, 0, work, 0); pthread_join(thread, 0); abort(); }
";
    let home = Home::of_source(source);
    let ending = home.avmon(&["confirm", "--", "./app"]);
    assert_eq!(ending.code, Some(0), "{ending:?}");
    let told = "the program fails when nobody steers it, in 3 of 3 ordinary runs (it was killed by signal 6 (SIGABRT))";
    assert!(ending.stderr.contains(told), "{ending:?}");
    assert!(ending.stdout.contains("nothing was predicted from this run"), "{ending:?}");
    let chance = home.avmon(&["chaos", "--runs", "2", "--", "./app"]);
    assert_eq!((chance.code, chance.stdout.as_str()), (Some(0), "avmon: no failure in 2 runs\n"), "{chance:?}");
    assert!(chance.stderr.contains(told), "{chance:?}");
}

#[test]
fn a_program_without_threads_has_nothing_to_confirm() {
    let ending = Home::new().avmon(&["confirm", "--", "true"]);
    assert_eq!(ending.code, Some(0), "{ending:?}");
    assert!(ending.stdout.contains("created no thread"), "{ending:?}");
}

#[test]
fn an_interruption_leaves_no_child() {
    let home = Home::new();
    let script = "#!/bin/sh\nsleep 1000 &\necho $! > pid\nwait\n";
    file(home.directory.path(), "test.sh", script, 0o755);
    for (arguments, signal) in [(["confirm", "--", "./test.sh"], "-INT"), (["chaos", "--", "./test.sh"], "-TERM")] {
        let child = home.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let process = read_when_there(&home.path("pid"));
        std::fs::remove_file(home.path("pid")).unwrap();
        interrupt(&child, signal);
        let ended = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(130), "{told}");
        assert!(told.contains("interrupted"), "{told}");
        let goes_on = told.contains("go on with 'avmon confirm --resume -- ./test.sh'");
        assert_eq!(goes_on, arguments[0] == "confirm", "{told}");
        assert!(is_gone(&process), "{arguments:?}");
    }
}

#[test]
fn chance_finds_what_it_can_and_tells_the_seed() {
    // One of two orders of two threads fails. When nobody steers it, the second one comes after the first, however busy the machine is.
    let source = "
#include <semaphore.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t first_is_over;
static int last;
static void *work(void *number) {
    int is_second = *(int *)number, is_steered = getenv(\"LD_PRELOAD\") != 0;
    if (is_second && !is_steered) sem_wait(&first_is_over);
    pthread_mutex_lock(&lock);
    last = is_second;
    pthread_mutex_unlock(&lock);
    sem_post(&first_is_over);
    return 0;
}
static int result(void) { return last == 0 ? 3 : 0; }
";
    let home = Home::of_two_workers(source);
    let ending = home.avmon(&["chaos", "--runs", "200", "--", "./app"]);
    assert_eq!(ending.code, Some(66), "{ending:?}");
    assert!(ending.stdout.contains("it ended with exit code 3"), "{ending:?}");
    let again = home.avmon(&printed_command(&ending.stdout));
    assert_eq!(again.code, Some(66), "{again:?}");
}

/// Its bug is that both threads come to `free` before one has freed.
#[test]
fn chance_stops_where_memory_is_freed() {
    let home = Home::of_example("refcount", "buggy");
    let ending = home.avmon(&["chaos", "--runs", "500", "--", "./app"]);
    assert_eq!(ending.code, Some(66), "{ending:?}");
}

#[test]
fn a_deadlock_by_chance_ends_the_run_and_is_told() {
    let source = "
static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static void *work(void *number) {
    int one = *(int *)number;
    pthread_mutex_lock(&locks[one]);
    pthread_mutex_lock(&locks[1 - one]);
    pthread_mutex_unlock(&locks[1 - one]);
    pthread_mutex_unlock(&locks[one]);
    return 0;
}
static int result(void) { return 0; }
";
    let home = Home::of_two_workers(source);
    let arguments = ["chaos", "--runs", "200", "--changes", "3", "--length", "10", "--timeout", "500", "--", "./app"];
    let ending = home.avmon(&arguments);
    assert_eq!(ending.code, Some(66), "{ending:?}");
    assert!(ending.stdout.contains(": deadlock: T"), "{ending:?}");
}

const SCHEDULE: &str = "avmon schedule 1\nprogram true - 0\nmodule 0 true -\nplace 0 0+10 lock\nturn 0 0!first\n";

#[test]
fn a_bad_schedule_is_told_with_its_line() {
    let home = Home::new();
    let replay = |text: &str| {
        file(home.directory.path(), "it.schedule", text, 0o644);
        home.command(&["replay", "it.schedule", "--", "true"])
    };
    refuses(&mut replay("nonsense\n"), 125, &["it.schedule: line 1: no schedule"]);
    refuses(&mut replay("avmon schedule 9\n"), 125, &["another version"]);
    refuses(&mut replay(&format!("{SCHEDULE}turn 0 7\n")), 125, &["line 6: there is no place 7"]);
    file(home.directory.path(), "binary", [0xff, 0xfe], 0o644);
    refuses(&mut home.command(&["replay", "binary", "--", "true"]), 125, &["binary is not a schedule"]);
    refuses(&mut home.command(&["replay", "none.schedule", "--", "true"]), 125, &["none.schedule", "'avmon confirm'"]);
}

#[test]
fn a_rebuilt_program_needs_a_new_schedule() {
    let home = Home::new();
    let text = SCHEDULE.replace("program true -", "program true 0123abcd");
    file(home.directory.path(), "it.schedule", text, 0o644);
    refuses(
        &mut home.command(&["replay", "it.schedule", "--", "true"]),
        125,
        &["was rebuilt", "make the schedule anew with 'avmon confirm'"],
    );
}

#[test]
fn a_program_that_is_not_the_one_of_the_schedule_does_not_reach_anything() {
    let home = Home::new();
    file(home.directory.path(), "it.schedule", SCHEDULE, 0o644);
    let ending = home.avmon(&["replay", "it.schedule", "--", "echo", "hello"]);
    assert_eq!((ending.code, ending.stdout.as_str()), (Some(67), "hello\n"), "{ending:?}");
    assert!(ending.stderr.contains("no process of 'true'"), "{ending:?}");
    let json = home.avmon(&["replay", "--json", "it.schedule", "--", "echo", "hello"]);
    let line: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&line["verdict"], &line["exit"]["code"]), (&"diverged".into(), &0.into()));
}

#[test]
fn programs_that_cannot_be_run_are_told() {
    let home = Home::new();
    for command in [&["confirm"][..], &["chaos"], &["replay", "it.schedule"]] {
        file(home.directory.path(), "it.schedule", SCHEDULE, 0o644);
        let with = |program: &str| home.command(&[command, &["--", program]].concat());
        refuses(&mut with("./none"), 127, &["./none"]);
        refuses(&mut home.command(command), 2, &["Usage: "]);
    }
}

#[test]
fn a_directory_that_is_not_a_hunt_is_left_alone() {
    let home = Home::new();
    file(home.directory.path(), "precious", "text", 0o644);
    let directory = home.directory.path().to_str().unwrap().to_owned();
    refuses(&mut home.command(&["confirm", "-o", &directory, "--", "true"]), 125, &["not a hunt", "left alone"]);
    refuses(&mut home.command(&["merge", &directory]), 125, &["holds no hunt"]);
    refuses(&mut home.command(&["confirm", "--shard", "5/4", "--", "true"]), 2, &["NUMBER/COUNT"]);
}

#[test]
fn a_recording_that_leaves_things_out_is_refused() {
    let home = Home::of_example("append", "buggy");
    let recorded = home.avmon(&["record", "--exitcode", "0", "-o", "run", "--", "./app"]);
    assert_eq!(recorded.code, Some(0), "{recorded:?}");
    refuses(&mut home.command(&["confirm", "--trace", "run", "--", "./app"]), 125, &["'avmon record --all'"]);
}

#[test]
fn the_debugger_stops_at_the_violation() {
    let home = Home::of_example("append", "buggy");
    assert_eq!(home.avmon(&["confirm", "--", "./app"]).code, Some(66));
    let arguments = ["replay", "--gdb", "avmon.confirm/1.schedule", "--", "./app"];
    let without = clean(cli_support::AVMON.as_ref(), &arguments)
        .current_dir(home.directory.path())
        .env("PATH", "/nowhere")
        .output();
    let told = String::from_utf8(without.unwrap().stderr).unwrap();
    assert!(told.contains("gdb was not found"), "{told}");
    let script = file(home.directory.path(), "script", "#!/bin/sh\nexec ./app\n", 0o755);
    let script = ["replay", "--gdb", "avmon.confirm/1.schedule", "--", script.to_str().unwrap()];
    refuses(&mut home.command(&script), 125, &["is a script", "the program itself, 'app'"]);
    let ending = end(home.command(&arguments).stdin(Stdio::null()));
    let (_, shown) = ending.stdout.split_once("hit Breakpoint").expect("it stops");
    // Without Python the debugger shows everything.
    let python = Command::new("gdb").args(["-nx", "-batch", "-ex", "python print('yes')"]).output().unwrap();
    if !python.stdout.starts_with(b"yes") {
        assert!(shown.contains("append"), "{ending:?}");
        return;
    }
    let frames: Vec<&str> = shown.lines().filter(|line| line.starts_with('#')).collect();
    let is_of_others = |frame: &&&str| ["avmon_violation", "steering", "syscall"].iter().any(|it| frame.contains(it));
    assert!(!frames.is_empty() && frames.iter().find(is_of_others).is_none(), "{ending:?}");
    let threads = shown.lines().filter(|line| line.starts_with("avmon: thread "));
    assert_eq!(threads.clone().count(), 3, "{ending:?}");
    assert_eq!(threads.filter(|line| line.ends_with(", which stopped here")).count(), 1, "{ending:?}");
    let story: Vec<&str> = shown.lines().filter(|line| line.starts_with("avmon: T")).collect();
    assert!(story.iter().all(|line| line.contains("(gdb thread ")), "{story:?}");
    let steps = ["did first: ", "did culprit: ", "about to do second: "];
    assert!(steps.iter().all(|step| story.iter().any(|line| line.contains(step))), "{story:?}");
    // The last one is the selected frame, and over as many lines as it takes.
    assert!(shown.rsplit_once("\n#").is_some_and(|(_, frame)| frame.contains("buggy.c:")), "{ending:?}");
}
