//! The source's names of structs and their members.
//!
//! The IR's types do not say which type of the source they are. Two are the same if one variable has both; or if they lie at
//! the same place in two that are the same; or else if their names and sizes are. Where several types of the source would
//! do, as with templates, whose arguments the IR's names leave out, a member has a name only if all agree on it. Types with
//! different names are never the same.
//!
//! A field of the IR has the name of the member of the source that begins in its bytes. If there are several, as in a union
//! or with bit fields, it has all their names: `read|write`. A base class is a member named like the class.

use super::debug::Debug;
use super::metadata::{Node, NodeId};
use super::model::{Member, Module, Struct, StructId, Type};
use super::types::Types;
use rustc_hash::{FxHashMap, FxHashSet};

/// More types of one name and size are not compared with each other.
const MOST_CANDIDATES: usize = 64;

/// Members without a name, in members without a name.
const DEEPEST: u32 = 10;

pub(super) fn name<'a>(types: &mut Types<'a>, debug: &Debug<'a>, module: &mut Module) {
    for id in 0..types.structs.len() {
        let offsets = types.offsets(id as StructId).unwrap_or_default();
        let of = &types.structs[id];
        let member = |(index, field): (usize, &_)| Member {
            of_type: types.model(*field),
            offset: offsets.get(index).copied(),
            ..Member::default()
        };
        module.structs.push(Struct {
            name: of.name.clone(),
            source_name: None,
            members: of.fields.iter().flatten().enumerate().map(member).collect(),
        });
    }
    let other_names = debug.metadata.typedefs.iter().filter_map(|id| {
        let (bare, of) = debug.bare_type(*id)?;
        let is_nameless = of.kind == "DICompositeType" && of.get("name").is_none();
        is_nameless.then_some((bare, *id))
    });
    let mut namer = Namer {
        other_names: other_names.collect(),
        types,
        debug,
        module,
        known: FxHashMap::default(),
        done: FxHashSet::default(),
    };
    for (of_type, node) in &debug.declared {
        namer.same_types(of_type, *node);
    }
    namer.by_name();
}

struct Namer<'n, 'a> {
    types: &'n mut Types<'a>,
    debug: &'n Debug<'a>,
    module: &'n mut Module,
    /// What types without a name of their own are called: `typedef struct { ... } name`.
    other_names: FxHashMap<NodeId, NodeId>,
    /// How often a struct was found in the source.
    known: FxHashMap<StructId, u32>,
    done: FxHashSet<(StructId, NodeId)>,
}

/// How a struct of the IR looks as a type of the source.
struct Fit {
    names: Vec<Option<String>>,
    are_several: Vec<bool>,
    inner: Vec<(Type, NodeId)>,
}

