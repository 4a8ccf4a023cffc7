//! Runs a program once, in a process group of its own, and leaves nothing of it behind.
//!
//! The group is killed when its first process ends, when the time is over, and when this process is interrupted: what a test starts and forgets
//! must not be there in the next run. Who has left the group is adopted by this process and killed as soon as no run is at work.

use std::fs::File;
use std::hash::Hasher as _;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{RwLock, RwLockReadGuard};
use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};

/// Bytes of each output that are kept; the rest is only counted and compared.
const MOST_KEPT: usize = 1 << 20;

/// The messages of the library and of this command are not the program's.
const OWN_LINE: &[u8] = b"avmon: ";

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// It had to be killed: its time was over, or it would never have ended.
    Timeout,
}

/// What a program wrote to one of its outputs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Written {
    /// Its begin.
    pub kept: Vec<u8>,
    /// Bytes after that.
    pub more: u64,
    lines: Lines,
}

impl Written {
    /// The same for the same lines, in whichever order: that of two threads' lines is no result of a program.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.lines.clone().end()
    }

    fn push(&mut self, bytes: &[u8]) {
        let room = MOST_KEPT.saturating_sub(self.kept.len()).min(bytes.len());
        self.kept.extend_from_slice(&bytes[..room]);
        self.more += (bytes.len() - room) as u64;
        self.lines.push(bytes);
    }
}

/// The lines of a text, one by one, in a number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Lines {
    sum: u64,
    /// The line that has not ended yet.
    open: Vec<u8>,
    /// What was hashed of it, if it is long.
    before: u64,
}

impl Lines {
    /// A line may be as long as the whole output.
    const LONG: usize = 1 << 16;

    fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.open.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.close();
            } else if self.open.len() >= Self::LONG {
                self.before = self.hash();
                self.open.clear();
            }
        }
    }

    fn close(&mut self) {
        if !self.open.starts_with(OWN_LINE) {
            self.sum = self.sum.wrapping_add(self.hash());
        }
        self.open.clear();
        self.before = 0;
    }

    fn hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write_u64(self.before);
        hasher.write(&self.open);
        hasher.finish()
    }

    fn end(mut self) -> u64 {
        if !self.open.is_empty() || self.before != 0 {
            self.close();
        }
        self.sum
    }
}

/// A run that is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    pub exit: Exit,
    pub stdout: Written,
    pub stderr: Written,
    pub duration: Duration,
}

/// What the program reads from stdin: a file from its beginning in every run, and nothing else, since nobody types the same again and again.
fn input() -> Stdio {
    let is_file = std::fs::metadata(OWN_INPUT).is_ok_and(|it| it.is_file());
    let file = is_file.then(|| std::fs::File::open(OWN_INPUT).ok()).flatten();
    file.map_or_else(Stdio::null, Stdio::from)
}

/// Opened by this name, a file has a position of its own.
const OWN_INPUT: &str = "/proc/self/fd/0";

/// Whether somebody sends something to this process that no run will see.
#[must_use]
pub fn has_lost_input() -> bool {
    let is_pipe = std::fs::metadata(OWN_INPUT).is_ok_and(|it| it.file_type().is_fifo() || it.file_type().is_socket());
    let mut input = libc::pollfd { fd: libc::STDIN_FILENO, events: libc::POLLIN, revents: 0 };
    // SAFETY: one such structure, and no time to wait.
    is_pipe && unsafe { libc::poll(&raw mut input, 1, 0) } == 1 && input.revents & libc::POLLIN != 0
}

/// Why there is no end of a run to tell of.
#[derive(Debug)]
pub enum Unfinished {
    CannotStart(io::Error),
    /// This process was asked to end.
    Interrupted,
    /// The system refused something on the way.
    Failed(io::Error),
}

impl From<io::Error> for Unfinished {
    fn from(error: io::Error) -> Unfinished {
        Unfinished::Failed(error)
    }
}

/// How a program is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Manner {
    /// None: as long as it takes.
    pub limit: Option<Duration>,
    /// Hands the output on while it is kept.
    pub shows_output: bool,
    /// Lets the system choose other addresses in each run, as it usually does.
    pub random_addresses: bool,
}

