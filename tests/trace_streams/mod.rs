//! Streams of one thread as real programs make them, for tests and measurements of recordings.

#![allow(dead_code, reason = "each test crate uses its own part")]

use std::collections::HashMap;

use avmon::event::{Event, Kind, stripe_of};

/// Where the thread's stack begins, and how large it is.
pub const STACK: u64 = 0x7f12_3400_0000;
pub const STACK_SIZE: u64 = 8 << 20;
const HEAP: u64 = 0x5581_2340_0000;
const CODE: u64 = 0x5581_0000_1000;

/// Numbers without a pattern, the same in every run.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(2) | 1)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

/// Writes down what a program does.
pub struct Program {
    pub events: Vec<Event>,
    numbers: HashMap<usize, u64>,
    depth: u32,
    stack_pointer: u64,
    frames: Vec<u64>,
    branches: u16,
}

impl Program {
    pub fn new() -> Program {
        let mut program = Program {
            events: Vec::new(),
            numbers: HashMap::new(),
            depth: 0,
            stack_pointer: STACK + STACK_SIZE - 256,
            frames: Vec::new(),
            branches: 0,
        };
        program.ordered(Kind::Start, 1, CODE);
        program.events.push(Event::new(Kind::Extent, 0, STACK_SIZE, 0, 0));
        program.ordered_with(Kind::Allocate, avmon::event::memory::STACK, STACK, 0);
        program
    }

    pub fn branch(&mut self) {
        self.branches += 1;
    }

    fn access(&mut self, kind: Kind, line: u64, size: u32, address: u64) {
        let branches = std::mem::take(&mut self.branches);
        self.events.push(Event::access(kind, 0, size, branches, address, CODE + line * 13));
    }

    pub fn read(&mut self, line: u64, size: u32, address: u64) {
        self.access(Kind::Read, line, size, address);
    }

    pub fn write(&mut self, line: u64, size: u32, address: u64) {
        self.access(Kind::Write, line, size, address);
    }

    pub fn ordered(&mut self, kind: Kind, object: u64, pc: u64) {
        self.ordered_with(kind, 0, object, pc);
    }

    pub fn ordered_with(&mut self, kind: Kind, detail: u8, object: u64, pc: u64) {
        let number = self.numbers.entry(Event::stripe(kind, object)).or_default();
        self.events.push(Event::new(kind, detail, *number, object, pc));
        *number += 1;
    }

    pub fn lock(&mut self, line: u64, object: u64) {
        self.ordered(Kind::Acquire, object, CODE + line * 13);
    }

    pub fn unlock(&mut self, line: u64, object: u64) {
        self.ordered(Kind::Release, object, CODE + line * 13);
    }

    /// Somebody else used the object's stripe.
    pub fn others(&mut self, object: u64, times: u64) {
        *self.numbers.entry(stripe_of(object)).or_default() += times;
    }

    /// Calls a function with a frame of `size` bytes.
    pub fn call(&mut self, line: u64, function: u64, size: u64) {
        self.events.push(Event::enter(self.depth, self.stack_pointer, CODE + function * 0x400, CODE + line * 13));
        self.frames.push(size);
        self.stack_pointer -= size;
        self.depth += 1;
    }

    pub fn ret(&mut self) {
        self.depth -= 1;
        self.stack_pointer += self.frames.pop().unwrap_or(0);
        self.events.push(Event::new(Kind::Leave, 0, u64::from(self.depth), 0, 0));
    }

    /// The address of a local variable.
    pub fn local(&self, offset: u64) -> u64 {
        self.stack_pointer + offset
    }
}

/// The usual product of two matrices of doubles.
pub fn matrix(events: usize) -> Vec<Event> {
    const N: u64 = 200;
    let cell = |matrix: u64, row: u64, column: u64| HEAP + matrix * 0x10_0000 + (row * N + column) * 8;
    let mut program = Program::new();
    program.call(1, 1, 96);
    'all: loop {
        for i in 0..N {
            for j in 0..N {
                program.branch();
                for k in 0..N {
                    program.branch();
                    program.read(10, 8, cell(0, i, k));
                    program.read(11, 8, cell(1, k, j));
                    program.read(12, 8, cell(2, i, j));
                    program.write(13, 8, cell(2, i, j));
                    if program.events.len() >= events {
                        break 'all;
                    }
                }
            }
        }
    }
    program.events
}

