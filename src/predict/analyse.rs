//! All predictions of a run, on all cores. The result is the same however many there are, unless it was broken off.

use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::{FxHashMap, FxHashSet};

use super::clocks::Clocks;
use super::crossings::{self, Bounds};
use super::cut_points::{self, Alike, Blocks, Candidates};
use super::decide::{self, Decision};
use super::dependency;
use super::filter::Reason;
use super::history::{At, History, Lane};
use super::parallel::{in_parallel, share};
use super::prediction::{Prediction, Shape, Steps};
use super::search::Budget;
use super::stale;
use super::views::{self, Access, Views};

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Config {
    pub cut_points: bool,
    pub crossings: bool,
    pub blocks: Blocks,
    pub bounds: Bounds,
    /// Nothing if they are not wanted.
    pub views: Option<views::Bounds>,
    pub stale_values: Option<views::Bounds>,
    /// Judges reads as the published filter does.
    pub paper: bool,
    pub budget: Budget,
    pub jobs: usize,
    pub selection: Selection,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            cut_points: true,
            crossings: true,
            blocks: Blocks::All,
            bounds: Bounds::NEAR,
            views: None,
            stale_values: None,
            paper: false,
            budget: Budget::BRIEF,
            jobs: 1,
            selection: Selection::default(),
        }
    }
}

/// What a candidate has to be about; what is not said may be anything.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// One of its variables.
    pub variables: Option<FxHashSet<u32>>,
    /// One of its threads.
    pub lanes: Option<FxHashSet<Lane>>,
    /// One of its code locations.
    pub codes: Option<FxHashSet<u32>>,
}

impl Selection {
    fn allows(&self, history: &History, steps: &Steps) -> bool {
        let all = steps.all().map(|at| history.step(at));
        self.variables.as_ref().is_none_or(|wanted| all.iter().any(|step| wanted.contains(&step.object)))
            && self.lanes.as_ref().is_none_or(|wanted| all.iter().any(|step| wanted.contains(&step.lane)))
            && self.codes.as_ref().is_none_or(|wanted| all.iter().any(|step| wanted.contains(&step.code)))
    }
}

/// Who watches: may break the work off, and is told how far it is.
pub struct Watch<'a> {
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// So many of so many candidates are decided.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// A candidate that locks and waits would allow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filtered {
    pub shape: Shape,
    pub steps: Steps,
    pub reason: Reason,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    pub predictions: Vec<Prediction>,
    pub filtered: Vec<Filtered>,
    /// Groups of candidates with the same code locations.
    pub classes: usize,
    /// Those that would have cost more than they may.
    pub undecided: usize,
    /// Those that nobody came to before the work was broken off.
    pub unexamined: usize,
    /// It was broken off before all candidates were known.
    pub is_broken_off: bool,
    /// Accesses that were too many of their kind to be told apart.
    pub left_out: u64,
    /// Blocks and reads that views and stale values did not look back to.
    pub forgotten: u64,
}

/// One class of candidates, to be tried in this order until one is predicted.
struct Class {
    shape: Shape,
    candidates: Vec<Steps>,
    count: u64,
}

enum Decided {
    Predicted(Prediction),
    Filtered(Filtered),
    Impossible,
    Undecided,
}

/// Finds what other orders of a run would show.
#[must_use]
pub fn analyse(history: &History, config: &Config, watch: &Watch<'_>) -> Report {
    let mut report = Report::default();
    let clocks = Clocks::new(history);
    let mut classes = Vec::new();
    if config.cut_points {
        let candidates = cut_points(history, &clocks, config, watch);
        report.left_out = candidates.left_out;
        let mut alike: Vec<_> = candidates.classes.into_iter().collect();
        alike.sort_unstable_by_key(|(class, _)| *class);
        classes.extend(alike.into_iter().map(|(class, Alike { nearest, count, .. })| Class {
            shape: Shape::One(class.pattern),
            candidates: nearest,
            count,
        }));
    }
    if config.crossings && !(watch.stop)() {
        let candidates = crossings::look_at(history, &clocks, config.blocks, config.bounds);
        report.left_out += candidates.left_out;
        let mut alike: Vec<_> = candidates.classes.into_iter().collect();
        alike.sort_unstable_by_key(|(class, _)| *class);
        classes.extend(alike.into_iter().map(|(_, mut alike)| {
            let count = alike.len() as u64;
            alike.truncate(cut_points::MOST_ALIKE);
            Class { shape: Shape::Two, candidates: alike, count }
        }));
    }
    let views = (config.views.is_some() || config.stale_values.is_some()).then(|| Views::of(history));
    if let Some(views) = &views {
        let (left_out, forgotten) = add_views(history, &clocks, views, config, watch, &mut classes);
        report.left_out += left_out;
        report.forgotten = forgotten;
    }
    classes.retain_mut(|class| {
        class.candidates.retain(|steps| config.selection.allows(history, steps));
        !class.candidates.is_empty()
    });
    report.is_broken_off = (watch.stop)();
    report.classes = classes.len();
    let done = AtomicUsize::new(0);
    let decided = in_parallel(config.jobs, classes.len(), watch.stop, |index| {
        let decided = decide(history, config, views.as_ref(), &classes[index]);
        (watch.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, classes.len());
        decided
    });
    for decided in decided {
        match decided {
            Some(Decided::Predicted(prediction)) => report.predictions.push(prediction),
            Some(Decided::Filtered(filtered)) => report.filtered.push(filtered),
            Some(Decided::Impossible) => {}
            Some(Decided::Undecided) => report.undecided += 1,
            None => report.unexamined += 1,
        }
    }
    dependency::judge(&mut report, history, views.as_ref());
    report
}

