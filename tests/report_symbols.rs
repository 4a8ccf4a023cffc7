//! Names and lines of real programs, built in all the ways in which programs are shipped.

mod report_common;

use avmon::predict::history::{Allocation, VariableInfo};
use avmon::report::finding::Frame;
use avmon::report::modules::ModuleMap;
use avmon::report::symbols::Symbols;
use avmon::report::variables::{self, Field};
use report_common::{Told, Workshop};

const PROGRAM: &str = r#"#include "marks.h"
#include <stdlib.h>
int counter_lock = 1;
static int zeroed[64];
struct { long first; int lock[20]; } table = { 1, { 2 } };
static inline __attribute__((always_inline)) void inlined(void) {
    MARK("inlined");
}
__attribute__((noinline)) void append(void) {
    static int once_lock = 1;
    MARK("append");
    inlined();
    TELL("once_lock", &once_lock);
}
int main(void) {
    append();
    TELL("&append", append); TELL("&main", main);
    TELL("counter_lock", &counter_lock);
    TELL("zeroed", &zeroed[3]);
    TELL("table", &table.lock[8]);
    TELL("heap", malloc(100));
    TELL("label", "the label");
    tell_modules();
    return 0;
}
"#;

/// `function:line` of each frame, innermost first, with `~` before inlined ones and `?` for what is unknown.
fn frames(symbols: &mut Symbols, pc: u64) -> Vec<String> {
    let show = |frame: &Frame| {
        let name = frame.function.as_deref().unwrap_or("?");
        let line = frame.line.map_or("?".to_owned(), |line| line.to_string());
        format!("{}{name}:{line}", if frame.inlined { "~" } else { "" })
    };
    symbols.call_frames(pc).iter().map(show).collect()
}

fn built(flags: &str) -> (Workshop, Told) {
    let workshop = Workshop::new();
    workshop.write("prog.c", PROGRAM);
    workshop.run(&format!("gcc {flags} -o prog prog.c"));
    let told = workshop.tell("prog");
    (workshop, told)
}

#[test]
fn debug_information_gives_functions_files_lines_and_columns() {
    let (workshop, told) = built("-g -O0");
    let mut symbols = workshop.symbols(&told);
    assert_eq!(frames(&mut symbols, told.address("append")), ["append:11"]);
    let frames = symbols.call_frames(told.address("append"));
    let frame = &frames[0];
    assert_eq!(frame.file.as_deref(), workshop.path("prog.c").to_str());
    assert_eq!(frame.module, workshop.path("prog").to_str().unwrap());
    assert!(frame.column.is_some());
    assert_eq!(
        frame.offset,
        told.address("append") - 1 - (told.address("&append") - symbol_value(&workshop, "append"))
    );
}

/// The value of a symbol, as the binutils tell it.
fn symbol_value(workshop: &Workshop, name: &str) -> u64 {
    let listing = workshop.run("nm %/prog");
    let line = listing.lines().find(|line| line.ends_with(&format!(" {name}"))).unwrap();
    u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap()
}

#[test]
fn inlined_functions_are_frames_of_their_own() {
    for flags in ["-g -O2", "-g -O2 -gdwarf-4", "-g -O2 -gz=zlib", "-g -O2 -no-pie"] {
        let (workshop, told) = built(flags);
        let mut symbols = workshop.symbols(&told);
        assert_eq!(frames(&mut symbols, told.address("inlined")), ["~inlined:7", "append:12"], "{flags}");
    }
}

#[test]
fn a_function_is_known_by_its_first_address() {
    for flags in ["-g -O2", "-O2", "-O2 -no-pie"] {
        let (workshop, told) = built(flags);
        let function = workshop.symbols(&told).function(told.address("inlined")).unwrap();
        assert_eq!((function.name.as_str(), function.start), ("append", told.address("&append")), "{flags}");
    }
}

#[test]
fn globals_are_named_and_the_heap_is_not() {
    for flags in ["-g -O0", "-O2", "-O2 -no-pie"] {
        let (workshop, told) = built(flags);
        let mut symbols = workshop.symbols(&told);
        let mut variable = |name| symbols.variable(told.address(name));
        assert_eq!(variable("counter_lock").as_deref(), Some("counter_lock"), "{flags}");
        let [zeroed, table] =
            if flags.contains("-g") { ["zeroed[3]", "table.lock[8]"] } else { ["zeroed+0xc", "table+0x28"] };
        assert_eq!(variable("zeroed").as_deref(), Some(zeroed), "{flags}");
        assert_eq!(variable("table").as_deref(), Some(table), "{flags}");
        assert_eq!(variable("once_lock").as_deref(), Some("once_lock"), "{flags}");
        assert_eq!(variable("heap"), None, "{flags}");
    }
}

