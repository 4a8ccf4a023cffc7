//! The text of findings, in the shape of one by `ThreadSanitizer`. The same finding always gives the same text.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Effects, Style};

use crate::report::finding::{
    Analysis, Dependency, DependencyKind, Finding, Frame, Link, Lock, LockMode, Operation, Pattern, Rung, Strength,
    Thread, Trial, Variable,
};

const SEPARATOR: &str = "==================";

/// How to print.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Look {
    pub color: bool,
    /// Beginning of source paths to leave out.
    pub strip_path_prefix: String,
}

const WARNING: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);
const HEADING: Style = Style::new().bold();
const OPERATION: Style = AnsiColor::Blue.on_default();
const THREAD: Style = AnsiColor::Green.on_default();

impl Look {
    fn paint(&self, style: Style, text: &str) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// File and line, or nothing where they are not known.
    fn source(&self, frame: &Frame) -> Option<String> {
        let path = frame.file.as_deref()?;
        let path = path.strip_prefix(&self.strip_path_prefix).unwrap_or(path);
        Some(frame.line.map_or_else(|| path.to_owned(), |line| format!("{path}:{line}")))
    }
}

/// The report of a finding, from separator to separator.
#[must_use]
pub fn report(finding: &Finding, pid: u32, look: &Look) -> String {
    let mut text = String::new();
    let label = |id| finding.thread_label(id);
    // What is found in the source has no process, and happened nowhere.
    let is_static = finding.rung == Rung::Suspected;
    // Writing to a string cannot fail.
    let mut line = |content: &str| text.extend([content, "\n"]);

    line(SEPARATOR);
    let process = if is_static { String::new() } else { format!(" (pid={pid})") };
    line(&look.paint(WARNING, &format!("WARNING: avmon: atomicity violation{process}")));
    line(&format!("  {}", look.paint(HEADING, &finding.sentence)));
    line("");

    let begin = &finding.block.begin;
    let source = look.source(begin).map(|source| format!(" {source}")).unwrap_or_default();
    line(&format!("  Block: {} {}{source}{}", finding.block.kind.name(), finding.block.name, place(begin)));
    line("");

    for (done, what) in operations(finding) {
        line(&operation(done, &what, look));
    }

    if !finding.also_split.is_empty() {
        line(&format!("  Also split: {}", finding.also_split.join(", ")));
        line("");
    }
    for variable in &finding.variables {
        if let Some(about) = about_variable(variable, look) {
            line(&about);
        }
    }
    if !finding.view.is_empty() {
        line(&about_view(finding));
    }
    if let Some(dependency) = &finding.dependency {
        line(&about_dependency(dependency, finding.pattern, look));
    }
    if let Some(about) = finding.lock.as_ref().and_then(|lock| about_lock(lock, look)) {
        line(&about);
    }
    if !finding.diagram.is_empty() {
        line("  In this order:");
        for drawn in &finding.diagram {
            line(format!("    {drawn}").trim_end());
        }
        line("");
    }
    if let Some(because) = &finding.because {
        line(&format!("  Why this can happen: {because}"));
        line("");
    }
    let mut routines = Vec::new();
    for thread in finding.threads.iter().filter(|thread| thread.id != 0) {
        if !is_static {
            line(&about_thread(thread, &label, look));
        } else if !thread.created_at.is_empty() && !routines.contains(&&thread.start_routine) {
            routines.push(&thread.start_routine);
            line(&about_process(thread, look));
        }
    }

    let (seen, meaning) = if is_static {
        (finding.rung.name(), finding.rung.meaning())
    } else {
        (finding.kind.name(), finding.kind.meaning())
    };
    line(&format!("  Finding #{}, {seen}: {meaning}", finding.id));
    if let Some(pattern) = finding.pattern {
        let found_by: Vec<&str> = finding.found_by.iter().copied().map(Analysis::name).collect();
        line(&format!("  Conflict {}, found by {}: {}", pattern.name(), found_by.join(", "), pattern.meaning()));
    }
    // Once it has happened, nobody asks what could be.
    if let Some(data) = finding.data.filter(|_| finding.rung < Rung::Confirmed) {
        line(&format!("  Lock level only: {}", data.meaning()));
    }
    if let Some(trial) = &finding.trial {
        for told in about_trial(trial) {
            line(&format!("  {told}"));
        }
    }
    if finding.strength != Strength::Strong {
        line(&format!("  Weak, {}: {}", finding.strength.name(), finding.strength.meaning()));
    }
    line(&format!("  To hide it: {}", finding.suppression));
    let at = &finding.first.location;
    let place = look.source(at).unwrap_or_else(|| at.place());
    line(&format!("SUMMARY: avmon: atomicity violation {place} in {}", finding.block.name));
    line(SEPARATOR);
    text
}

