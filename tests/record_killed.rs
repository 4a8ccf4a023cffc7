//! A recording outlives its program, however that ends: every event that was published is there, and what is missing is named.
//!
//! The programs of `tests/recordings` say in a file how far they came; see `tests/recordings/killed/progress.h`.

mod support;

use avmon::event::Kind;
use avmon::trace::format::{FileHeader, IndexEntry};
use avmon::trace::reader::Problem;
use libtest_mimic::{Arguments, Trial};
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};
use support::build::{self, Variant};
use support::recording::{self, preloaded, reads};
use support::run::{End, LIMIT, Outcome, kill_group, run};

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for (program, kills) in KILLED {
        for batch in 0..BATCHES {
            let trial = move || Ok(kill_again_and_again(program, batch, kills / BATCHES)?);
            trials.push(Trial::test(format!("killed::{program}::{batch}"), trial));
        }
    }
    for (name, check) in ENDINGS {
        trials.push(Trial::test(format!("ending::{name}"), move || Ok(check()?)));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

// ---- the programs' own account --------------------------------------------------------------------------------------

/// The file in which a program notes how far it came.
struct Progress(PathBuf);

/// What one of its threads did.
#[derive(Clone, Copy, Debug)]
struct Row {
    pid: u32,
    /// The address of the lock that it took once per step, or 0.
    lock: u64,
    /// Where it counted its steps, and how many there are.
    address: u64,
    steps: u64,
}

impl Progress {
    const HEADER: u64 = 32;
    const ROW: u64 = 32;

    fn new(home: &Path) -> Result<Progress, String> {
        let path = home.join("progress");
        let file = fs::File::create(&path).and_then(|file| file.set_len(Progress::HEADER + (Progress::ROW << 16)));
        file.map_err(|error| error.to_string())?;
        // A program that is nobody any more goes on writing.
        let _ = fs::set_permissions(&path, fs::Permissions::from_mode(0o666));
        Ok(Progress(path))
    }

    fn words(file: &fs::File, at: u64) -> [u64; 4] {
        let mut bytes = [0; 32];
        let _ = file.read_exact_at(&mut bytes, at);
        let (words, _) = bytes.as_chunks();
        std::array::from_fn(|i| u64::from_le_bytes(words[i]))
    }

    fn rows(&self) -> Result<Vec<Row>, String> {
        let file = fs::File::open(&self.0).map_err(|error| error.to_string())?;
        let [count, ..] = Progress::words(&file, 0);
        let row = |at: u64| {
            let [pid, lock, steps, address] = Progress::words(&file, at);
            Row { pid: pid as u32, lock, address, steps }
        };
        Ok((0..count).map(|i| row(Progress::HEADER + i * Progress::ROW)).filter(|row| row.pid != 0).collect())
    }

    /// The rows to which nothing was added when the end came: what a thread does while the process ends is not recorded.
    fn finished_rows(&self) -> Result<Vec<Row>, String> {
        let file = fs::File::open(&self.0).map_err(|error| error.to_string())?;
        let [_, finished, ..] = Progress::words(&file, 0);
        Ok(self.rows()?.into_iter().take(finished as usize).collect())
    }

    /// Whether somebody has taken a step.
    fn has_begun(&self) -> bool {
        self.rows().is_ok_and(|rows| rows.iter().any(|row| row.steps > 0))
    }
}

/// Checks that the traces have all that the programs did: as many writes to the count as it says, or one more, since the hook
/// comes before the write; and as many acquires. The problems that were found on the way, by trace.
fn has_all(traces: &Path, rows: &[Row]) -> Result<Vec<(PathBuf, String)>, String> {
    let mut seen: HashMap<(u32, u64), u64> = HashMap::new();
    let mut all_problems = Vec::new();
    for path in recording::processes(traces) {
        // It was killed before its meta.json had that name. Nothing is recorded before, so its rows must be empty, too.
        if !path.join("meta.json").exists() && !path.join("chunks").exists() {
            continue;
        }
        let trace = recording::open(&path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let pid: u32 = name.split('.').next().and_then(|pid| pid.parse().ok()).ok_or(name)?;
        let problems = recording::read(&trace, |_, event| {
            if matches!(event.kind(), Some(Kind::Write | Kind::Acquire)) {
                *seen.entry((pid, event.object)).or_default() += 1;
            }
        });
        all_problems.extend(problems.into_iter().map(|problem| (path.clone(), problem)));
    }
    for row in rows {
        let writes = seen.get(&(row.pid, row.address)).copied().unwrap_or(0);
        let acquires = seen.get(&(row.pid, row.lock)).copied().unwrap_or(0);
        if writes < row.steps || writes > row.steps + 1 {
            return Err(format!("{row:x?}: {writes} of {} writes are there", row.steps));
        }
        // Locks of threads that came one after the other may share an address.
        if row.lock != 0 && acquires < row.steps {
            return Err(format!("{row:x?}: {acquires} of {} acquires are there", row.steps));
        }
    }
    Ok(all_problems)
}

/// A program of `tests/recordings`, built once.
fn program(name: &'static str, variant: Variant) -> Result<PathBuf, String> {
    static HOME: OnceLock<tempfile::TempDir> = OnceLock::new();
    static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one_at_a_time = LOCK.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let home = HOME.get_or_init(|| tempfile::tempdir().expect("a temporary directory"));
    let _ = fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755));
    let output = home.path().join(format!("{}-{}", name.replace('/', "-"), variant.name()));
    if !output.exists() {
        let source = support::root().join("tests/recordings").join(name).with_extension("c");
        build::compile(variant, &source, &output, &[])?;
    }
    Ok(output)
}

