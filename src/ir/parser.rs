//! The outer lines of a module: types, variables, functions, and where metadata is.
//!
//! Everything outside of functions is one line each. A first pass reads those lines, so that every name is known when the
//! second one reads the functions' bodies; metadata is looked into only where it is used.

use super::call::leaves_calls;
use super::debug::Debug;
use super::error::Problem;
use super::function::Locals;
use super::lexer::{Lexer, Token, unquoted};
use super::model::{Function, FunctionId, Global, GlobalId, Module, Operand};
use super::structs;
use super::types::{TypeId, Types};
use rustc_hash::FxHashMap;

pub(super) struct Parser<'a> {
    text: &'a str,
    pub lexer: Lexer<'a>,
    pub types: Types<'a>,
    pub debug: Debug<'a>,
    pub module: Module,
    /// Beside [`Module::globals`].
    pub global_types: Vec<TypeId>,
    symbols: FxHashMap<&'a str, Symbol<'a>>,
    bodies: Vec<Body<'a>>,
    /// Names in the first values of variables.
    initials: Vec<(GlobalId, Vec<&'a str>)>,
    aliases: Vec<(&'a str, u32)>,
    /// Pairs of what is annotated and the variable with the text.
    annotations: Vec<(&'a str, &'a str)>,
    /// First values that are strings.
    texts: FxHashMap<&'a str, &'a str>,
    pub locals: Locals<'a>,
}

#[derive(Clone, Copy)]
enum Symbol<'a> {
    Global(GlobalId),
    Function(FunctionId),
    Alias(&'a str),
}

/// Its name, unless it has none but its number.
type Parameter<'a> = (Option<&'a str>, TypeId);

/// A function's instructions, to be read when all names are known.
pub(super) struct Body<'a> {
    pub function: FunctionId,
    pub parameters: Vec<Parameter<'a>>,
    start: usize,
    end: usize,
    pub line: u32,
}

/// Aliases of aliases: a longer chain goes in a circle.
const LONGEST_CHAIN: u32 = 100;

pub(super) fn parse(text: &str) -> Result<Module, Problem> {
    let mut parser = Parser {
        text,
        lexer: Lexer::new(text),
        types: Types::new(),
        debug: Debug::default(),
        module: Module::default(),
        global_types: Vec::new(),
        symbols: FxHashMap::default(),
        bodies: Vec::new(),
        initials: Vec::new(),
        aliases: Vec::new(),
        annotations: Vec::new(),
        texts: FxHashMap::default(),
        locals: Locals::default(),
    };
    parser.outer_lines()?;
    parser.settle_names()?;
    for body in std::mem::take(&mut parser.bodies) {
        parser.lexer.seek(body.start, body.end, body.line);
        parser.body(&body)?;
    }
    structs::name(&mut parser.types, &parser.debug, &mut parser.module);
    Ok(parser.module)
}

impl<'a> Parser<'a> {
    fn outer_lines(&mut self) -> Result<(), Problem> {
        let text = self.text;
        let (mut at, mut line) = (0, 1_u32);
        let mut is_ir = false;
        while at < text.len() {
            let end = line_end(text, at);
            let content = text[at..end].trim_ascii();
            let mut next = (end + 1, line + 1);
            let mut known = true;
            let word = content.split_ascii_whitespace().next().unwrap_or("");
            match (content.as_bytes().first(), word) {
                (None | Some(b';'), _) => known = false,
                (Some(b'!'), _) => self.metadata(content, line)?,
                (Some(b'%'), _) => {
                    self.lexer.seek(at, end, line);
                    self.struct_type()?;
                }
                (Some(b'@'), _) => {
                    self.lexer.seek(at, end, line);
                    self.variable()?;
                }
                (_, "define") => next = self.definition(at, line)?,
                (_, "declare") => {
                    self.lexer.seek(at, end, line);
                    self.lexer.take();
                    self.header(line)?;
                }
                (_, "source_filename") => {
                    self.lexer.seek(at, end, line);
                    self.lexer.take();
                    self.lexer.expect_mark(b'=')?;
                    let Token::Text(name) = self.lexer.take() else {
                        return Err(Problem { line, message: "expected the name of a file in quotes".to_owned() });
                    };
                    self.module.source = unquoted(name).into_owned();
                }
                (_, "target" | "attributes" | "module") | (Some(b'$' | b'^'), _) => {}
                (Some(first), _) if first.is_ascii_lowercase() && !text[at..].starts_with([' ', '\t']) => known = false,
                _ => {
                    self.lexer.seek(at, end, line);
                    return Err(self.lexer.expected("a type, a variable, a function or metadata"));
                }
            }
            is_ir |= known;
            (at, line) = next;
        }
        if !is_ir {
            self.lexer.seek(0, text.len(), 1);
            return Err(self.lexer.expected("LLVM IR"));
        }
        Ok(())
    }

