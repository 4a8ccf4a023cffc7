//! What steering must not do to a program, and must not say of it: `avmon confirm`, `replay` and `chaos` before real programs that are hard to steer.

mod cli_support;
mod support;

use cli_support::{Ending, avmon, end, file};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use support::build;

/// Two threads mark or count, and an update in between is lost: what each program begins with. `UPDATE` is `|` or `+`.
const UPDATES: &str = "
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value;
static int get(void) { pthread_mutex_lock(&lock); int now = value; pthread_mutex_unlock(&lock); return now; }
static void set(int now) { pthread_mutex_lock(&lock); value = now; pthread_mutex_unlock(&lock); }
static void update(void) { set(get() UPDATE 1); }
static int two(void *(*work)(void *)) {
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return value;
}
/* The second one comes later, so that nothing is lost by itself. */
static void come(void *number) { if (number) usleep(20000); }
";

/// A program in a directory of its own.
struct Home(tempfile::TempDir);

impl Home {
    /// With `./app`, whose updates are lost (`+`) or make no difference (`|`).
    fn new(update: char, source: &str) -> Home {
        let home = Home(tempfile::tempdir().unwrap());
        home.build("app", &format!("#define UPDATE {update}\n{UPDATES}{source}"), &[]);
        home
    }

    fn build(&self, name: &str, source: &str, flags: &[&str]) {
        let input = file(self.0.path(), "source.c", source, 0o644);
        build::compile(build::Variant::Instrumented, &input, &self.path(name), flags).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = avmon(arguments);
        command.current_dir(self.0.path());
        command
    }

    /// A short hunt.
    fn confirm(&self, flags: &[&str]) -> Ending {
        let arguments = [&["confirm", "--baseline", "2"], flags, &["--", "./app"]].concat();
        end(&mut self.command(&arguments))
    }
}

/// The hunt reached its violations, and said nothing bad of a program that is right.
#[track_caller]
fn only_confirms(ending: &Ending) {
    assert!(ending.stdout.contains("Tried, confirmed: "), "{ending:?}");
    assert!(ending.stdout.contains(" 0 failing (F)"), "{ending:?}");
    assert!(!ending.stdout.contains("deadlock"), "{ending:?}");
}

#[track_caller]
fn fails(ending: &Ending) {
    assert_eq!(ending.code, Some(66), "{ending:?}");
    assert!(ending.stdout.contains("Tried, failing: "), "{ending:?}");
}

#[test]
fn nothing_is_written_into_files_of_a_program_that_closes_what_it_does_not_know() {
    let home = Home::new(
        '+',
        r#"
#include <fcntl.h>
#include <stdio.h>
static void *work(void *number) { come(number); update(); return 0; }
int main(void) {
    pthread_t first, second;
    pthread_create(&first, 0, work, 0);
    for (int i = 3; i < 64; i++) close(i);
    int out = open("out.txt", O_RDWR | O_CREAT | O_TRUNC, 0644);
    pthread_create(&second, 0, work, (void *)1);
    pthread_join(first, 0);
    pthread_join(second, 0);
    dprintf(out, "result\n");
    return value != 2;
}
"#,
    );
    fails(&home.confirm(&[]));
    // The last run was a steered one.
    assert_eq!(std::fs::read_to_string(home.path("out.txt")).unwrap(), "result\n");
}

#[test]
fn a_program_gets_the_descriptors_that_it_always_gets() {
    let home = Home::new(
        '|',
        r#"
#include <fcntl.h>
#include <stdio.h>
static void *work(void *number) { come(number); update(); return 0; }
int main(void) {
    two(work);
    printf("descriptor %d\n", open("/dev/null", O_RDONLY));
    return 0;
}
"#,
    );
    only_confirms(&home.confirm(&[]));
    let chance = end(&mut home.command(&["chaos", "--runs", "3", "--", "./app"]));
    assert_eq!(chance.code, Some(0), "{chance:?}");
}

#[test]
fn a_semaphore_that_a_handler_posts_is_no_deadlock() {
    only_confirms(
        &Home::new(
            '|',
            r"
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>
static sem_t go;
static void post(int signal) { sem_post(&go); sem_post(&go); }
static void *work(void *number) { come(number); update(); while (sem_wait(&go) && errno == EINTR); return 0; }
int main(void) {
    struct itimerval soon = {{0, 0}, {0, 300000}};
    signal(SIGALRM, post);
    sem_init(&go, 0, 0);
    setitimer(ITIMER_REAL, &soon, 0);
    return two(work) != 1;
}
",
        )
        .confirm(&[]),
    );
}

