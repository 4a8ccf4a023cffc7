//! `avmon record`: a program, its end, and what is left in the directory.

mod cli_support;

use cli_support::{avmon, compile, end, file, refuses};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Two threads add to a counter, then the program ends as its argument says: a status, or below 0 a signal.
const PROGRAM: &str = "
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;
static void add(int n) { pthread_mutex_lock(&lock); counter += n; pthread_mutex_unlock(&lock); }
static void skip(int n) { pthread_mutex_lock(&lock); counter -= n; pthread_mutex_unlock(&lock); }
static void *worker(void *argument) {
    for (int i = 0; i < 100; i++) { add(i); skip(i); }
    return argument;
}
int main(int count, char **arguments) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, worker, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    int end = count > 1 ? atoi(arguments[1]) : 0;
    if (end < 0) raise(-end);
    return end;
}
";

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// A program built for the monitor.
    fn instrumented(&self) -> PathBuf {
        self.built("prog", PROGRAM, &["-pthread"])
    }

    fn built(&self, name: &str, source: &str, flags: &[&str]) -> PathBuf {
        let (source, output) = (file(self.path(), &format!("{name}.c"), source, 0o644), self.path().join(name));
        let mut build = avmon(&["cc", "-O1", "-o"]);
        let built = end(build.arg(&output).arg(source).args(flags));
        assert_eq!(built.code, Some(0), "{built:?}");
        output
    }

    fn record(&self, arguments: &[&str]) -> Command {
        let mut command = avmon(&["record"]);
        command.args(arguments).current_dir(self.path());
        command
    }

    /// What `avmon info --json` says.
    fn info(&self) -> serde_json::Value {
        let ending = end(avmon(&["info", "--json"]).current_dir(self.path()));
        assert_eq!(ending.code, Some(0), "{ending:?}");
        serde_json::from_str(&ending.stdout).unwrap()
    }
}

#[test]
fn a_recording_holds_what_the_program_did_and_how_it_ended() {
    let place = Place::new();
    let program = place.instrumented();
    let ending = end(place.record(&["--"]).arg(&program).arg("3"));
    assert_eq!(ending.code, Some(3), "{ending:?}");
    assert!(ending.stderr.contains("avmon: the trace is avmon.data: 1 process, 3 threads, "), "{ending:?}");
    assert!(ending.stderr.ends_with("avmon: 'avmon info avmon.data' tells more\n"), "{ending:?}");
    assert!(!ending.stderr.contains("warning"), "{ending:?}");
    let info = place.info();
    assert_eq!(
        (&info["exit_status"], &info["complete"], &info["problems"]),
        (&3.into(), &true.into(), &serde_json::json!([]))
    );
    assert_eq!((&info["locks"], &info["shared_variables"]), (&1.into(), &1.into()));
    assert_eq!(info["kinds"]["acquire"], 400);
    assert_eq!(info["arguments"][1], "3");
    assert_eq!(info["threads"][1]["start_routine"], "worker");
    let built_with_id = |module: &serde_json::Value| module["path"] == program.to_str().unwrap();
    assert!(info["modules"].as_array().unwrap().iter().any(built_with_id), "{info}");
    let ending = end(avmon(&["dump", "--object", "^counter$", "--function", "^skip$"]).current_dir(place.path()));
    assert_eq!(ending.stdout.lines().count(), 400, "a read and a write of each call");
    assert!(ending.stdout.lines().all(|line| line.ends_with(" skip prog.c:8")), "{}", ending.stdout);
}

/// Loads a plugin, calls it, and unloads it at once.
const PLUGIN_USER: &str = r#"
#include <dlfcn.h>
#include <pthread.h>
static void *work(void *path) {
    void *plugin = dlopen(path, RTLD_NOW);
    ((void (*)(int))dlsym(plugin, "in_the_plugin"))(2);
    dlclose(plugin);
    return path;
}
int main(int count, char **arguments) {
    pthread_t thread;
    pthread_create(&thread, 0, work, arguments[count - 1]);
    return pthread_join(thread, 0);
}
"#;

