//! Between epochs: the state in which an epoch begins, as the join of all states that lead to it.
//!
//! **Anti-unification.** Two worlds whose threads stand at the same places are walked side by side from their roots: globals, the
//! threads' registers, synchronization objects. Equal constants stay constants, pointers to corresponding places stay pointers, everything
//! else becomes a symbol, the same one wherever the same two values meet. So what was equal on every way in stays equal.
//!
//! Symbols say where they can be read when the epoch begins: a global, a register of a waiting thread, or memory reached from
//! those. What the path knew about values is kept as far as it holds on every way in.
//!
//! **Sound** because the result admits every world that was joined: objects that do not correspond are forgotten, and pointers to
//! them are unknown pointers, which the engine treats by points-to.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use schedules::archive::{CompareOp, RegisterKind};

use super::bounds::Limits;
use crate::analysis::AbstractObject;
use crate::model::{BinOp, BlockId, Function, InstrId, InstrKind, Value};
use crate::symbolic::engine::Engine;
use crate::symbolic::expr::concrete::mask;
use crate::symbolic::expr::{AccessPath, Expr, Node, Origin, PathOffset, PathRoot, ShadowRegister};
use crate::symbolic::memory::{Background, Content, ObjId, Place};
use crate::symbolic::state::{Frame, Key, State, Thread, Val};
use crate::threads::{Kind, ThreadInfo, World};

mod facts;
mod objects;

use facts::given;

/// How far an access path may lead.
const MAX_PATH: usize = 4;

/// Joins two worlds that stand at the same places; with `a` and `b` the same world, makes it one in which an epoch can begin.
/// The second result says whether `a` knew more than the join does.
/// `round` counts the joins of the epoch so far.
pub(super) fn join(
    engine: &mut Engine<'_>,
    limits: &Limits,
    round: u32,
    a: &World,
    b: &World,
) -> (World, bool) {
    let first = std::ptr::eq(a, b);
    let given = (given(engine, &a.state), given(engine, &b.state));
    let joiner = Joiner {
        engine,
        a,
        b,
        first,
        given,
        limits,
        round,
        nearby: BTreeSet::new(),
        partner: BTreeMap::new(),
        ways: BTreeMap::new(),
        taken: BTreeSet::new(),
        symbols: BTreeMap::new(),
        used: BTreeMap::new(),
        queue: Vec::new(),
        state: State::default(),
        changed: false,
    };
    joiner.run()
}

pub(super) struct Joiner<'x, 'm> {
    pub(super) engine: &'x mut Engine<'m>,
    a: &'x World,
    pub(super) b: &'x World,
    /// There is nothing to compare with.
    pub(super) first: bool,
    /// Values that the paths of `a` and `b` have decided.
    given: (BTreeMap<Expr, Expr>, BTreeMap<Expr, Expr>),
    pub(super) limits: &'x Limits,
    pub(super) round: u32,
    /// Numbers that stand beside what is being joined.
    pub(super) nearby: BTreeSet<u128>,
    /// Objects of `a` to objects of `b`; the join uses the ids of `a`.
    partner: BTreeMap<ObjId, ObjId>,
    /// How to read the contents of objects of `a` when the epoch begins.
    ways: BTreeMap<ObjId, AccessPath>,
    /// Objects of `b` that have a partner.
    taken: BTreeSet<ObjId>,
    symbols: BTreeMap<(Expr, Expr), Expr>,
    /// Values of `a` that became a symbol, with that symbol.
    used: BTreeMap<Expr, Expr>,
    /// Pairs whose contents are still to be joined, with the way to read them.
    queue: Vec<(ObjId, ObjId, Option<AccessPath>)>,
    state: State,
    pub(super) changed: bool,
}

impl Joiner<'_, '_> {
    fn run(mut self) -> (World, bool) {
        self.pair_roots();
        // Memory first: a value that stands in memory and in a register is better read, and bounded, there.
        self.settle();
        let mut threads = Vec::new();
        for slot in 0..self.a.state.threads.len() {
            let thread = self.thread(slot);
            threads.push(Rc::new(thread));
        }
        self.state.threads = threads;
        let infos = self.infos();
        let gone = self.gone();
        self.settle();
        // Now ways to their memory are known.
        self.state.keys = self.keys();
        let (a, b) = (self.a.state.options, self.b.state.options);
        self.state.options = a.filter(|_| a == b);
        let objects = self.sync_objects();
        self.settle();
        self.path();
        let world = World {
            state: self.state,
            trail: self.a.trail.clone(),
            objects,
            status: self.a.status.clone(),
            threads: infos,
            gone,
            keys_last: None,
        };
        (world, self.changed)
    }

