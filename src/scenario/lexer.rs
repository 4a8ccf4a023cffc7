//! Text to tokens.

use super::error::{Error, ErrorKind};
use super::tree::{Operator, Position};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Letters, digits and `_`, not beginning with a digit.
    Word,
    /// Digits. Their value is made where it is needed: as the name of a thread they have none.
    Number,
    Symbol,
    Newline,
    /// Something wrong that was told already.
    Bad,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub at: Position,
}

impl Token<'_> {
    pub fn is(&self, symbol: &str) -> bool {
        self.kind == Kind::Symbol && self.text == symbol
    }

    pub fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text == word
    }

    pub fn error(&self, kind: ErrorKind) -> Error {
        let width = if self.kind == Kind::Newline { 1 } else { self.text.chars().count() as u32 };
        Error { kind, at: self.at, width }
    }
}

/// Symbols that are no operators of two values.
const PUNCTUATION: &[&str] = &["{", "}", "(", ")", ":", ";", ",", "=", "!"];

/// The text without the byte order mark that some editors put before it.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The tokens of the text, of which every line ends with a [`Kind::Newline`]; comments are left out.
pub fn tokens<'a>(text: &'a str, errors: &mut Vec<Error>) -> Vec<Token<'a>> {
    let mut tokens = Vec::new();
    for (index, line) in without_mark(text).lines().enumerate() {
        let at = |column: usize| Position { line: index as u32 + 1, column: column as u32 };
        let mut rest = line;
        let mut column = 1;
        loop {
            let blank = rest.trim_start();
            column += rest[..rest.len() - blank.len()].chars().count();
            rest = blank;
            let Some(first) = rest.chars().next().filter(|c| *c != '#') else { break };
            let (kind, length) = first_token(first, rest);
            let token = Token { kind, text: &rest[..length], at: at(column) };
            if kind == Kind::Bad {
                errors.push(token.error(if is_part_of_a_word(first) {
                    ErrorKind::BadName { name: token.text.to_owned() }
                } else {
                    ErrorKind::BadCharacter { found: first }
                }));
            }
            tokens.push(token);
            column += token.text.chars().count();
            rest = &rest[length..];
        }
        tokens.push(Token { kind: Kind::Newline, text: "\n", at: at(column) });
    }
    tokens
}

/// What the text begins with, and its length in bytes.
fn first_token(first: char, text: &str) -> (Kind, usize) {
    if is_part_of_a_word(first) {
        let length = text.find(|c| !is_part_of_a_word(c)).unwrap_or(text.len());
        let word = &text[..length];
        let kind = if word.bytes().all(|byte| byte.is_ascii_digit()) {
            Kind::Number
        } else if first.is_ascii_digit() || !word.is_ascii() {
            Kind::Bad
        } else {
            Kind::Word
        };
        return (kind, length);
    }
    let operators = Operator::ALL.iter().map(|operator| operator.text());
    let symbols = operators.chain(PUNCTUATION.iter().copied()).filter(|symbol| text.starts_with(symbol));
    // `<=` is one symbol, not two.
    match symbols.map(str::len).max() {
        Some(length) => (Kind::Symbol, length),
        None => (Kind::Bad, first.len_utf8()),
    }
}

/// Letters of any script, so that a name with a foreign letter is one mistake and not several.
fn is_part_of_a_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
