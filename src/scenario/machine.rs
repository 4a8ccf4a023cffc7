//! The meaning of a scenario: a state, who can take a step in it, and what that step does.
//!
//! A step is one operation that others can notice, and all that the thread does for itself after it. Memory is sequentially
//! consistent. Whoever waits for a condition is woken in the order of waiting, and only by a signal.
//!
//! A wait for a condition or at a barrier is two steps: going to sleep, and going on.

use super::program::{Operation, Place, Program, Update};
use super::tree::{ObjectId, ObjectKind, ThreadIndex};

/// Where everything stands: one flat list of words, so that it is cheap to copy and to compare.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State(Box<[i64]>);

impl State {
    /// All of it.
    #[must_use]
    pub fn words(&self) -> &[i64] {
        &self.0
    }
}

/// What a step did.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Taken {
    pub place: Place,
    pub effect: Effect,
    /// Of an access, what the variable held before it and after it.
    pub values: [i64; 2],
}

impl Taken {
    /// What changes no variable.
    const fn new(place: Place, effect: Effect) -> Taken {
        Taken { place, effect, values: [0; 2] }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// `again`: its owner had it already.
    Acquired {
        lock: ObjectId,
        shared: bool,
        again: bool,
    },
    /// `again`: it still has it.
    Released {
        lock: ObjectId,
        shared: bool,
        again: bool,
    },
    /// A try failed.
    Refused(ObjectId),
    Read(ObjectId),
    Wrote(ObjectId),
    /// Read and wrote, both at once.
    Updated(ObjectId),
    Forked(ThreadIndex),
    Joined(ThreadIndex),
    /// Gave back the lock and went to sleep.
    Slept {
        condition: ObjectId,
        lock: ObjectId,
    },
    /// Was woken and has the lock again.
    Resumed {
        condition: ObjectId,
        lock: ObjectId,
    },
    Signalled(ObjectId),
    Arrived(ObjectId),
    Passed(ObjectId),
    Posted(ObjectId),
    TookUnit(ObjectId),
    Began,
    Ended,
    AssertionFailed,
    /// On the way to this place, decided so often which way to go. An assertion decides nothing: the thread goes on in any case.
    Branched(u32),
    /// The thread has come to its end; the place is behind its last instruction.
    Finished,
    /// The thread stops here for good.
    Stopped(Misuse),
}

/// What a real program must not do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Misuse {
    /// Releases, or waits with, a lock that it does not hold.
    NotHeld,
    /// Waits with a lock that it took more than once: the wait would give it back only once.
    HeldAgain,
    /// Does nothing that others can notice for too long.
    Endless,
}

/// Local steps that a thread may take in a row.
const MOST_LOCAL: u32 = 1_000_000;

/// What a thread is doing; 0 before it is forked.
mod phase {
    pub const READY: i64 = 1;
    /// In front of the instruction that it waits in.
    pub const ASLEEP: i64 = 2;
    pub const WOKEN: i64 = 3;
    pub const FINISHED: i64 = 4;
    pub const STOPPED: i64 = 5;
}

/// Words of a thread, before its registers and its loops.
const PC: usize = 0;
const PHASE: usize = 1;
/// Its place among those who wait for the same condition, from 1.
const QUEUE: usize = 2;
const THREAD_WORDS: usize = 3;

/// Words of a lock: its owner from 1, and how often the owner took it; or instead, for each thread how often it took it for reading.
const OWNER: usize = 0;
const DEPTH: usize = 1;
const READERS: usize = 1;

/// How an operation uses an object: two uses commute if both only look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    pub object: ObjectId,
    pub exclusive: bool,
}

pub struct Machine<'p> {
    pub program: &'p Program,
    threads: Vec<usize>,
    objects: Vec<usize>,
    words: usize,
}

