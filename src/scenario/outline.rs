//! The first pass: declarations, threads, and which token belongs to which thread.
//!
//! A thread's text is all its turns one after another, so it is taken apart before the steps are read. Whatever is used may stand
//! further down, so all names are known before the first step is.

use super::error::{Error, ErrorKind};
use super::lexer::{Kind, Token};
use super::tree::{Object, ObjectKind, Thread, ThreadIndex, Turn};
use super::words::{Declares, Does, is_keyword};
use super::{MOST_OBJECTS, MOST_THREADS};
use crate::options::closest;
use std::collections::HashMap;

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Named {
    Object(usize),
    Thread(ThreadIndex),
}

#[derive(Default, Debug)]
pub struct Outline<'a> {
    pub objects: Vec<Object>,
    pub threads: Vec<ThreadText<'a>>,
    /// The names of objects and threads, and the line in which each is new.
    names: HashMap<&'a str, (Named, u32)>,
}

#[derive(Debug)]
pub struct ThreadText<'a> {
    pub name: &'a str,
    pub tokens: Vec<(Turn, Token<'a>)>,
}

impl<'a> Outline<'a> {
    pub fn of(tokens: &[Token<'a>], errors: &mut Vec<Error>) -> Outline<'a> {
        let mut outline = Outline::default();
        let mut rest = tokens;
        let mut turns = 0;
        let mut current = None;
        let mut at_step = true;
        while let Some((&token, after)) = rest.split_first() {
            rest = after;
            // Something that was meant as a name begins a thread too, or its steps would seem to be in none.
            let is_name = matches!(token.kind, Kind::Word | Kind::Number | Kind::Bad);
            if at_step && is_name && after.first().is_some_and(|next| next.is(":")) {
                rest = &after[1..];
                current = Some((turns, outline.header(token, errors)));
                turns += 1;
            } else if let Some(name) = thread_word(&token, after).filter(|_| at_step) {
                errors.push(token.error(ErrorKind::ThreadWord { name: name.text.to_owned() }));
                // The mistake is told, and the thread begins all the same.
                current = Some((turns, outline.header(name, errors)));
                turns += 1;
                rest = &after[1..];
                if let Some((_, after)) = rest.split_first().filter(|(next, _)| next.is(":") || next.is("{")) {
                    rest = after;
                }
            } else if let Some(word) = Declares::of(token.text)
                .filter(|_| at_step && !(current.is_some() && outline.is_meant_as_step(&token, after)))
            {
                let length = end_of_line(after);
                if current.is_none() {
                    outline.declarations(word, &after[..=length], errors);
                } else {
                    errors.push(token.error(ErrorKind::LateDeclaration { word: word.text() }));
                    // The names count all the same: the mistake is told once, and not at each use.
                    outline.declarations(word, &after[..=length], &mut Vec::new());
                }
                rest = &after[length..];
            } else if let Some((turn, thread)) = current {
                outline.threads[thread].tokens.push((turn, token));
                at_step = token.kind == Kind::Newline || token.is(";") || token.is("{") || token.is("}");
            } else if token.kind != Kind::Newline {
                errors.extend(not_in_a_thread(&token));
                rest = &after[end_of_line(after)..];
            }
        }
        outline
    }

    /// Whether a declaring word in a thread was meant as a step: it names what is there already, as in `lock m`.
    fn is_meant_as_step(&self, word: &Token, after: &[Token]) -> bool {
        let is_object = |name: &Token| matches!(self.find(name.text), Some(Named::Object(_)));
        Does::meant_by(word.text).is_some() && after.first().is_some_and(is_object)
    }

    pub fn find(&self, name: &str) -> Option<Named> {
        self.names.get(name).map(|(named, _)| *named)
    }

    /// How messages call it.
    pub fn what(&self, named: Named) -> &'static str {
        match named {
            Named::Object(object) => Declares::from(self.objects[object].kind).noun(),
            Named::Thread(_) => "thread",
        }
    }

    /// Whether the token can be the name of something new. Tells if not.
    pub fn is_free(&self, token: &Token<'a>, errors: &mut Vec<Error>) -> bool {
        let name = token.text;
        let problem = if is_keyword(name) {
            ErrorKind::Keyword { name: name.to_owned() }
        } else if let Some((named, line)) = self.names.get(name) {
            ErrorKind::Taken { name: name.to_owned(), what: self.what(*named), line: *line }
        } else {
            return true;
        };
        errors.push(token.error(problem));
        false
    }

    /// The thread that the name before a `:` means.
    fn header(&mut self, token: Token<'a>, errors: &mut Vec<Error>) -> ThreadIndex {
        if let Some(Named::Thread(thread)) = self.find(token.text) {
            return thread;
        }
        let thread = self.threads.len();
        // Under a bad name its steps are read all the same.
        if self.is_free(&token, errors) {
            self.names.insert(token.text, (Named::Thread(thread), token.at.line));
        }
        if thread == MOST_THREADS {
            errors.push(token.error(ErrorKind::TooMany { what: "threads", most: MOST_THREADS }));
        }
        self.threads.push(ThreadText { name: token.text, tokens: Vec::new() });
        thread
    }

    /// The names after a declaring word, to the end of the line.
    fn declarations(&mut self, word: Declares, line: &[Token<'a>], errors: &mut Vec<Error>) {
        let mut line = Line { rest: line };
        loop {
            let token = line.next();
            if token.kind != Kind::Word {
                return errors.extend(unexpected("a name", &token));
            }
            let kind = line.kind(word);
            let is_wrong = kind.is_err();
            // Without what belongs to it the name counts all the same: the mistake is told once, and not at each use.
            let kind = kind.unwrap_or_else(|error| {
                errors.extend(error);
                plain(word)
            });
            let object = self.objects.len();
            if self.is_free(&token, errors) {
                self.names.insert(token.text, (Named::Object(object), token.at.line));
            }
            if object == MOST_OBJECTS {
                errors.push(token.error(ErrorKind::TooMany { what: "objects", most: MOST_OBJECTS }));
            }
            self.objects.push(Object { name: token.text.to_owned(), kind });
            let token = line.next();
            match token.kind {
                Kind::Symbol if token.is(",") => {}
                Kind::Newline => return,
                // What follows the mistake cannot be told from its consequences.
                _ if is_wrong => return,
                _ => return errors.extend(unexpected("',' or the end of the line", &token)),
            }
        }
    }

    /// Completes the message about an unknown name by the known one that is nearest to it.
    pub fn suggest(&self, error: &mut Error, threads: &[Thread]) {
        let known = |is_thread| {
            let fitting =
                self.names.iter().filter(move |(_, (named, _))| matches!(named, Named::Thread(_)) == is_thread);
            fitting.map(|(name, _)| *name)
        };
        match &mut error.kind {
            ErrorKind::UnknownObject { name, nearest } => *nearest = closest_to(name, known(false)),
            ErrorKind::UnknownThread { name, nearest } => *nearest = closest_to(name, known(true)),
            ErrorKind::UnknownRegister { name, thread, nearest } => {
                let own = threads.iter().filter(|other| other.name == *thread).flat_map(|thread| &thread.registers);
                *nearest = closest_to(name, own.map(String::as_str));
            }
            ErrorKind::UnknownStep { word, nearest } if nearest.is_none() => {
                *nearest = closest_to(word, Does::ALL.iter().map(|step| step.text()));
            }
            ErrorKind::UnknownDeclaration { word, nearest } => {
                let meant = Declares::meant_by(word).map(|declares| declares.text().to_owned());
                *nearest = meant.or_else(|| closest_to(word, Declares::ALL.iter().map(|word| word.text())));
            }
            _ => {}
        }
    }
}

fn closest_to<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    // Nothing is called that; comparing it would only take time.
    if name.len() > 100 { None } else { closest(name, candidates).map(str::to_owned) }
}

/// The name after the word `thread`, which other languages have and this one does not.
fn thread_word<'a>(word: &Token, after: &[Token<'a>]) -> Option<Token<'a>> {
    let name = after.first().filter(|name| matches!(name.kind, Kind::Word | Kind::Number));
    name.filter(|_| word.is_word("thread")).copied()
}

