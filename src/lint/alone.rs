//! What `main` does while no other thread runs: before it starts the first one, and after it has joined all.
//!
//! Each function changes which threads run: it starts some, and waits for the ends of some on every way. What holds at an instruction
//! follows from that, and from where `main` calls the function.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::blocks::Site;
use super::loops::{innermost, repeats};
use super::processes::{called_often, with_callees};
use super::starts::{Join, Start, joins, moves};
use crate::causal::control::successors;
use crate::causal::facts::Facts;
use crate::causal::places::PlaceId;
use crate::ir::model::{BlockId, End, FunctionId};

/// Instructions that `main` comes to only while it is alone.
#[derive(Debug, Default)]
pub struct Alone {
    /// No thread has been started yet.
    pub before: FxHashSet<Site>,
    /// Threads have been there.
    pub after: FxHashSet<Site>,
}

/// Starts, by their places in the list of those.
type Started = BTreeSet<usize>;

/// What some code does to the threads that run.
#[derive(Clone, PartialEq, Eq, Default)]
struct Change {
    started: Started,
    /// On every way.
    ended: Started,
    has_started: bool,
}

impl Change {
    fn then(&mut self, next: &Change) {
        self.started.retain(|it| !next.ended.contains(it));
        self.started.extend(&next.started);
        self.ended.extend(&next.ended);
        self.has_started |= next.has_started;
    }

    /// One of both.
    fn or(&mut self, other: &Change) {
        self.started.extend(&other.started);
        self.ended.retain(|it| other.ended.contains(it));
        self.has_started |= other.has_started;
    }
}

/// The instructions of a program that `main` runs alone.
#[must_use]
pub fn alone(facts: &Facts, main: FunctionId, starts: &[Start]) -> Alone {
    let known = starts.iter().flat_map(|start| start.routines.iter().copied()).chain([main]);
    let known = with_callees(facts, known);
    // Who starts threads without being called by anybody who is known may do so at any time.
    if starts.is_empty() || starts.iter().any(|start| !known.contains(&start.site.0)) {
        return Alone::default();
    }
    let joins = joins(facts);
    let mut lost = FxHashSet::default();
    loop {
        let flow = Flow::new(facts, starts, &joins, &lost);
        let (alone, overwritten) = flow.from(main);
        let before = lost.len();
        lost.extend(overwritten);
        if lost.len() == before {
            return alone;
        }
    }
}

struct Flow<'l> {
    facts: &'l Facts,
    starts: &'l [Start],
    /// For each start the variable that the thread is kept in, unless it is one of many.
    variables: Vec<Option<PlaceId>>,
    /// What calls do themselves.
    at: FxHashMap<Site, Change>,
    /// Loops whose end is the end of some threads.
    gates: FxHashMap<FunctionId, Vec<(BTreeSet<BlockId>, Started)>>,
    /// Functions that start threads or wait for them, themselves or by others, with what each of them does.
    functions: FxHashMap<FunctionId, Change>,
}