#[test]
fn a_condition_that_a_timer_signals_is_no_deadlock() {
    only_confirms(
        &Home::new(
            '|',
            r"
#include <signal.h>
#include <time.h>
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int go;
static void fire(union sigval unused) {
    pthread_mutex_lock(&lock);
    go = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}
static void *work(void *number) {
    come(number);
    update();
    pthread_mutex_lock(&lock);
    while (!go) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return 0;
}
int main(void) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = fire};
    struct itimerspec soon = {{0, 0}, {0, 300000000}};
    timer_t timer;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &soon, 0);
    return two(work) != 1;
}
",
        )
        .confirm(&[]),
    );
}

/// Before a program that shares an object with its child.
const SHARED: &str = r"
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
static void *shared(void) { return mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); }
";

#[test]
fn a_semaphore_that_another_process_posts_is_no_deadlock() {
    only_confirms(
        &Home::new(
            '|',
            &[
                SHARED,
                r"
static sem_t *go;
static void *work(void *number) { come(number); update(); sem_wait(go); return 0; }
int main(void) {
    go = shared();
    sem_init(go, 1, 0);
    if (fork() == 0) { usleep(300000); sem_post(go); sem_post(go); _exit(0); }
    int wrong = two(work) != 1;
    wait(0);
    return wrong;
}
",
            ]
            .concat(),
        )
        .confirm(&[]),
    );
}

#[test]
fn a_mutex_that_another_process_has_is_no_deadlock() {
    only_confirms(
        &Home::new(
            '|',
            &[
                SHARED,
                r#"
static pthread_mutex_t *door;
static void *work(void *number) { come(number); update(); pthread_mutex_lock(door); pthread_mutex_unlock(door); return 0; }
int main(void) {
    pthread_mutexattr_t attributes;
    int locked[2];
    char byte;
    door = shared();
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(door, &attributes);
    if (pipe(locked)) return 9;
    if (fork() == 0) {
        pthread_mutex_lock(door);
        if (write(locked[1], "x", 1) != 1) _exit(9);
        usleep(300000);
        pthread_mutex_unlock(door);
        _exit(0);
    }
    if (read(locked[0], &byte, 1) != 1) return 9;
    int wrong = two(work) != 1;
    wait(0);
    return wrong;
}
"#,
            ]
            .concat(),
        )
        .confirm(&[]),
    );
}

/// Both wait for the second arrival, and one is lost.
const LOST_ARRIVAL: &str = r"
#include <signal.h>
static pthread_cond_t all = PTHREAD_COND_INITIALIZER;
static void *work(void *number) {
    come(number);
    update();
    pthread_mutex_lock(&lock);
    if (value == 2) pthread_cond_broadcast(&all);
    while (value < 2) pthread_cond_wait(&all, &lock);
    pthread_mutex_unlock(&lock);
    return 0;
}
static void handle(int signal) {}
";

#[test]
fn a_deadlock_that_nobody_can_end_is_told() {
    let home = Home::new('+', &[LOST_ARRIVAL, "int main(void) { return two(work) != 2; }"].concat());
    let ending = home.confirm(&[]);
    assert_eq!(ending.code, Some(66), "{ending:?}");
    assert!(ending.stdout.contains("Tried, deadlock: "), "{ending:?}");
    assert!(ending.stdout.contains("so in 10 of 10 runs"), "{ending:?}");
}

#[test]
fn a_deadlock_that_lasts_is_told_although_a_signal_might_have_ended_it() {
    let main = "int main(void) { signal(SIGUSR1, handle); return two(work) != 2; }";
    let home = Home::new('+', &[LOST_ARRIVAL, main].concat());
    let ending = home.confirm(&["--timeout", "4", "--runs", "1"]);
    assert_eq!(ending.code, Some(66), "{ending:?}");
    assert!(ending.stdout.contains("Tried, deadlock: "), "{ending:?}");
}

