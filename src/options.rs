//! One table for every option: the struct, the parser of `AVMON_OPTIONS`, its help and the manual come from it.
//!
//! The grammar is the sanitizers': `name=value` pairs separated by `:`, `,` or white space; a value may be quoted
//! with `'` or `"`. Names that sanitizers also have mean the same here.

use std::fmt::Write as _;

/// The environment variable that holds the options.
pub const VARIABLE: &str = "AVMON_OPTIONS";

/// When to use colour in the text report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Color {
    Auto,
    Always,
    Never,
}

/// A type that an option's value can have.
trait Value: Sized {
    /// What the help says that a value looks like.
    const FORM: &'static str;
    fn parse(text: &str) -> Option<Self>;
    fn show(&self) -> String;
}

impl Value for bool {
    const FORM: &'static str = "0 or 1";
    fn parse(text: &str) -> Option<bool> {
        match text {
            "0" | "no" | "false" => Some(false),
            "1" | "yes" | "true" => Some(true),
            _ => None,
        }
    }
    fn show(&self) -> String {
        u8::from(*self).to_string()
    }
}

impl Value for u32 {
    const FORM: &'static str = "a number";
    fn parse(text: &str) -> Option<u32> {
        text.parse().ok()
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for u8 {
    const FORM: &'static str = "a number from 0 to 255";
    fn parse(text: &str) -> Option<u8> {
        text.parse().ok()
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for String {
    const FORM: &'static str = "text";
    fn parse(text: &str) -> Option<String> {
        Some(text.to_owned())
    }
    fn show(&self) -> String {
        format!("{self:?}")
    }
}

impl Value for Color {
    const FORM: &'static str = "auto, always or never";
    fn parse(text: &str) -> Option<Color> {
        match text {
            "auto" => Some(Color::Auto),
            "always" => Some(Color::Always),
            "never" => Some(Color::Never),
            _ => None,
        }
    }
    fn show(&self) -> String {
        match self {
            Color::Auto => "auto",
            Color::Always => "always",
            Color::Never => "never",
        }
        .to_owned()
    }
}

/// One row of the table, for help and docs.
#[derive(Clone, Debug)]
pub struct Row {
    pub name: &'static str,
    pub form: &'static str,
    pub default: String,
    pub help: &'static str,
}

macro_rules! options {
    ($($name:ident: $type:ty = $default:expr, $help:literal;)*) => {
        /// The options of one run.
        #[allow(clippy::doc_markdown, reason = "the help is plain text")]
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct Options { $(#[doc = $help] pub $name: $type,)* }

        impl Default for Options {
            fn default() -> Options { Options { $($name: $default,)* } }
        }

        /// Every option, in the order in which the help shows them.
        #[must_use]
        pub fn table() -> Vec<Row> {
            let defaults = Options::default();
            vec![$(Row {
                name: stringify!($name), form: <$type as Value>::FORM,
                default: Value::show(&defaults.$name), help: $help,
            }),*]
        }

        impl Options {
            fn set(&mut self, name: &str, value: &str) -> Result<(), Problem> {
                match name {
                    $(stringify!($name) => {
                        self.$name = Value::parse(value).ok_or_else(|| Problem::BadValue {
                            name: stringify!($name), value: value.to_owned(), form: <$type as Value>::FORM,
                        })?;
                        Ok(())
                    })*
                    _ => Err(Problem::Unknown { name: name.to_owned(), nearest: nearest(name) }),
                }
            }
        }
    };
}

options! {
    help: bool = false, "Print this table when the program starts.";
    verbosity: u32 = 0, "1 also says when the monitor starts and stops; 2 adds what the pipeline did.";
    log_path: String = String::new(), "Write the violation log to this path plus the process id. Empty: to avmon.log.PID, and only once there is a finding.";
    report: bool = true, "Print each finding on stderr while the program runs.";
    summary: bool = true, "Print a summary on stderr at exit if there was a finding or a loss.";
    color: Color = Color::Auto, "Colour in the text report; auto means on a terminal, and honours NO_COLOR.";
    exitcode: u8 = 66, "Exit code of the program when something strong was found; 0 keeps the program's own.";
    halt_on_error: bool = false, "End the program at the first strong finding.";
    suppressions: String = String::new(), "File of suppressions, a type:template on each line.";
    print_suppressions: bool = true, "Print how often each suppression matched, at exit.";
    specification: String = String::new(), "File that says which functions are meant to be atomic: lines of atomic:template or nonatomic:template.";
    show_weak: bool = false, "Also print the weak findings: all that are not strong.";
    functions: bool = true, "Treat every instrumented function call as a transaction.";
    sections: bool = true, "Treat every outermost critical section as a transaction.";
    strict_waits: bool = false, "Keep waits for other threads inside the transaction instead of ending it there.";
    paper: bool = false, "Follow the papers to the letter: one record per lock, no corrections, no rules beyond theirs.";
    strip_path_prefix: String = String::new(), "Leave out this beginning of source paths.";
    symbolize: bool = true, "Turn addresses into function names and source lines.";
    debug_path: String = "/usr/lib/debug".to_owned(), "Directory of separate debug files.";
    follow_fork: bool = true, "Monitor forked children too, each with its own log.";
    follow_exec: bool = true, "Let programs started by this one be monitored too.";
    handle_signals: bool = true, "Report what is pending when a signal with its default action ends the program.";
    buffer_mb: u32 = 16, "Memory for events on their way to the analysis, in MiB.";
    lossy: bool = false, "When that memory is full, drop events and count them instead of making the program wait.";
    trace_path: String = String::new(), "Record what the program does below this directory, a trace for each process. 'avmon record' sets it.";
    trace_all: bool = false, "Record everything: own stacks, repetitions, excluded code.";
    trace_values: bool = false, "Record what plain accesses read and write too, and everything. For debugging; slow.";
    trace_exclude: String = String::new(), "File of code whose accesses are not recorded: a module:, file: or function: template on each line.";
    trace_size_mb: u32 = 0, "Stop recording when a trace reaches this size, in MiB; 0 means no limit.";
    trace_ring: bool = false, "At that size, give up the oldest part of the trace instead of stopping.";
    replay_schedule: String = String::new(), "Drive the program through this schedule. 'avmon replay' sets it.";
    replay_journal: String = String::new(), "Tell in this file how the program follows its schedule.";
    replay_step_timeout_ms: u32 = 1000, "How long all threads may wait for the one whose turn it is; 0 means for ever, until the violation has come.";
    replay_pin: String = String::new(), "What is the same in every steered run, and in a recorded one: time, random, pids, with a + between them.";
    chaos_seed: u32 = 0, "Let the threads take turns at random, in a way that this number stands for; 0 means not. 'avmon chaos' sets it.";
    chaos_changes: u32 = 3, "How often such a run takes its turn from the thread that should have it.";
    chaos_length: u32 = 1000, "In how many synchronisation steps these changes happen.";
    flush_timeout_ms: u32 = 5000, "How long the end of the program waits for the analysis when that does not get on.";
}

/// Something wrong in the options. The text says what to write instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    Unknown { name: String, nearest: Option<&'static str> },
    BadValue { name: &'static str, value: String, form: &'static str },
    NoValue { text: String },
    OpenQuote { text: String },
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Problem::Unknown { name, nearest: Some(nearest) } => {
                write!(f, "unknown option '{name}'; did you mean '{nearest}'?")
            }
            Problem::Unknown { name, nearest: None } => {
                write!(f, "unknown option '{name}'; {VARIABLE}=help=1 lists them all")
            }
            Problem::BadValue { name, value, form } => write!(f, "option '{name}' takes {form}, not '{value}'"),
            Problem::NoValue { text } => write!(f, "'{text}' has no value; write {text}=VALUE"),
            Problem::OpenQuote { text } => write!(f, "quote not closed in '{text}'"),
        }
    }
}

impl std::error::Error for Problem {}

impl Options {
    /// Parses the text of `AVMON_OPTIONS`. What is wrong is left at its default and told in the second part.
    #[must_use]
    pub fn parse(text: &str) -> (Options, Vec<Problem>) {
        let mut options = Options::default();
        let mut problems = Vec::new();
        for item in split(text) {
            let result = item.and_then(|(name, value)| options.set(&name, &value));
            problems.extend(result.err());
        }
        (options, problems)
    }

    /// The options of the environment.
    #[must_use]
    pub fn from_env() -> (Options, Vec<Problem>) {
        Options::parse(&std::env::var_os(VARIABLE).unwrap_or_default().to_string_lossy())
    }
}

/// The help text of all options.
#[must_use]
pub fn help() -> String {
    let mut text = format!("Options, as {VARIABLE}=\"name=value:name=value\":\n");
    for row in table() {
        let _ = writeln!(text, "  {}={}\n      {} ({})", row.name, row.default, row.help, row.form);
    }
    text
}

fn split(text: &str) -> Vec<Result<(String, String), Problem>> {
    let is_separator = |c: char| c == ':' || c == ',' || c.is_whitespace();
    let mut items = Vec::new();
    let mut rest = text.trim_start_matches(is_separator);
    while !rest.is_empty() {
        let name_end = rest.find(|c| c == '=' || is_separator(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(name_end);
        let Some(value) = after.strip_prefix('=') else {
            items.push(Err(Problem::NoValue { text: name.to_owned() }));
            rest = after.trim_start_matches(is_separator);
            continue;
        };
        let quote = value.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let (value, after) = if let Some(quote) = quote {
            if let Some(parts) = value[1..].split_once(quote) {
                parts
            } else {
                items.push(Err(Problem::OpenQuote { text: rest.to_owned() }));
                break;
            }
        } else {
            value.split_at(value.find(is_separator).unwrap_or(value.len()))
        };
        items.push(Ok((name.to_owned(), value.to_owned())));
        rest = after.trim_start_matches(is_separator);
    }
    items
}

fn nearest(name: &str) -> Option<&'static str> {
    closest(name, table().iter().map(|row| row.name))
}

/// The candidate that `name` was most likely meant to be, if any is near enough.
pub fn closest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let most = name.chars().count() / 3 + 1;
    candidates.map(|c| (edit_distance(name, c), c)).filter(|(d, _)| *d <= most).min().map(|(_, c)| c)
}

fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let change = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sanitizers_grammar_is_read() {
        let (options, problems) = Options::parse("log_path='/tmp/a b:c':exitcode=3 , halt_on_error=1");
        assert_eq!(problems, []);
        assert_eq!((options.log_path.as_str(), options.exitcode, options.halt_on_error), ("/tmp/a b:c", 3, true));
    }

    #[test]
    fn a_misspelt_name_is_told_with_the_nearest_one() {
        let (options, problems) = Options::parse("log_pth=x");
        assert_eq!(options, Options::default());
        assert_eq!(problems[0].to_string(), "unknown option 'log_pth'; did you mean 'log_path'?");
        let (_, problems) = Options::parse("zzzzzzzz=1");
        assert_eq!(problems[0].to_string(), "unknown option 'zzzzzzzz'; AVMON_OPTIONS=help=1 lists them all");
    }

    #[test]
    fn bad_values_and_bad_syntax_are_told() {
        let texts = |text: &str| Options::parse(text).1.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(texts("exitcode=900"), ["option 'exitcode' takes a number from 0 to 255, not '900'"]);
        assert_eq!(texts("color=pink"), ["option 'color' takes auto, always or never, not 'pink'"]);
        assert_eq!(texts("verbosity"), ["'verbosity' has no value; write verbosity=VALUE"]);
        assert_eq!(texts("log_path='x"), ["quote not closed in 'log_path='x'"]);
    }

    #[test]
    fn help_names_every_option_with_its_default() {
        let text = help();
        for row in table() {
            assert!(text.contains(&format!("  {}={}\n", row.name, row.default)), "{} is missing", row.name);
        }
    }
}
