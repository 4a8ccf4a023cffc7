//! The open transactions of each step, as dynamic invocations: two steps share a frame exactly if the same call, or the same
//! pass through a marked block, contains both.

use crate::analysis::Transaction;
use crate::event::Event;

use super::NONE;

/// One invocation.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// What it is; none for all that a thread does between two interference points.
    pub transaction: Option<Transaction>,
    pub parent: u32,
    pub depth: u32,
}

/// All invocations in which a step lies.
#[derive(Default)]
pub struct Frames(Vec<Frame>);

impl Frames {
    #[must_use]
    pub fn get(&self, frame: u32) -> &Frame {
        &self.0[frame as usize]
    }

    /// The transactions from the outermost one to this.
    #[must_use]
    pub fn stack(&self, mut frame: u32) -> Vec<Transaction> {
        let mut stack = Vec::new();
        while frame != NONE {
            let Frame { transaction, parent, .. } = self.0[frame as usize];
            stack.extend(transaction);
            frame = parent;
        }
        stack.reverse();
        stack
    }

    /// The innermost invocation that contains both. If an interference point lies between them there is none.
    #[must_use]
    pub fn common(&self, mut a: u32, mut b: u32) -> Option<u32> {
        while a != b {
            if a == NONE || b == NONE {
                return None;
            }
            let (one, other) = (&self.0[a as usize], &self.0[b as usize]);
            if one.depth >= other.depth {
                a = one.parent;
            }
            if other.depth >= one.depth {
                b = other.parent;
            }
        }
        (a != NONE).then_some(a)
    }

    /// Where in `block` a step at `pc` in `frame` happens: at the call there that leads to it, or at `pc` itself.
    #[must_use]
    pub fn location(&self, mut frame: u32, block: u32, pc: u64) -> u64 {
        let mut location = pc;
        while frame != block && frame != NONE {
            let it = &self.0[frame as usize];
            location = it.transaction.map_or(pc, |transaction| transaction.opened_at());
            frame = it.parent;
        }
        location
    }

    /// What tells one piece of code from another: the function or the mark of a frame.
    #[must_use]
    pub fn code(&self, frame: u32) -> u64 {
        match self.0[frame as usize].transaction {
            Some(Transaction::Function { inside, .. }) => inside,
            Some(Transaction::Block { pc, .. } | Transaction::Section { pc, .. }) => pc,
            None => 0,
        }
    }

    /// The innermost marked block around an invocation, itself included.
    #[must_use]
    pub fn block(&self, mut frame: u32) -> Option<u32> {
        while frame != NONE {
            let it = &self.0[frame as usize];
            if matches!(it.transaction, Some(Transaction::Block { .. })) {
                return Some(frame);
            }
            frame = it.parent;
        }
        None
    }

    /// The innermost function around an invocation, itself included, and an address inside of it.
    #[must_use]
    pub fn function(&self, mut frame: u32) -> Option<(u32, u64)> {
        while frame != NONE {
            let it = &self.0[frame as usize];
            if let Some(Transaction::Function { inside, .. }) = it.transaction {
                return Some((frame, inside));
            }
            frame = it.parent;
        }
        None
    }

    /// All invocations.
    pub fn all(&self) -> impl Iterator<Item = &Frame> {
        self.0.iter()
    }

    /// Whether an invocation is all that a thread does.
    #[must_use]
    pub fn is_base(&self, frame: u32) -> bool {
        let it = &self.0[frame as usize];
        match it.transaction {
            None => true,
            Some(Transaction::Block { .. } | Transaction::Section { .. }) => false,
            Some(Transaction::Function { .. }) => self.0[it.parent as usize].transaction.is_none(),
        }
    }

    fn add(&mut self, transaction: Option<Transaction>, parent: u32) -> u32 {
        let depth = if parent == NONE { 0 } else { self.0[parent as usize].depth + 1 };
        self.0.push(Frame { transaction, parent, depth });
        self.0.len() as u32 - 1
    }
}

struct Open {
    transaction: Transaction,
    /// Functions below it.
    level: u32,
    /// NONE until a step lies in it.
    frame: u32,
}

/// The transactions that a thread has open.
#[derive(Default)]
pub struct OpenFrames {
    open: Vec<Open>,
    functions: u32,
    base: Option<u32>,
}

impl OpenFrames {
    /// Functions are left until so many are open.
    pub fn cut(&mut self, depth: u32) {
        while let Some(top) = self.open.last() {
            let is_function = matches!(top.transaction, Transaction::Function { .. });
            if top.level < depth + u32::from(!is_function) {
                break;
            }
            self.open.pop();
        }
        self.functions = self.functions.min(depth);
    }

    pub fn enter(&mut self, event: &Event) {
        self.cut(event.depth());
        let transaction = Transaction::Function { inside: event.object, call: event.pc };
        self.open.push(Open { transaction, level: self.functions, frame: NONE });
        self.functions += 1;
    }

    pub fn begin(&mut self, event: &Event) {
        let transaction = Transaction::Block { label: event.object, pc: event.pc };
        self.open.push(Open { transaction, level: self.functions, frame: NONE });
    }

    pub fn end(&mut self) {
        let is_block = |open: &Open| matches!(open.transaction, Transaction::Block { .. });
        if let Some(at) = self.open.iter().rposition(is_block) {
            self.open.remove(at);
            for above in &mut self.open[at..] {
                above.frame = NONE;
            }
        }
    }

    /// All that is open ends and begins again.
    pub fn interfere(&mut self) {
        self.base = None;
        for open in &mut self.open {
            open.frame = NONE;
        }
    }

    /// The frame of a step that is made now.
    pub fn current(&mut self, frames: &mut Frames) -> u32 {
        if let Some(top) = self.open.last()
            && top.frame != NONE
        {
            return top.frame;
        }
        let mut parent = *self.base.get_or_insert_with(|| frames.add(None, NONE));
        for open in &mut self.open {
            if open.frame == NONE {
                open.frame = frames.add(Some(open.transaction), parent);
            }
            parent = open.frame;
        }
        parent
    }
}
