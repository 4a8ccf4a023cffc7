//! The places of a schedule in this process.

use rustc_hash::FxHashMap;
use std::fs;
use std::mem::ManuallyDrop;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use super::{IS_AFTER, IS_FREE, at_gate};
use crate::replay::journal::{Entry, Found};
use crate::replay::schedule::{Act, Module, Schedule};
use crate::report::image;
use crate::report::modules::{MAP_FILE, ModuleMap, file_name};
use crate::runtime::signals::Blocked;
use crate::runtime::{bare_file, descriptors};

/// Where threads stop, by return address.
pub struct Places {
    schedule: Schedule,
    /// What is loaded, if some modules of the schedule are not.
    incomplete: Option<ModuleMap>,
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
        let map = modules();
        let bases: Vec<Option<u64>> = schedule.modules.iter().map(|module| map.base(&module.name)).collect();
        let mut places = Places {
            numbers: FxHashMap::default(),
            end: None,
            filter: Box::new([0; WORDS]),
            incomplete: bases.iter().any(Option::is_none).then_some(map),
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

    /// The same as the modules lie now.
    pub fn renewed(&self) -> Places {
        Places::new(self.schedule.clone())
    }

    /// Whether this code was loaded since, and may be what is missing.
    #[inline]
    pub fn is_news(&self, code: u64) -> bool {
        self.incomplete.as_ref().is_some_and(|modules| code != 0 && !modules.holds(code))
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

/// Whose calls are the program's business: not the C library and the loader, which free in the middle of something else, and under locks of their own.
const INNER: &[&str] = &["libc.so", "libpthread", "ld-linux"];

/// What was loaded when the run began.
static MODULES: LazyLock<ModuleMap> = LazyLock::new(modules);

/// Looks where they are, once and for all.
pub fn learn_inner() {
    LazyLock::force(&MODULES);
}

/// Whether the C library, the loader or somebody unknown calls from there.
pub fn is_inner(code: u64) -> bool {
    MODULES.find(code).is_none_or(|place| INNER.iter().any(|name| file_name(&place.module).starts_with(name)))
}

/// Whether this process runs that program.
pub fn is_program(program: &Module) -> bool {
    let own = fs::read_link("/proc/self/exe").unwrap_or_default();
    file_name(&own.to_string_lossy()) == program.name
        && (program.build_id.is_empty() || image::build_id(&own).is_none_or(|own| own == program.build_id))
}

/// What is loaded now.
pub fn modules() -> ModuleMap {
    descriptors::aside(|| ModuleMap::parse(&bare_file::read(MAP_FILE).unwrap_or_default()))
}

/// Where in which file an address of this process lies.
pub fn found(modules: &ModuleMap, act: Act, code: u64) -> Found {
    let place = modules.find(code);
    let (module, offset) = place.map_or((String::new(), code), |place| (place.module.to_string(), place.offset));
    Found { act, module, offset, name: None }
}

/// Where threads stop. Replaced, never freed.
static PLACES: AtomicPtr<Places> = AtomicPtr::new(std::ptr::null_mut());
/// A module was unloaded since somebody looked where they are.
static IS_UNLOADED: AtomicBool = AtomicBool::new(false);

/// Chance has no places: every synchronisation counts, and what the program frees.
pub fn is_chance() -> bool {
    PLACES.load(Ordering::Acquire).is_null()
}

pub fn set_places(places: Places) {
    PLACES.store(Box::leak(Box::new(places)), Ordering::Release);
}

fn places() -> Option<&'static Places> {
    // SAFETY: null or leaked.
    unsafe { PLACES.load(Ordering::Acquire).as_ref() }
}

/// The places, as they lie when this code runs.
#[inline]
fn places_at(code: u64) -> Option<&'static Places> {
    let known = places()?;
    if known.is_news(code) || IS_UNLOADED.load(Ordering::Relaxed) {
        look_for_modules(known);
    }
    places()
}

/// How often places are found anew: a program may load and unload without end, and what it had stays.
const MOST_LOOKS: u32 = 1000;

#[cold]
#[inline(never)]
extern "C" fn look_for_modules(known: &Places) {
    static LOOKS: AtomicU32 = AtomicU32::new(0);
    let mut blocked = ManuallyDrop::new(Blocked::new());
    IS_UNLOADED.store(false, Ordering::Release);
    match LOOKS.fetch_add(1, Ordering::Relaxed) {
        0..MOST_LOOKS => set_places(known.renewed()),
        MOST_LOOKS => {
            at_gate(|steering| steering.tell(&Entry::Unsought));
        }
        _ => {}
    }
    // SAFETY: the guard is not used again.
    unsafe { ManuallyDrop::drop(&mut blocked) };
}

pub fn place(act: Act, code: u64) -> Option<u32> {
    places_at(code).and_then(|places| places.find(act, code))
}

/// Whether an access at this place can be a stop: asked of every access.
#[inline]
pub fn may_stop(code: u64) -> bool {
    !IS_FREE.load(Ordering::Relaxed)
        && (places_at(code).is_some_and(|places| places.may_have(code)) || IS_AFTER.load(Ordering::Relaxed))
}

/// A module is about to be unloaded. It may come back elsewhere.
pub fn unloading() {
    IS_UNLOADED.store(true, Ordering::Release);
}

/// Whoever is steered here, it is not by these.
pub fn forget() {
    PLACES.store(std::ptr::null_mut(), Ordering::Release);
}
