//! Calls that start threads and that wait for their ends, each with the variable that the program keeps the thread in.
//!
//! A function that gets what it starts or waits for as an argument only stands for its callers: each call of it is such a call.

use rustc_hash::FxHashSet;

use super::blocks::Site;
use super::findings::is_library;
use super::loops::repeats;
use crate::causal::facts::Facts;
use crate::causal::places::{PlaceId, Root};
use crate::causal::threads;
use crate::ir::model::{FunctionId, Op, Operand, Step};

/// Where a program keeps a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Kept {
    pub place: PlaceId,
    /// It may be one of several that are known by the same place: elements, or what is allocated there.
    pub is_one_of_many: bool,
}

/// A call that starts a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    pub site: Site,
    /// What the thread may run.
    pub routines: Vec<FunctionId>,
    pub kept: Option<Kept>,
}

/// A call that waits for the end of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Join {
    pub site: Site,
    pub kept: Kept,
    /// The function that is called does so in a loop.
    pub is_loop: bool,
}

/// How a call names a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    Address,
    Value,
}

const JOINS: &[(&str, By)] =
    &[("pthread_join", By::Value), ("thrd_join", By::Value), ("_ZNSt6thread4joinEv", By::Address)];

/// A `std::thread` that is made or replaced by another one: the first argument is then where the second one is kept.
const MOVES: &[&str] = &["_ZNSt6threadC1EOS_", "_ZNSt6threadC2EOS_", "_ZNSt6threadaSEOS_"];

/// Functions that stand for their callers call each other so deep.
const DEEPEST: usize = 4;

/// What an operand is known to be.
#[derive(Clone, Copy)]
enum Known {
    Place(Kept),
    Parameter(usize, By),
    Nothing,
}

/// All calls that start threads.
#[must_use]
pub fn starts(facts: &Facts) -> Vec<Start> {
    let mut found = Vec::new();
    for (id, _) in facts.program.defined() {
        for (&number, callees) in &facts.functions[id as usize].calls {
            let starts = callees.iter().filter_map(|&callee| threads::start_of(&facts.program.function(callee).name));
            for start in starts {
                let arguments = arguments(facts, (id, number));
                let (Some(routine), Some(handle)) = (arguments.get(start.routine), arguments.first()) else { continue };
                let kept = known(facts, (id, number), handle, By::Address);
                started(facts, (id, number), routine, kept, DEEPEST, &mut found);
            }
        }
    }
    for (constructor, run) in threads::states(&facts.program) {
        // The template's constructor makes the state; who calls that is the program.
        let makers = facts.callers[constructor as usize].iter();
        let callables = callables(facts, run);
        for site in makers.flat_map(|&maker| callers(facts, maker)) {
            let given: Vec<FunctionId> = given(facts, site).into_iter().filter(|it| callables.contains(it)).collect();
            let routines = if given.is_empty() { callables.clone() } else { given };
            let this = arguments(facts, site).first().map(|this| known(facts, site, this, By::Address));
            let kept = if let Some(Known::Place(kept)) = this { Some(kept) } else { None };
            found.push(Start { site, routines, kept });
        }
    }
    for (id, name) in facts.program.defined().map(|(id, it)| (id, &it.name)).filter(|(_, it)| it.starts_with(ASYNC)) {
        for site in callers(facts, id) {
            let mut routines: Vec<FunctionId> = given(facts, site);
            routines.extend(facts.program.defined().filter(|(_, it)| is_closure_in(&it.name, name)).map(|(id, _)| id));
            routines.retain(|&id| !facts.program.function(id).blocks.is_empty());
            found.push(Start { site, routines, kept: None });
        }
    }
    found.sort_by_key(|start| start.site);
    found
}

/// A call that starts what it is given, as the program says what that is.
fn started(facts: &Facts, site: Site, routine: &Operand, kept: Known, deep: usize, found: &mut Vec<Start>) {
    let routines = routines(facts, site.0, routine);
    let calls = callers(facts, site.0);
    let depends = deep > 0 && !calls.is_empty() && (routines.len() > 1 || matches!(kept, Known::Parameter(..)));
    if let Some(index) = parameter(facts, site.0, routine).filter(|_| depends) {
        for call in calls {
            let Some(routine) = arguments(facts, call).get(index) else { continue };
            started(facts, call, routine, at_call(facts, call, kept), deep - 1, found);
        }
        return;
    }
    let kept = if let Known::Place(kept) = kept { Some(kept) } else { None };
    found.push(Start { site, routines, kept });
}

