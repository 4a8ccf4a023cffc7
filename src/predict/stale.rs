//! Values that grow stale: what one atomic block of a transaction reads, another thread writes, and a later block of the transaction writes what may
//! follow from the old value. Candidates for a search.
//!
//! The blocks are those of [`super::views`]. What the later block reads again before is not stale, unless the program's code tells that the write does not
//! depend on that. Whether the value is of any use in the later block is asked afterwards: see [`super::dependency`]. Of the reads and writes that
//! agree in code location a few are kept, and of those that copy a whole struct the ones of one variable: what is lost then is sure.

use rustc_hash::FxHashMap;

use super::clocks::Clocks;
use super::cut_points::Blocks;
use super::history::{At, History, Lane};
use super::parallel::in_parallel;
use super::prediction::Steps;
use super::views::{Access, Block, Bounds, Candidates, Class, Touch, Turn, Views, is_one_work, spot};
use crate::causal::Answer;

/// A read of one block and a write of a later one.
#[derive(Clone, Copy)]
struct Pair {
    read: Touch,
    write: Touch,
}

impl Pair {
    /// Whether an update is lost.
    const fn is_of_one(&self) -> bool {
        self.read.variable == self.write.variable
    }
}

/// Pairs that agree in code location.
#[derive(Default)]
struct Pairs {
    kept: Vec<Pair>,
    count: u64,
}

/// Goes through the blocks of a run.
#[must_use]
pub fn look_at(
    history: &History,
    clocks: &Clocks,
    views: &Views,
    blocks: Blocks,
    bounds: Bounds,
    jobs: usize,
    stop: &(dyn Fn() -> bool + Sync),
) -> Candidates {
    let writer = writers(history);
    let found = in_parallel(jobs, history.lanes.len(), stop, |lane| {
        let mut walk = Walk {
            history,
            views,
            blocks,
            lane: lane as Lane,
            bounds,
            pairs: FxHashMap::default(),
            depends: FxHashMap::default(),
            found: Candidates::default(),
        };
        walk.go(&writer);
        let Walk { pairs, mut found, .. } = walk;
        for ((_, spot), alike) in pairs {
            for pair in alike.kept {
                add(&mut found, history, clocks, pair, spot, bounds, alike.count);
            }
        }
        found
    });
    let mut all = Candidates::default();
    found.into_iter().flatten().for_each(|found| all.merge(found));
    all
}

/// Who writes a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    Nobody,
    One(Lane),
    Several,
}

fn writers(history: &History) -> Vec<Writer> {
    let mut writers = vec![Writer::Nobody; history.variables.len()];
    for step in history.steps.iter().filter(|step| step.op.is_access() && step.op.writes()) {
        let writer = &mut writers[step.object as usize];
        *writer = match *writer {
            Writer::Nobody => Writer::One(step.lane),
            Writer::One(lane) if lane == step.lane => Writer::One(lane),
            _ => Writer::Several,
        };
    }
    writers
}

/// A read that may be of use later.
#[derive(Clone, Copy)]
struct Recent {
    code: u32,
    block: u32,
    read: Touch,
}

/// Goes through the blocks of one thread.
struct Walk<'a> {
    history: &'a History,
    views: &'a Views,
    blocks: Blocks,
    lane: Lane,
    bounds: Bounds,
    pairs: FxHashMap<([u32; 2], [u64; 3]), Pairs>,
    /// Whether a write depends on a read of the same block, by their code locations.
    depends: FxHashMap<[u32; 2], bool>,
    found: Candidates,
}

