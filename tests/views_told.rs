//! What `predict --views` tells of stale values, and by which names: small programs from the compiler to the report.

mod cli_support;
mod support;

use cli_support::{Ending, avmon, clean, end, file};
use serde_json::Value;
use std::path::Path;
use support::build::{self, Variant};

/// The second thread comes after the first, by bare system calls, of which the monitor does not know: other orders are for the prediction to find.
const IN_ORDER: &str = "
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static int ends[2];
static void one(void);
static void other(void);
static void *ones(void *unused) { one(); return syscall(SYS_write, ends[1], \"\", 1) == 1 ? unused : 0; }
static void *others(void *unused) { char byte; if (syscall(SYS_read, ends[0], &byte, 1) == 1) other(); return unused; }
static void run(void) {
    pthread_t threads[2];
    if (pipe(ends)) exit(1);
    pthread_create(&threads[0], 0, ones, 0);
    pthread_create(&threads[1], 0, others, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
}
";

fn in_order(source: &str) -> String {
    format!("{IN_ORDER}{source}")
}

struct Home(tempfile::TempDir);

impl Home {
    /// A program that was built and recorded.
    fn of(name: &str, source: &str, variant: Variant, flags: &[&str]) -> Home {
        let home = Home(tempfile::tempdir().unwrap());
        let input = file(home.path(), name, source, 0o644);
        build::compile(variant, &input, &home.path().join("app"), &[&["-g"], flags].concat()).unwrap();
        home.record(&[]);
        home
    }

    fn record(&self, more: &[&str]) {
        let quiet = ["record", "--exitcode", "0", "--report=0", "--summary=0", "-o", "run"];
        let ending = self.avmon(&[&quiet, more, &["--", "./app"]].concat());
        assert_eq!(ending.code, Some(0), "{ending:?}");
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn avmon(&self, arguments: &[&str]) -> Ending {
        end(avmon(arguments).current_dir(self.path()))
    }

    fn stale(&self, more: &[&str]) -> Vec<Value> {
        self.predicted("stale_values", more)
    }

    fn predicted(&self, analysis: &str, more: &[&str]) -> Vec<Value> {
        let ending =
            self.avmon(&[&["predict", "--json", "--analyses", analysis, "--show-weak"], more, &["run"]].concat());
        assert!(matches!(ending.code, Some(0 | 66)), "{ending:?}");
        findings(&ending)
    }

    /// The IR of another source.
    fn ir(&self, name: &str, source: &str) -> String {
        file(self.path(), name, source, 0o644);
        let output = format!("{name}.ll");
        let arguments = ["-g", "-O0", "-S", "-emit-llvm", name, "-o", &output];
        let ending = end(clean("clang".as_ref(), &arguments).current_dir(self.path()));
        assert_eq!(ending.code, Some(0), "{ending:?}");
        output
    }
}

fn findings(ending: &Ending) -> Vec<Value> {
    let records = ending.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|record| record.get("sentence").is_some()).collect()
}

fn text<'v>(finding: &'v Value, key: &str) -> &'v str {
    finding[key].as_str().unwrap()
}

fn names(variables: &Value) -> Vec<&str> {
    variables.as_array().into_iter().flatten().filter_map(|variable| variable["name"].as_str()).collect()
}

/// Items go from one stack to another, each with its own lock.
const STACKS: &str = "
struct stack { pthread_mutex_t lock; int count; int items[64]; };
static struct stack *from, *to;
static struct stack *make(int count) {
    struct stack *made = calloc(1, sizeof *made);
    pthread_mutex_init(&made->lock, 0);
    made->count = count;
    return made;
}
static void push(struct stack *at, int item) {
    pthread_mutex_lock(&at->lock);
    at->items[at->count++] = item;
    pthread_mutex_unlock(&at->lock);
}
static int pop(struct stack *at) {
    pthread_mutex_lock(&at->lock);
#ifdef LOOK
    int found = at->items[at->count];
#else
    int found = at->items[--at->count];
#endif
    pthread_mutex_unlock(&at->lock);
    return found;
}
static void empty(struct stack *at) {
    pthread_mutex_lock(&at->lock);
    at->count = 0;
    pthread_mutex_unlock(&at->lock);
}
static void move(void) {
    int item = pop(from);
    push(to, item * 2);
}
static void one(void) { move(); }
static void other(void) { empty(from); empty(to); }
int main(void) {
    from = make(9);
    to = make(0);
    run();
    return 0;
}
";

fn about_count(found: &[Value]) -> Vec<&Value> {
    let is_it = |it: &&Value| text(&it["block"], "name") == "move" && names(&it["variables"])[0] == "stack.count";
    found.iter().filter(is_it).collect()
}

#[test]
fn a_value_that_its_block_acts_on_does_not_go_stale() {
    for variant in [Variant::Instrumented, Variant::Clang] {
        let home = Home::of("app.c", &in_order(STACKS), variant, &[]);
        let found = home.stale(&[]);
        assert!(about_count(&found).is_empty(), "{found:#?}");
        let ending = home.avmon(&["predict", "--analyses", "stale_values", "--show-filtered", "run"]);
        assert!(ending.stdout.contains("acted-on: the block that reads the value also acts on it"), "{ending:?}");
    }
}

/// Who only looks has no part in what others do, and under another lock that is seldom meant.
#[test]
fn locks_that_nobody_takes_together_are_unrelated() {
    let home = Home::of("app.c", &in_order(STACKS), Variant::Clang, &["-DLOOK"]);
    let found = home.stale(&[]);
    let told: Vec<_> =
        about_count(&found).iter().map(|it| (text(it, "strength"), text(&it["dependency"], "kind"))).collect();
    assert_eq!(told, [("unrelated", "proven")], "{found:#?}");
}

#[test]
fn two_objects_of_one_type_are_told_apart() {
    let home = Home::of("app.c", &in_order(STACKS), Variant::Instrumented, &["-DLOOK"]);
    let found = home.stale(&[]);
    let of_two = found.iter().find(|it| names(&it["variables"]) == ["stack.count", "stack.count"]);
    let told = text(of_two.unwrap_or_else(|| panic!("{found:#?}")), "sentence");
    assert!(told.contains("what may follow from it to 'stack.count' of another object at"), "{told}");
}

/// A struct is copied, changed and copied back.
const COPIED: &str = "
struct counts { long hits, bytes, errors, more[5]; };
static struct counts all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct counts get(void) {
    pthread_mutex_lock(&lock);
    struct counts now = all;
    pthread_mutex_unlock(&lock);
    return now;
}
static void set(const struct counts *to) {
    pthread_mutex_lock(&lock);
    all = *to;
    pthread_mutex_unlock(&lock);
}
static void hit(long bytes) {
    struct counts now = get();
    now.hits++;
    now.bytes += bytes;
    set(&now);
}
static void one(void) { hit(10); }
static void other(void) {
    struct counts none = {0};
    set(&none);
}
int main(void) {
    run();
    return 0;
}
";

#[test]
fn of_a_copied_struct_the_lost_update_is_told() {
    for variant in [Variant::Instrumented, Variant::Clang] {
        let home = Home::of("app.c", &in_order(COPIED), variant, &[]);
        let found = home.stale(&[]);
        let [finding] = &found[..] else { panic!("{found:#?}") };
        assert_eq!((text(finding, "strength"), names(&finding["variables"]).len()), ("strong", 1), "{finding:#?}");
    }
}

#[test]
fn code_that_does_not_tell_is_not_asked_for() {
    let home = Home::of("app.c", &in_order(COPIED), Variant::Instrumented, &[]);
    let kinds = |found: &[Value]| -> Vec<String> {
        found.iter().map(|it| text(&it["dependency"], "kind").to_owned()).collect()
    };
    assert_eq!(kinds(&home.stale(&[])), ["assumed"]);
    let other = home.ir("other.c", "int other(int it) { return it; }\n");
    assert_eq!(kinds(&home.stale(&["--ir", &other])), ["open"]);
    let ending = home.avmon(&["predict", "--analyses", "stale_values", "--ir", &other, "run"]);
    assert!(ending.stdout.contains("; the program's code does not tell."), "{ending:?}");
}

/// People wait, and a lift claims them: `set_claim` is called from two places, of which one depends on what `is_free` read.
const LIFT: &str = "
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int waiting = 1, claimed;
static int is_free(void) {
    pthread_mutex_lock(&lock);
#ifdef SUM
    int found = waiting + claimed > 0;
#else
    int found = waiting > 0 && claimed == 0;
#endif
    pthread_mutex_unlock(&lock);
    return found;
}
static void set_claim(int to) {
    pthread_mutex_lock(&lock);
    claimed = to;
    pthread_mutex_unlock(&lock);
}
static void add_waiting(void) {
    pthread_mutex_lock(&lock);
    waiting++;
    pthread_mutex_unlock(&lock);
}
static void claim(void) {
    if (is_free()) set_claim(1);
}
static void stop(void) {
    claim();
    set_claim(0);
}
static void press(void) {
    set_claim(2);
    add_waiting();
}
static void one(void) { stop(); }
static void other(void) { press(); }
int main(void) {
    run();
    return 0;
}
";

fn blocks(found: &[Value]) -> Vec<&str> {
    found.iter().map(|it| text(&it["block"], "name")).collect()
}

#[test]
fn who_called_a_function_tells_what_it_depends_on() {
    let known = Home::of("app.c", &in_order(LIFT), Variant::Clang, &[]);
    let found = known.stale(&[]);
    assert!(blocks(&found).contains(&"claim"), "{found:#?}");
    assert!(!blocks(&found).contains(&"stop"), "{found:#?}");
    let unknown = Home::of("app.c", &in_order(LIFT), Variant::Instrumented, &[]);
    assert!(blocks(&unknown.stale(&[])).contains(&"stop"));
}

/// Whoever reads a count and something else sees no half of anything, unless it makes something from both.
#[test]
fn a_count_belongs_to_nothing_that_it_is_not_put_together_with() {
    let home = |flags: &[&str]| Home::of("app.c", &in_order(LIFT), Variant::Clang, flags);
    let ending = home(&[]).avmon(&["predict", "--analyses", "views", "--show-weak", "--show-filtered", "run"]);
    assert!(ending.stdout.contains("counted-on: one of the writes makes the new value from the old one"), "{ending:?}");
    assert!(!ending.stdout.contains("press() is not atomic"), "{ending:?}");
    assert_eq!(blocks(&home(&["-DSUM"]).predicted("views", &[])), ["press"]);
}

/// Without the code a block that reads what it then writes may count. One that only writes does not.
#[test]
fn without_the_code_what_may_be_a_count_is_weak() {
    // Who reads both finds the claim as it was, so that nothing else follows from it.
    let strength = |source: &str| {
        let source = source.replace("set_claim(2)", "set_claim(0)");
        let home = Home::of("app.c", &in_order(&source), Variant::Instrumented, &[]);
        home.record(&["--values"]);
        let found = home.predicted("views", &[]);
        assert_eq!(blocks(&found), ["press"], "{found:#?}");
        text(&found[0], "strength").to_owned()
    };
    assert_eq!(strength(LIFT), "assumed");
    assert_eq!(strength(&LIFT.replace("waiting++", "waiting = 2")), "strong");
}

/// Many turns, in the work of a thread or in a call of it.
const TURNS: &str = "
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long value, seen;
static long get(void) { pthread_mutex_lock(&lock); long now = value; pthread_mutex_unlock(&lock); return now; }
static void set(long to) { pthread_mutex_lock(&lock); value = to; pthread_mutex_unlock(&lock); }
static void note(long now) { pthread_mutex_lock(&lock); seen = now; pthread_mutex_unlock(&lock); }
static void *turns(void *unused) {
    long now = get();
    for (int i = 0; i < 100; i++) { note(i); set(i); }
    note(now);
    return unused;
}
static void *work(void *unused) { return turns(unused); }
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, i < CALLED ? work : turns, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
";

#[test]
fn what_lies_far_back_is_told_only_where_it_is_missed() {
    let says = |how: &str| {
        let home = Home::of("app.c", TURNS, Variant::Instrumented, &[how]);
        home.avmon(&["predict", "--views", "run"]).stderr.contains("further back than views and stale values look")
    };
    assert!(!says("-DCALLED=0"));
    assert!(says("-DCALLED=2"));
}

/// A class with virtual functions, whose members clang tells only where the first of them is.
const CLASS: &str = "
#include <mutex>
#include <thread>
struct Base {
    virtual ~Base();
    std::mutex lock;
    long width = 1, height = 2;
    long get_width() { std::lock_guard<std::mutex> hold(lock); return width; }
    long get_height() { std::lock_guard<std::mutex> hold(lock); return height; }
    void resize(long to) { std::lock_guard<std::mutex> hold(lock); width = to; height = 2 * to; }
};
struct Box : Base {};
static Box box;
static long seen;
static long area(Base &it) { return it.get_width() * it.get_height(); }
#ifdef BASE
Base::~Base() {}
#else
int main() {
    std::thread one([] { for (int i = 0; i < 4; i++) box.resize(i); });
    std::thread two([] { for (int i = 0; i < 4; i++) seen = area(box); });
    one.join();
    two.join();
    return 0;
}
#endif
";

#[test]
fn members_of_classes_that_are_described_elsewhere_have_names() {
    let home = Home(tempfile::tempdir().unwrap());
    file(home.path(), "box.cpp", CLASS, 0o644);
    let built = home.avmon(&["c++", "--avmon-compiler=clang", "-c", "box.cpp", "-o", "box.o"]);
    assert_eq!(built.code, Some(0), "{built:?}");
    let others = ["c++", "--avmon-compiler=clang", "-pthread", "-DBASE", "box.cpp", "box.o", "-o", "app"];
    assert_eq!(home.avmon(&others).code, Some(0));
    let quiet = ["record", "--exitcode", "0", "--report=0", "--summary=0", "-o", "run", "--", "./app"];
    assert_eq!(home.avmon(&quiet).code, Some(0));
    for arguments in [
        &["lint", "--json", "box.cpp"][..],
        &["lint", "--json", "box.o"],
        &["predict", "--json", "--analyses", "views", "run"],
    ] {
        let found = findings(&home.avmon(arguments));
        let mut told: Vec<&str> = found.iter().flat_map(|it| names(&it["variables"])).collect();
        told.sort_unstable();
        told.dedup();
        assert_eq!(told, ["box.height", "box.width"], "{arguments:?}");
    }
}

/// A queue, of which one thread takes an item and puts another one in; then another thread puts one in where the first one took its own.
const QUEUE: &str = "
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
static struct { pthread_mutex_t lock; int items[SIZE], head, tail; } queue = { PTHREAD_MUTEX_INITIALIZER, {3}, 0, 0 };
static int ends[2];
static int pop(void) {
    pthread_mutex_lock(&queue.lock);
    int item = queue.items[queue.head];
    queue.head = (queue.head + 1) % SIZE;
    pthread_mutex_unlock(&queue.lock);
    return item;
}
static void push(int item) {
    pthread_mutex_lock(&queue.lock);
    queue.items[queue.tail] = item;
    queue.tail = (queue.tail + 1) % SIZE;
    pthread_mutex_unlock(&queue.lock);
}
static void *consumer(void *unused) {
    for (int i = 0; i < 2; i++) { int item = pop(); if (item == 3) push(item * 3); }
    return syscall(SYS_write, ends[1], \"\", 1) == 1 ? unused : 0;
}
static void *producer(void *unused) {
    char byte;
    if (syscall(SYS_read, ends[0], &byte, 1) == 1) push(7);
    return unused;
}
int main(void) {
    pthread_t threads[2];
    if (pipe(ends)) return 1;
    pthread_create(&threads[0], 0, consumer, 0);
    pthread_create(&threads[1], 0, producer, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
";

/// The end of one turn and the beginning of the next are on one line, so that only the code tells them apart.
#[test]
fn what_a_thread_takes_out_and_puts_in_again_is_its_way_of_working() {
    // The next turn takes what is put where the last one looked for room, or the same turn puts back where it took from.
    for size in ["-DSIZE=2", "-DSIZE=1"] {
        let home = Home::of("app.c", QUEUE, Variant::Clang, &[size]);
        let found = home.predicted("views", &[]);
        let is_of_both = |it: &&Value| {
            let names = names(&it["variables"]);
            names.contains(&"queue.tail") && names.iter().any(|name| name.starts_with("queue.items"))
        };
        let told: Vec<&str> = found.iter().filter(is_of_both).map(|it| text(it, "strength")).collect();
        assert_eq!(told, ["loop"], "{size}: {found:#?}");
    }
}