/// All calls that wait for threads that are known by a variable.
#[must_use]
pub fn joins(facts: &Facts) -> Vec<Join> {
    let mut found = Vec::new();
    for (id, _) in facts.program.defined() {
        for (&number, callees) in &facts.functions[id as usize].calls {
            let name = |callee: &FunctionId| &facts.program.function(*callee).name;
            let by = callees.iter().find_map(|callee| JOINS.iter().find(|(join, _)| join == name(callee)));
            let Some((by, handle)) = by.map(|(_, by)| *by).zip(arguments(facts, (id, number)).first()) else {
                continue;
            };
            let kept = known(facts, (id, number), handle, by);
            joined(facts, (id, number), kept, false, DEEPEST, &mut found);
        }
    }
    found.sort_by_key(|join| join.site);
    found
}

fn joined(facts: &Facts, site: Site, kept: Known, is_loop: bool, deep: usize, found: &mut Vec<Join>) {
    match kept {
        Known::Place(kept) => found.push(Join { site, kept, is_loop }),
        Known::Parameter(..) if deep > 0 => {
            let is_loop = is_loop || repeats(facts, site.0, site.1);
            for call in callers(facts, site.0) {
                joined(facts, call, at_call(facts, call, kept), is_loop, deep - 1, found);
            }
        }
        Known::Parameter(..) | Known::Nothing => {}
    }
}

/// Places between which threads are moved.
#[must_use]
pub fn moves(facts: &Facts) -> Vec<[PlaceId; 2]> {
    let mut found = Vec::new();
    for function in &facts.functions {
        for (number, callees) in &function.calls {
            if !callees.iter().any(|&callee| MOVES.contains(&facts.program.function(callee).name.as_str())) {
                continue;
            }
            if let [to, from, ..] = &function.addresses[number][..] {
                found.extend(to.iter().flat_map(|&to| from.iter().map(move |&from| [to, from])));
            }
        }
    }
    found
}

/// What is known of a parameter where the function is called.
fn at_call(facts: &Facts, call: Site, known_there: Known) -> Known {
    match known_there {
        Known::Place(kept) => Known::Place(kept),
        Known::Parameter(index, by) => match arguments(facts, call).get(index) {
            Some(argument) => known(facts, call, argument, by),
            None => Known::Nothing,
        },
        Known::Nothing => Known::Nothing,
    }
}

/// What names a thread in a call.
fn known(facts: &Facts, site: Site, operand: &Operand, by: By) -> Known {
    let function = site.0;
    let index = parameter(facts, function, operand);
    match by {
        By::Value => match (operand, index) {
            (_, Some(index)) => Known::Parameter(index, by),
            (Operand::Value(value), None) => {
                let Some((block, at)) = facts.program.made_by_number(function, *value) else { return Known::Nothing };
                let own = &facts.functions[function as usize];
                let number = own.number(block, at as usize);
                let Op::Load { from, .. } = &facts.instruction(function, number).op else { return Known::Nothing };
                let read = own.accesses.get(&number).map_or(&[][..], |access| &access.reads);
                let places: Vec<PlaceId> = read.iter().map(|&variable| facts.variables[variable as usize]).collect();
                of_places(facts, function, &places, from)
            }
            _ => Known::Nothing,
        },
        By::Address => {
            let at = arguments(facts, site).iter().position(|argument| argument == operand);
            let places = at.and_then(|at| facts.functions[function as usize].addresses[&site.1].get(at));
            of_places(facts, function, places.map_or(&[], Vec::as_slice), operand)
        }
    }
}

/// What lies at an address.
fn of_places(facts: &Facts, function: FunctionId, places: &[PlaceId], address: &Operand) -> Known {
    if let [place] = *places {
        let root = facts.points.places.get(place).root;
        if root != Root::Unknown {
            let is_one_of_many = matches!(root, Root::Heap(..)) || facts.points.places.is_array(&facts.program, place);
            return Known::Place(Kept { place, is_one_of_many });
        }
    }
    match parameter(facts, function, base(facts, function, address)) {
        Some(index) => Known::Parameter(index, By::Address),
        None => Known::Nothing,
    }
}

