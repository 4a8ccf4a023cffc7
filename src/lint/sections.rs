//! Atomic blocks: where the outermost critical section, or marked block, of a thread begins and ends.
//!
//! A forward dataflow over each function, twice: as it is when its caller is in no block, and as it is when its caller is in one.
//! What a function does to the blocks of its caller is its summary, so that functions that lock or unlock for others are
//! seen through.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::blocks::Site;
use super::loops::repeats;
use super::processes::Process;
use super::sync::{self, Sync};
use crate::causal::control::successors;
use crate::causal::facts::{Facts, Variable};
use crate::ir::model::{BlockId, End, FunctionId, Op, Operand};

/// Which atomic block an instruction is in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Section {
    None,
    /// That of the caller.
    Inherited,
    /// That which begins with this instruction of the function itself.
    Own(u32),
}

/// Whether the caller is in a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Context {
    Free,
    Held,
}

const CONTEXTS: [Context; 2] = [Context::Free, Context::Held];

/// What tells locks apart.
type Key = u64;
const INHERITED: Key = 0;
const MARKED: Key = 1;

#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
struct Status {
    section: Section,
    held: Vec<Key>,
    /// So many locks of the caller were given back.
    released: u8,
}

type State = BTreeSet<Status>;

/// More ways than this to be in blocks are not told apart.
const MOST: usize = 12;

/// Deeper than this nobody locks; a loop that takes a lock on each turn would.
const DEEPEST: usize = 6;

/// How often functions that call each other are looked at. Who locks in such a circle and leaves it locked has no end.
const ROUNDS: usize = 12;

/// The atomic blocks of a program.
#[derive(Debug)]
pub struct Sections {
    /// Functions whose work is looked at: they are defined, and do not stand for an operation on locks.
    followed: Vec<bool>,
    /// Functions that begin or end blocks, or call such. All of another function is in the block of its caller.
    syncs: Vec<bool>,
    /// By function and context, the sections of each instruction.
    around: Vec<[Option<Vec<Vec<Section>>>; 2]>,
    exits: FxHashMap<(FunctionId, Context), State>,
    /// Blocks that some way through their function ends.
    closed: FxHashSet<(FunctionId, Context, u32)>,
    /// Functions that leave blocks open for their callers to end.
    locking_for_others: FxHashSet<FunctionId>,
    /// Functions that are atomic as a whole, because they are annotated so.
    pub atomic: FxHashSet<FunctionId>,
    /// Acquires that do not count.
    ignored: FxHashSet<Site>,
    /// Functions that have more ways to be in blocks, or deeper ones, than are told apart.
    pub unsure: FxHashSet<FunctionId>,
}

impl Sections {
    /// Finds them, as if the `ignored` acquires were not there.
    #[must_use]
    pub fn find(facts: &Facts, annotation: &str, ignored: FxHashSet<Site>) -> Sections {
        let marked = facts.program.module.annotations.iter().filter(|(_, text)| text == annotation);
        let atomic: FxHashSet<FunctionId> = marked.map(|(id, _)| *id).collect();
        let mut syncs: Vec<bool> =
            facts.program.module.functions.iter().map(|function| sync::of(&function.name).is_some()).collect();
        for group in &facts.groups {
            let is_one = |&id: &FunctionId| {
                syncs[id as usize]
                    || facts.callees[id as usize]
                        .iter()
                        .any(|callee| syncs[*callee as usize] || atomic.contains(callee))
            };
            if group.iter().any(is_one) {
                for &id in group {
                    syncs[id as usize] = true;
                }
            }
        }
        let functions = facts.program.module.functions.iter();
        let followed = functions.map(|it| !it.blocks.is_empty() && sync::of(&it.name).is_none()).collect();
        let mut found = Sections {
            followed,
            syncs,
            around: facts.functions.iter().map(|_| [None, None]).collect(),
            exits: FxHashMap::default(),
            closed: FxHashSet::default(),
            locking_for_others: FxHashSet::default(),
            atomic,
            ignored,
            unsure: FxHashSet::default(),
        };
        for group in &facts.groups {
            let open: Vec<FunctionId> = group.iter().copied().filter(|&id| found.is_analysed(id)).collect();
            for round in 1..=ROUNDS {
                let mut is_stable = true;
                for &id in &open {
                    for context in CONTEXTS {
                        let exit = found.solve(facts, id, context);
                        if found.exits.get(&(id, context)) != Some(&exit) {
                            found.exits.insert((id, context), exit);
                            is_stable = false;
                        }
                    }
                }
                // Only functions that call each other can learn from another round.
                if is_stable || open.len() == 1 && !facts.callees[open[0] as usize].contains(&open[0]) {
                    break;
                }
                if round == ROUNDS {
                    found.unsure.extend(&open);
                }
            }
        }
        found.find_locking_for_others(facts);
        found
    }

