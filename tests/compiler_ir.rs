//! `avmon cc` with clang keeps the program's LLVM IR, and programs lead back to it.

mod toolbox;

use avmon::ir;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use toolbox::{avmon, monitored, succeed};

const COUNT_H: &str = "#ifdef __cplusplus\nextern \"C\"\n#endif\nint count(int by);\n";
const COUNT_C: &str = "#include \"count.h\"\nstatic int total;\nint count(int by) { return total += by; }\n";
const MAIN_C: &str =
    "#include \"count.h\"\n#include <stdio.h>\nint main(void) { count(2); printf(\"%d\\n\", count(3)); return 0; }\n";
const MAIN_CC: &str = "#include \"count.h\"\n#include <cstdio>\nstruct Counter { int n = 0; int next() { return n += count(5); } };\n\
                       int main() { Counter counter; std::printf(\"%d\\n\", counter.next()); }\n";

struct Project {
    home: tempfile::TempDir,
}

impl Project {
    fn new() -> Project {
        let project = Project { home: tempfile::tempdir().unwrap() };
        for (name, text) in [("count.h", COUNT_H), ("count.c", COUNT_C), ("main.c", MAIN_C), ("main.cc", MAIN_CC)] {
            project.write(name, text);
        }
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// A program to call as a compiler: a script.
    fn script(&self, name: &str, text: &str) -> String {
        self.write(name, text);
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
        self.path(name).to_str().unwrap().to_owned()
    }

    fn call(&self, subcommand: &str, compiler: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(avmon());
        command.arg(subcommand).arg(format!("--avmon-compiler={compiler}")).args(arguments);
        command.current_dir(self.home.path()).env_remove("AVMON_IR");
        command
    }

    fn clang(&self, arguments: &[&str]) -> Command {
        self.call("cc", "clang", arguments)
    }

    /// The names of all files of IR.
    fn kept(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(self.home.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.contains(".bc")).collect()
    }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

/// The program leads to these files, and they are the program's.
#[track_caller]
fn check(project: &Project, program: &str, expected: &[&str], prints: &str) {
    let program = project.path(program);
    let located = ir::locate(&program).unwrap();
    let home = project.home.path();
    let names: BTreeSet<String> =
        located.found.iter().map(|path| path.strip_prefix(home).unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(names, set(expected), "{}", program.display());
    assert_eq!(located.missing, Vec::<PathBuf>::new());
    let mut defined = BTreeSet::new();
    for path in &located.found {
        let module = ir::read(path).unwrap_or_else(|error| panic!("{error}"));
        let own = module.functions.iter().filter(|function| !function.blocks.is_empty());
        defined.extend(own.map(|function| function.name.clone()));
    }
    for name in ["main", "count"] {
        assert!(defined.contains(name), "no {name} in {defined:?}");
    }
    let hooks: Vec<&String> = defined.iter().filter(|name| name.contains("tsan") || name.contains("sancov")).collect();
    assert!(hooks.is_empty(), "{hooks:?}");
    assert_eq!(succeed(&mut Command::new(&program)), prints);
    assert_eq!(succeed(&mut monitored(&program)), prints);
}

#[test]
fn the_ir_of_a_program_is_found_however_it_was_built() {
    let project = Project::new();
    for source in ["main.c", "count.c"] {
        succeed(&mut project.clang(&["-O2", "-Wall", "-Werror", "-c", source]));
    }
    succeed(&mut project.clang(&["main.o", "count.o", "-o", "in_steps"]));
    check(&project, "in_steps", &["main.o.bc", "count.o.bc"], "5\n");

    succeed(Command::new("ar").args(["rcs", "libcount.a", "count.o"]).current_dir(project.home.path()));
    succeed(&mut project.clang(&["main.o", "-L.", "-lcount", "-Wl,--gc-sections", "-o", "of_archive"]));
    check(&project, "of_archive", &["main.o.bc", "count.o.bc"], "5\n");

    succeed(&mut project.clang(&["-O1", "main.c", "count.c", "-o", "at_once"]));
    check(&project, "at_once", &["at_once-main.c.bc", "at_once-count.c.bc"], "5\n");

    succeed(&mut project.call("c++", "clang", &["-flto", "main.cc", "count.o", "-o", "mixed"]));
    check(&project, "mixed", &["mixed-main.cc.bc", "count.o.bc"], "5\n");

    succeed(Command::new("strip").arg("mixed").current_dir(project.home.path()));
    check(&project, "mixed", &["mixed-main.cc.bc", "count.o.bc"], "5\n");

    fs::remove_file(project.path("count.o.bc")).unwrap();
    let located = ir::locate(&project.path("mixed")).unwrap();
    assert_eq!(located.found, [project.path("mixed-main.cc.bc")]);
    assert_eq!(located.missing, [project.path("count.o.bc")]);
}

#[test]
fn ir_shows_the_source_and_not_the_optimised_program() {
    let project = Project::new();
    succeed(&mut project.clang(&["-O3", "-g0", "-DNDEBUG", "-fsanitize=undefined", "-c", "count.c"]));
    let module = ir::read(&project.path("count.o.bc")).unwrap();
    let count = module.functions.iter().find(|function| function.name == "count").unwrap();
    assert_eq!(count.blocks.len(), 1);
    let by = &count.values[count.parameters[0] as usize];
    assert_eq!(by.source_name.as_deref(), Some("by"));
    let total = module.globals.iter().find(|global| global.name == "total").unwrap();
    assert_eq!(total.at.as_ref().map(|at| (Path::new(&*at.file), at.line)), Some((&*project.path("count.c"), 2)));
}

#[test]
fn what_makes_no_object_of_clang_keeps_no_ir() {
    let project = Project::new();
    succeed(&mut project.call("cc", "gcc", &["main.c", "count.c", "-o", "by_gcc"]));
    assert_eq!(ir::locate(&project.path("by_gcc")).unwrap(), ir::Located::default());
    assert_eq!(succeed(&mut Command::new(project.path("by_gcc"))), "5\n");
    succeed(&mut project.clang(&["-S", "main.c"]));
    succeed(&mut project.clang(&["-c", "main.s"]));
    succeed(&mut project.clang(&["-E", "main.c", "-o", "main.i"]));
    succeed(&mut project.clang(&["-MM", "main.c"]));
    succeed(&mut project.clang(&["-fsyntax-only", "main.c"]));
    succeed(&mut project.clang(&["count.h"]));
    succeed(&mut project.clang(&["-c", "main.c", "-o", "/dev/null"]));
    succeed(
        Command::new("sh")
            .current_dir(project.home.path())
            .args(["-c", &format!("{} cc --avmon-compiler=clang -x c - -c -o piped.o < count.c", avmon().display())]),
    );
    succeed(project.clang(&["-c", "main.c"]).env("AVMON_IR", "off"));
    assert_eq!(ir::locate(&project.path("main.o")).unwrap(), ir::Located::default());
    assert_eq!(project.kept(), BTreeSet::new());

    let refused = project.clang(&["-c", "main.c"]).env("AVMON_IR", "maybe").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&refused.stderr), "avmon: error: AVMON_IR is 'on' or 'off', not 'maybe'\n");
    let error = ir::locate(&project.path("main.c")).unwrap_err().to_string();
    assert!(error.contains("main.c: is no program or library"), "{error}");
}

#[test]
fn the_second_run_leaves_nothing_else() {
    let project = Project::new();
    let names = |project: &Project| -> BTreeSet<String> {
        fs::read_dir(project.home.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    let arguments = ["-MD", "-MF", "main.d", "-MT", "target", "--coverage", "-c", "main.c"];
    succeed(project.clang(&arguments).env("AVMON_IR", "off"));
    let without = names(&project);
    let dependencies = fs::read_to_string(project.path("main.d")).unwrap();
    succeed(&mut project.clang(&arguments));
    assert_eq!(fs::read_to_string(project.path("main.d")).unwrap(), dependencies);
    let with = names(&project);
    assert_eq!(with.difference(&without).collect::<Vec<_>>(), ["main.o.bc"]);
}

#[test]
fn a_failing_second_run_is_one_warning() {
    let project = Project::new();
    succeed(&mut project.clang(&["-c", "main.c"]));
    assert_eq!(project.kept(), set(&["main.o.bc"]));
    let moody = project.script(
        "moody-clang",
        "#!/bin/sh\ncase \" $* \" in *' -emit-llvm '*) echo 'main.c:1:1: fatal error: no mood' >&2; exit 1;; esac\nexec clang \"$@\"\n",
    );
    let output = project.call("cc", &moody, &["-c", "main.c"]).output().unwrap();
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "avmon: warning: no LLVM IR of main.c is kept: main.c:1:1: fatal error: no mood (AVMON_IR=off asks for none)\n"
    );
    // Neither a piece of the new nor the IR of the old object.
    assert_eq!(project.kept(), BTreeSet::new());
    assert_eq!(ir::locate(&project.path("main.o")).unwrap().missing, [project.path("main.o.bc")]);
}

#[test]
fn the_compilers_own_end_is_the_end() {
    let project = Project::new();
    project.write("wrong.c", "int main(void) { return nothing; }\n");
    let plain = Command::new("clang").args(["-c", "wrong.c"]).current_dir(project.home.path()).output().unwrap();
    let output = project.clang(&["-c", "wrong.c"]).output().unwrap();
    assert_eq!((output.status, &output.stderr), (plain.status, &plain.stderr));
    let strange = project.script("strange-clang", "#!/bin/sh\nexit 42\n");
    assert_eq!(project.call("cc", &strange, &["-c", "main.c"]).status().unwrap().code(), Some(42));
    let dying = project.script("dying-clang", "#!/bin/sh\nkill -TERM $$\n");
    assert_eq!(project.call("cc", &dying, &["-c", "main.c"]).status().unwrap().signal(), Some(libc::SIGTERM));
    let missing = project.call("cc", "no-such-clang", &["-c", "main.c"]).output().unwrap();
    assert!(String::from_utf8_lossy(&missing.stderr).contains("no-such-clang was not found; install it"));
    assert_eq!(project.kept(), BTreeSet::new());
}
