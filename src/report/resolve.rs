//! Makes a finding from a violation: names for its addresses, its strength, its sentence.

use std::sync::Arc;

use crate::analysis::{AcquireSite, Transaction, Violation};
use crate::event::ThreadId;
use crate::report::finding::{
    Action, Analysis, Block, BlockKind, Finding, Frame, Kind, Lock, Operation, Rung, Strength, Thread,
};
use crate::report::modules::file_name;
use crate::report::reporter::Process;
use crate::report::sentence::sentence;
use crate::report::specification::Specification;
use crate::report::symbols::Symbols;
use crate::report::threads::ThreadInfo;

/// Code of the language's own library: where the C++ library takes a lock for its caller or starts a thread. Some of its
/// names are too wild for the demangler.
const LIBRARY: &[&str] = &["std::", "__gnu_cxx::", "__gthread_", "_ZSt", "_ZNSt", "_ZNKSt"];

/// What is below `main` and below start routines: the C library's functions, and the monitor's trampoline.
const STARTERS: &[&str] = &["__libc_start_call_main", "__libc_start_main", "start_thread", "clone", "clone3"];
const C_LIBRARY: &[&str] = &["libc.so", "libc-", "libpthread"];

/// How far behind the beginning of a function its entry hook is called, at most; needed only without symbols.
const PROLOGUE: u64 = 128;

/// Deep recursion would make reports and logs endless. The innermost calls are kept.
const MOST_FRAMES: usize = 100;

/// The name of a transaction: its function or label. A section goes by the function that it is in.
pub fn transaction_name(symbols: &mut Symbols, transaction: &Transaction) -> String {
    match *transaction {
        Transaction::Function { inside, .. } => own_frame(&symbols.frames(inside)).name(),
        Transaction::Block { label, pc } => {
            let text = symbols.text(label).filter(|text| !text.is_empty());
            text.unwrap_or_else(|| own_frame(&symbols.call_frames(pc)).name())
        }
        Transaction::Section { pc, .. } => user_frame(&symbols.call_frames(pc)).name(),
    }
}

/// The finding that a violation makes when its transaction number `blamed` is at fault. The id is not given yet, and
/// the strength does not yet look at what else was found.
pub fn resolve(
    violation: &Violation,
    blamed: usize,
    symbols: &mut Symbols,
    specification: &mut Specification,
    process: &dyn Process,
) -> Finding {
    let mut resolver = Resolver { symbols, process };
    let stack = &violation.first.stack;
    let (first_at, second_at) = violation.locations();
    let (first_at, second_at) = resolver.locations(first_at, second_at);
    let base = resolver.base(stack, violation.first.thread);
    let strength = match stack[blamed] {
        Transaction::Function { .. } if blamed < base => Strength::Base,
        _ if is_loop(&first_at, &second_at) => Strength::Loop,
        _ => Strength::Strong,
    };
    let culprit_at =
        resolver.outside(violation.culprit_location(), &violation.culprit.stack[..violation.culprit_frames]);
    let block = resolver.block(&stack[blamed]);
    let mut finding = Finding {
        id: 0,
        same_as: None,
        kind: Kind::from(violation.kind),
        rung: Rung::Predicted,
        strength,
        pattern: None,
        found_by: vec![Analysis::Windows],
        data: None,
        sentence: String::new(),
        also_split: resolver.also_split(stack, base, blamed, specification),
        first: resolver.acquire(&violation.first, first_at),
        culprit: resolver.acquire(&violation.culprit, culprit_at),
        culprit_too: None,
        second: resolver.acquire(&violation.second, second_at),
        lock: Some(resolver.lock(violation.lock, violation.generation, violation.lock_init)),
        variables: Vec::new(),
        view: Vec::new(),
        view_more: None,
        dependency: None,
        diagram: Vec::new(),
        because: None,
        trial: None,
        threads: resolver.threads(&[violation.first.thread, violation.culprit.thread]),
        suppression: suppression(&block),
        block,
    };
    finding.sentence = sentence(&finding);
    finding
}