    fn find_locking_for_others(&mut self, facts: &Facts) {
        // Callers first: what they leave open too, their own callers may end.
        for &id in facts.groups.iter().rev().flatten() {
            if CONTEXTS.iter().all(|&context| self.left_open(id, context).is_empty()) {
                continue;
            }
            let is_ended = facts.callers[id as usize].iter().any(|&caller| {
                let calls = facts.functions[caller as usize].calls.iter().filter(|(_, callees)| callees.contains(&id));
                calls.map(|(&at, _)| at).any(|at| self.is_ended(caller, at))
            });
            if is_ended {
                self.locking_for_others.insert(id);
            }
        }
    }

    fn is_ended(&self, function: FunctionId, begin: u32) -> bool {
        CONTEXTS.iter().any(|&context| {
            self.closed.contains(&(function, context, begin))
                || self.locking_for_others.contains(&function) && self.left_open(function, context).contains(&begin)
        })
    }

    fn is_analysed(&self, id: FunctionId) -> bool {
        self.syncs[id as usize] && self.followed[id as usize]
    }

    /// Whether what a function does is looked at.
    #[must_use]
    pub fn is_followed(&self, function: FunctionId) -> bool {
        self.followed[function as usize]
    }

    /// The sections that an instruction may be in.
    #[must_use]
    pub fn at(&self, function: FunctionId, context: Context, number: u32) -> &[Section] {
        match &self.around[function as usize][context as usize] {
            Some(sections) => &sections[number as usize],
            None if context == Context::Held => &[Section::Inherited],
            None => &[Section::None],
        }
    }

    /// Whether a function leaves blocks open for its callers to end.
    #[must_use]
    pub fn locks_for_others(&self, function: FunctionId) -> bool {
        self.locking_for_others.contains(&function)
    }

    /// The blocks that begin in a function and end in it too, at least on some way: by their first instruction. A block that is
    /// left open for the caller is one of the caller's.
    #[must_use]
    pub fn blocks_of(&self, function: FunctionId, context: Context) -> Vec<u32> {
        let Some(sections) = &self.around[function as usize][context as usize] else { return Vec::new() };
        let open: Vec<u32> = self.left_open(function, context);
        let own = sections.iter().flatten().filter_map(|it| if let Section::Own(at) = it { Some(*at) } else { None });
        let is_here = |at: &u32| {
            let is_closed = self.closed.contains(&(function, context, *at));
            !open.contains(at) || is_closed && !self.locking_for_others.contains(&function)
        };
        let own: BTreeSet<u32> = own.filter(is_here).collect();
        own.into_iter().collect()
    }