/// What is wrong about something before the first thread.
fn not_in_a_thread(token: &Token) -> Option<Error> {
    let word = token.text.to_owned();
    if token.kind != Kind::Word {
        unexpected("a declaration or a thread", token)
    } else if Does::of(&word).is_some() {
        Some(token.error(ErrorKind::OutsideThread { word }))
    } else {
        Some(token.error(ErrorKind::UnknownDeclaration { word, nearest: None }))
    }
}

/// Where the line ends: the lexer ends every line.
fn end_of_line(tokens: &[Token]) -> usize {
    tokens.iter().position(|token| token.kind == Kind::Newline).unwrap_or(tokens.len().saturating_sub(1))
}

/// That something else should be here, unless the lexer told about it already.
pub fn unexpected(what: &'static str, found: &Token) -> Option<Error> {
    let text = match found.kind {
        Kind::Bad => return None,
        Kind::Newline => "the end of the line".to_owned(),
        _ => format!("'{}'", found.text),
    };
    Some(found.error(ErrorKind::Expected { what, found: text }))
}

/// The number that digits stand for.
pub fn number(digits: &Token, negative: bool) -> Result<i64, Error> {
    let sign = if negative { "-" } else { "" };
    let number = format!("{sign}{}", digits.text);
    number.parse().map_err(|_| digits.error(ErrorKind::NumberTooLarge { number }))
}

