//! Which locks a site may name, which may be held there, and which is taken under which.
//!
//! **Guarantee.** If a thread holds a lock when it executes a site, the lock's place is in [`Locks::held`] of that site, unless its
//! address is unknown: then the site is in [`Locks::unknown`]. A lock leaves the set only at a release that surely names the same
//! address: computed the same way in the same function from values that do not change in between, or one exact place of a global.
//!
//! Deliberately absent: must-held sets, and recursion depth of recursive mutexes.

use std::collections::{BTreeMap, BTreeSet};

use schedules::ids::Id;
use schedules::primitives::{self, NodeOp, Policy};

use super::effects::events::Key;
use super::{AbstractObject, Facts, Offset};
use crate::model::{BlockId, Callee, FuncId, Function, Instr, InstrId, Module, Value};

/// A lock: an object and where in it.
pub type LockPlace = (AbstractObject, Offset);

/// A program point.
pub type Site = (FuncId, InstrId);

/// Locks by site.
#[derive(Clone, Debug, Default)]
pub struct Locks {
    /// What each operation on a lock may name.
    pub named: BTreeMap<Site, BTreeSet<LockPlace>>,
    /// What may be held before each synchronization call.
    pub held: BTreeMap<Site, BTreeSet<LockPlace>>,
    /// Outer lock, inner lock, and the sites that take the inner one.
    pub nesting: BTreeMap<(LockPlace, LockPlace), BTreeSet<Site>>,
    /// Sites that may take a lock nobody can name.
    pub unknown: BTreeSet<Site>,
}

/// A lock that may be held, and how its address was computed where it was taken in this function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    key: Option<(Key, Vec<InstrId>)>,
    places: BTreeSet<LockPlace>,
}

type State = BTreeSet<Entry>;

/// The operation of a call of an enforced primitive.
pub fn operation(
    module: &Module,
    instr: &Instr,
) -> Option<(NodeOp, &'static primitives::Primitive)> {
    let Callee::Direct(target) = instr.call()?.callee else {
        return None;
    };
    let (_, row) = primitives::lookup(&module.functions[target].name)?;
    (row.policy == Policy::Enforced).then_some((row.op, row))
}

impl Locks {
    pub fn of(module: &Module, facts: &Facts) -> Self {
        let count = module.functions.len();
        let mut walk = Walk {
            module,
            facts,
            entry: vec![BTreeSet::new(); count],
            leaves: vec![BTreeSet::new(); count],
            callers: vec![BTreeSet::new(); count],
            locks: Locks::default(),
        };
        let mut work: BTreeSet<FuncId> = module.functions.ids().collect();
        while let Some(func) = work.pop_first() {
            if !module.functions[func].is_declaration() {
                walk.function(func, &mut work);
            }
        }
        walk.locks
    }
}

struct Walk<'a> {
    module: &'a Module,
    facts: &'a Facts,
    /// What may be held when a function is called.
    entry: Vec<BTreeSet<LockPlace>>,
    /// What a function may leave held that it took itself.
    leaves: Vec<BTreeSet<LockPlace>>,
    callers: Vec<BTreeSet<FuncId>>,
    locks: Locks,
}

