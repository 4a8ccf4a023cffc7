//! `avmon cc` and `avmon c++` stand in for a compiler: alone, and in the build systems that people have.

mod toolbox;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use toolbox::{FAMILIES, avmon, fail, monitored, names, needed, succeed};

const GREET_H: &str = "#ifdef __cplusplus\nextern \"C\"\n#endif\nint greet(const char *name);\n";
const GREET_C: &str =
    "#include \"greet.h\"\n#include <stdio.h>\nint greet(const char *name) { return printf(\"hello %s\\n\", name); }\n";
const MAIN_C: &str = "#include \"greet.h\"\nint main(void) { return greet(\"world\") < 0; }\n";
const MAIN_CC: &str =
    "#include \"greet.h\"\n#include <string>\nint main() { return greet(std::string(\"world\").c_str()) < 0; }\n";

/// A directory with the sources, and with links to the compilers in `bin`.
struct Project {
    home: tempfile::TempDir,
}

impl Project {
    fn new() -> Project {
        let project = Project { home: tempfile::tempdir().unwrap() };
        for (name, content) in [("greet.h", GREET_H), ("greet.c", GREET_C), ("main.c", MAIN_C), ("main.cc", MAIN_CC)] {
            project.write(name, content);
        }
        succeed(Command::new(avmon()).args(["cc", "--install-links"]).arg(project.path("bin")));
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.home.path());
        command
    }

    fn cc(&self) -> Command {
        self.command(self.path("bin/avmon-cc"))
    }

    fn cxx(&self) -> Command {
        self.command(self.path("bin/avmon-c++"))
    }
}

/// The program has hooks, is not linked with the sanitizer's library, and runs alone and under the monitor.
#[track_caller]
fn check(program: &Path) {
    assert!(
        names(program, &["-D", "--undefined-only"]).contains("__tsan_func_entry"),
        "no hooks in {}",
        program.display()
    );
    assert!(!needed(program).iter().any(|name| name.contains("tsan")), "{:?}", needed(program));
    assert_eq!(succeed(&mut Command::new(program)), "hello world\n");
    assert_eq!(succeed(&mut monitored(program)), "hello world\n");
}

#[test]
fn one_command_and_several() {
    for (c, cxx) in FAMILIES {
        let project = Project::new();
        let named = |command: &mut Command| {
            command.env("AVMON_CC", c).env("AVMON_CXX", cxx);
            succeed(command)
        };
        named(project.cc().args(["-Wall", "-Werror", "-O2", "main.c", "greet.c", "-o", "at_once"]));
        check(&project.path("at_once"));
        for file in ["main.c", "greet.c"] {
            named(project.cc().args(["-Werror", "-c", file]));
        }
        named(project.cc().args(["-Werror", "main.o", "greet.o", "-o", "in_steps"]));
        check(&project.path("in_steps"));
        named(project.cc().args(["-r", "main.o", "greet.o", "-o", "both.o"]));
        named(project.cc().args(["both.o", "-o", "joined"]));
        check(&project.path("joined"));
        named(project.cxx().args(["-Werror", "main.cc", "greet.o", "-o", "mixed"]));
        check(&project.path("mixed"));
        // Assembly is no source for hooks, but goes through.
        named(project.cc().args(["-S", "main.c", "-o", "main.s"]));
        named(project.cc().args(["-Werror", "-c", "main.s", "-o", "main.o"]));
        named(project.cc().args(["main.o", "greet.o", "-o", "assembled"]));
        check(&project.path("assembled"));
        // From standard input, and through a response file that asks for the sanitizer itself.
        project.write("flags", "-fsanitize=thread 'main.c'\ngreet.c -o \"by response\"");
        named(project.cc().arg("@flags"));
        check(&project.path("by response"));
        let mut shell = project.command("sh");
        named(shell.args(["-c", "cat main.c | bin/avmon-cc -x c - -x none greet.o -o piped"]));
        check(&project.path("piped"));
        named(project.cc().args(["-flto", "-O2", "main.c", "greet.c", "-o", "link_time"]));
        check(&project.path("link_time"));
        named(project.cc().args(["-fsanitize=undefined", "main.c", "greet.c", "-o", "undefined"]));
        check(&project.path("undefined"));
    }
}

