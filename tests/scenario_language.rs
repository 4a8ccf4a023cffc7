//! The language of scenarios: what is read, what is printed, what is told about mistakes.

use avmon::scenario::error::ErrorKind;
use avmon::scenario::tree::{Action, Object, ObjectKind, Operator, Position, Scenario, Step, Thread, Value};
use avmon::scenario::words::{Declares, Does};
use avmon::scenario::{MOST_LEVELS, MOST_OBJECTS, MOST_OPERATORS, MOST_STEPS, MOST_THREADS, parse};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const EXAMPLE: &str = "\
# Two sections of one lock in a block that is meant to be atomic
lock m
var balance = 10, log

t1: begin withdraw
    acq m
    r = rd balance
    rel m
t2: acq m; wr balance 0; rel m
t1: if r >= 10 {
      acq m
      wr balance r - 10
      rel m
    }
    end
";

#[track_caller]
fn read(text: &str) -> Scenario {
    parse(text).unwrap_or_else(|errors| panic!("{}", errors.render("scenario", text)))
}

/// The same, as it would be if it had been read from text: without positions, and with turns numbered from 0 in their order.
fn plain(scenario: &Scenario) -> Scenario {
    fn each(steps: &mut [Step], change: &mut impl FnMut(&mut Step)) {
        for step in steps {
            change(step);
            match &mut step.action {
                Action::If { then, otherwise, .. } => {
                    each(then, change);
                    each(otherwise, change);
                }
                Action::While { body, .. } => each(body, change),
                _ => {}
            }
        }
    }
    let mut scenario = scenario.clone();
    let mut turns = BTreeSet::new();
    for (index, thread) in scenario.threads.iter_mut().enumerate() {
        each(&mut thread.steps, &mut |step| {
            turns.insert((step.turn, index));
        });
    }
    for (index, thread) in scenario.threads.iter_mut().enumerate() {
        each(&mut thread.steps, &mut |step| {
            step.at = Position::default();
            step.turn = turns.range(..(step.turn, index)).count();
        });
    }
    scenario
}

#[track_caller]
fn survives_printing(scenario: &Scenario) {
    let text = scenario.to_string();
    let again = read(&text);
    assert_eq!(plain(&again), plain(scenario), "{text}");
    assert_eq!(again.to_string(), text);
}

#[test]
fn the_example_is_read() {
    let scenario = read(EXAMPLE);
    let step = |action, line, column, turn| Step { action, at: Position { line, column }, turn };
    let object = |name: &str, kind| Object { name: name.into(), kind };
    let objects = vec![
        object("m", ObjectKind::Lock),
        object("balance", ObjectKind::Variable(10)),
        object("log", ObjectKind::Variable(0)),
    ];
    let r = || Box::new(Value::Register(0));
    let ten = || Box::new(Value::Number(10));
    let then = vec![
        step(Action::Acquire(0), 11, 7, 2),
        step(Action::Write { variable: 1, value: Value::Binary(Operator::Minus, r(), ten()) }, 12, 7, 2),
        step(Action::Release(0), 13, 7, 2),
    ];
    let condition = Value::Binary(Operator::AtLeast, r(), ten());
    let first = vec![
        step(Action::Begin(Some("withdraw".into())), 5, 5, 0),
        step(Action::Acquire(0), 6, 5, 0),
        step(Action::Read { into: Some(0), variable: 1 }, 7, 5, 0),
        step(Action::Release(0), 8, 5, 0),
        step(Action::If { condition, then, otherwise: vec![] }, 10, 5, 2),
        step(Action::End, 15, 5, 2),
    ];
    let second = vec![
        step(Action::Acquire(0), 9, 5, 1),
        step(Action::Write { variable: 1, value: Value::Number(0) }, 9, 12, 1),
        step(Action::Release(0), 9, 26, 1),
    ];
    let threads = vec![
        Thread { name: "t1".into(), registers: vec!["r".into()], steps: first },
        Thread { name: "t2".into(), registers: vec![], steps: second },
    ];
    assert_eq!(scenario, Scenario { objects, threads });
}

#[test]
fn the_example_is_printed_as_it_is_written() {
    let canonical: String = EXAMPLE
        .replace("acq m; wr balance 0; rel m", "acq m\n    wr balance 0\n    rel m")
        .split_inclusive('\n')
        .skip(1)
        .collect();
    assert_eq!(read(EXAMPLE).to_string(), canonical);
}

