//! Raw bitcode to the one canonical form that enumerator and instrumenter share.
//!
//! **Guarantees.** No call is duplicated, merged with another, inlined or removed (but for dead code); loops have one latch, a
//! preheader and exits of their own. Every place of the contract in `ARCHITECTURE.md` carries `!heddle.site`. The address of an enforced
//! primitive is never taken: it is the address of a function of the module that calls it. Source positions and variables survive.
//! The same module in gives the same bytes out.
//!
//! Deliberately absent: unrolling, vectorizing, inlining, jump threading (the full pipeline runs after instrumentation),
//! and epoch markers (the enumerator places them).

mod refuse;
mod sites;
mod thunks;

pub use refuse::unsupported;
pub(crate) use refuse::uses as unsupported_uses;
pub(crate) use sites::{KIND as SITE_KIND, graph};
pub use sites::{SiteRow, site_table};

use crate::Bitcode;
use crate::error::{Error, Result};
use crate::ir::{Context, Module, Value};

/// Version of the canonical form; grows when the same source would be prepared differently.
pub const PREPARED_VERSION: u32 = 1;

/// Name of the module flag that holds [`PREPARED_VERSION`].
const FLAG: &str = "heddle.prepared";

/// `simplifycfg` without what copies, merges or moves code between paths.
const SIMPLIFY_CFG: &str = "simplifycfg<bonus-inst-threshold=0;no-forward-switch-cond;no-switch-range-to-icmp;\
                            no-switch-to-lookup;keep-loops;no-hoist-common-insts;no-sink-common-insts>";

/// Marks the calls whose `noduplicate` is ours.
const TAG: &str = "heddle.once";

/// Prepares a whole program. What Heddle cannot enforce stays in it; [`unsupported`] names it.
pub fn prepare(raw: &Bitcode) -> Result<Bitcode> {
    let context = Context::new();
    let module = context.parse(raw)?;
    if let Err(reason) = module.verify() {
        return Err(Error::NotBitcode { reason });
    }
    if module.flag(FLAG) == Some(u64::from(PREPARED_VERSION)) {
        return Ok(raw.clone());
    }
    clean(&module);
    thunks::route_addresses(&module)?;
    sites::stamp(&module);
    drop_directory(&module);
    module.set_flag(FLAG, PREPARED_VERSION);
    assert_eq!(module.verify(), Ok(()), "preparation broke the module");
    Ok(module.to_bitcode())
}

/// Fails unless the module came out of [`prepare`] of this version.
pub(crate) fn require_prepared(module: &Module<'_>) -> Result<()> {
    match module.flag(FLAG) {
        Some(version) if version == u64::from(PREPARED_VERSION) => Ok(()),
        _ => Err(Error::NotPrepared {
            expected: PREPARED_VERSION,
        }),
    }
}

fn clean(module: &Module<'_>) {
    for call in calls(module) {
        call.forbid_duplication(module.raw_context(), TAG);
    }
    module.run_passes(&format!(
        "globaldce,function(lower-expect,{SIMPLIFY_CFG},sroa<preserve-cfg>,early-cse,\
         instcombine<no-verify-fixpoint>,{SIMPLIFY_CFG},early-cse,adce,loop-simplify),globaldce"
    ));
    for call in calls(module) {
        call.allow_duplication(TAG);
    }
}

/// The directory a source was compiled from is not part of the program.
fn drop_directory(module: &Module<'_>) {
    let name = module.source_name();
    if let Some((_, file)) = name.rsplit_once('/') {
        module.set_source_name(file);
    }
}

/// Calls of anything but intrinsics.
fn calls<'m>(module: &'m Module<'_>) -> Vec<Value<'m>> {
    module
        .functions()
        .flat_map(|function| function.instructions())
        .filter(|instruction| is_plain_call(*instruction))
        .collect()
}

/// A call that is no intrinsic.
pub(crate) fn is_plain_call(instruction: Value<'_>) -> bool {
    instruction.is_call()
        && !instruction
            .called_function()
            .is_some_and(|callee| callee.is_intrinsic())
}
