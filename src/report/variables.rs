//! What the variables of a recorded run are called.

use crate::predict::history::VariableInfo;
use crate::report::members::Part;
use crate::report::symbols::Symbols;

pub use crate::report::members::Field;

/// Which field of which type a variable is, whichever object it lies in: what analyses that abstract from objects tell variables apart by. A global that
/// is in no type with a name stands for itself, and all elements of an array are one. `None` if only its object and offset are known.
/// `calls` led to its allocation: see [`crate::predict::history::History::calls`].
pub fn field(symbols: &mut Symbols, variable: &VariableInfo, calls: &[u64]) -> Option<Field> {
    let Part { name, field } = symbols.global(variable.address).or_else(|| {
        let block = variable.allocation?;
        symbols.allocated(calls, block.size, variable.address - block.address)
    })?;
    Some(field.unwrap_or_else(|| Field { of: String::new(), member: without_indices(&name) }))
}

/// A name that stands for all elements of the arrays in it: `table[].count` for `table[3].count`.
fn without_indices(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for (number, piece) in name.split('[').enumerate() {
        if number > 0 {
            text.push('[');
        }
        let is_index = number > 0 && piece.trim_start_matches(|digit: char| digit.is_ascii_digit()).starts_with(']');
        text.push_str(if is_index { &piece[piece.find(']').unwrap_or(0)..] } else { piece });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_left_out_and_nothing_else() {
        for (name, without) in [
            ("table[3].count", "table[].count"),
            ("grid[2][10]", "grid[][]"),
            ("plain.member+0x8", "plain.member+0x8"),
            ("each[].x", "each[].x"),
            ("operator[]", "operator[]"),
            ("odd[x]", "odd[x]"),
            ("cut[1", "cut[1"),
        ] {
            assert_eq!(without_indices(name), without);
        }
    }

    #[test]
    fn a_field_is_written_as_a_person_would() {
        let field = |of: &str, member: &str| Field { of: of.to_owned(), member: member.to_owned() }.to_string();
        assert_eq!(field("node", "next"), "node.next");
        assert_eq!(field("", "counter"), "counter");
        assert_eq!(field("node", "+0x8"), "node+0x8");
        assert_eq!(field("node", ""), "node");
    }
}
