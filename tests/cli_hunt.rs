//! What a hunt claims, what it does not, and how it goes on after an end that came too early.

mod cli_support;
#[path = "cli_support/home.rs"]
mod home;
mod support;

use cli_support::{Ending, end, file, refuses};
use home::{Home, VALUE, failing, interrupt, last_line, printed_command, read_when_there};
use serde_json::Value;
use std::process::Stdio;

/// Two threads that run `work`, and then the end of `main`. The second is told that it is the late one.
fn two_threads(work: &str, end: &str) -> String {
    format!(
        "{VALUE}{work}
int main(void) {{
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    {end}
}}
"
    )
}

/// Two threads, one after the other if nobody steers them, of which each may lose what the other one marks: it does not matter.
const HARMLESS: &str = "
static void mark(void) { set(get() | 1); }
static void *work(void *late) {
    if (late) usleep(50000);
    mark();
    return 0;
}
";

/// The same, but something is lost.
const LOST: &str = "
static void add(void) { set(get() + 1); }
static void *work(void *late) {
    if (late) usleep(50000);
    add();
    return 0;
}
";

/// Something was confirmed, and nothing is said to fail.
fn assert_nothing_fails(home: &Home, ending: &Ending) {
    assert_eq!(ending.code, Some(66), "{ending:?}");
    assert!(ending.stdout.contains("Tried, confirmed: "), "{ending:?}");
    assert!(last_line(ending).contains(" 0 failing (F)"), "{ending:?}");
    assert!(failing(&home.findings("avmon.confirm")).is_empty(), "{ending:?}");
}

/// The program says something else from its fifth run on, which is the first that is steered.
#[test]
fn what_later_ordinary_runs_do_too_is_no_failure() {
    let end = r#"
    FILE *runs = fopen("runs", "a+");
    fputs("run\n", runs);
    long size = ftell(runs);
    fclose(runs);
    puts(size > 4 * 4 ? "late" : "early");
    return 0;"#;
    let home = Home::of_source(&two_threads(HARMLESS, end));
    let ending = home.avmon(&["confirm", "--", "./app"]);
    assert_nothing_fails(&home, &ending);
    let told = "except as it sometimes does in ordinary runs too: its output has a line that no ordinary run has: late";
    let log = std::fs::read_to_string(home.path("avmon.confirm/hunt.jsonl")).unwrap();
    assert!(log.contains(told), "{log}");
}

#[test]
fn what_the_recorded_run_does_too_is_no_failure() {
    let end = r#"puts(getenv("LD_PRELOAD") ? "watched" : "alone"); return 0;"#;
    let home = Home::of_source(&two_threads(HARMLESS, end));
    let ending = home.avmon(&["confirm", "--", "./app"]);
    assert_nothing_fails(&home, &ending);
    assert!(
        ending.stderr.contains("the recorded run failed as no ordinary one did, so that does not count"),
        "{ending:?}"
    );
    // How a recording that is given ended nobody knows.
    home.avmon(&["record", "--all", "--exitcode", "0", "--report=0", "-o", "run", "--", "./app"]);
    let ending = home.avmon(&["confirm", "--trace", "run", "--", "./app"]);
    assert_nothing_fails(&home, &ending);
}

#[test]
fn a_recorded_run_that_fails_once_is_recorded_anew() {
    let home = Home::of_example("map", "buggy");
    // The fourth run is the first that is recorded.
    let test = "#!/bin/sh\necho >> runs\n./app > out\n[ $(wc -l < runs) != 4 ] && grep -q '1 time' out\n";
    file(home.directory.path(), "test.sh", test, 0o755);
    let ending = home.avmon(&["confirm", "--", "./test.sh"]);
    assert_eq!(ending.code, Some(66), "{ending:?}");
    assert!(!ending.stderr.contains("the recorded run failed"), "{ending:?}");
    assert!(!failing(&home.findings("avmon.confirm")).is_empty(), "{ending:?}");
}

