//! LLVM IR, as far as it tells which value a value comes from.
//!
//! ```text
//! file.ll ──────────────┐
//! file.bc ─ llvm-dis ───┴─ text ─ lexer ─ parser ─ model
//! ```

mod bitcode;
mod call;
mod debug;
mod error;
mod function;
mod instruction;
mod lexer;
mod locate;
mod metadata;
pub mod model;
mod operand;
mod parser;
mod reachable;
mod structs;
mod types;
mod variable;

pub use error::Error;
pub use locate::{Located, NOTE, files_in, is_ir, locate};
use model::Module;
use std::path::Path;

/// The model of a file of IR, as text or bitcode.
pub fn read(path: &Path) -> Result<Module, Error> {
    let name = path.to_string_lossy();
    let bytes = std::fs::read(path).map_err(|error| Error::whole(&*name, format!("cannot be read: {error}")))?;
    let bytes = if bitcode::is_bitcode(&bytes) { bitcode::disassembled(path)? } else { bytes };
    let text = String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    parse(&text, &name)
}

/// The model of IR as text; `name` is what errors call it.
pub fn parse(text: &str, name: &str) -> Result<Module, Error> {
    let mut module = parser::parse(text).map_err(|problem| Error {
        file: name.to_owned(),
        line: Some(problem.line),
        message: problem.message,
    })?;
    // Only compilers say which source it is of.
    if module.source.is_empty() {
        name.clone_into(&mut module.source);
    }
    Ok(module)
}
