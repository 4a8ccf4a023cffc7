//! What one instruction does.

use super::error::Problem;
use super::lexer::Token;
use super::model::{Op, Operand, Step, Type};
use super::parser::Parser;
use super::types::{POINTER, Shape, TypeId, Types, VOID};

/// One instruction, taken apart.
pub(super) enum Parsed {
    Op(Op, TypeId),
    /// A call that ends its block with a branch.
    Invoke(Op, TypeId),
    End(Ends),
    /// Nothing that matters, with the type of a result that may be used.
    Nothing(TypeId),
    Unknown,
}

/// An end whose targets are the labels in the rest of the instruction.
pub(super) enum Ends {
    Return(Option<Operand>),
    Branch(Option<Operand>),
    Resume,
    Unreachable,
}

impl<'a> Parser<'a> {
    fn skip_words(&mut self) {
        while matches!(self.lexer.peek(), Token::Word(_)) && !Types::begin(self.lexer.peek()) {
            self.lexer.take();
        }
    }

    /// `TYPE VALUE, TYPE VALUE, ...`, as far as it goes on like that.
    fn typed_values(&mut self) -> Result<(TypeId, Vec<Operand>), Problem> {
        self.skip_words();
        let (first, value) = self.typed_value()?;
        let mut values = vec![value];
        while self.lexer.peek() == Token::Mark(b',') {
            self.lexer.take();
            if !Types::begin(self.lexer.peek()) {
                break;
            }
            values.push(self.typed_value()?.1);
        }
        Ok((first, values))
    }

    fn conversion(&mut self) -> Result<(Operand, TypeId), Problem> {
        self.skip_words();
        let value = self.typed_value()?.1;
        if !self.lexer.take_word("to") {
            return Err(self.lexer.expected("'to'"));
        }
        Ok((value, self.types.parse(&mut self.lexer)?))
    }

    pub fn operation(&mut self, opcode: &'a str) -> Result<Parsed, Problem> {
        Ok(match opcode {
            "alloca" => {
                self.skip_words();
                let of_type = self.types.parse(&mut self.lexer)?;
                let mut model = self.types.model(of_type);
                if self.lexer.peek() == Token::Mark(b',') {
                    self.lexer.take();
                    // A number of elements, not yet the alignment.
                    if Types::begin(self.lexer.peek()) {
                        self.typed_value()?;
                        model = Type::Array(Box::new(model));
                    }
                }
                Parsed::Op(Op::Local { of_type: model }, POINTER)
            }
            "load" => {
                let is_atomic = self.is_atomic();
                let of_type = self.types.parse(&mut self.lexer)?;
                self.lexer.expect_mark(b',')?;
                let from = self.typed_value()?.1;
                let from = self.accessed(from, of_type);
                Parsed::Op(Op::Load { from, is_atomic }, of_type)
            }
            "store" => {
                let is_atomic = self.is_atomic();
                let (of_type, value) = self.typed_value()?;
                self.lexer.expect_mark(b',')?;
                let to = self.typed_value()?.1;
                let to = self.accessed(to, of_type);
                Parsed::Op(Op::Store { value, to, is_atomic }, VOID)
            }
            "atomicrmw" | "cmpxchg" => {
                self.skip_words();
                let to = self.typed_value()?.1;
                self.lexer.expect_mark(b',')?;
                let (of_type, values) = self.typed_values()?;
                let to = self.accessed(to, of_type);
                Parsed::Op(Op::Update { to, values }, of_type)
            }
            "getelementptr" => self.address()?,
            "bitcast" | "addrspacecast" | "inttoptr" | "ptrtoint" => {
                let (value, to) = self.conversion()?;
                Parsed::Op(Op::Cast(value), to)
            }
            "freeze" => {
                let (of_type, value) = self.typed_value()?;
                Parsed::Op(Op::Cast(value), of_type)
            }
            "trunc" | "zext" | "sext" | "fptrunc" | "fpext" | "fptoui" | "fptosi" | "uitofp" | "sitofp" => {
                let (value, to) = self.conversion()?;
                Parsed::Op(Op::Compute(vec![value]), to)
            }
            "add" | "sub" | "mul" | "udiv" | "sdiv" | "urem" | "srem" | "shl" | "lshr" | "ashr" | "and" | "or"
            | "xor" | "fadd" | "fsub" | "fmul" | "fdiv" | "frem" | "icmp" | "fcmp" => {
                self.skip_words();
                let (of_type, left) = self.typed_value()?;
                self.lexer.expect_mark(b',')?;
                let right = self.value(of_type)?;
                Parsed::Op(Op::Compute(vec![left, right]), of_type)
            }
            "select" | "extractelement" | "insertelement" | "shufflevector" | "insertvalue" | "fneg" | "va_arg" => {
                let (of_type, values) = self.typed_values()?;
                Parsed::Op(Op::Compute(values), of_type)
            }
            "extractvalue" => {
                let (_, values) = self.typed_values()?;
                Parsed::Op(Op::Compute(values), VOID)
            }
            "landingpad" => {
                let of_type = self.types.parse(&mut self.lexer)?;
                Parsed::Op(Op::Compute(Vec::new()), of_type)
            }
            "phi" => self.phi()?,
            "tail" | "musttail" | "notail" => {
                if !self.lexer.take_word("call") {
                    return Err(self.lexer.expected("'call'"));
                }
                self.call()?
            }
            "call" => self.call()?,
            "invoke" | "callbr" => match self.call()? {
                Parsed::Op(op, of_type) => Parsed::Invoke(op, of_type),
                _ => Parsed::End(Ends::Branch(None)),
            },
            "fence" => Parsed::Nothing(VOID),
            "ret" => {
                let of_type = self.types.parse(&mut self.lexer)?;
                let value = if of_type == VOID { None } else { Some(self.value(of_type)?) };
                Parsed::End(Ends::Return(value))
            }
            "br" | "switch" | "indirectbr" => {
                let on = if self.lexer.peek() == Token::Word("label") { None } else { Some(self.typed_value()?.1) };
                Parsed::End(Ends::Branch(on))
            }
            "resume" => Parsed::End(Ends::Resume),
            "unreachable" => Parsed::End(Ends::Unreachable),
            _ => Parsed::Unknown,
        })
    }

