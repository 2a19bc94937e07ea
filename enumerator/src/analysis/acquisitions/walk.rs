//! Follows calls from where threads begin, with what is held: every function is walked once for each different set of locks that it is
//! entered with and each different meaning of the arguments that it locks.
//!
//! A function with too many of those gets one more, the join of all that follow: what it was entered with goes back to those callers
//! only that had it. What a call runs is followed before what comes after the call, so that most functions are looked at once.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use schedules::define_id;
use schedules::ids::{Id, Table};
use schedules::primitives::NodeOp;

use super::Named;
use super::callbacks::{Callbacks, GroupId};
use super::held::{DEEPEST, Grip, Held, State};
use super::names::{Address, AddressId, HeldId, NamedId, Names};
use super::operations::{lock_argument, takes, waits};
use super::plan::{CallPlan, Plan, Planner, Step};
use super::threads::{ThreadId, Threads, reaching};
use crate::analysis::components::components;
use crate::analysis::effects::events::Key;
use crate::analysis::locks::{LockPlace, Site, operation};
use crate::analysis::{AbstractObject, Facts, Offset};
use crate::model::{BlockId, Call, FuncId, Function, InstrId, Module, Value};

mod calls;

define_id!(
    /// A function, entered in one way.
    ContextId, "context"
);

/// More ways into one function than this are one.
const MAX_CONTEXTS: usize = 8;

/// Calls deeper than this wait until their callers are through.
const MAX_DEPTH: usize = 60;

/// What a function leaves may become less as more is known, so often; from then on it only grows.
const MAX_FOLLOWED: usize = 16;

/// What arguments that a function locks may name, by position.
type Bindings = BTreeMap<u32, NamedId>;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) func: FuncId,
    bindings: Bindings,
    pub(super) state: State,
}

/// What a call leads to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Next {
    Context(ContextId),
    Group(GroupId),
}

pub(super) struct Context {
    pub(super) entry: Entry,
    /// What is held at its returns, once there is one.
    pub(super) exit: Option<Rc<State>>,
    /// Who has to look again when `exit` changes, with what each called it with.
    callers: BTreeMap<ContextId, BTreeSet<HeldId>>,
    pub(super) calls: BTreeMap<InstrId, BTreeSet<Next>>,
    pub(super) points: BTreeMap<InstrId, Point>,
    /// What may be held at watched sites.
    pub(super) seen: BTreeMap<InstrId, State>,
    /// Being followed now.
    active: bool,
    /// How often it was followed, and what it was entered with last time.
    followed: usize,
    pub(super) entered: State,
}