const MEMBERS: &str = r#"#include "marks.h"
#include <pthread.h>
#include <stdlib.h>
typedef struct { int low, high; } range;
struct item { long count; struct { char tag; int weight; }; const range limits[4]; pthread_mutex_t lock; union { int a; float b; } either; };
struct item one, many[8];
volatile range pair;
typedef long number;
static number numbers[3][5];
pthread_mutex_t alone;
void *keep[4];
__attribute__((noinline)) void make(void) {
    struct item *made = malloc(sizeof *made);
    range *ranges = calloc(10, sizeof(range));
    char *text = malloc(96);
    keep[0] = made; keep[1] = ranges; keep[2] = text;
}
int main(void) {
    make();
    TELL("one.count", &one); TELL("one.weight", &one.weight); TELL("one.limits[2].high", &one.limits[2].high);
    TELL("one.lock", &one.lock); TELL("one.lock+0x8", (char *)&one.lock + 8); TELL("one.either", &one.either);
    TELL("many[3].count", &many[3]); TELL("many[7].weight", &many[7].weight);
    TELL("pair.low", &pair); TELL("pair.high", &pair.high);
    TELL("numbers[2][1]", &numbers[2][1]); TELL("alone", &alone); TELL("keep[1]", &keep[1]);
    tell_modules();
    return 0;
}
"#;

/// Optimisers make several variables of one, if nobody takes its address.
#[test]
fn a_global_that_is_split_keeps_the_names_of_its_members() {
    let workshop = Workshop::new();
    let text = r#"#include "marks.h"
static struct { int low, high; } range = {0, 10};
__attribute__((noinline)) void set(int low, int high) { range.low = low; range.high = high; }
__attribute__((noinline)) int width(void) { return range.high - range.low; }
int main(int count, char **names) {
    set(count, count + 10);
    TELL("&main", main);
    tell_modules();
    return width() - 10;
}
"#;
    workshop.write("prog.c", text);
    workshop.run("clang -g -O1 -o prog prog.c");
    let told = workshop.tell("prog");
    let base = told.address("&main") - symbol_value(&workshop, "main");
    let mut symbols = workshop.symbols(&told);
    for (symbol, name) in [("range.0", "range.low"), ("range.1", "range.high")] {
        let address = base + symbol_value(&workshop, symbol);
        assert_eq!(symbols.variable(address).as_deref(), Some(name));
    }
}

#[test]
fn members_of_globals_have_their_names() {
    for flags in [
        "gcc -g -O0",
        "gcc -g -O2 -gdwarf-4",
        "gcc -g -no-pie",
        "gcc -g -gz=zlib",
        "clang -g -O1",
        "clang -g -gdwarf-4",
    ] {
        let workshop = Workshop::new();
        workshop.write("prog.c", MEMBERS);
        workshop.run(&format!("{flags} -o prog prog.c"));
        let told = workshop.tell("prog");
        let mut symbols = workshop.symbols(&told);
        for name in [
            "one.count",
            "one.weight",
            "one.limits[2].high",
            "one.lock",
            "one.lock+0x8",
            "one.either",
            "many[3].count",
            "many[7].weight",
            "pair.low",
            "pair.high",
            "numbers[2][1]",
            "alone",
            "keep[1]",
        ] {
            assert_eq!(symbols.variable(told.address(name)).as_deref(), Some(name), "{flags}");
        }
    }
}

const FIELDS: &str = r#"#include "marks.h"
#include <stdlib.h>
struct range { int low, high; };
typedef struct { long id; struct range limits[2][3]; } box;
typedef struct range row[4];
box first, boxes[5];
struct { long balance; struct range range; } unnamed;
row rows[2];
long counter, counters[3][7];
void *keep;
__attribute__((noinline)) void make(void) {
    box *made = calloc(4, sizeof(box)); MARK("made");
    keep = made;
}
int main(void) {
    make();
    TELL("first.limits[1][2].high", &first.limits[1][2].high); TELL("boxes[4].id", &boxes[4].id);
    TELL("boxes[3].limits[0][1].low", &boxes[3].limits[0][1].low); TELL("unnamed.balance", &unnamed.balance);
    TELL("unnamed.range.high", &unnamed.range.high); TELL("rows[1][3].high", &rows[1][3].high);
    TELL("counter", &counter); TELL("counters[2][6]", &counters[2][6]);
    tell_modules();
    return 0;
}
"#;

