//! The source's names and lines, from metadata.

use super::error::Problem;
use super::metadata::{Metadata, Node, NodeId};
use super::model::{FunctionId, GlobalId, Location, Module};
use rustc_hash::FxHashMap;
use std::path::Path;
use std::sync::Arc;

#[derive(Default)]
pub(super) struct Debug<'a> {
    pub metadata: Metadata<'a>,
    /// What has a description, and the line that says so.
    pub waiting_globals: Vec<(GlobalId, NodeId, u32)>,
    pub waiting_functions: Vec<(FunctionId, NodeId, u32)>,
    /// Types in the IR and in the source of one and the same variable.
    pub declared: Vec<(super::model::Type, NodeId)>,
    files: FxHashMap<NodeId, Arc<str>>,
    scopes: FxHashMap<NodeId, Option<Arc<str>>>,
    locations: FxHashMap<NodeId, Option<Location>>,
}

/// Scopes in scopes, and types of types: a longer chain goes in a circle.
const LONGEST_CHAIN: u32 = 100;

/// A local variable or parameter.
pub(super) struct Variable {
    pub name: String,
    pub is_parameter: bool,
    pub of_type: Option<NodeId>,
}

impl<'a> Debug<'a> {
    /// An error if metadata that is used is not there.
    pub fn check(&self, id: NodeId, line: u32) -> Result<(), Problem> {
        if self.metadata.has(id) {
            return Ok(());
        }
        Err(Problem { line, message: format!("expected metadata !{id} in the file; it is cut short") })
    }

    /// Names functions and global variables.
    pub fn name_outer(&mut self, module: &mut Module) -> Result<(), Problem> {
        for (id, node, line) in std::mem::take(&mut self.waiting_functions) {
            self.check(node, line)?;
            let Some(node) = self.metadata.node(node) else { continue };
            let function = &mut module.functions[id as usize];
            function.source_name = self.qualified(node);
            function.at = self.place(node);
        }
        for (id, node, line) in std::mem::take(&mut self.waiting_globals) {
            self.check(node, line)?;
            let Some(mut node) = self.metadata.node(node) else { continue };
            if node.kind == "DIGlobalVariableExpression" {
                let Some(variable) = node.reference("var").and_then(|id| self.metadata.node(id)) else { continue };
                node = variable;
            }
            let global = &mut module.globals[id as usize];
            // Literals have a description without a name.
            let declaration = node.reference("declaration").and_then(|id| self.metadata.node(id));
            global.source_name = self.qualified(declaration.unwrap_or(node));
            if global.source_name.is_some() {
                global.at = self.place(node);
                if let Some(of_type) = node.reference("type") {
                    self.declared.push((global.of_type.clone(), of_type));
                }
            }
        }
        Ok(())
    }

    /// With the names of the namespaces, classes and functions around it.
    pub fn qualified(&self, node: Node<'a>) -> Option<String> {
        Some(self.within_scopes(node.text("name")?, node, true))
    }

    /// A name with those of the scopes around a node.
    pub fn within_scopes(&self, mut name: String, node: Node<'a>, out_of_functions: bool) -> String {
        let mut scope = node.reference("scope");
        for _ in 0..LONGEST_CHAIN {
            let Some(node) = scope.and_then(|id| self.metadata.node(id)) else { break };
            let around = match node.kind {
                "DINamespace" => node.text("name").or_else(|| Some("(anonymous namespace)".to_owned())),
                "DICompositeType" => node.text("name"),
                "DISubprogram" if out_of_functions => node.text("name"),
                "DILexicalBlock" | "DILexicalBlockFile" if out_of_functions => None,
                _ => break,
            };
            if let Some(around) = around {
                name = format!("{around}::{name}");
            }
            scope = node.reference("scope");
        }
        name
    }

    /// Where something is declared.
    fn place(&mut self, node: Node<'a>) -> Option<Location> {
        let line = node.number("line").filter(|line| *line > 0)?;
        let file = self.file(node.reference("file")?)?;
        Some(Location { file, line: line as u32, column: 0 })
    }

    pub fn location(&mut self, id: NodeId) -> Option<Location> {
        if let Some(known) = self.locations.get(&id) {
            return known.clone();
        }
        let location = self.read_location(id);
        self.locations.insert(id, location.clone());
        location
    }

    fn read_location(&mut self, id: NodeId) -> Option<Location> {
        let node = self.metadata.node(id)?;
        let line = node.number("line").filter(|line| *line > 0)?;
        let file = self.scope_file(node.reference("scope")?)?;
        Some(Location { file, line: line as u32, column: node.number("column").unwrap_or(0) as u32 })
    }

    fn scope_file(&mut self, scope: NodeId) -> Option<Arc<str>> {
        if let Some(known) = self.scopes.get(&scope) {
            return known.clone();
        }
        let mut found = None;
        let mut at = scope;
        for _ in 0..LONGEST_CHAIN {
            let Some(node) = self.metadata.node(at) else { break };
            if let Some(file) = node.reference("file") {
                found = self.file(file);
                break;
            }
            let Some(outer) = node.reference("scope") else { break };
            at = outer;
        }
        self.scopes.insert(scope, found.clone());
        found
    }

    fn file(&mut self, id: NodeId) -> Option<Arc<str>> {
        if let Some(known) = self.files.get(&id) {
            return Some(known.clone());
        }
        let node = self.metadata.node(id)?;
        let name = node.text("filename")?;
        let path = match node.text("directory") {
            Some(directory) if directory != "." => Path::new(&directory).join(&name).to_string_lossy().into_owned(),
            _ => name,
        };
        let path: Arc<str> = path.into();
        self.files.insert(id, path.clone());
        Some(path)
    }

    pub fn variable(&self, id: NodeId) -> Option<Variable> {
        let node = self.metadata.node(id)?;
        Some(Variable {
            name: node.text("name")?,
            is_parameter: node.get("arg").is_some(),
            of_type: node.reference("type"),
        })
    }

    /// The type behind its other names and qualifiers.
    pub fn bare_type(&self, mut id: NodeId) -> Option<(NodeId, Node<'a>)> {
        for _ in 0..LONGEST_CHAIN {
            let node = self.metadata.node(id)?;
            let only_renames = node.kind == "DIDerivedType"
                && matches!(
                    node.get("tag"),
                    Some(
                        "DW_TAG_typedef"
                            | "DW_TAG_const_type"
                            | "DW_TAG_volatile_type"
                            | "DW_TAG_atomic_type"
                            | "DW_TAG_restrict_type"
                    )
                );
            if !only_renames {
                return Some((id, node));
            }
            id = node.reference("baseType")?;
        }
        None
    }
}
