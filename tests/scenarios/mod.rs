//! Random scenarios: what a plan says is made into a scenario that is well-formed whatever it says, so that a failure shrinks
//! by leaving out parts of the plan.

#![allow(dead_code, reason = "every test takes what it needs")]

pub mod judge;

use std::fmt;

use avmon::scenario::tree::{Action, Object, ObjectKind, Operator, Position, Scenario, Step, Thread, Value};
use proptest::prelude::*;

/// What scenarios may contain.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct Shape {
    pub threads: (usize, usize),
    pub locks: u8,
    pub variables: u8,
    /// Statements of a thread.
    pub length: usize,
    /// Every variable is accessed under its own lock only.
    pub race_free: bool,
    /// Sections inside sections.
    pub nested: bool,
    /// Locks are taken in one order, so that no two threads wait for each other's.
    pub ordered: bool,
    /// Sections that overlap without being nested.
    pub chains: bool,
    pub branches: bool,
    /// Some of the locks are reader-writer locks.
    pub shared: bool,
    pub tries: bool,
    pub forks: bool,
    pub conditions: bool,
    pub semaphores: bool,
    pub barriers: bool,
    pub atomics: bool,
    /// Assertions, and what nobody should do: locks given back that are not held, waits that look at no flag.
    pub odd: bool,
    /// Units of the semaphore at first, and how many meet at the barrier.
    pub units: u32,
    pub parties: u32,
}

impl Shape {
    pub const PLAIN: Shape = Shape {
        threads: (2, 2),
        locks: 2,
        variables: 2,
        length: 3,
        race_free: true,
        nested: true,
        ordered: false,
        chains: false,
        branches: false,
        shared: false,
        tries: false,
        forks: false,
        conditions: false,
        semaphores: false,
        barriers: false,
        atomics: false,
        odd: false,
        units: 1,
        parties: 2,
    };

    // One thing more each.
    pub const RACES: Shape = Shape { threads: (2, 3), race_free: false, ..Shape::PLAIN };
    pub const THREE_LOCKS: Shape = Shape { threads: (2, 3), locks: 3, variables: 3, ..Shape::PLAIN };
    pub const CHAINS: Shape = Shape { threads: (2, 3), locks: 3, chains: true, ..Shape::PLAIN };
    pub const SHARED: Shape = Shape { threads: (2, 3), shared: true, ..Shape::PLAIN };
    pub const FORKS: Shape = Shape { threads: (2, 4), forks: true, ..Shape::PLAIN };
    pub const ATOMICS: Shape = Shape { threads: (2, 3), atomics: true, ..Shape::PLAIN };
    pub const BRANCHES: Shape = Shape { threads: (2, 3), branches: true, ..Shape::PLAIN };
    pub const RACY_BRANCHES: Shape = Shape { threads: (2, 3), branches: true, race_free: false, ..Shape::PLAIN };
    pub const TRIES: Shape = Shape { threads: (2, 3), tries: true, branches: true, ..Shape::PLAIN };
    pub const ATOMIC_BRANCHES: Shape = Shape { threads: (2, 3), atomics: true, branches: true, ..Shape::PLAIN };
    pub const CONDITIONS: Shape = Shape { threads: (2, 3), conditions: true, ..Shape::PLAIN };
    pub const SEMAPHORES: Shape = Shape { threads: (2, 3), semaphores: true, ..Shape::PLAIN };
    pub const BARRIERS: Shape = Shape { threads: (2, 3), barriers: true, ..Shape::PLAIN };

    // Several variables under one lock.
    pub const PAIRS: Shape = Shape { locks: 1, length: 4, ..Shape::PLAIN };
    pub const PARTS_OF_THREE: Shape = Shape { threads: (2, 3), variables: 3, ..Shape::PAIRS };
    pub const SHARED_PAIRS: Shape = Shape { shared: true, ..Shape::PAIRS };
    pub const RACY_PAIRS: Shape = Shape { race_free: false, ..Shape::PAIRS };
    pub const BRANCHING_PAIRS: Shape = Shape { branches: true, ..Shape::PAIRS };

