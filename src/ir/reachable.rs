//! Blocks that no branch leads to are left out.
//!
//! In those, and only there, a value may be made from itself: `%p = getelementptr i8, ptr %p, i64 1`. Whoever follows an address
//! to where it comes from would never get there.

use super::model::{Block, BlockId, End, Op, Operand, ValueId};

/// Keeps what can be reached from the first block; the others get new places.
pub(super) fn keep(blocks: &mut Vec<Block>) {
    let mut is_reached = vec![false; blocks.len()];
    let mut waiting: Vec<BlockId> = vec![0];
    while let Some(id) = waiting.pop() {
        if !std::mem::replace(&mut is_reached[id as usize], true)
            && let End::Branch { targets, .. } = &blocks[id as usize].end
        {
            waiting.extend(targets);
        }
    }
    if is_reached.iter().all(|it| *it) {
        return;
    }
    let mut count = 0;
    let place = |is_reached: &bool| {
        count += BlockId::from(*is_reached);
        is_reached.then(|| count - 1)
    };
    let places: Vec<Option<BlockId>> = is_reached.iter().map(place).collect();
    let place = |id: &BlockId| places[*id as usize];
    let mut kept = is_reached.iter();
    blocks.retain(|_| kept.next() == Some(&true));
    for block in blocks {
        if let End::Branch { targets, .. } = &mut block.end {
            *targets = targets.iter().filter_map(place).collect();
        }
        for instruction in &mut block.instructions {
            if let Op::Phi(values) = &mut instruction.op {
                *values = values.drain(..).filter_map(|(from, value)| Some((place(&from)?, value))).collect();
            }
        }
    }
}

/// A value whose address is counted from itself in a block that is reached: such IR no compiler makes.
pub(super) fn circular(blocks: &[Block], values: usize) -> Option<ValueId> {
    let mut base: Vec<Option<ValueId>> = vec![None; values];
    for instruction in blocks.iter().flat_map(|block| &block.instructions) {
        if let (Op::Address { base: Operand::Value(from), .. } | Op::Cast(Operand::Value(from)), Some(result)) =
            (&instruction.op, instruction.result)
        {
            base[result as usize] = Some(*from);
        }
    }
    // Which chain came by a value first: none goes on where another one has been.
    let mut seen = vec![None; values];
    (0..values).find_map(|start| {
        let mut at = start;
        while seen[at].is_none() {
            seen[at] = Some(start);
            at = base[at]? as usize;
        }
        (seen[at] == Some(start)).then_some(at as ValueId)
    })
}