/// The address that an element is counted from.
fn base<'f>(facts: &'f Facts, function: FunctionId, address: &'f Operand) -> &'f Operand {
    let Operand::Value(value) = address else { return address };
    match facts.program.made_by(function, *value).map(|it| &it.op) {
        Some(Op::Address { base: from, path }) if path.iter().all(|step| matches!(step, Step::Element(_))) => {
            base(facts, function, from)
        }
        _ => address,
    }
}

/// The parameter that an operand is, by way of the variable that the compiler keeps it in.
pub(super) fn parameter(facts: &Facts, function: FunctionId, operand: &Operand) -> Option<usize> {
    let Operand::Value(value) = operand else { return None };
    let body = facts.program.function(function);
    if let Some(index) = body.parameters.iter().position(|it| it == value) {
        return Some(index);
    }
    match &facts.program.made_by(function, *value)?.op {
        Op::Cast(operand) => parameter(facts, function, operand),
        Op::Load { from: Operand::Value(from), .. } => {
            let Op::Local { .. } = facts.program.made_by(function, *from)?.op else { return None };
            let instructions = body.blocks.iter().flat_map(|block| &block.instructions);
            let mut stored = instructions.filter_map(|it| match &it.op {
                Op::Store { value, to: Operand::Value(to), .. } if to == from => Some(value),
                _ => None,
            });
            let (Some(Operand::Value(value)), None) = (stored.next(), stored.next()) else { return None };
            body.parameters.iter().position(|it| it == value)
        }
        _ => None,
    }
}

fn arguments(facts: &Facts, (function, number): Site) -> &[Operand] {
    match &facts.instruction(function, number).op {
        Op::Call { arguments, .. } => arguments,
        _ => &[],
    }
}

/// What it calls in the end, only the library knows; but what it is given is in its arguments and their types.
const ASYNC: &str = "_ZSt5async";

/// Whether a function is what a lambda runs whose type is in the name of a template.
fn is_closure_in(function: &str, template: &str) -> bool {
    let Some((around, lambda)) = function.strip_prefix("_Z").and_then(|it| it.split_once("ENK")) else { return false };
    let Some((lambda, _)) = lambda.rsplit_once("cl").filter(|_| around.starts_with('Z')) else { return false };
    template.contains(&format!("{around}E{lambda}"))
}

fn routines(facts: &Facts, function: FunctionId, operand: &Operand) -> Vec<FunctionId> {
    let is_defined = |id: &FunctionId| !facts.program.function(*id).blocks.is_empty();
    match operand {
        Operand::Function(id) => Some(*id).into_iter().filter(is_defined).collect(),
        Operand::Value(value) => {
            let places = facts.points.of_value(function, *value).iter();
            let roots = places.map(|&place| facts.points.places.get(place).root);
            let found = roots.filter_map(|root| if let Root::Function(id) = root { Some(id) } else { None });
            found.filter(is_defined).collect()
        }
        _ => Vec::new(),
    }
}

/// What the program gave to the C++ library to be run: the first functions behind `run` that are not the library's.
fn callables(facts: &Facts, run: FunctionId) -> Vec<FunctionId> {
    let mut seen = FxHashSet::default();
    let mut waiting = vec![run];
    let mut found = Vec::new();
    while let Some(id) = waiting.pop() {
        if !seen.insert(id) || facts.program.function(id).blocks.is_empty() {
            continue;
        }
        if is_library(&facts.program.function(id).name) {
            waiting.extend(&facts.callees[id as usize]);
        } else {
            found.push(id);
        }
    }
    found.sort_unstable();
    if found.is_empty() { vec![run] } else { found }
}

/// The functions whose addresses a call is given, itself or in what it points to.
fn given(facts: &Facts, (function, number): Site) -> Vec<FunctionId> {
    let mut found = Vec::new();
    for argument in arguments(facts, (function, number)) {
        if let Operand::Function(id) = argument {
            found.push(*id);
        }
        let Operand::Value(value) = argument else { continue };
        let pointed = facts.points.of_value(function, *value).iter();
        for &place in pointed.flat_map(|place| std::iter::once(place).chain(facts.points.in_place(*place))) {
            if let Root::Function(id) = facts.points.places.get(place).root {
                found.push(id);
            }
        }
    }
    found
}

pub(super) fn callers(facts: &Facts, callee: FunctionId) -> Vec<Site> {
    let mut found = Vec::new();
    for (id, function) in (0..).zip(&facts.functions) {
        let calls = function.calls.iter().filter(|(_, callees)| callees.contains(&callee));
        found.extend(calls.map(|(&number, _)| (id, number)));
    }
    found
}
