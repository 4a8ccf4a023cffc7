//! What the value of a read decides while a function runs: whether its thread goes another way with another value.
//!
//! Only the function and what it calls count, so the answer is about one call of it, and conditions of its callers or of other functions do not matter.
//! A value decides the way if a branch depends on it, or which memory is accessed, or if it leaves the program's code in the argument of a
//! call that is not known.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::externals;
use super::facts::Variable;
use super::graph::{Graph, Kind, Node, What};
use super::lines::{Place, alike};
use super::places::Root;
use super::search::Callers;
use crate::ir::model::{FunctionId, Op, Operand, Step};

/// The functions of a program by the lines of their instructions.
#[derive(Debug, Default)]
pub struct Functions {
    by_line: FxHashMap<u32, BTreeSet<(String, FunctionId)>>,
}

impl Functions {
    #[must_use]
    pub fn of(graph: &Graph) -> Functions {
        let mut functions = Functions::default();
        for (id, function) in graph.facts.program.defined() {
            for block in &function.blocks {
                let places = block.instructions.iter().map(|it| &it.at).chain([&block.end_at]);
                for at in places.flatten() {
                    functions.by_line.entry(at.line).or_default().insert((at.file.to_string(), id));
                }
            }
        }
        functions
    }

    /// The functions that have code at a line: several if it is that of a template, or of two functions.
    #[must_use]
    pub fn at(&self, place: &Place) -> Vec<FunctionId> {
        let on_line = self.by_line.get(&place.line);
        let likeness = |file: &str| alike(file, &place.file);
        let best = on_line.into_iter().flatten().map(|(file, _)| likeness(file)).max().unwrap_or_default();
        let fits = on_line.into_iter().flatten().filter(|(file, _)| best > 0 && likeness(file) == best);
        fits.map(|(_, id)| *id).collect()
    }
}

/// A node that something may have come to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Reached {
    node: Node,
    /// After the path entered a function: see [`super::search::Slice`].
    has_entered: bool,
    /// In the calls that are asked about, or maybe in them; not in others of the same functions.
    is_last: bool,
}

/// All that may depend on some nodes, by memory too.
#[derive(Debug)]
pub(super) struct Farthest {
    found: FxHashSet<Reached>,
}

impl Farthest {
    fn nodes(&self) -> impl Iterator<Item = Node> + '_ {
        self.found.iter().map(|it| it.node)
    }

    fn has(&self, node: Node) -> bool {
        [false, true].iter().any(|&is_last| self.has_in(node, is_last))
    }

    fn has_in(&self, node: Node, is_last: bool) -> bool {
        [false, true].iter().any(|&has_entered| self.found.contains(&Reached { node, has_entered, is_last }))
    }

    /// Whether a node is among them in the calls that were asked about.
    pub(super) fn has_last(&self, node: Node) -> bool {
        self.has_in(node, true)
    }
}

impl Graph {
    /// Whether what is read at a place may decide what one of these functions, or what they call, does next. What is not known may.
    #[must_use]
    pub fn steers(&self, read: &Place, functions: &[FunctionId]) -> bool {
        let running = self.reachable(functions);
        let reads = self.lines.at(read).into_iter().filter(|(function, _)| running.contains(function));
        let reads: Vec<Node> = reads.map(|(function, number)| self.instruction(function, number)).collect();
        let reads: Vec<Node> = reads.into_iter().filter(|&node| self.is_read(node)).collect();
        if reads.is_empty() {
            return true;
        }
        let slice = self.slice_within(&reads, &Callers::default(), |function| running.contains(&function));
        let decides = |node: Node| matches!(self.what(node), What::Condition(..));
        let held_in = self.held_in(&slice);
        slice.nodes().any(decides) || running.iter().any(|&function| self.is_used_in(function, &slice, &held_in))
    }

    /// These functions, and all that they may call.
    fn reachable(&self, functions: &[FunctionId]) -> FxHashSet<FunctionId> {
        let mut found: FxHashSet<FunctionId> = functions.iter().copied().collect();
        let mut waiting = functions.to_vec();
        while let Some(function) = waiting.pop() {
            waiting.extend(self.facts.callees[function as usize].iter().filter(|it| found.insert(**it)));
        }
        found
    }

    /// What may depend on these nodes by way of these functions alone. What is written is read wherever one of them reads it, in whatever order and by
    /// whatever calls: more than can be, but nothing less.
    pub(super) fn slice_within(
        &self,
        starts: &[Node],
        callers: &Callers,
        is_here: impl Fn(FunctionId) -> bool,
    ) -> Farthest {
        let begin = |&node: &Node| Reached { node, has_entered: false, is_last: true };
        let mut waiting: Vec<Reached> = starts.iter().map(begin).collect();
        let mut found: FxHashSet<Reached> = waiting.iter().copied().collect();
        let mut held: FxHashSet<(Variable, bool)> = FxHashSet::default();
        // What such a function keeps in its own variables is of one call.
        let calls_itself = |it: FunctionId| self.reachable(&self.facts.callees[it as usize]).contains(&it);
        let keeps: FxHashSet<FunctionId> = callers.about().filter(|&it| !calls_itself(it)).collect();
        let is_kept_in =
            |it: Variable, id: FunctionId| matches!(self.facts.root(it), Root::Local(owner, _) if owner == id);
        while let Some(at) = waiting.pop() {
            let here = self.function_of(at.node);
            let mut reach = |node: Node, has_entered: bool, is_last: bool| {
                let it = Reached { node, has_entered, is_last };
                if found.insert(it) {
                    waiting.push(it);
                }
            };
            for variable in self.written_by(at.node).filter(|&it| held.insert((it, at.is_last))) {
                let is_kept = keeps.contains(&here) && is_kept_in(variable, here);
                for &(function, number) in &self.facts.readers[variable as usize] {
                    if is_here(function) {
                        let is_last = at.is_last || !is_kept || function != here;
                        reach(self.instruction(function, number), false, is_last);
                    }
                }
            }
            for edge in self.edges(at.node).iter().filter(|edge| is_here(self.function_of(edge.to))) {
                match edge.kind {
                    Kind::Inside => reach(edge.to, at.has_entered, at.is_last),
                    Kind::Into(_) => {
                        let callee = self.function_of(edge.to);
                        reach(edge.to, true, !callers.is_about(callee) || at.is_last && callers.allow(here, callee));
                    }
                    Kind::OutOf(_) if at.has_entered => {}
                    Kind::OutOf(_) => reach(edge.to, false, true),
                }
            }
        }
        Farthest { found }
    }

