//! Where output goes without ever hitting a file of the program.
//!
//! The monitor's text and its log share file descriptors with a program that knows nothing of them. Programs close
//! descriptors that they do not know, and reuse the numbers; servers close stderr and get its number back for their
//! database. So stderr is checked to be the same file before each write, and the log is never left open.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::os::fd::RawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::options::{Color, Options};

/// How long a full pipe is waited for before the rest of a text is dropped.
const PATIENCE_MS: i32 = 1000;

/// What a descriptor refers to: device, inode, and which device a device file is.
type FileIdentity = (libc::dev_t, libc::ino_t, libc::dev_t);

/// The program's stderr, written to only while it is still the file that it was.
///
/// Nothing that can go wrong is an error: the program has priority, and a report that nobody reads is no loss.
/// `SIGPIPE` of a closed pipe goes to the writing thread, and the monitor's worker has all signals blocked: it stays
/// pending there, harmless, until that thread ends.
#[derive(Clone, Copy, Debug)]
pub struct GuardedStderr {
    fd: RawFd,
    identity: Option<FileIdentity>,
}

impl GuardedStderr {
    /// Remembers what descriptor 2 is now. If it is closed, everything written will be dropped.
    #[must_use]
    pub fn new() -> GuardedStderr {
        GuardedStderr::at(libc::STDERR_FILENO)
    }

    fn at(fd: RawFd) -> GuardedStderr {
        GuardedStderr { fd, identity: identity_of(fd) }
    }

    fn write_quietly(&self, mut text: &[u8]) {
        while !text.is_empty() && self.identity.is_some() && identity_of(self.fd) == self.identity {
            // SAFETY: the pointer and the length are those of a live slice.
            let written = unsafe { libc::write(self.fd, text.as_ptr().cast(), text.len()) };
            match usize::try_from(written) {
                Ok(written) => text = &text[written..],
                Err(_) => match io::Error::last_os_error().kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock if self.wait_until_writable() => {}
                    _ => return,
                },
            }
        }
    }

    fn wait_until_writable(&self) -> bool {
        let mut poll = libc::pollfd { fd: self.fd, events: libc::POLLOUT, revents: 0 };
        // SAFETY: one valid pollfd.
        unsafe { libc::poll(&raw mut poll, 1, PATIENCE_MS) == 1 }
    }
}

impl Default for GuardedStderr {
    fn default() -> GuardedStderr {
        GuardedStderr::new()
    }
}

impl Write for GuardedStderr {
    /// Takes everything, and drops what cannot be written.
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.write_quietly(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn identity_of(fd: RawFd) -> Option<FileIdentity> {
    let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: fstat fills the struct when it returns 0, and only then it is read.
    let status = unsafe {
        if libc::fstat(fd, status.as_mut_ptr()) != 0 {
            return None;
        }
        status.assume_init()
    };
    Some((status.st_dev, status.st_ino, status.st_rdev))
}

/// The log: a path, opened and closed for every record.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    /// Whether the user asked for it by name; if not, it appears with the first finding.
    asked_for: bool,
    failures: u64,
}

impl LogFile {
    /// The name of the log when the options give none.
    pub const DEFAULT: &'static str = "avmon.log";

    /// The log of process `pid`: the path of the options and the process id. A relative path is seen from
    /// `directory`, where the process started, wherever the program went since.
    #[must_use]
    pub fn new(directory: &Path, log_path: &str, pid: u32) -> LogFile {
        let asked_for = !log_path.is_empty();
        let name = if asked_for { log_path } else { LogFile::DEFAULT };
        LogFile { path: directory.join(format!("{name}.{pid}")), asked_for, failures: 0 }
    }

