//! Options of the monitor that mean something where no program runs.

use crate::cli::launch::flag;
use crate::options::{self, Row};
use clap::{ArgMatches, Args, FromArgMatches};

const MEANT: &[&str] = &[
    "report",
    "summary",
    "color",
    "exitcode",
    "suppressions",
    "print_suppressions",
    "specification",
    "show_weak",
    "paper",
    "strip_path_prefix",
];

/// Those that were given.
#[derive(Debug)]
pub struct Flags(Vec<(&'static str, String)>);

impl Flags {
    /// Names and values.
    pub fn settings(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }
}

fn rows() -> impl Iterator<Item = Row> {
    options::table().into_iter().filter(|row| MEANT.contains(&row.name))
}

impl Args for Flags {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.args(rows().map(|row| flag(&row)))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |row: Row| matches.get_one::<String>(row.name).map(|value| (row.name, value.clone()));
        Ok(Flags(rows().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
