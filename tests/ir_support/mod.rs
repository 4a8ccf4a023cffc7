//! The model of IR as text: what a function reads, writes, calls and decides, by the source's names and lines.

use avmon::ir::model::{
    End, Function, FunctionId, GlobalId, Instruction, Location, Module, Op, Operand, Step, ValueId,
};
use std::fmt::Write as _;

/// Addresses of addresses: so deep they are told.
const DEEPEST: u32 = 12;

/// Functions are sorted, as compilers differ in their order. What differs by the version of the compiler alone is left out:
/// numbers of values and columns.
pub fn printed(module: &Module) -> String {
    let mut functions: Vec<&Function> =
        module.functions.iter().filter(|function| !function.blocks.is_empty()).collect();
    functions.sort_by_key(|function| &function.name);
    let mut text = String::new();
    for function in functions {
        let printer = Printer::new(module, function);
        let name = function.source_name.as_deref().unwrap_or("-");
        let _ =
            writeln!(text, "\n{} = {name} at {}: {}", function.name, place(function.at.as_ref()), function.signature);
        for (id, block) in function.blocks.iter().enumerate() {
            let _ = writeln!(text, "  block {id}");
            for instruction in &block.instructions {
                if let Some(line) = printer.instruction(instruction) {
                    let _ = writeln!(text, "    {} {line}", place(instruction.at.as_ref()));
                }
            }
            let _ = writeln!(text, "    {} {}", place(block.end_at.as_ref()), printer.end(&block.end));
        }
    }
    for (id, annotation) in &module.annotations {
        let _ = writeln!(text, "\n{} is annotated {annotation:?}", module.functions[*id as usize].name);
    }
    for (alias, id) in &module.aliases {
        let _ = writeln!(text, "\n{alias} is {}", module.functions[*id as usize].name);
    }
    let mut globals: Vec<String> = module
        .globals
        .iter()
        .filter_map(|global| {
            let name = global.source_name.as_deref()?;
            let functions: Vec<&str> =
                global.functions.iter().map(|id| &*module.functions[*id as usize].name).collect();
            let facts = [
                (global.is_constant, "constant"),
                (global.is_thread_local, "thread-local"),
                (global.is_internal, "internal"),
            ];
            let facts: Vec<&str> = facts.iter().filter(|(holds, _)| *holds).map(|(_, name)| *name).collect();
            Some(format!("\n{} = {name} at {} {facts:?} {functions:?}\n", global.name, place(global.at.as_ref())))
        })
        .collect();
    globals.sort();
    text + &globals.concat()
}

/// Structs of the source with their members.
pub fn printed_structs(module: &Module) -> Vec<String> {
    let mut structs: Vec<String> = module
        .structs
        .iter()
        .filter_map(|of| {
            let members: Vec<&str> = of.members.iter().map(|member| member.name.as_deref().unwrap_or("-")).collect();
            Some(format!("{} {{ {} }}", of.source_name.as_ref()?, members.join(", ")))
        })
        .collect();
    structs.sort();
    structs
}

fn place(at: Option<&Location>) -> String {
    at.map_or_else(|| "-".to_owned(), |at| format!("{}:{}", at.file, at.line))
}

struct Printer<'m> {
    module: &'m Module,
    function: &'m Function,
    defined: Vec<Option<&'m Op>>,
}

