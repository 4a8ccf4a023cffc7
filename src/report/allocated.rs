//! The type of what a call allocated.
//!
//! C and C++ have no types at run time, and debug information tells none of an allocation. So it is the source that tells, where it is there and not newer
//! than the program: the operand of `sizeof` or `new` in the statement of the call, looked up as the compiler knew it there, also as a parameter of a
//! template, which is how the containers of the C++ library say it. Without that it is a pointer that is declared on the line of the call. In any case the
//! size must fit, and all that is said must agree: a wrong name is worse than none.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use gimli::{
    AttributeValue, DW_AT_abstract_origin, DW_AT_data_member_location, DW_AT_decl_line, DW_AT_declaration, DW_AT_name,
    DW_AT_specification, UnitHeader, UnitOffset,
};
use rustc_hash::FxHashMap;

use super::image::Reader;
use super::members::{DEEPEST, Entry, Members, Of, Part, Unit, is_reserved};
use super::source::{self, Operand};

/// What a call allocated.
#[derive(Clone)]
pub(super) enum Allocated {
    Structure(Structure),
    /// What its function was asked for.
    Given,
}

#[derive(Clone)]
pub(super) struct Structure {
    of: Of,
    name: String,
    /// Of one of them.
    size: u64,
    are_several: bool,
    /// Where in the block it is: behind the number of elements, or in a node of a container.
    begin: u64,
}

/// What a call tells of memory that it allocated.
pub enum Told {
    Part(Part),
    /// It has the size from its caller.
    Given,
}

/// Where to look for names in a unit.
pub(super) struct Scopes {
    types: FxHashMap<&'static [u8], Vec<UnitOffset>>,
    /// The types of globals.
    globals: FxHashMap<&'static [u8], UnitOffset>,
    functions: Vec<(Range<u64>, UnitOffset)>,
    /// The class in which a function is declared.
    classes: FxHashMap<UnitOffset, UnitOffset>,
}

impl Members {
    /// What lies at an offset of `size` bytes that the call before `address`, on this line and maybe of a function of this name, allocated.
    #[must_use]
    pub fn of_allocated(
        &self,
        (address, line, called): (u64, u32, Option<&str>),
        statement: impl FnOnce() -> Option<String>,
        size: u64,
        offset: u64,
    ) -> Option<Told> {
        let key = (address, line, size);
        let known = self.allocated.borrow().get(&key).cloned();
        let found = known.unwrap_or_else(|| self.find_allocated((address, line, called), statement, size));
        self.allocated.borrow_mut().insert(key, found.clone());
        let Structure { of, mut name, size, are_several, begin } = match found? {
            Allocated::Structure(structure) => structure,
            Allocated::Given => return Some(Told::Given),
        };
        let unit = self.dwarf.unit(of.unit).ok()?;
        let offset = offset.checked_sub(begin)?;
        if are_several {
            // Writing to a string cannot fail.
            let _ = write!(name, "[{}]", offset / size);
        } else if offset >= size {
            return None;
        }
        let part = self.part(&unit, of.at, offset % size)?;
        Some(Told::Part(Part { name: name + &part.name, ..part }))
    }

    fn find_allocated(
        &self,
        (address, line, called): (u64, u32, Option<&str>),
        statement: impl FnOnce() -> Option<String>,
        size: u64,
    ) -> Option<Allocated> {
        let header = self.unit_at(address)?;
        let unit = self.dwarf.unit(header).ok()?;
        let scopes = self.scopes(header, &unit)?;
        let (_, function) = scopes.functions.iter().find(|(range, _)| range.contains(&address))?;
        let statement = statement();
        let statement = statement.as_deref().unwrap_or_default();
        let said = source::made(statement, called).unwrap_or_default();
        let here = Here { members: self, header, unit: &unit, scopes: &scopes, function: *function, size };
        let types = if said.is_empty() {
            if here.is_parameter(&source::asked_for(statement, called), address)? {
                return Some(Allocated::Given);
            }
            here.declared_on(line)?.into_iter().map(|at| (at, false)).collect()
        } else {
            let routine = here.innermost(address)?;
            let meant = |operand: &Operand| Some((here.meant(operand, routine)?, operand.is_array));
            said.iter().map(meant).collect::<Option<Vec<(UnitOffset, bool)>>>()?
        };
        let mut fitting = types.into_iter().filter_map(|(at, is_array)| here.fit(at, is_array));
        let found = fitting.next()?;
        // Two that fit tell nothing.
        fitting.all(|other| other.name == found.name).then_some(Allocated::Structure(found))
    }

