//! Calls of functions that lock for themselves, told apart by what they give them.
//!
//! `get(&a) + get(&b)` are two blocks with two views, though both begin in the same place: what `get` accesses by way of its parameters
//! is what this call gives it. Calls that give the same are one kind.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::blocks::Site;
use super::sections::{Context, Section, Sections};
use super::starts::{callers, parameter};
use crate::causal::facts::{Access, Facts, Variable};
use crate::causal::places::{Field, PlaceId};
use crate::ir::model::{FunctionId, Op, Operand, Step};

/// By its place among those of its function, from 1 on. 0 is any call.
pub type Kind = u32;

/// Calls that give a function the same.
#[derive(Debug, Default)]
pub struct Alike {
    pub calls: FxHashSet<Site>,
    /// What instructions of the function access then, if that is less than they may access.
    pub narrowed: FxHashMap<u32, Access>,
}

/// The functions whose calls are told apart.
#[derive(Debug, Default)]
pub struct Calls {
    functions: FxHashMap<FunctionId, Vec<Alike>>,
    kinds: FxHashMap<(FunctionId, Site), Kind>,
}

impl Calls {
    #[must_use]
    pub fn find(facts: &Facts, sections: &Sections) -> Calls {
        let variables: FxHashMap<PlaceId, Variable> = facts.variables.iter().copied().zip(0..).collect();
        let mut found = Calls::default();
        for (id, _) in facts.program.defined() {
            if sections.blocks_of(id, Context::Free).is_empty() {
                continue;
            }
            let accesses = by_parameters(facts, sections, id);
            let calls = if accesses.is_empty() { Vec::new() } else { callers(facts, id) };
            let mut alike: BTreeMap<Vec<(u32, Vec<Variable>)>, FxHashSet<Site>> = BTreeMap::new();
            for call in calls.into_iter().filter(|&call| is_free(sections, call)) {
                let given = |it: &ByParameter| Some((it.number, accessed(facts, &variables, id, it, call)?));
                alike.entry(accesses.iter().filter_map(given).collect()).or_default().insert(call);
            }
            if alike.len() > 1 {
                found.add(facts, id, alike);
            }
        }
        found
    }

    fn add(&mut self, facts: &Facts, id: FunctionId, kinds: BTreeMap<Vec<(u32, Vec<Variable>)>, FxHashSet<Site>>) {
        let own = &facts.functions[id as usize];
        for (kind, (given, calls)) in (1..).zip(kinds) {
            self.kinds.extend(calls.iter().map(|&call| ((id, call), kind)));
            let narrow = |(number, variables): (u32, Vec<Variable>)| {
                let mut access = own.accesses[&number].clone();
                access.reads.retain(|it| variables.contains(it));
                access.writes.retain(|it| variables.contains(it));
                (number, access)
            };
            let narrowed = given.into_iter().map(narrow).collect();
            self.functions.entry(id).or_default().push(Alike { calls, narrowed });
        }
    }

    /// The kinds of calls of a function; none if they are all alike.
    #[must_use]
    pub fn of(&self, function: FunctionId) -> &[Alike] {
        self.functions.get(&function).map_or(&[], Vec::as_slice)
    }

    /// The calls of one kind, unless it is any.
    #[must_use]
    pub fn alike(&self, function: FunctionId, kind: Kind) -> Option<&Alike> {
        self.of(function).get((kind as usize).checked_sub(1)?)
    }

    #[must_use]
    pub fn kind(&self, function: FunctionId, call: Site) -> Kind {
        self.kinds.get(&(function, call)).copied().unwrap_or_default()
    }
}

/// Whether a call is made outside of all blocks, at least sometimes.
fn is_free(sections: &Sections, (function, number): Site) -> bool {
    sections.at(function, Context::Free, number).contains(&Section::None)
}

/// An access by way of a parameter: to these fields of what it points to.
struct ByParameter {
    number: u32,
    parameter: usize,
    fields: Vec<Field>,
}

fn by_parameters(facts: &Facts, sections: &Sections, id: FunctionId) -> Vec<ByParameter> {
    let mut numbers: Vec<u32> = facts.functions[id as usize].accesses.keys().copied().collect();
    numbers.sort_unstable();
    let in_block = |it: &u32| sections.at(id, Context::Free, *it).iter().any(|it| matches!(it, Section::Own(_)));
    let found = numbers.into_iter().filter(in_block).filter_map(|number| {
        let address = match &facts.instruction(id, number).op {
            Op::Load { from, .. } => from,
            Op::Store { to, .. } | Op::Update { to, .. } => to,
            _ => return None,
        };
        let (parameter, fields) = by_parameter(facts, id, address)?;
        Some(ByParameter { number, parameter, fields })
    });
    found.collect()
}

fn by_parameter(facts: &Facts, id: FunctionId, address: &Operand) -> Option<(usize, Vec<Field>)> {
    if let Some(parameter) = parameter(facts, id, address) {
        return Some((parameter, Vec::new()));
    }
    let Operand::Value(value) = address else { return None };
    let Op::Address { base, path } = &facts.program.made_by(id, *value)?.op else { return None };
    let (parameter, mut fields) = by_parameter(facts, id, base)?;
    fields.extend(path.iter().filter_map(|step| match step {
        Step::Field { of, index } => Some((*of, *index)),
        Step::Element(_) => None,
    }));
    Some((parameter, fields))
}

/// The variables that a call lets an instruction access, if that is known.
fn accessed(
    facts: &Facts,
    variables: &FxHashMap<PlaceId, Variable>,
    id: FunctionId,
    it: &ByParameter,
    (caller, call): Site,
) -> Option<Vec<Variable>> {
    let given = facts.functions[caller as usize].addresses[&call].get(it.parameter)?;
    let access = &facts.functions[id as usize].accesses[&it.number];
    let mut accessed = Vec::new();
    for &place in given {
        let place = facts.points.places.known_part(&facts.program, place, &it.fields)?;
        let variable = *variables.get(&place)?;
        if !access.reads.contains(&variable) && !access.writes.contains(&variable) {
            return None;
        }
        accessed.push(variable);
    }
    accessed.sort_unstable();
    accessed.dedup();
    (!accessed.is_empty()).then_some(accessed)
}
