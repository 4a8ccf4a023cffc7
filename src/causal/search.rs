//! Correlations: paths through the graph that a run can take, in and out of functions by the same call.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::graph::{Edge, Graph, Kind, Node, What};
use super::lines::Place;
use super::name_of;
use crate::ir::model::{FunctionId, Location, Op};

/// A step of a dependency.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    pub what: String,
    pub at: Option<Location>,
}

/// Whether one thing depends on another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It does, by these steps.
    Depends(Vec<Link>),
    Independent,
    /// One of the places has no access in the program's IR.
    Unknown,
}

/// All that depends on some nodes. A path first leaves functions and then enters others: what went in by one call cannot come out
/// at another one. What comes out at the same one is a step of its own.
#[derive(Debug, Default)]
pub struct Slice {
    /// From where each node was reached, before and after the path entered a function.
    from: FxHashMap<(Node, bool), (Node, bool)>,
    order: Vec<(Node, bool)>,
    /// There was more than was asked for.
    pub is_cut: bool,
}

impl Slice {
    #[must_use]
    pub fn has(&self, node: Node) -> bool {
        self.from.contains_key(&(node, false)) || self.from.contains_key(&(node, true))
    }

    /// The nodes, nearest first.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + '_ {
        self.order.iter().map(|(node, _)| *node)
    }

    /// A shortest path to a node.
    #[must_use]
    pub fn path(&self, node: Node) -> Vec<Node> {
        let mut at = (node, !self.from.contains_key(&(node, false)));
        let mut path = vec![at.0];
        while let Some(&from) = self.from.get(&at).filter(|from| **from != at) {
            path.push(from.0);
            at = from;
        }
        path.reverse();
        path
    }
}

/// Who called functions in a run, where that is known: for each function that may be meant, those that may have called it.
#[derive(Debug, Default)]
pub struct Callers(FxHashMap<FunctionId, Vec<FunctionId>>);

impl Callers {
    /// One of these was called by one of those. Who is not known says nothing.
    pub fn add(&mut self, callees: &[FunctionId], callers: &[FunctionId]) {
        for &callee in callees.iter().filter(|_| !callers.is_empty()) {
            self.0.entry(callee).or_default().extend(callers);
        }
    }

    /// Whether it is known who called a function.
    pub(super) fn is_about(&self, function: FunctionId) -> bool {
        self.0.contains_key(&function)
    }

    /// The functions of which that is known.
    pub(super) fn about(&self) -> impl Iterator<Item = FunctionId> + '_ {
        self.0.keys().copied()
    }

    pub(super) fn allow(&self, caller: FunctionId, callee: FunctionId) -> bool {
        self.0.get(&callee).is_none_or(|callers| callers.contains(&caller))
    }
}

impl Graph {
    /// What depends on these nodes, themselves included; at most so many.
    #[must_use]
    pub fn slice(&self, starts: &[Node], most: usize) -> Slice {
        self.slice_by(starts, most, &Callers::default(), |_, _| true)
    }

    /// The same, if functions are called as these say, and by way of such edges alone.
    fn slice_by(&self, starts: &[Node], most: usize, callers: &Callers, is_way: impl Fn(Node, &Edge) -> bool) -> Slice {
        let mut slice = Slice::default();
        let mut waiting: VecDeque<(Node, bool)> = starts.iter().map(|&node| (node, false)).collect();
        slice.from.extend(waiting.iter().map(|&it| (it, it)));
        while let Some(at) = waiting.pop_front() {
            slice.order.push(at);
            if slice.from.len() > most {
                slice.is_cut = true;
                break;
            }
            for edge in self.edges(at.0).iter().filter(|edge| is_way(at.0, edge)) {
                let to = match edge.kind {
                    Kind::Inside => (edge.to, at.1),
                    Kind::Into(_) if !callers.allow(self.function_of(at.0), self.function_of(edge.to)) => continue,
                    Kind::Into(_) => (edge.to, true),
                    Kind::OutOf(_) if at.1 => continue,
                    Kind::OutOf(_) => (edge.to, false),
                };
                // Who was here and may still leave the function can do all that this one can.
                if to.1 && slice.from.contains_key(&(to.0, false)) {
                    continue;
                }
                slice.from.entry(to).or_insert_with(|| {
                    waiting.push_back(to);
                    at
                });
            }
        }
        slice
    }

