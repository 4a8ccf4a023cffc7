//! Ways that only end the program. What a thread does on them, others do not live to see; and a program that checks every result would
//! seem to do the work of its clean-up wherever it takes a lock.

use rustc_hash::{FxHashMap, FxHashSet};

use super::asked::asked;
use super::control::successors;
use crate::ir::model::{Block, BlockId, End, Function, FunctionId, Module, Op, Operand, ValueId};

/// Functions of libraries that end the program. Others that do not come back may go on elsewhere: in another thread, by an exception, by a jump.
const ENDS: &[&str] = &[
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "abort",
    "__assert_fail",
    "__assert_perror_fail",
    "err",
    "errx",
    "verr",
    "verrx",
    "_ZSt9terminatev",
    "__stack_chk_fail",
    "llvm.trap",
    "llvm.debugtrap",
];

/// How names begin of functions that lock, start threads or wait for them.
const WORK: &[&str] = &[
    "pthread_create",
    "pthread_join",
    "pthread_mutex_lock",
    "pthread_mutex_try",
    "pthread_mutex_timed",
    "pthread_mutex_clock",
    "pthread_rwlock_rd",
    "pthread_rwlock_wr",
    "pthread_rwlock_t",
    "pthread_spin_lock",
    "pthread_spin_try",
    "thrd_create",
    "thrd_join",
    "mtx_lock",
    "mtx_t",
    "_ZNSt6thread",
    "avmon_mark_",
];

/// Functions whose result says nothing but whether they failed, or waited too long.
const CHECKED: &[&str] = &[
    "pthread_mutex_lock",
    "pthread_mutex_unlock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "pthread_rwlock_unlock",
    "pthread_spin_lock",
    "pthread_spin_unlock",
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "pthread_cond_clockwait",
    "pthread_cond_signal",
    "pthread_cond_broadcast",
    "mtx_lock",
    "mtx_unlock",
    "cnd_wait",
    "cnd_timedwait",
    "cnd_signal",
    "cnd_broadcast",
];

/// Takes out of all functions what only ends the program. A function that does nothing else stays whole: it is left out where it is called.
/// A way on which something is locked or started, here or in what is called, stays too: a program may do all its work before it calls `exit`.
/// But not if it is the way of a lock that fails: else whoever takes one would seem to clean up.
pub fn cut(module: &mut Module) {
    let works = working(module);
    let mut ends: Vec<bool> = module.functions.iter().map(|it| ENDS.contains(&it.name.as_str())).collect();
    // A caller of such a function may be one itself.
    loop {
        let found: Vec<usize> = (0..ends.len())
            .filter(|&id| !ends[id] && doomed(&module.functions[id], &ends).first() == Some(&true))
            .collect();
        if found.is_empty() {
            break;
        }
        for id in found {
            ends[id] = true;
        }
    }
    for id in 0..ends.len() {
        if ends[id] {
            continue;
        }
        let function = &module.functions[id];
        let is_work = leading(function, &ends, |block| calls(block).any(|callee| works[callee as usize]));
        let doomed = doomed(function, &ends);
        let fails = failing(module, function, &doomed);
        let is_cut: Vec<bool> =
            (0..function.blocks.len()).map(|block| doomed[block] && (!is_work[block] || fails[block])).collect();
        for (block, _) in module.functions[id].blocks.iter_mut().zip(is_cut).filter(|(_, is_cut)| *is_cut) {
            block.instructions.clear();
            block.end = End::Unreachable;
        }
    }
}

/// The blocks that the program comes to only where a lock function has failed and the program ends for it.
fn failing(module: &Module, function: &Function, doomed: &[bool]) -> Vec<bool> {
    let name = |callee: FunctionId| module.functions[callee as usize].name.as_str();
    let is_checked = |block: &Block| calls(block).any(|callee| CHECKED.contains(&name(callee)));
    if !function.blocks.iter().any(is_checked) {
        return vec![false; doomed.len()];
    }
    let mut made: FxHashMap<ValueId, (BlockId, u32)> = FxHashMap::default();
    for (id, block) in (0..).zip(&function.blocks) {
        made.extend((0..).zip(&block.instructions).filter_map(|(at, it)| Some((it.result?, (id, at)))));
    }
    // Who gives a lock back has it.
    let gives_back = |block: BlockId| calls(&function.blocks[block as usize]).any(|it| name(it).contains("unlock"));
    let mut failed: FxHashSet<BlockId> = FxHashSet::default();
    for block in 0..function.blocks.len() as BlockId {
        let Some((made_in, at)) = asked(function, block, true, |value| made.get(&value).copied()) else { continue };
        let call = &function.blocks[made_in as usize].instructions[at as usize].op;
        let Op::Call { callee: Operand::Function(callee), .. } = call else { continue };
        let mut sides = successors(function, block).iter().copied().filter(|&it| doomed[it as usize]);
        let (Some(side), None) = (sides.next(), sides.next()) else { continue };
        let takes = || name(*callee).ends_with("lock") && !name(*callee).ends_with("unlock");
        let has_lock = || reached(function, side, &FxHashSet::default()).into_iter().any(gives_back);
        if CHECKED.contains(&name(*callee)) && !(takes() && has_lock()) {
            failed.insert(side);
        }
    }
    let others = reached(function, 0, &failed);
    (0..doomed.len() as BlockId).map(|block| !failed.is_empty() && !others.contains(&block)).collect()
}

