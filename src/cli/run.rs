//! `avmon run`: checks everything that can be checked, then becomes the program with the monitor inside.

use super::exit::{ExitCode, Failure};
use super::{environment, inherited, library, program, tell};
use crate::options::{self, Options};
use crate::report::rules::RulesError;
use crate::report::sink::LogFile;
use crate::report::specification::Specification;
use crate::report::suppressions::Suppressions;
use clap::{Arg, ArgMatches, Args, FromArgMatches};
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{self, Path};

const EXAMPLES: &str = "\
Examples:
  avmon run -- ./server --port 8080
  avmon run -o /tmp/server -- ./server       write the log to /tmp/server.PID
  avmon run --show-weak -- ./test            also show weak findings
  avmon run --exitcode 0 -- make check       keep the exit codes of what is tested
  avmon run --suppressions known.txt -- ./server

Every option can also be set in AVMON_OPTIONS; a flag wins over it.";

/// Run a program under the monitor
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, override_usage = "avmon run [OPTIONS] [--] PROGRAM [ARGUMENT]...")]
pub struct Run {
    /// Write the violation log to PATH.PID; short for --log-path
    #[arg(short = 'o', long = "log", value_name = "PATH")]
    log: Option<String>,

    #[command(flatten)]
    flags: OptionFlags,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

impl Run {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        for warning in environment::warnings(environment::names()) {
            tell("warning", &warning);
        }
        let options = self.options()?;
        let library = library::find()?;
        let preload = library::preload(&library, std::env::var_os("LD_PRELOAD").as_deref())?;
        let (name, arguments) = self.program.split_first().expect("the parser asks for a program");
        let path = program::find(name)?;
        let mut command = std::process::Command::new(&path);
        command.arg0(name).args(arguments).env("LD_PRELOAD", preload).env(options::VARIABLE, options);
        // SAFETY: there is no fork, so the closure runs in this ordinary process.
        let error = unsafe { command.pre_exec(inherited::restore) }.exec();
        Err(Failure::new(ExitCode::CannotRun, format!("{} cannot be executed: {error}", path.display())))
    }

    /// The text of `AVMON_OPTIONS` for the program: what is in the environment, overridden by the flags.
    fn options(&self) -> Result<String, Failure> {
        let inherited = std::env::var_os(options::VARIABLE).unwrap_or_default().to_string_lossy().into_owned();
        let mut items = vec![inherited];
        let log = self.log.iter().map(|path| ("log_path", path));
        for (name, value) in self.flags.0.iter().map(|(name, value)| (*name, value)).chain(log) {
            items.push(item(name, value).map_err(usage)?);
        }
        let (options, problems) = Options::parse(&items.join(":"));
        if let Some(problem) = problems.first() {
            return Err(usage(format!("{}: {problem}", options::VARIABLE)));
        }
        check_rules(&options)?;
        check_log(&options.log_path)?;
        for (name, file) in files(&options) {
            // The programs that this one starts may do so in another directory.
            let file = path::absolute(file).map_err(|error| Failure::internal(format!("{file}: {error}")))?;
            items.push(item(name, &file.to_string_lossy()).map_err(usage)?);
        }
        items.retain(|item| !item.is_empty());
        Ok(items.join(":"))
    }
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
    ];
    all.into_iter().filter(|(_, file)| !file.is_empty())
}

/// Parses the suppressions and the specification: a broken file would leave the user without either.
fn check_rules(options: &Options) -> Result<(), Failure> {
    let broken = |error: RulesError| Failure::internal(error.to_string());
    Suppressions::read(options).map_err(broken)?;
    Specification::read(options).map_err(broken)?;
    Ok(())
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

/// Every option of the monitor that was given as a flag, in the order of the option table.
#[derive(Debug)]
struct OptionFlags(Vec<(&'static str, String)>);

/// The form by which the option table tells a yes-or-no option.
const SWITCH: &str = "0 or 1";

fn flag(row: &options::Row) -> Arg {
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
fn rows() -> impl Iterator<Item = options::Row> {
    options::table().into_iter().filter(|row| row.name != "help")
}

impl Args for OptionFlags {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.args(rows().map(|row| flag(&row)))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for OptionFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<OptionFlags, clap::Error> {
        let given = |row: options::Row| matches.get_one::<String>(row.name).map(|value| (row.name, value.clone()));
        Ok(OptionFlags(rows().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