// ---- killed at any moment -------------------------------------------------------------------------------------------

/// Programs and how often each is killed: a hundred times in all.
const KILLED: [(&str, u64); 4] =
    [("killed/locks", 28), ("killed/accesses", 24), ("killed/threads", 24), ("killed/forks", 24)];
const BATCHES: u64 = 4;

/// Numbers that look random and are the same in every run.
fn random(seed: u64) -> u64 {
    let mixed = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 32
}

fn kill_again_and_again(name: &'static str, batch: u64, kills: u64) -> Result<(), String> {
    for kill in 0..kills {
        let seed = random(batch * 1000 + kill + (name.len() as u64) * 77);
        let variant = if kill % 2 == 0 { Variant::Instrumented } else { Variant::Clang };
        kill_once(&program(name, variant)?, seed).map_err(|error| format!("{name}, seed {seed}: {error}"))?;
    }
    Ok(())
}

fn kill_once(program: &Path, seed: u64) -> Result<(), String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let traces = home.path().join("traces");
    let progress = Progress::new(home.path())?;
    let options = format!("exitcode=0:report=0:summary=0:trace_all=1:trace_path={}", traces.display());
    let mut command = preloaded(program, &options);
    command.arg(&progress.0).current_dir(home.path()).stdin(Stdio::null()).process_group(0);
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    // One in eight is killed while it starts.
    let is_early = seed.is_multiple_of(8);
    let deadline = Instant::now() + LIMIT;
    while !is_early && !progress.has_begun() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_micros(seed / 8 % 50_000));
    kill_group(child.id());
    let end = child.wait().map(End::from).map_err(|error| error.to_string())?;
    if end != End::Signal(libc::SIGKILL) {
        return Err(format!("it ended by itself, with {end}"));
    }
    // The leader is gone; the others of its group may need a moment.
    // SAFETY: signal 0 only asks whether there is anybody.
    while unsafe { libc::kill(-(child.id() as libc::pid_t), 0) } == 0 && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
    let rows = progress.rows()?;
    if !is_early && rows.is_empty() {
        return Err("it never began".to_owned());
    }
    let problems = has_all(&traces, &rows)?;
    let killed = Problem::NoEnd.to_string();
    if let Some((path, strange)) = problems.iter().find(|(path, text)| *text != killed && !is_of_start(path, text)) {
        return Err(format!("{}: nothing else should be missing: {strange}", path.display()));
    }
    match problems.iter().find(|(_, text)| *text == killed) {
        None if rows.is_empty() => Ok(()),
        None => Err(format!("that it was killed is not named: {problems:?}")),
        Some((path, _)) => {
            let trace = path.display().to_string();
            can_be_read(&trace, &["check"])?;
            let info = reads(&["info", &trace], &[0])?;
            let dump = reads(&["dump", "--no-symbols", "--events", "..2000", &trace], &[0])?;
            let is_told = info.stdout.contains(&killed) && dump.stderr.contains(&killed);
            is_told.then_some(()).ok_or_else(|| format!("info or dump does not tell: {info}\n{}", dump.stderr))
        }
    }
}