#[test]
fn functions_stay_visible_when_optimised() {
    let project = Project::new();
    project.write(
        "small.c",
        "int sum;\nstatic int one(int x) { return sum += x; }\nstatic int same(int x) { return sum += x; }\n\
         static inline int both(int x) { return one(x) + same(x); }\nint main(int n, char **v) { return both(n) > 99; }\n",
    );
    for (family, _) in FAMILIES {
        succeed(project.cc().env("AVMON_CC", family).args(["-O3", "small.c", "-o", "small"]));
        let defined = names(&project.path("small"), &["--defined-only"]);
        for function in ["one", "same", "both"] {
            let found = defined.iter().any(|name| name.split('.').next() == Some(function));
            assert!(found, "{family} made {function} disappear");
        }
        let sections = succeed(project.command("readelf").args(["-SW", "small"]));
        assert!(sections.contains(".debug_info"), "{family} left no debug information");
    }
}

const COPY_C: &str = "#include <string.h>\nchar to[64], from[64];\nint copy(int n) {\n  memcpy(to, from, 32);\n  memset(to, 0, 16);\n\
                      if (n > 1) to[n] = 1;\n  return strlen(to) + strcmp(from, \"abc\");\n}\n";

#[test]
fn copies_and_branches_can_be_seen_in_instrumented_files_only() {
    let project = Project::new();
    project.write("copy.c", COPY_C);
    let seen = ["memcpy", "memset", "strlen", "strcmp", "__sanitizer_cov_trace_pc"];
    for (family, _) in FAMILIES {
        for level in ["-O0", "-O2", "-O3"] {
            let compile = |more: &[&str]| {
                let mut compiler = project.cc();
                compiler.env("AVMON_CC", family).args(["-Werror", level, "-c", "copy.c", "-o", "copy.o"]);
                succeed(compiler.args(more));
                names(&project.path("copy.o"), &["--undefined-only"])
            };
            let called = compile(&[]);
            for name in seen {
                assert!(called.contains(name), "{family} {level}: {name} is not called");
            }
            let called = compile(&["-fno-sanitize=thread"]);
            let hooks: Vec<_> = called.iter().filter(|name| name.starts_with("__")).collect();
            assert!(hooks.is_empty(), "{family} {level}: {hooks:?}");
        }
    }
}

#[test]
fn calls_of_string_functions_go_through_the_library() {
    for (family, _) in FAMILIES {
        let project = Project::new();
        project.write("copy.c", COPY_C);
        succeed(project.cc().env("AVMON_CC", family).args(["-shared", "-fPIC", "-O2", "copy.c", "-o", "libcopy.so"]));
        let called = names(&project.path("libcopy.so"), &["-D", "--undefined-only"]);
        for name in ["memcpy", "memset", "strlen", "strcmp"] {
            assert!(
                called.contains(&format!("__wrap_{name}")) && !called.contains(name),
                "{family}: {name}, {called:?}"
            );
        }
    }
}

#[test]
fn a_program_takes_the_small_library_with_it() {
    let project = Project::new();
    succeed(project.cc().args(["main.c", "greet.c", "-o", "app"]));
    runs_elsewhere(&project);
}

#[test]
fn a_program_built_with_flags_alone_takes_the_small_library_with_it() {
    let project = Project::new();
    let flags = |kind| format!("$({} flags {kind})", avmon().display());
    let line = format!("gcc {} main.c greet.c {} -o app", flags("--cflags"), flags("--libs"));
    succeed(project.command("sh").args(["-c", &line]));
    runs_elsewhere(&project);
}

/// Whether a copy of `app` finds a copy of the library beside itself.
fn runs_elsewhere(project: &Project) {
    let flags = succeed(project.command(avmon()).args(["flags", "--ldflags"]));
    let support = flags.split_whitespace().find_map(|word| word.strip_prefix("-L")).unwrap();
    fs::create_dir(project.path("elsewhere")).unwrap();
    fs::copy(Path::new(support).join("libavmon_hooks.so"), project.path("elsewhere/libavmon_hooks.so")).unwrap();
    fs::copy(project.path("app"), project.path("elsewhere/app")).unwrap();
    // A namespace without the support directory is more than a test may need; a changed path in the copy is enough.
    let mut bytes = fs::read(project.path("elsewhere/app")).unwrap();
    let place = bytes.windows(support.len()).position(|window| window == support.as_bytes()).unwrap();
    bytes[place + 1] = b'#';
    fs::write(project.path("elsewhere/app"), bytes).unwrap();
    assert_eq!(succeed(&mut Command::new(project.path("elsewhere/app"))), "hello world\n");
    fs::remove_file(project.path("elsewhere/libavmon_hooks.so")).unwrap();
    fail(&mut Command::new(project.path("elsewhere/app")));
}

