//! The second pass: the steps of each thread.

use super::check::{self, Start};
use super::error::{Error, ErrorKind, Errors, list, with_article};
use super::lexer::{self, Kind, Token};
use super::outline::{Named, Outline, ThreadText, number, unexpected};
use super::tree::{Action, ObjectId, Operator, Position, Register, Scenario, Step, Thread, ThreadIndex, Turn, Value};
use super::words::{Declares, Does, is_keyword};
use super::{MOST_LEVELS, MOST_OPERATORS, MOST_REPETITIONS, MOST_STEPS};
use std::collections::HashMap;

/// Reads the text of a scenario.
pub fn parse(text: &str) -> Result<Scenario, Errors> {
    let mut errors = Vec::new();
    let tokens = lexer::tokens(text, &mut errors);
    let outline = Outline::of(&tokens, &mut errors);
    let mut starts = Vec::new();
    let mut threads = Vec::new();
    let mut steps = 0;
    for (index, text) in outline.threads.iter().enumerate() {
        let (names, registers) = registers(&outline, text, &mut errors);
        let mut parser = Parser {
            outline: &outline,
            thread: index,
            registers,
            rest: &text.tokens,
            errors: &mut errors,
            starts: &mut starts,
            count: &mut steps,
            levels: 0,
            loops: 0,
            operators: 0,
        };
        threads.push(Thread { name: text.name.to_owned(), registers: names, steps: parser.steps(None) });
    }
    check::starts(&threads, starts, &mut errors);
    if threads.is_empty() && errors.is_empty() {
        errors.push(Error { kind: ErrorKind::NoThread {}, at: Position { line: 1, column: 1 }, width: 1 });
    }
    if errors.is_empty() {
        return Ok(Scenario { objects: outline.objects, threads });
    }
    let mut errors = Errors::new(errors);
    for error in &mut errors.first {
        outline.suggest(error, &threads);
    }
    Err(errors)
}

/// What the thread assigns to, in the order of the first assignments.
fn registers<'a>(
    outline: &Outline<'a>,
    thread: &ThreadText<'a>,
    errors: &mut Vec<Error>,
) -> (Vec<String>, HashMap<&'a str, Register>) {
    let mut names = Vec::new();
    let mut registers = HashMap::new();
    let mut at_step = true;
    for pair in thread.tokens.windows(2) {
        let (token, next) = (pair[0].1, pair[1].1);
        let is_target = at_step && token.kind == Kind::Word && next.is("=");
        at_step = ends_step(&token) || token.is("{");
        // A step that should write to memory is told about where it is read.
        if is_target && !registers.contains_key(token.text) && memory(outline, token.text).is_none() {
            outline.is_free(&token, errors);
            registers.insert(token.text, names.len());
            names.push(token.text.to_owned());
        }
    }
    (names, registers)
}

/// The step that writes to what the name stands for, if that is memory.
fn memory(outline: &Outline<'_>, name: &str) -> Option<Does> {
    let Some(Named::Object(object)) = outline.find(name) else { return None };
    match Declares::from(outline.objects[object].kind) {
        Declares::Variable => Some(Does::Write),
        Declares::Atomic => Some(Does::Store),
        _ => None,
    }
}

/// Whether a step cannot go on here.
fn ends_step(token: &Token) -> bool {
    token.kind == Kind::Newline || token.is(";") || token.is("}")
}

/// A mistake that was told already.
struct Mistake;
type Parsed<T> = Result<T, Mistake>;

struct Parser<'p, 'a> {
    outline: &'p Outline<'a>,
    thread: ThreadIndex,
    registers: HashMap<&'a str, Register>,
    rest: &'p [(Turn, Token<'a>)],
    errors: &'p mut Vec<Error>,
    starts: &'p mut Vec<Start>,
    /// Steps of the whole file so far.
    count: &'p mut usize,
    /// Braces and loops around, operators and parentheses of this value so far.
    levels: usize,
    loops: usize,
    operators: usize,
}

