//! How far long work has come: one line on a terminal, nothing anywhere else, and nothing left when the work is done.

use super::figures::{counted, grouped, ratio, size};
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Work that is done sooner shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);
/// A person reads no more lines than this.
const INTERVAL: Duration = Duration::from_millis(100);
/// Back to the first column, and the line is blank from there.
const ERASE: &str = "\r\x1b[K";

/// The progress line of one piece of work. Dropping it erases the line.
pub struct Progress {
    /// `None`: there is nobody to show it to.
    terminal: Option<File>,
    started: Instant,
    /// When the line was last written.
    shown: Option<Instant>,
}

impl Progress {
    /// On stderr, if that is a terminal.
    #[must_use]
    pub fn new() -> Progress {
        Progress::on(io::stderr().as_fd().try_clone_to_owned().ok().map(File::from))
    }

    /// The same for work that prints results as it goes: they are progress enough on the same terminal.
    #[must_use]
    pub fn beside_output(output_is_terminal: bool) -> Progress {
        if output_is_terminal { Progress::on(None) } else { Progress::new() }
    }

    fn on(file: Option<File>) -> Progress {
        Progress { terminal: file.filter(IsTerminal::is_terminal), started: Instant::now(), shown: None }
    }

    /// Tells how many events and bytes are done, and how many bytes there are. Costs little: call it for each chunk.
    pub fn update(&mut self, events: u64, bytes: u64, all_bytes: u64) {
        self.show(|elapsed| text(events, bytes, all_bytes, elapsed));
    }

    /// Tells how many of something are done, of work whose end is not known.
    pub fn count(&mut self, done: u64, noun: &str) {
        self.show(|elapsed| {
            let rate = grouped(done.saturating_mul(1000) / (elapsed.as_millis() as u64).max(1));
            format!("avmon: {}, {rate}/s", counted(done, noun))
        });
    }

    /// Tells how many of all are done.
    pub fn part(&mut self, done: usize, all: usize, noun: &str) {
        self.show(|_| {
            let percent = done.saturating_mul(100).checked_div(all).unwrap_or(100);
            format!("avmon: {percent}%, {} of {}", grouped(done), counted(all as u64, noun))
        });
    }

    /// Tells what the work itself has to say.
    pub fn line(&mut self, line: impl FnOnce() -> String) {
        self.show(|_| format!("avmon: {}", line()));
    }

    fn show(&mut self, line: impl FnOnce(Duration) -> String) {
        let Some(terminal) = &self.terminal else { return };
        let now = Instant::now();
        let elapsed = now - self.started;
        if elapsed < PATIENCE || self.shown.is_some_and(|shown| now - shown < INTERVAL) {
            return;
        }
        self.shown = Some(now);
        let mut line = line(elapsed);
        // A line that wraps could not be erased.
        line.truncate(width(terminal).saturating_sub(1));
        // Nowhere to tell that the terminal is gone.
        let _ = { terminal }.write_all(format!("{ERASE}{line}").as_bytes());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let (Some(terminal), Some(_)) = (&mut self.terminal, self.shown) {
            let _ = terminal.write_all(ERASE.as_bytes());
        }
    }
}

/// A line that stands there while something is waited for. Dropping it erases the line.
pub struct Waiting {
    /// Dropped first: that ends the thread.
    over: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Waiting {
    #[must_use]
    pub fn begin(text: String) -> Waiting {
        Waiting::on(Progress::new(), text)
    }

    fn on(mut progress: Progress, text: String) -> Waiting {
        if progress.terminal.is_none() {
            return Waiting { over: None, thread: None };
        }
        let (over, is_over) = mpsc::channel();
        let wait = move || {
            while is_over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                progress.show(|elapsed| format!("avmon: {text}, {} s", elapsed.as_secs()));
            }
        };
        Waiting { over: Some(over), thread: Some(std::thread::spawn(wait)) }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(thread) = self.thread.take() {
            // It erases the line, and does nothing that could fail.
            let _ = thread.join();
        }
    }
}