    /// Who the threads are, and what their ends will use.
    fn infos(&mut self) -> Vec<ThreadInfo> {
        let (mut infos, others) = (self.a.threads.clone(), &self.b.threads);
        for (info, other) in infos.iter_mut().zip(others) {
            info.join_values(other, |x, y| {
                self.operand(x, y, None, "what a thread leaves")
            });
        }
        infos
    }

    /// Joins the contents of everything that was found to correspond.
    fn settle(&mut self) {
        while let Some((left, right, path)) = self.queue.pop() {
            self.contents(left, right, path);
        }
    }

    /// Globals correspond to themselves; handles of threads by slot.
    fn pair_roots(&mut self) {
        let ids: Vec<ObjId> = self.a.state.memory.keys().copied().collect();
        for id in ids {
            let info = self.engine.objects.info(id);
            if let AbstractObject::Global(global) = info.kind
                && !self.engine.module.globals[global].thread_local
            {
                let root = AccessPath {
                    root: PathRoot::Global(global),
                    offsets: Vec::new(),
                };
                self.pair(id, id, Some(root));
            }
        }
        for (left, right) in self.a.threads.iter().zip(&self.b.threads) {
            self.partner.insert(left.handle, right.handle);
            self.taken.insert(right.handle);
        }
        for (left, right) in self.a.gone.iter().zip(&self.b.gone) {
            self.partner.insert(left.handle, right.handle);
            self.taken.insert(right.handle);
        }
    }

    fn pair(&mut self, left: ObjId, right: ObjId, path: Option<AccessPath>) -> bool {
        if let Some(known) = self.partner.get(&left) {
            return *known == right;
        }
        if self.taken.contains(&right) || !self.alike(left, right) {
            return false;
        }
        self.partner.insert(left, right);
        self.taken.insert(right);
        if let Some(path) = &path {
            self.ways.insert(left, path.clone());
        }
        self.queue.push((left, right, path));
        true
    }

    fn alike(&self, left: ObjId, right: ObjId) -> bool {
        let (x, y) = (
            self.engine.objects.info(left),
            self.engine.objects.info(right),
        );
        let here = |world: &World, id: ObjId| {
            world
                .state
                .memory
                .get(&id)
                .is_some_and(|content| !content.freed)
                || matches!(
                    self.engine.objects.info(id).kind,
                    AbstractObject::Function(_)
                )
        };
        x.kind == y.kind && x.size == y.size && here(self.a, left) && here(self.b, right)
    }

    /// The one place a pointer points to.
    fn target(&mut self, e: Expr) -> Option<(ObjId, u128)> {
        if self.engine.pool.width(e) != 64 {
            return None;
        }
        let targets = self.engine.resolve(e);
        let [only] = targets.as_slice() else {
            return None;
        };
        match only.place {
            Place::Object(object, offset) => Some((object, self.engine.pool.as_const(offset)?)),
            _ => None,
        }
    }

