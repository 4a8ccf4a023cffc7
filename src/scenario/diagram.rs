//! A run as a picture: a column for each thread, time goes down.

use super::machine::{Effect, Machine, State, Taken};
use super::program::Place;
use super::tree::{Scenario, ThreadIndex};

/// One line of the picture.
struct Row {
    line: u32,
    thread: ThreadIndex,
    text: String,
    note: &'static str,
}

/// Draws the run that takes its steps in this order. `mark` says what is remarkable about a step, by its place and how often the
/// thread was there before.
#[must_use]
pub fn draw(
    scenario: &Scenario,
    machine: &Machine<'_>,
    order: &[ThreadIndex],
    mark: &dyn Fn(Place, usize) -> &'static str,
) -> String {
    let rows = rows(machine, order, mark);
    let is_shown = |&thread: &ThreadIndex| rows.iter().any(|row| row.thread == thread);
    let columns: Vec<ThreadIndex> = (0..scenario.threads.len()).filter(is_shown).collect();
    let widest = |&thread: &ThreadIndex| {
        let texts = rows.iter().filter(|row| row.thread == thread).map(|row| row.text.chars().count());
        texts.max().unwrap_or(0).max(scenario.threads[thread].name.chars().count())
    };
    let widths: Vec<usize> = columns.iter().map(widest).collect();
    let digits = rows.iter().map(|row| row.line.to_string().len()).max().unwrap_or(1);
    let line = |number: &str, cell: &dyn Fn(usize) -> String, note: &str| {
        let cells: Vec<String> =
            columns.iter().zip(&widths).map(|(&thread, &width)| format!("{:width$}", cell(thread))).collect();
        let text = format!("{number:>digits$}  {}", cells.join("   "));
        if note.is_empty() { text.trim_end().to_owned() } else { format!("{text}   {note}") }
    };
    let mut lines = vec![line("", &|thread| scenario.threads[thread].name.clone(), "")];
    lines.extend(rows.iter().map(|row| {
        let number = if row.line == 0 { String::new() } else { row.line.to_string() };
        line(&number, &|thread| if thread == row.thread { row.text.clone() } else { String::new() }, row.note)
    }));
    lines.join("\n") + "\n"
}

fn rows(machine: &Machine<'_>, order: &[ThreadIndex], mark: &dyn Fn(Place, usize) -> &'static str) -> Vec<Row> {
    let mut log = Vec::new();
    let mut state = machine.start(&mut log);
    let mut painter = Painter { machine, rows: Vec::new(), begun: Vec::new(), visits: Vec::new() };
    log.drain(..).for_each(|taken| painter.paint(&taken, &state, mark));
    for &thread in order {
        machine.step(&mut state, thread, &mut log);
        log.drain(..).for_each(|taken| painter.paint(&taken, &state, mark));
    }
    painter.rows
}

struct Painter<'m> {
    machine: &'m Machine<'m>,
    rows: Vec<Row>,
    /// Blocks begin as soon as their thread gets there; they are shown with the first step in them.
    begun: Vec<Place>,
    visits: Vec<Place>,
}

impl Painter<'_> {
    fn paint(&mut self, taken: &Taken, state: &State, mark: &dyn Fn(Place, usize) -> &'static str) {
        let place = taken.place;
        match taken.effect {
            Effect::Began => return self.begun.push(place),
            Effect::Branched(_) | Effect::Finished => return,
            _ => {}
        }
        for begin in self.begun.extract_if(.., |begin| begin.thread == place.thread).collect::<Vec<_>>() {
            self.row(begin, "", "");
        }
        match taken.effect {
            Effect::Ended => self.row(place, "", ""),
            Effect::AssertionFailed => self.row(place, "", "<-- fails"),
            effect => {
                let before = self.visits.iter().filter(|&&visited| visited == place).count();
                self.visits.push(place);
                let result = match effect {
                    Effect::Read(variable) | Effect::Wrote(variable) | Effect::Updated(variable) => {
                        format!("  ({})", self.machine.value(state, variable))
                    }
                    Effect::Refused(_) => "  (refused)".to_owned(),
                    Effect::Slept { .. } | Effect::Arrived(_) => "  (sleeps)".to_owned(),
                    Effect::Resumed { .. } | Effect::Passed(_) => "  (goes on)".to_owned(),
                    Effect::Stopped(_) => "  (stops here)".to_owned(),
                    _ => String::new(),
                };
                self.row(place, &result, mark(place, before));
            }
        }
    }

    fn row(&mut self, place: Place, result: &str, note: &'static str) {
        let instruction = self.machine.program.at(place);
        let text = format!("{}{result}", instruction.text);
        self.rows.push(Row { line: instruction.at.line, thread: place.thread as usize, text, note });
    }
}
