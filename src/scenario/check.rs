//! Who starts whom: every thread at most once, and none only by itself.

use super::error::{Error, ErrorKind};
use super::tree::{Position, Thread, ThreadIndex};
use super::words::Does;

/// A fork or a join.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    pub word: Does,
    pub by: ThreadIndex,
    pub of: ThreadIndex,
    pub at: Position,
}

impl Start {
    fn error(&self, kind: ErrorKind) -> Error {
        Error { kind, at: self.at, width: self.word.text().len() as u32 }
    }
}

/// Tells what is wrong about the forks and joins of the file.
pub fn starts(threads: &[Thread], mut starts: Vec<Start>, errors: &mut Vec<Error>) {
    starts.sort_by_key(|start| (start.at.line, start.at.column));
    let mut forks: Vec<Option<Start>> = vec![None; threads.len()];
    let mut joins = forks.clone();
    for start in starts {
        let step = start.word.text();
        let first = if start.word == Does::Fork { &mut forks[start.of] } else { &mut joins[start.of] };
        if start.by == start.of {
            errors.push(start.error(ErrorKind::Itself { step }));
        } else if let Some(first) = first {
            let thread = threads[start.of].name.clone();
            errors.push(start.error(ErrorKind::Again { step, thread, line: first.at.line }));
        } else {
            *first = Some(start);
        }
    }
    cycles(threads, &forks, errors);
}

/// Each thread is forked by one other or by none: a walk from thread to forker ends, or comes back into a cycle.
fn cycles(threads: &[Thread], forks: &[Option<Start>], errors: &mut Vec<Error>) {
    let mut walked: Vec<Option<ThreadIndex>> = vec![None; threads.len()];
    for walk in 0..threads.len() {
        let mut thread = walk;
        while let (None, Some(fork)) = (walked[thread], forks[thread]) {
            walked[thread] = Some(walk);
            thread = fork.by;
        }
        if walked[thread] == Some(walk) {
            errors.extend(cycle(threads, forks, thread));
        }
    }
}

/// The error about the cycle that this thread is in.
fn cycle(threads: &[Thread], forks: &[Option<Start>], first: ThreadIndex) -> Option<Error> {
    let name = |thread: ThreadIndex| &threads[thread].name;
    let mut chain = Vec::new();
    let mut next = forks[first];
    while let Some(fork) = next {
        chain.push(format!("'{}' is forked by '{}'", name(fork.of), name(fork.by)));
        next = forks[fork.by].filter(|_| fork.by != first);
    }
    let thread = name(first).clone();
    Some(forks[first]?.error(ErrorKind::NeverStarts { thread, chain: chain.join(", ") }))
}