    /// Two values that stand at the same place.
    fn value(
        &mut self,
        x: Expr,
        y: Expr,
        origin: impl FnOnce(&Engine<'_>) -> Origin,
        path: Option<AccessPath>,
    ) -> Expr {
        let x = self.engine.pool.substitute(x, &self.given.0);
        let y = self.engine.pool.substitute(y, &self.given.1);
        if x == y && self.engine.pool.as_const(x).is_some() {
            return x;
        }
        if let (Some((left, from)), Some((right, to))) = (self.target(x), self.target(y))
            && from == to
            && self.corresponds(left, right, path)
        {
            return x;
        }
        if let Some(symbol) = self.symbols.get(&(x, y))
            && self.engine.equalities
        {
            return *symbol;
        }
        self.note_loss(x);
        let width = self.engine.pool.width(x);
        let origin = origin(self.engine);
        let facts = self.interval(x, y);
        let symbol = self.engine.pool.symbol_in(width, origin, facts);
        self.note_widening(x, symbol);
        self.symbols.insert((x, y), symbol);
        self.used.insert(x, symbol);
        symbol
    }

    fn corresponds(&mut self, left: ObjId, right: ObjId, path: Option<AccessPath>) -> bool {
        if matches!(
            self.engine.objects.info(left).kind,
            AbstractObject::Function(_)
        ) {
            return left == right;
        }
        self.pair(left, right, path)
    }

    /// Did `a` know more than that the value is unknown?
    fn note_loss(&mut self, x: Expr) {
        let plain = self.engine.pool.origin(x).is_some() && self.engine.objects.at(x).is_none();
        if !plain || self.used.contains_key(&x) {
            self.changed = true;
        }
    }

    fn contents(&mut self, left: ObjId, right: ObjId, path: Option<AccessPath>) {
        let (a, b) = (
            self.a.state.memory.get(&left).cloned(),
            self.b.state.memory.get(&right).cloned(),
        );
        let (Some(a), Some(b)) = (a, b) else {
            return;
        };
        let mut cuts = Vec::new();
        a.boundaries(&mut cuts);
        b.boundaries(&mut cuts);
        cuts.push(0);
        cuts.extend(self.engine.objects.info(left).size);
        cuts.sort_unstable();
        cuts.dedup();
        self.look_around(left, &a);
        let source = self.engine.source(self.source(left, &path));
        let base = self.background(a.base_background(), b.base_background(), source);
        let mut joined = Content::new(base);
        let (mut x, mut y) = ((*a).clone(), (*b).clone());
        for pair in cuts.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            if a.has_cell(from) || b.has_cell(from) {
                self.cells(left, right, from, to, &mut x, &mut y, &mut joined, &path);
            } else {
                let with = self.background(a.background(from), b.background(from), source);
                if with != base {
                    joined.cover(self.engine, from, to, with);
                }
            }
        }
        self.engine.set_content(&mut self.state, left, joined);
        self.nearby.clear();
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one piece of two contents into a third"
    )]
    fn cells(
        &mut self,
        left: ObjId,
        right: ObjId,
        from: u64,
        to: u64,
        x: &mut Content,
        y: &mut Content,
        joined: &mut Content,
        path: &Option<AccessPath>,
    ) {
        let mut at = from;
        while at < to {
            let next = to.min(at + 8);
            let a = self.engine.assemble(x, left, at, next - at);
            let b = self.engine.assemble(y, right, at, next - at);
            let here = extend(path, at);
            let name = self.engine.place_name(left, at, next - at);
            let readable = here.clone().filter(|_| matches!(next - at, 1 | 2 | 4 | 8));
            let value = self.value(
                a,
                b,
                |_| match readable {
                    Some(path) => Origin::Memory { path, name },
                    None => Origin::Summary { site: 0, name },
                },
                here.filter(|path| path.offsets.len() < MAX_PATH),
            );
            joined.put(self.engine, at, next - at, value);
            at = next;
        }
    }

    /// Where unknown bytes of an object come from.
    fn source(&self, object: ObjId, path: &Option<AccessPath>) -> Origin {
        let name = self.engine.objects.info(object).name.clone();
        match path {
            Some(path) => Origin::Memory {
                path: path.clone(),
                name,
            },
            None => Origin::Summary { site: 0, name },
        }
    }

    fn background(
        &mut self,
        a: Background,
        b: Background,
        source: crate::symbolic::memory::SourceId,
    ) -> Background {
        match (a, b) {
            (Background::Unknown(_), _) => Background::Unknown(source),
            (a, b) if a == b => a,
            _ => {
                self.changed = true;
                Background::Unknown(source)
            }
        }
    }

    fn thread(&mut self, slot: usize) -> Thread {
        let (a, b) = (
            self.a.state.threads[slot].clone(),
            self.b.state.threads[slot].clone(),
        );
        let mut frames = Vec::new();
        for (depth, (x, y)) in a.frames.iter().zip(&b.frames).enumerate() {
            frames.push(Rc::new(self.frame(slot, depth, x, y)));
        }
        for (global, left) in &a.locals {
            if let Some(right) = b.locals.get(global) {
                self.pair(*left, *right, None);
            }
        }
        let specific = self.values_by_key(&a.specific, &b.specific, "thread-specific data");
        let passed = self.values_by_key(&a.passed, &b.passed, "an argument of an earlier call");
        Thread {
            frames,
            locals: a
                .locals
                .iter()
                .filter(|(_, object)| self.partner.contains_key(object))
                .map(|(global, object)| (*global, *object))
                .collect(),
            cost: 0,
            handle: a.handle,
            // Forgotten: it is about the symbols of the epoch that ended.
            own: Vec::new(),
            specific,
            passed,
            answered: a.answered,
            leaving: None,
            cancel_due: a.cancel_due,
            inside: a.inside.or(b.inside),
            result: None,
        }
    }

    /// What only one side has is null on the other.
    fn values_by_key<K: Ord + Copy>(
        &mut self,
        a: &BTreeMap<K, Expr>,
        b: &BTreeMap<K, Expr>,
        name: &str,
    ) -> BTreeMap<K, Expr> {
        let keys: BTreeSet<K> = a.keys().chain(b.keys()).copied().collect();
        let null = self.engine.pool.constant(64, 0);
        let mut joined = BTreeMap::new();
        for key in keys {
            let x = a.get(&key).copied().unwrap_or(null);
            let y = b.get(&key).copied().unwrap_or(null);
            let name = name.to_owned();
            let origin = |_: &Engine<'_>| Origin::Summary { site: 0, name };
            joined.insert(key, self.value(x, y, origin, None));
        }
        joined
    }

    /// Both sides have made the same keys, in the same order: epochs are told apart by that.
    fn keys(&mut self) -> Rc<Vec<Key>> {
        let (a, b) = (self.a.state.keys.clone(), self.b.state.keys.clone());
        let pairs = a.iter().zip(b.iter());
        let joined = pairs.map(|(x, y)| {
            let name = format!("the key made at {}", x.made_at);
            let origin = |_: &Engine<'_>| Origin::Summary { site: 0, name };
            Key {
                number: self.value(x.number, y.number, origin, None),
                ..x.clone()
            }
        });
        Rc::new(joined.collect())
    }

    fn frame(&mut self, slot: usize, depth: usize, x: &Frame, y: &Frame) -> Frame {
        let function = &self.engine.module.functions[x.func];
        let live = live_registers(function, self.engine, x);
        let mut frame = x.clone();
        let register = |kind| ShadowRegister {
            slot: slot as u16,
            frame: depth as u32,
            function: x.func,
            value: kind,
        };
        for index in 0..frame.args.len() {
            let name = function.arg_names.get(index).cloned().flatten();
            let name = name.unwrap_or_else(|| format!("argument {index} of {}", function.name));
            let at = register(RegisterKind::Argument(index as u32));
            frame.args[index] = self.operand(&x.args[index], &y.args[index], Some(at), &name);
        }
        for index in 0..frame.varargs.len() {
            let name = format!("a variable argument of {}", function.name);
            frame.varargs[index] = self.operand(&x.varargs[index], &y.varargs[index], None, &name);
        }
        for index in 0..frame.regs.len() {
            let id = InstrId(index as u32);
            frame.regs[index] = match (&x.regs[index], &y.regs[index]) {
                (Some(left), Some(right)) if live.contains(&id) => {
                    let instr = &function.instrs[id];
                    let name = match &instr.variable {
                        Some(name) => name.clone(),
                        None => format!("a value at {}", self.engine.place(x.func, id)),
                    };
                    let at = register(RegisterKind::Instruction(index as u32));
                    Some(self.operand(left, right, Some(at), &name))
                }
                _ => None,
            };
        }
        let kept: Vec<ObjId> = x
            .locals
            .iter()
            .copied()
            .filter(|local| self.partner.contains_key(local))
            .collect();
        frame.locals = kept;
        frame
    }

    fn operand(&mut self, x: &Val, y: &Val, at: Option<ShadowRegister>, name: &str) -> Val {
        match (x, y) {
            (Val::Scalar(x), Val::Scalar(y)) => {
                let wide = self.engine.pool.width(*x) > 64;
                let origin = at.clone().filter(|_| !wide);
                let path = at.map(|register| AccessPath {
                    root: PathRoot::Shadow(register),
                    offsets: Vec::new(),
                });
                let value = self.value(
                    *x,
                    *y,
                    |_| match origin {
                        Some(register) => Origin::Register {
                            register,
                            name: name.to_owned(),
                        },
                        None => Origin::Summary {
                            site: 0,
                            name: name.to_owned(),
                        },
                    },
                    path,
                );
                Val::Scalar(value)
            }
            (Val::Aggregate(x), Val::Aggregate(y)) if x.len() == y.len() => {
                let parts = x.iter().zip(y.iter());
                Val::Aggregate(Rc::new(
                    parts.map(|(x, y)| self.operand(x, y, None, name)).collect(),
                ))
            }
            _ => Val::Opaque,
        }
    }
}

