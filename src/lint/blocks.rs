//! The atomic blocks of a program and of each of its processes, and their views.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::alone::Alone;
use super::calls::{Alike, Calls, Kind};
use super::locks::Locks;
use super::processes::Process;
use super::sections::{Context, Section, Sections};
use super::sync;
use crate::causal::facts::{Access, Facts, FunctionFacts, Variable};
use crate::causal::places::{PlaceId, Root};
use crate::causal::threads;
use crate::ir::model::{FunctionId, Op, Operand, ValueId};

/// By its place in [`Blocks::list`].
pub type BlockNumber = usize;

/// A set of variables.
pub type View = std::collections::BTreeSet<Variable>;

/// An atomic block, and what it accesses, functions that it calls included.
#[derive(Debug)]
pub struct Block {
    pub function: FunctionId,
    pub context: Context,
    /// The calls of the function that bring it about.
    pub kind: Kind,
    /// The instruction that it begins with.
    pub begin: u32,
    /// Functions that it calls.
    pub tree: FxHashSet<FunctionId>,
    pub reads: View,
    pub writes: View,
}

/// All atomic blocks.
#[derive(Debug, Default)]
pub struct Blocks {
    pub list: Vec<Block>,
    numbers: FxHashMap<(FunctionId, u32, Kind), BlockNumber>,
    /// Which calls of functions with blocks are told apart.
    pub calls: Calls,
    /// The blocks of each process.
    pub of_process: Vec<Vec<BlockNumber>>,
    /// The functions that each process runs.
    pub reached: Vec<FxHashSet<FunctionId>>,
    /// Whether a variable is shared.
    pub is_shared: Vec<bool>,
    pub locks: Locks,
    /// For each function its calls outside of blocks, in order.
    free_calls: Vec<Vec<(u32, FunctionId)>>,
}

/// Which way an access goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Way {
    Read,
    Write,
}

impl Way {
    #[must_use]
    pub fn of(self, access: &Access) -> &[Variable] {
        match self {
            Way::Read => &access.reads,
            Way::Write => &access.writes,
        }
    }
}

/// What a function does itself in one section.
#[derive(Default)]
struct Work {
    reads: Vec<Variable>,
    writes: Vec<Variable>,
    callees: Vec<FunctionId>,
}

impl Work {
    fn of(
        facts: &Facts,
        sections: &Sections,
        is_shared: &[bool],
        at: (FunctionId, Context, Section),
        alike: Option<&Alike>,
    ) -> Work {
        let (function, context, section) = at;
        let own = &facts.functions[function as usize];
        let is_there = |number: u32| sections.at(function, context, number).contains(&section);
        let mut work = Work::default();
        for (number, access) in own.accesses.iter().filter(|(number, _)| is_there(**number)) {
            let access = alike.and_then(|it| it.narrowed.get(number)).unwrap_or(access);
            work.reads.extend(access.reads.iter().filter(|it| is_shared[**it as usize]));
            work.writes.extend(access.writes.iter().filter(|it| is_shared[**it as usize]));
        }
        for (_, callees) in own.calls.iter().filter(|(number, _)| is_there(**number)) {
            work.callees.extend(callees.iter().filter(|&&callee| sections.is_followed(callee)));
        }
        for list in [&mut work.reads, &mut work.writes, &mut work.callees] {
            list.sort_unstable();
            list.dedup();
        }
        work
    }
}

/// What each function does in the block of its caller.
struct Held(Vec<Work>);

impl Held {
    fn new(facts: &Facts, sections: &Sections, is_shared: &[bool]) -> Held {
        let functions = 0..facts.functions.len() as FunctionId;
        Held(
            functions
                .map(|id| Work::of(facts, sections, is_shared, (id, Context::Held, Section::Inherited), None))
                .collect(),
        )
    }
}

/// A place in the program: a function and the number of an instruction.
pub type Site = (FunctionId, u32);

