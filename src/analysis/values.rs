//! Whether every read saw the last write before it, in the merged order of a recording, as far as that has values.
//!
//! In a program without data races it must: the merged order keeps all order that its synchronisation makes. So a read that saw
//! something else is either part of a race, or saw what code wrote that is not instrumented, or shows that the recorded
//! order is wrong. Where nothing is known of a byte (nobody wrote it since it was allocated, or a range was
//! written, whose values are not recorded) any value is right; the first read then tells what it holds.
//!
//! **Own stacks.** Compilers leave out the hooks of accesses to a function's variables that no other thread can know, and a callee
//! that gets a reference to one reads it with a hook. So what a thread wrote on its own stack, or anybody in a frame that is
//! gone, says nothing about what the thread itself reads there.

use crate::event::{Event, Kind, ThreadId, memory};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A read that did not see the last write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    pub thread: ThreadId,
    pub address: u64,
    pub size: u64,
    /// Where the read is.
    pub pc: u64,
    pub seen: u128,
    /// What the bytes held by the recorded order; unknown ones as they were seen.
    pub expected: u128,
    /// Who wrote last, and where.
    pub writer: ThreadId,
    pub written_at: u64,
    /// It did not write that but see it: no write is known.
    pub only_seen: bool,
}

const GRANULE: u64 = 8;

/// What is known of eight bytes of memory.
#[derive(Clone, Copy, Default)]
struct Granule {
    bytes: [u8; GRANULE as usize],
    /// A bit for each byte that is known.
    known: u8,
    writer: ThreadId,
    written_at: u64,
    only_seen: bool,
    /// When, in events of the merged order.
    time: u64,
}

/// Where a thread's variables are, and which functions they belong to.
#[derive(Default)]
struct Stack {
    bounds: Range<u64>,
    /// Of each open function, the stack pointer at its entry and the time of that.
    frames: Vec<(u64, u64)>,
}

impl Stack {
    fn cut(&mut self, depth: u32) {
        self.frames.truncate(depth as usize);
    }

    /// When the function was entered that has the variable at `address`. It is the innermost one that began above.
    fn entered(&self, address: u64) -> Option<u64> {
        // Of stack pointers, the low 32 bits are known.
        let is_above = |pointer: u64| (pointer as u32).wrapping_sub(address as u32) as i32 > 0;
        self.frames.iter().rev().find(|(pointer, _)| is_above(*pointer)).map(|(_, time)| *time)
    }
}

/// The last event of a thread that a `Value` or an allocation may belong to.
#[derive(Clone, Copy)]
enum Pending {
    Access(Event),
    Extent(u64),
}

/// The memory of the program, as far as its recorded writes tell.
#[derive(Default)]
pub struct Values {
    memory: FxHashMap<u64, Granule>,
    pending: FxHashMap<ThreadId, Pending>,
    /// Sizes of what was allocated, for the end of it.
    blocks: FxHashMap<u64, u64>,
    stacks: FxHashMap<ThreadId, Stack>,
    /// Events so far.
    time: u64,
    compared: u64,
    has_plain: bool,
}

impl Values {
    /// Reads that were compared with a write.
    #[must_use]
    pub fn compared(&self) -> u64 {
        self.compared
    }

    /// Whether a plain access came with its value: most recordings have those of atomic operations only.
    #[must_use]
    pub fn has_plain(&self) -> bool {
        self.has_plain
    }

    /// Takes the next event of the merged order.
    pub fn step(&mut self, thread: ThreadId, event: &Event) -> Option<Mismatch> {
        let pending = self.pending.remove(&thread);
        self.time += 1;
        match event.kind()? {
            Kind::Enter => {
                let stack = self.stacks.entry(thread).or_default();
                stack.cut(event.depth());
                stack.frames.push((event.stack_pointer(), self.time));
            }
            Kind::Leave => self.stacks.entry(thread).or_default().cut(event.depth()),
            // Of a wide update no value is recorded.
            Kind::AtomicUpdate if event.size() > GRANULE => self.forget(event.object, event.size()),
            Kind::Write | Kind::AtomicStore => {
                self.forget(event.object, event.size());
                self.pending.insert(thread, Pending::Access(*event));
            }
            Kind::Read | Kind::AtomicLoad | Kind::AtomicUpdate => {
                self.pending.insert(thread, Pending::Access(*event));
            }
            Kind::Extent => {
                self.pending.insert(thread, Pending::Extent(event.number()));
            }
            Kind::Allocate => {
                if let Some(Pending::Extent(bytes)) = pending {
                    self.blocks.insert(event.object, bytes);
                    self.forget(event.object, bytes);
                    if event.detail() == memory::STACK {
                        self.stacks.entry(thread).or_default().bounds =
                            event.object..event.object.saturating_add(bytes);
                    }
                }
            }
            Kind::Free => {
                if let Some(bytes) = self.blocks.remove(&event.object) {
                    self.forget(event.object, bytes);
                }
            }
            Kind::Value => {
                if let Some(Pending::Access(access)) = pending {
                    return self.value(thread, &access, event);
                }
            }
            _ => {}
        }
        None
    }

