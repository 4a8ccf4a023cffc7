//! A thread that jumps out of a hook, from a signal handler, is seen as before.

mod toolbox;

use std::path::Path;
use std::process::Command;
use toolbox::{library, succeed};

#[test]
fn a_thread_that_jumped_out_of_lock_functions_is_still_seen() {
    let home = tempfile::tempdir().unwrap();
    let program = home.path().join("program");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let source = tests.join("siglongjmp_out_of_locks.c");
    succeed(Command::new("gcc").args(["-O1", "-g", "-pthread", "-o"]).arg(&program).arg(source));
    let mut command = Command::new(&program);
    command.current_dir(home.path()).env_remove("LD_LIBRARY_PATH").env("LD_PRELOAD", library());
    let output = command.env("AVMON_OPTIONS", "color=never").output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(66), "what it does after the jumps should have been found\n{stderr}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ok\n");
}