#[test]
fn an_instrumented_library_works_in_an_uninstrumented_host() {
    let host = "#include <dlfcn.h>\nint main(int n, char **v) {\n  void *lib = dlopen(v[1], RTLD_NOW);\n  if (!lib) return 2;\n\
                int (*greet)(const char *) = (int (*)(const char *))dlsym(lib, \"greet\");\n  return greet(\"world\") < 0; }\n";
    for (family, _) in FAMILIES {
        let project = Project::new();
        project.write("host.c", host);
        succeed(project.command("gcc").args(["host.c", "-o", "host", "-ldl"]));
        let library = project.path("libgreet.so");
        let mut compiler = project.cc();
        compiler.env("AVMON_CC", family).args(["-shared", "-fPIC", "-Wl,-z,defs", "greet.c", "-o"]);
        succeed(compiler.arg(&library));
        assert!(names(&library, &["-D", "--undefined-only"]).contains("__tsan_func_entry"));
        let host = project.path("host");
        assert_eq!(succeed(Command::new(&host).arg(&library)), "hello world\n");
        assert_eq!(succeed(monitored(&host).arg(&library)), "hello world\n");

        let load = format!("import ctypes; ctypes.CDLL({:?}).greet(b'world')", library.to_str().unwrap());
        let python = succeed(Command::new("python3").args(["-c", "import sys; print(sys.executable)"]));
        let python = Path::new(python.trim());
        assert_eq!(succeed(Command::new(python).args(["-c", &load])), "hello world\n");
        assert_eq!(succeed(monitored(python).args(["-c", &load]).current_dir(project.home.path())), "hello world\n");
    }
}

#[test]
fn make_with_its_built_in_rules() {
    let project = Project::new();
    project.write(
        "Makefile",
        "app: main.o greet.o\n\t$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)\nmain.o greet.o: greet.h\n",
    );
    succeed(
        project.command("make").args(["-j2", "CFLAGS=-O2 -Wall -Werror"]).arg(format!("CC={} cc", avmon().display())),
    );
    check(&project.path("app"));

    // The same without the wrapper: flags alone.
    succeed(project.command("make").arg("-B").args([
        "CC=gcc".to_owned(),
        format!("CFLAGS=-O2 $(shell {} flags --cflags)", avmon().display()),
        // Make and the shell both look at dollar signs; what the flags command prints must survive the shell.
        format!("LDLIBS=$(shell {} flags --libs)", avmon().display()),
    ]));
    check(&project.path("app"));
}

/// The checks that scripts made by autoconf run: which compiler, does it make programs, which headers and functions.
const CONFIGURE: &str = r#"#!/bin/sh
set -e
say() { echo "configure: $*"; }
$CC --version > version.txt 2>&1
$CC -v > /dev/null 2>&1
echo 'int main(void) { return 0; }' > conftest.c
$CC $CFLAGS -o conftest conftest.c && ./conftest || { say "C compiler cannot create executables"; exit 77; }
$CC $CFLAGS -c conftest.c && test -f conftest.o
printf '#ifndef __GNUC__\n#error no\n#endif\nint x;\n' > conftest.c
$CC -c conftest.c && say "GNU C"
printf '#include <stdio.h>\n' > conftest.c
$CC -E conftest.c > /dev/null && say "stdio.h"
printf 'char no_such_function(); int main(void) { return no_such_function(); }\n' > conftest.c
if $CC -o conftest conftest.c 2> /dev/null; then say "everything links"; exit 1; fi
printf 'int main(void) { return 0; }\n' > conftest.c
if $CC -no-such-flag -c conftest.c 2> /dev/null; then say "every flag works"; exit 1; fi
if $CC -Werror -static -o conftest conftest.c 2> /dev/null; then say "static works"; exit 1; fi
sed "s|@CC@|$CC|" < Makefile.in > Makefile
"#;

#[test]
fn a_configure_script() {
    for (family, _) in FAMILIES {
        let project = Project::new();
        project.write("configure", CONFIGURE);
        fs::set_permissions(project.path("configure"), fs::Permissions::from_mode(0o755)).unwrap();
        project.write("Makefile.in", "app: main.c greet.c\n\t@CC@ -o $@ $^\n");
        let compiler = project.path("bin/avmon-cc");
        succeed(project.command("./configure").env("CC", &compiler).env("AVMON_CC", family));
        let version = fs::read_to_string(project.path("version.txt")).unwrap();
        assert_eq!(version, succeed(Command::new(family).arg("--version")));
        succeed(project.command("make").env("AVMON_CC", family));
        check(&project.path("app"));
    }
}