#[test]
fn a_variable_is_a_field_of_its_type_in_whichever_object() {
    for flags in ["gcc -g -O0", "gcc -g -O2 -gdwarf-4", "clang -g -O0", "clang -g -O2 -gdwarf-4"] {
        let workshop = Workshop::new();
        workshop.write("prog.c", FIELDS);
        workshop.run(&format!("{flags} -o prog prog.c"));
        let told = workshop.tell("prog");
        let mut symbols = workshop.symbols(&told);
        for (name, of, member) in [
            ("first.limits[1][2].high", "box", "limits[][].high"),
            ("boxes[3].limits[0][1].low", "box", "limits[][].low"),
            ("boxes[4].id", "box", "id"),
            ("unnamed.balance", "", "unnamed.balance"),
            ("unnamed.range.high", "range", "high"),
            ("rows[1][3].high", "range", "high"),
            ("counter", "", "counter"),
            ("counters[2][6]", "", "counters[][]"),
        ] {
            let variable = VariableInfo { address: told.address(name), allocation: None, first_value: None };
            assert_eq!(symbols.variable(variable.address).as_deref(), Some(name), "{flags}");
            let field = Field { of: of.into(), member: member.into() };
            assert_eq!(variables::field(&mut symbols, &variable, &[]), Some(field), "{flags}: {name}");
        }
        // Of what is allocated: the third box, its second range.
        let block = 0x10;
        let mut of_block = |size, offset, pc| {
            let allocation = Some(Allocation { address: block, size, thread: 0, pc, frame: 0 });
            let variable = VariableInfo { address: block + offset, allocation, first_value: None };
            let name = symbols.allocated(&[pc], size, offset).map(|part| part.name);
            (name, variables::field(&mut symbols, &variable, &[pc]).map(|field| field.to_string()))
        };
        let named = (Some("box[2].limits[0][1].low".to_owned()), Some("box.limits[][].low".to_owned()));
        assert_eq!(of_block(4 * 56, 2 * 56 + 16, told.address("made")), named, "{flags}");
        assert_eq!(of_block(4 * 56 + 1, 2 * 56 + 16, told.address("made")), (None, None), "{flags}");
    }
}

const OBJECTS: &str = r#"#include "marks.h"
#include <mutex>
#include <vector>
#include <stdlib.h>
struct Empty {};
struct Base { long id; std::mutex guard; };
namespace bank {
class Account : public Base, public Empty { public: long balance; std::vector<int> log; static long all; };
long Account::all;
Account account;
}
void *kept[4];
__attribute__((noinline)) void make() {
    bank::Account *made = new bank::Account; MARK("made");
    Base *several = static_cast<Base *>(calloc(5, sizeof(Base))); MARK("several");
    void *unknown = malloc(48); MARK("unknown");
    char *one = (char *)malloc(64); Base *two = nullptr; MARK("chars");
    kept[0] = made; kept[1] = several; kept[2] = unknown; kept[3] = one + (two != nullptr);
}
int main() {
    make();
    TELL("bank::account.id", &bank::account); TELL("bank::account.guard", &bank::account.guard);
    TELL("bank::account.balance", &bank::account.balance); TELL("bank::account.log", &bank::account.log);
    TELL("bank::Account::all", &bank::Account::all);
    tell_modules();
}
"#;

#[test]
fn members_of_classes_and_of_what_is_allocated_have_their_names() {
    for flags in ["g++ -g -O0", "g++ -g -O2", "clang++ -g -O0"] {
        let workshop = Workshop::new();
        workshop.write("prog.cpp", OBJECTS);
        workshop.run(&format!("{flags} -o prog prog.cpp"));
        let told = workshop.tell("prog");
        let mut symbols = workshop.symbols(&told);
        for name in [
            "bank::account.id",
            "bank::account.guard",
            "bank::account.balance",
            "bank::account.log",
            "bank::Account::all",
        ] {
            assert_eq!(symbols.variable(told.address(name)).as_deref(), Some(name), "{flags}");
        }
        // The places are those of the marks, which are on the lines of the allocations.
        let mut at = |mark, size, offset| symbols.allocated(&[told.address(mark)], size, offset).map(|part| part.name);
        assert_eq!(at("several", 5 * 48, 48).as_deref(), Some("Base[1].id"), "{flags}");
        assert_eq!(at("several", 48, 8).as_deref(), Some("Base.guard"), "{flags}");
        assert_eq!(at("several", 50, 8), None, "{flags}: another size");
        assert_eq!(at("made", 80, 48).as_deref(), Some("Account.balance"), "{flags}");
        assert_eq!(at("unknown", 48, 8), None, "{flags}: nobody knows its type");
    }
}

