//! Which places an address may be of: inclusion of sets along copies, without regard to order or callers.
//!
//! A set that grows too large is given up: the address may then be of anything, and what it leads to is known by its field only.
//! That keeps the work near linear, and is never less than what the paper knows.

use rustc_hash::{FxHashMap, FxHashSet};

use super::externals;
use super::places::{Field, PlaceId, Places, Root};
use super::program::Program;
use super::threads;
use crate::ir::model::{End, FunctionId, Instruction, Op, Operand, Step, ValueId};

/// More places than this are as good as all.
const MOST: usize = 48;

type Node = u32;

/// What the addresses of a program may be of.
#[derive(Debug)]
pub struct Points {
    pub places: Places,
    /// Where the values of each function begin.
    values: Vec<Node>,
    sets: Vec<Set>,
    contents: Vec<Node>,
}

#[derive(Clone, Debug, Default)]
struct Set {
    places: Vec<PlaceId>,
    is_all: bool,
}

/// What an operand is.
enum Source {
    Node(Node),
    Place(PlaceId),
    Nothing,
}

#[derive(Clone, Debug)]
enum Rule {
    /// The places in this set are read, written, or stepped into.
    Load(Node),
    Store(Node),
    StorePlace(PlaceId),
    Step(Node, Vec<Field>),
    /// An indirect call, by its place in the list of those.
    Call(usize),
}

struct Call {
    function: FunctionId,
    result: Option<ValueId>,
    arguments: Vec<Operand>,
    signature: String,
}

struct Solver<'p> {
    program: &'p Program,
    places: Places,
    values: Vec<Node>,
    returns: Vec<Node>,
    contents: Vec<Node>,
    sets: Vec<Set>,
    /// What was added to a set since its rules were last applied.
    news: Vec<Vec<PlaceId>>,
    copies: Vec<Vec<Node>>,
    rules: Vec<Vec<Rule>>,
    linked: FxHashSet<(Node, Node)>,
    calls: Vec<Call>,
    called: FxHashSet<(usize, FunctionId)>,
    waiting: Vec<Node>,
    /// Memory that is copied as a whole: the function, from where, to where.
    memory_copies: Vec<(FunctionId, Operand, Operand)>,
}

impl Points {
    #[must_use]
    pub fn solve(program: &Program) -> Points {
        let mut next = 0;
        let mut number = |count: usize| {
            let begin = next;
            next += count as Node;
            begin
        };
        let values: Vec<Node> = program.module.functions.iter().map(|it| number(it.values.len())).collect();
        let returns: Vec<Node> = program.module.functions.iter().map(|_| number(1)).collect();
        let nodes = next as usize;
        let mut solver = Solver {
            program,
            places: Places::default(),
            values,
            returns,
            contents: Vec::new(),
            sets: vec![Set::default(); nodes],
            news: vec![Vec::new(); nodes],
            copies: vec![Vec::new(); nodes],
            rules: vec![Vec::new(); nodes],
            linked: FxHashSet::default(),
            calls: Vec::new(),
            called: FxHashSet::default(),
            waiting: Vec::new(),
            memory_copies: Vec::new(),
        };
        for (id, function) in program.defined() {
            for block in &function.blocks {
                for instruction in &block.instructions {
                    solver.instruction(id, instruction);
                }
                if let End::Return(Some(operand)) = &block.end {
                    let to = solver.returns[id as usize];
                    solver.assign(id, operand, to);
                }
            }
        }
        for (constructor, run) in threads::states(program) {
            let this = |it: FunctionId| program.function(it).parameters.first().map(|&value| solver.node(it, value));
            if let (Some(from), Some(to)) = (this(constructor), this(run)) {
                solver.link(from, to);
            }
        }
        solver.run();
        solver.name_the_unknown();
        Points { places: solver.places, values: solver.values, sets: solver.sets, contents: solver.contents }
    }

