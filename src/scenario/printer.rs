//! A scenario as text. What [`parse`](super::parse) makes of it is the same scenario, but for positions and the numbers of the turns.

use super::tree::{Action, Object, ObjectKind, Register, Scenario, Step, Thread, Turn, Value};
use super::words::{Declares, Does};
use std::fmt;

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for same in self.objects.chunk_by(|a, b| Declares::from(a.kind) == Declares::from(b.kind)) {
            let names: Vec<String> = same.iter().map(declared).collect();
            writeln!(f, "{} {}", Declares::from(same[0].kind).text(), names.join(", "))?;
        }
        if !self.objects.is_empty() && !self.threads.is_empty() {
            writeln!(f)?;
        }
        let threads: Vec<Vec<Line>> = self.threads.iter().map(|thread| self.lines(thread)).collect();
        let mut turns: Vec<(Turn, usize, &[Line])> = Vec::new();
        for (index, lines) in threads.iter().enumerate() {
            turns.extend(lines.chunk_by(|a, b| a.turn == b.turn).map(|same| (same[0].turn, index, same)));
        }
        // Turns of one number, which only a generated scenario has, are those of different threads.
        turns.sort_by_key(|(turn, index, _)| (*turn, *index));
        // The threads are numbered as they appear, so one with a later turn or none at all is named before its successor.
        let mut named = 0;
        for (_, index, lines) in turns {
            while named < index {
                writeln!(f, "{}:", self.threads[named].name)?;
                named += 1;
            }
            named = named.max(index + 1);
            let name = &self.threads[index].name;
            for (number, line) in lines.iter().enumerate() {
                let header = if number == 0 { format!("{name}:") } else { " ".repeat(name.chars().count() + 1) };
                writeln!(f, "{header} {}{}", "  ".repeat(line.level), line.text)?;
            }
        }
        for thread in self.threads.get(named..).unwrap_or_default() {
            writeln!(f, "{}:", thread.name)?;
        }
        Ok(())
    }
}

struct Line {
    turn: Turn,
    /// Braces around.
    level: usize,
    text: String,
}

fn declared(object: &Object) -> String {
    let name = &object.name;
    match object.kind {
        ObjectKind::Barrier(count) => format!("{name} {count}"),
        ObjectKind::Semaphore(count) if count != 0 => format!("{name} {count}"),
        ObjectKind::Variable(value) | ObjectKind::Atomic(value) if value != 0 => format!("{name} = {value}"),
        _ => name.clone(),
    }
}

impl Scenario {
    fn lines(&self, thread: &Thread) -> Vec<Line> {
        let mut writer = Writer { scenario: self, thread, lines: Vec::new(), turn: 0, level: 0 };
        writer.steps(&thread.steps);
        writer.lines
    }

    /// How a step is written; of `if` and `while` only what precedes their `{`.
    #[must_use]
    pub fn text_of(&self, thread: &Thread, action: &Action) -> String {
        let register = |register: &Register| name_of(&thread.registers, *register);
        let value = |value: &Value| value_text(value, thread);
        let object = |object: &usize| self.objects.get(*object).map_or("?", |object| &object.name);
        let other = |other: &usize| self.threads.get(*other).map_or("?", |thread| &thread.name);
        let set = |into: &Option<Register>| into.map_or(String::new(), |into| format!("{} = ", register(&into)));
        let word = word_of(action).map_or("", Does::text);
        match action {
            Action::Acquire(it)
            | Action::AcquireShared(it)
            | Action::Release(it)
            | Action::Wait(it)
            | Action::Signal(it)
            | Action::Broadcast(it)
            | Action::Post(it) => format!("{word} {}", object(it)),
            Action::Try { into, object: it } | Action::TryShared { into, object: it } => {
                format!("{} = {word} {}", register(into), object(it))
            }
            Action::Begin(Some(label)) => format!("{word} {label}"),
            Action::Begin(None) | Action::End => word.to_owned(),
            Action::Read { into, variable: it } | Action::Load { into, atomic: it } => {
                format!("{}{word} {}", set(into), object(it))
            }
            Action::Write { variable: it, value: new } | Action::Store { atomic: it, value: new } => {
                format!("{word} {} {}", object(it), value(new))
            }
            Action::Add { into, atomic, value: by } | Action::Swap { into, atomic, value: by } => {
                format!("{}{word} {} {}", set(into), object(atomic), value(by))
            }
            Action::CompareExchange { into, atomic, expected, new } => {
                let simple = |it| simple_text(it, thread);
                format!("{}{word} {} {} {}", set(into), object(atomic), simple(expected), simple(new))
            }
            Action::Fork(it) | Action::Join(it) => format!("{word} {}", other(it)),
            Action::WaitCondition { condition, lock } => format!("{word} {} {}", object(condition), object(lock)),
            Action::Set { register: into, value: new } => format!("{} = {}", register(into), value(new)),
            Action::Assert(it) => format!("{word} {}", value(it)),
            Action::If { condition, .. } => format!("{word} {}", value(condition)),
            Action::While { condition, most, .. } => format!("{word} {} max {most}", value(condition)),
        }
    }
}

