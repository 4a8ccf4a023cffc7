//! The places of a schedule in this process.

use rustc_hash::FxHashMap;
use std::fs;

use crate::replay::journal::Found;
use crate::replay::schedule::{Act, Module, Schedule};
use crate::report::image;
use crate::report::modules::{ModuleMap, file_name};

/// Where threads stop, by return address.
pub struct Places {
    schedule: Schedule,
    /// All modules are there.
    is_complete: bool,
    numbers: FxHashMap<(u64, Act), u32>,
    /// The end of a thread has no address.
    end: Option<u32>,
    /// A bit for each remainder of an address: most are none of ours, and this tells so at once.
    filter: Box<[u64; WORDS]>,
}

const WORDS: usize = 512;

const fn bit(code: u64) -> (usize, u64) {
    let hash = code.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 49;
    ((hash >> 6) as usize % WORDS, 1 << (hash & 63))
}

impl Places {
    pub fn new(schedule: Schedule) -> Places {
        let map = ModuleMap::of_this_process();
        let bases: Vec<Option<u64>> = schedule.modules.iter().map(|module| map.base(&module.name)).collect();
        let mut places = Places {
            numbers: FxHashMap::default(),
            end: None,
            filter: Box::new([0; WORDS]),
            is_complete: bases.iter().all(Option::is_some),
            schedule,
        };
        for (number, place) in (0..).zip(&places.schedule.places) {
            let Some((module, offset)) = place.code else {
                places.end = Some(number);
                continue;
            };
            let Some(base) = bases.get(module as usize).copied().flatten() else { continue };
            let code = base.wrapping_add(offset);
            places.numbers.insert((code, place.act), number);
            let (word, bit) = bit(code);
            places.filter[word] |= bit;
        }
        places
    }

    /// The same with modules that were loaded meanwhile, if some are still missing.
    pub fn with_more_modules(&self) -> Option<Places> {
        (!self.is_complete).then(|| Places::new(self.schedule.clone()))
    }

    #[inline]
    pub fn may_have(&self, code: u64) -> bool {
        let (word, bit) = bit(code);
        self.filter[word] & bit != 0
    }

    pub fn find(&self, act: Act, code: u64) -> Option<u32> {
        if act == Act::End { self.end } else { self.numbers.get(&(code, act)).copied() }
    }
}

/// Whether this process runs that program.
pub fn is_program(program: &Module) -> bool {
    let own = fs::read_link("/proc/self/exe").unwrap_or_default();
    file_name(&own.to_string_lossy()) == program.name
        && (program.build_id.is_empty() || image::build_id(&own).is_none_or(|own| own == program.build_id))
}

/// Where in which file an address of this process lies.
pub fn found(act: Act, code: u64) -> Found {
    let place = ModuleMap::of_this_process().find(code);
    let (module, offset) =
        place.map_or((String::new(), code), |place| (file_name(&place.module).to_owned(), place.offset));
    Found { act, module, offset }
}
