//! The types of a module, each kept once, and how they lie in memory.

use super::error::Problem;
use super::lexer::{Lexer, Token, unquoted};
use super::model;
use super::model::StructId;
use rustc_hash::FxHashMap;
use std::fmt::Write as _;

/// By its place in [`Types::shapes`].
pub(super) type TypeId = u32;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Shape {
    /// All pointers are alike, whether the IR says what they point to or not.
    Pointer,
    Void,
    Integer(u32),
    /// Floating point numbers and types of the compiler's own, by name.
    Named(Box<str>),
    Array(u64, TypeId),
    Vector(u64, TypeId),
    Struct(StructId),
    Function(TypeId, Box<[TypeId]>, bool),
}

pub(super) struct StructType {
    pub name: String,
    /// `None` for what is only declared.
    pub fields: Option<Box<[TypeId]>>,
    packed: bool,
}

/// Bytes that a type takes, and what its address is a multiple of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Layout {
    size: u64,
    align: u64,
}

#[derive(Default)]
pub(super) struct Types<'a> {
    shapes: Vec<Shape>,
    known: FxHashMap<Shape, TypeId>,
    pub structs: Vec<StructType>,
    by_name: FxHashMap<&'a str, StructId>,
    literals: FxHashMap<(Box<[TypeId]>, bool), StructId>,
    /// Of structs that were asked for.
    layouts: FxHashMap<StructId, Option<Layout>>,
}

/// Types in types, and structs in structs: deeper nesting is no program.
const DEEPEST: u32 = 100;

pub(super) const POINTER: TypeId = 0;
pub(super) const VOID: TypeId = 1;

