//! `heddle_called_back` around external functions that call back into the program.
//!
//! Each function of the plan gets a front of its own for each call: the front says that it is called, then calls the function. The call
//! is given fronts in place of functions, and behind it stands what says that it has returned. So whoever else calls the function does
//! not say anything, and calls inside calls are told apart.
//!
//! Deliberately absent: calls with an unwind edge, and functions with variable arguments. The enumerator plans neither.

use inkwell::llvm_sys::LLVMLinkage;
use schedules::{Archive, Callback};

use super::Hooks;
use super::sites::Sites;
use crate::error::{Error, Result};
use crate::ir::{Function, Opcode, Value};

const HOOK: &str = "heddle_called_back";

pub(super) fn insert(hooks: &Hooks<'_>, sites: &Sites<'_>, archive: &Archive) -> Result<()> {
    for callback in &archive.plan.callbacks {
        let call = sites.of(callback.site)?.instruction;
        if call.opcode() != Opcode::LLVMCall {
            return Err(Error::Unsupported {
                place: call.place(),
                what: "a call that calls back and is none, or may be unwound".to_owned(),
            });
        }
        route(hooks, callback, call)?;
        say_returned(hooks, callback, call);
    }
    Ok(())
}

/// Gives the call fronts for the functions it is given.
fn route<'m>(hooks: &Hooks<'m>, callback: &Callback, call: Value<'m>) -> Result<()> {
    for (called, outcome) in callback.functions.iter().zip(1..) {
        let missing = |what: String| Error::OtherProgram { reason: what };
        let function = hooks.module.function(&called.symbol);
        let function =
            function.ok_or_else(|| missing(format!("`{}` is not in it", called.symbol)))?;
        let given = call.arguments().get(called.argument as usize).copied();
        let given = given.ok_or_else(|| {
            missing(format!(
                "the call of `{}` has too few arguments",
                called.symbol
            ))
        })?;
        let front = front(hooks, callback, function, outcome)?;
        let new = if given.as_function() == Some(function) {
            front.value()
        } else {
            hooks.builder.before(call);
            let same = hooks.builder.equal(given, function.value());
            hooks.builder.select(same, front.value(), given)
        };
        call.set_operand(called.argument, new);
    }
    Ok(())
}

/// A function that says that `function` is called, and calls it.
fn front<'m>(
    hooks: &Hooks<'m>,
    callback: &Callback,
    function: Function<'m>,
    outcome: u32,
) -> Result<Function<'m>> {
    let ty = function.signature();
    if ty.is_variadic() {
        return Err(Error::Unsupported {
            place: function.place(),
            what: format!(
                "`{}`, which is called back with variable arguments",
                function.name()
            ),
        });
    }
    let name = format!("heddle.back.{}.{outcome}", callback.site.0);
    let front = hooks.module.declare(&name, ty);
    front.value().set_linkage(LLVMLinkage::LLVMInternalLinkage);
    let parameters: Vec<Value<'m>> = (0..front.parameter_count())
        .filter_map(|index| front.parameter(index))
        .collect();
    let said = [hooks.site(callback.site.0), hooks.site(outcome)];
    let hook = hooks.hook(HOOK, &said);
    let builder = &hooks.builder;
    builder.at_end(hooks.module.append_block(front, ""));
    builder.call(hook, hook.signature(), &said);
    let result = builder.call(function, ty, &parameters);
    if ty.return_type().is_void() {
        builder.return_void();
    } else {
        builder.return_value(result);
    }
    Ok(front)
}

fn say_returned<'m>(hooks: &Hooks<'m>, callback: &Callback, call: Value<'m>) {
    let mut rest = call.block().instructions().into_iter();
    rest.find(|instruction| *instruction == call);
    let next = rest.next().expect("a call is not the last of its block");
    hooks.insert(next, HOOK, &[hooks.site(callback.site.0), hooks.site(0)]);
}
