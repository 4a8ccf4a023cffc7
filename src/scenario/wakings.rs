//! Which orders of wake-ups real threads can follow.
//!
//! In the program of a scenario a sleeper that was woken is held back until it is its turn. The C library divides those who wait for a
//! condition into an older and a newer group: wake-ups go to the older one, and when it is used up the newer one takes its place. A
//! signal that brings this about waits until all that were woken before have left; if one of them is held back, nobody goes on.

use super::machine::{Effect, Machine};
use super::program::{Operation, Place};
use super::run::Run;
use super::tree::ObjectId;
use std::collections::HashMap;

/// Those who wait for a condition.
#[derive(Default)]
struct Waiting {
    older: usize,
    newer: usize,
    /// Woken, but not yet gone on.
    woken: usize,
}

impl Waiting {
    /// Wakes one or all. Whether that can be without a wait for somebody.
    fn wake(&mut self, all: bool) -> bool {
        if all {
            self.woken += std::mem::take(&mut self.older);
        }
        if self.older == 0 && self.newer > 0 {
            if self.woken > 0 {
                return false;
            }
            self.older = std::mem::take(&mut self.newer);
        }
        let count = if all { self.older } else { self.older.min(1) };
        self.older -= count;
        self.woken += count;
        true
    }
}

/// The first wake-up of a run that would have to wait for somebody who is held back.
#[must_use]
pub fn first_held(machine: &Machine<'_>, run: &Run) -> Option<Place> {
    let mut conditions: HashMap<ObjectId, Waiting> = HashMap::new();
    for taken in &run.log {
        match taken.effect {
            Effect::Slept { condition, .. } => conditions.entry(condition).or_default().newer += 1,
            Effect::Resumed { condition, .. } => conditions.entry(condition).or_default().woken -= 1,
            Effect::Signalled(condition) => {
                let all = matches!(machine.program.at(taken.place).operation, Operation::Signal { all: true, .. });
                if !conditions.entry(condition).or_default().wake(all) {
                    return Some(taken.place);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse;
    use crate::scenario::program::Program;

    /// Two that wait, one that signals and one that broadcasts, all without looking at anything.
    const TEXT: &str = "lock m\ncond c\n\na: acq m\n   wait c m\n   rel m\nb: acq m\n   wait c m\n   rel m\ns: signal c\n   signal c\n   broadcast c\n";

    fn held(order: &str) -> Option<u32> {
        let scenario = parse(TEXT).unwrap();
        let program = Program::new(&scenario);
        let machine = Machine::new(&program);
        let order: Vec<usize> =
            order.bytes().filter_map(|name| b"abs".iter().position(|known| *known == name)).collect();
        let run = machine.run_in_order(&order).unwrap();
        first_held(&machine, &run).map(|place| program.at(place).at.line)
    }

    #[test]
    fn a_wake_up_is_held_only_by_one_that_was_woken_before_the_other_fell_asleep() {
        for (order, line) in [
            ("aabbssaabbs", None),
            ("aabbssbbaas", None),
            ("aasaabbsbbs", None),
            ("aasbbsaabbs", Some(11)),
            ("aassbbsaabb", Some(12)),
            ("aasaasbbsbb", None),
            ("ssaabbsaabb", None),
        ] {
            assert_eq!(held(order), line, "{order}");
        }
    }
}