    fn metadata(&mut self, content: &'a str, line: u32) -> Result<(), Problem> {
        let broken = |what: &str| Problem { line, message: format!("expected {what}") };
        let Some((name, value)) = content[1..].split_once(" = ") else {
            return Err(broken("'=' after metadata's name"));
        };
        // Named metadata lists what nothing else here needs.
        if let Ok(id) = name.parse() {
            if !value.ends_with(['}', ')']) {
                return Err(broken("metadata that ends with ')' or '}'; the line is cut short"));
            }
            self.debug.metadata.add(id, value);
        }
        Ok(())
    }

    fn struct_type(&mut self) -> Result<(), Problem> {
        let Token::Local(name) = self.lexer.take() else { return Err(self.lexer.expected("a type's name")) };
        self.lexer.expect_mark(b'=')?;
        self.types.define(&mut self.lexer, name)
    }

    /// `@name = [linkage ...] global|constant|alias|ifunc TYPE ...`
    fn variable(&mut self) -> Result<(), Problem> {
        let line = self.lexer.line();
        let Token::Global(name) = self.lexer.take() else { return Err(self.lexer.expected("a variable's name")) };
        self.lexer.expect_mark(b'=')?;
        let mut global = Global { name: unquoted(name).into_owned(), ..Global::default() };
        loop {
            match self.lexer.peek() {
                Token::Word("internal" | "private") => global.is_internal = true,
                Token::Word("thread_local") => global.is_thread_local = true,
                Token::Word("global") => break,
                Token::Word("constant") => {
                    global.is_constant = true;
                    break;
                }
                Token::Word(kind @ ("alias" | "ifunc")) => {
                    self.lexer.take();
                    return self.other_name(name, kind == "ifunc", line);
                }
                Token::Word(_) => {}
                Token::Mark(b'(') => {
                    self.lexer.skip_group()?;
                    continue;
                }
                _ => return Err(self.lexer.expected("'global' or 'constant'")),
            }
            self.lexer.take();
        }
        self.lexer.take();
        let of_type = self.types.parse(&mut self.lexer)?;
        global.of_type = self.types.model(of_type);
        if name == "llvm.global.annotations" {
            return self.annotated();
        }
        let mut names = Vec::new();
        loop {
            match self.lexer.take() {
                Token::End => break,
                Token::Word("c") => {
                    if let Token::Text(text) = self.lexer.peek() {
                        self.texts.insert(name, text);
                    }
                }
                Token::Word("blockaddress") => self.lexer.skip_group()?,
                Token::Global(name) => names.push(name),
                Token::Metadata("dbg") => {
                    if let Some(id) = self.metadata_reference()? {
                        self.debug.waiting_globals.push((self.module.globals.len() as GlobalId, id, line));
                    }
                }
                _ => {}
            }
        }
        // These only keep others from being left out.
        if matches!(name, "llvm.used" | "llvm.compiler.used") {
            return Ok(());
        }
        let id = self.module.globals.len() as GlobalId;
        self.symbols.insert(name, Symbol::Global(id));
        self.module.globals.push(global);
        self.global_types.push(of_type);
        if !names.is_empty() {
            self.initials.push((id, names));
        }
        Ok(())
    }

