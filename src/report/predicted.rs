//! Makes a finding from a prediction: names for its steps, its strength, the order that shows it, and why that is possible.

use rustc_hash::FxHashMap;

use crate::analysis::Transaction;
use crate::causal::{self, Answer};
use crate::predict::history::{Allocation as Allocated, At, History, NONE, Op, Step, VariableInfo};
use crate::predict::prediction::{Prediction, Shape, Steps};
use crate::predict::search::Order;
use crate::report::diagram::{self, LEFT_OUT, Row};
use crate::report::finding::{
    Action, Allocation, Analysis, Dependency, Finding, Frame, Kind, Link, Lock, Operation, Pattern, Rung, Section,
    Strength, Variable, more_than,
};
use crate::report::reporter::Process;
use crate::report::resolve::{Resolver, is_loop, of_library, suppression, transaction_name, user_frame};
use crate::report::sentence::sentence;
use crate::report::specification::Specification;
use crate::report::symbols::Symbols;

/// Lines of a diagram, the names of the threads not counted.
const MOST_ROWS: usize = 13;
/// Locks of an access that a diagram shows, if there is room: the innermost.
const MOST_LOCKS: usize = 3;
/// Variables of a view that are told.
const MOST_OF_A_VIEW: usize = 32;

/// The finding that a prediction makes, or nothing if the specification calls no block around it atomic. The id is not given yet.
pub fn finding(
    prediction: &Prediction,
    found_by: Analysis,
    history: &History,
    symbols: &mut Symbols,
    specification: &mut Specification,
    process: &dyn Process,
) -> Option<Finding> {
    let common = history.frames.stack(prediction.block);
    let blamed = specification.blame(&common, &mut |t| transaction_name(symbols, t))?;
    let mut story = Story { resolver: Resolver { symbols, process }, history, prediction };
    let Steps { first, culprit, culprit_too, second } = prediction.steps;
    let threads = [history.thread(first), history.thread(culprit)];

    let pattern = Pattern::from(prediction.shape);
    let (first_at, second_at) = story.locations(first, second, common.len());
    let base = story.resolver.base(&common, threads[0]);
    let is_base = matches!(common[blamed], Transaction::Function { .. }) && blamed < base;
    let strength = if story.is_of_library(common.len()) {
        Strength::Base
    } else {
        story.strength(is_base, is_loop(&first_at, &second_at))
    };

    let block = story.resolver.block(&common[blamed]);
    let [first_sections, second_sections] = story.own_sections(common.len());
    let second_culprit = (!prediction.steps.have_one_culprit()).then_some(culprit_too);
    let mut finding = Finding {
        id: 0,
        same_as: None,
        kind: story.kind(),
        rung: Rung::Conflicting,
        strength,
        pattern: Some(pattern),
        found_by: vec![found_by],
        data: None,
        sentence: String::new(),
        also_split: story.resolver.also_split(&common, base, blamed, specification),
        first: story.access(first, first_at, first_sections)?,
        culprit: story.culprit(culprit)?,
        culprit_too: second_culprit.and_then(|at| story.culprit(at)),
        second: story.access(second, second_at, second_sections)?,
        lock: None,
        variables: story.variables(),
        view: story.view(),
        view_more: more_than(MOST_OF_A_VIEW, prediction.view.len()),
        dependency: story.dependency(),
        diagram: Vec::new(),
        because: None,
        trial: None,
        threads: story.resolver.threads(&threads),
        suppression: suppression(&block),
        block,
    };
    finding.lock = common_lock(&finding);
    finding.diagram = story.diagram(&finding);
    finding.because = Some(story.because(&finding));
    finding.sentence = sentence(&finding);
    Some(finding)
}

/// A prediction, with all that its steps are known by.
struct Story<'a> {
    resolver: Resolver<'a>,
    history: &'a History,
    prediction: &'a Prediction,
}

