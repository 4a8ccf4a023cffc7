//! Compares what a tool reports about a program with what is known of it.
//!
//! A report is about a known violation if all of this holds:
//!
//! - It blames the function in which the two blocks of the violation follow each other.
//! - Its two operations are where these blocks are: the call stack of each goes through a line with the mark. A tool that reads the
//!   source may have no call stack: then the operation is in a function that is called in such a line. Of a view the two may come in
//!   either order.
//! - One of its variables is one of the violation's. Types are not compared, because tools name the object or the type.
//!
//! Several reports about the same violation count once. All other reports are invented: one for each block and set of variables, where the elements
//! of an array are one variable, as for every tool that reads the source.

use super::known::{Kind, Mark, Program, Violation};
use super::literature::Figures;
use crate::support::findings::{Finding, Place};
use std::collections::BTreeSet;

/// What a tool missed and invented.
#[derive(Clone, Debug, Default)]
pub struct Score {
    /// The numbers of the violations.
    pub missed: Vec<usize>,
    /// Block and variables.
    pub invented: BTreeSet<String>,
}

impl Score {
    pub fn of<'a>(program: &Program, findings: impl Iterator<Item = &'a Finding>) -> Score {
        let mut found = BTreeSet::new();
        let mut invented = BTreeSet::new();
        for finding in findings {
            let about: Vec<usize> = program
                .violations
                .iter()
                .filter(|violation| is_about(finding, violation, program.file_name()))
                .map(|violation| violation.number)
                .collect();
            if about.is_empty() {
                let variables: BTreeSet<String> = finding.variable_names().into_iter().map(without_indices).collect();
                let variables: Vec<String> = variables.into_iter().collect();
                invented.insert(format!("{} {} of {}", finding.pattern(), finding.block(), variables.join(", ")));
            }
            found.extend(about);
        }
        let numbers = program.violations.iter().map(|violation| violation.number);
        Score { missed: numbers.filter(|number| !found.contains(number)).collect(), invented }
    }

    /// Of two tools that are used together: each finds what the other one misses, and invents what it invents.
    pub fn together(&self, other: &Score) -> Score {
        let missed = self.missed.iter().copied().filter(|number| other.missed.contains(number)).collect();
        Score { missed, invented: &self.invented | &other.invented }
    }

    pub fn figures(&self) -> Figures {
        Figures { missed: self.missed.len(), invented: self.invented.len() }
    }
}

fn is_about(finding: &Finding, violation: &Violation, file: &str) -> bool {
    let at = |operation: &str, marks: &[Mark]| is_at(finding, operation, marks, violation, file);
    let in_order = at("first", &violation.first) && at("second", &violation.second);
    let reversed = || violation.kind == Kind::View && at("first", &violation.second) && at("second", &violation.first);
    let names = finding.variable_names();
    let is_known = |name: &&str| violation.variables.iter().any(|variable| last_name(variable) == last_name(name));
    let blames = last_name(finding.block()) == last_name(&violation.function);
    blames && (in_order || reversed()) && names.iter().any(is_known)
}

fn is_at(finding: &Finding, operation: &str, marks: &[Mark], violation: &Violation, file: &str) -> bool {
    let places = finding.places(operation, file);
    if places.iter().any(|place| marks.iter().any(|mark| mark.line == place.line)) {
        return true;
    }
    let is_of_caller = |place: &Place| last_name(&place.function) == last_name(&violation.function);
    let is_called = |place: &Place| marks.iter().any(|mark| has_word(&mark.code, last_name(&place.function)));
    !places.iter().any(is_of_caller) && places.first().is_some_and(is_called)
}

/// `floors[].lamp` for `floors[3].lamp`.
fn without_indices(name: &str) -> String {
    let mut parts = name.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| name + "[" + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// The member of `type.member`, `objects[].member`, `array[3]` or `Class::member`.
fn last_name(name: &str) -> &str {
    let name = name.split(['(', '<', '+']).next().unwrap_or(name);
    let name = name.rsplit(['.', ':', '>']).next().unwrap_or(name);
    name.split('[').next().unwrap_or(name).trim()
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|character: char| !character.is_alphanumeric() && character != '_').any(|part| part == word)
}
