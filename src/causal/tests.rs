//! The rules of Figures 4 and 5, each on a few lines of IR, with the exact dependencies that it makes.
//!
//! Versions are written as the variable and the number of the store in its function, `?` being the unknown one; locals are `l0`, `l1`
//! in the order of their allocas. Arrows are `->` for data, `=>` for control.

use std::collections::BTreeSet;

use super::graph::{Graph, What};
use super::places::Root;
use super::{Answer, Place};
use crate::ir;
use crate::ir::model::Op;

fn graph(text: &str) -> Graph {
    // The reader takes an indented brace for a part of an instruction.
    let text: Vec<&str> = text.lines().map(str::trim_start).collect();
    Graph::of(vec![ir::parse(&text.join("\n"), "test.ll").unwrap()])
}

/// A variable as the tests call it.
fn variable(graph: &Graph, number: u32) -> String {
    let facts = &graph.facts;
    match facts.root(number) {
        Root::Local(function, value) => {
            let body = facts.program.function(function);
            let instructions = body.blocks.iter().flat_map(|block| &block.instructions);
            let locals = instructions.filter(|it| matches!(it.op, Op::Local { .. }));
            let index = locals.into_iter().position(|it| it.result == Some(value)).unwrap();
            format!("l{index}")
        }
        _ => facts.name(number),
    }
}

/// The name of a node that is a version, a parameter or a result; nothing for what only leads on.
fn version(graph: &Graph, node: u32) -> Option<String> {
    let facts = &graph.facts;
    let name = |function: u32| facts.program.function(function).name.clone();
    match graph.what(node) {
        What::Parameter(function, index) => Some(format!("{}.p{index}", name(function))),
        What::Return(function) => Some(format!("{}.ret", name(function))),
        What::Unknown(_, it) => Some(format!("{}?", variable(graph, it))),
        What::Instruction(function, number) => {
            let own = &facts.functions[function as usize];
            let written = |number: &u32| own.accesses.get(number).and_then(|access| access.writes.first().copied());
            let it = written(&number)?;
            let earlier = (0..number).filter(|other| written(other) == Some(it)).count();
            Some(format!("{}{}", variable(graph, it), earlier + 1))
        }
        _ => None,
    }
}

/// All dependencies between versions.
fn edges(graph: &Graph) -> BTreeSet<String> {
    let mut edges = BTreeSet::new();
    for from in 0..graph.len() as u32 {
        let Some(name) = version(graph, from) else { continue };
        let mut seen = BTreeSet::new();
        let mut waiting = vec![(from, false)];
        while let Some((node, is_control)) = waiting.pop() {
            for edge in graph.edges(node) {
                // A condition that only leads to a condition makes nothing depend on it at once.
                let is_control = is_control || matches!(graph.what(edge.to), What::Condition(..));
                if !seen.insert((edge.to, is_control)) {
                    continue;
                }
                match version(graph, edge.to) {
                    Some(to) => {
                        edges.insert(format!("{name} {} {to}", if is_control { "=>" } else { "->" }));
                    }
                    None => waiting.push((edge.to, is_control)),
                }
            }
        }
    }
    edges
}

#[track_caller]
fn expect(text: &str, expected: &[&str]) {
    let expected: BTreeSet<String> = expected.iter().map(|&it| it.to_owned()).collect();
    assert_eq!(edges(&graph(text)), expected);
}

const PAIR: &str = "
%struct.pair = type { i32, i32 }
@x = global i32 0
@y = global i32 0
@z = global i32 0
@p = global %struct.pair zeroinitializer
";

#[track_caller]
fn expect_with_pair(text: &str, expected: &[&str]) {
    expect(&format!("{PAIR}{text}"), expected);
}

#[test]
fn assign_and_sequence() {
    expect(
        "define void @f(i32 %a) {
           %l0 = alloca i32
           %l1 = alloca i32
           store i32 %a, ptr %l0
           %v = load i32, ptr %l0
           store i32 %v, ptr %l1
           store i32 1, ptr %l0
           %w = load i32, ptr %l0
           store i32 %w, ptr %l1
           ret void
         }",
        // The second version of l0 replaces the first one.
        &["f.p0 -> l01", "l01 -> l11", "l02 -> l12"],
    );
}

#[test]
fn heap_read() {
    expect_with_pair(
        "define void @f(ptr %q) {
           %l0 = alloca i32
           %a = getelementptr inbounds %struct.pair, ptr %q, i32 0, i32 1
           %v = load i32, ptr %a
           store i32 %v, ptr %l0
           ret void
         }",
        // The field, and not the pointer that leads to it.
        &["pair.1? -> l01"],
    );
}

