//! What the source says that an allocation makes: the operands of `sizeof` and of `new`.
//!
//! This is read as text, and only what is plain is understood. Who asks must see whether debug information knows the type, and whether it fits.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::time::SystemTime;

/// Lines of a statement that are looked at.
const MOST_LINES: usize = 6;
const LONGEST_LINE: usize = 1000;

/// The statement that begins or goes on at a line of a file that was not changed after its code was made.
#[must_use]
pub fn statement(file: &Path, line: u32, made: SystemTime) -> Option<String> {
    let about = std::fs::metadata(file).ok()?;
    if !about.is_file() || about.modified().ok()? > made {
        return None;
    }
    let lines = BufReader::new(File::open(file).ok()?).lines().skip(line.checked_sub(1)? as usize);
    let mut text = String::new();
    for line in lines.take(MOST_LINES) {
        let line = line.ok().filter(|line| line.len() <= LONGEST_LINE)?;
        text.push_str(line.split("//").next().unwrap_or(&line));
        text.push(' ');
        if text.contains(';') {
            break;
        }
    }
    Some(text)
}

/// A type, or an object whose type is meant: `*list->head` has one star, the variable `list` and the member `head`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operand {
    /// How many pointers are followed in the end.
    pub stars: usize,
    /// A type or a variable, without its scope.
    pub name: String,
    pub members: Vec<String>,
    /// Whether `new` makes an array of it.
    pub is_array: bool,
}

/// What a statement says that it allocates, maybe by a call of some function. Nothing if there is something that is not understood.
#[must_use]
pub fn made(statement: &str, called: Option<&str>) -> Option<Vec<Operand>> {
    let mut made = Vec::new();
    for (word, rest) in words(statement).map(|(at, word)| (word, statement[at + word.len()..].trim_start())) {
        if let Some(arguments) = arguments(word, rest, called) {
            made.extend(sizes(arguments)?);
        } else if word == "new" {
            made.push(of_new(rest)?);
        }
    }
    Some(made)
}

/// The names in what a statement gives to functions that allocate.
#[must_use]
pub fn asked_for<'s>(statement: &'s str, called: Option<&str>) -> Vec<&'s str> {
    let calls = words(statement).map(|(at, word)| (word, statement[at + word.len()..].trim_start()));
    let arguments = calls.filter_map(|(word, rest)| arguments(word, rest, called));
    arguments.flat_map(|arguments| words(arguments).map(|(_, word)| word)).collect()
}

/// What is inside of the parentheses behind a word, if that is a function that allocates: the one that was called, if that is known.
fn arguments<'s>(word: &str, rest: &'s str, called: Option<&str>) -> Option<&'s str> {
    let allocates = called.map_or_else(|| is_allocator(word), |called| called == word);
    rest.strip_prefix('(').filter(|_| allocates).and_then(inside)
}

/// Words, and where they are.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        at += text[at..].find(is_part)?;
        let length = text[at..].find(|character| !is_part(character)).unwrap_or(text.len() - at);
        let word = &text[at..at + length];
        at += length;
        Some((at - length, word))
    })
}

fn is_allocator(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    ["alloc", "memalign", "operator_new"].iter().any(|part| word.contains(part))
}

/// What is inside of a parenthesis that was just opened.
fn inside(text: &str) -> Option<&str> {
    let mut depth = 1;
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&text[..at]);
        }
    }
    None
}

/// The operands of `sizeof`. What is added up is more than an array of one type.
fn sizes(arguments: &str) -> Option<Vec<Operand>> {
    if arguments.contains('+') || arguments.replace("->", "").contains('-') {
        return Some(Vec::new());
    }
    let sizes = words(arguments).filter(|(_, word)| *word == "sizeof");
    sizes
        .map(|(at, word)| {
            let rest = arguments[at + word.len()..].trim_start();
            if let Some(rest) = rest.strip_prefix('(') {
                operand(inside(rest)?)
            } else {
                let object = rest.trim_start_matches(['*', ' ']);
                let end = object.find([',', ')', '/', '%', '*']).unwrap_or(object.len());
                operand(&rest[..rest.len() - object.len() + end])
            }
        })
        .collect()
}

/// The type behind `new`: up to its arguments or the number of elements.
fn of_new(rest: &str) -> Option<Operand> {
    let rest = rest.strip_prefix("(std::nothrow)").unwrap_or(rest).trim_start();
    // Where to make it may be told first: then it is no allocation.
    if rest.starts_with('(') {
        return None;
    }
    let end = rest.find(['(', '{', '[', ';', ',', ')']).unwrap_or(rest.len());
    let is_array = rest[end..].starts_with('[');
    let made = operand(&rest[..end]).filter(|operand| operand.stars == 0 && operand.members.is_empty());
    made.map(|operand| Operand { is_array, ..operand })
}

