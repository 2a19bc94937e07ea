//! What the runtime has to know about the program: shadow words, roots, `__heddle_program`, and `main`'s two ends.

use inkwell::llvm_sys::LLVMLinkage;
use schedules::Archive;

use super::sites::Sites;
use super::{Hooks, InstrumentOptions};
use crate::error::{Error, Result};
use crate::ir::{Function, Opcode, Value};
use crate::prepare::SITE_KIND;

const SHADOW: &str = "__heddle_shadow";

/// Copies the registers that early predicates read, just before the sites at which their threads wait.
pub(super) fn insert_shadow_stores<'m>(
    hooks: &Hooks<'m>,
    sites: &Sites<'m>,
    archive: &Archive,
) -> Result<()> {
    let module = hooks.module;
    let word = module.int_type(64);
    let zeros = module.array(word, &vec![module.int(64, 0); archive.shadows.len()]);
    let array = module.define_global(SHADOW, zeros.ty(), zeros);
    array.set_thread_local();
    array.set_linkage(LLVMLinkage::LLVMInternalLinkage);
    for (index, shadow) in archive.shadows.iter().enumerate() {
        let place = sites.of(shadow.at)?;
        let value = sites.register(&shadow.value)?;
        hooks.builder.before(place.anchor);
        let Some(copy) = as_word(hooks, value) else {
            return Err(Error::OtherProgram {
                reason: format!("a shadow register has type {}", value.ty().text()),
            });
        };
        let base = hooks.builder.thread_local_address(module, array);
        let slot = hooks
            .builder
            .element(word, base, module.int(64, index as u64));
        hooks.builder.store(copy, slot);
    }
    Ok(())
}

/// The value's bits, zero-extended to 64.
fn as_word<'m>(hooks: &Hooks<'m>, value: Value<'m>) -> Option<Value<'m>> {
    let word = hooks.module.int_type(64);
    if value.ty().is_pointer() {
        return Some(hooks.builder.ptr_to_int(value, word));
    }
    if let Some(width) = value.ty().float_width() {
        let bits = hooks.builder.bitcast(value, hooks.module.int_type(width));
        return as_word(hooks, bits);
    }
    match value.ty().int_width()? {
        64 => Some(value),
        0..64 => Some(hooks.builder.zext(value, word)),
        _ => None,
    }
}

/// `heddle_enter_main` first, `heddle_exit_main` before each return.
pub(super) fn insert_main_hooks<'m>(hooks: &Hooks<'m>, sites: &Sites<'m>, main: Function<'m>) {
    let kind = hooks.module.metadata_kind(SITE_KIND);
    let (head, stable) = sites.entry(main, kind);
    let site = sites.dense(stable).map_or(u32::MAX, |site| site.0);
    hooks.insert(head, "heddle_enter_main", &[hooks.site(site)]);
    for block in main.blocks() {
        let terminator = block.terminator();
        if terminator.opcode() == Opcode::LLVMRet {
            hooks.insert(terminator, "heddle_exit_main", &[]);
        }
    }
}

/// `heddle_exit_main` before each call that ends the process, so that functions of `atexit` are no part of the schedule.
pub(super) fn insert_exit_hooks<'m>(hooks: &Hooks<'m>, sites: &Sites<'m>) {
    for &(call, _) in &sites.calls {
        let callee = call.called_function().filter(|f| f.is_declaration());
        if callee.is_some_and(|f| matches!(f.name().as_ref(), "exit" | "quick_exit")) {
            hooks.insert(call, "heddle_exit_main", &[]);
        }
    }
}

/// Defines `__heddle_program`.
pub(super) fn describe(
    hooks: &Hooks<'_>,
    archive: &Archive,
    options: &InstrumentOptions,
) -> Result<()> {
    let module = hooks.module;
    let null = Value::null(module.ptr_type());
    let number = |n: usize| module.int(64, n as u64);

    let mut name = options.archive_name.clone().into_bytes();
    name.push(0);
    let name = module.define_private_constant("heddle.archive_name", module.bytes(&name));
    let (embedded, embedded_size) = match &options.embedded {
        Some(bytes) => {
            let data = module.define_private_constant("heddle.archive", module.bytes(bytes));
            data.set_alignment(64);
            (data, bytes.len())
        }
        None => (null, 0),
    };
    let built_for = archive.built_for();
    let fields = [
        module.bytes(b"HEDDLE\0\x02"),
        module.bytes(&built_for.fingerprint),
        module.bytes(&built_for.plan),
        number(archive.roots.len()),
        roots(hooks, archive)?,
        number(archive.shadows.len()),
        shadow_accessor(hooks).value(),
        number(archive.sites.len()),
        name,
        embedded,
        number(embedded_size),
    ];
    let program = module.structure(&fields);
    module
        .define_global("__heddle_program", program.ty(), program)
        .set_constant();
    Ok(())
}

/// The addresses of the globals that early predicates start from.
fn roots<'m>(hooks: &Hooks<'m>, archive: &Archive) -> Result<Value<'m>> {
    let module = hooks.module;
    let mut addresses = Vec::with_capacity(archive.roots.len());
    for root in &archive.roots {
        let global = module.global(&root.symbol).filter(|g| !g.is_thread_local());
        addresses.push(global.ok_or_else(|| Error::OtherProgram {
            reason: format!("`{}` is no global variable with one address", root.symbol),
        })?);
    }
    let table = module.array(module.ptr_type(), &addresses);
    Ok(module.define_private_constant("heddle.roots", table))
}

/// A function that returns the calling thread's shadow words.
fn shadow_accessor<'m>(hooks: &Hooks<'m>) -> Function<'m> {
    let module = hooks.module;
    let accessor = module.declare(
        "heddle.shadow_address",
        module.fn_type(module.ptr_type(), &[]),
    );
    accessor
        .value()
        .set_linkage(LLVMLinkage::LLVMInternalLinkage);
    let shadow = module
        .global(SHADOW)
        .expect("defined with the shadow stores");
    hooks.builder.at_end(module.append_block(accessor, ""));
    let address = hooks.builder.thread_local_address(module, shadow);
    hooks.builder.return_value(address);
    accessor
}
