//! Which registers of a function still matter at a place: those that some way from there reads before it is left.
//!
//! Situations that differ only in other registers are the same.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use crate::model::{BlockId, FuncId, Function, InstrId, InstrKind, Module, Value};

/// Answers by place, computed when asked for.
pub(super) struct Registers<'m> {
    module: &'m Module,
    /// By function: what matters at the end of each block.
    ends: HashMap<FuncId, BTreeMap<BlockId, BTreeSet<InstrId>>>,
    places: HashMap<(FuncId, InstrId), Rc<[InstrId]>>,
}

impl<'m> Registers<'m> {
    pub(super) fn of(module: &'m Module) -> Self {
        Self {
            module,
            ends: HashMap::new(),
            places: HashMap::new(),
        }
    }

    /// What matters just before an instruction, ascending.
    pub(super) fn before(&mut self, func: FuncId, at: InstrId) -> Rc<[InstrId]> {
        if let Some(known) = self.places.get(&(func, at)) {
            return known.clone();
        }
        let function = &self.module.functions[func];
        let ends = self.ends.entry(func).or_insert_with(|| ends(function));
        let block = function.instrs[at].block;
        let mut live = ends[&block].clone();
        let behind = function.block_instrs(block).filter(|(id, _)| *id >= at);
        let behind: Vec<InstrId> = behind.map(|(id, _)| id).collect();
        for id in behind.into_iter().rev() {
            step(function, id, &mut live);
        }
        let live: Rc<[InstrId]> = live.into_iter().collect();
        self.places.insert((func, at), live.clone());
        live
    }
}

/// From behind an instruction to before it. A phi reads where control comes from, not here.
fn step(function: &Function, id: InstrId, live: &mut BTreeSet<InstrId>) {
    let kind = &function.instrs[id].kind;
    live.remove(&id);
    if !matches!(kind, InstrKind::Phi(_)) {
        kind.for_each_operand(|operand| {
            if let Value::Instr(used) = operand {
                live.insert(*used);
            }
        });
    }
}

fn ends(function: &Function) -> BTreeMap<BlockId, BTreeSet<InstrId>> {
    let blocks: Vec<BlockId> = function.blocks.ids().collect();
    let mut ends: BTreeMap<BlockId, BTreeSet<InstrId>> = blocks
        .iter()
        .map(|block| (*block, BTreeSet::new()))
        .collect();
    loop {
        let mut changed = false;
        for &block in blocks.iter().rev() {
            let mut live = BTreeSet::new();
            for &next in &function.blocks[block].succs {
                live.extend(entry(function, block, next, &ends[&next]));
            }
            changed |= ends[&block] != live;
            ends.insert(block, live);
        }
        if !changed {
            return ends;
        }
    }
}

/// What matters on the way from one block into the next.
fn entry(
    function: &Function,
    from: BlockId,
    block: BlockId,
    end: &BTreeSet<InstrId>,
) -> BTreeSet<InstrId> {
    let mut live = end.clone();
    let instrs: Vec<InstrId> = function.block_instrs(block).map(|(id, _)| id).collect();
    for id in instrs.iter().rev() {
        step(function, *id, &mut live);
    }
    for id in instrs {
        let InstrKind::Phi(incoming) = &function.instrs[id].kind else {
            break;
        };
        for (_, value) in incoming.iter().filter(|(block, _)| *block == from) {
            if let Value::Instr(used) = value {
                live.insert(*used);
            }
        }
    }
    live
}