    /// How many blocks begin in what the processes run and have no end anywhere. They are not looked at.
    #[must_use]
    pub fn endless(&self, facts: &Facts, processes: &[Process]) -> usize {
        let mut seen: FxHashSet<FunctionId> = FxHashSet::default();
        let mut waiting: Vec<FunctionId> = processes.iter().flat_map(|process| process.bases.iter().copied()).collect();
        let mut count = 0;
        while let Some(id) = waiting.pop() {
            if !self.is_followed(id) || !seen.insert(id) {
                continue;
            }
            waiting.extend(&facts.callees[id as usize]);
            if !self.locking_for_others.contains(&id) {
                // Of a call that leaves a block open, the callee has been counted.
                let is_first = |at: &u32| {
                    let callees = &facts.functions[id as usize].calls[at];
                    callees.iter().any(|&callee| sync::of(&facts.program.function(callee).name).is_some())
                };
                let open: BTreeSet<u32> = self.left_open(id, Context::Free).into_iter().filter(is_first).collect();
                count += open.iter().filter(|at| !self.closed.contains(&(id, Context::Free, **at))).count();
            }
        }
        count
    }

    fn left_open(&self, function: FunctionId, context: Context) -> Vec<u32> {
        let exits = self.exits.get(&(function, context));
        let open = exits.into_iter().flatten().filter_map(|status| match status.section {
            Section::Own(at) => Some(at),
            Section::None | Section::Inherited => None,
        });
        open.collect()
    }

    fn solve(&mut self, facts: &Facts, id: FunctionId, context: Context) -> State {
        let function = facts.program.function(id);
        let own = &facts.functions[id as usize];
        let first = match context {
            Context::Free => Status { section: Section::None, held: Vec::new(), released: 0 },
            Context::Held => Status { section: Section::Inherited, held: vec![INHERITED], released: 0 },
        };
        let mut entries: Vec<State> = vec![State::new(); function.blocks.len()];
        entries[0].insert(first);
        let mut waiting: BTreeSet<BlockId> = [0].into();
        let mut exit = State::new();
        while let Some(block) = waiting.pop_first() {
            let mut state = entries[block as usize].clone();
            for index in 0..function.blocks[block as usize].instructions.len() {
                if !self.step(facts, id, own.number(block, index), &mut state) {
                    self.unsure.insert(id);
                }
            }
            if matches!(function.blocks[block as usize].end, End::Return(_)) {
                exit.extend(state.iter().cloned());
            }
            for &to in successors(function, block) {
                let known = self.known_at(facts, id, block, to, &state);
                let entry = &mut entries[to as usize];
                let before = entry.len();
                if entry.len() < MOST {
                    entry.extend(known);
                } else if !known.is_subset(entry) {
                    self.unsure.insert(id);
                }
                if entry.len() > before {
                    waiting.insert(to);
                }
            }
        }
        let mut sections = Vec::new();
        for (block, it) in (0..).zip(&function.blocks) {
            let mut state = entries[block as usize].clone();
            for index in 0..it.instructions.len() {
                let number = own.number(block, index);
                let mut here: Vec<Section> = state.iter().map(|status| status.section).collect();
                for status in &state {
                    let Section::Own(begin) = status.section else { continue };
                    let mut after: State = [status.clone()].into();
                    self.step(facts, id, number, &mut after);
                    if after.iter().any(|it| it.section != status.section) {
                        self.closed.insert((id, context, begin));
                    }
                }
                self.step(facts, id, number, &mut state);
                // A call that begins a block is in it: what it does after that belongs there.
                here.extend(state.iter().map(|status| status.section).filter(|it| *it == Section::Own(number)));
                let callees = own.calls.get(&number).map_or(&[][..], Vec::as_slice);
                if here.contains(&Section::None) && callees.iter().any(|callee| self.atomic.contains(callee)) {
                    here.retain(|it| *it != Section::None);
                    here.push(Section::Own(number));
                }
                here.sort_unstable();
                here.dedup();
                sections.push(here);
            }
        }
        self.around[id as usize][context as usize] = Some(sections);
        exit
    }