impl Blocks {
    #[must_use]
    pub fn find(facts: &Facts, sections: &Sections, processes: &[Process], alone: &Alone, paper: bool) -> Blocks {
        let (calls, free_calls) = (Calls::find(facts, sections), free_calls(facts, sections));
        let mut blocks = Blocks { calls, free_calls, ..Blocks::default() };
        let mut accessed_by: Vec<Vec<usize>> = vec![Vec::new(); facts.variables.len()];
        let mut all_reached: Vec<FxHashSet<FunctionId>> = Vec::new();
        let nobody = Alone::default();
        for (number, process) in processes.iter().enumerate() {
            let alone = if process.created_at.is_none() { alone } else { &nobody };
            let is_left_out = |site: &Site| alone.before.contains(site) || alone.after.contains(site);
            let reached = reach(facts, sections, process, is_left_out);
            let mut own = Vec::new();
            for &(function, context) in &reached {
                for begin in sections.blocks_of(function, context) {
                    if is_left_out(&(function, begin)) {
                        continue;
                    }
                    let kinds = blocks.kinds(function, context, process, |&(caller, call)| {
                        let is_here = |context| {
                            reached.contains(&(caller, context))
                                && sections.at(caller, context, call).contains(&Section::None)
                        };
                        !is_left_out(&(caller, call)) && (is_here(Context::Free) || is_here(Context::Held))
                    });
                    own.extend(kinds.into_iter().map(|kind| blocks.add(function, context, begin, kind)));
                }
            }
            own.sort_unstable();
            own.dedup();
            blocks.of_process.push(own);
            blocks.reached.push(reached.into_iter().map(|(function, _)| function).collect());
            // What threads have done together, `main` may look at when they have ended.
            let reached: FxHashSet<FunctionId> = reach(facts, sections, process, |site| alone.before.contains(site))
                .into_iter()
                .map(|(function, _)| function)
                .collect();
            for &function in &reached {
                for &variable in facts.functions[function as usize]
                    .accesses
                    .values()
                    .flat_map(|it| it.reads.iter().chain(&it.writes))
                {
                    let by = &mut accessed_by[variable as usize];
                    if by.last() != Some(&number) {
                        by.push(number);
                    }
                }
            }
            all_reached.push(reached);
        }
        let given = thread_arguments(facts);
        let is_given = |root: &Root| matches!(root, Root::Global(_)) || given.contains(root);
        let is_handle = handles(facts);
        let handed_on = facts.points.reachable_from(is_given);
        let escaping = facts.points.reachable_from(|root| *root == Root::Unknown || is_given(root));
        blocks.is_shared = (0..)
            .zip(&accessed_by)
            .map(|(variable, by)| {
                if facts.is_own[variable as usize] || !paper && is_handle(variable) {
                    return false;
                }
                let is_many = by.len() > 1 || by.iter().any(|&process| processes[process].is_multiple);
                let is_foreign = |owner: FunctionId| by.iter().any(|&process| !all_reached[process].contains(&owner));
                match facts.root(variable) {
                    _ if paper => true,
                    _ if is_of_compiler(facts, variable) => false,
                    Root::Global(id) => {
                        let global = &facts.program.module.globals[id as usize];
                        is_many && !global.is_thread_local && !global.is_constant
                    }
                    Root::Unknown => is_many,
                    // Each thread has its own, unless it was given to another one.
                    root @ Root::Heap(owner, _) => is_many && (is_foreign(owner) || escaping.contains(&root)),
                    root @ Root::Local(owner, _) => is_many && (is_foreign(owner) || handed_on.contains(&root)),
                    Root::Function(_) => false,
                }
            })
            .collect();
        let held = Held::new(facts, sections, &blocks.is_shared);
        for number in 0..blocks.list.len() {
            blocks.fill(facts, sections, &held, number);
        }
        blocks.locks = Locks::find(facts, sections, &blocks.list);
        blocks
    }

    fn add(&mut self, function: FunctionId, context: Context, begin: u32, kind: Kind) -> BlockNumber {
        let next = self.list.len();
        let number = *self.numbers.entry((function, begin, kind)).or_insert(next);
        if number == next {
            let (reads, writes, tree) = (View::new(), View::new(), FxHashSet::default());
            self.list.push(Block { function, context, kind, begin, tree, reads, writes });
        }
        number
    }

    /// The kinds of calls by which a process comes to the blocks of a function.
    fn kinds(
        &self,
        function: FunctionId,
        context: Context,
        process: &Process,
        is_made: impl Fn(&Site) -> bool,
    ) -> Vec<Kind> {
        let kinds = self.calls.of(function);
        if kinds.is_empty() || context == Context::Held {
            return vec![0];
        }
        let made = (1..).zip(kinds).filter(|(_, alike)| alike.calls.iter().any(&is_made)).map(|(kind, _)| kind);
        process.bases.contains(&function).then_some(0).into_iter().chain(made).collect()
    }

    /// How many places there are where blocks begin.
    #[must_use]
    pub fn begins(&self) -> usize {
        self.list.iter().map(|block| (block.function, block.begin)).collect::<FxHashSet<_>>().len()
    }

    /// The block that begins at an instruction, for who comes there by such a call.
    #[must_use]
    pub fn at(&self, function: FunctionId, begin: u32, kind: Kind) -> Option<BlockNumber> {
        let exact = self.numbers.get(&(function, begin, kind)).copied();
        let all = 0..=self.calls.of(function).len() as Kind;
        exact.or_else(|| all.into_iter().find_map(|kind| self.numbers.get(&(function, begin, kind)).copied()))
    }

