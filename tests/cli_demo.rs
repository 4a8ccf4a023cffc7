//! `avmon demo` and `avmon doctor` on this machine, with the real monitor.

mod cli_support;

use cli_support::{avmon, end, refuses};
use std::process::Command;

#[test]
fn the_demo_shows_the_bug_the_fix_and_every_command() {
    let ending = end(&mut avmon(&["demo"]));
    assert_eq!((ending.code, ending.stderr.as_str()), (Some(0), ""), "{}", ending.stdout);
    let mut rest = ending.stdout.as_str();
    // In this order.
    for text in [
        "size_t count = length();",
        "$ avmon cc ",
        "$ ./append\nthe copy is 'twelve bytes'",
        "$ avmon run ",
        "append.c:",
        "How to read this",
        "static void copy_all",
        "$ avmon run ",
        "./fixed\nthe copy is 'twelve bytes'\n\n",
        "avmon run -- ./program args",
    ] {
        let at = rest.find(text).unwrap_or_else(|| panic!("no {text:?} in {rest}"));
        rest = &rest[at + text.len()..];
    }
    assert!(!ending.stdout.contains('\x1b'), "colour is for terminals");
}

/// The manual says that there is no race in the example for others to find.
#[test]
fn the_thread_sanitizer_has_nothing_to_say_about_the_example() {
    let directory = tempfile::tempdir().unwrap();
    let source = include_str!("../src/cli/demo/append.c");
    let program = cli_support::compile(directory.path(), "append", source, &["-fsanitize=thread", "-g", "-O1"]);
    // Older versions of it cannot live with much address space randomisation.
    let ending = end(Command::new("setarch").arg("-R").arg(program));
    assert_eq!((ending.code, ending.stderr.as_str()), (Some(0), ""), "{ending:?}");
}

#[test]
fn the_demo_keeps_its_files_if_asked_to() {
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path().join("new");
    assert_eq!(end(&mut avmon(&["demo", "--directory", work.to_str().unwrap()])).code, Some(0));
    for name in ["append.c", "append", "fixed.c", "fixed"] {
        assert!(work.join(name).exists(), "{name}");
    }
}

#[test]
fn the_demo_needs_a_compiler_and_says_so() {
    let empty = tempfile::tempdir().unwrap();
    refuses(avmon(&["demo"]).env("PATH", empty.path()), 125, &["no C compiler found", "install gcc"]);
}

#[test]
fn the_demo_fails_if_it_does_not_show_what_it_says() {
    let directory = tempfile::tempdir().unwrap();
    // A compiler that does nothing leaves no program to run.
    cli_support::file(directory.path(), "gcc", "#!/bin/sh\nexit 0\n", 0o755);
    let path = format!("{}:/usr/bin:/bin", directory.path().display());
    let ending = end(avmon(&["demo"]).env("PATH", path));
    assert_eq!(ending.code, Some(125), "{ending:?}");
}

#[test]
fn the_doctor_finds_nothing_wrong_here() {
    let ending = end(&mut avmon(&["doctor"]));
    assert_eq!(ending.code, Some(0), "{}", ending.stdout);
    for check in ["library", "preload", "gcc", "clang", "avmon cc", "without avmon", "monitor", "symbols", "ptrace"] {
        assert!(ending.stdout.contains(&format!("  {check} ")), "no {check} in {}", ending.stdout);
    }
}

#[test]
fn the_doctor_speaks_json() {
    let ending = end(&mut avmon(&["doctor", "--json"]));
    let checks: Vec<serde_json::Value> = serde_json::from_str(&ending.stdout).unwrap();
    let statuses: Vec<_> = checks.iter().map(|check| check["status"].as_str().unwrap()).collect();
    assert!(checks.len() > 10 && statuses.iter().all(|status| ["ok", "warn"].contains(status)), "{}", ending.stdout);
}

#[test]
fn the_doctor_tells_what_is_missing() {
    let ending = end(avmon(&["doctor"]).env("AVMON_LIBRARY", "/no/libavmon.so"));
    assert_eq!(ending.code, Some(125));
    assert!(ending.stdout.contains("fail  library"), "{}", ending.stdout);
    assert!(ending.stdout.contains("-> AVMON_LIBRARY names /no/libavmon.so"), "{}", ending.stdout);
}

#[test]
fn colour_is_used_on_a_terminal_and_no_color_is_honoured() {
    // `script` runs a command on a terminal of its own.
    let on_terminal = |variable: &str| {
        let mut script = Command::new("script");
        script.args(["-q", "-e", "/dev/null"]).env("TERM", "xterm").env_remove("NO_COLOR");
        script.arg("-c").arg(format!("{} doctor", cli_support::AVMON));
        if !variable.is_empty() {
            script.env(variable, "1");
        }
        end(&mut script).stdout
    };
    assert!(on_terminal("").contains("\x1b[32mok"));
    assert!(!on_terminal("NO_COLOR").contains('\x1b'));
}