/// Every step, in every form.
#[test]
fn every_step_survives_printing() {
    let text = "
lock m, n
recursive again
rwlock l
cond c
barrier b 2
semaphore s 3, empty
var x = -5, y
atomic a = 9223372036854775807, z = -9223372036854775808

main: fork 2; fork worker
2: acq m; acq again; acq l; racq l; rel m; rel again; rel l
   p = try m; q = try s; q = rtry l
   begin; begin outer; end; end
   rd x; p = rd x; wr x; wr x 2; wr x -p + 1
   load a; p = load a; store a !p; add a 1; p = add a -1; swap a (1); p = swap a p; cas a 0 -1; p = cas a (p + 1) q
   wait c m; wait c again; wait b; wait s; signal c; broadcast c; post s
   u = 1; u = -(p - q) * 3 % -q / 2; u = --5; u = -(5); u = !(p == q) || p < 1 && (p || q); u = p - (q - u) - 1
   assert u <= 1
   if p {
   } else if q { end_of = 1; } else { if u { rd x } ; rd y }
   if p { rd x }
   else { rd y }
   if p { } else { if q { }; }
   while p != 0 max 1000 { p = rd x; begin inside
worker:
main: join 2
2:    end }
idle:
";
    let scenario = read(text);
    survives_printing(&scenario);
    let printed = scenario.to_string();
    for word in Does::ALL {
        assert!(
            printed.contains(&format!("{} ", word.text())) || printed.contains(&format!("{}\n", word.text())),
            "{word:?}"
        );
    }
    assert_eq!(
        scenario.threads.iter().map(|thread| &thread.name[..]).collect::<Vec<_>>(),
        ["main", "2", "worker", "idle"]
    );
}

#[test]
fn operators_bind_as_their_table_says() {
    let value = |text: &str| match &read(&format!("t: r = {text}")).threads[0].steps[0].action {
        Action::Set { value, .. } => value.of(&[7]),
        other => panic!("{other:?}"),
    };
    assert_eq!(value("1 + 2 * 3"), 7);
    assert_eq!(value("(1 + 2) * 3"), 9);
    assert_eq!(value("10 - 4 - 3"), 3);
    assert_eq!(value("1 || 0 && 0"), 1);
    assert_eq!(value("1 + 1 == 2 && 3 < 4"), 1);
    assert_eq!(value("1 < 2 == 1"), 1);
    assert_eq!(value("-r + !0 - -2"), -4);
    assert_eq!(value("!r-1"), -1);
    assert_eq!(value("7 / 0 + 7 % 0"), 0);
    assert_eq!(value("-9223372036854775808"), i64::MIN);
}

fn numbered(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |text, n| text + &line(n))
}

