//! All modules of a program as one, as a linker would make it.

use std::mem;

use rustc_hash::{FxHashMap, FxHashSet};

use super::endings;
use crate::ir::model::{
    Block, End, Function, FunctionId, Global, GlobalId, Instruction, Module, Op, Operand, Step, Struct, StructId, Type,
    ValueId,
};

/// A program. All numbers in [`Program::module`] are of the whole program.
#[derive(Debug, Default)]
pub struct Program {
    pub module: Module,
    /// Functions whose address is used for more than to call them, by their signature.
    addressed: FxHashMap<String, Vec<FunctionId>>,
    by_name: FxHashMap<String, FunctionId>,
    /// For each function and value the instruction that makes it, by block and place in that; parameters have none.
    made_by: Vec<Vec<Option<(u32, u32)>>>,
}

impl Program {
    /// Links modules: names that other modules see are one thing, internal ones are not; structures are one if they have the same name
    /// and as many members. Of several definitions of a function the first counts.
    #[must_use]
    pub fn link(modules: Vec<Module>) -> Program {
        let mut linker = Linker::default();
        for module in modules {
            linker.add(module);
        }
        linker.finish()
    }

    #[must_use]
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.module.functions[id as usize]
    }

    /// The function that other modules know by this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<FunctionId> {
        self.by_name.get(name).copied()
    }

    /// The instruction that makes a value; parameters have none.
    #[must_use]
    pub fn made_by(&self, function: FunctionId, value: ValueId) -> Option<&Instruction> {
        let (block, index) = self.made_by_number(function, value)?;
        self.function(function).blocks[block as usize].instructions.get(index as usize)
    }

    /// The block of that instruction, and its place in that.
    #[must_use]
    pub fn made_by_number(&self, function: FunctionId, value: ValueId) -> Option<(u32, u32)> {
        self.made_by[function as usize][value as usize]
    }

    /// What an indirect call with this signature may call, if nothing more is known of it.
    #[must_use]
    pub fn addressed(&self, signature: &str) -> &[FunctionId] {
        self.addressed.get(signature).map_or(&[], Vec::as_slice)
    }

    /// The defined functions.
    pub fn defined(&self) -> impl Iterator<Item = (FunctionId, &Function)> {
        (0..).zip(&self.module.functions).filter(|(_, function)| !function.blocks.is_empty())
    }
}

/// The operands of an instruction, not those inside of constant addresses.
#[must_use]
pub fn operands(op: &Op) -> Vec<&Operand> {
    fn indices(path: &[Step]) -> impl Iterator<Item = &Operand> {
        path.iter().filter_map(|step| if let Step::Element(index) = step { index.as_ref() } else { None })
    }
    match op {
        Op::Local { .. } => Vec::new(),
        Op::Load { from, .. } => vec![from],
        Op::Store { value, to, .. } => vec![value, to],
        Op::Update { to, values } => values.iter().chain([to]).collect(),
        Op::Address { base, path } => std::iter::once(base).chain(indices(path)).collect(),
        Op::Cast(operand) => vec![operand],
        Op::Call { callee, arguments, .. } => arguments.iter().chain([callee]).collect(),
        Op::Phi(incoming) => incoming.iter().map(|(_, operand)| operand).collect(),
        Op::Compute(operands) => operands.iter().collect(),
    }
}

#[derive(Default)]
struct Linker {
    program: Program,
    structs: FxHashMap<String, Vec<StructId>>,
    globals: FxHashMap<String, GlobalId>,
    taken: FxHashSet<FunctionId>,
}

/// Numbers of one module, as they are in the program.
struct Numbers {
    structs: Vec<StructId>,
    globals: Vec<GlobalId>,
    functions: Vec<FunctionId>,
}

impl Linker {
    fn add(&mut self, mut module: Module) {
        let mut numbers = Numbers { structs: Vec::new(), globals: Vec::new(), functions: Vec::new() };
        let mut new_structs = Vec::new();
        for (index, it) in module.structs.iter_mut().enumerate() {
            let (id, is_new) = self.add_struct(it);
            numbers.structs.push(id);
            if is_new {
                new_structs.push((index, id));
            }
        }
        for (index, id) in new_structs {
            let mut it = mem::take(&mut module.structs[index]);
            for member in &mut it.members {
                numbers.renumber_type(&mut member.of_type);
            }
            self.program.module.structs[id as usize] = it;
        }
        // Before any body is renumbered, all names must have their numbers.
        let new_functions: Vec<bool> = module.functions.iter().map(|it| self.add_function(it, &mut numbers)).collect();
        for mut it in module.globals {
            numbers.renumber_type(&mut it.of_type);
            for function in &mut it.functions {
                *function = numbers.functions[*function as usize];
                self.taken.insert(*function);
            }
            let id = self.add_global(it);
            numbers.globals.push(id);
        }
        for ((index, mut it), is_new) in module.functions.into_iter().enumerate().zip(new_functions) {
            if is_new {
                numbers.renumber_function(&mut it);
                self.take_addresses(&it);
                self.program.module.functions[numbers.functions[index] as usize] = it;
            }
        }
        let Module { annotations, skipped, .. } = &mut self.program.module;
        annotations.extend(module.annotations.into_iter().map(|(id, text)| (numbers.functions[id as usize], text)));
        for (opcode, count) in module.skipped {
            *skipped.entry(opcode).or_default() += count;
        }
    }

