//! What a module defines and what it expects from elsewhere.

use crate::Bitcode;
use crate::error::{Error, Result};
use crate::ir::Context;

/// Functions of a module by where their code is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Externals {
    /// How many have their code in the module.
    pub defined: usize,
    /// Used here and defined elsewhere, sorted. Intrinsics of the compiler are not counted.
    pub external: Vec<String>,
}

/// Sorts the functions of a module.
pub fn externals(bitcode: &Bitcode) -> Result<Externals> {
    let context = Context::new();
    let module = context.parse(bitcode)?;
    let mut result = Externals::default();
    for function in module.functions().filter(|f| !f.is_intrinsic()) {
        if !function.is_declaration() {
            result.defined += 1;
        } else if !function.value().users().is_empty() {
            result.external.push(function.name());
        }
    }
    result.external.sort();
    Ok(result)
}

/// Fails unless the module is a program: something with a `main` to run.
pub fn require_main(bitcode: &Bitcode) -> Result<()> {
    let context = Context::new();
    let module = context.parse(bitcode)?;
    let main = module.function("main").filter(|f| !f.is_declaration());
    main.map(|_| ()).ok_or(Error::NoMain)
}
