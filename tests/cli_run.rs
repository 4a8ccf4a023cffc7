//! `avmon run`: what the program sees, and every reason for not starting it.

mod cli_support;

use cli_support::{AVMON, avmon, clean, compile, end, file, refuses};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const EMPTY_MAIN: &str = "int main(void) { return 0; }\n";

/// `avmon run -- PROGRAM`.
fn run(program: &Path) -> Command {
    avmon(&["run", "--", program.to_str().unwrap()])
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Where cargo leaves the library that belongs to the command under test.
fn library() -> PathBuf {
    Path::new(AVMON).with_file_name("deps").join("libavmon.so").canonicalize().unwrap()
}

/// The value that the program finds in a variable.
fn seen(variable: &str, command: &mut Command) -> String {
    let ending = end(command.args(["--", "printenv", variable]));
    assert_eq!(ending.code, Some(0), "{ending:?}");
    ending.stdout.trim_end().to_owned()
}

// What the program sees.

#[test]
fn the_status_of_the_program_is_the_status_of_the_command() {
    assert_eq!(end(&mut avmon(&["run", "--", "sh", "-c", "exit 7"])).code, Some(7));
    assert_eq!(end(&mut avmon(&["run", "sh", "-c", "kill -TERM $$"])).code, None, "a signal ends it as without avmon");
}

#[test]
fn arguments_reach_the_program_untouched() {
    let ending = end(&mut avmon(&["run", "printf", "%s.", "--help", "-o", "--", "a b"]));
    assert_eq!(ending.stdout, "--help.-o.--.a b.");
}

/// What a shell prints that starts `avmon run -- sh -c INNER` after `setup`, with these redirections.
fn from_shell(setup: &str, inner: &str, redirections: &str) -> String {
    let line = format!("{setup}; exec \"$0\" run -- sh -c '{inner}' {redirections}");
    end(&mut clean(Path::new("sh"), &["-c", &line, AVMON])).stdout
}

#[test]
fn closed_files_stay_closed_and_open_ones_open() {
    let inner = "for i in 0 1 2; do [ -e /proc/$$/fd/$i ] && echo $i; done";
    assert_eq!(from_shell(":", inner, ""), "0\n1\n2\n");
    assert_eq!(from_shell(":", inner, "<&- 2>&-"), "1\n");
}

#[test]
fn a_broken_pipe_ends_the_program_only_if_it_would_without_avmon() {
    let inner = "kill -PIPE $$; echo alive";
    assert_eq!(from_shell("trap - PIPE", inner, ""), "");
    assert_eq!(from_shell("trap \"\" PIPE", inner, ""), "alive\n");
}

#[test]
fn the_library_is_preloaded_before_what_the_user_preloads() {
    let mut command = avmon(&["run"]);
    command.env("LD_PRELOAD", "libm.so.6");
    assert_eq!(seen("LD_PRELOAD", &mut command), format!("{}:libm.so.6", library().display()));
}

#[test]
fn flags_win_over_the_variable_and_quote_their_values() {
    let mut command = avmon(&["run", "--show-weak", "--summary=0", "--strip-path-prefix", "/a b:c/"]);
    command.env("AVMON_OPTIONS", "exitcode=3,summary=1");
    let (options, problems) = avmon::options::Options::parse(&seen("AVMON_OPTIONS", &mut command));
    assert_eq!(problems, []);
    assert_eq!((options.exitcode, options.show_weak, options.summary), (3, true, false));
    assert_eq!(options.strip_path_prefix, "/a b:c/");
}

#[test]
fn every_option_is_a_flag_that_checks_its_value() {
    // Those that steer a run have commands of their own.
    let is_flag = |name: &str| name != "help" && !name.starts_with("replay_") && !name.starts_with("chaos_");
    for row in avmon::options::table().iter().filter(|row| is_flag(row.name)) {
        let flag = format!("--{}", row.name.replace('_', "-"));
        let help = end(&mut avmon(&["run", "--help"])).stdout;
        assert!(help.contains(&flag), "{flag} is missing from the help");
        if row.form != "text" {
            refuses(&mut avmon(&["run", &format!("{flag}=rubbish"), "true"]), 2, &[row.name, row.form]);
        }
    }
}

#[test]
fn files_named_relative_to_here_are_found_from_everywhere() {
    let directory = directory();
    let mut command = avmon(&["run", "--log", "here"]);
    let text = seen("AVMON_OPTIONS", command.current_dir(directory.path()));
    let (options, _) = avmon::options::Options::parse(&text);
    let expected = directory.path().canonicalize().unwrap().join("here");
    assert_eq!(Path::new(&options.log_path), expected);
}

#[test]
fn an_unknown_variable_is_told_and_harmless() {
    let ending = end(avmon(&["run", "true"]).env("AVMON_OPTIOSN", "x=1"));
    assert_eq!(ending.code, Some(0));
    let warning = "avmon: warning: unknown environment variable AVMON_OPTIOSN; did you mean AVMON_OPTIONS?";
    assert!(ending.stderr.contains(warning), "{}", ending.stderr);
}

#[test]
fn a_script_runs_by_its_interpreter() {
    let directory = directory();
    let script = file(directory.path(), "script", "#! /bin/sh -e\necho from $0\n", 0o755);
    let ending = end(&mut run(&script));
    assert_eq!((ending.code, ending.stdout), (Some(0), format!("from {}\n", script.display())));
}

// Programs that are not there or cannot be executed.

#[test]
fn a_missing_program_is_127() {
    refuses(&mut avmon(&["run", "no-such-program"]), 127, &["no-such-program not found in PATH"]);
    refuses(&mut avmon(&["run", "./no/such/program"]), 127, &["./no/such/program not found", "is built"]);
    let directory = directory();
    file(directory.path(), "here", "#!/bin/sh\n", 0o755);
    refuses(avmon(&["run", "here"]).current_dir(directory.path()), 127, &["write './here'"]);
}

#[test]
fn what_cannot_be_executed_is_126() {
    let directory = directory();
    refuses(&mut run(directory.path()), 126, &["is a directory"]);
    refuses(&mut run(&file(directory.path(), "data", "x", 0o644)), 126, &["not executable", "chmod +x"]);
    refuses(
        &mut run(&file(directory.path(), "text", "echo hi\n", 0o755)),
        126,
        &["neither an ELF program nor a script"],
    );
    refuses(&mut run(&file(directory.path(), "empty", "", 0o755)), 126, &["neither an ELF program nor a script"]);
}

#[test]
fn a_program_without_the_right_to_execute_does_not_hide_a_later_one() {
    let (first, second) = (directory(), directory());
    file(first.path(), "tool", "x", 0o644);
    file(second.path(), "tool", "#!/bin/sh\necho second\n", 0o755);
    let path = std::env::join_paths([first.path(), second.path()]).unwrap();
    assert_eq!(end(avmon(&["run", "tool"]).env("PATH", path)).stdout, "second\n");
    refuses(avmon(&["run", "tool"]).env("PATH", first.path()), 126, &["not executable"]);
}

#[test]
fn the_interpreter_of_a_script_is_checked_too() {
    let directory = directory();
    let missing = file(directory.path(), "missing", "#!/no/such/sh\n", 0o755);
    refuses(&mut run(&missing), 126, &["is a script", "/no/such/sh does not exist"]);
    let statically = compile(directory.path(), "static", EMPTY_MAIN, &["-static"]);
    let script = file(directory.path(), "script", format!("#!{}\n", statically.display()), 0o755);
    refuses(&mut run(&script), 126, &["is a script", "its interpreter", "statically linked"]);
    let endless = directory.path().join("endless");
    file(directory.path(), "endless", format!("#!{}\n", endless.display()), 0o755);
    refuses(&mut run(&endless), 126, &["without an end"]);
}

// Programs that the monitor cannot get into.

#[test]
fn a_static_program_is_refused_with_the_way_out() {
    let directory = directory();
    for flag in ["-static", "-static-pie"] {
        let program = compile(directory.path(), "program", EMPTY_MAIN, &[flag]);
        refuses(&mut run(&program), 126, &["statically linked", "link it without -static"]);
    }
}

#[test]
fn a_program_with_the_old_condition_variables_is_refused() {
    let directory = directory();
    let source = |version: &str| {
        format!(
            "#include <pthread.h>\n__asm__(\".symver pthread_cond_signal, pthread_cond_signal@GLIBC_{version}\");\n\
             pthread_cond_t c; int main(void) {{ return pthread_cond_signal(&c); }}\n"
        )
    };
    let old = compile(directory.path(), "old", &source("2.2.5"), &["-pthread"]);
    refuses(&mut run(&old), 126, &["condition variables of glibc before 2.3.2", "link it again"]);
    let new = compile(directory.path(), "new", &source("2.3.2"), &["-pthread"]);
    assert!(run(&new).status().unwrap().success());
}

#[test]
fn a_setuid_or_setgid_program_is_refused_with_the_way_out() {
    let directory = directory();
    let program = fs::read(which("true")).unwrap();
    for mode in [0o4755, 0o2755] {
        let copy = file(directory.path(), "copy", &program, mode);
        refuses(&mut run(&copy), 126, &["setuid or setgid", "ignores preloaded libraries", "run a copy"]);
    }
}

#[test]
fn a_program_with_file_capabilities_is_refused() {
    let directory = directory();
    let copy = file(directory.path(), "copy", fs::read(which("true")).unwrap(), 0o755);
    // Version 2 of the kernel's record: magic, then two pairs of permitted and inheritable bits. Bit 10 is
    // CAP_NET_BIND_SERVICE.
    let mut record = [0u8; 20];
    record[3] = 2;
    record[5] = 4;
    let name = std::ffi::CString::new(copy.as_os_str().as_bytes()).unwrap();
    // SAFETY: the names are NUL-terminated, the record is as long as it says.
    let set = unsafe {
        libc::setxattr(name.as_ptr(), c"security.capability".as_ptr(), record.as_ptr().cast(), record.len(), 0)
    };
    if set != 0 {
        eprintln!("only root may give capabilities: not tested");
        return;
    }
    refuses(&mut run(&copy), 126, &["file capabilities", "run a copy"]);
}

fn which(name: &str) -> PathBuf {
    std::env::split_paths(&std::env::var_os("PATH").unwrap()).map(|d| d.join(name)).find(|p| p.exists()).unwrap()
}

/// The first bytes of an ELF file: class 1 is 32-bit, 2 is 64-bit.
fn elf_header(class: u8, machine: u8) -> Vec<u8> {
    let mut header = vec![0u8; 64];
    header[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1, 1]);
    header[16] = 2;
    header[18] = machine;
    header[20] = 1;
    header
}