impl<'p> Machine<'p> {
    #[must_use]
    pub fn new(program: &'p Program) -> Machine<'p> {
        let mut words = 0;
        let mut room = |size: usize| {
            words += size;
            words - size
        };
        let threads = program.threads.iter().map(|code| room(THREAD_WORDS + code.registers + code.loops)).collect();
        let objects = program
            .objects
            .iter()
            .map(|kind| match kind {
                ObjectKind::Recursive => room(2),
                ObjectKind::RwLock => room(READERS + program.threads.len()),
                ObjectKind::Condition => room(0),
                _ => room(1),
            })
            .collect();
        Machine { program, threads, objects, words }
    }

    /// The first state: every thread that nobody forks has begun.
    #[must_use]
    pub fn start(&self, log: &mut Vec<Taken>) -> State {
        let mut state = State(vec![0; self.words].into());
        for (object, kind) in self.program.objects.iter().enumerate() {
            match *kind {
                ObjectKind::Variable(value) | ObjectKind::Atomic(value) => *self.word(&mut state, object, 0) = value,
                ObjectKind::Semaphore(units) => *self.word(&mut state, object, 0) = i64::from(units),
                _ => {}
            }
        }
        for thread in 0..self.program.threads.len() {
            if self.program.parents[thread].is_none() {
                self.begin(&mut state, thread, log);
            }
        }
        state
    }

    fn word<'s>(&self, state: &'s mut State, object: ObjectId, word: usize) -> &'s mut i64 {
        &mut state.0[self.objects[object] + word]
    }

    fn get(&self, state: &State, object: ObjectId, word: usize) -> i64 {
        state.0[self.objects[object] + word]
    }

    fn thread<'s>(&self, state: &'s mut State, thread: ThreadIndex) -> &'s mut [i64] {
        &mut state.0[self.threads[thread]..]
    }

    fn phase(&self, state: &State, thread: ThreadIndex) -> i64 {
        state.0[self.threads[thread] + PHASE]
    }

    fn place(&self, state: &State, thread: ThreadIndex) -> Place {
        Place { thread: thread as u32, index: state.0[self.threads[thread] + PC] as u32 }
    }

    fn registers<'s>(&self, state: &'s State, thread: ThreadIndex) -> &'s [i64] {
        let base = self.threads[thread] + THREAD_WORDS;
        &state.0[base..base + self.program.threads[thread].registers]
    }

    /// The value of a variable.
    #[must_use]
    pub fn value(&self, state: &State, variable: ObjectId) -> i64 {
        self.get(state, variable, 0)
    }

    /// Where a thread stands, if it has begun and is not over.
    #[must_use]
    pub fn next(&self, state: &State, thread: ThreadIndex) -> Option<Place> {
        let is_alive = matches!(self.phase(state, thread), phase::READY | phase::ASLEEP | phase::WOKEN);
        is_alive.then(|| self.place(state, thread))
    }

    /// Whether the thread sleeps until another one wakes it.
    #[must_use]
    pub fn is_asleep(&self, state: &State, thread: ThreadIndex) -> bool {
        self.phase(state, thread) == phase::ASLEEP
    }

    /// Whether the thread came to its end.
    #[must_use]
    pub fn has_finished(&self, state: &State, thread: ThreadIndex) -> bool {
        self.phase(state, thread) == phase::FINISHED
    }

    /// Whether anybody has the lock for reading.
    fn is_read(&self, state: &State, lock: ObjectId) -> bool {
        (0..self.threads.len()).any(|reader| self.get(state, lock, READERS + reader) > 0)
    }

    /// Whether the lock could be acquired now.
    fn is_free(&self, state: &State, lock: ObjectId, thread: ThreadIndex, shared: bool) -> bool {
        let owner = self.get(state, lock, OWNER);
        match self.program.objects[lock] {
            ObjectKind::Recursive => owner == 0 || owner == thread as i64 + 1,
            ObjectKind::RwLock => owner == 0 && (shared || !self.is_read(state, lock)),
            _ => owner == 0,
        }
    }

    /// Whether the thread can take a step.
    #[must_use]
    pub fn can_step(&self, state: &State, thread: ThreadIndex) -> bool {
        let Some(place) = self.next(state, thread) else { return false };
        match (self.phase(state, thread), &self.program.at(place).operation) {
            (phase::ASLEEP, _) => false,
            (phase::WOKEN, Operation::WaitCondition { lock, .. }) => self.is_free(state, *lock, thread, false),
            (_, Operation::Acquire { lock, shared }) => self.is_free(state, *lock, thread, *shared),
            (_, Operation::WaitSemaphore(semaphore)) => self.get(state, *semaphore, 0) > 0,
            (_, Operation::Join(child)) => self.has_finished(state, *child),
            _ => true,
        }
    }

    /// What an operation touches, whatever it will come to.
    pub fn touches(operation: &Operation) -> impl Iterator<Item = Touch> {
        let one = |object, exclusive| [Some(Touch { object, exclusive }), None];
        let touches = match *operation {
            Operation::Acquire { lock, shared } => one(lock, !shared),
            Operation::Release(object)
            | Operation::Try { object, .. }
            | Operation::Write { variable: object, .. }
            | Operation::Update { variable: object, .. }
            | Operation::WaitBarrier(object)
            | Operation::WaitSemaphore(object)
            | Operation::Post(object)
            | Operation::Signal { condition: object, .. } => one(object, true),
            Operation::Read { variable, .. } => one(variable, false),
            Operation::WaitCondition { condition, lock } => {
                [condition, lock].map(|object| Some(Touch { object, exclusive: true }))
            }
            _ => [None, None],
        };
        touches.into_iter().flatten()
    }

    /// Lets the thread take its step. It must be able to.
    pub fn step(&self, state: &mut State, thread: ThreadIndex, log: &mut Vec<Taken>) {
        let place = self.place(state, thread);
        let operation = &self.program.at(place).operation;
        let variable = match *operation {
            Operation::Read { variable, .. }
            | Operation::Write { variable, .. }
            | Operation::Update { variable, .. } => Some(variable),
            _ => None,
        };
        let value = |state: &State| variable.map_or(0, |variable| self.value(state, variable));
        let before = value(state);
        let done = self.perform(state, thread, operation, self.phase(state, thread) == phase::WOKEN);
        match done {
            Ok((effect, goes_on)) => {
                log.push(Taken { place, effect, values: [before, value(state)] });
                // A forked thread runs its first local steps when it is born, so that its parent's come later.
                if let Effect::Forked(child) = effect {
                    self.begin(state, child, log);
                }
                if goes_on {
                    let me = self.thread(state, thread);
                    me[PHASE] = phase::READY;
                    me[PC] += 1;
                    self.run_local(state, thread, log);
                }
            }
            Err(misuse) => self.stop(state, thread, misuse, log),
        }
    }

    fn begin(&self, state: &mut State, thread: ThreadIndex, log: &mut Vec<Taken>) {
        self.thread(state, thread)[PHASE] = phase::READY;
        self.run_local(state, thread, log);
    }

    fn stop(&self, state: &mut State, thread: ThreadIndex, misuse: Misuse, log: &mut Vec<Taken>) {
        log.push(Taken::new(self.place(state, thread), Effect::Stopped(misuse)));
        self.thread(state, thread)[PHASE] = phase::STOPPED;
    }

    fn set(&self, state: &mut State, thread: ThreadIndex, register: usize, value: i64) {
        self.thread(state, thread)[THREAD_WORDS + register] = value;
    }

    /// The visible part of a step, and whether the thread goes on to its next instruction.
    fn perform(
        &self,
        state: &mut State,
        thread: ThreadIndex,
        operation: &Operation,
        woken: bool,
    ) -> Result<(Effect, bool), Misuse> {
        let effect = match *operation {
            Operation::Acquire { lock, shared } => self.acquire(state, thread, lock, shared),
            Operation::Release(lock) => self.release(state, thread, lock)?,
            Operation::Try { into, object, shared } => {
                let is_semaphore = matches!(self.program.objects[object], ObjectKind::Semaphore(_));
                let succeeds = if is_semaphore {
                    self.get(state, object, 0) > 0
                } else {
                    self.is_free(state, object, thread, shared)
                };
                self.set(state, thread, into, i64::from(succeeds));
                match (succeeds, is_semaphore) {
                    (false, _) => Effect::Refused(object),
                    (true, true) => self.take_unit(state, object),
                    (true, false) => self.acquire(state, thread, object, shared),
                }
            }
            Operation::Read { into, variable } => {
                let value = self.value(state, variable);
                if let Some(into) = into {
                    self.set(state, thread, into, value);
                }
                Effect::Read(variable)
            }
            Operation::Write { variable, ref value } => {
                *self.word(state, variable, 0) = value.of(self.registers(state, thread));
                Effect::Wrote(variable)
            }
            Operation::Update { into, variable, ref update } => self.update(state, thread, into, variable, update),
            Operation::Fork(child) => Effect::Forked(child),
            Operation::Join(child) => Effect::Joined(child),
            Operation::WaitCondition { condition, lock } if woken => {
                self.acquire(state, thread, lock, false);
                Effect::Resumed { condition, lock }
            }
            Operation::WaitCondition { condition, lock } => {
                if self.is_held_again(state, thread, lock) {
                    return Err(Misuse::HeldAgain);
                }
                self.release(state, thread, lock)?;
                let waiting = self.sleepers(state, operation).count() as i64;
                let me = self.thread(state, thread);
                me[PHASE] = phase::ASLEEP;
                me[QUEUE] = waiting + 1;
                return Ok((Effect::Slept { condition, lock }, false));
            }
            Operation::WaitBarrier(barrier) if woken => Effect::Passed(barrier),
            Operation::WaitBarrier(barrier) => {
                self.arrive(state, thread, barrier, operation);
                return Ok((Effect::Arrived(barrier), false));
            }
            Operation::WaitSemaphore(semaphore) => self.take_unit(state, semaphore),
            Operation::Signal { condition, all } => {
                self.wake(state, condition, all);
                Effect::Signalled(condition)
            }
            Operation::Post(semaphore) => {
                *self.word(state, semaphore, 0) += 1;
                Effect::Posted(semaphore)
            }
            // Local operations are never stood at.
            _ => Effect::Finished,
        };
        Ok((effect, true))
    }

    fn acquire(&self, state: &mut State, thread: ThreadIndex, lock: ObjectId, shared: bool) -> Effect {
        let is_recursive = self.program.objects[lock] == ObjectKind::Recursive;
        if !shared {
            *self.word(state, lock, OWNER) = thread as i64 + 1;
        }
        let mut again = false;
        if shared || is_recursive {
            let depth = self.depth(state, thread, lock, shared);
            again = *depth > 0;
            *depth += 1;
        }
        Effect::Acquired { lock, shared, again }
    }

    fn release(&self, state: &mut State, thread: ThreadIndex, lock: ObjectId) -> Result<Effect, Misuse> {
        let kind = self.program.objects[lock];
        let is_owner = self.get(state, lock, OWNER) == thread as i64 + 1;
        let shared = !is_owner && kind == ObjectKind::RwLock;
        let mut again = false;
        if shared || is_owner && kind == ObjectKind::Recursive {
            let depth = self.depth(state, thread, lock, shared);
            if *depth == 0 {
                return Err(Misuse::NotHeld);
            }
            *depth -= 1;
            again = *depth > 0;
        } else if !is_owner {
            return Err(Misuse::NotHeld);
        }
        if is_owner && !again {
            *self.word(state, lock, OWNER) = 0;
        }
        Ok(Effect::Released { lock, shared, again })
    }

    /// How often the thread has taken what may be taken again: a recursive lock, or a reader-writer lock for reading.
    fn depth<'s>(&self, state: &'s mut State, thread: ThreadIndex, lock: ObjectId, shared: bool) -> &'s mut i64 {
        self.word(state, lock, if shared { READERS + thread } else { DEPTH })
    }

    /// Whether the thread took the recursive lock more than once.
    fn is_held_again(&self, state: &State, thread: ThreadIndex, lock: ObjectId) -> bool {
        self.program.objects[lock] == ObjectKind::Recursive
            && self.get(state, lock, OWNER) == thread as i64 + 1
            && self.get(state, lock, DEPTH) > 1
    }

    fn take_unit(&self, state: &mut State, semaphore: ObjectId) -> Effect {
        *self.word(state, semaphore, 0) -= 1;
        Effect::TookUnit(semaphore)
    }

    fn update(
        &self,
        state: &mut State,
        thread: ThreadIndex,
        into: Option<usize>,
        variable: ObjectId,
        update: &Update,
    ) -> Effect {
        let old = self.value(state, variable);
        let registers = self.registers(state, thread);
        let (new, result) = match update {
            Update::Add(value) => (Some(old.wrapping_add(value.of(registers))), old),
            Update::Swap(value) => (Some(value.of(registers)), old),
            Update::Exchange(expected, new) if expected.of(registers) == old => (Some(new.of(registers)), 1),
            Update::Exchange(..) => (None, 0),
        };
        if let Some(into) = into {
            self.set(state, thread, into, result);
        }
        match new {
            Some(new) => {
                *self.word(state, variable, 0) = new;
                Effect::Updated(variable)
            }
            None => Effect::Read(variable),
        }
    }

    /// The threads that sleep in an operation on the same object as this one.
    fn sleepers<'a>(&'a self, state: &'a State, operation: &'a Operation) -> impl Iterator<Item = ThreadIndex> + 'a {
        let object = |operation: &Operation| match *operation {
            Operation::WaitCondition { condition: object, .. }
            | Operation::WaitBarrier(object)
            | Operation::Signal { condition: object, .. } => Some(object),
            _ => None,
        };
        (0..self.threads.len()).filter(move |&other| {
            self.phase(state, other) == phase::ASLEEP
                && object(&self.program.at(self.place(state, other)).operation) == object(operation)
        })
    }

    fn wake(&self, state: &mut State, condition: ObjectId, all: bool) {
        let sleepers: Vec<ThreadIndex> = self.sleepers(state, &Operation::Signal { condition, all }).collect();
        for other in sleepers {
            let other = self.thread(state, other);
            if all || other[QUEUE] == 1 {
                other[QUEUE] = 0;
                other[PHASE] = phase::WOKEN;
            } else {
                other[QUEUE] -= 1;
            }
        }
    }

    fn arrive(&self, state: &mut State, thread: ThreadIndex, barrier: ObjectId, operation: &Operation) {
        let ObjectKind::Barrier(most) = self.program.objects[barrier] else { return };
        *self.word(state, barrier, 0) += 1;
        self.thread(state, thread)[PHASE] = phase::ASLEEP;
        if self.get(state, barrier, 0) >= i64::from(most) {
            *self.word(state, barrier, 0) = 0;
            for other in self.sleepers(state, operation).collect::<Vec<_>>() {
                self.thread(state, other)[PHASE] = phase::WOKEN;
            }
        }
    }

    /// Runs what concerns nobody else, up to the next operation that does.
    fn run_local(&self, state: &mut State, thread: ThreadIndex, log: &mut Vec<Taken>) {
        let mut branches = 0;
        let code = &self.program.threads[thread];
        for _ in 0..MOST_LOCAL {
            let place = self.place(state, thread);
            let Some(instruction) = code.instructions.get(place.index as usize) else {
                self.thread(state, thread)[PHASE] = phase::FINISHED;
                return log.push(Taken::new(place, Effect::Finished));
            };
            let registers = self.registers(state, thread);
            let mut next = place.index + 1;
            match &instruction.operation {
                Operation::Begin => log.push(Taken::new(place, Effect::Began)),
                Operation::End => log.push(Taken::new(place, Effect::Ended)),
                Operation::Set { register, value } => {
                    let value = value.of(registers);
                    self.set(state, thread, *register, value);
                }
                Operation::Assert(value) => {
                    if value.of(registers) == 0 {
                        log.push(Taken::new(place, Effect::AssertionFailed));
                    }
                }
                Operation::JumpUnless { condition, target } => {
                    branches += 1;
                    if condition.of(registers) == 0 {
                        next = *target;
                    }
                }
                Operation::Jump(target) => next = *target,
                Operation::LoopStart(count) => self.set(state, thread, code.registers + count, 0),
                Operation::LoopTurn { count, condition, most, target } => {
                    let turns = self.threads[thread] + THREAD_WORDS + code.registers + count;
                    branches += 1;
                    if condition.of(registers) == 0 || state.0[turns] >= i64::from(*most) {
                        next = *target;
                        state.0[turns] = 0;
                    } else {
                        state.0[turns] += 1;
                    }
                }
                _ if branches > 0 => return log.push(Taken::new(place, Effect::Branched(branches))),
                _ => return,
            }
            self.thread(state, thread)[PC] = i64::from(next);
        }
        self.stop(state, thread, Misuse::Endless, log);
    }
}