/// Texts with one mistake each, and what is told: the place, the message and the caret.
fn mistakes() -> Vec<(&'static str, String, String)> {
    let repeated = |text: &str, times: usize| text.repeat(times);
    let fixed: &[(&'static str, &str, &str)] = &[
        (
            "BadCharacter",
            "var x $",
            "1:7: '$' means nothing here; a comment begins with '#'\n    var x $\n          ^\n",
        ),
        (
            "BadName",
            "var größe = 1\n",
            "1:5: 'größe' is neither a name nor a number; a name has the letters a to z, digits and '_', and does not begin with a digit\n    var größe = 1\n        ^~~~~\n",
        ),
        (
            "Keyword",
            "lock max\n",
            "1:6: 'max' is a word of the language; choose another name\n    lock max\n         ^~~\n",
        ),
        (
            "Taken",
            "lock m\nvar x, m\n",
            "2:8: 'm' is a lock already (line 1); choose another name\n    var x, m\n           ^\n",
        ),
        (
            "UnknownObject",
            "lock m\nvar balance\n\nt1: acq m\n    r = rd balanc\n    rel m\n",
            "5:12: 'balanc' is not declared; did you mean 'balance'?\n    r = rd balanc\n           ^~~~~~\n",
        ),
        (
            "UnknownObject",
            "t1: acq q",
            "1:9: 'q' is not declared; declare it before the first thread\n    t1: acq q\n            ^\n",
        ),
        (
            "UnknownThread",
            "worker:\nt1: fork wroker",
            "2:10: there is no thread 'wroker'; did you mean 'worker'?\n    t1: fork wroker\n             ^~~~~~\n",
        ),
        (
            "UnknownThread",
            "t1: fork 2",
            "1:10: there is no thread '2'; its steps would follow '2:'\n    t1: fork 2\n             ^\n",
        ),
        (
            "UnknownRegister",
            "t1: value = 1; assert valeu",
            "1:23: 'valeu' is assigned nowhere in thread 't1'; did you mean 'value'?\n    t1: value = 1; assert valeu\n                          ^~~~~\n",
        ),
        (
            "UnknownRegister",
            "t1: assert r",
            "1:12: 'r' is assigned nowhere in thread 't1'; assign to it first, as in 'r = rd x'\n    t1: assert r\n               ^\n",
        ),
        (
            "UnknownStep",
            "cond c\nt1: brodcast c",
            "2:5: there is no step 'brodcast'; did you mean 'broadcast'?\n    t1: brodcast c\n        ^~~~~~~~\n",
        ),
        (
            "UnknownStep",
            "var x\nt1: write x 1",
            "2:5: there is no step 'write'; did you mean 'wr x 1'?\n    t1: write x 1\n        ^~~~~\n",
        ),
        (
            "UnknownStep",
            "lock m\nt1: pthread_mutex_lock m",
            "2:5: there is no step 'pthread_mutex_lock'; the steps are acq, racq, rel, try, rtry, rd, wr, load, store, add, swap, cas, begin, end, fork, join, wait, signal, broadcast, post, assert, if, while\n    t1: pthread_mutex_lock m\n        ^~~~~~~~~~~~~~~~~~\n",
        ),
        (
            "UnknownDeclaration",
            "atomc a\n",
            "1:1: 'atomc' declares nothing; did you mean 'atomic'?\n    atomc a\n    ^~~~~\n",
        ),
        (
            "UnknownDeclaration",
            "pthread_mutex_t m\n",
            "1:1: 'pthread_mutex_t' declares nothing; write one of lock, recursive, rwlock, cond, barrier, semaphore, var, atomic, or begin a thread with its name and ':'\n    pthread_mutex_t m\n    ^~~~~~~~~~~~~~~\n",
        ),
        (
            "OutsideThread",
            "lock m\nacq m\n",
            "2:1: 'acq' is in no thread; begin one with its name and ':', as in 't1: acq'\n    acq m\n    ^~~\n",
        ),
        (
            "LateDeclaration",
            "t1: rd x\nvar x\n",
            "2:1: 'var' declares an object; that has its place before the first thread\n    var x\n    ^~~\n",
        ),
        (
            "WrongKind",
            "lock m\nt1: rd m",
            "2:8: 'm' is a lock; rd needs a var (steps of a lock: acq, rel, try)\n    t1: rd m\n           ^\n",
        ),
        (
            "WrongKind",
            "recursive m\nt1: join m",
            "2:10: 'm' is a recursive lock; join needs a thread\n    t1: join m\n             ^\n",
        ),
        (
            "WrongKind",
            "cond c\nrwlock l\nt1: wait c l",
            "3:12: 'l' is a rwlock; wait for a condition needs a lock or recursive lock (steps of a rwlock: acq, racq, rel, try, rtry)\n    t1: wait c l\n               ^\n",
        ),
        (
            "WrongKind",
            "atomic a\nt1: acq a",
            "2:9: 'a' is an atomic; acq needs a lock or recursive lock or rwlock (steps of an atomic: load, store, add, swap, cas)\n    t1: acq a\n            ^\n",
        ),
        (
            "NoRegister",
            "var x\nt1: assert x == 1",
            "2:12: 'x' is a var, not a register; read it first, as in 'r = rd x'\n    t1: assert x == 1\n               ^\n",
        ),
        (
            "NoRegister",
            "atomic a\nt1: assert a",
            "2:12: 'a' is an atomic, not a register; read it first, as in 'r = load a'\n    t1: assert a\n               ^\n",
        ),
        (
            "NoRegister",
            "lock m\nt1: assert m",
            "2:12: 'm' is a lock, not a register\n    t1: assert m\n               ^\n",
        ),
        (
            "NoResult",
            "lock m\nt1: r = acq m",
            "2:9: acq gives no value; write it without '='\n    t1: r = acq m\n            ^~~\n",
        ),
        (
            "NeedsRegister",
            "lock m\nt1: try m",
            "2:5: try tells by its value whether it worked; write 'r = try m'\n    t1: try m\n        ^~~\n",
        ),
        (
            "Expected",
            "t1: if 1 {\n  r = 1 +\n}",
            "2:10: a value should be here, not the end of the line\n    r = 1 +\n           ^\n",
        ),
        (
            "Expected",
            "lock m\nt1: acq m m",
            "2:11: the end of the step should be here, not 'm'\n    t1: acq m m\n              ^\n",
        ),
        (
            "NoRegister",
            "var x\nt1: x = 5\n    r = 0",
            "2:5: 'x' is a var, not a register; write it with 'wr x 5'\n    t1: x = 5\n        ^\n",
        ),
        (
            "NoRegister",
            "atomic a\nt1: r = 1; a = r+1",
            "2:12: 'a' is an atomic, not a register; write it with 'store a r + 1'\n    t1: r = 1; a = r+1\n               ^\n",
        ),
        (
            "NoRegister",
            "var x, y\nt1: x = rd y",
            "2:5: 'x' is a var, not a register; write it with 'wr x r'\n    t1: x = rd y\n        ^\n",
        ),
        (
            "EqualsSign",
            "var x\nt1: wr x = 5",
            "2:10: this step has no '='; write 'wr x 5'\n    t1: wr x = 5\n             ^\n",
        ),
        (
            "EqualsSign",
            "atomic a\nt1: r = add a = 1",
            "2:15: this step has no '='; write 'add a 1'\n    t1: r = add a = 1\n                  ^\n",
        ),
        (
            "StepInValue",
            "var x\nt1: if rd x == 0 {\n      wr x 1\n    }",
            "2:8: a value has no steps in it; take that step first, as in 'r = rd x', and use 'r' here\n    t1: if rd x == 0 {\n           ^~\n",
        ),
        (
            "StepInValue",
            "lock m\nt1: if try m { }",
            "2:8: a value has no steps in it; take that step first, as in 'r = try m', and use 'r' here\n    t1: if try m { }\n           ^~~\n",
        ),
        (
            "StepInValue",
            "var x\nt1: assert rd x",
            "2:12: a value has no steps in it; take that step first, as in 'r = rd x', and use 'r' here\n    t1: assert rd x\n               ^~\n",
        ),
        (
            "UnknownStep",
            "lock m\nt1: lock m; acq m",
            "2:5: there is no step 'lock'; did you mean 'acq m'?\n    t1: lock m; acq m\n        ^~~~\n",
        ),
        (
            "UnknownStep",
            "lock m\nt1: unlock m; acq m",
            "2:5: there is no step 'unlock'; did you mean 'rel m'?\n    t1: unlock m; acq m\n        ^~~~~~\n",
        ),
        (
            "UnknownStep",
            "lock m\nt1: acquire m; acq m",
            "2:5: there is no step 'acquire'; did you mean 'acq m'?\n    t1: acquire m; acq m\n        ^~~~~~~\n",
        ),
        (
            "UnknownStep",
            "lock m\nt1: release m; acq m",
            "2:5: there is no step 'release'; did you mean 'rel m'?\n    t1: release m; acq m\n        ^~~~~~~\n",
        ),
        (
            "UnknownStep",
            "var x\nt1: read x",
            "2:5: there is no step 'read'; did you mean 'rd x'?\n    t1: read x\n        ^~~~\n",
        ),
        (
            "UnknownStep",
            "lock m\nt1: trylock m",
            "2:5: there is no step 'trylock'; did you mean 'r = try m'?\n    t1: trylock m\n        ^~~~~~~\n",
        ),
        (
            "UnknownDeclaration",
            "mutex m\nt1:",
            "1:1: 'mutex' declares nothing; did you mean 'lock'?\n    mutex m\n    ^~~~~\n",
        ),
        (
            "ThreadWord",
            "lock m\nthread t1: acq m",
            "2:1: a thread begins with its name and ':' alone; write 't1:'\n    thread t1: acq m\n    ^~~~~~\n",
        ),
        (
            "ThreadWord",
            "lock m\nt2: acq m\nthread t1 {\n  acq m",
            "3:1: a thread begins with its name and ':' alone; write 't1:'\n    thread t1 {\n    ^~~~~~\n",
        ),
        (
            "NoThread",
            "lock m\nvar x",
            "1:1: there is no thread here, and a scenario needs one at least; its steps follow its name and ':', as in 't1: acq m'\n    lock m\n    ^\n",
        ),
        (
            "NoThread",
            "",
            "1:1: there is no thread here, and a scenario needs one at least; its steps follow its name and ':', as in 't1: acq m'\n    \n    ^\n",
        ),
        (
            "Expected",
            "barrier b\nt1: wait b",
            "1:10: the size of a barrier should be here, not the end of the line\n    barrier b\n             ^\n",
        ),
        (
            "Expected",
            "barrier b, c 2\nt1: wait b; wait c",
            "1:10: the size of a barrier should be here, not ','\n    barrier b, c 2\n             ^\n",
        ),
        (
            "NotSimple",
            "atomic a\nt1: r = cas a r + 1 0",
            "2:17: cas takes two simple values; put longer ones in parentheses\n    t1: r = cas a r + 1 0\n                    ^\n",
        ),
        (
            "NumberTooLarge",
            "var x = 9223372036854775808",
            "1:9: 9223372036854775808 is too large; numbers go from -9223372036854775808 to 9223372036854775807\n    var x = 9223372036854775808\n            ^~~~~~~~~~~~~~~~~~~\n",
        ),
        (
            "OutOfRange",
            "barrier b 0",
            "1:11: the size of a barrier is a number from 1 to 60\n    barrier b 0\n              ^\n",
        ),
        (
            "OutOfRange",
            "semaphore s -1",
            "1:13: the value of a semaphore is a number from 0 to 2147483647\n    semaphore s -1\n                ^\n",
        ),
        (
            "OutOfRange",
            "t1: while 1 max 1001 { }",
            "1:17: how often a 'while' repeats at most is a number from 1 to 1000\n    t1: while 1 max 1001 { }\n                    ^~~~\n",
        ),
        (
            "OpenBrace",
            "t1: if 1 {\nt2:\nt1: r = 1",
            "1:10: this '{' is not closed by the end of the thread; write the missing '}'\n    t1: if 1 {\n             ^\n",
        ),
        ("StrayBrace", "t1: r = 1 }", "1:11: this '}' closes nothing; remove it\n    t1: r = 1 }\n              ^\n"),
        (
            "StrayElse",
            "t1: else { }",
            "1:5: this 'else' follows no 'if'; write 'if VALUE { ... } else { ... }'\n    t1: else { }\n        ^~~~\n",
        ),
        (
            "OpenBlock",
            "t1: if 1 {\n      begin b\n    }\n",
            "2:7: this block has no 'end' before the thread or the braces around it end\n    begin b\n    ^~~~~\n",
        ),
        (
            "StrayEnd",
            "t1: begin; end; end",
            "1:17: this 'end' ends no block that began in the same thread and braces\n    t1: begin; end; end\n                    ^~~\n",
        ),
        (
            "Again",
            "t1: fork t2\nt2:\nt3: fork t2",
            "3:5: there is a fork of 't2' already (line 1); a thread can have only one\n    t3: fork t2\n        ^~~~\n",
        ),
        (
            "InLoop",
            "t2:\nt1: while 1 max 2 { join t2 }",
            "2:21: join in a 'while' could happen twice; move it out\n    t1: while 1 max 2 { join t2 }\n                        ^~~~\n",
        ),
        ("Itself", "t1: fork t1", "1:5: a thread cannot fork itself\n    t1: fork t1\n        ^~~~\n"),
        (
            "NeverStarts",
            "t1: fork t2\nt2: fork t3\nt3: fork t1",
            "3:5: 't1' can never start: 't1' is forked by 't3', 't3' is forked by 't2', 't2' is forked by 't1'\n    t3: fork t1\n        ^~~~\n",
        ),
    ];
    let mut all: Vec<_> =
        fixed.iter().map(|(name, text, told)| (*name, (*text).to_owned(), (*told).to_owned())).collect();
    let too_many = "scenarios are small, so leave some out";
    all.push((
        "TooMany",
        numbered(MOST_THREADS + 1, |n| format!("t{n}:\n")),
        format!("61:1: more than 60 threads; {too_many}\n    t60:\n    ^~~\n"),
    ));
    all.push((
        "TooMany",
        numbered(MOST_OBJECTS + 1, |n| format!("var x{n}\n")),
        format!("251:5: more than 250 objects; {too_many}\n    var x250\n        ^~~~\n"),
    ));
    all.push((
        "TooMany",
        "t:\n".to_owned() + &repeated("  r = 1\n", MOST_STEPS + 1),
        format!("10002:3: more than 10000 steps; {too_many}\n    r = 1\n    ^\n"),
    ));
    all.push((
        "TooDeep",
        format!("t: {}{}", repeated("if 1 {\n", MOST_LEVELS + 1), repeated("}", MOST_LEVELS + 1)),
        "101:6: more than 100 levels of braces\n    if 1 {\n         ^\n".to_owned(),
    ));
    all.push((
        "TooDeep",
        format!("t: if 1 {{ }}\n{}", repeated("else if 1 { }\n", MOST_LEVELS)),
        "101:11: more than 100 levels of braces\n    else if 1 { }\n              ^\n".to_owned(),
    ));
    let advice = "compute parts of it in registers";
    all.push((
        "TooLong",
        format!("t: r = {}1", repeated("-(", MOST_OPERATORS / 2) + "!"),
        format!("1:258: more than 250 operators and parentheses in one value; {advice}\n"),
    ));
    all
}

#[test]
fn every_kind_of_error_has_its_message() {
    for (name, text, told) in mistakes() {
        let errors = parse(&text).expect_err(&text);
        let rendered = errors.render("file.scn", &text);
        assert_eq!(errors.first.len(), 1, "{name}: {rendered}");
        assert_eq!(errors.first[0].kind.name(), name);
        assert!(rendered.starts_with(&format!("file.scn:{told}")), "{name}:\n{rendered}instead of\n{told}");
    }
}

#[test]
fn no_kind_of_error_is_left_out() {
    let tested: BTreeSet<&str> = mistakes().iter().map(|(name, ..)| *name).collect();
    assert_eq!(tested, ErrorKind::NAMES.iter().copied().collect());
}

#[test]
fn carets_stand_below_tabs_and_letters_of_any_script() {
    let told = |text: &str| parse(text).unwrap_err().render("f", text);
    assert_eq!(
        told("lock m\nt1:\tacq m;\tacq\tn"),
        "f:2:16: 'n' is not declared; did you mean 'm'?\n    t1:\tacq m;\tacq\tn\n       \t      \t   \t^\n"
    );
    assert_eq!(
        told("t1:\n\t \tr = 'ä' + q\r\n").lines().skip(6).collect::<Vec<_>>(),
        ["f:2:10: '\\'' means nothing here; a comment begins with '#'", "    r = 'ä' + q", "          ^"]
    );
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    assert_eq!(read(&format!("\u{feff}{EXAMPLE}")), read(EXAMPLE));
    let text = "\u{feff}lok m";
    assert_eq!(
        parse(text).unwrap_err().render("f", text),
        "f:1:1: 'lok' declares nothing; did you mean 'lock'?\n    lok m\n    ^~~\n"
    );
}

/// The value is printed even if it could be left out: it is more often written than not.
#[test]
fn a_written_value_is_printed() {
    assert_eq!(read("var x\nt: wr x; wr x 1").to_string(), "var x\n\nt: wr x 1\n   wr x 1\n");
}

#[test]
fn all_mistakes_are_told_in_their_order() {
    let text = "lock m, m\nt1: acq x\n    if q { rd y }\n    rel\nt2: acq m; foo; wr m\nt1: else { }";
    let errors = parse(text).unwrap_err();
    let lines: Vec<_> = errors.first.iter().map(|error| (error.at.line, error.kind.name())).collect();
    let expected = [
        (1, "Taken"),
        (2, "UnknownObject"),
        (3, "UnknownRegister"),
        (3, "UnknownObject"),
        (4, "Expected"),
        (5, "UnknownStep"),
        (5, "WrongKind"),
        (6, "StrayElse"),
    ];
    assert_eq!(lines, expected, "{}", errors.render("f", text));
}

#[test]
fn at_most_twenty_mistakes_are_told() {
    let text = "t:\n".to_owned() + &"acq m\n".repeat(30);
    let errors = parse(&text).unwrap_err();
    assert_eq!((errors.first.len(), errors.more), (20, 10));
    assert!(errors.render("f", &text).ends_with("f: and 10 more errors\n"));
}

/// Decisions, made by proptest and shrunk by it.
struct Choices<'a> {
    rest: std::slice::Iter<'a, u32>,
}

