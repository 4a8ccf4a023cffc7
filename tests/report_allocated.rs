//! What programs allocate is called by its type, whichever way they allocate it, and by nothing where the type is not certain.

mod cli_support;
mod support;

use cli_support::{Ending, avmon, end, file};
use serde_json::Value;
use std::collections::BTreeMap;
use support::build::{self, Variant};

/// `update` loses an update of each variable that it is called for, in a function named like the case.
const BEGIN: &str = r"
#include <pthread.h>
#include <stdlib.h>
#include <stdint.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define CASE(name, variable) __attribute__((noinline)) void name(void) { \
    pthread_mutex_lock(&lock); long seen = variable; pthread_mutex_unlock(&lock); \
    pthread_mutex_lock(&lock); variable = seen + 1; pthread_mutex_unlock(&lock); }
";

const END: &str = r"
static void *work(void *unused) { update(); return unused; }
static void *preparing(void *unused) { prepare(); return unused; }
int main(void) {
#ifdef BESIDE
    // Only beside other threads the calls that lead to an allocation are recorded.
    pthread_t first;
    pthread_create(&first, 0, preparing, 0);
    pthread_join(first, 0);
#else
    preparing(0);
#endif
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
";

const C: &str = r"
struct node { long id; struct node *next; long count; };
struct list { struct node *head; long length; };
typedef struct { long low, high; } range;
struct node *later, *returned, *several, *resized, *of_size_only, *twice;
struct list *list;
range *ranges;
long *plain;
struct node *grid;
CASE(assigned_later, later->count)
CASE(returned_at_once, returned->count)
CASE(element, several[3].id)
CASE(member_of_member, list->head->count)
CASE(of_a_typedef, ranges[1].high)
CASE(of_a_resized, resized[2].count)
CASE(no_structure, plain[2])
CASE(size_only, of_size_only->count)
CASE(two_types, twice->count)
__attribute__((noinline)) static struct node *new_node(void) {
    return malloc(sizeof(struct node));
}
__attribute__((noinline)) static void *any(size_t size) {
    return malloc(size);
}
void prepare(void) {
    struct node *made;
    int many = 5;
    made = malloc(sizeof *made);
    later = made;
    returned = new_node();
    several = calloc(many, sizeof *several);
    struct list *all = malloc(
        sizeof(struct list));
    all->head = malloc(sizeof *all->head);
    list = all;
    ranges = malloc(3 * sizeof(range));
    resized = realloc(any(24), many * sizeof(resized[0]));
    plain = malloc(4 * sizeof(long));
    of_size_only = any(sizeof(struct node));
    twice = malloc(many ? 2 * sizeof(struct node) : 3 * sizeof(struct list));
}
void update(void) {
    assigned_later(); returned_at_once(); element(); member_of_member(); of_a_typedef(); of_a_resized(); no_structure(); size_only(); two_types();
}
";

const CPP: &str = r"
#include <list>
#include <map>
#include <memory>
#include <vector>
namespace bank {
struct Base { long id; virtual ~Base() {} };
struct Account : Base { long balance; long history[4]; explicit Account(long id = 0) : balance(0) { this->id = id; } };
}
struct Point { long x, y; };
template <typename T> struct Pool { __attribute__((noinline)) T *make() { return new T(); } };
bank::Base *derived;
bank::Account *array;
struct Small { long only; ~Small() {} };
Small *small;
Point *pooled, *quiet, *points_of_new;
std::unique_ptr<bank::Account> unique;
std::shared_ptr<bank::Account> shared;
std::vector<Point> points;
std::list<Point> listed;
std::map<int, Point> mapped;
CASE(of_derived, static_cast<bank::Account *>(derived)->history[2])
CASE(of_array, array[1].balance)
CASE(of_array_without_destructor, points_of_new[2].y)
CASE(of_array_of_what_is_no_larger_than_its_number, small[1].only)
CASE(of_pool, pooled->y)
CASE(of_nothrow, quiet->x)
CASE(of_unique, unique->balance)
CASE(of_shared, shared->balance)
CASE(of_vector, points[2].y)
CASE(of_list, listed.front().y)
CASE(of_map, mapped.begin()->second.y)
void prepare() {
    derived = new bank::Account(7);
    array = new bank::Account[3];
    points_of_new = new Point[3]();
    small = new Small[3];
    pooled = Pool<Point>().make();
    quiet = new (std::nothrow) Point();
    unique = std::make_unique<bank::Account>(1);
    shared = std::make_shared<bank::Account>(2);
    points.resize(4);
    listed.push_back(Point());
    mapped[1] = Point();
}
void update() {
    of_derived(); of_array(); of_array_without_destructor(); of_array_of_what_is_no_larger_than_its_number(); of_pool(); of_nothrow(); of_unique(); of_shared(); of_vector(); of_list(); of_map();
}
";

struct Home(tempfile::TempDir);

impl Home {
    fn of(name: &str, source: &str, variant: Variant) -> Home {
        let home = Home(tempfile::tempdir().unwrap());
        let input = file(home.0.path(), name, format!("{BEGIN}{source}{END}"), 0o644);
        build::compile(variant, &input, &home.0.path().join("app"), &[]).unwrap();
        let record = ["record", "--exitcode", "0", "--report=0", "--summary=0", "-o", "run", "--", "./app"];
        let ending = home.avmon(&record);
        assert_eq!(ending.code, Some(0), "{ending:?}");
        home
    }

    fn avmon(&self, arguments: &[&str]) -> Ending {
        end(avmon(arguments).current_dir(self.0.path()))
    }

    /// The variable of each case, by the function that it is in; without a name it is where it was allocated.
    fn variables(&self) -> BTreeMap<String, String> {
        let ending = self.avmon(&["predict", "--json", "--show-weak", "run"]);
        assert!(matches!(ending.code, Some(0 | 66)), "{ending:?}");
        let records = ending.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut found = BTreeMap::new();
        for finding in records.filter(|record| record["type"] == "finding" && record["pattern"] == "rww") {
            let variable = &finding["variables"][0];
            // The pointer that leads there is read too.
            if variable["allocation"].is_null() {
                continue;
            }
            let block = finding["block"]["name"].as_str().unwrap().trim_end_matches("()").to_owned();
            // Compilers write the names of templates in two ways.
            let name = variable["name"].as_str().unwrap_or("?").replace("int const", "const int");
            let before = found.insert(block, name.clone());
            assert!(before.is_none_or(|before| before == name), "{finding}");
        }
        found
    }
}

fn expect(home: &Home, expected: &[(&str, &str)], of: Variant) {
    let expected = expected.iter().map(|(case, name)| ((*case).to_owned(), (*name).to_owned()));
    assert_eq!(home.variables(), expected.collect::<BTreeMap<String, String>>(), "{of:?}");
}

const NAMES_OF_C: [(&str, &str); 9] = [
    ("assigned_later", "node.count"),
    ("returned_at_once", "node.count"),
    ("element", "node[3].id"),
    ("member_of_member", "node.count"),
    ("of_a_typedef", "range[1].high"),
    ("of_a_resized", "node[2].count"),
    ("no_structure", "?"),
    ("size_only", "?"),
    ("two_types", "?"),
];

#[test]
fn what_a_program_in_c_allocates_has_the_type_that_it_says() {
    for variant in [Variant::Instrumented, Variant::Clang] {
        let home = Home::of("app.c", C, variant);
        expect(&home, &NAMES_OF_C, variant);
    }
}

const WRAPPERS: &str = r"
#define BESIDE
struct node { long id; struct node *next; long count; };
struct node *sized, *several, *fixed;
CASE(of_a_wrapper, sized->count)
CASE(of_a_wrapper_of_a_wrapper, several[1].count)
CASE(of_a_wrapper_that_takes_no_size, fixed->count)
__attribute__((noinline)) static void *made(void *it) { if (!it) abort(); return it; }
__attribute__((noinline)) static void *get(size_t size) {
    void *got = calloc(1, size);
    return made(got);
}
__attribute__((noinline)) static void *get_several(size_t count, size_t size) {
    void *got = get(count * size);
    return made(got);
}
static size_t usual = 24;
__attribute__((noinline)) static void *get_usual(size_t ignored) {
    void *got = malloc(usual);
    return made(ignored ? got : 0);
}
void prepare(void) {
    sized = get(sizeof *sized);
    several = get_several(5, sizeof(struct node));
    fixed = get_usual(sizeof(struct node));
}
void update(void) { of_a_wrapper(); of_a_wrapper_of_a_wrapper(); of_a_wrapper_that_takes_no_size(); }
";

#[test]
fn what_a_function_allocates_for_its_caller_has_the_type_that_the_caller_says() {
    for variant in [Variant::Instrumented, Variant::Clang] {
        let home = Home::of("app.c", WRAPPERS, variant);
        let expected = [
            ("of_a_wrapper", "node.count"),
            ("of_a_wrapper_of_a_wrapper", "node[1].count"),
            ("of_a_wrapper_that_takes_no_size", "?"),
        ];
        expect(&home, &expected, variant);
    }
}

#[test]
fn what_a_program_in_cpp_makes_has_its_type() {
    for variant in [Variant::Instrumented, Variant::Clang] {
        let home = Home::of("app.cpp", CPP, variant);
        let expected = [
            ("of_derived", "Account.history[2]"),
            ("of_array", "Account[1].balance"),
            ("of_array_without_destructor", "Point[2].y"),
            ("of_array_of_what_is_no_larger_than_its_number", "?"),
            ("of_pool", "Point.y"),
            ("of_nothrow", "Point.x"),
            ("of_unique", "Account.balance"),
            ("of_shared", "Account.balance"),
            ("of_vector", "Point[2].y"),
            ("of_list", "Point.y"),
            ("of_map", "pair<const int, Point>.second.y"),
        ];
        expect(&home, &expected, variant);
    }
}

#[test]
fn a_source_that_was_changed_since_is_not_believed() {
    let home = Home::of("app.c", C, Variant::Instrumented);
    let source = home.0.path().join("app.c");
    let text = std::fs::read_to_string(&source).unwrap().replace("sizeof(struct node)", "sizeof(struct list)");
    std::fs::write(&source, text).unwrap();
    let variables = home.variables();
    assert_eq!(variables["returned_at_once"], "?");
}
