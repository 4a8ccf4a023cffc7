//! One module's file: its symbol tables, its debug information, its constants.
//!
//! Addresses here are the file's own virtual addresses.
//!
//! Files are mapped and the mappings never given back: the debug information is read in place, for as long as the
//! process may have something to report, and each file is opened at most once. Nothing is indexed up front. Symbol
//! tables are scanned at every question, which takes about a millisecond for a large one and no memory at all;
//! [`crate::report::symbols`] remembers the answers.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};

use gimli::{EndianSlice, LittleEndian, SectionId};
use memmap2::Mmap;
use object::read::elf::{ElfFile64, ProgramHeader as _};
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};

use crate::report::allocated::Told;
use crate::report::demangle::demangle;
use crate::report::members::{Members, Part};
use crate::report::source;

type Elf = ElfFile64<'static, object::LittleEndian>;
pub(super) type Reader = EndianSlice<'static, LittleEndian>;

/// The sections that finding frames needs. Leaving out the rest (variables' locations, types, macros) matters when
/// sections are compressed, since those must be unpacked into memory.
const NEEDED: &[SectionId] = &[
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugAranges,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
];

/// Compressed sections of one module are unpacked up to this many bytes in all; beyond, lines stay unknown.
const MOST_UNPACKED: u64 = 256 << 20;

/// A function around an address, or one that was inlined there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceFrame {
    pub function: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub column: Option<u32>,
}

/// A symbol and where it begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    pub name: String,
    pub address: u64,
}

/// An ELF file and, where there is one, its separate debug file.
pub struct Image {
    path: PathBuf,
    debug_path: PathBuf,
    elf: Elf,
    separate: Option<(PathBuf, Elf)>,
    lines: OnceCell<Option<addr2line::Context<Reader>>>,
    members: OnceCell<Option<Members>>,
}

impl Image {
    /// Opens the file at `path`; separate debug files are looked for below `debug_path` too.
    /// `None` if it is no 64-bit little-endian ELF file that can be read.
    #[must_use]
    pub fn open(path: &Path, debug_path: &Path) -> Option<Image> {
        let elf = open_elf(path)?;
        let separate = if has_lines(&elf) { None } else { find_separate(path, &elf, debug_path) };
        Some(Image {
            path: path.to_owned(),
            debug_path: debug_path.to_owned(),
            elf,
            separate,
            lines: OnceCell::new(),
            members: OnceCell::new(),
        })
    }

    /// The address of the file's first byte, from which offsets into the module count.
    #[must_use]
    pub fn first_address(&self) -> u64 {
        let first = self.loads().next();
        first.map_or(0, |(address, offset, _)| address.wrapping_sub(offset))
    }

    /// Whether `address` lies between the beginning and the end of the module in memory.
    #[must_use]
    pub fn spans(&self, address: u64) -> bool {
        self.loads().map(|(start, _, size)| start.saturating_add(size)).max().is_some_and(|end| address < end)
            && address >= self.first_address()
    }

    /// Address, file offset and size in memory of what the loader maps.
    fn loads(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let endian = self.elf.endian();
        let is_load = move |header: &&object::elf::ProgramHeader64<_>| header.p_type(endian) == object::elf::PT_LOAD;
        let parts =
            move |h: &object::elf::ProgramHeader64<_>| (h.p_vaddr(endian), h.p_offset(endian), h.p_memsz(endian));
        self.elf.elf_program_headers().iter().filter(is_load).map(parts)
    }

    /// The functions at `address`, innermost first; all but the last are inlined. Empty without debug information.
    #[must_use]
    pub fn frames(&self, address: u64) -> Vec<SourceFrame> {
        let Some(context) = self.lines.get_or_init(|| self.load_lines()) else { return Vec::new() };
        let mut frames = Vec::new();
        // Split debug information (.dwo files) is not followed: lines are in the main file, names in its symbols.
        let Ok(mut found) = context.find_frames(address).skip_all_loads() else { return frames };
        while let Ok(Some(frame)) = found.next() {
            let name = frame.function.as_ref().and_then(|f| f.raw_name().ok());
            let location = frame.location.as_ref();
            frames.push(SourceFrame {
                function: name.map(|n| demangle(&n)),
                file: location.and_then(|l| l.file).map(str::to_owned),
                line: location.and_then(|l| l.line).filter(|line| *line != 0),
                column: location.and_then(|l| l.column).filter(|column| *column != 0),
            });
        }
        frames
    }

