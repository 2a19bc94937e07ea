//! Debug information: positions with inlining chains, variable names, source-level types.
//!
//! Everything here is for people; a module without debug information loads just as well. Nodes are read through their operand
//! lists, whose order LLVM's `DebugInfoMetadata.h` fixes (named in the constants below).

use std::collections::HashMap;
use std::sync::Arc;

use inkwell::llvm_sys::debuginfo::LLVMMetadataKind;
use schedules::ids::Table;

use super::llvm::{Meta, Source, Val};
use crate::model::layout::Field;
use crate::model::{Layout, LayoutId, Position};

/// Operand positions of debug nodes.
const SCOPE_OF_BLOCK: usize = 1;
const NAME_OF_SUBPROGRAM: usize = 2;
const NAME_OF_VARIABLE: usize = 1;
const TYPE_OF_VARIABLE: usize = 3;
const BASE_OF_TYPE: usize = 3;
const ELEMENTS_OF_TYPE: usize = 4;
const NAME_OF_TYPE: usize = 2;
const COUNT_OF_SUBRANGE: usize = 0;

/// DWARF tags.
const TAG_ARRAY: u16 = 0x01;
const TAG_POINTER: u16 = 0x0f;
const TAG_STRUCT: u16 = 0x13;
const TAG_TYPEDEF: u16 = 0x16;
const TAG_UNION: u16 = 0x17;
const TAG_CONST: u16 = 0x26;
const TAG_VOLATILE: u16 = 0x35;
const TAG_RESTRICT: u16 = 0x37;
const TAG_ATOMIC: u16 = 0x47;

/// Reads debug nodes, each once.
pub(super) struct DebugReader<'m> {
    source: Source<'m>,
    files: Vec<String>,
    file_ids: HashMap<Meta<'m>, u32>,
    file_names: HashMap<String, u32>,
    /// Name of the function that a scope belongs to.
    scopes: HashMap<Meta<'m>, Arc<str>>,
    positions: HashMap<Meta<'m>, Position>,
    plain_expressions: HashMap<Meta<'m>, bool>,
    layouts: Table<LayoutId, Layout>,
    layout_ids: HashMap<Meta<'m>, LayoutId>,
}

impl<'m> DebugReader<'m> {
    pub(super) fn new(source: Source<'m>) -> Self {
        Self {
            source,
            files: Vec::new(),
            file_ids: HashMap::new(),
            file_names: HashMap::new(),
            scopes: HashMap::new(),
            positions: HashMap::new(),
            plain_expressions: HashMap::new(),
            layouts: Table::new(),
            layout_ids: HashMap::new(),
        }
    }

    /// The files and types that were met.
    pub(super) fn finish(self) -> (Vec<String>, Table<LayoutId, Layout>) {
        (self.files, self.layouts)
    }

    fn file(&mut self, file: Option<Meta<'m>>) -> u32 {
        let Some(file) = file else {
            return u32::MAX;
        };
        if let Some(&id) = self.file_ids.get(&file) {
            return id;
        }
        let name = file.file_name();
        let next = u32::try_from(self.files.len()).expect("fewer than 2^32 files");
        let id = *self.file_names.entry(name.clone()).or_insert(next);
        if id == next {
            self.files.push(name);
        }
        self.file_ids.insert(file, id);
        id
    }

    /// `file:line` of a position, or the function where the line is unknown.
    pub(super) fn place(&self, position: &Position, function: &str) -> String {
        match self.files.get(position.file as usize) {
            Some(file) if position.line != 0 => format!("{file}:{}", position.line),
            _ => format!("in {function}"),
        }
    }

    /// Where an instruction was written.
    pub(super) fn position(&mut self, instruction: Val<'m>) -> Position {
        match instruction.debug_location() {
            Some(location) => self.location(location),
            None => unknown(),
        }
    }

    fn location(&mut self, location: Meta<'m>) -> Position {
        if let Some(position) = self.positions.get(&location) {
            return position.clone();
        }
        let mut position = self.single(location);
        let mut caller = location.inlined_at();
        while let Some(outer) = caller {
            position.inlined_at.push(self.single(outer));
            caller = outer.inlined_at();
        }
        self.positions.insert(location, position.clone());
        position
    }

