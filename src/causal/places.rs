//! Parts of memory, by what they are in and which fields lead there.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;

use super::program::Program;
use crate::ir::model::{FunctionId, GlobalId, Member, Op, StructId, Type, ValueId};

/// By its place in [`Places`].
pub type PlaceId = u32;

/// What a part of memory is in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Root {
    Global(GlobalId),
    /// The variable of a function, by its alloca.
    Local(FunctionId, ValueId),
    /// What a call returned: new memory, or some of a library's.
    Heap(FunctionId, ValueId),
    /// The code of a function.
    Function(FunctionId),
    /// Some object that has the field: the paper's [typeof(x), f].
    Unknown,
}

pub type Field = (StructId, u32);

/// A part of memory. All elements of an array are one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    pub root: Root,
    pub path: Vec<Field>,
}

/// No structure nests deeper than this without being one that a cast made up.
const DEEPEST: usize = 8;

/// The places of a program, each once.
#[derive(Debug, Default)]
pub struct Places {
    list: Vec<Place>,
    ids: FxHashMap<Place, PlaceId>,
    /// Places by the field that they end with.
    by_field: FxHashMap<Field, Vec<PlaceId>>,
    /// Answers that were given before: the same are asked for again and again, and a path takes long to look up.
    fields: FxHashMap<(PlaceId, Field), PlaceId>,
    leaves: Vec<Option<PlaceId>>,
}

impl Places {
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    #[must_use]
    pub fn get(&self, id: PlaceId) -> &Place {
        &self.list[id as usize]
    }

    pub fn id(&mut self, place: Place) -> PlaceId {
        let Places { list, ids, by_field, .. } = self;
        *ids.entry(place).or_insert_with_key(|place| {
            let id = list.len() as PlaceId;
            list.push(place.clone());
            if let Some(&field) = place.path.last() {
                by_field.entry(field).or_default().push(id);
            }
            id
        })
    }

    pub fn root(&mut self, root: Root) -> PlaceId {
        self.id(Place { root, path: Vec::new() })
    }

    /// The field of any object.
    pub fn any(&mut self, field: Field) -> PlaceId {
        self.id(Place { root: Root::Unknown, path: vec![field] })
    }

    /// All places that end with this field.
    #[must_use]
    pub fn ending_with(&self, field: Field) -> &[PlaceId] {
        self.by_field.get(&field).map_or(&[], Vec::as_slice)
    }

    /// What lies there, if the program says so.
    #[must_use]
    pub fn type_of<'p>(&self, program: &'p Program, id: PlaceId) -> Option<&'p Type> {
        type_of(program, self.get(id))
    }

    /// The place of a field of what lies at `base`. A structure begins where its first member begins, so that an address of the one is
    /// an address of the other too.
    pub fn field(&mut self, program: &Program, base: PlaceId, field: Field) -> PlaceId {
        if let Some(&known) = self.fields.get(&(base, field)) {
            return known;
        }
        let place = field_of(program, self.get(base).clone(), field);
        let id = self.id(place);
        self.fields.insert((base, field), id);
        id
    }

    /// What is accessed at some fields of what lies at `base`, if somebody has been there.
    #[must_use]
    pub fn known_part(&self, program: &Program, base: PlaceId, fields: &[Field]) -> Option<PlaceId> {
        let part = fields.iter().fold(self.get(base).clone(), |place, &field| field_of(program, place, field));
        self.ids.get(&leaf_of(program, part)).copied()
    }

    /// What is read or written by an access at this address that takes no structure as a whole.
    pub fn leaf(&mut self, program: &Program, id: PlaceId) -> PlaceId {
        if let Some(&Some(known)) = self.leaves.get(id as usize) {
            return known;
        }
        let place = leaf_of(program, self.get(id).clone());
        let leaf = self.id(place);
        self.leaves.resize(self.list.len(), None);
        self.leaves[id as usize] = Some(leaf);
        leaf
    }

    /// Whether the place is one of several elements.
    #[must_use]
    pub fn is_array(&self, program: &Program, id: PlaceId) -> bool {
        let place = self.get(id);
        let members = place.path.iter().map(|&(of, index)| member_type(program, (of, index)));
        std::iter::once(root_type(program, place.root)).chain(members).any(|it| matches!(it, Some(Type::Array(_))))
    }

    /// Whether several members of the source are this one place: bit-fields of a word.
    #[must_use]
    pub fn is_several(&self, program: &Program, id: PlaceId) -> bool {
        self.get(id).path.iter().any(|&field| member(program, field).is_some_and(|member| member.is_several))
    }

    /// How many bytes behind `whole` a place in it begins, if that is known; among elements, in the first one.
    #[must_use]
    pub fn offset_in(&self, program: &Program, whole: PlaceId, part: PlaceId) -> Option<u64> {
        let rest = self.get(part).path.strip_prefix(&self.get(whole).path[..])?;
        rest.iter().map(|&field| member(program, field)?.offset).sum()
    }

    /// As the source calls it: `pair.a`, `account.balance` if the object has no name.
    #[must_use]
    pub fn name(&self, program: &Program, id: PlaceId) -> String {
        let place = self.get(id);
        let module = &program.module;
        let mut name = match place.root {
            Root::Global(id) => {
                let global = &module.globals[id as usize];
                global.source_name.clone().unwrap_or_else(|| global.name.clone())
            }
            Root::Local(function, value) => module.functions[function as usize].values[value as usize]
                .source_name
                .clone()
                .unwrap_or_else(|| format!("a local of {}", super::name_of(program.function(function)))),
            Root::Function(id) => super::name_of(program.function(id)).to_owned(),
            Root::Heap(..) | Root::Unknown => match place.path.first() {
                Some(&(of, _)) => {
                    let it = &module.structs[of as usize];
                    it.source_name.clone().unwrap_or_else(|| plain(&it.name).to_owned())
                }
                None => "allocated memory".to_owned(),
            },
        };
        for &(of, index) in &place.path {
            let member = module.structs[of as usize].members.get(index as usize);
            match member.and_then(|member| member.name.as_deref()) {
                Some(member) => name.extend([".", member]),
                // What has no name is the compiler's own: a base class, or the only member of a union.
                None if member.is_some_and(|member| matches!(member.of_type, Type::Struct(_))) => {}
                None => _ = write!(name, ".{index}"),
            }
        }
        name
    }
}