/// Whether a problem is with a file that is not there yet, or was just made: its program was killed at that moment. What was recorded
/// has a `meta.json`, which is made before the chunks.
fn is_of_start(trace: &Path, problem: &str) -> bool {
    let file = problem.split(' ').next().unwrap_or_default().trim_end_matches(':');
    let is_known = ["chunks", "modules.jsonl", "order", "index"].contains(&file)
        || file.starts_with("streams/")
        || (file == "meta.json" && !trace.join("chunks").exists());
    // The line that was being written has no end.
    let is_torn = file == "modules.jsonl"
        && fs::read(trace.join(file)).is_ok_and(|text| text.last().is_some_and(|last| *last != b'\n'))
        && problem.contains("1 line is damaged");
    // The entry that was being written ends where a page does.
    let is_cut = file == "index"
        && fs::metadata(trace.join(file))
            .is_ok_and(|data| !(data.len() - FileHeader::BYTES as u64).is_multiple_of(IndexEntry::BYTES as u64))
        && problem.contains("1 entry is damaged");
    is_torn || is_cut || is_known && fs::metadata(trace.join(file)).map_or(true, |data| data.len() == 0)
}

fn can_be_read(trace: &str, commands: &[&str]) -> Result<(), String> {
    for command in commands {
        reads(&[command, trace], &[0, 66])?;
    }
    Ok(())
}

// ---- other ends -----------------------------------------------------------------------------------------------------

type Ending = fn() -> Result<(), String>;

const ENDINGS: [(&str, Ending); 18] = [
    ("status", || same("nothing", "", &Expect::COMPLETE)),
    ("segv", || same("segv", "", &Expect::COMPLETE)),
    ("abort", || same("abort", "", &Expect::COMPLETE)),
    ("terminated", || same("terminated", "", &Expect::COMPLETE)),
    ("underscore_exit", || same("underscore_exit", "", &Expect::COMPLETE)),
    ("exec", || same("exec", "", &Expect { problems: &["end.json is missing"], ..Expect::COMPLETE })),
    ("close_all", || same("close_all", "", &Expect::COMPLETE)),
    ("close_stderr", || same("close_stderr", "", &Expect::COMPLETE)),
    ("chdir", || same("chdir", "", &Expect::COMPLETE)),
    ("chroot", || same_as_root("chroot", &Expect::STOPPED)),
    ("nobody", || same_as_root("nobody", &Expect::STOPPED)),
    ("file_size_limit", || same("limit", "", &Expect { says: &["a limit on file sizes"], ..Expect::COMPLETE })),
    ("unwritable", unwritable),
    ("size_limit", || same("nothing", "trace_size_mb=1", &Expect::COMPLETE)),
    ("size_limit_reached", size_limit_reached),
    ("ring", ring),
    ("disk_full", disk_full),
    ("record_tells_the_end", record_tells_the_end),
];

/// What must come of a recording.
struct Expect {
    /// On stderr.
    says: &'static [&'static str],
    /// Beginnings of problems that may be there.
    problems: &'static [&'static str],
    /// Whether everything that the program did is there.
    all: bool,
}

impl Expect {
    const COMPLETE: Expect = Expect { says: &[], problems: &[], all: true };
    const STOPPED: Expect = Expect { says: &["avmon: the recording stopped"], problems: &[""], all: false };
}

