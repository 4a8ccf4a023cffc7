//! The rules of the paper: A. Sinha, S. Malik, A. Gupta, Efficient predictive analysis for detecting nondeterminism in multi-threaded
//! programs, FMCAD 2012.
//!
//! All steps of the run happen, in some order. The order of the witness, program order, waits, and every other write before the reads that saw it
//! make a graph, and so does, until nothing changes, each section that has to come before another one of its lock. A cycle refutes the witness. Sections
//! that are still unordered and lie on a way that would close a cycle are put into every order; one graph without a cycle is enough.
//!
//! For comparison only: each witness costs at least one walk through the whole run.

use super::super::history::{At, History, NONE, Op};
use super::super::search::{Budget, needs};
use super::{Phase, Verdict, Way, Witness};

/// A section: its first and its last step, in the run.
#[derive(Clone, Copy)]
struct Scope {
    begin: At,
    end: At,
}

pub struct Paper<'a> {
    pub history: &'a History,
    budget: Budget,
    place: Vec<At>,
    /// What comes directly after each step, beside the reads that saw it.
    edges: Vec<Vec<At>>,
    /// Pairs of sections that exclude each other, in the order of the run.
    pairs: Vec<(Scope, Scope)>,
    scopes: Vec<Scope>,
}

/// For each step and lane how many steps of the lane come before it.
struct Order {
    lanes: usize,
    bounds: Vec<At>,
}

