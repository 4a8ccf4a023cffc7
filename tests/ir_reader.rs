//! The reader of LLVM IR, on what three versions of clang make of the same sources.

mod ir_support;

use avmon::ir;
use avmon::ir::model::{Module, Op, Operand};
use ir_support::{printed, printed_structs};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

const VERSIONS: [u32; 3] = [14, 16, 19];
const SOURCES: [&str; 2] = ["bank.c", "bank.cc"];

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ir_corpus")
}

fn file(version: u32, source: &str) -> PathBuf {
    corpus().join(format!("clang-{version}/{source}.ll"))
}

#[track_caller]
fn read(path: &Path) -> Module {
    ir::read(path).unwrap_or_else(|error| panic!("{error}"))
}

/// The first line in which two texts differ is what one wants to see.
#[track_caller]
fn same(left: &str, right: &str, of: &str) {
    for (number, (left, right)) in left.lines().zip(right.lines()).enumerate() {
        assert_eq!(left, right, "{of}: line {} of the printed models", number + 1);
    }
    assert_eq!(left.lines().count(), right.lines().count(), "{of}: one of the printed models goes on");
}

#[test]
fn versions_of_clang_give_the_same_model() {
    for source in SOURCES {
        let models = VERSIONS.map(|version| read(&file(version, source)));
        for (version, model) in VERSIONS.iter().zip(&models) {
            let of = format!("{source}, clang {} and {version}", VERSIONS[0]);
            same(&printed(&models[0]), &printed(model), &of);
            assert!(model.skipped.is_empty(), "{of}: {:?}", model.skipped);
            // With typed pointers a file names more structs: also those that are only pointed to.
            let (all, some) = (printed_structs(&models[0]), printed_structs(model));
            assert!(some.iter().all(|of| all.contains(of)), "{of}: {some:?} is not in {all:?}");
        }
    }
}

/// The part of a printed model about one function.
fn about<'t>(text: &'t str, function: &str) -> &'t str {
    let start = text.find(&format!("\n{function} = ")).unwrap_or_else(|| panic!("no {function} in {text}")) + 1;
    let end = text[start..].find("\n\n").map_or(text.len(), |length| start + length);
    &text[start..end]
}

#[test]
fn variables_members_and_lines_have_the_names_of_the_source() {
    let c = read(&file(19, "bank.c"));
    let text = printed(&c);
    let deposit = "\
deposit = deposit at bank.c:40: i32 (ptr, i32)
  block 0
    - store to to to
    - store amount to amount
    bank.c:42 load to
    bank.c:42 call pthread_mutex_lock(*to.lock): i32 (ptr)
    bank.c:43 load deposit::calls
    bank.c:43 store of(*deposit::calls, constant) to deposit::calls
    bank.c:44 load amount
    bank.c:44 load to
    bank.c:44 load *to.balance
    bank.c:44 store of(**to.balance, *amount) to *to.balance
    bank.c:45 load to
    bank.c:45 load *to.open|frozen|branch
    bank.c:45 store of(of(**to.open|frozen|branch, constant), constant) to *to.open|frozen|branch
    bank.c:46 load to
    bank.c:46 load *to.balance
    bank.c:46 store **to.balance to now
    bank.c:47 load to
    bank.c:47 call pthread_mutex_unlock(*to.lock): i32 (ptr)
    bank.c:48 load now
    bank.c:48 return *now";
    assert_eq!(about(&text, "deposit"), deposit);
    for line in [
        // An address inside of a global variable, in each of the ways that compilers write one.
        "bank.c:70 store *at.x to origin.y",
        "bank.c:71 store *whole.days.first to accounts[constant].days.first",
        "bank.c:75 store constant to accounts[constant].rate.whole|part",
        "bank.c:66 load origin.x",
        "bank.c:74 store constant to *favourite.tag|letters",
        // Through a table of functions, an alias, and with an address.
        "bank.c:66 call *steps[of(*kind)](*n, *origin.x): i32 (i32, i32)",
        "steps = steps at bank.c:38 [\"constant\"] [\"add\", \"take\"]",
        "bank.c:86 call deposit(accounts, *old): i32 (ptr, i32)",
        "deposit_again is deposit",
        "bank.c:112 call pthread_create(thread, constant, worker, accounts[constant]): i32 (ptr, ptr, ptr, ptr)",
        "bank.c:69 call llvm.memcpy(origin, at, constant, constant): void (ptr, ptr, i64, i1)",
        "deposit is annotated \"atomic\"",
        "depth = depth at bank.c:32 [\"thread-local\", \"internal\"] []",
        "bank.c:56 on of(*i, constant) to [6, 3, 4, 5]",
        "bank.c:82 update *count with *old, *local",
        "bank.c:85 atomic store *local to stop",
    ] {
        assert!(text.lines().any(|own| own.trim() == line), "no line {line:?} in {text}");
    }
    let structs = printed_structs(&c);
    for of in ["account { lock, balance, open|frozen|branch, days, rate, tag|letters, owner }", "point { x, y }"] {
        assert!(structs.iter().any(|own| own == of), "no {of} in {structs:?}");
    }
}

