//! Servers that a test starts, talks to and stops. Whatever happens, they do not outlive the test.

use super::run::{End, LIMIT, kill_group};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A port of 127.0.0.1 that nobody uses right now.
pub fn unused_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    Ok(listener.local_addr().map_err(|error| error.to_string())?.port())
}

/// A running server.
pub struct Server {
    child: Child,
    output: PathBuf,
}

impl Server {
    /// Starts a server whose output goes to the file `output`. It is given time until `is_ready`.
    pub fn start(command: &mut Command, output: PathBuf, mut is_ready: impl FnMut() -> bool) -> Result<Server, String> {
        let file = std::fs::File::create(&output).map_err(|error| error.to_string())?;
        let copy = file.try_clone().map_err(|error| error.to_string())?;
        let child = command.stdin(Stdio::null()).stdout(file).stderr(copy).process_group(0).spawn();
        let child = child.map_err(|error| format!("{command:?} cannot be started: {error}"))?;
        let mut server = Server { child, output };
        let deadline = Instant::now() + LIMIT;
        while !is_ready() {
            if let Ok(Some(status)) = server.child.try_wait() {
                return Err(format!("{command:?} ended early with {}:\n{}", End::from(status), server.output()));
            }
            if Instant::now() > deadline {
                return Err(format!("{command:?} was never ready:\n{}", server.output()));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Runs the same conversation from several clients at once; each is told its number. The answers in their order.
    pub fn talk<T: Send>(
        &mut self,
        count: usize,
        talk: impl Fn(usize) -> Result<T, String> + Sync,
    ) -> Result<Vec<T>, String> {
        let all: Result<Vec<T>, String> = thread::scope(|scope| {
            let talk = &talk;
            let threads: Vec<_> = (0..count).map(|number| scope.spawn(move || talk(number))).collect();
            threads.into_iter().map(|thread| thread.join().map_err(|_| "a client panicked".to_owned())?).collect()
        });
        all.map_err(|error| {
            let is = match self.child.try_wait() {
                Ok(Some(status)) => format!("ended with {}", End::from(status)),
                _ => "still runs".to_owned(),
            };
            format!("{error}; the server {is}:\n{}", self.output())
        })
    }

    /// Asks the server to end, and says how it did.
    pub fn stop(mut self) -> Result<End, String> {
        // SAFETY: kill takes no pointers, and the child has not been waited for, so the number is still its own.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGTERM) };
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(status) = self.child.try_wait().map_err(|error| error.to_string())? {
                return Ok(End::from(status));
            }
            if Instant::now() > deadline {
                return Err(format!("the server does not end on SIGTERM:\n{}", self.output()));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn output(&self) -> String {
        std::fs::read(&self.output).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        kill_group(self.child.id());
        let _ = self.child.wait();
    }
}

/// A connection that fails rather than waits for ever.
pub fn connect(port: u16) -> Result<TcpStream, String> {
    let stream = TcpStream::connect(("127.0.0.1", port)).map_err(|error| format!("cannot connect: {error}"))?;
    stream.set_read_timeout(Some(LIMIT)).and_then(|()| stream.set_nodelay(true)).map_err(|error| error.to_string())?;
    Ok(stream)
}

/// Sends a request and reads until the answer ends with `end`; an empty `end` means until the server hangs up.
pub fn ask(stream: &mut TcpStream, request: &str, end: &str) -> Result<String, String> {
    stream.write_all(request.as_bytes()).map_err(|error| format!("cannot send: {error}"))?;
    let mut answer = Vec::new();
    let mut buffer = [0; 16384];
    while end.is_empty() || !answer.ends_with(end.as_bytes()) {
        let so_far = || String::from_utf8_lossy(&answer).into_owned();
        match stream.read(&mut buffer) {
            Ok(0) if end.is_empty() => break,
            Ok(0) => return Err(format!("the server hung up on {request:?} after {:?}", so_far())),
            Ok(count) => answer.extend_from_slice(&buffer[..count]),
            Err(error) => return Err(format!("no more answer to {request:?} after {:?}: {error}", so_far())),
        }
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