    /// `!12`, if that is next.
    pub fn metadata_reference(&mut self) -> Result<Option<u32>, Problem> {
        let Token::Metadata(digits) = self.lexer.peek() else { return Err(self.lexer.expected("metadata")) };
        self.lexer.take();
        Ok(digits.parse().ok())
    }

    /// An alias is what it names; what an ifunc is, is known only when the program runs.
    fn other_name(&mut self, name: &'a str, is_ifunc: bool, line: u32) -> Result<(), Problem> {
        let of_type = self.types.parse(&mut self.lexer)?;
        if is_ifunc {
            let function = Function {
                name: unquoted(name).into_owned(),
                signature: self.types.text(of_type),
                ..Function::default()
            };
            self.symbols.insert(name, Symbol::Function(self.module.functions.len() as FunctionId));
            self.module.functions.push(function);
            return Ok(());
        }
        loop {
            match self.lexer.take() {
                Token::Global(target) => {
                    self.symbols.insert(name, Symbol::Alias(target));
                    self.aliases.push((name, line));
                    return Ok(());
                }
                Token::End => return Err(self.lexer.expected("what the alias stands for")),
                _ => {}
            }
        }
    }

    /// `[{ ... } { ptr @function, ptr @text, ... }, ...]`
    fn annotated(&mut self) -> Result<(), Problem> {
        let mut names = Vec::new();
        loop {
            match self.lexer.take() {
                Token::End => return Ok(()),
                Token::Mark(b'{') => names.clear(),
                Token::Mark(b'}') if names.len() > 1 => self.annotations.push((names[0], names[1])),
                Token::Global(name) => names.push(name),
                _ => {}
            }
        }
    }

    /// A function with its body, which is skipped. Gives where to go on, and the line there.
    fn definition(&mut self, at: usize, line: u32) -> Result<(usize, u32), Problem> {
        let text = self.text;
        self.lexer.seek(at, text.len(), line);
        self.lexer.take();
        let (function, parameters) = self.header(line)?;
        if self.lexer.peek() != Token::Mark(b'{') {
            return Err(self.lexer.expected("'{'"));
        }
        let start = self.lexer.offset() + 1;
        let first_line = self.lexer.line();
        let mut at = line_end(text, start) + 1;
        let mut inner = first_line + 1;
        while at < text.len() {
            let end = line_end(text, at);
            match text.as_bytes()[at] {
                b'}' => {
                    self.bodies.push(Body { function, parameters, start, end: at, line: first_line });
                    return Ok((end + 1, inner + 1));
                }
                b'd' if text[at..].starts_with("define ") => break,
                _ => {}
            }
            (at, inner) = (end + 1, inner + 1);
        }
        let name = &self.module.functions[function as usize].name;
        let found = if at < text.len() { "another function" } else { "the end" };
        Err(Problem { line: inner, message: format!("expected '}}' after function '{name}', found {found}") })
    }