    /// The function that contains `address`, by the symbol tables.
    #[must_use]
    pub fn function(&self, address: u64) -> Option<Symbol> {
        self.symbol(address, SymbolKind::Text)
    }

    /// The global variable that contains `address`.
    #[must_use]
    pub fn variable(&self, address: u64) -> Option<Symbol> {
        self.symbol(address, SymbolKind::Data)
    }

    /// What lies at an offset of a global. Nothing if that is not known.
    #[must_use]
    pub fn member(&self, global: &Symbol, offset: u64) -> Option<Part> {
        self.members()?.of_global(global.address, offset)
    }

    /// What lies at an offset of `size` bytes that the call before `address`, at this place of the source, allocated.
    #[must_use]
    pub fn allocated(
        &self,
        address: u64,
        (file, line): (&str, u32),
        called: Option<&str>,
        size: u64,
        offset: u64,
    ) -> Option<Told> {
        let statement = || {
            let made = std::fs::metadata(&self.path).and_then(|about| about.modified()).ok()?;
            source::statement(Path::new(file), line, made)
        };
        self.members()?.of_allocated((address, line, called), statement, size, offset)
    }

    fn members(&self) -> Option<&Members> {
        self.members.get_or_init(|| self.load_dwarf().map(Members::new)).as_ref()
    }

    /// The NUL-terminated text at `address`, if it is one of the file's constants.
    #[must_use]
    pub fn text(&self, address: u64) -> Option<String> {
        let segment = self.elf.segments().find(|s| address.checked_sub(s.address()).is_some_and(|d| d < s.size()))?;
        let bytes = segment.data().ok()?.get((address - segment.address()) as usize..)?;
        let end = bytes.iter().position(|b| *b == 0)?;
        std::str::from_utf8(&bytes[..end]).ok().map(str::to_owned)
    }

    /// The byte at `address`, if it is in the file.
    #[must_use]
    pub fn byte(&self, address: u64) -> Option<u8> {
        let segment = self.elf.segments().find(|s| address.checked_sub(s.address()).is_some_and(|d| d < s.size()))?;
        segment.data().ok()?.get((address - segment.address()) as usize).copied()
    }

    fn symbol(&self, address: u64, kind: SymbolKind) -> Option<Symbol> {
        let separate = self.separate.iter().flat_map(|(_, elf)| elf.symbols());
        separate
            .chain(self.elf.symbols())
            .chain(self.elf.dynamic_symbols())
            .filter(|s| s.kind() == kind && s.is_definition())
            .filter(|s| address.checked_sub(s.address()).is_some_and(|distance| distance < s.size()))
            .filter_map(|s| Some((s.address(), s.name().ok()?)))
            // Aliases share an address: the one with the fewest underscores in front is the one that people use.
            .min_by_key(|(_, name)| (name.len() - name.trim_start_matches('_').len(), *name))
            .map(|(address, name)| Symbol { name: demangle(name), address })
    }

    fn load_lines(&self) -> Option<addr2line::Context<Reader>> {
        addr2line::Context::from_dwarf(self.load_dwarf()?).ok()
    }

    fn load_dwarf(&self) -> Option<gimli::Dwarf<Reader>> {
        let (path, elf) = self.separate.as_ref().map_or((&self.path, &self.elf), |(path, elf)| (path, elf));
        if !has_lines(elf) {
            return None;
        }
        let budget = Cell::new(MOST_UNPACKED);
        let mut dwarf = gimli::Dwarf::load(|id| load_section(elf, id, &budget)).ok()?;
        if let Some(shared) = find_supplement(path, elf, &self.debug_path) {
            dwarf.load_sup(|id| load_section(&shared, id, &budget)).ok()?;
        }
        Some(dwarf)
    }
}

