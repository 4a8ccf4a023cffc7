//! The order in which a scenario runs: as written, given, or at random.

use super::Source;
use crate::cli::exit::{ExitCode, Failure};
use crate::options::closest;
use crate::scenario::machine::{Effect, Machine, Taken};
use crate::scenario::program::{Operation, Place};
use crate::scenario::run::{Blocked, MOST_STEPS, Run};
use crate::scenario::tree::{ObjectId, ThreadIndex};

/// The order of the steps: as written if nothing else is said
#[derive(clap::Args, Debug)]
pub struct OrderFlags {
    /// Whose step comes when, as in 't1*3 t2 t1'; as written when that is at its end
    #[arg(long, value_name = "THREADS")]
    order: Option<String>,

    /// An order that looks random and depends on this number only
    #[arg(long, value_name = "NUMBER", conflicts_with = "order")]
    seed: Option<u64>,
}

impl OrderFlags {
    /// Whether another order than the written one is wanted.
    pub fn is_given(&self) -> bool {
        self.order.is_some() || self.seed.is_some()
    }

    /// Runs the scenario.
    pub fn run(&self, source: &Source, machine: &Machine<'_>) -> Result<Run, Failure> {
        let run = match (&self.order, self.seed) {
            (Some(order), _) => {
                let order = parse(source, order)?;
                machine
                    .run_in_order(&order)
                    .map_err(|blocked| Failure::new(ExitCode::Usage, describe(source, machine, &order, blocked)))?
            }
            (None, Some(seed)) => machine.run_at_random(seed),
            (None, None) => machine.run_as_written(),
        };
        if run.order.len() >= MOST_STEPS {
            return Err(Failure::internal(format!(
                "{} takes more than {MOST_STEPS} steps in this order; let its loops end earlier",
                source.path
            )));
        }
        Ok(run)
    }
}

/// Reads `t1*3 t2 t1`.
fn parse(source: &Source, text: &str) -> Result<Vec<ThreadIndex>, Failure> {
    let wrong = |text: String| Failure::new(ExitCode::Usage, format!("--order: {text}"));
    let names = || source.scenario.threads.iter().map(|thread| thread.name.as_str());
    let mut order = Vec::new();
    for word in text.split_whitespace() {
        let (name, count) = word.split_once('*').unwrap_or((word, "1"));
        let thread = names().position(|known| known == name).ok_or_else(|| {
            let advice = match closest(name, names()) {
                Some(nearest) => format!("did you mean '{nearest}'?"),
                None => format!("the threads are {}", names().collect::<Vec<_>>().join(", ")),
            };
            wrong(format!("there is no thread '{name}'; {advice}"))
        })?;
        let count =
            count.parse().ok().filter(|count| (1..=MOST_STEPS - order.len()).contains(count)).ok_or_else(|| {
                wrong(format!("'{word}' has no count of steps from 1 to {MOST_STEPS}; write '{name}' or '{name}*3'"))
            })?;
        order.extend(std::iter::repeat_n(thread, count));
    }
    Ok(order)
}

/// Says which step of the order cannot be taken, and why.
fn describe(source: &Source, machine: &Machine<'_>, order: &[ThreadIndex], blocked: Blocked) -> String {
    let mut log = Vec::new();
    let mut state = machine.start(&mut log);
    for &thread in &order[..blocked.after] {
        machine.step(&mut state, thread, &mut log);
    }
    let name = source.name(blocked.thread);
    let number = blocked.after + 1;
    let Some(place) = blocked.at else {
        let stopped = log
            .iter()
            .any(|taken| taken.place.thread as usize == blocked.thread && matches!(taken.effect, Effect::Stopped(_)));
        let why = if machine.has_finished(&state, blocked.thread) {
            "has no step left"
        } else if stopped {
            "has stopped for good"
        } else {
            "has not been forked yet"
        };
        return format!("--order: step {number} cannot be taken: {name} {why}");
    };
    let at = source.place(machine.program.at(place).at);
    let why = reason(source, machine, &log, place, machine.is_asleep(&state, blocked.thread));
    format!("--order: step {number} cannot be taken: {name} stands at {at}, and {why}")
}

/// Why a thread cannot go on from where it stands.
fn reason(source: &Source, machine: &Machine<'_>, log: &[Taken], place: Place, is_asleep: bool) -> String {
    let object = |id: ObjectId| &source.scenario.objects[id].name;
    match machine.program.at(place).operation {
        Operation::WaitCondition { condition, .. } if is_asleep => {
            format!("nobody has signalled {} since it fell asleep", object(condition))
        }
        Operation::WaitBarrier(barrier) => format!("others have to arrive at {} first", object(barrier)),
        Operation::Acquire { lock, .. } | Operation::WaitCondition { lock, .. } => {
            let holders: Vec<&str> = holders(log, lock).into_iter().map(|thread| source.name(thread)).collect();
            format!("{} is held by {}", object(lock), holders.join(", "))
        }
        Operation::WaitSemaphore(semaphore) => format!("{} has no unit", object(semaphore)),
        Operation::Join(child) => format!("{} is not at its end", source.name(child)),
        _ => "it has to wait".to_owned(),
    }
}

/// Who holds a lock, each once.
fn holders(log: &[Taken], lock: ObjectId) -> Vec<ThreadIndex> {
    let mut holders = Vec::new();
    for taken in log {
        let thread = taken.place.thread as usize;
        match taken.effect {
            Effect::Acquired { lock: it, again: false, .. } | Effect::Resumed { lock: it, .. } if it == lock => {
                holders.push(thread);
            }
            Effect::Released { lock: it, again: false, .. } | Effect::Slept { lock: it, .. } if it == lock => {
                holders.retain(|holder| *holder != thread);
            }
            _ => {}
        }
    }
    holders
}