    /// What is left of a state on the way from a block to one that may follow: if the result of a call that locks decides, the lock
    /// was taken on one side, and not on the other.
    fn known_at(&self, facts: &Facts, id: FunctionId, block: BlockId, to: BlockId, state: &State) -> State {
        let known = || {
            let call = asked(facts, id, block)?;
            let taken = state.iter().find(|status| status.section == Section::Own(call) && status.held.len() == 1)?;
            let side = self.side_with_lock(facts, id, block, taken.held[0])?;
            let mut known = state.clone();
            if side == to {
                known.retain(|status| status.section != Section::None);
            } else {
                known.remove(taken);
                known.insert(Status { section: Section::None, held: Vec::new(), released: taken.released });
            }
            Some(known)
        };
        known().or_else(|| self.known_by_condition(facts, id, block, to, state)).unwrap_or_else(|| state.clone())
    }

    /// The same, if a lock was taken under a condition, and under the same condition one side gives it back at once.
    fn known_by_condition(
        &self,
        facts: &Facts,
        id: FunctionId,
        block: BlockId,
        to: BlockId,
        state: &State,
    ) -> Option<State> {
        if !state.iter().any(|status| status.section == Section::None) {
            return None;
        }
        let condition = condition(facts, id, block)?;
        let own = &facts.functions[id as usize];
        let taken = state.iter().find(|status| {
            let Section::Own(call) = status.section else { return false };
            status.held.len() == 1 && decided_by(facts, id, own.block_of(call).0) == Some(condition)
        })?;
        let mut sides = successors(facts.program.function(id), block).iter();
        let mut giving_back = sides.by_ref().filter(|&&it| self.gives_back(facts, id, it, taken.held[0]));
        let (side, None) = (*giving_back.next()?, giving_back.next()) else { return None };
        let mut known = state.clone();
        known.retain(|status| if side == to { status.section != Section::None } else { status != taken });
        Some(known)
    }

    /// Whether a block gives a lock back.
    fn gives_back(&self, facts: &Facts, id: FunctionId, block: BlockId, lock: Key) -> bool {
        let own = &facts.functions[id as usize];
        let count = facts.program.function(id).blocks[block as usize].instructions.len();
        let mut calls =
            (0..count).map(|index| own.number(block, index)).filter(|number| own.calls.contains_key(number));
        calls.any(|number| {
            own.calls[&number].iter().any(|&callee| match sync::of(&facts.program.function(callee).name) {
                Some(Sync::Release(at) | Sync::ReleaseIfHeld(at)) => key(facts, id, number, at) == lock,
                Some(_) => false,
                None => {
                    let exits = self.exits.get(&(callee, Context::Held)).into_iter().flatten();
                    exits.into_iter().any(|exit| exit.section == Section::None)
                }
            })
        })
    }

    /// Where a block leads if the lock was taken: who has a lock gives it back; who has it not, takes it first.
    fn side_with_lock(&self, facts: &Facts, id: FunctionId, block: BlockId, lock: Key) -> Option<BlockId> {
        let targets = successors(facts.program.function(id), block);
        let mut with_lock = targets.iter().filter(|&&it| self.leads_to_release(facts, id, it, lock));
        let (side, None) = (*with_lock.next()?, with_lock.next()) else { return None };
        Some(side)
    }

    /// Whether the caller knows by the result of a call whether it has the lock now.
    fn tells(&self, facts: &Facts, (id, number): Site, lock: Option<&Key>) -> bool {
        let mut blocks = 0..facts.program.function(id).blocks.len() as BlockId;
        blocks.any(|block| {
            asked(facts, id, block) == Some(number)
                && lock.is_some_and(|&lock| self.side_with_lock(facts, id, block, lock).is_some())
        })
    }

