//! The LLVM IR that `avmon cc` keeps beside what clang compiles, as gcov keeps its notes: of the user's code as it is
//! written, not optimised and without hooks.
//!
//! | call | object | IR |
//! |---|---|---|
//! | `-c app.c -o dir/app.o` | `dir/app.o` | `dir/app.o.bc` |
//! | `app.c util.c -o app` | none that stays | `app-app.c.bc`, `app-util.c.bc` |
//!
//! The object says where its IR is; see [`locate`](crate::ir::locate).

use super::compiler::WHOLE_TYPES;
use super::invocation::{Input, Invocation};
use crate::ir;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Turns this off.
pub const VARIABLE: &str = "AVMON_IR";

const RECORDS: [&str; 2] = ["-frecord-command-line", "-frecord-gcc-switches"];

/// What a call of the compiler leaves beside its objects.
#[derive(Debug, PartialEq, Eq)]
pub struct Kept {
    /// The user's, as far as they are about the language.
    flags: Vec<OsString>,
    units: Vec<Unit>,
    /// The user has the command line recorded, in the only place that there is for it.
    place_is_taken: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Unit {
    source: OsString,
    /// As `-x` gave it.
    language: Option<OsString>,
    /// Where its IR goes.
    ir: PathBuf,
}

/// Whether the user wants IR to be kept.
pub fn is_wanted() -> Result<bool, String> {
    match std::env::var(VARIABLE).as_deref() {
        Ok("off") => Ok(false),
        Ok("on" | "") | Err(_) => Ok(true),
        Ok(other) => Err(format!("{VARIABLE} is 'on' or 'off', not '{other}'")),
    }
}

impl Kept {
    /// `None` if the call makes no object of C or C++, or one that does not stay.
    pub fn of(given: &[OsString]) -> Option<Kept> {
        let Invocation { flags, sources, output, compiles_only, makes_object } = Invocation::of(given);
        // Such as /dev/null.
        if !makes_object
            || sources.is_empty()
            || output.as_ref().is_some_and(|output| output == "-" || output.as_bytes().starts_with(b"/dev/"))
        {
            return None;
        }
        let place_is_taken = given.iter().any(|argument| RECORDS.iter().any(|option| argument == option));
        let mut taken = BTreeSet::new();
        let units = sources.into_iter().map(|Input { file: source, language }| {
            let ir = free(&ir_path(&source, output.as_deref(), compiles_only), &mut taken);
            Unit { source, language, ir }
        });
        Some(Kept { units: units.collect(), flags, place_is_taken })
    }

    /// Arguments for the compiler that let its objects say where their IR is. The section is there for command lines, so
    /// that linkers keep it, and no source, line or dependency file changes by it.
    pub fn note(&self) -> Vec<OsString> {
        if self.place_is_taken {
            return Vec::new();
        }
        let mut text = OsString::new();
        for unit in &self.units {
            if !text.is_empty() {
                text.push("\n");
            }
            text.push(ir::NOTE);
            text.push(&unit.ir);
        }
        vec!["-Xclang".into(), "-record-command-line".into(), "-Xclang".into(), text]
    }

    /// Makes the IR, and tells what could not be made. `compiler` gives a fresh command each time.
    pub fn make(&self, compiler: impl Fn() -> Command, support: &Path) -> Vec<String> {
        self.units.iter().filter_map(|unit| self.make_one(compiler(), support, unit).err()).collect()
    }