#[test]
fn text_constants_are_read_from_the_file() {
    let (workshop, told) = built("-O2");
    let mut symbols = workshop.symbols(&told);
    assert_eq!(symbols.text(told.address("label")).as_deref(), Some("the label"));
    assert_eq!(symbols.text(told.address("heap")), None);
    assert_eq!(symbols.text(0), None);
}

#[test]
fn without_debug_information_there_are_still_functions() {
    let (workshop, told) = built("-O2");
    assert_eq!(frames(&mut workshop.symbols(&told), told.address("inlined")), ["append:?"]);
}

#[test]
fn a_stripped_program_has_its_exported_functions_or_nothing() {
    let (workshop, told) = built("-O2 -s -rdynamic");
    assert_eq!(frames(&mut workshop.symbols(&told), told.address("inlined")), ["append:?"]);
    let (workshop, told) = built("-O2 -s");
    let mut symbols = workshop.symbols(&told);
    assert_eq!(frames(&mut symbols, told.address("inlined")), ["?:?"]);
    assert_eq!(symbols.function(told.address("inlined")), None);
    assert!(symbols.variable(told.address("counter_lock")).unwrap().starts_with("prog+0x"));
    assert_eq!(symbols.variable(told.address("heap")), None);
}

#[test]
fn split_debug_information_still_gives_functions_and_lines() {
    let (workshop, told) = built("-g -O0 -gsplit-dwarf");
    assert_eq!(frames(&mut workshop.symbols(&told), told.address("append")), ["append:11"]);
}

/// The program without debug information, which is in `prog.debug`.
fn split_off(flags: &str) -> Workshop {
    let workshop = Workshop::new();
    workshop.write("prog.c", PROGRAM);
    workshop.run(&format!("gcc -g -O2 {flags} -o prog prog.c"));
    workshop.run("objcopy --only-keep-debug prog prog.debug");
    workshop.run("strip prog");
    workshop
}

const WHOLE: [&str; 2] = ["~inlined:7", "append:12"];

#[test]
fn a_separate_debug_file_is_found_by_build_id() {
    let workshop = split_off("-Wl,--build-id=0xab12cd34");
    std::fs::create_dir_all(workshop.path("debug/.build-id/ab")).unwrap();
    std::fs::rename(workshop.path("prog.debug"), workshop.path("debug/.build-id/ab/12cd34.debug")).unwrap();
    let told = workshop.tell("prog");
    let mut symbols = workshop.symbols(&told);
    assert_eq!(frames(&mut symbols, told.address("inlined")), WHOLE);
    assert_eq!(symbols.variable(told.address("table")).as_deref(), Some("table.lock[8]"));
    assert_eq!(symbols.function(told.address("inlined")).unwrap().start, told.address("&append"));
}

#[test]
fn a_separate_debug_file_is_found_by_debug_link() {
    let workshop = split_off("-Wl,--build-id=none");
    workshop.run("objcopy --add-gnu-debuglink=prog.debug prog");
    let told = workshop.tell("prog");
    let below_debug = format!("debug{}", workshop.path("").to_str().unwrap());
    let mut at = workshop.path("prog.debug");
    for directory in ["", ".debug", &below_debug] {
        std::fs::create_dir_all(workshop.path("").join(directory)).unwrap();
        let next = workshop.path("").join(directory).join("prog.debug");
        std::fs::rename(&at, &next).unwrap();
        at = next;
        assert_eq!(frames(&mut workshop.symbols(&told), told.address("inlined")), WHOLE, "in {directory:?}");
    }
}

