//! A copied structure is read before it is written, whatever the compiler says.
//!
//! gcc calls the hooks of `*a = *b` in the order write, read, and then copies. For an analysis the write depends on the read, so
//! readers swap the two: a written and a read range of one size right behind each other in the code and in the trace, that do not
//! overlap. (`memcpy` and clang have the right order already.)

use crate::event::{Event, Kind, access};

/// How far the second hook's return address may lie behind the first one's: a few instructions for its arguments, and the call.
const NEAR: u64 = 32;

/// Swaps the accesses of copied structures in one chunk of a thread. Their branch counts stay where they are.
pub fn order(events: &mut [Event]) {
    let mut at = 0;
    while let Some([write, read]) = events.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        if is_copy(write, read) {
            let (branches, none) = (write.branches(), read.branches());
            let earlier = |event: &Event, branches| {
                let kind = if event.kind() == Some(Kind::Read) { Kind::Read } else { Kind::Write };
                Event::access(kind, event.detail(), event.size() as u32, branches, event.object, event.pc)
            };
            (*write, *read) = (earlier(read, branches), earlier(write, none));
            at += 1;
        }
        at += 1;
    }
}

fn is_copy(write: &Event, read: &Event) -> bool {
    let size = write.size();
    write.kind() == Some(Kind::Write)
        && read.kind() == Some(Kind::Read)
        && write.detail() & read.detail() & access::RANGE != 0
        && read.size() == size
        && read.pc.wrapping_sub(write.pc).wrapping_sub(1) < NEAR
        && write.object.abs_diff(read.object) >= size
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(kind: Kind, size: u32, branches: u16, address: u64, pc: u64) -> Event {
        Event::access(kind, access::RANGE, size, branches, address, pc)
    }

    #[test]
    fn a_structure_is_read_before_it_is_written() {
        let before = Event::access(Kind::Read, 0, 8, 1, 0x10, 0x400);
        let mut events =
            [before, range(Kind::Write, 24, 3, 0x1000, 0x410), range(Kind::Read, 24, 0, 0x2000, 0x41f), before];
        order(&mut events);
        let expected =
            [before, range(Kind::Read, 24, 3, 0x2000, 0x41f), range(Kind::Write, 24, 0, 0x1000, 0x410), before];
        assert_eq!(events, expected);
    }

    #[test]
    fn what_only_looks_like_a_copy_stays() {
        let write = range(Kind::Write, 24, 0, 0x1000, 0x410);
        for read in [
            range(Kind::Read, 16, 0, 0x2000, 0x41f),
            range(Kind::Read, 24, 0, 0x1008, 0x41f),
            range(Kind::Read, 24, 0, 0x2000, 0x410),
            range(Kind::Read, 24, 0, 0x2000, 0x500),
            Event::access(Kind::Read, 0, 24, 0, 0x2000, 0x41f),
            range(Kind::Write, 24, 0, 0x2000, 0x41f),
        ] {
            let mut events = [write, read];
            order(&mut events);
            assert_eq!(events, [write, read]);
        }
    }
}
