//! Loops that are summarized again from the same beginning end alike.
//!
//! A silent loop that asks nobody outside the program is a function of the registers it uses and the memory it reads. Two threads that
//! run such a loop over the same values (the number of digits of a global, say) leave it with the same registers; a summary that
//! invented new symbols each time would let them disagree, and decisions that follow would fork for nothing, or for something impossible.
//!
//! **Sound** because the key holds everything the loop may read: two runs with equal keys compute equal registers.
//! What a loop leaves in memory is not shared: bytes it may write but does not keep what they held before, and that may differ.
//! Values that race with the loop are excluded as everywhere (no data races).
//!
//! Deliberately absent: loops that read memory from outside the program, or call functions whose code is not there.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::contents::Background;
use super::engine::Engine;
use super::expr::Expr;
use super::memory::ObjId;
use super::state::{State, Val};
use crate::analysis::cfg::LoopId;
use crate::analysis::{AbstractObject, Extent};
use crate::model::{Callee, FuncId, InstrId, InstrKind, Value};

/// Objects with more cells than this are not compared.
const MANY_CELLS: usize = 256;

/// Everything that decides what a loop computes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Beginning {
    func: FuncId,
    id: LoopId,
    /// Values from outside the loop, in the order of [`Uses`].
    registers: Vec<Vec<Expr>>,
    memory: Vec<Bytes>,
}

/// What an object held, as far as the loop may read it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Bytes {
    object: ObjId,
    base: Background,
    patches: Vec<(u64, u64, Background)>,
    cells: Vec<(u64, u64, Expr)>,
}

/// Values that a loop takes from outside.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    instrs: BTreeSet<InstrId>,
    args: BTreeSet<u32>,
}

/// What a summarized loop left in the registers, by exit last: the choice among several.
#[derive(Default)]
pub(super) struct Repeats {
    uses: BTreeMap<(FuncId, LoopId), Option<Rc<Uses>>>,
    numbers: std::collections::HashMap<Beginning, u32>,
    registers: BTreeMap<(u32, InstrId), Val>,
    exits: BTreeMap<(u32, usize), Expr>,
}