#[test]
fn code_of_a_library_that_is_opened_at_run_time_is_steered() {
    let plugin = format!(
        "#define UPDATE +\n{UPDATES}
void plugin_update(void) {{ update(); }}
int plugin_value(void) {{ return value; }}
void *(*unused[])(void *) = {{(void *)two, (void *)come}};
"
    );
    let host = |opened_by_main: bool| {
        let (main, worker) = if opened_by_main { ("open_plugin();", "") } else { ("", "if (!number) open_plugin();") };
        format!(
            r#"
#include <dlfcn.h>
static pthread_barrier_t opened;
static void *plugin;
static void open_plugin(void) {{ plugin = dlopen("./plugin.so", RTLD_NOW); }}
static void *work(void *number) {{
    {worker}
    pthread_barrier_wait(&opened);
    come(number);
    ((void (*)(void))dlsym(plugin, "plugin_update"))();
    return 0;
}}
int main(void) {{
    pthread_barrier_init(&opened, 0, 2);
    {main}
    two(work);
    return ((int (*)(void))dlsym(plugin, "plugin_value"))() != 2;
}}
"#
        )
    };
    for opened_by_main in [true, false] {
        let home = Home::new('+', &host(opened_by_main));
        home.build("plugin.so", &plugin, &["-shared", "-fPIC"]);
        fails(&home.confirm(&[]));
    }
}

#[test]
fn children_with_threads_of_their_own_are_steered() {
    let home = Home::new(
        '+',
        r"
#include <sys/wait.h>
static void *work(void *number) { come(number); update(); return 0; }
int main(void) {
    int sum = two(work), status;
    for (int i = 0; i < 2; i++) {
        if (fork() == 0) { value = 0; _exit(two(work)); }
        wait(&status);
        sum += WEXITSTATUS(status);
    }
    return sum != 6;
}
",
    );
    let ending = home.confirm(&[]);
    fails(&ending);
    assert!(ending.stdout.contains(" 3 reached their violation (N), 3 failing (F)"), "{ending:?}");
    let schedules = std::fs::read_dir(home.path("avmon.confirm")).unwrap().flatten().map(|entry| entry.path());
    let is_of_last = |text: &String| text.lines().any(|line| line.starts_with("program ") && line.ends_with(" 2"));
    let texts = schedules.filter(|path| path.extension().is_some_and(|it| it == "schedule"));
    let text =
        texts.map(|path| std::fs::read_to_string(path).unwrap()).find(is_of_last).expect("one of the last child");
    let first = text.lines().find(|line| line.starts_with("program ")).unwrap();
    let later = text.replace(first, &format!("{}7", first.strip_suffix('2').unwrap()));
    file(home.0.path(), "later.schedule", later, 0o644);
    let replayed = end(&mut home.command(&["replay", "later.schedule", "--", "./app"]));
    assert!(replayed.stderr.contains("only 3 processes of 'app' created threads"), "{replayed:?}");
}

/// The main thread waits in the kernel for the second worker: as long as that is held, it might go on at any time, as far as the gate knows.
const WAITS_IN_KERNEL: &str = r#"
static int ended[2];
static void *work(void *number) {
    come(number);
    update();
    update();
    return (void *)(number ? write(ended[1], "x", 1) - 1 : 0);
}
int main(void) {
    pthread_t threads[2];
    char byte;
    if (pipe(ended)) return 9;
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, (void *)i);
    if (read(ended[0], &byte, 1) != 1) return 9;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return two == 0 || value != 1;
}
"#;

/// A schedule whose last turn is of a thread that never comes.
fn make_late(home: &Home) -> &'static str {
    let text = std::fs::read_to_string(home.path("avmon.confirm/1.schedule")).unwrap();
    file(home.0.path(), "late.schedule", format!("{text}turn 9 0\n"), 0o644);
    "late.schedule"
}

#[test]
fn a_program_that_is_still_held_when_its_time_is_over_did_not_fail() {
    let home = Home::new('|', WAITS_IN_KERNEL);
    only_confirms(&home.confirm(&["--runs", "1"]));
    let flags = ["--timeout", "5", "--step-timeout", "60000", "--baseline", "2"];
    let arguments = [&["replay"], &flags[..], &[make_late(&home), "--", "./app"]].concat();
    let held = end(&mut home.command(&arguments));
    assert!(held.stderr.contains("avmon: confirmed: "), "{held:?}");
}