impl Story<'_> {
    /// How likely it is a bug, given whether the block is all that its thread does, and whether its accesses are two turns of a loop.
    fn strength(&mut self, is_base: bool, is_loop: bool) -> Strength {
        let shape = self.prediction.shape;
        match shape {
            Shape::Two if is_base || self.culprit_is_base() => Strength::Base,
            Shape::Two | Shape::View if is_loop || self.culprit_is_loop() => Strength::Loop,
            Shape::View if self.goes_back() => Strength::Loop,
            Shape::Two if !self.variables_belong_together() => Strength::Unrelated,
            // The culprit accesses the two in one atomic block, whatever its function is.
            Shape::View if is_base && !(self.block_reads() && self.come_together()) => Strength::Base,
            // One of the writes may be a count, which fits whatever was there.
            Shape::View if !self.block_reads() && self.is_unknown() => Strength::Assumed,
            Shape::Stale if !self.is_proven() && !self.writes_back() => Strength::Assumed,
            // What is read under one lock and used under another that nobody takes with it was seldom meant to hold until then.
            Shape::Stale if !self.locks_are_related() => Strength::Unrelated,
            // A thread does one thing after the other: that a value steers what it does next is no reason to take all for one.
            Shape::Stale if is_base && !self.writes_back() => Strength::Base,
            Shape::One(_) if is_base && (is_loop || !self.writes_back()) => Strength::Base,
            Shape::One(_) | Shape::Stale if is_loop => Strength::Loop,
            _ => Strength::Strong,
        }
    }

    /// Whether one variable is accessed twice, or two of which somebody takes the locks together.
    fn locks_are_related(&self) -> bool {
        let Steps { first, second, .. } = self.prediction.steps;
        let [one, other] = [first, second].map(|at| self.history.step(at));
        one.object == other.object || self.history.holds.are_related(one.hold, other.hold)
    }

    /// Whether both accesses, and the innermost of so many transactions around them, are the C++ library's: what it does inside of one call is its own matter.
    fn is_of_library(&mut self, common: usize) -> bool {
        let Steps { first, second, .. } = self.prediction.steps;
        [first, second].into_iter().all(|at| {
            let stack = self.history.stack(at);
            let symbols = &mut *self.resolver.symbols;
            let inner = &stack[common.saturating_sub(1).min(stack.len())..];
            !inner.is_empty()
                && inner
                    .iter()
                    .all(|it| matches!(it, Transaction::Function { .. }) && of_library(&transaction_name(symbols, it)))
        })
    }

    /// Whether the program's code tells that the two accesses have to do with each other.
    const fn is_proven(&self) -> bool {
        matches!(self.prediction.dependency, Some(Answer::Depends(_)))
    }

    /// Whether it was asked, and could not be told.
    const fn is_unknown(&self) -> bool {
        matches!(self.prediction.dependency, Some(Answer::Unknown))
    }

    /// Whether the program's code puts together in the block what its two accesses read.
    fn come_together(&self) -> bool {
        let Steps { first, second, .. } = self.prediction.steps;
        let code = self.history.code.as_ref();
        code.is_some_and(|code| matches!(code.come_together(self.history, first, second), Answer::Depends(_)))
    }

    /// Whether by the program's code the second access comes only in a new turn of a loop.
    fn goes_back(&self) -> bool {
        let Steps { first, second, .. } = self.prediction.steps;
        self.history.code.as_ref().is_some_and(|code| code.goes_back(self.history, first, second))
    }

    /// Whether the block looks at two variables, and does not set them.
    fn block_reads(&self) -> bool {
        let Steps { first, second, .. } = self.prediction.steps;
        [first, second].iter().all(|&at| self.history.step(at).op.reads())
    }

    /// What the culprit accesses together, as far as people want to read it.
    fn view(&mut self) -> Vec<Variable> {
        let history = self.history;
        let told = self.prediction.view.iter().take(MOST_OF_A_VIEW);
        told.map(|&object| self.variable(&history.variables[object as usize])).collect()
    }

    fn dependency(&self) -> Option<Dependency> {
        // What the compiler made for itself has no place in the source.
        let link = |link: &causal::Link| {
            let at = link.at.as_ref()?;
            let (line, column) = (Some(at.line), Some(at.column));
            let at = Frame { file: Some(at.file.to_string()), line, column, ..Frame::default() };
            Some(Link { what: link.what.clone(), at })
        };
        match self.prediction.dependency.as_ref()? {
            Answer::Depends(chain) => Some(Dependency::proven(chain.iter().filter_map(link).collect())),
            Answer::Unknown if self.history.code.is_some() => Some(Dependency::open()),
            Answer::Unknown | Answer::Independent => Some(Dependency::assumed()),
        }
    }

    /// Where the culprit stood in the recorded run.
    fn kind(&self) -> Kind {
        let Steps { first, culprit, culprit_too, second } = self.prediction.steps;
        if culprit > first && culprit_too < second {
            Kind::In
        } else if culprit < first {
            Kind::Before
        } else {
            Kind::After
        }
    }

    /// Where in an invocation `depth` transactions deep two of its steps are, or the calls that lead to them.
    fn locations(&mut self, first: At, second: At, depth: usize) -> (Frame, Frame) {
        let history = self.history;
        let in_block = |at| history.stack(at).get(depth).map_or(history.pc(at), Transaction::opened_at);
        self.resolver.locations(in_block(first), in_block(second))
    }

    /// The invocation around both accesses of the culprit.
    fn culprit_block(&self) -> Option<u32> {
        let Steps { culprit, culprit_too, .. } = self.prediction.steps;
        self.history.frames.common(self.history.step(culprit).frame, self.history.step(culprit_too).frame)
    }

    /// Whether the culprit's block is all that its thread does, or there is none.
    fn culprit_is_base(&mut self) -> bool {
        let Some(block) = self.culprit_block() else { return true };
        let stack = self.history.frames.stack(block);
        let base = self.resolver.base(&stack, self.history.thread(self.prediction.steps.culprit));
        stack.last().is_none_or(|block| matches!(block, Transaction::Function { .. }) && stack.len() <= base)
    }

    /// Whether the culprit accesses its two variables at the same place.
    fn culprit_is_loop(&mut self) -> bool {
        let Some(block) = self.culprit_block() else { return false };
        let Steps { culprit, culprit_too, .. } = self.prediction.steps;
        let depth = self.history.frames.stack(block).len();
        let (one, other) = self.locations(culprit.min(culprit_too), culprit.max(culprit_too), depth);
        is_loop(&one, &other)
    }

    /// Whether one block writes both variables, and the other one reads or writes both. Or all four are atomic operations, each block writes one
    /// variable and looks at the other: then the two look at each other's steps.
    fn variables_belong_together(&self) -> bool {
        let Steps { first, culprit, culprit_too, second } = self.prediction.steps;
        let both = |one, other, does: fn(Op) -> bool| [one, other].iter().all(|&at| does(self.history.step(at).op));
        let block_writes = both(first, second, Op::writes);
        let culprit_writes = both(culprit, culprit_too, Op::writes);
        let are_atomic = both(first, second, Op::is_atomic) && both(culprit, culprit_too, Op::is_atomic);
        (block_writes && (culprit_writes || both(culprit, culprit_too, Op::reads)))
            || (culprit_writes && both(first, second, Op::reads))
            || are_atomic
    }

    /// Whether the block reads a value and later writes the variable without reading it again: what it writes comes from what it read.
    fn writes_back(&self) -> bool {
        let Steps { first, second, .. } = self.prediction.steps;
        let (one, other) = (self.history.step(first), self.history.step(second));
        if one.object != other.object {
            return false;
        }
        let accesses = self.history.accesses(one.object);
        let between = accesses[accesses.partition_point(|&at| at <= first)..].iter().take_while(|&&at| at <= second);
        let reads_again = |&at: &At| {
            let step = self.history.step(at);
            step.lane == one.lane && step.op.reads()
        };
        one.op.reads() && matches!(other.op, Op::Write | Op::Store) && !between.into_iter().any(reads_again)
    }

    /// The critical sections around the block's two accesses. Of two sections of one lock that the block itself opens, the places are told apart as
    /// in a finding about that lock.
    fn own_sections(&mut self, depth: usize) -> [Vec<Section>; 2] {
        let Steps { first, second, .. } = self.prediction.steps;
        let acquires = [first, second].map(|at| self.history.held(at));
        let mut places = [first, second].map(|at| self.places_of_locks(at));
        for (index, &one) in acquires[0].iter().enumerate() {
            let is_other =
                |&other: &At| one != other && self.history.step(one).object == self.history.step(other).object;
            let Some(other) = acquires[1].iter().position(is_other) else { continue };
            if self.is_in_block(one) && self.is_in_block(acquires[1][other]) {
                (places[0][index], places[1][other]) = self.locations(one, acquires[1][other], depth);
            }
        }
        let [first_places, second_places] = places;
        [self.sections(&acquires[0], first_places), self.sections(&acquires[1], second_places)]
    }

    fn is_in_block(&self, at: At) -> bool {
        let block = self.prediction.block;
        self.history.frames.common(self.history.step(at).frame, block) == Some(block)
    }

    fn sections(&mut self, acquires: &[At], places: Vec<Frame>) -> Vec<Section> {
        let sections = acquires.iter().zip(places);
        sections.map(|(&at, taken_at)| Section { lock: self.lock(at), taken_at }).collect()
    }

    fn places_of_locks(&mut self, access: At) -> Vec<Frame> {
        self.history.held(access).into_iter().map(|acquire| self.taken_at(acquire, access)).collect()
    }

    /// Where a lock was taken under which an access is: outside of functions that only take it for their caller.
    fn taken_at(&mut self, acquire: At, access: At) -> Frame {
        let history = self.history;
        let stack = history.stack(acquire);
        let common = history.frames.common(history.step(acquire).frame, history.step(access).frame);
        let depth = common.map_or(stack.len(), |frame| history.frames.stack(frame).len());
        let pc = stack.get(depth).map_or(history.pc(acquire), Transaction::opened_at);
        self.resolver.outside(pc, &stack[..depth])
    }

    fn culprit(&mut self, at: At) -> Option<Operation> {
        let acquires = self.history.held(at);
        let places = self.places_of_locks(at);
        let location = self.resolver.outside(self.history.pc(at), &self.history.stack(at));
        let sections = self.sections(&acquires, places);
        self.access(at, location, sections)
    }

    fn access(&mut self, at: At, location: Frame, sections: Vec<Section>) -> Option<Operation> {
        Some(Operation {
            action: Action::of_access(self.history.step(at).op)?,
            thread: self.history.thread(at),
            location,
            stack: self.resolver.stack(self.history.pc(at), &self.history.stack(at)),
            held: sections.iter().map(|section| section.lock.label()).collect(),
            mode: None,
            sections,
        })
    }

    /// The lock of an acquire or a release.
    fn lock(&mut self, at: At) -> Lock {
        let lock = self.history.locks[self.history.step(at).object as usize];
        self.resolver.lock(lock.address, lock.generation, lock.initialised)
    }

    /// The variable of the first access, and if there are two that of the second.
    fn variables(&mut self) -> Vec<Variable> {
        let Steps { first, second, .. } = self.prediction.steps;
        let mut objects = vec![self.history.step(first).object, self.history.step(second).object];
        objects.dedup();
        objects.into_iter().map(|object| self.variable(&self.history.variables[object as usize])).collect()
    }

    fn variable(&mut self, variable: &VariableInfo) -> Variable {
        let symbols = &mut *self.resolver.symbols;
        let global = symbols.variable(variable.address);
        let allocation = variable.allocation.filter(|_| global.is_none());
        let name = global.or_else(|| {
            let allocation: Allocated = allocation?;
            let calls = self.history.calls(&allocation);
            symbols.allocated(&calls, allocation.size, variable.address - allocation.address).map(|part| part.name)
        });
        Variable {
            name,
            address: format!("{:#x}", variable.address),
            allocation: allocation.map(|allocation| Allocation {
                offset: variable.address - allocation.address,
                size: allocation.size,
                thread: allocation.thread,
                allocated_at: self.resolver.known_call(allocation.pc),
            }),
        }
    }

    /// The violating order: the accesses, and the locks around them as far as there is room.
    fn diagram(&mut self, finding: &Finding) -> Vec<String> {
        let mut rows = Vec::new();
        for most_locks in (0..=MOST_LOCKS).rev() {
            rows = self.rows(finding, most_locks);
            if rows.len() <= MOST_ROWS {
                break;
            }
        }
        let threads = [&finding.first, &finding.culprit].map(|operation| finding.thread_label(operation.thread));
        diagram::draw([&threads[0], &threads[1]], &rows)
    }

    fn rows(&mut self, finding: &Finding, most_locks: usize) -> Vec<Row> {
        let shown = self.shown(most_locks);
        let lanes = [self.prediction.steps.first, self.prediction.steps.culprit].map(|at| self.history.step(at).lane);
        let mut left_out = [false; 2];
        let mut rows = Vec::new();
        for &at in &self.prediction.order.steps {
            let Some(column) = lanes.iter().position(|&lane| lane == self.history.step(at).lane) else { continue };
            if !shown.contains(&at) {
                left_out[column] = rows.iter().any(|row: &Row| row.column == column);
                continue;
            }
            if std::mem::take(&mut left_out[column]) {
                rows.push(Row { column, what: LEFT_OUT.to_owned(), place: String::new() });
            }
            let place = user_frame(&self.resolver.symbols.call_frames(self.history.pc(at))).short();
            rows.push(Row { column, what: self.what(at, finding), place });
        }
        rows
    }

    /// The steps of a diagram that shows so many locks of each access.
    fn shown(&self, most_locks: usize) -> Vec<At> {
        let accesses = self.prediction.steps.all();
        let mut shown = accesses.to_vec();
        for at in accesses {
            for acquire in self.history.held(at).into_iter().rev().take(most_locks) {
                shown.extend([acquire, self.history.step(acquire).link].into_iter().filter(|&at| at != NONE));
            }
        }
        shown
    }

    fn what(&mut self, at: At, finding: &Finding) -> String {
        let step = self.history.step(at);
        if let Some(action) = Action::of_access(step.op) {
            let is_first = step.object == self.history.step(self.prediction.steps.first).object;
            let variable = if is_first { finding.variables.first() } else { finding.variables.last() };
            return format!("{} {}", action.does(), variable.map(Variable::brief).unwrap_or_default());
        }
        let does = match step.op {
            Op::Release => "releases",
            Op::AcquireShared => "acquires (shared)",
            _ => Action::Acquire.does(),
        };
        format!("{does} {}", self.lock(at).label())
    }

    /// Why the order is believed to be possible.
    fn because(&mut self, finding: &Finding) -> String {
        let [block, culprit] = [&finding.first, &finding.culprit].map(|operation| format!("T{}", operation.thread));
        if finding.kind == Kind::In {
            return "The recorded run itself went so.".to_owned();
        }
        let Steps { first, second, .. } = self.prediction.steps;
        let throughout = self.history.held(first).into_iter().filter(|at| self.history.held(second).contains(at));
        let throughout: Vec<String> = throughout.map(|at| self.lock(at).label()).collect();
        let locks = match (&finding.lock, &throughout[..]) {
            (Some(lock), _) => format!("{block} gives {} back in between", lock.label()),
            (None, []) => format!("{block} holds no lock all the way from its first access to its second"),
            (None, locks) => format!("{block} holds {} throughout, which {culprit} does not take", locks.join(" and ")),
        };
        let lines = self.lines_of_culprit(finding);
        let unless = if self.reads_are_the_same() { "" } else { ", or no branch comes after it" };
        format!(
            "{culprit} can run {lines} there: {locks}, nothing else orders the two, and every read before that sees what it saw \
             in the recorded run{unless}."
        )
    }

    /// Whether all that is read on the way to the last access is what was read in the run.
    fn reads_are_the_same(&self) -> bool {
        let Order { from, steps } = &self.prediction.order;
        let accesses = self.prediction.steps.all();
        let mut written = FxHashMap::default();
        steps.iter().all(|&at| {
            let Step { op, object, link, .. } = *self.history.step(at);
            let is_same = match written.get(&object) {
                Some(&seen) => seen == link,
                None => link == NONE || link < *from,
            };
            if op.is_access() && op.writes() {
                written.insert(object, at);
            }
            !(op.is_access() && op.reads()) || is_same || accesses.contains(&at)
        })
    }

    /// The lines of the culprit between the block's two accesses, as far as they are in one file.
    fn lines_of_culprit(&mut self, finding: &Finding) -> String {
        let Steps { first, culprit, culprit_too, second } = self.prediction.steps;
        let steps = &self.prediction.order.steps;
        let place = |at| steps.iter().position(|&step| step == at);
        let (Some(from), Some(to)) = (place(first), place(second)) else { return finding.culprit.location.short() };
        let lane = self.history.step(culprit).lane;
        let between = steps.get(from..to).unwrap_or_default();
        let is_near = |at: &At| {
            let step = self.history.step(*at);
            // Locks around its accesses, and these.
            step.lane == lane && (*at == culprit || *at == culprit_too || !step.op.is_access())
        };
        let near: Vec<At> = between.iter().copied().filter(is_near).collect();
        let file = finding.culprit.location.file.clone();
        let mut lines: Vec<u32> = Vec::new();
        for at in near {
            let frames = self.resolver.symbols.call_frames(self.history.pc(at));
            let frame = user_frame(&frames);
            lines.extend(
                frame.line.filter(|_| frame.file == file && frame.function == finding.culprit.location.function),
            );
        }
        let at = finding.culprit.location.short();
        match (lines.iter().min(), lines.iter().max()) {
            (Some(begin), Some(end)) if begin != end => {
                format!("{}:{begin}-{end}", at.rsplit_once(':').map_or(at.as_str(), |(file, _)| file))
            }
            _ => at,
        }
    }
}

/// The lock that every access holds, each in a section of its own.
fn common_lock(finding: &Finding) -> Option<Lock> {
    let is_same = |one: &Section, other: &Section| {
        (&one.lock.address, one.lock.generation) == (&other.lock.address, other.lock.generation)
    };
    let of_all = |section: &&Section| {
        let holds = |operation: &Operation| operation.sections.iter().any(|other| is_same(section, other));
        finding.operations().all(holds)
    };
    finding.first.sections.iter().rev().find(of_all).map(|section| section.lock.clone())
}
