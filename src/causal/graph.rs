//! The graph of causal dependencies of a program.

use rustc_hash::{FxHashMap, FxHashSet};

use super::control;
use super::externals;
use super::facts::{Facts, Variable};
use super::places::{PlaceId, Root};
use super::versions::{Effect, Origin, versions};
use crate::ir::model::{BlockId, End, FunctionId, Location, Op, Operand, Step, ValueId};

/// By its place in the graph.
pub type Node = u32;

/// What a node stands for. Numbers are those of [`super::facts::FunctionFacts`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum What {
    /// The paper's `meth.p_i`.
    Parameter(FunctionId, u32),
    /// The value that an instruction makes, and the version that it gives to what it writes.
    Instruction(FunctionId, u32),
    /// What decides how a block is left.
    Condition(FunctionId, BlockId),
    /// The conditions that a block runs under: the paper's `IS`.
    Control(FunctionId, BlockId),
    /// The conditions that a function is called under.
    Entry(FunctionId),
    /// The paper's `meth.ret`.
    Return(FunctionId),
    /// The version `h?` of a variable in a function.
    Unknown(FunctionId, Variable),
    /// The versions of a variable that a function leaves behind, ...
    Left(FunctionId, Variable),
    /// ... as the call of it gets them.
    Called(FunctionId, u32, Variable),
}

/// How a dependency comes about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Kind {
    /// Inside of a function, calls that it makes included.
    Inside,
    /// From an argument, or the conditions of a call, to the function that is called: by this instruction.
    Into(u32),
    /// Back to the caller: to this instruction.
    OutOf(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Edge {
    pub to: Node,
    pub kind: Kind,
}

/// The dependencies of a program.
#[derive(Debug)]
pub struct Graph {
    pub facts: Facts,
    nodes: Vec<What>,
    /// Where each function's nodes begin: parameters, instructions, and two for each block, then entry and return.
    starts: Vec<Node>,
    edges: Vec<Edge>,
    /// Where each node's edges begin.
    begins: Vec<u32>,
    /// Nodes with an access, by file, line and column.
    pub(super) lines: super::lines::Lines,
    pub(super) turns: super::turns::Turns,
}

impl Graph {
    #[must_use]
    pub fn new(facts: Facts) -> Graph {
        let mut builder = Builder::new(&facts);
        builder.build();
        builder.summarise();
        let Builder { nodes, starts, mut edges, .. } = builder;
        edges.sort_unstable();
        edges.dedup();
        let mut begins = vec![0; nodes.len() + 1];
        for (from, _) in &edges {
            begins[*from as usize + 1] += 1;
        }
        for node in 0..nodes.len() {
            begins[node + 1] += begins[node];
        }
        let edges = edges.into_iter().map(|(_, edge)| edge).collect();
        let lines = super::lines::Lines::of(&facts);
        let turns = super::turns::Turns::of(&facts);
        Graph { facts, nodes, starts, edges, begins, lines, turns }
    }

    #[must_use]
    pub fn what(&self, node: Node) -> What {
        self.nodes[node as usize]
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// What depends on a node at once.
    #[must_use]
    pub fn edges(&self, node: Node) -> &[Edge] {
        &self.edges[self.begins[node as usize] as usize..self.begins[node as usize + 1] as usize]
    }

    /// The node of a parameter.
    #[must_use]
    pub fn parameter(&self, function: FunctionId, index: usize) -> Node {
        self.starts[function as usize] + index as Node
    }

    /// The node of an instruction.
    #[must_use]
    pub fn instruction(&self, function: FunctionId, number: u32) -> Node {
        self.starts[function as usize] + self.facts.program.function(function).parameters.len() as Node + number
    }

    /// The node of what decides how a block is left.
    #[must_use]
    pub fn condition(&self, function: FunctionId, block: BlockId) -> Node {
        let last = self.facts.program.function(function).blocks.last().map_or(0, |block| block.instructions.len());
        let before = self.facts.functions[function as usize].starts.last().copied().unwrap_or_default();
        self.instruction(function, before + last as u32) + 2 * block
    }

    /// The node of the conditions that a function is called under.
    #[must_use]
    pub fn entry(&self, function: FunctionId) -> Node {
        self.condition(function, self.facts.program.function(function).blocks.len() as BlockId)
    }

    /// Who calls a function.
    #[must_use]
    pub fn callers(&self, function: FunctionId) -> &[FunctionId] {
        &self.facts.callers[function as usize]
    }

    /// Where in the source a node is.
    #[must_use]
    pub fn at(&self, node: Node) -> Option<&Location> {
        let facts = &self.facts;
        match self.what(node) {
            What::Instruction(function, number) | What::Called(function, number, _) => {
                facts.instruction(function, number).at.as_ref()
            }
            What::Condition(function, block) => facts.program.function(function).blocks[block as usize].end_at.as_ref(),
            What::Parameter(function, _) | What::Return(function) => facts.program.function(function).at.as_ref(),
            What::Control(..) | What::Entry(_) | What::Unknown(..) | What::Left(..) => None,
        }
    }

    #[must_use]
    pub fn function_of(&self, node: Node) -> FunctionId {
        match self.what(node) {
            What::Parameter(function, _)
            | What::Instruction(function, _)
            | What::Condition(function, _)
            | What::Control(function, _)
            | What::Entry(function)
            | What::Return(function)
            | What::Unknown(function, _)
            | What::Left(function, _)
            | What::Called(function, ..) => function,
        }
    }
}

/// An argument that may go through a function: to the node, if the parameter of the function reaches what it leaves there.
struct Through {
    argument: Node,
    parameter: Node,
    leaves_by: Node,
    to: Node,
}

/// What a call leaves behind is followed through so many functions that do not touch the variable themselves.
const DEEPEST: usize = 3;
/// An indirect call that may lead to more functions than this leaves nothing behind that could be told.
const MOST_CALLEES: usize = 8;

/// A set of variables.
#[derive(Clone, Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn of(count: usize) -> Bits {
        Bits(vec![0; count.div_ceil(64)])
    }

    fn insert(&mut self, variable: Variable) {
        self.0[variable as usize / 64] |= 1 << (variable % 64);
    }

    fn add(&mut self, other: &Bits) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, more)| *word |= more);
    }

    fn has(&self, variable: Variable) -> bool {
        self.0.get(variable as usize / 64).is_some_and(|word| word & (1 << (variable % 64)) != 0)
    }
}