#[test]
fn code_that_was_unloaded_at_once_still_has_its_names() {
    let place = Place::new();
    let source = "int total; void in_the_plugin(int by) { total += by; }";
    let plugin = place.built("plugin", source, &["-shared", "-fPIC"]);
    let program = place.built("user", PLUGIN_USER, &["-pthread", "-ldl"]);
    let ending = end(place.record(&["--"]).arg(&program).arg(&plugin));
    assert_eq!(ending.code, Some(0), "{ending:?}");
    let dump = end(avmon(&["dump", "--object", "^total$", "--function", "^in_the_plugin$"]).current_dir(place.path()));
    assert_eq!(dump.stdout.lines().count(), 2, "{dump:?}");
}

#[test]
fn only_the_owner_can_read_a_recording() {
    let place = Place::new();
    end(place.record(&["-o", "here"]).arg(place.instrumented()));
    for path in fs::read_dir(place.path().join("here")).unwrap().map(|entry| entry.unwrap().path()) {
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        assert!(!path.is_dir() || mode == 0o700, "{} has {mode:o}", path.display());
    }
    assert_eq!(place.path().join("here").metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn death_by_a_signal_is_passed_on_and_told() {
    let place = Place::new();
    let ending = end(place.record(&["--"]).arg(place.instrumented()).arg("-9"));
    assert_eq!(ending.code, None, "{ending:?}");
    let info = place.info();
    assert_eq!((&info["signal"], &info["complete"]), (&9.into(), &false.into()), "{info}");
    assert_eq!(info["kinds"]["acquire"], 400, "what was published is there");
    let status = place.record(&["sh", "-c", "kill -TERM $$"]).stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.signal(), Some(libc::SIGTERM));
}

#[test]
fn signals_reach_the_program() {
    let place = Place::new();
    for (signal, name) in [(libc::SIGTERM, "TERM"), (libc::SIGHUP, "HUP")] {
        let line = format!("trap 'echo got; exit 5' {name}; echo ready; while :; do sleep 0.01; done");
        let mut child =
            place.record(&["sh", "-c", &line]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        // SAFETY: a signal to a child that was not waited for yet.
        unsafe { libc::kill(child.id() as i32, signal) };
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        assert_eq!((line.as_str(), child.wait().unwrap().code()), ("ready\ngot\n", Some(5)));
    }
}

#[test]
fn what_is_typed_is_for_the_program_to_judge() {
    let place = Place::new();
    let mut child = place
        .record(&["sh", "-c", "trap '' INT; echo ready; read line; exit 6"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
    // SAFETY: a signal to a child that was not waited for yet.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(6));
}

#[test]
fn an_earlier_recording_is_kept_once() {
    let place = Place::new();
    let program = place.instrumented();
    for status in ["1", "2", "3"] {
        end(place.record(&["--"]).arg(&program).arg(status));
    }
    assert_eq!(place.info()["exit_status"], 3);
    let old = end(avmon(&["info", "--json", "avmon.data.old"]).current_dir(place.path())).stdout;
    assert_eq!(serde_json::from_str::<serde_json::Value>(&old).unwrap()["exit_status"], 2);
}

#[test]
fn what_is_not_a_recording_is_left_alone() {
    let place = Place::new();
    let other = place.path().join("mine");
    fs::create_dir(&other).unwrap();
    file(&other, "precious", "", 0o644);
    refuses(&mut place.record(&["-o", "mine", "true"]), 125, &["mine is there", "choose another directory with -o"]);
    file(place.path(), "avmon.data", "", 0o644);
    refuses(&mut place.record(&["true"]), 125, &["avmon.data is there"]);
    assert!(other.join("precious").exists());
    let empty = place.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert_eq!(end(&mut place.record(&["-o", "empty", "true"])).code, Some(0));
    refuses(&mut place.record(&["-o", "/no/such/place", "true"]), 125, &["/no/such/place", "-o"]);
    refuses(&mut place.record(&["-o", "new", "no-such-program"]), 127, &["not found"]);
    assert!(!place.path().join("new").exists(), "nothing is made for a program that does not start");
}

#[test]
fn a_program_without_threads_leaves_nothing_and_that_is_told() {
    let place = Place::new();
    let ending = end(&mut place.record(&["true"]));
    assert_eq!(ending.code, Some(0));
    assert!(ending.stderr.contains("nothing was recorded, since the program created no thread"), "{ending:?}");
}

#[test]
fn a_program_that_is_not_instrumented_is_told() {
    let place = Place::new();
    let program = compile(place.path(), "plain", PROGRAM, &["-pthread"]);
    let ending = end(place.record(&["--"]).arg(program));
    assert!(ending.stderr.contains("is not instrumented") && ending.stderr.contains("'avmon cc'"), "{ending:?}");
    assert_eq!(place.info()["kinds"]["acquire"], 400);
}

#[test]
fn excluded_code_is_not_recorded() {
    let place = Place::new();
    let program = place.instrumented();
    let ending = end(place.record(&["-x", "function:^skip$", "-x", "file:nowhere", "--"]).arg(&program));
    assert!(ending.stderr.contains("left out: 400 excluded"), "{ending:?}");
    assert_eq!(place.info()["dropped"]["excluded"], 400);
    let rules = fs::read_to_string(place.path().join("avmon.data/exclude.txt")).unwrap();
    assert_eq!(rules, "function:^skip$\nfile:nowhere\n");
    let dumped = end(avmon(&["dump", "--object", "^counter$"]).current_dir(place.path())).stdout;
    assert_eq!(dumped.lines().count(), 400);
    assert!(dumped.lines().all(|line| line.ends_with(" add prog.c:7")), "{dumped}");
}

#[test]
fn a_size_limit_stops_the_recording_and_that_is_told() {
    let place = Place::new();
    // Addresses that nobody can foretell take the most room.
    let source = PROGRAM
        .replace(
            "static int counter;",
            "static int table[1 << 20]; static unsigned at;\n#define counter table[at >> 12]",
        )
        .replace("{ add(i);", "{ at = at * 1103515245 + 12345; add(i);")
        .replace("i < 100;", "i < 200000;");
    fs::write(place.path().join("long.c"), source).unwrap();
    assert_eq!(end(avmon(&["cc", "-O1", "-pthread", "long.c", "-o", "long"]).current_dir(place.path())).code, Some(0));
    let ending = end(&mut place.record(&["--all", "--max-size", "1", "./long"]));
    assert_eq!(ending.code, Some(0), "the program goes on");
    assert!(place.info()["stopped"].is_string(), "{ending:?}");
    assert!(ending.stderr.contains("avmon: warning: "), "{ending:?}");
    assert!(place.info()["bytes_on_disk"].as_u64().unwrap() <= 2 << 20);
}

#[test]
fn bad_options_are_told() {
    let place = Place::new();
    refuses(&mut place.record(&["-x", "functoin:a", "true"]), 2, &["functoin", "did you mean 'function'?"]);
    refuses(&mut place.record(&["-x", "file:a", "--all", "true"]), 2, &["--exclude", "--all"]);
    refuses(&mut place.record(&["--ring", "true"]), 2, &["--max-size"]);
    refuses(&mut place.record(&["--max-size", "0", "true"]), 2, &["--max-size"]);
    refuses(&mut place.record(&[]), 2, &["PROGRAM"]);
    assert!(!place.path().join("avmon.data").exists());
}

#[test]
fn options_of_the_monitor_are_flags_and_those_of_recordings_are_not_doubled() {
    let help = end(&mut avmon(&["record", "--help"])).stdout;
    assert!(help.contains("--show-weak") && help.contains("--max-size") && !help.contains("--trace-"), "{help}");
    let place = Place::new();
    let ending = end(&mut place.record(&["--summary=0", "--values", "printenv", "AVMON_OPTIONS"]));
    let (options, problems) = avmon::options::Options::parse(&ending.stdout);
    assert_eq!(problems, []);
    assert_eq!((options.summary, options.trace_values, options.trace_all), (false, true, false));
    assert_eq!(Path::new(&options.trace_path), place.path().canonicalize().unwrap().join("avmon.data"));
}