    /// What a value may be the address of; nothing if that is not known.
    #[must_use]
    pub fn of_value(&self, function: FunctionId, value: ValueId) -> &[PlaceId] {
        let set = &self.sets[(self.values[function as usize] + value) as usize];
        if set.is_all { &[] } else { &set.places }
    }

    /// Whether a value may be the address of anything.
    #[must_use]
    pub fn may_be_all(&self, function: FunctionId, value: ValueId) -> bool {
        self.sets[(self.values[function as usize] + value) as usize].is_all
    }

    /// What the pointers that lie in a place may be of.
    #[must_use]
    pub fn in_place(&self, place: PlaceId) -> &[PlaceId] {
        self.contents.get(place as usize).map_or(&[], |&content| &self.sets[content as usize].places)
    }

    /// Some memory, what pointers in it may point to, and so on.
    #[must_use]
    pub fn reachable_from(&self, is_source: impl Fn(&Root) -> bool) -> FxHashSet<Root> {
        let mut parts: FxHashMap<Root, Vec<PlaceId>> = FxHashMap::default();
        for place in 0..self.contents.len() as PlaceId {
            parts.entry(self.places.get(place).root).or_default().push(place);
        }
        let roots = (0..self.places.len() as PlaceId).map(|place| self.places.get(place).root);
        let mut reached: FxHashSet<Root> = roots.filter(is_source).collect();
        let mut waiting: Vec<Root> = reached.iter().copied().collect();
        while let Some(root) = waiting.pop() {
            for &place in parts.get(&root).map_or(&[][..], Vec::as_slice) {
                for &to in &self.sets[self.contents[place as usize] as usize].places {
                    let to = self.places.get(to).root;
                    if reached.insert(to) {
                        waiting.push(to);
                    }
                }
            }
        }
        reached
    }

    /// What an operand may be the address of.
    pub fn of(&mut self, program: &Program, function: FunctionId, operand: &Operand) -> Vec<PlaceId> {
        match operand {
            Operand::Value(value) => self.of_value(function, *value).to_vec(),
            _ => constant(&mut self.places, program, operand).into_iter().collect(),
        }
    }
}

/// The place of an operand that is no value.
fn constant(places: &mut Places, program: &Program, operand: &Operand) -> Option<PlaceId> {
    match operand {
        Operand::Global(id) => Some(places.root(Root::Global(*id))),
        Operand::Function(id) => Some(places.root(Root::Function(*id))),
        Operand::Inside(base, path) => {
            let base = constant(places, program, base)?;
            Some(fields(path).into_iter().fold(base, |place, field| places.field(program, place, field)))
        }
        Operand::Value(_) | Operand::Number(_) | Operand::Constant => None,
    }
}

fn fields(path: &[Step]) -> Vec<Field> {
    let field = |step: &Step| if let Step::Field { of, index } = step { Some((*of, *index)) } else { None };
    path.iter().filter_map(field).collect()
}