impl<'a> Parser<'_, 'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.rest.first().map(|(_, token)| *token)
    }

    fn advance(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }

    /// Past the symbol, if it comes next.
    fn eat(&mut self, symbol: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.is(symbol));
        if found {
            self.advance();
        }
        found
    }

    fn tell<T>(&mut self, token: &Token, kind: ErrorKind) -> Parsed<T> {
        self.errors.push(token.error(kind));
        Err(Mistake)
    }

    fn expected<T>(&mut self, what: &'static str) -> Parsed<T> {
        self.errors.extend(self.peek().and_then(|token| unexpected(what, &token)));
        Err(Mistake)
    }

    fn token(&mut self, what: &'static str, fits: impl Fn(&Token) -> bool) -> Parsed<Token<'a>> {
        match self.peek() {
            Some(token) if fits(&token) => {
                self.advance();
                Ok(token)
            }
            _ => self.expected(what),
        }
    }

    /// Whether nothing more of this step follows.
    fn is_at_end(&self) -> bool {
        self.peek().is_none_or(|token| ends_step(&token))
    }

    /// Steps up to the `}` that closes the given `{`, or to the end of the thread.
    fn steps(&mut self, brace: Option<Token>) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut blocks = Vec::new();
        let mut open = brace;
        while let Some(&(turn, token)) = self.rest.first() {
            if token.kind == Kind::Newline || token.is(";") {
                self.advance();
                continue;
            }
            if self.eat("}") {
                if open.take().is_some() {
                    break;
                }
                self.errors.push(token.error(ErrorKind::StrayBrace {}));
                continue;
            }
            *self.count += 1;
            if *self.count == MOST_STEPS + 1 {
                self.errors.push(token.error(ErrorKind::TooMany { what: "steps", most: MOST_STEPS }));
            }
            let Ok(action) = self.whole_step(&token) else {
                self.skip_step();
                continue;
            };
            match action {
                Action::Begin(_) => blocks.push(token),
                Action::End if blocks.pop().is_none() => self.errors.push(token.error(ErrorKind::StrayEnd {})),
                _ => {}
            }
            steps.push(Step { action, at: token.at, turn });
        }
        self.errors.extend(open.map(|brace| brace.error(ErrorKind::OpenBrace {})));
        self.errors.extend(blocks.iter().map(|begin| begin.error(ErrorKind::OpenBlock {})));
        steps
    }

    fn whole_step(&mut self, first: &Token<'a>) -> Parsed<Action> {
        let action = self.step(first)?;
        if self.is_at_end() { Ok(action) } else { self.expected("the end of the step") }
    }

    /// To the end of a step with a mistake in it. What it has in braces is read, so that mistakes there are told too.
    fn skip_step(&mut self) {
        while !self.is_at_end() {
            if self.peek().is_some_and(|token| token.is("{")) {
                let _ = self.block();
            } else {
                self.advance();
            }
        }
    }

    fn step(&mut self, first: &Token<'a>) -> Parsed<Action> {
        if first.kind != Kind::Word {
            return self.expected("a step");
        }
        self.advance();
        if self.eat("=") {
            return match self.registers.get(first.text) {
                Some(&register) => self.assignment(register),
                None => self.no_register(first),
            };
        }
        match Does::of(first.text) {
            Some(word) if word.needs_register() => {
                self.tell(first, ErrorKind::NeedsRegister { step: word.text(), form: word.form() })
            }
            Some(word) => self.step_of(word, first, None),
            None if first.text == "else" => self.tell(first, ErrorKind::StrayElse {}),
            None => {
                let nearest = self.meant_by(first.text);
                self.tell(first, ErrorKind::UnknownStep { word: first.text.to_owned(), nearest })
            }
        }
    }

    /// What follows `r =`.
    fn assignment(&mut self, register: Register) -> Parsed<Action> {
        let word =
            self.peek().filter(|token| token.kind == Kind::Word).and_then(|token| Some((token, Does::of(token.text)?)));
        let Some((token, word)) = word else {
            return Ok(Action::Set { register, value: self.value()? });
        };
        if !word.has_result() {
            return self.tell(&token, ErrorKind::NoResult { step: word.text() });
        }
        self.advance();
        self.step_of(word, &token, Some(register))
    }

    /// Tells of `x = 5`, where `x` is memory.
    fn no_register<T>(&mut self, name: &Token<'a>) -> Parsed<T> {
        let write = memory(self.outline, name.text).unwrap_or(Does::Write).text();
        // What has a step in it goes through a register.
        let is_step = self.peek().is_some_and(|token| Does::of(token.text).is_some());
        let value = if is_step { "r".to_owned() } else { self.words_of_step() };
        let what = self.outline.find(name.text).map_or("word", |named| self.outline.what(named));
        let hint = format!("; write it with '{write} {} {value}'", name.text);
        self.tell(name, ErrorKind::NoRegister { name: name.text.to_owned(), what, hint })
    }

    /// How a step is written here that begins with a word of another language.
    fn meant_by(&self, word: &str) -> Option<String> {
        let step = Does::meant_by(word)?;
        let result = if step.needs_register() { "r = " } else { "" };
        let names_something = self.peek().is_some_and(|token| self.outline.find(token.text).is_some());
        let rest = if names_something { format!(" {}", self.words_of_step()) } else { String::new() };
        Some(format!("{result}{}{rest}", step.text()))
    }

    /// What is left of this step.
    fn words_of_step(&self) -> String {
        let words = self.rest.iter().map(|(_, token)| token).take_while(|token| !ends_step(token) && !token.is("{"));
        words.map(|token| token.text).collect::<Vec<_>>().join(" ")
    }

    /// The value that a step writes.
    fn new_value(&mut self, step: Does, object: ObjectId) -> Parsed<Value> {
        match self.peek() {
            Some(token) if token.is("=") => {
                self.advance();
                let (step, object, value) = (step.text(), &self.outline.objects[object].name, self.words_of_step());
                self.tell(&token, ErrorKind::EqualsSign { form: format!("{step} {object} {value}") })
            }
            _ => self.value(),
        }
    }

    fn step_of(&mut self, word: Does, token: &Token<'a>, into: Option<Register>) -> Parsed<Action> {
        Ok(match word {
            Does::Acquire => Action::Acquire(self.object(word)?),
            Does::AcquireShared => Action::AcquireShared(self.object(word)?),
            Does::Release => Action::Release(self.object(word)?),
            Does::Try | Does::TryShared => {
                let object = self.object(word)?;
                let into = into.ok_or(Mistake)?;
                if word == Does::Try { Action::Try { into, object } } else { Action::TryShared { into, object } }
            }
            Does::Read => Action::Read { into, variable: self.object(word)? },
            Does::Write => {
                let variable = self.object(word)?;
                let value = if self.is_at_end() { Value::Number(1) } else { self.new_value(word, variable)? };
                Action::Write { variable, value }
            }
            Does::Load => Action::Load { into, atomic: self.object(word)? },
            Does::Store => {
                let atomic = self.object(word)?;
                Action::Store { atomic, value: self.new_value(word, atomic)? }
            }
            Does::Add => {
                let atomic = self.object(word)?;
                Action::Add { into, atomic, value: self.new_value(word, atomic)? }
            }
            Does::Swap => {
                let atomic = self.object(word)?;
                Action::Swap { into, atomic, value: self.new_value(word, atomic)? }
            }
            Does::CompareExchange => {
                let atomic = self.object(word)?;
                let (expected, new) = (self.simple_value()?, self.simple_value()?);
                self.no_operator(true)?;
                Action::CompareExchange { into, atomic, expected, new }
            }
            Does::Begin if self.is_at_end() => Action::Begin(None),
            Does::Begin => Action::Begin(Some(self.label()?)),
            Does::End => Action::End,
            Does::Fork => Action::Fork(self.other_thread(word, token)?),
            Does::Join => Action::Join(self.other_thread(word, token)?),
            Does::Wait => self.wait()?,
            Does::Signal => Action::Signal(self.object(word)?),
            Does::Broadcast => Action::Broadcast(self.object(word)?),
            Does::Post => Action::Post(self.object(word)?),
            Does::Assert => Action::Assert(self.value()?),
            Does::If => self.choice()?,
            Does::While => self.repetition()?,
        })
    }

    fn object(&mut self, word: Does) -> Parsed<ObjectId> {
        self.object_of(word.text(), word.fits())
    }

    /// The object that is named next, which has to be of one of these kinds.
    fn object_of(&mut self, step: &'static str, fits: &[Declares]) -> Parsed<ObjectId> {
        let token = self.token("the name of an object", |token| matches!(token.kind, Kind::Word | Kind::Number))?;
        let name = token.text.to_owned();
        let Some(named) = self.outline.find(token.text) else {
            return self.tell(&token, ErrorKind::UnknownObject { name, nearest: None });
        };
        let mut hint = String::new();
        if let Named::Object(object) = named {
            let kind = Declares::from(self.outline.objects[object].kind);
            if fits.contains(&kind) {
                return Ok(object);
            }
            hint = format!(" (steps of {}: {})", with_article(kind.noun()), list(kind.steps().map(Does::text)));
        }
        let needs = fits.iter().map(|kind| kind.noun()).collect::<Vec<_>>().join(" or ");
        self.tell(&token, ErrorKind::WrongKind { name, what: self.outline.what(named), step, needs, hint })
    }

    fn other_thread(&mut self, word: Does, step: &Token<'a>) -> Parsed<ThreadIndex> {
        let token = self.token("the name of a thread", |token| matches!(token.kind, Kind::Word | Kind::Number))?;
        let name = token.text.to_owned();
        let thread = match self.outline.find(token.text) {
            Some(Named::Thread(thread)) => thread,
            Some(named) => {
                let (needs, hint) = ("thread".to_owned(), String::new());
                let what = self.outline.what(named);
                return self.tell(&token, ErrorKind::WrongKind { name, what, step: word.text(), needs, hint });
            }
            None => return self.tell(&token, ErrorKind::UnknownThread { name, nearest: None }),
        };
        if self.loops > 0 {
            return self.tell(step, ErrorKind::InLoop { step: word.text() });
        }
        self.starts.push(Start { word, by: self.thread, of: thread, at: step.at });
        Ok(thread)
    }

    fn label(&mut self) -> Parsed<String> {
        let token = self.token("a label", |token| token.kind == Kind::Word)?;
        let name = token.text.to_owned();
        if is_keyword(&name) { self.tell(&token, ErrorKind::Keyword { name }) } else { Ok(name) }
    }

    fn wait(&mut self) -> Parsed<Action> {
        let object = self.object(Does::Wait)?;
        if Declares::from(self.outline.objects[object].kind) != Declares::Condition {
            return Ok(Action::Wait(object));
        }
        if self.is_at_end() {
            return self.expected("the lock that is held while waiting");
        }
        let lock = self.object_of("wait for a condition", &[Declares::Lock, Declares::Recursive])?;
        Ok(Action::WaitCondition { condition: object, lock })
    }

    /// What follows `if`.
    fn choice(&mut self) -> Parsed<Action> {
        let condition = self.value()?;
        let then = self.block()?;
        let behind = self.rest.iter().position(|(_, token)| token.kind != Kind::Newline).unwrap_or(0);
        if !self.rest.get(behind).is_some_and(|(_, token)| token.is_word("else")) {
            return Ok(Action::If { condition, then, otherwise: Vec::new() });
        }
        self.rest = &self.rest[behind + 1..];
        let otherwise = match self.rest.first() {
            Some(&(turn, token)) if token.is_word("if") => {
                self.advance();
                self.deeper(&token, |parser| Ok(vec![Step { action: parser.choice()?, at: token.at, turn }]))?
            }
            _ => self.block()?,
        };
        Ok(Action::If { condition, then, otherwise })
    }

    /// What follows `while`.
    fn repetition(&mut self) -> Parsed<Action> {
        let condition = self.value()?;
        self.token("'max' and how often at most", |token| token.is_word("max"))?;
        let digits = self.token("a number", |token| token.kind == Kind::Number)?;
        let Some(most) = digits.text.parse().ok().filter(|most| (1..=MOST_REPETITIONS).contains(most)) else {
            let what = "how often a 'while' repeats at most";
            return self.tell(&digits, ErrorKind::OutOfRange { what, least: 1, most: i64::from(MOST_REPETITIONS) });
        };
        self.loops += 1;
        let body = self.block();
        self.loops -= 1;
        Ok(Action::While { condition, most, body: body? })
    }

    fn block(&mut self) -> Parsed<Vec<Step>> {
        let brace = self.token("'{'", |token| token.is("{"))?;
        if self.levels == MOST_LEVELS {
            self.skip_block();
        }
        self.deeper(&brace, |parser| Ok(parser.steps(Some(brace))))
    }

    /// Goes one level down, if there is one left: each takes a part of the stack.
    fn deeper<T>(&mut self, token: &Token<'a>, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.levels == MOST_LEVELS {
            return self.tell(token, ErrorKind::TooDeep { most: MOST_LEVELS });
        }
        self.levels += 1;
        let result = read(self);
        self.levels -= 1;
        result
    }

    /// Past the `}` of a block whose `{` was read.
    fn skip_block(&mut self) {
        let mut open = 1;
        let close = self.rest.iter().position(|(_, token)| {
            open += usize::from(token.is("{"));
            open -= usize::from(token.is("}"));
            open == 0
        });
        self.rest = close.map_or(&[], |close| &self.rest[close + 1..]);
    }

    fn value(&mut self) -> Parsed<Value> {
        self.operators = 0;
        self.binary(0)
    }

    /// A number, a register or something in parentheses.
    fn simple_value(&mut self) -> Parsed<Value> {
        self.operators = 0;
        let mut tokens = self.rest.iter().map(|(_, token)| *token);
        let (first, second) = (tokens.next(), tokens.next());
        let is_negative_number =
            first.is_some_and(|token| token.is("-")) && second.is_some_and(|next| next.kind == Kind::Number);
        self.no_operator(!is_negative_number)?;
        self.prefix()
    }

    /// Tells of an operator, since only simple values stand here.
    fn no_operator(&mut self, really: bool) -> Parsed<()> {
        match self.peek() {
            Some(token) if really && (token.is("!") || operator(&token).is_some()) => {
                self.tell(&token, ErrorKind::NotSimple {})
            }
            _ => Ok(()),
        }
    }

    /// Operators that bind more tightly than the given one.
    fn binary(&mut self, around: u8) -> Parsed<Value> {
        let mut left = self.prefix()?;
        while let Some(token) = self.peek() {
            let Some(operator) = operator(&token).filter(|operator| operator.binding() > around) else { break };
            self.one_more(&token)?;
            self.advance();
            let right = self.binary(operator.binding())?;
            left = Value::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn prefix(&mut self) -> Parsed<Value> {
        let Some(token) = self.peek() else { return Err(Mistake) };
        match token.kind {
            Kind::Number => {
                self.advance();
                self.number(&token, false)
            }
            Kind::Word => {
                self.advance();
                self.register(&token)
            }
            Kind::Symbol if token.is("-") => {
                self.advance();
                if let Some(digits) = self.peek().filter(|next| next.kind == Kind::Number) {
                    self.advance();
                    return self.number(&digits, true);
                }
                self.one_more(&token)?;
                Ok(Value::Negative(Box::new(self.prefix()?)))
            }
            Kind::Symbol if token.is("!") => {
                self.advance();
                self.one_more(&token)?;
                Ok(Value::Not(Box::new(self.prefix()?)))
            }
            Kind::Symbol if token.is("(") => {
                self.advance();
                self.one_more(&token)?;
                let value = self.binary(0)?;
                self.token("')'", |token| token.is(")"))?;
                Ok(value)
            }
            _ => self.expected("a value"),
        }
    }

    fn number(&mut self, digits: &Token, negative: bool) -> Parsed<Value> {
        number(digits, negative).map(Value::Number).map_err(|error| {
            self.errors.push(error);
            Mistake
        })
    }

    fn register(&mut self, token: &Token<'a>) -> Parsed<Value> {
        if let Some(&register) = self.registers.get(token.text) {
            return Ok(Value::Register(register));
        }
        let name = token.text.to_owned();
        let Some(named) = self.outline.find(token.text) else {
            if Does::of(&name).is_some_and(Does::has_result) {
                let object = self.peek().filter(|next| next.kind == Kind::Word);
                let step = format!("{name} {}", object.map_or("x", |object| object.text));
                return self.tell(token, ErrorKind::StepInValue { step });
            }
            if is_keyword(&name) {
                self.errors.extend(unexpected("a value", token));
                return Err(Mistake);
            }
            let thread = self.outline.threads[self.thread].name.to_owned();
            return self.tell(token, ErrorKind::UnknownRegister { name, thread, nearest: None });
        };
        let what = self.outline.what(named);
        let hint = match what {
            "var" => format!("; read it first, as in 'r = rd {name}'"),
            "atomic" => format!("; read it first, as in 'r = load {name}'"),
            _ => String::new(),
        };
        self.tell(token, ErrorKind::NoRegister { name, what, hint })
    }

    /// Values are trees: what is too deep for the stack is not built.
    fn one_more(&mut self, token: &Token) -> Parsed<()> {
        self.operators += 1;
        if self.operators > MOST_OPERATORS {
            return self.tell(token, ErrorKind::TooLong { most: MOST_OPERATORS });
        }
        Ok(())
    }
}

fn operator(token: &Token) -> Option<Operator> {
    Operator::ALL.iter().copied().find(|operator| token.is(operator.text()))
}
