//! Which branches decide whether a block runs: control dependence by post-dominance.

use crate::ir::model::{BlockId, End, Function};

/// Where a block may lead.
#[must_use]
pub fn successors(function: &Function, block: BlockId) -> &[BlockId] {
    match &function.blocks[block as usize].end {
        End::Branch { targets, .. } => targets,
        End::Return(_) | End::Resume | End::Unreachable => &[],
    }
}

/// For each block the blocks whose branch decides whether it runs. Ways that only end the program decide nothing, else everything would
/// depend on what is asserted before it. Neither do calls that may throw, else everything would depend on what decides about the calls before
/// it; what runs because they did depends on what they do.
#[must_use]
pub fn dependences(function: &Function) -> Vec<Vec<BlockId>> {
    let count = function.blocks.len();
    let goes_on = going_on(function);
    let leads: Vec<Vec<usize>> = (0..count as BlockId)
        .map(|block| {
            let targets = successors(function, block).iter().map(|&it| it as usize).filter(|&it| goes_on[it]);
            let mut targets: Vec<usize> =
                targets.filter(|&it| thrown_to(function, &goes_on, block) != Some(it)).collect();
            targets.sort_unstable();
            targets.dedup();
            targets
        })
        .collect();
    let above = post_dominators(&leads);
    let mut decided_by = vec![Vec::new(); count];
    for (branch, targets) in leads.iter().enumerate() {
        let decides = matches!(function.blocks[branch].end, End::Branch { on: Some(_), .. });
        if !decides || targets.len() < 2 {
            continue;
        }
        for &target in targets {
            let mut block = target;
            while block != above[branch] && block != count {
                if !decided_by[block].contains(&(branch as BlockId)) {
                    decided_by[block].push(branch as BlockId);
                }
                block = above[block];
            }
        }
    }
    decide_by_throwing(function, &goes_on, &leads, &above, &mut decided_by);
    decided_by
}

/// Where a call that ends a block leads if it throws, unless that is the only way on.
fn thrown_to(function: &Function, goes_on: &[bool], block: BlockId) -> Option<usize> {
    match &function.blocks[block as usize].end {
        End::Branch { on: None, targets } => match targets[..] {
            [usual, thrown] if goes_on[usual as usize] => Some(thrown as usize),
            _ => None,
        },
        _ => None,
    }
}

/// What runs only because a call threw is decided by what decides about that call.
fn decide_by_throwing(
    function: &Function,
    goes_on: &[bool],
    leads: &[Vec<usize>],
    above: &[usize],
    decided_by: &mut [Vec<BlockId>],
) {
    let mut is_usual = vec![usize::MAX; leads.len()];
    if !leads.is_empty() {
        post_order(0, leads, &mut is_usual);
    }
    let mut is_stable = false;
    while !is_stable {
        is_stable = true;
        for call in 0..leads.len() {
            let mut block = thrown_to(function, goes_on, call as BlockId).unwrap_or(leads.len());
            while block != leads.len() && is_usual[block] == usize::MAX {
                for branch in decided_by[call].clone() {
                    if !decided_by[block].contains(&branch) {
                        decided_by[block].push(branch);
                        is_stable = false;
                    }
                }
                block = above[block];
            }
        }
    }
}

/// Whether a block can lead to where the function is left.
fn going_on(function: &Function) -> Vec<bool> {
    let mut leads_from = vec![Vec::new(); function.blocks.len()];
    let mut goes_on = vec![false; function.blocks.len()];
    let mut waiting = Vec::new();
    for (block, it) in function.blocks.iter().enumerate() {
        match &it.end {
            End::Branch { targets, .. } => targets.iter().for_each(|&to| leads_from[to as usize].push(block)),
            End::Return(_) | End::Resume => waiting.push(block),
            End::Unreachable => {}
        }
    }
    while let Some(block) = waiting.pop() {
        if !std::mem::replace(&mut goes_on[block], true) {
            waiting.extend(&leads_from[block]);
        }
    }
    // A function that is never left goes on for ever.
    if goes_on.first() == Some(&false) { vec![true; function.blocks.len()] } else { goes_on }
}

/// For each block the next one that every way out of the function passes; the number of blocks stands for the way out itself.
fn post_dominators(leads: &[Vec<usize>]) -> Vec<usize> {
    let exit = leads.len();
    let mut from = vec![Vec::new(); exit + 1];
    for (block, targets) in leads.iter().enumerate() {
        for &to in targets {
            from[to].push(block);
        }
        if targets.is_empty() {
            from[exit].push(block);
        }
    }
    let mut order = vec![usize::MAX; exit + 1];
    let mut sorted = post_order(exit, &from, &mut order);
    // Blocks that never leave the function: each loop of them is left, if at all, from its last block.
    for block in (0..exit).rev() {
        if order[block] == usize::MAX {
            from[exit].push(block);
            order.fill(usize::MAX);
            sorted = post_order(exit, &from, &mut order);
        }
    }
    let mut above = vec![usize::MAX; exit + 1];
    above[exit] = exit;
    let mut is_stable = false;
    while !is_stable {
        is_stable = true;
        for &block in sorted.iter().rev().filter(|&&block| block != exit) {
            let leaves = from[exit].contains(&block).then_some(exit);
            let next = leads[block].iter().copied().chain(leaves).filter(|&to| above[to] != usize::MAX);
            let Some(new) = next.reduce(|one, other| common(one, other, &above, &order)) else { continue };
            if above[block] != new {
                above[block] = new;
                is_stable = false;
            }
        }
    }
    for it in &mut above {
        *it = (*it).min(exit);
    }
    above.pop();
    above
}

fn common(mut one: usize, mut other: usize, above: &[usize], order: &[usize]) -> usize {
    while one != other {
        while order[one] < order[other] {
            one = above[one];
        }
        while order[other] < order[one] {
            other = above[other];
        }
    }
    one
}

/// For each block its place in an order in which whoever leads back to an earlier one closes a loop.
#[must_use]
pub fn forward_order(function: &Function) -> Vec<u32> {
    let count = function.blocks.len();
    if count == 0 {
        return Vec::new();
    }
    let blocks = 0..count as BlockId;
    let leads: Vec<Vec<usize>> =
        blocks.map(|block| successors(function, block).iter().map(|&to| to as usize).collect()).collect();
    let mut order = vec![usize::MAX; count];
    post_order(0, &leads, &mut order);
    order.into_iter().map(|place| count.saturating_sub(place) as u32).collect()
}

/// Nodes that `root` reaches, each after all that it reaches; `order` gets their places.
fn post_order(root: usize, leads: &[Vec<usize>], order: &mut [usize]) -> Vec<usize> {
    let mut is_seen = vec![false; leads.len()];
    let mut sorted = Vec::new();
    let mut path = vec![(root, 0)];
    is_seen[root] = true;
    while let Some((node, at)) = path.last_mut() {
        if let Some(&to) = leads[*node].get(*at) {
            *at += 1;
            if !std::mem::replace(&mut is_seen[to], true) {
                path.push((to, 0));
            }
        } else {
            order[*node] = sorted.len();
            sorted.push(*node);
            path.pop();
        }
    }
    sorted
}