/// What findings of all kinds need names for.
pub(super) struct Resolver<'a> {
    pub symbols: &'a mut Symbols,
    pub process: &'a dyn Process,
}

impl Resolver<'_> {
    /// Two places in the innermost common transaction, whether or not that one is blamed: in an outer one both
    /// would be in the same call.
    pub fn locations(&mut self, first: u64, second: u64) -> (Frame, Frame) {
        let (first, second) = (self.symbols.call_frames(first), self.symbols.call_frames(second));
        // Frames of inlined functions are compared from the outermost inwards: a helper that was inlined twice is
        // told apart by its callers, and two operations in one inlined function by their own lines.
        let mut pairs = first.iter().rev().zip(second.iter().rev());
        let differing = pairs.find(|(a, b)| a.identity() != b.identity());
        let (a, b) = differing.unwrap_or_else(|| (own_frame(&first), own_frame(&first)));
        (a.clone(), b.clone())
    }

    /// How many transactions at the bottom of a stack are the base of their thread: `main`, the start routine, or for
    /// C++ threads the library's frames and the callable that the user gave.
    pub fn base(&mut self, stack: &[Transaction], thread: ThreadId) -> usize {
        let is_library = |t: &Transaction, symbols: &mut Symbols| {
            matches!(t, Transaction::Function { .. }) && of_library(&transaction_name(symbols, t))
        };
        let library = stack.iter().take_while(|t| is_library(t, self.symbols)).count();
        match stack.get(library) {
            Some(Transaction::Function { inside, .. }) => {
                let is_base = library > 0 || self.is_start(*inside, thread);
                library + usize::from(is_base)
            }
            _ => library,
        }
    }

    /// Whether the outermost function of a thread, given by an address near its begin, is where the thread started.
    fn is_start(&mut self, inside: u64, thread: ThreadId) -> bool {
        let routine = self.process.thread(thread).start_routine;
        match self.symbols.function(inside) {
            Some(function) => function.name == "main" || function.start == routine,
            None => routine != 0 && inside.checked_sub(routine).is_some_and(|distance| distance < PROLOGUE),
        }
    }

    /// Callers of the blamed transaction that are meant to be atomic too, innermost first.
    pub fn also_split(
        &mut self,
        stack: &[Transaction],
        base: usize,
        blamed: usize,
        specification: &mut Specification,
    ) -> Vec<String> {
        let mut also_split: Vec<String> = Vec::new();
        let outer = stack[base.min(blamed)..blamed].iter().rev();
        for transaction in outer.filter(|t| !matches!(t, Transaction::Section { .. })) {
            let name = transaction_name(self.symbols, transaction);
            if specification.allows(transaction, || name.clone()) && !also_split.contains(&name) {
                also_split.push(name);
            }
        }
        also_split
    }

    pub fn block(&mut self, transaction: &Transaction) -> Block {
        let (kind, begin) = match *transaction {
            Transaction::Function { inside, .. } => {
                let start = self.symbols.function(inside).map_or(inside, |function| function.start);
                (BlockKind::Function, own_frame(&self.symbols.frames(start)).clone())
            }
            Transaction::Block { pc, .. } => (BlockKind::Block, own_frame(&self.symbols.call_frames(pc)).clone()),
            Transaction::Section { pc, .. } => (BlockKind::Section, user_frame(&self.symbols.call_frames(pc)).clone()),
        };
        Block { kind, name: transaction_name(self.symbols, transaction), begin }
    }

    /// The innermost place of a stack that is in the user's own code.
    pub fn outside(&mut self, pc: u64, open: &[Transaction]) -> Frame {
        user_frame(&self.stack(pc, open)).clone()
    }

    fn acquire(&mut self, site: &AcquireSite, location: Frame) -> Operation {
        Operation {
            action: Action::Acquire,
            thread: site.thread,
            location,
            stack: self.stack(site.pc, &site.stack),
            held: site.held.iter().map(|lock| self.lock_name(*lock)).collect(),
            mode: Some(site.mode.into()),
            sections: Vec::new(),
        }
    }

    /// The call stack of a place, innermost first: the place itself, then for every open function the call of it.
    pub fn stack(&mut self, pc: u64, open: &[Transaction]) -> Vec<Frame> {
        let mut frames = self.symbols.call_frames(pc).to_vec();
        for transaction in open.iter().rev() {
            let Transaction::Function { inside, call } = *transaction else { continue };
            if frames.len() > MOST_FRAMES {
                break;
            }
            let entered = self.symbols.frames(inside);
            let function = own_frame(&entered);
            // Code without hooks in between leaves no trace of its own call: say at least that this function is there.
            let is_seen = frames.last().is_none_or(|f| f.function.is_none() || f.function == function.function);
            if !is_seen {
                frames.push(function.clone());
            }
            if call != 0 {
                frames.extend_from_slice(&self.symbols.call_frames(call));
            }
        }
        while frames.len() > 1 && frames.last().is_some_and(is_starter) {
            frames.pop();
        }
        frames
    }

    pub fn lock(&mut self, address: u64, generation: u32, initialised: u64) -> Lock {
        Lock {
            name: self.symbols.variable(address),
            address: format!("{address:#x}"),
            generation,
            initialised_at: self.known_call(initialised),
        }
    }

    /// The frames of a call whose place may be unknown (0).
    pub fn known_call(&mut self, pc: u64) -> Vec<Frame> {
        if pc == 0 { Vec::new() } else { self.symbols.call_frames(pc).to_vec() }
    }

    fn lock_name(&mut self, address: u64) -> String {
        self.symbols.variable(address).map_or_else(|| format!("lock {address:#x}"), |name| format!("'{name}'"))
    }

    pub fn threads(&mut self, ids: &[ThreadId]) -> Vec<Thread> {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        ids.into_iter().map(|id| self.thread(id)).collect()
    }

    fn thread(&mut self, id: ThreadId) -> Thread {
        let ThreadInfo { name, parent, created_at, start_routine } = self.process.thread(id);
        Thread {
            id,
            name: if id == 0 { "main".to_owned() } else { name },
            parent,
            created_at: self.known_call(created_at),
            start_routine: (start_routine != 0).then(|| own_frame(&self.symbols.frames(start_routine)).name()),
        }
    }
}