fn endings(mode: &str, home: &Path, progress: &Progress) -> Result<Vec<String>, String> {
    let jail = home.join("jail");
    fs::create_dir_all(&jail).map_err(|error| error.to_string())?;
    Ok([mode.to_owned(), progress.0.display().to_string(), jail.display().to_string()].to_vec())
}

/// The program ends in the same way and says the same, recorded or not; and the recording is as expected.
fn same(mode: &'static str, options: &str, expect: &Expect) -> Result<(), String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let _ = fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755));
    same_in(home.path(), mode, options, expect)
}

fn same_as_root(mode: &'static str, expect: &Expect) -> Result<(), String> {
    // SAFETY: takes and gives a number.
    if unsafe { libc::geteuid() } != 0 {
        println!("ending::{mode} was left out: only root can do that");
        return Ok(());
    }
    same(mode, "", expect)
}

fn same_in(home: &Path, mode: &str, options: &str, expect: &Expect) -> Result<(), String> {
    let program = program("endings", Variant::Instrumented)?;
    let alone = run(Command::new(&program).args(endings(mode, home, &Progress::new(home)?)?).current_dir(home))?;
    let progress = Progress::new(home)?;
    // Relative: where the program goes must not matter.
    let options = format!("exitcode=0:report=0:summary=0:trace_all=1:trace_path=traces:{options}");
    let mut command = preloaded(&program, &options);
    let recorded = run(command.args(endings(mode, home, &progress)?).current_dir(home))?;
    let context = |what: &str| Err(format!("{what}\n=== alone: {alone}\n=== recorded: {recorded}"));
    if (recorded.end, &recorded.stdout) != (alone.end, &alone.stdout) {
        return context("the recording changes what the program does");
    }
    let said: String = recorded.stderr.lines().filter(|line| line.starts_with("avmon: ")).collect();
    if let Some(missing) = expect.says.iter().find(|text| !said.contains(*text)) {
        return context(&format!("avmon does not say {missing:?}"));
    }
    if expect.says.is_empty() && !said.is_empty() {
        return context("avmon has nothing to say");
    }
    let traces = home.join("traces");
    let rows = if expect.all { progress.finished_rows()? } else { Vec::new() };
    if expect.all && rows.is_empty() {
        return context("the program did nothing");
    }
    let problems = has_all(&traces, &rows)?;
    let may_be = |problem: &str| expect.problems.iter().any(|start| problem.starts_with(start));
    if let Some((_, problem)) = problems.iter().find(|(_, problem)| !may_be(problem)) {
        return context(&format!("nothing should be missing: {problem}"));
    }
    for path in recording::processes(&traces) {
        can_be_read(&path.display().to_string(), &["info", "check", "dump"])?;
    }
    Ok(())
}

fn unwritable() -> Result<(), String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    fs::write(home.path().join("traces"), "in the way").map_err(|error| error.to_string())?;
    let says = &["no trace can be made in", "the program runs monitored but not recorded"];
    same_in(home.path(), "nothing", "", &Expect { says, ..Expect::STOPPED })
}

/// Records the endings program in a small disk, or with a small limit, many times over. What the trace says of it.
fn much(home: &Path, options: &str) -> Result<(Outcome, PathBuf), String> {
    let progress = Progress::new(home)?;
    let traces = home.join("traces");
    let options = format!("exitcode=0:report=0:summary=0:trace_all=1:trace_path={}:{options}", traces.display());
    let mut command = preloaded(&program("much", Variant::Instrumented)?, &options);
    let outcome = run(command.arg(&progress.0).current_dir(home))?;
    if outcome.end != End::Exit(7) || outcome.stdout != "done\n" {
        return Err(format!("the recording changes what the program does: {outcome}"));
    }
    let trace = recording::processes(&traces).pop().ok_or_else(|| format!("no trace: {outcome}"))?;
    Ok((outcome, trace))
}

fn on_disk(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => on_disk(&entry.path()),
        Ok(data) => data.blocks() * 512,
        Err(_) => 0,
    };
    entries.map(size).sum()
}