    fn add_struct(&mut self, it: &Struct) -> (StructId, bool) {
        let id = self.program.module.structs.len() as StructId;
        if !it.name.is_empty() {
            let same_name = self.structs.entry(it.name.clone()).or_default();
            let known = &self.program.module.structs;
            if let Some(&id) = same_name.iter().find(|&&id| known[id as usize].members.len() == it.members.len()) {
                return (id, false);
            }
            same_name.push(id);
        }
        // Its size is what others of its name are compared by, already in this module.
        self.program.module.structs.push(it.clone());
        (id, true)
    }

    fn add_global(&mut self, it: Global) -> GlobalId {
        let globals = &mut self.program.module.globals;
        if !it.is_internal {
            if let Some(&id) = self.globals.get(&it.name) {
                let known = &mut globals[id as usize];
                // Declarations know neither where they are in the source nor what is in them.
                if known.at.is_none() && it.at.is_some() || known.functions.is_empty() && !it.functions.is_empty() {
                    *known = it;
                }
                return id;
            }
            self.globals.insert(it.name.clone(), globals.len() as GlobalId);
        }
        globals.push(it);
        globals.len() as GlobalId - 1
    }

    /// Gives a function its number, and tells whether its body is the one that counts.
    fn add_function(&mut self, it: &Function, numbers: &mut Numbers) -> bool {
        let functions = &mut self.program.module.functions;
        if !it.is_internal {
            if let Some(&id) = self.program.by_name.get(&it.name) {
                numbers.functions.push(id);
                let known = &mut functions[id as usize];
                let is_new = known.blocks.is_empty() && !it.blocks.is_empty();
                if is_new {
                    // Taken by this module; a later one must see that.
                    known.blocks.push(Block::default());
                }
                return is_new;
            }
            self.program.by_name.insert(it.name.clone(), functions.len() as FunctionId);
        }
        numbers.functions.push(functions.len() as FunctionId);
        functions.push(it.clone());
        true
    }

    fn take_addresses(&mut self, function: &Function) {
        fn inner(operand: &Operand) -> &Operand {
            if let Operand::Inside(base, _) = operand { inner(base) } else { operand }
        }
        for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
            let mut used = operands(&instruction.op);
            if let Op::Call { .. } = instruction.op {
                used.pop();
            }
            self.taken.extend(used.into_iter().filter_map(|operand| match inner(operand) {
                Operand::Function(id) => Some(*id),
                _ => None,
            }));
        }
    }

    fn finish(self) -> Program {
        let mut program = self.program;
        let mut taken: Vec<FunctionId> = self.taken.into_iter().collect();
        taken.sort_unstable();
        for id in taken {
            let signature = program.module.functions[id as usize].signature.clone();
            program.addressed.entry(signature).or_default().push(id);
        }
        endings::cut(&mut program.module);
        program.made_by = program.module.functions.iter().map(makers).collect();
        program
    }
}

fn makers(function: &Function) -> Vec<Option<(u32, u32)>> {
    let mut made_by = vec![None; function.values.len()];
    for (block, it) in (0..).zip(&function.blocks) {
        for (index, instruction) in (0..).zip(&it.instructions) {
            if let Some(value) = instruction.result {
                made_by[value as usize] = Some((block, index));
            }
        }
    }
    made_by
}

impl Numbers {
    fn renumber_type(&self, it: &mut Type) {
        match it {
            Type::Struct(id) => *id = self.structs[*id as usize],
            Type::Array(of) => self.renumber_type(of),
            Type::Pointer | Type::Function | Type::Void | Type::Scalar => {}
        }
    }

    fn renumber_path(&self, path: &mut [Step]) {
        for step in path {
            match step {
                Step::Field { of, .. } => *of = self.structs[*of as usize],
                Step::Element(Some(index)) => self.renumber_operand(index),
                Step::Element(None) => {}
            }
        }
    }

    fn renumber_operand(&self, it: &mut Operand) {
        match it {
            Operand::Global(id) => *id = self.globals[*id as usize],
            Operand::Function(id) => *id = self.functions[*id as usize],
            Operand::Inside(base, path) => {
                self.renumber_operand(base);
                self.renumber_path(path);
            }
            Operand::Value(_) | Operand::Number(_) | Operand::Constant => {}
        }
    }

    fn renumber_function(&self, it: &mut Function) {
        for value in &mut it.values {
            self.renumber_type(&mut value.of_type);
        }
        for block in &mut it.blocks {
            for instruction in &mut block.instructions {
                self.renumber_op(&mut instruction.op);
            }
            match &mut block.end {
                End::Return(Some(operand)) | End::Branch { on: Some(operand), .. } => self.renumber_operand(operand),
                End::Return(None) | End::Branch { on: None, .. } | End::Resume | End::Unreachable => {}
            }
        }
    }

    fn renumber_op(&self, op: &mut Op) {
        match op {
            Op::Local { of_type } => self.renumber_type(of_type),
            Op::Load { from: operand, .. } | Op::Cast(operand) => self.renumber_operand(operand),
            Op::Store { value, to, .. } => [value, to].into_iter().for_each(|operand| self.renumber_operand(operand)),
            Op::Address { base, path } => {
                self.renumber_operand(base);
                self.renumber_path(path);
            }
            Op::Call { callee: one, arguments: many, .. } | Op::Update { to: one, values: many } => {
                many.iter_mut().chain([one]).for_each(|operand| self.renumber_operand(operand));
            }
            Op::Phi(incoming) => incoming.iter_mut().for_each(|(_, operand)| self.renumber_operand(operand)),
            Op::Compute(operands) => operands.iter_mut().for_each(|operand| self.renumber_operand(operand)),
        }
    }
}
