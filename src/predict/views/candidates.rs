//! What the blocks of a run give to the search, and how much of that is kept: the same for torn views and for stale values.

use rustc_hash::FxHashMap;

use super::blocks::Access;
use crate::predict::cut_points::{Alike, Blocks};
use crate::predict::history::{At, History};
use crate::predict::prediction::Steps;

/// How candidates are bounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Variables of one view that are taken in pairs.
    pub wide: usize,
    /// Pairs of variables of the same two code locations, in one thread.
    pub alike: usize,
    /// Blocks of a thread that accessed the same variable before: the latest.
    pub before: usize,
    /// Variables that one is accessed together with.
    pub partners: usize,
    /// Code locations of a thread that read something lately.
    pub places: usize,
    /// Blocks of a thread between where a value is read and where it is used.
    pub apart: usize,
    /// Reads and later writes of the same two code locations.
    pub uses: usize,
    /// Accesses of a variable that are looked through for who overwrites what was read, on each side.
    pub around: usize,
}

impl Bounds {
    pub const NEAR: Bounds =
        Bounds { wide: 24, alike: 64, before: 4, partners: 128, places: 64, apart: 32, uses: 3, around: 64 };
    /// All of a small run.
    pub const NONE: Bounds = Bounds {
        wide: usize::MAX,
        alike: usize::MAX,
        before: usize::MAX,
        partners: usize::MAX,
        places: usize::MAX,
        apart: usize::MAX,
        uses: usize::MAX,
        around: usize::MAX,
    };
}

/// Candidates that agree in their code locations, and in where these are in the transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Class {
    /// What the transaction does first.
    pub access: Access,
    pub codes: [u32; 4],
    /// The transaction, and where in it the two blocks are.
    pub(in crate::predict) spot: [u64; 3],
}

impl Class {
    pub(in crate::predict) fn of(history: &History, access: Access, steps: &Steps, spot: [u64; 3]) -> Class {
        Class { access, codes: steps.all().map(|at| history.step(at).code), spot }
    }
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Candidates {
    pub classes: FxHashMap<Class, Alike>,
    /// What was too much of its kind to be kept in mind: pairs of variables, reads.
    pub left_out: u64,
    /// Blocks and reads that were forgotten when many others had come after them.
    pub forgotten: u64,
}

impl Candidates {
    /// Takes over what was found elsewhere; classes of several threads may be the same.
    pub fn merge(&mut self, other: Candidates) {
        self.left_out += other.left_out;
        self.forgotten += other.forgotten;
        for (class, alike) in other.classes {
            self.classes.entry(class).or_default().merge(alike);
        }
    }
}

/// The transaction around two accesses, and where in it they are. Nothing if there is none, or if they are two turns of what a thread does all the time.
pub(in crate::predict) fn spot(history: &History, blocks: Blocks, first: At, second: At) -> Option<[u64; 3]> {
    let block = blocks.around(history, first, second)?;
    history.frames.get(block).transaction?;
    let location = |at: At| history.frames.location(history.step(at).frame, block, history.pc(at));
    let spot = [history.frames.code(block), location(first), location(second)];
    let is_turn = spot[1] == spot[2] && history.frames.is_base(block);
    (!is_turn).then_some(spot)
}

/// Whether two accesses lie in one invocation that is less than all that their thread does. Who looks back no further than so many blocks misses
/// something only then.
pub(in crate::predict) fn is_one_work(history: &History, blocks: Blocks, first: At, second: At) -> bool {
    blocks.around(history, first, second).is_some_and(|block| !history.frames.is_base(block))
}
