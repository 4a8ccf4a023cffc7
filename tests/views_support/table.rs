//! The table: what was missed and what was invented, by each way to look and in the literature.

use super::known::Program;
use super::literature::{Figures, Row, TABLE_1, TABLE_2};
use super::tools::{Scores, Tool};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// One program with what was found.
#[derive(Clone, Debug)]
pub struct Line {
    pub row: &'static Row,
    pub scores: Scores,
}

/// The lines of one of the two tables.
#[derive(Clone, Debug)]
pub struct Table {
    pub title: &'static str,
    pub lines: Vec<Line>,
}

impl Table {
    pub fn first() -> Result<Table, String> {
        Table::of("Table 1", TABLE_1)
    }

    pub fn second() -> Result<Table, String> {
        Table::of("Table 2", TABLE_2)
    }

    /// Builds and runs several programs at a time.
    fn of(title: &'static str, rows: &'static [Row]) -> Result<Table, String> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        let work = || {
            while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                let scores = Program::read(row.program).and_then(|program| Scores::of(&program));
                let line = scores.map(|scores| Line { row, scores }).map_err(|e| format!("{}: {e}", row.program));
                done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(line);
            }
        };
        let helpers = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| (0..helpers).for_each(|_| drop(scope.spawn(work))));
        let done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut lines = done.into_iter().collect::<Result<Vec<Line>, String>>()?;
        lines.sort_by_key(|line| rows.iter().position(|row| row.program == line.row.program));
        Ok(Table { title, lines })
    }

    pub fn total(&self, tool: Tool) -> Figures {
        self.sum(|line| line.scores.by(tool).figures())
    }

    fn sum(&self, of: impl Fn(&Line) -> Figures) -> Figures {
        self.lines.iter().map(of).fold(Figures::default(), std::ops::Add::add)
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} / {}", self.missed, self.invented)
    }
}

/// In Markdown: missed / invented in each column.
impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tools: Vec<&str> = Tool::ALL.iter().map(|tool| tool.name()).collect();
        writeln!(f, "{}: false negatives / false positives\n", self.title)?;
        writeln!(f, "| program | known | {} | MoTH | Artho | Teixeira | lint, s |", tools.join(" | "))?;
        writeln!(f, "|---|---|{}---|---|---|---|", "---|".repeat(tools.len()))?;
        let mut row = |name: &str, known: usize, figures: &[String], time: Duration| {
            writeln!(f, "| {name} | {known} | {} | {:.2} |", figures.join(" | "), time.as_secs_f64())
        };
        for Line { row: of, scores } in &self.lines {
            let ours = Tool::ALL.iter().map(|tool| scores.by(*tool).figures().to_string());
            let others = [of.moth.to_string(), of.artho.to_string(), shown(of.teixeira)];
            row(of.program, of.known, &ours.chain(others).collect::<Vec<_>>(), scores.lint_time)?;
        }
        let ours = Tool::ALL.iter().map(|tool| self.total(*tool).to_string());
        let teixeira = self.lines.iter().all(|line| line.row.teixeira.is_some());
        let teixeira = teixeira.then(|| self.sum(|line| line.row.teixeira.unwrap_or_default()));
        let others = [self.sum(|l| l.row.moth).to_string(), self.sum(|l| l.row.artho).to_string(), shown(teixeira)];
        let known = self.lines.iter().map(|line| line.row.known).sum();
        let time = self.lines.iter().map(|line| line.scores.lint_time).sum();
        row("**total**", known, &ours.chain(others).collect::<Vec<_>>(), time)?;
        for Line { row, scores } in &self.lines {
            for tool in Tool::ALL {
                let score = scores.by(tool);
                if !score.missed.is_empty() {
                    let numbers: Vec<String> = score.missed.iter().map(ToString::to_string).collect();
                    write!(f, "\n- {}, {}: misses {}", row.program, tool.name(), numbers.join(", "))?;
                }
                for what in &score.invented {
                    write!(f, "\n- {}, {}: invents {what}", row.program, tool.name())?;
                }
            }
        }
        writeln!(f)
    }
}

fn shown(figures: Option<Figures>) -> String {
    figures.map_or_else(|| "-".to_owned(), |figures| figures.to_string())
}