    fn fill(&mut self, facts: &Facts, sections: &Sections, held: &Held, number: BlockNumber) {
        let Block { function, context, begin, kind, .. } = self.list[number];
        let alike = self.calls.alike(function, kind);
        let own = Work::of(facts, sections, &self.is_shared, (function, context, Section::Own(begin)), alike);
        let mut is_read = vec![false; facts.variables.len()];
        let mut is_written = is_read.clone();
        let mut tree = FxHashSet::default();
        let mut waiting: Vec<FunctionId> = Vec::new();
        let mut take = |work: &Work, waiting: &mut Vec<FunctionId>| {
            work.reads.iter().for_each(|&it| is_read[it as usize] = true);
            work.writes.iter().for_each(|&it| is_written[it as usize] = true);
            waiting.extend(&work.callees);
        };
        take(&own, &mut waiting);
        while let Some(id) = waiting.pop() {
            if tree.insert(id) {
                take(&held.0[id as usize], &mut waiting);
            }
        }
        let view =
            |is_in: Vec<bool>| (0..).zip(is_in).filter(|(_, is_in)| *is_in).map(|(variable, _)| variable).collect();
        let block = &mut self.list[number];
        (block.reads, block.writes, block.tree) = (view(is_read), view(is_written), tree);
    }

    /// Instructions of a block that access a variable.
    #[must_use]
    pub fn accesses(
        &self,
        facts: &Facts,
        sections: &Sections,
        number: BlockNumber,
        variable: Variable,
        way: Way,
    ) -> Vec<Site> {
        let block = &self.list[number];
        let alike = self.calls.alike(block.function, block.kind);
        let sites = if way == Way::Read { &facts.readers } else { &facts.writers };
        let is_inside = |&(function, at): &Site| {
            let is = |context, section| sections.at(function, context, at).contains(&section);
            let narrowed = || alike.and_then(|it| it.narrowed.get(&at));
            function == block.function
                && is(block.context, Section::Own(block.begin))
                && narrowed().is_none_or(|access| way.of(access).contains(&variable))
                || block.tree.contains(&function) && is(Context::Held, Section::Inherited)
        };
        sites[variable as usize].iter().copied().filter(is_inside).collect()
    }

    /// Whether a call of its function brings a block about.
    #[must_use]
    pub fn is_by(&self, block: &Block, call: Site) -> bool {
        self.calls.alike(block.function, block.kind).is_none_or(|alike| alike.calls.contains(&call))
    }

    /// The calls from a function to a block: the beginning of the block first, then each call outwards, the last one in the function.
    #[must_use]
    pub fn way_down(&self, function: FunctionId, number: BlockNumber) -> Vec<Site> {
        let block = &self.list[number];
        let begin = (block.function, block.begin);
        let mut from: FxHashMap<FunctionId, Site> = FxHashMap::default();
        let mut waiting = VecDeque::from([function]);
        while let Some(id) = waiting.pop_front().filter(|&id| id != block.function) {
            let calls = self.free_calls[id as usize].iter();
            let is_meant = |callee, at| callee != block.function || self.is_by(block, (id, at));
            let calls = calls.filter(|&&(at, callee)| callee != function && is_meant(callee, at));
            // Most often it is near.
            if let Some(&(at, callee)) = calls.clone().find(|(_, callee)| *callee == block.function) {
                from.insert(callee, (id, at));
                break;
            }
            for &(at, callee) in calls {
                from.entry(callee).or_insert_with(|| {
                    waiting.push_back(callee);
                    (id, at)
                });
            }
        }
        let mut stack = vec![begin];
        let mut at = block.function;
        while let Some(&site) = from.get(&at).filter(|_| at != function) {
            stack.push(site);
            at = site.0;
        }
        stack
    }

    /// The calls from a block to one of its accesses: the access first, then each call outwards, the last one in the block's own function.
    #[must_use]
    pub fn stack(&self, facts: &Facts, sections: &Sections, number: BlockNumber, access: Site) -> Vec<Site> {
        let block = &self.list[number];
        if access.0 == block.function {
            return vec![access];
        }
        let mut from: FxHashMap<FunctionId, Site> = FxHashMap::default();
        let mut waiting = VecDeque::from([(block.function, block.context, Section::Own(block.begin))]);
        while let Some((id, context, section)) = waiting.pop_front() {
            let mut calls: Vec<_> = facts.functions[id as usize].calls.iter().collect();
            calls.sort_unstable();
            for (&at, callees) in calls {
                if !sections.at(id, context, at).contains(&section) {
                    continue;
                }
                for &callee in
                    callees.iter().filter(|&&callee| sections.is_followed(callee) && callee != block.function)
                {
                    from.entry(callee).or_insert_with(|| {
                        waiting.push_back((callee, Context::Held, Section::Inherited));
                        (id, at)
                    });
                }
            }
        }
        let mut stack = vec![access];
        let mut at = access.0;
        while let Some(&site) = from.get(&at) {
            stack.push(site);
            at = site.0;
            if at == block.function {
                break;
            }
        }
        stack
    }
}

