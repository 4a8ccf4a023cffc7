//! Real programs whose critical sections are right one by one, and wrong together: `--views`, from the recording to the failure.

mod cli_support;
mod support;

use cli_support::{Ending, avmon, clean, end, file};
use serde_json::Value;
use std::path::{Path, PathBuf};
use support::build::{self, Variant};

const BEGIN: &str = "#include <pthread.h>
#include <stdlib.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define IN pthread_mutex_lock(&lock)
#define OUT pthread_mutex_unlock(&lock)
";

const END: &str = "
static void *ones(void *unused) { one(); return unused; }
static void *others(void *unused) { other(); return unused; }
int main(void) {
    prepare();
    pthread_t threads[2];
    pthread_create(&threads[0], 0, ones, 0);
    pthread_create(&threads[1], 0, others, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return is_right() ? 0 : 3;
}
";

/// Two members that belong together are read one by one.
const TORN: &str = "
struct { long low, high; } range = {0, 10};
long seen;
void prepare(void) {}
long low(void) {
    IN;
    long value = range.low;
    OUT;
    return value;
}
long high(void) {
    IN;
    long value = range.high;
    OUT;
    return value;
}
void one(void) {
    long from = low();
    long to = high();
    seen = to - from;
}
void other(void) {
    IN;
    range.low = 100;
    range.high = 110;
    OUT;
}
int is_right(void) { return seen == 10; }
";

/// The same on the heap, written one by one, with very much in between.
const FAR: &str = "
struct range { int unused; long low, high; };
struct range *shared;
long all[16];
long difference = 10, sum;
void *make(void *unused) {
    struct range *range = calloc(1, sizeof *range);
    range->high = 10;
    shared = range;
    return unused;
}
void prepare(void) {
    pthread_t maker;
    pthread_create(&maker, 0, make, 0);
    pthread_join(maker, 0);
}
void set_low(struct range *it) {
    IN;
    it->low = 100;
    OUT;
}
void set_high(struct range *it) {
    IN;
    it->high = 110;
    OUT;
}
void count(void) {
    IN;
    all[0] = all[1] = all[2] = all[3] = all[4] = all[5] = all[6] = all[7] = 1;
    all[8] = all[9] = all[10] = all[11] = all[12] = all[13] = all[14] = all[15] = 1;
    OUT;
}
void one(void) {
    struct range *it = shared;
    set_low(it);
    count();
    set_high(it);
}
void look(struct range *it) {
    IN;
    long low = it->low;
    long high = it->high;
    OUT;
    difference = high - low;
}
void add(void) {
    for (int i = 0; i < 16; i++) {
        IN;
        sum += all[i];
        OUT;
    }
}
void other(void) {
    look(shared);
    add();
}
int is_right(void) { return difference == 10; }
";

/// A limit goes stale between where it is read and where something is made of it.
const STALE: &str = "
struct { int used, limit, last; } table = {0, 4, 0};
int calls, before;
void prepare(void) {}
int limit(void) {
    IN;
    int value = table.limit;
    OUT;
    return value;
}
void set_last(int value) {
    IN;
    table.last = value;
    OUT;
}
void count(void) {
    IN;
    calls = 1;
    OUT;
}
void one(void) {
    int most = limit();
    set_last(most - 1);
    count();
}
void other(void) {
    IN;
    table.limit = 2;
    int last = table.last;
    OUT;
    before = last;
}
int is_right(void) {
    IN;
    int is_stale = table.last == 3 && before == 0;
    int right = calls && !is_stale;
    OUT;
    return right;
}
";

struct Home(tempfile::TempDir);

impl Home {
    fn of(source: &str, variant: Variant) -> Home {
        let home = Home(tempfile::tempdir().unwrap());
        let input = file(home.path(), "app.c", format!("{BEGIN}{source}{END}"), 0o644);
        build::compile(variant, &input, &home.path().join("app"), &["-g"]).unwrap();
        home
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn avmon(&self, arguments: &[&str]) -> Ending {
        end(avmon(arguments).current_dir(self.path()))
    }

    fn record(&self) {
        let ending =
            self.avmon(&["record", "--exitcode", "0", "--report=0", "--summary=0", "-o", "run", "--", "./app"]);
        assert_eq!(ending.code, Some(0), "{ending:?}");
    }

    fn findings(&self, flags: &[&str]) -> Vec<Value> {
        let ending = self.avmon(&[&["predict", "--json"], flags, &["run"]].concat());
        assert!(matches!(ending.code, Some(0 | 66)), "{ending:?}");
        findings(&ending.stdout)
    }

    /// The program's IR.
    fn ir(&self) -> PathBuf {
        let output = self.path().join("app.ll");
        let arguments = ["-g", "-O0", "-S", "-emit-llvm", "app.c", "-o", "app.ll"];
        let ending = end(clean("clang".as_ref(), &arguments).current_dir(self.path()));
        assert_eq!(ending.code, Some(0), "{ending:?}");
        output
    }
}

fn findings(log: &str) -> Vec<Value> {
    for line in log.lines() {
        avmon::report::json::validate_line(line).unwrap();
    }
    let records = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|record| record["type"] == "finding").collect()
}

fn names(variables: &Value) -> Vec<&str> {
    variables.as_array().into_iter().flatten().filter_map(|variable| variable["name"].as_str()).collect()
}

/// What there is, when it should be something else.
fn brief(findings: &[Value]) -> String {
    let keys = ["pattern", "strength", "found_by", "sentence"];
    findings.iter().map(|finding| keys.map(|key| finding[key].to_string()).join(" ") + "\n").collect()
}

fn strong(findings: &[Value]) -> Vec<&Value> {
    findings.iter().filter(|finding| finding["strength"] == "strong").collect()
}

#[test]
fn a_pair_that_is_read_in_two_sections_is_a_split_view() {
    for variant in [Variant::Instrumented, Variant::Clang] {
        let home = Home::of(TORN, variant);
        home.record();
        let found = home.findings(&["--views"]);
        let [finding] = strong(&found)[..] else { panic!("{}", brief(&found)) };
        assert_eq!((&finding["pattern"], &finding["rung"]), (&"view".into(), &"conflicting".into()));
        assert_eq!(finding["found_by"], serde_json::json!(["windows", "crossings", "views"]));
        assert_eq!(names(&finding["variables"]), ["range.low", "range.high"]);
        assert_eq!(names(&finding["view"]), ["range.low", "range.high"]);
        assert_eq!(finding["block"]["name"], "one");
        let ending = home.avmon(&["predict", "--views", "run"]);
        let expected = "View: thread T2 writes together, in one block, 'range.low', 'range.high'.";
        assert!(ending.stdout.contains(expected), "{ending:?}");

        let usual = home.findings(&[]);
        assert!(usual.iter().all(|finding| finding["pattern"] != "view" && finding["view"].is_null()), "{usual:#?}");
        let only = home.findings(&["--analyses", "views,stale_values"]);
        assert_eq!(strong(&only).len(), 1);
        assert_eq!(strong(&only)[0]["found_by"], serde_json::json!(["views"]));
    }
}

#[test]
fn sections_are_wholes_however_much_lies_between() {
    let home = Home::of(FAR, Variant::Instrumented);
    home.record();
    let found = home.findings(&["--analyses", "crossings,views"]);
    let about = |finding: &&&Value| names(&finding["variables"]) == ["range.low", "range.high"];
    let strong = strong(&found);
    let finding = strong.iter().find(about).unwrap_or_else(|| panic!("{}", brief(&found)));
    assert_eq!((&finding["pattern"], &finding["found_by"]), (&"view".into(), &serde_json::json!(["views"])));
    assert_eq!((&finding["first"]["action"], &finding["culprit"]["action"]), (&"write".into(), &"read".into()));
    assert!(finding["dependency"].is_null(), "what is written needs none");
    let allocation = &finding["variables"][1]["allocation"];
    assert_eq!((&allocation["offset"], &allocation["size"]), (&16.into(), &24.into()));
}

#[test]
fn without_the_code_a_dependency_is_assumed() {
    let home = Home::of(STALE, Variant::Instrumented);
    home.record();
    let found = home.findings(&["--views", "--show-weak"]);
    assert!(strong(&found).iter().all(|finding| finding["pattern"] != "stale_value"), "{found:#?}");
    let stale: Vec<&Value> = found.iter().filter(|finding| finding["pattern"] == "stale_value").collect();
    assert!(stale.iter().all(|it| it["strength"] == "assumed" && it["dependency"]["kind"] == "assumed"), "{stale:#?}");
    let mut written: Vec<Vec<&str>> = stale.iter().map(|finding| names(&finding["variables"])).collect();
    written.sort_unstable();
    assert_eq!(written, [["table.limit", "calls"], ["table.limit", "table.last"]]);
}

fn is_proven(found: &[Value]) {
    let stale: Vec<&Value> = found.iter().filter(|finding| finding["pattern"] == "stale_value").collect();
    let [finding] = stale[..] else { panic!("{}", brief(found)) };
    assert_eq!((&finding["strength"], &finding["dependency"]["kind"]), (&"strong".into(), &"proven".into()));
    assert_eq!(names(&finding["variables"]), ["table.limit", "table.last"]);
    let chain = finding["dependency"]["chain"].as_array().unwrap();
    let told: Vec<&str> = chain.iter().filter_map(|link| link["what"].as_str()).collect();
    assert_eq!((told.first(), told.last()), (Some(&"'table.limit' is read"), Some(&"'table.last' is written")));
    assert!(chain.iter().all(|link| link["at"]["line"].is_u64()), "{chain:#?}");
    assert!(finding["sentence"].as_str().unwrap().contains("writes what follows from it to 'table.last'"));
}

#[test]
fn the_code_proves_one_stale_value_and_rejects_the_other() {
    for variant in [Variant::Instrumented, Variant::Clang] {
        let home = Home::of(STALE, variant);
        home.record();
        let ir = home.ir();
        is_proven(&home.findings(&["--views", "--show-weak", "--ir", ir.to_str().unwrap()]));
        // A directory of it does as well.
        is_proven(&home.findings(&["--views", "--show-weak", "--ir", "."]));
        let ending = home.avmon(&["predict", "--views", "--ir", "app.ll", "--show-filtered", "run"]);
        assert!(ending.stdout.contains("independent: by the program's code"), "{ending:?}");
        assert!(ending.stdout.contains("writes calls at count"), "{ending:?}");
    }
}

#[test]
fn ir_that_cannot_be_read_is_told() {
    let home = Home::of(STALE, Variant::Instrumented);
    home.record();
    file(home.path(), "broken.ll", "define nonsense {", 0o644);
    std::fs::create_dir(home.path().join("empty")).unwrap();
    for (path, says) in [("missing.ll", "missing.ll"), ("broken.ll", "broken.ll:1"), ("empty", "no .ll or .bc file")] {
        let ending = home.avmon(&["predict", "--views", "--ir", path, "run"]);
        assert!(!matches!(ending.code, Some(0 | 66)), "{ending:?}");
        assert!(ending.stderr.contains(says), "{ending:?}");
    }
}

#[test]
fn the_compiler_keeps_the_code_for_later() {
    let home = Home(tempfile::tempdir().unwrap());
    file(home.path(), "app.c", format!("{BEGIN}{STALE}{END}"), 0o644);
    let mut compiler = avmon(&["cc", "-g", "app.c", "-o", "app", "-pthread"]);
    let ending = end(compiler.env("AVMON_CC", "clang").current_dir(home.path()));
    assert_eq!(ending.code, Some(0), "{ending:?}");
    home.record();
    is_proven(&home.findings(&["--views", "--show-weak"]));
}

#[test]
fn a_view_is_really_torn_and_a_value_really_stale() {
    for (source, pattern, variables) in
        [(TORN, "view", ["range.low", "range.high"]), (STALE, "stale_value", ["table.limit", "table.last"])]
    {
        let home = Home::of(source, Variant::Instrumented);
        let ir = home.ir();
        let confirm = ["confirm", "--exitcode", "7", "--views", "--ir", ir.to_str().unwrap(), "--", "./app"];
        let ending = home.avmon(&confirm);
        assert_eq!(ending.code, Some(7), "the code that is asked for: {ending:?}");
        let log = std::fs::read_to_string(home.path().join("avmon.confirm/findings.1.jsonl")).unwrap();
        let found = findings(&log);
        let failing: Vec<&Value> = found.iter().filter(|finding| finding["rung"] == "failing").collect();
        let finding = failing.iter().find(|it| it["pattern"] == pattern && names(&it["variables"]) == variables);
        let finding = finding.unwrap_or_else(|| panic!("{}\n{ending:?}", brief(&found)));
        assert_eq!(finding["strength"], "strong");
        assert_eq!(finding["trial"]["verdict"], "failing");
    }
}

/// Two tellers book on an account by way of a copy. Locks are objects of the C++ library, whose code has branches of its own.
const ACCOUNT: &str = "
#include <chrono>
#include <mutex>
#include <thread>
struct Account {
    std::mutex lock;
    int balance = 100;
    int read() {
        std::lock_guard<std::mutex> hold(lock);
        return balance;
    }
    void write(int amount) {
        std::lock_guard<std::mutex> hold(lock);
        balance = amount;
    }
    void update(int amount) {
        int current = read();
        write(current + amount);
    }
};
static Account account;
int main() {
    std::thread one([] { account.update(20); });
    std::thread other([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        account.update(-10);
    });
    one.join();
    other.join();
}
";

/// Tasks that give their results to whoever waits for them, by what the C++ library has for that.
const TASKS: &str = "
#include <future>
#include <thread>
#include <vector>
int main() {
    std::vector<std::future<int>> results;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++) {
        std::packaged_task<int()> task([i] { return i * i; });
        results.push_back(task.get_future());
        threads.emplace_back(std::move(task));
    }
    int sum = 0;
    for (auto &result : results)
        sum += result.get();
    for (auto &thread : threads)
        thread.join();
    return sum == 5 ? 0 : 3;
}
";