/// Look-ups in a table of 64 MiB with linear probing, and an update of what was found.
pub fn hash(events: usize) -> Vec<Event> {
    let mut dice = Dice::new(5);
    let mut program = Program::new();
    let keys = HEAP + 0x800_0000;
    let mut turn = 0;
    while program.events.len() < events {
        program.call(2, 2, 64);
        program.branch();
        program.read(20, 8, keys + turn % 100_000 * 8);
        program.read(21, 8, HEAP - 64);
        let mut slot = dice.below(1 << 21);
        for probe in 0.. {
            program.branch();
            program.read(22, 8, HEAP + slot * 32);
            if dice.below(3) > 0 || probe > 8 {
                break;
            }
            slot = (slot + 1) % (1 << 21);
        }
        program.read(23, 8, HEAP + slot * 32 + 8);
        program.write(24, 8, HEAP + slot * 32 + 8);
        program.branch();
        program.ret();
        turn += 1;
    }
    program.events
}

/// Searches in a balanced tree of a million nodes that lie anywhere, with a counter in each node.
pub fn tree(events: usize) -> Vec<Event> {
    let mut dice = Dice::new(9);
    let mut program = Program::new();
    let node = |name: u64| HEAP + (name.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44) * 48;
    while program.events.len() < events {
        program.call(3, 3, 48);
        let mut name = 1;
        program.read(30, 8, HEAP - 32);
        while name < 1 << 20 {
            program.branch();
            program.read(31, 8, node(name));
            let left = dice.below(2) == 0;
            program.branch();
            if left {
                program.read(32, 8, node(name) + 8);
            } else {
                program.branch();
                program.read(33, 8, node(name) + 16);
            }
            name = name * 2 + u64::from(!left);
            if dice.below(16) == 0 {
                program.branch();
                break;
            }
        }
        program.read(34, 8, node(name) + 24);
        program.write(35, 8, node(name) + 24);
        program.ret();
    }
    program.events
}

/// Transfers between accounts, each with a lock of its own that others use as well.
pub fn locks(events: usize) -> Vec<Event> {
    let mut dice = Dice::new(3);
    let mut program = Program::new();
    let account = |i: u64| HEAP + i * 64;
    while program.events.len() < events {
        let (from, to) = (dice.below(100), dice.below(100));
        program.call(4, 4, 80);
        for (i, line) in [(from, 40), (to, 45)] {
            program.branch();
            program.others(account(i), dice.below(4) / 2);
            program.lock(line, account(i));
            program.read(line + 1, 8, account(i) + 40);
            program.write(line + 2, 8, account(i) + 40);
            program.unlock(line + 3, account(i));
        }
        program.ret();
    }
    program.events
}

/// A recursive function with locals, and small functions called from several places.
pub fn calls(events: usize) -> Vec<Event> {
    fn visit(program: &mut Program, dice: &mut Dice, level: u64, events: usize) {
        program.call(if level == 0 { 5 } else { 50 + level % 2 }, 5, 112);
        program.branch();
        program.write(52, 8, program.local(16));
        for child in 0..2 {
            program.call(53 + child, 6, 32);
            program.read(55, 4, program.local(40));
            program.write(56, 4, HEAP + level * 4096 + dice.below(16) * 4);
            program.ret();
            program.branch();
            program.read(57, 8, program.local(16));
            if level < 8 && dice.below(4) > 0 && program.events.len() < events {
                visit(program, dice, level + 1, events);
            }
        }
        program.ret();
    }
    let mut dice = Dice::new(7);
    let mut program = Program::new();
    while program.events.len() < events {
        visit(&mut program, &mut dice, 0, events);
    }
    program.events
}

/// A program: its name, and its first so many events.
pub type Stream = (&'static str, fn(usize) -> Vec<Event>);

pub const ALL: [Stream; 5] = [
    ("array loop (matrix product)", matrix),
    ("hash table", hash),
    ("binary tree", tree),
    ("lock-heavy", locks),
    ("call-heavy", calls),
];
