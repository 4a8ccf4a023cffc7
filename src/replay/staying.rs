//! For a debugger: the culprit stays where it is when its part is done, and does what it does after that when the block is over. Otherwise its thread may
//! have ended by the time that there is something to see.

use super::schedule::{Act, Role, Schedule, Step, Turn};
use crate::event::ThreadId;

/// The same violation. As it was, if somebody may need before its end what the culprit does afterwards.
#[must_use]
pub fn staying(schedule: &Schedule) -> Schedule {
    stayed(schedule).unwrap_or_else(|| schedule.clone())
}

fn stayed(schedule: &Schedule) -> Option<Schedule> {
    let has = |turn: &Turn, wanted: fn(Role) -> bool| turn.steps.iter().any(|step| step.role.is_some_and(wanted));
    let is_of_culprit = |role| matches!(role, Role::Culprit | Role::CulpritToo);
    let own = schedule.turns.iter().rposition(|turn| has(turn, is_of_culprit))?;
    let last = schedule.turns.iter().rposition(|turn| has(turn, Role::is_second)).filter(|&last| last > own)?;
    let culprit = schedule.turns[own].thread;
    let end = end_of_part(schedule, own, culprit)?;

    let (mut turns, mut later) = (schedule.turns.clone(), Vec::new());
    later.extend(turns[own].steps.drain(end..));
    for turn in &mut turns[own + 1..last] {
        if turn.thread == culprit {
            later.append(&mut turn.steps);
        } else if turn.steps.iter().any(|step| waits(schedule, step)) {
            return None;
        }
    }
    let awaits = turns[last].steps.iter().any(|step| waits(schedule, step));
    if awaits || later.iter().any(|step| matches!(act(schedule, step), Some(Act::Fork | Act::Signal))) {
        return None;
    }
    if !later.is_empty() {
        turns.insert(last + 1, Turn::new(culprit, later));
    }
    // An empty turn would be nothing to wait for, but that its thread is held until the end of all turns, as it is anyway.
    turns.retain(|turn| turn.thread != culprit || !turn.steps.is_empty());
    Some(Schedule { turns, ..schedule.clone() })
}

fn act(schedule: &Schedule, step: &Step) -> Option<Act> {
    schedule.places.get(step.place as usize).map(|place| place.act)
}

/// Whether it may be the culprit whom this step waits for.
fn waits(schedule: &Schedule, step: &Step) -> bool {
    matches!(act(schedule, step), Some(Act::Await | Act::Join | Act::Start))
}

/// After so many steps of its turn the culprit is done, and has no lock any more that somebody could want.
fn end_of_part(schedule: &Schedule, own: usize, culprit: ThreadId) -> Option<usize> {
    let held = |steps: &[Step]| {
        let change = |step: &Step| match act(schedule, step) {
            Some(Act::Lock) => i64::from(step.times),
            Some(Act::Unlock) => -i64::from(step.times),
            _ => 0,
        };
        steps.iter().map(change).sum::<i64>()
    };
    let before = schedule.turns[..own].iter().filter(|turn| turn.thread == culprit);
    let before: i64 = before.map(|turn| held(&turn.steps)).sum();
    let steps = &schedule.turns[own].steps;
    let done = steps.iter().rposition(|step| step.role.is_some())? + 1;
    (done..=steps.len()).find(|&end| before + held(&steps[..end]) <= 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(turns: &str) -> String {
        let places = "place 0 0+1 lock\nplace 1 0+2 unlock\nplace 2 0+3 write\nplace 3 0+4 join\nplace 4 - end\n";
        let text = format!("avmon schedule 1\nprogram p - 0\nmodule 0 p -\n{places}{turns}");
        let stayed = staying(&text.parse().unwrap()).to_string();
        stayed.lines().filter(|line| line.starts_with("turn")).flat_map(|line| [line, "\n"]).collect()
    }

    #[test]
    fn the_culprit_goes_no_further_than_out_of_its_critical_section() {
        let begin = "turn 1 0 2!first 1\nturn 2 0 2!culprit 1";
        let cut = format!("{begin}\nturn 1 0 2!second\nturn 2 0 2 1 4\n");
        assert_eq!(turns(&format!("{begin} 0 2 1 4\nturn 1 0 2!second\n")), cut);
        assert_eq!(
            turns(&format!("{begin} 0\nturn 3 0\nturn 2 2 1 4\nturn 1 0 2!second\n")),
            cut.replace("turn 1 0 2!second", "turn 3 0\nturn 1 0 2!second")
        );
    }

    #[test]
    fn a_culprit_that_somebody_waits_for_goes_on() {
        for awaited in [
            "turn 1 2!first\nturn 2 2!culprit 4\nturn 1 3 2!second\n",
            "turn 1 2!first\nturn 2 0 2!culprit 4\nturn 1 2!second\n",
        ] {
            assert_eq!(turns(awaited), awaited);
        }
    }
}