const CMAKE: &str = "cmake_minimum_required(VERSION 3.10)\nproject(greet C CXX)\nfind_package(Threads REQUIRED)\n\
                     add_library(greet SHARED greet.c)\nadd_executable(app main.cc)\n\
                     target_link_libraries(app greet Threads::Threads)\n";

#[test]
fn a_cmake_project() {
    for (c, cxx, id) in [("gcc", "g++", "GNU"), ("clang", "clang++", "Clang")] {
        let project = Project::new();
        project.write("CMakeLists.txt", CMAKE);
        let mut configure = project.command("cmake");
        configure.args(["-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=Release"]);
        configure.env("CC", project.path("bin/avmon-cc")).env("CXX", project.path("bin/avmon-c++"));
        let text = succeed(configure.env("AVMON_CC", c).env("AVMON_CXX", cxx));
        assert!(text.contains(&format!("The CXX compiler identification is {id}")), "{text}");
        let mut build = project.command("cmake");
        succeed(build.args(["--build", "build"]).env("AVMON_CC", c).env("AVMON_CXX", cxx));
        check(&project.path("build/app"));
        let library = names(&project.path("build/libgreet.so"), &["-D", "--undefined-only"]);
        assert!(library.contains("__tsan_func_entry"));
    }
}

#[test]
fn questions_to_the_compiler_are_answered_by_the_compiler() {
    let project = Project::new();
    for (c, cxx) in FAMILIES {
        for question in ["--version", "-dumpversion", "-dumpmachine", "-print-search-dirs"] {
            let answer = succeed(project.cc().env("AVMON_CC", c).arg(question));
            assert_eq!(answer, succeed(Command::new(c).arg(question)), "{c} {question}");
        }
        // A C compiler that was named settles the C++ compiler.
        let answer = succeed(project.cxx().env("AVMON_CC", c).arg("--version"));
        assert_eq!(answer, succeed(Command::new(cxx).arg("--version")));
    }
}

#[test]
fn mistakes_get_an_answer_that_helps() {
    let project = Project::new();
    for (arguments, part) in [
        (&["-static", "main.c", "greet.c"][..], "dynamically linked"),
        (&["-m32", "-c", "main.c"], "leave out -m32"),
        (&["-fsanitize=address", "main.c", "greet.c"], "-fsanitize=address"),
        (&["--avmon-compiler=no-such-cc", "-c", "main.c"], "no-such-cc was not found"),
        (&["--avmon-compiler=avmon-cc", "-c", "main.c"], "avmon itself"),
    ] {
        let told = fail(project.cc().args(arguments));
        assert!(told.contains(part), "{arguments:?}: {told}");
    }
    let told = fail(project.cc().env("AVMON_CC", "no-such-cc").args(["-c", "main.c"]));
    assert!(told.contains("AVMON_CC"), "{told}");
    let told = fail(project.command(avmon()).args(["flags"]));
    assert!(told.contains("--cflags"), "{told}");
}

#[test]
fn without_a_writable_installation_the_support_files_go_to_the_cache() {
    let project = Project::new();
    // A file in the place of the directory: not even root can fill it.
    let bin = project.path("installed");
    fs::create_dir(&bin).unwrap();
    fs::copy(avmon(), bin.join("avmon")).unwrap();
    fs::write(bin.join("avmon-support"), "").unwrap();
    let cache = project.path("cache, with comma");
    let mut compiler = project.command(bin.join("avmon"));
    succeed(compiler.env("XDG_CACHE_HOME", &cache).args(["cc", "main.c", "greet.c", "-o", "app"]));
    assert!(cache.join("avmon").is_dir());
    check(&project.path("app"));
    let mut homeless = project.command(bin.join("avmon"));
    let told = fail(homeless.env_remove("HOME").env_remove("XDG_CACHE_HOME").args(["cc", "main.c"]));
    assert!(told.contains("XDG_CACHE_HOME") && told.contains("avmon-support"), "{told}");
}

#[test]
fn many_compilers_at_once() {
    let project = Project::new();
    let bin = project.path("installed");
    fs::create_dir(&bin).unwrap();
    fs::copy(avmon(), bin.join("avmon")).unwrap();
    let mut running: Vec<_> = (0..16)
        .map(|i| {
            let mut command = project.command(bin.join("avmon"));
            command.args(["cc", "main.c", "greet.c", "-o", &format!("app{i}")]).spawn().unwrap()
        })
        .collect();
    for compiler in &mut running {
        assert!(compiler.wait().unwrap().success());
    }
    assert_eq!(fs::read_dir(bin.join("avmon-support")).unwrap().count(), 5, "one file each, and nothing left over");
    check(&project.path("app15"));
}