impl Choices<'_> {
    fn below(&mut self, limit: usize) -> usize {
        self.rest.next().map_or(0, |choice| *choice as usize % limit.max(1))
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 1
    }

    fn number(&mut self) -> i64 {
        [0, 1, -1, 5, -7, i64::MAX, i64::MIN][self.below(7)]
    }

    fn scenario(&mut self) -> Scenario {
        let kinds = [
            ObjectKind::Lock,
            ObjectKind::Recursive,
            ObjectKind::RwLock,
            ObjectKind::Condition,
            ObjectKind::Barrier(1 + self.below(4) as u32),
            ObjectKind::Semaphore(self.below(3) as u32),
            ObjectKind::Variable(self.number()),
            ObjectKind::Atomic(self.number()),
        ];
        // One of each kind, so that every step has its object, and then some.
        let mut objects: Vec<_> = kinds.to_vec();
        objects.extend((0..self.below(6)).map(|_| kinds[self.below(kinds.len())]).collect::<Vec<_>>());
        let objects = objects.into_iter().enumerate().map(|(n, kind)| Object { name: format!("o{n}"), kind }).collect();
        let mut scenario = Scenario { objects, threads: Vec::new() };
        let threads = 1 + self.below(4);
        let names: Vec<_> = (0..threads).map(|n| if self.coin() { n.to_string() } else { format!("t_{n}") }).collect();
        let mut forked = vec![false; threads];
        let mut joined = vec![false; threads];
        for (index, name) in names.into_iter().enumerate() {
            let registers = self.below(3);
            let mut grower = Grower { choices: self, objects: &scenario.objects, registers, turn: 0, room: 30 };
            let mut steps: Vec<_> =
                (0..registers).map(|register| grower.step(Action::Set { register, value: Value::Number(0) })).collect();
            steps.extend(grower.steps(3));
            // A thread is forked by an earlier one, so there is no cycle.
            for other in index + 1..threads {
                if grower.choices.coin() && !std::mem::replace(&mut forked[other], true) {
                    steps.push(grower.step(Action::Fork(other)));
                }
                if grower.choices.coin() && !std::mem::replace(&mut joined[other], true) {
                    steps.push(grower.step(Action::Join(other)));
                }
            }
            let registers = (0..registers).map(|n| format!("r{n}")).collect();
            scenario.threads.push(Thread { name, registers, steps });
        }
        scenario
    }
}