/// What came of it in the real program.
fn about_trial(trial: &Trial) -> Vec<String> {
    let Trial { verdict, detail, schedule, switches, runs, alike, .. } = trial;
    let mut told = vec![format!("Tried, {}: {}", verdict.name(), verdict.meaning())];
    if !detail.is_empty() {
        told.push(format!("       {detail}"));
    }
    if !schedule.is_empty() {
        let often = if *runs > 1 { format!("so in {alike} of {runs} runs, ") } else { String::new() };
        let plural = if *switches == 1 { "" } else { "es" };
        told.push(format!("       {often}with {switches} switch{plural} between threads"));
        told.push(format!("To run it again: {}", trial.command()));
    }
    told
}

/// The note for a finding that was already printed as number `other`, of another kind.
#[must_use]
pub fn note(finding: &Finding, other: u64) -> String {
    let Finding { id, kind, sentence, .. } = finding;
    format!(
        "avmon: #{id}, also {}: {sentence}\n       same block and locations as #{other}\n",
        kind.name().to_uppercase()
    )
}

/// The operations of a finding in its order, and what is said of each.
fn operations(finding: &Finding) -> Vec<(&Operation, String)> {
    let Finding { first, culprit, culprit_too, second, lock, variables, .. } = finding;
    let says = |operation: &Operation, what: &str| {
        format!("Thread {} {} {what}", finding.thread_label(operation.thread), operation.action.does())
    };
    if let ([one, other, ..], Some(too)) = (&variables[..], culprit_too) {
        return vec![
            (first, says(first, &one.label())),
            (culprit, says(culprit, "it")),
            (too, says(too, &other.label_beside(one))),
            (second, says(second, "it")),
        ];
    }
    if let [one, other, ..] = &variables[..] {
        return vec![
            (first, says(first, &one.label())),
            (culprit, says(culprit, "it in between")),
            (second, says(second, &other.label_beside(one))),
        ];
    }
    let object = variables.first().map(Variable::label).or(lock.as_ref().map(Lock::label)).unwrap_or_default();
    let again = if second.action == first.action { "it again" } else { "it" };
    vec![(first, says(first, &object)), (culprit, says(culprit, "it in between")), (second, says(second, again))]
}

fn operation(operation: &Operation, what: &str, look: &Look) -> String {
    let shared = if operation.mode == Some(LockMode::Shared) { " (shared)" } else { "" };
    let mut text = format!("  {}\n", look.paint(OPERATION, &format!("{what}{shared}:")));
    push_stack(&mut text, &operation.stack, look);
    let taken = |(index, lock): (usize, &String)| match operation.sections.get(index) {
        Some(section) => format!("{lock} taken at {}", section.taken_at.short()),
        None => lock.clone(),
    };
    let held: Vec<String> = operation.held.iter().enumerate().map(taken).collect();
    if !held.is_empty() {
        let _ = writeln!(text, "    while it holds {}", held.join(", "));
    }
    text
}

