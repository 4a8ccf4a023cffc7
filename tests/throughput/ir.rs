//! How fast IR is read, and how fast lint is where everything has to do with everything. Prints; judges nothing.
//!
//! `AVMON_BENCH_IR` may name files of IR to read instead of what is made up here.

#![allow(clippy::cast_precision_loss, reason = "figures for people")]

use crate::cpu_time::cpu_time;
use avmon::ir;
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const ROUNDS: usize = 5;

fn measure(name: &str, text: &str) {
    let best = (0..ROUNDS).map(|_| {
        let start = cpu_time();
        black_box(ir::parse(text, name).unwrap_or_else(|error| panic!("{error}")));
        cpu_time().saturating_sub(start)
    });
    let best = best.min().unwrap_or(Duration::MAX).as_secs_f64();
    let module = ir::parse(text, name).unwrap_or_else(|error| panic!("{error}"));
    let instructions: usize =
        module.functions.iter().flat_map(|function| &function.blocks).map(|block| block.instructions.len()).sum();
    let lines = text.lines().count();
    println!(
        "{name:<24} {:7.1} MB {lines:9} lines {instructions:9} instructions  {best:6.2} s  {:6.1} MB/s {:6.2} M lines/s",
        text.len() as f64 / 1e6,
        text.len() as f64 / 1e6 / best,
        lines as f64 / 1e6 / best,
    );
}

/// A program of many functions that look like those of real ones.
fn program(functions: usize) -> String {
    let mut text = String::from(
        "#include <pthread.h>\nstruct item { pthread_mutex_t lock; int a[4]; struct item *next; long sum; };\n",
    );
    for n in 0..functions {
        let _ = write!(
            text,
            "struct item item{n};\nint work{n}(struct item *from, int count) {{\n  int sum = 0;\n  pthread_mutex_lock(&from->lock);\n  \
             for (int i = 0; i < count; i++) {{\n    if (from->a[i & 3] > sum) sum += from->next->a[i & 3] * {n};\n    \
             else switch (i) {{ case 1: item{n}.sum++; break; case 2: from->sum -= sum; break; default: from = from->next; }}\n  }}\n  \
             pthread_mutex_unlock(&from->lock);\n  return sum;\n}}\n"
        );
    }
    text
}

/// One function that reads each of many variables in a block of its own, and writes what follows from it to each of them in another one.
fn getters_and_setters(count: usize) -> String {
    let mut text = String::from("#include <pthread.h>\nstatic pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n");
    let mut body = String::new();
    for n in 0..count {
        let _ = write!(
            text,
            "static int g{n};\n\
             static int get{n}(void) {{ pthread_mutex_lock(&m); int it = g{n}; pthread_mutex_unlock(&m); return it; }}\n\
             static void set{n}(int to) {{ pthread_mutex_lock(&m); g{n} = to; pthread_mutex_unlock(&m); }}\n"
        );
        let _ = writeln!(body, "  sum += get{n}(); set{}(sum);", (n + 1) % count);
    }
    let _ = write!(
        text,
        "static void *work(void *x) {{\n  int sum = 0;\n{body}  return x;\n}}\n\
         int main(void) {{ pthread_t t; for (int i = 0; i < 2; i++) pthread_create(&t, 0, work, 0); return 0; }}\n"
    );
    text
}

#[test]
#[ignore = "measures; takes some seconds"]
fn linting() {
    let home = tempfile::tempdir().expect("a place to compile in");
    for count in [200, 400, 800] {
        std::fs::write(home.path().join("program.c"), getters_and_setters(count)).expect("a source");
        let mut clang = Command::new("clang");
        clang.current_dir(home.path()).args(["-g", "-O0", "-S", "-emit-llvm", "program.c", "-o", "program.ll"]);
        assert!(clang.status().is_ok_and(|status| status.success()), "{clang:?}");
        let text = std::fs::read_to_string(home.path().join("program.ll")).expect("the IR");
        let module = ir::parse(&text, "program.ll").unwrap_or_else(|error| panic!("{error}"));
        let start = cpu_time();
        let report = avmon::lint::lint(vec![module], false);
        let took = cpu_time().saturating_sub(start).as_secs_f64();
        println!("{count} getters and setters: {took:6.2} s of lint, {} findings", report.findings.len());
    }
}

#[test]
#[ignore = "measures; takes a minute"]
fn reading() {
    if let Some(files) = std::env::var_os("AVMON_BENCH_IR") {
        for path in std::env::split_paths(&files) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            measure(&name, &std::fs::read_to_string(&path).expect("AVMON_BENCH_IR names files of IR as text"));
        }
        return;
    }
    let home = tempfile::tempdir().expect("a place to compile in");
    for functions in [2_000, 20_000] {
        std::fs::write(home.path().join("program.c"), program(functions)).expect("a source");
        for level in ["-O0", "-O2"] {
            let mut clang = Command::new("clang");
            clang.current_dir(home.path()).args(["-g", level, "-S", "-emit-llvm", "program.c", "-o", "program.ll"]);
            assert!(clang.status().is_ok_and(|status| status.success()), "{clang:?}");
            let text = std::fs::read_to_string(Path::new(home.path()).join("program.ll")).expect("the IR");
            measure(&format!("{functions} functions {level}"), &text);
        }
    }
}
