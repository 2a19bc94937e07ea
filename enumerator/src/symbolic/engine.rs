//! The engine: everything that lives as long as an exploration, and the values of operands.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::expr::{Expr, Facts as ValueFacts, Origin, Pool};
use super::memory::{Background, Content, ObjId, Objects};
use super::solver::{Limits, Solver, assume_equalities};
use super::state::{Scan, State, Val};
use crate::analysis::cfg::LoopId;
use crate::analysis::relevance::Relevance;
use crate::analysis::{AbstractObject, Facts};
use crate::model::{
    BinOp, BlockId, CastOp, Const, FuncId, GlobalId, Instr, InstrId, Module, Type, Value,
};

/// How much was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Instructions executed.
    pub steps: u64,
    /// Branches whose sides were joined again.
    pub merges: u64,
    /// Loops replaced by what they may have done.
    pub summaries: u64,
    /// Calls replaced by what they may have done.
    pub skipped_calls: u64,
}

/// How long things are executed before they are replaced by what they may have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Steps of one loop. `u64::MAX`: loops are executed to their end, whatever that takes.
    pub loop_steps: u64,
    /// Activations of one function on one stack.
    pub recursion: usize,
    /// Frames on one stack.
    pub depth: usize,
    /// Bytes of one copy.
    pub copy: u64,
}

impl Budget {
    /// For the search.
    pub const USUAL: Self = Self {
        loop_steps: 20_000,
        recursion: 6,
        depth: 256,
        copy: 4096,
    };
    /// Nothing is replaced.
    pub const UNBOUNDED: Self = Self {
        loop_steps: u64::MAX,
        recursion: usize::MAX,
        depth: 1 << 20,
        copy: 1 << 30,
    };
}

/// A branch and the way it went.
pub type Taken = (FuncId, InstrId, u32);

/// Executes one thread of one state at a time.
pub struct Engine<'m> {
    pub module: &'m Module,
    pub facts: &'m Facts,
    /// What matters to synchronization; what does not is not executed. `None`: everything is.
    pub relevance: Option<&'m Relevance>,
    /// Join the sides of a silent branch where they meet; else the caller chooses one. Inside loops that are tried as a whole the
    /// sides are always joined, so that trying them ends.
    pub merging: bool,
    /// Do joins between epochs keep what is equal on every way in?
    pub equalities: bool,
    pub budget: Budget,
    /// A run that would go on for longer stops with a gap.
    pub most_steps: u64,
    /// Nobody else changes memory: no other thread, no device. Volatile and atomic accesses are then ordinary ones.
    pub alone: bool,
    /// Branches as they were taken, if anybody wants them.
    pub trace: Option<Vec<Taken>>,
    /// Runs within runs: sides of a merge, loops that are tried.
    pub(super) nested: u32,
    pub pool: Pool,
    pub solver: Solver,
    pub objects: Objects,
    pub counters: Counters,
    /// Functions outside the program that nobody knows, as they were called.
    pub externals: std::collections::BTreeSet<String>,
    /// What `heddle_input` declared, by name, in the order in which it was executed.
    pub inputs: Vec<(String, Expr)>,
    /// Branches that are nodes: a thread stops at each, whatever the path has decided.
    pub watched: std::collections::BTreeSet<(FuncId, InstrId)>,
    /// What is asked before calls.
    pub questions: super::questions::Questions,
    /// Headers of silent loops whose exits are told apart: leaving one is a branch to the search.
    pub told: std::collections::BTreeSet<(FuncId, BlockId)>,
    /// Blocks at whose beginning a thread stops: epochs may end there.
    pub markers: std::collections::BTreeSet<(FuncId, BlockId)>,
    /// Results of floating-point operations by operation and operands: the same operation on the same values gives the same.
    pub(super) floats: std::collections::HashMap<(String, Vec<Expr>), Val>,
    /// What may be undefined behaviour.
    pub suspicions: super::undefined::Suspicions,
    /// Something was freed somewhere.
    pub(super) frees: bool,
    /// Functions that a thread was in.
    pub touched: std::collections::BTreeSet<FuncId>,
    /// What stores may write, as far as it was asked.
    pub(super) written: BTreeMap<(FuncId, InstrId), Rc<crate::analysis::ModSet>>,
    /// What summarized loops left.
    pub(super) repeats: super::repeats::Repeats,
    /// The slot that ran last: whose facts count.
    pub running: usize,
    /// By global; thread-local ones have none.
    globals: BTreeMap<GlobalId, ObjId>,
    /// Loops that are being executed step by step, outermost first.
    pub(super) attempts: Vec<Attempt>,
    /// Steps of loops that were executed in vain.
    pub(super) wasted: BTreeMap<(FuncId, LoopId), u64>,
    /// Do the blocks from here on neither synchronize nor come back?
    pub(super) silent_ends: BTreeMap<(FuncId, BlockId, bool), bool>,
}

