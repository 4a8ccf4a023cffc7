//! Files of `type:template` lines: how they are read, and errors that say where and what to write instead.

use std::path::Path;

use crate::options::closest;
use crate::report::template::Template;

/// One line of such a file: the index of its type in the table of types, and the template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    pub kind: usize,
    pub template: Template,
}

/// Why a file of rules cannot be used.
#[derive(Debug)]
pub enum RulesError {
    /// The file cannot be read.
    Unreadable { option: &'static str, path: String, error: std::io::Error },
    /// A line is wrong. Line and column count from 1.
    Line { path: String, line: usize, column: usize, message: String },
}

impl std::fmt::Display for RulesError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RulesError::Unreadable { option, path, error } => {
                write!(f, "cannot read '{path}': {error}; check the option {option}=")
            }
            RulesError::Line { path, line, column, message } => write!(f, "{path}:{line}:{column}: {message}"),
        }
    }
}

impl std::error::Error for RulesError {}

/// Reads the file that `option` names, whose lines have one of the types of `kinds`. No path: no rules.
pub fn read(option: &'static str, path: &str, kinds: &[&str]) -> Result<Vec<Rule>, RulesError> {
    if path.is_empty() {
        return Ok(Vec::new());
    }
    let bytes = std::fs::read(Path::new(path)).map_err(|error| RulesError::Unreadable {
        option,
        path: path.to_owned(),
        error,
    })?;
    parse(path, &String::from_utf8_lossy(&bytes), kinds)
}

/// Parses the text of such a file; `path` is for the errors.
pub fn parse(path: &str, text: &str, kinds: &[&str]) -> Result<Vec<Rule>, RulesError> {
    let mut rules = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let rule = parse_line(line, kinds).map_err(|(column, message)| RulesError::Line {
            path: path.to_owned(),
            line: index + 1,
            column,
            message,
        })?;
        rules.push(rule);
    }
    Ok(rules)
}

fn parse_line(line: &str, kinds: &[&str]) -> Result<Rule, (usize, String)> {
    let column_of = |part: &str| {
        let before = part.as_ptr() as usize - line.as_ptr() as usize;
        line[..before].chars().count() + 1
    };
    let body = line.trim();
    let Some((kind, template)) = body.split_once(':') else {
        return Err((
            column_of(body),
            format!("no ':' in '{body}'; write TYPE:TEMPLATE, the type being {}", kinds.join(" or ")),
        ));
    };
    let Some(index) = kinds.iter().position(|k| *k == kind.trim_end()) else {
        let advice = match closest(kind, kinds.iter().copied()) {
            Some(nearest) => format!("did you mean '{nearest}'?"),
            None => format!("write {}", kinds.join(" or ")),
        };
        return Err((column_of(body), format!("unknown type '{kind}'; {advice}")));
    };
    let template = template.trim_start();
    match Template::parse(template) {
        Ok(template) => Ok(Rule { kind: index, template }),
        Err(error) => Err((column_of(template) + error.column - 1, error.message.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: &[&str] = &["atomic", "nonatomic"];

    fn error(text: &str) -> String {
        parse("spec.txt", text, KINDS).unwrap_err().to_string()
    }

    #[test]
    fn comments_blank_lines_and_spaces_are_skipped() {
        let rules = parse("f", "# about\n\n  atomic: push$  \r\n\t# more\nnonatomic:^main$\n", KINDS).unwrap();
        let seen: Vec<_> = rules.iter().map(|r| (r.kind, r.template.as_str())).collect();
        assert_eq!(seen, [(0, "push$"), (1, "^main$")]);
    }

    #[test]
    fn a_template_may_hold_colons() {
        assert_eq!(parse("f", "atomic:Log::add", KINDS).unwrap()[0].template.as_str(), "Log::add");
    }

    #[test]
    fn errors_name_line_and_column_and_what_to_write() {
        assert_eq!(error("# x\natomc:f"), "spec.txt:2:1: unknown type 'atomc'; did you mean 'atomic'?");
        assert_eq!(error("  race:f"), "spec.txt:1:3: unknown type 'race'; write atomic or nonatomic");
        assert_eq!(
            error("push"),
            "spec.txt:1:1: no ':' in 'push'; write TYPE:TEMPLATE, the type being atomic or nonatomic"
        );
        assert_eq!(error("atomic:"), "spec.txt:1:8: empty template; write part of a name");
        assert_eq!(error("atomic: a$b"), "spec.txt:1:10: text after '$', which stands for the end of the name");
    }

    #[test]
    fn an_unreadable_file_names_its_option() {
        let error = read("specification", "/nonexistent/spec", KINDS).unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot read '/nonexistent/spec': No such file or directory (os error 2); check the option specification="
        );
        assert_eq!(read("specification", "", KINDS).unwrap(), []);
    }
}
