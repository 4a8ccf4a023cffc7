//! Words for the addresses in a trace, remembered.

use crate::report::finding::Frame;
use crate::report::symbols::Symbols;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Names for one trace.
pub struct Names {
    symbols: Symbols,
    /// Without them addresses are shown as they are.
    is_wanted: bool,
    places: FxHashMap<u64, Arc<str>>,
    variables: FxHashMap<u64, Arc<str>>,
}

impl Names {
    pub fn new(symbols: Symbols, is_wanted: bool) -> Names {
        Names { symbols, is_wanted, places: FxHashMap::default(), variables: FxHashMap::default() }
    }

    /// What the names came from, for whoever comes next.
    pub fn into_symbols(self) -> Symbols {
        self.symbols
    }

    /// The functions at the call that returns to `pc`, innermost first.
    pub fn frames(&mut self, pc: u64) -> Arc<[Frame]> {
        self.symbols.call_frames(pc)
    }

    /// Function, file and line of the call that returns to `pc`.
    pub fn place(&mut self, pc: u64) -> Arc<str> {
        if !self.is_wanted {
            return hexadecimal(pc);
        }
        if let Some(known) = self.places.get(&pc) {
            return Arc::clone(known);
        }
        let frame = &self.frames(pc)[0];
        let text: Arc<str> = match &frame.function {
            Some(function) => format!("{function} {}", frame.short()).into(),
            None => frame.short().into(),
        };
        self.places.insert(pc, Arc::clone(&text));
        text
    }

    /// The function that this address is in.
    pub fn function(&mut self, inside: u64) -> Arc<str> {
        if !self.is_wanted {
            return hexadecimal(inside);
        }
        // The last frame is the function itself; those before it are inlined there.
        self.symbols.frames(inside).last().map_or_else(|| hexadecimal(inside), |frame| frame.name().into())
    }

    /// The global at an address, or the address.
    pub fn object(&mut self, address: u64) -> Arc<str> {
        if !self.is_wanted {
            return hexadecimal(address);
        }
        if let Some(known) = self.variables.get(&address) {
            return Arc::clone(known);
        }
        // Only globals are remembered: there are not too many of them.
        match self.symbols.variable(address) {
            Some(name) => Arc::clone(self.variables.entry(address).or_insert(name.into())),
            None => hexadecimal(address),
        }
    }

    /// The label of a marked block.
    pub fn label(&mut self, address: u64) -> Arc<str> {
        let text = if self.is_wanted { self.symbols.text(address) } else { None };
        text.map_or_else(|| hexadecimal(address), Into::into)
    }
}

fn hexadecimal(address: u64) -> Arc<str> {
    format!("{address:#x}").into()
}