fn text(events: u64, bytes: u64, all_bytes: u64, elapsed: Duration) -> String {
    let percent = bytes.min(all_bytes).saturating_mul(100).checked_div(all_bytes).unwrap_or(100);
    // Events in a microsecond are millions in a second.
    let rate = ratio(events, (elapsed.as_micros() as u64).max(1));
    let (events, bytes, all_bytes) = (grouped(events), size(bytes), size(all_bytes));
    format!("avmon: {percent}%, {bytes} of {all_bytes}, {events} events, {rate:.1} million/s")
}

/// Columns of the terminal.
fn width(terminal: &File) -> usize {
    const USUAL: usize = 80;
    let mut window = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the file is open, and the kernel writes one `winsize` to valid memory.
    let result = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCGWINSZ, &raw mut window) };
    if result == 0 && window.ws_col > 0 { window.ws_col.into() } else { USUAL }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::os::fd::FromRawFd as _;

    /// Both ends of a new terminal with this many columns: what a person sees, and what a program writes to.
    fn terminal(columns: u16) -> (File, File) {
        let window = libc::winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let (mut person, mut program) = (-1, -1);
        let no_name = std::ptr::null_mut();
        // SAFETY: the two descriptors go to valid memory; no name and no settings are asked for.
        let result =
            unsafe { libc::openpty(&raw mut person, &raw mut program, no_name, std::ptr::null(), &raw const window) };
        assert_eq!(result, 0);
        // SAFETY: both were just opened and belong to nobody else.
        unsafe { (File::from_raw_fd(person), File::from_raw_fd(program)) }
    }

    /// What is on the terminal after that long a piece of work, updated all the time.
    fn shown(columns: u16, work: Duration) -> String {
        let (person, program) = terminal(columns);
        let mut progress = Progress::on(Some(program));
        let begin = Instant::now();
        while begin.elapsed() < work {
            progress.update(1_234_567, 1 << 20, 4 << 20);
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(progress);
        seen_by(person)
    }

    fn seen_by(mut person: File) -> String {
        let mut seen = Vec::new();
        let mut buffer = [0; 4096];
        // Reading fails when the program's end is closed and all was read.
        while let Ok(count @ 1..) = person.read(&mut buffer) {
            seen.extend_from_slice(&buffer[..count]);
        }
        String::from_utf8(seen).unwrap()
    }

    #[test]
    fn long_work_shows_a_line_at_most_ten_times_a_second_and_erases_it() {
        let seen = shown(80, Duration::from_millis(1350));
        let line = "avmon: 25%, 1.0 MiB of 4.0 MiB, 1,234,567 events, ";
        let times = seen.matches(line).count();
        assert!((1..=4).contains(&times), "{seen:?}");
        assert!(seen.ends_with(ERASE), "{seen:?}");
        assert_eq!(seen.matches(ERASE).count(), times + 1, "{seen:?}");
    }

    #[test]
    fn a_narrow_terminal_gets_a_short_line() {
        let seen = shown(20, Duration::from_millis(1050));
        assert!(seen.split(ERASE).any(|line| line == "avmon: 25%, 1.0 MiB"), "{seen:?}");
    }

    #[test]
    fn who_waits_is_told_for_what() {
        let (mut person, program) = terminal(80);
        let waiting = Waiting::on(Progress::on(Some(program)), "recording".to_owned());
        let mut seen = [0; 64];
        let count = person.read(&mut seen).unwrap();
        let line = String::from_utf8_lossy(&seen[..count]).into_owned();
        assert!(line.starts_with(&format!("{ERASE}avmon: recording, ")), "{line:?}");
        drop(waiting);
        assert!(seen_by(person).ends_with(ERASE));
    }

    #[test]
    fn short_work_shows_nothing() {
        assert_eq!(shown(80, Duration::from_millis(300)), "");
    }

    #[test]
    fn a_pipe_gets_nothing() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut progress = Progress::on(Some(File::from(std::os::fd::OwnedFd::from(writer))));
        progress.started = Instant::now().checked_sub(PATIENCE * 2).unwrap();
        progress.update(1, 1, 2);
        drop(progress);
        let mut seen = String::new();
        reader.read_to_string(&mut seen).unwrap();
        assert_eq!(seen, "");
    }

    #[test]
    fn an_empty_trace_is_done() {
        assert!(text(0, 0, 0, Duration::from_secs(1)).starts_with("avmon: 100%"));
    }
}
