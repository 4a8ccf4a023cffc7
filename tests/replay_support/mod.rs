//! A gate for the interpreter of scenarios: threads are stopped as in a real run, and choose freely where the schedule leaves them a choice.

use std::collections::BTreeMap;

use avmon::event::ThreadId;
use avmon::replay::schedule::{Act, Role, Schedule};
use avmon::scenario::events::{id_of, pc_of};
use avmon::scenario::machine::{Effect, Machine, State, Taken};
use avmon::scenario::program::{Operation, Program};
use avmon::scenario::run::Run;
use avmon::scenario::tree::{ObjectKind, ThreadIndex};

use crate::trace_run::Random;

/// A step that a schedule asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    pub thread: ThreadId,
    pub place: u32,
    pub role: Option<Role>,
}

/// All steps of a schedule.
pub fn asked(schedule: &Schedule) -> Vec<Asked> {
    let steps = schedule.turns.iter().flat_map(|turn| turn.steps.iter().map(|step| (turn.thread, *step)));
    let all = steps.flat_map(|(thread, step)| {
        std::iter::repeat_n(Asked { thread, place: step.place, role: step.role }, step.times as usize)
    });
    all.collect()
}

/// The places of a schedule over a program whose file begins at address 0.
pub fn places(schedule: &Schedule) -> BTreeMap<(u64, Act), u32> {
    let code = |code: Option<(u32, u64)>| code.map_or(0, |(_, offset)| offset);
    (0..).zip(&schedule.places).map(|(number, place)| ((code(place.code), place.act), number)).collect()
}

struct Gate<'a> {
    machine: &'a Machine<'a>,
    places: BTreeMap<(u64, Act), u32>,
    asked: Vec<Asked>,
    done: usize,
    roles: Vec<Role>,
    log: Vec<Taken>,
}

/// What a thread is about to do.
fn act(program: &Program, operation: &Operation, last: Option<Effect>) -> Option<Act> {
    let is_plain = |&variable: &usize| program.is_plain(variable);
    let act = match operation {
        Operation::WaitCondition { .. } if matches!(last, Some(Effect::Slept { .. })) => Act::Lock,
        Operation::WaitBarrier(_) if matches!(last, Some(Effect::Arrived(_))) => return None,
        Operation::Acquire { .. } | Operation::Try { .. } => Act::Lock,
        Operation::Release(_) | Operation::WaitCondition { .. } => Act::Unlock,
        Operation::Read { variable, .. } if is_plain(variable) => Act::Read,
        Operation::Write { variable, .. } if is_plain(variable) => Act::Write,
        Operation::Read { .. } | Operation::Write { .. } | Operation::Update { .. } => Act::Atomic,
        Operation::Fork(_) => Act::Fork,
        Operation::Join(_) => Act::Join,
        Operation::WaitSemaphore(_) => Act::Await,
        Operation::WaitBarrier(_) | Operation::Signal { .. } | Operation::Post(_) => Act::Signal,
        _ => return None,
    };
    Some(act)
}

impl Gate<'_> {
    /// The place that a thread is about to come to, if it is listed.
    fn stop(&self, state: &State, thread: ThreadIndex) -> Option<u32> {
        let place = self.machine.next(state, thread)?;
        let of_thread = |taken: &&Taken| {
            taken.place.thread as usize == thread && !matches!(taken.effect, Effect::Branched(_) | Effect::Began)
        };
        let last = self.log.iter().rev().find(of_thread).map(|taken| taken.effect);
        let operation = &self.machine.program.at(place).operation;
        let act = act(self.machine.program, operation, last)?;
        let listed = |act| self.places.get(&(pc_of(place), act)).copied();
        // Of an attempt on a semaphore it is known only afterwards whether it was a wait.
        let is_semaphore = matches!(operation, Operation::Try { object, .. }
            if matches!(self.machine.program.objects[*object], ObjectKind::Semaphore(_)));
        listed(act).or_else(|| listed(Act::Await).filter(|_| is_semaphore))
    }

    fn lets_pass(&self, state: &State, thread: ThreadIndex) -> Result<bool, String> {
        let Some(place) = self.stop(state, thread) else { return Ok(true) };
        match self.asked.get(self.done) {
            None => Ok(true),
            Some(asked) if asked.thread != id_of(thread) => Ok(false),
            Some(asked) if asked.place == place => Ok(true),
            Some(asked) => Err(format!("step {}: {asked:?} asked for, but {place} comes", self.done)),
        }
    }

    fn pass(&mut self, state: &mut State, thread: ThreadIndex) {
        if self.stop(state, thread).is_some() && self.done < self.asked.len() {
            self.roles.extend(self.asked[self.done].role);
            self.done += 1;
        }
        self.machine.step(state, thread, &mut self.log);
        // A thread ends with its last step, and is not stopped before.
        let end = self.places.get(&(0, Act::End));
        while let Some(asked) = self.asked.get(self.done)
            && Some(&asked.place) == end
            && self.machine.has_finished(state, asked.thread as ThreadIndex - 1)
        {
            self.done += 1;
        }
    }
}

/// Runs a scenario through a schedule until its last turn is over. Returns the steps with a role in the order in which they came, and the run.
///
/// # Errors
/// Tells where the run was not what the schedule asks for, or nobody could go on.
pub fn steer(machine: &Machine<'_>, schedule: &Schedule, seed: u64) -> Result<(Vec<Role>, Run), String> {
    let mut gate =
        Gate { machine, places: places(schedule), asked: asked(schedule), done: 0, roles: Vec::new(), log: Vec::new() };
    let mut state = machine.start(&mut gate.log);
    let mut random = Random(seed);
    while gate.done < gate.asked.len() {
        let mut able = Vec::new();
        for thread in (0..machine.program.threads.len()).filter(|&thread| machine.can_step(&state, thread)) {
            if gate.lets_pass(&state, thread)? {
                able.push(thread);
            }
        }
        if able.is_empty() {
            return Err(format!("nobody can go on at step {} of {:?}: {:?}", gate.done, gate.asked, gate.log));
        }
        gate.pass(&mut state, able[random.pick(able.len())]);
    }
    Ok((gate.roles, Run { order: Vec::new(), log: gate.log, stuck: Vec::new() }))
}
