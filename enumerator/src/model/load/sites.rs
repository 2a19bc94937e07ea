//! Stable site ids for modules that were not prepared.
//!
//! Prepared bitcode carries its ids; then nothing happens here except that function entries take theirs from their first
//! instruction. Other bitcode gets ids by the recipe of `ARCHITECTURE.md`, computed from the model: equal input, equal ids.
//! They are meant for tests and for looking at a program; an archive for a built program needs prepared bitcode.

use std::collections::{BTreeMap, BTreeSet};

use schedules::ids::Id;
use xxhash_rust::xxh3::xxh3_64;

use crate::model::dump::normalized;
use crate::model::{Block, BlockId, Callee, FuncId, Function, Instr, InstrId, InstrKind, Module};

/// Fills ids in where the module has none at all, and the entry site of every function.
pub(super) fn complete(module: &mut Module) {
    let prepared = module
        .functions
        .iter()
        .any(|(_, function)| function.instrs.rows().iter().any(|instr| instr.site != 0));
    for func in module.functions.ids() {
        if module.functions[func].is_declaration() {
            continue;
        }
        if !prepared {
            for (instr, id) in computed(module, func) {
                module.functions[func].instrs[instr].site = id;
            }
        }
        let function = &mut module.functions[func];
        function.entry_site = function.instrs[InstrId(0)].site;
        place_sites(function);
    }
}

/// A site without a place (a loop's header often begins with what the compiler made up) stands where its block goes on.
fn place_sites(function: &mut Function) {
    for block in function.blocks.ids() {
        let Block { first, len, .. } = function.blocks[block];
        let mut next = None;
        for id in (first.0..first.0 + len).rev().map(InstrId) {
            let instr = &mut function.instrs[id];
            if instr.position.line != 0 {
                next = Some(instr.position.clone());
            } else if let (true, Some(position)) = (instr.site != 0, &next) {
                instr.position = position.clone();
            }
        }
    }
}

fn computed(module: &Module, func: FuncId) -> Vec<(InstrId, u64)> {
    let function = &module.functions[func];
    let heads = loop_heads(module, func);
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut found = Vec::new();
    for (id, instr) in function.instrs.iter() {
        let first = function.blocks[instr.block].first == id;
        let is_head = first && (id.index() == 0 || heads.contains(&instr.block));
        if !is_head && !is_site(module, instr) {
            continue;
        }
        let text = normalized(module, instr);
        let ordinal = seen.entry(text.clone()).or_default();
        let key = format!("{}\0{text}\0{ordinal}", function.name);
        *ordinal += 1;
        found.push((id, xxh3_64(key.as_bytes())));
    }
    found
}

/// Calls other than intrinsics, and terminators with a choice.
fn is_site(module: &Module, instr: &Instr) -> bool {
    match &instr.kind {
        InstrKind::Call(call) | InstrKind::Invoke { call, .. } => match call.callee {
            Callee::Direct(func) => !module.functions[func].name.starts_with("llvm."),
            _ => true,
        },
        kind => kind.successors().len() > 1,
    }
}

/// Targets of the back edges that a depth-first walk from the entry meets.
fn loop_heads(module: &Module, func: FuncId) -> BTreeSet<BlockId> {
    let blocks = &module.functions[func].blocks;
    let mut heads = BTreeSet::new();
    let mut state = vec![0u8; blocks.len()];
    let mut stack = vec![(BlockId(0), 0usize)];
    state[0] = 1;
    while let Some((block, next)) = stack.pop() {
        let Some(&successor) = blocks[block].succs.get(next) else {
            state[block.index()] = 2;
            continue;
        };
        stack.push((block, next + 1));
        match state[successor.index()] {
            0 => {
                state[successor.index()] = 1;
                stack.push((successor, 0));
            }
            1 => {
                heads.insert(successor);
            }
            _ => {}
        }
    }
    heads
}