impl<'l> Flow<'l> {
    /// Threads that are kept in `lost` places are never known to have ended.
    fn new(facts: &'l Facts, starts: &'l [Start], joins: &[Join], lost: &FxHashSet<PlaceId>) -> Flow<'l> {
        let mut flow = Flow {
            facts,
            starts,
            variables: vec![None; starts.len()],
            at: FxHashMap::default(),
            gates: FxHashMap::default(),
            functions: FxHashMap::default(),
        };
        for (index, start) in starts.iter().enumerate() {
            let change = Change { started: [index].into(), has_started: true, ..Change::default() };
            flow.at.entry(start.site).or_default().then(&change);
        }
        flow.put_joins(joins, lost);
        flow.summarise();
        flow
    }

    /// Finds which joins are the ends of which threads.
    fn put_joins(&mut self, joins: &[Join], lost: &FxHashSet<PlaceId>) {
        let (facts, starts) = (self.facts, self.starts);
        let kept = Same::new(moves(facts));
        let repeated = with_callees(facts, called_often(facts));
        let is_single = |start: &Start| {
            let (function, number) = start.site;
            !repeated.contains(&function) && !repeats(facts, function, number)
        };
        let starting: FxHashSet<FunctionId> = starts.iter().map(|start| start.site.0).collect();
        // Who waits for a thread does not wait for those that it has started.
        let is_leaf = |start: &Start| {
            let reached = with_callees(facts, start.routines.iter().copied());
            !start.routines.is_empty() && starting.is_disjoint(&reached)
        };
        let mut groups: FxHashMap<PlaceId, (Vec<usize>, Vec<&Join>, bool)> = FxHashMap::default();
        for (index, start) in starts.iter().enumerate() {
            let Some(place) = start.kept.filter(|_| is_leaf(start)) else { continue };
            let group = groups.entry(kept.of(place.place)).or_default();
            group.0.push(index);
            group.2 |= place.is_one_of_many;
        }
        for join in joins {
            let Some(group) = groups.get_mut(&kept.of(join.kept.place)) else { continue };
            group.1.push(join);
            group.2 |= join.kept.is_one_of_many;
        }
        for (place, (started, joins, are_many)) in groups {
            if !are_many && !lost.contains(&place) {
                for &index in &started {
                    self.variables[index] = Some(place);
                }
                for join in &joins {
                    self.ends(join, started.iter().copied().collect(), false);
                }
            }
            if are_many {
                // Which element is meant is not known: each join is for another start, the last one for all others.
                for (at, join) in joins.iter().enumerate().take(started.len()) {
                    let is_loop = join.is_loop || repeats(facts, join.site.0, join.site.1);
                    let rest = if at + 1 == joins.len() { &started[at..] } else { &started[at..=at] };
                    if is_loop || rest.len() == 1 && is_single(&starts[rest[0]]) {
                        self.ends(join, rest.iter().copied().collect(), is_loop && !join.is_loop);
                    }
                }
            }
        }
    }

    fn ends(&mut self, join: &Join, ended: Started, is_in_loop: bool) {
        let (function, number) = join.site;
        let around = innermost(self.facts, function, self.facts.functions[function as usize].block_of(number).0);
        match around.filter(|_| is_in_loop) {
            Some(around) => self.gates.entry(function).or_default().push((around, ended)),
            None => self.at.entry(join.site).or_default().then(&Change { ended, ..Change::default() }),
        }
    }

    fn summarise(&mut self) {
        let facts = self.facts;
        let mut concerned: FxHashSet<FunctionId> = self.at.keys().map(|(function, _)| *function).collect();
        concerned.extend(self.gates.keys());
        let mut waiting: Vec<FunctionId> = concerned.iter().copied().collect();
        while let Some(id) = waiting.pop() {
            waiting.extend(facts.callers[id as usize].iter().copied().filter(|&caller| concerned.insert(caller)));
        }
        // Of functions that call each other, nothing is known but that they may start everything.
        let anything = Change { started: (0..self.starts.len()).collect(), has_started: true, ..Change::default() };
        self.functions = concerned.iter().map(|&id| (id, anything.clone())).collect();
        for &id in facts.groups.iter().flatten().filter(|id| concerned.contains(id)) {
            let (_, change) = self.through(id);
            self.functions.insert(id, change);
        }
    }

    /// What a call does.
    fn call(&self, function: FunctionId, number: u32) -> Option<Change> {
        let callees = self.facts.functions[function as usize].calls.get(&number)?;
        let own = self.at.get(&(function, number));
        if own.is_none() && !callees.iter().any(|callee| self.functions.contains_key(callee)) {
            return None;
        }
        let none = Change::default();
        let mut changes = callees.iter().map(|callee| self.functions.get(callee).unwrap_or(&none));
        let mut change = changes.next().cloned().unwrap_or_default();
        changes.for_each(|other| change.or(other));
        if let Some(own) = own {
            change.then(own);
        }
        Some(change)
    }

    /// What a function has done where each of its blocks begins, and when it returns.
    fn through(&self, id: FunctionId) -> (Vec<Option<Change>>, Change) {
        let body = self.facts.program.function(id);
        let own = &self.facts.functions[id as usize];
        let mut entries: Vec<Option<Change>> = vec![None; body.blocks.len()];
        let mut returned: Option<Change> = None;
        let mut waiting: BTreeSet<BlockId> = BTreeSet::new();
        if let Some(first) = entries.first_mut() {
            *first = Some(Change::default());
            waiting.insert(0);
        }
        while let Some(block) = waiting.pop_first() {
            let Some(mut change) = entries[block as usize].clone() else { continue };
            for index in 0..body.blocks[block as usize].instructions.len() {
                if let Some(it) = self.call(id, own.number(block, index)) {
                    change.then(&it);
                }
            }
            if matches!(body.blocks[block as usize].end, End::Return(_)) {
                match &mut returned {
                    Some(returned) => returned.or(&change),
                    None => returned = Some(change.clone()),
                }
            }
            for &to in successors(body, block) {
                let mut next = change.clone();
                for (around, ended) in self.gates.get(&id).into_iter().flatten() {
                    if around.contains(&block) && !around.contains(&to) {
                        next.then(&Change { ended: ended.clone(), ..Change::default() });
                    }
                }
                let entry = &mut entries[to as usize];
                let before = entry.clone();
                match entry {
                    Some(entry) => entry.or(&next),
                    None => *entry = Some(next),
                }
                if *entry != before {
                    waiting.insert(to);
                }
            }
        }
        (entries, returned.unwrap_or_default())
    }

    /// What `main` runs alone, and variables that a thread is put into while one runs that is kept there.
    fn from(&self, main: FunctionId) -> (Alone, FxHashSet<PlaceId>) {
        let mut overwritten = FxHashSet::default();
        let mut begins: FxHashMap<FunctionId, Change> = [(main, Change::default())].into_iter().collect();
        let mut waiting = vec![main];
        let mut sites: FxHashMap<FunctionId, Vec<(u32, Change)>> = FxHashMap::default();
        while let Some(id) = waiting.pop() {
            let mut own = Vec::new();
            for (block, entry) in (0..).zip(self.through(id).0) {
                let Some(entry) = entry else { continue };
                let mut state = begins[&id].clone();
                state.then(&entry);
                let count = self.facts.program.function(id).blocks[block as usize].instructions.len();
                let facts = &self.facts.functions[id as usize];
                for number in (0..count).map(|index| facts.number(block, index)) {
                    let Some(callees) = facts.calls.get(&number) else { continue };
                    for callee in callees.iter().filter(|callee| self.functions.contains_key(callee)) {
                        let is_new = match begins.get_mut(callee) {
                            Some(begin) => {
                                let before = begin.clone();
                                begin.or(&state);
                                *begin != before
                            }
                            None => begins.insert(*callee, state.clone()).is_none(),
                        };
                        if is_new {
                            waiting.push(*callee);
                        }
                    }
                    let change = self.call(id, number);
                    overwritten.extend(self.overwritten((id, number), &state));
                    let mut reached = state.clone();
                    if let Some(change) = change {
                        state.then(&change);
                    }
                    // A call that starts a thread is not alone itself.
                    reached.started.extend(&state.started);
                    own.push((number, reached));
                }
            }
            sites.insert(id, own);
        }
        let mut alone = Alone::default();
        for (id, own) in sites {
            for (number, state) in own.into_iter().filter(|(_, state)| state.started.is_empty()) {
                let when = if state.has_started { &mut alone.after } else { &mut alone.before };
                when.insert((id, number));
            }
        }
        (alone, overwritten)
    }

    fn overwritten(&self, site: Site, state: &Change) -> Vec<PlaceId> {
        let started = self.starts.iter().zip(&self.variables).filter(|(start, _)| start.site == site);
        let places = started.filter_map(|(_, place)| *place);
        places.filter(|place| state.started.iter().any(|&it| self.variables[it] == Some(*place))).collect()
    }
}

/// Places that the same thread may be in, one after the other.
struct Same(FxHashMap<PlaceId, PlaceId>);

impl Same {
    fn new(pairs: Vec<[PlaceId; 2]>) -> Same {
        let mut same = Same(FxHashMap::default());
        for [one, other] in pairs {
            let (one, other) = (same.of(one), same.of(other));
            if one != other {
                same.0.insert(one, other);
            }
        }
        same
    }

    fn of(&self, mut place: PlaceId) -> PlaceId {
        while let Some(&other) = self.0.get(&place) {
            place = other;
        }
        place
    }
}