/// The functions that a process runs, with what their callers may be in.
fn reach(
    facts: &Facts,
    sections: &Sections,
    process: &Process,
    is_left_out: impl Fn(&Site) -> bool,
) -> FxHashSet<(FunctionId, Context)> {
    let mut reached = FxHashSet::default();
    let mut waiting: Vec<(FunctionId, Context)> = process.bases.iter().map(|&id| (id, Context::Free)).collect();
    while let Some((id, context)) = waiting.pop() {
        if !reached.insert((id, context)) {
            continue;
        }
        for (&number, callees) in &facts.functions[id as usize].calls {
            if is_left_out(&(id, number)) {
                continue;
            }
            for section in sections.at(id, context, number) {
                let context = if *section == Section::None { Context::Free } else { Context::Held };
                let followed = callees.iter().copied().filter(|&callee| sections.is_followed(callee));
                waiting.extend(followed.map(|callee| (callee, context)));
            }
        }
    }
    reached
}

/// Whether something is accessed as a type that only the compiler's own headers have, to move many bytes at once: what they are is not known.
fn is_of_compiler(facts: &Facts, variable: Variable) -> bool {
    let place = facts.points.places.get(facts.variables[variable as usize]);
    let types = place.path.iter().map(|(of, _)| facts.program.module.structs[*of as usize].name.as_str());
    place.root == Root::Unknown && types.into_iter().any(|name| name.starts_with("struct.__"))
}

/// Whether a variable says nothing but which lock or condition is meant: all that it may point to is one.
fn handles(facts: &Facts) -> impl Fn(Variable) -> bool {
    let mut locks: FxHashSet<PlaceId> = FxHashSet::default();
    for function in &facts.functions {
        let is_sync = |&callee: &FunctionId| sync::of(&facts.program.function(callee).name).is_some();
        let calls = function.calls.iter().filter(|(_, callees)| callees.iter().any(is_sync));
        // A condition comes with its lock.
        locks.extend(calls.flat_map(|(number, _)| function.addresses[number].iter().take(2).flatten()));
    }
    move |variable| {
        let meant = facts.points.in_place(facts.variables[variable as usize]);
        !meant.is_empty() && meant.iter().all(|place| locks.contains(place))
    }
}

/// What the argument of a thread start may be the address of.
fn thread_arguments(facts: &Facts) -> FxHashSet<Root> {
    let mut given: Vec<(FunctionId, ValueId)> = Vec::new();
    for (id, function) in (0..).zip(&facts.functions) {
        for (&number, callees) in &function.calls {
            let Op::Call { arguments, .. } = &facts.instruction(id, number).op else { continue };
            let starts = callees.iter().filter_map(|&it| threads::start_of(&facts.program.function(it).name));
            for start in starts {
                if let Some(Operand::Value(value)) = arguments.get(start.argument) {
                    given.push((id, *value));
                }
            }
        }
    }
    let runs = threads::states(&facts.program).into_iter().map(|(_, run)| run);
    given.extend(runs.filter_map(|run| Some((run, *facts.program.function(run).parameters.first()?))));
    let places = given.into_iter().flat_map(|(function, value)| facts.points.of_value(function, value));
    places.map(|&place| facts.points.places.get(place).root).collect()
}

/// The calls of each function that it makes outside of blocks, of functions whose work is looked at.
fn free_calls(facts: &Facts, sections: &Sections) -> Vec<Vec<(u32, FunctionId)>> {
    let of = |(id, function): (FunctionId, &FunctionFacts)| {
        let calls = function.calls.iter().flat_map(|(&at, callees)| callees.iter().map(move |&callee| (at, callee)));
        let is_free = |at: u32| sections.at(id, Context::Free, at).contains(&Section::None);
        let mut calls: Vec<(u32, FunctionId)> =
            calls.filter(|&(at, callee)| sections.is_followed(callee) && is_free(at)).collect();
        calls.sort_by_key(|&(at, _)| at);
        calls
    };
    (0..).zip(&facts.functions).map(of).collect()
}