#[test]
fn heap_write() {
    expect_with_pair(
        "define void @f(ptr %q, i32 %v) {
           %l0 = alloca i32
           %a = getelementptr inbounds %struct.pair, ptr %q, i32 0, i32 0
           store i32 %v, ptr %a
           %w = load i32, ptr %a
           store i32 %w, ptr %l0
           ret void
         }",
        &["f.p1 -> pair.01", "pair.01 -> l01"],
    );
}

#[test]
fn two_globals_of_one_type_are_two_variables() {
    expect(
        "%struct.pair = type { i32, i32 }
         @p = global %struct.pair zeroinitializer
         @q = global %struct.pair zeroinitializer
         define void @f(i32 %v) {
           store i32 %v, ptr getelementptr inbounds (%struct.pair, ptr @p, i32 0, i32 1)
           %w = load i32, ptr getelementptr inbounds (%struct.pair, ptr @q, i32 0, i32 1)
           store i32 %w, ptr @p
           ret void
         }",
        &["f.p0 -> p.11", "q.1? -> p.01"],
    );
}

#[test]
fn a_pointer_from_the_callers_leads_to_their_objects() {
    expect_with_pair(
        "define void @set(ptr %q, i32 %v) {
           %a = getelementptr inbounds %struct.pair, ptr %q, i32 0, i32 1
           store i32 %v, ptr %a
           ret void
         }
         define void @f(i32 %v) {
           call void @set(ptr @p, i32 %v)
           %w = load i32, ptr getelementptr inbounds (%struct.pair, ptr @p, i32 0, i32 1)
           store i32 %w, ptr @x
           ret void
         }",
        // What the call wrote is known to the caller, by itself and by what it was given.
        &["f.p0 -> set.p1", "f.p0 -> x1", "set.p1 -> p.11", "p.11 -> x1"],
    );
}

#[test]
fn allocation_depends_on_nothing() {
    expect(
        "declare ptr @malloc(i64)
         define void @f(i64 %size) {
           %l0 = alloca ptr
           %m = call ptr @malloc(i64 %size)
           store ptr %m, ptr %l0
           ret void
         }",
        &[],
    );
}

#[test]
fn a_call_takes_arguments_in_and_the_result_out() {
    expect(
        "define i32 @inc(i32 %a) {
           %r = add i32 %a, 1
           ret i32 %r
         }
         define void @f(i32 %v) {
           %l0 = alloca i32
           %c = call i32 @inc(i32 %v)
           store i32 %c, ptr %l0
           ret void
         }",
        &["f.p0 -> inc.p0", "f.p0 -> l01", "inc.p0 -> inc.ret", "inc.ret -> l01"],
    );
}

#[test]
fn a_call_replaces_what_it_surely_writes_and_adds_what_it_may() {
    let program = |body: &str| {
        format!(
            "{PAIR}
             define void @g(i32 %c) {{
               {body}
             }}
             define void @f() {{
               store i32 1, ptr @x
               call void @g(i32 0)
               %v = load i32, ptr @x
               store i32 %v, ptr @y
               ret void
             }}"
        )
    };
    // Both functions have a first version of x; that of g is the one that arrives.
    let surely = graph(&program("store i32 2, ptr @x\n ret void"));
    let may = graph(&program(
        "%b = icmp eq i32 %c, 0
         br i1 %b, label %one, label %two
         one:
         store i32 2, ptr @x
         br label %two
         two:
         ret void",
    ));
    let [f_surely, f_may] = [&surely, &may].map(|graph| {
        let f = graph.facts.program.named("f").unwrap();
        let own = graph.slice(&[graph.instruction(f, 0)], usize::MAX);
        own.has(graph.instruction(f, 3))
    });
    assert!(!f_surely, "the version from before the call is gone");
    assert!(f_may, "the version from before the call may still be there");
    for graph in [surely, may] {
        let g = graph.facts.program.named("g").unwrap();
        let f = graph.facts.program.named("f").unwrap();
        let own = &graph.facts.functions[g as usize];
        let store = *own.accesses.keys().next().unwrap();
        assert!(graph.slice(&[graph.instruction(g, store)], usize::MAX).has(graph.instruction(f, 3)));
    }
}

const BRANCH: &str = "
define void @f(i32 %a, i32 %c) {
  %l0 = alloca i32
  store i32 1, ptr %l0
  %v = load i32, ptr @z
  %b = icmp eq i32 %v, 0
  br i1 %b, label %one, label %two
one:
  store i32 %a, ptr %l0
  store i32 %c, ptr @y
  br label %end
two:
  br label %end
end:
  %w = load i32, ptr %l0
  store i32 %w, ptr @x
  %u = load i32, ptr @y
  store i32 %u, ptr @x
  ret void
}";

