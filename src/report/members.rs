//! Names of the parts of a variable, from debug information: `pair.b` and `table[2].count` instead of an offset.
//!
//! This runs inside other people's programs, too. Nothing is read before somebody asks, globals are indexed once, and after so many entries no more
//! are read: what is not found then keeps its offset. Addresses are the file's own.

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::sync::Arc;

use gimli::{
    AttributeValue, DW_AT_abstract_origin, DW_AT_byte_size, DW_AT_count, DW_AT_data_member_location, DW_AT_location,
    DW_AT_name, DW_AT_specification, DW_AT_type, DW_AT_upper_bound, DebuggingInformationEntry, DwAt, DwTag, Operation,
    UnitHeader, UnitOffset, UnitSectionOffset,
};
use rustc_hash::FxHashMap;

use super::allocated::{Allocated, Scopes};
use super::image::Reader;

pub(super) type Entry = DebuggingInformationEntry<Reader>;
pub(super) type Unit = gimli::Unit<Reader>;

/// Entries of one module that are read in all, which takes well below a second.
const MOST_ENTRIES: u32 = 2_000_000;
/// Members in members.
pub(super) const DEEPEST: usize = 12;

/// What debug information tells of the types of one module.
pub struct Members {
    pub(super) dwarf: gimli::Dwarf<Reader>,
    left: Cell<u32>,
    /// The type of each global, and where in it the address is: compilers split globals.
    globals: OnceCell<FxHashMap<u64, (Of, u64)>>,
    /// Of the calls that allocated so many bytes.
    pub(super) allocated: RefCell<FxHashMap<(u64, u32, u64), Option<Allocated>>>,
    pub(super) scopes: RefCell<FxHashMap<UnitSectionOffset, Arc<Scopes>>>,
}

/// What lies at an offset of a variable.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Part {
    /// As a person calls it: what is put behind the name of a global, or a type and its member.
    pub name: String,
    /// If it is a member of a type that has a name.
    pub field: Option<Field>,
}

/// A variable as its type has it, in whichever object it lies.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Field {
    /// The outermost type that has a name; empty for a global that is in none.
    pub of: String,
    /// The way from there, `balance` or `limits[].high`: all elements of an array are one.
    pub member: String,
}

/// A type: its unit, and where in it.
#[derive(Clone, Copy)]
pub(super) struct Of {
    pub unit: UnitHeader<Reader>,
    pub at: UnitOffset,
}

impl Members {
    #[must_use]
    pub fn new(dwarf: gimli::Dwarf<Reader>) -> Members {
        Members {
            dwarf,
            left: Cell::new(MOST_ENTRIES),
            globals: OnceCell::new(),
            allocated: RefCell::default(),
            scopes: RefCell::default(),
        }
    }

    /// What lies at an offset of the global at an address.
    #[must_use]
    pub fn of_global(&self, address: u64, offset: u64) -> Option<Part> {
        let (of, begin) = *self.globals.get_or_init(|| self.index()).get(&address)?;
        let unit = self.dwarf.unit(of.unit).ok()?;
        self.part(&unit, of.at, begin.checked_add(offset)?)
    }

    pub(super) fn count(&self) -> Option<()> {
        self.left.set(self.left.get().checked_sub(1)?);
        Some(())
    }

    pub(super) fn entry(&self, unit: &Unit, at: UnitOffset) -> Option<Entry> {
        self.count()?;
        unit.entry(at).ok()
    }

    /// An attribute of an entry, or of the one that this one is an instance of.
    pub(super) fn attribute(&self, unit: &Unit, entry: &Entry, name: DwAt) -> Option<AttributeValue<Reader>> {
        if let Some(value) = entry.attr_value(name) {
            return Some(value);
        }
        let origin = entry.attr_value(DW_AT_abstract_origin).or_else(|| entry.attr_value(DW_AT_specification))?;
        let AttributeValue::UnitRef(origin) = origin else { return None };
        let origin = self.entry(unit, origin)?;
        origin.attr_value(name)
    }

    pub(super) fn type_of(&self, unit: &Unit, entry: &Entry) -> Option<UnitOffset> {
        match self.attribute(unit, entry, DW_AT_type)? {
            AttributeValue::UnitRef(at) => Some(at),
            _ => None,
        }
    }