#[test]
fn a_debug_file_of_another_build_is_not_believed() {
    let workshop = split_off("-Wl,--build-id=none");
    workshop.run("objcopy --add-gnu-debuglink=prog.debug prog");
    workshop.write("prog.c", &PROGRAM.replacen('\n', "\n\n\n", 1));
    workshop.run("gcc -g -O2 -Wl,--build-id=none -o other prog.c");
    workshop.run("objcopy --only-keep-debug other prog.debug");
    let told = workshop.tell("prog");
    assert_eq!(frames(&mut workshop.symbols(&told), told.address("inlined")), ["?:?"]);
}

#[test]
fn shared_libraries_have_their_own_names() {
    let workshop = Workshop::new();
    workshop.write("lib.c", "#include \"marks.h\"\nint lib_lock = 1;\nvoid in_library(void) {\n    MARK(\"lib\"); TELL(\"lock\", &lib_lock);\n}\n");
    workshop.write(
        "prog.c",
        "#include \"marks.h\"\nvoid in_library(void);\nint main(void) { in_library(); tell_modules(); }\n",
    );
    workshop.run("gcc -g -O2 -shared -fPIC -o libmine.so lib.c");
    workshop.run("gcc -o prog prog.c %/libmine.so");
    let told = workshop.tell("prog");
    let mut symbols = workshop.symbols(&told);
    assert_eq!(frames(&mut symbols, told.address("lib")), ["in_library:4"]);
    assert!(symbols.call_frames(told.address("lib"))[0].module.ends_with("/libmine.so"));
    assert_eq!(symbols.variable(told.address("lock")).as_deref(), Some("lib_lock"));
}

#[test]
fn cpp_names_are_readable() {
    let workshop = Workshop::new();
    let source = r#"#include "marks.h"
namespace bank {
struct Account {
    __attribute__((noinline)) void deposit(int) { MARK("method"); }
    static int lock;
};
int Account::lock = 1;
template <class T> __attribute__((noinline)) T twice(T t) { MARK("template"); return t + t; }
}
namespace { __attribute__((noinline)) void hidden() { MARK("hidden"); } }
int main() {
    bank::Account().deposit(1);
    bank::twice(2L);
    hidden();
    auto lambda = []() __attribute__((noinline)) { MARK("lambda"); };
    lambda();
    TELL("lock", &bank::Account::lock);
    tell_modules();
}
"#;
    workshop.write("prog.cc", source);
    for (flags, lines) in [("-g -O2", true), ("-O2", false)] {
        workshop.run(&format!("g++ {flags} -o prog prog.cc"));
        let told = workshop.tell("prog");
        let mut symbols = workshop.symbols(&told);
        for (mark, name, line) in [
            ("method", "bank::Account::deposit(int)", 4),
            ("template", "bank::twice<long>(long)", 8),
            ("hidden", "(anonymous namespace)::hidden()", 10),
            ("lambda", "main::{lambda()#1}::operator()() const", 15),
        ] {
            let line = if lines { line.to_string() } else { "?".to_owned() };
            assert_eq!(frames(&mut symbols, told.address(mark)), [format!("{name}:{line}")], "{flags}");
        }
        assert_eq!(symbols.variable(told.address("lock")).as_deref(), Some("bank::Account::lock"));
    }
}

#[test]
fn a_damaged_file_never_hurts() {
    let (workshop, told) = built("-g -O2");
    let whole = std::fs::read(workshop.path("prog")).unwrap();
    let pc = told.address("inlined");
    let copy = Workshop::new();
    let map = told.map.replace(workshop.path("prog").to_str().unwrap(), copy.path("prog").to_str().unwrap());
    // Cut and overwritten at many places: whatever comes out, there is a frame with the right offset.
    let step = whole.len() / 60;
    for at in (64..whole.len()).step_by(step) {
        let mut bytes = whole.clone();
        for byte in bytes.iter_mut().skip(at).take(step / 2) {
            *byte = byte.wrapping_mul(31).wrapping_add(7);
        }
        for damaged in [&whole[..at], &bytes[..]] {
            std::fs::remove_file(copy.path("prog")).ok();
            std::fs::write(copy.path("prog"), damaged).unwrap();
            let mut symbols = Symbols::new(&copy.options(), ModuleMap::parse(&map));
            let frames = symbols.call_frames(pc);
            assert!(frames.iter().all(|frame| frame.offset == frames[0].offset && frame.module.ends_with("/prog")));
            symbols.function(pc);
            symbols.variable(pc);
            symbols.text(pc);
        }
    }
}
