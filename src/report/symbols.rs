//! Functions, source lines and globals at an address of the program.
//!
//! A module that is missing, stripped or broken is never an error: what is known then is the module and the offset.
//! This runs inside other people's programs, on their files, so a panic in a library that reads them costs the
//! names of that one module and nothing else.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::options::Options;
use crate::report::allocated::Told;
use crate::report::finding::Frame;
use crate::report::image::{self, Image, SourceFrame, Symbol};
use crate::report::members::Part;
use crate::report::modules::{ModuleMap, Place};

/// What `/proc/PID/maps` appends to the path of a file that is no longer there (or was replaced by a new build).
pub(crate) const DELETED: &str = " (deleted)";

/// Functions that allocate for others call each other so deep.
const MOST_WRAPPERS: usize = 4;

/// A function of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    pub name: String,
    /// Where it begins in memory.
    pub start: u64,
}

/// Names for the addresses of one process.
pub struct Symbols {
    modules: ModuleMap,
    debug_path: PathBuf,
    enabled: bool,
    /// By path and inode; `None` for what cannot be read.
    images: FxHashMap<(Arc<str>, u64), Option<Image>>,
    frames: FxHashMap<Place, Arc<[Frame]>>,
    functions: FxHashMap<Place, Option<Symbol>>,
    /// Build ids that files must have, by path. Another build would give wrong names.
    expected: FxHashMap<String, String>,
}

impl Symbols {
    /// Names for the process that had these modules.
    #[must_use]
    pub fn new(options: &Options, modules: ModuleMap) -> Symbols {
        Symbols {
            modules,
            debug_path: PathBuf::from(&options.debug_path),
            enabled: options.symbolize,
            images: FxHashMap::default(),
            frames: FxHashMap::default(),
            functions: FxHashMap::default(),
            expected: FxHashMap::default(),
        }
    }

    /// Uses the file at `path` only if it has this build id.
    pub fn expect(&mut self, path: &str, build_id: &str) {
        self.expected.insert(path.to_owned(), build_id.to_owned());
    }

    /// The same, when nothing is known yet of where modules lie. What was read from files stays known.
    #[must_use]
    pub fn without_modules(self) -> Symbols {
        Symbols { modules: ModuleMap::default(), ..self }
    }

    /// Takes `map` as the newer memory map of the same process.
    pub fn replace_modules(&mut self, map: &str) {
        self.modules.replace(map);
    }

    /// The module at `address`.
    #[must_use]
    pub fn place(&self, address: u64) -> Option<Place> {
        self.modules.find(address)
    }

    /// The functions at a code address, innermost first; all but the last are inlined. Never empty.
    pub fn frames(&mut self, address: u64) -> Arc<[Frame]> {
        match self.place(address) {
            Some(place) => self.frames_at(&place),
            None => Arc::from([Frame { offset: address, ..Frame::default() }]),
        }
    }

    /// The same of a place in a file.
    pub fn frames_at(&mut self, place: &Place) -> Arc<[Frame]> {
        if let Some(known) = self.frames.get(place) {
            return Arc::clone(known);
        }
        let mut found = self.ask(place, Image::frames).unwrap_or_default();
        if found.is_empty() {
            found.push(SourceFrame::default());
        }
        let last = found.len() - 1;
        let symbol = self.function_symbol(place).map(|symbol| symbol.name);
        found[last].function = fuller(found[last].function.take(), symbol);
        let module = place.module.strip_suffix(DELETED).unwrap_or(&place.module);
        let frames: Arc<[Frame]> = found
            .into_iter()
            .enumerate()
            .map(|(index, source)| Frame {
                function: source.function,
                file: source.file,
                line: source.line,
                column: source.column,
                inlined: index != last,
                module: module.to_owned(),
                offset: place.offset,
            })
            .collect();
        self.frames.insert(place.clone(), Arc::clone(&frames));
        frames
    }

    /// The functions at the call that returns to `pc`. The call is the instruction before, which may belong to
    /// another line, and even to another function when the call does not return.
    pub fn call_frames(&mut self, pc: u64) -> Arc<[Frame]> {
        self.frames(pc.saturating_sub(1))
    }