impl Solver<'_> {
    fn node(&self, function: FunctionId, value: ValueId) -> Node {
        self.values[function as usize] + value
    }

    fn source(&mut self, function: FunctionId, operand: &Operand) -> Source {
        match operand {
            Operand::Value(value) => Source::Node(self.node(function, *value)),
            _ => match constant(&mut self.places, self.program, operand) {
                Some(place) => Source::Place(place),
                None => Source::Nothing,
            },
        }
    }

    /// What the pointers in a place may be of.
    fn content(&mut self, place: PlaceId) -> Node {
        let leaf = self.places.leaf(self.program, place);
        while self.contents.len() < self.places.len() {
            let node = self.sets.len() as Node;
            self.sets.push(Set::default());
            self.news.push(Vec::new());
            self.copies.push(Vec::new());
            self.rules.push(Vec::new());
            let new = self.contents.len() as PlaceId;
            self.contents.push(node);
            let place = self.places.get(new).clone();
            if let Root::Global(id) = place.root {
                // In which of its fields each of them is, nobody noted; signatures tell them apart.
                for &function in &self.program.module.globals[id as usize].functions {
                    let function = self.places.root(Root::Function(function));
                    self.add(node, function);
                }
            }
            let Some(&field) = place.path.last() else { continue };
            // Where an object is not known, it may be each of those with the field.
            let alike: Vec<PlaceId> = if place.root == Root::Unknown {
                self.places.ending_with(field).iter().copied().filter(|&other| other < new).collect()
            } else {
                let any = self.places.ending_with(field).iter().copied();
                any.filter(|&other| other < new && self.places.get(other).root == Root::Unknown).collect()
            };
            for other in alike {
                let other = self.contents[other as usize];
                self.link(node, other);
                self.link(other, node);
            }
        }
        self.contents[leaf as usize]
    }

    fn assign(&mut self, function: FunctionId, from: &Operand, to: Node) {
        match self.source(function, from) {
            Source::Node(from) => self.link(from, to),
            Source::Place(place) => self.add(to, place),
            Source::Nothing => {}
        }
    }

    fn instruction(&mut self, function: FunctionId, instruction: &Instruction) {
        let result = instruction.result.map(|value| self.node(function, value));
        match (&instruction.op, result) {
            (Op::Local { .. }, Some(to)) => {
                let place = self.places.root(Root::Local(function, instruction.result.unwrap_or_default()));
                self.add(to, place);
            }
            (Op::Load { from, .. }, Some(to)) => match self.source(function, from) {
                Source::Node(from) => self.rule(from, Rule::Load(to)),
                Source::Place(place) => {
                    let content = self.content(place);
                    self.link(content, to);
                }
                Source::Nothing => {}
            },
            (Op::Store { value, to, .. }, _) => self.store(function, value, to),
            (Op::Update { to, values }, _) => {
                for value in values {
                    self.store(function, value, to);
                }
                if let (Some(result), Source::Node(from)) = (result, self.source(function, to)) {
                    self.rule(from, Rule::Load(result));
                }
            }
            (Op::Address { base, path }, Some(to)) => {
                let path = fields(path);
                match self.source(function, base) {
                    Source::Node(from) if path.is_empty() => self.link(from, to),
                    Source::Node(from) => self.rule(from, Rule::Step(to, path)),
                    Source::Place(place) => {
                        let place = path.iter().fold(place, |it, &field| self.places.field(self.program, it, field));
                        self.add(to, place);
                    }
                    Source::Nothing => {}
                }
            }
            (Op::Cast(from), Some(to)) => self.assign(function, from, to),
            (Op::Phi(incoming), Some(to)) => {
                for (_, from) in incoming {
                    self.assign(function, from, to);
                }
            }
            (Op::Compute(operands), Some(to)) => {
                for from in operands {
                    self.assign(function, from, to);
                }
            }
            (Op::Call { callee, arguments, signature }, _) => {
                let call = Call {
                    function,
                    result: instruction.result,
                    arguments: arguments.clone(),
                    signature: signature.clone(),
                };
                let number = self.calls.len();
                self.calls.push(call);
                match self.source(function, callee) {
                    Source::Node(node) => self.rule(node, Rule::Call(number)),
                    Source::Place(place) => self.call(number, place),
                    Source::Nothing => {}
                }
            }
            (
                Op::Local { .. } | Op::Load { .. } | Op::Address { .. } | Op::Cast(_) | Op::Phi(_) | Op::Compute(_),
                None,
            ) => {}
        }
    }

    fn store(&mut self, function: FunctionId, value: &Operand, to: &Operand) {
        let value = self.source(function, value);
        match (value, self.source(function, to)) {
            (Source::Node(value), Source::Node(to)) => self.rule(to, Rule::Store(value)),
            (Source::Place(value), Source::Node(to)) => self.rule(to, Rule::StorePlace(value)),
            (Source::Node(value), Source::Place(to)) => {
                let content = self.content(to);
                self.link(value, content);
            }
            (Source::Place(value), Source::Place(to)) => {
                let content = self.content(to);
                self.add(content, value);
            }
            (Source::Nothing, _) | (_, Source::Nothing) => {}
        }
    }

    fn call(&mut self, number: usize, callee: PlaceId) {
        let Root::Function(callee) = self.places.get(callee).root else { return };
        let signature = &self.calls[number].signature;
        if !signature.is_empty() && *signature != self.program.function(callee).signature {
            return;
        }
        if !self.called.insert((number, callee)) {
            return;
        }
        let program = self.program;
        let Call { function, result, ref arguments, .. } = self.calls[number];
        let target = program.function(callee);
        let arguments = arguments.clone();
        if !target.blocks.is_empty() {
            for (argument, &parameter) in arguments.iter().zip(&target.parameters) {
                let parameter = self.node(callee, parameter);
                self.assign(function, argument, parameter);
            }
            if let Some(result) = result {
                let (from, to) = (self.returns[callee as usize], self.node(function, result));
                self.link(from, to);
            }
            return;
        }
        if let Some(start) = threads::start_of(&target.name) {
            if let (Some(routine), Some(argument)) = (arguments.get(start.routine), arguments.get(start.argument)) {
                self.start(function, routine, argument.clone());
            }
            return;
        }
        let external = externals::of(&target.name);
        if let (&[1], Some(0), Some(from), Some(to)) =
            (external.reads, external.writes, arguments.get(1), arguments.first())
        {
            self.memory_copies.push((function, from.clone(), to.clone()));
        }
        let Some(result) = result else { return };
        let to = self.node(function, result);
        if let Some(argument) = external.returns.and_then(|index| arguments.get(index)) {
            self.assign(function, argument, to);
        }
        if external.allocates || external.returns.is_none() && target.signature.starts_with("ptr") {
            let place = self.places.root(Root::Heap(function, result));
            self.add(to, place);
        }
    }

    /// A start routine gets its argument as if it were called.
    fn start(&mut self, function: FunctionId, routine: &Operand, argument: Operand) {
        let number = self.calls.len();
        self.calls.push(Call { function, result: None, arguments: vec![argument], signature: String::new() });
        match self.source(function, routine) {
            Source::Node(node) => self.rule(node, Rule::Call(number)),
            Source::Place(place) => self.call(number, place),
            Source::Nothing => {}
        }
    }

    fn link(&mut self, from: Node, to: Node) {
        if from == to || !self.linked.insert((from, to)) {
            return;
        }
        self.copies[from as usize].push(to);
        if self.sets[from as usize].is_all {
            self.add_all(to);
        }
        for place in self.sets[from as usize].places.clone() {
            self.add(to, place);
        }
    }

    fn rule(&mut self, at: Node, rule: Rule) {
        if self.sets[at as usize].is_all {
            self.apply_to_all(&rule);
        }
        for place in self.sets[at as usize].places.clone() {
            self.apply(&rule, place);
        }
        self.rules[at as usize].push(rule);
    }

    fn add(&mut self, node: Node, place: PlaceId) {
        let set = &mut self.sets[node as usize];
        if set.is_all {
            return;
        }
        let Err(index) = set.places.binary_search(&place) else { return };
        if set.places.len() >= MOST {
            return self.add_all(node);
        }
        set.places.insert(index, place);
        let news = &mut self.news[node as usize];
        if news.is_empty() {
            self.waiting.push(node);
        }
        news.push(place);
    }

    fn add_all(&mut self, node: Node) {
        let mut waiting = vec![node];
        while let Some(node) = waiting.pop() {
            let set = &mut self.sets[node as usize];
            if set.is_all {
                continue;
            }
            *set = Set { places: Vec::new(), is_all: true };
            self.news[node as usize].clear();
            for rule in self.rules[node as usize].clone() {
                self.apply_to_all(&rule);
            }
            waiting.extend(&self.copies[node as usize]);
        }
    }

    fn apply(&mut self, rule: &Rule, place: PlaceId) {
        match rule {
            Rule::Load(to) => {
                let content = self.content(place);
                self.link(content, *to);
            }
            Rule::Store(from) => {
                let content = self.content(place);
                self.link(*from, content);
            }
            Rule::StorePlace(value) => {
                let content = self.content(place);
                self.add(content, *value);
            }
            Rule::Step(to, path) => {
                if !matches!(self.places.get(place).root, Root::Function(_)) {
                    let place = path.iter().fold(place, |it, &field| self.places.field(self.program, it, field));
                    self.add(*to, place);
                }
            }
            Rule::Call(number) => self.call(*number, place),
        }
    }

    fn apply_to_all(&mut self, rule: &Rule) {
        match rule {
            Rule::Load(to) => self.add_all(*to),
            Rule::Step(to, path) => {
                if let Some(&field) = path.last() {
                    let place = self.places.any(field);
                    self.add(*to, place);
                }
            }
            Rule::Call(number) => self.call_by_signature(*number),
            Rule::Store(_) | Rule::StorePlace(_) => {}
        }
    }

    fn call_by_signature(&mut self, number: usize) {
        let program = self.program;
        for &target in program.addressed(&self.calls[number].signature.clone()) {
            let place = self.places.root(Root::Function(target));
            self.call(number, place);
        }
    }

    fn run(&mut self) {
        while let Some(node) = self.waiting.pop() {
            let news = std::mem::take(&mut self.news[node as usize]);
            for to in self.copies[node as usize].clone() {
                for &place in &news {
                    self.add(to, place);
                }
            }
            for rule in self.rules[node as usize].clone() {
                for &place in &news {
                    self.apply(&rule, place);
                }
            }
        }
    }

    fn places_of(&mut self, function: FunctionId, operand: &Operand) -> Vec<PlaceId> {
        match self.source(function, operand) {
            Source::Node(node) => self.sets[node as usize].places.clone(),
            Source::Place(place) => vec![place],
            Source::Nothing => Vec::new(),
        }
    }

    /// Pointers in memory that is copied as a whole are then in both.
    fn copy_memory(&mut self) {
        let mut parts: FxHashMap<Root, Vec<PlaceId>> = FxHashMap::default();
        for place in 0..self.contents.len() as PlaceId {
            parts.entry(self.places.get(place).root).or_default().push(place);
        }
        for (function, from, to) in self.memory_copies.clone() {
            let (from, to) = (self.places_of(function, &from), self.places_of(function, &to));
            for &source in &from {
                let whole = self.places.get(source).clone();
                for &target in &to {
                    let (one, other) = (self.content(source), self.content(target));
                    self.link(one, other);
                    for &part in parts.get(&whole.root).map_or(&[][..], Vec::as_slice) {
                        let path = self.places.get(part).path.clone();
                        let Some(rest) = path.strip_prefix(&whole.path[..]) else { continue };
                        let there = rest.iter().fold(target, |it, &field| self.places.field(self.program, it, field));
                        let (one, other) = (self.content(part), self.content(there));
                        self.link(one, other);
                    }
                }
            }
        }
        self.run();
    }

    /// What nobody set may be anything of its kind: parameters of functions that nobody calls, what a library filled in.
    fn name_the_unknown(&mut self) {
        // What is found then may lead further; a chain of pointers that nobody set is seldom long.
        for _ in 0..4 {
            self.copy_memory();
            for node in 0..self.rules.len() {
                let set = &self.sets[node];
                if set.places.is_empty() && !set.is_all {
                    for rule in self.rules[node].clone() {
                        if matches!(rule, Rule::Step(..) | Rule::Call(_)) {
                            self.apply_to_all(&rule);
                        }
                    }
                }
            }
            self.run();
        }
    }
}