#[test]
fn a_program_of_another_architecture_is_refused() {
    let (i386, x86_64, aarch64) = (3, 62, 183);
    let directory = directory();
    let program = |name: &str, class, machine| file(directory.path(), name, elf_header(class, machine), 0o755);
    refuses(&mut run(&program("i386", 1, i386)), 126, &["is a 32-bit program", "without -m32"]);
    refuses(&mut run(&program("x32", 1, x86_64)), 126, &["is a 32-bit program"]);
    refuses(&mut run(&program("arm", 2, aarch64)), 126, &["another processor", "x86-64"]);
    refuses(&mut run(&program("hollow", 2, x86_64)), 126, &["statically linked"]);
    let mut damaged = elf_header(2, x86_64);
    (damaged[32..40]).fill(0xff);
    (damaged[54], damaged[56]) = (56, 4);
    refuses(&mut run(&file(directory.path(), "damaged", damaged, 0o755)), 126, &["damaged ELF file"]);
}

#[test]
fn a_program_of_another_c_library_is_refused() {
    let directory = directory();
    let loader = "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1";
    let program = compile(directory.path(), "program", EMPTY_MAIN, &[loader]);
    refuses(&mut run(&program), 126, &["/lib/ld-musl-x86_64.so.1", "needs glibc"]);
}