    /// Everything at once, and races, too.
    pub const EVERYTHING: Shape = Shape {
        threads: (2, 3),
        length: 2,
        race_free: false,
        chains: true,
        branches: true,
        shared: true,
        tries: true,
        forks: true,
        conditions: true,
        semaphores: true,
        barriers: true,
        atomics: true,
        ..Shape::PLAIN
    };
}

/// A statement of a plan. Numbers are taken modulo what there is.
#[derive(Clone, Debug)]
pub enum Plan {
    Section {
        lock: u8,
        shared: bool,
        body: Vec<Plan>,
    },
    Chain {
        lock: u8,
        body: Vec<Plan>,
    },
    Block(Vec<Plan>),
    Read(u8),
    Write(u8, u8),
    /// Writes what the thread read last, and one more.
    WriteRead(u8),
    If {
        variable: u8,
        equals: u8,
        then: Vec<Plan>,
        otherwise: Vec<Plan>,
    },
    IfAtomic {
        atomic: u8,
        equals: u8,
        then: Vec<Plan>,
        otherwise: Vec<Plan>,
    },
    Loop {
        variable: u8,
        most: u8,
        body: Vec<Plan>,
    },
    Try {
        lock: u8,
        body: Vec<Plan>,
    },
    Load(u8),
    Store(u8, u8),
    Add(u8),
    Exchange(u8, u8),
    Fork,
    Join,
    AwaitFlag,
    RaiseFlag {
        all: bool,
    },
    Post,
    TakeUnit,
    TryUnit,
    Meet,
    Assert {
        equals: u8,
    },
    Swap(u8, u8),
    TryShared {
        lock: u8,
        body: Vec<Plan>,
    },
    StrayRelease(u8),
    WaitOnce,
}

/// Alternatives, of which those with weight 0 are left out.
fn one_of(alternatives: Vec<(u32, BoxedStrategy<Plan>)>) -> BoxedStrategy<Plan> {
    prop::strategy::Union::new_weighted(alternatives.into_iter().filter(|(weight, _)| *weight > 0).collect()).boxed()
}

/// One statement of those that the shape allows.
fn statement(shape: Shape) -> impl Strategy<Value = Plan> {
    let number = || 0..8_u8;
    let [atomics, forks, conditions] = [shape.atomics, shape.forks, shape.conditions].map(u32::from);
    let [semaphores, barriers, odd] = [shape.semaphores, shape.barriers, shape.odd].map(u32::from);
    let leaf = one_of(vec![
        (4, number().prop_map(Plan::Read).boxed()),
        (4, (number(), number()).prop_map(|(variable, value)| Plan::Write(variable, value)).boxed()),
        (2, number().prop_map(Plan::WriteRead).boxed()),
        (2 * atomics, number().prop_map(Plan::Load).boxed()),
        (2 * atomics, (number(), number()).prop_map(|(atomic, value)| Plan::Store(atomic, value)).boxed()),
        (atomics, number().prop_map(Plan::Add).boxed()),
        (atomics, (number(), number()).prop_map(|(atomic, value)| Plan::Exchange(atomic, value)).boxed()),
        (2 * forks, Just(Plan::Fork).boxed()),
        (forks, Just(Plan::Join).boxed()),
        (2 * conditions, Just(Plan::AwaitFlag).boxed()),
        (2 * conditions, any::<bool>().prop_map(|all| Plan::RaiseFlag { all }).boxed()),
        (2 * semaphores, Just(Plan::Post).boxed()),
        (semaphores, Just(Plan::TakeUnit).boxed()),
        (semaphores, Just(Plan::TryUnit).boxed()),
        (barriers, Just(Plan::Meet).boxed()),
        (3 * odd, (0..3_u8).prop_map(|equals| Plan::Assert { equals }).boxed()),
        (odd * atomics, (number(), number()).prop_map(|(atomic, value)| Plan::Swap(atomic, value)).boxed()),
        (odd, number().prop_map(Plan::StrayRelease).boxed()),
        (odd * conditions, Just(Plan::WaitOnce).boxed()),
    ]);
    leaf.prop_recursive(3, 8, 3, move |inner| {
        let body = || prop::collection::vec(inner.clone(), 0..3);
        let [chains, tries, branches] = [shape.chains, shape.tries, shape.branches].map(u32::from);
        let section =
            (number(), any::<bool>(), body()).prop_map(|(lock, shared, body)| Plan::Section { lock, shared, body });
        let arms = || (number(), 0..3_u8, body(), body());
        one_of(vec![
            (6, section.boxed()),
            (4, prop::collection::vec(inner.clone(), 1..4).prop_map(Plan::Block).boxed()),
            (chains, (number(), body()).prop_map(|(lock, body)| Plan::Chain { lock, body }).boxed()),
            (tries, (number(), body()).prop_map(|(lock, body)| Plan::Try { lock, body }).boxed()),
            (odd, (number(), body()).prop_map(|(lock, body)| Plan::TryShared { lock, body }).boxed()),
            (
                3 * branches,
                arms()
                    .prop_map(|(variable, equals, then, otherwise)| Plan::If { variable, equals, then, otherwise })
                    .boxed(),
            ),
            (
                2 * branches * atomics,
                arms()
                    .prop_map(|(atomic, equals, then, otherwise)| Plan::IfAtomic { atomic, equals, then, otherwise })
                    .boxed(),
            ),
            (
                branches,
                (number(), 1..3_u8, body())
                    .prop_map(|(variable, most, body)| Plan::Loop { variable, most, body })
                    .boxed(),
            ),
        ])
    })
}

