//! What is known of a module: functions of blocks of instructions, and the names that its source gave to things.
//!
//! Instructions are told apart by what they do with values and memory, not by their opcode: every arithmetic, comparison and
//! selection is a [`Op::Compute`].

use std::collections::BTreeMap;
use std::sync::Arc;

/// A parameter or the result of an instruction, by its place in [`Function::values`].
pub type ValueId = u32;
/// By its place in [`Function::blocks`]; the first one is where the function begins.
pub type BlockId = u32;
/// By its place in [`Module::functions`].
pub type FunctionId = u32;
/// By its place in [`Module::globals`].
pub type GlobalId = u32;
/// By its place in [`Module::structs`].
pub type StructId = u32;

/// One translation unit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Module {
    /// The source file, as the compiler was given it.
    pub source: String,
    pub structs: Vec<Struct>,
    pub globals: Vec<Global>,
    pub functions: Vec<Function>,
    /// Other names by which the linker knows functions, without `@`.
    pub aliases: Vec<(String, FunctionId)>,
    /// Texts of `__attribute__((annotate("...")))` on functions.
    pub annotations: Vec<(FunctionId, String)>,
    /// Instructions that are not understood, by their opcode: so many of each were left out.
    pub skipped: BTreeMap<String, u64>,
}

/// A structure, union or class.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Struct {
    /// As the IR calls it, without `%`: `struct.account`. Empty if it has no name.
    pub name: String,
    /// As the source calls it.
    pub source_name: Option<String>,
    pub members: Vec<Member>,
}

/// A member of a structure, by its place in the IR's type. Padding that the compiler put in has no name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Member {
    pub name: Option<String>,
    pub of_type: Type,
    /// In bytes, from where the structure begins, if that is known.
    pub offset: Option<u64>,
    /// Several members of the source begin in it, at different places: bit-fields of one word.
    pub is_several: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Type {
    Struct(StructId),
    Array(Box<Type>),
    Pointer,
    Function,
    Void,
    /// Numbers and everything else that has no parts.
    #[default]
    Scalar,
}

/// A line of the source.
#[derive(Clone, PartialEq, Eq, Debug, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The path, absolute where the compiler knew its directory.
    pub file: Arc<str>,
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Global {
    /// As the linker knows it, without `@`.
    pub name: String,
    /// As the source calls it: with its function's name in front if it is static in one.
    pub source_name: Option<String>,
    pub of_type: Type,
    /// Never changed.
    pub is_constant: bool,
    /// Each thread has its own.
    pub is_thread_local: bool,
    /// Not visible to other modules.
    pub is_internal: bool,
    /// Functions whose addresses are in its first value, in their order: a table of virtual functions, or of handlers.
    pub functions: Vec<FunctionId>,
    pub at: Option<Location>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Function {
    /// As the linker knows it, without `@`.
    pub name: String,
    /// As the source calls it, without parameters.
    pub source_name: Option<String>,
    /// Not visible to other modules.
    pub is_internal: bool,
    /// Result and parameters in one text, in which all pointers are alike: what an indirect call has in common with what it may call.
    pub signature: String,
    pub at: Option<Location>,
    pub parameters: Vec<ValueId>,
    pub values: Vec<Value>,
    /// Empty if it is defined elsewhere.
    pub blocks: Vec<Block>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Value {
    /// The variable of the source that lives here, if there is one: of an alloca, or of a parameter.
    pub source_name: Option<String>,
    pub of_type: Type,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    pub instructions: Vec<Instruction>,
    pub end: End,
    pub end_at: Option<Location>,
}

/// How a block is left.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum End {
    Return(Option<Operand>),
    /// To one of these. `on` decides, if there is more than one; without it every one is possible, as after a call that may throw.
    Branch {
        on: Option<Operand>,
        targets: Vec<BlockId>,
    },
    /// By an exception that goes on to the caller.
    Resume,
    #[default]
    Unreachable,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instruction {
    pub result: Option<ValueId>,
    pub op: Op,
    pub at: Option<Location>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// A variable of the function's own: its address.
    Local {
        of_type: Type,
    },
    Load {
        from: Operand,
        is_atomic: bool,
    },
    Store {
        value: Operand,
        to: Operand,
        is_atomic: bool,
    },
    /// Reads and writes in one: atomicrmw, cmpxchg.
    Update {
        to: Operand,
        values: Vec<Operand>,
    },
    /// An address inside of what another address points to.
    Address {
        base: Operand,
        path: Vec<Step>,
    },
    /// The same bits, as another type.
    Cast(Operand),
    /// Of an `invoke` too; its block then ends with a branch. Of assembly: the callee is a constant, the signature `asm`.
    Call {
        callee: Operand,
        arguments: Vec<Operand>,
        signature: String,
    },
    Phi(Vec<(BlockId, Operand)>),
    /// Anything else that makes a value of others.
    Compute(Vec<Operand>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operand {
    Value(ValueId),
    Global(GlobalId),
    Function(FunctionId),
    /// A constant address inside of something.
    Inside(Box<Operand>, Vec<Step>),
    /// A whole number; null is 0, and true is 1.
    Number(i64),
    /// Other numbers, undefined values, and text for the compiler.
    Constant,
}

impl Operand {
    /// Whether it is the same for every run, and no address.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        matches!(self, Operand::Number(_) | Operand::Constant)
    }
}

/// A step of an address into what lies there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    Field {
        of: StructId,
        index: u32,
    },
    /// Of an array, or that far behind the pointer. The index, unless it is constant.
    Element(Option<Operand>),
}
