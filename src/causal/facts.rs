//! What each instruction does: which variables it reads and writes, which functions it calls.

use rustc_hash::{FxHashMap, FxHashSet};

use super::externals::{self, External};
use super::places::{PlaceId, Root};
use super::points::Points;
use super::program::Program;
use super::threads;
use crate::ir::model::{BlockId, FunctionId, Instruction, Op, Operand, Step};

/// A variable that is accessed somewhere, by its place in [`Facts::variables`].
pub type Variable = u32;

/// What an instruction does with memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Access {
    pub reads: Vec<Variable>,
    pub writes: Vec<Variable>,
    /// It writes the whole of its only variable, so that nothing older is left of that.
    pub is_whole: bool,
}

/// What is known of one function.
#[derive(Debug, Default)]
pub struct FunctionFacts {
    /// The number of the first instruction of each block. The end of a block has no number.
    pub starts: Vec<u32>,
    /// By the number of the instruction.
    pub accesses: FxHashMap<u32, Access>,
    /// Who may be called, by the number of the instruction.
    pub calls: FxHashMap<u32, Vec<FunctionId>>,
    /// What the first four arguments of a call may be addresses of, by the number of the instruction.
    pub addresses: FxHashMap<u32, Vec<Vec<PlaceId>>>,
}

impl FunctionFacts {
    #[must_use]
    pub fn number(&self, block: BlockId, index: usize) -> u32 {
        self.starts[block as usize] + index as u32
    }

    /// The block of an instruction, and its place in that.
    #[must_use]
    pub fn block_of(&self, number: u32) -> (BlockId, usize) {
        // Blocks without instructions share their number with the next one.
        let block = self.starts.partition_point(|&start| start <= number) - 1;
        (block as BlockId, (number - self.starts[block]) as usize)
    }
}

/// A program, and what its instructions do.
#[derive(Debug)]
pub struct Facts {
    pub program: Program,
    pub points: Points,
    pub functions: Vec<FunctionFacts>,
    pub variables: Vec<PlaceId>,
    /// Whether a variable is accessed by the function that it is a local of, and by no other.
    pub is_own: Vec<bool>,
    /// Functions that may be called, without those that a function calls twice.
    pub callees: Vec<Vec<FunctionId>>,
    pub callers: Vec<Vec<FunctionId>>,
    /// For each variable the instructions that read it, and those that write it.
    pub readers: Vec<Vec<(FunctionId, u32)>>,
    pub writers: Vec<Vec<(FunctionId, u32)>>,
    /// Groups of functions that call each other, callees first.
    pub groups: Vec<Vec<FunctionId>>,
}

impl Facts {
    #[must_use]
    pub fn new(program: Program) -> Facts {
        let points = Points::solve(&program);
        let mut builder = Builder { program: &program, points, bare: Vec::new() };
        let mut functions: Vec<FunctionFacts> =
            (0..program.module.functions.len() as FunctionId).map(|id| builder.function(id)).collect();
        let (points, variables) = builder.finish(&mut functions);
        let mut accessed_by: Vec<Option<FunctionId>> = vec![None; variables.len()];
        let mut is_own: Vec<bool> = vec![true; variables.len()];
        for (id, function) in (0..).zip(&functions) {
            for &variable in function.accesses.values().flat_map(|it| it.reads.iter().chain(&it.writes)) {
                let by = accessed_by[variable as usize].get_or_insert(id);
                let root = points.places.get(variables[variable as usize]).root;
                is_own[variable as usize] &= *by == id && matches!(root, Root::Local(owner, _) if owner == id);
            }
        }
        let callees: Vec<Vec<FunctionId>> = functions
            .iter()
            .map(|it| {
                let mut callees: Vec<FunctionId> = it.calls.values().flatten().copied().collect();
                callees.sort_unstable();
                callees.dedup();
                callees
            })
            .collect();
        let groups = super::components::components(&callees);
        let mut callers = vec![Vec::new(); callees.len()];
        for (id, own) in (0..).zip(&callees) {
            for &callee in own {
                callers[callee as usize].push(id);
            }
        }
        let [mut readers, mut writers] = [vec![Vec::new(); variables.len()], vec![Vec::new(); variables.len()]];
        for (id, function) in (0..).zip(&functions) {
            for (&number, access) in &function.accesses {
                for &it in &access.reads {
                    readers[it as usize].push((id, number));
                }
                for &it in &access.writes {
                    writers[it as usize].push((id, number));
                }
            }
        }
        readers.iter_mut().chain(&mut writers).for_each(|sites| sites.sort_unstable());
        Facts { program, points, functions, variables, is_own, callees, callers, readers, writers, groups }
    }