    /// `[linkage ...] TYPE @name(parameters) ...`, up to the end of the line or a brace.
    fn header(&mut self, line: u32) -> Result<(FunctionId, Vec<Parameter<'a>>), Problem> {
        let mut is_internal = false;
        let mut described = None;
        loop {
            match self.lexer.peek() {
                Token::Word("internal" | "private") => is_internal = true,
                Token::Metadata("dbg") => {
                    self.lexer.take();
                    described = self.metadata_reference()?;
                    continue;
                }
                _ => {}
            }
            if !self.attribute()? {
                break;
            }
        }
        let result = self.types.parse(&mut self.lexer)?;
        let Token::Global(name) = self.lexer.peek() else { return Err(self.lexer.expected("a function's name")) };
        self.lexer.take();
        self.lexer.expect_mark(b'(')?;
        let mut parameters = Vec::new();
        let mut variadic = false;
        while !self.lexer.take_mark(b')') {
            if self.lexer.take_word("...") {
                variadic = true;
            } else {
                let of_type = self.types.parse(&mut self.lexer)?;
                while self.attribute()? {}
                let mut own = None;
                if let Token::Local(name) = self.lexer.peek() {
                    own = Some(name);
                    self.lexer.take();
                }
                parameters.push((own, of_type));
            }
            if !self.lexer.take_mark(b',') && self.lexer.peek() != Token::Mark(b')') {
                return Err(self.lexer.expected("',' or ')'"));
            }
        }
        while self.lexer.line() == line && !matches!(self.lexer.peek(), Token::End | Token::Mark(b'{')) {
            match self.lexer.take() {
                Token::Metadata("dbg") => described = self.metadata_reference()?,
                // Data before or in the code: a type and a value, of which both can be in braces.
                Token::Word("prefix" | "prologue") => {
                    self.lexer.skip_group()?;
                    self.lexer.skip_group()?;
                }
                _ => {}
            }
        }
        let types = parameters.iter().map(|(_, of_type)| *of_type).collect();
        let signature = self.types.function(result, types, variadic);
        let id = self.module.functions.len() as FunctionId;
        if !leaves_calls(name) {
            return Ok((id, parameters));
        }
        self.module.functions.push(Function {
            name: unquoted(name).into_owned(),
            is_internal,
            signature: self.types.text(signature),
            ..Function::default()
        });
        self.symbols.insert(name, Symbol::Function(id));
        if let Some(node) = described {
            self.debug.waiting_functions.push((id, node, line));
        }
        Ok((id, parameters))
    }

    /// Skips one attribute before a type or a name. Those that are not known are skipped like all others.
    pub fn attribute(&mut self) -> Result<bool, Problem> {
        match self.lexer.peek() {
            Token::Text(_) => {
                self.lexer.take();
                if self.lexer.take_mark(b'=') {
                    self.lexer.take();
                }
                Ok(true)
            }
            Token::Hash(_) => {
                self.lexer.take();
                Ok(true)
            }
            Token::Word(word) if !Types::begin(self.lexer.peek()) && word != "asm" => {
                self.lexer.take();
                match self.lexer.peek() {
                    Token::Mark(b'(') => self.lexer.skip_group()?,
                    // Not so 'noundef 8', whose number is a value.
                    Token::Word(_) if matches!(word, "align" | "cc" | "alignstack") => _ = self.lexer.take(),
                    _ => {}
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Names that could stand before what they name.
    fn settle_names(&mut self) -> Result<(), Problem> {
        for (name, line) in std::mem::take(&mut self.aliases) {
            match self.symbol(name) {
                Some(Operand::Function(id)) => self.module.aliases.push((unquoted(name).into_owned(), id)),
                Some(_) => {}
                None => {
                    return Err(Problem {
                        line,
                        message: format!("expected @{name} to stand for a function or a variable"),
                    });
                }
            }
        }
        for (id, names) in std::mem::take(&mut self.initials) {
            let functions = names.into_iter().filter_map(|name| match self.symbol(name) {
                Some(Operand::Function(id)) => Some(id),
                _ => None,
            });
            self.module.globals[id as usize].functions = functions.collect();
        }
        for (name, text) in std::mem::take(&mut self.annotations) {
            if let (Some(Operand::Function(id)), Some(text)) = (self.symbol(name), self.texts.get(text)) {
                self.module.annotations.push((id, unquoted(text).trim_end_matches('\0').to_owned()));
            }
        }
        self.debug.name_outer(&mut self.module)
    }

    /// What `@name` is.
    pub fn symbol(&self, mut name: &'a str) -> Option<Operand> {
        for _ in 0..LONGEST_CHAIN {
            match self.symbols.get(name)? {
                Symbol::Global(id) => return Some(Operand::Global(*id)),
                Symbol::Function(id) => return Some(Operand::Function(*id)),
                Symbol::Alias(target) => name = target,
            }
        }
        None
    }
}

fn line_end(text: &str, at: usize) -> usize {
    let Some(rest) = text.get(at..) else { return text.len() };
    rest.find('\n').map_or(text.len(), |length| at + length)
}
