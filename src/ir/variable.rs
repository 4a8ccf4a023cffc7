//! Local variables' names: from records, and from calls that were used before there were records.

use super::error::Problem;
use super::lexer::Token;
use super::model::{Operand, ValueId};
use super::parser::Parser;
use super::types::Types;

impl Parser<'_> {
    /// `#dbg_declare(...)`, from behind the name.
    pub fn variable_record(&mut self, kind: &str) -> Result<(), Problem> {
        self.lexer.expect_mark(b'(')?;
        self.variable_arguments(kind)
    }

    /// `ptr %2, !variable, !DIExpression(), ...`: the value, or the address of its place, has a name.
    pub fn variable_arguments(&mut self, kind: &str) -> Result<(), Problem> {
        if !matches!(kind, "declare" | "value" | "assign") {
            return Ok(());
        }
        let mut value = self.described_value()?;
        self.lexer.expect_mark(b',')?;
        self.lexer.take_word("metadata");
        let line = self.lexer.line();
        let Some(variable) = self.metadata_reference()? else { return Ok(()) };
        self.debug.check(variable, line)?;
        if !self.lexer.take_mark(b',') {
            return Err(self.lexer.expected("','"));
        }
        self.lexer.take_word("metadata");
        self.lexer.take();
        let is_all = self.lexer.take_mark(b'(') && self.lexer.peek() == Token::Mark(b')');
        if kind == "value" && !is_all {
            return Ok(());
        }
        if kind == "assign" {
            while !matches!(self.lexer.peek(), Token::Mark(b',') | Token::End) {
                self.lexer.take();
            }
            self.lexer.take();
            self.lexer.take_word("metadata");
            self.lexer.take();
            self.lexer.expect_mark(b',')?;
            value = self.described_value()?;
        }
        let (Some(id), Some(variable)) = (value, self.debug.variable(variable)) else { return Ok(()) };
        let value = &mut self.locals.values[id as usize];
        if value.source_name.is_none() {
            value.source_name = Some(variable.name);
            if variable.is_parameter && kind == "declare" {
                self.locals.parameter_variables.insert(id);
            }
            self.locals.declared.extend(variable.of_type.filter(|_| kind != "value").map(|of_type| (id, of_type)));
        }
        Ok(())
    }

    /// The first argument of such a record: a value with its type, or metadata that is of no use.
    fn described_value(&mut self) -> Result<Option<ValueId>, Problem> {
        self.lexer.take_word("metadata");
        if !Types::begin(self.lexer.peek()) {
            self.lexer.take();
            self.lexer.skip_group()?;
            return Ok(None);
        }
        Ok(match self.typed_value()?.1 {
            Operand::Value(id) => Some(id),
            _ => None,
        })
    }
}
