//! The code of a scenario, as predictions ask for it.

use avmon::causal::Answer;
use avmon::predict::dependency::Dependencies;
use avmon::predict::history::{At, History};
use avmon::scenario::program::{Code, Operation, Program};
use avmon::scenario::tree::{Register, Value};

use super::scenario::place;

/// A scenario whose code is known.
pub struct Known(pub Program);

impl Dependencies for Known {
    fn direct(&self, _: &History, _: At, _: At) -> Answer {
        Answer::Unknown
    }

    fn common(&self, _: &History, _: At, _: At) -> Answer {
        Answer::Unknown
    }

    fn put_together(&self, _: &History, _: At, _: At) -> Answer {
        Answer::Unknown
    }

    fn goes_back(&self, _: &History, _: At, _: At) -> bool {
        false
    }

    fn come_together(&self, _: &History, _: At, _: At) -> Answer {
        Answer::Unknown
    }

    /// Objects are named in a scenario, so that only branches can depend on what is read.
    fn steers(&self, history: &History, read: At, _: At) -> bool {
        let place = place(history, read);
        let code = &self.0.threads[place.thread as usize];
        match code.instructions[place.index as usize].operation {
            Operation::Read { into, .. } | Operation::Update { into, .. } => into.is_some_and(|it| decides(code, it)),
            _ => true,
        }
    }
}

/// Whether a branch of a thread depends on a register, whichever way the thread goes.
fn decides(code: &Code, register: Register) -> bool {
    let mut tainted = vec![register];
    let mut from = 0;
    while from < tainted.len() {
        let source = tainted[from];
        for instruction in &code.instructions {
            match &instruction.operation {
                Operation::JumpUnless { condition, .. }
                | Operation::LoopTurn { condition, .. }
                | Operation::Assert(condition)
                    if uses(condition, source) =>
                {
                    return true;
                }
                Operation::Set { register, value } if uses(value, source) && !tainted.contains(register) => {
                    tainted.push(*register);
                }
                _ => {}
            }
        }
        from += 1;
    }
    false
}

fn uses(value: &Value, register: Register) -> bool {
    match value {
        Value::Number(_) => false,
        Value::Register(it) => *it == register,
        Value::Not(value) | Value::Negative(value) => uses(value, register),
        Value::Binary(_, one, other) => uses(one, register) || uses(other, register),
    }
}
