//! `avmon lint` on small sources: what it finds, and how it takes what it is given.

mod cli_support;

use cli_support::{Ending, avmon, end, refuses};
use serde_json::Value;
use std::path::{Path, PathBuf};

struct Sources(tempfile::TempDir);

impl Sources {
    fn new() -> Sources {
        Sources(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn with(self, name: &str, text: &str) -> Sources {
        std::fs::write(self.path(name), text).unwrap();
        self
    }

    fn lint(&self, arguments: &[&str]) -> Ending {
        let mut command = avmon(&["lint"]);
        end(command.args(arguments).current_dir(self.0.path()))
    }

    /// Strength, pattern and function of each finding.
    fn found(&self, arguments: &[&str]) -> Vec<(String, String, String)> {
        let ending = self.lint(&[&["--json"], arguments].concat());
        assert_eq!(ending.stderr, "", "{ending:?}");
        let records = ending.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let findings = records.filter(|record| record.get("sentence").is_some());
        findings.map(|it| (text(&it["strength"]), text(&it["pattern"]), text(&it["block"]["name"]))).collect()
    }
}

fn expected(list: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    list.iter().map(|(one, two, three)| ((*one).to_owned(), (*two).to_owned(), (*three).to_owned())).collect()
}

const PAIR: &str = "
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct { int low, high; } range;
static int width;

static int get_low(void)
{
    pthread_mutex_lock(&lock);
    int low = range.low;
    pthread_mutex_unlock(&lock);
    return low;
}

static int get_high(void)
{
    pthread_mutex_lock(&lock);
    int high = range.high;
    pthread_mutex_unlock(&lock);
    return high;
}

static int measure(void)
{
#ifdef RIGHT
    pthread_mutex_lock(&lock);
    int result = range.high - range.low;
    pthread_mutex_unlock(&lock);
    return result;
#else
    return get_high() - get_low();
#endif
}

static void *watch(void *argument)
{
    for (int i = 0; i < 10; i++)
        width = measure();
    return argument;
}

static void *move(void *argument)
{
    pthread_mutex_lock(&lock);
    range.low++;
    range.high++;
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, watch, 0);
    pthread_create(&threads[1], 0, move, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
";

#[test]
fn a_torn_pair_in_c() {
    let sources = Sources::new().with("pair.c", PAIR);
    assert_eq!(sources.found(&["pair.c"]), expected(&[("strong", "view", "measure")]));
    assert_eq!(sources.found(&["pair.c", "--", "-DRIGHT"]), []);
}

#[test]
fn the_report_and_the_exit_code() {
    let sources = Sources::new().with("pair.c", PAIR);
    let ending = sources.lint(&["pair.c"]);
    assert_eq!((ending.code, ending.stderr.as_str()), (Some(66), ""));
    for line in [
        "WARNING: avmon: atomicity violation\n",
        "  Thread 'watch' reads 'range.high':\n    #0 get_high ",
        "  Thread 'move' writes it",
        "  View: thread 'move' writes together, in one block, 'range.low', 'range.high'.\n",
        "  Dependency, from the program's code:\n",
        "  Thread 'move' is created at:\n    #0 main ",
        ", suspected: found in the source; no run was seen\n",
        "avmon: 1 finding from 1 block (strong)",
        "avmon: looked at 6 functions, 3 atomic blocks, 3 processes\n",
    ] {
        assert!(ending.stdout.contains(line), "{line}\n{}", ending.stdout);
    }
    let hidden = Sources::new().with("pair.c", PAIR).with("hide", "atomicity_top:^measure$\n");
    let ending = hidden.lint(&["pair.c", "--suppressions", "hide"]);
    assert_eq!(ending.code, Some(0));
    assert!(ending.stdout.contains("1 suppressed"), "{}", ending.stdout);
    let other = Sources::new().with("pair.c", PAIR).with("spec", "nonatomic:measure\n");
    assert_eq!(other.lint(&["pair.c", "--specification", "spec"]).code, Some(0));
}

#[test]
fn a_log_is_written_and_read_again() {
    let sources = Sources::new().with("pair.c", PAIR);
    assert_eq!(sources.lint(&["pair.c", "-o", "log"]).code, Some(66));
    let ending = end(avmon(&["report", "log"]).current_dir(sources.0.path()));
    assert!(ending.stdout.contains("measure() is not atomic"), "{ending:?}");
}

const ACCOUNT: &str = "
#include <mutex>
#include <thread>
#include \"avmon.h\"

class Account {
public:
    int get() { std::lock_guard<std::mutex> hold(lock); return balance; }
    void set(int to) { std::unique_lock<std::mutex> hold(lock); balance = to; }
    void wrong(int amount) { set(get() + amount); }
    void right(int amount) { std::scoped_lock hold(lock); balance += amount; }
private:
    std::mutex lock;
    int balance = 0;
};

static Account account;
static void work() { account.OPERATION(1); }

int main()
{
    std::thread one(work);
#ifndef ALONE
    std::thread two(work);
    two.join();
#endif
    one.join();
}
";

#[test]
fn a_stale_value_in_cpp() {
    let sources = Sources::new().with("account.cpp", ACCOUNT);
    let header = format!("-I{}/shim", env!("CARGO_MANIFEST_DIR"));
    let found = |flags: &[&str]| sources.found(&[&["account.cpp", "--", "-std=c++17", &header][..], flags].concat());
    assert_eq!(found(&["-DOPERATION=wrong"]), expected(&[("strong", "stale_value", "Account::wrong")]));
    assert_eq!(found(&["-DOPERATION=right"]), []);
    assert_eq!(found(&["-DOPERATION=wrong", "-DALONE"]), [], "one thread alone is never split");
}

const MARKED: &str = "
#include <pthread.h>
#include \"avmon.h\"

static int value;
AVMON_ATOMIC static int get(void) { return value; }
AVMON_ATOMIC static void set(int to) { value = to; }
static void increment(void) { set(get() + 1); }

static void twice(void)
{
    AVMON_ATOMIC_BEGIN(\"read\");
    int old = value;
    AVMON_ATOMIC_END();
    AVMON_ATOMIC_BEGIN(\"write\");
    value = 2 * old;
    AVMON_ATOMIC_END();
}

static void *work(void *argument)
{
    increment();
    twice();
    return argument;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, 0);
    return 0;
}
";

#[test]
fn annotated_functions_and_marked_blocks() {
    let sources = Sources::new().with("marked.c", MARKED);
    let header = format!("-I{}/shim", env!("CARGO_MANIFEST_DIR"));
    let mut found = sources.found(&["marked.c", "--", &header]);
    found.sort();
    let all = [("strong", "stale_value", "increment"), ("strong", "stale_value", "twice")];
    assert_eq!(found, expected(&all));
}

/// The program in two files, which are linked.
#[test]
fn a_list_of_compilations() {
    let (head, main) = PAIR.split_once("static void *watch").unwrap();
    let head = head
        .replace("static pthread", "pthread")
        .replace("static struct { int low, high; } range", "struct range range");
    let head = head.replace("static int measure", "int measure");
    let declared = "struct range { int low, high; };\n";
    let main = format!(
        "#include <pthread.h>\n{declared}extern pthread_mutex_t lock; extern struct range range; static int width; int measure(void);
         static void *watch{main}"
    );
    let sources = Sources::new()
        .with("range.c", &format!("{declared}{head}"))
        .with("main.c", &main)
        .with("broken.c", "int f( {\n");
    let entry = |file: &str, flags: &str| serde_json::json!({"directory": sources.0.path(), "file": file, "command": format!("gcc -O2 {flags} -c -o x.o {file}")});
    let list =
        |flags| serde_json::json!([entry("range.c", flags), entry("main.c", ""), entry("broken.c", "")]).to_string();
    std::fs::write(sources.path("compile_commands.json"), list("")).unwrap();
    let ending = sources.lint(&["compile_commands.json"]);
    assert_eq!(ending.code, Some(66));
    assert!(ending.stdout.contains("measure() is not atomic"), "{ending:?}");
    assert!(ending.stdout.ends_with(", 1 file not read\n"), "{ending:?}");
    assert!(ending.stderr.contains("broken.c was not compiled: ") && ending.stderr.contains("error"), "{ending:?}");
    std::fs::write(sources.path("compile_commands.json"), list("-DRIGHT")).unwrap();
    assert_eq!(sources.lint(&["compile_commands.json"]).code, Some(125));
}

#[test]
fn a_file_that_is_not_read_is_a_failure_in_the_end() {
    let sources = Sources::new().with("pair.c", PAIR).with("bad.c", "int f( {\n").with("bad.ll", "define i32 @f( {\n");
    for bad in ["bad.c", "bad.ll"] {
        let clean = sources.lint(&[bad, "pair.c", "--", "-DRIGHT"]);
        assert_eq!(clean.code, Some(125), "{clean:?}");
        assert!(clean.stdout.ends_with("3 processes, 1 file not read\n"), "{clean:?}");
        let found = |exit_code: &str| sources.lint(&[bad, "pair.c", "--exitcode", exit_code]).code;
        assert_eq!((found("66"), found("3"), found("0")), (Some(66), Some(3), Some(125)), "{bad}");
    }
}

#[test]
fn ir_and_directories_of_it() {
    let sources = Sources::new().with("pair.c", PAIR);
    std::fs::create_dir(sources.path("ir")).unwrap();
    let mut clang = std::process::Command::new("clang");
    clang.args(["-O0", "-g", "-S", "-emit-llvm", "pair.c", "-o", "ir/pair.ll"]).current_dir(sources.0.path());
    assert!(clang.status().unwrap().success());
    let all = expected(&[("strong", "view", "measure")]);
    assert_eq!(sources.found(&["ir/pair.ll"]), all);
    assert_eq!(sources.found(&["ir"]), all);
}

#[test]
fn what_cannot_be_read_is_told() {
    let sources = Sources::new().with("pair.c", PAIR).with("bad.ll", "define i32 @f( {\n").with("empty.json", "{}");
    std::fs::create_dir(sources.path("nothing")).unwrap();
    let refused = |arguments: &[&str], code, says: &str| {
        refuses(avmon(&["lint"]).args(arguments).current_dir(sources.0.path()), code, &[says]);
    };
    refused(&["bad.ll"], 125, "bad.ll:2: ");
    refused(&["bad.ll"], 125, "nothing could be read");
    refused(&["empty.json"], 125, "no list of compilations");
    refused(&["nothing"], 2, "no compile_commands.json, .ll or .bc file in this directory");
    refused(&["pair.c", "--clang", "no-such-clang"], 127, "apt install clang");
    refused(&["/bin/true"], 2, "no IR is known of it");
}

/// What is given on the command line is seen from the directory of the command, not from that of the sources.
#[test]
fn sources_by_path() {
    let sources = Sources::new().with("pair.c", PAIR);
    let mut command = avmon(&["lint"]);
    let ending = end(command.arg(sources.path("pair.c")).current_dir(Path::new("/")));
    assert_eq!(ending.code, Some(66));
}

#[test]
fn nothing_to_run_is_nothing_to_find() {
    let sources =
        Sources::new().with("empty.c", "").with("internal.c", "static int x;\nstatic void f(void) { x++; }\n");
    for file in ["empty.c", "internal.c"] {
        let ending = sources.lint(&[file]);
        assert_eq!((ending.code, ending.stderr.as_str()), (Some(0), ""), "{file}");
        assert!(ending.stdout.contains("0 atomic blocks, 0 processes\n"), "{ending:?}");
    }
}

/// The thread that looks runs one of the blocks only, and never comes to the function that has both.
const ONE_WRITER: &str = "
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value, low, high;

static int get(void)
{
    pthread_mutex_lock(&lock);
    int now = value;
    pthread_mutex_unlock(&lock);
    return now;
}

static void set(int to)
{
    pthread_mutex_lock(&lock);
    value = to;
    pthread_mutex_unlock(&lock);
}

static void add(void) { set(get() + 1); }

static int get_low(void)
{
    pthread_mutex_lock(&lock);
    int now = low;
    pthread_mutex_unlock(&lock);
    return now;
}

static int get_high(void)
{
    pthread_mutex_lock(&lock);
    int now = high;
    pthread_mutex_unlock(&lock);
    return now;
}

static int width;
static void measure(void) { width = get_high() - get_low(); }

static void *work(void *argument)
{
    add();
    measure();
    pthread_mutex_lock(&lock);
    low++;
    high++;
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *look(void *argument)
{
#ifdef TWICE
    add();
    measure();
#endif
    get();
    get_low();
    get_high();
    return argument;
}

int main(void)
{
    pthread_t one, other;
    pthread_create(&one, 0, work, 0);
    pthread_create(&other, 0, look, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
";

#[test]
fn only_who_comes_to_both_blocks_is_split() {
    let sources = Sources::new().with("one.c", ONE_WRITER);
    assert_eq!(sources.found(&["one.c"]), []);
    let mut found = sources.found(&["one.c", "--", "-DTWICE"]);
    found.sort();
    assert_eq!(found, expected(&[("strong", "stale_value", "add"), ("strong", "view", "measure")]));
}

const SHARED: &str = "
#include <functional>
#include <mutex>
#include <thread>

struct Counter {
    std::mutex lock;
    int value = 0;
    int get() { std::lock_guard<std::mutex> hold(lock); return value; }
    void set(int to) { std::lock_guard<std::mutex> hold(lock); value = to; }
};

static void add(Counter *counter) { counter->set(counter->get() + 1); }
static void add_to(Counter &counter) { add(&counter); }
static void own() { Counter counter; add(&counter); }

int main()
{
#if defined LOCAL
    Counter counter;
    std::thread one(add, &counter), two(add, &counter);
#elif defined HEAP
    Counter *counter = new Counter;
    std::thread one(add, counter), two(add, counter);
#elif defined REFERENCE
    Counter counter;
    std::thread one(add_to, std::ref(counter)), two(add_to, std::ref(counter));
#else
    std::thread one(own), two(own);
#endif
    one.join();
    two.join();
}
";

#[test]
fn what_a_thread_is_given_is_shared() {
    let sources = Sources::new().with("shared.cpp", SHARED);
    for how in ["-DLOCAL", "-DHEAP", "-DREFERENCE"] {
        let found = sources.found(&["shared.cpp", "--", how]);
        assert_eq!(found, expected(&[("strong", "stale_value", "add")]), "{how}");
    }
    assert_eq!(sources.found(&["shared.cpp"]), [], "each has its own");
}

const OWN: &str = "
#include <pthread.h>
#include <stdio.h>
struct pair { int x, y; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pair *last;

static void set_x(struct pair *pair) { pthread_mutex_lock(&lock); pair->x = 1; pthread_mutex_unlock(&lock); }
static void set_y(struct pair *pair) { pthread_mutex_lock(&lock); pair->y = 1; pthread_mutex_unlock(&lock); }

static void show(struct pair *pair)
{
    pthread_mutex_lock(&lock);
    printf(\"%d %d\", pair->x, pair->y);
    pthread_mutex_unlock(&lock);
}

static void report(void)
{
    struct pair pair;
#ifdef GIVEN
    last = &pair;
    set_x(last);
    set_y(last);
#else
    set_x(&pair);
    set_y(&pair);
#endif
    show(&pair);
}

static void *one(void *argument) { report(); return argument; }
static void *two(void *argument) { report(); return argument; }

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, one, 0);
    pthread_create(&threads[1], 0, two, 0);
    return 0;
}
";

#[test]
fn a_local_of_a_function_that_two_threads_call_is_not_shared() {
    let sources = Sources::new().with("own.c", OWN);
    assert_eq!(sources.found(&["own.c"]), []);
    assert_eq!(sources.found(&["own.c", "--", "-DGIVEN"]), expected(&[("strong", "view", "report")]));
}

const TRANSFER: &str = "
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long here, there, sum;

static void take(long much) { pthread_mutex_lock(&lock); here -= much; pthread_mutex_unlock(&lock); }
static void give(long much) { pthread_mutex_lock(&lock); there += much; pthread_mutex_unlock(&lock); }
static void transfer(long much) { take(much); give(much); }
static void *move(void *argument) { transfer(10); return argument; }

static void *look(void *argument)
{
    pthread_mutex_lock(&lock);
#ifdef TOGETHER
    sum = here + there;
#else
    long one = here, other = there;
    (void)one, (void)other;
#endif
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, move, 0);
    pthread_create(&threads[1], 0, look, 0);
    return 0;
}
";

#[test]
fn counts_that_are_put_together_belong_together() {
    let sources = Sources::new().with("transfer.c", TRANSFER);
    assert_eq!(sources.found(&["transfer.c", "--", "-DTOGETHER"]), expected(&[("strong", "view", "transfer")]));
    assert_eq!(sources.found(&["transfer.c"]), []);
}

/// A block that sets this many members of a struct, and a function that reads the first two apart.
fn wide(members: usize) -> String {
    let each = |text: &dyn Fn(usize) -> String| (0..members).map(text).collect::<String>();
    let declared = each(&|it| format!("int m{it}; "));
    let set = each(&|it| format!("all.m{it} = 1; "));
    format!(
        "#include <pthread.h>
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        static struct {{ {declared} }} all;
        static int result;
        static int one(void) {{ pthread_mutex_lock(&lock); int it = all.m0; pthread_mutex_unlock(&lock); return it; }}
        static int two(void) {{ pthread_mutex_lock(&lock); int it = all.m1; pthread_mutex_unlock(&lock); return it; }}
        static void add(void) {{ result = one() + two(); }}
        static void *look(void *argument) {{ add(); return argument; }}
        static void *set(void *argument) {{
            pthread_mutex_lock(&lock); {set} pthread_mutex_unlock(&lock);
            return argument;
        }}
        int main(void) {{
            pthread_t threads[3];
            pthread_create(&threads[0], 0, look, 0);
            pthread_create(&threads[1], 0, set, 0);
            pthread_create(&threads[2], 0, set, 0);
            return 0;
        }}"
    )
}

#[test]
fn a_view_is_told_as_far_as_people_want_to_read_it() {
    let sources = Sources::new().with("wide.c", &wide(20));
    let ending = sources.lint(&["wide.c"]);
    let view = ending.stdout.lines().find(|line| line.starts_with("  View: ")).unwrap();
    assert!(view.contains("in one block, 'all.m0', 'all.m1', "), "{view}");
    assert_eq!(view.matches("'all.").count(), 8, "{view}");
    assert!(view.ends_with(", and 12 more."), "{view}");
    assert!(!ending.stdout.contains("not followed"), "{ending:?}");
}

#[test]
fn what_is_too_much_to_look_at_is_counted() {
    let sources = Sources::new().with("wide.c", &wide(201));
    let ending = sources.lint(&["wide.c"]);
    assert_eq!(ending.code, Some(0));
    assert!(ending.stdout.ends_with(", 201 values not followed to the end\n"), "{ending:?}");
    // Two blocks that read seven members each, from which nothing is made.
    let read =
        |members: std::ops::Range<usize>| members.map(|it| format!("it = all.m{it};")).collect::<Vec<_>>().join(" ");
    let [low, high] = [read(0..7), read(7..14)];
    let text = wide(14).replace("int it = all.m0;", &format!("int it; {low} it = 0;"));
    let text = text.replace("int it = all.m1;", &format!("int it; {high} it = 0;"));
    let sources = Sources::new().with("wide.c", &text);
    let ending = sources.lint(&["wide.c"]);
    assert_eq!(ending.code, Some(0));
    assert!(ending.stdout.ends_with(", 2 values not followed to the end\n"), "{ending:?}");
}

/// A counter that two threads raise by `set(get() + 1)`. What reads and writes it is put in.
fn counter(rest: &str) -> String {
    let head = "#include <pthread.h>\nstatic pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; static int value;\n";
    let main = "
static void *work(void *argument) { set(get() + 1); return argument; }
int main(void)
{
    pthread_t one, two;
    pthread_create(&one, 0, work, 0);
    pthread_create(&two, 0, work, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    return 0;
}
";
    format!("{head}{rest}{main}")
}

const PLAIN_SET: &str =
    "static void set(int to) { pthread_mutex_lock(&lock); value = to; pthread_mutex_unlock(&lock); }\n";

#[test]
fn a_lock_whose_result_is_asked_for() {
    let getters = [
        "if (pthread_mutex_lock(&lock) != 0) return -1; int it = value; pthread_mutex_unlock(&lock); return it;",
        "int failed = pthread_mutex_lock(&lock); if (failed) return -1; int it = value; pthread_mutex_unlock(&lock); return it;",
        "while (pthread_mutex_trylock(&lock)) ; int it = value; pthread_mutex_unlock(&lock); return it;",
        "int it = 0; if (pthread_mutex_trylock(&lock) == 0) { it = value; pthread_mutex_unlock(&lock); } return it;",
        // The lock is forgotten on one way.
        "pthread_mutex_lock(&lock); int it = value; if (it < 0) return -1; pthread_mutex_unlock(&lock); return it;",
    ];
    for getter in getters {
        let text = counter(&format!("static int get(void) {{ {getter} }}\n{PLAIN_SET}"));
        let sources = Sources::new().with("counter.c", &text);
        assert_eq!(sources.found(&["counter.c"]), expected(&[("strong", "stale_value", "work")]), "{getter}");
    }
    let twice = "
static void increment(void)
{
    int it = 0;
    if (pthread_mutex_trylock(&lock) == 0) { it = value; pthread_mutex_unlock(&lock); }
    if (pthread_mutex_trylock(&lock) == 0) { value = it + 1; pthread_mutex_unlock(&lock); }
}
static int get(void) { return 0; }
static void set(int to) { (void)to; increment(); }
";
    let sources = Sources::new().with("counter.c", &counter(twice));
    assert_eq!(sources.found(&["counter.c"]), expected(&[("strong", "stale_value", "increment")]));
}

/// The block is the caller's, though the callee ends it where it has nothing to do.
#[test]
fn a_lock_that_is_left_to_the_caller_is_one_block() {
    let text = "
static int lock_if_small(void)
{
    if (pthread_mutex_lock(&lock) != 0) return 0;
    if (value > 100) { pthread_mutex_unlock(&lock); return 0; }
    return 1;
}
static int get(void) { return 0; }
static void set(int to)
{
    if (!lock_if_small()) return;
    value += to;
    pthread_mutex_unlock(&lock);
}
";
    let sources = Sources::new().with("counter.c", &counter(text));
    assert_eq!(sources.found(&["counter.c"]), []);
}

/// Two variables under one lock that `watch` reads one after the other; the rest says what `main` does for ever.
fn watched(main: &str, before: &str) -> String {
    format!(
        "#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int low, high, width;
static void quit(int status) {{ low = 0; exit(status); }}
static void take(void) {{ if (pthread_mutex_lock(&lock) != 0) quit(3); }}
static void give_back(void) {{ if (pthread_mutex_unlock(&lock) != 0) quit(4); }}
static void set_low(int to) {{ take(); low = to; give_back(); }}
static void set_high(int to) {{ take(); high = to; give_back(); }}
static int get_low(void) {{ take(); int it = low; give_back(); return it; }}
static int get_high(void) {{ take(); int it = high; give_back(); return it; }}
static void *watch(void *argument) {{ width = get_high() - get_low(); return argument; }}
{before}
int main(void)
{{
    pthread_t thread;
    pthread_create(&thread, NULL, watch, NULL);
    for (;;) {{ {main} }}
}}
"
    )
}

#[test]
fn what_only_ends_the_program_is_no_part_of_a_block() {
    let torn = watched("take(); low = 1; high = 2; give_back();", "");
    let apart = watched("take(); high = 2; if (width > 5) quit(5); give_back(); set_low(1);", "");
    let sources = Sources::new().with("torn.c", &torn).with("apart.c", &apart);
    assert_eq!(sources.found(&["torn.c"]), expected(&[("strong", "view", "watch")]));
    assert_eq!(sources.found(&["apart.c"]), []);
}

#[test]
fn a_thread_that_ends_does_not_end_the_program() {
    let set_both = "static void *set_both(void *it) { take(); low = 1; high = 2; give_back(); pthread_exit(it); }";
    let text = watched("pthread_create(&thread, NULL, set_both, NULL);", set_both);
    let sources = Sources::new().with("range.c", &text);
    assert_eq!(sources.found(&["range.c"]), expected(&[("strong", "view", "watch")]));
}

#[test]
fn what_a_program_does_before_it_ends_counts() {
    let set_both = "static void leave(void) __attribute__((noreturn));
static void leave(void) { pthread_exit(NULL); }
static void *set_both(void *it) { take(); low = 1; high = 2; give_back(); DONE }";
    for (done, main) in [
        ("return it;", "exit(0);"),
        ("if (low > 5) return it; leave();", "exit(0);"),
        ("if (low > 5) return it; exit(0);", "return 0;"),
    ] {
        let text = watched(
            &format!(
                "if (width > 3) return 1; pthread_create(&thread, NULL, set_both, NULL); pthread_join(thread, NULL); {main}"
            ),
            &set_both.replace("DONE", done),
        );
        let sources = Sources::new().with("range.c", &text);
        assert_eq!(sources.found(&["range.c"]), expected(&[("strong", "view", "watch")]), "{done} {main}");
    }
}

#[test]
fn a_lock_that_is_forgotten_on_one_way_is_not_kept() {
    let add = "
static int add(int size)
{
    take();
    char *space = malloc(size);
    if (!space) return -1;
    high = size;
    free(space);
    give_back();
    return 0;
}
";
    let sources = Sources::new().with("range.c", &watched("if (add(3) != 0) set_low(2); set_low(1);", add));
    assert_eq!(sources.found(&["range.c"]), []);
}

#[test]
fn which_lock_is_meant_is_no_data() {
    let text = "
#include <pthread.h>
#include <stdlib.h>
static THING *thing;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_open, seen;
static void *watch(void *argument)
{
    pthread_mutex_lock(&lock);
    int was_open = is_open;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    if (thing != NULL && USE(thing) == 0 && was_open)
        seen = 1;
    pthread_mutex_unlock(&lock);
    return argument;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, watch, NULL);
    for (;;) {
        pthread_mutex_lock(&lock);
        thing = malloc(sizeof *thing);
        is_open = 1;
        pthread_mutex_unlock(&lock);
    }
}
";
    let with = |thing: &str, lock: &str| text.replace("THING", thing).replace("USE", lock);
    let sources = Sources::new()
        .with("lock.c", &with("pthread_mutex_t", "pthread_mutex_unlock"))
        .with("data.c", &with("int", "*"));
    assert_eq!(sources.found(&["lock.c"]).iter().filter(|(strength, ..)| strength == "strong").count(), 0);
    assert_eq!(sources.found(&["data.c"]), expected(&[("strong", "view", "watch")]));
}

#[test]
fn blocks_without_an_end_are_counted() {
    let getter = "static int get(void) { pthread_mutex_lock(&lock); return value; }\n";
    let setter = "static void set(int to) { value = to; }\n";
    let sources = Sources::new().with("counter.c", &counter(&format!("{getter}{setter}")));
    let ending = sources.lint(&["counter.c"]);
    assert!(ending.stdout.ends_with(", 1 block without an end not looked at\n"), "{ending:?}");
}

#[test]
fn several_programs_in_one_call() {
    let get =
        "static int get(void) { pthread_mutex_lock(&lock); int it = value; pthread_mutex_unlock(&lock); return it; }\n";
    let other = counter(&format!("{get}{PLAIN_SET}")).replace("work", "other_work");
    let sources = Sources::new().with("pair.c", PAIR).with("counter.c", &other);
    let all = expected(&[("strong", "stale_value", "other_work"), ("strong", "view", "measure")]);
    let mut found = sources.found(&["pair.c", "counter.c"]);
    found.sort();
    assert_eq!(found, all);
    let ending = sources.lint(&["pair.c", "counter.c"]);
    assert!(ending.stdout.ends_with(" 5 processes of 2 programs\n"), "{ending:?}");
}

#[test]
fn a_function_that_is_defined_twice_is_told() {
    let sources = Sources::new()
        .with("pair.c", PAIR)
        .with("one.c", "int size(void) { return 1; }\n")
        .with("two.c", "\nint size(void) { return 2; }\n");
    let ending = sources.lint(&["pair.c", "one.c", "two.c"]);
    let text = "'size' is defined in one.c and two.c; only the first is looked at; lint them one by one\n";
    assert!(ending.stderr.ends_with(text) && ending.stderr.lines().count() == 1, "{ending:?}");
}

#[test]
fn a_library_that_starts_its_own_thread() {
    let (head, _) = PAIR.split_once("static void *move").unwrap();
    let text = format!(
        "{head}
pthread_t watcher;
void start(void) {{ pthread_create(&watcher, 0, watch, 0); }}
void set_range(int low, int high)
{{
    pthread_mutex_lock(&lock);
    range.low = low;
    range.high = high;
    pthread_mutex_unlock(&lock);
}}
"
    );
    let sources = Sources::new().with("range.c", &text);
    assert_eq!(sources.found(&["range.c"]), expected(&[("strong", "view", "measure")]));
}

const CALLABLES: &str = "
#include <future>
#include <mutex>
#include <thread>

struct Number {
    std::mutex lock;
    int value = 0;
    int get() { std::lock_guard<std::mutex> hold(lock); return value; }
    void set(int to) { std::lock_guard<std::mutex> hold(lock); value = to; }
};
static Number number;
struct Worker {
    void run() { number.set(number.get() + 1); }
};
static void run() { number.set(number.get() + 1); }

int main()
{
    Worker worker;
#if defined MEMBER
    std::thread one(&Worker::run, &worker), two(&Worker::run, &worker);
    one.join();
    two.join();
#elif defined ASYNC
    auto one = std::async(std::launch::async, run), two = std::async(std::launch::async, run);
#else
    auto run_it = [&] { worker.run(); };
    auto one = std::async(std::launch::async, run_it), two = std::async(std::launch::async, run_it);
#endif
}
";

#[test]
fn members_in_threads_and_tasks() {
    let sources = Sources::new().with("callables.cpp", CALLABLES);
    let found = |define: &str| sources.found(&["callables.cpp", "--", "-std=c++17", define]);
    assert_eq!(found("-DMEMBER"), expected(&[("strong", "stale_value", "Worker::run")]));
    assert_eq!(found("-DASYNC"), expected(&[("strong", "stale_value", "run")]));
    assert_eq!(found("-DLAMBDA"), expected(&[("strong", "stale_value", "Worker::run")]));
}

#[test]
fn threads_without_atomic_blocks_are_told() {
    let text = counter("static int get(void) { return value; }\nstatic void set(int to) { value = to; }\n");
    let ending = Sources::new().with("counter.c", &text).lint(&["counter.c"]);
    assert!(ending.stderr.contains("threads are started, but no atomic block was found"), "{ending:?}");
}

#[test]
fn a_directory_with_a_list_of_compilations() {
    let sources = Sources::new().with("pair.c", PAIR);
    let list = serde_json::json!([{"directory": sources.0.path(), "file": "pair.c", "command": "cc -c pair.c"}]);
    std::fs::write(sources.path("compile_commands.json"), list.to_string()).unwrap();
    assert_eq!(sources.found(&["."]), expected(&[("strong", "view", "measure")]));
    std::fs::write(sources.path("compile_commands.json"), "[]").unwrap();
    let mut command = avmon(&["lint", "."]);
    refuses(command.current_dir(sources.0.path()), 2, &["compile_commands.json: no compilation is listed"]);
}

#[test]
fn ir_without_debug_information_is_told_once() {
    let sources = Sources::new().with("pair.c", PAIR).with("more.c", "int more(void) { return 1; }\n");
    for name in ["pair", "more"] {
        let mut clang = std::process::Command::new("clang");
        clang.args(["-O0", "-S", "-emit-llvm", &format!("{name}.c")]).current_dir(sources.0.path());
        assert!(clang.status().unwrap().success());
    }
    let ending = sources.lint(&["pair.ll", "more.ll"]);
    assert_eq!(ending.stderr.matches("the IR of pair.c and 1 more has no debug information").count(), 1, "{ending:?}");
    assert_eq!(ending.code, Some(66));
}

#[test]
fn ir_that_does_not_say_its_source_has_the_name_of_its_file() {
    let text = "define void @f() {\n  ret void\ndead:\n  %p = getelementptr i8, ptr %p, i64 1\n  \
        %v = load i32, ptr %p\n  store i32 %v, ptr %p\n  br label %dead\n}\n";
    let ending = Sources::new().with("self.ll", text).lint(&["self.ll"]);
    assert!(ending.stderr.contains("the IR of self.ll has no debug information"), "{ending:?}");
}

#[test]
fn the_exit_code_is_what_is_asked_for() {
    let sources = Sources::new().with("pair.c", PAIR);
    assert_eq!(sources.lint(&["pair.c", "--exitcode", "3"]).code, Some(3));
    assert_eq!(sources.lint(&["pair.c", "--exitcode", "0"]).code, Some(0));
    assert_eq!(sources.lint(&["pair.c", "--exitcode", "3", "--", "-DRIGHT"]).code, Some(0));
}

/// What hangs at them is changed by functions whose code is in the library.
#[test]
fn containers_of_the_library() {
    let text = "
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <thread>

static std::mutex lock;
static CONTAINER all;
static int lowest;
static int first() { std::lock_guard<std::mutex> hold(lock); return FIRST; }
static void note(int it) { std::lock_guard<std::mutex> hold(lock); lowest = it; }
static void watch() { note(first()); }
static void look() { for (int i = 0; i < 9; i++) watch(); }
static void change() { std::lock_guard<std::mutex> hold(lock); CHANGE; }
int main() { std::thread one(look), two(change); one.join(); two.join(); return lowest; }
";
    let sources = Sources::new().with("container.cpp", text);
    let found = |container: &str, first: &str, change: &str| {
        let flags = [format!("-DCONTAINER={container}"), format!("-DFIRST={first}"), format!("-DCHANGE={change}")];
        sources.found(&["container.cpp", "--", &flags[0], &flags[1], &flags[2]])
    };
    let torn = expected(&[("strong", "stale_value", "watch")]);
    assert_eq!(found("std::list<int>", "all.front()", "all.pop_front()"), torn);
    assert_eq!(found("std::set<int>", "*all.begin()", "all.erase(all.begin())"), torn);
    assert_eq!(found("std::set<int>", "*all.begin()", "lowest = 0"), []);
}

/// How many findings there are if `main` does this, with `move` in threads.
fn found_in_main(before: &str, main: &str) -> usize {
    let (head, _) = PAIR.split_once("static void *watch").unwrap();
    let move_it = PAIR.split_once("static void *move").unwrap().1.split_once("int main").unwrap().0;
    let text = format!("{head}static void *move{move_it}{before}\nint main(void)\n{{\n{main}\n}}\n");
    Sources::new().with("pair.c", &text).found(&["pair.c"]).len()
}

#[test]
fn what_main_does_after_the_joins_is_done_alone() {
    let found = |main: &[&str]| found_in_main("", &main.join("\n"));
    let loops = "pthread_t all[2]; for (int i = 0; i < 2; i++) pthread_create(&all[i], 0, move, 0);";
    let join_loop = "for (int i = 0; i < 2; i++) pthread_join(all[i], 0);";
    let two = "pthread_t one, two; pthread_create(&one, 0, move, 0); pthread_create(&two, 0, move, 0);";
    let join_two = "pthread_join(one, 0); pthread_join(two, 0);";
    assert_eq!(found(&[loops, join_loop, "return measure();"]), 0);
    assert_eq!(found(&[two, join_two, "return measure();"]), 0);
    assert_eq!(found(&["int it = measure();", two, join_two, "return it;"]), 0, "nobody is there yet");
    assert_eq!(found(&["for (;;) {", loops, join_loop, "measure(); }"]), 0, "in each turn");
    assert_eq!(found(&[loops, "int it = measure();", join_loop, "return it;"]), 1);
    assert_eq!(found(&[two, "pthread_join(one, 0); return measure();"]), 1, "the other one runs");
    assert_eq!(found(&[two, "if (width) pthread_join(one, 0); pthread_join(two, 0); return measure();"]), 1);
    assert_eq!(found(&[loops, "pthread_join(all[0], 0); return measure();"]), 1, "one of several");
    let again = "pthread_create(&one, 0, move, 0); return measure();";
    assert_eq!(found(&[two, join_two, again]), 1, "a new one runs");
    let forgotten =
        "pthread_t one; for (int i = 0; i < 2; i++) pthread_create(&one, 0, move, 0); pthread_join(one, 0);";
    assert_eq!(found(&[forgotten, "return measure();"]), 1, "only the last one is joined");
}

#[test]
fn joins_and_starts_in_functions() {
    let helpers = "
static pthread_t global[2];
static void start_all(void) { for (int i = 0; i < 2; i++) pthread_create(&global[i], 0, move, 0); }
static void join_all(void) { for (int i = 0; i < 2; i++) pthread_join(global[i], 0); }
static void join_these(pthread_t *them, int count) { for (int i = 0; i < count; i++) pthread_join(them[i], 0); }
static void join_it(pthread_t it) { pthread_join(it, 0); }
static void start_it(pthread_t *it, void *(*routine)(void *)) { pthread_create(it, 0, routine, 0); }
static void *nothing(void *argument) { return argument; }
static void *parent(void *argument) { start_all(); return argument; }
static int finish(void) { join_all(); return measure(); }
";
    let found = |main: &str| found_in_main(helpers, main);
    assert_eq!(found("measure(); start_all(); join_all(); return measure();"), 0);
    assert_eq!(found("start_all(); return finish();"), 0);
    assert_eq!(found("start_all(); if (width) join_all(); return measure();"), 1);
    let own = "pthread_t one[2], two[2]; for (int i = 0; i < 2; i++) {
        pthread_create(&one[i], 0, move, 0); pthread_create(&two[i], 0, move, 0); }";
    assert_eq!(found(&format!("{own} join_these(one, 2); join_these(two, 2); return measure();")), 0);
    assert_eq!(found(&format!("{own} join_these(one, 2); return measure();")), 1);
    let single = "pthread_t one, two; start_it(&one, move); start_it(&two, nothing);";
    assert_eq!(found(&format!("{single} join_it(one); join_it(two); return measure();")), 0);
    assert_eq!(found(&format!("{single} join_it(two); join_it(two); return measure();")), 1);
    let family = "pthread_t it; pthread_create(&it, 0, parent, 0); pthread_join(it, 0); return measure();";
    assert_eq!(found(family), 1, "the thread left others behind");
}

#[test]
fn joins_in_cpp() {
    let text = "
#include <mutex>
#include <thread>
#include <vector>
struct Range {
    std::mutex lock;
    int low = 0, high = 0;
    int get_low() { std::lock_guard<std::mutex> hold(lock); return low; }
    int get_high() { std::lock_guard<std::mutex> hold(lock); return high; }
    void move() { std::lock_guard<std::mutex> hold(lock); low++; high++; }
    int measure() { return get_high() - get_low(); }
};
static Range range;
static void work() { range.move(); }
int main()
{
#if defined TWO
    std::thread one(work), two(work);
    one.join();
    two.join();
#elif defined ONE_OF_TWO
    std::thread one(work), two(work);
    one.join();
    two.detach();
#elif defined VECTOR
    std::vector<std::thread> all;
    for (int i = 0; i < 2; i++)
        all.emplace_back(work);
    for (std::thread &it : all)
        it.join();
#else
    std::vector<std::thread> all;
    for (int i = 0; i < 2; i++)
        all.push_back(std::thread(work));
    for (std::thread &it : all)
        it.join();
#endif
    return range.measure();
}
";
    let sources = Sources::new().with("range.cpp", text);
    let found = |define: &str| sources.found(&["range.cpp", "--", "-std=c++17", define]).len();
    assert_eq!(found("-DTWO"), 0);
    assert_eq!(found("-DONE_OF_TWO"), 1);
    assert_eq!(found("-DVECTOR"), 0);
    assert_eq!(found("-DMOVED"), 0);
}

#[test]
fn what_a_function_starts_for_others_is_told_apart() {
    let get =
        "static int get(void) { pthread_mutex_lock(&lock); int it = value; pthread_mutex_unlock(&lock); return it; }";
    let program = |starts: &str| {
        format!(
            "#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; static int value;
{get}
{PLAIN_SET}
static void *work(void *argument) {{ set(get() + 1); return argument; }}
static void *look(void *argument) {{ get(); return argument; }}
static void start(pthread_t *thread, void *(*routine)(void *)) {{ pthread_create(thread, 0, routine, 0); }}
int main(void) {{ pthread_t one, two; {starts} pthread_join(one, 0); pthread_join(two, 0); }}
"
        )
    };
    let found = |starts: &str| Sources::new().with("start.c", &program(starts)).found(&["start.c"]);
    assert_eq!(found("start(&one, work); start(&two, look);"), [], "one thread alone writes");
    assert_eq!(found("start(&one, work); start(&two, work);"), expected(&[("strong", "stale_value", "work")]));
}

const ACCOUNTS: &str = "
#include <pthread.h>
struct account { pthread_mutex_t lock; long balance; };
static struct account a = {PTHREAD_MUTEX_INITIALIZER, 1}, b = {PTHREAD_MUTEX_INITIALIZER, 1};
static long sum;
static long get(struct account *it)
{
    pthread_mutex_lock(&it->lock);
    long balance = it->balance;
    pthread_mutex_unlock(&it->lock);
    return balance;
}
static void add(struct account *it, long amount)
{
    pthread_mutex_lock(&it->lock);
    it->balance += amount;
    pthread_mutex_unlock(&it->lock);
}
static void both(long from, long to)
{
    pthread_mutex_lock(&a.lock);
    pthread_mutex_lock(&b.lock);
    if (to) { a.balance -= to; b.balance += to; }
    if (from) sum = a.balance + b.balance;
    pthread_mutex_unlock(&b.lock);
    pthread_mutex_unlock(&a.lock);
}
static void total(void) { TOTAL; }
static void transfer(void) { TRANSFER; }
static void *count(void *argument) { total(); return argument; }
static void *move(void *argument) { transfer(); return argument; }
int main(void)
{
    pthread_t one, two;
    pthread_create(&one, 0, count, 0);
    pthread_create(&two, 0, move, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    return 0;
}
";

/// One function that locks, called for two objects, is two blocks.
#[test]
fn calls_of_one_function_for_two_objects() {
    let sources = Sources::new().with("accounts.c", ACCOUNTS);
    let found = |total: &str, transfer: &str| {
        let defines = [format!("-DTOTAL={total}"), format!("-DTRANSFER={transfer}")];
        sources.found(&["accounts.c", "--", &defines[0], &defines[1]])
    };
    assert_eq!(found("sum = get(&a) + get(&b)", "both(0, 1)"), expected(&[("strong", "view", "total")]));
    assert_eq!(found("both(1, 0)", "add(&a, -1); add(&b, 1)"), expected(&[("strong", "view", "transfer")]));
    assert_eq!(found("both(1, 0)", "both(0, 1)"), []);
    assert_eq!(found("sum = get(&a) + get(&a)", "both(0, 1)"), [], "one object twice");
    assert_eq!(found("add(&a, get(&a))", "add(&b, 1)"), [], "nobody else writes that one");
    assert_eq!(found("add(&a, get(&a))", "add(&a, 1)"), expected(&[("strong", "stale_value", "total")]));
}

/// A value that goes from one object to another, both under locks of their own, is not written back to where it came from.
#[test]
fn one_function_that_writes_to_two_objects_writes_to_the_one_it_is_given() {
    let sources = Sources::new().with(
        "move.c",
        "#include <pthread.h>
struct account { pthread_mutex_t lock; long balance; };
static struct account a = {PTHREAD_MUTEX_INITIALIZER, 1}, b = {PTHREAD_MUTEX_INITIALIZER, 1};
static long get(struct account *it) { pthread_mutex_lock(&it->lock); long now = it->balance; pthread_mutex_unlock(&it->lock); return now; }
static void set(struct account *it, long to) { pthread_mutex_lock(&it->lock); it->balance = to; pthread_mutex_unlock(&it->lock); }
static void copy(void) { set(&b, get(&a)); }
static void *one(void *argument) { copy(); return argument; }
static void *two(void *argument) { set(&a, 5); set(&b, 6); return argument; }
int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, one, 0);
    pthread_create(&threads[1], 0, two, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
",
    );
    let ending = sources.lint(&["move.c"]);
    assert!(ending.stdout.contains("writes what follows from it to 'b.balance'"), "{ending:?}");
    let quiet = sources.lint(&["move.c", "--report=0", "--summary=0"]);
    assert_eq!(quiet.stdout, "", "{quiet:?}");
}

#[test]
fn a_version_that_is_compared_protects_a_value() {
    let program = |check: &str, other: &str| {
        format!(
            "#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; static int value, version;
static int update(void)
{{
    pthread_mutex_lock(&lock);
    int old = value, seen = version;
    pthread_mutex_unlock(&lock);
    int made = old * 2;
    int is_done = 0;
    pthread_mutex_lock(&lock);
    if ({check}) {{ value = made; version++; is_done = 1; }}
    pthread_mutex_unlock(&lock);
    return is_done;
}}
static void *work(void *argument) {{ while (!update()) ; return argument; }}
static void *reset(void *argument)
{{
    pthread_mutex_lock(&lock);
    value = 0;
    {other}
    pthread_mutex_unlock(&lock);
    return argument;
}}
int main(void)
{{
    pthread_t one, two;
    pthread_create(&one, 0, work, 0);
    pthread_create(&two, 0, reset, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
}}
"
        )
    };
    let found = |check: &str, other: &str| {
        let found = Sources::new().with("version.c", &program(check, other)).found(&["version.c"]);
        found.into_iter().filter(|(strength, ..)| strength == "strong").count()
    };
    assert_eq!(found("version == seen", "version++;"), 0);
    let endless = program("version == seen", "version++;")
        .replace("{ while (!update()) ; return argument; }", "{ update(); return argument; }")
        .replace("static int update(void)\n{", "static int update(void)\n{\n    for (;;) {")
        .replace("is_done = 1; }", "pthread_mutex_unlock(&lock); return 1; }")
        .replace("    return is_done;\n", "    }\n");
    assert!(endless.contains("for (;;)") && endless.contains("return 1;") && !endless.contains("return is_done"));
    assert_eq!(Sources::new().with("version.c", &endless).found(&["version.c"]), [], "tried until it is done");
    let kept = program("is_same", "version++;")
        .replace("    if (is_same)", "    int is_same = version == seen;\n    if (is_same)");
    assert!(kept.contains("int is_same"));
    assert_eq!(
        Sources::new().with("version.c", &kept).found(&["version.c"]),
        [],
        "what is compared is kept in a variable"
    );
    assert_ne!(found("version == seen", ""), 0, "one writer leaves the version as it is");
    assert_ne!(found("version > 0", "version++;"), 0, "it is not compared with what was seen");
    assert_ne!(found("seen > 0", "version++;"), 0, "it is not looked at again");
}

#[test]
fn locks_under_one_condition() {
    let lock_if = "if (threaded) pthread_mutex_lock(&lock);";
    let unlock_if = "if (threaded) pthread_mutex_unlock(&lock);";
    let get = format!("static int get(void) {{ {lock_if} int it = value; {unlock_if} return it; }}");
    let set = format!("static void set(int to) {{ {lock_if} value = to; {unlock_if} }}");
    let text = counter(&format!("int threaded = 1;\n{get}\n{set}\n"));
    let sources = Sources::new().with("counter.c", &text);
    assert_eq!(sources.found(&["counter.c"]), expected(&[("strong", "stale_value", "work")]));
    // All of it is one block.
    let both = format!(
        "int threaded = 1;
static int get(void) {{ return 0; }}
static void set(int to) {{ {lock_if} int it = value; if (it < 9) value = it + to; {unlock_if} }}
"
    );
    let sources = Sources::new().with("counter.c", &counter(&both));
    assert_eq!(sources.found(&["counter.c"]), []);
}

#[test]
fn locks_that_are_too_many_to_follow_are_counted() {
    let takes = "pthread_mutex_lock(&lock); ".repeat(7);
    let gives = "pthread_mutex_unlock(&lock); ".repeat(7);
    let set =
        format!("static void set(int to) {{ {takes} value = to; {gives} }}\nstatic int get(void) {{ return 0; }}\n");
    let ending = Sources::new().with("counter.c", &counter(&set)).lint(&["counter.c"]);
    assert!(ending.stdout.ends_with(", 1 function with more locks than are followed\n"), "{ending:?}");
    assert_eq!(ending.stderr, "", "{ending:?}");
    let more: Vec<String> =
        (0..9).map(|it| format!("void f{it}(void) {{ {takes} value = {it}; {gives} }}\n")).collect();
    let ending = Sources::new().with("counter.c", &counter(&(more.concat() + &set))).lint(&["counter.c"]);
    assert!(ending.stderr.contains("does not mean that little is wrong"), "{ending:?}");
}

/// Two threads that do this, and one that changes `stop` and `level` together.
fn polled(work: &str) -> String {
    format!(
        "#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int stop, level;
static int stopped(void) {{ pthread_mutex_lock(&lock); int it = stop; pthread_mutex_unlock(&lock); return it; }}
static int get_level(void) {{ pthread_mutex_lock(&lock); int it = level; pthread_mutex_unlock(&lock); return it; }}
static void set(int to, int by) {{ pthread_mutex_lock(&lock); stop = to; level = by; pthread_mutex_unlock(&lock); }}
{work}
int main(void)
{{
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    for (int i = 0; i < 10; i++) set(i == 9, i);
    pthread_join(thread, 0);
    return 0;
}}
"
    )
}

#[test]
fn what_is_only_read_if_another_value_says_so_is_not_made_from_both() {
    let strong = |work: &str| {
        let found = Sources::new().with("polled.c", &polled(work)).found(&["polled.c"]);
        found.into_iter().filter(|it| it.0 == "strong").count()
    };
    let work = |body: &str| format!("static void *work(void *argument) {{ {body} return argument; }}");
    assert_eq!(strong(&work("while (!stopped()) if (get_level() > 2) puts(\"work\");")), 0);
    // What decides about the next turn has nothing to do with this one.
    let turns = "int n = 0; for (;;) { if (stopped()) break; n++; if (get_level() > 8) break; } printf(\"%d\", n);";
    assert_eq!(strong(&work(turns)), 0);
    // By way of another function it is no other matter.
    let step = "static int step(void) { if (stopped()) return 0; if (get_level() > 2) puts(\"work\"); return 1; }\n";
    assert_eq!(strong(&format!("{step}{}", work("while (step()) ;"))), 0);
    // But here something is made from both.
    assert_eq!(strong(&work("int it = 0; if (!stopped()) it = get_level(); printf(\"%d\", stopped() + it);")), 1);
    assert_eq!(strong(&work("int one = stopped(), other = get_level(); if (one) printf(\"%d\", other);")), 1);
}

#[test]
fn a_flag_that_is_only_ever_set_loses_nothing() {
    let flag = |to: &str| {
        format!(
            "static int get(void) {{ pthread_mutex_lock(&lock); int it = value; pthread_mutex_unlock(&lock); return it; }}
static void raise(void) {{ pthread_mutex_lock(&lock); value = {to}; pthread_mutex_unlock(&lock); }}
static void lower(void) {{ pthread_mutex_lock(&lock); value = 1; pthread_mutex_unlock(&lock); }}
static void set(int to) {{ if (to == 3) lower(); else if (!get()) raise(); }}
"
        )
    };
    let found = |to| Sources::new().with("flag.c", &counter(&flag(to))).found(&["flag.c"]);
    assert_eq!(found("1"), []);
    assert!(found("2").iter().any(|it| it.0 == "strong"));
}

#[test]
fn what_is_cleaned_up_when_a_lock_fails_is_no_work() {
    let text = "
#include <stdlib.h>
static pthread_mutex_t last = PTHREAD_MUTEX_INITIALIZER;
static int cleaned, result;
static void quit(void) { pthread_mutex_lock(&last); if (!cleaned) cleaned = 1; UNLOCK exit(1); }
static void take(void) { if (pthread_mutex_lock(&lock)) quit(); }
static void give_back(void) { int failed = pthread_mutex_unlock(&lock); if (failed != 0) quit(); }
static int get(void) { take(); int it = value; value = it + 1; give_back(); return 0; }
static int look(void) { take(); int it = value; give_back(); return it; }
static void set(int to)
{
    if (look() > to) { take(); give_back(); }
    LAST
}
";
    let found = |unlock: &str, last: &str| {
        let text = text.replace("UNLOCK", unlock).replace("LAST", last);
        Sources::new().with("check.c", &counter(&text)).found(&["check.c"])
    };
    let unlock = "pthread_mutex_unlock(&last);";
    assert_eq!(found(unlock, ""), []);
    // What is done where nothing has failed counts.
    assert_eq!(found(unlock, "if (look() > 9) quit();"), expected(&[("unrelated", "stale_value", "set")]));
}

#[test]
fn a_value_that_is_given_by_its_address() {
    let get =
        "static int get(void) { pthread_mutex_lock(&lock); int it = value; pthread_mutex_unlock(&lock); return it; }\n";
    let put =
        "static void put(const int *to) { pthread_mutex_lock(&lock); value = *to; pthread_mutex_unlock(&lock); }\n";
    for set in [
        "static void set(int to) { put(&to); }",
        // Through a function that only hands it on, and one that gives it back.
        "static void hand(const int *to) { put(to); } static void set(int to) { int it = to + 1; hand(&it); }",
        "static int same(const int *it) { return *it; } static void set(int to) { int it = same(&to); put(&it); }",
    ] {
        let sources = Sources::new().with("counter.c", &counter(&format!("{get}{put}{set}\n")));
        assert_eq!(sources.found(&["counter.c"]), expected(&[("strong", "stale_value", "work")]), "{set}");
    }
    // What is overwritten before is not given.
    let set = "static void set(int to) { to = 3; put(&to); }";
    let sources = Sources::new().with("counter.c", &counter(&format!("{get}{put}{set}\n")));
    assert_eq!(sources.found(&["counter.c"]), []);
}

#[test]
fn a_value_in_a_struct_that_is_given_by_its_address() {
    let text = "
static struct { int left; } quota;
struct request { int id, left; };
static void look(struct request *it) { pthread_mutex_lock(&lock); it->left = quota.left; pthread_mutex_unlock(&lock); }
static void take(const struct request *it, int by)
{
    if (it->left < by) return;
    pthread_mutex_lock(&lock);
    quota.left -= by;
    pthread_mutex_unlock(&lock);
}
static int get(void) { return 3; }
static void set(int to) { struct request it; look(&it); take(&it, to); }
";
    let sources = Sources::new().with("quota.c", &counter(text));
    assert_eq!(sources.found(&["quota.c"]), expected(&[("strong", "stale_value", "set")]));
}

#[test]
fn a_lock_that_is_given_back_on_one_way_only() {
    let head = "static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; static int ready, next, last;
static int get(void) { pthread_mutex_lock(&lock); ready = 1; pthread_mutex_unlock(&lock); return 0; }\n";
    let found = |set: &str| {
        let text = counter(&format!("{head}static void set(int to) {{ {set} }}\n"));
        Sources::new().with("counter.c", &text).found(&["counter.c"])
    };
    let lost = expected(&[("strong", "stale_value", "set")]);
    let wait = "while (!ready) pthread_cond_wait(&changed, &lock);";
    assert_eq!(
        found(&format!(
            "pthread_mutex_lock(&lock); int it = value; {wait} value = it + to; pthread_mutex_unlock(&lock);"
        )),
        lost
    );
    let again = "if (it == 8) { pthread_mutex_unlock(&lock); pthread_mutex_lock(&lock); }";
    assert_eq!(
        found(&format!(
            "pthread_mutex_lock(&lock); int it = value; {again} value = it + to; pthread_mutex_unlock(&lock);"
        )),
        lost
    );
    // What is read behind it is as new as the block.
    let strong = |set: &str| found(set).iter().filter(|it| it.0 == "strong").count();
    assert_eq!(
        strong(&format!(
            "pthread_mutex_lock(&lock); {wait} value = value + to; next = last; last = value; pthread_mutex_unlock(&lock);"
        )),
        0
    );
    let queue = "while (value == 0) pthread_cond_wait(&changed, &lock);";
    assert_eq!(
        strong(&format!(
            "pthread_mutex_lock(&lock); {queue} value--; next = (next + 1) % 8; pthread_mutex_unlock(&lock);"
        )),
        0
    );
}

#[test]
fn how_often_something_was_found_is_not_what_it_was_looked_for() {
    let find = |count: &str| {
        format!(
            "static int hits, misses;
static int find(void) {{ pthread_mutex_lock(&lock); int it = value; {count} pthread_mutex_unlock(&lock); return it; }}
static void put(int to) {{ pthread_mutex_lock(&lock); value = to; pthread_mutex_unlock(&lock); }}
static int get(void) {{ return 3; }}
static void set(int to) {{ if (!find()) put(to); }}
"
        )
    };
    let found = |count| Sources::new().with("cache.c", &counter(&find(count))).found(&["cache.c"]);
    assert_eq!(found("if (it) hits++; else misses++;"), expected(&[("strong", "stale_value", "set")]));
    // Here the place is taken.
    assert_eq!(found("if (!it) value = 9;"), []);
}

#[test]
fn who_looks_again_but_not_at_what_was_has_lost_it() {
    let get =
        "static int get(void) { pthread_mutex_lock(&lock); int it = value; pthread_mutex_unlock(&lock); return it; }\n";
    let set = |how: &str| {
        format!("{get}static void set(int to) {{ pthread_mutex_lock(&lock); {how} pthread_mutex_unlock(&lock); }}\n")
    };
    let found = |how| Sources::new().with("counter.c", &counter(&set(how))).found(&["counter.c"]);
    assert_eq!(found("if (value < 1000) value = to;"), expected(&[("strong", "stale_value", "work")]));
    assert_eq!(found("if (value == to - 1) value = to;"), []);
    assert_eq!(found("if (to > value) value = to;"), []);
}

/// In another function an outer lock is taken around the second block alone: it is that one that looks again.
#[test]
fn a_section_in_one_that_looks_again_is_no_block_of_its_own() {
    let text = "
#include <pthread.h>
static pthread_mutex_t big = PTHREAD_MUTEX_INITIALIZER, page = PTHREAD_MUTEX_INITIALIZER, stats = PTHREAD_MUTEX_INITIALIZER;
static int version, used;
static int check(int of) { pthread_mutex_lock(&page); int it = version == of; pthread_mutex_unlock(&page); return it; }
static void drop(int of)
{
    pthread_mutex_lock(&page);
    if (version == of) { pthread_mutex_lock(&stats); used -= 1; pthread_mutex_unlock(&stats); }
    pthread_mutex_unlock(&page);
}
static void evaluate(int of) { pthread_mutex_lock(&big); if (check(of)) drop(of); pthread_mutex_unlock(&big); }
static void *crawl(void *argument) { for (int i = 0; i < 9; i++) evaluate(i); return argument; }
static void *work(void *argument) { drop(3); return argument; }
static void *renew(void *argument) { pthread_mutex_lock(&page); version++; pthread_mutex_unlock(&page); return argument; }
int main(void)
{
    pthread_t threads[3];
    pthread_create(&threads[0], 0, crawl, 0);
    pthread_create(&threads[1], 0, work, 0);
    pthread_create(&threads[2], 0, renew, 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    return used;
}
";
    let sources = Sources::new().with("nested.c", text);
    assert_eq!(sources.found(&["nested.c"]), []);
}

#[test]
fn bit_fields_of_one_word_may_have_nothing_to_do_with_each_other() {
    let text = "
static struct { unsigned mode : 3, level : 5; } both;
static int get(void) { pthread_mutex_lock(&lock); int it = both.mode; pthread_mutex_unlock(&lock); return it; }
static void set(int to) { pthread_mutex_lock(&lock); both.mode = to; pthread_mutex_unlock(&lock); }
";
    let sources = Sources::new().with("bits.c", &counter(text));
    assert_eq!(sources.found(&["bits.c"]), expected(&[("unrelated", "stale_value", "work")]));
}

#[test]
fn options_that_need_a_run_are_none_of_lint() {
    let help = end(&mut avmon(&["lint", "--help"])).stdout;
    for option in ["--show-weak", "--paper", "--suppressions", "--specification", "--exitcode"] {
        assert!(help.contains(option), "{option}: {help}");
    }
    for option in ["--buffer-mb", "--follow-fork", "--trace-path", "--halt-on-error", "--symbolize"] {
        assert!(!help.contains(option), "{option}: {help}");
    }
    refuses(&mut avmon(&["lint", "--follow-fork", "app.c"]), 2, &["--follow-fork"]);
}

/// A range that one thread changes and another one measures; the text is the members of its class that do so.
fn guarded_range(members: &str) -> String {
    format!(
        "
#include <mutex>
#include <thread>
struct Range {{
    std::mutex lock;
    int low = 0, high = 0;
    {members}
}};
static Range range;
static void change() {{ for (int i = 0; i < 5; i++) range.shift(1); }}
static void watch() {{ for (int i = 0; i < 5; i++) if (range.width() != 0) __builtin_trap(); }}
int main()
{{
    std::thread one(change), two(watch);
    one.join();
    two.join();
}}
"
    )
}

/// What is done again under a guard that has given its lock back is done under the lock that the guard was made for.
#[test]
fn a_guard_that_takes_its_lock_again() {
    let whole_shift = "void shift(int by) { std::lock_guard<std::mutex> hold(lock); low += by; high += by; }";
    let whole_width = "int width() { std::lock_guard<std::mutex> hold(lock); return high - low; }";
    let split_shift = "void shift(int by) { std::unique_lock<std::mutex> hold(lock); low += by; hold.unlock(); hold.lock(); high += by; }";
    let split_width = "int width() { std::unique_lock<std::mutex> hold(lock); int from = low; hold.unlock(); hold.lock(); return high - from; }";
    let other_lock = "std::mutex other; int width() { std::unique_lock<std::mutex> hold(other); int from = low; hold.unlock(); hold.lock(); return high - from; }";
    let found =
        |members: &[&str]| Sources::new().with("range.cpp", &guarded_range(&members.join("\n"))).found(&["range.cpp"]);
    assert_eq!(found(&[whole_shift, split_width]), expected(&[("strong", "view", "Range::width")]));
    assert_eq!(found(&[split_shift, whole_width]), expected(&[("strong", "view", "Range::shift")]));
    assert_eq!(found(&[whole_shift, whole_width]), []);
    assert_eq!(found(&[whole_shift, other_lock]), [], "no lock guards both");
}

fn of_two_halves(work: &str) -> String {
    format!(
        "
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static struct {{ int fast, slow; }} s;
static int shown;
static int fast(void) {{ pthread_mutex_lock(&m); int it = s.fast; pthread_mutex_unlock(&m); return it; }}
static int slow(void) {{ pthread_mutex_lock(&m); int it = s.slow; pthread_mutex_unlock(&m); return it; }}
static void set_fast(int to) {{ pthread_mutex_lock(&m); s.fast = to; pthread_mutex_unlock(&m); }}
static void set_slow(int to) {{ pthread_mutex_lock(&m); s.slow = to; pthread_mutex_unlock(&m); }}
static int difference(void) {{ pthread_mutex_lock(&m); int it = s.fast - s.slow; pthread_mutex_unlock(&m); return it; }}
static void set_both(int to) {{ pthread_mutex_lock(&m); s.fast = to; s.slow = to; pthread_mutex_unlock(&m); }}
{work}
static void *one(void *x) {{ for (int i = 0; i < 9; i++) work(i & 1); return x; }}
static void *other(void *x) {{ for (int i = 0; i < 9; i++) {{ set_both(i); shown = difference(); }} return x; }}
int main(void)
{{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, one, 0);
    pthread_create(&threads[1], 0, other, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return shown;
}}
"
    )
}

#[test]
fn two_branches_do_not_follow_each_other() {
    let found = |work: &str| Sources::new().with("halves.c", &of_two_halves(work)).found(&["halves.c"]);
    let view = |strength: &str, function: &str| expected(&[(strength, "view", function)]);
    assert_eq!(found("static void work(int it) { int v; if (it) v = fast(); else v = slow(); shown = v; }"), []);
    assert_eq!(found("static void work(int it) { if (it) set_fast(4); else set_slow(4); }"), []);
    let by_pointer = "static int (*get)(void); static void work(int it) { get = it ? fast : slow; shown = get(); }";
    assert_eq!(found(by_pointer), []);

    let by_function = "static int get(int it) { if (it) return fast(); return slow(); }
        static void work(int it) { shown = get(it) - get(!it); }";
    assert_eq!(found(by_function), view("strong", "work"), "two calls may take one branch each");
    let set_by_function = "static void set(int it) { if (it) set_fast(4); else set_slow(4); }
        static void work(int it) { set(it); set(!it); }";
    assert_eq!(found(set_by_function), view("strong", "work"));
    let in_a_loop =
        "static void work(int it) { for (int i = 0; i < 2; i++) if (i == it) set_fast(4); else set_slow(4); }";
    assert_eq!(found(in_a_loop), view("loop", "work"));
    let after_a_loop = "static void work(int it) { for (int i = 0; i < it; i++) set_fast(4); set_slow(4); }";
    assert_eq!(found(after_a_loop), view("strong", "work"));
}

#[test]
fn who_copies_a_struct_has_made_nothing_of_it() {
    let text = |after: &str| {
        format!(
            "
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static struct counts {{ long in, out; }} s;
static long left;
static void came(void) {{ pthread_mutex_lock(&m); s.in++; pthread_mutex_unlock(&m); }}
static void went(void) {{ pthread_mutex_lock(&m); s.out++; pthread_mutex_unlock(&m); }}
static void handle(void) {{ came(); went(); }}
static void report(void) {{ pthread_mutex_lock(&m); struct counts copy = s; {after} pthread_mutex_unlock(&m); }}
static void *one(void *x) {{ handle(); return x; }}
static void *other(void *x) {{ report(); return x; }}
int main(void)
{{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, one, 0);
    pthread_create(&threads[1], 0, other, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return left;
}}
"
        )
    };
    let found = |after: &str| Sources::new().with("copy.c", &text(after)).found(&["copy.c"]);
    assert_eq!(found("(void)copy;"), []);
    assert_eq!(found("left = copy.in - copy.out;"), expected(&[("strong", "view", "handle")]));
}

/// A struct has the address of its first member, but who copies that reads no other one.
#[test]
fn copies_of_one_member() {
    let text = r#"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
struct name { char text[32]; };
#ifdef PORT_FIRST
static struct { int port; struct name host; } config;
#else
static struct { struct name host; int port; } config;
#endif
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char shown[64];

static void get_host(struct name *to, size_t size)
{
    pthread_mutex_lock(&lock);
    COPY;
    pthread_mutex_unlock(&lock);
}

static int get_port(void)
{
    pthread_mutex_lock(&lock);
    int port = config.port;
    pthread_mutex_unlock(&lock);
    return port;
}

static void *client(void *none)
{
    struct name host;
    get_host(&host, sizeof host);
    int port = get_port();
    snprintf(shown, sizeof shown, "%s:%d", host.text, port);
    return none;
}

static void *admin(void *host)
{
    pthread_mutex_lock(&lock);
    strcpy(config.host.text, host);
    config.port = 1;
    pthread_mutex_unlock(&lock);
    return host;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, client, NULL);
    pthread_create(&threads[1], NULL, admin, "b");
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
"#;
    let sources = Sources::new().with("config.c", text);
    for copy in [
        "*to = config.host",
        "memcpy(to, config.host.text, sizeof *to)",
        "strcpy(to->text, config.host.text)",
        "snprintf(to->text, size, \"%s\", config.host.text)",
    ] {
        for order in ["-DHOST_FIRST", "-DPORT_FIRST"] {
            let copy = format!("-DCOPY={copy}");
            let found = sources.found(&["config.c", "--", &copy, order]);
            assert_eq!(found, expected(&[("strong", "view", "client")]), "{copy} {order}");
        }
    }
    // Who reads all of it at once, reads the port too.
    for whole in ["memcpy(to, &config, sizeof config)", "memcpy(to, &config, size)"] {
        assert_eq!(sources.found(&["config.c", "--", &format!("-DCOPY={whole}")]), [], "{whole}");
    }
}

/// Members of a union are one variable, and no bit-fields.
#[test]
fn members_of_unions_are_told_like_others() {
    let pair = "static struct { int low, high; } range;";
    let union = "static struct { int low; union { int high; float real; }; } range;";
    let bits = "static struct { int before; int low : 4, high : 20; } range;";
    assert!(PAIR.contains(pair));
    let found = |with: &str| Sources::new().with("pair.c", &PAIR.replace(pair, with)).found(&["pair.c"]);
    assert_eq!(found(union), expected(&[("strong", "view", "measure")]));
    assert_eq!(found(bits), []);
    let other_word = "static struct { int low; int high : 20, more : 4; } range;";
    assert_eq!(found(other_word), expected(&[("unrelated", "view", "measure")]));
}

#[test]
fn of_what_follows_from_everything_only_some_is_told() {
    const MANY: usize = 30;
    let each = |text: &dyn Fn(usize) -> String| (0..MANY).map(text).collect::<String>();
    let functions = each(&|it| {
        format!(
            "static int g{it};
            static int get{it}(void) {{ pthread_mutex_lock(&m); int it = g{it}; pthread_mutex_unlock(&m); return it; }}
            static void set{it}(int to) {{ pthread_mutex_lock(&m); g{it} = to; pthread_mutex_unlock(&m); }}\n"
        )
    });
    let gets = each(&|it| format!("sum += get{it}();\n"));
    let sets = each(&|it| format!("set{it}(sum);\n"));
    let text = format!(
        "#include <pthread.h>
        static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        {functions}
        static void work(void) {{ int sum = 0; {gets} {sets} }}
        static void *start(void *x) {{ work(); return x; }}
        int main(void)
        {{
            pthread_t threads[2];
            for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, start, 0);
            return 0;
        }}"
    );
    let sources = Sources::new().with("many.c", &text);
    // Of each variable eight that follow from it, and always that it is lost itself: the first eight are among their own eight.
    assert_eq!(sources.found(&["many.c"]).len(), 8 * MANY + (MANY - 8));
    let ending = sources.lint(&["many.c"]);
    assert!(ending.stdout.ends_with("values not followed to the end\n"), "{ending:?}");
    assert_eq!(sources.found(&["many.c", "--paper"]).len(), MANY * MANY);
}
