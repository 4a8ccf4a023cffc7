//! The instructions of a function.

use super::error::Problem;
use super::instruction::{Ends, Parsed};
use super::lexer::Token;
use super::metadata::NodeId;
use super::model::{Block, BlockId, End, Instruction, Location, Op, Operand, Type, Value, ValueId};
use super::parser::{Body, Parser};
use super::reachable;
use super::types::VOID;
use rustc_hash::{FxHashMap, FxHashSet};

/// Names of the function that is being read. A use may stand before what it uses.
#[derive(Default)]
pub(super) struct Locals<'a> {
    names: FxHashMap<&'a str, ValueId>,
    pub values: Vec<Value>,
    /// Of values that are used but not yet defined.
    used: FxHashMap<ValueId, (&'a str, u32)>,
    labels: FxHashMap<&'a str, BlockId>,
    /// Blocks in the order of the file, by their ids while reading; those of blocks that are only named are not here.
    order: Vec<BlockId>,
    blocks: Vec<(Block, Option<(&'a str, u32)>)>,
    first_is_nameless: bool,
    /// Variables of the function that hold its parameters.
    pub parameter_variables: FxHashSet<ValueId>,
    /// Values whose variable has this type in the source.
    pub declared: Vec<(ValueId, NodeId)>,
}

impl<'a> Locals<'a> {
    pub fn value(&mut self, name: &'a str, line: u32) -> ValueId {
        if let Some(id) = self.names.get(name) {
            return *id;
        }
        let id = self.values.len() as ValueId;
        self.values.push(Value::default());
        self.names.insert(name, id);
        self.used.insert(id, (name, line));
        id
    }

    fn define(&mut self, name: &'a str, of_type: Type) -> ValueId {
        if let Some(id) = self.names.get(name) {
            self.used.remove(id);
            self.values[*id as usize].of_type = of_type;
            return *id;
        }
        let id = self.values.len() as ValueId;
        self.values.push(Value { source_name: None, of_type });
        self.names.insert(name, id);
        id
    }

    pub fn block(&mut self, label: &'a str, line: u32) -> BlockId {
        if let Some(id) = self.labels.get(label) {
            return *id;
        }
        let id = self.blocks.len() as BlockId;
        self.blocks.push((Block::default(), Some((label, line))));
        self.labels.insert(label, id);
        id
    }

    fn nameless_block(&mut self) -> BlockId {
        let id = self.blocks.len() as BlockId;
        self.blocks.push((Block::default(), None));
        self.first_is_nameless |= self.order.is_empty();
        self.order.push(id);
        id
    }

    fn begin(&mut self, id: BlockId) {
        self.blocks[id as usize].1 = None;
        self.order.push(id);
    }
}

/// What stands at the end of an instruction, or is spread over it.
#[derive(Default)]
struct Rest<'a> {
    labels: Vec<(&'a str, u32)>,
    location: Option<u32>,
}

/// How far a block has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Open,
    /// Its last instruction is not known: perhaps it was the end.
    Doubtful,
    Ended,
}

impl<'a> Parser<'a> {
    pub fn body(&mut self, body: &Body<'a>) -> Result<(), Problem> {
        self.locals = Locals::default();
        let mut unnamed = 0_u32;
        let mut parameters = Vec::with_capacity(body.parameters.len());
        for (name, of_type) in &body.parameters {
            let of_type = self.types.model(*of_type);
            let is_number = name.is_none_or(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
            let id = if let Some(name) = name {
                self.locals.define(name, of_type)
            } else {
                self.locals.values.push(Value { source_name: None, of_type });
                self.locals.values.len() as ValueId - 1
            };
            unnamed += u32::from(is_number);
            parameters.push(id);
        }
        let mut current = 0;
        let mut stage = Stage::Ended;
        while self.lexer.peek() != Token::End {
            if self.lexer.at_line_start() && self.lexer.is_label() {
                if stage == Stage::Open {
                    return Err(self.lexer.expected("the end of the block, such as 'br' or 'ret', before the label"));
                }
                let (Token::Word(label) | Token::Text(label)) = self.lexer.take() else {
                    return Err(self.lexer.expected("a label"));
                };
                self.lexer.take();
                let id = self.locals.block(label, 0);
                self.locals.begin(id);
                current = id;
                stage = Stage::Open;
                continue;
            }
            if stage == Stage::Ended {
                // The first block often has only the number that comes after the parameters'.
                current = self.locals.nameless_block();
            }
            stage = self.instruction(current)?;
        }
        if stage == Stage::Open || self.locals.order.is_empty() {
            return Err(self.lexer.problem("expected the end of the block, such as 'br' or 'ret', found '}'"));
        }
        self.finish_body(body, parameters, unnamed)
    }

    fn finish_body(&mut self, body: &Body<'a>, parameters: Vec<ValueId>, unnamed: u32) -> Result<(), Problem> {
        let mut locals = std::mem::take(&mut self.locals);
        if let Some((name, line)) = locals.used.values().min_by_key(|(name, line)| (*line, *name)) {
            return Err(Problem {
                line: *line,
                message: format!("expected a definition of '%{name}' in the function"),
            });
        }
        let first = locals.order[0];
        let mut places = vec![0; locals.blocks.len()];
        for (place, id) in locals.order.iter().enumerate() {
            places[*id as usize] = place as BlockId;
        }
        for (id, (_, undefined)) in locals.blocks.iter().enumerate() {
            let Some((label, line)) = *undefined else { continue };
            if locals.first_is_nameless && label.parse() == Ok(unnamed) {
                places[id] = places[first as usize];
            } else {
                return Err(Problem { line, message: format!("expected a block '{label}' in the function") });
            }
        }
        let mut blocks: Vec<Block> = Vec::with_capacity(locals.order.len());
        for id in &locals.order {
            let mut block = std::mem::take(&mut locals.blocks[*id as usize].0);
            if let End::Branch { targets, .. } = &mut block.end {
                for target in targets {
                    *target = places[*target as usize];
                }
            }
            for instruction in &mut block.instructions {
                if let Op::Phi(values) = &mut instruction.op {
                    for (from, _) in values {
                        *from = places[*from as usize];
                    }
                }
            }
            blocks.push(block);
        }
        let declared: FxHashMap<ValueId, NodeId> = locals.declared.iter().copied().collect();
        for instruction in blocks.iter().flat_map(|block| &block.instructions) {
            if let (Op::Local { of_type }, Some(result)) = (&instruction.op, instruction.result)
                && let Some(node) = declared.get(&result)
            {
                self.debug.declared.push((of_type.clone(), *node));
            }
        }
        name_parameters(&mut locals, &blocks[0], parameters.len());
        reachable::keep(&mut blocks);
        if let Some(value) = reachable::circular(&blocks, locals.values.len()) {
            let name = locals.names.iter().find(|(_, id)| **id == value).map_or("a value", |(name, _)| name);
            let message = format!("expected '%{name}' to be counted from another address, not from itself");
            return Err(Problem { line: body.line, message });
        }
        let function = &mut self.module.functions[body.function as usize];
        function.parameters = parameters;
        function.values = locals.values;
        function.blocks = blocks;
        Ok(())
    }

    fn instruction(&mut self, block: BlockId) -> Result<Stage, Problem> {
        if let Token::Hash(record) = self.lexer.peek() {
            self.lexer.take();
            if let Some(kind) = record.strip_prefix("dbg_") {
                self.variable_record(kind)?;
            }
            self.rest()?;
            return Ok(Stage::Open);
        }
        let mut result = None;
        if let Token::Local(name) = self.lexer.peek() {
            self.lexer.take();
            self.lexer.expect_mark(b'=')?;
            result = Some(name);
        }
        let Token::Word(opcode) = self.lexer.peek() else { return Err(self.lexer.expected("an instruction")) };
        self.lexer.take();
        let parsed = self.operation(opcode)?;
        let rest = self.rest()?;
        let at = rest.location.and_then(|id| self.debug.location(id));
        let (stage, made) = match parsed {
            Parsed::Op(op, of_type) => (Stage::Open, Some((Some(op), of_type))),
            Parsed::Nothing(of_type) => (Stage::Open, Some((None, of_type))),
            Parsed::Unknown => {
                *self.module.skipped.entry(opcode.to_owned()).or_default() += 1;
                if !rest.labels.is_empty() {
                    self.end(block, Ends::Branch(None), rest, at.clone());
                }
                (Stage::Doubtful, None)
            }
            Parsed::Invoke(op, of_type) => {
                self.end(block, Ends::Branch(None), rest, at.clone());
                (Stage::Ended, Some((Some(op), of_type)))
            }
            Parsed::End(ends) => {
                self.end(block, ends, rest, at);
                return Ok(Stage::Ended);
            }
        };
        let (op, of_type) = made.unwrap_or((None, VOID));
        let of_type = if of_type == VOID { Type::Scalar } else { self.types.model(of_type) };
        let result = result.map(|name| self.locals.define(name, of_type));
        if let Some(op) = op {
            self.locals.blocks[block as usize].0.instructions.push(Instruction { result, op, at });
        }
        Ok(stage)
    }

    fn end(&mut self, block: BlockId, ends: Ends, rest: Rest<'a>, at: Option<Location>) {
        let end = match ends {
            Ends::Return(value) => End::Return(value),
            Ends::Resume => End::Resume,
            Ends::Unreachable => End::Unreachable,
            Ends::Branch(on) => {
                let mut seen = FxHashSet::default();
                let targets = rest.labels.into_iter().map(|(label, line)| self.locals.block(label, line));
                End::Branch { on, targets: targets.filter(|target| seen.insert(*target)).collect() }
            }
        };
        let block = &mut self.locals.blocks[block as usize].0;
        block.end = end;
        block.end_at = at;
    }

    /// Goes to the end of the instruction.
    fn rest(&mut self) -> Result<Rest<'a>, Problem> {
        let mut rest = Rest::default();
        let mut depth = 0_u32;
        loop {
            if depth == 0 && self.lexer.at_line_start() {
                let goes_on = matches!(
                    self.lexer.peek(),
                    Token::Word("to" | "unwind" | "cleanup" | "catch" | "filter") | Token::Mark(b'[')
                );
                if !goes_on || self.lexer.is_label() {
                    return Ok(rest);
                }
            }
            let line = self.lexer.line();
            match self.lexer.take() {
                Token::Mark(b'(' | b'[' | b'{') => depth += 1,
                Token::Mark(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
                Token::Word("label") => {
                    if let Token::Local(label) = self.lexer.peek() {
                        rest.labels.push((label, line));
                    }
                }
                Token::Metadata("dbg") => {
                    rest.location = self.metadata_reference()?;
                    if let Some(id) = rest.location {
                        self.debug.check(id, line)?;
                    }
                }
                Token::End => return Err(self.lexer.expected("a closing bracket")),
                _ => {}
            }
        }
    }
}

/// A parameter has the name of the variable that it is stored to first, or into which, if it is part of a struct.
fn name_parameters(locals: &mut Locals, entry: &Block, parameters: usize) {
    let mut inside: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    for instruction in &entry.instructions {
        match (&instruction.op, instruction.result) {
            (Op::Cast(Operand::Value(base)) | Op::Address { base: Operand::Value(base), .. }, Some(result)) => {
                inside.insert(result, *inside.get(base).unwrap_or(base));
            }
            (Op::Store { value: Operand::Value(value), to: Operand::Value(to), .. }, _)
                if (*value as usize) < parameters =>
            {
                let to = *inside.get(to).unwrap_or(to);
                if locals.parameter_variables.contains(&to) {
                    let name = locals.values[to as usize].source_name.clone();
                    locals.values[*value as usize].source_name = name;
                }
            }
            _ => {}
        }
    }
}
