//! What the commands that run programs share: the checks before a program is started, and the start itself.

use super::exit::{ExitCode, Failure};
use super::flags::quoted;
use super::{environment, inherited, library, program, tell};
use crate::options::{self, Options};
use crate::report::rules::RulesError;
use crate::report::sink::LogFile;
use crate::report::specification::Specification;
use crate::report::suppressions::Suppressions;
use crate::trace::exclude::Exclusions;
use clap::{Arg, ArgMatches, Args, FromArgMatches};
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{self, Path, PathBuf};
use std::process::Command;

/// The loader's variable.
pub const PRELOAD: &str = "LD_PRELOAD";

/// A program that can be started with the monitor inside.
#[derive(Clone)]
pub struct Launch {
    words: Vec<OsString>,
    pub path: PathBuf,
    pub preload: OsString,
    pub options: String,
}

impl Launch {
    /// Checks everything that can be checked. `settings` win over what is in the environment, the later ones over the earlier.
    pub fn prepare<'a>(
        words: &[OsString],
        settings: impl Iterator<Item = (&'static str, &'a str)>,
    ) -> Result<Launch, Failure> {
        for warning in environment::warnings(environment::names()) {
            tell("warning", &warning);
        }
        let options = options_text(settings)?;
        let library = library::find()?;
        let preload = library::preload(&library, std::env::var_os(PRELOAD).as_deref())?;
        let name = words.first().expect("the parser asks for a program");
        let path = program::find(name)?;
        Ok(Launch { words: words.to_owned(), path, preload, options })
    }

    /// Sets one more option, whose value is known to be good. It wins over the others.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        self.options = format!("{}:{}", self.options, item(name, value).map_err(usage)?);
        Ok(())
    }

    /// The program with the monitor inside.
    pub fn command(&self) -> Command {
        let mut command = self.plain_command();
        command.env(PRELOAD, &self.preload).env(options::VARIABLE, &self.options);
        command
    }

    /// The program as it is.
    pub fn plain_command(&self) -> Command {
        let mut command = Command::new(&self.path);
        if let Some((name, arguments)) = self.words.split_first() {
            command.arg0(name).args(arguments);
        }
        // SAFETY: it only closes files and sets the action of a signal, which is allowed in a child just forked.
        unsafe { command.pre_exec(inherited::restore) };
        command
    }

    /// What the program is given.
    pub fn arguments(&self) -> &[OsString] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The command line, quoted for a shell.
    pub fn line(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|word| quoted(&word.to_string_lossy())).collect();
        words.join(" ")
    }

    /// What to say when the program does not start.
    pub fn failure(&self, error: &std::io::Error) -> Failure {
        Failure::new(ExitCode::CannotRun, format!("{} cannot be executed: {error}", self.path.display()))
    }
}

/// The text of `AVMON_OPTIONS` for the program: what is in the environment, overridden by the settings.
fn options_text<'a>(settings: impl Iterator<Item = (&'static str, &'a str)>) -> Result<String, Failure> {
    let (mut items, options) = options_after(vec![inherited_options()], settings)?;
    // Only now: a trace that is read later may have been moved, and this file with it.
    Exclusions::read(&options).map_err(broken)?;
    check_log(&options.log_path)?;
    for (name, file) in files(&options) {
        // The programs that this one starts may do so in another directory.
        let file = path::absolute(file).map_err(|error| Failure::internal(format!("{file}: {error}")))?;
        items.push(item(name, &file.to_string_lossy()).map_err(usage)?);
    }
    items.retain(|item| !item.is_empty());
    Ok(items.join(":"))
}

/// What `AVMON_OPTIONS` says.
pub fn inherited_options() -> String {
    std::env::var_os(options::VARIABLE).unwrap_or_default().to_string_lossy().into_owned()
}

/// The settings behind the items that are there, which they override, and what all of them say together.
pub fn options_after<'a>(
    mut items: Vec<String>,
    settings: impl Iterator<Item = (&'static str, &'a str)>,
) -> Result<(Vec<String>, Options), Failure> {
    for (name, value) in settings {
        items.push(item(name, value).map_err(usage)?);
    }
    let (options, problems) = Options::parse(&items.join(":"));
    if let Some(problem) = problems.first() {
        return Err(usage(format!("{}: {problem}", options::VARIABLE)));
    }
    check_rules(&options)?;
    Ok((items, options))
}