struct Builder<'f> {
    facts: &'f Facts,
    nodes: Vec<What>,
    starts: Vec<Node>,
    /// For each function the first node behind its instructions.
    behind: Vec<Node>,
    extra: FxHashMap<What, Node>,
    edges: Vec<(Node, Edge)>,
    /// By the function that is called.
    through: Vec<Vec<Through>>,
    /// Variables that a function writes, then those that it or what it calls writes, and so on.
    written: Vec<Vec<Bits>>,
    /// Those that it writes whatever happens.
    replaced: Vec<FxHashSet<Variable>>,
    /// What functions leave behind in the variables that they access themselves.
    left: Vec<Vec<(Variable, Origin)>>,
    /// Locals of their callers that functions read, themselves or by what they call, before they write them.
    taken: Vec<FxHashSet<Variable>>,
    /// What a call finds in the variables that the function called so takes.
    given: FxHashMap<(FunctionId, u32), Vec<(Variable, Node)>>,
    /// Ways out of functions that are called, with where they lead to.
    ways: Vec<(FunctionId, u32, FunctionId, [Node; 2])>,
}

impl<'f> Builder<'f> {
    fn new(facts: &'f Facts) -> Builder<'f> {
        let mut nodes = Vec::new();
        let mut starts = Vec::new();
        let mut behind = Vec::new();
        for (id, function) in (0..).zip(&facts.program.module.functions) {
            starts.push(nodes.len() as Node);
            nodes.extend((0..function.parameters.len() as u32).map(|index| What::Parameter(id, index)));
            let instructions: usize = function.blocks.iter().map(|block| block.instructions.len()).sum();
            nodes.extend((0..instructions as u32).map(|number| What::Instruction(id, number)));
            behind.push(nodes.len() as Node);
            let blocks = 0..function.blocks.len() as BlockId;
            nodes.extend(blocks.flat_map(|block| [What::Condition(id, block), What::Control(id, block)]));
            nodes.extend([What::Entry(id), What::Return(id)]);
        }
        let functions = facts.program.module.functions.len();
        Builder {
            facts,
            nodes,
            starts,
            behind,
            extra: FxHashMap::default(),
            edges: Vec::new(),
            through: (0..functions).map(|_| Vec::new()).collect(),
            written: Vec::new(),
            replaced: vec![FxHashSet::default(); functions],
            left: vec![Vec::new(); functions],
            taken: vec![FxHashSet::default(); functions],
            given: FxHashMap::default(),
            ways: Vec::new(),
        }
    }

    fn parameter(&self, function: FunctionId, index: usize) -> Node {
        self.starts[function as usize] + index as Node
    }

    fn instruction(&self, function: FunctionId, number: u32) -> Node {
        self.starts[function as usize] + self.facts.program.function(function).parameters.len() as Node + number
    }

    fn condition(&self, function: FunctionId, block: BlockId) -> Node {
        self.behind[function as usize] + 2 * block
    }

    fn entry(&self, function: FunctionId) -> Node {
        self.behind[function as usize] + 2 * self.facts.program.function(function).blocks.len() as Node
    }

    fn ret(&self, function: FunctionId) -> Node {
        self.entry(function) + 1
    }

    fn extra(&mut self, what: What) -> (Node, bool) {
        let Builder { nodes, extra, .. } = self;
        let mut is_new = false;
        let node = *extra.entry(what).or_insert_with(|| {
            is_new = true;
            nodes.push(what);
            nodes.len() as Node - 1
        });
        (node, is_new)
    }

    fn edge(&mut self, from: Node, to: Node, kind: Kind) {
        if from != to {
            self.edges.push((from, Edge { to, kind }));
        }
    }

    fn build(&mut self) {
        let facts = self.facts;
        self.find_written();
        for group in &facts.groups {
            for &id in group {
                if !facts.program.function(id).blocks.is_empty() {
                    self.function(id);
                }
            }
        }
        for (function, number, callee, [leaves_by, to]) in std::mem::take(&mut self.ways) {
            for &(variable, argument) in self.given.get(&(function, number)).into_iter().flatten() {
                if let Some(&parameter) = self.extra.get(&What::Unknown(callee, variable)) {
                    self.through[callee as usize].push(Through { argument, parameter, leaves_by, to });
                }
            }
        }
    }

    /// The variables that each call of a function takes by way of its arguments.
    fn wanted(&self, function: FunctionId) -> FxHashMap<u32, Vec<Variable>> {
        let facts = self.facts;
        let own = &facts.functions[function as usize];
        let root = |place: PlaceId| facts.points.places.get(place).root;
        let mut wanted = FxHashMap::default();
        for &number in own.calls.keys() {
            let callees = self.callees(function, number).iter();
            let mut taken: Vec<Variable> = callees.flat_map(|&it| &self.taken[it as usize]).copied().collect();
            if taken.is_empty() {
                continue;
            }
            let pointed = own.addresses[&number].iter().flatten();
            let given: FxHashSet<Root> = pointed
                .flat_map(|&place| std::iter::once(place).chain(facts.points.in_place(place).iter().copied()))
                .map(root)
                .collect();
            taken.retain(|&variable| given.contains(&facts.root(variable)));
            taken.sort_unstable();
            taken.dedup();
            if !taken.is_empty() {
                wanted.insert(number, taken);
            }
        }
        wanted
    }

    /// Whether a variable is a local of another function.
    fn is_of_caller(&self, function: FunctionId, variable: Variable) -> bool {
        matches!(self.facts.root(variable), Root::Local(owner, _) if owner != function)
    }

    /// Functions that a call may lead to, unless they are too many to say anything.
    fn callees(&self, function: FunctionId, number: u32) -> &'f [FunctionId] {
        let callees = &self.facts.functions[function as usize].calls[&number];
        if callees.len() <= MOST_CALLEES { callees } else { &[] }
    }