    /// Definition 1: whether what is read at one place reaches what is written at another.
    #[must_use]
    pub fn direct(&self, read: &Place, write: &Place) -> Answer {
        self.direct_by(read, write, &Callers::default())
    }

    /// The same for a write to which these calls led.
    #[must_use]
    pub fn direct_by(&self, read: &Place, write: &Place, callers: &Callers) -> Answer {
        let reads = self.nodes_at(read, super::graph::Graph::is_read);
        let writes = self.nodes_at(write, super::graph::Graph::is_write);
        if reads.is_empty() || writes.is_empty() {
            return Answer::Unknown;
        }
        let slice = self.slice_by(&reads, usize::MAX, callers, |_, _| true);
        if let Some(&node) = writes.iter().find(|&&node| slice.has(node)) {
            return Answer::Depends(self.links(&slice.path(node)));
        }
        // By memory a value may come where no path leads.
        let farthest = self.slice_within(&reads, callers, |_| true);
        let may_be = writes.iter().any(|&node| farthest.has_last(node));
        if may_be { Answer::Unknown } else { Answer::Independent }
    }

    /// Definition 2: whether something is written that depends on what is read at both places.
    #[must_use]
    pub fn common(&self, one: &Place, other: &Place) -> Answer {
        self.meeting_of([one, other], |_| true, |_| true)
    }

    /// The same by data alone: something is made from both, and not because of one of them.
    #[must_use]
    pub fn put_together(&self, one: &Place, other: &Place) -> Answer {
        self.meeting_of([one, other], |node| self.is_data(node), |_| true)
    }

    /// The same after both have come to one function from what it calls, as in the rules of `lint`: that what one call made is given to the next one,
    /// which reads something for itself, is the way of a thread's whole work.
    #[must_use]
    pub fn come_together(&self, one: &Place, other: &Place) -> Answer {
        let have_one_in_common = |paths: &[Vec<Node>; 2]| {
            let [one, other] = paths.each_ref().map(|path| self.ascent(path));
            one.iter().any(|function| other.contains(function))
        };
        self.meeting_of([one, other], |node| self.is_data(node), have_one_in_common)
    }

    fn is_data(&self, node: Node) -> bool {
        !matches!(self.what(node), What::Condition(..) | What::Control(..) | What::Entry(_))
    }

    /// The functions that a path leads through before it enters one.
    fn ascent(&self, path: &[Node]) -> Vec<FunctionId> {
        let enters = |step: &&[Node]| {
            let edges = self.edges(step[0]).iter().filter(|edge| edge.to == step[1]);
            edges.into_iter().all(|edge| matches!(edge.kind, Kind::Into(_)))
        };
        let left = path.windows(2).take_while(|step| !enters(step)).map(|step| step[1]);
        path.first().copied().into_iter().chain(left).map(|node| self.function_of(node)).collect()
    }

    /// Where what is read at two places meets, by way of such nodes and in one turn of each loop.
    fn meeting_of(
        &self,
        places: [&Place; 2],
        is_way: impl Fn(Node) -> bool,
        are_ways: impl Fn(&[Vec<Node>; 2]) -> bool,
    ) -> Answer {
        let [one, other] = places.map(|place| self.nodes_at(place, super::graph::Graph::is_read));
        if one.is_empty() || other.is_empty() {
            return Answer::Unknown;
        }
        let callers = Callers::default();
        let [one, other] = [one, other].map(|starts| {
            let is_way = |from, edge: &Edge| is_way(edge.to) && !self.is_new_turn(from, edge);
            self.slice_by(&starts, usize::MAX, &callers, is_way)
        });
        match self.meeting_by(&one, &other, are_ways) {
            Some(node) => {
                let mut chain = self.links(&one.path(node));
                chain.extend(self.links(&other.path(node)));
                Answer::Depends(chain)
            }
            None => Answer::Independent,
        }
    }

    /// The nearest thing that two slices both write.
    #[must_use]
    pub fn meeting(&self, one: &Slice, other: &Slice) -> Option<Node> {
        self.meeting_by(one, other, |_| true)
    }

    fn meeting_by(&self, one: &Slice, other: &Slice, are_ways: impl Fn(&[Vec<Node>; 2]) -> bool) -> Option<Node> {
        let is_start = |slice: &Slice, node: Node| slice.from.get(&(node, false)) == Some(&(node, false));
        one.nodes().find(|&node| {
            let is_met = other.has(node) && self.is_written(node) && !is_start(one, node) && !is_start(other, node);
            is_met && self.is_one_call(one, other, node) && are_ways(&[one.path(node), other.path(node)])
        })
    }

