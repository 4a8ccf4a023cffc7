//! A scenario as it is written: declared objects, and threads of steps.
//!
//! Objects, threads and registers are named by their index. Every step knows its [`Turn`]: the text shows the threads in turns,
//! and that order is the one in which the scenario runs unless another one is asked for.

/// Index into [`Scenario::objects`].
pub type ObjectId = usize;
/// Index into [`Scenario::threads`].
pub type ThreadIndex = usize;
/// Index into [`Thread::registers`].
pub type Register = usize;
/// A stretch of text that belongs to one thread. Turns never decrease within a thread.
pub type Turn = usize;

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Scenario {
    pub objects: Vec<Object>,
    pub threads: Vec<Thread>,
}

/// Something that the threads share.
#[derive(Clone, PartialEq, Debug)]
pub struct Object {
    pub name: String,
    pub kind: ObjectKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObjectKind {
    /// A mutex.
    Lock,
    /// A mutex that its owner may take again.
    Recursive,
    /// A reader-writer lock.
    RwLock,
    /// A condition variable.
    Condition,
    /// A barrier that so many threads pass together.
    Barrier(u32),
    /// A semaphore that begins with so many units.
    Semaphore(u32),
    /// Plain memory and its first value.
    Variable(i64),
    /// An atomic variable and its first value.
    Atomic(i64),
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Thread {
    pub name: String,
    /// Names of its registers. All are 0 at first.
    pub registers: Vec<String>,
    pub steps: Vec<Step>,
}

/// Where something stands in the text, both from 1. 0 for what was never text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    pub action: Action,
    pub at: Position,
    pub turn: Turn,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// `acq m`
    Acquire(ObjectId),
    /// `racq l`
    AcquireShared(ObjectId),
    /// `rel m`: of either mode
    Release(ObjectId),
    /// `r = try m`: 1 if it was acquired. Also of a semaphore.
    Try { into: Register, object: ObjectId },
    /// `r = rtry l`
    TryShared { into: Register, object: ObjectId },
    /// `begin label`
    Begin(Option<String>),
    /// `end`
    End,
    /// `r = rd x`, or just `rd x`
    Read { into: Option<Register>, variable: ObjectId },
    /// `wr x value`, or just `wr x`, which writes 1
    Write { variable: ObjectId, value: Value },
    /// `r = load a`
    Load { into: Option<Register>, atomic: ObjectId },
    /// `store a value`
    Store { atomic: ObjectId, value: Value },
    /// `r = add a value`: the register gets the old value
    Add { into: Option<Register>, atomic: ObjectId, value: Value },
    /// `r = swap a value`
    Swap { into: Option<Register>, atomic: ObjectId, value: Value },
    /// `r = cas a expected new`: 1 if it was exchanged
    CompareExchange { into: Option<Register>, atomic: ObjectId, expected: Value, new: Value },
    /// `fork t`
    Fork(ThreadIndex),
    /// `join t`
    Join(ThreadIndex),
    /// `wait c m`
    WaitCondition { condition: ObjectId, lock: ObjectId },
    /// `wait b` of a barrier, `wait s` of a semaphore
    Wait(ObjectId),
    /// `signal c`
    Signal(ObjectId),
    /// `broadcast c`
    Broadcast(ObjectId),
    /// `post s`
    Post(ObjectId),
    /// `r = value`
    Set { register: Register, value: Value },
    /// `assert value`
    Assert(Value),
    /// `if value { ... } else { ... }`
    If { condition: Value, then: Vec<Step>, otherwise: Vec<Step> },
    /// `while value max N { ... }`: goes on after it once the value is 0 or N turns are done
    While { condition: Value, most: u32, body: Vec<Step> },
}

/// An expression over a thread's own registers. Arithmetic wraps; a division by zero is 0.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    Number(i64),
    Register(Register),
    Not(Box<Value>),
    Negative(Box<Value>),
    Binary(Operator, Box<Value>, Box<Value>),
}

macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident, $text:literal, $binding:literal, |$a:ident, $b:ident| $result:expr;)*) => {
        /// The operators of two values.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Operator { $($(#[$doc])* $name,)* }

        impl Operator {
            pub const ALL: &'static [Operator] = &[$(Operator::$name),*];

            /// How it is written.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Operator::$name => $text,)* }
            }

            /// The larger, the tighter it binds. All of them associate to the left.
            #[must_use]
            pub const fn binding(self) -> u8 {
                match self { $(Operator::$name => $binding,)* }
            }

            #[must_use]
            pub const fn apply(self, left: i64, right: i64) -> i64 {
                match self { $(Operator::$name => { let ($a, $b) = (left, right); $result })* }
            }
        }
    };
}

operators! {
    Or, "||", 1, |a, b| (a != 0 || b != 0) as i64;
    And, "&&", 2, |a, b| (a != 0 && b != 0) as i64;
    Equal, "==", 3, |a, b| (a == b) as i64;
    Differs, "!=", 3, |a, b| (a != b) as i64;
    AtMost, "<=", 4, |a, b| (a <= b) as i64;
    AtLeast, ">=", 4, |a, b| (a >= b) as i64;
    Less, "<", 4, |a, b| (a < b) as i64;
    Greater, ">", 4, |a, b| (a > b) as i64;
    Plus, "+", 5, |a, b| a.wrapping_add(b);
    Minus, "-", 5, |a, b| a.wrapping_sub(b);
    Times, "*", 6, |a, b| a.wrapping_mul(b);
    Divided, "/", 6, |a, b| if b == 0 { 0 } else { a.wrapping_div(b) };
    Remainder, "%", 6, |a, b| if b == 0 { 0 } else { a.wrapping_rem(b) };
}

impl Value {
    /// What it is, given the registers.
    #[must_use]
    pub fn of(&self, registers: &[i64]) -> i64 {
        match self {
            Value::Number(number) => *number,
            Value::Register(register) => registers.get(*register).copied().unwrap_or(0),
            Value::Not(value) => i64::from(value.of(registers) == 0),
            Value::Negative(value) => value.of(registers).wrapping_neg(),
            Value::Binary(operator, left, right) => operator.apply(left.of(registers), right.of(registers)),
        }
    }
}