    /// The names of a unit, found once.
    fn scopes(&self, header: UnitHeader<Reader>, unit: &Unit) -> Option<Arc<Scopes>> {
        if let Some(known) = self.scopes.borrow().get(&header.offset()) {
            return Some(Arc::clone(known));
        }
        let mut scopes = Scopes {
            types: FxHashMap::default(),
            globals: FxHashMap::default(),
            functions: Vec::new(),
            classes: FxHashMap::default(),
        };
        // The entries around the one that is looked at, with their depth.
        let mut around: Vec<(isize, gimli::DwTag, UnitOffset)> = Vec::new();
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            self.count()?;
            around.retain(|(depth, ..)| *depth < entry.depth());
            let is_definition = entry.attr_value(DW_AT_declaration).is_none();
            match entry.tag() {
                gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_typedef if is_definition => {
                    if let Some(name) = self.text(unit, entry) {
                        scopes.types.entry(name).or_default().push(entry.offset());
                    }
                }
                gimli::DW_TAG_variable if !around.iter().any(|(_, tag, _)| *tag == gimli::DW_TAG_subprogram) => {
                    if let (Some(name), Some(at)) = (self.text(unit, entry), self.type_of(unit, entry)) {
                        scopes.globals.insert(name, at);
                    }
                }
                gimli::DW_TAG_subprogram => {
                    if let Some((_, gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type, class)) = around.last() {
                        scopes.classes.insert(entry.offset(), *class);
                    }
                    scopes.functions.extend(self.ranges(unit, entry).into_iter().map(|range| (range, entry.offset())));
                }
                _ => {}
            }
            around.push((entry.depth(), entry.tag(), entry.offset()));
        }
        let scopes = Arc::new(scopes);
        self.scopes.borrow_mut().insert(header.offset(), Arc::clone(&scopes));
        Some(scopes)
    }

    fn text(&self, unit: &Unit, entry: &Entry) -> Option<&'static [u8]> {
        let value = entry.attr_value(DW_AT_name)?;
        self.dwarf.attr_string(unit, value).ok().map(|text| text.slice())
    }

    fn ranges(&self, unit: &Unit, entry: &Entry) -> Vec<Range<u64>> {
        let mut found = Vec::new();
        if let Ok(mut ranges) = self.dwarf.die_ranges(unit, entry) {
            while let Ok(Some(range)) = ranges.next() {
                found.push(range.begin..range.end);
            }
        }
        found
    }

    fn unit_at(&self, address: u64) -> Option<UnitHeader<Reader>> {
        let mut units = self.dwarf.units();
        while let Ok(Some(header)) = units.next() {
            self.count()?;
            let Ok(unit) = self.dwarf.unit(header) else { continue };
            let Ok(mut ranges) = self.dwarf.unit_ranges(&unit) else { continue };
            while let Ok(Some(range)) = ranges.next() {
                if (range.begin..range.end).contains(&address) {
                    return Some(header);
                }
            }
        }
        None
    }
}

/// The function in which so many bytes were allocated.
struct Here<'a> {
    members: &'a Members,
    header: UnitHeader<Reader>,
    unit: &'a Unit,
    scopes: &'a Scopes,
    function: UnitOffset,
    size: u64,
}