/// What a block leads to, without some others.
fn reached(function: &Function, from: BlockId, without: &FxHashSet<BlockId>) -> FxHashSet<BlockId> {
    let mut reached = FxHashSet::default();
    let mut waiting = vec![from];
    while let Some(block) = waiting.pop() {
        if !without.contains(&block) && reached.insert(block) {
            waiting.extend(successors(function, block));
        }
    }
    reached
}

/// The functions that a block calls by their names.
fn calls(block: &Block) -> impl DoubleEndedIterator<Item = FunctionId> + '_ {
    block.instructions.iter().filter_map(|it| match it.op {
        Op::Call { callee: Operand::Function(callee), .. } => Some(callee),
        _ => None,
    })
}

/// The functions that work is done in, themselves or by what they call.
fn working(module: &Module) -> Vec<bool> {
    let is_work = |name: &str| WORK.iter().any(|begin| name.starts_with(begin));
    let mut works: Vec<bool> = module.functions.iter().map(|it| is_work(&it.name)).collect();
    let mut callers: Vec<Vec<FunctionId>> = vec![Vec::new(); works.len()];
    for (id, function) in (0..).zip(&module.functions) {
        for callee in function.blocks.iter().flat_map(calls) {
            callers[callee as usize].push(id);
        }
    }
    let mut waiting: Vec<FunctionId> = (0..works.len() as FunctionId).filter(|&id| works[id as usize]).collect();
    while let Some(id) = waiting.pop() {
        for &caller in &callers[id as usize] {
            if !std::mem::replace(&mut works[caller as usize], true) {
                waiting.push(caller);
            }
        }
    }
    works
}

/// The blocks of which this holds, and all that lead to them before the program ends.
fn leading(function: &Function, ends: &[bool], holds: impl Fn(&Block) -> bool) -> Vec<bool> {
    let leads_from = leads_from(function);
    let mut leads = vec![false; function.blocks.len()];
    let mut waiting: Vec<BlockId> =
        (0..).zip(&function.blocks).filter(|(_, block)| holds(block)).map(|(id, _)| id).collect();
    while let Some(block) = waiting.pop() {
        if !std::mem::replace(&mut leads[block as usize], true) {
            let before = leads_from[block as usize].iter().copied();
            waiting.extend(before.filter(|&it| !is_end(&function.blocks[it as usize], ends)));
        }
    }
    leads
}

fn leads_from(function: &Function) -> Vec<Vec<BlockId>> {
    let mut leads_from: Vec<Vec<BlockId>> = vec![Vec::new(); function.blocks.len()];
    for id in 0..function.blocks.len() as BlockId {
        for &to in successors(function, id) {
            leads_from[to as usize].push(id);
        }
    }
    leads_from
}

/// The blocks from which every way ends the program. A loop that may go on for ever is none.
fn doomed(function: &Function, ends: &[bool]) -> Vec<bool> {
    let leads_from = leads_from(function);
    let blocks = || (0..).zip(&function.blocks);
    let mut left: Vec<usize> = blocks().map(|(id, _)| successors(function, id).len()).collect();
    let mut waiting: Vec<BlockId> = blocks().filter(|(_, block)| is_end(block, ends)).map(|(id, _)| id).collect();
    let mut doomed = vec![false; function.blocks.len()];
    while let Some(block) = waiting.pop() {
        if std::mem::replace(&mut doomed[block as usize], true) {
            continue;
        }
        for &before in &leads_from[block as usize] {
            left[before as usize] -= 1;
            if left[before as usize] == 0 {
                waiting.push(before);
            }
        }
    }
    doomed
}

/// Whether the program ends in a block.
fn is_end(block: &Block, ends: &[bool]) -> bool {
    calls(block).any(|callee| ends[callee as usize])
}