    #[must_use]
    pub fn name(&self, variable: Variable) -> String {
        self.points.places.name(&self.program, self.variables[variable as usize])
    }

    /// Whether the source has a name for a variable: what the compiler or a library made for itself has none.
    #[must_use]
    pub fn is_named(&self, variable: Variable) -> bool {
        match self.root(variable) {
            Root::Local(function, value) => {
                let name = &self.program.module.functions[function as usize].values[value as usize].source_name;
                name.as_ref().is_some_and(|name| !name.starts_with("__"))
            }
            _ => true,
        }
    }

    /// Whether it is more than one variable of the source: bit-fields of a word.
    #[must_use]
    pub fn is_several(&self, variable: Variable) -> bool {
        self.points.places.is_several(&self.program, self.variables[variable as usize])
    }

    #[must_use]
    pub fn root(&self, variable: Variable) -> Root {
        self.points.places.get(self.variables[variable as usize]).root
    }

    #[must_use]
    pub fn instruction(&self, function: FunctionId, number: u32) -> &Instruction {
        let (block, index) = self.functions[function as usize].block_of(number);
        &self.program.function(function).blocks[block as usize].instructions[index]
    }
}

/// What an instruction accesses, while places have not become variables.
struct Bare {
    function: FunctionId,
    number: u32,
    reads: Vec<Reach>,
    writes: Vec<Reach>,
    is_element: bool,
}

/// What of a place is accessed.
struct Reach {
    place: PlaceId,
    extent: Extent,
}

/// How far an access goes from where its place begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// It has no parts.
    Leaf,
    Bytes(u64),
    /// All that is there.
    Whole,
}

struct Builder<'p> {
    program: &'p Program,
    points: Points,
    bare: Vec<Bare>,
}

