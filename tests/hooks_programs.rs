//! Instrumented programs do what the plain ones do: with the stub library alone, and under the monitor.

mod toolbox;

use std::path::Path;
use std::process::Command;
use toolbox::{FAMILIES, avmon_compiler, monitored, source, succeed};

const LEVELS: [&str; 2] = ["-O0", "-O2"];

/// The output of the program as the compiler makes it without us. What is defined nowhere then has its output given.
fn plain_output(compilers: (&str, &str), flags: &[&str], file: &str, home: &Path) -> String {
    let program = home.join("plain");
    let compiler = if toolbox::is_cxx(file) { compilers.1 } else { compilers.0 };
    // 128-bit atomics of plain programs are in a library of their own.
    let libraries = ["-pthread", "-latomic"];
    succeed(Command::new(compiler).args(flags).arg(source(file)).args(libraries).arg("-o").arg(&program));
    succeed(&mut Command::new(program))
}

/// Builds and runs `file` with both compilers, optimised or not, and `flags` for each family; `expected` is what it prints,
/// or else what the plain program prints.
fn check(file: &str, expected: Option<&str>, flags: impl Fn(&str) -> Vec<&'static str>) {
    for compilers in FAMILIES {
        for level in LEVELS {
            let home = tempfile::tempdir().unwrap();
            let mut flags = flags(compilers.0);
            flags.push(level);
            let expected = match expected {
                Some(text) => text.to_owned(),
                None => plain_output(compilers, &flags, file, home.path()),
            };
            assert!(!expected.is_empty());
            let program = home.path().join("instrumented");
            let mut compiler = avmon_compiler(compilers.0, file);
            compiler.args(flags).args(["-Werror", "-pthread", "-o"]).arg(&program);
            succeed(compiler.arg(source(file)));
            assert!(toolbox::needed(&program).contains(&"libavmon_hooks.so".to_owned()));
            assert!(!toolbox::needed(&program).iter().any(|name| name.starts_with("libtsan")));
            assert_eq!(succeed(&mut Command::new(&program)), expected, "{compilers:?} {level}, stub only");
            assert_eq!(succeed(&mut monitored(&program)), expected, "{compilers:?} {level}, monitored");
        }
    }
}

#[test]
fn atomics_of_every_width_order_and_operation() {
    // Without the flag clang calls a library for 128 bits instead of the hooks.
    check("atomics.c", None, |_| vec!["-mcx16"]);
}

#[test]
fn plain_unaligned_and_volatile_accesses() {
    check("accesses.c", None, |_| vec![]);
}

#[test]
fn virtual_calls_exceptions_and_threads() {
    check("objects.cc", None, |_| vec![]);
}

#[test]
fn annotations_for_the_thread_sanitizer() {
    check("annotations.c", Some("guarded 3000\nfibers 1 1\ntag 1\nreport 0 0\n"), |_| vec![]);
}

#[test]
fn coverage_of_branches() {
    check(
        "coverage.c",
        Some("100\n1\n33\n25\n20\n16\n14\n12\n11\n10\n9\n8\n7\n7\n6\n6\n5\n5\n5\n5\n0\n5\n"),
        |family| match family {
            "gcc" => vec!["-fsanitize-coverage=trace-pc,trace-cmp"],
            _ => vec!["-fsanitize-coverage=trace-pc,trace-cmp,indirect-calls,trace-div,trace-gep"],
        },
    );
}
