//! `--views` and `--ir`: what goes from one atomic block to another, by the program's code where that is known.

use crate::analysis::Transaction;
use crate::causal::steering::Functions;
use crate::causal::{Answer, Callers, Graph, Place};
use crate::cli::exit::{ExitCode, Failure};
use crate::cli::flags::quoted;
use crate::cli::names::Names;
use crate::cli::tell;
use crate::ir;
use crate::predict::dependency::Dependencies;
use crate::predict::history::{At, History};
use crate::report::finding::{Analysis, Frame};
use crate::trace::reader::Trace;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Whether atomic blocks are looked at as wholes, and by which code.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct ViewFlags {
    /// Also look for views and stale values: what critical sections and marked blocks access together, and what one reads for a later one
    #[arg(long)]
    views: bool,

    /// The program's LLVM IR for --views: .ll or .bc files, or directories of them [default: what 'avmon cc' with clang kept]
    #[arg(long, value_name = "PATH", num_args = 1)]
    ir: Vec<PathBuf>,
}

impl ViewFlags {
    /// As they were given, for a command that does the same.
    pub fn words(&self) -> Vec<String> {
        let ir = self.ir.iter().map(|path| format!("--ir {}", quoted(&path.to_string_lossy())));
        self.views.then(|| "--views".to_owned()).into_iter().chain(ir).collect()
    }

    /// Whether an analysis is wanted because of them.
    pub const fn want(&self, analysis: Analysis) -> bool {
        self.views && matches!(analysis, Analysis::Views | Analysis::StaleValues)
    }

    /// The program's code, if it is known.
    pub fn code(
        &self,
        trace: &Trace,
        history: &History,
        names: &mut Names,
    ) -> Result<Option<Box<dyn Dependencies>>, Failure> {
        let modules = self.modules(trace)?;
        let code = (!modules.is_empty()).then(|| Code::new(Graph::of(modules), history, names));
        Ok(code.map(|code| Box::new(code) as Box<dyn Dependencies>))
    }

    fn modules(&self, trace: &Trace) -> Result<Vec<ir::model::Module>, Failure> {
        if self.ir.is_empty() {
            return Ok(kept(trace));
        }
        let mut files = Vec::new();
        for path in &self.ir {
            collect(path, &mut files)
                .map_err(|error| Failure::internal(format!("cannot read '{}': {error}", path.display())))?;
        }
        if files.is_empty() {
            let text = "no .ll or .bc file is in what --ir names; clang makes them with -g -S -emit-llvm";
            return Err(Failure::new(ExitCode::Usage, text));
        }
        files.iter().map(|file| ir::read(file).map_err(|error| Failure::internal(error.to_string()))).collect()
    }
}

/// The files of IR at a path.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if fs::metadata(path)?.is_dir() {
        files.extend(ir::files_in(path)?);
    } else {
        files.push(path.to_owned());
    }
    Ok(())
}

/// The IR that was kept of the modules of a recorded program. What is missing or broken is told, and does without.
fn kept(trace: &Trace) -> Vec<ir::model::Module> {
    let mut files = BTreeSet::new();
    let mut missing = 0;
    for module in paths(trace) {
        // A module that cannot be read has no IR to be found.
        let Ok(located) = ir::locate(Path::new(&module)) else { continue };
        missing += located.missing.len();
        files.extend(located.found);
    }
    if missing > 0 {
        let text =
            "not all IR that 'avmon cc' kept of the program is there any more; dependencies through it are assumed";
        tell("warning", text);
    }
    let mut modules = Vec::new();
    for file in files {
        match ir::read(&file) {
            Ok(module) => modules.push(module),
            Err(error) => tell("warning", &format!("{error}; dependencies through it are assumed")),
        }
    }
    modules
}

/// The files that the program had mapped.
fn paths(trace: &Trace) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for snapshot in trace.modules() {
        let mapped = snapshot.maps.lines().filter_map(|line| line.find('/').map(|begin| line[begin..].to_owned()));
        paths.extend(mapped);
    }
    paths
}

/// Where in the source the code of a return address is.
struct Spot {
    /// Of what is inlined there.
    innermost: Option<Place>,
    /// In the function that is called so, which holds the address.
    outermost: Option<Place>,
    function: Option<String>,
}

impl Spot {
    fn of(frames: &[Frame]) -> Spot {
        let place = |frame: &Frame| Some(Place { file: frame.file.clone()?, line: frame.line?, column: frame.column });
        Spot {
            innermost: frames.first().and_then(place),
            outermost: frames.last().and_then(place),
            function: frames.last().and_then(|frame| frame.function.clone()),
        }
    }
}

/// The program's code, and where in it the steps of a run are.
struct Code {
    graph: Graph,
    functions: Functions,
    spots: FxHashMap<u64, Spot>,
    /// Whether a read decides anything, by its code location, where the function around leads to it, and which function that is.
    steers: Mutex<FxHashMap<[u64; 3], bool>>,
}

