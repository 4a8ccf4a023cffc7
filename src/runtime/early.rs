//! Where locks were initialised before the first thread was created.
//!
//! Nothing is recorded in that time, but most programs initialise their locks in it, and a report wants to say where.

use super::signals::Blocked;
use crate::event::Kind;
use rustc_hash::FxHashMap;
use std::sync::Mutex;

/// A program that initialises more locks than this before its first thread loses the sites of the rest.
const MOST: usize = 1 << 16;

static SITES: Mutex<Option<FxHashMap<u64, u64>>> = Mutex::new(None);

/// Keeps the site of an early `LockInit`; forgets it at `LockDestroy`. Other kinds are nothing yet.
#[inline(never)]
pub extern "C" fn remember(kind: Kind, lock: u64, pc: u64) {
    if !matches!(kind, Kind::LockInit | Kind::LockDestroy) {
        return;
    }
    let _blocked = Blocked::new();
    // Not waiting: the holder could only be a hook that this one interrupted.
    let Ok(mut sites) = SITES.try_lock() else { return };
    let sites = sites.get_or_insert_default();
    if kind == Kind::LockDestroy {
        sites.remove(&lock);
    } else if sites.len() < MOST {
        sites.insert(lock, pc);
    }
}

/// Lock and site of each, for the analysis; called once, when recording begins.
pub fn take() -> Vec<(u64, u64)> {
    SITES.try_lock().ok().and_then(|mut sites| sites.take()).unwrap_or_default().into_iter().collect()
}
