//! Findings of each shape, for tests.

use super::*;

pub fn frame(function: &str, file: &str, line: u32, module: &str, offset: u64) -> Frame {
    Frame {
        function: Some(function.into()),
        file: Some(format!("/src/{file}")),
        line: Some(line),
        column: None,
        inlined: false,
        module: module.into(),
        offset,
    }
}

pub fn operation(action: Action, thread: ThreadId, stack: Vec<Frame>) -> Operation {
    let location = stack[0].clone();
    Operation { action, thread, location, stack, held: vec![], mode: None, sections: vec![] }
}

fn thread(id: ThreadId, name: &str, line: u32) -> Thread {
    Thread {
        id,
        name: name.into(),
        parent: Some(0),
        created_at: vec![frame("main", "a.c", line, "/opt/prog", 0x1400)],
        start_routine: Some("worker".into()),
    }
}

fn lock() -> Lock {
    Lock {
        name: Some("lock".into()),
        address: "0x5000".into(),
        generation: 0,
        initialised_at: vec![frame("main", "a.c", 55, "/opt/prog", 0x1380)],
    }
}

fn global(name: &str, address: &str) -> Variable {
    Variable { name: Some(name.into()), address: address.into(), allocation: None }
}

/// The data under the lock of [`append`]: it reads and writes `length`, which `update` writes.
pub fn length() -> Finding {
    let of_lines = |action, acquired: &Operation, line: u32| {
        let mut stack = acquired.stack.clone();
        stack[0].line = Some(line);
        stack[0].offset += 0x10;
        let section = Section { lock: lock(), taken_at: acquired.location.clone() };
        Operation { held: vec!["'lock'".into()], sections: vec![section], ..operation(action, acquired.thread, stack) }
    };
    let window = append();
    let lines = [
        "T1                          T2",
        "reads 'length' a.c:13",
        "                            writes 'length' b.c:41",
    ];
    Finding {
        rung: Rung::Conflicting,
        pattern: Some(Pattern::Rww),
        found_by: vec![Analysis::CutPoints],
        first: of_lines(Action::Read, &window.first, 13),
        culprit: of_lines(Action::Write, &window.culprit, 41),
        second: of_lines(Action::Write, &window.second, 20),
        variables: vec![global("length", "0x6000")],
        diagram: lines.map(str::to_owned).to_vec(),
        because: Some("Nothing prevents it.".into()),
        trial: None,
        ..window
    }
}

/// `show` reads two variables, which `update` writes both.
pub fn pair() -> Finding {
    let shown = |line| vec![frame("show", "a.c", line, "/opt/prog", 0x1600 + u64::from(line))];
    let updated = |line| vec![frame("update", "b.c", line, "/opt/libb.so", 0x500 + u64::from(line))];
    Finding {
        rung: Rung::Conflicting,
        pattern: Some(Pattern::TwoVariables),
        found_by: vec![Analysis::Crossings],
        block: Block {
            kind: BlockKind::Function,
            name: "show".into(),
            begin: frame("show", "a.c", 70, "/opt/prog", 0x1600),
        },
        also_split: vec![],
        first: operation(Action::Read, 1, shown(72)),
        culprit: operation(Action::Write, 2, updated(40)),
        culprit_too: Some(operation(Action::AtomicUpdate, 2, updated(44))),
        second: operation(Action::Read, 1, shown(75)),
        lock: None,
        variables: vec![
            global("total", "0x6000"),
            Variable {
                name: None,
                address: "0x7010".into(),
                allocation: Some(Allocation {
                    offset: 16,
                    size: 48,
                    thread: 0,
                    allocated_at: vec![frame("make", "a.c", 30, "/opt/prog", 0x1700)],
                }),
            },
        ],
        diagram: vec!["T1   T2".into()],
        because: Some("Nothing prevents it.".into()),
        trial: None,
        suppression: "atomicity_top:show".into(),
        ..append()
    }
}

/// What [`pair`] says, as two critical sections that split a view.
pub fn view() -> Finding {
    let pair = pair();
    Finding {
        pattern: Some(Pattern::View),
        found_by: vec![Analysis::Views],
        view: [&pair.variables[..], &[global("count", "0x6008")]].concat(),
        ..pair
    }
}

/// `append` writes to `list` what it made of `length`, which `update` writes: found in the source.
pub fn stale() -> Finding {
    let source =
        |function, file, line| Frame { module: String::new(), offset: 0, ..frame(function, file, line, "", 0) };
    let at = |action, thread, file, line| operation(action, thread, vec![source("append", file, line)]);
    let link = |what: &str, line| Link { what: what.into(), at: source("append", "a.c", line) };
    Finding {
        rung: Rung::Suspected,
        pattern: Some(Pattern::StaleValue),
        found_by: vec![Analysis::Lint],
        first: at(Action::Read, 1, "a.c", 13),
        culprit: at(Action::Write, 2, "b.c", 41),
        second: at(Action::Write, 1, "a.c", 20),
        variables: vec![global("length", ""), global("list", "")],
        dependency: Some(Dependency::proven(vec![link("'length' is read", 13), link("'list' is written", 20)])),
        ..append()
    }
}

/// `append` in a program, split by `update` of a library.
pub fn append() -> Finding {
    let acquire = |thread, stack: Vec<Frame>, held: &[&str]| Operation {
        held: held.iter().map(|&h| h.to_owned()).collect(),
        mode: Some(LockMode::Exclusive),
        ..operation(Action::Acquire, thread, stack)
    };
    let worker = || frame("worker", "a.c", 50, "/opt/prog", 0x1300);
    Finding {
        id: 1,
        same_as: None,
        kind: Kind::After,
        rung: Rung::Predicted,
        strength: Strength::Strong,
        pattern: None,
        found_by: vec![Analysis::Windows],
        data: None,
        sentence: "append() is not atomic: it could happen.".into(),
        block: Block {
            kind: BlockKind::Function,
            name: "append".into(),
            begin: frame("append", "a.c", 10, "/opt/prog", 0x1180),
        },
        also_split: vec!["append_all".into(), "flush".into()],
        first: acquire(1, vec![frame("append", "a.c", 12, "/opt/prog", 0x1200), worker()], &["'outer'"]),
        culprit: acquire(2, vec![frame("update", "b.c", 40, "/opt/libb.so", 0x500)], &[]),
        culprit_too: None,
        second: acquire(1, vec![frame("append", "a.c", 19, "/opt/prog", 0x1240), worker()], &[]),
        lock: Some(lock()),
        variables: vec![],
        view: vec![],
        view_more: None,
        dependency: None,
        diagram: vec![],
        because: None,
        trial: None,
        threads: vec![thread(1, "", 60), thread(2, "updater", 61)],
        suppression: "atomicity_top:append".into(),
    }
}

/// What came of a finding in the real program.
pub fn failing_trial() -> Trial {
    Trial {
        verdict: Verdict::Failing,
        detail: "it ended with exit code 3".into(),
        schedule: "avmon.confirm/4.schedule".into(),
        flags: "--pin time ".into(),
        program: "./app -x".into(),
        switches: 3,
        runs: 10,
        alike: 9,
    }
}