impl Code {
    fn new(graph: Graph, history: &History, names: &mut Names) -> Code {
        let functions = Functions::of(&graph);
        let mut spots = FxHashMap::default();
        let opened = history.frames.all().filter_map(|frame| frame.transaction);
        let opened = opened.flat_map(|transaction| match transaction {
            Transaction::Function { inside, call } => [inside, call],
            Transaction::Block { pc, .. } | Transaction::Section { pc, .. } => [pc, pc],
        });
        for pc in history.codes().iter().copied().chain(opened) {
            spots.entry(pc).or_insert_with(|| Spot::of(&names.frames(pc)));
        }
        Code { graph, functions, spots, steers: Mutex::default() }
    }

    /// Asks about two places. Compilers do not agree about columns, so that lines have to do if nothing is known of the columns.
    fn ask(&self, one: u64, other: u64, question: impl Fn(&Graph, &Place, &Place) -> Answer) -> Answer {
        let place = |pc| self.spots.get(&pc)?.innermost.clone();
        let (Some(one), Some(other)) = (place(one), place(other)) else { return Answer::Unknown };
        match question(&self.graph, &one, &other) {
            Answer::Unknown => {
                let [one, other] = [one, other].map(|place| Place { column: None, ..place });
                question(&self.graph, &one, &other)
            }
            answer => answer,
        }
    }

    /// Who called what on the way to a write, from where it parts with that to a read: functions are called from many places.
    fn callers(&self, history: &History, read: At, write: At) -> Callers {
        let functions = |place: Option<&Place>| place.map(|place| self.functions.at(place)).unwrap_or_default();
        // What calls may be inlined itself, what is called is not.
        let calls = |pc| functions(self.spots.get(pc).and_then(|spot| spot.innermost.as_ref()));
        let is_called = |pc| functions(self.spots.get(pc).and_then(|spot| spot.outermost.as_ref()));
        let [one, other] = [read, write].map(|at| history.stack(at));
        let common = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
        let opened = other[common..].iter().filter_map(|it| match it {
            Transaction::Function { call, .. } => Some(*call),
            Transaction::Block { .. } | Transaction::Section { .. } => None,
        });
        let places: Vec<u64> = opened.chain([history.pc(write)]).collect();
        let mut callers = Callers::default();
        for step in places.windows(2) {
            callers.add(&is_called(&step[1]), &calls(&step[0]));
        }
        callers
    }

    /// Whether a read decides anything in a call of the function that `inside` is in, which leads to the read at `here`.
    fn steers_in(&self, [read, here, inside]: [u64; 3]) -> Option<bool> {
        let [read, here, inside] = [self.spots.get(&read)?, self.spots.get(&here)?, self.spots.get(&inside)?];
        // A function in between that tells nothing of itself would be left out.
        if here.function.is_none() || here.function != inside.function {
            return None;
        }
        let functions = self.functions.at(here.outermost.as_ref()?);
        Some(self.graph.steers(read.innermost.as_ref()?, &functions))
    }
}

impl Dependencies for Code {
    fn direct(&self, history: &History, read: At, write: At) -> Answer {
        let callers = self.callers(history, read, write);
        self.ask(history.pc(read), history.pc(write), |graph, read, write| graph.direct_by(read, write, &callers))
    }

    fn common(&self, history: &History, one: At, other: At) -> Answer {
        self.ask(history.pc(one), history.pc(other), Graph::common)
    }

    fn put_together(&self, history: &History, one: At, other: At) -> Answer {
        self.ask(history.pc(one), history.pc(other), Graph::put_together)
    }

    fn come_together(&self, history: &History, one: At, other: At) -> Answer {
        self.ask(history.pc(one), history.pc(other), Graph::come_together)
    }

    fn steers(&self, history: &History, read: At, step: At) -> bool {
        let frames = &history.frames;
        let [mine, later] = [read, step].map(|at| history.step(at).frame);
        let around = frames.common(mine, later).and_then(|common| frames.function(common));
        let Some((function, inside)) = around else { return true };
        let pc = history.pc(read);
        let question = [pc, frames.location(mine, function, pc), inside];
        if let Some(&known) = self.steers.lock().get(&question) {
            return known;
        }
        let steers = self.steers_in(question).unwrap_or(true);
        self.steers.lock().insert(question, steers);
        steers
    }

    fn goes_back(&self, history: &History, one: At, other: At) -> bool {
        let frames = &history.frames;
        let [from, to] = [one, other].map(|at| history.step(at).frame);
        let Some(around) = frames.common(from, to) else { return false };
        let place = |at: At| {
            let location = frames.location(history.step(at).frame, around, history.pc(at));
            self.spots.get(&location)?.outermost.as_ref()
        };
        let (Some(from), Some(to)) = (place(one), place(other)) else { return false };
        self.functions.at(from).into_iter().any(|function| self.graph.goes_back(function, from, to))
    }
}
