//! The `avmon` command, one file per subcommand.

pub mod compiler;
pub mod flags;
pub mod support;