impl Walk<'_> {
    fn function(&mut self, func: FuncId, work: &mut BTreeSet<FuncId>) {
        let function = &self.module.functions[func];
        let mut before: BTreeMap<BlockId, State> = BTreeMap::from([(BlockId(0), State::new())]);
        let mut left: BTreeSet<LockPlace> = BTreeSet::new();
        let mut blocks = BTreeSet::from([BlockId(0)]);
        while let Some(block) = blocks.pop_first() {
            let mut state = before[&block].clone();
            for (id, instr) in function.block_instrs(block) {
                self.instr(func, function, id, instr, &mut state, work);
            }
            if self.facts.returns(func, block) {
                left.extend(state.iter().flat_map(|entry| &entry.places));
            }
            for &next in &function.blocks[block].succs {
                let first = !before.contains_key(&next);
                let known = before.entry(next).or_default();
                let size = known.len();
                known.extend(state.iter().cloned());
                if first || known.len() > size {
                    blocks.insert(next);
                }
            }
        }
        if !left.is_subset(&self.leaves[func.index()]) {
            self.leaves[func.index()].extend(left);
            work.extend(&self.callers[func.index()]);
        }
    }

    fn instr(
        &mut self,
        func: FuncId,
        function: &Function,
        id: InstrId,
        instr: &Instr,
        state: &mut State,
        work: &mut BTreeSet<FuncId>,
    ) {
        let Some(call) = instr.call() else { return };
        if let Some((op, _)) = operation(self.module, instr) {
            self.note_held(func, id, state);
            match (op, call.args.first()) {
                (
                    NodeOp::MutexLock
                    | NodeOp::MutexTryLock
                    | NodeOp::MutexTimedLock
                    | NodeOp::RwReadLock
                    | NodeOp::RwWriteLock
                    | NodeOp::RwTryReadLock
                    | NodeOp::RwTryWriteLock
                    | NodeOp::RwTimedReadLock
                    | NodeOp::RwTimedWriteLock
                    | NodeOp::SpinLock
                    | NodeOp::SpinTryLock,
                    Some(lock),
                ) => self.take(func, function, id, lock, state),
                (NodeOp::MutexUnlock | NodeOp::RwUnlock | NodeOp::SpinUnlock, Some(lock)) => {
                    let places = self.places(func, id, lock);
                    self.locks
                        .named
                        .entry((func, id))
                        .or_default()
                        .extend(&places);
                    self.release(func, function, lock, &places, state);
                }
                _ => {}
            }
        }
        for target in self.facts.run_by(self.module, func, id) {
            self.callers[target.index()].insert(func);
            let held: BTreeSet<LockPlace> = self.entry[func.index()]
                .iter()
                .chain(state.iter().flat_map(|entry| &entry.places))
                .copied()
                .collect();
            if !held.is_subset(&self.entry[target.index()]) {
                self.entry[target.index()].extend(held);
                work.insert(target);
            }
            for &place in &self.leaves[target.index()] {
                state.insert(Entry {
                    key: None,
                    places: BTreeSet::from([place]),
                });
            }
        }
    }

    fn note_held(&mut self, func: FuncId, id: InstrId, state: &State) {
        let held = self.locks.held.entry((func, id)).or_default();
        held.extend(&self.entry[func.index()]);
        held.extend(state.iter().flat_map(|entry| &entry.places));
    }

    fn places(&mut self, func: FuncId, id: InstrId, lock: &Value) -> BTreeSet<LockPlace> {
        let found = self.facts.points_to(func, lock);
        if found.unknown {
            self.locks.unknown.insert((func, id));
        }
        found.places.into_iter().collect()
    }

    fn take(
        &mut self,
        func: FuncId,
        function: &Function,
        id: InstrId,
        lock: &Value,
        state: &mut State,
    ) {
        let places = self.places(func, id, lock);
        let held = self.locks.held[&(func, id)].clone();
        for &outer in &held {
            for &inner in &places {
                self.locks
                    .nesting
                    .entry((outer, inner))
                    .or_default()
                    .insert((func, id));
            }
        }
        self.locks
            .named
            .entry((func, id))
            .or_default()
            .extend(&places);
        let mut loads = Vec::new();
        let key = Key::of(function, lock, &mut loads).map(|key| (key, loads));
        state.insert(Entry { key, places });
    }

    fn release(
        &self,
        func: FuncId,
        function: &Function,
        lock: &Value,
        places: &BTreeSet<LockPlace>,
        state: &mut State,
    ) {
        let mut loads = Vec::new();
        let key = Key::of(function, lock, &mut loads);
        let exact = places.len() == 1 && places.iter().all(|(object, offset)| {
            matches!(object, AbstractObject::Global(id) if !self.module.globals[*id].thread_local)
                && matches!(offset, Offset::Exact(_))
        });
        state.retain(|entry| {
            if exact && entry.places == *places {
                return false;
            }
            match (&entry.key, &key) {
                (Some((taken, through)), Some(released)) => {
                    taken != released
                        || (*through != loads && self.unstable(func, function, through, &loads))
                }
                _ => true,
            }
        });
    }

    /// True if what the loads read may be written during a call of the function.
    fn unstable(&self, func: FuncId, function: &Function, a: &[InstrId], b: &[InstrId]) -> bool {
        let written = &self.facts.effects(func).mods;
        a.iter().chain(b).any(|load| {
            let read = self.facts.instr_effects(self.module, func, *load).refs;
            debug_assert!(function.instrs.get(*load).is_some());
            read.overlaps(written, |object| self.facts.escaped(object))
        })
    }
}
