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
use super::callbacks::Callbacks;
use super::held::{Address, AddressId, Held, NamedId, Names, State, same_hold};
use super::operations::{lock_argument, refine, takes, waits};
use super::threads::{ThreadId, Threads, reaching};
use crate::analysis::effects::blocks::is_unknown;
use crate::analysis::effects::events::Key;
use crate::analysis::locks::{LockPlace, Site, operation};
use crate::analysis::{AbstractObject, Facts, Offset};
use crate::model::{BlockId, Call, FuncId, Function, Instr, InstrId, Module, Value};

define_id!(
    /// A function, entered in one way.
    ContextId, "context"
);

/// More ways into one function than this are one.
const MAX_CONTEXTS: usize = 8;

/// What arguments that a function locks may name, by position.
type Bindings = BTreeMap<u32, NamedId>;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) func: FuncId,
    bindings: Bindings,
    state: State,
}

pub(super) struct Context {
    pub(super) entry: Entry,
    /// What is held at its returns, once there is one.
    pub(super) exit: Option<State>,
    /// Who has to look again when `exit` grows.
    callers: BTreeSet<ContextId>,
    pub(super) calls: BTreeSet<(Site, ContextId)>,
}

/// What is known about a lock operation before it runs.
#[derive(Clone)]
pub(super) struct Point {
    pub(super) op: NodeOp,
    pub(super) locks: Option<NamedId>,
    pub(super) held: State,
}

