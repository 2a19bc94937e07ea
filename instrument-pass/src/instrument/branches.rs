//! `heddle_decide` and `heddle_arm` before branches: computing which successor is about to be taken.

use schedules::{Archive, SiteId};

use super::Hooks;
use super::sites::Sites;
use crate::error::{Error, Result};
use crate::ir::{Block, Opcode, Value};

/// A switch whose case values span no more than this gets a table; others are compared case by case.
const TABLE_SPAN: u64 = 4096;

pub(super) fn insert<'m>(hooks: &Hooks<'m>, sites: &Sites<'m>, archive: &Archive) -> Result<()> {
    for &site in &archive.plan.decisions {
        publish(hooks, sites, site, "heddle_decide")?;
    }
    for elastic in &archive.plan.elastic {
        publish(hooks, sites, elastic.site, "heddle_arm")?;
    }
    Ok(())
}

fn publish<'m>(hooks: &Hooks<'m>, sites: &Sites<'m>, site: SiteId, hook: &str) -> Result<()> {
    let branch = sites.of(site)?.instruction;
    hooks.builder.before(branch);
    let outcome = outcome(hooks, branch)?;
    hooks.insert(branch, hook, &[hooks.site(site.0), outcome]);
    Ok(())
}

/// The ordinal of the successor that `branch` is about to take, computed just before it.
fn outcome<'m>(hooks: &Hooks<'m>, branch: Value<'m>) -> Result<Value<'m>> {
    match (branch.opcode(), branch.operand(0)) {
        (Opcode::LLVMBr, Some(condition)) if branch.successors().len() == 2 => Ok(hooks
            .builder
            .select(condition, hooks.site(0), hooks.site(1))),
        (Opcode::LLVMSwitch, Some(value)) => Ok(switch_outcome(hooks, branch, value)),
        (Opcode::LLVMIndirectBr, Some(address)) => Ok(indirect_outcome(hooks, branch, address)),
        _ => Err(Error::Unsupported {
            place: branch.place(),
            what: "a decision on an instruction whose outcome is not known before it".to_owned(),
        }),
    }
}

/// Successor 0 is the default, successor `i + 1` case `i`.
fn switch_outcome<'m>(hooks: &Hooks<'m>, branch: Value<'m>, value: Value<'m>) -> Value<'m> {
    let cases: Vec<Value<'m>> = (2..branch.operand_count())
        .step_by(2)
        .filter_map(|index| branch.operand(index))
        .collect();
    if let Some(result) = table_outcome(hooks, &cases, value) {
        return result;
    }
    let numbered = cases.into_iter().zip(1..);
    numbered.fold(hooks.site(0), |rest, (case, ordinal)| {
        let hit = hooks.builder.equal(value, case);
        hooks.builder.select(hit, hooks.site(ordinal), rest)
    })
}

fn table_outcome<'m>(
    hooks: &Hooks<'m>,
    cases: &[Value<'m>],
    value: Value<'m>,
) -> Option<Value<'m>> {
    let numbers: Vec<u64> = cases
        .iter()
        .map(|case| case.small_int())
        .collect::<Option<_>>()?;
    let (low, high) = (*numbers.iter().min()?, *numbers.iter().max()?);
    let span = high - low;
    if numbers.len() < 4 || span >= TABLE_SPAN {
        return None;
    }
    let mut rows = vec![0u32; usize::try_from(span).expect("small") + 1];
    for (number, ordinal) in numbers.iter().zip(1..) {
        rows[usize::try_from(number - low).expect("small")] = ordinal;
    }
    let word = hooks.module.int_type(32);
    let constants: Vec<Value<'m>> = rows.iter().map(|&row| hooks.site(row)).collect();
    let table = hooks.module.array(word, &constants);
    let table = hooks
        .module
        .define_private_constant("heddle.outcomes", table);

    let builder = &hooks.builder;
    let width = value.ty().int_width()?;
    let offset = builder.subtract(value, hooks.module.int(width, low));
    let inside = builder.below(offset, hooks.module.int(width, span + 1));
    let index = builder.select(inside, offset, hooks.module.int(width, 0));
    let index = match width {
        64.. => index,
        _ => builder.zext(index, hooks.module.int_type(64)),
    };
    let found = builder.load(word, builder.element(word, table, index));
    Some(builder.select(inside, found, hooks.site(0)))
}

fn indirect_outcome<'m>(hooks: &Hooks<'m>, branch: Value<'m>, address: Value<'m>) -> Value<'m> {
    let numbered: Vec<(Block<'m>, u32)> = branch.successors().into_iter().zip(0..).collect();
    numbered
        .into_iter()
        .rev()
        .fold(hooks.site(u32::MAX), |rest, (target, ordinal)| {
            let hit = hooks.builder.equal(address, target.address());
            hooks.builder.select(hit, hooks.site(ordinal), rest)
        })
}
