//! The violations that a program is known to have: `known.txt`, and the marks in the sources.

use super::directory;
use std::path::PathBuf;

/// A program of examples/views.
#[derive(Clone, Debug)]
pub struct Program {
    pub name: String,
    pub source: PathBuf,
    pub violations: Vec<Violation>,
}

/// A line of `known.txt`.
#[derive(Clone, Debug)]
pub struct Violation {
    pub program: String,
    pub number: usize,
    pub kind: Kind,
    /// In which the two blocks follow each other.
    pub function: String,
    /// Names of globals, or type and field.
    pub variables: Vec<String>,
    pub first: Vec<Mark>,
    pub second: Vec<Mark>,
    pub other: Vec<Mark>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    View,
    StaleValue,
}

/// A line of the source that carries a mark.
#[derive(Clone, Debug)]
pub struct Mark {
    pub line: u64,
    /// The line without its comments.
    pub code: String,
}

impl Program {
    pub fn read(name: &str) -> Result<Program, String> {
        let sources = ["c", "cpp"].map(|extension| directory().join(name).with_extension(extension));
        let source = sources.into_iter().find(|path| path.is_file()).ok_or_else(|| format!("no source of {name}"))?;
        let text = std::fs::read_to_string(&source).map_err(|error| error.to_string())?;
        let mut violations: Vec<Violation> = read_known()?.into_iter().filter(|known| known.program == name).collect();
        for violation in &mut violations {
            violation.first = marks(&text, violation.number, "first");
            violation.second = marks(&text, violation.number, "second");
            violation.other = marks(&text, violation.number, "other");
        }
        Ok(Program { name: name.to_owned(), source, violations })
    }

    pub fn file_name(&self) -> &str {
        self.source.file_name().and_then(|name| name.to_str()).unwrap_or("")
    }
}

/// All of `known.txt`, without the marks.
pub fn read_known() -> Result<Vec<Violation>, String> {
    let path = directory().join("known.txt");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| Violation::parse(line).ok_or_else(|| format!("{}: '{line}'", path.display()))).collect()
}

impl Violation {
    fn parse(line: &str) -> Option<Violation> {
        let mut words = line.split_whitespace();
        let program = words.next()?.to_owned();
        let number = words.next()?.parse().ok()?;
        let kind = match words.next()? {
            "view" => Kind::View,
            "stale_value" => Kind::StaleValue,
            _ => return None,
        };
        let function = words.next()?.to_owned();
        let variables = words.next()?.split(',').map(str::to_owned).collect();
        // What happens is for the reader.
        words.next()?;
        let [first, second, other] = [const { Vec::new() }; 3];
        Some(Violation { program, number, kind, function, variables, first, second, other })
    }
}

fn marks(text: &str, number: usize, role: &str) -> Vec<Mark> {
    let mark = format!("/* violation {number}: {role} */");
    let marked = (1..).zip(text.lines()).filter(|(_, line)| line.contains(&mark));
    marked.map(|(line, code)| Mark { line, code: code.split("/*").next().unwrap_or("").to_owned() }).collect()
}
