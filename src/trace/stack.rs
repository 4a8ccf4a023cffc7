//! The functions that are open where a chunk begins, so that a reader can start there.

use super::varint;
use crate::event::{Event, Kind};

/// Frames that a chunk tells.
pub const MOST_TOLD: usize = 64;

/// An open function: an address inside it, and the return address in its caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    pub inside: u64,
    pub call: u64,
}

/// The function stack of a thread, as far as it is known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpenFunctions {
    /// How many further out are open and not known.
    pub unknown: u32,
    /// Outermost first.
    pub frames: Vec<Frame>,
}

impl OpenFunctions {
    /// What is open after these events. Goes through them backwards, because then what was entered and left again is never met at
    /// a depth that matters: passing over it takes no decision that a processor could guess wrong.
    pub fn apply(&mut self, events: &[Event]) {
        let mut lowest = u32::MAX;
        let mut still_open = Vec::new();
        for event in events.iter().rev() {
            if event.is_frame() & (event.depth() < lowest) {
                lowest = event.depth();
                if event.kind() == Some(Kind::Enter) {
                    still_open.push(event);
                }
            }
        }
        if lowest != u32::MAX {
            self.cut(lowest);
        }
        for event in still_open.iter().rev() {
            self.cut(event.depth());
            self.frames.push(Frame { inside: event.object, call: event.pc });
        }
    }

    fn cut(&mut self, depth: u32) {
        match depth.checked_sub(self.unknown) {
            Some(known) if known as usize <= self.frames.len() => self.frames.truncate(known as usize),
            // Outside of what is known; or beyond it, where events were lost.
            _ => {
                self.unknown = depth;
                self.frames.clear();
            }
        }
    }

    /// How many functions are open.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.unknown.saturating_add(self.frames.len() as u32)
    }

    /// The events that open these functions.
    pub fn enters(&self) -> impl Iterator<Item = Event> + '_ {
        let depths = (u64::from(self.unknown)..).take(self.frames.len());
        depths.zip(&self.frames).map(|(depth, frame)| Event::new(Kind::Enter, 0, depth, frame.inside, frame.call))
    }

    /// The innermost frames to bytes: number of unknown ones, number of frames, then each as distances from the one before.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let untold = self.frames.len().saturating_sub(MOST_TOLD);
        varint::put(out, u64::from(self.unknown) + untold as u64);
        varint::put(out, (self.frames.len() - untold) as u64);
        let mut last = Frame::default();
        for frame in &self.frames[untold..] {
            varint::put(out, varint::zigzag(frame.inside.wrapping_sub(last.inside)));
            varint::put(out, varint::zigzag(frame.call.wrapping_sub(last.call)));
            last = *frame;
        }
    }

    /// Takes them off the front of a payload.
    pub(super) fn decode(&mut self, bytes: &mut &[u8]) -> Option<()> {
        self.unknown = u32::try_from(varint::take(bytes)?).ok()?;
        self.frames.clear();
        let mut last = Frame::default();
        let count = varint::take(bytes)?;
        if count > MOST_TOLD as u64 {
            return None;
        }
        for _ in 0..count {
            last.inside = last.inside.wrapping_add(varint::unzigzag(varint::take(bytes)?));
            last.call = last.call.wrapping_add(varint::unzigzag(varint::take(bytes)?));
            self.frames.push(last);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(depth: u32, inside: u64) -> Event {
        Event::enter(depth, 0x7fff_0000, inside, inside + 1)
    }

    fn insides(stack: &OpenFunctions) -> Vec<u64> {
        stack.frames.iter().map(|frame| frame.inside).collect()
    }

    #[test]
    fn entries_and_exits_are_followed() {
        let mut stack = OpenFunctions::default();
        stack.apply(&[enter(0, 10), enter(1, 20), enter(2, 30), Event::new(Kind::Leave, 0, 1, 0, 0), enter(1, 40)]);
        assert_eq!((stack.unknown, insides(&stack)), (0, vec![10, 40]));
        stack.apply(&[enter(7, 50)]);
        assert_eq!((stack.unknown, insides(&stack)), (7, vec![50]), "what was lost in between is not made up");
        stack.apply(&[enter(3, 60)]);
        assert_eq!((stack.unknown, insides(&stack), stack.depth()), (3, vec![60], 4));
    }

    #[test]
    fn the_innermost_frames_come_back() {
        for depth in [0, 1, MOST_TOLD as u32, MOST_TOLD as u32 + 9] {
            let mut stack = OpenFunctions::default();
            stack.apply(&(0..depth).map(|depth| enter(depth, 0x40_0000 - u64::from(depth) * 77)).collect::<Vec<_>>());
            let mut bytes = Vec::new();
            stack.encode(&mut bytes);
            let mut rest = &bytes[..];
            let mut told = OpenFunctions::default();
            assert_eq!(told.decode(&mut rest), Some(()));
            assert!(rest.is_empty());
            assert_eq!(told.depth(), depth);
            assert_eq!(told.frames[..], stack.frames[stack.frames.len() - told.frames.len()..]);
            assert_eq!(told.frames.len(), MOST_TOLD.min(depth as usize));
            for end in 0..bytes.len() {
                assert_eq!(told.decode(&mut &bytes[..end]), None);
            }
        }
    }
}