/// The function that the compiler really emitted, into which the others were inlined.
fn own_frame(frames: &Arc<[Frame]>) -> &Frame {
    &frames[frames.len() - 1]
}

/// Whether two places of a block are two turns of a loop.
pub(super) fn is_loop(first: &Frame, second: &Frame) -> bool {
    first == second || goes_back(first, second)
}

/// Whether a function can get from one place to the other only by the next turn of a loop.
///
/// Both the source and the code must go backwards: arguments are evaluated from the last line to the first, and the
/// condition of a loop may be placed behind its body.
fn goes_back(from: &Frame, to: &Frame) -> bool {
    let same_function = from.function == to.function && from.file == to.file && from.module == to.module;
    let line_before = matches!((to.line, from.line), (Some(to), Some(from)) if to < from);
    same_function && line_before && to.offset < from.offset
}

/// The innermost frame that the user wrote.
pub(super) fn user_frame(frames: &[Frame]) -> &Frame {
    let is_users = |frame: &&Frame| !frame.function.as_deref().is_some_and(of_library);
    frames.iter().find(is_users).unwrap_or(&frames[0])
}

pub(super) fn of_library(name: &str) -> bool {
    LIBRARY.iter().any(|prefix| name.starts_with(prefix))
}

/// Frames below the program's own: the C library starting the thread.
fn is_starter(frame: &Frame) -> bool {
    let module = file_name(&frame.module);
    let of_c_library = C_LIBRARY.iter().any(|prefix| module.starts_with(prefix));
    let starts = frame.function.as_ref().is_none_or(|name| STARTERS.contains(&name.as_str()));
    module.starts_with("libavmon") || (of_c_library && starts)
}

/// The line that hides findings of a block.
pub(super) fn suppression(block: &Block) -> String {
    // Without a name there is only the module, and an offset is in nothing that templates are matched with.
    let name = block.name.split("+0x").next().unwrap_or_default().replace('$', "*");
    format!("atomicity_top:{name}")
}
