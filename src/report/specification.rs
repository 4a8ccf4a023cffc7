//! Which blocks are meant to be atomic: lines of `atomic:template` and `nonatomic:template`.
//!
//! Without any `atomic` line every function and block is a transaction; with one, only those that match one are.
//! `nonatomic` takes away. Templates are matched against the names of functions and the labels of marked blocks.

use rustc_hash::FxHashMap;

use crate::analysis::Transaction;
use crate::options::Options;
use crate::report::rules::{self, RulesError};
use crate::report::template::Template;

const KINDS: &[&str] = &["atomic", "nonatomic"];
const ATOMIC: usize = 0;

/// The user's word on what is a transaction.
#[derive(Default, Debug)]
pub struct Specification {
    atomic: Vec<Template>,
    nonatomic: Vec<Template>,
    /// By code address, since names are slow to find.
    decided: FxHashMap<u64, bool>,
}

impl Specification {
    /// Reads the file that the options name, if any.
    pub fn read(options: &Options) -> Result<Specification, RulesError> {
        Ok(Specification::new(rules::read("specification", &options.specification, KINDS)?))
    }

    /// Parses the text of such a file; `path` is for the errors.
    pub fn parse(path: &str, text: &str) -> Result<Specification, RulesError> {
        Ok(Specification::new(rules::parse(path, text, KINDS)?))
    }

    fn new(rules: Vec<rules::Rule>) -> Specification {
        let (atomic, nonatomic): (Vec<_>, Vec<_>) = rules.into_iter().partition(|rule| rule.kind == ATOMIC);
        let templates = |rules: Vec<rules::Rule>| rules.into_iter().map(|rule| rule.template).collect();
        Specification { atomic: templates(atomic), nonatomic: templates(nonatomic), decided: FxHashMap::default() }
    }

    /// Whether this transaction is meant to be atomic. `name` finds its function's name or its label.
    pub fn allows(&mut self, transaction: &Transaction, name: impl FnOnce() -> String) -> bool {
        if self.atomic.is_empty() && self.nonatomic.is_empty() {
            return true;
        }
        let address = match *transaction {
            Transaction::Function { inside, .. } => inside,
            Transaction::Block { pc, .. } | Transaction::Section { pc, .. } => pc,
        };
        let Specification { atomic, nonatomic, decided } = self;
        *decided.entry(address).or_insert_with(|| {
            let name = name();
            is_allowed(atomic, nonatomic, &name)
        })
    }

    /// Whether a function of this name is meant to be atomic.
    #[must_use]
    pub fn allows_named(&self, name: &str) -> bool {
        is_allowed(&self.atomic, &self.nonatomic, name)
    }

    /// The transaction that is blamed when these are split, outermost first: the innermost one that is meant to be
    /// atomic, by its index.
    pub fn blame(&mut self, common: &[Transaction], name: &mut dyn FnMut(&Transaction) -> String) -> Option<usize> {
        if common.last().is_some_and(|innermost| is_retry_loop(&name(innermost))) {
            return None;
        }
        common.iter().rposition(|transaction| self.allows(transaction, || name(transaction)))
    }
}

fn is_allowed(atomic: &[Template], nonatomic: &[Template], name: &str) -> bool {
    let among = |templates: &[Template]| templates.iter().any(|template| template.matches(name));
    (atomic.is_empty() || among(atomic)) && !among(nonatomic)
}

/// Functions of the C++ library that try several locks and give them back until they get all. Nothing is done
/// between the tries.
const RETRY_LOOPS: [&str; 7] = [
    "std::lock",
    "std::try_lock",
    "std::__detail::__lock_impl",
    "std::__detail::__try_lock_impl",
    "std::__1::lock",
    "std::__1::try_lock",
    "std::__1::__lock_first",
];

fn is_retry_loop(function: &str) -> bool {
    // A template's name comes with its result type before it, and its arguments after it.
    let head = function.split(['<', '(']).next().unwrap_or_default();
    head.rsplit(' ').next().is_some_and(|name| RETRY_LOOPS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blamed(specification: &str, names: &[&'static str]) -> Option<&'static str> {
        let mut specification = Specification::parse("spec", specification).unwrap();
        let mut name = |transaction: &Transaction| match transaction {
            Transaction::Function { inside, .. } => names[*inside as usize].to_owned(),
            _ => unreachable!(),
        };
        // Names are found by address.
        let common: Vec<_> =
            (0..names.len() as u64).map(|i| Transaction::Function { inside: i, call: 100 + i }).collect();
        specification.blame(&common, &mut name).map(|index| names[index])
    }

    #[test]
    fn without_a_specification_the_innermost_is_blamed() {
        assert_eq!(blamed("", &["main", "outer", "inner"]), Some("inner"));
        assert_eq!(blamed("", &[]), None);
    }

    #[test]
    fn the_tries_of_std_lock_are_nobodys_block() {
        let lock = "void std::lock<std::mutex, std::mutex>(std::mutex&, std::mutex&)";
        assert_eq!(blamed("", &["main", "swap", lock]), None);
        assert_eq!(
            blamed("", &["main", "std::lock_guard<std::mutex>::lock_guard"]),
            Some("std::lock_guard<std::mutex>::lock_guard")
        );
    }

    #[test]
    fn nonatomic_moves_the_blame_outwards() {
        assert_eq!(blamed("nonatomic:^inner$", &["main", "outer", "inner"]), Some("outer"));
        assert_eq!(blamed("nonatomic:*", &["main", "outer"]), None);
    }

    #[test]
    fn one_atomic_line_excludes_everything_else() {
        assert_eq!(blamed("atomic:^outer$", &["main", "outer", "inner"]), Some("outer"));
        assert_eq!(blamed("atomic:r\nnonatomic:inner", &["main", "outer", "inner"]), Some("outer"));
        assert_eq!(blamed("atomic:push", &["main", "outer"]), None);
    }

    #[test]
    fn a_name_is_asked_for_once() {
        let mut specification = Specification::parse("spec", "atomic:f").unwrap();
        let transaction = Transaction::Section { lock: 1, pc: 2 };
        assert!(specification.allows(&transaction, || "f".into()));
        assert!(specification.allows(&transaction, || unreachable!("it is cached")));
    }

    #[test]
    fn errors_point_into_the_file() {
        let error = Specification::parse("spec.txt", "atomic:f\nnonatomc:g\n").unwrap_err();
        assert_eq!(error.to_string(), "spec.txt:2:1: unknown type 'nonatomc'; did you mean 'nonatomic'?");
    }
}