/// What a call may run, of what synchronizes.
struct Targets {
    /// Functions that the call itself names.
    direct: Vec<FuncId>,
    /// Functions that may be called back from there.
    back: Vec<FuncId>,
    /// Code we do not see may run.
    strange: bool,
    /// Something else may run that does not synchronize.
    skips: bool,
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
    /// Sites that are no synchronization, but that somebody asks about, and what may be held there.
    watched: &'a BTreeSet<Site>,
    pub(super) seen: BTreeMap<(ContextId, InstrId), State>,
    work: BTreeSet<ContextId>,
    pub(super) names: Names,
    /// What calls may run.
    targets: BTreeMap<Site, Rc<Targets>>,
    /// Instructions by function that matter to the walk: calls that synchronize, or that code we do not see gets.
    calls: BTreeMap<FuncId, Rc<[bool]>>,
    /// Whether loads of a function read what no call of it writes.
    steady: BTreeMap<Site, bool>,
    /// What may be held where code we do not see calls back, as far as earlier walks know, and as this one finds it.
    outside: State,
    seen_outside: State,
    callbacks: Callbacks,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        module: &'a Module,
        facts: &'a Facts,
        threads: &'a Threads,
        single: &'a BTreeSet<AbstractObject>,
        watched: &'a BTreeSet<Site>,
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
            locking: reaching(module, facts, |_| true, watched),
            points: BTreeMap::new(),
            watched,
            seen: BTreeMap::new(),
            work: BTreeSet::new(),
            names: Names::default(),
            targets: BTreeMap::new(),
            calls: BTreeMap::new(),
            steady: BTreeMap::new(),
            outside: State::default(),
            seen_outside: State::default(),
            callbacks: Callbacks::default(),
        };
        walk.find_locked_args();
        walk
    }

    /// Walks until what may be held around code we do not see is known; that code may call back with all of it.
    pub(super) fn run(&mut self) {
        loop {
            self.walk_all();
            if !self.outside.join(&std::mem::take(&mut self.seen_outside)) {
                return;
            }
            self.forget();
        }
    }

    fn walk_all(&mut self) {
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
        // The newest first: what a function calls is known before the function is looked at again.
        while let Some(context) = self.work.pop_last() {
            self.function(context);
        }
    }

    /// Forgets all contexts: they were walked with too little held outside.
    fn forget(&mut self) {
        self.contexts = Table::default();
        self.known.clear();
        self.per_function.fill(0);
        self.rest.clear();
        self.roots.clear();
        self.points.clear();
        self.seen.clear();
        self.callbacks.forget();
    }

    /// The context of an entry; joins with others where there are too many.
    fn context(&mut self, entry: Entry) -> ContextId {
        if let Some(&id) = self.known.get(&entry) {
            return id;
        }
        let count = &mut self.per_function[entry.func.index()];
        if *count >= MAX_CONTEXTS {
            return self.joined(&entry);
        }
        *count += 1;
        let id = self.open(entry.clone());
        self.known.insert(entry, id);
        id
    }

    /// The context that stands for many entries of a function.
    fn joined(&mut self, entry: &Entry) -> ContextId {
        let func = entry.func;
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
                self.callbacks
                    .changed(context, &self.contexts, &mut self.work);
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
        let func = self.contexts[context].entry.func;
        let calls = self.calls(func, function);
        for (id, instr) in function.block_instrs(block) {
            if !state.held.is_empty() && self.names.is_mentioned(id) {
                state.recompute(id, &self.names);
            }
            if !self.watched.is_empty() && self.watched.contains(&(func, id)) {
                let known = self.seen.entry((context, id));
                let known = known.or_insert_with(|| state.clone());
                known.join(state);
            }
            if calls[id.index()] && !self.call(context, function, id, instr, state) {
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
        let targets = self.targets(func, id);
        let mut after: Option<State> = targets.skips.then(|| state.clone());
        for target in &targets.direct {
            let left = self.enter(context, function, id, call, *target, state);
            join(&mut after, left);
        }
        let Some(mut after) = after else {
            return false;
        };
        // Called back any number of times.
        if !targets.back.is_empty() {
            self.called_back(context, (func, id), &targets.back, &mut after);
            let around = after.held.keys();
            let around = around.map(|held| (held.at(None), false));
            self.seen_outside.held.extend(around);
        }
        *state = after;
        if targets.strange {
            self.unseen(state);
        }
        true
    }

    /// Which instructions of a function are calls that matter.
    fn calls(&mut self, func: FuncId, function: &Function) -> Rc<[bool]> {
        if let Some(known) = self.calls.get(&func) {
            return known.clone();
        }
        let matter: Rc<[bool]> = function
            .instrs
            .iter()
            .map(|(id, instr)| {
                instr.call().is_some() && {
                    let targets = self.targets(func, id);
                    operation(self.module, instr).is_some()
                        || targets.strange
                        || !targets.direct.is_empty()
                        || !targets.back.is_empty()
                }
            })
            .collect();
        self.calls.insert(func, matter.clone());
        matter
    }

    fn targets(&mut self, func: FuncId, id: InstrId) -> Rc<Targets> {
        if let Some(known) = self.targets.get(&(func, id)) {
            return known.clone();
        }
        let callees = self.facts.callees(func, id);
        let all = self.facts.run_by(self.module, func, id).into_iter();
        let (direct, back): (Vec<FuncId>, Vec<FuncId>) = all
            .filter(|target| self.locking[target.index()])
            .partition(|target| callees.known.contains(target));
        let targets = Rc::new(Targets {
            skips: callees.unknown || direct.len() < callees.known.len(),
            strange: callees.unknown
                || callees.known.iter().any(|target| {
                    let target = &self.module.functions[*target];
                    target.is_declaration() && is_unknown(&target.name)
                }),
            direct,
            back,
        });
        self.targets.insert((func, id), targets.clone());
        targets
    }

    /// Functions that the library calls; what is held afterwards. They are entered with all that is held around code
    /// we do not see anywhere.
    fn called_back(
        &mut self,
        context: ContextId,
        site: Site,
        targets: &[FuncId],
        state: &mut State,
    ) {
        let group = match self.callbacks.known(targets) {
            Some(group) => group,
            None => {
                let entered = targets.iter().map(|&func| {
                    let next = self.context(Entry {
                        func,
                        bindings: Bindings::new(),
                        state: self.outside.clone(),
                    });
                    (next, func)
                });
                let members = entered.collect();
                self.callbacks
                    .open(self.facts, targets, members, &self.contexts)
            }
        };
        if self.callbacks.is_new(group, context, site) {
            let members = self.callbacks.members(group);
            let calls = members.iter().map(|(next, _)| (site, *next));
            self.contexts[context].calls.extend(calls);
        }
        self.callbacks.apply(group, state);
    }

    /// Code we do not see may release what escaped.
    fn unseen(&self, state: &mut State) {
        for (held, must) in &mut state.held {
            let locks = &self.names.named[held.locks];
            let escaped = locks
                .places
                .iter()
                .any(|(what, _)| self.facts.escaped(what));
            *must &= !locks.unknown && !escaped;
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
        let mut addresses: BTreeMap<u32, Address> = BTreeMap::new();
        let mut bindings = Bindings::new();
        for position in self.locked_args[target.index()].clone() {
            let Some(value) = call.args.get(position as usize) else {
                continue;
            };
            bindings.insert(position, self.named(context, value));
            if let Some(address) = address(function, value) {
                addresses.insert(position, address);
            }
        }
        let mut entry = State::default();
        for (held, must) in &state.held {
            let inside = self.inside(caller, held, &addresses);
            entry.add(held.at(inside), *must);
        }
        let next = self.context(Entry {
            func: target,
            bindings,
            state: entry,
        });
        self.contexts[next].callers.insert(context);
        self.contexts[context].calls.insert(((caller, id), next));
        let exit = self.contexts[next].exit.clone()?;
        let mut after = State::default();
        for (held, must) in &exit.held {
            let mut known = false;
            for (old, before) in state.held.iter().filter(|(old, _)| same_hold(old, held)) {
                after.held.insert(*old, *must && *before);
                known = true;
            }
            if !known {
                let outside = self.outside(held, &addresses);
                after.held.insert(held.at(outside), *must);
            }
        }
        Some(after)
    }

    /// A hold's address in the words of the function that is called.
    fn inside(
        &mut self,
        caller: FuncId,
        held: &Held,
        addresses: &BTreeMap<u32, Address>,
    ) -> Option<AddressId> {
        let mine = self.names.addresses[held.address?].clone();
        for (position, given) in addresses {
            let Some(distance) = mine.key.relative(&given.key) else {
                continue;
            };
            if mine.loads == given.loads || self.stable(caller, &mine.loads, &given.loads) {
                return Some(self.names.address(Address {
                    key: Key::Arg(*position).moved(distance),
                    loads: Vec::new(),
                }));
            }
        }
        None
    }

    /// The address of a lock that a called function took, in the words of its caller.
    fn outside(&mut self, held: &Held, addresses: &BTreeMap<u32, Address>) -> Option<AddressId> {
        let (position, offset) = self.names.addresses[held.address?].key.of_arg()?;
        let given = addresses.get(&position)?;
        let address = Address {
            key: given.key.clone().moved(offset),
            loads: given.loads.clone(),
        };
        Some(self.names.address(address))
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
            locks,
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
        let address = address(function, place).map(|address| self.names.address(address));
        if let Some(shared) = takes(op) {
            let held = Held {
                site: (func, id),
                locks,
                address,
                shared,
                depth: 0,
            };
            state.take(held, waits(op) && !timed, &self.names);
        } else if matches!(
            op,
            NodeOp::MutexUnlock | NodeOp::RwUnlock | NodeOp::SpinUnlock
        ) {
            self.release(func, locks, address, state);
        }
    }

    /// Takes out of a state what a release in a function surely names.
    pub(super) fn release(
        &mut self,
        func: FuncId,
        locks: NamedId,
        address: Option<AddressId>,
        state: &mut State,
    ) {
        let mut names = std::mem::take(&mut self.names);
        state.release(locks, address, &mut names, &mut |a, b| {
            self.stable(func, a, b)
        });
        self.names = names;
    }

    /// What a lock's address may name in this context.
    fn named(&mut self, context: ContextId, value: &Value) -> NamedId {
        let entry = &self.contexts[context].entry;
        let function = &self.module.functions[entry.func];
        let found = self.facts.points_to(entry.func, value);
        let mut named = Named {
            places: found.places.into_iter().collect(),
            unknown: found.unknown,
        };
        let bound = address(function, value)
            .and_then(|address| address.key.of_arg())
            .and_then(|(position, offset)| Some((*entry.bindings.get(&position)?, offset)))
            .map(|(bound, offset)| (&self.names.named[bound], offset))
            .filter(|(bound, _)| !bound.unknown);
        if let Some((bound, offset)) = bound {
            named.places.retain(|place| reached(bound, offset, place));
            named.unknown = false;
        }
        self.names.locks(named, self.single)
    }

    /// False if what the loads read may be written during a call of the function.
    fn stable(&mut self, func: FuncId, a: &[InstrId], b: &[InstrId]) -> bool {
        a.iter().chain(b).all(|load| {
            *self.steady.entry((func, *load)).or_insert_with(|| {
                let read = self.facts.instr_effects(self.module, func, *load).refs;
                let written = &self.facts.effects(func).mods;
                !read.overlaps(written, |object| self.facts.escaped(object))
            })
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
        plain.add(held.at(None), *must);
    }
    plain
}

/// True if the place may be `offset` bytes from one of those that the base names.
fn reached(base: &Named, offset: i64, place: &LockPlace) -> bool {
    base.places.iter().any(|(object, at)| {
        *object == place.0
            && match (at, place.1) {
                (Offset::Exact(at), Offset::Exact(there)) => {
                    at.checked_add_signed(offset) == Some(there)
                }
                _ => true,
            }
    })
}

pub(super) fn address(function: &Function, value: &Value) -> Option<Address> {
    let mut loads = Vec::new();
    let key = Key::of(function, value, &mut loads)?;
    Some(Address { key, loads })
}
