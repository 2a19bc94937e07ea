//! What Heddle does not enforce, said with file and line.
//!
//! A module with such uses can be prepared and looked at; it is never instrumented. So nothing that the runtime cannot
//! see happens in an enforced program.

use schedules::primitives::{Policy, is_family_name, lookup};

use crate::Bitcode;
use crate::error::{Error, Place, Result};
use crate::ir::{Context, Function, Module, Value};

/// The first use, in module order, of each thing in prepared bitcode that cannot be enforced.
pub fn unsupported(prepared: &Bitcode) -> Result<Vec<Error>> {
    let context = Context::new();
    Ok(uses(&context.parse(prepared)?))
}

pub(crate) fn uses(module: &Module<'_>) -> Vec<Error> {
    let mut found = Vec::new();
    for function in module.functions().filter(|f| f.is_declaration()) {
        if let Some(why) = refusal(&function.name())
            && let Some(place) = first_use(module, function)
        {
            found.push(Error::RefusedFunction {
                place,
                symbol: function.name(),
                why,
            });
        }
    }
    found.extend(use_of_main(module));
    found.extend(asynchronous_cancellation(module));
    found
}

/// `pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, …)`: a thread that could end between any two instructions.
fn asynchronous_cancellation(module: &Module<'_>) -> Option<Error> {
    const ASYNCHRONOUS: u64 = 1;
    let call = super::calls(module).into_iter().find(|call| {
        let names = |f: Function<'_>| f.is_declaration() && f.name() == "pthread_setcanceltype";
        call.called_function().is_some_and(names)
            && call.operand(0).and_then(Value::small_int) == Some(ASYNCHRONOUS)
    })?;
    Some(Error::RefusedFunction {
        place: call.place(),
        symbol: "pthread_setcanceltype".to_owned(),
        why: "asynchronous cancellation can end a thread anywhere; tell it to end by a flag that it tests under a mutex",
    })
}

fn refusal(symbol: &str) -> Option<&'static str> {
    match lookup(symbol) {
        Some((_, row)) if row.policy == Policy::Refused && symbol.contains("cancel") => Some(
            "where a cancelled thread ends cannot be scheduled; tell it to end by a flag that it tests under a mutex",
        ),
        Some((_, row)) if row.policy == Policy::Refused => {
            Some("its effect on other threads cannot be scheduled")
        }
        None if is_family_name(symbol) => Some("no row of the primitives table covers it"),
        Some(_) | None => None,
    }
}

/// `main` stands for the beginning and the end of the process; a second activation would be neither.
fn use_of_main(module: &Module<'_>) -> Option<Error> {
    let place = first_use(module, module.function("main")?)?;
    Some(Error::Unsupported {
        place,
        what: "the program calls `main` or takes its address".to_owned(),
    })
}

/// The first instruction, else the first global, that mentions a function.
fn first_use(module: &Module<'_>, function: Function<'_>) -> Option<Place> {
    if function.value().users().is_empty() {
        return None;
    }
    let target = function.value();
    let instruction = module.functions().flat_map(|f| f.instructions()).find(|i| {
        (0..i.operand_count()).any(|n| i.operand(n).is_some_and(|v| mentions(v, target)))
    });
    if let Some(instruction) = instruction {
        return Some(instruction.place());
    }
    let holder = module
        .globals()
        .filter(|g| !g.is_declaration())
        .find(|g| g.operand(0).is_some_and(|v| mentions(v, target)));
    Some(Place::Symbol(holder.unwrap_or(target).name()))
}

/// Does a constant contain `target`? Stops at globals: their contents are looked at on their own.
fn mentions(value: Value<'_>, target: Value<'_>) -> bool {
    if value == target {
        return true;
    }
    if !value.is_constant() || value.is_global() {
        return false;
    }
    (0..value.operand_count()).any(|n| value.operand(n).is_some_and(|v| mentions(v, target)))
}
