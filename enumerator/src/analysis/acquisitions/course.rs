//! Follows the code of one class of threads with those it created that may be alive.

use std::collections::{BTreeMap, BTreeSet};

use schedules::ids::Id;
use schedules::primitives::NodeOp;

use super::joins::Joins;
use super::threads::{Alive, Living, ThreadId, ThreadKind, Threads};
use crate::analysis::Facts;
use crate::analysis::locks::{Site, operation};
use crate::model::{BlockId, FuncId, Instr, InstrId, Module};

/// Follows one class's code.
pub(super) struct Course<'a> {
    pub(super) module: &'a Module,
    pub(super) facts: &'a Facts,
    pub(super) joins: &'a Joins,
    pub(super) creators: &'a [BTreeSet<ThreadId>],
    /// What may be alive when threads of a class end.
    pub(super) leftover: &'a [Option<BTreeSet<ThreadId>>],
    pub(super) threads: &'a mut Threads,
    pub(super) me: ThreadId,
    pub(super) watched: &'a BTreeSet<Site>,
    /// Functions that create or join, themselves or through what they call.
    pub(super) active: &'a [bool],
    pub(super) entry: BTreeMap<FuncId, Living>,
    pub(super) exit: BTreeMap<FuncId, Living>,
    pub(super) callers: BTreeMap<FuncId, BTreeSet<FuncId>>,
    pub(super) ends: BTreeSet<ThreadId>,
}