/// What is known about a synchronization operation before it runs.
#[derive(Clone)]
pub(super) struct Point {
    pub(super) op: NodeOp,
    pub(super) locks: Option<NamedId>,
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
    locking: Vec<bool>,
    /// Functions by number, callees before callers.
    order: Vec<u32>,
    watched: &'a BTreeSet<Site>,
    work: BTreeSet<(u32, ContextId)>,
    depth: usize,
    pub(super) names: Names,
    plans: BTreeMap<FuncId, Rc<Plan>>,
    /// What arguments of calls may name, whoever calls the function.
    arguments: BTreeMap<(FuncId, (InstrId, u32)), NamedId>,
    /// Whether loads of a function read what no call of it writes.
    steady: BTreeMap<Site, bool>,
    pub(super) callbacks: Callbacks,
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
        let edges = facts.call_edges();
        let groups = components(count, |_| true, |node| &edges[node as usize]);
        let mut order = vec![0; count];
        for (place, func) in groups.iter().flatten().enumerate() {
            order[*func as usize] = place as u32;
        }
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
            order,
            watched,
            work: BTreeSet::new(),
            depth: 0,
            names: Names::default(),
            plans: BTreeMap::new(),
            arguments: BTreeMap::new(),
            steady: BTreeMap::new(),
            callbacks: Callbacks::default(),
        };
        for group in &groups {
            walk.find_locked_args(group);
        }
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
        // What is called first: it is known before who calls it looks again.
        while let Some((_, context)) = self.work.pop_first() {
            self.follow(context);
        }
    }

    fn enqueue(&mut self, context: ContextId) {
        let func = self.contexts[context].entry.func;
        self.work.insert((self.order[func.index()], context));
    }

    /// The context of an entry, followed; joins with others where there are too many.
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
        self.follow(id);
        id
    }

    /// The context that stands for many entries of a function.
    fn joined(&mut self, entry: &Entry) -> ContextId {
        let func = entry.func;
        if let Some(&id) = self.rest.get(&func) {
            if self.contexts[id].entry.state.join_entry(&entry.state) {
                self.follow(id);
            }
            return id;
        }
        let id = self.open(Entry {
            bindings: Bindings::new(),
            ..entry.clone()
        });
        self.rest.insert(func, id);
        self.follow(id);
        id
    }

    fn open(&mut self, entry: Entry) -> ContextId {
        self.contexts.push(Context {
            entry,
            exit: None,
            callers: BTreeMap::new(),
            calls: BTreeMap::new(),
            points: BTreeMap::new(),
            seen: BTreeMap::new(),
            active: false,
            followed: 0,
            entered: State::default(),
        })
    }

    /// Follows a function in a context, at once or, where that cannot be, later.
    fn follow(&mut self, context: ContextId) {
        if self.contexts[context].active || self.depth >= MAX_DEPTH {
            self.enqueue(context);
            return;
        }
        let func = self.contexts[context].entry.func;
        self.work.remove(&(self.order[func.index()], context));
        self.depth += 1;
        let known = &mut self.contexts[context];
        known.active = true;
        known.followed += 1;
        known.entered = known.entry.state.clone();
        known.calls.clear();
        known.points.clear();
        known.seen.clear();
        let exit = self.function(context);
        self.contexts[context].active = false;
        self.depth -= 1;
        if let Some(exit) = exit {
            self.leave(context, exit);
        }
    }

    fn function(&mut self, context: ContextId) -> Option<State> {
        let func = self.contexts[context].entry.func;
        let function = &self.module.functions[func];
        let plan = self.plan(func);
        let mut before: Vec<Option<Rc<State>>> = vec![None; plan.blocks.len()];
        before[0] = Some(Rc::new(self.contexts[context].entered.clone()));
        let mut exit: Option<State> = None;
        let mut blocks = BTreeSet::from([(0, BlockId(0))]);
        while let Some((_, block)) = blocks.pop_first() {
            let entered = before[block.index()]
                .clone()
                .expect("a state to begin with");
            let here = &plan.blocks[block.index()];
            let Some(state) = self.block(context, function, &plan, block, entered) else {
                continue;
            };
            if here.returns {
                join(&mut exit, Some((*state).clone()));
            }
            for &(order, next) in &here.successors {
                let state = match &here.test {
                    Some(test) => Rc::new(test.refine(next, &state, &self.names)),
                    None => state.clone(),
                };
                if arrive(&mut before[next.index()], state) {
                    blocks.insert((order, next));
                }
            }
        }
        exit
    }

    /// What is held at a function's returns is known better: who depends on it looks again.
    fn leave(&mut self, context: ContextId, mut exit: State) {
        let known = self.contexts[context].exit.clone();
        if let Some(known) = known.as_deref()
            && self.contexts[context].followed > MAX_FOLLOWED
        {
            exit.join(known);
        }
        let changes = known.map(|known| changed(&known, &exit));
        self.contexts[context].exit = Some(Rc::new(exit));
        let concerned = |passed: &BTreeSet<HeldId>| match &changes {
            Some(Some(given)) => given
                .iter()
                .any(|id| passed.contains(&self.names.plain(*id))),
            Some(None) | None => true,
        };
        let callers = self.contexts[context].callers.iter();
        let mut again: Vec<ContextId> = callers
            .filter(|(_, passed)| concerned(passed))
            .map(|(caller, _)| *caller)
            .collect();
        again.extend(self.callbacks.changed(context, &self.contexts, &self.names));
        for caller in again {
            self.enqueue(caller);
        }
    }

    /// Runs a block; nothing if control does not come to its end, as far as is known now.
    fn block(
        &mut self,
        context: ContextId,
        function: &Function,
        plan: &Plan,
        block: BlockId,
        entered: Rc<State>,
    ) -> Option<Rc<State>> {
        let steps = &plan.blocks[block.index()].steps;
        if steps.is_empty() {
            return Some(entered);
        }
        let mut state = (*entered).clone();
        for step in steps {
            match *step {
                Step::Computed(id) => state.recompute(id, &self.names),
                Step::Watched(id) => {
                    self.contexts[context].seen.insert(id, state.clone());
                }
                Step::Call(id) => {
                    let call = function.instrs[id].call().expect("a call");
                    self.call(context, function, id, call, &plan.calls[&id], &mut state)?;
                }
            }
        }
        Some(Rc::new(state))
    }

    /// Nothing if the call does not return, as far as is known now.
    fn call(
        &mut self,
        context: ContextId,
        function: &Function,
        id: InstrId,
        call: &Call,
        plan: &CallPlan,
        state: &mut State,
    ) -> Option<()> {
        if let Some((op, timed)) = plan.op {
            self.primitive(context, function, id, op, timed, call, state);
        }
        self.contexts[context].calls.remove(&id);
        let mut after: Option<State> = plan.skips.then(|| state.clone());
        for target in &plan.direct {
            let left = self.enter(context, function, id, call, *target, state);
            join(&mut after, left);
        }
        let mut after = after?;
        // Called back any number of times.
        if !plan.back.is_empty() {
            self.called_back(context, id, &plan.back, &mut after);
        }
        *state = after;
        if plan.strange {
            self.unseen(state);
        }
        Some(())
    }

    fn plan(&mut self, func: FuncId) -> Rc<Plan> {
        if let Some(known) = self.plans.get(&func) {
            return known.clone();
        }
        let planner = Planner {
            module: self.module,
            facts: self.facts,
            watched: self.watched,
            locking: &self.locking,
        };
        let plan = Rc::new(planner.plan(func));
        self.plans.insert(func, plan.clone());
        plan
    }

    /// Functions that the library calls; what is held afterwards.
    fn called_back(
        &mut self,
        context: ContextId,
        id: InstrId,
        targets: &[FuncId],
        state: &mut State,
    ) {
        let mut around = State::default();
        for (held, _) in state.iter() {
            around.add(self.names.plain(held), Grip::given(false));
        }
        if self.callbacks.around.join_entry(&around) {
            for back in self.callbacks.contexts() {
                self.contexts[back].entry.state = self.callbacks.around.clone();
                self.enqueue(back);
            }
        }
        let group = match self.callbacks.known(targets) {
            Some(group) => group,
            None => {
                let members = targets.iter().map(|&func| self.back(func)).collect();
                self.callbacks
                    .open(targets, members, &self.contexts, &self.names)
            }
        };
        let calls = self.contexts[context].calls.entry(id).or_default();
        calls.insert(Next::Group(group));
        self.callbacks.apply(group, context, state, &self.names);
    }

    /// The context in which a function is called back.
    fn back(&mut self, func: FuncId) -> ContextId {
        if let Some(id) = self.callbacks.context(func) {
            return id;
        }
        let id = self.open(Entry {
            func,
            bindings: Bindings::new(),
            state: self.callbacks.around.clone(),
        });
        self.callbacks.set_context(func, id);
        self.follow(id);
        id
    }

    /// Code we do not see may release what escaped.
    fn unseen(&self, state: &mut State) {
        state.loosen(|id| {
            let locks = self.names.named(self.names.hold(id).locks);
            let mut places = locks.places.iter();
            locks.unknown || places.any(|(what, _)| self.facts.escaped(what))
        });
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
        let place = lock_argument(op)
            .and_then(|position| Some((position as u32, call.args.get(position)?)));
        let locks = place.map(|(position, lock)| self.named(context, (id, position), lock));
        let point = Point {
            op,
            locks,
            held: state.clone(),
        };
        self.contexts[context].points.insert(id, point);
        let (Some(locks), Some((_, place))) = (locks, place) else {
            return;
        };
        let address = address(function, place).map(|address| self.names.address_id(address));
        if let Some(shared) = takes(op) {
            let held = Held {
                site: (func, id),
                locks,
                address,
                shared,
                depth: 0,
            };
            state.take(held, waits(op) && !timed, &mut self.names);
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

    /// What an argument of a call may name in this context.
    fn named(&mut self, context: ContextId, at: (InstrId, u32), value: &Value) -> NamedId {
        let func = self.contexts[context].entry.func;
        let all = match self.arguments.get(&(func, at)) {
            Some(known) => *known,
            None => {
                let found = self.facts.points_to(func, value);
                let named = Named {
                    places: found.places.into_iter().collect(),
                    unknown: found.unknown,
                };
                let id = self.names.locks(named, self.single);
                self.arguments.insert((func, at), id);
                id
            }
        };
        let entry = &self.contexts[context].entry;
        let bound = address(&self.module.functions[func], value)
            .and_then(|address| address.key.of_arg())
            .and_then(|(position, offset)| Some((*entry.bindings.get(&position)?, offset)))
            .map(|(bound, offset)| (self.names.named(bound), offset))
            .filter(|(bound, _)| !bound.unknown);
        let Some((bound, offset)) = bound else {
            return all;
        };
        let places = self.names.named(all).places.iter();
        let reached = places.filter(|place| reached(bound, offset, place));
        let named = Named {
            places: reached.copied().collect(),
            unknown: false,
        };
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

    /// Of functions that call each other; of all others that they call it is known.
    fn find_locked_args(&mut self, group: &[u32]) {
        let mut changed = true;
        while changed {
            changed = false;
            for &func in group {
                let found = self.locked_by(FuncId(func));
                let known = &mut self.locked_args[func as usize];
                changed |= found.len() > known.len();
                *known = found;
            }
            changed &= group.len() > 1 || self.facts.is_recursive(FuncId(group[0]));
        }
    }

    /// Arguments that a function locks, as far as is known of those that it calls.
    fn locked_by(&self, func: FuncId) -> BTreeSet<u32> {
        let function = &self.module.functions[func];
        let mut found = BTreeSet::new();
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
                found.extend(arg.map(|(arg, _)| arg));
            }
        }
        found
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

/// Control comes to a block with a state; true if that is news.
fn arrive(known: &mut Option<Rc<State>>, state: Rc<State>) -> bool {
    let Some(before) = known else {
        *known = Some(state);
        return true;
    };
    if Rc::ptr_eq(before, &state) {
        return false;
    }
    Rc::make_mut(before).join(&state)
}

/// What is no longer the same among what a function was entered with; nothing if what it took itself changed, too.
fn changed(before: &State, after: &State) -> Option<Vec<HeldId>> {
    let differs = |a: &State, b: &State| -> Vec<(HeldId, Grip)> {
        let differing = a.iter().filter(|(id, grip)| b.get(*id) != Some(*grip));
        differing.collect()
    };
    let all = [differs(before, after), differs(after, before)].concat();
    let given_only = all.iter().all(|(_, grip)| !grip.own);
    given_only.then(|| all.into_iter().map(|(id, _)| id).collect())
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