/// An object of which nothing more is said.
const fn plain(word: Declares) -> ObjectKind {
    match word {
        Declares::Lock => ObjectKind::Lock,
        Declares::Recursive => ObjectKind::Recursive,
        Declares::RwLock => ObjectKind::RwLock,
        Declares::Condition => ObjectKind::Condition,
        Declares::Barrier => ObjectKind::Barrier(1),
        Declares::Semaphore => ObjectKind::Semaphore(0),
        Declares::Variable => ObjectKind::Variable(0),
        Declares::Atomic => ObjectKind::Atomic(0),
    }
}

/// The tokens of a declaration, the end of the line being the last.
struct Line<'t, 'a> {
    rest: &'t [Token<'a>],
}

impl<'a> Line<'_, 'a> {
    /// What belongs to a name.
    fn kind(&mut self, word: Declares) -> Result<ObjectKind, Option<Error>> {
        Ok(match word {
            Declares::Barrier => ObjectKind::Barrier(self.count("the size of a barrier", 1, MOST_THREADS as i64)?),
            Declares::Semaphore if self.is_at_number() => {
                // What a C semaphore can hold.
                ObjectKind::Semaphore(self.count("the value of a semaphore", 0, i64::from(i32::MAX))?)
            }
            Declares::Variable => ObjectKind::Variable(self.first_value()?),
            Declares::Atomic => ObjectKind::Atomic(self.first_value()?),
            _ => plain(word),
        })
    }

    /// The end of the line stays.
    fn next(&mut self) -> Token<'a> {
        let token = self.rest[0];
        if self.rest.len() > 1 {
            self.rest = &self.rest[1..];
        }
        token
    }

    fn is_at_number(&self) -> bool {
        self.rest[0].kind == Kind::Number || self.rest[0].is("-")
    }

    fn number(&mut self, what: &'static str) -> Result<i64, Option<Error>> {
        let negative = self.rest[0].is("-");
        if negative {
            self.next();
        }
        let digits = self.rest[0];
        if digits.kind != Kind::Number {
            return Err(unexpected(what, &digits));
        }
        self.next();
        number(&digits, negative).map_err(Some)
    }

    fn count(&mut self, what: &'static str, least: i64, most: i64) -> Result<u32, Option<Error>> {
        let token = self.rest[0];
        let number = self.number(what)?;
        if (least..=most).contains(&number) {
            Ok(number as u32)
        } else {
            Err(Some(token.error(ErrorKind::OutOfRange { what, least, most })))
        }
    }

    fn first_value(&mut self) -> Result<i64, Option<Error>> {
        if !self.rest[0].is("=") {
            return Ok(0);
        }
        self.next();
        self.number("a number")
    }
}