    fn is_atomic(&mut self) -> bool {
        let is_atomic = self.lexer.take_word("atomic");
        self.lexer.take_word("volatile");
        is_atomic
    }

    /// From behind `getelementptr`.
    fn address(&mut self) -> Result<Parsed, Problem> {
        while let Token::Word(word) = self.lexer.peek()
            && !Types::begin(self.lexer.peek())
        {
            self.lexer.take();
            if word == "inrange" {
                self.lexer.skip_group()?;
            }
        }
        let mut at = self.types.parse(&mut self.lexer)?;
        self.lexer.expect_mark(b',')?;
        let base = self.typed_value()?.1;
        let mut path = Vec::new();
        let mut is_first = true;
        while self.lexer.peek() == Token::Mark(b',') {
            self.lexer.take();
            if !Types::begin(self.lexer.peek()) {
                break;
            }
            let line = self.lexer.line();
            let of_type = self.types.parse(&mut self.lexer)?;
            let number = match self.lexer.peek() {
                Token::Word(word) => word.parse::<u32>().ok(),
                _ => None,
            };
            let index = self.value(of_type)?;
            let element = Step::Element((!index.is_constant()).then_some(index));
            match self.types.shape(at) {
                _ if is_first => {
                    if number != Some(0) {
                        path.push(element);
                    }
                }
                Shape::Struct(of) => {
                    let fields = self.types.structs[*of as usize].fields.as_deref().unwrap_or_default();
                    let Some((index, field)) = number.and_then(|index| Some((index, fields.get(index as usize)?)))
                    else {
                        return Err(Problem { line, message: "expected a field that the struct has".to_owned() });
                    };
                    path.push(Step::Field { of: *of, index });
                    at = *field;
                }
                Shape::Array(_, inner) | Shape::Vector(_, inner) => {
                    path.push(element);
                    at = *inner;
                }
                _ => {
                    return Err(Problem {
                        line,
                        message: "expected no more indices: the type has no parts".to_owned(),
                    });
                }
            }
            is_first = false;
        }
        Ok(Parsed::Op(Op::Address { base, path }, POINTER))
    }

    fn phi(&mut self) -> Result<Parsed, Problem> {
        self.skip_words();
        let of_type = self.types.parse(&mut self.lexer)?;
        let mut values = Vec::new();
        loop {
            self.lexer.expect_mark(b'[')?;
            let value = self.value(of_type)?;
            self.lexer.expect_mark(b',')?;
            let line = self.lexer.line();
            let Token::Local(label) = self.lexer.peek() else { return Err(self.lexer.expected("a block")) };
            self.lexer.take();
            self.lexer.expect_mark(b']')?;
            values.push((self.locals.block(label, line), value));
            if self.lexer.peek() != Token::Mark(b',') {
                break;
            }
            self.lexer.take();
            if self.lexer.peek() != Token::Mark(b'[') {
                break;
            }
        }
        Ok(Parsed::Op(Op::Phi(values), of_type))
    }
}