/// How often it is asked whether there is any use in waiting.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// Runs a program to its end, or until `is_stuck` says that there will be none. It reads what every run can read.
pub fn run(mut command: Command, manner: Manner, is_stuck: &dyn Fn() -> bool) -> Result<Ended, Unfinished> {
    if interruption().is_some() {
        return Err(Unfinished::Interrupted);
    }
    let begin = Instant::now();
    let deadline = manner.limit.and_then(|limit| begin.checked_add(limit));
    command.stdin(input()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    // Gone after the group.
    let _at_work = AtWork::begin();
    let parent = std::process::id();
    // SAFETY: it makes plain system calls only, which is allowed in a child just forked.
    unsafe { command.pre_exec(move || prepare_child(parent, manner.random_addresses)) };
    let mut group = Group(Some(command.spawn().map_err(Unfinished::CannotStart)?));
    let mut outputs = group.outputs(manner.shows_output)?;
    let end = group.end()?;
    let is_late = loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        match wait_for(&end, &outputs, left.map_or(BETWEEN_LOOKS, |left| left.min(BETWEEN_LOOKS)))? {
            Awaited::Interruption => return Err(Unfinished::Interrupted),
            Awaited::End => break false,
            // A program that writes without end never lets the wait come to its end.
            _ if left == Some(Duration::ZERO) => break true,
            Awaited::Output => outputs.iter_mut().for_each(|output| _ = output.read()),
            Awaited::Nothing if is_stuck() => break true,
            Awaited::Nothing => {}
        }
    };
    let duration = begin.elapsed();
    let status = group.kill()?;
    outputs.iter_mut().for_each(Stream::read_rest);
    let [stdout, stderr] = outputs.map(|output| output.written);
    Ok(Ended { exit: if is_late { Exit::Timeout } else { Exit::of(status) }, stdout, stderr, duration })
}

impl Exit {
    fn of(status: ExitStatus) -> Exit {
        match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, signal) => Exit::Signal(signal.unwrap_or(0)),
        }
    }
}

/// In the child, before it becomes the program.
fn prepare_child(parent: u32, random_addresses: bool) -> io::Result<()> {
    // SAFETY: plain system calls.
    unsafe {
        // Whoever kills this process hard gives it no chance to kill the group.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() as u32 != parent {
            return Err(io::Error::other("the parent is gone"));
        }
        if !random_addresses {
            let now = libc::personality(0xffff_ffff);
            // Where it is not allowed, addresses differ from run to run, and a schedule does not depend on them.
            libc::personality((now | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong);
        }
    }
    Ok(())
}

/// The processes of a run. None is left when this is gone.
struct Group(Option<Child>);

impl Group {
    fn outputs(&mut self, are_shown: bool) -> io::Result<[Stream; 2]> {
        let child = self.0.as_mut();
        let (stdout, stderr) = child.map(|child| (child.stdout.take(), child.stderr.take())).unwrap_or_default();
        let stream = |pipe: Option<OwnedFd>, show: fn(&[u8])| {
            let pipe = pipe.map(File::from);
            if let Some(pipe) = &pipe {
                never_wait(pipe)?;
            }
            Ok::<Stream, io::Error>(Stream { pipe, written: Written::default(), show: are_shown.then_some(show) })
        };
        // Nowhere to tell that nobody reads the program's output any more.
        let out = stream(stdout.map(OwnedFd::from), |bytes| drop(io::stdout().write_all(bytes)))?;
        let err = stream(stderr.map(OwnedFd::from), |bytes| drop(io::stderr().write_all(bytes)))?;
        Ok([out, err])
    }

    /// A file that is ready when the first process has ended.
    fn end(&self) -> io::Result<OwnedFd> {
        let process = self.0.as_ref().map_or(0, Child::id);
        // SAFETY: a plain system call; the process is a child that was not waited for, so the number is still its own.
        let file = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the file was just opened and belongs to nobody else.
        Ok(unsafe { OwnedFd::from_raw_fd(file as i32) })
    }

