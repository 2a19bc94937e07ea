//! What the search does not order and therefore names, with its place and the way past it.

use schedules::builder::ArchiveBuilder;

use std::collections::BTreeSet;

use super::emit;
use crate::analysis::cfg::Loop;
use crate::analysis::{Facts, ModSet, SyncEffect, names};
use crate::model::{FuncId, Function, InstrId, InstrKind, Module, Value};
use crate::threads::trail::SiteRef;

/// More atomic operations than this are not named one by one.
const MANY_ATOMICS: usize = 20;

/// Atomic operations may order threads, and nothing orders them: what threads read after them is not covered.
pub(super) fn name_atomics(builder: &mut ArchiveBuilder, module: &Module) {
    let mut found = Vec::new();
    for (func, function) in module.functions.iter() {
        for (id, instr) in function.instrs.iter() {
            let waits_for_others = matches!(
                instr.kind,
                InstrKind::AtomicRmw { .. }
                    | InstrKind::CmpXchg { .. }
                    | InstrKind::Load { atomic: true, .. }
            );
            if waits_for_others {
                found.push((func, id));
            }
        }
    }
    for (func, id) in found.into_iter().take(MANY_ATOMICS) {
        let reason = format!(
            "the atomic operation at {} may order threads, and Heddle does not order it",
            module.place(&module.functions[func].instrs[id].position)
        );
        let site = emit::stamped(builder, module, SiteRef::Instr(func, id));
        builder.limit(&reason, Some(site));
    }
}

/// Loops that wait for a plain variable to be written by somebody else: order by other means than the primitives, which nothing here
/// sees or keeps.
pub(super) fn name_spins(builder: &mut ArchiveBuilder, module: &Module, facts: &Facts) {
    let written = written_by_threads(module, facts);
    for (func, function) in module.functions.iter() {
        if function.is_declaration() {
            continue;
        }
        let loops = &facts.cfg(func).loops;
        for id in loops.ids() {
            let effects = facts.loop_effects(func, id);
            if effects.sync != SyncEffect::None {
                continue;
            }
            let Some(loads) = waited_for(function, &loops[id]) else {
                continue;
            };
            let escaped = |object: &crate::analysis::AbstractObject| facts.escaped(object);
            let read = |load: &InstrId| facts.instr_effects(module, func, *load).refs;
            let others = loads
                .iter()
                .find(|load| read(load).overlaps(&written, escaped));
            let own = loads
                .iter()
                .any(|load| read(load).overlaps(&effects.mods, escaped));
            if let (Some(load), false) = (others, own) {
                name_spin(builder, module, facts, func, *load);
            }
        }
    }
}

fn name_spin(
    builder: &mut ArchiveBuilder,
    module: &Module,
    facts: &Facts,
    func: FuncId,
    load: InstrId,
) {
    let instr = &module.functions[func].instrs[load];
    let variable = match &instr.kind {
        InstrKind::Load { ptr, .. } => names::pointee(module, facts, func, ptr),
        _ => "a variable".to_owned(),
    };
    let reason = format!(
        "the loop at {} waits until another thread writes `{variable}`, a plain variable: nothing orders that. Wait with a \
         condition variable, a semaphore or a barrier, or test it under a mutex",
        module.place(&instr.position)
    );
    let site = emit::stamped(builder, module, SiteRef::Instr(func, load));
    builder.limit(&reason, Some(site));
}

/// What `main` and the functions that threads begin with may write.
fn written_by_threads(module: &Module, facts: &Facts) -> ModSet {
    let mut written = ModSet::default();
    let entries = facts.thread_entries();
    if entries.is_empty() {
        return written;
    }
    for entry in entries.into_keys().chain(module.function_named("main")) {
        written.add_all(&facts.effects(entry).mods);
    }
    written
}

/// The loads on which alone it depends whether the loop goes on; `None` if something changes from round to round, or if all are
/// atomic, which are named anyway.
fn waited_for(function: &Function, body: &Loop) -> Option<Vec<InstrId>> {
    let mut seen = BTreeSet::new();
    let mut work = Vec::new();
    for (from, _) in &body.exits {
        let (last, _) = function.block_instrs(*from).last()?;
        work.push(last);
    }
    let mut loads = Vec::new();
    let mut plain = false;
    while let Some(id) = work.pop() {
        let instr = &function.instrs[id];
        if !body.contains(instr.block) || !seen.insert(id) {
            continue;
        }
        match &instr.kind {
            InstrKind::Phi(_) if instr.block == body.header => return None,
            InstrKind::Call(_) | InstrKind::Invoke { .. } => return None,
            InstrKind::AtomicRmw { .. } | InstrKind::CmpXchg { .. } => return None,
            InstrKind::Load { atomic, .. } => {
                plain |= !atomic;
                loads.push(id);
            }
            _ => {}
        }
        instr.kind.for_each_operand(|value| {
            if let Value::Instr(operand) = value {
                work.push(*operand);
            }
        });
    }
    loads.sort_unstable();
    plain.then_some(loads)
}
