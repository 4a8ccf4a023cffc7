//! Where two blocks of one transaction split what a block of another thread accesses together.

use rustc_hash::FxHashMap;

use super::blocks::{Access, Block, Touch, Turn, Views};
use super::candidates::{Bounds, Candidates, Class, is_one_work, spot};
use crate::predict::clocks::Clocks;
use crate::predict::cut_points::Blocks;
use crate::predict::history::{History, Lane};
use crate::predict::parallel::in_parallel;
use crate::predict::prediction::Steps;

/// A block that accesses two variables.
#[derive(Clone, Copy)]
struct Both {
    lane: Lane,
    /// Of the variable with the smaller number, and of the other.
    low: Touch,
    high: Touch,
}

impl Both {
    fn of(&self, variable: u32) -> Touch {
        if self.low.variable == variable { self.low } else { self.high }
    }
}

/// The blocks that access two variables together.
#[derive(Default)]
struct Together {
    of: FxHashMap<(u32, u32), Vec<Both>>,
    partners: FxHashMap<u32, Vec<u32>>,
    left_out: u64,
}

/// Goes through the views of a run.
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
    let mut all = Candidates::default();
    for access in Access::ALL {
        // Reads are torn by who writes, and writes for who reads.
        let together = Together::collect(history, views, access.opposite(), bounds, jobs, stop);
        all.left_out += together.left_out;
        let found = in_parallel(jobs, history.lanes.len(), stop, |lane| {
            let mut walk = Walk {
                history,
                clocks,
                views,
                blocks,
                together: &together,
                lane: lane as Lane,
                access,
                found: Candidates::default(),
            };
            walk.go(bounds);
            walk.found
        });
        found.into_iter().flatten().for_each(|found| all.merge(found));
    }
    all
}

/// Who accesses each variable, as bits; threads beyond the last bit share it.
fn lanes(history: &History, access: Access) -> Vec<u64> {
    let mut lanes = vec![0u64; history.variables.len()];
    for step in history.steps.iter().filter(|step| step.op.is_access() && access.is_done_by(step.op)) {
        lanes[step.object as usize] |= bit(step.lane);
    }
    lanes
}

const SHARED_BIT: Lane = 63;

const fn bit(lane: Lane) -> u64 {
    1 << if lane < SHARED_BIT { lane } else { SHARED_BIT }
}

impl Together {
    fn collect(
        history: &History,
        views: &Views,
        access: Access,
        bounds: Bounds,
        jobs: usize,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Together {
        let opposite = lanes(history, access.opposite());
        let of_lanes = in_parallel(jobs, history.lanes.len(), stop, |lane| {
            OfLane::collect(history, views, lane as Lane, access, bounds, &opposite)
        });
        let mut together = Together::default();
        for OfLane { pairs, left_out, .. } in of_lanes.into_iter().flatten() {
            together.left_out += left_out;
            for both in pairs {
                together.of.entry((both.low.variable, both.high.variable)).or_default().push(both);
            }
        }
        let mut pairs: Vec<(u32, u32)> = together.of.keys().copied().collect();
        pairs.sort_unstable();
        for (low, high) in pairs {
            for (one, other) in [(low, high), (high, low)] {
                let partners = together.partners.entry(one).or_default();
                if partners.len() < bounds.partners {
                    partners.push(other);
                } else {
                    together.left_out += 1;
                }
            }
        }
        together
    }
}

/// Pairs of variables: where the latest of each is, and how many there were.
type Known = FxHashMap<(u32, u32), (usize, u64)>;

/// The pairs of variables that one thread accesses together.
#[derive(Default)]
struct OfLane {
    pairs: Vec<Both>,
    /// Of each two code locations.
    alike: FxHashMap<(u32, u32), Known>,
    left_out: u64,
}

impl OfLane {
    fn collect(
        history: &History,
        views: &Views,
        lane: Lane,
        access: Access,
        bounds: Bounds,
        opposite: &[u64],
    ) -> OfLane {
        let mut found = OfLane::default();
        let others = |variable: u32| opposite[variable as usize] & !(bit(lane) & !bit(SHARED_BIT));
        for block in views.blocks(lane) {
            let view = views.view(lane, block, access);
            let mut touched = view.iter().filter(|touch| others(touch.variable) != 0);
            let wide: Vec<Touch> = touched.by_ref().take(bounds.wide).copied().collect();
            found.left_out += touched.count() as u64;
            for (index, &low) in wide.iter().enumerate() {
                for &high in &wide[index + 1..] {
                    // Somebody else must have accessed both.
                    if others(low.variable) & others(high.variable) != 0 {
                        found.add(history, Both { lane, low, high }, bounds);
                    }
                }
            }
        }
        found
    }

