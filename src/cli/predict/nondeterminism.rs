//! Reads that could see another write, grouped by place.

use crate::cli::figures::{counted, grouped};
use crate::cli::names::Names;
use crate::predict::history::History;
use crate::predict::search::{Budget, Order};
use crate::predict::witnesses::{Group, Location, Orders, Report, Way};
use serde_json::json;
use std::fmt::Write as _;

/// Steps of an order that are told: its last ones.
const MOST_STEPS: usize = 40;

/// Groups that are shown to a person.
const MOST_SHOWN: usize = 20;

pub fn text(report: &Report, names: &mut Names) -> String {
    let totals = &report.totals;
    let mut text = format!(
        "avmon: nondeterminism: {}: {} feasible, {} infeasible, {} undecided\n",
        counted(totals.possible, "possible witness").replace("witnesss", "witnesses"),
        grouped(totals.feasible()),
        grouped(totals.infeasible()),
        grouped(totals.undecided),
    );
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "  without a choice: {} infeasible, {} feasible; with choices of the order of sections: {} infeasible, {} feasible, {} orders looked at",
        grouped(totals.contradictory),
        grouped(totals.direct),
        grouped(totals.chosen_infeasible),
        grouped(totals.chosen_feasible),
        grouped(totals.explored),
    );
    if totals.left_out > 0 {
        let _ = writeln!(text, "  not looked at: {}", grouped(totals.left_out));
    }
    let mut feasible: Vec<&Group> = report.groups.iter().filter(|group| group.feasible > 0).collect();
    feasible.sort_by_key(|group| std::cmp::Reverse(group.feasible));
    for group in feasible.iter().take(MOST_SHOWN) {
        let _ = writeln!(text, "{:>9}  {}", grouped(group.feasible), told(&group.location, names));
    }
    if feasible.len() > MOST_SHOWN {
        let _ = writeln!(text, "  and {} more places; --json has them all", grouped(feasible.len() - MOST_SHOWN));
    }
    text
}

fn told(location: &Location, names: &mut Names) -> String {
    let saw =
        location.writer.map_or_else(|| "the first value".into(), |pc| format!("the write at {}", names.place(pc)));
    let read = names.place(location.read);
    let challenger = names.place(location.challenger);
    let how = match location.way {
        Way::Early => "before it",
        Way::Overwritten => "after it",
        Way::Without => "without it",
    };
    format!("the read at {read} saw {saw}, and could see the one at {challenger} {how}")
}

/// A line for the totals, and one for each place.
pub fn json(report: &Report, history: &History, names: &mut Names) -> String {
    let orders = Orders::new(history);
    let totals = &report.totals;
    let mut lines = json!({
        "type": "witnesses",
        "possible": totals.possible,
        "feasible": totals.feasible(),
        "infeasible": totals.infeasible(),
        "undecided": totals.undecided,
        "contradictory": totals.contradictory,
        "direct": totals.direct,
        "chosen_feasible": totals.chosen_feasible,
        "chosen_infeasible": totals.chosen_infeasible,
        "explored": totals.explored,
        "left_out": totals.left_out,
    })
    .to_string();
    lines.push('\n');
    for Group { location, feasible, undecided, example } in &report.groups {
        let order = if *feasible > 0 { orders.find(*example, Budget::BRIEF) } else { None };
        let way = match location.way {
            Way::Early => "early",
            Way::Overwritten => "overwritten",
            Way::Without => "without",
        };
        let line = json!({
            "type": "witness",
            "way": way,
            "saw": location.writer.map(|pc| names.place(pc).to_string()),
            "read": names.place(location.read).to_string(),
            "challenger": names.place(location.challenger).to_string(),
            "feasible": feasible,
            "undecided": undecided,
            "order": order.map(|order| last_steps(&order, history, names)),
        });
        let _ = writeln!(lines, "{line}");
    }
    lines
}

/// Who takes the last steps of an order, and where.
fn last_steps(order: &Order, history: &History, names: &mut Names) -> Vec<String> {
    let steps = &order.steps[order.steps.len().saturating_sub(MOST_STEPS)..];
    steps.iter().map(|&at| format!("T{} {}", history.thread(at), names.place(history.pc(at)))).collect()
}
