//! Accesses by their line of the source.

use rustc_hash::FxHashMap;

use super::facts::Facts;
use crate::ir::model::{FunctionId, Location};

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    pub file: String,
    pub line: u32,
    pub column: Option<u32>,
}

impl From<&Location> for Place {
    fn from(at: &Location) -> Place {
        Place { file: at.file.to_string(), line: at.line, column: Some(at.column) }
    }
}

/// Accesses by line: function, number and where exactly.
#[derive(Debug, Default)]
pub struct Lines {
    by_line: FxHashMap<u32, Vec<(FunctionId, u32, Location)>>,
}

impl Lines {
    pub(super) fn of(facts: &Facts) -> Lines {
        let mut lines = Lines::default();
        for (id, function) in (0..).zip(&facts.functions) {
            let mut numbers: Vec<u32> = function.accesses.keys().copied().collect();
            numbers.sort_unstable();
            for number in numbers {
                if let Some(at) = &facts.instruction(id, number).at {
                    lines.by_line.entry(at.line).or_default().push((id, number, at.clone()));
                }
            }
        }
        lines
    }

    /// The accesses at a place. A file is known by its whole path, or else by the longest end of it that fits one; a column that
    /// nothing is at does not count.
    pub(super) fn at(&self, place: &Place) -> Vec<(FunctionId, u32)> {
        let on_line = self.by_line.get(&place.line).map_or(&[][..], Vec::as_slice);
        let best = on_line.iter().map(|(.., at)| alike(&at.file, &place.file)).max().unwrap_or_default();
        if best == 0 {
            return Vec::new();
        }
        let in_file: Vec<_> = on_line.iter().filter(|(.., at)| alike(&at.file, &place.file) == best).collect();
        let is_there = |at: &Location| place.column == Some(at.column);
        let has_column = in_file.iter().any(|(.., at)| is_there(at));
        in_file
            .into_iter()
            .filter(|(.., at)| !has_column || is_there(at))
            .map(|(id, number, _)| (*id, *number))
            .collect()
    }
}

/// How many components two paths have in common at their ends; the most if they are the same.
pub(super) fn alike(one: &str, other: &str) -> usize {
    if one == other {
        return usize::MAX;
    }
    let parts = |path| -> Vec<&str> { str::split(path, '/').filter(|part| !matches!(*part, "" | ".")).collect() };
    let (one, other) = (parts(one), parts(other));
    one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count()
}