#[test]
fn conditional() {
    expect_with_pair(
        BRANCH,
        &[
            // Both versions of l0 reach its end; y may be as it was before.
            "f.p0 -> l02",
            "f.p1 -> y1",
            "l01 -> x1",
            "l02 -> x1",
            "y1 -> x2",
            "y? -> x2",
            // What is written in a branch depends on the condition: IS' = IS ∪ {b}. What comes after it does not.
            "z? => l02",
            "z? => y1",
        ],
    );
}

/// A rule of Figure 5, for a statement that only runs under the condition `z`.
#[track_caller]
fn expect_under_a_condition(statement: &str, expected: &[&str]) {
    let text = format!(
        "declare ptr @malloc(i64)
         define i32 @inc(i32 %a) {{
           %r = add i32 %a, 1
           ret i32 %r
         }}
         define void @f(ptr %q, i32 %c) {{
           %l0 = alloca ptr
           %l1 = alloca i32
           %v = load i32, ptr @z
           %b = icmp eq i32 %v, 0
           br i1 %b, label %one, label %end
         one:
           {statement}
           br label %end
         end:
           ret void
         }}"
    );
    expect_with_pair(&text, &[expected, &["inc.p0 -> inc.ret"]].concat());
}

#[test]
fn heap_read_under_a_condition() {
    expect_under_a_condition(
        "%a = getelementptr inbounds %struct.pair, ptr %q, i32 0, i32 1
         %w = load i32, ptr %a
         store i32 %w, ptr %l1",
        &["pair.1? -> l11", "z? => l11"],
    );
}

#[test]
fn allocation_under_a_condition() {
    expect_under_a_condition(
        "%m = call ptr @malloc(i64 8)
         store ptr %m, ptr %l0",
        &["z? => l01"],
    );
}

#[test]
fn method_call_under_a_condition() {
    expect_under_a_condition(
        "%d = call i32 @inc(i32 %c)
         store i32 %d, ptr %l1",
        &[
            "f.p1 -> inc.p0",
            "f.p1 -> l11",
            "inc.ret -> l11",
            "z? => l11",
            // The conditions of a call are those of the callee's return.
            "z? => inc.ret",
        ],
    );
}

/// `x = z ? p0 : p1`: clang makes no variable of it, but a value for each way.
#[test]
fn a_choice_between_values() {
    expect_with_pair(
        "define void @f(i32 %a, i32 %c) {
           %v = load i32, ptr @z
           %b = icmp ne i32 %v, 0
           br i1 %b, label %one, label %two
         one:
           br label %end
         two:
           br label %end
         end:
           %r = phi i32 [ %a, %one ], [ %c, %two ]
           store i32 %r, ptr @x
           ret void
         }",
        &["f.p0 -> x1", "f.p1 -> x1", "z? => x1"],
    );
}

/// `x = z && y`: the second is read only if the first allows it.
#[test]
fn an_and_of_two_conditions() {
    expect_with_pair(
        "define void @f() {
           %v = load i32, ptr @z
           %b = icmp ne i32 %v, 0
           br i1 %b, label %more, label %end
         more:
           %w = load i32, ptr @y
           %c = icmp ne i32 %w, 0
           br label %end
         end:
           %r = phi i1 [ false, %0 ], [ %c, %more ]
           store i1 %r, ptr @x
           ret void
         }",
        &["y? -> x1", "z? => x1"],
    );
}

#[test]
fn a_loop_sees_its_own_writes_and_what_was_before() {
    expect_with_pair(
        "define void @f() {
           br label %head
         head:
           %v = load i32, ptr @x
           %b = icmp eq i32 %v, 0
           br i1 %b, label %body, label %end
         body:
           %w = load i32, ptr @x
           %n = add i32 %w, 1
           store i32 %n, ptr @x
           br label %head
         end:
           store i32 %v, ptr @y
           ret void
         }",
        &["x? -> x1", "x1 -> x1", "x? => x1", "x1 => x1", "x? -> y1", "x1 -> y1"],
    );
}

#[test]
fn return_of_a_value_under_a_condition() {
    expect_with_pair(
        "define i32 @f(i32 %a) {
           %v = load i32, ptr @x
           %b = icmp eq i32 %v, 0
           br i1 %b, label %one, label %two
         one:
           ret i32 %a
         two:
           ret i32 0
         }",
        &["f.p0 -> f.ret", "x? => f.ret"],
    );
}

#[test]
fn conditions_of_callers_reach_into_callees() {
    expect_with_pair(
        "define void @g() {
           store i32 1, ptr @y
           ret void
         }
         define void @f() {
           %v = load i32, ptr @x
           %b = icmp eq i32 %v, 0
           br i1 %b, label %one, label %two
         one:
           call void @g()
           br label %two
         two:
           ret void
         }
         define void @h() {
           %v = load i32, ptr @z
           %b = icmp eq i32 %v, 0
           br i1 %b, label %one, label %two
         one:
           call void @g()
           br label %two
         two:
           ret void
         }",
        // The union of all callers' conditions.
        &["x? => y1", "z? => y1"],
    );
}