    pub(super) fn name(&self, unit: &Unit, entry: &Entry) -> Option<String> {
        let value = self.attribute(unit, entry, DW_AT_name)?;
        let text = self.dwarf.attr_string(unit, value).ok()?;
        text.to_string().ok().map(str::to_owned)
    }

    /// The globals of the module, by address.
    fn index(&self) -> FxHashMap<u64, (Of, u64)> {
        let mut found = FxHashMap::default();
        let mut units = self.dwarf.units();
        while let Ok(Some(header)) = units.next() {
            let Ok(unit) = self.dwarf.unit(header) else { continue };
            let mut entries = unit.entries();
            while let Ok(Some(entry)) = entries.next_dfs() {
                if self.count().is_none() {
                    return found;
                }
                if entry.tag() != gimli::DW_TAG_variable {
                    continue;
                }
                let places = self.places(&unit, entry);
                let Some(at) = self.type_of(&unit, entry).filter(|_| !places.is_empty()) else { continue };
                for (address, begin) in places {
                    found.entry(address).or_insert((Of { unit: header, at }, begin));
                }
            }
        }
        found
    }

    /// Where a variable always lies: the address of each of its pieces, and where in the variable that is.
    fn places(&self, unit: &Unit, entry: &Entry) -> Vec<(u64, u64)> {
        let Some(AttributeValue::Exprloc(expression)) = entry.attr_value(DW_AT_location) else { return Vec::new() };
        let mut operations = expression.operations(unit.encoding());
        let mut places = Vec::new();
        let (mut address, mut begin) = (None, 0u64);
        while let Ok(Some(operation)) = operations.next() {
            match operation {
                Operation::Address { address: at } => address = Some(at),
                Operation::AddressIndex { index } => address = self.dwarf.address(unit, index).ok(),
                Operation::Piece { size_in_bits, .. } => {
                    places.extend(address.take().map(|at| (at, begin)));
                    begin = begin.saturating_add(size_in_bits / 8);
                }
                _ => {}
            }
        }
        places.extend(address.map(|at| (at, begin)));
        places
    }

    /// The type without what only qualifies it.
    pub(super) fn bare(&self, unit: &Unit, mut at: UnitOffset) -> Option<Entry> {
        for _ in 0..DEEPEST {
            let entry = self.entry(unit, at)?;
            if !is_qualifier(entry.tag()) {
                return Some(entry);
            }
            at = self.type_of(unit, &entry)?;
        }
        None
    }

    pub(super) fn size(&self, unit: &Unit, at: UnitOffset) -> Option<u64> {
        let mut at = at;
        let mut times = 1u64;
        for _ in 0..DEEPEST {
            let entry = self.bare(unit, at)?;
            let told = entry.attr_value(DW_AT_byte_size).and_then(|size| size.udata_value());
            let of_one = match entry.tag() {
                gimli::DW_TAG_array_type => {
                    for extent in self.extents(unit, &entry)? {
                        times = times.checked_mul(extent?)?;
                    }
                    at = self.type_of(unit, &entry)?;
                    continue;
                }
                gimli::DW_TAG_pointer_type => told.or(Some(unit.encoding().address_size.into())),
                _ => told,
            };
            return of_one?.checked_mul(times).filter(|size| *size > 0);
        }
        None
    }

    /// How many elements an array has, in each of its dimensions; of the first that is not always told.
    fn extents(&self, unit: &Unit, array: &Entry) -> Option<Vec<Option<u64>>> {
        let mut entries = unit.entries_at_offset(array.offset()).ok()?;
        let begin = entries.next_dfs().ok()??.depth();
        let mut extents = Vec::new();
        while let Ok(Some(entry)) = entries.next_dfs() {
            self.count()?;
            if entry.depth() <= begin {
                break;
            }
            let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
            if entry.tag() == gimli::DW_TAG_subrange_type {
                extents.push(number(DW_AT_count).or_else(|| number(DW_AT_upper_bound)?.checked_add(1)));
            }
        }
        Some(extents)
    }

