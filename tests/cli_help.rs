//! Help, completions, and what a mistyped command line gets.

mod cli_support;

use cli_support::{avmon, end, refuses};
use std::io::Write as _;
use std::process::{Command, Stdio};

/// The subcommands, as the help lists them.
fn subcommands() -> Vec<String> {
    let help = end(&mut avmon(&["--help"])).stdout;
    let listed = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

#[test]
fn every_help_ends_with_examples() {
    let names = subcommands();
    for expected in [
        "run",
        "record",
        "info",
        "dump",
        "check",
        "predict",
        "confirm",
        "replay",
        "merge",
        "chaos",
        "export",
        "report",
        "cc",
        "c++",
        "flags",
        "scenario",
        "demo",
        "doctor",
        "options",
        "completions",
    ] {
        assert!(names.iter().any(|name| name == expected), "{expected} is not in {names:?}");
    }
    for name in names.iter().filter(|name| *name != "help") {
        let ending = end(&mut avmon(&["help", name]));
        assert_eq!(ending.code, Some(0), "{ending:?}");
        let examples = ending.stdout.split("Examples:\n").nth(1).expect(name);
        assert!(examples.contains(&format!("avmon {name}")), "{name}: {examples}");
    }
}

#[test]
fn the_compilers_hand_help_and_version_on() {
    let plain = end(Command::new("gcc").arg("--version")).stdout;
    assert_eq!(end(&mut avmon(&["cc", "--version"])).stdout, plain);
    assert!(end(&mut avmon(&["c++", "--help"])).stdout.contains("Usage: g++"));
}

#[test]
fn a_link_named_after_a_compiler_is_that_compiler() {
    let directory = tempfile::tempdir().unwrap();
    let made = end(&mut avmon(&["cc", "--install-links", directory.path().to_str().unwrap()]));
    assert_eq!(made.code, Some(0), "{made:?}");
    for (link, compiler) in [("avmon-cc", "gcc"), ("avmon-c++", "g++")] {
        let ending = end(&mut cli_support::clean(&directory.path().join(link), &["--help"]));
        assert!(ending.stdout.contains(&format!("Usage: {compiler}")), "{ending:?}");
    }
}

#[test]
fn the_help_lists_exit_codes_and_variables() {
    let help = end(&mut avmon(&["--help"])).stdout;
    for (code, meaning) in avmon::cli::ExitCode::TABLE {
        assert!(help.contains(&format!("{:>3}  {meaning}", code.0)), "{code:?}");
    }
    assert!(help.contains("AVMON_OPTIONS") && help.contains("AVMON_LIBRARY"));
}

#[test]
fn the_version_is_the_package_version() {
    assert_eq!(end(&mut avmon(&["--version"])).stdout, format!("avmon {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn options_prints_the_table() {
    assert_eq!(end(&mut avmon(&["options"])).stdout, avmon::options::help());
}

#[test]
fn no_command_is_a_usage_error_that_shows_the_help() {
    refuses(&mut avmon(&[]), 2, &["Commands:", "Examples:"]);
}

#[test]
fn a_mistyped_command_is_told_with_the_nearest_one() {
    refuses(&mut avmon(&["repotr"]), 2, &["repotr", "'report'"]);
    refuses(&mut avmon(&["doctor", "--jsno"]), 2, &["--jsno", "'--json'"]);
}

#[test]
fn a_forgotten_run_is_told() {
    refuses(&mut avmon(&["./prog", "-x"]), 2, &["avmon run -- ./prog -x"]);
    refuses(&mut avmon(&["sleep", "1"]), 2, &["avmon run -- sleep 1"]);
}

#[test]
fn completions_are_valid_scripts_that_know_the_options() {
    for shell in ["bash", "zsh", "fish"] {
        let script = end(&mut avmon(&["completions", shell])).stdout;
        let flag = if shell == "fish" { "show-weak" } else { "--show-weak" };
        assert!(script.contains(flag) && script.contains("doctor"), "{shell}");
    }
    let script = end(&mut avmon(&["completions", "bash"])).stdout;
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    bash.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(bash.wait().unwrap().success());
    refuses(&mut avmon(&["completions", "csh"]), 2, &["csh", "bash"]);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ending = avmon(&["completions", "bash"]).stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert_eq!((ending.status.code(), ending.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ending = avmon(&["options"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(ending.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&ending.stderr).contains("cannot write to stdout"));
}
