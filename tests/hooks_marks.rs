//! `avmon.h` finds the monitor in every kind of program, does nothing without it, and compiles without a warning.

mod toolbox;

use avmon::interpose::blocks;
use std::path::{Path, PathBuf};
use std::process::Command;
use toolbox::{FAMILIES, monitored, source, succeed};

const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

const MARKS: &str = "\
main lock_created shared=0
main block_begin shared=0 a label
main lock_code_begin shared=0
main lock_code_end shared=0
main lock_acquired shared=0
main lock_releasing shared=0
main lock_acquired shared=1
main lock_releasing shared=1
main block_end shared=0
main block_begin shared=0 a label
main lock_code_begin shared=0
main lock_code_end shared=0
main lock_acquired shared=0
main lock_releasing shared=0
main lock_acquired shared=1
main lock_releasing shared=1
main block_end shared=0
main order_signal shared=0
main order_await shared=0
main interference shared=0
main lock_destroyed shared=0
";

fn header() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("shim")
}

fn listener(home: &Path) -> PathBuf {
    let path = home.join("liblistener.so");
    succeed(Command::new("gcc").args(["-shared", "-fPIC", "-o"]).arg(&path).arg(source("listener.c")));
    path
}

#[test]
fn the_header_and_the_monitor_name_the_same_functions() {
    let text = std::fs::read_to_string(header().join("avmon.h")).unwrap();
    let marks = text.lines().filter_map(|line| line.strip_prefix("AVMON_DEFINE(")?.split(',').next());
    let marks: Vec<String> = marks.map(|name| format!("avmon_{name}")).collect();
    let mut exported = blocks::NAMES.to_vec();
    exported.sort_unstable();
    let mut sorted = marks.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, exported);
}

#[test]
fn every_mark_of_every_kind_of_program_is_found_at_run_time() {
    let home = tempfile::tempdir().unwrap();
    let listener = listener(home.path());
    let program = home.path().join("marks");
    for (compiler, _) in FAMILIES {
        for kind in [&["-fPIE", "-pie"][..], &["-fno-pie", "-no-pie"], &["-O2", "-fno-pie", "-no-pie"], &["-O2"]] {
            // -rdynamic: the listener tells callers by their symbols.
            let mut command = Command::new(compiler);
            command.args(["-std=c99", "-rdynamic"]).args(STRICT).args(kind).arg("-I").arg(header());
            succeed(command.arg(source("marks.c")).arg("-o").arg(&program));
            assert_eq!(succeed(&mut Command::new(&program)), "", "{compiler} {kind:?} alone");
            let heard = succeed(Command::new(&program).env("LD_PRELOAD", &listener));
            assert_eq!(heard, MARKS, "{compiler} {kind:?}");
            succeed(&mut monitored(&program));
        }
    }
}

#[test]
fn marks_of_instrumented_code_come_from_the_marked_function() {
    let home = tempfile::tempdir().unwrap();
    let listener = listener(home.path());
    let program = home.path().join("marks");
    for (family, _) in FAMILIES {
        for level in ["-O0", "-O2"] {
            // No -I: avmon's compilers know where its header is.
            let mut compiler = toolbox::avmon_compiler(family, "marks.c");
            succeed(compiler.args(STRICT).args([level, "-rdynamic", "-o"]).arg(&program).arg(source("marks.c")));
            let heard = succeed(Command::new(&program).env("LD_PRELOAD", &listener));
            assert_eq!(heard, MARKS, "{family} {level}");
        }
    }
}

#[test]
fn a_shared_library_finds_the_monitor_too() {
    let home = tempfile::tempdir().unwrap();
    let listener = listener(home.path());
    let plugin = home.path().join("plugin.so");
    let mut command = Command::new("gcc");
    command.args(["-shared", "-fPIC", "-Dmain=marked"]).arg("-I").arg(header());
    succeed(command.arg(source("marks.c")).arg("-o").arg(&plugin));
    let load = format!("import ctypes; ctypes.CDLL({:?}).marked()", plugin.to_str().unwrap());
    assert_eq!(succeed(Command::new("python3").args(["-c", &load])), "");
    let heard = succeed(Command::new("python3").args(["-c", &load]).env("LD_PRELOAD", &listener));
    assert_eq!(heard, MARKS.replace("main", "marked"));
}

#[test]
fn the_guard_ends_its_block_on_every_way_out() {
    let home = tempfile::tempdir().unwrap();
    let listener = listener(home.path());
    let program = home.path().join("marks");
    for (_, compiler) in FAMILIES {
        for level in ["-O0", "-O2"] {
            let mut command = Command::new(compiler);
            command.args(["-std=c++11", level, "-rdynamic"]).args(STRICT).arg("-I").arg(header());
            succeed(command.arg(source("marks.cc")).arg("-o").arg(&program));
            assert_eq!(succeed(&mut Command::new(&program)), "");
            let heard = succeed(Command::new(&program).env("LD_PRELOAD", &listener));
            let ways: Vec<&str> = heard.lines().map(|line| line.split(' ').nth(1).unwrap()).collect();
            assert_eq!(ways, ["block_begin", "block_end"].repeat(3), "{compiler} {level}");
        }
    }
}