    fn single(&mut self, location: Meta<'m>) -> Position {
        let scope = location.scope();
        Position {
            file: self.file(scope.and_then(Meta::file)),
            function: self.function_of(scope),
            line: location.line(),
            column: location.column(),
            inlined_at: Vec::new(),
        }
    }

    /// Walks lexical blocks up to the subprogram and takes its name.
    fn function_of(&mut self, scope: Option<Meta<'m>>) -> Arc<str> {
        let Some(scope) = scope else {
            return Arc::from("");
        };
        if let Some(name) = self.scopes.get(&scope) {
            return name.clone();
        }
        let operands = self.source.operands_of(scope);
        let name = match scope.kind() {
            LLVMMetadataKind::LLVMDISubprogramMetadataKind => {
                Arc::from(text_operand(&operands, NAME_OF_SUBPROGRAM).unwrap_or_default())
            }
            LLVMMetadataKind::LLVMDILexicalBlockMetadataKind
            | LLVMMetadataKind::LLVMDILexicalBlockFileMetadataKind => {
                self.function_of(node_operand(&operands, SCOPE_OF_BLOCK))
            }
            _ => Arc::from(""),
        };
        self.scopes.insert(scope, name.clone());
        name
    }

    /// Where a function was written; `symbol` names it if debug information does not.
    pub(super) fn function_position(&mut self, function: Val<'m>, symbol: &str) -> Position {
        match function.subprogram() {
            Some(subprogram) => Position {
                file: self.file(subprogram.file()),
                function: self.function_of(Some(subprogram)),
                line: subprogram.subprogram_line(),
                column: 0,
                inlined_at: Vec::new(),
            },
            None => Position {
                function: Arc::from(symbol),
                ..unknown()
            },
        }
    }

    /// The value and source variable that a debug intrinsic ties together, if they are one thing: no offset, no dereference,
    /// no fragment.
    pub(super) fn variable_of(&mut self, intrinsic: Val<'m>) -> Option<(Val<'m>, String)> {
        if !intrinsic.is_debug_variable() {
            return None;
        }
        let arguments = intrinsic.call_arguments();
        let [location, variable, expression, ..] = arguments.as_slice() else {
            return None;
        };
        if !location.is_value_metadata() || !self.is_plain(expression.as_metadata()) {
            return None;
        }
        let value = location.node_operands().first().copied().flatten()?;
        let name = text_operand(&variable.node_operands(), NAME_OF_VARIABLE)?;
        Some((value, name))
    }

    fn is_plain(&mut self, expression: Meta<'m>) -> bool {
        let source = self.source;
        *self.plain_expressions.entry(expression).or_insert_with(|| {
            source
                .print_metadata(expression)
                .ends_with("!DIExpression()")
        })
    }

    /// Position and type of a global variable.
    pub(super) fn global_facts(
        &mut self,
        global: Val<'m>,
        debug_kind: u32,
    ) -> (Position, Option<LayoutId>) {
        let variable = global
            .global_metadata(debug_kind)
            .and_then(|expression| node_operand(&self.source.operands_of(expression), 0));
        let Some(variable) = variable else {
            return (unknown(), None);
        };
        let position = Position {
            file: self.file(variable.variable_file()),
            line: variable.variable_line(),
            ..unknown()
        };
        let ty = node_operand(&self.source.operands_of(variable), TYPE_OF_VARIABLE);
        (position, ty.map(|ty| self.layout(ty)))
    }

