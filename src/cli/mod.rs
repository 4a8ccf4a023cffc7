//! The `avmon` command, one file per subcommand.
