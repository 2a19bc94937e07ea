//! Joins that surely wait for a class of threads.
//!
//! *One*: the handle is read from exactly the place where creations write it, and nothing else writes there. Where several creations do,
//! the handle is that of the only one of them that may be alive: one that was written over and not joined would still be.

use std::collections::{BTreeMap, BTreeSet};

use schedules::ids::Table;
use schedules::primitives::NodeOp;

use super::single::single_objects;
use super::threads::{Thread, ThreadId, ThreadKind};
use crate::analysis::effects::events::Key;
use crate::analysis::locks::{LockPlace, Site, operation};
use crate::analysis::{Extent, Facts, ModSet, Offset};
use crate::model::{BlockId, FuncId, Function, InstrKind, Module, Value};

/// What joins wait for.
#[derive(Default)]
pub(super) struct Joins {
    single: BTreeMap<Site, BTreeSet<ThreadId>>,
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
                let candidates = written.iter().filter(|(_, (site, into))| {
                    exact(facts, site.0, into) == Some(read)
                        && (single.contains(&read.0)
                            || site.0 == func && same_alloca(function, into, pointer))
                });
                let (threads, sites): (BTreeSet<ThreadId>, BTreeSet<Site>) = candidates
                    .map(|(thread, (site, _))| (*thread, *site))
                    .unzip();
                if !threads.is_empty() && only_writers(module, facts, &sites, read) {
                    joins.single.insert((func, id), threads);
                }
            }
        }
        joins
    }

    /// The classes one thread of which is surely over after this join.
    pub(super) fn single(&self, site: Site) -> Option<&BTreeSet<ThreadId>> {
        self.single.get(&site)
    }

    /// Joins that can only be for one class.
    pub(super) fn singles(&self) -> BTreeMap<Site, ThreadId> {
        let only = |(site, threads): (&Site, &BTreeSet<ThreadId>)| {
            let first = threads.first().filter(|_| threads.len() == 1)?;
            Some((*site, *first))
        };
        self.single.iter().filter_map(only).collect()
    }
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

/// True if nothing but these creations writes the handle.
fn only_writers(
    module: &Module,
    facts: &Facts,
    creations: &BTreeSet<Site>,
    place: LockPlace,
) -> bool {
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
                || creations.contains(&(func, id))
                || !facts
                    .instr_effects(module, func, id)
                    .mods
                    .overlaps(&handle, |object| facts.escaped(object))
        })
    })
}