    /// The way from a type to what lies at an offset of it. What is of no concern to people (parts of a mutex) is not gone into.
    pub(super) fn part(&self, unit: &Unit, mut at: UnitOffset, mut offset: u64) -> Option<Part> {
        let mut part = Part::default();
        for _ in 0..DEEPEST {
            let entry = self.bare(unit, at)?;
            let next = match entry.tag() {
                gimli::DW_TAG_array_type => {
                    let element = self.type_of(unit, &entry)?;
                    let size = self.size(unit, element)?;
                    let extents = self.extents(unit, &entry)?;
                    part.name.push_str(&indices(&extents, offset / size));
                    if let Some(field) = &mut part.field {
                        field.member.push_str(&"[]".repeat(extents.len()));
                    }
                    offset %= size;
                    Some(element)
                }
                gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => {
                    if part.field.is_none() {
                        part.field = self.type_name(unit, at).map(|of| Field { of, member: String::new() });
                    }
                    self.member(unit, &entry, offset).map(|member| {
                        offset -= member.offset;
                        part.push(&member.name);
                        member.of
                    })
                }
                _ => None,
            };
            let Some(next) = next else { break };
            at = next;
        }
        if offset > 0 {
            part.push(&format!("+{offset:#x}"));
        }
        Some(part)
    }

    /// The name of a structure, or that of its typedef if it has none of its own.
    pub(super) fn type_name(&self, unit: &Unit, mut at: UnitOffset) -> Option<String> {
        let mut name = None;
        for _ in 0..DEEPEST {
            let entry = self.entry(unit, at)?;
            name = self.name(unit, &entry).or(name);
            if !is_qualifier(entry.tag()) {
                return name;
            }
            at = self.type_of(unit, &entry)?;
        }
        None
    }

    /// The member or base that lies at an offset of a structure.
    fn member(&self, unit: &Unit, structure: &Entry, offset: u64) -> Option<Member> {
        let mut entries = unit.entries_at_offset(structure.offset()).ok()?;
        let mut found: Option<Member> = None;
        let begin = entries.next_dfs().ok()??.depth();
        while let Ok(Some(entry)) = entries.next_dfs() {
            self.count()?;
            let depth = entry.depth();
            if depth <= begin {
                break;
            }
            let is_member = matches!(entry.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance);
            if depth != begin + 1 || !is_member {
                continue;
            }
            // A static member has no place in the structure.
            let place = entry.attr_value(DW_AT_data_member_location).and_then(|value| value.udata_value());
            let (Some(place), Some(of)) = (place, self.type_of(unit, entry)) else { continue };
            let size = self.size(unit, of).unwrap_or(u64::MAX);
            // An empty base may be at the same place as something else.
            if place > offset || found.as_ref().is_some_and(|it| (place, size) <= (it.offset, it.size)) {
                continue;
            }
            let name = match self.name(unit, entry) {
                Some(name) if is_reserved(&name) => continue,
                Some(name) => format!(".{name}"),
                // A base, or a structure without a name.
                None => String::new(),
            };
            found = Some(Member { name, offset: place, size, of });
        }
        // Behind it there may be a gap, or something that was not gone into.
        found.filter(|it| offset - it.offset < it.size)
    }
}

impl Part {
    fn push(&mut self, text: &str) {
        self.name.push_str(text);
        if let Some(Field { member, .. }) = &mut self.field {
            member.push_str(if member.is_empty() { text.trim_start_matches('.') } else { text });
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let between =
            if self.of.is_empty() || self.member.is_empty() || self.member.starts_with('+') { "" } else { "." };
        write!(f, "{}{between}{}", self.of, self.member)
    }
}

/// The indices of an element, counted through all dimensions. Where the inner ones are not known, only that there are some.
fn indices(extents: &[Option<u64>], element: u64) -> String {
    let Some((_, inner)) = extents.split_first() else { return String::new() };
    let Some(inner) = inner.iter().map(|extent| extent.filter(|extent| *extent > 0)).collect::<Option<Vec<u64>>>()
    else {
        return "[]".repeat(extents.len());
    };
    let mut left = element;
    let mut last_first: Vec<u64> = Vec::new();
    for extent in inner.into_iter().rev() {
        last_first.push(left % extent);
        left /= extent;
    }
    last_first.push(left);
    let indices: Vec<String> = last_first.iter().rev().map(u64::to_string).collect();
    format!("[{}]", indices.join("]["))
}

struct Member {
    /// With its dot.
    name: String,
    offset: u64,
    /// The largest number if it is not known.
    size: u64,
    of: UnitOffset,
}

const fn is_qualifier(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type
    )
}

/// Whether a name belongs to the compiler and its libraries.
pub(super) fn is_reserved(name: &str) -> bool {
    name.strip_prefix('_').is_some_and(|rest| rest.starts_with(|next: char| next == '_' || next.is_ascii_uppercase()))
}