#[test]
fn classes_exceptions_and_virtual_calls_are_understood() {
    let cxx = read(&file(19, "bank.cc"));
    let text = printed(&cxx);
    for line in [
        "_ZN4bank7Account5worthEv = bank::Account::worth at bank.cc:47: i32 (ptr)",
        "_ZN4bank7Account5countE = bank::Account::count at bank.cc:44 [] []",
        "bank.cc:50 load *this.id",
        "bank.cc:62 call ***base(*base): i32 (ptr)",
        "bank.cc:62 to [1, 3]",
        "bank.cc:66 resume",
        "bank.cc:65 call _ZNK4bank4PairIlE3sumEv(bank::(anonymous namespace)::hidden.large): i64 (ptr)",
    ] {
        assert!(text.lines().any(|own| own.trim() == line), "no line {line:?} in {text}");
    }
    let structs = printed_structs(&cxx);
    for of in [
        "bank::Account { Base, kind, balance }",
        "bank::Base { _vptr$Base, id, used }",
        "bank::Pair<long> { first, second }",
        "bank::(anonymous namespace)::Hidden { small, large }",
    ] {
        assert!(structs.iter().any(|own| own == of), "no {of} in {structs:?}");
    }
    let table = cxx.globals.iter().find(|global| global.name == "_ZTVN4bank7AccountE").unwrap();
    let functions: Vec<&str> = table.functions.iter().map(|id| &*cxx.functions[*id as usize].name).collect();
    assert_eq!(functions, ["_ZN4bank7Account5worthEv", "_ZN4bank7AccountD2Ev", "_ZN4bank7AccountD0Ev"]);
}

