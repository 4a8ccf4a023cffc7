//! Runs to compare a violation with: the same threads are held at the same places, but the culprit comes after the block, or before it. In a third one the
//! block's thread is also held in the middle of the block, and after it, for as long as it was in the run that failed: somebody may measure that time.
//!
//! A program that fails then too does not fail for the violation: it does not stand being held, or notices that somebody steers it.

use super::schedule::{Act, Place, Role, Schedule, Step, Turn};
use crate::event::ThreadId;

/// A run in which one thread waits for another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Control {
    /// It waits until the other one has ended, so that neither comes between two steps of the other; or all wait for each other after the block as they
    /// did in the run that failed.
    pub whole: Option<Schedule>,
    /// It waits until the other one has done its part of the violation, for a program that cannot do so.
    pub part: Schedule,
}

/// The runs to compare with: one without the culprit's thread, one without the block's, and one in which the block is open for `held_ms` milliseconds and nobody
/// comes between. Whether the program can follow them, only a run tells: the thread that waits may have to do something first.
#[must_use]
pub fn controls(schedule: &Schedule, held_ms: u64) -> Vec<Control> {
    let roles = schedule.roles();
    let thread = |wanted: fn(Role) -> bool| roles.iter().find(|(role, ..)| wanted(*role)).map(|(_, thread, _)| *thread);
    let is_of_culprit = |role| matches!(role, Role::Culprit | Role::CulpritToo);
    let control = |(waits, goes_on)| {
        let part = without(schedule, waits, goes_on);
        Control { whole: until_end(&part, goes_on), part }
    };
    match (thread(|role| role == Role::First), thread(is_of_culprit)) {
        (Some(block), Some(culprit)) if block != culprit => {
            let either = [(culprit, block), (block, culprit)].into_iter().map(control);
            either.chain(held_inside(schedule, block, culprit, held_ms)).collect()
        }
        _ => Vec::new(),
    }
}

fn has_role(turn: &Turn, thread: ThreadId) -> bool {
    turn.thread == thread && turn.steps.iter().any(|step| step.role.is_some())
}

/// How many turns it takes until a thread has taken its last step with a role.
fn end_of_part(schedule: &Schedule, thread: ThreadId) -> usize {
    schedule.turns.iter().rposition(|turn| has_role(turn, thread)).map_or(0, |last| last + 1)
}

/// The schedule until one thread has taken its last step with a role, while another one waits. That one creates its threads before, since
/// nobody else could.
fn without(schedule: &Schedule, waits: ThreadId, goes_on: ThreadId) -> Schedule {
    let end = end_of_part(schedule, goes_on);
    let is_fork = |step: &&Step| schedule.places.get(step.place as usize).is_some_and(|it| it.act == Act::Fork);
    let of_waiting = schedule.turns[..end].iter().filter(|turn| turn.thread == waits).flat_map(|turn| &turn.steps);
    let mut forks = of_waiting.filter(is_fork).count();
    let mut turns = vec![Turn::new(waits, Vec::new())];
    for turn in &schedule.turns[..end] {
        let mut turn = turn.clone();
        if turn.thread == waits {
            turn.steps.retain(|step| {
                let is_kept = forks > 0;
                forks -= usize::from(is_kept && is_fork(&step));
                is_kept
            });
        }
        // An empty turn of another thread says that it waits for the end.
        let is_left_out = turn.thread == waits && turn.steps.is_empty();
        turns.extend((!is_left_out).then_some(turn));
    }
    Schedule { turns, ..schedule.clone() }
}

const MARGIN_MS: u64 = 100;