impl<'a> Namer<'_, 'a> {
    fn same_types(&mut self, of_type: &Type, node: NodeId) {
        let mut waiting = vec![(of_type.clone(), node)];
        while let Some((of_type, node)) = waiting.pop() {
            let Some((id, composite)) = self.composite(&of_type, node) else { continue };
            if self.done.insert((id, composite)) {
                waiting.extend(self.same(id, composite));
            }
        }
    }

    /// The struct and what describes it, behind arrays and other names.
    fn composite(&self, mut of_type: &Type, mut node: NodeId) -> Option<(StructId, NodeId)> {
        loop {
            let (id, description) = self.debug.bare_type(node)?;
            if description.kind != "DICompositeType" {
                return None;
            }
            match (of_type, description.get("tag")?) {
                (_, "DW_TAG_array_type") => {
                    // Arrays of arrays are one in the description.
                    while let Type::Array(element) = of_type {
                        of_type = element;
                    }
                    node = description.reference("baseType")?;
                }
                (Type::Struct(of), "DW_TAG_structure_type" | "DW_TAG_class_type" | "DW_TAG_union_type") => {
                    return Some((*of, id));
                }
                _ => return None,
            }
        }
    }

    /// Takes the names, and gives what must then be the same too.
    fn same(&mut self, id: StructId, node: NodeId) -> Vec<(Type, NodeId)> {
        let Some(fit) = self.fit(id, node) else { return Vec::new() };
        let source_name = self.source_name(node, true);
        let is_first = {
            let count = self.known.entry(id).or_default();
            *count += 1;
            *count == 1
        };
        let of = &mut self.module.structs[id as usize];
        if is_first {
            of.source_name = source_name;
        } else if of.source_name != source_name {
            of.source_name = None;
        }
        for (member, is_several) in of.members.iter_mut().zip(fit.are_several) {
            member.is_several |= is_several;
        }
        for (member, name) in of.members.iter_mut().zip(fit.names) {
            if is_first {
                member.name = name;
            } else if member.name != name {
                member.name = None;
            }
        }
        fit.inner
    }

    fn fit(&mut self, id: StructId, node: NodeId) -> Option<Fit> {
        let description = self.debug.metadata.node(node)?;
        let offsets = self.types.offsets(id)?;
        let size = self.types.struct_size(id)?.checked_mul(8)?;
        let described = description.number("size").unwrap_or(0);
        if !self.may_be_called(id, node) {
            return None;
        }
        // The part of a class that others inherit can lack the padding at its end.
        let is_part = source_key(&self.module.structs[id as usize].name).is_some_and(|key| key.is_part);
        if size != described && !(is_part && size <= described) {
            return None;
        }
        let mut members: Vec<Vec<(String, u64, Option<NodeId>)>> = vec![Vec::new(); offsets.len()];
        for element in description.reference("elements").into_iter().flat_map(|list| self.debug.metadata.list(list)) {
            let Some(member) = self.debug.metadata.node(element) else { continue };
            let Some(name) = self.member_name(member, 0) else { continue };
            let offset = member.number("offset").unwrap_or(0);
            let Some(field) = offsets.partition_point(|start| start * 8 <= offset).checked_sub(1) else { continue };
            if offset < size {
                members[field].push((name, offset, member.reference("baseType")));
            }
        }
        let mut inner = Vec::new();
        let own = &self.module.structs[id as usize].members;
        for ((members, start), own) in members.iter().zip(&offsets).zip(own) {
            if let [(_, offset, Some(of_type))] = &members[..]
                && *offset == start * 8
            {
                inner.push((own.of_type.clone(), *of_type));
            }
        }
        let is_several =
            |members: &Vec<(String, u64, Option<NodeId>)>| members.windows(2).any(|pair| pair[0].1 != pair[1].1);
        let are_several = members.iter().map(is_several).collect();
        let joined = |members: Vec<(String, u64, Option<NodeId>)>| {
            let names: Vec<String> =
                members.into_iter().map(|(name, ..)| name).filter(|name| !name.is_empty()).collect();
            (!names.is_empty()).then(|| names.join("|"))
        };
        Some(Fit { names: members.into_iter().map(joined).collect(), are_several, inner })
    }

    /// `None` for what is no member of its own; empty for one without a name.
    fn member_name(&self, member: Node<'a>, depth: u32) -> Option<String> {
        if member.kind != "DIDerivedType" || member.has_flag("DIFlagStaticMember") || depth > DEEPEST {
            return None;
        }
        let of_type = || self.debug.bare_type(member.reference("baseType")?).map(|(_, node)| node);
        match member.get("tag")? {
            "DW_TAG_member" => {
                if let Some(name) = member.text("name") {
                    return Some(name);
                }
                let names = of_type()
                    .filter(|node| node.get("tag") == Some("DW_TAG_union_type"))
                    .and_then(|union| union.reference("elements"))
                    .into_iter()
                    .flat_map(|list| self.debug.metadata.list(list))
                    .filter_map(|id| self.member_name(self.debug.metadata.node(id)?, depth + 1))
                    .filter(|name| !name.is_empty());
                Some(names.collect::<Vec<_>>().join("|"))
            }
            "DW_TAG_inheritance" if !member.has_flag("DIFlagVirtual") => {
                let class = of_type()?;
                if self.is_empty(class, 0) { None } else { class.text("name") }
            }
            _ => None,
        }
    }

    /// Whether a class has no members, and so no place in those that inherit it.
    fn is_empty(&self, class: Node<'a>, depth: u32) -> bool {
        let elements = class.reference("elements").into_iter().flat_map(|list| self.debug.metadata.list(list));
        depth < DEEPEST
            && elements.filter_map(|id| self.debug.metadata.node(id)).all(|element| {
                let of_type = || self.debug.bare_type(element.reference("baseType")?).map(|(_, node)| node);
                match element.get("tag") {
                    Some("DW_TAG_member") => element.has_flag("DIFlagStaticMember"),
                    Some("DW_TAG_inheritance") => of_type().is_none_or(|class| self.is_empty(class, depth + 1)),
                    _ => true,
                }
            })
    }

    /// For what no variable told.
    fn by_name(&mut self) {
        let mut candidates: FxHashMap<(String, u64), Vec<NodeId>> = FxHashMap::default();
        for id in &self.debug.metadata.composites {
            if let Some(node) = self.debug.metadata.node(*id)
                && node.get("tag") != Some("DW_TAG_array_type")
                && let Some(size) = node.number("size")
                && let Some(name) = self.source_name(*id, false)
            {
                candidates.entry((without_arguments(&name), size)).or_default().push(*id);
            }
        }
        for id in 0..self.module.structs.len() as StructId {
            if self.known.contains_key(&id) {
                continue;
            }
            let Some(size) = self.types.struct_size(id) else { continue };
            let Some(Key { name, is_part }) = source_key(&self.module.structs[id as usize].name) else { continue };
            let found = if is_part {
                // Its size is that of the class without its last padding, at most one word.
                (size..=size + 8).find_map(|size| candidates.get(&(name.clone(), size * 8)))
            } else {
                candidates.get(&(name, size * 8))
            };
            if let Some(found) = found.filter(|found| found.len() <= MOST_CANDIDATES) {
                let mut inner = Vec::new();
                for node in found {
                    if self.done.insert((id, *node)) {
                        inner.push(self.same(id, *node));
                    }
                }
                // Only a sure match says more.
                if let [inner] = &inner[..] {
                    for (of_type, node) in inner {
                        self.same_types(of_type, *node);
                    }
                }
            }
        }
    }

    /// With the namespaces and classes around it; the IR's names do not have the functions.
    fn source_name(&self, id: NodeId, out_of_functions: bool) -> Option<String> {
        let mut node = self.debug.metadata.node(id)?;
        if let Some(other) = self.other_names.get(&id) {
            node = self.debug.metadata.node(*other)?;
        }
        Some(self.debug.within_scopes(node.text("name")?, node, out_of_functions))
    }

    fn may_be_called(&self, id: StructId, node: NodeId) -> bool {
        match source_key(&self.module.structs[id as usize].name) {
            Some(Key { name, .. }) if name.rsplit("::").next() != Some("anon") => {
                self.source_name(node, false).is_some_and(|own| without_arguments(&own) == name)
            }
            _ => true,
        }
    }
}

/// What the source may call a struct of the IR.
struct Key {
    name: String,
    is_part: bool,
}

/// `class.std::vector.5` is `std::vector` in the source, and `struct.shape.base` the part of `shape` that others inherit.
fn source_key(name: &str) -> Option<Key> {
    let (kind, mut name) = name.split_once('.')?;
    if !matches!(kind, "struct" | "class" | "union") {
        return None;
    }
    let mut is_part = false;
    while let Some((front, last)) = name.rsplit_once('.') {
        if last != "base" && !last.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        is_part |= last == "base";
        name = front;
    }
    Some(Key { name: without_arguments(name), is_part })
}

fn without_arguments(name: &str) -> String {
    let mut depth = 0_u32;
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => text.push(c),
            _ => {}
        }
    }
    text
}
