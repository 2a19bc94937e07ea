//! Follows the code of one class of threads with those it created that may be alive.

use std::collections::{BTreeMap, BTreeSet};

use schedules::define_id;
use schedules::ids::{Id, Table};
use schedules::primitives::NodeOp;

use super::joins::Joins;
use super::threads::{Alive, Living, ThreadId, ThreadKind, Threads};
use crate::analysis::Facts;
use crate::analysis::locks::{Site, operation};
use crate::model::{BlockId, FuncId, InstrId, Module};

define_id!(
    /// Functions that some calls may run.
    TargetsId, "targets"
);

/// A call, or an instruction that somebody asks about.
struct Step {
    id: InstrId,
    watched: bool,
    op: Option<NodeOp>,
    targets: Option<TargetsId>,
    /// It may return without running any of the targets.
    may_skip: bool,
}

/// What of the program's functions matters here; the same for all classes.
pub(super) struct Steps<'a> {
    /// By function and block.
    steps: Vec<Vec<Vec<Step>>>,
    targets: Table<TargetsId, &'a [FuncId]>,
    /// The sets that each function is in.
    of_function: Vec<Vec<TargetsId>>,
}

impl<'a> Steps<'a> {
    pub(super) fn of(module: &Module, facts: &'a Facts, watched: &BTreeSet<Site>) -> Self {
        let mut all = Self {
            steps: Vec::new(),
            targets: Table::default(),
            of_function: vec![Vec::new(); module.functions.len()],
        };
        let mut known: BTreeMap<&'a [FuncId], TargetsId> = BTreeMap::new();
        for (func, function) in module.functions.iter() {
            let mut blocks = Vec::new();
            for block in function.blocks.ids() {
                let mut steps = Vec::new();
                for (id, instr) in function.block_instrs(block) {
                    let targets = facts.run_by(func, id);
                    let step = Step {
                        id,
                        watched: watched.contains(&(func, id)),
                        op: operation(module, instr).map(|(op, _)| op),
                        targets: (!targets.is_empty())
                            .then(|| *known.entry(targets).or_insert_with(|| all.open(targets))),
                        may_skip: may_skip(facts, func, id, targets),
                    };
                    if step.watched || step.op.is_some() || step.targets.is_some() {
                        steps.push(step);
                    }
                }
                blocks.push(steps);
            }
            all.steps.push(blocks);
        }
        all
    }

    fn open(&mut self, targets: &'a [FuncId]) -> TargetsId {
        let id = self.targets.push(targets);
        for target in targets {
            self.of_function[target.index()].push(id);
        }
        id
    }

    fn block(&self, func: FuncId, block: BlockId) -> &[Step] {
        &self.steps[func.index()][block.index()]
    }

    fn all(&self, func: FuncId) -> impl Iterator<Item = &Step> {
        self.steps[func.index()].iter().flatten()
    }
}

fn may_skip(facts: &Facts, func: FuncId, call: InstrId, targets: &[FuncId]) -> bool {
    let callees = facts.callees(func, call);
    let called = |target: &FuncId| callees.known.binary_search(target).is_ok();
    let runs = |target: &FuncId| targets.binary_search(target).is_ok();
    callees.unknown || !callees.known.iter().all(runs) || !targets.iter().all(called)
}

/// What may be alive when calls of some functions begin and when they are over.
#[derive(Default)]
pub(super) struct Around {
    entry: Option<Living>,
    exit: Option<Living>,
    callers: BTreeSet<FuncId>,
}

/// Follows one class's code.
pub(super) struct Course<'a> {
    pub(super) module: &'a Module,
    pub(super) facts: &'a Facts,
    pub(super) steps: &'a Steps<'a>,
    pub(super) joins: &'a Joins,
    pub(super) creators: &'a [BTreeSet<ThreadId>],
    /// What may be alive when threads of a class end.
    pub(super) leftover: &'a [Option<BTreeSet<ThreadId>>],
    pub(super) threads: &'a mut Threads,
    pub(super) me: ThreadId,
    /// Functions that create or join, themselves or through what they call.
    pub(super) active: &'a [bool],
    pub(super) entry: BTreeMap<FuncId, Living>,
    pub(super) exit: BTreeMap<FuncId, Living>,
    pub(super) around: BTreeMap<TargetsId, Around>,
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
        let steps = self.steps;
        if !self.active[func.index()] {
            for step in steps.all(func) {
                self.step(func, step, &mut entry.clone(), work);
            }
            self.leave(func, &entry, work);
            return;
        }
        let mut before: BTreeMap<BlockId, Living> = BTreeMap::from([(BlockId(0), entry)]);
        let mut blocks = BTreeSet::from([BlockId(0)]);
        while let Some(block) = blocks.pop_first() {
            let mut living = before[&block].clone();
            let mut here = steps.block(func, block).iter();
            if !here.all(|step| self.step(func, step, &mut living, work)) {
                continue;
            }
            if self.facts.returns(func, block) {
                self.leave(func, &living, work);
            }
            for &next in &function.blocks[block].succs {
                let first = !before.contains_key(&next);
                if merge(before.entry(next).or_default(), &living) || first {
                    blocks.insert(next);
                }
            }
        }
    }

    fn leave(&mut self, func: FuncId, living: &Living, work: &mut BTreeSet<FuncId>) {
        let first = !self.exit.contains_key(&func);
        if !merge(self.exit.entry(func).or_default(), living) && !first {
            return;
        }
        for targets in &self.steps.of_function[func.index()] {
            let around = self.around.entry(*targets).or_default();
            let first = around.exit.is_none();
            if merge(around.exit.get_or_insert_default(), living) || first {
                work.extend(&around.callers);
            }
        }
    }

    /// False if the call does not return, as far as is known now.
    fn step(
        &mut self,
        func: FuncId,
        step: &Step,
        living: &mut Living,
        work: &mut BTreeSet<FuncId>,
    ) -> bool {
        let site = (func, step.id);
        if step.watched || step.op.is_some() {
            let known = self.threads.living.entry((self.me, site));
            known.or_default().extend(living.keys());
        }
        match step.op {
            Some(NodeOp::ThreadCreate) => self.create(site, living),
            Some(NodeOp::ThreadJoin) => self.join(site, living),
            Some(NodeOp::ThreadExit) => self.ends.extend(living.keys()),
            _ => {}
        }
        let Some(targets) = step.targets else {
            return true;
        };
        let around = self.around.entry(targets).or_default();
        around.callers.insert(func);
        let first = around.entry.is_none();
        let news = merge(around.entry.get_or_insert_default(), living) || first;
        let mut after: Option<Living> = step.may_skip.then(|| living.clone());
        if let Some(exit) = &around.exit {
            merge(after.get_or_insert_default(), exit);
        }
        let targets = self.steps.targets[targets];
        if targets.iter().any(|target| !self.active[target.index()]) {
            merge(after.get_or_insert_default(), living);
        }
        if news {
            for &target in targets {
                let first = !self.entry.contains_key(&target);
                if merge(self.entry.entry(target).or_default(), living) || first {
                    work.insert(target);
                }
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
            let count = match living.contains_key(&id) {
                false => Alive::One,
                true => Alive::Many,
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
