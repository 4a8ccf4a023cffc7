//! What of a run had to come before what, and whether its blocks could have been run one after the other.
//!
//! This is the interpreter's own verdict, made from what the steps did and by the definition: a graph of conflicts. The analyses are
//! judged by it, so it shares nothing with them.

use super::machine::{Effect, Taken};
use super::program::Place;
use std::collections::HashMap;
use std::ops::Range;

/// Lock, and whether it is used in shared mode. Re-entrant uses do nothing.
const fn lock_of(effect: Effect) -> Option<(usize, bool)> {
    match effect {
        Effect::Acquired { lock, shared, again: false } | Effect::Released { lock, shared, again: false } => {
            Some((lock, shared))
        }
        Effect::Slept { lock, .. } | Effect::Resumed { lock, .. } => Some((lock, false)),
        _ => None,
    }
}

/// Variable, and whether it is read and written.
#[must_use]
pub const fn access_of(effect: Effect) -> Option<(usize, bool, bool)> {
    match effect {
        Effect::Read(variable) => Some((variable, true, false)),
        Effect::Wrote(variable) => Some((variable, false, true)),
        Effect::Updated(variable) => Some((variable, true, true)),
        _ => None,
    }
}

/// Whether the order of two steps of different threads matters whenever they are done.
fn conflict(before: &Taken, after: &Taken) -> bool {
    if let (Some((one, shared)), Some((other, also_shared))) = (lock_of(before.effect), lock_of(after.effect))
        && one == other
    {
        return !(shared && also_shared);
    }
    if let (Some((one, _, wrote)), Some((other, _, writes))) = (access_of(before.effect), access_of(after.effect)) {
        return one == other && (wrote || writes);
    }
    match (before.effect, after.effect) {
        (Effect::Posted(one), Effect::TookUnit(other)) => one == other,
        (Effect::Forked(child), _) => child == after.place.thread as usize,
        (Effect::Finished, Effect::Joined(child)) => child == before.place.thread as usize,
        (Effect::Refused(object), effect) | (effect, Effect::Refused(object)) => used_by(effect) == Some(object),
        _ => false,
    }
}

/// The lock or semaphore that a step changes: whoever tries it finds out.
fn used_by(effect: Effect) -> Option<usize> {
    match effect {
        Effect::Posted(semaphore) | Effect::TookUnit(semaphore) => Some(semaphore),
        _ => lock_of(effect).map(|(lock, _)| lock),
    }
}

/// Whether a step goes on because of another one, if that is of its time.
fn is_awaited(before: Effect, after: Effect) -> bool {
    match (before, after) {
        (Effect::Signalled(one), Effect::Resumed { condition: other, .. })
        | (Effect::Arrived(one), Effect::Passed(other)) => one == other,
        _ => false,
    }
}

/// For each operation the time in which others can have let it go on. A sleeper is woken after it fell asleep. Who passes a
/// barrier waited for those of its round, which is over when the first one passes.
fn times(operations: &[Taken]) -> Vec<Range<usize>> {
    // Where a thread fell asleep or arrived.
    let mut begun: HashMap<u32, usize> = HashMap::new();
    let mut rounds: HashMap<usize, Vec<Range<usize>>> = HashMap::new();
    let mut times = Vec::with_capacity(operations.len());
    for (at, taken) in operations.iter().enumerate() {
        let thread = taken.place.thread;
        let begin = begun.get(&thread).copied().unwrap_or(at);
        times.push(match taken.effect {
            Effect::Resumed { .. } => begin..at,
            Effect::Passed(barrier) => {
                let rounds = rounds.entry(barrier).or_default();
                let over = rounds.last().map_or(0, |last| last.end);
                if begin >= over {
                    rounds.push(over..at);
                }
                rounds.iter().find(|round| round.contains(&begin)).cloned().unwrap_or(at..at)
            }
            _ => at..at,
        });
        if matches!(taken.effect, Effect::Slept { .. } | Effect::Arrived(_)) {
            begun.insert(thread, at);
        }
    }
    times
}

/// Whether the thread has waited for others here: a block does not span that, unless waits are taken strictly.
const fn is_interference(effect: Effect) -> bool {
    matches!(effect, Effect::Resumed { .. } | Effect::Passed(_) | Effect::Joined(_))
}

/// A stretch of a block: one invocation, up to a wait for others or the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Where it begins.
    pub place: Place,
    /// Its operations, as indices into [`Graph::operations`], in order.
    pub operations: Vec<usize>,
    pub is_outermost: bool,
    /// Whether the run was over before the block was.
    pub is_open: bool,
}

/// The operations of a run that others can notice, and which of them had to come before which.
pub struct Graph {
    pub operations: Vec<Taken>,
    pub blocks: Vec<Block>,
    /// For each operation a set of those that had to come before it, itself included: `words` words each.
    before: Vec<u64>,
    words: usize,
}