fn is_there(name: &str) -> bool {
    Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The versions that must be there: those that `scripts/test` could have, or all of them in other automatic runs.
fn wanted(by_script: Option<&str>, is_automatic: bool) -> Vec<u32> {
    match by_script {
        Some(list) => list.split_whitespace().map(|version| version.parse().unwrap()).collect(),
        None if is_automatic => VERSIONS.to_vec(),
        None => Vec::new(),
    }
}

/// Tells that something of a version is missing, or fails if that version must be there.
#[track_caller]
fn without(version: u32, package: &str, what: &str) {
    let by_script = std::env::var("TEST_CLANGS").ok();
    let wanted = wanted(by_script.as_deref(), std::env::var_os("CI").is_some());
    let text = format!("{package} is not installed: {what} is not compared");
    assert!(!wanted.contains(&version), "{text}; install the package {package}");
    println!("{text}");
}

#[test]
fn versions_that_must_be_there() {
    assert!(wanted(None, false).is_empty());
    assert_eq!(wanted(None, true), VERSIONS);
    assert_eq!(wanted(Some("14 19"), true), [14, 19]);
    assert!(wanted(Some(""), true).is_empty());
}

/// The compilers of each version of the corpus that is installed.
fn compilers() -> Vec<(u32, [String; 2])> {
    let named = VERSIONS.map(|version| (version, [format!("clang-{version}"), format!("clang++-{version}")]));
    let (found, missing): (Vec<_>, Vec<_>) =
        named.into_iter().partition(|(_, names)| names.iter().all(|name| is_there(name)));
    for (version, _) in missing {
        without(version, &format!("clang-{version}"), "its IR");
    }
    found
}

/// Compiles a source of the corpus as its README says.
#[track_caller]
fn compiled(compilers: &[String; 2], source: &str, more: &[&str], to: &Path) {
    let is_cxx = source == "bank.cc";
    let mut command = Command::new(&compilers[usize::from(is_cxx)]);
    let language: &[&str] = if is_cxx { &["-std=c++14", "-fno-sized-deallocation"] } else { &["-std=gnu11"] };
    command.current_dir(corpus()).args(language).arg("-g");
    command.args(["-fdebug-compilation-dir=.", "-emit-llvm", source]).args(more).arg("-o").arg(to);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn compilers_still_make_what_the_corpus_holds() {
    let home = tempfile::tempdir().unwrap();
    for (version, compilers) in compilers() {
        // The ending says nothing: bitcode is told by its first bytes.
        let mut kinds = vec![("-S", "as.text")];
        if is_there(&format!("llvm-dis-{version}")) {
            kinds.push(("-c", "as.bitcode"));
        } else {
            without(version, &format!("llvm-{version}"), "its bitcode");
        }
        for source in SOURCES {
            let expected = printed(&read(&file(version, source)));
            for &(kind, name) in &kinds {
                let made = home.path().join(name);
                compiled(&compilers, source, &["-O0", kind], &made);
                same(&expected, &printed(&read(&made)), &format!("clang {version}, {source} {name}"));
            }
        }
    }
}

#[test]
fn every_level_of_optimisation_is_read() {
    let home = tempfile::tempdir().unwrap();
    let usual = ["clang".to_owned(), "clang++".to_owned()];
    for compilers in compilers().into_iter().map(|(_, names)| names).chain([usual]) {
        for source in SOURCES {
            for flags in
                [&["-O1"][..], &["-O2"], &["-O3", "-march=haswell"], &["-Os", "-g0"], &["-O0", "-fsanitize=undefined"]]
            {
                let made = home.path().join("made.ll");
                compiled(&compilers, source, &[flags, &["-S"]].concat(), &made);
                let module = read(&made);
                assert!(module.skipped.is_empty(), "{compilers:?} {flags:?}: {:?}", module.skipped);
                assert!(module.functions.iter().any(|function| function.name == "main" && !function.blocks.is_empty()));
            }
        }
    }
}

#[test]
fn an_unknown_instruction_is_counted_and_left_out() {
    let text = "\
define i32 @f(i32 %n) {
  %a = frobnicate i32 %n, [ i32 1,
    i32 2 ]
  frobnicate i32 %a
  %b = add i32 %a, 1
  wobble i32 %b to label %next unwind label %other

next:
  %c = phi i32 [ %b, %0 ]
  ret i32 %c

other:
  ret i32 0
}

wobbles = { 1 }
";
    let module = ir::parse(text, "new.ll").unwrap();
    assert_eq!(Vec::from_iter(module.skipped), [("frobnicate".to_owned(), 2), ("wobble".to_owned(), 1)]);
    let blocks = &module.functions[0].blocks;
    assert!(matches!(blocks[0].instructions[..], [ref add] if matches!(add.op, Op::Compute(_))));
    // An unknown end of a block leads where it names.
    assert_eq!(format!("{:?}", blocks[0].end), "Branch { on: None, targets: [1, 2] }");
}

/// Only there may a value be made from itself.
#[test]
fn blocks_that_nothing_leads_to_are_left_out() {
    let text = "\
define i32 @f(i1 %c) {
  br i1 %c, label %one, label %end
dead:
  %p = getelementptr i8, ptr %p, i64 1
  br i1 %c, label %dead, label %end
one:
  br label %end
end:
  %r = phi i32 [ 1, %0 ], [ 2, %dead ], [ 3, %one ]
  ret i32 %r
}
";
    let module = ir::parse(text, "dead.ll").unwrap();
    let blocks = &module.functions[0].blocks;
    assert_eq!(format!("{:?}", blocks[0].end), "Branch { on: Some(Value(0)), targets: [1, 2] }");
    assert_eq!(blocks.len(), 3);
    assert_eq!(blocks[2].instructions[0].op, Op::Phi(vec![(0, Operand::Number(1)), (1, Operand::Number(3))]));
}

