//! The definitions of the paper, on programs of a few words: `lock`, `unlock`, `wait`, `x=y+1`, `if:x ... end`, `call:f`. Variables
//! are global except `l0` to `l3`; `lock2` is another lock.

use std::fmt::Write as _;

use super::alone::Alone;
use super::blocks::{Blocks, Way};
use super::rules::{Lint, Reason};
use super::sections::Sections;
use super::starts::starts;
use super::{ANNOTATION, Report, Seen, lint, processes};
use crate::causal::Graph;
use crate::ir;
use crate::ir::model::Module;
use crate::report::finding::{Finding, Pattern, Strength};
use rustc_hash::FxHashSet;

const HEAD: &str = "
%union.pthread_mutex_t = type { i64 }
@m = global %union.pthread_mutex_t zeroinitializer
@m2 = global %union.pthread_mutex_t zeroinitializer
@c = global i64 0
@x = global i32 0
@y = global i32 0
@z = global i32 0
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
";

#[derive(Default)]
struct Writer {
    text: String,
    next: usize,
    open: Vec<usize>,
}

impl Writer {
    fn new_name(&mut self) -> String {
        self.next += 1;
        format!("v{}", self.next)
    }

    fn operand(&mut self, word: &str) -> String {
        if word.parse::<i32>().is_ok() {
            return word.to_owned();
        }
        let name = self.new_name();
        let place = place(word);
        let _ = writeln!(self.text, "%{name} = load i32, ptr {place}");
        format!("%{name}")
    }

    fn word(&mut self, word: &str) {
        let call = |function: &str, lock: &str| format!("call i32 @pthread_mutex_{function}(ptr {lock})");
        let line = match word {
            "lock" => call("lock", "@m"),
            "unlock" => call("unlock", "@m"),
            "lock2" => call("lock", "@m2"),
            "unlock2" => call("unlock", "@m2"),
            "wait" => "call i32 @pthread_cond_wait(ptr @c, ptr @m)".to_owned(),
            "end" => {
                let label = self.open.pop().unwrap();
                format!("br label %end{label}\nend{label}:")
            }
            _ if word.starts_with("call:") => format!("call ptr @{}(ptr null)", &word[5..]),
            _ if word.starts_with("if:") => {
                let value = self.operand(&word[3..]);
                let (condition, label) = (self.new_name(), self.next);
                self.open.push(label);
                format!(
                    "%{condition} = icmp ne i32 {value}, 0\nbr i1 %{condition}, label %then{label}, label %end{label}\nthen{label}:"
                )
            }
            _ => {
                let (to, from) = word.split_once('=').unwrap();
                let mut sum = "0".to_owned();
                for part in from.split('+') {
                    let value = self.operand(part);
                    let name = self.new_name();
                    let _ = writeln!(self.text, "%{name} = add i32 {sum}, {value}");
                    sum = format!("%{name}");
                }
                format!("store i32 {sum}, ptr {}", place(to))
            }
        };
        let _ = writeln!(self.text, "{line}");
    }
}

fn place(word: &str) -> String {
    if word.starts_with('l') { format!("%{word}") } else { format!("@{word}") }
}

/// A program of these functions, that runs threads of some of them.
fn program(functions: &[(&str, &str)], threads: &[&str]) -> Vec<Module> {
    let mut text = HEAD.to_owned();
    for (name, words) in functions {
        let mut writer = Writer::default();
        words.split_whitespace().for_each(|word| writer.word(word));
        let locals = "%l0 = alloca i32\n%l1 = alloca i32\n%l2 = alloca i32\n%l3 = alloca i32\n";
        let _ = writeln!(text, "define ptr @{name}(ptr %a) {{\n{locals}{}ret ptr null\n}}", writer.text);
    }
    text.push_str("define i32 @main() {\n");
    for thread in threads {
        let _ = writeln!(text, "call i32 @pthread_create(ptr null, ptr null, ptr @{thread}, ptr null)");
    }
    text.push_str("ret i32 0\n}\n");
    vec![ir::parse(&text, "test.ll").unwrap()]
}

fn found(functions: &[(&str, &str)], threads: &[&str], paper: bool) -> Vec<Finding> {
    let Report { findings, .. } = lint(program(functions, threads), paper);
    findings
}