/// The block is open for so long while the culprit waits, which does all that it did until then afterwards.
fn held_inside(schedule: &Schedule, block: ThreadId, culprit: ThreadId, held_ms: u64) -> Option<Control> {
    let mut part = without(schedule, culprit, block);
    let first = part.turns.iter().position(|turn| has_role(turn, block))?;
    // A little longer: who looks at a clock now and then may miss the moment.
    let longer = held_ms + held_ms / 2 + MARGIN_MS;
    part.turns.get_mut(first + 1)?.pause = longer.min(u64::from(u32::MAX)) as u32;
    let (until_last, after) = schedule.turns.split_at(end_of_part(schedule, block));
    // As long as the culprit goes on alone then, the block's thread is held too.
    let whole = (!after.is_empty()).then(|| {
        let of_culprit = |turns: &[Turn]| {
            let turns = turns.iter().filter(|turn| turn.thread == culprit);
            turns.flat_map(|turn| turn.steps.clone()).collect::<Vec<Step>>()
        };
        let later = of_culprit(until_last).split_off(of_culprit(&part.turns).len());
        let mut whole = part.clone();
        whole.turns.push(Turn::new(culprit, later));
        whole.turns.extend_from_slice(after);
        whole
    });
    Some(Control { whole, part })
}

/// The same until a thread has ended. The end of the one that runs `main` is the end of all.
fn until_end(schedule: &Schedule, thread: ThreadId) -> Option<Schedule> {
    let mut schedule = (thread != 0).then(|| schedule.clone())?;
    let place = schedule.places.iter().position(|place| place.act == Act::End).unwrap_or_else(|| {
        schedule.places.push(Place { code: None, act: Act::End, name: String::new() });
        schedule.places.len() - 1
    });
    schedule.turns.push(Turn::new(thread, vec![Step { place: place as u32, times: 1, role: None }]));
    Some(schedule)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn controls_of(turns: &str) -> Vec<String> {
        let text =
            format!("avmon schedule 1\nprogram p - 0\nmodule 0 p -\nplace 0 0+1 lock\nplace 1 0+2 fork\n{turns}");
        let turns = |schedule: &Schedule| {
            let text = schedule.to_string();
            let in_short = |line: &str| match line.split_once(' ')? {
                ("turn", turn) => Some(turn.to_owned()),
                ("pause", _) => Some(line.to_owned()),
                _ => None,
            };
            text.lines().filter_map(in_short).collect::<Vec<String>>().join(", ")
        };
        let both = |control: &Control| (turns(&control.part), control.whole.as_ref().map(turns));
        let told = |(part, whole): (String, Option<String>)| match whole {
            Some(whole) => format!("{part}{}", whole.strip_prefix(&part).unwrap().replacen(", ", " + ", 1)),
            None => part,
        };
        controls(&text.parse().unwrap(), 70).iter().map(both).map(told).collect()
    }

    #[test]
    fn one_thread_waits_until_the_other_has_done_its_part() {
        let turns = "turn 0 1*2\nturn 1 0\nturn 2 0 0!first\nturn 1 0 0!culprit\nturn 2 0!second\nturn 1 0\n";
        assert_eq!(
            controls_of(turns),
            [
                "1, 0 1*2, 2 0 0!first, 2 0!second + 2 2",
                "2, 0 1*2, 1 0, 1 0 0!culprit + 1 2",
                "1, 0 1*2, 2 0 0!first, pause 205, 2 0!second + 1 0 0 0!culprit, 1 0",
            ]
        );
    }

    #[test]
    fn who_waits_has_created_its_threads() {
        let turns = "turn 0 0 1 0\nturn 1 0!first\nturn 0 0!culprit\nturn 1 0!second\n";
        assert_eq!(
            controls_of(turns),
            [
                "0, 0 0 1, 1 0!first, 1 0!second + 1 2",
                "1, 0 0 1 0, 0 0!culprit",
                "0, 0 0 1, 1 0!first, pause 205, 1 0!second",
            ]
        );
    }

    #[test]
    fn without_a_culprit_there_is_nothing_to_compare_with() {
        assert!(controls_of("turn 0 0!first\n").is_empty());
    }
    #[test]
    fn a_block_that_nobody_splits_is_not_held() {
        assert_eq!(controls_of("turn 1 0!culprit\nturn 2 0!first 0!second\n").len(), 2);
    }
}