/// Makes the steps of a thread.
struct Grower<'c, 'a> {
    choices: &'c mut Choices<'a>,
    objects: &'c [Object],
    registers: usize,
    turn: usize,
    /// Steps that it may still make.
    room: usize,
}

impl Grower<'_, '_> {
    fn step(&mut self, action: Action) -> Step {
        Step { action, at: Position::default(), turn: self.turn }
    }

    fn steps(&mut self, depth: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        for _ in 0..self.choices.below(6) {
            if self.room == 0 {
                break;
            }
            self.room -= 1;
            self.turn += [0, 0, 1, 3][self.choices.below(4)];
            let turn = self.turn;
            let action = self.action(depth);
            let is_block = matches!(action, Action::Begin(_));
            steps.push(Step { action, at: Position::default(), turn });
            if is_block {
                steps.extend(if depth > 0 { self.steps(depth - 1) } else { Vec::new() });
                steps.push(self.step(Action::End));
            }
        }
        steps
    }

    fn object(&mut self, kinds: &[Declares]) -> usize {
        let fitting: Vec<_> =
            (0..self.objects.len()).filter(|n| kinds.contains(&self.objects[*n].kind.into())).collect();
        fitting[self.choices.below(fitting.len())]
    }

    fn register(&mut self) -> Option<usize> {
        (self.registers > 0 && self.choices.coin()).then(|| self.choices.below(self.registers))
    }