#[test]
fn a_broken_file_is_told_by_its_line_and_what_was_expected() {
    for (text, message) in [
        ("", "x.ll:1: expected LLVM IR, found the end"),
        ("hello world\n", "x.ll:1: expected LLVM IR, found 'hello'"),
        ("\u{7f}ELF\u{2}\u{1}", "x.ll:1: expected a type, a variable, a function or metadata, found the byte 0x7f"),
        ("define i32 @f() {\n  ret i32 0\n", "x.ll:3: expected '}' after function 'f', found the end"),
        (
            "define i32 @f() {\n  ret i32 0\n\ndefine void @g() {\n  ret void\n}\n",
            "x.ll:4: expected '}' after function 'f', found another function",
        ),
        (
            "define i32 @f() {\n  %1 = add i32 1, 2\n}\n",
            "x.ll:3: expected the end of the block, such as 'br' or 'ret', found '}'",
        ),
        ("define void @f() {\n  store i32 1\n}\n", "x.ll:3: expected ',', found the end"),
        ("define void @f() {\n  br label %7\n}\n", "x.ll:2: expected a block '7' in the function"),
        ("define i32 @f() {\n  ret i32 %x\n}\n", "x.ll:2: expected a definition of '%x' in the function"),
        ("define void @f() {\n  call void @g()\n  ret void\n}\n", "x.ll:2: expected a declaration of '@g' in the file"),
        ("define void @f() {\n  ret void, !dbg !7\n}\n", "x.ll:2: expected metadata !7 in the file; it is cut short"),
        ("define void @f(\n", "x.ll:2: expected a type, found the end"),
        ("!0 = !DILocation(line: 1, col", "x.ll:1: expected metadata that ends with ')' or '}'; the line is cut short"),
        ("%struct.a = type { i32, \n", "x.ll:1: expected a type, found the end"),
        ("@a = global\n", "x.ll:1: expected a type, found the end"),
        ("@a = alias i32, ptr @a\n", "x.ll:1: expected @a to stand for a function or a variable"),
        (
            "%s = type { i32 }\ndefine void @f(ptr %p) {\n  %q = getelementptr %s, ptr %p, i32 0, i32 1\n  ret void\n}\n",
            "x.ll:3: expected a field that the struct has",
        ),
        (
            "define void @f() {\n  %p = bitcast ptr %q to ptr\n  %q = getelementptr i8, ptr %p, i64 1\n  ret void\n}\n",
            "x.ll:1: expected '%q' to be counted from another address, not from itself",
        ),
        ("  ret void\n", "x.ll:1: expected a type, a variable, a function or metadata, found 'ret'"),
    ] {
        let error = ir::parse(text, "x.ll").map(|_| ()).expect_err(text);
        assert_eq!(error.to_string(), message, "{text}");
    }
    let deep = format!("@a = global {}i32{}\n", "[1 x ".repeat(100_000), "]".repeat(100_000));
    assert_eq!(ir::parse(&deep, "x.ll").unwrap_err().to_string(), "x.ll:1: types are nested more than 100 deep here");
    let missing = ir::read(Path::new("no such file.ll")).unwrap_err().to_string();
    assert_eq!(missing, "no such file.ll: cannot be read: No such file or directory (os error 2)");
}