    /// The function that contains a code address.
    pub fn function(&mut self, address: u64) -> Option<Function> {
        let place = self.place(address)?;
        let symbol = self.function_symbol(&place)?;
        let first = self.image(&place)?.first_address();
        let offset = symbol.address.wrapping_sub(first);
        Some(Function { name: symbol.name, start: address.wrapping_sub(place.offset).wrapping_add(offset) })
    }

    /// The global that contains `address`, with the member there: `name`, `name.member`, or `name+0x28` where members are not known; of a module without
    /// symbols, its place.
    /// `None` for the heap and stacks.
    pub fn variable(&mut self, address: u64) -> Option<String> {
        self.global(address).map(|global| global.name)
    }

    /// The same, and which field of which type it is.
    pub(super) fn global(&mut self, address: u64) -> Option<Part> {
        let place = self.place(address)?;
        let found = self.ask(&place, |image, at| {
            let symbol = image.variable(at);
            let member = symbol.as_ref().and_then(|symbol| image.member(symbol, at - symbol.address));
            (image.spans(at), at, symbol, member)
        });
        let of_name = |name| Some(Part { name, field: None });
        match found {
            Some((_, _, Some(symbol), Some(member))) => Some(Part { name: symbol.name + &member.name, ..member }),
            Some((_, at, Some(symbol), None)) if at == symbol.address => of_name(symbol.name),
            Some((_, at, Some(symbol), None)) => of_name(format!("{}+{:#x}", symbol.name, at - symbol.address)),
            // Anonymous memory that happens to follow the module.
            Some((false, ..)) => None,
            _ => of_name(place.short()),
        }
    }

    /// The member at an offset of memory that was allocated by calls that return to these addresses, innermost first: as `type.member`, or
    /// `type[2].member` if there are several. A function that is given the size does it for its caller, who knows the type.
    pub fn allocated(&mut self, calls: &[u64], size: u64, offset: u64) -> Option<Part> {
        let mut called: Option<String> = None;
        for pc in calls.iter().take(MOST_WRAPPERS) {
            let call = pc.saturating_sub(1);
            let place = self.place(call)?;
            for frame in self.frames(call).iter() {
                let Frame { function, file: Some(file), line: Some(line), .. } = frame else { return None };
                let by = called.as_deref().map(plain_name);
                let told = self.ask(&place, |image, at| image.allocated(at, (file, *line), by, size, offset))??;
                if let Told::Part(part) = told {
                    return Some(part);
                }
                called.clone_from(function);
            }
        }
        None
    }

    /// The text constant at `address`.
    pub fn text(&mut self, address: u64) -> Option<String> {
        let place = self.place(address)?;
        self.ask(&place, Image::text)?
    }

    /// Whether the call that returns to `pc` names its target: a call by displacement. What cannot be read is not known to. That is no name, so it is
    /// told without `symbolize` too.
    pub fn is_direct_call(&mut self, pc: u64) -> bool {
        const CALL: u8 = 0xE8;
        const LENGTH: u64 = 5;
        let Some(place) = pc.checked_sub(LENGTH).and_then(|call| self.place(call)) else { return false };
        self.look_into(&place, Image::byte).flatten() == Some(CALL)
    }

    fn function_symbol(&mut self, place: &Place) -> Option<Symbol> {
        if let Some(known) = self.functions.get(place) {
            return known.clone();
        }
        let symbol = self.ask(place, Image::function).flatten();
        self.functions.insert(place.clone(), symbol.clone());
        symbol
    }

    fn image(&mut self, place: &Place) -> Option<&Image> {
        let Symbols { images, debug_path, expected, .. } = self;
        let open = || {
            let path = &*place.module;
            let is_expected = |id: &String| image::build_id(Path::new(path)).as_ref() == Some(id);
            let is_readable = !path.ends_with(DELETED) && expected.get(path).is_none_or(is_expected);
            is_readable.then(|| guarded(|| Image::open(Path::new(path), debug_path)).flatten()).flatten()
        };
        images.entry((Arc::clone(&place.module), place.inode)).or_insert_with(open).as_ref()
    }

    /// Asks for names, if they are wanted.
    fn ask<T>(&mut self, place: &Place, question: impl FnOnce(&Image, u64) -> T) -> Option<T> {
        if self.enabled { self.look_into(place, question) } else { None }
    }

