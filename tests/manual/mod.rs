//! The pages of the manual, some parts of which are generated. `UPDATE_DOCS=1 cargo test` writes them again.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::{Path, PathBuf};
use std::sync::Mutex;

pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

pub fn read(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The part of a page between `<!-- NAME -->` and `<!-- /NAME -->`.
fn part(page: &str, name: &str) -> std::ops::Range<usize> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let start = page.find(&begin).unwrap_or_else(|| panic!("no {begin}")) + begin.len();
    start..start + page[start..].find(&end).unwrap_or_else(|| panic!("no {end}"))
}

/// Asserts that the part of the page is what it should be, as far as `same` tells, or makes it so.
#[track_caller]
pub fn is_up_to_date(file: &str, name: &str, content: &str, same: impl Fn(&str) -> String) {
    // Two tests may write to one page.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock();
    let mut page = read(file);
    let range = part(&page, name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        page.replace_range(range, content);
        std::fs::write(path(file), page).unwrap();
        return;
    }
    let advice = format!("{file} is out of date; write it again with UPDATE_DOCS=1 cargo test");
    assert_eq!(same(&page[range]), same(content), "{advice}");
}

pub fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = line(&head.map(str::to_owned)) + &format!("|{}\n", "---|".repeat(N));
    for row in rows {
        text += &line(&row.map(|cell| cell.replace('|', "\\|")));
    }
    text
}
