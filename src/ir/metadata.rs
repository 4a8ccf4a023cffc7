//! What the compiler says of the source: numbered nodes that name each other. They are looked into only when asked for.

use super::lexer::unquoted;
use rustc_hash::FxHashMap;

pub(super) type NodeId = u32;

#[derive(Default)]
pub(super) struct Metadata<'a> {
    nodes: FxHashMap<NodeId, &'a str>,
    /// Descriptions of structs, unions and classes, and of names for types, in the order of the file.
    pub composites: Vec<NodeId>,
    pub typedefs: Vec<NodeId>,
}

/// `!DISubprogram(name: "main", ...)`
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    pub kind: &'a str,
    fields: &'a str,
}

impl<'a> Metadata<'a> {
    /// Keeps `!id = text`.
    pub fn add(&mut self, id: NodeId, text: &'a str) {
        let text = text.strip_prefix("distinct ").unwrap_or(text);
        if text.starts_with("!DICompositeType(") {
            self.composites.push(id);
        } else if text.starts_with("!DIDerivedType(tag: DW_TAG_typedef") {
            self.typedefs.push(id);
        }
        self.nodes.insert(id, text);
    }

    pub fn has(&self, id: NodeId) -> bool {
        self.nodes.contains_key(&id)
    }

    pub fn node(&self, id: NodeId) -> Option<Node<'a>> {
        let (kind, rest) = self.nodes.get(&id)?.strip_prefix('!')?.split_once('(')?;
        Some(Node { kind, fields: rest.strip_suffix(')')? })
    }

    /// The members of `!{!1, !2}` that are nodes.
    pub fn list(&self, id: NodeId) -> impl Iterator<Item = NodeId> + use<'a> {
        let members = self.nodes.get(&id).and_then(|text| text.strip_prefix("!{")?.strip_suffix('}'));
        members.unwrap_or("").split(',').filter_map(|member| reference(member.trim()))
    }
}

impl<'a> Node<'a> {
    /// The value of a field as it is written.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        let bytes = self.fields.as_bytes();
        let (mut depth, mut in_text) = (0_u32, false);
        let mut start = 0;
        for at in 0..=bytes.len() {
            match bytes.get(at) {
                Some(b'"') => in_text = !in_text,
                _ if in_text && at < bytes.len() => {}
                Some(b'(') => depth += 1,
                Some(b')') => depth = depth.saturating_sub(1),
                Some(b',') | None if depth == 0 || at == bytes.len() => {
                    let field = self.fields[start..at].trim_start();
                    if let Some(value) = field.strip_prefix(key).and_then(|rest| rest.strip_prefix(": ")) {
                        return Some(value);
                    }
                    start = at + 1;
                }
                _ => {}
            }
        }
        None
    }

    pub fn text(&self, key: &str) -> Option<String> {
        let text = self.get(key)?.strip_prefix('"')?.strip_suffix('"')?;
        (!text.is_empty()).then(|| unquoted(text).into_owned())
    }

    pub fn reference(&self, key: &str) -> Option<NodeId> {
        reference(self.get(key)?)
    }

    pub fn number(&self, key: &str) -> Option<u64> {
        self.get(key)?.parse().ok()
    }

    pub fn has_flag(&self, flag: &str) -> bool {
        self.get("flags").is_some_and(|flags| flags.split(" | ").any(|own| own == flag))
    }
}

/// `!12`
fn reference(text: &str) -> Option<NodeId> {
    text.strip_prefix('!')?.parse().ok()
}
