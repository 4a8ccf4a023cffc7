//! What can be wrong in the text of a scenario.

use super::lexer::without_mark;
use super::tree::Position;
use super::words::{Declares, Does};
use std::fmt::{self, Write as _};

/// An article before a word, for the messages.
pub(super) fn with_article(word: &str) -> String {
    let article = if word.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {word}")
}

/// Words with commas between them.
pub(super) fn list<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

/// The nearest known word, or else other advice.
fn advice(nearest: Option<&str>, otherwise: &str) -> String {
    nearest.map_or_else(|| otherwise.to_owned(), |nearest| format!("did you mean '{nearest}'?"))
}

macro_rules! error_kinds {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* } => $text:literal $(, $argument:expr)*;)*) => {
        /// The kinds of error, each with its message.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum ErrorKind { $($(#[$doc])* $name { $($field: $type),* },)* }

        impl ErrorKind {
            /// The names of all kinds.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { $(ErrorKind::$name { .. } => stringify!($name),)* }
            }
        }

        impl fmt::Display for ErrorKind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $(ErrorKind::$name { $($field),* } => write!(f, $text $(, $argument)*),)* }
            }
        }
    };
}

error_kinds! {
    BadCharacter { found: char } => "{found:?} means nothing here; a comment begins with '#'";
    BadName { name: String } => "'{name}' is neither a name nor a number; a name has the letters a to z, digits and '_', and does not begin with a digit";
    /// A word of the language where a new name should be.
    Keyword { name: String } => "'{name}' is a word of the language; choose another name";
    Taken { name: String, what: &'static str, line: u32 } => "'{name}' is {} already (line {line}); choose another name", with_article(what);
    UnknownObject { name: String, nearest: Option<String> } =>
        "'{name}' is not declared; {}", advice(nearest.as_deref(), "declare it before the first thread");
    UnknownThread { name: String, nearest: Option<String> } =>
        "there is no thread '{name}'; {}", advice(nearest.as_deref(), &format!("its steps would follow '{name}:'"));
    UnknownRegister { name: String, thread: String, nearest: Option<String> } =>
        "'{name}' is assigned nowhere in thread '{thread}'; {}", advice(nearest.as_deref(), &format!("assign to it first, as in '{name} = rd x'"));
    UnknownStep { word: String, nearest: Option<String> } =>
        "there is no step '{word}'; {}", advice(nearest.as_deref(), &format!("the steps are {}", list(Does::ALL.iter().map(|word| word.text()))));
    UnknownDeclaration { word: String, nearest: Option<String> } =>
        "'{word}' declares nothing; {}", advice(nearest.as_deref(), &format!("write one of {}, or begin a thread with its name and ':'", list(Declares::ALL.iter().map(|word| word.text()))));
    /// The word `thread`.
    ThreadWord { name: String } => "a thread begins with its name and ':' alone; write '{name}:'";
    NoThread {} => "there is no thread here, and a scenario needs one at least; its steps follow its name and ':', as in 't1: acq m'";
    OutsideThread { word: String } => "'{word}' is in no thread; begin one with its name and ':', as in 't1: {word}'";
    LateDeclaration { word: &'static str } => "'{word}' declares an object; that has its place before the first thread";
    /// An object or thread that the step cannot use.
    WrongKind { name: String, what: &'static str, step: &'static str, needs: String, hint: String } =>
        "'{name}' is {}; {step} needs {}{hint}", with_article(what), with_article(needs);
    /// Something with or without a value of its own where a register should be.
    NoRegister { name: String, what: &'static str, hint: String } => "'{name}' is {}, not a register{hint}", with_article(what);
    /// A step with a value where only registers and numbers can be.
    StepInValue { step: String } => "a value has no steps in it; take that step first, as in 'r = {step}', and use 'r' here";
    /// In a step that writes.
    EqualsSign { form: String } => "this step has no '='; write '{form}'";
    NoResult { step: &'static str } => "{step} gives no value; write it without '='";
    NeedsRegister { step: &'static str, form: &'static str } => "{step} tells by its value whether it worked; write '{form}'";
    Expected { what: &'static str, found: String } => "{what} should be here, not {found}";
    NotSimple {} => "cas takes two simple values; put longer ones in parentheses";
    NumberTooLarge { number: String } => "{number} is too large; numbers go from {} to {}", i64::MIN, i64::MAX;
    OutOfRange { what: &'static str, least: i64, most: i64 } => "{what} is a number from {least} to {most}";
    OpenBrace {} => "this '{{' is not closed by the end of the thread; write the missing '}}'";
    StrayBrace {} => "this '}}' closes nothing; remove it";
    StrayElse {} => "this 'else' follows no 'if'; write 'if VALUE {{ ... }} else {{ ... }}'";
    /// Of an atomic block.
    OpenBlock {} => "this block has no 'end' before the thread or the braces around it end";
    StrayEnd {} => "this 'end' ends no block that began in the same thread and braces";
    Again { step: &'static str, thread: String, line: u32 } => "there is a {step} of '{thread}' already (line {line}); a thread can have only one";
    InLoop { step: &'static str } => "{step} in a 'while' could happen twice; move it out";
    Itself { step: &'static str } => "a thread cannot {step} itself";
    NeverStarts { thread: String, chain: String } => "'{thread}' can never start: {chain}";
    TooMany { what: &'static str, most: usize } => "more than {most} {what}; scenarios are small, so leave some out";
    TooDeep { most: usize } => "more than {most} levels of braces";
    TooLong { most: usize } => "more than {most} operators and parentheses in one value; compute parts of it in registers";
}

/// Something wrong and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    pub kind: ErrorKind,
    pub at: Position,
    /// Of the part of the line that it is about, in characters.
    pub width: u32,
}

/// All that is wrong in a text, in its order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Errors {
    pub first: Vec<Error>,
    /// How many others there are.
    pub more: usize,
}

impl Errors {
    /// So many are told; who made more has enough to do.
    pub const MOST: usize = 20;

    pub(super) fn new(mut errors: Vec<Error>) -> Errors {
        errors.sort_by_key(|error| (error.at.line, error.at.column));
        errors.dedup();
        let more = errors.len().saturating_sub(Errors::MOST);
        errors.truncate(Errors::MOST);
        Errors { first: errors, more }
    }

    /// The messages, each with its line of the text and a caret below the place.
    #[must_use]
    pub fn render(&self, path: &str, text: &str) -> String {
        let lines: Vec<&str> = without_mark(text).lines().collect();
        let mut result = String::new();
        for Error { kind, at, width } in &self.first {
            let _ = writeln!(result, "{path}:{}:{}: {kind}", at.line, at.column);
            let line = lines.get((at.line as usize).saturating_sub(1)).copied().unwrap_or("");
            result += &pointed_at(line, at.column as usize, *width as usize);
        }
        if self.more > 0 {
            let _ = writeln!(result, "{path}: and {} more errors", self.more);
        }
        result
    }
}

/// The line and `^~~~` below it. Tabs stay tabs in both, whatever their width.
fn pointed_at(line: &str, column: usize, width: usize) -> String {
    let body = line.trim_start();
    let indentation = line.chars().count() - body.chars().count();
    let shown: String = body.chars().map(|c| if c.is_control() && c != '\t' { ' ' } else { c }).collect();
    let before = shown.chars().chain(std::iter::repeat(' ')).take((column - 1).saturating_sub(indentation));
    let blank: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    format!("    {}\n    {blank}^{}\n", shown.trim_end(), "~".repeat(width.saturating_sub(1)))
}
