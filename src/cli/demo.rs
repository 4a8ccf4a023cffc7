//! `avmon demo`: the main job on a bundled program, each step explained.

use super::example::{self, BUGGY, FIXED, Source, Workshop};
use super::exit::{ExitCode, Failure};
use super::style::{self, paint};
use clap::Args;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  avmon demo
  avmon demo --directory ./try-avmon    keep the sources, programs and log there";

/// Compile and run a small program with a hidden bug, and explain what avmon says about it
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Demo {
    /// Work in this directory and keep what is made there
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

const INTRODUCTION: &str = "\
avmon finds atomicity violations: blocks of code that are right only if nobody comes between
two of their steps, in a program where somebody can.";

const THE_BUG: &str = "\
Two threads share a text. One appends it to a copy, the other shortens it. Every access is
under the lock, so there is no data race. But append() takes the lock twice:";

const NATIVE: &str = "\
Run it: nothing is wrong. The other thread happens to come late, as it nearly always will.";

const MONITORED: &str = "\
Now the same program under avmon. The run goes the same way, and still avmon sees the bug: nothing
in the program keeps the other thread from coming between the two acquires.";

const READING: &str = "\
How to read this:
  - The block is append(): the innermost function that contains both acquires of the lock.
  - Three stacks tell the story in the order that would go wrong. First append() reads the length
    under the lock, and lets it go.
  - In between, set_length() in the other thread takes the lock and makes the text shorter.
  - Then append() takes the lock again and copies 12 bytes of a text that now has only 6.
  - The exit code is 66, so that a test run notices.";

const THE_FIX: &str = "\
The fix is to do both steps in one critical section:";

const SILENCE: &str = "\
Built and run in the same way, the fixed program is silent and ends with its own exit code:";

const NEXT: &str = "\
Now your own program:
  avmon run -- ./program args         any dynamically linked program, just as it is
  make CC='avmon cc' CXX='avmon c++'  build it so that each function is seen as a block, then run it
  avmon report avmon.log.PID          read the log of a run again
  avmon demo --directory try-avmon    keep the sources, the programs and the log of this demo
  avmon doctor                        what works on this machine";

impl Demo {
    pub fn execute(self) -> Result<ExitCode, Failure> {
        let compiler = example::compiler()?;
        let cannot_make = |error| Failure::internal(format!("no directory to work in: {error}"));
        let temporary = tempfile::tempdir().map_err(cannot_make)?;
        let directory = self.directory.as_deref().unwrap_or(temporary.path());
        fs::create_dir_all(directory).map_err(cannot_make)?;
        let stage = Stage { workshop: Workshop::new(directory)?, compiler };

        say(INTRODUCTION);
        heading("1. A program with a hidden bug");
        say(THE_BUG);
        code(BUGGY.function("static void append(void)"));
        stage.build(&BUGGY)?;

        heading("2. Without avmon");
        say(NATIVE);
        stage.expect(&format!("./{}", BUGGY.program()), ExitCode::Success, "'twelve bytes'")?;

        heading("3. Under avmon");
        say(MONITORED);
        // The report goes through a pipe on its way here, so the monitor cannot see the terminal.
        let color = if style::is_wanted() { "--color=always " } else { "" };
        stage.expect(&format!("avmon run {color}-- ./{}", BUGGY.program()), ExitCode::Findings, "append.c:")?;
        say(READING);

        heading("4. The fix");
        say(THE_FIX);
        code(FIXED.function("static void copy_all(void)"));
        stage.build(&FIXED)?;
        say(SILENCE);
        stage.expect(&format!("avmon run -- ./{}", FIXED.program()), ExitCode::Success, "'twelve bytes'")?;

        heading("5. What next");
        say(NEXT);
        Ok(ExitCode::Success)
    }
}

struct Stage {
    workshop: Workshop,
    compiler: &'static str,
}

impl Stage {
    fn build(&self, source: &Source) -> Result<(), Failure> {
        self.workshop.write(source)?;
        self.expect(&example::build_line(self.compiler, source), ExitCode::Success, "")
    }

    /// The user cares for the file, not for the directory with a random name that it is in.
    fn without_directory(&self, text: &str) -> String {
        let directory = &self.workshop.directory;
        let directory = directory.canonicalize().unwrap_or_else(|_| directory.clone());
        text.replace(&format!("{}/", directory.display()), "")
    }

    /// Shows a command and what it prints, and makes sure that the demo tells the truth about it.
    fn expect(&self, line: &str, code: ExitCode, text: &str) -> Result<(), Failure> {
        show(&format!("{}\n", paint(style::COMMAND, &format!("$ {line}"))));
        let output = self.workshop.run(line)?;
        let printed = self.without_directory(&example::text_of(&output));
        show(&printed);
        if output.status.code() != Some(i32::from(code.0)) {
            let wanted = code.0;
            return Err(Failure::internal(format!(
                "the demo expected exit code {wanted} from '{line}' but saw {}; 'avmon doctor' may tell why",
                output.status
            )));
        }
        if !printed.contains(text) {
            return Err(Failure::internal(format!(
                "the demo expected to read \"{text}\" from '{line}'; 'avmon doctor' may tell why"
            )));
        }
        show("\n");
        Ok(())
    }
}

fn heading(text: &str) {
    show(&format!("{}\n\n", paint(style::STRONG, text)));
}

fn say(text: &str) {
    show(&format!("{text}\n\n"));
}

fn code(text: &str) {
    for line in text.lines() {
        show(&format!("    {line}\n"));
    }
    show("\n");
}

/// A reader who closed the pipe has seen enough; the demo still ends with what it found.
fn show(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