impl<'a> Paper<'a> {
    pub fn new(history: &'a History, budget: Budget) -> Paper<'a> {
        let mut place = vec![0; history.steps.len()];
        let mut edges = vec![Vec::new(); history.steps.len()];
        for lane in &history.lanes {
            for (number, &at) in (0..).zip(lane) {
                place[at as usize] = number;
            }
            for pair in lane.windows(2) {
                edges[pair[0] as usize].push(pair[1]);
            }
        }
        let mut scopes = Vec::new();
        for (at, step) in (0..).zip(&history.steps) {
            for before in needs(history, at) {
                edges[before as usize].push(at);
            }
            if matches!(step.op, Op::Acquire | Op::AcquireShared) {
                let last = history.lanes[step.lane as usize].last().copied().unwrap_or(at);
                scopes.push(Scope { begin: at, end: if step.link == NONE { last } else { step.link } });
            }
        }
        let mut pairs = Vec::new();
        for (number, &one) in scopes.iter().enumerate() {
            let mine = history.step(one.begin);
            pairs.extend(scopes[number + 1..].iter().filter_map(|&other| {
                let yours = history.step(other.begin);
                let are_shared = mine.op == Op::AcquireShared && yours.op == Op::AcquireShared;
                (mine.object == yours.object && mine.lane != yours.lane && !are_shared).then_some((one, other))
            }));
        }
        Paper { history, budget, place, edges, pairs, scopes }
    }

    pub fn judge(&self, witness: Witness) -> (Verdict, Phase) {
        let goals: Vec<At> = witness.order().into_iter().filter(|&goal| goal != NONE).collect();
        let mut edges = self.edges.clone();
        for (at, step) in (0..).zip(&self.history.steps) {
            if step.op.reads() && step.link != NONE && at != witness.read {
                edges[step.link as usize].push(at);
            }
        }
        for pair in goals.windows(2) {
            edges[pair[0] as usize].push(pair[1]);
        }
        let Some(order) = self.induce(&mut edges) else { return (Verdict::Infeasible, Phase::Order) };
        let is_after_writer = |&goal: &At| order.has(self, witness.writer, goal);
        if witness.way == Way::Without && goals.iter().any(is_after_writer) {
            return (Verdict::Infeasible, Phase::Order);
        }
        let choices = self.choices(&edges, &order, &goals);
        if choices.is_empty() {
            return (Verdict::Feasible, Phase::Order);
        }
        self.choose(&edges, &choices, witness, &goals)
    }

    /// Adds the edges between sections that the others imply. None if there is a cycle.
    fn induce(&self, edges: &mut [Vec<At>]) -> Option<Order> {
        loop {
            let order = Order::of(self, edges)?;
            let mut changed = false;
            for &(one, other) in &self.pairs {
                for (first, second) in [(one, other), (other, one)] {
                    if order.has(self, first.begin, second.end) && !order.has(self, first.end, second.begin) {
                        edges[first.end as usize].push(second.begin);
                        changed = true;
                    }
                }
            }
            if !changed {
                return Some(order);
            }
        }
    }

    /// The unordered pairs of sections on ways that close an edge of the witness, if sections are points and unordered ones are joined both ways.
    fn choices(&self, edges: &[Vec<At>], order: &Order, goals: &[At]) -> Vec<(Scope, Scope)> {
        let is_open = |&&(one, other): &&(Scope, Scope)| {
            !order.has(self, one.begin, other.end) && !order.has(self, other.begin, one.end)
        };
        let open: Vec<(Scope, Scope)> = self.pairs.iter().filter(is_open).copied().collect();
        let joins = open.iter().flat_map(|&(one, other)| [(one.end, other.begin), (other.end, one.begin)]);
        let joins = joins.chain(self.scopes.iter().map(|scope| (scope.end, scope.begin)));
        let mut forwards = edges.to_vec();
        joins.for_each(|(from, to)| forwards[from as usize].push(to));
        let mut backwards = vec![Vec::new(); forwards.len()];
        for (from, all) in (0..).zip(&forwards) {
            for &to in all {
                backwards[to as usize].push(from);
            }
        }
        let mut is_chosen = vec![false; open.len()];
        for pair in goals.windows(2) {
            let (from, to) = (reached(&forwards, pair[1]), reached(&backwards, pair[0]));
            for (is_chosen, &(one, other)) in is_chosen.iter_mut().zip(&open) {
                let joins = |first: Scope, second: Scope| from[first.end as usize] && to[second.begin as usize];
                *is_chosen |= joins(one, other) || joins(other, one);
            }
        }
        open.iter().zip(is_chosen).filter(|(_, is_chosen)| *is_chosen).map(|(&pair, _)| pair).collect()
    }

    /// Tries the orders of the chosen pairs, that of the run first.
    fn choose(
        &self,
        edges: &[Vec<At>],
        choices: &[(Scope, Scope)],
        witness: Witness,
        goals: &[At],
    ) -> (Verdict, Phase) {
        let graphs = u32::try_from(choices.len()).ok().and_then(|pairs| 1_u64.checked_shl(pairs));
        let graphs = graphs.unwrap_or(u64::MAX);
        let most = u64::from(self.budget.choices);
        for graph in 0..graphs.min(most) {
            let mut edges = edges.to_vec();
            for (number, &(one, other)) in choices.iter().enumerate() {
                let is_swapped = number < 64 && graph >> number & 1 == 1;
                let (first, second) = if is_swapped { (other, one) } else { (one, other) };
                edges[first.end as usize].push(second.begin);
            }
            let is_without = |order: &Order| {
                witness.way != Way::Without || !goals.iter().any(|&goal| order.has(self, witness.writer, goal))
            };
            if Order::of(self, &edges).is_some_and(|order| is_without(&order)) {
                return (Verdict::Feasible, Phase::Choice(graph + 1));
            }
        }
        if graphs <= most {
            (Verdict::Infeasible, Phase::Choice(graphs))
        } else {
            (Verdict::Undecided, Phase::Choice(most))
        }
    }
}

/// What can be reached from a step, itself included.
fn reached(edges: &[Vec<At>], from: At) -> Vec<bool> {
    let mut is_reached = vec![false; edges.len()];
    let mut work = vec![from];
    while let Some(at) = work.pop() {
        if !std::mem::replace(&mut is_reached[at as usize], true) {
            work.extend(&edges[at as usize]);
        }
    }
    is_reached
}

impl Order {
    /// None if there is a cycle.
    fn of(paper: &Paper<'_>, edges: &[Vec<At>]) -> Option<Order> {
        let lanes = paper.history.lanes.len();
        let mut order = Order { lanes, bounds: vec![0; lanes * edges.len()] };
        let mut missing = vec![0_u32; edges.len()];
        edges.iter().flatten().for_each(|&to| missing[to as usize] += 1);
        let mut ready: Vec<At> = (0..edges.len() as At).filter(|&at| missing[at as usize] == 0).collect();
        let mut done = 0;
        while let Some(at) = ready.pop() {
            done += 1;
            let lane = paper.history.step(at).lane as usize;
            order.bounds[at as usize * lanes + lane] = paper.place[at as usize] + 1;
            for &to in &edges[at as usize] {
                for lane in 0..lanes {
                    let bound = order.bounds[at as usize * lanes + lane];
                    let known = &mut order.bounds[to as usize * lanes + lane];
                    *known = (*known).max(bound);
                }
                missing[to as usize] -= 1;
                if missing[to as usize] == 0 {
                    ready.push(to);
                }
            }
        }
        (done == edges.len()).then_some(order)
    }

    /// Whether the first step comes before the second, or is it.
    fn has(&self, paper: &Paper<'_>, before: At, at: At) -> bool {
        let lane = paper.history.step(before).lane as usize;
        paper.place[before as usize] < self.bounds[at as usize * self.lanes + lane]
    }
}
