//! Values as they are named in instructions, and constant addresses.
//!
//! One address can be written in many ways: with typed pointers the first member of a struct has a path of its own, with
//! opaque ones it is the struct's address, and newer compilers count bytes. So a constant address is first made bytes
//! behind a variable, then a path again: the shortest one that leads there, and for a load or store one that goes on into
//! first members until it fits the value.

use super::error::Problem;
use super::lexer::Token;
use super::model::{GlobalId, Operand, Step};
use super::parser::Parser;
use super::types::{Shape, TypeId, Types};

/// Expressions in expressions: deeper nesting is no program.
const DEEPEST: u32 = 100;

/// The whole number that a word is.
fn number(word: &str) -> Option<i64> {
    match word {
        "null" | "false" => Some(0),
        "true" => Some(1),
        _ => word.parse().ok(),
    }
}

/// An address: so many bytes behind something, if that is known.
struct Place {
    base: Operand,
    offset: Option<i128>,
}

impl From<Operand> for Place {
    fn from(base: Operand) -> Place {
        Place { base, offset: Some(0) }
    }
}

impl Parser<'_> {
    /// A value of a type that was just read.
    pub fn value(&mut self, of_type: TypeId) -> Result<Operand, Problem> {
        let place = self.place(of_type, 0)?;
        Ok(self.settled(place))
    }

    /// `TYPE VALUE`
    pub fn typed_value(&mut self) -> Result<(TypeId, Operand), Problem> {
        let of_type = self.types.parse(&mut self.lexer)?;
        while self.attribute_before_value()? {}
        Ok((of_type, self.value(of_type)?))
    }

    /// Skips `noundef`, `align 8` and the like, but no word that is a value or begins one.
    fn attribute_before_value(&mut self) -> Result<bool, Problem> {
        match self.lexer.peek() {
            Token::Word(word) if begins_value(word) => Ok(false),
            Token::Word(_) | Token::Text(_) => self.attribute(),
            _ => Ok(false),
        }
    }

    fn place(&mut self, of_type: TypeId, depth: u32) -> Result<Place, Problem> {
        if depth > DEEPEST {
            return Err(self.lexer.problem(format!("expressions are nested more than {DEEPEST} deep here")));
        }
        if matches!(self.types.shape(of_type), Shape::Named(name) if &**name == "metadata") {
            return self.metadata_value(depth);
        }
        match self.lexer.peek() {
            Token::Local(name) => {
                let value = self.locals.value(name, self.lexer.line());
                self.lexer.take();
                Ok(Operand::Value(value).into())
            }
            Token::Global(name) => {
                let Some(operand) = self.symbol(name) else {
                    return Err(self.lexer.problem(format!("expected a declaration of '@{name}' in the file")));
                };
                self.lexer.take();
                Ok(operand.into())
            }
            Token::Mark(b'{') => self.parts(depth),
            Token::Mark(b'[' | b'<') => {
                self.lexer.skip_group()?;
                Ok(Operand::Constant.into())
            }
            Token::Word("getelementptr") => {
                self.lexer.take();
                self.constant_address(depth)
            }
            Token::Word("bitcast" | "addrspacecast" | "inttoptr" | "ptrtoint") => {
                self.lexer.take();
                self.lexer.expect_mark(b'(')?;
                let of_type = self.types.parse(&mut self.lexer)?;
                let place = self.place(of_type, depth + 1)?;
                if !self.lexer.take_word("to") {
                    return Err(self.lexer.expected("'to'"));
                }
                self.types.parse(&mut self.lexer)?;
                self.lexer.expect_mark(b')')?;
                Ok(place)
            }
            Token::Word("dso_local_equivalent" | "no_cfi") => {
                self.lexer.take();
                self.place(of_type, depth + 1)
            }
            Token::Word("c") => {
                self.lexer.take();
                self.lexer.take();
                Ok(Operand::Constant.into())
            }
            // Numbers, null and its like, and other expressions.
            Token::Word(word) => {
                self.lexer.take();
                if let Some(number) = number(word) {
                    return Ok(Operand::Number(number).into());
                }
                while let Token::Word(word) = self.lexer.peek()
                    && matches!(word, "nsw" | "nuw" | "exact" | "inbounds")
                {
                    self.lexer.take();
                }
                if self.lexer.peek() == Token::Mark(b'(') {
                    self.lexer.skip_group()?;
                }
                Ok(Operand::Constant.into())
            }
            _ => Err(self.lexer.expected("a value")),
        }
    }

    /// A constant of several parts. One whose first part is a function, as the address of a member is, stands for that.
    fn parts(&mut self, depth: u32) -> Result<Place, Problem> {
        let mut ahead = self.lexer.clone();
        ahead.skip_group()?;
        self.lexer.take();
        let mut first = Operand::Constant;
        if Types::begin(self.lexer.peek()) {
            let part = self.types.parse(&mut self.lexer)?;
            if matches!(self.lexer.peek(), Token::Word("ptrtoint")) {
                first = self.place(part, depth + 1)?.base;
            }
        }
        self.lexer = ahead;
        Ok(if let Operand::Function(_) = first { first } else { Operand::Constant }.into())
    }

    /// An argument for the compiler only.
    fn metadata_value(&mut self, depth: u32) -> Result<Place, Problem> {
        if Types::begin(self.lexer.peek()) {
            let of_type = self.types.parse(&mut self.lexer)?;
            self.place(of_type, depth + 1)?;
        } else {
            self.lexer.take();
            if matches!(self.lexer.peek(), Token::Text(_)) {
                self.lexer.take();
            } else if matches!(self.lexer.peek(), Token::Mark(b'(' | b'{')) {
                self.lexer.skip_group()?;
            }
        }
        Ok(Operand::Constant.into())
    }

    /// From behind `getelementptr`.
    fn constant_address(&mut self, depth: u32) -> Result<Place, Problem> {
        while let Token::Word(word) = self.lexer.peek() {
            self.lexer.take();
            if word == "inrange" {
                self.lexer.skip_group()?;
            }
        }
        self.lexer.expect_mark(b'(')?;
        let mut at = self.types.parse(&mut self.lexer)?;
        self.lexer.expect_mark(b',')?;
        let base_type = self.types.parse(&mut self.lexer)?;
        let Place { base, mut offset } = self.place(base_type, depth + 1)?;
        let mut is_first = true;
        while self.lexer.take_mark(b',') {
            if self.lexer.take_word("inrange") {
                self.lexer.skip_group()?;
            }
            let index_type = self.types.parse(&mut self.lexer)?;
            let index = match self.lexer.peek() {
                Token::Word(word) => word.parse::<i64>().ok(),
                _ => None,
            };
            self.place(index_type, depth + 1)?;
            let moved = self.moved(&mut at, index, is_first);
            offset = offset.zip(moved).map(|(offset, moved)| offset + moved);
            is_first = false;
        }
        self.lexer.expect_mark(b')')?;
        Ok(Place { base, offset })
    }

    /// How many bytes an index moves an address, and the type that lies there then.
    fn moved(&mut self, at: &mut TypeId, index: Option<i64>, is_first: bool) -> Option<i128> {
        let index = index?;
        let element = match self.types.shape(*at) {
            _ if is_first => *at,
            Shape::Struct(id) => {
                let id = *id;
                let field = usize::try_from(index).ok()?;
                let offset = *self.types.offsets(id)?.get(field)?;
                *at = *self.types.structs[id as usize].fields.as_ref()?.get(field)?;
                return Some(i128::from(offset));
            }
            Shape::Array(_, element) | Shape::Vector(_, element) => *element,
            _ => return None,
        };
        *at = element;
        // Bytes need no layout that might not be known.
        let size = if index == 0 { 0 } else { self.types.size(element)? };
        Some(i128::from(size) * i128::from(index))
    }

    fn settled(&mut self, place: Place) -> Operand {
        let Operand::Global(id) = place.base else { return place.base };
        let steps = match place.offset {
            Some(0) => return place.base,
            Some(offset) => u64::try_from(offset).ok().and_then(|offset| self.path_to(id, offset)),
            None => None,
        };
        // Somewhere, then.
        Operand::Inside(Box::new(place.base), steps.unwrap_or_else(|| vec![Step::Element(None)]))
    }

    /// The shortest path to a byte of a variable; `None` if it is outside.
    fn path_to(&mut self, id: GlobalId, mut offset: u64) -> Option<Vec<Step>> {
        let mut at = self.global_types[id as usize];
        if offset >= self.types.size(at)? {
            return None;
        }
        let mut steps = Vec::new();
        while offset > 0 {
            match self.types.shape(at) {
                Shape::Struct(of) => {
                    let of = *of;
                    let offsets = self.types.offsets(of)?;
                    let index = offsets.partition_point(|start| *start <= offset).checked_sub(1)?;
                    offset -= offsets[index];
                    at = self.types.structs[of as usize].fields.as_ref()?[index];
                    steps.push(Step::Field { of, index: index as u32 });
                }
                Shape::Array(_, element) | Shape::Vector(_, element) => {
                    at = *element;
                    offset %= self.types.size(at)?.max(1);
                    steps.push(Step::Element(None));
                }
                // The middle of a number, as of a bit field.
                _ => break,
            }
        }
        Some(steps)
    }

    /// The address from which a value of a type is read, or to which it is written.
    pub fn accessed(&mut self, address: Operand, of_type: TypeId) -> Operand {
        let (id, mut steps) = match address {
            Operand::Global(id) => (id, Vec::new()),
            Operand::Inside(base, steps) if matches!(*base, Operand::Global(_)) => {
                let Operand::Global(id) = *base else { unreachable!("it was just looked at") };
                (id, steps)
            }
            other => return other,
        };
        let mut at = self.global_types[id as usize];
        for step in &steps {
            match (self.types.shape(at), step) {
                (Shape::Struct(of), Step::Field { index, .. }) => {
                    let fields = self.types.structs[*of as usize].fields.as_ref();
                    let Some(field) = fields.and_then(|fields| fields.get(*index as usize)) else { break };
                    at = *field;
                }
                (Shape::Array(_, element) | Shape::Vector(_, element), Step::Element(_)) => at = *element,
                _ => break,
            }
        }
        let wanted = self.types.size(of_type);
        while at != of_type {
            let (step, inner) = match self.types.shape(at) {
                Shape::Struct(of) => {
                    let Some([first, ..]) = self.types.structs[*of as usize].fields.as_deref() else { break };
                    (Step::Field { of: *of, index: 0 }, *first)
                }
                Shape::Array(_, element) => (Step::Element(None), *element),
                _ => break,
            };
            // What is wider than the first member is the whole.
            if self.types.size(inner) < wanted {
                break;
            }
            at = inner;
            steps.push(step);
        }
        if steps.is_empty() { Operand::Global(id) } else { Operand::Inside(Box::new(Operand::Global(id)), steps) }
    }
}

/// Whether a word after a type is a value, rather than an attribute.
fn begins_value(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+')
        || matches!(
            word,
            "true"
                | "false"
                | "null"
                | "undef"
                | "poison"
                | "none"
                | "zeroinitializer"
                | "c"
                | "asm"
                | "getelementptr"
                | "bitcast"
                | "addrspacecast"
                | "inttoptr"
                | "ptrtoint"
                | "dso_local_equivalent"
                | "no_cfi"
                | "blockaddress"
                | "splat"
                | "ptrauth"
                | "trunc"
                | "zext"
                | "sext"
                | "add"
                | "sub"
                | "mul"
                | "shl"
                | "lshr"
                | "ashr"
                | "and"
                | "or"
                | "xor"
                | "icmp"
                | "fcmp"
                | "select"
                | "extractelement"
                | "insertelement"
                | "shufflevector"
                | "f0x"
                | "u0x"
                | "s0x"
        )
}
