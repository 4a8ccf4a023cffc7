//! One event as one line. The columns are stable: other programs and `diff` read them.

use crate::cli::names::Names;
use crate::event::{Event, Kind, Mode, ThreadId, access, atomic, memory};
use std::io;
use std::sync::Arc;

/// What an event is about.
pub enum Subject {
    /// Memory: a variable, a lock, a condition.
    Memory(u64),
    Function(u64),
    Label(u64),
    Thread(ThreadId),
    Nothing,
}

pub fn subject(kind: Kind, event: &Event) -> Subject {
    match kind {
        Kind::Enter => Subject::Function(event.object),
        Kind::BlockBegin => Subject::Label(event.object),
        Kind::Fork | Kind::Start | Kind::End | Kind::Join => Subject::Thread(event.object as ThreadId),
        Kind::Name => Subject::Thread(event.number() as ThreadId),
        Kind::Acquire
        | Kind::Release
        | Kind::Refused
        | Kind::LockInit
        | Kind::LockDestroy
        | Kind::Signal
        | Kind::Await
        | Kind::Read
        | Kind::Write
        | Kind::AtomicLoad
        | Kind::AtomicStore
        | Kind::AtomicUpdate
        | Kind::Allocate
        | Kind::Free => Subject::Memory(event.object),
        Kind::Leave
        | Kind::BlockEnd
        | Kind::Interfere
        | Kind::Lost
        | Kind::Fence
        | Kind::Extent
        | Kind::Value
        | Kind::Branches
        | Kind::Time => Subject::Nothing,
    }
}

/// The name of what an event is about.
pub fn subject_name(kind: Kind, event: &Event, names: &mut Names) -> Arc<str> {
    match subject(kind, event) {
        Subject::Memory(address) => names.object(address),
        Subject::Function(inside) => names.function(inside),
        Subject::Label(label) => names.label(label),
        Subject::Thread(thread) => format!("T{thread}").into(),
        Subject::Nothing => "-".into(),
    }
}

/// The code location of an event: the return address of a call, or for a thread's start the routine itself.
pub fn location(kind: Kind, event: &Event) -> Option<u64> {
    let pc = match kind {
        // These hold something else there.
        Kind::Value | Kind::Name | Kind::Time | Kind::Extent | Kind::Branches | Kind::Lost => 0,
        Kind::Start => event.pc.saturating_add(1),
        _ => event.pc,
    };
    (event.pc != 0 && pc != 0).then_some(pc)
}

fn details(kind: Kind, event: &Event) -> String {
    let detail = event.detail();
    let order = || atomic::ORDERS.get(usize::from(atomic::order(detail))).copied().unwrap_or("unknown");
    match kind {
        Kind::Read | Kind::Write => {
            let marks = [
                (access::VOLATILE, " volatile"),
                (access::VPTR, " vptr"),
                (access::UNALIGNED, " unaligned"),
                (access::RANGE, " range"),
            ];
            let marks: String = marks.iter().filter(|(mark, _)| detail & mark != 0).map(|(_, text)| *text).collect();
            format!("size={}{marks} branches={}", event.size(), event.branches())
        }
        Kind::AtomicLoad | Kind::AtomicStore | Kind::AtomicUpdate => {
            let fenced = if detail & atomic::FENCED != 0 { " fenced" } else { "" };
            let compared = if event.is_comparison() { " compared" } else { "" };
            format!("size={} {}{fenced}{compared}", event.size(), order())
        }
        Kind::Fence => order().to_owned(),
        Kind::Acquire if event.is_resumption() => "resumed".to_owned(),
        Kind::Acquire => match event.mode() {
            Mode::Exclusive => "exclusive".to_owned(),
            Mode::Shared => "shared".to_owned(),
        },
        Kind::Allocate => match detail {
            memory::HEAP => "heap".to_owned(),
            memory::MAPPING => "mapping".to_owned(),
            memory::STACK => "stack".to_owned(),
            memory::RESIZED => "resized".to_owned(),
            other => format!("memory={other}"),
        },
        Kind::Enter | Kind::Leave => format!("depth={}", event.depth()),
        Kind::Extent => format!("bytes={}", event.number()),
        Kind::Lost => format!("events={}", event.number()),
        Kind::Branches => format!("branches={}", event.number()),
        Kind::Time => format!("ns={}", event.number()),
        Kind::Name => format!("'{}'", event.text().escape_debug()),
        Kind::Value => format!("{:016x} {:016x}", event.object, event.pc),
        _ => "-".to_owned(),
    }
}

/// Writes the line of an event: number, thread, kind, subject, details, code location.
pub fn write(
    out: &mut impl io::Write,
    number: u64,
    thread: ThreadId,
    event: &Event,
    names: &mut Names,
) -> io::Result<()> {
    let Some(kind) = event.kind() else {
        return writeln!(out, "{number:>10}  {:<5} unknown", format!("T{thread}"));
    };
    let subject = subject_name(kind, event, names);
    let place = location(kind, event).map_or_else(|| "-".into(), |pc| names.place(pc));
    let (thread, kind, details) = (format!("T{thread}"), kind.name(), details(kind, event));
    writeln!(out, "{number:>10}  {thread:<5} {kind:<13} {subject:<24} {details:<24} {place}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::report::modules::ModuleMap;
    use crate::report::symbols::Symbols;

    #[test]
    fn every_kind_has_its_line() {
        let mut names = Names::new(Symbols::new(&Options::default(), ModuleMap::parse("")), true);
        let mut text = Vec::new();
        for (number, kind) in (0..).zip(Kind::ALL) {
            let event = match kind {
                Kind::Read => Event::access(*kind, access::VOLATILE | access::RANGE, 12, 3, 0x40, 0x91),
                Kind::AtomicStore => Event::new(*kind, atomic::detail(3, 2) | atomic::FENCED, 1, 0x40, 0x91),
                Kind::AtomicUpdate => Event::new(*kind, atomic::detail(5, 4) | atomic::COMPARED, 1, 0x40, 0x91),
                Kind::Name => Event::new(*kind, 0, 2, u64::from_le_bytes(*b"worker-1"), 0),
                _ => Event::new(*kind, 0, 7, 0x40, 0x91),
            };
            write(&mut text, number, 1, &event, &mut names).unwrap();
        }
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().count(), Kind::ALL.len());
        for expected in [
            "         4  T1    acquire       0x40                     exclusive                0x90",
            "        12  T1    fork          T64                      -                        0x90",
            "        13  T1    start         T64                      -                        0x91",
            "        17  T1    read          0x40                     size=12 volatile range branches=3 0x90",
            "        20  T1    atomic_store  0x40                     size=4 release fenced    0x90",
            "        21  T1    atomic_update 0x40                     size=16 seq_cst compared 0x90",
            "        25  T1    extent        -                        bytes=7                  -",
            "        28  T1    name          T2                       'worker-1'               -",
        ] {
            assert!(text.lines().any(|line| line == expected), "no {expected:?} in\n{text}");
        }
    }
}