impl<'a> Types<'a> {
    pub fn new() -> Types<'a> {
        let mut types = Types::default();
        types.kept(Shape::Pointer);
        types.kept(Shape::Void);
        types
    }

    fn kept(&mut self, shape: Shape) -> TypeId {
        if let Some(id) = self.known.get(&shape) {
            return *id;
        }
        let id = self.shapes.len() as TypeId;
        self.shapes.push(shape.clone());
        self.known.insert(shape, id);
        id
    }

    pub fn shape(&self, id: TypeId) -> &Shape {
        &self.shapes[id as usize]
    }

    pub fn function(&mut self, result: TypeId, parameters: Vec<TypeId>, variadic: bool) -> TypeId {
        self.kept(Shape::Function(result, parameters.into(), variadic))
    }

    fn named_struct(&mut self, name: &'a str) -> StructId {
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        let id = self.structs.len() as StructId;
        self.structs.push(StructType { name: unquoted(name).into_owned(), fields: None, packed: false });
        self.by_name.insert(name, id);
        id
    }

    /// `%name = type { ... }`, from behind the `=`.
    pub fn define(&mut self, lexer: &mut Lexer<'a>, name: &'a str) -> Result<(), Problem> {
        if !lexer.take_word("type") {
            return Err(lexer.expected("'type'"));
        }
        let id = self.named_struct(name);
        if lexer.take_word("opaque") {
            return Ok(());
        }
        let body = self.parse(lexer)?;
        if let Shape::Struct(body) = self.shapes[body as usize]
            && body != id
        {
            let body = &self.structs[body as usize];
            let (fields, packed) = (body.fields.clone(), body.packed);
            let own = &mut self.structs[id as usize];
            (own.fields, own.packed) = (fields, packed);
        }
        Ok(())
    }

    /// Whether a type begins with this.
    pub fn begin(token: Token) -> bool {
        match token {
            Token::Local(_) | Token::Mark(b'{' | b'[' | b'<') => true,
            Token::Word(word) => {
                integer(word).is_some()
                    || matches!(
                        word,
                        "ptr"
                            | "void"
                            | "half"
                            | "bfloat"
                            | "float"
                            | "double"
                            | "fp128"
                            | "x86_fp80"
                            | "ppc_fp128"
                            | "x86_mmx"
                            | "x86_amx"
                            | "label"
                            | "metadata"
                            | "token"
                            | "target"
                    )
            }
            _ => false,
        }
    }

    pub fn parse(&mut self, lexer: &mut Lexer<'a>) -> Result<TypeId, Problem> {
        self.parse_inside(lexer, 0)
    }

    fn parse_inside(&mut self, lexer: &mut Lexer<'a>, depth: u32) -> Result<TypeId, Problem> {
        if depth > DEEPEST {
            return Err(lexer.problem(format!("types are nested more than {DEEPEST} deep here")));
        }
        if !Types::begin(lexer.peek()) {
            return Err(lexer.expected("a type"));
        }
        let mut id = match lexer.take() {
            Token::Word("ptr") => POINTER,
            Token::Word("void") => VOID,
            Token::Word(word) => {
                if word == "target" {
                    lexer.skip_group()?;
                }
                match integer(word) {
                    Some(bits) => self.kept(Shape::Integer(bits)),
                    None => self.kept(Shape::Named(word.into())),
                }
            }
            Token::Local(name) => {
                let id = self.named_struct(name);
                self.kept(Shape::Struct(id))
            }
            Token::Mark(b'[') => {
                let (count, element) = self.elements(lexer, depth)?;
                lexer.expect_mark(b']')?;
                self.kept(Shape::Array(count, element))
            }
            Token::Mark(b'<') if lexer.take_mark(b'{') => {
                let id = self.fields(lexer, true, depth)?;
                lexer.expect_mark(b'>')?;
                id
            }
            Token::Mark(b'<') => {
                if lexer.take_word("vscale") {
                    lexer.take_word("x");
                }
                let (count, element) = self.elements(lexer, depth)?;
                lexer.expect_mark(b'>')?;
                self.kept(Shape::Vector(count, element))
            }
            _ => self.fields(lexer, false, depth)?,
        };
        loop {
            match lexer.peek() {
                Token::Mark(b'*') => {
                    lexer.take();
                    id = POINTER;
                }
                Token::Word("addrspace") => {
                    lexer.take();
                    lexer.skip_group()?;
                }
                Token::Mark(b'(') => {
                    lexer.take();
                    let mut parameters = Vec::new();
                    let mut variadic = false;
                    while !lexer.take_mark(b')') {
                        if lexer.take_word("...") {
                            variadic = true;
                        } else {
                            parameters.push(self.parse_inside(lexer, depth + 1)?);
                        }
                        if !lexer.take_mark(b',') && lexer.peek() != Token::Mark(b')') {
                            return Err(lexer.expected("',' or ')'"));
                        }
                    }
                    id = self.function(id, parameters, variadic);
                }
                _ => return Ok(id),
            }
        }
    }

    /// `4 x i32`
    fn elements(&mut self, lexer: &mut Lexer<'a>, depth: u32) -> Result<(u64, TypeId), Problem> {
        let Token::Word(word) = lexer.peek() else { return Err(lexer.expected("a number of elements")) };
        let Ok(count) = word.parse() else { return Err(lexer.expected("a number of elements")) };
        lexer.take();
        if !lexer.take_word("x") {
            return Err(lexer.expected("'x'"));
        }
        Ok((count, self.parse_inside(lexer, depth + 1)?))
    }

    /// From behind the `{`.
    fn fields(&mut self, lexer: &mut Lexer<'a>, packed: bool, depth: u32) -> Result<TypeId, Problem> {
        let mut fields = Vec::new();
        while !lexer.take_mark(b'}') {
            fields.push(self.parse_inside(lexer, depth + 1)?);
            if !lexer.take_mark(b',') && lexer.peek() != Token::Mark(b'}') {
                return Err(lexer.expected("',' or '}'"));
            }
        }
        let key = (fields.into_boxed_slice(), packed);
        if let Some(id) = self.literals.get(&key) {
            return Ok(self.kept(Shape::Struct(*id)));
        }
        let id = self.structs.len() as StructId;
        self.structs.push(StructType { name: String::new(), fields: Some(key.0.clone()), packed });
        self.literals.insert(key, id);
        Ok(self.kept(Shape::Struct(id)))
    }

    pub fn model(&self, id: TypeId) -> model::Type {
        match self.shape(id) {
            Shape::Pointer => model::Type::Pointer,
            Shape::Void => model::Type::Void,
            Shape::Integer(_) | Shape::Named(_) => model::Type::Scalar,
            Shape::Array(_, element) | Shape::Vector(_, element) => model::Type::Array(Box::new(self.model(*element))),
            Shape::Struct(id) => model::Type::Struct(*id),
            Shape::Function(..) => model::Type::Function,
        }
    }

    /// A text in which types are alike exactly if they are alike.
    pub fn text(&self, id: TypeId) -> String {
        let mut text = String::new();
        self.write(id, &mut text, 0);
        text
    }

    fn write(&self, id: TypeId, into: &mut String, depth: u32) {
        let list = |items: &[TypeId], into: &mut String| {
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    into.push_str(", ");
                }
                self.write(*item, into, depth + 1);
            }
        };
        match self.shape(id) {
            _ if depth > DEEPEST => into.push('…'),
            Shape::Pointer => into.push_str("ptr"),
            Shape::Void => into.push_str("void"),
            Shape::Named(name) => into.push_str(name),
            Shape::Integer(bits) => _ = write!(into, "i{bits}"),
            Shape::Array(count, element) => {
                let _ = write!(into, "[{count} x ");
                self.write(*element, into, depth + 1);
                into.push(']');
            }
            Shape::Vector(count, element) => {
                let _ = write!(into, "<{count} x ");
                self.write(*element, into, depth + 1);
                into.push('>');
            }
            Shape::Struct(id) => match &self.structs[*id as usize] {
                StructType { name, fields: Some(fields), .. } if name.is_empty() => {
                    into.push_str("{ ");
                    list(fields, into);
                    into.push_str(" }");
                }
                StructType { name, .. } => {
                    into.push('%');
                    into.push_str(name);
                }
            },
            Shape::Function(result, parameters, variadic) => {
                self.write(*result, into, depth + 1);
                into.push_str(" (");
                list(parameters, into);
                if *variadic {
                    into.push_str(if parameters.is_empty() { "..." } else { ", ..." });
                }
                into.push(')');
            }
        }
    }

    /// How many bytes a value of the type takes with its padding, if that is known.
    pub fn size(&mut self, id: TypeId) -> Option<u64> {
        self.layout(id, 0).map(|layout| layout.size)
    }

    pub fn struct_size(&mut self, id: StructId) -> Option<u64> {
        self.struct_layout(id, 0).map(|layout| layout.size)
    }

    /// Where the fields of a struct begin, in bytes.
    pub fn offsets(&mut self, id: StructId) -> Option<Vec<u64>> {
        let StructType { fields, packed, .. } = &self.structs[id as usize];
        let (fields, packed) = (fields.clone()?, *packed);
        let mut at = 0_u64;
        let mut offsets = Vec::with_capacity(fields.len());
        for field in &fields {
            let layout = self.layout(*field, 1)?;
            if !packed {
                at = at.checked_next_multiple_of(layout.align)?;
            }
            offsets.push(at);
            at = at.checked_add(layout.size)?;
        }
        Some(offsets)
    }

    /// As on x86-64, the only processor that avmon knows.
    fn layout(&mut self, id: TypeId, depth: u32) -> Option<Layout> {
        if depth > DEEPEST {
            return None;
        }
        Some(match self.shape(id) {
            Shape::Pointer => Layout { size: 8, align: 8 },
            Shape::Void | Shape::Function(..) => return None,
            Shape::Integer(bits) => {
                let align = u64::from(bits.div_ceil(8)).next_power_of_two().clamp(1, 16);
                Layout { size: u64::from(bits.div_ceil(8)).next_multiple_of(align), align }
            }
            Shape::Named(name) => {
                let size = match &**name {
                    "half" | "bfloat" => 2,
                    "float" => 4,
                    "double" | "x86_mmx" => 8,
                    "x86_fp80" | "fp128" | "ppc_fp128" => 16,
                    _ => return None,
                };
                Layout { size, align: size }
            }
            Shape::Array(count, element) => {
                let (count, element) = (*count, *element);
                let element = self.layout(element, depth + 1)?;
                Layout { size: element.size.checked_mul(count)?, ..element }
            }
            Shape::Vector(count, element) => {
                let (count, element) = (*count, *element);
                let bytes = match self.shape(element) {
                    Shape::Integer(bits) => u64::from(*bits).checked_mul(count)?.div_ceil(8),
                    _ => self.layout(element, depth + 1)?.size.checked_mul(count)?,
                };
                let size = bytes.max(1).checked_next_power_of_two()?;
                Layout { size, align: size }
            }
            Shape::Struct(id) => return self.struct_layout(*id, depth),
        })
    }

    fn struct_layout(&mut self, id: StructId, depth: u32) -> Option<Layout> {
        if let Some(known) = self.layouts.get(&id) {
            return *known;
        }
        // A struct that has itself as a field has no size.
        self.layouts.insert(id, None);
        let StructType { fields, packed, .. } = &self.structs[id as usize];
        let (fields, packed) = (fields.clone()?, *packed);
        let mut whole = Layout { size: 0, align: 1 };
        for field in &fields {
            let layout = self.layout(*field, depth + 1)?;
            if !packed {
                whole.align = whole.align.max(layout.align);
                whole.size = whole.size.checked_next_multiple_of(layout.align)?;
            }
            whole.size = whole.size.checked_add(layout.size)?;
        }
        whole.size = whole.size.checked_next_multiple_of(whole.align)?;
        self.layouts.insert(id, Some(whole));
        Some(whole)
    }
}

/// The width of `i32`.
fn integer(word: &str) -> Option<u32> {
    let digits = word.strip_prefix('i')?;
    // Wider ones do not exist in the language.
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        digits.parse().ok().filter(|bits| *bits < 1 << 24)
    } else {
        None
    }
}