    /// Whether two paths that end in the same function came there by the same call.
    fn is_one_call(&self, one: &Slice, other: &Slice, node: Node) -> bool {
        let entered = |slice: &Slice| {
            slice.path(node).windows(2).find_map(|step| {
                let edges = self.edges(step[0]).iter().filter(|edge| edge.to == step[1]);
                edges.into_iter().find_map(|edge| match edge.kind {
                    Kind::Into(call) => Some((self.function_of(step[0]), call)),
                    Kind::Inside | Kind::OutOf(_) => None,
                })
            })
        };
        match (entered(one), entered(other)) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        }
    }

    /// Whether a node is something that is written, local variables and results of expressions included, and not only a condition.
    fn is_written(&self, node: Node) -> bool {
        match self.what(node) {
            What::Instruction(..) | What::Return(_) | What::Parameter(..) | What::Called(..) | What::Left(..) => true,
            What::Condition(..) | What::Control(..) | What::Entry(_) | What::Unknown(..) => false,
        }
    }

    fn nodes_at(&self, place: &Place, fits: impl Fn(&Graph, Node) -> bool) -> Vec<Node> {
        let nodes = self.lines.at(place).into_iter().map(|(function, number)| self.instruction(function, number));
        nodes.filter(|&node| fits(self, node)).collect()
    }

    #[must_use]
    pub fn is_read(&self, node: Node) -> bool {
        let What::Instruction(function, number) = self.what(node) else { return false };
        self.facts.functions[function as usize].accesses.get(&number).is_some_and(|access| !access.reads.is_empty())
    }

    #[must_use]
    pub fn is_write(&self, node: Node) -> bool {
        let What::Instruction(function, number) = self.what(node) else { return false };
        self.facts.functions[function as usize].accesses.get(&number).is_some_and(|access| !access.writes.is_empty())
    }

    /// The steps of a path that mean something to a reader of the source.
    #[must_use]
    pub fn links(&self, path: &[Node]) -> Vec<Link> {
        let mut links: Vec<Link> = Vec::new();
        for &node in path {
            // What has no place is the compiler's own: a parameter that is put where it lives.
            let (Some(what), Some(at)) = (self.told(node), self.at(node)) else { continue };
            let at = Some(at.clone());
            if links.last().is_none_or(|last| last.what != what || last.at != at) {
                links.push(Link { what, at });
            }
        }
        links
    }

    fn told(&self, node: Node) -> Option<String> {
        let facts = &self.facts;
        let names = |variables: &[u32]| match variables {
            [one] => format!("'{}'", facts.name(*one)),
            [one, ..] => format!("'{}' or the like", facts.name(*one)),
            [] => "memory".to_owned(),
        };
        match self.what(node) {
            What::Instruction(function, number) => {
                let access = facts.functions[function as usize].accesses.get(&number);
                match (&facts.instruction(function, number).op, access) {
                    (Op::Load { .. }, Some(access)) => Some(format!("{} is read", names(&access.reads))),
                    (Op::Store { .. }, Some(access)) => Some(format!("{} is written", names(&access.writes))),
                    (Op::Update { .. }, Some(access)) => Some(format!("{} is updated", names(&access.writes))),
                    (Op::Call { .. }, _) => {
                        let callee = facts.functions[function as usize].calls[&number].first()?;
                        Some(format!("{}() is called", name_of(facts.program.function(*callee))))
                    }
                    _ => None,
                }
            }
            What::Parameter(function, index) => {
                let it = facts.program.function(function);
                let value = it.parameters.get(index as usize)?;
                let name = it.values[*value as usize].source_name.clone();
                let name = name.map_or_else(|| format!("argument {}", index + 1), |name| format!("'{name}'"));
                Some(format!("{name} of {}() is given", name_of(it)))
            }
            What::Return(function) => Some(format!("{}() returns it", name_of(facts.program.function(function)))),
            What::Condition(..) => Some("it decides".to_owned()),
            What::Called(_, _, variable) => Some(format!("'{}' was written there", facts.name(variable))),
            What::Control(..) | What::Entry(_) | What::Unknown(..) | What::Left(..) => None,
        }
    }
}