/// Nothing of a variable that is known by its name only.
fn about_variable(variable: &Variable, look: &Look) -> Option<String> {
    let address = &variable.address;
    let mut text = match (&variable.name, &variable.allocation) {
        (Some(_), None) if address.is_empty() => return None,
        (Some(name), None) => format!("  Variable '{name}' is a global at {address}.\n"),
        (Some(name), Some(allocation)) => format!(
            "  Variable '{name}' at {address} is at offset {} of a block of {} bytes that thread T{} allocated at:\n",
            allocation.offset, allocation.size, allocation.thread
        ),
        (None, None) => format!("  Nothing is known of the memory at {address}.\n"),
        (None, Some(allocation)) if allocation.allocated_at.is_empty() => {
            format!("  The memory at {address} is on the stack of thread T{}.\n", allocation.thread)
        }
        (None, Some(allocation)) => format!(
            "  The memory at {address} is at offset {} of a block of {} bytes that thread T{} allocated at:\n",
            allocation.offset, allocation.size, allocation.thread
        ),
    };
    push_stack(&mut text, variable.allocation.as_ref().map_or(&[], |allocation| &allocation.allocated_at), look);
    Some(text)
}

fn about_view(finding: &Finding) -> String {
    let variables: Vec<String> = finding.view.iter().map(Variable::label).collect();
    let culprit = &finding.culprit;
    format!(
        "  View: thread {} {} together, in one block, {}{}.\n",
        finding.thread_label(culprit.thread),
        culprit.action.does(),
        variables.join(", "),
        finding.view_more.map_or_else(String::new, |more| format!(", and {more} more"))
    )
}

fn about_dependency(dependency: &Dependency, pattern: Option<Pattern>, look: &Look) -> String {
    let Dependency { kind, chain } = dependency;
    let reason = match kind {
        DependencyKind::Assumed => Some("the program's LLVM IR would tell"),
        DependencyKind::Open => Some("the program's code does not tell"),
        DependencyKind::Proven => None,
    };
    if let Some(reason) = reason {
        let assumed = match pattern {
            Some(Pattern::StaleValue) => "that what one block reads is of use in what a later one writes",
            _ => "that the two values are used together",
        };
        return format!("  Dependency assumed: {assumed}; {reason}.\n");
    }
    let mut text = "  Dependency, from the program's code:\n".to_owned();
    for Link { what, at } in chain {
        let source = look.source(at).unwrap_or_else(|| at.place());
        let _ = writeln!(text, "    {source}: {what}");
    }
    text
}

fn about_lock(lock: &Lock, look: &Look) -> Option<String> {
    let mut text = match (&lock.name, lock.initialised_at.is_empty()) {
        (None, true) => return None,
        (Some(name), true) => format!("  Lock '{name}' is a global.\n"),
        (Some(name), false) => format!("  Lock '{name}' is a global, initialised at:\n"),
        (None, false) => "  The lock was initialised at:\n".to_owned(),
    };
    push_stack(&mut text, &lock.initialised_at, look);
    Some(text)
}

fn about_thread(thread: &Thread, label: &dyn Fn(u32) -> String, look: &Look) -> String {
    let routine = thread.start_routine.as_ref().map(|routine| format!(" (runs {routine})")).unwrap_or_default();
    let by = thread
        .parent
        .map(|parent| format!(" created by thread {}", label_of_parent(parent, label)))
        .unwrap_or_default();
    let at = if thread.created_at.is_empty() { "" } else { " at:" };
    let mut text = format!("  {}\n", look.paint(THREAD, &format!("Thread {}{routine}{by}{at}", thread.label())));
    push_stack(&mut text, &thread.created_at, look);
    text
}

/// Where the source starts such threads.
fn about_process(thread: &Thread, look: &Look) -> String {
    let mut text = format!("  {}\n", look.paint(THREAD, &format!("Thread {} is created at:", thread.role())));
    push_stack(&mut text, &thread.created_at, look);
    text
}