    fn find_written(&mut self) {
        let facts = self.facts;
        let direct = facts.functions.iter().map(|function| {
            let mut written = Bits::of(facts.variables.len());
            let writes = function.accesses.values().flat_map(|access| &access.writes);
            writes.filter(|it| !facts.is_own[**it as usize]).for_each(|&it| written.insert(it));
            written
        });
        self.written = vec![direct.collect()];
        for level in 0..DEEPEST {
            let deeper = (0..).zip(&facts.functions).map(|(id, function)| {
                let mut written = self.written[level][id as usize].clone();
                for &number in function.calls.keys() {
                    for &callee in self.callees(id, number) {
                        written.add(&self.written[level][callee as usize]);
                    }
                }
                written
            });
            let deeper = deeper.collect();
            self.written.push(deeper);
        }
    }

    fn effect(&self, function: FunctionId, number: u32, variable: Variable) -> Effect {
        let callees = self.callees(function, number);
        if !callees.iter().any(|&callee| self.written[DEEPEST][callee as usize].has(variable)) {
            Effect::None
        } else if callees.iter().all(|&callee| self.replaced[callee as usize].contains(&variable)) {
            Effect::Replaced
        } else {
            Effect::Written
        }
    }

    fn function(&mut self, id: FunctionId) {
        let facts = self.facts;
        let function = facts.program.function(id);
        let own = &facts.functions[id as usize];
        let effect = |number, variable| self.effect(id, number, variable);
        let wanted = self.wanted(id);
        let seen = versions(function, own, &wanted, &effect, &facts.is_own);
        let unsure: FxHashSet<Variable> =
            seen.left.iter().filter(|(_, origin)| *origin == Origin::Unknown).map(|(variable, _)| *variable).collect();
        self.replaced[id as usize] =
            seen.left.iter().map(|(variable, _)| *variable).filter(|variable| !unsure.contains(variable)).collect();
        self.left[id as usize] = seen.left;
        for (number, variable, origin) in seen.seen {
            let from = self.origin(id, variable, origin);
            self.edge(from, self.instruction(id, number), Kind::Inside);
            if origin == Origin::Unknown && self.is_of_caller(id, variable) {
                self.taken[id as usize].insert(variable);
            }
        }
        for (number, variable, origin) in seen.given {
            let from = self.origin(id, variable, origin);
            self.given.entry((id, number)).or_default().push((variable, from));
            for &callee in self.callees(id, number) {
                if self.taken[callee as usize].contains(&variable) {
                    let to = self.extra(What::Unknown(callee, variable)).0;
                    self.edge(from, to, Kind::Into(number));
                }
            }
            if origin == Origin::Unknown && self.is_of_caller(id, variable) {
                self.taken[id as usize].insert(variable);
            }
        }

        let decided_by = control::dependences(function);
        let entry = self.entry(id);
        for (block, it) in (0..).zip(&function.blocks) {
            let condition = self.condition(id, block);
            let controlled = condition + 1;
            self.edge(entry, controlled, Kind::Inside);
            for &branch in &decided_by[block as usize] {
                self.edge(self.condition(id, branch), controlled, Kind::Inside);
            }
            for (index, instruction) in it.instructions.iter().enumerate() {
                let number = own.number(block, index);
                self.op(id, number, &instruction.op, controlled);
            }
            match &it.end {
                End::Return(operand) => {
                    let ret = self.ret(id);
                    for from in operand.iter().flat_map(|operand| self.data(id, operand)).collect::<Vec<_>>() {
                        self.edge(from, ret, Kind::Inside);
                    }
                    if operand.is_some() {
                        self.edge(controlled, ret, Kind::Inside);
                    }
                }
                End::Branch { on: Some(operand), .. } => {
                    for from in self.data(id, operand) {
                        self.edge(from, condition, Kind::Inside);
                    }
                    // What decides here only matters where the block runs at all.
                    self.edge(controlled, condition, Kind::Inside);
                }
                End::Branch { on: None, .. } | End::Resume | End::Unreachable => {}
            }
        }
    }