/// A scenario, and a number to choose runs by. Shown as text.
#[derive(Clone)]
pub struct Case {
    pub scenario: Scenario,
    pub seed: u64,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}\n{}", self.seed, self.scenario)
    }
}

/// Scenarios of a shape.
pub fn cases(shape: Shape) -> impl Strategy<Value = Case> {
    let thread = prop::collection::vec(statement(shape), 1..=shape.length);
    let threads = prop::collection::vec(thread, shape.threads.0..=shape.threads.1);
    (threads, any::<u64>()).prop_map(move |(plans, seed)| Case { scenario: build(shape, &plans), seed })
}

/// The scenario of a plan.
pub fn build(shape: Shape, plans: &[Vec<Plan>]) -> Scenario {
    let mut builder = Builder::new(shape, plans.len());
    for (index, plan) in plans.iter().enumerate() {
        let mut thread =
            Writer { builder: &mut builder, index, held: Vec::new(), registers: 0, arms: 0, children: Vec::new() };
        let steps = thread.list(plan);
        let registers = (0..thread.registers).map(|register| format!("r{register}")).collect();
        builder.scenario.threads.push(Thread { name: format!("t{}", index + 1), registers, steps });
    }
    builder.scenario
}

struct Builder {
    shape: Shape,
    scenario: Scenario,
    forked: Vec<bool>,
    objects: Objects,
}

/// The first object of each kind.
#[derive(Clone, Copy, Default)]
struct Objects {
    variables: usize,
    atomics: usize,
    flag: usize,
    flag_lock: usize,
    condition: usize,
    semaphore: usize,
    barrier: usize,
}

const ATOMICS: u8 = 2;

impl Builder {
    fn new(shape: Shape, threads: usize) -> Builder {
        let mut scenario = Scenario::default();
        let mut declare = |name: String, kind| {
            scenario.objects.push(Object { name, kind });
            scenario.objects.len() - 1
        };
        let mut objects = Objects::default();
        for lock in 0..shape.locks {
            let kind = match (shape.shared, lock % 2) {
                (true, 0) => ObjectKind::RwLock,
                (false, 1) if shape.nested => ObjectKind::Recursive,
                _ => ObjectKind::Lock,
            };
            declare(format!("m{lock}"), kind);
        }
        for variable in 0..shape.variables {
            let id = declare(format!("x{variable}"), ObjectKind::Variable(0));
            objects.variables = id + 1 - usize::from(variable + 1);
        }
        if shape.atomics {
            for atomic in 0..ATOMICS {
                let id = declare(format!("a{atomic}"), ObjectKind::Atomic(0));
                objects.atomics = id + 1 - usize::from(atomic + 1);
            }
        }
        if shape.conditions {
            objects.flag_lock = declare("f_lock".to_owned(), ObjectKind::Lock);
            objects.flag = declare("flag".to_owned(), ObjectKind::Variable(0));
            objects.condition = declare("raised".to_owned(), ObjectKind::Condition);
        }
        if shape.semaphores {
            objects.semaphore = declare("s".to_owned(), ObjectKind::Semaphore(shape.units));
        }
        if shape.barriers {
            objects.barrier = declare("b".to_owned(), ObjectKind::Barrier(shape.parties));
        }
        Builder { shape, scenario, forked: vec![false; threads], objects }
    }
}