    /// Ends all of it, and tells how its first process ended.
    fn kill(&mut self) -> io::Result<ExitStatus> {
        let Some(mut child) = self.0.take() else { return Err(io::Error::other("the program is gone already")) };
        // SAFETY: a plain system call. The first process was not waited for, so the number of the group cannot be another one's.
        unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
        child.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // What could not be killed is gone.
        let _ = self.kill();
    }
}

/// Whether this process has no other children than its runs.
static IS_THEIR_ONLY_PARENT: AtomicBool = AtomicBool::new(false);

/// From now on, who leaves the group of its run is killed too. For a process that starts nothing else: whoever is its child and not of its group counts as such.
pub fn kill_who_leaves() {
    IS_THEIR_ONLY_PARENT.store(true, Ordering::Relaxed);
}

/// Held by every run that is at work.
static RUNS: RwLock<()> = RwLock::new(());

/// A run that is at work. Its orphans become children of this process, so that those who left the group are found. Whose they are is not to be told from
/// the orphans of other runs, which may still need theirs: the last run that ends kills them all.
struct AtWork(Option<RwLockReadGuard<'static, ()>>);

impl AtWork {
    fn begin() -> AtWork {
        let guard = RUNS.read();
        if IS_THEIR_ONLY_PARENT.load(Ordering::Relaxed) {
            adopt_orphans(true);
        }
        AtWork(Some(guard))
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0 = None;
        if !IS_THEIR_ONLY_PARENT.load(Ordering::Relaxed) {
            return;
        }
        if let Some(_nobody_begins) = RUNS.try_write() {
            kill_orphans();
            adopt_orphans(false);
        }
    }
}

fn adopt_orphans(do_so: bool) {
    // SAFETY: a plain system call. Where it is refused, nothing is adopted.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, libc::c_ulong::from(do_so)) };
}

fn kill_orphans() {
    // Who is killed leaves children of its own. One that makes them faster than they are found is given up.
    const MOST_ROUNDS: usize = 100;
    for _ in 0..MOST_ROUNDS {
        // One that has changed its user cannot be killed, and is not to be waited for.
        // SAFETY: plain system calls. The processes are children that were not waited for, so the numbers are still their own.
        let is_ended = |process: &i32| unsafe {
            libc::kill(*process, libc::SIGKILL) == 0 && libc::waitpid(*process, std::ptr::null_mut(), 0) == *process
        };
        if orphans().iter().filter(|process| is_ended(process)).count() == 0 {
            break;
        }
    }
}

/// The children of this process that are not in its own group. While no run is at work, none of them was started here.
fn orphans() -> Vec<i32> {
    // To look through all processes takes much longer than to ask whether there is any child.
    // SAFETY: zero bytes are a valid description, which the call overwrites.
    let (is_childless, parent, group) = unsafe {
        let mut child: libc::siginfo_t = std::mem::zeroed();
        let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        (libc::waitid(libc::P_ALL, 0, &raw mut child, how) != 0, libc::getpid(), libc::getpgrp())
    };
    if is_childless {
        return Vec::new();
    }
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    processes
        .filter(|process| parent_and_group(*process).is_some_and(|its| its.0 == parent && its.1 != group))
        .collect()
}

fn parent_and_group(process: i32) -> Option<(i32, i32)> {
    let stat = std::fs::read(format!("/proc/{process}/stat")).ok()?;
    // The name before may hold anything.
    let stat = String::from_utf8_lossy(&stat);
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(1).map_while(|field| field.parse().ok());
    Some((fields.next()?, fields.next()?))
}

/// One output of the program.
struct Stream {
    /// None: closed.
    pipe: Option<File>,
    written: Written,
    show: Option<fn(&[u8])>,
}

impl Stream {
    /// Takes some of what is there. False if there is no more.
    fn read(&mut self) -> bool {
        let Some(pipe) = &mut self.pipe else { return false };
        let mut buffer = [0; 1 << 14];
        match pipe.read(&mut buffer) {
            Ok(count @ 1..) => {
                self.written.push(&buffer[..count]);
                if let Some(show) = self.show {
                    show(&buffer[..count]);
                }
                true
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            Ok(_) | Err(_) => {
                self.pipe = None;
                false
            }
        }
    }

    /// Takes what a pipe can hold: who left the group may still write.
    fn read_rest(&mut self) {
        const MOST_READS: usize = 1 << 7;
        for _ in 0..MOST_READS {
            if !self.read() {
                break;
            }
        }
    }
}

fn never_wait(file: &File) -> io::Result<()> {
    // SAFETY: the file is open.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

enum Awaited {
    Interruption,
    End,
    Output,
    Nothing,
}

fn wait_for(end: &OwnedFd, outputs: &[Stream; 2], time: Duration) -> io::Result<Awaited> {
    // A negative number is no file, and nothing ever happens to it.
    let output = |stream: &Stream| stream.pipe.as_ref().map_or(-1, File::as_raw_fd);
    let files = [INTERRUPTS.load(Ordering::Acquire) - 1, end.as_raw_fd(), output(&outputs[0]), output(&outputs[1])];
    let mut polled = files.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // Rounded up, so that the time is over when nothing came.
    let time = time.as_millis().saturating_add(1).min(i32::MAX as u128) as i32;
    // SAFETY: the array is valid for so many entries.
    let ready = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, time) };
    if ready < 0 {
        let error = io::Error::last_os_error();
        // The output may have nothing, which does no harm.
        return if error.kind() == io::ErrorKind::Interrupted { Ok(Awaited::Output) } else { Err(error) };
    }
    Ok(match polled.map(|file| file.revents != 0) {
        [true, ..] => Awaited::Interruption,
        // What was written before the end is read after it.
        [_, true, ..] => Awaited::End,
        [_, _, false, false] => Awaited::Nothing,
        _ => Awaited::Output,
    })
}

/// The file that is ready once this process was asked to end, plus one; 0 while there is none.
static INTERRUPTS: AtomicI32 = AtomicI32::new(0);
/// The signal that asked.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

extern "C" fn interrupted(signal: i32) {
    static ONE: u64 = 1;
    SIGNAL.store(signal, Ordering::Release);
    let file = INTERRUPTS.load(Ordering::Acquire) - 1;
    // SAFETY: writing may be done in a signal handler; the interrupted code must find its error number unchanged.
    unsafe {
        let error = *libc::__errno_location();
        libc::write(file, (&raw const ONE).cast(), size_of::<u64>());
        *libc::__errno_location() = error;
    }
}

/// From now on, a request to end this process ends its runs first: see [`interruption`].
pub fn catch_interruptions() -> io::Result<()> {
    // SAFETY: a plain system call.
    let file = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    INTERRUPTS.store(file + 1, Ordering::Release);
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: zero bytes are a valid action; both pointers are to valid memory, and the handler does what handlers may.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut old);
            // What the user wants ignored (`nohup`) stays so.
            if old.sa_sigaction != libc::SIG_IGN {
                let mut new: libc::sigaction = std::mem::zeroed();
                new.sa_sigaction = interrupted as extern "C" fn(i32) as usize;
                // The second one ends this process at once.
                new.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
                libc::sigaction(signal, &raw const new, std::ptr::null_mut());
            }
        }
    }
    Ok(())
}

