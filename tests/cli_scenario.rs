//! `avmon scenario run` as a user sees it.

mod cli_support;

use cli_support::{Ending, avmon, end, refuses};
use std::io::Write as _;
use std::process::Stdio;

const LOST_UPDATE: &str = "\
lock m
var x

t1: begin increment
    acq m; r = rd x; rel m
    acq m; wr x r + 1; rel m
    end
t2: acq m; r = rd x; wr x r + 1; rel m
    acq m; r = rd x; rel m; assert r > 0
";

/// Runs a scenario that comes by stdin.
fn run(text: &str, flags: &[&str]) -> Ending {
    let mut command = avmon(&[&["scenario", "run", "-"], flags].concat());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ending { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn all_is_told() {
    let told = run(LOST_UPDATE, &[]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(66), ""), "{}", told.stdout);
    assert_eq!(
        told.stdout,
        "\
-: 2 threads, 6 interleavings; 6 runs looked at, 3 not serialisable
1 of 1 block can be split

'increment' of t1 (line 4) can be split:

     t1                t2
  4  begin increment
  5  acq m
  5  r = rd x  (0)
  5  rel m
  8                    acq m             <-- comes between
  8                    r = rd x  (0)
  8                    wr x r + 1  (1)
  8                    rel m
  9                    acq m
  9                    r = rd x  (1)
  9                    rel m
  6  acq m
  6  wr x r + 1  (1)
  6  rel m
  7  end

Accesses of one variable between two of a block (first, other, second):
  RWW  t1 line 5, t2 line 8, t1 line 6

In the written order the run is serialisable; from it alone the online rules find:
  after (strong): 'increment' of t1 (line 4) between lines 5 and 6, by t2 line 8
"
    );
}

#[test]
fn json_tells_the_same() {
    let told = run(LOST_UPDATE, &["--json"]);
    let report: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(told.code, Some(66));
    assert_eq!(
        (&report["interleavings"], &report["runs"], &report["complete"]),
        (&"6".into(), &6.into(), &true.into())
    );
    let finding = &report["findings"][0];
    assert_eq!((&finding["kind"], &finding["at"][0]["line"]), (&"split".into(), &4.into()));
    assert_eq!(finding["order"], "t1*3 t2*7 t1*3");
    assert_eq!(report["patterns"][0]["pattern"], "RWW");
    assert_eq!(report["written_order"]["predicted"][0]["kind"], "after");
}

/// The plain search tells the same, but for the number of runs.
#[test]
fn plain_and_reduced_search_agree() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scenarios");
    for name in ["lost-update", "torn-pair", "rwlock-upgrade", "condition-if", "sidetrack-figure-8-top"] {
        let file = format!("{directory}/{name}.scn");
        let both = [&[][..], &["--plain"]].map(|flags| {
            let told = end(&mut avmon(&[&["scenario", "run", &file, "--json"], flags].concat()));
            let mut report: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
            let plain_runs = report["runs"].to_string();
            for part in ["runs", "unserialisable_runs", "findings"] {
                report[part] = report[part].as_array().map_or(0, Vec::len).into();
            }
            (report, plain_runs)
        });
        assert_eq!(both[0].0, both[1].0, "{name}");
        assert_eq!(both[1].0["interleavings"], *both[1].1, "{name}: every run was looked at");
    }
}

#[test]
fn one_run_is_shown_with_its_cycle() {
    let told = run(LOST_UPDATE, &["--order", "t1*3 t2*4 t1*3"]);
    assert_eq!(told.code, Some(66));
    assert_eq!(
        told.stdout,
        "\
-:

     t1                t2
  4  begin increment
  5  acq m
  5  r = rd x  (0)
  5  rel m
  8                    acq m             <-- comes between
  8                    r = rd x  (0)
  8                    wr x r + 1  (1)
  8                    rel m
  6  acq m
  6  wr x r + 1  (1)
  6  rel m
  7  end
  9                    acq m
  9                    r = rd x  (1)
  9                    rel m

'increment' of t1 (line 4) is split
Each had to come before the next, and the last before the first: t1 lines 5 to 6; t2 line 8

Accesses of one variable between two of a block (first, other, second):
  RWW  t1 line 5, t2 line 8, t1 line 6

The run is not serialisable; from it alone the online rules find:
  in (strong): 'increment' of t1 (line 4) between lines 5 and 6, by t2 line 8
  after (strong): 'increment' of t1 (line 4) between lines 5 and 6, by t2 line 9
"
    );
    let json: serde_json::Value =
        serde_json::from_str(&run(LOST_UPDATE, &["--order", "t1*3 t2*4 t1*3", "--json"]).stdout).unwrap();
    assert_eq!((&json["serialisable"], json["cycle"].as_array().map(Vec::len)), (&false.into(), Some(2)));
    assert_eq!(json["reads_from"][0]["write"], serde_json::Value::Null);
    assert_eq!(run(LOST_UPDATE, &["--order", "t2*7 t1"]).code, Some(0));
    let same = ["1", "1"].map(|seed| run(LOST_UPDATE, &["--seed", seed]).stdout);
    assert_eq!(same[0], same[1]);
}