impl Engine<'_> {
    /// A number for everything the loop's outcome depends on; `None` if that cannot be said.
    pub(super) fn beginning(
        &mut self,
        state: &mut State,
        slot: usize,
        func: FuncId,
        id: LoopId,
    ) -> Option<u32> {
        let uses = self.uses_of(func, id)?;
        let frame = state.frame(slot);
        let mut registers = Vec::new();
        for instr in &uses.instrs {
            let mut parts = Vec::new();
            flatten(frame.regs[instr.0 as usize].as_ref()?, &mut parts)?;
            registers.push(parts);
        }
        for arg in &uses.args {
            let mut parts = Vec::new();
            flatten(frame.args.get(*arg as usize)?, &mut parts)?;
            registers.push(parts);
        }
        let memory = self.bytes_read(state, func, id)?;
        let beginning = Beginning {
            func,
            id,
            registers,
            memory,
        };
        let next = self.repeats.numbers.len() as u32;
        Some(*self.repeats.numbers.entry(beginning).or_insert(next))
    }

    /// The register that the loop left when it began like this before.
    pub(super) fn left_before(
        &mut self,
        beginning: Option<u32>,
        register: InstrId,
        invent: impl FnOnce(&mut Self) -> Val,
    ) -> Val {
        let Some(number) = beginning else {
            return invent(self);
        };
        if let Some(known) = self.repeats.registers.get(&(number, register)) {
            return known.clone();
        }
        let value = invent(self);
        self.repeats
            .registers
            .insert((number, register), value.clone());
        value
    }

    /// Whether the loop took an exit when it began like this before.
    pub(super) fn exit_before(
        &mut self,
        beginning: Option<u32>,
        exit: usize,
        invent: impl FnOnce(&mut Self) -> Expr,
    ) -> Expr {
        let Some(number) = beginning else {
            return invent(self);
        };
        if let Some(known) = self.repeats.exits.get(&(number, exit)) {
            return *known;
        }
        let value = invent(self);
        self.repeats.exits.insert((number, exit), value);
        value
    }

    fn bytes_read(&mut self, state: &State, func: FuncId, id: LoopId) -> Option<Vec<Bytes>> {
        let refs = &self.facts.loop_effects(func, id).refs;
        if refs.everything || refs.objects.contains_key(&AbstractObject::External) {
            return None;
        }
        let mut memory = Vec::new();
        for (&object, content) in state.memory.iter() {
            let info = self.objects.info(object);
            if info.constant {
                continue;
            }
            let Some(extent) = refs.objects.get(&info.kind) else {
                continue;
            };
            let read = |from: u64, to: u64| match extent {
                Extent::All => true,
                Extent::Ranges(ranges) => {
                    ranges.iter().any(|(start, end)| *start < to && from < *end)
                }
            };
            let cells: Vec<_> = content
                .cells()
                .filter(|(at, size, value)| {
                    read(*at, at + size) && !self.is_background(content, object, *at, *size, *value)
                })
                .collect();
            if cells.len() > MANY_CELLS {
                return None;
            }
            let patches = content.patches();
            memory.push(Bytes {
                object,
                base: content.base_background(),
                patches: patches
                    .iter()
                    .copied()
                    .filter(|(from, to, _)| read(*from, *to))
                    .collect(),
                cells,
            });
        }
        Some(memory)
    }

    fn uses_of(&mut self, func: FuncId, id: LoopId) -> Option<Rc<Uses>> {
        if let Some(known) = self.repeats.uses.get(&(func, id)) {
            return known.clone();
        }
        let uses = self.find_uses(func, id).map(Rc::new);
        self.repeats.uses.insert((func, id), uses.clone());
        uses
    }

    /// What the loop takes from outside; `None` if it asks somebody outside the program.
    fn find_uses(&self, func: FuncId, id: LoopId) -> Option<Uses> {
        let function = &self.module.functions[func];
        let the_loop = &self.facts.cfg(func).loops[id];
        let mut uses = Uses::default();
        for block in &the_loop.blocks {
            for (register, instr) in function.block_instrs(*block) {
                if !self.only_computes(func, register, &instr.kind, &mut BTreeSet::new()) {
                    return None;
                }
                if matches!(instr.kind, InstrKind::Phi(_)) && *block == the_loop.header {
                    // Computed when the loop was entered.
                    uses.instrs.insert(register);
                }
                instr.kind.for_each_operand(|operand| match operand {
                    Value::Instr(id) if !the_loop.contains(function.instrs[*id].block) => {
                        uses.instrs.insert(*id);
                    }
                    Value::Arg(index) => {
                        uses.args.insert(*index);
                    }
                    _ => {}
                });
            }
        }
        Some(uses)
    }

    /// Is what an instruction does decided by its operands and the program's memory?
    fn only_computes(
        &self,
        func: FuncId,
        id: InstrId,
        kind: &InstrKind,
        seen: &mut BTreeSet<FuncId>,
    ) -> bool {
        match kind {
            InstrKind::Load {
                volatile, atomic, ..
            }
            | InstrKind::Store {
                volatile, atomic, ..
            } => !volatile && !atomic,
            InstrKind::Alloca { .. } | InstrKind::AtomicRmw { .. } | InstrKind::CmpXchg { .. } => {
                false
            }
            InstrKind::Call(call) | InstrKind::Invoke { call, .. } => {
                if matches!(call.callee, Callee::Asm { .. }) {
                    return false;
                }
                let callees = self.facts.callees(func, id);
                !callees.unknown
                    && callees
                        .known
                        .iter()
                        .all(|callee| self.function_computes(*callee, seen))
            }
            _ => true,
        }
    }

    fn function_computes(&self, callee: FuncId, seen: &mut BTreeSet<FuncId>) -> bool {
        let function = &self.module.functions[callee];
        if let Some(intrinsic) = function.name.strip_prefix("llvm.") {
            return !intrinsic.starts_with("readcyclecounter") && !intrinsic.starts_with("va_");
        }
        if function.is_declaration() {
            return false;
        }
        if !seen.insert(callee) {
            return true;
        }
        let computes = |(id, instr): (InstrId, &crate::model::Instr)| {
            matches!(instr.kind, InstrKind::Alloca { .. })
                || self.only_computes(callee, id, &instr.kind, seen)
        };
        function.instrs.iter().all(computes)
    }
}

fn flatten(value: &Val, into: &mut Vec<Expr>) -> Option<()> {
    match value {
        Val::Scalar(e) => into.push(*e),
        Val::Aggregate(parts) => {
            for part in parts.iter() {
                flatten(part, into)?;
            }
        }
        Val::Opaque => return None,
    }
    Some(())
}