    fn make_one(&self, mut compiler: Command, support: &Path, unit: &Unit) -> Result<(), String> {
        let shown = unit.source.to_string_lossy();
        let told = |reason: &str| {
            // The IR of an older object would be worse than none.
            let _ = fs::remove_file(&unit.ir);
            format!("no LLVM IR of {shown} is kept: {reason} ({VARIABLE}=off asks for none)")
        };
        let mut unfinished = unit.ir.clone().into_os_string();
        unfinished.push(format!(".{}", std::process::id()));
        compiler.args(&self.flags).arg("-idirafter").arg(support);
        compiler.args(["-w", "-O0", "-g", WHOLE_TYPES, "-fno-lto", "-emit-llvm", "-c"]);
        if let Some(language) = &unit.language {
            compiler.arg("-x").arg(language);
        }
        compiler.arg(&unit.source).arg("-o").arg(&unfinished).stdin(Stdio::null());
        let output = compiler.output().map_err(|error| told(&error.to_string()))?;
        if output.status.success() {
            return fs::rename(&unfinished, &unit.ir).map_err(|error| told(&error.to_string()));
        }
        let _ = fs::remove_file(&unfinished);
        let text = String::from_utf8_lossy(&output.stderr);
        let line = text.lines().find(|line| line.contains("error")).or_else(|| text.lines().next());
        Err(told(line.unwrap_or("the compiler gave no reason").trim()))
    }
}

fn ir_path(source: &OsStr, output: Option<&OsStr>, compiles_only: bool) -> PathBuf {
    let name = Path::new(source).file_name().unwrap_or(source);
    let mut path = match output {
        Some(output) => output.to_owned(),
        None if compiles_only => Path::new(name).with_extension("o").into_os_string(),
        None => "a.out".into(),
    };
    if !compiles_only {
        path.push("-");
        path.push(name);
    }
    path.push(".bc");
    std::path::absolute(&path).unwrap_or_else(|_| path.into())
}

/// Two sources of one name in different directories do not share their IR.
fn free(path: &Path, taken: &mut BTreeSet<PathBuf>) -> PathBuf {
    let mut own = path.to_owned();
    let mut number = 2;
    while !taken.insert(own.clone()) {
        own = path.with_extension(format!("{number}.bc"));
        number += 1;
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(line: &str) -> Option<Kept> {
        Kept::of(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn ir_lies_beside_what_is_made() {
        let here = std::env::current_dir().unwrap();
        for (line, expected) in [
            ("-c a.c", &["a.o.bc"][..]),
            ("-c sub/a.cc -O2", &["a.o.bc"]),
            ("-c a.c -o sub/b.o", &["sub/b.o.bc"]),
            ("-c a.c b.c", &["a.o.bc", "b.o.bc"]),
            ("a.c", &["a.out-a.c.bc"]),
            ("a.c b.cc c.o -o sub/app -lm", &["sub/app-a.c.bc", "sub/app-b.cc.bc"]),
            ("x/a.c y/a.c z/a.c -oapp", &["app-a.c.bc", "app-a.c.2.bc", "app-a.c.3.bc"]),
            ("-x c++ strange.name -x none a.o -o app", &["app-strange.name.bc"]),
        ] {
            let units = kept(line).unwrap_or_else(|| panic!("{line}")).units;
            let paths: Vec<PathBuf> = units.into_iter().map(|unit| unit.ir).collect();
            assert_eq!(paths, expected.iter().map(|path| here.join(path)).collect::<Vec<_>>(), "{line}");
        }
    }

    #[test]
    fn most_calls_keep_none() {
        for line in [
            "-E a.c",
            "-S a.c",
            "-M a.c",
            "-MM a.c",
            "-fsyntax-only a.c",
            "-c -emit-llvm a.c",
            "-c a.s",
            "-c a.S",
            "-x assembler a.c -c",
            "-c -x c -",
            "-x c - -o a",
            "-c a.c -o /dev/null",
            "-c a.c -o -",
            "header.h",
            "a.o b.o -o app",
            "-v",
            "--version",
            "",
        ] {
            assert_eq!(kept(line), None, "{line}");
        }
    }

    #[test]
    fn the_second_run_has_the_users_flags_about_the_language_only() {
        let line = "-DX=1 -I inc -O2 -MD -MF a.d -MT a.o -Wall -Werror -fsanitize=thread,undefined -flto=thin --coverage \
                    -include first.h -c a.c -o a.o -Wl,-z,now -Xlinker -x -pthread -std=gnu11";
        let flags = kept(line).unwrap().flags;
        assert_eq!(flags, ["-DX=1", "-I", "inc", "-O2", "-Wall", "-include", "first.h", "-pthread", "-std=gnu11"]);
    }
}
