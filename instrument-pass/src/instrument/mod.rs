//! Prepared bitcode and archive to bitcode that follows the archive.
//!
//! Inserts what the archive's plan and the runtime's contract in `ARCHITECTURE.md` name, and nothing else. Calls inserted
//! before the same instruction stand in this order: shadow stores, `heddle_arms_end` (inner regions first), `heddle_enter_main`,
//! `heddle_marker`, `heddle_decide`, `heddle_arm`, then the stores that questions need.
//!
//! **Invariant:** all places are resolved to handles on the unchanged module ([`Sites`]) before the first insertion, so that
//! ordinals of the archive keep their meaning. Joins replace phis and synchronization calls are replaced: shadow stores, which may read
//! either, come first, and the calls themselves last.
//!
//! Deliberately absent: choice. A site of the plan that the bitcode does not have is an error, never skipped.

mod branches;
mod edges;
mod elastic;
mod exits;
mod program;
mod questions;
mod sites;
mod syncs;

use schedules::Archive;

use crate::Bitcode;
use crate::error::{Error, Result};
use crate::ir::{Builder, Context, Function, Module, Value};
use crate::prepare::{require_prepared, unsupported_uses};
use sites::Sites;

/// How the program finds its archive.
#[derive(Clone, Debug, Default)]
pub struct InstrumentOptions {
    /// File name to look for beside the executable.
    pub archive_name: String,
    /// The archive's bytes, to carry them inside the executable.
    pub embedded: Option<Vec<u8>>,
}

/// Makes the program follow the archive.
pub fn instrument(
    prepared: &Bitcode,
    archive: &Archive,
    options: &InstrumentOptions,
) -> Result<Bitcode> {
    if archive.program.fingerprint != prepared.fingerprint() {
        return Err(Error::OtherProgram {
            reason: "fingerprints differ".to_owned(),
        });
    }
    let context = Context::new();
    let module = context.parse(prepared)?;
    require_prepared(&module)?;
    if let Some(first) = unsupported_uses(&module).into_iter().next() {
        return Err(first);
    }
    let main = module.function("main").filter(|f| !f.is_declaration());
    let main = main.ok_or(Error::NoMain)?;

    let sites = Sites::resolve(&module, archive)?;
    let hooks = Hooks::new(&module);
    program::insert_shadow_stores(&hooks, &sites, archive)?;
    exits::insert(&hooks, &sites, archive)?;
    elastic::insert_ends(&hooks, &sites, archive)?;
    program::insert_main_hooks(&hooks, &sites, main);
    program::insert_exit_hooks(&hooks, &sites);
    insert_markers(&hooks, &sites, archive)?;
    branches::insert(&hooks, &sites, archive)?;
    questions::insert(&hooks, &sites, archive)?;
    syncs::replace(&hooks, &sites, archive)?;
    check_assumptions(&hooks);
    program::describe(&hooks, archive, options)?;
    assert_eq!(module.verify(), Ok(()), "instrumentation broke the module");
    Ok(module.to_bitcode())
}

/// Calls behind `heddle_assume` of `heddle.h`, which do nothing by themselves, go to the runtime.
fn check_assumptions(hooks: &Hooks<'_>) {
    if let Some(idle) = hooks.module.function("heddle_assume_at") {
        let check = hooks
            .module
            .declare("heddle_check_assumption", idle.signature());
        idle.value().replace_uses_with(check.value());
    }
}

fn insert_markers(hooks: &Hooks<'_>, sites: &Sites<'_>, archive: &Archive) -> Result<()> {
    for &site in &archive.plan.markers {
        let place = sites.of(site)?;
        hooks.insert(place.anchor, "heddle_marker", &[hooks.site(site.0)]);
    }
    Ok(())
}

/// The module and a builder: what every insertion needs.
struct Hooks<'m> {
    module: &'m Module<'m>,
    builder: Builder<'m>,
}

impl<'m> Hooks<'m> {
    fn new(module: &'m Module<'_>) -> Self {
        Self {
            module,
            builder: module.builder(),
        }
    }

    /// A site id or outcome as an argument.
    fn site(&self, number: u32) -> Value<'m> {
        self.module.int(32, u64::from(number))
    }

    /// Inserts `name(arguments)` before an instruction, with its source position.
    fn insert(&self, before: Value<'m>, name: &str, arguments: &[Value<'m>]) {
        self.builder.before(before);
        let function = self.hook(name, arguments);
        self.builder.call(function, function.signature(), arguments);
    }

    /// Declares a hook that returns nothing.
    fn hook(&self, name: &str, arguments: &[Value<'m>]) -> Function<'m> {
        let parameters: Vec<_> = arguments.iter().map(|a| a.ty()).collect();
        let ty = self.module.fn_type(self.module.void_type(), &parameters);
        self.module.declare(name, ty)
    }
}