/// The main thread waits for the second worker as barriers and waits of C++20 do: by a bare call of the kernel.
const WAITS_BY_FUTEX: &str = "
#include <linux/futex.h>
#include <sys/syscall.h>
static int ended;
static void *work(void *number) {
    come(number);
    update();
    update();
    if (number) {
        __atomic_store_n(&ended, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &ended, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
    }
    return 0;
}
int main(void) {
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, (void *)i);
    while (!__atomic_load_n(&ended, __ATOMIC_SEQ_CST)) syscall(SYS_futex, &ended, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return two == 0 || value != 1;
}
";

#[test]
fn who_waits_in_the_kernel_for_a_thread_that_is_held_is_not_waited_for_long() {
    let home = Home::new('|', WAITS_BY_FUTEX);
    only_confirms(&home.confirm(&["--runs", "1"]));
    // Longer than the run may take.
    let flags = ["replay", "--json", "--timeout", "50", "--step-timeout", "600000", make_late(&home), "--", "./app"];
    let ended = end(&mut home.command(&flags));
    let line: serde_json::Value = serde_json::from_str(ended.stdout.trim()).unwrap();
    assert_eq!(line["exit"]["code"], 0, "{ended:?}");
}

/// The first thread asks all the time whether the others are done.
const ASKS_AGAIN_AND_AGAIN: &str = "
static void *ask(void *it) {
    while (get() < 4) usleep(1000);
    return it;
}
static void *work(void *number) {
    come(number);
    update();
    return 0;
}
int main(void) {
    pthread_t asker, threads[2];
    pthread_create(&asker, 0, ask, 0);
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    set(4);
    pthread_join(asker, 0);
    return two == 0 || value != 4;
}
";

#[test]
fn who_asks_again_and_again_does_not_make_the_others_wait_for_ever() {
    let home = Home::new('|', ASKS_AGAIN_AND_AGAIN);
    only_confirms(&home.confirm(&["--runs", "1"]));
    let text = std::fs::read_to_string(home.path(make_late(&home))).unwrap();
    let without_asker = text.lines().filter(|line| !line.starts_with("turn 1")).map(|line| format!("{line}\n"));
    file(home.0.path(), "late.schedule", without_asker.collect::<String>(), 0o644);
    let flags = ["replay", "--json", "--timeout", "50", "--step-timeout", "200", "late.schedule", "--", "./app"];
    let ended = end(&mut home.command(&flags));
    let line: serde_json::Value = serde_json::from_str(ended.stdout.trim()).unwrap();
    assert_eq!(line["exit"]["code"], 0, "{ended:?}");
}

#[test]
fn a_program_goes_on_after_the_debugger_stopped_it() {
    let home = Home::new('|', WAITS_IN_KERNEL);
    only_confirms(&home.confirm(&["--runs", "1"]));
    let mut command = home.command(&["replay", "--gdb", make_late(&home), "--", "./app"]);
    let mut gdb = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    gdb.stdin.take().unwrap().write_all(b"continue\n").unwrap();
    let told = gdb.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&told.stdout);
    assert!(told.contains("hit Breakpoint") && told.contains("exited normally"), "{told}");
}

