//! `heddle_decide` on the ways out of loops whose exits are told apart.
//!
//! Before the ends of elastic regions are placed: a way out of a loop may be a way out of such a region, and leaving the loop comes first.

use schedules::Archive;

use super::sites::Sites;
use super::{Hooks, edges};
use crate::error::{Error, Result};
use crate::ir::Opcode;

pub(super) fn insert<'m>(hooks: &Hooks<'m>, sites: &Sites<'m>, archive: &Archive) -> Result<()> {
    for exits in &archive.plan.exits {
        let header = sites.of(exits.site)?.instruction;
        for (outcome, way) in exits.ways.iter().enumerate() {
            let (from, _) = sites.block(header, way.from_block)?;
            let (to, _) = sites.block(header, way.to_block)?;
            let branch = from.terminator();
            let leads_there = branch.successors().contains(&to);
            if !leads_there || branch.opcode() == Opcode::LLVMInvoke {
                return Err(Error::OtherProgram {
                    reason: format!("{} of its plan has no such exit", exits.site),
                });
            }
            let before = edges::lead_through(hooks, to, &[from], branch);
            let outcome = hooks.site(outcome as u32);
            hooks.insert(
                before,
                "heddle_decide",
                &[hooks.site(exits.site.0), outcome],
            );
        }
    }
    Ok(())
}