impl<'m> Printer<'m> {
    fn new(module: &'m Module, function: &'m Function) -> Printer<'m> {
        let mut defined = vec![None; function.values.len()];
        for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
            if let Some(result) = instruction.result {
                defined[result as usize] = Some(&instruction.op);
            }
        }
        Printer { module, function, defined }
    }

    fn instruction(&self, instruction: &Instruction) -> Option<String> {
        let told = |operand: &Operand| self.operand(operand, 0);
        let list = |operands: &[Operand]| operands.iter().map(told).collect::<Vec<_>>().join(", ");
        let atomic = |is_atomic: bool| if is_atomic { "atomic " } else { "" };
        Some(match &instruction.op {
            Op::Load { from, is_atomic } => format!("{}load {}", atomic(*is_atomic), told(from)),
            Op::Store { value, to, is_atomic } => {
                format!("{}store {} to {}", atomic(*is_atomic), told(value), told(to))
            }
            Op::Update { to, values } => format!("update {} with {}", told(to), list(values)),
            Op::Call { callee, arguments, signature } => {
                format!("call {}({}): {signature}", told(callee), list(arguments))
            }
            Op::Phi(values) => {
                let values: Vec<String> =
                    values.iter().map(|(from, value)| format!("{from}: {}", told(value))).collect();
                format!("phi {}", values.join(", "))
            }
            Op::Local { .. } | Op::Address { .. } | Op::Cast(_) | Op::Compute(_) => return None,
        })
    }

    fn end(&self, end: &End) -> String {
        match end {
            End::Return(Some(value)) => format!("return {}", self.operand(value, 0)),
            End::Return(None) => "return".to_owned(),
            End::Branch { on: Some(on), targets } => format!("on {} to {targets:?}", self.operand(on, 0)),
            End::Branch { on: None, targets } => format!("to {targets:?}"),
            End::Resume => "resume".to_owned(),
            End::Unreachable => "unreachable".to_owned(),
        }
    }

    fn operand(&self, operand: &Operand, depth: u32) -> String {
        match operand {
            Operand::Value(id) => self.value(*id, depth),
            Operand::Global(id) => self.global(*id),
            Operand::Function(id) => self.callee(*id),
            Operand::Inside(base, path) => self.path(self.operand(base, depth), path, depth),
            Operand::Number(_) | Operand::Constant => "constant".to_owned(),
        }
    }

    fn global(&self, id: GlobalId) -> String {
        let global = &self.module.globals[id as usize];
        global
            .source_name
            .clone()
            .unwrap_or_else(|| if global.name.starts_with(".str") { "text".to_owned() } else { global.name.clone() })
    }

    /// Names of intrinsics end with the types of their arguments.
    fn callee(&self, id: FunctionId) -> String {
        let name = &self.module.functions[id as usize].name;
        match name.strip_prefix("llvm.") {
            Some(rest) => format!("llvm.{}", rest.split('.').next().unwrap_or_default()),
            None => name.clone(),
        }
    }

    fn path(&self, base: String, path: &[Step], depth: u32) -> String {
        path.iter().fold(base, |text, step| match step {
            Step::Field { of, index } => {
                let member = &self.module.structs[*of as usize].members[*index as usize];
                format!("{text}.{}", member.name.as_deref().unwrap_or("-"))
            }
            Step::Element(Some(index)) => format!("{text}[{}]", self.operand(index, depth + 1)),
            Step::Element(None) => format!("{text}[constant]"),
        })
    }

    fn value(&self, id: ValueId, depth: u32) -> String {
        let deeper = |operand: &Operand| self.operand(operand, depth + 1);
        if let Some(name) = &self.function.values[id as usize].source_name {
            return name.clone();
        }
        match self.defined[id as usize] {
            _ if depth > DEEPEST => "...".to_owned(),
            None => "parameter".to_owned(),
            Some(Op::Local { .. }) => "local".to_owned(),
            Some(Op::Load { from, .. }) => format!("*{}", deeper(from)),
            Some(Op::Cast(operand)) => deeper(operand),
            Some(Op::Address { base, path }) => self.path(deeper(base), path, depth),
            Some(Op::Call { callee, .. }) => format!("result of {}", deeper(callee)),
            Some(Op::Update { to, .. }) => format!("old {}", deeper(to)),
            Some(Op::Phi(_)) => "phi".to_owned(),
            Some(Op::Compute(operands)) => {
                format!("of({})", operands.iter().map(deeper).collect::<Vec<_>>().join(", "))
            }
            Some(Op::Store { .. }) => "nothing".to_owned(),
        }
    }
}