fn size_limit_reached() -> Result<(), String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (outcome, trace) = much(home.path(), "trace_size_mb=1")?;
    let bytes = on_disk(&trace);
    let problems = recording::read(&recording::open(&trace)?, |_, _| {});
    let text = trace.display().to_string();
    can_be_read(&text, &["info", "check"])?;
    if !outcome.stderr.contains("the recording reached its limit of 1.0 MiB and stopped") {
        return Err(format!("it is not told: {outcome}"));
    }
    if bytes > 3 << 19 || !problems.is_empty() {
        return Err(format!("{bytes} bytes, {problems:?}"));
    }
    let info = reads(&["info", &text], &[0])?;
    if info.stdout.contains("reached its limit") { Ok(()) } else { Err(format!("info does not tell: {info}")) }
}

fn ring() -> Result<(), String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (outcome, trace) = much(home.path(), "trace_size_mb=1:trace_ring=1")?;
    if outcome.stderr.contains("cannot give up the oldest part") {
        println!("ending::ring was left out: the temporary directory is on a file system without holes");
        return Ok(());
    }
    let bytes = on_disk(&trace);
    let trace = recording::open(&trace)?;
    let given_up: u64 = trace.threads().iter().map(|stream| stream.counts.given_up_events).sum();
    // The last that each thread did is its end.
    let mut ends = 0;
    recording::read(&trace, |_, event| ends += u64::from(event.kind() == Some(Kind::End)));
    can_be_read(&trace.directory().display().to_string(), &["info", "check"])?;
    if bytes <= 3 << 19 && given_up > 0 && ends >= 2 && !outcome.stderr.contains("avmon: ") {
        Ok(())
    } else {
        Err(format!("{bytes} bytes, {given_up} events given up, {ends} threads ended: {outcome}"))
    }
}

/// A file system of four megabytes.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: PathBuf) -> Option<SmallDisk> {
        fs::create_dir_all(&at).ok()?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=4m,mode=755", "tmpfs"]).arg(&at);
        let is_mounted = mount.output().is_ok_and(|output| output.status.success());
        is_mounted.then_some(SmallDisk(at))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

fn disk_full() -> Result<(), String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let Some(disk) = SmallDisk::mount(home.path().join("disk")) else {
        println!("ending::disk_full was left out: no file system can be mounted here");
        return Ok(());
    };
    std::os::unix::fs::symlink(&disk.0, home.path().join("traces")).map_err(|error| error.to_string())?;
    let (outcome, trace) = much(home.path(), "")?;
    if !outcome.stderr.contains("the recording stopped, it cannot be written: No space left on device") {
        return Err(format!("it is not told: {outcome}"));
    }
    can_be_read(&trace.display().to_string(), &["info", "check"])
}

/// `avmon record` ends as the program did, and notes that beside what the program itself could say.
fn record_tells_the_end() -> Result<(), String> {
    let program = program("endings", Variant::Instrumented)?.display().to_string();
    for (mode, end, told) in [
        ("nothing", End::Exit(7), "\"exit_status\": 7"),
        ("underscore_exit", End::Exit(5), "\"exit_status\": 5"),
        ("segv", End::Signal(libc::SIGSEGV), "\"signal\": 11"),
        ("abort", End::Signal(libc::SIGABRT), "\"signal\": 6"),
    ] {
        let home = tempfile::tempdir().map_err(|error| error.to_string())?;
        let trace = home.path().join("trace").display().to_string();
        let progress = Progress::new(home.path())?;
        let path = progress.0.display().to_string();
        let mut record = recording::avmon(&["record", "-o", &trace, "--", &program, mode, &path]);
        let recorded = run(record.current_dir(home.path()).env("AVMON_OPTIONS", "exitcode=0:report=0:summary=0"))?;
        let info = reads(&["info", "--json", &trace], &[0])?;
        if recorded.end != end || !info.stdout.contains(told) {
            return Err(format!("{mode}: {recorded}\n{info}"));
        }
    }
    Ok(())
}