/// Writes one thread.
struct Writer<'a> {
    builder: &'a mut Builder,
    index: usize,
    /// The locks that are held, and whether for reading.
    held: Vec<(usize, bool)>,
    registers: usize,
    /// How many conditions are around.
    arms: usize,
    children: Vec<usize>,
}

impl Writer<'_> {
    fn step(&self, action: Action) -> Step {
        Step { action, at: Position::default(), turn: self.index }
    }

    fn list(&mut self, plans: &[Plan]) -> Vec<Step> {
        let mut steps = Vec::new();
        for plan in plans {
            self.statement(plan, &mut steps);
        }
        steps
    }

    fn register(&mut self) -> usize {
        self.registers += 1;
        self.registers - 1
    }

    fn lock(&self, number: u8) -> usize {
        usize::from(number % self.builder.shape.locks)
    }

    /// Whether the lock may be taken here.
    fn may_take(&self, lock: usize) -> bool {
        let shape = self.builder.shape;
        let is_new = self.held.iter().all(|&(held, _)| held != lock);
        let is_recursive = self.builder.scenario.objects[lock].kind == ObjectKind::Recursive;
        let in_order = !shape.ordered || self.held.iter().all(|&(held, _)| held < lock);
        (is_new && in_order || is_recursive && !is_new) && (shape.nested || self.held.is_empty())
    }

    fn section(
        &mut self,
        lock: usize,
        shared: bool,
        steps: &mut Vec<Step>,
        body: impl FnOnce(&mut Self, &mut Vec<Step>),
    ) {
        let shared = shared && self.builder.scenario.objects[lock].kind == ObjectKind::RwLock;
        steps.push(self.step(if shared { Action::AcquireShared(lock) } else { Action::Acquire(lock) }));
        self.held.push((lock, shared));
        body(self, steps);
        self.held.pop();
        steps.push(self.step(Action::Release(lock)));
    }

    /// An access of a variable: in a section of its lock, if there must not be a race.
    fn access(
        &mut self,
        number: u8,
        writes: bool,
        steps: &mut Vec<Step>,
        action: impl FnOnce(&mut Self, usize) -> Action,
    ) {
        let shape = self.builder.shape;
        let variable = self.builder.objects.variables + usize::from(number % shape.variables);
        let lock = self.lock(number % shape.variables);
        let protection = self.held.iter().find(|&&(held, _)| held == lock).map(|&(_, shared)| shared);
        match protection {
            _ if !shape.race_free => {}
            Some(shared) if !(shared && writes) => {}
            None if self.may_take(lock) => {
                return self.section(lock, !writes, steps, |me, steps| {
                    let action = action(me, variable);
                    steps.push(me.step(action));
                });
            }
            // It cannot be had here.
            _ => return,
        }
        let action = action(self, variable);
        steps.push(self.step(action));
    }

    /// Reads a variable into a new register, if it can be read here.
    fn read(&mut self, number: u8, steps: &mut Vec<Step>) -> Option<usize> {
        let mut register = None;
        self.access(number, false, steps, |me, variable| {
            let into = me.register();
            register = Some(into);
            Action::Read { into: Some(into), variable }
        });
        register
    }

    fn arm(&mut self, plans: &[Plan]) -> Vec<Step> {
        self.arms += 1;
        let steps = self.list(plans);
        self.arms -= 1;
        steps
    }

    fn branch(&mut self, register: usize, equals: u8, then: &[Plan], otherwise: &[Plan], steps: &mut Vec<Step>) {
        let equals = Value::Number(equals.into());
        let condition = Value::Binary(Operator::Equal, Value::Register(register).into(), equals.into());
        let (then, otherwise) = (self.arm(then), self.arm(otherwise));
        steps.push(self.step(Action::If { condition, then, otherwise }));
    }

    fn statement(&mut self, plan: &Plan, steps: &mut Vec<Step>) {
        let objects = self.builder.objects;
        let atomic = |number: u8| objects.atomics + usize::from(number % ATOMICS);
        match plan {
            Plan::Section { lock, shared, body } => {
                let lock = self.lock(*lock);
                if self.may_take(lock) {
                    self.section(lock, *shared, steps, |me, steps| {
                        let body = me.list(body);
                        steps.extend(body);
                    });
                } else {
                    steps.extend(self.list(body));
                }
            }
            Plan::Chain { lock, body } => self.chain(self.lock(*lock), body, steps),
            Plan::Block(body) => {
                steps.push(self.step(Action::Begin(None)));
                steps.extend(self.list(body));
                steps.push(self.step(Action::End));
            }
            Plan::Read(variable) => drop(self.read(*variable, steps)),
            Plan::Write(variable, value) => {
                let value = Value::Number(i64::from(value % 3));
                self.access(*variable, true, steps, |_, variable| Action::Write { variable, value });
            }
            Plan::WriteRead(variable) => {
                let value = match self.registers.checked_sub(1) {
                    Some(last) => Value::Binary(Operator::Plus, Value::Register(last).into(), Value::Number(1).into()),
                    None => Value::Number(1),
                };
                self.access(*variable, true, steps, |_, variable| Action::Write { variable, value });
            }
            Plan::If { variable, equals, then, otherwise } => {
                let Some(register) = self.read(*variable, steps) else { return };
                self.branch(register, *equals, then, otherwise, steps);
            }
            Plan::IfAtomic { atomic: number, equals, then, otherwise } => {
                let register = self.register();
                steps.push(self.step(Action::Load { into: Some(register), atomic: atomic(*number) }));
                self.branch(register, *equals, then, otherwise, steps);
            }
            Plan::Loop { variable, most, body } => {
                let Some(register) = self.read(*variable, steps) else { return };
                let mut body = self.arm(body);
                body.push(self.step(Action::Set {
                    register,
                    value: Value::Binary(Operator::Minus, Value::Register(register).into(), Value::Number(1).into()),
                }));
                let condition =
                    Value::Binary(Operator::Greater, Value::Register(register).into(), Value::Number(0).into());
                steps.push(self.step(Action::While { condition, most: (*most).into(), body }));
            }
            Plan::Try { lock, body } => self.attempt(*lock, false, body, steps),
            Plan::TryShared { lock, body } => self.attempt(*lock, true, body, steps),
            Plan::Load(number) => {
                let into = Some(self.register());
                steps.push(self.step(Action::Load { into, atomic: atomic(*number) }));
            }
            Plan::Store(number, value) => {
                let value = Value::Number((*value).into());
                steps.push(self.step(Action::Store { atomic: atomic(*number), value }));
            }
            Plan::Add(number) => {
                steps.push(self.step(Action::Add { into: None, atomic: atomic(*number), value: Value::Number(1) }));
            }
            Plan::Exchange(number, expected) => {
                let into = Some(self.register());
                let (expected, new) = (Value::Number((expected % 2).into()), Value::Number(1));
                steps.push(self.step(Action::CompareExchange { into, atomic: atomic(*number), expected, new }));
            }
            Plan::Fork => self.fork(steps),
            Plan::Join if self.arms == 0 && !self.children.is_empty() => {
                let child = self.children.remove(0);
                steps.push(self.step(Action::Join(child)));
            }
            Plan::Join => {}
            Plan::AwaitFlag => self.await_flag(steps),
            Plan::RaiseFlag { all } => self.raise_flag(*all, steps),
            Plan::Post => steps.push(self.step(Action::Post(objects.semaphore))),
            Plan::TakeUnit => steps.push(self.step(Action::Wait(objects.semaphore))),
            Plan::TryUnit => {
                let into = self.register();
                steps.push(self.step(Action::Try { into, object: objects.semaphore }));
            }
            Plan::Meet => steps.push(self.step(Action::Wait(objects.barrier))),
            Plan::Assert { equals } => {
                let Some(last) = self.registers.checked_sub(1) else { return };
                let equals = Value::Number((*equals).into());
                let value = Value::Binary(Operator::Equal, Value::Register(last).into(), equals.into());
                steps.push(self.step(Action::Assert(value)));
            }
            Plan::Swap(number, value) => {
                let into = Some(self.register());
                let value = Value::Number((*value).into());
                steps.push(self.step(Action::Swap { into, atomic: atomic(*number), value }));
            }
            Plan::StrayRelease(lock) => steps.push(self.step(Action::Release(self.lock(*lock)))),
            Plan::WaitOnce => {
                steps.push(self.step(Action::Acquire(objects.flag_lock)));
                steps.push(self.step(Action::WaitCondition { condition: objects.condition, lock: objects.flag_lock }));
                steps.push(self.step(Action::Release(objects.flag_lock)));
            }
        }
    }

    fn attempt(&mut self, lock: u8, shared: bool, body: &[Plan], steps: &mut Vec<Step>) {
        let object = self.lock(lock);
        let shared = shared && self.builder.scenario.objects[object].kind == ObjectKind::RwLock;
        if !self.may_take(object) {
            return;
        }
        let into = self.register();
        steps.push(self.step(if shared { Action::TryShared { into, object } } else { Action::Try { into, object } }));
        self.held.push((object, shared));
        let mut then = self.arm(body);
        self.held.pop();
        then.push(self.step(Action::Release(object)));
        steps.push(self.step(Action::If { condition: Value::Register(into), then, otherwise: Vec::new() }));
    }

    /// Takes the next lock before it gives back the first.
    fn chain(&mut self, lock: usize, body: &[Plan], steps: &mut Vec<Step>) {
        let next = (lock + 1) % usize::from(self.builder.shape.locks);
        let is_free = |lock| self.held.iter().all(|&(held, _)| held != lock);
        if lock >= next && self.builder.shape.ordered || !self.may_take(lock) || lock == next || !is_free(next) {
            return;
        }
        steps.push(self.step(Action::Acquire(lock)));
        self.held.push((lock, false));
        steps.extend(self.list(body));
        steps.push(self.step(Action::Acquire(next)));
        steps.push(self.step(Action::Release(lock)));
        self.held.pop();
        self.held.push((next, false));
        steps.extend(self.list(body));
        steps.push(self.step(Action::Release(next)));
        self.held.pop();
    }

    /// Forks the next thread that nobody has forked.
    fn fork(&mut self, steps: &mut Vec<Step>) {
        let forked = &mut self.builder.forked;
        if self.arms == 0
            && let Some(child) = (self.index + 1..forked.len()).find(|&child| !forked[child])
        {
            forked[child] = true;
            self.children.push(child);
            steps.push(self.step(Action::Fork(child)));
        }
    }

    /// Waits until the flag is up, as one should.
    fn await_flag(&mut self, steps: &mut Vec<Step>) {
        let Objects { flag, flag_lock, condition, .. } = self.builder.objects;
        if self.held.iter().any(|&(held, _)| held == flag_lock) {
            return;
        }
        let register = self.register();
        let read = Action::Read { into: Some(register), variable: flag };
        steps.push(self.step(Action::Acquire(flag_lock)));
        steps.push(self.step(read.clone()));
        let body = vec![self.step(Action::WaitCondition { condition, lock: flag_lock }), self.step(read)];
        let is_down = Value::Not(Value::Register(register).into());
        steps.push(self.step(Action::While { condition: is_down, most: 2, body }));
        steps.push(self.step(Action::Release(flag_lock)));
    }

    fn raise_flag(&mut self, all: bool, steps: &mut Vec<Step>) {
        let Objects { flag, flag_lock, condition, .. } = self.builder.objects;
        if self.held.iter().any(|&(held, _)| held == flag_lock) {
            return;
        }
        steps.push(self.step(Action::Acquire(flag_lock)));
        steps.push(self.step(Action::Write { variable: flag, value: Value::Number(1) }));
        steps.push(self.step(if all { Action::Broadcast(condition) } else { Action::Signal(condition) }));
        steps.push(self.step(Action::Release(flag_lock)));
    }
}