impl Graph {
    #[must_use]
    pub fn new(log: &[Taken], strict_waits: bool) -> Graph {
        let is_seen = |taken: &&Taken| {
            !matches!(
                taken.effect,
                Effect::Began | Effect::Ended | Effect::AssertionFailed | Effect::Branched(_) | Effect::Stopped(_)
            )
        };
        let operations: Vec<Taken> = log.iter().filter(is_seen).copied().collect();
        let times = times(&operations);
        let words = operations.len().div_ceil(64);
        let mut graph =
            Graph { blocks: blocks(log, strict_waits), before: vec![0; operations.len() * words], words, operations };
        for (after, time) in times.iter().enumerate() {
            graph.before[after * words + after / 64] |= 1 << (after % 64);
            // From the nearest back: most are known by then.
            for before in (0..after).rev() {
                let (first, second) = (&graph.operations[before], &graph.operations[after]);
                let precedes = || {
                    first.place.thread == second.place.thread
                        || conflict(first, second)
                        || time.contains(&before) && is_awaited(first.effect, second.effect)
                };
                if !graph.comes_before(before, after) && precedes() {
                    let (known, new) = graph.before.split_at_mut(after * words);
                    let known = &known[before * words..];
                    new.iter_mut().zip(known).take(words).for_each(|(new, known)| *new |= known);
                }
            }
        }
        graph
    }

    /// Whether one operation had to come before another, or is it.
    #[must_use]
    pub fn comes_before(&self, before: usize, after: usize) -> bool {
        self.before[after * self.words + before / 64] >> (before % 64) & 1 == 1
    }

    /// Whether the block could not have been run without an operation of somebody else in it: one that had to come after a
    /// part of the block and before another part. Gives that operation.
    #[must_use]
    pub fn splitter(&self, block: &Block) -> Option<usize> {
        let thread = block.place.thread;
        let (&first, &last) = (block.operations.first()?, block.operations.last()?);
        (first..=last).filter(|&other| self.operations[other].place.thread != thread).find(|&other| {
            block.operations.iter().any(|&mine| self.comes_before(mine, other))
                && block.operations.iter().any(|&mine| self.comes_before(other, mine))
        })
    }

    /// How often the place of an operation was executed before it.
    #[must_use]
    pub fn occurrence(&self, operation: usize) -> usize {
        let place = self.operations[operation].place;
        self.operations[..operation].iter().filter(|other| other.place == place).count()
    }

    /// The transactions of the run: its outermost blocks, and every operation outside them alone.
    fn transactions(&self) -> Vec<Vec<usize>> {
        let mut alone = vec![true; self.operations.len()];
        let mut transactions: Vec<Vec<usize>> = Vec::new();
        for block in self.blocks.iter().filter(|block| block.is_outermost && !block.operations.is_empty()) {
            block.operations.iter().for_each(|&operation| alone[operation] = false);
            transactions.push(block.operations.clone());
        }
        transactions.extend((0..alone.len()).filter(|&operation| alone[operation]).map(|operation| vec![operation]));
        transactions
    }

    /// A cycle of transactions, each of which had to come before the next and the last before the first: then the run is like
    /// no run of one transaction after the other. Each is given by its operations. `None` if the run is serialisable.
    #[must_use]
    pub fn cycle(&self) -> Option<Vec<Vec<usize>>> {
        let transactions = self.transactions();
        let edge = |from: usize, to: usize| {
            from != to
                && transactions[from].iter().any(|&before| {
                    transactions[to].iter().any(|&after| before < after && self.comes_before(before, after))
                })
        };
        // A depth-first walk; `path` is open, what is `done` leads to no cycle.
        let mut done = vec![false; transactions.len()];
        for start in 0..transactions.len() {
            let mut path = vec![(start, 0)];
            while let Some((node, next)) = path.last_mut() {
                let (node, to) = (*node, *next);
                *next += 1;
                if to == transactions.len() {
                    done[node] = true;
                    path.pop();
                } else if !done[to] && edge(node, to) {
                    if let Some(begin) = path.iter().position(|&(open, _)| open == to) {
                        return Some(path[begin..].iter().map(|&(node, _)| transactions[node].clone()).collect());
                    }
                    path.push((to, 0));
                }
            }
        }
        None
    }
}

/// The stretches of blocks in a run.
fn blocks(log: &[Taken], strict_waits: bool) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    // The open blocks of each thread, outermost first, as indices.
    let mut open: Vec<Vec<usize>> = Vec::new();
    let mut operation = 0;
    for taken in log {
        let thread = taken.place.thread as usize;
        if open.len() <= thread {
            open.resize(thread + 1, Vec::new());
        }
        let begin = |place, is_outermost| Block { place, operations: Vec::new(), is_outermost, is_open: true };
        match taken.effect {
            Effect::Began => {
                blocks.push(begin(taken.place, open[thread].is_empty()));
                open[thread].push(blocks.len() - 1);
            }
            Effect::Ended => {
                if let Some(block) = open[thread].pop() {
                    blocks[block].is_open = false;
                }
            }
            Effect::AssertionFailed | Effect::Branched(_) | Effect::Stopped(_) => {}
            effect => {
                for index in &mut open[thread] {
                    if is_interference(effect) && !strict_waits {
                        let next = begin(blocks[*index].place, blocks[*index].is_outermost);
                        blocks[*index].is_open = false;
                        blocks.push(next);
                        *index = blocks.len() - 1;
                    }
                    blocks[*index].operations.push(operation);
                }
                operation += 1;
            }
        }
    }
    blocks
}