#[test]
fn one_run_tells_where_it_gets_stuck() {
    let text = "lock m, n\nt1: acq m; acq n; rel n; rel m\nt2: acq n; acq m; rel m; rel n\n";
    let told = run(text, &["--order", "t1 t2"]);
    assert_eq!(told.code, Some(66));
    assert!(told.stdout.contains("Line 2 of t1, 'acq n', is where the thread stands for ever\n"), "{}", told.stdout);
    assert!(told.stdout.contains("serialisable, and does not come to its end;"), "{}", told.stdout);
    assert!(run(text, &["--order", "t1*2 t2"]).stderr.contains("step 3 cannot be taken"));
}

#[test]
fn deadlocks_misuse_and_entangled_blocks_have_their_words() {
    let deadlock = run("lock m, n\nt1: acq m; acq n; rel n; rel m\nt2: acq n; acq m; rel m; rel n\n", &[]);
    assert_eq!(deadlock.code, Some(66));
    assert!(
        deadlock.stdout.contains("\nDeadlock: t1 at line 2, 'acq n'; t2 at line 3, 'acq m':\n"),
        "{}",
        deadlock.stdout
    );
    let misuse = run("lock m\nt1: rel m\n", &[]);
    assert!(
        misuse.stdout.contains("\nLine 2 of t1, 'rel m', is not the thread's to give back:\n"),
        "{}",
        misuse.stdout
    );
    let twice = run("recursive m\ncond c\nt1: acq m; acq m; wait c m\nt2: acq m; rel m\n", &["--limit", "1000"]);
    let told = "'wait c m', waits with a lock held more than once; a wait gives it back only once:\n";
    assert!(twice.stdout.contains(told), "{}", twice.stdout);
    let entangled = run("var x, y\nt1: begin; rd x; wr y; end\nt2: begin; rd y; wr x; end\n", &[]);
    assert!(entangled.stdout.contains("Blocks can be entangled: each is whole in this run"), "{}", entangled.stdout);
    let endless = run(&format!("t1: {}{}\n", "while 1 max 1000 { ".repeat(3), "}".repeat(3)), &[]);
    assert!(endless.stdout.contains("comes after a million steps that nobody else can notice"), "{}", endless.stdout);
}

/// A lock may be read by one thread several times. It is free when all of them are given back; who reads it and wants to write waits
/// for itself.
#[test]
fn reads_nest() {
    let nested = "rwlock l\nvar x\nt1: begin; racq l; rd x; racq l; rel l; rd x; rel l; end\nt2: acq l; wr x; rel l\n";
    let told = run(nested, &[]);
    assert_eq!(told.code, Some(0), "{}", told.stdout);
    assert!(
        told.stdout.starts_with("-: 2 threads, 2 interleavings; 2 runs looked at, 0 not serialisable\n"),
        "{}",
        told.stdout
    );
    let two = run(&nested.replace("racq l; rel l;", "rel l; racq l;"), &[]);
    assert!(two.stdout.contains("The block of t1 (line 3) can be split:\n"), "{}", two.stdout);
    let tried = run(
        "rwlock l\nt1: racq l; r = rtry l; assert r; rel l; q = try l; assert !q; rel l; q = try l; assert q\n",
        &[],
    );
    assert_eq!(tried.code, Some(0), "{}", tried.stdout);
    let kept = run("rwlock l\nt1: racq l; racq l; rel l\nt2: acq l; rel l\n", &["--order", "t1*3 t2"]);
    assert!(kept.stderr.contains("t2 stands at -:3:5, and l is held by t1"), "{}", kept.stderr);
    let upgraded = run("rwlock l\nt1: racq l; acq l\n", &[]);
    assert!(upgraded.stdout.contains("\nDeadlock: t1 at line 2, 'acq l':\n"), "{}", upgraded.stdout);
    let unheld = run("rwlock l\nt1: racq l; racq l; rel l; rel l; rel l\n", &[]);
    assert!(unheld.stdout.contains("'rel l', is not the thread's to give back"), "{}", unheld.stdout);
}