    /// Asks the image of a place's module about the file's own address of that place.
    fn look_into<T>(&mut self, place: &Place, question: impl FnOnce(&Image, u64) -> T) -> Option<T> {
        let image = self.image(place)?;
        let answer = guarded(|| question(image, place.offset.wrapping_add(image.first_address())));
        if answer.is_none() {
            self.images.insert((Arc::clone(&place.module), place.inode), None);
        }
        answer
    }
}

/// The name of a function, from debug information and from its symbol. Debug information is right where code was shared
/// or moved, but has no more than `hidden` or `apply<int>` for a C++ function without linkage, where the symbol has scope
/// and parameters.
fn fuller(name: Option<String>, symbol: Option<String>) -> Option<String> {
    let (Some(name), Some(symbol)) = (&name, &symbol) else { return name.or(symbol) };
    let bare = name.split('<').next().unwrap_or(name);
    let extends = symbol.contains(&format!("{bare}(")) || symbol.contains(&format!("{bare}<"));
    Some(if !bare.contains("::") && extends { symbol } else { name }.clone())
}

/// Runs code of the libraries that read object files. `None` if it panicked.
fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    // An image that was left half-changed is dropped by the caller and never used again.
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// A function as a call of it in the same scope says.
fn plain_name(function: &str) -> &str {
    let name = function.split(['(', '<']).next().unwrap_or(function);
    name.rsplit([':', ' ']).next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(map: &str) -> Symbols {
        Symbols::new(&Options::default(), ModuleMap::parse(map))
    }

    #[test]
    fn an_address_outside_all_modules_is_shown_as_it_is() {
        let frames = over("").frames(0x1234);
        assert_eq!(&*frames, [Frame { offset: 0x1234, ..Frame::default() }]);
        assert_eq!(over("").variable(0x1234), None);
    }

    #[test]
    fn missing_deleted_and_unreadable_modules_give_module_and_offset() {
        let broken = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(broken.path(), b"\x7fELF and then nonsense").unwrap();
        for path in ["/nonexistent/prog", "/usr/bin/env (deleted)", "/dev/null", broken.path().to_str().unwrap()] {
            let mut symbols = over(&format!("1000-2000 r-xp 00000000 08:01 1 {path}\n"));
            let frames = symbols.frames(0x1040);
            assert_eq!((frames.len(), frames[0].offset, frames[0].function.as_ref()), (1, 0x40, None), "{path}");
            assert!(!frames[0].module.contains("deleted"));
            assert_eq!(symbols.function(0x1040), None);
            assert!(symbols.variable(0x1040).unwrap().ends_with("+0x40"));
        }
    }

    #[test]
    fn a_panic_in_a_reader_costs_only_that_module() {
        let exe = std::env::current_exe().unwrap();
        let here = a_panic_in_a_reader_costs_only_that_module as *const () as u64;
        let mut symbols = Symbols::new(&Options::default(), ModuleMap::of_this_process());
        let place = symbols.place(here).unwrap();
        assert_eq!(*place.module, *exe.to_str().unwrap());
        assert!(symbols.ask(&place, |_, _| -> u32 { panic!("on purpose") }).is_none());
        assert_eq!(symbols.function(here), None, "the module counts as broken");
    }

    #[test]
    fn without_symbolize_nothing_is_opened() {
        let here = without_symbolize_nothing_is_opened as *const () as u64;
        let mut symbols =
            Symbols::new(&Options { symbolize: false, ..Options::default() }, ModuleMap::of_this_process());
        let frames = symbols.frames(here);
        assert_eq!((frames[0].function.as_ref(), frames[0].line), (None, None));
        assert!(!frames[0].module.is_empty());
        assert!(symbols.images.is_empty());
    }

    #[test]
    fn calls_are_told_apart_without_symbolize() {
        let here = calls_are_told_apart_without_symbolize as *const () as u64;
        let direct = |symbolize| {
            let mut symbols = Symbols::new(&Options { symbolize, ..Options::default() }, ModuleMap::of_this_process());
            (here..here + 0x200).filter(|&pc| symbols.is_direct_call(pc)).collect::<Vec<u64>>()
        };
        assert!(!direct(true).is_empty());
        assert_eq!(direct(false), direct(true));
    }
}