fn cut_points(history: &History, clocks: &Clocks, config: &Config, watch: &Watch<'_>) -> Candidates {
    /// Variables that are looked at in one go.
    const BATCH: usize = 4;
    let variables = history.variables.len();
    // Many variables have the same classes: each worker collects its own, and not each batch.
    let found = share(config.jobs, variables.div_ceil(BATCH), watch.stop, |batch, candidates: &mut Candidates| {
        for variable in batch * BATCH..variables.min((batch + 1) * BATCH) {
            cut_points::look_at(history, clocks, variable as u32, config.blocks, candidates);
        }
    });
    let mut all = Candidates::default();
    for candidates in found {
        all.merge(candidates);
    }
    all
}

/// The candidates that whole atomic blocks give; returns what was left out, and what was forgotten.
fn add_views(
    history: &History,
    clocks: &Clocks,
    views: &Views,
    config: &Config,
    watch: &Watch<'_>,
    classes: &mut Vec<Class>,
) -> (u64, u64) {
    let Config { blocks, jobs, .. } = *config;
    let mut lost = (0, 0);
    let mut add = |found: views::Candidates, shape| {
        lost = (lost.0 + found.left_out, lost.1 + found.forgotten);
        classes.extend(in_order(found.classes, shape));
    };
    if let Some(bounds) = config.views.filter(|_| !(watch.stop)()) {
        add(views::look_at(history, clocks, views, blocks, bounds, jobs, watch.stop), Shape::View);
    }
    if let Some(bounds) = config.stale_values.filter(|_| !(watch.stop)()) {
        add(stale::look_at(history, clocks, views, blocks, bounds, jobs, watch.stop), Shape::Stale);
    }
    lost
}

/// Classes of one shape, always in the same order.
fn in_order<K: Ord + Copy>(classes: FxHashMap<K, Alike>, shape: Shape) -> impl Iterator<Item = Class> {
    let mut classes: Vec<_> = classes.into_iter().collect();
    classes.sort_unstable_by_key(|(class, _)| *class);
    classes.into_iter().map(move |(_, Alike { nearest, count, .. })| Class { shape, candidates: nearest, count })
}

/// The maximal view that a candidate splits, its own two variables first.
fn split(history: &History, views: &Views, steps: &Steps) -> Vec<u32> {
    let lane = history.step(steps.culprit).lane;
    let mine = [steps.first, steps.second].map(|at| history.step(at).object);
    let access = if history.step(steps.first).op.reads() && history.step(steps.culprit).op.writes() {
        Access::Write
    } else {
        Access::Read
    };
    let block = views.around(lane, steps.culprit, access, mine);
    let all = block.map(|block| views.maximal(lane, block, access)).unwrap_or_default();
    mine.into_iter().chain(all.into_iter().filter(|variable| !mine.contains(variable))).collect()
}

fn decide(history: &History, config: &Config, views: Option<&Views>, class: &Class) -> Decided {
    let mut is_undecided = false;
    for &steps in &class.candidates {
        match decide::decide(history, &steps, config.paper, config.budget) {
            Decision::Predicted(order) => {
                let block = block(history, config.blocks, steps.first, steps.second);
                let view = views.filter(|_| class.shape == Shape::View).map(|views| split(history, views, &steps));
                return Decided::Predicted(Prediction {
                    shape: class.shape,
                    steps,
                    block,
                    order,
                    alike: class.count,
                    view: view.unwrap_or_default(),
                    dependency: None,
                });
            }
            Decision::Undecided => is_undecided = true,
            Decision::Impossible => {}
        }
    }
    if is_undecided {
        return Decided::Undecided;
    }
    // The nearest one is the likeliest, and may speak for the others.
    let Some(&steps) = class.candidates.first() else { return Decided::Impossible };
    let filtered = |reason| Decided::Filtered(Filtered { shape: class.shape, steps, reason });
    decide::why_not(history, &steps, config.budget).map_or(Decided::Impossible, filtered)
}

fn block(history: &History, blocks: Blocks, first: At, second: At) -> u32 {
    blocks.around(history, first, second).unwrap_or(history.step(first).frame)
}
