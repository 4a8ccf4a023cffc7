//! `avmon scenario build`: a scenario as a real program.

use super::Source;
use super::order::OrderFlags;
use crate::cli::compiler::{Call, Language};
use crate::cli::exit::{ExitCode, Failure};
use crate::scenario::c;
use crate::scenario::machine::{Effect, Machine, Misuse};
use crate::scenario::program::{Place, Program};
use crate::scenario::run::Run;
use crate::scenario::wakings;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const EXAMPLES: &str = "\
Examples:
  avmon scenario build bank.scn                      makes ./bank, which runs in the written order
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
    /// The program to make, or with a name that ends in .c its text only; the scenario's name without its end if not said
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
            format!("{0}: compile it with 'avmon cc -O1 -pthread {0} -o PROGRAM'\n", output.display())
        } else {
            self.compile(&text, &output)?;
            let program = as_command(&output);
            format!(
                "{}: run it with 'avmon run -- {program}', or without its order with '{program} free'\n",
                output.display()
            )
        };
        crate::cli::print((told + &ending(&source, &machine, &run)).as_bytes())
    }

    fn output(&self) -> Result<PathBuf, Failure> {
        if let Some(output) = &self.output {
            return Ok(output.clone());
        }
        let own = self.scenario.with_extension("");
        if own == self.scenario {
            let text = format!("{} has no end that could be left out; name the program with -o", own.display());
            return Err(Failure::new(ExitCode::Usage, text));
        }
        Ok(own)
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

/// How a shell is told to run the file.
fn as_command(program: &Path) -> String {
    let has_directory = program.parent().is_some_and(|parent| parent != Path::new(""));
    if has_directory { program.display().to_string() } else { format!("./{}", program.display()) }
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
            Misuse::NotHeld => {
                "in this order the lock is not held here, or was taken more than once; a real program must not do that"
            }
            Misuse::HeldAlready => {
                "in this order the lock is held for reading already; a real program must not take it again"
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
