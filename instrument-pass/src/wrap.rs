//! The linker's `--wrap=NAME` on bitcode: who mentions `NAME` without defining it means `__wrap_NAME`, and `__real_NAME` is `NAME`.
//!
//! **Guarantees.** What the analysis sees called is what the linked program calls.

use crate::Bitcode;
use crate::error::Result;
use crate::ir::{Context, Module, Value};

impl Bitcode {
    /// Joins modules as [`Bitcode::link`] does, with the names that the linker wraps. The linker still has to resolve the other
    /// half, `__real_NAME` of a `NAME` that is defined elsewhere, unless [`Bitcode::resolve_real`] does.
    pub fn link_wrapped(modules: &[Bitcode], wrapped: &[String]) -> Result<Bitcode> {
        if wrapped.is_empty() {
            return Bitcode::link(modules);
        }
        let mut renamed = Vec::new();
        for module in modules {
            renamed.push(module.redirected(wrapped, |_, name| {
                Some((name.to_owned(), format!("__wrap_{name}")))
            })?);
        }
        Bitcode::link(&renamed)?.redirected(wrapped, |whole, name| {
            global(whole, name).filter(|found| !found.is_declaration())?;
            Some((format!("__real_{name}"), name.to_owned()))
        })
    }

    /// The rest of the wrapping, for a program that is bitcode alone: the linker need not know of it any more.
    pub fn resolve_real(&self, wrapped: &[String]) -> Result<Bitcode> {
        self.redirected(wrapped, |_, name| {
            Some((format!("__real_{name}"), name.to_owned()))
        })
    }

    fn redirected(
        &self,
        names: &[String],
        change: impl Fn(&Module<'_>, &str) -> Option<(String, String)>,
    ) -> Result<Bitcode> {
        let context = Context::new();
        let module = context.parse(self)?;
        for name in names {
            if let Some((from, to)) = change(&module, name) {
                redirect(&module, &from, &to);
            }
        }
        Ok(module.to_bitcode())
    }
}

/// Uses of a symbol that is only declared become uses of another one.
fn redirect(module: &Module<'_>, from: &str, to: &str) {
    let Some(declared) = global(module, from).filter(|found| found.is_declaration()) else {
        return;
    };
    match global(module, to) {
        Some(target) => {
            declared.replace_uses_with(target);
            declared.erase_global();
        }
        None => declared.rename(to),
    }
}

/// A function or variable by symbol.
fn global<'m>(module: &'m Module<'_>, name: &str) -> Option<Value<'m>> {
    let function = module.function(name).map(|function| function.value());
    function.or_else(|| module.global(name))
}