impl Course<'_> {
    /// What may be alive when the thread ends.
    pub(super) fn run(&mut self) -> BTreeSet<ThreadId> {
        let mut work = BTreeSet::new();
        let first = self.threads.all[self.me].functions.clone();
        for &func in &first {
            self.entry.insert(func, Living::new());
            work.insert(func);
        }
        while let Some(func) = work.pop_first() {
            if !self.module.functions[func].is_declaration() {
                self.function(func, &mut work);
            }
        }
        for func in first {
            self.ends
                .extend(self.exit.get(&func).into_iter().flat_map(BTreeMap::keys));
        }
        std::mem::take(&mut self.ends)
    }

    fn function(&mut self, func: FuncId, work: &mut BTreeSet<FuncId>) {
        let function = &self.module.functions[func];
        let entry = self.entry[&func].clone();
        if !self.active[func.index()] {
            for (id, instr) in function.instrs.iter() {
                self.watch((func, id), &entry);
                if instr.call().is_some() {
                    self.call(func, id, instr, &mut entry.clone(), work);
                }
            }
            self.leave(func, &entry, work);
            return;
        }
        let mut before: BTreeMap<BlockId, Living> = BTreeMap::from([(BlockId(0), entry)]);
        let mut blocks = BTreeSet::from([BlockId(0)]);
        while let Some(block) = blocks.pop_first() {
            let mut living = before[&block].clone();
            let mut ended = false;
            for (id, instr) in function.block_instrs(block) {
                self.watch((func, id), &living);
                if instr.call().is_some() && !self.call(func, id, instr, &mut living, work) {
                    ended = true;
                    break;
                }
            }
            if ended {
                continue;
            }
            if self.facts.returns(func, block) {
                self.leave(func, &living, work);
            }
            for &next in &function.blocks[block].succs {
                let mut living = living.clone();
                self.joins.edge(func, block, next, &mut living);
                let first = !before.contains_key(&next);
                if merge(before.entry(next).or_default(), &living) || first {
                    blocks.insert(next);
                }
            }
        }
    }

    fn watch(&mut self, site: Site, living: &Living) {
        if self.watched.contains(&site) {
            let known = self.threads.living.entry((self.me, site));
            known.or_default().extend(living.keys());
        }
    }

    fn leave(&mut self, func: FuncId, living: &Living, work: &mut BTreeSet<FuncId>) {
        let first = !self.exit.contains_key(&func);
        if merge(self.exit.entry(func).or_default(), living) || first {
            work.extend(self.callers.get(&func).into_iter().flatten());
        }
    }

    /// False if the call does not return, as far as is known now.
    fn call(
        &mut self,
        func: FuncId,
        id: InstrId,
        instr: &Instr,
        living: &mut Living,
        work: &mut BTreeSet<FuncId>,
    ) -> bool {
        if let Some((op, _)) = operation(self.module, instr) {
            let known = self.threads.living.entry((self.me, (func, id)));
            known.or_default().extend(living.keys());
            match op {
                NodeOp::ThreadCreate => self.create((func, id), living),
                NodeOp::ThreadJoin => self.join((func, id), living),
                NodeOp::ThreadExit => self.ends.extend(living.keys()),
                _ => {}
            }
        }
        let targets = self.facts.run_by(self.module, func, id);
        let callees = self.facts.callees(func, id);
        let may_skip = callees.unknown
            || callees.known.iter().any(|target| !targets.contains(target))
            || targets.iter().any(|target| !callees.known.contains(target));
        let mut after: Option<Living> = (targets.is_empty() || may_skip).then(|| living.clone());
        for target in targets {
            self.callers.entry(target).or_default().insert(func);
            let first = !self.entry.contains_key(&target);
            if merge(self.entry.entry(target).or_default(), living) || first {
                work.insert(target);
            }
            if !self.active[target.index()] {
                merge(after.get_or_insert_default(), living);
            } else if let Some(exit) = self.exit.get(&target) {
                merge(after.get_or_insert_default(), exit);
            }
        }
        let Some(after) = after else { return false };
        *living = after;
        true
    }

    fn create(&mut self, site: Site, living: &mut Living) {
        let ids = self.threads.all.ids();
        let created: Vec<ThreadId> = ids
            .filter(|id| self.threads.all[*id].kind == ThreadKind::Created(site))
            .collect();
        for &id in &created {
            let family: Vec<ThreadId> = self.threads.below[id.index()]
                .iter()
                .copied()
                .chain([id])
                .collect();
            for &other in living.keys() {
                for &member in &family {
                    self.threads.note(other, member);
                }
            }
        }
        for id in created {
            let again = living.contains_key(&id);
            let batch = self.joins.in_batch(id) && living.get(&id) != Some(&Alive::Many);
            let count = match (again, batch) {
                (false, _) => Alive::One,
                (true, true) => Alive::Batch,
                (true, false) => Alive::Many,
            };
            living.insert(id, count);
            for &below in &self.threads.below[id.index()] {
                living.insert(below, Alive::Many);
            }
        }
    }

    fn join(&mut self, site: Site, living: &mut Living) {
        let Some(candidates) = self.joins.single(site) else {
            return;
        };
        // Who creates one of several must be followed here, or it is not known which was created last.
        let mine = BTreeSet::from([self.me]);
        let followed = |id: &ThreadId| self.creators[id.index()] == mine;
        if candidates.len() > 1 && !candidates.iter().all(followed) {
            return;
        }
        let mut alive = candidates.iter().filter(|id| living.contains_key(id));
        if let (Some(&id), None) = (alive.next(), alive.next())
            && living.get(&id) == Some(&Alive::One)
        {
            self.dead(id, living);
        }
    }

    /// A class is gone, with those that only it creates and that it does not leave behind.
    fn dead(&self, id: ThreadId, living: &mut Living) {
        living.remove(&id);
        let Some(left) = &self.leftover[id.index()] else {
            return;
        };
        for below in &self.threads.below[id.index()] {
            if !left.contains(below) && self.creators[below.index()] == BTreeSet::from([id]) {
                living.remove(below);
            }
        }
    }
}

/// Adds what may be alive on another way; true if that is news.
fn merge(into: &mut Living, from: &Living) -> bool {
    let mut news = false;
    for (&id, &count) in from {
        match into.get_mut(&id) {
            Some(known) if *known >= count => {}
            Some(known) => {
                *known = count;
                news = true;
            }
            None => {
                into.insert(id, count);
                news = true;
            }
        }
    }
    news
}
