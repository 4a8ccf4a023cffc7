//! Names and lines of real programs, built in all the ways in which programs are shipped.

mod report_common;

use avmon::report::finding::Frame;
use avmon::report::modules::ModuleMap;
use avmon::report::symbols::Symbols;
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
        assert_eq!(variable("zeroed").as_deref(), Some("zeroed+0xc"), "{flags}");
        assert_eq!(variable("table").as_deref(), Some("table+0x28"), "{flags}");
        assert_eq!(variable("once_lock").as_deref(), Some("once_lock"), "{flags}");
        assert_eq!(variable("heap"), None, "{flags}");
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
    assert_eq!(symbols.variable(told.address("table")).as_deref(), Some("table+0x28"));
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
