//! Addresses of primitives.
//!
//! A program that stores `pthread_mutex_lock` in a table calls it where no analysis sees the name. Every use of an enforced
//! primitive's address becomes the address of a function of the module that does nothing but call it, so that there is one
//! ordinary, named call to gate. Comparisons among such addresses keep their outcome: there is one function for each primitive.

use inkwell::llvm_sys::LLVMLinkage;
use schedules::primitives::{Policy, lookup};

use crate::error::{Error, Result};
use crate::ir::{Function, Module, Value};

/// Prefix of the functions made here.
const PREFIX: &str = "heddle.via.";

pub(super) fn route_addresses(module: &Module<'_>) -> Result<()> {
    let primitives: Vec<Function<'_>> = module
        .functions()
        .filter(|f| f.is_declaration() && is_enforced(&f.name()))
        .collect();
    for primitive in primitives {
        let users = primitive.value().users();
        let direct = direct_calls(module, primitive);
        if users.len() > direct.len() {
            route(module, primitive, &direct)?;
        }
    }
    Ok(())
}

fn is_enforced(symbol: &str) -> bool {
    lookup(symbol).is_some_and(|(_, row)| row.policy == Policy::Enforced)
}

fn direct_calls<'m>(module: &'m Module<'_>, primitive: Function<'m>) -> Vec<Value<'m>> {
    super::calls(module)
        .into_iter()
        .filter(|call| call.called_function() == Some(primitive))
        .collect()
}

fn route<'m>(module: &'m Module<'_>, primitive: Function<'m>, direct: &[Value<'m>]) -> Result<()> {
    let ty = primitive.signature();
    let (_, row) = lookup(&primitive.name()).expect("enforced primitives have a row");
    if primitive.parameter_count() as usize != row.args.len() {
        return Err(Error::Unsupported {
            place: primitive.place(),
            what: format!(
                "address of `{}`, which is declared without its parameters",
                primitive.name()
            ),
        });
    }
    let thunk = module.declare(&format!("{PREFIX}{}", primitive.name()), ty);
    thunk.value().set_linkage(LLVMLinkage::LLVMInternalLinkage);
    primitive.value().replace_uses_with(thunk.value());
    for call in direct {
        call.set_operand(call.callee_index(), primitive.value());
    }
    let parameters: Vec<Value<'m>> = (0..thunk.parameter_count())
        .filter_map(|index| thunk.parameter(index))
        .collect();
    let builder = module.builder();
    builder.at_end(module.append_block(thunk, ""));
    let result = builder.call(primitive, ty, &parameters);
    if ty.return_type().is_void() {
        builder.return_void();
    } else {
        builder.return_value(result);
    }
    Ok(())
}
