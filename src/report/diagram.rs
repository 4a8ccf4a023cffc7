//! An order of two threads' steps as lines of text: a column for each thread, time goes down.

/// One line: what one of the threads does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// 0 or 1.
    pub column: usize,
    pub what: String,
    /// Where in the source.
    pub place: String,
}

/// What stands for steps that are left out.
pub const LEFT_OUT: &str = "...";

/// A column is no wider, so that a line fits into a terminal of 100 columns.
const WIDEST: usize = 46;
const BETWEEN: &str = "   ";

/// Draws the rows under the names of the two threads.
#[must_use]
pub fn draw(threads: [&str; 2], rows: &[Row]) -> Vec<String> {
    let cells = |column| rows.iter().filter(move |row| row.column == column).map(cell);
    let left = cells(0).chain([cut(threads[0], WIDEST)]).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let line = |[one, other]: [&str; 2]| format!("{one:left$}{BETWEEN}{other}").trim_end().to_owned();
    let mut lines = vec![line([&cut(threads[0], WIDEST), &cut(threads[1], WIDEST)])];
    lines.extend(rows.iter().map(|row| if row.column == 0 { line([&cell(row), ""]) } else { line(["", &cell(row)]) }));
    lines
}

/// The place is kept whole, if there is room for it at all.
fn cell(row: &Row) -> String {
    let place = cut(&row.place, WIDEST - LEFT_OUT.len() - 1);
    if place.is_empty() {
        return cut(&row.what, WIDEST);
    }
    format!("{} {place}", cut(&row.what, WIDEST - 1 - place.chars().count()))
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - LEFT_OUT.len()).chain(LEFT_OUT.chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(column: usize, what: &str, place: &str) -> Row {
        Row { column, what: what.to_owned(), place: place.to_owned() }
    }

    #[test]
    fn each_thread_has_its_column() {
        let rows = [
            row(0, "reads 'balance'", "bank.c:31"),
            row(0, LEFT_OUT, ""),
            row(1, "writes 'balance'", "bank.c:38"),
            row(0, "writes 'balance'", "bank.c:38"),
        ];
        let expected = [
            "T1                           T2 'teller'",
            "reads 'balance' bank.c:31",
            "...",
            "                             writes 'balance' bank.c:38",
            "writes 'balance' bank.c:38",
        ];
        assert_eq!(draw(["T1", "T2 'teller'"], &rows), expected);
    }

    #[test]
    fn no_line_is_too_long_and_places_are_kept() {
        let long = "atomically updates 'namespace::Class<template, arguments>::member_of_it'";
        for place in ["a.cpp:120", &"very_long_name_of_a_file_with_a_number_".repeat(3)] {
            let lines = draw(["T1", "T2"], &[row(0, long, place), row(1, long, place)]);
            assert!(lines.iter().all(|line| line.chars().count() <= 2 * WIDEST + BETWEEN.len()), "{lines:#?}");
        }
        assert!(draw(["T1", "T2"], &[row(0, long, "a.cpp:120")])[1].ends_with("... a.cpp:120"));
    }
}
