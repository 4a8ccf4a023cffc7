//! A scenario as flat code: each thread a list of instructions, with jumps instead of braces.

use super::tree::{Action, ObjectId, ObjectKind, Position, Register, Scenario, Step, Thread, ThreadIndex, Turn, Value};

/// An instruction: a thread and its index there. The same place may be executed many times.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Place {
    pub thread: u32,
    pub index: u32,
}

/// What can be run.
#[derive(Clone, Debug)]
pub struct Program {
    pub objects: Vec<ObjectKind>,
    pub threads: Vec<Code>,
    /// Who forks each thread; nobody forks those that run from the start.
    pub parents: Vec<Option<ThreadIndex>>,
    /// Whether a step of the scenario joins the thread.
    pub is_joined: Vec<bool>,
}

/// One thread.
#[derive(Clone, Debug, Default)]
pub struct Code {
    pub instructions: Vec<Instruction>,
    pub registers: usize,
    pub loops: usize,
}

#[derive(Clone, Debug)]
pub struct Instruction {
    pub operation: Operation,
    /// The step as it is written; of `if` and `while` what stands before their `{`.
    pub text: String,
    pub at: Position,
    pub turn: Turn,
}

/// How a variable is updated in one step.
#[derive(Clone, Debug)]
pub enum Update {
    Add(Value),
    Swap(Value),
    /// The expected and the new value.
    Exchange(Value, Value),
}

#[derive(Clone, Debug)]
pub enum Operation {
    Acquire {
        lock: ObjectId,
        shared: bool,
    },
    Release(ObjectId),
    /// Of a lock or a semaphore.
    Try {
        into: Register,
        object: ObjectId,
        shared: bool,
    },
    Read {
        into: Option<Register>,
        variable: ObjectId,
    },
    Write {
        variable: ObjectId,
        value: Value,
    },
    Update {
        into: Option<Register>,
        variable: ObjectId,
        update: Update,
    },
    Fork(ThreadIndex),
    Join(ThreadIndex),
    WaitCondition {
        condition: ObjectId,
        lock: ObjectId,
    },
    WaitBarrier(ObjectId),
    WaitSemaphore(ObjectId),
    Signal {
        condition: ObjectId,
        all: bool,
    },
    Post(ObjectId),
    /// What follows concerns nobody but the thread itself.
    Begin,
    End,
    Set {
        register: Register,
        value: Value,
    },
    Assert(Value),
    /// Goes on at `target` if the condition is 0.
    JumpUnless {
        condition: Value,
        target: u32,
    },
    Jump(u32),
    /// Sets the count of a loop's turns to 0.
    LoopStart(usize),
    /// Goes on at `target` if the condition is 0 or the loop had its turns; counts one otherwise.
    LoopTurn {
        count: usize,
        condition: Value,
        most: u32,
        target: u32,
    },
}

impl Operation {
    /// Whether no other thread can notice when it happens.
    #[must_use]
    pub const fn is_local(&self) -> bool {
        matches!(
            self,
            Operation::Begin
                | Operation::End
                | Operation::Set { .. }
                | Operation::Assert(_)
                | Operation::JumpUnless { .. }
                | Operation::Jump(_)
                | Operation::LoopStart(_)
                | Operation::LoopTurn { .. }
        )
    }

    /// Where else than at the next instruction the thread may go on.
    const fn target(&self) -> Option<u32> {
        match *self {
            Operation::JumpUnless { target, .. } | Operation::Jump(target) | Operation::LoopTurn { target, .. } => {
                Some(target)
            }
            _ => None,
        }
    }

    /// The instructions that may come next, given its own index.
    pub fn successors(&self, index: u32) -> impl Iterator<Item = u32> {
        let next = (!matches!(self, Operation::Jump(_))).then_some(index + 1);
        next.into_iter().chain(self.target())
    }
}

impl Program {
    #[must_use]
    pub fn new(scenario: &Scenario) -> Program {
        let mut program = Program {
            objects: scenario.objects.iter().map(|object| object.kind).collect(),
            threads: Vec::new(),
            parents: vec![None; scenario.threads.len()],
            is_joined: vec![false; scenario.threads.len()],
        };
        for (index, thread) in scenario.threads.iter().enumerate() {
            let code = Code { registers: thread.registers.len(), ..Code::default() };
            let mut compiler = Compiler { scenario, thread, code };
            compiler.steps(&thread.steps);
            let code = compiler.code;
            for instruction in &code.instructions {
                match instruction.operation {
                    Operation::Fork(child) => program.parents[child] = Some(index),
                    Operation::Join(child) => program.is_joined[child] = true,
                    _ => {}
                }
            }
            program.threads.push(code);
        }
        program
    }

