//! The places of a schedule: which file of the recorded program, how far in it, and what people call it.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::Unschedulable;
use super::pass::Key;
use crate::replay::schedule::{Act, Module, Place, Schedule};
use crate::report::modules::file_name;
use crate::report::symbols::{DELETED, Symbols};
use crate::trace::reader::Trace;

/// What is known of the recorded program's files.
pub struct Places {
    program: String,
    build_ids: BTreeMap<String, String>,
}

impl Places {
    pub fn of(trace: &Trace) -> Places {
        Places {
            program: trace.meta().program.clone(),
            build_ids: trace.modules().flat_map(|snapshot| snapshot.build_ids).collect(),
        }
    }

    fn module(&self, path: &str) -> Module {
        let build_id = self.build_ids.get(path).cloned().unwrap_or_default();
        Module { name: file_name(path.strip_suffix(DELETED).unwrap_or(path)).to_owned(), build_id }
    }

    /// A schedule with these places and no turns, and the number of each place.
    pub fn list(
        &self,
        keys: impl Iterator<Item = Key>,
        symbols: &mut Symbols,
    ) -> Result<(Schedule, FxHashMap<Key, u32>), Unschedulable> {
        let mut schedule = Schedule { program: self.module(&self.program), ..Schedule::default() };
        let mut numbers = FxHashMap::default();
        // Where a file lay at two addresses in turn, its code is at one place.
        let mut known: FxHashMap<(Option<(u32, u64)>, Act), u32> = FxHashMap::default();
        for (pc, act) in keys.collect::<BTreeSet<Key>>() {
            let code = match act {
                Act::End => None,
                _ => Some(self.code(pc, &mut schedule.modules, symbols)?),
            };
            let number = *known.entry((code, act)).or_insert_with(|| {
                schedule.places.push(Place { code, act, name: name(pc, act, symbols) });
                schedule.places.len() as u32 - 1
            });
            numbers.insert((pc, act), number);
        }
        Ok((schedule, numbers))
    }

    fn code(&self, pc: u64, modules: &mut Vec<Module>, symbols: &Symbols) -> Result<(u32, u64), Unschedulable> {
        let place = symbols.place(pc).ok_or(Unschedulable::NoFile(pc))?;
        let module = self.module(&place.module);
        let number = modules.iter().position(|known| *known == module).unwrap_or_else(|| {
            modules.push(module);
            modules.len() - 1
        });
        Ok((number as u32, place.offset))
    }
}

fn name(pc: u64, act: Act, symbols: &mut Symbols) -> String {
    let frames = match act {
        Act::End => return String::new(),
        // What is told of a thread's begin is where its function is, and not where somebody returns to.
        Act::Start => symbols.frames(pc),
        _ => symbols.call_frames(pc),
    };
    frames[0].in_function()
}
