//! What the search does not order and therefore names, with its place and the way past it.

use schedules::builder::ArchiveBuilder;

use super::emit;
use crate::model::{InstrKind, Module};
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
        builder.gap(&reason, Some(site));
    }
}