fn home_of_whole(name: &str, source: &str, variant: Variant) -> Home {
    let home = Home(tempfile::tempdir().unwrap());
    let input = file(home.path(), name, source, 0o644);
    build::compile(variant, &input, &home.path().join("app"), &[]).unwrap();
    home.record();
    home
}

/// Who comes second read what the first one wrote, and the branches of the lock lie between its own read and its write.
#[test]
fn by_the_code_a_branch_that_does_not_depend_on_the_value_is_none() {
    let is_stale = |finding: &&Value| {
        let found_by = finding["found_by"].as_array().unwrap();
        finding["block"]["name"] == "Account::update(int)" && found_by.contains(&"stale_values".into())
    };
    let found = home_of_whole("app.cpp", ACCOUNT, Variant::Clang).findings(&["--views"]);
    assert!(strong(&found).iter().any(is_stale), "{}", brief(&found));
}

/// Whoever sees the gate open changes `x`; the gate is opened after the other one's write. So that write cannot come between its two steps, by whatever
/// way the value of the gate goes to the branch.
const GATE: &str = "
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int x, gate;
struct seen { int gate; };
static __thread int own;
static struct seen *last;
static void look(int *to) { pthread_mutex_lock(&lock); *to = gate; pthread_mutex_unlock(&lock); }
static void look_4(int *to) { look(to); }
static void look_3(int *to) { look_4(to); }
static void look_2(int *to) { look_3(to); }
static void look_1(int *to) { look_2(to); }
static int get(struct seen *seen) { return seen->gate; }
static int get_own(void) { return own; }
static int get_last(int times) { return times ? get_last(times - 1) : last->gate; }
static void copy(struct seen *to, struct seen *from) { to->gate = from->gate; }
static int compare(const void *one, const void *other) { return *(const int *)one - *(const int *)other; }
static void pass(void)
{
    int is_open = 0;
    struct seen seen = { 0 }, other = { 0 };
    (void)seen, (void)other;
    WAY
    if (is_open) {
        pthread_mutex_lock(&lock); int old = x; pthread_mutex_unlock(&lock);
        pthread_mutex_lock(&lock); x = old + 1; pthread_mutex_unlock(&lock);
    }
}
static void *visitor(void *it) { usleep(100000); pass(); return it; }
static void *porter(void *it)
{
    pthread_mutex_lock(&lock); x = 5; pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock); gate = 1; pthread_mutex_unlock(&lock);
    return it;
}
int main(void)
{
    pthread_t one, two;
    void *unused[] = { get, get_own, get_last, copy, compare, look_1 };
    pthread_create(&one, NULL, visitor, unused);
    pthread_create(&two, NULL, porter, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
";

#[test]
fn by_the_code_what_decides_by_way_of_memory_is_kept() {
    let ways = [
        "look(&is_open);",
        "look_1(&is_open);",
        "look(&seen.gate); is_open = get(&seen);",
        "look(&own); is_open = get_own();",
        "look(&seen.gate); copy(&other, &seen); is_open = other.gate;",
        "last = malloc(sizeof *last); look(&last->gate); is_open = get_last(3);",
        // By code that is not known.
        "look(&seen.gate); int all[] = { 0 }; is_open = bsearch(&seen.gate, all, 1, sizeof *all, compare) == NULL;",
    ];
    for way in ways {
        let found = home_of_whole("app.c", &GATE.replace("WAY", way), Variant::Clang).findings(&["--views"]);
        let is_of_pass = |finding: &&&Value| finding["block"]["name"] == "pass";
        assert_eq!(strong(&found).iter().filter(is_of_pass).count(), 0, "{way}: {}", brief(&found));
    }
}

/// A copy that a function is given by its address is of use in what that writes.
#[test]
fn by_the_code_a_value_that_goes_through_memory_is_not_rejected() {
    let way = "look(&seen.gate); seen.gate += 1; put(&seen);";
    let put =
        "static void put(struct seen *it) { pthread_mutex_lock(&lock); gate = it->gate; pthread_mutex_unlock(&lock); }
static void pass(void)";
    let text = GATE.replacen("static void pass(void)", put, 1).replace("WAY", way).replace("x = 5;", "gate = 5;");
    let found = home_of_whole("app.c", &text, Variant::Clang).findings(&["--views", "--show-weak"]);
    assert!(found.iter().any(|finding| finding["block"]["name"] == "pass"), "{}", brief(&found));
}

#[test]
fn what_the_library_does_in_one_call_is_its_own_matter() {
    for variant in [Variant::Instrumented, Variant::Clang] {
        let found = home_of_whole("app.cpp", TASKS, variant).findings(&[]);
        let of_library = |it: &&&Value| it["block"]["name"].as_str().is_some_and(|name| name.starts_with("std::"));
        assert!(!strong(&found).iter().any(|it| of_library(&it)), "{}", brief(&found));
    }
}
