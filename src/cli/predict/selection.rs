//! Which candidates are wanted: by names, which become the numbers of the history.

use crate::cli::dump::filter::thread;
use crate::cli::exit::{ExitCode, Failure};
use crate::cli::names::Names;
use crate::cli::report::pattern;
use crate::event::ThreadId;
use crate::predict::analyse::Selection;
use crate::predict::history::{History, Lane};
use crate::report::template::Template;
use rustc_hash::FxHashSet;

/// What a finding has to be about. Nothing asked for is nothing left out.
#[derive(clap::Args, Debug, Default)]
pub struct SelectionFlags {
    /// Only what this thread takes part in; may be given several times
    #[arg(long, value_name = "THREAD", value_parser = thread)]
    thread: Vec<ThreadId>,

    /// Only what is about variables with a name like this
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    variable: Option<Template>,

    /// Only what happens in functions like this
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    function: Option<Template>,
}

impl SelectionFlags {
    pub fn is_empty(&self) -> bool {
        self.thread.is_empty() && self.variable.is_none() && self.function.is_none()
    }

    /// The numbers behind the names. What nothing fits is most likely misspelt.
    pub fn resolve(&self, history: &History, names: &mut Names) -> Result<Selection, Failure> {
        let lanes = (!self.thread.is_empty()).then(|| {
            let is_wanted = |(_, thread): &(usize, &ThreadId)| self.thread.contains(thread);
            history.threads.iter().enumerate().filter(is_wanted).map(|(lane, _)| lane as Lane).collect()
        });
        let variables = self.variable.as_ref().map(|wanted| {
            let numbered = (0..).zip(&history.variables);
            numbered.filter(|(_, it)| wanted.matches(&names.object(it.address))).map(|(number, _)| number).collect()
        });
        let codes = self.function.as_ref().map(|wanted| {
            let mut fits = |pc: u64| {
                names.frames(pc).iter().any(|frame| frame.function.as_ref().is_some_and(|name| wanted.matches(name)))
            };
            (0..).zip(history.codes()).filter(|(_, pc)| fits(**pc)).map(|(number, _)| number).collect()
        });
        let given = |template: &Option<Template>| template.as_ref().map_or("", Template::as_str).to_owned();
        fits_something(lanes.as_ref(), "thread of the trace has that number", "avmon info lists them")?;
        fits_something(
            variables.as_ref(),
            &format!("shared variable is called like '{}'", given(&self.variable)),
            "only globals have names; avmon dump shows them",
        )?;
        fits_something(
            codes.as_ref(),
            &format!("function like '{}' is in the trace", given(&self.function)),
            "avmon dump --kind enter shows them",
        )?;
        Ok(Selection { variables, lanes, codes })
    }
}

fn fits_something<T>(chosen: Option<&FxHashSet<T>>, what: &str, advice: &str) -> Result<(), Failure> {
    match chosen {
        Some(chosen) if chosen.is_empty() => Err(Failure::new(ExitCode::Usage, format!("no {what}; {advice}"))),
        _ => Ok(()),
    }
}
