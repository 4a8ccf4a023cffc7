//! Calls, and what the compiler itself provides.

use super::error::Problem;
use super::instruction::Parsed;
use super::lexer::Token;
use super::model::{Op, Operand};
use super::parser::Parser;
use super::types::{Shape, TypeId, VOID};

impl Parser<'_> {
    /// From behind `call` or `invoke`.
    pub fn call(&mut self) -> Result<Parsed, Problem> {
        while self.attribute()? {}
        let given = self.types.parse(&mut self.lexer)?;
        if self.lexer.take_word("asm") {
            return self.assembly(given);
        }
        let mut name = None;
        let callee = if let Token::Global(global) = self.lexer.peek() {
            name = global.strip_prefix("llvm.");
            if let Some(name) = name {
                self.lexer.take();
                if let Some(kind) = name.strip_prefix("dbg.") {
                    self.lexer.expect_mark(b'(')?;
                    self.variable_arguments(kind)?;
                    return Ok(Parsed::Nothing(VOID));
                }
                // Intrinsics need no declaration to be known.
                self.symbol(global).unwrap_or(Operand::Constant)
            } else {
                self.value(given)?
            }
        } else {
            self.value(given)?
        };
        let (types, arguments) = self.arguments()?;
        let (result, signature) = match self.types.shape(given) {
            Shape::Function(result, ..) => (*result, given),
            _ => (given, self.types.function(given, types, false)),
        };
        Ok(match name.map(intrinsic) {
            Some(Intrinsic::Nothing) if result == VOID => Parsed::Nothing(VOID),
            Some(Intrinsic::Nothing) => Parsed::Op(Op::Compute(Vec::new()), result),
            Some(Intrinsic::Same) if !arguments.is_empty() => {
                Parsed::Op(Op::Cast(arguments.into_iter().next().unwrap_or(Operand::Constant)), result)
            }
            Some(Intrinsic::Compute) => Parsed::Op(Op::Compute(arguments), result),
            _ => Parsed::Op(Op::Call { callee, arguments, signature: self.types.text(signature) }, result),
        })
    }

    /// `(TYPE VALUE, ...)`
    fn arguments(&mut self) -> Result<(Vec<TypeId>, Vec<Operand>), Problem> {
        self.lexer.expect_mark(b'(')?;
        let (mut types, mut arguments) = (Vec::new(), Vec::new());
        while !self.lexer.take_mark(b')') {
            let (of_type, value) = self.typed_value()?;
            types.push(of_type);
            arguments.push(value);
            if !self.lexer.take_mark(b',') && self.lexer.peek() != Token::Mark(b')') {
                return Err(self.lexer.expected("',' or ')'"));
            }
        }
        Ok((types, arguments))
    }

    /// What assembly does is not known: a call of something that has no name.
    fn assembly(&mut self, given: TypeId) -> Result<Parsed, Problem> {
        while matches!(self.lexer.peek(), Token::Word(_) | Token::Text(_) | Token::Mark(b',')) {
            self.lexer.take();
        }
        let arguments = self.arguments()?.1;
        let result = match self.types.shape(given) {
            Shape::Function(result, ..) => *result,
            _ => given,
        };
        Ok(Parsed::Op(Op::Call { callee: Operand::Constant, arguments, signature: "asm".to_owned() }, result))
    }
}

/// What becomes of a call of something that the compiler itself provides.
enum Intrinsic {
    /// Without effect on values.
    Nothing,
    /// Its first argument.
    Same,
    Compute,
    Call,
}

/// Whether calls of a function stay calls.
pub(super) fn leaves_calls(name: &str) -> bool {
    name.strip_prefix("llvm.")
        .is_none_or(|name| !name.starts_with("dbg.") && matches!(intrinsic(name), Intrinsic::Call))
}

fn intrinsic(name: &str) -> Intrinsic {
    let begins = |prefixes: &[&str]| {
        prefixes
            .iter()
            .any(|prefix| name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    };
    if begins(&[
        "lifetime",
        "assume",
        "donothing",
        "invariant",
        "experimental.noalias.scope.decl",
        "stacksave",
        "stackrestore",
        "prefetch",
        "sideeffect",
        "pseudoprobe",
        "var.annotation",
        "codeview.annotation",
        "fake.use",
    ]) {
        Intrinsic::Nothing
    } else if begins(&[
        "expect",
        "launder.invariant.group",
        "strip.invariant.group",
        "ptr.annotation",
        "annotation",
        "ssa.copy",
        "threadlocal.address",
        "preserve.array.access.index",
        "preserve.struct.access.index",
    ]) {
        Intrinsic::Same
    } else if begins(&[
        "abs",
        "smax",
        "smin",
        "umax",
        "umin",
        "scmp",
        "ucmp",
        "uadd",
        "usub",
        "umul",
        "sadd",
        "ssub",
        "smul",
        "ushl",
        "sshl",
        "ctlz",
        "cttz",
        "ctpop",
        "bswap",
        "bitreverse",
        "fshl",
        "fshr",
        "fabs",
        "sqrt",
        "pow",
        "powi",
        "sin",
        "cos",
        "tan",
        "exp",
        "exp2",
        "exp10",
        "log",
        "log2",
        "log10",
        "fma",
        "fmuladd",
        "floor",
        "ceil",
        "trunc",
        "rint",
        "nearbyint",
        "round",
        "roundeven",
        "lround",
        "llround",
        "lrint",
        "llrint",
        "copysign",
        "minnum",
        "maxnum",
        "minimum",
        "maximum",
        "canonicalize",
        "is.fpclass",
        "is.constant",
        "objectsize",
        "vector.reduce",
        "eh.typeid.for",
        "frameaddress",
        "returnaddress",
        "addressofreturnaddress",
        "convert",
        "ldexp",
        "frexp",
    ]) {
        Intrinsic::Compute
    } else {
        Intrinsic::Call
    }
}