/// The signal by which this process was asked to end, if it was.
#[must_use]
pub fn interruption() -> Option<i32> {
    let signal = SIGNAL.load(Ordering::Acquire);
    (signal != 0).then_some(signal)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: Manner = Manner { limit: None, shows_output: false, random_addresses: false };

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn ran(script: &str) -> Ended {
        run(shell(script), KEPT, &|| false).unwrap()
    }

    /// Waits until there is no such process any more; killing takes a moment.
    fn is_gone(process: &str) -> bool {
        let path = format!("/proc/{}/stat", process.trim());
        let is_there = || std::fs::read_to_string(&path).is_ok_and(|stat| !stat.contains(") Z "));
        (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            !is_there()
        })
    }

    #[test]
    fn the_end_and_the_output_are_told() {
        let ended = ran("echo out; echo err >&2; exit 7");
        assert_eq!(ended.exit, Exit::Code(7));
        assert_eq!((&ended.stdout.kept[..], &ended.stderr.kept[..]), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(ran("kill -SEGV $$").exit, Exit::Signal(libc::SIGSEGV));
    }

    #[test]
    fn a_program_reads_nothing() {
        assert_eq!(ran("cat").exit, Exit::Code(0));
    }

    #[test]
    fn addresses_are_the_same_in_every_run_unless_they_may_differ() {
        let show = || Command::new("/bin/cat");
        let stack = |manner| {
            let mut command = show();
            command.arg("/proc/self/maps");
            let text = run(command, manner, &|| false).unwrap().stdout.kept;
            let text = String::from_utf8(text).unwrap();
            text.lines().find(|line| line.ends_with("[stack]")).unwrap().to_owned()
        };
        assert_eq!(stack(KEPT), stack(KEPT));
        let random = Manner { random_addresses: true, ..KEPT };
        assert!((0..5).any(|_| stack(random) != stack(random)));
    }

    #[test]
    fn much_output_is_bounded_and_counted() {
        let ended = ran("head -c 3000000 /dev/zero");
        assert_eq!((ended.stdout.kept.len(), ended.stdout.more), (MOST_KEPT, 3_000_000 - MOST_KEPT as u64));
        assert_ne!(ended.stdout.digest(), ran("head -c 3000001 /dev/zero").stdout.digest());
    }

    #[test]
    fn lines_are_compared_in_any_order_and_without_those_of_avmon() {
        let digest = |text: &[u8]| {
            let mut whole = Written::default();
            whole.push(text);
            let mut pieces = Written::default();
            text.chunks(3).for_each(|piece| pieces.push(piece));
            assert_eq!(whole.digest(), pieces.digest(), "however it was cut");
            whole.digest()
        };
        assert_eq!(digest(b"a\nb\n"), digest(b"b\na\n"));
        assert_eq!(digest(b"a\navmon: warning: x\n"), digest(b"a\n"));
        assert_ne!(digest(b"a\na\n"), digest(b"a\n"));
        assert_ne!(digest(b"a\nb"), digest(b"a\n"));
    }

    #[test]
    fn the_whole_group_is_killed_when_the_time_is_over() {
        let manner = Manner { limit: Some(Duration::from_secs(3)), ..KEPT };
        // The inner shell would survive a polite signal.
        let ended = run(shell("sh -c 'trap \"\" TERM; echo $$; while :; do sleep 60; done' & wait"), manner, &|| false)
            .unwrap();
        assert_eq!(ended.exit, Exit::Timeout);
        let process = std::str::from_utf8(&ended.stdout.kept).unwrap();
        assert!(!process.is_empty(), "it did not begin in time");
        assert!(is_gone(process));
    }

    #[test]
    fn a_program_that_is_stuck_is_not_waited_for() {
        assert_eq!(run(shell("sleep 1000"), KEPT, &|| true).unwrap().exit, Exit::Timeout);
    }

    #[test]
    fn what_the_program_leaves_behind_is_killed_and_not_waited_for() {
        let ended = ran("sleep 1000 & echo $!");
        assert_eq!(ended.exit, Exit::Code(0));
        assert!(is_gone(std::str::from_utf8(&ended.stdout.kept).unwrap()));
    }

    #[test]
    fn who_leaves_the_group_is_killed_with_its_children() {
        kill_who_leaves();
        // The outer one goes on when the inner ones have told their numbers and closed their output.
        let ended = ran("echo \"$(setsid sh -c 'sleep 1000 >/dev/null & echo $!; echo $$; exec >/dev/null; wait' &)\"");
        let processes = String::from_utf8(ended.stdout.kept).unwrap();
        assert_eq!(processes.lines().count(), 2, "{processes}");
        assert!(processes.lines().all(is_gone), "{processes}");
    }

    #[test]
    fn a_program_that_does_not_exist_is_no_run() {
        assert!(matches!(run(Command::new("/nonexistent"), KEPT, &|| false), Err(Unfinished::CannotStart(_))));
    }
}
