//! What can be wrong with a file of IR.

use std::fmt;

/// Why there is no model of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    pub file: String,
    /// Unless it is about the file as a whole.
    pub line: Option<u32>,
    pub message: String,
}

impl Error {
    pub(super) fn whole(file: impl Into<String>, message: impl Into<String>) -> Error {
        Error { file: file.into(), line: None, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for Error {}

/// Something wrong at a line, while it is not yet known of which file.
#[derive(Debug)]
pub(super) struct Problem {
    pub line: u32,
    pub message: String,
}