impl Here<'_> {
    /// Looks at each entry below another one, however deep.
    fn below(&self, at: UnitOffset, mut look: impl FnMut(&Entry, isize)) -> Option<()> {
        let mut entries = self.unit.entries_at_offset(at).ok()?;
        let begin = entries.next_dfs().ok()??.depth();
        while let Ok(Some(entry)) = entries.next_dfs() {
            self.members.count()?;
            if entry.depth() <= begin {
                break;
            }
            look(entry, entry.depth() - begin);
        }
        Some(())
    }

    /// The function itself, or the innermost one that was inlined at an address of it.
    fn innermost(&self, address: u64) -> Option<UnitOffset> {
        let mut found = (0, self.function);
        self.below(self.function, |entry, depth| {
            let is_here = || self.members.ranges(self.unit, entry).iter().any(|range| range.contains(&address));
            if entry.tag() == gimli::DW_TAG_inlined_subroutine && depth > found.0 && is_here() {
                found = (depth, entry.offset());
            }
        })?;
        Some(found.1)
    }

    /// Whether one of these names is a parameter of the function, or of the one that was inlined at an address of it.
    fn is_parameter(&self, names: &[&str], address: u64) -> Option<bool> {
        let mut found = false;
        self.below(self.innermost(address)?, |entry, depth| {
            let is_one = || self.members.name(self.unit, entry).is_some_and(|name| names.contains(&name.as_str()));
            found |= depth == 1 && entry.tag() == gimli::DW_TAG_formal_parameter && is_one();
        })?;
        Some(found)
    }

    /// The types that pointers point to which are declared on a line.
    fn declared_on(&self, line: u32) -> Option<Vec<UnitOffset>> {
        let mut found = Vec::new();
        self.below(self.function, |entry, _| {
            let declared = || self.members.attribute(self.unit, entry, DW_AT_decl_line)?.udata_value();
            if entry.tag() == gimli::DW_TAG_variable && declared() == Some(line.into()) {
                found.extend(self.members.type_of(self.unit, entry).and_then(|at| self.pointed_to(at)));
            }
        })?;
        Some(found)
    }

    fn pointed_to(&self, at: UnitOffset) -> Option<UnitOffset> {
        let pointer = self.members.bare(self.unit, at)?;
        let leads = matches!(pointer.tag(), gimli::DW_TAG_pointer_type | gimli::DW_TAG_array_type);
        leads.then(|| self.members.type_of(self.unit, &pointer)).flatten()
    }

    /// The type that the source means, in a function or one that was inlined there.
    fn meant(&self, operand: &Operand, routine: UnitOffset) -> Option<UnitOffset> {
        let is_plain = operand.stars == 0 && operand.members.is_empty();
        let as_type = || self.parameter(routine, &operand.name).or_else(|| self.type_named(&operand.name));
        let mut at = if is_plain { as_type() } else { None }.or_else(|| self.variable(&operand.name))?;
        for member in &operand.members {
            let structure = self.members.bare(self.unit, self.pointed_to(at).unwrap_or(at))?;
            at = self.member_named(&structure, member)?;
        }
        for _ in 0..operand.stars {
            at = self.pointed_to(at)?;
        }
        Some(at)
    }

    /// The argument for a parameter of the template that a function, or its class, is made from.
    fn parameter(&self, routine: UnitOffset, name: &str) -> Option<UnitOffset> {
        let mut at = routine;
        for _ in 0..DEEPEST {
            let class = self.scopes.classes.get(&at);
            let found = self.own_parameter(at, name).or_else(|| self.own_parameter(*class?, name));
            if found.is_some() {
                return found;
            }
            let entry = self.members.entry(self.unit, at)?;
            let origin = entry.attr_value(DW_AT_abstract_origin).or_else(|| entry.attr_value(DW_AT_specification))?;
            let AttributeValue::UnitRef(origin) = origin else { return None };
            at = origin;
        }
        None
    }

    fn own_parameter(&self, at: UnitOffset, name: &str) -> Option<UnitOffset> {
        let mut found = None;
        self.below(at, |entry, depth| {
            let is_parameter = depth == 1 && entry.tag() == gimli::DW_TAG_template_type_parameter;
            if is_parameter && self.members.text(self.unit, entry) == Some(name.as_bytes()) {
                found = self.members.type_of(self.unit, entry);
            }
        })?;
        found
    }

    /// A type by its name, if there is only one that fits.
    fn type_named(&self, name: &str) -> Option<UnitOffset> {
        let all = self.scopes.types.get(name.as_bytes())?;
        let mut fitting = all.iter().filter_map(|at| Some((*at, self.members.bare(self.unit, *at)?.offset())));
        let (at, first) = fitting.next()?;
        fitting.all(|(_, other)| other == first).then_some(at)
    }

    /// The type of a variable of the function, or else of a global.
    fn variable(&self, name: &str) -> Option<UnitOffset> {
        let mut found = Vec::new();
        self.below(self.function, |entry, _| {
            let is_variable = matches!(entry.tag(), gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter);
            if is_variable && self.members.name(self.unit, entry).as_deref() == Some(name) {
                found.extend(self.members.type_of(self.unit, entry));
            }
        })?;
        found.dedup();
        match found[..] {
            [] => self.scopes.globals.get(name.as_bytes()).copied(),
            [only] => Some(only),
            _ => None,
        }
    }

    fn member_named(&self, structure: &Entry, name: &str) -> Option<UnitOffset> {
        let mut found = None;
        self.below(structure.offset(), |entry, depth| {
            let is_member = depth == 1 && entry.tag() == gimli::DW_TAG_member;
            if is_member && self.members.text(self.unit, entry) == Some(name.as_bytes()) {
                found = self.members.type_of(self.unit, entry);
            }
        })?;
        found
    }

    /// What was allocated, if it is a structure of this type, or several.
    fn fit(&self, at: UnitOffset, is_array: bool) -> Option<Structure> {
        // In front of elements that have destructors `new` keeps their number. Where that is as large as an element there is no telling.
        const NUMBER: u64 = 8;
        let structure = self.members.bare(self.unit, at)?;
        let size = self.members.size(self.unit, at)?;
        let name = self.members.type_name(self.unit, at)?;
        let of = |at| Of { unit: self.header, at };
        if !is_structure(&structure) || self.size == 0 || (is_array && NUMBER.is_multiple_of(size)) {
            return None;
        }
        if is_array && self.size > NUMBER && (self.size - NUMBER).is_multiple_of(size) {
            return Some(Structure { of: of(at), name, size, are_several: true, begin: NUMBER });
        }
        if !self.size.is_multiple_of(size) {
            return None;
        }
        if !is_reserved(&name) {
            return Some(Structure { of: of(at), name, size, are_several: self.size > size, begin: 0 });
        }
        // A node of the library's, for one thing that the program gave it.
        let (begin, held) = self.held(&structure, 0).filter(|_| self.size == size)?;
        let name = self.members.type_name(self.unit, held)?;
        let size = self.members.size(self.unit, held)?;
        Some(Structure { of: of(held), name, size, are_several: false, begin })
    }

    /// Where a node of a container has what it is for, and of which type that is.
    fn held(&self, node: &Entry, depth: usize) -> Option<(u64, UnitOffset)> {
        const BUFFERS: [&[u8]; 2] = [b"__aligned_membuf<", b"__aligned_buffer<"];
        if depth > DEEPEST {
            return None;
        }
        let is_buffer = |name: &[u8]| BUFFERS.iter().any(|begin| name.starts_with(begin));
        if self.members.text(self.unit, node).is_some_and(is_buffer) {
            let held = self.own_parameter(node.offset(), "_Tp")?;
            return is_structure(&self.members.bare(self.unit, held)?).then_some((0, held));
        }
        let mut parts = Vec::new();
        self.below(node.offset(), |entry, depth| {
            let is_part = matches!(entry.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance);
            let place = entry.attr_value(DW_AT_data_member_location).and_then(|value| value.udata_value());
            if let (true, Some(place), Some(of)) =
                (depth == 1 && is_part, place, self.members.type_of(self.unit, entry))
            {
                parts.push((place, of));
            }
        })?;
        parts.into_iter().find_map(|(place, of)| {
            let part = self.members.bare(self.unit, of).filter(is_structure)?;
            let (begin, held) = self.held(&part, depth + 1)?;
            Some((place + begin, held))
        })
    }
}

fn is_structure(entry: &Entry) -> bool {
    matches!(entry.tag(), gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type)
}