#[test]
fn a_program_with_a_sanitizer_inside_is_refused() {
    let directory = directory();
    for (flag, runtime) in [("-fsanitize=thread", "TSan"), ("-fsanitize=address", "ASan")] {
        let program = compile(directory.path(), "program", EMPTY_MAIN, &[flag]);
        refuses(&mut run(&program), 126, &[&format!("built with the {runtime} runtime"), "rebuild it with 'avmon cc'"]);
    }
    // As clang links it: the runtime is part of the program.
    let source = "void __tsan_init(void) {}\nint main(void) { return 0; }\n";
    let program = compile(directory.path(), "inside", source, &["-rdynamic"]);
    refuses(&mut run(&program), 126, &["built with the TSan runtime"]);
    let program = compile(directory.path(), "stripped", source, &["-rdynamic", "-s"]);
    refuses(&mut run(&program), 126, &["built with the TSan runtime"]);
}

// What avmon needs for itself.

#[test]
fn the_library_is_found_beside_the_command_in_lib_or_by_the_variable() {
    let directory = directory();
    let bin = directory.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::create_dir_all(directory.path().join("lib")).unwrap();
    let command = bin.join("avmon");
    fs::copy(AVMON, &command).unwrap();

    refuses(&mut clean(&command, &["run", "true"]), 125, &["libavmon.so not found", "cargo build", "AVMON_LIBRARY"]);
    refuses(clean(&command, &["run", "true"]).env("AVMON_LIBRARY", "/no/lib.so"), 125, &["/no/lib.so", "not a file"]);

    let real = |path: &Path| path.canonicalize().unwrap().display().to_string();
    let by_variable = directory.path().join("other.so");
    fs::copy(library(), &by_variable).unwrap();
    let mut named = clean(&command, &["run"]);
    assert_eq!(seen("LD_PRELOAD", named.env("AVMON_LIBRARY", &by_variable)), real(&by_variable));

    let in_lib = directory.path().join("lib/libavmon.so");
    fs::copy(library(), &in_lib).unwrap();
    assert_eq!(seen("LD_PRELOAD", &mut clean(&command, &["run"])), real(&in_lib));

    let beside = bin.join("libavmon.so");
    fs::copy(library(), &beside).unwrap();
    assert_eq!(seen("LD_PRELOAD", &mut clean(&command, &["run"])), real(&beside));

    // As after `cargo run`, with the library of an earlier `cargo build` beside the command.
    fs::create_dir(bin.join("deps")).unwrap();
    let fresh = bin.join("deps/libavmon.so");
    fs::copy(library(), &fresh).unwrap();
    assert_eq!(seen("LD_PRELOAD", &mut clean(&command, &["run"])), real(&fresh));
}