    /// Whether a way from the block gives a lock back before it takes it.
    fn leads_to_release(&self, facts: &Facts, id: FunctionId, from: BlockId, lock: Key) -> bool {
        let function = facts.program.function(id);
        let own = &facts.functions[id as usize];
        let mut seen: BTreeSet<BlockId> = BTreeSet::new();
        let mut waiting = vec![from];
        'blocks: while let Some(block) = waiting.pop() {
            if !seen.insert(block) {
                continue;
            }
            for index in 0..function.blocks[block as usize].instructions.len() {
                let number = own.number(block, index);
                for &callee in own.calls.get(&number).into_iter().flatten() {
                    let is_lock = |argument| key(facts, id, number, argument) == lock;
                    match sync::of(&facts.program.function(callee).name) {
                        Some(Sync::Release(at) | Sync::ReleaseIfHeld(at)) if is_lock(at) => return true,
                        Some(Sync::Acquire(at) | Sync::Try(at)) if is_lock(at) => continue 'blocks,
                        Some(_) => {}
                        None => {
                            let exits = self.exits.get(&(callee, Context::Held)).into_iter().flatten();
                            if exits.into_iter().any(|exit| exit.section == Section::None) {
                                return true;
                            }
                        }
                    }
                }
            }
            waiting.extend(successors(function, block));
        }
        false
    }

    /// What an instruction makes of a state. Tells whether nothing was left out.
    fn step(&self, facts: &Facts, id: FunctionId, number: u32, state: &mut State) -> bool {
        let Some(callees) = facts.functions[id as usize].calls.get(&number) else { return true };
        if !callees.iter().any(|&callee| self.syncs[callee as usize]) || self.ignored.contains(&(id, number)) {
            return true;
        }
        let mut after = State::new();
        let mut is_too_deep = false;
        for status in std::mem::take(state) {
            for &callee in callees {
                let name = &facts.program.function(callee).name;
                match sync::of(name) {
                    Some(sync) => {
                        let acquires = matches!(sync, Sync::Acquire(_) | Sync::Try(_) | Sync::BlockBegin);
                        // A loop that tries until it gets the lock is not deeper than its last turn.
                        is_too_deep |= acquires && status.held.len() >= DEEPEST && !repeats(facts, id, number);
                        after.extend(apply(facts, id, number, sync, status.clone()));
                    }
                    None => self.call(facts, (id, number), callee, &status, &mut after),
                }
            }
        }
        let is_all = after.len() <= MOST && !is_too_deep;
        *state = after.into_iter().take(MOST).collect();
        is_all
    }

    /// What a defined function leaves of the caller's blocks.
    fn call(&self, facts: &Facts, at: Site, callee: FunctionId, status: &Status, after: &mut State) {
        let number = at.1;
        let context = if status.section == Section::None { Context::Free } else { Context::Held };
        let Some(exits) = self.exits.get(&(callee, context)).filter(|_| !self.atomic.contains(&callee)) else {
            after.insert(status.clone());
            return;
        };
        let is_left_free = context == Context::Free && exits.iter().any(|exit| exit.section == Section::None);
        for exit in exits {
            // If it comes back with a lock only sometimes, either the caller asks whether it did, or somebody forgot to give it back.
            if is_left_free && exit.section != Section::None && !self.tells(facts, at, exit.held.first()) {
                continue;
            }
            let mut new = status.clone();
            match exit.section {
                Section::Own(_) => {
                    new.section = Section::Own(number);
                    new.held.retain(|_| context == Context::Held && exit.released == 0);
                    new.held.extend(exit.held.iter().filter(|key| **key != INHERITED));
                }
                Section::Inherited => new.held.extend(exit.held.iter().filter(|key| **key != INHERITED)),
                Section::None if context == Context::Free => {}
                Section::None => {
                    for _ in 0..exit.released.max(1) {
                        release_last(&mut new);
                    }
                }
            }
            after.insert(new);
        }
    }
}

/// The call whose result decides where a block leads.
fn asked(facts: &Facts, id: FunctionId, block: BlockId) -> Option<u32> {
    let made_by = |value| facts.program.made_by_number(id, value);
    let (made_in, index) = crate::causal::asked::asked(facts.program.function(id), block, false, made_by)?;
    Some(facts.functions[id as usize].number(made_in, index as usize))
}

