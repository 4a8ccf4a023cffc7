//! The table of hooks is complete: the stub library, the monitor and the compilers all agree with it.

mod toolbox;

use avmon::interpose::{strings, tsan};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use toolbox::{FAMILIES, avmon_compiler, library, names, source, succeed};

fn table() -> BTreeSet<String> {
    tsan::FAMILIES.iter().copied().flatten().map(|name| (*name).to_owned()).collect()
}

fn support_file(name: &str) -> PathBuf {
    let flags = succeed(Command::new(toolbox::avmon()).args(["flags", "--ldflags"]));
    let directory = flags.split_whitespace().find_map(|word| word.strip_prefix("-L")).expect("a -L flag");
    Path::new(directory).join(name)
}

#[test]
fn no_name_is_in_the_table_twice() {
    assert_eq!(table().len(), tsan::FAMILIES.iter().map(|family| family.len()).sum::<usize>());
}

#[test]
fn the_stub_library_defines_exactly_the_table() {
    let stub = support_file("libavmon_hooks.so");
    assert_eq!(names(&stub, &["-D", "--defined-only"]), table());
    assert_eq!(toolbox::needed(&stub), [""; 0], "it must add nothing to a program");
}

#[test]
fn the_monitor_defines_every_hook() {
    let exported = names(&library(), &["-D", "--defined-only"]);
    let missing: Vec<_> = table().difference(&exported).cloned().collect();
    assert_eq!(missing, [""; 0]);
}

/// Names that belong to a sanitizer's interface, whoever defines them.
fn is_hook(name: &str) -> bool {
    ["__tsan_", "__sanitizer_cov_", "Annotate", "WTFAnnotate"].iter().any(|prefix| name.starts_with(prefix))
}

#[test]
fn compilers_call_nothing_that_is_not_in_the_table() {
    let home = tempfile::tempdir().unwrap();
    let object = home.path().join("object.o");
    let mut called = BTreeSet::new();
    for (family, _) in FAMILIES {
        let coverage = match family {
            "gcc" => "-fsanitize-coverage=trace-pc,trace-cmp",
            _ => "-fsanitize-coverage=trace-pc,trace-cmp,indirect-calls,trace-div,trace-gep",
        };
        for file in ["atomics.c", "accesses.c", "objects.cc", "annotations.c", "coverage.c"] {
            for level in ["-O0", "-O1", "-O2", "-O3"] {
                let mut compiler = avmon_compiler(family, file);
                succeed(
                    compiler.args(["-Werror", level, coverage, "-mcx16", "-c", "-o"]).arg(&object).arg(source(file)),
                );
                called.extend(names(&object, &["--undefined-only"]).into_iter().filter(|name| is_hook(name)));
            }
        }
    }
    let missing: Vec<_> = called.difference(&table()).cloned().collect();
    assert_eq!(missing, [""; 0]);
    for name in [
        "__tsan_init",
        "__tsan_func_entry",
        "__tsan_read4",
        "__tsan_vptr_update",
        "__tsan_volatile_write8",
        "__tsan_unaligned_read8",
        "__tsan_atomic128_compare_exchange_val",
        "__tsan_atomic_thread_fence",
        "__sanitizer_cov_trace_pc",
        "__sanitizer_cov_trace_switch",
    ] {
        assert!(called.contains(name), "the sources no longer make a compiler call {name}");
    }
}

/// The words of a support file that start with this, without it.
fn words(file: &str, prefix: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(support_file(file)).unwrap();
    let words = text.split_whitespace().map(|word| word.trim_end_matches('}'));
    words.filter_map(|word| word.strip_prefix(prefix)).map(str::to_owned).collect()
}

#[test]
fn what_the_linker_and_gcc_are_told_is_the_table_of_string_functions() {
    let functions: BTreeSet<String> = strings::functions().map(str::to_owned).collect();
    assert_eq!(words("wrapped.flags", "-Wl,--wrap="), functions);
    let builtins: BTreeSet<String> = strings::builtins().map(str::to_owned).collect();
    assert_eq!(words("avmon.specs", "-fno-builtin-"), builtins);
}

/// What the sanitizer's libraries export that is not for us to define: the program itself may, to be called back or to
/// configure them; or only their own tests call it.
fn is_not_a_hook(name: &str) -> bool {
    let prefixes = ["__tsan_default_", "__tsan_on_", "__tsan_symbolize_external", "__tsan_test"];
    prefixes.iter().any(|prefix| name.starts_with(prefix))
        || ["__sanitizer_cov_dump", "__sanitizer_cov_reset"].contains(&name)
}

#[test]
fn everything_that_the_sanitizers_libraries_offer_is_in_the_table() {
    for (compiler, file) in [("gcc", "libtsan.so"), ("clang", "libclang_rt.tsan-x86_64.so")] {
        let path = succeed(Command::new(compiler).arg(format!("-print-file-name={file}")));
        let path = Path::new(path.trim());
        assert!(path.is_absolute(), "{compiler} has no {file}; scripts/test installs it");
        let offered = names(path, &["-D", "--defined-only"]);
        let missing: Vec<_> =
            offered.difference(&table()).filter(|n| is_hook(n) && !is_not_a_hook(n)).cloned().collect();
        assert_eq!(missing, [""; 0], "{}", path.display());
    }
}