    fn value(&mut self, thread: ThreadId, access: &Event, value: &Event) -> Option<Mismatch> {
        self.has_plain |= access.is_plain_access();
        let wide = u128::from(value.pc) << 64 | u128::from(value.object);
        match access.kind()? {
            Kind::Read | Kind::AtomicLoad => self.read(thread, access, wide),
            // An update's value is the new one, with the old one beside it.
            Kind::AtomicUpdate => {
                let mismatch = self.read(thread, access, u128::from(value.pc));
                self.write(thread, access, u128::from(value.object));
                mismatch
            }
            _ => {
                self.write(thread, access, wide);
                None
            }
        }
    }

    fn write(&mut self, thread: ThreadId, access: &Event, value: u128) {
        let time = self.time;
        for (index, byte) in value.to_le_bytes().into_iter().take(access.size() as usize).enumerate() {
            let (granule, at) = self.granule(access.object.wrapping_add(index as u64));
            granule.bytes[at] = byte;
            granule.known |= 1 << at;
            *granule = Granule { writer: thread, written_at: access.pc, only_seen: false, time, ..*granule };
        }
    }

    fn read(&mut self, thread: ThreadId, access: &Event, seen: u128) -> Option<Mismatch> {
        let own = self.stacks.get(&thread).filter(|stack| stack.bounds.contains(&access.object));
        // On the own stack, what was written from then on by others counts.
        let own_since = own.map(|stack| stack.entered(access.object).unwrap_or(u64::MAX));
        let time = self.time;
        let mut expected = seen.to_le_bytes();
        let mut last = None;
        let mut was_known = false;
        for (index, byte) in expected.iter_mut().take(access.size() as usize).enumerate() {
            let (granule, at) = self.granule(access.object.wrapping_add(index as u64));
            let counts = own_since.is_none_or(|since| granule.writer != thread && granule.time >= since);
            if granule.known & 1 << at == 0 || !counts {
                granule.bytes[at] = *byte;
                granule.known |= 1 << at;
                *granule = Granule { writer: thread, written_at: access.pc, only_seen: true, time, ..*granule };
            } else {
                was_known = true;
                if granule.bytes[at] != *byte {
                    last = Some(*granule);
                    // Told once: from here on the memory holds what was seen.
                    *byte = std::mem::replace(&mut granule.bytes[at], *byte);
                }
            }
        }
        self.compared += u64::from(was_known);
        let Granule { writer, written_at, only_seen, .. } = last?;
        let (address, size, pc) = (access.object, access.size(), access.pc);
        let expected = u128::from_le_bytes(expected);
        Some(Mismatch { thread, address, size, pc, seen, expected, writer, written_at, only_seen })
    }

    fn granule(&mut self, address: u64) -> (&mut Granule, usize) {
        (self.memory.entry(address / GRANULE).or_default(), (address % GRANULE) as usize)
    }