#[test]
fn a_library_that_the_loader_could_not_name_is_refused() {
    let directory = directory();
    let spaced = directory.path().join("my code");
    fs::create_dir(&spaced).unwrap();
    let copy = spaced.join("libavmon.so");
    fs::copy(library(), &copy).unwrap();
    refuses(avmon(&["run", "true"]).env("AVMON_LIBRARY", &copy), 125, &["white space", "AVMON_LIBRARY"]);
}

#[test]
fn a_log_that_cannot_be_written_is_told_before_the_program_starts() {
    refuses(
        &mut avmon(&["run", "-o", "/no/such/place/log", "echo", "started"]),
        125,
        &["/no/such/place/log.", "--log"],
    );
    let mut command = avmon(&["run", "echo", "started"]);
    refuses(command.env("AVMON_OPTIONS", "log_path=/no/such/place/log"), 125, &["cannot be written"]);
}

#[test]
fn a_misspelt_option_is_told_with_the_nearest_one() {
    refuses(
        avmon(&["run", "true"]).env("AVMON_OPTIONS", "log_pth=x"),
        2,
        &["AVMON_OPTIONS", "did you mean 'log_path'?"],
    );
    refuses(&mut avmon(&["run", "--log-pth", "x", "true"]), 2, &["--log-pth", "--log-path"]);
    refuses(&mut avmon(&["run", "--log-path", "a'b\"c", "true"]), 2, &["both kinds of quote"]);
}

#[test]
fn a_broken_file_of_rules_is_told_with_line_and_column() {
    let directory = directory();
    let broken = |name: &str, text: &str| file(directory.path(), name, text, 0o644).to_str().unwrap().to_owned();
    let suppressions = broken("suppressions", "# known\natomicty:append\n");
    refuses(
        &mut avmon(&["run", "--suppressions", &suppressions, "true"]),
        125,
        &[&format!("{suppressions}:2:1:"), "did you mean 'atomicity'?"],
    );
    let specification = broken("specification", "atomic:push\n  atomic:\n");
    refuses(
        &mut avmon(&["run", "--specification", &specification, "true"]),
        125,
        &[&format!("{specification}:2:10:"), "empty template"],
    );
    refuses(&mut avmon(&["run", "--suppressions", "/no/such/file", "true"]), 125, &["/no/such/file", "suppressions"]);
}
