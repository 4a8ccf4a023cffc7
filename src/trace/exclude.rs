//! Code whose accesses the user does not want recorded: lines of `module:template`, `file:template` or `function:template`.

use crate::options::Options;
use crate::report::finding::Frame;
use crate::report::rules::{self, Rule, RulesError};

/// The types: name, and what their template is matched against.
pub const TYPES: &[(&str, &str)] = &[
    ("module", "path of the program or library that the code is in"),
    ("file", "path of its source file"),
    ("function", "name of its function, or of one that was inlined there"),
];
const KINDS: [&str; 3] = [TYPES[MODULE].0, TYPES[FILE].0, TYPES[FUNCTION].0];
const MODULE: usize = 0;
const FILE: usize = 1;
const FUNCTION: usize = 2;

/// The user's exclusions.
#[derive(Default, Debug)]
pub struct Exclusions {
    rules: Vec<Rule>,
}

impl Exclusions {
    /// Reads the file that the options name, if any.
    pub fn read(options: &Options) -> Result<Exclusions, RulesError> {
        Ok(Exclusions { rules: rules::read("trace_exclude", &options.trace_exclude, &KINDS)? })
    }

    /// Parses the text of such a file; `path` is for the errors.
    pub fn parse(path: &str, text: &str) -> Result<Exclusions, RulesError> {
        Ok(Exclusions { rules: rules::parse(path, text, &KINDS)? })
    }

    /// Whether nothing is excluded, so that nobody need be asked for frames.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether code with these frames (innermost first, the inlined ones too) is excluded. Finding the frames is slow: ask once
    /// for each code location.
    #[must_use]
    pub fn excludes(&self, frames: &[Frame]) -> bool {
        self.rules.iter().any(|rule| frames.iter().any(|frame| fits(rule, frame)))
    }
}

fn fits(rule: &Rule, frame: &Frame) -> bool {
    let name = match rule.kind {
        MODULE => Some(&frame.module),
        FILE => frame.file.as_ref(),
        _ => frame.function.as_ref(),
    };
    name.is_some_and(|name| rule.template.matches(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::finding::samples::frame;

    fn excludes(line: &str) -> bool {
        let frames = [frame("push", "queue.h", 9, "/opt/prog", 0x10), frame("worker", "main.c", 30, "/opt/prog", 0x10)];
        Exclusions::parse("exclude", line).unwrap().excludes(&frames)
    }

    #[test]
    fn each_type_looks_at_its_own_part_of_every_frame() {
        for line in ["module:prog$", "file:/queue.h$", "file:main.c", "function:^push$", "function:work*"] {
            assert!(excludes(line), "{line}");
        }
        for line in ["module:push", "file:prog", "function:queue", "function:^pus$", ""] {
            assert!(!excludes(line), "{line}");
        }
    }

    #[test]
    fn what_is_not_known_fits_nothing() {
        let unknown = [Frame::default()];
        let exclusions = Exclusions::parse("exclude", "module:*\nfile:*\nfunction:*\n").unwrap();
        assert!(!exclusions.excludes(&unknown) && !exclusions.is_empty());
    }

    #[test]
    fn errors_point_into_the_file() {
        let error = Exclusions::parse("x.txt", "file:a\nfunctoin:b\n").unwrap_err();
        assert_eq!(error.to_string(), "x.txt:2:1: unknown type 'functoin'; did you mean 'function'?");
    }
}