#[test]
fn nothing_found_is_success() {
    let told = run("lock m\nvar x\nt1: begin; acq m; wr x; rel m; end\nt2: acq m; rd x; rel m\n", &[]);
    assert_eq!(told.code, Some(0));
    assert!(told.stdout.ends_with("from it alone the online rules find nothing\n"), "{}", told.stdout);
}

#[test]
fn a_limit_is_told() {
    let threads: Vec<String> = (0..4).map(|thread| format!("t{thread}: {}", "add a 1\n".repeat(6))).collect();
    let many = format!("atomic a\n{}", threads.concat());
    let told = run(&many, &["--limit", "20000"]);
    assert_eq!(told.code, Some(125), "what was not looked at all over is no success");
    assert!(
        told.stderr.contains("error: stopped after 20,000 steps; --limit allows more. Nothing was found, but"),
        "{told:?}"
    );
    // 24! / 6!^4
    assert!(told.stdout.contains("2,308,743,493,056 interleavings"), "{}", told.stdout);
    let told = run(&many, &["--limit", "1000"]);
    assert!(told.stdout.contains("more interleavings than could be counted"), "{}", told.stdout);
    // What the written order shows is known however little is looked at.
    let split = "var x\nt1: begin; rd x\nt2: wr x\nt1: rd x; end\n";
    let told = run(split, &["--limit", "0"]);
    assert_eq!(told.code, Some(66));
    assert!(told.stdout.contains("at least 1 of 1 block can be split"), "{}", told.stdout);
    assert!(
        told.stderr.contains("warning: stopped after 0 steps; --limit allows more. All of the above is true"),
        "{told:?}"
    );
}

/// What is drawn can be done.
#[test]
fn the_command_under_a_diagram_makes_that_run() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("lost.scn");
    std::fs::write(&file, LOST_UPDATE).unwrap();
    let told = end(avmon(&["scenario", "run", "lost.scn"]).current_dir(directory.path()));
    let line = told.stdout.lines().find(|line| line.starts_with("  avmon scenario build ")).expect("a command").trim();
    assert_eq!(line, "avmon scenario build lost.scn --order 't1*3 t2*7 t1*3'");
    let shown = end(avmon(&["scenario", "run", "lost.scn", "--order", "t1*3 t2*7 t1*3"]).current_dir(directory.path()));
    assert!(shown.stdout.contains("'increment' of t1 (line 4) is split"), "{}", shown.stdout);
}

#[test]
fn runs_that_are_too_long_are_told() {
    let loops = "while 1 max 1000 {\nn = 0\nwhile n < 30 max 1000 {\nwr y; n = n + 1\n}\n}\n";
    let told = run(&format!("var y\nt1: {loops}"), &[]);
    assert_eq!((told.code, told.stdout.as_str()), (Some(125), ""));
    assert!(told.stderr.contains("takes more than 20000 steps in this order; let its loops end earlier"), "{told:?}");
    // In the written order this one is short.
    let told = run(&format!("var x, y\nt1: wr x\nt2: is_set = rd x\nif !is_set {{\n{loops}}}\n"), &[]);
    assert_eq!(told.code, Some(125));
    assert!(
        told.stderr.contains("error: runs of more than 20,000 steps were left out; let loops end earlier."),
        "{told:?}"
    );
}

#[test]
fn waits_can_be_taken_strictly() {
    let text = "barrier b 2\nvar x\nt1: begin; wr x; wait b; wr x; end\nt2: rd x; wait b\n";
    assert_eq!(run(text, &[]).code, Some(0));
    assert_eq!(run(text, &["--strict-waits"]).code, Some(66));
}

#[test]
fn what_cannot_be_read_is_refused() {
    refuses(
        &mut avmon(&["scenario", "run", "/no/such.scn"]),
        125,
        &["/no/such.scn cannot be read: No such file or directory"],
    );
    let wrong = run("lock m\nt1: acq n\n", &[]);
    assert_eq!(wrong.code, Some(125));
    assert!(wrong.stderr.contains("-:2:9: 'n' is not declared"), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("\n    t1: acq n\n            ^\n"), "{}", wrong.stderr);
}
