//! Prints how large a module is, how long its facts take and how precise they are: one line per bitcode file.
//! With `OBJECTS` in the environment, also the objects that most pointers may name.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use enumerator::analysis::{AbstractObject, Facts, Offset, SyncEffect, names};
use enumerator::model::load::load;
use enumerator::model::{Module, Value};
use schedules::ids::Id;

fn main() {
    for path in std::env::args().skip(1) {
        let begin = Instant::now();
        let module = match load(path.as_ref()) {
            Ok(module) => module,
            Err(error) => {
                println!("{path}: {error}");
                continue;
            }
        };
        let loaded = begin.elapsed();
        let begin = Instant::now();
        let facts = Facts::of(&module);
        let solved = begin.elapsed();
        let begin = Instant::now();
        let instrs: usize = module.functions.rows().iter().map(|f| f.instrs.len()).sum();
        let (mut none, mut balanced, mut any, mut everything) = (0, 0, 0, 0);
        for (id, function) in module.functions.iter() {
            for block in function.blocks.ids() {
                if function.blocks[block].succs.len() > 1 && facts.cfg(id).reachable(block) {
                    let effects = facts.region(id, block);
                    match effects.sync {
                        SyncEffect::None => none += 1,
                        SyncEffect::Balanced => balanced += 1,
                        SyncEffect::Any => any += 1,
                    }
                    everything += usize::from(effects.mods.everything);
                }
            }
        }
        println!(
            "{path}: {instrs} instrs, load {loaded:.1?}, facts {solved:.1?}, regions {:.1?}; average set {:.2}, largest {}; branches none {none} balanced {balanced} any {any}, everything {everything}; markers {}; exposed {}",
            begin.elapsed(),
            facts.average_points_to(),
            facts.largest_points_to(),
            facts.markers().len(),
            facts
                .exposed()
                .map(|f| module.functions.rows()[f.index()].name.clone())
                .collect::<Vec<_>>()
                .join(","),
        );
        if std::env::var_os("OBJECTS").is_some() {
            objects(&module, &facts);
        }
    }
}

/// The objects that most pointers may name, with the number of pointers and of different places.
fn objects(module: &Module, facts: &Facts) {
    let mut seen: BTreeMap<AbstractObject, (usize, BTreeSet<Offset>)> = BTreeMap::new();
    let mut unknown = 0;
    for (func, function) in module.functions.iter() {
        for id in function.instrs.ids() {
            let found = facts.points_to(func, &Value::Instr(id));
            unknown += usize::from(found.unknown);
            for (what, offset) in found.places {
                let entry = seen.entry(what).or_default();
                entry.0 += 1;
                entry.1.insert(offset);
            }
        }
    }
    let mut rows: Vec<_> = seen.into_iter().collect();
    rows.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    println!("unknown {unknown}");
    for (what, (count, offsets)) in rows.iter().take(40) {
        println!(
            "{count:>7} pointers, {:>4} places{}: {}",
            offsets.len(),
            if facts.escaped(what) { ", escaped" } else { "" },
            names::object(module, *what)
        );
    }
}