    fn add(&mut self, history: &History, both: Both, bounds: Bounds) {
        let code = |touch: Touch| history.step(touch.first).code;
        let known = self.alike.entry((code(both.low), code(both.high))).or_default();
        let is_full = known.len() >= bounds.alike;
        let variables = (both.low.variable, both.high.variable);
        match known.get_mut(&variables) {
            None if is_full => self.left_out += 1,
            None => {
                known.insert(variables, (self.pairs.len(), 1));
                self.pairs.push(both);
            }
            // What comes first is often before there are other threads, so the latest is kept beside it.
            Some((latest, count)) if *count == 1 || bounds.alike == usize::MAX => {
                (*latest, *count) = (self.pairs.len(), *count + 1);
                self.pairs.push(both);
            }
            Some((latest, count)) => {
                self.pairs[*latest] = both;
                *count += 1;
            }
        }
    }
}

/// Goes through the blocks of one thread.
struct Walk<'a> {
    history: &'a History,
    clocks: &'a Clocks,
    views: &'a Views,
    blocks: Blocks,
    together: &'a Together,
    lane: Lane,
    access: Access,
    found: Candidates,
}

impl Walk<'_> {
    fn go(&mut self, bounds: Bounds) {
        // The latest blocks that are over and have a variable.
        let mut before: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        let (views, lane) = (self.views, self.lane);
        let blocks = views.blocks(lane);
        views.go_through(lane, |turn| match turn {
            Turn::Begins(number) => {
                let block = &blocks[number as usize];
                for touch in views.view(lane, block, self.access) {
                    for partner in self.together.partners.get(&touch.variable).into_iter().flatten() {
                        for &earlier in before.get(partner).into_iter().flatten() {
                            self.pair(*partner, &blocks[earlier as usize], touch, block);
                        }
                    }
                }
            }
            Turn::Ends(number) => {
                for touch in views.view(lane, &blocks[number as usize], self.access) {
                    if self.together.partners.contains_key(&touch.variable) {
                        let latest = before.entry(touch.variable).or_default();
                        if latest.len() >= bounds.before {
                            let [oldest, newest] = [latest.remove(0), number].map(|it| blocks[it as usize].begin);
                            let is_missed = is_one_work(self.history, self.blocks, oldest, newest);
                            self.found.forgotten += u64::from(is_missed);
                        }
                        latest.push(number);
                    }
                }
            }
        });
    }

    /// Two blocks, of which the first has the one variable and the second the other one.
    fn pair(&mut self, partner: u32, one: &Block, touch: &Touch, other: &Block) {
        let has = |block, variable| self.views.touch(self.lane, block, self.access, variable);
        if has(one, touch.variable).is_some() || has(other, partner).is_some() {
            return;
        }
        let Some(first) = has(one, partner) else { return };
        let Some(spot) = spot(self.history, self.blocks, first.last, touch.first) else { return };
        let together = self.together;
        let key = (partner.min(touch.variable), partner.max(touch.variable));
        for both in together.of.get(&key).into_iter().flatten().filter(|both| both.lane != self.lane) {
            let (culprit, culprit_too) = (both.of(partner), both.of(touch.variable));
            // What asks least of the order of the locks, and what asks least of all that happens on the way.
            let loose =
                Steps { first: first.first, culprit: culprit.last, culprit_too: culprit_too.first, second: touch.last };
            let tight =
                Steps { first: first.last, culprit: culprit.first, culprit_too: culprit_too.last, second: touch.first };
            if self.clocks.precedes(self.history, loose.culprit, loose.first)
                || self.clocks.precedes(self.history, loose.second, loose.culprit_too)
            {
                continue;
            }
            let class = Class::of(self.history, self.access, &tight, spot);
            let known = self.found.classes.entry(class).or_default();
            known.count += 1;
            known.add(tight);
            known.add(loose);
        }
    }
}
