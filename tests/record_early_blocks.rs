//! Memory that a program allocates before it has a second thread is known in its recording.

mod cli_support;
mod support;

use cli_support::{Ending, avmon, end, file};
use serde_json::Value;
use std::path::Path;
use support::build::{self, Variant};

const LINES: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
struct pair { long low, high; };
struct pair *shared, *gone;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) void *grow(void *block, size_t size) {
    return realloc(block, size); // GROWN
}
void prepare(void) {
    struct pair *made = calloc(1, sizeof *made); // MADE
    shared = made;
    gone = malloc(sizeof *gone); // GONE
    free(gone);
    char *text = malloc(3000); // OUTGROWN
    strcpy(grow(text, 300000), "kept");
    void *aligned;
    if (posix_memalign(&aligned, 64, 640)) abort(); // ALIGNED
}
long low(void) { pthread_mutex_lock(&lock); long value = shared->low; pthread_mutex_unlock(&lock); return value; }
void set_low(long value) { pthread_mutex_lock(&lock); shared->low = value; pthread_mutex_unlock(&lock); }
__attribute__((noinline)) void add(void) { long value = low(); set_low(value + 1); }
static void *work(void *unused) { add(); return unused; }
int main(int count, char **arguments) {
    prepare();
    if (count > 1 && fork() != 0) { int status; wait(&status); return status != 0; }
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, arguments);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
"#;

/// More blocks than are remembered.
const MANY: &str = r"
#include <pthread.h>
#include <stdlib.h>
void *volatile kept;
static void *work(void *unused) { return unused; }
int main(void) {
    for (int i = 0; i < 1200000; i++) kept = malloc(8);
    pthread_t thread;
    return pthread_create(&thread, 0, work, 0) || pthread_join(thread, 0);
}
";

struct Home(tempfile::TempDir);

impl Home {
    fn of(source: &str, variant: Variant) -> Home {
        let home = Home(tempfile::tempdir().unwrap());
        let input = file(home.path(), "app.c", source, 0o644);
        build::compile(variant, &input, &home.path().join("app"), &[]).unwrap();
        home
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn avmon(&self, arguments: &[&str]) -> Ending {
        end(avmon(arguments).current_dir(self.path()))
    }

    fn record(&self, arguments: &[&str]) {
        let record = ["record", "--exitcode", "0", "--report=0", "--summary=0", "-o", "run", "--", "./app"];
        let ending = self.avmon(&[&record, arguments].concat());
        assert_eq!(ending.code, Some(0), "{ending:?}");
    }

    /// Places of the program's own allocations by the first thread.
    fn allocated_at(&self) -> Vec<String> {
        let ending = self.avmon(&["dump", "--kind", "allocate", "--thread", "0", "run"]);
        assert_eq!(ending.code, Some(0), "{ending:?}");
        let places = ending.stdout.lines().filter_map(|line| line.split_whitespace().last());
        let mut places: Vec<String> = places.filter(|at| at.starts_with("app.c:")).map(str::to_owned).collect();
        places.sort();
        places
    }
}

fn line_of(mark: &str) -> String {
    let number = LINES.lines().position(|line| line.ends_with(mark)).unwrap() + 1;
    format!("app.c:{number}")
}

#[test]
fn what_is_left_when_the_first_thread_comes_is_told_with_its_place() {
    for variant in Variant::ALL {
        // The second time a child of the program creates the threads.
        for arguments in [&[][..], &["fork"]] {
            let home = Home::of(LINES, variant);
            home.record(arguments);
            let mut expected = ["// GROWN", "// MADE", "// ALIGNED"].map(line_of);
            expected.sort();
            assert_eq!(home.allocated_at(), expected, "{variant:?} {arguments:?}");
        }
    }
}

#[test]
fn its_members_have_names_in_findings() {
    for variant in [Variant::Instrumented, Variant::Clang] {
        let home = Home::of(LINES, variant);
        home.record(&[]);
        let ending = home.avmon(&["predict", "--json", "run"]);
        let findings = ending.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let of_add = findings.filter(|record| record["type"] == "finding" && record["block"]["name"] == "add");
        let names: Vec<Value> = of_add.map(|finding| finding["variables"][0]["name"].clone()).collect();
        assert!(!names.is_empty() && names.iter().all(|name| name == "pair.low"), "{variant:?}: {ending:?}");
    }
}

#[test]
fn what_is_too_much_is_counted() {
    let home = Home::of(MANY, Variant::Plain);
    home.record(&[]);
    let ending = home.avmon(&["info", "--json", "run"]);
    let facts: Value = serde_json::from_str(&ending.stdout).unwrap();
    let lost = facts["early_blocks_lost"].as_u64().unwrap();
    let known = facts["allocations"].as_u64().unwrap();
    assert!(known >= 1 << 20 && lost > 0 && known + lost >= 1_200_000, "{ending:?}");
    assert_eq!(facts["lost"], 0, "no event is missing because of it");
    let ending = home.avmon(&["info", "--quick", "run"]);
    assert!(ending.stdout.contains("of before the first thread were allocated"), "{ending:?}");
}