#[test]
fn broken_bitcode_is_told_with_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x.bc");
    std::fs::write(&path, b"BC\xC0\xDEnonsense").unwrap();
    let error = ir::read(&path).unwrap_err().to_string();
    assert!(error.contains("llvm-dis") && error.contains("install the package llvm"), "{error}");
}

/// Every file of the corpus, as lines.
static FILES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let files = SOURCES.iter().flat_map(|source| VERSIONS.map(|version| file(version, source)));
    files.map(|path| std::fs::read_to_string(path).unwrap()).collect()
});

#[derive(Clone, Debug)]
enum Damage {
    Cut(prop::sample::Index),
    Flip(prop::sample::Index, u8),
    Swap(prop::sample::Index, prop::sample::Index),
    Delete(prop::sample::Index),
    Repeat(prop::sample::Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        index().prop_map(Damage::Cut),
        (index(), any::<u8>()).prop_map(|(at, byte)| Damage::Flip(at, byte)),
        (index(), index()).prop_map(|(one, other)| Damage::Swap(one, other)),
        index().prop_map(Damage::Delete),
        index().prop_map(Damage::Repeat),
    ]
}

fn damaged(text: &str, damages: &[Damage]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for damage in damages {
        let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        if lines.is_empty() {
            break;
        }
        bytes = match damage {
            Damage::Cut(at) => bytes[..at.index(bytes.len())].to_vec(),
            Damage::Flip(at, byte) => {
                let mut bytes = bytes.clone();
                let at = at.index(bytes.len());
                bytes[at] = *byte;
                bytes
            }
            Damage::Swap(one, other) => {
                let (one, other) = (one.index(lines.len()), other.index(lines.len()));
                lines.swap(one, other);
                lines.concat()
            }
            Damage::Delete(at) => {
                lines.remove(at.index(lines.len()));
                lines.concat()
            }
            Damage::Repeat(at) => {
                let line = lines[at.index(lines.len())];
                lines.push(line);
                lines.concat()
            }
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever happens to a file, there is a model that holds together or an error with a line of it.
    #[test]
    fn damaged_files_are_read_or_refused(
        which in 0..SOURCES.len() * VERSIONS.len(),
        damages in prop::collection::vec(damage(), 1..6),
    ) {
        let text = damaged(&FILES[which], &damages);
        match ir::parse(&text, "damaged.ll") {
            Ok(module) => {
                // Printing looks at every name and number in the model.
                let _ = (printed(&module), printed_structs(&module));
                for function in &module.functions {
                    for block in &function.blocks {
                        if let ir::model::End::Branch { targets, .. } = &block.end {
                            prop_assert!(targets.iter().all(|target| (*target as usize) < function.blocks.len()));
                        }
                    }
                }
            }
            Err(error) => {
                let lines = text.lines().count() as u32;
                prop_assert!(error.line.is_some_and(|line| line >= 1 && line <= lines + 1), "{error}");
                prop_assert!(error.message.contains("expected") || error.message.contains("nested"), "{error}");
            }
        }
    }

    /// A function that is cut short is never taken for a whole one.
    #[test]
    fn a_file_that_ends_inside_of_a_function_is_refused(which in 0..SOURCES.len() * VERSIONS.len(), at: prop::sample::Index) {
        let text = &FILES[which];
        let bodies: Vec<usize> = text.match_indices("\n  ").map(|(start, _)| start).collect();
        let end = bodies[at.index(bodies.len())];
        prop_assert!(ir::parse(&text[..end], "cut.ll").is_err());
    }
}