/// The variable that decides where a block leads, if the function does not change it on its way.
fn condition(facts: &Facts, id: FunctionId, block: BlockId) -> Option<Variable> {
    let End::Branch { on: Some(Operand::Value(value)), targets } =
        &facts.program.function(id).blocks[block as usize].end
    else {
        return None;
    };
    let own = &facts.functions[id as usize];
    let mut value = *value;
    for _ in 0..8 {
        let operand = match &facts.program.made_by(id, value)?.op {
            Op::Cast(operand) => operand,
            Op::Compute(operands) => {
                let mut values = operands.iter().filter(|it| !it.is_constant());
                values.next().filter(|_| values.next().is_none())?
            }
            Op::Load { .. } => {
                let (made_in, index) = facts.program.made_by_number(id, value)?;
                let [variable] = own.accesses.get(&own.number(made_in, index as usize))?.reads[..] else { return None };
                let writes = facts.writers[variable as usize].iter().filter(|(function, _)| *function == id).count();
                // A local has its first value from somewhere.
                let is_kept = writes <= usize::from(facts.is_own[variable as usize]);
                return (is_kept && targets.len() == 2).then_some(variable);
            }
            _ => return None,
        };
        let Operand::Value(next) = operand else { return None };
        value = *next;
    }
    None
}

/// The variable that decides whether a block runs, if it is entered from one other block only.
fn decided_by(facts: &Facts, id: FunctionId, block: BlockId) -> Option<Variable> {
    let function = facts.program.function(id);
    let mut before = (0..function.blocks.len() as BlockId).filter(|&it| successors(function, it).contains(&block));
    let (before, None) = (before.next()?, before.next()) else { return None };
    condition(facts, id, before)
}

fn release_last(status: &mut Status) {
    if status.held.pop() == Some(INHERITED) {
        status.released = status.released.saturating_add(1);
    }
    if status.held.is_empty() {
        status.section = Section::None;
    }
}

fn apply(facts: &Facts, id: FunctionId, number: u32, sync: Sync, mut status: Status) -> Vec<Status> {
    let key = |index: usize| key(facts, id, number, index);
    let acquire = |mut status: Status, key: Key| {
        if status.section == Section::None {
            status.section = Section::Own(number);
        }
        if status.held.len() < DEEPEST {
            status.held.push(key);
        }
        status
    };
    match sync {
        Sync::Acquire(index) => vec![acquire(status, key(index))],
        Sync::Try(index) => vec![status.clone(), acquire(status, key(index))],
        Sync::BlockBegin => vec![acquire(status, MARKED)],
        Sync::Release(index) => {
            release(&mut status, key(index), true);
            vec![status]
        }
        Sync::ReleaseIfHeld(index) => {
            release(&mut status, key(index), false);
            vec![status]
        }
        Sync::BlockEnd => {
            release(&mut status, MARKED, false);
            vec![status]
        }
        Sync::Wait(index) => {
            let key = key(index);
            let is_other = |it: &Key| *it != key && *it != INHERITED;
            if status.section != Section::None && !status.held.iter().any(is_other) {
                status.section = Section::Own(number);
            }
            vec![status]
        }
        Sync::Nothing => vec![status],
    }
}

fn release(status: &mut Status, key: Key, is_certain: bool) {
    if let Some(index) = status.held.iter().rposition(|held| *held == key) {
        status.held.remove(index);
        if status.held.is_empty() {
            status.section = Section::None;
        }
    } else if let Some(index) = status.held.iter().position(|held| *held == INHERITED).filter(|_| is_certain) {
        // None that the function took itself.
        status.held.remove(index);
        status.released = status.released.saturating_add(1);
        status.section = Section::None;
    } else if is_certain && status.held.pop().is_some() && status.held.is_empty() {
        status.section = Section::None;
    }
}

/// What a lock is known by: where it may be.
fn key(facts: &Facts, function: FunctionId, number: u32, argument: usize) -> Key {
    use std::hash::{Hash as _, Hasher as _};
    let mut hasher = rustc_hash::FxHasher::default();
    facts.functions[function as usize].addresses[&number].get(argument).hash(&mut hasher);
    // The lowest ones have a meaning of their own.
    hasher.finish() | 2
}