    /// The node that a version comes from.
    fn origin(&mut self, function: FunctionId, variable: Variable, origin: Origin) -> Node {
        match origin {
            Origin::Unknown => self.extra(What::Unknown(function, variable)).0,
            Origin::Written(number) => self.instruction(function, number),
            Origin::Called(number) => self.called(function, number, variable, DEEPEST),
        }
    }

    fn called(&mut self, function: FunctionId, number: u32, variable: Variable, level: usize) -> Node {
        let (node, is_new) = self.extra(What::Called(function, number, variable));
        if !is_new {
            return node;
        }
        let facts = self.facts;
        let Op::Call { arguments, .. } = &facts.instruction(function, number).op else { return node };
        for &callee in self.callees(function, number) {
            if !self.written[level][callee as usize].has(variable) || facts.program.function(callee).blocks.is_empty() {
                continue;
            }
            let left = self.left(callee, variable, level);
            self.edge(left, node, Kind::OutOf(number));
            self.goes_through((function, number), arguments, callee, [left, node]);
        }
        node
    }

    fn left(&mut self, function: FunctionId, variable: Variable, level: usize) -> Node {
        let (node, is_new) = self.extra(What::Left(function, variable));
        if !is_new {
            return node;
        }
        let own: Vec<Origin> =
            self.left[function as usize].iter().filter(|(it, _)| *it == variable).map(|(_, origin)| *origin).collect();
        if own.is_empty() && level > 0 {
            // It does not touch the variable itself: each of its calls may be the last one that did.
            let facts = self.facts;
            let calls = facts.functions[function as usize].calls.keys().copied();
            let writes = |&number: &u32| {
                let callees = self.callees(function, number);
                callees.iter().any(|&callee| self.written[level - 1][callee as usize].has(variable))
            };
            let mut calls: Vec<u32> = calls.filter(writes).collect();
            calls.sort_unstable();
            for number in calls {
                let from = self.called(function, number, variable, level - 1);
                self.edge(from, node, Kind::Inside);
            }
        }
        for origin in own {
            let from = match origin {
                Origin::Unknown => continue,
                Origin::Called(_) if level == 0 => continue,
                Origin::Called(number) => self.called(function, number, variable, level - 1),
                Origin::Written(number) => self.instruction(function, number),
            };
            self.edge(from, node, Kind::Inside);
        }
        node
    }

