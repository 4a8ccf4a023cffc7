//! The environment variables that avmon reads.

use super::kept_ir;
use crate::options;

/// Where to find `libavmon.so`, if not beside the command.
pub const LIBRARY: &str = "AVMON_LIBRARY";

/// Every variable of avmon with its meaning.
pub const VARIABLES: &[(&str, &str)] = &[
    (options::VARIABLE, "options of the monitor, name=value:name=value; 'avmon options' lists them"),
    (LIBRARY, "the libavmon.so to use instead of the one beside the command or in ../lib"),
    ("AVMON_CC", "the compiler that 'avmon cc' calls, if not gcc"),
    ("AVMON_CXX", "the compiler that 'avmon c++' calls, if not g++ or the twin of AVMON_CC"),
    (kept_ir::VARIABLE, "'off' lets 'avmon cc' with clang keep no LLVM IR beside its objects"),
];

/// One warning for each variable that looks like ours but is not known.
pub fn warnings(names: impl Iterator<Item = String>) -> Vec<String> {
    let known = || VARIABLES.iter().map(|(name, _)| *name);
    names
        .filter(|name| name.starts_with("AVMON_") && !known().any(|known| known == name))
        .map(|name| match options::closest(&name, known()) {
            Some(nearest) => format!("unknown environment variable {name}; did you mean {nearest}?"),
            None => format!("unknown environment variable {name}; 'avmon --help' lists those that are known"),
        })
        .collect()
}

/// The names of all variables of this process that are valid text.
pub fn names() -> impl Iterator<Item = String> {
    std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unknown_variables_of_ours_are_told() {
        let names = ["PATH", "AVMON_OPTIONS", "AVMON_OPTOINS", "AVMON_XYZZY_PLUGH"];
        let warnings = warnings(names.iter().map(ToString::to_string));
        assert_eq!(
            warnings,
            [
                "unknown environment variable AVMON_OPTOINS; did you mean AVMON_OPTIONS?",
                "unknown environment variable AVMON_XYZZY_PLUGH; 'avmon --help' lists those that are known",
            ]
        );
    }
}