/// The thread that is not late fails if the other one has come before it is done: it need not come between for that.
#[test]
fn what_waiting_alone_brings_about_is_no_failure() {
    let work = "
static volatile int has_come, is_wrong;
static void mark(void) { set(get() | 1); }
static void *work(void *late) {
    if (late) {
        usleep(50000);
        has_come = 1;
    }
    mark();
    if (!late && has_come) is_wrong = 1;
    return 0;
}
";
    let home = Home::of_source(&two_threads(work, "return is_wrong ? 3 : 0;"));
    let ending = home.avmon(&["confirm", "--", "./app"]);
    assert_nothing_fails(&home, &ending);
    let told = "if its threads wait, and the culprit comes after the block or before it: it ended with exit code 3";
    assert!(ending.stdout.contains(told), "{ending:?}");
    let again = home.avmon(&printed_command(&ending.stdout));
    assert!(again.stderr.contains("avmon: confirmed: "), "{again:?}");
}

/// A thread tries again if somebody came between, so nothing is lost; but it does not stand it if that takes too long.
const TIMED: &str = "
#include <time.h>
static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}
static int add_if(int seen) {
    pthread_mutex_lock(&lock);
    int is_same = value == seen;
    if (is_same) value++;
    pthread_mutex_unlock(&lock);
    return is_same;
}
static void add(void) {
    long begun = now();
    while (!add_if(get())) {}
    if (now() - begun > 200) abort();
}
static void add_at_once(void) {
    pthread_mutex_lock(&lock);
    value++;
    pthread_mutex_unlock(&lock);
}
static void *work(void *late) {
    if (late) usleep(400000);
    if (late) add_at_once(); else add();
    return 0;
}
";

#[test]
fn who_measures_how_long_a_block_is_open_finds_no_failure() {
    let home = Home::of_source(&two_threads(TIMED, "return value != 2;"));
    let ending = home.avmon(&["confirm", "--", "./app"]);
    assert!(last_line(&ending).contains(" 0 failing (F)"), "{ending:?}");
    assert!(failing(&home.findings("avmon.confirm")).is_empty(), "{ending:?}");
    let log = std::fs::read_to_string(home.path("avmon.confirm/hunt.jsonl")).unwrap();
    let told = "except as it does too if its threads wait, and the culprit comes after the block or before it: it was killed by signal 6";
    assert!(log.contains(told), "{log}");
}

#[test]
fn a_replay_is_not_judged_by_ordinary_runs_of_another_day() {
    let end = r#"puts(access("later", F_OK) == 0 ? "later" : "now"); return 0;"#;
    let home = Home::of_source(&two_threads(HARMLESS, end));
    let ending = home.avmon(&["confirm", "--", "./app"]);
    assert_nothing_fails(&home, &ending);
    file(home.directory.path(), "later", "", 0o644);
    let again = home.avmon(&printed_command(&ending.stdout));
    assert!(again.stderr.contains("avmon: confirmed: "), "{again:?}");
    assert!(!again.stderr.contains("no ordinary run has"), "{again:?}");
}