    fn goes_through(
        &mut self,
        (function, number): (FunctionId, u32),
        arguments: &[Operand],
        callee: FunctionId,
        [leaves_by, to]: [Node; 2],
    ) {
        self.ways.push((function, number, callee, [leaves_by, to]));
        let parameters = self.facts.program.function(callee).parameters.len();
        for (index, argument) in arguments.iter().take(parameters).enumerate() {
            let parameter = self.parameter(callee, index);
            for argument in self.data(function, argument) {
                self.through[callee as usize].push(Through { argument, parameter, leaves_by, to });
            }
        }
    }

    fn made_by(&self, function: FunctionId, value: ValueId) -> Node {
        let facts = self.facts;
        if let Some((block, index)) = facts.program.made_by_number(function, value) {
            self.instruction(function, facts.functions[function as usize].number(block, index as usize))
        } else {
            let parameters = &facts.program.function(function).parameters;
            self.parameter(function, parameters.iter().position(|it| *it == value).unwrap_or_default())
        }
    }

    /// What an operand's value comes from.
    fn data(&self, function: FunctionId, operand: &Operand) -> Vec<Node> {
        match operand {
            Operand::Value(value) => {
                let mut nodes = vec![self.made_by(function, *value)];
                // An address is its index as far as accesses are concerned; as a value it is also what it counts from.
                if let Some(Op::Address { base, .. }) = self.facts.program.made_by(function, *value).map(|it| &it.op) {
                    nodes.extend(self.data(function, base));
                }
                nodes
            }
            Operand::Inside(_, path) => self.indices(function, path),
            Operand::Global(_) | Operand::Function(_) | Operand::Number(_) | Operand::Constant => Vec::new(),
        }
    }

    /// What the choice of an address depends on: indices, but no pointers, as in the paper.
    fn address(&self, function: FunctionId, operand: &Operand) -> Vec<Node> {
        match operand {
            Operand::Value(value) => match self.facts.program.made_by(function, *value).map(|it| &it.op) {
                Some(Op::Address { .. }) => vec![self.made_by(function, *value)],
                Some(Op::Cast(operand)) => self.address(function, operand),
                _ => Vec::new(),
            },
            Operand::Inside(_, path) => self.indices(function, path),
            Operand::Global(_) | Operand::Function(_) | Operand::Number(_) | Operand::Constant => Vec::new(),
        }
    }

