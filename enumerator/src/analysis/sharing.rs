//! Which objects more than one thread may reach and touch.
//!
//! **Guarantee.** If two threads of a run access the same object, its abstract object is in [`Sharing::shared`], or both accesses
//! are by code we do not see. Thread-local variables are left out unless their address gets to another thread.

use std::collections::{BTreeMap, BTreeSet};

use super::{AbstractObject, Facts};
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
        let users = users(facts, &reachable, &runners(facts, &roots));
        let shared = users.iter().filter(|(_, users)| users.any.are_two());
        let mut sharing = Sharing {
            shared: shared.map(|(object, _)| *object).collect(),
            entries,
            ..Self::default()
        };
        let written = |object: &&AbstractObject| users[*object].written;
        sharing.written = sharing.shared.iter().filter(written).copied().collect();
        sharing
    }
}

/// Up to two of the threads that do something; which two does not matter.
#[derive(Clone, Copy, Debug, Default)]
struct Two([Option<u32>; 2]);

impl Two {
    /// True if that is news.
    fn add(&mut self, thread: u32) -> bool {
        let free = self
            .0
            .iter_mut()
            .find(|slot| slot.is_none_or(|known| known == thread));
        free.is_some_and(|slot| slot.replace(thread).is_none())
    }

    fn are_two(self) -> bool {
        self.0[1].is_some()
    }

    fn iter(self) -> impl Iterator<Item = u32> {
        self.0.into_iter().flatten()
    }
}

/// Which threads run each function.
fn runners(facts: &Facts, roots: &[(Vec<FuncId>, bool)]) -> Vec<Two> {
    let edges = facts.call_edges();
    let mut found = vec![Two::default(); edges.len()];
    let mut work: Vec<(u32, u32)> = Vec::new();
    for (number, (functions, many)) in roots.iter().enumerate() {
        let number = 2 * number as u32;
        for func in functions {
            work.push((func.0, number));
            work.extend(many.then_some((func.0, number + 1)));
        }
    }
    while let Some((func, thread)) = work.pop() {
        if found[func as usize].add(thread) {
            work.extend(edges[func as usize].iter().map(|target| (*target, thread)));
        }
    }
    found
}

/// Who uses an object.
#[derive(Clone, Copy, Debug, Default)]
struct Users {
    any: Two,
    written: bool,
}

impl Users {
    fn add(&mut self, threads: Two, written: bool) {
        for thread in threads.iter() {
            self.any.add(thread);
            self.written |= written;
        }
    }
}

/// Who uses the objects that threads can reach.
fn users(
    facts: &Facts,
    reachable: &BTreeSet<AbstractObject>,
    runners: &[Two],
) -> BTreeMap<AbstractObject, Users> {
    let mut found: BTreeMap<AbstractObject, Users> = BTreeMap::new();
    // Of whatever escaped.
    let mut anything = [Users::default(); 2];
    for (func, threads) in runners.iter().enumerate() {
        let func = FuncId(func as u32);
        for block in facts.blocks_of(func) {
            let own = facts.own_effects(func, block);
            for (set, written) in [(&own.refs, false), (&own.mods, true)] {
                for object in set.objects.keys() {
                    found.entry(*object).or_default().add(*threads, written);
                }
                if set.everything {
                    anything[usize::from(written)].add(*threads, written);
                }
            }
        }
    }
    for object in reachable.iter().filter(|object| facts.escaped(object)) {
        let users = found.entry(*object).or_default();
        for all in anything {
            users.add(all.any, all.written);
        }
    }
    found.retain(|object, _| reachable.contains(object));
    found
}

/// True if the call may be executed more than once: it is in a loop, in a recursive function, or in a function that is not `main`.
fn repeats(facts: &Facts, module: &Module, (func, call): (FuncId, InstrId)) -> bool {
    let block = module.functions[func].instrs[call].block;
    facts.cfg(func).loops.of(block).is_some()
        || facts.is_recursive(func)
        || module.functions[func].name != "main"
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
