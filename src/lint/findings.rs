//! From two blocks that another process can come between to a finding that a person can act on.

use rustc_hash::FxHashSet;

use super::Seen;
use super::blocks::{BlockNumber, Site, Way};
use super::order::Together;
use super::processes::Process;
use super::rules::{By, Reason, Split};
use crate::causal::Graph;
use crate::causal::facts::Variable as VariableNumber;
use crate::causal::graph::Kind as CausalKind;
use crate::causal::name_of;
use crate::event::ThreadId;
use crate::ir::model::{FunctionId, Location};
use crate::report::finding::{
    Action, Analysis, Block, BlockKind, Dependency, Finding, Frame, Kind, Link, Operation, Pattern, Rung, Strength,
    Thread, Variable, more_than,
};
use crate::report::sentence::sentence;

/// Variables of a view that are told.
const MOST_OF_A_VIEW: usize = 8;

/// What findings are made from.
#[derive(Debug)]
pub struct Maker<'l> {
    seen: Seen<'l>,
    /// Functions that are the whole work of a thread.
    bases: FxHashSet<FunctionId>,
}

impl<'l> Maker<'l> {
    #[must_use]
    pub fn new(seen: Seen<'l>) -> Maker<'l> {
        Maker { seen, bases: bases(seen.graph, seen.processes) }
    }

    /// The finding of a split.
    #[must_use]
    pub fn finding(&self, split: &Split) -> Finding {
        let facts = &self.seen.graph.facts;
        let (way, pattern) = match &split.reason {
            Reason::View { way, .. } => (*way, Pattern::View),
            Reason::StaleValue => (Way::Read, Pattern::StaleValue),
        };
        let against = if way == Way::Read { Way::Write } else { Way::Read };
        let second_way = if pattern == Pattern::StaleValue { Way::Write } else { way };
        let [entered, left] = self.calls(split);
        let (first, first_site) = self.own(split, split.first, split.accesses[0], way, entered);
        let (second, second_site) = self.own(split, split.second, split.accesses[1], second_way, left);
        let culprit = self.other(split, split.variables[0], against);
        let culprit_too = (pattern == Pattern::View).then(|| self.other(split, split.variables[1], against));
        let is_loop = match pattern {
            Pattern::View => split.together == Together::InTurns,
            _ => first_site == second_site,
        };
        let strength = match () {
            () if is_loop => Strength::Loop,
            // Which of the bit-fields of a word are meant is not known.
            () if split.variables.iter().any(|&it| facts.is_several(it)) => Strength::Unrelated,
            // A lost update is one, whoever loses it, and so is a pair that is put together from two states.
            () if pattern == Pattern::StaleValue && split.variables[0] == split.variables[1] => Strength::Strong,
            () if pattern == Pattern::View && !split.chains.is_empty() && split.by == By::Both => Strength::Strong,
            () if split.by == By::Look => Strength::Unrelated,
            // What is read under one lock and used under another that nobody takes with it was seldom meant to hold until then.
            () if pattern == Pattern::StaleValue && !self.seen.blocks.locks.are_related(split.first, split.second) => {
                Strength::Unrelated
            }
            () if self.bases.contains(&split.function) => Strength::Base,
            () => Strength::Strong,
        };
        let name = name_of(facts.program.function(split.function)).to_owned();
        let begin = self.frame(split.function, facts.program.function(split.function).at.as_ref());
        let mut variables: Vec<Variable> = split.variables.iter().map(|&it| self.variable(it)).collect();
        variables.dedup();
        let mut view = self.view(split);
        let view_more = more_than(MOST_OF_A_VIEW, view.len());
        view.truncate(MOST_OF_A_VIEW);
        let chain: Vec<Link> = split.chains.iter().flat_map(|chain| self.chain(chain)).collect();
        let mut finding = Finding {
            id: 0,
            same_as: None,
            kind: Kind::After,
            rung: Rung::Suspected,
            strength,
            pattern: Some(pattern),
            found_by: vec![Analysis::Lint],
            data: None,
            sentence: String::new(),
            suppression: format!("atomicity_top:^{name}$"),
            block: Block { kind: BlockKind::Function, name, begin },
            also_split: Vec::new(),
            first,
            culprit,
            culprit_too,
            second,
            lock: None,
            variables,
            view,
            view_more,
            dependency: (!chain.is_empty()).then(|| Dependency::proven(chain)),
            diagram: Vec::new(),
            because: None,
            trial: None,
            threads: self.threads(split),
        };
        finding.sentence = sentence(&finding);
        finding
    }

    /// The number of a split's threads: a second one of a process has a number of its own.
    fn thread_ids(&self, split: &Split) -> [ThreadId; 2] {
        let second = if split.process == split.other_process { self.seen.processes.len() } else { 0 };
        [split.process as ThreadId, (split.other_process + second) as ThreadId]
    }

    fn threads(&self, split: &Split) -> Vec<Thread> {
        let ids = self.thread_ids(split);
        let thread = |id: ThreadId, process: usize| {
            let process = &self.seen.processes[process];
            let start_routine = match process.bases[..] {
                [base] => Some(name_of(self.seen.graph.facts.program.function(base)).to_owned()),
                _ => None,
            };
            let created_at = process.created_at.map(|site| self.frame_at(site)).into_iter().collect();
            Thread { id, name: String::new(), parent: None, created_at, start_routine }
        };
        vec![thread(ids[0], split.process), thread(ids[1], split.other_process)]
    }

    /// The calls by which a stale value comes into the function that both blocks are in, and leaves it for the second one.
    fn calls(&self, split: &Split) -> [Option<u32>; 2] {
        let (Reason::StaleValue, [chain]) = (&split.reason, &split.chains[..]) else { return [None, None] };
        let is_here = |node: u32| self.seen.graph.function_of(node) == split.function;
        let edges = chain.windows(2).flat_map(|step| {
            let edges = self.seen.graph.edges(step[0]).iter().filter(|edge| edge.to == step[1]);
            edges.map(|edge| (is_here(step[0]), is_here(step[1]), edge.kind))
        });
        let mut calls = [None, None];
        for edge in edges {
            match edge {
                (false, true, CausalKind::OutOf(call)) => calls[0] = Some(call),
                (true, false, CausalKind::Into(call)) => calls[1] = calls[1].or(Some(call)),
                _ => {}
            }
        }
        calls
    }

    /// An operation of the function that is split, and the place in that function where it happens.
    fn own(&self, split: &Split, block: BlockNumber, access: Site, way: Way, call: Option<u32>) -> (Operation, Site) {
        let facts = &self.seen.graph.facts;
        let mut sites = self.seen.blocks.stack(facts, self.seen.sections, block, access);
        let way_down = self.seen.blocks.way_down(split.function, block);
        let mut site = way_down.last().copied().unwrap_or(access);
        sites.extend(way_down.into_iter().skip(1));
        if let (Some(call), Some(last)) = (call, sites.last_mut()) {
            *last = (split.function, call);
            site = *last;
        }
        let stack: Vec<Frame> = sites.into_iter().map(|site| self.frame_at(site)).collect();
        let known = stack.iter().rev().find(|frame| frame.line.is_some());
        let location = known.or(stack.last()).cloned().unwrap_or_default();
        (operation(self.thread_ids(split)[0], way, location, stack), site)
    }

    fn other(&self, split: &Split, variable: VariableNumber, way: Way) -> Operation {
        let facts = &self.seen.graph.facts;
        let accesses = self.seen.blocks.accesses(facts, self.seen.sections, split.other, variable, way);
        let sites = match accesses.first() {
            Some(&access) => self.seen.blocks.stack(facts, self.seen.sections, split.other, access),
            None => Vec::new(),
        };
        let stack: Vec<Frame> = sites.into_iter().map(|site| self.frame_at(site)).collect();
        let location = stack.first().cloned().unwrap_or_default();
        operation(self.thread_ids(split)[1], way, location, stack)
    }

    fn chain(&self, nodes: &[u32]) -> Vec<Link> {
        let links = self.seen.graph.links(nodes).into_iter().filter(|link| link.at.is_some());
        links.map(|link| Link { what: link.what, at: source(None, link.at.as_ref()) }).collect()
    }

    fn variable(&self, number: VariableNumber) -> Variable {
        Variable { name: Some(self.seen.graph.facts.name(number)), address: String::new(), allocation: None }
    }

    /// What of a view is worth a name: what is split first, then what else the two blocks access.
    fn view(&self, split: &Split) -> Vec<Variable> {
        let Reason::View { view, .. } = &split.reason else { return Vec::new() };
        let blocks = [split.first, split.second].map(|block| &self.seen.blocks.list[block]);
        let is_own =
            |it: &VariableNumber| blocks.iter().any(|block| block.reads.contains(it) || block.writes.contains(it));
        let mut order: Vec<VariableNumber> = view.iter().copied().collect();
        order.sort_by_key(|it| (!split.variables.contains(it), !is_own(it)));
        let mut told: Vec<Variable> = Vec::new();
        for number in order {
            let variable = self.variable(number);
            let is_telling = split.variables.contains(&number) || self.seen.graph.facts.is_named(number);
            if is_telling && !told.contains(&variable) {
                told.push(variable);
            }
        }
        told
    }

    fn frame_at(&self, (function, number): Site) -> Frame {
        self.frame(function, self.seen.graph.facts.instruction(function, number).at.as_ref())
    }

    fn frame(&self, function: FunctionId, at: Option<&Location>) -> Frame {
        source(Some(name_of(self.seen.graph.facts.program.function(function)).to_owned()), at)
    }
}

fn operation(thread: ThreadId, way: Way, location: Frame, stack: Vec<Frame>) -> Operation {
    let action = if way == Way::Read { Action::Read } else { Action::Write };
    Operation { action, thread, location, stack, held: Vec::new(), mode: None, sections: Vec::new() }
}

fn source(function: Option<String>, at: Option<&Location>) -> Frame {
    Frame {
        function,
        file: at.map(|at| at.file.to_string()),
        line: at.map(|at| at.line),
        column: at.map(|at| at.column),
        ..Frame::default()
    }
}

/// Whether a function is one of the C++ library's.
#[must_use]
pub fn is_library(name: &str) -> bool {
    ["_ZNSt", "_ZSt", "_ZNKSt", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx"].iter().any(|prefix| name.starts_with(prefix))
}

/// `main`, start routines and what is given to a C++ thread, with the library's functions above it.
fn bases(graph: &Graph, processes: &[Process]) -> FxHashSet<FunctionId> {
    // Of a library, all that can be called is meant to be a unit.
    let known = processes.iter().filter(|process| process.bases.len() == 1).map(|process| process.bases[0]);
    let library = graph.facts.program.defined().filter(|(_, function)| is_library(&function.name)).map(|(id, _)| id);
    known.chain(library).collect()
}