fn extend(path: &Option<AccessPath>, offset: u64) -> Option<AccessPath> {
    let mut path = path.clone()?;
    path.offsets.push(PathOffset::Constant(offset as i64));
    Some(path)
}

/// Registers that may still be read: defined on every way to where the frame stands, and used from there on.
fn live_registers(function: &Function, engine: &Engine<'_>, frame: &Frame) -> BTreeSet<InstrId> {
    let cfg = engine.facts.cfg(frame.func);
    let mut reachable: BTreeSet<BlockId> = BTreeSet::new();
    let mut work = vec![frame.block];
    while let Some(block) = work.pop() {
        if reachable.insert(block) {
            work.extend(function.blocks[block].succs.iter().copied());
        }
    }
    let mut used = BTreeSet::new();
    for block in &reachable {
        for (_, instr) in function.block_instrs(*block) {
            match &instr.kind {
                InstrKind::Phi(incoming) => {
                    for (from, value) in incoming {
                        if let (Value::Instr(id), true) = (value, reachable.contains(from)) {
                            used.insert(*id);
                        }
                    }
                }
                kind => kind.for_each_operand(|value| {
                    if let Value::Instr(id) = value {
                        used.insert(*id);
                    }
                }),
            }
        }
    }
    let stands = |id: &InstrId| {
        let block = function.instrs[*id].block;
        if block == frame.block {
            *id < frame.next
        } else {
            cfg.dominates(block, frame.block)
        }
    };
    used.retain(stands);
    used
}