/// A parent that takes no part in the finding is known by its number only, except the first thread.
fn label_of_parent(parent: u32, label: &dyn Fn(u32) -> String) -> String {
    if parent == 0 { "T0 'main'".to_owned() } else { label(parent) }
}

fn push_stack(text: &mut String, stack: &[Frame], look: &Look) {
    for (number, frame) in stack.iter().enumerate() {
        let function = frame.function.as_deref().unwrap_or("<unknown>");
        let source = look.source(frame).map(|source| format!(" {source}")).unwrap_or_default();
        let inlined = if frame.inlined { " [inlined]" } else { "" };
        let _ = writeln!(text, "    #{number} {function}{source}{}{inlined}", place(frame));
    }
}

/// Module and offset in brackets, if they are known.
fn place(frame: &Frame) -> String {
    let place = frame.place();
    if place.is_empty() { place } else { format!(" ({place})") }
}

/// What the closing summary tells.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Closing {
    /// Strong findings, and the blocks that they are in.
    pub findings: usize,
    pub blocks: usize,
    pub weak: usize,
    pub weak_shown: bool,
    pub suppressed: u64,
    pub lost: u64,
    /// Events in signal handlers that interrupted the monitor.
    pub unseen: u64,
    pub order_gaps: u64,
    /// Where the log is, if one was written.
    pub log: Option<String>,
    /// Lines of the suppressions that matched, with their counts.
    pub suppressions: Vec<(u64, String)>,
}

/// The closing summary, as Valgrind ends with one.
#[must_use]
pub fn closing(closing: &Closing) -> String {
    let weak = match (closing.weak, closing.weak_shown) {
        (0, _) => String::new(),
        (weak, true) => format!(", {weak} weak"),
        (weak, false) => format!(", {weak} weak not shown (show_weak=1 shows them)"),
    };
    let mut text = format!(
        "avmon: {} from {} (strong){weak}, {} suppressed, {}",
        counted(closing.findings, "finding"),
        counted(closing.blocks, "block"),
        closing.suppressed,
        counted(closing.lost as usize, "lost event"),
    );
    for (number, noun) in [(closing.unseen, "unseen event"), (closing.order_gaps, "order gap")] {
        if number > 0 {
            let _ = write!(text, ", {}", counted(number as usize, noun));
        }
    }
    text.push('\n');
    if let Some(log) = &closing.log {
        let _ = writeln!(text, "avmon: the log is {log}");
    }
    if !closing.suppressions.is_empty() {
        text.push_str("avmon: suppressions that matched:\n");
        for (hits, line) in &closing.suppressions {
            let _ = writeln!(text, "{hits:>9} {line}");
        }
    }
    text
}

fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::verdict::Verdict;
    use crate::report::finding::{Data, samples};

    fn lines(finding: &Finding) -> Vec<String> {
        report(finding, 7, &Look::default()).lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_lock_without_a_name_is_not_called_a_global() {
        let mut finding = samples::append();
        finding.lock.as_mut().unwrap().name = None;
        let text = lines(&finding);
        assert!(text.contains(&"  Thread T1 acquires the lock initialised at a.c:55:".to_owned()), "{text:#?}");
        assert!(text.contains(&"  The lock was initialised at:".to_owned()));
        finding.lock.as_mut().unwrap().initialised_at.clear();
        let text = lines(&finding);
        assert!(text.contains(&"  Thread T1 acquires lock 0x5000:".to_owned()), "{text:#?}");
        assert!(!text.iter().any(|line| line.contains("initialised")));
    }

    #[test]
    fn a_shared_acquire_says_so() {
        let mut finding = samples::append();
        finding.culprit.mode = Some(LockMode::Shared);
        assert!(lines(&finding).contains(&"  Thread T2 'updater' acquires it in between (shared):".to_owned()));
    }

    #[test]
    fn the_report_of_a_conflict() {
        let mut finding = samples::length();
        finding.found_by.insert(0, Analysis::Windows);
        finding.sentence = "append() is not atomic: it reads and writes.".into();
        let text = report(&finding, 7, &Look { strip_path_prefix: "/src/".to_owned(), ..Look::default() });
        let expected = "\
==================
WARNING: avmon: atomicity violation (pid=7)
  append() is not atomic: it reads and writes.

  Block: function append a.c:10 (prog+0x1180)

  Thread T1 reads 'length':
    #0 append a.c:13 (prog+0x1210)
    #1 worker a.c:50 (prog+0x1300)
    while it holds 'lock' taken at a.c:12

  Thread T2 'updater' writes it in between:
    #0 update b.c:41 (libb.so+0x510)
    while it holds 'lock' taken at b.c:40

  Thread T1 writes it:
    #0 append a.c:20 (prog+0x1250)
    #1 worker a.c:50 (prog+0x1300)
    while it holds 'lock' taken at a.c:19

  Also split: append_all, flush

  Variable 'length' is a global at 0x6000.

  Lock 'lock' is a global, initialised at:
    #0 main a.c:55 (prog+0x1380)

  In this order:
    T1                          T2
    reads 'length' a.c:13
                                writes 'length' b.c:41

  Why this can happen: Nothing prevents it.

  Thread T1 (runs worker) created by thread T0 'main' at:
    #0 main a.c:60 (prog+0x1400)

  Thread T2 'updater' (runs worker) created by thread T0 'main' at:
    #0 main a.c:61 (prog+0x1400)

  Finding #1, after: not seen in this run, but nothing prevents it
  Conflict rww, found by windows, cut_points: the block writes over what the culprit wrote, by a value from before
  To hide it: atomicity_top:append
SUMMARY: avmon: atomicity violation a.c:13 in append
==================
";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_report_of_two_variables() {
        let text = report(&samples::pair(), 7, &Look { strip_path_prefix: "/src/".to_owned(), ..Look::default() });
        let expected = "
  Thread T1 reads 'total':
    #0 show a.c:72 (prog+0x1648)

  Thread T2 'updater' writes it:
    #0 update b.c:40 (libb.so+0x528)

  Thread T2 'updater' atomically updates offset 16 of the memory allocated at a.c:30:
    #0 update b.c:44 (libb.so+0x52c)

  Thread T1 reads it:
    #0 show a.c:75 (prog+0x164b)

  Variable 'total' is a global at 0x6000.

  The memory at 0x7010 is at offset 16 of a block of 48 bytes that thread T0 allocated at:
    #0 make a.c:30 (prog+0x1700)

  In this order:
    T1   T2

";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn the_report_of_a_view() {
        let text = lines(&samples::view()).join("\n");
        let expected = "
  View: thread T2 'updater' writes together, in one block, 'total', offset 16 of the memory allocated at a.c:30, 'count'.

";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn a_finding_in_the_source_speaks_of_no_run() {
        let finding = samples::stale();
        let text = report(&finding, 7, &Look { strip_path_prefix: "/src/".to_owned(), ..Look::default() });
        let expected = "
  Thread 'worker' reads 'length':
    #0 append a.c:13

  Thread 'worker' (another one) writes it in between:
    #0 append b.c:41

  Thread 'worker' writes 'list':
    #0 append a.c:20

";
        assert!(text.contains(expected), "{text}");
        let expected = "
  Dependency, from the program's code:
    a.c:13: 'length' is read
    a.c:20: 'list' is written

";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("  Finding #1, suspected: found in the source; no run was seen\n"), "{text}");
        assert!(!text.contains("pid") && !text.contains("0x0"), "{text}");
        let assumed = Finding { dependency: Some(Dependency::assumed()), ..finding };
        let says = |finding: &Finding, reason: &str| {
            let all = lines(finding);
            assert!(all.iter().any(|it| it.starts_with("  Dependency assumed: ") && it.ends_with(reason)), "{all:#?}");
        };
        says(&assumed, "; the program's LLVM IR would tell.");
        let open = Finding { dependency: Some(Dependency::open()), ..assumed };
        says(&open, "; the program's code does not tell.");
    }

    #[test]
    fn a_member_of_allocated_memory_is_told_by_both() {
        let mut finding = samples::pair();
        finding.variables[1].name = Some("item.count".into());
        let told =
            "  Variable 'item.count' at 0x7010 is at offset 16 of a block of 48 bytes that thread T0 allocated at:";
        assert!(lines(&finding).iter().any(|line| line == told), "{:#?}", lines(&finding));
    }

    #[test]
    fn what_came_of_it_in_the_real_program_is_told() {
        let mut finding = samples::length();
        finding.strength = Strength::Base;
        finding.prove(samples::failing_trial());
        assert_eq!((finding.rung, finding.strength), (Rung::Failing, Strength::Strong));
        let text = lines(&finding).join("\n");
        let expected = "
  Tried, failing: the steps ran in the violating order, and the program failed as it does not otherwise, or far less often
         it ended with exit code 3
         so in 9 of 10 runs, with 3 switches between threads
  To run it again: avmon replay --pin time avmon.confirm/4.schedule -- ./app -x
";
        assert!(text.contains(expected), "{text}");
        let mut weak = Finding { strength: Strength::Base, ..samples::length() };
        weak.prove(Trial { verdict: Verdict::Confirmed, ..finding.trial.clone().unwrap() });
        assert_eq!((weak.rung, weak.strength, weak.is_proven()), (Rung::Confirmed, Strength::Base, false));
        let rung = samples::length().rung;
        let mut early = Finding { strength: Strength::Base, ..samples::length() };
        early.prove(Trial { verdict: Verdict::FailingEarly, ..finding.trial.unwrap() });
        assert_eq!((early.rung, early.strength, early.is_proven()), (rung, Strength::Strong, true));
    }

    #[test]
    fn a_window_says_what_is_known_of_its_data() {
        let finding = Finding { data: Some(Data::NotConflicting), ..samples::append() };
        let text = lines(&finding);
        let told = "  Lock level only: in no order of the recorded accesses do three of them conflict there";
        assert!(text.iter().any(|line| line == told), "{text:#?}");
    }

    #[test]
    fn paths_lose_the_given_beginning_only() {
        let look = Look { strip_path_prefix: "/src/".to_owned(), ..Look::default() };
        let text = report(&samples::append(), 7, &look);
        assert!(text.contains("    #0 append a.c:12 (prog+0x1200)\n"), "{text}");
        let look = Look { strip_path_prefix: "src/".to_owned(), ..Look::default() };
        assert!(report(&samples::append(), 7, &look).contains("    #0 append /src/a.c:12 (prog+0x1200)\n"));
    }

    #[test]
    fn the_first_thread_is_not_explained() {
        let mut finding = samples::append();
        let main = Thread { id: 0, name: "main".into(), parent: None, created_at: vec![], start_routine: None };
        finding.threads[0] = main;
        finding.first.thread = 0;
        finding.second.thread = 0;
        let text = lines(&finding);
        assert!(text.contains(&"  Thread T0 'main' acquires 'lock':".to_owned()), "{text:#?}");
        assert_eq!(text.iter().filter(|line| line.contains("created by")).count(), 1);
    }

    #[test]
    fn the_summary_counts_in_good_english() {
        let one = Closing { findings: 2, blocks: 1, lost: 1, ..Closing::default() };
        assert_eq!(closing(&one), "avmon: 2 findings from 1 block (strong), 0 suppressed, 1 lost event\n");
        let more = Closing { findings: 1, blocks: 1, weak: 3, suppressed: 1, order_gaps: 2, ..Closing::default() };
        assert_eq!(
            closing(&more),
            "avmon: 1 finding from 1 block (strong), 3 weak not shown (show_weak=1 shows them), 1 suppressed, \
             0 lost events, 2 order gaps\n"
        );
    }
}