/// A loop that is being executed step by step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub(super) depth: usize,
    pub(super) id: LoopId,
    /// Give up when so many steps were done in all.
    pub(super) limit: u64,
}

impl<'m> Engine<'m> {
    /// An engine over a program.
    pub fn new(module: &'m Module, facts: &'m Facts) -> Self {
        Self {
            module,
            facts,
            relevance: None,
            merging: true,
            equalities: true,
            budget: Budget::USUAL,
            most_steps: u64::MAX,
            alone: false,
            trace: None,
            nested: 0,
            pool: Pool::new(),
            solver: Solver::new(Limits::from_environment()),
            objects: Objects::default(),
            counters: Counters::default(),
            externals: Default::default(),
            inputs: Vec::new(),
            watched: Default::default(),
            questions: Default::default(),
            told: Default::default(),
            markers: Default::default(),
            floats: Default::default(),
            suspicions: super::undefined::Suspicions::none(),
            frees: false,
            touched: Default::default(),
            written: BTreeMap::new(),
            repeats: Default::default(),
            running: 0,
            globals: BTreeMap::new(),
            attempts: Vec::new(),
            wasted: BTreeMap::new(),
            silent_ends: BTreeMap::new(),
        }
    }

    /// A state in which every global holds its initializer and no thread runs.
    pub fn initial_state(&mut self) -> State {
        let mut state = State {
            options: Some(Scan::default()),
            ..State::default()
        };
        for (id, global) in self.module.globals.iter() {
            if !global.thread_local {
                let object = self.global_object(id);
                let content = self.global_content(id);
                self.set_content(&mut state, object, content);
            }
        }
        state
    }

    /// Makes a global's contents an input.
    pub fn forget_global(&mut self, state: &mut State, id: GlobalId) {
        let name = self.module.globals[id].name.clone();
        let (object, source) = (self.global_object(id), self.source(Origin::Input { name }));
        let content = Content::new(Background::Unknown(source));
        self.set_content(state, object, content);
    }

    fn global_content(&mut self, id: GlobalId) -> Content {
        let global = &self.module.globals[id];
        let background = if !global.defined {
            Background::Unknown(self.source(Origin::External {
                site: 0,
                name: global.name.clone(),
            }))
        } else if global.init.is_empty() {
            Background::Zero
        } else {
            Background::Init(id)
        };
        let mut content = Content::new(background);
        if !global.defined && matches!(global.name.as_str(), "optind" | "opterr") {
            let one = self.pool.constant(32, 1);
            content.put(self, 0, 4, one);
        }
        content
    }

    /// Is the object the one instance that all threads share of a global?
    pub(super) fn is_shared_global(&self, global: GlobalId, object: ObjId) -> bool {
        self.globals.get(&global) == Some(&object)
    }

