//! Site ids: which instructions get one, and what it is.
//!
//! The id is XXH3-64 of (function name, normalized text, ordinal among equal ones in the function). A function that only its own file
//! sees has that file's name with it: its symbol alone changes when another file gets a function of the same name. The normalized text has the
//! opcode, types, constants and named globals, and neither value names, numbers of unnamed globals, nor metadata: an edit
//! elsewhere in the file, or elsewhere in the function, does not change it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use inkwell::llvm_sys::LLVMLinkage;
use xxhash_rust::xxh3::xxh3_64;

use super::is_plain_call;
use crate::Bitcode;
use crate::cfg::Graph;
use crate::error::{Place, Result};
use crate::ir::{Block, Context, Function, Module, Opcode, Value};

/// Metadata kind of site ids.
pub(crate) const KIND: &str = "heddle.site";

/// One stamped instruction, for people and tests.
#[derive(Clone, Debug)]
pub struct SiteRow {
    pub stable: u64,
    /// Function of the prepared bitcode.
    pub function: String,
    /// Ordinal of the instruction in its function.
    pub ordinal: usize,
    /// The text that the id was made from.
    pub text: String,
    pub place: Place,
}

/// Stamps every place that has to have an id.
pub(super) fn stamp(module: &Module<'_>) {
    let kind = module.metadata_kind(KIND);
    let mut taken = BTreeSet::new();
    for function in module.functions().filter(|f| !f.is_declaration()) {
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        let name = stable_name(function);
        for instruction in sites_of(function) {
            let text = normalized(instruction);
            let ordinal = seen.entry(text.clone()).or_default();
            let id = unique_id(&name, &text, *ordinal, &mut taken);
            *ordinal += 1;
            instruction.set_metadata(kind, module.metadata_node(id));
        }
    }
}

fn stable_name(function: Function<'_>) -> String {
    let symbol = function.name();
    match (function.value().linkage(), function.place()) {
        (LLVMLinkage::LLVMInternalLinkage, Place::Line { file, .. }) => {
            let file = file.rsplit('/').next().unwrap_or(&file);
            format!("{file}:{}", without_number(&symbol))
        }
        _ => symbol,
    }
}

/// Lists the sites of prepared bitcode, in module order.
pub fn site_table(prepared: &Bitcode) -> Result<Vec<SiteRow>> {
    let context = Context::new();
    let module = context.parse(prepared)?;
    super::require_prepared(&module)?;
    let kind = module.metadata_kind(KIND);
    let mut rows = Vec::new();
    for function in module.functions() {
        for (ordinal, instruction) in function.instructions().into_iter().enumerate() {
            if let Some(stable) = instruction.metadata_int(kind) {
                rows.push(SiteRow {
                    stable,
                    function: function.name(),
                    ordinal,
                    text: normalized(instruction),
                    place: instruction.place(),
                });
            }
        }
    }
    Ok(rows)
}

/// Zero means "no site", and two sites of a program never share an id: the hash is salted until it is free.
fn unique_id(function: &str, text: &str, ordinal: u32, taken: &mut BTreeSet<u64>) -> u64 {
    (0u32..)
        .map(|salt| xxh3_64(format!("{function}\0{text}\0{ordinal}\0{salt}").as_bytes()))
        .find(|&id| id != 0 && taken.insert(id))
        .expect("fewer than 2^32 collisions")
}

fn sites_of(function: Function<'_>) -> Vec<Value<'_>> {
    let blocks = function.blocks();
    let headers = graph(&blocks).loop_headers();
    let mut sites = Vec::new();
    for (index, block) in blocks.into_iter().enumerate() {
        let first_counts = index == 0 || headers[index];
        for (position, instruction) in block.instructions().into_iter().enumerate() {
            if (position == 0 && first_counts)
                || is_plain_call(instruction)
                || branches(instruction)
            {
                sites.push(instruction);
            }
        }
    }
    sites
}

/// The control-flow graph of a function, on ordinals of its blocks.
pub(crate) fn graph(blocks: &[Block<'_>]) -> Graph {
    let ordinals: HashMap<Block<'_>, usize> = blocks.iter().copied().zip(0..).collect();
    let successors = |block: &Block<'_>| {
        let targets = block.terminator().successors();
        targets.iter().map(|target| ordinals[target]).collect()
    };
    Graph::new(blocks.iter().map(successors).collect())
}

fn branches(instruction: Value<'_>) -> bool {
    match instruction.opcode() {
        Opcode::LLVMBr
        | Opcode::LLVMSwitch
        | Opcode::LLVMIndirectBr
        | Opcode::LLVMInvoke
        | Opcode::LLVMCallBr
        | Opcode::LLVMCatchSwitch => instruction.successors().len() > 1,
        _ => false,
    }
}

fn normalized(instruction: Value<'_>) -> String {
    let mut text = format!("{:?} {}", instruction.opcode(), type_text(instruction));
    for index in 0..instruction.operand_count() {
        text.push(' ');
        if let Some(operand) = instruction.operand(index) {
            describe(operand, &mut text);
        }
    }
    text
}

fn describe(value: Value<'_>, text: &mut String) {
    if value.is_block() {
        text.push_str("label");
    } else if value.is_global() {
        match value.linkage() {
            LLVMLinkage::LLVMPrivateLinkage => text.push_str("@private"),
            LLVMLinkage::LLVMInternalLinkage => {
                write!(text, "@{}", without_number(&value.name())).expect("writing to a string");
            }
            _ => write!(text, "@{}", value.name()).expect("writing to a string"),
        }
    } else if value.is_constant_expression() {
        write!(text, "({:?}", value.opcode()).expect("writing to a string");
        for index in 0..value.operand_count() {
            text.push(' ');
            if let Some(operand) = value.operand(index) {
                describe(operand, text);
            }
        }
        text.push(')');
    } else if value.is_inline_asm() || (value.is_constant() && value.operand_count() == 0) {
        text.push_str(&value.text());
    } else {
        text.push_str(&type_text(value));
    }
}

/// The type, without the number that linking adds to the names of equal struct types.
fn type_text(value: Value<'_>) -> String {
    let text = value.ty().text();
    if text.starts_with('%') {
        return without_number(&text).to_owned();
    }
    text
}

/// A name without the number that linking adds where two are equal.
fn without_number(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((front, number)) if number.bytes().all(|b| b.is_ascii_digit()) => front,
        _ => name,
    }
}