impl Walk<'_> {
    fn go(&mut self, writers: &[Writer]) {
        let mine = self.lane;
        let is_written = |touch: &&Touch| match writers[touch.variable as usize] {
            Writer::Nobody => false,
            Writer::One(lane) => lane != mine,
            Writer::Several => true,
        };
        let mut recent: Vec<Recent> = Vec::new();
        // In which block each variable was read last, and how.
        let mut latest: FxHashMap<u32, (u32, Touch)> = FxHashMap::default();
        let (views, bounds) = (self.views, self.bounds);
        let blocks = views.blocks(mine);
        views.go_through(mine, |turn| match turn {
            Turn::Begins(number) => {
                let block = &blocks[number as usize];
                let writes = views.view(mine, block, Access::Write);
                if writes.is_empty() {
                    return;
                }
                let is_near = |other: u32| number.saturating_sub(other) as usize <= bounds.apart;
                recent.retain(|it| {
                    let is_kept = is_near(it.block);
                    let is_missed = !is_kept && is_one_work(self.history, self.blocks, it.read.last, block.begin);
                    self.found.forgotten += u64::from(is_missed);
                    is_kept
                });
                let is_latest = |it: &&Recent| latest.get(&it.read.variable).is_some_and(|last| last.0 == it.block);
                for it in recent.iter().filter(is_latest) {
                    for write in writes.iter().filter(|write| write.variable != it.read.variable) {
                        self.pair(Pair { read: it.read, write: *write }, block);
                    }
                }
                for write in writes {
                    if let Some(&(_, read)) = latest.get(&write.variable).filter(|last| is_near(last.0)) {
                        self.pair(Pair { read, write: *write }, block);
                    }
                }
            }
            Turn::Ends(number) => {
                for read in views.view(mine, &blocks[number as usize], Access::Read).iter().filter(is_written) {
                    let code = self.history.step(read.last).code;
                    latest.insert(read.variable, (number, *read));
                    // In a run of which all is kept, each variable by itself.
                    let is_same = |it: &Recent| {
                        it.code == code && (bounds.places != usize::MAX || it.read.variable == read.variable)
                    };
                    if let Some(place) = recent.iter().position(is_same) {
                        recent.remove(place);
                    } else if recent.len() >= bounds.places {
                        recent.remove(0);
                        self.found.left_out += 1;
                    }
                    recent.push(Recent { code, block: number, read: *read });
                }
            }
        });
    }

    fn pair(&mut self, pair: Pair, later: &Block) {
        let Pair { read, write } = pair;
        let again = self.views.touch(self.lane, later, Access::Read, read.variable);
        if again.is_some_and(|again| again.first < write.first && self.depends(again.first, write.first)) {
            return;
        }
        let Some(spot) = spot(self.history, self.blocks, read.last, write.first) else { return };
        let codes = [read.last, write.first].map(|at| self.history.step(at).code);
        let alike = self.pairs.entry((codes, spot)).or_default();
        let are_of_one = alike.kept.first().is_some_and(Pair::is_of_one);
        if are_of_one && !pair.is_of_one() {
            return;
        }
        if pair.is_of_one() && !are_of_one {
            *alike = Pairs::default();
        }
        alike.count += 1;
        if alike.kept.len() < self.bounds.uses {
            alike.kept.push(pair);
        } else if let Some(last) = alike.kept.last_mut() {
            *last = pair;
        }
    }

    /// Whether a write may depend on what its block read before.
    fn depends(&mut self, read: At, write: At) -> bool {
        let history = self.history;
        let Some(code) = &history.code else { return true };
        let codes = [read, write].map(|at| history.step(at).code);
        *self.depends.entry(codes).or_insert_with(|| code.direct(history, read, write) != Answer::Independent)
    }
}

/// Adds what can come between a read and a write.
fn add(
    found: &mut Candidates,
    history: &History,
    clocks: &Clocks,
    Pair { read, write }: Pair,
    spot: [u64; 3],
    bounds: Bounds,
    count: u64,
) {
    let accesses = history.accesses(read.variable);
    let middle = accesses.partition_point(|&at| at <= read.last);
    let (before, behind) = accesses.split_at(middle);
    let near = before.iter().rev().take(bounds.around).chain(behind.iter().take(bounds.around));
    let lane = history.step(read.last).lane;
    for &culprit in near {
        let step = history.step(culprit);
        if step.lane == lane
            || !step.op.writes()
            || clocks.precedes(history, culprit, read.first)
            || clocks.precedes(history, write.last, culprit)
        {
            continue;
        }
        let tight = Steps::of_one(read.last, culprit, write.first);
        let known = found.classes.entry(Class::of(history, Access::Read, &tight, spot)).or_default();
        known.count = known.count.max(count);
        known.add(tight);
        known.add(Steps::of_one(read.first, culprit, write.last));
    }
}
