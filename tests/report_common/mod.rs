//! Small C and C++ programs that tell where their code and data are: what the monitor knows of a real program.
//!
//! A program includes `marks.h`. `MARK(name)` records the return address of a call at that place, `TELL(name, address)`
//! any address, and `tell_modules()` prints the memory map. The test symbolises these addresses from outside.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use avmon::options::Options;
use avmon::report::modules::ModuleMap;
use avmon::report::symbols::Symbols;

const MARKS: &str = r#"
#include <stdio.h>
static __attribute__((noinline)) void avm_mark(const char *name) {
    printf("%s=%p\n", name, __builtin_return_address(0));
}
/* The barrier keeps the call from becoming a jump. */
#define MARK(name) do { avm_mark(name); __asm__ volatile(""); } while (0)
#define TELL(name, address) printf("%s=%p\n", name, (void *)(address))
static void tell_modules(void) {
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) printf("map %s", line);
    fclose(maps);
}
"#;

/// A directory with sources and what was made of them.
pub struct Workshop {
    dir: tempfile::TempDir,
}

/// What a program told.
pub struct Told {
    pub map: String,
    addresses: HashMap<String, u64>,
}

impl Workshop {
    pub fn new() -> Workshop {
        let workshop = Workshop { dir: tempfile::tempdir().unwrap() };
        workshop.write("marks.h", MARKS);
        workshop
    }

    pub fn path(&self, name: &str) -> PathBuf {
        // The kernel shows real paths in the memory map.
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Runs a command line in the directory. `%` stands for the directory.
    pub fn run(&self, command_line: &str) -> String {
        let dir = self.path("");
        let text = command_line.replace('%', dir.to_str().unwrap().trim_end_matches('/'));
        let mut words = text.split_whitespace();
        let output = Command::new(words.next().unwrap()).args(words).current_dir(&dir).output().unwrap();
        assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs the program and takes down what it tells.
    pub fn tell(&self, program: &str) -> Told {
        let output = self.run(&format!("%/{program}"));
        let mut told = Told { map: String::new(), addresses: HashMap::new() };
        for line in output.lines() {
            if let Some(mapping) = line.strip_prefix("map ") {
                told.map.push_str(mapping);
                told.map.push('\n');
            } else if let Some((name, address)) = line.split_once('=') {
                let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).unwrap();
                told.addresses.insert(name.to_owned(), address);
            }
        }
        told
    }

    /// Options whose separate debug files are in `debug` of the directory.
    pub fn options(&self) -> Options {
        Options { debug_path: text(&self.path("debug")), ..Options::default() }
    }

    pub fn symbols(&self, told: &Told) -> Symbols {
        Symbols::new(&self.options(), ModuleMap::parse(&told.map))
    }
}

impl Told {
    pub fn address(&self, name: &str) -> u64 {
        *self.addresses.get(name).unwrap_or_else(|| panic!("the program did not tell {name}"))
    }
}

pub fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