    fn value(&mut self, depth: usize) -> Value {
        let kind = if depth == 0 { 0 } else { self.choices.below(4) };
        match (kind, self.register()) {
            (0, Some(register)) => Value::Register(register),
            (0, None) => Value::Number(self.choices.number()),
            (1, _) => Value::Not(Box::new(self.value(depth - 1))),
            (2, _) => Value::Negative(Box::new(self.value(depth - 1))),
            _ => {
                let operator = Operator::ALL[self.choices.below(Operator::ALL.len())];
                Value::Binary(operator, Box::new(self.value(depth - 1)), Box::new(self.value(depth - 1)))
            }
        }
    }

    fn action(&mut self, depth: usize) -> Action {
        let word = Does::ALL[self.choices.below(Does::ALL.len())];
        let object = if word.fits().is_empty() { 0 } else { self.object(word.fits()) };
        let into = self.register();
        match word {
            Does::Acquire => Action::Acquire(object),
            Does::AcquireShared => Action::AcquireShared(object),
            Does::Release => Action::Release(object),
            Does::Try | Does::TryShared => match into {
                Some(into) if word == Does::Try => Action::Try { into, object },
                Some(into) => Action::TryShared { into, object },
                None => Action::Release(self.object(&[Declares::RwLock])),
            },
            Does::Read => Action::Read { into, variable: object },
            Does::Write => Action::Write { variable: object, value: self.value(3) },
            Does::Load => Action::Load { into, atomic: object },
            Does::Store => Action::Store { atomic: object, value: self.value(3) },
            Does::Add => Action::Add { into, atomic: object, value: self.value(3) },
            Does::Swap => Action::Swap { into, atomic: object, value: self.value(3) },
            Does::CompareExchange => {
                Action::CompareExchange { into, atomic: object, expected: self.value(2), new: self.value(2) }
            }
            Does::Begin => Action::Begin(self.choices.coin().then(|| format!("block_{}", self.room))),
            Does::End | Does::Assert | Does::Fork | Does::Join => Action::Assert(self.value(4)),
            Does::Wait if Declares::from(self.objects[object].kind) == Declares::Condition => {
                Action::WaitCondition { condition: object, lock: self.object(&[Declares::Lock, Declares::Recursive]) }
            }
            Does::Wait => Action::Wait(object),
            Does::Signal => Action::Signal(object),
            Does::Broadcast => Action::Broadcast(object),
            Does::Post => Action::Post(object),
            Does::If => {
                let condition = self.value(2);
                let then = if depth > 0 { self.steps(depth - 1) } else { Vec::new() };
                let otherwise = if depth > 0 { self.steps(depth - 1) } else { Vec::new() };
                Action::If { condition, then, otherwise }
            }
            Does::While => {
                let (condition, most) = (self.value(2), 1 + self.choices.below(1000) as u32);
                let body = if depth > 0 { self.steps(depth - 1) } else { Vec::new() };
                Action::While { condition, most, body }
            }
        }
    }
}