impl Builder<'_> {
    fn function(&mut self, id: FunctionId) -> FunctionFacts {
        let mut facts = FunctionFacts::default();
        let mut number = 0;
        let program = self.program;
        for block in &program.function(id).blocks {
            facts.starts.push(number);
            for instruction in &block.instructions {
                self.instruction(id, number, instruction, &mut facts);
                number += 1;
            }
        }
        facts
    }

    fn instruction(&mut self, function: FunctionId, number: u32, instruction: &Instruction, facts: &mut FunctionFacts) {
        let access = |it: &mut Self, reads: Option<&Operand>, writes: Option<&Operand>| {
            let is_element = reads.or(writes).is_some_and(|operand| it.is_element(function, operand));
            let mut leaves =
                |operand: Option<&Operand>| operand.map_or_else(Vec::new, |operand| it.leaves(function, operand));
            let (reads, writes) = (leaves(reads), leaves(writes));
            it.bare.push(Bare { function, number, reads, writes, is_element });
        };
        match &instruction.op {
            Op::Load { from, .. } => access(self, Some(from), None),
            Op::Store { to, .. } => access(self, None, Some(to)),
            Op::Update { to, .. } => access(self, Some(to), Some(to)),
            Op::Call { callee, arguments, signature } => {
                let callees = self.callees(function, callee, signature);
                for &target in &callees {
                    let target = self.program.function(target);
                    if target.blocks.is_empty() {
                        self.external(function, number, externals::of(&target.name), arguments);
                    }
                }
                let first = arguments.iter().take(4);
                let addresses = first.map(|argument| self.points.of(self.program, function, argument)).collect();
                facts.addresses.insert(number, addresses);
                facts.calls.insert(number, callees);
            }
            Op::Local { .. } | Op::Address { .. } | Op::Cast(_) | Op::Phi(_) | Op::Compute(_) => {}
        }
    }

    fn external(&mut self, function: FunctionId, number: u32, external: External, arguments: &[Operand]) {
        let mut reached = |index: &usize| match arguments.get(*index) {
            Some(argument) => {
                let extent = self.extent(function, external, arguments, argument);
                if extent == Extent::Leaf {
                    return self.leaves(function, argument);
                }
                let places = self.points.of(self.program, function, argument);
                places.into_iter().map(|place| Reach { place, extent }).collect()
            }
            None => Vec::new(),
        };
        let reads: Vec<Reach> = external.reads.iter().flat_map(&mut reached).collect();
        let writes: Vec<Reach> = external.writes.iter().flat_map(&mut reached).collect();
        if !(reads.is_empty() && writes.is_empty()) {
            self.bare.push(Bare { function, number, reads, writes, is_element: true });
        }
    }

    /// How much of what an argument points to a function of a library accesses. A structure has the address of its first member, so that
    /// the place does not say which of them is meant.
    fn extent(&self, function: FunctionId, external: External, arguments: &[Operand], address: &Operand) -> Extent {
        let counts = match external.extent {
            externals::Extent::Text => return Extent::Leaf,
            externals::Extent::Bytes(bytes) => return Extent::Bytes(bytes),
            externals::Extent::Whole => return Extent::Whole,
            externals::Extent::Counted(counts) => counts,
        };
        let number = |index: &usize| match arguments.get(*index) {
            Some(Operand::Number(number)) => u64::try_from(*number).ok(),
            _ => None,
        };
        let size: Option<u64> = counts.iter().map(number).product();
        size.or_else(|| self.behind_first(function, address)).map_or(Extent::Whole, Extent::Bytes)
    }

    /// Where the second member begins, if an address is that of a first one.
    fn behind_first(&self, function: FunctionId, address: &Operand) -> Option<u64> {
        let path = match address {
            Operand::Inside(_, path) => path,
            Operand::Value(value) => match &self.program.made_by(function, *value)?.op {
                Op::Address { path, .. } => path,
                // Where pointers have types.
                Op::Cast(address) => return self.behind_first(function, address),
                _ => return None,
            },
            _ => return None,
        };
        let fields = path.iter().rev().skip_while(|step| matches!(step, Step::Element(_)));
        match fields.into_iter().next()? {
            Step::Field { of, index: 0 } => self.program.module.structs[*of as usize].members.get(1)?.offset,
            Step::Field { .. } | Step::Element(_) => None,
        }
    }

    fn leaves(&mut self, function: FunctionId, address: &Operand) -> Vec<Reach> {
        let places = self.points.of(self.program, function, address);
        let is_data = |id: &PlaceId, points: &Points| !matches!(points.places.get(*id).root, Root::Function(_));
        let places: Vec<PlaceId> = places.into_iter().filter(|id| is_data(id, &self.points)).collect();
        let mut leaf = |place| Reach { place: self.points.places.leaf(self.program, place), extent: Extent::Leaf };
        places.into_iter().map(&mut leaf).collect()
    }

    /// Whether an address depends on an index.
    fn is_element(&self, function: FunctionId, address: &Operand) -> bool {
        let Operand::Value(value) = address else { return false };
        match self.program.made_by(function, *value).map(|it| &it.op) {
            Some(Op::Address { base, path }) => {
                path.iter().any(|step| matches!(step, Step::Element(Some(_)))) || self.is_element(function, base)
            }
            Some(Op::Cast(operand)) => self.is_element(function, operand),
            _ => false,
        }
    }

    fn callees(&mut self, function: FunctionId, callee: &Operand, signature: &str) -> Vec<FunctionId> {
        let functions = |places: &[PlaceId], points: &Points| -> Vec<FunctionId> {
            let roots = places.iter().map(|&place| points.places.get(place).root);
            roots.filter_map(|root| if let Root::Function(id) = root { Some(id) } else { None }).collect()
        };
        let places = self.points.of(self.program, function, callee);
        let mut targets = functions(&places, &self.points);
        if let Operand::Value(_) = callee {
            targets.retain(|&target| self.program.function(target).signature == signature);
            if targets.is_empty() {
                targets = self.program.addressed(signature).to_vec();
            }
            // Of a table of virtual functions every one may be meant; but this one only the C++ library calls.
            targets.retain(|&target| !threads::is_state_run(&self.program.function(target).name));
        }
        targets
    }

    /// Makes variables of places.
    fn finish(self, functions: &mut [FunctionFacts]) -> (Points, Vec<PlaceId>) {
        let Builder { program, mut points, bare } = self;
        let accessed = bare.iter().flat_map(|it| it.reads.iter().chain(&it.writes));
        let accessed = accessed.filter(|it| it.extent == Extent::Leaf).map(|it| it.place);
        let accessed: FxHashSet<PlaceId> = accessed.collect();
        let mut parts: FxHashMap<Root, Vec<PlaceId>> = FxHashMap::default();
        for &place in &accessed {
            parts.entry(points.places.get(place).root).or_default().push(place);
        }
        let mut ids: FxHashMap<PlaceId, Variable> = FxHashMap::default();
        let mut variables = Vec::new();
        for it in bare {
            let mut resolve = |list: &[Reach]| {
                let mut resolved: Vec<Variable> = Vec::new();
                for &Reach { place, extent } in list {
                    let places = match extent {
                        Extent::Leaf => vec![place],
                        Extent::Bytes(bytes) => parts_of(place, Some(bytes), &parts, &mut points, program),
                        Extent::Whole => parts_of(place, None, &parts, &mut points, program),
                    };
                    for place in places {
                        // If the object is not known somewhere, it need not be known elsewhere.
                        let mut known = place;
                        if let Some(&field) = points.places.get(place).path.last() {
                            let any = points.places.any(field);
                            if accessed.contains(&any) {
                                known = any;
                            }
                        }
                        resolved.push(*ids.entry(known).or_insert_with(|| {
                            variables.push(known);
                            variables.len() as Variable - 1
                        }));
                    }
                }
                resolved.sort_unstable();
                resolved.dedup();
                resolved
            };
            let (reads, writes) = (resolve(&it.reads), resolve(&it.writes));
            let is_whole = match &writes[..] {
                [variable] => !it.is_element && !points.places.is_array(program, variables[*variable as usize]),
                _ => false,
            };
            let access = functions[it.function as usize].accesses.entry(it.number).or_default();
            access.reads.extend(reads);
            access.writes.extend(writes);
            access.is_whole = is_whole;
        }
        (points, variables)
    }
}

/// The places in what lies at `place`, or begin in so many bytes of that, that somebody accesses.
fn parts_of(
    place: PlaceId,
    bytes: Option<u64>,
    parts: &FxHashMap<Root, Vec<PlaceId>>,
    points: &mut Points,
    program: &Program,
) -> Vec<PlaceId> {
    let whole = points.places.get(place).clone();
    let mut inside: Vec<PlaceId> = parts.get(&whole.root).map_or(&[][..], Vec::as_slice).to_vec();
    inside.retain(|&part| {
        let offset = || points.places.offset_in(program, place, part);
        points.places.get(part).path.starts_with(&whole.path)
            && bytes.is_none_or(|bytes| offset().is_none_or(|offset| offset < bytes))
    });
    if inside.is_empty() && !matches!(whole.root, Root::Function(_)) {
        inside.push(points.places.leaf(program, place));
    }
    inside.sort_unstable();
    inside
}