#[test]
fn skip_does_nothing() {
    expect("define void @f() {\n ret void\n }", &[]);
}

#[test]
fn what_is_asserted_decides_nothing_behind_it() {
    expect_with_pair(
        "declare void @abort()
         define void @f() {
           %v = load i32, ptr @x
           %b = icmp eq i32 %v, 0
           br i1 %b, label %good, label %bad
         bad:
           call void @abort()
           unreachable
         good:
           store i32 1, ptr @y
           ret void
         }",
        &[],
    );
}

#[test]
fn an_index_is_part_of_what_is_written_and_read() {
    expect(
        "@a = global [8 x i32] zeroinitializer
         define void @f(i64 %i, i64 %j) {
           %to = getelementptr inbounds [8 x i32], ptr @a, i64 0, i64 %i
           %from = getelementptr inbounds [8 x i32], ptr @a, i64 0, i64 %j
           %v = load i32, ptr %from
           store i32 %v, ptr %to
           ret void
         }",
        &["f.p0 -> a1", "f.p1 -> a1", "a? -> a1"],
    );
}

#[test]
fn what_goes_in_by_one_call_does_not_come_out_at_another() {
    let graph = graph(&format!(
        "{PAIR}
         define i32 @same(i32 %a) {{
           ret i32 %a
         }}
         define void @f() {{
           %v = load i32, ptr @x
           %w = load i32, ptr @y
           %c = call i32 @same(i32 %v)
           %d = call i32 @same(i32 %w)
           store i32 %c, ptr @z
           store i32 %d, ptr @p
           ret void
         }}"
    ));
    let f = graph.facts.program.named("f").unwrap();
    let node = |number| graph.instruction(f, number);
    let of_x = graph.slice(&[node(0)], usize::MAX);
    assert!(of_x.has(node(4)) && !of_x.has(node(5)));
    let of_y = graph.slice(&[node(1)], usize::MAX);
    assert!(of_y.has(node(5)) && !of_y.has(node(4)));
    // Nothing is written that depends on both, though both go through one function.
    assert_eq!(graph.meeting(&of_x, &of_y).map(|node| graph.what(node)), None);
}

/// `incX` of the paper's Figure 1(b), whose graph is Figure 3: from `tests/causal/figure3.c` by clang 14.
const FIGURE_3: &str = include_str!("../../tests/causal/figure3.ll");

#[test]
fn figure_3() {
    let graph = graph(FIGURE_3);
    let edges = edges(&graph);
    // l0 is where clang keeps the parameter val, l1 is tmp.
    let expected = [
        "getX.ret -> l11",
        "incX.p0 -> l01",
        "l01 -> l12",
        "l11 -> l12",
        "l12 -> setX.p0",
        "setX.p0 -> l01",
        "l01 -> x1",
        "x? -> getX.ret",
    ];
    assert_eq!(edges, expected.into_iter().map(str::to_owned).collect());
}

fn at(line: u32) -> Place {
    Place { file: "figure3.c".into(), line, column: None }
}

#[test]
fn figure_3_asked_by_line() {
    let graph = graph(FIGURE_3);
    let read = FIGURE_3_SOURCE.lines().position(|line| line.contains("return x;")).unwrap() as u32 + 1;
    let write = FIGURE_3_SOURCE.lines().position(|line| line.contains("x = p0;")).unwrap() as u32 + 1;
    let Answer::Depends(chain) = graph.direct(&at(read), &at(write)) else {
        panic!("x is written from what was read of it")
    };
    let told: Vec<&str> = chain.iter().map(|link| link.what.as_str()).collect();
    assert_eq!(
        told,
        [
            "'x' is read",
            "getX() returns it",
            "getX() is called",
            "'tmp' is written",
            "'tmp' is read",
            "'tmp' is written",
            "'tmp' is read",
            "'p0' of setX() is given",
            "'p0' is read",
            "'x' is written",
        ]
    );
    assert!(chain.iter().all(|link| link.at.as_ref().is_some_and(|at| at.file.ends_with("figure3.c"))));
    assert_eq!(graph.direct(&at(read), &at(1)), Answer::Unknown);
    let elsewhere = Place { file: "other.c".into(), line: read, column: None };
    assert_eq!(graph.direct(&elsewhere, &at(write)), Answer::Unknown);
}

const FIGURE_3_SOURCE: &str = include_str!("../../tests/causal/figure3.c");