#[test]
fn output_that_is_to_be_ignored_is_no_failure() {
    let home = Home::of_source(&two_threads(LOST, r#"printf("%d\n", value); return 0;"#));
    let ending = home.avmon(&["confirm", "--", "./app"]);
    assert_eq!(ending.code, Some(66), "{ending:?}");
    assert!(ending.stdout.contains("its output has a line that no ordinary run has: 1"), "{ending:?}");
    let ending = home.avmon(&["confirm", "--ignore-output", "--", "./app"]);
    assert_nothing_fails(&home, &ending);
    let again = home.avmon(&printed_command(&ending.stdout));
    assert!(again.stderr.contains("avmon: confirmed: "), "{again:?}");
}

/// The reader finds that there is a name, and looks at it when it is gone: the last step of some orders is never reached then.
#[test]
fn a_failure_before_the_last_step_is_told_as_what_it_is() {
    let work = "
static char *name;
static int has_name(void) {
    pthread_mutex_lock(&lock);
    int it = name != 0;
    pthread_mutex_unlock(&lock);
    return it;
}
static char first(void) {
    pthread_mutex_lock(&lock);
    char it = name[0];
    pthread_mutex_unlock(&lock);
    return it;
}
static void forget(void) {
    pthread_mutex_lock(&lock);
    free(name);
    name = 0;
    pthread_mutex_unlock(&lock);
}
static char peek(void) { return has_name() ? first() : '-'; }
static void *work(void *late) {
    if (late) {
        usleep(50000);
        forget();
    } else {
        peek();
    }
    return 0;
}
__attribute__((constructor)) static void begin(void) { name = strdup(\"name\"); }
";
    let home = Home::of_source(&two_threads(work, "return get();"));
    let ending = home.avmon(&["confirm", "--", "./app"]);
    assert_eq!(ending.code, Some(66), "{ending:?}");
    let findings = home.findings("avmon.confirm");
    let early = findings.iter().find(|finding| finding["trial"]["verdict"] == "failing_early");
    let early = early.unwrap_or_else(|| panic!("{ending:?}"));
    assert_eq!((&early["rung"], &early["strength"]), (&"conflicting".into(), &"strong".into()), "{early}");
    let trial = &early["trial"];
    assert_eq!((trial["runs"].as_u64(), trial["alike"].as_u64()), (Some(10), Some(10)), "{trial}");
    assert!(trial["detail"].as_str().unwrap().starts_with("it was killed by signal 11 (SIGSEGV); "), "{trial}");
    let again = home.avmon(&["replay", trial["schedule"].as_str().unwrap(), "--", "./app"]);
    assert_eq!(again.code, Some(66), "{again:?}");
    assert!(again.stderr.contains("avmon: failing_early: "), "{again:?}");
}

/// The threads tell each other by pipes who may go on, of which nothing is recorded.
const PIPES: &str = "
static int to_first[2], to_second[2];
__attribute__((constructor)) static void begin(void) { if (pipe(to_first) || pipe(to_second)) abort(); }
static void tell(int *whom) { if (write(whom[1], \"x\", 1) != 1) abort(); }
static void await(int *whom) { char it; if (read(whom[0], &it, 1) != 1) abort(); }
";

/// The second thread comes when there is a file, of which nothing is recorded.
#[test]
fn an_order_that_cannot_be_is_infeasible() {
    let work = "
static void add(void) { set(get() + 1); }
__attribute__((constructor)) static void begin(void) { unlink(\"done\"); }
static void *work(void *second) {
    while (second && access(\"done\", F_OK) != 0) usleep(1000);
    add();
    if (!second) fclose(fopen(\"done\", \"w\"));
    return 0;
}
";
    let home = Home::of_source(&two_threads(work, "return value != 2;"));
    let ending = home.avmon(&["confirm", "--step-timeout", "50", "--", "./app"]);
    assert_eq!(ending.code, Some(0), "{ending:?}");
    assert!(ending.stdout.contains("Tried, infeasible: "), "{ending:?}");
    assert!(last_line(&ending).contains(" 0 reached their violation (N), 0 failing (F)"), "{ending:?}");
    let command = printed_command(&ending.stdout);
    assert_eq!(command[..3], ["replay", "--step-timeout", "50"], "{command:?}");
    let again = home.avmon(&command);
    assert_eq!(again.code, Some(67), "{again:?}");
    assert!(again.stderr.contains("avmon: infeasible: "), "{again:?}");
}

#[test]
fn an_order_that_the_recorded_run_had_is_already_observed() {
    let work = "
static void change(void) {
    int it = get();
    tell(to_second);
    await(to_first);
    set(it | 1);
}
static void *work(void *second) {
    if (!second) {
        change();
        return 0;
    }
    await(to_second);
    set(1);
    tell(to_first);
    return 0;
}
";
    let home = Home::of_source(&two_threads(&format!("{PIPES}{work}"), "return value != 1;"));
    let ending = home.avmon(&["confirm", "--", "./app"]);
    assert_eq!(ending.code, Some(66), "{ending:?}");
    assert!(ending.stdout.contains("Tried, already_observed: "), "{ending:?}");
    let again = home.avmon(&printed_command(&ending.stdout));
    assert_eq!(again.code, Some(66), "{again:?}");
    assert!(again.stderr.contains("avmon: already_observed: "), "{again:?}");
}

#[test]
fn a_program_that_does_not_end_after_the_violation_has_failed() {
    let home = Home::of_source(&two_threads(LOST, "while (value != 2) pause(); return 0;"));
    let ending = home.avmon(&["confirm", "--timeout", "2", "--runs", "1", "--", "./app"]);
    assert_eq!(ending.code, Some(66), "{ending:?}");
    assert!(ending.stdout.contains("Tried, failing: "), "{ending:?}");
    assert!(ending.stdout.contains("it did not end in time; it was not run more often"), "{ending:?}");
}

/// Who comes last wakes the others; if one of two is not counted, both sleep.
#[test]
fn threads_that_wait_for_each_other_after_the_violation_are_a_deadlock() {
    let work = "
static pthread_cond_t all_here = PTHREAD_COND_INITIALIZER;
static void count(int it) {
    pthread_mutex_lock(&lock);
    value = it;
    if (value == 2) pthread_cond_broadcast(&all_here);
    pthread_mutex_unlock(&lock);
}
static void arrive(void) { count(get() + 1); }
static void *work(void *late) {
    if (late) usleep(50000);
    arrive();
    pthread_mutex_lock(&lock);
    while (value < 2) pthread_cond_wait(&all_here, &lock);
    pthread_mutex_unlock(&lock);
    return 0;
}
";
    let home = Home::of_source(&two_threads(work, "set(0); return 0;"));
    let ending = home.avmon(&["confirm", "--runs", "1", "--", "./app"]);
    assert_eq!(ending.code, Some(66), "{ending:?}");
    assert!(ending.stdout.contains("Tried, deadlock: "), "{ending:?}");
    assert!(ending.stdout.contains("T0 waits: join"), "{ending:?}");
}

/// Of many calls of the same code one is fatal: the first, far away from the thread that comes between. Nearest to that one are harmless ones.
#[test]
fn another_pass_through_the_same_code_may_be_the_one_that_fails() {
    let work = "
static int keys[2] = {10, 11}, count = 2;
static int find(int key) {
    int found = -1;
    for (int i = 0; i < count; i++) if (keys[i] == key) found = i;
    return found;
}
static int has(int key) {
    pthread_mutex_lock(&lock);
    int found = find(key);
    pthread_mutex_unlock(&lock);
    return found >= 0;
}
static void use(int key) {
    pthread_mutex_lock(&lock);
    if (find(key) < 0) abort();
    pthread_mutex_unlock(&lock);
}
static void drop_last(void) {
    pthread_mutex_lock(&lock);
    count--;
    pthread_mutex_unlock(&lock);
}
static void look_up(int key) { if (has(key)) use(key); }
static void *work(void *late) {
    if (late) {
        usleep(50000);
        drop_last();
        return 0;
    }
    look_up(11);
    for (int i = 0; i < 6; i++) look_up(10);
    return 0;
}
";
    let home = Home::of_source(&two_threads(work, "set(get()); return 0;"));
    let ending = home.avmon(&["confirm", "--", "./app"]);
    assert_eq!(ending.code, Some(66), "{ending:?}");
    assert!(ending.stdout.contains("it was killed by signal 6 (SIGABRT)"), "{ending:?}");
    assert!(!failing(&home.findings("avmon.confirm")).is_empty(), "{ending:?}");
}

/// Three values of one kind, each with a finding of its own.
const THREE: &str = "
#define VALUE(n) \\
    static int value##n; \\
    static int get##n(void) { pthread_mutex_lock(&lock); int it = value##n; pthread_mutex_unlock(&lock); return it; } \\
    static void set##n(int it) { pthread_mutex_lock(&lock); value##n = it; pthread_mutex_unlock(&lock); } \\
    static void add##n(void) { set##n(get##n() + 1); }
VALUE(1) VALUE(2) VALUE(3)
static void *work(void *late) {
    if (late) usleep(50000);
    add1(), add2(), add3();
    return 0;
}
";

/// What each schedule that findings name says that it is about.
fn assert_schedules_are_of_their_findings(home: &Home, hunt: &str) {
    let findings = home.findings(hunt);
    for finding in findings.iter().filter(|finding| finding["trial"]["schedule"].is_string()) {
        let schedule = std::fs::read_to_string(home.path(finding["trial"]["schedule"].as_str().unwrap())).unwrap();
        let about = schedule.lines().nth(1).and_then(|line| line.strip_prefix("# "));
        assert_eq!(about, finding["sentence"].as_str(), "{schedule}");
    }
}

#[test]
fn a_hunt_that_goes_on_with_other_findings_mixes_up_none() {
    let home = Home::of_source(&two_threads(THREE, "return value1 + value2 + value3 != 6;"));
    let suppressions = file(home.directory.path(), "hidden", "", 0o644);
    let flag = format!("--suppressions={}", suppressions.display());
    // One recording for both hunts: another one may lead to other schedules.
    home.avmon(&["record", "--all", "--exitcode", "0", "--report=0", "-o", "run", "--", "./app"]);
    // What the whole work of a thread is split by may fail too, or not.
    let failing_adds = |hunt: &str| {
        let findings = home.findings(hunt);
        let names = failing(&findings).into_iter().map(|finding| finding["block"]["name"].as_str().unwrap().to_owned());
        names.filter(|name| name.starts_with("add")).collect::<Vec<String>>()
    };
    let whole = home.avmon(&["confirm", &flag, "--trace", "run", "--", "./app"]);
    assert_eq!(failing_adds("avmon.confirm").len(), 3, "{whole:?}");
    // The others would move up now.
    let first = home.findings("avmon.confirm")[0]["suppression"].as_str().unwrap().to_owned();
    std::fs::write(&suppressions, first + "\n").unwrap();
    let one = home.avmon(&["confirm", &flag, "--trace", "run", "--runs", "1", "-o", "one", "--", "./app"]);
    assert!(one.stdout.contains("not all were run"), "{one:?}");
    std::fs::write(&suppressions, "").unwrap();
    let rest = home.avmon(&["confirm", "--resume", &flag, "--runs", "1", "-o", "one", "--", "./app"]);
    assert_schedules_are_of_their_findings(&home, "one");
    let tried = home.findings("one").iter().filter(|finding| finding["trial"].is_object()).count();
    assert!(tried < 3, "{rest:?}");
    let rest = home.avmon(&["confirm", "--resume", &flag, "-o", "one", "--", "./app"]);
    assert_schedules_are_of_their_findings(&home, "one");
    assert_eq!(failing_adds("one").len(), 3, "{rest:?}");
    let counts = |ending: &Ending| last_line(ending).split(" (A)").next().map(str::to_owned);
    assert_eq!(counts(&rest), counts(&whole), "{rest:?}");
}

/// The command with which a hunt says that it can go on.
fn told_to_go_on(text: &str) -> Vec<String> {
    let (_, command) = text.split_once("go on with 'avmon ").unwrap();
    let command = command.trim_end().strip_suffix('\'').unwrap();
    command.split(' ').map(str::to_owned).collect()
}

#[test]
fn the_command_that_goes_on_with_a_hunt_is_the_same_hunt() {
    let home = Home::of_source(&two_threads(THREE, "return value1 + value2 + value3 != 6;"));
    let flags = ["--views", "--step-timeout=500", "--ignore-output", "--timeout=20", "--jobs=2", "--show-weak"];
    let begun = home.avmon(&[&["confirm", "--runs", "1"], &flags[..], &["--", "./app"]].concat());
    let command = told_to_go_on(last_line(&begun));
    let expected =
        "confirm --resume --views --step-timeout 500 --ignore-output --timeout 20 --jobs 2 --show-weak=1 -- ./app";
    assert_eq!(command.join(" "), expected);
    refuses(
        &mut home.command(&["confirm", "--resume", "--", "./app"]),
        2,
        &["was begun with '--views --step-timeout 500 --ignore-output'", "go on with 'avmon confirm --resume --views"],
    );
    let made = |ending: &Ending| {
        let line = ending.stdout.lines().find(|line| line.contains(" made (A)")).unwrap();
        line.split(" made (A)").next().unwrap().to_owned()
    };
    let rest = home.avmon(&command.iter().map(String::as_str).collect::<Vec<&str>>());
    assert_eq!(made(&rest), made(&begun), "{rest:?}");
    assert!(!rest.stdout.contains("all runs were used up"), "{rest:?}");
    let findings = home.findings("avmon.confirm");
    let of_ten = |finding: &&Value| finding["trial"]["runs"] == 10 && finding["trial"]["alike"] == 10;
    assert_eq!(failing(&findings).into_iter().filter(|finding| of_ten(finding)).count(), 3, "{rest:?}");
}

#[test]
fn an_interruption_between_steered_runs_loses_only_the_run() {
    // A steered run says that it is one, and takes very long as long as the file is there.
    let end = r#"
    const char *options = getenv("AVMON_OPTIONS");
    if (options && strstr(options, "replay_schedule") && access("wait", F_OK) == 0) {
        FILE *told = fopen("steered", "w");
        fputs("yes\n", told);
        fclose(told);
        while (access("wait", F_OK) == 0) usleep(1000);
    }
    return value1 + value2 + value3 != 6;"#;
    let home = Home::of_source(&two_threads(THREE, end));
    file(home.directory.path(), "wait", "", 0o644);
    let mut hunt = home.command(&["confirm", "--views", "--", "./app"]);
    let child = hunt.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    read_when_there(&home.path("steered"));
    interrupt(&child, "-INT");
    let ended = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(130), "{told}");
    let command = told_to_go_on(&told);
    assert_eq!(command.join(" "), "confirm --resume --views -- ./app");
    std::fs::remove_file(home.path("wait")).unwrap();
    let rest = home.avmon(&command.iter().map(String::as_str).collect::<Vec<&str>>());
    assert_eq!(rest.code, Some(66), "{rest:?}");
    assert_eq!(failing(&home.findings("avmon.confirm")).len(), 3, "{rest:?}");
    let log = std::fs::read_to_string(home.path("avmon.confirm/hunt.jsonl")).unwrap();
    assert_eq!(log.lines().filter(|line| line.contains("\"type\":\"recorded\"")).count(), 1, "{log}");
}

/// An update that is made anew if somebody else was faster is right, however often it had to be.
#[test]
fn where_only_the_output_tells_that_is_said() {
    let work = "
static int again;
static int set_if(int seen, int it) {
    pthread_mutex_lock(&lock);
    int is_same = value == seen;
    if (is_same) value = it; else again++;
    pthread_mutex_unlock(&lock);
    return is_same;
}
static void add(int number) { int seen; do seen = get(); while (!set_if(seen, seen + number)); }
static void *work(void *late) {
    if (late) usleep(50000);
    add(1);
    return 0;
}
";
    let end = "printf(\"%d, again %d\\n\", value, again); return value != 2;";
    let home = Home::of_source(&two_threads(work, end));
    let advice = "only the output tells; if that may depend on the order of the threads, say --ignore-output";
    let ending = home.avmon(&["confirm", "--", "./app"]);
    assert!(ending.stdout.contains("its output has a line that no ordinary run has: 2, again 1"), "{ending:?}");
    assert!(ending.stdout.contains(advice), "{ending:?}");
    let ending = home.avmon(&["confirm", "--ignore-output", "--", "./app"]);
    assert!(failing(&home.findings("avmon.confirm")).is_empty(), "{ending:?}");
    assert!(ending.stdout.contains("Tried, confirmed: ") && !ending.stdout.contains(advice), "{ending:?}");
    let chance = home.avmon(&["chaos", "--runs", "300", "--", "./app"]);
    assert_eq!((chance.code, chance.stdout.to_lowercase().contains(advice)), (Some(66), true), "{chance:?}");
}

/// What one control run says, another run of the schedule may say too.
#[test]
fn a_failure_that_a_control_run_has_counts_in_no_run() {
    let work = "
static int deepest;
static int taken(void) {
    pthread_mutex_lock(&lock);
    int is_there = value > 0;
    if (is_there) value--;
    pthread_mutex_unlock(&lock);
    return is_there;
}
static void *work(void *puts) {
    for (int left = 5; left > 0;)
        if (puts) {
            pthread_mutex_lock(&lock);
            value++, left--;
            pthread_mutex_unlock(&lock);
            usleep(20000);
        } else {
            int depth = get();
            if (depth > deepest) deepest = depth;
            if (depth && taken()) left--; else usleep(500);
        }
    return 0;
}
";
    let home = Home::of_source(&two_threads(work, "printf(\"deepest %d\\n\", deepest); return 0;"));
    let ending = home.avmon(&["confirm", "--", "./app"]);
    let log = std::fs::read_to_string(home.path("avmon.confirm/hunt.jsonl")).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let tried: Vec<Value> = lines.filter(|line| line["type"] == "tried").collect();
    assert!(!tried.is_empty(), "{ending:?}");
    for it in tried {
        let told = it["judgement"]["detail"].as_str().unwrap();
        let controls = it["controls"].as_array().cloned().unwrap_or_default();
        let said = controls.iter().flat_map(|control| control["lines"][0].as_array().unwrap());
        let is_of_control = said.map(|line| line.as_str().unwrap()).any(|line| told.ends_with(&format!(": {line}")));
        assert!(!is_of_control || it["judgement"]["verdict"] != "failing", "{it:#}");
    }
}

#[test]
fn a_file_is_read_anew_in_every_run() {
    let work = format!("{LOST}static int wanted(void) {{ int it = 0; return scanf(\"%d\", &it) == 1 ? it : -1; }}");
    let home = Home::of_source(&two_threads(&work, "if (wanted() != 7) return 9; return value != 2;"));
    let input = home.path("input");
    std::fs::write(&input, "7\n").unwrap();
    let given = end(home.command(&["confirm", "--", "./app"]).stdin(std::fs::File::open(&input).unwrap()));
    assert_eq!(given.code, Some(66), "{given:?}");
    assert_eq!(failing(&home.findings("avmon.confirm"))[0]["trial"]["alike"], 10, "{given:?}");
    assert!(!given.stderr.contains("fails when nobody steers it"), "{given:?}");

    let (reader, mut writer) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut writer, b"7\n").unwrap();
    let piped = end(home.command(&["confirm", "--", "./app"]).stdin(reader));
    assert!(piped.stderr.contains("put that into a file, and say '< FILE'"), "{piped:?}");
}

/// Every run of it is killed, the recorded one too: all that is known before counts.
#[test]
fn a_program_that_never_ends_is_tried_within_its_time() {
    let work = LOST.replace("return 0;", "if (late && value != 2) abort();\n    return 0;");
    let home = Home::of_source(&two_threads(&work, "for (;;) pause();"));
    let ending = home.avmon(&["confirm", "--timeout", "2", "--runs", "2", "--", "./app"]);
    assert_eq!(ending.code, Some(66), "{ending:?}");
    assert!(ending.stdout.contains("it was killed by signal 6 (SIGABRT)"), "{ending:?}");
    assert!(!ending.stderr.contains("end.json"), "{ending:?}");
    assert_eq!(printed_command(&ending.stdout)[..3], ["replay", "--timeout", "2"], "{ending:?}");
}
