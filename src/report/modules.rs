//! Which file lies at an address: the memory map of a process, remembered.
//!
//! The map is read from `/proc`, never from the loader: `dl_iterate_phdr` takes the loader's lock, which a thread of
//! the program may hold while it waits for the monitor.

use std::sync::Arc;

/// A stretch of memory that shows a file, or the zero-filled end of a file's data segment.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Mapping {
    start: u64,
    end: u64,
    /// Where the file's first byte lies.
    base: u64,
    path: Arc<str>,
    inode: u64,
    /// Not in the file: the zero-filled end of its data segment (.bss).
    is_anonymous: bool,
}

/// An address as seen from its module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// Path of the file.
    pub module: Arc<str>,
    /// Tells files apart that had the same path in turn, as when a plugin is rebuilt and loaded again.
    pub inode: u64,
    /// Distance from the module's first byte in memory: the same in every run.
    pub offset: u64,
}

impl Place {
    /// The module's file name and the offset, as reports show it.
    #[must_use]
    pub fn short(&self) -> String {
        format!("{}+{:#x}", file_name(&self.module), self.offset)
    }
}

/// The last part of a path.
#[must_use]
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// How many mappings of unloaded modules are remembered.
const MOST_GONE: usize = 4096;

/// The modules of one process, now and before.
#[derive(Default, Debug)]
pub struct ModuleMap {
    /// What is mapped now, by address.
    live: Vec<Mapping>,
    /// What was mapped before and is no longer, oldest first.
    gone: Vec<Mapping>,
}

impl ModuleMap {
    /// The map of this process, as it is now.
    #[must_use]
    pub fn of_this_process() -> ModuleMap {
        ModuleMap::parse(&map_of_this_process().unwrap_or_default())
    }

    /// The map of a process from the text of its `/proc/PID/maps`.
    #[must_use]
    pub fn parse(text: &str) -> ModuleMap {
        ModuleMap { live: parse(text), gone: Vec::new() }
    }

    /// Takes `text` as the newer map of the same process. What has gone since the last one is still found, as long as nothing
    /// else took its place.
    pub fn replace(&mut self, text: &str) {
        let old = std::mem::replace(&mut self.live, parse(text));
        for mapping in old {
            let is_same = |m: &Mapping| {
                (m.start, m.base, m.inode, &m.path) == (mapping.start, mapping.base, mapping.inode, &mapping.path)
            };
            let at = self.live.binary_search_by_key(&mapping.start, |m| m.start);
            let is_live = at.is_ok_and(|index| is_same(&self.live[index]));
            if !is_live && !self.gone.iter().any(is_same) {
                self.gone.push(mapping);
            }
        }
        let surplus = self.gone.len().saturating_sub(MOST_GONE);
        self.gone.drain(..surplus);
    }

    /// Where the first byte of the module with this file name lies, if it is there now.
    #[must_use]
    pub fn base(&self, name: &str) -> Option<u64> {
        self.live.iter().find(|mapping| file_name(&mapping.path) == name).map(|mapping| mapping.base)
    }

    /// Whether a module is at `address` now.
    #[must_use]
    pub fn holds(&self, address: u64) -> bool {
        let before = self.live.partition_point(|m| m.start <= address);
        self.live[..before].last().is_some_and(|m| address < m.end)
    }

    /// The module at `address`: the one that is there now, else the last one that was.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<Place> {
        let holds = |m: &&Mapping| (m.start..m.end).contains(&address);
        let before = self.live.partition_point(|m| m.start <= address);
        let mapping = self.live[..before].last().filter(holds).or_else(|| self.gone.iter().rev().find(holds))?;
        Some(Place {
            module: Arc::clone(&mapping.path),
            inode: mapping.inode,
            offset: address.wrapping_sub(mapping.base),
        })
    }
}

/// Where the kernel tells it.
pub const MAP_FILE: &str = "/proc/self/maps";

/// The text of this process's map. `None` if it cannot be read.
#[must_use]
pub fn map_of_this_process() -> Option<String> {
    // Paths are bytes; one that is not UTF-8 must not hide all the others.
    std::fs::read(MAP_FILE).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn parse(text: &str) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = Vec::new();
    for line in text.lines() {
        let Some(Line { start, end, is_shared, offset, inode, path }) = parse_line(line) else { continue };
        // The loader maps privately: this is a file that somebody looks into, and it may lie right beside its own module.
        if is_shared {
            continue;
        }
        let before = mappings.last();
        let is_anonymous = path.is_empty();
        let continues = match before {
            // Offset 0 begins a module, unless it goes on from the one before: small segments made by lld share the
            // file's first page.
            Some(before) if *before.path == *path => offset != 0 || before.end == start,
            // The rest of a data segment is anonymous memory right behind it.
            Some(before) => is_anonymous && !before.is_anonymous && before.end == start,
            None => false,
        };
        let (base, path, inode) = match before {
            Some(before) if continues => (before.base, Arc::clone(&before.path), before.inode),
            _ if path.starts_with('/') => (start.wrapping_sub(offset), Arc::from(path), inode),
            _ => continue,
        };
        mappings.push(Mapping { start, end, base, path, inode, is_anonymous });
    }
    mappings
}

struct Line<'a> {
    start: u64,
    end: u64,
    is_shared: bool,
    offset: u64,
    inode: u64,
    path: &'a str,
}

