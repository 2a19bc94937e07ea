//! `pthread_x(arguments)` becomes `heddle_pthread_x(arguments, site)`.

use std::collections::BTreeSet;

use schedules::primitives::{Policy, lookup};
use schedules::{Archive, SiteId};

use super::Hooks;
use super::sites::Sites;
use crate::error::{Error, Result};
use crate::ir::{Function, Opcode, Value};

/// Stands for a call that the archive does not know. The runtime reports it as a divergence; it is never left ungated.
const UNKNOWN_SITE: u32 = u32::MAX;

/// Replaces every call of an enforced primitive, but for those that the plan leaves native.
pub(super) fn replace<'m>(hooks: &Hooks<'m>, sites: &Sites<'m>, archive: &Archive) -> Result<()> {
    let native: BTreeSet<SiteId> = archive.plan.unordered.iter().copied().collect();
    for &(call, stable) in &sites.calls {
        let Some(primitive) = enforced(call) else {
            continue;
        };
        let site = sites.dense(stable);
        if site.is_some_and(|site| native.contains(&site)) {
            continue;
        }
        replace_call(
            hooks,
            call,
            primitive,
            site.map_or(UNKNOWN_SITE, |site| site.0),
        )?;
    }
    Ok(())
}

/// The enforced primitive that a call names.
fn enforced<'m>(call: Value<'m>) -> Option<Function<'m>> {
    let callee = call.called_function().filter(|f| f.is_declaration())?;
    let (_, row) = lookup(&callee.name())?;
    (row.policy == Policy::Enforced).then_some(callee)
}

fn replace_call<'m>(
    hooks: &Hooks<'m>,
    call: Value<'m>,
    primitive: Function<'m>,
    site: u32,
) -> Result<()> {
    let name = primitive.name();
    let (_, row) = lookup(&name).expect("enforced primitives have a row");
    let mut arguments = call.arguments();
    if arguments.len() != row.args.len() || call.has_operand_bundles() {
        return Err(Error::Unsupported {
            place: call.place(),
            what: format!("a call of `{name}` that does not fit its declaration"),
        });
    }
    arguments.push(hooks.site(site));
    let parameters: Vec<_> = arguments.iter().map(|a| a.ty()).collect();
    let ty = hooks
        .module
        .fn_type(call.called_type().return_type(), &parameters);
    let function = hooks.module.declare(&format!("heddle_{name}"), ty);
    function.copy_attributes(primitive);

    hooks.builder.before(call);
    let new = match call.opcode() {
        Opcode::LLVMInvoke => hooks.builder.invoke(
            function,
            ty,
            &arguments,
            call.normal_dest(),
            call.unwind_dest(),
        ),
        _ => hooks.builder.call(function, ty, &arguments),
    };
    new.copy_call_traits(call);
    new.copy_metadata(call);
    call.replace_uses_with(new);
    call.erase();
    Ok(())
}