fn plain(ir_name: &str) -> &str {
    ["struct.", "class.", "union."].iter().find_map(|prefix| ir_name.strip_prefix(prefix)).unwrap_or(ir_name)
}

fn element(mut it: &Type) -> &Type {
    while let Type::Array(of) = it {
        it = of;
    }
    it
}

fn member(program: &Program, (of, index): Field) -> Option<&Member> {
    program.module.structs.get(of as usize)?.members.get(index as usize)
}

fn member_type(program: &Program, field: Field) -> Option<&Type> {
    Some(&member(program, field)?.of_type)
}

fn root_type(program: &Program, root: Root) -> Option<&Type> {
    match root {
        Root::Global(id) => Some(&program.module.globals[id as usize].of_type),
        Root::Local(function, value) => local_type(program, function, value),
        Root::Heap(..) | Root::Function(_) | Root::Unknown => None,
    }
}

fn local_type(program: &Program, function: FunctionId, value: ValueId) -> Option<&Type> {
    match &program.made_by(function, value)?.op {
        Op::Local { of_type } => Some(of_type),
        _ => None,
    }
}

fn type_of<'p>(program: &'p Program, place: &Place) -> Option<&'p Type> {
    match place.path.last() {
        Some(&field) => member_type(program, field),
        None => root_type(program, place.root),
    }
}

fn field_of(program: &Program, mut place: Place, (of, index): Field) -> Place {
    if place.root == Root::Unknown {
        return Place { root: Root::Unknown, path: vec![(of, index)] };
    }
    let mut path = place.path.clone();
    let mut lies_there = type_of(program, &place);
    while let Some(Type::Struct(it)) = lies_there.map(element) {
        if *it == of {
            place.path = path;
            break;
        }
        lies_there = program.module.structs[*it as usize].members.first().map(|member| &member.of_type);
        path.push((*it, 0));
    }
    place.path.push((of, index));
    normalised(program, place)
}

/// The one of all places with the same address that names are given to: the outermost of an object whose type is known.
fn normalised(program: &Program, mut place: Place) -> Place {
    if root_type(program, place.root).is_some() {
        while place.path.last().is_some_and(|(_, index)| *index == 0) {
            place.path.pop();
        }
    } else {
        // The object may begin with an object of another type, which others know it by.
        let begins = place.path.iter().take_while(|(_, index)| *index == 0).count();
        place.path.drain(..begins.min(place.path.len() - 1));
    }
    if place.path.len() > DEEPEST {
        place.path.drain(..place.path.len() - 1);
    }
    place
}

fn leaf_of(program: &Program, mut place: Place) -> Place {
    while let Some(Type::Struct(it)) = type_of(program, &place).map(element) {
        if program.module.structs[*it as usize].members.is_empty() || place.path.len() > DEEPEST {
            break;
        }
        place.path.push((*it, 0));
    }
    if root_type(program, place.root).is_none() && !place.path.is_empty() {
        let begins = place.path.iter().take_while(|(_, index)| *index == 0).count();
        place.path.drain(..begins.min(place.path.len() - 1));
    }
    place
}