    /// The instruction at a place.
    #[must_use]
    pub fn at(&self, place: Place) -> &Instruction {
        &self.threads[place.thread as usize].instructions[place.index as usize]
    }

    /// Whether the object is plain memory, whose accesses order nothing.
    #[must_use]
    pub fn is_plain(&self, object: ObjectId) -> bool {
        matches!(self.objects[object], ObjectKind::Variable(_))
    }
}

/// Makes the code of one thread.
struct Compiler<'s> {
    scenario: &'s Scenario,
    thread: &'s Thread,
    code: Code,
}

impl Compiler<'_> {
    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            self.step(step);
        }
    }

    fn push(&mut self, step: &Step, operation: Operation) -> usize {
        let text = self.scenario.text_of(self.thread, &step.action);
        self.code.instructions.push(Instruction { operation, text, at: step.at, turn: step.turn });
        self.code.instructions.len() - 1
    }

    fn here(&self) -> u32 {
        self.code.instructions.len() as u32
    }

    /// Lets the jump at `from` go to what comes next.
    fn land(&mut self, from: usize) {
        let here = self.here();
        match &mut self.code.instructions[from].operation {
            Operation::JumpUnless { target, .. } | Operation::Jump(target) | Operation::LoopTurn { target, .. } => {
                *target = here;
            }
            _ => {}
        }
    }

    fn step(&mut self, step: &Step) {
        let operation = match step.action.clone() {
            Action::Acquire(lock) => Operation::Acquire { lock, shared: false },
            Action::AcquireShared(lock) => Operation::Acquire { lock, shared: true },
            Action::Release(lock) => Operation::Release(lock),
            Action::Try { into, object } => Operation::Try { into, object, shared: false },
            Action::TryShared { into, object } => Operation::Try { into, object, shared: true },
            Action::Begin(_) => Operation::Begin,
            Action::End => Operation::End,
            Action::Read { into, variable } | Action::Load { into, atomic: variable } => {
                Operation::Read { into, variable }
            }
            Action::Write { variable, value } | Action::Store { atomic: variable, value } => {
                Operation::Write { variable, value }
            }
            Action::Add { into, atomic: variable, value } => {
                Operation::Update { into, variable, update: Update::Add(value) }
            }
            Action::Swap { into, atomic: variable, value } => {
                Operation::Update { into, variable, update: Update::Swap(value) }
            }
            Action::CompareExchange { into, atomic: variable, expected, new } => {
                Operation::Update { into, variable, update: Update::Exchange(expected, new) }
            }
            Action::Fork(thread) => Operation::Fork(thread),
            Action::Join(thread) => Operation::Join(thread),
            Action::WaitCondition { condition, lock } => Operation::WaitCondition { condition, lock },
            Action::Wait(object) => match self.scenario.objects[object].kind {
                ObjectKind::Barrier(_) => Operation::WaitBarrier(object),
                _ => Operation::WaitSemaphore(object),
            },
            Action::Signal(condition) => Operation::Signal { condition, all: false },
            Action::Broadcast(condition) => Operation::Signal { condition, all: true },
            Action::Post(semaphore) => Operation::Post(semaphore),
            Action::Set { register, value } => Operation::Set { register, value },
            Action::Assert(value) => Operation::Assert(value),
            Action::If { condition, then, otherwise } => {
                let over_then = self.push(step, Operation::JumpUnless { condition, target: 0 });
                self.steps(&then);
                if otherwise.is_empty() {
                    return self.land(over_then);
                }
                let over_otherwise = self.push(then.last().unwrap_or(step), Operation::Jump(0));
                self.land(over_then);
                self.steps(&otherwise);
                return self.land(over_otherwise);
            }
            Action::While { condition, most, body } => {
                let count = self.code.loops;
                self.code.loops += 1;
                self.push(step, Operation::LoopStart(count));
                let turn = self.push(step, Operation::LoopTurn { count, condition, most, target: 0 });
                self.steps(&body);
                self.push(body.last().unwrap_or(step), Operation::Jump(turn as u32));
                return self.land(turn);
            }
        };
        self.push(step, operation);
    }
}
