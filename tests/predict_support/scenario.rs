//! Runs of scenarios: what a predicted order shows when the interpreter takes its steps.

use avmon::predict::history::{At, History, Op};
use avmon::predict::search::Order;
use avmon::scenario::events::place_of;
use avmon::scenario::facts::Facts;
use avmon::scenario::machine::{Effect, Machine, Taken};
use avmon::scenario::program::Place;
use avmon::scenario::run::Run;

/// Where a step is in the scenario.
pub fn place(history: &History, at: At) -> Place {
    place_of(history.pc(at)).expect("a place of the scenario")
}

/// What the run shows in which the interpreter takes the steps of a predicted order.
pub fn perform(machine: &Machine<'_>, history: &History, order: &Order) -> Result<Facts, String> {
    performed(machine, history, order).map(|run| Facts::of(machine.program, &run, false))
}

/// Lets the interpreter take the steps of a predicted order. A step that cannot be taken is told.
pub fn performed(machine: &Machine<'_>, history: &History, order: &Order) -> Result<Run, String> {
    let mut log = Vec::new();
    let mut state = machine.start(&mut log);
    // How much of each thread's log is accounted for.
    let mut seen = vec![0; machine.program.threads.len()];
    for at in (0..order.from).chain(order.steps.iter().copied()) {
        // What `main` does is no step, and a sleeper wakes in the step in which it gets its lock back.
        let wakes = history.step(at).op == Op::Await
            && history.from(at).get(1).is_some_and(|&next| history.pc(next) == history.pc(at));
        let Some(place) = place_of(history.pc(at)).filter(|_| !wakes) else { continue };
        let thread = place.thread as usize;
        loop {
            let is_mine =
                |taken: &&Taken| taken.place.thread == place.thread && !matches!(taken.effect, Effect::Branched(_));
            let mine = log.iter().filter(is_mine);
            let found = mine.skip(seen[thread]).position(|taken| taken.place == place);
            if let Some(distance) = found {
                seen[thread] += distance + 1;
                break;
            }
            if !machine.can_step(&state, thread) {
                return Err(format!("the order asks for {place:?}, which does not come: {log:?}"));
            }
            machine.step(&mut state, thread, &mut log);
        }
    }
    Ok(Run { order: Vec::new(), log, stuck: Vec::new() })
}
