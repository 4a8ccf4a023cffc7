//! `avmon scenario build`: a scenario as a real program.

use super::Source;
use super::order::OrderFlags;
use crate::cli::compiler::{Call, Language};
use crate::cli::exit::{ExitCode, Failure};
use crate::cli::flags::quoted;
use crate::scenario::c;
use crate::scenario::machine::{Effect, Machine, Misuse};
use crate::scenario::program::{Place, Program};
use crate::scenario::run::Run;
use crate::scenario::wakings;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const EXAMPLES: &str = "\
Examples:
  avmon scenario build cases/bank.scn                makes ./bank, which runs in the written order
  avmon scenario build bank.scn --order 't1*3 t2'    in this order, and as written after it
  avmon scenario build bank.scn --seed 7 -o try      in an order that looks random
  avmon scenario build bank.scn -o bank.c            the C text only
  avmon run -- ./bank                                what the monitor finds in it

The program:
  ./bank         keeps the order
  ./bank free    lets the threads run as they like
  ./bank values  prints the variables at the end";

fn help() -> String {
    let mut text = format!("{EXAMPLES}\n\nIts exit status:\n");
    for (status, (_, meaning)) in c::STATUSES.iter().enumerate() {
        let _ = writeln!(text, "  {status}  {meaning}");
    }
    text
}

/// Make a scenario a C program with real threads that keeps its order
#[derive(clap::Args, Debug)]
#[command(after_help = help())]
pub struct Build {
    /// The program to make, or with a name that ends in .c its text only; if not said, the scenario's name without its end, in the
    /// current directory
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: Option<PathBuf>,

    /// The compiler to call, as 'avmon cc --avmon-compiler' takes it
    #[arg(long, value_name = "NAME")]
    compiler: Option<String>,

    #[command(flatten)]
    order: OrderFlags,

    /// The scenario
    #[arg(value_name = "FILE")]
    scenario: PathBuf,
}

impl Build {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let source = Source::read(&self.scenario)?;
        let output = self.output()?;
        let program = Program::new(&source.scenario);
        let machine = Machine::new(&program);
        let run = self.order.run(&source, &machine)?;
        check(&source, &machine, &run)?;
        let text = c::text_of(&source.scenario, &machine, &run, &source.path);
        let told = if is_text(&output) {
            let written = std::fs::write(&output, text);
            written.map_err(|error| Failure::internal(format!("{} cannot be written: {error}", output.display())))?;
            format!("compile it with:\n  avmon cc -O1 -pthread {} -o PROGRAM\n", quoted(&output.to_string_lossy()))
        } else {
            self.compile(&text, &output)?;
            let program = as_command(&output);
            format!("run it with:\n  avmon run -- {program}\nor without its order:\n  {program} free\n")
        };
        let told = format!("{}: {told}", output.display());
        crate::cli::print((told + &ending(&source, &machine, &run)).as_bytes())
    }

    fn output(&self) -> Result<PathBuf, Failure> {
        let refuse = |text: String| Err(Failure::new(ExitCode::Usage, text));
        let own = &self.scenario;
        let output = match (&self.output, own.extension(), own.file_stem()) {
            (Some(output), ..) => output.clone(),
            (None, Some(_), Some(stem)) => PathBuf::from(stem),
            _ => {
                return refuse(format!(
                    "{} has no end that could be left out; name the program with -o",
                    own.display()
                ));
            }
        };
        if is_same(&output, own) {
            return refuse(format!(
                "{} is the scenario itself, which would be lost; name another file with -o",
                output.display()
            ));
        }
        Ok(output)
    }

    fn compile(&self, text: &str, output: &Path) -> Result<(), Failure> {
        let mut arguments: Vec<OsString> = ["-O1", "-pthread", "-x", "c", "-", "-o"].map(OsString::from).into();
        arguments.push(output.into());
        let mut call = Call::new(Language::C, self.compiler.as_deref(), arguments).map_err(Failure::internal)?;
        let started = call.command.stdin(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| Failure::internal(call.not_started(&error)))?;
        if let Some(mut input) = child.stdin.take() {
            // A compiler that does not read to the end says why itself.
            let _ = input.write_all(text.as_bytes());
        }
        match child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Failure::internal(format!("the compiler failed: {status}"))),
            Err(error) => Err(Failure::internal(format!("the compiler cannot be waited for: {error}"))),
        }
    }
}

fn is_text(output: &Path) -> bool {
    output.extension().is_some_and(|extension| extension == "c")
}

/// Whether both are one file, by whatever names.
fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path| std::fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

/// How a shell is told to run the file.
fn as_command(program: &Path) -> String {
    let has_directory = program.parent().is_some_and(|parent| parent != Path::new(""));
    let path = if has_directory { program.into() } else { Path::new(".").join(program) };
    quoted(&path.to_string_lossy())
}

/// Refuses what a real program must not do, and what real threads cannot.
fn check(source: &Source, machine: &Machine<'_>, run: &Run) -> Result<(), Failure> {
    let refuse = |place: Place, text: &str| {
        let at = source.place(machine.program.at(place).at);
        Err(Failure::internal(format!("{at}: {text}")))
    };
    for taken in &run.log {
        let Effect::Stopped(misuse) = taken.effect else { continue };
        let text = match misuse {
            Misuse::NotHeld => "in this order the lock is not held here; a real program must not do that",
            Misuse::HeldAgain => {
                "in this order the lock is held more than once here, and a wait gives it back only once; release it before"
            }
            Misuse::Endless => "from here on the thread does nothing that others could notice for too long",
        };
        return refuse(taken.place, text);
    }
    if let Some(place) = wakings::first_held(machine, run) {
        return refuse(
            place,
            "real threads cannot keep this order: a thread that was woken before has to go on first, since the C library \
             lets this wake-up wait for it; change the order",
        );
    }
    Ok(())
}

/// What there is to know about the end of a run that is a deadlock.
fn ending(source: &Source, machine: &Machine<'_>, run: &Run) -> String {
    if run.stuck.is_empty() {
        return String::new();
    }
    let stuck = c::stuck(&source.scenario, machine, run, &source.path);
    format!(
        "the order ends in a deadlock: {stuck}; the program says so and ends there, and may hang without its order\n"
    )
}
