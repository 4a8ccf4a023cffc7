//! Which findings the user does not want to see: lines of `type:template`, as for the sanitizers.

use crate::options::Options;
use crate::report::finding::{Finding, Frame};
use crate::report::rules::{self, Rule, RulesError};

/// The types: name, and what their template is matched against.
pub const TYPES: &[(&str, &str)] = &[
    ("atomicity", "function, file or module of any frame of the acquires or accesses, and the block"),
    ("atomicity_top", "function, label, file or module of the block itself"),
    ("called_from_lib", "module of any frame of the acquires or accesses"),
    ("lock", "name of the lock, or function, file or module that initialised it"),
    ("variable", "name of a variable that is accessed, or function, file or module that allocated it"),
];
const KINDS: [&str; 5] = [TYPES[ANY_FRAME].0, TYPES[BLOCK].0, TYPES[MODULE].0, TYPES[LOCK].0, TYPES[VARIABLE].0];
const ANY_FRAME: usize = 0;
const BLOCK: usize = 1;
const MODULE: usize = 2;
const LOCK: usize = 3;
const VARIABLE: usize = 4;

/// A suppression and how often it matched.
#[derive(Debug)]
struct Suppression {
    rule: Rule,
    hits: u64,
}

/// The user's suppressions.
#[derive(Default, Debug)]
pub struct Suppressions {
    list: Vec<Suppression>,
}

impl Suppressions {
    /// Reads the file that the options name, if any.
    pub fn read(options: &Options) -> Result<Suppressions, RulesError> {
        Ok(Suppressions::new(rules::read("suppressions", &options.suppressions, &KINDS)?))
    }

    /// Parses the text of such a file; `path` is for the errors.
    pub fn parse(path: &str, text: &str) -> Result<Suppressions, RulesError> {
        Ok(Suppressions::new(rules::parse(path, text, &KINDS)?))
    }

    fn new(rules: Vec<Rule>) -> Suppressions {
        Suppressions { list: rules.into_iter().map(|rule| Suppression { rule, hits: 0 }).collect() }
    }

    /// The first suppression that fits, by its number. Hits are counted by [`Suppressions::hit`].
    #[must_use]
    pub fn find(&self, finding: &Finding) -> Option<usize> {
        self.list.iter().position(|suppression| fits(&suppression.rule, finding))
    }

    /// Counts `times` more matches of a suppression.
    pub fn hit(&mut self, index: usize, times: u64) {
        self.list[index].hits += times;
    }

    /// The lines that matched, with their counts, in the order of the file.
    pub fn used(&self) -> impl Iterator<Item = (u64, String)> + '_ {
        let line = |s: &Suppression| (s.hits, format!("{}:{}", KINDS[s.rule.kind], s.rule.template.as_str()));
        self.list.iter().filter(|s| s.hits > 0).map(line)
    }
}

fn fits(rule: &Rule, finding: &Finding) -> bool {
    let matches = |text: &str| rule.template.matches(text);
    let matches_any = |frame: &Frame| {
        let known = [&frame.function, &frame.file].into_iter().flatten();
        known.into_iter().any(|text| matches(text)) || matches(&frame.module)
    };
    let is_block = || matches(&finding.block.name) || matches_any(&finding.block.begin);
    let mut frames = finding.operations().flat_map(|operation| &operation.stack);
    let is_named = |name: &Option<String>| name.as_deref().is_some_and(matches);
    match rule.kind {
        ANY_FRAME => is_block() || frames.any(matches_any),
        BLOCK => is_block(),
        MODULE => frames.any(|frame| matches(&frame.module)),
        LOCK => finding.lock.iter().any(|lock| is_named(&lock.name) || lock.initialised_at.iter().any(matches_any)),
        _ => finding.variables.iter().any(|variable| {
            let allocated_at = variable.allocation.iter().flat_map(|allocation| &allocation.allocated_at);
            is_named(&variable.name) || allocated_at.into_iter().any(matches_any)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::finding::samples;

    fn hides(line: &str) -> bool {
        Suppressions::parse("supp", line).unwrap().find(&samples::append()).is_some()
    }

    #[test]
    fn atomicity_looks_at_every_frame() {
        for line in
            ["atomicity:^append$", "atomicity:^update$", "atomicity:b.c$", "atomicity:^worker$", "atomicity:/prog"]
        {
            assert!(hides(line), "{line}");
        }
        assert!(!hides("atomicity:other"));
    }

    #[test]
    fn atomicity_top_looks_at_the_block_only() {
        assert!(hides("atomicity_top:^append$"));
        assert!(hides("atomicity_top:a.c"));
        assert!(!hides("atomicity_top:^update$"));
        assert!(!hides("atomicity_top:^worker$"));
    }

    #[test]
    fn called_from_lib_looks_at_modules_only() {
        assert!(hides("called_from_lib:libb.so"));
        assert!(hides("called_from_lib:prog$"));
        assert!(!hides("called_from_lib:append"));
    }

    #[test]
    fn lock_looks_at_the_lock_only() {
        let mut finding = samples::append();
        let lock = finding.lock.as_mut().unwrap();
        lock.name = Some("log_mutex".into());
        lock.initialised_at = vec![samples::frame("log_open", "log.c", 3, "/bin/prog", 0x10)];
        let hides = |line: &str| Suppressions::parse("supp", line).unwrap().find(&finding).is_some();
        assert!(hides("lock:^log_mutex$"));
        assert!(hides("lock:^log_open$"));
        assert!(hides("lock:log.c$"));
        assert!(!hides("lock:append"));
    }

    #[test]
    fn variable_looks_at_names_and_allocations() {
        let hides = |line: &str| Suppressions::parse("supp", line).unwrap().find(&samples::pair()).is_some();
        assert!(hides("variable:^total$"));
        assert!(hides("variable:^make$"));
        assert!(!hides("variable:show"));
        assert!(!hides("lock:*"), "there is none");
        assert!(hides("atomicity:b.c$"));
    }

    #[test]
    fn the_line_that_a_report_offers_hides_it() {
        assert!(hides(&samples::append().suppression));
    }

    #[test]
    fn hits_are_counted_and_told_with_their_line() {
        let mut suppressions = Suppressions::parse("supp", "atomicity:zzz\natomicity_top: append\n").unwrap();
        let index = suppressions.find(&samples::append()).unwrap();
        assert_eq!(suppressions.used().count(), 0);
        suppressions.hit(index, 1);
        suppressions.hit(index, 2);
        assert_eq!(suppressions.used().collect::<Vec<_>>(), [(3, "atomicity_top:append".to_owned())]);
    }

    #[test]
    fn a_misspelt_type_is_an_error_with_its_place() {
        let error = Suppressions::parse("supp.txt", "# mine\n  atomicty:f\n").unwrap_err();
        assert_eq!(error.to_string(), "supp.txt:2:3: unknown type 'atomicty'; did you mean 'atomicity'?");
    }
}
