//! The second pass over a trace: its events become steps.

use rustc_hash::FxHashMap;

use super::frames::OpenFrames;
use super::locks::Holding;
use super::shared::{self, Survey};
use super::variables::{Allocation, Variables};
use super::waits::Waits;
use super::{At, History, Lane, LockInfo, NONE, Op, Step, Values, VariableInfo};
use crate::analysis::lives::{Lives, Memory};
use crate::event::{Event, Kind, Mode, ThreadId};

/// Branches that are not known count as many.
const UNKNOWN: u8 = u8::MAX;

/// How a history is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Keeps a wait inside its transaction.
    pub strict_waits: bool,
    /// Steps that are kept at most.
    pub most_steps: u32,
    /// Keeps which event of its thread each step was: see [`History::number`].
    pub numbers: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config { strict_waits: false, most_steps: NONE - 1, numbers: false }
    }
}

/// A lock that somebody holds.
struct Held {
    lane: Lane,
    at: At,
    depth: u32,
}

#[derive(Default)]
struct Thread {
    /// Events of it that were taken, the present one included.
    events: u32,
    frames: OpenFrames,
    holding: Holding,
    /// Basic blocks that it entered since its last access, and functions that were called directly: each of those begins with a block that no branch
    /// led to.
    blocks: u32,
    functions: u32,
    /// Branches since the last access that became a step.
    branches: u8,
    /// Steps since the last access that are no accesses: how many branches lay before them is told by the next access.
    unsure: Vec<At>,
    /// The last access, if it was of one variable: what its value belongs to.
    valued: At,
    /// The last release of each lock.
    released: FxHashMap<u32, At>,
    /// What it last awaited.
    awaited: Option<(u64, At)>,
}

/// Makes a history of the events of a trace, in merged order.
pub struct Builder<'a> {
    survey: &'a Survey,
    config: Config,
    history: History,
    lanes: FxHashMap<ThreadId, Lane>,
    state: Vec<Thread>,
    memory: Memory,
    locks: Lives,
    generations: FxHashMap<u64, u32>,
    held: FxHashMap<u32, Vec<Held>>,
    variables: Variables,
    allocations: std::collections::BTreeMap<u64, Allocation>,
    waits: Waits,
    forks: FxHashMap<ThreadId, At>,
    ends: FxHashMap<ThreadId, At>,
    codes: FxHashMap<u64, u32>,
    is_direct: Option<&'a mut dyn FnMut(u64) -> bool>,
    /// What it said.
    calls: FxHashMap<u64, bool>,
}