/// `start-end perms offset device inode path`; the path may be missing and may hold spaces.
fn parse_line(line: &str) -> Option<Line<'_>> {
    let mut rest = line;
    let mut field = || {
        let (field, after) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = after.trim_start_matches(' ');
        field
    };
    let (start, end) = field().split_once('-')?;
    let is_shared = field().ends_with('s');
    let offset = field();
    let _device = field();
    let inode = field().parse().ok()?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some(Line { start: number(start)?, end: number(end)?, is_shared, offset: number(offset)?, inode, path: rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "\
555555554000-555555555000 r--p 00000000 08:01 11 /opt/my app/prog
555555555000-555555556000 r-xp 00001000 08:01 11 /opt/my app/prog
555555557000-555555558000 rw-p 00002000 08:01 11 /opt/my app/prog
555555558000-555555559000 rw-p 00000000 00:00 0 
555555559000-55555555a000 ---p 00000000 00:00 0 
55555555a000-55555557a000 rw-p 00000000 00:00 0                          [heap]
7ffff7c00000-7ffff7c28000 r--p 00000000 08:01 12                         /lib/libc.so.6
7ffff7c28000-7ffff7dbd000 r-xp 00028000 08:01 12                         /lib/libc.so.6
7ffff7f00000-7ffff7f01000 r--p 00000000 08:01 13                         /lib/plugin.so
7ffff7f01000-7ffff7f02000 r-xp 00000000 08:01 13                         /lib/plugin.so
7ffff7fc1000-7ffff7fc3000 r-xp 00000000 00:00 0                          [vdso]
";

    fn short(map: &ModuleMap, address: u64) -> Option<String> {
        map.find(address).map(|place| place.short())
    }

    #[test]
    fn an_address_is_found_relative_to_the_first_byte_of_its_module() {
        let map = ModuleMap::parse(MAP);
        assert_eq!(map.find(0x5555_5555_5123).unwrap().module.as_ref(), "/opt/my app/prog");
        assert_eq!(short(&map, 0x5555_5555_5123).unwrap(), "prog+0x1123");
        assert_eq!(short(&map, 0x7fff_f7c2_8010).unwrap(), "libc.so.6+0x28010");
    }

    #[test]
    fn bss_belongs_to_its_module_but_what_follows_does_not() {
        let map = ModuleMap::parse(MAP);
        assert_eq!(short(&map, 0x5555_5555_8040).unwrap(), "prog+0x4040");
        assert_eq!(short(&map, 0x5555_5555_9000), None, "something else that follows");
        assert_eq!(short(&map, 0x5555_5555_a000), None);
    }

    #[test]
    fn a_second_mapping_of_offset_0_goes_on_from_the_first() {
        assert_eq!(short(&ModuleMap::parse(MAP), 0x7fff_f7f0_1010).unwrap(), "plugin.so+0x1010");
    }

    #[test]
    fn holes_and_pseudo_files_are_no_modules() {
        let map = ModuleMap::parse(MAP);
        for address in [0, 0x5555_5555_6000, 0x7fff_f7fc_1000, u64::MAX] {
            assert_eq!(map.find(address), None, "{address:#x}");
        }
    }

    #[test]
    fn an_unloaded_module_is_still_named_until_another_takes_its_place() {
        let mut map = ModuleMap::parse(MAP);
        let without: String = MAP.split_inclusive('\n').filter(|line| !line.contains("plugin")).collect();
        map.replace(&without);
        map.replace(&without);
        assert_eq!(short(&map, 0x7fff_f7f0_1010).unwrap(), "plugin.so+0x1010");
        map.replace("7ffff7f00000-7ffff7f02000 r-xp 00000000 08:01 14 /lib/other.so\n");
        assert_eq!(short(&map, 0x7fff_f7f0_1010).unwrap(), "other.so+0x1010");
    }

    #[test]
    fn two_copies_of_one_file_have_two_bases() {
        let map = ModuleMap::parse(
            "1000-2000 r-xp 00000000 08:01 13 /lib/p.so\n9000-a000 r-xp 00000000 08:01 13 /lib/p.so\n",
        );
        assert_eq!(short(&map, 0x1010), short(&map, 0x9010));
    }

    #[test]
    fn a_file_that_somebody_looks_into_is_no_module() {
        let map = ModuleMap::parse(
            "1000-6000 r--s 00000000 08:01 13 /lib/p.so\n6000-7000 r--p 00000000 08:01 13 /lib/p.so\n7000-8000 r-xp 00001000 08:01 13 /lib/p.so\n",
        );
        assert_eq!(short(&map, 0x7010).unwrap(), "p.so+0x1010");
        assert_eq!((map.find(0x1010), map.base("p.so")), (None, Some(0x6000)));
    }

    #[test]
    fn rubbish_is_skipped() {
        assert_eq!(ModuleMap::parse("\nhello\n12-zz r-xp 0 0 0 /x\n").find(0x12), None);
    }

    #[test]
    fn this_process_has_a_module_for_its_own_code() {
        let map = ModuleMap::of_this_process();
        let here = this_process_has_a_module_for_its_own_code as *const () as u64;
        let exe = std::env::current_exe().unwrap();
        assert_eq!(map.find(here).unwrap().module.as_ref(), exe.to_str().unwrap());
    }
}
