//! What exists, or runs, at most once in a process.

use std::collections::BTreeSet;

use schedules::ids::Id;

use crate::analysis::{AbstractObject, Facts};
use crate::model::{FuncId, InstrId, InstrKind, Module};

/// Objects that exist at most once in a run: globals of the process, and what code that runs at most once makes.
pub(super) fn single_objects(module: &Module, facts: &Facts) -> BTreeSet<AbstractObject> {
    let mut single: BTreeSet<AbstractObject> = module
        .globals
        .iter()
        .filter(|(_, global)| !global.thread_local)
        .map(|(id, _)| AbstractObject::Global(id))
        .collect();
    let once = run_once(module, facts);
    for (func, function) in module.functions.iter() {
        if !once[func.index()] {
            continue;
        }
        for (id, instr) in function.instrs.iter() {
            if facts.cfg(func).loops.of(instr.block).is_some() {
                continue;
            }
            match &instr.kind {
                InstrKind::Alloca { .. } => {
                    single.insert(AbstractObject::Stack(func, id));
                }
                InstrKind::Call(call) | InstrKind::Invoke { call, .. }
                    if facts.makes_one(module, call) =>
                {
                    single.insert(AbstractObject::Heap(func, id));
                }
                _ => {}
            }
        }
    }
    single
}

/// Functions that run at most once in a process: `main`, and what has one call, outside loops, in a function that runs once.
fn run_once(module: &Module, facts: &Facts) -> Vec<bool> {
    let mut calls: Vec<Vec<(FuncId, InstrId)>> = vec![Vec::new(); module.functions.len()];
    for (func, function) in module.functions.iter() {
        for (id, instr) in function.instrs.iter() {
            if instr.call().is_some() {
                for target in facts.run_by(func, id) {
                    calls[target.index()].push((func, id));
                    if !facts.callees(func, id).known.contains(target) {
                        // Called back: any number of times.
                        calls[target.index()].push((func, id));
                    }
                }
                for target in &facts.started(func, id).known {
                    calls[target.index()].extend([(func, id), (func, id)]);
                }
            }
        }
    }
    let main = module.function_named("main");
    let mut once = vec![false; module.functions.len()];
    if let Some(main) = main.filter(|main| calls[main.index()].is_empty()) {
        once[main.index()] = true;
    }
    let exposed: BTreeSet<FuncId> = facts.exposed().collect();
    let fixed: BTreeSet<FuncId> = module
        .constructors
        .iter()
        .chain(&module.destructors)
        .chain(&exposed)
        .copied()
        .collect();
    let mut changed = true;
    while changed {
        changed = false;
        for func in module.functions.ids() {
            let [(caller, id)] = calls[func.index()][..] else {
                continue;
            };
            let block = module.functions[caller].instrs[id].block;
            if once[caller.index()]
                && !once[func.index()]
                && !fixed.contains(&func)
                && facts.cfg(caller).loops.of(block).is_none()
            {
                once[func.index()] = true;
                changed = true;
            }
        }
    }
    once
}
