//! `avmon lint` on lists of compilations, as build systems write them.

mod cli_support;

use cli_support::{Ending, avmon, end, refuses};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A value that grows stale, in a file that needs -DGOOD to be a program.
const STALE: &str = "
#ifndef GOOD
#error no flags
#endif
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value;
static int get(void) { pthread_mutex_lock(&lock); int now = value; pthread_mutex_unlock(&lock); return now; }
static void set(int to) { pthread_mutex_lock(&lock); value = to; pthread_mutex_unlock(&lock); }
static void count(void) { set(get() + 1); }
static void *work(void *argument) { count(); return argument; }
int main(void)
{
    pthread_t one, two;
    pthread_create(&one, 0, work, 0);
    pthread_create(&two, 0, work, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    return 0;
}
";

struct Project(tempfile::TempDir);

impl Project {
    /// With directories `one` and `two`, each with a file of the same name.
    fn new() -> Project {
        let project = Project(tempfile::tempdir().unwrap());
        for (directory, text) in [("one", "int nothing;\n"), ("two", STALE)] {
            std::fs::create_dir(project.path(directory)).unwrap();
            std::fs::write(project.path(directory).join("x.c"), text).unwrap();
        }
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn list(&self, entries: &Value) {
        std::fs::write(self.path("compile_commands.json"), entries.to_string()).unwrap();
    }

    fn lint(&self, entries: &Value, more: &[&str]) -> Ending {
        self.list(entries);
        end(avmon(&["lint", "compile_commands.json"]).args(more).current_dir(self.0.path()))
    }

    /// Asserts that the list of one command, for the second file, is read without a word.
    #[track_caller]
    fn reads(&self, entry: &Value) {
        let ending = self.lint(&json!([entry]), &[]);
        assert_eq!((ending.code, ending.stderr.as_str()), (Some(66), ""), "{ending:?}");
        assert!(ending.stdout.contains("count() is not atomic"), "{ending:?}");
    }

    fn command(&self, directory: &str, command: &str) -> Value {
        json!({"directory": self.path(directory), "file": "x.c", "command": command})
    }
}

#[test]
fn files_of_one_name_in_two_directories_are_two() {
    let project = Project::new();
    let entries = json!([project.command("one", "gcc -c x.c"), project.command("two", "gcc -DGOOD -c x.c")]);
    let ending = project.lint(&entries, &[]);
    assert_eq!((ending.code, ending.stderr.as_str()), (Some(66), ""), "{ending:?}");
}

#[test]
fn what_is_left_out_is_counted() {
    let project = Project::new();
    let again = json!({"directory": project.path("one"), "file": "../two/x.c", "command": "gcc -c ../two/x.c"});
    let other = json!({"directory": project.path("one"), "file": "y.s", "command": "as y.s"});
    let entries = json!([project.command("two", "gcc -DGOOD -c x.c"), again, other, other]);
    let ending = project.lint(&entries, &[]);
    assert_eq!(ending.code, Some(66), "{ending:?}");
    for text in ["1 entry is left out: the same file is listed before", "2 entries are left out: not C or C++"] {
        assert!(ending.stderr.contains(text), "{ending:?}");
    }
}

#[test]
fn the_file_may_be_spelt_otherwise_among_the_arguments() {
    let project = Project::new();
    project.reads(&json!({
        "directory": project.path("two"),
        "file": project.path("two/x.c"),
        "arguments": ["/usr/bin/gcc", "-c", "-DGOOD", "-o", "x.o", "x.c"],
    }));
}

#[test]
fn launchers_and_other_files_are_no_flags() {
    let project = Project::new();
    for command in [
        "ccache gcc -DGOOD -c -o x.o x.c",
        "/usr/bin/distcc /usr/bin/gcc x.c -DGOOD -o x",
        "gcc -DGOOD x.c y.c z.o -lm -o x",
        "gcc @flags -c x.c",
    ] {
        std::fs::write(project.path("two/flags"), "-D GOOD -o x.o").unwrap();
        project.reads(&project.command("two", command));
    }
}

#[test]
fn flags_that_clang_does_not_know_cost_no_file() {
    let project = Project::new();
    let command = "gcc -fconserve-stack -DGOOD -fno-allow-store-data-races -Wno-maybe-uninitialized -c x.c";
    let ending = project.lint(&json!([project.command("two", command)]), &[]);
    assert_eq!(ending.code, Some(66), "{ending:?}");
    let text = "clang does not know -fconserve-stack, -fno-allow-store-data-races;";
    assert!(ending.stderr.contains(text), "{ending:?}");
}

#[test]
fn flags_of_the_command_line_come_behind_those_of_the_list() {
    let project = Project::new();
    let entries = json!([project.command("two", "gcc -UGOOD -c x.c")]);
    assert_eq!(project.lint(&entries, &["--", "-DGOOD"]).code, Some(66));
}

#[test]
fn flags_that_nothing_is_compiled_with_are_told() {
    let project = Project::new();
    std::fs::write(project.path("some.ll"), "define void @f() {\n  ret void\n}\n").unwrap();
    let says = |more: &[&str]| {
        let ending = end(avmon(&["lint", "some.ll"]).args(more).current_dir(project.0.path()));
        assert_eq!(ending.code, Some(0), "{ending:?}");
        ending.stderr.contains("the flags after '--' are not used")
    };
    assert!(!says(&[]));
    assert!(says(&["--", "-DGOOD"]));
}

#[test]
fn what_cannot_be_compiled_is_told_with_the_reason() {
    let project = Project::new();
    let refused = |entry: &Value, code, says: &[&str]| {
        project.list(&json!([entry]));
        refuses(avmon(&["lint", "compile_commands.json"]).current_dir(project.0.path()), code, says);
    };
    refused(
        &json!({"directory": project.path("one"), "file": "y.s", "command": "as y.s"}),
        2,
        &["no compilation of C or C++ is listed"],
    );
    let gone = project.path("gone").display().to_string();
    refused(
        &project.command("gone", "gcc -c x.c"),
        125,
        &["x.c was not compiled: its directory ", &gone, " is gone; build the project again", "nothing could be read"],
    );
}