fn open_elf(path: &Path) -> Option<Elf> {
    // Anything can be mapped into a program. Opening a device or a pipe may block or do something.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let file = File::open(path).ok()?;
    // SAFETY: a private mapping, only ever read. Should somebody cut the file short in place, reading would raise
    // SIGBUS; for a module that would bring down the program itself, and linkers and packagers write new files.
    let map = unsafe { Mmap::map(&file) }.ok()?;
    ElfFile64::<object::LittleEndian>::parse(&map[..]).ok()?;
    let data: &'static [u8] = Box::leak(Box::new(map));
    ElfFile64::parse(data).ok()
}

/// The build id of the file at `path` in hexadecimal digits, if it is an ELF file that has one.
#[must_use]
pub fn build_id(path: &Path) -> Option<String> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    // SAFETY: as in `open_elf`; this mapping goes when it has been asked.
    let map = unsafe { Mmap::map(&File::open(path).ok()?) }.ok()?;
    let elf = ElfFile64::<object::LittleEndian>::parse(&map[..]).ok()?;
    let id = elf.build_id().ok()??;
    Some(id.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

fn has_lines(elf: &Elf) -> bool {
    elf.section_by_name(".debug_info").is_some_and(|section| section.size() > 0)
}

/// A section that is damaged or too large; the module then has no lines.
struct Unloadable;

fn load_section(elf: &Elf, id: SectionId, budget: &Cell<u64>) -> Result<Reader, Unloadable> {
    let section = NEEDED.contains(&id).then(|| elf.section_by_name(id.name())).flatten();
    let Some(section) = section else { return Ok(Reader::new(&[], LittleEndian)) };
    let compressed = section.compressed_data().map_err(|_| Unloadable)?;
    if compressed.format != object::CompressionFormat::None {
        budget.set(budget.get().checked_sub(compressed.uncompressed_size).ok_or(Unloadable)?);
    }
    let data: &'static [u8] = match compressed.decompress().map_err(|_| Unloadable)? {
        Cow::Borrowed(data) => data,
        Cow::Owned(data) => data.leak(),
    };
    Ok(Reader::new(data, LittleEndian))
}

/// The separate debug file of a stripped module, where gdb would look for it.
fn find_separate(path: &Path, elf: &Elf, debug_path: &Path) -> Option<(PathBuf, Elf)> {
    let build_id = elf.build_id().ok().flatten();
    if let Some(id) = build_id
        && let Some(found) = open_by_build_id(id, debug_path)
    {
        return Some(found);
    }
    let (name, checksum) = elf.gnu_debuglink().ok()??;
    let name = std::str::from_utf8(name).ok()?;
    let directory = path.parent()?;
    let below_debug_path = debug_path.join(directory.strip_prefix("/").unwrap_or(directory)).join(name);
    let candidates = [directory.join(name), directory.join(".debug").join(name), below_debug_path];
    candidates.into_iter().filter(|candidate| candidate != path).find_map(|candidate| {
        let found = open_elf(&candidate)?;
        // A debug file of another build would show wrong lines.
        let fits = match (build_id, found.build_id().ok().flatten()) {
            (Some(wanted), Some(id)) => wanted == id,
            _ => crc32fast::hash(found.data()) == checksum,
        };
        fits.then_some((candidate, found))
    })
}

fn open_by_build_id(id: &[u8], debug_path: &Path) -> Option<(PathBuf, Elf)> {
    let (first, rest) = id.split_first()?;
    let mut name = String::new();
    for byte in rest {
        let _ = write!(name, "{byte:02x}");
    }
    name.push_str(".debug");
    let path = debug_path.join(".build-id").join(format!("{first:02x}")).join(name);
    let elf = open_elf(&path)?;
    (elf.build_id().ok().flatten() == Some(id)).then_some((path, elf))
}

/// The file of debug information that several files share (made by dwz, as distributions do).
fn find_supplement(path: &Path, elf: &Elf, debug_path: &Path) -> Option<Elf> {
    let (name, id) = elf.gnu_debugaltlink().ok()??;
    let beside = path.parent()?.join(std::str::from_utf8(name).ok()?);
    let fits = |elf: &Elf| elf.build_id().ok().flatten() == Some(id);
    open_elf(&beside).filter(fits).or_else(|| open_by_build_id(id, debug_path).map(|(_, elf)| elf))
}