/// Pattern, function and variables of each finding.
#[track_caller]
fn expect(functions: &[(&str, &str)], threads: &[&str], expected: &[(Pattern, &str, &[&str])]) {
    let found = found(functions, threads, false);
    let told: Vec<(Pattern, &str, Vec<&str>)> = found
        .iter()
        .map(|it| {
            let variables = it.variables.iter().map(|it| it.name.as_deref().unwrap()).collect();
            (it.pattern.unwrap(), it.block.name.as_str(), variables)
        })
        .collect();
    let expected: Vec<_> =
        expected.iter().map(|(pattern, name, variables)| (*pattern, *name, variables.to_vec())).collect();
    assert_eq!(told, expected);
}

const SET_BOTH: (&str, &str) = ("set_both", "lock x=1 y=1 unlock");

#[test]
fn definitions_5_and_6_views_and_maximal_views() {
    let functions =
        [("one", "lock x=y unlock lock x=1 unlock"), ("two", "lock x=1 y=2 unlock lock z=x unlock lock l0=z unlock")];
    let graph = Graph::of(program(&functions, &["one", "two"]));
    let processes = processes::processes(&graph.facts, &starts(&graph.facts));
    let sections = Sections::find(&graph.facts, ANNOTATION, FxHashSet::default());
    let blocks = Blocks::find(&graph.facts, &sections, &processes, &Alone::default(), false);
    let named = |view: &super::blocks::View| -> Vec<String> {
        let mut names: Vec<String> = view.iter().map(|&it| graph.facts.name(it)).collect();
        names.sort();
        names
    };
    // The process main has none; z is used by one process only.
    let views: Vec<Vec<[Vec<String>; 2]>> = blocks
        .of_process
        .iter()
        .map(|own| own.iter().map(|&it| [named(&blocks.list[it].reads), named(&blocks.list[it].writes)]).collect())
        .collect();
    let list = |names: &[&str]| names.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
    assert_eq!(views[0], Vec::<[Vec<String>; 2]>::new());
    assert_eq!(views[1], [[list(&["y"]), list(&["x"])], [list(&[]), list(&["x"])]]);
    assert_eq!(views[2], [[list(&[]), list(&["x", "y"])], [list(&["x"]), list(&[])], [list(&[]), list(&[])]]);
    let lint =
        Lint::new(Seen { graph: &graph, sections: &sections, blocks: &blocks, processes: &processes, paper: false });
    let maximal: Vec<Vec<String>> = lint.maximal(2, Way::Write).into_iter().map(|(_, view)| named(view)).collect();
    assert_eq!(maximal, [list(&["x", "y"])]);
}

#[test]
fn definition_8_reads_that_meet() {
    let read = ("read", "lock l0=x unlock lock l1=y unlock l2=l0+l1");
    let functions = [SET_BOTH, ("reader", "call:read"), read];
    expect(&functions, &["set_both", "reader"], &[(Pattern::View, "read", &["x", "y"])]);
}

#[test]
fn definition_8_reads_that_never_meet() {
    let read = ("read", "lock l0=x unlock lock l1=y unlock l2=l0 l3=l1");
    expect(&[SET_BOTH, ("reader", "call:read"), read], &["set_both", "reader"], &[]);
}

#[test]
fn definition_8_reads_that_are_a_chain() {
    let read = ("read", "lock l0=x unlock lock l1=x l2=y unlock l3=l0+l1+l2");
    expect(&[SET_BOTH, ("reader", "call:read"), read], &["set_both", "reader"], &[]);
}

#[test]
fn definition_8_writes() {
    let functions =
        [("write", "lock x=1 unlock lock y=1 unlock"), ("writer", "call:write"), ("reader", "lock l0=x+y unlock")];
    expect(&functions, &["writer", "reader"], &[(Pattern::View, "write", &["x", "y"])]);
    let together = [("write", "lock x=1 y=1 unlock lock y=1 unlock"), ("writer", "call:write"), functions[2]];
    expect(&together, &["writer", "reader"], &[]);
}