    /// The variables that an instruction writes.
    fn written_by(&self, node: Node) -> impl Iterator<Item = Variable> + '_ {
        let access = match self.what(node) {
            What::Instruction(function, number) => self.facts.functions[function as usize].accesses.get(&number),
            _ => None,
        };
        access.into_iter().flat_map(|access| access.writes.iter().copied())
    }

    /// The memory that something of a slice is written to. A field of some object is one of whatever has it.
    fn held_in(&self, slice: &Farthest) -> FxHashSet<Root> {
        let places = &self.facts.points.places;
        let written = slice.nodes().flat_map(|node| self.written_by(node));
        let written = written.map(|variable| places.get(self.facts.variables[variable as usize]));
        let roots = written.flat_map(|place| {
            let field = place.path.last().filter(|_| place.root == Root::Unknown);
            let alike = field.map_or(&[][..], |&field| places.ending_with(field));
            alike.iter().map(|&place| places.get(place).root).chain([place.root])
        });
        roots.collect()
    }

    /// Whether a call gives code that is not known a way to some memory.
    fn leads_to(&self, function: FunctionId, argument: &Operand, memory: &FxHashSet<Root>) -> bool {
        let points = &self.facts.points;
        let given: FxHashSet<Root> = match argument {
            Operand::Value(value) if points.may_be_all(function, *value) => return !memory.is_empty(),
            Operand::Value(value) => {
                points.of_value(function, *value).iter().map(|&place| points.places.get(place).root).collect()
            }
            Operand::Global(id) => std::iter::once(Root::Global(*id)).collect(),
            Operand::Inside(base, _) => return self.leads_to(function, base, memory),
            Operand::Function(_) | Operand::Number(_) | Operand::Constant => return false,
        };
        !given.is_empty() && !points.reachable_from(|root| given.contains(root)).is_disjoint(memory)
    }

    /// Whether a function takes an address from a slice, or gives something of it, or the memory that it is in, to code that is not known.
    fn is_used_in(&self, id: FunctionId, slice: &Farthest, held_in: &FxHashSet<Root>) -> bool {
        let has = |operand: &Operand| {
            let made = self.made_of(id, operand);
            made.into_iter().any(|node| slice.has(node))
        };
        let is_chosen = |step: &Step| matches!(step, Step::Element(Some(index)) if has(index));
        let is_used = |number: u32, op: &Op| match op {
            Op::Load { from: address, .. } | Op::Store { to: address, .. } | Op::Update { to: address, .. } => {
                has(address)
            }
            Op::Address { base, path } => has(base) || path.iter().any(is_chosen),
            Op::Call { callee, arguments, .. } => {
                let callees = self.facts.functions[id as usize].calls.get(&number).map_or(&[][..], Vec::as_slice);
                let is_known = |it: &FunctionId| !self.facts.program.function(*it).blocks.is_empty();
                let all_known = !callees.is_empty() && callees.iter().all(is_known);
                let name = |it: &FunctionId| self.facts.program.function(*it).name.as_str();
                let looks = !all_known && !callees.iter().all(|it| externals::looks_at_nothing(name(it)));
                let is_told = |argument: &Operand| has(argument) || looks && self.leads_to(id, argument, held_in);
                has(callee) || !all_known && arguments.iter().any(is_told)
            }
            Op::Local { .. } | Op::Cast(_) | Op::Phi(_) | Op::Compute(_) => false,
        };
        let instructions = self.facts.program.function(id).blocks.iter().flat_map(|block| &block.instructions);
        (0..).zip(instructions).any(|(number, instruction)| is_used(number, &instruction.op))
    }

    /// The nodes of what makes an operand's value.
    fn made_of(&self, function: FunctionId, operand: &Operand) -> Vec<Node> {
        let program = &self.facts.program;
        match operand {
            Operand::Value(value) => {
                let parameters = &program.function(function).parameters;
                let node = match program.made_by_number(function, *value) {
                    Some((block, index)) => {
                        let number = self.facts.functions[function as usize].number(block, index as usize);
                        Some(self.instruction(function, number))
                    }
                    None => parameters.iter().position(|it| it == value).map(|index| self.parameter(function, index)),
                };
                node.into_iter().collect()
            }
            Operand::Inside(base, path) => {
                let index = |step: &Step| match step {
                    Step::Element(Some(index)) => self.made_of(function, index),
                    Step::Element(None) | Step::Field { .. } => Vec::new(),
                };
                path.iter().flat_map(index).chain(self.made_of(function, base)).collect()
            }
            Operand::Global(_) | Operand::Function(_) | Operand::Number(_) | Operand::Constant => Vec::new(),
        }
    }
}
