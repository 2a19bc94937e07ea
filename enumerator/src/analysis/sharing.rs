//! Which objects more than one thread may reach and touch.
//!
//! **Guarantee.** If two threads of a run access the same object, its abstract object is in [`Sharing::shared`], or both accesses
//! are by code we do not see. Thread-local variables are left out unless their address gets to another thread.

use std::collections::{BTreeMap, BTreeSet};

use super::{AbstractObject, Effects, Facts};
use crate::model::{Callee, FuncId, InstrId, InstrKind, Module};

/// Who touches what.
#[derive(Clone, Debug, Default)]
pub struct Sharing {
    pub shared: BTreeSet<AbstractObject>,
    /// Shared and written by some thread after its start.
    pub written: BTreeSet<AbstractObject>,
    /// Thread functions, with true where more than one thread at a time may run it.
    pub entries: BTreeMap<FuncId, bool>,
}

impl Sharing {
    pub fn of(module: &Module, facts: &Facts) -> Self {
        let starts = facts.thread_entries();
        let entries: BTreeMap<FuncId, bool> = starts
            .iter()
            .map(|(entry, sites)| {
                (
                    *entry,
                    sites.len() > 1 || sites.iter().any(|site| repeats(facts, module, *site)),
                )
            })
            .collect();
        let mut roots: Vec<(Vec<FuncId>, bool)> = entries
            .iter()
            .filter(|(entry, _)| !module.functions[**entry].is_declaration())
            .map(|(entry, many)| (vec![*entry], *many))
            .collect();
        let mut first: Vec<FuncId> = module.function_named("main").into_iter().collect();
        first.extend(module.constructors.iter().chain(&module.destructors));
        if first.is_empty() {
            first.extend(facts.exposed());
        }
        roots.push((first, false));
        let reachable = reachable_objects(module, facts);
        let mut sharing = Sharing {
            entries,
            ..Self::default()
        };
        let mut seen: BTreeMap<AbstractObject, u32> = BTreeMap::new();
        let mut writers = BTreeSet::new();
        for (functions, many) in roots {
            let touched = all_effects(module, facts, functions);
            let mut objects: BTreeSet<AbstractObject> =
                touched.refs.objects.keys().copied().collect();
            objects.extend(touched.mods.objects.keys());
            writers.extend(touched.mods.objects.keys().copied());
            if touched.refs.everything || touched.mods.everything {
                objects.extend(reachable.iter().filter(|object| facts.escaped(object)));
            }
            if touched.mods.everything {
                writers.extend(
                    reachable
                        .iter()
                        .filter(|object| facts.escaped(object))
                        .copied(),
                );
            }
            for object in objects {
                *seen.entry(object).or_default() += 1 + u32::from(many);
            }
        }
        sharing.shared = seen
            .into_iter()
            .filter(|(object, count)| *count > 1 && reachable.contains(object))
            .map(|(object, _)| object)
            .collect();
        sharing.written = sharing.shared.intersection(&writers).copied().collect();
        sharing
    }
}

/// True if the call may be executed more than once: it is in a loop, in a recursive function, or in a function that is not `main`.
fn repeats(facts: &Facts, module: &Module, (func, call): (FuncId, InstrId)) -> bool {
    let block = module.functions[func].instrs[call].block;
    facts.cfg(func).loops.of(block).is_some()
        || facts.is_recursive(func)
        || module.functions[func].name != "main"
}

/// Everything that functions do, with all they call; stack objects included.
fn all_effects(module: &Module, facts: &Facts, roots: Vec<FuncId>) -> Effects {
    let edges = facts.call_edges();
    let mut seen: BTreeSet<FuncId> = roots.iter().copied().collect();
    let mut work = roots;
    let mut total = Effects::default();
    while let Some(func) = work.pop() {
        if module.functions[func].is_declaration() {
            continue;
        }
        for block in facts.blocks_of(func) {
            total.add_all(facts.own_effects(func, block));
        }
        for &target in &edges[func.0 as usize] {
            if seen.insert(FuncId(target)) {
                work.push(FuncId(target));
            }
        }
    }
    total
}

/// Objects whose address another thread may learn: globals, what threads are given, what escaped, and what those point to.
fn reachable_objects(module: &Module, facts: &Facts) -> BTreeSet<AbstractObject> {
    let contents = facts.contents();
    let mut found: BTreeSet<AbstractObject> = contents
        .keys()
        .copied()
        .filter(|object| facts.escaped(object))
        .collect();
    for (id, global) in module.globals.iter() {
        if !global.thread_local {
            found.insert(AbstractObject::Global(id));
        }
    }
    for (func, function) in module.functions.iter() {
        for (_, instr) in function.instrs.iter() {
            let (InstrKind::Call(call) | InstrKind::Invoke { call, .. }) = &instr.kind else {
                continue;
            };
            let Callee::Direct(target) = call.callee else {
                continue;
            };
            let passed = match module.functions[target].name.as_str() {
                "pthread_create" => call.args.get(3),
                "thrd_create" => call.args.get(2),
                "pthread_exit" | "thrd_exit" => call.args.first(),
                _ => None,
            };
            if let Some(passed) = passed {
                let places = facts.points_to(func, passed).places;
                found.extend(places.into_iter().map(|(object, _)| object));
            }
        }
    }
    let mut work: Vec<AbstractObject> = found.iter().copied().collect();
    while let Some(object) = work.pop() {
        for &target in contents.get(&object).into_iter().flatten() {
            if found.insert(target) {
                work.push(target);
            }
        }
    }
    found
}