fn words_of_the_language() -> Vec<&'static str> {
    let symbols = "{ } ( ) : ; , = ! - \n \n t1: t2: 1: r = m x q 1 0 7 -1 # $ é 1a else max".split(' ');
    let mut words: Vec<_> = symbols.chain(Operator::ALL.iter().map(|operator| operator.text())).collect();
    words.extend(Does::ALL.iter().flat_map(|word| [word.text(), word.form()]));
    words.extend(Declares::ALL.iter().flat_map(|word| [word.text(), word.form()]));
    words
}

/// Whatever the text: it is a scenario that can be printed, or there are errors that can be.
fn is_coped_with(text: &str) {
    match parse(text) {
        Ok(scenario) => survives_printing(&scenario),
        Err(errors) => {
            assert!(!errors.first.is_empty());
            assert!(errors.first.is_sorted_by_key(|error| (error.at.line, error.at.column)));
            let lines = text.lines().count().max(1) as u32;
            assert!(errors.first.iter().all(|error| (1..=lines).contains(&error.at.line)));
            assert!(!errors.render("f", text).is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_is_printed_is_read_again(choices in prop::collection::vec(any::<u32>(), 0..300)) {
        survives_printing(&Choices { rest: choices.iter() }.scenario());
    }

    #[test]
    fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        is_coped_with(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_soup_of_words_is_too_thick(words in prop::collection::vec(prop::sample::select(words_of_the_language()), 0..80)) {
        is_coped_with(&format!("lock m\nvar x\nt1: {}", words.join(" ")));
        is_coped_with(&words.join(" "));
    }

    #[test]
    fn a_good_file_may_be_torn(
        file in prop::sample::select(files("scn")),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..3_u8), 1..4),
    ) {
        let mut text: Vec<char> = std::fs::read_to_string(file).unwrap().chars().collect();
        for (a, b, how) in cuts {
            if text.is_empty() {
                break;
            }
            let (a, b) = (a.index(text.len()), b.index(text.len()));
            match how {
                0 => drop(text.drain(a..text.len().min(a + b % 9))),
                1 => text.swap(a, b),
                _ => {
                    let moved: Vec<char> = text[a..text.len().min(a + 12)].to_vec();
                    text.splice(b..b, moved);
                }
            }
        }
        is_coped_with(&text.iter().collect::<String>());
    }
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/scenarios")
}

fn files(extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(examples()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    files.sort();
    files
}

#[test]
fn nothing_is_too_deep_or_too_long() {
    const MANY: usize = 100_000;
    let after = |start: &str, repeated: &str| start.to_owned() + &repeated.repeat(MANY);
    for text in [
        after("", "("),
        after("t: r = ", "("),
        after("t: r = ", "-"),
        after("t: r = 1", " + 1"),
        after("t: r = 1", " + (1"),
        after("t: ", "if 1 {"),
        after("t: if 1 { }", " else if 1 { }"),
        after("t: ", "begin;"),
        after("t: ", "}"),
        after("t: acq ", "long_name"),
        numbered(MANY, |n| format!("t{n}: r{n} = q{n}\n")),
        "t:".to_owned() + &numbered(MANY, |n| format!(" r{n} = q{n}\n")),
        numbered(MANY, |n| format!("lock x{n}\n")) + "t: acq y; acq z",
        numbered(100, |n| format!("{n}: fork {}\n", (n + 1) % 100)),
    ] {
        is_coped_with(&text);
    }
}

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_example_is_read_and_says_what_it_shows() {
    for path in files("scn") {
        let text = std::fs::read_to_string(&path).unwrap();
        let scenario =
            parse(&text).unwrap_or_else(|errors| panic!("{}", errors.render(&path.to_string_lossy(), &text)));
        survives_printing(&scenario);
        assert!(text.starts_with("# "), "{} begins with what it shows", path.display());
    }
}

#[test]
fn every_example_is_listed() {
    let list = page("examples/scenarios/README.md");
    let names = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let there: BTreeSet<_> = files("scn").iter().map(names).collect();
    let links = list.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let listed: BTreeSet<_> = links.filter(|link| !link.contains('/')).map(str::to_owned).collect();
    assert_eq!(listed, there);
}

#[test]
fn the_scenarios_of_the_manual_are_read() {
    let manual = page("docs/scenarios.md");
    let scenarios: Vec<_> = manual.split("```scn\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(scenarios[0], EXAMPLE);
    for text in scenarios {
        read(text);
    }
}

/// Each declaration and each step of the tables can be typed as it stands.
#[test]
fn the_forms_of_the_manual_are_read() {
    for word in Declares::ALL {
        assert_eq!(Declares::from(read(&format!("{}\nt:", word.form())).objects[0].kind), *word);
    }
    for word in Does::ALL {
        let form = word.form().replace("...", "q = 1");
        let end = if *word == Does::Begin { "; end" } else { "" };
        let begin = if *word == Does::End { "begin; " } else { "" };
        // Objects of the kind that the step needs, under all the names that the tables use.
        let kind = word.fits().first().map_or("", |kind| kind.text());
        let object = form.rsplit('=').next().unwrap().split_whitespace().nth(1).unwrap_or_default();
        let declared = match word {
            Does::Wait => "cond c\nlock m\n".to_owned(),
            _ if kind.is_empty() => String::new(),
            _ => format!("{kind} {object}\n"),
        };
        read(&format!("{declared}t:\nu: r = 0; q = 0; {begin}{form}{end}"));
    }
}

#[test]
fn the_manual_knows_the_operators_and_the_limits() {
    let manual = page("docs/scenarios.md");
    let mut operators = Operator::ALL.to_vec();
    operators.sort_by_key(|operator| std::cmp::Reverse(operator.binding()));
    let kinds = operators.chunk_by(|a, b| a.binding() == b.binding());
    let kinds: Vec<String> = kinds
        .map(|kind| kind.iter().map(|operator| format!("`{}`", operator.text())).collect::<Vec<_>>().join(" "))
        .collect();
    assert!(manual.contains(&format!(": {}.", kinds.join(", "))), "{kinds:?}");
    let limits = format!(
        "At most {MOST_THREADS} threads, {MOST_OBJECTS} objects, {MOST_STEPS} steps, {MOST_LEVELS} braces in each other, {MOST_OPERATORS} operators and parentheses in a value."
    );
    assert!(manual.contains(&limits), "{limits}");
}

#[test]
fn the_error_in_the_manual_is_real() {
    let text = EXAMPLE.replace("r = rd balance", "r = rd balanc");
    let told = parse(&text).unwrap_err().render("withdraw.scn", &text);
    assert!(page("docs/scenarios.md").contains(&format!("```\n{told}```\n")), "{told}");
}