/// The word that the step is written with. An assignment has none.
fn word_of(action: &Action) -> Option<Does> {
    Some(match action {
        Action::Acquire(_) => Does::Acquire,
        Action::AcquireShared(_) => Does::AcquireShared,
        Action::Release(_) => Does::Release,
        Action::Try { .. } => Does::Try,
        Action::TryShared { .. } => Does::TryShared,
        Action::Begin(_) => Does::Begin,
        Action::End => Does::End,
        Action::Read { .. } => Does::Read,
        Action::Write { .. } => Does::Write,
        Action::Load { .. } => Does::Load,
        Action::Store { .. } => Does::Store,
        Action::Add { .. } => Does::Add,
        Action::Swap { .. } => Does::Swap,
        Action::CompareExchange { .. } => Does::CompareExchange,
        Action::Fork(_) => Does::Fork,
        Action::Join(_) => Does::Join,
        Action::WaitCondition { .. } | Action::Wait(_) => Does::Wait,
        Action::Signal(_) => Does::Signal,
        Action::Broadcast(_) => Does::Broadcast,
        Action::Post(_) => Does::Post,
        Action::Assert(_) => Does::Assert,
        Action::If { .. } => Does::If,
        Action::While { .. } => Does::While,
        Action::Set { .. } => return None,
    })
}

/// Collects the lines of a thread.
struct Writer<'a> {
    scenario: &'a Scenario,
    thread: &'a Thread,
    lines: Vec<Line>,
    /// Of the last step.
    turn: Turn,
    level: usize,
}

impl Writer<'_> {
    fn line(&mut self, text: String) {
        self.lines.push(Line { turn: self.turn, level: self.level, text });
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            self.turn = self.turn.max(step.turn);
            self.step(&step.action, "");
        }
    }

    fn step(&mut self, action: &Action, before: &str) {
        let text = format!("{before}{}", self.scenario.text_of(self.thread, action));
        match action {
            Action::If { then, otherwise, .. } => {
                self.line(text + " {");
                self.inner(then);
                match &otherwise[..] {
                    [] => self.line("}".to_owned()),
                    // It is written without braces of its own, so it has to be in the turn of the `}` before it.
                    [Step { action: other @ Action::If { .. }, turn, .. }] if *turn <= self.turn => {
                        self.step(other, "} else ");
                    }
                    steps => {
                        self.line("} else {".to_owned());
                        self.inner(steps);
                        self.line("}".to_owned());
                    }
                }
            }
            Action::While { body, .. } => {
                self.line(text + " {");
                self.inner(body);
                self.line("}".to_owned());
            }
            _ => self.line(text),
        }
    }

    fn inner(&mut self, steps: &[Step]) {
        self.level += 1;
        self.steps(steps);
        self.level -= 1;
    }
}

fn name_of(registers: &[String], register: Register) -> &str {
    registers.get(register).map_or("?", String::as_str)
}

fn value_text(value: &Value, thread: &Thread) -> String {
    operand(value, 0, thread)
}

/// A value where only a number, a register or parentheses may stand.
fn simple_text(value: &Value, thread: &Thread) -> String {
    match value {
        Value::Number(_) | Value::Register(_) => value_text(value, thread),
        _ => format!("({})", value_text(value, thread)),
    }
}

/// The binding of `!` and `-` before a value: tighter than any operator.
const TIGHTEST: u8 = u8::MAX;

/// A value beside an operator: in parentheses if it binds less tightly than that one.
fn operand(value: &Value, least: u8, thread: &Thread) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::Register(register) => name_of(&thread.registers, *register).to_owned(),
        Value::Not(value) => format!("!{}", operand(value, TIGHTEST, thread)),
        // A `-` right before digits would be a part of the number.
        Value::Negative(value) if matches!(**value, Value::Number(0..)) => format!("-({})", value_text(value, thread)),
        Value::Negative(value) => format!("-{}", operand(value, TIGHTEST, thread)),
        Value::Binary(operator, left, right) => {
            let binding = operator.binding();
            let (left, right) = (operand(left, binding, thread), operand(right, binding + 1, thread));
            let text = format!("{left} {} {right}", operator.text());
            if binding < least { format!("({text})") } else { text }
        }
    }
}
