//! The words of IR.

use super::error::Problem;
use std::borrow::Cow;

/// Names are as they are written, without their mark and quotes; [`unquoted`] gives their text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Token<'a> {
    /// `%name`: a value, a block or a type.
    Local(&'a str),
    /// `@name`
    Global(&'a str),
    /// `!name`, and `!` alone with an empty name.
    Metadata(&'a str),
    /// `#name`: a group of attributes or a debug record.
    Hash(&'a str),
    /// Keywords, types and numbers.
    Word(&'a str),
    Text(&'a str),
    /// Anything else is one character.
    Mark(u8),
    End,
}

impl Token<'_> {
    /// As an error tells it.
    pub fn described(self) -> String {
        let shown = |name: &str| {
            let mut text: String = name.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
            if name.chars().nth(40).is_some() {
                text.push('…');
            }
            text
        };
        match self {
            Token::Local(name) => format!("'%{}'", shown(name)),
            Token::Global(name) => format!("'@{}'", shown(name)),
            Token::Metadata(name) => format!("'!{}'", shown(name)),
            Token::Hash(name) => format!("'#{}'", shown(name)),
            Token::Word(word) => format!("'{}'", shown(word)),
            Token::Text(text) => format!("\"{}\"", shown(text)),
            Token::Mark(mark) if mark.is_ascii_graphic() => format!("'{}'", char::from(mark)),
            Token::Mark(mark) => format!("the byte 0x{mark:02x}"),
            Token::End => "the end".to_owned(),
        }
    }
}

/// The token after the last one that was taken is always known.
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    /// Behind `next`.
    at: usize,
    /// Nothing is read from here on.
    end: usize,
    next: Token<'a>,
    /// Where `next` begins.
    next_start: usize,
    /// That of `next`.
    line: u32,
    /// Of the token that was taken last.
    taken_line: u32,
}

const fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b'-' | b'+') || byte >= 0x80
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0, end: 0, next: Token::End, next_start: 0, line: 1, taken_line: 1 }
    }

    /// Goes on at another place of the text, whose line is known.
    pub fn seek(&mut self, start: usize, end: usize, line: u32) {
        self.at = start;
        self.end = end;
        self.line = line;
        self.taken_line = line;
        self.advance();
    }

    pub fn peek(&self) -> Token<'a> {
        self.next
    }

    pub fn line(&self) -> u32 {
        self.line
    }

    /// Where the next token begins.
    pub fn offset(&self) -> usize {
        self.next_start
    }

    /// Whether the next token is on another line than the last one.
    pub fn at_line_start(&self) -> bool {
        self.line != self.taken_line || self.next == Token::End
    }

    pub fn take(&mut self) -> Token<'a> {
        let token = self.next;
        self.taken_line = self.line;
        if token != Token::End {
            self.advance();
        }
        token
    }

    /// Whether a colon follows the next token at once, as it does a label.
    pub fn is_label(&self) -> bool {
        matches!(self.next, Token::Word(_) | Token::Text(_))
            && self.text.as_bytes()[..self.end].get(self.at) == Some(&b':')
    }

    pub fn problem(&self, message: impl Into<String>) -> Problem {
        Problem { line: self.line, message: message.into() }
    }

    pub fn expected(&self, what: &str) -> Problem {
        self.problem(format!("expected {what}, found {}", self.next.described()))
    }

    pub fn take_mark(&mut self, mark: u8) -> bool {
        let is_it = self.next == Token::Mark(mark);
        if is_it {
            self.take();
        }
        is_it
    }

    pub fn take_word(&mut self, word: &str) -> bool {
        let is_it = self.next == Token::Word(word);
        if is_it {
            self.take();
        }
        is_it
    }

    pub fn expect_mark(&mut self, mark: u8) -> Result<(), Problem> {
        if self.take_mark(mark) { Ok(()) } else { Err(self.expected(&format!("'{}'", char::from(mark)))) }
    }

    /// Skips what is in parentheses, brackets or braces, if the next token opens some.
    pub fn skip_group(&mut self) -> Result<(), Problem> {
        let mut depth = 0_u32;
        loop {
            match self.peek() {
                Token::Mark(b'(' | b'[' | b'{' | b'<') => depth += 1,
                Token::Mark(b')' | b']' | b'}' | b'>') if depth > 0 => depth -= 1,
                Token::End if depth > 0 => return Err(self.expected("a closing bracket")),
                _ if depth == 0 => return Ok(()),
                _ => {}
            }
            self.take();
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn advance(&mut self) {
        let bytes = &self.text.as_bytes()[..self.end];
        let mut at = self.at;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'\n' => self.line += 1,
                b' ' | b'\t' | b'\r' => {}
                b';' => {
                    at += bytes[at..].iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len() - at);
                    continue;
                }
                _ => break,
            }
            at += 1;
        }
        self.next_start = at;
        let Some(&first) = bytes.get(at) else {
            self.at = at;
            self.next = Token::End;
            return;
        };
        let text = self.text;
        let word = |start: usize| {
            let length = bytes[start..].iter().position(|byte| !in_word(*byte)).unwrap_or(bytes.len() - start);
            (&text[start..start + length], start + length)
        };
        // A quote that is not closed ends with its line.
        let quoted = |start: usize| {
            let ends = |byte: &u8| matches!(byte, b'"' | b'\n');
            let end = bytes[start..].iter().position(ends).map_or(bytes.len(), |length| start + length);
            (&text[start..end], if bytes.get(end) == Some(&b'"') { end + 1 } else { end })
        };
        let name = |start: usize| if bytes.get(start) == Some(&b'"') { quoted(start + 1) } else { word(start) };
        (self.next, self.at) = match first {
            b'%' => named(Token::Local, name(at + 1)),
            b'@' => named(Token::Global, name(at + 1)),
            b'#' => named(Token::Hash, word(at + 1)),
            b'!' => named(Token::Metadata, word(at + 1)),
            b'"' => named(Token::Text, quoted(at + 1)),
            byte if in_word(byte) => named(Token::Word, word(at)),
            byte => (Token::Mark(byte), at + 1),
        };
    }
}

fn named<'a>(token: impl Fn(&'a str) -> Token<'a>, (name, at): (&'a str, usize)) -> (Token<'a>, usize) {
    (token(name), at)
}

/// The text of a name or string, in which `\22` is the character of that number.
pub(super) fn unquoted(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = if first == b'\\' && after.first() == Some(&b'\\') { &after[1..] } else { after };
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}