impl<'a> Builder<'a> {
    #[must_use]
    pub fn new(survey: &'a Survey, config: Config) -> Builder<'a> {
        let most = survey.most_steps().min(config.most_steps as usize);
        Builder {
            survey,
            config,
            history: History { steps: with_room(most), ..History::default() },
            lanes: FxHashMap::default(),
            state: Vec::new(),
            memory: Memory::default(),
            locks: Lives::default(),
            generations: FxHashMap::default(),
            held: FxHashMap::default(),
            variables: Variables::default(),
            allocations: std::collections::BTreeMap::new(),
            waits: Waits::default(),
            forks: FxHashMap::default(),
            ends: FxHashMap::default(),
            codes: FxHashMap::default(),
            is_direct: None,
            calls: FxHashMap::default(),
        }
    }

    /// Asks `is_direct` whether the call that returns to an address always goes to the same function. One that does not is a branch.
    #[must_use]
    pub fn asking_of_calls(self, is_direct: &'a mut dyn FnMut(u64) -> bool) -> Builder<'a> {
        Builder { is_direct: Some(is_direct), ..self }
    }

    fn is_direct(&mut self, call: u64) -> bool {
        let Builder { is_direct, calls, .. } = self;
        is_direct.as_mut().is_none_or(|is_direct| *calls.entry(call).or_insert_with(|| is_direct(call)))
    }

    /// Takes the next event.
    pub fn step(&mut self, thread: ThreadId, event: &Event) {
        let Some(kind) = event.kind() else { return };
        if self.history.steps.len() as u64 >= u64::from(self.config.most_steps) {
            self.history.left_out += u64::from(event.size() > 0 || kind.is_ordered());
            return;
        }
        let Some(lane) = self.lane(thread) else { return };
        let events = &mut self.state[lane as usize].events;
        *events = events.saturating_add(1);
        let object = event.object;
        match kind {
            Kind::Enter => {
                let is_direct = self.is_direct(event.pc);
                let state = &mut self.state[lane as usize];
                state.functions += u32::from(is_direct);
                state.frames.enter(event);
            }
            Kind::Leave => self.state[lane as usize].frames.cut(event.depth()),
            Kind::BlockBegin => self.state[lane as usize].frames.begin(event),
            Kind::BlockEnd => self.state[lane as usize].frames.end(),
            Kind::Interfere if !self.config.strict_waits => self.state[lane as usize].frames.interfere(),
            Kind::Branches => self.state[lane as usize].blocks += event.number().min(u64::from(u16::MAX)) as u32,
            Kind::Read => self.access(lane, event, Op::Read),
            Kind::Write => self.access(lane, event, Op::Write),
            Kind::AtomicLoad if event.is_comparison() => self.access(lane, event, Op::Attempt),
            Kind::AtomicLoad => self.access(lane, event, Op::Load),
            Kind::AtomicStore => self.access(lane, event, Op::Store),
            Kind::AtomicUpdate if event.is_comparison() => self.access(lane, event, Op::Exchange),
            Kind::AtomicUpdate => self.access(lane, event, Op::Update),
            Kind::Value => self.value(lane, event),
            Kind::Acquire => self.acquire(lane, event),
            Kind::Release => self.release(lane, event),
            Kind::Refused => {
                let lock = self.lock(object);
                let others = self.held.get(&lock).into_iter().flatten().filter(|held| held.lane != lane);
                let holder = others.map(|held| held.at).max().unwrap_or(NONE);
                self.add(lane, Op::Refused, lock, holder, event.pc);
            }
            Kind::LockInit => {
                self.end_lock(object);
                let lock = self.lock(object);
                self.history.locks[lock as usize].initialised = event.pc;
            }
            Kind::LockDestroy => self.end_lock(object),
            Kind::Signal => {
                let at = self.add(lane, Op::Signal, NONE, NONE, event.pc);
                self.waits.signal(object, lane, at);
            }
            Kind::Await => {
                let at = self.add(lane, Op::Await, NONE, NONE, event.pc);
                let before = self.waits.before(object, lane, at);
                self.comes_after(at, before);
                self.state[lane as usize].awaited = Some((object, at));
            }
            Kind::Fork => {
                let at = self.add(lane, Op::Fork, NONE, NONE, event.pc);
                self.forks.insert(object as ThreadId, at);
            }
            Kind::Start => {
                let fork = self.forks.get(&thread).copied().unwrap_or(NONE);
                self.add(lane, Op::Start, NONE, fork, event.pc);
            }
            Kind::End => {
                let at = self.add(lane, Op::End, NONE, NONE, event.pc);
                self.ends.insert(thread, at);
                self.tell_branches(lane);
            }
            Kind::Join => {
                let end = self.ends.get(&(object as ThreadId)).copied().unwrap_or(NONE);
                self.add(lane, Op::Join, NONE, end, event.pc);
            }
            Kind::Lost => {
                self.history.lost += event.number();
                self.add(lane, Op::Gap, NONE, NONE, event.pc);
            }
            Kind::Allocate | Kind::Free | Kind::Extent => self.allocation(lane, thread, event),
            Kind::Interfere | Kind::Fence | Kind::Name | Kind::Time => {}
        }
    }

    /// The history, when all events were taken.
    #[must_use]
    pub fn finish(mut self) -> History {
        self.history.sort_accesses();
        self.history.note_holds();
        self.history
    }

    fn lane(&mut self, thread: ThreadId) -> Option<Lane> {
        if let Some(&lane) = self.lanes.get(&thread) {
            return Some(lane);
        }
        let Ok(lane) = Lane::try_from(self.state.len()) else {
            self.history.left_out += 1;
            return None;
        };
        self.lanes.insert(thread, lane);
        self.state.push(Thread { valued: NONE, ..Thread::default() });
        self.history.threads.push(thread);
        let most = self.survey.most_steps_of(thread).min(self.config.most_steps as usize);
        self.history.lanes.push(with_room(most));
        Some(lane)
    }

    fn add(&mut self, lane: Lane, op: Op, object: u32, link: At, pc: u64) -> At {
        let Builder { history, state, codes, config, .. } = self;
        let thread = &mut state[lane as usize];
        let code = *codes.entry(pc).or_insert_with(|| {
            history.codes.push(pc);
            history.codes.len() as u32 - 1
        });
        let at = history.steps.len() as At;
        let frame = thread.frames.current(&mut history.frames);
        let hold = thread.holding.number(&mut history.holds);
        let branches = if op.is_access() {
            std::mem::take(&mut thread.branches)
        } else {
            thread.unsure.push(at);
            UNKNOWN
        };
        history.steps.push(Step { object, link, frame, hold, code, lane, op, branches });
        if config.numbers {
            history.numbers.push(thread.events - 1);
        }
        history.lanes[lane as usize].push(at);
        at
    }

    /// An access, or the end of the thread, tells how many branches there were since the last access.
    fn tell_branches(&mut self, lane: Lane) {
        let thread = &mut self.state[lane as usize];
        let blocks = std::mem::take(&mut thread.blocks);
        let branches = blocks.saturating_sub(std::mem::take(&mut thread.functions)).min(u32::from(UNKNOWN)) as u8;
        thread.branches = thread.branches.saturating_add(branches);
        for at in thread.unsure.drain(..) {
            self.history.steps[at as usize].branches = thread.branches;
        }
    }

    fn comes_after(&mut self, at: At, before: Vec<At>) {
        if !before.is_empty() {
            self.history.after.entry(at).or_default().extend(before);
        }
    }

    fn access(&mut self, lane: Lane, event: &Event, op: Op) {
        self.history.has_accesses = true;
        self.state[lane as usize].blocks += u32::from(event.branches());
        self.tell_branches(lane);
        self.state[lane as usize].valued = NONE;
        if shared::is_order_only(event) {
            return;
        }
        let survey = self.survey;
        let mut pieces = 0;
        let _ = survey.cuts.variables::<()>(event.object, event.size(), |piece| {
            pieces += 1;
            if survey.is_shared(piece) {
                self.touch(lane, op, piece, event.pc);
            }
            Ok(())
        });
        if pieces > 1 {
            self.state[lane as usize].valued = NONE;
        }
    }

    fn touch(&mut self, lane: Lane, op: Op, piece: u64, pc: u64) {
        let allocations = &self.allocations;
        let new = || VariableInfo {
            address: piece,
            allocation: allocations
                .range(..=piece)
                .next_back()
                .map(|(_, allocation)| *allocation)
                .filter(|allocation| piece - allocation.address < allocation.size),
            first_value: None,
        };
        let variable = self.variables.at(piece, new, &mut self.history.variables);
        let link = self.variables.written[variable as usize];
        let at = self.add(lane, op, variable, link, pc);
        if op.writes() {
            self.variables.written[variable as usize] = at;
        }
        self.state[lane as usize].valued = at;
    }

    fn value(&mut self, lane: Lane, event: &Event) {
        let at = std::mem::replace(&mut self.state[lane as usize].valued, NONE);
        if at == NONE {
            return;
        }
        let step = self.history.steps[at as usize];
        let values = match step.op {
            Op::Update | Op::Exchange => Values { seen: event.pc, left: event.object },
            _ => Values { seen: event.object, left: event.object },
        };
        self.history.values.insert(at, values);
        if step.op.reads() && step.link == NONE {
            self.history.variables[step.object as usize].first_value = Some(values.seen);
        }
    }

    fn lock(&mut self, address: u64) -> u32 {
        let lock = self.locks.at(address);
        if lock as usize == self.history.locks.len() {
            let generation = self.generations.entry(address).or_default();
            self.history.locks.push(LockInfo { address, generation: *generation, initialised: 0 });
            *generation += 1;
        }
        lock
    }

    fn end_lock(&mut self, address: u64) {
        self.locks.end(address..address.saturating_add(1));
    }

    fn acquire(&mut self, lane: Lane, event: &Event) {
        let lock = self.lock(event.object);
        let is_shared = event.mode() == Mode::Shared;
        let holders = self.held.entry(lock).or_default();
        if let Some(mine) = holders.iter_mut().find(|held| held.lane == lane) {
            mine.depth += 1;
            return;
        }
        let op = if is_shared { Op::AcquireShared } else { Op::Acquire };
        let at = self.add(lane, op, lock, NONE, event.pc);
        self.held.entry(lock).or_default().push(Held { lane, at, depth: 1 });
        let thread = &mut self.state[lane as usize];
        thread.holding.acquire(lock, is_shared);
        if event.is_resumption()
            && let Some((condition, awake)) = thread.awaited.take()
            && let Some(&asleep) = thread.released.get(&lock)
        {
            let before = self.waits.before(condition, lane, asleep);
            self.comes_after(asleep, before);
            for signal in self.waits.between(condition, asleep..awake) {
                self.comes_after(signal, vec![asleep]);
            }
        }
    }

    fn release(&mut self, lane: Lane, event: &Event) {
        let lock = self.lock(event.object);
        let holders = self.held.entry(lock).or_default();
        // A lock that another thread than its owner gives back is nobody's any more; here it stays its owner's, so that nothing is predicted
        // with it.
        let Some(place) = holders.iter().position(|held| held.lane == lane) else { return };
        holders[place].depth -= 1;
        if holders[place].depth > 0 {
            return;
        }
        let Held { at: acquire, .. } = holders.swap_remove(place);
        let at = self.add(lane, Op::Release, lock, acquire, event.pc);
        self.history.steps[acquire as usize].link = at;
        self.state[lane as usize].holding.release(lock);
        self.state[lane as usize].released.insert(lock, at);
    }

    fn allocation(&mut self, lane: Lane, thread: ThreadId, event: &Event) {
        let renewed = self.memory.step(thread, event);
        match event.kind() {
            Some(Kind::Free) => {
                if let Some(freed) = self.memory.freed(thread) {
                    self.allocations.remove(&event.object);
                    for variable in self.variables.within(freed, self.survey) {
                        let link = self.variables.written[variable as usize];
                        let at = self.add(lane, Op::Free, variable, link, event.pc);
                        self.variables.written[variable as usize] = at;
                    }
                }
            }
            Some(Kind::Allocate) => {
                if let Some(renewed) = renewed {
                    self.variables.renew(renewed.clone(), self.survey);
                    self.locks.end(renewed.clone());
                    self.waits.renew(renewed);
                    let Some(size) = self.memory.size(event.object) else { return };
                    let frame = self.state[lane as usize].frames.current(&mut self.history.frames);
                    let allocation = Allocation { address: event.object, size, thread, pc: event.pc, frame };
                    self.allocations.insert(event.object, allocation);
                }
            }
            _ => {}
        }
    }
}

/// An empty list that does not have to move when it grows: for a while there would be two of it, and these are the largest. Memory is only used when
/// something is put there; where it cannot be had at once, the list grows as others do.
fn with_room<T>(most: usize) -> Vec<T> {
    let mut list = Vec::new();
    let _ = list.try_reserve_exact(most);
    list
}