    fn indices(&self, function: FunctionId, path: &[Step]) -> Vec<Node> {
        let index =
            |step: &Step| if let Step::Element(Some(index)) = step { self.data(function, index) } else { Vec::new() };
        path.iter().flat_map(index).collect()
    }

    fn op(&mut self, function: FunctionId, number: u32, op: &Op, controlled: Node) {
        let node = self.instruction(function, number);
        let mut sources: Vec<Node> = Vec::new();
        match op {
            Op::Local { .. } => {}
            Op::Load { from, .. } => sources = self.address(function, from),
            Op::Store { value, to, .. } => {
                sources = self.data(function, value);
                sources.extend(self.address(function, to));
                sources.push(controlled);
            }
            Op::Update { to, values } => {
                sources = values.iter().flat_map(|value| self.data(function, value)).collect();
                sources.extend(self.address(function, to));
                sources.push(controlled);
            }
            Op::Address { base, path } => {
                sources = self.address(function, base);
                sources.extend(self.indices(function, path));
            }
            Op::Cast(operand) => sources = self.data(function, operand),
            Op::Compute(operands) => sources = operands.iter().flat_map(|it| self.data(function, it)).collect(),
            Op::Phi(incoming) => {
                for (block, operand) in incoming {
                    sources.extend(self.data(function, operand));
                    // Which value it is, is decided by what led to the block that it comes from.
                    let condition = self.condition(function, *block);
                    sources.extend([condition, condition + 1]);
                }
            }
            Op::Call { arguments, .. } => {
                sources.push(controlled);
                let facts = self.facts;
                for &callee in &facts.functions[function as usize].calls[&number] {
                    let target = facts.program.function(callee);
                    if target.blocks.is_empty() {
                        let external = externals::of(&target.name);
                        if external.is_computed {
                            sources.extend(arguments.iter().flat_map(|argument| self.data(function, argument)));
                        }
                        continue;
                    }
                    for (index, argument) in arguments.iter().take(target.parameters.len()).enumerate() {
                        let parameter = self.parameter(callee, index);
                        for from in self.data(function, argument) {
                            self.edge(from, parameter, Kind::Into(number));
                        }
                    }
                    let (entry, ret) = (self.entry(callee), self.ret(callee));
                    self.edge(controlled, entry, Kind::Into(number));
                    self.edge(ret, node, Kind::OutOf(number));
                    self.goes_through((function, number), arguments, callee, [ret, node]);
                }
            }
        }
        for from in sources {
            self.edge(from, node, Kind::Inside);
        }
    }

    /// Adds what goes through functions: from an argument to what the call leaves behind.
    fn summarise(&mut self) {
        let facts = self.facts;
        let mut leads: Vec<Vec<Node>> = vec![Vec::new(); self.nodes.len()];
        for (from, edge) in &self.edges {
            if edge.kind == Kind::Inside {
                leads[*from as usize].push(edge.to);
            }
        }
        let mut new_edges = Vec::new();
        let mut seen_at = vec![u32::MAX; self.nodes.len()];
        let mut turn = 0;
        for group in &facts.groups {
            // Functions that call each other may find more about each other.
            let mut found_more = true;
            while found_more {
                found_more = false;
                for &id in group {
                    let through = &mut self.through[id as usize];
                    if through.is_empty() {
                        continue;
                    }
                    through.sort_unstable_by_key(|it| it.parameter);
                    let mut rest = Vec::new();
                    let mut current = None;
                    for it in std::mem::take(through) {
                        if current != Some(it.parameter) {
                            current = Some(it.parameter);
                            turn += 1;
                            let mut waiting = vec![it.parameter];
                            while let Some(node) = waiting.pop() {
                                if std::mem::replace(&mut seen_at[node as usize], turn) != turn {
                                    waiting.extend(&leads[node as usize]);
                                }
                            }
                        }
                        if seen_at[it.leaves_by as usize] == turn {
                            leads[it.argument as usize].push(it.to);
                            new_edges.push((it.argument, Edge { to: it.to, kind: Kind::Inside }));
                            found_more = group.len() > 1 || facts.callees[id as usize].contains(&id);
                        } else {
                            rest.push(it);
                        }
                    }
                    *through = rest;
                }
            }
        }
        self.edges.extend(new_edges.into_iter().filter(|(from, edge)| *from != edge.to));
    }
}
