//! Prints how large a module is, how long its facts take and how precise they are: one line per bitcode file.

use std::time::Instant;

use enumerator::analysis::{Facts, SyncEffect};
use enumerator::model::load::load;
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
    }
}