fn operand(text: &str) -> Option<Operand> {
    let mut text = text.trim();
    let mut stars = 0;
    loop {
        if let Some(rest) = text.strip_prefix('*') {
            stars += 1;
            text = rest.trim_start();
        } else if let Some(rest) =
            ["struct ", "class ", "const ", "typename "].iter().find_map(|word| text.strip_prefix(word))
        {
            text = rest.trim_start();
        } else {
            break;
        }
    }
    if let Some(first) = text.strip_suffix("[0]") {
        stars += 1;
        text = first;
    }
    let mut parts = text.split("->").flat_map(|part| part.split('.'));
    let name = parts.next()?.rsplit("::").next()?.trim();
    let members: Vec<String> = parts.map(|part| part.trim().to_owned()).collect();
    let is_name =
        |text: &str| words(text).next() == Some((0, text)) && !text.starts_with(|first: char| first.is_ascii_digit());
    (is_name(name) && members.iter().all(|member| is_name(member))).then(|| Operand {
        stars,
        name: name.to_owned(),
        members,
        is_array: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(statement: &str) -> Option<Vec<String>> {
        let text = |operand: Operand| {
            let path = [std::slice::from_ref(&operand.name), &operand.members].concat().join(".");
            "*".repeat(operand.stars) + &path + if operand.is_array { "[]" } else { "" }
        };
        Some(made(statement, None)?.into_iter().map(text).collect())
    }

    #[test]
    fn operands_of_sizeof_and_new() {
        for (statement, types) in [
            ("p = malloc(sizeof *p);", "*p"),
            ("o->next = malloc(sizeof(struct node));", "node"),
            ("return calloc(n, sizeof(*list->head.first));", "*list.head.first"),
            ("q = (node_t *)malloc(n * sizeof(node_t)); r = sizeof(int);", "node_t"),
            ("all = xmalloc(sizeof all[0] * 5);", "*all"),
            ("b = new bank::Account(1, sizeof(int));", "Account"),
            ("b = new (std::nothrow) Account;", "Account"),
            ("b = new (place) Account;", "?"),
            ("b = new Account[10];", "Account[]"),
            ("b = new Account{};", "Account"),
            ("b = new std::pair<int, int>();", "?"),
            ("return static_cast<_Tp*>(_GLIBCXX_OPERATOR_NEW(__n * sizeof(_Tp)));", "_Tp"),
            ("return unique_ptr<_Tp>(new _Tp(std::forward<_Args>(__args)...));", "_Tp"),
            ("p = malloc(sizeof(struct head) + n * sizeof(struct item));", ""),
            ("p = malloc(n); use(sizeof(struct item));", ""),
            ("p = malloc(sizeof(*(struct item *)0));", "?"),
            ("p = malloc(sizeof(int[4]));", "?"),
            ("p = malloc(sizeof(", ""),
            ("renew(p);", ""),
        ] {
            let told = told(statement).map_or("?".to_owned(), |told| told.join(" "));
            assert_eq!(told, types, "{statement}");
        }
    }

    #[test]
    fn the_function_that_was_called_allocates_whatever_its_name_is() {
        let statement = "p = get(n * sizeof *p); q = malloc(size);";
        let made = |called| made(statement, called).unwrap().len();
        assert_eq!([made(None), made(Some("get")), made(Some("other"))], [0, 1, 0]);
        assert_eq!(asked_for(statement, None), ["size"]);
        assert_eq!(asked_for(statement, Some("get")), ["n", "sizeof", "p"]);
    }

    #[test]
    fn a_statement_may_go_on_but_must_not_be_newer_than_its_code() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "first;\np = malloc( // why\n  sizeof *p);\nlast;\n").unwrap();
        let now = file.as_file().metadata().unwrap().modified().unwrap();
        assert_eq!(statement(file.path(), 2, now).as_deref(), Some("p = malloc(    sizeof *p); "));
        assert_eq!(statement(file.path(), 1, now).as_deref(), Some("first; "));
        assert_eq!(statement(file.path(), 9, now).as_deref(), Some(""));
        assert_eq!(statement(file.path(), 0, now), None);
        assert_eq!(statement(file.path(), 2, now - std::time::Duration::from_secs(1)), None);
        assert_eq!(statement(Path::new("/dev/null"), 1, now), None);
    }
}
