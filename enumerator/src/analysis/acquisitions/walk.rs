//! Follows calls from where threads begin, with what is held: every function is walked once for each different set of locks that it is
//! entered with and each different meaning of the arguments that it locks.
//!
//! A function with too many of those gets one more, the join of all that follow.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use schedules::define_id;
use schedules::ids::{Id, Table};
use schedules::primitives::NodeOp;

use super::Named;
use super::held::{Address, Held, State};
use super::operations::{lock_argument, refine, takes, waits};
use super::threads::{ThreadId, Threads, reaching};
use crate::analysis::effects::blocks::is_unknown;
use crate::analysis::effects::events::Key;
use crate::analysis::locks::{Site, operation};
use crate::analysis::{AbstractObject, Facts, Offset};
use crate::model::{BlockId, Call, FuncId, Function, Instr, InstrId, Module, Value};

define_id!(
    /// A function, entered in one way.
    ContextId, "context"
);

/// More ways into one function than this are one.
const MAX_CONTEXTS: usize = 24;

/// What arguments that a function locks may name, by position.
type Bindings = BTreeMap<u32, Rc<Named>>;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) func: FuncId,
    bindings: Bindings,
    state: State,
}

pub(super) struct Context {
    pub(super) entry: Entry,
    /// What is held at its returns, once there is one.
    exit: Option<State>,
    /// Who has to look again when `exit` grows.
    callers: BTreeSet<ContextId>,
    pub(super) calls: BTreeSet<(Site, ContextId)>,
}

/// What is known about a lock operation before it runs.
#[derive(Clone)]
pub(super) struct Point {
    pub(super) op: NodeOp,
    pub(super) locks: Option<Named>,
    pub(super) held: State,
}