    /// Nothing is known of these bytes any more.
    fn forget(&mut self, address: u64, bytes: u64) {
        let Some(last) = bytes.checked_sub(1).map(|more| address.saturating_add(more)) else { return };
        let cut = |granule: &mut Granule, number: u64| {
            let first = address.saturating_sub(number * GRANULE).min(GRANULE);
            let end = (last - number * GRANULE).min(GRANULE - 1);
            granule.known &= !(first..=end).fold(0, |mask: u8, at| mask | 1 << at);
        };
        let range = address / GRANULE..=last / GRANULE;
        // A huge block may hold little that is known.
        if range.end() - range.start() > self.memory.len() as u64 {
            let inside = self.memory.iter_mut().filter(|(number, _)| range.contains(number));
            inside.for_each(|(number, granule)| cut(granule, *number));
        } else {
            for number in range {
                if let Some(granule) = self.memory.get_mut(&number) {
                    cut(granule, number);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{access, atomic};

    struct Run(Values);

    impl Run {
        fn new() -> Run {
            Run(Values::default())
        }

        fn access(&mut self, thread: ThreadId, kind: Kind, address: u64, size: u32, value: u64) -> Option<Mismatch> {
            let access = Event::access(kind, 0, size, 0, address, 0x10 + u64::from(thread));
            assert_eq!(self.0.step(thread, &access), None);
            self.0.step(thread, &Event::new(Kind::Value, 0, 0, value, 0))
        }
    }

    #[test]
    fn a_read_of_the_last_write_is_right_and_any_other_is_told() {
        let mut run = Run::new();
        assert_eq!(run.access(1, Kind::Write, 0x1006, 4, 0x0403_0201), None);
        assert_eq!(run.access(2, Kind::Read, 0x1006, 4, 0x0403_0201), None);
        assert_eq!(run.access(2, Kind::Read, 0x1008, 2, 0x0403), None, "a part of it, in the next granule");
        let mismatch = run.access(2, Kind::Read, 0x1007, 1, 9).unwrap();
        assert_eq!((mismatch.thread, mismatch.writer, mismatch.written_at), (2, 1, 0x11));
        assert_eq!((mismatch.seen, mismatch.expected), (9, 2));
        assert_eq!(run.access(2, Kind::Read, 0x1007, 1, 9), None, "told once");
        assert_eq!(run.0.compared(), 4);
    }

    #[test]
    fn the_first_read_of_unknown_memory_tells_what_it_holds() {
        let mut run = Run::new();
        assert_eq!(run.access(1, Kind::Read, 0x1000, 8, 7), None);
        let mismatch = run.access(2, Kind::Read, 0x1000, 8, 8).unwrap();
        assert_eq!((mismatch.writer, mismatch.only_seen), (1, true));
    }

    #[test]
    fn on_its_own_stack_a_thread_is_compared_with_others_only() {
        let mut run = Run::new();
        run.0.step(1, &Event::new(Kind::Extent, 0, 0x1000, 0, 0));
        run.0.step(1, &Event::new(Kind::Allocate, memory::STACK, 0, 0x7000, 0));
        run.0.step(1, &Event::enter(0, 0x7f00, 0x10, 0));
        run.access(1, Kind::Write, 0x7e00, 8, 1);
        assert_eq!(run.access(1, Kind::Read, 0x7e00, 8, 2), None, "written again without a hook");
        run.access(2, Kind::Write, 0x7e00, 8, 3);
        assert!(run.access(1, Kind::Read, 0x7e00, 8, 4).is_some());
        run.access(2, Kind::Write, 0x7e00, 8, 3);
        run.0.step(1, &Event::enter(0, 0x7f00, 0x10, 0));
        assert_eq!(run.access(1, Kind::Read, 0x7e00, 8, 5), None, "the variable of another call");
        assert!(run.access(2, Kind::Read, 0x7e00, 8, 6).is_some(), "to others it is memory like any other");
    }

    #[test]
    fn nothing_is_known_of_ranges_and_of_new_memory() {
        let mut run = Run::new();
        let known = |run: &mut Run| run.access(1, Kind::Write, 0x1000, 8, 7);
        known(&mut run);
        run.0.step(1, &Event::access(Kind::Write, access::RANGE, 100, 0, 0xfff, 0));
        assert_eq!(run.access(2, Kind::Read, 0x1000, 8, 8), None);
        known(&mut run);
        run.0.step(2, &Event::new(Kind::Extent, 0, 1 << 40, 0, 0));
        run.0.step(2, &Event::new(Kind::Allocate, 0, 0, 0x1004, 0));
        assert_eq!(run.access(2, Kind::Read, 0x1004, 4, 5), None, "it lies in the new block");
        assert!(run.access(2, Kind::Read, 0x1000, 1, 6).is_some(), "it lies before it");
        run.access(1, Kind::Write, 0x1004, 4, 9);
        run.0.step(2, &Event::new(Kind::Free, 0, 1, 0x1004, 0));
        assert_eq!(run.access(2, Kind::Read, 0x1004, 4, 5), None);
    }

    #[test]
    fn an_update_reads_the_old_value_and_leaves_the_new_one() {
        let mut run = Run::new();
        let mut update = |old, new| {
            run.0.step(1, &Event::new(Kind::AtomicUpdate, atomic::detail(5, 2), 0, 0x1000, 0x11));
            run.0.step(1, &Event::new(Kind::Value, 0, 0, new, old))
        };
        assert_eq!(update(5, 6), None);
        assert_eq!(update(6, 7), None);
        assert!(update(5, 8).is_some());
        assert!(!run.0.has_plain());
        assert_eq!(run.access(2, Kind::Read, 0x1000, 4, 8), None);
        assert!(run.access(2, Kind::Read, 0x1000, 4, 5).is_some());
        assert!(run.0.has_plain());
    }
}
