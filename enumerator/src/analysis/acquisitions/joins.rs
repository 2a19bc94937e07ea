//! Joins that surely wait for a class of threads.
//!
//! *One*: the handle is read from exactly the place where the creation wrote it, and nothing else writes there.

use std::collections::BTreeMap;

use schedules::ids::Table;
use schedules::primitives::NodeOp;

use super::single::single_objects;
use super::threads::{Living, Thread, ThreadId, ThreadKind};
use crate::analysis::effects::events::Key;
use crate::analysis::locks::{LockPlace, Site, operation};
use crate::analysis::{Extent, Facts, ModSet, Offset};
use crate::model::{BlockId, FuncId, Function, InstrKind, Module, Value};

/// What joins wait for.
#[derive(Default)]
pub(super) struct Joins {
    single: BTreeMap<Site, ThreadId>,
}

impl Joins {
    pub(super) fn of(module: &Module, facts: &Facts, threads: &Table<ThreadId, Thread>) -> Self {
        let mut joins = Self::default();
        let single = single_objects(module, facts);
        let written: BTreeMap<ThreadId, (Site, &Value)> = threads
            .iter()
            .filter_map(|(id, thread)| {
                let ThreadKind::Created((func, call)) = thread.kind else {
                    return None;
                };
                let call = module.functions[func].instrs[call].call()?;
                let ThreadKind::Created(site) = thread.kind else {
                    return None;
                };
                Some((id, (site, call.args.first()?)))
            })
            .collect();
        for (func, function) in module.functions.iter() {
            for (id, instr) in function.instrs.iter() {
                if !matches!(operation(module, instr), Some((NodeOp::ThreadJoin, _))) {
                    continue;
                }
                let Some(pointer) = instr
                    .call()
                    .and_then(|call| handle(function, &call.args[0]))
                else {
                    continue;
                };
                let Some(read) = exact(facts, func, pointer) else {
                    continue;
                };
                let mut candidates = written.iter().filter(|(_, (site, into))| {
                    exact(facts, site.0, into) == Some(read)
                        && (single.contains(&read.0)
                            || site.0 == func && same_alloca(function, into, pointer))
                });
                let Some((thread, (site, _))) = candidates.next() else {
                    continue;
                };
                if candidates.next().is_none() && only_writer(module, facts, *site, read) {
                    joins.single.insert((func, id), *thread);
                }
            }
        }
        joins
    }

    /// The class whose one thread is surely over after this join.
    pub(super) fn single(&self, site: Site) -> Option<ThreadId> {
        self.single.get(&site).copied()
    }

    /// True if a loop of joins waits for all that a loop of creations made.
    pub(super) fn in_batch(&self, _: ThreadId) -> bool {
        false
    }

    /// What passing an edge says.
    pub(super) fn edge(&self, _: FuncId, _: BlockId, _: BlockId, _: &mut Living) {}
}

/// The place that a handle is loaded from.
fn handle<'f>(function: &'f Function, value: &Value) -> Option<&'f Value> {
    let Value::Instr(id) = value else { return None };
    match &function.instrs[*id].kind {
        InstrKind::Load { ptr, .. } => Some(ptr),
        _ => None,
    }
}

/// The one place that a pointer names.
fn exact(facts: &Facts, func: FuncId, pointer: &Value) -> Option<LockPlace> {
    let found = facts.points_to(func, pointer);
    match found.places.as_slice() {
        [place @ (_, Offset::Exact(_))] if !found.unknown => Some(*place),
        _ => None,
    }
}

/// True if both are the same offset in one `alloca` of the function that runs once per call.
fn same_alloca(function: &Function, a: &Value, b: &Value) -> bool {
    let key = |value: &Value| {
        let mut loads = Vec::new();
        Key::of(function, value, &mut loads).filter(|_| loads.is_empty())
    };
    let (Some(a), Some(b)) = (key(a), key(b)) else {
        return false;
    };
    let in_entry = |key: &Key| {
        key.instr().is_some_and(|id| {
            let instr = &function.instrs[id];
            matches!(instr.kind, InstrKind::Alloca { .. }) && instr.block == BlockId(0)
        })
    };
    a == b && in_entry(&a)
}

/// True if nothing but the creation writes the handle.
fn only_writer(module: &Module, facts: &Facts, creation: Site, place: LockPlace) -> bool {
    let Offset::Exact(start) = place.1 else {
        return false;
    };
    if facts.escaped(&place.0) {
        return false;
    }
    let mut handle = ModSet::default();
    handle.add(place.0, &Extent::Ranges(vec![(start, start + 8)]));
    module.functions.iter().all(|(func, function)| {
        function.instrs.iter().all(|(id, instr)| {
            let writes = matches!(
                instr.kind,
                InstrKind::Store { .. }
                    | InstrKind::CmpXchg { .. }
                    | InstrKind::AtomicRmw { .. }
                    | InstrKind::VaArg { .. }
            ) || instr.call().is_some();
            !writes
                || (func, id) == creation
                || !facts
                    .instr_effects(module, func, id)
                    .mods
                    .overlaps(&handle, |object| facts.escaped(object))
        })
    })
}