pub(super) struct Walk<'a> {
    pub(super) module: &'a Module,
    facts: &'a Facts,
    pub(super) threads: &'a Threads,
    pub(super) single: &'a BTreeSet<AbstractObject>,
    pub(super) contexts: Table<ContextId, Context>,
    known: BTreeMap<Entry, ContextId>,
    per_function: Vec<usize>,
    /// The context that stands for all further ones of a function.
    rest: BTreeMap<FuncId, ContextId>,
    pub(super) roots: BTreeMap<ContextId, BTreeSet<ThreadId>>,
    /// Arguments that a function locks, itself or through what it calls.
    locked_args: Vec<BTreeSet<u32>>,
    /// Functions that synchronize, themselves or through what they call.
    locking: Vec<bool>,
    pub(super) points: BTreeMap<(ContextId, InstrId), Point>,
    work: BTreeSet<ContextId>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        module: &'a Module,
        facts: &'a Facts,
        threads: &'a Threads,
        single: &'a BTreeSet<AbstractObject>,
    ) -> Self {
        let count = module.functions.len();
        let mut walk = Self {
            module,
            facts,
            threads,
            single,
            contexts: Table::default(),
            known: BTreeMap::new(),
            per_function: vec![0; count],
            rest: BTreeMap::new(),
            roots: BTreeMap::new(),
            locked_args: vec![BTreeSet::new(); count],
            locking: reaching(module, facts, |_| true),
            points: BTreeMap::new(),
            work: BTreeSet::new(),
        };
        walk.find_locked_args();
        walk
    }

    pub(super) fn run(&mut self) {
        for (id, thread) in self.threads.all.iter() {
            for &func in &thread.functions {
                if self.module.functions[func].is_declaration() {
                    continue;
                }
                let entry = Entry {
                    func,
                    bindings: Bindings::new(),
                    state: State::default(),
                };
                let context = self.context(entry);
                self.roots.entry(context).or_default().insert(id);
            }
        }
        while let Some(context) = self.work.pop_first() {
            self.function(context);
        }
    }

    /// The context of an entry; joins with others where there are too many.
    fn context(&mut self, entry: Entry) -> ContextId {
        if let Some(&id) = self.known.get(&entry) {
            return id;
        }
        let func = entry.func;
        let count = &mut self.per_function[func.index()];
        if *count < MAX_CONTEXTS {
            *count += 1;
            let id = self.open(entry.clone());
            self.known.insert(entry, id);
            return id;
        }
        let joined = Entry {
            func,
            bindings: Bindings::new(),
            state: forget_addresses(&entry.state),
        };
        let Some(&id) = self.rest.get(&func) else {
            let id = self.open(joined);
            self.rest.insert(func, id);
            return id;
        };
        if self.contexts[id].entry.state.join(&joined.state) {
            self.work.insert(id);
        }
        id
    }

    fn open(&mut self, entry: Entry) -> ContextId {
        let id = self.contexts.push(Context {
            entry,
            exit: None,
            callers: BTreeSet::new(),
            calls: BTreeSet::new(),
        });
        self.work.insert(id);
        id
    }

    fn function(&mut self, context: ContextId) {
        let func = self.contexts[context].entry.func;
        let function = &self.module.functions[func];
        let first = self.contexts[context].entry.state.clone();
        let mut before: BTreeMap<BlockId, State> = BTreeMap::from([(BlockId(0), first)]);
        let mut exit: Option<State> = None;
        let mut blocks = BTreeSet::from([(0, BlockId(0))]);
        let order = |block: BlockId| self.facts.cfg(func).order(block).unwrap_or(u32::MAX);
        while let Some((_, block)) = blocks.pop_first() {
            let mut state = before[&block].clone();
            if !self.block(context, function, block, &mut state) {
                continue;
            }
            if self.facts.returns(func, block) {
                match &mut exit {
                    Some(exit) => {
                        exit.join(&state);
                    }
                    None => exit = Some(state.clone()),
                }
            }
            for &next in &function.blocks[block].succs {
                let state = refine(self.module, function, block, next, &state);
                let changed = match before.get_mut(&next) {
                    Some(known) => known.join(&state),
                    None => {
                        before.insert(next, state);
                        true
                    }
                };
                if changed {
                    blocks.insert((order(next), next));
                }
            }
        }
        if let Some(exit) = exit {
            let known = &mut self.contexts[context].exit;
            let changed = match known {
                Some(known) => known.join(&exit),
                None => {
                    *known = Some(exit);
                    true
                }
            };
            if changed {
                self.work.extend(&self.contexts[context].callers);
            }
        }
    }

    /// Runs a block; false if control does not come to its end, as far as is known now.
    fn block(
        &mut self,
        context: ContextId,
        function: &Function,
        block: BlockId,
        state: &mut State,
    ) -> bool {
        for (id, instr) in function.block_instrs(block) {
            state.recompute(id);
            if instr.call().is_some() && !self.call(context, function, id, instr, state) {
                return false;
            }
        }
        true
    }

    fn call(
        &mut self,
        context: ContextId,
        function: &Function,
        id: InstrId,
        instr: &Instr,
        state: &mut State,
    ) -> bool {
        let func = self.contexts[context].entry.func;
        let call = instr.call().expect("a call");
        if let Some((op, row)) = operation(self.module, instr) {
            let timed = row.symbol.contains("timed") || row.symbol.contains("clock");
            self.primitive(context, function, id, op, timed, call, state);
        }
        let all = self.facts.run_by(self.module, func, id);
        if all.is_empty() {
            self.unseen(func, id, state);
            return true;
        }
        let callees = self.facts.callees(func, id);
        let quiet = |target: &FuncId| !self.locking[target.index()];
        let direct: Vec<FuncId> = all
            .iter()
            .copied()
            .filter(|target| callees.known.contains(target))
            .collect();
        let declared = callees.unknown || direct.len() < callees.known.len();
        if all.iter().all(quiet) {
            // Nothing is locked in there; who gets there with what matters only to what locks.
            self.unseen(func, id, state);
            return true;
        }
        let mut after: Option<State> = declared.then(|| state.clone());
        for target in direct {
            let left = self.enter(context, function, id, call, target, state);
            join(&mut after, left);
        }
        let Some(mut after) = after else {
            return false;
        };
        let others: Vec<FuncId> = all
            .iter()
            .copied()
            .filter(|target| !callees.known.contains(target))
            .collect();
        // Called back any number of times.
        loop {
            let mut next = after.clone();
            for &target in &others {
                if let Some(left) = self.enter(context, function, id, call, target, &after) {
                    next.join(&left);
                }
            }
            if next == after {
                break;
            }
            after = next;
        }
        *state = after;
        self.unseen(func, id, state);
        true
    }

    /// Code we do not see may release what escaped.
    fn unseen(&self, func: FuncId, id: InstrId, state: &mut State) {
        let callees = self.facts.callees(func, id);
        let strange = callees.unknown
            || callees.known.iter().any(|target| {
                let target = &self.module.functions[*target];
                target.is_declaration() && is_unknown(&target.name)
            });
        if !strange {
            return;
        }
        for (held, must) in &mut state.held {
            let places = &held.locks.places;
            *must &=
                !held.locks.unknown && !places.iter().any(|(what, _)| self.facts.escaped(what));
        }
    }

    /// Walks into a function; what is held when it returns, in the caller's words.
    fn enter(
        &mut self,
        context: ContextId,
        function: &Function,
        id: InstrId,
        call: &Call,
        target: FuncId,
        state: &State,
    ) -> Option<State> {
        let caller = self.contexts[context].entry.func;
        let direct = self.facts.callees(caller, id).known.contains(&target);
        let mut addresses: BTreeMap<u32, Address> = BTreeMap::new();
        let mut bindings = Bindings::new();
        if direct {
            for &position in &self.locked_args[target.index()] {
                let Some(value) = call.args.get(position as usize) else {
                    continue;
                };
                bindings.insert(position, Rc::new(self.named(context, value)));
                if let Some(address) = address(function, value) {
                    addresses.insert(position, address);
                }
            }
        }
        let inside = |held: &Held| -> Option<Address> {
            let mine = held.address.as_ref()?;
            addresses.iter().find_map(|(position, given)| {
                let fits =
                    mine.loads == given.loads || self.stable(caller, &mine.loads, &given.loads);
                let key = mine.key.relative(&given.key).filter(|_| fits)?;
                Some(Address {
                    key: Key::Arg(*position).moved(key),
                    loads: Vec::new(),
                })
            })
        };
        let mut entry = State::default();
        for (held, must) in &state.held {
            let known = entry.held.entry(held.at(inside(held))).or_insert(false);
            *known |= *must;
        }
        let next = self.context(Entry {
            func: target,
            bindings,
            state: entry,
        });
        self.contexts[next].callers.insert(context);
        self.contexts[context].calls.insert(((caller, id), next));
        let exit = self.contexts[next].exit.as_ref()?;
        let mut after = State::default();
        for (held, must) in &exit.held {
            let before: Vec<&Held> = state.held.keys().filter(|old| old.same(held)).collect();
            if before.is_empty() {
                let outside = held.address.as_ref().and_then(|address| {
                    let (position, offset) = address.key.of_arg()?;
                    let given = addresses.get(&position)?;
                    Some(Address {
                        key: given.key.clone().moved(offset),
                        loads: given.loads.clone(),
                    })
                });
                after.held.insert(held.at(outside), *must);
            }
            for old in before {
                after.held.insert(old.clone(), *must && state.held[old]);
            }
        }
        Some(after)
    }

    #[allow(clippy::too_many_arguments)]
    fn primitive(
        &mut self,
        context: ContextId,
        function: &Function,
        id: InstrId,
        op: NodeOp,
        timed: bool,
        call: &Call,
        state: &mut State,
    ) {
        let func = self.contexts[context].entry.func;
        let place = lock_argument(op).and_then(|position| call.args.get(position));
        let locks = place.map(|lock| self.named(context, lock));
        let point = Point {
            op,
            locks: locks.clone(),
            held: state.clone(),
        };
        let known = self.points.entry((context, id));
        known
            .and_modify(|known| {
                known.held.join(state);
            })
            .or_insert(point);
        let (Some(locks), Some(place)) = (locks, place) else {
            return;
        };
        let is_one = |named: &Named| is_one(self.single, named);
        let address = address(function, place);
        if let Some(shared) = takes(op) {
            let held = Held {
                site: (func, id),
                locks: Rc::new(locks),
                address,
                shared,
                depth: 0,
            };
            state.take(held, waits(op) && !timed, &is_one);
        } else if matches!(
            op,
            NodeOp::MutexUnlock | NodeOp::RwUnlock | NodeOp::SpinUnlock
        ) {
            state.release(&locks, address.as_ref(), &is_one, &|a, b| {
                self.stable(func, a, b)
            });
        }
    }

    /// What a lock's address may name in this context.
    fn named(&self, context: ContextId, value: &Value) -> Named {
        let entry = &self.contexts[context].entry;
        let function = &self.module.functions[entry.func];
        let found = self.facts.points_to(entry.func, value);
        let mut named = Named {
            places: found.places.into_iter().collect(),
            unknown: found.unknown,
        };
        let bound = address(function, value)
            .and_then(|address| address.key.of_arg())
            .and_then(|(position, offset)| Some((entry.bindings.get(&position)?, offset)))
            .filter(|(bound, _)| !bound.unknown);
        if let Some((bound, offset)) = bound {
            named.places.retain(|(what, at)| {
                bound.places.iter().any(|(object, base)| {
                    object == what
                        && match (base, at) {
                            (Offset::Exact(base), Offset::Exact(at)) => {
                                base.checked_add_signed(offset) == Some(*at)
                            }
                            _ => true,
                        }
                })
            });
            named.unknown = false;
        }
        named
    }

    /// False if what the loads read may be written during a call of the function.
    pub(super) fn stable(&self, func: FuncId, a: &[InstrId], b: &[InstrId]) -> bool {
        let written = &self.facts.effects(func).mods;
        a.iter().chain(b).all(|load| {
            let read = self.facts.instr_effects(self.module, func, *load).refs;
            !read.overlaps(written, |object| self.facts.escaped(object))
        })
    }

    fn find_locked_args(&mut self) {
        let mut changed = true;
        while changed {
            changed = false;
            for (func, function) in self.module.functions.iter() {
                for (id, instr) in function.instrs.iter() {
                    let Some(call) = instr.call() else { continue };
                    let mut positions: Vec<u32> = Vec::new();
                    if let Some((op, _)) = operation(self.module, instr) {
                        positions.extend(lock_argument(op).map(|position| position as u32));
                    }
                    for target in &self.facts.callees(func, id).known {
                        positions.extend(&self.locked_args[target.index()]);
                    }
                    for position in positions {
                        let value = call.args.get(position as usize);
                        let arg = value
                            .and_then(|value| address(function, value))
                            .and_then(|address| address.key.of_arg());
                        if let Some((arg, _)) = arg {
                            changed |= self.locked_args[func.index()].insert(arg);
                        }
                    }
                }
            }
        }
    }
}

fn join(into: &mut Option<State>, from: Option<State>) {
    match (into, from) {
        (Some(known), Some(from)) => {
            known.join(&from);
        }
        (into @ None, from) => *into = from,
        (Some(_), None) => {}
    }
}

fn forget_addresses(state: &State) -> State {
    let mut plain = State::default();
    for (held, must) in &state.held {
        let known = plain.held.entry(held.at(None)).or_insert(false);
        *known |= *must;
    }
    plain
}

pub(super) fn is_one(single: &BTreeSet<AbstractObject>, named: &Named) -> bool {
    named.places.len() == 1
        && !named.unknown
        && named
            .places
            .iter()
            .all(|(what, at)| matches!(at, Offset::Exact(_)) && single.contains(what))
}

pub(super) fn address(function: &Function, value: &Value) -> Option<Address> {
    let mut loads = Vec::new();
    let key = Key::of(function, value, &mut loads)?;
    Some(Address { key, loads })
}