    /// The shared instances of globals that were made so far.
    pub(super) fn shared_globals(&self) -> impl Iterator<Item = (GlobalId, ObjId)> + '_ {
        self.globals
            .iter()
            .map(|(global, object)| (*global, *object))
    }

    pub(super) fn global_object(&mut self, id: GlobalId) -> ObjId {
        if let Some(object) = self.globals.get(&id) {
            return *object;
        }
        let global = &self.module.globals[id];
        let object = self.new_object(
            global.name.clone(),
            Some(global.size),
            AbstractObject::Global(id),
            global.constant,
        );
        self.globals.insert(id, object);
        object
    }

    /// The object of a global as a thread sees it.
    fn global_of(&mut self, state: &mut State, slot: usize, id: GlobalId) -> ObjId {
        let global = &self.module.globals[id];
        if !global.thread_local {
            return self.global_object(id);
        }
        if let Some(object) = state.threads[slot].locals.get(&id) {
            return *object;
        }
        let object = self.new_object(
            global.name.clone(),
            Some(global.size),
            AbstractObject::Global(id),
            global.constant,
        );
        let content = self.global_content(id);
        self.set_content(state, object, content);
        state.thread_mut(slot).locals.insert(id, object);
        object
    }

    /// Is there no way in the program to make a mutex of another type than the default?
    pub fn only_normal_mutexes(&self) -> bool {
        let asks = |name: &str| self.module.function_named(name).is_some();
        if asks("pthread_mutexattr_settype")
            || asks("mtx_init")
            || asks("pthread_mutexattr_settype_np")
        {
            return false;
        }
        // A static initializer of another type: four zero words, the type, zeros to the end.
        let typed = |bytes: &[u8]| {
            bytes.windows(40).step_by(4).any(|window| {
                matches!(window[16], 1 | 2)
                    && window
                        .iter()
                        .enumerate()
                        .all(|(at, byte)| at == 16 || *byte == 0)
            })
        };
        self.module.globals.rows().iter().all(|global| {
            global.init.iter().all(|piece| match &piece.value {
                crate::model::InitValue::Bytes(bytes) => !typed(bytes),
                crate::model::InitValue::Const(_) => true,
            })
        })
    }

    /// `file:line` of an instruction.
    pub fn place(&self, func: FuncId, instr: InstrId) -> String {
        self.module
            .place(&self.module.functions[func].instrs[instr].position)
    }

    /// For people: what an unknown value depends on, and where that came from.
    pub fn why_unknown(&self, value: Expr) -> String {
        let Some(symbol) = self.pool.support(value).first() else {
            return "it is none of those that were made".to_owned();
        };
        let Some(origin) = self.pool.origin(*symbol) else {
            return "it is computed".to_owned();
        };
        let reason = match origin.late_reason() {
            reason if reason.is_empty() => format!("{} differs from run to run", origin.name()),
            reason => reason,
        };
        let from = match origin {
            Origin::External { site, .. }
            | Origin::Summary { site, .. }
            | Origin::Float { site, .. } => *site,
            _ => 0,
        };
        match self.place_of_site(from) {
            Some(place) => format!("{reason}, at {place}"),
            None => reason,
        }
    }

    fn place_of_site(&self, site: u64) -> Option<String> {
        if site == 0 {
            return None;
        }
        self.module.functions.iter().find_map(|(func, function)| {
            let mut instrs = function.instrs.iter();
            let (id, _) = instrs.find(|(_, instr)| instr.site == site)?;
            Some(self.place(func, id))
        })
    }

    /// The instruction a thread is about to execute.
    pub fn current(&self, state: &State, slot: usize) -> (FuncId, InstrId, &'m Instr) {
        let frame = state.frame(slot);
        let instr = &self.module.functions[frame.func].instrs[frame.next];
        (frame.func, frame.next, instr)
    }

    /// What people call the value that an instruction computes.
    pub(super) fn value_name(&self, func: FuncId, id: InstrId) -> String {
        let instr = &self.module.functions[func].instrs[id];
        match &instr.variable {
            Some(name) => name.clone(),
            None => format!("a value at {}", self.place(func, id)),
        }
    }

    /// A scalar constant. Thread-local addresses need [`Engine::value`].
    pub fn constant(&mut self, constant: &Const, width: Option<u32>) -> Expr {
        match constant {
            Const::Int { width, value } => self.pool.constant(*width, *value),
            Const::Null => self.pool.constant(64, 0),
            Const::Global { global, offset } => {
                let object = self.global_object(*global);
                self.pointer(object, *offset)
            }
            Const::Func(function) => {
                let object = self.function_object(*function);
                self.pointer(object, 0)
            }
            Const::Block { block, .. } => self.pool.constant(64, u128::from(block.0) + 1),
            Const::Float { width, bits } => self.pool.constant(*width, *bits),
            Const::Zero => self.pool.constant(width.unwrap_or(64), 0),
            Const::Undef | Const::Aggregate(_) => {
                let origin = Origin::undefined_value();
                self.pool.symbol(width.unwrap_or(64), origin)
            }
            Const::Expr {
                op,
                width,
                left,
                right,
            } => {
                let left = self.constant(left, Some(*width));
                let right = self.constant(right, Some(*width));
                self.pool.bin(*op, left, right)
            }
            Const::Cast {
                op,
                from,
                to,
                value,
            } => {
                let value = self.constant(value, Some(*from));
                self.resize(*op, value, *to)
            }
        }
    }

    /// An integer conversion.
    pub(super) fn resize(&mut self, op: CastOp, value: Expr, to: u32) -> Expr {
        let from = self.pool.width(value);
        match op {
            CastOp::SExt if to > from => self.pool.sext(value, to),
            _ if to > from => self.pool.zext(value, to),
            _ => self.pool.trunc(value, to),
        }
    }

    /// An operand of the instruction that the thread executes.
    pub fn value(&mut self, state: &mut State, slot: usize, value: &Value, ty: &Type) -> Val {
        match value {
            Value::Instr(id) => match &state.frame(slot).regs[id.0 as usize] {
                Some(known) => known.clone(),
                None => self.fresh(ty, || Origin::Fresh {
                    why: "a value that no path computed".to_owned(),
                }),
            },
            Value::Arg(index) => match state.frame(slot).args.get(*index as usize) {
                Some(known) => known.clone(),
                None => self.fresh(ty, || Origin::Fresh {
                    why: "a missing argument".to_owned(),
                }),
            },
            Value::Const(Const::Global { global, offset })
                if self.module.globals[*global].thread_local =>
            {
                let object = self.global_of(state, slot, *global);
                Val::Scalar(self.pointer(object, *offset))
            }
            Value::Const(constant) => self.constant_value(constant, ty),
        }
    }

    fn constant_value(&mut self, constant: &Const, ty: &Type) -> Val {
        let parts = parts(ty);
        match (parts, constant) {
            (Some(parts), Const::Aggregate(values)) => {
                let all = values.iter().zip(parts);
                Val::Aggregate(Rc::new(
                    all.map(|(value, ty)| self.constant_value(value, ty))
                        .collect(),
                ))
            }
            (Some(parts), Const::Zero | Const::Undef) => Val::Aggregate(Rc::new(
                parts
                    .into_iter()
                    .map(|ty| self.constant_value(constant, ty))
                    .collect(),
            )),
            (None, _) => match width(ty) {
                Some(width) => Val::Scalar(self.constant(constant, Some(width))),
                None => Val::Opaque,
            },
            _ => Val::Opaque,
        }
    }

    /// A scalar operand.
    pub fn scalar(&mut self, state: &mut State, slot: usize, value: &Value, ty: &Type) -> Expr {
        match self.value(state, slot, value, ty) {
            Val::Scalar(e) => e,
            _ => {
                let why = "a value that is not modelled".to_owned();
                self.pool
                    .symbol(width(ty).unwrap_or(64), Origin::Fresh { why })
            }
        }
    }

    /// Unknown values of a type.
    pub fn fresh(&mut self, ty: &Type, origin: impl Fn() -> Origin + Copy) -> Val {
        if let Some(parts) = parts(ty) {
            return Val::Aggregate(Rc::new(
                parts.into_iter().map(|ty| self.fresh(ty, origin)).collect(),
            ));
        }
        match width(ty) {
            Some(width) => Val::Scalar(self.pool.symbol(width, origin())),
            None => Val::Opaque,
        }
    }

    /// `c ? a : b` for any values of one type.
    pub fn choose(&mut self, c: Expr, a: &Val, b: &Val) -> Val {
        match (a, b) {
            (Val::Scalar(a), Val::Scalar(b)) if self.pool.width(*a) == self.pool.width(*b) => {
                Val::Scalar(self.pool.ite(c, *a, *b))
            }
            (Val::Aggregate(a), Val::Aggregate(b)) if a.len() == b.len() => {
                let both = a.iter().zip(b.iter());
                Val::Aggregate(Rc::new(both.map(|(a, b)| self.choose(c, a, b)).collect()))
            }
            _ => Val::Opaque,
        }
    }

    /// True if the path admits the condition.
    pub fn may(&mut self, state: &State, condition: Expr) -> bool {
        match self.pool.as_const(condition) {
            Some(value) => value == 1,
            None => {
                let path = self.known_to_running(state);
                self.solver.may(&mut self.pool, &path, condition)
            }
        }
    }

    /// True if the path proves the condition.
    pub fn must(&mut self, state: &State, condition: Expr) -> bool {
        let otherwise = self.pool.not(condition);
        !self.may(state, otherwise)
    }

    /// The value with what the path says of its symbols put in.
    pub fn given(&mut self, state: &State, value: Expr) -> Expr {
        if self.pool.as_const(value).is_some() {
            return value;
        }
        let path = self.known_to_running(state);
        assume_equalities(&mut self.pool, &path, value)
    }

    /// The one value that the path leaves, if that can be told.
    pub fn only_value(&mut self, state: &State, value: Expr) -> Option<u128> {
        let path = self.known_to_running(state);
        self.solver.only_value(&mut self.pool, &path, value)
    }

    fn known_to_running<'s>(&self, state: &'s State) -> Cow<'s, [Expr]> {
        match state.threads.get(self.running) {
            Some(thread) if !thread.own.is_empty() => {
                Cow::Owned([state.path.as_slice(), &thread.own].concat())
            }
            _ => Cow::Borrowed(&state.path),
        }
    }

    /// Equality of two addresses. Objects are apart, as long as both pointers are within theirs.
    pub fn same_address(&mut self, a: Expr, b: Expr) -> Expr {
        self.equal_addresses(a, b, false)
    }

    /// Equality of the addresses of two things that are there: a pointer that has left its object names nothing, and using it so is
    /// undefined behaviour.
    pub fn same_object_address(&mut self, a: Expr, b: Expr) -> Expr {
        self.equal_addresses(a, b, true)
    }

    fn equal_addresses(&mut self, a: Expr, b: Expr, inside: bool) -> Expr {
        use super::memory::Place;
        if a == b {
            return self.pool.bool(true);
        }
        let (left, right) = (self.resolve(a), self.resolve(b));
        let unknown = |target: &super::memory::Target| matches!(target.place, Place::Unknown(_));
        if left.len() * right.len() > 16 || left.iter().chain(&right).any(unknown) {
            return self.pool.eq(a, b);
        }
        let mut result = self.pool.bool(false);
        for x in &left {
            for y in &right {
                let equal = match (x.place, y.place) {
                    (Place::Null, Place::Null) => self.pool.bool(true),
                    (Place::Object(o, s), Place::Object(p, t)) if o == p => self.pool.eq(s, t),
                    (Place::Object(o, s), Place::Object(p, t)) => {
                        if inside || self.within(o, s) && self.within(p, t) {
                            self.pool.bool(false)
                        } else {
                            return self.pool.eq(a, b);
                        }
                    }
                    // An object's address is not null; an offset that leads there is undefined behaviour.
                    _ => self.pool.bool(false),
                };
                let guard = self.pool.and(x.guard, y.guard);
                let both = self.pool.and(guard, equal);
                result = self.pool.or(result, both);
            }
        }
        result
    }

    /// Is the offset surely inside the object?
    fn within(&self, object: ObjId, offset: Expr) -> bool {
        let facts = self.pool.facts(offset);
        match self.objects.info(object).size {
            Some(size) => facts.high < u128::from(size),
            None => self.pool.as_const(offset) == Some(0),
        }
    }

    /// `base + offset` of a pointer term.
    pub(super) fn offset_pointer(&mut self, pointer: Expr, offset: i64) -> Expr {
        let offset = self.pool.constant(64, offset as u128);
        self.pool.bin(BinOp::Add, pointer, offset)
    }
}

