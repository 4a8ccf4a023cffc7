//! `avmon check --serial`: whether the recorded run itself was serialisable.

use crate::analysis::serial::{Block, Config, Operation, Serial, Split};
use crate::cli::exit::Failure;
use crate::cli::figures::{counted, grouped};
use crate::cli::names::Names;
use crate::cli::progress::Progress;
use crate::cli::{print, recording, tell};
use crate::event::Kind;
use crate::report::finding::Frame;
use crate::trace::reader::{Merged, Trace};
use std::io::{self, IsTerminal as _};
use std::ops::ControlFlow;

/// True if a block was not serialisable.
pub fn check(trace: &Trace, strict_waits: bool) -> Result<bool, Failure> {
    let mut serial = Serial::new(Config { strict_waits });
    let mut splits = Vec::new();
    let merged = recording::read(trace, Progress::beside_output(io::stdout().is_terminal()), |thread, event| {
        serial.step(thread, event, &mut |split| splits.push(split));
        ControlFlow::Continue(())
    });
    recording::warn(&merged.problems);
    warn(trace, &serial, &merged);
    let mut names = Names::new(recording::symbols(trace, true), true);
    for split in &splits {
        let runs = serial.counts().get(&split.block).copied().unwrap_or_default();
        print(describe(split, runs, &mut names).as_bytes())?;
    }
    let all = format!("{}, {}", counted(serial.blocks(), "block"), counted(merged.events, "event"));
    let split: u64 = serial.counts().values().sum();
    match split {
        0 => print(format!("the recorded run was serialisable: {all}\n").as_bytes())?,
        _ => print(format!("the recorded run was not serialisable: {} of {all}\n", grouped(split)).as_bytes())?,
    };
    Ok(split > 0)
}

/// Says what the verdict does not know of.
fn warn(trace: &Trace, serial: &Serial, merged: &Merged) {
    if serial.blocks() == 0 {
        tell("warning", "no block is marked, so there was nothing to split; mark blocks as docs/annotations.md says");
    }
    let excluded: u64 = trace.threads().iter().map(|stream| stream.counts.dropped.excluded).sum();
    if excluded > 0 {
        tell(
            "warning",
            &format!("{} left out of excluded code; record without -x to check them too", grouped(excluded)),
        );
    }
    if serial.lost() > 0 {
        let lost = counted(serial.lost(), "event");
        tell("warning", &format!("{lost} were lost; blocks that were open then are checked in part"));
    }
    if merged.order_gaps > 0 || !trace.problems().is_empty() || !merged.problems.is_empty() {
        tell(
            "warning",
            "parts of the trace are missing, and what it says of blocks that were open there may be wrong; record the run again",
        );
    }
}

fn describe(split: &Split, runs: u64, names: &mut Names) -> String {
    let Split { block, object, operation, before } = split;
    let times = if runs == 1 { "once".to_owned() } else { format!("{} times", grouped(runs)) };
    format!(
        "{} was split {times}, first in thread T{}:\n  thread T{} {}\n  after thread T{} {}{}\n  which came after a part of the block\n",
        name(block, names),
        operation.thread,
        operation.thread,
        told(operation, *object, names),
        before.thread,
        told(before, *object, names),
        before.block.map(|block| format!(" in {}", name(&block, names))).unwrap_or_default(),
    )
}

fn name(block: &Block, names: &mut Names) -> String {
    let place = begin(block, names);
    if block.label == 0 {
        format!("the block at {place}")
    } else {
        format!("block '{}' at {place}", names.label(block.label))
    }
}

/// Where a block begins. The mark itself is code of the header, inlined there.
fn begin(block: &Block, names: &mut Names) -> String {
    let frames = names.frames(block.pc);
    let is_users = |frame: &&Frame| !frame.file.as_deref().is_some_and(|file| file.ends_with("avmon.h"));
    let frame = frames.iter().find(is_users).unwrap_or(&frames[0]);
    match &frame.function {
        Some(function) => format!("{function} {}", frame.short()),
        None => frame.short(),
    }
}

/// What an operation did, and where.
fn told(operation: &Operation, object: u64, names: &mut Names) -> String {
    let verb = match operation.kind {
        Kind::Read => "read",
        Kind::Write => "wrote",
        Kind::AtomicLoad => "atomically read",
        Kind::AtomicStore => "atomically wrote",
        Kind::AtomicUpdate => "atomically updated",
        Kind::Acquire => "acquired",
        Kind::Release => "released",
        Kind::Refused => "failed to acquire",
        Kind::Signal => "signalled",
        Kind::Await => "waited for",
        Kind::Join => return format!("joined thread T{object} at {}", names.place(operation.pc)),
        other => return format!("had its event '{}'", other.name()),
    };
    format!("{verb} {} at {}", names.object(object), names.place(operation.pc))
}