#[test]
fn before_the_debugger_a_step_that_does_not_come_is_told_and_ctrl_c_shows_the_threads() {
    let home = Home::new('|', WAITS_IN_KERNEL);
    only_confirms(&home.confirm(&["--runs", "1"]));
    let text = std::fs::read_to_string(home.path("avmon.confirm/1.schedule")).unwrap();
    // Nobody comes to this turn, and the gate does not know that main, in the kernel, will not end that.
    let late = |line: &str| format!("{}{line}\n", if line.contains("!culprit") { "turn 9 0\n" } else { "" });
    file(home.0.path(), "late.schedule", text.lines().map(late).collect::<String>(), 0o644);
    let mut command = home.command(&["replay", "--gdb", "late.schedule", "--", "./app"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut gdb = command.spawn().unwrap();
    let told = BufReader::new(gdb.stderr.take().unwrap()).lines().map_while(Result::ok);
    let told = told.into_iter().find(|line| line.contains("press ctrl-C to look at the threads"));
    assert!(told.is_some_and(|line| line.contains("T9: ")), "gdb ended before");
    let interrupt = || Command::new("kill").args(["-INT", "--", &format!("-{}", gdb.id())]).status().unwrap();
    for _ in 0..2 {
        interrupt();
        std::thread::sleep(Duration::from_secs(1));
    }
    gdb.stdin.take().unwrap().write_all(b"info threads\nkill\nquit\n").unwrap();
    let ended = gdb.wait_with_output().unwrap();
    let shown = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && shown.contains("received signal SIGINT"), "{:?}: {shown}", ended.status);
}

#[test]
fn a_pinned_process_id_is_the_same_for_all_who_ask() {
    let home = Home::new(
        '+',
        r"
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
static volatile int came;
static pid_t mine;
static void handle(int signal) { came++; }
static void *work(void *number) {
    if (gettid() == getpid() || getpid() != mine) _exit(9);
    come(number);
    update();
    return 0;
}
int main(void) {
    pid_t me = mine = getpid();
    int status, bad = setpgid(me, me);
    cpu_set_t set;
    signal(SIGUSR1, handle);
    if (fork() == 0) _exit(getppid() != me || getpid() == me || kill(me, SIGUSR1));
    bad |= waitpid(-me, &status, 0) < 0;
    bad |= gettid() != me || getpgrp() != me || getpgid(0) != me || kill(-me, SIGUSR1) || killpg(me, SIGUSR1) || came < 3;
    came = 0;
    bad |= sched_getaffinity(gettid(), sizeof set, &set) || setpriority(PRIO_PROCESS, me, getpriority(PRIO_PROCESS, me));
    bad |= status != 0 || waitid(P_PGID, me, 0, WEXITED | WNOHANG) == 0 || sigqueue(me, SIGUSR1, (union sigval){0}) || tgkill(me, gettid(), SIGUSR1);
    bad |= came < 2 || getpgid(me) != getpgrp() || getsid(me) != getsid(0);
    return two(work) != 2 || bad;
}
",
    );
    let ending = home.confirm(&["--pin", "pids"]);
    fails(&ending);
    assert!(!ending.stderr.contains("nobody steers it"), "{ending:?}");
}

#[test]
fn a_program_that_fails_because_of_a_pin_is_said_to() {
    let home = Home::new(
        '|',
        r#"
#include <stdio.h>
static void *work(void *number) { come(number); update(); return 0; }
int main(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", getpid());
    two(work);
    return access(path, R_OK) != 0;
}
"#,
    );
    let ending = home.confirm(&["--pin", "pids", "--runs", "1"]);
    assert!(ending.stderr.contains("because of --pin pids: leave that out"), "{ending:?}");
}

/// Threads that take turns are woken on one processor, but nobody is to see that.
#[test]
fn a_program_may_run_where_it_always_may() {
    let home = Home::new(
        '|',
        r"
#include <sched.h>
static int processors(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? -1 : CPU_COUNT(&set);
}
static int all, less;
static void *work(void *times) {
    for (long i = (long)times; i > 0; i--) {
        pthread_mutex_lock(&lock);
        value++;
        pthread_mutex_unlock(&lock);
        if (processors() != all) __atomic_store_n(&less, 1, __ATOMIC_RELAXED);
    }
    return 0;
}
int main(int count, char **arguments) {
    pthread_t threads[2];
    all = processors();
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, (void *)(count > 1 ? 500L : 3L));
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return less;
}
",
    );
    home.confirm(&["--runs", "1"]);
    let found = std::fs::read_to_string(home.path("avmon.confirm/1.schedule")).unwrap();
    let is_place = |line: &&str| line.starts_with("place ");
    let place = |number: usize, act: &str| {
        let line = found.lines().filter(is_place).find(|line| line.contains(&format!(" {act} work "))).unwrap();
        let words: Vec<&str> = line.split(' ').skip(2).collect();
        format!("place {number} {}", words.join(" "))
    };
    let head = found.lines().take_while(|line| !is_place(line)).map(str::to_owned);
    let turns = (0..1000).map(|turn| format!("turn {} 0 1", turn % 2 + 1));
    let lines: Vec<String> = head.chain([place(0, "lock"), place(1, "unlock")]).chain(turns).collect();
    file(home.0.path(), "turns.schedule", lines.join("\n") + "\n", 0o644);
    let ending = end(&mut home.command(&[
        "replay",
        "--json",
        "--step-timeout",
        "60000",
        "turns.schedule",
        "--",
        "./app",
        "often",
    ]));
    let told: serde_json::Value = serde_json::from_str(&ending.stdout).unwrap();
    assert_eq!(told["followed"]["skipped_turns"], 0, "{told:#}");
    assert_eq!(told["exit"]["code"], 0, "{told:#}");
}
