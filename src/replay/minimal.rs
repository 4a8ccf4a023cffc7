//! A schedule with fewer switches between threads that still does the same.
//!
//! Turns of a stretch are gathered by thread, for long stretches first: where that still works, the order of those turns did not matter. The steps
//! of the violation keep their order, and each thread's steps theirs.

use super::schedule::{Role, Schedule, Step, Turn};

/// In fewer turns nothing can be gathered: it takes two of a thread, and one of another in between.
const SHORTEST: usize = 3;

/// The schedule with the fewest switches that `works`, which is asked at most `most_tries` times.
pub fn minimal(schedule: &Schedule, most_tries: usize, mut works: impl FnMut(&Schedule) -> bool) -> Schedule {
    let mut best = joined(schedule.clone());
    let mut tries = most_tries;
    let mut length = best.turns.len();
    while length >= SHORTEST && tries > 0 {
        let mut begin = 0;
        while begin + SHORTEST <= best.turns.len() && tries > 0 {
            let candidate = gathered(&best, begin, length);
            if candidate.turns.len() < best.turns.len() && roles(&candidate) == roles(&best) {
                tries -= 1;
                if works(&candidate) {
                    // The same place again: what follows has moved up.
                    best = candidate;
                    continue;
                }
            }
            // Stretches overlap, since two turns of a thread may lie on both sides of a border.
            begin += (length / 4).max(1);
        }
        length = if length == SHORTEST { 0 } else { length.div_ceil(2).max(SHORTEST) };
    }
    best
}

/// The turns from `begin` on, `length` of them, thread by thread.
fn gathered(schedule: &Schedule, begin: usize, length: usize) -> Schedule {
    let end = schedule.turns.len().min(begin + length);
    let mut threads = Vec::new();
    for turn in &schedule.turns[begin..end] {
        if !threads.contains(&turn.thread) {
            threads.push(turn.thread);
        }
    }
    let mut changed = schedule.clone();
    // The sort keeps the order of each thread's turns.
    changed.turns[begin..end].sort_by_key(|turn| threads.iter().position(|&thread| thread == turn.thread));
    joined(changed)
}

/// The same, with neighbouring turns of a thread as one.
fn joined(mut schedule: Schedule) -> Schedule {
    let mut turns: Vec<Turn> = Vec::new();
    for turn in schedule.turns {
        match turns.last_mut() {
            Some(last) if last.thread == turn.thread && turn.pause == 0 => {
                turn.steps.into_iter().for_each(|step| append(last, step));
            }
            _ => turns.push(turn),
        }
    }
    schedule.turns = turns;
    schedule
}

fn append(turn: &mut Turn, step: Step) {
    match turn.steps.last_mut() {
        Some(last) if last.place == step.place && last.role.is_none() && step.role.is_none() => {
            last.times = last.times.saturating_add(step.times);
        }
        _ => turn.steps.push(step),
    }
}

fn roles(schedule: &Schedule) -> Vec<Role> {
    schedule.roles().into_iter().map(|(role, ..)| role).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(lines: impl Iterator<Item = String>) -> String {
        lines.flat_map(|line| [line, "\n".to_owned()]).collect()
    }

    fn schedule(turns: &str) -> Schedule {
        let places = lines((0..8).map(|number| format!("place {number} 0+{number} lock")));
        format!("avmon schedule 1\nprogram p - 0\nmodule 0 p -\n{places}{turns}").parse().unwrap()
    }

    fn turns(schedule: &Schedule) -> String {
        let text = schedule.to_string();
        lines(text.lines().filter(|line| line.starts_with("turn")).map(str::to_owned))
    }

    #[test]
    fn turns_that_do_not_matter_are_gathered() {
        let long =
            schedule("turn 1 0\nturn 2 0\nturn 1 0\nturn 2 1\nturn 1 2!first\nturn 2 3!culprit\nturn 1 4!second\n");
        let short = minimal(&long, 50, |_| true);
        assert_eq!(turns(&short), "turn 1 0*2 2!first\nturn 2 0 1 3!culprit\nturn 1 4!second\n");
    }

    #[test]
    fn what_matters_stays() {
        let long = schedule("turn 1 0\nturn 2 0\nturn 1 1\nturn 2 1!first\nturn 1 2!culprit\nturn 2 2!second\n");
        // Thread 2 must do its first step between the first two of thread 1.
        let needed = |schedule: &Schedule| schedule.turns[0].steps.len() == 1 && schedule.turns[1].thread == 2;
        let short = minimal(&long, 50, needed);
        assert_eq!(turns(&short), "turn 1 0\nturn 2 0 1!first\nturn 1 1 2!culprit\nturn 2 2!second\n");
        assert_eq!(turns(&minimal(&long, 50, |_| false)), turns(&long));
    }

    #[test]
    fn it_is_tried_no_more_often_than_it_may_be() {
        let many = lines((0..200).map(|turn| format!("turn {} 0", turn % 3)));
        let mut tries = 0;
        let _ = minimal(&schedule(&many), 7, |_| {
            tries += 1;
            false
        });
        assert_eq!(tries, 7);
    }
}
