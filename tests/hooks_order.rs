//! Order that the hooks see keeps the analysis from false alarms; what is no order does not hide a finding.

mod toolbox;

use std::path::Path;
use std::process::Command;
use toolbox::{FAMILIES, avmon_compiler, library, source, succeed};

/// Exit status of a monitored program in which something was found.
const FOUND: i32 = 66;

fn status(program: &Path, argument: &str) -> i32 {
    let mut command = Command::new(program);
    command
        .arg(argument)
        .current_dir(program.parent().unwrap())
        .env("LD_PRELOAD", library())
        .env_remove("LD_LIBRARY_PATH");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    output.status.code().unwrap_or_else(|| panic!("{argument}: {}\n{text}", output.status))
}

#[test]
fn a_hand_over_that_every_run_keeps_is_no_violation() {
    for (family, _) in FAMILIES {
        let home = tempfile::tempdir().unwrap();
        let program = home.path().join("handover");
        let mut compiler = avmon_compiler(family, "handover.c");
        // With the flag 128-bit atomics have hooks; see atomics.c.
        succeed(compiler.args(["-O1", "-mcx16", "-pthread", "-o"]).arg(&program).arg(source("handover.c")));
        let ways = succeed(&mut Command::new(&program));
        assert_eq!(ways.lines().count(), 14);
        for way in ways.lines() {
            assert_eq!(succeed(Command::new(&program).arg(way)), "2\n", "{family}: {way}, alone");
            let expected = if way.ends_with("relaxed") { FOUND } else { 0 };
            assert_eq!(status(&program, way), expected, "{family}: {way}");
        }
    }
}

#[test]
fn a_lock_that_is_described_is_seen_as_a_lock() {
    for (family, _) in FAMILIES {
        let home = tempfile::tempdir().unwrap();
        let program = home.path().join("locks");
        let mut compiler = avmon_compiler(family, "locks.c");
        succeed(compiler.args(["-O1", "-pthread", "-o"]).arg(&program).arg(source("locks.c")));
        // An atomic flag alone makes order between its users, not a lock.
        for (kind, expected) in
            [("atomic", 0), ("tsan", FOUND), ("marks", FOUND), ("annotations", FOUND), ("shared", 0)]
        {
            assert_eq!(succeed(Command::new(&program).arg(kind)), "2\n", "{family}: {kind}, alone");
            assert_eq!(status(&program, kind), expected, "{family}: {kind}");
        }
    }
}

#[test]
fn a_marked_block_is_a_transaction_in_code_without_hooks() {
    for (compiler, _) in FAMILIES {
        let home = tempfile::tempdir().unwrap();
        let program = home.path().join("block");
        let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("shim");
        let mut command = Command::new(compiler);
        succeed(command.args(["-O1", "-pthread", "-I"]).arg(header).arg("-o").arg(&program).arg(source("block.c")));
        for (how, expected) in [("plain", 0), ("marked", FOUND), ("interference", 0)] {
            assert_eq!(succeed(Command::new(&program).arg(how)), "2\n", "{compiler}: {how}, alone");
            assert_eq!(status(&program, how), expected, "{compiler}: {how}");
        }
    }
}
