//! How the command can end: one table for the code, the help and the manual.

use std::fmt::{self, Write as _};

macro_rules! exit_codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $help:literal;)*) => {
        /// The exit codes of `avmon` itself. Once `avmon run` or `avmon record` has started a program, the
        /// program's own status counts. Option `exitcode` can ask for any other.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct ExitCode(pub u8);

        #[expect(non_upper_case_globals, reason = "they are used like the variants of an enum")]
        impl ExitCode {
            $($(#[$doc])* pub const $name: ExitCode = ExitCode($code);)*

            /// Every code with its meaning, in ascending order.
            pub const TABLE: &'static [(ExitCode, &'static str)] = &[$((ExitCode::$name, $help)),*];
        }
    };
}

exit_codes! {
    Success = 0, "done; nothing was found";
    Usage = 2, "the command line or AVMON_OPTIONS is wrong";
    Findings = 66, "strong findings (option exitcode changes this)";
    NotReached = 67, "the schedule did not lead to its violation";
    Failed = 125, "avmon itself could not do its work: library, log, suppressions, ...";
    CannotRun = 126, "the program cannot be executed or cannot be monitored: static, setuid, 32-bit, ...";
    NotFound = 127, "the program was not found";
    Interrupted = 130, "interrupted; 'avmon confirm --resume' goes on where it was";
}

/// What `--help` says about exit codes.
#[must_use]
pub fn help() -> String {
    let mut text = String::from("Exit codes:\n");
    for (code, meaning) in ExitCode::TABLE {
        let _ = writeln!(text, "  {:>3}  {meaning}", code.0);
    }
    text.push_str("  Under 'avmon run' and 'avmon record' all others are the program's own; a shell shows 128+N for death by signal N.\n");
    text
}

/// Why a command could not do what was asked. The text says what to do next.
#[derive(Debug)]
pub struct Failure {
    pub code: ExitCode,
    pub text: String,
}

impl Failure {
    pub fn new(code: ExitCode, text: impl Into<String>) -> Failure {
        Failure { code, text: text.into() }
    }

    /// A failure of avmon's own, not of what the user asked for.
    pub fn internal(text: impl Into<String>) -> Failure {
        Failure::new(ExitCode::Failed, text)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_code_in_ascending_order() {
        let text = help();
        let codes: Vec<u8> = ExitCode::TABLE.iter().map(|(code, _)| code.0).collect();
        assert!(codes.is_sorted());
        for (code, meaning) in ExitCode::TABLE {
            assert!(text.contains(&format!("{:>3}  {meaning}\n", code.0)));
        }
    }
}