fn usage(text: String) -> Failure {
    Failure::new(ExitCode::Usage, text)
}

/// One item of `AVMON_OPTIONS`, quoted so that its value may hold separators.
fn item(name: &str, value: &str) -> Result<String, String> {
    match ['\'', '"'].into_iter().find(|quote| !value.contains(*quote)) {
        Some(quote) => Ok(format!("{name}={quote}{value}{quote}")),
        None => Err(format!("the value of '{name}' holds both kinds of quote, which {} cannot", options::VARIABLE)),
    }
}

/// The options that name a file.
fn files(options: &Options) -> impl Iterator<Item = (&'static str, &str)> {
    let all = [
        ("log_path", options.log_path.as_str()),
        ("suppressions", options.suppressions.as_str()),
        ("specification", options.specification.as_str()),
        ("trace_path", options.trace_path.as_str()),
        ("trace_exclude", options.trace_exclude.as_str()),
        ("replay_schedule", options.replay_schedule.as_str()),
        ("replay_journal", options.replay_journal.as_str()),
    ];
    all.into_iter().filter(|(_, file)| !file.is_empty())
}

/// Parses the suppressions and the specification: a broken file would leave the user without either.
fn check_rules(options: &Options) -> Result<(), Failure> {
    Suppressions::read(options).map_err(broken)?;
    Specification::read(options).map_err(broken)?;
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn broken(error: RulesError) -> Failure {
    Failure::internal(error.to_string())
}

/// Makes sure that the log can be written. The process keeps its id when it becomes the program.
fn check_log(log_path: &str) -> Result<(), Failure> {
    let log = LogFile::new(Path::new(""), log_path, std::process::id());
    if !log.is_asked_for() {
        return Ok(());
    }
    let path = log.path();
    let is_new = !path.exists();
    log.check_writable().map_err(|error| {
        let path = path.display();
        Failure::internal(format!("the log {path} cannot be written: {error}; choose another place with --log"))
    })?;
    if is_new {
        // Whether there is a log in the end is for the monitor to say.
        let _ = fs::remove_file(path);
    }
    Ok(())
}

/// Every option of the monitor that was given as a flag, in the order of the option table. With `RECORDS` those of recordings
/// are left out: the command has flags of its own for them.
#[derive(Debug)]
pub struct OptionFlags<const RECORDS: bool>(Vec<(&'static str, String)>);

impl<const RECORDS: bool> OptionFlags<RECORDS> {
    /// Names and values.
    pub fn settings(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }
}

/// The form by which the option table tells a yes-or-no option.
const SWITCH: &str = "0 or 1";

/// The flag of an option.
pub fn flag(row: &options::Row) -> Arg {
    let name = row.name;
    let flag = Arg::new(name)
        .long(name.replace('_', "-"))
        .help(format!("{} [{}; default: {}]", row.help.trim_end_matches('.'), row.form, row.default))
        .help_heading("Options of the monitor")
        .value_name("VALUE")
        .value_parser(move |value: &str| validated(name, value));
    // `--show-weak ./prog` must not eat the program, so a switch takes its value only after an equals sign.
    if row.form == SWITCH { flag.num_args(0..=1).require_equals(true).default_missing_value("1") } else { flag }
}

fn validated(name: &str, value: &str) -> Result<String, String> {
    let (_, problems) = Options::parse(&item(name, value)?);
    problems.first().map_or_else(|| Ok(value.to_owned()), |problem| Err(problem.to_string()))
}

/// The options that have a flag: `--help` is the command's own, and `avmon options` prints the table.
fn rows(records: bool) -> impl Iterator<Item = options::Row> {
    // What steers a run has commands of its own.
    let is_own = |name: &str| name == "help" || name.starts_with("replay_") || name.starts_with("chaos_");
    options::table().into_iter().filter(move |row| !(is_own(row.name) || records && row.name.starts_with("trace_")))
}

impl<const RECORDS: bool> Args for OptionFlags<RECORDS> {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.args(rows(RECORDS).map(|row| flag(&row)))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl<const RECORDS: bool> FromArgMatches for OptionFlags<RECORDS> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |row: options::Row| matches.get_one::<String>(row.name).map(|value| (row.name, value.clone()));
        Ok(OptionFlags(rows(RECORDS).filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