impl Pool {
    /// A symbol for the address of an object: not null, below the kernel's half, room behind it.
    pub(super) fn address(&mut self, origin: Origin) -> Expr {
        self.symbol_in(
            64,
            origin,
            ValueFacts {
                zeros: !0u128 << 47 & u128::from(u64::MAX),
                ones: 0,
                low: 0x1000,
                high: 0x7fff_ffff_f000 - (1 << 32),
            },
        )
    }
}

/// Width of a scalar.
pub fn width(ty: &Type) -> Option<u32> {
    match ty {
        Type::Int(width) | Type::Float(width) => Some(*width),
        Type::Ptr => Some(64),
        _ => None,
    }
}

/// Elements of a type that has any.
pub fn parts(ty: &Type) -> Option<Vec<&Type>> {
    match ty {
        Type::Aggregate { fields, .. } => Some(fields.iter().map(|(_, ty)| ty).collect()),
        Type::Vector(element, count) => Some(vec![element; *count as usize]),
        _ => None,
    }
}

/// Elements with their byte offsets.
pub fn placed_parts(ty: &Type) -> Option<Vec<(u64, &Type)>> {
    match ty {
        Type::Aggregate { fields, .. } => {
            Some(fields.iter().map(|(offset, ty)| (*offset, ty)).collect())
        }
        Type::Vector(element, count) => {
            // Elements of less than a byte are packed; those vectors stay opaque in memory.
            let bits = width(element)?;
            let size = u64::from(bits / 8);
            (bits % 8 == 0).then(|| {
                (0..u64::from(*count))
                    .map(|index| (index * size, &**element))
                    .collect()
            })
        }
        _ => None,
    }
}