    /// The layout of a debug type. A type is entered before its parts, so that cycles through pointers end.
    fn layout(&mut self, ty: Meta<'m>) -> LayoutId {
        if let Some(&id) = self.layout_ids.get(&ty) {
            return id;
        }
        let tag = ty.tag();
        let operands = self.source.operands_of(ty);
        if is_wrapper(tag)
            && let Some(base) = node_operand(&operands, BASE_OF_TYPE)
        {
            let id = self.layout(base);
            self.layout_ids.insert(ty, id);
            return id;
        }
        let id = self.layouts.push(Layout::Scalar {
            name: ty.type_name(),
            size: ty.type_bits() / 8,
        });
        self.layout_ids.insert(ty, id);
        let layout = match tag {
            TAG_POINTER => Layout::Pointer {
                target: node_operand(&operands, BASE_OF_TYPE).map(|target| self.layout(target)),
            },
            TAG_STRUCT | TAG_UNION => self.record(ty, &operands, tag == TAG_UNION),
            TAG_ARRAY => self.array(ty, &operands),
            _ => return id,
        };
        self.layouts[id] = layout;
        id
    }

    fn record(&mut self, ty: Meta<'m>, operands: &[Option<Val<'m>>], union: bool) -> Layout {
        let members = node_operand(operands, ELEMENTS_OF_TYPE)
            .map(|elements| self.source.operands_of(elements))
            .unwrap_or_default();
        let mut fields = Vec::new();
        for member in members.into_iter().flatten() {
            let member = member.as_metadata();
            let parts = self.source.operands_of(member);
            let Some(base) = node_operand(&parts, BASE_OF_TYPE) else {
                continue;
            };
            fields.push(Field {
                offset: member.type_offset_bits() / 8,
                name: text_operand(&parts, NAME_OF_TYPE).unwrap_or_default(),
                layout: self.layout(base),
            });
        }
        Layout::Record {
            name: ty.type_name(),
            size: ty.type_bits() / 8,
            union,
            fields,
        }
    }

    /// Arrays of several dimensions become arrays of arrays.
    fn array(&mut self, ty: Meta<'m>, operands: &[Option<Val<'m>>]) -> Layout {
        let scalar = Layout::Scalar {
            name: String::new(),
            size: ty.type_bits() / 8,
        };
        let Some(base) = node_operand(operands, BASE_OF_TYPE) else {
            return scalar;
        };
        let mut element = self.layout(base);
        let mut stride = size_of(&self.layouts, element);
        let counts: Vec<u64> = node_operand(operands, ELEMENTS_OF_TYPE)
            .map(|elements| self.source.operands_of(elements))
            .unwrap_or_default()
            .into_iter()
            .flatten()
            .map(|subrange| self.count(subrange))
            .collect();
        let Some((&outer, inner)) = counts.split_first() else {
            return scalar;
        };
        for &count in inner.iter().rev() {
            element = self.layouts.push(Layout::Array {
                element,
                stride,
                count,
            });
            stride *= count;
        }
        Layout::Array {
            element,
            stride,
            count: outer,
        }
    }

    fn count(&self, subrange: Val<'m>) -> u64 {
        match subrange.node_operands().get(COUNT_OF_SUBRANGE) {
            Some(Some(count)) if count.is_int() => count.int_value(),
            _ => 0,
        }
    }
}

fn is_wrapper(tag: u16) -> bool {
    matches!(
        tag,
        TAG_TYPEDEF | TAG_CONST | TAG_VOLATILE | TAG_RESTRICT | TAG_ATOMIC
    )
}

fn size_of(layouts: &Table<LayoutId, Layout>, id: LayoutId) -> u64 {
    match &layouts[id] {
        Layout::Scalar { size, .. } | Layout::Record { size, .. } => *size,
        Layout::Pointer { .. } => 8,
        Layout::Array { stride, count, .. } => stride * count,
    }
}

fn unknown() -> Position {
    Position {
        file: u32::MAX,
        ..Position::default()
    }
}

fn text_operand(operands: &[Option<Val<'_>>], index: usize) -> Option<String> {
    operands
        .get(index)
        .copied()
        .flatten()
        .and_then(Val::metadata_string)
        .filter(|text| !text.is_empty())
}

fn node_operand<'m>(operands: &[Option<Val<'m>>], index: usize) -> Option<Meta<'m>> {
    operands
        .get(index)
        .copied()
        .flatten()
        .filter(|operand| operand.is_metadata_node() && !operand.is_value_metadata())
        .map(Val::as_metadata)
}
