//! Which call's result decides where a block leads.

use crate::ir::model::{BlockId, End, Function, Op, Operand, ValueId};

/// The block of the call and its place in that. `made_by` tells where a value is made. If `is_far`, the result may have been kept for a while in a variable
/// that is written only once.
pub fn asked(
    function: &Function,
    block: BlockId,
    is_far: bool,
    made_by: impl Fn(ValueId) -> Option<(BlockId, u32)>,
) -> Option<(BlockId, u32)> {
    let it = &function.blocks[block as usize];
    let End::Branch { on: Some(Operand::Value(value)), targets } = &it.end else { return None };
    if targets.len() != 2 {
        return None;
    }
    let mut value = *value;
    // A result goes through a comparison and a variable, seldom through more.
    for _ in 0..8 {
        let (made_in, index) = made_by(value)?;
        let operand = match &function.blocks[made_in as usize].instructions[index as usize].op {
            Op::Call { .. } => return Some((made_in, index)),
            Op::Cast(operand) => operand,
            Op::Compute(operands) => {
                let mut values = operands.iter().filter(|it| matches!(it, Operand::Value(_)));
                values.next().filter(|_| values.next().is_none())?
            }
            Op::Load { from, .. } if made_in == block => {
                let before = it.instructions[..index as usize].iter().rev();
                let mut stored = before.filter_map(|it| match &it.op {
                    Op::Store { value, to, .. } if to == from => Some(value),
                    _ => None,
                });
                stored.next().or_else(|| stored_once(function, from).filter(|_| is_far))?
            }
            Op::Load { from, .. } if is_far => stored_once(function, from)?,
            _ => return None,
        };
        let Operand::Value(next) = operand else { return None };
        value = *next;
    }
    None
}

/// What is written to a variable, if that happens in one place only.
fn stored_once<'f>(function: &'f Function, variable: &Operand) -> Option<&'f Operand> {
    let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    let mut stored = instructions.filter_map(|it| match &it.op {
        Op::Store { value, to, .. } if to == variable => Some(value),
        _ => None,
    });
    stored.next().filter(|_| stored.next().is_none())
}
