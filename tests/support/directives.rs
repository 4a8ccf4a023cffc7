//! The head comment of a test program says how it is built and run and what must come of it.
//!
//! | line | meaning |
//! |---|---|
//! | `// exit: 3`, `// exit: SIGTERM` | how it ends, with and without the monitor (default: 0) |
//! | `// args: a b` | arguments; `{shared}` is the shared library |
//! | `// shell: {run} 2>&-` | a command line for `sh` around it |
//! | `// flags: ...`, `// libs: ...` | for the compiler, before and after the source |
//! | `// shared: yes`, `// shared: linked` | the file, compiled with `-DSHARED`, is also a shared library |
//! | `// preload: lib.so` | preloaded too, with and without the monitor |
//! | `// needs: package ...` | Debian packages |
//! | `// variants: plain ...` | only these ways of compiling |
//! | `// options: name=value` | for the monitor |
//! | `// suppressions: line`, `// specification: line` | a line of that file; may be repeated |
//! | `// finds: block [strength] [kind]` | a finding that must be there; may be repeated |
//! | `// also: caller` | listed with the finding before it as split too |
//! | `// culprit: function` | the finding before it says that the culprit acquires there |
//! | `// reads: 1000` | with values, at least so many reads must be compared |
//! | `// findings: any` | findings do not matter; without this line only the strong ones that are listed may be there |

use super::build::Variant;
use super::run::End;
use std::path::Path;

/// A finding that must be there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expected {
    pub block: String,
    pub strength: String,
    pub kind: Option<String>,
    /// Callers that must be listed as split with it.
    pub also: Vec<String>,
    /// The function in which the culprit acquires.
    pub culprit: Option<String>,
}

/// Everything that a program's head comment says.
#[derive(Clone, Debug)]
pub struct Directives {
    pub exit: End,
    pub args: Vec<String>,
    pub shell: Option<String>,
    pub flags: Vec<String>,
    pub libs: Vec<String>,
    pub shared: Option<String>,
    pub preload: Option<String>,
    pub needs: Vec<String>,
    pub variants: Vec<Variant>,
    pub options: Option<String>,
    pub suppressions: Vec<String>,
    pub specification: Vec<String>,
    pub finds: Vec<Expected>,
    pub any_findings: bool,
    pub reads: u64,
}

impl Directives {
    /// Reads the head comment of a file. An unknown line is an error: a misspelt one would silently not be tested.
    pub fn read(path: &Path, default_variants: &[Variant]) -> Result<Directives, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Directives::parse(&text, default_variants).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn parse(text: &str, default_variants: &[Variant]) -> Result<Directives, String> {
        let mut directives = Directives {
            exit: End::Exit(0),
            args: Vec::new(),
            shell: None,
            flags: Vec::new(),
            libs: Vec::new(),
            shared: None,
            preload: None,
            needs: Vec::new(),
            variants: default_variants.to_vec(),
            options: None,
            suppressions: Vec::new(),
            specification: Vec::new(),
            finds: Vec::new(),
            any_findings: false,
            reads: 0,
        };
        // The first line is prose.
        for line in text.lines().skip(1).map_while(|line| line.strip_prefix("// ")) {
            let (name, value) = line.split_once(": ").ok_or_else(|| format!("'{line}' is not 'name: value'"))?;
            directives.set(name, value).ok_or_else(|| format!("'{line}' is not understood"))?;
        }
        Ok(directives)
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        let words = || value.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        match name {
            "exit" => self.exit = End::parse(value)?,
            "args" => self.args = words(),
            "shell" => self.shell = Some(value.to_owned()),
            "flags" => self.flags = words(),
            "libs" => self.libs = words(),
            "shared" => self.shared = Some(value.to_owned()).filter(|v| v == "yes" || v == "linked"),
            "preload" => self.preload = Some(value.to_owned()),
            "needs" => self.needs = words(),
            "variants" => {
                let named = |word: &String| Variant::ALL.into_iter().find(|variant| variant.name() == word);
                self.variants = words().iter().map(named).collect::<Option<_>>()?;
            }
            "options" => self.options = Some(value.to_owned()),
            "suppressions" => self.suppressions.push(value.to_owned()),
            "specification" => self.specification.push(value.to_owned()),
            "finds" => {
                let mut words = words().into_iter();
                let (block, strength, kind) = (words.next()?, words.next(), words.next());
                let strength = strength.unwrap_or_else(|| "strong".to_owned());
                self.finds.push(Expected { block, strength, kind, also: Vec::new(), culprit: None });
            }
            "also" => self.finds.last_mut()?.also = words(),
            "culprit" => self.finds.last_mut()?.culprit = Some(value.to_owned()),
            "reads" => self.reads = value.parse().ok()?,
            "findings" => self.any_findings = value == "any",
            _ => return None,
        }
        Some(())
    }

    /// Whether a report on stderr is to be expected.
    pub fn may_report(&self) -> bool {
        !self.finds.is_empty() || !self.suppressions.is_empty()
    }

    /// Whether a finding is expected that changes the exit code.
    pub fn changes_exit_code(&self) -> bool {
        let is_kept = self.options.as_ref().is_some_and(|options| options.contains("exitcode=0"));
        !is_kept && self.finds.iter().any(|expected| expected.strength == "strong")
    }
}