    /// The log at just this path.
    #[must_use]
    pub fn at(path: PathBuf) -> LogFile {
        LogFile { path, asked_for: true, failures: 0 }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[must_use]
    pub fn is_asked_for(&self) -> bool {
        self.asked_for
    }

    /// How many records could not be written.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// Creates the file, to tell early if that is not possible.
    pub fn check_writable(&self) -> io::Result<()> {
        self.append(b"")
    }

    /// Appends whole lines in one write. The first failure is returned to be told; later ones are only counted.
    pub fn write(&mut self, lines: &str) -> Result<(), String> {
        let Err(error) = self.append(lines.as_bytes()) else { return Ok(()) };
        self.failures += 1;
        if self.failures > 1 {
            return Ok(());
        }
        Err(format!("avmon: cannot write the log {}: {error}; findings are on stderr only\n", self.path.display()))
    }

    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        // A log may lie in a directory where others can make files: do not follow what they put there.
        options.append(true).create(true).custom_flags(libc::O_CLOEXEC | libc::O_NOFOLLOW);
        options.open(&self.path)?.write_all(bytes)
    }
}

/// Where a reporter writes.
pub struct Sinks {
    /// The text reports.
    pub stderr: Box<dyn Write + Send>,
    /// Whether they are coloured.
    pub color: bool,
    pub log: Option<LogFile>,
}

impl Sinks {
    /// The sinks of this process, which had this stderr and this directory when it started.
    #[must_use]
    pub fn of_process(options: &Options, stderr: GuardedStderr, directory: &Path) -> Sinks {
        Sinks {
            color: wants_color(options.color, io::stderr().is_terminal(), std::env::var_os("NO_COLOR")),
            stderr: Box::new(stderr),
            log: Some(LogFile::new(directory, &options.log_path, std::process::id())),
        }
    }
}

/// By convention any text but the empty one in `NO_COLOR` means no.
#[must_use]
pub fn wants_color(option: Color, is_terminal: bool, no_color: Option<OsString>) -> bool {
    match option {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => is_terminal && no_color.is_none_or(|text| text.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::{AsRawFd, FromRawFd};

    /// A descriptor with a number that no other test uses.
    fn renumbered(file: &File, number: RawFd) {
        // SAFETY: `number` is used by the calling test only.
        unsafe { assert_eq!(libc::dup2(file.as_raw_fd(), number), number) };
    }

    fn close(number: RawFd) {
        // SAFETY: `number` is used by the calling test only.
        unsafe { libc::close(number) };
    }

    #[test]
    fn text_reaches_the_file_that_stderr_was() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut guarded = GuardedStderr::at(file.as_file().as_raw_fd());
        guarded.write_all(b"hello").unwrap();
        assert_eq!(std::fs::read(file.path()).unwrap(), b"hello");
    }

    #[test]
    fn a_reused_descriptor_is_never_written_to() {
        let (old, database) = (tempfile::NamedTempFile::new().unwrap(), tempfile::NamedTempFile::new().unwrap());
        renumbered(&old.reopen().unwrap(), 700);
        let mut guarded = GuardedStderr::at(700);
        renumbered(&database.reopen().unwrap(), 700);
        guarded.write_all(b"report").unwrap();
        assert_eq!(std::fs::read(database.path()).unwrap(), b"");
        assert_eq!(std::fs::read(old.path()).unwrap(), b"");
        renumbered(&old.reopen().unwrap(), 700);
        guarded.write_all(b"report").unwrap();
        assert_eq!(std::fs::read(old.path()).unwrap(), b"report", "it is the old file again");
        close(700);
    }

    #[test]
    fn a_closed_descriptor_stays_silent_even_when_opened_later() {
        let mut guarded = GuardedStderr::at(701);
        guarded.write_all(b"report").unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        renumbered(&file.reopen().unwrap(), 701);
        guarded.write_all(b"report").unwrap();
        assert_eq!(std::fs::read(file.path()).unwrap(), b"");
        close(701);
    }

    fn pipe() -> (File, File) {
        let mut ends = [0; 2];
        // SAFETY: pipe2 fills the two descriptors, which the files then own.
        unsafe {
            assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_NONBLOCK), 0);
            (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1]))
        }
    }

    #[test]
    fn a_full_pipe_is_waited_for() {
        let (mut reader, writer) = pipe();
        let text = vec![b'x'; 300_000];
        let length = text.len();
        let thread = std::thread::spawn(move || GuardedStderr::at(writer.as_raw_fd()).write_all(&text));
        let (mut got, mut buffer) = (0, [0; 4096]);
        while got < length {
            match reader.read(&mut buffer) {
                Ok(count) => got += count,
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
        }
        thread.join().unwrap().unwrap();
    }

    #[test]
    fn a_pipe_that_nobody_reads_is_no_error() {
        let (reader, writer) = pipe();
        drop(reader);
        GuardedStderr::at(writer.as_raw_fd()).write_all(b"report").unwrap();
    }

    #[test]
    fn the_log_is_named_by_process_and_made_absolute() {
        let log = LogFile::new(Path::new("/start"), "dir/avm", 42);
        assert_eq!(log.path(), Path::new("/start/dir/avm.42"));
        assert!(log.is_asked_for());
        let default = LogFile::new(Path::new("/start"), "", 42);
        assert_eq!(default.path(), Path::new("/start/avmon.log.42"));
        assert!(!default.is_asked_for());
    }

    #[test]
    fn records_are_appended_and_no_descriptor_stays_open() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = LogFile::new(dir.path(), "log", 1);
        log.check_writable().unwrap();
        log.write("one\n").unwrap();
        log.write("two\n").unwrap();
        assert_eq!(std::fs::read_to_string(log.path()).unwrap(), "one\ntwo\n");
        let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        assert!(open.filter_map(|fd| std::fs::read_link(fd.path()).ok()).all(|target| target != log.path()));
    }

    #[test]
    fn only_the_first_failure_is_told() {
        let mut log = LogFile::new(Path::new("/"), "/nonexistent/log", 1);
        assert!(log.check_writable().is_err());
        let error = log.write("one\n").unwrap_err();
        assert!(error.contains("/nonexistent/log.1: No such file or directory"), "{error}");
        log.write("two\n").unwrap();
        assert_eq!(log.failures(), 2);
    }

    #[test]
    fn colour_follows_the_option_then_the_terminal() {
        assert!(wants_color(Color::Always, false, Some("1".into())));
        assert!(!wants_color(Color::Never, true, None));
        assert!(wants_color(Color::Auto, true, None));
        assert!(wants_color(Color::Auto, true, Some("".into())));
        assert!(!wants_color(Color::Auto, true, Some("1".into())));
        assert!(!wants_color(Color::Auto, false, None));
    }
}
