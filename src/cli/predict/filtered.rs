//! `--show-filtered`: what locks and waits would allow, and why it cannot happen.

use crate::cli::figures::counted;
use crate::cli::names::Names;
use crate::predict::analyse::Filtered;
use crate::predict::filter::Reason;
use crate::predict::history::{At, History, Op};
use std::fmt::Write as _;

pub fn text(filtered: &[Filtered], history: &History, names: &mut Names) -> String {
    let end = if filtered.is_empty() { '.' } else { ':' };
    let by_code = filtered.iter().any(|filtered| filtered.reason == Reason::Independent);
    let or_code = if by_code { ", or by the program's code" } else { "" };
    let candidates = counted(filtered.len() as u64, "candidate");
    let mut text = format!("{candidates} ruled out by what is read on the way{or_code}{end}\n");
    for Filtered { steps, reason, .. } in filtered {
        let mut all = steps.all().to_vec();
        all.dedup();
        let told: Vec<String> = all.into_iter().map(|at| told(at, history, names)).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {}", told.join(", then "));
        let _ = writeln!(text, "    {}: {}", reason.name(), reason.meaning());
    }
    text
}

fn told(at: At, history: &History, names: &mut Names) -> String {
    let step = history.step(at);
    let verb = match step.op {
        Op::Free => "frees",
        op if op.reads() && op.writes() => "updates",
        op if op.writes() => "writes",
        _ => "reads",
    };
    let variable = names.object(history.variables[step.object as usize].address);
    format!("T{} {verb} {variable} at {}", history.thread(at), names.place(history.pc(at)))
}
