//! `heddle_decide` before calls: which of a few addresses an argument is.
//!
//! An address that the thread itself gave to an earlier call is kept in a thread-local variable: the store stands right before that call, behind what is
//! asked there, so that a call that asks about itself sees the one before.

use std::collections::BTreeMap;

use inkwell::llvm_sys::LLVMLinkage;
use schedules::archive::Candidate;
use schedules::{Archive, SiteId};

use super::Hooks;
use super::sites::Sites;
use crate::error::{Error, Result};
use crate::ir::Value;

pub(super) fn insert<'m>(hooks: &Hooks<'m>, sites: &Sites<'m>, archive: &Archive) -> Result<()> {
    let questions = &archive.plan.questions;
    let mut kept = BTreeMap::new();
    for candidate in questions.iter().flat_map(|question| &question.candidates) {
        if let Candidate::Last { site } = candidate {
            kept.entry(*site).or_insert_with(|| variable(hooks));
        }
    }
    for question in questions {
        let call = sites.of(question.site)?.instruction;
        hooks.builder.before(call);
        let argument = argument(call, question.argument, question.site)?;
        let mut answer = hooks.site(0);
        for (index, candidate) in question.candidates.iter().enumerate().rev() {
            let address = address(hooks, archive, &kept, candidate)?;
            let hit = hooks.builder.equal(argument, address);
            answer = hooks
                .builder
                .select(hit, hooks.site(index as u32 + 1), answer);
        }
        hooks.insert(
            call,
            "heddle_decide",
            &[hooks.site(question.site.0), answer],
        );
    }
    for (site, variable) in kept {
        let call = sites.of(site)?.instruction;
        hooks.builder.before(call);
        let place = hooks.builder.thread_local_address(hooks.module, variable);
        hooks.builder.store(argument(call, 0, site)?, place);
    }
    Ok(())
}

fn variable<'m>(hooks: &Hooks<'m>) -> Value<'m> {
    let ty = hooks.module.ptr_type();
    let variable = hooks
        .module
        .define_global("heddle.last", ty, Value::null(ty));
    variable.set_thread_local();
    variable.set_linkage(LLVMLinkage::LLVMInternalLinkage);
    variable
}

fn argument<'m>(call: Value<'m>, position: u8, site: SiteId) -> Result<Value<'m>> {
    let arguments = match call.is_call() {
        true => call.arguments(),
        false => Vec::new(),
    };
    let argument = arguments.get(usize::from(position)).copied();
    argument.ok_or_else(|| Error::OtherProgram {
        reason: format!("{site} of its plan is no call with that argument"),
    })
}

fn address<'m>(
    hooks: &Hooks<'m>,
    archive: &Archive,
    kept: &BTreeMap<SiteId, Value<'m>>,
    candidate: &Candidate,
) -> Result<Value<'m>> {
    match candidate {
        Candidate::Last { site } => {
            let place = hooks.builder.thread_local_address(hooks.module, kept[site]);
            Ok(hooks.builder.load(hooks.module.ptr_type(), place))
        }
        Candidate::Global { root, offset } => {
            let symbol = &archive.roots[root.0 as usize].symbol;
            let global = hooks
                .module
                .global(symbol)
                .ok_or_else(|| Error::OtherProgram {
                    reason: format!("there is no global `{symbol}` in the bitcode"),
                })?;
            let offset = hooks.module.int(64, *offset);
            Ok(hooks
                .builder
                .element(hooks.module.int_type(8), global, offset))
        }
    }
}