#[test]
fn definition_9_a_process_conflicts_with_itself_only_if_there_are_two() {
    let functions = [("both", "call:read lock x=1 y=1 unlock"), ("read", "lock l0=x unlock lock l1=y unlock l2=l0+l1")];
    expect(&functions, &["both"], &[]);
    expect(&functions, &["both", "both"], &[(Pattern::View, "read", &["x", "y"])]);
}

#[test]
fn definition_11_a_value_leaves_a_block_and_enters_another() {
    let functions = [("add", "lock l0=x unlock l1=l0+1 lock x=l1 unlock"), ("adder", "call:add")];
    expect(&functions, &["adder", "adder"], &[(Pattern::StaleValue, "add", &["x"])]);
    let condition = [
        ("check", "lock l0=x unlock if:l0 lock y=1 unlock end"),
        ("checker", "call:check"),
        ("set", "lock x=1 unlock"),
    ];
    expect(&condition, &["checker", "set"], &[]);
    // Only what is shared can be written for others to see.
    let seen = [condition[0], condition[1], condition[2], ("look", "lock l0=y unlock")];
    expect(&seen, &["checker", "set", "look"], &[(Pattern::StaleValue, "check", &["x", "y"])]);
}

#[test]
fn definition_11_nobody_else_writes() {
    let functions =
        [("add", "lock l0=x unlock lock y=l0 unlock"), ("adder", "call:add"), ("look", "lock l0=x+y unlock")];
    expect(&functions, &["adder", "look"], &[]);
}

#[test]
fn definition_10_what_is_read_in_no_block_is_none_of_it() {
    let functions = [("add", "l0=x lock x=l0 unlock"), ("adder", "call:add")];
    expect(&functions, &["adder", "adder"], &[]);
}

#[test]
fn one_block_that_is_left_and_entered_again() {
    // m1 = m2: by the result and the parameter of one function.
    let mut text = HEAD.to_owned();
    text.push_str(
        "define i32 @swap(i32 %new) {
%1 = call i32 @pthread_mutex_lock(ptr @m)
%old = load i32, ptr @x
store i32 %new, ptr @x
%2 = call i32 @pthread_mutex_unlock(ptr @m)
ret i32 %old
}
define i32 @twice(i32 %new) {
%one = call i32 @swap(i32 0)
%next = add i32 %one, 1
%two = call i32 @swap(i32 %next)
ret i32 %two
}
define ptr @thread(ptr %a) {
%r = call i32 @twice(i32 1)
ret ptr null
}
define i32 @main() {
%1 = call i32 @pthread_create(ptr null, ptr null, ptr @thread, ptr null)
%2 = call i32 @pthread_create(ptr null, ptr null, ptr @thread, ptr null)
ret i32 0
}
",
    );
    let report = lint(vec![ir::parse(&text, "test.ll").unwrap()], true);
    let told: Vec<(&str, Option<Pattern>)> =
        report.findings.iter().map(|it| (it.block.name.as_str(), it.pattern)).collect();
    assert_eq!(told, [("twice", Some(Pattern::StaleValue))]);
}

#[test]
fn what_is_looked_at_again_is_not_stale() {
    let body = "lock l0=x unlock lock l1=x if:l1 y=l0 end unlock";
    let functions = [("update", body), ("updater", "call:update"), ("set", "lock x=z unlock")];
    expect(&functions, &["updater", "updater", "set"], &[]);
    assert_eq!(found(&functions, &["updater", "updater", "set"], true).len(), 1, "the paper does not look at this");
}

#[test]
fn who_writes_back_what_it_read_has_to_compare_it_with_what_is_new() {
    let body = "lock l0=x unlock lock l1=x if:l1 x=l0 end unlock";
    let functions = [("update", body), ("updater", "call:update")];
    expect(&functions, &["updater", "updater"], &[(Pattern::StaleValue, "update", &["x"])]);
}

#[test]
fn what_a_block_acts_on_itself_is_not_stale() {
    let functions =
        [("take", "lock l0=x x=l0+1 unlock lock y=l0 unlock"), ("taker", "call:take"), ("look", "lock l0=y unlock")];
    expect(&functions, &["taker", "taker", "look"], &[]);
    assert_eq!(found(&functions, &["taker", "taker", "look"], true).len(), 1, "the paper does not look at this");
}

