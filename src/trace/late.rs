//! The monitor's view of a recorded thread: what it would have been told if nobody had recorded.
//!
//! A recording has every access and every function call. The online rules need neither the accesses nor a function in which
//! nothing happens that they look at; so, as the program itself does when it is not recorded, calls and returns are told
//! *late*: before the next event that needs the function stack, and only what of it has changed. The worker and the
//! readers of recordings both go through here, which is why they see the same.

use crate::event::{Event, Kind};

/// Makes the monitor's view of one thread, piece by piece. How its stream is cut into pieces changes nothing.
#[derive(Clone, Debug, Default)]
pub struct LateFrames {
    /// The open functions, outermost first. Depths grow but may leave gaps, where events were lost.
    open: Vec<Frame>,
    /// How deep the stack is for those who were told.
    told: u32,
    /// How deep it was at least ever since: what was told above this is closed.
    low: u32,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    depth: u32,
    inside: u64,
    call: u64,
}

/// By the code of a kind: whether an access-heavy stream can pass over it.
const PASSED_OVER: u64 = {
    let mut mask = 0;
    let mut code = 0;
    while code < Kind::ALL.len() {
        mask |= (!Kind::ALL[code].is_for_monitor() as u64) << code;
        code += 1;
    }
    mask
};

impl LateFrames {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the thread's next events and appends what the monitor is to see of them.
    pub fn split(&mut self, events: &[Event], out: &mut Vec<Event>) {
        for event in events.iter().filter(|event| !event.is_plain_access()) {
            let Some(kind) = event.kind() else { continue };
            if PASSED_OVER >> kind as u8 & 1 == 0 {
                self.see(kind, event, out);
            }
        }
    }

    fn see(&mut self, kind: Kind, event: &Event, out: &mut Vec<Event>) {
        match kind {
            Kind::Enter => {
                let depth = event.depth();
                self.cut(depth);
                self.open.push(Frame { depth, inside: event.object, call: event.pc });
            }
            Kind::Leave => self.cut(event.depth()),
            _ => {
                self.tell(out);
                out.push(*event);
            }
        }
    }

    fn cut(&mut self, depth: u32) {
        while self.open.last().is_some_and(|frame| frame.depth >= depth) {
            self.open.pop();
        }
        self.low = self.low.min(depth);
    }

    /// Brings those who were told up to date. A frame closes all that was told at its depth and above.
    fn tell(&mut self, out: &mut Vec<Event>) {
        let unchanged = self.open.partition_point(|frame| frame.depth < self.low);
        let news = &self.open[unchanged..];
        if self.told > self.low && news.first().is_none_or(|frame| frame.depth > self.low) {
            out.push(Event::new(Kind::Leave, 0, u64::from(self.low), 0, 0));
        }
        let enter = |frame: &Frame| Event::new(Kind::Enter, 0, u64::from(frame.depth), frame.inside, frame.call);
        out.extend(news.iter().map(enter));
        self.told = self.open.last().map_or(0, |frame| frame.depth + 1);
        self.low = self.told;
    }
}