#[test]
fn functions_that_lock_for_others() {
    let functions = [
        ("enter", "lock"),
        ("leave", "unlock"),
        ("add", "call:enter l0=x call:leave call:enter x=l0+1 call:leave"),
        ("right", "call:enter l0=x x=l0+1 call:leave"),
        ("adder", "call:add call:right"),
    ];
    expect(&functions, &["adder", "adder"], &[(Pattern::StaleValue, "add", &["x"])]);
}

#[test]
fn a_wait_ends_a_block_and_begins_another() {
    let functions = [("add", "lock l0=x wait x=l0+1 unlock"), ("adder", "call:add")];
    expect(&functions, &["adder", "adder"], &[(Pattern::StaleValue, "add", &["x"])]);
}

#[test]
fn the_outermost_section_is_the_block() {
    let functions = [("add", "lock2 lock l0=x unlock lock x=l0+1 unlock unlock2"), ("adder", "call:add")];
    expect(&functions, &["adder", "adder"], &[]);
    // Who needs the inner lock only is not kept out.
    let other = ("other", "lock x=5 unlock");
    expect(&[functions[0], functions[1], other], &["adder", "other"], &[(Pattern::StaleValue, "add", &["x"])]);
}

#[test]
fn a_whole_thread_is_seldom_meant_to_be_atomic() {
    let functions = [("writer", "lock x=1 unlock lock y=1 unlock"), ("reader", "lock l0=x+y unlock")];
    let found = found(&functions, &["writer", "reader"], false);
    assert_eq!(found.iter().map(|it| it.strength).collect::<Vec<_>>(), [Strength::Base]);
}

#[test]
fn what_main_does_before_it_starts_others_is_done_alone() {
    let text = program(
        &[("add", "lock l0=x unlock lock y=l0 unlock"), ("adder", "call:add"), ("set", "lock x=1 y=2 unlock")],
        &["adder"],
    );
    let mut module = text.into_iter().next().unwrap();
    let [set, main] = ["set", "main"].map(|name| module.functions.iter().position(|it| it.name == name).unwrap());
    let call = ir::model::Instruction {
        result: None,
        op: ir::model::Op::Call {
            callee: ir::model::Operand::Function(set as u32),
            arguments: vec![ir::model::Operand::Constant],
            signature: module.functions[set].signature.clone(),
        },
        at: None,
    };
    let body = &mut module.functions[main].blocks[0].instructions;
    body.insert(0, call.clone());
    assert!(lint(vec![module.clone()], false).findings.is_empty());
    module.functions[main].blocks[0].instructions.push(call);
    assert_eq!(lint(vec![module], false).findings.len(), 1);
}

#[test]
fn the_reason_says_which_view_is_split() {
    let functions = [
        ("write", "lock x=1 unlock lock y=1 unlock"),
        ("writer", "call:write"),
        ("reader", "lock l0=x+y+z z=1 unlock"),
    ];
    let graph = Graph::of(program(&functions, &["writer", "reader", "reader"]));
    let processes = processes::processes(&graph.facts, &starts(&graph.facts));
    let sections = Sections::find(&graph.facts, ANNOTATION, FxHashSet::default());
    let blocks = Blocks::find(&graph.facts, &sections, &processes, &Alone::default(), false);
    let splits =
        Lint::new(Seen { graph: &graph, sections: &sections, blocks: &blocks, processes: &processes, paper: false })
            .splits();
    let [split] = &splits[..] else { panic!("{splits:?}") };
    let Reason::View { way: Way::Write, view } = &split.reason else { panic!("{split:?}") };
    let names: Vec<String> = view.iter().map(|&it| graph.facts.name(it)).collect();
    assert_eq!(names, ["x", "y", "z"]);
}

#[test]
fn a_program_without_processes_has_nothing_to_find() {
    for paper in [false, true] {
        let empty = ir::parse(HEAD, "empty.ll").unwrap();
        let internal = ir::parse(
            "@x = global i32 0\ndefine internal void @f() {\nstore i32 1, ptr @x\nret void\n}\n",
            "internal.ll",
        );
        for module in [empty, internal.unwrap()] {
            let report = lint(vec![module], paper);
            assert_eq!((report.findings.len(), report.processes), (0, 0));
        }
    }
}
